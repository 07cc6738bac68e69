"""Pauses: while one lasts, nothing that is said in a folder, or anywhere, is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memfolio.errors import RefusedError
from memfolio.serve.hooks.door import INSIDE
from memfolio.stores.requests import TriggerRequest
from memfolio.types import frozen
from memfolio.vault.disk import Disk

PAUSED = "Memory is paused here, so this is not kept. Tell the user; `memfolio doctor` shows how to end the pause."
KEEPING = (TriggerRequest.REMEMBER, TriggerRequest.REFLECT)
"""Requests of a person that change something; hooks do that when the prompt is answered."""
FILE = "pauses.json"
EVERYWHERE = ""
REMEMBERED = timedelta(days=30)
"""For which a pause that is over is known: transcripts are read when a conversation is cut, which may be days later."""


@frozen
class Pause:
    """A time in which nothing is kept of what is said in a folder and below it; times are ISO 8601 in UTC."""

    folder: str
    since: str
    until: str | None = None
    """When it ends; None where somebody has to end it."""

    def covers(self, folder: str, at: datetime) -> bool:
        """Whether what is said there and then is not kept."""
        moment = _text(at)
        is_there = not self.folder or _is_within(folder, self.folder)
        return is_there and self.since <= moment and (self.until is None or moment < self.until)


def pauses(home: Path, now: datetime) -> list[Pause]:
    """The pauses of a home that last; a file that cannot be read pauses everything, since somebody wanted one."""
    return [each for each in _read(home) if each.since <= _text(now) and not _is_over(each, now)]


def is_paused(home: Path, folder: str, now: datetime | None = None) -> bool:
    """Whether nothing is to be kept of what is said in a folder."""
    at = now or datetime.now(UTC)
    return any(each.covers(folder, at) for each in _read(home))


def check_unpaused(home: Path) -> None:
    """Refuse to keep anything where this process works in a pause; servers and adapters ask before they write."""
    if is_paused(home, os.getcwd()):
        hint = "ask the person; `memfolio doctor` shows how to end the pause"
        raise RefusedError("memory is paused, and nothing is kept", hint=hint)


def pause(home: Path, folder: str, now: datetime, span: timedelta | None) -> Pause:
    """Keep nothing from now on, for so long or until `resume`; another pause of the same folder is replaced."""
    made = Pause(folder=_resolved(folder), since=_text(now), until=_text(now + span) if span else None)
    ended = [_ended(each, now) if each.folder == made.folder else each for each in _read(home)]
    _write(home, [*ended, made], now)
    return made


def resume(home: Path, folder: str, now: datetime) -> list[Pause]:
    """End the pauses of a folder, or all of them; returns those that ended."""
    known, wanted = _read(home), _resolved(folder)
    over = [each for each in known if not _is_over(each, now) and (not wanted or each.folder == wanted)]
    _write(home, [_ended(each, now) if each in over else each for each in known], now)
    return over


def said_unpaused(home: Path, folder: str, turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns of a transcript that were not said in a pause; of those without a time none, where there was one."""
    known = [each for each in _read(home) if not each.folder or _is_within(folder, each.folder)]
    return [turn for turn in turns if not known or _is_outside(known, folder, turn.get("timestamp"))]


def _is_outside(known: Iterable[Pause], folder: str, said: object) -> bool:
    try:
        at = datetime.fromisoformat(str(said))
    except ValueError:
        return False
    return at.tzinfo is not None and not any(each.covers(folder, at) for each in known)


def _read(home: Path) -> list[Pause]:
    try:
        data = disk_of(home).read(home / INSIDE / FILE)
        return [Pause(**each) for each in json.loads(data)] if data else []
    except (OSError, ValueError, TypeError):
        return [Pause(folder=EVERYWHERE, since="")]


def _write(home: Path, known: Iterable[Pause], now: datetime) -> None:
    kept = [asdict(each) for each in known if each.until is None or each.until > _text(now - REMEMBERED)]
    disk_of(home).put(home / INSIDE / FILE, json.dumps(kept, indent=1).encode())


def disk_of(home: Path) -> Disk:
    """The disk, where links inside this home are not followed and what is inside is its owner's alone."""
    disk = Disk()
    disk.root, disk.private = home, home / INSIDE
    return disk


def _is_over(each: Pause, now: datetime) -> bool:
    return each.until is not None and each.until <= _text(now)


def _ended(each: Pause, now: datetime) -> Pause:
    return each if _is_over(each, now) else replace(each, until=_text(now))


def _text(moment: datetime) -> str:
    """All in one zone and of one length, so that they compare as texts."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _resolved(folder: str) -> str:
    return os.path.realpath(os.path.expanduser(folder)) if folder else EVERYWHERE


def _is_within(folder: str, other: str) -> bool:
    """Whether a folder is another one, or lies below it; one that a host does not name may lie anywhere."""
    return not folder or Path(_resolved(folder)).is_relative_to(other)
