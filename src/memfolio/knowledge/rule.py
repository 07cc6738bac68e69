"""Rules: the values, their text and JSON forms, and stratification. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, count, repeat
from typing import Any, TypeVar, cast

from memfolio.arguments import nearest
from memfolio.clock import iso
from memfolio.errors import RuleError
from memfolio.expression import Reader
from memfolio.knowledge.literal import SIGNS, Operator
from memfolio.types import frozen
from memfolio.vault.fields import read_moment

# A rule: conditions with variables, and what follows where all of them hold. Pure.
#
# A rule is safe when every variable that it concludes with or compares is bound by a condition that is not negated. A
# variable that stands in negated conditions only means "anything".

FACTOR = 0.9
"""Confidence of a conclusion relative to its premises, unless a rule sets its own."""
MOST_CONDITIONS = 64
MOST_CHARACTERS = 10_000
"""Of all names, terms and texts of a rule together."""
VARIABLE = re.compile(r"(?<!\w)\?\w+(?:-\w+)*")


class RuleType(StrEnum):
    """The purpose of a rule: to conclude, to warn, or to act."""

    INFERENCE = "inference"
    CONSTRAINT = "constraint"
    POLICY = "policy"


class Severity(StrEnum):
    """The severity of a violated constraint, mildest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Condition:
    """A pattern that a fact must match, or with `negated` must not; subject and object may be variables."""

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


@frozen
class Rule:
    """The current state of a rule."""

    id: str
    name: str
    type: RuleType
    conditions: tuple[Part, ...]
    conclusion: Condition | None = None
    """The conclusion of an inference rule."""
    message: str = ""
    """The message of a violated constraint; `?variables` in it are replaced by their values."""
    severity: Severity = Severity.WARNING
    action: str = ""
    """The action of a policy rule; `?variables` in it are replaced by their values."""
    escalate: bool = False
    factor: float = FACTOR
    enabled: bool = True
    kept: bool = False
    """Whether conclusions of this inference rule are stored with the facts, and withdrawn with them."""
    domain: str = ""
    description: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


def is_variable(term: str) -> bool:
    """Whether a term is a variable such as `?x`."""
    return len(term) > 1 and term[0] == "?"


def variables(terms: Iterable[str]) -> set[str]:
    """Those of the terms that are variables."""
    return {term for term in terms if is_variable(term)}


def positives(parts: Iterable[Part]) -> list[Condition]:
    """The conditions that a fact must meet: neither negated nor a comparison."""
    return [part for part in parts if isinstance(part, Condition) and not part.negated]


def bound(conditions: Iterable[Part]) -> set[str]:
    """The variables that get a value from facts."""
    return {name for each in positives(conditions) for name in variables(each.terms)}


def variables_in(text: str) -> set[str]:
    """The variables in a message or an action."""
    return set(VARIABLE.findall(text))


def predicates_of(rules: Iterable[Rule]) -> set[str]:
    """The predicates in the conditions and conclusions of rules."""
    parts = (part for rule in rules for part in (rule.conclusion, *rule.conditions))
    return {part.predicate for part in parts if isinstance(part, Condition)}


def check_rule(rule: Rule) -> Rule:
    """Return `rule` if it is safe; raises RuleError otherwise."""
    if problem := next(_flaws(rule), None):
        label = f"the rule {rule.name[:80]!r}" if rule.name else "the rule"
        raise RuleError(f"{label} {problem[0]}", hint=problem[1])
    return rule


