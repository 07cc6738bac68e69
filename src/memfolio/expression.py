"""Reading small languages: words and signs from left to right, operators by their strength. Nothing is ever run. Pure.

A language has its own pattern of tokens and says how an operand is read; the rest is the same for all: what comes next,
precedence climbing, limits on length and depth, and an error that names the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn, TypeVar

from memfolio.errors import InputError

DEEPEST, LONGEST, MOST = 60, 5_000, 200
"""How deep operands may be nested, and how many characters and operators a text may have."""

T = TypeVar("T")


class Infix(NamedTuple):
    """An operator between two operands; of `a op b op c`, one that `groups_right` takes b and c together."""

    op: str
    strength: int
    groups_right: bool = False


Join = Callable[[str, T, T, T | None], T]
"""Puts an operator's operands together; the last is the right operand of the operator before it at the same level."""


class Reader:
    """The tokens of a text; group 1 of the pattern is the token, and whatever stands before it is passed over."""

    def __init__(
        self,
        text: str,
        token: re.Pattern[str],
        place: str,
        hint: str = "",
        *,
        longest: int = LONGEST,
        error: type[InputError] = InputError,
    ) -> None:
        self.text, self.place, self.at = text, place, 0
        self._token, self._error, self._depth, self._count = token, error, 0, 0
        self._hint = hint or f"it reads: {text[:120]}"
        if len(text) > longest:
            raise error(f"{place} has {len(text):,} characters", hint=f"use up to {longest:,}")

    def peek(self) -> str:
        """The next token; nothing at the end, and before what is none."""
        found = self._token.match(self.text, self.at)
        return found[1] if found else ""

    def take(self, *wanted: str) -> str:
        """Go on behind the next token, if it is one of those wanted, whatever their case; without any, behind it."""
        found = self._token.match(self.text, self.at)
        if not found or (wanted and found[1].lower() not in wanted):
            return ""
        self.at = found.end()
        return found[1]

    def whole(self, operand: Callable[[], T], infixes: Mapping[str, Infix], join: Join[T]) -> T:
        """What the whole text says."""
        found = self.climb(operand, infixes, join)
        self.end("an operator")
        return found

    def end(self, expected: str) -> None:
        """Refuse whatever is left of the text."""
        if self.text[self.at :].strip():
            self.fail(expected)

    def climb(self, operand: Callable[[], T], infixes: Mapping[str, Infix], join: Join[T], least: int = 0) -> T:
        """Operands with the operators between them that are at least so strong."""
        self._depth += 1
        if self._depth > DEEPEST or self._count > MOST:
            hint = f"use several shorter ones, with up to {MOST} operators"
            raise InputError(f"{self.place} goes deeper than {DEEPEST}, or is too long", hint=hint)
        left, before = operand(), None
        while (infix := infixes.get(self.peek().lower())) and infix.strength >= least:
            self.take()
            self._count += 1
            right = self.climb(operand, infixes, join, infix.strength + (not infix.groups_right))
            left, before = join(infix.op, left, right, before), right
        self._depth -= 1
        return left

    def expect(self, token: str) -> None:
        if not self.take(token):
            self.fail(f"`{token}`")

    def fail(self, expected: str, hint: str = "") -> NoReturn:
        rest = self.text[self.at :].strip()
        where = f"before {rest[:30]!r}" if rest else "at the end"
        raise self._error(f"{self.place}: {expected} is missing {where}", hint=hint or self._hint)
