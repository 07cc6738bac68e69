"""The state of a run is what its lines say, whatever stands among them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import EPOCH
from memfolio.procedures.page import OnError, Procedure, Step
from memfolio.procedures.runs import Call, Run, RunOutcome, Waiting, after, begin_line, fold, following

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
spans = st.none() | st.integers(0, 10**6).map(lambda seconds: timedelta(seconds=seconds))
steps = st.builds(
    Step,
    number=st.integers(1, 5),
    text=words,
    action=st.none() | words.filter(bool),
    arguments=st.dictionaries(words, words, max_size=2),
    condition=st.sampled_from([None, "urgent", "disk < 10 or not tested"]),
    timeout=spans,
    retries=st.integers(0, 3),
    on_error=st.sampled_from(OnError),
    fallback=st.none() | words,
    undo=st.none() | words,
    repeatable=st.booleans(),
)
json_values = st.none() | st.booleans() | st.integers(-9, 9) | words | st.lists(words, max_size=2)
lines = st.fixed_dictionaries(
    {"op": st.sampled_from(["start", "finish", "set", "abort", "end", "begin", "nonsense"])},
    optional={
        "step": st.integers(-1, 6) | json_values,
        "way": st.sampled_from(["do", "undo", "fallback", "x"]) | json_values,
        "outcome": st.sampled_from(["done", "failed", "skipped", "undone", "won"]) | json_values,
        "seconds": st.floats(-1, 10) | json_values,
        "result": json_values | st.dictionaries(words, json_values, max_size=2),
        "error": json_values,
        "handed": json_values,
        "values": json_values | st.dictionaries(words, json_values, max_size=2),
        "at": json_values,
    },
)


def begun(**more: Any) -> dict[str, Any]:
    procedure = Procedure(name="deploy", path="deploy.md", title="Deploy", **more)
    line = begin_line(procedure, {"a": 1}, is_checklist=False)
    told: dict[str, Any] = json.loads(json.dumps({**line, "id": "X-1", "at": "2026-11-15T14:30:05Z"}))
    return told


@given(st.lists(steps, max_size=4), spans, st.lists(words, max_size=2), st.dictionaries(words, words, max_size=2))
def test_steps_of_a_page_are_read_back_from_the_first_line(
    told: list[Step], timeout: timedelta | None, conditions: list[str], errors: dict[str, str]
) -> None:
    line = begun(steps=tuple(told), timeout=timeout, preconditions=tuple(conditions), errors=errors)
    run = fold([line])
    assert run is not None
    assert (run.steps, run.timeout, run.before, run.errors) == (tuple(told), timeout, tuple(conditions), errors)


@given(st.lists(lines, max_size=12))
def test_any_lines_give_a_run_that_can_be_asked_what_comes_next(found: list[dict[str, Any]]) -> None:
    told = [Step(number=1, text="a", action="go", undo="go"), Step(number=2, text="b", condition="x is 1")]
    run = fold([begun(steps=told, preconditions=("y is 1",)), *found])
    assert isinstance(run, Run)
    if run.outcome is None:
        move = following(run, {"go": print}, EPOCH)
        if not isinstance(move, Call | Waiting):
            assert after(run, move) != run  # what follows by itself brings the run on


@given(st.lists(lines, min_size=1, max_size=3))
def test_lines_without_a_beginning_are_no_run(found: list[dict[str, Any]]) -> None:
    assert fold(found) is None
    assert fold([]) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": [{"number": 1}]},
        {"steps": [{"number": "1", "text": "a"}]},  # which no further line would ever name
        {"steps": [{"number": 1, "text": "a", "condition": 5}]},
        {"steps": [{"number": 1, "text": "a", "condition": "is is"}]},
        {"steps": [{"number": 1, "text": "a", "retries": "x"}]},
        {"steps": [{"number": 1, "text": "a", "code": "import os"}]},
        {"steps": 5},
        {"values": None},
        {"errors": []},
        {"timeout": 1e300},
    ],
)
def test_beginning_that_no_page_has_is_no_run(wrong: dict[str, Any]) -> None:
    assert fold([begun()]) is not None
    assert fold([begun() | wrong]) is None


def test_outcomes_and_seconds_add_up_over_tries() -> None:
    start: dict[str, Any] = {"op": "start", "step": 1}
    run = fold(
        [
            begun(steps=(Step(number=1, text="a"),)),
            start,
            {"op": "finish", "step": 1, "outcome": "failed", "seconds": 1.5, "error": "no"},
            start,
            {"op": "finish", "step": 1, "outcome": "done", "seconds": 2, "result": {"b": 2}},
            {"op": "end", "outcome": "succeeded", "seconds": 9},
        ]
    )
    assert run is not None
    tried = run.of(1)
    assert (tried.attempts, tried.failures, tried.seconds, tried.error) == (2, 1, 3.5, "")
    assert (run.state, run.values, run.results) == (RunOutcome.SUCCEEDED, {"a": 1, "b": 2}, {1: {"b": 2}})


def test_of_values_with_the_same_name_the_latest_counts() -> None:
    done: dict[str, Any] = {"op": "finish", "outcome": "done", "step": 1}
    told = [{**done, "result": {"a": None}}, {"op": "set", "values": {"a": 3}}, {**done, "step": True, "result": "x"}]
    values = [run.values for count in range(4) if (run := fold([begun(), *told[:count]]))]
    assert values == [{"a": 1}, {"a": None}, {"a": 3}, {"a": 3}]
