"""The methods there are, which of them fit a problem, and worksheets for those that compute nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, field
from functools import cache
from importlib import import_module
from typing import Any

from memfolio.arguments import nearest
from memfolio.errors import InputError, NotFoundError
from memfolio.reason.inputs import Method as Code
from memfolio.reason.inputs import Result, one_of, only
from memfolio.text import packaged_table
from memfolio.types import EMPTY, frozen


@cache
def _data(name: str) -> dict[str, Any]:
    return packaged_table(f"reason/data/{name}.toml")


# What kind of problem it is, by six dimensions: said by whoever asks, or suggested by the words of the problem.

DIMENSIONS: Mapping[str, tuple[str, ...]] = {name: tuple(each["values"]) for name, each in _data("dimensions").items()}
WEIGHTS: Mapping[str, float] = {name: each["weight"] for name, each in _data("dimensions").items()}
"""What each dimension counts."""
UNTOLD = "no word of the problem tells what kind it is"


@frozen
class ProblemClassification:
    """A problem by its dimensions; None is one of which nothing is said."""

    uncertainty: str | None = None
    complexity: str | None = None
    domain: str | None = None
    time_pressure: str | None = None
    data_availability: str | None = None
    stakes: str | None = None

    @classmethod
    def of(cls, given: ProblemClassification | Mapping[str, Any]) -> ProblemClassification:
        """A classification from outside; what is unknown is refused with the nearest, an empty one with the choices."""
        dimensions = given.dimensions if isinstance(given, ProblemClassification) else given
        if not isinstance(dimensions, Mapping):
            raise InputError(
                f"the classification is a {type(dimensions).__name__}", hint="pass an object of dimensions"
            )
        found = {str(name): value for name, value in dimensions.items() if value is not None}
        if not found:
            known = "; ".join(f"{name} {'|'.join(values)}" for name, values in DIMENSIONS.items())
            raise InputError("the classification is empty", hint=f"say one of: {known}")
        only("", found, DIMENSIONS)
        return cls(**{name: one_of(name, value, DIMENSIONS[name]) for name, value in found.items()})

    @property
    def dimensions(self) -> dict[str, str]:
        """The dimensions of which something is said."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def classify(problem: str) -> tuple[ProblemClassification, tuple[str, ...]]:
    """A classification that plain rules read in the words of a problem, and what they read: a guess, to be corrected.

    Of a dimension without a telling word nothing is said; where no word tells anything, its domain is mixed.
    """
    found: dict[str, str] = {}
    why: list[str] = []
    for name, value, words in _telling():
        # Values stand in the order in which they tell most: the first that is found counts.
        if name not in found and (match := words.search(problem)):
            found[name] = value
            why.append(f"{name} {value}: {match[0].casefold()!r}")
    if not found:
        found, why = {"domain": "mixed"}, [UNTOLD]
    return ProblemClassification(**found), tuple(why)


