"""The door for agents: a real client over standard input and output, with good and with bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from memfolio.memory import Memory
from memfolio.serve.mcp.server import listed
from memfolio.types import HUMAN
from memfolio.verbs.verb import tools_of
from tests.serve.mcp_life import furnish, live, told

PROGRAM = [sys.executable, "-c", "from memfolio.serve.cli import main; main()"]
CALLS = 200
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@asynccontextmanager
async def host(home: Path, *options: str) -> AsyncIterator[ClientSession]:
    """A host that has started a server."""
    command, *args = PROGRAM
    started = StdioServerParameters(
        command=command, args=[*args, "--home", str(home), "mcp", *options], env={**os.environ}
    )
    async with stdio_client(started) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


NOTHING = f"""
memfolio://day/1999-01-01 memfolio://day/2026-13-45 memfolio://mind/Secrets memfolio://mind/../../memfolio.toml
memfolio://entity/.. memfolio://entity/person--other memfolio://../other/memory/graph/entities/person--other.md
memfolio://entity/a--b/../../c memfolio://checkpoint/../../../memfolio.toml memfolio://day/..%2f..%2fmemfolio
memfolio://nothing file:///etc/hostname core memfolio://core/ memfolio://entity/a--{"b" * 300}
""".split()


def text_of(result: Any) -> str:
    """The text of a resource or of a prompt."""
    found = result.contents[0] if hasattr(result, "contents") else result.messages[0].content
    return str(found.text)


async def call_much(session: ClientSession) -> None:
    """Every tool with good and with bad input, and then recall until there were enough calls."""
    listed = {tool.name: tool for tool in (await session.list_tools()).tools}
    made = 0

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        nonlocal made
        made += 1
        return await session.call_tool(name, arguments)

    assert await live(call) == set(listed) == set(tools_of("all"))
    for name in (*listed, "nothing"):
        for wrong in ({"nonsense": 1}, {"agent_id": "somebody-else"}):
            result = await call(name, wrong)
            assert result.is_error, name
            assert set(told(result)["error"]) == {"code", "message", "hint"}
    while made < CALLS:
        assert told(await call("recall", {"query": f"note {made}", "limit": 3}))["result"]["hits"]


def test_a_real_client_calls_every_tool_with_good_and_with_bad_input(home: Path) -> None:
    async def run() -> None:
        async with host(home, "--tools", "all") as session:
            await call_much(session)

    furnish(home)
    anyio.run(run)


def test_what_there_is_is_listed_and_read_and_nothing_else(home: Path) -> None:
    furnish(home)
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("Alex prefers tea", type="preference")
        memory.mind.believe("Tea is served at four")
        memory.checkpoint("Half way through")
        page = "---\nid: person--other\nname: other\ntype: person\n---\n# Page of other\n"
        memory.vault.put_page("agents/other/memory/graph/entities/person--other.md", page, expects=None, by=HUMAN)
    (home / "agents/main/mind/Secrets.md").symlink_to("/etc/hostname")

    async def run() -> None:
        async with host(home) as session:
            listed = [str(each.uri) for each in (await session.list_resources()).resources]
            found = {uri: text_of(await session.read_resource(uri)) for uri in listed}
            kinds = [uri.removeprefix("memfolio://").partition("/")[0] for uri in listed]
            assert kinds == ["core", "checkpoint", "checkpoint", "day", "entity"]
            wanted = ("Name: Alex", "Half", "Half", "prefers tea", "# Alex")
            assert all(words in text for text, words in zip(found.values(), wanted, strict=True))
            assert "served at four" in text_of(await session.read_resource("memfolio://mind/Beliefs"))
            for address in NOTHING:
                with pytest.raises(Exception, match="there is nothing at"):
                    await session.read_resource(address)
            prompt = await session.get_prompt("recall-before-answering", {"question": "What does Alex drink?"})
            assert "Alex prefers tea" in text_of(prompt)
            assert "checkpoint" in text_of(await session.get_prompt("checkpoint-before-compaction"))
            assert "`learn`" in text_of(await session.get_prompt("learn"))
            for name, match in (("recall-before-answering", "lacks its"), ("nothing", "no prompt")):
                with pytest.raises(Exception, match=match):
                    await session.get_prompt(name, {})

    anyio.run(run)


def test_a_home_without_checkpoints_lists_none(home: Path) -> None:
    with Memory.open(home, background=False, speaker="agent") as memory:
        assert [each.uri for each in listed(memory)] == ["memfolio://core"]


def test_every_line_of_a_host_is_answered_whatever_it_says(home: Path) -> None:
    def call(number: int, text: str) -> str:
        arguments = f'{{"name": "remember", "arguments": {{"text": {text}}}}}'
        return f'{{"method": "tools/call", "params": {arguments}, "jsonrpc": "2.0", "id": {number}}}'

    lines = [
        *(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}),),
        *('{"jsonrpc": "2.0", "method": "notifications/initialized"}', "no JSON", "[]", "\xff"),
        *(
            call(2, '"Half an emoji: \\ud83d"'),
            call(3, "[" * 5000 + "]" * 5000),
            call(4, "9" * 5000),
            call(5, '"Whole"'),
        ),
    ]
    said = "".join(f"{line}\n" for line in lines).encode("latin-1")
    command = [*PROGRAM, "--home", str(home), "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(said)
        server.stdin.flush()
        patience = threading.Timer(20, server.kill)  # what is not answered must not be waited for
        patience.start()
        answers = [json.loads(server.stdout.readline() or "{}") for _ in lines[1:]]
        patience.cancel()
        server.stdin.close()
    assert all(answers), "a line was not answered"
    failed = [each["id"] for each in answers if "error" in each]
    assert sorted(each["id"] for each in answers if "result" in each) == [1, 2, 5]
    assert (sorted(filter(None, failed)), failed.count(None)) == ([3, 4], 3)
    with Memory.open(home, background=False) as memory:
        assert {item.content for item in memory.vault.entries("main")} == {"Half an emoji: ?", "Whole"}


def test_long_call_tells_how_far_it_is_and_a_cancelled_one_is_finished_but_not_waited_for(home: Path) -> None:
    seen: list[float] = []
    waited: anyio.CancelScope

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)
        if len(seen) == 2:
            waited.cancel()

    async def run() -> None:
        nonlocal waited
        async with host(home) as session:
            await session.call_tool("remember", {"text": "First"})
            with memory.vault.writer.ready():  # everybody else has to wait
                with anyio.fail_after(20), anyio.CancelScope() as waited:
                    await session.call_tool("remember", {"text": "Second"}, progress_callback=progressed)
                assert waited.cancelled_caught
                assert seen == sorted(set(seen))
                assert told(await session.call_tool("recall", {"query": "first"}))["result"]["hits"]
            again = told(await session.call_tool("remember", {"text": "Second"}))["result"]
            assert again["content"] == "Second"

    with Memory.open(home, background=False) as memory:
        anyio.run(run)
        assert [item.content for item in memory.vault.entries("main")] == ["First", "Second"]


PARENT = """
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for message in ({"id": 1, "method": "initialize", "params": %s}, {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "remember", "arguments": {"text": "Before the end"}}}):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
server.stdout.readline(), server.stdout.readline()
print(server.pid, flush=True)
time.sleep(60)
"""


def test_server_ends_when_its_host_is_killed_and_leaves_no_lock(home: Path) -> None:
    command = [sys.executable, "-c", PARENT % json.dumps(HELLO), *PROGRAM, "--home", str(home), "mcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        server = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 10
    while Path(f"/proc/{server}").exists() and "zombie" not in Path(f"/proc/{server}/status").read_text():
        assert time.monotonic() < until, "the server goes on without its host"
        time.sleep(0.05)
    with Memory.open(home, background=False) as memory:
        memory.remember("After the end")
        assert [item.content for item in memory.vault.entries("main")] == ["Before the end", "After the end"]


def test_ctrl_c_ends_a_server_that_was_started_by_hand(home: Path) -> None:
    command = [*PROGRAM, "--home", str(home), "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode())
        server.stdin.write(b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == -signal.SIGINT


TYPIST = """
import sys
from memfolio.serve.cli.app import run
for line in sys.argv[2:]:
    assert run(["--home", sys.argv[1], "remember", line]) == 0
"""


def test_two_servers_and_a_command_line_on_one_home_lose_and_double_nothing(home: Path) -> None:
    wanted = {f"{who} {number}" for who in ("one", "two", "cli") for number in range(8)}
    both = [f"both {number}" for number in range(8)]

    async def serve(who: str) -> None:
        async with host(home) as session:
            for number in range(8):
                for text in (f"{who} {number}", both[number]):
                    assert not (await session.call_tool("remember", {"text": text, "type": "fact"})).is_error

    async def type_in() -> None:
        lines = [f"cli {number}" for number in range(8)]
        done = await anyio.run_process([sys.executable, "-c", TYPIST, str(home), *lines])
        assert done.returncode == 0

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for task in (lambda: serve("one"), lambda: serve("two"), type_in):
                group.start_soon(task)

    Memory.open(home, background=False).close()
    anyio.run(run)
    with Memory.open(home, background=False) as memory:
        assert sorted(item.content for item in memory.vault.entries("main")) == sorted([*wanted, *both])
        assert {each.level for each in memory.vault.verify()} == {"ok"}
