"""Facts, rules and terms pass the policy like memories, and are taken back with their source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.errors import NotFoundError, PolicyError, ProposedError
from memfolio.memory import Memory
from memfolio.types import Attribution, Origin
from memfolio.vault.paths import Form, Ledger

PERSON = Attribution(actor="human", trigger="cli")
RULE = "?x hasRevenue ?y and ?y > 50000 => ?x isTaxable true"


@pytest.fixture
def main(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.agents.create("scout", policy="proposes", reads=("shared",), by=PERSON)
        yield memory


@pytest.fixture
def scout(main: Memory) -> Iterator[Memory]:
    with Memory.open(main.vault.config.home, "scout", background=False, speaker="agent") as memory:
        yield memory


def test_fact_of_a_proposing_agent_waits_and_is_asserted_when_it_is_approved(main: Memory, scout: Memory) -> None:
    with pytest.raises(ProposedError):
        scout.facts.assert_("Acme", "hasRevenue", "60000", confidence=0.8, source="web")
    [waiting] = main.proposals.pending()
    assert waiting.title == "Assert a fact: Acme hasRevenue 60000"
    main.proposals.commit(waiting.id, shown=waiting.shown, by=PERSON)
    [fact] = main.facts.query("Acme")
    assert (str(fact), fact.confidence, fact.source) == ("Acme hasRevenue 60000", 0.8, "web")


def test_retraction_by_a_proposing_agent_shows_the_fact_that_it_is_about(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as main:
        main.agents.create("scout", policy="proposes", reads=("main",), by=PERSON)
    with Memory.open(home, "scout", background=False, speaker="owner") as owner:
        fact = owner.facts.assert_("Acme", "locatedIn", "Lisbon")
    with Memory.open(home, "scout", background=False, speaker="agent") as scout, pytest.raises(ProposedError):
        scout.facts.retract(fact.id)
    with Memory.open(home, "scout", background=False, speaker="owner") as owner:
        [waiting] = owner.proposals.pending(all=True)
        assert waiting.about == "Acme located in Lisbon."


def test_rule_of_a_proposing_agent_is_made_when_it_is_approved(main: Memory, scout: Memory) -> None:
    with pytest.raises(ProposedError):
        scout.rules.create(RULE, name="taxable")
    [waiting] = main.proposals.pending()
    main.proposals.commit(waiting.id, shown=waiting.shown, by=PERSON)
    assert [rule.name for rule in main.rules.list()] == ["taxable"]


def test_term_is_proposed_with_what_there_is_to_think_of(main: Memory) -> None:
    from memfolio.knowledge.ontology.document import new_term

    main.scaffold("business", "business", by=PERSON)
    term = new_term("class", "business:Custommer", definition="Party that buys.", parents=("business:Party",))
    proposal = main.propose_term(term, rationale="needed for orders", by=PERSON)
    assert "Customer" in proposal.note
    main.proposals.commit(proposal.id, shown=proposal.shown, by=PERSON)
    assert main.ontology.get("business:Custommer").definition == "Party that buys."


@pytest.mark.parametrize("preset", ["balanced", "strict"])
def test_rule_by_an_agent_passes_the_policy(home: Path, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFOLIO_POLICY_PRESET", preset)
    with Memory.open(home, background=False, speaker="agent") as memory:
        if preset == "balanced":
            assert memory.rules.create(RULE).id.startswith("R-")
        else:
            with pytest.raises(ProposedError):
                memory.rules.create(RULE)


def test_agent_cannot_assert_in_the_owners_name(home: Path) -> None:
    with Memory.open(home, background=False, speaker="agent") as memory:
        for origin in (Origin.OWNER, Origin.SYSTEM):
            with pytest.raises(PolicyError, match="cannot speak for the owner"):
                memory.facts.assert_("Acme", "isTrusted", "true", origin=origin)
        assert memory.facts.query() == []
        assert memory.facts.assert_("Acme", "isTrusted", "true", by=PERSON).origin == Origin.AGENT


def test_what_a_stranger_asserts_takes_no_part_until_it_is_approved(main: Memory) -> None:
    main.rules.create(RULE)
    main.inference.forward(persist=True)
    main.facts.assert_("Acme", "hasRevenue", "60000", origin=Origin.UNTRUSTED, by=PERSON)
    assert main.facts.query("Acme") == []
    assert [str(fact) for fact in main.facts.query(include_untrusted=True)] == ["Acme hasRevenue 60000"]


def test_undoing_a_source_retracts_what_it_told_and_what_follows(main: Memory) -> None:
    main.rules.create(RULE)
    main.inference.forward(persist=True)
    main.facts.assert_("Acme", "hasRevenue", "60000", source="web-1")
    main.facts.assert_("Umbra", "hasRevenue", "70000", source="cfo")
    item = main.remember("Acme is in Lisbon", source="web-1")
    main.facts.assert_("Acme", "locatedIn", "Lisbon", source="reading", memories=[item.id])
    undone = main.undo("web-1", by=PERSON)
    assert undone.facts == ("Acme hasRevenue 60000", "Acme locatedIn Lisbon")
    left = [str(fact) for fact in main.facts.query()]
    assert left == ["Umbra hasRevenue 70000", "Umbra isTaxable true"]
    with pytest.raises(NotFoundError):
        main.undo("web-1", by=PERSON)


def test_fact_cannot_be_forgotten_as_a_memory_and_the_error_says_how(main: Memory) -> None:
    fact = main.facts.assert_("Acme", "locatedIn", "Lisbon")
    with pytest.raises(ValueError, match="cannot be forgotten by itself") as caught:
        main.forget(fact.id)
    assert f"memfolio fact retract {fact.id}" in str(getattr(caught.value, "hint", ""))


def test_agent_cannot_confirm_a_fact_as_the_person(home: Path) -> None:
    with Memory.open(home, background=False, speaker="agent") as memory:
        fact = memory.facts.assert_("Acme", "locatedIn", "Lisbon", confidence=0.3)
        memory.verify_fact(fact.id, "user_confirmation", confirmed=True, adjust=True, by=PERSON)
        assert memory.facts.get(fact.id).confidence == 0.3


def test_line_that_makes_a_strangers_word_trusted_is_refused(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        item = memory.observe("tool", "Acme is safe", source="web")
        line = {"subject": "Acme", "predicate": "isSafe", "object": "true", "origin": "agent", "memories": [item.id]}
        ledger = Ledger("agents/main/knowledge/facts", Form.LINES)
        with pytest.raises(PolicyError, match="stranger"):
            memory.vault.add_lines(ledger, [line], Attribution(actor="bot:x", trigger="x"))
