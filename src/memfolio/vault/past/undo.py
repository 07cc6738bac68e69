"""Going back: undo takes changes back on top of whatever happened since, rollback brings a moment back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import Protocol

from memfolio.errors import HistoryError, InputError, NotFoundError, RefusedError, UndoConflictError
from memfolio.types import Action, frozen
from memfolio.vault.journal import FileMark, Record, Trail, TrailLine, to_bytes, to_text
from memfolio.vault.lines import attribution_of, is_packed, record_of, split_lines
from memfolio.vault.log import read_entry_at
from memfolio.vault.move import (
    PURGE,
    Excerpt,
    Files,
    archived_memories,
    excerpts,
    forgotten_by,
    is_bare,
    lasting_lines,
    lead,
    memories_in,
    without,
)
from memfolio.vault.past.merge import difference, ledger_blocks, merge_blocks, merge_text
from memfolio.vault.paths import (
    AUDIT,
    Form,
    archive_page,
    form_of,
    is_daily_log,
    is_state,
    ledger_of,
    names_from,
)
from memfolio.vault.reconcile import blocks_of


class Snapshots(Protocol):
    """The home as it was: git's commits of a folder, or whatever keeps the past elsewhere."""

    def ours(self) -> str | None:
        """The newest state, by its name."""

    def resolve(self, rev: str) -> str:
        """Return the full name of a state; raises NotFoundError if there is none."""

    def at_time(self, moment: datetime) -> str | None:
        """The last state of no later than a moment."""

    def files(self, commit: str | None = None) -> dict[str, str]:
        """Return the files of a state, each with a value that differs if its content does."""

    def read(self, path: str, *, commit: str | None = None) -> bytes | None:
        """A file in a state, by default the newest."""

    def seqs(self) -> Mapping[int, str]:
        """The state right behind each change."""


# What a change did, as bytes: each file's content in front of and behind it, not what became of it since.
#
# An append lies in the file as long as nobody replaced that; everything else is in the journal of changes that are not
# in git yet, or in git. Hashes say which: neither is believed without them.

CACHED = 16
"""How many contents of files are kept at hand: changes that follow one another mostly touch the same files."""

Blocks = list[tuple[str | None, str]]
"""Entries or lines of a ledger, each with its id if it has one."""


@dataclass(frozen=True, slots=True)
class Version:
    """A file before and after one change; None if it did not exist. An append began at `start`."""

    path: str
    before: bytes | None
    after: bytes | None
    start: int | None = None

    @property
    def added(self) -> bytes | None:
        """The bytes of an append; None for any other change."""
        return None if self.start is None else (self.after or b"")[self.start :]


