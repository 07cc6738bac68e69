"""Retention: what has been unused for long enough moves to the archive, and old archives are compressed.

One question to the index says what is due; it leaves its logs in changes of limited size, each of which can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from memfolio.errors import NotFoundError
from memfolio.index.aging import Below, Due, Kept, batches, due, files_in, left_at
from memfolio.index.index import Index
from memfolio.index.pages import page_date
from memfolio.index.rows import MICROSECOND, day_us, to_us
from memfolio.recall.context.standing import CHECKPOINTS, checkpoints
from memfolio.tend.archive import archive, archive_pages, compress, list_archive
from memfolio.tend.hand import Hand, tender
from memfolio.types import Attribution
from memfolio.vault.excerpt import memories_in
from memfolio.vault.format.packed import is_packed
from memfolio.vault.paths import agent_root, day_of
from memfolio.vault.vault import Vault

RETAINER = tender("retention")
FILES, MEMORIES = 50, 5000
"""How many daily logs, and how many memories, one change takes to the archive at most."""
NEVER = timedelta(0)
SHOWN = 200_000
"""Characters of difference after which a preview only counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """What moved to the archive, or would."""

    memories: int
    reasons: Mapping[tuple[str, str], int]
    """How many memories of which kind, and why."""
    pages: tuple[str, ...] = ()
    compressed: tuple[str, ...] = ()


def retain(hand: Hand, index: Index, below: Below | None = None, by: Attribution = RETAINER) -> Retained:
    """Archive what is due of an index's agent, by retention or by a score, and compress what has lain there long.

    With a score only memories are archived. What could not be moved is noted and comes again the next time.
    """
    config, now = hand.vault.config, to_us(hand.now)
    found = index.read(lambda connection: due(connection, now, config.retention, config.decay, below))
    _archive_due(hand, found, by)
    root = agent_root(index.agent)
    pages, packed = ([], []) if below else (_archive_old_pages(hand, index, root, by), _compress_old(hand, index, by))
    if not hand.dry_run:
        list_archive(hand, index.agent, _archived(index, root), by)
    return Retained(memories=found.count, reasons=found.reasons, pages=tuple(pages), compressed=tuple(packed))


def _archive_due(hand: Hand, found: Due, by: Attribution) -> None:
    for batch in batches(found, files=FILES, memories=MEMORIES):
        if hand.dry_run and len(hand.diff) > SHOWN:
            hand.notes.append("the difference shows only the first of these memories")
            return
        try:
            if there := _as_found(hand.vault, batch):
                hand.note(archive(hand.vault, there, by, dry_run=hand.dry_run))
        except NotFoundError as error:  # somebody edited a log since the question was answered
            hand.notes.append(f"not archived this time: {error.message}")


def _as_found(vault: Vault, batch: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What of a portion stands in its logs under its id: a copied entry is a memory of its own only to the index."""
    pages = {path: page for path in batch if (page := vault.page(path))}
    found = {path: memories_in(path, page.content) for path, page in pages.items()}
    there = {path: [each for each in batch[path] if each in ids] for path, ids in found.items()}
    return {path: ids for path, ids in there.items() if ids}


def _archive_old_pages(hand: Hand, index: Index, root: str, by: Attribution) -> list[str]:
    retention = hand.vault.config.retention
    latest = {f"{root}/{inside}" for inside in checkpoints(hand.vault, root)[:1]}
    spans = {f"{root}/sessions": retention.sessions, f"{root}/{CHECKPOINTS}": retention.checkpoints}
    found = index.read(lambda connection: files_in(connection, *spans))
    old = [
        each
        for each in found
        if each.path not in latest
        and _is_past(hand, max(each.modified, _day_of(each.path)), spans.get(each.path.rpartition("/")[0], NEVER))
    ]
    portions = (old[start : start + FILES] for start in range(0, len(old), FILES))
    return [path for some in portions for path in archive_pages(hand, some, by)]


def _compress_old(hand: Hand, index: Index, by: Attribution) -> list[str]:
    span, root = hand.vault.config.retention.compress, agent_root(index.agent)
    since = index.read(lambda connection: left_at(connection, f"{root}/memory/archive"))
    logs = [each for each in _archived(index, root) if day_of(each.path) and not is_packed(each.path)]
    old = [each.path for each in logs if _is_past(hand, since.get(each.path, each.modified), span)]
    return compress(hand, old, by)


def _archived(index: Index, root: str) -> list[Kept]:
    return index.read(lambda connection: files_in(connection, f"{root}/memory/archive"))


def _day_of(path: str) -> int:
    day = page_date(path)
    return day_us(day) if day else 0


def _is_past(hand: Hand, since: int, span: timedelta) -> bool:
    """Whether a span other than zero is over."""
    return NEVER < span <= (to_us(hand.now) - since) * MICROSECOND
