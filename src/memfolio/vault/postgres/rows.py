"""What the vault knows of a home that is kept as rows: journal, trail, history, and the notes of its inside."""

from __future__ import annotations

import json
import math
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.clock import Clock, to_ms
from memfolio.config import Config
from memfolio.errors import HomeError, NotFoundError, StoreRewoundError
from memfolio.vault.disk import Disk, Stamp
from memfolio.vault.journal import (
    FileMark,
    FileState,
    Head,
    Journal,
    Record,
    Trail,
    TrailLine,
    Written,
    is_sealed,
    part_for,
    read_line,
)
from memfolio.vault.past.undo import Snapshots
from memfolio.vault.paths import Home
from memfolio.vault.postgres.database import HomeDatabase, Row, Statement, begin, driver, store_errors

if TYPE_CHECKING:
    from memfolio.vault.postgres.database import Conn

PAGE = 500
"""How many lines of the trail are fetched at once."""
FAR = 2000
"""How many changes a server may be behind and still hear of each; beyond that it reads how things are."""
CACHED_FILES, CACHED_BYTES = 64, 256 * 1024
"""How many contents of files are kept at hand, and the longest of them."""
IDLE_MS = "60000"
"""After how many milliseconds a transaction is ended whose server does nothing."""
ALONE_SECONDS = 5.0
"""For how long another server that wrote is expected to write again."""
IDS = 64
"""How many changes are looked at for the ids that they gave out."""

LARGE = 4 << 20
"""How many bytes of files are stored by one call; what is more is sent apart."""

_STORE = f"SELECT memfolio.store({', '.join(['%s'] * 12)})"
_PIECE = "INSERT INTO memfolio.pieces (home, path, version, start, seq, data) VALUES (%s, %s, %s, %s, %s, %s)"
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LOCK = "SELECT seq, head, part, size FROM memfolio.homes WHERE home = %s FOR UPDATE"
_LOOK = "SELECT seq, head, part, size FROM memfolio.homes WHERE home = %s"


class Parcel:
    """Changes that are stored by one call: their lines, what they wrote, and how they left each file."""

    def __init__(self) -> None:
        self.head = Head()
        self.size = 0
        self._lines: list[dict[str, Any]] = []
        self._pieces: list[dict[str, Any]] = []
        self._states: dict[str, dict[str, Any]] = {}

    def add_line(self, line: TrailLine, raw: bytes, head: Head) -> None:
        self.head = head
        each = {"seq": line.seq, "raw": raw.hex(), "part": head.part, "at": line.at, "key": line.key}
        self._lines.append(each)

    def add_piece(self, path: str, version: int, start: int, seq: int, data: bytes | None) -> None:
        self.size += len(data or b"")
        text = None if data is None else data.hex()
        self._pieces.append({"path": path, "version": version, "start": start, "seq": seq, "data": text})

    def add_state(self, path: str, version: int, seq: int, size: int, hash: str | None) -> None:
        self._states[path] = {"path": path, "version": version, "seq": seq, "size": size, "hash": hash}

    def call(self, home: int, seen: Head, *, lock_ms: str = "0", at_once: bool = False) -> Statement:
        """The statement that stores all of it, on top of the head that was `seen`."""
        has_keys = any(line["key"] is not None for line in self._lines)
        rows = map(_json, (self._lines, list(self._states.values()), self._pieces))
        return _STORE, [home, lock_ms, at_once, seen.hash, *self.head, has_keys, *rows]


