"""Asking for facts: by patterns, by time, by id, and what was known of them before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import apsw

from memfolio.index.fact_lines import Said, Triple, fact_id, from_json, only_line, versions
from memfolio.index.facts import FACTS, Fact
from memfolio.types import Origin

UNTRUSTED = Origin.UNTRUSTED.value
_WILD = re.compile(r"[*?]")
_PARTS = ("subject", "predicate", "object")
_ORDERS = (_PARTS, ("predicate", "object", "subject"), ("object", "subject", "predicate"))
"""By which of the indexes facts are read and sorted, depending on what is known of them."""
_TRIPLE = "subject = ? AND predicate = ? AND object = ?"
_DERIVED = (
    "f.row, '', f.subject, f.predicate, f.object, f.confidence, f.rule, NULL, 'system', f.valid_from, f.valid_until,"
    " 0, 0, NULL, 0, NULL"
)

Pattern = str | None
Key = tuple[str, str, str, int]


class Entry(NamedTuple):
    """A line of a fact's history, and the fact as it was known from `known_us` on; None where it was not."""

    id: str
    op: str
    known_us: int
    fact: Fact | None
    said: Said


class Wanted(NamedTuple):
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
    after: Key | None = None
    """The key of a fact behind which those that are asked for stand."""

    @property
    def order(self) -> tuple[str, str, str]:
        """By what facts are sorted: first by the first position of which the beginning is known."""
        for pattern, order in zip(self[:3], _ORDERS, strict=True):
            if pattern and pattern[0] not in "*?":
                return order
        return _PARTS

    def key(self, fact: Fact) -> Key:
        """By what the facts are sorted."""
        first, second, third = self.order
        return getattr(fact, first), getattr(fact, second), getattr(fact, third), fact.row


def find_facts(connection: apsw.Connection, wanted: Wanted, agent: str) -> list[Fact]:
    """The facts that fit, sorted, at most as many as are wanted; with a limit of -1 all."""
    if wanted.as_of is not None:
        return sorted(_known(connection, wanted, wanted.as_of), key=wanted.key)[: wanted.limit]
    found = list(map(Fact._make, connection.execute(_statement(wanted), _values(wanted))))
    if found and found[-1].is_derived:
        found = sorted((_concluded(each, agent) for each in found), key=wanted.key)
        found = found if wanted.limit < 0 else found[: wanted.limit]
    return found


def _concluded(fact: Fact, agent: str) -> Fact:
    """A fact with its id, which conclusions do not have in their table."""
    return fact._replace(id=fact_id(agent, fact.triple, "D")) if fact.is_derived else fact


def _statement(wanted: Wanted) -> str:
    """One statement for facts and conclusions: several would each cost as much as the look-up itself."""
    order, clauses = wanted.order, [*_patterns(wanted), *_held(wanted)]
    keys = f"f.{order[0]}, f.{order[1]}, f.{order[2]}, f.row"
    if wanted.after is not None:
        clauses.append(f"({keys}) > (:first, :second, :third, :row)")
    source, sort = "facts f", f" ORDER BY {keys}"
    if not _WILD.search(getattr(wanted, order[0]) or "*"):
        # An index is read in its order; told to sort, SQLite would prepare the statement anew for each question.
        source, sort = f"facts f INDEXED BY facts_by_{order[0]}", ""
    where = " AND ".join((*clauses, *_of_fact(wanted))) or "1"
    facts = f"SELECT {FACTS} FROM {source} WHERE {where}{sort} LIMIT {wanted.limit:d}"
    if not wanted.derived or wanted.category is not None or wanted.source is not None:
        return facts
    where = " AND ".join(clauses) or "1"
    concluded = f"SELECT {_DERIVED} FROM derived f WHERE {where} ORDER BY {keys} LIMIT {wanted.limit:d}"
    return f"SELECT * FROM ({facts}) UNION ALL SELECT * FROM ({concluded})"


def _values(wanted: Wanted) -> dict[str, Any]:
    given = wanted._asdict()
    for name in _PARTS:
        if given[name] is not None and _WILD.search(given[name]):
            given[name] = given[name].replace("[", "[[]")
    if wanted.after is not None:
        given |= zip(("first", "second", "third", "row"), wanted.after, strict=True)
    return given


def _patterns(wanted: Wanted) -> Iterator[str]:
    for name, pattern in zip(_PARTS, wanted, strict=False):
        if pattern is not None and pattern != "*":
            yield f"f.{name} {'GLOB' if _WILD.search(pattern) else '='} :{name}"


def _held(wanted: Wanted) -> Iterator[str]:
    if wanted.valid_at is not None:
        yield "ifnull(f.valid_from <= :valid_at, 1) AND ifnull(f.valid_until > :valid_at, 1)"
    if wanted.min_confidence > 0:
        yield "f.confidence >= :min_confidence"


def _of_fact(wanted: Wanted) -> Iterator[str]:
    if not wanted.untrusted:
        yield f"f.origin != '{UNTRUSTED}'"
    if wanted.category is not None:
        yield "f.category = :category"
    if wanted.source is not None:
        yield "f.source = :source"


def _known(connection: apsw.Connection, wanted: Wanted, as_of: int) -> Iterator[Fact]:
    """The facts as they were known at a moment: those that have not changed since, and earlier versions of others."""
    fitting, values = " AND ".join((*_patterns(wanted), *_of_fact(wanted), *_held(wanted), "1")), _values(wanted)
    sql = f"SELECT {FACTS} FROM facts f WHERE {fitting} AND f.updated_at <= :as_of"
    yield from map(Fact._make, connection.execute(sql, values))
    sql = (
        "SELECT f.file, f.ordinal, f.line FROM fact_history f LEFT JOIN facts c ON c.subject = f.subject"
        " AND c.predicate = f.predicate AND c.object = f.object"
        f" WHERE {' AND '.join((*_patterns(wanted), '1'))} AND f.known_from <= :as_of"
        " AND (c.row IS NULL OR c.updated_at > :as_of) ORDER BY f.subject, f.predicate, f.object, f.ordinal"
    )
    lines = (from_json(*row) for row in connection.execute(sql, values))
    for _, said in groupby(lines, key=attrgetter("triple")):
        then = versions(list(said))[-1]
        if then is not None and _fits(then, wanted):
            yield then


def _fits(fact: Fact, wanted: Wanted) -> bool:
    """Whether an earlier version of a fact, of which there is no row, meets what is asked beside the patterns."""
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
