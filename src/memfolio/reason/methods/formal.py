"""Formal methods: deducing, generalising, explaining, possible worlds, spans of time, and constraints."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import chain, combinations, islice, product
from math import nan, prod
from typing import Annotated, Any, NamedTuple, TypeVar

from memfolio.errors import InputError, RuleError
from memfolio.index.rows import to_us
from memfolio.knowledge.engine import WithContext
from memfolio.knowledge.inference import Gap, Hypothesis, Proof, ProofVerdict, Prover, abduce, as_goal, gaps, prove
from memfolio.knowledge.join import (
    FilteredRelations,
    MemoryRelations,
    ProofNode,
    Relations,
    Triple,
    as_text,
    rule_label,
    sentence,
    valid_at,
)
from memfolio.knowledge.rule import Condition, Rule, check_rule, parse_conditions, render_part, variables
from memfolio.knowledge.rules import as_rule
from memfolio.knowledge.verify import negations
from memfolio.reason.expression import (
    DEONTIC,
    MODAL,
    OPERATORS,
    Expression,
    Operations,
    checked,
    evaluate_term,
    expression,
    formula,
)
from memfolio.reason.inputs import (
    Computed,
    Effort,
    Inputs,
    Several,
    Share,
    Texts,
    World,
    between,
    leaving_out,
    method,
    minimal_subset,
    number_in,
    one_of,
    read,
    sized,
    wilson,
    wrong,
)
from memfolio.text import packaged_table
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
    """Worlds by name, each with those that count from it (as possible, or as ideal), and where each name is true.

    A formula is checked at given worlds; whether it holds in every model is not asked.
    """

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
    seen, atoms = {each: frozenset(sees.get(each, ())) for each in worlds}, defaultdict[str, set[str]](set)
    for name in (*sees, *true, *chain(*sees.values())):
        if name not in seen:
            raise InputError(f"{name!r:.60}, which is no world, is named", hint="list it in worlds")
    for world, names in true.items():
        for name in names:
            atoms[name].add(world)
    return KripkeModel(sees=seen, atoms={name: frozenset(each) for name, each in atoms.items()})


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

TRIED, ANSWERS_TOLD = 20, 5
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
        words = f"it follows that {', '.join(sentence(each.triple) for each in nodes[:ANSWERS_TOLD])}"
        steps = [line for node in nodes[:ANSWERS_TOLD] for line in as_text(node).splitlines()]
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
    for answer in proof.answers[:ANSWERS_TOLD]:
        subject, predicate, target = answer.atom.triple
        denials = [(subject, name, target) for name in negations(predicate)]
        # A store of facts can hold both sides: a proof alone does not make it so.
        denials += [(subject, predicate, OPPOSITES[target.lower()])] if target.lower() in OPPOSITES else []
        yield from (sentence(each) for each in denials if _proved(Condition(*each), known).answers)


# What can be generalised from cases: rules that most cases follow.

Z = 1.959964
"""Standard errors of a 95 % interval."""
SHOWN, MOST = 10, 10_000
Trait = tuple[str, str]
Cases = dict[str, set[Trait]]


def succession(right: int, seen: int) -> float:
    """Laplace's rule of succession: how likely the next case is right."""
    return (right + 1) / (seen + 2)


class Law(NamedTuple):
    """Cases with `when` have `then`: in `right` of `seen` of them, with the names of those that do not."""

    when: tuple[Trait, ...]
    then: Trait
    seen: int
    right: int
    against: list[str]

    @property
    def interval(self) -> tuple[float, float]:
        """Between which shares the true one lies, by 95 %."""
        return wilson(self.right, self.seen, Z)

    def __str__(self) -> str:
        low, high = self.interval
        when = " and ".join(map(" ".join, self.when))
        return f"{when} has {' '.join(self.then)} ({self.right} of {self.seen}, {low:.2f} to {high:.2f})"

    def as_values(self) -> dict[str, object]:
        counts = {"support": self.right, "seen": self.seen, "share": self.right / self.seen, "against": self.against}
        chances = {"interval": list(self.interval), "next": succession(self.right, self.seen)}
        return {"when": dict(self.when), "then": dict([self.then]), **counts, **chances}


class Generalising(NamedTuple):
    instances: Several[Inputs] | None = None
    subjects: str | None = None
    target: str | None = None
    closed: bool = False
    conditions: Annotated[int, between(1, 2)] = 1
    least: Annotated[int, between(1, 1e9)] = 2
    share: Share = 0.5


