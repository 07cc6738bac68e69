"""Backward chaining and abduction: whether a goal follows, how, what is missing, and what would explain it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import islice

from memfolio.errors import InferenceLimitError, RuleError
from memfolio.knowledge.engine import Derivation, derive
from memfolio.knowledge.join import (
    Atom,
    Binding,
    Call,
    MemoryRelations,
    Relations,
    binding_for,
    call_of,
    instantiate,
    nearest,
    size,
    solve,
    substitute,
    valid_at,
)
from memfolio.knowledge.rule import Condition, Part, Rule, positives, predicates_of, render_part, variables
from memfolio.knowledge.tree import DEEPEST, Lookup, ProofNode, Step, proof_tree, steps_to
from memfolio.types import frozen

# Abduction: what would explain an observation, and what each explanation takes for granted. Pure.

ABDUCTION_DEPTH = 2
"""How many hypotheses deep an assumption is explained in turn."""
HYPOTHESES = 20
GAPS = 10


@frozen
class Hypothesis:
    """A rule that would explain an observation.

    `score` is the share of its conditions that are met, times the rule's factor; `confidence` that of the least sure
    fact among those that meet them, 0 without any.
    """

    rule: Rule
    score: float
    confidence: float
    supports: tuple[Atom, ...]
    assumptions: tuple[Part, ...]
    binding: Binding
    """The values of the observation's variables under this hypothesis."""
    explained: tuple[tuple[Part, tuple[Hypothesis, ...]], ...] = ()
    """Hypotheses that would explain the assumptions in turn."""


@frozen
class Gap:
    """Missing conditions that would complete a proof, with its rules and the facts it already has."""

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
    depth: int = ABDUCTION_DEPTH,
    taken: Iterable[str] = (),
    above: tuple[str, ...] = (),
) -> list[Hypothesis]:
    """Return hypotheses for an observation, the best supported first; `relations` must hold only valid atoms.

    `taken` are variables in use elsewhere, `above` the predicates already being explained.
    """
    if depth <= 0 or observation.predicate in above:  # what a predicate needs of itself explains nothing
        return []
    found: dict[tuple[str, frozenset[Part]], Hypothesis] = {}
    for rule in rules:
        body, bound = instantiate(rule, observation, taken) or ((), {})
        for attempt in nearest(body, relations) if body else ():
            names = {*taken, *(name for part in attempt.missing for name in variables(part.terms))}
            deeper = partial(abduce, depth=depth - 1, taken=names, above=(*above, observation.predicate))
            inner = [(part, tuple(deeper(part, relations, rules))) for part in positives(attempt.missing)]
            one = Hypothesis(
                rule=rule,
                score=(1 - len(attempt.missing) / len(body)) * rule.factor,
                confidence=attempt.confidence,
                supports=attempt.atoms,
                assumptions=attempt.missing,
                binding={**bound, **attempt.binding},
                explained=tuple((part, explained) for part, explained in inner if explained),
            )
            # Of attempts that lack the same, the best supported one is told.
            key = rule.id, frozenset(attempt.missing)
            if observation not in attempt.missing and (key not in found or _rank(one) < _rank(found[key])):
                found[key] = one
    return sorted(found.values(), key=_rank)[:HYPOTHESES]


def gaps(goal: Condition, relations: Relations, rules: Sequence[Rule]) -> list[Gap]:
    """The smallest sets of conditions that would prove a goal, the smallest and best supported first."""
    # One deeper than hypotheses are shown: a gap may lie below the last of them.
    found = _gaps(abduce(goal, relations, rules, depth=ABDUCTION_DEPTH + 1))
    kept: list[Gap] = []
    for gap in sorted(found, key=lambda each: (size(each.missing), -len(each.supports))):
        if not any(set(other.missing) <= set(gap.missing) for other in kept):
            kept.append(gap)
    return kept[:GAPS]


def _gaps(hypotheses: Iterable[Hypothesis]) -> Iterator[Gap]:
    """Yield what each hypothesis lacks, and the same with one assumption replaced by what it lacks in turn."""
    for each in hypotheses:
        yield Gap(missing=each.assumptions, rules=(each.rule,), supports=each.supports, binding=each.binding)
        for part, inner in each.explained:
            for further in _gaps(inner):
                others = (substitute(other, further.binding) for other in each.assumptions if other is not part)
                yield Gap(
                    missing=tuple(dict.fromkeys((*others, *further.missing))),
                    rules=(each.rule, *further.rules),
                    supports=(*each.supports, *further.supports),
                    binding={name: further.binding.get(value, value) for name, value in each.binding.items()},
                )


