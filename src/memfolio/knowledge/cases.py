"""Case-based reasoning: past situations, what was done in them, and the outcome."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from heapq import nsmallest
from math import log2
from sys import float_info
from typing import Any, NamedTuple

from memfolio.arguments import check_known, check_string, choose
from memfolio.clock import EPOCH
from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.index.lookup import record_lines
from memfolio.index.search import QUARANTINED, Filter
from memfolio.knowledge.facts import origin_of
from memfolio.recall.hit import Hits
from memfolio.recall.query import MAX_LIMIT, Query, check_number, known, words
from memfolio.recall.searcher import Searcher
from memfolio.text import shown
from memfolio.types import Action, Attribution, Origin, check_attribution, frozen
from memfolio.vault.change import Receipt
from memfolio.vault.fields import check_fraction, read_moment
from memfolio.vault.paths import knowledge_ledger
from memfolio.vault.vault import Vault

# A case: what was believed and wanted, what was done about it, and how that went. Pure.
#
# A case is written as lines that are never changed: `store` begins it, `retain` counts a further use, `revise`
# replaces parts of it, and `delete` ends it. What it is at the moment follows from its lines in their order.

MANY = 1000
"""How many beliefs, desires, actions or metrics a case may have."""
LONG = 20_000
"""How many characters a text of a case may have."""
LESSONS = 20
"""How many lessons are kept, the latest last; earlier ones stay in the lines."""
PARTS = ("situation", "solution", "outcome")

Key = tuple[bool, frozenset[str], frozenset[str], str, str, tuple[str, ...]]


@frozen
class CaseSituation:
    """The ids of the beliefs and desires that were active, and a description of the situation."""

    beliefs: tuple[str, ...] = ()
    desires: tuple[str, ...] = ()
    context: str = ""


@frozen
class Solution:
    """The plan that was followed, and what was done."""

    plan_id: str = ""
    actions: tuple[str, ...] = ()


@frozen
class Outcome:
    """The result of a use; one lesson per line."""

    success: bool
    metrics: Mapping[str, float] = field(default_factory=dict)
    lessons: str = ""


@frozen
class Case:
    """The current state of a case; `outcome` has the success and metrics of the latest use, the lessons of all."""

    id: str
    situation: CaseSituation
    solution: Solution
    outcome: Outcome
    importance: float = 0.5
    origin: Origin = Origin.AGENT
    uses: int = 1
    successes: int = 0
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH

    @property
    def standing(self) -> float:
        """How likely it is to work again, by how often it did; one use alone proves little."""
        # Laplace's rule of succession.
        return (self.successes + 1) / (self.uses + 2)

    @property
    def key(self) -> Key:
        """A key that is equal for the same solution of the same situation; untrusted cases have keys of their own."""
        at, done, is_strange = self.situation, self.solution, self.origin is Origin.UNTRUSTED
        # The order of beliefs and desires says nothing; that of actions does.
        words = " ".join(at.context.casefold().split())
        return is_strange, frozenset(at.beliefs), frozenset(at.desires), words, done.plan_id, done.actions

    def used(self, outcome: Outcome, at: datetime) -> Case:
        """The case after a further use."""
        lessons = dict.fromkeys((*self.outcome.lessons.splitlines(), *outcome.lessons.splitlines()))
        kept, metrics = "\n".join([*lessons][-LESSONS:])[-LONG:], {**self.outcome.metrics, **outcome.metrics}
        merged = replace(outcome, metrics=dict([*metrics.items()][-MANY:]), lessons=kept)
        successes = self.successes + outcome.success
        return replace(self, outcome=merged, updated_at=at, uses=self.uses + 1, successes=successes)


@dataclass(slots=True)
class CaseStore:
    """Cases folded from ledger lines; `names` maps the id of every line to the id of its case."""

    cases: dict[str, Case] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    same: dict[Key, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def with_lines(self, records: Iterable[Mapping[str, Any]]) -> CaseStore:
        """Return a new store with further lines applied; invalid lines only add to `problems`."""
        # A copy, since other threads may be reading the old one.
        store = CaseStore(dict(self.cases), dict(self.names), dict(self.same), list(self.problems))
        for record in records:
            try:
                store._take(record, read_moment(str(record.get("at")), UTC) or EPOCH)
            except InputError as error:
                store.problems.append(f"{shown(record.get('id'))}: {error.message}")
        return store

    def _take(self, record: Mapping[str, Any], at: datetime) -> None:
        if record.get("op", "store") == "store":
            case = read_case(record)
            known = self.cases.get(self.same.get(case.key, ""))
            if known is None and self.names.get(case.id) in self.cases:
                raise InputError("another case has this id", hint="leave the id out")
            # A line that tells the same once more has an id, too: by it, the first case is found.
            self.names[case.id] = known.id if known else case.id
            self._put(known.used(case.outcome, at) if known else replace(case, created_at=at, updated_at=at))
            return
        case_id = self.names.get(str(record.get("case")), "")
        if case_id not in self.cases:
            raise InputError(f"there is no case {shown(record.get('case'))}", hint="it must be stored first")
        before = self.cases[case_id]
        changed = None if record["op"] == "delete" else after(before, record, at)
        # After a revision its key may be another, or may belong to another case.
        if self.same.get(before.key) == case_id:
            del self.same[before.key]
        del self.cases[case_id]
        if changed:
            self._put(changed)

    def _put(self, case: Case) -> None:
        self.cases[case.id] = case
        self.same[case.key] = case.id


def after(case: Case, record: Mapping[str, Any], at: datetime) -> Case:
    """A case after a `retain` or `revise` line about it."""
    if record["op"] == "retain":
        return case.used(Outcome(**_checked("outcome", record.get("outcome"))), at)
    if record["op"] != "revise":
        raise InputError(f"{shown(record['op'])} is nothing that happens to a case", hint="retain, revise or delete")
    changed = read_case({**line_of(case), "origin": case.origin, **record, "case": case.id})
    successes = case.successes + changed.outcome.success - case.outcome.success  # the latest use went otherwise
    return replace(changed, created_at=case.created_at, updated_at=at, uses=case.uses, successes=successes)


def read_case(record: Mapping[str, Any]) -> Case:
    """Read a case from a JSON record; raises InputError naming the invalid field."""
    situation, solution, outcome = (_checked(name, record.get(name)) for name in PARTS)
    return Case(
        id=check_string("its id", record.get("case") or record.get("id") or ""),
        situation=CaseSituation(**situation),
        solution=Solution(**solution),
        outcome=Outcome(**outcome),
        importance=check_fraction("importance", record.get("importance", 0.5)),
        origin=choose(Origin, "origin", record.get("origin", Origin.AGENT)),
        successes=int(outcome["success"]),
    )


def line_of(case: Case) -> dict[str, Any]:
    """Return the fields of a case as a JSON record, without those that the writer adds."""
    return {name: asdict(getattr(case, name)) for name in PARTS} | {"importance": case.importance}


def _checked(part: str, value: object) -> dict[str, Any]:
    """The fields of a part of a case, each as it should be."""
    checks = _FIELDS[part]
    if not isinstance(value, Mapping):
        raise InputError(f"the {part} is a {type(value).__name__}", hint=f"pass an object with {', '.join(checks)}")
    check_known(f"the {part} has no", value, checks)
    found = {name: check(name, value.get(name)) for name, check in checks.items()}
    if not any(found.values()) and part != "outcome":
        raise InputError(f"the {part} is empty", hint=f"give one of {', '.join(checks)}")
    return found


def _success(_: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError("the outcome does not say whether it was a success", hint="set success to true or false")
    return value


def _text(name: str, value: object) -> str:
    found = check_string(name, "" if value is None else value).strip()
    if len(found) > LONG:
        raise InputError(f"{name} has {len(found):,} characters", hint=f"tell it in at most {LONG:,}")
    return found


def _names(name: str, value: object) -> tuple[str, ...]:
    given = () if value is None else value
    if not isinstance(given, list | tuple | set | frozenset) or len(given) > MANY:
        raise InputError(f"{name} is no list of at most {MANY} texts", hint=f"pass {name} as a list")
    return tuple(found for each in given if (found := _text(f"one of {name}", each)))


def _distinct(name: str, value: object) -> tuple[str, ...]:
    """A list of texts, each once."""
    return tuple(dict.fromkeys(_names(name, value)))


def _numbers(name: str, value: object) -> dict[str, float]:
    given = {} if value is None else value
    if not isinstance(given, Mapping) or len(given) > MANY:
        raise InputError(f"{name} is no object with at most {MANY} numbers", hint='write it like {"days": 3}')
    for each, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= float_info.max:
            raise InputError(f"{shown(each)} of {name} is no finite number", hint="what is no number goes into lessons")
    return {check_string("a metric", each): number for each, number in given.items()}


_FIELDS: Mapping[str, Mapping[str, Callable[[str, object], Any]]] = {
    "situation": {"beliefs": _distinct, "desires": _distinct, "context": _text},
    "solution": {"plan_id": _text, "actions": _names},
    "outcome": {"success": _success, "metrics": _numbers, "lessons": _text},
}


# Which cases are like a situation, and which are worth keeping. Pure.

TEXT = 0.5
"""Weight of similar wording if no ids match; the more ids match, the less the wording counts."""
OUTCOME = 0.2
"""How much of a score depends on how well a case worked."""
MONTH = 30 * 86400


@frozen
class SimilarCase:
    """A case similar to a situation; `score` is `similarity` weighted by how well the case worked."""

    case: Case
    similarity: float
    score: float
    beliefs: tuple[str, ...]
    desires: tuple[str, ...]
    text: float

    @property
    def is_warning(self) -> bool:
        """Whether the case failed more often than it worked, and so shows what to avoid."""
        return 2 * self.case.successes < self.case.uses

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons why the case is similar, and how often it worked, each as a phrase."""
        at, found = self.case.situation, list[str]()
        for name, shared, every in (("beliefs", self.beliefs, at.beliefs), ("desires", self.desires, at.desires)):
            found += [f"shares {len(shared)} of {len(every)} {name}: {', '.join(shared[:5])}"] if shared else []
        found += [f"is told in like words ({self.text:.2f})"] if self.text else []
        warning = ": a warning" if self.is_warning else ""
        return (*found, f"worked {self.case.successes} of {self.case.uses} times{warning}")


