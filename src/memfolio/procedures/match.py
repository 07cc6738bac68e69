"""Which procedures are meant by what somebody says, and which are due by the clock. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from memfolio.errors import InputError
from memfolio.index.plain import PlainSearch
from memfolio.procedures.procedure import Procedure
from memfolio.text import match_expression, searchable, terms
from memfolio.types import EMPTY

ENOUGH = 0.5
"""More than this share of the telling words of a trigger, or of a part of it between commas, must have been said."""
_QUOTED = re.compile(r"[\"“„]([^\"“”„]+)[\"”“]")
_PARTS = re.compile(r"[,;/]|\bor\b", re.IGNORECASE)
_EMPTY = frozenset(
    "user users person somebody someone asks ask asked asking wants want wanted needs need says say said requests"
    " request whenever every procedure skill workflow".split()
)
"""Words of triggers that tell nothing."""
_WORD = re.compile(r"[^\W_]+")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)\b")
_DAILY = re.compile(r"\b(?:daily|(?:every|each) (?:day|morning|evening|night))\b", re.IGNORECASE)
_WEEKDAY = re.compile(
    r"\b(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b|\bweekdays?\b", re.IGNORECASE
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A procedure that may be meant, how surely from 0 to 1, and by which words."""

    procedure: Procedure
    score: float
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A procedure whose time has come, and when that was."""

    procedure: Procedure
    at: datetime


class Heard:
    """A text in which words are looked for as text search does, whatever their endings."""

    def __init__(self, text: str) -> None:
        self._plain = _spaced(text)
        self._search = PlainSearch([searchable(text)])
        self._known: dict[str, bool] = {}

    def has(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = bool(self._search.best(match_expression([word]), 1))
        return self._known[word]

    def says(self, phrase: str) -> bool:
        """Whether these words stand there as they are, one after the other."""
        return _spaced(phrase).strip() != "" and _spaced(phrase) in self._plain

    def share(self, text: str) -> tuple[float, list[str]]:
        """Which share of the telling words of another text it has, and which these are."""
        words = [word for word in terms(text) if word.casefold() not in _EMPTY]
        found = [word for word in words if self.has(word)]
        return len(found) / len(words) if words else 0.0, found


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def match(procedures: Iterable[Procedure], text: str, *, limit: int = 5) -> list[Match]:
    """The procedures that a text may call for, the likeliest first; those that were retired never."""
    heard, found = Heard(text), list[Match]()
    for each in procedures:
        ways = [] if each.is_retired else sorted(_ways(each, heard), reverse=True)
        if ways:
            why = tuple(dict.fromkeys(why for _, why in ways))
            found.append(Match(procedure=each, score=round(ways[0][0], 3), why=why))
    return sorted(found, key=lambda each: (-each.score, each.procedure.name))[:limit]


def _ways(procedure: Procedure, heard: Heard) -> Iterator[tuple[float, str]]:
    """How surely each trigger and the title was said; several words count for more than one."""
    for trigger in procedure.triggers:
        for phrase in _QUOTED.findall(trigger):
            if heard.says(phrase):
                yield 0.95, f'"{phrase}" was said'
        for part in _PARTS.split(_QUOTED.sub(",", trigger)):
            share, found = heard.share(part)
            if share > ENOUGH:
                yield _surety(share, found), f"trigger: {', '.join(found)}"
    share, found = heard.share(procedure.title)
    if share > ENOUGH:
        yield 0.9 * _surety(share, found), f"title: {', '.join(found)}"


def _surety(share: float, found: list[str]) -> float:
    return share * len(found) / (len(found) + 0.5)


def times_of(trigger: str) -> tuple[time, frozenset[int]] | None:
    """The time of day and the weekdays (0 is Monday) that a trigger names; InputError where there is no such time."""
    clock, days = _CLOCK.search(trigger), [*_WEEKDAY.finditer(trigger)]
    if clock is None or not (days or _DAILY.search(trigger)):
        return None
    if int(clock[1]) > 23 or int(clock[2]) > 59:
        raise InputError(f"there is no time {clock[0]}", hint="write it like 03:00")
    named = {_DAYS.index(day[1][:3].lower()) for day in days if day[1]}
    week = range(5) if any(not day[1] for day in days) else () if named else range(7)
    return time(int(clock[1]), int(clock[2])), frozenset({*named, *week})


def due(procedures: Iterable[Procedure], now: datetime, last: Mapping[str, datetime] = EMPTY) -> list[Due]:
    """Those whose time has come since they were last done (`last`, by name); of others, those of this day.

    Times of day are in the zone of `now`.
    """
    found = []
    for procedure in procedures:
        at = None if procedure.is_retired else _latest(procedure, now)
        since = last.get(procedure.name, now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(seconds=1))
        if at and at > since:
            found.append(Due(procedure=procedure, at=at))
    return sorted(found, key=lambda each: (each.at, each.procedure.name))


def _latest(procedure: Procedure, now: datetime) -> datetime | None:
    """The last moment, up to now, at which it was to be done."""
    moments = []
    for trigger in procedure.triggers:
        try:
            schedule = times_of(trigger)
        except InputError:
            continue
        if schedule:
            days = (now.date() - timedelta(days=back) for back in range(8))
            moments += [datetime.combine(day, schedule[0], now.tzinfo) for day in days if day.weekday() in schedule[1]]
    return max((moment for moment in moments if moment <= now), default=None)
