"""What was said and waits to be taken up: a file for each event, without secrets, which survives a loss of power."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from memfolio.clock import SystemClock
from memfolio.config import FILE_NAME, load_config
from memfolio.errors import MemfolioError
from memfolio.redact.redactor import Redactor
from memfolio.serve.hooks.door import END, FOLDER, INSIDE, KEPT, LOG, START
from memfolio.serve.hooks.event import HookEvent
from memfolio.serve.hooks.pause import disk_of, is_paused
from memfolio.settings import PERSONAL, Redaction
from memfolio.types import frozen
from memfolio.vault.disk import Disk, Stamp, full_error
from memfolio.vault.paths import Home

# Processes that outlive who starts them, and the host.


def run(args: Sequence[str], folder: str) -> None:
    """Have this Python run something in a folder, if it exists; nobody waits for it, and nobody hears it."""
    process = subprocess.Popen(
        [sys.executable, "-P", *args],  # -P: the folder in which a host works has no say in what is imported
        cwd=folder if os.path.isdir(folder) else os.sep,  # a home in a database has none
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),  # what that is called on Windows
    )
    process.returncode = 0  # or Python would complain that it still runs


# How the hooks of a home are doing, for a person: what waits, and what went wrong.

SHOWN = 3
MOST_LOGGED = 256 << 10


@frozen
class Health:
    """How many events wait to be taken up, and the last lines of the log, newest last, each with its time."""

    waiting: int = 0
    troubles: tuple[str, ...] = ()


def health(home: Path) -> Health:
    """How the hooks of a home are doing; all is well where it never had any."""
    disk, folder = Disk(), home / FOLDER
    lines = (disk.read(folder / LOG) or b"").decode("utf-8", "replace").splitlines()
    waiting = sum(not name.startswith(".") for name in disk.names(folder / KEPT))
    return Health(waiting=waiting, troubles=tuple(lines[-SHOWN:]))


def note(home: Path, trouble: str) -> None:
    """Write down what went wrong; a home that cannot be written has no place for it."""
    disk, path = disk_of(home), home / FOLDER / LOG
    line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {' '.join(trouble.split())[:500]}\n"
    with suppress(OSError):
        if (stamp := disk.stamp(path)) and stamp.size > MOST_LOGGED:
            disk.unlink(path)
        disk.append(path, line.encode("utf-8", "replace"), sync=False)


MARGIN = 4096
"""Characters beside the longest memory that are looked at, since a secret that is cut is not known for one."""
_NAME = re.compile(r"[0-9]{20}-[0-9]+")


def keep(home: Path, name: str, event: HookEvent | None) -> str:
    """Keep an event under this name, once, if there is anything to remember in it; returns when it is safe.

    Where the disk has no room for it, nor for a note of that, it returns what the person must be told.
    """
    if event is None:
        note(home, "what the host said makes no sense")
        return ""
    if not event.is_heard or (event.act == START and event.tokens < 0):
        return ""
    if event.act not in (START, END) and is_paused(home, event.folder):
        return ""
    disk = disk_of(home)
    try:
        redactor, most = _rules(home, disk.stamp(home / FILE_NAME))
        if redactor.secret_in(f"{event.session}\n{event.turn}"):
            note(home, "the name of the conversation or turn looks like a secret")
            return ""
        words = redactor.clean(event.words[: most + MARGIN])
        kept = replace(event, words=words if len(event.words) <= most + MARGIN else words[:-MARGIN])
        disk.create(home / FOLDER / KEPT / name, json.dumps(asdict(kept)).encode())
    except OSError as error:
        full = full_error(home, error)
        note(home, f"what was said could not be kept: {full.message if full else error.strerror}")
        return f"{full.message}; {full.hint}" if full else ""
    return ""


@lru_cache(maxsize=1)
def _rules(home: Path, _settings: Stamp | None) -> tuple[Redactor, int]:
    """What is taken out of texts, and how many characters one may have; with broken settings, all there is."""
    disk = disk_of(home)
    try:
        config = load_config(home)
        place = Home(home, config, SystemClock(), disk)
    except MemfolioError:
        return Redactor(Redaction(personal=PERSONAL)), 1 << 20
    place.load()
    return Redactor(config.redact, place.hash if place.is_initialized() else None), config.max_content_bytes


def is_elsewhere(home: Path, event: HookEvent) -> bool:
    """Whether an event is for the home of the project in whose folder the host works, whose own hook tells it."""
    from memfolio.serve.install.hosts import HOSTS, home_of_project

    other = home_of_project(HOSTS[event.host], Path(event.folder)) if event.folder else None
    return other is not None and (other / INSIDE).is_dir() and not os.path.samefile(other, home)


def waiting(home: Path) -> list[str]:
    """The names of what waits, in the order in which it was said."""
    return [name for name in disk_of(home).names(home / FOLDER / KEPT) if _NAME.fullmatch(name)]


def sweep(home: Path) -> None:
    """Throw away what was left half written by who was killed; who asked a killed process keeps it anew."""
    disk, folder, before = disk_of(home), home / FOLDER / KEPT, f".{time.time_ns() - 60 * 10**9:020d}"
    for name in disk.names(folder):
        if name.startswith(".0") and name < before:
            disk.discard(folder / name)


def read_kept(home: Path, name: str) -> HookEvent | None:
    """What is kept under a name; None where it is broken, or of another version."""
    try:
        return HookEvent(**json.loads(disk_of(home).read(home / FOLDER / KEPT / name) or b""))
    except (ValueError, TypeError):
        return None


def drop(home: Path, name: str) -> None:
    """Keep it no longer."""
    disk_of(home).remove(home / FOLDER / KEPT / name)
