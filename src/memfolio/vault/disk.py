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

    def rename_new(self, source: Path, target: Path) -> bool:
        """Rename unless the target exists; False when it does."""
        return _rename_new(source, target)

    def link(self, source: Path, target: Path) -> None:
        os.link(source, target)

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
            mode = os.fstat(fd).st_mode
            if stat.S_ISDIR(mode):
                return None
            if not stat.S_ISREG(mode):
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

    def write_all(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.write(fd, view) :]

    def append(self, path: Path, data: bytes, *, sync: bool) -> Stamp:
        """Append `data`, to a new file if there is none; when it fails, the file is cut back to what it was."""
        try:
            fd = self.open(path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            return self.create(path, data) or self.append(path, data, sync=sync)
        with self.closing(fd):
            return self.append_to(fd, data, sync=sync)

    def append_if(self, path: Path, data: bytes, expected: Stamp | None) -> Stamp | None:
        """Append durably to a file that is as `expected` says (None: that is not there); None when it is not so."""
        stamp = self._append_known(path, data, expected) if expected else self.create(path, data)
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
        before = self.stamp_of(fd).size
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

    @contextmanager
    def closing(self, fd: int) -> Iterator[None]:
        """Close the handle in the end; that this may fail says nothing about what was written and synced before."""
        try:
            yield
        finally:
            with suppress(OSError):
                self.close(fd)

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
        with self.closing(fd):
            try:
                self.write_all(fd, data)
                self.fsync(fd)
                return temporary, self.stamp_of(fd)
            except OSError:
                self.discard(temporary)
                raise

    def create(self, path: Path, data: bytes) -> Stamp | None:
        """A new file that appears whole and durably, so that no crash leaves half of it; None when somebody has one."""
        temporary, staged = self.stage(path, data)
        if not self._settle_stage(temporary, lambda: self.rename_new(temporary, path)):
            self.discard(temporary)
            return None
        try:
            self.sync_dir(path.parent)
        except OSError:
            self.discard(path)
            raise
        return self._stamp_if_same(path, staged) or staged

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

    def sweep(self, path: Path) -> None:
        """Throw away what is left beside a file, durably as far as the disk lets us."""
        leftovers = self.leftovers(path)
        for each in leftovers:
            self.discard(each)
        if leftovers:
            with suppress(OSError):
                self.sync_dir(path.parent)

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
        with self.closing(fd):
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

    def sync_file(self, path: Path) -> None:
        """Make everything written to the file so far durable."""
        fd = self.open(path, os.O_WRONLY)
        with self.closing(fd):
            self.fsync(fd)

    def sync_dir(self, path: Path) -> None:
        """Make names created in or removed from the folder durable; Windows does this by itself."""
        if sys.platform == "win32":
            return
        fd = self.open(path, os.O_RDONLY)
        with self.closing(fd):
            self.fsync(fd)

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
    return _special_rename(one, other, linux=2, darwin=2) is None


def _rename_new(source: Path, target: Path) -> bool:
    code = _special_rename(os.fsencode(source), os.fsencode(target), linux=1, darwin=4)
    if code == errno.ENOENT or (code in _CANNOT and not os.path.lexists(target)):
        os.rename(source, target)
        return True
    return code is None


_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def _special_rename(one: bytes, other: bytes, *, linux: int, darwin: int) -> int | None:
    """Rename with a flag that `os` does not know: RENAME_EXCHANGE or RENAME_NOREPLACE, RENAME_SWAP or RENAME_EXCL.

    None when it is done, else why it is not; raises what is neither for lack of support nor of a file.
    """
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
