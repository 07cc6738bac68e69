"""Which words of a question facts know: predicates, subjects and objects."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

# From one predicate to the next by the index, since there are few of them for many facts.
_PREDICATES = """
    WITH RECURSIVE each (predicate) AS (
        SELECT min(predicate) FROM facts
        UNION ALL SELECT (SELECT min(f.predicate) FROM facts f WHERE f.predicate > each.predicate) FROM each
        WHERE each.predicate IS NOT NULL
    ) SELECT predicate FROM each WHERE predicate IS NOT NULL
"""
_IS_TERM = """
    SELECT EXISTS (SELECT 1 FROM facts WHERE subject = ?1) OR EXISTS (SELECT 1 FROM facts WHERE object = ?1)
        OR EXISTS (SELECT 1 FROM derived WHERE object = ?1)
"""


def predicates(connection: apsw.Connection) -> list[str]:
    """The predicates of all facts."""
    return [predicate for (predicate,) in connection.execute(_PREDICATES)]


def known_terms(connection: apsw.Connection, texts: Iterable[str]) -> list[str]:
    """Those of some texts that are the subject or the object of a fact, or the object of a conclusion."""
    return [text for text in texts if connection.execute(_IS_TERM, (text,)).get]