class Versions:
    """Finds the bytes of earlier changes, as of the moment it was made with the changes that waited for git then.

    `read` returns the present content of a file.
    """

    def __init__(
        self,
        trail: Trail,
        history: Snapshots,
        waiting: Sequence[Record],
        hash: Callable[[bytes], str],
        read: Callable[[str], bytes | None],
    ) -> None:
        self._trail = trail
        self._history = history
        self._waiting = {record.line.seq: record for record in waiting}
        self.hash = hash
        self._tip: str | None = None
        with suppress(HistoryError):  # a home without any history yet
            self._tip = history.ours()
        self._now = lru_cache(CACHED)(read)
        self._committed = lru_cache(CACHED)(lambda path, commit: history.read(path, commit=commit))

    def of(self, line: TrailLine) -> list[Version]:
        """The files of a change before and after it."""
        return [self._version(line, mark) for mark in line.files]

    def find(self, line: TrailLine, mark: FileMark) -> Version | None:
        """Return one file before and after a change; None if that is not known any more."""
        try:
            return self._version(line, mark)
        except (HistoryError, RefusedError):
            return None

    def added(self, line: TrailLine, mark: FileMark) -> bytes | None:
        """What a change appended to a file; None if that is not known any more, or it did something else."""
        version = self.find(line, mark)
        return version.added if version else None

    def differing(self, line: TrailLine, mark: FileMark) -> tuple[Blocks, Blocks]:
        """The blocks of a ledger that a change took out, and those that it put in; none if that is not known."""
        if (version := self.find(line, mark)) is None:
            return [], []
        if version.added is not None:
            return [], blocks_of(mark.path, version.added)
        # The contents are cut where blocks may begin, and only pieces that one side lacks are read: most are on both.
        begin, joint = (rb"\n(?=## \d)", b"\n\n") if form_of(mark.path) is Form.LOG else (rb"\n", b"\n")
        sides = [re.split(begin, content or b"") for content in (version.before, version.after)]
        old, new = ([piece.strip(b"\n") for piece in pieces] for pieces in sides)
        there, here = set(old), set(new)
        taken = joint.join([*(piece for piece in old if piece not in here), b""])
        put = joint.join([*(piece for piece in new if piece not in there), b""])
        return blocks_of(mark.path, taken), blocks_of(mark.path, put)

    def _version(self, line: TrailLine, mark: FileMark) -> Version:
        after = self._left_here(mark)
        if after is not None and mark.start is not None:
            return Version(mark.path, after[: mark.start] or None, after, mark.start)
        if line.seq in self._waiting and (self._tip is None or line.seq not in self._commits):
            return self._from_waiting(mark, line.seq)
        commit = self._commits.get(line.seq)
        if commit is None:
            raise HistoryError(f"the history does not have change {line.seq}", hint="run `memfolio verify`")
        content = self._committed(mark.path, commit) if after is None else after
        if mark.start is None:
            return Version(mark.path, self._before(line, mark, commit), content)
        # Appends may share a commit: the file at that commit may go on behind this change.
        start, end = self._span(line, mark, content or b"")
        return Version(mark.path, (content or b"")[:start] or None, (content or b"")[:end], start)

    @cached_property
    def _commits(self) -> Mapping[int, str]:
        return self._history.seqs()

    def _left_here(self, mark: FileMark) -> bytes | None:
        """The file as the change left it, if it still begins so."""
        if mark.now is None or (content := self._now(mark.path)) is None or len(content) < mark.size:
            return None
        found = content[: mark.size]
        return found if self.hash(found) == mark.now else None

    def _span(self, line: TrailLine, mark: FileMark, content: bytes) -> tuple[int, int]:
        """Return the span of an append: as recorded in the trail, or by its ids if a purge has moved it."""
        start = mark.start or 0
        if self.hash(content[: mark.size]) == mark.now or not self._has_purges:
            return start, mark.size
        ends = list(accumulate(len(to_bytes(piece)) for piece in ledger_blocks(mark.path, content)))
        ids = [each for each, _ in blocks_of(mark.path, content)]
        found = [number for number, each in enumerate(ids) if each in line.ids]
        if not found or (line.count > len(line.ids) and len(found) < len(line.ids)):
            raise RefusedError(
                f"what change {line.seq} wrote to {mark.path} was purged, or is not whole any more",
                hint="nothing brings back what was purged; `memfolio forget` takes away what is left",
            )
        first = 0 if start == 0 or found[0] == 0 else ends[found[0] - 1]
        return first, ends[found[-1]]

    @cached_property
    def _has_purges(self) -> bool:
        """Whether files in git may be shorter than the trail says."""
        lines = self._trail.lines(containing=[Action.PURGE.value.encode()])
        return any(line.action is Action.PURGE for line in lines)

    def _before(self, line: TrailLine, mark: FileMark, commit: str) -> bytes | None:
        """The file in front of a change: as the commit before has it, or the change that left it so.

        The commit before may be a person's, by which they made this very change.
        """
        content = self._at_parent(mark.path, commit)
        if mark.was is None or (content is not None and self.hash(content) == mark.was):
            return content
        for each in self._trail.lines(containing=[mark.was.encode()]):
            left = any((other.path, other.now) == (mark.path, mark.was) for other in each.files)
            if left and each.seq < line.seq and (earlier := self._commits.get(each.seq)):
                recorded = self._committed(mark.path, earlier)
                if recorded is not None and self.hash(recorded) == mark.was:
                    return recorded
        return content

    def _at_parent(self, path: str, commit: str) -> bytes | None:
        try:
            parent = self._history.resolve(f"{commit}^")
        except NotFoundError:
            return None
        return self._committed(path, parent)

    def _from_waiting(self, mark: FileMark, seq: int) -> Version:
        content = self._committed(mark.path, self._tip) if self._tip else None
        for record in self._waiting.values():
            for write in record.writes:
                if write.path != mark.path:
                    continue
                before, content = content, write.after(content or b"")
                if record.line.seq == seq:
                    return Version(mark.path, before, content, mark.start)
        raise HistoryError(f"the bytes of change {seq} are not known", hint="run `memfolio verify`")


