"""Looking through a memory: survey, review of earlier reflections, consolidation, core memory, questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, zip_longest

from memfolio.errors import HistoryError, ModelError
from memfolio.govern.reflection.findings import (
    ARCHIVE,
    CONNECT,
    CORE,
    LEARN,
    MERGE,
    RESOLVE,
    WORDS,
    ContradictingFacts,
    Findings,
    Insights,
    KnownFacts,
    KnownStatement,
    Reflected,
    ReflectionItem,
    ReflectionVerb,
    connected,
    contradictions,
    learnable,
    listed,
    merging,
    quote,
    read,
    topics,
)
from memfolio.graph.entities import is_user
from memfolio.index.index import Index
from memfolio.index.maintenance import IMPORTANT, ReflectionMaterial, Rests, look, rests
from memfolio.learn.clauses import is_secret
from memfolio.learn.learned import Turn, moment
from memfolio.learn.resolve import plain_words
from memfolio.learn.rules import learn
from memfolio.llm.model import Model
from memfolio.llm.prompt import is_grounded
from memfolio.recall.library import Library
from memfolio.stores.core import ACTIVE, BLOCKS, CRITICAL, IDENTITY, PERSONA, TEMPLATE, Core, CoreMemory, CorePage
from memfolio.stores.core import CoreLine as Line
from memfolio.text import counted, estimate_tokens, terms
from memfolio.types import OVERHEARD, REFLECTION, SUMMED_UP, Kind, MemoryItem, Type, frozen
from memfolio.vault.vault import Vault

# The fourth phase: what core memory should say, as changes of its blocks that fit under the cap. Pure.

LATELY = "Topics lately: "
NAMED = 4
"""How many topics that line has at most."""
LONGEST_CORE_LINE = 140
"""Characters of a line."""
STALE = timedelta(days=30)
"""After which time a topic that has not come up is not active any more."""
STALED = f"not come up for {STALE.days} days"
FRESH = timedelta(days=7)
"""For how long a decision or a task is of the moment."""
LINES = 4
"""How many lines come to a block at once."""
TRIED = 50
"""How many are looked at for that."""
OFTEN = 5
"""From how many uses on a fact is used often."""
SURE = 0.7
_WHO, _VITAL, _UNTELLING = (frozenset(WORDS[name].split()) for name in ("who", "vital", "untelling"))


@dataclass(slots=True, kw_only=True)
class Rewrite:
    """Changes of core memory, line by line; `page` is what it would be.

    `rests` says what each line rests on, by its text: one that rests on nothing is somebody's own. `before` is what the
    page said when `STALE` began, since when `lately` came. `held` are facts that hold, of which the `dormant` are asked
    about before they are promoted; `outdated` is what does not hold, with what does instead.
    """

    memory: CoreMemory
    rests: Mapping[str, Rests]
    before: str
    held: Sequence[KnownStatement]
    dormant: Container[str]
    outdated: Sequence[tuple[str, str]]
    lately: Sequence[MemoryItem]
    topics: Sequence[str]
    rejected: Container[str]
    now: datetime
    questions: list[str] = field(default_factory=list)
    """What to ask about somebody's own lines, and about what there is no room for."""
    page: CorePage = field(init=False)
    _changes: list[ReflectionItem] = field(default_factory=list)
    _crowded: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.page = CorePage(self.memory.text or TEMPLATE)
        self._review()
        self._tell_topics()
        for name, why, texts in self._wanted():
            self._promote(name, why, texts)
        for name, text in self._crowded.items():
            self.questions.append(f"{name} of core memory has no room for “{quote(text)}”: which line may go?")

    def items(self) -> Iterator[ReflectionItem]:
        """A proposal for each block that is to change."""
        for name in BLOCKS:
            if mine := [each for each in self._changes if each.text == name]:
                removed = tuple(chain.from_iterable(each.removed for each in mine))
                added = tuple(chain.from_iterable(each.added for each in mine))
                why = "; ".join(dict.fromkeys(each.why for each in mine))
                yield ReflectionItem(verb=CORE, text=name, removed=removed, added=added, why=why)

    def says(self, text: str) -> bool:
        """Whether a line of the page has all the words of a text."""
        return _says(_lines(self.page), text)

    def _review(self) -> None:
        """Take out what does not hold or is not of the moment any more, or ask about it where it is somebody's own."""
        outdated = [(_telling(old), _telling(new), new) for old, new in self.outdated]
        old_lines = {line.text for line in _lines(CorePage(self.before))}
        heard = [_telling(item.content) for item in self.lately] if old_lines else []
        for block in [each for each in self.page.blocks if each.name in BLOCKS]:
            for line in block.items:
                words, rests = _telling(line.says), self.rests[line.text]
                most = [each for each in outdated if words <= each[0] and 2 * len(words) > len(each[0])]
                instead = next((by for _, new, by in most if len(words) > 1 and words - new), "")
                told = next((by for old, new, by in outdated if old & new and old - new and old - new <= words), "")
                if instead or (rests.found and not rests.holds):
                    instead = instead or rests.instead
                    self._put(block.name, "replaced by what holds" if instead else "forgotten", instead, line)
                elif told and not rests.found:
                    self.questions.append(f"Is “{quote(line.says)}” in core memory still so, with “{quote(told)}”?")
                elif block.name == ACTIVE and words and not line.id and line.text in old_lines:
                    shared = max((len(words & each) for each in heard), default=0)
                    self._review_moment(line, len(words), shared, is_own=not rests.found)

    def _review_moment(self, line: Line, words: int, shared: int, *, is_own: bool) -> None:
        """Take a line out that is not of the moment any more; of one's own nothing at all may have come up."""
        if is_own and not shared and not line.text.startswith(LATELY):
            self.questions.append(f"“{quote(line.says)}” in core memory has {STALED}: may it go?")
        elif not is_own and shared < min(2, words):
            self._put(ACTIVE, STALED, "", line)

    def _tell_topics(self) -> None:
        """The line of topics that no other line has; the one that is there stays while half of it is of the moment."""
        old = next((each for each in self.page.items(ACTIVE) if each.text.startswith(LATELY)), None)
        told = set(old.text.removeprefix(LATELY).split(", ")) if old else set()
        said = " ".join(line.says for line in _lines(self.page) if line != old).casefold()
        new = [each for each in self.topics if each.casefold() not in said][:NAMED]
        if len(new) > 1 and (not old or 2 * len(told.intersection(self.topics)) < len(told)):
            self._put(ACTIVE, "topics of the moment", LATELY + ", ".join(new), old)

    def _wanted(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """What each block should say and why, the most important first; each text with what it comes down to."""
        # Of several values the last one counts, and the last that was said comes first.
        last = {each.slot or each.meaning: each for each in self.held if _is_about_user(each)}
        mine = [*reversed(last.values())]
        who = [each for each in mine if each.known.predicate in _WHO and not each.known.negated]
        how = [each for each in mine if each.known.predicate == "wants"]
        told = {each.item.id for each in (*who, *how)}
        vital = [each.item for each in self.held if _is_vital(each) and each.item.id not in told]
        vital.sort(key=lambda item: (-item.importance, -item.access_count, item.id))
        recent = [each for each in reversed(self.lately) if _is_open(each, self.now)]
        yield IDENTITY, "facts about the user", {each.item.content: each.known.object for each in who}
        yield PERSONA, "what the user asked for", {each.item.content: each.known.object for each in how}
        yield ACTIVE, "decisions and tasks of the last days", {each.content: each.content for each in recent}
        critical = {each.content: each.content for each in vital if each.id not in self.dormant}
        yield CRITICAL, "important or often used", critical

    def _promote(self, block: str, why: str, texts: Mapping[str, str]) -> None:
        """Put texts that are lines into a block that does not say what they come down to, up to a few."""
        lines = [text for text in texts if _telling(text) and len(text) <= LONGEST_CORE_LINE and "\n" not in text]
        for text in lines[:TRIED]:
            count = sum(len(each.added) for each in self._changes if each.text == block)
            if count < LINES and not _says(self.page.items(block), texts[text]):
                self._put(block, why, text)

    def _put(self, block: str, why: str, text: str, out: Line | None = None) -> None:
        """Put a line into a block, or in the place of one, where nobody rejected that and there is room for it."""
        # Core memory is shown in every conversation: no place for a secret.
        line = "" if is_secret(text) else quote(_retold(text), LONGEST_CORE_LINE)
        page = CorePage(self.page.removing(self.page.meant(block, out.text))) if out else self.page
        added = (line,) if line and not _says(_lines(page), line) else ()
        change = ReflectionItem(verb=CORE, text=block, removed=(out.text,) if out else (), added=added, why=why)
        if not change.marks or any(mark in self.rejected for mark in change.marks):
            return
        if added and not self._fits(page := CorePage(page.adding(block, line)), block):
            self._crowded.setdefault(block, line)
            return
        self.page = page
        self._changes.append(change)

    def _fits(self, page: CorePage, name: str) -> bool:
        is_meant = all(each.tokens <= self.memory.share(each) for each in page.blocks if each.name == name)
        return is_meant and page.tokens <= self.memory.cap


def _lines(page: CorePage) -> list[Line]:
    return [line for block in page.blocks for line in block.items]


def _says(lines: Iterable[Line], text: str) -> bool:
    words = _telling(text)
    return bool(words) and any(words <= _telling(line.says) for line in lines)


def same(text: str, line: str) -> bool:
    """Whether a line of core memory says what a memory says, also where it is cut short."""
    one, other = plain_words(text), plain_words(line)
    return one.startswith(other) if line.endswith("…") else one == other


def _retold(text: str) -> str:
    """What a memory says, told of the user rather than by them."""
    # Lines of core memory are read by an agent, to whom "I" would be itself.
    told = learn([Turn(content=text)]).statements if text.startswith(("I ", "I'm ", "My ")) else ()
    return told[0].text if len(told) == 1 else text


def _telling(text: str) -> set[str]:
    return {word.casefold().rstrip("s") for word in terms(text[:1000])} - _UNTELLING


def _is_about_user(each: KnownStatement) -> bool:
    return (is_user(each.known.subject) or each.known.subject == each.item.user) and each.item.confidence >= SURE


def is_important(item: MemoryItem) -> bool:
    """Whether somebody called it important; all that is overheard of people and things is just so."""
    return item.importance > IMPORTANT or (item.importance == IMPORTANT and item.source not in (*OVERHEARD, REFLECTION))


def _is_vital(each: KnownStatement) -> bool:
    counts = is_important(each.item) or each.known.predicate in _VITAL or each.item.access_count >= OFTEN
    return counts and each.item.confidence >= SURE


def _is_open(item: MemoryItem, now: datetime) -> bool:
    """Whether it is a decision or task of the moment."""
    is_over = item.valid_until is not None and item.valid_until < now
    is_said = item.role is None and item.type in (Type.TASK, Type.DECISION)
    return is_said and not is_over and now - moment(item) <= FRESH


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
    about: Sequence[str],
    replaced: Replaced,
    items: Sequence[ReflectionItem],
    model: Model | None,
    notes: list[str],
) -> Insights:
    """What can be said of reflections, topics and revisions, by the model where there is one that answers."""
    by_rules = Insights(learning=_learning(past), understanding=_understanding(replaced), theme=_theme(past, about))
    if model is None:
        return by_rules
    lines = [*map(_told, past[-REVIEWED:]), f"This time it is about: {', '.join(about)}"]
    lines += [f"Corrected: {quote(old)} → {quote(new)}" for old, new in replaced[:REVIEWED]]
    lines += [f"To be learned: {quote(each.text)}" for each in items if each.verb is LEARN]
    shown = "\n".join([*lines, *filter(None, asdict(by_rules).values())])
    try:
        answer = model.ask(WORDS["insights"], shown, Insights)
    except ModelError as error:
        notes.append(f"insights without the model: {error.message}")
        return by_rules
    told = {name: _grounded(text, shown) for name, text in asdict(answer).items()}
    return replace(by_rules, **{name: text for name, text in told.items() if text})


