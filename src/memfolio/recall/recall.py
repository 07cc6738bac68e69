"""Recall: query → question → candidates → weigh → hints → merit → cut → diversify → hits, in one hop or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from memfolio.decay import Phase, phase, relevance
from memfolio.embed.vectorizer import QueryVector, Vectorizer
from memfolio.index.database import Connection
from memfolio.index.graph import named, names_of, predecessors
from memfolio.index.index import Index
from memfolio.index.lookup import (
    Located,
    MemoryColumns,
    Overview,
    beginnings,
    by_rows,
    memory_columns,
    newest,
    overview,
)
from memfolio.index.rows import from_us, of_kept, to_us
from memfolio.index.search import ARCHIVED, BEGINNING, DORMANT, Filter, TurnColumns, frequencies, size
from memfolio.recall.candidates import APART, Candidates, gather, join
from memfolio.recall.current import SURE, Matter, Said, asks_before, asks_now, is_statement, states, tells_several
from memfolio.recall.hit import WRITTEN, Hit, Reason, is_short_question, names_something
from memfolio.recall.query import Query
from memfolio.recall.question import Intent, Question, names_in, understand
from memfolio.recall.rank import (
    FADE,
    LEAST,
    SUMMARIES,
    TRUSTED,
    Coverage,
    Rarity,
    Weighing,
    add_coverage,
    add_hints,
    add_merit,
    awake,
    cover,
    diversify,
    echoes,
    fits,
    hop_words,
    is_bare,
    is_machine,
    is_standing_wish,
    longest,
    weigh,
    with_hops,
)
from memfolio.settings import Decay, Ranking
from memfolio.text import MAX_TERM
from memfolio.types import frozen

T = TypeVar("T")
P = ParamSpec("P")
RowReader = Callable[[Connection, Sequence[int]], Mapping[int, T]]
"""What one index knows of some of its rows."""

_text = itemgetter(TurnColumns._fields.index("text"))

READ = 3
"""How many of the best are looked at for one hit that is wanted."""
LEAST_READ = 40
TRIED = 3
"""How many of the best are tried as what was so before something changed."""
WIDER = 4
"""How many candidates are looked for beside each that only asks, where those are most of them."""
MANY_EVENTS = 200
"""How many of the last things that happened at a time are compared."""
AS_WELL = 0.5
"""The part of an outdated turn's score from which on what replaced it is taken to answer the same question."""
DIGESTED = {"quarterly": timedelta(days=89), "monthly": timedelta(days=27), "weekly": timedelta(days=6)}
"""The digests of each level, with the least time that one of them is about."""
TOLD_TWICE, MANY_MEMORIES = 4.0, 250
"""How much likelier it is that what changed is meant by a question, as a factor of the odds, and where no more so."""
COMMON = 20_000
"""Up to how many memories a word's frequency is counted."""
TELLING = 2_000
"""The same where it only matters how much the word tells."""
ENOUGH = 0.5
"""The share of memories with vectors from which on meanings count in full: those without must not stand behind."""
FEW_VECTORS = 0.05
"""How much they count before: they find what no word does, and do not change the order of what words find."""


class Replacement(NamedTuple):
    """Two rows about the same matter, of which the newer one takes the place of the older; sure or only likely."""

    new: int
    old: int
    is_sure: bool


class IndexSurvey(NamedTuple):
    """What an index knows about a question before it is searched."""

    overview: Overview
    entities: Sequence[str]
    aliases: Sequence[str]

    @classmethod
    def of(cls, connection: Connection, text: str) -> IndexSurvey:
        known = overview(connection)
        entities = named(connection, list(names_in(text))) if known.has_entities else []
        return cls(known, entities, names_of(connection, entities))


