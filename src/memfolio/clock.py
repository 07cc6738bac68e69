"""Where "now" comes from: a protocol, the real clock, and one that tests set by hand."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Protocol

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
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
