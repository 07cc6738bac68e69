"""`core`, `checkpoint` and `flush` at the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.serve.calls import Json, Run, RunJson
from tests.serve.conftest import cli, cli_json, settled, type_in

__all__ = ["cli", "cli_json", "settled", "type_in"]


def texts(block: Json) -> list[str]:
    """The items of a block of core memory."""
    return [each["text"] for each in block["items"]]


def test_core_is_shown_edited_and_undone(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    assert "Core memory is empty." in cli("core")
    shown = cli("core", "add", "identity", "Name: Alex")
    assert "+- Name: Alex" in shown
    assert "undoes it" in shown
    assert "Name: Alex" in cli("core")
    found = cli_json("core")
    assert list(map(texts, found["blocks"])) == [["Name: Alex"], [], [], []]
    assert found["cap"] == 3000
    edit = cli_json("core", "replace", "Identity", "Alex", "Name: Sam")
    assert texts(edit["blocks"][0]) == ["Name: Sam"]
    cli("undo", edit["seq"])
    assert texts(cli_json("core", "show")["blocks"][0]) == ["Name: Alex"]
    assert texts(cli_json("core", "remove", "Identity", "Name")["blocks"][0]) == []


def test_core_dry_run_changes_nothing(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    looked = cli_json("core", "add", "Persona", "Be brief", "--dry-run")
    assert looked["seq"] is None
    assert "+- Be brief" in looked["diff"]
    assert cli_json("core")["blocks"] == []


def test_pin_by_id_is_a_person_s_change(cli: Run, cli_json: RunJson) -> None:
    tea = cli_json("remember", "Alex is allergic to nuts")["id"]
    assert texts(cli_json("core", "pin", tea)["blocks"][3]) == [f"Alex is allergic to nuts [{tea}]"]
    entry = cli_json("log", "--limit", 1)["entries"][0]
    assert (entry["actor"], entry["action"]) == ("human", "EDIT")
    assert texts(cli_json("core", "unpin", "nuts")["blocks"][3]) == []


def test_core_says_what_is_wrong(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    assert "did you mean Identity" in cli("core", "add", "Identitty", "x", status=2)
    assert cli_json("core", "remove", "Identity", "x", status=3)["error"]["code"] == "not-found"
    assert cli_json("core", "add", "Identity", "word " * 4000, status=5)["error"]["code"] == "refused"


def test_checkpoint_is_written_and_shown_by_context(cli: Run, cli_json: RunJson, home: Path) -> None:
    found = cli_json(
        *("checkpoint", "Migrating the login", "--decision", "Use PKCE", "--decision", "Keep cookies"),
        *("--finding", "Tokens expire", "--next", "Write tests", "--question", "Which browser?", "--session", "s-1"),
    )
    text = (home / found["path"]).read_text()
    assert "- Use PKCE\n- Keep cookies\n" in text
    assert "## Open Questions\n\n- Which browser?" in text
    assert "Use PKCE" in cli("context", "hello", "--include", "checkpoint")
    assert cli_json("log", "--session", "s-1")["entries"][0]["paths"] == [found["path"]]
    assert "needs a context" in cli("checkpoint", " ", status=2)


def test_flush_saves_a_transcript_once(cli: Run, cli_json: RunJson, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"role": "user", "content": "I live in Oslo. We decided to use PKCE."}) + "\n{broken\n")
    looked = cli_json("flush", file, "--dry-run")
    assert looked["seq"] is None
    assert looked["problems"] == ["line 2 is not JSON"]
    found = cli_json("flush", file, "--session", "s-1", "--compaction", 0)
    assert len(found["ids"]) == len(found["memories"]) > 0
    assert cli_json("flush", file, "--session", "s-1", "--compaction", 0)["repeated"] is True
    check = ("should-flush", 190_000, "--window", 200_000, "--session", "s-1", "--compaction")
    assert cli_json(*check, 0)["result"] is False
    assert cli_json(*check, 1)["result"] is True


def test_flush_of_nothing_makes_no_home(cli: Run, cli_json: RunJson, tmp_path: Path, home: Path) -> None:
    file = tmp_path / "empty"
    file.write_bytes(b"")
    assert "Nothing to save" in cli("flush", file)
    file.write_bytes(b"\x7fELF\0")
    assert cli_json("flush", file)["problems"] == ["it is not text"]
    assert not home.exists()


def test_flush_says_who_the_user_is(cli_json: RunJson, tmp_path: Path) -> None:
    file = tmp_path / "talk.txt"
    file.write_text("User: I live in Oslo.\n")
    assert [each["content"] for each in cli_json("flush", file, "--user", "Alex")["memories"]] == ["Alex lives in Oslo"]


def test_flush_asks_the_model_where_there_is_one(cli_json: RunJson, tmp_path: Path, home: Path) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text('[model]\nprovider = "openai"\nname = "x"\nurl = "http://127.0.0.1:9/v1"\n')
    file = tmp_path / "talk.txt"
    file.write_text("User: I live in Oslo.\n")
    cli_json("init")
    [problem] = cli_json("flush", file)["problems"]
    assert problem.startswith("the rules took the place of the model: ")


def test_core_shows_the_share_of_each_block(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    cli("core", "add", "Persona", "Be brief")
    assert " of 500 tokens)" in cli("core")
    assert list(cli_json("core")["shares"].values()) == [500, 1000, 500, 1000]


def test_flush_says_what_is_missing(cli: Run, tmp_path: Path) -> None:
    cli("init")
    assert "no transcript is named" in cli("flush", status=2)
    assert "cannot be read" in cli("flush", tmp_path / "nowhere", status=2)
    assert "NO_REPLY" in cli("flush", "--prompt")
