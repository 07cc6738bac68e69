"""What a reflection finds: numbered proposals, insights and questions, beside what is known. Pure."""

from __future__ import annotations

import calendar
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime
from enum import StrEnum
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.graph.entities import is_user, propose
from memfolio.graph.vocabulary import ANY
from memfolio.index.graph import Material, Node
from memfolio.index.index import Index
from memfolio.index.maintenance import conversations
from memfolio.index.rows import ROLES
from memfolio.learn.learned import Statement, Turn, moment
from memfolio.learn.resolve import ABOUT, LONG, KnownStatementAbout, about, plain_words
from memfolio.learn.rules import learn
from memfolio.recall.fence import strip_fences
from memfolio.types import EMPTY, OVERHEARD, REFLECTION, SUMMED_UP, Kind, MemoryItem, Type, frozen

# What a reflection found: numbered proposals that a person can judge one by one, insights and questions. Pure.

WORDS: Mapping[str, Any] = tomllib.loads((Path(__file__).parents[1] / "data" / "reflection.toml").read_text("utf-8"))
_HIDING = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")


class ReflectionVerb(StrEnum):
    """What a proposal would do."""

    LEARN = "learn"
    """Remember `text`, which was extracted from `sources`, in the place of `memory` where that is given."""
    CONNECT = "connect"
    """Note that `subject` (an entity's id) is `predicate` to `object`."""
    MERGE = "merge"
    """Make one of the entities `subject` and `object`: the first stays."""
    ARCHIVE = "archive"
    """Move `memory` to the archive."""
    RESOLVE = "resolve"
    """Of two memories that contradict each other, `by` takes the place of `memory`."""
    CORE = "core"
    """In the block `text` of core memory, `removed` lines go and `added` ones come."""


LEARN, CONNECT, MERGE, ARCHIVE, RESOLVE, CORE = ReflectionVerb


@frozen
class ReflectionItem:
    """One proposal. Only the fields that its verb names count; `why` and `quotes` are for the reader."""

    verb: ReflectionVerb
    text: str = ""
    type: Type = Type.FACT
    confidence: float = 0.7
    sources: tuple[str, ...] = ()
    memory: str = ""
    by: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    why: str = ""
    quotes: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """The first words of the memories that it names, by id."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What tells it from others, whatever its words around; of core memory each line has one of its own.

        A proposal that somebody rejected is known again by them.
        """
        if self.verb is CORE:
            lines = [*(f"-{line}" for line in self.removed), *(f"+{line}" for line in self.added)]
            return tuple(_mark(self.verb, self.text, line) for line in lines)
        pair = (self.subject, self.object)
        ends = sorted(pair) if self.verb is MERGE else pair
        memory = "" if self.verb is LEARN else self.memory  # the same words, whatever they replace
        return (_mark(self.verb, self.text, *ends, self.predicate, memory, self.by),)


@frozen
class Insights:
    """What the reflections of before and this one together show; empty where there is nothing to say."""

    learning: str = ""
    understanding: str = ""
    theme: str = ""


@frozen
class Findings:
    """What came of looking through a memory: proposals, the most worthwhile of each verb first."""

    items: tuple[ReflectionItem, ...] = ()
    insights: Insights = field(default_factory=Insights)
    questions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    """What the time since the last reflection was about, most of all first."""
    looked_at: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many episodes, memories, entities … were looked through."""
    left_out: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many proposals of a verb there was no room for; they come with the next reflection."""
    notes: tuple[str, ...] = ()
    """What did not work as it should, such as a model that did not answer."""


