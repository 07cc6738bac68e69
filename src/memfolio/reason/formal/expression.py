"""Formulas and expressions as a person writes them, read into trees; nothing in them is ever run as code. Pure.

Formulas: `rain and not sun implies wet`, or with signs ∧ & ∨ | ¬ ~ ! → -> => ↔ <->; names of several words in quotes.
Expressions: numbers, texts in quotes, + - * / // % **, = != < <= > >=, and calls such as alldifferent(a, b).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from memfolio.errors import InputError

DEEPEST, LONGEST, MOST = 60, 5_000, 200
"""How deep parentheses may go, and how many characters and operators one text may have."""
LOGICAL = frozenset("iff implies or and not box name value".split())
COMPARISONS = frozenset("= != < <= > >=".split())
MODAL = dict.fromkeys("box necessarily [] □".split(), "box") | dict.fromkeys("diamond possibly <> ◇".split(), "diamond")
DEONTIC = {"O": "box", "obligatory": "box", "P": "diamond", "permitted": "diamond"}
DEONTIC |= {"F": "forbidden", "forbidden": "forbidden"}
_STRENGTHS = """1 iff <-> <=> ↔ ≡; 2 implies -> => → ⊃; 3 or || | ∨; 4 and && & ∧; 6 = ==; 6 != ≠; 6 <= ≤; 6 >= ≥; 6 <
    6 >; 7 +; 7 -; 8 *; 8 /; 8 //; 8 %; 10 **""".replace("\n", ";")
_ROWS = [row.split() for row in _STRENGTHS.split(";")]
_INFIX = {sign: (int(strength), op) for strength, op, *others in _ROWS for sign in (op, *others)}
_NOT = frozenset("not ~ ¬ !".split())
_SIGNS = sorted({*_INFIX, *_NOT, *MODAL, "(", ")", ","}, key=len, reverse=True)
_SIGN = "|".join(re.escape(each) for each in _SIGNS if not each[0].isalpha())
_TOKEN = re.compile(rf"""\s*("[^"]*"|'[^']*'|\d+(?:\.\d+)?|[^\W\d]\w*|{_SIGN}|$)""")


class Term(NamedTuple):
    """A part of a formula: an operator with its parts, or a name, value or call with what it is called."""

    op: str
    parts: tuple[Term, ...] = ()
    value: str | float | bool = ""

    def __str__(self) -> str:
        inside = [f"({each})" if len(each.parts) > 1 and self.op != "call" else str(each) for each in self.parts]
        if self.op in ("name", "value", "call"):
            return f"{self.value}({', '.join(inside)})" if inside else str(self.value)
        return f" {self.op} ".join(inside) if len(inside) > 1 else f"{self.op} {inside[0]}"

    def within(self) -> Iterator[Term]:
        """All its parts, the innermost first, and itself."""
        for each in self.parts:
            yield from each.within()
        yield self

    def names(self) -> set[str]:
        return {str(each.value) for each in self.within() if each.op == "name"}


def negation(term: Term) -> Term:
    return term.parts[0] if term.op == "not" else Term("not", (term,))


def formula(text: str, place: str, modal: Mapping[str, str] | None = None) -> Term:
    """A formula of propositional logic, with the modal operators that are spelled so; only `box` is left of them."""
    read = _Reader(text, place, modal or {}, is_formula=True).whole()
    if alien := next((each for each in read.within() if each.op not in LOGICAL), None):
        raise InputError(f"{place} has {alien!s:.40}", hint="use and, or, not, implies, iff between names")
    return read


def expression(text: str, place: str) -> Term:
    """An expression over variables."""
    return _Reader(text, place, {}, is_formula=False).whole()


class _Reader:
    """Reads from left to right by the strength of the operators."""

    def __init__(self, text: str, place: str, modal: Mapping[str, str], *, is_formula: bool) -> None:
        self._text, self._place, self._modal, self._is_formula = text, place, modal, is_formula
        self._at = self._depth = self._count = 0
        if len(text) > LONGEST:
            raise InputError(f"{place} has {len(text):,} characters", hint=f"use up to {LONGEST:,}")

    def whole(self) -> Term:
        term = self._term(0)
        if self._text[self._at :].strip():
            self._fail("an operator")
        return term

    def _sign(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        return found[1] if found else ""

    def _take(self, *wanted: str) -> str:
        """Go on behind the next word or sign, if it is one of those wanted."""
        found = _TOKEN.match(self._text, self._at)
        if not found or (wanted and found[1] not in wanted):
            return ""
        self._at = found.end()
        return found[1]

    def _term(self, least: int) -> Term:
        self._depth += 1
        if self._depth > DEEPEST or self._count > MOST:
            hint = f"use several shorter ones, with up to {MOST} operators"
            raise InputError(f"{self._place} goes deeper than {DEEPEST}, or is too long", hint=hint)
        left, compared = self._first(), None
        while (found := _INFIX.get(self._sign().lower())) and found[0] >= least:
            self._take()
            self._count += 1
            right = self._term(found[0] + (found[1] not in ("implies", "**")))
            made = Term(found[1], (compared or left, right))
            left = Term("and", (left, made)) if compared else made
            compared = right if found[1] in COMPARISONS else None
        self._depth -= 1
        return left

    def _first(self) -> Term:
        start, sign = self._at, self._take()
        if sign[:1] in ('"', "'") and sign:
            return Term("name" if self._is_formula else "value", (), sign[1:-1])
        if sign[:1].isdigit():
            return Term("value", (), float(sign) if "." in sign else int(sign))
        if sign == "(":
            return self._closed([self._term(0)])[0]
        if sign in self._modal:
            return _modal(self._modal[sign], self._term(5))
        if sign.lower() in _NOT or sign == "-":
            return Term("neg", (self._term(9),)) if sign == "-" else Term("not", (self._term(5),))
        if not sign.isidentifier() or sign.lower() in _INFIX:
            self._at = start
            self._fail("a name, a value or (")
        if sign.lower() in ("true", "false"):
            return Term("value", (), sign.lower() == "true")
        if self._is_formula or not self._take("("):
            return Term("name", (), sign)
        parts = [self._term(0)]
        while self._take(","):
            parts.append(self._term(0))
        return Term("call", tuple(self._closed(parts)), sign.lower())

    def _closed(self, parts: list[Term]) -> list[Term]:
        return parts if self._take(")") else self._fail("`)`")

    def _fail(self, expected: str) -> NoReturn:
        rest = self._text[self._at :].strip()
        where = f"before {rest[:30]!r}" if rest else "at the end"
        raise InputError(f"{self._place}: {expected} is missing {where}", hint=f"it reads: {self._text[:120]}")


def _modal(op: str, inside: Term) -> Term:
    """`possibly p` is that not necessarily not p, and `forbidden p` that necessarily not p."""
    never = Term("box", (negation(inside),))
    return Term("box", (inside,)) if op == "box" else never if op == "forbidden" else negation(never)
