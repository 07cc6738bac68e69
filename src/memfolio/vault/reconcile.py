"""Reconciling a file before it is touched: whatever happened to it behind our back is understood and recorded."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, tzinfo
from enum import StrEnum
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from memfolio.clock import to_ms
from memfolio.errors import (
    ConflictError,
    DiskError,
    FileNotHereError,
    HistoryError,
    HomeBusyError,
    HomeError,
    InputError,
)
from memfolio.types import HUMAN, ID_PATTERN, Action, Approval, Attribution
from memfolio.vault.alerts import MONITOR, open_alerts
from memfolio.vault.change import AddBlocks, Allowed, Change, Operation, Page, PutPage
from memfolio.vault.disk import Stamp
from memfolio.vault.fields import parse_entry
from memfolio.vault.git.repository import can_hold
from memfolio.vault.journal import FileState, Journal, Tail, TrailLine, Written, to_bytes, to_text
from memfolio.vault.lines import attribution_of, record_of, split_lines
from memfolio.vault.log import split_log, whole_length
from memfolio.vault.paths import (
    SHARED,
    Form,
    Ledger,
    Sensitivity,
    agent_of,
    agent_root,
    day_of,
    form_of,
    ledger_of,
    sensitivity,
    title_line,
)

if TYPE_CHECKING:
    from memfolio.vault.git.history import GitFileState
    from memfolio.vault.move import Excerpt
    from memfolio.vault.vault import Vault


# Telling our own bytes from other people's, by looking at them. Pure.

_TORN_HEADING = re.compile(r"#{1,2}|## \d?|## \d\d:?|## \d\d:\d\d?|## \d\d:\d\d:\d?|## \d\d:\d\d:\d\d( .*)?")


@dataclass(frozen=True, slots=True)
class Piece:
    """One of our own blocks: its span, its id, its author, and its idempotency key."""

    start: int
    end: int
    id: str
    by: Attribution
    key: str | None = None


@dataclass(slots=True)
class Own:
    """What of a file's end is ours. Everything from `whole` on is torn, or somebody else's if `is_followed` says so."""

    whole: int
    pieces: list[Piece] = field(default_factory=list)
    torn: str | None = None
    """The id in the torn rest, if it had one."""
    is_followed: bool = False

    @property
    def ids(self) -> list[str]:
        return [piece.id for piece in self.pieces] + ([self.torn] if self.torn else [])


def own_end(path: str, content: bytes, start: int, zone: tzinfo) -> Own | None:
    """Return our blocks after `start`, or None if what begins there is somebody else's."""
    own = _own_entries(path, content, start, zone) if form_of(path) is Form.LOG else _own_lines(content, start)
    return own if own and (own.pieces or not own.is_followed) else None


def _own_entries(path: str, content: bytes, start: int, zone: tzinfo) -> Own | None:
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return None
    own, offset = Own(start), start
    earlier = {block.id for block in split_log(to_text(content[:start]), agent) if block.id}
    blocks = split_log(to_text(content[start:]), agent)
    if any(block.id in earlier for block in blocks):
        return None  # copied by hand: we write every id once
    for block in blocks:
        length = whole_length(block.text, agent) if block.id else 0
        if length:
            text = block.text[:length]
            offset += len(to_bytes(text))
            own.pieces.append(_piece(text, own.whole, offset, day, zone, agent))
            own.whole = offset
        rest = block.text[length:]
        if not _is_lead(rest, day, offset):
            is_last = block is blocks[-1]
            own.is_followed = not (is_last and _is_torn(rest, marked=block.id is not None and not length))
            own.torn = None if length or own.is_followed else block.id
            return own
        offset += len(to_bytes(rest))
    own.is_followed = own.whole < len(content)  # blank lines may be anybody's
    return own


def _piece(text: str, start: int, end: int, day: date, zone: tzinfo, agent: str) -> Piece:
    parsed = parse_entry(text, day=day, tz=zone, agent=agent)
    assert parsed is not None  # a whole block has a heading with an id
    return Piece(start, end, parsed.entry.item.id, parsed.entry.by, parsed.entry.item.key)


