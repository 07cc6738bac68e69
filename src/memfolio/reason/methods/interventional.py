"""Intervention: what doing something would bring about in a causal model, beside what merely goes with it.

model: an object of variables, each with an `equation` over others, or `parents` and `table` as in a Bayesian network
do: an object, each variable that is set with its value; or a list of such objects, to find the best
outcome: an object, each variable that is hoped for with its value"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from memfolio.reason.inputs import Finding, Inputs, Several, World, method
from memfolio.reason.methods.causal_model import UNTURNED, Case, CausalModel, Model, read_model, said

EXACT = "It is exact for this model: whether the model is right, nothing here can tell."


class Intervention(NamedTuple):
    model: Model
    do: Inputs | Several[Inputs]
    outcome: Inputs


@method
def reason(given: Intervention, world: World) -> Finding:
    """The probability of the outcome under each act, beside that without one and that of seeing it only."""
    model = read_model(given.model, world.effort())
    outcome = model.event(given.outcome, "outcome", least=1)
    done = [given.do] if isinstance(given.do, Mapping) else given.do
    acts = [model.event(each, f"do[{at}]" if done is given.do else "do", least=1) for at, each in enumerate(done)]
    plain, *chances = [model.chance(outcome, do=act) for act in ({}, *acts)]
    order = sorted(range(len(acts)), key=lambda at: -chances[at])
    act, rival = acts[order[0]], acts[order[1]] if order[1:] else {}
    top, effect = chances[order[0]], chances[order[0]] - (chances[order[1]] if rival else plain)
    against = f"doing {said(rival)}" if rival else "doing nothing"
    rows: list[dict[str, Any]] = [
        {"do": act, "chance": chance, "observed": _seen(model, outcome, act)}
        for act, chance in zip(acts, chances, strict=True)
    ]
    flips = model.flips(lambda it: it.chance(outcome, do=act) - it.chance(outcome, do=rival))
    return Finding(
        f"Doing {said(act)} makes P({said(outcome)}) {top:.4g}, {effect:+.4g} against {against}.",
        confidence=1.0,
        steps=[f"Nothing done: P({said(outcome)}) = {plain:.4g}.", *map(_act, rows)],
        would_change=[f"The order would turn {each}." for each in flips] or [UNTURNED],
        answer={"best": said(act), "options": [said(each) for each in acts], "act": act}
        | {"without": plain, "effect": effect, "acts": rows},
        notes=[EXACT, f"{said(act)} and {against} come to the same." if abs(effect) < 1e-12 else ""],
    )


def _seen(model: CausalModel, outcome: Case, act: Case) -> float | None:
    """The probability of the outcome where the act is only seen; None where it is never seen."""
    ground = model.chance(act)
    return model.chance(outcome, act) / ground if ground else None


def _act(row: dict[str, Any]) -> str:
    seen = "never seen" if row["observed"] is None else f"{row['observed']:.4g} when only seen"
    return f"{said(row['do'])}: {row['chance']:.4g} when done, {seen}."
