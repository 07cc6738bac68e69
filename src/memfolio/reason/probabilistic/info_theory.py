"""Information theory: how uncertain something is, what one thing tells about another, which question to ask next.

examples: a list of objects, each attribute with its value
label: the attribute of the examples that is to be foretold
prior: instead of these, an object: each hypothesis with its probability; alone, its entropy is given
reference: an object like `prior`: how far `prior` diverges from it
questions: an object, each question with an object: each hypothesis with its answer or the probabilities of its answers
costs: an object, each question with its cost; the gain is divided by it
joint: instead of these, a table of probabilities of two variables: their mutual information
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from memfolio.errors import InputError
from memfolio.reason.given import Given, adding_up
from memfolio.reason.probabilistic.flips import brief, leaders, listed, passing, searched_flip
from memfolio.reason.result import Result
from memfolio.reason.world import World

MOST_VARIED = 2000
"""Up to which number of hypotheses squared, times questions, the priors are varied."""

Rows = list[dict[str, str]]


def reason(given: Given, world: World) -> Result:
    """What is known in bits, or what tells most."""
    given.only("examples", "label", "prior", "reference", "questions", "costs", "joint")
    if "examples" in given:
        return _attributes(given, world)
    if "joint" in given:
        return _mutual(given)
    return _questions(given) if "questions" in given else _uncertainty(given)


def entropy(chances: Iterable[float]) -> float:
    """In bits."""
    return -math.fsum(each * math.log2(each) for each in chances if each) + 0.0


def _attributes(given: Given, world: World) -> Result:
    parts, label = given.parts("examples", least=2), given.text("label")
    rows = [{name: str(part.value(name)) for name in part.names()} for part in parts]
    attributes = [name for name in rows[0] if name != label]
    if not attributes or any(set(row) != {*attributes, label} for row in rows):
        raise InputError("the examples differ in their attributes", hint=f"give each {label!r} and the same others")
    gains = {name: _gain(rows, name, label) for name in attributes}
    best, flips = leaders(gains), []
    if len(rows) ** 2 * len(attributes) <= world.settings.work:
        for left in range(len(rows)):
            fewer = rows[:left] + rows[left + 1 :]
            if (other := leaders({name: _gain(fewer, name, label) for name in attributes})) != best:
                flips.append(f"Without example {left + 1}, {' or '.join(other)} tells most.")
    note = "An attribute with many values gains by that alone; the gain ratio in the answer corrects for it."
    ratios = {name: gains[name] / max(entropy(_shares(rows, name)), 1e-12) for name in attributes}
    steps = [f"{label} has {brief(entropy(_shares(rows, label)))} bits over {len(rows)} examples."]
    return _told(given, gains, best, f"about {label}", steps, flips, note, {"gain_ratios": ratios})


def _shares(rows: Rows, name: str) -> list[float]:
    return [count / len(rows) for count in Counter(row[name] for row in rows).values()]


def _gain(rows: Rows, name: str, label: str) -> float:
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    left = math.fsum(len(group) / len(rows) * entropy(_shares(group, label)) for group in groups.values())
    return entropy(_shares(rows, label)) - left


def _told(
    given: Given,
    gains: Mapping[str, float],
    best: list[str],
    about: str,
    steps: list[str],
    flips: list[str],
    note: str,
    more: Mapping[str, object],
) -> Result:
    tie = [f"{' and '.join(best)} tell the same."] if len(best) > 1 else []
    return Result(
        method="info-theory",
        conclusion=f"{' or '.join(best)} tells most {about}: {brief(gains[best[0]])} bits.",
        steps=(*steps, f"Expected gain in bits: {listed(gains)}."),
        would_change=tuple(flips[:20]) or ("No single change that was tried leads to another one.",),
        inputs=given.used,
        answer={"best": best, "gains": dict(gains), **more},
        notes=(note, *tie),
    )


def _questions(given: Given) -> Result:
    prior, asked, priced = given.distribution("prior"), given.by_name("questions", least=1), given.part("costs", {})
    priced.only(*asked)
    costs = {name: priced.number(name, 1, low=1e-12) for name in asked}
    answers = {name: {each: _answers(part, each) for each in prior} for name, part in asked.items()}
    gains = {name: _expected_gain(prior, table) for name, table in answers.items()}
    rates = {name: gains[name] / costs[name] for name in gains}
    best, flips = leaders(rates), []
    others = {name: rate for name, rate in rates.items() if name not in best and rate > 0}
    if others:
        limit = gains[best[0]] / max(others.values())
        flips.append(f"{leaders(others)[0]} is better once {best[0]} costs over {brief(limit)} ({costs[best[0]]:g}).")

    def best_at(name: str, share: float) -> str:
        left = 1 - prior[name]
        moved = {each: share if each == name else p * (1 - share) / left for each, p in prior.items()}
        return leaders({each: _expected_gain(moved, answers[each]) / costs[each] for each in asked})[0]

    for each, share in prior.items() if len(prior) ** 2 * len(asked) <= MOST_VARIED else ():
        if share < 1 and (flip := searched_flip(partial(best_at, each), share, 1e-6, 1 - 1e-6)):
            flips.append(f"{flip[1]} is better once the prior of {each} {passing(flip[0], share)}.")
    steps = [f"The hypotheses have {brief(entropy(prior.values()))} bits.", f"Costs: {listed(costs)}."]
    return _told(
        given, gains, best, "for its cost", steps, flips, "Only the next question is weighed.", {"rates": rates}
    )


def _answers(part: Given, name: str) -> dict[str, float]:
    """The probabilities of the answers to a question under one hypothesis."""
    found = part.value(name, wanted="an answer or the probabilities of answers")
    return part.distribution(name) if isinstance(found, dict) else {str(found): 1.0}


def _expected_gain(prior: Mapping[str, float], table: Mapping[str, Mapping[str, float]]) -> float:
    totals: dict[str, float] = {}
    for each, row in table.items():
        for answer, share in row.items():
            totals[answer] = totals.get(answer, 0.0) + prior[each] * share
    return entropy(totals.values()) - math.fsum(prior[each] * entropy(row.values()) for each, row in table.items())


def _uncertainty(given: Given) -> Result:
    prior = given.distribution("prior")
    bits, most = entropy(prior.values()), math.log2(len(prior))
    answer, steps = {"entropy": bits, "most": most}, [f"The sum of −p·log2 p over {listed(prior)} is {brief(bits)}."]
    if "reference" in given:
        other = given.distribution("reference")
        if set(other) != set(prior) or any(prior[each] and not other[each] for each in prior):
            raise InputError(
                "reference lacks something that prior allows", hint="give it above 0 for each name in prior"
            )
        answer["divergence"] = math.fsum(p * math.log2(p / other[each]) for each, p in prior.items() if p)
        steps.append(f"It diverges from the reference by {brief(answer['divergence'])} bits (Kullback-Leibler).")
    return _measured(given, f"{brief(bits)} bits are uncertain, of at most {brief(most)}.", answer, steps)


def _mutual(given: Given) -> Result:
    rows = given.matrix("joint")
    if any(each < 0 for row in rows for each in row):
        raise InputError("joint has a negative entry", hint="give probabilities")
    adding_up("joint", {f"{i},{j}": each for i, row in enumerate(rows) for j, each in enumerate(row)})
    down, across = entropy(map(math.fsum, rows)), entropy(map(math.fsum, zip(*rows, strict=True)))
    both = entropy(each for row in rows for each in row)
    answer = {"rows": down, "columns": across, "joint": both, "mutual": down + across - both}
    steps = [f"Rows {brief(down)} + columns {brief(across)} − both {brief(both)} = {brief(answer['mutual'])} bits."]
    return _measured(given, f"The variables tell {brief(answer['mutual'])} bits about each other.", answer, steps)


def _measured(given: Given, conclusion: str, answer: dict[str, float], steps: list[str]) -> Result:
    change = "It is a measure, not a choice: it moves smoothly with the probabilities."
    plain = Result(method="info-theory", conclusion=conclusion, confidence=1.0, steps=tuple(steps))
    return replace(plain, would_change=(change,), inputs=given.used, answer=answer)
