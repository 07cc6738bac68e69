"""Recall: query → question → candidates → weigh → hints → merit → cut → diversify → hits, in one hop or several."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from memfolio.decay import Phase, phase, relevance
from memfolio.embed.vectorizer import QueryVector, Vectorizer
from memfolio.index.database import Connection
from memfolio.index.graph import named, names_of, predecessors
from memfolio.index.index import Index
from memfolio.index.lookup import Located, Look, by_rows, latest, look_at, newest, short_texts, speakers
from memfolio.index.rows import from_us, to_us
from memfolio.index.search import ARCHIVED, DORMANT, frequencies
from memfolio.recall.candidates import APART, Candidates, gather, join
from memfolio.recall.hit import Hit, Reason
from memfolio.recall.query import Query
from memfolio.recall.question import Intent, Question, names_in, understand
from memfolio.recall.rank import (
    FADE,
    Weighing,
    add_hints,
    add_merit,
    awake,
    diversify,
    echoes,
    hop_words,
    longest,
    weigh,
    with_hops,
)
from memfolio.settings import Decay, Ranking
from memfolio.types import frozen

T = TypeVar("T")
P = ParamSpec("P")
RowReader = Callable[[Connection, Sequence[int]], Mapping[int, T]]
"""What one index knows of some of its rows."""

READ = 3
"""How many of the best are looked at for one hit that is wanted."""
LEAST_READ = 40
WIDER = 4
"""How many candidates are looked for beside each that only asks, where those are most of them."""
COMMON = 20_000
"""Up to how many memories a word's frequency is counted."""


class NamesInIndex(NamedTuple):
    """What an index knows about a question before it is searched."""

    speakers: Sequence[str]
    entities: Sequence[str]
    aliases: Sequence[str]
    newest: int | None

    @classmethod
    def of(cls, connection: Connection, names: Sequence[str]) -> NamesInIndex:
        entities = named(connection, names)
        return cls(speakers(connection), entities, names_of(connection, entities), latest(connection))


