"""Conclusions that are kept follow the facts: the outcome is always that of drawing all of them anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InferenceLimitError
from memfolio.index import derived
from memfolio.index.index import Index
from memfolio.index.meta import get_meta
from memfolio.index.schema import SCHEMA
from memfolio.knowledge import maintain
from memfolio.knowledge.engine import Derivation, Proven, Tally, derive
from memfolio.knowledge.relations import BEGINNING, END, Atom, Triple
from memfolio.knowledge.rule import Condition, Rule
from memfolio.memory import Memory
from tests.knowledge import brute
from tests.knowledge.test_engine import REACH, chain, rule

MOST = 10_000
PATIENCE = 10**9
KEPT = [replace(each, kept=True) for each in REACH]

Change = tuple[Triple, bool, float, tuple[int, int], str]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Atom], list[list[Change]]]:
    """Facts, and rounds in which some are asserted or, with False, retracted: mostly those that are there."""
    atoms = draw(brute.facts())
    known = [brute.triples] + [st.sampled_from([atom.triple for atom in atoms])] * (3 if atoms else 0)
    origins = st.sampled_from(["user", "user", "untrusted"])
    change = st.tuples(st.one_of(known), st.booleans(), brute.confidences, brute.spans, origins)
    return atoms, draw(st.lists(st.lists(change, min_size=1, max_size=3), min_size=2, max_size=6))


def held(store: Proven) -> brute.Held:
    return frozenset(store.atoms[key][1:] for key in store.proofs)


@given(histories(), brute.rules())
def test_maintaining_in_memory_equals_drawing_anew(
    history: tuple[list[Atom], list[list[Change]]], program: list[Rule]
) -> None:
    atoms, rounds = history
    store, base = Proven(atoms), {atom.triple: atom for atom in atoms}
    maintain.revise(store, program, [(atom.key, atom.triple) for atom in atoms], Tally(MOST), patience=PATIENCE)
    for number, part in enumerate(rounds, 1):
        noted: list[tuple[int, Triple]] = []
        for triple, is_asserted, confidence, span, _ in part:
            old = base.pop(triple, None)
            if old:
                store.remove(old)
                noted.append((old.key, triple))
            if is_asserted:
                key = old.key if old else 100 * number + len(noted)
                base[triple] = Atom(key, *triple, confidence, *span)
                store.add(base[triple])
                noted.append((key, triple))
        maintain.revise(store, program, noted, Tally(MOST, len(store.proofs)), patience=PATIENCE)
        assert held(store) == held_by(derive(base.values(), program, most=MOST))


def held_by(found: Derivation) -> brute.Held:
    return frozenset(atom[1:] for atom in found.derived)


class Table:
    """Facts written as they are filed: the row of a removed one is taken again."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.db = connection

    def put(
        self, triple: Triple, confidence: float = 1.0, span: Sequence[int] = (BEGINNING, END), origin: str = "user"
    ) -> None:
        self.drop(triple)
        start, end = span
        self.db.execute(
            "INSERT INTO facts (id, subject, predicate, object, confidence, source, origin, valid_from, valid_until,"
            " created_at, updated_at, file, ordinal) VALUES ('F', ?, ?, ?, ?, 'user', ?, ?, ?, 0, 0, 0, 0)",
            (*triple, confidence, origin, None if start == BEGINNING else start, None if end == END else end),
        )
        self._note(self.db.last_insert_rowid(), triple)

    def drop(self, triple: Triple) -> None:
        found = "subject = ? AND predicate = ? AND object = ?"
        for (row,) in self.db.execute(f"SELECT row FROM facts WHERE {found}", triple).fetchall():
            self.db.execute("DELETE FROM facts WHERE row = ?", (row,))
            assert isinstance(row, int)
            self._note(row, triple)

    def _note(self, row: int, triple: Triple) -> None:
        if get_meta(self.db, derived.DERIVED) is not None:
            self.db.execute("INSERT INTO fact_changes VALUES (?, ?, ?, ?)", (row, *triple))


def atoms_of(connection: apsw.Connection) -> list[Atom]:
    return derived.trusted(connection, [each for (each,) in connection.execute("SELECT DISTINCT predicate FROM facts")])


def check(connection: apsw.Connection, program: Sequence[Rule]) -> None:
    """What is kept is what follows, and rests on what is there."""
    fields = "subject, predicate, object, confidence, coalesce(valid_from, ?), coalesce(valid_until, ?)"
    kept = connection.execute(f"SELECT {fields} FROM derived", (BEGINNING, END)).fetchall()
    assert len(kept) == len(set(kept))
    assert frozenset(kept) == held_by(derive(atoms_of(connection), program, most=MOST))
    rows = {row for (row,) in connection.execute("SELECT row FROM facts UNION ALL SELECT row FROM derived")}
    supports = connection.execute("SELECT premise, row FROM supports").fetchall()
    assert {each for pair in supports for each in pair} <= rows
    assert {row for _, row in supports} == {row for row in rows if row < 0}


