"""Promoting what proved important, and summing up what belongs together."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from memfolio.clock import SettableClock
from memfolio.memory import Memory
from memfolio.tend.changes import JobChanges
from memfolio.tend.consolidate import consolidate
from memfolio.tend.tend import alone
from memfolio.types import MemoryItem, Origin, Store, Type
from memfolio.vault.vault import OWNER


def keep(memory: Memory, text: str, *tags: str, importance: float = 0.8, store: str = "short_term") -> MemoryItem:
    return memory.remember(text, tags=tags, importance=importance, store=store)


def store_of(memory: Memory, item: MemoryItem) -> Store:
    found = memory.get(item.id)
    assert found is not None
    return found.store


def test_memories_with_tags_in_common_become_one_that_names_its_sources(memory: Memory) -> None:
    one = keep(memory, "Tokens expire after 12 hours", "auth", "token", importance=0.7)
    other = keep(memory, "Tokens are refreshed by a sliding window", "token", "auth", "api", importance=0.9)
    found = memory.consolidate()
    [summary] = found.summaries
    assert summary.derived_from == (one.id, other.id)
    assert (summary.importance, summary.source, summary.store) == (0.9, "consolidation", Store.LONG_TERM)
    assert set(summary.tags) == {"auth", "token", "api"}
    assert f"- Tokens expire after 12 hours ({one.id})" in summary.content
    assert [each.id for each in memory.explain(summary.id).sources] == [one.id, other.id]


def test_sources_stay_where_they_are_and_are_marked(memory: Memory) -> None:
    items = [keep(memory, f"Note {number} on the API", "api") for number in range(3)]
    [summary] = memory.consolidate().summaries
    for item in items:
        assert store_of(memory, item) is Store.LONG_TERM
        assert [line["into"] for line in memory.explain(item.id).history] == [summary.id]
    assert {each.content for each in memory.vault.entries("main")} >= {item.content for item in items}


def test_what_is_neither_important_nor_used_stays_short_term(memory: Memory) -> None:
    low = keep(memory, "The kettle is blue", importance=0.4)
    assert memory.consolidate().promoted == ()
    assert store_of(memory, low) is Store.SHORT_TERM


def test_what_is_used_twice_is_promoted_whatever_its_importance(memory: Memory) -> None:
    low = keep(memory, "The kettle is blue", importance=0.1)
    memory.confirm(low.id)
    assert memory.consolidate().promoted == ()
    memory.confirm(low.id)
    assert [each.id for each in memory.consolidate().promoted] == [low.id]


def test_working_memory_is_promoted_by_importance(memory: Memory) -> None:
    item = keep(memory, "Ship on Friday", store="working")
    assert [each.id for each in memory.consolidate().promoted] == [item.id]
    assert store_of(memory, item) is Store.LONG_TERM


def test_each_is_promoted_by_itself_where_summaries_are_not_wanted(memory: Memory) -> None:
    items = [keep(memory, f"Note {number} on the API", "api") for number in range(3)]
    found = memory.consolidate(summarize=False)
    assert (found.groups, {each.id for each in found.promoted}) == ((), {each.id for each in items})


def test_memories_without_tags_are_brought_together_by_their_words(memory: Memory) -> None:
    one = keep(memory, "The nightly backup of the billing database failed")
    other = keep(memory, "The nightly backup of the billing database works again")
    keep(memory, "Anna plays the cello")
    found = memory.consolidate()
    assert [[each.id for each in kin] for kin in found.groups] == [[one.id, other.id]]
    assert len(found.promoted) == 1


def test_dry_run_shows_the_difference_and_changes_nothing(memory: Memory) -> None:
    for number in range(2):
        keep(memory, f"Note {number} on the API", "api")
    before = memory.vault.head
    found = memory.consolidate(dry_run=True)
    assert "+**2 memories about api**" in found.diff
    assert memory.vault.head == before
    assert memory.consolidate().groups == found.groups


def test_who_consolidates_waits_for_who_does_and_finds_nothing_left(memory: Memory, home: Path) -> None:
    for number in range(4):
        keep(memory, f"Note {number} on the API", "api")
    is_held = threading.Event()

    def consolidate_slowly() -> None:
        with Memory.open(home, background=False) as other, alone(other.vault):
            is_held.set()
            time.sleep(0.3)
            changes = JobChanges(vault=other.vault, agent="main", now=other.vault.home.now())
            assert consolidate(changes, other.searcher.index, other.vault.config.consolidate).groups

    thread = threading.Thread(target=consolidate_slowly)
    thread.start()
    is_held.wait(10)
    assert memory.consolidate().groups == ()
    thread.join()


def test_gist_has_full_stops_and_does_not_repeat_a_few_short_lines(memory: Memory) -> None:
    facts = ("are stored for ten years", "are sent on Mondays", "need a number", "go to Anna", "have two pages")
    for fact in facts[:3]:
        keep(memory, f"Invoices {fact}", "few")
    for fact in facts:
        keep(memory, f"Bills {fact}", "many")
    few, many = memory.consolidate().summaries
    assert few.content.count("ten years") == 1
    gist = many.content.split("\n")[2]
    assert gist.count(". Bills") == 2
    assert gist.endswith(".")


def test_second_time_there_is_nothing_to_do(memory: Memory) -> None:
    for number in range(4):
        keep(memory, f"Note {number}", "api" if number % 2 else "tea")
    memory.consolidate()
    before = memory.vault.head
    found = memory.consolidate()
    assert (found.groups, found.promoted, memory.vault.head) == ((), (), before)


def test_consolidation_is_one_change_and_is_undone_as_one(memory: Memory) -> None:
    items = [keep(memory, f"Note {number} on the API", "api") for number in range(3)]
    before = memory.vault.head
    [summary] = memory.consolidate().summaries
    assert memory.vault.head == before + 1
    memory.audit.undo(before + 1, by=OWNER)
    assert all(store_of(memory, item) is Store.SHORT_TERM for item in items)
    assert summary.id not in {each.id for each in memory.vault.entries("main")}
    assert len(memory.consolidate().groups) == 1


def test_forgotten_memory_is_not_brought_back(memory: Memory) -> None:
    keep(memory, "Note on the API", "api")
    keep(memory, "Another note on the API", "api")
    secret = keep(memory, "The code of the safe is 4711", "api")
    memory.forget(secret.id)
    [summary] = memory.consolidate().summaries
    assert "4711" not in summary.content


def test_forgetting_a_source_takes_what_was_made_of_it_along(memory: Memory) -> None:
    rest = [keep(memory, f"Note {number} on the API", "api") for number in range(2)]
    secret = keep(memory, "The code of the safe is 4711", "api")
    [summary] = memory.consolidate().summaries
    edit_result = memory.forget(secret.id)
    assert {each.id for each in edit_result.memories} == {secret.id, summary.id}
    assert not any("4711" in hit.memory.content for hit in memory.recall("code of the safe"))
    [again] = memory.consolidate().summaries
    assert again.derived_from == tuple(each.id for each in rest)


def test_summary_has_the_origin_of_its_least_trusted_source(home: Path, clock: SettableClock) -> None:
    memory = Memory.open(home, clock=clock, background=False, speaker="owner")
    keep(memory, "Note on the API", "api")
    stranger = memory.remember("A page says so", tags=["api"], importance=0.9, store="short_term", origin="untrusted")
    assert memory.consolidate().groups == ()  # what is quarantined does not take part
    memory.confirm(stranger.id)
    keep(memory, "Another note on the API", "api")
    [summary] = memory.consolidate().summaries
    assert summary.origin is Origin.UNTRUSTED


def test_type_is_that_of_the_most_important(memory: Memory) -> None:
    memory.remember("We meet on Mondays", tags=["team"], importance=0.7, store="short_term", type="event")
    memory.remember("Use Python", tags=["team"], importance=0.9, store="short_term", type="decision")
    [summary] = memory.consolidate().summaries
    assert summary.type is Type.DECISION


def test_large_groups_are_summed_up_in_parts_that_can_be_read(memory: Memory) -> None:
    for number in range(45):
        keep(memory, f"Note {number} on the API", "api")
    assert [len(kin) for kin in memory.consolidate().groups] == [15, 15, 15]


def test_tags_with_commas_and_spaces_are_kept(memory: Memory) -> None:
    for number in range(2):
        keep(memory, f"Note {number}", "a, b", "c d")
    [summary] = memory.consolidate().summaries
    assert set(summary.tags) == {"a, b", "c d"}
    assert memory.get(summary.id) is not None
