"""A pause: nothing that is said is kept, in a folder or anywhere, and what was said meanwhile is not learned later."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as BetaCreate

from memfolio import Memory
from memfolio.errors import RefusedError
from memfolio.serve.adapters import acted_on
from memfolio.serve.client import ServerError
from memfolio.serve.hooks.pause import PAUSED, is_paused, pause, pauses, resume, said_unpaused
from memfolio.serve.mcp.caller import Caller
from memfolio.verbs.verb import tools_of
from tests.serve.calls import Run, RunJson
from tests.serve.http.conftest import serving
from tests.serve.test_hooks import SOCKET, caller, environ, fill, said, until, warmth

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
Said = Callable[..., Any]


@pytest.fixture
def filled(home: Path) -> Path:
    return fill(home)


def test_pause_lasts_for_its_time_in_its_folder_and_below(filled: Path, tmp_path: Path) -> None:
    (tmp_path / "work/secret").mkdir(parents=True)
    pause(filled, str(tmp_path / "work"), NOW, 2 * HOUR)
    for folder, later, expected in (
        ("work", HOUR, True),
        ("work/secret", HOUR, True),
        ("", HOUR, False),
        ("worker", HOUR, False),
        ("work", 3 * HOUR, False),
    ):
        assert is_paused(filled, str(tmp_path / folder), NOW + later) is expected, (folder, later)
    assert is_paused(filled, "", NOW + HOUR)  # who does not say where it is may be there


def test_pause_without_end_is_ended_and_known_for_a_while(filled: Path) -> None:
    pause(filled, "", NOW, None)
    assert is_paused(filled, "/anywhere", NOW + timedelta(days=900))
    assert len(resume(filled, "", NOW + HOUR)) == 1
    assert pauses(filled, NOW + 2 * HOUR) == []
    assert is_paused(filled, "/anywhere", NOW + HOUR / 2)


def test_turns_of_a_pause_are_left_out_of_a_transcript(filled: Path) -> None:
    turns = [{"content": name, "timestamp": f"2026-11-15T{name}:30:00Z"} for name in ("11", "12", "13")]
    assert said_unpaused(filled, "/x", [*turns, {"content": "?"}]) == [*turns, {"content": "?"}]
    pause(filled, "", NOW, HOUR)
    left = said_unpaused(filled, "/x", [*turns, {"content": "?"}, {"content": "?", "timestamp": "soon"}])
    assert [turn["content"] for turn in left] == ["11", "13"]


def test_file_that_cannot_be_read_pauses_everything(filled: Path) -> None:
    (filled / ".memfolio/pauses.json").write_text("[{")
    assert is_paused(filled, "/x", NOW)


def test_hooks_keep_nothing_in_a_pause_and_still_tell(filled: Path, cli: Run, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with warmth(filled):
        hook = caller(filled)
        cli("pause", work)
        hidden = {"prompt": "Remember that the vault code is heron-4711", "cwd": str(work)}
        told = json.dumps(hook("claude-code", "UserPromptSubmit", hidden))
        assert "paused" in told
        hook("claude-code", "Stop", {"last_assistant_message": "I will", "cwd": str(work)})
        asked = {"prompt": "What does Alex want for breakfast?", "cwd": str(work)}
        assert "Marmalade" in json.dumps(hook("claude-code", "UserPromptSubmit", asked))
        hook("claude-code", "UserPromptSubmit", {"prompt": "The bins go out on Monday", "cwd": str(tmp_path)})
        cli("pause", "--off")
        hook("claude-code", "UserPromptSubmit", {"prompt": "The milk is gone", "cwd": str(work)})
        assert said(filled) == [("user", "The bins go out on Monday"), ("user", "The milk is gone")]
    assert not [path for path in filled.rglob("*") if path.is_file() and b"heron-4711" in path.read_bytes()]


def test_tools_write_nothing_in_a_pause_and_still_read(filled: Path, cli: Run) -> None:
    cli("pause", "--for", "2h")
    calls = Caller(tools_of("core"), lambda: Memory.open(filled, speaker="agent", background=False))
    try:
        assert "paused" in calls.call("remember", {"text": "x"}).document["error"]["message"]
        assert "paused" in calls.call("use_tool", {"name": "observe", "arguments": {}}).document["error"]["message"]
        assert calls.call("recall", {"query": "breakfast"}).document["result"]["hits"]
    finally:
        calls.close()


def test_writes_over_http_are_refused_in_a_pause_and_reads_are_answered(home: Path, tmp_path: Path) -> None:
    with serving(home) as served:
        client = served.client("admin")
        pause(home, str(tmp_path), datetime.now(UTC), HOUR)  # a folder in which the server does not run
        client.observe(role="user", content="The bins go out on Monday")
        pause(home, "", datetime.now(UTC), HOUR)
        writes: list[Callable[[], object]] = [
            lambda: client.observe(role="user", content="The vault code is 4711"),
            lambda: client.remember(text="The vault code is 4711"),
            lambda: client.act_on(text="Remember that the vault code is 4711"),
            lambda: client.tool("use_tool", name="remember", arguments={"text": "The vault code is 4711"}),
        ]
        for write in writes:
            with pytest.raises(ServerError, match="memory is paused") as raised:
                write()
            assert (raised.value.status, raised.value.code) == (403, "refused")
            assert "memfolio doctor" in raised.value.hint
        assert client.recall(query="tea")["hits"]
        resume(home, "", datetime.now(UTC))
        client.remember(text="The milk is gone")
    files = b"".join(path.read_bytes() for path in (home / "agents").rglob("*") if path.is_file())
    assert b"4711" not in files
    assert b"bins" in files
    assert b"milk" in files


def test_adapters_keep_nothing_in_a_pause(home: Path) -> None:
    from anthropic.lib.tools import ToolError

    from memfolio.serve.adapters.anthropic_memory import MemfolioMemoryTool
    from memfolio.serve.adapters.langgraph import MemfolioStore

    with Memory.open(home, background=False) as memory:
        memory.remember("Alex prefers tea")
        pause(home, "", datetime.now(UTC), HOUR)
        with pytest.raises(RefusedError, match="paused"):
            MemfolioStore(memory).put(("users", "alex"), "code", {"vault": "4711"})
        with pytest.raises(ToolError, match="paused"):
            MemfolioMemoryTool(memory).execute(BetaCreate(command="create", path="/memories/x.md", file_text="4711"))
        assert acted_on(memory, "Remember that the vault code is 4711", None) == PAUSED
        assert acted_on(memory, "What do you know about tea?", None) != PAUSED
        assert len(memory.recall("", limit=10)) == 1


def test_session_goes_on_in_a_pause_and_keeps_what_is_said_before_and_after(home: Path) -> None:
    from memfolio.serve.adapters.openai_agents import MemfolioSession

    async def live(memory: Memory) -> None:
        session = MemfolioSession("s-1", memory)
        await session.add_items([said_by_user("one")])
        pause(home, "", datetime.now(UTC), HOUR)
        await session.add_items([said_by_user("Remember that the code is 4711"), said_by_user("three")])
        assert await session.pop_item() == said_by_user("three")
        resume(home, "", datetime.now(UTC))
        await session.add_items([said_by_user("four")])
        heard = [each["content"] for each in await session.get_items()]  # type: ignore[typeddict-item]
        assert heard == ["one", "Remember that the code is 4711", "four"]
        assert await session.get_items(2) == (await session.get_items())[1:]
        assert len(await MemfolioSession("s-1", memory).get_items()) == 2
        await session.clear_session()
        assert await session.get_items() == []

    with Memory.open(home, background=False) as memory:
        asyncio.run(live(memory))
        assert not [hit for hit in memory.recall("code", include=["archived"]) if "4711" in hit.memory.content]


def said_by_user(text: str) -> Any:
    return {"role": "user", "content": text}


def test_status_changed_and_doctor_show_a_pause(filled: Path, cli: Run, cli_json: RunJson) -> None:
    cli("pause", "--for", "2h")
    for command in ("status", "changed"):
        assert "Paused: no conversation is recorded until" in cli(command)
    assert [each for each in cli_json("doctor")["findings"] if "pause" in each.values()]
    assert cli_json("pause", "--off")["paused"] == []
    assert "Paused" not in cli("status") + cli("changed")
    assert cli("changed", "--since", "7d") == cli("changed", "--since", "7 days ago") == cli("changed", "7d")


def test_pause_names_its_home_and_how_to_end_that_one_alone(filled: Path, cli: Run, tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other home"
    work.mkdir()
    cli("pause", "--for", "2h")
    told = cli("pause", work)
    assert f"This pauses the home {filled} and no other" in told
    assert f"recorded until `memfolio pause {work} --off`." in told
    assert f"`memfolio pause {work} --off`" in cli("doctor")
    ended = cli("pause", work, "--off")
    assert f"Ended the pause of {work}." in ended
    assert "recorded again" not in ended
    assert "Paused: no conversation is recorded until" in ended
    assert f"Ended the pause everywhere.\nConversations are recorded again in {filled}.\n" == cli("pause", "--off")
    assert cli("pause", "--off") == f"There was no such pause of {filled}.\n"
    cli("init", other)
    assert f"`memfolio --home '{other}' pause --off`." in cli("--home", other, "pause")


@pytest.mark.parametrize("args", [["pause", "/no/such/folder"], ["pause", "--for", "ever"], ["pause", "--for", "0h"]])
def test_pause_that_cannot_be_meant_is_refused(filled: Path, cli: Run, args: list[str]) -> None:
    cli(*args, status=2)
    assert pauses(filled, datetime.now(UTC)) == []


WITHOUT_SOCKETS = (
    "import socket, sys; del socket.AF_UNIX; from pathlib import Path; "
    "from memfolio.serve.hooks.warm import main; main(Path(sys.argv[1]))"
)


def test_where_there_are_no_sockets_hooks_are_answered_at_a_port_by_who_has_the_token(filled: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WITHOUT_SOCKETS, str(filled)], env=environ(filled)) as process:
        try:
            place = filled / SOCKET
            until(place.exists)
            assert place.is_file()
            assert place.stat().st_mode & 0o777 == 0o600
            port = int(place.read_text().split()[0])
            for token in (b"", b"wrong\n", b"\n"):
                with socket.create_connection(("127.0.0.1", port), 5) as stranger:
                    stranger.sendall(token + b"0\tx\tclaude-code\tSessionStart\n{}")
                    stranger.shutdown(socket.SHUT_WR)
                    assert stranger.recv(10) == b""
            assert process.poll() is None
            hook = caller(filled)
            asked = {"prompt": "What does Alex want for breakfast?"}
            assert "Marmalade" in json.dumps(hook("claude-code", "UserPromptSubmit", asked))
            assert said(filled) == [("user", "What does Alex want for breakfast?")]
            assert process.poll() is None
        finally:
            process.terminate()
