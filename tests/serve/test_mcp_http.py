"""The door for agents over HTTP: who is let in, to what, and how much of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client

from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import listen, server_of
from memfolio.serve.mcp.http import application, callers_of, parsed
from memfolio.serve.tokens import Tokens
from tests.serve.http.conftest import QUICK, in_thread
from tests.serve.mcp_life import furnish, told
from tests.serve.test_mcp import HELLO, PROGRAM, call_much

OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass
class Door:
    """A server that runs, and secrets by agent and scope."""

    url: str
    secrets: dict[str, str]
    home: Path

    def head(self, name: str, **more: str) -> dict[str, str]:
        return {**ACCEPT, "Authorization": f"Bearer {self.secrets[name]}", **more}

    def ask(self, head: dict[str, str], body: Any = OPENING) -> httpx2.Response:
        given = {"content": body} if isinstance(body, bytes) else {"json": body}
        return httpx2.post(self.url, headers=head, timeout=20, verify=False, **given)

    @asynccontextmanager
    async def session(self, name: str) -> AsyncIterator[ClientSession]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.secrets[name]}"}, timeout=30) as http,
            streamable_http_client(self.url, http_client=http) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            yield session

    def revoke(self, name: str) -> None:
        with Memory.open(self.home, background=False) as memory:
            tokens = Tokens(memory.vault.home)
            token = tokens.bearer(self.secrets[name])
            assert token
            tokens.revoke(token.id, now=memory.vault.home.now())


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("door")
    home, secrets = folder / "home", dict[str, str]()
    furnish(home)
    with Memory.open(home, background=False) as memory:
        for agent, scope in (("main", "write"), ("main", "read"), ("scout", "write"), ("gone", "write")):
            _, secret = Tokens(memory.vault.home).create("test", agent, scope, now=memory.vault.home.now())
            secrets[f"{agent} {scope}"] = secret
    command = [*PROGRAM, "--home", str(home), "mcp", "--tools", "all", "--http", "127.0.0.1:0"]
    environ = {**os.environ, "MEMFOLIO_CACHE": str(folder / "cache"), "MEMFOLIO_SPEAKER": "owner"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environ, text=True) as process:
        assert process.stderr
        yield Door(process.stderr.readline().split()[-1], secrets, home)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert "Traceback" not in process.stderr.read()


def test_a_real_client_calls_every_tool_over_http(door: Door) -> None:
    async def run() -> None:
        async with door.session("main write") as session:
            await call_much(session)

    anyio.run(run)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_long_call_is_told_of_and_may_be_cancelled_in_either_form_of_the_protocol(door: Door, mode: str) -> None:
    seen: list[float] = []
    waited: anyio.CancelScope

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)
        waited.cancel()

    async def run() -> None:
        nonlocal waited
        head = {"Authorization": f"Bearer {door.secrets['scout write']}"}
        async with (
            httpx2.AsyncClient(headers=head, timeout=30) as http,
            Client(streamable_http_client(door.url, http_client=http), mode=mode) as client,
        ):
            with memory.vault.writer.ready():  # everybody else has to wait
                with anyio.fail_after(20), anyio.CancelScope() as waited:
                    await client.call_tool("remember", {"text": f"Late {mode}"}, progress_callback=progressed)
                assert waited.cancelled_caught
                assert not (await client.call_tool("recall", {"query": "late"})).is_error
            assert not (await client.call_tool("remember", {"text": f"Late {mode}"})).is_error

    with Memory.open(door.home, "scout", background=False) as memory:
        anyio.run(run)
        assert [item.content for item in memory.vault.entries("scout")].count(f"Late {mode}") == 1


def test_each_token_sees_its_own_agent(door: Door) -> None:
    async def run() -> None:
        async with door.session("scout write") as scout, door.session("main write") as main:
            kept = told(await scout.call_tool("remember", {"text": "Scouts carry lanterns"}))["result"]
            assert kept["origin"] == "agent", "whoever started the server is not whoever asks"
            told_of = told(await scout.call_tool("memory_status", {}))["result"]
            assert str(door.home.parent) not in str(told_of)
            assert told(await scout.call_tool("recall", {"query": "lanterns"}))["result"]["hits"]
            assert "lanterns" not in str(told(await main.call_tool("recall", {"query": "lanterns"}))["result"]["hits"])
            result = await scout.call_tool("recall", {"query": "lanterns", "agent_id": "main"})
            assert told(result)["error"]["code"] == "policy"

    anyio.run(run)


def test_a_token_that_may_read_calls_only_what_reads(door: Door) -> None:
    async def run() -> None:
        async with door.session("main read") as session:
            listed = {tool.name for tool in (await session.list_tools()).tools}
            assert "recall" in listed
            assert not {"remember", "forget", "fact_assert"} & listed
            assert not (await session.call_tool("recall", {"query": "tea"})).is_error
            refused = told(await session.call_tool("remember", {"text": "Never written"}))["error"]
            assert (refused["code"], "may only read" in refused["message"]) == ("policy", True)
            assert "Never written" not in str(told(await session.call_tool("recall", {"query": "written"})))

    anyio.run(run)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer mf_nobody"}, 401),
        ({"Authorization": "Basic bWFpbjptYWlu"}, 401),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Host": "localhost"}, 200),
    ],
)
def test_who_is_not_let_in_is_told_before_anything_is_read(door: Door, head: dict[str, str], status: int) -> None:
    answer = door.ask(door.head("main write", **head))
    assert answer.status_code == status, answer.text
    if status != 200:
        assert set(answer.json()["error"]) == {"code", "message", "hint"}
        assert door.ask({**door.head("main write", **head), "Content-Type": "nonsense"}, b"{").status_code == status


def test_a_revoked_token_is_out_at_once(door: Door) -> None:
    session = door.ask(door.head("gone write")).headers["mcp-session-id"]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    head = door.head("gone write", **{"mcp-session-id": session})
    assert door.ask(head, listing).status_code == 200
    door.revoke("gone write")
    assert door.ask(head, listing).status_code == 401


def test_a_session_is_for_the_token_that_began_it(door: Door) -> None:
    session = door.ask(door.head("main write")).headers["mcp-session-id"]
    other = door.head("scout write", **{"mcp-session-id": session})
    assert door.ask(other, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"x" * (3 << 20), 413), (b"{", 400), (b"[]", 400), (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', 400)],
)
def test_a_body_that_is_too_long_or_makes_no_sense_is_refused(door: Door, body: bytes, status: int) -> None:
    answer = door.ask(door.head("main write"), body)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_a_slow_client_is_let_go(door: Door) -> None:
    with Memory.open(door.home, background=False) as memory:
        app = application(callers_of({}, lambda _: memory), Tokens(memory.vault.home), ServerNames(), QUICK)
        with listen("127.0.0.1", 0) as socket_, in_thread(server_of(app, QUICK), socket_):
            head = "".join(f"{name}: {value}\r\n" for name, value in door.head("main write").items())
            slow = ("X-Slow: a", "Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
            clients = [socket.create_connection(socket_.getsockname(), timeout=5) for _ in slow]
            for client, rest in zip(clients, slow, strict=True):
                client.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}{rest}".encode())
            for client in clients:
                with client:
                    got = b"".join(iter(partial(client.recv, 65536), b""))
                assert got.startswith(b"HTTP/1.1 408 ")
                assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "slow"


def test_an_address_is_on_this_machine_unless_it_says_otherwise() -> None:
    assert [parsed(each) for each in ("8931", ":8931", "0.0.0.0:1", "[::1]:2")] == [
        ("127.0.0.1", 8931),
        ("127.0.0.1", 8931),
        ("0.0.0.0", 1),
        ("::1", 2),
    ]
    for wrong in ("", "localhost", "a:b", "a:99999"):
        with pytest.raises(InputError, match="is not an address"):
            parsed(wrong)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen"):
        listen("127.0.0.1", taken.getsockname()[1])
