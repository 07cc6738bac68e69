"""Having a home tended by the system: what is installed for it, how that is done, taken back and looked at.

A service is a value made of files and commands. Nothing in it runs all the time: the system's own scheduler starts
`memfolio tend` every half hour.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from xml.sax.saxutils import escape

from memfolio.errors import ConflictError, InputError, MemfolioError, NotFoundError, PathError
from memfolio.serve import text_of
from memfolio.types import frozen
from memfolio.vault.disk import Disk, disk_errors

PATIENCE = 60.0
"""Seconds within which a tool of the system must answer."""

MINUTES = 30
MARK = "Written by memfolio service install; memfolio service uninstall takes it away."
"""What tells our files from others of the same name."""

_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
PLATFORMS = ("systemd", "launchd", "windows")
_OWN = {"win32": "windows", "darwin": "launchd"}


@dataclass(frozen=True, slots=True)
class SystemCommand:
    """A command of the system; one that `may_fail` only puts away what may not be there."""

    command: tuple[str, ...]
    instead: str = ""
    """What a person does in its place, where that is something else."""
    may_fail: bool = False

    def __str__(self) -> str:
        return subprocess.list2cmdline(self.command) if sys.platform == "win32" else shlex.join(self.command)


@frozen
class Schedule:
    """What makes a system run a command regularly, and what ends that."""

    platform: str
    name: str
    files: Mapping[Path, bytes] = field(default_factory=dict)
    start: tuple[SystemCommand, ...] = ()
    stop: tuple[SystemCommand, ...] = ()
    after: tuple[SystemCommand, ...] = ()
    """What follows when the files are gone."""
    look: SystemCommand | None = None
    """Succeeds while the system runs it."""


@frozen
class ServiceState:
    """How a service stands: whether its files are there, as they should be, and whether it runs."""

    is_installed: bool
    is_current: bool
    is_active: bool


def service_name(home: Path) -> str:
    """A name that differs for every home, can be recognised, and needs no quotes anywhere."""
    real = os.path.realpath(home)
    readable = re.sub(r"[^a-z0-9]+", "-", Path(real).name.lower())[:32].strip("-") or "home"
    return f"memfolio-{readable}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:8]}"


def tend_command(home: Path) -> tuple[str, ...]:
    """What is run: the program that belongs to this Python, by its full path."""
    name = "memfolio.exe" if sys.platform == "win32" else "memfolio"
    places = [Path(sys.executable).parent / name, Path(sysconfig.get_path("scripts")) / name]
    program = next((place for place in places if place.is_file()), None)
    if program is None:
        raise NotFoundError(f"there is no {places[0]}", hint="install memfolio with pip, pipx or uv tool")
    return (str(program), "--home", str(home), "tend", "--all")


def own_platform() -> str:
    """The scheduler of this system."""
    return _OWN.get(sys.platform, "systemd")


def check_served(platform: str, command: Sequence[str]) -> None:
    """Refuse systemd where it does not serve this user, as in most containers."""
    if platform == "systemd" and _failure(SystemCommand(("systemctl", "--user", "show-environment"))):
        hint = f"have this run every half hour by other means, such as cron: {shlex.join(command)}"
        raise NotFoundError("systemd does not serve this user", hint=hint)


def service_of(platform: str, home: Path, command: Sequence[str]) -> Schedule:
    """The service that runs `command` for `home`."""
    makers = {"systemd": _systemd, "launchd": _launchd, "windows": _windows}
    if platform not in makers:
        raise InputError(f"there is no platform {platform!r}", hint=f"known are {', '.join(PLATFORMS)}")
    return makers[platform](service_name(home), command)


def _systemd(name: str, command: Sequence[str]) -> Schedule:
    folder, timer = _configuration() / "systemd" / "user", f"{name}.timer"
    told = ("systemctl", "--user")
    reload = SystemCommand((*told, "daemon-reload"))
    return Schedule(
        platform="systemd",
        name=name,
        files={
            folder / f"{name}.service": systemd_service(name, command).encode(),
            folder / timer: systemd_timer(name).encode(),
        },
        # Started anew rather than only enabled, so that a timer that runs already takes up what changed.
        start=(
            reload,
            SystemCommand((*told, "enable", timer)),
            SystemCommand((*told, "restart", timer)),
        ),
        stop=(SystemCommand((*told, "disable", "--now", timer), instead=shlex.join((*told, "stop", timer))),),
        after=(reload,),
        look=SystemCommand((*told, "is-active", "--quiet", timer)),
    )


def _configuration() -> Path:
    """The folder of this user's settings, as systemd itself says: the environment may have moved it."""
    said = _run(SystemCommand(("systemd-path", "user-configuration")))
    return Path(said.stdout.rstrip("\n")) if said and said.returncode == 0 else Path.home() / ".config"


def _launchd(name: str, command: Sequence[str]) -> Schedule:
    path = Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"
    domain = f"gui/{getattr(os, 'getuid', int)()}"  # Windows, where this can only be looked at, has no such number
    stop = SystemCommand(("launchctl", "bootout", f"{domain}/{name}"), may_fail=True)
    return Schedule(
        platform="launchd",
        name=name,
        files={path: launchd_agent(name, command)},
        start=(stop, SystemCommand(("launchctl", "bootstrap", domain, str(path)))),
        stop=(stop,),
        look=SystemCommand(("launchctl", "print", f"{domain}/{name}")),
    )


