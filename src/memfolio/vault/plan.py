"""From operations to bytes: which file gets which bytes where. Pure, except that it asks how a file ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, repeat

from memfolio.types import MemoryItem
from memfolio.vault.paths import Form, Ledger


@dataclass(frozen=True, slots=True)
class Tail:
    """How a file ends: enough to append to it without reading it again."""

    hash: str | None
    size: int
    last: bytes
    hasher: blake2b

    def then(self, data: bytes) -> Tail:
        """The tail behind an append of `data`."""
        hasher = self.hasher.copy()
        hasher.update(data)
        return Tail(hasher.hexdigest(), self.size + len(data), data[-1:] or self.last, hasher)


@dataclass(frozen=True, slots=True)
class Planned:
    """One file's share of a change: an append at `start`, or the whole content (None: delete)."""

    path: str
    start: int | None
    data: bytes | None
    was: str | None
    now: str | None
    tail: Tail | None = None
    blocks: int = 0
    """How many blocks an append consists of."""

    @property
    def size(self) -> int:
        return (self.start or 0) + len(self.data or b"")


@dataclass(slots=True)
class Plan:
    """A composed change, ready to be written."""

    files: list[Planned] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: list[MemoryItem] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=dict)
    """Which file each memory goes into, by its id."""

    def place(self, ids: Sequence[str], files: Sequence[Planned]) -> None:
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
) -> list[Planned]:
    """Lay `blocks` into the ledger's parts from part `first` on; a block larger than `limit` has a part to itself."""
    planned: list[Planned] = []
    number, blocks = first, list(blocks)
    while blocks:
        before = tail_of(ledger.part(number))
        data, rest = _fill(before, blocks, limit, ledger.form, title(number))
        if data:
            after, count = before.then(data), len(blocks) - len(rest)
            planned.append(Planned(ledger.part(number), before.size, data, before.hash, after.hash, after, count))
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
