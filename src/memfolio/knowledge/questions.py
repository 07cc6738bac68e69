"""Questions to the facts of all agents that one may read, answered from the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from memfolio.errors import NotFoundError
from memfolio.graph.making import Shelf
from memfolio.index.database import Connection
from memfolio.index.derived import Stored
from memfolio.index.fact_lines import fact_id, read_moment
from memfolio.index.fact_query import derived_named, fact_of, is_told_of, triple_named
from memfolio.index.rows import to_us
from memfolio.knowledge import traverse as graph
from memfolio.knowledge.fact_line import When
from memfolio.knowledge.relations import Atom, Relations
from memfolio.knowledge.traverse import AGENT, HOPS, SHOWN, Cited, Groups, Impact, Misfit, Paths
from memfolio.vault.vault import Vault

T = TypeVar("T")


class Questions:
    """Asks about what holds now, or at `valid_at`; what strangers said is left out."""

    def __init__(self, vault: Vault, library: Shelf, *, refresh: Callable[[], object] = lambda: None) -> None:
        self._vault = vault
        self._library = library
        self._refresh = refresh

    def traverse(
        self,
        start: str | None,
        path: str | Sequence[str],
        *,
        valid_at: When = None,
        limit: int = SHOWN,
        hops: int = HOPS,
    ) -> Paths:
        """The paths from a node, or from any, along predicates or a ready path such as `belief-goal-plan`."""
        steps = graph.read_path(path, hops)
        return graph.traverse(self, start, steps, self._moment(valid_at), limit=max(limit, 1))

    def impact(self, subject: str, *, valid_at: When = None, hops: int = HOPS) -> Impact:
        """The goals, plans, steps and whatever else is in doubt with a node, or with the fact that has this id.

        NotFoundError where no fact has ever told of it.
        """
        moment, facts = self._moment(valid_at), self._resting_on(subject)
        found = graph.impact(self, subject, moment, facts=facts, hops=hops)
        if not found.kinds and not facts and not self._is_told_of(subject):
            hint = "name a subject, an object or the id of a fact; `memfolio fact query` shows which there are"
            raise NotFoundError(f"no fact tells of {subject[:80]!r}", hint=hint)
        return found

    def _is_told_of(self, node: str) -> bool:
        return any(index.read(lambda db: is_told_of(db, node)) for index in self._library.indexes())

    def aggregate(self, conditions: str, *, by: str = AGENT, valid_at: When = None) -> Groups:
        """What meets conditions in the text form of rules, counted by agent or by a variable."""
        return graph.aggregate(self, graph.read_conditions(conditions), self._moment(valid_at), by=by)

    def validate(self, *, strict: bool = False, valid_at: When = None) -> list[Misfit]:
        """The facts of the base model that join what they cannot."""
        return graph.validate(self, self._moment(valid_at), strict=strict)

    def ids(self, cited: Iterable[Cited]) -> dict[Cited, str]:
        """The ids of facts; what was retracted has none."""
        wanted = list(dict.fromkeys(cited))
        found: dict[Cited, str] = {}
        for index in self._library.indexes():
            if mine := [each for each in wanted if each.agent == index.agent]:
                found |= index.read(partial(_ids, mine))
        return found

    def each(self, question: Callable[[Relations], T]) -> list[tuple[str, T]]:
        """What a question finds with each agent, the own one first."""
        return [(index.agent, index.read(lambda db: question(Stored(db)))) for index in self._library.indexes()]

    def _moment(self, valid_at: When) -> int:
        self._refresh()
        home = self._vault.home
        return to_us(home.now()) if valid_at is None else read_moment("valid_at", valid_at, home.zone)

    def _resting_on(self, id: str) -> list[Cited]:
        """The fact with an id, also one that was retracted, and all conclusions that rest on it."""
        for index in self._library.indexes() if id[:2] in ("F-", "D-") else ():
            if found := index.read(partial(_with_dependents, id, index.agent)):
                return [Cited(index.agent, atom) for atom in found]
        return []


def _ids(cited: Iterable[Cited], db: Connection) -> dict[Cited, str]:
    known = ((each, each.atom.key < 0, fact_of(db, each.atom.triple)) for each in cited)
    return {
        each: fact_id(each.agent, each.atom.triple, "D") if is_derived else fact.id if fact else ""
        for each, is_derived, fact in known
    }


def _with_dependents(id: str, agent: str, db: Connection) -> list[Atom]:
    """The fact or conclusion with an id and all that rests on it; as if it held where it does not."""
    concluded = derived_named(db, id, agent) if id.startswith("D-") else None
    triple = concluded.triple if concluded else triple_named(db, id)
    if triple is None:
        return []
    stored, (subject, predicate, target) = Stored(db), triple
    found = {atom.key: atom for atom in stored.match(predicate, subject, target)} or {0: Atom(0, *triple)}
    waiting = list(found)
    while waiting:
        further = {atom.key: atom for atom in stored.dependents(waiting.pop()) if atom.key not in found}
        found |= further
        waiting += further
    return list(found.values())
