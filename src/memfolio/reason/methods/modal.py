"""What is necessary and possible, in a model of possible worlds or in every model of a logic.

formula: what is asked, such as: necessarily p implies possibly p; also with box, diamond, [], <>, □, ◇
logic: K, D, T, B, S4, S5 or KD45: what the relation between worlds must be like; K without it
worlds: the names of the worlds; without it the formula is checked in all models of the logic
sees: for each world those that are possible from it, such as {"w1": ["w1", "w2"]}
true: for each world the names that are true there
at: the world at which the formula is asked; without it, all"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memfolio.reason.expression import MODAL, Expression, formula
from memfolio.reason.inputs import Effort, Given, Result, World
from memfolio.reason.methods.logic import LOGICS, KripkeModel, Space, bits, read_model, told


def reason(given: Given, world: World) -> Result:
    """Whether a formula is true at a world or in a model, or valid in a logic."""
    given.only("formula", "logic", "worlds", "sees", "true", "at")
    asked = formula(given.text("formula"), "formula", MODAL)
    logic, effort = given.choice("logic", list(LOGICS), "K"), Effort(world.settings.work)
    if "worlds" not in given:
        return _in_logic(asked, logic, given, effort)
    return in_model("modal", asked, read_model(given, "sees", logic, effort), given, effort)


def _in_logic(asked: Expression, logic: str, given: Given, effort: Effort) -> Result:
    counters = {each: _counter(asked, each, effort) for each in LOGICS}
    valid, counter = [each for each, found in counters.items() if found is None], counters[logic]
    verdict, opposite = ("valid", "not valid") if counter is None else ("not valid", "valid")
    others = [each for each in LOGICS if (each in valid) != (logic in valid)]
    steps = [f"{_kind(logic)}, every way to make the parts of the formula true or false was tried"]
    if counter is None:
        steps.append("none is left in which it is false")
    else:
        values = counter.as_values()
        steps.append(f"it is false at {counter.worlds[0]}")
        steps += [
            f"{name} sees {', '.join(values['sees'][name]) or 'no world'}; "
            f"there it is true that {', '.join(values['true'][name]) or 'nothing'}"
            for name in counter.worlds
        ]
    change = [f"in {each} it is {opposite}: {_kind(each)}" for each in others]
    answer: dict[str, Any] = {"holds": counter is None, "claim": f"{given.text('formula')} is valid in {logic}"}
    answer |= {"valid": counter is None, "valid_in": valid, "countermodel": counter and counter.as_values()}
    return told(given, "modal", f"{given.text('formula')} is {verdict} in {logic}", steps, change, answer)


def _counter(asked: Expression, logic: str, effort: Effort) -> KripkeModel | None:
    """A model of a logic in whose first world a formula is false."""
    space = Space([asked], logic, effort)
    row = next(bits(space.live & ~space.where(asked)), None)
    return None if row is None else space.model(row)


def _kind(logic: str) -> str:
    return f"where the relation between worlds is {' and '.join(LOGICS[logic]) or 'not restricted'}"


def in_model(method: str, asked: Expression, model: KripkeModel, given: Given, effort: Effort) -> Result:
    """Whether a formula is true at a world of a model, or at all of them."""
    at = given.choice("at", model.worlds) if "at" in given else None
    goal, where = 1 << model.worlds.index(at) if at else model.everywhere, model.where(asked)
    false = ", ".join(model.named(goal & ~where))
    verdict = f"false at {false}" if false else f"true at {at or 'every world'}"
    parts = {each: ", ".join(model.named(model.where(each))) for each in asked.within()}
    steps = [f"{each} is true at {places or 'no world'}" for each, places in parts.items()]
    answer: dict[str, Any] = {"holds": not false, "claim": given.text("formula")}
    answer |= {"true_at": model.named(where), "model": model.as_values()}
    effort.spend(len(model.worlds) ** 2 * (len(model.worlds) + len(parts)))
    change = [words for words, other in _others(asked, model) if bool(goal & ~other.where(asked)) != bool(false)]
    return told(given, method, f"{given.text('formula')} is {verdict}", steps, change, answer)


def _others(asked: Expression, model: KripkeModel) -> Iterator[tuple[str, KripkeModel]]:
    """The models that differ in a single truth or arrow."""
    for at, world in enumerate(model.worlds):
        for name in sorted(asked.names()):
            mask = model.atoms.get(name, 0) ^ 1 << at
            words = f"if {name} were {'true' if mask >> at & 1 else 'false'} at {world}"
            yield words, replace(model, atoms={**model.atoms, name: mask})
        for to, other in enumerate(model.worlds):
            sees = [seen ^ (1 << to) * (place == at) for place, seen in enumerate(model.sees)]
            yield f"if {world} {'saw' if sees[at] >> to & 1 else 'did not see'} {other}", replace(model, sees=sees)
