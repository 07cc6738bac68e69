"""Forward chaining: all that follows from atoms by rules, the surest first.

A conclusion is never surer than what it rests on, and never holds longer. So whatever comes first out of a queue that
is ordered by confidence, then by span, needs never be replaced by something better, as in Dijkstra's search.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple, NoReturn, Protocol

from memfolio.errors import InferenceLimitError
from memfolio.knowledge.join import ALWAYS, NOWHERE, Search
from memfolio.knowledge.relations import Atom, Held, Relations, Triple
from memfolio.knowledge.rule import Condition, Part, Rule, is_variable, variables
from memfolio.knowledge.strata import strata

Order = tuple[float, int, int]
"""What a conclusion stands in the queue by: -confidence, start, -end."""


class Proof(NamedTuple):
    """The rule by which an atom follows, and the keys of what it rests on."""

    rule: str
    premises: tuple[int, ...]


class Store(Relations, Protocol):
    """Where conclusions are kept, beside what they follow from."""

    def fresh(self) -> int:
        """A key that no conclusion has had."""
        ...

    def conclude(self, atom: Atom, proof: Proof) -> None: ...

    def withdraw(self, atom: Atom) -> None: ...

    def dependents(self, key: int) -> Sequence[Atom]:
        """The conclusions whose proof uses an atom."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """What follows, and why."""

    atoms: Mapping[int, Atom]
    """By key; those that follow have negative ones."""
    proofs: Mapping[int, Proof]
    """For each atom that follows."""
    problems: tuple[str, ...]
    """Comparisons that could not be made, and by which rule."""
    counts: Mapping[str, int]
    """How many atoms follow by each rule, by its id."""
    rounds: int

    @property
    def derived(self) -> list[Atom]:
        """What follows, in the order in which it was found."""
        return [self.atoms[key] for key in self.proofs]

    def premises(self, atom: Atom) -> list[Atom]:
        """What an atom rests on: nothing for one that was given."""
        proof = self.proofs.get(atom.key)
        return [self.atoms[key] for key in proof.premises] if proof else []


def derive(atoms: Iterable[Atom], rules: Iterable[Rule], *, most: int) -> Derivation:
    """All that follows; InferenceLimitError when that is more than `most`."""
    store = Proven(atoms)
    tally = Tally(most)
    for layer in strata(rules):
        Forward(store, layer, tally).draw()
    return Derivation(
        atoms=store.atoms, proofs=store.proofs, problems=tally.told(), counts=dict(tally.counts), rounds=tally.rounds
    )


class Proven(Held):
    """Atoms in memory, with the proofs of those that follow."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self.atoms: dict[int, Atom] = {}
        self.proofs: dict[int, Proof] = {}
        self._uses: defaultdict[int, set[int]] | None = None
        super().__init__(atoms)
        self._lowest = min(self.atoms, default=0)

    def add(self, atom: Atom) -> None:
        self.atoms[atom[0]] = atom
        super().add(atom)

    def remove(self, atom: Atom) -> None:
        del self.atoms[atom[0]]
        super().remove(atom)

    def fresh(self) -> int:
        self._lowest = min(self._lowest, 0) - 1
        return self._lowest

    def conclude(self, atom: Atom, proof: Proof) -> None:
        self.add(atom)
        self.proofs[atom[0]] = proof
        if self._uses is not None:
            for premise in proof.premises:
                self._uses[premise].add(atom[0])

    def withdraw(self, atom: Atom) -> None:
        self.remove(atom)
        proof = self.proofs.pop(atom[0])
        if self._uses is not None:
            for premise in proof.premises:
                self._uses[premise].discard(atom[0])

    def dependents(self, key: int) -> Sequence[Atom]:
        if self._uses is None:  # nobody asks when all is drawn at once
            self._uses = defaultdict(set)
            for conclusion, proof in self.proofs.items():
                for premise in proof.premises:
                    self._uses[premise].add(conclusion)
        return [self.atoms[each] for each in sorted(self._uses[key])]


class Tally:
    """How much was concluded by which rule, up to a limit, and what went wrong."""

    def __init__(self, most: int, held: int = 0) -> None:
        self.counts: Counter[str] = Counter()
        self.held = held
        self.most = most
        self.rounds = 0
        self._names: dict[str, str] = {}
        self._problems: defaultdict[str, set[str]] = defaultdict(set)

    def count(self, rule: Rule) -> None:
        self.counts[rule.id] += 1
        self.held += 1
        if self.held > self.most:
            self.refuse(rule)

    def refuse(self, rule: Rule) -> NoReturn:
        """Say that too much follows, and by which rule most of it; `rule` if nothing is counted yet."""
        worst = max(self.counts, key=self.counts.__getitem__, default=rule.id)
        raise InferenceLimitError(
            f"more than {self.most:,} conclusions follow, most of them by the rule {self._names[worst]!r}",
            hint=f"narrow or disable {worst}, or raise `knowledge.most` in memfolio.toml",
        )

    def problems_of(self, rule: Rule) -> set[str]:
        name = self._names[rule.id] = rule.name or rule.id
        return self._problems[name]

    def told(self) -> tuple[str, ...]:
        return tuple(sorted(f"{name}: {each}" for name, found in self._problems.items() for each in found))