def _rank(hypothesis: Hypothesis) -> tuple[float, float, int, str]:
    return -hypothesis.score, -hypothesis.confidence, len(hypothesis.assumptions), hypothesis.rule.name


# Backward chaining: whether a goal follows from facts and rules, with which values, why, and what is missing.
#
# The rules that lead to a goal are narrowed to it, as far as its values reach, and all is drawn that follows by them
# from the facts that they speak of. So nothing proves itself, and all ends. Pure.

ANSWERS = 50
"""How many answers are shown with their proofs."""
MOST = 200_000
"""How many conclusions may be drawn for one goal."""
FEW = 8
"""Up to this many goals with one predicate are proved one by one; after that, all with that predicate at once."""
_KEPT = 1 << 62
"""Keys from here on are conclusions that were kept, while others are drawn from them."""


class ProofVerdict(StrEnum):
    """The verdict on a goal."""

    PROVEN = "proven"
    GAPS = "derivable-with-gaps"
    UNPROVABLE = "unprovable"
    UNDECIDED = "not-decided"


@frozen
class GoalAnswer:
    """A binding for a goal's variables, the atom that matches, and its best proof."""

    binding: Binding
    atom: Atom
    proof: ProofNode


@frozen
class Proof:
    """The result of proving a goal; `truncated` if a search hit a limit, so that there may be more."""

    goal: Condition
    verdict: ProofVerdict
    answers: tuple[GoalAnswer, ...]
    total: int
    """The number of answers; `answers` may hold only the most certain ones."""
    gaps: tuple[Gap, ...]
    truncated: bool
    problems: tuple[str, ...]
    undecided: str | None = None
    """Why it is neither proven nor disproved: `not decided within 1,000,000 conclusions`."""


def prove(
    goal: Condition,
    prover: Prover,
    *,
    now: int | None = None,
    depth: int = DEEPEST,
    limit: int | None = ANSWERS,
    facts: Lookup | None = None,
) -> Proof:
    """Prove a goal whose subject and object may be variables; with `now`, only atoms valid at that time count.

    Proofs are shown `depth` rules deep, but may be deeper.
    """
    known = valid_at(prover, now)
    bound = ((atom, binding_for(goal, atom.subject, atom.object)) for atom in known.match(*call_of(goal)))
    held = [(atom, binding) for atom, binding in bound if binding is not None]
    held.sort(key=lambda each: (-each[0].confidence, each[0][1:]))
    undecided = None if held else prover.undecided(*call_of(goal))
    missing = [] if held else [each for each in gaps(goal, known, prover.rules) if each.missing]
    rest = ProofVerdict.UNDECIDED if undecided else ProofVerdict.GAPS if missing else ProofVerdict.UNPROVABLE
    return Proof(
        goal=goal,
        verdict=ProofVerdict.PROVEN if held else rest,
        answers=tuple(
            GoalAnswer(binding=found, atom=atom, proof=proof_tree(atom, prover.steps_to, depth, facts, ways=1))
            for atom, found in held[:limit]
        ),
        total=len(held),
        gaps=tuple(missing),
        truncated=prover.truncated,
        problems=tuple(sorted(prover.problems)),
        undecided=undecided,
    )


