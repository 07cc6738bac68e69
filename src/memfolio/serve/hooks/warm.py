"""The process that keeps a home open, so that a prompt need not wait for that; and what happens without one."""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from memfolio import __version__
from memfolio.serve.hooks.desk import Desk, warned
from memfolio.serve.hooks.door import (
    EMPTY,
    FOLDER,
    INSIDE,
    LOOPBACK,
    MOST_BYTES,
    SOCKET,
    START,
    STOP,
    ask,
    is_private,
    text_of,
)
from memfolio.serve.hooks.event import HookEvent, read_parcel
from memfolio.serve.hooks.kept import is_elsewhere, keep, note, run, sweep
from memfolio.serve.hooks.pause import disk_of
from memfolio.text import estimate_tokens
from memfolio.vault.disk import FileLock

# What a hook does where no warm process answers: it keeps what was said, answers by itself, and starts one.


def answer_cold(home: Path, parcel: bytes, seconds: float) -> bytes:
    """Keep an event, and answer it within so many seconds; empty where that is too soon."""
    logging.disable()  # a host may take what is said beside the answer for a failure
    answer = EMPTY
    try:
        _, name, event = read_parcel(parcel)
        if event and is_elsewhere(home, event):
            return EMPTY
        trouble = keep(home, name, event)
        if event is None:
            return EMPTY
        if event.can_be_told:
            answer, told = answer_here(home, event, seconds)
            if tokens := estimate_tokens(text_of(json.loads(answer))):
                # For those who answer what comes next: behind the prompt itself, which is kept already.
                moment, _, process = name.partition("-")
                note_ = replace(event, act=START, words=told, tokens=tokens)
                trouble = keep(home, f"{int(moment) + 1:020d}-{process}", note_) or trouble
            answer = warned(answer, event, trouble)
        run(["-m", "memfolio.serve.hooks.warm", str(home)], str(home))
    except Exception as error:  # noqa: BLE001 - the outer edge: whatever it is, the host must not suffer
        note(home, f"{type(error).__name__}: {error}")
    return answer


def answer_here(home: Path, event: HookEvent, seconds: float) -> tuple[bytes, str]:
    """The answer of this very process, and the ids of what it tells; nothing where it takes too long."""
    found = [(EMPTY, "")]

    def answer() -> None:
        desk = Desk(home)
        desk.recollect()
        found[0] = desk.answer(event), " ".join(desk.told(event.session))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(max(0, seconds))
    return found[0]


# The warm process: has a home open, so that a prompt need not wait for that.
#
# There is one for each home. It ends by itself when no host has come for a while, when it is told to, when another
# version speaks to it, and when the home is gone.

IDLE, TALKING = 20 * 60.0, 12 * 60 * 60.0
"""Seconds after which nobody needs it; while a conversation is not over, its next prompt may take long to come."""
LOOK = 2.0
"""Every how many seconds it looks whether it is still wanted."""
AGAIN = 30.0
"""After how many seconds what had to wait is tried again."""
SLOW = 2.0
"""Seconds that a hook may take to say what it has to say."""


