"""What a person types to propose, to look at what waits, and to put it off."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from memfolio.serve.cli.app import run


def said(capsys: pytest.CaptureFixture[str], *args: str, status: int = 0) -> str:
    capsys.readouterr()
    assert run(args) == status
    out, err = capsys.readouterr()
    return err if status else out + err


def test_proposals_at_the_command_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMFOLIO_HOME", str(home))
    said(capsys, "init")
    (home / "agents/researcher").mkdir(parents=True)
    (home / "agents/researcher/agent.toml").write_text('policy = "proposes"\n')
    assert said(capsys, "proposals") == "No pending proposals.\n"
    with monkeypatch.context() as agent:
        agent.setenv("MEMFOLIO_SPEAKER", "agent")
        of_agent = ("--agent", "researcher")
        made = json.loads(
            said(capsys, *of_agent, "propose", "Kim sings", "--confidence", "high", "--tag", "x", "--json")
        )
        assert made["intent"]["arguments"]["confidence"] == 0.9
        assert made["id"] in said(capsys, *of_agent, "proposals")
        assert "review by subagent: refuse" in said(capsys, *of_agent, "proposals", "--defer", made["id"], status=5)
        assert "has no proposal" in said(capsys, *of_agent, "proposals", "P-1-00000000", status=3)
        assert "confidence 'huge' is not" in said(capsys, "propose", "x", "--confidence", "huge", status=2)
    listed = said(capsys, "proposals")
    assert listed == f"Remember: Kim sings\n  {made['id']}, hash {made['shown']}\n  from researcher, 0m ago, pending\n"
    assert said(capsys, "proposals", made["id"]).startswith("# Remember: Kim sings\n\n- **Do**: remember\n")
    assert f"`memfolio approve {made['id']}` approves it" in said(capsys, "proposals", "--defer", made["id"])
    assert run(["proposals", made["id"], "--defer", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["hint"] == "put one before --json"
    assert made["id"] not in said(capsys, "proposals")
    assert made["id"] in said(capsys, "proposals", "--all")
    (home / made["path"]).write_text("# Nothing\n")
    assert f"{made['path']}, line 1: " in said(capsys, "proposals")
    document = json.loads(said(capsys, "proposals", "--all", "--json"))
    assert document["proposals"] == []
    assert f"{made['path']}, line 1: " in document["broken"][0]


def test_proposal_that_is_committed_at_once_is_told_as_such(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMFOLIO_HOME", str(home))
    said(capsys, "init")
    with (home / "memfolio.toml").open("a") as file:
        file.write('[proposals]\nreview = "automatic"\n')
    (home / "agents/coder").mkdir(parents=True)
    (home / "agents/coder/agent.toml").write_text('policy = "proposes"\ntrusted = true\n')
    monkeypatch.setenv("MEMFOLIO_SPEAKER", "agent")
    propose = partial(said, capsys, "--agent", "coder", "propose")
    assert " committed at once as M-" in propose("Kim sings", "--confidence", "0.9")
    made = json.loads(propose("Kim dances", "--confidence", "0.9", "--json"))
    assert (made["status"], made["made"]["content"]) == ("committed", "Kim dances")
    assert " waits for main (hash " in propose("Kim codes")
