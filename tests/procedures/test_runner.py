"""Running procedures: functions are called, everything else is handed over, and what goes wrong follows the page."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, DiskError, InputError, NotFoundError
from memfolio.procedures.page import OnError, Step
from memfolio.procedures.procedures import Procedures
from memfolio.procedures.runs import LONG, Run, RunOutcome, Runs, StepContext, StepMode
from memfolio.vault.vault import OWNER

LEDGER = "agents/main/memory/meta/runs/0001.jsonl"
TOKEN = "sk-ant-api03-" + "Qx7Lk2Vb9Rt4Wm8Zp1Yc6Nd3Hs5Jf0Ga" * 3


class Shelf:
    """The procedures of a memory, of which one is put there and changed."""

    def __init__(self, memory: Memory) -> None:
        self.procedures = Procedures(memory.vault, memory.searcher, memory.agent)
        self.actions = self.procedures.actions

    def put(self, *steps: Step, **more: Any) -> None:
        if any(each.name == "deploy" for each in self.procedures.list()):
            self.procedures.update("deploy", steps=steps, reason="better", **more)
        else:
            self.procedures.add("Deploy", steps=steps, **more)


@pytest.fixture
def shelf(memory: Memory) -> Shelf:
    return Shelf(memory)


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def runs(memory: Memory, shelf: Shelf, pauses: list[float]) -> Runs:
    runs = Runs(memory.vault, memory.searcher, memory.agent, shelf.procedures)
    runs.sleep = pauses.append
    return runs


@pytest.fixture
def log(shelf: Shelf) -> list[Any]:
    """What was done, by functions called good, bad, undo and instead."""
    done: list[Any] = []

    def noting(name: str, *, fails: bool = False) -> Callable[..., Any]:
        def act(context: StepContext, **arguments: str) -> Any:
            done.append((name, context.step, context.attempt, *arguments.values()))
            if fails:
                raise OSError("no space")
            return {"done by": name}

        return act

    shelf.actions.update(good=noting("good"), undo=noting("undo"), instead=noting("instead"))
    shelf.actions.update(bad=noting("bad", fails=True), bad_undo=noting("bad_undo", fails=True))
    return done


def step(number: int, action: str | None = "good", **more: Any) -> Step:
    return Step(number=number, text=f"Step {number}", action=action, **more)


def outcomes(run: Run) -> dict[str, str | None]:
    return {key: tried.outcome for key, tried in run.tried.items()}


def test_functions_get_arguments_values_and_a_key_and_what_they_return_is_recorded(runs: Runs, shelf: Shelf) -> None:
    seen: list[StepContext] = []

    async def build(context: StepContext, to: str) -> dict[str, str]:
        seen.append(context)
        return {"built": to}

    def ship(context: StepContext) -> int:
        seen.append(context)
        return 0

    shelf.actions.update(build=build, ship=ship)
    shelf.put(step(1, "build", arguments={"to": "stage"}), step(2, "ship", condition="built is stage"))
    run = runs.run("deploy", {"urgent": True})
    assert (run.state, run.results, run.values) == ("succeeded", {1: {"built": "stage"}, 2: 0}, run.values)
    assert run.values == {"urgent": True, "built": "stage"}
    first, second = seen
    assert (first.key, first.attempt, first.values) == (f"{run.id}:1", 1, {"urgent": True})
    assert (second.key, second.results) == (f"{run.id}:2", {1: {"built": "stage"}})
    assert runs.get(run.id) == run == runs.list("deploy")[0] == runs.resume(run.id)


def test_step_without_a_function_waits_for_the_agent(
    runs: Runs, shelf: Shelf, log: list[Any], clock: SettableClock
) -> None:
    shelf.put(step(1), step(2, None, expect="green"), step(3, "unregistered"), errors={"red": "ask"})
    run = runs.run("deploy")
    assert run.waiting is not None
    assert (run.state, run.waiting.text, run.waiting.expect) == ("waiting", "Step 2", "green")
    clock.advance(seconds=7)
    run = runs.done(run.id, result={"color": "green"})
    assert run.waiting is not None
    assert (run.waiting.step, run.of(2).seconds, run.values["color"]) == (3, 7.0, "green")
    run = runs.skip(run.id)
    assert (run.state, outcomes(run), run.seconds) == ("succeeded", {"1": "done", "2": "done", "3": "skipped"}, 7.0)
    with pytest.raises(ConflictError, match="has ended"):
        runs.done(run.id)


def test_what_is_told_of_one_try_counts_for_no_other(runs: Runs, shelf: Shelf) -> None:
    shelf.put(step(1, None, undo="clean up", retries=1), step(2, None))
    run, turns = runs.run("deploy"), list[int]()
    for ok in (False, True, False, True):
        assert run.waiting is not None
        turns.append(run.waiting.turn)
        ended = runs.done(run.id, turn=turns[-1], ok=ok)
        if ended.outcome is None:
            with pytest.raises(ConflictError, match="waits for, but step"):
                runs.done(run.id, turn=turns[-1])
        run = ended
    assert (run.state, turns) == ("failed", [1, 2, 3, 4])
    assert outcomes(run) == {"1": "done", "2": "failed", "1:undo": "undone"}


def test_step_of_which_nobody_told_in_time_has_failed_when_the_run_goes_on(
    runs: Runs, shelf: Shelf, log: list[Any], clock: SettableClock
) -> None:
    minute = timedelta(minutes=1)
    late = {"timeout": minute, "on_error": OnError.FALLBACK}
    shelf.put(step(1, None, fallback="good", **late), step(2, None, timeout=minute), step(3, None, timeout=minute))
    run = runs.run("deploy")
    clock.advance(minutes=1)
    assert runs.resume(run.id).of(1).is_open
    clock.advance(seconds=1)
    run = runs.resume(run.id)
    assert (run.of(1).error, run.waiting and run.waiting.step, log) == ("timed out after 60 s", 2, [("good", 1, 1)])
    clock.advance(minutes=2)
    run = runs.done(run.id)  # late, but done
    clock.advance(hours=-9)
    assert (run.of(2).outcome, runs.resume(run.id).state) == ("done", "waiting")
    clock.advance(hours=10)
    assert (runs.resume(run.id).state, runs.get(run.id).failed_step) == ("failed", 3)


def test_checklist_calls_nothing(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1, undo="undo"), step(2))
    run = runs.run("deploy", checklist=True)
    run = runs.done(runs.done(run.id).id, ok=False, error="red")
    assert run.waiting is not None
    assert (run.waiting.way, run.waiting.text) == (StepMode.UNDO, "Take back: Step 1: undo")
    run = runs.done(run.id)
    assert (run.state, run.failed_step, run.error, log) == ("failed", 2, "red", [])
    assert run.of(1, StepMode.UNDO).outcome == RunOutcome.UNDONE


def test_failing_step_is_tried_again_after_growing_pauses(
    runs: Runs, shelf: Shelf, log: list[Any], pauses: list[float]
) -> None:
    shelf.put(step(1, "bad", retries=3), step(2))
    run = runs.run("deploy")
    assert [attempt for _, _, attempt in log] == [1, 2, 3, 4]
    assert pauses == [0.5, 1.0, 2.0]
    assert (run.state, run.failed_step, run.error) == ("failed", 1, "OSError: no space")


@pytest.mark.parametrize(
    ("second", "done", "state"),
    [
        ({}, ["good", "bad", "bad", "bad", "undo"], "failed"),
        ({"retries": 0, "on_error": OnError.SKIP}, ["good", "bad", "good"], "succeeded"),
        (
            {"retries": 0, "on_error": OnError.FALLBACK, "fallback": "instead"},
            ["good", "bad", "instead", "good"],
            "succeeded",
        ),
        (
            {"retries": 0, "on_error": OnError.FALLBACK, "fallback": "bad_undo"},
            ["good", "bad", "bad_undo", "undo"],
            "failed",
        ),
    ],
)
def test_what_follows_a_failure_is_what_the_page_says(
    runs: Runs, shelf: Shelf, log: list[Any], second: dict[str, Any], done: list[str], state: str
) -> None:
    shelf.put(step(1, undo="undo"), step(2, "bad", **second), step(3))
    run = runs.run("deploy")
    assert ([name for name, *_ in log], run.state) == (done, state)


def test_fallback_in_words_is_handed_over(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1, "bad", retries=0, on_error=OnError.FALLBACK, fallback="call the owner"), step(2))
    run = runs.run("deploy")
    assert run.waiting is not None
    assert run.waiting.text == "Instead of: Step 1: call the owner"
    assert outcomes(runs.done(run.id)) == {"1": "failed", "1:fallback": "done", "2": "done"}


def test_completed_steps_are_taken_back_in_reverse_and_a_failing_undo_stops_nothing(
    runs: Runs, shelf: Shelf, log: list[Any]
) -> None:
    shelf.put(
        step(1, undo="undo", arguments={"name": "a"}),
        step(2, undo="bad_undo"),
        step(3, undo="undo", condition="never"),
        step(4, undo="undo"),
        step(5, "bad", retries=0, undo="undo"),
    )
    run = runs.run("deploy", {"never": False})
    assert log[3:] == [("bad", 5, 1), ("undo", 4, 1), ("bad_undo", 2, 1), ("undo", 1, 1, "a")]
    assert (run.state, run.failed_step) == ("failed", 5)
    assert [run.of(number, StepMode.UNDO).outcome for number in range(1, 6)] == [
        "undone",
        "failed",
        None,
        "undone",
        None,
    ]


def test_function_that_takes_too_long_is_left_behind(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    release, tries = threading.Event(), list[int]()

    def hang(context: StepContext) -> None:
        tries.append(context.attempt)
        release.wait(10)

    shelf.actions["hang"] = hang
    late = timedelta(milliseconds=20)
    shelf.put(
        step(1, "hang", timeout=late, retries=1, on_error=OnError.SKIP),
        step(2, "hang", timeout=late, retries=1, on_error=OnError.SKIP, repeatable=False),
        step(3),
    )
    run = runs.run("deploy")
    release.set()
    assert (run.state, tries, run.of(1).error) == ("succeeded", [1, 2, 1], "timed out after 0.02 s")


def test_run_that_takes_too_long_is_aborted_and_taken_back(
    runs: Runs, shelf: Shelf, log: list[Any], clock: SettableClock
) -> None:
    shelf.put(step(1, undo="undo"), step(2, None), step(3), timeout=timedelta(minutes=1))
    run = runs.run("deploy")
    clock.advance(minutes=2)
    run = runs.done(run.id)
    assert (run.state, run.failed_step, run.error) == ("failed", 3, "timed out: the run took longer than 60 s")
    assert [name for name, *_ in log] == ["good", "undo"]


def test_unknown_value_of_a_condition_is_asked_for(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1, condition="Very_urgent is yes"), step(2, condition="size > 3 and very urgent"))
    run = runs.run("deploy", {"size": 4})
    assert run.waiting is not None
    assert (run.waiting.kind, run.waiting.names) == ("value", ("very urgent",))
    with pytest.raises(ConflictError, match="waits for, but very urgent"):
        runs.done(run.id)
    run = runs.resume(run.id, {"very urgent": "no"})
    assert (run.state, outcomes(run)) == ("succeeded", {"1": "skipped", "2": "skipped"})


@pytest.mark.parametrize(
    ("values", "state", "failed", "calls"),
    [
        ({"disk": 5, "tested": True}, "failed", 0, 0),
        ({"disk": 50, "tested": False}, "failed", 2, 2),
        ({"disk": 50, "tested": True}, "succeeded", None, 1),
    ],
)
def test_conditions_are_checked_first_and_last(
    runs: Runs, shelf: Shelf, log: list[Any], values: dict[str, Any], state: str, failed: int | None, calls: int
) -> None:
    shelf.put(step(1, undo="undo"), preconditions=("disk > 10",), postconditions=("tested",))
    run = runs.run("deploy", values)
    assert (run.state, run.failed_step, len(log)) == (state, failed, calls)


def test_conditions_in_words_are_handed_over_as_checks(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1), preconditions=("you (really) may", "disk > 10"), postconditions=("the site answers",))
    run = runs.run("deploy", {"disk": 11})
    assert run.waiting is not None
    assert (run.waiting.step, run.waiting.text, log) == (0, "Check that this holds: you (really) may", [])
    run = runs.done(run.id)
    assert run.waiting is not None
    assert (run.waiting.step, run.waiting.text) == (2, "Check that this holds: the site answers")
    assert runs.done(run.id, ok=False, error="502").failed_step == 2


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("caf\udce9"), "OSError: caf\ufffd"),
        (Unspeakable(), "Unspeakable: <exception str() failed>"),
        (TimeoutError("x" * 9999), f"TimeoutError: {'x' * (LONG - 14)}"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError"),
    ],
)
def test_every_failure_of_a_function_is_recorded(runs: Runs, shelf: Shelf, error: BaseException, said: str) -> None:
    shelf.actions["fail"] = raising(error)
    shelf.put(step(1, "fail", retries=0))
    run = runs.run("deploy")
    assert (run.state, run.error.rpartition(f"{__name__}.")[2]) == ("failed", said)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_a_program_is_not_held_up_and_leaves_the_step_in_doubt(
    runs: Runs, shelf: Shelf, log: list[Any], error: BaseException
) -> None:
    shelf.actions["fail"] = raising(error)
    shelf.put(step(1, "fail", repeatable=False), step(2))
    run = runs.start("deploy")
    with pytest.raises(type(error)):
        runs.resume(run.id)
    run = runs.get(run.id)
    assert (run.waiting and run.waiting.kind, log) == ("doubt", [])
    assert runs.done(run.id).state == "succeeded"


def raising(error: BaseException) -> Callable[[StepContext], None]:
    def act(context: StepContext) -> None:
        raise error

    return act


def test_results_are_kept_as_far_as_json_goes_and_without_secrets(runs: Runs, shelf: Shelf, memory: Memory) -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    given = iter([{1, 2}, "x" * 9999, {"key": TOKEN}, float("nan"), {"caf\udce9": 1}, deep])
    shelf.actions["give"] = lambda context: next(given)
    ages = timedelta(days=9 * 10**6)
    shelf.put(*(step(number, "give", timeout=ages) for number in range(1, 7)), timeout=ages)
    run = runs.run("deploy")
    assert (run.results[1], len(run.results[2]), run.results[4]) == ("<set>", LONG + 1, "<float>")
    assert (run.results[5], run.results[6]) == ({"caf\ufffd": 1}, "<list>")
    assert TOKEN not in (memory.vault.content(LEDGER) or b"").decode()
    assert TOKEN not in str(run)


def test_function_may_use_the_memory_whose_run_it_is_part_of(runs: Runs, shelf: Shelf, memory: Memory) -> None:
    shelf.actions["note"] = lambda context: memory.remember(f"tea at {context.step}").id
    shelf.actions["nest"] = lambda context: runs.resume(context.run)
    shelf.put(step(1, "note"), step(2, "nest", retries=0, on_error=OnError.SKIP))
    run = runs.run("deploy")
    assert (run.state, [each.memory.content for each in memory.recall("tea")]) == ("succeeded", ["tea at 1"])
    assert "is under way in another process or thread" in run.of(2).error


def test_secret_among_the_values_is_refused_before_anything_is_written(
    runs: Runs, shelf: Shelf, memory: Memory
) -> None:
    shelf.put(step(1, None))
    with pytest.raises(InputError, match="looks like a secret"):
        runs.run("deploy", {"token": TOKEN})
    assert memory.vault.content(LEDGER) is None


def test_run_keeps_the_steps_it_began_with(runs: Runs, shelf: Shelf, memory: Memory) -> None:
    shelf.put(step(1, None), step(2, None))
    run = runs.run("deploy")
    shelf.put(step(1, None))
    shelf.procedures.retire("deploy", "too old")
    with pytest.raises(ConflictError, match="retired"):
        runs.start("deploy")
    assert runs.done(run.id).state == "waiting"
    page = shelf.procedures.get("deploy")
    memory.vault.put_page(page.path, None, expects=page.hash, by=OWNER)
    assert runs.done(run.id).state == "succeeded"


def test_what_cannot_be_run_is_refused(runs: Runs, shelf: Shelf, memory: Memory) -> None:
    for name, text, wrong in (
        ("none", "## Tree\nSure?\n- yes: go\n- no: stay", "no steps"),
        ("bad", "## Steps\n1. Go\n   - if: is is", "cond"),
    ):
        path = f"agents/main/memory/procedures/{name}.md"
        memory.vault.put_page(path, f"# {name}\n\n{text}\n", expects=None, by=OWNER)
        with pytest.raises(InputError, match=wrong):
            runs.start(name)
    shelf.put(step(1))
    with pytest.raises(InputError, match="JSON cannot hold"):
        runs.start("deploy", {"a": object()})
    with pytest.raises(InputError, match="the values are a list"):
        runs.start("deploy", cast(Any, [1]))
    with pytest.raises(NotFoundError):
        runs.resume("X-1")
    assert runs.list() == []


def test_abandoned_run_ends_where_it_is(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1, undo="undo"), step(2, None))
    run = runs.abandon(runs.run("deploy").id)
    assert (run.state, runs.list(open_only=True), len(log)) == ("abandoned", [], 1)


def test_home_in_which_no_lock_can_be_made_is_told_in_words(runs: Runs, shelf: Shelf) -> None:
    shelf.put(step(1, None))
    run = runs.run("deploy")
    [lock] = runs._vault.home.internal.glob("run-*.lock")
    lock.unlink()
    lock.mkdir()
    for act in (runs.done, runs.resume, runs.abandon):
        with pytest.raises(DiskError, match=r"run-.*\.lock"):
            act(run.id)
