"""The copy of one agent's knowledge on a TypeDB server: made, kept up best effort, and asked.

The files here are the truth, and nothing is ever read from the server into them. What the server holds is compared with
what is known, by keys and digests, so a sync can be broken off and begun again at any time.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from memfolio.errors import MemfolioError, MirrorError, RefusedError
from memfolio.index.database import get_meta, set_meta
from memfolio.index.facts import FactFilter, find_facts
from memfolio.index.lookup import newest
from memfolio.index.search import Filter
from memfolio.knowledge.cases import Cases
from memfolio.knowledge.ontology.ontology import Ontology
from memfolio.knowledge.rules import Rules
from memfolio.knowledge.typedb.client import TypeDBClient
from memfolio.knowledge.typedb.schema import (
    BATCH,
    RowGroup,
    Schema,
    TypeDBRow,
    batches,
    delete_query,
    held_query,
    insert_queries,
)
from memfolio.recall.library import Library
from memfolio.text import counted
from memfolio.types import Origin
from memfolio.vault.journal import Record
from memfolio.vault.vault import Vault

logger = logging.getLogger("memfolio")
PAGE, MOST_ROWS = 5000, 10_000
"""How many keys are asked for at once, and how many rows a raw query may find."""
CALM, LAST_PAUSE = 0.5, 60.0
"""Seconds after a change until it is sent, and at most until what failed is tried again."""
SHARE = 10
"""How many times as long as a sync took the next one waits, so that a large home is not busy with it."""
ALL = -1  # as many as there are, to the index
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """How many rows of each sort a sync added and removed, or would; a changed row counts as both."""

    added: Mapping[str, int]
    removed: Mapping[str, int]
    head: int
    """The change up to which the server has everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStatus:
    """How the copy stands; `synced` is the change up to which it is complete, None where it never was."""

    url: str
    database: str
    is_reachable: bool
    version: str
    databases: tuple[str, ...]
    synced: int | None
    head: int
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRows:
    """What a raw query found, as many rows as may be shown, and how many more there were."""

    rows: tuple[Any, ...]
    cut: int


