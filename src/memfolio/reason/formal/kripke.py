"""Possible worlds as bits of whole numbers: where a formula is true, in one model or in all models of a logic. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memfolio.errors import InputError
from memfolio.reason.effort import Effort
from memfolio.reason.expression import Term
from memfolio.reason.given import Given

LOGICS: Mapping[str, tuple[str, ...]] = {
    "K": (),
    "D": ("serial",),
    "T": ("reflexive",),
    "B": ("reflexive", "symmetric"),
    "S4": ("reflexive", "transitive"),
    "S5": ("reflexive", "symmetric", "transitive"),
    "KD45": ("serial", "transitive", "euclidean"),
}
"""What the relation between worlds is like in each logic."""


def extension(term: Term, atoms: Mapping[Any, int], everywhere: int, box: Callable[[Term, int], int]) -> int:
    """The worlds at which a formula is true; `box` says where its necessity is, given where it is true."""
    if term.op == "name":
        return atoms.get(term.value, 0)
    if term.op == "value":
        return everywhere if term.value else 0
    left, *others = (extension(each, atoms, everywhere, box) for each in term.parts)
    if term.op == "box":
        return box(term, left)
    if term.op in ("not", "iff"):
        return everywhere & ~(left ^ others[0] if others else left)
    return left & others[0] if term.op == "and" else (left if term.op == "or" else everywhere & ~left) | others[0]


def bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Worlds, which of them each one sees, and where each name is true."""

    worlds: Sequence[str]
    sees: Sequence[int]
    atoms: Mapping[str, int]

    @property
    def everywhere(self) -> int:
        return (1 << len(self.worlds)) - 1

    def where(self, term: Term) -> int:
        return extension(term, self.atoms, self.everywhere, lambda _, mask: self._necessary(mask))

    def _necessary(self, mask: int) -> int:
        return sum(1 << place for place, seen in enumerate(self.sees) if not seen & ~mask)

    def named(self, mask: int) -> list[str]:
        return [self.worlds[place] for place in bits(mask)]

    def as_values(self) -> dict[str, Any]:
        """The model for a program, in the form in which it is given."""
        true = [[name for name in sorted(self.atoms) if self.atoms[name] >> at & 1] for at in range(len(self.worlds))]
        sees = dict(zip(self.worlds, map(self.named, self.sees), strict=True))
        return {"worlds": [*self.worlds], "sees": sees, "true": dict(zip(self.worlds, true, strict=True))}

    def lacking(self, logic: str) -> list[str]:
        """The arrows that the relation has not, and must have in a logic."""
        arrows = {(one, other) for one, seen in enumerate(self.sees) for other in bits(seen)}
        wanted = {
            "reflexive": {(each, each) for each in range(len(self.worlds))},
            "symmetric": {(other, one) for one, other in arrows},
            "transitive": {(one, third) for one, other in arrows for third in bits(self.sees[other])},
            "euclidean": {(other, third) for one, other in arrows for third in bits(self.sees[one])},
        }
        missing = {arrow for each in LOGICS[logic] for arrow in wanted.get(each, set())} - arrows
        found = [f"{self.worlds[one]} sees {self.worlds[other]}" for one, other in sorted(missing)]
        blind = [name for name, seen in zip(self.worlds, self.sees, strict=True) if not seen]
        return found + [f"{name} sees a world" for name in blind if "serial" in LOGICS[logic]]


def read_model(given: Given, relation: str, logic: str, effort: Effort) -> Model:
    """The model in `worlds`, a relation such as `sees`, and `true`; its relation is as the logic wants it."""
    worlds = list(dict.fromkeys(given.texts("worlds", least=1)))
    effort.spend(len(worlds) ** 3)
    place = {name: at for at, name in enumerate(worlds)}
    seen, true = given.part(relation, {}), given.part("true", {})
    sees = {world: seen.texts(world, []) for world in (*worlds, *seen.names())}
    for name in (*sees, *true.names(), *(each for some in sees.values() for each in some)):
        if name not in place:
            raise InputError(f"{relation} or true names {name!r:.60}, which is no world", hint="list it in worlds")
    atoms = dict[str, int]()
    for world in true.names():
        for name in true.texts(world):
            atoms[name] = atoms.get(name, 0) | 1 << place[world]
    model = Model(worlds=worlds, sees=[sum(1 << place[each] for each in set(sees[one])) for one in worlds], atoms=atoms)
    if lacking := model.lacking(logic):
        raise InputError(f"for {logic} it is missing that {'; '.join(lacking[:10])}", hint=f"add it to {relation}")
    return model


class Space:
    """All sets of subformulas that some world of some model of a logic can make true: a finite canonical model.

    A row is a bit, and says which names and boxes are true. Rows with a box that is not true and no world to show why
    are struck out until none is left, as in Pratt's elimination of Hintikka sets. `background` holds at every world.
    """

    def __init__(self, formulas: Iterable[Term], logic: str, effort: Effort, background: Sequence[Term] = ()) -> None:
        parts = dict.fromkeys(each for term in (*formulas, *background) for each in term.within())
        self.names = sorted({str(each.value) for each in parts if each.op == "name"})
        boxes = [each for each in parts if each.op == "box"]
        size, self._kind = len(self.names) + len(boxes), LOGICS[logic]
        effort.spend(4**size // 2048 if boxes or "serial" in self._kind else 2**size)
        self.live = every = (1 << (1 << size)) - 1
        columns = enumerate((*self.names, *boxes))
        self._masks = {each: every // ((1 << (1 << at)) + 1) << (1 << at) for at, each in columns}
        self._boxes = [(self._masks[box], self.where(box.parts[0])) for box in boxes]
        for term in background:
            self.live &= self.where(term)
        for mask, inside in self._boxes if "reflexive" in self._kind else ():
            self.live &= ~mask | inside
        while gone := sum(1 << row for row in bits(self.live if boxes else 0) if not all(self.witnesses(row))):
            self.live &= ~gone

    def where(self, term: Term) -> int:
        """The rows that make a formula true."""
        every = (1 << (1 << len(self._masks))) - 1
        return extension(term, self._masks, every, lambda box, _: self._masks[box])

    def truths(self, row: int) -> dict[str, bool]:
        return {name: bool(self._masks[name] >> row & 1) for name in self.names}

    def seen(self, row: int) -> int:
        """The rows that a row sees."""
        found, (is_both, is_far) = self.live, (each in self._kind for each in ("symmetric", "transitive"))
        for mask, inside in self._boxes:
            if mask >> row & 1:
                found &= inside & (mask if is_far else inside)
            elif "euclidean" in self._kind or (is_both and is_far):
                found &= ~mask
            if is_both and not inside >> row & 1:
                found &= ~mask
        return found

    def witnesses(self, row: int) -> list[int]:
        """For each box that is not true at a row, rows that show why; for a serial relation, those it sees."""
        seen = self.seen(row)
        shown = [seen & ~inside for mask, inside in self._boxes if not mask >> row & 1]
        return [*shown, seen] if "serial" in self._kind else shown

    def model(self, row: int) -> Model:
        """A small model in which the first world makes true what the row does."""
        rows = [row]
        for each in rows:
            for found in self.witnesses(each):
                if not any(found >> known & 1 for known in rows):
                    rows.append(next(bits(found)))

        def among(mask: int) -> int:
            return sum(1 << place for place, each in enumerate(rows) if mask >> each & 1)

        names = [f"w{number}" for number in range(1, len(rows) + 1)]
        atoms = {name: among(self._masks[name]) for name in self.names}
        return Model(worlds=names, sees=[among(self.seen(each)) for each in rows], atoms=atoms)
