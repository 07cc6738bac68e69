"""The one seam to the disk: every open, write, fsync, rename and unlink of a home passes here.

`Disk` has two layers. The primitives (`open` to `mkdir`) are single system calls; tests override them to fail,
tear, drop or stop any of them. The rest is built on the primitives and says what is durable when it returns.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from memfolio.errors import DiskError, FileNotHereError, HomeReadOnlyError

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_COMMON = _CLOEXEC | _NOFOLLOW | _BINARY
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


T = TypeVar("T")


class Stamp(NamedTuple):
    """What tells two states of a file apart without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Disk:
    """The real disk."""

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | _COMMON, 0o644)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two files in one step; False where the platform or file system cannot."""
        return _exchange(os.fsencode(one), os.fsencode(other))

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        os.mkdir(path)

    def read(self, path: Path, start: int = 0) -> bytes | None:
        """The file's bytes from `start` on, None when it is absent; links, pipes and devices are never opened."""
        try:
            fd = self.open(path, os.O_RDONLY | _NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise FileNotHereError(f"{path} is not a regular file", hint="move it out of the home")
            os.lseek(fd, start, os.SEEK_SET)
            with os.fdopen(os.dup(fd), "rb") as file:
                return file.read()
        finally:
            self.close(fd)

    def stamp(self, path: Path) -> Stamp | None:
        """The stamp of a regular file, None when there is none."""
        try:
            info = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _stamp(info) if stat.S_ISREG(info.st_mode) else None

    def stamp_of(self, fd: int) -> Stamp:
        return _stamp(os.fstat(fd))

    def open_append(self, path: Path) -> tuple[int, bool]:
        """A handle that appends, and whether the file is new; its folder is made when missing."""
        flags = os.O_WRONLY | os.O_APPEND
        try:
            return self.open(path, flags), False
        except FileNotFoundError:
            self.make_dirs(path.parent)
            return self.open(path, flags | os.O_CREAT), True

    def write_all(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.write(fd, view) :]

    def append(self, path: Path, data: bytes, *, sync: bool) -> Stamp:
        """Append `data`; when it fails, the file is cut back to what it was."""
        fd, new = self.open_append(path)
        try:
            return self.append_to(fd, path, data, new=new, sync=sync)
        finally:
            self.close(fd)

    def append_to(self, fd: int, path: Path, data: bytes, *, new: bool, sync: bool) -> Stamp:
        """`append` on an open handle. With `sync`, the bytes and the name of a new file survive power loss."""
        before = self.stamp_of(fd).size
        try:
            self.write_all(fd, data)
            if sync:
                self.fsync(fd)
        except OSError:
            self._cut_back(fd, before)
            raise
        if sync and new:
            self.sync_dir(path.parent)
        return self.stamp_of(fd)

    def _cut_back(self, fd: int, size: int) -> None:
        # Best effort: what stays behind was never acknowledged and is recognised as torn later.
        with suppress(OSError):
            self.truncate(fd, size)
            self.fsync(fd)

    def stage(self, target: Path, data: bytes) -> tuple[Path, Stamp]:
        """A durable temporary file beside `target`, ready to be renamed onto it."""
        self.make_dirs(target.parent)
        temporary = _beside(target)
        fd = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            self.write_all(fd, data)
            self.fsync(fd)
            return temporary, self.stamp_of(fd)
        except OSError:
            self.discard(temporary)
            raise
        finally:
            self.close(fd)

    def put(self, path: Path, data: bytes) -> Stamp | None:
        """Replace or create the whole file, durably, whatever was there."""
        temporary, staged = self.stage(path, data)
        self._settle_stage(temporary, lambda: self.rename(temporary, path))
        self.sync_dir(path.parent)
        return self._stamp_if_same(path, staged)

    def swap(self, path: Path, data: bytes) -> tuple[Path | None, Stamp | None]:
        """Replace the file in one step; returns where it lies that was displaced, so that a late edit is not lost."""
        temporary, staged = self.stage(path, data)
        aside: Path | None = temporary
        if self.stamp(path) is None or not self._settle_stage(temporary, lambda: self.exchange(temporary, path)):
            displaced = self.read(path)
            aside = None if displaced is None else self.stage(path, displaced)[0]
            self._settle_stage(temporary, lambda: self.rename(temporary, path))
        self.sync_dir(path.parent)
        return aside, self._stamp_if_same(path, staged)

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
        """What a crash left beside the file: what was to replace it, or what was displaced by that."""
        pattern = re.compile(re.escape(_beside(path, "#").name).replace(r"\#", "[0-9a-f]{12}"))
        return [path.parent / name for name in self.names(path.parent) if pattern.fullmatch(name)]

    def _settle_stage(self, temporary: Path, step: Callable[[], T]) -> T:
        try:
            return step()
        except OSError:
            self.discard(temporary)
            raise

    def _stamp_if_same(self, path: Path, staged: Stamp) -> Stamp | None:
        """The stamp of what we put there; None when somebody replaced it already, so that it is read again."""
        stamp = self.stamp(path)
        return (
            stamp
            if stamp and (stamp.inode, stamp.size, stamp.mtime_ns) == (staged.inode, staged.size, staged.mtime_ns)
            else None
        )

    def cut(self, path: Path, size: int) -> None:
        """Shorten the file to `size` bytes, durably."""
        fd = self.open(path, os.O_WRONLY)
        try:
            self.truncate(fd, size)
            self.fsync(fd)
        finally:
            self.close(fd)

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

    def sync_file(self, path: Path) -> None:
        """Make everything written to the file so far durable."""
        fd = self.open(path, os.O_WRONLY)
        try:
            self.fsync(fd)
        finally:
            self.close(fd)

    def sync_dir(self, path: Path) -> None:
        """Make names created in or removed from the folder durable; Windows does this by itself."""
        if sys.platform == "win32":
            return
        fd = self.open(path, os.O_RDONLY)
        try:
            self.fsync(fd)
        finally:
            self.close(fd)

    def make_dirs(self, path: Path) -> None:
        """Create the folder and its missing parents, each durably entered into its own parent."""
        if path.is_dir():
            return
        self.make_dirs(path.parent)
        try:
            self.mkdir(path)
        except FileExistsError:
            return
        self.sync_dir(path.parent)

    def names(self, path: Path) -> list[str]:
        """The names in a folder, sorted; none when it is absent."""
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []


def _beside(path: Path, mark: str = "") -> Path:
    """A hidden name in the same folder."""
    return path.parent / f".{path.name[:80]}.{mark or uuid4().hex[:12]}.tmp"


def _stamp(info: os.stat_result) -> Stamp:
    return Stamp(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _exchange(one: bytes, other: bytes) -> bool:
    if sys.platform == "linux":
        call = getattr(_libc(), "renameat2", None)
        arguments: tuple[Any, ...] = (_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
    elif sys.platform == "darwin":
        call = getattr(_libc(), "renamex_np", None)
        arguments = (one, other, _RENAME_SWAP)
    else:
        return False
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOENT):
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(one))


_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_HINTS = {
    errno.ENOSPC: "free some space and try again; nothing was written",
    errno.EDQUOT: "free some of your quota and try again; nothing was written",
    errno.EMFILE: "raise the limit of open files (ulimit -n) and try again",
    errno.ENFILE: "raise the limit of open files and try again",
    errno.EIO: "the disk reports an error: check it, then run `memfolio verify`",
    errno.ELOOP: "a link stands where a file should be: replace it by the file itself",
}


@contextmanager
def disk_errors(home: Path) -> Iterator[None]:
    """Turn what the operating system says into memfolio's own errors, once, with the cause kept."""
    try:
        yield
    except OSError as error:
        where = error.filename or home
        if error.errno in _READ_ONLY:
            raise HomeReadOnlyError(
                f"{where} cannot be written: {error.strerror}", hint=f"check who owns {home} and its mode"
            ) from error
        hint = _HINTS.get(error.errno or 0, "run `memfolio doctor`")
        raise DiskError(f"{where}: {error.strerror or error}", hint=hint) from error
