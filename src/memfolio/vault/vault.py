"""The vault of a home: the one door to its files, for reading, changing and looking back, under a speaker's access."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from weakref import WeakSet

from memfolio.clock import Clock, SystemClock, from_ms
from memfolio.config import Config, default_toml, load_config
from memfolio.errors import (
    DiskFullError,
    HistoryError,
    HomeBusyError,
    HomeError,
    HomeMissingError,
    HomeReadOnlyError,
    MemfolioError,
    NotOwnerError,
    PageChangedError,
    RefusedError,
)
from memfolio.redact.redactor import Redactor
from memfolio.text import encoded
from memfolio.types import TOKEN_PATTERN, Action, Approval, Attribution, MemoryItem
from memfolio.vault.agents import AgentSettings, agent_file, read_agent
from memfolio.vault.alerts import count_visible_to, open_alerts, visible_to
from memfolio.vault.change import (
    Access,
    AddEntries,
    AddLines,
    Allowed,
    Change,
    Guard,
    Hears,
    Operation,
    Page,
    Place,
    PutPage,
    Receipt,
    Shows,
)
from memfolio.vault.committer import Committer
from memfolio.vault.disk import Disk, FileLock, Stamp, disk_errors
from memfolio.vault.fields import Draft, as_draft
from memfolio.vault.journal import FileState, Head, Journal, Trail, TrailLine, to_text
from memfolio.vault.log import read_log_at
from memfolio.vault.paths import (
    CONFIG,
    Home,
    Ledger,
    Sensitivity,
    agent_root,
    agents_of,
    check_path,
    day_log,
    day_of,
    is_daily_log,
    is_home,
    is_state,
    sensitivity,
)
from memfolio.vault.reconcile import Reconciler, merge_copies
from memfolio.vault.survey import check_not_emptied, look_over
from memfolio.vault.usage import Usage
from memfolio.vault.writer import FOLDER as INTENTS
from memfolio.vault.writer import Writer

if TYPE_CHECKING:
    from memfolio.vault.git.history import History
    from memfolio.vault.past.past import Past
    from memfolio.vault.past.report import Finding
    from memfolio.vault.past.undo import Snapshots
    from memfolio.vault.purge.purge import Purged


def _attributed(by: Attribution, drafts: Sequence[Draft]) -> Attribution:
    """Return the attribution with the session and source that all memories share."""
    return _within(by, by.session or _common(drafts, "session"), by.source or _common(drafts, "source"))


@lru_cache(maxsize=256)
def _within(by: Attribution, session: str | None, source: str | None) -> Attribution:
    """The changes of a session share one attribution; finding it is cheaper than checking it anew."""
    return replace(by, session=session, source=source)


def _common(drafts: Sequence[Draft], name: str) -> str | None:
    """The session or source that all memories of a change share, if they do and it is an identifier."""
    values = set(map(attrgetter(name), drafts))
    value = values.pop() if len(values) == 1 else None
    return value if value is not None and TOKEN_PATTERN.fullmatch(value) else None


# The vault of one home: its files, its one writer, its trail and its history.

INITIALIZER = Attribution(actor="system:init", trigger="init")
OWNER = Attribution(actor="human", approval=Approval.APPROVED, trigger="command")
PURGE = "purge.json"
"""The file that describes a purge in progress, in `.memfolio`."""
PASSING = (HomeBusyError, DiskFullError)
"""Errors that block writing only for a while; the home can be read meanwhile."""
ATTEMPTS = 3
T = TypeVar("T")
PATIENCE = 1.5
"""Seconds for which who only reads waits until nobody writes; then the files are read as they are."""


@dataclass(slots=True)
class Condition:
    """How a vault is, for all who share it."""

    problems: dict[str, str] = field(default_factory=dict)
    trouble: MemfolioError | None = None
    is_closed: bool = False
    glance: Stamp | None = None
    views: WeakSet[Vault] = field(default_factory=WeakSet)
    """Those made by `under` that nobody has closed."""


class Vault:
    """The one way to the files of a home; threads may share it.

    When opened, it is the owner's. Agents share it through views that `under` makes, each with its own access.
    """

    _locks: Sequence[FileLock] = ()

    def __init__(self, config: Config, *, clock: Clock | None = None, disk: Disk | None = None) -> None:
        home = Home(config.home, config, clock or SystemClock(), disk or Disk())
        window = None if config.git.enabled else config.stale_editor_window
        self._begin(Journal(home, Trail(config.home, home.disk), window=window), self._committed)
        lock = FileLock(
            self.home.internal / "lock",
            self.home.disk,
            timeout=config.lock_timeout,
            when_forked=self.journal.reset_after_fork,
        )
        self._locks = [lock, FileLock(self.home.internal / "commit.lock", self.home.disk, timeout=config.lock_timeout)]
        self.writer = Writer(self.journal, self._reconciler, lock)
        self.committer = Committer(self.journal, self.writer, self._locks[1], delay=config.commit_delay)
        if config.git.enabled:
            self.journal.when_entered = self.committer.notify

    def _begin(self, journal: Journal, committed: Callable[[str], bytes | None]) -> None:
        """Set what a vault has wherever its home is kept; `committed` is what git has of a file."""
        config, self.home, self.trail, self.journal = journal.home.config, journal.home, journal.trail, journal
        self.config = config
        self._condition = Condition()
        self._access = Access(Redactor(config.redact, self.home.hash), config.speaker)
        self._reconciler = Reconciler(journal, committed)
        self.usage = Usage(self.home)
        """The log of calls to language models, and their cost."""
        self.without_alerts: dict[str, tuple[int, int]] = {}
        """The epoch and the change at which each agent was last found to have no alert to see."""
        self._past: Past | None = None
        self._has_left = False

    def under(
        self,
        guard: Guard,
        scope: Shows | None = None,
        *,
        speaker: str | None = None,
        place: Place | None = None,
    ) -> Self:
        """Return a view that may write what `guard` admits and see what `scope` shows; None shows everything.

        `place` adds to a new memory where it was said. Each view must be closed; the last one closes the vault.
        """
        view = copy(self)
        view._past = None
        speaker = speaker or self.config.speaker
        view._access = replace(self._access, guard=guard, scope=scope, speaker=speaker, place=place)
        self._condition.views.add(view)
        return view

    def heard(self, scope: Shows, hears: Hears, place: Place) -> Self:
        """The same view for somebody who hears only a part of what it shows; it is closed with this one."""
        view = copy(self)
        view._past = None
        view._access = replace(self._access, scope=scope, hears=hears, place=place)
        return view

    @property
    def speaker(self) -> str:
        """The speaker: "owner", "agent", or empty if changes name it themselves."""
        return self._access.speaker

    @property
    def scope(self) -> Shows | None:
        """Decides which files the speaker may see; None for all, as for the owner."""
        return self._access.scope

    @property
    def problems(self) -> dict[str, str]:
        """Problems with files, by path."""
        return self._condition.problems

    @property
    def trouble(self) -> MemfolioError | None:
        """Why the home is read-only; None if it can be written."""
        return self._condition.trouble

    @property
    def _is_closed(self) -> bool:
        return self._has_left or self._condition.is_closed

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        *,
        config: Config | None = None,
        clock: Clock | None = None,
        disk: Disk | None = None,
        accept_missing: bool = False,
    ) -> Self:
        """Open a home, creating what is missing; recovers from crashes and records edits made meanwhile.

        A home that cannot be written here (read-only, or another machine's) opens for reading; `trouble` says why. So
        does one that another process holds or whose disk is full, until a write or a look finds it free.
        """
        config = config or load_config(home)
        if config.store == "postgres":
            from memfolio.vault.postgres.vault import PostgresVault

            return cast(Self, PostgresVault.of(config, clock=clock))
        vault = cls(config, clock=clock, disk=disk)
        try:
            with disk_errors(vault.home.root):
                vault._found()
            vault.survey(accept_missing=accept_missing, patience=PATIENCE)
            vault._finish_purge()
        except (HomeReadOnlyError, NotOwnerError, *PASSING) as error:
            with disk_errors(vault.home.root):
                is_usable = is_home(vault.home.root) and (not isinstance(error, PASSING) or vault.home.is_initialized())
            if not is_usable:
                raise
            vault._only_read(error)
        return vault

    def _finish_purge(self) -> None:
        """Finish an interrupted purge; an obstacle is reported, and it is retried at the next opening."""
        if self.home.disk.stamp(self.home.internal / PURGE) is not None:
            from memfolio.vault.purge.purge import resume

            resume(self)

    def _only_read(self, error: MemfolioError) -> None:
        """Go on with the files as they are, since the journal cannot be brought up to date."""
        self._condition.trouble = error
        self._glance_at_others()
        self.journal.epoch += 1

    @property
    def can_write(self) -> bool:
        """Whether changes can be made here and now."""
        return self.trouble is None and not self._is_closed

    @property
    def may_pass(self) -> bool:
        """Whether the home is only read because another process held it, or its disk was full, at the last look."""
        return isinstance(self.trouble, PASSING)

    @property
    def is_full(self) -> bool:
        """Whether the home is only read because its disk was full at the last look."""
        return isinstance(self.trouble, DiskFullError)

    def _found(self) -> None:
        """Create the home's folder and configuration on first use; of several processes that try, one does it."""
        root = self.home.root
        if root.exists() and not root.is_dir():
            raise HomeMissingError(f"{root} is a file", hint="name a folder for the home")
        if not self.home.load() or self._lacks_config():
            self.home.disk.make_dirs(self.home.internal / INTENTS)
            with self._locks[0]():
                self.home.check_owner()
                self.home.prepare()
                self.home.load()
                self._configure()

    def _configure(self) -> None:
        """Write the configuration of a new home, unless somebody died over it and getting ready has finished it."""
        with self.writer.ready():
            if self._lacks_config():
                toml = PutPage(CONFIG, default_toml().encode(), None)
                self.writer.apply(Allowed(Change(operations=(toml,), by=INITIALIZER, action=Action.CREATE)))

    def _lacks_config(self) -> bool:
        """Whether the home is new; a configuration that a person deleted stays deleted."""
        return not (self.home.root / CONFIG).exists() and not self.trail.parts()

    def survey(self, *, accept_missing: bool = False, patience: float | None = None) -> list[str]:
        """Record what people and sync programs did to the files; returns the changed files.

        Raises HomeBusyError if others write for longer than the home's `lock_timeout`, or `patience`.
        """
        self._check_open()
        with self.writer.ready(sweeps=False, patience=patience):
            survey = look_over(self.home.root, self.journal.files)
            known, found = set(self.journal.files), set(survey.files)
            if back := self._reconciler.restore_moved({*survey.altered, *(known - found)}):
                survey = look_over(self.home.root, self.journal.files)
                found = set(survey.files)
            if not accept_missing:
                check_not_emptied(self.home.root, known, found)
            self.writer.sweep(survey.leftovers)
            self._condition.problems = dict(survey.problems)
            suspects = {*survey.altered, *(known - found), *self._tampered(known)}
            if self.home.has_new_key:  # what is known was hashed with another one
                self.journal.mark_stale(known)
                suspects |= known
            changed = [*back, *(path for path in sorted(suspects) if self._try_reconcile(path))]
            self._reconciler.alert_removed()
            if known.isdisjoint(self.problems):
                self.home.note_surveyed()
            with suppress(OSError):  # the file is large, not wrong
                self.journal.rotate_if_large()
            copies = [path for path in survey.files if "conflict" in path.lower()]  # as every program names them
            if copies:
                changed += merge_copies(self, copies, originals=found | known)
            if self.may_pass:
                self._condition.trouble = None
                self.journal.epoch += 1
        return changed

    def _tampered(self, known: Iterable[str]) -> list[str]:
        """Return critical files that differ from their recorded state; always read, since stamps can be forged."""
        critical = [path for path in known if sensitivity(path) is Sensitivity.CRITICAL]
        found = [path for path in critical if not self._is_as_left(path)]
        self.journal.mark_stale(found)
        return found

    def _is_as_left(self, path: str) -> bool:
        known = self.journal.files.get(path)
        try:
            return known is not None and self.home.hash(self.journal.read(path) or b"") == known.hash
        except (OSError, HomeError):
            return False  # what stands in the way is said when the file is reconciled

    def _try_reconcile(self, path: str) -> bool:
        """Reconcile a file; a problem with it is noted and does not stop the others."""
        try:
            with disk_errors(self.home.root):
                return self._reconciler.reconcile(path)
        except DiskFullError:
            raise  # it is not this file that stands in the way
        except HomeError as error:
            self.problems[path] = error.message
            return False

    def _committed(self, path: str) -> bytes | None:
        try:
            return self.history.read(path)
        except HistoryError:
            return None

    def add(
        self,
        agent: str,
        items: Iterable[MemoryItem | Draft],
        by: Attribution,
        *,
        key: str | None = None,
        beside: tuple[Operation, ...] = (),
    ) -> Receipt:
        """Append memories to an agent's logs as one change, with the operations `beside`; InputError if invalid."""
        agent_root(agent)
        drafts = tuple(map(as_draft, items))
        by = _attributed(by, drafts)
        if key is not None:
            drafts = tuple(draft._replace(key=key) for draft in drafts[:1]) + drafts[1:]
        mark = self.home.key_mark(agent, key) if key is not None else None
        operations = (AddEntries(agent, drafts), *beside)
        return self.apply(Change(operations=operations, by=by, action=Action.APPEND, key=mark))

    def add_lines(
        self,
        ledger: Ledger,
        records: Iterable[Mapping[str, Any]],
        by: Attribution,
        prefix: str = "S",
        action: Action = Action.APPEND,
    ) -> Receipt:
        """Append records to a JSON-lines ledger as one change."""
        return self.apply(Change(operations=(AddLines(ledger, tuple(records), prefix),), by=by, action=action))

    def page(self, path: str) -> Page | None:
        """Return a file's content with the hash that a change of it must name."""
        content = self.content(path)
        return None if content is None else Page(path, content, self.home.hash(content))

    def content(self, path: str) -> bytes | None:
        """Return a file's bytes, as far as the speaker may read them; None if it does not exist."""
        found = self._content(path)
        return found if found is None or self._access.hears is None else self._access.hears(path, found)

    def _content(self, path: str) -> bytes | None:
        # A file that is there may have a name that we would not give it; it is known from looking, so it is inside.
        return self.read(path if self.journal.files.get(path) else check_path(path))

    def settings(self, agent: str) -> AgentSettings:
        """Return the settings in an agent's `agent.toml`; raises ConfigError if they are invalid."""
        return read_agent(agent, self.content(agent_file(agent)))

    def put_page(
        self,
        path: str,
        content: bytes | str | None,
        *,
        expects: str | None,
        by: Attribution,
    ) -> Receipt:
        """Replace a page composed against the content with hash `expects`; None means that it must not exist yet."""
        data = encoded(content) if isinstance(content, str) else content
        action = Action.DELETE if data is None else Action.EDIT if expects else Action.CREATE
        return self.apply(Change(operations=(PutPage(path, data, expects),), by=by, action=action))

    def apply(self, change: Change) -> Receipt:
        """Make a change; it is on disk when this returns."""
        self._check_open()
        if self.may_pass:
            self.survey()
        if self.trouble is not None:
            raise self.trouble
        self._check_heard(change)
        with self._access.allowing(change, self.content) as allowed:
            return self.writer.apply(allowed)

    def _check_heard(self, change: Change) -> None:
        """Refuse to replace a page that whoever speaks here hears only a part of: the rest would be lost.

        The same goes for knowledge, of which nobody could say who may hear it.
        """
        hears = self._access.hears
        for each in change.operations if hears is not None else ():
            is_refused, path = False, ""
            if isinstance(each, PutPage):
                is_refused = self.content(path := each.path) != self._content(path)
            elif isinstance(each, AddLines) and not is_state(path := each.ledger.part(1)):
                is_refused = hears is not None and hears(path, b"") is None
            if is_refused:
                raise RefusedError(f"{path} also says what is not for you", hint="let the owner change it")

    def allowed(self, change: Change) -> Change:
        """Return the change as the speaker may make it, without making it; raises PolicyError if it is refused."""
        with self._access.allowing(change, self.content) as allowed:
            return allowed.change

    def compose(self, attempt: Callable[[], T]) -> T:
        """Compose and make a change with nobody else writing; again when a person saves one of its files meanwhile."""
        with self.exclusive():
            for _ in range(ATTEMPTS):
                with suppress(PageChangedError):
                    return attempt()
            return attempt()

    def clean(self, change: Change) -> Change:
        """Return the change without secrets."""
        return self._access.clean(change, self.content)

    def preview(self, change: Change) -> str:
        """Return the effect of a change as a diff; nothing is written."""
        from memfolio.vault.past.merge import difference

        self._check_open()
        outlook = self.writer.preview(self.clean(change))
        # Around what changes stand the words of others.
        shown = outlook if self._access.hears is None else filter(self.shows, outlook)
        return "".join(difference(path, *outlook[path]) for path in shown)

    def subscribe(self, listener: Callable[..., None], *, of_many: bool = False) -> None:
        """Call `listener` with the record of every change made or found, or `of_many` at once: be quick, writers wait.

        Changes of other processes are found when this one writes, and on `refresh`. Changes come once and in order; if
        that is impossible, `epoch` grows instead, and `states` shows the files.
        """
        (self.journal.of_many if of_many else self.journal.listeners).append(listener)

    def unsubscribe(self, listener: Callable[..., None]) -> None:
        """Stop notifying a listener."""
        for listeners in (self.journal.listeners, self.journal.of_many):
            with suppress(ValueError):
                listeners.remove(listener)

    @property
    def notices(self) -> list[str]:
        """Automatic repairs to report to a person once; whoever reports them clears the list."""
        return self.journal.notices

    @property
    def head(self) -> int:
        """The number of the newest change known to this process; in a read-only home, of all changes."""
        if self.trouble is None:
            return self.journal.head.seq
        with disk_errors(self.home.root):
            return self.trail.tail().seq

    @property
    def newest(self) -> Head:
        """The newest change that this process knows of, with its place in the chain of the trail."""
        return self.journal.head

    @property
    def epoch(self) -> int:
        """A number that grows whenever there may be changes that listeners have not heard of."""
        return self.journal.epoch

    def refresh(self) -> bool:
        """Catch up with other processes and return whether they changed anything. Asking costs a look at one file.

        If the home cannot be written here, or is held by others, changes are noticed but not reported: only `epoch`
        grows.
        """
        if self.may_pass and not self._is_closed:
            self.try_survey(patience=0)
        if self.trouble is not None:
            return self._glance_at_others()
        before = self.journal.head.seq, self.epoch
        with disk_errors(self.home.root):
            is_behind = not self._is_closed and self.journal.is_behind()
        if is_behind:
            with self.at_rest():
                pass
        return before != (self.journal.head.seq, self.epoch)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Block other writers, if the home is available, after catching up with them."""
        with ExitStack() as locks:
            if self.can_write:
                try:
                    locks.enter_context(self.writer.ready(patience=PATIENCE))
                except PASSING as error:
                    self._only_read(error)
            yield

    @contextmanager
    def exclusive(self, *, to_copy: bool = False) -> Iterator[None]:
        """Block all other writers, after catching up with them.

        On a full disk that is impossible; with `to_copy`, the files are locked as they are.
        """
        with self.writer.holding() if to_copy and self.is_full else self.writer.ready():
            yield

    def git_at_rest(self) -> AbstractContextManager[None]:
        """Keep everybody from committing."""
        return self.committer.holding()

    @property
    def files(self) -> Mapping[str, FileState]:
        """How each tracked file was last left, as far as this process knows; `states` catches up first."""
        return self.journal.files

    def paths(self) -> list[str]:
        """The tracked files that are there at the moment, recorded or not."""
        return look_over(self.home.root, self.journal.files).files

    def read(self, path: str) -> bytes | None:
        """Return the bytes of one of the `files`, whatever its name; None if it is gone."""
        with disk_errors(self.home.root):
            return self.home.disk.read(self.home.path(path))

    def stamp(self, path: str) -> Stamp | None:
        """Return the stamp of one of the `files`; None if it is gone."""
        return self.home.disk.stamp(self.home.path(path))

    def glance(self, path: str) -> tuple[int, int, int] | None:
        """When a file was changed last, which one it is and its size, for who asks all the time; None without one."""
        try:
            found = os.lstat(self.home.path(path))
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def suspects(self) -> set[str]:
        """Files that are not as they were last left, by their stamps; nothing of that is recorded."""
        known = self.files
        survey = look_over(self.home.root, known)
        return {*survey.altered, *(set(known) - set(survey.files))}

    def is_taken(self, path: str) -> bool:
        """Whether anything has this name on the disk, be it a file or not."""
        return os.path.lexists(self.home.path(path))

    def agents(self) -> list[str]:
        """Return the agents that have a folder, the shared one last."""
        return agents_of(self.home.root)

    def has_agent(self, agent: str) -> bool:
        """Whether an agent has a folder at the moment."""
        return os.path.isdir(self.home.path(agent_root(agent)))

    def lies_apart(self, folder: Path) -> bool:
        """Whether neither the folder is inside the home, nor the home inside the folder."""
        one, home = folder.resolve(), self.home.root.resolve()
        return not one.is_relative_to(home) and not home.is_relative_to(one)

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder of the home; empty if it does not exist."""
        with disk_errors(self.home.root):
            return self.home.disk.names(self.home.path(folder))

    def changes(self, *, containing: Sequence[bytes] = (), newest_first: bool = False) -> Iterator[TrailLine]:
        """Yield every change, oldest first, including those that the speaker may not see (see `told`).

        `containing` skips changes whose line in the trail has none of these bytes, at almost no cost.
        """
        with disk_errors(self.home.root):
            yield from (self.trail.newest_first if newest_first else self.trail.lines)(containing=containing)

    def count_changes(self) -> int:
        """Return the number of changes that the speaker may see."""
        return self.head if self.scope is None else count_visible_to(self.scope, self.trail)

    def was_made(self, key: str) -> TrailLine | None:
        """Return the change that was made under this key; None if there was none."""
        return self.journal.made_under(key)

    def reconcile(self, paths: Sequence[str]) -> list[str]:
        """Record edits of these files by people; returns the changed ones."""
        return self.writer.reconcile(paths)

    def waiting(self) -> list[TrailLine]:
        """Return the changes that are not in git yet, as far as the speaker may see them."""
        return list(self.told(record.line for record in self.journal.pending))

    @property
    def obstacle(self) -> str | None:
        """What kept the newest changes out of git at the last attempt."""
        return self.committer.obstacle

    def reconcile_log(self, agent: str, id: str) -> None:
        """Record how the log ends that would have the memory, should its writer have died before it was entered."""
        with suppress(ValueError, OverflowError):
            made = from_ms(int(id.split("-")[1])).astimezone(self.home.zone)
            ledger = day_log(agent, made.date())
            with self.at_rest():
                newest = self.journal.newest_part(ledger)
                for number in (newest, newest + 1) if self.trouble is None else ():
                    self._try_reconcile(ledger.part(number))

    def try_survey(self, *, patience: float | None = None) -> None:
        """Run `survey` if the home is free and has space; otherwise it becomes read-only."""
        try:
            self.survey(patience=patience)
        except HomeBusyError:
            return
        except (HomeReadOnlyError, NotOwnerError, DiskFullError) as error:
            self._only_read(error)

    def _glance_at_others(self) -> bool:
        now, before = self._condition, self._condition.glance
        now.glance = None
        with suppress(OSError):
            now.glance = self.home.disk.stamp(self.journal.path)
        self.journal.epoch += now.glance != before
        return now.glance != before

    def states(self, earlier: Mapping[str, FileState] | None = None) -> dict[str, FileState]:
        """How each tracked file was last left: its hash, size and stamp.

        In a home that cannot be written here, or that others hold, the files themselves are read, except those with
        the stamp that `earlier`, an answer of before, has for them.
        """
        with self.at_rest():
            if self.trouble is None:
                return self._shown(dict(self.journal.files))
        return self._shown(self._read_states(earlier or {}))

    def _shown(self, states: dict[str, FileState]) -> dict[str, FileState]:
        """Those of these files of which whoever speaks here hears anything."""
        hears = self._access.hears
        return states if hears is None else {path: states[path] for path in states if hears(path, b"") is not None}

    def _read_states(self, earlier: Mapping[str, FileState]) -> dict[str, FileState]:
        survey = look_over(self.home.root, earlier)
        states = {path: earlier[path] for path in survey.files if path not in survey.altered}
        for path, stamp in survey.altered.items():
            with suppress(OSError, HomeError):  # a file that cannot be read does not hide the others
                content = self.journal.read(path)
                if content is not None:
                    states[path] = FileState(self.home.hash(content), len(content), stamp)
        return states

    def shows(self, path: str) -> bool:
        """Whether the speaker may see a file; a hidden file is treated as missing."""
        return self.scope is None or self.scope(path)

    def told(self, lines: Iterable[TrailLine]) -> Iterator[TrailLine]:
        """The changes that they may know of."""
        return iter(lines) if self.scope is None else visible_to(self.scope, self.trail, lines)

    # Small notes and locks that rooms keep in the home's inside. Both may be lost: then something is done once more.

    def hint(self, name: str) -> dict[str, Any]:
        """Return the JSON object that a room saved under a name; empty if there is none, or it is damaged."""
        with disk_errors(self.home.root), suppress(ValueError):
            found = json.loads(self.home.disk.read(self.home.internal / name) or b"{}")
            return found if isinstance(found, dict) else {}
        return {}

    def note_hint(self, name: str, value: Mapping[str, Any]) -> None:
        """Note a JSON object under a name."""
        with disk_errors(self.home.root):
            self.home.disk.put(self.home.internal / name, json.dumps(value).encode())

    @contextmanager
    def holding(self, name: str, *, patience: float = 0) -> Iterator[None]:
        """Hold a named lock against other processes and threads; writing goes on.

        Raises HomeBusyError if another one holds it for longer than `patience` seconds.
        """
        lock = FileLock(self.home.internal / f"{name}.lock", self.home.disk, timeout=patience)
        with closing(lock), ExitStack() as locks:
            with disk_errors(self.home.root):
                locks.enter_context(lock())
            yield

    def claim_vectors(self, identity: str, hashes: Sequence[bytes]) -> tuple[dict[bytes, bytes], set[bytes]]:
        """The vectors that other servers have made of texts with these hashes, and those that are left to this one."""
        return {}, set(hashes)

    def share_vectors(self, identity: str, vectors: Mapping[bytes, bytes]) -> None:
        """Let other servers have vectors of an embedder that is paid for."""

    def drop_lock(self, name: str) -> None:
        """Remove the file of a lock under which nothing is left to be done."""
        with suppress(OSError):
            self.home.disk.unlink(self.home.internal / f"{name}.lock")

    def alerts(self) -> list[TrailLine]:
        """Return the open alerts that the speaker may see."""
        with disk_errors(self.home.root):
            return list(self.told(open_alerts(self.trail)))

    def acknowledge(self, seqs: Sequence[int], by: Attribution = OWNER) -> TrailLine:
        """The owner has seen these alerts."""
        self._check_open()
        with self._access.allowing(Change(operations=(), by=by, action=Action.ACK), self.content) as allowed:
            return self.writer.note(Action.ACK, allowed.change.by, seqs)

    def raise_alert(self, by: Attribution, ids: Sequence[str] = ()) -> TrailLine:
        """Alert the owner to something that memfolio noticed, and to the memories it is about."""
        self.clean(Change(operations=(), by=by, action=Action.ALERT))  # which refuses names that are secrets
        return self.writer.note(Action.ALERT, by, ids=ids)

    def adopt(self, *, accept_missing: bool = False) -> None:
        """Make this machine the writer of the home."""
        self._check_open()
        with disk_errors(self.home.root):
            self.home.claim()
            self._found()
        self._condition.trouble = None
        self.survey(accept_missing=accept_missing)

    @property
    def history(self) -> History:
        """The home's git."""
        return self.journal.history

    @property
    def snapshots(self) -> Snapshots:
        """The home as it was behind each change."""
        return self.history

    @property
    def past(self) -> Past:
        """The history: past changes, past states, undo and rollback."""
        if self._past is None:
            from memfolio.vault.past.past import Past

            self._past = Past(self)
        return self._past

    def purge(self, ids: Sequence[str], *, by: Attribution, **how: Any) -> Purged:
        """Destroy memories for good; `how` is as `purge` in `vault/purge/purge.py` takes it."""
        from memfolio.vault.purge.purge import purge

        return purge(self, ids, by=by, **how)

    def verify(self) -> list[Finding]:
        """Check trail, git and files against each other."""
        from memfolio.vault.past.report import verify

        with disk_errors(self.home.root):
            return verify(self)

    def doctor(self) -> list[Finding]:
        """`verify`, and the surroundings that the home depends on."""
        from memfolio.vault.past.report import doctor

        with disk_errors(self.home.root):
            return doctor(self)

    def entries(self, agent: str, day: date | None = None) -> list[MemoryItem]:
        """Return the memories in an agent's daily logs, of one day or of all, in file order."""
        root, found = f"{agent_root(agent)}/memory/", list[MemoryItem]()
        for path in self.paths():
            if path.startswith(root) and is_daily_log(path) and day in (None, day_of(path)):
                reading = read_log_at(path, to_text(self.read(path) or b""), self.home.zone)
                found += [each.entry.item for each in reading.entries]
        return found

    def commits_of(self, seqs: Collection[int]) -> dict[int, str]:
        """Return the commit of each of these changes; empty if git cannot say."""
        try:
            return self.history.commits_of(seqs)
        except HistoryError:
            return {}

    def commit(self) -> int:
        """Commit every change to git; returns how many must wait (`committer.obstacle` says why), or -1 if unknown."""
        if self.may_pass and not self._is_closed:
            self.try_survey(patience=0)
        if self.trouble is not None and self.may_pass:
            self.committer.obstacle, self.committer.failure = self.trouble.message, self.trouble
            return -1
        if not self.config.git.enabled or self.trouble is not None or self._is_closed:
            return 0
        waiting = self.committer.commit_now()
        if not waiting:  # else why they wait would be forgotten
            self.committer.tidy()
        return waiting

    def close(self) -> None:
        """Commit what is waiting and release everything; a closed vault can be read, but not written.

        If others have views of the vault, closing one leaves it open for them.
        """
        views = self._condition.views
        if self in views:
            views.discard(self)
            if views:
                self.commit()
                self._has_left = True
        if self._has_left:
            return
        was_closed, self._condition.is_closed = self._is_closed, True
        # A journal that was never read has nothing that waits: whoever holds the home is not waited for.
        is_ours = self.trouble is None or (self.may_pass and self.journal.head.seq > 0)
        if is_ours and self.config.git.enabled and not was_closed:
            self.committer.close()
        self.journal.close()
        for lock in self._locks:
            lock.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise HomeError(f"{self.home.root} was closed", hint="open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