@frozen
class Reflected:
    """One reflection of before, as its line in the log tells it."""

    number: int
    at: date
    outcome: str
    """`approved`, `partly approved` or `rejected`."""
    counts: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many proposals of each verb were applied."""
    topics: tuple[str, ...] = ()
    """What it was about, most of all first."""
    questions: tuple[str, ...] = ()


def one_line(text: str) -> str:
    """Words in one line, without signs that hide some of them or turn them round."""
    return " ".join(_HIDING.sub("", text).split())


def _mark(*parts: str) -> str:
    plain = (one_line(part.casefold()).rstrip(".") for part in parts)
    return blake2b("\0".join(plain).encode(), digest_size=12).hexdigest()


# Statements beside what is known: those that nobody has kept yet, and facts that contradict each other. Pure.

LONGEST = 200
"""Characters of a statement that a person is to judge."""
QUOTE = 90
CITED = 3
"""How many sources a proposal names, the last ones."""
USER, SOMEBODY = "The user", "Alex"
"""The rules read what is told of somebody by name."""
_PEOPLE = frozenset({"user", "human"})
_FILLERS = frozenset(WORDS["fillers"].split())
Sourced = tuple[Statement, list[MemoryItem]]


def quote(text: str, length: int = QUOTE) -> str:
    """The first words of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rsplit(' ', 1)[0].rstrip(' ,;:')} …"


def listed(words: Iterable[object]) -> str:
    """Words as people say them: 3, 5 and 7."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def is_machine(item: MemoryItem) -> bool:
    """Whether a machine said it; a note without a speaker is the owner's."""
    return (item.role or "user").casefold() in ROLES - _PEOPLE


def read(episodes: Iterable[MemoryItem]) -> list[Sourced]:
    """What the rules read in episodes, conversation by conversation; the same said again has all its sources."""
    conversations: dict[str, list[MemoryItem]] = defaultdict(list)
    for each in episodes:
        conversations[f"s {each.session}" if each.session and each.role else each.id].append(each)
    told: dict[object, Sourced] = {}
    for turns in conversations.values():
        for statement in learn([_turn(each) for each in turns]).statements:
            sources = [turns[place] for place in statement.turns]
            # A note about an event is a memory already, and is not learned from itself.
            is_told = statement.kind is Kind.EPISODIC and sources[0].role is None
            says_nothing = statement.object and plain_words(statement.subject) == plain_words(statement.object)
            if len(statement.text) <= LONGEST and not is_told and not says_nothing:
                meaning = KnownStatement.said(statement, moment(sources[0])).meaning, statement.negated
                told.setdefault(meaning, (statement, []))[1].extend(sources)
    return list(told.values())


def _turn(item: MemoryItem) -> Turn:
    is_user = (item.role or "user").casefold() in _PEOPLE
    speaker = (item.user or USER) if is_user else item.role or ""
    return Turn(content=strip_fences(item.content), speaker=speaker, is_person=not is_machine(item))


class KnownStatement:
    """Something known, what it says, and by what it can be found."""

    def __init__(self, item: MemoryItem, known: KnownStatementAbout) -> None:
        self.item, self.known = item, known
        slot, what, self.text = known.slot, _gist(known.object), _gist(known.text[:LONG])
        self.words = frozenset(what)
        self.meaning: object = (*slot, self.words) if all((*slot, what)) else self.text
        """What it says, whether it says that it is so or that it is not."""
        self.slot: object = slot if known.is_single and not known.negated and all(slot) else None
        """What only one value can be true of."""

    @classmethod
    def of(cls, item: MemoryItem, *, takes_apart: bool = True) -> KnownStatement:
        """A memory; one that does not say what it is about is taken apart, in the name of whose it is."""
        if "subject" in item.attributes:
            return cls(item, KnownStatementAbout.of(item))
        # The rules know people by name only, so that the user gets one for as long as they read.
        text = item.content[:LONG] if takes_apart else ""
        told = about(SOMEBODY + text.removeprefix(USER) if text.startswith(USER) else text, item.user)
        if text.startswith(USER) and told:
            told["subject"] = told["subject"].replace(SOMEBODY, USER, 1)
        attributes = {"subject": "", **told, "single": told.get("is_single", False)}
        return cls(item, KnownStatementAbout.of(replace(item, attributes=attributes)))

    @classmethod
    def said(cls, statement: Statement, at: datetime) -> KnownStatement:
        """A statement that is no memory yet."""
        item = MemoryItem(id="", content=statement.text, created_at=at)
        told = {name: getattr(statement, name) for name in ABOUT}
        return cls(item, KnownStatementAbout(ref="", text=statement.text, at=at, **told))

    @property
    def is_kept(self) -> bool:
        """Whether a person stands behind it for good."""
        return self.item.pinned or self.item.decay_rate == 0

    @property
    def gives_way(self) -> bool:
        """Whether newer words may take its place: nobody said it in order to have it remembered."""
        return not self.is_kept and self.item.source in (*OVERHEARD, REFLECTION)

    def contradicts(self, other: KnownStatement) -> bool:
        """Whether both cannot be so; that somebody lives in Berlin and in Berlin with Ana can."""
        if self.meaning == other.meaning:
            return self.known.negated != other.known.negated
        is_single = self.slot is not None and self.slot == other.slot
        return is_single and not (self.words <= other.words or other.words <= self.words)


