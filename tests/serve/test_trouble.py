"""The index in trouble, at the command line: an answer with a warning or an error with a hint, never a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from memfolio.serve.cli.app import run
from tests.pages import surroundings
from tests.serve.calls import Run, RunJson, program, today
from tests.vault.proof import fork, wait

NOBODY = 65534
HOLDER = """
import sys, apsw, apsw.sqlite_extra
apsw.sqlite_extra.load(apsw.Connection(":memory:"), "cksumvfs")
held = apsw.Connection(sys.argv[1], vfs="cksmvfs")
held.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE mine (a)")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def tea(cli_json: RunJson) -> str:
    return str(cli_json("remember", "Alex prefers tea")["id"])


def index_file(home: Path) -> Path:
    return next((home.parent / "cache").rglob("main.*.db"))


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process holds the index for itself."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield
    finally:
        holder.communicate()


def fine(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command answered, or failed in the way that is promised."""
    if done.returncode == 0:
        return "Traceback" not in done.stderr
    return done.returncode == 1 and done.stderr.startswith("memfolio: ") and done.stderr.count("\n  ") == 1


def test_locked_index_does_not_keep_anything_from_being_remembered(home: Path, tea: str) -> None:
    with held(index_file(home)):
        done = program("remember", "Bo prefers milk")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(f"  agents/main/memory/{today(home).name}\n")
        asked = program("recall", "tea")
        assert fine(asked)
        assert asked.returncode == 0 or "in use by another process" in asked.stderr
    assert "Bo prefers milk" in program("recall", "milk").stdout


def test_damaged_index_is_rebuilt_and_told_once(home: Path, tea: str) -> None:
    with open(index_file(home), "r+b") as file:
        file.seek(4096)
        file.write(b"x" * 40_000)
    first, second = program("recall", "tea"), program("recall", "tea")
    assert "Alex prefers tea" in first.stdout
    assert first.stderr.count("memfolio: the search index was rebuilt: ") == first.stderr.count("\n") == 1
    assert (second.returncode, second.stderr) == (0, "")


def test_damaged_index_leaves_programs_one_document(home: Path, tea: str) -> None:
    import json

    index_file(home).write_bytes(b"SQLite format 3\0" + b"x" * 8192)
    done = program("recall", "tea", "--json")
    assert json.loads(done.stdout)["hits"][0]["id"] == tea
    assert "rebuilt" in done.stderr


@pytest.mark.parametrize("cache", ["a file", "/dev/full", "/dev/null"])
def test_unusable_cache_gives_an_answer_with_a_warning(
    cli_json: RunJson, home: Path, tea: str, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = home.parent / "blocked"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MEMFOLIO_CACHE", str(blocked) if cache == "a file" else cache)
    found = cli_json("recall", "tea")
    assert [hit["id"] for hit in found["hits"]] == [tea]
    assert "cannot be used" in found["degraded"][0]
    assert "cannot be used" in cli_json("status")["degraded"][0]
    assert cli_json("reindex")["degraded"] == found["degraded"]
    assert cli_json("remember", "more tea")["path"]


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that any user can reach, and an environment in which it holds the home and the cache."""
    folder = Path(tempfile.mkdtemp(prefix="memfolio-"))
    folder.chmod(0o755)
    for name, value in surroundings(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "hashed")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs another user in this process")
def test_read_only_cache_gives_an_answer_with_a_warning(
    cli: Run, cli_json: RunJson, reachable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = cli_json("remember", "Alex prefers tea")["id"]
    asking = [["recall", "tea"], ["status"], ["explain", tea], ["forget", "tea", "--dry-run"], ["confirm", tea]]
    for args in asking:  # so that whoever may not read the program has it in memory
        cli(*args)
    cache = reachable / "locked"
    cache.mkdir(mode=0o555)
    monkeypatch.setenv("MEMFOLIO_CACHE", str(cache))
    said = as_nobody(reachable, asking)
    assert "Traceback" not in said
    assert said.count("cannot be used") >= 2
    assert said.count("exit 0\n") == len(asking), said
    assert list(cache.iterdir()) == []


def as_nobody(folder: Path, commands: list[list[str]]) -> str:
    """Run commands as somebody to whom the modes of files mean something: root ignores them."""
    heard = folder / "heard"
    heard.touch()

    def act() -> None:
        with heard.open("w") as file, redirect_stdout(file), redirect_stderr(file):
            if os.getuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            for args in commands:
                file.write(f"exit {run(args)}\n")

    if os.getuid() == 0:
        for each in (folder / "home", *(folder / "home").rglob("*")):
            os.chown(each, NOBODY, NOBODY)
    assert wait(fork(act)) == 0, heard.read_text()
    return heard.read_text()
