"""The command `procedure`: what it says to people and to programs, and how it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serve.calls import Run, RunJson

ADD = ("procedure", "add", "Deploy the shop", "--step", "Run the tests", "--step", "Push", "--trigger", "deploy, ship")
TREE = (
    "procedure",
    "add",
    "Which way",
    "--tree",
    "Urgent?\n- yes: Call\n- no: How many?\n  - < 10: Write\n  - else: Meet",
)


@pytest.fixture(autouse=True)
def made(cli: Run) -> None:
    cli("init")
    cli(*ADD)
    cli(*TREE)


def test_procedure_is_made_used_changed_and_retired_in_plain_words(cli: Run) -> None:
    for args, said in (
        (("add", "Deploy the shop", "--step", "a", "--dry-run"), "deploy-the-shop-2 would be created."),
        (("list",), "deploy-the-shop  skill     1.0      deploy, ship"),
        (("show", "deploy the shop"), "## Steps\n1. Run the tests\n2. Push"),
        (("match", "please ship it"), "0.67  deploy-the-shop  (trigger: ship)"),
        (("match", "sing"), "No matching procedures."),
        (("decide", "which-way", "no", "5"), "Urgent? no\nHow many? < 10\nWrite"),
        (("decide", "which-way", "Urgent=no"), "Urgent? no\nHow many? (< 10, else)"),
        (("decide", "which-way", "perhaps"), "Urgent? (yes, no)\n'perhaps' is none of yes, no"),
        (
            ("update", "deploy-the-shop", "--step", "Push", "--reason", "CI"),
            "deploy-the-shop changed to version 1.1.",
        ),
        (("retire", "deploy-the-shop", "--reason", "a pipeline"), "deploy-the-shop retired."),
        (("match", "ship"), "No matching procedures."),
        (("list", "--retired"), "deploy-the-shop"),
        (("restore", "deploy-the-shop"), "deploy-the-shop is in use again."),
        (("learn",), "Nothing to learn."),
    ):
        assert said in cli("procedure", *args)


def test_programs_get_documents(cli_json: RunJson, type_in: Callable[[bytes], None]) -> None:
    type_in(b"1. Stop it\n   - action: stop(hard=yes)\n2. Start it\n")
    made = cli_json("procedure", "add", "Restart", "--type", "workflow", "--step", "-")
    assert (made["form"], made["steps"][0]["arguments"]) == ("workflow", {"hard": "yes"})
    assert cli_json("procedure", "show", "restart")["steps"] == made["steps"]
    assert [each["procedure"]["name"] for each in cli_json("procedure", "match", "restart it")["procedures"]] == [
        "restart"
    ]
    assert cli_json("procedure", "decide", "which-way", "yes")["conclusion"] == "Call"
    assert cli_json("procedure", "retire", "restart", "--reason", "x")["history"][0]["kind"] == "retired"
    assert len(cli_json("procedure", "list")["procedures"]) == 2


def test_what_was_learned_shows_its_forgotten_source_and_is_not_learned_again(
    cli: Run, cli_json: RunJson, home: Path
) -> None:
    text = "When the disk is full: first stop the service, then move the logs, finally start it again."
    source = cli_json("remember", text, "--kind", "procedural")["id"]
    assert "the-disk-is-full: would be learned" in cli("procedure", "learn", "--dry-run")
    assert cli("procedure", "learn") == "the-disk-is-full: learned, it went well\n"
    cli("forget", source, "--yes")
    assert f"{source} was forgotten" in cli("procedure", "show", "the-disk-is-full")
    assert cli_json("procedure", "show", "the-disk-is-full")["forgotten"] == [source]
    (home / "agents/main/memory/procedures/the-disk-is-full.md").unlink()
    assert cli("procedure", "learn") == "Nothing to learn.\n"


def test_broken_pages_are_told_beside_the_others(cli: Run, cli_json: RunJson, home: Path) -> None:
    (home / "agents/main/memory/procedures/broken.md").write_bytes(
        b"# Broken \xff\n## Steps\n1. a\n   - if: is\n3. b\n"
    )
    assert "broken.md: line 5: the step is numbered 3, not 2" in " ".join(cli("procedure", "list").split())
    assert len(cli_json("procedure", "list")["problems"]) == 2


def test_mistakes_are_told_with_an_exit_code(cli: Run, cli_json: RunJson) -> None:
    for args, status, said in (
        (("show", "deplay-the-shop"), 3, "there is no procedure 'deplay-the-shop'"),
        (("add", "Nothing"), 2, "there are no steps, and no tree"),
        (("add", " ", "--step", "a"), 2, "a procedure needs a title"),
        (("add", "X", "--step", "a", "--type", "spell"), 2, "unknown form 'spell'"),
        (("add", "X", "--tree", "Ready?\n- yes:"), 2, "leads nowhere"),
        (("update", "deploy-the-shop", "--reason", "x"), 2, "nothing is to be changed"),
        (("update", "deploy-the-shop", "--step", "a", "--reason", "x", "--kind", "whim"), 2, "unknown kind"),
        (("retire", "nobody", "--reason", "x"), 3, "there is no procedure 'nobody'"),
        (("decide", "deploy-the-shop", "yes"), 2, "has no decision tree"),
        (("match", "x", "--limit", "0"), 2, "limit 0 is not"),
    ):
        assert said in cli_json("procedure", *args, status=status)["error"]["message"]
    assert "did you mean deploy-the-shop?" in cli("procedure", "show", "deplay-the-shop", status=3)
