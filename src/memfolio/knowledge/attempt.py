"""How near a rule comes to a goal: its conditions for it, those that are met, and those that are missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from memfolio.errors import ComparisonError
from memfolio.knowledge.join import Binding, bind, fill, plan
from memfolio.knowledge.literal import Operator, compare
from memfolio.knowledge.relations import Atom, Relations
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, is_variable, variables

ATTEMPTS = 20
"""How many of the nearest attempts are looked at for each rule."""


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
    ordered = sorted(plan(tuple(body), frozenset()), key=is_test)
    # What nothing meets by itself is missing in every attempt: known at once, it need not be found for each of them.
    hopeless = tuple(part for part in ordered if isinstance(part, Condition) and not _can_be_met(part, relations))
    left = [part for part in ordered if part not in hopeless]
    start = Attempt(binding={}, atoms=(), missing=hopeless)
    for most in range(len(hopeless), size(ordered) + 1):
        found = list(islice(_attempts(left, relations, start, most), ATTEMPTS))
        if found:
            surest = sorted(found, key=lambda each: each.confidence)
            return list({frozenset(each.missing): each for each in surest}.values())
    return []


def _can_be_met(part: Condition, relations: Relations) -> bool:
    return part.negated or bool(relations.match(part.predicate, fill(part.subject, {}), fill(part.object, {})))


def is_test(part: Part) -> bool:
    """Whether a part binds no variable, but only tests what others bind."""
    return isinstance(part, Comparison) or part.negated


def _attempts(parts: Sequence[Part], relations: Relations, so_far: Attempt, most: int) -> Iterator[Attempt]:
    if not parts:
        if (whole := _settled(so_far)) is not None:
            yield whole
        return
    part, rest = parts[0], parts[1:]
    for found in _steps(part, relations, so_far):
        if size(found.missing) <= most:
            yield from _attempts(rest, relations, found, most)


def _steps(part: Part, relations: Relations, so_far: Attempt) -> Iterator[Attempt]:
    """The part met by each atom that meets it, and not met."""
    without = replace(so_far, missing=(*so_far.missing, part))
    if isinstance(part, Comparison):
        yield without
        return
    binding = so_far.binding
    matching = relations.match(part.predicate, fill(part.subject, binding), fill(part.object, binding))
    met = [(atom, found) for atom in matching if (found := bind(part, atom, binding)) is not None]
    if part.negated:
        yield without if met else so_far
        return
    for atom, found in met:
        yield replace(so_far, binding=found, atoms=(*so_far.atoms, atom))
    if not met or met[0][1] != binding:  # what is met as it stands is never missing
        yield without


def _settled(attempt: Attempt) -> Attempt | None:
    """An attempt with its values filled in and its comparisons made; None where one of them does not hold."""
    left: list[Part] = []
    for part in (filled(each, attempt.binding) for each in attempt.missing):
        if isinstance(part, Condition) or variables(part.terms):
            left.append(part)
        elif not _holds(part):
            return None
    return replace(attempt, missing=tuple(dict.fromkeys(left)))


def _holds(part: Comparison) -> bool:
    try:
        return compare(part.left, Operator(part.operator), part.right)
    except ComparisonError:
        return False


def size(missing: Sequence[Part]) -> int:
    """How many conditions are missing; what is compared comes with them."""
    return sum(isinstance(part, Condition) for part in missing)
