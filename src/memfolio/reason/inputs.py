"""What the reasoning methods share: typed inputs, their context, and the result.

A method is a function of a NamedTuple of inputs, or of a union of them if it can be asked in several ways. The types
define the inputs, and `read` checks them: a missing or invalid value raises an InputError that names the place
(`likelihoods.rain.wet`) and says what belongs there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from memfolio.arguments import nearest
from memfolio.errors import InputError
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.inference import Inference
from memfolio.knowledge.rules import Rules
from memfolio.settings import Reasoning
from memfolio.types import EMPTY, frozen
from memfolio.vault.fields import without_surrogates

MOST = 10_000
"""How many members a list or a mapping may have."""
LARGEST = 1e100
"""The largest amount allowed, so that results stay finite."""

T = TypeVar("T")
Inputs = Mapping[str, Any]


def read(kind: Any, found: Any, place: str) -> Any:
    """A value from outside as the type says; None counts as nothing given."""
    kind = _alternative(kind, found)
    origin, inside, is_record = _form(kind)
    if origin is Annotated:
        value = read(inside[0], found, place)
        for check in inside[1:]:
            value = check(place, value)
        return value
    if found is None:
        raise InputError(f"{place} is missing", hint="`memfolio reason show METHOD` says what belongs there")
    if origin is Literal:
        return one_of(place, found, inside)
    if origin is Mapping:
        members = {str(name): each for name, each in _counted(place, _object(found, place)).items()}
        return {name: read(inside[1], each, f"{place}.{name}") for name, each in members.items()}
    if origin is Sequence:
        # Whoever gives one text where several may stand means that one.
        listed = [found] if inside[0] is str and isinstance(found, str) else _list(found, place)
        return [read(inside[0], each, f"{place}[{number}]") for number, each in enumerate(_counted(place, listed))]
    if is_record:
        return _record(kind, found, place)
    return _SCALARS[kind](place, found)


@cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """Return the origin and arguments of a type, and whether it is a record of inputs."""
    return get_origin(kind), get_args(kind), isinstance(kind, type) and issubclass(kind, tuple)


def _record(kind: Any, found: Any, place: str) -> Any:
    types, given = input_types(kind), _object(found, place or "what is given")
    only(place, given, types)
    values = {
        code_name: read(types[name], given.get(name), _inside(place, name))
        for name, code_name in zip(types, kind._fields, strict=True)
        # What is missing and has no default is read all the same: that says what belongs there.
        if given.get(name) is not None or code_name not in kind._field_defaults
    }
    return kind(**values)


@cache
def input_types(kind: Any) -> dict[str, Any]:
    """Return the types of a record or function by input name; in code, a Python keyword ends in an underscore: `from_`.

    They are cached, since resolving them takes longer than reading most inputs.
    """
    return {name.rstrip("_"): each for name, each in get_type_hints(kind, include_extras=True).items()}


def _alternative(kind: Any, found: Any) -> Any:
    """Return the alternative of a union that matches the shape of a value."""
    origin, inside, _ = _form(kind)
    if origin not in (Union, UnionType):
        return kind
    types = [each for each in inside if each is not NoneType]
    # Where none fits, the first one says what is wrong.
    return next((each for each in types if isinstance(found, _shape(each))), types[0])


@cache
def _shape(kind: Any) -> Any:
    """Return the Python type that a value of this input type is given as."""
    origin, inside, is_record = _form(kind)
    if origin is Annotated:
        return _shape(inside[0])
    if kind in (int, float):
        return int | float
    return Mapping if is_record else list | tuple if origin is Sequence else origin or kind


def wrong(place: str, found: object, hint: str) -> InputError:
    """What is the matter with a value, and what belongs there."""
    return InputError(f"{place} is {found!r:.60}", hint=hint)


def _object(found: Any, place: str) -> Inputs:
    if not isinstance(found, Mapping):
        raise InputError(f"{place} is a {type(found).__name__}", hint="pass an object")
    return found


def _list(found: Any, place: str) -> Sequence[Any]:
    if not isinstance(found, list | tuple):
        raise wrong(place, found, "give a list")
    return found


def _counted(place: str, members: Any, least: int = 0, most: int = MOST) -> Any:
    if not least <= len(members) <= most:
        raise InputError(f"{place} has {len(members):,} members", hint=f"give {least} to {most:,}")
    return members


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def number_in(place: str, found: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number in a range."""
    # True is an int to Python; and whole numbers that no float can hold are compared, not converted.
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e308
    if not is_number or not low <= found <= high:
        span = "" if low == -math.inf and high == math.inf else f" from {low:g} to {high:g}"
        shown = f"{found:g}" if isinstance(found, float) else f"{found!r:.60}"
        raise InputError(f"{place} is {shown}", hint=f"give a number{span}")
    return float(found)


def _whole(place: str, found: Any) -> int:
    if number_in(place, found) != int(found):
        raise InputError(f"{place} is {found:g}", hint="give a whole number")
    return int(found)


