"""Packing: what goes into so many tokens. Each section has its share; what it leaves goes to the others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memfolio.recall.context.fence import heading
from memfolio.text import estimate_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that may go in: `text` as it would stand there, `says` what must not be said twice."""

    id: str
    text: str
    says: str
    at: datetime | None = None
    needs: str | None = None
    """The id of what must be in already for this to be of use."""
    is_memory: bool = False
    """Whether it shows the words of the memory with this id; else those of a page, an entity or a reminder."""

    @property
    def cost(self) -> int:
        return estimate_tokens(f"{self.text}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines of one kind, the best first, and the share of the room that is theirs."""

    title: str
    share: float
    lines: tuple[Line, ...] = ()
    is_in_order: bool = False
    """Whether what goes in is shown in the order in which it happened."""

    @property
    def cost(self) -> int:
        return estimate_tokens(f"{heading(self.title)}\n")

    @property
    def whole(self) -> int:
        """What the section costs with all its lines."""
        return self.cost + sum(line.cost for line in self.lines)

    def shown(self) -> Iterator[str]:
        """The section as it stands in the context."""
        yield heading(self.title)
        yield from (line.text for line in self.lines)


@dataclass(slots=True)
class _Case:
    """What has gone in so far, and what is left of the room."""

    left: int
    ids: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    def fill(self, section: Section, chosen: list[Line], limit: int) -> None:
        """Take lines of a section until the limit is reached."""
        for line in section.lines:
            cost = line.cost + (0 if chosen else section.cost)
            if cost <= min(limit, self.left) and self._is_of_use(line):
                chosen.append(line)
                self.ids.add(line.id)
                self.said.append(_folded(line.says))
                self.left -= cost
                limit -= cost

    def _is_of_use(self, line: Line) -> bool:
        if line.id in self.ids or (line.needs is not None and line.needs not in self.ids):
            return False
        says = _folded(line.says)
        return says != "" and not any(says in other for other in self.said)


def pack(sections: Sequence[Section], room: int, said: Iterable[str] = ()) -> list[Section]:
    """The sections with the lines that fit into so many tokens, headings included; no text twice, nor what is `said`.

    First each section fills its share, then the others' leavings go round in the order of the sections.
    """
    case = _Case(room, said=list(map(_folded, said)))
    chosen: list[list[Line]] = [[] for _ in sections]
    for is_shared in (True, False):
        for section, lines in zip(sections, chosen, strict=True):
            case.fill(section, lines, int(section.share * room) if is_shared else room)
    packed = [replace(section, lines=_sorted(section, lines)) for section, lines in zip(sections, chosen, strict=True)]
    return [section for section in packed if section.lines]


def _sorted(section: Section, chosen: Sequence[Line]) -> tuple[Line, ...]:
    """In the order of time, or as the section had them: what came in last may be better than what was smaller."""
    if section.is_in_order:
        return tuple(sorted(chosen, key=lambda line: (line.at is None, line.at, line.id)))
    return tuple(sorted(chosen, key=section.lines.index))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