@given(histories(), brute.rules())
def test_maintaining_the_index_equals_drawing_anew(
    history: tuple[list[Atom], list[list[Change]]], program: list[Rule]
) -> None:
    atoms, rounds = history
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(SCHEMA)
        table = Table(connection)
        for atom in atoms:
            table.put(atom.triple, atom.confidence, atom[5:])
        assert maintain.bring(connection, program, "stamp", most=MOST).is_full
        check(connection, program)
        for part in rounds:
            for triple, is_asserted, confidence, span, origin in part:
                if is_asserted:
                    table.put(triple, confidence, span, origin)
                else:
                    table.drop(triple)
            assert not maintain.bring(connection, program, "stamp", most=MOST).is_full
            check(connection, program)


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    with Memory.open(home, background=False) as memory:
        memory.library.index.catch_up()
        yield memory.library.index


def state(index: Index) -> tuple[int, str | int | None, int]:
    """How many conclusions are kept, by which rules, and how many changes are noted."""
    return index.read(
        lambda connection: (
            derived.count(connection, "derived"),
            get_meta(connection, derived.DERIVED),
            int(connection.execute("SELECT count(*) FROM fact_changes").get),
        )
    )


def put(index: Index, *edges: Atom) -> None:
    def add(connection: apsw.Connection) -> None:
        for each in edges:
            Table(connection).put(each.triple)

    index.write(add)


def test_conclusions_come_with_kept_rules_and_go_with_them(index: Index) -> None:
    put(index, *chain(4))
    assert maintain.refresh(index, REACH, most=MOST) == maintain.Refreshed()
    assert state(index) == (0, None, 0)
    assert maintain.refresh(index, KEPT, most=MOST).drawn == 10
    assert maintain.refresh(index, KEPT, most=MOST) == maintain.Refreshed()
    assert maintain.refresh(index, KEPT[:1], most=MOST) == maintain.Refreshed(is_full=True, drawn=4, withdrawn=10)
    maintain.refresh(index, [replace(each, enabled=False) for each in KEPT], most=MOST)
    assert state(index) == (0, None, 0)


def test_one_fact_more_or_less_draws_only_what_it_touches(index: Index) -> None:
    put(index, *chain(9))
    maintain.refresh(index, KEPT, most=MOST)
    put(index, Atom(0, "n9", "leadsTo", "n10"))
    assert maintain.refresh(index, KEPT, most=MOST) == maintain.Refreshed(drawn=10)
    index.write(lambda connection: Table(connection).drop(("n0", "leadsTo", "n1")))
    assert maintain.refresh(index, KEPT, most=MOST) == maintain.Refreshed(withdrawn=10)
    assert state(index)[::2] == (45, 0)


def test_what_follows_in_another_way_stays_with_all_that_rests_on_it(index: Index) -> None:
    put(index, *(Atom(0, source, "leadsTo", target) for source, target in zip("abacd", "bdcde", strict=True)))
    maintain.refresh(index, KEPT, most=MOST)
    index.write(lambda connection: Table(connection).drop(("a", "leadsTo", "b")))
    assert maintain.refresh(index, KEPT, most=MOST).withdrawn <= 3
    assert index.read(lambda connection: len(derived.Stored(connection).match("reaches", "a"))) == 3


def test_a_conclusion_outlives_a_premise_that_is_replaced_while_it_waits() -> None:
    shown, met, known = (Condition("?x", name, "?y") for name in ("shown", "met", "known"))
    program = [
        rule("one", known, shown, factor=1.0),
        rule("two", known, met, factor=1.0),
        rule("three", Condition("?x", "trusts", "?y"), known, Condition("?x", "likes", "?y")),
    ]
    old, better, other = (
        Atom(1, "a", "shown", "b", 0.8),
        Atom(2, "a", "met", "b", 0.9),
        Atom(3, "a", "likes", "b", 0.5),
    )
    store = Proven([old])
    maintain.revise(store, program, [(1, old.triple)], Tally(MOST), patience=PATIENCE)
    store.add(better)
    store.add(other)
    maintain.revise(store, program, [(2, better.triple), (3, other.triple)], Tally(MOST), patience=PATIENCE)
    assert held(store) == held_by(derive([old, better, other], program, most=MOST))


def test_too_many_conclusions_leave_everything_as_it_was(index: Index) -> None:
    put(index, *chain(4))
    maintain.refresh(index, KEPT, most=10)
    before = state(index)
    put(index, Atom(0, "n4", "leadsTo", "n5"))
    with pytest.raises(InferenceLimitError):
        maintain.refresh(index, KEPT, most=10)
    assert state(index) == (*before[:2], 1)
    assert maintain.refresh(index, KEPT, most=15).drawn == 5


def test_a_change_that_touches_half_of_everything_is_drawn_anew(index: Index) -> None:
    put(index, *chain(80))
    maintain.refresh(index, KEPT, most=MOST)
    index.write(lambda connection: Table(connection).drop(("n40", "leadsTo", "n41")))
    assert maintain.refresh(index, KEPT, most=MOST).is_full
    index.read(lambda connection: check(connection, KEPT))


def test_why_a_conclusion_holds_can_be_looked_up(index: Index) -> None:
    put(index, *chain(2))
    maintain.refresh(index, KEPT, most=MOST)

    def proof(connection: apsw.Connection) -> tuple[str, list[str]]:
        stored = derived.Stored(connection)
        name, premises = stored.proof(stored.match("reaches", "n0", "n2")[0].key) or ("", [])
        return name, sorted(atom.predicate for atom in premises)

    assert index.read(proof) == ("R-further", ["leadsTo", "reaches"])
