"""Backward chaining: whether a goal follows from facts and rules, with which values, why, and what is missing.

Each goal has one table of answers. A goal is tried again when one that it uses got another answer, until none does: so
no goal proves itself, and all end. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush

from memfolio.knowledge.abduce import Gap, gaps
from memfolio.knowledge.join import Binding, Solution, bind, fill, solve
from memfolio.knowledge.relations import Atom, Relations, Triple
from memfolio.knowledge.rule import Condition, Rule
from memfolio.knowledge.tree import NODES, Cut, Lookup, Node, Way, head_binding, make_way, nearest_first, no_fact

STEPS = 1_000_000
"""How many atoms a proof may look at."""
_FAR = 1 << 30

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
    gaps: tuple[Gap, ...]
    """None where the search for the smallest was cut."""
    truncated: bool
    problems: tuple[str, ...]


def prove(
    goal: Condition,
    relations: Relations,
    rules: Sequence[Rule],
    *,
    now: int | None = None,
    depth: int = 10,
    most: int = STEPS,
    facts: Lookup = no_fact,
) -> Proof:
    """Prove a goal whose subject and object may be variables; with `now` only what holds then counts."""
    prover = Prover(relations, rules, depth=depth, most=most)
    atoms = prover.match(goal.predicate, fill(goal.subject, {}), fill(goal.object, {}))
    held = [(atom, found) for atom in atoms if (found := bind(goal, atom, {})) is not None and _counts(atom, now)]
    held.sort(key=lambda each: (-each[0].confidence, each[0][1:]))
    answers = tuple(Answer(binding=found, atom=atom, proof=prover.proof(atom, facts)) for atom, found in held)
    # What is missing may be found soon where a proof is not.
    other = Prover(relations, rules, depth=depth, most=most) if prover.is_spent else prover
    missing = () if answers else tuple(gaps(goal, At(other, now), prover.rules, depth))
    verdict = Verdict.PROVEN if answers else Verdict.GAPS if missing else Verdict.UNPROVABLE
    return Proof(
        goal=goal,
        verdict=verdict,
        answers=answers,
        gaps=() if other.is_spent else missing,
        truncated=prover.truncated,
        problems=tuple(sorted(prover.problems)),
    )


def _counts(atom: Atom, now: int | None) -> bool:
    return now is None or atom.holds_at(now)


class At:
    """What holds at one moment."""

    def __init__(self, relations: Relations, now: int | None) -> None:
        self._relations = relations
        self._now = now

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        return [each for each in self._relations.match(predicate, subject, object) if _counts(each, self._now)]


@dataclass(slots=True, eq=False)
class _Table:
    """The answers of one goal so far: for each triple the ways to hold of which none is as good as another."""

    level: int
    """How many goals stand between it and one that was asked for."""
    held: dict[Triple, list[Atom]] = field(default_factory=dict)
    asks: set[Call] = field(default_factory=set)
    users: set[Call] = field(default_factory=set)
    is_tried: bool = False

    def atoms(self) -> list[Atom]:
        return [atom for held in self.held.values() for atom in held]

    def add(self, atom: Atom) -> bool:
        held = self.held.setdefault(atom.triple, [])
        if any(_is_as_good(each, atom) for each in held):
            return False
        held[:] = [each for each in held if not _is_as_good(atom, each)] + [atom]
        return True


def _is_as_good(one: Atom, other: Atom) -> bool:
    return one.confidence >= other.confidence and one.start <= other.start and one.end >= other.end


class Prover:
    """Facts with all that follows from them by rules, proved when it is asked for.

    Of predicates that `rules` conclude only what was asserted is taken from `relations`.
    """

    def __init__(self, relations: Relations, rules: Sequence[Rule], *, depth: int = 10, most: int = STEPS) -> None:
        self.rules = [rule for rule in rules if rule.enabled and rule.conclusion is not None]
        self.problems: set[str] = set()
        self._relations = relations
        self._depth = depth
        self._left = most
        self._by_predicate: defaultdict[str, list[tuple[Condition, Rule]]] = defaultdict(list)
        for rule in self.rules:
            if rule.conclusion is not None:
                self._by_predicate[rule.conclusion.predicate].append((rule.conclusion, rule))
        self._how: dict[int, tuple[Rule, Solution]] = {}
        self._tables: dict[Call, _Table] = {}
        self._queue: list[tuple[bool, int, int, Call]] = []
        self._queued: set[Call] = set()
        self._turn = 0
        self._absent: Prover | None = None

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
        try:
            found = self._look(call, 0)
            while self._queue:
                *_, ahead = heappop(self._queue)
                self._queued.discard(ahead)
                self._apply(ahead, self._tables[ahead])
        except _SpentError:
            self._queue.clear()
            self._queued.clear()
        return self._tables[call].atoms() if call in self._tables else found if self._left >= 0 else ()

    def proof(self, atom: Atom, facts: Lookup = no_fact, left: list[int] | None = None) -> Node:
        """How an atom that was an answer here was proved first."""
        left = [NODES] if left is None else left
        left[0] -= 1
        rule, solution = self._how.get(atom.key, (None, None))
        cut = Cut.SIZE if rule is not None and left[0] < 0 else None
        ways: tuple[Way, ...] = ()
        if rule is not None and solution is not None and cut is None:
            ways = (make_way(rule, solution, [self.proof(each, facts, left) for each in solution.atoms]),)
        fact = facts(atom) if atom.key > 0 else None
        return Node.of(atom, fact=fact, ways=ways, cut=cut)

    def certainly(self, call: Call) -> Sequence[Atom]:
        """What holds for a goal, if that is known to be all."""
        found = self.match(*call)
        reached, ahead = {call}, [call]
        while ahead:
            table = self._tables.get(ahead.pop())
            if table is not None:
                if self._is_cut(table):
                    raise _UncertainError
                ahead += table.asks - reached
                reached |= table.asks
        if self._left < 0 or (self._absent is not None and self._absent.truncated):
            raise _UncertainError
        return found

    def _is_cut(self, table: _Table) -> bool:
        return table.level >= self._depth

    def _look(self, call: Call, level: int, user: Call | None = None) -> Sequence[Atom]:
        """What is known of a goal so far; what a rule may add to it is looked for later, for `user` too."""
        if call[0] not in self._by_predicate:
            found = self._relations.match(*call)
        else:
            table = self._tables.get(call)
            if table is None:
                table = self._tables[call] = _Table(_FAR)
                for atom in self._relations.match(*call):
                    if atom.key > 0:
                        table.add(atom)
            if user is not None:
                table.users.add(user)
                self._tables[user].asks.add(call)
            if level < table.level:
                table.level = level
                self._put(call, table)
            found = table.atoms()
        self._left -= len(found) + 1
        if self._left < 0:
            raise _SpentError
        return found

    def _put(self, call: Call, table: _Table) -> None:
        """Have a goal proved: those never tried come first, the nearest of them, then the others in turn."""
        if not self._is_cut(table) and call not in self._queued:
            self._queued.add(call)
            self._turn += 1  # no two are equal, so that calls are never compared
            heappush(self._queue, (table.is_tried, 0 if table.is_tried else table.level, self._turn, call))

    def _apply(self, call: Call, table: _Table) -> None:
        """Draw what rules conclude for a goal from what is known so far."""
        table.is_tried, is_changed = True, False
        for conclusion, rule in self._by_predicate[call[0]]:
            binding = head_binding(conclusion, *call[1:])
            for found in () if binding is None else self._solutions(rule, binding, call, table.level + 1):
                subject, target = fill(conclusion.subject, found.binding), fill(conclusion.object, found.binding)
                assert subject is not None  # checked when the rule was made
                assert target is not None
                key, sure = -len(self._how) - 1, found.confidence * rule.factor
                if table.add(Atom(key, subject, conclusion.predicate, target, sure, found.start, found.end)):
                    self._how[key], is_changed = (rule, found), True
        if is_changed:
            for user in table.users:
                self._put(user, self._tables[user])

    def _solutions(self, rule: Rule, binding: Binding, user: Call, level: int) -> Iterator[Solution]:
        """The solutions of a rule as far as its goals are proved; what it negates must be known for certain."""
        negated = [part for part in rule.conditions if isinstance(part, Condition) and part.negated]
        others = nearest_first([part for part in rule.conditions if part not in negated], binding)
        known = _Asking(lambda call: self._look(call, level, user))
        for found in solve(others, known, binding, problems=self.problems):
            span = found.start, found.end
            try:
                left = list(solve(negated, _Asking(self._surely), found.binding, span=span)) if negated else [found]
            except _UncertainError:
                continue
            for each in left:
                yield found._replace(start=each.start, end=each.end)

    def _surely(self, call: Call) -> Sequence[Atom]:
        """What is negated is proved apart: it never depends on what it is negated for, so it can be finished first."""
        if self._absent is None:
            self._absent = Prover(self._relations, self.rules, depth=self._depth - 1, most=self._left)
        before = self._absent._left
        found = self._absent.certainly(call)
        self._left -= before - self._absent._left
        return found


class _Asking:
    """Relations that are looked up by a function."""

    def __init__(self, ask: Callable[[Call], Sequence[Atom]]) -> None:
        self._ask = ask

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        return self._ask((predicate, subject, object))


class _SpentError(Exception):
    """The work that a proof may cost is done."""


class _UncertainError(Exception):
    """It is not known whether something is absent."""
