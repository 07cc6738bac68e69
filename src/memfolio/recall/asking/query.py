"""A question as one immutable value: what is asked, what counts, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, TypeVar

from memfolio.errors import InputError
from memfolio.index.filter import INCLUDABLE, LEVELS, Filter
from memfolio.index.pages import name_key
from memfolio.intake import CHECKS, check_span, choose
from memfolio.recall.asking import arguments
from memfolio.recall.asking.dates import moment_of
from memfolio.recall.asking.inline import split
from memfolio.types import Kind, Store, Type

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
        inline: bool = False,
    ) -> Query:
        """The query that these arguments mean; InputError says which of them cannot be.

        With `inline`, filters inside the text count too, where no argument says otherwise.
        """
        inside: dict[str, Any] = {}
        if inline:
            text, inside = split(arguments.text("the question", text), now, zone)
        given = {"since": since, "until": until, "valid_at": valid_at, "as_of": as_of}
        times = {name: _moment(name, value or inside.get(name), now, zone) for name, value in given.items()}
        check_span("since", times["since"], "until", times["until"])
        return cls(
            text=arguments.text("the question", text),
            limit=arguments.number("limit", limit, 1, MAX_LIMIT),
            depth=arguments.number("depth", depth, 0, MAX_DEPTH),
            now=now,
            zone=zone,
            filter=Filter(
                kinds=_choices(Kind, "kind", kinds or inside.get("kinds")),
                types=_choices(Type, "type", types or inside.get("types")),
                stores=_choices(Store, "store", store or inside.get("store")),
                tags=tuple(tag.lstrip("#") for tag in arguments.words("tag", tags or inside.get("tags"))),
                entity=_key(entity or inside.get("entity")),
                session=arguments.optional("session", session or inside.get("session")),
                user=arguments.optional("user", user or inside.get("user")),
                min_importance=_fraction(min_importance or inside.get("min_importance", 0)),
                include=arguments.known("include", arguments.words("include", include), INCLUDABLE),
                level=_level(level or inside.get("level")),
                since=times["since"],
                until=times["until"],
                valid_at=times["valid_at"],
                as_of=times["as_of"],
            ),
        )


def _key(entity: object) -> str | None:
    return None if entity is None else name_key(arguments.text("entity", entity))


def _level(value: object) -> str | None:
    return None if value is None else arguments.known("level", (arguments.text("level", value),), LEVELS)[0]


def _fraction(value: object) -> float:
    checked: Any = CHECKS["importance"]("min_importance", value)
    return float(checked)


def _moment(name: str, value: object, now: datetime, zone: tzinfo) -> datetime | None:
    """A time, or the text that names one: `last_week` is its first moment, or for what looks back its last."""
    if value is None:
        return None
    if isinstance(value, str):
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
    return tuple(choose(choices, name, each) for each in arguments.words(name, value))
