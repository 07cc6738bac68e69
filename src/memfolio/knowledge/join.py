"""Joins: bindings that satisfy the conditions of a rule, with confidence and validity, and trees of proofs. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import combinations, count, islice
from typing import Any, NamedTuple, Protocol

from memfolio.clock import EPOCH, iso
from memfolio.errors import ComparisonError, NotFoundError
from memfolio.index.facts import BEGINNING, END, Atom, Fact, Triple
from memfolio.knowledge.literal import Operator, compare
from memfolio.knowledge.rule import (
    Comparison,
    Condition,
    Part,
    Rule,
    bound,
    is_variable,
    positives,
    render,
    render_part,
    variables,
)
from memfolio.text import single_line
from memfolio.types import frozen

# Where atoms are looked up, and a place for them in memory.

# Whoever joins needs atoms and their triples, too.
__all__ = ["BEGINNING", "END", "Atom", "MemoryRelations", "Relations", "Triple"]

Call = tuple[str, str | None, str | None]
"""A lookup: a predicate and, if known, subject and object."""


class Relations(Protocol):
    """A source of atoms."""

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        """Return the atoms with this predicate and, if given, this subject and object."""
        ...


class MemoryRelations:
    """Atoms in memory, filed under every question that they answer."""

    def __init__(self, atoms: Iterable[Atom] = ()) -> None:
        self._answers: defaultdict[Call, list[Atom]] = defaultdict(list)
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        subject, predicate, target = atom[1:4]
        answers = self._answers
        answers[predicate, subject, target].append(atom)
        answers[predicate, subject, None].append(atom)
        answers[predicate, None, target].append(atom)
        answers[predicate, None, None].append(atom)

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        return self._answers.get((predicate, subject, object), ())


class FilteredRelations(NamedTuple):
    """Those atoms of other relations that a test lets pass."""

    relations: Relations
    passes: Callable[[Atom], bool]

    def match(self, predicate: str, subject: str | None = None, object: str | None = None) -> Sequence[Atom]:
        return [atom for atom in self.relations.match(predicate, subject, object) if self.passes(atom)]


def valid_at(relations: Relations, moment: int | None) -> Relations:
    """Relations restricted to what is valid at one moment; None means at any time."""
    return relations if moment is None else FilteredRelations(relations, lambda atom: atom.holds_at(moment))


# Confidence is the least of the atoms' confidences, validity the time in which all of them hold. A negated condition
# takes away the times at which something matches it.

Binding = Mapping[str, str]
Span = tuple[int, int]
ALWAYS: Span = (BEGINNING, END)
Found = tuple[tuple[Atom, ...], float, int, int]
"""The atoms that meet the positive conditions, how sure they are together, and when: start and end."""
Spend = Callable[[int], None]
"""Hears how many steps a search takes, and may stop it with an error."""


class JoinSolution(NamedTuple):
    """A binding that satisfies all conditions, with the matched atoms, confidence and validity."""

    binding: Binding
    atoms: tuple[Atom, ...]
    confidence: float
    start: int
    end: int


def solve(
    body: Sequence[Part],
    relations: Relations,
    binding: Binding | None = None,
    *,
    span: Span = ALWAYS,
    problems: set[str] | None = None,
) -> Iterator[JoinSolution]:
    """Yield every solution within `span`; comparisons that cannot be made fail and are noted in `problems`."""
    given = dict(binding or {})
    search = BodySearch(tuple(body), frozenset(given), relations, set() if problems is None else problems)
    # Variables that are given are filled in once; the search fills in all others.
    for term, value in given.items():
        search.values[search.places[term]] = value
    wanted = [(name, search.places[name]) for name in bound(body) if name not in given]
    for atoms, confidence, start, end in search.find(0, (), 1.0, *span):
        named = {name: search.values[place] for name, place in wanted}
        yield JoinSolution(given | named, atoms, confidence, start, end)


@lru_cache(maxsize=4096)
def plan(body: tuple[Part, ...], known: frozenset[str]) -> tuple[Part, ...]:
    """Order conditions so that each is looked up with as many bound terms as possible, tests as early as possible."""
    left, ordered, have, binding = list(body), [], set(known), bound(body)

    def bound_terms(part: Part) -> int:
        return sum(not is_variable(term) or term in have for term in part.terms)

    while left:
        # A variable that no condition binds stands in one negated condition only, and means anything.
        ready = [each for each in left if is_test(each) and not (variables(each.terms) & binding) - have]
        positive = [each for each in left if not is_test(each)]
        chosen = ready[0] if ready or not positive else max(positive, key=bound_terms)
        left.remove(chosen)
        ordered.append(chosen)
        if not is_test(chosen):
            have |= variables(chosen.terms)
    return tuple(ordered)


class BodySearch:
    """A compiled rule body that can be searched many times; each term has a slot in `values`.

    The caller fills the slots of the known terms before a search and reads the others at each solution. Only one search
    may run at a time. Terms in `also` get slots, too.
    """

    __slots__ = ("_problems", "_relations", "_spend", "_steps", "places", "values")

    def __init__(
        self,
        body: tuple[Part, ...],
        known: frozenset[str],
        relations: Relations,
        problems: set[str],
        spend: Spend = lambda _: None,
        *,
        also: tuple[str, ...] = (),
    ) -> None:
        self._steps, self.places = _steps(body, known, also)
        self.values: list[Any] = [None] * (len(self.places) + 2)
        for term, place in self.places.items():
            if not is_variable(term):
                self.values[place] = term
        self._relations, self._problems, self._spend = relations, problems, spend

    def find(self, at: int, atoms: tuple[Atom, ...], confidence: float, start: int, end: int) -> Iterator[Found]:
        """Yield every way to meet the conditions from `at` on, given what was matched before."""
        if at == len(self._steps):
            yield atoms, confidence, start, end
            return
        step = self._steps[at]
        # A negated condition binds nothing: it cuts the time out in which something matches it.
        if isinstance(step, _Look):
            if step.negated:
                for begin, until in subtract_spans((start, end), self._taken(step)):
                    yield from self.find(at + 1, atoms, confidence, begin, until)
            else:
                yield from self._look(step, at + 1, atoms, confidence, start, end)
        elif self._holds(step):
            yield from self.find(at + 1, atoms, confidence, start, end)

    def _look(
        self, step: _Look, after: int, atoms: tuple[Atom, ...], confidence: float, start: int, end: int
    ) -> Iterator[Found]:
        predicate, subject, target, put_subject, put_object, is_loop, _ = step
        values, is_last = self.values, after == len(self._steps)
        found = self._relations.match(predicate, values[subject], values[target])
        self._spend(1 + len(found))
        for atom in found:
            _, source, _, end_point, sure, begin, until = atom
            if is_loop and source != end_point:
                continue
            # The inner loop of every join: plain comparisons cost less than min and max.
            begin = begin if begin > start else start
            until = until if until < end else end
            if begin >= until:
                continue
            sure = sure if sure < confidence else confidence
            values[put_subject] = source
            values[put_object] = end_point
            if is_last:
                yield (*atoms, atom), sure, begin, until
            else:
                yield from self.find(after, (*atoms, atom), sure, begin, until)

    def _taken(self, step: _Look) -> list[Span]:
        found = self._relations.match(step.predicate, self.values[step.subject], self.values[step.object])
        self._spend(1 + len(found))
        return [(atom.start, atom.end) for atom in found if not step.is_loop or atom.subject == atom.object]

    def _holds(self, step: _Test) -> bool:
        try:
            return compare(self.values[step.left], step.operator, self.values[step.right])
        except ComparisonError as error:
            self._problems.add(error.message)
            return False


def call_of(part: Condition) -> Call:
    """Return the lookup for a condition."""
    subject, target = (None if is_variable(term) else term for term in part.terms)
    return part.predicate, subject, target


def binding_for(condition: Condition, subject: str | None, object: str | None) -> Binding | None:
    """Return the binding that gives a condition this subject and object (None matches anything), if there is one."""
    found: dict[str, str] = {}
    for term, value in ((condition.subject, subject), (condition.object, object)):
        if value is not None and (found.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return found


def subtract_spans(span: Span, taken: Sequence[Span]) -> list[Span]:
    """Return what is left of a span after removing others."""
    left, (start, end) = [], span
    for begin, until in sorted(each for each in taken if each[0] < each[1]):
        if begin > start:
            left.append((start, min(begin, end)))
        start = max(start, until)
        if start >= end:
            break
    if start < end:
        left.append((start, end))
    return left


NOTHING, NOWHERE = 0, -1
"""Slot 0 is always empty and matches anything; terms that need no slot of their own share the last one."""


class _Look(NamedTuple):
    """A lookup of atoms by the bound terms, and the slots that unbound terms are written to."""

    predicate: str
    subject: int
    object: int
    put_subject: int
    put_object: int
    is_loop: bool
    """Whether subject and object are one variable that has no value yet."""
    negated: bool


class _Test(NamedTuple):
    """A comparison of two slots."""

    left: int
    operator: Operator
    right: int


@lru_cache(maxsize=4096)
def _steps(
    body: tuple[Part, ...], known: frozenset[str], also: tuple[str, ...]
) -> tuple[tuple[_Look | _Test, ...], Mapping[str, int]]:
    """The plan of a body with places for terms, and the place of each term."""
    terms = dict.fromkeys([*sorted(known), *also, *(term for each in body for term in each.terms)])
    # Places are numbers, as lists are read faster than dictionaries in the inner loop.
    places = {term: number for number, term in enumerate(terms, NOTHING + 1)}
    steps: list[_Look | _Test] = []
    have = set(known)
    for part in plan(body, known):
        if isinstance(part, Comparison):
            steps.append(_Test(places[part.left], part.operator, places[part.right]))
            continue
        steps.append(_look(part, places, have))
        if not part.negated:
            have |= variables(part.terms)
    return tuple(steps), places


def _look(part: Condition, places: Mapping[str, int], have: set[str]) -> _Look:
    loose = variables(part.terms) - have
    subject, target = (NOTHING if term in loose else places[term] for term in part.terms)
    put_subject, put_object = (places[term] if term in loose else NOWHERE for term in part.terms)
    is_loop = part.subject == part.object and part.subject in loose
    return _Look(part.predicate, subject, target, put_subject, put_object, is_loop, part.negated)


def is_test(part: Part) -> bool:
    """Whether a part binds no variable and only tests the values of others."""
    return isinstance(part, Comparison) or part.negated


# How near a rule comes to a goal: its conditions for it, those that are met, and those that are missing. Pure.

ATTEMPTS = 20
"""How many ways to meet the same conditions of a rule are looked at."""
TRIED = 200
"""How many choices of conditions to meet are tried, of as many that are as large."""


@frozen
class Attempt:
    """A partial match of a rule's conditions: the matched atoms, and the conditions that are missing."""

    binding: Binding
    atoms: tuple[Atom, ...]
    missing: tuple[Part, ...]

    @property
    def confidence(self) -> float:
        """That of the least sure atom, 0 without any."""
        return min((atom.confidence for atom in self.atoms), default=0.0)


