"""Following other processes: what they change is told once and in order, and where it cannot be, that is known."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import HomeReadOnlyError, NotOwnerError
from memfolio.types import Action
from memfolio.vault import journal
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.journal import Record
from memfolio.vault.vault import Vault
from tests.vault.proof import BOT, configured, files, fork, git, item, wait

PAGE = "shared/notes.md"


def open_vault(home: Path, clock: SettableClock | None = None, **overrides: object) -> Vault:
    return Vault.open(config=configured(home, **overrides), clock=clock)


def add(vault: Vault, text: str) -> int:
    return vault.add("main", [item(text)], BOT).seq


class Ear:
    """A subscriber that keeps the numbers of what it was told."""

    def __init__(self, vault: Vault) -> None:
        self.seqs: list[int] = []
        vault.subscribe(self.hear)

    def hear(self, record: Record) -> None:
        self.seqs.append(record.line.seq)


@pytest.fixture
def ours(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with open_vault(home, clock) as vault:
        yield vault


@pytest.fixture
def theirs(ours: Vault, home: Path, clock: SettableClock) -> Iterator[Vault]:
    """Another process, as far as the home can tell."""
    with open_vault(home, clock) as vault:
        yield vault


def test_a_change_of_another_process_is_told_on_refresh(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    told = [add(theirs, "one"), add(theirs, "two")]
    assert ear.seqs == []
    assert ours.refresh()
    assert ear.seqs == told
    assert ours.head == theirs.head == told[-1]


def test_nothing_is_told_twice(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    add(theirs, "one")
    assert ours.refresh()
    assert not ours.refresh()
    add(ours, "two")
    assert not ours.refresh()
    theirs.refresh()
    assert not ours.refresh()
    assert ear.seqs == [ours.head - 1, ours.head]


def test_a_change_found_by_our_own_write_is_told_before_it(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    first, second = add(theirs, "theirs"), add(ours, "ours")
    assert ear.seqs == [first, second]
    assert ours.epoch == 0


def test_what_git_takes_in_changes_nothing(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    add(theirs, "one")
    ours.refresh()
    theirs.commit()
    assert not ours.refresh()
    assert (len(ear.seqs), ours.epoch) == (1, 0)


def test_a_file_written_afresh_is_no_gap_for_whoever_knew_everything(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    first = add(theirs, "one")
    ours.refresh()
    theirs.commit()
    theirs.journal.rewrite()
    second = add(theirs, "two")
    assert ours.refresh()
    assert ear.seqs == [first, second]
    assert ours.epoch == 0


def test_a_file_written_afresh_with_all_bytes_leaves_no_gap(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    told = [add(theirs, "one"), add(theirs, "two")]
    theirs.journal.rewrite()
    assert ours.refresh()
    assert (ear.seqs, ours.epoch) == (told, 0)


def test_changes_that_were_dropped_let_the_epoch_grow(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    add(theirs, "one")
    theirs.commit()
    theirs.journal.rewrite()
    assert ours.refresh()
    assert (ear.seqs, ours.epoch) == ([], 1)
    assert ours.states() == theirs.states()
    assert ours.head == theirs.head
    assert add(ours, "two") == ear.seqs[-1]
    assert ours.epoch == 1


def test_a_key_used_in_a_dropped_change_is_not_used_again(ours: Vault, theirs: Vault) -> None:
    ours.add("main", [item("something")], BOT, key="mine")
    theirs.add("main", [item("once")], BOT, key="k-1")
    theirs.commit()
    theirs.journal.rewrite()
    assert ours.add("main", [item("once")], BOT, key="k-1").repeated


def test_a_lost_file_is_rebuilt_without_a_gap_when_nothing_was_missed(ours: Vault, theirs: Vault) -> None:
    ear = Ear(ours)
    add(ours, "one")
    ours.journal.path.unlink()
    assert not ours.refresh()
    assert (len(ear.seqs), ours.epoch) == (1, 0)
    add(theirs, "two")
    theirs.journal.path.unlink()
    assert ours.refresh()
    assert (len(ear.seqs), ours.epoch) == (1, 1)


class DyingDisk(Disk):
    """Dies before the journal can be written."""

    def append(self, path: Path, data: bytes, *, sync: bool) -> Stamp:
        if path.name == journal.NAME:
            os._exit(0)
        return super().append(path, data, sync=sync)


def test_a_change_whose_maker_died_before_telling_is_told(ours: Vault, home: Path) -> None:
    ear = Ear(ours)

    def die() -> None:
        add(Vault.open(config=configured(home), disk=DyingDisk()), "the last words")

    assert wait(fork(die)) == 0
    own = add(ours, "after that")
    assert ear.seqs == [own - 1, own]
    assert ours.epoch == 0


def test_two_processes_tell_each_other_everything(home: Path, tmp_path: Path) -> None:
    """A real process writes and dies; ours reads along and writes too."""
    code = """
