"""Watching a home: what people and other programs do to its files is recorded, and so found, a moment later."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from memfolio.errors import DiskError, FileNotHereError, HomeMissingError, MemfolioError
from memfolio.index.index import Index
from memfolio.vault.disk import Stamp
from memfolio.vault.folders import folders_below
from memfolio.vault.paths import CONFIG, GITIGNORE, MAX_TRACKED_BYTES, SHARED, is_junk
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

logger = logging.getLogger("memfolio")

DELAY = 0.3
"""Seconds after which watching begins, so that a short script pays nothing for it."""
STEP_MS = 100
"""Milliseconds without a further change after which changes are looked at."""
GATHER_MS = 500
"""Milliseconds after which changes are handled even if more keep coming."""
POLL_MS = 1000
"""Milliseconds between polls, on a system without notifications."""
MANY = 200
"""The number of changes from which on the whole home is surveyed: the system may have dropped some."""
LOOK_SECONDS = 2.0
"""How often a folder of notes is looked for that is not there."""
FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0
"""Seconds before a retry, doubled each time up to the last."""
IS_RECURSIVE = sys.platform in ("darwin", "win32")
"""Whether the system itself watches what is below a folder. Elsewhere the library would follow links to do so."""
TOPS = ("agents", SHARED)
JOIN_SECONDS = 0.45
_SURROGATES = re.compile(r"[\ud800-\udfff]")


class Watcher:
    """A thread that waits for changes of a home's files and has the vault record those that are not its own."""

    def __init__(self, vault: Vault, indexes: Callable[[], Sequence[Index]]) -> None:
        self.trouble: str | None = None
        """Why edits are not noticed, or are noticed late; None when all is well."""
        self._vault = vault
        self._indexes = indexes
        self._root = ""
        self._stopping = threading.Event()
        self._is_started = self._is_closed = False
        self._thread: threading.Thread | None = None
        self._pause = 0.0
        """Seconds before the next retry; 0 if nothing failed."""
        self._logged: str | None = None

    def start(self) -> None:
        """Begin to watch a moment later; once."""
        if not self._is_started:
            self._is_started = True
            _beginnings.add(self)

    def begin(self) -> None:
        """Begin to watch, unless that was ended already."""
        if self._is_closed:
            return
        self._root = os.path.realpath(self._vault.config.home)
        self._thread = threading.Thread(target=self._run, name="memfolio-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._is_closed = True
        thread = self._thread
        if thread is None or not thread.is_alive():
            return  # which is so in a forked process, whose event may be in the hands of a thread that is not there
        self._stopping.set()
        if thread is not threading.current_thread():
            thread.join(timeout=JOIN_SECONDS)

    def _run(self) -> None:
        try:
            from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError
        except (ImportError, OSError) as error:
            self._say(f"watchfiles cannot be loaded, so edits are noticed at the next start: {error}")
            return
        while not (self._is_closed or self._stopping.wait(self._pause)):
            try:
                self._watch(RustNotify)
            except HomeMissingError as error:
                self._say(error.message)
                return
            except (OSError, UnicodeError, WatchfilesRustInternalError) as error:
                self._compare(f"{error}; edits are noticed within a minute")

    def _compare(self, why: str) -> None:
        """Look over the home, where the system does not tell of changes: most allow a user 128 watchers in all."""
        pause = self._pause
        self._attend(None)
        self._pause = pause
        self._fail(why)

    def _watch(self, notify: type[RustNotify]) -> None:
        """Watch the present folders; returns when there are others, or when watching is to end."""
        folders = frozenset(self._folders())
        with notify(sorted(folders), False, False, POLL_MS, IS_RECURSIVE, True) as changes:
            paths: set[str] | None = None
            while True:
                self._attend(paths)
                if paths is None and folders != frozenset(self._folders()):
                    return
                roots = self._roots()
                seconds = self._pause or (0 if all(roots.values()) else LOOK_SECONDS)
                found = changes.watch(GATHER_MS, STEP_MS, int(seconds * 1000), self._stopping)
                if found in ("stop", "signal") or roots != self._roots():
                    return
                if isinstance(found, str):
                    paths = None if self._pause else set()
                else:
                    paths = self._files({path for _, path in found}, folders)

    def _folders(self) -> list[str]:
        """Return the folders to watch, without links, git's folder and our own."""
        found = [self._root]
        for top in () if IS_RECURSIVE else TOPS:
            start = os.path.join(self._root, top)
            for folder, inner, _ in () if os.path.islink(start) else os.walk(start, onerror=_unless_expected):
                inner[:] = [name for name in inner if not is_junk(name) and not _SURROGATES.search(name)]
                found.append(folder)
        for root in (root for root, is_there in self._roots().items() if is_there):
            found += [root] if IS_RECURSIVE else folders_below(root)
        return found

    def _roots(self) -> dict[str, bool]:
        """Return the watched folders of notes, each with whether it exists.

        Nothing reports that a folder comes back, so missing ones are polled.
        """
        roots = dict.fromkeys(root for index in self._indexes() for root in index.notes.roots())
        return {root: os.path.isdir(root) for root in roots}

    def _files(self, paths: Iterable[str], folders: Collection[str]) -> set[str] | None:
        """Return the home's files among these; None if there are folders among them, or very many."""
        paths = list(paths)
        notes = [path for path in paths if self._mark_notes(path)]
        if any(path in folders or os.path.isdir(path) for path in notes):
            return None
        changed = {name: path for path in paths if _is_of_home(name := self._relative(path))}
        if len(changed) > MANY or any(path in folders or os.path.isdir(path) for path in changed.values()):
            return None
        return set(changed)

    def _mark_notes(self, path: str) -> bool:
        """Mark notes for a new survey if one of them, or a folder of them, has changed."""
        marked = [index for index in self._indexes() if index.notes.root_of(path)]
        for index in marked:
            index.notes.mark_behind()
        return bool(marked)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._root).replace(os.sep, "/")

    def _attend(self, paths: set[str] | None) -> None:
        """Have changes of these files recorded, of any files if None; what stands in the way is tried again later."""
        try:
            if paths is None or self._pause:
                self._vault.home.check_present()
                paths = None
            self._take(paths)
        except HomeMissingError as error:
            self._vault.home.check_present()  # ends watching; a home that was only emptied may be filled again
            self._fail(error.message)
        except (MemfolioError, OSError) as error:
            self._fail(str(error))
        else:
            self.trouble, self._pause = None, 0.0

    def _take(self, paths: set[str] | None) -> None:
        for index in self._indexes():
            if paths is None:
                index.notes.mark_behind()
            if index.is_open and index.notes.is_behind:
                index.catch_up()
        vault = self._vault
        if vault.trouble is not None:  # nothing can be recorded here: the files are compared at the next question
            for index in self._indexes() if paths is None or paths else ():
                index.mark_behind()
            return
        # Our own writes are in the journal, and mostly other processes' too: they are told without taking the lock.
        altered = self._altered(vault.suspects() if paths is None else paths)
        if altered and vault.refresh():
            altered = self._altered(altered)
        if altered:
            self._record(altered)

    def _altered(self, paths: Iterable[str]) -> list[str]:
        """Those that are not as they were last left."""
        states = ((path, self._vault.files.get(path)) for path in sorted(paths))
        return [path for path, known in states if (known.stamp if known else None) != self._stamp(path)]

    def _stamp(self, path: str) -> Stamp | None:
        try:
            return self._vault.stamp(path)
        except OSError:
            return None  # what stands in its way is said by the survey

    def _record(self, paths: list[str]) -> None:
        if len(paths) > MANY or not all(map(self._is_edited, paths)):
            self._vault.survey()
            return
        try:
            self._vault.reconcile(paths)
        except (DiskError, FileNotHereError):
            self._vault.survey()  # which notes what is wrong with one file and takes the others

    def _is_edited(self, path: str) -> bool:
        """Whether the file was there before and still is: the rest is a matter of the whole home."""
        stamp = self._stamp(path)
        return self._vault.files.get(path) is not None and stamp is not None and stamp.size <= MAX_TRACKED_BYTES

    def _fail(self, why: str) -> None:
        self._pause = min(self._pause * 2, LAST_PAUSE) or FIRST_PAUSE
        self._say(why)

    def _say(self, why: str) -> None:
        if why != self._logged:
            logger.warning("watching %s: %s", self._root, why)
        self.trouble = self._logged = why


class Beginnings:
    """Starts the watchers of a process, each after `DELAY`, so that who opens a home does not wait for its thread."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._due = deque[tuple[float, Watcher]]()
        self._is_running = False

    def add(self, watcher: Watcher) -> None:
        with self._lock:
            self._due.append((time.monotonic() + DELAY, watcher))
            if not self._is_running:
                threading.Thread(target=self._run, name="memfolio-begin", daemon=True).start()
                self._is_running = True

    def _run(self) -> None:
        while watcher := self._next():
            watcher.begin()

    def _next(self) -> Watcher | None:
        """Wait for the next one; None when there is none, and the thread ends."""
        with self._lock:
            if not self._due:
                self._is_running = False
                return None
            due, watcher = self._due.popleft()
        time.sleep(max(0.0, due - time.monotonic()))
        return watcher


_beginnings = Beginnings()


def _unless_expected(error: OSError) -> None:
    """Let a folder be that vanished or is locked away; but a lack of handles must not look like a lack of folders."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        raise error


def _is_of_home(path: str) -> bool:
    """Whether a change here may concern a tracked file, or a folder that holds some."""
    first, *rest = path.split("/")
    return path in (".", CONFIG, GITIGNORE) or (first in TOPS and not any(map(is_junk, rest)))
