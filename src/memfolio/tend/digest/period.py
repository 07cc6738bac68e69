"""Weeks, months and quarters: which days they have, and what they are called. Pure."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from memfolio.vault.paths import agent_root

WEEKLY, MONTHLY, QUARTERLY = "weekly", "monthly", "quarterly"
LEVELS = (WEEKLY, MONTHLY, QUARTERLY)
NOUNS = {WEEKLY: "week", MONTHLY: "month", QUARTERLY: "quarter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A week, month or quarter; both days belong to it."""

    level: str
    name: str
    first: date
    last: date

    def path(self, agent: str) -> str:
        return f"{agent_root(agent)}/memory/{self.level}/{self.name}.md"

    @property
    def before(self) -> Period | None:
        """The one before it; None where the calendar begins."""
        return None if self.first == date.min else period_of(self.level, self.first - timedelta(days=1))

    def has(self, day: date) -> bool:
        return self.first <= day <= self.last


def period_of(level: str, day: date) -> Period:
    """The period of a level to which a day belongs; weeks are those of ISO 8601."""
    if level == WEEKLY:
        year, week, weekday = day.isocalendar()
        first = day - timedelta(days=weekday - 1)
        last = first + min(timedelta(days=6), date.max - first)
        return Period(level=level, name=f"{year:04d}-W{week:02d}", first=first, last=last)
    if level == MONTHLY:
        return Period(level=level, name=f"{day.year:04d}-{day.month:02d}", first=day.replace(day=1), last=_end(day))
    quarter = (day.month + 2) // 3
    first = day.replace(month=3 * quarter - 2, day=1)
    last = _end(first.replace(month=3 * quarter))
    return Period(level=level, name=f"{day.year:04d}-Q{quarter}", first=first, last=last)


def period_named(level: str, name: str) -> Period | None:
    """The period of a level that is called so, if there is one."""
    year, number = name[:4], name[5:].lstrip("WQ")
    try:
        if level == WEEKLY:
            first = date.fromisocalendar(int(year), int(number), 1)
        else:
            first = date(int(year), int(number) if level == MONTHLY else 3 * int(number) - 2, 1)
    except ValueError:
        return None
    found = period_of(level, first)
    return found if found.name == name else None


def parts(period: Period, days: Iterable[date]) -> dict[str, list[date]]:
    """What a digest tells one by one, by the name of the page below it: days, weeks (of a month its days), months."""
    below = {MONTHLY: WEEKLY, QUARTERLY: MONTHLY}.get(period.level)
    found: dict[str, list[date]] = {}
    for day in days:
        found.setdefault(period_of(below, day).name if below else day.isoformat(), []).append(day)
    return found


def _end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])
