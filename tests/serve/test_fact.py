"""The command `fact`: what it says to people and to programs, and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.serve.cli.app import run
from tests.serve.calls import Run, RunJson


@pytest.fixture
def acme(cli_json: RunJson) -> str:
    """The id of a fact."""
    told = ("Acme", "hasRevenue", "50000", "--source", "cfo", "--confidence", "0.5", "--until", "2999-12-31")
    made = cli_json("fact", "assert", *told)
    assert (made["subject"], made["source"], made["valid_until"]) == ("Acme", "cfo", "3000-01-01T00:00:00+00:00")
    return str(made["id"])


def test_fact_is_asserted_shown_verified_and_retracted(cli: Run, cli_json: RunJson, acme: str) -> None:
    assert cli("fact", "assert", "Acme", "hasRevenue", "50000") == f"{acme} Acme hasRevenue 50000\n"
    assert "confidence         0.5\nsource             cfo\n" in cli("fact", "show", acme)
    cli("fact", "assert", "Acme", "hasRevenue", "50000", "--confidence", "0.123456789", "--until", "")
    assert "confidence         0.1235\n" in cli("fact", "show", acme)
    assert cli_json("fact", "show", acme)["confidence"] == 0.123456789
    assert "Verified: " in cli("fact", "verify", acme, "--method", "user_confirmation", "--yes")
    assert cli_json("fact", "show", acme)["verification_count"] == 1
    assert [each["op"] for each in cli_json("fact", "history", acme)["history"]] == ["assert", "assert", "verify"]
    first, second, _ = (line.split()[1:-1] for line in cli("fact", "history", acme).splitlines()[1:])
    assert (first, second) == (["assert", "0.5", "cfo", "3000-01-01T00:00:00+00:00"], ["assert", "0.1235", "cfo"])
    assert "Acme hasRevenue 50000" in cli("fact", "explain", acme)
    assert cli("fact", "explain", acme, "--mermaid").startswith("graph TD")
    assert cli("fact", "retract", "--subject", "Ac*", "--dry-run").endswith("Would retract 1 fact.\n")
    assert cli("fact", "retract", acme).endswith("Retracted 1 fact.\n")
    assert cli("fact", "query") == "No matching facts.\n"
    assert "is retracted" in cli("fact", "show", acme, status=3)


def test_facts_are_found_by_what_is_asked(cli: Run, cli_json: RunJson, acme: str) -> None:
    cli(
        "fact",
        "assert",
        "Acme",
        "locatedIn",
        "Lisbon",
        "--from",
        "2020-01-01",
        "--until",
        "2020-12-31",
        "--category",
        "c",
    )
    asked = {
        (): 1,
        ("Acme", "has*"): 1,
        ("*", "*", "Lisbon"): 0,
        ("--valid-at", "2020-06-01"): 2,
        ("--valid-at", "any", "--category", "c"): 1,
        ("--valid-at", "any", "--limit", "1"): 1,
        ("--min-confidence", "0.9"): 0,
        ("--as-of", "2020-01-01"): 0,
        ("--as-of", "today"): 1,
        ("--source", "cfo", "--asserted", "--untrusted"): 1,
    }
    assert {each: len(cli_json("fact", "query", *each)["facts"]) for each in asked} == asked
    assert "Acme" in cli("fact", "query", "Acme")


def test_query_says_what_it_leaves_out(cli: Run, cli_json: RunJson, home: Path, acme: str) -> None:
    assert cli("fact", "query").splitlines()[0].split()[-2:] == ["valid", "until"]
    cli("fact", "assert", "Bee", "p", "--", "-7")
    assert cli("fact", "query", "Bee").splitlines()[0].split()[-1] == "source"
    assert cli("fact", "query", "--limit", "1").endswith("There is more than is shown.\n1 fact.\n")
    assert (cli_json("fact", "query", "--limit", "1")["is_cut"], cli_json("fact", "query")["is_cut"]) == (True, False)
    (home / "agents/main/knowledge/facts.jsonl").write_text("{oops\n", encoding="utf-8")
    assert "facts.jsonl, line 1: " in cli("fact", "query")
    assert "facts.jsonl, line 1: " in cli_json("fact", "query")["problems"][0]


def test_conclusions_are_no_facts_to_retract_or_verify(cli: Run, cli_json: RunJson, acme: str) -> None:
    cli("rule", "create", "big: ?x hasRevenue ?y => ?x isBig true [factor 1.0]")
    cli("infer", "forward", "--persist")
    [big] = cli_json("fact", "query", "Acme", "isBig")["facts"]
    assert "from Acme hasRevenue 50000" in cli("fact", "retract", "--predicate", "isBig", status=4)
    assert "has no history" in cli("fact", "history", big["id"], status=3)
    assert "verify those" in cli("fact", "verify", big["id"], status=4)
    assert cli("fact", "impact", acme) == f"falls: Acme isBig true ({big['id']})\n"


REFUSED = [
    (("assert", "a", "has revenue", "b"), 2, "has spaces"),
    (("assert", "a", "p", "b", "--confidence", "7"), 2, "0 to 1"),
    (("assert", "a", "p", "b", "--until", "soon"), 2, "no time"),
    (("assert", "a", "p", "b", "--memory", "tea"), 2, "no id"),
    (("assert", "a", "p", "b\udcff"), 2, "surrogate"),
    (("assert", "?x", "p", "b"), 2, "variable"),
    (("assert", "a", "p", "-5"), 2, "put -- before it"),
    (("query", "\udcff"), 2, "surrogate"),
    (("query", ""), 2, "empty"),
    (("query", "--limit", "0"), 2, "limit"),
    (("query", "--as-of", "soon"), 2, "not a time"),
    (("retract",), 2, "which facts"),
    (("retract", "--subject", "nobody"), 0, "No matching facts"),
    (("show", "F-1"), 3, "no fact"),
    (("show", "D-\udcff"), 3, "no fact"),
    (("history", "F-1"), 3, "no fact"),
    (("verify", "F-1"), 3, "no fact"),
    (("import", "nowhere.jsonl"), 2, "cannot be read"),
]


def test_refusals_say_what_is_wrong(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    for args, status, message in REFUSED:
        assert message in cli("fact", *args, status=status), args
    assert cli_json("fact", "show", "F-1", status=3)["error"]["code"] == "not-found"


def test_export_can_be_imported(
    cli: Run, cli_json: RunJson, home: Path, acme: str, type_in: Callable[[bytes], None]
) -> None:
    cli("fact", "assert", "a\u2028b", "says", 'x\x85"y"', "--from", "2020-01-01")
    told = cli("fact", "export")
    assert [json.loads(line) for line in told.split("\n")[:-1]] == cli_json("fact", "export")["facts"]
    (home.parent / "facts.jsonl").write_bytes(b"\xef\xbb\xbf" + told.replace("\n", "\r\n").encode() + b"\r\n")
    cli("fact", "retract", "--subject", "*")
    assert cli("fact", "import", home.parent / "facts.jsonl", "--dry-run") == "Would assert 2 facts.\n"
    type_in(told.encode())
    assert cli_json("fact", "import", "-") == {"facts": 2, "problems": []}
    assert cli("fact", "export") == told


def test_wrong_lines_are_told_and_the_others_imported(
    cli_json: RunJson, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli_json("init")
    good = b'{"subject": "a", "predicate": "p", "object": 7}'
    file = home.parent / "facts.jsonl"
    file.write_bytes(
        b"\n".join((b"{oops", b"\xff", good, b'{"op": "retract"}', b'{"subject": "a"}', b'{"object": NaN}'))
    )
    assert run(["fact", "import", str(file)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == [*(f"line {n}" for n in (1, 2, 4, 5, 6)), "Asserted 1 fact."]
    assert cli_json("fact", "query")["facts"][0]["object"] == "7"
