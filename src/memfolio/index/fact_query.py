"""Asking for facts: by patterns, by time, by id, and what was known of them before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import apsw

from memfolio.index.fact_lines import PARTS, Said, Triple, fact_id, from_json, only_line, versions
from memfolio.index.facts import FACTS, Fact
from memfolio.index.rows import clean
from memfolio.types import Origin

UNTRUSTED = Origin.UNTRUSTED.value
_WILD = re.compile(r"[*?]")
_ORDERS = (PARTS, ("predicate", "object", "subject"), ("object", "subject", "predicate"))
"""By which of the indexes facts are read and sorted, depending on what is known of them."""
_TRIPLE = "subject = ? AND predicate = ? AND object = ?"
_DERIVED = (
    "f.row, '', f.subject, f.predicate, f.object, f.confidence, f.rule, NULL, 'system', f.valid_from, f.valid_until,"
    " 0, 0, NULL, 0, NULL"
)

_FURTHER = {
    "valid_at": "ifnull(f.valid_from <= :valid_at, 1) AND ifnull(f.valid_until > :valid_at, 1)",
    "min_confidence": "f.confidence >= :min_confidence",
    "trusted": f"f.origin != '{UNTRUSTED}'",
    "category": "f.category = :category",
    "source": "f.source = :source",
    "after": "({keys}) > (:first, :second, :third, :row)",
}
"""What may be asked beside the patterns."""

Pattern = str | None
Key = tuple[str, str, str, int]
Operators = tuple[str | None, ...]
Names = tuple[str, ...]


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
    min_confidence: float | None = None
    valid_at: int | None = None
    as_of: int | None = None
    derived: bool = True
    untrusted: bool = False
    category: str | None = None
    source: str | None = None
    limit: int = 50
    """How many at most; -1 stands for all that are asserted."""
    after: Key | None = None
    """The key of a fact behind which those that are asked for stand."""

    @property
    def order(self) -> tuple[str, str, str]:
        """By what facts are sorted: first by the first position of which the beginning is known."""
        for pattern, order in zip(self[:3], _ORDERS, strict=True):
            if pattern and pattern[0] not in "*?":
                return order
        return PARTS

    def key(self, fact: Fact) -> Key:
        """By what the facts are sorted."""
        first, second, third = self.order
        return getattr(fact, first), getattr(fact, second), getattr(fact, third), fact.row


def find_facts(connection: apsw.Connection, wanted: Wanted, agent: str) -> list[Fact]:
    """The facts that fit, sorted, at most as many as are wanted."""
    operators, limit = tuple(map(_operator, wanted[:3])), wanted.limit
    values = _values(wanted, operators)
    if wanted.as_of is not None:
        return sorted(_known(connection, wanted, operators, values), key=wanted.key)[:limit]
    asked = operators, _asked(values), wanted.order
    found = list(map(Fact._make, connection.execute(_statement(*asked, wanted.derived, limit), values)))
    if found and found[-1].is_derived:
        if sum(each.is_derived for each in found) > limit:
            found = [each for each in found if not each.is_derived]
            found += map(Fact._make, connection.execute(_conclusions(*asked, limit, is_sorted=True), values))
        found = sorted((_concluded(each, agent) for each in found), key=wanted.key)[:limit]
    return found


def _concluded(fact: Fact, agent: str) -> Fact:
    """A fact with its id, which conclusions do not have in their table."""
    return fact._replace(id=fact_id(agent, fact.triple, "D")) if fact.is_derived else fact


def _operator(pattern: Pattern) -> str | None:
    """How a position is compared."""
    return None if pattern is None or pattern == "*" else "GLOB" if _WILD.search(pattern) else "="


def _values(wanted: Wanted, operators: Operators) -> dict[str, Any]:
    values = wanted._asdict()
    values["trusted"] = None if wanted.untrusted else True
    for name, operator in zip(PARTS, operators, strict=True):
        if operator == "GLOB":
            values[name] = values[name].replace("[", "[[]")
    if wanted.after is not None:
        values |= zip(("first", "second", "third", "row"), wanted.after, strict=True)
    return values


def _asked(values: Mapping[str, Any]) -> Names:
    """What is asked beside the patterns."""
    return tuple([name for name in _FURTHER if values[name] is not None])


@lru_cache(maxsize=1024)
def _statement(operators: Operators, asked: Names, order: Names, derived: bool, limit: int) -> str:
    """One statement for facts and conclusions, since each costs as much as the look-up itself."""
    keys = _keys(order)
    source, sort = "facts f", f" ORDER BY {keys}"
    if operators[PARTS.index(order[0])] == "=":
        source, sort = f"facts f INDEXED BY facts_by_{order[0]}", ""  # an index is read in its order
    facts = f"SELECT {FACTS} FROM {source} WHERE {_where(operators, asked, keys)}{sort} LIMIT {limit:d}"
    if not derived or "category" in asked or "source" in asked:
        return facts
    return f"SELECT * FROM ({facts}) UNION ALL SELECT * FROM ({_conclusions(operators, asked, order, limit + 1)})"


def _conclusions(operators: Operators, asked: Names, order: Names, limit: int, *, is_sorted: bool = False) -> str:
    """The statement for conclusions; to begin to sort takes SQLite longer than to find a few."""
    keys = _keys(order)
    where = _where(operators, [name for name in asked if name != "trusted"], keys)
    return f"SELECT {_DERIVED} FROM derived f WHERE {where}{f' ORDER BY {keys}' if is_sorted else ''} LIMIT {limit:d}"


def _keys(order: Names) -> str:
    return ", ".join(f"f.{name}" for name in (*order, "row"))


def _where(operators: Iterable[str | None], asked: Iterable[str], keys: str = "") -> str:
    patterns = (f"f.{name} {how} :{name}" for name, how in zip(PARTS, operators, strict=True) if how)
    return " AND ".join((*patterns, *(_FURTHER[name].format(keys=keys) for name in asked))) or "1"


def _known(
    connection: apsw.Connection, wanted: Wanted, operators: Operators, values: Mapping[str, Any]
) -> Iterator[Fact]:
    """The facts as they were known at a moment: those that have not changed since, and earlier versions of others."""
    sql = f"SELECT {FACTS} FROM facts f WHERE {_where(operators, _asked(values))} AND f.updated_at <= :as_of"
    yield from map(Fact._make, connection.execute(sql, values))
    sql = (
        "SELECT f.file, f.ordinal, f.line FROM fact_history f LEFT JOIN facts c ON c.subject = f.subject"
        f" AND c.predicate = f.predicate AND c.object = f.object WHERE {_where(operators, ())}"
        " AND f.known_from <= :as_of AND (c.row IS NULL OR c.updated_at > :as_of)"
        " ORDER BY f.subject, f.predicate, f.object, f.ordinal"
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
        and fact.confidence >= (wanted.min_confidence or 0)
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
    found: Triple | None = connection.execute(by_fact, clean((id,))).fetchone()
    return found or connection.execute(by_line, clean((id,))).fetchone()


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


def is_told_of(connection: apsw.Connection, node: str) -> bool:
    """Whether something is or was the subject or object of a fact."""
    each = "SELECT 1 FROM {} WHERE ?1 IN (subject, object)"
    sql = " UNION ALL ".join(each.format(table) for table in ("facts", "derived", "fact_history"))
    return connection.execute(f"{sql} LIMIT 1", clean((node,))).fetchone() is not None


def unread(connection: apsw.Connection) -> list[str]:
    """The lines of files of facts that say nothing, each with its file and why."""
    sql = (
        "SELECT path, problems FROM files WHERE problems IS NOT NULL"
        " AND (path GLOB '*/knowledge/facts.jsonl' OR path GLOB '*/knowledge/facts/*.jsonl') ORDER BY path"
    )
    return [f"{path}, {each}" for path, told in connection.execute(sql) for each in json.loads(told)]


def facts_from(connection: apsw.Connection, memory: str) -> list[Fact]:
    """The facts that came from a memory, or from a fact, with this id."""
    sql = (
        f"SELECT DISTINCT {FACTS} FROM edges e JOIN memories m ON m.id = e.source JOIN facts f ON f.row = m.row"
        " WHERE e.target = ? AND e.type = 'derived_from' ORDER BY f.subject, f.predicate, f.object"
    )
    return [Fact(*row) for row in connection.execute(sql, clean((memory,)))]


def premises_of(connection: apsw.Connection, fact: Fact) -> list[str]:
    """What a conclusion rests on, each as a sentence."""
    sql = (
        "SELECT t.subject || ' ' || t.predicate || ' ' || t.object FROM supports s JOIN {} t ON t.row = s.premise"
        " WHERE s.row = ? ORDER BY 1"
    )
    return [each for table in ("facts", "derived") for (each,) in connection.execute(sql.format(table), (fact.row,))]
