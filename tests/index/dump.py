"""The index in a form that can be compared: the same files give the same dump, whatever happened on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from memfolio.index.rows import COLUMNS
from memfolio.index.vectors import FACTOR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Dump = dict[str, list[tuple[Any, ...]]]
NEAR = 1e-5

_MEMORIES = [name for name in COLUMNS if name not in ("file", "ordinal")]
_QUERIES = {
    "files": "SELECT path, hash, size, problems FROM files ORDER BY path",
    "memories": f"SELECT f.path, {', '.join(f'm.{name}' for name in _MEMORIES)} FROM memories m "
    "JOIN files f ON f.number = m.file ORDER BY m.id",
    "tally": "SELECT * FROM tally WHERE memories > 0 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8",
    "session_tally": "SELECT * FROM session_tally WHERE memories > 0 ORDER BY 1",
    "places": "SELECT p.id, f.path FROM places p JOIN files f ON f.number = p.file ORDER BY 1, 2",
    "tags": "SELECT m.id, t.tag FROM tags t LEFT JOIN memories m ON m.row = t.row ORDER BY 1, 2",
    "entities": "SELECT e.id, e.name, e.type, e.aliases, e.summary, e.properties, f.path FROM entities e "
    "JOIN files f ON f.number = e.file ORDER BY 1",
    "names": "SELECT name, entity FROM names ORDER BY 1, 2",
    "mentions": "SELECT m.id, n.entity FROM mentions n LEFT JOIN memories m ON m.row = n.row ORDER BY 1, 2",
    "edges": "SELECT type, source, target, predicate, confidence, f.path FROM edges e "
    "JOIN files f ON f.number = e.file ORDER BY 1, 2, 3, 4, 6",
    "states": "SELECT f.path, s.ordinal, s.memory, s.op, s.line FROM states s "
    "JOIN files f ON f.number = s.file ORDER BY 1, 2",
    "facts": "SELECT f.id, subject, predicate, object, f.confidence, f.source, category, f.origin, f.valid_from, "
    "f.valid_until, verifications, f.more, p.path FROM facts f JOIN memories m ON m.row = f.row "
    "JOIN files p ON p.number = f.file ORDER BY 2, 3, 4",
    "fact_history": "SELECT h.id, subject, predicate, object, p.path, json_remove(line, '$[5]') FROM fact_history h "
    "JOIN files p ON p.number = h.file ORDER BY 2, 3, 4, ordinal",
    "records": "SELECT ledger, p.path, about, json_remove(line, '$.at') FROM records r "
    "JOIN files p ON p.number = r.file ORDER BY ledger, ordinal",
    "words": "SELECT term, col, doc, cnt FROM temp.vocabulary ORDER BY 1, 2",
}


def dump(connection: apsw.Connection) -> Dump:
    """Everything that is derived from the files, sorted; rows, times of files and caches are left out."""
    # Only a search makes FTS5 let go of what it remembers of the table; its part of the check would believe that.
    list(connection.execute("SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1"))
    flaw = str(connection.execute("PRAGMA quick_check(1)").get)  # reads empty tables, too
    if "error code" in flaw or "reading" in flaw:  # of a page, which it does not raise: any reader would notice
        raise apsw.CorruptError(flaw)
    assert flaw == "ok", f"damage was believed: {flaw}"
    connection.execute("DROP TABLE IF EXISTS temp.vocabulary")
    connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, 'words', 'col')")
    found = {name: list(connection.execute(sql)) for name, sql in _QUERIES.items()}
    found["memories"] = [_without_file_times(row) for row in found["memories"]]
    return found


def _without_file_times(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A passage without a date of its own has its file's, which is not content."""
    form = row[1 + _MEMORIES.index("form")]
    if form == "memory":
        return row
    times = {1 + _MEMORIES.index("created_at"), 1 + _MEMORIES.index("happened_at")}
    return tuple(None if nth in times else value for nth, value in enumerate(row))


def vectors_by_id(connection: apsw.Connection) -> dict[str, NDArray[np.float32]]:
    """The vector of each memory that has one."""
    rows = connection.execute("SELECT id, row FROM memories WHERE row NOT IN (SELECT row FROM waiting) ORDER BY id")
    return {each: _vector(connection, row) for each, row in rows}


def _vector(connection: apsw.Connection, row: int) -> NDArray[np.float32]:
    import numpy as np

    data: bytes = connection.execute("SELECT data FROM vectors WHERE row = ?", (row,)).get
    factor = np.frombuffer(data, np.float32, 1, len(data) - FACTOR)
    return np.frombuffer(data, np.int8, len(data) - FACTOR).astype(np.float32) * factor


def differences(one: Dump, other: Dump) -> list[str]:
    """Where two dumps differ, for a person to read."""
    found = []
    for name in one:
        here, there = set(map(_text, one[name])), set(map(_text, other[name]))
        found += [f"{name}: only in the first: {row}" for row in sorted(here - there)]
        found += [f"{name}: only in the second: {row}" for row in sorted(there - here)]
        if not found and len(one[name]) != len(other[name]):
            found.append(f"{name}: {len(one[name])} rows in the first, {len(other[name])} in the second")
    return found


def _text(row: Sequence[Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def are_near(one: dict[str, NDArray[np.float32]], other: dict[str, NDArray[np.float32]]) -> bool:
    """Whether the same memories have the same vectors."""
    import numpy as np

    return one.keys() == other.keys() and all(np.allclose(one[each], other[each], atol=NEAR) for each in one)
