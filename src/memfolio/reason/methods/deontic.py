"""What is obligatory, permitted and forbidden in standard deontic logic, and where norms contradict each other.

norms: what ought to be, such as: O pay; F steal; P leave; not pay implies O apologise; also obligatory, permitted
facts: what is the case, such as: not pay
background: what is so in every world, ideal or not, such as: "murder gently" implies murder
question: a formula of which is asked whether it follows, such as: O apologise
worlds: for a model instead of norms, its worlds
ideal: for each world of the model the worlds that are ideal from there
true: for each world of the model the names that are true there
at: the world of the model at which the formula is asked; without it, all
formula: what is asked of the model"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.expression import DEONTIC, Expression, formula, negation
from memfolio.reason.inputs import Finding, Several, Texts, World, method
from memfolio.reason.methods.logic import Theory, bits, formulas, in_model, read_model
from memfolio.types import EMPTY

DUTIES = "obligatory", "forbidden"
LIMITS = (
    "in this logic whatever follows from what ought to be ought to be, too: O a gives O(a or b) (Ross's paradox)",
    "a norm for the case that another is violated contradicts that one, or is empty, in some wordings (Chisholm's)",
)


class Norms(NamedTuple):
    norms: Texts = ()
    facts: Texts = ()
    background: Texts = ()
    question: str | None = None


class IdealWorlds(NamedTuple):
    formula: str
    worlds: Several[str]
    ideal: Mapping[str, Texts]
    true: Mapping[str, Texts] = EMPTY
    at: str | None = None


@method
def reason(given: Norms | IdealWorlds, world: World) -> Finding:
    """What follows from norms and facts, or whether a formula is true in a model."""
    effort = world.effort()
    if isinstance(given, IdealWorlds):
        asked = formula(given.formula, "formula", DEONTIC)
        effort.spend(len(given.worlds) ** 3)
        return in_model(given.formula, asked, read_model(given.worlds, given.ideal, given.true, "D"), given.at, effort)
    premises = formulas(given.norms, "norms", DEONTIC) | formulas(given.facts, "facts", DEONTIC)
    background = [*formulas(given.background, "background", DEONTIC).values()]
    question = formula(given.question, "question", DEONTIC) if given.question else None
    theory = Theory(premises, question, effort, background)
    if not theory.space.live:
        raise InputError("background can be true in no world", hint="leave out what contradicts the rest of it")
    return _consequences(theory, given.question) if theory.where() else _contradiction(theory)


def _consequences(theory: Theory, question: str | None) -> Finding:
    status = {name: _status(theory, name) for name in theory.space.names}
    broken = _violated(theory, status)
    steps = [*(f"{name} is {state}" for name, state in status.items()), *(f"O {each} is violated" for each in broken)]
    answer: dict[str, Any] = {"consistent": True, "status": status, "violated": broken}
    if question:
        found, row = theory.about(question)
        counter = None if row is None else theory.space.model(row).as_values()
        answer |= {**found.answer, "countermodel": counter}
        return found._replace(steps=[*steps, *found.steps], answer=answer, notes=LIMITS)
    needed = [said for said, term in theory.premises.items() if theory.where(gone=said) & ~theory.space.where(term)]
    words = "; ".join(steps) or "nothing is said"
    return Finding(words, 1.0, steps or [words], [f"without {each!r}" for each in needed], answer, LIMITS)


def _status(theory: Theory, name: str) -> str:
    """What follows for an act: it is permitted where no possible world has ideal ones all without it."""
    rows, here = list(bits(theory.where())), theory.space.where(Expression("name", (), name))
    if not any(theory.space.seen(row) & ~here for row in rows):
        return "obligatory"
    if not any(theory.space.seen(row) & here for row in rows):
        return "forbidden"
    could_lack = any(all(some & ~here for some in theory.space.witnesses(row)) for row in rows)
    return "left open" if could_lack else "permitted"


def _violated(theory: Theory, status: dict[str, str]) -> list[str]:
    """The duties that the facts break."""
    names = [(Expression("name", (), name), state) for name, state in status.items()]
    duties = [name if state == "obligatory" else negation(name) for name, state in names if state in DUTIES]
    return [str(each) for each in duties if not theory.where() & theory.space.where(each)]


def _contradiction(theory: Theory) -> Finding:
    core = theory.conflict()
    return Finding(
        f"the norms contradict each other: {'; '.join(core)}",
        confidence=1.0,
        steps=[f"no world with an ideal alternative makes all of these true: {'; '.join(core)}"],
        would_change=[f"without {gone!r}" for gone in core if theory.where(gone=gone)],
        answer={"consistent": False, "conflict": core},
        notes=[*LIMITS, "from a contradiction everything follows, so nothing else is concluded"],
    )