def _grounded(text: str, shown: str) -> str:
    kept = "".join(each for each in _SENTENCE.findall(" ".join(text.split())) if is_grounded(each, shown))
    return quote(kept, LONGEST_REVIEW)


def _told(each: Reflected) -> str:
    asked = f"; asked: {' '.join(each.questions)}" if each.questions else ""
    return f"Reflection {each.number} of {each.at} was {each.outcome}; about: {', '.join(each.topics)}{asked}"


def _learning(past: Sequence[Reflected]) -> str:
    """What became of the proposals of before."""
    if not past:
        return ""
    applied = sum((Counter(each.counts) for each in past), Counter[str]())
    told = [counted(applied[verb], noun) for verb, noun in WORDS["nouns"].items() if applied[verb]]
    since = f"In {counted(len(past), 'reflection')} since {min(each.at for each in past)}"
    rejected = [f"#{each.number}" for each in past if each.outcome == "rejected"]
    refused = f" You rejected {listed(rejected)}: those proposals are not made again." if rejected else ""
    return quote(f"{since} you approved {listed(told) or 'nothing'}.{refused}", LONGEST_REVIEW)


def _understanding(replaced: Replaced) -> str:
    """What was held to be so and is not."""
    shown = [f"“{quote(old, 60)}” became “{quote(new, 60)}”" for old, new in replaced[:2]]
    return f"{counted(len(replaced), 'revision')} since the last reflection: {'; '.join(shown)}." if shown else ""


