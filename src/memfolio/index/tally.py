"""How many memories there are of which kind, kept beside them so that nobody has to count them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from memfolio.index.rows import COLUMNS

_PLAIN = tuple(map(COLUMNS.index, ("form", "kind", "store", "origin")))
_SESSION = COLUMNS.index("session")
_ARCHIVED = COLUMNS.index("archived")
_FORGOTTEN = COLUMNS.index("forgotten_at")
_SUPERSEDED = COLUMNS.index("superseded_by")
_MORE = "ON CONFLICT DO UPDATE SET memories = memories + excluded.memories"
_ADD = f"INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {_MORE}"
_ADD_SESSION = f"INSERT INTO session_tally VALUES (?, ?) {_MORE}"


def shift(connection: apsw.Connection, added: Iterable[Sequence[Any]], removed: Iterable[Sequence[Any]] = ()) -> None:
    """Rows came and went; each begins with its columns, without its number."""
    by_kind, by_session = Counter[tuple[Any, ...]](), Counter[str]()
    for rows, one in ((added, 1), (removed, -1)):
        for row in rows:
            is_live = not row[_ARCHIVED] and row[_FORGOTTEN] is None
            states = (row[_SESSION] is None, bool(row[_ARCHIVED]), row[_FORGOTTEN] is not None)
            by_kind[(*(row[each] for each in _PLAIN), *states, row[_SUPERSEDED] is not None)] += one
            if is_live and row[_SESSION] is not None:
                by_session[row[_SESSION]] += one
    connection.executemany(_ADD, [(*key, number) for key, number in by_kind.items() if number])
    connection.executemany(_ADD_SESSION, [each for each in by_session.items() if each[1]])


def neighbours(connection: apsw.Connection) -> int:
    """How often a memory follows another in its session."""
    found: int = connection.execute("SELECT sum(memories - 1) FROM session_tally WHERE memories > 0").get or 0
    return found
