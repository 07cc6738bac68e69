"""Byte-equal both ways: a folder, the database, a folder again; and the commands for it."""

from __future__ import annotations

import json
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio import Memory
from memfolio.config import load_config
from memfolio.errors import ConflictError, InputError, RefusedError
from memfolio.serve.cli.app import run
from memfolio.vault.git.repository import can_hold
from memfolio.vault.paths import MAX_TRACKED_BYTES, is_tracked
from memfolio.vault.postgres.carry import export_home, import_home
from memfolio.vault.postgres.database import HomeDatabase
from memfolio.vault.postgres.server import OwnServer
from memfolio.vault.postgres.vault import PostgresVault
from memfolio.vault.vault import OWNER, Vault
from tests.conftest import many
from tests.postgres.conftest import USER

GOLDEN = Path(__file__).parents[1] / "frozen" / "home-0.1.tar.gz"
ODD = {
    "agents/main/notes/with-nul.md": b"a\0b\n",
    "agents/main/notes/crlf.md": b"one\r\ntwo\r\n",
    "agents/main/notes/no-newline.md": b"the end",
    "agents/main/notes/empty.md": b"",
    "agents/main/notes/not-utf8.md": b"\xff\xfe\x80",
    "agents/main/notes/\u00fcml\u00e4ut \U0001f98a.md": "Grüße\n".encode(),
    "agents/main/notes/large.md": bytes(range(256)) * 2048,
}


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file of a home, without its inside and its git."""
    found = (each for each in folder.rglob("*") if each.is_file())
    names = {each.relative_to(folder).as_posix(): each for each in found}
    return {name: each.read_bytes() for name, each in names.items() if not name.startswith((".git/", ".memfolio/"))}


def there_and_back(folder: Path, server: OwnServer, name: str, target: Path) -> set[str]:
    """Carry a home into the database, out of it, and in again; nothing differs but git, the inside and what is told.

    Returns the files that were left out.
    """
    overrides = {"store": "postgres", "database_url": server.url}
    with Vault.open(folder):
        pass
    before = files_in(folder)
    done = import_home(load_config(folder, overrides=overrides), name)
    left_out = {path for path in before if any(each.startswith(f"{path}: ") for each in done.left_out)}
    assert len(left_out) == len(done.left_out)
    assert files_in(folder) == before, "the folder stays as it is"
    export_home(load_config(folder.parent / name, overrides=overrides), target)
    assert files_in(target) == {path: data for path, data in before.items() if path not in left_out}
    again = import_home(load_config(target, overrides=overrides), f"{name}-again")
    assert (again.head, again.changes, again.files) == (done.head, done.changes, done.files)
    opened = [PostgresVault.of(load_config(folder.parent / each, overrides=overrides)) for each in (name, again.name)]
    hashes = [{path: state.hash for path, state in vault.states().items()} for vault in opened]
    trails = [[line.hash for line in vault.changes()] for vault in opened]
    assert hashes[0] == hashes[1]
    assert trails[0] == trails[1]
    for vault in opened:
        assert all(each.level == "ok" for each in vault.verify())
        vault.close()
    with Vault.open(target) as back:
        assert [line.hash for line in back.changes()][: len(trails[0])] == trails[0]
        assert not back.trail.problems()
    return left_out


def test_a_home_of_an_earlier_version_goes_there_and_back(
    server: OwnServer, quick_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMFOLIO_MACHINE", "frozen")
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(quick_path / "golden", filter="data")
    [folder] = [each.parent for each in (quick_path / "golden").rglob("memfolio.toml")]
    assert not there_and_back(folder, server, name, quick_path / "out")


def test_files_of_any_bytes_go_there_and_back(server: OwnServer, quick_path: Path, name: str) -> None:
    folder = quick_path / "odd"
    with Memory.open(folder, background=False) as memory:
        memory.remember("something in a log", key="once")
        memory.remember("and more")
        for path, data in ODD.items():
            memory.vault.put_page(path, data, expects=None, by=OWNER)
        page = memory.vault.page("agents/main/notes/empty.md")
        assert page
        memory.vault.put_page(page.path, None, expects=page.hash, by=OWNER)
    assert not there_and_back(folder, server, name, quick_path / "out")


LETTERS = "aB0 -_.()'\"&%$#!~`@^{}[],;=+\\:*?<>|\t\n\r\u00e4\u0301\u200b\u202e\u6f22\U0001f98a"
names = st.text(LETTERS, min_size=1, max_size=40).filter(lambda name: name not in (".", ".."))
places = st.sampled_from(["agents/main/notes", "agents/main/memory", "agents/ada", "shared/notes", "audit", "."])
tails = st.sampled_from(["", "", ".md", ".jsonl", ".tmp", "~"])
PIECES = (b"one", b"\r\n", b"\n", b"\0", b"## 10:00 ", b"^M-1", b"---\n", b"\xff\xfe", b"\xef\xbb\xbf")
lines = st.lists(st.sampled_from(PIECES))
contents = st.one_of(st.binary(max_size=300), lines.map(b"".join), st.just(b""))


@many(40)
@given(written=st.dictionaries(st.tuples(places, names, tails), contents, max_size=6))
def test_homes_of_any_names_and_bytes_go_there_and_back(
    server: OwnServer, plain_home: Path, written: dict[tuple[str, str, str], bytes]
) -> None:
    with tempfile.TemporaryDirectory(prefix="memfolio-") as made:
        folder = Path(made) / "odd"
        shutil.copytree(plain_home, folder)
        for (place, name, tail), data in written.items():
            (folder / place).mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # a folder of that name is there
                (folder / place / f"{name}{tail}").write_bytes(data)
        left_out = there_and_back(folder, server, f"odd-{secrets.token_hex(6)}", Path(made) / "out")
        for path in left_out:  # what is not the home's own, and what a sync program leaves in place of a file
            is_none = path.startswith("audit/") or not is_tracked(path) or not can_hold(path)
            assert is_none or not (folder / path).read_bytes().strip(b"\0"), path


@pytest.fixture(scope="module")
def plain_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("plain") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMFOLIO_CACHE", str(home.parent / "cache"))
        with Memory.open(home, background=False) as memory:
            memory.remember("something in a log", key="once")
            memory.forget(memory.remember("and more").id)
    return home


@pytest.mark.long
def test_files_as_large_as_they_may_be_go_there_and_back(server: OwnServer, quick_path: Path, name: str) -> None:
    folder = quick_path / "large"
    with Memory.open(folder, background=False) as memory:
        memory.remember("something in a log")
    notes = folder / "agents" / "main" / "notes"
    notes.mkdir(parents=True)
    (notes / "largest.md").write_bytes(random.Random(1).randbytes(MAX_TRACKED_BYTES))
    (notes / "too-large.md").write_bytes(bytes(MAX_TRACKED_BYTES + 1))
    left_out = there_and_back(folder, server, name, quick_path / "out")
    assert left_out == {"agents/main/notes/too-large.md"}
    config = load_config(quick_path / name, overrides={"store": "postgres", "database_url": server.url})
    with PostgresVault.of(config) as vault:
        page = vault.page("agents/main/notes/largest.md")
        assert page
        other = b"a line\r\n\0 and another\n" * (MAX_TRACKED_BYTES // 25)  # nothing that looks like a secret
        vault.put_page(page.path, other, expects=page.hash, by=OWNER)
        assert vault.read(page.path) == other
        assert all(each.level == "ok" for each in vault.verify())


def test_an_imported_home_goes_on(
    server: OwnServer, quick_path: Path, name: str, in_postgres: Callable[[], None]
) -> None:
    folder = quick_path / name
    with Memory.open(folder, background=False) as memory:
        kept = memory.remember("from the folder", key="once")
        memory.vault.put_page("agents/main/MEMORY.md", "one\n", expects=None, by=OWNER)
        edited = memory.vault.put_page(
            "agents/main/MEMORY.md", "two\n", expects=memory.vault.home.hash(b"one\n"), by=OWNER
        )
    overrides = {"store": "postgres", "database_url": server.url}
    import_home(load_config(folder, overrides=overrides))
    in_postgres()
    with Memory.open(folder, background=False) as memory:
        assert memory.remember("from the folder", key="once").id == kept.id
        assert memory.recall("folder")[0].memory.id == kept.id
        added = memory.remember("from the database")
        memory.audit.undo(memory.vault.head, by=OWNER)
        assert memory.vault.entries("main") == [kept]
        assert added.id in {each for line in memory.vault.changes() for each in line.ids}
        with pytest.raises(Exception, match="history does not have change"):
            memory.audit.undo(edited.seq, by=OWNER)
        assert all(each.level == "ok" for each in memory.vault.verify())


def test_what_must_not_be_overwritten_or_carried_is_refused(server: OwnServer, quick_path: Path, name: str) -> None:
    overrides = {"store": "postgres", "database_url": server.url}
    folder = quick_path / name
    with Memory.open(folder, background=False) as memory:
        memory.remember("one")
    import_home(load_config(folder, overrides=overrides))
    with pytest.raises(ConflictError, match="already"):
        import_home(load_config(folder, overrides=overrides))
    with pytest.raises(InputError, match="files in it"):
        export_home(load_config(folder, overrides=overrides), folder)
    [part] = (folder / "audit").rglob("*.jsonl")
    part.write_bytes(part.read_bytes().replace(b'"seq":1', b'"seq":7'))
    with pytest.raises(RefusedError, match="trail"):
        import_home(load_config(folder, overrides=overrides), f"{name}-other")
    database = HomeDatabase.at(server.url)
    with database.lent() as conn:
        conn.execute("SELECT 1")  # the connection is as good as before


def told(*args: str) -> tuple[int, Any]:
    """The exit code and the document of a command."""
    with redirect_stdout(TextIOWrapper(BytesIO())) as printed:
        code = run([*args, "--json"])
        printed.flush()
        return code, json.loads(printed.buffer.getvalue())


def test_the_commands_serve_a_fresh_machine(
    own_server: OwnServer, quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user would: the server starts by itself, makes a token, answers, and the home comes out as a folder."""
    monkeypatch.setenv("MEMFOLIO_DATABASE_FOLDER", str(own_server.folder))
    monkeypatch.setenv("MEMFOLIO_DATABASE_USER", USER)
    monkeypatch.setenv("MEMFOLIO_EMBEDDER", "none")
    own_server.stop()
    home = str(quick_path / "alice")
    program = str(Path(sys.executable).parent / "memfolio")
    serve = [program, "--home", home, "serve", "--store", "postgres", "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        secret = process.stdout.readline().strip()
        said = [process.stderr.readline(), process.stderr.readline()]
        address = next(line for line in said if "serves" in line).split()[0]
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            made = client.post("/v1/remember", json={"text": "Alice has a boat"}).json()["result"]
            hits = client.post("/v1/recall", json={"query": "boat"}).json()["result"]["hits"]
            assert [hit["id"] for hit in hits] == [made["id"]]
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    code, status = told("--home", home, "db", "status")
    assert (code, status["home"], status["version"]) == (0, "alice", 3)
    assert status["changes"] >= 2
    code, findings = told("--home", home, "db", "doctor")
    assert (code, findings["ok"]) == (0, True)
    assert told("--home", home, "db", "export", str(quick_path / "out"))[0] == 0
    code, answer = told("--home", str(quick_path / "out"), "recall", "boat")
    assert [hit["id"] for hit in answer["hits"]] == [made["id"]]
    assert told("db", "import", str(quick_path / "out"), "--name", "bob")[0] == 0
    assert told("--home", str(quick_path / "bob"), "db", "status")[1]["changes"] == status["changes"]
    code, answer = told("--home", str(quick_path / "nobody"), "db", "doctor")
    assert (code, answer["error"]["code"]) == (3, "home-missing")
    HomeDatabase.at(own_server.url).drop_idle()


def test_home_in_the_database_cannot_be_paused_and_says_so(
    home: Path, in_postgres: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    in_postgres()
    with Memory.open(home, background=False) as memory:
        memory.remember("Alex prefers tea")
    assert run(["--home", str(home), "pause"]) == 5
    assert "cannot be paused" in capsys.readouterr().err
    assert not (home / ".memfolio/pauses.json").exists()
