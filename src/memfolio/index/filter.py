"""What a memory must be to count at all: decided by the database, before anything is ranked or cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memfolio.index.rows import clean, to_us
from memfolio.index.within import ShortTerm, stores_of
from memfolio.sources import LEARNED
from memfolio.types import Kind, Store, Type

ARCHIVED = "archived"
SUPERSEDED = "superseded"
DORMANT = "dormant"
QUARANTINED = "quarantined"
INCLUDABLE = (ARCHIVED, SUPERSEDED, DORMANT, QUARANTINED)
"""What is out of sight unless a caller asks for it."""

_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
DAILY = "daily"
LEVELS = {
    DAILY: f"*/memory/{_DAY}*.md",
    "weekly": "*/memory/weekly/*.md",
    "monthly": "*/memory/monthly/*.md",
    "quarterly": "*/memory/quarterly/*.md",
}
"""The files of each level of the hierarchy: days as they were written, and the digests above them."""

Condition = tuple[str, tuple[Any, ...]]
_TRUSTED = """m.origin <> 'untrusted'
    OR EXISTS (SELECT 1 FROM states s WHERE s.memory = m.id AND s.op = 'confirm'
        AND julianday(json_extract(s.line, '$.at')) <= coalesce(julianday(?), 9e9))"""
"""What strangers wrote counts from when somebody confirms it."""

_ORIGINAL = f"""m.source <> '{LEARNED}' OR NOT EXISTS (SELECT 1 FROM edges e JOIN memories s ON s.id = e.target
    WHERE e.source = m.id AND e.type = 'derived_from' AND s.forgotten_at IS NULL AND s.archived = 0)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Exact conditions; what is None or empty does not matter. Forgotten memories never pass."""

    kinds: tuple[Kind, ...] = ()
    types: tuple[Type, ...] = ()
    stores: tuple[Store, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    """Names one of these; ids, or names that are none."""
    session: str | None = None
    user: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    valid_at: datetime | None = None
    as_of: datetime | None = None
    min_importance: float = 0
    include: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    """What it is in its file: a memory, a passage of a page, a fact."""
    level: str | None = None
    """One of `LEVELS`."""
    originals: bool = False
    """Whether what was learned from memories that are there gives way to them, unless its kind is asked for."""
    short_term: ShortTerm | None = None
    """What short-term memory is at the moment, for `stores`; without it, what was ever put there."""

    @property
    def is_narrow(self) -> bool:
        """Whether a caller asked for something in particular, so that few memories may be left."""
        return any(True for _ in self._asked())

    @property
    def _asks_for_knowledge(self) -> bool:
        """Whether something is asked for that only what was learned may have."""
        asked = (self.kinds, self.types, self.tags, self.entities, self.stores, self.min_importance)
        return any(asked)

    @property
    def with_superseded(self) -> Filter:
        """The same, but for versions that were replaced, which may lead to those that replaced them."""
        return self if SUPERSEDED in self.include else replace(self, include=(*self.include, SUPERSEDED))

    def where(self) -> Condition:
        """The condition on `memories m`, with its values."""
        found = [*self._visible(), *self._asked()]
        return " AND ".join(f"({sql})" for sql, _ in found), clean(
            tuple(value for _, values in found for value in values)
        )

    def _visible(self) -> Iterator[Condition]:
        yield "m.forgotten_at IS NULL", ()
        if ARCHIVED not in self.include:
            yield "m.archived = 0", ()
        if self.as_of is None and SUPERSEDED not in self.include:
            yield "m.superseded_by IS NULL", ()
        if self.originals and not self._asks_for_knowledge:
            yield _ORIGINAL, ()
        if QUARANTINED not in self.include:
            yield _TRUSTED, (None if self.as_of is None else self.as_of.isoformat(),)

    def _asked(self) -> Iterator[Condition]:
        for column, values in (("kind", self.kinds), ("type", self.types)):
            if values:
                yield _one_of(column, [each.value for each in values])
        if self.stores and self.short_term is not None:
            yield stores_of(self.stores, self.short_term)
        elif self.stores:
            yield _one_of("store", [each.value for each in self.stores])
        if self.forms:
            yield _one_of("form", self.forms)
        if self.level is not None:
            yield "m.file IN (SELECT number FROM files WHERE path GLOB ?)", (LEVELS[self.level],)
        if self.level == DAILY:  # not the pages that have a day in their name, such as a plan for it
            yield _one_of("form", ("memory",))
        for tag in self.tags:
            yield "m.row IN (SELECT t.row FROM tags t WHERE t.tag = ?)", (tag.casefold(),)
        if self.entities:
            marks = ", ".join("?" * len(self.entities))
            told = f"""SELECT n.row FROM mentions n WHERE n.entity IN ({marks}) UNION SELECT t.row FROM edges e
                JOIN memories t ON t.id = e.target WHERE e.type = 'about' AND e.source IN ({marks})"""
            yield f"m.row IN ({told})", (*self.entities, *self.entities)
        for column, value in (("session", self.session), ("user", self.user)):
            if value is not None:
                yield f"m.{column} = ?", (value,)
        if self.min_importance > 0:
            yield "m.importance >= ?", (self.min_importance,)
        yield from self._timed()

    def _timed(self) -> Iterator[Condition]:
        if self.since is not None:
            yield "m.happened_at >= ?", (to_us(self.since),)
        if self.until is not None:
            yield "m.happened_at <= ?", (to_us(self.until),)
        if self.valid_at is not None:
            at = to_us(self.valid_at)
            yield "coalesce(m.valid_from, ?) <= ? AND (m.valid_until IS NULL OR m.valid_until > ?)", (at, at, at)
        if self.as_of is not None:
            at = to_us(self.as_of)
            yield "m.created_at <= ? AND (m.superseded_at IS NULL OR m.superseded_at > ?)", (at, at)


def _one_of(column: str, values: Sequence[str]) -> Condition:
    return f"m.{column} IN ({', '.join('?' * len(values))})", tuple(values)
