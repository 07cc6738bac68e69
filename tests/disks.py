"""Disks that fail, stop or remember.

Every disk here counts the single steps that pass through it (`Disk`'s primitives, from `open` to `mkdir`), so that
a test can do the same work again and again and have it go wrong at step 1, 2, 3 and so on:

    for k in count(1):
        disk = FailingDisk(k, errno.ENOSPC)
        work(disk)
        if not disk.reached:
            break
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from memfolio.vault.disk import Disk, Stamp

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One step: its name, the path or handle it was about, and what else it was given.

    `other` is the second path of a rename or exchange, `number` the flags of an open and the size of a truncate,
    `result` what an open returned.
    """

    name: str
    path: Path | None = None
    fd: int = -1
    other: Path | None = None
    number: int = 0
    data: bytes = b""
    result: int = -1


class QuickDisk(Disk):
    """A real disk that does not wait for the hardware: for tests that do not cut the power."""

    def fsync(self, fd: int) -> None:
        pass


class _SteppingDisk(QuickDisk):
    """Has every step pass `_step`."""

    def __init__(self) -> None:
        self.steps = 0

    def _step(self, call: Call, act: Callable[[], T]) -> T:
        raise NotImplementedError

    def open(self, path: Path, flags: int) -> int:
        return self._step(Call("open", path, number=flags), lambda: Disk.open(self, path, flags))

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return self._step(Call("write", fd=fd, data=bytes(data)), lambda: Disk.write(self, fd, data))

    def fsync(self, fd: int) -> None:
        self._step(Call("fsync", fd=fd), lambda: QuickDisk.fsync(self, fd))

    def truncate(self, fd: int, size: int) -> None:
        self._step(Call("truncate", fd=fd, number=size), lambda: Disk.truncate(self, fd, size))

    def close(self, fd: int) -> None:
        self._step(Call("close", fd=fd), lambda: Disk.close(self, fd))

    def rename(self, source: Path, target: Path) -> None:
        self._step(Call("rename", source, other=target), lambda: Disk.rename(self, source, target))

    def exchange(self, one: Path, other: Path) -> bool:
        return self._step(Call("exchange", one, other=other), lambda: Disk.exchange(self, one, other))

    def rename_new(self, source: Path, target: Path) -> bool:
        return self._step(Call("rename_new", source, other=target), lambda: Disk.rename_new(self, source, target))

    def link(self, source: Path, target: Path) -> None:
        self._step(Call("link", source, other=target), lambda: Disk.link(self, source, target))

    def unlink(self, path: Path) -> None:
        self._step(Call("unlink", path), lambda: Disk.unlink(self, path))

    def mkdir(self, path: Path) -> None:
        self._step(Call("mkdir", path), lambda: Disk.mkdir(self, path))


class FailingDisk(_SteppingDisk):
    """Step number `k` fails with `code`; with `forever`, so does every step after it, until `heal` is called."""

    def __init__(self, k: int, code: int = errno.EIO, *, forever: bool = False) -> None:
        super().__init__()
        self._k = k
        self._code = code
        self._forever = forever
        self._healed = False
        self.failed: Call | None = None
        """The first step that failed."""

    def __repr__(self) -> str:
        return f"FailingDisk({self._k}, {errno.errorcode[self._code]}, forever={self._forever}), {self.failed}"

    @property
    def reached(self) -> bool:
        """Whether any step has failed."""
        return self.failed is not None

    def heal(self) -> None:
        """Nothing fails from now on."""
        self._healed = True

    def _step(self, call: Call, act: Callable[[], T]) -> T:
        self.steps += 1
        if self._healed or (self.steps != self._k and not (self._forever and self.steps > self._k)):
            return act()
        self.failed = self.failed or call
        if call.name == "close":
            act()  # a close that reports an error has closed all the same
        raise OSError(self._code, os.strerror(self._code), call.path and str(call.path))


class Crash(BaseException):
    """The process is dead. Not an Exception, so that nothing mistakes it for an error it could handle."""


