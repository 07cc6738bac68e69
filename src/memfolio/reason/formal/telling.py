"""How a formal method tells its result: exact for what it was given, unless it says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from memfolio.errors import InputError
from memfolio.reason.given import Given
from memfolio.reason.result import Result

T = TypeVar("T")


def told(
    given: Given,
    method: str,
    conclusion: str,
    steps: Iterable[str],
    change: Iterable[str],
    answer: Mapping[str, Any],
    notes: Iterable[str] = (),
    confidence: float | None = 1.0,
) -> Result:
    """The result of a method, with what it read as its inputs."""
    found: dict[str, Any] = {"steps": tuple(steps), "would_change": tuple(change), "notes": tuple(notes)}
    return Result(
        method=method, conclusion=conclusion, confidence=confidence, inputs=given.used, answer=answer, **found
    )


def as_far_as_possible(lines: Iterator[str]) -> Iterator[str]:
    """What would change a result, until the effort is spent: the result itself stands without it."""
    try:
        yield from lines
    except InputError:
        yield "what else would change it was not looked at: that takes more than reason.work allows"


def smallest(whole: Sequence[T], does: Callable[[list[T]], bool]) -> list[T]:
    """A part of a list that does what the whole does, and from which nothing can be left out."""
    kept = list(whole)
    for each in whole:
        if does(rest := [one for one in kept if one is not each]):
            kept = rest
    return kept
