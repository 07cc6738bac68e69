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


def telling(name: str, value: object) -> str | None:
    """Text that says something: an empty one is a mistake, and must not be taken for none."""
    found = optional(name, value)
    if found is not None and not found.strip():
        raise InputError(f"{name} is empty", hint=f"leave {name} out where it does not matter")
    return found


def number(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} {shown(value)} is not a whole number from {low} to {high}", hint=f"pass one from {low} to {high}"
        )
    return value


def fraction(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name} {shown(value)} is not a number from 0 to 1", hint="1 is the most")
    return float(value)


def shown(value: object) -> str:
    """A value as an error shows it; Python itself refuses to write out a number of thousands of digits."""
    try:
        return str(value)[:40]
    except ValueError:
        return "of so many digits"


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