class Warm:
    """One such process: the socket it listens at, what must be said first there, and the desk that answers."""

    def __init__(self, home: Path, listener: socket.socket, token: bytes = b"") -> None:
        self._home, self._listener, self._token, self._desk = home, listener, token, Desk(home)
        self._work, self._over = threading.Event(), threading.Event()
        self._last = time.monotonic()

    def run(self, idle: float) -> None:
        """Answer until nobody needs it."""
        taker = threading.Thread(target=self._take_up)
        taker.start()
        threading.Thread(target=self._listen, daemon=True).start()
        place = self._home / FOLDER / SOCKET
        while place.exists() and not self._is_idle(idle) and not self._over.wait(min(LOOK, idle)):
            pass
        disk_of(self._home).discard(place)
        self._over.set()
        self._work.set()
        taker.join()
        self._desk.note_told()
        self._desk.close()

    def _is_idle(self, idle: float) -> bool:
        return time.monotonic() - self._last > (TALKING if self._desk.is_in_conversation else idle)

    def _listen(self) -> None:
        try:
            while True:
                connection, _ = self._listener.accept()
                self._last = time.monotonic()
                threading.Thread(target=self._hear, args=(connection,), daemon=True).start()
        finally:
            self._over.set()  # who cannot listen must not be asked

    def _hear(self, connection: socket.socket) -> None:
        connection.settimeout(SLOW)
        try:
            with connection, connection.makefile("rb") as file:
                if self._token and not hmac.compare_digest(file.readline(200).strip(), self._token):
                    return
                if parcel := file.read(MOST_BYTES + 4096):
                    self._serve(connection, parcel)
        except OSError:
            pass  # who asked does not wait any more
        except Exception as error:  # noqa: BLE001 - the outer edge: whatever is wrong with this one, the next is answered
            note(self._home, f"{type(error).__name__}: {error}")
        self._work.set()  # when the host is served: taking up what it said takes longer

    def _serve(self, connection: socket.socket, parcel: bytes) -> None:
        version, name, event = read_parcel(parcel)
        if version == __version__ and name != STOP:
            connection.sendall(self._answer(name, event))
        else:
            self._over.set()
            connection.detach()  # the end of the process ends it, so that who asked knows when that is

    def _answer(self, name: str, event: HookEvent | None) -> bytes:
        if event and is_elsewhere(self._home, event):
            return EMPTY
        with ThreadPoolExecutor(1) as pool:  # the disk is slow enough to find the answer meanwhile
            keeping = pool.submit(keep, self._home, name, event)
            answer = self._desk.answer(event) if event else EMPTY
            return warned(answer, event, keeping.result())

    def _take_up(self) -> None:
        while not self._over.is_set():
            self._work.clear()
            self._desk.take_up()
            self._desk.embed(enough=lambda: self._work.is_set() or self._over.is_set())
            self._work.wait(AGAIN)


def main(home: Path, idle: float = IDLE) -> None:
    """Take up what was kept, and stay where a host can reach it."""
    folder, disk = home / FOLDER, disk_of(home)
    if not (home / INSIDE).is_dir():
        return  # the home is gone since
    disk.make_dirs(folder)
    with FileLock(folder / "lock", disk, timeout=0).if_free() as is_first:
        if not is_first:
            ask(str(home), b"", SLOW)  # the other may have looked before the last event was kept
            return
        disk.discard(folder / SOCKET)
        sweep(home)
        try:
            listener, token = _listening(home)
        except OSError as error:
            note(home, f"no process can be kept for the hooks: {error}")
            Desk(home).take_up()
            return
        Warm(home, listener, token).run(idle)


def _listening(home: Path) -> tuple[socket.socket, bytes]:
    """The socket at which hooks are answered, and the token that they must say first, if any."""
    if not is_private(str(home / FOLDER)):
        raise PermissionError(f"others can write to {home / FOLDER}")
    try:
        return _at_a_file(home / FOLDER), b""
    except (OSError, AttributeError):  # a system or a disk without such sockets
        disk_of(home).discard(home / FOLDER / SOCKET)
        return _at_a_port(home)


def _at_a_port(home: Path) -> tuple[socket.socket, bytes]:
    """A port of this machine alone; its number and a token stand in a file that only this user can read."""
    listener, token = socket.socket(socket.AF_INET, socket.SOCK_STREAM), secrets.token_hex(16)
    listener.bind((LOOPBACK, 0))
    listener.listen(64)
    disk_of(home).put(home / FOLDER / SOCKET, f"{listener.getsockname()[1]} {token}".encode())
    return listener, token.encode()


def _at_a_file(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(folder)  # the way to a socket may have no more than about 100 letters
    before = os.umask(0o077)
    listener.bind(SOCKET)
    os.umask(before)
    listener.listen(64)
    os.chdir(folder.anchor)
    return listener


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:3]))