import sys
from pathlib import Path
from tests.vault.proof import BOT, configured, item
from memfolio.vault.vault import Vault
with Vault.open(config=configured(Path(sys.argv[1]), commit_delay=0.01)) as vault:
    for number in range(60):
        vault.add("main", [item(f"theirs {number}")], BOT)
"""
    with open_vault(home, commit_delay=0.01) as vault:
        ear, start = Ear(vault), vault.head
        other = subprocess.Popen([sys.executable, "-c", code, str(home)], cwd=Path(__file__).parents[2])
        while other.poll() is None:
            vault.refresh()
            if vault.head % 7 == 0:
                add(vault, "ours")
        assert other.returncode == 0
        vault.refresh()
        assert ear.seqs == list(range(start + 1, vault.head + 1))
        assert vault.head >= start + 60
        assert vault.epoch == 0


def test_threads_that_share_a_vault_hear_everything_once(ours: Vault, theirs: Vault) -> None:
    ear, start = Ear(ours), ours.head

    def write(vault: Vault) -> None:
        for number in range(30):
            add(vault, f"{number}")

    threads = [threading.Thread(target=write, args=[each]) for each in (ours, ours, theirs)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ours.refresh()
    ours.refresh()
    assert ear.seqs == list(range(start + 1, start + 91))


def test_a_person_s_edit_found_by_another_process_is_told(ours: Vault, theirs: Vault, home: Path) -> None:
    found: list[Record] = []
    ours.subscribe(found.append)
    (home / PAGE).parent.mkdir()
    (home / PAGE).write_text("by hand\n")
    assert theirs.survey() == [PAGE]
    assert ours.refresh()
    assert [(record.line.action, record.line.paths) for record in found] == [(Action.CREATE, [PAGE])]
    assert found[0].writes[0].data == b"by hand\n"


def test_a_failing_listener_hides_nothing_from_the_others(
    ours: Vault, theirs: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(record: Record) -> None:
        raise RuntimeError(f"no room for {record.line.seq}")

    ours.subscribe(fail)
    ear = Ear(ours)
    told = [add(theirs, "one"), add(theirs, "two")]
    assert ours.refresh()
    assert ear.seqs == told
    assert "a subscriber failed" in caplog.text


def test_reading_along_starts_no_thread(ours: Vault, home: Path, clock: SettableClock) -> None:
    with open_vault(home, clock) as reader:
        ear = Ear(reader)
        add(ours, "one")
        running = threading.active_count()
        assert reader.refresh()
        assert len(ear.seqs) == 1
        assert threading.active_count() == running


def test_states_say_how_every_file_was_left(ours: Vault, home: Path) -> None:
    add(ours, "one")
    ours.put_page(PAGE, "two\n", expects=None, by=BOT)
    states = ours.states()
    assert states.keys() == files(home).keys()
    for path, content in files(home).items():
        assert (states[path].hash, states[path].size) == (ours.home.hash(content), len(content))
        assert states[path].stamp == ours.journal.stamp(path)


def test_states_are_a_copy(ours: Vault) -> None:
    ours.states().clear()
    assert ours.states()


def test_a_closed_vault_still_says_how_things_were(home: Path) -> None:
    with open_vault(home) as vault:
        add(vault, "one")
        before = vault.states()
    assert vault.states() == before
    assert not vault.refresh()


class ReadingDisk(Disk):
    """Notes which files are read."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def read(self, path: Path, start: int = 0) -> bytes | None:
        self.seen.append(path.name)
        return super().read(path, start)


def test_states_of_another_machine_s_home_are_read_from_its_files(ours: Vault, home: Path) -> None:
    add(ours, "one")
    ours.put_page(PAGE, "two\n", expects=None, by=BOT)
    disk = ReadingDisk()
    vault = Vault.open(config=configured(home, machine="elsewhere"), disk=disk)
    assert isinstance(vault.trouble, NotOwnerError)
    states = vault.states()
    assert {path: state.hash for path, state in states.items()} == {
        path: ours.home.hash(content) for path, content in files(home).items()
    }
    disk.seen.clear()
    ours.put_page(PAGE, "three\n", expects=ours.home.hash(b"two\n"), by=BOT)
    later = vault.states(states)
    assert set(disk.seen) <= {"notes.md", "memfolio.toml"}
    assert later[PAGE].hash == ours.home.hash(b"three\n")
    assert later.keys() == states.keys()


