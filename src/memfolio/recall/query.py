"""A question as one immutable value: its text, filters and times, with its arguments checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from unicodedata import normalize

from memfolio.arguments import CHECKS, check_span, check_string, choose, nearest
from memfolio.errors import InputError
from memfolio.index.search import INCLUDABLE, LEVELS, Filter
from memfolio.recall.dates import moment_of
from memfolio.text import name_key, shown
from memfolio.types import EMPTY, TOKEN_PATTERN, Kind, Store, Type, frozen
from memfolio.vault.fields import check_fraction, read_importance, read_tags

# Arguments of those who ask, checked one by one: InputError says what is wrong and what would be right.

MANY = 100
"""How many values one argument may have."""


def check_optional(name: str, value: object) -> str | None:
    return None if value is None else check_string(name, value)


def telling(name: str, value: object) -> str | None:
    """Text that says something: an empty one is a mistake, and must not be taken for none."""
    found = check_optional(name, value)
    if found is not None and not found.strip():
        raise InputError(f"{name} is empty", hint=f"leave {name} out where it does not matter")
    return found


def check_number(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} {shown(value)} is not a whole number from {low} to {high}", hint=f"pass one from {low} to {high}"
        )
    return value


def words(name: str, value: object) -> tuple[str, ...]:
    """One word or several; a caller may pass either."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass one as text, or a list of them")
    found = tuple(dict.fromkeys(check_string(f"a {name}", each) for each in value))
    if len(found) > MANY:
        raise InputError(f"there are {len(found)} values for {name}", hint=f"pass at most {MANY}")
    return found


def known(name: str, given: tuple[str, ...], choices: Collection[str]) -> tuple[str, ...]:
    """Return `given` if all of it is among the choices."""
    if unknown := [word for word in given if word not in choices]:
        raise InputError(f"{name} {unknown[0][:40]!r} is not known", hint=nearest(unknown[0], list(choices)))
    return given


# Filters inside a question, as people type them into search boxes: `type:decision since:last_week billing`. Pure.
#
# Only a known name with a value that fits is a filter; everything else stays text: `the image tag:latest` is none
# where nothing has that tag.

MAX_FILTERS = 16
"""The most filters in a question; the rest is text."""

LOOKED_UP = frozenset({"tag", "session", "user", "entity"})
"""Filters that accept any value, so that only the index can tell them from text."""
IsKnown = Callable[[str, str], bool]
"""Whether something is remembered that has this tag, session, user or entity: the name of the filter and its value."""

_TICK = timedelta(microseconds=1)
_NO_TIME = timedelta()
_FILTER = re.compile(
    r"(?<!\S)((?ai:kind|type|store|tag|session|user|entity|importance|level|since|until|after|before))"
    r':(?:"([^"\n]{1,200})"|([^\s"]{1,200}?))(?=[?!.,;]{0,9}(?!\S))'
)


def anything(name: str, value: str) -> bool:
    """Accept every value, if nothing is known about them."""
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
    """Merge a filter with an earlier one of the same name; empty if that would be too much."""
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
    """Return the arguments for one filter; empty if its value is invalid."""
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


def _level_of_word(value: str) -> object:
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
    "level": ("level", _level_of_word),
}
# What happened on the day itself counts after it, and not before it.
_TIMES = {"since": ("since", False), "after": ("since", False), "until": ("until", True), "before": ("until", False)}


# A question as one immutable value: what is asked, what counts, and when.

E = TypeVar("E", bound=StrEnum)
MAX_LIMIT = 1000
MAX_DEPTH = 3


