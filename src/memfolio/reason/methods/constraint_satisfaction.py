"""Values for variables that meet all constraints, or the constraints that cannot be met together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from math import nan, prod
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.expression import OPERATORS, Expression, Operations, checked, expression, worked_out
from memfolio.reason.inputs import Computed, Effort, Texts, World, between, method, number_in, sized, smallest

Value = int | float | str
Values = Mapping[str, Value]
Domains = Mapping[str, Sequence[Value]]
FEW = 64
"""Up to so many combinations of the other values are tried to see whether a value can stay."""
HIGHEST = 20
"""The largest power that is raised to, of numbers up to a million."""


def _reckoned(function: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic of numbers only; what is divided by 0 is no number, and no comparison with it is met."""

    def reckoned(*parts: Any) -> Any:
        if any(isinstance(each, str) for each in parts):
            raise TypeError("a text among numbers")
        try:
            return function(*parts)
        except ZeroDivisionError:
            return nan

    return reckoned


def _power(base: Any, power: Any) -> Any:
    if abs(base) > 10**6 or abs(power) > HIGHEST:
        raise OverflowError
    return base**power


OPERATIONS: Operations = {
    **OPERATORS,
    **{sign: _reckoned(OPERATORS[sign]) for sign in ("+", "-", "*", "/", "//", "%", "neg")},
    "**": _reckoned(_power),
    "!=": lambda left, right: left == left and right == right and left != right,
    "value": lambda value: value,
    "abs": abs,
    "min": min,
    "max": max,
    "alldifferent": lambda *values: len(set(values)) == len(values),
}


def bounds(term: Expression, domains: Domains) -> tuple[Any, Any] | None:
    """Between which numbers an expression lies, for truths 0 and 1; None where that is not easily said."""
    if term.op in ("name", "value"):
        values: Any = domains[str(term.value)] if term.op == "name" else (term.value,)
        return None if isinstance(values[-1], str) else (values[0], values[-1])
    inside = [found for each in term.parts if (found := bounds(each, domains))]
    if len(inside) < len(term.parts):
        return None
    if term.op in ("+", "*", "-", "neg"):
        ends = [OPERATORS[term.op](*each) for each in product(*inside)]
        return min(ends), max(ends)
    if term.op not in ("=", "<", "<=", ">", ">="):
        return None
    (low, high), (least, most) = inside
    if term.op == "=":
        return 0, low <= most and least <= high
    return 0, any(OPERATORS[term.op](*each) for each in ((low, most), (high, least)))


class Check:
    """A constraint with the variables in it and what it costs to look at it once."""

    def __init__(self, term: Expression, effort: Effort) -> None:
        self.term, self.names, self._effort = term, sorted(term.names()), effort
        self._cost = 1 + sum(1 for _ in term.within()) // 10

    def may_be_met(self, domains: Domains) -> bool:
        """Whether some of these values meet it; where they are many, by their bounds alone."""
        self._effort.spend(self._cost)
        near = [domains[each] for each in self.names]
        if prod(map(len, near)) > FEW:
            return bool((bounds(self.term, domains) or (0, 1))[1])
        return any(self._is_met(dict(zip(self.names, values, strict=True))) for values in product(*near))

    def _is_met(self, values: Values) -> bool:
        self._effort.spend(self._cost)
        try:
            return bool(worked_out(self.term, values, OPERATIONS))
        except (TypeError, OverflowError) as error:
            hint = f"compare like with like; powers go up to {HIGHEST}"
            raise InputError(f"{self.term!s:.80} cannot be worked out for {_shown(values):.80}", hint=hint) from error


class Problem:
    """Variables with what may be their values, and constraints by their text."""

    def __init__(self, domains: Domains, constraints: Mapping[str, Expression], effort: Effort) -> None:
        self.domains, self.constraints, self.effort = domains, constraints, effort

    def solutions(self, labels: Sequence[str], *more: Expression) -> Iterator[dict[str, Value]]:
        """All assignments that meet the constraints with these texts, and more."""
        terms = (part for term in (*(self.constraints[each] for each in labels), *more) for part in _split(term))
        checks = [Check(term, self.effort) for term in terms]
        about = {name: [each for each in checks if name in each.names] for name in self.domains}
        start = _narrowed(dict(self.domains), checks, about)
        return _search(start, about) if start is not None else iter(())


def _search(domains: Domains, about: Mapping[str, list[Check]]) -> Iterator[dict[str, Value]]:
    """Backtracking, first on the variable with the fewest values left."""
    unsettled = [each for each in domains if len(domains[each]) > 1]
    if not unsettled:
        yield {each: values[0] for each, values in domains.items()}
        return
    name = min(unsettled, key=lambda one: len(domains[one]))
    for value in domains[name]:
        narrowed = _narrowed({**domains, name: (value,)}, about[name], about)
        if narrowed is not None:
            yield from _search(narrowed, about)


