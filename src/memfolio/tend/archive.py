"""The archive: memories and pages move there, old logs in it are compressed, and a page lists what it holds.

Nothing is deleted, and `restore` brings any of it back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from memfolio.errors import ConflictError, DiskError, InputError
from memfolio.index.aging import Kept
from memfolio.index.lookup import Located
from memfolio.index.pages import page_date
from memfolio.index.rows import from_us
from memfolio.state import Op
from memfolio.stores.mend import Mended
from memfolio.tend.hand import Hand
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.excerpt import cut, excerpts, into_archive, is_bare, memories_in
from memfolio.vault.format.packed import SUFFIX, is_packed, pack, plain_name, text_of
from memfolio.vault.move import cut_out
from memfolio.vault.past.past import Outcome
from memfolio.vault.past.rollback import names_from
from memfolio.vault.paths import agent_root, archive_page, day_of, ledger_of
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault

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


def archive(vault: Vault, places: Mapping[str, Collection[str]], by: Attribution, *, dry_run: bool) -> Outcome:
    """Move memories of one agent from these daily logs to the archive, as one change."""
    ids = dict.fromkeys(each for path in places for each in places[path])
    records = [{"op": Op.ARCHIVE.value, "memory": each} for each in ids]
    return cut_out(vault, places, by=by, action=Action.ARCHIVE, records=records, dry_run=dry_run)


def archive_pages(hand: Hand, pages: Iterable[Kept], by: Attribution) -> list[str]:
    """Move whole pages to the archive, as one change; returns which, less those that somebody removed meanwhile."""
    moves: dict[str, tuple[PutPage, PutPage]] = {}
    for each in pages:
        if move := _page_moves(hand.vault, each, {put.path for put, _ in moves.values()}):
            moves[each.path] = move
    if moves:
        operations = tuple(each for pair in moves.values() for each in pair)
        hand.make(Change(operations=operations, by=by, action=Action.ARCHIVE))
    return list(moves)


def _page_moves(vault: Vault, kept: Kept, taken: Collection[str]) -> tuple[PutPage, PutPage] | None:
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


def list_archive(hand: Hand, agent: str, files: Iterable[Kept], by: Attribution) -> None:
    """Bring `archive/index.md` up to date with these files of the archive."""
    path = f"{agent_root(agent)}/memory/archive/index.md"
    text, page = render_list(files).encode(), hand.vault.page(path)
    if (page.content if page else TITLE.encode()) != text:
        put = PutPage(path, text, page.hash if page else None)
        hand.make(Change(operations=(put,), by=by, action=Action.EDIT if page else Action.CREATE))


def render_list(files: Iterable[Kept]) -> str:
    """The months of an archive as a table."""
    months: dict[str, list[Kept]] = {}
    for each in files:
        if month := month_of(each.path):
            months.setdefault(month, []).append(each)
    return TITLE + "".join(_row(month, months[month]) for month in sorted(months))


def _row(month: str, files: Sequence[Kept]) -> str:
    days = sorted(day for each in files if (day := day_of(each.path) or page_date(each.path)))
    first, last = (days[0].isoformat(), days[-1].isoformat()) if days else ("", "")
    logs = [each.path for each in files if day_of(each.path)]
    packed = [is_packed(path) for path in logs]
    extent = "yes" if packed and all(packed) else "partly" if any(packed) else "no"
    names = {plain_name(each.path) for each in files}
    return f"| {month} | {sum(each.memories for each in files)} | {len(names)} | {first} | {last} | {extent} |\n"
