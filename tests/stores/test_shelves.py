"""Working memory, short-term memory and what leaves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.memory import Memory
from memfolio.types import Store
from memfolio.vault.vault import OWNER, Vault


def held(memory: Memory, store: str) -> list[str]:
    return sorted(hit.memory.content for hit in memory.recall("", store=store, limit=500))


def counts(memory: Memory) -> dict[str, int]:
    counted = memory.status().counts
    assert counted is not None
    return dict(counted.stores)


def test_the_eighth_sends_the_oldest_of_working_memory_to_short_term(memory: Memory, clock: SettableClock) -> None:
    for number in range(8):
        clock.advance(seconds=1)
        memory.remember(f"item {number}", store="working")
    assert held(memory, "working") == [f"item {number}" for number in range(1, 8)]
    assert held(memory, "short_term") == ["item 0"]


def test_adding_and_sending_on_are_one_change(memory: Memory) -> None:
    for number in range(7):
        memory.remember(f"item {number}", store="working")
    before = memory.vault.head
    memory.remember("item 7", store="working")
    assert memory.vault.head == before + 1
    memory.audit.undo(before + 1, by=OWNER)
    assert len(held(memory, "working")) == 7


def test_least_recently_used_leaves_where_that_is_set(home: Path, clock: SettableClock) -> None:
    config = load_config(home)
    config = replace(config, stores=replace(config.stores, working=2, least_used=True))
    memory = Memory(Vault.open(config=config, clock=clock), "main", background=False)
    first, _ = (memory.remember(text, store="working") for text in ("first", "second"))
    clock.advance(minutes=1)
    memory.confirm(first.id)
    memory.remember("third", store="working")
    assert held(memory, "working") == ["first", "third"]


def test_short_term_memory_lasts_two_hours_and_then_counts_as_long_term(memory: Memory, clock: SettableClock) -> None:
    item = memory.observe("user", "It rains")
    assert held(memory, "short_term") == ["It rains"]
    assert counts(memory) == {"short_term": 1}
    clock.advance(hours=2, seconds=1)
    assert held(memory, "short_term") == []
    assert held(memory, "long_term") == ["It rains"]
    assert counts(memory) == {"long_term": 1}
    assert memory.recall("rain")[0].memory.id == item.id


def test_least_important_leave_a_full_short_term_memory_first(home: Path, clock: SettableClock) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text("[stores]\nshort_term = 2\n")
    memory = Memory.open(home, clock=clock, background=False)
    for text, importance in (("much", 0.9), ("little", 0.1), ("some", 0.5)):
        memory.remember(text, importance=importance, store="short_term")
    assert held(memory, "short_term") == ["much", "some"]
    assert held(memory, "long_term") == ["little"]


def test_several_stores_can_be_asked_for_at_once(memory: Memory, clock: SettableClock) -> None:
    memory.remember("lasting")
    memory.remember("old", store="short_term")
    clock.advance(hours=3)
    memory.remember("young", store="short_term")
    memory.remember("at hand", store="working")
    from memfolio.index.lookup import newest
    from memfolio.index.search import Filter

    def ask(*stores: Store) -> set[str]:
        wanted = Filter(stores=stores, short_term=memory.searcher.short_term(clock.now()))
        return {each.item.content for each in memory.searcher.index.read(lambda db: newest(db, wanted, 10))}

    assert ask(Store.SHORT_TERM, Store.LONG_TERM) == {"lasting", "old", "young"}
    assert ask(Store.SHORT_TERM, Store.WORKING) == {"young", "at hand"}
    assert ask(Store.LONG_TERM) == {"lasting", "old"}
    assert ask(Store.VAULT) == set()
