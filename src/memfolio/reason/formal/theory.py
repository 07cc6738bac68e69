"""What follows from formulas that are taken to be true, which of them are needed for it, and which contradict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

from memfolio.reason.effort import Effort
from memfolio.reason.expression import Term, formula
from memfolio.reason.formal.kripke import Space, bits
from memfolio.reason.formal.telling import smallest
from memfolio.reason.given import Given


def formulas(given: Given, name: str, modal: Mapping[str, str] | None = None) -> dict[str, Term]:
    """A list of formulas, by their texts."""
    return {each: formula(each, f"{name}[{at}]", modal) for at, each in enumerate(given.texts(name, []))}


class Theory:
    """Premises by their texts, and a goal, in a logic; `background` holds at every world."""

    def __init__(
        self,
        premises: Mapping[str, Term],
        goal: Term | None,
        logic: str,
        effort: Effort,
        background: Sequence[Term] = (),
    ) -> None:
        self.premises, self.goal, self._effort = premises, goal, effort
        self.space = Space([*premises.values(), *filter(None, [goal])], logic, effort, background)
        self._masks = {text: self.space.where(term) for text, term in premises.items()}

    def where(self, said: Iterable[str] | None = None, gone: str = "") -> int:
        """The worlds, of all that are possible, at which all premises are true, or some, but one."""
        chosen = [each for each in (self.premises if said is None else said) if each != gone]
        self._effort.spend(len(chosen))
        return reduce(and_, (self._masks[each] for each in chosen), self.space.live)

    def conflict(self) -> list[str]:
        """Premises that contradict each other, none of them to spare."""
        return smallest(list(self.premises), lambda some: not self.where(some))

    def about(self, text: str) -> tuple[str, list[str], list[str], dict[str, Any], int | None]:
        """Whether the goal follows: in words, steps, what would change it, values, and a row that shows why not."""
        assert self.goal
        rows, true = self.where(), self.space.where(self.goal)
        row, is_excluded = next(bits(rows & ~true), None), not rows & true
        answer = {"holds": row is None or (False if is_excluded else None), "claim": text, "follows": row is None}
        if row is None:
            needed = smallest(list(self.premises), lambda some: not self.where(some) & ~true)
            steps = [f"it follows from {'; '.join(needed) or 'nothing at all: it is valid'}"]
            change = [f"without {each!r}" for each in needed if self.where(gone=each) & ~true]
            return f"{text} follows", steps, change, answer, row
        if is_excluded:
            steps = ["nothing that makes the premises true makes it true"]
            change = [f"without {each!r}" for each in self.premises if self.where(gone=each) & true]
            return f"{text} is excluded", steps, change, answer, row
        shown = ", ".join(f"{name} is {str(truth).lower()}" for name, truth in self.space.truths(row).items())
        steps = [f"where {shown}, the premises can be true and {text} false"]
        return f"{text} does not follow, nor does its opposite", steps, [f"if also {text}"], answer, row
