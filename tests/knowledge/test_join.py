"""Conditions are met exactly by what meets them, whatever the order in which they are looked at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memfolio.knowledge.join import Atom, MemoryRelations, solve, subtract_spans
from memfolio.knowledge.rule import Comparison, Condition, Part, bound
from tests.knowledge.brute import VALUES, bodies, facts, pieces, ways


@given(bodies(), facts())
def test_solutions_are_those_that_trying_everything_finds(body: tuple[Part, ...], atoms: list[Atom]) -> None:
    found = {(*sorted(each.binding.items()), *each[2:]) for each in solve(body, MemoryRelations(atoms))}
    expected = {
        (*sorted(values.items()), confidence, *span)
        for values, confidence, moments in ways(body, atoms)
        for span in pieces(moments)
    }
    assert found == expected


@given(bodies(), facts(), st.sampled_from(VALUES))
def test_a_known_value_only_leaves_out_other_values(body: tuple[Part, ...], atoms: list[Atom], value: str) -> None:
    name = min(bound(body), default="?x")
    among = [each for each in solve(body, MemoryRelations(atoms)) if each.binding.get(name, value) == value]
    bare = {each[2:] + tuple(sorted({**each.binding, name: value}.items())) for each in among}
    known = {
        each[2:] + tuple(sorted(each.binding.items())) for each in solve(body, MemoryRelations(atoms), {name: value})
    }
    assert known == bare


def test_what_cannot_be_compared_does_not_hold_and_is_told() -> None:
    body = (Condition("?x", "hasRevenue", "?y"), Comparison("?y", "gt", "10"))  # type: ignore[arg-type]
    problems: set[str] = set()
    atoms = [Atom(1, "acme", "hasRevenue", "much"), Atom(2, "beta", "hasRevenue", "12")]
    assert [each.binding["?x"] for each in solve(body, MemoryRelations(atoms), problems=problems)] == ["beta"]
    assert len(problems) == 1


def test_an_empty_span_takes_nothing_away() -> None:
    assert subtract_spans((0, 10), [(5, 3), (4, 4)]) == [(0, 10)]


@given(facts(), st.data())
def test_atoms_are_found_by_any_part_while_others_come(atoms: list[Atom], data: st.DataObject) -> None:
    held = MemoryRelations()
    for number, atom in enumerate(atoms, 1):
        held.add(atom)
        kin = [each for each in atoms[:number] if each.predicate == atom.predicate]
        subject, target = (data.draw(st.sampled_from([None, end])) for end in (atom.subject, atom.object))
        kin = [each for each in kin if subject in (None, each.subject) and target in (None, each.object)]
        assert sorted(held.match(atom.predicate, subject, target)) == sorted(kin)
