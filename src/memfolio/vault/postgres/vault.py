"""The vault of a home in PostgreSQL: the door of `Vault`, with rows where that has files."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memfolio.clock import Clock, SystemClock
from memfolio.config import Config, load_config
from memfolio.errors import HomeBusyError, HomeError, InputError, MemfolioError, StoreUnavailableError
from memfolio.types import AGENT_PATTERN, Action, Attribution
from memfolio.vault.alerts import MONITOR
from memfolio.vault.change import Allowed, Change, Receipt
from memfolio.vault.disk import Stamp
from memfolio.vault.journal import GENESIS, FileState, Record, TrailLine
from memfolio.vault.paths import CONFIG, INTERNAL, SHARED, agent_root
from memfolio.vault.postgres.database import HomeDatabase, begin, renewed, store_errors, unavailable
from memfolio.vault.postgres.rows import NotesDisk, RowHistory, RowHome, RowJournal, Rows, RowTrail, names_below
from memfolio.vault.reconcile import Reconciler, needs_alert
from memfolio.vault.vault import PATIENCE, Vault
from memfolio.vault.writer import Plan, Writer, details, receipt_of

if TYPE_CHECKING:
    from memfolio.vault.past.report import Finding
    from memfolio.vault.past.undo import Snapshots
    from memfolio.vault.purge.purge import Purged

TOGETHER = 64
"""How many changes that wait are stored in one transaction."""
GATHER_SECONDS = 0.002
"""How long a change waits at most for others that may be stored with it."""
LEASE_SECONDS = 60
"""How long a job keeps others away should its server die; while it lives, the lease is renewed."""
CLAIM_SECONDS = 60
"""How long a server that makes vectors keeps others from making the same ones."""
PAUSE = 0.05


class _Waiting:
    """A change that a thread wants made, and what came of it."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.receipt: Receipt | None = None
        self.error: BaseException | None = None
        self.leads = False
        """Whether it is this thread that makes the changes that wait."""
        self._turn = threading.Lock()
        self._turn.acquire()

    @property
    def is_done(self) -> bool:
        return self.receipt is not None or self.error is not None

    def wait(self, seconds: float = -1) -> bool:
        """Wait until it is done or leads; False where that does not come in so many seconds."""
        return self._turn.acquire(timeout=seconds)

    def wake(self) -> None:
        if self._turn.locked():
            self._turn.release()

    def result(self) -> Receipt:
        if self.error is not None:
            raise self.error
        assert self.receipt is not None, "whoever leads makes all that wait"
        return self.receipt


