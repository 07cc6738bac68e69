"""What the writer is asked to do, what it answers, and which file gets which bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, repeat
from operator import attrgetter
from typing import Any

from memfolio.errors import InputError
from memfolio.types import TOKEN_PATTERN, Action, Attribution, MemoryItem, frozen
from memfolio.vault.fields import Draft
from memfolio.vault.journal import Tail, Written
from memfolio.vault.paths import Form, Ledger

# What the writer is asked to do, and what it answers.


@dataclass(frozen=True, slots=True)
class AddEntries:
    """Append memories to an agent's daily logs; ids and creation times are given by the writer."""

    agent: str
    items: tuple[MemoryItem | Draft, ...]


@dataclass(frozen=True, slots=True)
class NewId:
    """Stands in a record for the id of a memory that an earlier operation of the same change adds, counted from 0."""

    index: int


@dataclass(frozen=True, slots=True)
class AddLines:
    """Append records to a JSON-lines ledger; each gets an id with `prefix`, a time and its attribution.

    A field of a record, or a part of a list in it, may be a `NewId`.
    """

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


def with_new_ids(record: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """The record with the real id in place of every `NewId`."""
    return {name: _known(value, ids) for name, value in record.items()}


def _known(value: Any, ids: Sequence[str]) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(part, NewId) for part in value):
        return [_known(part, ids) for part in value]
    if not isinstance(value, NewId):
        return value
    if not 0 <= value.index < len(ids):
        raise InputError(
            f"no memory number {value.index} is added before this record", hint="add the memories first, then lines"
        )
    return ids[value.index]


Operation = AddEntries | AddLines | AddBlocks | PutPage


@frozen
class Change:
    """Operations that happen together or not at all, by one actor."""

    operations: tuple[Operation, ...]
    by: Attribution
    action: Action
    about: tuple[int, ...] = ()
    key: str | None = None
    """The mark (`Home.key_mark`) under which the same change is made only once."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A change that an access has let pass, or that the vault makes of itself: the writer makes no other."""

    change: Change


@frozen
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


def attributed(by: Attribution, drafts: Sequence[Draft]) -> Attribution:
    """Who adds memories, in the session and in the name of the source that all of them share."""
    return _within(by, by.session or _common(drafts, "session"), by.source or _common(drafts, "source"))


@lru_cache(maxsize=256)
def _within(by: Attribution, session: str | None, source: str | None) -> Attribution:
    """The changes of a session share one attribution; finding it is cheaper than checking it anew."""
    return replace(by, session=session, source=source)


def _common(drafts: Sequence[Draft], name: str) -> str | None:
    """The session or source that all memories of a change share, if they do and it is an identifier."""
    values = set(map(attrgetter(name), drafts))
    value = values.pop() if len(values) == 1 else None
    return value if value is not None and TOKEN_PATTERN.fullmatch(value) else None


# From operations to bytes: which file gets which bytes where. Pure, except that it asks how a file ends.


@dataclass(slots=True)
class Plan:
    """A composed change, ready to be written."""

    files: list[Written] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: list[MemoryItem] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=dict)
    """Which file each memory goes into, by its id."""

    def place(self, ids: Sequence[str], files: Sequence[Written]) -> None:
        """Add the files that the entries with these ids were laid into, in this order."""
        self.files += files
        paths = chain.from_iterable(repeat(file.path, file.blocks) for file in files)
        self.paths.update(zip(ids, paths, strict=True))

    @property
    def placed(self) -> tuple[tuple[str, MemoryItem], ...]:
        """Every memory with the file it goes into."""
        return tuple([(self.paths[item.id], item) for item in self.items])

    @property
    def is_one_append(self) -> bool:
        return len(self.files) == 1 and self.files[0].start is not None


def fill_parts(
    ledger: Ledger,
    blocks: Sequence[bytes],
    *,
    first: int,
    limit: int,
    tail_of: Callable[[str], Tail],
    title: Callable[[int], bytes],
) -> list[Written]:
    """Lay `blocks` into the ledger's parts from part `first` on; a block larger than `limit` has a part to itself."""
    planned: list[Written] = []
    number, blocks = first, list(blocks)
    while blocks:
        before = tail_of(ledger.part(number))
        data, rest = _fill(before, blocks, limit, ledger.form, title(number))
        if data:
            after, count = before.then(data), len(blocks) - len(rest)
            planned.append(
                Written(ledger.part(number), before.size, data, before.hash, after.hash, tail=after, blocks=count)
            )
        blocks = rest
        number += 1
    return planned


def _fill(tail: Tail, blocks: list[bytes], limit: int, form: Form, title: bytes) -> tuple[bytes, list[bytes]]:
    chunks: list[bytes] = []
    size, lead, between = tail.size, _lead(tail, form, title), b"\n" if form is Form.LOG else b""
    for index, block in enumerate(blocks):
        if size and size + len(lead) + len(block) > limit:
            return b"".join(chunks), blocks[index:]
        chunks += (lead, block)
        size += len(lead) + len(block)
        lead = between
    return b"".join(chunks), []


def _lead(tail: Tail, form: Form, title: bytes) -> bytes:
    """What must stand before the first block so that it begins on a line of its own."""
    if tail.size == 0:
        return title
    missing = b"" if tail.last == b"\n" else b"\n"
    return missing + b"\n" if form is Form.LOG else missing
