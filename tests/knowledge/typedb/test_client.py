"""The client of TypeDB's HTTP API: signed in once, bounded, and clear about every failure."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from memfolio.errors import MirrorError
from memfolio.knowledge.typedb import mirror as module
from memfolio.knowledge.typedb.mirror import TypeDBClient
from memfolio.settings import Mirroring
from tests.knowledge.typedb.server import PASSWORD, USER, Before, Handler, TypeDBServer, serving


@pytest.fixture
def server() -> Iterator[TypeDBServer]:
    with serving() as server:
        yield server


def client_of(url: str, *, username: str = USER, password: str = PASSWORD, timeout: float = 2.0) -> TypeDBClient:
    return TypeDBClient(Mirroring(url=url, username=username, password=password, timeout=timeout))


def test_a_database_is_made_defined_written_and_asked(server: TypeDBServer) -> None:
    client = client_of(server.url)
    assert client.version() == "TypeDB 3.2.0"
    assert (client.make_database(), client.make_database(), client.databases()) == (True, False, ["memfolio"])
    client.ask("define attribute name, value string; entity person, owns name;", kind="schema")
    client.write(['insert $a isa person, has name "Ada";', 'insert $a isa person, has name "Bob";'])
    found = client.ask('match $p isa person, has name $n; sort $n; fetch { "name": $n };', most=10)
    assert found == [{"name": "Ada"}, {"name": "Bob"}]
    assert server.signs == 1


def test_a_transaction_counts_as_a_whole_or_not_at_all(server: TypeDBServer) -> None:
    client = client_of(server.url)
    client.make_database()
    client.ask("define attribute name, value string; entity person, owns name;", kind="schema")
    with pytest.raises(MirrorError, match=r"400.*cannot own age"):
        client.write(['insert $a isa person, has name "Ada";', "insert $a isa person, has age 7;"])
    assert (server.things(), server.transactions) == ([], {})


def test_an_old_token_is_replaced_once(server: TypeDBServer) -> None:
    client = client_of(server.url)
    client.databases()
    server.tokens.clear()
    assert client.databases() == []
    assert server.signs == 2


def test_wrong_credentials_are_told_without_the_password(server: TypeDBServer) -> None:
    with pytest.raises(MirrorError, match="401: AUT1") as raised:
        client_of(server.url, password="wröng-secret").databases()
    assert "wröng-secret" not in raised.value.message
    assert server.paths == ["POST /v1/signin"]


@pytest.mark.parametrize(("username", "password"), [("", PASSWORD), (USER, "")])
def test_without_credentials_nothing_is_sent(server: TypeDBServer, username: str, password: str) -> None:
    with pytest.raises(MirrorError, match="wants a user name and a password"):
        client_of(server.url, username=username, password=password).databases()
    assert server.paths == []


def test_without_an_address_nobody_is_contacted() -> None:
    with pytest.raises(MirrorError, match="there is no TypeDB server"):
        client_of("").version()


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    why = {url: "", "http://": "the address names no host", "http://[::1": "", "http://host:port": "nonnumeric port"}
    for wrong, said in why.items():
        with pytest.raises(MirrorError, match=f"cannot be reached: .*{said}") as raised:
            client_of(wrong).version()
        assert "typedb.url" in raised.value.hint


def test_closing_breaks_off_a_request_that_is_under_way(server: TypeDBServer) -> None:
    client, answering = client_of(server.url, timeout=60), threading.Event()

    def close_it(_: Handler) -> bool:
        client.close()
        return answering.wait(60)

    server.before = close_it
    started = time.monotonic()
    with pytest.raises(MirrorError, match="cannot be reached"):
        client.version()
    with pytest.raises(MirrorError, match="closed"):
        client.version()
    assert time.monotonic() - started < 30
    answering.set()


def half(handler: Handler) -> bool:
    return handler.send_bytes(200, b'{"distr', Length="500")


def closed(handler: Handler) -> bool:
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def silent(_: Handler) -> bool:
    time.sleep(1)
    return True


FAILURES: dict[str, tuple[Before, str]] = {
    "error": (lambda h: h.send_json(500, {"code": "SRV5", "message": "disk\nfull"}), "answered 500: SRV5: disk full"),
    "error without JSON": (lambda h: h.send_bytes(502, b"<html>"), "answered 502$"),
    "error that is a list": (lambda h: h.send_json(503, [1]), "answered 503$"),
    "malformed": (lambda h: h.send_bytes(200, b'{"version": '), "did not answer as TypeDB 3 does: no JSON object"),
    "deep": (lambda h: h.send_bytes(200, b"[" * 200_000), "no JSON"),
    "list": (lambda h: h.send_json(200, [1]), "no JSON object"),
    "redirect": (lambda h: h.send_bytes(302, b"", Location="http://127.0.0.1:1/"), "a redirect, which is not followed"),
    "huge": (lambda h: h.send_bytes(200, b" " * 2000), "more than 1,000 bytes"),
    "half": (half, "cannot be reached: the answer breaks off"),
    "closed": (closed, "cannot be reached"),
    "silent": (silent, "did not answer within 0.3 seconds"),
    "drips": (lambda h: h.drip(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20, 0.05), "did not answer within 0.3 seconds"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_is_one_clear_error(server: TypeDBServer, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    server.before, said = FAILURES[name]
    monkeypatch.setattr(module, "MOST_BYTES", 1_000 if name == "huge" else module.MOST_BYTES)
    with pytest.raises(MirrorError, match=said) as raised:
        client_of(server.url, timeout=0.3 if name in ("silent", "drips") else 5.0).version()
    assert raised.value.hint
    assert len(server.paths) == 1