def _text(place: str, found: Any) -> str:
    if not isinstance(found, str) or not found.strip() or without_surrogates(found) != found:
        raise wrong(place, found, "give a text")
    return found.strip()


def _flag(place: str, found: Any) -> bool:
    if not isinstance(found, bool):
        raise wrong(place, found, "say true or false")
    return found


_SCALARS: Mapping[Any, Callable[[str, Any], Any]] = {
    float: number_in,
    int: _whole,
    str: _text,
    bool: _flag,
    Any: lambda place, found: found,
}


# Checks beside the type, and the types that several methods share.


def between(low: float, high: float) -> Callable[[str, Any], Any]:
    def check(place: str, number: Any) -> Any:
        number_in(place, number, low, high)
        return number

    return check


def sized(least: int, most: int = MOST) -> Callable[[str, Any], Any]:
    return lambda place, members: _counted(place, members, least, most)


def adding_up(place: str, chances: Mapping[str, float]) -> Mapping[str, float]:
    """Probabilities if they add up to 1."""
    total = math.fsum(chances.values())
    # Rounding errors add up like a random walk: with the root of their number.
    if abs(total - 1) > 1e-6 * max(1, len(chances)) ** 0.5:
        raise InputError(f"the probabilities of {place} add up to {total:.6g}", hint="let them add up to 1")
    return chances


def even(place: str, rows: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    """Return rows if there are any and all have the same length."""
    if len({len(row) for row in _counted(place, rows, 1)}) != 1 or not rows[0]:
        raise InputError(f"the rows of {place} differ in length", hint="give each the same number of columns")
    return rows


Share = Annotated[float, between(0, 1)]
Amount = Annotated[float, between(-LARGEST, LARGEST)]
Whole = Annotated[int, between(0, 1e9)]
Confidence = Annotated[float, between(0.5, 0.9999)]
Texts = Sequence[str]
Chances = Annotated[Mapping[str, Share], sized(1), adding_up]
Matrix = Annotated[Sequence[Sequence[float]], even]
Several = Annotated[Sequence[T], sized(1)]
Named = Annotated[Mapping[str, T], sized(1)]


def one_of(place: str, name: str, names: Iterable[str]) -> str:
    """Return a name if it is among these."""
    if name not in (choices := [*names]):
        raise wrong(place, name, nearest(str(name), choices))
    return name


def only(place: str, given: Iterable[str], names: Collection[str]) -> None:
    """Refuse members that are none of these names: a misspelt one would be passed over otherwise."""
    for name in given:
        if name not in names:
            raise InputError(f"there is no {_inside(place, str(name))!r:.80}", hint=nearest(str(name), [*names]))


# What a method says about a problem, with everything that it rests on.


class Computed(NamedTuple):
    """The return value of a method; empty lines are dropped. `Result` documents the fields."""

    conclusion: str
    confidence: float | None = None
    steps: Iterable[str] = ()
    would_change: Iterable[str] = ()
    answer: Mapping[str, Any] = EMPTY
    notes: Iterable[str] = ()


@frozen
class Result:
    """A conclusion with its inputs, its steps, its confidence, and what would change it.

    A method that does not compute leaves the conclusion to the reader of its worksheet: then `computed` is False,
    `conclusion` is empty and `steps` are the steps to work through.
    """

    method: str
    conclusion: str
    confidence: float | None = None
    """Confidence in the conclusion if the inputs are true; None if the method cannot tell."""
    steps: tuple[str, ...] = ()
    """How it was reached, in sentences a person can follow."""
    would_change: tuple[str, ...] = ()
    """Changes of inputs that would lead to another conclusion, with their thresholds."""
    inputs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The given inputs, and the defaults of the others."""
    answer: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The conclusion as values, such as the probabilities, for a program; JSON can hold them.

    Some names mean the same in every method, so that results can be compared: `best` is the name of what was chosen,
    or a list of names that tie, and `options` lists the names there were to choose from; `holds` is whether the `claim`
    that was asked about is so, None where neither it nor its opposite follows.
    """
    notes: tuple[str, ...] = ()
    """Limits and doubts: assumptions that were made, ties, several solutions."""
    computed: bool = True
    filled_by: str = ""
    """The model that estimated the inputs, if they were not given."""
    problem: str = ""


class Effort:
    """Counts the cases that an exact method looks at; past the limit it is an error, never a hang."""

    def __init__(self, limit: int):
        self.limit = limit
        self.left = limit

    def spend(self, cases: int = 1) -> None:
        # Cases and not seconds: the same input is refused on every machine, or on none.
        self.left -= cases
        if self.left < 0:
            raise InputError(
                f"an exact answer needs more than {self.limit:,} cases",
                hint="give a smaller problem or raise reason.work",
            )


@frozen
class World:
    """The context of a method beside its inputs: the agent's knowledge, the time, and the limits."""

    now: datetime
    settings: Reasoning
    facts: Facts
    rules: Rules
    inference: Inference
    cases: Cases

    def effort(self) -> Effort:
        return Effort(self.settings.work)


Method = Callable[[Inputs, World], Result]


def method(code: Callable[[T, World], Computed]) -> Method:
    """A method by the function that computes it, which has its name."""

    @wraps(code)
    def reason(values: Inputs, world: World) -> Result:
        kind = _way(input_types(code)["given"], _object(values, "what is given"))
        found = code(read(kind, values, ""), world)
        return Result(
            method=code.__name__.replace("_", "-"),
            conclusion=found.conclusion,
            confidence=found.confidence,
            steps=_lines(found.steps),
            would_change=_lines(_as_far_as_possible(found.would_change)),
            inputs=_used(kind, values),
            answer=found.answer,
            notes=_lines(found.notes),
        )

    return reason


def _way(kind: Any, values: Inputs) -> Any:
    """Return the way to ask that uses most of the given inputs."""
    ways = get_args(kind) or (kind,)
    # Of ways that read equally much, the first is the usual one.
    return max(ways, key=lambda way: len(input_types(way).keys() & values.keys()))


def _used(kind: Any, values: Inputs) -> dict[str, Any]:
    defaults = {name.rstrip("_"): default for name, default in kind._field_defaults.items()}
    # Defaults that decided something are shown beside what was given.
    taken = {name: default for name, default in defaults.items() if default not in (None, (), EMPTY)}
    return taken | {name: value for name, value in values.items() if value is not None}


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, lines))


