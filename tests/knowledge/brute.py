"""Random small programs, and what they mean, found by trying everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from hypothesis import strategies as st

from memfolio.errors import ComparisonError, RuleError
from memfolio.knowledge.join import BEGINNING, END, Atom
from memfolio.knowledge.literal import Operator, compare
from memfolio.knowledge.rule import Comparison, Condition, Part, Rule, RuleType, bound, check_rule, is_variable, strata

Held = frozenset[tuple[str, str, str, float, int, int]]
"""What holds, without keys."""


def bind(condition: Condition, atom: Atom, binding: Mapping[str, str]) -> Mapping[str, str] | None:
    """The values with which a condition is met by an atom; None where it is not."""
    found = dict(binding)
    for term, value in zip(condition.terms, (atom.subject, atom.object), strict=True):
        if (found.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return found if condition.predicate == atom.predicate else None


LAYERS, VALUES, VARIABLES = ("p", "qr", "st"), ("a", "1", "7"), ("?x", "?y", "?z")
"""Predicates of facts, of what follows, and of what follows mostly from that and from its absence."""
TIMES = (BEGINNING, 0, 5, 10, END)
MOMENTS = (-1, 2, 7, 11)
"""One within each span between those times."""

terms = st.sampled_from(VARIABLES * 4 + VALUES)
spans = st.sampled_from(
    [(TIMES[one], TIMES[two]) for one in range(5) for two in range(one + 1, 5)] + [(BEGINNING, END)] * 4
)
confidences = st.sampled_from([1.0, 1.0, 0.8, 0.5])
triples = st.tuples(st.sampled_from(VALUES), st.sampled_from("ppppqrs"), st.sampled_from(VALUES))
shapes = st.sampled_from(
    [(("?x", "?y"),), (("?x", "?x"),), (("?x", "?y"), ("?y", "?z")), (("?x", "?y"), ("?z", "?y"))]
) | st.lists(st.tuples(terms, terms), min_size=1, max_size=3)


@st.composite
def bodies(draw: st.DrawFn, layer: int = 2) -> tuple[Part, ...]:
    """Conditions that facts may well meet, now and then with something that must be absent, or a comparison."""
    known = "".join(LAYERS[: layer + 1])
    body: list[Part] = [Condition(source, draw(st.sampled_from(known)), target) for source, target in draw(shapes)]
    ends = sorted(bound(body)) * 2
    if draw(st.booleans()):
        around = st.sampled_from([*ends, "?w", "a"])
        body.append(
            Condition(draw(around), draw(st.sampled_from(LAYERS[layer - 1] * 4 + known)), draw(around), negated=True)
        )
    if draw(st.sampled_from([False, False, True])):
        compared = st.sampled_from([*ends, *VALUES])
        body.append(Comparison(draw(compared), draw(st.sampled_from([Operator.NE, Operator.LT])), draw(compared)))
    return tuple(draw(st.permutations(body)))


def rule(name: str, conclusion: Condition, *conditions: Part, factor: float = 0.9) -> Rule:
    """A rule that is kept."""
    return Rule(
        id=f"R-{name}",
        name=name,
        type=RuleType.INFERENCE,
        conditions=conditions,
        conclusion=conclusion,
        factor=factor,
        kept=True,
    )


CIRCLES = [
    rule("step", Condition("?x", "q", "?y"), Condition("?x", "p", "?y"), factor=1.0),
    rule("walk", Condition("?x", "q", "?z"), Condition("?x", "q", "?y"), Condition("?y", "q", "?z"), factor=1.0),
    rule("one way", Condition("?x", "s", "?y"), Condition("?x", "q", "?y"), Condition("?y", "q", "?x", negated=True)),
]
"""What is reached, round in circles too, and from where there is no way back."""


@st.composite
def rules(draw: st.DrawFn) -> list[Rule]:
    """A few rules that are safe, in layers."""
    made = draw(st.sampled_from([CIRCLES, CIRCLES, []]))
    for number in range(draw(st.integers(3, 7))):
        with suppress(RuleError):
            fresh = check_rule(_rule(draw, number, 1 + number % 2))
            strata([*made, fresh])
            made = [*made, fresh]
    return made


def _rule(draw: st.DrawFn, number: int, layer: int) -> Rule:
    body = draw(bodies(layer))
    ends = st.sampled_from((*sorted(bound(body)) * 3, "a"))
    head = Condition(draw(ends), draw(st.sampled_from(LAYERS[layer])), draw(ends))
    return rule(f"rule {number}", head, *body, factor=draw(st.sampled_from([1.0, 0.9, 0.5])))


@st.composite
def facts(draw: st.DrawFn) -> list[Atom]:
    stated = draw(st.lists(triples, min_size=draw(st.sampled_from([2, 6, 10])), max_size=14, unique=True))
    return [Atom(key, *triple, draw(confidences), *draw(spans)) for key, triple in enumerate(stated, 1)]


def ways(body: Sequence[Part], atoms: Sequence[Atom]) -> Iterator[tuple[dict[str, str], float, list[int]]]:
    """Each choice of atoms that meets a body: values, confidence, and the moments of MOMENTS at which it does."""
    chosen: list[tuple[dict[str, str], tuple[Atom, ...]]] = [({}, ())]
    for each in body:
        if isinstance(each, Condition) and not each.negated:
            tried = ((bind(each, atom, values), (*met, atom)) for values, met in chosen for atom in atoms)
            chosen = [(dict(values), met) for values, met in tried if values is not None]
    for values, met in chosen:
        if all(_holds(each, values) for each in body if isinstance(each, Comparison)):
            yield values, min(atom.confidence for atom in met), _moments(body, values, met, atoms)


def _holds(part: Comparison, values: dict[str, str]) -> bool:
    try:
        return compare(values.get(part.left, part.left), part.operator, values.get(part.right, part.right))
    except ComparisonError:
        return False


def _moments(body: Sequence[Part], values: dict[str, str], chosen: Sequence[Atom], atoms: Sequence[Atom]) -> list[int]:
    absent = [each for each in body if isinstance(each, Condition) and each.negated]
    against = [atom for each in absent for atom in atoms if bind(each, atom, values) is not None]
    return [
        moment
        for moment in MOMENTS
        if all(atom.holds_at(moment) for atom in chosen) and not any(atom.holds_at(moment) for atom in against)
    ]


def pieces(moments: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The spans between TIMES that these moments make up."""
    numbers = [MOMENTS.index(each) for each in moments]
    starts = [each for each in numbers if each - 1 not in numbers]
    for first in starts:
        last = next(each for each in range(first, 9) if each + 1 not in numbers)
        yield TIMES[first], TIMES[last + 1]


