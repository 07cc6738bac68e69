"""A home: the layout of its folder, and the folder itself with its clock, its secret and its owner.

Paths are strings relative to the home with "/" between their parts, the same on every platform.
"""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from memfolio.clock import Clock
from memfolio.errors import AgentIdError, HomeMissingError, NotOwnerError, PathError
from memfolio.types import AGENT_PATTERN
from memfolio.vault.disk import Disk, Stamp

if TYPE_CHECKING:
    from memfolio.config import Config

SHARED = "shared"
AUDIT = "audit"
CONFIG = "memfolio.toml"
INTERNAL = ".memfolio"
GITIGNORE = ".gitignore"

_ROOT = r"(?P<root>agents/[^/]+|shared)"
_ARCHIVE = rf"{_ROOT}/memory/archive/\d{{4}}-\d\d"
_DAY = r"(?P<day>\d{4}-\d\d-\d\d)"
_LOG = re.compile(rf"(?P<base>{_ROOT}/memory/{_DAY})(?:-(?P<part>[2-9]|[1-9]\d+))?\.md")
_ARCHIVED_LOG = re.compile(rf"{_ARCHIVE}/{_DAY}(?:-\d+)?\.md")
_PACKED_LOG = re.compile(rf"{_ARCHIVED_LOG.pattern}\.gz")
_PAGE = re.compile(rf"{_ROOT}/(?P<folder>sessions|memory/checkpoints)/(?P<name>[^/]+\.md)")
_ARCHIVED_PAGE = re.compile(rf"{_ARCHIVE}/(?P<folder>sessions|checkpoints)/(?P<name>[^/]+\.md)")
_STATE = re.compile(rf"{_ROOT}/memory/meta/state/\d{{4,}}\.jsonl")
_NUMBERED = re.compile(r"(?P<base>.+)/(?P<part>\d{4,})\.jsonl")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\\ud800-\udfff]')
_JUNK = re.compile(r"(?i)\..+|~\$.*|.*~|.*\.(tmp|swp|swx|part|crdownload|icloud)|thumbs\.db|desktop\.ini|4913")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MAX_TRACKED_BYTES = 16 * 1024 * 1024


class Form(StrEnum):
    """How a file is written: replaced as a page, or appended to as a log or as JSON lines."""

    PAGE = "page"
    LOG = "log"
    LINES = "lines"


class Sensitivity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    STANDARD = "standard"


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger's name: its files are its parts, numbered from 1."""

    base: str
    form: Form

    def part(self, number: int) -> str:
        if self.form is Form.LINES:
            return f"{self.base}/{number:04d}.jsonl"
        return f"{self.base}.md" if number == 1 else f"{self.base}-{number}.md"


def check_agent(agent: str) -> str:
    """`agent` if it is a valid id."""
    if not AGENT_PATTERN.fullmatch(agent):
        raise AgentIdError(
            f"{agent[:80]!r} is not an agent id",
            hint="use 1 to 64 of a-z, 0-9 and -, starting with a letter or digit",
        )
    return agent


@lru_cache(maxsize=1024)
def agent_root(agent: str) -> str:
    """The folder of an agent; `shared` is the agent that everybody reads."""
    check_agent(agent)
    return SHARED if agent == SHARED else f"agents/{agent}"


def agent_of(path: str) -> str | None:
    """Return the agent that a file belongs to, None if it belongs to the home."""
    parts = path.split("/")
    if parts[0] == SHARED:
        return SHARED
    # The shared folder has a place of its own: another one among the agents is nobody's.
    return parts[1] if parts[0] == "agents" and len(parts) > 2 and parts[1] != SHARED else None


def is_outside(path: str) -> bool:
    """Whether a path is that of a note outside of the home: those of the home's own files are relative to it."""
    return os.path.isabs(path)


def day_log(agent: str, day: date) -> Ledger:
    return Ledger(f"{agent_root(agent)}/memory/{day.isoformat()}", Form.LOG)