class RowWriter(Writer):
    """Makes changes in transactions that lock the home's row, so that all servers make them one after another.

    Composing is the file writer's. Threads that wait for the same home are served together: the first to come leads,
    and stores the changes of all in one transaction. Where no other server writes here, that is composed on what is
    known, and stored in one round trip if nothing came in between; else with the row in hand.
    """

    def __init__(self, journal: RowJournal, reconciler: Reconciler, rows: Rows, timeout: float) -> None:
        self._journal: RowJournal = journal
        self._home = journal.home
        self._reconciler = reconciler
        self._rows = rows
        self._timeout = timeout
        self._mutex = threading.RLock()
        self._queue: list[_Waiting] = []
        self._queueing = threading.Lock()
        self._is_led = False
        self._last = 0, 0.0
        """How many changes were last stored together, and the seconds that it took."""

    @contextmanager
    def ready(self, *, sweeps: bool = True, patience: float | None = None) -> Iterator[None]:
        """Hold the home's row with everything earlier taken in; what is made inside is stored together at the end."""
        seconds = self._timeout if patience is None else min(patience, self._timeout)
        with self._alone(seconds):
            if self._rows.is_mine:
                yield
                return
            with self._transaction(seconds):
                yield
        self._journal.tell()

    @contextmanager
    def _alone(self, seconds: float) -> Iterator[None]:
        if not self._mutex.acquire(timeout=seconds):
            raise HomeBusyError(f"another thread has been writing here for over {seconds:g} s", hint="try again")
        try:
            yield
        finally:
            self._mutex.release()

    @contextmanager
    def _transaction(self, seconds: float) -> Iterator[None]:
        journal, is_stored = self._journal, False
        try:
            with self._rows.transaction(seconds) as there:
                journal.meet(there)
                yield
                self._store(seconds)
                is_stored = True
        finally:
            if not is_stored:
                journal.drop_made()
        journal.keep_made()

    def _store(self, seconds: float) -> None:
        try:
            self._rows.send("COMMIT")
        except StoreUnavailableError as error:
            if not self._journal.made:
                return  # nothing was to be stored
            if not self._was_stored(self._journal.made, error, time.monotonic() + seconds):
                raise unavailable(cause if isinstance(cause := error.__cause__, Exception) else error) from error

    def _was_stored(self, made: Sequence[Record], lost: StoreUnavailableError, end: float) -> bool:
        """Whether a transaction whose end nobody heard was stored.

        Whoever was storing it holds the home's row until that is decided, so it is asked with the row in hand.
        """
        database, last = HomeDatabase(self._rows.database.url), made[-1]
        sql = "SELECT raw FROM memfolio.trail WHERE home = %s AND seq = %s"
        while time.monotonic() < end:
            asking = Rows(database, self._rows.home)
            try:
                with asking.transaction(max(0.1, end - time.monotonic())):
                    return asking.ask(sql, [asking.home, last.line.seq]) == [(last.raw,)]
            except (StoreUnavailableError, HomeBusyError):
                time.sleep(PAUSE)
            finally:
                database.drop_idle()
        raise lost

    def apply(self, allowed: Allowed) -> Receipt:
        """Make the change; when this returns outside of `ready`, it is stored."""
        if self._rows.is_mine:
            return self._made(allowed.change)
        waiting = _Waiting(allowed.change)
        with self._queueing:
            self._queue.append(waiting)
            waiting.leads, self._is_led = not self._is_led, True
            if len(self._queue) == self._last[0] and self._queue[0].leads:
                self._queue[0].wake()  # it gathers, and all are there
        try:
            self._see_through(waiting, time.monotonic() + self._timeout)
        finally:
            self._leave(waiting)
        self._journal.tell()
        return waiting.result()

    def _see_through(self, waiting: _Waiting, end: float) -> None:
        """Wait until the change is made, and make it with all others that wait where this thread leads."""
        while not waiting.is_done:
            left = max(0.0, end - time.monotonic())
            if waiting.leads:
                self._gather(waiting)
                with self._alone(left):
                    self._serve()
            elif not waiting.wait(left):
                with self._queueing:
                    is_untouched = waiting in self._queue and not waiting.leads
                    if is_untouched:
                        self._queue.remove(waiting)
                if is_untouched:
                    raise HomeBusyError(f"the home has been busy for over {self._timeout:g} s", hint="try again")
                if not waiting.leads:
                    waiting.wait()  # somebody is making it, and comes to an end within the deadline

    def _leave(self, waiting: _Waiting) -> None:
        """Wait no longer; whoever led has the next one lead."""
        with self._queueing:
            if waiting in self._queue:
                self._queue.remove(waiting)
            if waiting.leads:
                waiting.leads, self._is_led = False, bool(self._queue)
                for each in self._queue[:1]:
                    each.leads = True
                    each.wake()

    def _gather(self, leader: _Waiting) -> None:
        """Give those who were just answered the time to come back, else they wait for the commit after this one."""
        wanted, took = self._last
        if len(self._queue) < wanted:
            leader.wait(min(took, GATHER_SECONDS))

    def _serve(self) -> None:
        """Make the changes that wait; whatever ends this thread, those who wait for it are told."""
        with self._queueing:
            batch = self._queue[:TOGETHER]
            del self._queue[:TOGETHER]
        is_settled, began = False, time.monotonic()
        try:
            self._settle(batch)
            is_settled = True
        finally:
            if not is_settled:
                self._fail(batch, HomeError("the server is being stopped", hint="try again"))
            self._last = len(batch), time.monotonic() - began
            for each in batch:
                each.wake()

    def _settle(self, batch: Sequence[_Waiting]) -> None:
        """Store these changes, again while the database cannot be reached; some are refused for themselves."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                if not (self._journal.is_alone and self._at_once(batch)):
                    with self._transaction(self._timeout):
                        keys = [each.change.key for each in batch if each.change.key]
                        self._make_all(batch, self._journal.made_under_any(keys) if keys else {})
                return None
            except StoreUnavailableError as error:
                if error.may_have_happened or time.monotonic() > end:
                    return self._fail(batch, error)
                self._rows.database.drop_idle()
                time.sleep(PAUSE)
            except MemfolioError as error:
                return self._fail(batch, error)

    def _at_once(self, batch: Sequence[_Waiting]) -> bool:
        """Compose on what is known here, and store that in one round trip; False where others wrote in between."""
        journal, is_stored = self._journal, False
        try:
            self._make_all(batch, {})
            # With nothing to store, nothing would show whether the refusals are about how things are.
            is_stored = bool(journal.made) and self._store_at_once()
        finally:
            if not is_stored:
                journal.drop_made()
        if is_stored:
            journal.keep_made()
        return is_stored

    def _store_at_once(self) -> bool:
        try:
            return self._rows.store_at_once(self._journal.stored, self._timeout)
        except StoreUnavailableError as error:
            end = time.monotonic() + self._timeout
            return error.may_have_happened and self._was_stored(self._journal.made, error, end)

    def _make_all(self, batch: Sequence[_Waiting], before: Mapping[str, TrailLine]) -> None:
        """Make changes, of which each may be refused; `before` are those that were made under one of their keys."""
        for each in batch:
            each.receipt = each.error = None
            try:
                each.receipt = self._made(each.change, before)
            except StoreUnavailableError:
                raise
            except MemfolioError as error:  # the change is refused before anything of it is written
                each.error = error

    def _fail(self, batch: Sequence[_Waiting], error: BaseException) -> None:
        for each in batch:
            each.receipt, each.error = None, error

    def _made(self, change: Change, before: Mapping[str, TrailLine] | None = None) -> Receipt:
        journal = self._journal
        if change.key:
            made = next((record.line for record in journal.made if record.line.key == change.key), None)
            line = made or (journal.made_under(change.key) if before is None else before.get(change.key))
            if line:
                return receipt_of(line, Plan(ids=list(line.ids)), repeated=True)
        receipt = self._make(change)
        if needs_alert(receipt.paths, change.by):
            journal.enter(Action.ALERT, MONITOR, about=[receipt.seq])
        return receipt

    def _make(self, change: Change) -> Receipt:
        plan = self._compose(change)
        done = [
            each._replace(before=self._journal.read(each.path)) if each.start is None and each.was else each
            for each in plan.files
        ]
        return receipt_of(self._journal.enter(change.action, change.by, done, **details(change, plan)), plan)


class PostgresVault(Vault):
    """A home of a database, as one server sees it; threads may share it."""

    journal: RowJournal
    writer: RowWriter

    def __init__(self, config: Config, rows: Rows, secret: bytes, *, clock: Clock | None = None) -> None:
        root = config.home
        disk = NotesDisk(rows, root / INTERNAL, config.cache / "locks")
        home = RowHome(root, config, clock or SystemClock(), disk, secret)
        self._begin(RowJournal(home, RowTrail(root, disk, rows), rows), lambda path: None)
        self.rows = rows
        self.writer = RowWriter(self.journal, self._reconciler, rows, config.lock_timeout)
        self._server = secrets.token_hex(8)

    @classmethod
    def of(cls, config: Config, *, clock: Clock | None = None, secret: bytes | None = None) -> Self:
        """Open the home that has the name of the configured folder, and make it where there is none.

        `secret` is the key of its hashes, where it is made.
        """
        database, name = database_of(config), name_of(config)
        url = database.url
        home, key, text = find_home(database, name) or _made(database, name, secret)
        settled = _settled(config, load_config(config.home), load_config(config.home, text=text))
        cache = _cache(settled, url, name)
        config = replace(
            settled,
            agent=config.agent,
            speaker=config.speaker,
            audience=config.audience,
            store=config.store,
            database_url=url,
            cache=cache,
            git=replace(settled.git, enabled=False),
            watch=False,
        )
        vault = cls(config, Rows(database, home), key, clock=clock)
        vault.survey()
        if vault._lacks_config():
            vault._configure()
        return vault

    def _lacks_config(self) -> bool:
        return self.journal.head.seq == 0

    def survey(self, *, accept_missing: bool = False, patience: float | None = None) -> list[str]:
        """Take in what other servers did; nobody edits rows by hand."""
        self._check_open()
        self.refresh()
        return []

    def refresh(self) -> bool:
        """Catch up with other servers; whether they changed anything. Asking costs one short question."""
        if self.rows.is_mine:
            self.journal.tell_made()
            return False
        before = self.journal.head.seq, self.epoch
        self._hear()
        self.journal.tell()
        return before != (self.journal.head.seq, self.epoch)

    def _hear(self) -> None:
        """Take in what other servers did; listeners are told of it by whoever refreshes."""
        if not self.rows.is_mine and not self._is_closed and self.journal.is_behind():
            with self.writer._alone(self.config.lock_timeout):
                self.journal.catch_up()

    def unsubscribe(self, listener: Callable[..., None]) -> None:
        self.journal.tell()  # what was stored before
        super().unsubscribe(listener)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        with self.writer.ready(patience=PATIENCE):
            yield

    def git_at_rest(self) -> AbstractContextManager[None]:
        return nullcontext()

    @property
    def obstacle(self) -> str | None:
        return None

    def states(self, earlier: Mapping[str, FileState] | None = None) -> dict[str, FileState]:
        self._hear()
        return self._shown(dict(self.journal.files))

    def paths(self) -> list[str]:
        return sorted(self.journal.files)

    def read(self, path: str) -> bytes | None:
        self._hear()
        return self.journal.read(path)

    def stamp(self, path: str) -> Stamp | None:
        return self.journal.stamp(path)

    def glance(self, path: str) -> tuple[int, int, int] | None:
        stamp = self.journal.stamp(path)
        return (0, stamp.ctime_ns, stamp.size) if stamp else None

    def suspects(self) -> set[str]:
        return set()

    def is_taken(self, path: str) -> bool:
        return path in self.journal.files or bool(names_below(self.journal.files, path))

    def agents(self) -> list[str]:
        names = [name for name in self.names("agents") if AGENT_PATTERN.fullmatch(name) and name != SHARED]
        return [*names, SHARED] if self.has_agent(SHARED) else names

    def has_agent(self, agent: str) -> bool:
        root = f"{agent_root(agent)}/"
        return any(path.startswith(root) for path in self.journal.files)

    def names(self, folder: str) -> list[str]:
        return names_below(self.journal.files, folder)

    def adopt(self, *, accept_missing: bool = False) -> None:
        """Any server may write it."""

    @property
    def snapshots(self) -> Snapshots:
        return RowHistory(self.rows)

    def commits_of(self, seqs: Collection[int]) -> dict[int, str]:
        return {}

    @contextmanager
    def holding(self, name: str, *, patience: float = 0) -> Iterator[None]:
        owner, end = secrets.token_hex(8), time.monotonic() + patience
        while not self._lease(name, owner):
            if time.monotonic() >= end:
                raise HomeBusyError(f"another server is at {name}", hint="wait until it is done")
            time.sleep(PAUSE)
        try:
            with renewed(lambda: self._lease(name, owner), LEASE_SECONDS / 3):
                yield
        finally:
            sql = "DELETE FROM memfolio.leases WHERE home = %s AND name = %s AND owner = %s RETURNING 1"
            self.rows.ask(sql, [self.rows.home, name, owner])

    def _lease(self, name: str, owner: str) -> bool:
        sql = (
            "INSERT INTO memfolio.leases AS held (home, name, owner, until)"
            " VALUES (%s, %s, %s, now() + make_interval(secs => %s)) ON CONFLICT (home, name) DO UPDATE"
            " SET owner = excluded.owner, until = excluded.until"
            " WHERE held.until < now() OR held.owner = excluded.owner RETURNING owner"
        )
        return bool(self.rows.database.ask(self.rows.home, sql, [self.rows.home, name, owner, LEASE_SECONDS]))

    def claim_vectors(self, identity: str, hashes: Sequence[bytes]) -> tuple[dict[bytes, bytes], set[bytes]]:
        wanted = sorted(set(hashes))  # in one order, so that no two servers wait for each other
        which = [self.rows.home, identity, wanted]
        try:
            rows = self.rows.ask(_CLAIM, [*which, *which, self._server, CLAIM_SECONDS])
        except StoreUnavailableError:
            return {}, set()  # whether others have them shows when it is back
        found = {key: vector for key, vector in rows if vector is not None}
        return found, {key for key, _ in rows} - found.keys()

    def share_vectors(self, identity: str, vectors: Mapping[bytes, bytes]) -> None:
        keys = sorted(vectors)
        values = [self.rows.home, identity, keys, self._server, keys, [vectors[key] for key in keys]]
        with suppress(StoreUnavailableError):
            self.rows.ask(_SHARE, [*values, self.rows.home, identity])

    def drop_lock(self, name: str) -> None:
        """A lease leaves nothing behind."""

    def purge(self, ids: Sequence[str], *, by: Attribution, **how: Any) -> Purged:
        from memfolio.vault.postgres.purge import purge

        return purge(self, ids, by=by, **how)

    def verify(self) -> list[Finding]:
        from memfolio.vault.postgres.report import verify

        return verify(self)

    def doctor(self) -> list[Finding]:
        from memfolio.vault.postgres.report import doctor

        return doctor(self)


def name_of(config: Config) -> str:
    """The name of a home in the database: that of the folder it would be elsewhere."""
    name = config.home.name
    if not name or len(name) > 200 or not name.isprintable():
        raise InputError(f"{name[:40]!r} cannot be the name of a home", hint="name it in plain letters")
    return name


def database_of(config: Config) -> HomeDatabase:
    """The configured database, or that of a server of the user's own, which is started where it does not run."""
    if config.database_url:
        return HomeDatabase.at(config.database_url)
    from memfolio.vault.postgres.server import OwnServer

    server = OwnServer(config.database_folder, config.database_user or None)
    server.start()
    return HomeDatabase.at(server.url)