def follows(given: Sequence[Atom], program: Sequence[Rule]) -> Held:
    """All that follows, by applying every rule to everything until nothing is added."""
    atoms = list(given)
    for layer in strata(program):
        while fresh := [each for each in _once(atoms, layer) if not any(_covers(atom, each) for atom in atoms)]:
            atoms = [atom for atom in atoms if atom.key or not any(_covers(each, atom) for each in fresh)]
            for each in fresh:
                if not any(_covers(atom, each) for atom in atoms):
                    atoms = [atom for atom in atoms if atom.key or not _covers(each, atom)] + [each]
    return frozenset(atom[1:] for atom in atoms if not atom.key)


def _once(atoms: Sequence[Atom], layer: Sequence[Rule]) -> Iterator[Atom]:
    for rule in layer:
        assert rule.conclusion is not None
        for values, confidence, moments in ways(rule.conditions, atoms):
            head = rule.conclusion
            ends = [values[term] if is_variable(term) else term for term in head.terms]
            for start, end in pieces(moments):
                yield Atom(0, ends[0], head.predicate, ends[1], confidence * rule.factor, start, end)


def _covers(one: Atom, other: Atom) -> bool:
    is_same = one.triple == other.triple
    return is_same and one.confidence >= other.confidence and one.start <= other.start and one.end >= other.end
