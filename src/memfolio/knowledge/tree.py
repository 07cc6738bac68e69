"""Why something holds: a tree of facts, rules and what they rest on, as text, as a document, or as Mermaid. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

from memfolio.clock import EPOCH, iso
from memfolio.errors import NotFoundError
from memfolio.index.facts import Fact
from memfolio.knowledge.attempt import filled, is_test
from memfolio.knowledge.join import Binding, Solution, solve
from memfolio.knowledge.relations import BEGINNING, END, Atom, Relations, Triple
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, is_variable, variables
from memfolio.knowledge.rule_text import render_part

WAYS = 5
"""How many derivations of one triple are shown, the best ones."""
LOOKED_AT = 200
"""How many derivations of one triple are compared for that."""
NODES = 1000
"""How many triples a tree shows."""
_SPECIAL = re.compile(r"""[^\w\s.,:?!$€£%+/*=—–-]""")

Lookup = Callable[[Atom], Fact | None]
"""The fact behind an atom that was asserted."""


class Cut(StrEnum):
    """Why a branch ends before its facts."""

    CYCLE = "rests on itself"
    DEPTH = "goes deeper"
    SHOWN = "is shown above"
    SIZE = "is left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One derivation: a rule, what meets its conditions, and the comparisons and absences that hold with it."""

    rule: Rule
    confidence: float
    start: int
    end: int
    premises: tuple[Node, ...]
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A triple in the tree. `fact` is set where somebody asserted it, `ways` where rules conclude it."""

    triple: Triple
    confidence: float
    start: int = BEGINNING
    end: int = END
    fact: Fact | None = None
    ways: tuple[Way, ...] = ()
    more: int = 0
    """How many further derivations are not shown."""
    cut: Cut | None = None

    @classmethod
    def of(cls, atom: Atom, **more: Any) -> Node:
        return cls(triple=atom.triple, confidence=atom.confidence, start=atom.start, end=atom.end, **more)


def no_fact(atom: Atom) -> Fact | None:
    """For those who have only atoms."""
    return None


def explain_fact(
    triple: Triple,
    relations: Relations,
    rules: Sequence[Rule],
    depth: int,
    *,
    facts: Lookup = no_fact,
    now: int | None = None,
) -> Node:
    """All that a triple rests on, `depth` rules deep. `relations` must have what the rules conclude, as `Prover` does.

    With `now` only what holds then counts. NotFoundError where the triple does not hold.
    """
    node = _Teller(relations=relations, rules=rules, facts=facts, now=now).node(triple, depth)
    if node is None:
        raise NotFoundError(f"{' '.join(triple)[:200]!r} does not hold", hint="`infer backward` says what is missing")
    return node


def head_binding(conclusion: Condition, subject: str | None, object: str | None) -> Binding | None:
    """The values with which a rule would conclude this; None where it cannot. A part that is None may be anything."""
    found: dict[str, str] = {}
    for term, value in ((conclusion.subject, subject), (conclusion.object, object)):
        if value is not None and (found.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return found


def nearest_first(parts: Sequence[Part], binding: Binding) -> list[Part]:
    """Conditions with values of the goal before others, since few facts meet them."""
    return sorted(parts, key=lambda part: not variables(part.terms) & binding.keys())


def make_way(rule: Rule, solution: Solution, premises: Sequence[Node]) -> Way:
    return Way(
        rule=rule,
        confidence=solution.confidence * rule.factor,
        start=solution.start,
        end=solution.end,
        premises=tuple(premises),
        tests=tuple(render_part(filled(part, solution.binding)) for part in rule.conditions if is_test(part)),
    )


@dataclass(slots=True, kw_only=True)
class _Teller:
    """Makes one tree, and remembers what it has shown already."""

    relations: Relations
    rules: Sequence[Rule]
    facts: Lookup
    now: int | None
    left: int = NODES
    shown: set[Triple] = field(default_factory=set)

    def node(self, triple: Triple, depth: int, above: tuple[Triple, ...] = ()) -> Node | None:
        subject, predicate, target = triple
        atoms = [each for each in self.relations.match(predicate, subject, target) if self._counts(each)]
        if not atoms:
            return None
        best = max(atoms, key=lambda each: (each.confidence, each.end - each.start))
        fact = next(filter(None, (self.facts(each) for each in atoms if each.key > 0)), None)
        ways, more, cut = self._ways(triple, depth, above)
        return Node.of(best, fact=fact, ways=ways, more=more, cut=cut)

    def _counts(self, found: Atom | Solution) -> bool:
        return self.now is None or found.start <= self.now < found.end

    def _ways(self, triple: Triple, depth: int, above: tuple[Triple, ...]) -> tuple[tuple[Way, ...], int, Cut | None]:
        found = sorted(self._derivations(triple), key=lambda each: -each[1].confidence * each[0].factor)
        cut = self._cut(triple, depth, above) if found else None
        if cut is not None:
            return (), len(found), cut
        self.left -= 1
        self.shown.add(triple)
        ways = []
        for rule, solution in found[:WAYS]:
            premises = (self.node(atom.triple, depth - 1, (*above, triple)) for atom in solution.atoms)
            ways.append(make_way(rule, solution, [each for each in premises if each is not None]))
        return tuple(ways), len(found) - len(ways), None

    def _cut(self, triple: Triple, depth: int, above: tuple[Triple, ...]) -> Cut | None:
        if triple in above:
            return Cut.CYCLE
        if depth <= 0:
            return Cut.DEPTH
        if triple in self.shown:
            return Cut.SHOWN
        return Cut.SIZE if self.left <= 0 else None

    def _derivations(self, triple: Triple) -> list[tuple[Rule, Solution]]:
        """The best solution for each rule and each set of premises."""
        best: dict[tuple[str, frozenset[Triple]], tuple[Rule, Solution]] = {}
        for rule, solution in islice(self._solutions(triple), LOOKED_AT):
            key = rule.id, frozenset(atom.triple for atom in solution.atoms)
            if key not in best or solution.confidence > best[key][1].confidence:
                best[key] = rule, solution
        return list(best.values())

    def _solutions(self, triple: Triple) -> Iterator[tuple[Rule, Solution]]:
        for rule in self.rules:
            if rule.conclusion is None or rule.conclusion.predicate != triple[1]:
                continue
            binding = head_binding(rule.conclusion, triple[0], triple[2])
            if binding is not None:
                found = solve(nearest_first(rule.conditions, binding), self.relations, binding)
                yield from ((rule, each) for each in found if self._counts(each))


def recorded(fact: Fact | None) -> dict[str, Any]:
    """What a fact's line says about where it came from."""
    details = fact.details if fact else {}
    return {name: details[name] for name in ("method", "rule", "derived_from", "memories") if details.get(name)}


def _told(fact: Fact | None) -> list[str]:
    lists = ((name, each if isinstance(each, list) else [each]) for name, each in recorded(fact).items())
    return [f"{name.replace('_', ' ')}: {', '.join(map(str, values))}" for name, values in lists]


def span_text(start: int, end: int) -> str:
    """`from … until …`, as far as a span has ends."""
    ends = (("from", start, BEGINNING), ("until", end, END))
    return " ".join(f"{word} {_moment(at)}" for word, at, is_open in ends if at != is_open)


def span_document(start: int, end: int) -> dict[str, str]:
    """The same for programs."""
    ends = (("valid_from", start, BEGINNING), ("valid_until", end, END))
    return {name: _moment(at) for name, at, is_open in ends if at != is_open}


def _moment(us: int) -> str:
    try:
        return iso(EPOCH + timedelta(microseconds=us)).removesuffix("T00:00:00.000Z")
    except OverflowError:
        return str(us)


def as_text(node: Node, indent: int = 0) -> str:
    """The tree for people: what rests on something stands above it, one step to the left."""
    return "\n".join(_lines(node, indent))


def _lines(node: Node, indent: int) -> Iterator[str]:
    margin = "  " * indent
    yield f"{margin}{' '.join(node.triple)} ({', '.join(_remarks(node))})"
    for line in _told(node.fact):
        yield f"{margin}  {line}"
    for way in node.ways:
        yield f"{margin}  by the rule {way.rule.name or way.rule.id} ({way.confidence:.2f})"
        for premise in way.premises:
            yield from _lines(premise, indent + 2)
        yield from (f"{margin}    {test}" for test in way.tests)
    if node.ways and node.more:
        yield f"{margin}  and {node.more} more ways"


def _remarks(node: Node) -> Iterator[str]:
    yield f"{node.confidence:.2f}"
    if node.fact:
        yield node.fact.id
        yield f"source: {node.fact.source or 'not said'}"
    if span := span_text(node.start, node.end):
        yield span
    if node.cut:
        yield str(node.cut)


def as_document(value: object) -> Any:
    """A tree, or whatever else reasoning gives, for programs: conditions as text; in trees only what there is."""
    if isinstance(value, Condition | Comparison):
        return render_part(value)
    if isinstance(value, Rule):
        return {"id": value.id, "name": value.name}
    if isinstance(value, Fact):
        return {"id": value.id, "source": value.source, **recorded(value)}
    if isinstance(value, Atom):
        return {"triple": value.triple, "confidence": value.confidence, **span_document(value.start, value.end)}
    if is_dataclass(value):
        named = {each.name: getattr(value, each.name) for each in fields(value)}
        ends = span_document(named.pop("start"), named.pop("end")) if "start" in named else {}
        is_branch = isinstance(value, Node | Way)
        shown = {name: each for name, each in named.items() if each or not (each is None or is_branch)}
        return {name: as_document(each) for name, each in shown.items()} | ends
    if isinstance(value, list | tuple):
        return [as_document(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def as_mermaid(node: Node) -> str:
    """The tree as a Mermaid graph: facts are boxes, rules are rounded, and arrows lead to what something rests on."""
    return "\n".join(["graph TD", *_drawn(node, "n", None)])


def _drawn(node: Node, name: str, above: str | None) -> Iterator[str]:
    lines = [" ".join(node.triple), ", ".join(_remarks(node)), *_told(node.fact)]
    yield f'  {name}["{"<br/>".join(map(_escaped, lines))}"]'
    if above:
        yield f"  {above} --> {name}"
    for number, way in enumerate(node.ways):
        rule = f"{name}r{number}"
        label = "<br/>".join(map(_escaped, (f"{way.rule.name or way.rule.id} ({way.confidence:.2f})", *way.tests)))
        yield f'  {rule}(["{label}"])'
        yield f"  {name} --> {rule}"
        for place, premise in enumerate(way.premises):
            yield from _drawn(premise, f"{rule}n{place}", rule)


def _escaped(text: str) -> str:
    """A label in which nothing can be taken for Mermaid's own signs."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", " ".join(text.split()))
