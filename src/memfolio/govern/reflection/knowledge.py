"""Statements beside what is known: those that nobody has kept yet, and facts that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memfolio.govern.reflection.item import Item, Verb
from memfolio.index.index import Index
from memfolio.index.reflecting import said
from memfolio.index.rows import ROLES
from memfolio.learn.drafting import moment
from memfolio.learn.learned import Statement, Turn
from memfolio.learn.resolve import Known, plain
from memfolio.learn.rules import learn
from memfolio.recall.context.fence import strip_fences
from memfolio.sources import OVERHEARD
from memfolio.types import Kind, MemoryItem

LONGEST = 200
"""Characters of a statement that a person is to judge."""
QUOTE = 90
LONG = 1000
"""Characters by which texts are told apart."""
AT_ONCE = 50
"""How many values of one thing a statement is compared with, the last ones."""
CITED = 5
"""How many sources a proposal names, the last ones."""
MACHINES = ROLES - {"user", "human"}
_FILLERS = frozenset("a an the lot much very really so too also now anymore please".split())
Sourced = tuple[Statement, list[MemoryItem]]


@dataclass(slots=True)
class Told:
    """What was read in episodes: statements with their sources, and names with the memories that have them."""

    statements: dict[object, Sourced] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def retold(text: str) -> str:
    """What a memory says, told of the user rather than by them."""
    told = learn([Turn(content=text)]).statements if text.startswith(("I ", "I'm ", "My ")) else ()
    return told[0].text if len(told) == 1 else text


def quote(text: str, length: int = QUOTE) -> str:
    """The first words of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rsplit(' ', 1)[0].rstrip(' ,;:')} …"


def read(episodes: Iterable[MemoryItem]) -> Told:
    """What the rules read in episodes, conversation by conversation; the same said again has all its sources."""
    told, conversations = Told(), defaultdict[str, list[MemoryItem]](list)
    for each in episodes:
        conversations[f"s {each.session}" if each.session and each.role else each.id].append(each)
    for turns in conversations.values():
        learned = learn([_turn(each) for each in turns])
        for mention in learned.mentions:
            told.names[mention.name].update(turns[place].id for place in mention.turns)
        for statement in learned.statements:
            sources = [turns[place] for place in statement.turns]
            is_told = statement.kind is Kind.EPISODIC and sources[0].role is None  # by the note itself
            if len(statement.text) <= LONGEST and not is_told:
                meaning = Held.said(statement, moment(sources[0])).meaning, statement.negated
                told.statements.setdefault(meaning, (statement, []))[1].extend(sources)
    return told


def _turn(item: MemoryItem) -> Turn:
    """An episode as the rules read it; a note without a speaker is the owner's."""
    role = (item.role or "user").casefold()
    speaker = (item.user or "The user") if role in ("user", "human") else item.role or ""
    return Turn(content=strip_fences(item.content), speaker=speaker, is_person=role not in MACHINES)


def learnable(facts: Facts, told: Told) -> Iterator[Item]:
    """What nobody has kept or forgotten yet of what was said, the surest and most often said first.

    Of two statements that contradict each other, the later one counts.
    """
    found: dict[object, tuple[Statement, Sequence[MemoryItem], Held | None]] = {}
    for statement, sources in sorted(told.statements.values(), key=lambda each: _last(each[1])):
        new = Held.said(statement, _last(sources))
        if not facts.has(new):
            found[new.slot or new.meaning] = statement, sources, facts.against(new)
    ordered = sorted(found.values(), key=lambda each: (-each[0].confidence, -len(each[1]), -each[0].importance))
    return (_learning(*each) for each in ordered)


def _last(sources: Iterable[MemoryItem]) -> datetime:
    return max(map(moment, sources))


def _learning(statement: Statement, sources: Sequence[MemoryItem], old: Held | None) -> Item:
    times = "said once," if len(sources) == 1 else f"said {len(sources)} times, last"
    against = f"; differs from “{quote(old.known.text)}”" if old else ""
    newest = sorted(sources, key=moment)[-CITED:]
    return Item(
        verb=Verb.LEARN,
        text=statement.text,
        type=statement.type,
        confidence=statement.confidence,
        sources=tuple(each.id for each in newest),
        why=f"{times} on {_last(sources):%Y-%m-%d}{against}",
        quotes={newest[-1].id: quote(newest[-1].content)},
    )


def _gist(text: str) -> tuple[str, ...]:
    words = plain(text).split()
    return tuple(word for word in words if word not in _FILLERS) or tuple(words)


