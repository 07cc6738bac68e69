"""Having a home tended by the system: what is installed for it, how that is done, taken back and looked at.

A service is a value made of files and commands. Nothing in it runs all the time: the system's own scheduler starts
`memfolio tend` every half hour.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten

from memfolio.errors import ConflictError, InputError, MemfolioError, NotFoundError
from memfolio.serve import units
from memfolio.types import frozen
from memfolio.vault.disk import Disk, disk_errors

PATIENCE = 60.0
"""Seconds within which a tool of the system must answer."""

PLATFORMS = ("systemd", "launchd", "windows", "cron")
_OWN = {"win32": ("windows",), "darwin": ("launchd",)}


@dataclass(frozen=True, slots=True)
class SystemCommand:
    """A command of the system, with what it reads; one that `may_fail` only puts away what may not be there."""

    command: tuple[str, ...]
    stdin: str = ""
    instead: str = ""
    """What a person does in its place, where that is something else."""
    may_fail: bool = False

    def __str__(self) -> str:
        return subprocess.list2cmdline(self.command) if sys.platform == "win32" else shlex.join(self.command)


Ended = subprocess.CompletedProcess[str]


@frozen
class Schedule:
    """What makes a system run a command regularly, and what ends that."""

    platform: str
    name: str
    files: Mapping[Path, bytes] = field(default_factory=dict)
    line: str = ""
    """What stands in the table of cron."""
    is_in_table: bool = False
    start: tuple[SystemCommand, ...] = ()
    stop: tuple[SystemCommand, ...] = ()
    after: tuple[SystemCommand, ...] = ()
    """What follows when the files are gone."""
    look: SystemCommand | None = None
    """Succeeds while the system runs it."""


@frozen
class ServiceState:
    """How a service stands: which of its files and lines are there, as they should be, and whether it runs."""

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


def own_platforms() -> tuple[str, ...]:
    """The schedulers that this system may have, the better one first."""
    return _OWN.get(sys.platform, ("systemd", "cron"))


def usual_platform() -> str:
    """The scheduler to use when nobody names one: cron only where systemd does not serve this user."""
    first, *rest = own_platforms()
    serves = not rest or _succeeds(SystemCommand(("systemctl", "--user", "show-environment")))
    return first if serves else rest[0]


def service_of(platform: str, home: Path, command: Sequence[str], *, is_plan: bool = False) -> Schedule:
    """The service that runs `command` for `home`; a plan of one may be made where there is no such scheduler."""
    name = service_name(home)
    makers = {"systemd": _systemd, "launchd": _launchd, "windows": _windows}
    if platform in makers:
        return makers[platform](name, command)
    if platform == "cron":
        table = _read_table()
        if table is None and not is_plan:
            hint = f"have this run by other means: {shlex.join(command)}"
            raise NotFoundError("there is no crontab on this machine", hint=hint)
        return cron_service(name, units.cron_line(name, command), table or "")
    raise InputError(f"there is no platform {platform!r}", hint=f"known are {', '.join(PLATFORMS)}")


def _systemd(name: str, command: Sequence[str]) -> Schedule:
    folder, timer = _configuration() / "systemd" / "user", f"{name}.timer"
    told = ("systemctl", "--user")
    reload = SystemCommand((*told, "daemon-reload"))
    return Schedule(
        platform="systemd",
        name=name,
        files={
            folder / f"{name}.service": units.systemd_service(name, command).encode(),
            folder / timer: units.systemd_timer(name).encode(),
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
        files={path: units.launchd_agent(name, command)},
        start=(stop, SystemCommand(("launchctl", "bootstrap", domain, str(path)))),
        stop=(stop,),
        look=SystemCommand(("launchctl", "print", f"{domain}/{name}")),
    )


def _windows(name: str, command: Sequence[str]) -> Schedule:
    path = Path.home() / "AppData" / "Local" / "memfolio" / f"{name}.xml"
    return Schedule(
        platform="windows",
        name=name,
        files={path: units.windows_task(command)},
        start=(SystemCommand(("schtasks", "/Create", "/TN", name, "/XML", str(path), "/F")),),
        stop=(SystemCommand(("schtasks", "/Delete", "/TN", name, "/F")),),
        look=SystemCommand(("schtasks", "/Query", "/TN", name)),
    )


def cron_service(name: str, line: str, table: str) -> Schedule:
    """The service of a user whose table of cron is `table`: all of its other lines stay as they are."""
    lines = table.splitlines(keepends=True)
    others = "".join(each for each in lines if not each.rstrip("\n").endswith(f" # {name}"))
    whole = f"{others}\n" if others and not others.endswith("\n") else others
    edit = "crontab -e, and there "
    add = SystemCommand(("crontab", "-"), stdin=f"{whole}{line}\n", instead=f"{edit}add the line {line}")
    delete = f"{edit}delete the line that ends with # {name}"
    # Systems differ in what they make of an empty table; putting it away means the same to all of them.
    less = SystemCommand(("crontab", "-") if others else ("crontab", "-r"), stdin=others, instead=delete)
    return Schedule(
        platform="cron",
        name=name,
        line=line,
        is_in_table=others != table,
        start=() if f"{line}\n" in lines else (add,),
        stop=() if others == table else (less,),
    )


def _read_table() -> str | None:
    """The user's table of cron, None without cron; nobody may take one that cannot be read for an empty one."""
    said = _run(SystemCommand(("crontab", "-l")))
    if said is None:
        return None
    if said.returncode and not re.search("no crontab|no such file", said.stderr, re.IGNORECASE):
        raise MemfolioError(f"`crontab -l` {_reason(said)}", hint="ask who looks after this machine")
    return "" if said.returncode else said.stdout


