"""What is found in a file that somebody else, or a process that died, has written to."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import DiskError, HomeBusyError, InputError
from memfolio.types import Attribution
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.move import cut_out
from memfolio.vault.paths import archive_log
from memfolio.vault.vault import OWNER, Vault
from tests.vault.proof import BOT, configured, fork, item

PAGE = "agents/main/MEMORY.md"


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with Vault.open(config=configured(home), clock=clock) as opened:
        yield opened


def contents(vault: Vault) -> list[str]:
    return [each.content for each in vault.entries("main")]


class DyingDisk(Disk):
    """A disk under which the process dies as soon as it appends to a file of this name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def append(self, path: Path, data: bytes, *, sync: bool) -> Stamp:
        if self.folder in path.as_posix() and b"key" in data and b"APPEND" in data:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().append(path, data, sync=sync)


@pytest.mark.parametrize("hours", [0, -24, 24])
@pytest.mark.parametrize("place", ["/audit/", "/.memfolio/"])
def test_a_key_that_a_dying_process_used_is_not_used_again(
    home: Path, vault: Vault, clock: SettableClock, place: str, hours: int
) -> None:
    vault.add("main", [item("warm")], BOT, key="other")

    def remember_and_die() -> None:
        clock.advance(hours=hours)
        with Vault.open(config=configured(home), disk=DyingDisk(place), clock=clock) as dying:
            dying.add("main", [item("only once")], BOT, key="k")

    pid = fork(remember_and_die)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    again = vault.add("main", [item("only once")], BOT, key="k")
    assert again.repeated
    assert sorted(contents(vault)) == ["only once", "warm"]
    assert again.ids[0] in [each.id for each in vault.entries("main")]


class BusyDisk(Disk):
    """A disk on which somebody else is always faster, once it is switched on."""

    busy = False

    def append_if(self, path: Path, data: bytes, expected: Stamp | None, *, sync: bool = True) -> Stamp | None:
        return None if self.busy else super().append_if(path, data, expected, sync=sync)


def test_a_change_that_cannot_be_made_is_not_made_later_either(home: Path) -> None:
    disk = BusyDisk()
    with Vault.open(config=configured(home), disk=disk) as vault:
        vault.add("main", [item("first")], BOT)
        disk.busy = True
        with pytest.raises(HomeBusyError):
            vault.add("main", [item("one"), item("two")], BOT)
        disk.busy = False
        vault.add("main", [item("one"), item("two")], BOT)
        assert contents(vault) == ["first", "one", "two"]
        assert vault.trail.problems() == []


def test_a_stale_editor_that_saves_twice_destroys_nothing(home: Path, vault: Vault) -> None:
    log = home / vault.add("main", [item("first")], BOT).paths[0]
    buffer = log.read_bytes()
    vault.add("main", [item("second")], BOT)
    log.write_bytes(buffer + b"\n- a note\n")
    vault.survey()
    vault.add("main", [item("third")], BOT)
    log.write_bytes(buffer + b"\n- a note\n- another\n")
    vault.survey()
    assert contents(vault) == ["first", "a note", "another", "second", "third"]
    assert b"- another" in log.read_bytes()


def test_a_deletion_that_looks_like_a_stale_save_is_told_and_sticks_the_second_time(home: Path, vault: Vault) -> None:
    log = home / vault.add("main", [item("first")], BOT).paths[0]
    without = log.read_bytes()
    [late] = vault.add("main", [item("second")], BOT).ids
    log.write_bytes(without)
    vault.survey()
    assert contents(vault) == ["first", "second"]
    [notice] = vault.notices
    assert "1 entry that an older copy of the file had overwritten was put back" in notice
    log.write_bytes(without)
    vault.survey()
    assert contents(vault) == ["first"]
    assert len(vault.notices) == 1
    vault.add("main", [item("third")], BOT)
    assert contents(vault) == ["first", "third"]
    edits = [line for line in vault.trail.lines() if line.by.actor == "human"]
    assert [line.ids for line in edits] == [(late,), (late,)], "the trail says which entry was deleted"


def test_a_displaced_log_is_kept_without_what_was_forgotten(home: Path, vault: Vault) -> None:
    receipt = vault.add("main", [item("first"), item("the pin is 7788")], BOT)
    path, mark = receipt.paths[0], receipt.ids[1]
    old = (home / path).read_bytes().replace(b"first", b"first, by hand")
    cut_out(vault, {path: [mark]}, by=BOT, records=[{"op": "tombstone", "memory": mark}])
    archived = (home / archive_log(path)).read_bytes()
    leftover = home / path
    leftover.with_name(f".{leftover.name}.0123456789ab.tmp").write_bytes(old)
    vault.survey()
    [aside] = (home / "agents/main/memory/conflicts").iterdir()
    assert b"first, by hand" in aside.read_bytes()
    assert b"7788" not in aside.read_bytes()
    assert (home / archive_log(path)).read_bytes() == archived


def test_odd_ids_in_a_file_of_json_lines_stop_nothing(home: Path, vault: Vault) -> None:
    export = home / "agents/main/export.jsonl"
    export.parent.mkdir(parents=True)
    export.write_text('{"id":"one"}\n{"id":"two-x-y"}\n')
    vault.survey()
    export.write_text('{"id":"one"}\n')
    assert vault.survey() == ["agents/main/export.jsonl"]
    assert export.read_text() == '{"id":"one"}\n'


def test_an_entry_that_a_person_copied_out_of_a_large_change_is_the_persons(home: Path, vault: Vault) -> None:
    receipt = vault.add("main", [item(f"number {number}") for number in range(20)], BOT)
    log = home / receipt.paths[0]
    block = log.read_text().split("\n## ")[10]
    other = home / "agents/main/memory/2026-11-14.md"
    other.write_text(f"# 2026-11-14 · Saturday\n\n## {block}")
    vault.survey()
    assert vault.past.log(limit=1)[0].actor == "human"


def test_prose_and_broken_text_are_refused_as_identifiers() -> None:
    for session in ("two words", "\ud800", "a·b", ""):
        with pytest.raises(InputError):
            Attribution(actor="bot:x", session=session)


def test_a_page_with_a_name_that_other_systems_refuse_can_be_changed_where_it_is(home: Path, vault: Vault) -> None:
    path = "agents/main/Why?.md"
    (home / path).parent.mkdir(parents=True)
    (home / path).write_text("because\n")
    vault.survey()
    known = vault.journal.files.get(path)
    assert known is not None
    vault.put_page(path, "because of that\n", expects=known.hash, by=OWNER)
    assert (home / path).read_text() == "because of that\n"


class StuckDisk(Disk):
    """A disk that stops working in the middle of a change, and does not let it be taken back either."""

    stuck = False

    def rename(self, source: Path, target: Path) -> None:
        if self.stuck and ".memfolio" not in target.as_posix():
            raise OSError(5, "Input/output error")
        super().rename(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        if self.stuck:
            raise OSError(5, "Input/output error")
        return super().exchange(one, other)


def test_a_page_that_the_disk_refuses_is_as_it_was(home: Path) -> None:
    disk = StuckDisk()
    with Vault.open(config=configured(home), disk=disk) as vault:
        vault.put_page(PAGE, "one\n", expects=None, by=BOT)
        page = vault.page(PAGE)
        assert page is not None
        disk.stuck = True
        with pytest.raises(DiskError):
            vault.put_page(PAGE, "two\n", expects=page.hash, by=BOT)
        disk.stuck = False
        assert (home / PAGE).read_text() == "one\n"
        vault.put_page(PAGE, "three\n", expects=page.hash, by=BOT)
        assert vault.trail.problems() == []
