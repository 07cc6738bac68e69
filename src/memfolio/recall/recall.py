"""Recall: query → question → candidates → weigh → hits. Only the candidates are asked of the index."""

from __future__ import annotations

from collections.abc import Sequence

from memfolio.embed.meaning import Meaning, Sense
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lookup import Located, by_rows, newest
from memfolio.index.sessions import speakers
from memfolio.recall.candidates import gather
from memfolio.recall.cues import is_machine, is_standing_wish, tells_time
from memfolio.recall.hit import Hit, Reason
from memfolio.recall.query import Query
from memfolio.recall.question import Question, understand
from memfolio.recall.weigh import Weighing, Weights, weigh

READ = 5
"""How many of the best are read for one hit that is wanted, to look at their own words."""
LEAST_READ = 60
WEIGHTS = Weights()


def ask(index: Index, query: Query, meaning: Meaning) -> list[Hit]:
    """The memories of one index that answer the query, best first; equal ones in the order of their ids."""
    question = understand(query.text, index.read(speakers))
    return find(index, query, question, meaning.of(question.meaning or query.text))


def find(index: Index, query: Query, question: Question, sense: Sense | None, weights: Weights = WEIGHTS) -> list[Hit]:
    """The same for a question that is understood already."""
    return index.read(lambda connection: _find(connection, index, query, question, sense, weights))


def _find(
    connection: Connection, index: Index, query: Query, question: Question, sense: Sense | None, weights: Weights
) -> list[Hit]:
    if not question.words and sense is None:
        # Without words there is nothing to rank by: what happened last comes first.
        latest = enumerate(newest(connection, query.filter, query.limit), start=1)
        return [_hit(each, 0.0, (Reason("newest", rank, 0.0),)) for rank, each in latest]
    weighing = weigh(gather(connection, index, query, question, sense), question, weights)
    found = by_rows(connection, weighing.best(max(LEAST_READ, READ * query.limit)))
    _look_inside(weighing, found, question, weights)
    rows = {each.row: each for each in found}
    best = [row for row in weighing.best(len(weighing.turns)) if row in rows][: query.limit]
    return [_hit(rows[row], weighing.scores.get(row, 0.0) / weights.whole, weighing.why(row)) for row in best]


def _look_inside(weighing: Weighing, found: Sequence[Located], question: Question, weights: Weights) -> None:
    """Add what the memories' own words say about their use."""
    if question.asks_when:
        weighing.add("when", {each.row: weights.when for each in found if tells_time(each.item.content)})
    wishes = [each for each in found if not is_machine(each.item.role) and is_standing_wish(each.item.content)]
    weighing.add("standing", {each.row: weights.standing for each in wishes})


def _hit(found: Located, score: float, why: tuple[Reason, ...]) -> Hit:
    return Hit(memory=found.item, score=round(score, 6), why=why, path=found.path)


def best_of(hits: Sequence[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))[:limit]
