"""What follows with certainty: from facts and rules, or from formulas.

goal: a triple, such as: acme isTaxable true, with ?x for anything; or a question in plain words
facts: triples that count beside those of the store, for this question only
rules: rules that count beside those of the store, as the store writes them
only_given: true to leave the store out
premises: instead of a goal, formulas such as: rain implies wet
conclusion: the formula that may follow from the premises
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

from memfolio.knowledge.check import findings
from memfolio.knowledge.prove import Proof, Verdict, prove
from memfolio.knowledge.relations import Triple
from memfolio.knowledge.rule import Condition, RuleType
from memfolio.knowledge.rule_text import render_part
from memfolio.knowledge.tree import Node, as_text, sentence
from memfolio.reason.effort import Effort
from memfolio.reason.formal.expression import formula
from memfolio.reason.formal.known import Known, triple_in
from memfolio.reason.formal.kripke import Table, bits
from memfolio.reason.formal.telling import smallest, told
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World

TRIED, SHOWN = 20, 5
"""How many premises and answers are tried for what would change it, and how many answers are told."""
OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}


def reason(given: Given, world: World) -> Result:
    """Whether a goal or a conclusion follows, why, and what is missing."""
    if "conclusion" in given or "premises" in given:
        given.only("premises", "conclusion")
        return _by_table(given, Effort(world.settings.work))
    given.only("goal", "facts", "rules", "only_given")
    known, said = Known(given, world), given.text("goal")
    is_triple = '"' in said or (len(said.split()) == 3 and not said.endswith("?"))
    goals = [triple_in(said, "goal")] if is_triple else world.inference.explain(said).patterns
    prover = known.prover()
    proofs = [prove(goal, prover, now=known.now) for goal in goals]
    proof = next((each for each in proofs if each.verdict is Verdict.PROVEN), proofs[0])
    return _by_rules(proof, known, given)


def _by_rules(proof: Proof, known: Known, given: Given) -> Result:
    nodes, gaps = [each.proof for each in proof.answers], [str(each) for each in proof.gaps]
    against = list(_against(proof, known)) if nodes else []
    found = ", ".join(sentence(each.triple) for each in nodes[:SHOWN])
    verdict = f"it follows that {found}" if nodes else f"it does not follow that {render_part(proof.goal)}"
    words = f"{verdict}; but so does what contradicts it: {'; '.join(against)}" if against else verdict
    missing = (
        f"a rule leads to it, but it is missing that {gaps[0]}" if gaps else "no fact says so, and no rule leads to it"
    )
    steps = [missing] if not nodes else [line for node in nodes[:SHOWN] for line in as_text(node).splitlines()]
    change = [*_needed(proof, known), *(f"it would follow with: {each}" for each in gaps)]
    notes = [*proof.problems, *["the search was cut: more may follow"] * proof.truncated]
    notes += [] if nodes else ["what does not follow is not thereby false"]
    answers = [dict(each.binding) for each in proof.answers]
    answer = {"verdict": str(proof.verdict), "answers": answers, "missing": gaps, "contradicted_by": against}
    sure = nodes[0].confidence if nodes and not against else None
    return told(given, "deductive", words, steps, change, answer, notes, sure)


def _leaves(node: Node) -> Iterator[Triple]:
    if not node.ways:
        yield node.triple
    for way in node.ways:
        for premise in way.premises:
            yield from _leaves(premise)


def _absences(node: Node) -> Iterator[str]:
    """What a proof takes to be absent."""
    for way in node.ways:
        yield from (test.removeprefix("not ") for test in way.tests if test.startswith("not "))
        for premise in way.premises:
            yield from _absences(premise)


def _needed(proof: Proof, known: Known) -> Iterator[str]:
    """The facts without which the first answer would not follow any more, and those that must not be there."""
    for answer in proof.answers[:1]:
        goal = Condition(*answer.atom.triple)
        for leaf in list(dict.fromkeys(_leaves(answer.proof)))[:TRIED]:
            if prove(goal, known.prover([leaf]), now=known.now).verdict is not Verdict.PROVEN:
                yield f"without the fact {sentence(leaf)}"
        yield from (f"if it were known that {each}" for each in dict.fromkeys(_absences(answer.proof)))


def _against(proof: Proof, known: Known) -> Iterator[str]:
    """What follows and denies the answers, and the constraints that they and what they rest on violate."""
    prover = known.prover()
    for answer in proof.answers[:TRIED]:
        subject, predicate, object_ = answer.atom.triple
        capital = f"not{predicate[0].upper()}{predicate[1:]}"
        denials = [(subject, name, object_) for name in (f"not_{predicate}", f"not-{predicate}", capital)]
        denials += [(subject, predicate, OPPOSITES[object_.lower()])] if object_.lower() in OPPOSITES else []
        for each in denials:
            if prove(Condition(*each), prover, now=known.now).answers:
                yield sentence(each)
    constraints = [each for each in known.rules if each.type is RuleType.CONSTRAINT]
    used = {leaf for each in proof.answers for leaf in (each.atom.triple, *_leaves(each.proof))}
    for finding in findings(prover, constraints, known.now):
        if used & {atom.triple for atom in finding.supports}:
            yield finding.text


def _by_table(given: Given, effort: Effort) -> Result:
    said = given.texts("premises", [])
    premises = {each: formula(each, f"premises[{at}]") for at, each in enumerate(said)}
    goal = formula(given.text("conclusion"), "conclusion")
    names = sorted({name for term in (goal, *premises.values()) for name in term.names()})
    table = Table(names, effort)
    masks, target = {each: table.where(term) for each, term in premises.items()}, table.where(goal)

    def where(some: Sequence[str], more: int = -1) -> int:
        return reduce(and_, (masks[each] for each in some), more & table.everywhere)

    row, model = next(bits(where(said) & ~target), None), None
    notes = [] if where(said) else ["the premises contradict each other, so everything follows from them"]
    if row is None:
        needed = smallest(said, lambda some: not where(some) & ~target)
        steps = [f"nothing that makes {' and '.join(needed) or 'no premise at all'} true makes {goal} false"]
        change = [f"without {each!r}" for each in needed if where([one for one in said if one != each]) & ~target]
    else:
        model = {name: bool(table.masks[name] >> row & 1) for name in names}
        shown = ", ".join(f"{name} is {str(value).lower()}" for name, value in model.items())
        steps = [f"where {shown}, all premises are true and {goal} is false"]
        literals = {name: table.masks[name] for name in names} | {f"not {name}": ~table.masks[name] for name in names}
        reached = {text: where(said, mask) for text, mask in literals.items()}
        change = [f"if also {text}" for text, rows in reached.items() if rows and not rows & ~target]
    answer = {"consistent": bool(where(said)), "valid": row is None, "countermodel": model}
    words = f"{given.text('conclusion')} {'follows' if row is None else 'does not follow'}"
    return told(given, "deductive", words, steps, change, answer, notes)