class Similar(list[SimilarCase]):
    """Similar cases, best first; `degraded` names parts of the search that were unavailable."""

    def __init__(self, found: Iterable[SimilarCase], degraded: tuple[str, ...] = ()) -> None:
        super().__init__(found)
        self.degraded = degraded


def rank(
    cases: Iterable[Case],
    *,
    beliefs: Collection[str],
    desires: Collection[str],
    texts: Mapping[str, float],
    weight: float,
    limit: int,
) -> list[SimilarCase]:
    """Return the cases most similar to a situation, best first; ties are broken by importance, then newest first.

    The similarity is the share of the case's beliefs that match, times `weight`, plus the share of its desires that
    match, times the rest. A case without beliefs or desires scores nothing for that part.
    """
    known, wished, found = frozenset(beliefs), frozenset(desires), list[SimilarCase]()
    for case in cases:
        at, text = case.situation, texts.get(case.id, 0.0)
        shared = tuple(each for each in at.beliefs if each in known)
        wanted = tuple(each for each in at.desires if each in wished)
        share = weight * len(shared) / (len(at.beliefs) or 1) + (1 - weight) * len(wanted) / (len(at.desires) or 1)
        # Words fill a part of what the ids leave open.
        like = share + (1 - share) * TEXT * text
        # Rounded, so that equal cases tie whatever the order of the additions.
        if score := round(like * (1 - OUTCOME + OUTCOME * case.standing), 9):
            found.append(
                SimilarCase(
                    case=case, similarity=round(like, 6), score=score, beliefs=shared, desires=wanted, text=text
                )
            )
    return nsmallest(limit, found, key=_place)


