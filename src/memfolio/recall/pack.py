"""Packing: what fits into so many tokens, and how memories, entities and sources are rendered as context lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from memfolio.index.graph import Node
from memfolio.index.read_files import BOOKKEEPING, entity_id, mentions
from memfolio.learn.learned import moment
from memfolio.recall.fence import bullet, heading
from memfolio.recall.hit import Hit, above, snippet
from memfolio.recall.once import speaker
from memfolio.text import estimate_tokens, sentences
from memfolio.types import Kind, MemoryItem, Origin, Type, frozen
from memfolio.vault.fields import local

# Packing: what goes into so many tokens. Each section has its share; what it leaves goes to the others. Pure.


@frozen
class ContextLine:
    """A line that may be included: its `text`, and what it `says`, which must not be repeated."""

    id: str
    text: str
    says: str
    at: datetime | None = None
    needs: str | None = None
    """The id of a line that must be included before this one makes sense."""
    is_memory: bool = False
    """Whether it shows the words of the memory with this id; else those of a page, an entity or a reminder."""
    others: tuple[str, ...] = ()
    """The ids of further memories whose text it shows."""

    @property
    def cost(self) -> int:
        return estimate_tokens(f"{self.text}\n")


@frozen
class ContextSection:
    """Lines of one kind, the best first, and the share of the room that is theirs."""

    title: str
    share: float
    lines: tuple[ContextLine, ...] = ()
    is_in_order: bool = False
    """Whether its lines are shown in chronological order."""

    @property
    def cost(self) -> int:
        return estimate_tokens(f"{heading(self.title)}\n")

    @property
    def whole(self) -> int:
        """The cost of the section with all its lines."""
        return self.cost + sum(line.cost for line in self.lines)

    def shown(self) -> Iterator[str]:
        """Yield the section as rendered in the context."""
        yield heading(self.title)
        yield from (line.text for line in self.lines)


@dataclass(slots=True)
class _Packing:
    """What has been included so far, and the remaining room."""

    left: int
    ids: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    def fill(self, section: ContextSection, chosen: list[ContextLine], limit: int) -> None:
        """Take lines of a section until the limit is reached."""
        for line in section.lines:
            cost = line.cost + (0 if chosen else section.cost)
            if cost <= min(limit, self.left) and self._is_of_use(line):
                chosen.append(line)
                self.ids.add(line.id)
                self.said.append(folded(line.says))
                self.left -= cost
                limit -= cost

    def _is_of_use(self, line: ContextLine) -> bool:
        if line.id in self.ids or (line.needs is not None and line.needs not in self.ids):
            return False
        says = folded(line.says)
        return says != "" and not any(says in other for other in self.said)


def pack(sections: Sequence[ContextSection], room: int, said: Iterable[str] = ()) -> list[ContextSection]:
    """The sections with the lines that fit into so many tokens, headings included; no text twice, nor what is `said`.

    First each section fills its share, then the others' leavings go round in the order of the sections.
    """
    packing = _Packing(room, said=list(map(folded, said)))
    chosen: list[list[ContextLine]] = [[] for _ in sections]
    for is_shared in (True, False):
        for section, lines in zip(sections, chosen, strict=True):
            packing.fill(section, lines, int(section.share * room) if is_shared else room)
    packed = [replace(section, lines=_sorted(section, lines)) for section, lines in zip(sections, chosen, strict=True)]
    return [section for section in packed if section.lines]


def _sorted(section: ContextSection, chosen: Sequence[ContextLine]) -> tuple[ContextLine, ...]:
    """In the order of time, or as the section had them: what came in last may be better than what was smaller."""
    if section.is_in_order:
        return tuple(sorted(chosen, key=lambda line: (line.at is None, line.at, line.id)))
    return tuple(sorted(chosen, key=section.lines.index))


def folded(text: str) -> str:
    """A text as it is compared: without regard to case and blanks."""
    return " ".join(text.casefold().split())


# Memories, people and sources as lines of a context: an id to cite, a time, who or what, and the words. Pure.

FACTS = frozenset({Type.FACT, Type.PREFERENCE, Type.DECISION, Type.LESSON, Type.CORRECTION})
OURS = frozenset({Origin.OWNER, Origin.AGENT})
LINES_IN_BUDGET = 12
"""How many of the longest lines fit into a budget, so that one memory does not take it all."""
SHORTEST, LONGEST = 20, 150
EARLIER = 30
"""Tokens for a statement that no longer holds."""
SOURCE = 40
"""Tokens for the beginning of a source."""
MOST_PROPERTIES = 6
LONGEST_NAME = 60
"""Characters."""
_STRUCTURE = re.compile(r"[\s()\[\]{}:（）［］｛｝【】：﹕︓]+")
"""Characters that structure our part of a line, and their look-alikes."""
_LIST_MARK = re.compile(r"^\s*[-*+]\s+")


def is_fact(memory: MemoryItem) -> bool:
    """Whether something is known rather than something happened."""
    return memory.kind is not Kind.EPISODIC or memory.type in FACTS


def is_shown(memory: MemoryItem) -> bool:
    """Whether a memory may be shown to an agent without being asked for.

    Untrusted memories may not, not even if somebody confirmed them: recall finds those.
    """
    is_there = memory.forgotten_at is None and memory.superseded_by is None
    return is_there and memory.origin is not Origin.UNTRUSTED


def named(name: str) -> str:
    """Return a name for our part of a line, without characters that structure it."""
    return _STRUCTURE.sub(" ", name).strip()[:LONGEST_NAME]


def about(hit: Hit) -> list[str]:
    """The ids of the entities that a hit is about: the one whose page it stands on, and those that it links to."""
    own = entity_id(hit.path)
    return [*([own] if own else []), *mentions(hit.memory.content)]


@frozen
class LineFormat:
    """How lines are drawn: in which time zone, around which words, for which budget."""

    zone: tzinfo
    words: tuple[str, ...]
    budget: int

    @property
    def most(self) -> int:
        """How many tokens of a memory's words one line has at most."""
        return max(SHORTEST, min(LONGEST, self.budget // LINES_IN_BUDGET))

    def fact(self, hit: Hit, note: str = "") -> ContextLine:
        return self._line(hit, f"{self._day(moment(hit.memory))} {hit.memory.type}", note)

    def event(self, hit: Hit, note: str = "") -> ContextLine:
        at = f"{local(moment(hit.memory), self.zone):%Y-%m-%d %H:%M}"
        return self._line(hit, f"{at} {named(hit.memory.role or hit.memory.type)}", note)

    def current(self, hit: Hit, earlier: Sequence[Hit], *, is_past: bool = False) -> ContextLine:
        """What holds now, with what was said earlier about the same; asked for the past, the other way round."""
        others, label = earlier, "earlier"
        if is_past and earlier:
            hit, others, label = earlier[0], [hit, *earlier[1:]], "later"
        told = [
            f"[{each.memory.id}] {self._day(moment(each.memory))}: "
            + " ".join(snippet(each.memory.content, self.words, EARLIER, each.heading).split())
            for each in others
        ]
        note = f"{label}: {'; '.join(told)}" if told else ""
        line = self.fact(hit, note) if is_fact(hit.memory) else self.event(hit, note)
        return replace(line, others=tuple(each.memory.id for each in others))

    def _line(self, hit: Hit, lead: str, note: str) -> ContextLine:
        memory = hit.memory
        words = snippet(memory.content, self.words, self.most, hit.heading)
        marks = "".join(f" ({mark})" for mark in self._marks(memory))
        text = bullet(f"[{memory.id}] {lead}{marks}:", f"{words}\n{note}")
        says = f"{speaker(memory, words) or ''} {words.removeprefix(above(hit.heading))}".strip()
        return ContextLine(id=memory.id, text=text, says=says, at=moment(memory), is_memory=True)

    def _marks(self, memory: MemoryItem) -> list[str]:
        """Return what a reader must know to judge a memory."""
        said = {
            f"about {named(memory.user or '')}": memory.user,
            f"from {memory.origin}": memory.origin not in OURS,
            f"true from {self._day(memory.valid_from)}": memory.valid_from,
            f"true until {self._day(memory.valid_until)}": memory.valid_until,
            "uncertain": memory.confidence < 0.5,
        }
        return [mark for mark, holds in said.items() if holds]

    def profile(self, profile: Node, passages: Sequence[Hit], is_news: Callable[[str], bool] = bool) -> ContextLine:
        """An entity with what its page says first, a few properties, and the rest of what was found there.

        What is no news is left out, and where that is all, the line says nothing.
        """
        properties = [f"{key}: {value}" for key, value in profile.properties.items() if key not in BOOKKEEPING]
        lines = [_LIST_MARK.sub("", line.strip()) for each in passages for line in each.memory.content.splitlines()]
        summary = _unsaid(sentences(profile.summary), is_news)
        known = [each for each in properties if is_news(each)][:MOST_PROPERTIES]
        parts = [part for line in lines if not line.startswith("#") for part in sentences(line)]
        told = " ".join(_unsaid(parts, is_news, summary))
        words = snippet("; ".join(filter(None, (" ".join(summary).rstrip("."), *known, told))), self.words, self.most)
        lead = f"[{profile.id}] {named(profile.name)}, {named(profile.type)}:"
        return ContextLine(id=profile.id, text=bullet(lead, words), says=words)

    def source(self, memory: MemoryItem, *, of: str) -> ContextLine:
        """Render the beginning of a fact's source."""
        words = snippet(memory.content, (), min(SOURCE, self.most))
        lead = f"[{memory.id}] {self._day(moment(memory))} {named(memory.role or memory.type)}, for [{of}]:"
        return ContextLine(id=memory.id, text=bullet(lead, words), says=words, needs=of, is_memory=True)

    def _day(self, at: datetime | None) -> str:
        return f"{local(at, self.zone):%Y-%m-%d}" if at else ""


def _unsaid(parts: Iterable[str], is_news: Callable[[str], bool], before: Iterable[str] = ()) -> list[str]:
    """The sentences that are news, each once, and none of those `before`."""
    known = set(map(folded, before))
    found = {folded(part): part for part in parts if is_news(part)}
    return [part for says, part in found.items() if says and says not in known]
