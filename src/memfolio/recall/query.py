"""A question as one immutable value: what is asked, what counts, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from unicodedata import normalize

from memfolio.errors import InputError
from memfolio.index.filter import INCLUDABLE, Filter
from memfolio.intake import CHECKS, check_span, choose, nearest
from memfolio.types import Kind, Store, Type

E = TypeVar("E", bound=StrEnum)
MAX_LIMIT = 1000
MAX_DEPTH = 3
MANY = 100
"""How many values one filter may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of a memory."""

    text: str
    limit: int
    depth: int
    filter: Filter
    now: datetime

    @classmethod
    def from_args(
        cls,
        text: str,
        *,
        now: datetime,
        limit: int = 10,
        kinds: object = None,
        types: object = None,
        tags: object = None,
        entity: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        valid_at: datetime | None = None,
        as_of: datetime | None = None,
        min_importance: float = 0,
        depth: int = 0,
        session: str | None = None,
        store: object = None,
        user: str | None = None,
        include: object = (),
    ) -> Query:
        """The query that these arguments mean; InputError says which of them cannot be."""
        given = {"since": since, "until": until, "valid_at": valid_at, "as_of": as_of}
        times = {name: None if value is None else _moment(name, value) for name, value in given.items()}
        check_span("since", times["since"], "until", times["until"])
        return cls(
            text=_text("the question", text),
            limit=_number("limit", limit, 1, MAX_LIMIT),
            depth=_number("depth", depth, 0, MAX_DEPTH),
            now=now,
            filter=Filter(
                kinds=_choices(Kind, "kind", kinds),
                types=_choices(Type, "type", types),
                stores=_choices(Store, "store", store),
                tags=tuple(tag.lstrip("#") for tag in _words("tag", tags)),
                entity=None if entity is None else normalize("NFC", _text("entity", entity)).lower(),
                session=None if session is None else _text("session", session),
                user=None if user is None else _text("user", user),
                min_importance=_fraction(min_importance),
                include=_include(include),
                since=times["since"],
                until=times["until"],
                valid_at=times["valid_at"],
                as_of=times["as_of"],
            ),
        )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass it as text")
    return value


def _number(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} {str(value)[:40]} is not a whole number from {low} to {high}", hint=f"{name}={high} is the most"
        )
    return value


def _fraction(value: object) -> float:
    checked: Any = CHECKS["importance"]("min_importance", value)
    return float(checked)


def _moment(name: str, value: object) -> datetime:
    checked: Any = CHECKS["at"](name, value)
    moment: datetime = checked
    return moment


def _words(name: str, value: object) -> tuple[str, ...]:
    """One word or several; a caller may pass either."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass one as text, or a list of them")
    words = tuple(dict.fromkeys(_text(f"a {name}", each) for each in value))
    if len(words) > MANY:
        raise InputError(f"there are {len(words)} values for {name}", hint=f"pass at most {MANY}")
    return words


def _choices(choices: type[E], name: str, value: object) -> tuple[E, ...]:
    return tuple(choose(choices, name, each) for each in _words(name, value))


def _include(value: object) -> tuple[str, ...]:
    words = _words("include", value)
    if unknown := [word for word in words if word not in INCLUDABLE]:
        raise InputError(
            f"there is nothing called {unknown[0][:40]!r} to include", hint=nearest(unknown[0], INCLUDABLE)
        )
    return words
