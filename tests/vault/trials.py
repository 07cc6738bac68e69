"""The trials: one scenario again and again, with another thing going wrong each time, each judged at once."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

from memfolio.errors import HomeBusyError, MemfolioError
from memfolio.vault.vault import Vault
from tests.disks import Call, Crash, CrashingDisk, FailingDisk, InterruptedDisk, QuickDisk, RecordingDisk
from tests.index.proof import followed
from tests.vault.faults import Request, Scenario, Stage, let_settle
from tests.vault.judge import judge
from tests.vault.power import Cache, Forgetful, moments
from tests.vault.proof import BOT, configured, item

INDEXED = 10
"""Every so many trials there is an index, which must be right after the fault."""
_NUMBERS = count()
CODES = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EMFILE)


def steps(stride: int) -> Iterator[int]:
    """Every step, or one in `stride` at uneven distances, so that no kind of step is left out again and again."""
    chance, k = random.Random(stride), 1
    while True:
        yield k
        k += chance.randrange(1, 2 * stride)


@contextmanager
def told(*what: object) -> Iterator[None]:
    """Have a failure say what had gone wrong before it."""
    try:
        yield
    except BaseException as error:
        error.add_note("; ".join(map(str, what)))
        raise


def prepared(scenario: Scenario, home: Path, *, git: bool = False) -> Stage:
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(configured(home).cache, ignore_errors=True)
    stage = Stage(home, git=git)
    scenario.prepare(stage)
    if next(_NUMBERS) % INDEXED == 0 and home.is_dir():
        leave_index(home)
    return stage


def leave_index(home: Path) -> None:
    """Leave an index of the home behind, made from a copy of it: the home itself must not notice."""
    aside = home.with_name(f"{home.name}-aside")
    home.rename(aside)
    shutil.copytree(aside, home)
    with Vault.open(config=configured(home, git_enabled=False, max_ledger_bytes=4096), disk=QuickDisk()) as vault:
        followed(vault).close()
    shutil.rmtree(home)
    aside.rename(home)


def die(scenario: Scenario, stage: Stage, disk: CrashingDisk) -> bool:
    """Play the scenario until the process dies; False when it lived to the end."""
    stage.disk = disk
    try:
        scenario.act(stage)
    except (Crash, MemfolioError):
        # A dead process has no locks left to release, which the unwinding code takes for an error of the disk.
        if disk.last is None:
            raise
    return disk.last is not None


def die_everywhere(scenario: Scenario, home: Path, *, stride: int = 1, after: bool = False, git: bool = False) -> int:
    """Die at every step, and in the middle of every write; returns how often."""
    trials = 0
    for k in steps(stride):
        disks = [CrashingDisk(k)]
        for disk in disks:
            stage = prepared(scenario, home, git=git)
            with told(scenario, disk):
                if not die(scenario, stage, disk):
                    return trials
                if disk is disks[0]:
                    disks += other_deaths(k, disk.last, after=after)
                judge(stage)
            trials += 1
    raise AssertionError("steps() does not end")


def other_deaths(k: int, call: Call | None, *, after: bool) -> list[CrashingDisk]:
    """Dying behind the step is dying before the next one, so it is left out unless asked for."""
    size = len(call.data) if call and call.name == "write" else 0
    torn = [CrashingDisk(k, torn=kept) for kept in sorted({1, size // 3, size // 2, size - 1} - {0}) if kept < size]
    return [*torn, CrashingDisk(k, after=True)] if after else torn


def die_twice(scenario: Scenario, home: Path, *, stride: int = 1, second_stride: int = 1) -> int:
    """Die at a step, and again at a step of the recovery from that; returns how often."""
    trials = 0
    for k in steps(stride):
        for again in steps(second_stride):
            stage = prepared(scenario, home)
            if not die(scenario, stage, CrashingDisk(k)):
                return trials
            disk = CrashingDisk(again)
            with told(scenario, f"died at step {k} before", disk):
                if not die(REOPEN, stage, disk):
                    break
                judge(stage)
            trials += 1
    raise AssertionError("steps() does not end")


def _reopen(stage: Stage) -> None:
    with stage.vault():
        pass


REOPEN = Scenario("reopen", _reopen)


def die_before_a_person(scenario: Scenario, home: Path, paths: tuple[str, ...], *, stride: int = 1) -> int:
    """Die at a step; a person adds to the files before anything is recovered. Returns how often."""
    for trials, k in enumerate(steps(stride)):
        stage, disk = prepared(scenario, home), CrashingDisk(k)
        with told(scenario, disk):
            if not die(scenario, stage, disk):
                return trials
            for path in paths:
                if (home / path).exists():
                    stage.person_appends(path, f"a person adds to {path}")
            judge(stage)
    raise AssertionError("steps() does not end")


def refuse_everywhere(
    scenario: Scenario, home: Path, codes: tuple[int, ...] = CODES, *, forever: bool = False, stride: int = 1
) -> int:
    """Have the disk refuse at every step, each with the next of `codes`; returns how often."""
    for trials, k in enumerate(steps(stride)):
        disk = FailingDisk(k, codes[trials % len(codes)], forever=forever)
        stage = prepared(scenario, home)
        stage.disk, stage.persistent = disk, True
        with told(scenario, disk):
            with suppress(MemfolioError):  # the home could not even be opened
                scenario.act(stage)
            if not disk.reached:
                return trials
            disk.heal()
            judge(stage)
    raise AssertionError("steps() does not end")


def in_place(stage: Stage, path: str) -> None:
    stage.person_appends(path, "a person meddles")


def by_rename(stage: Stage, path: str) -> None:
    content = (stage.home / path).read_bytes()
    stage.person_saves(path, content + b"\na person meddles\n", shown="a person meddles")


def same_size(stage: Stage, path: str) -> None:
    content = (stage.home / path).read_bytes()
    (stage.home / path).write_bytes(content.replace(b"Sunday", b"SUNDAY"))
    let_settle(stage.home / path)
    stage.edits.setdefault(path, []).append("SUNDAY")


def meddle_everywhere(
    scenario: Scenario, home: Path, path: str, how: Callable[[Stage, str], None], *, stride: int = 1
) -> int:
    """Have a person change a file before every step; returns how often."""
    for trials, k in enumerate(steps(stride)):
        stage = prepared(scenario, home)
        stage.disk = disk = InterruptedDisk(k, lambda stage=stage: how(stage, path))  # type: ignore[misc]
        with told(scenario, "a person came", disk):
            scenario.act(stage)
            if disk.reached is None:
                return trials
            # Nobody can see a change that keeps the size and comes between the last look and the write.
            if how is not same_size or disk.reached.name != "write":
                judge(stage)
    raise AssertionError("steps() does not end")


def intrude_everywhere(scenario: Scenario, home: Path, *, stride: int = 1) -> int:
    """Have another writer try to add a memory before every step; returns how often."""

    def intrude(stage: Stage) -> None:
        config = configured(home, git_enabled=False, max_ledger_bytes=4096, lock_timeout=0.0)
        request = Request(("from another process",))
        with suppress(HomeBusyError), Vault.open(config=config, clock=stage.clock) as vault:
            stage.requests.append(request)
            request.receipt = vault.add("main", [item("from another process")], BOT)

    for trials, k in enumerate(steps(stride)):
        stage = prepared(scenario, home)
        stage.disk = disk = InterruptedDisk(k, lambda stage=stage: intrude(stage))  # type: ignore[misc]
        with told(scenario, "another process came", disk):
            scenario.act(stage)
            if disk.reached is None:
                return trials
            judge(stage)
    raise AssertionError("steps() does not end")


class Promise(NamedTuple):
    """What holds from a moment on: that many requests have been answered, and a person saved these edits."""

    moment: int
    requests: int
    edits: dict[str, list[str]]


class Recording:
    """A scenario played once, with every step and the moment of every promise."""

    def __init__(self, scenario: Scenario, folder: Path, disk: RecordingDisk | None = None) -> None:
        folder.mkdir()
        disk = disk or RecordingDisk()
        self.stage = prepared(scenario, folder / "home")
        self.cache = Cache(folder)
        self.calls: list[Call] = disk.calls
        self.promises: list[Promise] = []
        self._promise()
        self.stage.disk, self.stage.acknowledged = disk, self._promise
        try:
            scenario.act(self.stage)
        except (Crash, MemfolioError):
            if disk.failed is None:
                raise

    def go_on(self, act: Callable[[Stage], None]) -> None:
        """Another process does something with the home."""
        self.stage.disk = disk = RecordingDisk()
        disk.calls = self.calls
        act(self.stage)

    def _promise(self) -> None:
        edits = {path: list(shown) for path, shown in self.stage.edits.items()}
        self.promises.append(Promise(len(self.calls), len(self.stage.requests), edits))

    def stage_at(self, moment: int, home: Path) -> Stage:
        """What had been asked and promised when `moment` steps had passed."""
        last = [promise for promise in self.promises if promise.moment <= moment][-1]
        stage = Stage(home, edits={path: last.edits.get(path, []) for path in self.stage.edits})
        stage.clock.set(self.stage.clock.now())
        for number, request in enumerate(self.stage.requests):
            stage.requests.append(replace(request, receipt=request.receipt if number < last.requests else None))
        return stage


def cut_the_power(scenario: Scenario, folder: Path, states: int, *, seed: int = 1) -> int:
    """Judge about `states` states that the scenario's disk may be in; returns how many it were."""
    recording = Recording(scenario, folder / "recorded")
    wanted = set(moments(recording.calls, [promise.moment for promise in recording.promises]))
    chance = random.Random(seed)
    rounds = max(1, round(states / len(wanted)))
    for number, call in enumerate(recording.calls, 1):
        recording.cache.take(call)
        for each in range(rounds if number in wanted else 0):
            shutil.rmtree(folder / "lost", ignore_errors=True)
            recording.cache.lose(folder / "lost", Forgetful() if each == 0 else chance)
            with told(scenario, f"the power went after step {number} of {len(recording.calls)}, try {each}", call):
                judge(recording.stage_at(number, folder / "lost" / "home"))
    shutil.rmtree(folder)
    folder.mkdir()
    return rounds * len(wanted)


def cut_the_power_after(
    fault: type[BaseException], scenario: Scenario, folder: Path, *, stride: int = 1, go_on: Callable[[Stage], None]
) -> int:
    """Have a step go wrong, let somebody go on, and cut the power once nothing is under way; returns how often."""
    chance = random.Random(stride)
    for trials, k in enumerate(steps(stride)):
        shutil.rmtree(folder)
        folder.mkdir()
        disk = RecordingDisk(k, fault(errno.EIO, os.strerror(errno.EIO)))
        recording = Recording(scenario, folder / "recorded", disk)
        if disk.failed is None:
            return trials
        recording.go_on(go_on)
        for call in recording.calls:
            recording.cache.take(call)
        for each in range(3):
            shutil.rmtree(folder / "lost", ignore_errors=True)
            recording.cache.lose(folder / "lost", Forgetful() if each == 0 else chance)
            with told(scenario, fault.__name__, f"step {k}", disk.failed, f"then the power went, try {each}"):
                judge(recording.stage_at(len(recording.calls), folder / "lost" / "home"))
    raise AssertionError("steps() does not end")


def reason(code: int) -> str:
    return os.strerror(code)