class Way:
    """How a rule is tried: what is bound first, and the search for the rest."""

    __slots__ = ("_is_loop", "_puts", "_wants", "factor", "object", "predicate", "rule", "search", "subject")

    def __init__(self, rule: Rule, body: Sequence[Part], start: Condition | None, store: Store, tally: Tally) -> None:
        assert rule.conclusion is not None
        head, terms = rule.conclusion, start.terms if start else ()
        problems = tally.problems_of(rule)
        self.search = Search(tuple(body), frozenset(variables(terms)), store, problems, also=head.terms)
        self.rule, self.factor, self.predicate = rule, rule.factor, head.predicate
        self.subject, self.object = (self.search.places[term] for term in head.terms)
        self._puts = tuple(self.search.places[term] if is_variable(term) else NOWHERE for term in terms)
        self._wants = tuple(None if is_variable(term) else term for term in terms)
        self._is_loop = len(terms) == 2 and terms[0] == terms[1]

    def takes(self, subject: str, object: str) -> bool:
        """Whether these meet the condition that it starts from; they are bound then."""
        wanted_subject, wanted_object = self._wants
        if (wanted_subject or subject) != subject or (wanted_object or object) != object:
            return False
        if self._is_loop and subject != object:
            return False
        values, (put_subject, put_object) = self.search.values, self._puts
        values[put_subject], values[put_object] = subject, object
        return True


class Forward:
    """Draws what follows by the rules of one layer."""

    def __init__(self, store: Store, rules: Sequence[Rule], tally: Tally) -> None:
        self._store, self._rules, self._tally = store, rules, tally
        self._joins: defaultdict[str, list[Way]] = defaultdict(list)
        self._proposed: set[Triple] = set()
        self._queue: list[Order] = []
        self._waiting: dict[Order, dict[Triple, tuple[Rule, tuple[Atom, ...]]]] = {}
        for rule in rules:
            for number, part in enumerate(rule.conditions):
                if isinstance(part, Condition) and not part.negated:
                    rest = rule.conditions[:number] + rule.conditions[number + 1 :]
                    self._joins[part.predicate].append(Way(rule, rest, part, store, tally))

    def draw(self) -> None:
        """Conclude everything from what the store holds."""
        for rule in self._rules:
            self._try(Way(rule, rule.conditions, None, self._store, self._tally), (), 1.0, *ALWAYS)
        self._settle()

    def _join(self, atom: Atom) -> None:
        """Propose all that follows from an atom with others."""
        _, subject, predicate, target, confidence, start, end = atom
        for way in self._joins.get(predicate, ()):
            if way.takes(subject, target):
                self._try(way, (atom,), confidence, start, end)

    def _try(self, way: Way, atoms: tuple[Atom, ...], confidence: float, start: int, end: int) -> None:
        rule, factor, values = way.rule, way.factor, way.search.values
        for premises, sure, begin, until in way.search.find(0, atoms, confidence, start, end):
            triple = values[way.subject], way.predicate, values[way.object]
            order = -sure * factor, begin, -until
            waiting = self._waiting.get(order)
            if waiting is None:
                heappush(self._queue, order)
                waiting = self._waiting[order] = {}
            if triple not in waiting and not self._is_held(triple, order):
                waiting[triple] = rule, premises
                self._proposed.add(triple)
                if len(self._proposed) > self._tally.most:  # long before all of them are taken
                    self._tally.refuse(rule)

    def _settle(self) -> None:
        """Take what was proposed, the surest first, unless something at least as good holds."""
        while self._queue:
            self._tally.rounds += 1
            order = heappop(self._queue)
            for triple, (rule, premises) in self._waiting.pop(order).items():
                if not self._is_held(triple, order):
                    self._take(triple, order, rule, premises)

    def _is_held(self, triple: Triple, order: Order) -> bool:
        subject, predicate, target = triple
        confidence, start, end = order
        for atom in self._store.match(predicate, subject, target):
            if -atom[4] <= confidence and atom[5] <= start and -atom[6] <= end:
                return True
        return False

    def _take(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> None:
        self._join(self._conclude(self._store.fresh(), triple, order, rule, premises))

    def _conclude(self, key: int, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> Atom:
        self._tally.count(rule)
        atom = Atom(key, *triple, -order[0], order[1], -order[2])
        self._store.conclude(atom, Proof(rule.id, tuple([each[0] for each in premises])))
        return atom