class CrashingDisk(_SteppingDisk):
    """The process dies at step number `k`: before it, or with `after`, behind it.

    `torn` is how many bytes a write in that step still brings to the file. Handles are closed and locks released
    as the system does for a dead process, and whatever the unwinding code tries after that changes nothing.
    """

    def __init__(self, k: int, *, after: bool = False, torn: int | None = None) -> None:
        super().__init__()
        self._k = k
        self._after = after
        self._torn = torn
        self._open: set[int] = set()
        self.last: Call | None = None
        """The step at which it happened; None while the process lives."""

    def __repr__(self) -> str:
        return f"CrashingDisk({self._k}, after={self._after}, torn={self._torn}), {self.last}"

    def _step(self, call: Call, act: Callable[[], T]) -> T:
        self._check_alive()
        self.steps += 1
        if self.steps == self._k:
            self._die(call, act)
        result = act()
        if call.name == "open" and isinstance(result, int):
            self._open.add(result)
        elif call.name == "close":
            self._open.discard(call.fd)
        return result

    def die_in(self, k: int) -> None:
        """Let the process die at the k-th step from here."""
        self._k = self.steps + k

    def _die(self, call: Call, act: Callable[[], object]) -> NoReturn:
        self.last = call
        with suppress(OSError):
            self._act_last(call, act)
        for fd in self._open:
            Disk.close(self, fd)
        raise Crash

    def _act_last(self, call: Call, act: Callable[[], object]) -> None:
        if call.name == "write" and self._torn is not None:
            Disk.write(self, call.fd, call.data[: self._torn])
        elif self._after:
            result = act()
            if call.name == "open" and isinstance(result, int):
                self._open.add(result)
            elif call.name == "close":
                self._open.discard(call.fd)

    def _check_alive(self) -> None:
        if self.last is not None:
            raise Crash

    def close(self, fd: int) -> None:
        """What a dead process had open, the system has closed; its number may be somebody else's by then."""
        if self.last is None:
            super().close(fd)

    def read(self, path: Path, start: int = 0) -> bytes | None:
        self._check_alive()
        return super().read(path, start)

    def stamp(self, path: Path) -> Stamp | None:
        self._check_alive()
        return super().stamp(path)

    def stamp_of(self, fd: int) -> Stamp:
        self._check_alive()
        return super().stamp_of(fd)


class InterruptedDisk(_SteppingDisk):
    """Just before step number `k`, `interrupt` is called: a person or another process does something."""

    def __init__(self, k: int, interrupt: Callable[[], None]) -> None:
        super().__init__()
        self._k = k
        self._interrupt = interrupt
        self.reached: Call | None = None
        """The step that was interrupted."""

    def __repr__(self) -> str:
        return f"InterruptedDisk({self._k}), {self.reached}"

    def _step(self, call: Call, act: Callable[[], T]) -> T:
        self.steps += 1
        if self.steps == self._k:
            self.reached = call
            self._interrupt()
        return act()


class RecordingDisk(_SteppingDisk):
    """Remembers every step that changed something, so that a power cut behind any of them can be acted out.

    Step number `k` fails, or the process dies of it: what `fault` raises.
    """

    def __init__(self, k: int = 0, fault: BaseException | None = None) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._k, self._fault = k, fault
        self.failed: Call | None = None
        """The step at which that happened."""

    def die(self) -> None:
        """Let the process be dead from here: whatever it still tries fails."""
        self._k, self._fault = self.steps + 1, Crash()

    def _step(self, call: Call, act: Callable[[], T]) -> T:
        self.steps += 1
        if self._fault and (self.steps == self._k or (self.failed and isinstance(self._fault, Crash))):
            self.failed = self.failed or call
            if call.name == "close":
                act()
            raise self._fault
        result = act()
        if call.name == "open" and isinstance(result, int):
            call = Call("open", call.path, number=call.number, result=result)
        elif call.name == "write" and isinstance(result, int):
            call = Call("write", fd=call.fd, data=call.data[:result])
        if call.name not in ("exchange", "rename_new") or result:
            self.calls.append(call)
        return result


