"""Following what came from a source to everything that was made of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from memfolio.index.index import Index
from memfolio.index.lookup import Located
from memfolio.index.sourced import by_ids, lines_of, of_source, replaced_by
from memfolio.index.ties import made_of
from memfolio.sources import CORRECTION, REFLECTION, sums_up
from memfolio.state import Op
from memfolio.stores.kin import MADE
from memfolio.types import MemoryItem, Store
from memfolio.vault.vault import Vault

HUMAN = "human"
OF_OTHERS = MADE | {REFLECTION}

Found = dict[str, Located]


class Trace:
    """What goes when a source is taken back, and what stays though it came from there."""

    def __init__(self, vault: Vault, indexes: Sequence[Index], source: str, named: Iterable[str]) -> None:
        self.kept: Found = {}
        """What a person confirmed, pinned or corrected."""
        self._vault = vault
        self._indexes = indexes
        self._corrections: set[str] = set()
        """Those of what goes."""
        roots = {each for index in indexes for each in index.read(partial(of_source, source=source))}
        self.going = self._not_kept(self._standing({*roots, *named}))
        self.roots = len(self.going)
        self._follow()

    def _follow(self) -> None:
        """Add what was made of what goes, and so on; what also rests on others waits until these go, too."""
        waiting: Found = {}
        fresh = list(self.going)
        while fresh:
            made = self._made_of(fresh) - self.going.keys() - self.kept.keys() - waiting.keys()
            waiting |= self._not_kept({each: one for each, one in self._standing(made).items() if self._is_made(one)})
            rest = self._standing({each for one in waiting.values() for each in one.item.derived_from})
            fresh = [each for each, one in waiting.items() if self._goes(one.item, rest.keys() - self.going.keys())]
            self.going |= {each: waiting.pop(each) for each in fresh}

    def _made_of(self, ids: Collection[str]) -> set[str]:
        made = {each for index in self._indexes for each in index.read(partial(made_of, ids=ids))}
        later = {by for each in ids if (by := self.going[each].item.superseded_by)}
        corrections = {each for each, one in self._standing(later).items() if one.item.source == CORRECTION}
        self._corrections |= corrections
        return made | corrections

    def _is_made(self, found: Located) -> bool:
        item = found.item
        is_of_others = bool(item.derived_from) and item.source in OF_OTHERS and item.store is not Store.VAULT
        return is_of_others or item.id in self._corrections

    def _goes(self, item: MemoryItem, rest: Collection[str]) -> bool:
        """Whether nothing else bears it; a summary tells of all that it was made of, so that it goes with any."""
        is_told = item.id in self._corrections or sums_up(item)
        return is_told or not any(each in rest for each in item.derived_from)

    def _standing(self, ids: Collection[str]) -> Found:
        """Those of these memories that are there and not forgotten, in their order."""
        found = [one for index in self._indexes for one in index.read(partial(by_ids, ids=ids))]
        there = [one for one in found if one.form == "memory" and not one.item.forgotten_at]
        return {one.item.id: one for one in sorted(there, key=lambda one: one.item.id)}

    def _not_kept(self, found: Found) -> Found:
        """Those that no person stands behind; the others are kept."""
        kept = {*self._noted(found, Op.CONFIRM)}
        kept |= {each for each in self._noted(found, Op.PIN) if found[each].item.pinned}
        if corrections := {each for each, one in found.items() if one.item.source == CORRECTION}:
            lines = self._vault.trail.lines(containing=[f'"{HUMAN}'.encode()])
            kept |= {each for line in lines if _is_person(line.by.actor) for each in line.ids} & corrections
        self.kept |= {each: found[each] for each in kept}
        return {each: one for each, one in found.items() if each not in kept}

    def _noted(self, ids: Collection[str], op: Op) -> Iterator[str]:
        for line in self._lines(ids, op):
            if _is_person(str(line.get("actor"))):
                yield line["memory"]

    def _lines(self, ids: Collection[str], op: Op) -> list[dict[str, Any]]:
        return [dict(line) for index in self._indexes for line in index.read(partial(lines_of, ids=ids, op=op.value))]

    def freed(self) -> list[str]:
        """What was summed up together with something that goes, and can be summed up again without it."""
        summaries = [one for one in self.going.values() if sums_up(one.item)]
        parts = {each for one in summaries for each in one.item.derived_from} - self.going.keys()
        return sorted({line["memory"] for line in self._lines(self._standing(parts), Op.STORE) if self._into(line)})

    def _into(self, line: dict[str, Any]) -> bool:
        return line.get("into") in self.going

    def lifted(self) -> dict[str, str | None]:
        """What something that goes took the place of, and what has its place then, if anything else had before."""
        found = {each for index in self._indexes for each in index.read(partial(replaced_by, ids=self.going))}
        lifted: dict[str, str | None] = dict.fromkeys(self._standing(found - self.going.keys()))
        for line in self._lines(lifted, Op.SUPERSEDE):
            if line.get("by") not in self.going:
                lifted[line["memory"]] = line.get("by")
        return lifted


def _is_person(actor: str) -> bool:
    return actor.partition(":")[0] == HUMAN
