"""Filters inside a question, as people type them into search boxes: `type:decision since:last_week billing`. Pure.

Only a known name with a value that fits is a filter; everything else stays text: `the image tag:latest` is none where
nothing has that tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import islice
from typing import Any

from memfolio.index.filter import LEVELS
from memfolio.recall.asking.arguments import MANY
from memfolio.recall.asking.dates import moment_of
from memfolio.types import TOKEN_PATTERN, Kind, Store, Type
from memfolio.vault.format.fields import read_importance, read_tags

MAX_FILTERS = 16
"""How many of them a question may have; what follows is text."""

LOOKED_UP = frozenset({"tag", "session", "user", "entity"})
"""The filters that may have any value, so that only what is remembered tells them from text."""
IsKnown = Callable[[str, str], bool]
"""Whether something is remembered that has this tag, session, user or entity: the name of the filter and its value."""

_TICK = timedelta(microseconds=1)
_NO_TIME = timedelta()
_FILTER = re.compile(
    r"(?<!\S)((?ai:kind|type|store|tag|session|user|entity|importance|level|since|until|after|before))"
    r':(?:"([^"\n]{1,200})"|([^\s"]{1,200}?))(?=[?!.,;]{0,9}(?!\S))'
)


def anything(name: str, value: str) -> bool:
    """For where nobody can say what is known."""
    return True


def split(
    text: str, now: datetime, zone: tzinfo, is_known: IsKnown = anything, *, timed: bool = True
) -> tuple[str, dict[str, object]]:
    """The question without its filters, and these by the names of `Query.from_args`; times only if `timed`."""
    found: dict[str, Any] = {}
    kept, at = "", 0
    for match in islice(_FILTER.finditer(text), MAX_FILTERS):
        name, value = match[1].lower(), (match[2] or match[3]).strip()
        filters = _joined(found, _filters(name, value, now, zone)) if timed or name not in _TIMES else {}
        if filters and _are_known(name, filters, found, is_known):
            kept, at = kept + text[at : match.start()].rstrip(), match.end()
            found |= filters
    return ((kept + text[at:]).strip().lstrip(",; "), found) if found else (text, found)


def _joined(found: dict[str, Any], filters: dict[str, Any]) -> dict[str, Any]:
    """One filter with what was found of its name before; nothing where that would be too much."""
    both = {
        name: list(dict.fromkeys([*found.get(name, ()), *value])) if isinstance(value, list) else value
        for name, value in filters.items()
    }
    return {} if any(isinstance(value, list) and len(value) > MANY for value in both.values()) else both


def _are_known(name: str, filters: dict[str, Any], found: dict[str, Any], is_known: IsKnown) -> bool:
    if name not in LOOKED_UP:
        return True
    ((argument, value),) = filters.items()
    values = [each for each in value if each not in found.get(argument, ())] if isinstance(value, list) else [value]
    return all(is_known(name, each) for each in values)


def _filters(name: str, value: str, now: datetime, zone: tzinfo) -> dict[str, Any]:
    """What one filter asks for; nothing where its value does not fit."""
    if name in _TIMES:
        argument, end = _TIMES[name]
        moment = moment_of(value, now, zone, end=end)
        try:
            moment = moment and moment.astimezone(UTC) - (_TICK if name == "before" else _NO_TIME)
        except OverflowError:  # at the ends of the calendar
            return {}
        return {argument: moment} if moment else {}
    argument, read = _VALUES[name]
    found = read(value)
    return {} if found in (None, []) else {argument: found}


def _members(choices: type[StrEnum]) -> Callable[[str], object]:
    """Reads one or several of these, with commas in between."""
    known = {choice.value for choice in choices}

    def read(value: str) -> object:
        words = value.lower().replace("-", "_").split(",")
        return words if known.issuperset(words) else None

    return read


def _level(value: str) -> object:
    return value.lower() if value.lower() in LEVELS else None


_VALUES: dict[str, tuple[str, Callable[[str], object]]] = {
    "kind": ("kinds", _members(Kind)),
    "type": ("types", _members(Type)),
    "store": ("store", _members(Store)),
    "tag": ("tags", lambda value: list(read_tags(value))),
    "session": ("session", lambda value: value if TOKEN_PATTERN.fullmatch(value) else None),
    "user": ("user", lambda value: value or None),
    "entity": ("entity", lambda value: value or None),
    "importance": ("min_importance", read_importance),
    "level": ("level", _level),
}
# What happened on the day itself counts after it, and not before it.
_TIMES = {"since": ("since", False), "after": ("since", False), "until": ("until", True), "before": ("until", False)}
