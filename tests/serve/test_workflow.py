"""The command `workflow`: what it says to people and to programs, and how it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.calls import Json, Run, RunJson

PAGE = """---
type: workflow
---
# Deploy

## Preconditions

- disk > 10

## Steps

1. Build the image
   - expect: an image
   - undo: remove it
2. Warn the customers
   - if: urgent is no
3. Switch over

## Errors

- 502: wait a minute
"""


@pytest.fixture
def begun(cli: Run, cli_json: RunJson, home: Path) -> Json:
    cli("init")
    page = home / "agents/main/memory/procedures/deploy.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(PAGE, encoding="utf-8")
    return cli_json("workflow", "start", "deploy", "--set", "disk=40")


def test_procedure_is_done_step_by_step_in_plain_words(begun: Json, cli: Run) -> None:
    run = begun["id"]
    for args, said in (
        (("show", run), "deploy 1.0: waiting\n  1. Build the image  [open]\n  2. Warn the customers  []"),
        (("show", run), "Step 1 of 3: Build the image\nExpect: an image\n502: wait a minute"),
        (
            ("done", run, "--result", '{"image": 7}'),
            "Step 2 of 3: Only when urgent is no: Warn the customers\nNeeds: urgent",
        ),
        (("list", "--open"), "waiting"),
        (("resume", run, "--set", "urgent=no"), "Step 2 of 3: Warn the customers"),
        (("skip", run), "Step 3 of 3: Switch over"),
        (("failed", run, "--error", "no space"), "Take back: Build the image: remove it"),
        (("done", run), f"{run}  deploy 1.0: failed: no space"),
        (
            ("show", run),
            "  1. Build the image  [done, undone]\n  2. Warn the customers  [skipped]\n  3. Switch over  [failed]",
        ),
        (("stats", "deploy"), "0 of the latest 1 runs went well (0%)"),
        (("stats", "deploy"), "version 1.0: 0 of 1\nfailed at step 3: 1"),
        (("start", "deploy", "--set", "disk=5"), "failed: does not hold: disk > 10"),
        (("list", "deploy"), "failed"),
    ):
        assert said in cli("workflow", *args)
    assert cli("workflow", "list", "--open").count("\n") == 1


def test_programs_get_documents(begun: Json, cli_json: RunJson) -> None:
    assert (begun["state"], begun["failure"], begun["values"], begun["waiting"]["turn"]) == (
        "waiting",
        "",
        {"disk": 40},
        1,
    )
    run = cli_json("workflow", "done", begun["id"], "--result", '{"image": "web:7", "urgent": true}')
    assert (run["values"], run["waiting"]["step"]) == ({"disk": 40, "image": "web:7", "urgent": True}, 3)
    run = cli_json("workflow", "done", begun["id"], "--result", "all [is] well")
    assert (run["state"], run["tried"]["3"]["result"], run["waiting"]) == ("succeeded", "all [is] well", None)
    other = cli_json("workflow", "abandon", cli_json("workflow", "start", "Deploy", "--set", "disk=40")["id"])
    listed = cli_json("workflow", "list")["runs"]
    assert [(each["id"], each["state"]) for each in listed] == [(other["id"], "abandoned"), (run["id"], "succeeded")]
    stats = cli_json("workflow", "stats", "deploy")
    assert (stats["success_rate"], stats["versions"], stats["findings"]) == (1.0, {"1.0": [1, 1]}, [])


def test_mistakes_are_told_with_an_exit_code(begun: Json, cli: Run, cli_json: RunJson) -> None:
    run = begun["id"]
    cli("workflow", "abandon", run)
    for args, status, said in (
        (("start", "deploi"), 3, "there is no procedure 'deploi'"),
        (("start", "deploy", "--set", "disk"), 2, "'disk' is no value"),
        (("start", "deploy", "--set", "=5"), 2, "'=5' is no value"),
        (("stats", "nothing"), 3, "there is no procedure 'nothing'"),
        (("done", run), 4, "has ended: abandoned"),
        (("resume", run, "--redo"), 4, "has ended: abandoned"),
        *(
            ((verb, "X-1"), 3, "there is no run 'X-1'")
            for verb in ("show", "done", "failed", "skip", "resume", "abandon")
        ),
    ):
        assert said in cli_json("workflow", *args, status=status)["error"]["message"]
    assert "there is no run 'X-1'" in cli("workflow", "show", "X-1", status=3)
