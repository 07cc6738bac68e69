"""Facts against plain dictionaries: whatever is asserted, retracted or edited, they say what the lines say."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, InputError, NotFoundError, PolicyError, ProposedError
from memfolio.index.database import set_meta
from memfolio.index.facts import Fact
from memfolio.index.lookup import records
from memfolio.knowledge.facts import Facts, fact_json
from memfolio.types import Attribution
from memfolio.vault.vault import OWNER
from tests.conftest import START
from tests.index.proof import assert_index_equals_rebuilt, opened

BY = Attribution(actor="bot:test", trigger="fact")
LEDGER = "agents/main/knowledge/facts"


def facts_of(memory: Memory) -> Facts:
    return Facts(memory.vault, memory.searcher, memory.agent)


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with opened(home, clock=clock) as made:
        yield made


@pytest.fixture
def facts(memory: Memory) -> Facts:
    return facts_of(memory)


def write(memory: Memory, name: str, *lines: dict[str, Any] | str) -> None:
    """Write a file of the ledger by hand."""
    path = memory.vault.home.root / "agents/main/knowledge" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    memory.sync()


def triples(found: list[Fact]) -> list[str]:
    return [str(each) for each in found]


# Against a model

TERMS = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(st.just("assert"), TERMS, TERMS, st.sampled_from([0.25, 0.5, 1.0])),
    st.tuples(st.just("retract"), TERMS, TERMS, st.none()),
    st.tuples(st.just("verify"), TERMS, TERMS, st.sampled_from([None, 0.75])),
    st.tuples(st.just("hand"), TERMS, TERMS, st.sampled_from([0.125, 0.375])),
    st.tuples(st.just("cut"), st.integers(0, 3), st.integers(0, 30), st.none()),
    st.tuples(st.just("undo"), st.integers(0, 2), st.none(), st.none()),
)


def modelled(home: Path) -> dict[tuple[str, str, str], tuple[float, int]]:
    """What the files say, read as simply as can be: how sure each fact is, and how often it was verified."""
    found: dict[tuple[str, str, str], tuple[float, int]] = {}
    by_hand = home / f"{LEDGER}.jsonl"
    for path in [*([by_hand] if by_hand.exists() else []), *sorted((home / LEDGER).glob("*.jsonl"))]:
        for line in map(json.loads, path.read_text().splitlines()):
            triple, confidence = (line["subject"], line["predicate"], line["object"]), line.get("confidence")
            match line.get("op", "assert"):
                case "assert":
                    found[triple] = (confidence, found.get(triple, (0, 0))[1])
                case "retract":
                    found.pop(triple, None)
                case "verify" if triple in found:
                    before, count = found[triple]
                    found[triple] = (before if confidence is None else confidence, count + 1)
    return found


def step(memory: Memory, kind: str, one: Any, two: Any, value: float | None) -> None:
    facts, home = facts_of(memory), memory.vault.home.root
    match kind:
        case "assert":
            facts.assert_(one, "p", two, confidence=value or 0)
        case "retract":
            facts.retract(subject=one, object=two)
        case "verify":
            for fact in facts.query(one, "p", two):
                facts.note_verification(fact, "user_confirmation", True, value, BY)
        case "hand":
            path = home / f"{LEDGER}.jsonl"
            before = path.read_text() if path.exists() else ""
            line = json.dumps({"subject": one, "predicate": "p", "object": two, "confidence": value})
            write(memory, "facts.jsonl", *before.splitlines(), line)
        case "cut":
            if paths := sorted((home / LEDGER).glob("*.jsonl")):
                path = paths[one % len(paths)]
                lines = path.read_text().splitlines()
                at = two % max(1, len(lines))
                write(memory, f"facts/{path.name}", *lines[:at], *lines[at + 1 :])
        case "undo":
            seqs = [entry.seq for entry in memory.audit.log(limit=9) if LEDGER in str(entry)]
            with suppress(ConflictError, InputError, LookupError):
                memory.audit.undo(seqs[one : one + 1], by=OWNER)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=8))
def test_facts_are_what_their_lines_say(steps: list[tuple[str, Any, Any, Any]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="memfolio-"))
    clock = SettableClock(START)
    try:
        with opened(folder / "home", clock=clock, max_ledger_bytes=4096) as memory:
            memory.remember("tea")
            for each in steps:
                clock.advance(seconds=1)
                step(memory, *each)
                found = facts_of(memory).query(include_untrusted=True, valid_at="any")
                said = {fact.triple: (fact.confidence, fact.verification_count) for fact in found}
                assert said == modelled(folder / "home")
            assert_index_equals_rebuilt(memory, questions=("a p b",))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# What is told


def test_same_triple_again_updates_and_keeps_what_was_known(facts: Facts, clock: SettableClock) -> None:
    first = facts.assert_(" Acme ", "hasRevenue", "50000", confidence=0.5, source="cfo")
    clock.advance(hours=1)
    second = facts.assert_("Acme", "hasRevenue", "50000", confidence=0.9, source="report", category="finance")
    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert (second.confidence, second.source, second.category) == (0.9, "report", "finance")
    assert second.updated_at == START + timedelta(hours=1)
    assert [(entry.op, entry.fact and entry.fact.confidence) for entry in facts.history(first.id)] == [
        ("assert", 0.5),
        ("assert", 0.9),
    ]
    assert facts.query("Acme", as_of=START + timedelta(minutes=30)) == [first._replace(row=0)]
    assert facts.query("Acme", as_of=START - timedelta(minutes=1)) == []
    assert facts.query("Acme", as_of=START + timedelta(hours=2)) == [second]


def test_what_is_not_given_stays_as_it_was(memory: Memory, facts: Facts) -> None:
    seen = ["M-1763217005123-5f2c91ab"]
    given: dict[str, Any] = {
        "confidence": 0.9,
        "source": "cfo",
        "valid_from": "2026-01-01",
        "category": "c",
        "memories": seen,
    }
    first = facts.assert_("a", "p", "b", **given)
    ended = facts.assert_("a", "p", "b", valid_until="2026-12-31")
    untouched: dict[str, Any] = {"valid_until_us": None, "updated_us": 0, "more": None}
    assert ended._replace(**untouched) == first._replace(**untouched)
    assert (ended.valid_until, facts.about_memory(seen[0])) == (datetime(2027, 1, 1, tzinfo=UTC), [ended])
    head = memory.vault.journal.head
    assert facts.assert_many([{"subject": "a", "predicate": "p", "object": "b", "source": "cfo"}]) == [ended]
    assert memory.vault.journal.head == head
    bare = facts.assert_("a", "p", "b", valid_from="", valid_until="", category="")
    assert (bare.valid_from, bare.valid_until, bare.category, bare.source) == (None, None, None, "cfo")
    facts.assert_("a", "p", "b", valid_from="2026-01-01")
    with pytest.raises(InputError, match="not after"):
        facts.assert_("a", "p", "b", valid_until="2025-12-30")
    new = facts.assert_("a", "p", "new")
    assert (new.confidence, new.source) == (1.0, "manual")
    assert_index_equals_rebuilt(memory)


def test_links_that_a_person_wrote_badly_do_not_stand_in_the_way(memory: Memory, facts: Facts) -> None:
    triple = {"subject": "a", "predicate": "p", "object": "b"}
    write(memory, "facts.jsonl", {**triple, "memories": ["tea", 5], "derived_from": "x", "confidence": 0.5})
    assert facts.assert_("a", "p", "b", source="cfo").confidence == 0.5


def test_what_is_known_exactly_so_is_not_written_again(memory: Memory, facts: Facts) -> None:
    one = facts.assert_("a", "p", "b", memories=["M-1763217005123-5f2c91ab"], valid_from="2026-01-01")
    head = memory.vault.journal.head
    assert facts.assert_("a", "p", "b", memories=["M-1763217005123-5f2c91ab"], valid_from="2026-01-01") == one
    assert memory.vault.journal.head == head
    assert facts.about_memory("M-1763217005123-5f2c91ab") == [one]


def test_retracted_fact_can_be_asserted_anew(facts: Facts, clock: SettableClock) -> None:
    first = facts.assert_("a", "p", "b")
    clock.advance(seconds=1)
    assert facts.retract(first.id, by=BY) == [first]
    assert facts.query("a") == []
    with pytest.raises(NotFoundError, match="retracted"):
        facts.get(first.id)
    clock.advance(seconds=1)
    again = facts.assert_("a", "p", "b", confidence=0.5)
    assert again.created_at == START + timedelta(seconds=2)
    assert again.id != first.id
    assert facts.get(first.id) == again  # the id of an earlier line
    assert [entry.op for entry in facts.history(again.id)] == ["assert", "retract", "assert"]


def test_undo_brings_the_earlier_version_back(memory: Memory, facts: Facts) -> None:
    facts.assert_("a", "p", "b", confidence=0.5)
    facts.assert_("a", "p", "b", confidence=0.9)
    memory.audit.undo([memory.audit.log(limit=1)[0].seq], by=BY)
    assert [fact.confidence for fact in facts.query("a")] == [0.5]
    assert_index_equals_rebuilt(memory)


def test_retraction_takes_filters_together(facts: Facts) -> None:
    facts.assert_many({"subject": s, "predicate": p, "object": "x"} for s in ("a1", "a2", "b") for p in ("p", "q"))
    with pytest.raises(InputError, match="which facts"):
        facts.retract()
    assert triples(facts.retract(subject="a*", predicate="p", dry_run=True)) == ["a1 p x", "a2 p x"]
    assert len(facts.query()) == 6
    facts.retract(subject="a*", predicate="p")
    assert triples(facts.query()) == ["a1 q x", "a2 q x", "b p x", "b q x"]
    assert facts.retract(facts.query("b", "p")[0].id, subject="a*") == facts.retract(subject="nobody") == []


def test_many_facts_are_one_change(memory: Memory, facts: Facts) -> None:
    told = [{"subject": f"s{number}", "predicate": "p", "object": "x"} for number in range(500)]
    assert len(facts.assert_many([*told, told[0]])) == 500
    assert len(facts.query(limit=1000)) == 500
    memory.audit.undo([memory.audit.log(limit=1)[0].seq], by=BY)
    assert facts.query() == []
    with pytest.raises(InputError, match="fact 2: the predicate"):
        facts.assert_many([told[0], {"subject": "s", "predicate": "two words", "object": "x"}])
    assert facts.query() == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"predicate": "has revenue"}, "spaces"),
        ({"subject": "  "}, "subject is empty"),
        ({"object": "x" * 5000}, "longer"),
        ({"object": "a\0b"}, "NUL"),
        ({"subject": "a\ud800"}, "surrogate"),
        ({"confidence": 1.5}, "0 to 1"),
        ({"confidence": float("nan")}, "0 to 1"),
        ({"confidence": True}, "0 to 1"),
        ({"valid_from": datetime(2026, 1, 1)}, "no time zone"),
        ({"valid_from": "soon"}, "no time"),
        ({"valid_from": "2026-02-01", "valid_until": "2026-01-01"}, "not after"),
        ({"origin": "nobody"}, "no origin"),
        ({"memories": ["tea"]}, "no id"),
        ({"subject": None}, "missing"),
        ({"subject": "?x"}, "variable"),
        ({"predicate": "*"}, "stands for anything"),
        ({"object": "**"}, "stands for anything"),
    ],
)
def test_wrong_input_is_refused_and_changes_nothing(facts: Facts, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        facts.assert_(**{"subject": "a", "predicate": "p", "object": "b", **wrong})
    assert facts.query(valid_at="any") == []


def test_terms_are_kept_in_one_spelling(facts: Facts) -> None:
    kept = facts.assert_("Zoe\u0308 ", "p", "b")
    assert kept.id == facts.assert_("Zo\u00eb", "p", "b", confidence=0.5).id
    assert triples(facts.query(" Zoe\u0308*")) == triples(facts.retract(subject="Zoe\u0308")) == ["Zo\u00eb p b"]


def test_strangers_are_not_believed(facts: Facts) -> None:
    known = facts.assert_("a", "p", "b")
    assert facts.assert_("a", "p", "b", confidence=0.1, origin="untrusted", by=OWNER) == known
    facts.assert_("a", "p", "c", confidence=0.1, valid_until="2020-01-01", origin="untrusted", by=OWNER)
    assert triples(facts.query("a")) == ["a p b"]
    assert triples(facts.query("a", include_untrusted=True, valid_at="any")) == ["a p b", "a p c"]
    trusted = facts.assert_("a", "p", "c")
    assert (trusted.confidence, trusted.valid_until) == (1.0, None)  # nothing of what the stranger said


def test_agent_makes_no_more_of_the_words_of_strangers(home: Path) -> None:
    with Memory.open(home, background=False, speaker="agent") as memory:
        heard = memory.observe("tool", "The door code is 9")
        for origin in (None, "agent"):
            with pytest.raises(ProposedError):
                memory.facts.assert_("door", "code", "9", memories=[heard.id], origin=origin)
        with pytest.raises(PolicyError):
            memory.facts.assert_("door", "code", "9", origin="owner")
        assert memory.facts.query(include_untrusted=True) == []
    with Memory.open(home, background=False, speaker="owner") as memory:
        assert memory.facts.assert_("door", "code", "9", memories=[heard.id]).origin == "owner"


def test_agent_sees_nothing_of_those_it_does_not_read(home: Path) -> None:
    with opened(home) as memory, opened(home, "bob") as bob:
        fact = memory.facts.assert_("door", "code", "9", memories=["M-1763217005123-5f2c91ab"])
        (home / "agents/bob").mkdir(exist_ok=True)
        (home / "agents/bob/agent.toml").write_text("reads = []\n")
        facts, unknown = bob.facts, 0
        assert facts.query() == list(facts.all()) == facts.about_memory("M-1763217005123-5f2c91ab") == []
        for ask in (facts.get, facts.history, facts.explain, facts.retract, bob.verify_fact):
            with pytest.raises(NotFoundError, match="there is no fact"):
                ask(fact.id)
            unknown += 1
        assert (unknown, bob.questions.traverse("door", "code").paths) == (5, ())


# What is asked


def test_days_are_meant_from_their_first_to_their_last_moment(home: Path, clock: SettableClock) -> None:
    with opened(home, clock=clock, timezone="Europe/Berlin") as memory:
        facts = facts_of(memory)
        facts.assert_("a", "p", "b", valid_from="2026-11-10", valid_until="2026-11-12")
        spans = {
            "2026-11-09T22:59:59.999999Z": 0,
            "2026-11-09T23:00:00Z": 1,
            "2026-11-12T22:59:59.999999Z": 1,
            "2026-11-12T23:00:00Z": 0,
        }
        assert {at: len(facts.query("a", valid_at=at)) for at in spans} == spans
        assert facts.query("a") == []
        assert len(facts.query("a", valid_at="any")) == 1
        assert len(facts.query("a", valid_at=datetime(2026, 11, 11, tzinfo=UTC))) == 1
        facts.assert_("z", "p", "b", valid_until="9999-12-31")
        assert len(facts.query("z", valid_at="9999-12-31T22:00Z")) == 1


def test_patterns_fit_every_position(facts: Facts) -> None:
    names = ["Ab", "Abc", "aB", "b*", "b[x]"]
    facts.assert_many({"subject": s, "predicate": "p", "object": f"o{n}"} for n, s in enumerate(names))
    facts.assert_("z", "is", "Ab", confidence=0.25, source="web", category="c")
    found = {pattern: triples(facts.query(pattern)) for pattern in ("A*", "Ab?", "*b*", "b[x]", "b[*", "?B")}
    assert found == {
        "A*": ["Ab p o0", "Abc p o1"],
        "Ab?": ["Abc p o1"],
        "*b*": ["Ab p o0", "Abc p o1", "b* p o3", "b[x] p o4"],
        "b[x]": ["b[x] p o4"],
        "b[*": ["b[x] p o4"],
        "?B": ["aB p o2"],
    }
    assert triples(facts.query(predicate="i*", object="?b")) == ["z is Ab"]
    assert len(facts.query(predicate="p", object="o*", limit=2)) == 2
    assert triples(facts.query(min_confidence=0.5, object="Ab")) == []
    assert triples(facts.query(source="web", category="c")) == ["z is Ab"]
    with pytest.raises(NotFoundError):
        facts.query(agents="nobody")


def test_bad_lines_are_told_and_the_others_count(memory: Memory, facts: Facts) -> None:
    good = {"subject": "a", "predicate": "p", "object": 5000}
    odd = {
        "op": ["sing"],
        "confidence": 7,
        "predicate": "p q",
        "object": float("nan"),
        "source": ["x"],
        "category": {},
        "origin": ["owner"],
        "at": ["x"],
        "valid_from": 2026,
        "valid_until": "0001-01-01T00:00:00+14:00",
    }
    wrong = [{**good, name: value} for name, value in odd.items()]
    write(memory, "facts.jsonl", *wrong, {"subject": "a"}, "{oops", good, "[1]")
    assert triples(facts.query()) == ["a p 5000"]
    told = [each.partition(":")[0] for each in facts.problems()]
    assert told == [f"{LEDGER}.jsonl, line {number}" for number in (*range(1, 13), 14)]
    assert facts.retract(facts.query()[0].id) != []  # what stands in the file of a person can be retracted
    assert facts.query() == []


def test_facts_are_found_by_their_words(memory: Memory, facts: Facts) -> None:
    fact = facts.assert_("Acme", "locatedIn", "Lisbon")
    assert fact.id in {hit.memory.id for hit in memory.recall("Where is Acme located?")}
    facts.retract(fact.id)
    assert memory.recall("Lisbon") == []


def test_document_of_a_fact_has_plain_values(facts: Facts) -> None:
    told = fact_json(facts.assert_("a", "p", "b", valid_until="2026-11-15", memories=["M-1763217005123-5f2c91ab"]))
    assert json.loads(json.dumps(told)) == told
    assert (told["valid_until"], told["derived"]) == ("2026-11-16T00:00:00+00:00", False)
    assert told["memories"] == ["M-1763217005123-5f2c91ab"]


def test_conclusions_hear_of_changes_only_while_they_are_kept(memory: Memory, facts: Facts) -> None:
    def changes() -> list[tuple[Any, ...]]:
        return memory.searcher.index.read(lambda db: db.execute("SELECT subject, object FROM fact_changes").fetchall())

    facts.assert_("a", "p", "b")
    assert changes() == []
    memory.searcher.index.write(lambda db: set_meta(db, "derived", 1))
    facts.assert_("a", "p", "c")
    facts.assert_("a", "p", "c", confidence=0.5)
    facts.retract(object="b")
    assert changes() == [("a", "c"), ("a", "c"), ("a", "b")]
    (left,) = facts.query("a")
    facts.note_verification(left, "user_confirmation", True, None, BY)
    facts.assert_("a", "p", "c", confidence=0.5, source="another")
    assert len(changes()) == 3  # none that inference would see


def test_all_facts_are_read_page_by_page(memory: Memory, facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memfolio.knowledge.facts.PAGE", 3)
    facts.assert_many({"subject": f"s{n}", "predicate": f"p{n % 2}", "object": "o"} for n in range(8))
    spans = [(-n, f"s{n // 3}", "q", "o", 0.5, n, n + 1, "R-1") for n in range(1, 8)]
    sql = "INSERT INTO derived VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    memory.searcher.index.write(lambda db: db.executemany(sql, spans[::-1]))
    everything = facts.query(valid_at="any", limit=100)
    assert len(everything) == 15
    assert list(facts.all(include_derived=True)) == everything
    assert list(facts.all()) == [each for each in everything if not each.is_derived]
    assert list(facts.all(predicate="p1")) == facts.query(predicate="p1")
    assert [facts.query(valid_at="any", limit=n) for n in range(1, 16)] == [everything[:n] for n in range(1, 16)]
    assert facts.query(predicate="q", valid_at="any", limit=2)[0].subject == "s0"


def test_conclusion_cannot_be_retracted(memory: Memory, facts: Facts) -> None:
    premise = facts.assert_("a", "p", "b")
    memory.searcher.index.write(
        lambda db: (
            db.execute("INSERT INTO derived VALUES (-7, 'b', 'q', 'a', 0.5, NULL, NULL, 'R-1')"),
            db.execute("INSERT INTO supports VALUES (?, -7)", (premise.row,)),
        )
    )
    found = facts.query("b")
    assert [(fact.is_derived, fact.source, fact.confidence) for fact in found] == [(True, "R-1", 0.5)]
    assert facts.get(found[0].id) == found[0]
    for named, predicate in ((found[0].id, None), (None, "q")):
        with pytest.raises(ConflictError, match="follows by rule R-1 from a p b"):
            facts.retract(named, predicate=predicate)
    with pytest.raises(NotFoundError, match="follows by rule R-1 from a p b, and has no history"):
        facts.history(found[0].id)
    assert facts.query("b", include_derived=False) == []


def test_cases_are_memories_until_they_are_deleted(memory: Memory) -> None:
    case = {"id": "C-1-00000001", "situation": {"context": "a flooded cellar"}, "solution": {"actions": ["pump"]}}
    write(memory, "cases/0001.jsonl", case)
    assert [hit.memory.id for hit in memory.recall("cellar")] == ["C-1-00000001"]
    write(memory, "cases/0002.jsonl", {"op": "delete", "case": "C-1-00000001"})
    assert memory.recall("cellar") == []
    assert len(memory.searcher.index.read(lambda db: records(db, "cases"))) == 2
    assert_index_equals_rebuilt(memory)


def assert_often(home: Path, name: str) -> None:
    with opened(home) as memory:
        for number in range(20):
            value: Any = number / 100 if name == "confidence" else f"s{number}"
            facts_of(memory).assert_("a", "p", "b", **{name: value})


def test_processes_that_assert_the_same_share_one_fact_and_keep_what_the_other_says(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("tea")
        chosen = multiprocessing.get_context("spawn")
        both = [chosen.Process(target=assert_often, args=(home, name)) for name in ("confidence", "source")]
        for each in both:
            each.start()
        for each in both:
            each.join(60)
            assert each.exitcode == 0
        (fact,) = facts_of(memory).query("a")
        assert (fact.confidence, fact.source) == (0.19, "s19")
        assert len(facts_of(memory).history(fact.id)) == 40
        assert_index_equals_rebuilt(memory)
