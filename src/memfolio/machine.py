"""What this machine says about itself: its time zone, its identity and where its user keeps things."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

Environ = Mapping[str, str]

_ID_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")


def expand(path: str | Path, environ: Environ) -> Path:
    """`path` made absolute, with a leading `~` replaced by the user's folder."""
    if not os.fspath(path).startswith("~"):
        return Path(os.path.abspath(path))
    first, *rest = Path(path).parts
    return Path(os.path.abspath(user_folder(environ).joinpath(*rest) if first == "~" else path))


def user_folder(environ: Environ) -> Path:
    """The folder that `~` stands for."""
    named = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(named) if named else Path.home()


def default_home(environ: Environ) -> Path:
    """The home to use when nobody names one: `MEMFOLIO_HOME`, else `~/memfolio`."""
    return expand(environ.get("MEMFOLIO_HOME") or "~/memfolio", environ)


def user_cache(environ: Environ) -> Path:
    """The folder in which this user's rebuildable files of memfolio live."""
    user = user_folder(environ)
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or user / "AppData" / "Local") / "memfolio" / "cache"
    if sys.platform == "darwin":
        return user / "Library" / "Caches" / "memfolio"
    return Path(environ.get("XDG_CACHE_HOME") or user / ".cache") / "memfolio"


def user_data(environ: Environ) -> Path:
    """The folder in which this user's lasting files of memfolio live that are no home."""
    user = user_folder(environ)
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or user / "AppData" / "Local") / "memfolio"
    return Path(environ.get("XDG_DATA_HOME") or user / ".local" / "share") / "memfolio"


@cache
def machine_id() -> str:
    """A name for this machine that stays the same over restarts: a digest of its id, else its host name."""
    for path in _ID_FILES:
        if text := _read(path):
            return hashlib.sha256(b"memfolio " + text.encode()).hexdigest()[:12]
    return host_name()


def host_name() -> str:
    """What the machine is called in its network."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in socket.gethostname()) or "unknown"


def find_zone(name: str) -> ZoneInfo | None:
    """The zone of an IANA name, or None where there is no such zone."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def local_zone(environ: Environ) -> ZoneInfo:
    """The machine's zone: `TZ`, then where /etc/localtime points, then /etc/timezone, else UTC."""
    zones = (find_zone(name) for name in _zone_names(environ) if name)
    return next((zone for zone in zones if zone), None) or ZoneInfo("UTC")


def _zone_names(environ: Environ) -> Iterator[str]:
    yield environ.get("TZ", "").removeprefix(":")
    yield os.path.realpath(_LOCALTIME).partition("zoneinfo/")[2]
    yield _read(_TIMEZONE)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation; pipx and uv note in its folder that it is theirs."""
    place, what = Path(sys.prefix), f"'memfolio[{extra}]'"
    if (place / "pipx_metadata.json").exists():
        return f"pipx runpip {place.name} install {what}"
    if (place / "uv-receipt.toml").exists():
        return f"uv pip install --python {sys.executable} {what}"
    return f"pip install {what}"