def _is_lead(text: str, day: date, offset: int) -> bool:
    """Whether the text is only what we write before an entry: the title of a new log, or a blank line."""
    titled = offset == 0 and text.startswith(title_line(day, 1)) and text.count("\n") <= 2
    return titled or not text.strip("\n")


def _is_torn(text: str, *, marked: bool) -> bool:
    """Whether a last block is the beginning of an entry that was cut off while it was written."""
    rest = text.lstrip("\n")
    return marked or "\0" in text or ("\n" not in rest and _TORN_HEADING.fullmatch(rest) is not None)


def _own_lines(content: bytes, start: int) -> Own:
    own = Own(start)
    for raw in split_lines(content[start:]):
        if not raw.endswith(b"\n") or b"\0" in raw:
            return own
        record = record_of(raw)
        by = attribution_of(record)
        if by is None or "id" not in record:
            own.is_followed = True
            return own
        end = own.whole + len(raw)
        own.pieces.append(Piece(own.whole, end, str(record["id"]), by))
        own.whole = end
    return own


def blocks_of(path: str, content: bytes) -> list[tuple[str | None, str]]:
    """A ledger's blocks in order, each with its id if it has one; together they are exactly the content."""
    if form_of(path) is Form.LOG:
        return [(block.id, block.text) for block in split_log(to_text(content), agent_of(path) or "")]
    return [(_line_id(raw), to_text(raw)) for raw in split_lines(content)]


def _line_id(raw: bytes) -> str | None:
    return str(record_of(raw).get("id", "")) or None if raw.endswith(b"\n") else None


def lost_run(path: str, before: bytes, now: bytes) -> list[tuple[str, str]]:
    """The newest marked blocks that vanished from a ledger, if exactly they did; nothing otherwise."""
    if not now.strip():
        return []
    earlier = [(each, text) for each, text in blocks_of(path, before) if each]
    present = {each for each, _ in blocks_of(path, now)}
    run = _missing_suffix([each for each, _ in earlier], present)
    return earlier[len(earlier) - run :] if run else []


def _missing_suffix(ids: Sequence[str], present: set[str | None]) -> int:
    """How many ids at the end are missing; 0 when one in the middle is missing too."""
    missing = [each not in present for each in ids]
    run = next((n for n, gone in enumerate(reversed(missing)) if not gone), len(missing))
    return run if sum(missing) == run else 0


# Telling what a git command did to a file from what a person did to it. Pure, but for the alerts.
#
# A command that moves the working tree (checkout, reset, stash, restore, clean, rebase) leaves a file as the commit
# that is checked out has it, or as the index has it, though we have written something newer: nobody means that as an
# edit. A person who commits on top of our newest commit does. All else is an edit that was made without git.

RESTORED = Attribution(actor="system:recover", trigger="git-moved")
MOVED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="git-moved")
REMOVED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="git-commit")
NOTICE = (
    "a git command had taken changes out of the files, or out of the branch: they were put back; "
    "`memfolio undo` and `memfolio rollback` take changes back for good"
)


class GitMove(StrEnum):
    """How git came to change a file."""

    TREE = "tree"
    COMMIT = "commit"


def git_move_of(standing: GitFileState, content: bytes | None, is_former: Callable[[bytes], bool]) -> GitMove | None:
    """Return how git changed a file, None if somebody else did; `is_former` recognizes states that we once wrote."""
    blob = None if content is None else blob_id(content)
    if standing.is_built_on and standing.head not in (standing.ours, standing.indexed) and blob == standing.head:
        return GitMove.COMMIT  # a commit made from an index that was behind does not mean what it leaves out
    if standing.sides:  # a merge of what we recorded anyway, such as `git stash pop` makes it
        return GitMove.TREE if content is not None and all(map(is_former, standing.sides)) else None
    if content is None:
        # `git rm` takes a file out of the index, as a person's work; `git clean` deletes what is not in it yet.
        is_removed = standing.head is not None and standing.indexed is not None
        return GitMove.TREE if standing.staged is None and not is_removed else None
    if blob == standing.head or (blob == standing.staged and is_former(content)):
        return GitMove.TREE
    return None


