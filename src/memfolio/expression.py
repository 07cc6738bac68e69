"""Reading small languages: words and signs from left to right, operators by their strength. Nothing is ever run. Pure.

A language has its own pattern of tokens, its own table of operators, and says how an operand is read; the rest is the
same for all: what comes next, parentheses, precedence climbing, lists and calls, numbers, limits on length and depth,
and an error that names the place.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, NoReturn, TypeVar

from memfolio.errors import InputError

DEEPEST, LONGEST, MOST = 60, 5_000, 200
"""How deep operands may be nested, and how many characters and operators a text may have."""
LARGEST = 1e300
"""How large numbers may be."""
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"

T = TypeVar("T")


class Infix(NamedTuple):
    """An operator before an operand, or between two; of `a op b op c`, one that `groups_right` takes b and c together.

    One before an operand takes all that is joined by operators at least so strong.
    """

    op: str
    strength: int
    groups_right: bool = False


class Reader:
    """The tokens of a text; group 1 of the pattern is the token, and whatever stands before it is passed over."""

    token: re.Pattern[str]
    hint, longest = "", LONGEST
    error: type[InputError] = InputError

    def __init__(self, text: str, place: str, hint: str = "") -> None:
        self.text, self.place, self.at = text, place, 0
        self.hint = hint or self.hint or f"it reads: {text[:120]}"
        if len(text) > self.longest:
            raise self.error(f"{place} has {len(text):,} characters", hint=f"use up to {self.longest:,}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go on behind what fits a pattern here, if anything does."""
        if found := pattern.match(self.text, self.at):
            self.at = found.end()
        return found

    def peek(self) -> str:
        """The next token; nothing at the end, and before what is none."""
        found = self.token.match(self.text, self.at)
        return found[1] if found else ""

    def take(self, *wanted: str) -> str:
        """Go on behind the next token, if it is one of those wanted, whatever their case; without any, behind it."""
        if wanted and self.peek().lower() not in wanted:
            return ""
        found = self.match(self.token)
        return found[1] if found else ""

    def several(self, read: Callable[[], T], *between: str) -> tuple[T, ...]:
        """One thing, and one more behind each of these tokens."""
        found = [read()]
        while self.take(*between):
            found.append(read())
        return tuple(found)

    def number(self, token: str) -> float:
        """What a token says that fits `NUMBER`."""
        if not float(token) < LARGEST:
            raise self.error(f"{self.place} has {token:.40}", hint=f"use numbers below {LARGEST:g}")
        return int(token) if token.isdecimal() else float(token)

    def end(self, expected: str) -> None:
        """Refuse whatever is left of the text."""
        if self.text[self.at :].strip():
            self.fail(expected)

    def expect(self, token: str) -> None:
        if not self.take(token):
            self.fail(f"`{token}`")

    def fail(self, expected: str, hint: str = "") -> NoReturn:
        rest = self.text[self.at :].strip()
        where = f"before {rest[:30]!r}" if rest else "at the end"
        raise self.error(f"{self.place}: {expected} is missing {where}", hint=hint or self.hint)


class Expressions(Reader, ABC, Generic[T]):
    """A language of operands with operators before and between them."""

    prefixes: Mapping[str, Infix]
    infixes: Mapping[str, Infix]
    _depth = _count = 0

    @abstractmethod
    def operand(self) -> T:
        """What begins with neither an operator nor a parenthesis."""

    @abstractmethod
    def joined(self, op: str, parts: tuple[T, ...], before: T | None) -> T:
        """An operator with its operands; `before` is the right one of the operator before it at the same level."""

    def whole(self) -> T:
        """What the whole text says."""
        found = self.climb()
        self.end("an operator")
        return found

    def climb(self, least: int = 0) -> T:
        """Operands with the operators between them that are at least so strong."""
        self._depth += 1
        if self._depth > DEEPEST or self._count > MOST:
            hint = f"use several shorter ones, with up to {MOST} operators"
            raise self.error(f"{self.place} goes deeper than {DEEPEST}, or is too long", hint=hint)
        left, before = self._one(), None
        while (infix := self.infixes.get(self.peek().lower())) and infix.strength >= least:
            self.take()
            self._count += 1
            right = self.climb(infix.strength + (not infix.groups_right))
            left, before = self.joined(infix.op, (left, right), before), right
        self._depth -= 1
        return left

    def _one(self) -> T:
        if prefix := self.prefix(self.peek()):
            self.take()
            return self.joined(prefix.op, (self.climb(prefix.strength),), None)
        if not self.take("("):
            return self.operand()
        within = self.climb()
        self.expect(")")
        return within

    def prefix(self, token: str) -> Infix | None:
        """The operator before an operand that a token is."""
        return self.prefixes.get(token.lower())

    def arguments(self) -> tuple[T, ...]:
        """What a call is given in parentheses; nothing where none come."""
        if not self.take("("):
            return ()
        found = self.several(self.climb, ",")
        self.expect(")")
        return found
