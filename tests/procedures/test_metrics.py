"""What runs tell about procedures: how well they work, when they are given up, and which steps could go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memfolio.procedures.page import Procedure, Refinement, Step
from memfolio.procedures.runs import Run, RunOutcome, Tried, failing, findings, measure
from memfolio.settings import Practising

START = datetime(2026, 11, 1, tzinfo=UTC)


def run(day: int, good: bool = True, step: int | None = None, **more: Any) -> Run:
    outcome = RunOutcome.SUCCEEDED if good else RunOutcome.FAILED
    told = {"version": "1.0", "seconds": 10.0, "outcome": outcome, "failed_step": None if good else step or 2, **more}
    return Run(id=f"X-{day}", procedure="deploy", began=START + timedelta(days=day), **told)


def procedure(*steps: Step, **more: Any) -> Procedure:
    return Procedure(name="deploy", path="deploy.md", title="Deploy", steps=steps, **more)


def done(seconds: float = 1.0, result: Any = None, outcome: RunOutcome = RunOutcome.DONE) -> Tried:
    return Tried(attempts=1, outcome=outcome, seconds=seconds, result=result)


def test_latest_runs_decide_and_those_that_say_nothing_are_not_counted() -> None:
    old = [run(day, good=False, step=1) for day in range(5)]
    late = [run(6), run(7, good=False), run(8, seconds=40.0), run(9, good=False)]
    unsaid = [run(10, outcome=RunOutcome.ABANDONED), run(11, outcome=None)]
    seen = measure([*unsaid, *late, *old], window=4)
    assert (seen.runs, seen.succeeded, seen.success_rate, seen.average_seconds) == (4, 2, 0.5, 17.5)
    assert (seen.failing_steps, seen.last_run) == ({2: 2}, START + timedelta(days=9))


def test_versions_tell_whether_a_refinement_helped() -> None:
    before = [run(day, good=day == 0) for day in range(4)]
    after = [run(day, good=day != 5, version="1.1") for day in range(4, 8)]
    seen = measure([*after, *before], window=20)
    assert (seen.versions, seen.success_rate_change) == ({"1.0": (4, 1), "1.1": (4, 3)}, 0.5)
    assert measure(before, 20).success_rate_change is None
    assert measure([], 20).success_rate is None


@pytest.mark.parametrize(("good", "bad", "is_failing"), [(1, 4, True), (2, 3, False), (0, 4, False), (0, 5, True)])
def test_procedure_fails_by_enough_runs_and_too_low_a_rate(good: int, bad: int, is_failing: bool) -> None:
    runs = [run(day, good=day < good) for day in range(good + bad)]
    found = failing([procedure()], runs, Practising(runs=5, failing=0.3))
    assert bool(found) is is_failing
    if found:
        assert found[0].reason == f"{good} of the latest 5 runs went well, less than 30%"
    assert not failing([procedure(is_retired=True)], runs, Practising())


def test_restored_procedure_begins_anew() -> None:
    history = (Refinement(at="2026-11-07", version="1.0", kind="restored", text="in use again"),)
    runs = [run(day, good=False) for day in range(6)]  # the last of them on that very day
    assert not failing([procedure(history=history)], runs, Practising(runs=1))
    [found] = failing([procedure(history=history)], [*runs, run(7, good=False)], Practising(runs=1))
    assert found.reason.startswith("0 of the latest 1 runs")


def act(number: int, action: str | None = "call", **more: Any) -> Step:
    return Step(number=number, text=more.pop("text", f"Step {number}"), action=action, **more)


CASES: list[tuple[list[Step], list[list[Tried]], list[tuple[Any, ...]]]] = [
    ([act(1, None, text="Look"), act(2, None, text=" look ")], [[done(), done(3)]], [("redundant", (1, 2), 3.0)]),
    ([act(1), act(2, text="again")], [[done(), done(4)]], [("redundant", (1, 2), 4.0)]),
    ([act(1), act(2, "other"), act(3)], [[done(), done(), done()]], []),
    ([act(1), act(2, condition="a")], [[done(), done()]], []),
    ([act(1, None)], [[done(outcome=RunOutcome.SKIPPED)]] * 3, [("redundant", (1,), 0.0)]),
    ([act(1, None)], [[done(outcome=RunOutcome.SKIPPED)]] * 2 + [[done()]], []),
    (
        [act(1, arguments={"to": "a"}), act(2, arguments={"to": "b"}), act(3, arguments={"to": "c"})],
        [[done(1), done(5), done(2)]],
        [("batchable", (1, 2, 3), 3.0)],
    ),
    ([act(1)], [[done(2, result="a")]] * 3, [("cacheable", (1,), 2.0)]),
    ([act(1)], [[done(2, result=value)] for value in "aab"], []),
    ([act(1, undo="x")], [[done(2, result="a")]] * 3, []),
]


@pytest.mark.parametrize(("steps", "tried", "expected"), CASES)
def test_findings_rest_on_what_was_recorded(
    steps: list[Step], tried: list[list[Tried]], expected: list[tuple[Any, ...]]
) -> None:
    runs = [
        run(day, steps=tuple(steps), tried={str(number): each for number, each in enumerate(row, 1)})
        for day, row in enumerate(tried)
    ]
    other = run(50, steps=(act(1, "elsewhere"),), tried={"1": done(99)})
    found = findings(procedure(*steps), [*runs, other])
    assert [(each.kind, each.steps, each.seconds) for each in found] == expected


def test_same_result_counts_only_for_the_same_values() -> None:
    steps = (act(1),)
    runs = [run(day, steps=steps, tried={"1": done(result=day % 2)}, given={"day": day % 2}) for day in range(6)]
    assert [each.kind for each in findings(procedure(*steps), runs)] == ["cacheable"]
    objects = [run(day, steps=steps, tried={"1": done(result={"at": day // 3})}) for day in range(6)]
    assert findings(procedure(*steps), objects) == []
    mixed = [*runs, run(9, steps=steps, tried={"1": done(result=0)}, given={"day": 1})]
    assert findings(procedure(*steps), mixed) == []
