"""Intervention: what doing something would bring about in a causal model, beside what merely goes with it.

model: an object of variables, each with an `equation` over others, or `parents` and `table` as in a Bayesian network
do: an object, each variable that is set with its value; or a list of such objects, to find the best
outcome: an object, each variable that is hoped for with its value
context: an object, each variable that is known before anything is done with its value
minimise: whether the outcome is to be avoided
"""

from __future__ import annotations

import math
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.causal.model import Case, Model, read_model, said
from memfolio.reason.effort import Effort
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

EXACT = "It is exact for this model: whether the model is right, nothing here can tell."


def reason(given: Given, world: World) -> Result:
    """The probability of the outcome under each act, beside that without one and that of seeing it only."""
    given.only("model", "do", "outcome", "context", "minimise")
    model = read_model(given, Effort(world.settings.work))
    outcome = model.read(given.part("outcome"), "outcome", least=1)
    context = model.read(given.part("context", {}), "context")
    several = isinstance(given.value("do", wanted="what is done"), list)
    acts = [model.read(each, "do", least=1) for each in (given.parts("do", least=1) if several else [given.part("do")])]
    sign = -1 if given.flag("minimise") else 1
    plain = _chance(model, outcome, context, {})
    done = [(sign * _chance(model, outcome, context, act), number) for number, act in enumerate(acts)]
    (top, first), (next_best, second) = [*sorted(done, reverse=True), (sign * plain, -1)][:2]
    act, rival, effect = acts[first], acts[second] if second >= 0 else {}, sign * (top - next_best)
    against = f"doing {said(rival)}" if rival else "doing nothing"
    seen = [model.chance(outcome | context | each) / (model.chance(context | each) or math.nan) for each in acts]
    rows: list[dict[str, Any]] = [
        {"do": acts[at], "chance": sign * value, "observed": None if math.isnan(seen[at]) else seen[at]}
        for value, at in done
    ]
    return Result(
        method="interventional",
        conclusion=f"Doing {said(act)} makes P({said(outcome)}) {sign * top:.4g}, {effect:+.4g} against {against}.",
        confidence=1.0,
        steps=(
            f"Nothing done: P({said(outcome)}) = {plain:.4g}.",
            *(
                f"{said(row['do'])}: {row['chance']:.4g} when done, {view:.4g} when only seen."
                for row, view in zip(rows, seen, strict=True)
            ),
        ),
        would_change=tuple(f"The order would turn {each}." for each in _flips(model, outcome, context, act, rival)),
        inputs=given.used,
        answer={"best": act, "without": plain, "effect": effect, "acts": rows},
        notes=(EXACT, *([f"{said(act)} and {against} come to the same."] if abs(effect) < 1e-12 else [])),
    )


def _chance(model: Model, event: Case, context: Case, do: Case) -> float:
    ground = model.chance(context, do)
    if not ground:
        raise InputError(f"context never happens: {said(context)}", hint="give what can be in the model")
    return model.chance(event | context, do) / ground


def _flips(model: Model, outcome: Case, context: Case, act: Case, rival: Case) -> list[str]:
    """Where the order of two acts turns: linear in each probability, unless the context is an effect of an act."""
    if model.graph.below({*act, *rival}) & set(context):
        return []
    return model.flips(lambda other: other.chance(outcome | context, act) - other.chance(outcome | context, rival))
