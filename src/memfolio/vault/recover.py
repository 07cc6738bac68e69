"""Recovery: trail and journal that a crash, a power cut or a git command left at odds tell the same story again.

Both are written after a change is durable and are not synced with it, so either may be behind the other. Lines that
only the journal knows are written to the trail again, byte for byte; lines that only the trail knows get their bytes
back from the files. When the journal is lost altogether, it is rebuilt from the whole trail.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memfolio.clock import to_ms
from memfolio.errors import HistoryError, HomeBusyError
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.journal import (
    FileMark,
    FileState,
    Head,
    Journal,
    Record,
    Written,
    is_sealed,
    read_line,
)
from memfolio.vault.paths import AUDIT, ledger_of

MENDED = Attribution(actor="system:recover", trigger="trail-cut")
TAMPERED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="trail-cut")
RETRIES = 5
GIT_PAUSE = 0.1
"""Seconds after which git has replaced a file that it deleted first."""
_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
"""Conflict markers of git."""


def rebuild(journal: Journal) -> None:
    """Make the journal anew: every file as its last line in the trail left it, still to be looked at."""
    journal.clear()
    journal.forget_keys()
    journal.has_unsynced_lines = True
    committed = _newest_in_git(journal)
    lines, head = journal.trail.since(Head())
    cut = _set_aside_torn(journal, head)
    is_altered = cut is not None and _is_altered(cut.torn)
    if cut and is_altered:
        _append_all(journal, head, cut.kept, _lines_in_git(journal, head.part), until=sys.maxsize)
        lines, head = journal.trail.since(Head())
    for sealed in lines:
        journal.learn_ids(sealed.line.ids)
        for mark in sealed.line.files:
            journal.remember(mark.path, _state(mark))
    journal.committed = min(committed, head.seq)
    journal.head = head
    journal.pending = [_with_bytes(journal, sealed) for sealed in lines if sealed.line.seq > journal.committed]
    journal.rewrite()
    if is_altered:
        _report(journal, "the trail could not be read to its end: the lines that git has were put back", alert=True)


def realign(journal: Journal) -> None:
    """Bring trail and journal back in line."""
    journal.has_unsynced_lines = True
    journal.await_git()
    if journal.head.part and not _ends_with(journal.read(journal.head.part) or b"", journal.head):
        _write_again(journal, _end_on_disk(journal))
        return
    lines, head = journal.trail.since(journal.head)
    for sealed in lines:
        record = _with_bytes(journal, sealed)
        journal.add(record)
        journal.follow([record])
    if head.part:
        _set_aside_torn(journal, head)
    journal.head = head
    journal.rewrite()


def _ends_with(content: bytes, head: Head) -> bool:
    """Whether the content of a part has the head's line where the head says."""
    end = f'{head.hash}"}}\n'.encode()
    return content[head.size - len(end) : head.size] == end


def _end_on_disk(journal: Journal) -> Head:
    """The end of the trail as its files have it.

    Git replaces a file by deleting it first, so a trail that seems to be gone is looked for once more.
    """
    end = journal.trail.since(Head())[1]
    if not end.seq:
        time.sleep(GIT_PAUSE)
        journal.await_git()
        end = journal.trail.since(Head())[1]
    return end


def _write_again(journal: Journal, tail: Head, retries: int = RETRIES) -> None:
    """The trail lost lines behind `tail`: write those that git and the journal still have."""
    in_git = _lines_in_git(journal, tail.part)
    waiting = [(record.head.part, record.raw) for record in journal.pending]
    # Lines that git merged in twice or out of order are behind the tail as well: known, and so no sign of tampering.
    ours = {raw for _, raw in [*in_git, *waiting]}
    cut = _set_aside_torn(journal, tail, ours)
    if cut is None:
        if not retries:
            raise HomeBusyError("git keeps replacing the trail", hint="try again when its command has ended")
        _write_again(journal, _end_on_disk(journal), retries - 1)
        return
    is_altered, is_gone = _is_altered(cut.torn), not tail.seq
    has_lost_committed = bool(in_git) and tail.seq < journal.committed
    heads = _append_all(journal, tail, cut.kept, [*in_git, *waiting], until=journal.head.seq)
    there = _end_on_disk(journal)
    if retries and heads and there != heads[-1]:  # a git command has put back other files meanwhile
        _write_again(journal, there, retries - 1)
        return
    tail = heads[-1] if heads else tail
    found = {head.seq: head for head in heads}
    journal.pending = [each._replace(head=found.get(each.line.seq, each.head)) for each in journal.pending]
    if tail.hash == journal.head.hash:
        journal.head = tail
        journal.rewrite()
        if (has_lost_committed and heads) or is_altered:
            wrong = "could not be read" if is_altered else "was cut off"
            first = heads[0].seq if heads else tail.seq + 1
            message = f"the trail {wrong} from change {first} on: its lines were put back"
            # A person who looks at an old commit cuts it too: nothing to be alarmed about.
            _report(journal, message, alert=is_altered or is_gone)
        return
    # Lines that nobody has any more are gone from the file: not a crash. Go on behind what is there, and say so.
    part = tail.part or journal.head.part
    stamp = journal.stamp(part)
    journal.head = journal.head._replace(part=part, size=stamp.size if stamp else 0)
    journal.rewrite()
    journal.enter(Action.ALERT, TAMPERED)