class Rows:
    """The rows of one home: asked one by one, or within the transaction that a thread holds open."""

    def __init__(self, database: HomeDatabase, home: int) -> None:
        self.database, self.home = database, home
        self._conn: Conn | None = None
        self._holder = 0
        self._unsent: list[Statement] = []
        self._parcel = Parcel()
        self._seen = Head()

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the transaction open."""
        return self._conn is not None and self._holder == threading.get_ident()

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Rows, seen by the transaction of this thread where it has one."""
        if self._conn is None or not self.is_mine:
            return self.database.ask(self.home, sql, values)
        self.send()
        with store_errors():
            return self._conn.execute(sql, values).fetchall()

    def put_line(self, line: TrailLine, raw: bytes, head: Head) -> None:
        """Have the line of a change stored with the next question, or with the end of the transaction."""
        self._parcel.add_line(line, raw, head)

    def put_file(self, write: Written, version: int, seq: int) -> None:
        """Have what a change wrote to a file stored along with its line."""
        path, start, data = write.path, write.start or 0, write.data
        if self.is_mine and data and self._parcel.size + len(data) > LARGE:
            self._unsent.append((_PIECE, [self.home, path, version, start, seq, data]))
        else:
            self._parcel.add_piece(path, version, start, seq, data)
        self._parcel.add_state(path, version, seq, 0 if write.now is None else write.size, write.now)

    def later(self, sql: str, values: Sequence[Any]) -> None:
        """Have a statement sent with the next question, or with the end of the transaction."""
        assert self.is_mine, "rows are written in a transaction"
        self._wrap()
        self._unsent.append((sql, values))

    def _wrap(self) -> None:
        """Put the changes so far among what is to be sent."""
        if self._parcel.head.seq:
            self._unsent.append(self._parcel.call(self.home, self._seen))
            self._seen, self._parcel = self._parcel.head, Parcel()

    def send(self, *last: str) -> None:
        """Send what waits, in one round trip."""
        self._wrap()
        if self._conn is None or not (self._unsent or last):
            return
        unsent, self._unsent = self._unsent, []
        with store_errors(may_have_happened=bool(last)), self._conn.pipeline():
            for sql, values in unsent:
                self._conn.execute(sql, values)
            for sql in last:
                self._conn.execute(sql)

    def store_at_once(self, seen: Head, seconds: float) -> bool:
        """Store the changes in a transaction and a round trip of their own; False where others made some since `seen`.

        Also where they are too large for that, or one has a key that was used before.
        """
        parcel, self._parcel = self._parcel, Parcel()
        if parcel.size > LARGE:
            return False
        sql, values = parcel.call(self.home, seen, lock_ms=_milliseconds(seconds), at_once=True)
        with self.database.lent() as conn, store_errors(may_have_happened=True):
            row = conn.execute(sql, values).fetchone()
        return row == (True,)

    def drop(self) -> None:
        """Forget what was to be stored."""
        self._unsent, self._parcel = [], Parcel()

    @contextmanager
    def transaction(self, seconds: float) -> Iterator[Head]:
        """The home's row locked, and the end of its trail; what is written is undone unless `send("COMMIT")` came."""
        with self.database.lent() as conn:
            with store_errors(), conn.pipeline():
                limits = {"lock_timeout": _milliseconds(seconds), "idle_in_transaction_session_timeout": IDLE_MS}
                begin(conn, self.home, limits)
                found = conn.execute(_LOCK, [self.home])
            row = found.fetchone()
            self._conn, self._holder = conn, threading.get_ident()
            try:
                if row is None:
                    raise HomeError("the home is not in the database any more", hint="open it again")
                self._seen = Head(*row)
                yield self._seen
            finally:
                self._conn, self._holder = None, 0
                self.drop()
                with suppress(driver().Error):  # a connection that is lost has nothing to take back
                    if conn.info.transaction_status:
                        conn.execute("ROLLBACK")

    def head(self) -> Head:
        """The end of the trail as it is in the database."""
        row = next(iter(self.ask(_LOOK, [self.home])), None)
        if row is None:
            raise HomeError("the home is not in the database any more", hint="open it again")
        return Head(*row)


def _milliseconds(seconds: float) -> str:
    return str(max(1, int(seconds * 1000)))


class RowTrail(Trail):
    """The trail of a home, line by line as it would stand in files."""

    def __init__(self, home: Path, disk: Disk, rows: Rows) -> None:
        super().__init__(home, disk)
        self._rows = rows

    def parts(self) -> list[str]:
        sql = "SELECT part FROM memfolio.trail WHERE home = %s GROUP BY part ORDER BY min(seq)"
        return [part for (part,) in self._rows.ask(sql, [self._rows.home])]

    def content(self, part: str, start: int = 0) -> bytes:
        sql = "SELECT raw FROM memfolio.trail WHERE home = %s AND part = %s ORDER BY seq"
        return b"".join(raw for (raw,) in self._rows.ask(sql, [self._rows.home, part]))[start:]

    def lines(self, *, containing: Sequence[bytes] = ()) -> Iterator[TrailLine]:
        after = 0
        while found := self._page("seq > %s", after, containing, "ASC"):
            yield from found
            after = found[-1].seq

    def newest_first(
        self, *, containing: Sequence[bytes] = (), before: int | None = None, since: int = 0
    ) -> Iterator[TrailLine]:
        end = 2**62 if before is None else before
        while found := self._page(f"seq > {since} AND seq < %s", end, containing, "DESC"):
            yield from found
            end = found[-1].seq

    def _page(self, where: str, seq: int, containing: Sequence[bytes], order: str) -> list[TrailLine]:
        needles = " OR ".join("position(%s::bytea IN raw) > 0" for _ in containing) or "true"
        sql = (
            f"SELECT raw FROM memfolio.trail WHERE home = %s AND {where} AND ({needles}) ORDER BY seq {order}"
            f" LIMIT {PAGE}"
        )
        return [read_line(raw) for (raw,) in self._rows.ask(sql, [self._rows.home, seq, *containing])]

    def line(self, seq: int) -> TrailLine | None:
        sql = "SELECT raw FROM memfolio.trail WHERE home = %s AND seq = %s"
        return next((read_line(raw) for (raw,) in self._rows.ask(sql, [self._rows.home, seq])), None)

    def tail(self) -> Head:
        return self._rows.head()