def substitute(part: Part, binding: Binding) -> Part:
    """A condition with the values, or other variables, that its variables have."""
    first, second = (binding.get(term, term) if is_variable(term) else term for term in part.terms)
    if isinstance(part, Comparison):
        return replace(part, left=first, right=second)
    return replace(part, subject=first, object=second)


def unify(pairs: Iterable[tuple[str, str]]) -> Binding | None:
    """Return the binding that makes both terms of each pair equal; variables on the left are replaced first."""
    found: dict[str, str] = {}

    def final(term: str) -> str:
        while is_variable(term) and term in found:
            term = found[term]
        return term

    for pair in pairs:
        left, right = map(final, pair)
        if left == right:
            continue
        if not is_variable(left):
            left, right = right, left
        if not is_variable(left):
            return None
        found[left] = right
    return {name: final(name) for name in found}


def instantiate(rule: Rule, goal: Condition, taken: Iterable[str] = ()) -> tuple[tuple[Part, ...], Binding] | None:
    """Return a rule's conditions for a goal, with fresh variables, and the binding of the goal's own variables."""
    if rule.conclusion is None or rule.conclusion.predicate != goal.predicate:
        return None
    # Standardized apart: a ?x of the rule is not the ?x of the goal.
    apart = _standardize_apart(rule, {*taken, *variables(goal.terms)})
    head = substitute(rule.conclusion, apart)
    found = unify(zip(head.terms, goal.terms, strict=True))
    if found is None:
        return None
    body = tuple(substitute(substitute(part, apart), found) for part in rule.conditions)
    return body, {name: found[name] for name in variables(goal.terms) if name in found}


