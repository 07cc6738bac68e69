"""Asking for facts: by patterns, by time, by id, and what was known of them before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import apsw

from memfolio.index.fact_lines import Said, Triple, fact_id, from_json, only_line, versions
from memfolio.index.facts import FACTS, Fact
from memfolio.types import Origin

LAST = "\U0010ffff"
UNTRUSTED = Origin.UNTRUSTED.value
_WILD = re.compile(r"[*?]")
_PARTS = ("subject", "predicate", "object")
_ORDERS = {
    "subject": _PARTS,
    "predicate": ("predicate", "object", "subject"),
    "object": ("object", "subject", "predicate"),
}
"""By which of the indexes facts are read and sorted, depending on what is known of them."""
_TRIPLE = "subject = ? AND predicate = ? AND object = ?"
_DERIVED = (
    "f.row, '', f.subject, f.predicate, f.object, f.confidence, f.rule, NULL, 'system', f.valid_from, f.valid_until,"
    " 0, 0, NULL, 0, NULL"
)

Pattern = str | None


class Entry(NamedTuple):
    """A line of a fact's history, and the fact as it was known from `known_us` on; None where it was not."""

    id: str
    op: str
    known_us: int
    fact: Fact | None
    said: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which facts are asked for. Patterns may have `*` and `?`; times are microseconds, None stands for any."""

    subject: Pattern = None
    predicate: Pattern = None
    object: Pattern = None
    min_confidence: float = 0.0
    valid_at: int | None = None
    as_of: int | None = None
    derived: bool = True
    untrusted: bool = False
    category: str | None = None
    source: str | None = None
    limit: int = 50

    @property
    def order(self) -> tuple[str, str, str]:
        """By what facts are sorted: first by the first position of which the beginning is known."""
        for name in _PARTS:
            pattern = getattr(self, name)
            if pattern is not None and pattern[:1] not in ("*", "?"):
                return _ORDERS[name]
        return _PARTS

    def key(self, fact: Fact) -> tuple[str, ...]:
        """By what the facts are sorted."""
        first, second, third = self.order
        return getattr(fact, first), getattr(fact, second), getattr(fact, third), fact.id


def find_facts(connection: apsw.Connection, wanted: Wanted, agent: str) -> list[Fact]:
    """The facts that fit, sorted, at most as many as are wanted."""
    if wanted.as_of is not None:
        return sorted(_known(connection, wanted, wanted.as_of), key=wanted.key)[: wanted.limit]
    found = [Fact(*row) for row in _rows(connection, FACTS, "facts", wanted, _of_fact(wanted))]
    is_plain = wanted.category is None and wanted.source is None
    if wanted.derived and is_plain and (conclusions := _conclusions(connection, wanted, agent)):
        found = sorted((*found, *conclusions), key=wanted.key)[: wanted.limit]
    return found


def _conclusions(connection: apsw.Connection, wanted: Wanted, agent: str) -> list[Fact]:
    if connection.execute("SELECT 1 FROM derived LIMIT 1").fetchone() is None:
        return []
    rows = _rows(connection, _DERIVED, "derived", wanted, ())
    return [_concluded(Fact(*row), agent) for row in rows]


def _concluded(fact: Fact, agent: str) -> Fact:
    return fact._replace(row=-abs(fact.row), id=fact_id(agent, fact.triple, "D"))


Clause = tuple[str, tuple[Any, ...]]


def _rows(
    connection: apsw.Connection, columns: str, table: str, wanted: Wanted, more: Iterable[Clause]
) -> list[tuple[Any, ...]]:
    clauses = [*_patterns(wanted), *_held(wanted), *more]
    where = " AND ".join(clause for clause, _ in clauses) or "1"
    first, second, third = wanted.order
    source, order = f"{table} f", f" ORDER BY f.{first}, f.{second}, f.{third}"
    if table == "facts" and not _WILD.search(getattr(wanted, first) or "*"):
        # An index is read in its order; told to sort, SQLite would prepare the statement anew for each question.
        source, order = f"{table} f INDEXED BY facts_by_{first}", ""
    sql = f"SELECT {columns} FROM {source} WHERE {where}{order} LIMIT {int(wanted.limit)}"
    return connection.execute(sql, tuple(value for _, values in clauses for value in values)).fetchall()


def _patterns(wanted: Wanted) -> Iterator[Clause]:
    for name in _PARTS:
        pattern = getattr(wanted, name)
        if pattern is None or pattern == "*":
            continue
        wild = _WILD.search(pattern)
        if wild is None:
            yield f"f.{name} = ?", (pattern,)
            continue
        if prefix := pattern[: wild.start()]:
            yield f"f.{name} BETWEEN ? AND ?", (prefix, prefix + LAST)
        yield f"f.{name} GLOB ?", (pattern.replace("[", "[[]"),)


def _held(wanted: Wanted) -> Iterator[Clause]:
    if wanted.valid_at is not None:
        yield "(f.valid_from IS NULL OR f.valid_from <= ?)", (wanted.valid_at,)
        yield "(f.valid_until IS NULL OR f.valid_until > ?)", (wanted.valid_at,)
    if wanted.min_confidence > 0:
        yield "f.confidence >= ?", (wanted.min_confidence,)


def _of_fact(wanted: Wanted) -> Iterator[Clause]:
    if not wanted.untrusted:
        yield f"f.origin != '{UNTRUSTED}'", ()
    for name in ("category", "source"):
        if getattr(wanted, name) is not None:
            yield f"f.{name} = ?", (getattr(wanted, name),)


def _known(connection: apsw.Connection, wanted: Wanted, as_of: int) -> Iterator[Fact]:
    """The facts as they were known at a moment: those that have not changed since, and earlier versions of others."""
    clauses = list(_patterns(wanted))
    where = " AND ".join((*(clause for clause, _ in clauses), "1"))
    values = tuple(value for _, bound in clauses for value in bound)
    unchanged = f"SELECT {FACTS} FROM facts f WHERE {where} AND f.updated_at <= ?"
    for row in connection.execute(unchanged, (*values, as_of)):
        if _fits(fact := Fact(*row), wanted):
            yield fact
    sql = (
        "SELECT f.file, f.ordinal, f.line FROM fact_history f LEFT JOIN facts c ON c.subject = f.subject"
        " AND c.predicate = f.predicate AND c.object = f.object"
        f" WHERE {where} AND f.known_from <= ? AND (c.row IS NULL OR c.updated_at > ?)"
        " ORDER BY f.subject, f.predicate, f.object, f.ordinal"
    )
    lines = (from_json(*row) for row in connection.execute(sql, (*values, as_of, as_of)))
    for _, said in groupby(lines, key=attrgetter("triple")):
        then = versions(list(said))[-1]
        if then is not None and _fits(then, wanted):
            yield then


def _fits(fact: Fact, wanted: Wanted) -> bool:
    at = wanted.valid_at
    return (
        (wanted.untrusted or fact.origin != UNTRUSTED)
        and fact.confidence >= wanted.min_confidence
        and wanted.category in (None, fact.category)
        and wanted.source in (None, fact.source)
        and (at is None or fact.valid_from_us is None or fact.valid_from_us <= at)
        and (at is None or fact.valid_until_us is None or fact.valid_until_us > at)
    )


def fact_of(connection: apsw.Connection, triple: Triple) -> Fact | None:
    """What is asserted of a triple."""
    found = connection.execute(f"SELECT {FACTS} FROM facts f WHERE {_TRIPLE}", triple).fetchone()
    return Fact(*found) if found else None


def triple_named(connection: apsw.Connection, id: str) -> Triple | None:
    """The triple of the fact with this id, or about which there is a line with this id."""
    by_fact = "SELECT f.subject, f.predicate, f.object FROM memories m JOIN facts f ON f.row = m.row WHERE m.id = ?"
    by_line = "SELECT subject, predicate, object FROM fact_history WHERE id = ? LIMIT 1"
    found: Triple | None = connection.execute(by_fact, (id,)).fetchone()
    return found or connection.execute(by_line, (id,)).fetchone()


def derived_named(connection: apsw.Connection, id: str, agent: str) -> Fact | None:
    """The conclusion with this id, where it holds most surely."""
    sql = "SELECT subject, predicate, object, max(row) FROM derived GROUP BY 1, 2, 3"
    triple = next((row[:3] for row in connection.execute(sql) if fact_id(agent, row[:3], "D") == id), None)
    if triple is None:
        return None
    sql = f"SELECT {_DERIVED} FROM derived f WHERE {_TRIPLE} ORDER BY confidence DESC, row LIMIT 1"
    return next(_concluded(Fact(*row), agent) for row in connection.execute(sql, triple))


def history_of(connection: apsw.Connection, triple: Triple) -> list[Entry]:
    """All lines about a triple, and what each made of the fact."""
    sql = f"SELECT file, ordinal, line, known_from FROM fact_history WHERE {_TRIPLE} ORDER BY ordinal"
    rows: list[tuple[Any, ...]] = connection.execute(sql, triple).fetchall()
    if not rows:
        fact = fact_of(connection, triple)
        return [Entry(fact.id, "assert", fact.created_us, fact, only_line(fact, 0, 0))] if fact else []
    said = [from_json(*row[:3]) for row in rows]
    told = zip(said, rows, versions(said), strict=True)
    return [Entry(each.id, each.op, row[3], fact, each) for each, row, fact in told]


def facts_from(connection: apsw.Connection, memory: str) -> list[Fact]:
    """The facts that came from a memory, or from a fact, with this id."""
    sql = (
        f"SELECT DISTINCT {FACTS} FROM edges e JOIN memories m ON m.id = e.source JOIN facts f ON f.row = m.row"
        " WHERE e.target = ? AND e.type = 'derived_from' ORDER BY f.subject, f.predicate, f.object"
    )
    return [Fact(*row) for row in connection.execute(sql, (memory,))]


def premises_of(connection: apsw.Connection, fact: Fact) -> list[str]:
    """What a conclusion rests on, each as a sentence."""
    sql = (
        "SELECT t.subject || ' ' || t.predicate || ' ' || t.object FROM supports s JOIN {} t ON {} = s.premise"
        " WHERE s.row IN (?1, -?1) ORDER BY 1"
    )
    tables = (("facts", "t.row"), ("derived", "-abs(t.row)"))
    return [each for table in tables for (each,) in connection.execute(sql.format(*table), (fact.row,))]
