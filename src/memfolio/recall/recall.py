"""Recall: query → question → candidates → weigh → merit → diversify → cut → hits, in one hop or several."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memfolio.decay import Phase
from memfolio.embed.meaning import Meaning, Sense
from memfolio.index.database import Connection
from memfolio.index.filter import ARCHIVED, DORMANT
from memfolio.index.index import Index
from memfolio.index.lexical import frequencies
from memfolio.index.looks import Look, look_at
from memfolio.index.lookup import Located, by_rows, newest
from memfolio.index.rows import to_us
from memfolio.index.sessions import speakers
from memfolio.index.ties import named, predecessors
from memfolio.recall.asking.intent import Intent
from memfolio.recall.asking.query import Query
from memfolio.recall.asking.question import Question, names_in, understand
from memfolio.recall.hit import Hit, Reason
from memfolio.recall.ranking.candidates import APART, Candidates, Lead, gather, join
from memfolio.recall.ranking.cues import (
    is_machine,
    is_standing_wish,
    tells_name,
    tells_number,
    tells_of_self,
    tells_time,
)
from memfolio.recall.ranking.diversify import diversify
from memfolio.recall.ranking.hops import FADE, telling, with_hops
from memfolio.recall.ranking.merit import add_merit, awake
from memfolio.recall.ranking.weigh import Weighing, weigh
from memfolio.tuning import Decay, Ranking

READ = 3
"""How many of the best are looked at for one hit that is wanted."""
LEAST_READ = 40
COMMON = 20_000
"""Up to how many memories a word's frequency is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One question to some indexes, and how its answers are ranked."""

    indexes: Sequence[Index]
    query: Query
    ranking: Ranking
    decay: Decay

    def understand(self, intent: Intent | None = None) -> Question:
        """What the question asks of these indexes."""
        text = self.query.text
        names = list(names_in(text))
        known = [index.read(lambda db: (speakers(db), named(db, names))) for index in self.indexes]
        return understand(
            text,
            now=self.query.now,
            zone=self.query.zone,
            speakers=[name for people, _ in known for name in people],
            entities=[each for _, entities in known for each in entities],
            intent=intent,
        )

    def sense(self, question: Question, meaning: Meaning) -> Sense | None:
        """What the question means, as far as that counts."""
        return meaning.of(question.meaning or self.query.text) if self.ranking.vector else None

    def answer(self, question: Question, sense: Sense | None) -> list[Hit]:
        """The memories that answer it, best first; equal ones in the order of their ids."""
        query = self.query
        if not question.words and sense is None:
            return self._latest()
        direct = self._find(question, sense)
        if not query.depth:
            return direct
        return with_hops(
            direct,
            lambda hits, count: self._hop(question, hits, count),
            depth=query.depth,
            limit=query.limit,
            share=self.ranking.hop_share,
        )

    def _find(self, question: Question, sense: Sense | None, hits: Sequence[Hit] = ()) -> list[Hit]:
        """One hop: from the question itself, or from hits before."""
        parts = [self._gather(nth, question, sense, hits) for nth in range(len(self.indexes))]
        candidates = join(parts)
        weighing = weigh(candidates, question, self.ranking)
        looks = self._look(weighing.best(max(LEAST_READ, READ * self.query.limit)))
        self._look_inside(weighing, looks, question)
        phases = add_merit(weighing, looks, to_us(self.query.now), self.ranking, self.decay)
        order = self._ordered(weighing, looks, phases, candidates.sure)
        return self._hits(order[: self.query.limit], weighing, phases, question)

    def _gather(self, nth: int, question: Question, sense: Sense | None, hits: Sequence[Hit]) -> Candidates:
        index, lead = self.indexes[nth], Lead(tuple(hit.memory.id for hit in hits)) if hits else None
        return index.read(lambda db: gather(db, index, self.query, question, sense, self.ranking, lead))

    def _look_inside(self, weighing: Weighing, looks: Mapping[int, Look], question: Question) -> None:
        """Add what the memories' own words say about their use."""
        ranking = self.ranking
        people = {row: look.content for row, look in looks.items() if not is_machine(look.life.role)}
        if when := ranking.time + ranking.when * (question.intent is Intent.WHEN):
            weighing.add("when", {row: when for row, look in looks.items() if tells_time(look.content)})
        if question.asks_name and ranking.name:
            known = {word for look in looks.values() for word in (look.life.role or "").split("_")}
            weighing.add("name", {row: ranking.name for row, look in looks.items() if tells_name(look.content, known)})
        if question.asks_number and ranking.number:
            weighing.add("number", {row: ranking.number for row, look in looks.items() if tells_number(look.content)})
        if ranking.personal and not question.asks_what_was_told:
            weighing.add("personal", {row: ranking.personal for row, said in people.items() if tells_of_self(said)})
        standing = ranking.standing + ranking.help * question.asks_help
        if standing and not question.asks_summary:
            weighing.add("standing", {row: standing for row, said in people.items() if is_standing_wish(said)})

    def _ordered(
        self,
        weighing: Weighing,
        looks: Mapping[int, Look],
        phases: Mapping[int, Phase],
        sure: Container[int],
    ) -> list[int]:
        """The rows that are worth showing, best first; those that are sure to belong here are never cut off."""
        scores, included = weighing.scores, self.query.filter.include
        order = weighing.best(len(looks), looks)
        if not {DORMANT, ARCHIVED} & set(included):
            order = awake(order, scores, phases, self.ranking.dormant)
        best = scores.get(order[0], 0.0) if order else 0.0
        least = self.ranking.cut * max(best, 0.0)
        order = [row for row in order if row in sure or scores.get(row, 0.0) >= least]
        return diversify(order, scores, {row: looks[row].content for row in order}, self.ranking.diversity)

    def _hits(
        self, rows: Sequence[int], weighing: Weighing, phases: Mapping[int, Phase], question: Question
    ) -> list[Hit]:
        found = self._read(rows)
        return [
            Hit(
                memory=found[row][0].item,
                score=round(weighing.scores.get(row, 0.0) / weighing.whole, 6),
                why=weighing.why(row),
                path=found[row][0].path,
                heading=found[row][0].heading,
                words=question.words,
                replaced=found[row][1],
                phase=phases[row].value,
            )
            for row in rows
            if row in found
        ]

    def _look(self, rows: Sequence[int]) -> dict[int, Look]:
        """A look at these rows of the joined candidates, as far as they are still there."""
        found: dict[int, Look] = {}
        for nth, own in self._apart(rows):
            looks = self.indexes[nth].read(partial(look_at, rows=own))
            found |= {row + nth * APART: look for row, look in looks.items()}
        return found

    def _read(self, rows: Sequence[int]) -> dict[int, tuple[Located, tuple[str, ...]]]:
        """The memories in these rows of the joined candidates, each with the versions it replaced."""
        found: dict[int, tuple[Located, tuple[str, ...]]] = {}
        for nth, own in self._apart(rows):
            items = self.indexes[nth].read(partial(_with_predecessors, rows=own))
            found |= {each.row + nth * APART: (each, before) for each, before in items}
        return found

    def _apart(self, rows: Sequence[int]) -> list[tuple[int, list[int]]]:
        """The rows of each index, by its place."""
        parts = [(nth, [row - nth * APART for row in rows if row // APART == nth]) for nth in range(len(self.indexes))]
        return [(nth, own) for nth, own in parts if own]

    def _hop(self, question: Question, hits: Sequence[Hit], count: int) -> list[Hit]:
        """What the words and ties of these hits lead to."""
        words = telling(hits, question.words, self._frequencies, self.ranking.hop_terms)
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
        for index in self.indexes:
            for word, count in index.read(lambda db: frequencies(db, words, COMMON)).items():
                found[word] = found.get(word, 0) + count
        return found

    def _latest(self) -> list[Hit]:
        """Without words there is nothing to rank by: what happened last comes first."""
        query = self.query
        each_newest = [index.read(lambda db: newest(db, query.filter, query.limit)) for index in self.indexes]
        found = sorted((each for some in each_newest for each in some), key=lambda each: each.item.id)
        found.sort(key=lambda each: each.item.event_time or each.item.created_at, reverse=True)
        ranked = enumerate(found[: query.limit], start=1)
        return [
            Hit(memory=each.item, score=0.0, why=(Reason("newest", rank, 0.0),), path=each.path, heading=each.heading)
            for rank, each in ranked
        ]


def _with_predecessors(connection: Connection, rows: Sequence[int]) -> list[tuple[Located, tuple[str, ...]]]:
    found = by_rows(connection, rows)
    before = predecessors(connection, [each.item.id for each in found])
    return [(each, before.get(each.item.id, ())) for each in found]
