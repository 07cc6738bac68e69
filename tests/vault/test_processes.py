"""Many processes on one home: nothing lost or doubled, nobody waits long, a stopped holder clobbers nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.errors import HomeBusyError, PageChangedError
from memfolio.types import Action
from memfolio.vault.disk import Disk, FileLock
from memfolio.vault.journal import TrailLine
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault
from tests.disks import Crash, CrashingDisk, RecordingDisk
from tests.vault.conftest import Tally
from tests.vault.proof import BOT, appended, check_git, check_home, configured, fork, item, kill, wait

PROCESSES = 8
LONGEST_WAIT = 1.0
"""Seconds that an operation may take among eight processes; the machine may be busy with others, so a tenth of
the operations may be dropped before the rest is held to it, and every one to three times as much."""


def work(home: Path, report: Path, seed: int, operations: int) -> None:
    """Mix appends, JSON lines, pages and surveys; report what was acknowledged and how long each took."""
    chance = random.Random(seed)
    done: list[tuple[str, str]] = []
    waits: list[float] = []
    with Vault.open(config=configured(home, commit_delay=0.05)) as vault:
        for number in range(operations):
            note, began = f"{seed}.{number}", time.monotonic()
            match chance.choices(["entry", "line", "page", "survey"], [80, 10, 8, 2])[0]:
                case "entry":
                    done += [(mark, note) for mark in vault.add("main", [item(note)], BOT).ids]
                case "line":
                    receipt = vault.add_lines(state_ledger("main"), [{"note": note}], BOT)
                    done += [(mark, f'"{note}"') for mark in receipt.ids]
                case "page":
                    done += [(f"page-{note}", note)] if count_up(vault, note) else []
                case _:
                    vault.survey()
            waits.append(time.monotonic() - began)
    report.write_text(json.dumps([done, waits]))


def count_up(vault: Vault, note: str) -> bool:
    """Add a line to a page that everybody writes; False when somebody else was quicker."""
    page = vault.page("shared/board.md")
    content = (page.text if page else "") + f"{note}\n"
    try:
        vault.put_page("shared/board.md", content, expects=page.hash if page else None, by=BOT)
    except PageChangedError as error:
        assert error.current is not None
        return False
    return True


def run_together(home: Path, folder: Path, operations: int) -> tuple[dict[str, str], list[float]]:
    reports = [folder / f"report-{number}" for number in range(PROCESSES)]
    pids = [
        fork(lambda seed=seed, report=report: work(home, report, seed, operations))  # type: ignore[misc]
        for seed, report in enumerate(reports)
    ]
    assert [wait(pid) for pid in pids] == [0] * PROCESSES
    done: dict[str, str] = {}
    waits: list[float] = []
    for report in reports:
        acknowledged, waited = json.loads(report.read_text())
        assert not done.keys() & dict(acknowledged).keys(), "two processes were given one id"
        done |= dict(acknowledged)
        waits += waited
    return done, waits


def check_histories(home: Path, done: dict[str, str]) -> None:
    pages = [content for mark, content in done.items() if mark.startswith("page-")]
    notes = {mark: content for mark, content in done.items() if not mark.startswith("page-")}
    check_home(home, notes)
    assert Counter((home / "shared/board.md").read_text().split()) == Counter(pages)
    with Vault.open(config=configured(home)) as vault:
        lines = list(vault.trail.lines())
    edits = [line for line in lines if line.paths == ["shared/board.md"]]
    assert len(edits) == len(pages)
    assert [line for line in lines if line.by.actor == "human"] == [], "nobody took a process for a person"
    assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
    check_order(lines, notes)


def check_order(lines: list[TrailLine], notes: dict[str, str]) -> None:
    """What one process wrote has numbers in the order in which it was written."""
    numbers: dict[str, list[int]] = {}
    for mark in (mark for line in lines for mark in line.ids if mark in notes):
        seed, number = notes[mark].strip('"').split(".")
        numbers.setdefault(seed, []).append(int(number))
    assert all(each == sorted(each) for each in numbers.values())


def waits_are_short(waits: list[float]) -> bool:
    longest = sorted(waits)
    return longest[len(longest) * 9 // 10] <= LONGEST_WAIT and longest[-1] <= 3 * LONGEST_WAIT


@pytest.mark.serial
@pytest.mark.parametrize("operations", [120, pytest.param(5000, marks=pytest.mark.long)])
def test_eight_processes_lose_and_double_nothing_and_wait_little(
    home: Path, tmp_path: Path, operations: int, tally: Tally
) -> None:
    Vault.open(config=configured(home)).close()
    done, waits = run_together(home, tmp_path, operations)
    median = sorted(waits)[len(waits) // 2]
    assert waits_are_short(waits), f"longest {max(waits):.2f} s, median {median:.4f} s"
    tally("operations of eight processes at once", len(waits))
    tally("longest wait among eight processes, in ms", round(max(waits) * 1000))
    check_histories(home, done)


@pytest.mark.serial
@pytest.mark.parametrize("rounds", [3, pytest.param(1000, marks=pytest.mark.long)])
def test_short_crowds_leave_a_consistent_home(tmp_path: Path, rounds: int, tally: Tally) -> None:
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        Vault.open(config=configured(folder / "home")).close()
        done, _ = run_together(folder / "home", folder, 25)
        check_histories(folder / "home", done)
    tally("crowds of eight processes", rounds)


@pytest.mark.parametrize("homes", [4, pytest.param(100, marks=pytest.mark.long)])
def test_processes_that_found_a_home_together_share_it(tmp_path: Path, homes: int) -> None:
    for number in range(homes):
        folder = tmp_path / str(number)
        folder.mkdir()
        done, _ = run_together(folder / "home", folder, 3)
        check_home(folder / "home", {mark: note for mark, note in done.items() if not mark.startswith("page-")})


def test_threads_of_one_vault_lose_nothing(home: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with Vault.open(config=configured(home, commit_delay=0.01)) as vault, ThreadPoolExecutor(8) as threads:
        receipts = list(threads.map(lambda n: vault.add("main", [item(f"note {n}")], BOT), range(400)))
    check_home(home, {receipt.ids[0]: f"note {n}" for n, receipt in enumerate(receipts)})


def test_a_process_forked_while_a_thread_writes_can_write(home: Path) -> None:
    done, stop = dict[str, str](), threading.Event()

    def write_on(vault: Vault) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            done[vault.add("main", [item(f"parent {number}")], BOT).ids[0]] = f"parent {number}"

    def write_once(vault: Vault, report: Path) -> None:
        report.write_text(vault.add("main", [item(report.name)], BOT).ids[0])

    reports = [home.parent / f"child {number}" for number in range(8)]
    with Vault.open(config=configured(home, lock_timeout=5.0)) as vault:
        thread = threading.Thread(target=write_on, args=[vault])
        thread.start()
        pids = []
        for report in reports:
            pids.append(fork(lambda report=report: write_once(vault, report)))  # type: ignore[misc]
            time.sleep(0.01)
        ends = [wait(pid) for pid in pids]
        stop.set()
        thread.join()
    assert ends == [0] * len(reports)
    check_home(home, {**done, **{report.read_text(): report.name for report in reports}})


def test_a_forked_process_that_lives_on_does_not_hold_its_dead_parents_lock(home: Path) -> None:
    Vault.open(config=configured(home)).close()
    reading, writing = os.pipe()

    def hold_fork_and_die() -> None:
        with Vault.open(config=configured(home)).writer.ready():
            os.write(writing, b"%d\n" % fork(lambda: time.sleep(30)))
            os._exit(0)

    assert wait(fork(hold_fork_and_die)) == 0
    orphan = int(os.read(reading, 20))
    os.close(reading)
    os.close(writing)
    try:
        check_home(home, {}, configured(home, lock_timeout=1.0))
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_files_that_come_and_go_stop_no_survey(home: Path) -> None:
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            for number in range(50):
                (home / f"shared/{number}.md").write_text("x")
                (home / f"shared/{number}.md").unlink()

    with Vault.open(config=configured(home)) as vault:
        vault.put_page("shared/board.md", "first\n", expects=None, by=BOT)
        thread = threading.Thread(target=come_and_go)
        thread.start()
        try:
            for _ in range(300):
                assert vault.entries("main") == []
            vault.survey()
        finally:
            stop.set()
            thread.join()


class SlowDisk(Disk):
    """Says when a write is about to happen, and gives the test time to stop the process there."""

    def __init__(self, moment: str, said: int) -> None:
        self._moment = moment
        self._said = said

    def _pause(self, moment: str) -> None:
        if self._said >= 0 and moment == self._moment:
            said, self._said = self._said, -1
            os.write(said, b"!")
            time.sleep(0.03)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._pause("before the write")
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self._pause("before the fsync")
        super().fsync(fd)

    def exchange(self, one: Path, other: Path) -> bool:
        self._pause("before the exchange")
        done = super().exchange(one, other)
        self._pause("after the exchange")
        return done


MOMENTS = ["before the write", "before the fsync", "before the exchange", "after the exchange"]


def hold_and_write(home: Path, moment: str, said: int, report: Path) -> None:
    vault = Vault.open(config=configured(home))
    vault.home.disk = SlowDisk(moment, said)
    page = vault.page("shared/board.md")
    assert page is not None
    try:
        if "exchange" in moment:
            vault.put_page("shared/board.md", page.text + "from the sleeper\n", expects=page.hash, by=BOT)
        else:
            report.write_text(vault.add("main", [item("from the sleeper")], BOT).ids[0])
    except PageChangedError:
        report.write_text("conflict")


@pytest.fixture
def opened(home: Path) -> Iterator[Vault]:
    with Vault.open(config=configured(home, lock_timeout=0.05)) as vault:
        vault.put_page("shared/board.md", "first\n", expects=None, by=BOT)
        yield vault


def stop_and_wake(home: Path, vault: Vault, folder: Path, moment: str, number: int) -> dict[str, str]:
    """Stop a writer while it holds the lock; others give up in time and write when it is gone or done."""
    reading, writing = os.pipe()
    report = folder / f"report-{number}"
    pid = fork(lambda: hold_and_write(home, moment, writing, report))
    os.close(writing)
    assert os.read(reading, 1) == b"!"
    os.close(reading)
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(HomeBusyError) as caught:
        vault.add("main", [item("while it sleeps")], BOT)
    assert caught.value.hint
    assert time.monotonic() - began < 1.0
    if number % 5 == 4:
        kill(pid)
    else:
        os.kill(pid, signal.SIGCONT)
        assert wait(pid) == 0
    done = {vault.add("main", [item(f"afterwards {number}")], BOT).ids[0]: f"afterwards {number}"}
    if report.exists() and report.read_text().startswith("M-"):
        done[report.read_text()] = "from the sleeper"
    return done


@pytest.mark.serial
@pytest.mark.parametrize("trials", [12, pytest.param(1000, marks=pytest.mark.long)])
def test_a_stopped_lock_holder_makes_others_busy_and_clobbers_nothing(
    home: Path, tmp_path: Path, opened: Vault, trials: int, tally: Tally
) -> None:
    done: dict[str, str] = {}
    for number in range(trials):
        done |= stop_and_wake(home, opened, tmp_path, MOMENTS[number % len(MOMENTS)], number)
    opened.commit()
    check_home(home, done)
    tally("lock holder stopped and woken or killed", trials)


def test_a_holder_that_wakes_after_its_lock_file_was_replaced_is_not_alone_with_an_orphan(home: Path) -> None:
    one, other = (Vault.open(config=configured(home)) for _ in range(2))
    one.add("main", [item("first")], BOT)
    (home / ".memfolio/lock").unlink()
    ids = [vault.add("main", [item(f"{number}")], BOT).ids[0] for number, vault in enumerate([one, other, one])]
    assert appended(one) == appended(other)
    assert Counter(ids).most_common(1)[0][1] == 1
    assert [line.action for line in one.trail.lines()].count(Action.APPEND) == 4
    one.close()
    other.close()
    check_home(home, {})
    check_git(home)


def test_handle_of_a_dead_process_is_nobodys_to_close(tmp_path: Path) -> None:
    """Else locks that outlive a test keep the forked processes of the next from beginning anew."""
    disk, path = CrashingDisk(2), tmp_path / "lock"
    lock = FileLock(path, disk, timeout=1.0)
    with lock():
        pass
    with pytest.raises(Crash):
        disk.mkdir(tmp_path / "folder")
    with path.open("w") as file:  # which has the number of the lock's handle
        lock.reset_after_fork()
        file.write("still open")
    assert path.read_text() == "still open"


def test_a_lock_that_cannot_be_reset_keeps_no_other_from_a_forked_process(tmp_path: Path) -> None:
    dead = RecordingDisk()
    broken = [FileLock(tmp_path / f"broken {number}", dead, timeout=1.0) for number in range(20)]
    for lock in broken:
        with lock():
            pass
    dead.die()
    good = FileLock(tmp_path / "good", Disk(), timeout=1.0)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with good():
            held.set()
            done.wait(10)

    def take() -> None:
        done.wait(1)  # meanwhile the parent lets go
        with good(0.5):
            pass

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    pid = fork(take)
    done.set()
    thread.join()
    assert wait(pid) == 0
