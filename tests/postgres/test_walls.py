"""Nobody is let in: questions of one home give no byte of another, by row security alone and by the code alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.errors import MemfolioError
from memfolio.serve.tokens import Tokens
from memfolio.types import EMPTY
from memfolio.vault.postgres.database import TABLES, HomeDatabase, Row, begin
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
    "vectors": ("home", "identity", "hash", "vector"),
    "waiting": ("home", "identity", "hash", "owner", "until"),
    "jobs": ("id", "home", "agent", "kind", "run_at", "error"),
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
        theirs.vault.claim_vectors(MARK, [b"made", b"waiting"])
        theirs.vault.share_vectors(MARK, {b"made": MARK.encode()})
        assert isinstance(mine.vault, PostgresVault)
        assert isinstance(theirs.vault, PostgresVault)
        sql = "UPDATE memfolio.jobs SET error = %s WHERE home = %s RETURNING 1"
        assert theirs.vault.rows.ask(sql, [MARK, theirs.vault.rows.home])
        with theirs.vault.holding(MARK):
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


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.long)])
def test_row_security_alone_shows_no_byte_of_another_home(
    homes: tuple[PostgresVault, PostgresVault], count: int
) -> None:
    assert ask_at_random(homes, count) > count / 2


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


Asking = Callable[[random.Random], object]


class Unscoped(HomeDatabase):
    """A database whose questions are about every home: what they say of theirs is taken out."""

    def ask(
        self, home: int | None, sql: str, values: Sequence[Any] = (), settings: Mapping[str, str] = EMPTY
    ) -> list[Row]:
        assert "home = %s" in sql or not any(f"memfolio.{table}" in sql for table in TABLES), sql
        return super().ask(home, sql.replace("home = %s", "(home = %s OR true)"), values, settings)


def askings(mine: Memory, theirs: Memory) -> list[Asking]:
    """What can be asked of a home, about what is another's where that has a name."""
    vault, history, trail = mine.vault, mine.vault.snapshots, mine.vault.trail
    paths = [*theirs.vault.paths(), *mine.vault.paths()]
    ids = [hit.memory.id for memory in (theirs, mine) for hit in memory.recall("", limit=100)]
    words = ["where do they live", "quokka", "own words", MARK, f"{MARK} own", ""]
    inside = vault.home.internal
    _, token = Tokens(theirs.vault.home).create("phone", "main", "read", now=vault.home.now())
    mark = theirs.vault.home.key_mark("main", "k")

    def seq(chance: random.Random) -> int:
        return chance.randint(1, theirs.vault.head + 3)

    slow: list[Asking] = [
        lambda chance: mine.recall(chance.choice(words), limit=chance.randint(1, 50)),
        lambda chance: mine.context(chance.choice(words)),
        lambda chance: mine.get(chance.choice(ids)),
        lambda chance: mine.find(chance.choice(ids)),
        lambda chance: mine.explain(chance.choice(ids)),
        lambda chance: mine.forget(ids[0], dry_run=True),
        lambda chance: mine.purge(ids[0], dry_run=True, by=OWNER),
        lambda chance: mine.audit.log(limit=chance.randint(1, 20)),
        lambda chance: mine.audit.diff(seq(chance)),
        lambda chance: (trail.tail(), vault.verify()),
    ]
    quick: list[Asking] = [
        lambda chance: vault.read(chance.choice(paths)),
        lambda chance: vault.page(chance.choice(paths)),
        lambda chance: list(vault.changes(containing=[b"key"], newest_first=chance.random() < 0.5)),
        lambda chance: [vault.paths(), vault.names(chance.choice(["agents", "agents/main"])), vault.agents()],
        lambda chance: vault.hint(chance.choice(["hint.json", "alerts"])),
        lambda chance: vault.was_made(chance.choice([mark, vault.home.key_mark("main", "k")])),
        lambda chance: vault.home.disk.read(inside / chance.choice(["hint.json", "tokens.json", "purges"])),
        lambda chance: vault.home.disk.names(inside),
        lambda chance: Tokens(vault.home).bearer(token),
        lambda chance: history.files(str(seq(chance))),
        lambda chance: history.read(chance.choice(paths), commit=str(seq(chance))),
        lambda chance: history.at_time(vault.home.now()),
        lambda chance: trail.line(seq(chance)),
        lambda chance: [trail.content(part) for part in trail.parts()],
    ]
    return [*slow, *quick * 6]


def ask_as_one(mine: Memory, theirs: Memory, count: int) -> None:
    """Ask and write as the one home, so many times; nothing of the other is told, and nothing of it changes."""
    chance, asked, before = random.Random(5), askings(mine, theirs), theirs.vault.newest
    secret = theirs.vault.home.disk.read(theirs.vault.home.internal / "tokens.json")
    assert secret
    answers = 0
    for number in range(count):
        if not number % 100:
            mine.remember(f"more of my words {number}", key=f"k-{number}")
        with suppress(MemfolioError):
            told = repr(chance.choice(asked)(chance))
            answers += told not in ("None", "[]", "{}")
            assert MARK not in told
            assert theirs.vault.newest.hash not in told
            assert repr(secret) not in told
    assert answers > count / 4
    assert theirs.vault.newest == before
    assert all(each.level == "ok" for each in theirs.vault.verify())


@contextmanager
def neighbours(folder: Path, server: OwnServer) -> Iterator[tuple[Memory, Memory]]:
    with opened(folder / f"{folder.name}-a", server) as mine, opened(folder / f"{folder.name}-b", server) as theirs:
        mine.remember("my own words", key="k")
        theirs.remember(f"{MARK} is where they live", key="k")
        theirs.vault.put_page(f"agents/{MARK.lower()}/MEMORY.md", f"{MARK}\n", expects=None, by=OWNER)
        theirs.vault.note_hint("hint.json", {"word": MARK})
        yield mine, theirs
    HomeDatabase.at(server.url).drop_idle()


COUNTS = [1000, pytest.param(10_000, marks=pytest.mark.long)]


@pytest.mark.parametrize("count", COUNTS)
def test_the_code_alone_shows_no_byte_of_another_home(own_server: OwnServer, quick_path: Path, count: int) -> None:
    """On a server of its own, since no other test may run without row security."""
    with neighbours(quick_path, own_server) as (mine, theirs), without_row_security(own_server):
        with psycopg.connect(own_server.url) as conn:
            row = conn.execute("SELECT count(*) FROM memfolio.homes").fetchone()
            assert row is not None
            assert row[0] >= 2, "nothing but the code is in the way"
        ask_as_one(mine, theirs, count)


@pytest.mark.long
def test_questions_that_forget_their_home_show_no_byte_of_another(server: OwnServer, quick_path: Path) -> None:
    with neighbours(quick_path, server) as (mine, theirs):
        assert isinstance(mine.vault, PostgresVault)
        unscoped = mine.vault.rows.database = Unscoped(server.url)
        ask_as_one(mine, theirs, 10_000)
        unscoped.drop_idle()
