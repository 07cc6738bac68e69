"""The tables of an index. Everything in them is derived from files and can be derived again."""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

from memfolio.text import packaged_text

APPLICATION = 0x6D656D66
VERSION = 17
"""Goes up with every change of the tables or of how files are read; an index of another version is built again."""

BLOCK = 1024
"""How many sketches one row holds: few enough to write, many enough to read at once."""

NAMELESS = "('user', 'assistant', 'system', 'tool')"
"""The roles that come most often and are nobody's name: those who have one are indexed by it."""


class MemoryRow(NamedTuple):
    """The columns of `memories`, behind the number of the row. Times are microseconds in UTC."""

    id: str
    file: int
    ordinal: int
    form: str
    kind: str
    type: str
    store: str
    importance: float
    confidence: float
    created_at: int
    happened_at: int
    session: str | None
    role: str | None
    user: str | None
    project: str | None
    audience: str | None
    source: str
    origin: str
    valid_from: int | None
    valid_until: int | None
    archived: int
    pinned: int
    superseded_by: str | None
    superseded_at: int | None
    forgotten_at: int | None
    accessed_at: int | None
    access_count: int
    decay_rate: float | None
    # Last, so that what is asked about many memories can be read without their contents.
    content: str
    more: str | None
    """Fields that are neither searched nor sorted by, as JSON."""


_SQL_TYPES: dict[Any, str] = {
    str: "TEXT NOT NULL",
    int: "INTEGER NOT NULL DEFAULT 0",
    float: "REAL NOT NULL",
    str | None: "TEXT",
    int | None: "INTEGER",
    float | None: "REAL",
}


def schema() -> str:
    """The statements that make the tables."""
    columns = ", ".join(f"{name} {_SQL_TYPES[type_]}" for name, type_ in get_type_hints(MemoryRow).items())
    return packaged_text("index/data/schema.sql").format(columns=columns, nameless=NAMELESS)
