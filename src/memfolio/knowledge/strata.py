"""In which order rules are applied: one that asks whether something is absent waits for all that could conclude it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from memfolio.errors import RuleError
from memfolio.knowledge.rule import Condition, Rule

TOLD = 10
"""How many predicates of a loop are named."""
Steps = Mapping[str, Mapping[str, bool]]
"""From a predicate to others; True where one of the steps is a negation."""


def strata(rules: Iterable[Rule]) -> list[list[Rule]]:
    """The rules that conclude something, in layers; RuleError where one negates what it leads to."""
    needs: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    leads: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    heads = [(rule.conclusion.predicate, rule) for rule in rules if rule.conclusion is not None]
    for head, rule in heads:
        for each in rule.conditions:
            if isinstance(each, Condition):
                negated = needs[head].get(each.predicate, False) or each.negated
                needs[head][each.predicate] = leads[each.predicate][head] = negated
    levels: dict[str, int] = {}
    for knot in _knots(leads, needs):
        levels |= dict.fromkeys(knot, _level(knot, needs, levels))
    layers: defaultdict[int, list[Rule]] = defaultdict(list)
    for head, rule in heads:
        layers[levels.get(head, 0)].append(rule)
    return [layers[level] for level in sorted(layers)]


def _level(knot: set[str], needs: Steps, levels: Mapping[str, int]) -> int:
    level = 0
    for head in knot:
        for predicate, negated in needs.get(head, {}).items():
            if negated and predicate in knot:
                raise RuleError(
                    f"whether {head} holds depends on its own absence, through {', '.join(sorted(knot)[:TOLD])}",
                    hint="let no rule negate what follows from its own conclusion",
                )
            level = max(level, levels.get(predicate, 0) + negated)
    return level


def _knots(leads: Steps, needs: Steps) -> Iterator[set[str]]:
    """The predicates that need each other, after all that they need: Kosaraju's algorithm."""
    taken: set[str] = set()
    for root in _last_left_first(leads):
        if root not in taken:
            knot, ahead = {root}, [root]
            while ahead:
                fresh = needs.get(ahead.pop(), {}).keys() - knot - taken
                knot |= fresh
                ahead += fresh
            taken |= knot
            yield knot


def _last_left_first(steps: Steps) -> list[str]:
    """All predicates, sorted by when a walk in depth is through with them."""
    seen, left = set(), []
    ahead = [(start, False) for start in steps]
    while ahead:
        each, is_left = ahead.pop()
        if is_left:
            left.append(each)
        elif each not in seen:
            seen.add(each)
            ahead += [(each, True), *((after, False) for after in steps.get(each, {}))]
    return left[::-1]