# Entries that stand as they were appended are cut. Everything else is merged: ledgers block by block (an entry, a
# line), pages line by line. What later edits overlap is refused with the difference. Memories that leave a daily log
# go to the archive, so that nothing is only in git; what was forgotten is not brought back, unless the forgetting is
# undone too.

FINAL = frozenset({Action.ALERT, Action.ACK, Action.PURGE})
_MARKS = re.compile(r" \^(M-[0-9]{1,15}-[0-9a-f]{8})")
_TIMED_ID = re.compile(r"[^-]+-([0-9]{1,15})-[^-]+")

Label = str | None


@frozen
class UndoTarget:
    """What to undo: changes by number, or all of an actor, session or source."""

    seqs: frozenset[int] = frozenset()
    actor: str | None = None
    session: str | None = None
    source: str | None = None

    def words(self) -> str:
        """What is to be undone, for a message."""
        if self.seqs:
            return f"change {', '.join(map(str, sorted(self.seqs)))}"
        labels = {"actor": self.actor, "session": self.session, "source": self.source}
        return ", ".join(f"{name} {value}" for name, value in labels.items() if value is not None)

    def takes(self, line: TrailLine) -> bool:
        """Whether the whole change is to be undone."""
        if self.seqs:
            return line.seq in self.seqs
        return self._may_take(line) and self._fits(line.by.session, line.by.source)

    def may_take_entries(self, line: TrailLine) -> bool:
        """Whether entries of the change may be meant: one that joins several sessions or sources names none."""
        if self.seqs or line.action is not Action.APPEND or not self._may_take(line):
            return False
        return self._fits(line.by.session or self.session, line.by.source or self.source)

    def takes_entry(self, line: TrailLine, path: str, piece: str) -> bool:
        """Whether this entry of the change is to be undone."""
        if self.seqs or self.session is self.source is None:
            return True
        session, source = _labels(path, piece)
        return self._fits(line.by.session or session, line.by.source or source)

    def _may_take(self, line: TrailLine) -> bool:
        return line.action not in FINAL and line.action is not Action.REVERT and self.actor in (None, line.by.actor)

    def _fits(self, session: Label, source: Label) -> bool:
        return self.session in (None, session) and self.source in (None, source)


def _labels(path: str, piece: str) -> tuple[Label, Label]:
    """The session and the source that an entry names."""
    if form_of(path) is Form.LINES:
        by = attribution_of(record_of(to_bytes(piece)))
        return (by.session, by.source) if by else (None, None)
    entry = read_entry_at(path, piece.lstrip("\n"))
    return (entry.item.session, entry.item.source) if entry else (None, None)


