"""Counterfactual: what would have been, had something been otherwise, against the same background.

model: an object of variables, each with an `equation` over others or, where nothing decides it, a `table` of chances
evidence: an object, each variable that was observed with its value
had: an object, each variable that is supposed to have been otherwise with its value
outcome: an object, each variable that is asked for with its value: would it have been so?"""

from __future__ import annotations

import math
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Finding, Inputs, World, method
from memfolio.reason.methods.causal_model import UNTURNED, Case, CausalModel, Model, read_model, said
from memfolio.types import EMPTY

Worlds = list[tuple[Case, float]]
SHOWN = 8
OPEN = "give an equation with a variable for chance: a table leaves open what would have been"
BUT_FOR = "But-for is no full test of a cause: where something else stood ready, or did it as well, it says no."
EXACT = "It is exact for these equations: whether they are right, nothing here can tell."


class Supposition(NamedTuple):
    model: Model
    had: Inputs
    outcome: Inputs
    evidence: Inputs = EMPTY


@method
def reason(given: Supposition, world: World) -> Finding:
    """The probability of the outcome in the other course of events, and how necessary and sufficient the cause was."""
    model = read_model(given.model, world.effort())
    if loose := [name for name, each in model.variables.items() if each.parents and not each.equation]:
        raise InputError(f"model.{loose[0]} has a table with parents", hint=OPEN)
    evidence = model.event(given.evidence, "evidence")
    had, outcome = model.event(given.had, "had", least=1), model.event(given.outcome, "outcome", least=1)
    worlds = _worlds(model, evidence)
    if not worlds:
        raise InputError(f"evidence never happens: {said(evidence)}", hint="give what can be in the model")
    would = _share(model, worlds, had, outcome)
    causation = _causation(model, evidence, had, outcome)
    flips = model.flips(lambda other: _margin(other, evidence, had, outcome))
    but_for = "is" if would == 1 else "is not" if would == 0 else "may be"
    happened = any(outcome.items() <= case.items() for case, _ in worlds)
    return Finding(
        f"Had {said(had)} been, {said(outcome)} would {'' if would >= 0.5 else 'not '}have been"
        f" (probability {would:.4g} that it would).",
        confidence=max(would, 1 - would),
        steps=[
            f"Abduction: what happened ({said(evidence) or 'nothing known'}) leaves {_backgrounds(model, worlds)}.",
            f"Action: what decides {', '.join(had)} is cut, and {said(had)} is set.",
            f"Prediction: {said(outcome)} in backgrounds that weigh {would:.4g} together.",
            *(f"Probability of {name}: {value:.4g}." for name, value in causation.items() if value is not None),
        ],
        would_change=[f"The answer would turn {each}." for each in flips] or [UNTURNED],
        answer={"probability": would, **{name.replace(" ", "_"): value for name, value in causation.items()}},
        notes=["" if happened else f"What {', '.join(had)} was {but_for} a but-for cause.", BUT_FOR, EXACT],
    )


def _worlds(model: CausalModel, evidence: Case) -> Worlds:
    return [(case, share) for case, share in model.cases() if evidence.items() <= case.items()]


def _holds(model: CausalModel, case: Case, had: Case, outcome: Case) -> bool:
    """Whether the outcome comes about on the background of a course of events, with something set otherwise."""
    background = {name: case[name] for name, each in model.variables.items() if not each.equation}
    return outcome.items() <= next(model.cases(background | had))[0].items()


def _weight(model: CausalModel, worlds: Worlds, had: Case, outcome: Case) -> float:
    return math.fsum(share for case, share in worlds if _holds(model, case, had, outcome))


def _share(model: CausalModel, worlds: Worlds, had: Case, outcome: Case) -> float:
    return min(1.0, _weight(model, worlds, had, outcome) / math.fsum(share for _, share in worlds))


def _margin(model: CausalModel, evidence: Case, had: Case, outcome: Case) -> float:
    worlds = _worlds(model, evidence)
    return _weight(model, worlds, had, outcome) - math.fsum(share for _, share in worlds) / 2


def _causation(model: CausalModel, evidence: Case, had: Case, outcome: Case) -> dict[str, float | None]:
    """Necessity and sufficiency of what happened, against what is supposed instead, for what came of it."""
    if not {*had, *outcome} <= set(evidence):
        return {}
    cause, effect = ({name: evidence[name] for name in names} for names in (had, outcome))
    both = _worlds(model, cause | effect)
    neither = [each for each in _worlds(model, had) if not effect.items() <= each[0].items()]
    needed = [each for each in _worlds(model, {}) if not _holds(model, each[0], had, effect)]
    return {
        "necessity": 1 - _share(model, both, had, effect) if both else None,
        "sufficiency": _share(model, neither, cause, effect) if neither else None,
        "necessity and sufficiency": _weight(model, needed, cause, effect),
    }


def _backgrounds(model: CausalModel, worlds: Worlds) -> str:
    free = [name for name, each in model.variables.items() if not each.equation]
    total = math.fsum(share for _, share in worlds)
    told = [f"{said({name: case[name] for name in free})} ({share / total:.4g})" for case, share in worlds[:SHOWN]]
    return "; ".join(told) + (f" and {len(worlds) - SHOWN} more" if len(worlds) > SHOWN else "")
