"""Hooks as hosts call them: real processes, real homes, the JSON that each host sends and takes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memfolio.memory import Memory
from memfolio.recall.context.fence import fenced
from memfolio.serve.hooks.desk import answer_once
from memfolio.serve.hooks.health import health
from memfolio.serve.hooks.hosts import ACTS, MOST_CHARACTERS, shaped
from memfolio.serve.hooks.transcript import turns_of
from memfolio.vault.disk import Disk
from memfolio.vault.lock import FileLock
from memfolio.vault.paths import INTERNAL
from tests.pages import surroundings

CALL = "import sys; from memfolio.serve.hooks.door import main; sys.exit(main(sys.argv[1:]))"
SESSION = "0b5e0f0c-6a2e-4c38-9d1e-7a2f3c4d5e6f"
Hook = Callable[..., Any]


def run(home: Path, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environ = surroundings(home.parent) | {"MEMFOLIO_CACHE": os.environ["MEMFOLIO_CACHE"]}
    del environ["TZ"]  # so that both have the same, and nobody builds the index anew
    command = [sys.executable, "-c", CALL, *args]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, check=False, env=environ)


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


@pytest.fixture
def hook(home: Path) -> Iterator[Hook]:
    """Calls a hook as a host does: it must end with 0 and print one JSON object, and nothing else."""

    def call(host: str, event: str, said: object = None, *options: str) -> Any:
        data = said if isinstance(said, bytes) else json.dumps({"session_id": SESSION, **(said or {})}).encode()  # type: ignore[dict-item]
        done = run(home, host, event, *options, stdin=data)
        assert (done.returncode, done.stderr) == (0, b"")
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer

    yield call
    stop(home)


def warm_up(hook: Hook) -> None:
    """Start the process that a prompt does not wait for as long as a beginning does."""
    hook("claude-code", "SessionStart", {"session_id": "before"})


def stop(home: Path) -> None:
    """End the process that a hook may have started a moment ago."""
    while warm_processes(home):
        run(home, "stop")


def warm_processes(home: Path) -> list[int]:
    found = subprocess.run(["pgrep", "-f", f"hooks.warm {home}$"], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def kept(home: Path) -> list[str]:
    folder = home / ".memfolio/hooks/new"
    return os.listdir(folder) if folder.exists() else []


def said(home: Path, session: str = SESSION) -> list[tuple[str | None, str]]:
    """The turns of a conversation, oldest first, once all that was kept is taken up."""
    until(lambda: not kept(home))
    with Memory.open(home, background=False) as memory:
        found = memory.recall("", session=session, limit=50)
    return [(hit.memory.role, hit.memory.content) for hit in reversed(found)]


@pytest.fixture
def filled(home: Path) -> Path:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.core.add("identity", "Alex is allergic to walnuts")
        memory.checkpoint("Migrating the login to passkeys", next_steps=["Write the rollback"])
        memory.remember("The staging database of Kestrel is called heron", type="fact")
        memory.remember("Marmalade is what Alex wants for breakfast", type="preference")
    return home


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Another process writes for a long time."""
    lock = FileLock(home / INTERNAL / "lock", Disk(), timeout=5)
    with lock():
        yield
    lock.close()


def injected(answer: Any) -> str:
    return str(answer["hookSpecificOutput"]["additionalContext"])


def test_a_conversation_begins_with_core_memory_and_where_work_was_left(filled: Path, hook: Hook) -> None:
    text = injected(hook("claude-code", "SessionStart", {"source": "startup"}))
    assert text.startswith("<memfolio-")
    assert "allergic to walnuts" in text
    assert "Write the rollback" in text
    assert len(text) <= MOST_CHARACTERS


def test_a_prompt_brings_what_is_remembered_about_it_once_in_a_conversation(filled: Path, hook: Hook) -> None:
    warm_up(hook)
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    assert "heron" in injected(hook("claude-code", "UserPromptSubmit", asked))
    assert hook("claude-code", "UserPromptSubmit", asked) == {}
    assert "heron" in injected(hook("claude-code", "UserPromptSubmit", {**asked, "session_id": "another"}))


