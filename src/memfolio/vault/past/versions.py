"""What a change did, as bytes: each file's content in front of and behind it, from git or from the recent bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate

from memfolio.errors import HistoryError, NotFoundError, RefusedError
from memfolio.types import Action
from memfolio.vault.audit import FileMark, Trail, TrailLine
from memfolio.vault.foreign import blocks_of
from memfolio.vault.git.history import History
from memfolio.vault.past.merge import ledger_blocks
from memfolio.vault.recent import Record, to_bytes


@dataclass(frozen=True, slots=True)
class Version:
    """One file around one change; None where it did not exist. An append began at `start`."""

    path: str
    before: bytes | None
    after: bytes | None
    start: int | None = None

    @property
    def added(self) -> bytes | None:
        """The bytes of an append; None for any other change."""
        return None if self.start is None else (self.after or b"")[self.start :]


class Versions:
    """Finds the bytes of earlier changes, as of the moment it was made with the changes that waited for git then."""

    def __init__(self, trail: Trail, history: History, waiting: Sequence[Record], hash: Callable[[bytes], str]) -> None:
        self._trail = trail
        self._history = history
        self._waiting = {record.line.seq: record for record in waiting}
        self.hash = hash
        self._tip = self._newest()
        self._here: dict[str, tuple[bytes, dict[int, str]]] = {}

    def look_at(
        self, lines: Iterable[TrailLine], read: Callable[[str], bytes | None], hasher: Callable[[], blake2b]
    ) -> None:
        """Learn which appends lie in the files as they were written: their bytes need not be looked up in git."""
        sizes: dict[str, set[int]] = {}
        for mark in (mark for line in lines for mark in line.files if mark.start is not None):
            sizes.setdefault(mark.path, set()).add(mark.size)
        for path, ends in sizes.items():
            content = read(path) or b""
            self._here[path] = content, _hashes(content, ends, hasher())

    def of(self, line: TrailLine) -> list[Version]:
        """The files of a change before and after it."""
        found = [version for mark in line.files if (version := self._from_here(mark))]
        if len(found) == len(line.files):
            return found
        return [self._version(line, mark) for mark in line.files]

    def find(self, line: TrailLine, mark: FileMark) -> Version | None:
        """One file of a change before and after it; None where nobody knows any more."""
        try:
            return self._version(line, mark)
        except (HistoryError, RefusedError):
            return None

    def waiting(self, line: TrailLine, mark: FileMark) -> bytes | None:
        """What a change that waits for git appended to a file."""
        record = self._waiting.get(line.seq)
        writes = record.writes if record else ()
        return next((write.data for write in writes if (write.path, write.start) == (mark.path, mark.start)), None)

    def _version(self, line: TrailLine, mark: FileMark) -> Version:
        if line.seq in self._waiting and (self._tip is None or line.seq not in self._commits):
            return self._from_waiting(mark, line.seq)
        commit = self._commits.get(line.seq)
        if commit is None:
            raise HistoryError(f"git does not have change {line.seq}", hint="run `memfolio verify`")
        return self._from_git(line, mark, commit)

    @cached_property
    def _commits(self) -> dict[int, str]:
        return self._history.seqs()

    def _from_here(self, mark: FileMark) -> Version | None:
        content, hashes = self._here.get(mark.path, (b"", {}))
        if mark.start is None or hashes.get(mark.size) != mark.now:
            return None
        return Version(mark.path, content[: mark.start] or None, content[: mark.size], mark.start)

    def _from_git(self, line: TrailLine, mark: FileMark, commit: str) -> Version:
        content = self._history.read(mark.path, commit=commit)
        if mark.start is not None:
            # Appends may share a commit: the file at that commit may go on behind this change.
            start, end = self._span(line, mark, content or b"")
            return Version(mark.path, (content or b"")[:start] or None, (content or b"")[:end], start)
        return Version(mark.path, self._before(line, mark, commit), content)

    def _span(self, line: TrailLine, mark: FileMark, content: bytes) -> tuple[int, int]:
        """Where an append lies in its file: where the trail says, or where its ids are if a purge has moved things."""
        start = mark.start or 0
        if not self._has_purges or self.hash(content[: mark.size]) == mark.now:
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
                recorded = self._history.read(mark.path, commit=earlier)
                if recorded is not None and self.hash(recorded) == mark.was:
                    return recorded
        return content

    def _at_parent(self, path: str, commit: str) -> bytes | None:
        try:
            parent = self._history.resolve(f"{commit}^")
        except NotFoundError:
            return None
        return self._history.read(path, commit=parent)

    def _from_waiting(self, mark: FileMark, seq: int) -> Version:
        content = self._history.read(mark.path, commit=self._tip) if self._tip else None
        for record in self._waiting.values():
            for write in record.writes:
                if write.path != mark.path:
                    continue
                before, content = content, write.after(content or b"")
                if record.line.seq == seq:
                    return Version(mark.path, before, content, mark.start)
        raise HistoryError(f"the bytes of change {seq} are not known", hint="run `memfolio verify`")

    def _newest(self) -> str | None:
        """The newest commit; a home without any history yet has none."""
        try:
            return self._history.ours()
        except HistoryError:
            return None


def _hashes(content: bytes, ends: Iterable[int], hasher: blake2b) -> dict[int, str]:
    """The hash of the content up to each of these ends that it reaches."""
    found: dict[int, str] = {}
    at = 0
    for end in sorted(end for end in ends if end <= len(content)):
        hasher.update(content[at:end])
        found[end], at = hasher.hexdigest(), end
    return found