def _theme(past: Sequence[Reflected], about: Sequence[str]) -> str:
    """What comes up again and again, and what was asked more than once."""
    counts = Counter(topic.casefold() for each in past for topic in dict.fromkeys(each.topics))
    again = {topic: count for topic in about if (count := counts[topic.casefold()])}
    most = sorted(again, key=lambda topic: -again[topic])[:3]
    named = ", ".join(f"{topic} ({again[topic]} of {len(past)})" for topic in most)
    parts = [f"What came up in reflections before and does so again: {named}."] if named else []
    asked = Counter(question for each in past for question in dict.fromkeys(each.questions)).most_common(1)
    parts += [f"Asked in {count} reflections: {quote(question, 160)}" for question, count in asked if count > 1]
    return quote(" ".join(parts), LONGEST_REVIEW)


# Looking through a memory: survey, review of the reflections before, consolidation, core memory, questions.

EPISODES = 1500
"""How many episodes are read at most, the newest."""
APART = 5000
"""How many facts are taken apart by rules, the newest."""
QUESTIONS = 4
AGAIN = 2
"""After how many reflections that asked it a question is not asked again."""
PAGE = 1000
"""Tokens of the page around the findings."""


def look_through(
    vault: Vault,
    library: Library,
    agent: str,
    *,
    now: datetime,
    since: datetime | None,
    past: Sequence[Reflected],
    rejected: Container[str],
    model: Model | None = None,
) -> Findings:
    """What a reflection at this moment proposes, asks and notes; nothing is changed."""
    index, settings, notes = library.index, vault.config.reflection, list[str]()
    seen = index.read(partial(look, now=now, since=since, month=STALE, decay=vault.config.decay))
    looking = _Looking(vault=vault, index=index, agent=agent, now=now, seen=seen, rejected=rejected)
    about = looking.topics(seen.fresh)
    found, open_ = looking.find(notes)
    wanted = {verb: [*filter(looking.is_wanted, items)] for verb, items in found.items()}
    first = [each for items in wanted.values() for each in items[: settings.items]]
    insights = reviewed(past, about, seen.replaced, first, model, notes)
    asked = Counter(question for each in past for question in each.questions)
    questions = tuple(each for each in dict.fromkeys(open_) if asked[each] < AGAIN)[:QUESTIONS]
    # The page has a budget: what is not proposed now comes with the next reflection.
    words = (*asdict(insights).values(), *questions, *about, *notes)
    kept = _fitting(first, max(settings.tokens - PAGE, settings.tokens // 2) - sum(map(estimate_tokens, words)))
    left = Counter({verb.value: len(items) for verb, items in wanted.items()})
    left[ARCHIVE.value] += max(0, seen.faded_count - len(seen.faded))
    left.subtract(each.verb.value for each in kept)
    return Findings(
        items=tuple(kept),
        insights=insights,
        questions=questions,
        topics=about,
        looked_at=_counts(seen),
        left_out=dict(+left),
        notes=tuple(notes),
    )


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


@frozen
class _Looking:
    vault: Vault
    index: Index
    agent: str
    now: datetime
    seen: ReflectionMaterial
    rejected: Container[str]

    def find(self, notes: list[str]) -> tuple[dict[ReflectionVerb, Iterable[ReflectionItem]], Iterator[str]]:
        """Proposals of each verb, and questions."""
        material = self.seen.material
        # Taking a sentence apart is slow; of old facts those count that say what they are about.
        old, new = self.seen.known[:-APART], self.seen.known[-APART:]
        held = [*(KnownStatement.of(each, takes_apart=False) for each in old), *map(KnownStatement.of, new)]
        facts = KnownFacts([*map(KnownStatement.of, self.seen.forgotten), *held])
        clashes = [each for each in contradictions(facts) if self.is_wanted(each.item)]
        doubtful = {each for clash in clashes for each in clash.doubtful}
        learn = self.vault.config.learn
        learning = learnable(facts, read(self._episodes(notes)), learn.conflicts) if learn.enabled else []
        # What newer words may replace is not promoted into core memory meanwhile.
        doubted = {each.item.id for item, old in learning if self.is_wanted(item) for each in old}
        merges, unsure = merging(material, learn.merge)
        rewrite = self._rewrite([each for each in held if each.item.id not in doubtful | doubted], clashes)
        found: dict[ReflectionVerb, Iterable[ReflectionItem]] = {
            LEARN: [item for item, _ in learning],
            CONNECT: connected(self.index, material, merges),
            MERGE: merges,
            ARCHIVE: self._fading(doubtful),
            RESOLVE: [clash.item for clash in clashes if clash.why],
            CORE: rewrite.items(),
        }
        known = {each.item.id for each in held} - doubtful
        weak = [item for item, _ in self.seen.weak if item.id in known and is_important(item)]
        # Few questions are asked, so that each kind has its turn.
        in_turn = zip_longest(
            [_which(clash) for clash in clashes if not clash.why],
            [f"Are {one.name} and {other.name} the same {one.type}?" for one, other in unsure],
            [
                f"“{quote(item.content)}”, {_last_use(item)}: does it still hold?"
                for item in weak
                if not rewrite.says(item.content)
            ],
            rewrite.questions,
        )
        return found, filter(None, chain.from_iterable(in_turn))

    def topics(self, items: Sequence[MemoryItem]) -> tuple[str, ...]:
        return topics(items, (node.name for node in self.seen.material.nodes))

    def is_wanted(self, item: ReflectionItem) -> bool:
        """Whether nobody rejected it."""
        return not any(mark in self.rejected for mark in item.marks)

    def _episodes(self, notes: list[str]) -> list[MemoryItem]:
        """What happened and was not learned from, as far as it is not too much.

        That of the last weeks is read again, since nobody may have decided on what it gave.
        """
        waiting = [
            each
            for each in max(self.seen.fresh, self.seen.lately, key=len)
            if each.kind is Kind.EPISODIC and each.source not in (*OVERHEARD, *SUMMED_UP)
            if each.role is None or each.id in self.seen.unread
        ]
        if len(waiting) > EPISODES:
            notes.append(f"only the newest {EPISODES:,} episodes were read: there are more")
        return waiting[-EPISODES:]

    def _fading(self, doubtful: Container[str]) -> Iterator[ReflectionItem]:
        """What may be archived; what is important is asked about instead."""
        for item, score in self.seen.faded:
            if item.id not in doubtful and (item.kind is Kind.EPISODIC or item.importance < IMPORTANT):
                why, quotes = f"relevance {score:.3f}, {_last_use(item)}", {item.id: quote(item.content)}
                yield ReflectionItem(verb=ARCHIVE, memory=item.id, why=why, quotes=quotes)

    def _rewrite(self, held: Sequence[KnownStatement], clashes: Sequence[ContradictingFacts]) -> Rewrite:
        memory = Core(self.vault, self.agent).read()
        lines = {each.text: each for block in memory.blocks for each in block.items}
        asked = {text: partial(rests, words=each.says, id=each.id, same=same) for text, each in lines.items()}
        users = {each.user for each in (*self.seen.known, *self.seen.lately) if each.user}
        mine = (None, *users) if len(users) == 1 else (None,)  # of many users none is told to the others
        lately = [each for each in self.seen.lately if each.user in mine and self.now - moment(each) <= STALE]
        settled = [(clash.old.item.content, clash.new.item.content) for clash in clashes if clash.why]
        return Rewrite(
            memory=memory,
            rests={text: self.index.read(question) for text, question in asked.items()},
            before=self._before(memory.path) if lines else "",
            held=[each for each in held if each.item.user in mine],
            dormant={item.id for item, _ in self.seen.weak},
            outdated=[*settled, *self.seen.replaced],
            lately=lately,
            topics=self.topics(lately),
            rejected=self.rejected,
            now=self.now,
        )

    def _before(self, path: str) -> str:
        """What a page said before nothing came up for long; empty where that cannot be told."""
        with suppress(HistoryError):
            if commit := self.vault.history.at_time(self.now - STALE):
                return (self.vault.history.read(path, commit=commit) or b"").decode("utf-8", "replace")
        return ""


def _which(clash: ContradictingFacts) -> str:
    told = [f"“{quote(each.item.content)}” ({moment(each.item):%Y-%m-%d})" for each in (clash.old, clash.new)]
    return f"{' and '.join(told)} cannot both be so: is it the second one?"


def _last_use(item: MemoryItem) -> str:
    if item.accessed_at is None:
        return f"not used since {item.created_at:%Y-%m-%d}"
    times = f"{item.access_count} times, " if item.access_count > 1 else ""
    return f"used {times}last on {item.accessed_at:%Y-%m-%d}"