@method
def inductive(given: Generalising, world: World) -> Computed:
    """The best supported rules."""
    cases = _from_store(given.subjects, world) if given.subjects else _from_given(given.instances)
    found = _laws(cases, given.target, given.closed, given.conditions, world.effort())
    laws = [each for each in found if each.seen >= given.least and each.right >= given.share * each.seen]
    # By the lower end of the interval: 3 of 3 is weaker than 30 of 31.
    laws.sort(key=lambda each: (-each.interval[0], len(each.when), each.when, each.then))
    return Computed(
        f"what is {laws[0]}" if laws else "no rule holds in enough cases",
        confidence=succession(laws[0].right, laws[0].seen) if laws else None,
        steps=[f"{len(cases)} cases were compared", *map(str, laws[:SHOWN])],
        would_change=[
            f"{max(1, 2 * best.right - best.seen + 1)} more against it: then most cases would be" for best in laws[:1]
        ],
        answer={"rules": [each.as_values() for each in laws[:MOST]]},
        notes=[f"against it: {', '.join(each.against[:SHOWN])}" for each in laws[:1] if each.against],
    )


def _laws(cases: Cases, target: str | None, is_closed: bool, size: int, effort: Effort) -> Iterator[Law]:
    """All rules with up to `size` conditions that some case follows."""
    having, naming = defaultdict[Trait, set[str]](set), defaultdict[str, set[str]](set)
    for name, traits in cases.items():
        for trait in traits:
            having[trait].add(name)
            naming[trait[0]].add(name)
    ends = [each for each in having if target in (None, each[0])]
    if not ends:
        raise InputError(f"no case has the target {target!r:.60}", hint=f"there are {', '.join(sorted(naming))[:200]}")
    for when in (some for count in range(1, size + 1) for some in combinations(sorted(having), count)):
        held, features = set.intersection(*(having[each] for each in when)), {feature for feature, _ in when}
        effort.spend(1 + len(ends))
        for then in ends if held and target not in features else ():
            # Open world: a case that does not tell the feature neither follows the rule nor breaks it.
            judged = held if is_closed else held & naming[then[0]]
            if then[0] not in features and (right := judged & having[then]):
                yield Law(when, then, len(judged), len(right), sorted(judged - right))


def _from_given(instances: Sequence[Inputs] | None) -> Cases:
    return {
        f"case {at}": {
            (name, _word(value, f"instances[{at - 1}].{name}")) for name, value in case.items() if value is not None
        }
        for at, case in enumerate(read(Sequence[Inputs], instances, "instances"), start=1)
    }


def _word(value: Any, place: str) -> str:
    if not isinstance(value, int | float):
        return str(read(str, value, place))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_store(subjects: str, world: World) -> Cases:
    cases = defaultdict[str, set[Trait]](set)
    found = world.facts.query(subjects, limit=MOST + 1)
    if not 0 < len(found) <= MOST:
        count = "no" if not found else f"more than {MOST:,}"
        raise InputError(f"there are {count} facts about such subjects", hint="use another pattern, such as Bird*")
    for fact in found:
        # One case for each subject: what its facts say are its traits.
        cases[fact.subject].add((fact.predicate, fact.object))
    return cases


# What would best explain what was observed.


class Observation(NamedTuple):
    observation: str
    facts: Texts = ()
    rules: Texts = ()
    only_given: bool = False


@method
def abductive(given: Observation, world: World) -> Computed:
    """The hypotheses that explain an observation, the best first."""
    observed = triple_in(given.observation, "observation")
    known = GivenKnowledge(given.facts, given.rules, given.only_given, world)

    def explained(prover: Prover) -> tuple[list[Hypothesis], list[Gap]]:
        now = valid_at(prover, known.now)
        return abduce(observed, now, prover.rules), gaps(observed, now, prover.rules)

    # What was observed does not explain itself, though it may be among the facts.
    found, missing = known.ask(explained, [(observed.subject, observed.predicate, observed.object)])
    minimal = [str(each) for each in missing if each.missing]
    steps = [
        f"by {rule_label(one.rule)} ({one.score:.2f}), assuming {_joined(map(render_part, one.assumptions))}, "
        f"as it is known that {_joined(sentence(atom.triple) for atom in one.supports)}"
        for one in found
    ]
    assumed = _joined(map(render_part, found[0].assumptions)) if found else ""
    change = [f"if it were not so that {assumed}"] if found and found[0].assumptions else []
    change += [f"if it were known that {each}" for each in minimal if each != assumed]
    hypotheses = [
        {"rule": rule_label(one.rule), "score": one.score, "assumes": [render_part(each) for each in one.assumptions]}
        for one in found
    ]
    return Computed(
        f"best explained {steps[0]}" if steps else f"no rule leads to {render_part(observed)}",
        confidence=found[0].score * found[0].confidence if found and found[0].supports else None,
        steps=steps or ["no rule concludes it"],
        would_change=change[:SHOWN],
        answer={"hypotheses": hypotheses, "minimal": minimal},
    )