def has_home(config: Config) -> bool:
    """Whether the database has the home that is meant."""
    return find_home(database_of(config), name_of(config)) is not None


def _settled(given: Any, plain: Any, stored: Any) -> Any:
    """What the home's own memfolio.toml says, but for what the caller has set otherwise than the environment does."""
    if not is_dataclass(given):
        return stored if given == plain else given
    names = [each.name for each in fields(given)]
    parts = {name: _settled(*(getattr(each, name) for each in (given, plain, stored))) for name in names}
    return replace(stored, **parts)


def _cache(config: Config, url: str, name: str) -> Path:
    """Where indexes of the home lie on this server's disk."""
    mark = hashlib.sha256(f"{url.rpartition('@')[2]}\n{name}".encode()).hexdigest()[:16]
    return config.cache.parent / f"{name[:32]}-{mark}"


_CLAIM = (
    "WITH there AS (SELECT hash, vector FROM memfolio.vectors WHERE home = %s AND identity = %s AND hash = ANY(%s)),"
    " claimed AS (INSERT INTO memfolio.waiting AS held (home, identity, hash, owner, until)"
    " SELECT home, identity, hash, owner, now() + make_interval(secs => seconds)"
    " FROM (SELECT %s::bigint, %s::text, unnest(%s::bytea[]), %s::text, %s::int)"
    " AS given (home, identity, hash, owner, seconds) WHERE hash NOT IN (SELECT hash FROM there)"
    " ON CONFLICT (home, identity, hash) DO UPDATE SET owner = excluded.owner, until = excluded.until"
    " WHERE held.until < now() OR held.owner = excluded.owner RETURNING hash)"
    " SELECT hash, vector FROM there UNION ALL SELECT hash, NULL FROM claimed"
)
# What nobody claims any more is not kept: a purge may have let go of it meanwhile.
_SHARE = (
    "WITH claimed AS (DELETE FROM memfolio.waiting WHERE home = %s AND identity = %s AND hash = ANY(%s) AND owner = %s"
    " RETURNING hash), given AS (SELECT * FROM unnest(%s::bytea[], %s::bytea[]) AS given (hash, vector))"
    " INSERT INTO memfolio.vectors (home, identity, hash, vector)"
    " SELECT %s, %s, hash, vector FROM given JOIN claimed USING (hash) ON CONFLICT DO NOTHING RETURNING 1"
)
_FIND = "SELECT home, secret, moved_to FROM memfolio.homes WHERE name = %s"