def blob_id(content: bytes) -> str:
    """The name that git has for a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def needs_alert(paths: Iterable[str], by: Attribution) -> bool:
    """Whether the owner must be alerted: a critical file was changed from outside or without approval."""
    if all(sensitivity(path) is not Sensitivity.CRITICAL for path in paths):
        return False
    if by.actor == HUMAN.actor:
        return by.trigger == HUMAN.trigger
    return by.approval is not Approval.APPROVED and by.actor != "system:init"


def alert_moved(journal: Journal, about: Sequence[int]) -> None:
    """Alert the owner that files were put back, unless such an alert is open already."""
    if not any(line.by == MOVED for line in open_alerts(journal.trail)):
        journal.enter(Action.ALERT, MOVED, about=about)
    if NOTICE not in journal.notices:
        journal.notices.append(NOTICE)


# Settling a file before it is touched: whatever happened to it behind our back is understood and recorded.
#
# A file that is not as it was last left is one of these:
# - touched but equal: only its stamp is noted;
# - what a git command made of it that moves the working tree: it is put back, with all others that are;
# - longer by whole entries of our own that a crash kept out of the trail: their lines are written from them;
# - longer by a torn entry that was never acknowledged: it is cut off;
# - without its newest entries and nothing else of ours: a stale editor saved over them, they are appended again;
# - anything else: a person's edit, recorded as `human` with its bytes.

RESTORER = Attribution(actor="system:recover", trigger="stale-editor")
TORN_CUTTER = Attribution(actor="system:recover", trigger="torn-entry")
TORN = "torn"
RETRIES = 10
QUIET_SECONDS = 0.05
"""Seconds without a change after which an editor counts as done with saving a file."""

MANY = 50
"""How many files that were put back share a line of the trail."""


@dataclass(frozen=True, slots=True)
class FileNow:
    """A file as it is now."""

    path: str
    content: bytes
    hash: str
    stamp: Stamp


class Reconciler:
    """Compares one file with its recorded state, and records what somebody else did to it."""

    def __init__(self, journal: Journal, committed: Callable[[str], bytes | None]) -> None:
        self._journal = journal
        self._home = journal.home
        self._committed = committed
        self._taken_out: list[int] = []
        """Changes by people's commits that removed something and have not been reported."""

    def reconcile(self, path: str, *, retries: int = RETRIES, takes_own: bool = True) -> bool:
        """Whether the file had been changed by somebody else; afterwards its recorded state says what is in it.

        Without `takes_own`, entries of ours that are not in the trail are left to the change that they belong to.
        """
        journal = self._journal
        known, stamp = journal.files.get(path), journal.stamp(path)
        if (known is None and stamp is None) or (known is not None and stamp is not None and known.stamp == stamp):
            return False
        self._journal.await_git()
        seen = self._look(path)
        if seen is None:
            return self._note_missing(path, known)
        self._make_name_durable(seen, known)
        if known and (seen.hash == known.hash or self._is_cloned(seen)):
            journal.restamp(path, FileState(seen.hash, known.size, seen.stamp))
            return False
        if takes_own and self._recover_own(seen, known):
            return True
        move = self._move(path, seen.content)
        if move is GitMove.TREE and self.restore_moved([*journal.files, path]):
            return True
        is_done = not retries or move is not None or self._is_quiet(seen)
        return (is_done and self._record_edit(seen, known, move)) or self.reconcile(
            path, retries=max(retries - 1, 0), takes_own=takes_own
        )

    def _make_name_durable(self, seen: FileNow, known: FileState | None) -> None:
        """Make the name of a file that somebody else created durable, so that what is appended to it cannot be lost."""
        is_other = known is None or known.stamp is None or known.stamp.inode != seen.stamp.inode
        if is_other and form_of(seen.path) is not Form.PAGE:
            self._home.disk.sync_dir(self._home.path(seen.path).parent)

    def restore_moved(self, paths: Iterable[str]) -> list[str]:
        """Put back files that a git command removed or made older; one alert reports all of them."""
        self._journal.await_git()
        done: list[Written] = []
        for path in dict.fromkeys(paths):
            with suppress(OSError, HomeError):  # what stands in the way of one file is said when it is reconciled
                done += filter(None, [self._restored(path)])
        batches = [done[start : start + MANY] for start in range(0, len(done), MANY)]
        if batches:
            self._journal.catch_up()  # the same command has moved the trail: it is put right before anything follows
        if lines := [self._journal.enter(Action.RESTORE, RESTORED, batch) for batch in batches]:
            alert_moved(self._journal, [line.seq for line in lines])
        return [each.path for each in done]

    def alert_removed(self) -> None:
        """Alert the owner, once for all, of what people's commits removed from files."""
        if self._taken_out:
            self._journal.enter(Action.ALERT, REMOVED, about=self._taken_out)
            self._taken_out = []

    def _restored(self, path: str) -> Written | None:
        """A file that git had moved, back as we left it; None for all others, or while it is being changed."""
        journal, known = self._journal, self._journal.files.get(path)
        stamp = journal.stamp(path)
        if stamp == (known.stamp if known else None):
            return None
        seen = self._look(path) if stamp else None
        if seen and known and seen.hash == known.hash:
            return None
        if (known is None and (seen is None or not self.is_former(path, seen.content))) or self._move(
            path, seen.content if seen else None
        ) is not GitMove.TREE:
            return None
        before = self._before(path) if known else None
        if known and (before is None or journal.home.hash(before) != known.hash):
            return None
        was = known.hash if known else None
        found = self._replace(path, before, seen)
        return Written(path, None, before, was, was, found[0]) if found else None

    def _move(self, path: str, content: bytes | None) -> GitMove | None:
        """How git changed a file, if it was git."""
        home = self._home
        if not home.config.git.enabled or home.has_new_key or not can_hold(path):
            return None
        try:
            standing = self._journal.history.standing(path)
        except HistoryError:
            return None
        move = git_move_of(standing, content, lambda former: self.is_former(path, former)) if standing else None
        # Whoever wrote a file last may take that back with git, too; what they wrote before is in the history.
        return None if move is GitMove.TREE and self._is_persons(path) else move

    def _is_persons(self, path: str) -> bool:
        """Whether a person was the last to write a file."""
        lines = self._journal.trail.newest_first(containing=[path.encode()])
        return next((line.by == HUMAN for line in lines if path in line.paths), False)

    def is_former(self, path: str, content: bytes) -> bool:
        """Whether the trail has the content as a state of the file."""
        found = self._home.hash(content)
        lines = self._journal.trail.lines(containing=[found.encode()])
        return any(mark.path == path and mark.now == found for line in lines for mark in line.files)

    def _is_cloned(self, seen: FileNow) -> bool:
        """Whether a file whose hash cannot be checked here is what git has."""
        return self._home.has_new_key and self._committed(seen.path) == seen.content

    def tail(self, path: str, *, takes_own: bool = True) -> Tail:
        """How the file ends as it was reconciled, not as somebody left it a moment later."""
        for _ in range(RETRIES):
            self.reconcile(path, takes_own=takes_own)
            tail = self._journal.tail_of(path)
            if tail.hash == self._journal.hash_of(path):
                return tail
            # Changed since it was reconciled, or in the very moment of our last write, which its stamp does not show.
            self._journal.mark_stale([path])
        raise being_changed(path)

    def _is_quiet(self, seen: FileNow) -> bool:
        """Whether the file stays as it was seen: half of a save that is under way is nobody's edit."""
        age = time.time() - seen.stamp.mtime_ns / 1e9
        if 0 <= age < QUIET_SECONDS:
            time.sleep(QUIET_SECONDS - age)
        return self._journal.stamp(seen.path) == seen.stamp

    def _look(self, path: str) -> FileNow | None:
        journal = self._journal
        stamp, content = journal.stamp(path), journal.read(path)
        for _ in range(RETRIES):
            if (again := journal.stamp(path)) == stamp:
                break
            stamp, content = again, journal.read(path)
        if content is None or stamp is None:
            return None
        if content and not content.strip(b"\0"):
            raise _not_here(path)
        return FileNow(path, content, journal.home.hash(content), stamp)

    def _note_missing(self, path: str, known: FileState | None) -> bool:
        if known is None:
            return False
        folder, _, name = path.rpartition("/")
        if self._journal.stamp(f"{folder}/.{name}.icloud"):
            raise _not_here(path)
        move = self._move(path, None)
        if move is GitMove.TREE and self.restore_moved([*self._journal.files, path]):
            return True
        line = self._enter_edit(Action.DELETE, Written(path, None, None, known.hash, None))
        self._taken_out += [line.seq] if move else []
        return True

    def _enter_edit(self, action: Action, write: Written, gone: Sequence[str] = ()) -> TrailLine:
        first = self._journal.head.seq == 0
        line = self._journal.enter(action, HUMAN, [write], ids=gone, strict=True)
        if needs_alert(line.paths, line.by) and not first:
            self._journal.enter(Action.ALERT, MONITOR, about=[line.seq])
        return line

    def _recover_own(self, seen: FileNow, known: FileState | None) -> bool:
        """Recognize our own writes that a crash kept out of the trail; False if somebody else wrote them."""
        size = known.size if known else 0
        if form_of(seen.path) is Form.PAGE or size > len(seen.content):
            return False
        if known and self._home.hash(seen.content[:size]) != known.hash:
            return False
        own = own_end(seen.path, seen.content, size, self._home.zone)
        if own is None or (size == 0 and not own.pieces) or self._are_known(seen.path, own.ids):
            return False  # a file of ours begins whole, and an id that the trail has was copied by a person
        self._home.disk.sync_file(self._home.path(seen.path))  # its writer may have died before it was durable
        if own.whole < len(seen.content) and not own.is_followed:
            self._cut_torn(seen, own.whole)
        self._enter_own(seen, own, self._journal.tail_behind(seen.content[:size] if known else None))
        return not own.is_followed or self._record_edit(seen, self._journal.files.get(seen.path))

    def _are_known(self, path: str, ids: list[str]) -> bool:
        """Whether the trail or another log has one of these ids: large changes name only their first and last."""
        marks = [each.encode() for each in ids]
        lines = self._journal.trail.lines(containing=marks) if ids else iter(())
        if any(each in line.ids for line in lines for each in ids):
            return True
        others = (other for other in self._journal.files if other != path and form_of(other) is Form.LOG)
        return any(mark in (self._journal.read(other) or b"") for other in others for mark in marks)

    def _cut_torn(self, seen: FileNow, whole: int) -> None:
        """Take an unacknowledged fragment out of the file; it is kept, should it be a person's after all."""
        home, fragment = self._home, seen.content[whole:]
        if b"\0" in fragment:
            self._keep_torn(seen.path, fragment)
        elif fragment.strip():
            self.set_aside(seen.path, fragment, TORN_CUTTER)
        if whole:
            home.disk.cut(home.path(seen.path), whole)
        else:
            home.disk.remove(home.path(seen.path))

    def _keep_torn(self, path: str, fragment: bytes) -> None:
        home = self._home
        home.disk.put(home.internal / TORN / f"{to_ms(home.now())}-{path.rpartition('/')[2]}", fragment)

    def set_aside(self, path: str, content: bytes, by: Attribution) -> None:
        """Keep content that has no place in its file as a page under `conflicts/`; what was forgotten is archived."""
        from memfolio.vault.move import is_bare, without_forgotten

        rest, forgotten = without_forgotten(path, content, self._journal.files, self._readable)
        is_empty = not rest.strip() or (rest != content and is_bare(path, rest))
        done = [] if is_empty else [self._put(self._conflict_path(path), rest)]
        done += self._archived(path, forgotten) if forgotten else []
        if done:
            self._journal.enter(Action.CREATE, by, done)

    def _put(self, path: str, content: bytes) -> Written:
        stamp = self._home.disk.put(self._home.path(path), content)
        return Written(path, None, content, self._journal.hash_of(path), self._home.hash(content), stamp)

    def _readable(self, path: str) -> bytes | None:
        """Return a file's content, or None if it cannot be read: that must not block saving a person's text."""
        try:
            return self._journal.read(path)
        except (OSError, HomeError):
            return None

    def _archived(self, path: str, forgotten: list[Excerpt]) -> list[Written]:
        """Keep what was forgotten where it should have gone, if it is not there; other forms of it as fragments."""
        from memfolio.vault.move import archive_of, into_archive, missing_from

        target = archive_of(path)
        if target != path:  # else whoever asks is about to cut it
            self.reconcile(target)
        before = self._journal.read(target) or b""
        missing = missing_from(target, before, forgotten) if target != path else []
        others = [each.body for each in forgotten if each not in missing and to_bytes(each.body) not in before]
        if others:
            self._keep_torn(path, to_bytes("\n\n".join(others)))
        return [self._put(target, into_archive(target, before, missing))] if missing else []

    def _conflict_path(self, path: str) -> str:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        agent = agent_of(path)
        folder = f"{f'agents/{agent}' if agent and agent != SHARED else SHARED}/memory/conflicts"
        for ms in count(to_ms(self._home.now())):
            copy = f"{folder}/{stem or suffix}.{ms}{dot}{suffix if stem else 'md'}"
            if self._journal.files.get(copy) is None and self._journal.stamp(copy) is None:
                return copy
        raise AssertionError("count() does not end")

    def _enter_own(self, seen: FileNow, own: Own, tail: Tail) -> None:
        home = self._home
        for piece in own.pieces:
            data = seen.content[piece.start : piece.end]
            before, tail = tail, tail.then(data)
            write = Written(seen.path, before.size, data, before.hash, tail.hash, tail=tail)
            key = home.key_mark(agent_of(seen.path) or "", piece.key) if piece.key else None
            self._journal.enter(Action.APPEND, piece.by, [write], ids=[piece.id], key=key, strict=True)
        if tail.hash:
            # What was cut has another stamp, and so has what a person saved since we looked: it is read again.
            self._journal.restamp(seen.path, FileState(tail.hash, tail.size, seen.stamp))

    def _record_edit(self, seen: FileNow, known: FileState | None, move: GitMove | None = None) -> bool:
        """Record a person's edit, and save what it must not remove; False if the file changed meanwhile."""
        before = self._before(seen.path) if known and ledger_of(seen.path) else b""
        lost = self._lost(seen, before) if move is None else self._uncommitted(seen, before)
        # What was saved over comes back before the trail knows of the edit: a crash in between only repeats this.
        rescue = self._rescue(seen, [text for _, text in lost]) if lost else None
        if lost and rescue is None:
            return False
        action, gone = Action.EDIT if known else Action.CREATE, _vanished(seen, before)
        if move is not None and (gone or self.is_former(seen.path, seen.content)):
            self._taken_out.append(self._journal.head.seq + 1)
        was, stamp = known.hash if known else None, None if lost else seen.stamp
        self._enter_edit(action, Written(seen.path, None, seen.content, was, seen.hash, stamp), gone)
        if rescue:
            self._journal.enter(Action.RESTORE, RESTORER, [rescue], ids=[each for each, _ in lost])
            self._journal.notices.append(_put_back(seen.path, len(lost)))
        return True

    def _before(self, path: str) -> bytes:
        """The file's content as we last left it, from git and the changes that are not there yet."""
        content = self._committed(path) or b""
        for record in self._journal.pending:
            for write in record.writes:
                if write.path == path:
                    content = write.after(content) or b""
        return content

    def _lost(self, seen: FileNow, before: bytes) -> list[tuple[str, str]]:
        """Blocks that a stale editor saved over, with their ids."""
        run = lost_run(seen.path, before, seen.content) if before else []
        lost = [(each, text) for each, text in run if self._is_young(each)]
        return lost if self._is_unseen([each for each, _ in lost]) else []

    def _uncommitted(self, seen: FileNow, before: bytes) -> list[tuple[str, str]]:
        """Blocks with their ids that a person's commit cannot have taken out, since no commit had them."""
        known = self._committed(seen.path) or b""
        there = {each for content in (known, seen.content) for each, _ in blocks_of(seen.path, content)}
        return [(each, text) for each, text in blocks_of(seen.path, before) if each and each not in there]

    def _rescue(self, seen: FileNow, texts: list[str]) -> Written | None:
        """Append overwritten entries again; None if somebody changed the file meanwhile."""
        is_log = form_of(seen.path) is Form.LOG
        tail = self._journal.tail_behind(seen.content)
        lead = ("" if tail.last == b"\n" else "\n") + ("\n" if is_log else "")
        data = to_bytes(lead + ("\n" if is_log else "").join(text.rstrip("\n") + "\n" for text in texts))
        # In one step, since half of an entry that was torn here could not be told from one that a person shortened.
        found, after = self._replace(seen.path, seen.content + data, seen), tail.then(data)
        return Written(seen.path, tail.size, data, tail.hash, after.hash, found[0], tail=after) if found else None

    def _replace(self, path: str, content: bytes | None, seen: FileNow | None) -> tuple[Stamp | None] | None:
        """The stamp behind putting this content into the file, or deleting it; None if it is not what was seen."""
        home, target = self._home, self._home.path(path)
        aside, stamp = (home.disk.take(target), None) if content is None else home.disk.swap(target, content)
        if aside and (seen is None or home.hash(home.disk.read(aside) or b"") != seen.hash):
            home.disk.rename(aside, target)
            return None
        if aside:
            home.disk.discard(aside)
        return (stamp,)

    def _is_young(self, id: str) -> bool:
        if not ID_PATTERN.fullmatch(id):
            return False
        home = self._home
        age = to_ms(home.now()) - int(id.split("-")[1])
        return age < home.config.stale_editor_window.total_seconds() * 1000

    def _is_unseen(self, ids: list[str]) -> bool:
        """Whether the editor cannot have seen all of these: deleting restored entries again is deliberate."""
        lines = self._journal.trail.lines(containing=[each.encode() for each in ids]) if ids else iter(())
        rescued = {each for line in lines if line.by.actor == RESTORER.actor for each in line.ids}
        return not rescued.issuperset(ids)


