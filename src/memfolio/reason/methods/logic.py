"""Formal methods: what follows from facts and rules, and models of possible and of ideal worlds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeVar

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
from memfolio.reason.expression import DEONTIC, MODAL, Expression, formula
from memfolio.reason.inputs import Computed, Effort, Several, Texts, World, method, one_of
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


# Modal and deontic logic: what is necessary, or ought to be, in a model of possible worlds.

Worlds = frozenset[str]


@frozen
class KripkeModel:
    """Worlds by name, each with those that count from it (as possible, or as ideal), and where each name is true."""

    sees: Mapping[str, Worlds]
    atoms: Mapping[str, Worlds]

    @property
    def everywhere(self) -> Worlds:
        return frozenset(self.sees)

    def where(self, term: Expression) -> Worlds:
        """The worlds at which a formula is true."""
        if term.op == "name":
            return self.atoms.get(str(term.value), frozenset())
        if term.op == "value":
            return self.everywhere if term.value else frozenset()
        left, *others = map(self.where, term.parts)
        match term.op:
            case "box":
                # A world that sees none has everything necessary: nothing speaks against it.
                return frozenset(world for world, seen in self.sees.items() if seen <= left)
            case "and":
                return left & others[0]
            case "or":
                return left | others[0]
            case "implies":
                return (self.everywhere - left) | others[0]
            case "iff":
                return self.everywhere - (left ^ others[0])
        return self.everywhere - left


def read_model(worlds: Texts, sees: Mapping[str, Texts], true: Mapping[str, Texts]) -> KripkeModel:
    """The model with these worlds; InputError where something is said of a world that is none of them."""
    for name in (*sees, *true, *chain(*sees.values())):
        if name not in worlds:
            raise InputError(f"{name!r:.60}, which is no world, is named", hint="list it in worlds")
    atoms = {name: frozenset(world for world in true if name in true[world]) for name in {*chain(*true.values())}}
    return KripkeModel(sees={each: frozenset(sees.get(each, ())) for each in worlds}, atoms=atoms)


def in_model(text: str, asked: Expression, model: KripkeModel, at: str | None, effort: Effort) -> Computed:
    """Whether a formula is true at a world of a model, or at all of them."""
    goal = frozenset([one_of("at", at, model.sees)]) if at else model.everywhere
    parts, size = dict.fromkeys(asked.within()), len(model.sees)
    effort.spend(size**2 * (size + len(parts)))
    where = model.where(asked)
    false = ", ".join(each for each in model.sees if each in goal - where)
    verdict = f"false at {false}" if false else f"true at {at or 'every world'}"
    return Computed(
        f"{text} is {verdict}",
        confidence=1.0,
        steps=[f"{each} is true at {', '.join(sorted(model.where(each))) or 'no world'}" for each in parts],
        would_change=_truth_changes(asked, model, goal),
        answer={"holds": not false, "claim": text, "true_at": [each for each in model.sees if each in where]},
    )


def _truth_changes(asked: Expression, model: KripkeModel, goal: Worlds) -> Iterator[str]:
    """Which single truth, turned round, would change whether a formula is true at the worlds that matter."""
    is_true = goal <= model.where(asked)
    for name in sorted(asked.names()):
        for world in model.sees:
            held = model.atoms.get(name, frozenset()) ^ {world}
            if is_true != (goal <= replace(model, atoms={**model.atoms, name: held}).where(asked)):
                yield f"if {name} were {'true' if world in held else 'false'} at {world}"


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


class IdealWorlds(NamedTuple):
    formula: str
    worlds: Several[str]
    ideal: Mapping[str, Texts]
    true: Mapping[str, Texts] = EMPTY
    at: str | None = None


@method
def deontic(given: IdealWorlds, world: World) -> Computed:
    """Whether a formula about duties is true at a world of a model, or at all of them."""
    asked, model = formula(given.formula, "formula", DEONTIC), read_model(given.worlds, given.ideal, given.true)
    # Where nothing is ideal, everything would be a duty, and its opposite too.
    if blind := [name for name, seen in model.sees.items() if not seen]:
        raise InputError(f"from {blind[0]!r:.60} no world is ideal", hint="add one to ideal")
    return in_model(given.formula, asked, model, given.at, world.effort())


# What follows with certainty from facts and rules.

TRIED, SHOWN = 20, 5
"""How many facts are tried for what would change it, and how many answers are told."""
OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}


class Goal(NamedTuple):
    goal: str
    facts: Texts = ()
    rules: Texts = ()
    only_given: bool = False


@method
def deductive(given: Goal, world: World) -> Computed:
    """Whether a goal follows, why, and what is missing."""
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
