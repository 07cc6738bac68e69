"""Conflict copies of sync programs: ledgers are merged by id, copies of pages are moved to `conflicts/`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import partial
from typing import TYPE_CHECKING

from memfolio.errors import ConflictError, DiskError, FileNotHereError, HomeBusyError, InputError
from memfolio.types import Action, Attribution
from memfolio.vault.change import AddBlocks, Allowed, Change, Operation, Page, PutPage
from memfolio.vault.journal import to_bytes
from memfolio.vault.paths import SHARED, Form, Ledger, agent_of, agent_root, form_of, ledger_of
from memfolio.vault.reconcile import blocks_of

if TYPE_CHECKING:
    from memfolio.vault.move import Excerpt
    from memfolio.vault.vault import Vault

SYNC = Attribution(actor="system:sync", trigger="conflict-copy")
_MARKS = (
    r" \((?:[^()]+ )?conflicted copy(?: [^()]+)?\)",  # Dropbox, Nextcloud, ownCloud, Obsidian
    r" \((?:case|unicode encoding|selective sync|whitespace) conflict(?: \d+)?\)",  # Dropbox
    r"\.sync-conflict-\d{8}-\d{6}(?:-\w+)?",  # Syncthing
    r"[_-]conflict-\d{8}-\d{6}",  # ownCloud, once
    r" \(SFConflict [^()]+\)",  # Seafile
    r"_[^_]+_[a-z]{3}-\d\d-\d{4,6}-\d{4}_[a-z]*conflict(?:_\d+)?",  # Synology Drive
    r"\.conflict\d*",  # Resilio Sync
)
_COPY = re.compile(rf"(?i)(?P<stem>.+?)(?:{'|'.join(_MARKS)})(?P<suffix>\.\w+)")


def original_of(path: str) -> str | None:
    """The file that `path` is a conflict copy of if that file exists, by the names that sync programs give."""
    folder, _, name = path.rpartition("/")
    match = _COPY.fullmatch(name)
    if match is None or folder.endswith("/conflicts"):
        return None
    return f"{folder}/{match['stem']}{match['suffix']}"


def merge_copies(vault: Vault, files: Iterable[str], *, originals: Container[str]) -> list[str]:
    """Take in every conflict copy of one of `originals`; returns the changed files.

    A copy that cannot be taken in is reported and stays.
    """
    changed: list[str] = []
    named = [(original, copy) for copy in files if (original := original_of(copy)) and original in originals]
    # Logs come last: what the state of another machine forgets or calls back is known by then.
    for original, copy in sorted(named, key=lambda each: form_of(each[0]) is Form.LOG):
        try:
            changed += _take_in(vault, original, copy)
        except (InputError, ConflictError, DiskError, FileNotHereError, HomeBusyError) as error:
            vault.problems[copy] = f"is a conflict copy that could not be merged: {error.message}"
    return changed


def _take_in(vault: Vault, original: str, copy: str) -> tuple[str, ...]:
    from memfolio.vault.past.rollback import without_forgotten

    page = vault.page(copy)
    if page is None:
        return ()
    rest, forgotten = without_forgotten(original, page.content, vault.journal.files, partial(_state, vault))
    operations = [
        *_missing_blocks(vault, original, rest),
        *_set_aside(vault, original, page, rest),
        *_archived(vault, original, forgotten),
    ]
    merge = Change(operations=tuple(operations), by=SYNC, action=Action.MERGE)
    return vault.writer.apply(Allowed(merge)).paths


def _state(vault: Vault, path: str) -> bytes | None:
    try:
        return vault.journal.read(path)
    except OSError as error:
        raise DiskError(f"{path} does not tell what was forgotten: {error}", hint="make it readable") from error


def _archived(vault: Vault, original: str, forgotten: list[Excerpt]) -> list[Operation]:
    """Archive forgotten entries unless they are there already; other versions of them are in git."""
    if not forgotten:
        return []
    from memfolio.vault.move import into_archive
    from memfolio.vault.past.rollback import archive_of, missing_from

    target = archive_of(original)
    page = vault.page(target)
    before = page.content if page else None
    missing = missing_from(target, before, forgotten)
    return [PutPage.over(page, target, into_archive(target, before, missing))] if missing else []


def _missing_blocks(vault: Vault, original: str, copy: bytes) -> list[Operation]:
    """Return the blocks that the copy of a ledger has and the ledger lacks."""
    if (named := ledger_of(original)) is None:
        return []
    present = {each for part in _parts(vault, named[0]) for each, _ in blocks_of(original, part)}
    missing = [(each, to_bytes(text.rstrip("\n") + "\n")) for each, text in blocks_of(original, copy) if each]
    missing = [(each, block) for each, block in missing if each not in present]
    if not missing:
        return []
    return [AddBlocks(named[0], tuple(block for _, block in missing), tuple(each for each, _ in missing))]


def _parts(vault: Vault, ledger: Ledger) -> list[bytes]:
    paths = [ledger.part(number) for number in range(1, vault.journal.newest_part(ledger) + 1)]
    return [page.content for path in paths if (page := vault.page(path))]


def _set_aside(vault: Vault, original: str, copy: Page, rest: bytes) -> list[Operation]:
    """Remove the copy; text that the original lacks is kept as a page under `conflicts/`."""
    from memfolio.vault.move import is_bare

    page = vault.page(original)
    operations: list[Operation] = [PutPage(copy.path, None, copy.hash)]
    if ledger_of(original) and page and _is_covered(original, page.content, rest):
        return operations
    if rest != copy.content and is_bare(original, rest):
        return operations
    name = copy.path.rpartition("/")[2]
    target = f"{agent_root(agent_of(copy.path) or SHARED)}/memory/conflicts/{name}"
    existing = vault.page(target)
    return [*operations, PutPage.over(existing, target, rest)]


def _is_covered(path: str, original: bytes, copy: bytes) -> bool:
    """Whether every block of the copy is in the original as it is, or will be, because it has an id of its own."""
    blocks = blocks_of(path, original)
    ids = {each: text.strip() for each, text in blocks if each}
    texts = {text.strip() for _, text in blocks}
    return all(
        ids.get(each, text.strip()) == text.strip() if each else text.strip() in texts
        for each, text in blocks_of(path, copy)
    )