def _standardize_apart(rule: Rule, taken: set[str]) -> Binding:
    own = sorted({name for part in rule.conditions for name in variables(part.terms)})
    renamed: dict[str, str] = {}
    for name in own:
        fresh, number = name, 1
        while fresh in taken or fresh in renamed.values():
            number += 1
            fresh = f"{name}{number}"
        renamed[name] = fresh
    return renamed


def nearest(body: Sequence[Part], relations: Relations) -> list[Attempt]:
    """Return the attempts at a body with the fewest missing conditions; nothing is missing if the body is met."""
    # What nothing meets by itself is missing in every attempt.
    hopeful = [part for part in positives(body) if relations.match(*call_of(part))]
    # The most conditions first: whoever meets more misses less.
    for number in range(len(hopeful), -1, -1):
        chosen = islice(combinations(hopeful, number), TRIED)
        found = [each for kept in chosen for each in islice(_attempts(body, kept, relations), ATTEMPTS)]
        if found:
            fewest = min(size(each.missing) for each in found)
            near = sorted((each for each in found if size(each.missing) == fewest), key=lambda each: each.confidence)
            return list({frozenset(each.missing): each for each in near}.values())
    return []


def _attempts(body: Sequence[Part], kept: Sequence[Part], relations: Relations) -> Iterator[Attempt]:
    """The ways to meet some conditions of a body, with all comparisons that can be made then."""
    known = bound(kept)
    compared = [part for part in body if isinstance(part, Comparison) and variables(part.terms) <= known]
    for found in solve((*kept, *compared), relations):
        left = [substitute(part, found.binding) for part in body if part not in kept and part not in compared]
        missing = [part for part in left if not _is_absent(part, relations)]
        yield Attempt(binding=found.binding, atoms=found.atoms, missing=tuple(dict.fromkeys(missing)))


def _is_absent(part: Part, relations: Relations) -> bool:
    return isinstance(part, Condition) and part.negated and not relations.match(*call_of(part))


def size(missing: Sequence[Part]) -> int:
    """Return the number of missing conditions; comparisons do not count."""
    return sum(isinstance(part, Condition) for part in missing)


# Proof trees: why a triple holds, as text, as a document or as Mermaid.

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
