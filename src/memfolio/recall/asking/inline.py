"""Filters inside a question, as people type them into search boxes: `type:decision since:last_week billing`. Pure.

Only a known name with a value that fits is a filter; everything else stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import islice
from typing import Any

from memfolio.index.filter import LEVELS
from memfolio.recall.asking.dates import moment_of
from memfolio.types import TOKEN_PATTERN, Kind, Store, Type
from memfolio.vault.format.fields import read_importance, read_tags

MAX_FILTERS = 64
"""How many of them a question may have; what follows is text."""

_TICK = timedelta(microseconds=1)
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
_FILTER = re.compile(
    r"(?<!\S)((?ai:kind|type|store|tag|session|user|entity|importance|level|since|until|after|before))"
    r':(?:"([^"\n]{1,200})"|([^\s"]{1,200}?))(?=[?!.,;]{0,9}(?!\S))'
)


def split(text: str, now: datetime, zone: tzinfo) -> tuple[str, dict[str, object]]:
    """The question without its filters, and these by the names of `Query.from_args`."""
    found: dict[str, Any] = {}
    kept, at = "", 0
    for match in islice(_FILTER.finditer(text), MAX_FILTERS):
        filters = _filters(match[1].lower(), (match[2] or match[3]).strip(), now, zone)
        if filters:
            kept, at = kept + text[at : match.start()].rstrip(), match.end()
        for name, value in filters.items():
            found[name] = [*found.get(name, ()), *value] if isinstance(value, list) else value
    return ((kept + text[at:]).strip().lstrip(",; "), found) if found else (text, found)


def _filters(name: str, value: str, now: datetime, zone: tzinfo) -> dict[str, object]:
    """What one filter asks for; nothing where its value does not fit."""
    if name in _TIMES:
        argument, end = _TIMES[name]
        moment = moment_of(value, now, zone, end=end)
        if moment and name == "before":
            # The day itself does not count.
            moment = moment - _TICK if moment > _EARLIEST else None
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
_TIMES = {"since": ("since", False), "after": ("since", False), "until": ("until", True), "before": ("until", False)}
