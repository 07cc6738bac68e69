"""Doing what a person asks for: their words are kept once, and stand against what was only overheard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import ModelError
from memfolio.memory import Memory
from memfolio.stores.triggers import act_on
from memfolio.types import MemoryItem


class FailingModel:
    """A model that does not answer."""

    name = "failing"

    def questions(self, turns: int, most: int) -> int:
        return 100

    def drop(self, why: str, count: int) -> None:
        pass

    def ask(self, task: str, material: str, answer: type[Any]) -> Any:
        raise ModelError("it is down")


def kept(memory: Memory, text: str, user: str | None = None) -> MemoryItem:
    found = memory.act_on(text, user=user)
    assert found is not None
    assert found.remembered is not None
    return found.remembered


def test_words_of_the_person_are_kept_with_what_they_are_about(memory: Memory) -> None:
    item = kept(memory, "Remember that I live in Berlin.", "alex")
    assert (item.content, item.source, item.user) == ("I live in Berlin", "trigger", "alex")
    about = {name: item.attributes[name] for name in ("subject", "predicate", "object", "single")}
    assert about == {"subject": "alex", "predicate": "lives_in", "object": "Berlin", "single": True}


@pytest.mark.parametrize("user", ["alex", None])
def test_later_contradiction_is_seen(memory: Memory, clock: SettableClock, user: str | None) -> None:
    kept(memory, "Remember that I live in Berlin.", user)
    clock.advance(days=1)
    memory.observe("user", "I live in Munich.", session="s-1", user=user)
    heard = memory.end_session("s-1")
    assert heard is not None
    assert heard.conflicts == 1


def test_the_same_is_kept_once(memory: Memory, clock: SettableClock) -> None:
    first = kept(memory, "Remember that I live in Berlin.", "alex")
    clock.advance(days=1)
    before = memory.vault.head
    again = memory.act_on("Please remember: I live in Berlin!", user="alex")
    assert again is not None
    assert (again.remembered, again.notes) == (memory.get(first.id), ("this is remembered already",))
    assert memory.vault.head == before


@pytest.mark.parametrize("said", ["I live in Berlin.", "I live in Munich."])
def test_what_was_overheard_gives_way(memory: Memory, clock: SettableClock, said: str) -> None:
    [overheard] = memory.flush(f"User: {said}", user="alex").memories
    clock.advance(days=1)
    item = kept(memory, "Remember that I live in Berlin.", "alex")
    assert memory.get(overheard.id).superseded_by == item.id  # type: ignore[union-attr]


def test_what_a_person_asked_for_before_stays_and_is_told(memory: Memory, clock: SettableClock) -> None:
    first = kept(memory, "Remember that I live in Berlin.", "alex")
    clock.advance(days=1)
    found = memory.act_on("Remember that I live in Munich.", user="alex")
    assert found is not None
    assert found.notes == (f"this contradicts {first.id}: I live in Berlin",)


def test_what_was_forgotten_can_be_asked_for_again(memory: Memory, clock: SettableClock) -> None:
    first = kept(memory, "Remember that I live in Berlin.")
    memory.forget(first.id)
    clock.advance(days=1)
    assert kept(memory, "Remember that I live in Berlin.").id != first.id


def test_model_that_fails_is_told_and_loses_nothing(memory: Memory) -> None:
    text = "Remember that I like tea"
    found = act_on(
        memory.vault, memory.searcher, memory.core, text, recall=memory.recall, reflect=lambda: "", model=FailingModel()
    )
    assert found is not None
    assert found.remembered is not None
    assert found.notes == ("routed without the model: it is down",)


def test_what_is_to_be_forgotten_is_only_shown(memory: Memory) -> None:
    tea = memory.remember("Alex likes green tea")
    found = memory.act_on("Forget that Alex likes green tea")
    assert found is not None
    assert [each.id for each in found.fits] == [tea.id]
    assert memory.get(tea.id).forgotten_at is None  # type: ignore[union-attr]


def test_who_asks_for_reflection_gets_a_page_that_waits(memory: Memory) -> None:
    memory.observe("user", "I prefer green tea over coffee.", session="s-1")
    found = memory.act_on("Please reflect on your memories.")
    assert found is not None
    waiting = memory.reflections.pending()
    assert waiting is not None
    assert found.notes[0].endswith(waiting.path)


def test_critical_fact_and_its_line_in_core_memory_are_forgotten_together(memory: Memory) -> None:
    item = kept(memory, "Remember that I am allergic to latex, even the balloons.")
    [line] = next(block.items for block in memory.core.read().blocks if block.name == "Critical Facts")
    assert (line.id, "latex" in line.says) == (item.id, True)
    shown = memory.act_on("Forget about the latex")
    assert shown is not None
    assert [each.id for each in shown.fits] == [item.id]
    assert item.id in shown.answer
    memory.forget(item.id)
    assert "latex" not in memory.core.read().text


def test_question_about_the_person_is_answered_with_core_memory_and_facts(memory: Memory) -> None:
    memory.core.add("identity", "Alex is a nurse")
    memory.remember("Alex plays the cello", type="fact")
    found = memory.act_on("What do you know about me?")
    assert found is not None
    assert found.core == ("Alex is a nurse",)
    assert [each.content for each in found.found] == ["Alex plays the cello"]


def test_what_lacks_a_word_of_the_description_is_shown_too(memory: Memory) -> None:
    old = memory.remember("Alex lived at 4 Juniper Walk until spring")
    found = memory.act_on("erase my old address from your memory, the one on Juniper Walk")
    assert found is not None
    assert [each.id for each in found.fits] == [old.id]


def test_german_clause_is_kept_as_a_sentence_and_learned_once(memory: Memory) -> None:
    said = "Merk dir, dass ich eine Latexallergie habe."
    memory.observe("user", said, session="s-1")
    item = kept(memory, said)
    assert item.content == "Ich habe eine Latexallergie"
    [line] = next(block.items for block in memory.core.read().blocks if block.name == "Critical Facts")
    assert (line.id, line.says) == (item.id, "Der Nutzer hat eine Latexallergie")
    memory.end_session("s-1")
    assert not [each for each in memory.vault.entries("main") if each.source == "extraction"]


def test_german_date_does_not_end_what_is_to_be_remembered(memory: Memory) -> None:
    item = kept(memory, "Merk dir, dass meine Mutter am 3. November Geburtstag hat. Danke!")
    assert item.content == "Meine Mutter hat am 3. November Geburtstag"


NOTES = {
    "people/Tomás Ferreira.md": "---\naliases: [Tomas]\n---\nFrom Porto. Severe nut allergy, carries an EpiPen.\n",
    "people/Oma Hilde.md": "---\naliases: [grandmother]\n---\nLives in Görlitz. Likes crime novels and marzipan.\n",
    "people/Hanna Huber.md": "Hanna Huber has a vineyard and speaks Georgian.\n",
    "Lisbon.md": "Restaurants from [[Tomás Ferreira]]: O Velho Eurico. 94 euros a night in Graça.\n",
    "Solar.md": "Two panels, 800 watt inverter, ask the landlord first.\n",
    "Dal.md": "Red lentils, coconut milk, turmeric, ginger. Freezes well.\n",
    "Insurance.md": "Household HUK 118 euros, liability 71 euros, notice until 30 September.\n",
    "Dispossessed.md": "Le Guin, to read, lent by Marta.\n",
    "Bread.md": "500 g rye flour, 420 g water, 15 g salt, an hour at 220 degrees.\n",
    "Heating.md": "Boiler pressure 1.5 bar; error F.28 means no ignition.\n",
}


@pytest.fixture
def noted(home: Path, tmp_path: Path) -> Iterator[Memory]:
    """A memory with notes of a person."""
    for name, text in NOTES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(tmp_path / "notes")
        memory.sync(embed=True)
        yield memory


def known(memory: Memory, text: str) -> list[str]:
    found = memory.act_on(text)
    assert found is not None
    return [line.partition(":")[0] for line in found.lines]


@pytest.mark.parametrize(
    ("asked", "pages"),
    [
        ("Gerlinde Huber", []),
        ("quantum chromodynamics", []),
        ("my allergies", []),
        ("Tomás", ["Lisbon", "Tomás Ferreira"]),
        ("my grandmother", ["Oma Hilde"]),
        ("Hanna Huber", ["Hanna Huber"]),
        ("Frau Huber", ["Hanna Huber"]),
    ],
)
def test_only_what_is_about_the_subject_is_told_under_the_name_of_its_note(
    noted: Memory, asked: str, pages: list[str]
) -> None:
    question = f"What do you know about {asked}?"
    for text in (question, f"Forget everything about {asked}", f"Tell me what you know about {asked}"):
        noted.observe("user", text, session="s-1")
    assert sorted(set(known(noted, question))) == pages


def test_nothing_else_is_told_in_the_place_of_what_was_forgotten(noted: Memory) -> None:
    noted.account.forget_about("Tomás", confirmed=True)
    found = noted.act_on("What do you know about Tomás?")
    assert found is not None
    assert found.prompt == "Nothing is remembered about what the person asks."


def test_what_somebody_said_of_themselves_is_told_and_not_what_is_noted_of_others(noted: Memory) -> None:
    noted.remember("I am allergic to penicillin", type="fact")
    assert [line[:27] for line in known(noted, "What do you remember about my allergies?")] == [
        "I am allergic to penicillin"
    ]


def test_who_wants_everything_about_somebody_forgotten_is_told_of_the_call_for_that(noted: Memory) -> None:
    everything = noted.act_on("Forget everything about Tomás Ferreira")
    one = noted.act_on("Forget that the boiler has a pressure of 1.5 bar")
    assert everything is not None
    assert one is not None
    assert "`forget_about`" in everything.answer
    assert "`forget_about`" not in one.answer
