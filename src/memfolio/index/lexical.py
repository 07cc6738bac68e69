"""Search by words: BM25 over what passes the filter."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from memfolio.index.filter import Filter

WEIGHTS = "1.0, 0.6"
"""How much a word counts in the content, and in the tags and headings around it."""


class Match(NamedTuple):
    """A memory's row and how well its words fit: more is better."""

    row: int
    score: float


def matches(connection: apsw.Connection, expression: str, wanted: Filter, limit: int) -> list[Match]:
    """The best `limit` of the memories that pass the filter, best first, equal ones by id."""
    condition, values = wanted.where()
    sql = (
        f"SELECT m.row, bm25(words, {WEIGHTS}) AS score FROM words JOIN memories m ON m.row = words.rowid "
        f"WHERE words MATCH ? AND {condition} ORDER BY score, m.id LIMIT ?"
    )
    found = connection.execute(sql, (expression, *values, limit)) if expression else ()
    return [Match(row, -score) for row, score in found]
