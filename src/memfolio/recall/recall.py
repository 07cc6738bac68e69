"""Recall: query → question → candidates → weigh → hits. Only the candidates are asked of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memfolio.embed.meaning import Meaning, Sense
from memfolio.index.index import Index
from memfolio.index.lookup import Located, by_rows, newest
from memfolio.index.sessions import speakers
from memfolio.recall.candidates import APART, Candidates, gather, join
from memfolio.recall.cues import is_machine, is_standing_wish, tells_time
from memfolio.recall.hit import Hit, Reason
from memfolio.recall.query import Query
from memfolio.recall.question import Question, understand
from memfolio.recall.weigh import Weighing, Weights, weigh

READ = 5
"""How many of the best are read for one hit that is wanted, to look at their own words."""
LEAST_READ = 60
WEIGHTS = Weights()


def ask(indexes: Sequence[Index], query: Query, meaning: Meaning) -> list[Hit]:
    """The memories of these indexes that answer the query, best first; equal ones in the order of their ids."""
    question = understand(query.text, [name for index in indexes for name in index.read(speakers)])
    return find(indexes, query, question, meaning.of(question.meaning or query.text))


def find(
    indexes: Sequence[Index], query: Query, question: Question, sense: Sense | None, weights: Weights = WEIGHTS
) -> list[Hit]:
    """The same for a question that is understood already."""
    if not question.words and sense is None:
        return _latest(indexes, query)
    weighing = weigh(join([_gather(index, query, question, sense) for index in indexes]), question, weights)
    found = _read(indexes, weighing.best(max(LEAST_READ, READ * query.limit)))
    _look_inside(weighing, found, question, weights)
    best = [row for row in weighing.best(len(weighing.turns)) if row in found][: query.limit]
    return [_hit(found[row], weighing.scores.get(row, 0.0) / weights.whole, weighing.why(row)) for row in best]


def _gather(index: Index, query: Query, question: Question, sense: Sense | None) -> Candidates:
    return index.read(lambda connection: gather(connection, index, query, question, sense))


def _latest(indexes: Sequence[Index], query: Query) -> list[Hit]:
    """Without words there is nothing to rank by: what happened last comes first."""
    each_newest = [index.read(lambda connection: newest(connection, query.filter, query.limit)) for index in indexes]
    found = sorted((each for some in each_newest for each in some), key=lambda each: each.item.id)
    found.sort(key=lambda each: each.item.event_time or each.item.created_at, reverse=True)
    ranked = enumerate(found[: query.limit], start=1)
    return [_hit(each, 0.0, (Reason("newest", rank, 0.0),)) for rank, each in ranked]


def _read(indexes: Sequence[Index], rows: Sequence[int]) -> dict[int, Located]:
    """The memories in these rows of the joined candidates, as far as they are still there."""
    found: dict[int, Located] = {}
    for nth, index in enumerate(indexes):
        own = [row - nth * APART for row in rows if row // APART == nth]
        found |= {each.row + nth * APART: each for each in _located(index, own)}
    return found


def _located(index: Index, rows: Sequence[int]) -> list[Located]:
    return index.read(lambda connection: by_rows(connection, rows))


def _look_inside(weighing: Weighing, found: Mapping[int, Located], question: Question, weights: Weights) -> None:
    """Add what the memories' own words say about their use."""
    items = {row: each.item for row, each in found.items()}
    if question.asks_when:
        weighing.add("when", {row: weights.when for row, item in items.items() if tells_time(item.content)})
    wishes = [row for row, item in items.items() if not is_machine(item.role) and is_standing_wish(item.content)]
    weighing.add("standing", dict.fromkeys(wishes, weights.standing))


def _hit(found: Located, score: float, why: tuple[Reason, ...]) -> Hit:
    return Hit(memory=found.item, score=round(score, 6), why=why, path=found.path)