@frozen
class Search:
    """One question to some indexes, and how its answers are ranked."""

    indexes: Sequence[Index]
    query: Query
    ranking: Ranking
    decay: Decay
    connection: Connection | None = None
    """The connection to the only index there is, while it is being asked."""

    def understand(self, intent: Intent | None = None) -> Question:
        """What the question asks of these indexes."""
        text = self.query.text
        names = list(names_in(text))
        known = [index.read(lambda db: NamesInIndex.of(db, names)) for index in self.indexes]
        newest = max((each.newest for each in known if each.newest is not None), default=None)
        return understand(
            text,
            now=self.query.now,
            zone=self.query.zone,
            speakers=[name for each in known for name in each.speakers] if self.ranking.speaker else (),
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
        if len(self.indexes) == 1:  # asked once for all, which is quicker, and everything is of one moment
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
        candidates, echoing = self._candidates(question, vector, hits)
        weighing = weigh(candidates, question, self.ranking, echoing)
        answering = candidates.turns.keys() - echoing
        best = weighing.best(max(LEAST_READ, READ * self.query.limit), answering)
        looks = self._read([*best, *weighing.best(self.query.limit, echoing)], look_at)
        add_hints(weighing, looks, question, self.ranking)
        wanted, now = self.query.filter, self.query.now
        true_at = wanted.valid_at or wanted.as_of or now
        phases = add_merit(weighing, looks, to_us(now), to_us(true_at), self.ranking, self.decay)
        order = self._ordered(weighing, looks, phases, candidates.sure)
        return self._hits(order[: self.query.limit], weighing, phases, question)

    def _candidates(
        self, question: Question, vector: QueryVector | None, hits: Sequence[Hit]
    ) -> tuple[Candidates, frozenset[int]]:
        """The candidates, and those that merely repeat the question; while these are most, the search is widened."""
        ranking, known = self.ranking, -1
        while True:
            parts = [self._gather(nth, question, vector, hits, ranking) for nth in range(len(self.indexes))]
            candidates = join(parts)
            echoing = self._echoing(candidates, question) if ranking.echo else frozenset[int]()
            if 2 * len(echoing) <= len(candidates.turns) or len(echoing) <= known:
                return candidates, echoing
            known, wider = len(echoing), WIDER * len(echoing)
            ranking = replace(ranking, breadth=wider, breadth_complex=wider)

    def _gather(
        self, nth: int, question: Question, vector: QueryVector | None, hits: Sequence[Hit], ranking: Ranking
    ) -> Candidates:
        index, previous = self.indexes[nth], [hit.memory.id for hit in hits]
        return self._ask(nth, gather, index, self.query, question, vector, ranking, previous)

    def _echoing(self, candidates: Candidates, question: Question) -> frozenset[int]:
        """The candidates that only repeat the question."""
        asked = " ".join((self.query.text, *question.words, *question.speakers))
        return echoes(self._read(list(candidates.turns), partial(short_texts, most=longest(asked))), asked)

    def _ordered(
        self,
        weighing: Weighing,
        looks: Mapping[int, Look],
        phases: Mapping[int, Phase],
        sure: Container[int],
    ) -> list[int]:
        """The rows that are worth showing, best first; those that are sure to belong here are never cut off.

        What only repeats the question is not measured against, and comes last.
        """
        scores, included = weighing.scores, self.query.filter.include
        order = [row for row in weighing.best(len(looks), looks) if row not in weighing.echoing]
        if not {DORMANT, ARCHIVED} & set(included):
            order = awake(order, scores, phases, self.ranking.dormant)
        least = self.ranking.cut * max(scores[order[0]], 0.0) if order else 0.0
        order = [row for row in order if row in sure or scores[row] >= least]
        echoing = [row for row in looks if row in weighing.echoing and row in sure]
        weighing.hold_back("echo", echoing, 1 - self.ranking.echo, order)
        order = diversify(order, scores, {row: looks[row].content for row in order}, self.ranking.diversity)
        return [*order, *weighing.best(len(echoing), echoing)]

    def _hits(
        self, rows: Sequence[int], weighing: Weighing, phases: Mapping[int, Phase], question: Question
    ) -> list[Hit]:
        found = self._read(rows, _with_predecessors)
        return [
            replace(
                _hit(*found[row], phases[row]),
                score=round(weighing.scores[row] / weighing.whole, 6),
                why=weighing.why(row),
                words=question.words,
            )
            for row in rows
            if row in found
        ]

    def _read(self, rows: Sequence[int], work: RowReader[T]) -> dict[int, T]:
        """What the indexes know of these rows of the joined candidates, as far as they are still there."""
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
        return [replace(hit, score=round(worth * hit.score, 6), depth=depth) for hit in further if hit.score > 0]

    def _frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """In how many memories each of these words is."""
        found: dict[str, int] = {}
        for nth in range(len(self.indexes)):
            for word, count in self._ask(nth, frequencies, words, COMMON).items():
                found[word] = found.get(word, 0) + count
        return found

    def _latest(self) -> list[Hit]:
        """Without words there is nothing to rank by: what happened last comes first."""
        query, now = self.query, to_us(self.query.now)
        found: list[tuple[datetime, str, int]] = []
        for nth in range(len(self.indexes)):
            some = self._ask(nth, newest, query.filter, query.limit)
            found += [(x.item.event_time or x.item.created_at, x.item.id, x.row + nth * APART) for x in some]
        found.sort(key=lambda each: each[1])
        found.sort(key=lambda each: each[0], reverse=True)
        order = [row for _, _, row in found[: query.limit]]
        looks, items = self._read(order, look_at), self._read(order, _with_predecessors)
        phases = {row: phase(relevance(look.life, now, self.decay), self.decay) for row, look in looks.items()}
        return [
            replace(_hit(*items[row], phases[row]), why=(Reason("newest", rank, 0.0),))
            for rank, row in enumerate(order, start=1)
            if row in items and row in phases
        ]


def _hit(found: Located, replaced: tuple[str, ...], phase: Phase) -> Hit:
    return Hit(
        memory=found.item,
        score=0.0,
        why=(),
        path=found.path,
        heading=found.heading,
        replaced=replaced,
        phase=phase.value,
    )


def _with_predecessors(connection: Connection, rows: Sequence[int]) -> dict[int, tuple[Located, tuple[str, ...]]]:
    """The memories in these rows, each with the ids of the versions that it replaced."""
    found = by_rows(connection, rows)
    before = predecessors(connection, [each.item.id for each in found])
    return {each.row: (each, before.get(each.item.id, ())) for each in found}
