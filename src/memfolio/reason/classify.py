"""What kind of problem it is, by six dimensions: said by whoever asks, or suggested by the words of the problem."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "uncertainty": ("low", "medium", "high"),
    "complexity": ("simple", "moderate", "complex"),
    "domain": ("formal", "empirical", "social", "mixed"),
    "time_pressure": ("none", "moderate", "urgent"),
    "data_availability": ("rich", "moderate", "sparse"),
    "stakes": ("low", "medium", "high"),
}
UNTOLD = "no word of the problem tells what kind it is"
_WORDS = Path(__file__).parent / "data" / "words.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemClassification:
    """A problem by its dimensions; None is one of which nothing is said."""

    uncertainty: str | None = None
    complexity: str | None = None
    domain: str | None = None
    time_pressure: str | None = None
    data_availability: str | None = None
    stakes: str | None = None

    @classmethod
    def of(cls, given: ProblemClassification | Mapping[str, Any]) -> ProblemClassification:
        """A classification from outside; what is unknown is refused with the nearest, an empty one with the choices."""
        said = given.said if isinstance(given, ProblemClassification) else given
        if not isinstance(said, Mapping):
            raise InputError(f"the classification is a {type(said).__name__}", hint="pass an object of dimensions")
        found = {str(name): value for name, value in said.items() if value is not None}
        if not found:
            known = "; ".join(f"{name} {'|'.join(values)}" for name, values in DIMENSIONS.items())
            raise InputError("the classification is empty", hint=f"say one of: {known}")
        for name, value in found.items():
            if name not in DIMENSIONS:
                raise InputError(f"a problem has no {name[:40]!r}", hint=nearest(name, [*DIMENSIONS]))
            if value not in DIMENSIONS[name]:
                raise InputError(f"{name} {str(value)[:40]!r} is unknown", hint=nearest(str(value), DIMENSIONS[name]))
        return cls(**found)

    @property
    def said(self) -> dict[str, str]:
        """The dimensions of which something is said."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def classify(problem: str) -> tuple[ProblemClassification, tuple[str, ...]]:
    """A classification that plain rules read in the words of a problem, and what they read: a guess, to be corrected.

    Of a dimension without a telling word nothing is said; where no word tells anything, its domain is mixed.
    """
    found: dict[str, str] = {}
    why: list[str] = []
    for name, value, words in _telling():
        if name not in found and (match := words.search(problem)):
            found[name] = value
            why.append(f"{name} {value}: {match[0].casefold()!r}")
    if not found:
        found, why = {"domain": "mixed"}, [UNTOLD]
    return ProblemClassification(**found), tuple(why)


@cache
def _telling() -> list[tuple[str, str, re.Pattern[str]]]:
    tables = tomllib.loads(_WORDS.read_text("utf-8"))
    return [
        (name, value, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
        for name, values in tables.items()
        for value, words in values.items()
    ]
