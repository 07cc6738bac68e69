"""Verification: by the person, by other sources, by the calendar and by the other facts; noted, never a deletion."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.index.facts import Fact
from memfolio.knowledge.facts import Facts
from memfolio.knowledge.verify import Evidence, Verification, VerificationMethod, contradicting, verify
from memfolio.types import Attribution, MemoryItem

BY = Attribution(actor="human", trigger="test")


@pytest.fixture
def facts(memory: Memory) -> Facts:
    return Facts(memory.vault, memory.searcher, memory.agent)


def tell(facts: Facts, subject: str, predicate: str, object: str, **more: Any) -> Fact:
    [fact] = facts.assert_many([{"subject": subject, "predicate": predicate, "object": object, **more}])
    return fact


def check(facts: Facts, fact: Fact, method: str, clock: SettableClock, **more: Any) -> Verification:
    return verify(facts, fact.id, method, now=clock.now(), by=BY, **more)


def test_person_confirms_or_denies_and_must_be_asked(facts: Facts, clock: SettableClock) -> None:
    fact = tell(facts, "Alex", "livesIn", "Berlin", confidence=0.6)
    for answer in (None, "no"):
        with pytest.raises(InputError, match="nobody has said"):
            check(facts, fact, "user_confirmation", clock, confirmed=answer)
    assert facts.get(fact.id).verification_count == 0
    assert check(facts, fact, "user_confirmation", clock, confirmed=True).verified
    known = facts.get(fact.id)
    assert (known.verification_count, known.last_verified, known.confidence) == (1, clock.now(), 0.6)
    denied = check(facts, fact, "user_confirmation", clock, confirmed=False, adjust=True)
    assert (denied.verified, facts.get(fact.id).confidence) == (False, 0.0)
    assert [entry.op for entry in facts.history(fact.id)] == ["assert", "verify", "verify"]


def test_answer_that_an_agent_passes_on_is_told_as_that_and_changes_no_confidence(
    facts: Facts, clock: SettableClock
) -> None:
    fact, agent = tell(facts, "Alex", "livesIn", "Berlin", confidence=0.3), Attribution(actor="bot:main")
    for answer, told in ((True, "the person confirmed it"), (False, "the person says that it is not so")):
        found = verify(facts, fact.id, "user_confirmation", now=clock.now(), by=agent, confirmed=answer, adjust=True)
        assert (found.verified, found.reason) == (answer, f"bot:main reports that {told}")
        assert facts.get(fact.id).confidence == 0.3


def test_that_nothing_speaks_against_a_fact_makes_it_no_surer_however_often_it_is_checked(
    facts: Facts, clock: SettableClock
) -> None:
    fact = tell(facts, "Alex", "livesIn", "Berlin", confidence=0.3)
    for method in ("consistency_check", "temporal_check", "consistency_check"):
        assert check(facts, fact, method, clock, adjust=True).verified
    assert (facts.get(fact.id).confidence, facts.get(fact.id).verification_count) == (0.3, 3)


@pytest.mark.parametrize("method", list(VerificationMethod))
def test_conclusion_is_verified_by_what_it_follows_from(memory: Memory, method: str) -> None:
    memory.facts.assert_("Alex", "livesIn", "Berlin")
    memory.rules.create("?x livesIn ?y => ?x knows ?y")
    memory.inference.forward(persist=True)
    [drawn] = memory.facts.query("Alex", "knows")
    with pytest.raises(ConflictError, match="follows from other facts"):
        memory.verify_fact(drawn.id, method, confirmed=True)


def test_failed_check_never_raises_confidence(facts: Facts, clock: SettableClock) -> None:
    fact = tell(facts, "Alex", "livesIn", "Berlin", confidence=0.2)
    assert check(facts, fact, "cross_reference", clock, adjust=True).confidence == 0.5
    assert facts.get(fact.id).confidence == 0.2


def test_unknown_method_and_unknown_fact_are_refused(facts: Facts, clock: SettableClock) -> None:
    fact = tell(facts, "Alex", "livesIn", "Berlin")
    with pytest.raises(InputError, match="unknown method"):
        check(facts, fact, "horoscope", clock)
    with pytest.raises(NotFoundError):
        verify(facts, "F-1-00000000", VerificationMethod.TEMPORAL_CHECK, now=clock.now(), by=BY)


def test_other_sources_count_once_each_and_own_denying_and_untrusted_ones_do_not(
    facts: Facts, memory: Memory, clock: SettableClock
) -> None:
    said = memory.remember("Alex lives in Berlin", session="s-1")
    others = [
        memory.remember("Alex has lived in Berlin for years", session="s-2"),
        memory.remember("In Berlin lives Alex, they say", session="s-2"),
        memory.remember("Alex does not live in Berlin", session="s-3"),
        memory.observe("web", "Alex lives in Berlin!", session="s-4"),
        memory.remember("Alex visited Berlin", session="s-5"),
    ]
    fact = tell(facts, "Alex", "livesIn", "Berlin", source="conversation", memories=[said.id])
    tell(facts, "alex", "livesIn", "Berlin", source="conversation")
    evidence = Evidence(memories=lambda _: (said, *others))
    found = check(facts, fact, "cross_reference", clock, evidence=evidence)
    assert (found.supports, found.confidence) == ((others[0].id,), 0.75)
    twin = tell(facts, "ALEX", "livesIn", "Berlin", source="crm")
    found = check(facts, fact, "cross_reference", clock, evidence=evidence)
    assert (found.verified, set(found.supports)) == (True, {twin.id, others[0].id})
    assert found.confidence == 0.875


@pytest.mark.parametrize("memories", ["5", '"M-1"', '[["M-1"], null]'])
def test_nonsense_that_was_written_by_hand_is_no_obstacle(
    facts: Facts, memory: Memory, home: Path, clock: SettableClock, memories: str
) -> None:
    (home / "agents/main/knowledge").mkdir(parents=True, exist_ok=True)
    line = f'{{"subject": "Alex", "predicate": "likes", "object": "tea", "memories": {memories}}}\n'
    (home / "agents/main/knowledge/facts.jsonl").write_text(line, encoding="utf-8")
    memory.sync()
    [fact] = facts.query("Alex")
    assert not check(facts, fact, "cross_reference", clock).verified


def test_what_was_made_of_the_same_memory_is_no_other_source(
    facts: Facts, memory: Memory, clock: SettableClock
) -> None:
    said = memory.remember("Alex lives in Berlin")
    copy: MemoryItem = replace(memory.remember("Alex lives in Berlin by now"), derived_from=(said.id,))
    fact = tell(facts, "Alex", "livesIn", "Berlin", memories=[said.id])
    found = check(facts, fact, "cross_reference", clock, evidence=Evidence(memories=lambda _: (said, copy)))
    assert (found.verified, found.reason) == (False, "no other source tells it")


def test_time_alone_can_make_a_fact_doubtful(facts: Facts, clock: SettableClock) -> None:
    plain = tell(facts, "Alex", "livesIn", "Berlin")
    later = tell(facts, "Alex", "worksAt", "Acme", valid_from=clock.now() + timedelta(days=5))
    over = tell(facts, "Alex", "owns", "car", valid_until=clock.now() + timedelta(days=5))
    assert check(facts, plain, "temporal_check", clock).verified
    assert check(facts, later, "temporal_check", clock).reason == "it holds only from 2026-11-20 on"
    clock.advance(days=360)
    assert check(facts, over, "temporal_check", clock).reason == "it held only until 2026-11-20"
    for method in ("temporal_check", "consistency_check"):
        check(facts, plain, method, clock)
    check(facts, plain, "user_confirmation", clock, confirmed=False)
    stale = check(facts, plain, "temporal_check", clock)
    assert not stale.verified
    assert stale.confidence == pytest.approx(0.45)
    check(facts, plain, "user_confirmation", clock, confirmed=True)
    assert check(facts, plain, "temporal_check", clock).verified


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("Alex", "bornIn", "1990"), ("Alex", "bornIn", "1991"), True),  # others were born once each
        (("Alex", "likes", "tea"), ("Alex", "likes", "milk"), False),  # others like several things
        (("Alex", "likes", "tea"), ("Alex", "not_likes", "tea"), True),
        (("Alex", "notLikes", "tea"), ("Alex", "likes", "tea"), True),
        (("Acme", "isTaxable", "true"), ("Acme", "isTaxable", "false"), True),
        (("Alex", "bornIn", "1990"), ("Alex", "bornIn", "1,990"), False),  # the same number
        (("Alex", "rare", "a"), ("Alex", "rare", "b"), False),  # nothing shows that it has one object
        (("Alex", "capital", "a"), ("Alex", "capital", "b"), True),  # declared
    ],
)
def test_contradictions_are_what_cannot_both_be(
    facts: Facts, clock: SettableClock, one: tuple[str, str, str], other: tuple[str, str, str], clash: bool
) -> None:
    for name in ("Bo", "Cy", "Di"):
        tell(facts, name, "bornIn", "1980")
        tell(facts, name, "likes", "tea")
        tell(facts, name, "likes", "milk")
    fact, against = tell(facts, *one), tell(facts, *other)
    found = check(facts, fact, "consistency_check", clock, evidence=Evidence(functional=("capital",)))
    assert found.verified is not clash
    assert found.contradictions == ((against,) if clash else ())
    assert found.confidence == (0.5 if clash else 0.9)
    assert facts.get(fact.id).object == fact.object


def test_facts_of_other_times_do_not_contradict(facts: Facts, clock: SettableClock) -> None:
    old = tell(facts, "Alex", "livesIn", "Bonn", valid_until="2020-01-01")
    new = tell(facts, "Alex", "livesIn", "Berlin", valid_from="2020-01-02")
    both = tell(facts, "Alex", "livesIn", "Rome", valid_from="2019-01-01", valid_until="2021-01-01")
    assert contradicting(new, facts, ("livesIn",)) == [both]
    assert {each.id for each in contradicting(both, facts, ("livesIn",))} == {old.id, new.id}


def test_violated_constraints_speak_against_a_fact(facts: Facts, clock: SettableClock) -> None:
    fact = tell(facts, "Acme", "hasRevenue", "$-5")
    evidence = Evidence(violations=lambda fact: [f"{fact.object} is below zero", "another"])
    found = check(facts, fact, "consistency_check", clock, evidence=evidence)
    assert not found.verified
    assert found.confidence == pytest.approx(1 / 3)
    assert "$-5 is below zero" in found.reason
