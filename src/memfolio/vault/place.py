"""Where a memory stood in its log, kept in the state line that tells of its leaving, so that it can return there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from memfolio.vault.excerpt import Excerpt
from memfolio.vault.recent import to_bytes

Hash = Callable[[bytes], str]
DIGITS = 16
MAX_BLANKS = 1000
"""More line ends than this around a memory are not put back: the number may be anybody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An offset in the text with the hash of what stood before it, the line ends around the memory, and the hashes
    of the lines before and behind it. Content is only in the archive."""

    path: str
    start: int
    head: str
    lead: int
    trail: int
    before: str | None = None
    behind: str | None = None

    @classmethod
    def of(cls, path: str, text: str, taken: Excerpt, rest: tuple[str, str], hash: Hash) -> Place:
        """The place of `taken` in `text`; `rest` is what remains before and behind it when all that leaves is gone."""
        before = [line for line in rest[0].split("\n") if line.strip()]
        return cls(
            path=path,
            start=taken.start,
            head=_short(text[: taken.start], hash),
            lead=len(taken.raw) - len(taken.raw.lstrip("\n")),
            trail=len(taken.raw) - len(taken.raw.rstrip("\n")),
            before=_short(before[-1], hash) if before else None,
            behind=_first_line(rest[1], hash),
        )

    @classmethod
    def from_record(cls, record: Any) -> Place | None:
        """The place as a state line tells of it; None when that makes no sense."""
        try:
            place = cls(**record)
        except TypeError:
            return None
        numbers: list[Any] = [place.start, place.lead, place.trail]
        is_sound = all(type(each) is int and each >= 0 for each in numbers)
        return place if is_sound and place.lead + place.trail <= MAX_BLANKS else None

    def as_record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def fits(self, text: str, hash: Hash) -> bool:
        """Whether everything before the place is as it was, and the same line follows."""
        return self._has_head(text, hash) and _first_line(text[self.start :], hash) == self.behind

    def put(self, text: str, body: str) -> str:
        """The text with the memory exactly where it was."""
        return text[: self.start] + self.spaced(body) + text[self.start :]

    def spaced(self, body: str) -> str:
        """The memory with as many line ends around it as it had."""
        return "\n" * self.lead + body + "\n" * self.trail

    def point(self, text: str, hash: Hash) -> int | None:
        """Where the place is in a text that changed: by the line behind it, by all that is before it, by the last of
        that."""
        lines: dict[str, list[tuple[int, int]]] = {}
        at = 0
        for line in text.split("\n"):
            lines.setdefault(_short(line, hash), []).append((at, at + len(line)))
            at += len(line) + 1
        behind, before = (lines.get(str(each), []) for each in (self.behind, self.before))
        if len(behind) == 1:
            end = len(text[: behind[0][0]].rstrip("\n"))
            return min(end + 1, behind[0][0]) if end else 0
        if self._has_head(text, hash):
            return self.start
        return min(before[0][1] + 1, len(text)) if len(before) == 1 else None

    def _has_head(self, text: str, hash: Hash) -> bool:
        return self.start <= len(text) and _short(text[: self.start], hash) == self.head


def _first_line(text: str, hash: Hash) -> str | None:
    """The hash of the first line that is not blank."""
    rest = text.lstrip()
    start = text.rfind("\n", 0, len(text) - len(rest)) + 1
    return _short(text[start:].partition("\n")[0], hash) if rest else None


def _short(text: str, hash: Hash) -> str:
    return hash(to_bytes(text))[:DIGITS]
