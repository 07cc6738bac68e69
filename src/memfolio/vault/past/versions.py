"""What a change did, as bytes: each file's content in front of and behind it, from git or from the recent bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memfolio.errors import HistoryError, NotFoundError
from memfolio.vault.audit import FileMark, Trail, TrailLine
from memfolio.vault.git.history import History
from memfolio.vault.recent import Record


@dataclass(frozen=True, slots=True)
class Version:
    """One file around one change; None where it did not exist."""

    path: str
    before: bytes | None
    after: bytes | None


class Versions:
    """Finds the bytes of earlier changes."""

    def __init__(self, trail: Trail, history: History, pending: Callable[[], list[Record]]) -> None:
        self._trail = trail
        self._history = history
        self._pending = pending

    def line(self, seq: int) -> TrailLine:
        line = self._trail.line(seq)
        if line is None:
            raise NotFoundError(f"there is no change {seq}", hint="`memfolio log` lists the changes")
        return line

    def of(self, line: TrailLine) -> list[Version]:
        """The files of a change before and after it."""
        waiting = self._pending()
        if any(record.line.seq == line.seq for record in waiting):
            return [self._from_pending(mark, line.seq, waiting) for mark in line.files]
        commit = self._history.seqs().get(line.seq)
        if commit is None:
            raise HistoryError(f"git does not have change {line.seq}", hint="run `memfolio verify`")
        return [self._from_git(mark, commit) for mark in line.files]

    def _from_git(self, mark: FileMark, commit: str) -> Version:
        content = self._history.read(mark.path, commit=commit)
        if mark.start is not None:
            # Appends may share a commit: the file at that commit may go on behind this change.
            content = content or b""
            return Version(mark.path, content[: mark.start] or None, content[: mark.size])
        return Version(mark.path, self._at_parent(mark.path, commit), content)

    def _at_parent(self, path: str, commit: str) -> bytes | None:
        try:
            parent = self._history.resolve(f"{commit}^")
        except NotFoundError:
            return None
        return self._history.read(path, commit=parent)

    def _from_pending(self, mark: FileMark, seq: int, waiting: list[Record]) -> Version:
        content = self._committed(mark.path)
        for record in waiting:
            for write in record.writes:
                if write.path != mark.path:
                    continue
                before, content = content, write.after(content or b"")
                if record.line.seq == seq:
                    return Version(mark.path, before, content)
        raise HistoryError(f"the bytes of change {seq} are not known", hint="run `memfolio verify`")

    def _committed(self, path: str) -> bytes | None:
        """A file's newest content in git; what a home without any history yet does not have."""
        try:
            return self._history.read(path)
        except HistoryError:
            return None