class Prover:
    """Facts together with their conclusions, derived on demand.

    With `kept`, `relations` already holds the conclusions of the kept rules, which are not drawn again. For other
    predicates that rules conclude, only asserted facts are read from `relations`.
    """

    def __init__(self, relations: Relations, rules: Iterable[Rule], *, most: int = MOST, kept: bool = False) -> None:
        self.rules = [rule for rule in rules if rule.enabled and rule.conclusion is not None]
        self.problems: set[str] = set()
        self._cut: dict[str, str] = {}
        """Why not every conclusion with a predicate could be drawn; then only asserted facts were found."""
        self._relations, self._most = relations, most
        self._heads: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in incomplete_rules(self.rules) if kept else self.rules:
            self._heads[head_of(rule).predicate].append(rule)
        self._answers: defaultdict[str, dict[Call, MemoryRelations]] = defaultdict(dict)
        self._drawn: list[Derivation] = []

    @property
    def truncated(self) -> bool:
        """Whether something could not be drawn."""
        return bool(self._cut)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """Return every valid atom with this predicate and, if given, this subject and object."""
        # No rule concludes it: what is asserted, or kept, is all there is.
        if predicate not in self._heads:
            return self._relations.match(predicate, subject, object)
        goal, answers = (predicate, subject, object), self._answers[predicate]
        if (asked := self._asked(goal)) is None:
            # A value that looks like a variable cannot stand in a rule.
            is_plain = not variables(filter(None, (subject, object)))
            asked = self._draw(goal if is_plain and len(answers) < FEW else (predicate, None, None))
        return answers[asked].match(predicate, subject, object)

    def undecided(self, predicate: str, subject: str | None = None, object: str | None = None) -> str | None:
        """Why `match` may be incomplete for this goal: `not decided within …`; None if it is complete."""
        self.match(predicate, subject, object)
        asked = self._asked((predicate, subject, object))
        return self._cut.get(predicate) if asked == (predicate, None, None) else None

    def _asked(self, goal: Call) -> Call | None:
        """Return the goal with known answers that also answers this one."""
        return next((each for each in _wider(goal) if each in self._answers[goal[0]]), None)

    def steps_to(self, atom: Atom) -> Sequence[Step]:
        """Return the steps that conclude an atom; none if it was asserted."""
        if found := self._derivation(atom):
            rule = next(rule for rule in self.rules if rule.id == found.proofs[atom.key].rule)
            # Absence needs no premise, and the premises alone would not show it.
            positive = [part for part in rule.conditions if not (isinstance(part, Condition) and part.negated)]
            binding = binding_for(head_of(rule), atom.subject, atom.object)
            met = islice(solve(positive, MemoryRelations(found.premises(atom)), binding), 1)
            return [(rule, each._replace(start=atom.start, end=atom.end)) for each in met]
        key = _KEPT - atom.key if atom.key >= _KEPT else atom.key
        if key > 0:
            return []
        # What is kept was drawn in the order of its keys, downwards: a step from what came before proves it.
        steps = steps_to(atom.triple, self, self.rules)
        return sorted(steps, key=lambda step: any(premise.key <= key for premise in step[1].atoms))

    def _derivation(self, atom: Atom) -> Derivation | None:
        """Return the derivation in which an atom was drawn."""
        return next((each for each in self._drawn if atom.key in each.proofs and each.atoms[atom.key] == atom), None)

    def _draw(self, goal: Call) -> Call:
        """Draw the answers to a goal and what they need; returns the goal that was answered, maybe a wider one."""
        # Like magic sets: only what can lead to the goal is drawn, from the facts that it asks for.
        rules, calls = self._narrowed(goal)
        try:
            found = derive(self._given(calls), rules, most=self._most)
        except (InferenceLimitError, RuleError) as error:
            reason = f" within {error.limit}" if isinstance(error, InferenceLimitError) else f": {error.message}"
            self._cut[goal[0]] = f"not decided{reason}"
            self.problems.add(error.message)
            goal = (goal[0], None, None)  # what failed once is not tried again
            self._answers[goal[0]][goal] = MemoryRelations(self._given([goal]))
            return goal
        self.problems.update(found.problems)
        self._drawn.append(found)
        self._answers[goal[0]][goal] = MemoryRelations(found.atoms.values())
        return goal

    def _narrowed(self, goal: Call) -> tuple[list[Rule], set[Call]]:
        """The rules that lead to a goal, with its values in them, and all that they ask for."""
        rules, calls, ahead = list[Rule](), set[Call](), [goal]
        while ahead:
            call = ahead.pop()
            # A wider question was asked already, and has this answer among its own.
            if calls.isdisjoint(_wider(call)):
                calls.add(call)
                for rule in self._heads.get(call[0], ()):
                    binding = binding_for(head_of(rule), *call[1:])
                    if binding is not None:
                        head, *body = (substitute(part, binding) for part in (head_of(rule), *rule.conditions))
                        assert isinstance(head, Condition)
                        rules.append(replace(rule, conditions=tuple(body), conclusion=head))
                        ahead += [call_of(part) for part in body if isinstance(part, Condition)]
        return rules, calls

    def _given(self, calls: Iterable[Call]) -> Iterator[Atom]:
        """Yield the asserted atoms for these lookups, each once, and the kept ones if none of them has to be drawn."""
        atoms = {atom.key: atom for call in calls for atom in self._relations.match(*call)}
        for key, atom in atoms.items():
            if key > 0:
                yield atom
            elif atom.predicate not in self._heads:
                yield atom._replace(key=_KEPT - key)


def _wider(call: Call) -> tuple[Call, ...]:
    """Return a goal, then those whose answers include its answers, the narrowest first."""
    predicate, subject, target = call
    return call, (predicate, subject, None), (predicate, None, target), (predicate, None, None)


def incomplete_rules(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that conclude something of which the index does not keep all, as a rule on the way is not kept."""
    heads = [(head_of(rule).predicate, rule) for rule in rules]
    loose = {head for head, rule in heads if not rule.kept}
    while more := {head for head, rule in heads if loose & predicates_of([rule])} - loose:
        loose |= more
    return [rule for head, rule in heads if head in loose]


def head_of(rule: Rule) -> Condition:
    assert rule.conclusion is not None
    return rule.conclusion
