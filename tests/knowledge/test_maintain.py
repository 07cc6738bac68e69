"""Conclusions that are kept follow the facts: the outcome is always that of drawing all of them anew."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.index.database import get_meta
from memfolio.index.fact_write import DERIVED
from memfolio.index.index import Index
from memfolio.index.schema import schema
from memfolio.knowledge import engine
from memfolio.knowledge.engine import Derivation, derive
from memfolio.knowledge.join import BEGINNING, END, Atom, Triple
from memfolio.knowledge.rule import Condition, Rule
from memfolio.memory import Memory
from tests.knowledge import brute
from tests.knowledge.brute import rule
from tests.knowledge.test_engine import REACH, chain

MOST = 10_000

Change = tuple[Triple, bool, float, tuple[int, int], str]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Atom], list[list[Change]]]:
    """Facts, and rounds in which some are asserted or, with False, retracted: mostly those that are there."""
    atoms = draw(brute.facts())
    known = [brute.triples] + [st.sampled_from([atom.triple for atom in atoms])] * (3 if atoms else 0)
    origins = st.sampled_from(["user", "user", "untrusted"])
    change = st.tuples(st.one_of(known), st.booleans(), brute.confidences, brute.spans, origins)
    return atoms, draw(st.lists(st.lists(change, min_size=1, max_size=3), min_size=2, max_size=6))


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
        if get_meta(self.db, DERIVED) is not None:
            self.db.execute("INSERT INTO fact_changes VALUES (?, ?, ?, ?)", (row, *triple))


def atoms_of(connection: apsw.Connection) -> list[Atom]:
    return engine.trusted_atoms(
        connection, [each for (each,) in connection.execute("SELECT DISTINCT predicate FROM facts")]
    )


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
        connection.execute(schema())
        table = Table(connection)
        for atom in atoms:
            table.put(atom.triple, atom.confidence, atom[5:])
        assert engine.refresh_inside(connection, program, "stamp", most=MOST).is_full
        check(connection, program)
        for part in rounds:
            for triple, is_asserted, confidence, span, origin in part:
                if is_asserted:
                    table.put(triple, confidence, span, origin)
                else:
                    table.drop(triple)
            assert not engine.refresh_inside(connection, program, "stamp", most=MOST).is_full
            check(connection, program)


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(schema())
        yield connection


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    with Memory.open(home, background=False) as memory:
        memory.searcher.index.catch_up()
        yield memory.searcher.index


def state(index: Index) -> tuple[int, str | int | None, int]:
    """How many conclusions are kept, by which rules, and how many changes are noted."""
    return index.read(
        lambda connection: (
            engine.count(connection),
            get_meta(connection, DERIVED),
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
    loose = [replace(each, kept=False) for each in REACH]
    assert engine.refresh(index, loose, most=MOST) == engine.Refreshed()
    assert state(index) == (0, None, 0)
    assert engine.refresh(index, REACH, most=MOST).drawn == 10
    assert engine.refresh(index, REACH, most=MOST) == engine.Refreshed()
    assert engine.refresh(index, REACH[:1], most=MOST) == engine.Refreshed(is_full=True, drawn=4, withdrawn=10)
    engine.refresh(index, [replace(each, enabled=False) for each in REACH], most=MOST)
    assert state(index) == (0, None, 0)


def test_one_fact_more_or_less_draws_only_what_it_touches(index: Index) -> None:
    put(index, *chain(9))
    engine.refresh(index, REACH, most=MOST)
    put(index, Atom(0, "n9", "leadsTo", "n10"))
    assert engine.refresh(index, REACH, most=MOST) == engine.Refreshed(drawn=10)
    index.write(lambda connection: Table(connection).drop(("n0", "leadsTo", "n1")))
    assert engine.refresh(index, REACH, most=MOST) == engine.Refreshed(withdrawn=10)
    assert state(index)[::2] == (45, 0)


def test_what_follows_in_another_way_stays_with_all_that_rests_on_it(index: Index) -> None:
    put(index, *(Atom(0, source, "leadsTo", target) for source, target in zip("abacd", "bdcde", strict=True)))
    engine.refresh(index, REACH, most=MOST)
    index.write(lambda connection: Table(connection).drop(("a", "leadsTo", "b")))
    assert engine.refresh(index, REACH, most=MOST).withdrawn <= 3
    assert index.read(lambda connection: len(engine.StoredRelations(connection).match("reaches", "a"))) == 3


def test_a_conclusion_outlives_a_premise_that_is_replaced_while_it_waits(connection: apsw.Connection) -> None:
    shown, met, known = (Condition("?x", name, "?y") for name in ("shown", "met", "known"))
    program = [
        rule("one", known, shown, factor=1.0),
        rule("two", known, met, factor=1.0),
        rule("three", Condition("?x", "trusts", "?y"), known, Condition("?x", "likes", "?y")),
    ]
    table = Table(connection)
    table.put(("a", "shown", "b"), 0.8)
    engine.refresh_inside(connection, program, "stamp", most=MOST)
    table.put(("a", "met", "b"), 0.9)
    table.put(("a", "likes", "b"), 0.5)
    assert not engine.refresh_inside(connection, program, "stamp", most=MOST).is_full
    check(connection, program)


def test_too_many_conclusions_are_told_and_none_is_shown_until_there_are_fewer(index: Index) -> None:
    put(index, *chain(4))
    assert engine.refresh(index, REACH, most=10).drawn == 10
    put(index, Atom(0, "n4", "leadsTo", "n5"))
    told = engine.refresh(index, REACH, most=10)
    assert (told.withdrawn, state(index)[0]) == (10, 0)
    assert told.problems == (index.read(engine.trouble),)
    assert "more than 10 conclusions follow" in told.problems[0]
    put(index, Atom(0, "n5", "leadsTo", "n6"))
    assert engine.refresh(index, REACH, most=10) == engine.Refreshed(problems=told.problems)
    assert engine.refresh(index, REACH, most=21).drawn == 21
    assert index.read(engine.trouble) is None
    engine.refresh(index, REACH, most=10)
    index.write(lambda connection: Table(connection).drop(("n4", "leadsTo", "n5")))
    assert (engine.refresh(index, REACH, most=11).drawn, index.read(engine.trouble)) == (11, None)


def test_a_rule_that_tries_too_much_for_one_more_fact_is_named_and_nothing_else_is_lost(index: Index) -> None:
    ends = [Condition(f"?{name}", "leadsTo", f"?{name}2") for name in "abcdef"]
    wide = rule("wide", Condition("all", "is", "known"), *ends)
    put(index, *chain(3))
    assert engine.refresh(index, [wide], most=100).drawn == 1
    put(index, *chain(8)[3:])
    told = engine.refresh(index, [wide], most=100)
    assert "steps, most of them by the rule 'wide'" in told.problems[0]
    assert state(index)[0] == 0
    assert engine.refresh(index, REACH, most=100).drawn == 36


def test_a_change_that_touches_half_of_everything_is_drawn_anew(index: Index) -> None:
    put(index, *chain(80))
    engine.refresh(index, REACH, most=MOST)
    index.write(lambda connection: Table(connection).drop(("n40", "leadsTo", "n41")))
    assert engine.refresh(index, REACH, most=MOST).is_full
    index.read(lambda connection: check(connection, REACH))


TAXES = (
    "big: ?x hasRevenue ?y and ?y > $50,000 => ?x isBig true",
    "tax: ?x isBig true and not ?x isExempt true => ?x isTaxable true",
    "file: ?x isTaxable true and not ?x filed ?any => ?x mustFile true",
)


def opened(home: Path, *rules: str, **more: Any) -> Memory:
    """A home in which these rules are kept."""
    memory = Memory.open(home, background=False, **more)
    memory.rules.import_("\n".join(rules))
    if rules:
        memory.inference.forward(persist=True)
    return memory


def shown(memory: Memory, *predicates: str) -> list[list[str]]:
    return [[each.subject for each in memory.facts.query(predicate=name)] for name in predicates]


def test_what_follows_comes_and_goes_across_negations_comparisons_and_time(home: Path, clock: SettableClock) -> None:
    with opened(home, *TAXES, clock=clock) as memory:
        names, nobody, acme = ("isBig", "isTaxable", "mustFile"), list[str](), ["acme"]
        first = memory.facts.assert_("acme", "hasRevenue", "$60,000", valid_until="2026-11-16")
        assert shown(memory, *names) == [acme, acme, acme]
        for predicate, expected in (("isExempt", [acme, nobody, nobody]), ("filed", [acme, acme, nobody])):
            fact = memory.facts.assert_("acme", predicate, "true")
            assert shown(memory, *names) == expected
            memory.facts.retract(fact.id)
            assert shown(memory, *names) == [acme, acme, acme]
        before = state(memory.searcher.index)
        clock.advance(days=2)
        assert shown(memory, *names) == [nobody, nobody, nobody]
        assert state(memory.searcher.index) == before
        memory.facts.assert_("acme", "hasRevenue", "$40,000")
        assert shown(memory, *names) == [nobody, nobody, nobody]
        other = memory.facts.assert_("acme", "hasRevenue", "60000 USD")
        assert shown(memory, *names) == [acme, acme, acme]
        memory.facts.retract(other.id)
        memory.facts.retract(first.id)
        assert shown(memory, *names) == [nobody, nobody, nobody]
        assert state(memory.searcher.index)[0] == 0


LOOP = {"subject": "?x", "predicate": "mustFile", "object": "true", "negated": True}


@pytest.mark.parametrize(
    ("number", "change", "left", "problem"),
    [
        (1, {"op": "delete"}, (1, 0, 0), "no rule"),
        (1, {"enabled": False}, (1, 0, 0), ""),
        (
            1,
            {"conclusion": {"subject": "?z", "predicate": "isTaxable", "object": "true"}},
            (1, 0, 0),
            "concludes with ?z",
        ),
        (0, {"conditions": [{"subject": "?x", "predicate": "hasRevenue", "object": "?y"}, LOOP]}, (0, 0, 0), "absence"),
    ],
)
def test_rules_changed_by_hand_take_their_conclusions_along(
    home: Path, number: int, change: dict[str, Any], left: tuple[int, ...], problem: str
) -> None:
    with opened(home, *TAXES) as memory:
        memory.facts.assert_("acme", "hasRevenue", "$60,000")
        assert shown(memory, "mustFile") == [["acme"]]
    ledger = home / "agents/main/knowledge/rules/0001.jsonl"
    original = ledger.read_text()
    lines = original.splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | change)
    ledger.write_text("\n".join(lines) + "\n")
    with opened(home) as memory:
        assert tuple(map(len, shown(memory, "isBig", "isTaxable", "mustFile"))) == left
        assert len(memory.facts.query("acme", "hasRevenue")) == 1
        told = [*memory.rules.problems(), *filter(None, [memory.searcher.index.read(engine.trouble)])]
        assert problem in " ".join(told)
        assert bool(told) is bool(problem)
    ledger.write_text(original)
    with opened(home) as memory:
        assert shown(memory, "mustFile") == [["acme"]]


def test_facts_are_answered_when_too_much_follows_from_them(home: Path) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text("[knowledge]\nmost = 3\n")
    rule = "pairs: ?x p ?y and ?z p ?w => ?x meets ?z"
    with opened(home, rule) as memory:
        one = memory.facts.assert_("a", "p", "1")
        assert shown(memory, "meets", "p") == [["a"], ["a"]]
        memory.facts.assert_("b", "p", "1")
        assert shown(memory, "meets", "p") == [[], ["a", "b"]]
        assert "'pairs'" in str(memory.searcher.index.read(engine.trouble))
        memory.facts.retract(one.id)
        assert shown(memory, "meets", "p") == [["b"], ["b"]]


WRITER = """
import sys
from memfolio import Memory
with Memory.open(sys.argv[1], background=False) as memory:
    for number in range(12):
        made = [memory.facts.assert_(f"n{at}", "leadsTo", f"n{at + 1}") for at in range(number % 4, 6)]
        memory.facts.assert_("n3", "closed", "true")
        for each in made[::2]:
            memory.facts.retract(each.id)
        memory.facts.retract(predicate="closed")
        memory.facts.query(predicate="reaches")