def title_line(day: date, part: int = 1) -> str:
    """The first line of a log, without its line end: `# 2026-11-15 · Sunday (2)`."""
    title = f"# {day.isoformat()} · {WEEKDAYS[day.weekday()]}"
    return title if part == 1 else f"{title} ({part})"


def archive_log(path: str) -> str:
    """Return the archive file for entries cut from the log at `path`."""
    log = PurePosixPath(path)
    return str(log.parent / "archive" / log.name[:7] / log.name)


def archive_page(path: str, month: str) -> str | None:
    """Return the archive path of a session page or checkpoint in the folder of a month; None for other pages."""
    match = _PAGE.fullmatch(path)
    if match is None:
        return None
    return f"{match['root']}/memory/archive/{month}/{match['folder'].rpartition('/')[2]}/{match['name']}"


def page_from_archive(path: str) -> str | None:
    """Return the original path of a page that was archived as a whole; None for other files."""
    match = _ARCHIVED_PAGE.fullmatch(path)
    if match is None:
        return None
    folder = "sessions" if match["folder"] == "sessions" else "memory/checkpoints"
    return f"{match['root']}/{folder}/{match['name']}"


def names_from(path: str) -> Iterator[str]:
    """The name of a page, and those to take in its place."""
    stem = path.removesuffix(".md")
    return (path if number == 1 else f"{stem}-{number}.md" for number in count(1))


def state_ledger(agent: str) -> Ledger:
    return Ledger(f"{agent_root(agent)}/memory/meta/state", Form.LINES)


def knowledge_ledger(agent: str, name: str) -> Ledger:
    """The facts, rules, cases or judgements of an agent."""
    return Ledger(f"{agent_root(agent)}/knowledge/{name}", Form.LINES)


def is_state(path: str) -> bool:
    """Whether a file is a part of an agent's state ledger."""
    return _STATE.fullmatch(path) is not None


def audit_ledger(month: str) -> Ledger:
    """The trail of one month, `2026-11`."""
    return Ledger(f"{AUDIT}/{month}", Form.LINES)


def form_of(path: str) -> Form:
    """How a file is written; a compressed log is only ever replaced as a whole."""
    if _LOG.fullmatch(path) or _ARCHIVED_LOG.fullmatch(path):
        return Form.LOG
    return Form.LINES if path.endswith(".jsonl") else Form.PAGE


def is_daily_log(path: str) -> bool:
    """Whether a file is a log of a day, and not an archived one."""
    return _LOG.fullmatch(path) is not None


def is_packed_log(path: str) -> bool:
    """Whether a file is an archived log that was compressed."""
    return _PACKED_LOG.fullmatch(path) is not None


def ledger_of(path: str) -> tuple[Ledger, int] | None:
    """The ledger a file is a part of, and which part."""
    if match := _LOG.fullmatch(path):
        return Ledger(match["base"], Form.LOG), int(match["part"] or 1)
    if match := _NUMBERED.fullmatch(path):
        return Ledger(match["base"], Form.LINES), int(match["part"])
    return None


def place_of(path: str) -> tuple[str, int]:
    """Return the ledger and part number of a file; any other file is returned as itself."""
    named = ledger_of(path)
    return (named[0].base, named[1]) if named else (path, 0)


def day_of(path: str) -> date | None:
    """The day a log is about; None for a name that is no real date."""
    match = _LOG.fullmatch(path) or _ARCHIVED_LOG.fullmatch(path) or _PACKED_LOG.fullmatch(path)
    if match is None:
        return None
    try:
        return date.fromisoformat(match["day"])
    except ValueError:
        return None


def days_beside(path: str) -> list[str]:
    """The logs of the day before and the day after that of the log at `path`; none for other files."""
    agent, day = agent_of(path), day_of(path) if _LOG.fullmatch(path) else None
    if agent is None or day is None or not date.min < day < date.max:
        return []
    return [day_log(agent, day + timedelta(days=step)).part(1) for step in (-1, 1)]


