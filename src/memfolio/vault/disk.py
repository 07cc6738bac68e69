"""The one seam to the disk: every open, write, fsync, rename and unlink of a home passes here.

`Disk` has two layers. The primitives (`open` to `mkdir`) are single system calls; tests override them to fail,
tear, drop or stop any of them. The rest is built on the primitives and says what is durable when it returns. Behind it
stands `FileLock`, which keeps processes and threads apart.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar
from uuid import uuid4
from weakref import WeakSet

from memfolio.errors import DiskError, DiskFullError, FileNotHereError, HomeBusyError, HomeReadOnlyError

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_COMMON = _CLOEXEC | _NOFOLLOW | _BINARY
_AT_FDCWD = -100


T = TypeVar("T")


class Stamp(NamedTuple):
    """Distinguishes two states of a file without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> Stamp:
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


class Disk:
    """The real disk."""

    root: Path | None = None
    """The home's folder: nothing below it is reached through a linked folder, except in `.git`."""
    private: Path | None = None
    """The folder whose files only their owner may read."""
    _ways: set[str] | None = None
    """Folders to which the way need not be looked at again; None when it is always looked at."""

    def open(self, path: Path, flags: int) -> int:
        self._check_way(path)
        more, mode = _manner(str(path), str(self.root), str(self.private))
        return os.open(path, flags | more, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        self._check_way(target)
        os.replace(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two files in one step; False where one is missing, or the platform or file system cannot."""
        self._check_way(other)
        return _special_rename(one, other, linux=2, darwin=2) is None

    def rename_new(self, source: Path, target: Path) -> bool:
        """Rename unless the target exists; False when it does."""
        self._check_way(target)
        code = _special_rename(source, target, linux=1, darwin=4)
        if code == errno.ENOENT or (code in _CANNOT and not os.path.lexists(target)):
            os.rename(source, target)
            return True
        return code is None

    def link(self, source: Path, target: Path) -> None:
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        self._check_way(path)
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        self._check_way(path)
        # What a home holds is its owner's: it is closed to others by its own folder, so that its files need not be.
        is_private = path == self.root or _is_below(str(path), str(self.private))
        os.mkdir(path, 0o700 if is_private else 0o777)

    @contextmanager
    def trusting(self) -> Iterator[None]:
        """Look at the way to a folder once while this lasts, and not at every step: as long as one change takes."""
        outer, self._ways = self._ways, set() if self._ways is None else self._ways
        try:
            yield
        finally:
            self._ways = outer

    def _check_way(self, path: Path) -> None:
        """Raise ELOOP if a folder between the home and `path` is a link: what is behind it is not part of the home."""
        self._check_folder(os.path.dirname(path))

    def _check_folder(self, folder: str) -> None:
        ways = self._ways
        if ways is not None and folder in ways:
            return
        for each in _way(str(self.root), folder) if self.root else ():
            if ways is not None and each in ways:
                continue
            try:
                mode = os.lstat(each).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return
            if stat.S_ISLNK(mode):
                raise OSError(errno.ELOOP, "is a link, which is not followed", each)
            if ways is not None:
                ways.add(each)

    def read(self, path: Path, start: int = 0) -> bytes | None:
        """The file's bytes from `start` on, None when it is absent; links, pipes and devices are never opened."""
        try:
            fd = self.open(path, os.O_RDONLY | _NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            info = os.fstat(fd)
            if stat.S_ISDIR(info.st_mode):
                return None
            if not stat.S_ISREG(info.st_mode):
                raise FileNotHereError(f"{path} is not a regular file", hint="move it out of the home")
            os.lseek(fd, start, os.SEEK_SET)
            parts = []
            while part := os.read(fd, max(info.st_size - start, 0) + 1):  # until the end, wherever that is by then
                parts.append(part)
            return b"".join(parts)
        finally:
            self.close(fd)

    def stamp(self, path: Path) -> Stamp | None:
        """Return the stamp of a regular file, or None if there is none."""
        try:
            info = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._check_way(path)  # behind a link, not even that something is missing is for us to say
            return None
        return Stamp.of(info) if stat.S_ISREG(info.st_mode) else None

    def may_be_there(self, path: Path) -> bool:
        """Whether anything has this name, for who expects nothing: said for half of what a stamp costs."""
        return os.access(path, os.F_OK)

    def stamp_of(self, fd: int) -> Stamp:
        return Stamp.of(os.fstat(fd))

    def write_all(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.write(fd, view) :]

    def append(self, path: Path, data: bytes, *, sync: bool) -> Stamp:
        """Append `data`, creating the file if needed; on failure, the file is cut back to its previous size."""
        try:
            fd = self.open(path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            return self.create(path, data) or self.append(path, data, sync=sync)
        with self.closing(fd):
            return self.append_to(fd, data, sync=sync)

    def append_if(self, path: Path, data: bytes, expected: Stamp | None, *, sync: bool = True) -> Stamp | None:
        """Append durably to a file that is as `expected` says (None: that is not there); None when it is not so.

        Without `sync`, the caller syncs the folder of a file that was not there.
        """
        stamp = self._append_known(path, data, expected) if expected else self.create(path, data, sync=sync)
        # An editor may have put another file in this one's place: then our bytes went into an orphan.
        there = self.stamp(path)
        return stamp if stamp and there and there.inode == stamp.inode else None

    def _append_known(self, path: Path, data: bytes, expected: Stamp) -> Stamp | None:
        try:
            fd = self.open(path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            return None
        with self.closing(fd):
            return self.append_to(fd, data, sync=True) if self.stamp_of(fd) == expected else None

    def append_to(self, fd: int, data: bytes, *, sync: bool) -> Stamp:
        """`append` on an open handle; with `sync`, the bytes survive power loss."""
        before = os.fstat(fd).st_size
        try:
            self.write_all(fd, data)
            after = self.stamp_of(fd)  # before the sync, which takes long enough for somebody else to write
            if sync:
                self.fsync(fd)
        except OSError:
            self._cut_back(fd, before)
            raise
        # Somebody else may have written to the file too: then it is marked to be read again.
        return after if after.size == before + len(data) else after._replace(size=before + len(data), ctime_ns=0)

    def closing(self, fd: int) -> _Closing:
        """Close the handle at the end; a failing close says nothing about data that was written and synced."""
        return _Closing(self, fd)

    def _cut_back(self, fd: int, size: int) -> None:
        # Best effort: what stays behind was never acknowledged and is recognised as torn later.
        with suppress(OSError):
            self.truncate(fd, size)
            self.fsync(fd)

    def stage(self, target: Path, data: bytes) -> tuple[Path, Stamp]:
        """A durable temporary file beside `target`, ready to be renamed onto it."""
        self.make_dirs(target.parent)
        temporary = _beside(target)
        with self.closing(self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)) as fd:
            try:
                self._keep_mode(fd, target)
                self.write_all(fd, data)
                self.fsync(fd)
                return temporary, self.stamp_of(fd)
            except OSError:
                self.discard(temporary)
                raise

    @contextmanager
    def writing(self, target: Path) -> Iterator[BinaryIO]:
        """A file to write at length, which becomes `target` in one step and durably if all goes well."""
        self.make_dirs(target.parent)
        temporary = _beside(target)
        try:
            with os.fdopen(self.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL), "w+b") as file:
                yield file
                file.flush()
                self.fsync(file.fileno())
            self.rename(temporary, target)
        except BaseException:
            self.discard(temporary)
            raise
        self.sync_dir(target.parent)

    def _keep_mode(self, fd: int, target: Path) -> None:
        """Let a file's successor be read by the same people; some file systems have no modes to keep."""
        with suppress(OSError):
            info = os.lstat(target)
            if stat.S_ISREG(info.st_mode) and hasattr(os, "fchmod"):
                os.fchmod(fd, info.st_mode & 0o777)

    def create(self, path: Path, data: bytes, *, sync: bool = True) -> Stamp | None:
        """A new file that appears whole and durably, so that no crash leaves half of it; None when somebody has one.

        Without `sync`, the caller syncs the folder.
        """
        temporary, staged = self.stage(path, data)
        if not self._or_discard(temporary, lambda: self.rename_new(temporary, path)):
            self.discard(temporary)
            return None
        try:
            if sync:
                self.sync_dir(path.parent)
        except OSError:
            self.discard(path)
            raise
        return self._stamp_if_same(path, staged) or staged

    def put(self, path: Path, data: bytes) -> Stamp | None:
        """Replace or create the whole file, durably, whatever was there."""
        temporary, staged = self.stage(path, data)
        self._or_discard(temporary, lambda: self.rename(temporary, path))
        self.sync_dir(path.parent)
        return self._stamp_if_same(path, staged)

    def put_in_place(self, path: Path, data: bytes) -> None:
        """Write a new file durably in place, at half the cost of `put`: a crash may leave a part of it.

        The name of its folder is durable already, unless the folder is missing.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            fd = self.open(path, flags)
        except FileNotFoundError:
            self.make_dirs(path.parent)
            fd = self.open(path, flags)
        with self.closing(fd):
            self.write_all(fd, data)
            self.fsync(fd)
        self.sync_dir(path.parent)

    def swap(self, path: Path, data: bytes, *, sync: bool = True) -> tuple[Path | None, Stamp | None]:
        """Replace the file in one step; returns the path of the displaced file, so that a late edit is not lost.

        Without `sync`, the caller syncs the folder.
        """
        temporary, staged = self.stage(path, data)
        aside = self._or_discard(temporary, lambda: self._trade(temporary, path))
        if sync:
            self.sync_dir(path.parent)
        return aside, self._stamp_if_same(path, staged)

    def _trade(self, temporary: Path, path: Path) -> Path | None:
        """Put the temporary file in place; returns the path of the file that was there, if any."""
        for _ in range(2):  # somebody may make or delete it between one step and the next
            if self.stamp(path) and self.exchange(temporary, path):
                return temporary
            if self.rename_new(temporary, path):
                return None
        displaced = self.read(path)
        aside = None if displaced is None else self.stage(path, displaced)[0]
        self.rename(temporary, path)
        return aside

    def take(self, path: Path) -> Path | None:
        """Move the file aside in one step; returns where to, None when there is none."""
        aside = _beside(path)
        try:
            self.rename(path, aside)
        except FileNotFoundError:
            return None
        self.sync_dir(path.parent)
        return aside

    def leftovers(self, path: Path) -> list[Path]:
        """Return what a crash left beside the file: its intended replacement, or the file that was displaced."""
        pattern = re.compile(re.escape(_beside(path, "#").name).replace(r"\#", "[0-9a-f]{12}"))
        return [path.parent / name for name in self.names(path.parent) if pattern.fullmatch(name)]

    def sweep(self, path: Path) -> None:
        """Delete leftovers beside a file, durably if the disk allows it."""
        leftovers = self.leftovers(path)
        for each in leftovers:
            self.discard(each)
        if leftovers:
            with suppress(OSError):
                self.sync_dir(path.parent)

    def _or_discard(self, temporary: Path, step: Callable[[], T]) -> T:
        try:
            return step()
        except OSError:
            self.discard(temporary)
            raise

    def _stamp_if_same(self, path: Path, staged: Stamp) -> Stamp | None:
        """Return the stamp of the file that we put there; None if somebody replaced it, so that it is read again."""
        stamp = self.stamp(path)
        return (
            stamp
            if stamp and (stamp.inode, stamp.size, stamp.mtime_ns) == (staged.inode, staged.size, staged.mtime_ns)
            else None
        )

    def cut(self, path: Path, size: int) -> None:
        """Shorten the file to `size` bytes, durably."""
        with self.closing(self.open(path, os.O_WRONLY)) as fd:
            self.truncate(fd, size)
            self.fsync(fd)

    def remove(self, path: Path) -> None:
        """Delete the file if it is there, durably."""
        try:
            self.unlink(path)
        except FileNotFoundError:
            return
        self.sync_dir(path.parent)

    def discard(self, path: Path) -> None:
        """Delete a file that nobody will miss; failing is fine."""
        with suppress(OSError):
            self.unlink(path)

    def discard_folder(self, path: Path) -> None:
        """Delete a folder if nothing is in it; failing is fine."""
        with suppress(OSError):
            os.rmdir(path)

    def sync_file(self, path: Path) -> None:
        """Make everything written to the file durable."""
        with self.closing(self.open(path, os.O_WRONLY)) as fd:
            self.fsync(fd)

    def sync_dir(self, path: Path) -> None:
        """Make names created in or removed from the folder durable; Windows needs no call for that."""
        if sys.platform == "win32":
            return
        with self.closing(self.open(path, os.O_RDONLY)) as fd:
            self.fsync(fd)

    def make_dirs(self, path: Path) -> None:
        """Create the folder and its missing parents, each durably entered into its own parent."""
        if path.is_dir():
            # An empty one may be that of a process which died before its name was durable.
            if self._is_empty_part(path):
                with suppress(PermissionError):  # of what the home is in
                    self.sync_dir(path.parent)
            return
        self.make_dirs(path.parent)
        with suppress(FileExistsError):
            self.mkdir(path)
        self.sync_dir(path.parent)

    def _is_empty_part(self, path: Path) -> bool:
        if self.root is None or not _is_below(str(path), str(self.root)):
            return False
        with os.scandir(path) as found:
            return next(found, None) is None

    def names(self, path: Path) -> list[str]:
        """The names in a folder, sorted; none when it is absent."""
        self._check_folder(str(path))
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []


class _Closing:
    """The result of `Disk.closing`; a class instead of a generator, since every append uses it."""

    __slots__ = ("disk", "fd")

    def __init__(self, disk: Disk, fd: int) -> None:
        self.disk = disk
        self.fd = fd

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.disk.close(self.fd)


def _is_below(path: str, folder: str) -> bool:
    return f"{path}{os.sep}".startswith(f"{folder}{os.sep}")


@lru_cache(maxsize=1024)
def _manner(path: str, root: str, private: str) -> tuple[int, int]:
    """The flags and the mode to open a file with: links lead to a home but not inside it; some files are private."""
    flags = _COMMON & ~_NOFOLLOW if _is_below(root, path) else _COMMON
    return flags, 0o600 if _is_below(path, private) else 0o666


@lru_cache(maxsize=1024)
def _way(root: str, folder: str) -> tuple[str, ...]:
    """The folders from the home to one in it, outermost first; none for git's own and folders elsewhere."""
    if not folder.startswith(root + os.sep) or folder[len(root) + 1 :].split(os.sep)[0] == ".git":
        return ()
    return (*_way(root, os.path.dirname(folder)), folder)


def _beside(path: Path, mark: str = "") -> Path:
    """A hidden name in the same folder."""
    return path.parent / f".{path.name[:80]}.{mark or uuid4().hex[:12]}.tmp"


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def _special_rename(source: Path, target: Path, *, linux: int, darwin: int) -> int | None:
    """Rename with a flag that `os` does not know: RENAME_EXCHANGE or RENAME_NOREPLACE, RENAME_SWAP or RENAME_EXCL.

    None when it is done, else why it is not; raises what is neither for lack of support nor of a file.
    """
    one, other = os.fsencode(source), os.fsencode(target)
    if sys.platform == "linux":
        call = getattr(_libc(), "renameat2", None)
        arguments: tuple[Any, ...] = (_AT_FDCWD, one, _AT_FDCWD, other, linux)
    elif sys.platform == "darwin":
        call = getattr(_libc(), "renamex_np", None)
        arguments = (one, other, darwin)
    else:
        return errno.ENOSYS
    if call is None:
        return errno.ENOSYS
    if call(*arguments) == 0:
        return None
    code = ctypes.get_errno()
    if code in _CANNOT or code in (errno.ENOENT, errno.EEXIST):
        return code
    raise OSError(code, os.strerror(code), str(source))


_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "your quota of the disk is used up"}
_HINTS = {
    errno.EMFILE: "raise the limit of open files (ulimit -n) and try again",
    errno.ENFILE: "raise the limit of open files and try again",
    errno.EIO: "the disk reports an error: check it, then run `memfolio verify`",
    errno.ELOOP: "a link stands where a file or folder should be: put the file or folder itself there",
}


def full_error(home: Path, error: Exception) -> DiskFullError | None:
    """Return a DiskFullError if an error means that the disk is full, else None. Libraries raise it in several ways."""
    where = (error.filename if isinstance(error, OSError) else None) or home
    for code, what in _FULL.items():
        if (error.errno == code) if isinstance(error, OSError) else os.strerror(code) in str(error):
            hint = "free some space there and try again; nothing was written"
            return DiskFullError(f"{what}: {where}", hint=hint)
    return None


@contextmanager
def disk_errors(home: Path) -> Iterator[None]:
    """Translate errors of the operating system to memfolio's own, once, keeping the cause."""
    try:
        yield
    except OSError as error:
        where = error.filename or home
        if error.errno in _READ_ONLY:
            raise HomeReadOnlyError(
                f"{where} cannot be written: {error.strerror}", hint=f"check who owns {home} and its mode"
            ) from error
        if full := full_error(home, error):
            raise full from error
        hint = _HINTS.get(error.errno or 0, "run `memfolio doctor`")
        kind = FileNotHereError if error.errno == errno.ELOOP else DiskError
        raise kind(f"{where}: {error.strerror or error}", hint=hint) from error


# Locks between processes and threads that a killed holder cannot leave behind.

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
        """Hold the lock if it is free; yields whether it is held."""
        with ExitStack() as held:
            is_free = self._depth == 0
            if is_free:
                try:
                    held.enter_context(self(0))
                except HomeBusyError:
                    is_free = False
            yield is_free

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

    def reset_after_fork(self) -> None:
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


def _reset_after_fork() -> None:
    # An exit stack calls all of them even if one raises: the locks after it would stay held for ever.
    with ExitStack() as stack:
        for lock in list(_LOCKS):
            stack.callback(lock.reset_after_fork)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
