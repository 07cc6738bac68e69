"""What state lines tell about reflections: which one waits, when somebody last looked, whether another is due."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memfolio.clock import EPOCH
from memfolio.govern.reflection.item import Item, Verb
from memfolio.index.conversations import MARK
from memfolio.index.filter import Filter
from memfolio.index.index import Index
from memfolio.index.lookup import newest
from memfolio.sources import REFLECTION
from memfolio.state import Op, moment
from memfolio.vault.format.fields import local
from memfolio.vault.format.lines import read_lines, split_lines
from memfolio.vault.paths import ledger_of, state_ledger
from memfolio.vault.vault import Vault

KIND = "reflection"
NOTHING = "nothing"
"""The verdict on a reflection that found nothing to say; it is noted so that it is not made again and again."""
Line = Mapping[str, Any]


def reviews(vault: Vault, agent: str) -> list[Line]:
    """The lines about reflections, oldest first."""
    return [line for line in _lines(vault, agent, Op.REVIEW) if _is_sound(line)]


def _lines(vault: Vault, agent: str, op: Op) -> Iterator[Line]:
    """The lines of an operation; asked of the files, since they cannot be behind."""
    vault.refresh()
    word, folder = f':"{op}"'.encode(), f"{state_ledger(agent).base}/"
    known = (path for path in vault.states() if path.startswith(folder))
    for _, path in sorted((part[1], path) for path in known if (part := ledger_of(path))):
        content = vault.books.read(path) or b""
        if word in content:  # nearly all files have only lines about something else: they need not be read
            told = b"".join(raw for raw in split_lines(content) if word in raw)
            yield from (line.record for line in read_lines(told).records if line.record.get("op") == op)


def _is_sound(line: Line) -> bool:
    is_ours = line.get("kind") == KIND and isinstance(line.get("page"), str) and isinstance(line.get("number"), int)
    marks = line.get("marks", [])
    lists = marks if isinstance(marks, list) else [None]
    return is_ours and all(isinstance(each, list) for each in (line.get("rejected", []), *lists))


class _Marks:
    """Marks of which only keyed hashes are kept."""

    def __init__(self, hash: Callable[[bytes], str], known: set[str]) -> None:
        self._hash, self._known = hash, known

    def __contains__(self, mark: object) -> bool:
        return bool(self._known) and self._hash(str(mark).encode()) in self._known


def refused(vault: Vault, agent: str) -> Container[str]:
    """The marks of items that somebody did not want."""
    return _Marks(vault.home.hash, {mark for line in reviews(vault, agent) for mark in line.get("rejected", ())})


def is_unwanted(text: str, refused: Container[str]) -> bool:
    """Whether somebody did not want just this to be learned."""
    return any(mark in refused for mark in Item(verb=Verb.LEARN, text=text).marks)


def waiting(lines: Sequence[Line]) -> Line | None:
    """The line of what waits: the last that was made, unless somebody decided on it."""
    made = next((line for line in reversed(lines) if "verdict" not in line), None)
    return made if made and made["page"] not in _closed(lines) else None


def _closed(lines: Sequence[Line]) -> set[str]:
    return {line["page"] for line in lines if "verdict" in line}


def looked(lines: Sequence[Line]) -> datetime | None:
    """When the memory was last looked through for what somebody decided on, or what came to nothing."""
    closed = _closed(lines)
    times = (moment(line.get("at")) for line in lines if "hash" in line and line["page"] in closed)
    return max(filter(None, times), default=None)


def next_number(lines: Sequence[Line]) -> int:
    """The number of the next reflection: those that gave way to another have none."""
    return 1 + max((line["number"] for line in lines if line.get("verdict", NOTHING) != NOTHING), default=0)


def due(vault: Vault, index: Index, agent: str, now: datetime) -> str | None:
    """Why a reflection is due; None where none is, while one waits, and where nothing has come since the last."""
    settings, lines = vault.config.reflection, reviews(vault, agent)
    line = waiting(lines)
    if not settings.enabled or (line and vault.page(line["page"])):
        return None
    since = looked(lines) or EPOCH
    wanted = Filter(forms=("memory",), since=since)
    found = [each.item for each in index.read(lambda db: newest(db, wanted, settings.threshold))]
    fresh = [item.created_at for item in found if item.source != REFLECTION and item.created_at > since]
    if len(fresh) >= settings.threshold:
        return f"{len(fresh)} entries or more since the last reflection"
    for line in _lines(vault, agent, Op.SESSION) if settings.session and fresh else ():
        turns, at = len(str(line.get("read", ""))) // MARK, moment(line.get("at"))
        if turns >= settings.session and at and at > since:
            return f"a conversation of {turns} turns ended"
    return "its time of the day has come" if min(fresh, default=now) < due_hour(vault, now) else None


def due_hour(vault: Vault, now: datetime) -> datetime:
    """When the jobs of a day last fell due."""
    here = local(now, vault.home.zone)
    mark = here.replace(hour=vault.config.tend.hour, minute=0, second=0, microsecond=0)
    return mark if mark <= here else mark - timedelta(days=1)