def _gist(text: str) -> tuple[str, ...]:
    words = plain_words(text).split()
    return tuple(word for word in words if word not in _FILLERS) or tuple(words)


class KnownFacts:
    """What is known, by what it says."""

    def __init__(self, held: Iterable[KnownStatement]) -> None:
        self._said: dict[tuple[object, bool], KnownStatement] = {}
        self._texts: dict[tuple[str, ...], KnownStatement] = {}
        self._slots: dict[object, list[KnownStatement]] = defaultdict(list)
        for each in held:
            self._said[each.meaning, each.known.negated] = self._texts[each.text] = each
            if each.slot is not None and each.item.forgotten_at is None:
                self._slots[each.slot].append(each)

    def has(self, new: KnownStatement) -> bool:
        """Whether this is known, or was forgotten after it was said."""
        same = self._said.get((new.meaning, new.known.negated)) or self._texts.get(new.text)
        return same is not None and (same.item.forgotten_at is None or same.item.forgotten_at >= new.known.at)

    def against(self, new: KnownStatement) -> list[KnownStatement]:
        """What contradicts it."""
        # Either it says the opposite, or it gives another value to what can have only one.
        denied = self._said.get((new.meaning, not new.known.negated))
        others = [*([denied] if denied else []), *self._slots.get(new.slot, ())]
        return [each for each in others if not each.item.forgotten_at and each.contradicts(new)]

    def pairs(self) -> Iterator[tuple[KnownStatement, KnownStatement]]:
        """Each fact beside the one that it cannot be true with and that counts most."""
        for (meaning, negated), each in self._said.items():
            other = self._said.get((meaning, not negated)) if negated else None
            if other and not (each.item.forgotten_at or other.item.forgotten_at):
                yield each, other
        for facts in self._slots.values():
            best = max(facts, key=lambda each: (each.is_kept, each.known.at, each.item.id))
            yield from ((best, each) for each in facts if each.contradicts(best))


def learnable(
    facts: KnownFacts, told: Iterable[Sourced], way: str
) -> list[tuple[ReflectionItem, list[KnownStatement]]]:
    """What nobody has kept or forgotten yet of what was said, each with the facts that it contradicts.

    What was said most often and is most important comes first. Of words that contradict each other the last count.
    `way` is what becomes of facts that newer words contradict, see `learn.conflicts`.
    """
    found: dict[object, tuple[Statement, Sequence[MemoryItem], list[KnownStatement]]] = {}
    # In the order in which it was said, so that the last word about a thing is the one that stays.
    for statement, sources in sorted(told, key=lambda each: _last(each[1])):
        new = KnownStatement.said(statement, _last(sources))
        old = facts.against(new)
        if not facts.has(new) and not any(each.known.at > new.known.at for each in old):
            found[new.slot or new.meaning] = statement, sources, old
    ordered = sorted(found.values(), key=lambda each: (-len(each[1]), -each[0].importance, -each[0].confidence))
    return [(_learning(*each, way), each[2]) for each in ordered]