class Held:
    """Something known, what it says, and by what it can be found."""

    __slots__ = ("item", "known", "meaning", "slot", "text", "words")

    def __init__(self, item: MemoryItem, known: Known) -> None:
        self.item = item
        self.known = known
        about, what, self.text = known.slot, _gist(known.object), _gist(known.text[:LONG])
        self.words = frozenset(what)
        self.meaning: object = (*about, self.words) if all((*about, what)) else self.text
        """What it says, whether it says that it is so or that it is not."""
        self.slot: object = about if known.is_single and not known.negated and all(about) else None
        """What only one value can be true of."""

    @classmethod
    def said(cls, statement: Statement, at: datetime) -> Held:
        about = {name: getattr(statement, name) for name in ("subject", "predicate", "object", "negated", "is_single")}
        item = MemoryItem(id="", content=statement.text, created_at=at)
        return cls(item, Known(ref="", text=statement.text, at=at, **about))

    @property
    def weight(self) -> int:
        """2 where a person stands behind it for good."""
        return 2 if self.item.pinned or self.item.decay_rate == 0 else 0

    def contradicts(self, other: Held) -> bool:
        """Whether both cannot be so; that somebody lives in Berlin and in Berlin with Ana can."""
        if self.meaning == other.meaning:
            return self.known.negated != other.known.negated
        is_single = self.slot is not None and self.slot == other.slot
        return is_single and not (self.words <= other.words or other.words <= self.words)


class Facts:
    """What is known, by what it says."""

    def __init__(self, held: Iterable[Held]) -> None:
        self._said: dict[tuple[object, bool], Held] = {}
        self._texts: dict[tuple[str, ...], Held] = {}
        self._slots: dict[object, list[Held]] = defaultdict(list)
        for each in held:
            self._said[each.meaning, each.known.negated] = self._texts[each.text] = each
            if each.slot is not None and each.item.forgotten_at is None:
                self._slots[each.slot].append(each)

    def has(self, new: Held) -> bool:
        """Whether this is known, or was forgotten after it was said."""
        same = self._said.get((new.meaning, new.known.negated)) or self._texts.get(new.text)
        return same is not None and (same.item.forgotten_at is None or same.item.forgotten_at >= new.known.at)

    def against(self, new: Held) -> Held | None:
        """The last that contradicts it."""
        denied = self._said.get((new.meaning, not new.known.negated))
        others = [*self._slots.get(new.slot, ())[-AT_ONCE:], *((denied,) if denied else ())]
        return next((each for each in reversed(others) if not each.item.forgotten_at and each.contradicts(new)), None)

    def pairs(self) -> Iterator[tuple[Held, Held]]:
        """Each fact beside the one that it cannot be true with and that counts most."""
        for (meaning, negated), each in self._said.items():
            other = self._said.get((meaning, not negated)) if negated else None
            if other and not (each.item.forgotten_at or other.item.forgotten_at):
                yield each, other
        for facts in self._slots.values():
            best = max(facts, key=lambda each: (each.weight, each.known.at, each.item.id))
            yield from ((best, each) for each in facts if each.contradicts(best))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradictions:
    """Facts that contradict each other: what takes the place of what, and pairs that only a person can decide."""

    decided: tuple[tuple[Item, Held, Held], ...] = ()
    """The proposal, what is replaced, and by what."""
    undecided: tuple[tuple[Held, Held], ...] = ()
    """The older one first."""
    doubtful: frozenset[str] = frozenset()
    """The memories that may not hold."""


def contradictions(index: Index, facts: Facts) -> Contradictions:
    """The current facts that cannot be true together."""
    pairs = list(facts.pairs())
    often = index.read(lambda connection: said(connection, {each.item.id for pair in pairs for each in pair}))
    decided, undecided = [], []
    for one, other in pairs:
        sides = [(_reasons(one, other, often), one, other), (_reasons(other, one, often), other, one)]
        why, new, old = max(sides, key=lambda side: (sum(side[0].values()), moment(side[1].item)))
        if sum(sides[0][0].values()) == sum(sides[1][0].values()):
            undecided.append((old, new))
        else:
            decided.append((_resolving(old.item, new.item, why), old, new))
    decided.sort(key=lambda each: (each[2].item.importance, each[2].known.at), reverse=True)
    doubtful = {each.item.id for pair in undecided for each in pair} | {old.item.id for _, old, _ in decided}
    return Contradictions(decided=tuple(decided), undecided=tuple(undecided), doubtful=frozenset(doubtful))


def _reasons(one: Held, other: Held, often: Mapping[str, int]) -> dict[str, int]:
    """What speaks for a memory beside another one, and how much that counts."""
    times, is_stated = often.get(one.item.id, 0), one.item.source not in OVERHEARD and other.item.source in OVERHEARD
    found = {
        "newer": int(moment(one.item) > moment(other.item)),
        "confirmed" if one.item.decay_rate == 0 else "pinned": one.weight,
        "remembered on purpose": int(is_stated),
        f"said {times} times": int(times > often.get(other.item.id, 0) + 1),
    }
    return {reason: count for reason, count in found.items() if count}


def _resolving(old: MemoryItem, new: MemoryItem, why: Iterable[str]) -> Item:
    dates = f"{moment(new):%Y-%m-%d}, the other {moment(old):%Y-%m-%d}"
    quotes = {each.id: quote(each.content) for each in (old, new)}
    return Item(verb=Verb.RESOLVE, memory=old.id, by=new.id, why=f"{', '.join(why)} ({dates})", quotes=quotes)