def test_every_host_gets_its_own_form_and_no_other_keys(filled: Path, hook: Hook) -> None:
    warm_up(hook)
    asked = {"prompt": "What does Alex want for breakfast?"}
    for host, event in (("claude-code", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")):
        answer = hook(host, event, {**asked, "session_id": host})
        assert answer == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": injected(answer)}}
    assert hook("cursor", "sessionStart", {"conversation_id": "c"}).keys() == {"additional_context"}
    assert hook("cursor", "beforeSubmitPrompt", {"conversation_id": "c", **asked}) == {}


def test_both_sides_of_a_conversation_are_noted_and_what_was_injected_is_not(filled: Path, hook: Hook) -> None:
    warm_up(hook)
    told = injected(hook("claude-code", "UserPromptSubmit", {"prompt": "Which database does Kestrel have?"}))
    hook("claude-code", "UserPromptSubmit", {"prompt": f"{told}\nUse the second one."})
    hook("claude-code", "Stop", {"last_assistant_message": f"Done. {fenced(['- [M-1] heron'])}"})
    assert said(filled) == [
        ("user", "Which database does Kestrel have?"),
        ("user", "Use the second one."),
        ("assistant", "Done."),
    ]


def test_a_turn_that_two_hooks_report_is_noted_once(filled: Path, hook: Hook) -> None:
    turn = {"conversation_id": "c-1", "generation_id": "g-1", "prompt": "Rename the heron database"}
    hook("cursor", "beforeSubmitPrompt", turn)
    hook("claude-code", "UserPromptSubmit", {**turn, "cursor_version": "3.1"})
    for _ in range(2):  # without a number for the turn
        hook("gemini", "BeforeAgent", {"session_id": "g", "prompt": "continue"})
    hook("gemini", "AfterAgent", {"session_id": "g", "prompt_response": "Going on."})
    hook("gemini", "BeforeAgent", {"session_id": "g", "prompt": "continue"})
    assert said(filled, "c-1") == [("user", "Rename the heron database")]
    assert said(filled, "g") == [("user", "continue"), ("assistant", "Going on."), ("user", "continue")]


def test_sub_agents_are_heard_only_where_that_is_asked_for(filled: Path, hook: Hook) -> None:
    hook("claude-code", "Stop", {"agent_id": "a-1", "last_assistant_message": "Explored the folder"})
    assert said(filled) == []
    hook("claude-code", "Stop", {"agent_id": "a-1", "last_assistant_message": "Explored the folder"}, "--subagents")
    assert said(filled) == [("assistant", "Explored the folder")]


TRANSCRIPTS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        {"type": "user", "message": {"role": "user", "content": "We decided to use PostgreSQL for Kestrel."}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I noted it."}]}},
        {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "We decided to use Mongo."}},
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "x"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "We decided to use PostgreSQL for Kestrel."}],
            },
        },
    ],
    "gemini": [{"messages": [{"type": "user", "content": "We decided to use PostgreSQL for Kestrel."}]}],
    "cursor": [{"role": "user", "message": {"content": [{"type": "text", "text": "We decided to use PostgreSQL."}]}}],
}


@pytest.mark.parametrize("host", TRANSCRIPTS)
def test_what_people_and_agents_said_is_read_from_the_transcript_of_every_host(host: str, tmp_path: Path) -> None:
    turns = turns_of(str(written(host, tmp_path)))
    assert "PostgreSQL" in str(turns[0]["content"])
    assert [turn["role"] for turn in turns] == ["user", "assistant"][: len(turns)]


def test_of_a_long_transcript_the_end_is_read_and_what_is_broken_left_out(tmp_path: Path) -> None:
    line = json.dumps({"message": {"role": "user", "content": "word " * 100}})
    path = tmp_path / "long.jsonl"
    path.write_bytes((f"{line}\n" * 20_000).encode() + b'{"broken\n\xff\n[1]\n' + line.replace("word", "last").encode())
    turns = turns_of(str(path))
    assert len(turns) == 400
    assert str(turns[-1]["content"]).startswith("last last")
    assert turns_of(str(tmp_path)) == turns_of("") == turns_of("/nowhere/\0") == []


