"""What is on which shelf: working memory, short-term memory, and what is ready to become long-term memory."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from memfolio.index.filter import Filter
from memfolio.index.lookup import Located, located
from memfolio.index.within import ShortTerm, count_within
from memfolio.sources import SUMMED_UP
from memfolio.types import Store


def working(connection: apsw.Connection, *, least_used: bool) -> list[str]:
    """The ids of working memory, the next to leave first."""
    order = "max(coalesce(m.accessed_at, 0), m.created_at)" if least_used else "m.created_at"
    sql = f"""SELECT m.id FROM memories m WHERE m.store = 'working' AND m.form = 'memory' AND m.forgotten_at IS NULL
        AND m.archived = 0 AND m.superseded_by IS NULL ORDER BY {order}, m.id"""
    return [each for (each,) in connection.execute(sql)]


def ripe(connection: apsw.Connection, *, importance: float, uses: int) -> list[Located]:
    """The memories of the first two stores that proved important, oldest first."""
    condition, values = Filter(forms=("memory",)).where()
    rest = f"""WHERE {condition} AND m.source NOT IN ({", ".join("?" * len(SUMMED_UP))})
        AND (m.store = 'working' AND m.importance >= ? OR m.store = 'short_term'
            AND (m.importance >= ? OR m.access_count >= ?)) ORDER BY m.created_at, m.id"""
    return list(located(connection, rest, (*values, *SUMMED_UP, importance, importance, uses)))


def store_counts(connection: apsw.Connection, kept: Mapping[str, int], short_term: ShortTerm) -> dict[str, int]:
    """How many memories each store holds, of those that were put into each: what left short-term is long-term."""
    counts = dict(kept)
    put = counts.pop(Store.SHORT_TERM.value, 0)
    within = count_within(connection, short_term) if put else 0
    if within:
        counts[Store.SHORT_TERM.value] = within
    if put > within:
        counts[Store.LONG_TERM.value] = counts.get(Store.LONG_TERM.value, 0) + put - within
    return dict(sorted(counts.items()))
