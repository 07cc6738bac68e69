"""Backward chaining: whether a goal follows from facts and rules, with which values, why, and what is missing.

Each goal has one table of answers, and each rule that waits for a goal is taken up again with every answer to it. So
no goal proves itself, all end, and nothing is done twice. The surest answers come first, as in forward chaining. Pure.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import NamedTuple

from memfolio.knowledge.abduce import Gap, gaps
from memfolio.knowledge.attempt import is_test
from memfolio.knowledge.join import ALWAYS, Binding, Solution, bind, fill, plan, solve
from memfolio.knowledge.relations import Atom, Held, Relations, Triple
from memfolio.knowledge.rule import Condition, Part, Rule
from memfolio.knowledge.tree import Lookup, Node, Step, head_binding, no_fact, tell

STEPS = 1_000_000
"""How many atoms a proof may look at."""
ANSWERS = 50
"""How many answers are shown with their proofs."""
_FAR = 1 << 30
_LAST_KEY = -(1 << 62)
"""Keys below are conclusions of a prover."""

Call = tuple[str, str | None, str | None]
Kept = Callable[[int], tuple[str, Sequence[Atom]] | None]
"""The id of the rule by which a conclusion that is stored follows, and what from."""


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
        Answer(binding=found, atom=atom, proof=tell(atom, prover.steps_to, prover.depth, facts))
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

    def has(self, triple: Triple, confidence: float, start: int, end: int) -> bool:
        """Whether it holds at least as surely and as long."""
        held = self.held.get(triple, ())
        return any(each[4] >= confidence and each[5] <= start and each[6] >= end for each in held)

    def add(self, atom: Atom) -> None:
        held = self.held.setdefault(atom.triple, [])
        held[:] = [each for each in held if each[4] > atom[4] or each[5] < atom[5] or each[6] > atom[6]] + [atom]


class Prover:
    """Facts with all that follows from them by rules, proved when it is asked for.

    `kept` tells how conclusions follow that `relations` has already; those that are all there are not proved again. Of
    other predicates that rules conclude only what was asserted is taken from `relations`.
    """

    def __init__(
        self,
        relations: Relations,
        rules: Iterable[Rule],
        *,
        depth: int = 10,
        most: int = STEPS,
        kept: Kept | None = None,
    ) -> None:
        self.rules = [rule for rule in rules if rule.enabled and rule.conclusion is not None]
        self.problems: set[str] = set()
        self.depth = depth
        self._relations, self._most, self._left, self._kept = relations, most, most, kept
        self._heads: defaultdict[str, list[tuple[Condition, Rule]]] = defaultdict(list)
        for rule in unsettled(self.rules) if kept else self.rules:
            if rule.conclusion is not None:
                self._heads[rule.conclusion.predicate].append((rule.conclusion, rule))
        self._steps: dict[int, Step] = {}
        self._tables: dict[Call, _Table] = {}
        self._untried: deque[Call] = deque()
        self._found: list[tuple[float, int, int, int, Triple, _Waiting]] = []
        self._turn = 0
        self._absent: Prover | None = None

    def afresh(self) -> Prover:
        """One that has done no work yet."""
        return Prover(self._relations, self.rules, depth=self.depth, most=self._most, kept=self._kept)

    @property
    def is_spent(self) -> bool:
        """Whether the work is done that a proof may cost."""
        return self._left < 0

    @property
    def truncated(self) -> bool:
        """Whether goals were not followed, for their depth or for the work they would have cost."""
        is_cut = any(self._is_cut(table) for table in self._tables.values())
        return self.is_spent or is_cut or (self._absent is not None and self._absent.truncated)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """All that holds for a predicate and, where they are given, this subject and object."""
        call = predicate, subject, object
        if predicate not in self._heads:
            return self._relations.match(*call)
        try:
            table = self._reach(call, 0)
            self._settle()
        except _SpentError:
            self._untried.clear()
            self._found.clear()
        return table.atoms()

    def steps_to(self, atom: Atom) -> Sequence[Step]:
        """How an atom was proved first that holds here; nothing for one that was asserted."""
        if atom.key in self._steps:
            return [self._steps[atom.key]]
        stored = self._kept(atom.key) if self._kept and atom.key < 0 else None
        rule = next((each for each in self.rules if stored and each.id == stored[0]), None)
        if stored is None or rule is None or rule.conclusion is None:
            return []
        binding = head_binding(rule.conclusion, atom.subject, atom.object)
        positive = [part for part in rule.conditions if not _is_negated(part)]
        found = next(solve(positive, Held(stored[1]), binding), None)
        return [(rule, found._replace(start=atom.start, end=atom.end))] if found else []

    def _is_cut(self, table: _Table) -> bool:
        return table.level >= self.depth

    def _reach(self, call: Call, level: int) -> _Table:
        """The table of a goal, which is proved, with all that it asks for, as if it were so many goals away."""
        table = self._tables.get(call)
        if table is None:
            table = self._tables[call] = _Table()
            for atom in self._relations.match(*call):
                if atom.key > 0 and not table.has(atom.triple, *atom[4:]):
                    table.add(atom)
        nearer = [(call, level)]
        while nearer:
            each, level = nearer.pop()
            one = self._tables[each]
            if level < one.level:
                if level < self.depth <= one.level:
                    self._untried.append(each)
                one.level = level
                nearer += [(asked, level + 1) for asked in one.asks]
        return table

    def _settle(self) -> None:
        """Try rules for goals, and take up what waits for answers, the surest first, until there is no more."""
        while self._untried or self._found:
            if self._untried:
                self._try(self._untried.popleft())
                continue
            sure, start, end, _, triple, proved = heappop(self._found)
            table = self._tables[proved.goal]
            if not table.has(triple, -sure, start, -end):
                atom = Atom(_LAST_KEY - len(self._steps), *triple, -sure, start, -end)
                self._steps[atom.key] = proved.rule, proved.met
                table.add(atom)
                self._spend(len(table.users))
                for user in tuple(table.users):
                    self._take_up(user, atom)

    def _try(self, goal: Call) -> None:
        for conclusion, rule in self._heads[goal[0]]:
            binding = head_binding(conclusion, *goal[1:])
            if binding is not None:
                ordered = sorted(plan(rule.conditions, frozenset(binding)), key=_is_negated)
                self._go_on(_Waiting(goal, rule, tuple(ordered), Solution(binding, (), 1.0, *ALWAYS)))

    def _go_on(self, work: _Waiting) -> None:
        """Meet the next condition of a rule, or draw its conclusion."""
        if not work.left:
            self._conclude(work)
        elif is_test(work.left[0]):
            self._test(work)
        elif isinstance(part := work.left[0], Condition):
            call = part.predicate, fill(part.subject, work.met.binding), fill(part.object, work.met.binding)
            for atom in self._look(call, work):
                self._take_up(work, atom)

    def _look(self, call: Call, work: _Waiting) -> Sequence[Atom]:
        """What is known of a goal so far; what is found later is brought to those that wait for it."""
        if call[0] not in self._heads:
            found = self._relations.match(*call)
        else:
            asking = self._tables[work.goal]
            asking.asks.add(call)
            table = self._reach(call, asking.level + 1)
            table.users.append(work)
            found = table.atoms()
        self._spend(len(found) + 1)
        return found

    def _take_up(self, work: _Waiting, atom: Atom) -> None:
        goal, rule, (part, *left), (binding, atoms, sure, start, end) = work
        start, end = max(start, atom[5]), min(end, atom[6])
        found = bind(part, atom, binding) if start < end and isinstance(part, Condition) else None
        if found is not None:
            met = Solution(found, (*atoms, atom), min(sure, atom[4]), start, end)
            self._go_on(_Waiting(goal, rule, tuple(left), met))

    def _test(self, work: _Waiting) -> None:
        """Go on for the times in which a comparison or an absence holds; an absence must be known for certain."""
        met = work.met
        try:
            spans = [
                each[3:]
                for each in solve(
                    work.left[:1], _Surely(self), met.binding, span=(met.start, met.end), problems=self.problems
                )
            ]
        except _UncertainError:
            return
        for start, end in spans:
            self._go_on(work._replace(left=work.left[1:], met=met._replace(start=start, end=end)))

    def _conclude(self, work: _Waiting) -> None:
        conclusion, (binding, _, sure, start, end) = work.rule.conclusion, work.met
        assert conclusion is not None
        subject, target = fill(conclusion.subject, binding), fill(conclusion.object, binding)
        assert subject is not None  # checked when the rule was made
        assert target is not None
        triple, sure = (subject, conclusion.predicate, target), sure * work.rule.factor
        if not self._tables[work.goal].has(triple, sure, start, end):
            self._turn += 1  # no two are equal, so that rules are never compared
            heappush(self._found, (-sure, start, -end, self._turn, triple, work))

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _SpentError

    def surely(self, call: Call) -> Sequence[Atom]:
        """What is negated is proved apart: it never depends on what it is negated for, so it can be finished first."""
        if self._absent is None:
            self._absent = self.afresh()
            self._absent.depth, self._absent._left = self.depth - 1, self._left
        before = self._absent._left
        found = self._absent.match(*call)
        self._left -= before - self._absent._left
        if not self._absent._is_complete(call):
            raise _UncertainError
        return found

    def _is_complete(self, call: Call) -> bool:
        """Whether nothing was cut that a goal depends on."""
        reached, ahead = {call}, [call]
        while ahead:
            table = self._tables.get(ahead.pop())
            if table is not None:
                if self._is_cut(table):
                    return False
                ahead += table.asks - reached
                reached |= table.asks
        return not self.is_spent and (self._absent is None or not self._absent.truncated)


class _Surely:
    """Relations in which what is not found is known to be absent."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        return self._prover.surely((predicate, subject, object))


def unsettled(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that conclude something of which the index does not keep all, as a rule on the way is not kept."""
    heads = [(rule.conclusion.predicate, rule) for rule in rules if rule.conclusion is not None]
    loose = {head for head, rule in heads if not rule.kept}
    while more := {head for head, rule in heads if loose & predicates([rule])} - loose:
        loose |= more
    return [rule for head, rule in heads if head in loose]


def predicates(rules: Iterable[Rule]) -> set[str]:
    """All that rules speak of."""
    parts = (part for rule in rules for part in (rule.conclusion, *rule.conditions))
    return {part.predicate for part in parts if isinstance(part, Condition)}


def _is_negated(part: Part) -> bool:
    return isinstance(part, Condition) and part.negated


class _SpentError(Exception):
    """The work that a proof may cost is done."""


class _UncertainError(Exception):
    """It is not known whether something is absent."""
