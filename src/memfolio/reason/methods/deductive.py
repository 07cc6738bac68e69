"""What follows with certainty: from facts and rules, or from formulas.

goal: a triple, such as: acme isTaxable true, with ?x for anything; or a question in plain words
facts: triples that count beside those of the store, for this question only
rules: rules that count beside those of the store, as the store writes them
only_given: true to leave the store out
premises: instead of a goal, formulas such as: rain implies wet
conclusion: the formula that may follow from the premises"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memfolio.knowledge.engine import findings
from memfolio.knowledge.join import Triple
from memfolio.knowledge.prove import Proof, ProofVerdict, prove
from memfolio.knowledge.rule import Condition, RuleType, render_part
from memfolio.knowledge.tree import ProofNode, as_text, sentence
from memfolio.reason.expression import formula
from memfolio.reason.inputs import Finding, Texts, World, method
from memfolio.reason.methods.logic import Supposed, Theory, formulas, triple_in

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
def reason(given: Goal | Argument, world: World) -> Finding:
    """Whether a goal or a conclusion follows, why, and what is missing."""
    if isinstance(given, Argument):
        return _by_formulas(given, world)
    known, said = Supposed(given, world), given.goal
    is_triple = '"' in said or (len(said.split()) == 3 and not said.endswith("?"))
    goals = [triple_in(said, "goal")] if is_triple else world.inference.explain(said).patterns
    proofs = [_proved(goal, known) for goal in goals]
    proof = min(proofs, key=lambda each: (each.verdict is not ProofVerdict.PROVEN, each.undecided is None))
    return _by_rules(proof, known, said)


def _proved(goal: Condition, known: Supposed, *without: Triple) -> Proof:
    return known.ask(lambda prover: prove(goal, prover, now=known.now), without)


def _by_rules(proof: Proof, known: Supposed, claim: str) -> Finding:
    nodes, gaps = [each.proof for each in proof.answers], [str(each) for each in proof.gaps]
    against = [*_denials(proof, known), *_violations(proof, known)] if nodes else []
    words = f"it does not follow that {render_part(proof.goal)}"
    steps = [f"a rule leads to it, but it is missing that {gaps[0]}" if gaps else "no fact and no rule leads to it"]
    if proof.undecided:
        words, steps = f"whether {render_part(proof.goal)} is {proof.undecided}", ["the search was cut before its end"]
    if nodes:
        words = f"it follows that {', '.join(sentence(each.triple) for each in nodes[:SHOWN])}"
        steps = [line for node in nodes[:SHOWN] for line in as_text(node).splitlines()]
    return Finding(
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


def _by_formulas(given: Argument, world: World) -> Finding:
    theory = Theory(formulas(given.premises, "premises"), formula(given.conclusion, "conclusion"), world.effort())
    found, row = theory.about(given.conclusion)
    is_consistent = bool(theory.where())
    counter = None if row is None else theory.space.truths(row)
    notes = ["" if is_consistent else "the premises contradict each other, so everything follows from them"]
    return found._replace(answer={**found.answer, "consistent": is_consistent, "countermodel": counter}, notes=notes)
