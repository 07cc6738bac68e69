"""What can be generalised from cases: rules that most cases follow, and what always goes along with an effect.

instances: cases, each an object of features, such as {"outlook": "sunny", "play": "no"}
target: the feature that rules are to predict; without it, any
subjects: instead of instances, a pattern of subjects of the store whose facts are the features; * for all
closed: true if a feature that a case does not name is taken for absent, otherwise it is unknown
conditions: up to how many conditions a rule may have: 1 or 2; 1 without it
least: how many cases a rule must rest on; 2 without it
share: the share of cases in which it must be right; 0.5 without it
cases: for Mill's methods, cases of {"circumstances": [...], "effect": true or false}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise
from math import sqrt
from typing import NamedTuple

from memfolio.errors import InputError
from memfolio.reason.effort import Effort
from memfolio.reason.formal.telling import told
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

Z = 1.959964
"""Standard errors of a 95 % interval."""
SHOWN, MOST = 10, 10_000
Trait = tuple[str, str]
Cases = dict[str, set[Trait]]


def wilson(right: int, seen: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share (1927)."""
    share, more = right / seen, Z * Z / seen
    half = Z * sqrt((share * (1 - share) + more / 4) / seen)
    return max(0.0, (share + more / 2 - half) / (1 + more)), min(1.0, (share + more / 2 + half) / (1 + more))


def succession(right: int, seen: int) -> float:
    """Laplace's rule of succession: how likely the next case is right."""
    return (right + 1) / (seen + 2)


class _Law(NamedTuple):
    """Cases with `when` have `then`: in `right` of `seen` of them, with the names of those that do not."""

    when: tuple[Trait, ...]
    then: Trait
    seen: int
    right: int
    against: list[str]

    def __str__(self) -> str:
        low, high = wilson(self.right, self.seen)
        when = " and ".join(map(" ".join, self.when))
        return f"{when} has {' '.join(self.then)} ({self.right} of {self.seen}, {low:.2f} to {high:.2f})"

    def as_values(self) -> dict[str, object]:
        counts = {"support": self.right, "seen": self.seen, "share": self.right / self.seen, "against": self.against}
        chances = {"interval": list(wilson(self.right, self.seen)), "next": succession(self.right, self.seen)}
        return {"when": dict(self.when), "then": dict([self.then]), **counts, **chances}


def reason(given: Given, world: World) -> Result:
    """The best supported rules, or what the effect depends on."""
    if "cases" in given:
        given.only("cases")
        return _mill(given)
    given.only("instances", "target", "subjects", "closed", "conditions", "least", "share")
    cases = _from_store(given, world) if "subjects" in given else _from_given(given)
    target, is_closed = given.text("target") if "target" in given else None, given.flag("closed")
    least, share = given.whole("least", 2, low=1), given.share("share", 0.5)
    size = given.whole("conditions", 1, low=1, high=2)
    found = _laws(cases, target, is_closed, size, Effort(world.settings.work))
    laws = [each for each in found if each.seen >= least and each.right >= share * each.seen]
    laws.sort(key=lambda each: (-wilson(each.right, each.seen)[0], len(each.when), each.when, each.then))
    notes = ["this holds for the cases at hand; that others are like them is assumed"]
    notes += [f"against it: {', '.join(each.against[:SHOWN])}" for each in laws[:1] if each.against]
    words = f"what is {laws[0]}" if laws else "no rule holds in enough cases"
    steps = [f"{len(cases)} cases were compared", *map(str, laws[:SHOWN])]
    answer = {"rules": [each.as_values() for each in laws[:MOST]]}
    sure = succession(laws[0].right, laws[0].seen) if laws else None
    return told(given, "inductive", words, steps, _changes(laws), answer, notes, sure)


def _laws(cases: Cases, target: str | None, is_closed: bool, size: int, effort: Effort) -> Iterator[_Law]:
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
                yield _Law(when, then, len(judged), len(right), sorted(judged - right))


def _changes(laws: list[_Law]) -> Iterator[str]:
    """How many cases against the best rule would let the next one win, or most be against it."""
    for best, rival in pairwise(laws[:2]):
        floor = wilson(rival.right, rival.seen)[0]
        more = next((n for n in range(MOST) if wilson(best.right, best.seen + n)[0] < floor), None)
        yield from [f"{more} more against it: then {rival} would be better supported"] if more else []
    for best in laws[:1]:
        yield f"{max(1, 2 * best.right - best.seen + 1)} more against it: then most cases would be"


def _from_given(given: Given) -> Cases:
    parts = enumerate(given.parts("instances", least=1), start=1)
    return {
        f"case {at}": {
            (name, _word(part.value(name), f"instances[{at - 1}].{name}")) for name in part.names() if name in part
        }
        for at, part in parts
    }


def _word(value: object, place: str) -> str:
    if not isinstance(value, str | int | float):
        raise InputError(f"{place} is {value!r:.60}", hint="give a text, a number, true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_store(given: Given, world: World) -> Cases:
    cases = defaultdict[str, set[Trait]](set)
    for fact in world.facts.query(given.text("subjects"), limit=MOST):
        cases[fact.subject].add((fact.predicate, fact.object))
    if not cases:
        raise InputError("there are no facts about such subjects", hint="use a pattern such as * or Bird*")
    return cases


def _mill(given: Given) -> Result:
    """Mill's methods of agreement and of difference (1843, book III, chapter viii)."""
    cases = [(set(part.texts("circumstances")), part.flag("effect")) for part in given.parts("cases", least=2)]
    present, missing = ([some for some, effect in cases if effect is wanted] for wanted in (True, False))
    if not present:
        raise InputError("no case has the effect", hint="give a case with effect true")
    agreeing, without = sorted(set.intersection(*present)), set[str]().union(*missing)
    pairs = [one - other for one in present for other in missing if other < one]
    differing = sorted({each for some in pairs if len(some) == 1 for each in some})
    joint = [each for each in agreeing if missing and each not in without]
    found = differing or joint or agreeing
    by = "difference" if differing else "agreement and difference" if joint else "agreement"
    words = f"by the method of {by}: {', '.join(found)}" if found else "no circumstance goes along with the effect"
    steps = [f"in all {len(present)} cases with the effect: {', '.join(agreeing) or 'nothing'}"]
    steps += [f"alone makes the difference between two cases: {', '.join(differing) or 'nothing'}"]
    steps += [f"of these never there without the effect: {', '.join(joint) or 'nothing'}"]
    change = [f"a case with {each} and without the effect, or the effect without it" for each in found]
    answer = {"agreement": agreeing, "difference": differing, "joint": joint, "found": found}
    return told(
        given, "inductive", words, steps, change, answer, ["circumstances that no case names cannot be found"], None
    )
