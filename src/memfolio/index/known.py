"""Whether anything is remembered that has some tag, session, user or entity."""

from __future__ import annotations

import apsw

from memfolio.index.pages import name_key
from memfolio.index.rows import clean

_ANY = {
    "tag": "SELECT 1 FROM tags WHERE tag = ?1 LIMIT 1",
    "session": "SELECT 1 FROM memories WHERE session = ?1 LIMIT 1",
    "user": "SELECT 1 FROM memories WHERE user = ?1 LIMIT 1",
    "entity": "SELECT 1 FROM names WHERE name = ?1 UNION ALL SELECT 1 FROM mentions WHERE entity = ?1 LIMIT 1",
}


def is_known(connection: apsw.Connection, name: str, value: str) -> bool:
    """Whether a filter of this name and value can find anything; only users have no index, and are looked through."""
    key = {"tag": str.casefold, "entity": name_key}.get(name, str)(value)
    return connection.execute(_ANY[name], clean((key,))).fetchone() is not None
