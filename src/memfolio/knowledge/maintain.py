"""Truth maintenance: conclusions follow their premises, and are withdrawn with them, without drawing all anew.

Each conclusion remembers one proof. Where a premise of it changes, it is withdrawn with all that rests on it, and
drawn again if it follows in another way. The outcome is what drawing everything anew would give.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memfolio.errors import InferenceLimitError, RuleError
from memfolio.index import derived
from memfolio.knowledge.engine import Forward, Order, Tally, Way, derive
from memfolio.knowledge.join import ALWAYS
from memfolio.knowledge.relations import Atom, Triple
from memfolio.knowledge.rule import Condition, Rule, spoken_of
from memfolio.knowledge.strata import strata

if TYPE_CHECKING:
    from memfolio.index.database import Connection
    from memfolio.index.index import Index

FEW = 20_000
"""How many steps maintenance may take however little is known."""
SHARE = 2
"""Beyond one step for so many facts and conclusions, all is drawn anew, which takes several for each."""
WITHDRAWAL = 20
"""How many steps it counts to withdraw a conclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What was done to bring conclusions in line with facts and rules."""

    is_full: bool = False
    """Whether all was drawn anew."""
    drawn: int = 0
    withdrawn: int = 0
    problems: tuple[str, ...] = ()


def refresh(index: Index, rules: Iterable[Rule], *, most: int) -> Refreshed:
    """Bring the conclusions of an index in line with its facts and the rules that are kept and enabled.

    Where they cannot be drawn, because they are too many or a rule negates what it leads to, none is kept, and
    `problems` and `trouble` say why.
    """
    applied = [rule for rule in rules if rule.kept and rule.enabled and rule.conclusion is not None]
    stamp = _stamp(applied, most)
    if index.read(lambda connection: derived.is_current(connection, stamp)):
        return Refreshed(problems=tuple(filter(None, [trouble(index)])))
    return index.write(lambda connection: bring(connection, applied, stamp, most=most))


def trouble(index: Index) -> str | None:
    """Why no conclusions are kept, although there are rules to draw them by."""
    return index.read(derived.trouble)


def bring(connection: Connection, rules: Sequence[Rule], stamp: str | None, *, most: int) -> Refreshed:
    """The same inside a transaction, which the caller ends."""
    if derived.is_current(connection, stamp):  # by another process meanwhile
        return Refreshed()
    before, why = derived.count(connection), None
    try:
        done = _maintain(connection, rules, stamp, most) or _redraw(connection, rules, most, before)
    except (InferenceLimitError, RuleError) as error:
        why = f"{error.message}; {error.hint}"
        derived.replace(connection, {}, {})
        done = Refreshed(is_full=True, withdrawn=before, problems=(why,))
    derived.settle(connection, stamp, why)
    return done


def _maintain(connection: Connection, rules: Sequence[Rule], stamp: str | None, most: int) -> Refreshed | None:
    """Conclusions brought in line with the facts that changed; None where all has to be drawn anew."""
    changes, held = derived.changes(connection, stamp), derived.count(connection)
    steps = FEW + (held + derived.last_row(connection)) // SHARE
    if changes is None or len(changes) > steps:
        return None
    try:
        return revise(derived.Stored(connection), rules, changes, Tally(most, steps=steps, held=held))
    except InferenceLimitError:  # on the way more may hold than in the end
        return None


def _redraw(connection: Connection, rules: Sequence[Rule], most: int, before: int) -> Refreshed:
    found = derive(derived.trusted(connection, spoken_of(rules)), rules, most=most)
    derived.replace(connection, found.atoms, found.proofs)
    return Refreshed(is_full=True, drawn=len(found.proofs), withdrawn=before, problems=found.problems)


def _stamp(rules: Sequence[Rule], most: int) -> str | None:
    """What tells whether conclusions were drawn by these rules, within this limit; None where there are no rules."""
    stated = sorted(repr((rule.id, rule.conditions, rule.conclusion, rule.factor)) for rule in rules)
    said = "\n".join([*stated, str(most)])
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest() if stated else None


def revise(
    store: derived.Stored, rules: Iterable[Rule], changes: Iterable[tuple[int, Triple]], tally: Tally
) -> Refreshed:
    """Bring conclusions in line with facts that changed."""
    noted = list(changes)
    keys, triples = {key for key, _ in noted}, {triple for _, triple in noted}
    drawn = withdrawn = 0
    for layer in strata(rules):
        revision = Revision(store, layer, tally)
        revision.revise(keys, triples)
        keys |= revision.gone.keys()
        triples |= {atom.triple for each in (revision.gone, revision.drawn) for atom in each.values()}
        drawn, withdrawn = drawn + len(revision.drawn), withdrawn + len(revision.gone)
    return Refreshed(drawn=drawn, withdrawn=withdrawn, problems=tally.told())


class Revision(Forward):
    """Corrects the conclusions of one layer."""

    def __init__(self, store: derived.Stored, rules: Sequence[Rule], tally: Tally) -> None:
        super().__init__(store, rules, tally)
        self.gone: dict[int, Atom] = {}
        """Conclusions that were withdrawn and did not come back."""
        self.drawn: dict[int, Atom] = {}
        """Conclusions that were not there before."""
        self._stored = store
        self._keys: dict[tuple[Triple, Order], int] = {}
        self._heads: defaultdict[str, list[Way]] = defaultdict(list)
        self._absent: defaultdict[str, list[Way]] = defaultdict(list)
        for rule in rules:
            assert rule.conclusion is not None
            self._heads[rule.conclusion.predicate].append(Way(rule, rule.conditions, rule.conclusion, store, tally))
            absent = [each for each in rule.conditions if isinstance(each, Condition) and each.negated]
            others = [each for each in rule.conditions if each not in absent]
            for each in absent:
                self._absent[each.predicate].append(Way(rule, others, each, store, tally))

    def revise(self, keys: Iterable[int], triples: Iterable[Triple]) -> None:
        """Follow changes of what lies below, and of facts, given by their keys and triples."""
        changed = sorted(triples)
        suspects = {each for each in changed if each[1] in self._heads}
        suspects.update(head for each in changed for head in self._unless(each))
        touched = [atom for key in keys for atom in self._resting_on(key)]
        touched += [atom for triple in suspects for atom in self._conclusions(triple)]
        for triple in sorted(suspects | self._withdraw(touched)):
            self._check(triple)
        for subject, predicate, target in changed:
            for atom in self._store.match(predicate, subject, target):
                self._join(atom)
        self._settle()

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
            self._tally.left -= WITHDRAWAL
            self._tally.held -= 1
            self._stored.withdraw(atom)
            self._keys[atom.triple, _order(atom)] = atom.key
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
        """Conclude; what comes back as it was gets its key again, so that what rests on it in layers above stays."""
        key = self._keys.get((triple, order), 0)
        if self.gone.pop(key, None) is not None:
            return self._conclude(key, triple, order, rule, premises)
        atom = self._conclude(self._stored.fresh(), triple, order, rule, premises)
        self.drawn[atom.key] = atom
        return atom


def _order(atom: Atom) -> Order:
    return -atom.confidence, atom.start, -atom.end