def _append_all(
    journal: Journal, tail: Head, kept: bytes, lines: Iterable[tuple[str, bytes]], *, until: int
) -> list[Head]:
    """Write those lines to the trail that follow its end, one after the other; returns the end behind each.

    `kept` is the content of its last part up to that end. Each file is replaced in one step: a git command that puts
    back another one meanwhile has nothing added to it.
    """
    heads: list[Head] = []
    contents = {tail.part: bytearray(kept)}
    for part, raw in lines:
        if tail.seq < until and is_sealed(raw, tail.hash):
            line, part = read_line(raw), max(part, tail.part)
            content = contents.setdefault(part, bytearray())
            content += raw
            tail = Head(line.seq, line.hash, part, len(content))
            heads.append(tail)
    for part in dict.fromkeys(head.part for head in heads):
        journal.home.disk.put(journal.home.path(part), bytes(contents[part]))
    return heads


def _is_altered(cut: bytes) -> bool:
    """Whether what was cut off the trail is more than a crash leaves: a torn line, or zeros for unwritten data."""
    return b"\n" in cut and b"\0" not in cut


def _report(journal: Journal, what: str, *, alert: bool) -> None:
    """Record a repair of the trail that no crash explains, in the trail and for people."""
    journal.enter(Action.RESTORE, MENDED)
    if alert:
        journal.enter(Action.ALERT, TAMPERED)
    journal.notices.append(what)
    journal.repairs.append(what)


def _newest_in_git(journal: Journal) -> int:
    """Return the newest change that is in git; 0 if there is none, or git cannot say.

    People write commits, too: one is believed only if the trail has the very line that it names.
    """
    hashes = {line.seq: line.hash for line in journal.trail.lines()}
    try:
        return next((each.seq for each in journal.history.anchors() if hashes.get(each.seq) == each.chain), 0)
    except HistoryError:
        return 0


def _lines_in_git(journal: Journal, part: str) -> list[tuple[str, bytes]]:
    """The trail's lines from this part on as the branch has them, whatever a person has checked out."""
    history = journal.history
    try:
        parts = sorted(path for path in history.files() if path >= part and path.startswith(f"{AUDIT}/"))
        contents = [(path, history.read(path) or b"") for path in parts if ledger_of(path)]
    except HistoryError:
        return []
    return [(path, raw + b"\n") for path, content in contents for raw in content.split(b"\n")[:-1]]


class _Cut(NamedTuple):
    """The trail's last part up to its end, and what was cut off behind it that is not ours."""

    kept: bytes
    torn: bytes


def _set_aside_torn(journal: Journal, head: Head, ours: Collection[bytes] = ()) -> _Cut | None:
    """Cut everything behind its head off the trail; what is not ours is kept in `.memfolio/torn`.

    Returns None if the head is not where it was read: a git command has put another file in that place meanwhile.
    """
    parts = {part: journal.read(part) or b"" for part in journal.trail.parts() if part >= head.part}
    content = parts.get(head.part, b"")
    if head.part and not _ends_with(content, head):
        return None
    sizes = {head.part: head.size}
    torn = [_cut_off(journal, part, each, sizes.get(part, 0), ours) for part, each in parts.items()]
    return _Cut(content[: head.size], b"".join(torn))


def _cut_off(journal: Journal, part: str, content: bytes, size: int, ours: Collection[bytes]) -> bytes:
    home, lines = journal.home, content[size:].splitlines(keepends=True)
    torn = b"".join(raw for raw in lines if raw not in ours and not (ours and raw.startswith(_MARKERS)))
    if torn:
        name = part.replace("/", "-")
        home.disk.put(home.internal / "torn" / f"{to_ms(home.now())}-{name}", torn)
    if lines and size:
        home.disk.cut(home.path(part), size)
    elif not size:
        home.disk.remove(home.path(part))
    return torn


def _state(mark: FileMark) -> FileState | None:
    return None if mark.now is None else FileState(mark.now, mark.size, None)


def _with_bytes(journal: Journal, sealed: Record) -> Record:
    """A sealed line with the bytes of its change, from the files as far as they still prove to be the same."""
    return sealed._replace(writes=tuple(_written(journal, mark) for mark in sealed.line.files))


def _written(journal: Journal, mark: FileMark) -> Written:
    if mark.now is None:
        return Written(mark.path, None, None, mark.was, None)
    content = journal.read(mark.path) or b""
    if journal.home.hash(content[: mark.size]) != mark.now:
        return Written(mark.path, mark.start or 0, None, mark.was, mark.now, length=mark.size)
    return Written(mark.path, mark.start, content[mark.start or 0 : mark.size], mark.was, mark.now)
