"""Candidates: everything that may answer a question, with what speaks for it. The only part of recall that reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memfolio.embed.meaning import Sense
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lexical import matches
from memfolio.index.nearby import neighbours
from memfolio.index.pending import is_identity
from memfolio.index.sessions import Turn, around, turns
from memfolio.recall.query import Query
from memfolio.recall.question import Question
from memfolio.text import match_expression

BREADTH = 300
"""How many candidates words bring, and how many meaning."""
NEIGHBOURLY = 100
"""How many of the best by words share with their neighbours."""
REACH = 3
"""How many turns before and after count as neighbours."""


APART = 1 << 40
"""How far apart the rows of two indexes lie once they are joined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Rows, each with its score by words, by meaning, and with what it has from its neighbours."""

    turns: Mapping[int, Turn]
    text: Mapping[int, float] = field(default_factory=dict)
    vector: Mapping[int, float] = field(default_factory=dict)
    near: Mapping[int, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """For each of the best by words, the rows around it with their distances."""


def gather(connection: Connection, index: Index, query: Query, question: Question, sense: Sense | None) -> Candidates:
    """What words, meaning and neighbourhood bring, all of it passing the filter."""
    breadth = max(BREADTH, 2 * query.limit)
    text = dict(matches(connection, match_expression(question.search), query.filter, breadth) if question.words else [])
    known = turns(connection, list(text), query.filter)
    best = sorted(text, key=lambda row: (-text[row], known[row].id))[:NEIGHBOURLY]
    near = {row: list(around(connection, known[row], REACH)) for row in best}
    vector: dict[int, float] = {}
    rows = {*text, *(each for found in near.values() for each, _ in found)}
    # Asked of the same moment as the vectors: another embedder may have taken the index over since.
    if sense is not None and is_identity(connection, sense.whose):
        scan = index.matrix.scan(connection, sense.vector)
        rows.update(each.row for each in neighbours(connection, scan, query.filter, breadth))
        vector = scan.similarities(sorted(rows))
    return Candidates(turns=turns(connection, sorted(rows), query.filter), text=text, vector=vector, near=near)


def join(parts: Sequence[Candidates]) -> Candidates:
    """The candidates of several indexes as of one: what is best is best of all of them."""
    if len(parts) == 1:
        return parts[0]
    apart = [(nth * APART, part) for nth, part in enumerate(parts)]
    return Candidates(
        turns={row + start: turn for start, part in apart for row, turn in part.turns.items()},
        text={row + start: score for start, part in apart for row, score in part.text.items()},
        vector={row + start: score for start, part in apart for row, score in part.vector.items()},
        near={
            row + start: [(other + start, distance) for other, distance in near]
            for start, part in apart
            for row, near in part.near.items()
        },
    )
