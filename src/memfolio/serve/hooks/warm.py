"""The warm process: has a home open, so that a prompt need not wait for that.

There is one for each home. It ends by itself when no host has come for a while, when it is told to, when another
version speaks to it, and when the home is gone.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

from memfolio import __version__
from memfolio.serve.hooks.desk import Desk
from memfolio.serve.hooks.door import EMPTY, FOLDER, INSIDE, MOST_BYTES, POKE, SOCKET, STOP
from memfolio.serve.hooks.event import read_parcel
from memfolio.vault.disk import Disk
from memfolio.vault.lock import FileLock

IDLE = 20 * 60.0
"""Seconds after which nobody needs it."""
LOOK = 2.0
"""Every how many seconds it looks whether it is still wanted."""
AGAIN = 30.0
"""After how many seconds what had to wait is tried again."""
SLOW = 2.0
"""Seconds that a hook may take to say what it has to say."""


class Warm:
    """One such process: the socket it listens at, and the desk that answers."""

    def __init__(self, home: Path, listener: socket.socket) -> None:
        self._place, self._listener, self._desk = home / FOLDER / SOCKET, listener, Desk(home)
        self._is_wanted, self._work = True, threading.Event()
        self._work.set()

    def serve(self, idle: float) -> None:
        """Answer until nobody needs it."""
        taker = threading.Thread(target=self._take_up, name="memfolio-hooks")
        taker.start()
        last, mine = time.monotonic(), _inode(self._place)
        self._listener.settimeout(min(LOOK, idle))
        while self._is_wanted and time.monotonic() - last < idle and _inode(self._place) == mine:
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            with connection:
                self._answer(connection)
            last = time.monotonic()
        self._listener.close()
        self._is_wanted = False
        self._work.set()
        taker.join()
        self._desk.close()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(SLOW)
        try:
            with connection.makefile("rb") as file:
                version, words, said = read_parcel(file.read(MOST_BYTES + 4096))
            self._is_wanted = version == __version__ and words != (STOP,)
            if self._is_wanted:
                connection.sendall(EMPTY if words == (POKE,) else self._desk.answer(words, said))
        except OSError:
            pass  # who asked does not wait any more
        except Exception as error:  # noqa: BLE001 - the outer edge: whatever is wrong with this one, the next is answered
            self._desk.note(f"{type(error).__name__}: {error}")
        self._work.set()

    def _take_up(self) -> None:
        while self._is_wanted:
            self._work.wait(AGAIN)
            self._work.clear()
            try:
                self._desk.take_up()
            except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, the next is taken up
                self._desk.note(f"{type(error).__name__}: {error}")


def _inode(place: Path) -> int:
    """What tells this socket from another in its place; differs each time where there is none."""
    try:
        return place.lstat().st_ino
    except OSError:
        return -time.monotonic_ns()


def main(home: Path, idle: float = IDLE) -> None:
    """Take up what was kept, and stay where a host can reach it."""
    folder, disk = home / FOLDER, Disk()
    disk.root, disk.private = home, home / INSIDE
    if not (home / INSIDE).is_dir():
        return  # the home is gone since
    disk.make_dirs(folder)
    with FileLock(folder / "lock", disk, timeout=0).if_free() as is_first:
        if not is_first:
            return
        disk.discard(folder / SOCKET)
        try:
            listener = _listening(folder)
        except (OSError, AttributeError):  # a system or a disk without such sockets
            Desk(home).take_up()
            raise
        Warm(home, listener).serve(idle)
        disk.discard(folder / SOCKET)


def _listening(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(folder)  # the way to a socket may have no more than about 100 letters
    listener.bind(SOCKET)
    listener.listen(64)
    os.chdir(folder.anchor)
    return listener


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:3]))