def _narrowed(
    domains: dict[str, Sequence[Value]], ahead: list[Check], about: Mapping[str, list[Check]]
) -> Domains | None:
    """AC-3: strike out values without support until nothing changes; None where a constraint cannot be met."""
    waiting = dict.fromkeys(ahead)
    while waiting:
        check, _ = waiting.popitem()
        if not check.may_be_met(domains):
            return None
        for name in check.names:
            near = {each: domains[each] for each in check.names}
            kept = [each for each in domains[name] if check.may_be_met({**near, name: (each,)})]
            if not kept:
                return None
            if len(kept) < len(domains[name]):
                domains[name] = kept
                waiting |= dict.fromkeys(about[name])
    return domains


def _split(term: Expression) -> list[Expression]:
    if term.op == "call" and term.value == "alldifferent" and len(term.parts) > 1:
        return [Expression("!=", pair) for pair in combinations(term.parts, 2)]
    return [each for part in term.parts for each in _split(part)] if term.op == "and" else [term]


class WholeRange(NamedTuple):
    from_: Annotated[int, between(-1e9, 1e9)]
    to: int


class Constraints(NamedTuple):
    variables: Annotated[Mapping[str, WholeRange | Sequence[Any]], sized(1, 300)]
    constraints: Texts = ()
    solutions: Annotated[int, between(1, 10_000)] = 2


@method
def constraint_satisfaction(given: Constraints, world: World) -> Computed:
    """The solutions, or the smallest set of constraints that cannot be met together."""
    domains = {name: _domain(values, f"variables.{name}") for name, values in given.variables.items()}
    texts = {f"constraints[{at}]": each for at, each in enumerate(given.constraints)}
    said = {each: checked(expression(each, at), at, domains, OPERATIONS) for at, each in texts.items()}
    problem, wanted = Problem(domains, said, world.effort()), given.solutions
    found = list(islice(problem.solutions(list(said)), wanted))
    if not found:
        return _contradiction(problem)
    is_all = len(found) < wanted
    count = f"{'all' if is_all else 'the first'} {len(found)} solutions"
    words = "the only solution" if is_all and len(found) == 1 else count
    return Computed(
        f"{words}: {'; or '.join(map(_shown, found[:3]))}",
        confidence=1.0,
        steps=[
            f"{len(domains)} variables have {prod(map(len, domains.values())):,} combinations of values",
            f"values that some constraint of {len(said)} excludes were struck out, and the rest searched",
        ],
        would_change=_changes(problem),
        answer={"solutions": found, "complete": is_all},
        notes=["" if is_all else f"there may be more than these {len(found)}"],
    )


def _changes(problem: Problem) -> Iterator[str]:
    """Which constraint, left out, would allow another solution."""
    for gone, term in problem.constraints.items():
        rest = [each for each in problem.constraints if each != gone]
        others = problem.solutions(rest, Expression("not", (term,)))
        yield from (f"without {gone!r} there is also {_shown(each)}" for each in islice(others, 1))


def _contradiction(problem: Problem) -> Computed:
    every = list(problem.constraints)
    core = smallest(every, lambda some: next(problem.solutions(some), None) is None)
    freed = [each for each in core if next(problem.solutions([one for one in every if one != each]), None)]
    return Computed(
        f"there is no solution: these cannot be met together: {'; '.join(core)}",
        confidence=1.0,
        steps=[
            "every combination of values breaks a constraint",
            f"each of these is needed for that: {'; '.join(core)}",
        ],
        would_change=[f"without {each!r} there is a solution" for each in freed],
        answer={"solutions": [], "complete": True, "conflict": core},
        notes=["" if freed else "no single constraint, left out, is enough: there are several conflicts"],
    )


def _domain(values: WholeRange | Sequence[Any], place: str) -> Sequence[Value]:
    """The values of a variable, numbers by their size before texts."""
    if isinstance(values, WholeRange):
        low = values.from_
        return range(low, int(number_in(f"{place}.to", values.to, low, low + 10_000)) + 1)
    if not values:
        raise InputError(f"{place} is []", hint='give a list of values, or {"from": 1, "to": 9}')
    for at, each in enumerate(values):
        if not isinstance(each, str):
            number_in(f"{place}[{at}]", each, -1e30, 1e30)
    return sorted(dict.fromkeys(values), key=lambda each: (isinstance(each, str), each))


def _shown(values: Values) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
