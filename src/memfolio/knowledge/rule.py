"""A rule: conditions with variables, and what follows where all of them hold. Pure.

A rule is safe when every variable that it concludes with or compares is bound by a condition that is not negated. A
variable that stands in negated conditions only means "anything".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain

from memfolio.errors import RuleError
from memfolio.knowledge.literal import Operator

FACTOR = 0.9
"""How much less sure a conclusion is than what it rests on, where a rule does not say."""
MOST_CONDITIONS = 64
MOST_CHARACTERS = 10_000
"""Of all names, terms and texts of a rule together."""
VARIABLE = re.compile(r"(?<!\w)\?\w+(?:-\w+)*")


class RuleType(StrEnum):
    """What a rule is for: to conclude, to warn, or to act."""

    INFERENCE = "inference"
    CONSTRAINT = "constraint"
    POLICY = "policy"


class Severity(StrEnum):
    """How bad it is that a constraint is violated, the mildest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Condition:
    """A fact that must be there, or with `negated` must not; subject and object may be variables."""

    subject: str
    predicate: str
    object: str
    negated: bool = False

    @property
    def terms(self) -> tuple[str, str]:
        return self.subject, self.object


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of values, of which either may be a variable."""

    left: str
    operator: Operator
    right: str

    @property
    def terms(self) -> tuple[str, str]:
        return self.left, self.right


Part = Condition | Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule as it stands."""

    id: str
    name: str
    type: RuleType
    conditions: tuple[Part, ...]
    conclusion: Condition | None = None
    """What an inference rule concludes."""
    message: str = ""
    """What to say where a constraint is violated; `?variables` in it are filled in."""
    severity: Severity = Severity.WARNING
    action: str = ""
    """What a policy rule asks for; `?variables` in it are filled in."""
    escalate: bool = False
    factor: float = FACTOR
    enabled: bool = True
    kept: bool = False
    """Whether what an inference rule concludes is kept with the facts, and withdrawn with them."""
    domain: str = ""
    description: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


def is_variable(term: str) -> bool:
    """Whether a term stands for anything: `?x`."""
    return len(term) > 1 and term[0] == "?"


def variables(terms: Iterable[str]) -> set[str]:
    """Those of the terms that are variables."""
    return {term for term in terms if is_variable(term)}


def bound(conditions: Iterable[Part]) -> set[str]:
    """The variables that get a value from facts."""
    held = (each for each in conditions if isinstance(each, Condition) and not each.negated)
    return {name for each in held for name in variables(each.terms)}


def mentioned(text: str) -> set[str]:
    """The variables in a message or an action."""
    return set(VARIABLE.findall(text))


def spoken_of(rules: Iterable[Rule]) -> set[str]:
    """The predicates in the conditions and conclusions of rules."""
    parts = (part for rule in rules for part in (rule.conclusion, *rule.conditions))
    return {part.predicate for part in parts if isinstance(part, Condition)}


def check_rule(rule: Rule) -> Rule:
    """`rule` if it is safe; RuleError says what is wrong with it otherwise."""
    if problem := next(_flaws(rule), None):
        label = f"the rule {rule.name[:80]!r}" if rule.name else "the rule"
        raise RuleError(f"{label} {problem[0]}", hint=problem[1])
    return rule


def _flaws(rule: Rule) -> Iterator[tuple[str, str]]:
    """What is wrong with a rule, each with what to do about it."""
    if not any(isinstance(each, Condition) and not each.negated for each in rule.conditions):
        yield "has no condition that a fact could meet", "begin with one such as `?x hasRevenue ?y`"
    if len(rule.conditions) > MOST_CONDITIONS:
        yield f"has {len(rule.conditions)} conditions", f"use up to {MOST_CONDITIONS}; let one rule build on another"
    if (size := _size(rule)) > MOST_CHARACTERS:
        yield f"has {size:,} characters", f"use up to {MOST_CHARACTERS:,}"
    if rule.name.startswith("R-") or not rule.name.isprintable():
        yield "has a name that is none", "use letters, digits and spaces; names that begin with R- are for ids"
    if not 0 < rule.factor <= 1:
        yield f"has a confidence factor of {rule.factor}", "use a number above 0 and up to 1"
    for part in _parts(rule):
        yield from _part_flaws(part)
    yield from _loose_ends(rule)
    yield from _flaws_of_type(rule)


def _parts(rule: Rule) -> tuple[Part, ...]:
    return (*rule.conditions, rule.conclusion) if rule.conclusion else rule.conditions


def _size(rule: Rule) -> int:
    texts = (rule.name, rule.description, rule.domain, rule.message, rule.action)
    parts = ((*each.terms, each.predicate if isinstance(each, Condition) else "") for each in _parts(rule))
    return sum(map(len, chain(texts, *parts)))


def _part_flaws(part: Part) -> Iterator[tuple[str, str]]:
    if isinstance(part, Condition):
        if not part.predicate or any(each.isspace() for each in part.predicate):
            yield f"has the predicate {part.predicate[:40]!r}", "write a predicate as one word, such as hasRevenue"
        if is_variable(part.predicate):
            yield f"has {part.predicate[:40]} for a predicate", "name the predicate; only subject and object can vary"
    for term in part.terms:
        if not term.strip():
            yield "says something without a subject, an object or a value", "name both sides, or use variables"
        if is_variable(term) and not VARIABLE.fullmatch(term):
            yield f"has the variable {term[:40]!r}", "name variables with letters, digits, - and _, such as ?x"


def _loose_ends(rule: Rule) -> Iterator[tuple[str, str]]:
    """Variables that are used and get no value from facts."""
    compared = (each.terms for each in rule.conditions if isinstance(each, Comparison))
    used = {
        "compares": variables(chain(*compared)),
        "concludes with": variables(rule.conclusion.terms) if rule.conclusion else set(),
        "speaks of": mentioned(f"{rule.message} {rule.action}"),
    }
    for verb, names in used.items():
        for name in sorted(names - bound(rule.conditions)):
            yield f"{verb} {name}, which no condition binds", f"add a condition with {name}"


def _flaws_of_type(rule: Rule) -> Iterator[tuple[str, str]]:
    """What a rule of its type must have, or must not."""
    if rule.type is RuleType.INFERENCE and rule.conclusion is None:
        yield "concludes nothing", "say what follows, as in `=> ?x isTaxable true`"
    if rule.conclusion and rule.conclusion.negated:
        yield "concludes that something is not so", "conclude a fact, or make it a constraint"
    if rule.type is RuleType.POLICY and not rule.action.strip():
        yield "is a policy without an action", "say what is to be done, as in `=> DO notify-cfo about ?x`"
    for name, (owner, default) in _BELONGS.items():
        if owner is not rule.type and getattr(rule, name) != default:
            yield f"is of type {rule.type} and has a field {name}", f"that is for the type {owner} only"


_BELONGS: dict[str, tuple[RuleType, object]] = {
    "conclusion": (RuleType.INFERENCE, None),
    "message": (RuleType.CONSTRAINT, ""),
    "severity": (RuleType.CONSTRAINT, Severity.WARNING),
    "action": (RuleType.POLICY, ""),
    "escalate": (RuleType.POLICY, False),
}
