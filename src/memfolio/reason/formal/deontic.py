"""What is obligatory, permitted and forbidden in standard deontic logic, and where norms contradict each other.

norms: what ought to be, such as: O pay; F steal; P leave; not pay implies O apologise; also obligatory, permitted
facts: what is the case, such as: not pay
background: what is so in every world, ideal or not, such as: "murder gently" implies murder
question: a formula of which is asked whether it follows, such as: O apologise
worlds: for a model instead of norms, its worlds
ideal: for each world of the model the worlds that are ideal from there
true: for each world of the model the names that are true there
at: the world of the model at which the formula is asked; without it, all
formula: what is asked of the model
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_

from memfolio.reason.effort import Effort
from memfolio.reason.formal.expression import DEONTIC, Term, formula, negation
from memfolio.reason.formal.kripke import Space, bits, read_model
from memfolio.reason.formal.modal import checked, fitting
from memfolio.reason.formal.telling import smallest, told
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

LIMITS = (
    "in this logic whatever follows from what ought to be ought to be, too: O a gives O(a or b) (Ross's paradox)",
    "a norm for the case that another is violated contradicts that one, or is empty, in some wordings (Chisholm's)",
)


def reason(given: Given, world: World) -> Result:
    """What follows from norms and facts, or whether a formula is true in a model."""
    effort = Effort(world.settings.work)
    if "worlds" not in given:
        given.only("norms", "facts", "background", "question")
        return _Code(given, effort).result()
    given.only("formula", "worlds", "ideal", "true", "at")
    model, _ = fitting(read_model(given, "ideal", effort), "D", close=False)
    return checked("deontic", formula(given.text("formula"), "formula", DEONTIC), model, given, effort)


class _Code:
    """Norms and facts in standard deontic logic: the logic D, with O for its box."""

    def __init__(self, given: Given, effort: Effort) -> None:
        self.given = given
        self.norms, facts, background = (self._read(name) for name in ("norms", "facts", "background"))
        self.premises = self.norms | facts
        self.question = formula(given.text("question"), "question", DEONTIC) if "question" in given else None
        terms = [*self.premises.values(), *filter(None, [self.question])]
        self.space = Space(terms, "D", effort, list(background.values()))

    def _read(self, name: str) -> dict[str, Term]:
        return {each: formula(each, f"{name}[{at}]", DEONTIC) for at, each in enumerate(self.given.texts(name, []))}

    def where(self, gone: str = "", among: Iterable[str] | None = None) -> int:
        """The worlds, of all that are possible, at which the premises but one are true."""
        chosen = [each for each in (self.premises if among is None else among) if each != gone]
        return reduce(and_, (self.space.where(self.premises[each]) for each in chosen), self.space.live)

    def dues(self, rows: int) -> set[str]:
        """The names, and opposites of names, that are true in all ideal worlds of these worlds."""
        ideal = reduce(or_, (self.space.seen(row) for row in bits(rows)), 0)
        return {str(each) for each in self._literals() if not ideal & ~self.space.where(each)}

    def _literals(self) -> list[Term]:
        names = [Term("name", (), name) for name in self.space.names]
        return [literal for each in names for literal in (each, Term("not", (each,)))]

    def result(self) -> Result:
        rows = self.where()
        if not rows:
            return self._contradiction(smallest(list(self.premises), lambda some: not self.where(among=some)))
        dues, real = self.dues(rows), [each for each in self._literals() if not rows & ~self.space.where(each)]
        status = {name: self._status(name, dues, rows) for name in self.space.names}
        broken = [str(negation(each)) for each in real if str(negation(each)) in dues]
        steps = [
            *(f"{name} is {state}" for name, state in status.items()),
            *(f"O {each} is violated" for each in broken),
        ]
        contrary = [
            said for said, term in self.norms.items() if term.op == "implies" and str(negation(term.parts[0])) in dues
        ]
        steps += [f"{each!r} is for the case that a duty is violated" for each in contrary]
        answer = {"consistent": True, "status": status, "violated": broken, "contrary_to_duty": contrary}
        if self.question:
            return self._asked(self.question, steps, answer)
        change = [
            f"without {each!r}" for each, term in self.norms.items() if self.where(each) & ~self.space.where(term)
        ]
        return told(self.given, "deontic", "; ".join(steps) or "nothing is said", steps, change, answer, LIMITS)

    def _status(self, name: str, dues: set[str], rows: int) -> str:
        here = self.space.where(Term("name", (), name))
        is_allowed = all(self.space.seen(row) & here for row in bits(rows))
        other = "permitted" if is_allowed else "left open"
        return "obligatory" if name in dues else "forbidden" if f"not {name}" in dues else other

    def _asked(self, question: Term, steps: list[str], answer: dict[str, object]) -> Result:
        text, false = self.given.text("question"), self.space.live & ~self.space.where(question)
        row, is_excluded = next(bits(self.where() & false), None), not self.where() & ~false
        counter = None if row is None else self.space.model(row).as_values()
        answer |= {"follows": row is None, "excluded": is_excluded, "countermodel": counter}
        if row is None:
            needed = smallest(list(self.premises), lambda some: not self.where(among=some) & false)
            steps.append(f"it follows from {'; '.join(needed) or 'nothing at all: it is valid'}")
            change = [f"without {each!r}" for each in needed if self.where(each) & false]
            return told(self.given, "deontic", f"{text} follows", steps, change, answer, LIMITS)
        words = "is excluded" if is_excluded else "does not follow, nor does its opposite"
        change = [f"without {each!r}" for each in self.premises if is_excluded and self.where(each) & ~false]
        change += [] if is_excluded else [f"if it were laid down that {text}"]
        return told(self.given, "deontic", f"{text} {words}", steps, change, answer, LIMITS)

    def _contradiction(self, core: list[str]) -> Result:
        """Which duties clash is seen where one premise of the conflict is left out."""
        dues = {each for gone in core for each in self.dues(self.where(gone, core))}
        clashes = [name for name in self.space.names if {name, f"not {name}"} <= dues]
        steps = [f"no world with an ideal alternative makes all of these true: {'; '.join(core)}"]
        steps += [f"from parts of them O {each} follows, and O not {each}" for each in clashes]
        change = [f"without {gone!r}" for gone in core if self.where(gone)]
        answer = {"consistent": False, "conflict": core, "clashes": clashes}
        notes = (*LIMITS, "from a contradiction everything follows, so nothing else is concluded")
        words = f"the norms contradict each other: {'; '.join(core)}"
        return told(self.given, "deontic", words, steps, change, answer, notes)