def _vanished(seen: FileNow, before: bytes) -> list[str]:
    """The memories that a person took out of a ledger; other ids may be a person's words: not for the trail."""
    there = {each for each, _ in blocks_of(seen.path, seen.content)} if before else set()
    ids = dict.fromkeys(each for each, _ in blocks_of(seen.path, before) if each and each not in there)
    return [each for each in ids if ID_PATTERN.fullmatch(each)]


def _put_back(path: str, entries: int) -> str:
    """Return the notice for a person whose deletion looked like saving an older copy."""
    what, it = ("1 entry", "it") if entries == 1 else (f"{entries} entries", "them")
    were, is_meant = ("was", "it is meant") if entries == 1 else ("were", "they are meant")
    return (
        f"{path}: {what} that an older copy of the file had overwritten {were} put back; "
        f"delete {it} once more if {is_meant} to go"
    )


def being_changed(path: str) -> HomeBusyError:
    return HomeBusyError(f"{path} is being changed all the time", hint="close its editor and try again")


def _not_here(path: str) -> FileNotHereError:
    return FileNotHereError(
        f"{path} is only a placeholder", hint="let your sync program fetch the file, then try again"
    )


# Conflict copies of sync programs: ledgers are merged by id, copies of pages are moved to `conflicts/`.

