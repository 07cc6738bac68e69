"""The phases of a reflection: survey, review of earlier ones, consolidation, core memory, questions."""

from __future__ import annotations

import calendar
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, combinations, zip_longest
from typing import NamedTuple

from memfolio.errors import ModelError
from memfolio.govern.reflection.page import (
    ARCHIVE,
    CONNECT,
    CORE,
    LEARN,
    MERGE,
    RESOLVE,
    WORDS,
    Findings,
    Insights,
    Reflected,
    ReflectionItem,
    ReflectionVerb,
    quote,
)
from memfolio.graph.entities import is_user, propose
from memfolio.graph.page import ANY
from memfolio.index.graph import Material, Node
from memfolio.index.index import Index
from memfolio.index.maintenance import IMPORTANT, ReflectionMaterial, conversations, look, rests
from memfolio.learn.clauses import asks_for_help, is_question, is_secret
from memfolio.learn.learned import Statement, Turn, moment
from memfolio.learn.resolve import LONG, Knowledge, KnownStatementAbout, about, contradicts, plain_words, resolve
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.llm.prompt import is_grounded
from memfolio.recall.dates import mentions, names_relative_day, upcoming
from memfolio.recall.searcher import Searcher
from memfolio.stores.core import ACTIVE, BLOCKS, CRITICAL, IDENTITY, PERSONA, TEMPLATE, Core, CoreLine, CorePage
from memfolio.stores.flush import is_machine, turn_of
from memfolio.text import counted, estimate_tokens, sentences, terms
from memfolio.types import OVERHEARD, REFLECTION, SUMMED_UP, Kind, MemoryItem, Type
from memfolio.vault.change import NewId
from memfolio.vault.vault import Vault

EPISODES = 1500
"""How many episodes are read at most, the newest."""
PARSED = 5000
"""How many facts are parsed by rules, the newest."""
QUESTIONS = 4
AGAIN = 2
"""After how many reflections that asked it a question is not asked again."""
PAGE = 1000
"""Tokens of the page around the findings."""
STALE = timedelta(days=30)
"""After which time a line of Active Context that has not come up is proposed to go."""


