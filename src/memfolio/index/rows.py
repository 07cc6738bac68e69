"""A memory as a row of the index and back, and answers of SQLite as plain values."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import partial
from itertools import filterfalse
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeVar

from apsw import Connection, carray

from memfolio.clock import EPOCH
from memfolio.index.schema import MemoryRow
from memfolio.state import State
from memfolio.types import EMPTY, OVERHEARD, Kind, MemoryItem, Origin, Store, Type, frozen
from memfolio.vault.fields import without_surrogates

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
MICROSECOND = timedelta(microseconds=1)
COLUMNS = MemoryRow._fields


def selected(names: Iterable[str]) -> str:
    """Columns of `memories m`, as a statement asks for them."""
    return ", ".join(f"m.{name}" for name in names)


SELECT = selected(COLUMNS)
INSERT = f"INSERT INTO memories (row, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"

Row = tuple[Any, ...]
"""The values of a `MemoryRow`, or of any other row."""
MACHINES = frozenset("assistant system tool function ai agent developer".split())
ROLES = MACHINES | {"user", "human"}
"""Parts that anybody can play; any other role is somebody's name."""
_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode

# A field of a memory is the column of its name, if there is one; its type says how the value is stored.
_TYPES = {each.name: str(each.type).removesuffix(" | None") for each in fields(MemoryItem) if each.name in COLUMNS}
_values = attrgetter(*_TYPES)
_TIMES = [name for name, type_ in _TYPES.items() if type_ == "datetime"]
_ENUMS: dict[str, type[StrEnum]] = {"Kind": Kind, "Type": Type, "Store": Store, "Origin": Origin}
_BESIDE = ("file", "ordinal", "form", "archived", "happened_at", "superseded_at", "more")
"""Columns with the place of a memory, and with values derived from its other fields."""
_GIVEN = (*_TYPES, *_BESIDE)
_TIME_PLACES = [_GIVEN.index(name) for name in (*_TIMES, "happened_at", "superseded_at")]
_USER = _GIVEN.index("user")
_in_order = itemgetter(*map(_GIVEN.index, COLUMNS))
_MEMBERS = {name: {each.value: each for each in _ENUMS[type_]} for name, type_ in _TYPES.items() if type_ in _ENUMS}


@frozen
class Spot:
    """The place of a memory: its file number, its position there, and its form."""

    file: int
    ordinal: int
    form: str = "memory"
    archived: bool = False
    heading: tuple[str, ...] = ()


def to_us(moment: datetime) -> int:
    """Whole microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def day_us(day: date) -> int:
    """The beginning of a day in UTC."""
    return to_us(datetime.combine(day, time(), UTC))


def from_us(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def row_of(item: MemoryItem, spot: Spot, superseded_at: datetime | None = None) -> MemoryRow:
    """Return the row of a memory at a place."""
    beside = (
        spot.file,
        spot.ordinal,
        spot.form,
        spot.archived,
        item.event_time or item.created_at,
        superseded_at,
        _more(item, spot),
    )
    found = [*_values(item), *beside]
    for place in _TIME_PLACES:
        if found[place] is not None:
            found[place] = to_us(found[place])
    if item.user:  # the one text that JSON may have brought in, which can hold what SQLite cannot
        found[_USER] = without_surrogates(item.user)
    return MemoryRow._make(_in_order(found))


def _more(item: MemoryItem, spot: Spot) -> str | None:
    """Return the fields without a column of their own, as JSON; most memories have none."""
    if not (item.tags or item.attributes or item.derived_from or item.key or spot.heading):
        return None
    more = {
        "tags": item.tags,
        "attributes": dict(item.attributes),
        "derived_from": item.derived_from,
        "key": item.key,
        "heading": spot.heading,
    }
    return _encode({name: value for name, value in more.items() if value})


def clean(row: Row) -> Row:
    """A row without halves of surrogate pairs, which JSON can hold and SQLite cannot."""
    return tuple(without_surrogates(value) if isinstance(value, str) else value for value in row)


def state_of(row: Sequence[Any]) -> State:
    """The memory of a row that was selected with `SELECT`."""
    superseded_at = MemoryRow._make(row).superseded_at
    return State(item=item_of(row), superseded_at=None if superseded_at is None else from_us(superseded_at))


def spot_of(row: Sequence[Any]) -> Spot:
    found = MemoryRow._make(row)
    heading = tuple(json.loads(found.more).get("heading", ())) if found.more else ()
    return Spot(file=found.file, ordinal=found.ordinal, form=found.form, archived=bool(found.archived), heading=heading)


def item_of(row: Sequence[Any]) -> MemoryItem:
    """The memory of a row that was selected with `SELECT`."""
    stored = row if isinstance(row, MemoryRow) else MemoryRow._make(row)
    found = dict(zip(_TYPES, _values(stored), strict=True))
    for name in _TIMES:
        if found[name] is not None:
            found[name] = from_us(found[name])
    for name, members in _MEMBERS.items():
        found[name] = members[found[name]]
    found["pinned"] = bool(stored.pinned)
    if stored.happened_at != stored.created_at:
        found["event_time"] = from_us(stored.happened_at)
    more: Mapping[str, Any] = json.loads(stored.more) if stored.more else EMPTY
    return MemoryItem(
        **found,
        tags=tuple(more.get("tags", ())),
        attributes=more.get("attributes", EMPTY),
        derived_from=tuple(more.get("derived_from", ())),
        key=more.get("key"),
    )


def column(db: Connection, sql: str, *values: Any) -> list[Any]:
    """The first column of an answer."""
    return [each for (each,) in db.execute(sql, values)]


def number(db: Connection, sql: str, *values: Any) -> int:
    """Return a single number; 0 if there is none."""
    return int(db.execute(sql, values).get or 0)


def of_rows(db: Connection, sql: str, rows: Sequence[int], *values: Any) -> Iterable[Any]:
    """Run a statement with `carray(?)` as its first value for these rows."""
    return db.execute(sql, (rows_array(rows), *values)) if rows else ()


def of_ids(db: Connection, sql: str, ids: Iterable[str], *values: Any) -> Iterable[Any]:
    """Run a statement with `carray(?1)` for these ids; SQLite cannot take NUL characters."""
    wanted = tuple(each for each in ids if "\0" not in each)
    return db.execute(sql, (carray(wanted), *values)) if wanted else ()


def rows_array(rows: Iterable[int]) -> Any:
    """Numbers of rows as a value for `carray(?)`; SQLite takes no array of nothing."""
    return carray(array("q", rows))


# What a connection read before, kept until the file changes: the same memories come up in question after question.

KEPT = 50_000
"""How many values all connections of this process cache; one more clears them."""

_generation = [0]
_kept = [0]


class ReadingConnection(Connection):
    """A connection that only reads, and remembers what it read for as long as nobody writes to the file."""

    is_checked = False
    """Whether the cached values are known to be valid in the current transaction."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._tables: dict[Any, dict[Any, Any]] = {}
        self._basis: tuple[int, int] | None = None
        self.counts: list[int] = []
        """How many memories have each phrase of what was weighed last by the function `relevance`."""

    def table(self, what: Any) -> dict[Any, Any]:
        """What was read under this name."""
        if not self.is_checked:
            # Inside a transaction this also fixes the moment that everything else is read of.
            basis = _generation[0], self.execute("PRAGMA data_version").get
            if basis != self._basis:
                self._tables, self._basis = {}, basis
            self.is_checked = True
        return self._tables.setdefault(what, {})

    @contextmanager
    def other_tables(self) -> Iterator[None]:
        """Keep apart what is read meanwhile, since the same statements find something else."""
        self.table(None)  # what is put back afterwards has to be of this moment
        own, self._tables = self._tables, {}
        try:
            yield
        finally:
            self._tables = own