def _place(found: SimilarCase) -> tuple[float, float, float, str]:
    case = found.case
    return -found.score, -case.importance, -case.updated_at.timestamp(), case.id


def worth(case: Case, now: datetime) -> float:
    """How much would be lost with a case: above all its importance, then how well it worked, how often, how lately."""
    months = max(0.0, (now - case.updated_at).total_seconds() / MONTH)
    return case.importance + 0.25 * case.standing + 0.1 * log2(case.uses) - 0.1 * log2(1 + months)


def surplus(cases: Collection[Case], most: int, now: datetime) -> list[Case]:
    """The cases of least worth that must go so that `most` are left; equal ones by id."""
    return nsmallest(max(0, len(cases) - most), cases, key=lambda case: (worth(case, now), case.id))


# The cases of one agent as a small object: what was done before in situations like this, and how it went.
#
# The cycle of case-based reasoning: `retrieve` a case, reuse it, `revise` it where it did not fit, `retain` how it
# went.

KEEPER = Attribution(actor="bot:cases", trigger="case")
REVISABLE = (*PARTS, "importance")
WIDE = 50
"""How many cases are looked at for their text."""


class _Snapshot(NamedTuple):
    """The cases at one state of the index, and the lines they were folded from."""

    moment: tuple[object, ...] = ()
    lines: Sequence[str] = ()
    store: CaseStore = CaseStore()


