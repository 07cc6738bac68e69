"""When a job is due: by the clock on the wall of the home, once in each period, and late rather than never. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from enum import StrEnum


class Period(StrEnum):
    """How often a job is due."""

    ALWAYS = "always"
    BEAT = "beat"
    """Whenever a span has passed that is configured."""
    DAILY = "daily"
    WEEKLY = "weekly"


def is_due(
    period: Period, last: datetime | None, now: datetime, zone: tzinfo, hour: int, beat: timedelta = timedelta(0)
) -> bool:
    """Whether the time of a job has come since it was last looked after."""
    if period is Period.BEAT and last is not None:
        return now - last >= beat
    return period is Period.ALWAYS or last is None or last < latest(period, now, zone, hour)


def latest(period: Period, now: datetime, zone: tzinfo, hour: int) -> datetime:
    """The last moment before `now` at which a job of this period fell due.

    A week begins on Monday, so that the one before is over.
    """
    here = now.astimezone(zone)
    mark = here.replace(hour=hour, minute=0, second=0, microsecond=0)
    if mark > here:
        mark -= timedelta(days=1)
    if period is Period.WEEKLY:
        mark -= timedelta(days=mark.weekday())
    return mark
