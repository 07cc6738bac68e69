"""Fading and retention as questions to the index: what is weak, and what is due for the archive.

The formula is that of `memfolio.decay`, as an expression of SQL, so that a million memories are asked in one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

import apsw

from memfolio.decay import DAY, Life, days_until, power, relevance
from memfolio.errors import InputError
from memfolio.index.looks import DERIVED, LIFE
from memfolio.index.lookup import Located, by_rows
from memfolio.index.rows import MICROSECOND, to_us
from memfolio.state import moment
from memfolio.tuning import Decay, Retention
from memfolio.types import Kind

Values = dict[str, Any]
_HUGE = 1.7976931348623157e308
"""The largest number: what is larger has no end."""
_KEPT = "(m.pinned OR m.form != 'memory' OR m.store = 'vault')"
_PROTECTED = f"({_KEPT} OR m.decay_rate IS 0)"
_IDLE = "(:now - max(m.created_at, coalesce(m.accessed_at, 0)))"
_USES = "(1 + log2(1 + m.access_count) / :use)"
_KINDS = tuple(kind.value for kind in Kind)
_BASE = (
    f"CASE WHEN m.decay_rate = 0 THEN 1.0 WHEN {DERIVED} = 1 THEN :inferred "
    f"WHEN m.role IS NOT NULL OR {DERIVED} THEN :detected ELSE :explicit END"
)


class By(StrEnum):
    """By which score a person may have memories archived; each lies between 0 and 1, and falls with time."""

    RELEVANCE = "relevance"
    AGE = "age"
    IMPORTANCE = "importance"
    ACCESS = "access"


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """All whose score is below a limit, in place of what retention says."""

    by: By
    limit: float

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 1:
            raise InputError(f"{self.limit} is not a score", hint="scores lie between 0 and 1: try 0.2")


@dataclass(slots=True, kw_only=True)
class Due:
    """Memories that are due for the archive, by the daily log that they stand in, and how many for which reason."""

    places: dict[str, list[str]] = field(default_factory=dict)
    copied: dict[str, list[str]] = field(default_factory=dict)
    """The logs of each entry whose mark stands in several of them, its own first; such are not among the places."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind and reason."""

    @property
    def count(self) -> int:
        return self.reasons.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Weak:
    """A fact that is little certain by now: its confidence, faded, and the days until it falls further."""

    located: Located
    certainty: float
    dormant_in: float | None
    archived_in: float | None


def relevance_sql(decay: Decay) -> str:
    """The relevance of the memory `m` at `:now`; `decay_values` has what else it names."""
    return f"CASE WHEN {_KEPT} THEN 1.0 ELSE min(1.0, {_BASE} * {_faded(decay, _IDLE)} * {_USES}) END"


def decay_values(decay: Decay) -> Values:
    names = ("explicit", "detected", "inferred", "use", *_KINDS)
    return {"huge": _HUGE, **{name: getattr(decay, name) for name in names}}


def _faded(decay: Decay, idle: str) -> str:
    """What so many microseconds leave."""
    days = f"max(0, {idle}) / {DAY}.0"
    days = days if power(decay) == 1 else f"pow({days}, {power(decay)})"
    return f"exp(-max(0.0, {_RATE}) * {days})"


def _by_kind(suffix: str = "") -> str:
    each = " ".join(f"WHEN '{kind}' THEN :{kind}{suffix}" for kind in _KINDS)
    return f"CASE m.kind {each} END"


_RATE = f"CASE WHEN m.decay_rate IS NULL OR abs(m.decay_rate) > :huge THEN {_by_kind()} ELSE m.decay_rate END"


def weak(connection: apsw.Connection, now: int, decay: Decay, limit: int) -> list[Weak]:
    """Facts, ways and opinions whose confidence has faded below `decay.weak`, the weakest first."""
    certainty = f"m.confidence * ({relevance_sql(decay)})"
    sql = (
        f"SELECT m.row, {LIFE}, {DERIVED} FROM memories m WHERE m.form = 'memory' AND m.kind != 'episodic' "
        "AND m.archived = 0 AND m.forgotten_at IS NULL AND m.superseded_by IS NULL "
        f"AND {certainty} < :weak ORDER BY {certainty}, m.created_at, m.id LIMIT :limit"
    )
    values = {**decay_values(decay), "now": now, "weak": decay.weak, "limit": limit}
    lives = {row: Life._make(life) for row, *life in connection.execute(sql, values)}
    return [_weak(each, lives[each.row], now, decay) for each in by_rows(connection, list(lives))]


def _weak(located: Located, life: Life, now: int, decay: Decay) -> Weak:
    return Weak(
        located=located,
        certainty=located.item.confidence * relevance(life, now, decay),
        dormant_in=days_until(life, now, decay.dormant, decay),
        archived_in=days_until(life, now, decay.archived, decay),
    )


