"""Bad input: too much, too slow, of the wrong form; each gets a clear answer and changes nothing."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from memfolio.serve.http import app
from memfolio.serve.http.server import Limits
from tests.serve.http.conftest import QUICK, Served, serving, until


def post(served: Served, path: str, content: bytes, **more: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.secrets['admin']}", "Content-Type": "application/json", **more}
    return httpx.post(served.address + path, headers=headers, content=content, verify=False)


def files(served: Served) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in served.home.glob("agents/**/*.md")}


WRONG: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 422),
    "no JSON": (b"{", 422),
    "not UTF-8": (b'{"text": "\xff"}', 400),
    "too deep": (b"[" * 500_000, 400),
    "huge number": (b'{"text": "a", "importance": %s}' % (b"9" * 5000), 400),
    "a list": (b"[]", 422),
    "text as number": (b'{"text": 5}', 422),
    "number as text": (b'{"text": "a", "importance": "0.5"}', 422),
    "too important": (b'{"text": "a", "importance": 7}', 422),
    "not a number": (b'{"text": "a", "importance": NaN}', 422),
    "unknown type": (b'{"text": "a", "type": "decison"}', 422),
    "unknown field": (b'{"text": "a", "actor": "human"}', 422),
    "whose word": (b'{"text": "a", "origin": "owner"}', 422),
    "time as number": (b'{"text": "a", "at": 5}', 422),
    "half a character": (b'{"text": "\\ud800"}', 422),
    "half a character below": (b'{"text": "a", "attributes": {"\\ud800": "\\udfff"}}', 422),
    "infinite below": (b'{"text": "a", "attributes": {"b": 1e999}}', 422),
    "empty": (b'{"text": " "}', 422),
    "NUL": (b'{"text": "a\\u0000"}', 422),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_gets_a_clear_error_and_changes_nothing(served: Served, case: str) -> None:
    before, (content, status) = files(served), WRONG[case]
    answer = post(served, "/v1/remember", content)
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) == {"code", "message", "hint"}
    assert answer.json()["error"]["message"]
    assert files(served) == before


@pytest.mark.parametrize("path", ["/v1/graph-entity", "/v1/graph-neighbours", "/v1/tools/fact_explain"])
@pytest.mark.parametrize("name", [b"a\\u0000b", b"\\ud800"])
def test_text_that_no_memory_can_hold_is_refused_everywhere(served: Served, path: str, name: bytes) -> None:
    answer = post(served, path, b'{"%s": "%s"}' % (b"name" if b"graph" in path.encode() else b"fact_id", name))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "input")


def test_body_that_is_not_said_to_be_json_is_told_what_to_send(served: Served) -> None:
    answer = post(served, "/v1/recall", b'{"query": "tea"}', **{"Content-Type": "text/plain"})
    assert (answer.status_code, "application/json" in answer.json()["error"]["hint"]) == (422, True)


def test_home_in_trouble_is_told_of_and_not_where_it_is(served: Served) -> None:
    (served.home / "agents/lost").mkdir(parents=True)
    (served.home / "agents/lost/agent.toml").write_text("policy = [", encoding="utf-8")
    (served.home / "agents/main/MEMORY.md").mkdir()
    now = served.hall.tokens.all()[0].created_at
    _, secret = served.hall.tokens.create("lost", "lost", now=datetime.fromisoformat(now))
    lost = post(served, "/v1/remember", b'{"text": "a"}', Authorization=f"Bearer {secret}")
    core = post(served, "/v1/core-add", b'{"block": "Identity", "text": "a"}')
    well = [post(served, path, b"{}") for path in ("/v1/status", "/v1/tools/status", "/v1/tools/memory_status")]
    (served.home / "agents/main/MEMORY.md").rmdir()
    told = [(each.status_code, each.json()["error"]["code"]) for each in (lost, core)]
    assert told == [(503, "config"), (503, "disk")]
    assert core.json()["error"]["message"].startswith("agents/main/MEMORY.md")
    assert [each.status_code for each in well] == [200, 200, 200]
    assert not any(str(served.home.parent) in each.text for each in (lost, core, *well))


def test_unknown_routes_tools_and_methods_are_said_to_be_unknown(served: Served) -> None:
    assert post(served, "/v1/nothing", b"{}").json()["error"]["code"] == "not-found"
    assert post(served, "/v1/tools/recal", b"{}").json()["error"]["code"] == "not-found"
    assert post(served, "/v1/recall/", b"{}").json()["error"]["code"] == "not-found"
    assert httpx.get(f"{served.address}/v1/recall").status_code == 405
    assert post(served, "/v1/explain", b'{"id": "M-1-00000000"}').status_code == 404


@pytest.mark.parametrize("is_chunked", [False, True])
def test_huge_body_is_refused_and_its_sender_sees_why(served: Served, is_chunked: bool) -> None:
    body = json.dumps({"text": "a" * (QUICK.body * 3)}).encode()
    parts = (body[place : place + 65536] for place in range(0, len(body), 65536))
    headers = {"Authorization": f"Bearer {served.secrets['admin']}", "Content-Type": "application/json"}
    content: Any = parts if is_chunked else body
    answer = httpx.post(f"{served.address}/v1/remember", headers=headers, content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too-long")


def slowly(served: Served, head: str, rest: bytes) -> tuple[bytes, float]:
    """What a client gets that sends a byte every now and then, and after how many seconds."""
    began, got = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
        client.sendall(head.encode())
        client.settimeout(0.05)
        for byte in rest:
            try:
                client.sendall(bytes([byte]))
                got += (piece := client.recv(65536))
                if not piece:
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    return got, time.monotonic() - began


def test_slow_clients_are_let_go(served: Served) -> None:
    head = f"POST /v1/remember HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.secrets['write']}\r\n"
    slow_head, slow_body = b"X-Slow: " + b"a" * 200, b'{"text": "' + b"a" * 200
    json_head = f"{head}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    cases = ((head, slow_head), (json_head, slow_body), (f"{head}Content-Length: 0\r\n\r\n{head}", slow_head))
    with ThreadPoolExecutor(len(cases)) as clients:
        first, second, third = clients.map(lambda case: slowly(served, *case), cases)
    assert first[0].startswith(b"HTTP/1.1 408 ")
    assert second[0].startswith(b"HTTP/1.1 408 ")
    assert json.loads(second[0].partition(b"\r\n\r\n")[2])["error"]["code"] == "slow"
    assert third[0].startswith(b"HTTP/1.1 422 ")
    assert b"HTTP/1.1 408 " in third[0]
    assert max(took for _, took in (first, second, third)) < 5


def test_client_that_takes_nothing_of_its_answer_is_let_go_and_leaves_nothing_behind(home: Path) -> None:
    with serving(home, Limits(send_seconds=0.3), sending=2048) as served, ExitStack() as open_ones:
        bearer, client = f"Authorization: Bearer {served.secrets['read']}\r\n", served.client()
        for path in ("/openapi.json", "/v1/events"):
            reader = open_ones.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            reader.connect(("127.0.0.1", served.port))
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{bearer}\r\n".encode())
        until(served.hall.rooms.values)
        listeners = served.hall.rooms.values()[0].listeners
        until(lambda: listeners)
        until(lambda: client.observe(role="user", content="News") and not listeners)
        until(lambda: not served.server.server_state.connections)
        assert served.hall.metrics.in_flight == 0


def test_client_that_takes_its_answer_slowly_gets_all_of_it(home: Path) -> None:
    with serving(home, Limits(send_seconds=0.2), sending=2048) as served, socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        reader.connect(("127.0.0.1", served.port))
        reader.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got = bytearray()
        for _ in range(12):
            got += reader.recv(8192)
            time.sleep(0.05)
        got += b"".join(iter(lambda: reader.recv(1 << 20), b""))
    assert json.loads(got.partition(b"\r\n\r\n")[2])["paths"]


def test_reader_who_falls_behind_hears_what_waited_and_then_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[bytes]:
        listener = app.Listener()
        for number in range(9):
            listener.hear(b"%d" % number)
        await asyncio.sleep(0)
        return [each async for each in listener.events()]

    monkeypatch.setattr(app, "WAITING", 3)
    assert asyncio.run(run()) == [b"0", b"1", b"2"]


def test_many_slow_clients_do_not_keep_others_out(served: Served) -> None:
    idle = [socket.create_connection(("127.0.0.1", served.port), timeout=5) for _ in range(60)]
    for each in idle:
        each.sendall(b"POST /v1/remember HTTP/1.1\r\nHost: localhost\r\n")
    assert served.client("read").recall(query="tea")["hits"]
    for each in idle:
        assert each.recv(65536).startswith(b"HTTP/1.1 408 ")
        each.close()


def test_connection_too_many_gets_an_error_like_all_others(home: Path) -> None:
    with serving(home, Limits(connections=2)) as served, ExitStack() as open_ones:
        for _ in range(2):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=5))
        until(lambda: httpx.get(f"{served.address}/health").status_code == 503)
        answer = httpx.get(f"{served.address}/health")
        assert (answer.json()["error"]["code"], answer.headers["retry-after"]) == ("busy", "1")
        open_ones.close()
        until(lambda: httpx.get(f"{served.address}/health").status_code == 200)


def head_of(size: int) -> bytes:
    begin = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: "
    return begin + b"a" * (size - len(begin) - 4) + b"\r\n\r\n"


def answered(served: Served, *pieces: bytes) -> bytes:
    """What comes back of what is sent piece by piece."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
        for each in pieces:
            client.sendall(each)
            time.sleep(0.05 if len(pieces) > 1 else 0)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize("size", [15_900, 16_000, 16_384])
