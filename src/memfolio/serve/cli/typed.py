"""What people type: times and days, importance, and pages by their short names."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from itertools import count
from typing import TYPE_CHECKING

from memfolio.clock import SystemClock
from memfolio.errors import InputError
from memfolio.vault.paths import AUDIT, CONFIG, GITIGNORE, SHARED, agent_root, day_log

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory
    from memfolio.vault.change import Page

HINT = "write it like 2026-11-15, 2026-11-15T14:30, yesterday, last_week or 2h ago"
SCALE = "0 to 1, where 1 is the most; or 2 to 10, of ten; or low, medium, high"
TOP = ("agents", SHARED, AUDIT)


def find_time(text: str, zone: tzinfo, now: datetime) -> datetime | None:
    """The moment that `text` names, None when it names none; days and weeks stand for their beginning in `zone`."""
    from memfolio.recall.dates import moment_of

    return moment_of(text, now, zone, end=False)


def read_moment(config: Config, text: str | None) -> datetime | None:
    """The time that an option names, in the home's time zone; None where it is not given."""
    if text is None:
        return None
    moment = find_time(text, config.zone, SystemClock().now())
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint=HINT)
    return moment


def find_day(text: str, zone: tzinfo, now: datetime) -> date | None:
    """The day that a text names."""
    from memfolio.recall.dates import span_of

    span = span_of(text, now, zone)
    is_day = span and span.start.time() == time() and span.end.date() - span.start.date() == timedelta(days=1)
    return span.start.date() if span and is_day else None


def read_importance(text: str) -> float:
    """A share, a grade or a word as a number from 0 to 1; what lies above 1 is a whole number of tenths."""
    from memfolio.vault.fields import read_importance, read_number

    value, number = read_importance(text), read_number(text)
    if value is None or (number is not None and number > 1 and not number.is_integer()):
        raise InputError(f"{text[:40]!r} is not an importance", hint=f"use {SCALE}")
    return value


def page_path(memory: Memory, name: str) -> str:
    """The path below the home of the page that `name` means, which may begin at the agent's folder."""
    if name.split("/")[0] in TOP or name in (CONFIG, GITIGNORE):
        return name
    return f"{agent_root(memory.agent)}/{name}"


def day_pages(memory: Memory, day: date) -> list[Page]:
    """The parts of a day's log."""
    ledger = day_log(memory.agent, day)
    pages: list[Page] = []
    for number in count(1):
        page = memory.vault.page(ledger.part(number))
        if page is None:
            break
        pages.append(page)
    return pages
