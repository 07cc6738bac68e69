"""The hierarchy of days and digests, and the people and things that pages describe."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import InputError

WEEK = """# Week 46

## Billing

The invoices were moved to the new ledger, and the auditors were happy. It took all of them four days, two of which
went by before anybody noticed that the old ledger had been closed in the summer, when the house next door was sold and
the whole street was full of people who wanted to see what it looked like from the inside. The rest was easy: numbers
were copied, compared, copied again where they differed, and signed by both clerks in the presence of the third.

## Garden

Tulips were planted.
"""
ALEX = """---
name: Alex Chen
aliases: [Lex]
---
# Alex Chen

Leads the harbour project. Works with [[person--kim]].
"""


@pytest.fixture
def memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    with Memory.open(home, background=False) as memory:
        for name, text in (
            ("weekly/2026-W46.md", WEEK),
            ("monthly/2026-11.md", "# November\n\nInvoices, tulips and rain.\n"),
            ("quarterly/2026-Q4.md", "# Fourth quarter\n\nThe year of invoices ends.\n"),
            ("graph/entities/person--alex.md", ALEX),
            ("graph/entities/person--kim.md", "# Kim Larsen\n\nDraws the maps.\n"),
        ):
            path = home / "agents/main/memory" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        memory.sync()
        yield memory


def test_each_level_is_searched_by_itself(memory: Memory) -> None:
    memory.remember("Invoices are sent on Mondays")
    found = {level: memory.recall("invoices", level=level) for level in ("daily", "weekly", "monthly", "quarterly")}
    assert [hit.path.rpartition("/")[2] for hit in found["weekly"]] == ["2026-W46.md"]
    assert [hit.path.rpartition("/")[2] for hit in found["monthly"]] == ["2026-11.md"]
    assert [hit.path.rpartition("/")[2] for hit in found["quarterly"]] == ["2026-Q4.md"]
    assert [hit.memory.content for hit in found["daily"]] == ["Invoices are sent on Mondays"]
    assert len(memory.recall("invoices")) == 4


def test_page_with_a_day_in_its_name_is_no_day(memory: Memory, home: Path) -> None:
    memory.remember("Invoices are sent on Mondays")
    days = home / "agents/main/memory"
    (days / "2026-11-14-2.md").write_text("- invoices of the second part\n", encoding="utf-8")
    for name in ("2026-11-14-plan.md", "2026-11-14-1.md", "2026-11-14-trip/packing.md"):
        (days / name).parent.mkdir(exist_ok=True)
        (days / name).write_text(f"# {name}\n\nInvoices are packed.\n", encoding="utf-8")
    memory.sync()
    found = {hit.memory.content for hit in memory.recall("invoices", level="daily")}
    assert found == {"Invoices are sent on Mondays", "invoices of the second part"}
    assert len(memory.recall("invoices packed")) > 2


def test_digest_may_lie_in_a_folder_of_its_level(memory: Memory, home: Path) -> None:
    page = home / "agents/main/memory/weekly/2025/2025-W03.md"
    page.parent.mkdir()
    page.write_text("# Week 3\n\nPelicans everywhere.\n", encoding="utf-8")
    memory.sync()
    assert [hit.path for hit in memory.recall("pelicans", level="weekly")] == [page.relative_to(home).as_posix()]
    assert memory.recall("pelicans", level="daily") == []


def test_unknown_level_is_refused_with_those_there_are(memory: Memory) -> None:
    with pytest.raises(InputError, match="level 'yearly' is not known"):
        memory.recall("invoices", level="yearly")


def test_passage_comes_with_its_headings_and_the_sentences_that_fit(memory: Memory) -> None:
    hit = memory.recall("auditors", level="weekly")[0]
    assert hit.heading == ("Week 46", "Billing")
    assert "auditors were happy" in hit.snippet


def test_long_memory_is_shown_by_the_sentences_that_were_asked_for(memory: Memory) -> None:
    long = f"{'The weather was as ever. ' * 60}The combination of the safe is kept by Nora. {'Nothing else. ' * 60}"
    memory.remember(long)
    hit = memory.recall("combination safe")[0]
    assert "kept by Nora" in hit.snippet
    assert len(hit.snippet) < 500


def test_what_happened_in_the_week_of_a_digest_that_fits_comes_up(memory: Memory) -> None:
    def turn(text: str, day: int, month: int = 11) -> dict[str, object]:
        return {"role": "user", "content": text, "at": datetime(2026, month, day, tzinfo=UTC), "session": f"s-{day}"}

    memory.observe_many([turn("the ledger was red", 11), turn("the ledger was blue", 11, 3)])
    hits = [hit for hit in memory.recall("invoices ledger auditors") if hit.memory.session]
    assert [hit.memory.content for hit in hits] == ["the ledger was red", "the ledger was blue"]
    assert "digest" in [reason.strategy for reason in hits[0].why]


@pytest.mark.parametrize("name", ["Alex Chen", "alex chen", "LEX"])
def test_entity_that_is_named_brings_what_links_to_it_and_its_page(memory: Memory, name: str) -> None:
    linked = memory.remember("[[person--alex]] is away in March")
    hits = memory.recall(f"Who is {name}?")
    by_entity = [hit for hit in hits if "entity" in [reason.strategy for reason in hit.why]]
    assert linked.id in [hit.memory.id for hit in by_entity]
    assert any(hit.path.endswith("person--alex.md") for hit in by_entity)
    assert any(hit.path.endswith("person--kim.md") for hit in by_entity)


def test_entity_filter_knows_names_and_aliases_in_any_case(memory: Memory) -> None:
    linked = memory.remember("[[person--alex]] is away in March")
    for name in ("person--alex", "ALEX CHEN", "lex"):
        assert linked.id in [hit.memory.id for hit in memory.recall("march", entity=name)]
    assert not memory.recall("march", entity="kim larsen")


def test_renamed_entity_loses_its_old_name(memory: Memory, home: Path) -> None:
    linked = memory.remember("[[person--alex]] is away in March")
    page = home / "agents/main/memory/graph/entities/person--alex.md"
    page.write_text(ALEX.replace("Alex Chen", "Alexandra Novak"), encoding="utf-8")
    memory.sync()
    assert memory.recall("march", entity="Alexandra Novak")[0].memory.id == linked.id
    assert not memory.recall("march", entity="Alex Chen")


def test_alias_on_a_shared_page_filters_the_agents_own_memories(memory: Memory, home: Path) -> None:
    page = home / "shared/memory/graph/entities/person--sasha.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\naliases: [Sasha the beekeeper]\n---\n# Sasha\n\nKeeps bees.\n", encoding="utf-8")
    memory.sync()
    own = memory.remember("[[person--sasha]] sold all the bees")
    assert own.id in [hit.memory.id for hit in memory.recall("bees", entity="sasha the beekeeper")]


def test_many_strangers_do_not_crowd_out_what_is_known_of_an_entity(memory: Memory) -> None:
    known = memory.remember("[[person--alex]] plays the cello")
    memory.observe_many({"role": "tool", "content": f"[[person--alex]] {number}"} for number in range(250))
    assert known.id in [hit.memory.id for hit in memory.recall("Lex")]


def test_other_names_of_an_entity_are_looked_for_too(memory: Memory) -> None:
    plain = memory.remember("Alex Chen drinks oolong")
    assert plain.id in [hit.memory.id for hit in memory.recall("What does Lex drink?")]
