"""The trail from its end backwards, with what each change wrote: its bytes, not what became of them since.

They lie in the file while nobody replaced it, else in the journal of changes that are not in git yet, or in git.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memfolio.vault.audit import FileMark, TrailLine
from memfolio.vault.foreign import blocks_of
from memfolio.vault.past.versions import Versions
from memfolio.vault.paths import Form, form_of

HELD = 16
"""How many contents of files are held at once."""

Blocks = list[tuple[str | None, str]]
"""Entries or lines of a ledger, each with its id if it has one."""


class Walk:
    """Goes over changes, newest first, and finds the bytes of the one that it is at."""

    def __init__(self, versions: Versions, read: Callable[[str], bytes | None]) -> None:
        self._versions = versions
        self._read = read
        self._replaced: dict[str, tuple[TrailLine, FileMark]] = {}
        """The next change that replaced each file: all between here and there only appended to it."""
        self._sure: dict[str, int] = {}
        """Up to which byte the content of each file in front of that is known to be what was written."""
        self._held: dict[tuple[str, int], bytes | None] = {}

    def over(self, newest_first: Iterable[TrailLine]) -> Iterator[TrailLine]:
        """The changes, one after the other; none that touches a file of interest may be left out."""
        for line in newest_first:
            yield line
            for mark in line.files:
                if mark.start is None:
                    self._replaced[mark.path] = line, mark
                    self._sure.pop(mark.path, None)

    def added(self, line: TrailLine, mark: FileMark) -> bytes | None:
        """What the change that we are at appended; None where that is not known."""
        waiting = self._versions.waiting(line, mark)
        if waiting is not None:
            return waiting
        if (content := self._as_left(mark)) is not None:
            return content[mark.start :]
        version = self._versions.find(line, mark)
        return version.added if version else None

    def differing(self, line: TrailLine, mark: FileMark) -> tuple[Blocks, Blocks]:
        """The blocks of a ledger that the change that we are at took out, and those that it put in."""
        if mark.start is not None:
            return [], blocks_of(mark.path, self.added(line, mark) or b"")
        before, after = self._before(line, mark), self._as_left(mark)
        if after is None and mark.now is not None:
            version = self._versions.find(line, mark)
            after = version.after if version else before
        return differing_blocks(mark.path, before or b"", after or b"")

    def _as_left(self, mark: FileMark) -> bytes | None:
        """The file as the change left it, if that is a beginning of what it was before it was next replaced."""
        path = mark.path
        later = self._replaced.get(path)
        content = self._before(*later) if later else self._hold((path, 0), lambda: self._read(path))
        if content is None or mark.now is None or mark.size > len(content):
            return None
        found = content[: mark.size]
        if mark.size > self._sure.get(path, -1):
            if self._versions.hash(found) != mark.now:
                return None
            self._sure[path] = mark.size
        return found

    def _before(self, line: TrailLine, mark: FileMark) -> bytes | None:
        """The file in front of a change that replaced it."""

        def find() -> bytes | None:
            version = self._versions.find(line, mark)
            return version.before if version else None

        return self._hold((mark.path, line.seq), find)

    def _hold(self, key: tuple[str, int], find: Callable[[], bytes | None]) -> bytes | None:
        self._held[key] = content = self._held.pop(key) if key in self._held else find()
        while len(self._held) > HELD:
            del self._held[next(iter(self._held))]
        return content


def differing_blocks(path: str, before: bytes, after: bytes) -> tuple[Blocks, Blocks]:
    """The blocks that only the one or only the other content of a ledger has; what they share is not even read."""
    mark = b"\n## " if form_of(path) is Form.LOG else b"\n"
    start = _common(before, after)
    start = _heading_before(before, mark, start)
    end = _common(before[start:][::-1], after[start:][::-1])
    end = _heading_after(before, mark, len(before) - end)
    old = blocks_of(path, before[start:end])
    new = blocks_of(path, after[start : len(after) - (len(before) - end)])
    there, here = ({(each, text.strip("\n")) for each, text in blocks} for blocks in (old, new))
    return (
        [(each, text) for each, text in old if (each, text.strip("\n")) not in here],
        [(each, text) for each, text in new if (each, text.strip("\n")) not in there],
    )


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two contents have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _heading_before(content: bytes, mark: bytes, at: int) -> int:
    """The beginning of the block that has this place, as far as it is in front of it."""
    found = content.rfind(mark, 0, at)
    while found >= 0 and not _is_heading(content, mark, found):
        found = content.rfind(mark, 0, found)
    return found + 1


def _heading_after(content: bytes, mark: bytes, at: int) -> int:
    """The beginning of the next block behind this place."""
    found = content.find(mark, max(0, at - 1))
    while found >= 0 and not _is_heading(content, mark, found):
        found = content.find(mark, found + 1)
    return len(content) if found < 0 else found + 1


def _is_heading(content: bytes, mark: bytes, at: int) -> bool:
    """Whether a line is one that entries begin with, a time of day, and no heading in somebody's words."""
    return len(mark) == 1 or content[at + len(mark) : at + len(mark) + 2].isdigit()
