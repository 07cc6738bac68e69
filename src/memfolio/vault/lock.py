"""Locks between processes and threads that a killed holder cannot leave behind."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from memfolio.errors import HomeBusyError
from memfolio.vault.disk import Disk

if sys.platform == "win32":
    import msvcrt

    def _try(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


class FileLock:
    """One lock file; exclusive between threads and processes, released by the system when its holder dies.

    The handle stays open between uses, so taking a free lock costs one system call. A forked process begins without
    the lock, whoever held it in its parent, and `when_forked` is called in it.
    """

    def __init__(
        self, path: Path, disk: Disk, *, timeout: float, when_forked: Callable[[], None] = lambda: None
    ) -> None:
        self.path = path
        self.timeout = timeout
        self._disk = disk
        self._when_forked = when_forked
        self._threads = threading.RLock()
        self._depth = 0
        self._fd: int | None = None
        _LOCKS.add(self)

    @contextmanager
    def __call__(self, patience: float | None = None) -> Iterator[None]:
        """Hold the lock; raises HomeBusyError when it is not to be had within `timeout` seconds, or `patience`."""
        threads, timeout = self._threads, self.timeout if patience is None else min(patience, self.timeout)
        if not threads.acquire(timeout=timeout):
            raise self._busy(timeout)
        try:
            if self._depth == 0:
                self._acquire(timeout)
            self._depth += 1
            try:
                yield
            finally:
                self._leave()
        finally:
            threads.release()

    @contextmanager
    def if_free(self) -> Iterator[bool]:
        """Hold the lock if nobody else does; yields whether it is held."""
        threads = self._threads
        if not threads.acquire(blocking=False):
            yield False
            return
        try:
            if self._depth > 0 or not self._take():
                yield False
                return
            self._depth += 1
            try:
                yield True
            finally:
                self._leave()
        finally:
            threads.release()

    def _leave(self) -> None:
        if self._depth == 0:
            return  # forked while it was held: it is the parent's
        self._depth -= 1
        if self._depth == 0:
            _release(self._handle())

    def close(self) -> None:
        with self._threads:
            if self._fd is not None:
                self._disk.close(self._fd)
            self._fd = None

    def begin_anew(self) -> None:
        """Let go, in a forked process, of what is its parent's: its threads do not run here, its handle is shared.

        Closing a shared handle releases nothing, but keeping it would hold the lock when the parent has died.
        """
        self._threads = threading.RLock()
        self._depth = 0
        if self._fd is not None:
            with suppress(OSError):
                self._disk.close(self._fd)
        self._fd = None
        self._when_forked()

    def _handle(self) -> int:
        if self._fd is None:
            self._fd = self._disk.open(self.path, os.O_RDWR | os.O_CREAT)
        return self._fd

    def _acquire(self, timeout: float) -> None:
        began = time.monotonic()
        pause = 0.0001
        while not self._take():
            waited = time.monotonic() - began
            if waited > timeout:
                raise self._busy(timeout)
            time.sleep(pause * random.uniform(0.5, 1.5))
            # Whoever has waited longest asks most often, or newcomers could keep taking the lock from under it.
            pause = min(pause * 1.3, 0.002) if waited < 0.05 else 0.0002

    def _take(self) -> bool:
        fd = self._handle()
        if not _try(fd):
            return False
        stamp = self._disk.stamp(self.path)
        if stamp is not None and stamp.inode == self._disk.stamp_of(fd).inode:
            return True
        # A sync program deleted or replaced the lock file; a lock on an orphan excludes nobody.
        self._disk.close(fd)
        self._fd = None
        return False

    def _busy(self, waited: float) -> HomeBusyError:
        return HomeBusyError(
            f"another process has been writing here for over {waited:g} s",
            hint=f"wait and try again; if no memfolio runs, see who holds {self.path}",
        )


_LOCKS: WeakSet[FileLock] = WeakSet()


def _begin_anew() -> None:
    for lock in list(_LOCKS):
        lock.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
