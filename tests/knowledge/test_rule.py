"""Rules as text and as JSON: both say the same, and what makes no sense is refused with its reason."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import MemfolioError, RuleError
from memfolio.knowledge.literal import Operator
from memfolio.knowledge.rule import (
    Comparison,
    Condition,
    Rule,
    RuleType,
    Severity,
    check_rule,
    parse,
    read_rule,
    render,
    rule_record,
)
from memfolio.knowledge.rules import as_rule, fold

TAXABLE = "?x hasRevenue ?y and ?y > 50000 and not ?x isExempt true => ?x isTaxable true"
WORDS = st.sampled_from(["and", "NOT", "contains", "do", "error", "Error:x", "=>", "50,000", "$5", "a:b", "{a}", "#1"])
TEXTS = st.text(min_size=1, max_size=12)
TERMS = (WORDS | TEXTS | st.sampled_from(["?x", "?y", "?größe-2"])).filter(
    lambda term: term.strip() and (term[0] != "?" or term in ("?", "?x", "?y", "?größe-2"))
)
PREDICATES = (WORDS | TEXTS).filter(lambda word: not any(map(str.isspace, word)) and word[0] != "?")
CONDITIONS = st.builds(Condition, TERMS, PREDICATES, TERMS, st.booleans())
PARTS = CONDITIONS | st.builds(Comparison, TERMS, st.sampled_from(Operator), TERMS)
SAID = st.fixed_dictionaries(
    {
        "id": st.just(""),
        "name": (WORDS | st.text(max_size=12)),
        "conditions": st.lists(PARTS, min_size=1, max_size=5).map(tuple),
        "factor": st.floats(0, 1, exclude_min=True),
        "enabled": st.booleans(),
        "domain": st.text(max_size=8),
        "description": st.text(max_size=12),
    }
)
OUTCOMES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just(RuleType.INFERENCE), "conclusion": CONDITIONS.map(lambda each: replace(each, negated=False))}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just(RuleType.CONSTRAINT),
            "severity": st.sampled_from(Severity),
            "message": st.text(max_size=12),
        }
    ),
    st.fixed_dictionaries({"type": st.just(RuleType.POLICY), "action": TEXTS, "escalate": st.booleans()}),
)
RULES = st.tuples(SAID, OUTCOMES).map(lambda both: made(**both[0], **both[1]))


def made(**fields: Any) -> Rule:
    return Rule(**fields)


@given(RULES)
def test_rule_comes_back_from_its_text(rule: Rule) -> None:
    text = render(rule)
    assert parse(text) == rule
    assert "\n" not in text
    assert render(parse(f" {text}\n")) == text


@given(RULES, st.booleans(), st.datetimes(timezones=st.just(UTC)) | st.none())
def test_rule_comes_back_from_its_json(rule: Rule, kept: bool, at: datetime | None) -> None:
    moment = at and at.replace(microsecond=0)
    whole = replace(rule, id="R-1", kept=kept, created_at=moment)
    assert read_rule(json.loads(json.dumps(rule_record(whole)))) == whole


def test_time_that_makes_no_sense_is_none() -> None:
    assert read_rule({"text": TAXABLE, "created_at": "yesterday"}).created_at is None


def test_conditions_comparisons_and_conclusion_are_read() -> None:
    rule = parse(f"Big tax: {TAXABLE} [factor 0.8]")
    assert (rule.name, rule.type, rule.factor) == ("Big tax", RuleType.INFERENCE, 0.8)
    assert rule.conditions == (
        Condition("?x", "hasRevenue", "?y"),
        Comparison("?y", Operator.GT, "50000"),
        Condition("?x", "isExempt", "true", negated=True),
    )
    assert rule.conclusion == Condition("?x", "isTaxable", "true")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("?x a ?y,?y≥$50,000,  NOT ?x b c=>?x d e", "?x a ?y and ?y >= $50,000 and not ?x b c => ?x d e"),
        ('?x livesIn "New York" => Error: ?x is far', '?x livesIn "New York" => ERROR: ?x is far'),
        ('?x a b => info: "?x" is odd', r'?x a b => INFO: "\"?x\" is odd"'),
        ("?x a b => critical", "?x a b => CRITICAL"),
        ("?x a b => do call ?x [off,escalate]", "?x a b => DO call ?x [escalate, off]"),
        ('"a: b": ?x\n\ta "b" => ?x c "d, e"', '"a: b": ?x a b => ?x c "d, e"'),
        ('?x schema:knows "and" => ?x a b [factor .5]', '?x schema:knows "and" => ?x a b [factor 0.5]'),
        ('?x a b => INFO: "see [1]" [domain tax]', '?x a b => INFO: "see [1]" [domain tax]'),
    ],
)
def test_text_has_one_canonical_form(text: str, canonical: str) -> None:
    assert render(parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a subject, such as ?x, is missing at the end"),
        ("?x livesIn New York => ?x a b", "`and` or `=>` is missing before 'York => ?x a b'"),
        ("?x a => ?x b c", "an object is missing before '=> ?x b c'"),
        ("?x a b", "`and` or `=>` is missing at the end"),
        ("?x a b =>", "or `DO an action` is missing at the end"),
        ("?x a b and => ?x b c", "a subject, such as ?x, is missing before '=> ?x b c'"),
        ('?x a "b => ?x c d', """an object is missing before '"b => ?x c d'"""),
        ("?x a ?y and not ?y > 5 => ?x b c", "`not` is for facts, and stands before a comparison"),
        ("?x a b => ?x c d [factor much]", "the factor of a rule is no number"),
        ("?x a b => ?x c d [loud]", "an option is missing before 'loud]'"),
        ("?x a b => ?x c d e", "the end of the rule is missing before 'e'"),
        (r'?x a "\q" => ?x c d', r'"\q" cannot be read'),
    ],
)
def test_error_says_where_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    assert caught.value.message.endswith(message)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("?x a b or ?x c d => ?x e f", "make two rules instead of `or`"),
        ("?x a b || ?x c d => ?x e f", "make two rules instead of `or`"),
        ("?x a b -> ?x c d", "write `=>`"),
        ("?x a -> ?x c d", "write `=>`"),
        ("?x a b & ?x c d => ?x e f", "join conditions by `and`"),
        ("?x a b && ?x c d => ?x e f", "join conditions by `and`"),
        (" ", "join conditions"),
        ("?x has revenue ?y => ?x a b", "a predicate is one word"),
        ("?x a b => ?x is big true", "a predicate is one word"),
        ("?x livesIn New York => ?x a b", "terms with spaces or signs stand in quotes"),
    ],
)
def test_hint_says_how_to_write_what_is_meant(text: str, hint: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    assert hint in caught.value.hint


@given(st.text(alphabet='?xy ab"\\,[]=<>!:.and50$#{}DOERROR\n', max_size=40) | st.text())
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = parse(text)
    except RuleError as error:
        assert error.hint
    else:
        assert parse(render(rule)) == rule


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("?x a b => ?x c ?z", "concludes with ?z"),
        ("?x a b and ?z > 5 => ?x c d", "compares ?z"),
        ("not ?x a b => ?x c d", "no condition that a fact could meet"),
        ("not ?x a ?z and ?x b c => ?x c ?z", "concludes with ?z"),
        ('?x "is a" b => ?x c d', "the predicate 'is a'"),
        ('?x "" b => ?x c d', "the predicate ''"),
        ("?x ?p b => ?x c d", "?p for a predicate"),
        ('?x a " " => ?x c d', "without a subject, an object or a value"),
        ('"?x y" a b => c d e', "the variable '?x y'"),
        ("?x a b => ?x c d [factor 0]", "factor of 0.0"),
        ("?x a b => ?x c d [factor 1.5]", "factor of 1.5"),
        ("?x a b => ?x c d [factor nan]", "factor of nan"),
        ("?x a b => ?x c d [escalate]", "has a field escalate"),
        ("?x a b => ERROR: where is ?z?", "speaks of ?z"),
        (" and ".join(f"?x p{number} ?y" for number in range(65)) + " => ?x c d", "65 conditions"),
        ("R-1: ?x a b => ?x c d", "a name that is none"),
        (f'?x a "{"b" * 5000}" => ?x c "{"d" * 5000}"', "has 10,006 characters"),
        ("?x a b => ?x c d " * 10_000, "the rule has 170,000 characters"),
        ('"\u202eevil": ?x a b => ?x c d', "a name that is none"),
    ],
)
def test_unsafe_rule_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(RuleError) as caught:
        check_rule(parse(text))
    assert reason in caught.value.message
    assert caught.value.hint


def test_condition_with_an_operator_is_a_comparison_of_what_facts_have() -> None:
    record = {
        "id": "R-001",
        "name": "taxable",
        "conditions": [
            {"subject": "?x", "predicate": "hasRevenue", "object": 50000, "operator": "gt"},
            {"subject": "?x", "predicate": "knows", "object": "?v1", "operator": "eq"},
            {"predicate": "isOpen", "object": True},
        ],
        "conclusion": {"subject": "?x", "predicate": "isTaxable", "object": "true"},
        "created_at": "2026-02-24T14:30:00.000Z",
    }
    rule = check_rule(read_rule(record))
    text = "taxable: ?x hasRevenue ?v2 and ?v2 > 50000 and ?x knows ?v1 and ?v3 isOpen true => ?x isTaxable true"
    assert render(rule) == text
    assert (rule.id, rule.factor, rule.enabled, rule.created_at) == (
        "R-001",
        0.9,
        True,
        datetime(2026, 2, 24, 14, 30, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"violation_message": "?x!"}, "?x a b => WARNING: ?x!"),
        ({"type": "constraint", "severity": "critical"}, "?x a b => CRITICAL"),
        ({"action": "call ?x", "escalate": True, "enabled": False}, "?x a b => DO call ?x [escalate, off]"),
        ({"text": "these fields count before it", "confidence_factor": 1}, "?x a b => WARNING [factor 1.0]"),
    ],
)
def test_missing_fields_have_their_defaults(more: dict[str, Any], text: str) -> None:
    assert render(read_rule({"conditions": [{"subject": "?x", "predicate": "a", "object": "b"}], **more})) == text


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"conditions": "?x a b"},
        {"conditions": [3]},
        {"conditions": [{"predicate": ["a"]}]},
        {"conditions": [{"predicate": "a", "object": "5", "operator": "gt", "negated": True}]},
        {"conditions": [{"predicate": "a", "operator": "like"}]},
        {"conditions": [], "conclusion": "?x"},
        {"conditions": [], "type": "guess"},
        {"conditions": [], "confidence_factor": "0.5"},
        {"conditions": [], "enabled": 1},
        {"conditions": [], "confidence_factor": 10**400},
        {"conditions": [{"predicate": "a", "object": 10**5000}]},
        {"text": "?x a"},
    ],
)
def test_json_that_makes_no_sense_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(RuleError) as caught:
        read_rule(record)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("record", "hint"),
    [
        ({"text": "?x a b => ?x c d", "severty": "info"}, "did you mean severity?"),
        ({"text": "?x a b => ?x c d", "factor": 0.5}, "did you mean confidence_factor?"),
        ({"conditons": []}, "did you mean conditions?"),
        ({"conditions": [{"predicate": "a", "negatd": True}]}, "did you mean negated?"),
        ({"conditions": [], "conclusion": {"subjct": "?x"}}, "did you mean subject?"),
        ({5: 5}, "known are id"),
    ],
)
def test_field_that_no_rule_has_is_refused_except_in_lines_of_the_ledger(record: dict[str, Any], hint: str) -> None:
    with pytest.raises(RuleError, match="a rule has no field") as caught:
        as_rule(record)
    assert hint in caught.value.hint
    assert fold([{"id": "R-1", "text": TAXABLE, "severty": "info"}])[1] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["?x", "gt", "a", ""]) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "conditions conclusion subject predicate object operator left right type text enabled".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_rule_or_refused(value: Any) -> None:
    try:
        check_rule(read_rule(value))
    except MemfolioError as error:
        assert error.hint
