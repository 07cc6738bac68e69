"""What a model reads in the owner's turns takes the place of what was known, in one change that can be undone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memfolio import Attribution
from memfolio.bench.scratch import scratch
from memfolio.learn.ask import ModelReading, ModelStatement
from memfolio.memory import Memory
from memfolio.testing import ScriptedModel
from memfolio.types import MemoryItem

START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def gym(place: str) -> ModelReading:
    said = ModelStatement(
        text=f"Alex goes to the {place} gym", type="fact", turns=(0,), subject="Alex", predicate="gym", object=place
    )
    return ModelReading(statements=(said,))


def known(memory: Memory, place: str) -> MemoryItem:
    hits = memory.recall(f"{place} gym", kinds=["semantic"], include=["superseded"])
    return next(hit.memory for hit in hits if hit.memory.content == f"Alex goes to the {place} gym")


def test_newer_word_of_the_owner_ends_the_older_in_one_change() -> None:
    with ScriptedModel([gym("Harlow"), gym("Canal")]) as model, scratch(**model.settings) as memory:
        memory.observe("user", "Alex here, I go to the Harlow gym", session="a", user="Alex", at=START)
        memory.end_session("a")
        later = START + timedelta(days=30)
        memory.observe("user", "Switched, goes to the Canal gym, Alex", session="b", user="Alex", at=later)
        memory.end_session("b")
        new, old = known(memory, "Canal"), known(memory, "Harlow")
        assert (old.superseded_by, old.valid_until) == (new.id, later)
        memory.audit.undo(memory.audit.log(limit=1)[0].seq, by=Attribution(actor="human", trigger="test"))
        restored = known(memory, "Harlow")
        assert (restored.superseded_by, restored.valid_until) == (None, None)