def find_home(database: HomeDatabase, name: str) -> tuple[int, bytes, str] | None:
    """The number of a home, its secret, and what its memfolio.toml says."""
    with database.lent() as conn, store_errors():
        begin(conn, None, {"memfolio.name": name})
        row: tuple[Any, ...] | None = conn.execute(_FIND, [name]).fetchone()
        conn.execute("COMMIT")
    if row is None:
        return None
    if row[2]:
        raise HomeError(f"the home {name} has moved to {row[2]}", hint="set MEMFOLIO_DATABASE_URL to that database")
    sql = (
        "SELECT data FROM memfolio.pieces JOIN memfolio.files USING (home, path, version)"
        " WHERE home = %s AND path = %s AND hash IS NOT NULL ORDER BY start"
    )
    text = b"".join(data or b"" for (data,) in database.ask(row[0], sql, [row[0], CONFIG]))
    return row[0], bytes(row[1]), text.decode("utf-8-sig", "replace")


def _made(database: HomeDatabase, name: str, secret: bytes | None) -> tuple[int, bytes, str]:
    with database.lent() as conn, store_errors():
        begin(conn, None, {"memfolio.name": name})
        sql = "INSERT INTO memfolio.homes (name, secret, head) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        conn.execute(sql, [name, secret or secrets.token_hex(16).encode(), GENESIS])
        conn.execute("COMMIT")
    found = find_home(database, name)
    assert found is not None, "it was made, or somebody else was quicker"
    return found