def sensitivity(path: str) -> Sensitivity:
    """How much an unexpected change of this file matters."""
    name = path.rpartition("/")[2]
    if path == CONFIG or name in ("SOUL.md", "IDENTITY.md", "agent.toml"):
        return Sensitivity.CRITICAL
    if name in ("USER.md", "TOOLS.md") or "/memory/vault/" in path:
        return Sensitivity.HIGH
    return Sensitivity.STANDARD


@lru_cache(maxsize=1024)
def check_path(path: str) -> str:
    """`path` in NFC if it is safe to write below the home on every platform."""
    path = unicodedata.normalize("NFC", path)
    for part in path.split("/"):
        if not part or part in (".", "..") or _FORBIDDEN.search(part) or _RESERVED.fullmatch(part):
            raise _bad_path(path)
        if part[-1] in " ." or len(part.encode("utf-8", "surrogatepass")) > 200:
            raise _bad_path(path)
    if not is_tracked(path):
        raise _bad_path(path)
    if path.startswith(f"{AUDIT}/") and path.casefold().endswith(".jsonl"):
        raise PathError(f"{path!r} is a part of the trail", hint="nobody writes it; every change gets its line there")
    return path


def is_tracked(path: str) -> bool:
    """Whether the vault keeps a history of this file: memory, configuration and trail, not editors' droppings."""
    if path in (CONFIG, GITIGNORE):
        return True
    parts = path.split("/")
    return len(parts) > 1 and parts[0] in ("agents", SHARED, AUDIT) and not any(map(is_junk, parts))


def is_junk(name: str) -> bool:
    """Temporary files of editors, systems and sync programs."""
    return _JUNK.fullmatch(name) is not None


def _bad_path(path: str) -> PathError:
    return PathError(
        f"{path[:120]!r} cannot be a file of a home",
        hint="use a relative path below agents/<agent>/ or shared/ with plain names",
    )


# The home itself, and the checks that it is still what it was.

KEY = "key"
OWNER = "owner"
UNSURVEYED = "unsurveyed"
PURGES = "purges"
"""Has a byte for each purge: anything derived from older files must not be used."""
MANY = 1000


def is_home(root: Path) -> bool:
    """Whether a folder is a home; a clone of one lacks its inside, which is made when it is opened."""
    if (root / INTERNAL).is_dir() or (root / CONFIG).is_file():
        return True
    return (root / "agents").is_dir() and (root / AUDIT).is_dir()


