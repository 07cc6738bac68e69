"""A rule as a JSON object, and back: the fields of a line of the ledger, and of files to import. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC
from enum import StrEnum
from itertools import count, repeat
from typing import Any, TypeVar, cast

from memfolio.clock import iso
from memfolio.errors import RuleError
from memfolio.intake import nearest
from memfolio.knowledge.literal import Operator
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, RuleType, is_variable
from memfolio.knowledge.rule_text import parse
from memfolio.vault.format.fields import read_moment

T = TypeVar("T", bound=str | bool | float)
Record = Mapping[str, Any]
_SAME = ("id", "name", "description", "domain", "action", "escalate", "enabled", "kept")
_PLAIN = {name: name for name in _SAME} | {"violation_message": "message", "confidence_factor": "factor"}
"""What fields are called in JSON, and in a rule."""
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
    """The rule in a JSON object, not yet checked for safety; a field that is missing has its default.

    Without conditions, `text` says them and what follows. A condition with an `operator` compares what the fact has for
    an object with its `object`, and one without a subject or an object is met by any.
    """
    if not isinstance(record, Mapping):
        raise RuleError("a rule in JSON is an object", hint='write {"text": "?x a ?y => ?x b ?y"} or its fields')
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
    """Refuse a JSON object with fields that no rule has: a typing error would change what it says."""
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
    """A field, of the type of its default, which stands for what is missing; numbers and truth values are text, too."""
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