@pytest.mark.parametrize("host", ["claude-code", "gemini"])
def test_what_a_conversation_held_is_saved_before_it_is_cut_and_told_after(
    filled: Path, hook: Hook, host: str, tmp_path: Path
) -> None:
    start, prompt, _, cut, _ = ACTS[host]
    assert hook(host, cut, {"transcript_path": str(written(host, tmp_path)), "trigger": "auto"}) == {}
    if host == "gemini":  # which does not begin anew
        until(lambda: not kept(filled))
        text = injected(hook(host, prompt, {"prompt": "And what about the port of it?"}))
    else:
        text = injected(hook(host, start, {"source": "compact"}))
    assert "walnuts" in text
    assert "PostgreSQL" in text
    assert "Mongo" not in text


def written(host: str, folder: Path) -> Path:
    path = folder / "transcript.jsonl"
    path.write_text("\n".join(map(json.dumps, TRANSCRIPTS[host])), encoding="utf-8")
    return path


def test_a_conversation_that_is_over_is_learned_from_by_a_process_of_its_own(filled: Path, hook: Hook) -> None:
    hook("claude-code", "UserPromptSubmit", {"prompt": "Berta leads the Kestrel project and lives in Graz."})
    began = time.monotonic()
    assert hook("claude-code", "SessionEnd", {"reason": "exit"}) == {}
    assert time.monotonic() - began < 1
    until(lambda: list((filled / "agents/main/sessions").glob("*.md")), 20)


def test_without_a_home_nothing_is_said_and_nothing_is_made(home: Path, hook: Hook) -> None:
    for host, events in ACTS.items():
        assert {event: hook(host, event, {"prompt": "hello"}) for event in events} == {event: {} for event in events}
    assert not home.exists()


def test_whatever_a_host_says_the_answer_is_empty_json(filled: Path, hook: Hook) -> None:
    for data in (b"", b"{", b"[1, 2]", b"null", b"\xff\xfe\x00", b'{"prompt": 7, "session_id": []}', b"[" * 100_000):
        assert hook("claude-code", "UserPromptSubmit", data) == {}
        assert hook("claude-code", "Stop", data) == {}
    until(lambda: not kept(filled))


def test_unknown_hosts_and_events_and_options_are_answered_with_nothing(filled: Path, hook: Hook) -> None:
    assert hook("claude-code", "PostToolUse", {"prompt": "x"}) == {}
    assert hook("emacs", "SessionStart") == {}
    assert hook("", "") == {}
    assert hook("claude-code", "PreCompact", {"transcript_path": "/nowhere/at/all\u0000"}) == {}
    assert hook("claude-code", "SessionStart", {}, "--agent", "No Such Agent!") == {}
    until(lambda: not kept(filled))
    assert health(filled).waiting == 0
    assert "No Such Agent" in health(filled).troubles[-1]


def test_a_huge_prompt_is_answered_and_noted_as_far_as_a_memory_goes(filled: Path, hook: Hook) -> None:
    warm_up(hook)
    text = injected(
        hook("claude-code", "UserPromptSubmit", {"prompt": "The staging database of Kestrel? " + "ä" * 2_000_000})
    )
    assert len(text) <= MOST_CHARACTERS
    ((role, content),) = said(filled)
    assert role == "user"
    assert content.startswith("The staging database of Kestrel? ää")


def test_more_than_any_prompt_has_is_read_to_its_end_and_left(filled: Path, hook: Hook) -> None:
    assert hook("claude-code", "UserPromptSubmit", {"prompt": "x" * (17 << 20)}) == {}


def test_what_was_said_while_the_home_is_held_is_noted_later(filled: Path, hook: Hook) -> None:
    with held(filled):
        began = time.monotonic()
        assert hook("claude-code", "Stop", {"last_assistant_message": "Said while it was locked"}) == {}
        assert time.monotonic() - began < 2
        assert "walnuts" in injected(hook("claude-code", "SessionStart", {"source": "startup"}))
        assert kept(filled)
    hook("claude-code", "Stop", {"last_assistant_message": "Said afterwards"})
    assert said(filled) == [("assistant", "Said while it was locked"), ("assistant", "Said afterwards")]


