"""Who is let in: every route with every kind of token, decided before a byte of the body is read."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from memfolio.serve.http.errors import Refusal
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.tokens import SCOPES
from memfolio.verbs.verb import verbs_at
from tests.serve.http.conftest import Served

ROUTES = [
    *(("POST", verb.route, verb.scope) for verb in verbs_at("http").values()),
    *(("GET", "/v1/events", "read"), ("GET", "/metrics", "admin")),
]
ALIASES = [("POST", f"/v1/tools/{name}", verb.scope) for name, verb in verbs_at("http").items()]
STATES = {
    "none": None,
    "malformed": "Basic bWFpbjpzZWNyZXQ=",
    "empty": "Bearer ",
    "unknown": f"Bearer mf_{'A' * 43}",
    "odd": "Bearer \u00e9\u00ff",
}


def head_only(served: Served, method: str, path: str, authorization: str | None, body: int = 1000) -> str:
    """The status line that comes back although nothing of the body was ever sent."""
    length = f"Content-Length: {body}\r\n" if method == "POST" else ""
    given = f"Authorization: {authorization}\r\n" if authorization is not None else ""
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as client:
        client.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{given}{length}\r\n".encode("latin-1"))
        return client.recv(65536).decode("latin-1")


def answers(served: Served, method: str, path: str, scope: str) -> Iterator[tuple[str, str, int]]:
    """What comes back for each kind of token, and what should."""
    for state, value in STATES.items():
        yield state, head_only(served, method, path, value), 401
    bearer = {name: f"Bearer {secret}" for name, secret in served.secrets.items()}
    yield "revoked", head_only(served, method, path, bearer["revoked"]), 401
    for small in SCOPES[: SCOPES.index(scope)]:
        yield f"only {small}", head_only(served, method, path, bearer[small]), 403
    for foreign in ("?agent=main", "?agent=other&agent=main"):
        yield f"foreign {foreign}", head_only(served, method, path + foreign, bearer["other"]), 403


@pytest.mark.parametrize(("method", "path", "scope"), [*ROUTES, *ALIASES], ids=lambda each: str(each))
def test_route_turns_away_whoever_may_not_come_in(served: Served, method: str, path: str, scope: str) -> None:
    for state, answer, status in answers(served, method, path, scope):
        assert answer.startswith(f"HTTP/1.1 {status} "), (state, answer)
        assert "application/json" in answer
        assert ("www-authenticate: Bearer" in answer) == (status == 401)


@pytest.mark.parametrize(("method", "path", "scope"), [*ROUTES, *ALIASES], ids=lambda each: str(each))
def test_route_lets_in_whoever_may(served: Served, method: str, path: str, scope: str) -> None:
    for good in SCOPES[SCOPES.index(scope) :]:
        headers = {"Authorization": f"bearer {served.secrets[good]}"}
        body: dict[str, Any] = {"json": {"no such field": 1}} if method == "POST" else {}
        url = f"{served.address}{path}?agent=main"
        with httpx.stream(method, url, headers=headers, verify=False, **body) as answer:
            assert answer.status_code == (422 if method == "POST" else 200)


def test_matrix_has_every_route_that_needs_a_token(served: Served) -> None:
    paths = httpx.get(f"{served.address}/openapi.json").json()["paths"]
    guarded = {
        (method.upper(), path): operation["x-scope"]
        for path, methods in paths.items()
        for method, operation in methods.items()
        if operation.get("security") == [{"bearer": []}]
    }
    assert set(paths) - {path for _, path in guarded} == {"/health"}
    assert guarded == {(method, path): scope for method, path, scope in ROUTES}


def test_token_for_one_agent_neither_reads_nor_writes_another(served: Served) -> None:
    other = served.client("other")
    assert other.recall(query="tea")["hits"] == []
    answer = httpx.post(
        f"{served.address}/v1/tools/remember",
        headers={"Authorization": f"Bearer {served.secrets['other']}"},
        json={"text": "I was here", "agent_id": "main"},
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign-agent")
    absent = httpx.post(
        f"{served.address}/v1/get",
        headers={"Authorization": f"Bearer {served.secrets['other']}"},
        json={"id": served.ids[0]},
    )
    assert absent.status_code == 404
    assert not any("I was here" in path.read_text() for path in served.home.glob("agents/main/memory/*.md"))


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "evil.example"}, "host"),
        ({"Host": "localhost.evil.example:80"}, "host"),
        ({"Host": "[::1"}, "host"),
        ({"Host": "evil.example@localhost"}, "host"),
        ({"Host": "localhost/evil.example"}, "host"),
        ({"Host": "0.0.0.0"}, "host"),
        ({"Origin": "https://evil.example"}, "origin"),
        ({"Origin": "null"}, "origin"),
        ({"Origin": "http://localhost:1"}, "origin"),
    ],
)
def test_request_for_another_host_or_from_a_page_elsewhere_is_turned_away(
    served: Served, headers: dict[str, str], code: str
) -> None:
    answer = httpx.get(f"{served.address}/health", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, code)


@pytest.mark.parametrize("host", ["LOCALHOST", "127.0.0.1:1", "[::1]", "[::1]:8765", "memory.example:443"])
def test_server_goes_by_its_names_at_any_port(host: str) -> None:
    ServerNames(hosts=["Memory.Example", "0.0.0.0"]).check(Headers({"Host": host}))


def test_page_that_the_owner_allows_may_ask() -> None:
    names = ServerNames(origins=["https://App.example/"])
    names.check(Headers({"Host": "localhost:1", "Origin": "https://app.example"}))
    with pytest.raises(Refusal):
        names.check(Headers({"Host": "localhost:1", "Origin": "https://app.example:8443"}))


BROKEN = {
    "no JSON": "{",
    "too deep": "[" * 100_000,
    "no list": "5",
    "odd scope": '"scope": "all"',
    "odd hash": '"hash": 5',
}


@pytest.mark.parametrize("case", [*BROKEN, "a link"])
def test_nobody_is_let_in_while_the_list_of_tokens_is_broken(served: Served, case: str) -> None:
    path = served.home / ".memfolio" / "tokens.json"
    good = path.read_text()
    if case == "a link":
        (moved := path.with_name("elsewhere")).write_text(good)
        path.unlink()
        path.symlink_to(moved)
    else:
        said = BROKEN[case]
        path.write_text(re.sub(said.partition(":")[0] + ": [^,\\n]+", said, good) if ":" in said else said)
    try:
        headers = {"Authorization": f"Bearer {served.secrets['admin']}"}
        answer = httpx.post(f"{served.address}/v1/recall", headers=headers, json={"query": "tea"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "home")
        assert str(served.home) not in answer.text
    finally:
        path.unlink()
        path.write_text(good)
    assert served.client("read").recall(query="tea")["hits"]


def test_page_of_the_same_origin_may_ask(served: Served) -> None:
    assert httpx.get(f"{served.address}/health", headers={"Origin": served.address}).status_code == 200
