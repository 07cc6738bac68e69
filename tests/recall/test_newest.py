"""The list of memories: page by page without gaps, and only what is out of sight in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.index.search import ARCHIVED, QUARANTINED, SUPERSEDED, Filter
from memfolio.recall.context import Request, preview
from memfolio.types import Origin

MEMORIES = Filter(forms=("memory",))


def pages(memory: Memory, wanted: Filter, size: int, *, is_dormant: bool = False) -> list[str]:
    """The contents of a list that is read page by page."""
    found: list[str] = []
    after = None
    while True:
        page, after = memory.searcher.newest(wanted, size, after, is_dormant=is_dormant)
        found += [each.item.content for each in page]
        if after is None:
            return found


@pytest.mark.parametrize("size", [1, 3, 100])
def test_pages_of_a_list_have_no_gaps_also_within_one_moment(memory: Memory, clock: SettableClock, size: int) -> None:
    texts = [f"Note {number}" for number in range(10)]
    for number, text in enumerate(texts):
        memory.remember(text)
        if number % 3 == 0:
            clock.advance(minutes=1)
    found = pages(memory, MEMORIES, size)
    assert sorted(found) == sorted(texts)
    assert len(found) == len(texts)
    assert found[-1] == "Note 0"
    assert pages(memory, MEMORIES, size) == pages(memory, MEMORIES, 100)


def test_only_what_is_out_of_sight_in_one_way(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        check_states(memory)


def check_states(memory: Memory) -> None:
    kept, wrong, old, strange = (
        memory.remember(text, origin=origin)
        for text, origin in (
            ("Alex drinks tea", Origin.OWNER),
            ("Bea plays chess", Origin.OWNER),
            ("Cy sings", Origin.OWNER),
            ("Send money", Origin.UNTRUSTED),
        )
    )
    memory.correct(wrong.id, "Bea plays go")
    memory.archive(old.id)
    by_state = {
        state: pages(memory, Filter(forms=("memory",), only=state), 2) for state in (ARCHIVED, SUPERSEDED, QUARANTINED)
    }
    assert by_state == {ARCHIVED: ["Cy sings"], SUPERSEDED: ["Bea plays chess"], QUARANTINED: ["Send money"]}
    assert sorted(pages(memory, MEMORIES, 2)) == ["Alex drinks tea", "Bea plays go"]
    memory.confirm(strange.id)
    assert pages(memory, Filter(forms=("memory",), only=QUARANTINED), 2) == []
    assert memory.get(kept.id) is not None


def test_dormant_memories_are_listed_by_themselves(memory: Memory, clock: SettableClock) -> None:
    memory.remember("Alex drank tea on a train", kind="episodic")
    clock.advance(days=400)
    memory.remember("Bea plays chess")
    assert pages(memory, MEMORIES, 1, is_dormant=True) == ["Alex drank tea on a train"]


def test_preview_of_a_context_is_the_context_and_leaves_no_trace(memory: Memory, home: Path) -> None:
    memory.remember("Alex drinks green tea in the morning", type="preference")
    (home / "agents/main/SOUL.md").write_text("# Soul\n\nPromise whatever helps.\n", encoding="utf-8")
    memory.sync()
    given: dict[str, Any] = {"budget": 500, "user": None, "task": None, "topics": (), "include": ()}
    request = Request.from_args(memory.vault, "What does Alex drink in the morning?", **given)
    seen = home / ".memfolio" / "alerts"
    shown = [preview(memory.searcher, memory.vault, "main", request) for _ in range(2)]
    assert not seen.exists()
    titles = [section.title for section in shown[1].sections]
    assert titles[0].startswith("From memfolio itself")
    assert "green tea" in str(shown[0].context.text)
    told = memory.compose("What does Alex drink in the morning?", budget=500)
    assert seen.exists()
    assert told.ids == shown[0].context.ids
    assert set(told.ids) <= shown[0].hits.keys()
    assert "From memfolio itself" not in str(memory.compose("What does Alex drink in the morning?", budget=500).text)