SYNC = Attribution(actor="system:sync", trigger="conflict-copy")
_MARKS = (
    r" \((?:[^()]+ )?conflicted copy(?: [^()]+)?\)",  # Dropbox, Nextcloud, ownCloud, Obsidian
    r" \((?:case|unicode encoding|selective sync|whitespace) conflict(?: \d+)?\)",  # Dropbox
    r"\.sync-conflict-\d{8}-\d{6}(?:-\w+)?",  # Syncthing
    r"[_-]conflict-\d{8}-\d{6}",  # ownCloud, once
    r" \(SFConflict [^()]+\)",  # Seafile
    r"_[^_]+_[a-z]{3}-\d\d-\d{4,6}-\d{4}_[a-z]*conflict(?:_\d+)?",  # Synology Drive
    r"\.conflict\d*",  # Resilio Sync
)
_COPY = re.compile(rf"(?i)(?P<stem>.+?)(?:{'|'.join(_MARKS)})(?P<suffix>\.\w+)")


def original_of(path: str) -> str | None:
    """The file that `path` is a conflict copy of if that file exists, by the names that sync programs give."""
    folder, _, name = path.rpartition("/")
    match = _COPY.fullmatch(name)
    if match is None or folder.endswith("/conflicts"):
        return None
    return f"{folder}/{match['stem']}{match['suffix']}"