def _as_far_as_possible(lines: Iterable[str]) -> Iterator[str]:
    """Yield what would change a result until the effort is spent; the result is valid without it."""
    try:
        yield from lines
    except InputError:
        yield "what else would change it was not looked at: that takes more than reason.work allows"


# Numbers as exact fractions, so that ties are ties, and what several methods compute.

FINEST = 10**12


def exact(place: str, number: float) -> Fraction:
    """A number as it was written, to twelve places."""
    # By its digits: 0.1 is a tenth here, and not the float that is nearest to it.
    return Fraction(str(number_in(place, number, -FINEST, FINEST))).limit_denominator(FINEST)


def wilson(hits: float, count: float, z: float) -> tuple[float, float]:
    """The interval of a share that was counted (Wilson 1927)."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def leaving_out(members: Iterable[T]) -> Iterator[tuple[T, list[T]]]:
    """Each member with all the others."""
    every = list(members)
    return ((each, [*every[:at], *every[at + 1 :]]) for at, each in enumerate(every))


def minimal_subset(whole: Sequence[T], does: Callable[[list[T]], bool]) -> list[T]:
    """Return a minimal part of a list that still satisfies `does`."""
    kept = list(whole)
    # One pass is enough: what cannot be left out of a larger part cannot be left out of a smaller one.
    for each in whole:
        if does(rest := [one for one in kept if one is not each]):
            kept = rest
    return kept


# Where a conclusion turns over: at which value of an input another one leads; and numbers as people read them.

CLOSE = 1e-9
MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Flip:
    """The threshold of an input past which another option leads, and its direction."""

    at: float
    leader: str
    rises: bool

    def past(self, present: float) -> str:
        """Describe how far the input has to move from its present value."""
        return f"{'rises above' if self.rises else 'falls below'} {brief(self.at)} (it is {brief(present)})"


def brief(value: float) -> str:
    """Format a number for people; a value just below 1 is not rounded to 1."""
    if 0.9999 < value < 1:
        return f"{value:.8g}"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def listed(values: Mapping[str, float]) -> str:
    """Numbers with their names, the largest first."""
    return _shown([f"{name} {brief(value)}" for name, value in sorted(values.items(), key=lambda each: -each[1])], ", ")


def either(names: Iterable[str]) -> str:
    """Names of which each will do."""
    return _shown(list(names), " or ")


def _shown(texts: list[str], joint: str) -> str:
    more = len(texts) - MOST_SHOWN
    return joint.join(texts[:MOST_SHOWN]) + (f"{joint}{more:,} more" if more > 0 else "")


def leaders(values: Mapping[str, float], scale: float | None = None) -> list[str]:
    """Which have the largest value; several when they tie, up to rounding of numbers as large as the scale."""
    top = max(values.values())
    # Sums of floats differ in the last digits; that must not decide between options.
    slack = CLOSE * (max(map(abs, values.values())) if scale is None else scale)
    return [name for name, value in values.items() if value >= top - slack]


def linear_flip(at_zero: Mapping[str, float], at_one: Mapping[str, float], leader: str, present: float) -> Flip | None:
    """Return the nearest share at which another option overtakes, if every score is linear in that share."""
    found, slack = [], CLOSE * max(map(abs, (*at_zero.values(), *at_one.values())))
    for other in at_zero:
        start, end = at_zero[leader] - at_zero[other], at_one[leader] - at_one[other]
        if min(start, end) < -slack and max(start, end) > slack:
            found.append((start / (start - end), end < 0))
    if not found:
        return None
    at, rises = min(found, key=lambda each: abs(each[0] - present))
    # Just beyond the crossing: at it, both are equal.
    past = at + (rises - at) * 1e-6
    return Flip(at, max(at_zero, key=lambda name: at_zero[name] * (1 - past) + at_one[name] * past), rises)
