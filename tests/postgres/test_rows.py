"""A home as rows: several servers on one, what happens at once, and the way back."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing
from datetime import timedelta
from itertools import count
from pathlib import Path

import psycopg
import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import (
    ConfigError,
    HomeBusyError,
    NotFoundError,
    PageChangedError,
    RefusedError,
    StoreRewoundError,
    StoreUnavailableError,
)
from memfolio.serve.http.app import Hall, changes
from memfolio.serve.tokens import Tokens
from memfolio.types import HUMAN, Action
from memfolio.vault.change import Change, PutPage
from memfolio.vault.postgres import vault as postgres
from memfolio.vault.postgres.database import HomeDatabase, migrate, rewrite_heap
from memfolio.vault.postgres.rows import LARGE
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import PostgresVault
from memfolio.vault.vault import OWNER, Vault
from tests.postgres.pooler import pooled

PAGE = "agents/main/MEMORY.md"


@pytest.fixture
def path(quick_path: Path, name: str, in_postgres: Callable[[], None]) -> Path:
    """The name of a home that is opened from the database, from each server with a cache of its own."""
    in_postgres()
    return quick_path / name


@pytest.fixture
def opened(path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Memory]]:
    """Opens the home as one more server would."""
    numbers = count()
    with ExitStack() as stack:

        def open_one() -> Memory:
            monkeypatch.setenv("MEMFOLIO_CACHE", str(path.parent / f"cache-{next(numbers)}"))
            return stack.enter_context(Memory.open(path, background=False, clock=clock))

        yield open_one


def vault_of(memory: Memory) -> PostgresVault:
    assert isinstance(memory.vault, PostgresVault)
    return memory.vault


def texts(memory: Memory, question: str) -> list[str]:
    return [hit.memory.content for hit in memory.recall(question)]


def test_what_one_server_writes_the_next_question_of_another_finds(opened: Callable[[], Memory]) -> None:
    one, other = opened(), opened()
    for number in range(3):
        one.remember(f"the harvest of {number} apples")
        assert f"the harvest of {number} apples" in texts(other, f"harvest of {number} apples")
        other.remember(f"the sale of {number} pears")
        assert f"the sale of {number} pears" in texts(one, f"sale of {number} pears")
    assert vault_of(one).trail.problems() == []


def test_servers_and_threads_on_one_home_lose_and_double_nothing(opened: Callable[[], Memory]) -> None:
    memories = [opened(), opened()]
    wanted = [f"note {number}" for number in range(80)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda pair: memories[pair[0] % 2].remember(pair[1]).id, enumerate(wanted)))
    assert len(set(made)) == 80
    for memory in memories:
        entries = memory.vault.entries("main")
        assert sorted(item.content for item in entries) == sorted(wanted)
        assert all(each.level == "ok" for each in memory.vault.verify())


def test_changes_that_wait_are_stored_together(opened: Callable[[], Memory], server: OwnServer) -> None:
    memory = opened()
    vault = vault_of(memory)
    memory.remember("first")
    vault.writer._mutex.acquire()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(memory.remember, f"waiting {number}") for number in range(8)]
        await_queue(vault, 8)
        before = stored_at(vault)
        vault.writer._mutex.release()
        assert len({each.result().id for each in waiting}) == 8
    assert len(stored_at(vault) - before) == 1, "one transaction has all of them"


def await_queue(vault: PostgresVault, length: int) -> None:
    for _ in range(1000):
        if len(vault.writer._queue) >= length:
            return
        time.sleep(0.01)
    vault.writer._mutex.release()
    pytest.fail(f"{len(vault.writer._queue)} of {length} changes wait")


def stored_at(vault: PostgresVault) -> set[str]:
    """The transactions that wrote the trail."""
    sql = "SELECT DISTINCT xmin::text FROM memfolio.trail WHERE home = %s"
    return {mark for (mark,) in vault.rows.ask(sql, [vault.rows.home])}


def test_one_that_is_refused_does_not_take_others_along(opened: Callable[[], Memory]) -> None:
    vault = vault_of(opened())
    vault.writer._mutex.acquire()
    with ThreadPoolExecutor(3) as pool:
        bad = pool.submit(vault.put_page, "agents/main/notes/0.md", "x", expects="0" * 32, by=OWNER)
        good = [pool.submit(vault.put_page, f"agents/main/notes/{n}.md", "x", expects=None, by=OWNER) for n in (1, 2)]
        await_queue(vault, 3)
        vault.writer._mutex.release()
        assert [each.result().paths for each in good] == [("agents/main/notes/1.md",), ("agents/main/notes/2.md",)]
        with pytest.raises(PageChangedError):
            bad.result()
    assert vault.content("agents/main/notes/0.md") is None


def test_a_key_makes_one_memory_whichever_server_is_asked(opened: Callable[[], Memory]) -> None:
    one, other = opened(), opened()
    first = one.remember("Alex moved to Lisbon", key="move")
    assert other.remember("Alex moved to Lisbon", key="move").id == first.id
    assert len(one.vault.entries("main")) == 1


def test_what_was_composed_before_another_server_wrote_is_composed_again(opened: Callable[[], Memory]) -> None:
    one, other = opened(), opened()
    for number in range(3):
        one.remember(f"one {number}")
        other.remember(f"other {number}")
        vault_of(one).journal._heard_at = vault_of(other).journal._heard_at = -math.inf
    wanted = {f"{who} {number}" for who in ("one", "other") for number in range(3)}
    for memory in (one, other):
        assert {item.content for item in memory.vault.entries("main")} == wanted
        assert set(texts(memory, "one other")) == wanted
        assert all(each.level == "ok" for each in memory.vault.verify())


def test_a_key_makes_one_memory_among_changes_that_wait(opened: Callable[[], Memory]) -> None:
    memory = opened()
    memory.remember("the first")
    vault = vault_of(memory)
    vault.writer._mutex.acquire()
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(memory.remember, "Alex moved", key="move") for _ in range(4)]
        await_queue(vault, 4)
        vault.writer._mutex.release()
        assert len({each.result().id for each in waiting}) == 1
    assert len(memory.vault.entries("main")) == 2


def test_a_page_too_large_for_one_call_is_stored_whole(opened: Callable[[], Memory]) -> None:
    one, other = opened(), opened()
    large = "x" * (LARGE + 1)
    one.vault.put_page(PAGE, "small\n", expects=None, by=OWNER)
    page = one.vault.page(PAGE)
    assert page
    one.vault.put_page(PAGE, large, expects=page.hash, by=OWNER)
    found = other.vault.page(PAGE)
    assert found
    assert found.text == large


def test_listeners_hear_of_every_change_once_and_in_order(opened: Callable[[], Memory]) -> None:
    memory, heard = opened(), list[int]()
    memory.remember("the first")
    memory.subscribe(lambda line: heard.append(line.seq))
    start = memory.vault.head
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(memory.remember, [f"note {number}" for number in range(40)]))
    assert heard == list(range(start + 1, start + 41))
    assert len(memory.recall("note", limit=60)) == 40


def test_a_page_that_another_server_changed_is_not_overwritten(opened: Callable[[], Memory]) -> None:
    one, other = opened(), opened()
    one.vault.put_page(PAGE, "one\n", expects=None, by=OWNER)
    seen = other.vault.page(PAGE)
    assert seen
    assert seen.text == "one\n"
    one.vault.put_page(PAGE, "two\n", expects=seen.hash, by=OWNER)
    with pytest.raises(PageChangedError) as caught:
        other.vault.put_page(PAGE, "three\n", expects=seen.hash, by=OWNER)
    assert caught.value.current == b"two\n"


def test_what_is_made_inside_exclusive_is_stored_together_or_not_at_all(opened: Callable[[], Memory]) -> None:
    one, other = opened(), opened()
    one.remember("kept")
    head = one.vault.head

    def fail() -> None:
        with one.vault.exclusive():
            one.remember("taken back")
            assert "taken back" in texts(one, "taken back"), "whoever writes sees it"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert one.vault.head == head
    assert "taken back" not in [*texts(one, "taken back"), *texts(other, "taken back")]
    with one.vault.exclusive():
        one.remember("made one")
        one.remember("made two")
    assert {"made one", "made two"} <= set(texts(other, "made one two"))
    assert all(each.level == "ok" for each in one.vault.verify())


def test_a_home_that_another_holds_is_busy_after_the_timeout(
    opened: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMFOLIO_LOCK_TIMEOUT", "0.3")
    one, other = opened(), opened()
    with one.vault.exclusive(), pytest.raises(HomeBusyError):
        other.remember("cannot be now")
    assert other.remember("can be now").content == "can be now"


def test_undo_and_rollback_go_back_without_git(opened: Callable[[], Memory], clock: SettableClock) -> None:
    memory = opened()
    vault = memory.vault
    vault.put_page(PAGE, "one\n", expects=None, by=OWNER)
    kept = memory.remember("stays")
    then = clock.now()
    clock.advance(hours=1)
    page = vault.page(PAGE)
    assert page
    edited = vault.put_page(PAGE, "two\n", expects=page.hash, by=OWNER).seq
    memory.audit.undo(edited, by=OWNER)
    assert vault.content(PAGE) == b"one\n"
    memory.remember("goes")
    page = vault.page(PAGE)
    assert page
    vault.put_page(PAGE, None, expects=page.hash, by=OWNER)
    assert vault.content(PAGE) is None
    outcome = memory.audit.rollback(to=then + timedelta(minutes=1), by=OWNER)
    assert PAGE in outcome.paths
    assert vault.content(PAGE) == b"one\n"
    assert [item.id for item in vault.entries("main")] == [kept.id]
    assert "goes" in memory.audit.diff(vault.head)
    with pytest.raises(NotFoundError):
        memory.audit.rollback(to="999", by=OWNER)
    assert all(each.level == "ok" for each in vault.verify())


def test_what_is_purged_is_in_no_version_and_after_a_vacuum_in_no_page(
    opened: Callable[[], Memory], server: OwnServer
) -> None:
    one, other = opened(), opened()
    secret = "The passphrase of the greenhouse is Ottilie-Marzipan"
    kept, gone = one.remember("the greenhouse is warm"), one.remember(secret)
    one.remember("written behind it")
    assert secret in texts(other, "passphrase greenhouse")
    vault = vault_of(one)
    failed = "UPDATE memfolio.jobs SET error = %s WHERE home = %s RETURNING 1"
    assert vault.rows.ask(failed, [secret, vault.rows.home])
    done = one.purge(gone.id, by=OWNER)
    assert done.proof is not None
    assert done.proof.left == ()
    pieces = vault.rows.ask("SELECT data FROM memfolio.pieces WHERE home = %s", [vault.rows.home])
    assert not any(b"Ottilie" in (data or b"") for (data,) in pieces)
    assert secret not in texts(other, "passphrase greenhouse")
    assert {item.id for item in one.vault.entries("main")} >= {kept.id}
    assert one.vault.trail.problems() == []
    rewrite_heap(server.owner_url)
    heap = [each.read_bytes() for each in (server.folder / "data" / "base").rglob("*") if each.is_file()]
    assert heap
    assert not any(b"Ottilie-Marzipan" in each for each in heap)


def test_a_job_that_takes_long_keeps_its_lease(opened: Callable[[], Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "LEASE_SECONDS", 1)
    one, other = opened().vault, opened().vault
    with one.holding("tend"):
        for _ in range(3):
            time.sleep(0.7)
            with pytest.raises(HomeBusyError), other.holding("tend"):
                pass
    with other.holding("tend"):
        pass


def test_who_listens_at_one_server_hears_what_another_writes(
    opened: Callable[[], Memory], path: Path, clock: SettableClock
) -> None:
    other = opened()

    async def listen() -> bytes:
        hall = Hall(load_config(path))
        token, _ = hall.tokens.create("ear", "main", now=clock.now())
        async with aclosing(changes(hall, token, None)) as heard:
            await anext(heard)
            await asyncio.to_thread(other.remember, "the bell rings")
            found = await asyncio.wait_for(anext(heard), 30)
        await asyncio.to_thread(hall.close)
        return found

    assert b"event: change" in asyncio.run(listen())


def test_tokens_hints_and_leases_are_shared_by_servers(opened: Callable[[], Memory], clock: SettableClock) -> None:
    one, other = opened().vault, opened().vault
    token, secret = Tokens(one.home).create("phone", "main", "read", now=clock.now())
    assert Tokens(other.home).bearer(secret) == token
    one.note_hint("seen.json", {"a": 1})
    assert (other.hint("seen.json"), other.hint("none.json")) == ({"a": 1}, {})
    with one.holding("tend"), pytest.raises(HomeBusyError), other.holding("tend"):
        pass
    with other.holding("tend"):
        pass


def test_a_database_that_lacks_what_was_seen_is_an_alarm(opened: Callable[[], Memory], server: OwnServer) -> None:
    memory = opened()
    vault = vault_of(memory)
    memory.remember("seen")
    with psycopg.connect(server.owner_url, autocommit=True) as conn:
        conn.execute("UPDATE memfolio.homes SET seq = seq - 1 WHERE home = %s", [vault.rows.home])
    with pytest.raises(StoreRewoundError):
        memory.remember("must not be merged")
    memory.recall("seen")
    assert any("change" in each for each in memory.searcher.degraded())
    with psycopg.connect(server.owner_url, autocommit=True) as conn:
        conn.execute("UPDATE memfolio.homes SET seq = seq + 1 WHERE home = %s", [vault.rows.home])
    memory.remember("goes on")


def test_a_role_that_passes_over_row_security_is_refused(server: OwnServer, name: str, quick_path: Path) -> None:
    overrides = {"store": "postgres", "database_url": server.owner_url}
    with pytest.raises(RefusedError, match="row security"):
        Vault.open(config=load_config(quick_path / name, overrides=overrides))


def test_a_database_without_tables_says_how_to_make_them(server: OwnServer) -> None:
    with psycopg.connect(server.owner_url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE bare")
    bare = server.url.replace("/memfolio?", "/bare?")
    database = HomeDatabase(bare)
    with pytest.raises(ConfigError, match="version 0"):
        database.ask(1, "SELECT 1")
    assert migrate(server.owner_url.replace("/memfolio?", "/bare?"), "memfolio") == (0, 3)
    assert database.ask(1, "SELECT 1") == [(1,)]
    database.drop_idle()


def test_a_server_that_is_not_there_is_said_within_the_deadline(quick_path: Path, name: str) -> None:
    overrides = {"store": "postgres", "database_url": f"postgresql://nobody@/none?host={quick_path}"}
    with pytest.raises(StoreUnavailableError) as caught:
        Vault.open(config=load_config(quick_path / name, overrides=overrides))
    assert not caught.value.may_have_happened


def test_a_change_of_a_critical_file_alerts(opened: Callable[[], Memory]) -> None:
    vault = opened().vault
    page = PutPage("agents/main/SOUL.md", b"kind\n", None)
    vault.apply(Change(operations=(page,), by=HUMAN, action=Action.EDIT))
    assert [line.about for line in vault.alerts()] == [(vault.head - 1,)]
    vault.acknowledge([vault.head])
    assert vault.alerts() == []


def test_a_pooler_in_transaction_mode_may_stand_in_between(
    server: OwnServer, quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection to the server for all, so that whatever a transaction left in it would show in another home."""
    with pooled(server, 1) as (pooler, url), ThreadPoolExecutor(6) as pool:
        monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
        monkeypatch.setenv("MEMFOLIO_DATABASE_URL", url)
        names = [f"{quick_path.name}-{which}" for which in "aabbcc"]
        stored = dict(pool.map(lambda name: live_in(quick_path / name), names))
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as conn:
            left = conn.execute("SELECT current_setting('memfolio.home', true)").fetchone()
            assert left in {(None,), ("",)}
        assert pooler.clients > 3
        assert pooler.lent > 200
    assert len(stored) == 3


def live_in(path: Path) -> tuple[str, int]:
    """Write and ask in a home, as another server does at the same time."""
    config = load_config(path, overrides={"cache": str(path.parent / secrets.token_hex(4))})
    with Memory.open(config, background=False) as memory:
        made = [memory.remember(f"{path.name} says {number}") for number in range(12)]
        memory.forget(made[3].id)
        with memory.vault.exclusive():
            memory.core.add("Identity", f"{path.name} {made[0].id}")
        with memory.vault.holding(made[0].id):
            assert path.name in (memory.context("says 5") or "")
        assert {path.name in hit.memory.content for hit in memory.recall("says 5")} == {True}
        assert all(path.name in item.content for item in memory.vault.entries("main"))
        assert all(each.level == "ok" for each in memory.vault.verify())
        return path.name, len(memory.vault.entries("main"))
