"""Recall: query → candidates → fuse → hits. Only the candidates are asked of the index; the rest is arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memfolio.embed.meaning import Sense
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lexical import matches
from memfolio.index.lookup import Located, by_rows, newest
from memfolio.index.nearby import neighbours
from memfolio.index.pending import is_identity
from memfolio.recall.fuse import TEXT, VECTOR, Ranked, fuse
from memfolio.recall.hit import Hit, Reason
from memfolio.recall.query import Query
from memfolio.text import match_expression, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BREADTH = 4
"""How many candidates each strategy may bring for one hit that is wanted."""
LEAST = 50


def find(index: Index, query: Query, sense: Sense | None) -> list[Hit]:
    """The memories of one index that answer the query, best first; equal ones in the order of their ids."""
    return index.read(lambda connection: _find(connection, index, query, sense))


def _find(connection: Connection, index: Index, query: Query, sense: Sense | None) -> list[Hit]:
    words = terms(query.text)
    # Asked of the same moment as the vectors: another embedder may have taken the index over since.
    vector = sense.vector if sense is not None and is_identity(connection, sense.whose) else None
    if not words and vector is None:
        # Without words there is nothing to rank by: what happened last comes first.
        found = enumerate(newest(connection, query.filter, query.limit), start=1)
        return [_hit(each, 0.0, [Reason("newest", rank, 0.0)]) for rank, each in found]
    scored = fuse(_candidates(connection, index, query, words, vector))
    return best_of([_hit(each, *scored[each.row]) for each in by_rows(connection, list(scored))], query.limit)


def _hit(found: Located, score: float, why: Sequence[Reason]) -> Hit:
    return Hit(memory=found.item, score=round(score, 6), why=tuple(why), path=found.path)


def best_of(hits: Sequence[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))[:limit]


def _candidates(
    connection: Connection,
    index: Index,
    query: Query,
    words: Sequence[str],
    vector: NDArray[np.float32] | None,
) -> dict[str, Ranked]:
    limit = max(LEAST, BREADTH * query.limit)
    lists: dict[str, Ranked] = {TEXT: matches(connection, match_expression(words), query.filter, limit)}
    if vector is not None:
        lists[VECTOR] = neighbours(connection, index.matrix, vector, query.filter, limit)
    return lists
