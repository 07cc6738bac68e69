"""Fuzzy logic: what rules in words conclude from numbers (Mamdani)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from memfolio.arguments import nearest
from memfolio.errors import InputError
from memfolio.reason.expression import Expression, expression
from memfolio.reason.inputs import Amount, Computed, Named, Texts, World, method, number_in, only, sized
from memfolio.reason.methods.flips import brief, leaders, listed
from memfolio.types import frozen

POINTS = 1001
"""At how many points of its range a conclusion is looked at."""
FORM = "write: if A is x and (B is y or C is not z) then D is w; variables and words are single words"


@frozen
class FuzzyVariable:
    """A quantity and the words for it, each with the four corners of a trapezoid."""

    low: float
    high: float
    sets: Mapping[str, list[float]]
    points: Any
    """Where its range is looked at: evenly, and at the corners of every set, which may be narrow."""

    def degree(self, word: str, at: Any) -> Any:
        """How far a number, or each of several, is what the word says."""
        import numpy

        (a, b, c, d), at = self.sets[word], numpy.asarray(at, dtype=float)
        with numpy.errstate(over="ignore"):
            rising = (at - a) / (b - a) if b > a else numpy.where(at >= a, 1.0, 0.0)
            falling = (d - at) / (d - c) if d > c else numpy.where(at <= d, 1.0, 0.0)
        return numpy.clip(numpy.minimum(rising, falling), 0, 1)

    def fits(self, at: float) -> dict[str, float]:
        """How far a number is what each word says."""
        return {word: float(self.degree(word, at)) for word in self.sets}

    def word(self, at: float | None) -> str:
        """The word that fits a number best."""
        return "nothing" if at is None else leaders(self.fits(at))[0]


@frozen
class FuzzyRules:
    """Rules, each a condition and the word it concludes for a variable."""

    variables: Mapping[str, FuzzyVariable]
    rules: list[tuple[Expression, str, str]]

    def degrees(self, values: Mapping[str, float]) -> list[float]:
        """How far each rule holds."""
        return [self._degree(condition, values) for condition, _, _ in self.rules]

    def conclude(self, values: Mapping[str, float]) -> dict[str, float | None]:
        """The centre of what the rules say about each variable, cut to how far they hold; None where none holds."""
        import numpy

        found: dict[str, float | None] = {}
        degrees = self.degrees(values)
        for name in dict.fromkeys(variable for _, variable, _ in self.rules):
            concluded = [
                (word, degree) for (_, each, word), degree in zip(self.rules, degrees, strict=True) if each == name
            ]
            at = self.variables[name].points
            cut = [numpy.minimum(self.variables[name].degree(word, at), degree) for word, degree in concluded]
            height = numpy.max(cut, axis=0)
            area = float(numpy.trapezoid(height, at))
            found[name] = float(numpy.trapezoid(height * at, at)) / area if area > 0 else None
        return found

    def _degree(self, term: Expression, values: Mapping[str, float]) -> float:
        """How far a condition holds; what is none is refused."""
        if term.op in ("and", "or"):
            return (min if term.op == "and" else max)(self._degree(part, values) for part in term.parts)
        if term.op == "not":
            return 1 - self._degree(term.parts[0], values)
        if term.op == "is" and term.parts[1].op == "not":
            return 1 - self._degree(Expression("is", (term.parts[0], term.parts[1].parts[0])), values)
        name, word = _statement(term)
        self.check(name, word)
        if name not in values:
            raise InputError(f"values.{name} is missing", hint="give a number for it")
        return float(self.variables[name].degree(word, values[name]))

    def check(self, name: str, word: str) -> None:
        """Refuse a variable that there is not, or a word that it does not have."""
        if name not in self.variables:
            raise InputError(f"a rule names {name!r:.60}", hint=nearest(name, list(self.variables)))
        if word not in self.variables[name].sets:
            raise InputError(f"a rule says {name} is {word!r:.60}", hint=nearest(word, list(self.variables[name].sets)))


class Shape(NamedTuple):
    triangle: Sequence[Amount] = ()
    trapezoid: Sequence[Amount] = ()

    def corners(self, place: str) -> list[float]:
        """The four corners; a triangle has two of them in one place."""
        a, *middle, d = corners = [*self.triangle, *self.trapezoid]
        if (len(self.triangle), len(self.trapezoid)) not in ((3, 0), (0, 4)) or corners != sorted(corners) or a == d:
            raise InputError(f"{place} is no set", hint="give a rising triangle or trapezoid")
        return [a, middle[0], middle[-1], d]


class Quantity(NamedTuple):
    low: Amount
    high: Amount
    sets: Named[Shape]


class Fuzzy(NamedTuple):
    variables: Annotated[Mapping[str, Quantity], sized(2)]
    rules: Annotated[Texts, sized(1, 200)]
    values: Mapping[str, float]


@method
def fuzzy(given: Fuzzy, world: World) -> Computed:
    """The number each conclusion comes to, and how far each rule held."""
    variables = {name: _variable(part, f"variables.{name}") for name, part in given.variables.items()}
    texts, values = given.rules, given.values
    rules = FuzzyRules(variables=variables, rules=[_rule(f"rules[{n}]", text) for n, text in enumerate(texts)])
    for _, name, word in rules.rules:
        rules.check(name, word)
    only("values", values, variables)
    for name, value in values.items():
        number_in(f"values.{name}", value, variables[name].low, variables[name].high)
    degrees, found = rules.degrees(values), rules.conclude(values)
    words = {name: variables[name].word(at) for name, at in found.items()}
    concluded = [f"{name} is {brief(at)} ({words[name]})" for name, at in found.items() if at is not None]
    silent = [f"no rule says anything about {name}" for name, at in found.items() if at is None]
    return Computed(
        "; ".join([*concluded, *silent]) + ".",
        steps=[
            *(f"{name} {brief(at)}: {listed(variables[name].fits(at))}." for name, at in values.items()),
            *(f"{brief(degree)}: {text}." for degree, text in zip(degrees, texts, strict=True)),
        ],
        would_change=[f"With other values than {listed(values)} other rules would hold."],
        answer={"values": found, "words": words, "rules": degrees},
    )


def _variable(given: Quantity, place: str) -> FuzzyVariable:
    import numpy

    low, high = given.low, given.high
    number_in(f"{place}.high", high, math.nextafter(low, math.inf))
    sets, points = {}, list(numpy.linspace(low, high, POINTS))
    for word, shape in given.sets.items():
        sets[word] = corners = shape.corners(f"{place}.sets.{word}")
        points += corners
        if corners[0] >= high or corners[-1] <= low:
            raise InputError(f"{place}.sets.{word} lies outside its range", hint=f"let it reach {low:g} to {high:g}")
    return FuzzyVariable(low=low, high=high, sets=sets, points=numpy.unique(numpy.clip(points, low, high)))


def _rule(place: str, text: str) -> tuple[Expression, str, str]:
    condition, _, conclusion = text.removeprefix("if ").partition(" then ")
    return expression(condition, place, FORM), *_statement(expression(conclusion, place, FORM))


def _statement(term: Expression) -> tuple[str, str]:
    """The variable and the word of `service is poor`."""
    if term.op != "is" or any(part.op != "name" for part in term.parts):
        raise InputError(f"a rule has {str(term)[:60]!r} where a statement belongs", hint=FORM)
    name, word = term.parts
    return str(name.value), str(word.value)