def test_head_within_the_limit_is_read(served: Served, size: int) -> None:
    head = head_of(size)
    for pieces in ((head,), (head[: size // 2], head[size // 2 :])):
        assert answered(served, *pieces).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("size", [16_385, 16_500, 20_000, 20_480, 33_000])
def test_head_over_the_limit_is_refused_however_it_comes(served: Served, size: int) -> None:
    head = head_of(size)
    for pieces in ((head,), (head[: size // 2], head[size // 2 :]), (head[:-4] + b"aaaa",)):
        answer = answered(served, *pieces)
        assert answer.startswith(b"HTTP/1.1 431 ")
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert (error["code"], error["hint"]) == ("too-long", "the head has room for 16384 bytes")


def test_head_over_the_limit_is_refused_behind_another_request(served: Served) -> None:
    answer = answered(served, head_of(200) + head_of(20_000))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 431 " in answer


def test_bytes_that_are_no_http_are_refused(served: Served) -> None:
    assert answered(served, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_server_is_well_after_all_that(served: Served) -> None:
    def counted() -> str:
        return httpx.get(
            f"{served.address}/metrics", headers={"Authorization": f"Bearer {served.secrets['admin']}"}
        ).text

    until(lambda: "memfolio_http_in_flight 1\n" in counted())
    assert 'memfolio_http_requests_total{route="/v1/remember",method="POST",status="413"}' in counted()
    assert 'status="500"' not in counted()