def gather_findings(
    vault: Vault,
    searcher: Searcher,
    agent: str,
    *,
    now: datetime,
    since: datetime | None,
    past: Sequence[Reflected],
    rejected: Container[str],
    model: Model | None = None,
) -> Findings:
    """What a reflection at this moment proposes, asks and notes; nothing is changed."""
    index, settings, notes = searcher.index, vault.config.reflection, list[str]()
    seen = index.read(partial(look, now=now, since=since, month=STALE, decay=vault.config.decay))
    proposed, open_questions = _find(vault, index, agent, now, seen, rejected, notes)
    wanted = {verb: [each for each in items if _is_wanted(each, rejected)] for verb, items in proposed.items()}
    first = [each for items in wanted.values() for each in items[: settings.items]]
    topics = topics_of(seen.fresh, (node.name for node in seen.material.nodes))
    insights = reviewed(past, topics, seen.replaced, first, model, notes)
    asked = Counter(question for each in past for question in each.questions)
    questions = tuple(each for each in dict.fromkeys(open_questions) if asked[each] < AGAIN)[:QUESTIONS]
    # The page has a budget: what is not proposed now comes with the next reflection.
    words = (*asdict(insights).values(), *questions, *topics, *notes)
    kept = _fitting(first, max(settings.tokens - PAGE, settings.tokens // 2) - sum(map(estimate_tokens, words)))
    left = Counter({verb.value: len(items) for verb, items in wanted.items()})
    left[ARCHIVE.value] += max(0, seen.faded_count - len(seen.faded))
    left.subtract(each.verb.value for each in kept)
    return Findings(
        items=tuple(kept),
        insights=insights,
        questions=questions,
        topics=topics,
        looked_at=_counts(seen),
        left_out=dict(+left),
        notes=tuple(notes),
    )


def _find(
    vault: Vault,
    index: Index,
    agent: str,
    now: datetime,
    seen: ReflectionMaterial,
    rejected: Container[str],
    notes: list[str],
) -> tuple[dict[ReflectionVerb, Iterable[ReflectionItem]], Iterator[str]]:
    """Proposals of each verb, and questions."""
    # Parsing a sentence is slow; of old facts those count that say what they are about.
    old, new = seen.known[:-PARSED], seen.known[-PARSED:]
    facts = [*(KnownFact.of(each, parse=False) for each in old), *map(KnownFact.of, new)]
    clashes = [each for each in contradictions(facts) if _is_wanted(each.item, rejected)]
    doubtful = {each for clash in clashes for each in clash.doubtful}
    settings = vault.config.learn
    learning: list[Learning] = []
    if settings.enabled:
        everything = [*map(KnownFact.of, seen.forgotten), *facts]
        learning = learnable(everything, read(_episodes(seen, notes)), settings.conflicts)
    # What newer words may replace is not promoted into core memory meanwhile.
    doubted = {each for item, against in learning if _is_wanted(item, rejected) for each in against}
    merges, unsure = merging(seen.material, settings.merge)
    core = CoreChanges(Core(vault, agent), rejected)
    _rewrite(core, index, now, seen, [each for each in facts if each.item.id not in doubtful | doubted], clashes)
    proposed: dict[ReflectionVerb, Iterable[ReflectionItem]] = {
        LEARN: [item for item, _ in learning],
        CONNECT: connected(index, seen.material, merges),
        MERGE: merges,
        ARCHIVE: _fading(seen, doubtful),
        RESOLVE: [clash.item for clash in clashes if clash.why],
        CORE: core.items(),
    }
    known = {each.item.id for each in facts} - doubtful
    weak = [item for item, _ in seen.weak if item.id in known and is_important(item)]
    untold = [item for item in weak if not _says(core.lines(), item.content)]
    # Few questions are asked, so that each kind has its turn.
    in_turn = zip_longest(
        [clash.question for clash in clashes if not clash.why],
        [f"Are {one.name} and {other.name} the same {one.type}?" for one, other in unsure],
        [f"“{quote(item.content)}”, {_last_use(item)}: does it still hold?" for item in untold],
        [f"{name} of core memory has no room for “{quote(text)}”: which line may go?" for name, text in core.crowded()],
    )
    return proposed, filter(None, chain.from_iterable(in_turn))


def _is_wanted(item: ReflectionItem, rejected: Container[str]) -> bool:
    return not any(mark in rejected for mark in item.marks)


def _counts(seen: ReflectionMaterial) -> dict[str, int]:
    """How much was looked through."""
    episodes = sum(each.kind is Kind.EPISODIC and each.source not in OVERHEARD for each in seen.fresh)
    return {
        "episodes": episodes,
        "memories": len(seen.fresh) - episodes,
        "conversations": len({each.session for each in seen.fresh if each.session}),
        "entities": len(seen.material.nodes),
    }


def _fitting(items: Sequence[ReflectionItem], room: int) -> list[ReflectionItem]:
    """These proposals, less the last ones of the longest sections where they have more tokens than there is room."""
    kept = list(items)
    while kept and sum(map(_tokens, kept)) > room:
        [(verb, _)] = Counter(each.verb for each in kept).most_common(1)
        del kept[max(at for at, each in enumerate(kept) if each.verb is verb)]
    return kept


def _tokens(item: ReflectionItem) -> int:
    words = (item.text, item.why, item.subject, item.predicate, item.object, *item.removed, *item.added)
    return sum(map(estimate_tokens, (*words, *item.quotes.values())))


def _episodes(seen: ReflectionMaterial, notes: list[str]) -> list[MemoryItem]:
    """What happened and was not learned from, as far as it is not too much.

    That of the last weeks is read again, since nobody may have decided on what it gave.
    """
    waiting = [
        each
        for each in max(seen.fresh, seen.lately, key=len)
        if each.kind is Kind.EPISODIC and each.source not in (*OVERHEARD, *SUMMED_UP)
        if each.role is None or each.id in seen.unread
    ]
    if len(waiting) > EPISODES:
        notes.append(f"only the newest {EPISODES:,} episodes were read: there are more")
    return waiting[-EPISODES:]


def _fading(seen: ReflectionMaterial, doubtful: Container[str]) -> Iterator[ReflectionItem]:
    """What may be archived; what is important is asked about instead."""
    for item, score in seen.faded:
        if item.id not in doubtful and (item.kind is Kind.EPISODIC or item.importance < IMPORTANT):
            why, quotes = f"relevance {score:.3f}, {_last_use(item)}", {item.id: quote(item.content)}
            yield ReflectionItem(verb=ARCHIVE, memory=item.id, why=why, quotes=quotes)


def _last_use(item: MemoryItem) -> str:
    if item.accessed_at is None:
        return f"not used since {item.created_at:%Y-%m-%d}"
    times = f"{item.access_count} times, " if item.access_count > 1 else ""
    return f"used {times}last on {item.accessed_at:%Y-%m-%d}"


def is_important(item: MemoryItem) -> bool:
    """Whether somebody called it important; all that is overheard of people and things is just so."""
    return item.importance > IMPORTANT or (item.importance == IMPORTANT and item.source not in (*OVERHEARD, REFLECTION))


# The first phase: what the time since the last reflection was about. Pure.

TOPICS = 6
TEXT_LOOKED_AT = 500
"""Characters of a memory that are looked at."""
_NAME = re.compile(r"(?<!\w)(?P<amid>(?<=\w )|(?<=, ))?(?P<name>[^\W\d_a-z][\w-]{2,})")
_NO_NAMES = frozenset(each.casefold() for each in (*calendar.day_name, *calendar.month_name, "Mrs"))


def topics_of(items: Sequence[MemoryItem], names: Iterable[str]) -> tuple[str, ...]:
    """The names and tags that people mention again, those of the most conversations or days first.

    A name is told by its first letter amid a sentence; at the beginning of one it must be known as one of `names`.
    """
    retold = (*OVERHEARD, *SUMMED_UP, REFLECTION)
    by_people = [each for each in items if each.source not in retold and not is_machine(each)]
    amid = {name for item in by_people for name, is_amid in _capitals(item) if is_amid} | set(names)
    mentions: dict[str, dict[str, MemoryItem]] = defaultdict(dict)
    spelled: dict[str, str] = {}
    for item in by_people:
        for name in (*item.tags, *(name for name, _ in _capitals(item) if name in amid)):
            mentions[name.casefold()][item.id] = item
            spelled.setdefault(name.casefold(), name)
    again = [name for name in mentions if len(mentions[name]) > 1 and name not in _NO_NAMES]
    places = {name: len({each.session or moment(each).date() for each in mentions[name].values()}) for name in again}
    best = sorted(again, key=lambda name: (-places[name], -len(mentions[name]), name))
    return tuple(spelled[name] for name in best[:TOPICS])


def _capitals(item: MemoryItem) -> Iterator[tuple[str, bool]]:
    """Words with a capital letter in what is told, and whether they stand amid a sentence."""
    for sentence in sentences(item.content[:TEXT_LOOKED_AT]):
        is_asking = is_question(sentence) or asks_for_help(sentence)
        for match in _NAME.finditer("" if is_asking else sentence):
            if match["name"][0].isupper() and terms(match["name"], weak=False):
                yield match["name"], match["amid"] is not None


# The second phase: what the reflections of before show beside this one, by rules or by a model that is held to them.
#
# Rules say only what can be counted. What a model says counts sentence by sentence, as far as its words are in what
# it was shown.

REVIEWED = 20
"""How many reflections a model is shown, the last ones."""
LONGEST_REVIEW = 400
"""Characters of an insight."""
_SENTENCE = re.compile(r".+?(?:[.!?]+(?:\s+|$)|$)")
Replaced = Sequence[tuple[str, str]]
"""What was held to be so, and by what it was replaced."""


def reviewed(
    past: Sequence[Reflected],
    topics: Sequence[str],
    replaced: Replaced,
    items: Sequence[ReflectionItem],
    model: Model | None,
    notes: list[str],
) -> Insights:
    """What can be said of reflections, topics and revisions, by the model where there is one that answers."""
    by_rules = Insights(understanding=_revisions(replaced), theme=_theme(past, topics))
    if model is None:
        return by_rules
    lines = [
        f"Reflection {each.number} of {each.at} was {each.outcome}; about: {', '.join(each.topics)}"
        + (f"; asked: {' '.join(each.questions)}" if each.questions else "")
        for each in past[-REVIEWED:]
    ]
    lines.append(f"This time it is about: {', '.join(topics)}")
    lines += [f"Corrected: {quote(old)} → {quote(new)}" for old, new in replaced[:REVIEWED]]
    lines += [f"To be learned: {quote(each.text)}" for each in items if each.verb is LEARN]
    shown = "\n".join([*lines, *filter(None, asdict(by_rules).values())])
    try:
        answer = model.ask(WORDS["insights"], shown, Insights)
    except ModelError as error:
        notes.append(f"insights without the model: {error.message}")
        return by_rules
    grounded = {name: _grounded(text, shown) for name, text in asdict(answer).items()}
    return replace(by_rules, **{name: text for name, text in grounded.items() if text})


def _grounded(text: str, shown: str) -> str:
    kept = "".join(each for each in _SENTENCE.findall(" ".join(text.split())) if is_grounded(each, shown))
    return quote(kept, LONGEST_REVIEW)


def _revisions(replaced: Replaced) -> str:
    """What was held to be so and is not."""
    shown = [f"“{quote(old, 60)}” became “{quote(new, 60)}”" for old, new in replaced[:2]]
    return f"{counted(len(replaced), 'revision')} since the last reflection: {'; '.join(shown)}." if shown else ""


def _theme(past: Sequence[Reflected], topics: Sequence[str]) -> str:
    """What comes up again and again, and what was asked more than once."""
    counts = Counter(topic.casefold() for each in past for topic in dict.fromkeys(each.topics))
    most = sorted((topic for topic in topics if counts[topic.casefold()]), key=lambda topic: -counts[topic.casefold()])
    named = ", ".join(f"{topic} ({counts[topic.casefold()]} of {len(past)})" for topic in most[:3])
    parts = [f"What came up in reflections before and does so again: {named}."] if named else []
    asked = Counter(question for each in past for question in dict.fromkeys(each.questions)).most_common(1)
    parts += [f"Asked in {count} reflections: {quote(question, 160)}" for question, count in asked if count > 1]
    return quote(" ".join(parts), LONGEST_REVIEW)


# The third phase, consolidation: statements that nobody has kept yet, and facts that contradict each other. Pure.

LONGEST = 200
"""Characters of a statement that a person is to judge."""
CITED = 3
"""How many sources a proposal names, the last ones."""
USER, SOMEBODY = "The user", "Alex"
Sourced = tuple[Statement, list[MemoryItem]]
Learning = tuple[ReflectionItem, set[str]]
"""Something to learn, and the ids of what it contradicts."""


class KnownFact(NamedTuple):
    """A memory that states a fact, with its parsed statement."""

    item: MemoryItem
    known: KnownStatementAbout
    words: frozenset[str]
    """Those of its object."""

    @classmethod
    def of(cls, item: MemoryItem, *, parse: bool = True) -> KnownFact:
        """A memory; one that does not say what it is about is parsed, in the name of whose it is."""
        if "subject" in item.attributes:
            return cls._saying(item, KnownStatementAbout.of(item))
        # The rules know people by name only, so that the user gets one for as long as they read.
        text = item.content[:LONG] if parse else ""
        parsed = about(SOMEBODY + text.removeprefix(USER) if text.startswith(USER) else text, item.user)
        if text.startswith(USER) and parsed:
            parsed["subject"] = parsed["subject"].replace(SOMEBODY, USER, 1)
        attributes = {"subject": "", **parsed, "single": parsed.get("is_single", False)}
        return cls._saying(item, KnownStatementAbout.of(replace(item, attributes=attributes)))

    @classmethod
    def _saying(cls, item: MemoryItem, known: KnownStatementAbout) -> KnownFact:
        return cls(item, known, frozenset(plain_words(known.object).split()))

    @property
    def is_kept(self) -> bool:
        """Whether a person stands behind it for good."""
        return self.item.pinned or self.item.decay_rate == 0

    @property
    def gives_way(self) -> bool:
        """Whether newer words may take its place: nobody said it in order to have it remembered."""
        return not self.is_kept and self.item.source in (*OVERHEARD, REFLECTION)


def read(episodes: Iterable[MemoryItem]) -> list[Sourced]:
    """What the rules read in episodes, conversation by conversation, in the order in which it was said."""
    talks: dict[str, list[MemoryItem]] = defaultdict(list)
    for each in episodes:
        talks[f"s {each.session}" if each.session and each.role else each.id].append(each)
    statements: list[Sourced] = []
    for turns in talks.values():
        for statement in learn([turn_of(each) for each in turns]).statements:
            sources = [turns[place] for place in statement.turns]
            # A note about an event is a memory already, and is not learned from itself.
            is_note = statement.kind is Kind.EPISODIC and sources[0].role is None
            says_nothing = statement.object and plain_words(statement.subject) == plain_words(statement.object)
            if len(statement.text) <= LONGEST and not is_note and not says_nothing:
                statements.append((statement, sources))
    return sorted(statements, key=lambda each: _last(each[1]))


def _last(sources: Iterable[MemoryItem]) -> datetime:
    return max(map(moment, sources))


def learnable(facts: Sequence[KnownFact], statements: Sequence[Sourced], way: str) -> list[Learning]:
    """What nobody has kept or forgotten yet of what was said; what was said most often and is most important first.

    Of words that contradict each other the last count. `way` is what becomes of facts that newer words contradict, see
    `learn.conflicts`.
    """
    by_id = {each.item.id: each for each in facts}
    sources = {id(statement): list(items) for statement, items in statements}
    resolution = resolve(
        [(statement, _last(items)) for statement, items in statements],
        Knowledge(each.known for each in facts),
        "supersede",
    )
    for ref, statement in resolution.repeated:
        if isinstance(ref, NewId):
            sources[id(resolution.kept[ref.index])] += sources[id(statement)]
    against: dict[int, list[str]] = {place: [] for place in range(len(resolution.kept))}
    for old, new in resolution.replaced:
        if isinstance(old, NewId):
            against.pop(old.index, None)  # later words take its place
        elif isinstance(new, NewId) and new.index in against:
            against[new.index].append(old)
    for clash in resolution.contradicting:
        old, new = clash.old.ref, clash.new.ref
        if isinstance(old, str) and isinstance(new, NewId) and new.index in against:
            if clash.old.at > clash.new.at:
                del against[new.index]
            else:
                against[new.index].append(old)
    found = [
        (each, sources[id(each)], [by_id[old] for old in against[place]])
        for place, each in enumerate(resolution.kept)
        if place in against
    ]
    found.sort(key=lambda each: (-len(each[1]), -each[0].importance, -each[0].confidence))
    return [(_learning(*each, way), {fact.item.id for fact in each[2]}) for each in found]


def _learning(
    statement: Statement, sources: Sequence[MemoryItem], old: Sequence[KnownFact], way: str
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
    """Two contradicting facts, and why the second should win; without a reason a person decides."""

    old: MemoryItem
    new: MemoryItem
    why: str

    @property
    def item(self) -> ReflectionItem:
        why = f"{self.why} ({moment(self.new):%Y-%m-%d}, the other {moment(self.old):%Y-%m-%d})"
        quotes = {each.id: quote(each.content) for each in (self.old, self.new)}
        return ReflectionItem(verb=RESOLVE, memory=self.old.id, by=self.new.id, why=why, quotes=quotes)

    @property
    def question(self) -> str:
        shown = [f"“{quote(each.content)}” ({moment(each):%Y-%m-%d})" for each in (self.old, self.new)]
        return f"{' and '.join(shown)} cannot both be so: is it the second one?"

    @property
    def doubtful(self) -> set[str]:
        """The memories that may not hold."""
        return {self.old.id} if self.why else {self.old.id, self.new.id}


def contradictions(facts: Iterable[KnownFact]) -> list[ContradictingFacts]:
    """The current facts that cannot be true together, the most important first."""
    groups: dict[object, list[KnownFact]] = defaultdict(list)
    for each in facts:
        slot = each.known.slot if each.words else ("", "")
        if all(slot):
            groups[slot[0], each.words].append(each)  # of what is said of the same: love, hate, and that it is not so
            if each.known.is_single and not each.known.negated:
                groups[slot].append(each)
    clashes = []
    for group in groups.values():
        best = max(group, key=lambda each: (each.is_kept, each.known.at, each.item.id))
        # That somebody lives in Berlin, and in Berlin with Ana, can both be so.
        others = [each for each in group if not (each.words < best.words or best.words < each.words)]
        clashes += [_clash(best, each) for each in others if contradicts(best.known, each.known)]
    return sorted(clashes, key=lambda each: (each.new.importance, moment(each.new)), reverse=True)


def _clash(one: KnownFact, other: KnownFact) -> ContradictingFacts:
    sides = [(_reasons(one, other), one, other), (_reasons(other, one), other, one)]
    # Where as much speaks for one as for the other, a person is asked.
    (less, *_), (more, new, old) = sorted(sides, key=lambda side: (sum(side[0].values()), side[1].known.at))
    why = ", ".join(more) if sum(more.values()) > sum(less.values()) else ""
    return ContradictingFacts(old.item, new.item, why)


def _reasons(one: KnownFact, other: KnownFact) -> dict[str, int]:
    """What speaks for a memory beside another one, and how much that counts."""
    reasons = {
        "newer": int(one.known.at > other.known.at),
        "confirmed" if one.item.decay_rate == 0 else "pinned": 2 * one.is_kept,
        "remembered on purpose": int(one.item.source not in OVERHEARD and other.item.source in OVERHEARD),
    }
    return {reason: count for reason, count in reasons.items() if count}


# Further of the third phase: people and things often spoken of together, and names that may mean the same.

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
    # Those that are mentioned most only: pairs grow with the square.
    most = {each.id: each for each in sorted(nodes, key=lambda node: (-node.mentions, node.id))[:NODES]}
    names = {each.id: (each.name, *each.aliases) for each in most.values()}
    met = index.read(lambda connection: conversations(connection, names))
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


# The fourth phase: what core memory should say, as changes of its blocks that fit under the cap.

LONGEST_CORE_LINE = 140
"""Characters of a line."""
FRESH = timedelta(days=7)
"""For how long a decision or a task is of the moment."""
LINES = 4
"""How many lines come to a block at once."""
TRIED = 50
"""How many are looked at for that."""
OFTEN = 5
"""From how many uses on a fact is used often."""
SURE = 0.7
_LABEL = re.compile(r"\w+(?: \w+)?: ")
"""How a line of a report begins: `Risk: …`."""
COMING_UP = ("reminder", "has_to")
"""Predicates of tasks that come up when they are due."""
_WHO, _VITAL, _UNTELLING = (frozenset(WORDS[name].split()) for name in ("who", "vital", "untelling"))


class CoreChanges:
    """Proposed changes of core memory, line by line, that were not rejected before and that fit."""

    def __init__(self, core: Core, rejected: Container[str]) -> None:
        self._memory, self._rejected = core.read(), rejected
        self.page = CorePage(self._memory.text or TEMPLATE)
        self._changes: list[ReflectionItem] = []
        self._crowded: dict[str, str] = {}

    def items(self) -> Iterator[ReflectionItem]:
        """A proposal for each block that is to change."""
        for name in BLOCKS:
            if mine := [each for each in self._changes if each.text == name]:
                removed = tuple(chain.from_iterable(each.removed for each in mine))
                added = tuple(chain.from_iterable(each.added for each in mine))
                why = "; ".join(dict.fromkeys(each.why for each in mine))
                yield ReflectionItem(verb=CORE, text=name, removed=removed, added=added, why=why)

    def lines(self) -> list[CoreLine]:
        return [line for block in self.page.blocks for line in block.items]

    def crowded(self) -> Iterable[tuple[str, str]]:
        """The blocks that have no room, each with the first line that would have come there."""
        return self._crowded.items()

    def promote(self, block: str, why: str, texts: Mapping[str, str]) -> None:
        """Put texts that are lines into a block that does not say what they come down to, up to a few."""
        lines = [text for text in texts if _telling(text) and len(text) <= LONGEST_CORE_LINE and "\n" not in text]
        for text in lines[:TRIED]:
            count = sum(len(each.added) for each in self._changes if each.text == block)
            if count < LINES and not _says(self.page.items(block), texts[text]):
                self.put(block, why, text)

    def put(self, block: str, why: str, text: str, out: CoreLine | None = None) -> None:
        """Put a line into a block, or in the place of one, where nobody rejected that and there is room for it."""
        # Core memory is shown in every conversation: no place for a secret.
        line = "" if is_secret(text) else quote(_of_the_user(text), LONGEST_CORE_LINE)
        page = self.page.removing(self.page.meant(block, out.text)) if out else self.page
        lines = [each for other in page.blocks for each in other.items]
        added = (line,) if line and not _says(lines, line) else ()
        change = ReflectionItem(verb=CORE, text=block, removed=(out.text,) if out else (), added=added, why=why)
        if not change.marks or not _is_wanted(change, self._rejected):
            return
        if added:
            page = page.adding(block, line)
            fits = all(each.tokens <= self._memory.share(each) for each in page.blocks if each.name == block)
            if not fits or page.tokens > self._memory.cap:
                self._crowded.setdefault(block, line)
                return
        self.page = page
        self._changes.append(change)


def _rewrite(
    core: CoreChanges,
    index: Index,
    now: datetime,
    seen: ReflectionMaterial,
    facts: Sequence[KnownFact],
    clashes: Iterable[ContradictingFacts],
) -> None:
    """Take out what does not hold or is not of the moment any more, then put in what is worth it."""
    users = {each.user for each in (*seen.known, *seen.lately) if each.user}
    mine = (None, *users) if len(users) == 1 else (None,)  # of many users none is told to the others
    lately = [each for each in seen.lately if each.user in mine and now - moment(each) <= STALE]
    outdated = [*((each.old.content, each.new.content) for each in clashes if each.why), *seen.replaced]
    _take_out(core, index, [(_telling(old), _telling(new), new) for old, new in outdated], lately, now)
    for block, why, texts in _worth([each for each in facts if each.item.user in mine], lately, seen, now):
        core.promote(block, why, texts)


def _take_out(
    core: CoreChanges,
    index: Index,
    outdated: Sequence[tuple[set[str], set[str], str]],
    lately: Sequence[MemoryItem],
    now: datetime,
) -> None:
    """Propose that lines go which rest on what does not hold; somebody's own lines stay unless a fact replaces them."""
    heard = [_telling(item.content) for item in lately]
    for block in [each for each in core.page.blocks if each.name in BLOCKS]:
        for line in block.items:
            words = _telling(line.says)
            rest = index.read(partial(rests, words=line.says, id=line.id, same=same))
            most = [each for each in outdated if words <= each[0] and 2 * len(words) > len(each[0])]
            instead = next((by for _, new, by in most if len(words) > 1 and words - new), "")
            if instead or (rest.found and not rest.holds):
                instead = instead or rest.instead
                core.put(block.name, "replaced by what holds" if instead else "forgotten", instead, line)
                continue
            if block.name == ACTIVE and rest.found and not line.id and _is_dated_past(line.says, now):
                core.put(ACTIVE, "its day is over, or cannot be told", "", line)
                continue
            came_up = max((len(words & each) for each in heard), default=0) >= min(2, len(words))
            if block.name == ACTIVE and rest.found and not line.id and not came_up:
                core.put(ACTIVE, f"not come up for {STALE.days} days", "", line)


def _worth(
    facts: Sequence[KnownFact], lately: Sequence[MemoryItem], seen: ReflectionMaterial, now: datetime
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """What each block should say and why, the most important first; each text with what it comes down to."""
    # Of several values the last one counts, and the last that was said comes first.
    names = {each.known.object for each in facts if is_user(each.known.subject) and each.known.predicate == "name"}
    last = {
        each.known.slot if each.known.is_single else each.known.text: each
        for each in facts
        if _is_about_user(each, names)
    }
    current = [*reversed(last.values())]
    who = [each for each in current if each.known.predicate in _WHO and not each.known.negated]
    how = [each for each in current if each.known.predicate == "wants"]
    ids, weak = {each.item.id for each in (*who, *how)}, {item.id for item, _ in seen.weak}
    # What a life may depend on counts however long nobody spoke of it.
    lasting = [each for each in facts if each.item.id not in weak or each.known.predicate in _VITAL]
    vital = [each.item for each in lasting if _is_vital(each) and each.item.id not in ids]
    vital.sort(key=lambda item: (-item.importance, -item.access_count, item.id))
    recent = [each for each in reversed(lately) if _is_open(each, now)]
    yield IDENTITY, "facts about the user", {each.item.content: each.known.object for each in who}
    yield PERSONA, "what the user asked for", {each.item.content: each.known.object for each in how}
    yield ACTIVE, "decisions and tasks of the last days", {each.content: each.content for each in recent}
    yield CRITICAL, "important or often used", {each.content: each.content for each in vital}


def _is_about_user(each: KnownFact, names: Container[str]) -> bool:
    """Whether it is about the user, whom a model may call by their name."""
    subject = each.known.subject
    return (is_user(subject) or subject == each.item.user or subject in names) and each.item.confidence >= SURE


def _is_vital(each: KnownFact) -> bool:
    counts = is_important(each.item) or each.known.predicate in _VITAL or each.item.access_count >= OFTEN
    return counts and each.item.confidence >= SURE


def _is_open(item: MemoryItem, now: datetime) -> bool:
    """Whether it is a decision or task of the moment, or a fact about a day to come.

    Reminders come up by themselves.
    """
    is_over = item.valid_until is not None and item.valid_until < now
    if item.role is not None or is_over or _is_dated_past(item.content, now):
        return False
    if item.type is Type.FACT:
        day = upcoming(item.content, moment(item), UTC)
        is_near = day is not None and timedelta(0) < day - now <= STALE
        is_report = _LABEL.match(item.content) is not None
        return is_near and not is_report and item.source in OVERHEARD and not item.attributes.get("negated")
    is_said = item.type is Type.DECISION or (
        item.type is Type.TASK and item.attributes.get("predicate") not in COMING_UP
    )
    return is_said and now - moment(item) <= FRESH


def _is_dated_past(text: str, now: datetime) -> bool:
    """Whether a text names a day that is over since shortly, or one that only those know who heard it."""
    ends = (each.span.end for each in mentions(text, now, UTC))
    return names_relative_day(text) or any(timedelta(0) <= now - end <= STALE for end in ends)


def same(text: str, line: str) -> bool:
    """Whether a line of core memory says what a memory says, also where it is cut short."""
    one, other = plain_words(text), plain_words(line)
    return one.startswith(other) if line.endswith("…") else one == other


def _says(lines: Iterable[CoreLine], text: str) -> bool:
    """Whether a line has all the words of a text."""
    words = _telling(text)
    return bool(words) and any(words <= _telling(line.says) for line in lines)


def _of_the_user(text: str) -> str:
    """What a memory says, told of the user rather than by them."""
    # Lines of core memory are read by an agent, to whom "I" would be itself.
    statements = learn([Turn(content=text)]).statements if text.startswith(("I ", "I'm ", "My ")) else ()
    return statements[0].text if len(statements) == 1 else text


def _telling(text: str) -> set[str]:
    return {word.casefold().rstrip("s") for word in terms(text[:1000])} - _UNTELLING
