"""The index in numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from memfolio.index.lookup import state_lines
from memfolio.index.shelf import store_counts
from memfolio.index.within import ShortTerm

LIVE = "forgotten_at IS NULL AND archived = 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much there is of what. Forgotten and archived memories count only where it says so."""

    memories: int
    stores: Mapping[str, int]
    kinds: Mapping[str, int]
    edges: Mapping[str, int]
    forms: Mapping[str, int]
    entities: int
    orphans: int
    """Memories that belong to no session and have no tie, tag or entity."""
    archived: int
    forgotten: int
    superseded: int
    quarantined: int
    """What strangers said and nobody confirmed."""
    waiting: int
    """Memories that have no vector yet."""
    jobs: Mapping[str, str]
    """When each job last ran."""
    problems: Mapping[str, tuple[str, ...]]
    """What could not be read as it was meant, by file."""


def count(connection: apsw.Connection, short_term: ShortTerm) -> Counts:
    def number(sql: str) -> int:
        found: int = connection.execute(sql).get or 0
        return found

    def table(sql: str) -> dict[str, int]:
        return dict(connection.execute(sql))

    return Counts(
        memories=number(f"SELECT count(*) FROM memories WHERE form = 'memory' AND {LIVE}"),
        stores=store_counts(connection, short_term),
        kinds=table(f"SELECT kind, count(*) FROM memories WHERE form = 'memory' AND {LIVE} GROUP BY 1 ORDER BY 1"),
        edges=_edges(connection),
        forms=table("SELECT form, count(*) FROM memories GROUP BY 1 ORDER BY 1"),
        entities=number("SELECT count(*) FROM (SELECT id FROM entities UNION SELECT entity FROM mentions)"),
        orphans=number(_ORPHANS),
        archived=number("SELECT count(*) FROM memories WHERE archived != 0 AND forgotten_at IS NULL"),
        forgotten=number("SELECT count(*) FROM memories WHERE forgotten_at IS NOT NULL"),
        superseded=number("SELECT count(*) FROM memories WHERE superseded_by IS NOT NULL"),
        quarantined=number(_QUARANTINED),
        waiting=number("SELECT count(*) FROM waiting"),
        jobs=last_runs(connection),
        problems={
            path: tuple(json.loads(problems))
            for path, problems in connection.execute(
                "SELECT path, problems FROM files WHERE problems IS NOT NULL ORDER BY path"
            )
        },
    )


_QUARANTINED = f"""
SELECT count(*) FROM memories m WHERE form = 'memory' AND {LIVE} AND origin = 'untrusted'
AND NOT EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'confirm')
"""
_ORPHANS = f"""
SELECT count(*) FROM memories m WHERE form = 'memory' AND {LIVE} AND session IS NULL
AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.source = m.id OR e.target = m.id)
AND row NOT IN (SELECT row FROM tags) AND row NOT IN (SELECT row FROM mentions)
"""


def _edges(connection: apsw.Connection) -> dict[str, int]:
    found: dict[str, int] = dict(connection.execute("SELECT type, count(*) FROM edges GROUP BY 1 ORDER BY 1"))
    sql = f"SELECT count(*) - count(DISTINCT session) FROM memories WHERE session IS NOT NULL AND {LIVE}"
    temporal: int = connection.execute(sql).get or 0
    return {"temporal": temporal, **found} if temporal else found


def last_runs(connection: apsw.Connection) -> dict[str, str]:
    """When each job last did something."""
    lines = state_lines(connection, "s.op = ?", "job")
    return {str(line["job"]): str(line.get("at", "")) for line in lines if "job" in line}
