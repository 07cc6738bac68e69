"""Which values of the variables make all conditions true, how sure that is, and when. Pure.

Confidence is the least of the atoms' confidences, validity the time in which all of them hold. A negated condition
takes away the times at which something matches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memfolio.errors import ComparisonError
from memfolio.knowledge.literal import compare
from memfolio.knowledge.relations import BEGINNING, END, Atom, Relations
from memfolio.knowledge.rule import Comparison, Condition, Part, is_variable, variables

Binding = Mapping[str, str]
Span = tuple[int, int]
ALWAYS: Span = (BEGINNING, END)


class Solution(NamedTuple):
    """Values with which all conditions hold, the atoms that meet the positive ones, how sure and when."""

    binding: Binding
    atoms: tuple[Atom, ...]
    confidence: float
    start: int
    end: int


def solve(
    body: Sequence[Part],
    relations: Relations,
    binding: Binding | None = None,
    *,
    span: Span = ALWAYS,
    problems: set[str] | None = None,
) -> Iterator[Solution]:
    """Every solution within `span`; what cannot be compared does not hold, and is told in `problems`."""
    given = dict(binding or {})
    parts = plan(tuple(body), frozenset(given))
    start = Solution(given, (), 1.0, *span)
    yield from _solve(parts, 0, relations, start, set() if problems is None else problems)


@lru_cache(maxsize=4096)
def plan(body: tuple[Part, ...], known: frozenset[str]) -> tuple[Part, ...]:
    """The conditions in the order in which each has the most to go by; what only tests comes as soon as it can."""
    left, ordered, bound = list(body), [], set(known)
    while left:
        ready = [each for each in left if _is_test(each) and _can_test(each, bound, body)]
        positive = [each for each in left if not _is_test(each)]
        chosen = ready[0] if ready or not positive else max(positive, key=lambda each: _bound_terms(each, bound))
        left.remove(chosen)
        ordered.append(chosen)
        if not _is_test(chosen):
            bound |= variables(chosen.terms)
    return tuple(ordered)


def fill(term: str, binding: Binding) -> str | None:
    """A term with its value; None for a variable that has none."""
    return binding.get(term) if is_variable(term) else term


def bind(condition: Condition, atom: Atom, binding: Binding) -> Binding | None:
    """The values with which a condition is met by an atom; None where it is not."""
    if condition.predicate != atom.predicate:
        return None
    found = dict(binding)
    for term, value in ((condition.subject, atom.subject), (condition.object, atom.object)):
        if (found.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return found


def without(span: Span, taken: Sequence[Span]) -> list[Span]:
    """What is left of a span."""
    left, (start, end) = [], span
    for begin, until in sorted(taken):
        if begin > start:
            left.append((start, min(begin, end)))
        start = max(start, until)
        if start >= end:
            break
    if start < end:
        left.append((start, end))
    return [each for each in left if each[0] < each[1]]


def _is_test(part: Part) -> bool:
    return isinstance(part, Comparison) or part.negated


def _can_test(part: Part, bound: set[str], body: tuple[Part, ...]) -> bool:
    """Whether all variables that others bind are bound; those that stand nowhere else mean anything."""
    positive = {
        name for each in body if isinstance(each, Condition) and not each.negated for name in variables(each.terms)
    }
    return not (variables(part.terms) & positive) - bound


def _bound_terms(part: Part, bound: set[str]) -> int:
    return sum(not is_variable(term) or term in bound for term in part.terms)


def _solve(
    parts: Sequence[Part], at: int, relations: Relations, so_far: Solution, problems: set[str]
) -> Iterator[Solution]:
    if at == len(parts):
        yield so_far
        return
    part = parts[at]
    for found in _step(part, relations, so_far, problems):
        yield from _solve(parts, at + 1, relations, found, problems)


def _step(part: Part, relations: Relations, so_far: Solution, problems: set[str]) -> Iterator[Solution]:
    if isinstance(part, Comparison):
        if _holds(part, so_far.binding, problems):
            yield so_far
        return
    binding, atoms, confidence, start, end = so_far
    matching = relations.match(part.predicate, fill(part.subject, binding), fill(part.object, binding))
    if part.negated:
        taken = [(atom.start, atom.end) for atom in matching if bind(part, atom, binding) is not None]
        for begin, until in without((start, end), taken) if taken else [(start, end)]:
            yield Solution(binding, atoms, confidence, begin, until)
        return
    for atom in matching:
        begin, until = max(start, atom.start), min(end, atom.end)
        if begin < until and (found := bind(part, atom, binding)) is not None:
            yield Solution(found, (*atoms, atom), min(confidence, atom.confidence), begin, until)


def _holds(part: Comparison, binding: Binding, problems: set[str]) -> bool:
    left, right = fill(part.left, binding), fill(part.right, binding)
    assert left is not None  # checked when the rule was made
    assert right is not None
    try:
        return compare(left, part.operator, right)
    except ComparisonError as error:
        problems.add(error.message)
        return False