def test_what_was_said_is_not_lost_when_the_warm_process_is_killed(filled: Path, hook: Hook) -> None:
    with held(filled):
        hook("claude-code", "UserPromptSubmit", {"prompt": "Remember the blue door"})
        os.kill(warm_processes(filled)[0], signal.SIGKILL)
    assert kept(filled)
    hook("claude-code", "Stop", {"last_assistant_message": "I will."})
    assert said(filled) == [("user", "Remember the blue door"), ("assistant", "I will.")]


def test_there_is_one_warm_process_and_it_ends_by_itself(filled: Path) -> None:
    command = [sys.executable, "-m", "memfolio.serve.hooks.warm", str(filled), "1.5"]
    first = subprocess.Popen(command)
    until((filled / ".memfolio/hooks/socket").exists)
    assert subprocess.run(command, timeout=20, check=False).returncode == 0
    assert first.wait(20) == 0
    assert not (filled / ".memfolio/hooks/socket").exists()


def test_the_warm_process_ends_when_another_version_speaks_to_it(filled: Path, hook: Hook) -> None:
    import socket

    hook("claude-code", "SessionStart", {"source": "startup"})
    (number,) = warm_processes(filled)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(filled / ".memfolio/hooks/socket"))
        connection.sendall(b"0.0.1\tpoke\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(10) == b""
    until(lambda: not Path(f"/proc/{number}").exists())


def test_a_home_that_is_gone_is_not_made_anew(filled: Path, hook: Hook) -> None:
    hook("claude-code", "SessionStart")
    shutil.rmtree(filled)
    assert hook("claude-code", "UserPromptSubmit", {"prompt": "Where is the staging database?"}) == {}
    subprocess.run([sys.executable, "-m", "memfolio.serve.hooks.warm", str(filled)], check=True, timeout=20)
    until(lambda: not warm_processes(filled))
    assert not filled.exists()


def test_settings_that_change_count_for_the_next_prompt(filled: Path, hook: Hook) -> None:
    warm_up(hook)
    asked = {"prompt": "What is the staging database of Kestrel called?"}
    assert hook("claude-code", "UserPromptSubmit", asked)
    (filled / "memfolio.toml").write_text("context = 7\n", encoding="utf-8")
    assert hook("claude-code", "UserPromptSubmit", {**asked, "session_id": "b"}) == {}
    (filled / "memfolio.toml").unlink()
    assert "heron" in injected(hook("claude-code", "UserPromptSubmit", {**asked, "session_id": "c"}))


def test_where_nothing_can_be_kept_or_warm_the_hook_answers_by_itself(filled: Path, hook: Hook) -> None:
    folder = filled / INTERNAL / "hooks"
    folder.write_text("in the way", encoding="utf-8")
    assert hook("claude-code", "Stop", {"last_assistant_message": "Nobody can keep this"}) == {}
    assert "walnuts" in injected(hook("claude-code", "SessionStart", {"source": "startup"}))
    folder.unlink()


def test_nothing_is_written_behind_a_link(filled: Path, hook: Hook, tmp_path: Path) -> None:
    (filled / INTERNAL / "hooks").symlink_to(tmp_path)
    assert hook("claude-code", "Stop", {"last_assistant_message": "Not there"}) == {}
    assert hook("claude-code", "SessionStart") == {}
    assert not list(tmp_path.iterdir())


def test_a_hook_that_answers_by_itself_does_not_take_longer_than_it_may(filled: Path) -> None:
    parcel = b'0\tclaude-code\tSessionStart\n{"session_id": "s"}'
    assert answer_once(str(filled), parcel, 0) == b"{}"
    assert b"walnuts" in answer_once(str(filled), parcel, 10)


def test_an_answer_without_text_is_empty_for_every_host() -> None:
    assert [shaped(host, event, None) for host, events in ACTS.items() for event in events] == [{}] * 20
