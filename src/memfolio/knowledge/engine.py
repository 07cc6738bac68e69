"""Forward chaining with truth maintenance, and the evaluation of constraints and policies."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from memfolio.errors import InferenceLimitError, InputError, RuleError
from memfolio.index.database import get_meta, set_meta
from memfolio.index.fact_write import DERIVED
from memfolio.knowledge.join import (
    ALWAYS,
    BEGINNING,
    END,
    NOWHERE,
    Atom,
    Binding,
    BodySearch,
    JoinSolution,
    MemoryRelations,
    Relations,
    Triple,
    rule_label,
    solve,
)
from memfolio.knowledge.rule import (
    Condition,
    Part,
    Rule,
    Severity,
    is_variable,
    predicates_of,
    strata,
    variables,
    variables_in,
)
from memfolio.types import frozen

if TYPE_CHECKING:
    from memfolio.index.database import Connection
    from memfolio.index.index import Index


# Forward chaining: all that follows from atoms by rules, the surest first.
#
# A conclusion is never surer than what it rests on, and never holds longer. So whatever comes first out of a queue
# that is ordered by confidence, then by span, needs never be replaced by something better, as in Dijkstra's search.

Order = tuple[float, int, int]
"""The order in which conclusions are taken from the queue: -confidence, start, -end."""
STEPS = 50
"""How many steps may be taken for each fact and for each conclusion that is allowed."""
PROPOSAL = 20
"""How many steps it counts to have a conclusion wait, which takes memory."""


class StoredProof(NamedTuple):
    """The rule that derived an atom, and the keys of its premises."""

    rule: str
    premises: tuple[int, ...]


class Derivation(MemoryRelations):
    """The result of forward chaining: given and derived atoms by key, with the proofs of the derived ones."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self.atoms: dict[int, Atom] = {}
        """Those that follow have negative keys."""
        self.proofs: dict[int, StoredProof] = {}
        """For each atom that follows, in the order in which they were found."""
        self.problems: tuple[str, ...] = ()
        """Comparisons that could not be made, and by which rule."""
        self.counts: Mapping[str, int] = {}
        """How many atoms follow by each rule, by its id."""
        super().__init__(atoms)

    def add(self, atom: Atom) -> None:
        self.atoms[atom[0]] = atom
        super().add(atom)

    def fresh(self) -> int:
        """A key that no conclusion has had."""
        return -1 - len(self.proofs)

    def conclude(self, atom: Atom, proof: StoredProof) -> None:
        self.add(atom)
        self.proofs[atom[0]] = proof

    @property
    def derived(self) -> list[Atom]:
        """The conclusions, in the order in which they were drawn."""
        return [self.atoms[key] for key in self.proofs]

    def premises(self, atom: Atom) -> list[Atom]:
        """Return the premises of a conclusion; a given atom has none."""
        proof = self.proofs.get(atom.key)
        return [self.atoms[key] for key in proof.premises] if proof else []


def derive(atoms: Iterable[Atom], rules: Iterable[Rule], *, most: int) -> Derivation:
    """All that follows; InferenceLimitError when that is more than `most`, or takes too long to find out."""
    found = Derivation(atoms)
    budget = StepBudget(most, steps=STEPS * (most + len(found.atoms)))
    for layer in strata(rules):
        Forward(found, layer, budget).draw()
    found.problems, found.counts = budget.messages(), budget.counts
    return found


class StepBudget:
    """Counts conclusions and steps per rule against limits, and collects problems."""

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
        name = self._names[rule.id] = rule_label(rule)
        return self._problems[name]

    def messages(self) -> tuple[str, ...]:
        return tuple(sorted(f"{name}: {each}" for name, found in self._problems.items() for each in found))


