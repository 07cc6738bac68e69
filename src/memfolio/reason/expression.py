"""Formulas and expressions as a person writes them, read into trees; nothing in them is ever run as code. Pure.

Numbers, texts in quotes, + - * / // % **, = != < <= > >=, calls such as min(a, b), `service is poor`, and between
truths `rain and not sun implies wet`, iff, or the signs ∧ & ∨ | ¬ ~ ! → -> => ↔ <->.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache, reduce
from math import e, pi
from typing import Any, NamedTuple

from memfolio.arguments import nearest
from memfolio.errors import InputError
from memfolio.expression import NUMBER, Expressions, Infix
from memfolio.text import packaged_table

LOGICAL = frozenset("iff implies or and not box name value".split())
COMPARISONS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_TABLE = packaged_table("reason/data/signs.toml")
MODAL, DEONTIC = (
    {sign: op for op, signs in _TABLE[logic].items() for sign in signs.split()} for logic in ("modal", "deontic")
)
_INFIX = {
    sign: Infix(op, row["strength"], op in ("implies", "**"))
    for op, row in _TABLE["infix"].items()
    for sign in row["signs"].split()
}
_PREFIXES = {**dict.fromkeys("not ~ ¬ !".split(), Infix("not", 5)), "-": Infix("neg", 9)}
_SIGNS = sorted({*_INFIX, *_PREFIXES, *MODAL, "(", ")", ","}, key=len, reverse=True)
_SIGN = "|".join(re.escape(each) for each in _SIGNS if not each[0].isalpha())
_TOKEN = re.compile(rf"""\s*("[^"]+"|'[^']+'|{NUMBER}|[^\W\d]\w*|{_SIGN}|$)""")


class Expression(NamedTuple):
    """A part of a formula: an operator with its parts, or a name, value or call with what it is called."""

    op: str
    parts: tuple[Expression, ...] = ()
    value: str | float | bool = ""

    def __str__(self) -> str:
        inside = [f"({each})" if len(each.parts) > 1 and self.op != "call" else str(each) for each in self.parts]
        if self.op in ("name", "value", "call"):
            return f"{self.value}({', '.join(inside)})" if inside else str(self.value)
        return f" {self.op} ".join(inside) if len(inside) > 1 else f"{self.op} {inside[0]}"

    def within(self) -> Iterator[Expression]:
        """All its parts, the innermost first, and itself."""
        for each in self.parts:
            yield from each.within()
        yield self

    def names(self) -> set[str]:
        return {str(each.value) for each in self.within() if each.op == "name"}


def negation(term: Expression) -> Expression:
    return term.parts[0] if term.op == "not" else Expression("not", (term,))


def formula(text: str, place: str, modal: Mapping[str, str]) -> Expression:
    """A formula of propositional logic, with the modal operators that are spelled so; only `box` is left of them.

    What stands in quotes is a name here, of several words.
    """
    read = _Formula(text, place, modal=modal).whole()
    # One grammar reads formulas and arithmetic; here arithmetic is refused.
    strange = (each for each in read.within() if each.op not in LOGICAL or type(each.value) in (int, float))
    if alien := next(strange, None):
        raise InputError(f"{place} has {alien!s:.40}", hint="use and, or, not, implies, iff between names")
    return read


def _truth(value: Any) -> Any:
    return 1.0 * (value != 0)  # a number, so that truths can be counted


def _counting(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: 1.0 * compare(left, right)


Operations = Mapping[str, Callable[..., Any]]
OPERATORS: Operations = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "neg": operator.neg,
    **{sign: _counting(getattr(operator, name)) for sign, name in COMPARISONS.items()},
    "not": lambda one: 1 - _truth(one),
    "and": lambda left, right: _truth(left) * _truth(right),
    "or": lambda left, right: _truth(_truth(left) + _truth(right)),
    "implies": lambda left, right: _truth(1 - _truth(left) + _truth(right)),
    "iff": lambda left, right: 1.0 * (_truth(left) == _truth(right)),
}
"""What the signs do, with plain values and with arrays."""


@lru_cache(maxsize=1000)
def expression(text: str, place: str, hint: str = "") -> Expression:
    """An expression over variables; `hint` says what it should look like."""
    return _Formula(text, place, hint).whole()


