"""The database of many homes: its connections, its migrations, and what it means when PostgreSQL complains.

A transaction names its home by `set_config(…, true)`, which ends with it. No state is left in a session, so that a
pooler in transaction mode may stand in between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from memfolio.errors import (
    ConfigError,
    DiskFullError,
    HomeBusyError,
    HomeError,
    MemfolioError,
    RefusedError,
    StoreUnavailableError,
)
from memfolio.machine import install_command
from memfolio.types import EMPTY

if TYPE_CHECKING:
    from psycopg import Connection

    Conn = Connection[tuple[Any, ...]]

EXTRA = install_command("postgres")
TABLES = ("homes", "files", "pieces", "trail", "notes", "leases", "vectors", "waiting", "jobs")
NEEDED = 3
"""The version of the schema that this code needs; it works with the next one too."""
KEPT = 8
"""Idle connections that are kept open."""
CONNECT_SECONDS = 5
_WHO = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_WRITERS = (
    "SELECT rolname FROM pg_roles, pg_class, aclexplode(relacl) WHERE pg_class.oid = 'memfolio.homes'::regclass"
    " AND grantee = pg_roles.oid AND privilege_type = 'INSERT' AND grantee <> relowner"
)
Row = tuple[Any, ...]
Statement = tuple[str, Sequence[Any]]


def driver() -> Any:
    """The module psycopg; ConfigError where it is not installed."""
    try:
        import psycopg
    except ImportError as error:
        raise ConfigError("the driver of PostgreSQL is not installed", hint=EXTRA) from error
    return psycopg


@contextmanager
def store_errors(*, may_have_happened: bool = False) -> Iterator[None]:
    """Turn what the driver raises into memfolio's own errors, once, with the cause kept."""
    psycopg = driver()
    errors = psycopg.errors
    try:
        yield
    except (errors.LockNotAvailable, errors.QueryCanceled) as error:
        raise HomeBusyError(
            "another server has been writing here for too long", hint="try again in a moment"
        ) from error
    except errors.DiskFull as error:
        hint = "free some space there and try again; nothing was written"
        raise DiskFullError(f"the disk of the database is full: {_said(error)}", hint=hint) from error
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise ConfigError("the database has no tables of memfolio", hint="run `memfolio db migrate`") from error
    except errors.InsufficientPrivilege as error:
        hint = "`memfolio db migrate --role NAME` grants the role of the server what it needs"
        raise RefusedError(f"the database refuses: {_said(error)}", hint=hint) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise unavailable(error, may_have_happened=may_have_happened) from error
    except psycopg.Error as error:
        raise HomeError(f"the database refuses: {_said(error)}", hint="run `memfolio db doctor`") from error


def unavailable(error: Exception, *, may_have_happened: bool = False) -> StoreUnavailableError:
    outcome = (
        "whether the change was made is not known: repeat it under the same key"
        if may_have_happened
        else "nothing was written"
    )
    return StoreUnavailableError(
        f"the database does not answer: {_said(error)}; {outcome}",
        hint="see that the server runs and MEMFOLIO_DATABASE_URL names it, then try again",
        may_have_happened=may_have_happened,
    )