class TypeDB:
    """The mirror of one agent. Without an address in the configuration it does nothing and contacts nobody."""

    def __init__(self, vault: Vault, library: Library, agent: str, *, background: bool = False) -> None:
        self._vault, self._library, self._agent = vault, library, agent
        self._settings = vault.config.typedb
        self._place = f"typedb {self._settings.url} {self._settings.database}"
        self._failure: str | None = None
        self._process = 0
        self._begin()
        if self._settings.url and background:
            vault.subscribe(self._note)
            self._note(None)  # for what was changed while nobody followed

    def _begin(self) -> None:
        """Begin unless that is done; anew in a forked process, where no thread runs and a lock may be shut for ever."""
        if self._process != os.getpid():
            self._process, self._client, self._defined = os.getpid(), TypeDBClient(self._settings), ""
            self._lock, self._woken, self._stopping = threading.Lock(), threading.Event(), threading.Event()
            self._thread: threading.Thread | None = None

    def schema(self) -> str:
        """The define statement for the base model and the ontology."""
        return self._schema().define()

    def _schema(self) -> Schema:
        return Schema(Ontology(self._vault, self._library, self._agent).terms())

    def status(self) -> MirrorStatus:
        """How the server and the copy on it stand; a server that fails is told, not raised."""
        version, databases, trouble = "", list[str](), self.trouble()
        try:
            version = self._client.version()
            databases = self._client.databases()
        except MirrorError as error:
            trouble = error.message
        return MirrorStatus(
            url=self._settings.url,
            database=self._settings.database,
            is_reachable=bool(version),
            version=version,
            databases=tuple(databases),
            synced=self._synced(),
            head=self._vault.head,
            trouble=trouble,
        )

    def trouble(self) -> str | None:
        """Why the copy is not up to date, as far as that is known without asking the server; None when it is."""
        if not self._settings.url:
            return None
        if self._failure:
            return self._failure
        with suppress(MemfolioError):  # which is told as trouble of the index or the home
            synced = self._synced()
            if synced is None:
                return "nothing was sent yet; `memfolio typedb sync` sends it"
            if behind := self._vault.head - synced:
                return f"changes that were not sent yet: {behind:,}; `memfolio typedb sync` sends them"
        return None

    def sync_schema(self) -> bool:
        """Make the database unless it is there, and define the schema; whether the database was made."""
        made = self._client.make_database()
        self._client.ask(self.schema(), kind="schema")
        return made

    def sync_data(self, *, dry_run: bool = False, progress: Progress = lambda done, total: None) -> Synced:
        """Make the server's copy what is known here; `dry_run` only counts. MirrorError where the server fails."""
        self._begin()
        with self._lock:
            head, schema = self._vault.head, self._schema()
            defined, self._defined = self._defined, ""  # after a failure the database may be another one
            is_empty = dry_run and self._settings.database not in self._client.databases()
            if not dry_run and schema.define() != defined:
                self.sync_schema()
            added, removed = {}, {}
            for sort, rows in self._rows(schema):
                wanted = {row.uid: row for row in rows}
                held = {} if is_empty else dict(self._held(sort))
                gone = [uid for uid in held if uid not in wanted or wanted[uid].digest != held[uid]]
                new = [row for row in wanted.values() if held.get(row.uid) != row.digest]
                added[sort], removed[sort] = len(new), len(gone)
                if not dry_run:
                    self._send(new, gone, progress)
            if not dry_run:
                self._mark(head)
                self._defined = schema.define()
        return Synced(added=added, removed=removed, head=head)

    def _rows(self, schema: Schema) -> Iterator[tuple[str, Iterable[TypeDBRow]]]:
        place, group = (self._vault, self._library, self._agent), partial(RowGroup, self._agent, schema=schema)
        read, asserted = self._library.index.read, FactFilter(derived=False, limit=ALL)
        facts = read(lambda connection: find_facts(connection, asserted, self._agent))
        yield "fact", group("fact").things(facts)
        yield "graph", group("graph").graph(facts)
        yield "rule", group("rule").things(Rules(*place).list())
        cases = [case for case in Cases(*place).list() if case.origin != Origin.UNTRUSTED.value]
        yield "case", group("case").things(cases)
        memories = read(lambda connection: newest(connection, Filter(forms=("memory",)), ALL))
        yield "memory", group("memory").things(each.item for each in memories)

    def _held(self, sort: str) -> Iterator[tuple[str, str]]:
        """The keys and digests of what the server has of a sort."""
        after = ""
        while True:
            page = self._client.ask(held_query(self._agent, sort, after, PAGE), most=PAGE)
            for each in page:
                uid, digest = (each.get("uid"), each.get("digest")) if isinstance(each, dict) else (None, None)
                if not isinstance(uid, str) or not isinstance(digest, str) or uid <= after:
                    hint = "delete the database there and sync again"
                    raise MirrorError(f"{self._settings.url} did not list what it holds in order", hint=hint)
                after = uid
                yield uid, digest
            if len(page) < PAGE:
                return

    def _send(self, new: list[TypeDBRow], gone: list[str], progress: Progress) -> None:
        """Remove, then add. Relations go before and come behind what they relate, so that none is ever without it."""
        gone.sort(reverse=True)  # .../tie/... stands behind .../node/...
        new.sort(key=lambda row: bool(row.players))
        done, total = 0, len(gone) + len(new)
        for start in range(0, len(gone), BATCH):
            batch = gone[start : start + BATCH]
            self._client.write([delete_query(batch)])
            progress(done := done + len(batch), total)
        for rows in batches(new):
            self._client.write(insert_queries(rows, self._agent))
            progress(done := done + len(rows), total)

    def query(self, text: str) -> QueryRows:
        """Ask the server in TypeQL; what is found is cut at `typedb.bytes`.

        It holds what every agent knows, so only who may read all of that may ask.
        """
        readable = {index.agent for index in self._library.indexes()}
        if self._vault.scope is not None and not set(self._vault.agents()) <= readable:
            hint = "ask the owner; `fact query` answers from what this agent may read"
            raise RefusedError(f"the server holds every agent's memory, so {self._agent} may not ask it", hint=hint)
        rows = self._client.ask(text, most=MOST_ROWS)
        shown, left = list[Any](), self._settings.bytes - 2  # the brackets around the list
        for row in rows:
            line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")  # JSON can have half a character
            left -= len(line) + 2
            if left < 0:
                break
            shown.append(json.loads(line))
        return QueryRows(rows=tuple(shown), cut=len(rows) - len(shown))

    # Up to which change the server has everything: kept in the index, which is a cache. Without it all is compared.

    def _synced(self) -> int | None:
        found = self._library.index.read(lambda connection: get_meta(connection, self._place))
        return found if isinstance(found, int) else None

    def _mark(self, head: int) -> None:
        self._failure = None
        self._library.index.write(lambda connection: set_meta(connection, self._place, head))

    def _note(self, record: Record | None) -> None:
        """Have the thread look what changed; called under the write lock, so it only says so."""
        self._begin()
        if self._stopping.is_set():
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="memfolio-typedb", daemon=True)
            self._thread.start()
        self._woken.set()

    def _run(self) -> None:
        pause = CALM
        while self._woken.wait() and not self._stopping.wait(pause):
            self._woken.clear()
            started = time.monotonic()
            try:
                if self._synced() != self._vault.head:
                    self.sync_data()
                pause = max(CALM, SHARE * (time.monotonic() - started))
            except MemfolioError as error:
                pause = min(2 * pause, LAST_PAUSE)
                self._failure = error.message
                logger.debug("the mirror stays behind: %s", error.message)
                self._woken.set()

    def close(self) -> None:
        """Stop sending, and break off what is being sent."""
        self._vault.unsubscribe(self._note)
        if self._process == os.getpid():
            self._stopping.set()
            self._woken.set()
            self._client.close()
            if self._thread is not None:
                self._thread.join(timeout=CALM)


def catch_up(vault: Vault, library: Library, agent: str) -> str:
    """Send what changed since the last sync, where a server is configured; what was done in a few words, or nothing."""
    mirror = TypeDB(vault, library, agent)
    if mirror.trouble() is None:
        return ""
    done = mirror.sync_data()
    sent, taken = sum(done.added.values()), sum(done.removed.values())
    return f"{counted(sent, 'row')} sent to TypeDB, {taken:,} removed there" if sent or taken else ""