class RowHistory(Snapshots):
    """The home as it was behind each change, from the pieces that changes wrote; a change's number is its name."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def ours(self) -> str | None:
        seq = self._rows.head().seq
        return str(seq) if seq else None

    def resolve(self, rev: str) -> str:
        number, back = rev.removesuffix("^"), rev.endswith("^")
        seq = int(number) - back if number.isdecimal() and len(number) < 19 else -1
        if not self._begins() <= seq <= self._rows.head().seq:
            hint = f"name a change from {self._begins()} on; `memfolio log` lists them"
            raise NotFoundError(f"there is no change {rev[:40]!r} to go back to", hint=hint)
        return str(seq)

    def at_time(self, moment: datetime) -> str | None:
        sql = "SELECT coalesce(max(seq), 0) FROM memfolio.trail WHERE home = %s AND at <= %s"
        ((seq,),) = self._rows.ask(sql, [self._rows.home, moment])
        return str(seq) if seq >= self._begins() else None

    def files(self, commit: str | None = None) -> dict[str, str]:
        sql = (
            "SELECT DISTINCT ON (path) path, version, start, data IS NULL FROM memfolio.pieces"
            " WHERE home = %s AND seq <= %s ORDER BY path, version DESC, start DESC"
        )
        rows = self._rows.ask(sql, [self._rows.home, self._seq(commit)])
        return {path: f"{version}.{start}" for path, version, start, is_gone in rows if not is_gone}

    def read(self, path: str, *, commit: str | None = None) -> bytes | None:
        sql = (
            "SELECT data FROM memfolio.pieces WHERE home = %s AND path = %s AND seq <= %s AND version = (SELECT"
            " max(version) FROM memfolio.pieces WHERE home = %s AND path = %s AND seq <= %s) ORDER BY start"
        )
        which = [self._rows.home, path, self._seq(commit)]
        pieces = [data for (data,) in self._rows.ask(sql, [*which, *which])]
        return None if not pieces or None in pieces else b"".join(pieces)

    def seqs(self) -> Mapping[int, str]:
        begins = self._begins()
        first = begins if begins == 1 else begins + 1  # what was brought in was written before, elsewhere
        return {seq: str(seq) for seq in range(first, self._rows.head().seq + 1)}

    def _seq(self, commit: str | None) -> int:
        return self._rows.head().seq if commit is None else int(commit)

    def _begins(self) -> int:
        """The first change from which on all bytes are here: what was imported has its earlier past elsewhere."""
        sql = "SELECT coalesce(min(seq), 1) FROM memfolio.pieces WHERE home = %s"
        ((seq,),) = self._rows.ask(sql, [self._rows.home])
        return int(seq)


class Feed:
    """Changes that listeners have yet to hear of, in order, from whichever thread comes first.

    Nobody who writes has to wait for it: telling is done behind the home's row and behind the mutex of the writers.
    """

    def __init__(self, tell: Callable[..., None]) -> None:
        self.waiting: deque[Record] = deque()
        self._tell = tell
        self._lock = threading.RLock()
        self._is_telling = False

    def tell(self) -> None:
        """Tell all that waits; where another thread does so, it is waited for."""
        with self._lock:
            if self._is_telling:
                return  # a listener asks; it is told what follows when it has heard this
            self._is_telling = True
            try:
                while records := [self.waiting.popleft() for _ in range(len(self.waiting))]:
                    self._tell(*records)
            finally:
                self._is_telling = False


class RowJournal(Journal):
    """How each file of a home was last left, and the changes that enter or are heard of, as rows."""

    def __init__(self, home: Home, trail: RowTrail, rows: Rows) -> None:
        super().__init__(home, trail)
        self._rows = rows
        self.stored = Head()
        """The newest change that is known to be in the database."""
        self.made: list[Record] = []
        """The changes that are being stored."""
        self._unstored: list[Record] = []
        self._feed = Feed(super()._tell)
        self._is_meeting = False
        self._heard_at = -math.inf
        self._versions: dict[str, int] = {}
        self._contents: dict[str, tuple[str, bytes]] = {}
        self._is_loaded = False

    # A file's stamp has its version and the change that left it so; nobody changes it behind our back.

    def stamp(self, path: str) -> Stamp | None:
        known = self.files.get(path)
        return known.stamp if known else None

    def read(self, path: str) -> bytes | None:
        known = self.files.get(path)
        if known is None or known.stamp is None:
            return None
        there = self._contents.get(path)
        if there and there[0] == known.hash:
            return there[1]
        sql = "SELECT data FROM memfolio.pieces WHERE home = %s AND path = %s AND version = %s AND start < %s"
        rows = self._rows.ask(f"{sql} ORDER BY start", [self._rows.home, path, known.stamp.inode, max(known.size, 1)])
        data = b"".join(data or b"" for (data,) in rows)
        if len(data) != known.size:
            raise HomeError(f"{path} lacks bytes in the database", hint="run `memfolio db doctor`")
        self._keep(path, known.hash, data)
        return data

    def _keep(self, path: str, hash: str, data: bytes) -> None:
        self._contents.pop(path, None)
        if len(data) <= CACHED_BYTES:
            self._contents[path] = hash, data
        while len(self._contents) > CACHED_FILES:
            del self._contents[next(iter(self._contents))]

    def made_under(self, key: str) -> TrailLine | None:
        sql = "SELECT raw FROM memfolio.trail WHERE home = %s AND key = %s"
        return next((read_line(raw) for (raw,) in self._rows.ask(sql, [self._rows.home, key])), None)

    def made_under_any(self, keys: Sequence[str]) -> dict[str, TrailLine]:
        """The changes that were made under some of these keys."""
        sql = "SELECT key, raw FROM memfolio.trail WHERE home = %s AND key = ANY(%s)"
        return {key: read_line(raw) for key, raw in self._rows.ask(sql, [self._rows.home, list(keys)])}

    @property
    def is_alone(self) -> bool:
        """Whether no other server is known to have written here lately, so that what is known is likely to be all."""
        return self._is_loaded and time.monotonic() - self._heard_at > ALONE_SECONDS

    def is_behind(self) -> bool:
        """Whether there are changes in the database that are not known here; StoreRewoundError where it lacks some."""
        seen = self.stored  # before the question, since others of this process may store more meanwhile
        there = self._rows.head()
        check_not_rewound(seen, there)
        return there.seq > self.stored.seq or not self._is_loaded

    def meet(self, there: Head) -> None:
        """Take in what others did, up to this head; the caller holds the mutex of the home in this process."""
        check_not_rewound(self.stored, there)
        if self._is_loaded and there.hash == self.head.hash:
            return
        if self.stored.seq and there.hash != self.stored.hash:
            self._heard_at = time.monotonic()
        if not self._is_loaded or there.seq - self.head.seq > FAR:
            self._load(there)
        else:
            self._is_meeting = True
            try:
                self.follow([self._accepted(record) for record in self._since(there)])
            finally:
                self._is_meeting = False
        self.stored = self._notified = self.head

    def catch_up(self) -> None:
        self.meet(self._rows.head())

    def _load(self, there: Head) -> None:
        """How things are, whatever happened before; listeners are told by the epoch."""
        sql = (
            "SELECT path, version, seq, size, hash, at FROM memfolio.files LEFT JOIN memfolio.trail USING (home, seq)"
            " WHERE home = %s"
        )
        rows = self._rows.ask(sql, [self._rows.home])
        if self.stored.seq:
            line = self.trail.line(self.stored.seq)
            if line is None or line.hash != self.stored.hash:
                raise rewound(self.stored, there)
        newest = max([row[2] for row in rows], default=0)
        self.clear()
        self._contents.clear()
        self._versions = {path: version for path, version, *_ in rows}
        self.files = {
            path: FileState(mark, size, _stamp(size, at, seq, version))
            for path, version, seq, size, mark, at in rows
            if mark
        }
        self.head = there
        if newest > there.seq:  # somebody wrote between the two questions
            return self._load(self._rows.head())
        sql = "SELECT raw FROM memfolio.trail WHERE home = %s ORDER BY seq DESC LIMIT %s"
        for (raw,) in reversed(self._rows.ask(sql, [self._rows.home, IDS])):
            self.learn_ids(read_line(raw).ids)
        self.epoch += self._is_loaded
        self._is_loaded = True
        return None

    def _since(self, there: Head) -> Iterator[Record]:
        """The changes behind the head that is known here, each with its bytes."""
        span = [self._rows.home, self.head.seq, there.seq]
        where = "WHERE home = %s AND seq > %s AND seq <= %s"
        pieces: dict[tuple[int, str], Row] = {}
        for path, seq, *rest in self._rows.ask(
            f"SELECT path, seq, version, start, data FROM memfolio.pieces {where}", span
        ):
            pieces[seq, path] = tuple(rest)
        size, last, previous = self.head.size, self.head.part, self.head.hash
        for raw, part in self._rows.ask(f"SELECT raw, part FROM memfolio.trail {where} ORDER BY seq", span):
            line = read_line(raw)
            if not is_sealed(raw, previous):
                raise rewound(self.stored, there)
            previous = line.hash
            size, last = (size if part == last else 0) + len(raw), part
            writes = tuple(_written(mark, line, pieces.get((line.seq, mark.path))) for mark in line.files)
            yield Record(line, raw, Head(line.seq, line.hash, part, size), writes)

    def _accepted(self, record: Record) -> Record:
        for write in record.writes:
            if write.stamp is not None:
                self._versions[write.path] = write.stamp.inode
            elif write.now is None:
                self._versions[write.path] = self._versions.get(write.path, 0) + 1
        self._accept(record)
        self.pending.clear()
        return record

    # Entering: rows now, listeners when they are stored, or when the thread that makes them asks.

    def _write(self, line: TrailLine, raw: bytes, done: Sequence[Written], *, month: str, sync: bool) -> Record:
        part = part_for(self.head, month, len(raw), self.home.config.max_ledger_bytes)
        end = (self.head.size if part == self.head.part else 0) + len(raw)
        head = Head(line.seq, line.hash, part, end)
        record = Record(line, raw, head, tuple(self._put(line, each) for each in done))
        self._rows.put_line(line, raw, head)
        self._accept(record)
        self.pending.clear()
        self.made.append(record)
        return record

    def _put(self, line: TrailLine, write: Written) -> Written:
        path = write.path
        # What is added to an empty file takes the place of its empty piece.
        version = self._versions[path] = self._versions.get(path, 0) + (not write.start)
        self._rows.put_file(write, version, line.seq)
        if write.now is None or write.data is None:
            return write
        there = self._contents.pop(path, None)
        if write.start is None:
            self._keep(path, write.now, write.data)
        elif there and there[0] == write.was:
            self._keep(path, write.now, there[1] + write.data)
        return write._replace(stamp=_stamp(write.size, _moment(line), line.seq, version))

    def _tell(self, *records: Record) -> None:
        if self._is_meeting:
            self._feed.waiting += records
        else:
            self._unstored += records

    def tell(self) -> None:
        """Tell the listeners of the changes that are stored and that they do not know of yet."""
        self._feed.tell()

    def tell_made(self) -> None:
        """Tell of changes that are yet to be stored: whoever asks while they write sees what they wrote."""
        self._feed.waiting += self._unstored
        self._unstored = []
        self.tell()

    def keep_made(self) -> None:
        """What was made is stored, and can be told."""
        self._feed.waiting += self._unstored
        self._unstored, self.made = [], []
        self.stored = self.head  # last, since whoever finds nothing newer answers from what was told

    def drop_made(self) -> None:
        """What was made is not stored: forget it, and have listeners who heard of it compare."""
        if self.made:
            self.epoch += 1
            self._is_loaded = False
            self.head, self._tails = self.stored, {}
            self._contents.clear()
        self.made, self._unstored = [], []
        self._rows.drop()

    def reset_after_fork(self) -> None:
        super().reset_after_fork()
        self._is_loaded = False


def check_not_rewound(seen: Head, there: Head) -> None:
    """Raise an alarm where the database lacks a change that was seen in it, as after a failover to a late standby."""
    if there.seq < seen.seq or (there.seq == seen.seq and there.hash != seen.hash):
        raise rewound(seen, there)


def rewound(seen: Head, there: Head) -> StoreRewoundError:
    # After a failover others may have written on, so that the numbers alone do not tell.
    return StoreRewoundError(
        f"the database ends with change {there.seq}, and lacks change {seen.seq} as it was seen in it",
        hint="a standby without the last changes may have taken over: bring back the right server, or restart "
        "memfolio to go on from what is there",
    )


def _stamp(size: int, at: datetime | None, seq: int, version: int) -> Stamp:
    """How a file stands: when it was changed last, by which change, and in which version it is."""
    return Stamp(size, to_ms(at) * 10**6 if at else 0, seq, version)


def _moment(line: TrailLine) -> datetime:
    return datetime.fromisoformat(line.at)


def _written(mark: FileMark, line: TrailLine, piece: Row | None) -> Written:
    version, _, data = piece or (0, 0, None)
    stamp = _stamp(mark.size, _moment(line), line.seq, version) if piece and mark.now is not None else None
    return Written(mark.path, mark.start, data, mark.was, mark.now, stamp, length=mark.size)


class NotesDisk(Disk):
    """The inside of a home as rows: small notes, each read and written as a whole. Locks are this machine's alone."""

    def __init__(self, rows: Rows, inside: Path, local: Path) -> None:
        self._rows, self._inside, self._local = rows, inside, local
        self._files = Disk()

    def _name(self, path: Path) -> str:
        return path.relative_to(self._inside).as_posix()

    def open(self, path: Path, flags: int) -> int:
        assert path.suffix == ".lock", "only locks are files"
        self._files.make_dirs(self._local)
        return self._files.open(self._local / path.name, flags)

    def stamp(self, path: Path) -> Stamp | None:
        if path.suffix == ".lock":
            return self._files.stamp(self._local / path.name)
        sql = "SELECT length(data), xmin::text::bigint FROM memfolio.notes WHERE home = %s AND name = %s"
        row = next(iter(self._rows.ask(sql, [self._rows.home, self._name(path)])), None)
        return Stamp(row[0], 0, row[1], 0) if row else None

    def read(self, path: Path, start: int = 0) -> bytes | None:
        sql = "SELECT data FROM memfolio.notes WHERE home = %s AND name = %s"
        row = next(iter(self._rows.ask(sql, [self._rows.home, self._name(path)])), None)
        return bytes(row[0])[start:] if row else None

    def put(self, path: Path, data: bytes) -> Stamp | None:
        self._save(path, data, "excluded.data")
        return None

    def append(self, path: Path, data: bytes, *, sync: bool) -> Stamp:
        self._save(path, data, "notes.data || excluded.data")
        return Stamp(len(data), 0, 0, 0)

    def _save(self, path: Path, data: bytes, value: str) -> None:
        sql = "INSERT INTO memfolio.notes AS notes (home, name, data) VALUES (%s, %s, %s)"
        more = f"ON CONFLICT (home, name) DO UPDATE SET data = {value} RETURNING 1"
        self._rows.ask(f"{sql} {more}", [self._rows.home, self._name(path), data])

    def remove(self, path: Path) -> None:
        sql = "DELETE FROM memfolio.notes WHERE home = %s AND name = %s RETURNING 1"
        self._rows.ask(sql, [self._rows.home, self._name(path)])

    def unlink(self, path: Path) -> None:
        self.remove(path)

    def names(self, path: Path) -> list[str]:
        folder = f"{self._name(path)}/"
        sql = "SELECT name FROM memfolio.notes WHERE home = %s AND starts_with(name, %s)"
        found = self._rows.ask(sql, [self._rows.home, folder])
        return sorted({name.removeprefix(folder).partition("/")[0] for (name,) in found})

    def make_dirs(self, path: Path) -> None:
        """A note needs no folder."""


class RowHome(Home):
    """One home of a database; it has a name where others have a folder."""

    def __init__(self, root: Path, config: Config, clock: Clock, disk: Disk, secret: bytes) -> None:
        super().__init__(root, config, clock, disk)
        self._key = secret

    @property
    def has_new_key(self) -> bool:
        return False

    def is_initialized(self) -> bool:
        return True

    def check_present(self) -> None:
        """Whether it is there shows when it is asked for."""

    def check_owner(self) -> None:
        """Any server may write it."""

    def claim(self) -> None:
        """Nobody owns it alone."""


def names_below(paths: Collection[str], folder: str) -> list[str]:
    """The names in a folder, as the paths of files tell them."""
    prefix, ordered = f"{folder}/" if folder else "", sorted(paths)
    start = bisect_left(ordered, prefix)
    below = ordered[start:]
    found = dict.fromkeys(path[len(prefix) :].partition("/")[0] for path in below if path.startswith(prefix))
    return sorted(found)
