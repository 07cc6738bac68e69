"""Forward chaining: all that follows from atoms by rules, the surest first.

A conclusion is never surer than what it rests on, and never holds longer. So whatever comes first out of a queue that
is ordered by confidence, then by span, needs never be replaced by something better, as in Dijkstra's search.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush

from memfolio.errors import InferenceLimitError
from memfolio.index.derived import Proof, Stored
from memfolio.knowledge.join import ALWAYS, NOWHERE, Search
from memfolio.knowledge.relations import Atom, Held, Triple
from memfolio.knowledge.rule import Condition, Part, Rule, is_variable, variables
from memfolio.knowledge.strata import strata
from memfolio.knowledge.tree import called

Order = tuple[float, int, int]
"""What a conclusion stands in the queue by: -confidence, start, -end."""
STEPS = 50
"""How many steps may be taken for each fact and for each conclusion that is allowed."""
PROPOSAL = 20
"""How many steps it counts to have a conclusion wait, which takes memory."""


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

    @property
    def derived(self) -> list[Atom]:
        """What follows, in the order in which it was found."""
        return [self.atoms[key] for key in self.proofs]

    def premises(self, atom: Atom) -> list[Atom]:
        """What an atom rests on: nothing for one that was given."""
        proof = self.proofs.get(atom.key)
        return [self.atoms[key] for key in proof.premises] if proof else []


def derive(atoms: Iterable[Atom], rules: Iterable[Rule], *, most: int) -> Derivation:
    """All that follows; InferenceLimitError when that is more than `most`, or takes too long to find out."""
    store = Proven(atoms)
    tally = Tally(most, steps=STEPS * (most + len(store.atoms)))
    for layer in strata(rules):
        Forward(store, layer, tally).draw()
    return Derivation(atoms=store.atoms, proofs=store.proofs, problems=tally.told(), counts=dict(tally.counts))


class Proven(Held):
    """Atoms in memory, with the proofs of those that follow."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self.atoms: dict[int, Atom] = {}
        self.proofs: dict[int, Proof] = {}
        super().__init__(atoms)

    def add(self, atom: Atom) -> None:
        self.atoms[atom[0]] = atom
        super().add(atom)

    def fresh(self) -> int:
        """A key that no conclusion has had."""
        return -1 - len(self.proofs)

    def conclude(self, atom: Atom, proof: Proof) -> None:
        self.add(atom)
        self.proofs[atom[0]] = proof


class Tally:
    """What is concluded by which rule and how many steps that takes, up to limits, and what goes wrong."""

    def __init__(self, most: int, *, steps: int, held: int = 0) -> None:
        self.counts: Counter[str] = Counter()
        self.held, self.most = held, most
        self.steps = self.left = steps
        self._spent: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        self._problems: defaultdict[str, set[str]] = defaultdict(set)

    def count(self, rule: Rule) -> None:
        self.counts[rule.id] += 1
        self.held += 1
        self.allow(self.held)

    def allow(self, conclusions: int) -> None:
        """Refuse more conclusions than may follow."""
        if conclusions > self.most:
            limit = f"{self.most:,} conclusions"
            raise self._refusal(f"more than {limit} follow", limit, self.counts or self._spent)

    def spend(self, rule: str, steps: int) -> None:
        """Refuse more steps than may be taken."""
        self._spent[rule] += steps
        self.left -= steps
        if self.left < 0:
            limit = f"{self.steps:,} steps"
            raise self._refusal(f"to see what follows takes more than {limit}", limit, self._spent)

    def _refusal(self, what: str, limit: str, by_rule: Counter[str]) -> InferenceLimitError:
        worst = max(by_rule, key=by_rule.__getitem__)
        return InferenceLimitError(
            f"{what}, most of them by the rule {self._names[worst]!r}",
            hint=f"narrow or disable {worst}, or raise `knowledge.most` in memfolio.toml",
            limit=limit,
        )

    def problems_of(self, rule: Rule) -> set[str]:
        name = self._names[rule.id] = called(rule)
        return self._problems[name]

    def told(self) -> tuple[str, ...]:
        return tuple(sorted(f"{name}: {each}" for name, found in self._problems.items() for each in found))


class Way:
    """How a rule is tried: what is bound first, and the search for the rest."""

    __slots__ = ("_is_loop", "_puts", "_wants", "object", "predicate", "rule", "search", "subject")

    def __init__(
        self, rule: Rule, body: Sequence[Part], start: Condition | None, store: Proven | Stored, tally: Tally
    ) -> None:
        assert rule.conclusion is not None
        head, terms = rule.conclusion, start.terms if start else ()
        problems, spend = tally.problems_of(rule), partial(tally.spend, rule.id)
        self.search = Search(tuple(body), frozenset(variables(terms)), store, problems, spend, also=head.terms)
        self.rule, self.predicate = rule, head.predicate
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

    def __init__(self, store: Proven | Stored, rules: Sequence[Rule], tally: Tally) -> None:
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
        rule, values = way.rule, way.search.values
        for premises, sure, begin, until in way.search.find(0, atoms, confidence, start, end):
            triple = values[way.subject], way.predicate, values[way.object]
            order = -sure * rule.factor, begin, -until
            if triple not in self._waiting.get(order, ()) and not self._is_held(triple, order, rule):
                self._propose(triple, order, rule, premises)

    def _propose(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> None:
        if order not in self._waiting:
            heappush(self._queue, order)
            self._waiting[order] = {}
        self._waiting[order][triple] = rule, premises
        self._proposed.add(triple)
        self._tally.spend(rule.id, PROPOSAL)
        self._tally.allow(len(self._proposed))  # long before all of them are taken

    def _settle(self) -> None:
        """Take what was proposed, the surest first, unless something at least as good holds."""
        while self._queue:
            order = heappop(self._queue)
            for triple, (rule, premises) in self._waiting.pop(order).items():
                if not self._is_held(triple, order, rule):
                    self._take(triple, order, rule, premises)

    def _is_held(self, triple: Triple, order: Order, rule: Rule) -> bool:
        subject, predicate, target = triple
        confidence, start, end = order
        found = self._store.match(predicate, subject, target)
        if len(found) > 1:
            self._tally.spend(rule.id, len(found))
        return any(-atom[4] <= confidence and atom[5] <= start and -atom[6] <= end for atom in found)

    def _take(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> None:
        self._join(self._conclude(self._store.fresh(), triple, order, rule, premises))

    def _conclude(self, key: int, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> Atom:
        self._tally.count(rule)
        atom = Atom(key, *triple, -order[0], order[1], -order[2])
        self._store.conclude(atom, Proof(rule.id, tuple([each[0] for each in premises])))
        return atom
