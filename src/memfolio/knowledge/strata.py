"""In which order rules are applied: one that asks whether something is absent waits for all that could conclude it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from memfolio.errors import RuleError
from memfolio.knowledge.rule import Condition, Rule


def strata(rules: Iterable[Rule]) -> list[list[Rule]]:
    """The rules that conclude something, in layers; RuleError where one negates what it leads to."""
    concluding = [rule for rule in rules if rule.conclusion is not None]
    _check(concluding)
    levels: defaultdict[str, int] = defaultdict(int)
    is_settled = False
    while not is_settled:
        is_settled = True
        for head, predicate, negated in _needs(concluding):
            if levels[head] < levels[predicate] + negated:
                levels[head], is_settled = levels[predicate] + negated, False
    layers: defaultdict[int, list[Rule]] = defaultdict(list)
    for rule in concluding:
        layers[levels[_head(rule)]].append(rule)
    return [layers[level] for level in sorted(layers)]


def _check(rules: list[Rule]) -> None:
    needs: defaultdict[str, set[str]] = defaultdict(set)
    leads: defaultdict[str, set[str]] = defaultdict(set)
    for head, predicate, _ in _needs(rules):
        needs[head].add(predicate)
        leads[predicate].add(head)
    for head, predicate, negated in _needs(rules):
        if negated and (loop := _reached(predicate, needs) & _reached(head, leads)):
            raise RuleError(
                f"whether {head} holds depends on its own absence, through {', '.join(sorted(loop))}",
                hint="let no rule negate what follows from its own conclusion",
            )


def _needs(rules: list[Rule]) -> Iterator[tuple[str, str, bool]]:
    """What is concluded, and from which predicate; True where that is negated."""
    for rule in rules:
        for each in rule.conditions:
            if isinstance(each, Condition):
                yield _head(rule), each.predicate, each.negated


def _head(rule: Rule) -> str:
    assert rule.conclusion is not None
    return rule.conclusion.predicate


def _reached(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    reached, ahead = {start}, [start]
    while ahead:
        fresh = steps.get(ahead.pop(), set()) - reached
        reached |= fresh
        ahead += fresh
    return reached
