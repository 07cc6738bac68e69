"""What formal methods share: suppositions, models of possible worlds, and what follows from formulas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, Protocol, TypeVar

from memfolio.errors import InputError, RuleError
from memfolio.index.rows import to_us
from memfolio.knowledge.engine import Beside
from memfolio.knowledge.inference import as_goal
from memfolio.knowledge.join import Atom, MemoryRelations, Relations, Triple
from memfolio.knowledge.prove import Prover
from memfolio.knowledge.rule import Condition, Rule, check_rule, parse, variables
from memfolio.knowledge.rules import as_rule
from memfolio.reason.expression import Expression, formula
from memfolio.reason.inputs import Effort, Finding, Texts, World, one_of, smallest

T = TypeVar("T")

# The facts and rules that are given with a question, and count for it only.


class Supposing(Protocol):
    """The inputs of methods that work on facts and rules."""

    @property
    def facts(self) -> Texts: ...
    @property
    def rules(self) -> Texts: ...
    @property
    def only_given(self) -> bool: ...


class Supposed:
    """What is given as `facts` and `rules`, beside what the agent knows, or with `only_given` alone."""

    def __init__(self, given: Supposing, world: World) -> None:
        self._world, self._is_alone, self.now = world, given.only_given, to_us(world.now)
        self._facts = [_fact(each, f"facts[{at}]") for at, each in enumerate(given.facts)]
        said = [_rule(each, at) for at, each in enumerate(given.rules)]
        self.rules = [*([] if self._is_alone else world.rules.list(enabled=True)), *said]

    def ask(self, question: Callable[[Prover], T], without: Collection[Triple] = ()) -> T:
        """Ask about all that holds and follows, as if some facts were not there."""

        def ask(stored: Relations) -> T:
            return question(Prover(_Less(Beside(stored, self._facts), without), self.rules))

        return ask(MemoryRelations()) if self._is_alone else self._world.inference.supposing(ask)


class _Less(NamedTuple):
    """Facts without some."""

    relations: Relations
    without: Collection[Triple]

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        found = self.relations.match(predicate, subject, object)
        return [each for each in found if each.triple not in self.without]


def triple_in(text: str, place: str) -> Condition:
    """A triple as rules have it: `acme hasRevenue $60,000`, with quotes around what has spaces, ?x for anything."""
    try:
        part, *others = parse(f"{text} => a b c").conditions
    except RuleError as error:
        raise InputError(f"{place} is no fact: {error.message}", hint=error.hint) from error
    if others or not isinstance(part, Condition) or part.negated:
        raise InputError(f"{place} is {text!r:.80}", hint="give one subject, predicate and object")
    return as_goal(part.subject, part.predicate, part.object)


def _fact(text: str, place: str) -> Triple:
    found = triple_in(text, place)
    if variables(found.terms):
        raise InputError(f"{place} has a variable", hint="name what it is about, or make it a rule")
    return found.subject, found.predicate, found.object


def _rule(text: str, at: int) -> Rule:
    try:
        return check_rule(replace(as_rule(text), id=f"given-{at}"))
    except RuleError as error:
        raise InputError(f"rules[{at}]: {error.message}", hint=error.hint) from error


# Possible worlds as bits of whole numbers: where a formula is true, in one model or in all of them. Pure.

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


def extension(
    term: Expression, atoms: Mapping[Any, int], everywhere: int, box: Callable[[Expression, int], int]
) -> int:
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
class KripkeModel:
    """Worlds, which of them each one sees, and where each name is true."""

    worlds: Sequence[str]
    sees: Sequence[int]
    atoms: Mapping[str, int]

    @property
    def everywhere(self) -> int:
        return (1 << len(self.worlds)) - 1

    def where(self, term: Expression) -> int:
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


def read_model(worlds: Texts, sees: Mapping[str, Texts], true: Mapping[str, Texts], logic: str) -> KripkeModel:
    """A model whose relation is as the logic wants it."""
    names = list(dict.fromkeys(worlds))
    place = {name: at for at, name in enumerate(names)}
    for name in (*sees, *true, *(each for some in sees.values() for each in some)):
        if name not in place:
            raise InputError(f"{name!r:.60}, which is no world, is named", hint="list it in worlds")
    seen = [sum(1 << place[each] for each in set(sees.get(one, ()))) for one in names]
    atoms = dict[str, int]()
    for world, facts in true.items():
        for name in facts:
            atoms[name] = atoms.get(name, 0) | 1 << place[world]
    model = KripkeModel(worlds=names, sees=seen, atoms=atoms)
    if lacking := model.lacking(logic):
        raise InputError(f"for {logic} it is missing that {'; '.join(lacking[:10])}", hint="add it to the relation")
    return model


def in_model(text: str, asked: Expression, model: KripkeModel, at: str | None, effort: Effort) -> Finding:
    """Whether a formula is true at a world of a model, or at all of them."""
    goal = 1 << model.worlds.index(one_of("at", at, model.worlds)) if at else model.everywhere
    where = model.where(asked)
    false = ", ".join(model.named(goal & ~where))
    parts = {each: ", ".join(model.named(model.where(each))) for each in asked.within()}
    effort.spend(len(model.worlds) ** 2 * (len(model.worlds) + len(parts)))
    others = _neighbours(asked, model)
    verdict = f"false at {false}" if false else f"true at {at or 'every world'}"
    return Finding(
        f"{text} is {verdict}",
        confidence=1.0,
        steps=[f"{each} is true at {places or 'no world'}" for each, places in parts.items()],
        would_change=[words for words, other in others if bool(goal & ~other.where(asked)) != bool(false)],
        answer={"holds": not false, "claim": text, "true_at": model.named(where), "model": model.as_values()},
    )


def _neighbours(asked: Expression, model: KripkeModel) -> Iterator[tuple[str, KripkeModel]]:
    """The models that differ in a single truth or arrow."""
    for at, world in enumerate(model.worlds):
        for name in sorted(asked.names()):
            mask = model.atoms.get(name, 0) ^ 1 << at
            words = f"if {name} were {'true' if mask >> at & 1 else 'false'} at {world}"
            yield words, replace(model, atoms={**model.atoms, name: mask})
        for to, other in enumerate(model.worlds):
            sees = [seen ^ (1 << to) * (place == at) for place, seen in enumerate(model.sees)]
            yield f"if {world} {'saw' if sees[at] >> to & 1 else 'did not see'} {other}", replace(model, sees=sees)


class Space:
    """All sets of subformulas that a world can make true which sees some world: a finite canonical model of logic D.

    A row is a bit, and says which names and boxes are true. Rows with a box that is not true and no world to show why
    are struck out until none is left, as in Pratt's elimination of Hintikka sets. `background` holds at every world.
    Without boxes this is a table of truths.
    """

    def __init__(self, formulas: Iterable[Expression], effort: Effort, background: Sequence[Expression] = ()) -> None:
        parts = dict.fromkeys(each for term in (*formulas, *background) for each in term.within())
        self.names = sorted({str(each.value) for each in parts if each.op == "name"})
        boxes = [each for each in parts if each.op == "box"]
        size = len(self.names) + len(boxes)
        effort.spend(4**size // 2048 if boxes else 2**size)
        self.live = every = (1 << (1 << size)) - 1
        columns = enumerate((*self.names, *boxes))
        self._masks = {each: every // ((1 << (1 << at)) + 1) << (1 << at) for at, each in columns}
        self._boxes = [(self._masks[box], self.where(box.parts[0])) for box in boxes]
        for term in background:
            self.live &= self.where(term)
        while gone := sum(1 << row for row in bits(self.live if boxes else 0) if not all(self.witnesses(row))):
            self.live &= ~gone

    def where(self, term: Expression) -> int:
        """The rows that make a formula true."""
        every = (1 << (1 << len(self._masks))) - 1
        return extension(term, self._masks, every, lambda box, _: self._masks[box])

    def truths(self, row: int) -> dict[str, bool]:
        return {name: bool(self._masks[name] >> row & 1) for name in self.names}

    def seen(self, row: int) -> int:
        """The rows that a row sees."""
        return reduce(and_, (inside for mask, inside in self._boxes if mask >> row & 1), self.live)

    def witnesses(self, row: int) -> list[int]:
        """For each box that is not true at a row, rows that show why; and those it sees, which must be some."""
        seen = self.seen(row)
        return [*(seen & ~inside for mask, inside in self._boxes if not mask >> row & 1), seen]

    def model(self, row: int) -> KripkeModel:
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
        return KripkeModel(worlds=names, sees=[among(self.seen(each)) for each in rows], atoms=atoms)


# What follows from formulas that are taken to be true, which of them are needed for it, and which contradict.


def formulas(texts: Texts, name: str, modal: Mapping[str, str] | None = None) -> dict[str, Expression]:
    """A list of formulas, by their texts."""
    return {each: formula(each, f"{name}[{at}]", modal) for at, each in enumerate(texts)}


class Theory:
    """Premises by their texts, and a goal; `background` holds at every world."""

    def __init__(
        self,
        premises: Mapping[str, Expression],
        goal: Expression | None,
        effort: Effort,
        background: Sequence[Expression] = (),
    ) -> None:
        self.premises, self.goal, self._effort = premises, goal, effort
        self.space = Space([*premises.values(), *filter(None, [goal])], effort, background)
        self._masks = {text: self.space.where(term) for text, term in premises.items()}

    def where(self, said: Iterable[str] | None = None, gone: str = "") -> int:
        """The worlds, of all that are possible, at which all premises are true, or some, but one."""
        chosen = [each for each in (self.premises if said is None else said) if each != gone]
        self._effort.spend(len(chosen))
        return reduce(and_, (self._masks[each] for each in chosen), self.space.live)

    def conflict(self) -> list[str]:
        """Premises that contradict each other, none of them to spare."""
        return smallest(list(self.premises), lambda some: not self.where(some))

    def about(self, text: str) -> tuple[Finding, int | None]:
        """Whether the goal follows, and a row that shows why not."""
        assert self.goal
        rows, true = self.where(), self.space.where(self.goal)
        row, is_excluded = next(bits(rows & ~true), None), not rows & true
        answer = {"holds": row is None or (False if is_excluded else None), "claim": text, "follows": row is None}
        if row is None:
            needed = smallest(list(self.premises), lambda some: not self.where(some) & ~true)
            steps = [f"it follows from {'; '.join(needed) or 'nothing at all: it is valid'}"]
            change = [f"without {each!r}" for each in needed if self.where(gone=each) & ~true]
            return Finding(f"{text} follows", 1.0, steps, change, answer), row
        if is_excluded:
            steps = ["nothing that makes the premises true makes it true"]
            change = [f"without {each!r}" for each in self.premises if self.where(gone=each) & true]
            return Finding(f"{text} is excluded", 1.0, steps, change, answer), row
        shown = ", ".join(f"{name} is {str(truth).lower()}" for name, truth in self.space.truths(row).items())
        steps = [f"where {shown}, the premises can be true and {text} false"]
        return Finding(f"{text} does not follow, nor does its opposite", 1.0, steps, [f"if also {text}"], answer), row