def _joined(parts: Iterable[str]) -> str:
    return " and ".join(parts) or "nothing"


# How intervals of time lie to each other, in Allen's interval algebra.

_RELATIONS = packaged_table("reason/data/intervals.toml")
_ENDS = {row["ends"]: name for name, row in _RELATIONS.items()}
INVERSES = {name: row["inverse"] for name, row in _RELATIONS.items()}
INVERSES |= {inverse: name for name, inverse in INVERSES.items()}
ALL = frozenset(INVERSES)
_NAME = "|".join(sorted((each.replace(" ", r"[\s-]") for each in ALL), key=len, reverse=True))
_OR = r"\s*(?:,\s*(?:or\b)?|\bor\b)\s*"
_STATEMENT = re.compile(rf"(.+?)\s+((?:{_NAME})(?:{_OR}(?:{_NAME}))*)\s+(.+)", re.IGNORECASE | re.DOTALL)

Span = tuple[float, float]
Statement = tuple[str, frozenset[str], str]
Network = dict[tuple[str, str], frozenset[str]]


def relation(one: Span, other: Span) -> str:
    """How one interval lies to another."""
    pairs = ((one[0], other[0]), (one[1], other[1]), (one[0], other[1]), (one[1], other[0]))
    signs = " ".join("<" if left < right else ">" if left > right else "=" for left, right in pairs)
    return _ENDS.get(signs) or INVERSES[relation(other, one)]


@lru_cache(maxsize=1)
def composition() -> Mapping[tuple[str, str], frozenset[str]]:
    """For two relations, A to B and B to C, those that A may have to C: found in all orders of their six ends."""
    table = dict[tuple[str, str], set[str]]()
    # Six moments are enough for every order of the ends of three intervals.
    for one, two, three in product(combinations(range(6), 2), repeat=3):
        table.setdefault((relation(one, two), relation(two, three)), set()).add(relation(one, three))
    return {pair: frozenset(found) for pair, found in table.items()}