def _last(sources: Iterable[MemoryItem]) -> datetime:
    return max(map(moment, sources))


def _learning(
    statement: Statement, sources: Sequence[MemoryItem], old: Sequence[KnownStatement], way: str
) -> ReflectionItem:
    times = "said once," if len(sources) == 1 else f"said {len(sources)} times, last"
    replaced = [each.item for each in old[-1:] if way == "supersede" and each.gives_way]
    stays = f"; differs from “{quote(old[-1].known.text)}”, which stays" if old else ""
    newest = sorted(sources, key=moment)[-CITED:]
    return ReflectionItem(
        verb=LEARN,
        text=statement.text,
        type=statement.type,
        confidence=statement.confidence,
        sources=tuple(each.id for each in newest),
        why=f"{times} on {_last(sources):%Y-%m-%d}{'; both cannot be so' if replaced else stays}",
        memory=replaced[0].id if replaced else "",
        quotes={each.id: quote(each.content) for each in (*newest, *replaced)},
    )


class ContradictingFacts(NamedTuple):
    """Two facts that cannot both be so, and why it is the second; where nothing speaks for that, a person decides."""

    old: KnownStatement
    new: KnownStatement
    why: str

    @property
    def item(self) -> ReflectionItem:
        old, new = self.old.item, self.new.item
        why = f"{self.why} ({moment(new):%Y-%m-%d}, the other {moment(old):%Y-%m-%d})"
        quotes = {each.id: quote(each.content) for each in (old, new)}
        return ReflectionItem(verb=RESOLVE, memory=old.id, by=new.id, why=why, quotes=quotes)

    @property
    def doubtful(self) -> set[str]:
        """The memories that may not hold."""
        return {self.old.item.id} if self.why else {self.old.item.id, self.new.item.id}


def contradictions(facts: KnownFacts) -> list[ContradictingFacts]:
    """The current facts that cannot be true together, the most important first."""
    clashes = [_clash(*pair) for pair in facts.pairs()]
    return sorted(clashes, key=lambda each: (each.new.item.importance, each.new.known.at), reverse=True)


def _clash(one: KnownStatement, other: KnownStatement) -> ContradictingFacts:
    sides = [(_reasons(one, other), one, other), (_reasons(other, one), other, one)]
    # Where as much speaks for one as for the other, a person is asked.
    (less, *_), (more, new, old) = sorted(sides, key=lambda side: (sum(side[0].values()), side[1].known.at))
    return ContradictingFacts(old, new, ", ".join(more) if sum(more.values()) > sum(less.values()) else "")


def _reasons(one: KnownStatement, other: KnownStatement) -> dict[str, int]:
    """What speaks for a memory beside another one, and how much that counts."""
    is_stated = one.item.source not in OVERHEARD and other.item.source in OVERHEARD
    found = {
        "newer": int(one.known.at > other.known.at),
        "confirmed" if one.item.decay_rate == 0 else "pinned": 2 * one.is_kept,
        "remembered on purpose": int(is_stated),
    }
    return {reason: count for reason, count in found.items() if count}


# The first phase: what the time since the last reflection was about. Pure.

TOPICS = 6
TEXT_LOOKED_AT = 500
"""Characters of a memory that are looked at."""
_NAME = re.compile(r"(?<!\w)(?P<amid>(?<=\w )|(?<=, ))?(?P<name>[^\W\d_a-z][\w-]{2,})")
_NO_NAMES = frozenset(each.casefold() for each in (*calendar.day_name, *calendar.month_name, "Mrs"))


