"""A way to think a problem through: what it is good for, whether it computes, and the steps that guide whoever does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from memfolio.types import EMPTY

OPTIONAL = "optional: "
INSTEAD = f"{OPTIONAL}instead "
"""How the line about an input begins that a method can do without, and that of one in place of what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method as the data file tells it.

    `settles` is what it ends with, a "choice" or a "claim"; `cues` are words that call for it, as a pattern; `steps`
    is its worksheet; `ideals` are the kinds of problems it is made for, by dimension; `inputs` is what it reads.
    """

    name: str
    category: str
    summary: str
    good_for: str
    settles: str
    cues: str
    computes: bool
    steps: tuple[str, ...]
    ideals: Mapping[str, tuple[str, ...]]
    inputs: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def needs(self) -> tuple[str, ...]:
        """The inputs that it cannot do without."""
        return tuple(name for name, line in self.inputs.items() if not line.startswith(OPTIONAL))

    @property
    def instead(self) -> tuple[str, ...]:
        """Those that take the place of what it needs."""
        return tuple(name for name, line in self.inputs.items() if line.startswith(INSTEAD))

    @property
    def module(self) -> str:
        return f"memfolio.reason.{self.category}.{self.name.replace('-', '_')}"

    def is_ready(self, given: Collection[str]) -> bool:
        """Whether it can compute from inputs of these names."""
        is_whole = set(self.needs) <= set(given) or not set(self.instead).isdisjoint(given)
        return self.computes and bool(given) and is_whole