def _windows(name: str, command: Sequence[str]) -> Schedule:
    path = Path.home() / "AppData" / "Local" / "memfolio" / f"{name}.xml"
    return Schedule(
        platform="windows",
        name=name,
        files={path: windows_task(command)},
        start=(SystemCommand(("schtasks", "/Create", "/TN", name, "/XML", str(path), "/F")),),
        stop=(SystemCommand(("schtasks", "/Delete", "/TN", name, "/F")),),
        look=SystemCommand(("schtasks", "/Query", "/TN", name)),
    )


def install(service: Schedule) -> dict[Path, bool]:
    """Write the files and have the system take them up; says of each file whether it had to be written.

    Raises ConflictError, and changes nothing, where somebody else's file has the name of ours.
    """
    disk, written = Disk(), {}
    with disk_errors(Path.home()):
        # All are looked at before one is written, so that a conflict changes nothing.
        old = {path: disk.read(path) for path in service.files}
        for path, data in old.items():
            if data is not None and not is_ours(data):
                raise ConflictError(f"{path} is not from memfolio", hint="move it away, then install again")
        for path, data in service.files.items():
            if old[path] != data:
                disk.put(path, data)
            written[path] = old[path] != data
    _check_done(service, "written", _failures(service.start))
    return written


def uninstall(service: Schedule) -> list[Path]:
    """Have the system let go and delete the files; returns those that were there. Somebody else's files stay."""
    disk = Disk()
    with disk_errors(Path.home()):
        ours = [path for path in service.files if is_ours(disk.read(path))]
        # Stopped before its files go, since the system looks it up by them.
        failed = _failures(service.stop) if ours else []
        for path in ours:
            disk.remove(path)
    failed += _failures(service.after) if ours else []
    _check_done(service, "deleted", failed)
    return ours


def look(service: Schedule) -> ServiceState:
    """How the service stands; changes nothing."""
    disk = Disk()
    with disk_errors(Path.home()):
        there = {path: disk.read(path) for path in service.files}
    is_installed = any(map(is_ours, there.values()))
    is_current = is_installed and there == dict(service.files)
    is_active = is_installed and (service.look is None or not _failure(service.look))
    return ServiceState(is_installed=is_installed, is_current=is_current, is_active=is_active)


def is_ours(data: bytes | None) -> bool:
    """Whether a file is one that was installed by memfolio."""
    return data is not None and (MARK.encode() in data or MARK.encode("utf-16-le") in data)


def _check_done(service: Schedule, done: str, failures: Sequence[tuple[SystemCommand, str]]) -> None:
    if failures:
        first, reason = failures[0]
        by_hand = "; ".join(step.instead or str(step) for step, _ in failures)
        message = f"the files of {service.name} are {done}, but `{first}` {reason}"
        raise MemfolioError(message, hint=f"to be done by hand: {by_hand}")


def _failures(steps: Sequence[SystemCommand]) -> list[tuple[SystemCommand, str]]:
    """Run commands; returns those that failed and why."""
    return [(step, why) for step in steps if (why := _failure(step)) and not step.may_fail]


def _failure(step: SystemCommand) -> str:
    """Run a command; why it failed, empty where it did not."""
    ended = _run(step)
    if ended is None:
        return "is not there, or does not answer"
    words = shorten(ended.stderr or ended.stdout, 300)
    reason = f"says: {words}" if words else f"ended with {ended.returncode}"
    return reason if ended.returncode else ""


def _run(step: SystemCommand) -> subprocess.CompletedProcess[str] | None:
    """Run a command; None where there is no such command, or it does not answer."""
    try:
        return subprocess.run(
            step.command, capture_output=True, timeout=PATIENCE, check=False, text=True, errors="replace"
        )
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        return None


# What each scheduler wants to be told so that it runs a command every half hour.


def _filled(template: str, **values: str) -> str:
    return text_of(template).format(mark=MARK, minutes=MINUTES, **values) + "\n"


def systemd_service(name: str, command: Sequence[str]) -> str:
    """The unit that runs the command once."""
    if set(command[0]) & set("'\"\\"):
        raise PathError(f"systemd does not run {command[0]}", hint="install memfolio in a folder without quotes")
    program, *arguments = map(_systemd_word, _writable(command))
    # A dollar begins a variable in every word but the first, which systemd takes as it is.
    line = " ".join([program, *(word.replace("$", "$$") for word in arguments)])
    return _filled("systemd.service", name=name, command=line)


def systemd_timer(name: str) -> str:
    """The unit that starts the other one of the same name, also for what was missed while the machine was off."""
    return _filled("systemd.timer", name=name)


def launchd_agent(name: str, command: Sequence[str]) -> bytes:
    """The property list of an agent; what was missed while the machine slept is run once when it wakes up."""
    agent = {
        "Label": name,
        "ProgramArguments": _writable(command),
        "StartInterval": MINUTES * 60,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
    }
    # plistlib writes no comments, and the mark must not be a key that launchd would read.
    head, plist, rest = plistlib.dumps(agent, sort_keys=False).partition(b"<plist")
    return head + f"<!-- {MARK} -->\n".encode() + plist + rest


def windows_task(command: Sequence[str]) -> bytes:
    """The description of a scheduled task, in the encoding that `schtasks` reads."""
    program, *arguments = _writable(command)
    line = escape(subprocess.list2cmdline(arguments))
    return _filled("windows-task.xml", program=escape(program), arguments=line).encode("utf-16")


def _systemd_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _writable(command: Sequence[str]) -> list[str]:
    """The words of a command, none of which has a character that some format has no way to write."""
    for word in command:
        if _UNWRITABLE.search(word):
            raise PathError(f"{word!r} has characters that no scheduler reads", hint="rename the folder")
    return list(command)
