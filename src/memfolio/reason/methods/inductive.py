"""What can be generalised from cases: rules that most cases follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Annotated, Any, NamedTuple

from memfolio.errors import InputError
from memfolio.reason.inputs import Computed, Effort, Inputs, Several, Share, World, between, method, read, wilson

Z = 1.959964
"""Standard errors of a 95 % interval."""
SHOWN, MOST = 10, 10_000
Trait = tuple[str, str]
Cases = dict[str, set[Trait]]


def succession(right: int, seen: int) -> float:
    """Laplace's rule of succession: how likely the next case is right."""
    return (right + 1) / (seen + 2)


class Law(NamedTuple):
    """Cases with `when` have `then`: in `right` of `seen` of them, with the names of those that do not."""

    when: tuple[Trait, ...]
    then: Trait
    seen: int
    right: int
    against: list[str]

    @property
    def interval(self) -> tuple[float, float]:
        """Between which shares the true one lies, by 95 %."""
        return wilson(self.right, self.seen, Z)

    def __str__(self) -> str:
        low, high = self.interval
        when = " and ".join(map(" ".join, self.when))
        return f"{when} has {' '.join(self.then)} ({self.right} of {self.seen}, {low:.2f} to {high:.2f})"

    def as_values(self) -> dict[str, object]:
        counts = {"support": self.right, "seen": self.seen, "share": self.right / self.seen, "against": self.against}
        chances = {"interval": list(self.interval), "next": succession(self.right, self.seen)}
        return {"when": dict(self.when), "then": dict([self.then]), **counts, **chances}


class Generalising(NamedTuple):
    instances: Several[Inputs] | None = None
    subjects: str | None = None
    target: str | None = None
    closed: bool = False
    conditions: Annotated[int, between(1, 2)] = 1
    least: Annotated[int, between(1, 1e9)] = 2
    share: Share = 0.5


@method
def inductive(given: Generalising, world: World) -> Computed:
    """The best supported rules."""
    cases = _from_store(given.subjects, world) if given.subjects else _from_given(given.instances)
    found = _laws(cases, given.target, given.closed, given.conditions, world.effort())
    laws = [each for each in found if each.seen >= given.least and each.right >= given.share * each.seen]
    laws.sort(key=lambda each: (-each.interval[0], len(each.when), each.when, each.then))
    return Computed(
        f"what is {laws[0]}" if laws else "no rule holds in enough cases",
        confidence=succession(laws[0].right, laws[0].seen) if laws else None,
        steps=[f"{len(cases)} cases were compared", *map(str, laws[:SHOWN])],
        would_change=_changes(laws),
        answer={"rules": [each.as_values() for each in laws[:MOST]]},
        notes=[f"against it: {', '.join(each.against[:SHOWN])}" for each in laws[:1] if each.against],
    )


def _laws(cases: Cases, target: str | None, is_closed: bool, size: int, effort: Effort) -> Iterator[Law]:
    """All rules with up to `size` conditions that some case follows."""
    having, naming = defaultdict[Trait, set[str]](set), defaultdict[str, set[str]](set)
    for name, traits in cases.items():
        for trait in traits:
            having[trait].add(name)
            naming[trait[0]].add(name)
    ends = [each for each in having if target in (None, each[0])]
    if not ends:
        raise InputError(f"no case has the target {target!r:.60}", hint=f"there are {', '.join(sorted(naming))[:200]}")
    for when in (some for count in range(1, size + 1) for some in combinations(sorted(having), count)):
        held, features = set.intersection(*(having[each] for each in when)), {feature for feature, _ in when}
        effort.spend(1 + len(ends))
        for then in ends if held and target not in features else ():
            judged = held if is_closed else held & naming[then[0]]
            if then[0] not in features and (right := judged & having[then]):
                yield Law(when, then, len(judged), len(right), sorted(judged - right))


def _changes(laws: list[Law]) -> Iterator[str]:
    """How many cases against the best rule would let the next one win, or most be against it."""
    for best, rival in pairwise(laws[:2]):
        floor = rival.interval[0]
        more = next((n for n in range(MOST) if wilson(best.right, best.seen + n, Z)[0] < floor), None)
        yield from [f"{more} more against it: then {rival} would be better supported"] if more else []
    for best in laws[:1]:
        yield f"{max(1, 2 * best.right - best.seen + 1)} more against it: then most cases would be"


def _from_given(instances: Sequence[Inputs] | None) -> Cases:
    return {
        f"case {at}": {
            (name, _word(value, f"instances[{at - 1}].{name}")) for name, value in case.items() if value is not None
        }
        for at, case in enumerate(read(Sequence[Inputs], instances, "instances"), start=1)
    }


def _word(value: Any, place: str) -> str:
    if not isinstance(value, int | float):
        return str(read(str, value, place))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_store(subjects: str, world: World) -> Cases:
    cases = defaultdict[str, set[Trait]](set)
    found = world.facts.query(subjects, limit=MOST + 1)
    if not 0 < len(found) <= MOST:
        count = "no" if not found else f"more than {MOST:,}"
        raise InputError(f"there are {count} facts about such subjects", hint="use another pattern, such as Bird*")
    for fact in found:
        cases[fact.subject].add((fact.predicate, fact.object))
    return cases
