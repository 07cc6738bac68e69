"""Updating a memory: what is to be said instead is checked, merged with what others made of it meanwhile, and written.

What a memory said stays where it stands; its correction takes its place, in one change with whatever it contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from memfolio.errors import ConflictError, EditConflictError
from memfolio.index.index import Index
from memfolio.index.lookup import Located
from memfolio.intake import text_of
from memfolio.recall.library import Library
from memfolio.sources import CORRECTION
from memfolio.state import Op
from memfolio.stores import mend
from memfolio.stores.core import Core
from memfolio.stores.extract import resolved, stated
from memfolio.stores.kin import Kin, kin_of
from memfolio.types import Attribution, MemoryItem
from memfolio.vault.change import NewId, Receipt
from memfolio.vault.format.draft import check_text
from memfolio.vault.past.merge import merge_text, unified
from memfolio.vault.vault import Vault

ATTEMPTS = 8
MOST_WORDS = 5_000
"""Longer texts are merged line by line only."""
_WORDS = re.compile(r"\S+\s*|\s+")

Hunk = tuple[int, int, tuple[str, ...]]
"""Words of the base from the first number to the second become these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """What an update did: the memory that holds, what it took the place of, and what it stands against."""

    memory: MemoryItem
    superseded: tuple[str, ...] = ()
    """What it took the place of: the version before it, what was made of that, and what it contradicts."""
    conflicts: tuple[MemoryItem, ...] = ()
    """What it contradicts and what holds all the same."""
    merged: bool = False
    """Whether what others changed meanwhile is part of it."""
    diff: str = ""
    receipt: Receipt | None = None
    """None where the memory said so already."""


def update(
    vault: Vault,
    library: Library,
    located: Located,
    text: str,
    by: Attribution,
    *,
    base: str | None = None,
    conflicts: str | None = None,
) -> Updated:
    """Have a memory say `text`; `base` is what its writer saw, else what the version says that he names.

    What others changed meanwhile is kept: both changes are merged, and EditConflictError is raised where they are of
    the same words. `conflicts` takes the place of `learn.conflicts`.
    """
    wanted = check_text(text_of(text))
    seen = located.item.content if base is None else check_text(text_of(base))
    way = conflicts or vault.config.learn.conflicts
    for left in reversed(range(ATTEMPTS)):
        index, newest = _newest(vault, library, located)
        try:
            return _Update(vault, library, index, newest, by, way).make(
                seen, wanted, is_named=newest.item.id == located.item.id
            )
        except ConflictError as error:
            if not left or isinstance(error, EditConflictError) or _newest(vault, library, located)[1] == newest:
                raise
    raise AssertionError("an update is made, or refused")


def _newest(vault: Vault, library: Library, located: Located) -> tuple[Index, Located]:
    """The last correction of a memory as it stands in its file, with what people did to it there."""
    vault.writer.settle([located.path])
    index, here = _found(library, located.item.id)
    seen = {here.item.id}
    while here.item.superseded_by and here.item.superseded_by not in seen:
        seen.add(here.item.superseded_by)
        index, later = _found(library, here.item.superseded_by)
        if later.item.source != CORRECTION:
            raise ConflictError(
                f"{here.item.id} was replaced by {later.item.id}, which says: {later.item.content[:200]}",
                hint=f"correct {later.item.id} instead",
            )
        vault.writer.settle([later.path])
        index, here = _found(library, later.item.id)
    return index, here


def _found(library: Library, id: str) -> tuple[Index, Located]:
    found = library.locate(id)
    if found is None:
        raise ConflictError(f"{id} is gone", hint="somebody removed it; remember the text anew")
    return found