def _said(error: Exception) -> str:
    """The first line of what the driver says, which names no statement and no value."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


class HomeDatabase:
    """One database as this process sees it; threads may share it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._idle: list[Conn] = []
        self._lock = threading.Lock()
        self._is_checked = False

    @classmethod
    @cache
    def at(cls, url: str) -> Self:
        """The one object for an address in this process, so that all homes share its connections."""
        return cls(url)

    def connect(self) -> Conn:
        """A connection that is nobody else's; the first one refuses a role that row security does not hold."""
        psycopg = driver()
        with store_errors():
            conn: Conn = psycopg.connect(
                self.url, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS
            )
            if not self._is_checked:
                self._check(conn)
        return conn

    def _check(self, conn: Conn) -> None:
        row = conn.execute(_WHO).fetchone()
        if row is None or row[0]:
            conn.close()
            raise RefusedError(
                "the role of the database may pass over row security, so one home could see another",
                hint="connect as a role without SUPERUSER and BYPASSRLS; `memfolio db migrate --role NAME` prepares it",
            )
        version = version_of(conn)
        if version < NEEDED:
            conn.close()
            raise ConfigError(
                f"the database has version {version} of the tables, and {NEEDED} is needed",
                hint="run `memfolio db migrate` as the role that owns the tables",
            )
        self._is_checked = True

    @contextmanager
    def lent(self) -> Iterator[Conn]:
        """A connection for one transaction; it is kept for the next unless something is wrong with it."""
        with self._lock:
            conn = self._idle.pop() if self._idle else None
        conn = conn or self.connect()
        try:
            yield conn
        finally:
            self._take_back(conn)

    def _take_back(self, conn: Conn) -> None:
        idle = driver().pq.TransactionStatus.IDLE
        with self._lock:
            if not conn.closed and conn.pgconn.transaction_status == idle and len(self._idle) < KEPT:
                self._idle.append(conn)
                return
        with suppress(driver().Error):
            conn.close()

    def ask(
        self, home: int | None, sql: str, values: Sequence[Any] = (), settings: Mapping[str, str] = EMPTY
    ) -> list[Row]:
        """Rows of one home, in a transaction of its own and one round trip; once more on a fresh connection."""
        for attempt in range(2):
            try:
                with self.lent() as conn, store_errors():
                    with conn.pipeline():  # which is one transaction, without a word about it
                        name_home(conn, home, settings)
                        cursor = conn.execute(sql, values)
                    return cursor.fetchall()
            except StoreUnavailableError:
                # A connection that was idle may have died with the server that it was to.
                self.drop_idle()
                if attempt:
                    raise
        raise AssertionError("the second attempt returns or raises")

    def drop_idle(self) -> None:
        """Let go of the connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for conn in idle:
            with suppress(driver().Error):
                conn.close()


def begin(conn: Conn, home: int | None, settings: Mapping[str, str] = EMPTY) -> None:
    """Begin a transaction for one home; `settings` last as long as it does."""
    conn.execute("BEGIN")
    name_home(conn, home, settings)


def name_home(conn: Conn, home: int | None, settings: Mapping[str, str] = EMPTY) -> None:
    """Say whose rows the transaction is about."""
    named = {"memfolio.home": "" if home is None else str(home), **settings}
    calls = ", ".join("set_config(%s, %s, true)" for _ in named)
    conn.execute(f"SELECT {calls}", [part for pair in named.items() for part in pair])


@contextmanager
def renewed(renew: Callable[[], object], every: float) -> Iterator[None]:
    """Renew a lease again and again for as long as this takes."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(every):
            with suppress(MemfolioError):  # a database that is away is asked again
                renew()

    threading.Thread(target=run, name="memfolio-lease", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


# Migrations: numbered files, each in one transaction. Nothing in them may take longer where there are more homes.


def version_of(conn: Conn) -> int:
    """The version of the tables; 0 where there are none."""
    found = conn.execute("SELECT to_regclass('memfolio.schema_version')").fetchone()
    if found is None or found[0] is None:
        return 0
    row = conn.execute("SELECT coalesce(max(version), 0) FROM memfolio.schema_version").fetchone()
    return int(row[0]) if row else 0


def migrations() -> dict[int, str]:
    """The SQL of each version."""
    folder = files("memfolio.vault.postgres") / "data"
    found = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return {
        int(each.name.removesuffix(".sql")): each.read_text("utf-8") for each in sorted(found, key=lambda f: f.name)
    }


def migrate(url: str, role: str | None = None) -> tuple[int, int]:
    """Bring the tables to the newest version, as the role that owns them; returns the version before and after.

    `role` is the one that servers connect as: it gets rights to the rows and none to the tables themselves. Roles that
    had them get them for new tables, too.
    """
    psycopg = driver()
    with store_errors(), psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as conn:
        before = version_of(conn)
        with conn.transaction():
            conn.execute("CREATE SCHEMA IF NOT EXISTS memfolio")
            conn.execute(
                "CREATE TABLE IF NOT EXISTS memfolio.schema_version"
                " (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            )
        for version, sql in migrations().items():
            if version > before:
                with conn.transaction():
                    conn.execute(sql)
                    conn.execute("INSERT INTO memfolio.schema_version (version) VALUES (%s)", [version])
                    for (each,) in conn.execute(_WRITERS).fetchall():  # so that their servers can go on
                        _grant(conn, each)
        if role:
            _grant(conn, role)
        return before, version_of(conn)


def rewrite_heap(url: str) -> list[str]:
    """Write every table anew and begin another file of the write-ahead log, as the role that owns the tables.

    Deleted rows are in no page of a table then. They are in older files of that log until the server lets go of them,
    and in backups and archives until those expire.
    """
    psycopg = driver()
    with store_errors(), psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as conn:
        for table in TABLES:
            conn.execute(psycopg.sql.SQL("VACUUM FULL {}").format(psycopg.sql.Identifier("memfolio", table)))
        with suppress(psycopg.errors.InsufficientPrivilege):  # the server does both in its own time
            conn.execute("SELECT pg_switch_wal()")
            conn.execute("CHECKPOINT")
    return list(TABLES)


def _grant(conn: Conn, role: str) -> None:
    sql = driver().sql
    name = sql.Identifier(role)
    for text in (
        "GRANT USAGE ON SCHEMA memfolio TO {}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA memfolio TO {}",
        "REVOKE INSERT, UPDATE, DELETE ON memfolio.schema_version FROM {}",
    ):
        conn.execute(sql.SQL(text).format(name))
