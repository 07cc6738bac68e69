"""Facts that are little certain by now."""

from __future__ import annotations

import pytest

from memfolio.clock import SettableClock
from memfolio.index.rows import to_us
from memfolio.memory import Memory
from memfolio.serve.cli import mend as archive
from memfolio.serve.cli.call import Options
from memfolio.tend.retention import Weak, used, weak
from memfolio.vault.vault import OWNER


def weakest(memory: Memory, limit: int = 10) -> list[Weak]:
    now, decay = to_us(memory.vault.home.now()), memory.vault.config.decay
    return memory.searcher.index.read(lambda connection: weak(connection, now, decay, limit))


def test_faded_confidence_is_shown_and_the_stored_one_stays(memory: Memory, clock: SettableClock) -> None:
    item = memory.remember("Alex drinks tea", type="fact", confidence=0.6)
    assert weakest(memory) == []
    clock.advance(days=20)
    [found] = weakest(memory)
    assert found.located.item.id == item.id
    assert found.certainty == pytest.approx(0.6 * 0.6065, abs=1e-3)
    assert found.located.item.confidence == 0.6
    assert found.dormant_in == pytest.approx(44.4, abs=0.1)
    assert found.archived_in == pytest.approx(99.8, abs=0.1)


def test_fact_is_not_weak_on_the_day_it_was_learned(memory: Memory, clock: SettableClock) -> None:
    memory.observe("user", "I live in Berlin and I like green tea.", session="s-1")
    heard = memory.end_session("s-1")
    assert heard is not None
    assert heard.learned
    assert weakest(memory) == []
    clock.advance(days=30)
    assert weakest(memory)


def test_weakest_come_first_and_events_do_not_count(memory: Memory) -> None:
    memory.remember("We met", confidence=0.1)
    ids = [memory.remember(f"Fact {each}", type="fact", confidence=each).id for each in (0.3, 0.1, 0.2)]
    assert [each.located.item.id for each in weakest(memory)] == [ids[1], ids[2], ids[0]]
    assert [each.located.item.id for each in weakest(memory, 1)] == [ids[1]]


def test_what_is_forgotten_replaced_or_archived_is_not_shown(memory: Memory, clock: SettableClock) -> None:
    gone, wrong, old = (memory.remember(each, type="fact", confidence=0.1, importance=0.2) for each in ("a", "b", "c"))
    memory.forget(gone.id)
    right = memory.correct(wrong.id, "d")
    archive.archive(Options(home=str(memory.vault.home.root)), old.id)
    assert weakest(memory) == []
    assert right.confidence == 1.0


def test_confirming_and_using_make_a_fact_strong_again(memory: Memory, clock: SettableClock) -> None:
    confirmed, in_use = (memory.remember(each, type="fact") for each in ("a", "b"))
    clock.advance(days=60)
    assert len(weakest(memory)) == 2
    memory.confirm(confirmed.id)
    used(memory.vault, "main", [in_use.id], OWNER)
    assert weakest(memory) == []
    clock.advance(days=1000)
    assert [each.located.item.id for each in weakest(memory)] == [in_use.id]


def test_uncertain_fact_that_is_pinned_does_not_fade_further(memory: Memory, clock: SettableClock) -> None:
    item = memory.remember("Perhaps", type="fact", confidence=0.3)
    memory.pin(item.id)
    clock.advance(days=1000)
    [found] = weakest(memory)
    assert (found.certainty, found.dormant_in, found.archived_in) == (0.3, None, None)


def test_many_uses_are_one_change(memory: Memory) -> None:
    items = [memory.remember(f"Fact {number}") for number in range(3)]
    head = memory.vault.head
    used(memory.vault, "main", [each.id for each in [*items, items[0]]], OWNER)
    assert memory.vault.head == head + 1
    assert [memory.get(each.id).access_count for each in items] == [2, 1, 1]  # type: ignore[union-attr]
    assert used(memory.vault, "main", [], OWNER) is None