def merge_copies(vault: Vault, files: Iterable[str], *, originals: Container[str]) -> list[str]:
    """Take in every conflict copy of one of `originals`; returns the changed files.

    A copy that cannot be taken in is reported and stays.
    """
    changed: list[str] = []
    named = [(original, copy) for copy in files if (original := original_of(copy)) and original in originals]
    # Logs come last: what the state of another machine forgets or calls back is known by then.
    for original, copy in sorted(named, key=lambda each: form_of(each[0]) is Form.LOG):
        try:
            changed += _take_in(vault, original, copy)
        except (InputError, ConflictError, DiskError, FileNotHereError, HomeBusyError) as error:
            vault.problems[copy] = f"is a conflict copy that could not be merged: {error.message}"
    return changed


def _take_in(vault: Vault, original: str, copy: str) -> tuple[str, ...]:
    from memfolio.vault.move import without_forgotten

    page = vault.page(copy)
    if page is None:
        return ()
    rest, forgotten = without_forgotten(original, page.content, vault.journal.files, partial(_state, vault))
    operations = [
        *_missing_blocks(vault, original, rest),
        *_set_aside(vault, original, page, rest),
        *_archived(vault, original, forgotten),
    ]
    merge = Change(operations=tuple(operations), by=SYNC, action=Action.MERGE)
    return vault.writer.apply(Allowed(merge)).paths