@cache
def _telling() -> list[tuple[str, str, re.Pattern[str]]]:
    return [
        (name, value, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
        for name, values in _data("words").items()
        for value, words in values.items()
    ]


# The methods there are, as the data file tells them; the code of a method is loaded when it is used.


@frozen
class Method:
    """A way to think a problem through: what it is good for, and the steps that guide whoever takes it.

    `settles` is what it ends with, a "choice" or a "claim"; `cues` are words that call for it, as a pattern; `ideals`
    are the kinds of problems it is made for, by dimension. One that computes tells the `inputs` it reads, and what it
    `needs` of them: one entry for each way to ask it.
    """

    name: str
    category: str
    summary: str
    good_for: str
    settles: str
    cues: str
    steps: tuple[str, ...]
    ideals: Mapping[str, tuple[str, ...]]
    needs: tuple[tuple[str, ...], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def computes(self) -> bool:
        return bool(self.needs)

    @property
    def wants(self) -> str:
        """What it needs, in words."""
        return ", or ".join(" and ".join(each) for each in self.needs)

    def is_ready(self, given: Collection[str]) -> bool:
        """Whether it can compute from inputs of these names."""
        return any(set(each) <= set(given) for each in self.needs)


def prompt(name: str) -> str:
    """What a model is asked."""
    return str(_data("prompts")[name])


@cache
def methods() -> Mapping[str, Method]:
    """Every method by its name, category by category."""
    plain = ("category", "summary", "good_for", "settles", "cues")
    return {
        name: Method(
            name=name,
            steps=tuple(table["steps"]),
            ideals={each: tuple(table[each]) for each in DIMENSIONS},
            needs=tuple(tuple(each.split()) for each in table.get("needs", ())),
            inputs=table.get("inputs", EMPTY),
            **{each: table[each] for each in plain},
        )
        for name, table in _data("methods").items()
    }


def method_named(name: str) -> Method:
    """The method of this name, whether its words are joined by hyphens, underscores or spaces."""
    plain = "-".join(str(name).casefold().replace("_", " ").replace("-", " ").split())
    if plain not in methods():
        raise NotFoundError(f"there is no method {str(name)[:60]!r}", hint=nearest(plain, [*methods()]))
    return methods()[plain]


def limits_of(method: Method) -> tuple[str, ...]:
    """What a method assumes, or cannot say, whatever it is given."""
    return tuple(_data("methods")[method.name].get("limits", ()))


def code_of(method: Method) -> Code:
    """The function with which a method computes; its module is loaded when it is used."""
    # numpy and others take long to load, and most problems need none of them.
    module = import_module(f"memfolio.reason.methods.{_data('methods')[method.name]['code']}")
    code: Code = getattr(module, method.name.replace("-", "_"))
    return code


# Which methods fit a problem: a score by its classification, with the reason for each part of it.

UNKNOWN = 0.75
"""The standing of a method of which no result was judged: that of somebody who says 0.5 to everything."""


@frozen
class Ranked:
    """A method with how well it fits; `parts` is what each dimension adds, `why` says the same in words.

    `is_ready` is whether it can compute from what is given, `standing` how well its past results came true.
    """

    method: str
    score: float
    parts: Mapping[str, float]
    why: tuple[str, ...]
    is_ready: bool
    standing: float


def rank(
    methods: Iterable[Method],
    classification: ProblemClassification,
    *,
    text: str = "",
    is_guess: bool = False,
    given: Mapping[str, Collection[str]] = EMPTY,
    standing: Mapping[str, float] = EMPTY,
) -> list[Ranked]:
    """The methods, the best fitting first; `given` has the names of the inputs that there are for each.

    Before all others come those that can compute at once, as whoever gives inputs wants them used. Among equals come
    first those that the words of the problem call for, the longest words first, then those whose results came true,
    then those that are made for fewer kinds of problems, and the first of the table. Where the classification is a
    guess by single words, those that call for a method tell more, and count before the score.
    """
    every = {each.name: each for each in methods}
    found = [_ranked(each, classification, given.get(name, ()), standing) for name, each in every.items()]

    def place(it: Ranked) -> tuple[float, ...]:
        method, used = every[it.method], len(given.get(it.method, ())) if it.is_ready else 0
        calls = sum(map(len, re.findall(rf"\b(?:{method.cues})\b", text, re.IGNORECASE)))
        fit = (-calls, -it.score) if is_guess else (-it.score, -calls)
        # Tuples compare from the left: the first difference decides.
        return -used, *fit, -it.standing, sum(map(len, method.ideals.values()))

    return sorted(found, key=place)


def _ranked(
    method: Method, problem: ProblemClassification, given: Collection[str], standing: Mapping[str, float]
) -> Ranked:
    parts, why = dict[str, float](), list[str]()
    for name, value in problem.dimensions.items():
        ideal = method.ideals[name]
        parts[name] = WEIGHTS[name] if value in ideal else 0.0
        why.append(f"{name} {value}: " + (f"+{parts[name]:g}" if parts[name] else f"made for {' or '.join(ideal)}"))
    return Ranked(
        method=method.name,
        score=round(sum(parts.values()), 9),
        parts=parts,
        why=tuple(why),
        is_ready=method.is_ready(given),
        standing=standing.get(method.name, UNKNOWN),
    )


# A method as steps for whoever works through them: no conclusion is made up where nothing was computed.


def worksheet(method: Method, problem: str, *notes: str) -> Result:
    """What to do about a problem with a method, step by step, and which inputs it would compute from."""
    needs = f"nothing was computed: {method.name} needs {method.wants}"
    guides = f"{method.name} does not compute: its steps guide whoever works through them"
    return Result(
        method=method.name,
        conclusion="",
        steps=method.steps,
        answer={"inputs": dict(method.inputs)} if method.computes else {},
        notes=(needs if method.computes else guides, *notes),
        computed=False,
        problem=problem,
    )
