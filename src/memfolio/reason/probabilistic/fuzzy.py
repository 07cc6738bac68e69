"""Fuzzy logic: what rules in words conclude from numbers (Mamdani; with constant sets Sugeno).

variables: an object, each variable with `low`, `high` and `sets`: each word with {"triangle": [a, b, c]},
  {"trapezoid": [a, b, c, d]}, {"gaussian": [middle, width]} or, for a conclusion, {"constant": [value]}
rules: a list of texts such as: if service is excellent or food is not rancid then tip is generous
values: an object, each variable of the conditions with its number
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.reason.given import Given
from memfolio.reason.probabilistic.expression import parsed
from memfolio.reason.probabilistic.flips import brief, leaders, listed, passing, searched_flip
from memfolio.reason.result import Result
from memfolio.reason.world import World

SHAPES = {"triangle": 3, "trapezoid": 4, "gaussian": 2, "constant": 1}
POINTS = 2001
"""At how many points of its range a conclusion is looked at."""
MOST_RULES = 200
MOST_VARIED = 400
"""How many rules, times values that are varied, are looked at to find where a conclusion turns over."""
FORM = "write: if A is x and (B is y or C is not z) then D is w; variables and words are single words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A quantity and the words for it."""

    low: float
    high: float
    sets: Mapping[str, tuple[str, list[float]]]

    def degree(self, word: str, at: Any) -> Any:
        """How far a number, or each of several, is what the word says."""
        import numpy

        shape, numbers = self.sets[word]
        if shape == "gaussian":
            return numpy.exp(-(((at - numbers[0]) / numbers[1]) ** 2) / 2)
        a, b, c, d = numbers if shape == "trapezoid" else (numbers[0], numbers[1], numbers[1], numbers[2])
        rising = (at - a) / (b - a) if b > a else numpy.where(at >= a, 1.0, 0.0)
        falling = (d - at) / (d - c) if d > c else numpy.where(at <= d, 1.0, 0.0)
        return numpy.clip(numpy.minimum(rising, falling), 0, 1)

    def word(self, at: float | None) -> str:
        """The word that fits a number best; of constants, the nearest."""
        if at is None:
            return "nothing"
        constants = {word: -abs(numbers[0] - at) for word, (shape, numbers) in self.sets.items() if shape == "constant"}
        return leaders(constants or {word: float(self.degree(word, at)) for word in self.sets})[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules, each a condition and the word it concludes for a variable."""

    variables: Mapping[str, Variable]
    rules: list[tuple[ast.expr, str, str]]

    def degrees(self, values: Mapping[str, float]) -> list[float]:
        """How far each rule holds."""
        return [self._held(condition, values) for condition, _, _ in self.rules]

    def conclude(self, values: Mapping[str, float]) -> dict[str, float | None]:
        """The centre of what the rules say about each variable, cut to how far they hold; None where none holds."""
        import numpy

        found: dict[str, float | None] = {}
        degrees = self.degrees(values)
        for name in dict.fromkeys(variable for _, variable, _ in self.rules):
            said = [(word, degree) for (_, each, word), degree in zip(self.rules, degrees, strict=True) if each == name]
            if {self.shape(name, word) for word, _ in said} == {"constant"}:
                variable = self.variables[name]
                at = numpy.array([variable.sets[word][1][0] for word, _ in said])
                weight = numpy.array([degree for _, degree in said])
            else:
                variable = self.variables[name]
                at = numpy.linspace(variable.low, variable.high, POINTS)
                weight = numpy.max([numpy.minimum(variable.degree(word, at), degree) for word, degree in said], axis=0)
                weight[[0, -1]] /= 2
            found[name] = float((at * weight).sum() / weight.sum()) if weight.sum() > 0 else None
        return found

    def _held(self, node: ast.expr, values: Mapping[str, float]) -> float:
        """How far a condition holds; what is none is refused."""
        match node:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Name(id=word)]
            ):
                if self.shape(name, word) == "constant":
                    raise InputError(f"a rule asks for the constant {word}", hint="give the sets of conditions a width")
                if name not in values:
                    raise InputError(
                        f"values.{name} is missing", hint="give a number for every variable of a condition"
                    )
                degree = float(self.variables[name].degree(word, values[name]))
                return 1 - degree if isinstance(op, ast.IsNot) else degree
            case ast.BoolOp(op=op, values=parts):
                return (min if isinstance(op, ast.And) else max)([self._held(part, values) for part in parts])
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return 1 - self._held(part, values)
        raise InputError(f"a rule has a {type(node).__name__} where a condition belongs", hint=FORM)

    def shape(self, name: str, word: str) -> str:
        """Of which shape a word for a variable is."""
        if name not in self.variables:
            raise InputError(f"a rule names {name!r:.60}", hint=nearest(name, list(self.variables)))
        if word not in self.variables[name].sets:
            raise InputError(f"a rule says {name} is {word!r:.60}", hint=nearest(word, list(self.variables[name].sets)))
        return self.variables[name].sets[word][0]


def reason(given: Given, world: World) -> Result:
    """The number each conclusion comes to, and how far each rule held."""
    given.only("variables", "rules", "values")
    parts, texts, inside = given.by_name("variables", least=2), given.texts("rules", least=1), given.part("values")
    variables = {name: _variable(part, f"variables.{name}") for name, part in parts.items()}
    if len(texts) > MOST_RULES:
        raise InputError(f"rules has {len(texts)} members", hint=f"give at most {MOST_RULES}")
    rules = Rules(variables=variables, rules=[_rule(f"rules[{n}]", text) for n, text in enumerate(texts)])
    inside.only(*variables)
    values = {name: inside.number(name, low=variables[name].low, high=variables[name].high) for name in inside.names()}
    degrees, found = rules.degrees(values), rules.conclude(values)
    words = {name: variables[name].word(at) for name, at in found.items()}
    said = [f"{name} is {brief(at)} ({words[name]})" for name, at in found.items() if at is not None]
    silent = [f"no rule says anything about {name}" for name, at in found.items() if at is None]
    return Result(
        method="fuzzy",
        conclusion="; ".join([*said, *silent]) + ".",
        steps=(
            *(f"{name} {brief(at)}: {listed(_fits(variables[name], at))}." for name, at in values.items()),
            *(f"{brief(degree)}: {text}." for degree, text in zip(degrees, texts, strict=True)),
        ),
        would_change=tuple(_flips(rules, values, list(found))),
        inputs=given.used,
        answer={"values": found, "words": words, "rules": degrees},
        notes=(
            "A degree says how well a word fits, not how probable something is: so there is no confidence.",
            "`and` takes the least degree, `or` the greatest; conclusions are cut, joined, and their centre taken.",
        ),
    )


def _fits(variable: Variable, at: float) -> dict[str, float]:
    return {word: float(variable.degree(word, at)) for word, each in variable.sets.items() if each[0] != "constant"}


def _variable(part: Given, place: str) -> Variable:
    part.only("low", "high", "sets")
    low = part.number("low")
    high = part.number("high", low=math.nextafter(low, math.inf))
    sets = {word: _shape(each, f"{place}.sets.{word}") for word, each in part.by_name("sets", least=1).items()}
    if len({shape == "constant" for shape, _ in sets.values()}) > 1:
        raise InputError(f"{place}.sets has constants beside other shapes", hint="give all of them a width, or none")
    return Variable(low=low, high=high, sets=sets)


def _shape(part: Given, place: str) -> tuple[str, list[float]]:
    part.only(*SHAPES)
    shape = next(iter(part.names()), "")
    numbers = part.numbers(shape) if len(part.names()) == 1 else []
    makes_sense = len(numbers) == SHAPES.get(shape) and (numbers[-1] > 0 or shape != "gaussian")
    if not makes_sense or (shape != "gaussian" and numbers != sorted(numbers)):
        hint = "give a rising triangle or trapezoid, gaussian [middle, width] or constant [value]"
        raise InputError(f"{place} is no set", hint=hint)
    return shape, numbers


def _rule(place: str, text: str) -> tuple[ast.expr, str, str]:
    start, _, said = text.removeprefix("if ").partition(" then ")
    match parsed(place, said, FORM):
        case ast.Compare(left=ast.Name(id=variable), ops=[ast.Is()], comparators=[ast.Name(id=word)]):
            return parsed(place, start, FORM), variable, word
    raise InputError(f"{place} concludes {said!r:.60}", hint=FORM)


def _flips(rules: Rules, values: dict[str, float], outputs: list[str]) -> list[str]:
    def word_at(name: str, output: str, moved: float) -> str:
        return rules.variables[output].word(rules.conclude({**values, name: moved})[output])

    found = []
    for name, output in [(name, output) for name in values for output in outputs][: MOST_VARIED // len(rules.rules)]:
        variable = rules.variables[name]
        if flip := searched_flip(partial(word_at, name, output), values[name], variable.low, variable.high):
            found.append(f"{output} becomes {flip[1]} once {name} {passing(flip[0], values[name])}.")
    return found
