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

from typing import Any

from memfolio.errors import InputError
from memfolio.reason.expression import DEONTIC, Expression, formula, negation
from memfolio.reason.inputs import Effort, Given, Result, World
from memfolio.reason.methods.logic import Theory, bits, formulas, read_model, told
from memfolio.reason.methods.modal import in_model

DUTIES = "obligatory", "forbidden"
LIMITS = (
    "in this logic whatever follows from what ought to be ought to be, too: O a gives O(a or b) (Ross's paradox)",
    "a norm for the case that another is violated contradicts that one, or is empty, in some wordings (Chisholm's)",
)


def reason(given: Given, world: World) -> Result:
    """What follows from norms and facts, or whether a formula is true in a model."""
    effort = Effort(world.settings.work)
    if "worlds" in given:
        given.only("formula", "worlds", "ideal", "true", "at")
        asked = formula(given.text("formula"), "formula", DEONTIC)
        return in_model("deontic", asked, read_model(given, "ideal", "D", effort), given, effort)
    given.only("norms", "facts", "background", "question")
    norms, facts, background = (formulas(given, name, DEONTIC) for name in ("norms", "facts", "background"))
    question = formula(given.text("question"), "question", DEONTIC) if "question" in given else None
    code = Theory(norms | facts, question, "D", effort, list(background.values()))
    if not code.space.live:
        raise InputError("background can be true in no world", hint="leave out what contradicts the rest of it")
    return _told(code, given) if code.where() else _contradiction(code, given)


def _told(code: Theory, given: Given) -> Result:
    status = {name: _status(code, name) for name in code.space.names}
    broken = _violated(code, status)
    steps = [*(f"{name} is {state}" for name, state in status.items()), *(f"O {each} is violated" for each in broken)]
    answer: dict[str, Any] = {"consistent": True, "status": status, "violated": broken}
    if code.goal:
        words, more, change, found, row = code.about(given.text("question"))
        answer |= {**found, "countermodel": None if row is None else code.space.model(row).as_values()}
        return told(given, "deontic", words, [*steps, *more], change, answer, LIMITS)
    needed = [said for said, term in code.premises.items() if code.where(gone=said) & ~code.space.where(term)]
    words = "; ".join(steps) or "nothing is said"
    return told(given, "deontic", words, steps or [words], [f"without {each!r}" for each in needed], answer, LIMITS)


def _status(code: Theory, name: str) -> str:
    """What follows for an act: it is permitted where no possible world has ideal ones all without it."""
    rows, here = list(bits(code.where())), code.space.where(Expression("name", (), name))
    if not any(code.space.seen(row) & ~here for row in rows):
        return "obligatory"
    if not any(code.space.seen(row) & here for row in rows):
        return "forbidden"
    could_lack = any(all(some & ~here for some in code.space.witnesses(row)) for row in rows)
    return "left open" if could_lack else "permitted"


def _violated(code: Theory, status: dict[str, str]) -> list[str]:
    """The duties that the facts break."""
    names = [(Expression("name", (), name), state) for name, state in status.items()]
    duties = [name if state == "obligatory" else negation(name) for name, state in names if state in DUTIES]
    return [str(each) for each in duties if not code.where() & code.space.where(each)]


def _contradiction(code: Theory, given: Given) -> Result:
    core = code.conflict()
    steps = [f"no world with an ideal alternative makes all of these true: {'; '.join(core)}"]
    change = [f"without {gone!r}" for gone in core if code.where(gone=gone)]
    notes = (*LIMITS, "from a contradiction everything follows, so nothing else is concluded")
    words = f"the norms contradict each other: {'; '.join(core)}"
    return told(given, "deontic", words, steps, change, {"consistent": False, "conflict": core}, notes)
