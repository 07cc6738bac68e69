"""The program of a host as a model: scripts on the path that print what the real programs print."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memfolio.config import load_config
from memfolio.errors import ModelError
from memfolio.llm.host import found_program, host_programs
from memfolio.llm.model import Model, open_model
from memfolio.memory import Memory
from memfolio.vault.usage import Spent
from tests.llm.answers import TEA, Order

VALUE = json.dumps({"who": "Alex", "drinks": [{"name": "tea", "cups": 2}]})
PRINTS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        {
            "type": "result",
            "is_error": False,
            "result": f"```json\n{VALUE}\n```",
            "usage": {"input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 25},
        }
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "{tea}"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": VALUE}},
        {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 900, "output_tokens": 25}},
    ],
    "gemini": [
        {
            "response": VALUE,
            "stats": {"models": {"flash": {"tokens": {"prompt": 1000, "candidates": 25, "total": 1025}}}},
        }
    ],
}
LIMITS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [{"type": "result", "is_error": True, "result": "You've hit your limit · resets 7pm"}],
    "codex": [{"type": "turn.failed", "error": {"message": "You've hit your usage limit. Try again in 2 hours."}}],
    "gemini": [{"error": {"type": "ApiError", "message": "Quota exceeded for requests per day", "code": 429}}],
}
Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a script on the path in the place of a host's program; each call leaves a line in the file returned."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def installed(host: str, script: str) -> Path:
        program = folder / host_programs()[host].program
        program.write_text(f"#!/bin/sh\necho called >> '{calls}'\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return calls

    return installed


def printing(lines: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(["cat > /dev/null", *(f"cat <<'END'\n{json.dumps(line)}\nEND" for line in lines)])


def model_of(home: Path, memory: Memory, **settings: object) -> Model:
    (home / ".memfolio/hooks/new").mkdir(parents=True, exist_ok=True)
    config = load_config(home, overrides={"model_provider": "host", **settings})
    model = open_model(config, memory.vault.usage)
    assert model is not None
    return model


def ask(model: Model) -> Order:
    return model.ask("Say who ordered what.", "Alex had two teas.", Order)


def today(memory: Memory) -> Spent:
    return memory.vault.usage.spent(memory.vault.usage.today)


@pytest.mark.parametrize("host", PRINTS)
def test_answer_and_cost_are_read_from_what_the_program_prints(host: str, home: Path, install: Install) -> None:
    install(host, printing(PRINTS[host]))
    with Memory.open(home) as memory:
        assert ask(model_of(home, memory)) == TEA
        spent = today(memory)
    assert (spent.calls, spent.tokens_in, spent.tokens_out, spent.reserved) == (1, 1000, 25, 0)
    assert 0 < spent.overhead < 1000


def test_program_runs_apart_and_secrets_do_not_reach_it(home: Path, install: Install, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f"(pwd; ls; env; printf '%s\\n' \"$@\"; cat) > '{seen}'\n" + printing(PRINTS["claude-code"])
    install("claude-code", script)
    os.environ["MEMFOLIO_MODEL_KEY"] = "key-of-ours"
    try:
        with Memory.open(home) as memory:
            model_of(home, memory).ask("Say who.", "Alex's password is Xk9!mm2p", Order)
    finally:
        del os.environ["MEMFOLIO_MODEL_KEY"]
    told = seen.read_text(encoding="utf-8")
    assert "MEMFOLIO_ASKED=1" in told
    assert "key-of-ours" not in told
    assert "mm2p" not in told
    assert str(Path.cwd()) not in told.splitlines()[0]
    arguments = told.partition("<material-")[0]
    assert "--safe-mode" in arguments.splitlines()
    assert "password" not in arguments  # what others may read in the list of processes


@pytest.mark.parametrize("host", LIMITS)
def test_after_a_limit_nobody_asks_again_on_that_day(host: str, home: Path, install: Install) -> None:
    calls = install(host, printing(LIMITS[host]) + "\nexit 1")
    with Memory.open(home) as memory, pytest.raises(ModelError, match=r"says: .*(?i:limit|quota)"):
        ask(model_of(home, memory))
    with Memory.open(home) as memory:
        with pytest.raises(ModelError, match="is not asked again today"):
            ask(model_of(home, memory))
        assert today(memory).stopped
    assert calls.read_text(encoding="utf-8").count("called") == 1


def test_program_that_hangs_is_ended_with_all_it_started_and_stays_reserved(
    home: Path, install: Install, tmp_path: Path
) -> None:
    late = tmp_path / "late"
    install("codex", f"(sleep 2; touch '{late}') &\nsleep 30")
    with Memory.open(home) as memory:
        began = time.monotonic()
        with pytest.raises(ModelError, match=r"did not answer within 0\.5 seconds"):
            ask(model_of(home, memory, model_timeout=0.5))
        assert time.monotonic() - began < 5
        assert today(memory).reserved > 0
    time.sleep(2)
    assert not late.exists()


@pytest.mark.parametrize("said", ["I would rather not.", '{"what": 1}', '{"who": "Alex", "drinks": 7}'])
def test_answer_of_another_form_is_an_error_and_counted(said: str, home: Path, install: Install) -> None:
    install("gemini", printing([{"response": said}]))
    with Memory.open(home) as memory:
        with pytest.raises(ModelError, match="did not answer with what was asked for"):
            ask(model_of(home, memory))
        assert today(memory).dropped == {"invalid": 1}


def test_trouble_is_told_in_one_plain_line(home: Path, install: Install) -> None:
    install("claude-code", "cat > /dev/null; printf 'error: unknown \\033[31moption\\n--safe-mode' >&2; exit 1")
    with Memory.open(home) as memory, pytest.raises(ModelError, match=r"unknown \[31moption --safe-mode"):
        ask(model_of(home, memory))


def test_nothing_is_asked_while_no_conversation_is_open(home: Path, install: Install) -> None:
    calls = install("claude-code", printing(PRINTS["claude-code"]))
    with Memory.open(home) as memory:
        model = model_of(home, memory)
        an_hour_ago = time.time() - 3600
        os.utime(home / ".memfolio/hooks/new", (an_hour_ago, an_hour_ago))
        with pytest.raises(ModelError, match="no conversation is open"):
            ask(model)
    assert not calls.exists()


def test_question_inside_a_question_is_refused(home: Path, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = install("claude-code", printing(PRINTS["claude-code"]))
    monkeypatch.setenv("MEMFOLIO_ASKED", "1")
    with Memory.open(home) as memory, pytest.raises(ModelError, match="inside a question"):
        ask(model_of(home, memory))
    assert not calls.exists()


def test_program_that_is_not_there_is_named(home: Path, install: Install) -> None:
    install("gemini", printing(PRINTS["gemini"]))
    assert found_program("auto") is not None
    with Memory.open(home) as memory, pytest.raises(ModelError, match="there is no codex on the path"):
        ask(model_of(home, memory, model_name="codex"))


def ask_often(model: Model, count: int) -> None:
    for _ in range(count):
        with suppress(ModelError):
            ask(model)


def test_eight_processes_with_a_thousand_questions_do_not_pass_the_limit_of_a_day(home: Path, install: Install) -> None:
    spending = [{**PRINTS["claude-code"][0], "usage": {"input_tokens": 4_000, "output_tokens": 1_000}}]
    calls = install("claude-code", printing(spending))
    with Memory.open(home, background=False) as memory:
        model, context = model_of(home, memory, model_budget=40_000), multiprocessing.get_context("fork")
        running = [context.Process(target=ask_often, args=(model, 125)) for _ in range(8)]
        for each in running:
            each.start()
        for each in running:
            each.join()
        spent = today(memory)
        with pytest.raises(ModelError, match="the model budget is used up"):
            ask(model)
    assert [each.exitcode for each in running] == [0] * 8
    assert 20_000 <= spent.tokens <= 40_000
    assert spent.calls == calls.read_text(encoding="utf-8").count("called") == spent.tokens // 5_000
