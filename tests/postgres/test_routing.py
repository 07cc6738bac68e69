"""One server for many homes of a database: each reached by its name, and only with a token of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from memfolio import Memory
from memfolio.config import load_config
from memfolio.serve.http import app as http
from memfolio.serve.http.app import Hall, build
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import Limits, listen, server_of
from memfolio.serve.tokens import Tokens
from memfolio.vault.postgres.database import HomeDatabase
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import find_home


@pytest.fixture
def folder(quick_path: Path, in_postgres: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Path:
    in_postgres()
    monkeypatch.setenv("MEMFOLIO_CACHE", str(quick_path / "cache"))
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
    return quick_path


def made(home: Path, text: str) -> str:
    """A home with one memory, and the secret of a token for it."""
    with Memory.open(home, background=False) as memory:
        memory.remember(text)
        return Tokens(memory.vault.home).create("test", "main", "write", now=datetime.now(UTC))[1]


def admin_of(home: Path) -> str:
    with Memory.open(home, background=False) as memory:
        return Tokens(memory.vault.home).create("admin", "main", "admin", now=datetime.now(UTC))[1]


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, Hall]]:
    limits = Limits()
    app = build(load_config(home), limits, ServerNames())
    server = server_of(app, limits, app.state.hall.end_streams)
    with listen("127.0.0.1", 0) as door:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}", app.state.hall
        server.should_exit = True
        thread.join(60)


def asked(address: str, secret: str, verb: str = "recall", **arguments: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.post(f"{address}/v1/{verb}", json=arguments, headers=headers, timeout=60, verify=False)


def texts(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [hit["content"] for hit in answer.json()["result"]["hits"]]


def test_each_home_is_reached_by_its_name_with_its_own_token(folder: Path, name: str, server: OwnServer) -> None:
    own = made(folder / name, "the harbour of the first home")
    other = made(folder / f"{name}-b", "the harbour of the second home")
    with serving(folder / name) as (address, hall):
        elsewhere = f"{address}/homes/{name}-b"
        assert texts(asked(address, own, query="harbour")) == ["the harbour of the first home"]
        assert texts(asked(elsewhere, other, query="harbour")) == ["the harbour of the second home"]
        assert asked(elsewhere, other, "remember", text="a third harbour").status_code == 200
        assert "a third harbour" in texts(asked(elsewhere, other, query="third harbour"))
        refused = [asked(elsewhere, own, query="harbour"), asked(address, other, query="harbour")]
        unknown = asked(f"{address}/homes/{name}-none", own, query="harbour")
        assert [each.status_code for each in (*refused, unknown)] == [401, 401, 401]
        assert unknown.json() == refused[0].json(), "whether there is a home is not told"
        assert [home.is_open for home in hall.homes.values()] == [True]
        assert httpx.get(f"{elsewhere}/health").status_code == 401
        admin = {"Authorization": f"Bearer {admin_of(folder / f'{name}-b')}"}
        assert httpx.get(f"{elsewhere}/metrics", headers=admin).status_code == 404
    assert find_home(HomeDatabase.at(server.url), f"{name}-none") is None
    with Memory.open(folder / f"{name}-b", background=False) as memory:
        assert len(memory.vault.entries("main")) == 2


def test_homes_beyond_the_limit_are_closed_and_opened_again(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MOST_HOMES", 2)
    own = made(folder / name, "mine")
    secrets = {each: made(folder / f"{name}-{each}", f"the lamp of {each}") for each in "abcd"}
    with serving(folder / name) as (address, hall):
        for _ in range(2):
            for each, secret in secrets.items():
                assert texts(asked(f"{address}/homes/{name}-{each}", secret, query="lamp")) == [f"the lamp of {each}"]
                assert len(hall.homes) <= 2
        assert texts(asked(address, own, query="mine")) == ["mine"]


def test_who_listens_at_another_home_hears_its_changes(folder: Path, name: str) -> None:
    made(folder / name, "mine")
    other = made(folder / f"{name}-b", "theirs")
    with serving(folder / name) as (address, _):
        elsewhere = f"{address}/homes/{name}-b"
        headers = {"Authorization": f"Bearer {other}"}
        with (
            closing(httpx.Client(timeout=60)) as client,
            client.stream("GET", f"{elsewhere}/v1/events", headers=headers) as stream,
        ):
            lines = stream.iter_lines()
            assert "listening" in next(lines)
            asked(elsewhere, other, "remember", text="heard")
            assert "event: change" in [next(lines) for _ in range(4)]