@frozen
class Query:
    """A question to a memory."""

    text: str
    limit: int
    depth: int
    filter: Filter
    now: datetime
    zone: tzinfo
    inside: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    """The filters taken from the text, by the names of the arguments that they replace."""
    min_fit: float = 0
    """The fit that a hit must have."""
    agents: tuple[str, ...] = ()
    """The agents whose memories count; empty means all in scope."""

    @classmethod
    def from_args(
        cls,
        text: str,
        *,
        now: datetime,
        zone: tzinfo,
        limit: int = 10,
        depth: int = 0,
        min_fit: float = 0,
        agents: object = None,
        inline: bool = False,
        is_known: IsKnown = anything,
        **filters: object,
    ) -> Query:
        """The query that these arguments mean; InputError says which of them cannot be.

        `filters` are those of `Memory.recall`. With `inline`, filters inside the text count too, where no argument says
        otherwise and their values are known.
        """
        given: dict[str, Any] = filters | {"min_importance": filters.get("min_importance") or None}
        given |= {name: _moment(name, filters.get(name), now, zone) for name in _ASKED_TIMES}
        check_span("since", given["since"], "until", given["until"])
        text = check_string("the question", text)
        text, inside = _split(text, given, now, zone, is_known) if inline else (text, {})
        counting = {name: value for name, value in inside.items() if given.get(name) is None}
        return cls(
            text=text,
            limit=check_number("limit", limit, 1, MAX_LIMIT),
            depth=check_number("depth", depth, 0, MAX_DEPTH),
            # 0, the usual one, leaves nothing out.
            min_fit=0.0 if min_fit == 0 else check_fraction("min_fit", min_fit),
            now=now,
            zone=zone,
            filter=_filter(given | counting),
            inside=counting,
            agents=words("agent", agents),
        )


def _filter(given: Mapping[str, Any]) -> Filter:
    """The filter of these arguments, whose times are read already; what is None does not matter."""
    told = {name: value for name, value in given.items() if value is not None}
    read = {name: _READERS[name](value) if name in _READERS else value for name, value in told.items()}
    return Filter(**{_FIELDS.get(name, name): value for name, value in read.items()})


def _split(
    text: str, given: Mapping[str, Any], now: datetime, zone: tzinfo, is_known: IsKnown
) -> tuple[str, dict[str, Any]]:
    """The filters inside a text; where its times and those that are given end before they begin, its own are text."""
    rest, inside = split(text, now, zone, is_known)
    since, until = (given[name] or inside.get(name) for name in ("since", "until"))
    if isinstance(since, datetime) and isinstance(until, datetime) and since > until:
        return split(text, now, zone, is_known, timed=False)
    return rest, inside


def _tag(value: str) -> str:
    return telling("tag", value.lstrip("#")) or ""


def _spellings(entity: object) -> tuple[str, ...]:
    """How an entity may be looked up: by its id, or by a name."""
    found = telling("entity", entity)
    return () if found is None else tuple(dict.fromkeys((name_key(found), normalize("NFC", found).lower())))


def _level(value: object) -> str | None:
    found = telling("level", value)
    if found is not None and found not in LEVELS:
        raise InputError(f"level {found[:40]!r} is not known", hint=f"known are {', '.join(LEVELS)}")
    return found


def _moment(name: str, value: object, now: datetime, zone: tzinfo) -> datetime | None:
    """A time, or the text that names one: `last_week` is its first moment, or for what looks back its last."""
    if value is None:
        return None
    if isinstance(value, str):
        telling(name, value)
        found = moment_of(value, now, zone, end=name != "since")
        if found is None:
            raise InputError(
                f"{name} {value[:40]!r} is not a time", hint="write it like 2026-11-15, yesterday or last_week"
            )
        return found
    checked: Any = CHECKS["at"](name, value)
    moment: datetime = checked
    return moment


def _choices(choices: type[E], name: str, value: object) -> tuple[E, ...]:
    given = telling(name, value) if isinstance(value, str) else value
    return tuple(choose(choices, name, each) for each in words(name, given))


_ASKED_TIMES = ("since", "until", "valid_at", "as_of")
_FIELDS = {"store": "stores", "entity": "entities"}
"""The fields of a filter that are called otherwise than the argument."""
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "kinds": partial(_choices, Kind, "kind"),
    "types": partial(_choices, Type, "type"),
    "store": partial(_choices, Store, "store"),
    "tags": lambda tags: tuple(map(_tag, words("tag", tags))),
    "entity": _spellings,
    **{name: partial(telling, name) for name in ("session", "user", "project")},
    "min_importance": partial(check_fraction, "min_importance"),
    "include": lambda named: known("include", words("include", named), INCLUDABLE),
    "level": _level,
}
"""How the value of a filter is read, by the name of its argument."""
