"""What a caller wants remembered, taken at the door: every value checked, every refusal saying what would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from memfolio.clock import EPOCH
from memfolio.errors import ContentError, InputError, NaiveTimeError
from memfolio.types import Kind, MemoryItem, Origin, Store, Type, check_token, default_kind

E = TypeVar("E", bound=StrEnum)

TURN = ("role", "content", "session", "user", "at", "attributes")
OUTSIDE = frozenset({"tool", "function"})
"""Roles whose words come from outside; a memory's origin is set when it is made and never raised later."""


def draft_of(**given: object) -> MemoryItem:
    """A memory that has no id yet; what is None takes its default."""
    fields: dict[str, Any] = {name: CHECKS[name](name, value) for name, value in given.items() if value is not None}
    fields["event_time"] = fields.pop("at", None)
    fields.setdefault("kind", default_kind(fields.get("type", Type.OBSERVATION)))
    return MemoryItem(id="", created_at=EPOCH, **fields)


def turn_of(turn: Mapping[str, Any]) -> MemoryItem:
    """One turn of a conversation as such a memory."""
    if not isinstance(turn, Mapping):
        raise InputError(f"a turn is a {type(turn).__name__}", hint="pass a dictionary with a role and a content")
    if unknown := [str(name) for name in turn if name not in TURN]:
        raise InputError(f"a turn has no {unknown[0]!r}", hint=nearest(unknown[0], TURN))
    if missing := [name for name in TURN[:2] if turn.get(name) is None]:
        raise InputError(f"a turn lacks its {missing[0]}", hint="every turn needs a role and a content")
    origin = Origin.UNTRUSTED if _token("role", turn["role"]).casefold() in OUTSIDE else Origin.AGENT
    return draft_of(**turn, store=Store.SHORT_TERM, origin=origin)


def choose(choices: type[E], name: str, value: Any) -> E:
    """The member with this value; an unknown one is refused with the nearest that exists."""
    try:
        return choices(value)
    except ValueError as error:
        known = [choice.value for choice in choices]
        raise InputError(f"unknown {name} {str(value)[:40]!r}", hint=nearest(str(value), known)) from error


def nearest(word: str, known: Sequence[str]) -> str:
    close = get_close_matches(word, known, 1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _content(_: str, value: object) -> str:
    if not isinstance(value, str):
        raise ContentError(f"the content is a {type(value).__name__}", hint="pass it as text")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass it as text")
    return value


def _token(name: str, value: object) -> str:
    return check_token(name, _text(name, value))


def _fraction(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name} {str(value)[:40]!r} is not a number from 0 to 1", hint="1 is the most")
    return value


def _tags(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass a list of tags")
    tags = tuple(_text("a tag", tag).strip().lstrip("#") for tag in value)
    if not all(tags):
        raise InputError("a tag is empty", hint="leave it out")
    return tuple(dict.fromkeys(tags))


def _moment(name: str, value: object) -> datetime:
    if not isinstance(value, datetime):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass an aware datetime")
    if value.utcoffset() is None:
        raise NaiveTimeError(f"{name} {value} has no time zone", hint="pass an aware datetime")
    return value


def _attributes(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass a dictionary")
    return value


CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "content": _content,
    **{each.__name__.lower(): partial(choose, each) for each in (Type, Kind, Store, Origin)},
    **dict.fromkeys(("importance", "confidence"), _fraction),
    **dict.fromkeys(("role", "session", "source"), _token),
    **dict.fromkeys(("user", "key"), _text),
    **dict.fromkeys(("at", "valid_from", "valid_until"), _moment),
    "tags": _tags,
    "attributes": _attributes,
}