class Cases:
    """The cases of one agent; those of other agents are not included."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent
        self._ledger = knowledge_ledger(agent, "cases")
        self._snapshot = _Snapshot()

    def store(
        self,
        situation: Mapping[str, Any],
        solution: Mapping[str, Any],
        outcome: Mapping[str, Any],
        *,
        importance: float = 0.5,
        origin: Origin | str | None = None,
        by: Attribution = KEEPER,
        dry_run: bool = False,
    ) -> Case:
        """Store how a situation was solved; a known solution of a known situation counts as a further use of its case.

        If there are too many cases, the least valuable are deleted in the same change.
        """
        given = {"situation": situation, "solution": solution, "outcome": outcome, "importance": importance}
        case, store = read_case({**given, "origin": origin or origin_of(self._vault, by)}), self._current().store
        if same := store.same.get(case.key):
            return self.retain(same, outcome, by=by, dry_run=dry_run)
        if dry_run:
            return case
        most, now = self._vault.config.knowledge.cases, self._vault.home.now()
        pruned = [
            {"op": "delete", "case": each.id, "pruned": True} for each in surplus(store.cases.values(), most - 1, now)
        ]
        done = self._write([{"op": "store", **line_of(case), "origin": case.origin.value}, *pruned], by)
        notice = f"there are at most {most:,} cases (knowledge.cases): those of least worth went"
        if pruned and notice not in self._vault.notices:
            self._vault.notices.append(notice)
        return self.get(done.ids[0])

    def retrieve(
        self,
        beliefs: Iterable[str] = (),
        desires: Iterable[str] = (),
        context: str = "",
        *,
        limit: int = 5,
        include: Iterable[str] = (),
    ) -> Similar:
        """Return the most similar cases, best first; one that failed more often than it worked is marked as a warning.

        Pass "quarantined" in `include` to also search cases from untrusted sources.
        """
        held, wanted = _distinct("beliefs", beliefs), _distinct("desires", desires)
        text = check_string("context", context)
        most = check_number("limit", limit, 1, MAX_LIMIT)
        strange = known("include", words("include", include), (QUARANTINED,))
        if not (held or wanted or text.strip()):
            raise InputError("no situation is given", hint="name beliefs or desires, or tell the context in words")
        store = self._current().store
        hits = Hits([])
        if text.strip():
            home, wide, wanted_forms = self._vault.home, max(most, WIDE), Filter(forms=("case",), include=strange)
            query = Query(text=text, limit=wide, depth=0, filter=wanted_forms, now=home.now(), zone=home.zone)
            hits = self._searcher.recall(replace(query, agents=(self._agent,)))
        found = rank(
            (case for case in store.cases.values() if strange or case.origin is not Origin.UNTRUSTED),
            beliefs=held,
            desires=wanted,
            texts={store.names.get(hit.memory.id, ""): max(0.0, min(1.0, hit.score)) for hit in reversed(hits)},
            weight=self._vault.config.knowledge.beliefs,
            limit=most,
        )
        return Similar(found, hits.degraded)

    def retain(self, id: str, outcome: Mapping[str, Any], *, by: Attribution = KEEPER, dry_run: bool = False) -> Case:
        """Note how a further use of a case went."""
        return self._change(self.get(id), {"op": "retain", "outcome": outcome}, by, dry_run=dry_run)

    def revise(self, id: str, *, by: Attribution = KEEPER, dry_run: bool = False, **changes: Any) -> Case:
        """Change the given fields of a case: situation, solution, outcome or importance.

        The previous version stays in the history.
        """
        check_known("a case has no", changes, REVISABLE)
        case = self.get(id)
        given = {name: value for name, value in changes.items() if value is not None}
        if not given:
            raise InputError("nothing is to be changed", hint=f"give one of {', '.join(REVISABLE)}")
        for name, value in line_of(case).items():
            # A part is merged field by field: who gives a context keeps the beliefs.
            if isinstance(value, Mapping) and isinstance(given.get(name), Mapping):
                given[name] = {**value, **given[name]}
        whose = case.origin if case.origin is Origin.UNTRUSTED else origin_of(self._vault, by)
        return self._change(case, {"op": "revise", **given, "origin": whose.value}, by, dry_run=dry_run)

    def delete(self, id: str, *, by: Attribution = KEEPER, dry_run: bool = False) -> Case:
        """Take a case out; its lines stay, and undoing the change brings it back."""
        case = self.get(id)
        if not dry_run:
            self._write([{"op": "delete", "case": case.id}], by, Action.DELETE)
        return case

    def get(self, id: str) -> Case:
        """Return the case with this id, or the case that the line with this id added to."""
        store = self._current().store
        name = store.names.get(check_string("an id", id), "")
        if name and name not in store.cases:
            raise NotFoundError(f"case {id[:80]!r} is deleted", hint="undoing that change brings it back")
        if not name:
            raise NotFoundError(f"there is no case {id[:80]!r}", hint="`memfolio case list` shows them")
        return store.cases[name]

    def list(self) -> Sequence[Case]:
        """All cases, the latest used first."""
        return sorted(self._current().store.cases.values(), key=lambda case: (case.updated_at, case.id), reverse=True)

    def history(self, id: str) -> Sequence[Mapping[str, Any]]:
        """Return the lines about a case, oldest first; also works for a deleted case."""
        read = self._current()
        names = read.store.names
        if (first := names.get(check_string("an id", id))) is None:
            raise NotFoundError(f"there never was a case {id[:80]!r}", hint="`memfolio case list` shows what there is")
        lines = map(json.loads, read.lines)
        return [line for line in lines if names.get(str(line.get("case") or line.get("id"))) == first]

    def problems(self) -> Sequence[str]:
        """Which lines of the ledger were passed over, and why."""
        return self._current().store.problems

    def _change(self, case: Case, change: Mapping[str, Any], by: Attribution, *, dry_run: bool) -> Case:
        """Append a line about a case. Each line holds the whole case, so that it can be read alone."""
        record = {**line_of(case), **change, "case": case.id}
        changed = after(case, record, self._vault.home.now())
        if (other := self._current().store.same.get(changed.key, case.id)) != case.id:
            raise ConflictError(f"{other} is this solution of this situation", hint="retain that one, delete this one")
        if not dry_run:
            self._write([record], by)
        return changed if dry_run else self.get(case.id)

    def _write(self, lines: Iterable[Mapping[str, Any]], by: Attribution, action: Action = Action.APPEND) -> Receipt:
        return self._vault.add_lines(self._ledger, lines, check_attribution(by), "C", action)

    def _current(self) -> _Snapshot:
        """The cases as they are; after a change only the lines that it added are read."""
        index, last = self._searcher.index, self._snapshot
        moment = index.moment()
        if index.trouble is not None:  # then it may lag behind that moment
            moment = ()
        if not moment or moment != last.moment:
            lines = index.read(lambda connection: record_lines(connection, "cases"))
            known = len(last.lines)
            # Somebody edited or removed earlier lines: everything is folded anew.
            if lines[:known] != last.lines:
                known, last = 0, _Snapshot()
            self._snapshot = last = _Snapshot(moment, lines, last.store.with_lines(map(json.loads, lines[known:])))
        return last
