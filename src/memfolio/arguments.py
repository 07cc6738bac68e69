"""The arguments of verbs that say what is to be remembered: every value checked, every refusal saying what would do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, TypeVar

from memfolio.errors import ContentError, InputError, MemfolioError
from memfolio.types import DEFAULT_KINDS, EMPTY, Kind, Origin, Store, Type, check_token
from memfolio.vault.fields import Draft, check_fraction, check_text, utc
from memfolio.vault.lines import plain_object

E = TypeVar("E", bound=StrEnum)

TURN = ("role", "content", "session", "user", "at", "attributes", "source", "project", "audience")
FIELDS = frozenset(TURN)
EVERYBODY = "all"
NEAR = 0.75
"""How alike a word and a known one are where that was probably meant."""
FEW = 6
ANY_ID = re.compile(r"\b[A-Z]-(?:[0-9]{1,15}-[0-9a-f]{8}|[0-9a-f]{16})\b")
OUTSIDE = re.compile(
    r"(?:tool|function)s?(?:[-_.:].*|results?|calls?|outputs?|responses?)?"
    r"|(?:web|browser|mcp|search|retriever|fetch|crawler|scraper|plugin)(?:[-_.:].*)?"
)
"""Roles whose words come from outside; a memory's origin is set when it is made and never raised later."""


def draft_of(**given: object) -> Draft:
    """A memory that has no id yet; what is None takes its default."""
    fields: dict[str, Any] = {
        name: CHECKS[name](name, value) for name, value in given.items() if value is not None or name == "content"
    }
    check_span("valid_from", fields.get("valid_from"), "valid_until", fields.get("valid_until"))
    fields["event_time"] = fields.pop("at", None)
    fields.setdefault("kind", DEFAULT_KINDS[fields.get("type", Type.OBSERVATION)])
    return Draft(**fields)


def turn_of(turn: Mapping[str, Any]) -> Draft:
    """One turn of a conversation as such a memory."""
    _check_turn(turn)
    role, content, session, user, at, attributes, source, project, audience = map(turn.get, TURN)
    role = _token("role", role)
    return Draft(
        content=_content("content", content),
        role=role,
        session=None if session is None else _token("session", session),
        user=None if user is None else check_string("user", user),
        event_time=None if at is None else _moment("at", at),
        attributes=_attributes("attributes", attributes) if attributes is not None else EMPTY,
        store=Store.SHORT_TERM,
        origin=_origin(role),
        source="conversation" if source is None else _token("source", source),
        project=None if project is None else _token("project", project),
        audience=user if audience is None else _audience("audience", audience),
    )


@lru_cache(maxsize=256)
def _origin(role: str) -> Origin:
    return Origin.UNTRUSTED if OUTSIDE.fullmatch(role.casefold()) else Origin.AGENT


def _check_turn(turn: Mapping[str, Any]) -> None:
    if not isinstance(turn, (dict, Mapping)):
        raise InputError(f"a turn is a {type(turn).__name__}", hint="pass a dictionary with a role and a content")
    if not turn.keys() <= FIELDS:
        check_known("a turn has no", turn, TURN)
    for name in ("role", "content"):
        if turn.get(name) is None:
            raise InputError(f"a turn lacks its {name}", hint="every turn needs a role and a content")


def one_id(value: object) -> str:
    """`value` if it can name one memory."""
    text = check_string("an id", value).strip()
    if not text:
        raise InputError("no memory is named", hint="name one by its id, or describe it")
    if len(ANY_ID.findall(text)) > 1:
        raise InputError(f"{text[:80]!r} names more than one memory", hint="name one at a time")
    return text


def ids_in(what: str | Sequence[str]) -> list[str]:
    """The ids that something to be forgotten is named by; none where it is described."""
    named = [what] if isinstance(what, str) else list(what)
    return named if all(ANY_ID.fullmatch(each.strip()) for each in named) else []


def text_of(value: object) -> str:
    """`value` if it is text that can be remembered."""
    return _content("content", value)


def check_span(first: str, start: datetime | None, last: str, end: datetime | None) -> None:
    """Refuse a span that ends before it begins."""
    if start is not None and end is not None and start > end:
        raise InputError(f"{first} {start} is later than {last} {end}", hint=f"put the earlier one into {first}")


def choose(choices: type[E], name: str, value: Any) -> E:
    """The member with this value; an unknown one is refused with the nearest that exists."""
    try:
        return choices(value)
    except ValueError as error:
        known = [choice.value for choice in choices]
        raise InputError(f"unknown {name} {str(value)[:40]!r}", hint=nearest(str(value), known)) from error


def check_known(
    problem: str, names: Iterable[object], known: Iterable[str], error: type[MemfolioError] = InputError
) -> None:
    """Refuse the first name that is not known; `problem` begins the message, such as "a fact has no"."""
    choices = list(known)
    for name in names:
        if name not in choices:
            raise error(f"{problem} {str(name)[:40]!r}", hint=nearest(str(name), choices))


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint for a word that is not known: the nearest one that is, and all where they are few."""
    close, every = get_close_matches(word, known, 1, cutoff=NEAR), f"known are {', '.join(known)}"
    close = close or [each for each in known if len(word) > 2 and each.startswith(word)]
    if not close:
        return every
    return f"did you mean {close[0]}? {every}" if len(known) <= FEW else f"did you mean {close[0]}?"


def _content(_: str, value: object) -> str:
    if not isinstance(value, str):
        raise ContentError(f"the content is a {type(value).__name__}", hint="pass it as text")
    return check_text(value)


def check_string(name: str, value: object) -> str:
    """`value` if it is text, also an empty one."""
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass it as text")
    return value


def _token(name: str, value: object) -> str:
    return _known_token(name, check_string(name, value))


_known_token = lru_cache(maxsize=256)(check_token)
"""The turns of a conversation share their session and roles; finding them is cheaper than checking them anew."""


def _audience(name: str, value: object) -> str | None:
    """Who may hear something; `all` is everybody."""
    text = check_string(name, value).strip()
    if not text:
        raise InputError(f"{name} is empty", hint=f"name a person, room:NAME, or {EVERYBODY}")
    return None if text == EVERYBODY else text


def _tags(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass a list of tags")
    tags = tuple(check_string("a tag", tag).strip().lstrip("#").strip() for tag in value)
    if not all(tags):
        raise InputError("a tag is empty", hint="leave it out")
    return tuple(dict.fromkeys(tags))


def _moment(name: str, value: object) -> datetime:
    if not isinstance(value, datetime):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass an aware datetime")
    return utc(name, value)


def _attributes(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, (dict, Mapping)):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass a dictionary")
    return plain_object(value, name) if value else EMPTY


CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "content": _content,
    **{each.__name__.lower(): partial(choose, each) for each in (Type, Kind, Store, Origin)},
    **dict.fromkeys(("importance", "confidence", "factor"), check_fraction),
    **dict.fromkeys(("role", "session", "source", "project"), _token),
    "audience": _audience,
    **dict.fromkeys(("user", "key"), check_string),
    **dict.fromkeys(("at", "valid_from", "valid_until"), _moment),
    "tags": _tags,
    "attributes": _attributes,
}
