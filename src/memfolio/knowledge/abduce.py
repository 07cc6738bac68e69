"""Abduction: what would explain an observation, and what each explanation takes for granted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from memfolio.knowledge.attempt import filled, instance, nearest, size
from memfolio.knowledge.join import Binding
from memfolio.knowledge.relations import Atom, Relations
from memfolio.knowledge.rule import Condition, Part, Rule, variables
from memfolio.knowledge.rule_text import render_part

DEPTH = 2
"""How many hypotheses deep an assumption is explained in turn."""
HYPOTHESES = 20
GAPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A rule that would conclude what was observed.

    `score` is the share of its conditions that are met, times the rule's factor; `confidence` that of the least sure
    fact among those that meet them, 0 without any.
    """

    rule: Rule
    score: float
    confidence: float
    supports: tuple[Atom, ...]
    assumptions: tuple[Part, ...]
    binding: Binding
    """What the variables of the observation are with it."""
    explained: tuple[tuple[Part, tuple[Hypothesis, ...]], ...] = ()
    """What would explain the assumptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Conditions that would complete a proof, the rules that it would use, and the facts that it has already."""

    missing: tuple[Part, ...]
    rules: tuple[Rule, ...]
    supports: tuple[Atom, ...]
    binding: Binding

    def __str__(self) -> str:
        return " and ".join(map(render_part, self.missing))


def abduce(
    observation: Condition,
    relations: Relations,
    rules: Sequence[Rule],
    *,
    depth: int = DEPTH,
    taken: Iterable[str] = (),
    above: tuple[str, ...] = (),
) -> list[Hypothesis]:
    """The hypotheses for an observation, the best supported first; `relations` must have only what holds.

    `taken` are variables that stand for something else, `above` the predicates that are being explained.
    """
    if depth <= 0 or observation.predicate in above:  # what a predicate needs of itself explains nothing
        return []
    found: dict[tuple[str, frozenset[Part]], Hypothesis] = {}
    for rule in rules:
        body, bound = instance(rule, observation, taken) or ((), {})
        for attempt in nearest(body, relations) if body else ():
            names = {*taken, *(name for part in attempt.missing for name in variables(part.terms))}
            deeper = partial(abduce, depth=depth - 1, taken=names, above=(*above, observation.predicate))
            wanted = [part for part in attempt.missing if isinstance(part, Condition) and not part.negated]
            inner = [(part, tuple(deeper(part, relations, rules))) for part in wanted]
            one = Hypothesis(
                rule=rule,
                score=(1 - len(attempt.missing) / len(body)) * rule.factor,
                confidence=attempt.confidence,
                supports=attempt.atoms,
                assumptions=attempt.missing,
                binding={**bound, **attempt.binding},
                explained=tuple((part, explained) for part, explained in inner if explained),
            )
            key = rule.id, frozenset(attempt.missing)
            if observation not in attempt.missing and (key not in found or _rank(one) < _rank(found[key])):
                found[key] = one
    return sorted(found.values(), key=_rank)[:HYPOTHESES]


def gaps(goal: Condition, relations: Relations, rules: Sequence[Rule]) -> list[Gap]:
    """The smallest sets of conditions that would prove a goal, the smallest and best supported first."""
    found = _gaps(abduce(goal, relations, rules, depth=DEPTH + 1))
    kept: list[Gap] = []
    for gap in sorted(found, key=lambda each: (size(each.missing), -len(each.supports))):
        if not any(set(other.missing) <= set(gap.missing) for other in kept):
            kept.append(gap)
    return kept[:GAPS]


def _gaps(hypotheses: Iterable[Hypothesis]) -> Iterator[Gap]:
    """What each hypothesis lacks, and the same with one assumption replaced by what that lacks in turn."""
    for each in hypotheses:
        yield Gap(missing=each.assumptions, rules=(each.rule,), supports=each.supports, binding=each.binding)
        for part, inner in each.explained:
            for further in _gaps(inner):
                others = (filled(other, further.binding) for other in each.assumptions if other is not part)
                yield Gap(
                    missing=tuple(dict.fromkeys((*others, *further.missing))),
                    rules=(each.rule, *further.rules),
                    supports=(*each.supports, *further.supports),
                    binding={name: further.binding.get(value, value) for name, value in each.binding.items()},
                )


def _rank(hypothesis: Hypothesis) -> tuple[float, float, int, str]:
    return -hypothesis.score, -hypothesis.confidence, len(hypothesis.assumptions), hypothesis.rule.name
