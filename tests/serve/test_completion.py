"""What the shell is told when somebody presses tab, and how soon; and how help is laid out."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from memfolio.serve.cli.derive import listed
from tests.serve.calls import PROGRAM, Run

pytestmark = pytest.mark.usefixtures("settled")


def complete(line: str) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    asked = {"_MEMFOLIO_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([PROGRAM], env=os.environ | asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("memfolio ex", ["explain", "export"]),
        ("memfolio remember x --type de", ["decision"]),
        ("memfolio recall x --kind ", ["episodic", "semantic", "procedural", "opinion"]),
        ("memfolio recall x --store l", ["long_term"]),
        ("memfolio recall x --include ", ["archived", "superseded", "dormant", "quarantined"]),
        ("memfolio log --action re", ["restore", "revert", "rename", "reject"]),
        ("memfolio observe a", ["assistant"]),
        ("memfolio recall x --min", ["--min-importance", "--min-fit"]),
    ],
)
def test_known_words_are_offered(line: str, offered: list[str]) -> None:
    assert complete(line) == offered


def test_agents_and_days_that_are_there_are_offered(cli: Run) -> None:
    cli("remember", "x", "--agent", "scout", "--at", "2026-03-01")
    cli("remember", "x", "--agent", "main")
    assert complete("memfolio recall x --agent ") == ["main", "scout"]
    assert complete("memfolio --agent s") == ["scout"]
    assert complete("memfolio show --agent scout 20") == ["2026-03-01"]
    assert complete("memfolio show y") == ["yesterday"]


def test_agent_is_offered_whom_it_reads(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("main", "scout", "hermit"):
        cli("remember", "x", "--agent", name)
    cli("agent", "set", "scout", "reads=main")
    monkeypatch.setenv("MEMFOLIO_SPEAKER", "agent")
    monkeypatch.setenv("MEMFOLIO_AGENT", "scout")
    assert complete("memfolio recall x --agents ") == ["main", "scout"]


def test_no_home_and_no_sense_offer_nothing() -> None:
    assert complete("memfolio recall x --agent ") == []
    assert complete("memfolio --home /dev/null recall x --agent ") == []


@pytest.mark.serial
def test_completion_answers_at_once() -> None:
    def once() -> float:
        """Seconds of work, so that a busy machine does not decide."""
        before = os.times()
        complete("memfolio recall x --type ")
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(once() for _ in range(5)) < 0.3


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    environ = os.environ | {"_MEMFOLIO_COMPLETE": f"source_{shell}"}
    done = subprocess.run([PROGRAM], env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_MEMFOLIO_COMPLETE=complete_" in done.stdout


def test_help_offers_to_install_completion(cli: Run) -> None:
    said = cli("--help", "--all")
    assert "--install-completion" in said
    assert "--show-completion" in said


def test_example_that_begins_with_another_program_is_shown_as_it_is_typed(cli: Run) -> None:
    said = cli("remember", "--help")
    assert "Example: git log -1 --format=%B | memfolio remember -" in said
    assert 'Example: memfolio remember "Alex' in said


def test_help_lists_the_commands_in_panels_and_in_order(cli: Run) -> None:
    said = cli("--help", "--all")
    places = [said.index(f"─ {panel} ") for panel in dict.fromkeys(row.panel for row in listed().values())]
    assert places == sorted(places)
    assert re.findall(r"^│ ([a-z]+) ", said, re.MULTILINE) == list(listed())
    assert "<bool>" not in said
