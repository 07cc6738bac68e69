"""A question as one immutable value: what is asked, what counts, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, TypeVar
from unicodedata import normalize

from memfolio.errors import InputError
from memfolio.index.filter import INCLUDABLE, LEVELS, Filter
from memfolio.index.pages import name_key
from memfolio.intake import CHECKS, check_span, choose
from memfolio.recall.asking import arguments
from memfolio.recall.asking.dates import moment_of
from memfolio.recall.asking.inline import IsKnown, anything, split
from memfolio.types import EMPTY, Kind, Store, Type

E = TypeVar("E", bound=StrEnum)
MAX_LIMIT = 1000
MAX_DEPTH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of a memory."""

    text: str
    limit: int
    depth: int
    filter: Filter
    now: datetime
    zone: tzinfo
    inside: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    """The filters that were taken from the text, by the names of the arguments whose place they take."""
    agents: tuple[str, ...] = ()
    """Whose memories count; none is everybody's in scope."""

    @classmethod
    def from_args(
        cls,
        text: str,
        *,
        now: datetime,
        zone: tzinfo,
        limit: int = 10,
        kinds: object = None,
        types: object = None,
        tags: object = None,
        entity: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_importance: float = 0,
        depth: int = 0,
        session: str | None = None,
        store: object = None,
        user: str | None = None,
        include: object = (),
        level: str | None = None,
        agents: object = None,
        inline: bool = False,
        is_known: IsKnown = anything,
    ) -> Query:
        """The query that these arguments mean; InputError says which of them cannot be.

        With `inline`, filters inside the text count too, where no argument says otherwise and their values are known.
        """
        given: dict[str, Any] = {"kinds": kinds, "types": types, "store": store, "tags": tags, "include": include}
        given |= {"entity": entity, "session": session, "user": user, "level": level}
        given |= {"min_importance": min_importance or None}
        times = {"since": since, "until": until, "valid_at": valid_at, "as_of": as_of}
        given |= {name: _moment(name, value, now, zone) for name, value in times.items()}
        check_span("since", given["since"], "until", given["until"])
        text = arguments.text("the question", text)
        text, inside = _split(text, given, now, zone, is_known) if inline else (text, {})
        counting = {name: value for name, value in inside.items() if given[name] is None}
        return cls(
            text=text,
            limit=arguments.number("limit", limit, 1, MAX_LIMIT),
            depth=arguments.number("depth", depth, 0, MAX_DEPTH),
            now=now,
            zone=zone,
            filter=_filter(given | counting),
            inside=counting,
            agents=arguments.words("agent", agents),
        )


def _filter(given: Mapping[str, Any]) -> Filter:
    return Filter(
        kinds=_choices(Kind, "kind", given["kinds"]),
        types=_choices(Type, "type", given["types"]),
        stores=_choices(Store, "store", given["store"]),
        tags=tuple(map(_tag, arguments.words("tag", given["tags"]))),
        entities=_spellings(given["entity"]),
        session=arguments.telling("session", given["session"]),
        user=arguments.telling("user", given["user"]),
        min_importance=arguments.fraction("min_importance", given["min_importance"] or 0),
        include=arguments.known("include", arguments.words("include", given["include"]), INCLUDABLE),
        level=_level(given["level"]),
        since=given["since"],
        until=given["until"],
        valid_at=given["valid_at"],
        as_of=given["as_of"],
    )


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
    return arguments.telling("tag", value.lstrip("#")) or ""


def _spellings(entity: object) -> tuple[str, ...]:
    """How an entity may be looked up: by its id, or by a name."""
    found = arguments.telling("entity", entity)
    return () if found is None else tuple(dict.fromkeys((name_key(found), normalize("NFC", found).lower())))


def _level(value: object) -> str | None:
    found = arguments.telling("level", value)
    if found is not None and found not in LEVELS:
        raise InputError(f"level {found[:40]!r} is not known", hint=f"known are {', '.join(LEVELS)}")
    return found


def _moment(name: str, value: object, now: datetime, zone: tzinfo) -> datetime | None:
    """A time, or the text that names one: `last_week` is its first moment, or for what looks back its last."""
    if value is None:
        return None
    if isinstance(value, str):
        arguments.telling(name, value)
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
    given = arguments.telling(name, value) if isinstance(value, str) else value
    return tuple(choose(choices, name, each) for each in arguments.words(name, given))
