"""What the writer is asked to do, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.paths import Ledger


@dataclass(frozen=True, slots=True)
class AddEntries:
    """Append memories to an agent's daily logs; ids and creation times are given by the writer."""

    agent: str
    items: tuple[MemoryItem, ...]


@dataclass(frozen=True, slots=True)
class AddLines:
    """Append records to a JSON-lines ledger; each gets an id with `prefix`, a time and its attribution."""

    ledger: Ledger
    records: tuple[Mapping[str, Any], ...]
    prefix: str = "S"


@dataclass(frozen=True, slots=True)
class AddBlocks:
    """Append blocks that have their ids already, such as entries found in a conflict copy."""

    ledger: Ledger
    blocks: tuple[bytes, ...]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutPage:
    """Replace a whole file composed against content with hash `expects` (None: it must not exist yet).

    `content` None deletes the file.
    """

    path: str
    content: bytes | None
    expects: str | None


Operation = AddEntries | AddLines | AddBlocks | PutPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Operations that happen together or not at all, by one actor."""

    operations: tuple[Operation, ...]
    by: Attribution
    action: Action
    about: tuple[int, ...] = ()
    key: str | None = None
    """The mark (`Home.key_mark`) under which the same change is made only once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """An acknowledged change: it is on disk. `repeated` says that its key had been used and nothing was written."""

    seq: int
    at: str
    action: Action
    paths: tuple[str, ...]
    items: tuple[MemoryItem, ...] = ()
    ids: tuple[str, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A file's content and the hash a change of it must name."""

    path: str
    content: bytes
    hash: str

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")