def _flaws(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the flaws of a rule, each with a hint."""
    if not positives(rule.conditions):
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
        "speaks of": variables_in(f"{rule.message} {rule.action}"),
    }
    for verb, names in used.items():
        for name in sorted(names - bound(rule.conditions)):
            yield f"{verb} {name}, which no condition binds", f"add a condition with {name}"


def _flaws_of_type(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield missing and superfluous fields for a rule of this type."""
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


# Rules as a person writes them, and back. Pure.
#
# taxable: ?x hasRevenue ?y and ?y > 50000 and not ?x isExempt true => ?x isTaxable true [factor 0.8] ?x isA Employee
# and not ?x hasManager ?m => ERROR: ?x has no manager ?x hasDebt ?d and ?d > $1m => DO notify-cfo about ?x [escalate,
# domain finance]

_OPERATORS = {**SIGNS, "contains": Operator.CONTAINS}
SYMBOLS = {operator: symbol for symbol, operator in reversed(_OPERATORS.items())}
_KEYWORDS = frozenset({"and", "not", "contains", "do"})
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# A comma joins conditions, except within a number such as 50,000.
_BARE = r'(?:[^\s",\[\]=<>!≠≥≤]|(?<=[0-9]),(?=[0-9]))+(?<!:)'
_SIGNS = "=!<>≠≥≤,[]"
_TOKEN = re.compile(rf"\s*({_QUOTED}|=>|[=!<>]=|[=<>≠≥≤,\[\]]|{_BARE})", re.DOTALL)
_PLAIN_NAME = r"\w(?:[\w.'/()-]| (?! ))*(?<! )"
_NAME = re.compile(rf"\s*(?P<name>{_QUOTED}|{_PLAIN_NAME})\s*:(?=\s)", re.DOTALL)
_SEVERITY = re.compile(rf"\s*({'|'.join(Severity)})\s*(?::|(?=\[|$))", re.IGNORECASE)
_QUOTED_WORDS = re.compile(rf"\s*{_QUOTED}(?=\s*(?:\[|\Z))", re.DOTALL)
_DO = re.compile(r"\s*do\s", re.IGNORECASE)
_OPTIONS: dict[str, tuple[str, Any]] = {
    "escalate": ("escalate", True),
    "off": ("enabled", False),
    "factor": ("factor", float),
    "domain": ("domain", str),
    "about": ("description", str),
}
"""The field that each option sets, and its value or the type of the value that follows."""
_OPTION_HINT = (
    'there are factor 0.8, escalate, off, domain NAME and about "a description"; put a message that has [ in quotes'
)
_HINT = (
    "join conditions by `and`, write `=>` before what follows, and make two rules instead of `or`; "
    'a predicate is one word, and terms with spaces or signs stand in quotes: "New York"'
)
MOST_WRITTEN = 10 * MOST_CHARACTERS
"""Characters of a text that is read; escapes in quotes take several for one."""


def parse(text: str) -> Rule:
    """Parse a rule without checking its safety; RuleError names the place that cannot be read."""
    return _Parser(text, "the rule").rule()


def parse_conditions(text: str) -> tuple[Part, ...]:
    """The conditions of a question in the text form of rules: `?goal isA Goal and ?goal progress ?p and ?p < 50%`."""
    parser = _Parser(text, "the conditions")
    parts = parser.conditions()
    parser.end("`and`")
    return check_rule(Rule(id="", name="", type=RuleType.CONSTRAINT, conditions=parts)).conditions


def render(rule: Rule) -> str:
    """The text of a rule: all but its id, its times, and whether its conclusions are kept."""
    name = f"{_name(rule.name)}: " if rule.name else ""
    return f"{name}{' and '.join(map(render_part, rule.conditions))} => {_outcome(rule)}{_options(rule)}"


def render_part(part: Part) -> str:
    """One condition, comparison or conclusion as text."""
    if isinstance(part, Comparison):
        return f"{_term(part.left)} {SYMBOLS[part.operator]} {_term(part.right)}"
    return f"{'not ' * part.negated}{_term(part.subject)} {_term(part.predicate)} {_term(part.object)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _term(term: str) -> str:
    is_bare = re.fullmatch(_BARE, term) and term.isprintable() and term.casefold() not in _KEYWORDS
    # At the start of a line, { begins JSON and # a comment.
    return term if is_bare and term[0] not in "{#" and not _SEVERITY.match(term) else _quoted(term)


def _name(name: str) -> str:
    return name if re.fullmatch(_PLAIN_NAME, name) else _quoted(name)


def _words(text: str) -> str:
    is_plain = text == text.strip() and text.isprintable() and text[:1] != '"' and "[" not in text
    return text if is_plain else _quoted(text)


def _outcome(rule: Rule) -> str:
    if rule.type is RuleType.POLICY:
        return f"DO {_words(rule.action)}"
    if rule.type is RuleType.CONSTRAINT:
        return f"{rule.severity.upper()}{': ' * bool(rule.message)}{_words(rule.message)}"
    return render_part(rule.conclusion) if rule.conclusion else ""


def _options(rule: Rule) -> str:
    given = {
        f"factor {rule.factor!r}": rule.factor != FACTOR,
        "escalate": rule.escalate,
        "off": not rule.enabled,
        f"domain {_term(rule.domain)}": rule.domain,
        f"about {_quoted(rule.description)}": rule.description,
    }
    chosen = ", ".join(option for option, is_given in given.items() if is_given)
    return f" [{chosen}]" if chosen else ""


class _Parser(Reader):
    """Reads one rule from left to right."""

    token, hint, longest, error = _TOKEN, _HINT, MOST_WRITTEN, RuleError

    def rule(self) -> Rule:
        name = self._unquoted(match["name"]) if (match := self.match(_NAME)) else ""
        parts = self.conditions()
        if not self.take("=>"):
            self.fail("`and` or `=>`")
        outcome = self._outcome() | self._options()
        self.end("the end of the rule")
        return Rule(id="", name=name, conditions=parts, **outcome)

    def conditions(self) -> tuple[Part, ...]:
        return self.several(self._part, "and", ",")

    def _part(self) -> Part:
        negated, left = bool(self.take("not")), self._term("a subject, such as ?x,")
        operator = _OPERATORS.get(self.take(*_OPERATORS).lower())
        if operator is None:
            return Condition(left, self._term("a predicate or an operator"), self._term("an object"), negated)
        if negated:
            hint = "turn the comparison round: `?y <= 5` for `not ?y > 5`"
            raise RuleError("`not` is for facts, and stands before a comparison", hint=hint)
        return Comparison(left, operator, self._term("a value to compare with"))

    def _outcome(self) -> dict[str, Any]:
        # Before conclusions: `ERROR: …` could be read as a subject.
        if match := self.match(_SEVERITY):
            severity = Severity(match[1].lower())
            return {"type": RuleType.CONSTRAINT, "severity": severity, "message": self._words()}
        if self.match(_DO):
            return {"type": RuleType.POLICY, "action": self._words()}
        subject = self._term("a conclusion such as `?x isTaxable true`, `ERROR: a message`, or `DO an action`")
        conclusion = Condition(subject, self._term("a predicate"), self._term("an object"))
        return {"type": RuleType.INFERENCE, "conclusion": conclusion}

    def _words(self) -> str:
        """A message or an action: in quotes, or all up to the options."""
        if match := self.match(_QUOTED_WORDS):
            return self._unquoted(match[0].strip())
        words = self.text[self.at :].partition("[")[0]
        self.at += len(words)
        return words.strip()

    def _options(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        sign = self.take("[")
        while sign in ("[", ","):
            name = self.take(*_OPTIONS).lower() or self.fail("an option", _OPTION_HINT)
            field, value = _OPTIONS[name]
            found[field] = value if isinstance(value, bool) else self._value(value)
            sign = self.take(",", "]") or self.fail("`,` or `]`", _OPTION_HINT)
        return found

    def _value(self, kind: type[str] | type[float]) -> str | float:
        try:
            return kind(self._term("a value"))
        except ValueError as error:
            raise RuleError("the factor of a rule is no number", hint=_OPTION_HINT) from error

    def _term(self, expected: str) -> str:
        token = self.peek()
        if not token or token[0] in _SIGNS or token.casefold() in _KEYWORDS:
            self.fail(expected)
        self.take()
        return self._unquoted(token)

    def _unquoted(self, text: str) -> str:
        try:
            return str(json.loads(text, strict=False)) if text[0] == '"' else text
        except ValueError as error:
            hint = r"quote texts as in JSON: \" for a quote and \\ for a backslash in it"
            raise RuleError(f"{text[:60]} cannot be read", hint=hint) from error


# A rule as a JSON object, and back: the fields of a line of the ledger, and of files to import. Pure.

T = TypeVar("T", bound=str | bool | float)
Record = Mapping[str, Any]
_SAME = ("id", "name", "description", "domain", "action", "escalate", "enabled", "kept")
_PLAIN = {name: name for name in _SAME} | {"violation_message": "message", "confidence_factor": "factor"}
"""Names of fields in JSON, and in a rule."""
_FIELDS = (*_PLAIN, "type", "text", "severity", "conditions", "conclusion", "created_at", "updated_at")
_PART_FIELDS = ("subject", "predicate", "object", "negated", "left", "operator", "right")
_EXPECTED = {str: "text", bool: "true or false", float: "a number"}
_ALWAYS = frozenset({"name", "type", "conditions", "confidence_factor", "enabled"})


def rule_record(rule: Rule) -> dict[str, Any]:
    """The fields that every rule has, and of the others those that say something."""
    fields = {name: getattr(rule, field) for name, field in _PLAIN.items()} | {
        "type": rule.type.value,
        "severity": rule.severity.value if rule.type is RuleType.CONSTRAINT else "",
        "conditions": [_part_record(each) for each in rule.conditions],
        "conclusion": rule.conclusion and _part_record(rule.conclusion),
        "created_at": rule.created_at and iso(rule.created_at),
        "updated_at": rule.updated_at and iso(rule.updated_at),
    }
    return {name: value for name, value in fields.items() if value or name in _ALWAYS}


def read_rule(record: Record) -> Rule:
    """Read a rule from a JSON object without checking its safety; missing fields have their defaults.

    Without conditions, `text` holds the rule. A condition with an `operator` compares the object of a fact with its
    `object`; a condition without a subject or an object matches any.
    """
    if not isinstance(record, Mapping):
        raise RuleError("a rule in JSON is an object", hint='write {"text": "?x a ?y => ?x b ?y"} or its fields')
    # Exported rules have both; the fields count, and the text is for people.
    is_text = "text" in record and "conditions" not in record
    rule = parse(_field(record, "text", "")) if is_text else _from_fields(record)
    return replace(
        rule,
        **{field: _field(record, name, getattr(rule, field)) for name, field in _PLAIN.items()},
        severity=_field(record, "severity", rule.severity),
        created_at=read_moment(str(record.get("created_at")), UTC),
        updated_at=read_moment(str(record.get("updated_at")), UTC),
    )


def check_fields(record: object) -> None:
    """Reject unknown fields: a typing error would silently change the meaning of a rule."""
    if not isinstance(record, Mapping):
        return
    conditions = record.get("conditions")
    parts = [*(conditions if isinstance(conditions, list) else ()), record.get("conclusion")]
    for given, known in ((record, _FIELDS), *((part, _PART_FIELDS) for part in parts if isinstance(part, Mapping))):
        if unknown := next((str(name) for name in given if name not in known), None):
            meant = next((name for name, field in _PLAIN.items() if field == unknown), unknown)
            raise RuleError(f"a rule has no field {unknown[:40]!r}", hint=nearest(meant, known))


def _from_fields(record: Record) -> Rule:
    conditions, conclusion = record.get("conditions"), record.get("conclusion")
    if not isinstance(conditions, list) or not all(isinstance(each, Mapping) for each in conditions):
        raise _wrong("conditions", "a list of objects such as {subject, predicate, object}")
    if not isinstance(conclusion, Mapping | None):
        raise _wrong("conclusion", "an object with subject, predicate and object")
    default = RuleType.INFERENCE if conclusion else RuleType.POLICY if record.get("action") else RuleType.CONSTRAINT
    return Rule(
        id="",
        name="",
        type=_field(record, "type", default),
        conditions=tuple(_read_parts(conditions)),
        conclusion=_condition(conclusion, repeat("")) if conclusion else None,
    )


def _read_parts(conditions: Iterable[Record]) -> Iterator[Part]:
    taken = {value for each in conditions for value in each.values() if isinstance(value, str)}
    fresh = (name for number in count(1) if (name := f"?v{number}") not in taken)
    for each in conditions:
        operator, value = _field(each, "operator", Operator.EQ), _field(each, "object", "")
        if "left" in each:
            yield Comparison(_field(each, "left", ""), operator, _field(each, "right", ""))
        elif "operator" not in each or (operator is Operator.EQ and (is_variable(value) or not value)):
            yield _condition(each, fresh)
        elif _field(each, "negated", False):
            raise RuleError("a negated condition has an operator", hint="turn the operator round: lte for not gt")
        else:
            # `{predicate, operator: gt, object: 5}` is a fact with any object, and a comparison of that.
            held = next(fresh)
            yield _condition({**each, "object": held}, fresh)
            yield Comparison(held, operator, value)


def _condition(record: Record, missing: Iterator[str]) -> Condition:
    return Condition(
        _field(record, "subject", "") or next(missing),
        _field(record, "predicate", ""),
        _field(record, "object", "") or next(missing),
        _field(record, "negated", False),
    )


def _part_record(part: Part) -> dict[str, Any]:
    return {name: value for name, value in asdict(part).items() if value is not False}


def _field(record: Record, name: str, default: T) -> T:
    """Return a field with the type of its default, which replaces a missing value; numbers and booleans become text."""
    kind: Any = type(default)
    found: Any = default
    try:
        match default, record.get(name):
            case _, None | "":
                pass
            case (str(), str(value)) | (bool(), bool(value)):
                found = kind(value)
            case str(), (bool() | int() | float()) as value:
                found = kind(json.dumps(value))
            case float(), (int() | float()) as value if not isinstance(value, bool):
                found = float(value)
            case _:
                raise TypeError
    except (TypeError, ValueError, OverflowError) as error:
        expected = f"one of {', '.join(kind)}" if issubclass(kind, StrEnum) else _EXPECTED[kind]
        raise _wrong(name, expected) from error
    return cast(T, found)


def _wrong(name: str, expected: str) -> RuleError:
    return RuleError(f"the field {name} of a rule makes no sense", hint=f"it is {expected}")


# In which order rules are applied: one that asks whether something is absent waits for all that could conclude it.

TOLD = 10
"""How many predicates of a loop are named."""
Steps = Mapping[str, Mapping[str, bool]]
"""The predicates that each predicate leads to; True if one of the steps is a negation."""


def strata(rules: Iterable[Rule]) -> list[list[Rule]]:
    """Return the rules with a conclusion, in layers; raises RuleError if one negates its own consequence."""
    needs: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    leads: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    heads = [(rule.conclusion.predicate, rule) for rule in rules if rule.conclusion is not None]
    for head, rule in heads:
        for each in rule.conditions:
            if isinstance(each, Condition):
                negated = needs[head].get(each.predicate, False) or each.negated
                needs[head][each.predicate] = leads[each.predicate][head] = negated
    levels: dict[str, int] = {}
    # Predicates that need each other share a level, which may not depend on its own absence.
    for component in _components(leads, needs):
        levels |= dict.fromkeys(component, _level(component, needs, levels))
    layers: defaultdict[int, list[Rule]] = defaultdict(list)
    for head, rule in heads:
        layers[levels.get(head, 0)].append(rule)
    return [layers[level] for level in sorted(layers)]


def _level(component: set[str], needs: Steps, levels: Mapping[str, int]) -> int:
    level = 0
    for head in component:
        for predicate, negated in needs.get(head, {}).items():
            if negated and predicate in component:
                raise RuleError(
                    f"whether {head} holds depends on its own absence, through {', '.join(sorted(component)[:TOLD])}",
                    hint="let no rule negate what follows from its own conclusion",
                )
            level = max(level, levels.get(predicate, 0) + negated)
    return level


def _components(leads: Steps, needs: Steps) -> Iterator[set[str]]:
    """The predicates that need each other, after all that they need: Kosaraju's algorithm."""
    taken: set[str] = set()
    for root in _reverse_postorder(leads):
        if root not in taken:
            component, ahead = {root}, [root]
            while ahead:
                fresh = needs.get(ahead.pop(), {}).keys() - component - taken
                component |= fresh
                ahead += fresh
            taken |= component
            yield component


def _reverse_postorder(steps: Steps) -> list[str]:
    """All predicates, sorted by when a walk in depth is through with them."""
    seen, left = set(), []
    ahead = [(start, False) for start in steps]
    while ahead:
        each, is_left = ahead.pop()
        if is_left:
            left.append(each)
        elif each not in seen:
            seen.add(each)
            ahead += [(each, True), *((after, False) for after in steps.get(each, {}))]
    return left[::-1]
