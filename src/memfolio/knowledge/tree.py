"""Proof trees: why a triple holds, as text, as a document or as Mermaid. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import count, islice
from typing import Any

from memfolio.clock import EPOCH, iso
from memfolio.errors import NotFoundError
from memfolio.index.facts import Fact
from memfolio.knowledge.join import (
    BEGINNING,
    END,
    Atom,
    JoinSolution,
    Relations,
    Triple,
    binding_for,
    is_test,
    solve,
    substitute,
)
from memfolio.knowledge.rule import Comparison, Condition, Rule, render, render_part
from memfolio.text import single_line
from memfolio.types import frozen

WAYS = 5
"""How many derivations of one triple are shown, the best ones."""
LOOKED_AT = 200
"""How many derivations of one triple are compared for that."""
NODES = 1000
"""How many conclusions a tree shows."""
DEEPEST = 100
"""The most rules that a tree goes deep, whatever is asked for."""
LABEL = 300
"""How many characters a line of a drawing has."""
_SPECIAL = re.compile(r"""[^\w\s.,:?!$€£%+/*=—–-]""")

Lookup = Callable[[Triple], Fact | None]
"""Looks up the asserted fact of a triple."""
Step = tuple[Rule, JoinSolution]
"""A rule, and how its conditions are met."""


class BranchEnd(StrEnum):
    """Why a branch of a proof tree is cut."""

    CYCLE = "rests on itself"
    DEPTH = "goes deeper"
    SHOWN = "is shown above"
    SIZE = "is left out"


@frozen
class ProofStep:
    """One derivation: a rule, its premises, and the comparisons and negations that hold."""

    rule: Rule
    confidence: float
    start: int
    end: int
    premises: tuple[ProofNode, ...]
    tests: tuple[str, ...] = ()


@frozen
class ProofNode:
    """A triple in the tree. `fact` is set if it was asserted, `ways` if rules conclude it."""

    triple: Triple
    confidence: float
    start: int = BEGINNING
    end: int = END
    fact: Fact | None = None
    ways: tuple[ProofStep, ...] = ()
    more: int = 0
    """How many further derivations are not shown."""
    cut: BranchEnd | None = None


def rule_label(rule: Rule) -> str:
    """Return the name of a rule, or its text if it has none."""
    return rule.name or render(rule)


def explain_fact(
    triple: Triple, relations: Relations, rules: Sequence[Rule], depth: int, *, facts: Lookup | None = None
) -> ProofNode:
    """Return the proof of a triple, `depth` rules deep. `relations` must include conclusions, as `Prover` does.

    Raises NotFoundError if the triple does not hold.
    """
    subject, predicate, target = triple
    atoms = relations.match(predicate, subject, target)
    if not atoms:
        raise NotFoundError(f"{' '.join(triple)[:200]!r} does not hold", hint="`infer backward` says what is missing")
    best = max(atoms, key=lambda each: (each.confidence, each.end - each.start))
    return proof_tree(best, lambda atom: steps_to(atom.triple, relations, rules), depth, facts)


def proof_tree(
    atom: Atom, steps: Callable[[Atom], Sequence[Step]], depth: int, facts: Lookup | None = None, *, ways: int = WAYS
) -> ProofNode:
    """The tree of an atom, `depth` rules deep, with the first of the steps that lead to each atom."""
    return _TreeBuilder(steps=steps, facts=facts, ways=ways).node(atom, min(depth, DEEPEST))


@dataclass(slots=True, kw_only=True)
class _TreeBuilder:
    """Builds one proof tree, and tracks which triples it has shown."""

    steps: Callable[[Atom], Sequence[Step]]
    facts: Lookup | None
    ways: int
    left: int = NODES
    shown: set[Triple] = field(default_factory=set)

    def node(self, atom: Atom, depth: int, above: tuple[Triple, ...] = ()) -> ProofNode:
        steps = self.steps(atom)
        cut = self._cut(atom.triple, depth, above) if steps else None
        ways: list[ProofStep] = []
        if cut is None and steps:
            # Counted for conclusions only: facts are leaves and end by themselves.
            self.left -= 1
            self.shown.add(atom.triple)
            ways = [self._way(*each, depth - 1, (*above, atom.triple)) for each in steps[: self.ways]]
        return ProofNode(
            triple=atom.triple,
            confidence=atom.confidence,
            start=atom.start,
            end=atom.end,
            fact=self.facts(atom.triple) if self.facts else None,
            ways=tuple(ways),
            more=len(steps) - len(ways),
            cut=cut,
        )

    def _way(self, rule: Rule, solution: JoinSolution, depth: int, above: tuple[Triple, ...]) -> ProofStep:
        return ProofStep(
            rule=rule,
            confidence=solution.confidence * rule.factor,
            start=solution.start,
            end=solution.end,
            premises=tuple(self.node(each, depth, above) for each in solution.atoms),
            tests=tuple(render_part(substitute(part, solution.binding)) for part in rule.conditions if is_test(part)),
        )

    def _cut(self, triple: Triple, depth: int, above: tuple[Triple, ...]) -> BranchEnd | None:
        if triple in above:
            return BranchEnd.CYCLE
        if depth <= 0:
            return BranchEnd.DEPTH
        # Shown once in full; a diamond of premises would grow exponentially otherwise.
        if triple in self.shown:
            return BranchEnd.SHOWN
        return BranchEnd.SIZE if self.left <= 0 else None


def steps_to(triple: Triple, relations: Relations, rules: Sequence[Rule]) -> list[Step]:
    """The best solution for each rule and each set of premises, the surest first."""
    best: dict[tuple[str, frozenset[Triple]], Step] = {}
    # A dense graph has more derivations than anybody reads.
    for rule, solution in islice(_all_steps_to(triple, relations, rules), LOOKED_AT):
        key = rule.id, frozenset(atom.triple for atom in solution.atoms)
        if key not in best or solution.confidence > best[key][1].confidence:
            best[key] = rule, solution
    return sorted(best.values(), key=lambda each: -each[1].confidence * each[0].factor)


def _all_steps_to(triple: Triple, relations: Relations, rules: Sequence[Rule]) -> Iterator[Step]:
    for rule in rules:
        if rule.conclusion is not None and rule.conclusion.predicate == triple[1]:
            binding = binding_for(rule.conclusion, triple[0], triple[2])
            if binding is not None:
                yield from ((rule, each) for each in solve(rule.conditions, relations, binding))


def provenance(fact: Fact | None) -> dict[str, Any]:
    """Return the fields of a fact's line that say where it came from."""
    details = fact.details if fact else {}
    return {name: details[name] for name in ("method", "rule", "derived_from", "memories") if details.get(name)}


def _provenance_lines(fact: Fact | None) -> list[str]:
    lists = ((name, each if isinstance(each, list) else [each]) for name, each in provenance(fact).items())
    return [f"{name.replace('_', ' ')}: {', '.join(map(str, values))}" for name, values in lists]


def span_text(start: int, end: int) -> str:
    """`from … until …`, as far as a span has ends."""
    return " ".join(f"{word} {moment}" for word, moment in _ends(start, end))


def _ends(start: int, end: int) -> list[tuple[str, str]]:
    ends = (("from", start, BEGINNING), ("until", end, END))
    return [(word, _moment(at)) for word, at, is_open in ends if at != is_open]


def _moment(us: int) -> str:
    try:
        return iso(EPOCH + timedelta(microseconds=us)).removesuffix("T00:00:00.000Z")
    except OverflowError:
        return str(us)


def as_text(node: ProofNode, indent: int = 0) -> str:
    """Render the tree as text: premises are indented below their conclusion."""
    return "\n".join(_lines(node, indent))


def _lines(node: ProofNode, indent: int) -> Iterator[str]:
    margin = "  " * indent
    yield f"{margin}{sentence(node.triple)} ({', '.join(_remarks(node))})"
    for line in _provenance_lines(node.fact):
        yield f"{margin}  {line}"
    for way in node.ways:
        yield f"{margin}  by the rule {rule_label(way.rule)} ({way.confidence:.2f})"
        for premise in way.premises:
            yield from _lines(premise, indent + 2)
        yield from (f"{margin}    {test}" for test in way.tests)
    if node.ways and node.more:
        yield f"{margin}  and {node.more} more ways"


def _remarks(node: ProofNode) -> Iterator[str]:
    yield f"{node.confidence:.2f}"
    if node.fact:
        yield node.fact.id
        yield f"source: {node.fact.source or 'not said'}"
    if span := span_text(node.start, node.end):
        yield span
    if node.cut:
        yield str(node.cut)


def as_document(value: object) -> Any:
    """Return a tree, or another result of reasoning, as JSON: conditions as text, and trees without empty fields."""
    if isinstance(value, Condition | Comparison):
        return render_part(value)
    if isinstance(value, Rule):
        return {"id": value.id, "name": value.name, "text": render(value)}
    if isinstance(value, Fact):
        return {"id": value.id, "source": value.source, **provenance(value)}
    if isinstance(value, Atom):
        value = ProofNode(triple=value.triple, confidence=value.confidence, start=value.start, end=value.end)
    if is_dataclass(value):
        named = {each.name: getattr(value, each.name) for each in fields(value)}
        ends = _ends(named.pop("start"), named.pop("end")) if "start" in named else ()
        # Trees leave out what is empty; other results keep every key, so that programs can rely on it.
        is_branch = isinstance(value, ProofNode | ProofStep)
        shown = {name: each for name, each in named.items() if each or not (each is None or is_branch)}
        return {name: as_document(each) for name, each in shown.items()} | {f"valid_{word}": at for word, at in ends}
    if isinstance(value, Mapping):
        return {name: as_document(each) for name, each in value.items()}
    return [as_document(each) for each in value] if isinstance(value, list | tuple) else value


def as_mermaid(node: ProofNode) -> str:
    """Render the tree as a Mermaid graph: facts are boxes, rules are rounded, and arrows lead to premises."""
    return "\n".join(["graph TD", *_mermaid_lines(node, count(), "")])


def _mermaid_lines(node: ProofNode, numbers: Iterator[int], above: str) -> Iterator[str]:
    name = f"n{next(numbers)}"
    yield f'  {name}["{_label(sentence(node.triple), ", ".join(_remarks(node)), *_provenance_lines(node.fact))}"]'
    if above:
        yield f"  {above} --> {name}"
    for way in node.ways:
        rule = f"r{next(numbers)}"
        yield f'  {rule}(["{_label(f"{rule_label(way.rule)} ({way.confidence:.2f})", *way.tests)}"])'
        yield f"  {name} --> {rule}"
        for premise in way.premises:
            yield from _mermaid_lines(premise, numbers, rule)


def sentence(triple: Triple) -> str:
    """A triple on one line."""
    return single_line(" ".join(triple))


def _label(*lines: str) -> str:
    return "<br/>".join(map(mermaid_text, lines))


def mermaid_text(text: str) -> str:
    """A text on one line, not too long, in which nothing can be taken for Mermaid's own signs."""
    line = single_line(text)
    cut = line if len(line) <= LABEL else f"{line[:LABEL]}…"
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", cut)
