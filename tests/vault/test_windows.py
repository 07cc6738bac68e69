"""A memory on a disk with the rules of Windows: what one does in a day works, and nothing it may not do is tried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import InputError, Memory
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.serve.cli.call import PERSON
from memfolio.vault.vault import Vault
from tests.disks import RESERVED, WindowsDisk

LOG = "agents/main/memory/2026-11-15.md"


@contextmanager
def opened(home: Path, agent: str = "main") -> Iterator[tuple[Memory, WindowsDisk]]:
    disk, clock = WindowsDisk(), SettableClock(datetime(2026, 11, 15, 9, tzinfo=UTC))
    disk.root = home
    with Memory(Vault.open(config=load_config(home), clock=clock, disk=disk), agent, background=False) as memory:
        yield memory, disk


def test_day_of_a_memory(home: Path) -> None:
    with opened(home) as (memory, disk):
        tea = memory.remember("Alex prefers tea", type="preference")
        memory.observe("user", "Kim lives in Berlin", session="s")
        coffee = memory.correct(tea.id, "Alex prefers coffee")
        memory.core.add("identity", "Alex is allergic to walnuts")
        memory.checkpoint("Migrating the login", next_steps=["Write the rollback"])
        memory.facts.assert_("Kim", "likes", "bees")
        memory.forget(coffee.id)
        memory.restore(coffee.id)
        memory.end_session("s")
        memory.tend()
        seq = memory.audit.log(limit=1)[0].seq
        memory.audit.undo([seq], by=PERSON)
        assert memory.recall("What does Alex drink?")[0].memory.content == "Alex prefers coffee"
        assert memory.vault.commit() == 0
        assert all(finding.level != "error" for finding in memory.vault.verify())
        assert disk.refused == []
    with opened(home) as (memory, disk):
        assert memory.recall("bees")
        assert disk.refused == []


def test_file_that_an_editor_saved_with_its_line_ends_is_read_and_written_on(home: Path) -> None:
    with opened(home) as (memory, _):
        memory.remember("Alex prefers tea")
    log = home / LOG
    log.write_bytes(log.read_bytes().replace(b"tea", b"coffee").replace(b"\n", b"\r\n"))
    with opened(home) as (memory, disk):
        memory.sync()
        assert memory.recall("drink")[0].memory.content == "Alex prefers coffee"
        memory.remember("Kim keeps bees")
        assert {hit.memory.content for hit in memory.recall("", limit=9)} == {"Alex prefers coffee", "Kim keeps bees"}
        assert disk.refused == []


def test_page_is_the_same_in_capitals_and_small_letters(home: Path) -> None:
    with opened(home) as (memory, disk):
        memory.core.add("identity", "Alex is allergic to walnuts")
        path = home / "agents/main/MEMORY.md"
        path.rename(path.with_name("Memory.md"))
        memory.core.add("identity", "Alex lives in Bergen")
        assert sorted(each.name for each in path.parent.glob("*.md")) in (["MEMORY.md"], ["Memory.md"])
        assert disk.refused == []


def test_file_that_somebody_holds_open_is_not_damaged_and_nothing_is_lost(home: Path) -> None:
    with opened(home) as (memory, disk):
        memory.core.add("identity", "Alex is allergic to walnuts")
        path = home / "agents/main/MEMORY.md"
        before, held = path.read_bytes(), disk.open(path, 0)
        with pytest.raises(Exception, match="replace or remove what is open"):
            memory.core.add("identity", "Alex lives in Bergen")
        assert path.read_bytes() == before
        disk.close(held)
    with opened(home) as (memory, _):
        memory.core.add("identity", "Alex has a dog")
        assert "walnuts" in path.read_text(encoding="utf-8")
        assert "dog" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(RESERVED)[:6])
def test_agent_cannot_have_a_name_that_windows_does_not_have(home: Path, name: str) -> None:
    with pytest.raises(InputError, match="Windows"):
        Memory.open(home, name)
    assert not (home / "agents" / name).exists()


def test_names_that_memfolio_gives_are_ones_that_windows_has_and_short(home: Path) -> None:
    with opened(home) as (memory, disk):
        memory.observe("user", "Kim lives in Berlin", session="a" * 100)
        memory.end_session("a" * 100)
        memory.procedures.add("Deploy: to *production*? <now>", steps=["Build", "Ship"])
        memory.tend()
        assert disk.refused == []
    inside = [path.relative_to(home) for path in home.rglob("*") if ".git" not in path.parts]
    assert max(len(str(path)) for path in inside) <= 160