def choose(lines: Iterable[TrailLine], wanted: UndoTarget) -> list[tuple[TrailLine, bool]]:
    """The changes to take back, newest first, each with whether all of it goes or only what is left and wanted."""
    if wanted == UndoTarget():
        raise InputError("nothing is named that could be undone", hint="name changes, an actor, a session or a source")
    reverts, found = list[TrailLine](), dict[int, tuple[TrailLine, bool]]()
    for line in lines:
        if line.action is Action.REVERT:
            reverts.append(line)
        if (is_whole := wanted.takes(line)) or wanted.may_take_entries(line):
            found[line.seq] = line, is_whole
    if missing := wanted.seqs - found.keys():
        raise NotFoundError(f"there is no change {min(missing)}", hint="`memfolio log` lists the changes")
    if final := [seq for seq, (line, _) in found.items() if line.action in FINAL]:
        raise RefusedError(f"change {final[0]} cannot be undone", hint="alerts, acknowledgements and purges are final")
    undone = undone_by(reverts)
    # Of a change of several entries perhaps only some are undone.
    chosen = [
        (line, is_whole and seq not in undone)
        for seq, (line, is_whole) in found.items()
        if line.files and (seq not in undone or (line.action is Action.APPEND and line.count > 1))
    ]
    if not chosen:
        raise NotFoundError(
            f"{wanted.words()} left nothing to undo",
            hint="nothing of it was recorded, or it is undone already; `memfolio log` shows what happened",
        )
    return sorted(chosen, key=lambda choice: -choice[0].seq)


def undone_by(reverts: Sequence[TrailLine]) -> set[int]:
    """Return the changes that are undone, wholly or in part; a revert that was itself reverted does not count."""
    undone: set[int] = set()
    for line in sorted(reverts, key=lambda line: -line.seq):
        if line.seq not in undone:
            undone.update(line.about)
    return undone


@dataclass(slots=True)
class Reversal:
    """Files as they are and as they will be once the chosen changes are taken back.

    Changes are noted first, newest first, and then taken back together by `finish`.
    """

    read: Callable[[str], bytes | None]
    current: dict[str, bytes | None] = field(default_factory=dict)
    wanted: dict[str, bytes | None] = field(default_factory=dict)
    seqs: list[int] = field(default_factory=list)
    _standing: dict[str, dict[str, str]] = field(default_factory=dict)
    _cuts: dict[str, set[str]] = field(default_factory=dict)
    _gone: dict[str, list[Excerpt]] = field(default_factory=dict)
    """The excerpts cut out of each log."""
    _begun: set[str] = field(default_factory=set)
    """Files that one of the changes created: they are deleted once empty."""
    _renamed: set[str] = field(default_factory=set)
    """Files that were there before under another name, and go back to it with all that is in them."""
    _merges: list[list[Version]] = field(default_factory=list)

    def take_back(self, line: TrailLine, versions: Iterable[Version]) -> None:
        """Note a whole change."""
        if rest := [version for version in versions if not self._cut(version)]:
            self._merges.append(rest)
        if line.action is Action.RENAME:
            self._renamed.update(version.path for version in rest if version.before is None)
        self.seqs.append(line.seq)

    def take_back_entries(self, line: TrailLine, versions: Iterable[Version], wanted: UndoTarget) -> None:
        """Note the wanted entries of an append, as far as they are there; UndoConflictError where one was edited."""
        found = [self._cut(version, partial(wanted.takes_entry, line, version.path)) for version in versions]
        if any(found):
            self.seqs.append(line.seq)

    def finish(self, state: Files) -> None:
        """Take back what is noted; `state` is every state file as it is. UndoConflictError where later edits overlap.

        State comes first: it says what else must not come back.
        """
        for versions in self._merges:
            self._merge([version for version in versions if is_state(version.path)])
        self._carry_out([path for path in self._cuts if is_state(path)])
        purged = forgotten_by(lasting_lines(state), {PURGE})
        forgotten = purged | forgotten_by(lasting_lines({**state, **self.wanted}))
        for versions in self._merges:
            rest = [version for version in versions if not is_state(version.path)]
            self._merge(hold_back(rest, forgotten, purged) if forgotten else rest)
        self._carry_out([path for path in self._cuts if not is_state(path)])
        # Memories that leave a daily log are kept in the archive.
        before = {path: None if path in self._renamed else content for path, content in self.current.items()}
        self.wanted |= archived_memories(self.wanted, before, purged, self.load, self._gone)

    def _cut(self, version: Version, takes: Callable[[str], bool] | None = None) -> bool:
        """Note entries of an append to be cut, all or those that are there and taken; False where none can be."""
        path = version.path
        if version.start is None or form_of(path) is Form.PAGE:
            return False
        standing, blocks = self._standing_in(path), blocks_of(path, version.added or b"")
        pieces = {each: text.strip("\n") for each, text in blocks if each}
        if takes:
            pieces = {each: text for each, text in pieces.items() if each in standing and takes(f"{text}\n")}
        elif "".join(text for each, text in blocks if not each).strip() not in ("", lead(path).strip()):
            return False
        if any(standing.get(each, text) != text for each, text in pieces.items()):
            if takes:
                raise UndoConflictError(path, diff=difference(path, version.after, self.current[path]))
            return False  # it may be what it was once later changes are taken back
        if pieces:
            self._cuts.setdefault(path, set()).update(pieces)
            self._begun |= {path} if version.start == 0 else set()
        return bool(pieces)

    def _standing_in(self, path: str) -> dict[str, str]:
        """The entries that are in the file, by id; one that is there more than once has no text to compare."""
        if path not in self._standing:
            found = self._standing[path] = {}
            for each, text in blocks_of(path, self.load(path) or b""):
                if each:
                    found[each] = "" if each in found else text.strip("\n")
        return self._standing[path]

    def load(self, path: str) -> bytes | None:
        """A file as it will be, as far as that is known yet; read when it is first asked for."""
        if path not in self.current:
            self.current[path] = self.wanted[path] = self.read(path)
        return self.wanted[path]

    def _merge(self, versions: Iterable[Version]) -> None:
        for version in versions:
            self.wanted[version.path] = _reverse(version, self.load(version.path))

    def _carry_out(self, paths: Iterable[str]) -> None:
        """Cut the entries that are to go out of these files, those that a merge has just brought back included."""
        for path in paths:
            content, cuts = self.wanted[path] or b"", self._cuts[path]
            if is_daily_log(path):
                self._gone[path] = excerpts(path, to_text(content), cuts)
            if any(each in cuts for each, _ in blocks_of(path, content)):
                left = without(path, content, cuts)
                self.wanted[path] = None if path in self._begun and is_bare(path, left) else left


