"""Backward chaining: whether a goal follows from facts and rules, with which values, why, and what is missing.

Each goal has one table of answers, and a rule that waits for a goal is taken up again with every answer to it: so no
goal proves itself, and all end. Where that is much work, and for what is negated, all is drawn by forward
chaining. Pure.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from memfolio.errors import InferenceLimitError
from memfolio.knowledge.abduce import Gap, gaps
from memfolio.knowledge.attempt import is_test
from memfolio.knowledge.engine import derive
from memfolio.knowledge.join import ALWAYS, Binding, Solution, bind, fill, plan, solve
from memfolio.knowledge.relations import Atom, Held, Relations, Triple
from memfolio.knowledge.rule import Condition, Part, Rule
from memfolio.knowledge.tree import Lookup, Node, Step, head_binding, no_fact, steps_to, tell

EASY = 50_000
"""How many atoms are looked at goal by goal, before all is drawn that a goal depends on."""
MOST = 200_000
"""How many conclusions may be drawn for that."""
ANSWERS = 50
"""How many answers are shown with their proofs."""
_FAR = 1 << 30
_LAST_KEY = -(1 << 62)
"""Keys from here down are conclusions of a prover."""

Call = tuple[str, str | None, str | None]


class Verdict(StrEnum):
    """What came of a goal."""

    PROVEN = "proven"
    GAPS = "derivable-with-gaps"
    UNPROVABLE = "unprovable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Values for a goal's variables, how sure and when that holds, and its best proof."""

    binding: Binding
    atom: Atom
    proof: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of a goal; `truncated` says that the search was cut, so that more may follow."""

    goal: Condition
    verdict: Verdict
    answers: tuple[Answer, ...]
    total: int
    """How many answers there are, of which `answers` may show the surest."""
    gaps: tuple[Gap, ...]
    """None where the search for the smallest was cut."""
    truncated: bool
    problems: tuple[str, ...]


def prove(
    goal: Condition, prover: Prover, *, now: int | None = None, limit: int | None = ANSWERS, facts: Lookup = no_fact
) -> Proof:
    """Prove a goal whose subject and object may be variables; with `now` only what holds then counts."""
    atoms = At(prover, now).match(goal.predicate, fill(goal.subject, {}), fill(goal.object, {}))
    held = [(atom, found) for atom in atoms if (found := bind(goal, atom, {})) is not None]
    held.sort(key=lambda each: (-each[0].confidence, each[0][1:]))
    answers = [
        Answer(binding=found, atom=atom, proof=tell(atom, prover.steps_to, prover.depth, facts, ways=1))
        for atom, found in held[:limit]
    ]
    # What is missing may be found soon where a proof is not.
    other = prover.afresh() if prover.is_spent else prover
    missing = [] if held else gaps(goal, At(other, now), prover.rules, prover.depth)
    return Proof(
        goal=goal,
        verdict=Verdict.PROVEN if held else Verdict.GAPS if missing else Verdict.UNPROVABLE,
        answers=tuple(answers),
        total=len(held),
        gaps=() if other.is_spent else tuple(missing),
        truncated=prover.truncated,
        problems=tuple(sorted(prover.problems)),
    )


class At:
    """What holds at one moment; at any time where that is None."""

    def __init__(self, relations: Relations, now: int | None) -> None:
        self._relations = relations
        self._now = now

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        found = self._relations.match(predicate, subject, object)
        return found if self._now is None else [each for each in found if each.holds_at(self._now)]


class _Waiting(NamedTuple):
    """A rule that is tried for a goal: how its first conditions are met, and those that are left."""

    goal: Call
    rule: Rule
    left: tuple[Part, ...]
    met: Solution


@dataclass(slots=True, eq=False)
class _Table:
    """The answers to one goal so far: for each triple the ways to hold of which none is as good as another."""

    level: int = _FAR
    """How many goals stand between it and one that was asked for."""
    held: dict[Triple, list[Atom]] = field(default_factory=dict)
    asks: set[Call] = field(default_factory=set)
    users: list[_Waiting] = field(default_factory=list)

    def atoms(self) -> list[Atom]:
        return [atom for held in self.held.values() for atom in held]

    def add(self, atom: Atom) -> bool:
        """Whether it says more than what is held."""
        held = self.held.setdefault(atom.triple, [])
        if any(each[4] >= atom[4] and each[5] <= atom[5] and each[6] >= atom[6] for each in held):
            return False
        held[:] = [each for each in held if each[4] > atom[4] or each[5] < atom[5] or each[6] > atom[6]] + [atom]
        return True


class Prover:
    """Facts with all that follows from them by rules, proved when it is asked for.

    With `kept`, `relations` has what follows by the rules that are kept, and that is not proved again. Of other
    predicates that rules conclude only what was asserted is taken from `relations`.
    """

    def __init__(
        self,
        relations: Relations,
        rules: Iterable[Rule],
        *,
        depth: int = 10,
        most: int = MOST,
        kept: bool = False,
    ) -> None:
        self.rules = [rule for rule in rules if rule.enabled and rule.conclusion is not None]
        self.problems: set[str] = set()
        self.depth = depth
        self.is_spent = False
        """Whether more work would have been needed than a proof may cost."""
        self._relations, self._most, self._easy, self._kept = relations, most, min(most, EASY), kept
        self._heads: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in unsettled(self.rules) if kept else self.rules:
            self._heads[head_of(rule).predicate].append(rule)
        self._tables: dict[Call, _Table] = {}
        self._untried: deque[Call] = deque()
        self._news: deque[tuple[_Waiting, Atom]] = deque()
        self._steps: dict[int, Step] = {}
        self._drawn: dict[str, Held | None] = {}

    def afresh(self) -> Prover:
        """One that has done no work yet."""
        return Prover(self._relations, self.rules, depth=self.depth, most=self._most, kept=self._kept)

    @property
    def truncated(self) -> bool:
        """Whether goals were not followed, for their depth or for the work they would have cost."""
        return self.is_spent or any(table.level >= self.depth for table in self._tables.values())

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """All that holds for a predicate and, where they are given, this subject and object."""
        if predicate in self._heads and self._easy >= 0 and (subject, object) != (None, None):
            try:
                return self._proved((predicate, subject, object))
            except _HardError:
                self._tables.clear()
        known = self._all(predicate)
        return self._given(predicate, subject, object) if known is None else known.match(predicate, subject, object)

    def steps_to(self, atom: Atom) -> Sequence[Step]:
        """How an atom that holds here was proved, or follows; nothing for one that was asserted."""
        if atom.key in self._steps:
            return [self._steps[atom.key]]
        return steps_to(atom.triple, self, self.rules) if atom.key < 0 else []

    def _given(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """What was asserted."""
        return [atom for atom in self._relations.match(predicate, subject, object) if atom.key > 0]

    def _all(self, predicate: str) -> Relations | None:
        """Where all is that holds for a predicate; None where that is too much."""
        if predicate not in self._heads:
            return self._relations
        if predicate not in self._drawn:
            try:
                self._drawn[predicate] = self._draw(predicate)
            except InferenceLimitError:
                self._drawn[predicate], self.is_spent = None, True
        return self._drawn[predicate]

    def _draw(self, predicate: str) -> Held:
        """Draw all that follows by the rules that lead to a predicate."""
        needed, rules = {predicate}, list[Rule]()
        while fresh := [each for each in self.rules if head_of(each).predicate in needed and each not in rules]:
            rules += fresh
            needed |= predicates(fresh)
        found = derive((atom for each in sorted(needed) for atom in self._given(each)), rules, most=self._most)
        self.problems.update(found.problems)
        return Held(found.atoms.values())

    def _proved(self, goal: Call) -> Sequence[Atom]:
        """What holds for a goal, goal by goal."""
        table = self._reach(goal, 0)
        while self._untried or self._news:
            if self._news:
                self._take_up(*self._news.popleft())
            else:
                self._try(self._untried.popleft())
        return table.atoms()

    def _reach(self, goal: Call, level: int) -> _Table:
        """The table of a goal, which is tried, with all that it asks for, as if it were so many goals away."""
        if goal not in self._tables:
            self._tables[goal] = _Table()
            for atom in self._given(*goal):
                self._tables[goal].add(atom)
        nearer = [(goal, level)]
        while nearer:
            each, level = nearer.pop()
            table = self._tables[each]
            if level < table.level:
                if level < self.depth <= table.level:
                    self._untried.append(each)
                table.level = level
                nearer += [(asked, level + 1) for asked in table.asks]
        return self._tables[goal]

    def _try(self, goal: Call) -> None:
        for rule in self._heads[goal[0]]:
            binding = head_binding(head_of(rule), *goal[1:])
            if binding is not None:
                ordered = sorted(plan(rule.conditions, frozenset(binding)), key=_is_negated)
                self._go_on(_Waiting(goal, rule, tuple(ordered), Solution(binding, (), 1.0, *ALWAYS)))

    def _go_on(self, work: _Waiting) -> None:
        """Meet the next condition of a rule, or draw its conclusion."""
        if not work.left:
            self._conclude(work)
            return
        part, met = work.left[0], work.met
        if is_test(part):
            known = self._all(part.predicate) if isinstance(part, Condition) else self._relations
            span = met.start, met.end
            for each in solve((part,), known, met.binding, span=span, problems=self.problems) if known else ():
                later = met._replace(start=each.start, end=each.end)
                self._go_on(work._replace(left=work.left[1:], met=later))
        elif isinstance(part, Condition):
            call = part.predicate, fill(part.subject, met.binding), fill(part.object, met.binding)
            self._news.extend((work, atom) for atom in self._look(call, work))

    def _look(self, call: Call, work: _Waiting) -> Sequence[Atom]:
        """What is known of a goal so far; what is found later is brought to those that wait for it."""
        if call[0] not in self._heads or call[1:] == (None, None):
            found = (self._all(call[0]) or Held()).match(*call)
        else:
            asking = self._tables[work.goal]
            asking.asks.add(call)
            table = self._reach(call, asking.level + 1)
            table.users.append(work)
            found = table.atoms()
        self._spend(len(found) + 1)
        return found

    def _take_up(self, work: _Waiting, atom: Atom) -> None:
        goal, rule, left, (binding, atoms, sure, start, end) = work
        start, end = max(start, atom[5]), min(end, atom[6])
        found = bind(left[0], atom, binding) if start < end and isinstance(left[0], Condition) else None
        if found is not None:
            met = Solution(found, (*atoms, atom), min(sure, atom[4]), start, end)
            self._go_on(_Waiting(goal, rule, left[1:], met))

    def _conclude(self, work: _Waiting) -> None:
        table, conclusion, (binding, _, sure, start, end) = self._tables[work.goal], head_of(work.rule), work.met
        subject, target = (binding.get(term, term) for term in conclusion.terms)
        key, sure = _LAST_KEY - len(self._steps), sure * work.rule.factor
        atom = Atom(key, subject, conclusion.predicate, target, sure, start, end)
        if table.add(atom):
            self._steps[key] = work.rule, work.met
            self._spend(len(table.users))
            self._news.extend((user, atom) for user in table.users)

    def _spend(self, steps: int) -> None:
        self._easy -= steps
        if self._easy < 0:
            raise _HardError


def unsettled(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that conclude something of which the index does not keep all, as a rule on the way is not kept."""
    heads = [(head_of(rule).predicate, rule) for rule in rules]
    loose = {head for head, rule in heads if not rule.kept}
    while more := {head for head, rule in heads if loose & predicates([rule])} - loose:
        loose |= more
    return [rule for head, rule in heads if head in loose]


def head_of(rule: Rule) -> Condition:
    assert rule.conclusion is not None
    return rule.conclusion


def predicates(rules: Iterable[Rule]) -> set[str]:
    """All that rules speak of."""
    parts = (part for rule in rules for part in (rule.conclusion, *rule.conditions))
    return {part.predicate for part in parts if isinstance(part, Condition)}


def _is_negated(part: Part) -> bool:
    return isinstance(part, Condition) and part.negated


class _HardError(Exception):
    """A goal needs more work than is good to do goal by goal."""
