"""Backward chaining: whether a goal follows from facts and rules, with which values, why, and what is missing.

The rules that lead to a goal are narrowed to it, as far as its values reach, and all is drawn that follows by them from
the facts that they speak of. So nothing proves itself, and all ends. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from memfolio.errors import InferenceLimitError, RuleError
from memfolio.knowledge.abduce import Gap, gaps
from memfolio.knowledge.attempt import filled
from memfolio.knowledge.engine import Derivation, derive
from memfolio.knowledge.join import Binding, bind, fill, solve
from memfolio.knowledge.relations import Atom, Held, Relations
from memfolio.knowledge.rule import Condition, Rule, spoken_of, variables
from memfolio.knowledge.tree import DEEPEST, Lookup, Node, Step, head_binding, steps_to, tell

ANSWERS = 50
"""How many answers are shown with their proofs."""
MOST = 200_000
"""How many conclusions may be drawn for one goal."""
FEW = 8
"""So many goals with one predicate are proved each for itself, before all with that predicate are."""
_KEPT = 1 << 62
"""Keys from here on are conclusions that were kept, while others are drawn from them."""

Call = tuple[str, str | None, str | None]
"""A predicate and, where they are known, subject and object."""


class Verdict(StrEnum):
    """What came of a goal."""

    PROVEN = "proven"
    GAPS = "derivable-with-gaps"
    UNPROVABLE = "unprovable"
    UNDECIDED = "not-decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Values for a goal's variables, how sure and when that holds, and its best proof."""

    binding: Binding
    atom: Atom
    proof: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of a goal; `truncated` says that some search for it or its gaps was cut, so that more may follow."""

    goal: Condition
    verdict: Verdict
    answers: tuple[Answer, ...]
    total: int
    """How many answers there are, of which `answers` may show the surest."""
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
    """Prove a goal whose subject and object may be variables; with `now` only what holds then counts.

    Proofs are shown `depth` rules deep, and may be deeper.
    """
    known = At(prover, now)
    held = [(atom, found) for atom in known.match(*call_of(goal)) if (found := bind(goal, atom, {})) is not None]
    held.sort(key=lambda each: (-each[0].confidence, each[0][1:]))
    undecided = None if held else prover.undecided(*call_of(goal))
    missing = [] if held else [each for each in gaps(goal, known, prover.rules) if each.missing]
    rest = Verdict.UNDECIDED if undecided else Verdict.GAPS if missing else Verdict.UNPROVABLE
    return Proof(
        goal=goal,
        verdict=Verdict.PROVEN if held else rest,
        answers=tuple(
            Answer(binding=found, atom=atom, proof=tell(atom, prover.steps_to, depth, facts, ways=1))
            for atom, found in held[:limit]
        ),
        total=len(held),
        gaps=tuple(missing),
        truncated=prover.truncated,
        problems=tuple(sorted(prover.problems)),
        undecided=undecided,
    )


class At:
    """What holds at one moment; at any time where that is None."""

    def __init__(self, relations: Relations, now: int | None) -> None:
        self._relations = relations
        self._now = now

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        found = self._relations.match(predicate, subject, object)
        return found if self._now is None else [each for each in found if each.holds_at(self._now)]


class Prover:
    """Facts with all that follows from them by rules, drawn when it is asked for.

    With `kept`, `relations` has what follows by the rules that are kept, and that is not drawn again. Of other
    predicates that rules conclude only what was asserted is taken from `relations`.
    """

    def __init__(self, relations: Relations, rules: Iterable[Rule], *, most: int = MOST, kept: bool = False) -> None:
        self.rules = [rule for rule in rules if rule.enabled and rule.conclusion is not None]
        self.problems: set[str] = set()
        self._cut: dict[str, str] = {}
        """Why not all that has a predicate could be drawn, so that only what was asserted was found."""
        self._relations, self._most = relations, most
        self._heads: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in unsettled(self.rules) if kept else self.rules:
            self._heads[head_of(rule).predicate].append(rule)
        self._answers: defaultdict[str, dict[Call, Held]] = defaultdict(dict)
        self._drawn: list[Derivation] = []

    @property
    def truncated(self) -> bool:
        """Whether something could not be drawn."""
        return bool(self._cut)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """All that holds for a predicate and, where they are given, this subject and object."""
        if predicate not in self._heads:
            return self._relations.match(predicate, subject, object)
        goal, answers = (predicate, subject, object), self._answers[predicate]
        if (asked := self._asked(goal)) is None:
            # A value that looks like a variable cannot stand in a rule.
            is_plain = not variables(filter(None, (subject, object)))
            asked = self._draw(goal if is_plain and len(answers) < FEW else (predicate, None, None))
        return answers[asked].match(predicate, subject, object)

    def undecided(self, predicate: str, subject: str | None = None, object: str | None = None) -> str | None:
        """Why `match` may not have found all of this: `not decided within …`; None where it has."""
        self.match(predicate, subject, object)
        asked = self._asked((predicate, subject, object))
        return self._cut.get(predicate) if asked == (predicate, None, None) else None

    def _asked(self, goal: Call) -> Call | None:
        """The goal, of those whose answers are known, that answers this one."""
        return next((each for each in _wider(goal) if each in self._answers[goal[0]]), None)

    def steps_to(self, atom: Atom) -> Sequence[Step]:
        """How an atom that holds here follows; nothing for one that was asserted."""
        if found := self._derivation(atom):
            rule = next(rule for rule in self.rules if rule.id == found.proofs[atom.key].rule)
            positive = [part for part in rule.conditions if not (isinstance(part, Condition) and part.negated)]
            binding = head_binding(head_of(rule), atom.subject, atom.object)
            met = islice(solve(positive, Held(found.premises(atom)), binding), 1)
            return [(rule, each._replace(start=atom.start, end=atom.end)) for each in met]
        key = _KEPT - atom.key if atom.key >= _KEPT else atom.key
        if key > 0:
            return []
        # What is kept was drawn in the order of its keys, downwards: a step from what came before proves it.
        steps = steps_to(atom.triple, self, self.rules)
        return sorted(steps, key=lambda step: any(premise.key <= key for premise in step[1].atoms))

    def _derivation(self, atom: Atom) -> Derivation | None:
        """Where an atom was drawn."""
        return next((each for each in self._drawn if atom.key in each.proofs and each.atoms[atom.key] == atom), None)

    def _draw(self, goal: Call) -> Call:
        """Draw what holds for a goal, and all that it needs; returns the goal that was answered, or a wider one."""
        rules, calls = self._narrowed(goal)
        try:
            found = derive(self._given(calls), rules, most=self._most)
        except (InferenceLimitError, RuleError) as error:
            reason = f" within {error.limit}" if isinstance(error, InferenceLimitError) else f": {error.message}"
            self._cut[goal[0]] = f"not decided{reason}"
            self.problems.add(error.message)
            goal = (goal[0], None, None)  # what failed once is not tried again
            self._answers[goal[0]][goal] = Held(self._given([goal]))
            return goal
        self.problems.update(found.problems)
        self._drawn.append(found)
        self._answers[goal[0]][goal] = Held(found.atoms.values())
        return goal

    def _narrowed(self, goal: Call) -> tuple[list[Rule], set[Call]]:
        """The rules that lead to a goal, with its values in them, and all that they ask for."""
        rules, calls, ahead = list[Rule](), set[Call](), [goal]
        while ahead:
            call = ahead.pop()
            if calls.isdisjoint(_wider(call)):
                calls.add(call)
                for rule in self._heads.get(call[0], ()):
                    binding = head_binding(head_of(rule), *call[1:])
                    if binding is not None:
                        head, *body = (filled(part, binding) for part in (head_of(rule), *rule.conditions))
                        assert isinstance(head, Condition)
                        rules.append(replace(rule, conditions=tuple(body), conclusion=head))
                        ahead += [call_of(part) for part in body if isinstance(part, Condition)]
        return rules, calls

    def _given(self, calls: Iterable[Call]) -> Iterator[Atom]:
        """What the facts have of this, each once, and what is kept where all of that is."""
        atoms = {atom.key: atom for call in calls for atom in self._relations.match(*call)}
        for key, atom in atoms.items():
            if key > 0:
                yield atom
            elif atom.predicate not in self._heads:
                yield atom._replace(key=_KEPT - key)


def _wider(call: Call) -> tuple[Call, ...]:
    """A goal, and those whose answers include its own, the narrowest first."""
    predicate, subject, target = call
    return call, (predicate, subject, None), (predicate, None, target), (predicate, None, None)


def call_of(part: Condition) -> Call:
    """What a condition asks for."""
    return part.predicate, fill(part.subject, {}), fill(part.object, {})


def unsettled(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that conclude something of which the index does not keep all, as a rule on the way is not kept."""
    heads = [(head_of(rule).predicate, rule) for rule in rules]
    loose = {head for head, rule in heads if not rule.kept}
    while more := {head for head, rule in heads if loose & spoken_of([rule])} - loose:
        loose |= more
    return [rule for head, rule in heads if head in loose]


def head_of(rule: Rule) -> Condition:
    assert rule.conclusion is not None
    return rule.conclusion
