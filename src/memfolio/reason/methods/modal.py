"""What is necessary and possible in a model of possible worlds.

formula: what is asked, such as: necessarily p implies possibly p; also with box, diamond, [], <>, □, ◇
worlds: the names of the worlds
sees: for each world those that are possible from it, such as {"w1": ["w1", "w2"]}
true: for each world the names that are true there
at: the world at which the formula is asked; without it, all
logic: K, D, T, B, S4, S5 or KD45: what the relation between worlds must be like; K without it"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from memfolio.reason.expression import MODAL, formula
from memfolio.reason.inputs import Finding, Several, Texts, World, method
from memfolio.reason.methods.logic import in_model, read_model
from memfolio.types import EMPTY


class Model(NamedTuple):
    formula: str
    worlds: Several[str]
    sees: Mapping[str, Texts] = EMPTY
    true: Mapping[str, Texts] = EMPTY
    at: str | None = None
    logic: Literal["K", "D", "T", "B", "S4", "S5", "KD45"] = "K"


@method
def reason(given: Model, world: World) -> Finding:
    """Whether a formula is true at a world of a model, or at all of them."""
    asked, effort = formula(given.formula, "formula", MODAL), world.effort()
    effort.spend(len(given.worlds) ** 3)
    model = read_model(given.worlds, given.sees, given.true, given.logic)
    return in_model(given.formula, asked, model, given.at, effort)