def topics(items: Sequence[MemoryItem], names: Iterable[str]) -> tuple[str, ...]:
    """The names and tags that people mention again, those of the most conversations or days first.

    A name is told by its first letter amid a sentence; at the beginning of one it must be known as one of `names`.
    """
    retold = (*OVERHEARD, *SUMMED_UP, REFLECTION)
    said = [each for each in items if each.source not in retold and not is_machine(each)]
    amid = {name for item in said for name, is_amid in _capitals(item) if is_amid} | set(names)
    found: dict[str, dict[str, MemoryItem]] = defaultdict(dict)
    spelled: dict[str, str] = {}
    for item in said:
        for name in (*item.tags, *(name for name, _ in _capitals(item) if name in amid)):
            found[name.casefold()][item.id] = item
            spelled.setdefault(name.casefold(), name)
    places = {name: len({each.session or moment(each).date() for each in found[name].values()}) for name in found}
    again = (name for name in found if len(found[name]) > 1 and name not in _NO_NAMES)
    best = sorted(again, key=lambda name: (-places[name], -len(found[name]), name))
    return tuple(spelled[name] for name in best[:TOPICS])


def _capitals(item: MemoryItem) -> Iterator[tuple[str, bool]]:
    """Words with a capital letter, and whether they stand amid a sentence."""
    for match in _NAME.finditer(item.content[:TEXT_LOOKED_AT]):
        if match["name"][0].isupper():
            yield match["name"], match["amid"] is not None


# People and things that belong together: those often spoken of together, and names that may mean the same.

TOGETHER = 3
"""In how many conversations two must be mentioned to be connected for that."""
NODES = 100
"""How many entities are compared for that, those mentioned most."""
BELOW = 0.1
"""How much less alike than is proposed two names may be to be asked about."""
SHORT = 3
"""Letters of a name that is looked for in what was said."""


def connected(index: Index, material: Material, besides: Iterable[ReflectionItem]) -> Iterator[ReflectionItem]:
    """Those that are spoken of together more often than not, and that no page and no other proposal connects.

    Relations that somebody told are drawn when the graph grows.
    """
    drawn = {frozenset((tie.source, tie.target)) for tie in material.ties}
    drawn |= {frozenset((each.subject, each.object)) for each in besides}
    nodes = [each for each in material.nodes if not is_user(each.name) and len(each.name) >= SHORT]
    most = {each.id: each for each in sorted(nodes, key=lambda node: (-node.mentions, node.id))[:NODES]}
    names = {each.id: (each.name, *each.aliases) for each in most.values()}
    met = index.read(lambda connection: conversations(connection, names))
    # Those that are mentioned most only: pairs grow with the square.
    pairs = [(len(met[one] & met[other]), one, other) for one, other in combinations(sorted(met), 2)]
    for count, one, other in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        is_often = count >= TOGETHER and 2 * count > max(len(met[one]), len(met[other]))
        if is_often and frozenset((one, other)) not in drawn:
            alone = ", ".join(f"{most[each].name} in {len(met[each])}" for each in (one, other))
            why = f"spoken of together in {count} conversations ({alone})"
            quotes = {each: most[each].name for each in (one, other)}
            yield ReflectionItem(verb=CONNECT, subject=one, predicate=ANY, object=other, why=why, quotes=quotes)


def merging(material: Material, limit: float) -> tuple[list[ReflectionItem], list[tuple[Node, Node]]]:
    """Entities that may be the same: as proposals from this likeness on, below it as pairs to ask about."""
    known = {node.id: node for node in material.nodes}
    sure, unsure = [], []
    for pair in propose(material.nodes, max(0.5, limit - BELOW), material.ties):
        keep, other = sorted((known[pair.one], known[pair.other]), key=lambda node: (-node.mentions, node.id))
        if pair.score < limit:
            unsure.append((keep, other))
            continue
        why = f"{pair.why}: {keep.name} is mentioned {keep.mentions} times, {other.name} {other.mentions}"
        names = {each.id: quote(each.summary or each.name) for each in (keep, other)}
        sure.append(ReflectionItem(verb=MERGE, subject=keep.id, object=other.id, why=why, quotes=names))
    return sure, unsure
