"""A database that fails as databases do: its disk is full, a late standby takes over, its answers are lost."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from memfolio import Memory
from memfolio.errors import DiskFullError, StoreRewoundError, StoreUnavailableError
from memfolio.vault.postgres.database import HomeDatabase
from memfolio.vault.postgres.server import OwnServer, program
from memfolio.vault.vault import OWNER
from tests.index.proof import assert_index_equals_rebuilt
from tests.postgres.conftest import new_server

KEPT_FREE = 64 << 10
"""What is left of a disk that is filled up, in bytes: less than one large change needs."""
WELL_AND_KEY = ["the well is in the garden", "the key is under the mat"]


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnServer]:
    """A server whose data is on a disk of its own, which is small."""
    base = Path(tempfile.mkdtemp(prefix="memfolio-pg-"))
    os.chmod(base, 0o755)
    disk = base / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=96m,mode=755", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        shutil.rmtree(base)
        pytest.skip("only root may mount a file system here")
    server = new_server(disk / "server")
    try:
        server.start()
        monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
        monkeypatch.setenv("MEMFOLIO_DATABASE_URL", server.url)
        monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
        monkeypatch.setenv("MEMFOLIO_LOCK_TIMEOUT", "1")
        yield server
    finally:
        HomeDatabase.at(server.url).drop_idle()
        server.stop("immediate")
        subprocess.run(["umount", "-l", disk], check=True)
        shutil.rmtree(base)


@contextmanager
def filled(folder: Path, free: int = KEPT_FREE) -> Iterator[None]:
    """A disk on which nearly nothing is left, until this ends."""
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        file.write(bytes(max(0, shutil.disk_usage(folder).free - free)))
    yield
    ballast.unlink()


def large() -> str:
    """A text that no compression makes small."""
    return secrets.token_hex(50_000)


def remember_both(memory: Memory, one: str, other: str) -> None:
    with memory.vault.exclusive():
        memory.remember(one)
        memory.remember(other)


def test_a_full_disk_of_the_database_refuses_changes_and_answers_questions(
    cramped: OwnServer, quick_path: Path, name: str
) -> None:
    with Memory.open(quick_path / name, background=False) as memory:
        kept = [memory.remember(f"the well number {nth} is in the garden").id for nth in range(5)]
        with filled(cramped.folder.parent):
            with pytest.raises(DiskFullError, match="disk of the database is full") as caught:
                kept.extend(memory.remember(large()).id for _ in range(50))
            assert "free some space" in str(caught.value.hint)
            with pytest.raises(DiskFullError):
                memory.vault.put_page("agents/main/notes/large.md", large(), expects=None, by=OWNER)
            with pytest.raises(DiskFullError):
                remember_both(memory, "the first half", large())
            hits = memory.recall("where is the well number 3")
            assert hits[0].memory.id == kept[3]
            assert hits.degraded == ()
            assert memory.vault.trail.problems() == []
        kept += [memory.remember("there is room again").id, memory.remember(large()).id]
        assert sorted(item.id for item in memory.vault.entries("main")) == sorted(kept)
        assert all(each.level == "ok" for each in memory.vault.verify())
        assert_index_equals_rebuilt(memory, ["well"])


@pytest.mark.long
def test_a_server_that_stops_for_want_of_room_loses_nothing(cramped: OwnServer, quick_path: Path, name: str) -> None:
    """Without room for its write-ahead log, PostgreSQL stops."""
    with Memory.open(quick_path / name, background=False) as memory:
        kept = memory.remember("the well is in the garden").id
        with filled(cramped.folder.parent, 0):
            with psycopg.connect(cramped.owner_url, autocommit=True) as conn, pytest.raises(psycopg.OperationalError):
                conn.execute("SELECT pg_logical_emit_message(false, 'log', repeat('y', 50000000))")
            with pytest.raises(StoreUnavailableError):
                memory.remember("nobody takes this", key="once")
            hits = memory.recall("where is the well")
            assert hits[0].memory.id == kept
            assert any("does not answer" in each for each in hits.degraded)
        cramped.start()
        memory.remember("nobody takes this", key="once")
        stored = [item.content for item in memory.vault.entries("main")]
        assert stored == ["the well is in the garden", "nobody takes this"]
        assert all(each.level == "ok" for each in memory.vault.verify())


class Standby:
    """A standby that streams from a server, and takes over in its place."""

    def __init__(self, primary: OwnServer) -> None:
        self._primary, self._data = primary, primary.folder / "standby"
        self._socket = primary.folder / "s"
        self._socket.mkdir(mode=0o700)
        primary._own(self._socket)
        conninfo = primary.owner_url.replace("/memfolio?", "/?")
        command = [program("pg_basebackup"), "-d", conninfo, "-D", str(self._data)]
        primary._run([*command, "-R", "-X", "stream", "-c", "fast"])

    def start(self) -> None:
        log = str(self._primary.folder / "standby.log")
        options = ["-o", f"-k {self._socket}", "-l", log, "-w"]
        self._primary._run([program("pg_ctl"), "start", "-D", str(self._data), *options])

    def stop(self) -> None:
        self._primary._run([program("pg_ctl"), "stop", "-D", str(self._data), "-m", "fast", "-w"])

    def await_change(self, name: str, seq: int) -> None:
        """Wait until this change of a home has come over."""
        url = self._primary.owner_url.replace("server%2Fsocket", "server%2Fs")
        with psycopg.connect(url, autocommit=True) as conn:
            for _ in range(500):
                if conn.execute("SELECT seq FROM memfolio.homes WHERE name = %s", [name]).fetchone() == (seq,):
                    return
                time.sleep(0.02)
        pytest.fail(f"change {seq} does not come over")

    def take_over(self) -> None:
        """The primary is lost, and this server answers at its address."""
        primary = self._primary
        primary.stop("immediate")
        primary._data.rename(primary.folder / "lost")
        self._data.rename(primary._data)
        (primary._data / "standby.signal").unlink()  # as a promotion does
        primary.start()


@pytest.mark.long
def test_a_standby_without_the_last_changes_is_an_alarm_and_nothing_is_merged(
    quick_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Path(tempfile.mkdtemp(prefix="memfolio-pg-"))
    server = new_server(base / "server")
    server.start()
    monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
    monkeypatch.setenv("MEMFOLIO_DATABASE_URL", server.url)
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")

    def opened(cache: str) -> Memory:
        monkeypatch.setenv("MEMFOLIO_CACHE", str(quick_path / cache))
        return Memory.open(quick_path / name, background=False)

    try:
        with opened("one") as one, opened("idle") as idle:
            one.remember("the well is in the garden")
            standby = Standby(server)
            standby.start()
            one.remember("the key is under the mat")
            standby.await_change(name, one.vault.head)
            standby.stop()
            one.remember("the gate is green")
            assert idle.recall("gate green")[0].memory.content == "the gate is green"
            HomeDatabase.at(server.url).drop_idle()
            standby.take_over()
            for memory in (one, idle):
                with pytest.raises(StoreRewoundError):
                    memory.remember("must not be merged")
                assert any("as it was seen in it" in each for each in memory.recall("where is the key").degraded)
            with opened("fresh") as fresh:  # it knows of nothing that is lost, and makes the number of changes rise
                assert [item.content for item in fresh.vault.entries("main")] == WELL_AND_KEY
                for nth in range(3):
                    fresh.remember(f"written after the failover {nth}")
                seen = fresh.vault.head
                assert seen > one.vault.head
                for memory in (one, idle):
                    with pytest.raises(StoreRewoundError):
                        memory.remember("must not be merged")
                    assert memory.recall("the gate")[0].memory.content == "the gate is green"
                    assert any("as it was seen in it" in each for each in memory.recall("where is the key").degraded)
                assert fresh.vault.head == seen
                assert all(each.level == "ok" for each in fresh.vault.verify())
        with opened("one") as again:  # restarted, on the cache that knows what is lost
            stored = [item.content for item in again.vault.entries("main")]
            assert stored == [*WELL_AND_KEY, *(f"written after the failover {nth}" for nth in range(3))]
            assert "the gate is green" not in [hit.memory.content for hit in again.recall("gate green")]
            assert_index_equals_rebuilt(again, ["well", "failover"])
    finally:
        HomeDatabase.at(server.url).drop_idle()
        server.stop("immediate")
        shutil.rmtree(base)
