"""From operations to bytes: which file gets which bytes where. Pure, except that it asks how a file ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

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

    @property
    def size(self) -> int:
        return (self.start or 0) + len(self.data or b"")


@dataclass(slots=True)
class Plan:
    """A composed change, ready to be written."""

    files: list[Planned] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: list[MemoryItem] = field(default_factory=list)

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
        data, blocks = _fill(before, blocks, limit, ledger.form, title(number))
        if data:
            after = before.then(data)
            planned.append(Planned(ledger.part(number), before.size, data, before.hash, after.hash, after))
        number += 1
    return planned


def _fill(tail: Tail, blocks: list[bytes], limit: int, form: Form, title: bytes) -> tuple[bytes, list[bytes]]:
    chunks: list[bytes] = []
    size, last = tail.size, tail.last
    for index, block in enumerate(blocks):
        lead = _lead(size, last, form, title)
        if size and size + len(lead) + len(block) > limit:
            return b"".join(chunks), blocks[index:]
        chunks += (lead, block)
        size += len(lead) + len(block)
        last = b"\n"
    return b"".join(chunks), []


def _lead(size: int, last: bytes, form: Form, title: bytes) -> bytes:
    """What must stand before a block so that it begins on a line of its own."""
    if size == 0:
        return title
    missing = b"" if last == b"\n" else b"\n"
    return missing + b"\n" if form is Form.LOG else missing
