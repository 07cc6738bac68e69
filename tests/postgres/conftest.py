"""A PostgreSQL server for the tests, made once: as another user where the tests run as root."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memfolio.vault.disk import Disk, FileLock
from memfolio.vault.postgres.database import HomeDatabase
from memfolio.vault.postgres.server import OwnServer, program

USER = "nobody"
"""Whom the server runs as where the tests run as root."""


def reach_programs(folder: Path) -> None:
    """Copy PostgreSQL's programs to where the server's user may go, if the tests run in a folder of root's own."""
    try:
        subprocess.run([program("postgres"), "--version"], user=USER, cwd="/", check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        package = Path(program("postgres")).parents[2]
        for each in package.parent.glob(f"{package.name}*"):
            if not each.name.endswith(".dist-info"):
                shutil.copytree(each, folder / "programs" / each.name, symlinks=True, dirs_exist_ok=True)
        sys.path.insert(0, str(folder / "programs"))
        os.environ["PYTHONPATH"] = str(folder / "programs")  # for processes that start the server themselves


def new_server(folder: Path) -> OwnServer:
    """A server in a folder below one that its user may pass."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        reach_programs(folder.parent)
    os.chmod(folder.parent, 0o755)
    return OwnServer(folder, USER if os.geteuid() == 0 else None)


def counted(folder: Path, step: int) -> int:
    """How many processes of this run use the server, this one counted in or out."""
    note = folder / "users"
    users = int(note.read_text() if note.exists() else 0) + step
    note.write_text(str(users))
    return users


@pytest.fixture(scope="session")
def server() -> Iterator[OwnServer]:
    """One server for all processes of a run: the first starts it, the last stops it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(8)
    base = Path(tempfile.gettempdir()) / f"memfolio-pg-{run[:12]}"
    base.mkdir(exist_ok=True)
    os.chmod(base, 0o755)
    with closing(FileLock(base / "users.lock", Disk(), timeout=120)) as lock:
        with lock():
            counted(base, 1)
            server = new_server(base / "server")
            server.start()
        yield server
        with lock():
            if counted(base, -1):
                return
            HomeDatabase.at(server.url).drop_idle()
            server.stop("immediate")
            shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session")
def spare() -> Iterator[OwnServer]:
    """A server of this process's own."""
    base = Path(tempfile.mkdtemp(prefix="memfolio-pg-"))
    server = new_server(base / "server")
    server.start()
    yield server
    HomeDatabase.at(server.url).drop_idle()
    server.stop("immediate")
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def own_server(spare: OwnServer) -> Iterator[OwnServer]:
    """A server that nobody else uses meanwhile, to be killed."""
    spare.start()
    yield spare
    HomeDatabase.at(spare.url).drop_idle()


@pytest.fixture
def in_postgres(server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has homes opened from now on be rows of the database."""

    def switch() -> None:
        monkeypatch.setenv("MEMFOLIO_STORE", "postgres")
        monkeypatch.setenv("MEMFOLIO_DATABASE_URL", server.url)

    return switch


@pytest.fixture
def name() -> str:
    """The name of a home that no other test has."""
    return f"home-{secrets.token_hex(6)}"
