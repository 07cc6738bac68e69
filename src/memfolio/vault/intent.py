"""Intents: a change of several files, or of a page, is written down whole before the first file is touched.

After a crash the intent is carried out to its end, so that such a change happens completely or not at all.
A change of one ledger needs none: its own appended bytes say who wrote them and why.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from memfolio.types import Action, Attribution
from memfolio.vault.change import Change
from memfolio.vault.disk import Disk
from memfolio.vault.format.signature import attribution
from memfolio.vault.plan import Plan, Planned
from memfolio.vault.recent import to_bytes, to_text

FOLDER = "intents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is about to happen, with everything needed to finish it."""

    seq: int
    """The number of its line in the trail, if nothing else was entered before that."""
    action: Action
    by: Attribution
    files: tuple[Planned, ...]
    ids: tuple[str, ...] = ()
    about: tuple[int, ...] = ()
    key: str | None = None


class Intents:
    """The folder of intents; empty whenever nothing is under way."""

    def __init__(self, internal: Path, disk: Disk) -> None:
        self._folder = internal / FOLDER
        self._disk = disk

    def save(self, seq: int, change: Change, plan: Plan) -> Path:
        """Write the intent durably; when that fails, there is none."""
        path = self._folder / f"{seq:012d}.json"
        try:
            self._disk.put(path, json.dumps(_to_json(change, plan)).encode())
        except OSError:
            self._disk.discard(path)
            raise
        return path

    def waiting(self) -> list[Path]:
        """Intents that were not carried out to their end, oldest first."""
        return [self._folder / name for name in self._disk.names(self._folder) if name.endswith(".json")]

    def load(self, path: Path) -> Intent | None:
        """The intent in a file; None when it is not whole, which means that nothing was touched yet."""
        try:
            return _from_json(int(path.stem), json.loads(self._disk.read(path) or b""))
        except (ValueError, KeyError, TypeError):
            return None

    def drop(self, path: Path) -> None:
        self._disk.remove(path)


def _to_json(change: Change, plan: Plan) -> dict[str, Any]:
    return {
        "action": change.action,
        "by": astuple(change.by),
        "ids": plan.ids,
        "about": change.about,
        "key": change.key,
        "files": [_file_json(file) for file in plan.files],
    }


def _file_json(file: Planned) -> dict[str, Any]:
    text = None if file.data is None else to_text(file.data)
    return {"path": file.path, "from": file.start, "text": text, "was": file.was, "now": file.now}


def _from_json(seq: int, data: dict[str, Any]) -> Intent:
    return Intent(
        seq=seq,
        action=Action(data["action"]),
        by=attribution(*data["by"]),
        files=tuple(map(_read_file, data["files"])),
        ids=tuple(data["ids"]),
        about=tuple(data["about"]),
        key=data["key"],
    )


def _read_file(data: dict[str, Any]) -> Planned:
    content = None if data["text"] is None else to_bytes(data["text"])
    return Planned(data["path"], data["from"], content, data["was"], data["now"])
