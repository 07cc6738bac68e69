"""The layout of a home: which file is what, what may be named, and how sensitive it is.

Paths are strings relative to the home with "/" between their parts, the same on every platform.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath

from memfolio.errors import AgentIdError, PathError
from memfolio.types import AGENT_PATTERN

SHARED = "shared"
AUDIT = "audit"
CONFIG = "memfolio.toml"
INTERNAL = ".memfolio"
GITIGNORE = ".gitignore"

_LOG = re.compile(
    r"(?P<base>(?:agents/[^/]+|shared)/memory/(?P<day>\d{4}-\d\d-\d\d))(?:-(?P<part>[2-9]|[1-9]\d+))?\.md"
)
_ARCHIVED_LOG = re.compile(r"(?:agents/[^/]+|shared)/memory/archive/\d{4}-\d\d/(?P<day>\d{4}-\d\d-\d\d)(?:-\d+)?\.md")
_PACKED_LOG = re.compile(rf"{_ARCHIVED_LOG.pattern}\.gz")
_PAGE = re.compile(r"(?P<root>agents/[^/]+|shared)/(?P<folder>sessions|memory/checkpoints)/(?P<name>[^/]+\.md)")
_ARCHIVED_PAGE = re.compile(
    r"(?P<root>agents/[^/]+|shared)/memory/archive/\d{4}-\d\d/(?P<folder>sessions|checkpoints)/(?P<name>[^/]+\.md)"
)
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
    """Whose file it is, None when it belongs to the home."""
    parts = path.split("/")
    if parts[0] == SHARED:
        return SHARED
    # The shared folder has a place of its own: another one among the agents is nobody's.
    return parts[1] if parts[0] == "agents" and len(parts) > 2 and parts[1] != SHARED else None


def day_log(agent: str, day: date) -> Ledger:
    return Ledger(f"{agent_root(agent)}/memory/{day.isoformat()}", Form.LOG)


def title_line(day: date, part: int = 1) -> str:
    """The first line of a log, without its line end: `# 2026-11-15 · Sunday (2)`."""
    title = f"# {day.isoformat()} · {WEEKDAYS[day.weekday()]}"
    return title if part == 1 else f"{title} ({part})"


def archive_log(path: str) -> str:
    """Where entries cut from the log at `path` are kept."""
    log = PurePosixPath(path)
    return str(log.parent / "archive" / log.name[:7] / log.name)


def archive_page(path: str, month: str) -> str | None:
    """Where a page about a conversation or a checkpoint is kept, in the folder of a month; None for other pages."""
    match = _PAGE.fullmatch(path)
    if match is None:
        return None
    return f"{match['root']}/memory/archive/{month}/{match['folder'].rpartition('/')[2]}/{match['name']}"


def page_from_archive(path: str) -> str | None:
    """Where a page that was archived as a whole came from; None for what is no such page."""
    match = _ARCHIVED_PAGE.fullmatch(path)
    if match is None:
        return None
    folder = "sessions" if match["folder"] == "sessions" else "memory/checkpoints"
    return f"{match['root']}/{folder}/{match['name']}"


def state_ledger(agent: str) -> Ledger:
    return Ledger(f"{agent_root(agent)}/memory/meta/state", Form.LINES)


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
    """The ledger that a file is of, and which part of it; any other file stands for itself."""
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
