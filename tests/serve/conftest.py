"""Fixtures for tests of the command line: an environment of its own, and commands run in this process."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.serve.cli.app import run
from tests.pages import surroundings
from tests.serve.calls import Json, Run, RunJson


@pytest.fixture
def settled(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in surroundings(home.parent).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def cli(settled: None, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; returns what it says and holds it to its exit code and to the right stream."""

    def call(*args: object, status: int = 0) -> str:
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert code == status, out + err
        assert "Traceback" not in out + err
        err = re.sub("^memfolio: made (?:a home in|the agent) .*\n", "", err)
        assert not (err if status == 0 else out), out + err
        return out or err

    return call


@pytest.fixture
def cli_json(settled: None, capsys: pytest.CaptureFixture[str]) -> RunJson:
    """Runs a command with --json; its output must be one document and nothing else."""

    def call(*args: object, status: int = 0) -> Json:
        capsys.readouterr()
        code = run([*(str(arg) for arg in args), "--json"])
        out, err = capsys.readouterr()
        assert (code, err) == (status, ""), out + err
        document: Json = json.loads(out)
        assert ("error" in document) == (status > 0 and "findings" not in document)
        return document

    return call


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda data: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