class FullDisk(QuickDisk):
    """Has `room` for so many writes and new files, or for all of them; the rest can be read, renamed and removed."""

    def __init__(self, room: int | None = None) -> None:
        self.room = room
        self.refused = 0

    def open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT and not path.exists():
            self._need_room(path)
        return super().open(path, flags)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._need_room(None)
        return super().write(fd, data)

    def mkdir(self, path: Path) -> None:
        self._need_room(path)
        super().mkdir(path)

    def _need_room(self, path: Path | None) -> None:
        if self.room is not None:
            self.room -= 1
        if self.room is not None and self.room < 0:
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path and str(path))


def fill_up(folder: Path) -> Callable[[], None]:
    """Leave a file system without room for one more byte or file; returns what frees it again."""
    fillers = [folder / "filler"]
    with fillers[0].open("wb", buffering=0) as file:
        for size in (1 << 16, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    with suppress(OSError):
        while True:
            (another := folder / f"filler-{len(fillers)}").touch()
            fillers.append(another)

    def free() -> None:
        for each in fillers:
            each.unlink()

    return free


RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}
LONGEST = 259
"""Characters of a path that Windows takes from programs which do not ask for more."""


class WindowsDisk(QuickDisk):
    """A disk with the rules of Windows, as a program meets them that does nothing special about them.

    A file that is open cannot be replaced, renamed or removed; names are the same in capitals and small letters, and
    some are refused; paths are short; folders cannot be opened; a file that is locked cannot be read by others; there
    is no swapping of two files in one step.
    """

    def __init__(self) -> None:
        self.handles: dict[int, Path] = {}
        self.refused: list[tuple[str, Path]] = []

    def open(self, path: Path, flags: int) -> int:
        real = self._real(path)
        if real.is_dir():
            self._refuse("open a folder", real)
        fd = super().open(real, flags)
        self.handles[fd] = real
        return fd

    def close(self, fd: int) -> None:
        self.handles.pop(fd, None)
        super().close(fd)

    def read(self, path: Path, start: int = 0) -> bytes | None:
        real = self._real(path)
        if real.name.endswith("lock") and real in self.handles.values():
            self._refuse("read what is locked", real)
        return super().read(real, start)

    def stamp(self, path: Path) -> Stamp | None:
        return super().stamp(self._real(path))

    def rename(self, source: Path, target: Path) -> None:
        super().rename(self._closed(source), self._closed(target))

    def exchange(self, one: Path, other: Path) -> bool:
        return False

    def rename_new(self, source: Path, target: Path) -> bool:
        real = self._closed(target)
        if real.exists():
            return False
        os.rename(self._closed(source), real)
        return True

    def unlink(self, path: Path) -> None:
        super().unlink(self._closed(path))

    def mkdir(self, path: Path) -> None:
        super().mkdir(self._real(path))

    def sync_dir(self, path: Path) -> None:
        pass  # as the real one does there

    def _closed(self, path: Path) -> Path:
        real = self._real(path)
        if real in self.handles.values():
            self._refuse("replace or remove what is open", real)
        return real

    def _real(self, path: Path) -> Path:
        """The file that is meant, whose name may be written otherwise."""
        names = path.relative_to(self.root).parts if self.root and path.is_relative_to(self.root) else ()
        for name in names:
            if name.split(".")[0].lower() in RESERVED or set(name) & set('<>:"|?*\\') or name.endswith((".", " ")):
                self._refuse("use a name that Windows does not have", path)
        if len(str(path)) > LONGEST:
            self._refuse("use so long a path", path)
        real = self.root if names and self.root else path
        for name in names:
            there = os.listdir(real) if real.is_dir() else []
            real = real / next((each for each in there if each.lower() == name.lower()), name)
        return real

    def _refuse(self, deed: str, path: Path) -> NoReturn:
        self.refused.append((deed, path))
        raise PermissionError(errno.EACCES, deed, str(path))
