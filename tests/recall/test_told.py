"""What an agent believes, wants, knows and can do is found and told as sentences, never as the fields beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.index.mind_pages import KINDS

PUMP = """---
type: skill
version: 3
---
# Restart the pump

**Status:** active | **Timeout:** 5m

## Trigger
- the pressure is gone

## Steps
1. Close the valve
   - timeout: 30s
2. Press the red button

## Learned From
- M-1794753005123-a3f2c91d

## History
- 2026-11-15 · bot:procedures · refined · retry twice
"""


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, background=False) as memory:
        yield memory


def test_belief_is_found_and_told_by_its_sentence(memory: Memory) -> None:
    goal = memory.mind.aim("Keep the guests happy")
    belief = memory.mind.believe("Alex prefers tea over coffee", certainty=0.9, supports=goal.id)
    for question in ("what does Alex prefer", "Which hot drink should I offer Alex?", "coffee"):
        hit = memory.recall(question)[0]
        assert (hit.memory.content, hit.heading) == ("Alex prefers tea over coffee", ("Beliefs",))
    assert (hit.memory.id, hit.memory.confidence) == (belief.id, 0.9)
    assert hit.memory.attributes["certainty"] == 0.9
    assert hit.memory.attributes["supports"] == goal.id
    told = memory.context("what does Alex prefer?") or ""
    assert f"[{belief.id}] 2026-11-15 fact: Beliefs: Alex prefers tea over coffee\n" in told
    assert "certainty" not in told


@pytest.mark.parametrize("verb", [kind.verb for kind in KINDS[1:]])
def test_every_kind_of_item_is_found_and_told_by_its_sentence(memory: Memory, verb: str) -> None:
    item = getattr(memory.mind, verb)("Harvest the quinces before the frost", status="active")
    for question in ("what about the quinces", "quinces frost"):
        assert [hit.memory.content for hit in memory.recall(question)] == ["Harvest the quinces before the frost"]
        assert f"{item.kind.page}: Harvest the quinces before the frost\n" in (memory.context(question) or "")
    found = memory.get(item.id)
    assert found is not None
    assert found.content == "Harvest the quinces before the frost"


def test_what_an_item_says_beside_its_title_is_told_with_it_once(memory: Memory) -> None:
    memory.mind.believe("Redis is our primary store.", title="Session store", certainty=0.8)
    long = "Boiling water spoils green tea, so let it cool to eighty degrees before pouring it over the leaves"
    memory.mind.learn(long)
    assert memory.recall("Redis")[0].memory.content == "Session store\nRedis is our primary store."
    assert memory.recall("green tea")[0].memory.content == long


def test_fields_that_a_reader_needs_are_told_in_words(memory: Memory) -> None:
    memory.mind.commit("Send the tea list", to="Alex", deadline="2026-12-01", priority=0.7)
    memory.mind.believe("Alex takes sugar", certainty=0.3)
    memory.mind.retire("Alex takes sugar", reason="he gave it up")
    memory.mind.be(role="CTO", department="Engineering")
    [promise] = memory.recall("tea list")
    assert promise.memory.content == "Send the tea list (to Alex, deadline 2026-12-01)"
    [past] = memory.recall("sugar")
    assert past.memory.content == "Alex takes sugar (retired, reason he gave it up)"
    assert "(uncertain): Beliefs: Alex takes sugar (retired" in (memory.context("does Alex take sugar?") or "")
    assert memory.recall("what is my role?")[0].memory.content == "Role CTO, department Engineering"


def test_pages_that_people_write_are_told_without_their_fields(memory: Memory) -> None:
    page = memory.vault.home.path("agents/main/mind/Goals.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        "# Ziele\n\nWhat the orchard is for.\n\n## Plant pears [deadline: 2026-12-01]\n- **Priority**: high\n\n"
        "Behind the shed.\n\n### Which\nConference pears.\n\n## Sell \\[priority: no field] cider\n",
        encoding="utf-8",
    )
    memory.sync()
    told = {hit.memory.content for hit in memory.recall("orchard pears cider")}
    assert told == {
        "What the orchard is for.",
        "Plant pears\nBehind the shed.\n\n### Which\nConference pears. (deadline 2026-12-01)",
        "Sell [priority: no field] cider",
    }


def test_item_that_fills_pages_is_found_at_its_end(memory: Memory) -> None:
    text = "\n\n".join(f"Paragraph {number} of the long plan for the orchard." for number in range(200))
    memory.mind.plan(f"{text}\n\nLast comes the persimmon.", title="The orchard", confidence=0.5)
    hit = memory.recall("persimmon")[0]
    assert hit.memory.content.endswith("Last comes the persimmon.")
    assert hit.heading == ("Plans", "The orchard")
    assert not any("confidence:" in each.memory.content for each in memory.recall("orchard plan", limit=50))


def test_edited_item_keeps_its_id_and_says_what_it_says_then(memory: Memory) -> None:
    item = memory.mind.believe("The well is full")
    memory.mind.update(item.id, text="The well is dry")
    assert [(hit.memory.id, hit.memory.content) for hit in memory.recall("well")] == [(item.id, "The well is dry")]
    path = memory.vault.home.path("agents/main/mind/Beliefs.md")
    path.write_text(path.read_text(encoding="utf-8").replace("dry", "deep"), encoding="utf-8")
    memory.sync()
    assert [(hit.memory.id, hit.memory.content) for hit in memory.recall("well")] == [(item.id, "The well is deep")]


def test_item_whose_id_something_else_has_is_found_beside_it(memory: Memory) -> None:
    kept = memory.remember("The gate is blue")
    item = memory.mind.believe("The gate is green")
    folder = memory.vault.home.path("agents/main/mind")
    (folder / "Goals.md").write_text(
        f"## The gate is red ^{kept.id}\n\n## The gate is grey ^{item.id}\n", encoding="utf-8"
    )
    (folder / "Learnings.md").write_text("## The gate is pink ^L-0123456789abcdef\n", encoding="utf-8")
    (folder / "Plans.md").write_text("## The gate is black ^L-0123456789abcdef\n", encoding="utf-8")
    memory.sync()
    colours = {hit.memory.content.rpartition(" ")[2] for hit in memory.recall("gate")}
    assert colours == {"blue", "green", "red", "grey", "pink", "black"}
    found = memory.get(kept.id)
    assert found is not None
    assert found.content == "The gate is blue"


def test_mind_in_the_archive_is_told_like_the_mind(memory: Memory) -> None:
    path = memory.vault.home.path("agents/main/memory/archive/2026-10/mind/Beliefs.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("## Alex smokes ^B-1794753005123-a3f2c91d\ncertainty: 0.9 · status: retired\n", encoding="utf-8")
    memory.sync()
    assert memory.recall("Alex smokes") == []
    [hit] = memory.recall("Alex smokes", include="archived")
    assert (hit.memory.content, hit.memory.id) == ("Alex smokes (retired)", "B-1794753005123-a3f2c91d")


@pytest.mark.parametrize(
    ("triple", "sentence"),
    [
        (("Acme", "hasRevenue", "$50,000"), "Acme has revenue $50,000."),
        (("Kim", "works_at", "Umbra Labs"), "Kim works at Umbra Labs."),
        (("Kim", "usesAPI", "v2"), "Kim uses API v2."),
        (("Kim", "is-a", "pilot"), "Kim is a pilot."),
        (("Kim", "likes", "tea!"), "Kim likes tea!"),
        (("Kim", "homepage", "https://kim.example/me"), "Kim homepage https://kim.example/me"),
        (("Kim", "heißtJetzt", "Kim Öz"), "Kim heißt jetzt Kim Öz."),
        (("Kim", "rdf:type", "Person"), "Kim rdf:type Person."),
        (("東京", "首都", "日本"), "東京 首都 日本"),
    ],
)
def test_fact_is_found_and_told_as_a_sentence(memory: Memory, triple: tuple[str, str, str], sentence: str) -> None:
    fact = memory.facts.assert_(*triple)
    for question in (" ".join(triple), triple[1], triple[2]):
        assert [(hit.memory.id, hit.memory.content) for hit in memory.recall(question)] == [(fact.id, sentence)]
    assert f"fact: {sentence}\n" in (memory.context(f"{' '.join(triple)} indeed?") or "")


def test_words_inside_a_predicate_find_the_fact_without_vectors(memory: Memory) -> None:
    memory.facts.assert_("Acme", "hasRevenue", "$50,000")
    hit = memory.recall("What is the revenue?")[0]
    assert "text" in {reason.strategy for reason in hit.why}


def test_procedure_is_told_with_its_title_when_to_use_it_and_its_steps(memory: Memory) -> None:
    path = memory.vault.home.path("agents/main/memory/procedures/restart-the-pump.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PUMP, encoding="utf-8")
    memory.sync()
    [hit] = memory.recall("how do I restart the pump?")
    assert hit.memory.content == (
        "Restart the pump\n\nWhen to use:\n- the pressure is gone\n\n"
        "Steps:\n1. Close the valve\n   - timeout: 30s\n2. Press the red button"
    )
    assert memory.recall("pressure gone")[0].memory.id == hit.memory.id
    told = memory.context("how do I restart the pump?") or ""
    assert "Press the red button" in told
    assert told.count("Restart the pump") == 1


def test_case_is_told_as_a_problem_what_was_done_and_how_it_went(memory: Memory) -> None:
    case = memory.cases.store(
        {"context": "The pump lost pressure at night"},
        {"actions": ["Closed the valve", "Called Rita"]},
        {"success": True, "lessons": "Check the seal first"},
    )
    [hit] = memory.recall("pump pressure")
    assert hit.memory.content == (
        "Problem: The pump lost pressure at night\nWhat was done: Closed the valve; Called Rita\n"
        "Outcome: it worked. Check the seal first"
    )
    memory.cases.retain(case.id, {"success": False, "lessons": "Bring a spare seal"})
    [hit] = memory.recall("pump pressure")
    assert hit.memory.content.endswith("Outcome: it failed. Check the seal first; Bring a spare seal")


def test_reminder_that_comes_up_is_told_once(memory: Memory) -> None:
    memory.mind.intend("Ask Alice for the staging password", when="deploy")
    told = memory.context("Shall we deploy this afternoon?") or ""
    assert told.count("Ask Alice for the staging password") == 1
    assert "## Due now" in told
