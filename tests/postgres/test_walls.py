"""Nobody is let in: questions of one home give no byte of another, by row security alone and by the code alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.vault.postgres.database import TABLES, HomeDatabase, begin
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import PostgresVault
from memfolio.vault.vault import OWNER

MARK = "Zanzibar-Quokka"
"""A word that only the other home has."""
COLUMNS = {
    "homes": ("home", "name", "secret", "seq", "head"),
    "files": ("home", "path", "version", "seq", "size", "hash"),
    "pieces": ("home", "path", "version", "start", "seq", "data"),
    "trail": ("home", "seq", "raw", "part", "at", "key"),
    "notes": ("home", "name", "data"),
    "leases": ("home", "name", "owner", "until"),
}


def opened(path: Path, server: OwnServer) -> Memory:
    config = load_config(path, overrides={"store": "postgres", "database_url": server.url})
    return Memory.open(config, background=False)


@pytest.fixture
def homes(server: OwnServer, quick_path: Path, name: str) -> Iterator[tuple[PostgresVault, PostgresVault]]:
    """A home, and another one of which every table has something."""
    with opened(quick_path / f"{name}-a", server) as mine, opened(quick_path / f"{name}-b", server) as theirs:
        mine.remember("my own words", key="k")
        theirs.remember(f"{MARK} is where they live", key="k")
        theirs.vault.put_page("agents/main/MEMORY.md", f"{MARK}\n", expects=None, by=OWNER)
        theirs.vault.note_hint("hint.json", {"word": MARK})
        with theirs.vault.holding(MARK):
            assert isinstance(mine.vault, PostgresVault)
            assert isinstance(theirs.vault, PostgresVault)
            yield mine.vault, theirs.vault


def random_question(chance: random.Random, other: int) -> tuple[str, list[Any]]:
    """A question about any table that names no home, or even names the other one."""
    table = chance.choice(TABLES)
    columns = chance.sample(COLUMNS[table], chance.randint(1, len(COLUMNS[table])))
    where = chance.choice(["true", "home = %s", "home <> 0", "home IN (SELECT home FROM memfolio.files)", "home >= %s"])
    join = chance.choice(["", "", " NATURAL JOIN memfolio.files f2" if table == "pieces" else ""])
    values: list[Any] = [other] * where.count("%s")
    order = chance.choice(["", f" ORDER BY {columns[0]}", f" ORDER BY {columns[0]} DESC"])
    return f"SELECT {', '.join(columns)} FROM memfolio.{table}{join} WHERE {where}{order} LIMIT 50", values


def ask_at_random(homes: tuple[PostgresVault, PostgresVault], count: int) -> int:
    """Ask as the one home with no predicate of ours; how many rows came, none of them the other's."""
    mine, theirs = homes
    chance, other, rows = random.Random(23), theirs.rows.home, 0
    secret = theirs.rows.ask("SELECT secret FROM memfolio.homes WHERE home = %s", [other])[0][0]
    with mine.rows.database.lent() as conn:
        begin(conn, mine.rows.home)
        for _ in range(count):
            sql, values = random_question(chance, other)
            for row in conn.execute(sql, values).fetchall():
                rows += 1
                told = b" ".join(each if isinstance(each, bytes) else str(each).encode() for each in row)
                assert MARK.encode() not in told, sql
                assert bytes(secret) not in told, sql
        conn.execute("ROLLBACK")
    return rows


def test_row_security_alone_shows_no_byte_of_another_home(homes: tuple[PostgresVault, PostgresVault]) -> None:
    assert ask_at_random(homes, 1000) > 500


@pytest.mark.long
def test_row_security_alone_holds_ten_thousand_questions(homes: tuple[PostgresVault, PostgresVault]) -> None:
    assert ask_at_random(homes, 10_000) > 5000


def test_row_security_lets_nobody_write_into_another_home(homes: tuple[PostgresVault, PostgresVault]) -> None:
    mine, theirs = homes
    other = theirs.rows.home
    for sql in (
        "UPDATE memfolio.files SET hash = 'x' WHERE home = %s",
        "DELETE FROM memfolio.pieces WHERE home = %s",
        "UPDATE memfolio.homes SET seq = 0 WHERE home = %s",
        "DELETE FROM memfolio.trail WHERE home = %s",
    ):
        with mine.rows.database.lent() as conn:
            begin(conn, mine.rows.home)
            assert conn.execute(sql, [other]).rowcount == 0, sql
            conn.execute("COMMIT")
    with mine.rows.database.lent() as conn:
        begin(conn, mine.rows.home)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("INSERT INTO memfolio.notes (home, name, data) VALUES (%s, 'x', 'y')", [other])
        conn.execute("ROLLBACK")
    assert all(each.level == "ok" for each in theirs.verify())


def test_without_a_home_nothing_is_there(homes: tuple[PostgresVault, PostgresVault]) -> None:
    with homes[0].rows.database.lent() as conn:
        for table in TABLES:
            assert conn.execute(f"SELECT count(*) FROM memfolio.{table}").fetchone() == (0,)


@contextmanager
def without_row_security(server: OwnServer) -> Iterator[None]:
    with psycopg.connect(server.owner_url, autocommit=True) as conn:
        for table in TABLES:
            conn.execute(f"ALTER TABLE memfolio.{table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY")
        try:
            yield
        finally:
            for table in TABLES:
                conn.execute(f"ALTER TABLE memfolio.{table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")


def live(vault: PostgresVault, memory: Memory, chance: random.Random) -> bytes:
    """All that a home can be asked, as bytes."""
    told = [repr(memory.recall(chance.choice(["where do they live", "quokka", "own words", MARK])))]
    told += [repr(line) for line in vault.changes(containing=[b"key"], newest_first=chance.random() < 0.5)]
    told += [repr(vault.read(path)) for path in vault.paths()]
    told += [repr(vault.snapshots.files()), repr(vault.hint("hint.json")), repr(vault.names("agents/main"))]
    told += [repr(vault.was_made(vault.home.key_mark("main", "k"))), repr(memory.audit.log(limit=20))]
    told += [repr(vault.verify()), repr(vault.trail.parts()), repr(vault.head)]
    return " ".join(told).encode()


def test_the_code_alone_shows_no_byte_of_another_home(own_server: OwnServer, quick_path: Path, name: str) -> None:
    """On a server of its own, since no other test may run without row security."""
    with opened(quick_path / f"{name}-a", own_server) as mine, opened(quick_path / f"{name}-b", own_server) as theirs:
        mine.remember("my own words", key="k")
        theirs.remember(f"{MARK} is where they live", key="k")
        theirs.vault.note_hint("hint.json", {"word": MARK})
        assert isinstance(mine.vault, PostgresVault)
        with without_row_security(own_server):
            with psycopg.connect(own_server.url) as conn:
                row = conn.execute("SELECT count(*) FROM memfolio.homes").fetchone()
                assert row is not None
                assert row[0] >= 2, "nothing but the code is in the way"
            chance = random.Random(5)
            for number in range(20):
                mine.remember(f"more of my words {number}")
                told = live(mine.vault, mine, chance)
                assert b"my own words" in told
                assert MARK.encode() not in told
        HomeDatabase.at(own_server.url).drop_idle()
