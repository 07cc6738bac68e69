"""Recall in hops: what shares no word with the question is found through what does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import InputError
from memfolio.recall.hit import Hit
from memfolio.recall.rank import with_hops
from memfolio.types import Attribution, MemoryItem
from memfolio.vault.paths import state_ledger

NOISE = [f"Note {number}: {word} arrived on time" for number, word in enumerate("parcel train fax rain mail".split())]


@pytest.fixture
def memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    with Memory.open(home, background=False) as memory:
        for text in NOISE:
            memory.remember(text)
        yield memory


def test_second_hop_that_shares_no_word_is_found(memory: Memory) -> None:
    memory.remember("The market analysis names Enterprise as the segment")
    far = memory.remember("Enterprise billing moves to invoices")
    assert far.id not in [hit.memory.id for hit in memory.recall("market")]
    hits = {hit.memory.id: hit for hit in memory.recall("market", depth=1)}
    assert hits[far.id].depth == 1
    assert hits[far.id].why[0].strategy == "text"


def test_third_hop_needs_a_depth_of_two(memory: Memory) -> None:
    memory.remember("Zephyr runs on Quokka")
    memory.remember("Quokka was bought from Hartmann")
    last = memory.remember("Hartmann moved to Lisbon")
    assert last.id not in [hit.memory.id for hit in memory.recall("Zephyr", depth=1)]
    assert {hit.memory.id: hit.depth for hit in memory.recall("Zephyr", depth=2)}[last.id] == 2


def test_tags_and_acronyms_lead_on(memory: Memory) -> None:
    memory.remember("Authentication is done", tags=["jwt"])
    far = memory.remember("JWT keys rotate on Mondays")
    assert far.id in [hit.memory.id for hit in memory.recall("authentication", depth=1)]


def test_same_person_leads_on(memory: Memory) -> None:
    memory.remember("The launch is with [[person--alex]]")
    far = memory.remember("[[person--alex]] is away until Thursday")
    hit = {hit.memory.id: hit for hit in memory.recall("launch", depth=1)}[far.id]
    assert "link" in [reason.strategy for reason in hit.why]


def test_edge_leads_on(memory: Memory) -> None:
    near, far = memory.remember("The deploy failed"), memory.remember("A certificate had run out")
    line = {"op": "edge", "type": "causal", "memory": far.id, "to": near.id}
    memory.vault.add_lines(state_ledger("main"), [line], Attribution())
    assert far.id in [hit.memory.id for hit in memory.recall("deploy", depth=1)]


def test_hops_have_their_share_though_direct_hits_would_fill_the_limit(memory: Memory) -> None:
    for number in range(30):
        memory.remember(f"The harbour report {number} mentions Ferdinand")
    far = memory.remember("Ferdinand collects stamps")
    hits = memory.recall("harbour report", limit=8, depth=1)
    assert len(hits) == 8
    assert far.id in [hit.memory.id for hit in hits if hit.depth == 1]
    assert sum(hit.depth == 0 for hit in hits) == 7


def test_share_that_a_hop_does_not_fill_goes_back_to_direct_hits(memory: Memory) -> None:
    memory.forget("Note", every=True)
    for number in range(12):
        memory.remember(f"lighthouse {'abcdefghijkl'[number]}")
    assert len(memory.recall("lighthouse", limit=10, depth=3)) == 10


def test_every_memory_comes_once_and_more_depth_never_finds_less(memory: Memory) -> None:
    memory.remember("The market analysis names Enterprise")
    memory.remember("Enterprise billing moves to invoices")
    found = [[hit.memory.id for hit in memory.recall("market", depth=depth)] for depth in range(4)]
    assert all(len(ids) == len(set(ids)) for ids in found)
    assert all(set(less) <= set(more) for less, more in pairwise(found))


def test_filters_count_in_every_hop(memory: Memory) -> None:
    memory.remember("The market analysis names Enterprise", type="decision")
    memory.remember("Enterprise billing moves to invoices", type="fact")
    assert [hit.depth for hit in memory.recall("market", depth=2, types="decision")] == [0]


@pytest.mark.parametrize("depth", [-1, 4, 1.5, True, "2"])
def test_depth_out_of_range_is_refused(memory: Memory, depth: int) -> None:
    with pytest.raises(InputError, match="depth"):
        memory.recall("market", depth=depth)


def test_question_why_brings_the_cause_and_what_caused_that(memory: Memory) -> None:
    said = [memory.remember(text) for text in ("The deploy failed", "A certificate had run out", "Nobody was on duty")]
    for cause, effect in ((said[1], said[0]), (said[2], said[1])):
        line = {"op": "edge", "type": "causal", "memory": cause.id, "to": effect.id}
        memory.vault.add_lines(state_ledger("main"), [line], Attribution())
    hits = {hit.memory.id: hit for hit in memory.recall("Why did the deploy fail?")}
    assert set(hits) == {each.id for each in said}
    shares = [next(r.score for r in hits[each.id].why if r.strategy == "causal") for each in said[1:]]
    assert shares[0] == 2 * shares[1]
    assert [hit.memory.id for hit in memory.recall("Did the deploy fail?")] == [said[0].id]


def test_causes_in_a_circle_come_to_an_end(memory: Memory) -> None:
    one, two = memory.remember("The queue was full"), memory.remember("Workers were slow")
    for cause, effect in ((one, two), (two, one)):
        line = {"op": "edge", "type": "causal", "memory": cause.id, "to": effect.id}
        memory.vault.add_lines(state_ledger("main"), [line], Attribution())
    assert {hit.memory.id for hit in memory.recall("Why was the queue full?", depth=3)} == {one.id, two.id}


def direct(*scores: float) -> list[Hit]:
    start = datetime(2026, 5, 4, tzinfo=UTC)
    items = [MemoryItem(id=f"M-{nth}-00000000", content="x", created_at=start) for nth in range(len(scores))]
    return [Hit(memory=item, score=score, why=(), path="") for item, score in zip(items, scores, strict=True)]


def test_direct_hit_is_never_found_again_as_a_hop() -> None:
    hits = direct(0.9, 0.8, 0.7, 0.6)
    found = with_hops(hits, lambda before, count: [replace(hit, depth=1) for hit in hits], depth=2, limit=4, share=0.25)
    assert found == hits


def test_small_limit_keeps_the_best_whatever_the_depth() -> None:
    hits = direct(0.9, 0.8, 0.7)
    further = [replace(hit, memory=replace(hit.memory, id=f"{hit.memory.id}-far"), depth=1) for hit in hits]
    found = with_hops(hits, lambda before, count: further, depth=3, limit=3, share=0.25)
    assert len(found) == 3
    assert hits[0] in found
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_without_a_share_there_are_no_hops() -> None:
    hits = direct(0.9, 0.8)
    assert with_hops(hits, lambda before, count: direct(1.0, 1.0, 1.0), depth=3, limit=2, share=0.0) == hits
