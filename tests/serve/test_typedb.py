"""The commands `typedb` and `goal`: what they say to people and to programs, and how they fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memfolio.serve.cli.app import run
from tests.knowledge.typedb.server import PASSWORD, TypeDBServer, configure, serving
from tests.serve.calls import Run, RunJson

NAMES = 'match $g isa goal, has name $n; sort $n; limit 2; fetch { "name": $n };'
GOAL = {"business": "Shop", "goals": [{"id": "goal-1", "name": "Open", "level": "tactical"}]}


@pytest.fixture(autouse=True)
def made(cli: Run) -> None:
    cli("init")


@pytest.fixture
def server(settled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[TypeDBServer]:
    with serving() as server:
        configure(server, monkeypatch)
        yield server


def test_goals_are_seeded_sent_and_asked_for(
    server: TypeDBServer,
    cli: Run,
    cli_json: RunJson,
    monkeypatch: pytest.MonkeyPatch,
    type_in: Callable[[bytes], None],
) -> None:
    assert "7 goals" in cli("goal", "seed", "--example", "--dry-run")
    assert cli_json("fact", "query")["facts"] == []
    assert cli_json("goal", "seed", "--example")["members"]["goals"] == 7
    assert (cli_json("typedb", "status")["databases"], server.databases) == ([], {})
    assert cli("typedb", "sync-schema") == "The database was made, and its schema is defined.\n"
    assert cli_json("typedb", "sync-schema") == {"changed": False}
    planned = cli_json("typedb", "sync", "--dry-run")
    assert server.things() == []
    lines = cli("typedb", "sync").splitlines()
    assert lines[0].split() == ["sort", "added", "removed"]
    assert {line.split()[0]: int(line.split()[1]) for line in lines[1:]} == planned["added"]
    found = cli_json("typedb", "query", NAMES)
    assert (len(found["rows"]), found["cut"]) == (2, 0)
    assert [json.loads(line) for line in cli("typedb", "query", NAMES).splitlines()] == found["rows"]
    status = cli_json("typedb", "status")
    assert (status["is_reachable"], status["synced"], status["trouble"]) == (True, status["head"], None)
    assert "synced        " in cli("typedb", "status")
    assert PASSWORD not in str(status)
    monkeypatch.setenv("MEMFOLIO_TYPEDB_BYTES", "256")
    type_in(b'match $f isa spo-fact, has uid $u; fetch { "uid": $u };')
    *rows, last = cli("typedb", "query", "-").splitlines()
    assert all(map(json.loads, rows))
    assert last == "There is more than is shown."


def test_a_server_that_is_down_ends_with_an_error(
    server: TypeDBServer, cli: Run, cli_json: RunJson, capsys: pytest.CaptureFixture[str]
) -> None:
    server.before = lambda handler: handler.send_json(503, {"code": "X", "message": PASSWORD})
    for command in (("sync",), ("sync-schema",), ("query", NAMES)):
        assert cli_json("typedb", *command, status=1)["error"]["message"] == f"{server.url} answered 503: X: …"
    assert run(["typedb", "status"]) == 1
    assert "trouble       " in capsys.readouterr().out
    assert "attribute uid, value string;" in cli("typedb", "schema")


def test_what_a_strange_server_says_is_harmless(server: TypeDBServer, cli: Run, cli_json: RunJson) -> None:
    said = b'{"answers": [{"a": "\\ud800 \\u001b[31m \\u009b"}, {"b": NaN}]}'
    server.before = lambda handler: handler.path == "/v1/query" and handler.send_bytes(200, said)
    assert cli_json("typedb", "query", "x")["rows"][1] == {"b": "NaN"}
    assert not {"\x1b", "\x9b", "\ud800"} & set(cli("typedb", "query", "\udcff"))


def test_without_a_server_that_is_said(cli: Run, cli_json: RunJson) -> None:
    assert "there is no TypeDB server" in cli("typedb", "status")
    assert "set typedb.url" in cli("typedb", "sync", status=1)
    assert cli_json("typedb", "schema")["schema"].startswith("define\n")


def test_a_file_of_goals_is_read_or_refused(
    cli: Run, cli_json: RunJson, tmp_path: Path, type_in: Callable[[bytes], None]
) -> None:
    type_in(json.dumps(GOAL).encode())
    assert cli_json("goal", "seed", "-")["members"]["goals"] == 1
    file = tmp_path / "goals.json"
    for content in (b"\xff\xfe{", b'{"goals": [{"id": "goal-1", "level": "high"}]}'):
        file.write_bytes(content)
        assert "hint" in cli_json("goal", "seed", file, status=2)["error"]
    for wrong in ((), (file, "--example"), (tmp_path / "none.toml",)):
        assert cli("goal", "seed", *wrong, status=2)
