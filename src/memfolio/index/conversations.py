"""Conversations: which have turns that nobody has learned from, what was said in them, and what is known already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from memfolio.index.filter import Filter
from memfolio.index.lookup import Located, located
from memfolio.types import Kind, MemoryItem

LEARNED = "extraction"
"""The source of what was learned from a conversation."""
SPOKEN = Filter(forms=("memory",))
_TURNS = "m.session IS NOT NULL AND m.role IS NOT NULL AND m.id < 'M-:' AND m.id > 'M-'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation that goes on behind what was learned from it."""

    session: str
    until: str
    """The last turn that was learned from, empty before the first."""
    last: str
    """Its last turn."""
    last_us: int
    """When that was written down."""


def unheard(connection: apsw.Connection) -> list[Conversation]:
    """The conversations with turns that nobody has learned from, the one that fell silent first before the others."""
    marks = {line["session"]: str(line.get("until", "")) for line in _lines(connection) if "session" in line}
    condition, values = SPOKEN.where()
    sql = f"""SELECT m.session, max(m.id), max(m.created_at) FROM memories m
        WHERE {_TURNS} AND {condition} GROUP BY m.session ORDER BY 3, 1"""
    return [
        Conversation(session=session, until=marks.get(session, ""), last=last, last_us=last_us)
        for session, last, last_us in connection.execute(sql, values)
        if last > marks.get(session, "")
    ]


def _lines(connection: apsw.Connection) -> list[Mapping[str, Any]]:
    """The lines that say how far conversations were learned from, oldest first."""
    sql = (
        "SELECT s.line FROM states s JOIN files f ON f.number = s.file "
        "WHERE s.op = 'session' ORDER BY length(f.path), f.path, s.ordinal"
    )
    return [json.loads(line) for (line,) in connection.execute(sql)]


def turns_after(connection: apsw.Connection, conversation: Conversation) -> list[Located]:
    """What was said in a conversation behind what was learned from it, in order."""
    condition, values = SPOKEN.where()
    rest = (
        f"""WHERE {_TURNS} AND {condition} AND m.session = ? AND m.id > ? ORDER BY m.happened_at, m.file, m.ordinal"""
    )
    return list(located(connection, rest, (*values, conversation.session, conversation.until)))


def knowledge(connection: apsw.Connection) -> list[MemoryItem]:
    """Everything that is held as more than an event, also what was replaced or forgotten, oldest first."""
    rest = "WHERE m.form = 'memory' AND (m.kind <> ? OR m.source = ?) ORDER BY m.happened_at, m.id"
    return [each.item for each in located(connection, rest, (Kind.EPISODIC.value, LEARNED))]
