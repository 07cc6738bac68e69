"""Values for variables that meet all constraints, or the constraints that cannot be met together.

variables: for each name its values, as a list of numbers and texts, or as {"from": 1, "to": 9}
constraints: expressions such as: x + y < 10, alldifferent(x, y, z), a = "red" implies b != "red"; also abs, min, max
minimise: an expression that should be as small as possible
maximise: an expression that should be as large as possible
solutions: how many to find at most; 2 without it, which shows whether there is only one
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from math import prod
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.effort import Effort
from memfolio.reason.formal.expression import Term, expression
from memfolio.reason.formal.telling import as_far_as_possible, smallest, told
from memfolio.reason.given import Given, number_in
from memfolio.reason.result import Result
from memfolio.reason.world import World

Value = int | float | str
Values = Mapping[str, Value]
Domains = Mapping[str, Sequence[Value]]
FEW, MOST = 64, 300
"""Up to so many combinations of the other values are tried to see whether a value can stay; how many variables."""
HIGHEST = 20
"""The largest power that is raised to, of numbers up to a million."""
_CALLS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "alldifferent": lambda *values: len(set(values)) == len(values),
}
_NAMES = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "+": "add", "-": "sub", "*": "mul"}
_NAMES |= {"/": "truediv", "//": "floordiv", "%": "mod", "neg": "neg", "not": "not_"}
_OPERATORS: Mapping[str, Callable[..., Any]] = {sign: getattr(operator, name) for sign, name in _NAMES.items()} | {
    "and": lambda left, right: left and right,
    "or": lambda left, right: left or right,
    "implies": lambda left, right: not left or right,
    "iff": lambda left, right: bool(left) == bool(right),
    "**": lambda base, power: _power(base, power),
}


def _power(base: Any, power: Any) -> Any:
    if abs(base) > 10**6 or abs(power) > HIGHEST:
        raise OverflowError
    return base**power


def value_of(term: Term, values: Values) -> Any:
    """What an expression comes to; InputError where its values do not go together."""
    if term.op in ("name", "value"):
        return values[str(term.value)] if term.op == "name" else term.value
    parts = [value_of(each, values) for each in term.parts]
    try:
        return (_CALLS[str(term.value)] if term.op == "call" else _OPERATORS[term.op])(*parts)
    except ZeroDivisionError:
        return float("nan")  # which meets no comparison
    except (TypeError, OverflowError) as error:
        hint = f"compare like with like; powers go up to {HIGHEST}"
        raise InputError(f"{term} cannot be worked out for {parts!s:.80}", hint=hint) from error


def bounds(term: Term, domains: Domains) -> tuple[Any, Any] | None:
    """Between which numbers an expression lies, for truths 0 and 1; None where that is not easily said."""
    if term.op in ("name", "value"):
        values: Any = domains[str(term.value)] if term.op == "name" else (term.value,)
        return None if any(isinstance(each, str) for each in values) else (min(values), max(values))
    inside = [found for each in term.parts if (found := bounds(each, domains))]
    if len(inside) < len(term.parts):
        return None
    if term.op in ("+", "*", "-", "neg"):
        ends = [_OPERATORS[term.op](*each) for each in product(*inside)]
        return min(ends), max(ends)
    if term.op not in ("=", "<", "<=", ">", ">="):
        return None
    (low, high), (least, most) = inside
    return 0, low <= most and least <= high if term.op == "=" else any(
        _OPERATORS[term.op](*each) for each in ((low, most), (high, least))
    )


class _Check:
    """A constraint with the variables in it and what it costs to look at it once."""

    def __init__(self, term: Term) -> None:
        self.term, self.names = term, sorted(term.names())
        self.cost = 1 + sum(1 for _ in term.within()) // 10


class Problem:
    """Variables with what may be their values, and constraints by their text."""

    def __init__(self, domains: Domains, constraints: Mapping[str, Term], effort: Effort) -> None:
        self.domains, self.constraints, self.effort = domains, constraints, effort

    def solutions(self, labels: Sequence[str], *more: Term) -> Iterator[dict[str, Value]]:
        """All assignments that meet the constraints with these texts, and more."""
        terms = (part for term in (*(self.constraints[each] for each in labels), *more) for part in _split(term))
        checks = [_Check(term) for term in terms]
        about: dict[str, list[_Check]] = {name: [] for name in self.domains}
        for check in checks:
            for name in check.names:
                about[name].append(check)
        start = self._narrowed(dict(self.domains), checks, about)
        return self._search(start, about) if start else iter(())

    def _search(self, domains: Domains, about: Mapping[str, list[_Check]]) -> Iterator[dict[str, Value]]:
        """Backtracking, first on the variable with the fewest values left."""
        open_names = [each for each in domains if len(domains[each]) > 1]
        if not open_names:
            yield {each: values[0] for each, values in domains.items()}
            return
        name = min(open_names, key=lambda one: len(domains[one]))
        for value in domains[name]:
            if narrowed := self._narrowed({**domains, name: (value,)}, about[name], about):
                yield from self._search(narrowed, about)

    def _narrowed(
        self, domains: dict[str, Sequence[Value]], ahead: list[_Check], about: Mapping[str, list[_Check]]
    ) -> Domains | None:
        """AC-3: strike out values without support until nothing changes; None where a variable has none left."""
        waiting = dict.fromkeys(ahead)
        while waiting:
            check, _ = waiting.popitem()
            if not check.names and not value_of(check.term, {}):
                return None
            for name in check.names:
                near = {each: domains[each] for each in check.names}
                kept = [each for each in domains[name] if self._is_supported(check, {**near, name: (each,)})]
                if not kept:
                    return None
                if len(kept) < len(domains[name]):
                    domains[name] = kept
                    waiting |= dict.fromkeys(about[name])
        return domains

    def _is_supported(self, check: _Check, domains: Domains) -> bool:
        self.effort.spend(check.cost)
        if prod(map(len, domains.values())) > FEW:
            return (bounds(check.term, domains) or (0, 1))[1] > 0
        for values in product(*domains.values()):
            self.effort.spend(check.cost)
            if value_of(check.term, dict(zip(domains, values, strict=True))):
                return True
        return False

    def best(self, labels: Sequence[str], goal: Term, better: str) -> list[dict[str, Value]]:
        """Branch and bound: each solution must be better than the one before."""
        best, more = list[dict[str, Value]](), list[Term]()
        while found := next(self.solutions(labels, *more), None):
            best, more = [found], [Term(better, (goal, Term("value", (), value_of(goal, found))))]
        return best


def _split(term: Term) -> list[Term]:
    if term.op == "call" and term.value == "alldifferent" and len(term.parts) > 1:
        return [Term("!=", pair) for pair in combinations(term.parts, 2)]
    return [each for part in term.parts for each in _split(part)] if term.op == "and" else [term]


def reason(given: Given, world: World) -> Result:
    """The solutions, the best one, or the smallest set of constraints that cannot be met together."""
    given.only("variables", "constraints", "minimise", "maximise", "solutions")
    part = given.part("variables")
    domains = {name: _domain(part, name) for name in part.names()}
    if len(domains) > MOST:
        raise InputError(f"there are {len(domains):,} variables", hint=f"give up to {MOST}")
    said = {each: _read(each, f"constraints[{at}]", domains) for at, each in enumerate(given.texts("constraints", []))}
    problem, wanted = (
        Problem(domains, said, Effort(world.settings.work)),
        given.whole("solutions", 2, low=1, high=10_000),
    )
    aim = next((name for name in ("minimise", "maximise") if name in given), "")
    goal, better = _read(given.text(aim), aim, domains) if aim else None, "<" if aim == "minimise" else ">"
    found = problem.best(list(said), goal, better) if goal else list(islice(problem.solutions(list(said)), wanted))
    if not found:
        return _contradiction(problem, given)
    is_all = not goal and len(found) < wanted
    count = "the best solution" if goal else f"{'all' if is_all else 'the first'} {len(found)} solutions"
    words = "the only solution" if is_all and len(found) == 1 else count
    steps = [f"{len(domains)} variables have {prod(map(len, domains.values())):,} combinations of values"]
    steps += [f"values that some constraint of {len(said)} excludes were struck out, and the rest searched"]
    answer = {"solutions": found, "complete": is_all} | ({aim: value_of(goal, found[0])} if goal else {})
    change = as_far_as_possible(_changes(problem, found[0], goal, better))
    notes = [] if is_all or goal else [f"there may be more than these {len(found)}"]
    shown = "; or ".join(map(_shown, found[:3]))
    return told(given, "constraint-satisfaction", f"{words}: {shown}", steps, change, answer, notes)


def _changes(problem: Problem, found: Values, goal: Term | None, better: str) -> Iterator[str]:
    """Which constraint, left out, would allow another solution, or a better one."""
    for gone, term in problem.constraints.items():
        rest = [each for each in problem.constraints if each != gone]
        if goal and (reached := value_of(goal, problem.best(rest, goal, better)[0])) != value_of(goal, found):
            yield f"without {gone!r} it would be {reached}"
        others = problem.solutions(rest, Term("not", (term,))) if not goal else iter(())
        yield from (f"without {gone!r} there is also {_shown(each)}" for each in islice(others, 1))


def _contradiction(problem: Problem, given: Given) -> Result:
    every = list(problem.constraints)
    core = smallest(every, lambda some: next(problem.solutions(some), None) is None)
    freed = [each for each in core if next(problem.solutions([one for one in every if one != each]), None)]
    steps = ["every combination of values breaks a constraint", f"each of these is needed for that: {'; '.join(core)}"]
    notes = [] if freed else ["no single constraint, left out, is enough: there are several conflicts"]
    answer, change = (
        {"solutions": [], "complete": True, "conflict": core},
        [f"without {each!r} there is a solution" for each in freed],
    )
    words = f"there is no solution: these cannot be met together: {'; '.join(core)}"
    return told(given, "constraint-satisfaction", words, steps, change, answer, notes)


def _domain(part: Given, name: str) -> Sequence[Value]:
    found = part.value(name, wanted="a list of values")
    if isinstance(found, Mapping):
        span = part.part(name)
        span.only("from", "to")
        low = span.whole("from", low=-(10**9))
        return range(low, span.whole("to", low=low, high=low + 10_000) + 1)
    if not isinstance(found, list | tuple) or not found:
        raise InputError(f"variables.{name} is {found!r:.60}", hint='give a list of values, or {"from": 1, "to": 9}')
    for at, each in enumerate(found):
        if not isinstance(each, str):
            number_in(f"variables.{name}[{at}]", each, -1e30, 1e30)
    return list(dict.fromkeys(found))


def _read(text: str, place: str, domains: Domains) -> Term:
    term = expression(text, place)
    if strange := sorted(term.names() - domains.keys()):
        raise InputError(f"{place} speaks of {strange[0]}, which is no variable", hint="put texts in quotes")
    if call := next((each for each in term.within() if each.op == "call" and each.value not in _CALLS), None):
        raise InputError(f"{place} calls {call.value!r:.40}", hint=f"there are {', '.join(_CALLS)}")
    return term


def _shown(values: Values) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