def _state(vault: Vault, path: str) -> bytes | None:
    try:
        return vault.journal.read(path)
    except OSError as error:
        raise DiskError(f"{path} does not tell what was forgotten: {error}", hint="make it readable") from error


def _archived(vault: Vault, original: str, forgotten: list[Excerpt]) -> list[Operation]:
    """Archive forgotten entries unless they are there already; other versions of them are in git."""
    if not forgotten:
        return []
    from memfolio.vault.move import archive_of, into_archive, missing_from

    target = archive_of(original)
    page = vault.page(target)
    before = page.content if page else None
    missing = missing_from(target, before, forgotten)
    return [PutPage.over(page, target, into_archive(target, before, missing))] if missing else []


def _missing_blocks(vault: Vault, original: str, copy: bytes) -> list[Operation]:
    """Return the blocks that the copy of a ledger has and the ledger lacks."""
    if (named := ledger_of(original)) is None:
        return []
    present = {each for part in _parts(vault, named[0]) for each, _ in blocks_of(original, part)}
    missing = [(each, to_bytes(text.rstrip("\n") + "\n")) for each, text in blocks_of(original, copy) if each]
    missing = [(each, block) for each, block in missing if each not in present]
    if not missing:
        return []
    return [AddBlocks(named[0], tuple(block for _, block in missing), tuple(each for each, _ in missing))]


