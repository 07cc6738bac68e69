"""Bringing the books up to date: other processes' changes, and what a crash or a power cut left half done.

The trail and the recent bytes are written after a change is durable and are not synced with it, so either may be
behind the other. Lines that only the recent bytes know are written to the trail again, byte for byte; lines that
only the trail knows get their bytes back from the files. When the recent bytes are lost altogether, they are
rebuilt from the whole trail.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from memfolio.clock import iso, to_ms
from memfolio.types import Action
from memfolio.vault.alerts import TAMPERED
from memfolio.vault.audit import FileMark, Head, SealedLine, is_sealed, part_for
from memfolio.vault.books import Books
from memfolio.vault.recent import FileState, Record, Written


def catch_up(books: Books) -> list[Record]:
    """Read what others did; repair trail and recent bytes when they disagree."""
    records = books.recent.catch_up()
    books.follow(records)
    if books.recent.damaged:
        rebuild(books)
    elif not _in_step(books) or (books.recent.is_new_to_us() and books.trail.tail() != books.recent.head):
        realign(books)
    return records


def _in_step(books: Books) -> bool:
    head = books.recent.head
    if not head.part:
        return not books.trail.parts()
    stamp = books.stamp(head.part)
    return stamp is not None and stamp.size == head.size and books.stamp(_next_part(books)) is None


def _next_part(books: Books) -> str:
    """Where the trail would go on after a full part: it exists only if somebody died right after starting it."""
    return part_for(books.recent.head, iso(books.home.now())[:7], sys.maxsize, 0)


def rebuild(books: Books) -> None:
    """Make the recent bytes anew: every file as its last line in the trail left it, still to be looked at."""
    recent = books.recent
    recent.clear()
    books.forget_keys()
    books.is_loose = True
    committed = books.committed_seq()
    lines, head, torn = books.trail.since(Head())
    if torn:
        _set_aside_torn(books, head)
    for sealed in lines:
        recent.learn_ids(sealed.line.ids)
        for mark in sealed.line.files:
            recent.remember(mark.path, _state(mark))
    recent.committed = min(committed, head.seq)
    recent.head = head
    recent.pending = [_record(books, sealed) for sealed in lines if sealed.line.seq > recent.committed]
    recent.rewrite()


def realign(books: Books) -> None:
    """Let the trail and the recent bytes tell the same story again."""
    recent = books.recent
    books.is_loose = True
    tail = books.trail.tail()
    if tail.seq < recent.head.seq:
        _write_again(books, tail)
        return
    lines, head, torn = books.trail.since(recent.head)
    for sealed in lines:
        books.learn(sealed.line)
        recent.add(_record(books, sealed))
    if torn:
        _set_aside_torn(books, head)
    recent.head = head
    recent.rewrite()


def _write_again(books: Books, tail: Head) -> None:
    """The trail lost its end: write the lines that the recent bytes still have."""
    _set_aside_torn(books, tail)
    previous, wanted = tail.hash, books.recent.head.seq
    for record in books.recent.pending:
        if record.line.seq <= tail.seq:
            continue
        if not is_sealed(record.raw, previous):
            break
        books.home.disk.append(books.home.path(record.head.part), record.raw, sync=False)
        previous, tail = record.line.hash, record.head
    if tail.seq == wanted:
        return
    # Lines that were in git are gone from the file: not a crash. Go on behind what is there, and say so.
    part = tail.part or books.recent.head.part
    stamp = books.stamp(part)
    books.recent.head = replace(books.recent.head, part=part, size=stamp.size if stamp else 0)
    books.recent.rewrite()
    books.enter(Action.ALERT, TAMPERED)


def _set_aside_torn(books: Books, head: Head) -> None:
    """Cut a torn line off the trail; what was cut is kept in `.memfolio/torn`."""
    if not head.part:
        return
    data = books.read(head.part) or b""
    if len(data) <= head.size:
        return
    home = books.home
    home.disk.put(home.internal / "torn" / f"{to_ms(home.now())}-audit.jsonl", data[head.size :])
    home.disk.cut(home.path(head.part), head.size)


def _state(mark: FileMark) -> FileState | None:
    return None if mark.now is None else FileState(mark.now, mark.size, None)


def _record(books: Books, sealed: SealedLine) -> Record:
    """The record of a line, its bytes taken from the files as far as they still prove to be the same."""
    writes = tuple(_written(books, mark) for mark in sealed.line.files)
    return Record(sealed.line, sealed.raw, sealed.head, writes)


def _written(books: Books, mark: FileMark) -> Written:
    if mark.now is None:
        return Written(mark.path, None, None, None)
    content = books.read(mark.path) or b""
    if books.home.hash(content[: mark.size]) != mark.now:
        return Written(mark.path, mark.start or 0, None, _state(mark))
    return Written(mark.path, mark.start, content[mark.start or 0 : mark.size], _state(mark))


def forget_stamps(books: Books, paths: Sequence[str]) -> None:
    """Have these files read anew at the next look, whatever their stamps say."""
    for path in paths:
        if known := books.known(path):
            books.recent.known[path] = replace(known, stamp=None)
