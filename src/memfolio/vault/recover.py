"""Bringing the books up to date: other processes' changes, and what a crash or a power cut left half done.

The trail and the recent bytes are written after a change is durable and are not synced with it, so either may be
behind the other. Lines that only the recent bytes know are written to the trail again, byte for byte; lines that
only the trail knows get their bytes back from the files. When the recent bytes are lost altogether, they are
rebuilt from the whole trail.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import replace

from memfolio.clock import iso, to_ms
from memfolio.errors import HistoryError
from memfolio.types import Action
from memfolio.vault.alerts import MENDED, TAMPERED
from memfolio.vault.audit import FileMark, Head, SealedLine, is_sealed, part_for, read_line
from memfolio.vault.books import Books
from memfolio.vault.paths import AUDIT, ledger_of
from memfolio.vault.recent import FileState, Record, Written

LOOKS = 5
_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
"""What git puts between the sides of a conflict."""


def catch_up(books: Books) -> None:
    """Read what others did; repair trail and recent bytes when they disagree."""
    books.follow(books.recent.catch_up())
    is_new = books.recent.is_new_to_us()
    if is_new:
        books.close()  # who began the file afresh may have rewritten git's history
    if books.recent.damaged:
        rebuild(books)
    elif not _in_step(books) or (is_new and books.trail.tail() != books.recent.head):
        realign(books)
    books.note_told()


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
    committed = _newest_in_git(books)
    lines, head, _ = books.trail.since(Head())
    is_altered = _is_altered(_set_aside_torn(books, head))
    if is_altered:
        _append_all(books, head, _lines_in_git(books, head.part), until=sys.maxsize)
        lines, head, _ = books.trail.since(Head())
    for sealed in lines:
        recent.learn_ids(sealed.line.ids)
        for mark in sealed.line.files:
            recent.remember(mark.path, _state(mark))
    recent.committed = min(committed, head.seq)
    recent.head = head
    recent.pending = [_record(books, sealed) for sealed in lines if sealed.line.seq > recent.committed]
    recent.rewrite()
    if is_altered:
        _report(books, "the trail could not be read to its end: the lines that git has were put back", alert=True)


def realign(books: Books) -> None:
    """Let the trail and the recent bytes tell the same story again."""
    recent = books.recent
    books.is_loose = True
    books.await_git()
    if not _has_head(books):
        _write_again(books, books.trail.since(Head())[1])
        return
    lines, head, torn = books.trail.since(recent.head)
    for sealed in lines:
        record = _record(books, sealed)
        recent.add(record)
        books.follow([record])
    if torn:
        _set_aside_torn(books, head)
    recent.head = head
    recent.rewrite()


def _has_head(books: Books) -> bool:
    """Whether the newest line that we know of stands where it was written."""
    head = books.recent.head
    end = f'{head.hash}"}}\n'.encode()
    return not head.part or (books.read(head.part) or b"")[head.size - len(end) : head.size] == end


def _write_again(books: Books, tail: Head, looks: int = LOOKS) -> None:
    """The trail lost lines behind `tail`: write those that git and the recent bytes still have."""
    recent = books.recent
    in_git = _lines_in_git(books, tail.part) if tail.seq < recent.committed else []
    waiting = [(record.head.part, record.raw) for record in recent.pending]
    ours = {raw for _, raw in [*in_git, *waiting]}
    is_altered, is_gone = _is_altered(_set_aside_torn(books, tail, ours)), not tail.seq
    heads = _append_all(books, tail, [*in_git, *waiting], until=recent.head.seq)
    there = books.trail.since(Head())[1]
    if looks and heads and there != heads[-1]:  # a git command has put back other files meanwhile
        _write_again(books, there, looks - 1)
        return
    tail = heads[-1] if heads else tail
    found = {head.seq: head for head in heads}
    recent.pending = [replace(each, head=found.get(each.line.seq, each.head)) for each in recent.pending]
    if tail.hash == recent.head.hash:
        recent.head = tail
        recent.rewrite()
        if (in_git and heads) or is_altered:
            wrong = "could not be read" if is_altered else "was cut off"
            first = heads[0].seq if heads else tail.seq + 1
            said = f"the trail {wrong} from change {first} on: its lines were put back"
            # A person who looks at an old commit cuts it too: nothing to be alarmed about.
            _report(books, said, alert=is_altered or is_gone)
        return
    # Lines that nobody has any more are gone from the file: not a crash. Go on behind what is there, and say so.
    part = tail.part or recent.head.part
    stamp = books.stamp(part)
    recent.head = recent.head._replace(part=part, size=stamp.size if stamp else 0)
    recent.rewrite()
    books.enter(Action.ALERT, TAMPERED)


def _append_all(books: Books, tail: Head, lines: Iterable[tuple[str, bytes]], *, until: int) -> list[Head]:
    """Write those lines to the trail that follow its end, one after the other; returns the end behind each.

    Each file is replaced in one step: a git command that puts back another one meanwhile has nothing added to it.
    """
    heads: list[Head] = []
    contents = {tail.part: bytearray((books.read(tail.part) or b"")[: tail.size])} if tail.part else {}
    for part, raw in lines:
        if tail.seq < until and is_sealed(raw, tail.hash):
            line, part = read_line(raw), max(part, tail.part)
            content = contents.setdefault(part, bytearray())
            content += raw
            tail = Head(line.seq, line.hash, part, len(content))
            heads.append(tail)
    for part in dict.fromkeys(head.part for head in heads):
        books.home.disk.put(books.home.path(part), bytes(contents[part]))
    return heads


def _is_altered(cut: bytes) -> bool:
    """Whether what was cut off the trail is more than a crash leaves: a torn line, or zeros for what was not synced."""
    return b"\n" in cut and b"\0" not in cut


def _report(books: Books, what: str, *, alert: bool) -> None:
    """Note that the trail was mended where no crash can have broken it: in the trail, and for people."""
    books.enter(Action.RESTORE, MENDED)
    if alert:
        books.enter(Action.ALERT, TAMPERED)
    books.notices.append(what)
    books.repairs.append(what)


def _newest_in_git(books: Books) -> int:
    """The newest change that is in git; 0 when none is, or git cannot say.

    People write commits too: what one of them says is believed if the trail has the very line that it names.
    """
    hashes = {line.seq: line.hash for line in books.trail.lines()}
    try:
        return next((each.seq for each in books.history.anchors() if hashes.get(each.seq) == each.chain), 0)
    except HistoryError:
        return 0


def _lines_in_git(books: Books, part: str) -> list[tuple[str, bytes]]:
    """The trail's lines from this part on as the branch has them, whatever a person has checked out."""
    history = books.history
    try:
        parts = sorted(path for path in history.files() if path >= part and path.startswith(f"{AUDIT}/"))
        contents = [(path, history.read(path) or b"") for path in parts if ledger_of(path)]
    except HistoryError:
        return []
    return [(path, raw + b"\n") for path, content in contents for raw in content.split(b"\n")[:-1]]


def _set_aside_torn(books: Books, head: Head, ours: Collection[bytes] = ()) -> bytes:
    """Cut everything behind its head off the trail; returns what is not ours, which is kept in `.memfolio/torn`."""
    parts = [part for part in books.trail.parts() if part >= head.part]
    return b"".join(_cut_off(books, part, head.size if part == head.part else 0, ours) for part in parts)


def _cut_off(books: Books, part: str, size: int, ours: Collection[bytes]) -> bytes:
    home, cut = books.home, (books.read(part) or b"")[size:]
    lines = cut.splitlines(keepends=True)
    torn = b"".join(raw for raw in lines if raw not in ours and not (ours and raw.startswith(_MARKERS)))
    if torn:
        name = part.replace("/", "-")
        home.disk.put(home.internal / "torn" / f"{to_ms(home.now())}-{name}", torn)
    if cut and size:
        home.disk.cut(home.path(part), size)
    elif not size:
        home.disk.remove(home.path(part))
    return torn


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
