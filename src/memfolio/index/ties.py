"""What memories have to do with each other: causes, corrections, links, the same people and things, digests."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import apsw

from memfolio.index.filter import LEVELS
from memfolio.index.sieve import Sieve

DIGESTS = ("weekly", "monthly", "quarterly")


class Tie(NamedTuple):
    """The row of a memory that is tied to one of those asked about."""

    row: int
    id: str


def named(connection: apsw.Connection, names: Iterable[str]) -> list[str]:
    """The entities that go by one of these names, which are `name_key`s."""
    wanted = tuple(name for name in names if "\0" not in name)  # which no name has, and carray does not take
    sql = "SELECT DISTINCT entity FROM names WHERE name IN carray(?) ORDER BY entity"
    return [entity for (entity,) in connection.execute(sql, (apsw.carray(wanted),))] if wanted else []


def names_of(connection: apsw.Connection, entities: Sequence[str]) -> list[str]:
    """What these entities are called, but for their ids."""
    sql = "SELECT name, entity FROM names WHERE entity IN carray(?) ORDER BY 1, 2"
    found = connection.execute(sql, (apsw.carray(tuple(entities)),)) if entities else ()
    return [name for name, entity in found if name != entity]


def related(connection: apsw.Connection, entities: Sequence[str]) -> list[str]:
    """The entities that the pages of these link to, or that an edge ties to them."""
    sql = """
    SELECT n.entity FROM entities e JOIN memories m ON m.file = e.file JOIN mentions n ON n.row = m.row
        WHERE e.id IN carray(?1)
    UNION SELECT target FROM edges WHERE source IN carray(?1) AND target IN (SELECT id FROM entities)
    UNION SELECT source FROM edges WHERE target IN carray(?1) AND source IN (SELECT id FROM entities)
    """
    found = connection.execute(sql, (apsw.carray(tuple(entities)),)) if entities else ()
    return sorted({entity for (entity,) in found} - set(entities))


def about(sieve: Sieve, entities: Sequence[str], limit: int) -> list[int]:
    """The rows that pass and link to these entities or stand on their pages, the newest first."""
    if not entities:
        return []
    condition, values = sieve.where
    sql = f"""
    SELECT m.row FROM memories m WHERE m.row IN (
        SELECT row FROM mentions WHERE entity IN carray(?)
        UNION SELECT p.row FROM entities e JOIN memories p ON p.file = e.file WHERE e.id IN carray(?)
        UNION SELECT t.row FROM edges d JOIN memories t ON t.id = d.target
            WHERE d.type = 'about' AND d.source IN carray(?)
    ) AND {condition} ORDER BY m.happened_at DESC, m.id LIMIT ?
    """
    asked = [apsw.carray(tuple(entities)) for _ in range(3)]
    return [row for (row,) in sieve.connection.execute(sql, (*asked, *values, limit))]


def mentioned(connection: apsw.Connection, ids: Sequence[str]) -> list[str]:
    """The entities that these memories link to."""
    sql = "SELECT DISTINCT n.entity FROM memories m JOIN mentions n ON n.row = m.row WHERE m.id IN carray(?) ORDER BY 1"
    return [entity for (entity,) in connection.execute(sql, (apsw.carray(tuple(ids)),))] if ids else []


def tied(connection: apsw.Connection, ids: Sequence[str], types: Sequence[str] = ()) -> list[Tie]:
    """The memories that an edge of one of these types, or of any, ties to one of these."""
    if not ids:
        return []
    kinds = f"AND e.type IN ({', '.join('?' * len(types))})" if types else ""
    sql = f"""
    SELECT m.row, m.id FROM edges e JOIN memories m ON m.id = e.target WHERE e.source IN carray(?) {kinds}
    UNION SELECT m.row, m.id FROM edges e JOIN memories m ON m.id = e.source WHERE e.target IN carray(?) {kinds}
    ORDER BY 2
    """
    one = (apsw.carray(tuple(ids)), *types)
    return [Tie._make(row) for row in connection.execute(sql, (*one, *one))]


def digests(connection: apsw.Connection, files: Iterable[int]) -> dict[int, str]:
    """The paths of those of these files that are digests, by their numbers."""
    numbers = array("q", files)
    is_digest = " OR ".join("path GLOB ?" for _ in DIGESTS)
    sql = f"SELECT number, path FROM files WHERE number IN carray(?) AND ({is_digest})"
    levels = tuple(LEVELS[level] for level in DIGESTS)
    return dict(connection.execute(sql, (apsw.carray(numbers), *levels))) if numbers else {}


def successor(connection: apsw.Connection, id: str) -> int | None:
    """The row of the memory that stands in the place of one that was replaced, however often it was."""
    sql = "SELECT row, superseded_by FROM memories WHERE id = ?"
    here: str | None = id
    seen: set[str] = set()
    while here is not None and here not in seen and (found := connection.execute(sql, (here,)).fetchone()):
        seen.add(here)
        row, here = found
        if here is None:
            return int(row)
    return None


def predecessors(connection: apsw.Connection, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The versions that each of these memories replaced, the newest first; most have replaced none."""
    before: dict[str, list[str]] = {}
    asked, seen = list(ids), set(ids)
    sql = "SELECT source, target FROM edges WHERE type = 'supersedes' AND source IN carray(?) ORDER BY 1, 2"
    while asked:
        found = connection.execute(sql, (apsw.carray(tuple(asked)),)).fetchall()
        for new, old in found:
            before.setdefault(str(new), []).append(str(old))
        asked = [old for old in dict.fromkeys(str(old) for _, old in found) if old not in seen]
        seen.update(asked)
    return {new: tuple(_chain(before, new)) for new in ids if new in before}


def _chain(before: Mapping[str, Sequence[str]], id: str) -> Iterator[str]:
    """What a memory replaced, and what that replaced, nearest first and each once."""
    seen, here = {id}, [id]
    while here:
        here = [old for new in here for old in before.get(new, ()) if old not in seen]
        seen.update(here)
        yield from here


def made_of(connection: apsw.Connection, ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """The memories that were made of one of these, however far down, each with all that it was made of itself."""
    above = "SELECT DISTINCT source FROM edges WHERE type = 'derived_from' AND target IN carray(?)"
    below = "SELECT target FROM edges WHERE type = 'derived_from' AND source = ?"
    found: dict[str, frozenset[str]] = {}
    asked = tuple(ids)
    while asked:
        made = [str(each) for (each,) in connection.execute(above, (apsw.carray(asked),)) if each not in found]
        found |= {each: frozenset(str(one) for (one,) in connection.execute(below, (each,))) for each in made}
        asked = tuple(made)
    return found