"""
ROUTES = (
    "direct: ?x leadsTo ?y and not ?y closed true => ?x reaches ?y",
    "further: ?x reaches ?y and ?y reaches ?z => ?x reaches ?z",
)


def test_two_processes_that_change_facts_and_ask_leave_what_follows(home: Path) -> None:
    with opened(home, *ROUTES) as memory:
        memory.facts.assert_("n0", "leadsTo", "n1")
        writer = subprocess.Popen([sys.executable, "-c", WRITER, home])
        seen = set()
        while writer.poll() is None:
            seen.add(len(memory.facts.query(predicate="reaches", limit=100)))
        assert writer.returncode == 0
        memory.inference.refresh()
        memory.searcher.index.read(lambda connection: check(connection, memory.rules.list()))
        assert len(seen) > 1


KILLED = """
import sys
from memfolio import Memory
from memfolio.knowledge.engine import refresh_inside
with Memory.open(sys.argv[1], background=False) as memory:
    rules = memory.rules.list()
    def draw(connection):
        print(refresh_inside(connection, rules, "anew", most=100).drawn, flush=True)
        sys.stdin.read()
    memory.searcher.index.write(draw)
"""


def test_a_process_killed_while_it_draws_leaves_what_was_there(home: Path) -> None:
    with opened(home, *ROUTES) as memory:
        memory.facts.assert_("n0", "leadsTo", "n1")
        assert shown(memory, "reaches") == [["n0"]]
        memory.facts.assert_("n1", "leadsTo", "n2")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"3\n"
        killed.send_signal(signal.SIGKILL)
    with opened(home) as memory:
        assert state(memory.searcher.index)[::2] == (1, 1)
        assert shown(memory, "reaches") == [["n0", "n0", "n1"]]
        memory.searcher.index.read(lambda connection: check(connection, memory.rules.list()))