@lru_cache(maxsize=10_000)
def composed(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    """The same for sets of relations, one of which holds."""
    return frozenset(each for pair in product(left, right) for each in composition()[pair])


class Interval(NamedTuple):
    start: float | str
    end: float | str


class Intervals(NamedTuple):
    intervals: Mapping[str, Interval] = EMPTY
    constraints: Texts = ()
    between: Texts = ()


@method
def temporal(given: Intervals, world: World) -> Computed:
    """Whether what is said can be so, and which relations follow."""
    spans = {name: _span(each, f"intervals.{name}", world) for name, each in given.intervals.items()}
    # A number and a date have no common scale.
    if len({isinstance(each.start, str) for each in given.intervals.values()}) > 1:
        raise InputError("intervals have numbers and dates", hint="give all as numbers, or all as dates")
    statements = {each: _statement(each, f"constraints[{at}]") for at, each in enumerate(given.constraints)}
    for one, other in combinations(spans, 2):
        known = relation(spans[one], spans[other])
        statements[f"{one} {known} {other}"] = one, frozenset({known}), other
    names = list(dict.fromkeys([*spans, *(name for one, _, other in statements.values() for name in (one, other))]))
    asked, effort = given.between, world.effort()
    if len(names) < 2 or (asked and (len(asked) != 2 or not set(asked) <= set(names))):
        raise InputError("there are no two intervals to compare", hint="name two in intervals, constraints and between")
    if network := solve(names, statements.values(), effort):
        return _follows(statements, network, names, asked, effort)
    core = minimal_subset(
        list(statements), lambda some: solve(names, [statements[each] for each in some], effort) is None
    )
    return Computed(
        f"this cannot all be so: {'; '.join(core)}",
        confidence=1.0,
        steps=[f"no order of the starts and ends agrees with all of these: {'; '.join(core)}"],
        would_change=[f"without {each!r} the rest of these can be so" for each in core],
        answer={"consistent": False, "conflict": core},
    )


def solve(names: list[str], statements: Iterable[Statement], effort: Effort) -> Network | None:
    """The relations that are left where no three intervals contradict each other; None where some do."""
    network = {(one, other): ALL if one != other else frozenset({"equals"}) for one in names for other in names}
    for one, relations, other in statements:
        network[one, other] &= relations
        network[other, one] &= {INVERSES[each] for each in relations}
    return network if close(network, names, effort) else None


def close(network: Network, names: list[str], effort: Effort) -> bool:
    """Narrow each relation by all ways over a third interval (Allen 1983); False where nothing is left."""
    ahead = list(network)
    while ahead and all(network.values()):
        one, other = ahead.pop()
        for start, middle, end in (way for third in names for way in ((one, other, third), (third, one, other))):
            effort.spend()
            old = network[start, end]
            kept = old & composed(network[start, middle], network[middle, end])
            if kept != old:
                network[start, end], network[end, start] = kept, frozenset(INVERSES[each] for each in kept)
                ahead += [(start, end), (end, start)]
    return all(network.values())


def _follows(
    statements: Mapping[str, Statement], network: Network, names: list[str], asked: Texts, effort: Effort
) -> Computed:
    pairs = [(asked[0], asked[1])] if asked else list(combinations(names, 2))
    left = {pair: network[pair] for pair in pairs}
    shown = [f"{one} {' or '.join(sorted(some))} {other}" for (one, other), some in left.items() if some != ALL]
    return Computed(
        "; ".join(shown) or "nothing follows",
        confidence=1.0,
        steps=[*(f"given: {each}" for each in statements), *(f"so: {each}" for each in shown)],
        would_change=_relation_changes(statements, network, names, pairs, effort),
        answer={
            "consistent": True,
            "relations": {f"{one} | {other}": sorted(some) for (one, other), some in left.items()},
        },
    )


def _relation_changes(
    statements: Mapping[str, Statement],
    network: Network,
    names: list[str],
    pairs: list[tuple[str, str]],
    effort: Effort,
) -> Iterator[str]:
    """Without which words less would be known."""
    for gone, others in leaving_out(statements):
        rest = solve(names, [statements[each] for each in others], effort)
        looser = (pair for pair in pairs if rest and rest[pair] != network[pair])
        yield from (f"without {gone!r} less is known of {one} and {other}" for one, other in islice(looser, 1))


def _span(given: Interval, place: str, world: World) -> Span:
    start, end = (_moment(each, f"{place}.{name}", world) for name, each in given._asdict().items())
    if start >= end or isinstance(given.start, str) != isinstance(given.end, str):
        raise InputError(f"{place} does not end after it starts", hint="give an end that is later than the start")
    return start, end


def _moment(value: float | str, place: str, world: World) -> float:
    if not isinstance(value, str):
        return value
    try:
        read = datetime.fromisoformat(value)
        return (read if read.tzinfo else read.replace(tzinfo=world.now.tzinfo)).timestamp()
    except (ValueError, OverflowError) as error:
        raise wrong(place, value, "give a number or a date such as 2026-11-15") from error


def _statement(text: str, place: str) -> Statement:
    found = _STATEMENT.fullmatch(text)
    if not found:
        hint = f"write: A before or meets B; there are {', '.join(sorted(ALL))}"
        raise InputError(f"{place} is {text!r:.80}", hint=hint)
    return found[1], frozenset(re.sub(r"[\s-]+", " ", each) for each in re.split(_OR, found[2].lower())), found[3]


# Values for variables that meet all constraints, or the constraints that cannot be met together.

Value = int | float | str
Values = Mapping[str, Value]
Domains = Mapping[str, Sequence[Value]]
FEW = 64
"""Up to so many combinations of the other values are tried to see whether a value can stay."""
HIGHEST = 20
"""The largest power that is raised to, of numbers up to a million."""


def _arithmetic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic of numbers only; what is divided by 0 is no number, and no comparison with it is met."""

    def reckoned(*parts: Any) -> Any:
        if any(isinstance(each, str) for each in parts):
            raise TypeError("a text among numbers")
        try:
            return function(*parts)
        except ZeroDivisionError:
            # No comparison with nan is met; see also != below.
            return nan

    return reckoned


def _power(base: Any, power: Any) -> Any:
    # 10**10**10 would fill the memory before any limit is noticed.
    if abs(base) > 10**6 or abs(power) > HIGHEST:
        raise OverflowError
    return base**power


OPERATIONS: Operations = {
    **OPERATORS,
    **{sign: _arithmetic(OPERATORS[sign]) for sign in ("+", "-", "*", "/", "//", "%", "neg")},
    "**": _arithmetic(_power),
    "!=": lambda left, right: left == left and right == right and left != right,
    "value": lambda value: value,
    "abs": abs,
    "min": min,
    "max": max,
    "alldifferent": lambda *values: len(set(values)) == len(values),
}


def bounds(term: Expression, domains: Domains) -> tuple[Any, Any] | None:
    """Between which numbers an expression lies, for truths 0 and 1; None where that is not easily said."""
    if term.op in ("name", "value"):
        values: Any = domains[str(term.value)] if term.op == "name" else (term.value,)
        return None if isinstance(values[-1], str) else (values[0], values[-1])
    inside = [found for each in term.parts if (found := bounds(each, domains))]
    if len(inside) < len(term.parts):
        return None
    if term.op in ("+", "*", "-", "neg"):
        ends = [OPERATORS[term.op](*each) for each in product(*inside)]
        return min(ends), max(ends)
    if term.op not in ("=", "<", "<=", ">", ">="):
        return None
    (low, high), (least, most) = inside
    if term.op == "=":
        return 0, low <= most and least <= high
    return 0, any(OPERATORS[term.op](*each) for each in ((low, most), (high, least)))


class Check:
    """A constraint with the variables in it and what it costs to look at it once."""

    def __init__(self, term: Expression, effort: Effort) -> None:
        self.term, self.names, self._effort = term, sorted(term.names()), effort
        self._cost = 1 + sum(1 for _ in term.within()) // 10

    def may_be_met(self, domains: Domains) -> bool:
        """Whether some of these values meet it; where they are many, by their bounds alone."""
        self._effort.spend(self._cost)
        near = [domains[each] for each in self.names]
        # Trying all would cost more than it prunes: bounds tell less, and are cheap.
        if prod(map(len, near)) > FEW:
            return bool((bounds(self.term, domains) or (0, 1))[1])
        return any(self._is_met(dict(zip(self.names, values, strict=True))) for values in product(*near))

    def _is_met(self, values: Values) -> bool:
        self._effort.spend(self._cost)
        try:
            return bool(evaluate_term(self.term, values, OPERATIONS))
        except (TypeError, OverflowError) as error:
            hint = f"compare like with like; powers go up to {HIGHEST}"
            raise InputError(f"{self.term!s:.80} cannot be worked out for {_shown(values):.80}", hint=hint) from error


class Problem:
    """Variables with what may be their values, and constraints by their text."""

    def __init__(self, domains: Domains, constraints: Mapping[str, Expression], effort: Effort) -> None:
        self.domains, self.constraints, self.effort = domains, constraints, effort

    def solutions(self, labels: Sequence[str], *more: Expression) -> Iterator[dict[str, Value]]:
        """All assignments that meet the constraints with these texts, and more."""
        terms = (part for term in (*(self.constraints[each] for each in labels), *more) for part in _split(term))
        checks = [Check(term, self.effort) for term in terms]
        about = {name: [each for each in checks if name in each.names] for name in self.domains}
        start = _narrowed(dict(self.domains), checks, about)
        return _search(start, about) if start is not None else iter(())


def _search(domains: Domains, about: Mapping[str, list[Check]]) -> Iterator[dict[str, Value]]:
    """Backtracking, first on the variable with the fewest values left."""
    unsettled = [each for each in domains if len(domains[each]) > 1]
    if not unsettled:
        yield {each: values[0] for each, values in domains.items()}
        return
    # Fail first: the fewest values give the smallest tree.
    name = min(unsettled, key=lambda one: len(domains[one]))
    for value in domains[name]:
        narrowed = _narrowed({**domains, name: (value,)}, about[name], about)
        if narrowed is not None:
            yield from _search(narrowed, about)


def _narrowed(
    domains: dict[str, Sequence[Value]], ahead: list[Check], about: Mapping[str, list[Check]]
) -> Domains | None:
    """AC-3: strike out values without support until nothing changes; None where a constraint cannot be met."""
    waiting = dict.fromkeys(ahead)
    while waiting:
        check, _ = waiting.popitem()
        if not check.may_be_met(domains):
            return None
        for name in check.names:
            near = {each: domains[each] for each in check.names}
            kept = [each for each in domains[name] if check.may_be_met({**near, name: (each,)})]
            if not kept:
                return None
            if len(kept) < len(domains[name]):
                domains[name] = kept
                # Whatever speaks of this variable may exclude more now.
                waiting |= dict.fromkeys(about[name])
    return domains


def _split(term: Expression) -> list[Expression]:
    if term.op == "call" and term.value == "alldifferent" and len(term.parts) > 1:
        # Pairs prune as soon as one of the two is known.
        return [Expression("!=", pair) for pair in combinations(term.parts, 2)]
    return [each for part in term.parts for each in _split(part)] if term.op == "and" else [term]


class WholeRange(NamedTuple):
    from_: Annotated[int, between(-1e9, 1e9)]
    to: int


class Constraints(NamedTuple):
    variables: Annotated[Mapping[str, WholeRange | Sequence[Any]], sized(1, 300)]
    constraints: Texts = ()
    solutions: Annotated[int, between(1, 10_000)] = 2


@method
def constraint_satisfaction(given: Constraints, world: World) -> Computed:
    """The solutions, or the smallest set of constraints that cannot be met together."""
    domains = {name: _domain(values, f"variables.{name}") for name, values in given.variables.items()}
    texts = {f"constraints[{at}]": each for at, each in enumerate(given.constraints)}
    constraints = {each: checked(expression(each, at), at, domains, OPERATIONS) for at, each in texts.items()}
    problem, wanted = Problem(domains, constraints, world.effort()), given.solutions
    found = list(islice(problem.solutions(list(constraints)), wanted))
    if not found:
        return _contradiction(problem)
    is_all = len(found) < wanted
    count = f"{'all' if is_all else 'the first'} {len(found)} solutions"
    words = "the only solution" if is_all and len(found) == 1 else count
    return Computed(
        f"{words}: {'; or '.join(map(_shown, found[:3]))}",
        confidence=1.0,
        steps=[
            f"{len(domains)} variables have {prod(map(len, domains.values())):,} combinations of values",
            f"values that some constraint of {len(constraints)} excludes were struck out, and the rest searched",
        ],
        would_change=_solution_changes(problem),
        answer={"solutions": found, "complete": is_all},
        notes=["" if is_all else f"there may be more than these {len(found)}"],
    )


def _solution_changes(problem: Problem) -> Iterator[str]:
    """Which constraint, left out, would allow another solution."""
    for gone, rest in leaving_out(problem.constraints):
        others = problem.solutions(rest, Expression("not", (problem.constraints[gone],)))
        yield from (f"without {gone!r} there is also {_shown(each)}" for each in islice(others, 1))


def _contradiction(problem: Problem) -> Computed:
    every = list(problem.constraints)
    core = minimal_subset(every, lambda some: next(problem.solutions(some), None) is None)
    freed = [each for each, rest in leaving_out(every) if each in core and next(problem.solutions(rest), None)]
    return Computed(
        f"there is no solution: these cannot be met together: {'; '.join(core)}",
        confidence=1.0,
        steps=[
            "every combination of values breaks a constraint",
            f"each of these is needed for that: {'; '.join(core)}",
        ],
        would_change=[f"without {each!r} there is a solution" for each in freed],
        answer={"solutions": [], "complete": True, "conflict": core},
        notes=["" if freed else "no single constraint, left out, is enough: there are several conflicts"],
    )


def _domain(values: WholeRange | Sequence[Any], place: str) -> Sequence[Value]:
    """The values of a variable, numbers by their size before texts."""
    if isinstance(values, WholeRange):
        low = values.from_
        return range(low, int(number_in(f"{place}.to", values.to, low, low + 10_000)) + 1)
    if not values:
        raise InputError(f"{place} is []", hint='give a list of values, or {"from": 1, "to": 9}')
    for at, each in enumerate(values):
        if not isinstance(each, str):
            number_in(f"{place}[{at}]", each, -1e30, 1e30)
    return sorted(dict.fromkeys(values), key=lambda each: (isinstance(each, str), each))


def _shown(values: Values) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
