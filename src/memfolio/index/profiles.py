"""What is known about people and things: the profiles that their pages give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import apsw

from memfolio.index.pages import BOOKKEEPING


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """An entity as its page describes it."""

    id: str
    name: str
    type: str
    summary: str
    properties: Mapping[str, str]


def profiles(connection: apsw.Connection, ids: Iterable[str]) -> list[Profile]:
    """The entities with these ids, in this order, as far as they are there."""
    sql = "SELECT id, name, type, summary, properties FROM entities WHERE id = ?"
    rows = (row for each in ids for row in connection.execute(sql, (each,)))
    return [Profile(id=i, name=n, type=t, summary=s, properties=_telling(json.loads(p))) for i, n, t, s, p in rows]


def _telling(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if name not in BOOKKEEPING}
