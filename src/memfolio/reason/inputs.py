"""What every method of reasoning gets and gives: checked inputs, what it may look at, and its result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.inference import Inference
from memfolio.knowledge.rules import Rules
from memfolio.settings import Reasoning
from memfolio.types import EMPTY
from memfolio.vault.fields import without_surrogates

# What is given for a method: values from outside, checked one by one as they are read.
#
# A method reads what it needs by name: `given.share("prior")`. What is missing or makes no sense is an InputError
# that names the place (`likelihoods[rain].wet`) and says what belongs there.

MOST = 10_000
"""How many members a list or a mapping may have."""
TOLERANCE = 1e-9
"""How far probabilities may be from adding up to 1."""
_MISSING = object()


class Given:
    """The inputs of one method, or a part of them; `place` is where they stand, for messages."""

    def __init__(self, values: Mapping[str, Any] | None = None, place: str = "", used: dict[str, Any] | None = None):
        if values is not None and not isinstance(values, Mapping):
            raise InputError(f"{place or 'what is given'} is a {type(values).__name__}", hint="pass an object")
        self._values = dict(values or {})
        self._place = place
        self.used: dict[str, Any] = {} if used is None else used
        """What was read so far, with the defaults that were taken: the `inputs` of a result."""

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def names(self) -> list[str]:
        return [str(name) for name in self._values]

    def only(self, *known: str) -> None:
        """Refuse what the method does not read: a misspelt name would be passed over otherwise."""
        for name in self._values:
            if name not in known:
                raise InputError(f"there is no {self._at(str(name))!r:.80}", hint=nearest(str(name), known))

    def value(self, name: str, default: Any = _MISSING, wanted: str = "a value") -> Any:
        """Whatever stands below a name; a default is what counts where nothing does."""
        found = self._values.get(name)
        if found is None:
            if default is _MISSING:
                raise InputError(f"{self._at(name)} is missing", hint=f"give {wanted}")
            found = default
        if not self._place:
            self.used[name] = found
        return found

    def text(self, name: str, default: Any = _MISSING) -> str:
        return self._text(self._at(name), self.value(name, default, "a text"))

    def choice(self, name: str, choices: Sequence[str], default: Any = _MISSING) -> str:
        found = self.value(name, default, f"one of {', '.join(choices)}")
        if found not in choices:
            raise InputError(f"{self._at(name)} is {found!r:.60}", hint=nearest(str(found), choices))
        return str(found)

    def flag(self, name: str, default: bool = False) -> bool:
        found = self.value(name, default, "true or false")
        if not isinstance(found, bool):
            raise InputError(f"{self._at(name)} is {found!r:.60}", hint="say true or false")
        return found

    def number(self, name: str, default: Any = _MISSING, *, low: float = -math.inf, high: float = math.inf) -> float:
        return number_in(self._at(name), self.value(name, default, "a number"), low, high)

    def whole(self, name: str, default: Any = _MISSING, *, low: int = 0, high: int = 10**9) -> int:
        found = self.number(name, default, low=low, high=high)
        if found != int(found):
            raise InputError(f"{self._at(name)} is {found:g}", hint="give a whole number")
        return int(found)

    def share(self, name: str, default: Any = _MISSING) -> float:
        """A probability."""
        return self.number(name, default, low=0, high=1)

    def texts(self, name: str, default: Any = _MISSING, *, least: int = 0) -> list[str]:
        """A list of texts; one text alone counts as such a list."""
        found = self.value(name, default, "a list of texts")
        return [
            self._text(at, each)
            for at, each in self._members(name, [found] if isinstance(found, str) else found, least)
        ]

    def numbers(
        self, name: str, default: Any = _MISSING, *, low: float = -math.inf, high: float = math.inf, least: int = 0
    ) -> list[float]:
        found = self.value(name, default, "a list of numbers")
        return [number_in(at, each, low, high) for at, each in self._members(name, found, least)]

    def matrix(self, name: str, default: Any = _MISSING) -> list[list[float]]:
        """A list of rows of numbers, all equally long, with at least one of each."""
        rows = [
            [number_in(f"{at}[{column}]", each) for column, each in enumerate(self._listed(at, row))]
            for at, row in self._members(name, self.value(name, default, "a list of rows"), 1)
        ]
        if len({len(row) for row in rows}) != 1 or not rows[0]:
            raise InputError(
                f"the rows of {self._at(name)} differ in length", hint="give each the same number of columns"
            )
        return rows

    def part(self, name: str, default: Any = _MISSING) -> Given:
        """An object below a name."""
        return Given(self.value(name, default, "an object"), self._at(name), self.used)

    def parts(self, name: str, default: Any = _MISSING, *, least: int = 0) -> list[Given]:
        """A list of objects."""
        found = self.value(name, default, "a list of objects")
        return [Given(each, at, self.used) for at, each in self._members(name, found, least)]

    def by_name(self, name: str, default: Any = _MISSING, *, least: int = 0) -> dict[str, Given]:
        """An object of objects."""
        inside = self.part(name, default)
        self._check_count(self._at(name), len(inside.names()), least)
        return {each: inside.part(each) for each in inside.names()}

    def weights(
        self, name: str, default: Any = _MISSING, *, low: float = -math.inf, high: float = math.inf
    ) -> dict[str, float]:
        """An object of numbers."""
        inside = self.part(name, default)
        self._check_count(self._at(name), len(inside.names()), 1)
        return {each: inside.number(each, low=low, high=high) for each in inside.names()}

    def distribution(self, name: str, default: Any = _MISSING) -> dict[str, float]:
        """An object of probabilities that add up to 1."""
        return adding_up(self._at(name), self.weights(name, default, low=0, high=1))

    def _members(self, name: str, found: Any, least: int) -> Iterator[tuple[str, Any]]:
        place = self._at(name)
        listed = self._listed(place, found)
        self._check_count(place, len(listed), least)
        return ((f"{place}[{number}]", each) for number, each in enumerate(listed))

    @staticmethod
    def _listed(place: str, found: Any) -> Sequence[Any]:
        if not isinstance(found, Sequence) or isinstance(found, str | bytes):
            raise InputError(f"{place} is {found!r:.60}", hint="give a list")
        return found

    @staticmethod
    def _check_count(place: str, count: int, least: int) -> None:
        if count < least or count > MOST:
            raise InputError(f"{place} has {count:,} members", hint=f"give {least} to {MOST:,}")

    @staticmethod
    def _text(place: str, found: Any) -> str:
        if not isinstance(found, str) or not found.strip() or without_surrogates(found) != found:
            raise InputError(f"{place} is {found!r:.60}", hint="give a text")
        return found.strip()

    def _at(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name


def number_in(place: str, found: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number in a range."""
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e308
    if not is_number or not math.isfinite(found) or not low <= found <= high:
        span = "" if low == -math.inf and high == math.inf else f" from {low:g} to {high:g}"
        raise InputError(f"{place} is {found!r:.60}", hint=f"give a number{span}")
    return float(found)


