"""The command `rule`: what it says to people and to programs, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serve.calls import Run, RunJson

TAXABLE = "taxable: ?x hasRevenue ?y and ?y > $50,000 => ?x isTaxable true"
MANAGED = "?x isA Employee and not ?x hasManager ?m => ERROR: ?x has no manager"
NOTIFY = "?x hasDebt ?d => DO notify-cfo about ?x [escalate]"
EVIL = r'evil: ?x a b => ERROR: "\u001b]0;owned\u0007 ?x"'


def test_rule_is_made_shown_switched_and_deleted(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    assert cli("rule", "create", TAXABLE, "--factor", "0.5", "--dry-run").endswith(
        "[factor 0.5]\nNothing was changed.\n"
    )
    made = cli_json("rule", "create", TAXABLE, "--about", "Who pays", "--domain", "tax")
    assert (made["name"], made["domain"], made["text"]) == (
        "taxable",
        "tax",
        f'{TAXABLE} [domain tax, about "Who pays"]',
    )
    assert f"made      {made['created_at'][:10]}" in cli("rule", "show", "TAXABLE")
    assert "taxable would be off." in cli("rule", "toggle", "taxable", "--dry-run")
    assert "taxable is on." in cli("rule", "toggle", made["id"], "--on")
    assert cli_json("rule", "toggle", "taxable")["enabled"] is False
    assert [cli_json("rule", "list", each)["rules"] == [] for each in ("--on", "--off")] == [True, False]
    assert cli_json("rule", "list", "--type", "policy") == {"rules": [], "problems": []}
    assert cli("rule", "list", "--domain", "other") == "No matching rules.\n"
    assert cli("rule", "delete", "taxable", "--dry-run").endswith("Nothing was changed.\n")
    assert cli("rule", "delete", "taxable").endswith("Deleted.\n")
    assert cli_json("rule", "show", "taxable", status=3)["error"]["code"] == "not-found"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            TAXABLE,
            ["factor    0.9", "is        on"],
        ),
        (MANAGED, ["severity  error", "is        on"]),
        (NOTIFY, ["do        notify-cfo about ?x, and escalate"]),
        ("?x a b => INFO [off]", ["severity  info", "is        off"]),
    ],
)
def test_check_says_what_is_understood_without_a_home(cli: Run, text: str, lines: list[str]) -> None:
    said = cli("rule", "check", text).splitlines()
    assert said[0] == text
    assert set(lines) <= set(said)


REFUSED = [
    (["check", "?x livesIn New York => ?x a b"], 2, ["is missing before 'York", '"New York"']),
    (["check", "?x a b => ?x c ?z"], 2, ["concludes with ?z", "add a condition with ?z"]),
    (["create", "TAXABLE: ?x a b => ?x c d"], 2, ["has the name 'TAXABLE'", "choose another"]),
    (["create", "?a hasRevenue ?b, ?b > $50,000 => ?a isTaxable true"], 2, ["says the same"]),
    (["create", '{"conditions": 5}'], 2, ["the field conditions"]),
    (
        ["create", '{"text": "?x a b => ?x c d", "severty": "info"}'],
        2,
        ["no field 'severty'", "did you mean severity?"],
    ),
    (["toggle", "nobody"], 3, ["no rule 'nobody'", "rule list"]),
    (["list", "--type", "guess"], 2, ["inference, constraint, policy"]),
    (["import", "nothing.txt"], 2, ["nothing.txt cannot be read"]),
]


def test_what_makes_no_sense_is_refused_with_what_to_do(cli: Run) -> None:
    cli("init")
    cli("rule", "create", TAXABLE)
    for args, status, words in REFUSED:
        said = cli("rule", *args, status=status)
        assert all(word in said for word in words), said
    assert cli("rule", "export") == f"{TAXABLE}\n"


def test_rules_travel_as_text_and_as_json(
    cli: Run, cli_json: RunJson, home: Path, type_in: Callable[[bytes], None]
) -> None:
    cli("init")
    file = home.parent / "rules.txt"
    file.write_text(f"\ufeff# two\n{TAXABLE}\n{MANAGED}\n", encoding="utf-8")
    assert cli("rule", "import", file, "--dry-run") == "2 rules could be imported.\n"
    assert cli("rule", "import", file) == "2 rules were imported.\n"
    assert cli("rule", "import", file) == "0 rules were imported.\n"
    assert cli("rule", "export") == f"{TAXABLE}\n{MANAGED}\n"
    type_in(cli("rule", "export", "--json").encode())
    assert len(cli_json("rule", "import", "-", "--agent", "other")["rules"]) == 2
    assert cli("rule", "export", "--agent", "other") == f"{TAXABLE}\n{MANAGED}\n"
    file.write_text(NOTIFY)
    assert cli("rule", "import", file, "--dry-run") == "1 rule could be imported.\n"
    assert cli("rule", "import", file) == "1 rule was imported.\n"
    cli("infer", "forward", "--persist")
    head, *rows = (line.split()[1:4] for line in cli("rule", "list").splitlines())
    assert (head, rows) == (
        ["enabled", "kept", "text"],
        [["yes", "yes", "taxable:"], *([["yes", "?x", "isA"], ["yes", "?x", "hasDebt"]])],
    )
    type_in(b"?x a")
    assert "nothing was imported, for 1 reason:\nline 1: " in cli("rule", "import", "-", status=2)
    type_in(b"?x a\n?x b")
    assert "nothing was imported, for 2 reasons:\nline 1: " in cli("rule", "import", "-", status=2)


def test_rule_cannot_steer_the_terminal_of_who_looks_at_it(cli: Run, home: Path) -> None:
    cli("init")
    cli("rule", "create", EVIL)
    cli("fact", "assert", "Joe", "a", "b")
    (home / "agents/main/knowledge/rules/0002.jsonl").write_text('{"op": "\\u001b[31m"}\n', encoding="utf-8")
    for command in (["rule", "list"], ["rule", "show", "evil"], ["rule", "export"], ["infer", "check"]):
        said = cli(*command)
        assert not {"\x1b", "\x07"} & set(said)
        assert "owned" in said