def hold_back(versions: list[Version], forgotten: frozenset[str], purged: frozenset[str]) -> list[Version]:
    """The versions of a change as if it had nothing to do with what its reversal must not bring back.

    That is what was forgotten for a daily log, and what was purged for any; other files stay untouched by it too.
    """
    returning: set[str] = set()
    for version in versions:
        if version.start is None and form_of(version.path) is Form.LOG:
            banned = forgotten if ledger_of(version.path) else purged
            if _may_name(version.before or b"", banned):
                gone = memories_in(version.path, version.before) - memories_in(version.path, version.after)
                returning |= gone & banned
    if not returning:
        return versions
    return [_apart_from(version, returning) if form_of(version.path) is Form.LOG else version for version in versions]


def _may_name(content: bytes, ids: frozenset[str]) -> bool:
    """Whether a log may have one of these memories; only the ids of hand-written text do not stand in it."""
    return any(each.startswith("H-") for each in ids) or not ids.isdisjoint(_MARKS.findall(to_text(content)))


def _apart_from(version: Version, ids: set[str]) -> Version:
    path, before, after = version.path, version.before, version.after
    return replace(version, before=_rest_of(path, before, ids), after=_rest_of(path, after, ids))


def _rest_of(path: str, content: bytes | None, ids: set[str]) -> bytes | None:
    rest = b"" if content is None else without(path, content, ids)
    return None if is_bare(path, rest) else rest


def _reverse(version: Version, ours: bytes | None) -> bytes | None:
    """Return `ours` without the change; None if no file is left."""
    if ours == version.after:
        return version.before
    if form_of(version.path) is Form.PAGE:
        return _reverse_page(version, ours)
    base, theirs = (ledger_blocks(version.path, content) for content in (version.after, version.before))
    # A log's title belongs to the log, not to the change that happened to create it.
    base = base or _title_of(theirs)
    theirs = theirs or _title_of(base)
    blocks = merge_blocks(base, ledger_blocks(version.path, ours), theirs, lambda block: _order(version.path, block))
    if blocks is None:
        raise UndoConflictError(version.path, diff=difference(version.path, version.after, ours))
    content = to_bytes("".join(blocks))
    return None if is_bare(version.path, content) and version.before is None else content


