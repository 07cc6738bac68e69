"""The tools about problems to be thought through."""

from __future__ import annotations

from typing import Any

from memfolio.memory import Memory
from memfolio.reason.reason import Judgement, Reasoned


def reason(
    memory: Memory,
    problem: str,
    method: str | None = None,
    given: dict[str, Any] | None = None,
    problem_classification: dict[str, Any] | None = None,
    multi_method: bool = False,
    methods: list[str] | None = None,
    store: bool = False,
) -> Reasoned:
    """Think a problem through: by a method, by the one that fits its classification, or by several that are weighed.

    The answer has a conclusion, its confidence and the steps to it. A method that computes needs its inputs in given;
    without them it answers with what it needs and the steps to take.
    """
    return memory.reason(
        problem,
        method=method,
        given=given,
        problem_classification=problem_classification,
        multi_method=multi_method,
        methods=methods or (),
        store=store,
    )


def reason_outcome(memory: Memory, judgement: str, came_true: float) -> Judgement:
    """Say whether a conclusion that was stored came true, as 1, 0 or a share; methods are calibrated by it."""
    return memory.reason.outcome(judgement, came_true)


TOOLS = (reason, reason_outcome)
