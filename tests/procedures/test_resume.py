"""Going on after a crash: what was completed is never done again, and one process at a time goes on with a run."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError
from memfolio.procedures.page import Step
from memfolio.procedures.procedures import Procedures
from memfolio.procedures.runs import Run, Runs, StepContext
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.index.proof import assert_index_equals_rebuilt
from tests.index.proof import opened as filed
from tests.vault.proof import configured, fork, kill, wait

STEPS = 4
UNSURE = 3
"""The step that must not be done again while nobody knows whether it was done."""


class World:
    """What the steps do outside of the memory: a file with the key of everything that was done, and of every call."""

    def __init__(self, folder: Path) -> None:
        self.effects, self.calls = folder / "effects", folder / "calls"

    def keys(self, file: Path) -> list[str]:
        return file.read_text().split() if file.exists() else []

    def note(self, file: Path, key: str) -> None:
        with file.open("a") as opened:
            opened.write(f"{key}\n")

    def act(self, context: StepContext, *, dies: str = "") -> str:
        """Do a step; all but one look first whether it was done under its key. It may kill its process at a point."""
        self.note(self.calls, context.key)
        place = context.key.partition(":")[2]
        if dies == f"before {place}":
            os.kill(os.getpid(), signal.SIGKILL)
        if place == str(UNSURE) or context.key not in self.keys(self.effects):
            self.note(self.effects, context.key)
        if dies == f"after {place}":
            os.kill(os.getpid(), signal.SIGKILL)
        return place


def opened(home: Path) -> Memory:
    return Memory(Vault.open(config=configured(home, git_enabled=False)), "main", background=False)


def runs_of(memory: Memory, world: World, dies: str = "") -> Runs:
    procedures = Procedures(memory.vault, memory.searcher, memory.agent)

    def fail(context: StepContext) -> None:
        raise OSError("broken")

    procedures.register("act", lambda context: world.act(context, dies=dies))
    procedures.register("fail", fail)
    return Runs(memory.vault, memory.searcher, memory.agent, procedures)


def add(memory: Memory, title: str, last: str) -> None:
    steps = [
        Step(number=number, text=f"Step {number}", action="act", undo="act", repeatable=number != UNSURE)
        for number in range(1, STEPS)
    ]
    end = Step(number=STEPS, text="The last", action=last, retries=0)
    Procedures(memory.vault, memory.searcher, memory.agent).add(title, steps=[*steps, end])


@pytest.fixture
def ready(home: Path) -> Path:
    with opened(home) as memory:
        add(memory, "works", "act")
        add(memory, "fails", "fail")
    return home


def work(home: Path, world: World, id: str, dies: str) -> Callable[[], None]:
    """Go on with a run in a process of its own until it has ended; what it is unsure of, the world knows."""

    def go() -> None:
        with opened(home) as memory:
            runs = runs_of(memory, world, dies)
            run = runs.resume(id)
            while run.waiting is not None:
                key = f"{id}:{run.waiting.step}" + ("" if run.waiting.way == "do" else f":{run.waiting.way}")
                run = runs.done(id) if key in world.keys(world.effects) else runs.redo(id)

    return go


def completed(run: Run) -> set[str]:
    return {f"{run.id}:{key}" for key, tried in run.tried.items() if tried.outcome in ("done", "undone")}


def places(name: str) -> list[str]:
    """Every point within a step, and within what takes it back, at which a process can be killed."""
    undone = [f"{number}:undo" for number in range(1, STEPS)] if name == "fails" else [str(STEPS)]
    return [f"{when} {place}" for place in [*map(str, range(1, STEPS)), *undone] for when in ("before", "after")]


@pytest.mark.parametrize("kills", [24, pytest.param(200, marks=pytest.mark.long)])
def test_run_that_is_killed_anywhere_goes_on_without_repeating_a_completed_step(
    ready: Path, tmp_path: Path, kills: int
) -> None:
    chance, world, killed, took = random.Random(5), World(tmp_path), 0, 1.0
    points = [(name, point) for name in ("works", "fails") for point in places(name)]
    with opened(ready) as memory:
        runs = runs_of(memory, world)
        while killed < kills:  # at every point of every step, and then at any time
            name, point = points.pop() if points else (chance.choice(["works", "fails"]), "")
            run = runs.start(name).id
            pid = fork(work(ready, world, run, point))
            if not point:
                time.sleep(chance.random() * took)
            status = wait(pid) if point else kill(pid)
            left, calls, began = runs.get(run), Counter(world.keys(world.calls)), time.monotonic()
            killed += status == -signal.SIGKILL and left.outcome is None
            assert wait(fork(work(ready, world, run, ""))) == 0
            took = min(took, time.monotonic() - began)
            check(runs.get(run), name, world)
            assert completed(left).isdisjoint(Counter(world.keys(world.calls)) - calls)
    assert not points


def check(run: Run, name: str, world: World) -> None:
    """Everything that the run says was done was done exactly once."""
    assert run.outcome == ("succeeded" if name == "works" else "failed")
    ways = [str(number) for number in range(1, STEPS)]
    ways += [str(STEPS)] if name == "works" else [f"{way}:undo" for way in ways]
    done = Counter(key for key in world.keys(world.effects) if key.startswith(f"{run.id}:"))
    assert done == Counter(f"{run.id}:{way}" for way in ways)
    assert completed(run) == set(done)


def test_step_in_doubt_is_repeated_with_its_key_or_asked_about(ready: Path, tmp_path: Path) -> None:
    world = World(tmp_path)
    with opened(ready) as memory:
        runs = runs_of(memory, world)
        key = runs.start("works").id
        assert wait(fork(work(ready, world, key, "after 2"))) == -signal.SIGKILL
        assert (runs.get(key).state, runs.get(key).of(2).is_open) == ("open", True)
        assert wait(fork(work(ready, world, key, "before 3"))) == -signal.SIGKILL
        run = runs.get(key)
        assert (run.of(2).attempts, world.keys(world.calls).count(f"{key}:2")) == (2, 2)
        assert run.waiting is not None
        assert (run.waiting.kind, run.waiting.text) == ("doubt", "Was this done? Step 3")
        assert runs.resume(key).waiting == run.waiting
        run = runs.redo(key)
        assert (run.state, run.of(3).attempts, run.of(3).failures) == ("succeeded", 2, 0)
        assert not list((ready / ".memfolio").glob("run-*"))


def test_only_one_of_two_goes_on_with_a_run(ready: Path, tmp_path: Path) -> None:
    world, entered, release = World(tmp_path), threading.Event(), threading.Event()

    def slow(context: StepContext) -> None:
        entered.set()
        assert release.wait(10)

    with opened(ready) as one, opened(ready) as other:
        mine, theirs = runs_of(one, world), runs_of(other, world)
        mine._procedures.actions["act"] = slow
        key = mine.start("works").id
        thread = threading.Thread(target=mine.resume, args=(key,))
        thread.start()
        assert entered.wait(10)
        for act in (theirs.resume, theirs.done, theirs.abandon, mine.resume):
            with pytest.raises(ConflictError, match="under way"):
                act(key)
        release.set()
        thread.join()
        assert theirs.resume(key).state == "succeeded"
        assert world.keys(world.calls) == []


def test_processes_that_resume_at_once_do_every_step_once(ready: Path, tmp_path: Path) -> None:
    world = World(tmp_path)
    with opened(ready) as memory:
        runs = runs_of(memory, world)
        key = runs.start("works").id
        statuses = [wait(pid) for pid in [fork(work(ready, world, key, "")) for _ in range(4)]]
        assert 0 in statuses
        check(runs.get(key), "works", world)
        assert max(Counter(world.keys(world.calls)).values()) == 1


@given(st.lists(st.sampled_from(["run", "done", "skip", "line", "torn", "junk", "cut", "reopen"]), max_size=12))
@settings(max_examples=8, deadline=None)
def test_ledger_that_grows_is_filed_as_if_it_were_read_anew(acts: list[str]) -> None:
    changes = {"line": b'{"op":"set","values":{}}\n', "torn": b'{"op":"set"}', "junk": b"{oops\n", "cut": b""}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home, clock = Path(folder) / "home", SettableClock(START)
        memory = stack.enter_context(filed(home, clock=clock, max_ledger_bytes=4096))
        memory.procedures.add("Deploy", steps=[Step(number=1, text="Go"), Step(number=2, text="Stay")])
        for act in ["run", *acts]:
            clock.advance(seconds=1)
            if act in changes:
                ledger = max((home / "agents/main/memory/meta/runs").glob("*.jsonl"))
                ledger.write_bytes(ledger.read_bytes()[: -9 if act == "cut" else None] + changes[act])
                memory.vault.survey()
            elif act == "reopen":
                memory = stack.enter_context(filed(home, clock=clock, max_ledger_bytes=4096))
            elif act == "run" or not (left := [run for run in memory.runs.list() if run.waiting]):
                memory.runs.run("deploy")
            else:
                (memory.runs.done if act == "done" else memory.runs.skip)(left[0].id)
        assert_index_equals_rebuilt(memory)