def kept(db: Connection, what: Hashable) -> dict[Any, Any]:
    """Return a cache table to look values up in and add to; always empty if caching is impossible."""
    if not isinstance(db, ReadingConnection):
        return {}
    if _kept[0] > KEPT:
        _kept[0] = 0
        _generation[0] += 1
    return db.table(what)


def of_kept(
    db: Connection, what: Hashable, keys: Collection[K], read: Callable[[list[K]], Mapping[K, T]]
) -> dict[K, T]:
    """Return the known values of these keys; those not in the cache are read at once.

    Whatever else `read` returns is cached as well.
    """
    table = kept(db, what)
    try:
        return {key: value for key in keys if (value := table[key]) is not None}
    except KeyError:
        new = list(filterfalse(table.__contains__, keys))
    found: dict[K, T | None] = {**dict.fromkeys(new), **read(new)}
    table.update(found)
    _kept[0] += len(found)
    return {key: value for key in keys if (value := table[key]) is not None}


DERIVED = f"""CASE WHEN m.source IN {OVERHEARD} THEN 2
    WHEN m.more IS NOT NULL AND instr(m.more, '"derived_from":') > 0 THEN 1 ELSE 0 END"""


class StoredRow(NamedTuple):
    """A full row with its file: all that is asked about a memory is made from it, so that it costs one query."""

    path: str
    derived: int
    """As in `DecayInput`."""
    columns: MemoryRow


# As quick as plain tuples, unlike the classes themselves and their `_make`.
_row = partial(tuple.__new__, MemoryRow)
_stored = partial(tuple.__new__, StoredRow)
_STORED = f"SELECT m.row, f.path, {DERIVED}, {SELECT} FROM memories m JOIN files f ON f.number = m.file WHERE "


def stored(db: Connection, rows: Collection[int]) -> dict[int, StoredRow]:
    """These rows, as far as they are there."""
    read = partial(_read_stored, db, "m.row IN carray(?)")
    return of_kept(db, stored, rows, lambda new: read(rows_array(new)) if new else {})


def all_stored(db: Connection, condition: str, *values: Any) -> dict[int, StoredRow]:
    """All rows that meet a condition on `memories m`; they are kept for those who ask for them one by one."""
    found = _read_stored(db, condition, *values)
    kept(db, stored).update(found)
    _kept[0] += len(found)
    return found


def _read_stored(db: Connection, condition: str, *values: Any) -> dict[int, StoredRow]:
    found = db.execute(_STORED + condition, values)
    return {row: _stored((path, derived, _row(columns))) for row, path, derived, *columns in found}


def about(item: MemoryItem, heading: Sequence[str] = ()) -> str:
    """The words around a memory by which it may also be looked for: headings, tags, who spoke and who is meant."""
    speaker = () if item.role is None or item.role.casefold() in ROLES else (item.role,)
    return " ".join((*heading, *item.tags, *speaker, *((item.user,) if item.user else ())))


def text_to_embed(content: str, heading: Sequence[str]) -> str:
    """What a memory's vector is made of."""
    return f"{' > '.join(heading)}\n{content}" if heading else content
