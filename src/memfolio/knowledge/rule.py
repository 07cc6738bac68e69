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

from memfolio.errors import RuleError
from memfolio.knowledge.literal import Operator

FACTOR = 0.9
"""How much less sure a conclusion is than what it rests on, where a rule does not say."""
MOST_CONDITIONS = 64
MOST_CHARACTERS = 4000
"""Of each text in a rule."""
_VARIABLE = re.compile(r"(?<!\w)\?\w+(?:-\w+)*")


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
    return set(_VARIABLE.findall(text))


def check_rule(rule: Rule) -> Rule:
    """`rule` if it is safe; RuleError says what is wrong with it otherwise."""
    if problem := next(_flaws(rule), None):
        label = f"the rule {rule.name[:80]!r}" if rule.name else "the rule"
        raise RuleError(f"{label} {problem[0]}", hint=problem[1])
    return rule


def _flaws(rule: Rule) -> Iterator[tuple[str, str]]:
    known = bound(rule.conditions)
    if not any(isinstance(each, Condition) and not each.negated for each in rule.conditions):
        yield "has no condition that a fact could meet", "begin with one such as `?x hasRevenue ?y`"
    if len(rule.conditions) > MOST_CONDITIONS:
        yield f"has {len(rule.conditions)} conditions", f"use up to {MOST_CONDITIONS}; let one rule build on another"
    for each in rule.conditions:
        yield from _term_flaws(each)
        if isinstance(each, Comparison) and (loose := variables(each.terms) - known):
            yield f"compares {min(loose)}, which no condition binds", f"add a condition with {min(loose)}"
    yield from _conclusion_flaws(rule, known)
    if rule.type is RuleType.POLICY and not rule.action.strip():
        yield "is a policy without an action", "say what is to be done, as in `=> DO notify-cfo about ?x`"
    if loose := mentioned(rule.message + " " + rule.action) - known:
        yield f"speaks of {min(loose)}, which no condition binds", f"add a condition with {min(loose)}"
    if not 0 < rule.factor <= 1:
        yield f"has a confidence factor of {rule.factor}", "use a number above 0 and up to 1"
    yield from _other_flaws(rule)


def _other_flaws(rule: Rule) -> Iterator[tuple[str, str]]:
    for name, (owner, default) in _BELONGS.items():
        if owner is not rule.type and getattr(rule, name) != default:
            yield f"is of type {rule.type} and has a field {name}", f"that is for the type {owner} only"
    texts = (rule.name, rule.description, rule.domain, rule.message, rule.action)
    if longest := max((each for each in texts if len(each) > MOST_CHARACTERS), key=len, default=""):
        yield f"has a text of {len(longest):,} characters", f"use up to {MOST_CHARACTERS:,}"
    if rule.name.startswith("R-") or any(not each.isprintable() for each in rule.name):
        yield "has a name that is none", "use letters, digits and spaces; names that begin with R- are for ids"


def _conclusion_flaws(rule: Rule, known: set[str]) -> Iterator[tuple[str, str]]:
    if rule.conclusion is None:
        if rule.type is RuleType.INFERENCE:
            yield "concludes nothing", "say what follows, as in `=> ?x isTaxable true`"
        return
    yield from _term_flaws(rule.conclusion)
    if rule.conclusion.negated:
        yield "concludes that something is not so", "conclude a fact, or make it a constraint"
    if loose := variables(rule.conclusion.terms) - known:
        yield f"concludes with {min(loose)}, which no condition binds", f"add a condition with {min(loose)}"


def _term_flaws(part: Part) -> Iterator[tuple[str, str]]:
    if isinstance(part, Condition):
        yield from _predicate_flaws(part.predicate)
    for term in part.terms:
        if not term.strip():
            yield "has a condition without a subject or an object", "name both, or use variables"
        if is_variable(term) and not _VARIABLE.fullmatch(term):
            yield f"has the variable {term[:40]!r}", "name variables with letters, digits, - and _, such as ?x"
        if len(term) > MOST_CHARACTERS:
            yield f"has a term of {len(term):,} characters", f"use up to {MOST_CHARACTERS:,}"


def _predicate_flaws(predicate: str) -> Iterator[tuple[str, str]]:
    if not predicate or any(each.isspace() for each in predicate):
        yield f"has the predicate {predicate[:40]!r}", "write a predicate as one word, such as hasRevenue"
    if is_variable(predicate):
        yield f"has {predicate[:40]} for a predicate", "name the predicate; only subject and object can vary"


_BELONGS: dict[str, tuple[RuleType, object]] = {
    "conclusion": (RuleType.INFERENCE, None),
    "message": (RuleType.CONSTRAINT, ""),
    "severity": (RuleType.CONSTRAINT, Severity.WARNING),
    "action": (RuleType.POLICY, ""),
    "escalate": (RuleType.POLICY, False),
}
