"""Times as people type them."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING

from memfolio.clock import SystemClock
from memfolio.errors import InputError

if TYPE_CHECKING:
    from memfolio.config import Config

HINT = "write it like 2026-11-15, 2026-11-15T14:30, yesterday, last_week or 2h ago"
LOOKING_BACK = frozenset({"until", "as_of", "valid_at"})


def find_time(text: str, zone: tzinfo, now: datetime) -> datetime | None:
    """The moment that `text` names, None when it names none; days and weeks stand for their beginning in `zone`."""
    from memfolio.recall.dates import moment_of

    return moment_of(text, now, zone, end=False)


def read_moment(config: Config, text: str | None, *, name: str = "") -> datetime | None:
    """The time that an option names, in the home's time zone; None where it is not given.

    For an option that looks back from a time, a day stands for its end: what happened on it counts.
    """
    from memfolio.recall.dates import moment_of

    if text is None:
        return None
    moment = moment_of(text, SystemClock().now(), config.zone, end=name in LOOKING_BACK)
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint=HINT)
    return moment


def find_day(text: str, zone: tzinfo, now: datetime) -> date | None:
    """The day that a text names."""
    from memfolio.recall.dates import span_of

    span = span_of(text, now, zone)
    is_day = span and span.start.time() == time() and span.end.date() - span.start.date() == timedelta(days=1)
    return span.start.date() if span and is_day else None
