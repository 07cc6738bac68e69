"""Formal methods: what follows from rules or formulas, possible worlds, and norms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, TypeVar

from memfolio.errors import InputError, RuleError
from memfolio.index.rows import to_us
from memfolio.knowledge.engine import WithContext
from memfolio.knowledge.inference import as_goal
from memfolio.knowledge.join import FilteredRelations, MemoryRelations, Relations, Triple
from memfolio.knowledge.prove import Proof, ProofVerdict, Prover, prove
from memfolio.knowledge.rule import Condition, Rule, check_rule, parse_conditions, render_part, variables
from memfolio.knowledge.rules import as_rule
from memfolio.knowledge.tree import ProofNode, as_text, sentence
from memfolio.knowledge.verify import negations
from memfolio.reason.expression import DEONTIC, MODAL, Expression, formula, negation
from memfolio.reason.inputs import Computed, Effort, Several, Texts, World, leaving_out, method, minimal_subset, one_of
from memfolio.types import EMPTY, frozen

T = TypeVar("T")

# The facts and rules that are given with a question, and count for it only.


class GivenKnowledge:
    """What is given as `facts` and `rules`, beside what the agent knows, or with `only_given` alone."""

    def __init__(self, facts: Texts, rules: Texts, only_given: bool, world: World) -> None:
        self._world, self._is_alone, self.now = world, only_given, to_us(world.now)
        self._facts = [_fact(each, f"facts[{at}]") for at, each in enumerate(facts)]
        own = [_rule(each, at) for at, each in enumerate(rules)]
        self.rules = [*([] if self._is_alone else world.rules.list(enabled=True)), *own]

    def ask(self, question: Callable[[Prover], T], without: Collection[Triple] = ()) -> T:
        """Ask about all that holds and follows, as if some facts were not there."""

        def ask(stored: Relations) -> T:
            known = WithContext(stored, self._facts)
            return question(Prover(FilteredRelations(known, lambda atom: atom.triple not in without), self.rules))

        return ask(MemoryRelations()) if self._is_alone else self._world.inference.supposing(ask)


def triple_in(text: str, place: str) -> Condition:
    """A triple as rules have it: `acme hasRevenue $60,000`, with quotes around what has spaces, ?x for anything."""
    try:
        part, *others = parse_conditions(text)
    except RuleError as error:
        raise InputError(f"{place} is no fact: {error.message}", hint=error.hint) from error
    if others or not isinstance(part, Condition):
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


# Formulas as bits of whole numbers: a bit is a world, or a row of a truth table, at which a formula is true. Pure.


def extension(
    term: Expression, atoms: Mapping[Any, int], everywhere: int, necessary: Callable[[int], int] = int
) -> int:
    """Where a formula is true; `necessary` says where what is true at some worlds is necessary."""
    if term.op == "name":
        return atoms.get(term.value, 0)
    if term.op == "value":
        return everywhere if term.value else 0
    left, *others = (extension(each, atoms, everywhere, necessary) for each in term.parts)
    if term.op == "box":
        return necessary(left)
    # Complements stay within the worlds that there are.
    if term.op in ("not", "iff"):
        return everywhere & ~(left ^ others[0] if others else left)
    return left & others[0] if term.op == "and" else (left if term.op == "or" else everywhere & ~left) | others[0]


def bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def formulas(texts: Texts, name: str, modal: Mapping[str, str] | None = None) -> dict[str, Expression]:
    """A list of formulas, by their texts."""
    return {each: formula(each, f"{name}[{at}]", modal) for at, each in enumerate(texts)}


class TruthTable:
    """All ways in which the names in some formulas can be true or false."""

    def __init__(self, terms: Iterable[Expression], effort: Effort) -> None:
        self.names = sorted(set[str]().union(*(each.names() for each in terms)))
        effort.spend(2 ** len(self.names))
        # One bit for each row: a formula over a million rows is one operation on whole numbers.
        self.every = (1 << (1 << len(self.names))) - 1
        # Of the number at, every other run of 2^at bits is set.
        self._atoms = {name: self.every // ((1 << (1 << at)) + 1) << (1 << at) for at, name in enumerate(self.names)}

    def where(self, *terms: Expression, necessary: Callable[[int], int] = int) -> int:
        """The rows that make all of these true."""
        return reduce(and_, (extension(each, self._atoms, self.every, necessary) for each in terms), self.every)

    def truths(self, row: int) -> dict[str, bool]:
        return {name: bool(self._atoms[name] >> row & 1) for name in self.names}


# Modal logic: what is necessary and possible in a model of possible worlds.


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
        return extension(term, self.atoms, self.everywhere, self._necessary)

    def _necessary(self, mask: int) -> int:
        return sum(1 << place for place, seen in enumerate(self.sees) if not seen & ~mask)

    def named(self, mask: int) -> list[str]:
        return [self.worlds[place] for place in bits(mask)]


def read_model(worlds: Texts, sees: Mapping[str, Texts], true: Mapping[str, Texts]) -> KripkeModel:
    names = list(dict.fromkeys(worlds))
    place = {name: at for at, name in enumerate(names)}
    for name in (*sees, *true, *(each for some in sees.values() for each in some)):
        if name not in place:
            raise InputError(f"{name!r:.60}, which is no world, is named", hint="list it in worlds")
    seen = [sum(1 << place[each] for each in set(sees.get(one, ()))) for one in names]
    atoms = Counter[str]()
    for world, facts in true.items():
        # Counters add: each world contributes its own bit once.
        atoms.update(dict.fromkeys(facts, 1 << place[world]))
    return KripkeModel(worlds=names, sees=seen, atoms=atoms)


def in_model(text: str, asked: Expression, model: KripkeModel, at: str | None, effort: Effort) -> Computed:
    """Whether a formula is true at a world of a model, or at all of them."""
    goal = 1 << model.worlds.index(one_of("at", at, model.worlds)) if at else model.everywhere
    parts = dict.fromkeys(asked.within())
    effort.spend(len(model.worlds) ** 2 * (len(model.worlds) + len(parts)))
    where = model.where(asked)
    false = ", ".join(model.named(goal & ~where))
    verdict = f"false at {false}" if false else f"true at {at or 'every world'}"
    return Computed(
        f"{text} is {verdict}",
        confidence=1.0,
        steps=[f"{each} is true at {', '.join(model.named(model.where(each))) or 'no world'}" for each in parts],
        would_change=_truth_changes(asked, model, goal),
        answer={"holds": not false, "claim": text, "true_at": model.named(where)},
    )


def _truth_changes(asked: Expression, model: KripkeModel, goal: int) -> Iterator[str]:
    """Which single truth, turned round, would change whether a formula is true at the worlds that matter."""
    is_true = not goal & ~model.where(asked)
    for name in sorted(asked.names()):
        for place, world in enumerate(model.worlds):
            mask = model.atoms.get(name, 0) ^ 1 << place
            changed = replace(model, atoms={**model.atoms, name: mask})
            if is_true == bool(goal & ~changed.where(asked)):
                yield f"if {name} were {'true' if mask >> place & 1 else 'false'} at {world}"


class PossibleWorlds(NamedTuple):
    formula: str
    worlds: Several[str]
    sees: Mapping[str, Texts] = EMPTY
    true: Mapping[str, Texts] = EMPTY
    at: str | None = None


@method
def modal(given: PossibleWorlds, world: World) -> Computed:
    """Whether a formula is true at a world of a model, or at all of them."""
    asked, model = formula(given.formula, "formula", MODAL), read_model(given.worlds, given.sees, given.true)
    return in_model(given.formula, asked, model, given.at, world.effort())


# Deontic logic: what is obligatory, permitted and forbidden by norms, and where they contradict each other.

NORM_FORM = "write O, P or F before an act, with its case before that if there is one: not pay implies O apologise"


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
    if isinstance(given, IdealWorlds):
        model = read_model(given.worlds, given.ideal, given.true)
        if blind := [name for name, seen in zip(model.worlds, model.sees, strict=True) if not seen]:
            raise InputError(f"from {blind[0]!r:.60} no world is ideal", hint="add one to ideal")
        return in_model(given.formula, formula(given.formula, "formula", DEONTIC), model, given.at, world.effort())
    code = NormativeCode(given, world.effort())
    # Without any norm: then the background contradicts itself.
    if not code.ideal([]):
        raise InputError("background can be true in no world", hint="leave out what contradicts the rest of it")
    if not code.ideal():
        core = minimal_subset(code.texts, lambda some: not code.ideal(some))
        return Computed(
            f"the norms contradict each other: {'; '.join(core)}",
            confidence=1.0,
            steps=[f"nothing ideal makes all of these true: {'; '.join(core)}"],
            would_change=[f"without {each!r}" for each in core],
            answer={"consistent": False, "conflict": core},
        )
    return _by_norms(code, given.question)


class NormativeCode:
    """Norms and facts by their texts. What the norms in force ask for is ideal, and what is ideal is permitted."""

    def __init__(self, given: Norms, effort: Effort) -> None:
        self.facts, background = formulas(given.facts, "facts"), formulas(given.background, "background")
        norms = formulas(given.norms, "norms", DEONTIC)
        self.norms = {text: _norm(term, text) for text, term in norms.items()}
        self.texts = [*self.norms, *self.facts]
        self.question = formula(given.question, "question", DEONTIC) if given.question else None
        terms = [*norms.values(), *self.facts.values(), *background.values(), *filter(None, [self.question])]
        self.table, self._effort = TruthTable(terms, effort), effort
        self._always = self.table.where(*background.values())

    def real(self, texts: Collection[str] | None = None) -> int:
        """The rows at which the facts are true, or some of them."""
        chosen = [term for text, term in self.facts.items() if texts is None or text in texts]
        return self._always & self.table.where(*chosen)

    def ideal(self, texts: Collection[str] | None = None) -> int:
        """The rows that the norms in force ask for; none where these, or the facts, contradict each other."""
        self._effort.spend(1 + len(self.norms))
        real, ideal, permitted = self.real(texts), self._always, list[int]()
        for text, (case, act, is_permission) in self.norms.items():
            # A norm is in force where its case holds at every row that the facts allow.
            if (texts is None or text in texts) and not real & ~self.table.where(case):
                permitted += [self.table.where(act)] if is_permission else []
                ideal &= self.table.every if is_permission else self.table.where(act)
        return ideal if real and all(ideal & act for act in permitted) else 0

    def where(self, term: Expression, texts: Collection[str] | None = None) -> int:
        """The rows, of those at which the facts are true, at which a formula about acts and norms is."""
        real, ideal, every = self.real(texts), self.ideal(texts), self.table.every
        return real & self.table.where(term, necessary=lambda mask: 0 if ideal & ~mask else every)

    def status(self, texts: Collection[str] | None = None) -> dict[str, str]:
        """Whether each act is obligatory, permitted or forbidden."""
        ideal = self.ideal(texts)
        acts = {name: self.table.where(Expression("name", (), name)) for name in self.table.names}
        return {
            name: "obligatory" if not ideal & ~act else "permitted" if ideal & act else "forbidden"
            for name, act in acts.items()
        }


def _norm(term: Expression, text: str) -> tuple[Expression, Expression, bool]:
    """The case of a norm, its act, and whether it is a permission."""
    case, norm = term.parts if term.op == "implies" else (Expression("value", (), True), term)
    # `P a` was read as `not O not a`.
    is_permission = norm.op == "not"
    duty = norm.parts[0] if is_permission else norm
    if duty.op != "box" or any(each.op == "box" for part in (case, duty.parts[0]) for each in part.within()):
        raise InputError(f"{text[:60]!r} is no norm", hint=NORM_FORM)
    return case, negation(duty.parts[0]) if is_permission else duty.parts[0], is_permission


def _by_norms(code: NormativeCode, question: str | None) -> Computed:
    status, real = code.status(), code.real()
    acts = {name: Expression("name", (), name) for name, state in status.items() if state != "permitted"}
    duties = [act if status[name] == "obligatory" else negation(act) for name, act in acts.items()]
    broken = [str(duty) for duty in duties if not real & code.table.where(duty)]
    steps = [*(f"{name} is {state}" for name, state in status.items()), *(f"O {each} is violated" for each in broken)]
    answer: dict[str, Any] = {"consistent": True, "status": status, "violated": broken}
    words = "; ".join(steps) or "nothing is said"
    goal = code.question
    if goal is None or question is None:
        change = [text for text, others in leaving_out(code.texts) if code.status(others) != status]
        return Computed(words, 1.0, steps or [words], [f"without {each!r}" for each in change], answer)
    where = code.where(goal)
    follows, is_excluded = where == real, not where
    needed = minimal_subset(code.texts, lambda some: code.where(goal, some) == code.real(some)) if follows else []
    answer |= {"holds": follows or (False if is_excluded else None), "claim": question, "follows": follows}
    return Computed(
        f"{question} {'follows' if follows else 'is excluded' if is_excluded else 'does not follow'}",
        confidence=1.0,
        steps=[*steps, f"it follows from {'; '.join(needed) or 'nothing'}" if follows else "it does not follow"],
        would_change=[f"without {each!r}" for each in needed],
        answer=answer,
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
    known, goal_text = GivenKnowledge(given.facts, given.rules, given.only_given, world), given.goal
    is_triple = '"' in goal_text or (len(goal_text.split()) == 3 and not goal_text.endswith("?"))
    # Words are taken for the triples that a question may stand for.
    goals = [triple_in(goal_text, "goal")] if is_triple else world.inference.explain(goal_text).patterns
    proofs = [_proved(goal, known) for goal in goals]
    # What is proven counts first; then what could not be decided, before a plain no.
    proof = min(proofs, key=lambda each: (each.verdict is not ProofVerdict.PROVEN, each.undecided is None))
    return _by_rules(proof, known, goal_text)


def _proved(goal: Condition, known: GivenKnowledge, *without: Triple) -> Proof:
    return known.ask(lambda prover: prove(goal, prover, now=known.now), without)


def _by_rules(proof: Proof, known: GivenKnowledge, claim: str) -> Computed:
    nodes, gaps = [each.proof for each in proof.answers], [str(each) for each in proof.gaps]
    against = list(_denials(proof, known)) if nodes else []
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


def _needed(proof: Proof, known: GivenKnowledge) -> Iterator[str]:
    """The facts without which the first answer would not follow any more, and those that must not be there."""
    for answer in proof.answers[:1]:
        goal, nodes = Condition(*answer.atom.triple), list(_within(answer.proof))
        for fact in list(dict.fromkeys(each.triple for each in nodes if not each.ways))[:TRIED]:
            # Proved again without the fact: another proof may stand in for the one that is shown.
            if _proved(goal, known, fact).verdict in (ProofVerdict.GAPS, ProofVerdict.UNPROVABLE):
                yield f"without the fact {sentence(fact)}"
        tests = dict.fromkeys(test for each in nodes for way in each.ways for test in way.tests)
        yield from (f"if it were known that {each[4:]}" for each in tests if each.startswith("not "))


def _denials(proof: Proof, known: GivenKnowledge) -> Iterator[str]:
    """What follows and denies the answers that are told."""
    for answer in proof.answers[:SHOWN]:
        subject, predicate, target = answer.atom.triple
        denials = [(subject, name, target) for name in negations(predicate)]
        # A store of facts can hold both sides: a proof alone does not make it so.
        denials += [(subject, predicate, OPPOSITES[target.lower()])] if target.lower() in OPPOSITES else []
        yield from (sentence(each) for each in denials if _proved(Condition(*each), known).answers)


def _by_formulas(given: Argument, world: World) -> Computed:
    premises, claim = formulas(given.premises, "premises"), given.conclusion
    goal, effort = formula(claim, "conclusion"), world.effort()
    table = TruthTable([*premises.values(), goal], effort)

    def against(texts: Iterable[str], conclusion: Expression = goal) -> int:
        """The rows at which these premises are true and the conclusion is not."""
        effort.spend(len(premises))
        return table.where(*(premises[each] for each in texts), negation(conclusion))

    rows = against(premises)
    is_excluded = bool(rows) and not against(premises, negation(goal))
    counter = table.truths(next(bits(rows))) if rows else None
    if counter is None:
        needed = minimal_subset(list(premises), lambda some: not against(some))
        words, steps = f"{claim} follows", f"it follows from {'; '.join(needed) or 'nothing at all: it is valid'}"
        change = [f"without {gone!r}" for gone, rest in leaving_out(premises) if gone in needed and against(rest)]
    elif is_excluded:
        words, steps = f"{claim} is excluded", "nothing that makes the premises true makes it true"
        change = [f"without one of the premises {'; '.join(premises)}"]
    else:
        shown = ", ".join(f"{name} is {str(truth).lower()}" for name, truth in counter.items())
        words, steps = f"{claim} does not follow, nor does its opposite", f"where {shown}, the premises are true"
        change = [f"if also {claim}"]
    is_consistent = bool(table.where(*premises.values()))
    return Computed(
        words,
        confidence=1.0,
        steps=[steps],
        would_change=change,
        answer={
            "holds": not rows or (False if is_excluded else None),
            "claim": claim,
            "follows": not rows,
            "consistent": is_consistent,
            "countermodel": counter,
        },
        notes=["" if is_consistent else "the premises contradict each other, so everything follows from them"],
    )