def due(connection: apsw.Connection, now: int, retention: Retention, decay: Decay, below: Below | None = None) -> Due:
    """What is to be archived, by age and importance as retention says, or by a score; every log it stands in."""
    reason, values = _by_score(below, decay) if below else _by_retention(retention, decay)
    sql = (
        f"SELECT m.file, m.id, m.kind, {reason} AS reason FROM memories m WHERE m.archived = 0 AND "
        f"m.forgotten_at IS NULL AND NOT {_PROTECTED} AND reason IS NOT NULL"
    )
    paths = dict(connection.execute("SELECT number, path FROM files"))
    copies = _copies(connection)
    found = Due()
    for file, name, kind, why in connection.execute(sql, {**decay_values(decay), **values, "now": now}):
        found.reasons[kind, why] += 1
        logs = [paths[number] for number in dict.fromkeys((file, *copies.get(name, ())))]
        if len(logs) > 1 and name.startswith("M-"):
            found.copied[name] = logs
        else:
            for path in logs:
                found.places.setdefault(path, []).append(name)
    return found


def _copies(connection: apsw.Connection) -> Mapping[str, list[int]]:
    """The other daily logs in which memories stand."""
    sql = (
        "SELECT DISTINCT p.id, p.file FROM places p JOIN files f ON f.number = p.file "
        "WHERE f.path NOT LIKE '%/memory/archive/%'"
    )
    copies: dict[str, list[int]] = {}
    for name, file in connection.execute(sql):
        copies.setdefault(name, []).append(file)
    return copies


def _by_retention(retention: Retention, decay: Decay) -> tuple[str, Values]:
    """Why a memory is due: importance counts first, then its kind, or that it has faded."""
    usual = _after("age", _by_kind("_span"))
    if retention.faded:
        usual = f"coalesce({usual}, CASE WHEN {relevance_sql(decay)} < :faded THEN 'faded' END)"
    clauses = [
        f"WHEN m.importance >= :high_from THEN {_after('high', ':high')}",
        f"WHEN m.importance < :low_below THEN {_after('low importance', ':low')}",
        f"ELSE {usual}",
    ]
    reason = f"CASE {' '.join(clauses)} END"
    spans = {f"{kind}_span": _us(getattr(retention, kind)) for kind in _KINDS}
    values = {"high": _us(retention.high), "low": _us(retention.low), "faded": decay.archived, **spans}
    return reason, {**values, "high_from": retention.high_importance, "low_below": retention.low_importance}


def _after(reason: str, span: str) -> str:
    return f"CASE WHEN {span} > 0 AND {_IDLE} >= {span} THEN '{reason}' END"


def _us(span: timedelta) -> int:
    return span // MICROSECOND


def _by_score(below: Below, decay: Decay) -> tuple[str, Values]:
    scores = {
        By.RELEVANCE: relevance_sql(decay),
        By.AGE: _faded(decay, "(:now - m.created_at)"),
        By.IMPORTANCE: f"m.importance * ({relevance_sql(decay)})",
        By.ACCESS: f"min(1.0, {_faded(decay, _IDLE)} * {_USES})",
    }
    return f"CASE WHEN {scores[below.by]} < :below THEN '{below.by.value}' END", {"below": below.limit}


def batches(due: Due, *, files: int, memories: int) -> Iterator[dict[str, list[str]]]:
    """What is due in portions, each of so many daily logs and memories at most, in the order of the logs.

    An entry that was copied is one of its own, since what is a copy of it must be seen beside it.
    """
    yield from ({path: [name] for path in logs} for name, logs in due.copied.items())
    batch: dict[str, list[str]] = {}
    for path in sorted(due.places):
        ids = due.places[path]
        for start in range(0, len(ids), memories):
            part = ids[start : start + memories]
            if batch and (len(batch) == files or path in batch or sum(map(len, batch.values())) + len(part) > memories):
                yield batch
                batch = {}
            batch[path] = part
    if batch:
        yield batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A file as the index knows it: its name, when it was last written (microseconds), and how much can be found."""

    path: str
    modified: int
    memories: int


def files_in(connection: apsw.Connection, *folders: str) -> list[Kept]:
    """The files below these folders of an agent, by name; what was forgotten does not count among their memories."""
    sql = (
        "SELECT f.path, f.stamp ->> 1, (SELECT count(*) FROM memories m WHERE m.file = f.number "
        f"AND m.forgotten_at IS NULL) FROM files f WHERE {' OR '.join(['f.path GLOB ?'] * len(folders))} ORDER BY 1"
    )
    rows = connection.execute(sql, [f"{_plain(folder)}/*" for folder in folders])
    return [Kept(path=path, modified=(ns or 0) // 1000, memories=count) for path, ns, count in rows]


def left_at(connection: apsw.Connection, folder: str) -> dict[str, int]:
    """When the last memory came to each uncompressed log of an archive, as far as state lines tell."""
    sql = (
        "SELECT f.path, max(s.line ->> 'at') FROM files f JOIN memories m ON m.file = f.number "
        "JOIN states s ON s.memory = m.id WHERE f.path GLOB ? AND s.op IN ('archive', 'tombstone') GROUP BY 1"
    )
    rows = connection.execute(sql, (f"{_plain(folder)}/*.md",))
    return {path: to_us(at) for path, told in rows if (at := moment(told))}


def _plain(folder: str) -> str:
    """A folder as it is matched: no sign in it stands for others."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in folder)
