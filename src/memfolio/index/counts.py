"""The index in numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from memfolio.index.lookup import state_lines
from memfolio.index.shelf import store_counts
from memfolio.index.tally import neighbours
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
    def number(condition: str) -> int:
        found: int = connection.execute(f"SELECT sum(memories) FROM tally WHERE {condition}").get or 0
        return found

    def table(column: str, condition: str) -> dict[str, int]:
        sql = (
            f"SELECT {column}, sum(memories) AS held FROM tally WHERE {condition} GROUP BY 1 HAVING held > 0 ORDER BY 1"
        )
        return dict(connection.execute(sql))

    def rows(sql: str) -> int:
        found: int = connection.execute(sql).get or 0
        return found

    return Counts(
        memories=number(_IN_SIGHT),
        stores=store_counts(connection, table("store", _IN_SIGHT), short_term),
        kinds=table("kind", _IN_SIGHT),
        edges=_edges(connection),
        forms=table("form", "true"),
        entities=rows("SELECT count(*) FROM (SELECT id FROM entities UNION SELECT entity FROM mentions)"),
        orphans=rows(_ORPHANS),
        archived=number("archived AND NOT forgotten"),
        forgotten=number("forgotten"),
        superseded=number("superseded"),
        quarantined=rows(_QUARANTINED) if number(f"{_IN_SIGHT} AND origin = 'untrusted'") else 0,
        waiting=rows("SELECT count(*) FROM waiting"),
        jobs=last_runs(connection),
        problems={
            path: tuple(json.loads(problems))
            for path, problems in connection.execute(
                "SELECT path, problems FROM files WHERE problems IS NOT NULL ORDER BY path"
            )
        },
    )


_IN_SIGHT = "form = 'memory' AND NOT forgotten AND NOT archived"
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
    temporal = neighbours(connection)
    return {"temporal": temporal, **found} if temporal else found


def last_runs(connection: apsw.Connection) -> dict[str, str]:
    """When each job last did something."""
    lines = state_lines(connection, "s.op = 'job'")
    return {str(line["job"]): str(line.get("at", "")) for line in lines if "job" in line}
