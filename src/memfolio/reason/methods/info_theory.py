"""Information theory: which attribute or which question tells most about what is not known, in bits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import LARGEST, Chances, Finding, Inputs, Named, World, between, method, only, read, sized
from memfolio.reason.methods.flips import brief, either, leaders, listed, searched_flip
from memfolio.types import EMPTY

MOST_VARIED = 2000
"""Up to which number of hypotheses squared, times questions, the priors are varied."""

Rows = list[dict[str, str]]
Answers = Mapping[str, Mapping[str, float]]


class Examples(NamedTuple):
    examples: Annotated[Sequence[Inputs], sized(2)]
    label: str


class Questions(NamedTuple):
    prior: Chances
    questions: Named[Inputs]
    costs: Mapping[str, Annotated[float, between(1e-12, LARGEST)]] = EMPTY


@method
def info_theory(given: Examples | Questions, world: World) -> Finding:
    """What tells most, and what would make something else tell more."""
    return _attributes(given, world.settings.work) if isinstance(given, Examples) else _questions(given)


def entropy(chances: Iterable[float]) -> float:
    """In bits."""
    return -math.fsum(each * math.log2(each) for each in chances if each) + 0.0


def _attributes(given: Examples, work: int) -> Finding:
    label, rows = given.label, [{name: str(value) for name, value in row.items()} for row in given.examples]
    attributes = [name for name in rows[0] if name != label]
    if not attributes or any(set(row) != {*attributes, label} for row in rows):
        raise InputError("the examples differ in their attributes", hint=f"give each {label!r} and the same others")
    gains = {name: _gain(rows, name, label) for name in attributes}
    best, flips = leaders(gains, 1), []
    for left in range(len(rows)) if len(rows) ** 2 * len(attributes) <= work else ():
        fewer = rows[:left] + rows[left + 1 :]
        if (other := leaders({name: _gain(fewer, name, label) for name in attributes}, 1)) != best:
            flips.append(f"Without example {left + 1}, {either(other)} tells most.")
    step = f"{label} has {brief(entropy(_shares(rows, label)))} bits over {len(rows)} examples."
    return _finding(gains, best, f"about {label}", [step], flips, "An attribute with many values gains by that alone.")


def _shares(rows: Rows, name: str) -> list[float]:
    return [count / len(rows) for count in Counter(row[name] for row in rows).values()]


def _gain(rows: Rows, name: str, label: str) -> float:
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    left = math.fsum(len(group) / len(rows) * entropy(_shares(group, label)) for group in groups.values())
    return max(0.0, entropy(_shares(rows, label)) - left)


def _finding(
    gains: Mapping[str, float], best: list[str], about: str, steps: list[str], flips: list[str], note: str
) -> Finding:
    return Finding(
        f"{either(best)} tells most {about}: {brief(gains[best[0]])} bits.",
        steps=[*steps, f"Expected gain in bits: {listed(gains)}."],
        would_change=flips[:20] or ["No single change that was tried leads to another one."],
        answer={"best": best, "options": list(gains), "gains": dict(gains)},
        notes=[note, f"{len(best)} tell the same." if len(best) > 1 else ""],
    )


def _questions(given: Questions) -> Finding:
    prior, asked = given.prior, given.questions
    only("costs", given.costs, asked)
    costs = {name: given.costs.get(name, 1.0) for name in asked}
    answers = {name: _answers(part, f"questions.{name}", prior) for name, part in asked.items()}
    gains = {name: _expected_gain(prior, table) for name, table in answers.items()}
    rates, best = {name: gains[name] / costs[name] for name in gains}, _best(prior, answers, costs)
    flips, rivals = [], {name: rate for name, rate in rates.items() if name != best[0] and rate > 1e-9}
    if rivals:
        limit = gains[best[0]] / max(rivals.values())
        now = brief(costs[best[0]])
        flips.append(f"{leaders(rivals)[0]} is better once {best[0]} costs over {brief(limit)} (it costs {now}).")

    def best_at(name: str, share: float) -> str:
        left = 1 - prior[name]
        moved = {each: share if each == name else p * (1 - share) / left for each, p in prior.items()}
        return _best(moved, answers, costs)[0]

    for each, share in prior.items() if len(prior) ** 2 * len(asked) <= MOST_VARIED else ():
        if share < 1 and (flip := searched_flip(partial(best_at, each), share, 0, 1)):
            flips.append(f"{flip.leader} is better once the prior of {each} {flip.past(share)}.")
    steps = [f"The hypotheses have {brief(entropy(prior.values()))} bits.", f"Bits for the cost: {listed(rates)}."]
    return _finding(gains, best, "for its cost", steps, flips, "Only the next question is weighed.")


def _answers(table: Inputs, place: str, prior: Mapping[str, float]) -> Answers:
    """The probabilities of the answers to a question under each hypothesis."""
    only(place, table, prior)
    found = {each: read(Any, table.get(each), f"{place}.{each}") for each in prior}
    return {
        each: read(Chances, answer, f"{place}.{each}") if isinstance(answer, Mapping) else {str(answer): 1.0}
        for each, answer in found.items()
    }


def _best(prior: Mapping[str, float], answers: Mapping[str, Answers], costs: Mapping[str, float]) -> list[str]:
    rates = {name: _expected_gain(prior, table) / costs[name] for name, table in answers.items()}
    return leaders(rates, 1 / min(costs.values()))


def _expected_gain(prior: Mapping[str, float], table: Answers) -> float:
    totals: dict[str, float] = {}
    for each, row in table.items():
        for answer, share in row.items():
            totals[answer] = totals.get(answer, 0.0) + prior[each] * share
    left = math.fsum(prior[each] * entropy(row.values()) for each, row in table.items())
    return max(0.0, entropy(totals.values()) - left)
