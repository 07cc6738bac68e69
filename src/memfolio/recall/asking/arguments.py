"""Arguments of those who ask, checked one by one: InputError says what is wrong and what would be right."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from memfolio.errors import InputError
from memfolio.intake import nearest

MANY = 100
"""How many values one argument may have."""


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__}", hint="pass it as text")
    return value


def optional(name: str, value: object) -> str | None:
    return None if value is None else text(name, value)


def number(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} {str(value)[:40]} is not a whole number from {low} to {high}", hint=f"{name}={high} is the most"
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
    found = tuple(dict.fromkeys(text(f"a {name}", each) for each in value))
    if len(found) > MANY:
        raise InputError(f"there are {len(found)} values for {name}", hint=f"pass at most {MANY}")
    return found


def known(name: str, given: tuple[str, ...], choices: Collection[str]) -> tuple[str, ...]:
    """`given`, if all of it is among the choices."""
    if unknown := [word for word in given if word not in choices]:
        raise InputError(f"{name} {unknown[0][:40]!r} is not known", hint=nearest(unknown[0], list(choices)))
    return given
