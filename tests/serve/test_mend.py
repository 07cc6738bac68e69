"""Forget, restore, correct, confirm, pin and explain at the command line: asked first, attributed, undoable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serve.calls import PROGRAM, Run, RunJson, today

UNKNOWN = "M-1-00000000"


@pytest.fixture
def tea(cli_json: RunJson) -> str:
    """The id of one memory about tea."""
    return str(
        cli_json("remember", "Alex prefers tea", "--type", "preference", "--tag", "drinks", "--session", "s-1")["id"]
    )


def found(cli_json: RunJson, *args: object) -> list[str]:
    return [hit["id"] for hit in cli_json("recall", *args)["hits"]]


def test_forgotten_memory_is_found_no_more_and_restored_where_it_stood(
    cli: Run, cli_json: RunJson, home: Path, tea: str
) -> None:
    before = today(home).read_text()
    done = cli_json("forget", tea, "--yes")
    assert ([each["id"] for each in done["memories"]], done["seq"], done["forgotten"]) == ([tea], 3, True)
    assert "-Alex prefers tea" in done["diff"]
    assert found(cli_json, "tea") == []
    assert cli_json("show", tea)["archived"] is True
    assert f"{tea} restored (change 4)" in cli("restore", tea)
    assert found(cli_json, "tea") == [tea]
    assert today(home).read_text() == before


def test_person_is_the_one_who_forgot(cli: Run, cli_json: RunJson, tea: str) -> None:
    cli("forget", tea, "--yes")
    entry = cli_json("log", "--limit", 1)["entries"][0]
    assert (entry["action"], entry["actor"], entry["approval"], entry["trigger"]) == (
        "DELETE",
        "human",
        "approved",
        "cli",
    )


def test_nothing_is_forgotten_without_a_yes(cli: Run, cli_json: RunJson, home: Path, tea: str) -> None:
    before = today(home).read_text()
    assert "add --yes" in cli("forget", tea, status=5)
    assert cli_json("forget", tea, status=5)["error"]["code"] == "refused"
    looked = cli_json("forget", "tea", "--dry-run")
    assert ([each["id"] for each in looked["memories"]], looked["seq"], looked["forgotten"]) == ([tea], None, False)
    assert "would be forgotten. Nothing was changed." in cli("forget", tea, "--dry-run")
    assert today(home).read_text() == before


def test_description_of_several_needs_every(cli: Run, cli_json: RunJson, tea: str) -> None:
    more = cli_json("remember", "Tea at four")["id"]
    assert {each["id"] for each in cli_json("forget", "tea", "--dry-run")["memories"]} == {tea, more}
    assert tea in cli("forget", "tea", "--yes", status=4)
    assert {each["id"] for each in cli_json("forget", "tea", "--yes", "--every")["memories"]} == {tea, more}
    assert found(cli_json, "tea") == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("reply", "status"), [("y\n", 0), ("n\n", 1)])
def test_person_sees_all_that_would_go_and_is_asked(
    cli: Run, cli_json: RunJson, tea: str, reply: str, status: int
) -> None:
    import pty

    cli("remember", "Tea at four")
    master, slave = pty.openpty()
    asked = subprocess.Popen([PROGRAM, "forget", "tea"], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = ""
    while "[y/N]" not in said:
        said += os.read(master, 65536).decode()
    os.write(master, reply.encode())
    assert asked.wait(60) == status
    os.close(master)
    assert "Forget these 2 memories?" in said
    assert all(text in said for text in ("Alex prefers tea", "Tea at four", tea))
    assert len(found(cli_json, "tea")) == (0 if status == 0 else 2)


def test_correction_takes_the_place_of_what_was_wrong(
    cli: Run, cli_json: RunJson, tea: str, type_in: Callable[[bytes], None]
) -> None:
    type_in("Alex prefers grünen Tee\n".encode())
    right = cli_json("correct", tea, "-")
    assert (right["content"], right["supersedes"], right["type"]) == ("Alex prefers grünen Tee", tea, "preference")
    assert cli_json("show", tea)["superseded_by"] == right["id"]
    assert "(superseded)" in cli("show", tea)
    assert right["id"] in cli("correct", tea, "again", status=4)
    said = cli("correct", right["id"], "Alex prefers water")
    assert "-Alex prefers grünen Tee\n+Alex prefers water\n" in said
    assert f" corrects {right['id']}\n" in said


def test_confirmed_and_pinned_memories_say_so(cli: Run, cli_json: RunJson, tea: str) -> None:
    assert cli_json("confirm", tea)["confidence"] == 1.0
    assert cli_json("pin", tea)["pinned"] is True
    assert f"{tea} is pinned" in cli("pin", tea)
    assert "pinned" in cli("show", tea)
    assert f"{tea} is not pinned" in cli("pin", tea, "--off")
    assert cli_json("show", tea)["pinned"] is False
    assert cli_json("log", "--limit", 1)["entries"][0]["actor"] == "human"


def test_explain_tells_programs_the_whole_provenance(cli: Run, cli_json: RunJson, tea: str) -> None:
    right = cli_json("correct", tea, "Alex prefers green tea")["id"]
    cli("confirm", right)
    told = cli_json("explain", right)
    assert told["memory"]["id"] == right
    assert [each["id"] for each in told["supersedes"]] == [tea]
    assert [line["op"] for line in told["history"]] == ["confirm"]
    assert told["edges"][0] | {"confidence": 1} == {
        "type": "supersedes",
        "source": right,
        "target": tea,
        "predicate": None,
        "confidence": 1,
    }
    assert [(each["seq"], each["actor"]) for each in told["events"] if each["deed"] == "written"] == [(3, "human")]
    assert [each["id"] for each in cli_json("explain", tea)["superseded_by"]] == [right]


def test_explain_tells_people_who_wrote_it_and_what_became_of_it(cli: Run, cli_json: RunJson, tea: str) -> None:
    cli("pin", tea)
    right = cli_json("correct", tea, "Alex prefers green tea")["id"]
    said = cli("explain", tea)
    for words in (
        f"{tea}  pinned  superseded\nAlex prefers tea\n",
        "by bot:trigger-remember, change 2, source manual, session s-1, origin owner",
        f"corrected by  {right}",
        "pinned by human",
        "stands in     agents/main/memory/",
        "#drinks",
    ):
        assert words in said


@pytest.mark.parametrize("command", ["restore", "confirm", "pin", "explain", "show"])
def test_unknown_id_is_not_found(cli: Run, cli_json: RunJson, command: str) -> None:
    cli("init")
    assert "recall" in cli(command, UNKNOWN, status=3)
    assert cli_json(command, UNKNOWN, status=3)["error"]["code"] == "not-found"


def test_unknown_memory_cannot_be_forgotten_or_corrected(cli: Run) -> None:
    cli("init")
    cli("forget", UNKNOWN, "--yes", status=3)
    cli("forget", "nothing like this", "--yes", status=3)
    cli("correct", UNKNOWN, "text", status=3)


@pytest.mark.parametrize("command", ["forget", "restore", "confirm", "pin", "explain", "show"])
def test_two_ids_are_one_too_many(cli: Run, cli_json: RunJson, tea: str, command: str) -> None:
    assert "one memory at a time" in cli(command, tea, tea, status=2)
    assert cli_json(command, f"{tea} {UNKNOWN}", status=2)["error"]["hint"] == "name one at a time"


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["forget", ""], 2),
        (["restore", "{tea}"], 4),
        (["correct", "{tea}", ""], 2),
        (["correct", "{tea}"], 2),
        (["pin", "{tea}", "--on"], 2),
        (["confirm"], 2),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    cli: Run, home: Path, tea: str, args: list[str], status: int
) -> None:
    before = today(home).read_text()
    said = cli(*(arg.format(tea=tea) for arg in args), status=status)
    assert said.count("\n") >= 2
    assert today(home).read_text() == before


def test_forgotten_memory_must_be_restored_before_it_is_mended(cli: Run, tea: str) -> None:
    cli("forget", tea, "--yes")
    for args in (["forget", tea, "--yes"], ["confirm", tea], ["pin", tea], ["correct", tea, "x"]):
        assert "restore" in cli(*args, status=4)


@pytest.mark.parametrize("command", ["forget", "restore", "correct", "confirm", "pin", "explain", "recall", "reindex"])
def test_home_that_is_not_there_stays_away(cli: Run, home: Path, command: str) -> None:
    args = {"correct": [UNKNOWN, "text"], "reindex": []}.get(command, [UNKNOWN])
    assert "memfolio init" in cli(command, *args, status=3)
    assert not home.exists()
