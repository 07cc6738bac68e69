"""A rule as a JSON object, and back: the fields of a line of the ledger, and of files to import. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from typing import Any, TypeVar

from memfolio.clock import iso
from memfolio.errors import RuleError
from memfolio.knowledge.literal import Operator
from memfolio.knowledge.rule import FACTOR, Comparison, Condition, Part, Rule, RuleType, Severity, is_variable
from memfolio.knowledge.rule_text import parse

E = TypeVar("E", bound=StrEnum)
_EVERY = frozenset({"name", "type", "conditions", "confidence_factor", "enabled"})


def rule_record(rule: Rule) -> dict[str, Any]:
    """The fields that every rule has, and of the others those that say something."""
    fields = {
        "id": rule.id,
        "name": rule.name,
        "type": rule.type.value,
        "conditions": [_part_record(each) for each in rule.conditions],
        "conclusion": rule.conclusion and _part_record(rule.conclusion),
        "violation_message": rule.message,
        "severity": rule.severity.value if rule.type is RuleType.CONSTRAINT else "",
        "action": rule.action,
        "escalate": rule.escalate,
        "confidence_factor": rule.factor,
        "enabled": rule.enabled,
        "kept": rule.kept,
        "domain": rule.domain,
        "description": rule.description,
        "created_at": rule.created_at and iso(rule.created_at),
        "updated_at": rule.updated_at and iso(rule.updated_at),
    }
    return {name: value for name, value in fields.items() if value or name in _EVERY}


def read_rule(record: Mapping[str, Any]) -> Rule:
    """The rule in a JSON object, not yet checked for safety; a field that is missing has its default.

    Without conditions, `text` says them and what follows. A condition with an `operator` compares what the fact has for
    an object with its `object`, and one without a subject or an object is met by any.
    """
    if not isinstance(record, Mapping):
        raise RuleError("a rule in JSON is an object", hint='write {"text": "?x a ?y => ?x b ?y"} or its fields')
    is_text = "text" in record and "conditions" not in record
    rule = parse(_text(record, "text")) if is_text else _from_fields(record)
    return replace(
        rule,
        id=_text(record, "id"),
        name=_text(record, "name") or rule.name,
        domain=_text(record, "domain") or rule.domain,
        description=_text(record, "description") or rule.description,
        factor=_number(record, "confidence_factor", rule.factor),
        enabled=_truth(record, "enabled", rule.enabled),
        kept=_truth(record, "kept", rule.kept),
        created_at=_moment(record, "created_at"),
        updated_at=_moment(record, "updated_at"),
    )


def _from_fields(record: Mapping[str, Any]) -> Rule:
    conditions, conclusion = record.get("conditions"), record.get("conclusion")
    if not isinstance(conditions, list) or not all(isinstance(each, Mapping) for each in conditions):
        raise _wrong("conditions", "a list of objects such as {subject, predicate, object}")
    if not isinstance(conclusion, Mapping | None):
        raise _wrong("conclusion", "an object with subject, predicate and object")
    default = RuleType.INFERENCE if conclusion else RuleType.POLICY if record.get("action") else RuleType.CONSTRAINT
    return Rule(
        id="",
        name="",
        type=_word(record, "type", default),
        conditions=tuple(_read_parts(conditions, _fresh(conditions))),
        conclusion=_condition(conclusion, str) if conclusion else None,
        message=_text(record, "violation_message"),
        severity=_word(record, "severity", Severity.WARNING),
        action=_text(record, "action"),
        escalate=_truth(record, "escalate", False),
        factor=FACTOR,
    )


def _fresh(conditions: Iterable[Mapping[str, Any]]) -> Callable[[], str]:
    """Names for variables that conditions leave unsaid."""
    taken = {value for each in conditions for value in each.values() if isinstance(value, str)}
    names = (name for number in count(1) if (name := f"?v{number}") not in taken)
    return lambda: next(names)


def _read_parts(conditions: Iterable[Mapping[str, Any]], fresh: Callable[[], str]) -> Iterable[Part]:
    for each in conditions:
        if "left" in each:
            yield Comparison(_text(each, "left"), _word(each, "operator", Operator.EQ), _text(each, "right"))
            continue
        operator, value = _word(each, "operator", Operator.EQ), _text(each, "object")
        if "operator" not in each or not value or (operator is Operator.EQ and is_variable(value)):
            yield _condition(each, fresh)
            continue
        if _truth(each, "negated", False):
            raise RuleError("a negated condition has an operator", hint="turn the operator round: lte for not gt")
        held = fresh()
        yield _condition({**each, "object": held}, fresh)
        yield Comparison(held, operator, value)


def _condition(record: Mapping[str, Any], missing: Callable[[], str]) -> Condition:
    return Condition(
        _text(record, "subject") or missing(),
        _text(record, "predicate"),
        _text(record, "object") or missing(),
        _truth(record, "negated", False),
    )


def _part_record(part: Part) -> dict[str, Any]:
    if isinstance(part, Comparison):
        return {"left": part.left, "operator": part.operator.value, "right": part.right}
    record = {"subject": part.subject, "predicate": part.predicate, "object": part.object}
    return record | ({"negated": True} if part.negated else {})


def _text(record: Mapping[str, Any], name: str) -> str:
    """A field as text; numbers and truth values are taken as they are written in JSON."""
    value = record.get(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float | None):
        raise _wrong(name, "text")
    return "" if value is None else str(value)


def _truth(record: Mapping[str, Any], name: str, default: bool) -> bool:
    value = record.get(name)
    if not isinstance(value, bool | None):
        raise _wrong(name, "true or false")
    return default if value is None else value


def _number(record: Mapping[str, Any], name: str, default: float) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise _wrong(name, "a number")
    return default if value is None else value


def _word(record: Mapping[str, Any], name: str, default: E) -> E:
    value = _text(record, name)
    try:
        return type(default)(value) if value else default
    except ValueError as error:
        raise _wrong(name, f"one of {', '.join(type(default))}") from error


def _moment(record: Mapping[str, Any], name: str) -> datetime | None:
    value = _text(record, name)
    try:
        moment = datetime.fromisoformat(value) if value else None
    except ValueError as error:
        raise _wrong(name, "a time such as 2026-11-15T14:30:05Z") from error
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _wrong(name: str, expected: str) -> RuleError:
    return RuleError(f"the field {name} of a rule makes no sense", hint=f"it is {expected}")
