"""An item of a mind: one belief, desire, goal, intention … as its section tells. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, tzinfo
from typing import Any

from memfolio.errors import InputError, NotFoundError
from memfolio.index.mind_kind import LEVELS, LIVE, SAID, WORDS, Kind, Status, Value
from memfolio.intake import nearest
from memfolio.types import EMPTY
from memfolio.vault.agents import COMMITMENTS
from memfolio.vault.format.fields import iso_of, local, read_moment, read_number

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
NAME = re.compile(r"[A-Z]-(?:\d{1,15}-[0-9a-f]{8}|[0-9a-f]{16})")
"""An id of whatever can be linked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item as it is read; `fields` has the values that make sense, `problems` says which do not."""

    kind: Kind
    id: str
    title: str
    text: str = ""
    """What it says below its title, without its fields."""
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    line: int = 0
    """Where its heading stands on the page, from 1."""
    problems: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """All that it says in words; a title that only begins the text is not repeated."""
        is_beginning = self.title.endswith("…") and " ".join(self.text.split()).startswith(self.title[:-1])
        return "\n".join(filter(None, ("" if is_beginning else self.title, self.text)))

    def sentence(self, zone: tzinfo) -> str:
        """What it says, and what of that stands in fields: for whom, by when, whether it is over and why."""
        telling = [name for name, wanted in self.kind.fields.items() if wanted is Value.TEXT or name == "deadline"]
        shown = {name: show_value(self.fields[name], zone, name) for name in telling if name in self.fields}
        state = [] if self.status is Status.ACTIVE else [self.status.value]
        parts = [*state, *(f"{name} {value}" for name, value in shown.items())]
        beside = ", ".join(parts)
        return f"{self.says} ({beside})" if beside and self.says else self.says or beside[:1].upper() + beside[1:]

    @property
    def status(self) -> Status:
        return Status(self.fields.get("status", Status.ACTIVE))

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def certainty(self) -> float:
        return float(self.fields.get("certainty", 0.5))

    @property
    def priority(self) -> float:
        return float(self.fields.get("priority", 0.5))

    @property
    def deadline(self) -> datetime | None:
        return self.fields.get("deadline")

    @property
    def updated(self) -> datetime | None:
        """When somebody last said something about it."""
        return self.fields.get("updated") or self.fields.get("created")

    def links(self, name: str = "from") -> tuple[str, ...]:
        """The ids in one of its fields."""
        return tuple(self.fields.get(name, ()))


def read_value(name: str, wanted: Value, raw: str, zone: tzinfo) -> Any:
    """What a field says; ValueError with what it should be where that makes no sense."""
    text = raw.strip()
    if name == "deadline" and _DAY.fullmatch(text):
        text = f"{text}T23:59:59"
    found = read_moment(text, zone) if wanted is Value.DAY else _READERS[wanted](text)
    if found is None:
        raise ValueError(WANTED[wanted])
    return found


def show_value(value: Any, zone: tzinfo, name: str = "") -> str:
    """A value as it stands in the field of that name; times are told to the minute, but for deadlines."""
    if isinstance(value, datetime):
        here, is_end = local(value, zone), name == "deadline"
        if here.time() == (time(23, 59, 59) if is_end else time(0)):
            return here.date().isoformat()
        return iso_of(here) if is_end else here.isoformat(timespec="minutes")
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def pick(name: str, items: Sequence[Item], where: str) -> Item:
    """The one that is named by its id, its title, or words that only its title has."""
    folded = " ".join(name.split()).casefold()
    for found in (
        [item for item in items if name.strip() == item.id],
        [item for item in items if folded == item.title.casefold()],
        [item for item in items if folded in item.title.casefold()],
    ):
        if folded and len(found) > 1:
            ids = ", ".join(f"{item.id} ({item.title[:40]})" for item in found[:5])
            raise InputError(f"{name[:60]!r} names {len(found)} items of {where}", hint=f"name one: {ids}")
        if folded and found:
            return found[0]
    known = [item.title for item in items]
    hint = nearest(name, known) if 0 < len(known) <= 50 else "`memfolio mind list` shows them"
    raise NotFoundError(f"{where} has no item {name[:60]!r}", hint=hint)


def _share(text: str) -> float | None:
    number = WORDS.get(text.lower(), read_number(text.rstrip("%").strip()))
    share = number / 100 if number is not None and text.endswith("%") else number
    return share if share is not None and 0 <= share <= 1 else None


def _names(text: str) -> tuple[str, ...] | None:
    parts = [part.strip().removeprefix("[[").removesuffix("]]").lstrip("^") for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts))) or None


_READERS: Mapping[Value, Callable[[str], Any]] = {
    Value.SHARE: _share,
    Value.NAMES: _names,
    Value.STATUS: lambda text: SAID.get(" ".join(text.lower().split())),
    Value.LEVEL: lambda text: text.lower() if text.lower() in LEVELS else None,
    Value.STRATEGY: lambda text: text.lower() if text.lower() in COMMITMENTS else None,
    Value.TEXT: lambda text: text or None,
}
WANTED = {
    Value.SHARE: "a number from 0 to 1, or low, medium or high",
    Value.DAY: "a day such as 2026-11-20, or a time",
    Value.NAMES: "ids with commas between them",
    Value.STATUS: f"one of {', '.join(Status)}",
    Value.LEVEL: f"one of {', '.join(LEVELS)}",
    Value.STRATEGY: f"one of {', '.join(COMMITMENTS)}",
    Value.TEXT: "a few words",
}
"""What a field should hold, for people."""