def _parts(vault: Vault, ledger: Ledger) -> list[bytes]:
    paths = [ledger.part(number) for number in range(1, vault.journal.newest_part(ledger) + 1)]
    return [page.content for path in paths if (page := vault.page(path))]


def _set_aside(vault: Vault, original: str, copy: Page, rest: bytes) -> list[Operation]:
    """Remove the copy; text that the original lacks is kept as a page under `conflicts/`."""
    from memfolio.vault.move import is_bare

    page = vault.page(original)
    operations: list[Operation] = [PutPage(copy.path, None, copy.hash)]
    if ledger_of(original) and page and _is_covered(original, page.content, rest):
        return operations
    if rest != copy.content and is_bare(original, rest):
        return operations
    name = copy.path.rpartition("/")[2]
    target = f"{agent_root(agent_of(copy.path) or SHARED)}/memory/conflicts/{name}"
    existing = vault.page(target)
    return [*operations, PutPage.over(existing, target, rest)]


def _is_covered(path: str, original: bytes, copy: bytes) -> bool:
    """Whether every block of the copy is in the original as it is, or will be, because it has an id of its own."""
    blocks = blocks_of(path, original)
    ids = {each: text.strip() for each, text in blocks if each}
    texts = {text.strip() for _, text in blocks}
    return all(
        ids.get(each, text.strip()) == text.strip() if each else text.strip() in texts
        for each, text in blocks_of(path, copy)
    )
