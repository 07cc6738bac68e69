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
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from memfolio.duration import parse_duration
from memfolio.errors import ComparisonError

LONGEST = 100
"""Characters of the longest value that is anything but text."""
_EXACT = Context(prec=2 * LONGEST)
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_AMOUNT = rf"[+-]?(?:{_DIGITS})"
_NUMBER = re.compile(rf"({_AMOUNT})(?:[eE]([+-]?[0-9]{{1,3}}))?")
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_CODES = "USD EUR GBP JPY INR CHF CAD AUD CNY SEK NOK DKK PLN CZK HUF TRY ILS BRL ZAR MXN SGD HKD NZD KRW".split()
_CURRENCY = "|".join(map(re.escape, (*_SIGNS, *_CODES)))
_SCALES = {"k": 3, "thousand": 3, "m": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
_SCALED = rf"(?:{_DIGITS})(?:\s?(?i:{'|'.join(_SCALES)}))?"
_MONEY = re.compile(
    rf"(?P<minus>[+-]?)(?:(?P<unit>{_CURRENCY})\s?(?P<inner>[+-]?)(?P<amount>{_SCALED})"
    rf"|(?P<leading>{_SCALED})\s?(?P<behind>{_CURRENCY}))"
)
_PERCENT = re.compile(rf"({_AMOUNT})\s?(?:%|percent)")
_SPAN = re.compile(rf"({_AMOUNT})\s?(second|minute|hour|day|week)s?", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_AFTER_P = frozenset("0123456789T")
_TRUTH = {"true": True, "false": False}


class LiteralKind(StrEnum):
    """What a value is."""

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


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it compares, text without its case; `unit` is the currency of money."""

    kind: LiteralKind
    value: Decimal | datetime | bool | str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.kind} in {self.unit}" if self.unit else self.kind


def read_literal(text: str) -> Literal:
    """What a text stands for; whatever has no other type is text."""
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


def compare(left: str, operator: Operator | str, right: str) -> bool:
    """Whether a comparison holds; ComparisonError where the two cannot be put in order.

    Values of two types are never equal. `contains` looks at what is written, whatever its type.
    """
    wanted = _operator(operator)
    if wanted is Operator.CONTAINS:
        return _folded(right.strip()) in _folded(left)
    first, second = read_literal(left), read_literal(right)
    is_same = (first.kind, first.unit) == (second.kind, second.unit)
    if wanted in _EQUALITY:
        return _EQUALITY[wanted]((is_same, first.value), (True, second.value))
    if not is_same or first.kind is LiteralKind.BOOLEAN:
        raise ComparisonError(
            f"{left[:60]!r} ({first}) cannot be compared with {right[:60]!r} ({second})",
            hint="compare values of one type, and money in one currency, such as $100 with $50,000",
        )
    return _ORDER[wanted](first.value, second.value)


def _operator(name: str) -> Operator:
    try:
        return Operator(name)
    except ValueError as error:
        known = ", ".join(each.value for each in Operator)
        raise ComparisonError(f"{str(name)[:40]!r} compares nothing", hint=f"there are {known}") from error


_EQUALITY: dict[Operator, Callable[[object, object], bool]] = {Operator.EQ: eq, Operator.NE: ne}
_ORDER: dict[Operator, Callable[..., bool]] = {
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


def _number(text: str) -> Literal | None:
    match = _NUMBER.fullmatch(text)
    return Literal(LiteralKind.NUMBER, _amount(match[1], int(match[2] or 0))) if match else None


def _money(text: str) -> Literal | None:
    match = _MONEY.fullmatch(text)
    if match is None or (match["minus"] and match["inner"]):
        return None
    digits = (match["amount"] or match["leading"]).lower()
    scale = digits.lstrip("0123456789.,").strip()
    amount = _amount(digits.removesuffix(scale).strip(), _SCALES.get(scale, 0))
    unit = match["unit"] or match["behind"]
    is_negative = "-" in (match["minus"], match["inner"])
    return Literal(LiteralKind.MONEY, amount.copy_negate() if is_negative else amount, _SIGNS.get(unit, unit))


def _percent(text: str) -> Literal | None:
    match = _PERCENT.fullmatch(text)
    return Literal(LiteralKind.PERCENT, _amount(match[1])) if match else None


def _date(text: str) -> Literal | None:
    if len(text) == 10 and text[4] == text[7] == "-":
        day = date.fromisoformat(text)
        return Literal(LiteralKind.DATE, datetime(day.year, day.month, day.day, tzinfo=UTC))
    if len(text) > 15 and text[4] == "-" and text[10] in "T ":
        moment = datetime.fromisoformat(text)
        return Literal(LiteralKind.DATE, moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))
    return None


def _duration(text: str) -> Literal | None:
    if match := _SPAN.fullmatch(text):
        return Literal(LiteralKind.DURATION, _EXACT.multiply(_amount(match[1]), _SECONDS[match[2].lower()]))
    if text[:1] == "P" and text[1:2] in _AFTER_P:
        return Literal(LiteralKind.DURATION, Decimal(str(parse_duration(text).total_seconds())))
    return None


def _truth(text: str) -> Literal | None:
    value = _TRUTH.get(text.casefold())
    return None if value is None else Literal(LiteralKind.BOOLEAN, value)


_READERS = (_number, _money, _percent, _date, _duration, _truth)
