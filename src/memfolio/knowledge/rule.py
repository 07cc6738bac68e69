"""A rule: conditions with variables, and what follows where all of them hold. Pure.

A rule is safe when every variable that it concludes with or compares is bound by a condition that is not negated. A
variable that stands in one negated condition only means "anything".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memfolio.errors import RuleError
from memfolio.knowledge.literal import Operator

FACTOR = 0.9
"""How much less sure a conclusion is than what it rests on, where a rule does not say."""


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
    return {term for term in terms if is_variable(term)}


def bound(conditions: Iterable[Part]) -> set[str]:
    """The variables that get a value from facts."""
    held = (each for each in conditions if isinstance(each, Condition) and not each.negated)
    return {name for each in held for name in variables(each.terms)}


def check_rule(rule: Rule) -> Rule:
    """`rule` if it is safe; RuleError says what is wrong with it otherwise."""
    if problem := next(_flaws(rule), None):
        raise RuleError(f"the rule {rule.name[:80]!r} {problem[0]}", hint=problem[1])
    return rule


def _flaws(rule: Rule) -> Iterator[tuple[str, str]]:
    known = bound(rule.conditions)
    if not known and not any(isinstance(each, Condition) and not each.negated for each in rule.conditions):
        yield "has no condition that a fact could meet", "begin with one such as `?x hasRevenue ?y`"
    for each in rule.conditions:
        if isinstance(each, Condition):
            yield from _predicate_flaws(each)
        elif loose := variables(each.terms) - known:
            yield f"compares {min(loose)}, which no condition binds", f"add a condition with {min(loose)}"
    if rule.type is RuleType.INFERENCE:
        yield from _conclusion_flaws(rule, known)
    elif rule.conclusion is not None:
        yield f"is a {rule.type} and concludes nothing", "leave the conclusion out, or make it an inference rule"
    if rule.type is RuleType.POLICY and not rule.action.strip():
        yield "is a policy without an action", "say what is to be done"
    if not 0 < rule.factor <= 1:
        yield f"has a confidence factor of {rule.factor}", "use a number above 0 and up to 1"


def _conclusion_flaws(rule: Rule, known: set[str]) -> Iterator[tuple[str, str]]:
    if rule.conclusion is None:
        yield "concludes nothing", "say what follows, as in `=> ?x isTaxable true`"
        return
    yield from _predicate_flaws(rule.conclusion)
    if rule.conclusion.negated:
        yield "concludes that something is not so", "conclude a fact, or make it a constraint"
    if loose := variables(rule.conclusion.terms) - known:
        yield f"concludes with {min(loose)}, which no condition binds", f"add a condition with {min(loose)}"


def _predicate_flaws(condition: Condition) -> Iterator[tuple[str, str]]:
    if not condition.predicate or any(each.isspace() for each in condition.predicate):
        yield f"has the predicate {condition.predicate[:40]!r}", "write a predicate as one word, such as hasRevenue"
    if is_variable(condition.predicate):
        yield f"has {condition.predicate[:40]} for a predicate", "name the predicate; only subject and object can vary"
    if not all(each.strip() for each in condition.terms):
        yield "has a condition without a subject or an object", "name both, or use variables"