def test_changes_in_another_machine_s_home_let_the_epoch_grow(ours: Vault, home: Path) -> None:
    vault = open_vault(home, machine="elsewhere")
    before = vault.epoch
    assert not vault.refresh()
    add(ours, "one")
    assert vault.refresh()
    assert not vault.refresh()
    assert vault.epoch == before + 1


class ReadOnlyDisk(Disk):
    """A disk that is mounted read-only."""

    def open(self, path: Path, flags: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return super().open(path, flags)

    def mkdir(self, path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))


def test_a_read_only_home_without_its_secret_has_states(home: Path) -> None:
    with open_vault(home) as vault:
        vault.put_page(PAGE, "two\n", expects=None, by=BOT)
    (home / ".memfolio" / "key").unlink()
    vault = Vault.open(config=configured(home), disk=ReadOnlyDisk())
    assert isinstance(vault.trouble, HomeReadOnlyError)
    states = vault.states()
    assert states.keys() == files(home).keys()
    assert vault.states(states) == states
    assert not vault.refresh()


def test_a_file_that_cannot_be_read_hides_no_other(ours: Vault, home: Path) -> None:
    for name in ("one", "two"):
        ours.put_page(f"shared/{name}.md", f"{name}\n", expects=None, by=BOT)
    (home / "shared" / "one.md").unlink()
    (home / "shared" / "one.md").symlink_to(home / "shared" / "two.md")
    vault = open_vault(home, machine="elsewhere")
    states = vault.states()
    assert "shared/two.md" in states
    assert "shared/one.md" not in states


def test_a_forked_process_knows_that_it_may_have_missed_something(ours: Vault) -> None:
    add(ours, "one")

    def child() -> None:
        ear, epoch = Ear(ours), ours.epoch
        seq = add(ours, "from the child")
        assert ear.seqs == [seq]
        assert epoch == 1

    ear = Ear(ours)
    assert wait(fork(child)) == 0
    assert ours.refresh()
    assert (ear.seqs, ours.epoch) == ([ours.head], 0)


@pytest.mark.parametrize("packed", [False, True])
def test_looking_at_a_home_writes_nothing_and_loads_no_git(home: Path, packed: bool) -> None:
    with open_vault(home) as vault:
        vault.put_page("agents/main/SOUL.md", "kind\n", expects=None, by=BOT)
        add(vault, "one")
    if packed:
        git(home, "pack-refs", "--all")
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}
    code = """
import sys
from pathlib import Path
from memfolio.config import load_config
from memfolio.vault.vault import Vault
overrides = {"timezone": "UTC", "machine": "here"}
with Vault.open(config=load_config(Path(sys.argv[1]), overrides=overrides)) as vault:
    assert vault.states() and not vault.refresh()
assert "pygit2" not in sys.modules
assert "memfolio.vault.past.past" not in sys.modules
assert "memfolio.vault.git.history" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(home)], check=True)
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()} == before


def test_a_critical_file_with_a_forged_stamp_is_noticed(home: Path) -> None:
    soul = home / "agents/main/SOUL.md"
    with open_vault(home) as vault:
        vault.put_page("agents/main/SOUL.md", "kind\n", expects=None, by=BOT)
    with open_vault(home) as vault:
        vault.survey()
        soul.write_text("evil\n")
        known = vault.journal.files.get("agents/main/SOUL.md")
        assert known is not None
        vault.journal.remember("agents/main/SOUL.md", known._replace(stamp=vault.journal.stamp("agents/main/SOUL.md")))
        assert vault.survey() == ["agents/main/SOUL.md"]


def test_a_large_record_of_committed_changes_is_read_as_if_it_had_been_followed(home: Path) -> None:
    with open_vault(home) as vault:
        for number in range(20):
            add(vault, f"note {number}")
        vault.put_page(PAGE, "one\n", expects=None, by=BOT)
        assert vault.commit() == 0
        add(vault, "waiting")
        followed = vault.journal
        with open_vault(home) as other:
            read = other.journal
            assert read.files == followed.files
            assert read.head == followed.head
            assert list(read.newest_ids) == list(followed.newest_ids)
            assert [record.line for record in read.pending] == [record.line for record in followed.pending]
            assert read.committed == followed.committed


def test_a_home_whose_files_were_noted_line_by_line_opens(home: Path) -> None:
    with open_vault(home) as vault:
        add(vault, "one")
        vault.commit()
        states = vault.states()
        vault.journal.rewrite()
        for path, state in states.items():
            vault.journal.restamp(path, state)
    with open_vault(home) as vault:
        assert vault.states() == states
        assert vault.trail.problems() == []
