"""Running procedures: functions are called, everything else is handed over, and what goes wrong follows the page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.procedures.procedure import OnError, Step
from memfolio.procedures.procedures import Procedures
from memfolio.procedures.run import Outcome, Run, Way
from memfolio.procedures.runner import LONG, Context
from memfolio.procedures.runs import Runs
from memfolio.vault.vault import OWNER

LEDGER = "agents/main/memory/meta/runs/0001.jsonl"
TOKEN = "sk-ant-api03-" + "Qx7Lk2Vb9Rt4Wm8Zp1Yc6Nd3Hs5Jf0Ga" * 3


class Shelf:
    """The procedures of a memory, of which one is put there and changed."""

    def __init__(self, memory: Memory) -> None:
        self.procedures = Procedures(memory.vault, memory.library, memory.agent)
        self.actions = self.procedures.actions

    def put(self, *steps: Step, **more: Any) -> None:
        if any(each.name == "deploy" for each in self.procedures.list()):
            self.procedures.update("deploy", steps=steps, reason="better", **more)
        else:
            self.procedures.add("Deploy", steps=steps, **more)


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, background=False) as memory:
        yield memory


@pytest.fixture
def shelf(memory: Memory) -> Shelf:
    return Shelf(memory)


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def runs(memory: Memory, shelf: Shelf, pauses: list[float]) -> Runs:
    runs = Runs(memory.vault, memory.library, memory.agent, shelf.procedures)
    runs.sleep = pauses.append
    return runs


@pytest.fixture
def log(shelf: Shelf) -> list[Any]:
    """What was done, by functions called good, bad, undo and instead."""
    done: list[Any] = []

    def noting(name: str, *, fails: bool = False) -> Callable[..., Any]:
        def act(context: Context, **arguments: str) -> Any:
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
    seen: list[Context] = []

    async def build(context: Context, to: str) -> dict[str, str]:
        seen.append(context)
        return {"built": to}

    def ship(context: Context) -> int:
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
    assert (run.state, run.waiting.text, run.waiting.expect, run.waiting.errors) == (
        "waiting",
        "Step 2",
        "green",
        {"red": "ask"},
    )
    clock.advance(seconds=7)
    run = runs.done(run.id, result={"color": "green"}, step=2)
    with pytest.raises(ConflictError, match="does not wait for step 2, but for step 3"):
        runs.done(run.id, step=2)
    assert run.waiting is not None
    assert (run.waiting.step, run.of(2).seconds, run.values["color"]) == (3, 7.0, "green")
    run = runs.skip(run.id)
    assert (run.state, outcomes(run), run.seconds) == ("succeeded", {"1": "done", "2": "done", "3": "skipped"}, 7.0)
    with pytest.raises(ConflictError, match="has ended"):
        runs.done(run.id)


def test_checklist_calls_nothing(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1, undo="undo"), step(2))
    run = runs.run("deploy", checklist=True)
    run = runs.done(runs.done(run.id).id, ok=False, error="red")
    assert run.waiting is not None
    assert (run.waiting.way, run.waiting.text) == (Way.UNDO, "Take back: Step 1: undo")
    run = runs.done(run.id)
    assert (run.state, run.failed_step, run.error, log) == ("failed", 2, "red", [])
    assert run.of(1, Way.UNDO).outcome == Outcome.UNDONE


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
    assert [run.of(number, Way.UNDO).outcome for number in range(1, 6)] == ["undone", "failed", None, "undone", None]


def test_function_that_takes_too_long_is_left_behind(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    release, tries = threading.Event(), list[int]()

    def hang(context: Context) -> None:
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
    with pytest.raises(ConflictError, match="but for very urgent"):
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


def test_results_are_kept_as_far_as_json_goes_and_without_secrets(runs: Runs, shelf: Shelf, memory: Memory) -> None:
    given = iter([{1, 2}, "x" * 9999, {"key": TOKEN}, float("nan")])
    shelf.actions["give"] = lambda context: next(given)
    shelf.put(*(step(number, "give") for number in range(1, 5)))
    run = runs.run("deploy")
    assert (run.results[1], len(run.results[2]), run.results[4]) == ("<set>", LONG + 1, "<float>")
    assert TOKEN not in (memory.vault.content(LEDGER) or b"").decode()
    assert TOKEN not in str(run)


def test_secret_among_the_values_is_refused_before_anything_is_written(
    runs: Runs, shelf: Shelf, memory: Memory
) -> None:
    shelf.put(step(1, None))
    with pytest.raises(InputError, match="looks like a secret"):
        runs.run("deploy", {"token": TOKEN})
    assert memory.vault.content(LEDGER) is None


def test_run_keeps_the_steps_it_began_with_and_says_that_the_page_has_changed(
    runs: Runs, shelf: Shelf, memory: Memory
) -> None:
    shelf.put(step(1, None), step(2, None))
    run = runs.run("deploy")
    shelf.put(step(1, None))
    run = runs.done(run.id)
    assert (run.page, run.waiting and run.waiting.step) == ("changed", 2)
    shelf.procedures.retire("deploy", "too old")
    assert runs.get(run.id).page == "retired"
    with pytest.raises(ConflictError, match="retired"):
        runs.start("deploy")
    page = shelf.procedures.get("deploy")
    memory.vault.put_page(page.path, None, expects=page.hash, by=OWNER)
    run = runs.done(run.id)
    assert (run.page, run.state) == ("gone", "succeeded")


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
    with pytest.raises(InputError, match="no JSON"):
        runs.start("deploy", {"a": object()})
    with pytest.raises(NotFoundError):
        runs.resume("X-1")
    assert runs.list() == []


def test_abandoned_run_ends_where_it_is(runs: Runs, shelf: Shelf, log: list[Any]) -> None:
    shelf.put(step(1, undo="undo"), step(2, None))
    run = runs.abandon(runs.run("deploy").id)
    assert (run.state, runs.list(open_only=True), len(log)) == ("abandoned", [], 1)