def adding_up(place: str, chances: dict[str, float]) -> dict[str, float]:
    """Probabilities if they add up to 1."""
    total = math.fsum(chances.values())
    if abs(total - 1) > max(TOLERANCE, 1e-6 * len(chances) ** 0.5):
        raise InputError(f"the probabilities of {place} add up to {total:.6g}", hint="let them add up to 1")
    return chances


# What a method says about a problem, with everything that it rests on.


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A conclusion with its inputs, its steps, how sure it is, and what would change it.

    A method that does not compute leaves the conclusion to whoever reads its worksheet: then `computed` is False,
    `conclusion` is empty and `steps` are what to do, one after the other.
    """

    method: str
    conclusion: str
    confidence: float | None = None
    """How sure the conclusion is, given its inputs: 1 is certain if they are true. None where the method cannot say."""
    steps: tuple[str, ...] = ()
    """How it was reached, in sentences a person can follow."""
    would_change: tuple[str, ...] = ()
    """What would lead to another conclusion: which input, past which value."""
    inputs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """What was given, and what was taken where nothing was given."""
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
    """The model that estimated the inputs, where nobody gave them."""
    problem: str = ""


# What a method may look at beside what it is given: what the agent knows, the time, and how far it may go.


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The rooms of knowledge; a method that needs none of them never touches it."""

    now: datetime
    settings: Reasoning
    facts: Facts
    rules: Rules
    inference: Inference
    cases: Cases


# How much an exact method may look at before it gives up.


class Effort:
    """Counts the cases that were looked at; past the limit it is an error, never a hang."""

    def __init__(self, limit: int):
        self.limit = limit
        self.left = limit

    def spend(self, cases: int = 1) -> None:
        self.left -= cases
        if self.left < 0:
            raise InputError(
                f"an exact answer needs more than {self.limit:,} cases",
                hint="give a smaller problem or raise reason.work",
            )


# How far off a share may be that was counted. Pure.


def wilson(hits: float, count: float, z: float) -> tuple[float, float]:
    """The interval of a share (Wilson 1927)."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


# Numbers from outside as exact fractions, so that ties are ties.

LARGEST = 1e12
FINEST = 10**12


def exact(place: str, number: float) -> Fraction:
    """A number as it was written, to twelve places."""
    return Fraction(str(number_in(place, number, -LARGEST, LARGEST))).limit_denominator(FINEST)


def betters(one: Iterable[Fraction], other: Iterable[Fraction]) -> bool:
    """Whether something is worth more to somebody and less to nobody."""
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
