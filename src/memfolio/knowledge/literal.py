"""Values with a type: numbers, money, percentages, dates, durations, truth values, and plain text. Pure.

What is written decides the type: `50000` is a number, `$50,000` money, `12 %` a percentage, `2026-11-15` a date, `P30D`
or `30 days` a duration. Two values can be put in order only if they have one type, and money only in one currency. A
date is its first moment, and a time without a zone is in UTC. Text is compared without regard to case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from memfolio.clock import parse_duration
from memfolio.errors import ComparisonError

LONGEST = 100
"""Characters of the longest value that is anything but text."""
_EXACT = Context(prec=2 * LONGEST)
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_MEASURE = re.compile(
    rf"([+-]?(?:{_DIGITS}))(?:e([+-]?[0-9]{{1,3}}))?\s?(|%|percent|(?:second|minute|hour|day|week)s?)"
)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_CODES = "USD EUR GBP JPY INR CHF CAD AUD CNY SEK NOK DKK PLN CZK HUF TRY ILS BRL ZAR MXN SGD HKD NZD KRW".split()
_CURRENCY = "|".join(map(re.escape, (*_SIGNS, *_CODES)))
_SCALES = {"": 0, "k": 3, "thousand": 3, "m": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
_MONEY = re.compile(
    rf"([+-]?)({_CURRENCY})?\s?([+-]?)({_DIGITS})(?:\s?((?ai:{'|'.join(filter(None, _SCALES))})))?\s?({_CURRENCY})?"
)
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
"""A spelling that is ambiguous: `50.000` means fifty thousand in some countries, and fifty in others."""


class LiteralKind(StrEnum):
    """The type of a value."""

    NUMBER = "number"
    MONEY = "money"
    PERCENT = "percent"
    DATE = "date"
    DURATION = "duration"
    BOOLEAN = "boolean"
    TEXT = "text"


class Operator(StrEnum):
    """How two values are compared."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"


SIGNS = dict(
    zip("= != >= <= > < == ≠ ≥ ≤".split(), map(Operator, "eq ne gte lte gt lt eq ne gte lte".split()), strict=True)
)
"""How people write the operators, first of each the sign that we write."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it compares, text without its case; `unit` is the currency of money."""

    kind: LiteralKind
    value: Decimal | datetime | bool | str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.kind} in {self.unit}" if self.unit else self.kind


def read_literal(text: str) -> Literal:
    """Read a typed value; anything without another type is text."""
    return _read(text.strip()) if len(text) <= LONGEST else _text(text.strip())


@lru_cache(maxsize=65536)
def _read(given: str) -> Literal:
    for reader in _READERS:
        try:
            if found := reader(given):
                return found
        except (ValueError, InvalidOperation, OverflowError):  # looks like one, and is none
            continue
    return _text(given)


def compare(left: str, operator: Operator, right: str) -> bool:
    """Whether a comparison holds; raises ComparisonError if the values cannot be ordered.

    Values of different types are never equal. `contains` compares the written text, whatever the type.
    """
    if operator is Operator.CONTAINS:
        return _folded(right.strip()) in _folded(left)
    first, second = read_literal(left), read_literal(right)
    is_equality = operator in (Operator.EQ, Operator.NE)
    is_same = first.kind is second.kind and first.unit == second.unit
    if is_same and (is_equality or first.kind is not LiteralKind.BOOLEAN):
        return _TESTS[operator](first.value, second.value)
    if is_equality:
        return operator is Operator.NE
    raise ComparisonError(
        f"{left[:60]!r} ({first}) cannot be compared with {right[:60]!r} ({second})",
        hint="compare values of one type, and money in one currency, such as $100 with $50,000",
    )


_TESTS: dict[Operator, Callable[..., bool]] = {
    Operator.EQ: eq,
    Operator.NE: ne,
    Operator.GT: gt,
    Operator.GTE: ge,
    Operator.LT: lt,
    Operator.LTE: le,
}


def _folded(text: str) -> str:
    """Text without its case, however its characters are put together."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _text(text: str) -> Literal:
    return Literal(LiteralKind.TEXT, _folded(text))


def _amount(text: str, exponent: int = 0) -> Decimal:
    return Decimal(f"{text.replace(',', '')}e{exponent}")


def _measure(text: str) -> Literal | None:
    """A number, a percentage or a length of time."""
    match = _MEASURE.fullmatch(text.lower())
    if match is None:
        return None
    amount, unit = _amount(match[1], int(match[2] or 0)), match[3].removesuffix("s")
    if unit in _SECONDS:
        return Literal(LiteralKind.DURATION, _EXACT.multiply(amount, _SECONDS[unit]))
    return Literal(LiteralKind.PERCENT if unit else LiteralKind.NUMBER, amount)


def _money(text: str) -> Literal | None:
    match = _MONEY.fullmatch(text)
    if match is None:
        return None
    outer, before, inner, digits, scale, behind = (part or "" for part in match.groups())
    # Neither reading would be safe: $50.000 stays text, and comparing it is an error.
    is_ambiguous = not scale and _THOUSANDS.fullmatch(digits)
    if bool(before) == bool(behind) or (outer and inner) or is_ambiguous:
        return None
    amount, unit = _amount(digits, _SCALES[scale.lower()]), before or behind
    return Literal(LiteralKind.MONEY, amount.copy_negate() if "-" in outer + inner else amount, _SIGNS.get(unit, unit))


def _date(text: str) -> Literal | None:
    is_day, is_moment = len(text) == 10 and text[7] == "-", len(text) > 15 and text[10] in "T "
    # fromisoformat also reads forms such as 20261115 and 2026-W46, which are numbers and names to people.
    if text[4:5] != "-" or not (is_day or is_moment):
        return None
    moment = datetime.fromisoformat(text)
    return Literal(LiteralKind.DATE, moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))


def _duration(text: str) -> Literal | None:
    if not text.startswith("P"):
        return None
    return Literal(LiteralKind.DURATION, Decimal(str(parse_duration(text).total_seconds())))


def _truth(text: str) -> Literal | None:
    return Literal(LiteralKind.BOOLEAN, text.lower() == "true") if text.lower() in ("true", "false") else None


_READERS = (_measure, _money, _date, _duration, _truth)
