"""Updating a memory: what is to be said instead is checked, merged with what others made of it meanwhile, and written.

What a memory said stays where it stands; its correction takes its place, in one change with whatever it contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from memfolio.arguments import text_of
from memfolio.errors import ConflictError, EditConflictError, RefusedError
from memfolio.govern.gate import AGENT, OWNER
from memfolio.index.index import Index
from memfolio.index.lookup import Located
from memfolio.index.notes import NOTE
from memfolio.recall.searcher import Searcher
from memfolio.state import Op
from memfolio.stores import edit
from memfolio.stores.core import CRITICAL, Core, CorePage
from memfolio.stores.edit import dependents_of
from memfolio.stores.flush import resolved, stated
from memfolio.types import CORRECTION, Attribution, MemoryItem, Origin, frozen
from memfolio.vault.change import NewId, Receipt
from memfolio.vault.past.merge import merge_blocks, unified
from memfolio.vault.vault import Vault

_PRONOUN = r"(?:It|He|She|We|They|This|That|These|Those|Its|His|Her|Our|Their|There)\b"
_BETWEEN = re.compile(rf"(?=\n)|(?<=[.!?;…])(?=\s+(?!{_PRONOUN})[^\sa-z])|(?<=[。！？])")
"""The end of a line or sentence; a sentence that begins with a pronoun belongs to the one before it."""


@frozen
class Updated:
    """The result of an update: the new version, what it replaced, and what it contradicts."""

    memory: MemoryItem
    superseded: tuple[str, ...] = ()
    """What it took the place of: the version before it, what was made of that, and what it contradicts."""
    conflicts: tuple[MemoryItem, ...] = ()
    """Memories that it contradicts and that stay valid."""
    merged: bool = False
    """Whether concurrent changes of others were merged in."""
    diff: str = ""
    receipt: Receipt | None = None
    """None if the memory already said so."""


def update(
    vault: Vault, searcher: Searcher, id: str, text: str, by: Attribution, *, base: str | None = None
) -> Updated:
    """Have a memory say `text`; `base` is what its writer saw, else what the version says that he names.

    What others changed meanwhile is kept: both changes are merged, and EditConflictError is raised where they are of
    the same sentence.
    """
    wanted, (_, located) = text_of(text), searcher.require(id)
    seen = located.item.content if base is None else text_of(base)
    # Opening the index may take long; nobody should wait for the lock meanwhile.
    searcher.prepare()
    with vault.exclusive():  # of several who correct it at once, each finds what the one before made of it
        index, newest = _newest(vault, searcher, located)
        old = newest.item
        both = merged(seen, wanted, old.content)
        if both is None:
            raise EditConflictError(old.id, current=old.content, base=seen, wanted=wanted)
        if both == old.content:
            return Updated(memory=old)
        dependents = dependents_of(index, [old.id])
        replaced, kept = _contradictions(vault, index, old, both, {old.id, *dependents.going})
        lines: list[dict[str, Any]] = [{"op": Op.SUPERSEDE, "memory": each, "by": NewId(0)} for each in replaced]
        lines += [{"op": Op.EDGE, "memory": NewId(0), "to": each, "type": "contradicts"} for each in kept]
        receipt = edit.correct(vault, newest, both, by, dependents, lines, origin=_origin(vault, old, by))
    # The pin is a line beside the entry, which the receipt does not fold in.
    made = replace(receipt.items[0], pinned=old.pinned)
    _cite(Core(vault, searcher.index.agent), old, made, by)
    return Updated(
        memory=made,
        superseded=(old.id, *dependents.going, *replaced),
        conflicts=tuple(_found(searcher, each)[1].item for each in kept),
        merged=both != wanted,
        diff=unified(old.id, f"{old.content}\n", f"{both}\n"),
        receipt=receipt,
    )


def _newest(vault: Vault, searcher: Searcher, located: Located) -> tuple[Index, Located]:
    """The last correction of a memory as it stands in its file, with what people did to it there."""
    if located.form != NOTE:
        vault.reconcile([located.path])
    index, here = _found(searcher, located.item.id)
    seen = {here.item.id}
    while (later := here.item.superseded_by) and later not in seen:
        seen.add(later)
        before = here.item.id
        vault.reconcile([_found(searcher, later)[1].path])
        index, here = _found(searcher, later)
        if here.item.source != CORRECTION:
            raise ConflictError(
                f"{before} was replaced by {later}, which says: {here.item.content[:200]}",
                hint=f"correct {later} instead",
            )
    return index, here


def _found(searcher: Searcher, id: str) -> tuple[Index, Located]:
    found = searcher.locate(id)
    if found is None:
        raise ConflictError(f"{id} is gone", hint="somebody removed it; remember the text anew")
    return found


def _contradictions(
    vault: Vault, index: Index, old: MemoryItem, text: str, own: Collection[str]
) -> tuple[list[str], list[str]]:
    """What else cannot be true together with the text: what gives way to it, and what stays beside it.

    A word that is later than what the memory is about, or that a person stands behind, stays.
    """
    statement = stated(text, old.user, type=old.type, kind=old.kind)
    at = old.event_time or vault.home.now()
    found = resolved(index, [(statement, at)], vault.config.learn.conflicts)
    # In `replaced` the text itself may stand on either side: it replaces, or it is older.
    older = [each for each, _ in found.replaced]
    others = [*(each.old.ref for each in found.contradicting), *(each for _, each in found.replaced)]
    replaced, kept = ([each for each in refs if isinstance(each, str) and each not in own] for refs in (older, others))
    return replaced, kept


def _origin(vault: Vault, old: MemoryItem, by: Attribution) -> Origin:
    """Whose word a correction is: as little to be trusted as what it corrects, and the owner's only if he makes it."""
    speaker = vault.speaker
    is_owner = speaker == OWNER or (speaker != AGENT and by.actor.partition(":")[0] == "human")
    return Origin.AGENT if old.origin is Origin.OWNER and not is_owner else old.origin


def _cite(core: Core, old: MemoryItem, made: MemoryItem, by: Attribution) -> None:
    """Let core memory cite the correction where it cites what was corrected, or neither where that has no room."""
    if all(line.id != old.id for line in CorePage(core.read().text).items(CRITICAL)):
        return
    with suppress(RefusedError):  # by the policy; the memory is corrected all the same
        try:
            core.replace(CRITICAL, old.id, f"{made.content} [{made.id}]", by=by)
        except RefusedError:
            core.remove(CRITICAL, old.id, by=by)


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Both sides' changes of a text, line by line and sentence by sentence; None where both changed the same one.

    Two changes of one sentence are not put together: that would say what neither side does.
    """
    pieces = merge_blocks(_BETWEEN.split(base), _BETWEEN.split(ours), _BETWEEN.split(theirs))
    return None if pieces is None else "".join(pieces)
