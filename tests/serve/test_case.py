"""The command `case`: what it says to people and to programs, and how it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serve.calls import Json, Run, RunJson

STORE = ("case", "store", "--context", "The build fails", "--belief", "B-1", "--action", "revert", "--success")


@pytest.fixture
def stored(cli_json: RunJson, cli: Run) -> Json:
    cli("init")
    return cli_json(*STORE, "--lessons", "revert first")


def test_case_is_stored_used_adapted_and_deleted_in_plain_words(stored: Json, cli: Run) -> None:
    name = stored["id"]
    for args, said in (
        ((*STORE, "--dry-run"), f"{name} would be stored: The build fails → revert (worked 2 of 2 times)"),
        (STORE, f"{name} stored: The build fails → revert (worked 2 of 2 times)"),
        (("case", "retrieve", "--belief", "B-1"), f"0.57  {name}  The build fails → revert"),
        (("case", "retrieve", "--desire", "D-9"), "No similar cases."),
        (("case", "retain", name, "--failed"), f"{name} is noted: The build fails → revert (worked 2 of 3 times)"),
        (("case", "revise", name, '{"solution": {"actions": ["ask"]}}'), f"{name} is revised: The build fails → ask"),
        (("case", "list"), "2          3"),
        (("case", "show", name), "context    The build fails\nbeliefs    B-1\naction     ask\nwent       badly, the"),
        (("case", "show", name), "lesson     revert first\nimportance 0.5\norigin     owner\n"),
        (("case", "delete", name, "--dry-run"), f"{name} would be deleted"),
        (("case", "delete", name), f"{name} is deleted"),
    ):
        assert said in cli(*args)
    assert f"case '{name}' is deleted" in cli("case", "show", name, status=3)


def test_programs_get_documents(stored: Json, cli_json: RunJson, type_in: Callable[[bytes], None]) -> None:
    assert (stored["situation"]["beliefs"], stored["outcome"]["lessons"]) == (["B-1"], "revert first")
    assert (stored["origin"], stored["uses"], stored["importance"]) == ("owner", 1, 0.5)
    second = {"situation": {"beliefs": ["B-1"]}, "solution": {"plan_id": "P"}, "outcome": {"success": True}}
    type_in(json.dumps(second).encode())
    failed = cli_json("case", "store", "-", "--failed", "--importance", "0.9")
    assert (failed["outcome"]["success"], failed["importance"]) == (False, 0.9)
    found = cli_json("case", "retrieve", "a build", "--belief", "B-1", "-n", "2")
    assert [(each["case"]["id"], each["is_warning"]) for each in found["cases"]] == [
        (stored["id"], False),
        (failed["id"], True),
    ]
    assert found["degraded"] == []
    assert [line["op"] for line in cli_json("case", "show", stored["id"])["history"]] == ["store"]
    listed = cli_json("case", "list")
    assert ({each["id"] for each in listed["cases"]}, listed["problems"]) == ({stored["id"], failed["id"]}, [])


def test_case_of_an_agent_that_proposes_is_the_word_of_that_agent(
    cli: Run, cli_json: RunJson, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("init")
    cli("agent", "create", "scout")
    (home / "agents/scout/agent.toml").write_text('policy = "proposes"\n', encoding="utf-8")
    monkeypatch.setenv("MEMFOLIO_SPEAKER", "agent")
    made = cli_json(*STORE, "--agent", "scout")
    assert made["origin"] == "agent"
    revised = cli_json("case", "revise", made["id"], '{"importance": 0.9}', "--agent", "scout")
    assert (revised["origin"], revised["importance"]) == ("agent", 0.9)


def test_broken_lines_are_told_beside_the_cases(stored: Json, cli: Run, home: Path) -> None:
    with (home / "agents/main/knowledge/cases/0001.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "C-2", "op": "retain", "case": "C-1", "outcome": {"success": true}}\n')
    assert "C-2: there is no case C-1" in cli("case", "list")


def test_mistakes_are_told_with_an_exit_code(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    for args, status, said in (
        (("store", "{"), 2, "the case is no JSON"),
        (("store", "[" * 100_000), 2, "the case is no JSON"),
        (("store", "[]"), 2, "no object with the parts of a case"),
        (("store", '{"situation": 5}', "--success"), 2, "the situation is a int"),
        (("store", "--context", "x", "--action", "y"), 2, "whether it was a success"),
        (("store", '{"origin": "owner"}'), 2, "no object with the parts of a case"),
        (("retrieve",), 2, "no situation is given"),
        (("retrieve", "x", "--limit", "0"), 2, "limit 0 is not"),
        (("show", "C-1"), 3, "there is no case 'C-1'"),
        (("revise", "C-1", "{}"), 3, "there is no case 'C-1'"),
        (("retain", "C-1", "--success"), 3, "there is no case 'C-1'"),
        (("delete", "C-1"), 3, "there is no case 'C-1'"),
    ):
        assert said in cli("case", *args, status=status)
        assert said in cli_json("case", *args, status=status)["error"]["message"]