def _reverse_page(version: Version, ours: bytes | None) -> bytes:
    merged = None
    if not is_packed(version.path) and ours is not None and version.after is not None and version.before is not None:
        merged = merge_text(to_text(version.after), to_text(ours), to_text(version.before))
    if merged is None:
        raise UndoConflictError(version.path, diff=difference(version.path, version.after, ours))
    return to_bytes(merged)


def _title_of(blocks: list[str]) -> list[str]:
    return [block for block in blocks[:1] if block.startswith("# ")]


def _order(path: str, block: str) -> tuple[int, str]:
    """Return the sort key of a block among others at the same place: the time in its id, titles first."""
    marked = next((each for each, _ in blocks_of(path, to_bytes(block)) if each), "")
    timed = _TIMED_ID.fullmatch(marked)
    return (int(timed[1]), marked) if timed else (0, "")


# Rollback: pages, logs and state as they were at a moment. The trail and the archive are never rolled back, and what
# was forgotten or purged since then stays so. What leaves goes to the archive, so that nothing is only in git.

_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?!\d)")


def is_rolled_back(path: str) -> bool:
    return not path.startswith(f"{AUDIT}/") and "/memory/archive/" not in path


def restore(
    then: Files, now: Files, state: Files, read: Callable[[str], bytes | None], month: str
) -> dict[str, bytes | None]:
    """What each file must become so that `then` is back, except for what was forgotten anywhere since.

    `state` is every state file as it is. Memories that leave their logs, and pages about conversations and checkpoints
    that were not there then, go to the archive, for which `read` says what is there; a page whose name tells no month
    goes to `month`.
    """
    wanted = {path: then.get(path) for path in {*then, *now} if is_rolled_back(path)}
    _keep_lasting(wanted, lasting_lines(now), then)
    forgotten = forgotten_by(lasting_lines(state))
    for path, content in wanted.items():
        if content is not None and form_of(path) is Form.LOG:
            wanted[path] = without(path, content, forgotten)
    purged = forgotten_by(lasting_lines(state), {PURGE})
    return wanted | archived_memories(wanted, now, purged, read) | _archived_pages(wanted, now, read, month)


def _archived_pages(
    wanted: Files, now: Files, read: Callable[[str], bytes | None], month: str
) -> dict[str, bytes | None]:
    """The pages that are kept as a whole and vanish, where the archive has a free name for them or has them already."""
    archived: dict[str, bytes | None] = {}
    for path in sorted(path for path, content in wanted.items() if content is None and now.get(path)):
        named = _MONTH.match(path.rpartition("/")[2])
        if target := archive_page(path, named[0] if named else month):
            fitting = (None, now[path])
            names = (name for name in names_from(target) if name not in archived and read(name) in fitting)
            archived[next(names)] = now[path]
    return archived


def _keep_lasting(wanted: dict[str, bytes | None], lasting: Mapping[str, list[bytes]], then: Files) -> None:
    """Append the lasting lines that the restored files do not have, each to the newest restored part of its ledger."""
    present = {
        raw for path, content in then.items() if form_of(path) is Form.LINES for raw in split_lines(content or b"")
    }
    for path, lines in lasting.items():
        missing = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines if line not in present)
        if missing:
            target = _newest_part(path, then)
            before = wanted.get(target) or b""
            wanted[target] = before + (b"" if before.endswith(b"\n") or not before else b"\n") + missing


def _newest_part(path: str, then: Files) -> str:
    named = ledger_of(path)
    if named is None:
        return path
    numbers = [part[1] for part in map(ledger_of, then) if part and part[0] == named[0]]
    return named[0].part(max(numbers, default=1))
