"""What a model reads in the owner's turns takes the place of what was known, in one change that can be undone."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memfolio import Attribution
from memfolio.bench.scratch import scratch
from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import ModelError
from memfolio.learn.ask import ModelReading, ModelStatement
from memfolio.llm.host import HostModel
from memfolio.llm.model import Allowance
from memfolio.memory import Memory
from memfolio.tend.sessions import hear_out
from memfolio.tend.tend import tending
from memfolio.testing import ScriptedModel
from memfolio.types import MemoryItem
from memfolio.vault.usage import Usage
from memfolio.vault.vault import Vault

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


# What no longer holds because of a turn, a model says by the numbers of what it is shown beside the turns.

OWNS = "Alex drives a grey Skoda Octavia"


def naming(request: dict[str, Any], *numbers: int) -> ModelReading:
    """A model that reads of a new car, and says that this ends what is known of the old one, or ends these numbers."""
    text = json.dumps(request).replace("\\n", "\n")
    if "Kia" not in text:
        return ModelReading(statements=(ModelStatement(text=OWNS, type="fact", turns=(0,)),))
    shown = tuple(int(each) for each in re.findall(rf"^\[(\d+)\] known before: {OWNS}", text, re.MULTILINE))
    said = ModelStatement(text="Alex drives a Kia", type="fact", turns=(0,), corrects=numbers or shown)
    return ModelReading(statements=(said,))


def cars(memory: Memory) -> list[tuple[str, bool]]:
    """What is known of cars, and whether something took its place."""
    said = [each for each in memory.vault.entries("main") if each.source == "extraction" and "drives" in each.content]
    now = memory.searcher.known([each.id for each in said])
    return [(each.content, now[each.id].superseded_by is not None) for each in said]


def tell_of_cars(memory: Memory, clock: SettableClock, **new: Any) -> None:
    memory.observe("user", "Alex drives the grey Skoda Octavia.", session="a", user="Alex")
    memory.end_session("a")
    clock.advance(days=30)
    memory.observe(
        **{"role": "user", "content": "Picked up the Kia, Alex drives it home!", "session": "b", "user": "Alex"} | new
    )
    memory.end_session("b")


def test_what_a_model_says_that_does_not_hold_any_more_is_replaced(home: Path, clock: SettableClock) -> None:
    with ScriptedModel(naming) as model, opened(home, clock, model) as memory:
        tell_of_cars(memory, clock)
        assert cars(memory) == [(OWNS, True), ("Alex drives a Kia", False)]
        assert memory.recall("What does Alex drive?")[0].memory.content == "Alex drives a Kia"
        [last] = [each for each in memory.audit.log(limit=9) if each.trigger == "session"][:1]
        memory.audit.undo(last.seq, by=Attribution(actor="human", trigger="test"))
        assert cars(memory)[0] == (OWNS, False)


@pytest.mark.parametrize(
    "new",
    [{"role": "assistant"}, {"source": "page.html"}],
    ids=["a machine", "a page"],
)
def test_words_of_others_replace_nothing_whatever_a_model_says(
    home: Path, clock: SettableClock, new: dict[str, Any]
) -> None:
    with ScriptedModel(naming) as model, opened(home, clock, model) as memory:
        tell_of_cars(memory, clock, **new)
        assert cars(memory) == [(OWNS, False), ("Alex drives a Kia", False)]


def test_numbers_that_a_model_was_not_shown_replace_nothing(home: Path, clock: SettableClock) -> None:
    with ScriptedModel(partial(_any, (0, 99, -1))) as model, opened(home, clock, model) as memory:
        tell_of_cars(memory, clock)
        assert cars(memory) == [(OWNS, False), ("Alex drives a Kia", False)]


def _any(numbers: tuple[int, ...], request: dict[str, Any]) -> ModelReading:
    return naming(request, *numbers)


# What a model could not be asked about, it reads when it can: within a week, once, and for no more than it may cost.

TEA = "I drink green tea, and the flat above the bakery is home."


def reading(request: dict[str, Any]) -> ModelReading:
    """Whatever the model is shown, it says that of its last turn."""
    numbers = re.findall(r"^\[(\d+)\] (?!known before)", json.dumps(request).replace("\\n", "\n"), re.MULTILINE)
    if not numbers:
        return ModelReading()  # asked for something else
    number = int(numbers[-1])
    said = ModelStatement(text="Alex's home is the flat above the bakery", type="fact", turns=(number,))
    return ModelReading(statements=(said,))


def opened(home: Path, clock: SettableClock, model: ScriptedModel | None = None, **more: Any) -> Memory:
    settings = {**model.settings, **more} if model else {}
    vault = Vault.open(config=load_config(home, overrides=settings), clock=clock)
    return Memory(vault, "main", background=False)


def learned(memory: Memory) -> list[str]:
    return sorted(each.content for each in memory.vault.entries("main") if each.source == "extraction")


BOTH = ["Alex drinks green tea", "Alex's home is the flat above the bakery"]


def test_model_reads_what_only_the_rules_have_read_and_that_once(home: Path, clock: SettableClock) -> None:
    with opened(home, clock) as memory:
        memory.observe("user", TEA, session="a", user="Alex")
        memory.end_session("a")
        assert learned(memory) == BOTH[:1]
    clock.advance(days=1)
    with ScriptedModel(reading) as model, opened(home, clock, model) as memory:
        memory.tend(jobs=["sessions"])
        assert (learned(memory), len(model.requests)) == (BOTH, 1)
        assert memory.learn().turns == ()
        head = memory.vault.head
        memory.tend(jobs=["sessions"])
        assert (memory.vault.head, len(model.requests)) == (head, 1)


def test_what_nobody_has_read_comes_before_what_the_rules_have(home: Path, clock: SettableClock) -> None:
    with opened(home, clock) as memory:
        memory.observe("user", TEA, session="a", user="Alex")
        memory.end_session("a")
    clock.advance(days=1)
    with ScriptedModel(reading) as model, opened(home, clock, model, model_turns=20) as memory:
        memory.observe("user", "I sing in a choir, and the loft is home.", session="b", user="Alex")
        memory.tend(jobs=["sessions"])
        [request] = model.requests
        assert ("choir" in json.dumps(request), "bakery" in json.dumps(request)) == (True, False)


def test_model_does_not_read_an_old_home_as_a_whole(home: Path, clock: SettableClock) -> None:
    with opened(home, clock) as memory:
        memory.observe("user", TEA, session="a", user="Alex")
        memory.end_session("a")
    clock.advance(days=8)
    with ScriptedModel(reading) as model, opened(home, clock, model) as memory:
        memory.tend(jobs=["sessions"])
        assert (learned(memory), model.requests) == (BOTH[:1], [])


def test_what_a_model_learned_and_was_undone_is_not_read_by_it_again(home: Path, clock: SettableClock) -> None:
    with opened(home, clock) as memory:
        memory.observe("user", TEA, session="a", user="Alex")
        memory.end_session("a")
    clock.advance(days=1)
    with ScriptedModel(reading) as model, opened(home, clock, model) as memory:
        memory.vault.usage.questions(20, 1, 0)
        heard(memory)
        memory.audit.undo(memory.audit.log(limit=1)[0].seq, by=Attribution(actor="human", trigger="test"))
        heard(memory)
        assert (learned(memory), len(model.requests)) == (BOTH[:1], 1)
        memory.end_session("a")  # somebody asks
        assert learned(memory) == BOTH


def heard(memory: Memory) -> None:
    """What `tend` does with conversations that fell silent."""
    with tending(memory.vault, memory.searcher) as changes:
        hear_out(changes, memory.searcher, memory.vault.config.learn, model=memory._model)


def test_turns_that_wait_for_a_model_cost_no_more_questions(home: Path, clock: SettableClock) -> None:
    with ScriptedModel(reading) as model, opened(home, clock, model, model_turns=20) as memory:
        asked = list[int]()
        for number in range(12):
            for _ in range(5):
                memory.observe("user", f"{TEA} That was day {number}.", session=f"s-{number}", user="Alex")
            clock.advance(hours=20)
            memory.tend(jobs=["sessions"])
            memory.tend(jobs=["sessions"])
            asked.append(len(model.requests))
        # One question is saved up at the beginning; then there is one for every 20 turns.
        assert asked == [1 + (5 * (number + 1)) // 20 for number in range(12)]


def test_model_that_fails_is_not_asked_about_the_same_until_it_may_be(home: Path, clock: SettableClock) -> None:
    with ScriptedModel(["no", "answer"] * 9) as model, opened(home, clock, model, model_turns=20) as memory:
        memory.observe("user", TEA, session="a", user="Alex")
        clock.advance(hours=20)
        memory.tend(jobs=["sessions"])
        assert learned(memory) == BOTH[:1]
        head, asked = memory.vault.head, len(model.requests)
        for _ in range(3):
            memory.tend(jobs=["sessions"])
        assert (memory.vault.head, len(model.requests)) == (head, asked)


def test_model_of_the_host_reads_when_a_conversation_is_open_what_it_could_not_at_night() -> None:
    usage = Usage()
    host = HostModel("", timeout=5, allowance=Allowance(usage, turns=20))
    usage.questions(0, 20, 9)  # what is saved up at the beginning
    for _ in range(4):
        with pytest.raises(ModelError):
            host.questions(5, 1)
    assert usage.questions(0, 20, 9) == 1
    assert usage.questions(0, 20, 9) == 0
