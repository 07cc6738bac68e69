"""Formal methods that share possible worlds, suppositions and theories: deductive, modal and deontic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any, Literal, NamedTuple, TypeVar

from memfolio.errors import InputError, RuleError
from memfolio.index.rows import to_us
from memfolio.knowledge.engine import Beside, findings
from memfolio.knowledge.inference import as_goal
from memfolio.knowledge.join import Atom, MemoryRelations, Relations, Triple
from memfolio.knowledge.prove import Proof, ProofVerdict, Prover, prove
from memfolio.knowledge.rule import Condition, Rule, RuleType, check_rule, parse, render_part, variables
from memfolio.knowledge.rules import as_rule
from memfolio.knowledge.tree import ProofNode, as_text, sentence
from memfolio.reason.expression import DEONTIC, MODAL, Expression, formula, negation
from memfolio.reason.inputs import Computed, Effort, Several, Texts, World, method, one_of, smallest
from memfolio.types import EMPTY, frozen

T = TypeVar("T")

# The facts and rules that are given with a question, and count for it only.


class Supposed:
    """What is given as `facts` and `rules`, beside what the agent knows, or with `only_given` alone."""

    def __init__(self, facts: Texts, rules: Texts, only_given: bool, world: World) -> None:
        self._world, self._is_alone, self.now = world, only_given, to_us(world.now)
        self._facts = [_fact(each, f"facts[{at}]") for at, each in enumerate(facts)]
        said = [_rule(each, at) for at, each in enumerate(rules)]
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


@frozen
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


def in_model(text: str, asked: Expression, model: KripkeModel, at: str | None, effort: Effort) -> Computed:
    """Whether a formula is true at a world of a model, or at all of them."""
    goal = 1 << model.worlds.index(one_of("at", at, model.worlds)) if at else model.everywhere
    where = model.where(asked)
    false = ", ".join(model.named(goal & ~where))
    parts = {each: ", ".join(model.named(model.where(each))) for each in asked.within()}
    effort.spend(len(model.worlds) ** 2 * (len(model.worlds) + len(parts)))
    others = _neighbours(asked, model)
    verdict = f"false at {false}" if false else f"true at {at or 'every world'}"
    return Computed(
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

    def about(self, text: str) -> tuple[Computed, int | None]:
        """Whether the goal follows, and a row that shows why not."""
        assert self.goal
        rows, true = self.where(), self.space.where(self.goal)
        row, is_excluded = next(bits(rows & ~true), None), not rows & true
        answer = {"holds": row is None or (False if is_excluded else None), "claim": text, "follows": row is None}
        if row is None:
            needed = smallest(list(self.premises), lambda some: not self.where(some) & ~true)
            steps = [f"it follows from {'; '.join(needed) or 'nothing at all: it is valid'}"]
            change = [f"without {each!r}" for each in needed if self.where(gone=each) & ~true]
            return Computed(f"{text} follows", 1.0, steps, change, answer), row
        if is_excluded:
            steps = ["nothing that makes the premises true makes it true"]
            change = [f"without {each!r}" for each in self.premises if self.where(gone=each) & true]
            return Computed(f"{text} is excluded", 1.0, steps, change, answer), row
        shown = ", ".join(f"{name} is {str(truth).lower()}" for name, truth in self.space.truths(row).items())
        steps = [f"where {shown}, the premises can be true and {text} false"]
        return Computed(f"{text} does not follow, nor does its opposite", 1.0, steps, [f"if also {text}"], answer), row


# What is necessary and possible in a model of possible worlds.


class PossibleWorlds(NamedTuple):
    formula: str
    worlds: Several[str]
    sees: Mapping[str, Texts] = EMPTY
    true: Mapping[str, Texts] = EMPTY
    at: str | None = None
    logic: Literal["K", "D", "T", "B", "S4", "S5", "KD45"] = "K"


@method
def modal(given: PossibleWorlds, world: World) -> Computed:
    """Whether a formula is true at a world of a model, or at all of them."""
    asked, effort = formula(given.formula, "formula", MODAL), world.effort()
    effort.spend(len(given.worlds) ** 3)
    model = read_model(given.worlds, given.sees, given.true, given.logic)
    return in_model(given.formula, asked, model, given.at, effort)


# What is obligatory, permitted and forbidden in standard deontic logic, and where norms contradict each other.

DUTIES = "obligatory", "forbidden"
LIMITS = (
    "in this logic whatever follows from what ought to be ought to be, too: O a gives O(a or b) (Ross's paradox)",
    "a norm for the case that another is violated contradicts that one, or is empty, in some wordings (Chisholm's)",
)


class Norms(NamedTuple):
    norms: Texts = ()
    facts: Texts = ()
    background: Texts = ()
    question: str | None = None


class IdealWorlds(NamedTuple):
    formula: str
    worlds: Several[str]
    ideal: Mapping[str, Texts]
    true: Mapping[str, Texts] = EMPTY
    at: str | None = None


@method
def deontic(given: Norms | IdealWorlds, world: World) -> Computed:
    """What follows from norms and facts, or whether a formula is true in a model."""
    effort = world.effort()
    if isinstance(given, IdealWorlds):
        asked = formula(given.formula, "formula", DEONTIC)
        effort.spend(len(given.worlds) ** 3)
        return in_model(given.formula, asked, read_model(given.worlds, given.ideal, given.true, "D"), given.at, effort)
    premises = formulas(given.norms, "norms", DEONTIC) | formulas(given.facts, "facts", DEONTIC)
    background = [*formulas(given.background, "background", DEONTIC).values()]
    question = formula(given.question, "question", DEONTIC) if given.question else None
    theory = Theory(premises, question, effort, background)
    if not theory.space.live:
        raise InputError("background can be true in no world", hint="leave out what contradicts the rest of it")
    return _consequences(theory, given.question) if theory.where() else _contradiction(theory)


def _consequences(theory: Theory, question: str | None) -> Computed:
    status = {name: _duty(theory, name) for name in theory.space.names}
    broken = _violated_duties(theory, status)
    steps = [*(f"{name} is {state}" for name, state in status.items()), *(f"O {each} is violated" for each in broken)]
    answer: dict[str, Any] = {"consistent": True, "status": status, "violated": broken}
    if question:
        found, row = theory.about(question)
        counter = None if row is None else theory.space.model(row).as_values()
        answer |= {**found.answer, "countermodel": counter}
        return found._replace(steps=[*steps, *found.steps], answer=answer, notes=LIMITS)
    needed = [said for said, term in theory.premises.items() if theory.where(gone=said) & ~theory.space.where(term)]
    words = "; ".join(steps) or "nothing is said"
    return Computed(words, 1.0, steps or [words], [f"without {each!r}" for each in needed], answer, LIMITS)


def _duty(theory: Theory, name: str) -> str:
    """What follows for an act: it is permitted where no possible world has ideal ones all without it."""
    rows, here = list(bits(theory.where())), theory.space.where(Expression("name", (), name))
    if not any(theory.space.seen(row) & ~here for row in rows):
        return "obligatory"
    if not any(theory.space.seen(row) & here for row in rows):
        return "forbidden"
    could_lack = any(all(some & ~here for some in theory.space.witnesses(row)) for row in rows)
    return "left open" if could_lack else "permitted"


def _violated_duties(theory: Theory, status: dict[str, str]) -> list[str]:
    """The duties that the facts break."""
    names = [(Expression("name", (), name), state) for name, state in status.items()]
    duties = [name if state == "obligatory" else negation(name) for name, state in names if state in DUTIES]
    return [str(each) for each in duties if not theory.where() & theory.space.where(each)]


def _contradiction(theory: Theory) -> Computed:
    core = theory.conflict()
    return Computed(
        f"the norms contradict each other: {'; '.join(core)}",
        confidence=1.0,
        steps=[f"no world with an ideal alternative makes all of these true: {'; '.join(core)}"],
        would_change=[f"without {gone!r}" for gone in core if theory.where(gone=gone)],
        answer={"consistent": False, "conflict": core},
        notes=[*LIMITS, "from a contradiction everything follows, so nothing else is concluded"],
    )


# What follows with certainty: from facts and rules, or from formulas.

TRIED, SHOWN = 20, 5
"""How many facts are tried for what would change it, and how many answers are told."""
OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}


class Goal(NamedTuple):
    goal: str
    facts: Texts = ()
    rules: Texts = ()
    only_given: bool = False


class Argument(NamedTuple):
    conclusion: str
    premises: Texts = ()


@method
def deductive(given: Goal | Argument, world: World) -> Computed:
    """Whether a goal or a conclusion follows, why, and what is missing."""
    if isinstance(given, Argument):
        return _by_formulas(given, world)
    known, said = Supposed(given.facts, given.rules, given.only_given, world), given.goal
    is_triple = '"' in said or (len(said.split()) == 3 and not said.endswith("?"))
    goals = [triple_in(said, "goal")] if is_triple else world.inference.explain(said).patterns
    proofs = [_proved(goal, known) for goal in goals]
    proof = min(proofs, key=lambda each: (each.verdict is not ProofVerdict.PROVEN, each.undecided is None))
    return _by_rules(proof, known, said)


def _proved(goal: Condition, known: Supposed, *without: Triple) -> Proof:
    return known.ask(lambda prover: prove(goal, prover, now=known.now), without)


def _by_rules(proof: Proof, known: Supposed, claim: str) -> Computed:
    nodes, gaps = [each.proof for each in proof.answers], [str(each) for each in proof.gaps]
    against = [*_denials(proof, known), *_violations(proof, known)] if nodes else []
    words = f"it does not follow that {render_part(proof.goal)}"
    steps = [f"a rule leads to it, but it is missing that {gaps[0]}" if gaps else "no fact and no rule leads to it"]
    if proof.undecided:
        words, steps = f"whether {render_part(proof.goal)} is {proof.undecided}", ["the search was cut before its end"]
    if nodes:
        words = f"it follows that {', '.join(sentence(each.triple) for each in nodes[:SHOWN])}"
        steps = [line for node in nodes[:SHOWN] for line in as_text(node).splitlines()]
    return Computed(
        f"{words}; but so does what contradicts it: {'; '.join(against)}" if against else words,
        confidence=nodes[0].confidence if nodes and not against else None,
        steps=steps,
        would_change=[*_needed(proof, known), *(f"it would follow with: {each}" for each in gaps)],
        answer={
            "holds": bool(nodes and not against) or None,
            "claim": claim,
            "verdict": str(proof.verdict),
            "answers": [dict(each.binding) for each in proof.answers],
            "missing": gaps,
            "contradicted_by": against,
        },
        notes=[
            *proof.problems,
            "the search was cut: more may follow" if proof.truncated else "",
            "" if nodes or proof.undecided else "what does not follow is not thereby false",
        ],
    )


def _within(node: ProofNode) -> Iterator[ProofNode]:
    """A conclusion and all that it rests on."""
    yield node
    for way in node.ways:
        for premise in way.premises:
            yield from _within(premise)


def _needed(proof: Proof, known: Supposed) -> Iterator[str]:
    """The facts without which the first answer would not follow any more, and those that must not be there."""
    for answer in proof.answers[:1]:
        goal, nodes = Condition(*answer.atom.triple), list(_within(answer.proof))
        for fact in list(dict.fromkeys(each.triple for each in nodes if not each.ways))[:TRIED]:
            if _proved(goal, known, fact).verdict in (ProofVerdict.GAPS, ProofVerdict.UNPROVABLE):
                yield f"without the fact {sentence(fact)}"
        tests = dict.fromkeys(test for each in nodes for way in each.ways for test in way.tests)
        yield from (f"if it were known that {each[4:]}" for each in tests if each.startswith("not "))


def _denials(proof: Proof, known: Supposed) -> Iterator[str]:
    """What follows and denies the answers that are told."""
    for answer in proof.answers[:SHOWN]:
        subject, predicate, target = answer.atom.triple
        names = f"not_{predicate}", f"not-{predicate}", f"not{predicate[0].upper()}{predicate[1:]}"
        denials = [(subject, name, target) for name in names]
        denials += [(subject, predicate, OPPOSITES[target.lower()])] if target.lower() in OPPOSITES else []
        yield from (sentence(each) for each in denials if _proved(Condition(*each), known).answers)


def _violations(proof: Proof, known: Supposed) -> list[str]:
    """The constraints that the answers and what they rest on violate."""
    constraints = [each for each in known.rules if each.type is RuleType.CONSTRAINT]
    used = {node.triple for each in proof.answers for node in _within(each.proof)}
    found = known.ask(lambda prover: findings(prover, constraints, known.now))
    return [each.text for each in found if used & {atom.triple for atom in each.supports}]


def _by_formulas(given: Argument, world: World) -> Computed:
    theory = Theory(formulas(given.premises, "premises"), formula(given.conclusion, "conclusion"), world.effort())
    found, row = theory.about(given.conclusion)
    is_consistent = bool(theory.where())
    counter = None if row is None else theory.space.truths(row)
    notes = ["" if is_consistent else "the premises contradict each other, so everything follows from them"]
    return found._replace(answer={**found.answer, "consistent": is_consistent, "countermodel": counter}, notes=notes)
