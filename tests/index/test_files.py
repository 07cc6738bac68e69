"""The files of an index: what a new one takes over from the one before, what is left lying about, and who may read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import pytest

from memfolio import Memory
from memfolio.index.database import JOURNAL_BYTES, newest
from memfolio.index.index import FileIndexer
from memfolio.index.schema import VERSION
from memfolio.index.vectors import text_hash
from tests.embed.test_vectorizer import Unsteady, fill_up, waiting
from tests.index.proof import assert_index_equals_rebuilt, opened

PAGE = 4096


def fill(memory: Memory) -> None:
    memory.searcher.vectorizer.fill(memory.searcher.index)
    assert waiting(memory) == 0


def is_paid(memory: Memory, text: str) -> bool:
    sql = "SELECT count(*) FROM embeddings WHERE hash = ?"
    return bool(memory.searcher.index.read(lambda connection: connection.execute(sql, (text_hash(text),)).get))


def index_file(memory: Memory) -> Path:
    path = newest(memory.vault.config.cache, "main")
    assert path is not None
    return path


# Vectors that were paid for


def furnish(home: Path, embedder: Unsteady) -> Path:
    with opened(home, embedder=embedder, timezone="UTC") as memory:
        fill_up(memory)
        fill(memory)
        return index_file(memory)


def test_paid_vectors_outlive_a_change_of_the_time_zone(home: Path) -> None:
    embedder = Unsteady(costly=True)
    furnish(home, embedder)
    calls = embedder.calls
    with opened(home, embedder=embedder, timezone="Asia/Tokyo") as memory:
        fill(memory)
        assert embedder.calls == calls
        assert memory.searcher.index.builds == 1
        assert_index_equals_rebuilt(memory)


def test_paid_vectors_outlive_another_form_of_the_index(home: Path) -> None:
    embedder = Unsteady(costly=True)
    path = furnish(home, embedder)
    path.rename(path.with_name(path.name.replace(f".v{VERSION}-", f".v{VERSION - 1}-")))
    calls = embedder.calls
    with opened(home, embedder=embedder, timezone="UTC") as memory:
        fill(memory)
        assert embedder.calls == calls
        assert [each.name for each in path.parent.glob("main*.db")] == [index_file(memory).name]


def test_file_of_another_form_without_paid_vectors_hinders_nothing(home: Path) -> None:
    path = furnish(home, Unsteady())
    path.unlink()
    apsw.Connection(str(path.with_name(f"main.v{VERSION - 1}-000001-00000000.db"))).execute("CREATE TABLE t (x)")
    path.with_name(f"main.v{VERSION - 2}-000001-00000000.db").write_bytes(b"no database" * 1000)
    with opened(home, embedder=Unsteady(costly=True), timezone="UTC") as memory:
        fill(memory)
        assert memory.searcher.notices() == []


def test_paid_vector_goes_with_its_text(home: Path) -> None:
    embedder = Unsteady(costly=True)
    furnish(home, embedder)
    calls = embedder.calls
    with opened(home, embedder=embedder, timezone="UTC") as memory:
        assert is_paid(memory, "tea number 3")
        log = next((home / "agents/main/memory").glob("*.md"))
        log.write_text(log.read_text().replace("tea number 3", "a teapot"))
        memory.sync()
        memory.reindex()
        assert not is_paid(memory, "tea number 3")
        assert is_paid(memory, "tea number 4")
        assert embedder.calls == calls + 1


# What is left lying about


def test_what_a_killed_process_was_building_is_removed_and_what_is_being_built_is_not(home: Path) -> None:
    with opened(home) as memory:
        folder = memory.vault.config.cache
        folder.mkdir(parents=True, exist_ok=True)
        left, current = folder / ".main-0011.building", folder / ".main-2233.building"
        for path in (left, current):
            path.write_bytes(b"half")
        os.utime(left, (time.time() - 4000, time.time() - 4000))
        memory.remember("tea")
        memory.recall("tea")
        assert [path for path in (left, current) if path.exists()] == [current]


def journal(memory: Memory) -> int:
    path = Path(f"{index_file(memory)}-wal")
    return path.stat().st_size if path.exists() else 0


def beside(memory: Memory) -> set[str]:
    path = index_file(memory)
    return {each.name.removeprefix(path.name) for each in path.parent.iterdir()} - {""}


def test_who_only_reads_makes_no_log_beside_the_index(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("tea")
        memory.recall("tea")
        memory.remember("more tea")
        memory.recall("tea")
        assert beside(memory) == {"-wal", "-shm"}
    for _ in range(2):
        with opened(home) as memory:
            assert len(memory.recall("tea")) == 2
            assert beside(memory) == set()


def test_writer_and_readers_share_an_index_that_was_at_rest(home: Path) -> None:
    with opened(home) as first:
        first.remember("tea")
    with opened(home) as first, opened(home) as second:
        assert len(first.recall("tea")) == len(second.recall("tea")) == 1
        second.remember("more tea")
        assert len(second.recall("tea")) == len(first.recall("tea")) == 2
        second.close()
        assert len(first.recall("tea")) == 2
        assert_index_equals_rebuilt(first)
    with opened(home) as memory:
        assert len(memory.recall("tea")) == 2


def write_pages(memory: Memory, count: int) -> None:
    """Have so many pages of the index changed, in transactions of a hundred."""

    def write(connection: apsw.Connection) -> None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('padding', randomblob(?))", (100 * PAGE,))

    for _ in range(count // 100):
        memory.searcher.index.write(write)


def test_journal_stays_small_though_nobody_has_time_for_it(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("tea")
        memory.recall("tea")
        write_pages(memory, 8000)
        assert journal(memory) < 5000 * PAGE
        assert memory.recall("tea")


def test_journal_is_emptied_when_there_is_time(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("tea")
        memory.recall("tea")
        write_pages(memory, 2000)
        assert journal(memory) > JOURNAL_BYTES
        memory.searcher.index.tidy()
        assert journal(memory) == 0
        assert memory.recall("tea")


@pytest.mark.serial
def test_journal_that_somebody_reads_is_left_alone_at_once(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("tea")
        memory.recall("tea")
        reader = apsw.Connection(str(index_file(memory)), vfs="cksmvfs")
        reader.execute("BEGIN; SELECT count(*) FROM meta")
        write_pages(memory, 2000)
        started = time.monotonic()
        memory.searcher.index.tidy()
        assert time.monotonic() - started < 1
        assert reader.execute("SELECT count(*) FROM meta WHERE key = 'padding'").get == 0
        reader.close()
        write_pages(memory, 200)
        memory.searcher.index.tidy()
        assert journal(memory) == 0


# Who may read


def test_index_is_for_its_owner_alone(home: Path) -> None:
    before = os.umask(0)
    try:
        with opened(home) as memory:
            memory.remember("tea")
            memory.recall("tea")
            folder = memory.vault.config.cache
            assert folder.stat().st_mode & 0o777 == 0o700
            modes = {path.name: path.stat().st_mode & 0o777 for path in folder.glob("main.v*")}
            assert len(modes) == 3
            assert set(modes.values()) == {0o600}
    finally:
        os.umask(before)


# Following


@pytest.mark.parametrize("error", [RuntimeError, MemoryError])
def test_change_that_could_not_be_filed_for_an_unforeseen_reason_is_found_all_the_same(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fails(*_: object) -> None:
        raise error("unforeseen")

    with opened(home) as memory:
        memory.remember("tea")
        memory.recall("tea")
        with monkeypatch.context() as patch:
            patch.setattr(FileIndexer, "take", fails)
            memory.remember("coffee in the morning")
        assert [hit.memory.content for hit in memory.recall("coffee")] == ["coffee in the morning"]
