"""The command `heartbeat`: what it says to people and to programs, and how it fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.serve.calls import PROGRAM, Run, RunJson

PAGES = {
    "Beliefs": "## Market demand is growing\ncertainty: 0.85\n\n## Market demand is declining\ncertainty: 0.78\n",
    "Desires": "## Rest\npriority: low\n\n## Work\npriority: high\n",
    "Intentions": "## Ship it\ndeadline: 2020-01-31\n",
    "Commitments": "## Report\nto: Maria · deadline: 2020-02-30\n",
}
FIRST = "main: 2 beliefs, 1 conflict; 1 intention expired, 2 desires reordered"


@pytest.fixture
def mind(cli: Run, home: Path) -> Path:
    cli("init")
    folder = home / "agents/main/mind"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def test_cycle_is_shown_made_and_then_has_nothing_to_do(mind: Path, cli: Run) -> None:
    for args, said in (
        (("--dry-run",), ("+deadline: 2020-01-31 · status: expired", "+## 1 conflict among beliefs", FIRST)),
        ((), (FIRST, "mind/Commitments.md, line 2: deadline of 'Report' is '2020-02-30', not a day")),
        ((), ("1 conflict; 0 intentions expired, 0 desires reordered",)),
    ):
        told = cli("heartbeat", *args)
        assert [each for each in said if each not in told] == []
    assert (mind / "Commitments.md").read_text(encoding="utf-8") == PAGES["Commitments"]


def test_confirmed_fact_becomes_a_belief(cli: Run, cli_json: RunJson) -> None:
    cli("init")
    fact = cli_json("fact", "assert", "Redis", "hasPort", "6379")["id"]
    cli("fact", "verify", fact, "--method", "user_confirmation", "--yes")
    assert "1 new from facts\nmain: 1 belief, 0 conflicts" in cli("heartbeat")
    assert cli_json("heartbeat")["beliefs_fed"] == 0


def test_programs_get_each_cycle(mind: Path, cli: Run, cli_json: RunJson) -> None:
    found = cli_json("heartbeat", "--dry-run")
    assert (found["agent_id"], found["belief_count"], found["diff"] != "") == ("main", 2, True)
    cycle = cli_json("heartbeat")
    [conflict] = cycle["conflicts"]
    assert (conflict["kind"], conflict["is_certain"], conflict["severity"]) == ("values", True, 0.78)
    assert cycle["problems"][0].startswith("agents/main/mind/Commitments.md, line 2")


def test_two_at_once_make_one_change(mind: Path, cli: Run, cli_json: RunJson) -> None:
    cli("status")
    both = [subprocess.Popen([PROGRAM, "heartbeat"], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [each.wait(30) for each in both] == [0, 0]
    made = [each for each in cli_json("log")["entries"] if each["actor"] == "system:heartbeat"]
    assert len(made) == 1


def test_policy_and_settings_that_are_in_the_way_are_told(mind: Path, cli: Run, home: Path) -> None:
    (home / "agents/main/agent.toml").write_text('commitment = "stubborn"\n', encoding="utf-8")
    told = cli("heartbeat")
    assert "Intentions.md is not looked at: agents/main/agent.toml: commitment is 'stubborn'" in told
    assert "nothing was changed: agents/main/agent.toml" in told
    (home / "agents/main/agent.toml").unlink()
    (home / "memfolio.toml").write_text('[policy]\nrows = ["page by system: refuse"]\n', encoding="utf-8")
    (mind / "Desires.md").write_text(PAGES["Desires"], encoding="utf-8")
    assert "nothing was changed" in cli("heartbeat")
    assert (mind / "Desires.md").read_text(encoding="utf-8") == PAGES["Desires"]


def test_without_a_home_nothing_is_made(cli: Run, cli_json: RunJson, home: Path) -> None:
    assert "there is no home" in cli("heartbeat", "--dry-run", status=3)
    assert "there is no home" in cli_json("heartbeat", status=3)["error"]["message"]
    assert not home.exists()
