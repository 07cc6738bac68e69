"""What an index notes about itself: up to which change it has filed, and for which home it was built."""

from __future__ import annotations

import apsw

from memfolio.vault.audit import Head

HEAD, CHAIN, BASIS = "head", "chain", "basis"


def get_meta(connection: apsw.Connection, key: str) -> str | int | None:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return found[0] if found else None


def set_meta(connection: apsw.Connection, key: str, value: str | int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def head_of(connection: apsw.Connection) -> int:
    """The number of the change up to which files are filed; -1 when none are."""
    found = get_meta(connection, HEAD)
    return found if isinstance(found, int) else -1


def is_at(connection: apsw.Connection, head: Head) -> bool:
    """Whether the index holds every file as it was behind this change."""
    return (get_meta(connection, HEAD), get_meta(connection, CHAIN)) == (head.seq, head.hash)


def is_whole(connection: apsw.Connection) -> bool:
    """Whether every file could be read when it was filed."""
    return bool(get_meta(connection, CHAIN))


def set_head(connection: apsw.Connection, head: Head, *, is_whole: bool) -> None:
    """Note the change up to which files are filed; without its hash when one of them could not be read."""
    chain = head.hash if is_whole else ""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?), (?, ?)", (HEAD, head.seq, CHAIN, chain))
