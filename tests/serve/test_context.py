"""`memfolio context`: what programs get, what people see, and what it says when there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.recall.fence import strip_fences
from memfolio.serve.cli.app import run
from tests.serve.calls import Run, RunJson

PROMPT = "What does Alex prefer?"


@pytest.fixture
def known(cli: Run) -> None:
    cli("remember", "Alex prefers tea", "--type", "preference", "--user", "alex")
    cli("remember", "The launch is on Thursday", "--type", "decision", "--tag", "release")


@pytest.mark.usefixtures("known")
def test_programs_get_the_promised_document(cli_json: RunJson) -> None:
    found = cli_json("context", PROMPT, "--budget", 300, "--user", "alex", "--task", "catering", "--topic", "drinks")
    assert list(found) == ["text", "tokens", "budget", "ids", "degraded", "crowded"]
    assert (found["budget"], found["degraded"]) == (300, [])
    assert 0 < found["tokens"] <= 300
    assert f"[{found['ids'][0]}]" in found["text"]


@pytest.mark.usefixtures("known")
def test_people_get_the_block_as_it_is(cli: Run) -> None:
    said = cli("context", PROMPT)
    assert "preference (about alex): Alex prefers tea" in said
    assert strip_fences(said) == "\n"


@pytest.mark.usefixtures("known")
def test_nothing_is_said_beside_the_answer(cli_json: RunJson, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", "thanks!"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "memfolio: No relevant memory.\n")
    found = cli_json("context", "thanks!")
    assert (found["text"], found["tokens"], found["ids"]) == (None, 0, [])


def test_page_without_room_is_said_beside_the_answer(
    cli: Run, cli_json: RunJson, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli("remember", "tea")
    (home / "agents/main/MEMORY.md").write_text("# Core memory\n\n## Identity\n- The user is called Kim\n")
    assert run(["context", "thanks!", "--budget", "60", "--include", "core"]) == 0
    assert capsys.readouterr() == ("", "memfolio: Core memory has no room in 60 tokens.\n")
    assert cli_json("context", "thanks!", "--budget", 60, "--include", "core")["crowded"] == ["core"]


@pytest.mark.usefixtures("known")
def test_prompt_comes_from_standard_input(cli: Run, type_in: Callable[[bytes], None]) -> None:
    type_in(b"When is the launch?")
    assert "The launch is on Thursday" in cli("context", "-")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["--budget", "10"], "from 50 to 1000000"),
        (["--budget", "much"], "memfolio context --help"),
        (["--include", "check"], "did you mean checkpoint?"),
    ],
)
def test_wrong_option_is_refused_with_what_would_do(cli: Run, cli_json: RunJson, args: list[str], hint: str) -> None:
    cli("init")
    assert hint in cli("context", "tea", *args, status=2)
    assert hint in cli_json("context", "tea", *args, status=2)["error"]["hint"]


def test_context_does_not_make_a_home(cli: Run) -> None:
    cli("context", "tea", status=3)
