"""Values with a type: numbers, money, percentages, dates, durations, truth values, and plain text. Pure.

What is written decides the type: `50000` is a number, `$50,000` money, `12 %` a percentage, `2026-11-15` a date, `P30D`
or `30 days` a duration. Two values can be put in order only if they have one type, and money only in one currency.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from memfolio.duration import parse_duration
from memfolio.errors import ComparisonError

_AMOUNT = r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?|-?\.\d+"
_NUMBER = re.compile(rf"({_AMOUNT})(?:[eE]([+-]?\d{{1,3}}))?")
_CURRENCIES = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_CODES = "USD|EUR|GBP|JPY|INR|CHF|CAD|AUD|CNY|SEK|NOK|DKK|PLN|BRL|ZAR|MXN|SGD|HKD|NZD|KRW"
_MONEY = re.compile(
    rf"(?P<minus>-?)(?:(?P<sign>[{''.join(_CURRENCIES)}])\s?(?P<after>{_AMOUNT})"
    rf"|(?P<code>{_CODES})\s(?P<coded>{_AMOUNT})|(?P<before>{_AMOUNT})\s?(?:(?P<tail>[{''.join(_CURRENCIES)}])|(?P<name>\b(?:{_CODES}))))"
    r"\s?(?P<scale>[kKmMbB]?)"
)
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_PERCENT = re.compile(rf"({_AMOUNT})\s?%")
_SPAN = re.compile(rf"({_AMOUNT})\s?(second|minute|hour|day|week)s?")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
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
    """A value as it was read; `unit` is the currency of money."""

    kind: LiteralKind
    value: Decimal | datetime | bool | str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.kind} in {self.unit}" if self.unit else self.kind


@lru_cache(maxsize=65536)
def read_literal(text: str) -> Literal:
    """What a text stands for; whatever has no other type is text."""
    given = text.strip()
    for reader in _READERS:
        try:
            if found := reader(given):
                return found
        except (ValueError, InvalidOperation, OverflowError):  # looks like one, and is none
            continue
    return Literal(LiteralKind.TEXT, given)


def compare(left: str, operator: Operator | str, right: str) -> bool:
    """Whether a comparison holds; ComparisonError where the two cannot be put in order.

    Values of two types are never equal; only text contains text.
    """
    first, second, wanted = read_literal(left), read_literal(right), Operator(operator)
    if wanted is Operator.CONTAINS:
        return right.strip().casefold() in left.casefold()
    is_same = (first.kind, first.unit) == (second.kind, second.unit)
    if wanted in _EQUALITY:
        return _EQUALITY[wanted]((is_same, first.value), (True, second.value))
    if not is_same or first.kind is LiteralKind.BOOLEAN:
        raise ComparisonError(
            f"{left[:60]!r} ({first}) cannot be compared with {right[:60]!r} ({second})",
            hint="compare values of one type, and money in one currency, such as $100 with $50,000",
        )
    return _ORDER[wanted](first.value, second.value)


_EQUALITY: dict[Operator, Callable[[object, object], bool]] = {Operator.EQ: eq, Operator.NE: ne}
_ORDER: dict[Operator, Callable[..., bool]] = {
    Operator.GT: gt,
    Operator.GTE: ge,
    Operator.LT: lt,
    Operator.LTE: le,
}


def _amount(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def _number(text: str) -> Literal | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    return Literal(LiteralKind.NUMBER, _amount(match[1]).scaleb(int(match[2] or 0)))


def _money(text: str) -> Literal | None:
    match = _MONEY.fullmatch(text)
    if match is None:
        return None
    amount = _amount(match["after"] or match["coded"] or match["before"]) * _SCALES[match["scale"].lower()]
    unit = _CURRENCIES.get(match["sign"] or match["tail"] or "") or match["code"] or match["name"]
    return Literal(LiteralKind.MONEY, -amount if match["minus"] else amount, unit)


def _percent(text: str) -> Literal | None:
    match = _PERCENT.fullmatch(text)
    return Literal(LiteralKind.PERCENT, _amount(match[1])) if match else None


def _date(text: str) -> Literal | None:
    if len(text) == 10 and text[4] == text[7] == "-":
        day = date.fromisoformat(text)
        return Literal(LiteralKind.DATE, datetime(day.year, day.month, day.day, tzinfo=UTC))
    if len(text) > 15 and text[4:5] == "-" and text[10] in "T ":
        moment = datetime.fromisoformat(text)
        return Literal(LiteralKind.DATE, moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment)
    return None


def _duration(text: str) -> Literal | None:
    match = _SPAN.fullmatch(text)
    if match:
        return Literal(LiteralKind.DURATION, _amount(match[1]) * _SECONDS[match[2]])
    if text[:1] == "P":
        return Literal(LiteralKind.DURATION, Decimal(str(parse_duration(text).total_seconds())))
    return None


def _truth(text: str) -> Literal | None:
    value = _TRUTH.get(text.casefold())
    return None if value is None else Literal(LiteralKind.BOOLEAN, value)


_READERS = (_number, _money, _percent, _date, _duration, _truth)