@frozen
class Search:
    """One question to some indexes, and how its answers are ranked."""

    indexes: Sequence[Index]
    query: Query
    ranking: Ranking
    decay: Decay
    meaning: float = 1.0
    """How much of the similarity of meanings counts: less while many memories cannot be compared by theirs."""
    is_partial: bool = False
    """Whether some memories have no vector yet."""
    connection: Connection | None = None
    """The connection to the only index there is, while it is being asked."""

    def survey(self) -> list[IndexSurvey]:
        """What each index knows about the question."""
        return [index.read(self.survey_one) for index in self.indexes]

    def survey_one(self, db: Connection) -> IndexSurvey:
        """What the index of this connection knows about the question."""
        return IndexSurvey.of(db, self.query.text)

    def without(self, waiting: int) -> Search:
        """The same where so many memories have no vector yet."""
        if not waiting:
            return self
        total = sum(index.read(size) for index in self.indexes)
        share = max(0, total - waiting) / max(total, 1)
        return replace(self, meaning=1.0 if share >= ENOUGH else FEW_VECTORS, is_partial=True)

    def understand(self, known: Sequence[IndexSurvey], intent: Intent | None = None) -> Question:
        """What the question asks of these indexes."""
        moments = [each.overview.newest for each in known if each.overview.newest is not None]
        newest = max(moments, default=None)
        return understand(
            self.query.text,
            now=self.query.now,
            zone=self.query.zone,
            speakers=[name for each in known for name in each.overview.speakers] if self.ranking.speaker else (),
            entities=[entity for each in known for entity in each.entities],
            aliases=[name for each in known for name in each.aliases],
            newest=None if newest is None else from_us(newest),
            intent=intent,
        )

    def query_vector(self, question: Question, vectorizer: Vectorizer) -> QueryVector | None:
        """What the question means, as far as that counts; mere punctuation means nothing, an emoji may."""
        text = question.meaning or self.query.text
        is_telling = any(character.isalnum() or not character.isascii() for character in text)
        return vectorizer.of(text) if self.ranking.vector and is_telling else None

    def answer(self, question: Question, vector: QueryVector | None) -> list[Hit]:
        """The memories that answer it, best first; equal ones in the order of their ids."""
        # Asked once for all, which is quicker, and everything is of one moment.
        if len(self.indexes) == 1 and self.connection is None:
            return self.indexes[0].read(lambda db: replace(self, connection=db)._answer(question, vector))
        return self._answer(question, vector)

    def _ask(self, nth: int, work: Callable[Concatenate[Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Do some work with an index, in the connection that is open where there is one."""
        if self.connection is not None:
            return work(self.connection, *args, **named)
        return self.indexes[nth].read(lambda db: work(db, *args, **named))

    def _answer(self, question: Question, vector: QueryVector | None) -> list[Hit]:
        query = self.query
        if not question.words and vector is None:
            return self._latest()
        if question.asks_for_time and (found := self._during(question)):
            return found
        direct = self._find(question, vector)
        if not query.depth:
            return direct
        return with_hops(
            direct,
            lambda hits, count: self._hop(question, hits, count),
            depth=query.depth,
            limit=query.limit,
            share=self.ranking.hop_share,
        )

    def _find(self, question: Question, vector: QueryVector | None, hits: Sequence[Hit] = ()) -> list[Hit]:
        """One hop: from the question itself, or from hits before."""
        candidates, texts, echoing = self._candidates(question, vector, hits)
        if not hits and (self.is_partial or not candidates.vector):
            candidates = candidates.worded(self.meaning)
        weighing = weigh(candidates, question, self.ranking, echoing)
        answering = candidates.turns.keys() - echoing if echoing else candidates.turns.keys()
        best = weighing.best(max(LEAST_READ, READ * self.query.limit), answering)
        if question.asks_help:  # what hints will lift may stand far behind
            wishes = [row for row in answering if is_standing_wish(texts.get(row, ""))]
            best = list(dict.fromkeys([*best, *weighing.best(LEAST_READ, wishes)]))
        best += [candidates.outdated[row] for row in best if row in candidates.outdated]
        looks = self._read([*dict.fromkeys(best), *weighing.best(self.query.limit, echoing)], memory_columns)
        rarity = self._rarity([word for word in question.words if len(word) < MAX_TERM])  # longer ones are no words
        coverage = cover(looks, texts, candidates, rarity)
        add_coverage(weighing, coverage, texts, self.ranking)
        add_hints(weighing, looks, question, self.ranking)
        wanted, now = self.query.filter, self.query.now
        true_at = wanted.valid_at or wanted.as_of or now
        phases = add_merit(weighing, looks, to_us(now), to_us(true_at), self.ranking, self.decay)
        newer: dict[str, tuple[str, ...]] = {}
        if not hits and not asks_before(self.query.text):
            newer = _put_before_outdated(weighing, looks, candidates.outdated)
        pair = self._newer(weighing, looks, coverage, rarity, candidates.vector) if not hits and not newer else None
        order = self._ordered(weighing, looks, phases, candidates.sure)
        fit = fits(order, weighing, candidates.vector, coverage, rarity)
        if pair:
            fit |= _fits_of_pair(pair, fit, rarity.size)
            # Parts of one text hold together, whichever of them answers better.
            if pair.is_sure and not _are_parts_of_one(pair.new, pair.old, candidates.turns):
                newer = {candidates.turns[pair.new].id: (candidates.turns[pair.old].id,)}
        order = [row for row in order if fit[row] >= self.query.min_fit]
        return self._hits(order[: self.query.limit], weighing, phases, fit, newer, question)

    def _newer(
        self,
        weighing: Weighing,
        looks: Mapping[int, MemoryColumns],
        coverage: Mapping[int, Coverage],
        rarity: Rarity,
        near: Mapping[int, float],
    ) -> Replacement | None:
        """Put what holds now before what it replaces, or behind it where the question is about the past."""
        asked, scores, turns = self.query.text, weighing.scores, weighing.turns
        is_past = asks_before(asked)
        if not (is_past or asks_now(asked)):
            return None
        told = [row for row in looks if row not in weighing.echoing and not is_machine(looks[row].life.role)]
        told = [row for row in told if not (turns[row].id.startswith("P-") and tells_several(looks[row].content))]
        # Summaries repeat what was said, and reminders what is to be done.
        told = [row for row in told if looks[row].source not in SUMMARIES and not turns[row].id.startswith("I-")]
        order = [row for row in weighing.best(len(told), told) if not is_short_question(looks[row].content)]
        # What only names something states nothing that could be replaced, and what has no word of the question may have
        # come by its company.
        order.sort(key=lambda row: (not coverage[row].words, not states(looks[row].content)))
        if len(order) < 2 or not states(looks[order[0]].content):
            return None
        matter = Matter(asked, rarity.weights, rarity.size)
        stated = [row for row in order if coverage[row].words and states(looks[row].content)]
        if is_past and not stated:
            return None
        if stated:
            order.insert(0, order.pop(matter.best([looks[row].content for row in stated])))
        # What was so before need not be what answers best, nor what only came by its meaning: the next ones are tried
        # as well.
        most = AS_WELL * max(scores[row] for row in order)
        near_best = sum(1 for row in order[:TRIED] if scores[row] >= most and states(looks[row].content))
        tried = min(len(stated), TRIED) if is_past else 1 if stated else near_best
        found = (
            self._pair(matter, [order[nth], *order[:nth], *order[nth + 1 :]], looks, weighing, near, is_past)
            for nth in range(tried)
        )
        pair = next(filter(None, found), None)
        if pair is None:
            return None
        wanted = pair.old if is_past else pair.new
        # Asked for what was so before, and with the older one found best already, nothing has to move.
        if not is_past or wanted != weighing.best(1, told)[0]:
            lift = max(scores.values()) - scores[wanted] + LEAST
            weighing.add("older" if is_past else "newer", {wanted: lift})
        return pair

    def _pair(
        self,
        matter: Matter,
        order: Sequence[int],
        looks: Mapping[int, MemoryColumns],
        weighing: Weighing,
        near: Mapping[int, float],
        is_past: bool,
    ) -> Replacement | None:
        """The first of these with what replaces it, or that it replaces."""
        said = self._said(order, looks, weighing, near)
        if later := matter.newest(said):
            pair = Replacement(order[later.nth], order[0], later.is_sure)
        elif earlier := matter.replaced(said, 0.0 if is_past else SURE):
            pair = Replacement(order[0], order[earlier.nth], earlier.is_sure)
        else:
            return None
        # Notes and pages say what holds as it is: when a line was written tells little of when that began.
        is_told = all(weighing.turns[row].id.startswith("M-") for row in (pair.new, pair.old))
        is_page = weighing.turns[pair.new].id.startswith("P-") and is_statement(looks[pair.new].content)
        return None if is_page or not (pair.is_sure or is_told) else pair

    def _said(
        self,
        order: Sequence[int],
        looks: Mapping[int, MemoryColumns],
        weighing: Weighing,
        near: Mapping[int, float],
    ) -> list[Said]:
        """What these rows say, the best of them first; `near` is how near all are to the question in meaning."""
        scores, meaning = weighing.scores, weighing.shares.get("vector", {})
        best, most, nearest = order[0], max(scores[order[0]], LEAST), max(meaning.values(), default=0.0) or 1.0
        nearby = self._likeness(best, order[1:])
        return [
            Said(
                text=looks[row].content,
                at=(looks[row].happened_at, looks[row].ordinal),
                speaker=_speaker(looks[row]),
                fit=scores[row] / most,
                likeness=nearby.get(row, 0.0),
                meaning=meaning.get(row, 0.0) / nearest,
                near=near.get(row, 0.0),
            )
            for row in order
        ]

    def _likeness(self, row: int, others: Sequence[int]) -> dict[int, float]:
        """How near in meaning others of the same index are to a row."""
        nth = row // APART
        own = [each - nth * APART for each in others if each // APART == nth]
        found = self._ask(nth, self.indexes[nth].matrix.likeness, row - nth * APART, own)
        return {each + nth * APART: near for each, near in found.items()}

    def _candidates(
        self, question: Question, vector: QueryVector | None, hits: Sequence[Hit]
    ) -> tuple[Candidates, dict[int, str], frozenset[int]]:
        """The candidates, how they begin, and those that merely repeat the question or ask something nobody answered.

        While these are most, the search is widened.
        """
        ranking, known = self.ranking, -1
        asked = " ".join((self.query.text, *question.words, *question.speakers))
        most = longest(asked) + 1
        while True:
            parts = [self._gather(nth, question, vector, hits, ranking) for nth in range(len(self.indexes))]
            candidates = join(parts)
            turns = candidates.turns
            texts = dict(zip(turns, map(_text, turns.values()), strict=True))
            if most > BEGINNING:
                cut = [row for row, text in texts.items() if len(text) == BEGINNING]
                texts |= self._read(cut, partial(beginnings, most=most))
            found = echoes(texts, asked) if ranking.echo else ()
            echoing = frozenset(row for row in found if _was_asked(turns[row], texts[row]))
            alone = candidates.unanswered(echoing) if ranking.echo else frozenset()
            echoing |= alone
            if 2 * len(echoing) <= len(candidates.turns) or len(echoing) <= known:
                return candidates.apart(alone) if alone else candidates, texts, echoing
            known, wider = len(echoing), WIDER * len(echoing)
            ranking = replace(ranking, breadth=wider, breadth_complex=wider)

    def _gather(
        self, nth: int, question: Question, vector: QueryVector | None, hits: Sequence[Hit], ranking: Ranking
    ) -> Candidates:
        index, previous = self.indexes[nth], [hit.memory.id for hit in hits]
        return self._ask(nth, gather, index, self.query, question, vector, ranking, previous)

    def _ordered(
        self,
        weighing: Weighing,
        looks: Mapping[int, MemoryColumns],
        phases: Mapping[int, Phase],
        sure: Container[int],
    ) -> list[int]:
        """The rows that are worth showing, best first; those that are sure to belong here are never cut off.

        What only repeats the question is not measured against, and comes last.
        """
        scores, included = weighing.scores, self.query.filter.include
        telling = [row for row, look in looks.items() if not is_bare(look.source, look.content)]
        order = [row for row in weighing.best(len(telling), telling) if row not in weighing.echoing]
        if not {DORMANT, ARCHIVED} & set(included):
            order = awake(order, scores, phases, self.ranking.dormant)
        least = self.ranking.cut * max(scores[order[0]], 0.0) if order else 0.0
        order = [row for row in order if row in sure or scores[row] >= least]
        echoing = [row for row in looks if row in weighing.echoing and row in sure]
        weighing.hold_back("echo", echoing, 1 - self.ranking.echo, order)
        order = diversify(order, scores, {row: looks[row].content for row in order}, self.ranking.diversity)
        return [*order, *weighing.best(len(echoing), echoing)]

    def _hits(
        self,
        rows: Sequence[int],
        weighing: Weighing,
        phases: Mapping[int, Phase],
        fit: Mapping[int, float],
        newer: Mapping[str, tuple[str, ...]],
        question: Question,
    ) -> list[Hit]:
        found = self._read(rows, _with_predecessors)
        return [
            _hit(
                *found[row],
                phases[row],
                score=round(weighing.scores[row] / weighing.whole, 6),
                fit=round(fit[row], 4),
                why=weighing.why(row),
                words=question.words,
                replaces=newer.get(weighing.turns[row].id, ()),
            )
            for row in rows
            if row in found
        ]

    def _read(self, rows: Sequence[int], work: RowReader[T]) -> dict[int, T]:
        """What the indexes know of these rows of the joined candidates, as far as they are still there."""
        if len(self.indexes) == 1:
            return dict(self._ask(0, work, rows)) if rows else {}
        found: dict[int, T] = {}
        for nth in range(len(self.indexes)):
            own = [row - nth * APART for row in rows if row // APART == nth]
            part = self._ask(nth, work, own) if own else {}
            found |= {row + nth * APART: value for row, value in part.items()}
        return found

    def _hop(self, question: Question, hits: Sequence[Hit], count: int) -> list[Hit]:
        """What the words and ties of these hits lead to."""
        words = hop_words(hits, question.words, self._frequencies, self.ranking.hop_terms)
        asked = Question(words=tuple(words), without=question.words)
        further = replace(self, query=replace(self.query, limit=max(count, 1)))._find(asked, None, hits)
        best = max((hit.score for hit in hits), default=0.0)
        full = max((hit.score for hit in further), default=0.0) or 1.0
        depth = max(hit.depth for hit in hits) + 1
        worth = FADE * best / full
        return [
            replace(hit, score=round(worth * hit.score, 6), fit=round(FADE * hit.fit, 4), depth=depth)
            for hit in further
            if hit.score > 0
        ]

    def _rarity(self, words: Sequence[str]) -> Rarity:
        """How much each of these words tells in what is remembered."""
        total = sum(self._ask(nth, size) for nth in range(len(self.indexes)))
        return Rarity.of(self._frequencies(words, TELLING), total)

    def _frequencies(self, words: Sequence[str], most: int = COMMON) -> Mapping[str, int]:
        """In how many memories each of these words is."""
        found: dict[str, int] = {}
        for nth in range(len(self.indexes)):
            for word, count in self._ask(nth, frequencies, words, most).items():
                found[word] = found.get(word, 0) + count
        return found

    def _latest(self) -> list[Hit]:
        """Without words there is nothing to rank by: what happened last comes first."""
        rows = self._newest(self.query.filter, self.query.limit)
        return self._listed([row for _, row in rows], "newest", 0.0)

    def _newest(self, wanted: Filter, limit: int) -> list[tuple[datetime, int]]:
        """When and where the last things stand that pass a filter, the last first."""
        found: list[tuple[datetime, str, int]] = []
        for nth in range(len(self.indexes)):
            some = self._ask(nth, newest, wanted, limit)
            found += [(x.item.event_time or x.item.created_at, x.item.id, x.row + nth * APART) for x in some]
        found.sort(key=lambda each: each[1])
        found.sort(key=lambda each: each[0], reverse=True)
        return [(at, row) for at, _, row in found[:limit]]

    def _during(self, question: Question) -> list[Hit]:
        """What there was at the times that are named: digests of longer ones, then what mattered most, in its order."""
        limit, wanted = self.query.limit, self.query.filter
        digests: list[int] = []
        events: dict[int, datetime] = {}
        for start, end in (time.span for time in question.times):
            within = replace(
                wanted,
                since=max(filter(None, (wanted.since, start))),
                until=min(filter(None, (wanted.until, end - timedelta(microseconds=1)))),
                dated=True,
            )
            if level := next((level for level, least in DIGESTED.items() if least <= end - start < 2 * least), None):
                digests += [row for _, row in self._newest(replace(within, level=level), limit)]
            events |= {row: at for at, row in self._newest(within, MANY_EVENTS)}
        looks = self._read([*digests, *events], memory_columns)
        said = {row: look.content for row, look in looks.items() if look.source != "note"}
        asking = echoes(said, self.query.text)
        telling = {row for row, look in looks.items() if not is_bare(look.source, look.content)} - asking
        digests = [row for row in dict.fromkeys(digests) if row in telling]
        best = sorted(telling - set(digests), key=lambda row: (-looks[row].importance, events[row], row))
        chosen = sorted(best[: max(0, limit - len(digests))], key=lambda row: (events[row], row))
        return self._listed([*digests[:limit], *chosen], "time", 1.0)

    def _listed(self, order: Sequence[int], strategy: str, score: float) -> list[Hit]:
        """These rows as hits, in this order, for which one strategy speaks."""
        now = to_us(self.query.now)
        looks, items = self._read(order, memory_columns), self._read(order, _with_predecessors)
        phases = {row: phase(relevance(look.life, now, self.decay), self.decay) for row, look in looks.items()}
        return [
            _hit(*items[row], phases[row], score=score, why=(Reason(strategy, rank, score),))
            for rank, row in enumerate(order, start=1)
            if row in items and row in phases
        ]


def _fits_of_pair(pair: Replacement, fit: Mapping[int, float], size: int) -> dict[int, float]:
    """What answers a question as it was and as it is answers it equally well.

    Where little is remembered, what somebody came back to is asked for more often than what was said once.
    """
    best = max(fit.get(pair.new, 0.0), fit.get(pair.old, 0.0))
    more = (TOLD_TWICE - 1) * max(0.0, 1 - math.log(max(size, 1)) / math.log(MANY_MEMORIES))
    return {row: best * (1 + more) / (1 + best * more) for row in (pair.new, pair.old) if row in fit}


def _put_before_outdated(
    weighing: Weighing, looks: Container[int], outdated: Mapping[int, int]
) -> dict[str, tuple[str, ...]]:
    """Put what was learned in the place of something before the turns that say it as it was, where it answers as well.

    Returns the ids of what replaces, each with those of what it replaces.
    """
    scores, turns, found = weighing.scores, weighing.turns, dict[int, list[int]]()
    for row, heir in outdated.items():
        if row in looks and heir in looks and scores[heir] >= AS_WELL * scores[row] > 0:
            found.setdefault(heir, []).append(row)
    most = {heir: max(scores[row] for row in rows) for heir, rows in found.items()}
    lifts = {heir: score - scores[heir] + LEAST for heir, score in most.items() if score >= scores[heir]}
    weighing.add("newer", lifts)
    return {turns[heir].id: tuple(turns[row].id for row in rows) for heir, rows in found.items()}


def _are_parts_of_one(row: int, other: int, turns: Mapping[int, TurnColumns]) -> bool:
    """Whether both stand in one note or page, and were written at the same time."""
    one, two = ((nth // APART, turns[nth].file, turns[nth].happened_at) for nth in (row, other))
    return one == two and turns[row].id.startswith(WRITTEN)


def _was_asked(turn: TurnColumns, text: str) -> bool:
    """Whether what only asks was said to somebody: parts of notes are not, nor what was remembered in two words."""
    return not turn.id.startswith(WRITTEN) and (bool(turn.role) or not names_something(text))


def _speaker(look: MemoryColumns) -> str:
    """Who says it: notes and turns of the owner are by the same one, and a stranger speaks for nobody else."""
    role = (look.life.role or "user").casefold()
    return f"{look.origin if look.origin not in TRUSTED else ''} {'user' if role == 'human' else role}"


def _hit(found: Located, replaced: tuple[str, ...], phase: Phase, **fields: Any) -> Hit:
    place: dict[str, Any] = {"path": found.path, "agent": found.agent, "heading": found.heading}
    return Hit(memory=found.item, replaced=replaced, phase=phase.value, **place, **fields)


def _with_predecessors(connection: Connection, rows: Sequence[int]) -> dict[int, tuple[Located, tuple[str, ...]]]:
    """The memories in these rows, each with the ids of the versions that it replaced."""

    def read(new: Sequence[int]) -> dict[int, tuple[Located, tuple[str, ...]]]:
        found = by_rows(connection, new)
        ids = [each.item.id for each in found]
        before = predecessors(connection, ids) if overview(connection).has_edges else {}
        return {each.row: (each, before.get(each.item.id, ())) for each in found}

    return of_kept(connection, _with_predecessors, rows, read)
