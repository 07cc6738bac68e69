"""Retention: what has been unused for long enough moves to the archive, and old archives are compressed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta

from memfolio.errors import ConflictError, DiskError, InputError, NotFoundError
from memfolio.index.index import Index
from memfolio.index.lookup import Located
from memfolio.index.maintenance import ArchivedFile, Below, DueForArchive, batches, due, files_in, left_at
from memfolio.index.read_files import page_date
from memfolio.index.rows import MICROSECOND, day_us, from_us, to_us
from memfolio.recall import query
from memfolio.recall.context import CHECKPOINTS, checkpoints
from memfolio.recall.library import Library
from memfolio.state import Op
from memfolio.stores.edit import Mended
from memfolio.tend.hand import Hand, tender
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.change import Change, PutPage, Receipt
from memfolio.vault.cut import cut, excerpts, into_archive, is_bare, memories_in
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import SUFFIX, is_packed, pack, plain_name, text_of
from memfolio.vault.move import cut_out
from memfolio.vault.past.past import UndoResult
from memfolio.vault.past.rollback import names_from
from memfolio.vault.paths import SHARED, agent_of, agent_root, archive_page, day_of, ledger_of, state_ledger
from memfolio.vault.vault import Vault

# The archive: memories and pages move there, old logs in it are compressed, and a page lists what it holds.
#
# Nothing is deleted, and `restore` brings any of it back.

_MONTH = re.compile(r"/memory/archive/(\d{4}-\d\d)/")
TITLE = "# Archive\n\n| month | memories | files | from | to | compressed |\n|---|---|---|---|---|---|\n"


def archive_one(vault: Vault, located: Located, paths: Sequence[str], by: Attribution, *, dry_run: bool) -> Mended:
    """Move one memory to the archive, out of every log in which it stands."""
    item = located.item
    if located.form != "memory":
        raise InputError(f"{item.id} is a part of {located.path}", hint="move or delete the page itself")
    if item.forgotten_at or located.archived:
        state = "forgotten" if item.forgotten_at else "archived"
        raise ConflictError(f"{item.id} is {state} already", hint="`restore` brings it back")
    outcome = archive(vault, {path: [item.id] for path in paths if ledger_of(path)}, by, dry_run=dry_run)
    return Mended(memories=(item,), diff=outcome.diff, receipt=outcome.receipt)


def archive(vault: Vault, places: Mapping[str, Collection[str]], by: Attribution, *, dry_run: bool) -> UndoResult:
    """Move memories of one agent from these daily logs to the archive, as one change."""
    ids = dict.fromkeys(each for path in places for each in places[path])
    records = [{"op": Op.ARCHIVE.value, "memory": each} for each in ids]
    return cut_out(vault, places, by=by, action=Action.ARCHIVE, records=records, dry_run=dry_run)


def archive_pages(hand: Hand, pages: Iterable[ArchivedFile], by: Attribution) -> list[str]:
    """Move whole pages to the archive, as one change; returns which, less those that somebody removed meanwhile."""
    moves: dict[str, tuple[PutPage, PutPage]] = {}
    for each in pages:
        if move := _page_moves(hand.vault, each, {put.path for put, _ in moves.values()}):
            moves[each.path] = move
    if moves:
        operations = tuple(each for pair in moves.values() for each in pair)
        hand.make(Change(operations=operations, by=by, action=Action.ARCHIVE))
    return list(moves)


def _page_moves(vault: Vault, kept: ArchivedFile, taken: Collection[str]) -> tuple[PutPage, PutPage] | None:
    day, page = page_date(kept.path) or from_us(kept.modified).date(), vault.page(kept.path)
    target = archive_page(kept.path, f"{day:%Y-%m}")
    if page is None or target is None:
        return None
    # An archived page is never written over.
    free = next(name for name in names_from(target) if name not in taken and vault.page(name) is None)
    return PutPage(free, page.content, None), PutPage(page.path, None, page.hash)


def compress(hand: Hand, paths: Iterable[str], by: Attribution) -> list[str]:
    """Compress these archived logs, one change a month; returns which.

    A log that was compressed before takes up what came beside it; where that cannot be, it stays beside it.
    """
    months: dict[str, list[str]] = {}
    for path in paths:
        months.setdefault(month_of(path) or "", []).append(path)
    return [path for month in sorted(months) for path in _compress_month(hand, months[month], by)]


def _compress_month(hand: Hand, paths: Sequence[str], by: Attribution) -> list[str]:
    packings = {path: packing for path in paths if (packing := _packing(hand, path))}
    if packings and not hand.dry_run:  # the difference would show the whole month
        operations = tuple(each for pair in packings.values() for each in pair)
        hand.make(Change(operations=operations, by=by, action=Action.ARCHIVE))
    return list(packings)


def _packing(hand: Hand, path: str) -> tuple[PutPage, PutPage] | None:
    page, target = hand.vault.page(path), f"{path}{SUFFIX}"
    there = hand.vault.page(target)
    if page is None:
        return None
    try:
        text = page.content if there is None else _together(path, text_of(target, there.content), page.content)
    except DiskError as error:
        hand.notes.append(f"{path} is not compressed: {error.message}")
        return None
    if text is None:
        return None
    return PutPage(target, pack(target, text), there.hash if there else None), PutPage(path, None, page.hash)


def _together(path: str, before: bytes, later: bytes) -> bytes | None:
    """Two parts of one archived log as one; None where the later one holds more than memories."""
    text = to_text(later)
    taken = excerpts(path, text, memories_in(path, later))
    return into_archive(path, before, taken) if is_bare(path, to_bytes(cut(text, taken))) else None


def month_of(path: str) -> str | None:
    """The month whose part of the archive a file is in."""
    match = _MONTH.search(path)
    return match[1] if match else None


def list_archive(hand: Hand, agent: str, files: Iterable[ArchivedFile], by: Attribution) -> None:
    """Bring `archive/index.md` up to date with these files of the archive."""
    path = f"{agent_root(agent)}/memory/archive/index.md"
    text, page = render_list(files).encode(), hand.vault.page(path)
    if (page.content if page else TITLE.encode()) != text:
        put = PutPage(path, text, page.hash if page else None)
        hand.make(Change(operations=(put,), by=by, action=Action.EDIT if page else Action.CREATE))


def render_list(files: Iterable[ArchivedFile]) -> str:
    """The months of an archive as a table."""
    months: dict[str, list[ArchivedFile]] = {}
    for each in files:
        if month := month_of(each.path):
            months.setdefault(month, []).append(each)
    return TITLE + "".join(_row(month, months[month]) for month in sorted(months))


def _row(month: str, files: Sequence[ArchivedFile]) -> str:
    days = sorted(day for each in files if (day := day_of(each.path) or page_date(each.path)))
    first, last = (days[0].isoformat(), days[-1].isoformat()) if days else ("", "")
    logs = [each.path for each in files if day_of(each.path)]
    packed = [is_packed(path) for path in logs]
    extent = "yes" if packed and all(packed) else "partly" if any(packed) else "no"
    names = {plain_name(each.path) for each in files}
    return f"| {month} | {sum(each.memories for each in files)} | {len(names)} | {first} | {last} | {extent} |\n"


# One question to the index says what is due; it leaves its logs in changes of limited size, each of which can be
# undone.

RETAINER = tender("retention")
FILES, MEMORIES = 50, 5000
"""How many daily logs, and how many memories, one change takes to the archive at most."""
NEVER = timedelta(0)
SHOWN = 200_000
"""Characters of difference after which a preview only counts."""


@frozen
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


def _archive_due(hand: Hand, found: DueForArchive, by: Attribution) -> None:
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


def _archived(index: Index, root: str) -> list[ArchivedFile]:
    return index.read(lambda connection: files_in(connection, f"{root}/memory/archive"))


def _day_of(path: str) -> int:
    day = page_date(path)
    return day_us(day) if day else 0


def _is_past(hand: Hand, since: int, span: timedelta) -> bool:
    """Whether a span other than zero is over."""
    return NEVER < span <= (to_us(hand.now) - since) * MICROSECOND


# Being used: what was opened or cited keeps a memory awake; what was only found does not.


def note_used(vault: Vault, library: Library, ids: Iterable[str] | str, by: Attribution) -> None:
    """Note that memories were used, each in the folder of its agent; what is only read is for its own to keep awake."""
    library.attend()
    given = [query.check_text("an id", each) for each in ([ids] if isinstance(ids, str) else ids)]
    places = [(each, found.path) for each in given if (found := library.find(each))]
    for agent in (library.agent, SHARED):
        if mine := [each for each, path in places if agent_of(path) == agent]:
            used(vault, agent, mine, by)


def used(vault: Vault, agent: str, ids: Iterable[str], by: Attribution) -> Receipt | None:
    """Note that these memories of an agent were used, as one change; who is named twice was used twice."""
    counts = Counter(ids)
    records = [{"op": Op.ACCESS.value, "memory": each, "count": count} for each, count in counts.items()]
    return vault.add_lines(state_ledger(agent), records, by) if records else None
