"""What a method says about a problem, with everything that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memfolio.types import EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A conclusion with its inputs, its steps, how sure it is, and what would change it.

    A method that does not compute leaves the conclusion to whoever reads its worksheet: then `computed` is False,
    `conclusion` is empty and `steps` are what to do, one after the other.
    """

    method: str
    conclusion: str
    confidence: float | None = None
    """How sure the conclusion is, given its inputs: 1 is certain if they are true. None where the method cannot say."""
    steps: tuple[str, ...] = ()
    """How it was reached, in sentences a person can follow."""
    would_change: tuple[str, ...] = ()
    """What would lead to another conclusion: which input, past which value."""
    inputs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """What was given, and what was taken where nothing was given."""
    answer: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The conclusion as values, such as the probabilities, for a program; JSON can hold them.

    Some names mean the same in every method, so that results can be compared: `best` is the name of what was chosen,
    or a list of names that tie, and `options` lists the names there were to choose from; `holds` is whether the `claim`
    that was asked about is so, None where neither it nor its opposite follows.
    """
    notes: tuple[str, ...] = ()
    """Limits and doubts: assumptions that were made, ties, several solutions."""
    computed: bool = True
    filled_by: str = ""
    """The model that estimated the inputs, where nobody gave them."""
    problem: str = ""