def agents_of(root: Path) -> list[str]:
    """Return the agents of a home: one for each folder, and the shared one if it exists."""
    folder = root / "agents"
    folders = [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    names = [each.name for each in folders if not each.is_symlink()]  # links are not followed anywhere in a home
    own = sorted(name for name in names if AGENT_PATTERN.fullmatch(name) and name != SHARED)
    return [*own, SHARED] if (root / SHARED).is_dir() else own


class Home:
    """One home as this process sees it."""

    def __init__(self, root: Path, config: Config, clock: Clock, disk: Disk) -> None:
        self.root = root
        self.config = config
        self.clock = clock
        self.disk = disk
        self.internal = root / INTERNAL
        self._owner = self.internal / OWNER
        disk.root, disk.private = root, self.internal
        self.zone: tzinfo = config.zone
        self._key = b""
        self._identity: tuple[int, int] | None = None
        self._checked: Stamp | None = None
        self._paths: dict[str, Path] = {}

    @property
    def has_new_key(self) -> bool:
        """Whether no survey was completed since the secret was made: in a clone, the trail's hashes have another."""
        return self.disk.stamp(self.internal / UNSURVEYED) is not None

    def note_surveyed(self) -> None:
        """Every file is known by a hash of this home's own."""
        if self.has_new_key:
            self.disk.remove(self.internal / UNSURVEYED)

    @property
    def purges(self) -> int:
        """How many purges there were."""
        stamp = self.disk.stamp(self.internal / PURGES)
        return stamp.size if stamp else 0

    def note_purged(self) -> None:
        self.disk.append(self.internal / PURGES, b".", sync=True)

    def is_initialized(self) -> bool:
        return self._read_key() is not None

    def prepare(self) -> None:
        """Create what is missing, the secret last; the caller holds the write lock."""
        # A folder that ignores itself needs nothing from the person's own .gitignore.
        if self.disk.stamp(self.internal / GITIGNORE) is None:
            self.disk.put(self.internal / GITIGNORE, b"*\n")
        if self.disk.stamp(self._owner) is None:
            self.claim()
        if not self.is_initialized():
            import secrets

            self.disk.put(self.internal / UNSURVEYED, b"")
            self.disk.put(self.internal / KEY, secrets.token_hex(16).encode())

    def load(self) -> bool:
        """Read the secret and remember which folder this is; False where there is no secret yet."""
        self._key = self._read_key() or b""
        self._identity = self._look()
        return bool(self._key)

    def _read_key(self) -> bytes | None:
        key = self.disk.read(self.internal / KEY)
        return None if key is None or len(key) < 32 else key[:64]

    def path(self, relative: str) -> Path:
        """A file of the home; remembered, since a few files are asked for all the time."""
        if (path := self._paths.get(relative)) is None:
            if len(self._paths) > MANY:
                self._paths.clear()
            path = self._paths[relative] = self.root / relative
        return path

    def hasher(self) -> blake2b:
        """A fresh keyed hash: without the home's secret nobody can test a guess against the trail."""
        return blake2b(key=self._key, digest_size=16)

    def hash(self, data: bytes) -> str:
        digest = self.hasher()
        digest.update(data)
        return digest.hexdigest()

    def key_mark(self, agent: str, key: str) -> str:
        """How an agent's idempotency key is named in the trail."""
        return self.hash(f"{agent}\0{key}".encode("utf-8", "surrogatepass"))[:16]

    def now(self) -> datetime:
        return self.clock.now()

    def check_present(self) -> None:
        """Stop when the folder vanished, was replaced, or lost its inside: a sync program or an unmounted disk."""
        if self._look() != self._identity:
            raise HomeMissingError(
                f"{self.root} is not the folder that was opened",
                hint="bring the folder or disk back, then open it again; nothing was written",
            )

    def _look(self) -> tuple[int, int] | None:
        try:
            info = os.lstat(self.internal)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return (info.st_dev, info.st_ino) if stat.S_ISDIR(info.st_mode) else None

    def owner(self) -> dict[str, str]:
        """The machine that writes this home; empty when nobody claimed it or the note is unreadable."""
        try:
            owner = json.loads(self.disk.read(self._owner) or b"{}")
        except ValueError:
            return {}
        return owner if isinstance(owner, dict) else {}

    def is_owner(self) -> bool:
        return self.owner().get("machine") == self.config.machine

    def check_owner(self) -> None:
        """Refuse to write another machine's home, claim nobody's; the note is read again only when it changed."""
        stamp = self.disk.stamp(self._owner)
        if stamp is None:
            self.claim()
        elif stamp != self._checked and self.is_owner():
            self._checked = stamp
        elif stamp != self._checked:
            host = self.owner().get("name", "another machine")
            raise NotOwnerError(
                f"{self.root} is written by {host}",
                hint="read here as you like; `memfolio adopt` makes this machine its writer",
            )

    def claim(self) -> None:
        """Make this machine the home's writer; the note comes last, so that it stands for everything before it."""
        # A folder that ignores itself needs nothing from the person's own .gitignore.
        self.disk.put(self.internal / GITIGNORE, b"*\n")
        note = {"machine": self.config.machine, "name": self.config.machine_name, "since": self.now().isoformat()}
        self.disk.put(self._owner, json.dumps(note, indent=1).encode() + b"\n")