def checked(term: Expression, place: str, names: Collection[str], operations: Operations) -> Expression:
    """An expression that speaks of nothing but these names and does nothing but these operations."""
    for each in term.within():
        if each.op == "name" and each.value not in names:
            hint = nearest(str(each.value), sorted(names))
            raise InputError(f"{place} names {each.value!r:.60}", hint=f"{hint}; texts stand in quotes")
        if each.op != "name" and (each.value if each.op == "call" else each.op) not in operations:
            there = ", ".join(name for name in operations if name.isidentifier())
            raise InputError(f"{place} has {str(each)[:60]!r}", hint=f"use names, numbers, signs and {there}")
    return term


def evaluate_term(term: Expression, values: Mapping[str, Any], operations: Operations) -> Any:
    """What an expression that was checked comes to; `operations` also says how a `value` in it is taken."""
    if term.op == "name":
        return values[str(term.value)]
    if term.op == "value":
        return operations["value"](term.value)
    # Trees are at most as deep as the reader allows, so recursion is safe.
    parts = [evaluate_term(each, values, operations) for each in term.parts]
    return operations[str(term.value) if term.op == "call" else term.op](*parts)


def evaluate(place: str, text: str, values: Mapping[str, Any]) -> Any:
    """What an expression comes to with numbers or arrays of numbers; it may be infinite or not a number."""
    import numpy

    known = {"pi": pi, "e": e, **values}
    term = checked(expression(text, place), place, known, _numeric())
    try:
        with numpy.errstate(all="ignore"):
            # Only what the expression names: other variables may be texts.
            numbers = {name: _number(known[name]) for name in term.names()}
            return evaluate_term(term, numbers, _numeric())
    except (TypeError, ValueError) as error:
        hint = "reckon with numbers; min and max take several, where(condition, then, else) three, others one"
        raise InputError(f"{place} cannot be worked out: {text[:60]!r}", hint=hint) from error


def _number(value: Any) -> Any:
    """Floats of numpy: none of their powers grows without end, and a division by 0 is no error."""
    import numpy

    return numpy.asarray(value, dtype=float)[()]


@lru_cache(maxsize=1)
def _numeric() -> Operations:
    import numpy

    def alone(name: str) -> Callable[[Any], Any]:
        return lambda one: getattr(numpy, name)(one)  # a second argument would be written to

    def several(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        return lambda one, two, *others: reduce(function, (two, *others), one)

    return {
        **OPERATORS,
        **{name: alone(name) for name in "abs sqrt exp log sin cos tan floor ceil".split()},
        "**": operator.pow,
        "min": several(numpy.minimum),
        "max": several(numpy.maximum),
        "where": lambda condition, then, other: numpy.where(condition, then, other),
        "value": _number,
    }


class _Formula(Expressions[Expression]):
    """Reads an expression, or with `modal`, how modal operators are spelled, a formula of logic."""

    token, prefixes, infixes = _TOKEN, _PREFIXES, _INFIX

    def __init__(self, text: str, place: str, hint: str = "", modal: Mapping[str, str] | None = None) -> None:
        super().__init__(text, place, hint)
        self._modal = modal

    def prefix(self, token: str) -> Infix | None:
        op = (self._modal or {}).get(token)
        return Infix(op, 5) if op else super().prefix(token)

    def operand(self) -> Expression:
        sign = self.peek()
        if sign[:1] in ("'", '"'):
            return Expression("value" if self._modal is None else "name", (), self.take()[1:-1])
        if sign[:1].isdecimal() or sign[:1] == ".":
            return Expression("value", (), self.number(self.take()))
        if not sign.isidentifier() or sign.lower() in _INFIX:
            self.fail("a name, a value or (")
        self.take()
        if sign.lower() in ("true", "false"):
            return Expression("value", (), sign.lower() == "true")
        if self._modal is None and (given := self.arguments()):
            return Expression("call", given, sign.lower())
        return Expression("name", (), sign)

    def joined(self, op: str, parts: tuple[Expression, ...], before: Expression | None) -> Expression:
        if before and op in COMPARISONS and parts[0].op in (*COMPARISONS, "and"):  # a < b < c
            return Expression("and", (parts[0], Expression(op, (before, parts[1]))))
        if op not in ("diamond", "forbidden"):
            return Expression(op, parts)
        # `possibly p` is that not necessarily not p, and `forbidden p` that necessarily not p.
        never = Expression("box", (negation(parts[0]),))
        return never if op == "forbidden" else negation(never)