@dataclass(frozen=True, slots=True)
class _Update:
    """One attempt to update a memory as it stands."""

    vault: Vault
    library: Library
    index: Index
    located: Located
    by: Attribution
    way: str

    def make(self, seen: str, wanted: str, *, is_named: bool) -> Updated:
        old = self.located.item
        text = merged(seen, wanted, old.content)
        if text is None:
            raise EditConflictError(old.id, current=old.content, base=seen, wanted=wanted)
        if text == old.content and not (is_named and seen == text):
            return Updated(memory=old)  # somebody else said the same
        kin = kin_of(self.index, [old.id])
        replaced, kept = self._contradictions(text, {old.id, *kin.going})
        receipt = self._write(text, kin, replaced, kept)
        self._pin_anew(receipt.items[0].id)
        return Updated(
            memory=replace(receipt.items[0], pinned=old.pinned),
            superseded=(old.id, *kin.going, *replaced),
            conflicts=tuple(_found(self.library, each)[1].item for each in kept),
            merged=text != wanted,
            diff=unified(old.id, f"{old.content}\n", f"{text}\n"),
            receipt=receipt,
        )

    def _write(self, text: str, kin: Kin, replaced: Sequence[str], kept: Sequence[str]) -> Receipt:
        lines: list[dict[str, Any]] = [{"op": Op.SUPERSEDE.value, "memory": each, "by": NewId(0)} for each in replaced]
        lines += [{"op": Op.EDGE.value, "memory": NewId(0), "to": each, "type": "contradicts"} for each in kept]
        self.library.attend()
        return mend.correct(self.vault, self.located, text, self.by, kin, lines)

    def _pin_anew(self, id: str) -> None:
        """Let core memory cite the correction where it cites what was corrected."""
        core = Core(self.vault, self.library.index.agent, find=lambda each: _found(self.library, each)[1])
        if self.located.item.id in core.read().text:
            core.unpin(self.located.item.id, by=self.by)
            core.pin(id, by=self.by)

    def _contradictions(self, text: str, own: set[str]) -> tuple[list[str], list[str]]:
        """What else cannot be true together with the text: what gives way to it, and what stays beside it.

        A word that is later than what the memory is about, or that a person stands behind, stays.
        """
        old = self.located.item
        statement = stated(text, old.user, type=old.type, kind=old.kind)
        at = old.event_time or self.vault.home.now()
        found = resolved(self.index, [(statement, at)], self.way, None)
        older = [each for each, _ in found.replaced]
        others = [*(each.old.ref for each in found.contradicting), *(each for _, each in found.replaced)]
        replaced, kept = (
            [each for each in refs if isinstance(each, str) and each not in own] for refs in (older, others)
        )
        return replaced, kept


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Both sides' changes of a text, by lines and where these overlap by words; None where the words do, too."""
    by_lines = merge_text(f"{base}\n", f"{ours}\n", f"{theirs}\n")
    return by_lines.removesuffix("\n") if by_lines is not None else _merged_words(base, ours, theirs)


def _merged_words(base: str, ours: str, theirs: str) -> str | None:
    """The same by words. Between changes of both sides must be a word that neither changed: "3 pm" is one thing."""
    words = _WORDS.findall(f"{base} ")
    sides = [_hunks(words, _WORDS.findall(f"{side} ")) for side in (ours, theirs)]
    if any(side is None for side in sides):
        return None
    mine, other = (set(side or ()) for side in sides)
    if any(_is_near(one, two) for one in mine - other for two in other - mine):
        return None
    return "".join(_apply(words, sorted(mine | other)))[:-1]


def _hunks(base: Sequence[str], side: Sequence[str]) -> list[Hunk] | None:
    if max(len(base), len(side)) > MOST_WORDS:
        return None
    codes = SequenceMatcher(None, base, side, autojunk=False).get_opcodes()
    return [(lo, hi, tuple(side[start:end])) for tag, lo, hi, start, end in codes if tag != "equal"]


def _is_near(one: Hunk, two: Hunk) -> bool:
    first, second = sorted((one, two))
    return second[0] <= first[1]


def _apply(base: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    found, at = list[str](), 0
    for lo, hi, words in hunks:
        found += [*base[at:lo], *words]
        at = hi
    return [*found, *base[at:]]
