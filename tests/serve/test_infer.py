"""The command `infer`: what it shows people, what it gives programs, and how it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.serve.calls import Run, RunJson

RULES = """\
big: ?x hasRevenue ?y and ?y > $50,000 => ?x isBig true
?x isBig true and not ?x isExempt true => ?x isTaxable true
unfiled: ?x isTaxable true and not ?x filed ?any => ERROR: ?x has not filed [domain tax]
notify: ?x isTaxable true and ?x isLate true => DO write to ?x [escalate]
"""
TAXABLE = "?x isBig true and not ?x isExempt true => ?x isTaxable true"


@pytest.fixture
def fact(cli: Run, cli_json: RunJson, tmp_path: Any) -> str:
    """The id of the only fact of a home with some rules."""
    rules = tmp_path / "rules.txt"
    rules.write_text(RULES)
    cli("init")
    cli("rule", "import", rules)
    made = cli_json("fact", "assert", "acme", "hasRevenue", "$60,000", "--source", "cfo", "--confidence", "0.9")
    return str(made["id"])


def test_people_see_conclusions_proofs_gaps_checks_and_actions(cli: Run, fact: str) -> None:
    said = {
        (
            "forward",
            "--limit",
            "1",
        ): "acme isBig true (0.81) by big\n… and 1 more\nThis is a preview: --persist stores it.\n",
        ("forward", "--persist"): f"acme isBig true (0.81) by big\nacme isTaxable true (0.73) by {TAXABLE}\n"
        "This keeps 2 rules and 2 further conclusions.\n",
        ("forward", "--rule", "big", "--persist"): "Nothing new follows.\n"
        "This keeps 1 rule and 0 further conclusions.\n",
        ("forward",): "Nothing new follows.\n",
        ("backward", "?who", "isBig", "true"): "proven\nacme isBig true (0.81)\n  by the rule big (0.81)\n"
        f"    acme hasRevenue $60,000 (0.90, {fact}, source: cfo)\n    $60,000 > $50,000\n",
        ("backward", "zed", "isBig", "true"): "derivable-with-gaps\nmissing: zed hasRevenue ?y and ?y > $50,000\n",
        ("backward", "acme", "isNice", "true"): "unprovable\n",
        ("backward", "acme", "isTaxable", "true", "--limit", "1"): "proven\nacme isTaxable true (0.73)\n"
        f"  by the rule {TAXABLE} (0.73)\n    acme isBig true (0.81)\n      by the rule big (0.81)\n"
        f"        acme hasRevenue $60,000 (0.90, {fact}, source: cfo)\n        $60,000 > $50,000\n"
        "    not acme isExempt true\n",
        ("abduce", "zed", "isTaxable", "true"): f"0.45  {TAXABLE}\n  assumed  zed isBig true\n",
        ("abduce", "zed", "isNice", "true"): "No rule concludes that.\n",
        (
            "explain",
            "Is ACME, the Zork, big?",
        ): "Not understood: Zork\nacme isBig true (0.81)\n  by the rule big (0.81)\n"
        f"    acme hasRevenue $60,000 (0.90, {fact}, source: cfo)\n    $60,000 > $50,000\nSources: {fact} (cfo)\n",
        ("guess", "Acme"): "No hypotheses.\n",
        ("check",): "error     acme has not filed\n          from acme isTaxable true by unfiled\n",
        ("check", "--severity", "critical"): "No violations.\n",
        ("policy",): "No actions.\n",
        ("policy", "--context", "acme isLate true"): "escalate  write to acme\n"
        "          from acme isTaxable true; acme isLate true by notify\n",
        ("policy", "--context", '["acme", "isLate", "true"]', "--domain", "tax"): "No actions.\n",
    }
    for args, expected in said.items():
        assert cli("infer", *args) == expected, args
    assert cli("infer", "check", "--fail", "--severity", "critical") == "No violations.\n"


def test_what_was_not_decided_is_said_to_people_and_programs(cli: Run, cli_json: RunJson, home: Any, fact: str) -> None:
    for number in range(12):
        cli("fact", "assert", f"p{number}", "parent", f"p{number + 1}")
    cli("rule", "create", "?x parent ?y => ?x ancestor ?y")
    cli("rule", "create", "?x parent ?y and ?y ancestor ?z => ?x ancestor ?z")
    assert cli("infer", "backward", "p0", "ancestor", "p12", "--depth", "1").startswith("proven\np0 ancestor p12")
    (home / "memfolio.toml").write_text("[knowledge]\nmost = 50\n")
    said = cli("infer", "backward", "p0", "ancestor", "?x")
    assert said.startswith("not decided within 50 conclusions\n")
    assert "unprovable" not in said
    document = cli_json("infer", "backward", "p0", "ancestor", "?x")
    assert (document["verdict"], document["undecided"]) == ("not-decided", "not decided within 50 conclusions")
    assert cli("infer", "explain", "p0", "ancestor", "?x").startswith("Not decided within 50 conclusions: p0 ancestor")
    assert cli_json("infer", "explain", "p0", "ancestor", "?x")["undecided"] == "not decided within 50 conclusions"
    goal = json.dumps({"subject": "p0", "predicate": "ancestor", "object": "?x"})
    told = str(cli_json("tool", "call", "infer_backward", goal))
    assert "not decided within 50 conclusions" in told
    assert "unprovable" not in told


def test_programs_get_documents_with_fixed_fields(cli_json: RunJson, fact: str) -> None:
    fields = {
        ("forward",): "conclusions total counts problems",
        ("forward", "--persist"): "conclusions total counts problems refreshed",
        ("backward", "?x", "isBig", "?y"): "goal verdict answers total gaps truncated problems",
        ("abduce", "zed", "isBig", "true"): "hypotheses",
        (
            "explain",
            "is acme big",
        ): "question unknown patterns facts derived gaps hypotheses truncated paths sources text",
        ("check",): "findings problems truncated",
        ("policy",): "findings problems truncated",
    }
    for args, expected in fields.items():
        assert cli_json("infer", *args).keys() == set(expected.split()), args
    [answer] = cli_json("infer", "backward", "?x", "isBig", "?y")["answers"]
    assert (answer["binding"], answer["atom"]["triple"]) == ({"?x": "acme", "?y": "true"}, ["acme", "isBig", "true"])
    [way] = answer["proof"]["ways"]
    assert (way["rule"]["name"], way["rule"]["text"], way["tests"]) == (
        "big",
        RULES.splitlines()[0],
        ["$60,000 > $50,000"],
    )
    assert way["premises"][0]["fact"] == {"id": fact, "source": "cfo"}
    assert cli_json("infer", "check", "--fail", status=1)["findings"][0]["text"] == "acme has not filed"


REFUSED = [
    (("forward", "--rule", "nope"), 3, "there is no rule 'nope'"),
    (("forward", "--rule", "unfiled"), 2, "the rule unfiled is of type constraint"),
    (("forward", "--limit", "0"), 2, "--limit"),
    (("forward", "--domain", "nosuch"), 3, "no rule has the domain 'nosuch'"),
    (("check", "--domain", "nosuch", "--fail"), 3, "there are tax"),
    (("policy", "--domain", ""), 3, "no rule has the domain ''"),
    (("backward", "acme", "?p", "true"), 2, "'acme ?p true' is no goal"),
    (("backward", "acme", "isBig"), 2, "OBJECT"),
    (("explain", "what is the meaning of life"), 2, "nothing in 'what is the meaning of life' is known"),
    (("explain", ""), 2, "nothing in '' is known"),
    (("check", "--severity", "bad"), 2, "'bad' is no severity"),
    (("policy", "--context", "acme isLate"), 2, "'acme isLate' is no fact"),
    (("policy", "--context", '["a", 1, 2]'), 2, "is no fact"),
    (("policy", "--context", "[" * 9000), 2, "is no fact"),
    (("policy", "--rule", "big"), 2, "the rule big is of type inference"),
]


def test_bad_input_is_refused_and_what_cannot_be_compared_is_noted(cli: Run, fact: str) -> None:
    for args, status, says in REFUSED:
        assert says in cli("infer", *args, status=status), args
    cli("fact", "assert", "bits", "hasRevenue", "plenty")
    for args in (("forward",), ("backward", "?x", "isBig", "true"), ("check",)):
        assert "'plenty' (text) cannot be compared with '$50,000' (money in USD)" in cli("infer", *args)
    unnamed = "?x hasRevenue ?y and ?y > $1m => ?x isHuge true"
    cli("rule", "create", unnamed)
    assert f"{unnamed}: 'plenty' (text) cannot be compared" in cli("infer", "forward")
