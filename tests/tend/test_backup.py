"""Backups: whole, readable, rotated, and good for coming back."""

from __future__ import annotations

import os
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import DiskError, InputError
from memfolio.memory import Memory
from memfolio.tend.backup import BackedUp, back_up, backup_folder, backups
from memfolio.vault.disk import Disk
from memfolio.vault.vault import OWNER, Vault


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def make(memory: Memory, folder: Path, keep: int = 7) -> BackedUp:
    return back_up(memory.vault, folder, keep, memory.vault.home.now())


def unpacked(made: BackedUp, into: Path) -> Path:
    with tarfile.open(made.path) as tar:
        tar.extractall(into, filter="tar")
    return into / "home"


def test_home_comes_back_from_its_backup(memory: Memory, folder: Path, tmp_path: Path) -> None:
    item = memory.remember("Alex drinks tea")
    memory.forget(memory.remember("My number is 555").id)
    made = make(memory, folder)
    memory.remember("Something later")
    with Memory.open(unpacked(made, tmp_path / "again"), background=False) as again:
        assert again.vault.trouble is None
        assert [hit.memory.id for hit in again.recall("tea")] == [item.id]
        assert [each.content for each in again.vault.entries("main")] == ["Alex drinks tea"]
        again.remember("It goes on")
        again.vault.commit()
        assert [each for each in again.vault.verify() if each.level in ("error", "warning")] == []


def test_changes_can_be_undone_in_what_came_back(memory: Memory, folder: Path, tmp_path: Path) -> None:
    item = memory.remember("Alex drinks tea")
    again = Vault.open(unpacked(make(memory, folder), tmp_path / "again"))
    with again:
        again.past.undo([again.head], by=OWNER)
        assert again.entries("main") == []
    assert memory.get(item.id) is not None


def test_name_tells_home_and_time_and_nobody_else_may_read_it(memory: Memory, folder: Path) -> None:
    made = make(memory, folder)
    assert made.path == folder / "memfolio-home-2026-11-15-143005.tar.gz"
    assert made.size == made.path.stat().st_size
    if os.name == "posix":
        assert made.path.stat().st_mode & 0o077 == 0


def test_two_of_one_second_are_two(memory: Memory, folder: Path) -> None:
    names = [make(memory, folder).path.name for _ in range(2)]
    assert names[1] == "memfolio-home-2026-11-15-143005-2.tar.gz"
    assert [each.path.name for each in backups(memory.vault, folder)] == names


def test_locks_stay_out_and_everything_else_is_in(memory: Memory, home: Path, folder: Path) -> None:
    memory.remember("Alex drinks tea")
    (home / "shopping.txt").write_text("bread")
    (home / "link").symlink_to("shopping.txt")
    memory.vault.commit()
    made = make(memory, folder)
    with tarfile.open(made.path) as tar:
        names = set(tar.getnames())
        assert tar.getmember("home/link").linkname == "shopping.txt"
    assert {"home/memfolio.toml", "home/shopping.txt", "home/.memfolio/key", "home/.git/HEAD"} <= names
    assert not {name for name in names if name.endswith("lock")}


def test_what_programs_keep_for_a_moment_stays_out(memory: Memory, home: Path, folder: Path) -> None:
    (home / ".notes").mkdir()
    for name in ("a.md~", ".b.md.swp", "c.tmp", ".notes/settings"):
        (home / name).write_text("x")
    with tarfile.open(make(memory, folder).path) as tar:
        names = set(tar.getnames())
    assert "home/.notes/settings" in names
    assert not {f"home/{name}" for name in ("a.md~", ".b.md.swp", "c.tmp")} & names


def test_file_that_vanishes_meanwhile_is_left_out(memory: Memory, home: Path, folder: Path) -> None:
    (home / "notes").mkdir()
    stop = threading.Event()

    def write_and_remove() -> None:
        while not stop.is_set():
            for number in range(200):
                (home / "notes" / f"{number}.txt").write_text("x")
            for number in range(200):
                (home / "notes" / f"{number}.txt").unlink()

    person = threading.Thread(target=write_and_remove)
    person.start()
    try:
        for _ in range(10):
            assert make(memory, folder).size
    finally:
        stop.set()
        person.join()


@pytest.mark.parametrize("keep", [0, -1])
def test_keeping_none_is_refused(memory: Memory, folder: Path, keep: int) -> None:
    make(memory, folder)
    with pytest.raises(InputError, match="cannot be kept"):
        make(memory, folder, keep=keep)
    assert len(backups(memory.vault, folder)) == 1


def test_file_in_place_of_a_folder_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        backup_folder(memory.vault, tmp_path / "good.txt")


def test_only_the_newest_are_kept(memory: Memory, clock: SettableClock, folder: Path) -> None:
    made = []
    for _ in range(4):
        made.append(make(memory, folder, keep=2))
        clock.advance(days=1)
    assert [each.path for each in backups(memory.vault, folder)] == [made[2].path, made[3].path]
    assert made[3].removed == (made[1].path,)


def test_files_of_others_are_never_removed(memory: Memory, clock: SettableClock, folder: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other" / "home", clock=clock, background=False) as other:
        foreign = make(other, folder).path
    (folder / "notes.txt").write_text("mine")
    odd = folder / "memfolio-home-2020-01-01-000000.tar.gz"
    odd.write_bytes(b"not a backup")
    for _ in range(3):
        clock.advance(days=1)
        make(memory, folder, keep=1)
    assert {foreign, odd, folder / "notes.txt"} < set(folder.iterdir())
    assert len(backups(memory.vault, folder)) == 1


def test_inside_the_home_is_refused(memory: Memory, home: Path) -> None:
    for inside in (home, home / "backups", home / ".." / "home" / "x"):
        with pytest.raises(InputError, match="inside the home"):
            backup_folder(memory.vault, inside)


def test_configured_folder_lies_beside_the_home(memory: Memory, home: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        backup_folder(memory.vault)
    config = load_config(home)
    with Vault.open(config=replace(config, backup=replace(config.backup, folder="copies"))) as vault:
        assert backup_folder(vault) == home.parent / "copies"


def test_full_disk_leaves_nothing_and_the_older_ones(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = make(memory, folder).path

    def fail(disk: Disk, fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Disk, "fsync", fail)
        with pytest.raises(DiskError):
            back_up(memory.vault, folder, 1, memory.vault.home.now())
    assert list(folder.iterdir()) == [older]


def test_copy_is_of_one_moment_while_others_write(home: Path, folder: Path, tmp_path: Path) -> None:
    with Memory.open(home, background=False) as memory:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                memory.remember("Alex drinks tea")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            made = [make(memory, folder) for _ in range(3)]
        finally:
            stop.set()
            writer.join()
    for number, each in enumerate(made):
        with Vault.open(unpacked(each, tmp_path / str(number))) as vault:
            assert [line for line in vault.trail.lines() if line.by.actor in ("human", "system:recover")] == []
            assert vault.commit() == 0
            assert [found for found in vault.verify() if found.level in ("error", "warning")] == []
