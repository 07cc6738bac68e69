"""Following what came from a source to everything that was made of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from memfolio.index.index import Index
from memfolio.index.lookup import Located
from memfolio.index.sourced import by_ids, lines_of, replaced_by
from memfolio.index.ties import made_of
from memfolio.sources import CORRECTION, sums_up
from memfolio.state import Op
from memfolio.stores.kin import MADE
from memfolio.types import MemoryItem, Store
from memfolio.vault.vault import Vault

HUMAN = "human"

Found = dict[str, Located]


class Trace:
    """What goes when these memories are taken back, and what stays though it came from there."""

    def __init__(self, vault: Vault, indexes: Sequence[Index], ids: Collection[str]) -> None:
        self.kept: Found = {}
        """What a person confirmed, pinned or corrected."""
        self._vault, self._indexes = vault, indexes
        self.going = self._not_kept(self._standing(ids))
        self.roots = len(self.going)
        self._follow()
        self.freed = self._freed()
        self.lifted = self._lifted()

    def _follow(self) -> None:
        """Add what was made of what goes, and so on; what also rests on others waits until these go, too."""
        waiting, corrections, fresh = Found(), set[str](), list(self.going)
        while fresh:
            made = self._standing({each for index in self._indexes for each in index.read(partial(made_of, ids=fresh))})
            later = self._standing({by for each in fresh if (by := self.going[each].item.superseded_by)})
            later = {each: one for each, one in later.items() if one.item.source == CORRECTION}
            corrections |= later.keys()
            known = self.going.keys() | self.kept.keys() | waiting.keys()
            found = {each: one for each, one in made.items() if _is_made(one.item)} | later
            waiting |= self._not_kept({each: one for each, one in found.items() if each not in known})
            rest = self._standing({each for one in waiting.values() for each in one.item.derived_from})
            rest = {each: one for each, one in rest.items() if each not in self.going}
            fresh = [each for each, one in waiting.items() if each in corrections or _goes(one.item, rest)]
            self.going |= {each: waiting.pop(each) for each in fresh}

    def _standing(self, ids: Collection[str]) -> Found:
        """Those of these memories that are there and not forgotten, in their order."""
        found = [one for index in self._indexes for one in index.read(partial(by_ids, ids=ids))]
        there = [one for one in found if one.form == "memory" and not one.item.forgotten_at]
        return {one.item.id: one for one in sorted(there, key=lambda one: one.item.id)}

    def _not_kept(self, found: Found) -> Found:
        """Those that no person stands behind; the others are kept."""
        kept = {line["memory"] for line in self._lines(found, Op.CONFIRM) if _is_person(line["actor"])}
        pins = {line["memory"] for line in self._lines(found, Op.PIN) if _is_person(line["actor"])}
        kept |= {each for each in pins if found[each].item.pinned}
        if corrections := {each for each, one in found.items() if one.item.source == CORRECTION}:
            lines = self._vault.trail.lines(containing=[f'"{HUMAN}'.encode()])
            kept |= {each for line in lines if _is_person(line.by.actor) for each in line.ids} & corrections
        self.kept |= {each: found[each] for each in kept}
        return {each: one for each, one in found.items() if each not in kept}

    def _lines(self, ids: Collection[str], op: Op) -> list[dict[str, Any]]:
        lines = [line for index in self._indexes for line in index.read(partial(lines_of, ids=ids, op=op.value))]
        return [{"actor": "", **line} for line in lines]

    def _freed(self) -> list[str]:
        """What was summed up together with something that goes, and can be summed up again without it."""
        summaries = [one for one in self.going.values() if sums_up(one.item)]
        parts = self._standing({each for one in summaries for each in one.item.derived_from} - self.going.keys())
        return sorted({line["memory"] for line in self._lines(parts, Op.STORE) if line.get("into") in self.going})

    def _lifted(self) -> dict[str, str | None]:
        """What something that goes took the place of, and what has its place then, if anything else had before."""
        found = {each for index in self._indexes for each in index.read(partial(replaced_by, ids=self.going))}
        lifted: dict[str, str | None] = dict.fromkeys(self._standing(found - self.going.keys()))
        for line in self._lines(lifted, Op.SUPERSEDE):
            if line.get("by") not in self.going:
                lifted[line["memory"]] = line.get("by")
        return lifted


def _is_made(item: MemoryItem) -> bool:
    return bool(item.derived_from) and item.source in MADE and item.store is not Store.VAULT


def _goes(item: MemoryItem, rest: Collection[str]) -> bool:
    """Whether nothing else bears it; a summary tells of all that it was made of, so that it goes with any."""
    return sums_up(item) or not any(each in rest for each in item.derived_from)


def _is_person(actor: object) -> bool:
    return str(actor).partition(":")[0] == HUMAN