class RuleSearch:
    """A rule prepared for joining: the condition that is bound first, and the search for the others."""

    __slots__ = ("_is_loop", "_puts", "_wants", "object", "predicate", "rule", "search", "subject")

    def __init__(
        self,
        rule: Rule,
        body: Sequence[Part],
        start: Condition | None,
        store: Derivation | StoredRelations,
        budget: StepBudget,
    ) -> None:
        assert rule.conclusion is not None
        head, terms = rule.conclusion, start.terms if start else ()
        problems, spend = budget.problems_of(rule), partial(budget.spend, rule.id)
        self.search = BodySearch(tuple(body), frozenset(variables(terms)), store, problems, spend, also=head.terms)
        self.rule, self.predicate = rule, head.predicate
        self.subject, self.object = (self.search.places[term] for term in head.terms)
        self._puts = tuple(self.search.places[term] if is_variable(term) else NOWHERE for term in terms)
        self._wants = tuple(None if is_variable(term) else term for term in terms)
        # `?x likes ?x` is met by those only that like themselves.
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
    """Applies the rules of one stratum until nothing new follows."""

    def __init__(self, store: Derivation | StoredRelations, rules: Sequence[Rule], budget: StepBudget) -> None:
        self._store, self._rules, self._budget = store, rules, budget
        self._joins: defaultdict[str, list[RuleSearch]] = defaultdict(list)
        self._proposed: set[Triple] = set()
        self._queue: list[Order] = []
        self._waiting: dict[Order, dict[Triple, tuple[Rule, tuple[Atom, ...]]]] = {}
        for rule in rules:
            for number, part in enumerate(rule.conditions):
                if isinstance(part, Condition) and not part.negated:
                    rest = rule.conditions[:number] + rule.conditions[number + 1 :]
                    self._joins[part.predicate].append(RuleSearch(rule, rest, part, store, budget))

    def draw(self) -> None:
        """Draw every conclusion from the stored facts."""
        # First everything from scratch; from then on only joins with what is new (semi-naive evaluation).
        for rule in self._rules:
            self._try(RuleSearch(rule, rule.conditions, None, self._store, self._budget), (), 1.0, *ALWAYS)
        self._conclude_waiting()

    def _join(self, atom: Atom) -> None:
        """Propose all that follows from an atom with others."""
        _, subject, predicate, target, confidence, start, end = atom
        for way in self._joins.get(predicate, ()):
            if way.takes(subject, target):
                self._try(way, (atom,), confidence, start, end)

    def _try(self, way: RuleSearch, atoms: tuple[Atom, ...], confidence: float, start: int, end: int) -> None:
        rule, values = way.rule, way.search.values
        for premises, sure, begin, until in way.search.find(0, atoms, confidence, start, end):
            triple = values[way.subject], way.predicate, values[way.object]
            order = -sure * rule.factor, begin, -until
            # What waits with the same confidence and span adds nothing, and is found faster than what is known.
            if triple not in self._waiting.get(order, ()) and not self._is_known(triple, order, rule):
                self._propose(triple, order, rule, premises)

    def _propose(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> None:
        if order not in self._waiting:
            heappush(self._queue, order)
            self._waiting[order] = {}
        self._waiting[order][triple] = rule, premises
        self._proposed.add(triple)
        self._budget.spend(rule.id, PROPOSAL)
        self._budget.allow(len(self._proposed))  # long before all of them are taken

    def _conclude_waiting(self) -> None:
        """Accept the waiting conclusions, most certain first, unless one at least as good is known."""
        while self._queue:
            order = heappop(self._queue)
            for triple, (rule, premises) in self._waiting.pop(order).items():
                if not self._is_known(triple, order, rule):
                    self._take(triple, order, rule, premises)

    def _is_known(self, triple: Triple, order: Order, rule: Rule) -> bool:
        subject, predicate, target = triple
        confidence, start, end = order
        found = self._store.match(predicate, subject, target)
        # A triple can hold in many spans; looking through them is work, too.
        if len(found) > 1:
            self._budget.spend(rule.id, len(found))
        return any(-atom[4] <= confidence and atom[5] <= start and -atom[6] <= end for atom in found)

    def _take(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> None:
        self._join(self._conclude(self._store.fresh(), triple, order, rule, premises))

    def _conclude(self, key: int, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> Atom:
        self._budget.count(rule)
        atom = Atom(key, *triple, -order[0], order[1], -order[2])
        self._store.conclude(atom, StoredProof(rule.id, tuple([each[0] for each in premises])))
        return atom


# Truth maintenance: conclusions follow their premises, and are withdrawn with them, without drawing all anew.
#
# Each conclusion remembers one proof. Where a premise of it changes, it is withdrawn with all that rests on it, and
# drawn again if it follows in another way. The outcome is what drawing everything anew would give.

FEW = 20_000
"""How many steps maintenance may take however little is known."""
SHARE = 2
"""Beyond one step for so many facts and conclusions, all is drawn anew, which takes several for each."""
WITHDRAWAL = 20
"""How many steps it counts to withdraw a conclusion."""
TROUBLE = "derived-trouble"
"""Key of the note that says why no conclusions could be drawn."""
_FIELDS = f"""row, subject, predicate, object, confidence,
    coalesce(valid_from, {BEGINNING}), coalesce(valid_until, {END})"""
_TRUSTED = "origin <> 'untrusted'"
_MATCH = {
    (with_subject, with_object): f"""
        SELECT {_FIELDS} FROM facts WHERE {wanted} AND {_TRUSTED} UNION ALL SELECT {_FIELDS} FROM derived WHERE {wanted}
    """
    for with_subject, with_object, wanted in (
        (False, False, "predicate = ?1"),
        (True, False, "predicate = ?1 AND subject = ?2"),
        (False, True, "predicate = ?1 AND object = ?2"),
        (True, True, "predicate = ?1 AND subject = ?2 AND object = ?3"),
    )
}
_ADD = "INSERT INTO derived VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SUPPORT = "INSERT OR IGNORE INTO supports VALUES (?, ?)"
_GONE = """SELECT 1 FROM fact_changes c WHERE NOT EXISTS (SELECT 1 FROM facts f
    WHERE f.subject = c.subject AND f.predicate = c.predicate AND f.object = c.object)"""


class StoredRelations:
    """Trusted facts and stored conclusions, read from the index through a connection."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        # Read before anything is withdrawn: what comes back gets its key again.
        self._lowest = int(connection.execute("SELECT coalesce(min(row), 0) FROM derived").get)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """Return the atoms with this predicate and, if given, this subject and object."""
        query = _MATCH[subject is not None, object is not None]
        given = tuple(each for each in (predicate, subject, object) if each is not None)
        return list(map(Atom._make, self._db.execute(query, given)))

    def fresh(self) -> int:
        """A key that no conclusion has had."""
        self._lowest -= 1
        return self._lowest

    def conclude(self, atom: Atom, proof: StoredProof) -> None:
        self._db.execute(_ADD, _row(atom, proof.rule))
        for premise in proof.premises:
            self._db.execute(_SUPPORT, (premise, atom.key))

    def withdraw(self, atom: Atom) -> None:
        self._db.execute("DELETE FROM derived WHERE row = ?", (atom.key,))
        self._db.execute("DELETE FROM supports WHERE row = ?", (atom.key,))

    def dependents(self, key: int) -> Sequence[Atom]:
        """Return the conclusions whose proofs use an atom."""
        sql = f"SELECT {_FIELDS} FROM derived WHERE row IN (SELECT row FROM supports WHERE premise = ?)"
        return list(map(Atom._make, self._db.execute(sql, (key,))))


@frozen
class Refreshed:
    """The outcome of a refresh of the stored conclusions."""

    is_full: bool = False
    """Whether all was drawn anew."""
    drawn: int = 0
    withdrawn: int = 0
    problems: tuple[str, ...] = ()


def refresh(index: Index, rules: Iterable[Rule], *, most: int) -> Refreshed:
    """Bring the conclusions of an index in line with its facts and the kept, enabled rules.

    If there are too many conclusions, or a rule negates its own consequence, none is stored; `problems` and `trouble`
    say why.
    """
    applied = [rule for rule in rules if rule.kept and rule.enabled and rule.conclusion is not None]
    stamp = _stamp(applied, most)
    # On a reading connection first: most calls change nothing, and need no lock for writing.
    if index.read(lambda connection: _is_current(connection, stamp)):
        return Refreshed(problems=tuple(filter(None, [index.read(trouble)])))
    return index.write(lambda connection: refresh_inside(connection, applied, stamp, most=most))


def refresh_inside(connection: Connection, rules: Sequence[Rule], stamp: str | None, *, most: int) -> Refreshed:
    """The same inside a transaction, which the caller ends."""
    if _is_current(connection, stamp):  # by another process meanwhile
        return Refreshed()
    before, why = count(connection), None
    try:
        done = _maintain(connection, rules, stamp, most)
        if done is None:
            found = derive(trusted_atoms(connection, predicates_of(rules)), rules, most=most)
            _replace_all(connection, found.atoms, found.proofs)
            done = Refreshed(is_full=True, drawn=len(found.proofs), withdrawn=before, problems=found.problems)
    except (InferenceLimitError, RuleError) as error:
        why = f"{error.message}; {error.hint}"
        # Part of what follows would look like all of it; so nothing is kept, and `trouble` says why.
        _replace_all(connection, {}, {})
        done = Refreshed(is_full=True, withdrawn=before, problems=(why,))
    mark_current(connection, stamp, why)
    return done


def _maintain(connection: Connection, rules: Sequence[Rule], stamp: str | None, most: int) -> Refreshed | None:
    """Update the conclusions for the facts that changed; None if everything has to be drawn again."""
    # Other rules, or nothing to build on.
    if stamp is None or get_meta(connection, DERIVED) != stamp or trouble(connection) is not None:
        return None
    changes = [(row, (s, p, o)) for row, s, p, o in connection.execute("SELECT * FROM fact_changes")]
    # The highest row is about the number of facts, and found at once.
    held, last = count(connection), int(connection.execute("SELECT coalesce(max(row), 0) FROM facts").get)
    steps = FEW + (held + last) // SHARE
    if len(changes) > steps:
        return None
    try:
        return revise(StoredRelations(connection), rules, changes, StepBudget(most, steps=steps, held=held))
    except InferenceLimitError:  # on the way more may hold than in the end
        return None


def _is_current(connection: Connection, stamp: str | None) -> bool:
    """Whether conclusions were drawn by the rules with this stamp, and no fact has changed since.

    If they could not be drawn, more facts would not help, so that only a removed fact counts as a change.
    """
    if get_meta(connection, DERIVED) != stamp:
        return False
    changed = "SELECT 1 FROM fact_changes" if trouble(connection) is None else _GONE
    return stamp is None or not connection.execute(f"SELECT EXISTS ({changed})").get


def trouble(connection: Connection) -> str | None:
    """The reason why no conclusions are stored, although there are rules for them."""
    found = get_meta(connection, TROUBLE)
    return None if found is None else str(found)


def count(connection: Connection) -> int:
    """How many conclusions are kept."""
    return int(connection.execute("SELECT count(*) FROM derived").get)


def trusted_atoms(connection: Connection, predicates: Iterable[str]) -> list[Atom]:
    """The facts with these predicates from which something may follow."""
    query = f"SELECT {_FIELDS} FROM facts WHERE predicate = ? AND {_TRUSTED}"
    return [atom for each in sorted(predicates) for atom in map(Atom._make, connection.execute(query, (each,)))]


def _replace_all(connection: Connection, atoms: Mapping[int, Atom], proofs: Mapping[int, StoredProof]) -> None:
    """Put these conclusions in the place of all others."""
    for table in ("derived", "supports"):
        connection.execute(f"DELETE FROM {table}")
    keys = sorted(proofs)  # in the order of the table they are appended
    connection.executemany(_ADD, (_row(atoms[key], proofs[key].rule) for key in keys))
    connection.executemany(_SUPPORT, sorted({(premise, key) for key in keys for premise in proofs[key].premises}))


def mark_current(connection: Connection, stamp: str | None, trouble: str | None = None) -> None:
    """Note that conclusions are those of the rules with this stamp, from the facts as they are."""
    connection.execute("DELETE FROM fact_changes")
    for key, value in ((DERIVED, stamp), (TROUBLE, trouble)):
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            set_meta(connection, key, value)


def _row(atom: Atom, rule: str) -> tuple[object, ...]:
    *stated, start, end = atom
    return (*stated, None if start == BEGINNING else start, None if end == END else end, rule)


def _stamp(rules: Sequence[Rule], most: int) -> str | None:
    """A hash of the rules and the limit that conclusions are drawn by; None without rules."""
    stated = sorted(repr((rule.id, rule.conditions, rule.conclusion, rule.factor)) for rule in rules)
    text = "\n".join([*stated, str(most)])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest() if stated else None


def revise(
    store: StoredRelations, rules: Iterable[Rule], changes: Iterable[tuple[int, Triple]], budget: StepBudget
) -> Refreshed:
    """Bring conclusions in line with facts that changed."""
    noted = list(changes)
    keys, triples = {key for key, _ in noted}, {triple for _, triple in noted}
    drawn = withdrawn = 0
    for layer in strata(rules):
        revision = Revision(store, layer, budget)
        revision.revise(keys, triples)
        keys |= revision.gone.keys()
        # What changed in this layer counts as a change for those above it.
        triples |= {atom.triple for each in (revision.gone, revision.drawn) for atom in each.values()}
        drawn, withdrawn = drawn + len(revision.drawn), withdrawn + len(revision.gone)
    return Refreshed(drawn=drawn, withdrawn=withdrawn, problems=budget.messages())


class Revision(Forward):
    """Updates the stored conclusions of one stratum incrementally."""

    def __init__(self, store: StoredRelations, rules: Sequence[Rule], budget: StepBudget) -> None:
        super().__init__(store, rules, budget)
        self.gone: dict[int, Atom] = {}
        """Conclusions that were withdrawn and did not come back."""
        self.drawn: dict[int, Atom] = {}
        """Conclusions that were not there before."""
        self._stored = store
        self._keys: dict[tuple[Triple, Order], int] = {}
        self._heads: defaultdict[str, list[RuleSearch]] = defaultdict(list)
        self._absent: defaultdict[str, list[RuleSearch]] = defaultdict(list)
        for rule in rules:
            assert rule.conclusion is not None
            self._heads[rule.conclusion.predicate].append(
                RuleSearch(rule, rule.conditions, rule.conclusion, store, budget)
            )
            absent = [each for each in rule.conditions if isinstance(each, Condition) and each.negated]
            others = [each for each in rule.conditions if each not in absent]
            for each in absent:
                self._absent[each.predicate].append(RuleSearch(rule, others, each, store, budget))

    def revise(self, keys: Iterable[int], triples: Iterable[Triple]) -> None:
        """Propagate changes of facts and of lower layers, given by their keys and triples."""
        changed = sorted(triples)
        suspects = {each for each in changed if each[1] in self._heads}
        # What appears takes away conclusions from its absence; what disappears allows some.
        suspects.update(head for each in changed for head in self._unless(each))
        touched = [atom for key in keys for atom in self._resting_on(key)]
        touched += [atom for triple in suspects for atom in self._conclusions(triple)]
        for triple in sorted(suspects | self._withdraw(touched)):
            self._check(triple)
        for subject, predicate, target in changed:
            for atom in self._store.match(predicate, subject, target):
                self._join(atom)
        self._conclude_waiting()

    def _unless(self, triple: Triple) -> list[Triple]:
        """The conclusions that rest on the absence of a triple, or would."""
        subject, predicate, target = triple
        heads = []
        for way in self._absent.get(predicate, ()):
            if way.takes(subject, target):
                values = way.search.values
                found = way.search.find(0, (), 1.0, *ALWAYS)
                heads += [(values[way.subject], way.predicate, values[way.object]) for _ in found]
        return heads

    def _resting_on(self, key: int) -> list[Atom]:
        return [atom for atom in self._stored.dependents(key) if atom.predicate in self._heads]

    def _conclusions(self, triple: Triple) -> list[Atom]:
        subject, predicate, target = triple
        return [atom for atom in self._store.match(predicate, subject, target) if atom.key < 0]

    def _withdraw(self, atoms: Iterable[Atom]) -> set[Triple]:
        """Withdraw conclusions and all in this layer that rests on them; returns their triples."""
        left, lost = list(atoms), set()
        while left:
            atom = left.pop()
            if atom.key in self.gone:
                continue
            # No rule can be named for this; the next step of a rule notices when none are left.
            self._budget.left -= WITHDRAWAL
            self._budget.held -= 1
            self._stored.withdraw(atom)
            self._keys[atom.triple, (-atom.confidence, atom.start, -atom.end)] = atom.key
            self.gone[atom.key] = atom
            self.drawn.pop(atom.key, None)
            lost.add(atom.triple)
            left += self._resting_on(atom.key)
        return lost

    def _check(self, triple: Triple) -> None:
        """Propose a triple again in every way in which it follows."""
        subject, predicate, target = triple
        for way in self._heads[predicate]:
            if way.takes(subject, target):
                self._try(way, (), 1.0, *ALWAYS)

    def _take(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> None:
        if any(each.key in self.gone for each in premises):
            self._check(triple)  # what else it follows from was passed over for this proof
            return
        confidence, start, end = order
        worse = [
            atom
            for atom in self._conclusions(triple)
            if confidence <= -atom.confidence and start <= atom.start and end <= -atom.end
        ]
        self._withdraw(worse)  # whatever rests on them follows at least as well from this one
        self._join(self._restore(triple, order, rule, premises))

    def _restore(self, triple: Triple, order: Order, rule: Rule, premises: tuple[Atom, ...]) -> Atom:
        """Accept a conclusion; one that returns unchanged gets its old key, so that conclusions above it stay valid."""
        key = self._keys.get((triple, order), 0)
        if self.gone.pop(key, None) is not None:
            return self._conclude(key, triple, order, rule, premises)
        atom = self._conclude(self._stored.fresh(), triple, order, rule, premises)
        self.drawn[atom.key] = atom
        return atom


# Which constraints are violated, and which policies ask for something. Pure.

_FIRST = 1 << 61
"""Keys from here on are facts of one call."""
_WORST = {severity: place for place, severity in enumerate(reversed(Severity))}


@frozen
class RuleFinding:
    """A violated constraint or a triggered policy, with the facts that match its conditions."""

    rule: Rule
    severity: Severity
    escalate: bool
    text: str
    """The message of a constraint or the action of a policy, with its values."""
    binding: Binding
    supports: tuple[Atom, ...]
    confidence: float


def findings(
    relations: Relations,
    rules: Iterable[Rule],
    now: int,
    *,
    severity: Severity = Severity.INFO,
    problems: set[str] | None = None,
) -> list[RuleFinding]:
    """Return violated constraints, or actions that policies demand, at `now`, of at least this severity.

    Findings to escalate come first, then the most severe, then the most certain. Contradicting actions are all
    returned.
    """
    chosen = [rule for rule in rules if _WORST[rule.severity] <= _WORST[severity]]
    return sorted((each for rule in chosen for each in _findings(rule, relations, now, problems)), key=_rank)


def _rank(each: RuleFinding) -> tuple[bool, int, float, str, str]:
    return not each.rule.escalate, _WORST[each.rule.severity], -each.confidence, each.rule.name, each.text


def _findings(rule: Rule, relations: Relations, now: int, problems: set[str] | None) -> Iterator[RuleFinding]:
    """Yield one finding per binding, the most certain if several facts give the same one."""
    best: dict[frozenset[tuple[str, str]], JoinSolution] = {}
    # One microsecond wide, so that only what holds now meets the conditions.
    for found in solve(rule.conditions, relations, span=(now, now + 1), problems=problems):
        key = frozenset(found.binding.items())
        if key not in best or found.confidence > best[key].confidence:
            best[key] = found
    for found in best.values():
        yield RuleFinding(
            rule=rule,
            severity=rule.severity,
            escalate=rule.escalate,
            text=with_values(rule.message or rule.action or rule_label(rule), found.binding),
            binding=found.binding,
            supports=found.atoms,
            confidence=found.confidence * rule.factor,
        )


def with_values(text: str, binding: Binding) -> str:
    """A text with its `?variables` filled in, the longest names first, each once."""
    names = sorted(variables_in(text) & binding.keys(), key=len, reverse=True)
    pattern = "|".join(map(re.escape, names))
    return re.sub(rf"(?:{pattern})(?!\w)", lambda match: binding[match[0]], text) if names else text


class WithContext:
    """Stored facts together with facts that count for one call only."""

    def __init__(self, relations: Relations, context: Iterable[Triple]) -> None:
        self._relations = relations
        self._given = MemoryRelations(Atom(_FIRST + number, *as_triple(each)) for number, each in enumerate(context))

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        given = self._given.match(predicate, subject, object)
        return [*self._relations.match(predicate, subject, object), *given]


def as_triple(given: object) -> Triple:
    """Check that a value is a subject, predicate and object; raises InputError otherwise."""
    parts = given if isinstance(given, list | tuple) else ()
    if len(parts) == 3 and all(isinstance(each, str) and each.strip() for each in parts):
        return parts[0], parts[1], parts[2]
    raise InputError(f"{str(given)[:80]!r} is no fact", hint="give subject, predicate and object")
