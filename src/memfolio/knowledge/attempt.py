"""How near a rule comes to a goal: its conditions for it, those that are met, and those that are missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from memfolio.knowledge.join import Binding, fill, solve
from memfolio.knowledge.relations import Atom, Relations
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, bound, is_variable, variables

ATTEMPTS = 20
"""How many ways to meet the same conditions of a rule are looked at."""
TRIED = 200
"""How many choices of conditions to meet are tried, of as many that are as large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A rule's conditions as far as they are met: the atoms that meet them, and what would have to hold besides."""

    binding: Binding
    atoms: tuple[Atom, ...]
    missing: tuple[Part, ...]

    @property
    def confidence(self) -> float:
        """That of the least sure atom, 0 without any."""
        return min((atom.confidence for atom in self.atoms), default=0.0)


def filled(part: Part, binding: Binding) -> Part:
    """A condition with the values, or other variables, that its variables have."""
    first, second = (binding.get(term, term) if is_variable(term) else term for term in part.terms)
    if isinstance(part, Comparison):
        return replace(part, left=first, right=second)
    return replace(part, subject=first, object=second)


def unify(pairs: Iterable[tuple[str, str]]) -> Binding | None:
    """What the variables must be for the terms of each pair to be the same; those on the left give way first."""
    found: dict[str, str] = {}

    def final(term: str) -> str:
        while is_variable(term) and term in found:
            term = found[term]
        return term

    for pair in pairs:
        left, right = map(final, pair)
        if left == right:
            continue
        if not is_variable(left):
            left, right = right, left
        if not is_variable(left):
            return None
        found[left] = right
    return {name: final(name) for name in found}


def instance(rule: Rule, goal: Condition, taken: Iterable[str] = ()) -> tuple[tuple[Part, ...], Binding] | None:
    """A rule's conditions for a goal, with variables that nobody else has, and what the goal's own variables become."""
    if rule.conclusion is None or rule.conclusion.predicate != goal.predicate:
        return None
    apart = _apart(rule, {*taken, *variables(goal.terms)})
    head = filled(rule.conclusion, apart)
    found = unify(zip(head.terms, goal.terms, strict=True))
    if found is None:
        return None
    body = tuple(filled(filled(part, apart), found) for part in rule.conditions)
    return body, {name: found[name] for name in variables(goal.terms) if name in found}


def _apart(rule: Rule, taken: set[str]) -> Binding:
    own = sorted({name for part in rule.conditions for name in variables(part.terms)})
    renamed: dict[str, str] = {}
    for name in own:
        fresh, number = name, 1
        while fresh in taken or fresh in renamed.values():
            number += 1
            fresh = f"{name}{number}"
        renamed[name] = fresh
    return renamed


def nearest(body: Sequence[Part], relations: Relations) -> list[Attempt]:
    """The attempts at a body with the fewest missing conditions; with none missing where it is met."""
    # What nothing meets by itself is missing in every attempt.
    hopeful = [part for part in body if isinstance(part, Condition) and not part.negated and _found(part, relations)]
    for number in range(len(hopeful), -1, -1):
        chosen = islice(combinations(hopeful, number), TRIED)
        found = [each for kept in chosen for each in islice(_attempts(body, kept, relations), ATTEMPTS)]
        if found:
            fewest = min(size(each.missing) for each in found)
            near = sorted((each for each in found if size(each.missing) == fewest), key=lambda each: each.confidence)
            return list({frozenset(each.missing): each for each in near}.values())
    return []


def _found(part: Condition, relations: Relations) -> bool:
    return bool(relations.match(part.predicate, fill(part.subject, {}), fill(part.object, {})))


def is_test(part: Part) -> bool:
    """Whether a part binds no variable, but only tests what others bind."""
    return isinstance(part, Comparison) or part.negated


def _attempts(body: Sequence[Part], kept: Sequence[Part], relations: Relations) -> Iterator[Attempt]:
    """The ways to meet some conditions of a body, with all comparisons that can be made then."""
    known = bound(kept)
    compared = [part for part in body if isinstance(part, Comparison) and variables(part.terms) <= known]
    for found in solve((*kept, *compared), relations):
        left = [filled(part, found.binding) for part in body if part not in kept and part not in compared]
        missing = [
            part for part in left if not (isinstance(part, Condition) and part.negated and not _found(part, relations))
        ]
        yield Attempt(binding=found.binding, atoms=found.atoms, missing=tuple(dict.fromkeys(missing)))


def size(missing: Sequence[Part]) -> int:
    """How many conditions are missing; what is compared comes with them."""
    return sum(isinstance(part, Condition) for part in missing)
