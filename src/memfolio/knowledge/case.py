"""A case: what was believed and wanted, what was done about it, and how that went. Pure.

A case is written as lines that are never changed: `store` begins it, `retain` counts a further use, `revise` replaces
parts of it, and `delete` ends it. What it is at the moment follows from its lines in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from sys import float_info
from typing import Any

from memfolio.clock import EPOCH
from memfolio.errors import InputError
from memfolio.intake import choose, nearest
from memfolio.recall.asking.arguments import fraction, shown, text
from memfolio.types import Origin
from memfolio.vault.format.fields import read_moment

MANY = 1000
"""How many beliefs, desires, actions or metrics a case may have."""
LONG = 20_000
"""How many characters a text of a case may have."""
LESSONS = 20
"""How many lessons are kept, the latest last; earlier ones stay in the lines."""
PARTS = ("situation", "solution", "outcome")

Key = tuple[bool, frozenset[str], frozenset[str], str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The ids of what was believed and wanted, and the situation in words."""

    beliefs: tuple[str, ...] = ()
    desires: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The plan that was followed, and what was done."""

    plan_id: str = ""
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How it went; lessons are one a line."""

    success: bool
    metrics: Mapping[str, float] = field(default_factory=dict)
    lessons: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case as it stands; `outcome` has the success and metrics of the latest use, and the lessons of all."""

    id: str
    situation: Situation
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
        return (self.successes + 1) / (self.uses + 2)

    @property
    def key(self) -> Key:
        """What is the same for the same solution of the same situation; what strangers tell is apart from the rest."""
        at, done, is_strange = self.situation, self.solution, self.origin is Origin.UNTRUSTED
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
class Book:
    """The cases that lines tell of; `names` has the id of each line, also of those that told of a case once more."""

    cases: dict[str, Case] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    same: dict[Key, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def and_then(self, records: Iterable[Mapping[str, Any]]) -> Book:
        """What there is after further lines; what makes no sense is told in `problems` and changes nothing."""
        book = Book(dict(self.cases), dict(self.names), dict(self.same), list(self.problems))
        for record in records:
            try:
                book._take(record, read_moment(str(record.get("at")), UTC) or EPOCH)
            except InputError as error:
                book.problems.append(f"{shown(record.get('id'))}: {error.message}")
        return book

    def _take(self, record: Mapping[str, Any], at: datetime) -> None:
        if record.get("op", "store") == "store":
            self._store(read_case(record), at)
            return
        case = self.cases.get(self.names.get(str(record.get("case")), ""))
        if case is None:
            raise InputError(f"there is no case {shown(record.get('case'))}", hint="it must be stored first")
        changed = None if record["op"] == "delete" else after(case, record, at)
        if self.same.get(case.key) == case.id:
            del self.same[case.key]
        del self.cases[case.id]
        if changed:
            self._put(changed)

    def _store(self, case: Case, at: datetime) -> None:
        known = self.cases.get(self.same.get(case.key, ""))
        if known is None and self.names.get(case.id) in self.cases:
            raise InputError("another case has this id", hint="leave the id out")
        self._put(known.used(case.outcome, at) if known else replace(case, created_at=at, updated_at=at))
        self.names[case.id] = known.id if known else case.id

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
    """The case that a record tells of; InputError says what is wrong with it."""
    situation, solution, outcome = (_checked(name, record.get(name)) for name in PARTS)
    return Case(
        id=text("its id", record.get("case") or record.get("id") or ""),
        situation=Situation(**situation),
        solution=Solution(**solution),
        outcome=Outcome(**outcome),
        importance=fraction("importance", record.get("importance", 0.5)),
        origin=choose(Origin, "origin", record.get("origin", Origin.AGENT)),
        successes=int(outcome["success"]),
    )


def line_of(case: Case) -> dict[str, Any]:
    """A case as its line tells it, without what the writer adds."""
    return {name: asdict(getattr(case, name)) for name in PARTS} | {"importance": case.importance}


def _checked(part: str, value: object) -> dict[str, Any]:
    """The fields of a part of a case, each as it should be."""
    checks = _FIELDS[part]
    if not isinstance(value, Mapping):
        raise InputError(f"the {part} is a {type(value).__name__}", hint=f"pass an object with {', '.join(checks)}")
    if unknown := next((str(each) for each in value if each not in checks), None):
        raise InputError(f"the {part} has no {unknown[:40]!r}", hint=nearest(unknown, [*checks]))
    found = {name: check(name, value.get(name)) for name, check in checks.items()}
    if not any(found.values()) and part != "outcome":
        raise InputError(f"the {part} is empty", hint=f"give one of {', '.join(checks)}")
    return found


def _success(_: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError("the outcome does not say whether it was a success", hint="set success to true or false")
    return value


def _text(name: str, value: object) -> str:
    found = text(name, "" if value is None else value).strip()
    if len(found) > LONG:
        raise InputError(f"{name} has {len(found):,} characters", hint=f"tell it in at most {LONG:,}")
    return found


def _names(name: str, value: object) -> tuple[str, ...]:
    given = () if value is None else value
    if not isinstance(given, list | tuple | set | frozenset) or len(given) > MANY:
        raise InputError(f"{name} is no list of at most {MANY} texts", hint=f"pass {name} as a list")
    return tuple(found for each in given if (found := _text(f"one of {name}", each)))


def distinct(name: str, value: object) -> tuple[str, ...]:
    """A list of texts, each once."""
    return tuple(dict.fromkeys(_names(name, value)))


def _numbers(name: str, value: object) -> dict[str, float]:
    given = {} if value is None else value
    if not isinstance(given, Mapping) or len(given) > MANY:
        raise InputError(f"{name} is no object with at most {MANY} numbers", hint='write it like {"days": 3}')
    for each, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= float_info.max:
            raise InputError(f"{shown(each)} of {name} is no finite number", hint="what is no number goes into lessons")
    return {text("a metric", each): number for each, number in given.items()}


_FIELDS: Mapping[str, Mapping[str, Callable[[str, object], Any]]] = {
    "situation": {"beliefs": distinct, "desires": distinct, "context": _text},
    "solution": {"plan_id": _text, "actions": _names},
    "outcome": {"success": _success, "metrics": _numbers, "lessons": _text},
}
