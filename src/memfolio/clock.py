"""Time: where "now" comes from, times as numbers and text, and durations as people write them in configuration."""

from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta
from typing import Protocol

from memfolio.errors import InputError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Tells the current time as an aware datetime in UTC."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class SettableClock:
    """A clock that stands still until it is told to move, in either direction."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def set(self, moment: datetime) -> None:
        with self._lock:
            self._now = moment.astimezone(UTC)

    def advance(self, **delta: float) -> None:
        """Move by `timedelta(**delta)`; negative values move back."""
        with self._lock:
            self._now += timedelta(**delta)


def to_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970 in UTC, rounded down."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """The aware UTC datetime of `ms` milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=ms)


def iso(moment: datetime) -> str:
    """`2026-11-15T14:30:05.123Z`: UTC, milliseconds, sortable as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def is_ambiguous(moment: datetime) -> bool:
    """Whether the clock shows this local time twice because it is set back."""
    return moment.replace(fold=1 - moment.fold).utcoffset() != moment.utcoffset()


# Durations in ISO 8601, such as `PT10M` or `P90D`.

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_PATTERN = re.compile(
    rf"P(?=.)(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=.)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.IGNORECASE
)
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_HINT = "write it like PT10M, PT1H30M, P90D or P2W; years and months have no fixed length, so use days"


def parse_duration(text: str) -> timedelta:
    """The length of time that `text` names; years and months are refused, being of no fixed length."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise InputError(f"{text[:40]!r} is not a duration", hint=_HINT)
    amounts = {unit: float(n.replace(",", ".")) for unit, n in zip(_UNITS, match.groups(), strict=True) if n}
    try:
        return timedelta(**amounts)
    except OverflowError as error:
        raise InputError(f"the duration {text[:40]!r} is too long", hint=_HINT) from error


def format_duration(span: timedelta) -> str:
    """The shortest ISO 8601 text of a length of time that is not negative."""
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f"{span.microseconds / 1_000_000:.6f}"[1:].rstrip("0").rstrip(".")
    days = f"{span.days}D" if span.days else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"
