"""Times as people type them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING

from memfolio.clock import SystemClock
from memfolio.errors import InputError

if TYPE_CHECKING:
    from memfolio.config import Config

HINT = "write it like 2026-11-15, 2026-11-15T14:30, yesterday or 2h ago"
LOOKING_BACK = frozenset({"until", "as_of", "valid_at"})
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d.*)?")
_AGO = re.compile(r"(\d{1,6}) ?(s|m|h|d|w)[a-z]* ago")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def find_time(text: str, zone: tzinfo, now: datetime) -> datetime | None:
    """The moment that `text` names, None when it names none; days stand for their beginning in `zone`."""
    word = text.strip().lower()
    if word == "now":
        return now
    if day := find_day(word, zone, now):
        return datetime.combine(day, time(), zone)
    try:
        if ago := _AGO.fullmatch(word):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(text.strip()) if _ISO.fullmatch(text.strip()) else None
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=zone) if moment and moment.tzinfo is None else moment


def read_time(text: str, zone: tzinfo, now: datetime) -> datetime:
    """`find_time`, for places where only a time will do."""
    moment = find_time(text, zone, now)
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint=HINT)
    return moment


def read_moment(config: Config, text: str | None, *, name: str = "") -> datetime | None:
    """The time that an option names, in the home's time zone; None where it is not given.

    For an option that looks back from a time, a day stands for its end: what happened on it counts.
    """
    if text is None:
        return None
    zone, now = config.zone, SystemClock().now()
    moment = read_time(text, zone, now)
    is_day = find_day(text.strip().lower(), zone, now) is not None
    return moment + timedelta(days=1, microseconds=-1) if is_day and name in LOOKING_BACK else moment


def find_day(word: str, zone: tzinfo, now: datetime) -> date | None:
    """The day that a word or an ISO date names."""
    today = now.astimezone(zone).date()
    named = {"today": today, "yesterday": today - timedelta(days=1)}
    try:
        return named.get(word) or (date.fromisoformat(word) if len(word) == 10 else None)
    except ValueError:
        return None
