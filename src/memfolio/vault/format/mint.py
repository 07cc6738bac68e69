"""From drafts to entries: each gets an id that nothing else has, and its block."""

from __future__ import annotations

from collections.abc import Container
from datetime import date, datetime, tzinfo
from itertools import count
from typing import NamedTuple

from memfolio.clock import from_ms
from memfolio.errors import InputError
from memfolio.types import Attribution, MemoryItem
from memfolio.vault.format.checksum import BLANK, checksum, salt_of
from memfolio.vault.format.content import encoded
from memfolio.vault.format.draft import Draft, as_created, as_draft
from memfolio.vault.format.heading import MAX_MS
from memfolio.vault.format.render import Label, Shown, label_of, render, show


class Minted(NamedTuple):
    """A memory as it was made, the block that says it, and the day of the log where the block belongs."""

    item: MemoryItem
    block: bytes
    day: date


class Instant(NamedTuple):
    """A millisecond in which entries are made."""

    mark: str
    """What ids given in it begin with."""
    created: datetime
    shown: Shown
    salt: bytes


class Mint:
    """Makes the entries of one change; what many of them have in common is composed once."""

    def __init__(self, by: Attribution, *, agent: str, tz: tzinfo, created_ms: int, taken: Container[str]) -> None:
        self._by = by
        self._agent = agent
        self._tz = tz
        self._created_ms = created_ms
        self._taken = taken
        self._made: set[str] = set()
        self._instants: dict[int, Instant] = {}
        self._labels: dict[object, Label] = {}

    def make(self, item: MemoryItem | Draft) -> Minted:
        """`item` with an id of its own; milliseconds move on until there is one.

        An id and a time that it has are replaced, its times become UTC, and what can change later (access, pin,
        supersession, tombstone) is left out, because that is written elsewhere. Raises InputError for bad values.
        """
        draft = as_draft(item)
        label = self._label(draft)
        for ms in count(self._created_ms):
            if minted := self._try(draft, label, self._instants.get(ms) or self._instant(ms)):
                return minted
        raise AssertionError("count() does not end")

    def _try(self, draft: Draft, label: Label, now: Instant) -> Minted | None:
        """The entry as made in this millisecond; None when its id is taken."""
        event_time = None if draft.event_time == now.created else draft.event_time
        shown = show(event_time, self._tz, is_told=True) if event_time else now.shown
        blank = encoded(render(draft, now.mark + BLANK, label, shown, self._tz))
        digits = checksum(now.salt, blank)
        fresh = now.mark + digits
        if fresh in self._made or fresh in self._taken:
            return None
        self._made.add(fresh)
        end = blank.index(b"\n")
        block = blank[: end - len(BLANK)] + digits.encode() + blank[end:]
        return Minted(as_created(draft, fresh, now.created, event_time), block, shown.day)

    def _instant(self, ms: int) -> Instant:
        if not 0 <= ms <= MAX_MS:
            raise InputError(f"{ms} is not a time an id can carry", hint="set the clock between 1970 and 9999")
        created = from_ms(ms)
        shown = show(created, self._tz, is_told=False)
        self._instants[ms] = instant = Instant(f"M-{ms}-", created, shown, salt_of(self._agent, ms))
        return instant

    def _label(self, draft: Draft) -> Label:
        told = (
            *(draft.type, draft.importance, draft.tags, draft.source, draft.session, draft.role),
            *(draft.confidence, draft.kind, draft.store, draft.user, draft.origin),
        )
        label = self._labels.get(told)
        if label is None:
            label = self._labels[told] = label_of(draft, self._by)
        return label