def install(service: Schedule) -> dict[Path, bool]:
    """Write the files and have the system take them up; says of each file whether it had to be written.

    Raises ConflictError, and changes nothing, where somebody else's file has the name of ours.
    """
    disk, written = Disk(), {}
    with disk_errors(Path.home()):
        old = {path: disk.read(path) for path in service.files}
        for path, data in old.items():
            _check_ours(path, data)
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
        failed = _failures(service.stop) if ours or service.is_in_table else []
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
    is_installed = any(map(is_ours, there.values())) or service.is_in_table
    is_current = is_installed and (there == dict(service.files) if service.files else not service.start)
    is_active = is_installed and (service.look is None or _succeeds(service.look))
    return ServiceState(is_installed=is_installed, is_current=is_current, is_active=is_active)


def is_ours(data: bytes | None) -> bool:
    """Whether a file is one that was installed by memfolio."""
    return data is not None and (units.MARK.encode() in data or units.MARK.encode("utf-16-le") in data)


def _check_ours(path: Path, data: bytes | None) -> None:
    if data is not None and not is_ours(data):
        raise ConflictError(f"{path} is not from memfolio", hint="move it away, then install again")


def _check_done(service: Schedule, done: str, failures: Sequence[tuple[SystemCommand, str]]) -> None:
    if failures:
        first, reason = failures[0]
        what = f"the files of {service.name} are {done}" if service.files else "the table of cron is as it was"
        by_hand = "; ".join(step.instead or str(step) for step, _ in failures)
        raise MemfolioError(f"{what}, but `{first}` {reason}", hint=f"to be done by hand: {by_hand}")


def _failures(steps: Sequence[SystemCommand]) -> list[tuple[SystemCommand, str]]:
    """Run commands; returns those that failed and why."""
    said = [(step, _run(step)) for step in steps]
    return [(step, _reason(each)) for step, each in said if not step.may_fail and (each is None or each.returncode)]


def _reason(said: Ended | None) -> str:
    if said is None:
        return "is not there, or does not answer"
    words = shorten(said.stderr or said.stdout, 300)
    return f"says: {words}" if words else f"ended with {said.returncode}"


def _succeeds(step: SystemCommand) -> bool:
    said = _run(step)
    return said is not None and said.returncode == 0


def _run(step: SystemCommand) -> Ended | None:
    """Run a command; None where there is no such command, or it does not answer."""
    # Such that a table of cron in another encoding, or with other line ends, comes back as it was.
    data = step.stdin.encode("utf-8", "surrogateescape")
    try:
        ended = subprocess.run(step.command, input=data, capture_output=True, timeout=PATIENCE, check=False)
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        return None
    out, err = (text.decode("utf-8", "surrogateescape") for text in (ended.stdout, ended.stderr))
    return Ended(step.command, ended.returncode, out, err)
