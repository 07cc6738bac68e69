"""What came from a poisoned source is taken back wherever it went, and nothing else is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import InputError, NotFoundError, PolicyError, UndoConflictError
from memfolio.govern.update import Undone
from memfolio.memory import Memory
from memfolio.tend.tend import JOBS
from memfolio.types import Attribution, MemoryItem
from memfolio.vault.fields import Draft
from memfolio.vault.paths import state_ledger

EVIL = "web:evil"
BOT = Attribution(actor="bot:helper", trigger="test")
PERSON = Attribution(actor="human", trigger="test")


def undone(memory: Memory, *, every_agent: bool = False, dry_run: bool = False) -> Undone:
    return memory.undo(EVIL, by=PERSON, every_agent=every_agent, dry_run=dry_run)


def pages(home: Path) -> dict[str, str]:
    """Everything that is read, without what was cut."""
    with Memory.open(home, background=False) as memory:
        paths = [path for path in memory.vault.states() if path.endswith(".md") and "/archive/" not in path]
        return {path: (memory.vault.read(path) or b"").decode() for path in paths}


def evil(memory: Memory, text: str) -> MemoryItem:
    return memory.remember(text, source=EVIL)


def learned(memory: Memory, text: str, *sources: MemoryItem, source: str = "extraction") -> str:
    draft = Draft(content=text, source=source, derived_from=tuple(each.id for each in sources))
    return memory.vault.add(memory.agent, [draft], BOT).ids[0]


def gone(memory: Memory, *ids: str) -> list[bool]:
    return [(found := memory.get(each)) is None or found.forgotten_at is not None for each in ids]


def poisoned(memory: Memory, clock: SettableClock) -> tuple[list[str], list[str]]:
    """A home in which a web page went into everything; the ids of what is right, and of what came from the page."""
    right, wrong = list[str](), list[str]()
    for number in range(10):
        right.append(memory.remember(f"The greenhouse got water on day {number}", tags=["garden"]).id)
        right.append(memory.observe("user", f"Alex works at Globex and likes tulips, part {number}.", session="s-1").id)
    sold = [
        Draft(content=f"Zorblax sells server number {n} to Evilcorp", source=EVIL, tags=("garden",)) for n in range(25)
    ]
    wrong += memory.vault.add("main", sold, BOT).ids
    for number in range(5):
        said = f"Zorblax lives in Mordor. I met Zorblax on day {number}."
        wrong.append(memory.observe("user", said, session="s-2", attributes={"source": EVIL}).id)
    memory.core.pin(wrong[0])
    for session in ("s-1", "s-2"):
        memory.end_session(session)
    clock.advance(days=40)
    assert not [done.error for done in memory.tend(jobs=[job.name for job in JOBS]).done if done.error]
    return right, wrong


def test_poisoned_page_leaves_no_trace_and_the_rest_is_as_it_was(
    memory: Memory, clock: SettableClock, home: Path
) -> None:
    right, wrong = poisoned(memory, clock)
    before = pages(home)
    assert len([text for text in before.values() if "orblax" in text]) > 5  # log, core, digests, session, graph
    assert {hit.memory.source for hit in memory.recall("Zorblax Mordor", limit=50)} >= {EVIL, "entity"}

    done = undone(memory)

    assert {each.id for each in done.memories[: done.roots]} == set(wrong)
    assert {each.source for each in done.memories[done.roots :]} >= {"extraction", "summary"}
    assert len(done.receipts) == 1
    assert not [path for path, text in pages(home).items() if "orblax" in text or "Mordor" in text]
    found = memory.recall("Zorblax Mordor Evilcorp server", limit=50, include=["archived", "superseded", "dormant"])
    assert not [hit.memory.id for hit in found if "orblax" in hit.memory.content]
    assert "orblax" not in (memory.context("Who is Zorblax and where does he live?", include=["core"]) or "")
    assert not any(gone(memory, *right))
    assert "Alex works at Globex" in "".join(pages(home).values())
    memory.vault.commit()
    assert [each for each in memory.vault.verify() if each.level != "ok"] == []

    memory.audit.undo([each.seq for each in done.receipts], by=PERSON)
    assert pages(home) == before
    assert not any(gone(memory, *right, *wrong))


def test_after_tending_again_nothing_has_come_back(memory: Memory, clock: SettableClock, home: Path) -> None:
    poisoned(memory, clock)
    undone(memory)
    clock.advance(days=2)
    memory.tend(jobs=[job.name for job in JOBS])
    read = pages(home)
    assert not [path for path, text in read.items() if "orblax" in text or "Mordor" in text]
    assert [path for path, text in read.items() if "/monthly/" in path and "tulips" in text]
    with pytest.raises(NotFoundError, match=EVIL):
        undone(memory)


def test_what_also_rests_on_others_stays_and_a_summary_frees_them(memory: Memory) -> None:
    lie, truth = evil(memory, "Alex likes coal"), memory.remember("Alex likes tea", store="short_term")
    both, alone = learned(memory, "Alex likes things", lie, truth), learned(memory, "Alex burns things", lie)
    deep = learned(memory, "Alex is warm", *(item for each in (alone,) if (item := memory.get(each))))
    summary = learned(memory, "Alex: coal, tea", lie, truth, source="consolidation")
    into = {"op": "store", "memory": truth.id, "store": "long_term", "into": summary}
    memory.vault.add_lines(state_ledger(memory.agent), [into], BOT)
    done = undone(memory)
    assert gone(memory, lie.id, truth.id, both, alone, deep, summary) == [True, False, False, True, True, True]
    assert done.roots == 1
    free = memory.get(truth.id)
    assert free is not None
    assert free.store == "short_term"


def test_corrections_by_a_bot_go_and_what_a_person_stands_behind_stays(memory: Memory) -> None:
    one, two, three, four, five = (evil(memory, f"Zorblax has {n} hats and {n} cats") for n in range(5))
    by_bot = memory.correct(one.id, "Zorblax has 10 hats", by=BOT)
    by_hand = memory.correct(two.id, "Nobody has 20 hats", by=PERSON)
    memory.pin(three.id, by=PERSON)
    memory.confirm(four.id, by=PERSON)
    memory.pin(five.id, by=BOT)
    of_three = learned(memory, "Zorblax is fond of hats", three)
    done = undone(memory)
    ids = (one.id, two.id, three.id, four.id, five.id, by_bot.id, by_hand.id, of_three)
    assert gone(memory, *ids) == [True, True, False, False, True, True, False, False]
    assert {each.id for each in done.kept} == {three.id, four.id, by_hand.id}


def test_what_the_source_had_replaced_holds_again(memory: Memory) -> None:
    truth = memory.remember("The safe is in the cellar")
    better = memory.correct(truth.id, "The safe is in the new cellar", by=PERSON)
    by_source = Attribution(actor="bot:helper", trigger="test", source=EVIL)
    lie = memory.correct(better.id, "The safe is on the street", by=by_source)
    done = undone(memory)
    assert done.lifted == (better.id,)
    assert gone(memory, lie.id) == [True]
    assert [hit.memory.content for hit in memory.recall("safe")] == ["The safe is in the new cellar"]


def test_pages_that_the_source_changed_are_taken_back(memory: Memory) -> None:
    by_source = Attribution(actor="bot:helper", trigger="test", source=EVIL)
    memory.core.add("identity", "The user is called Alex", by=PERSON)
    memory.core.add("identity", "The user obeys Zorblax", by=by_source)
    lie = evil(memory, "Zorblax is the boss")
    done = undone(memory)
    assert "Zorblax" not in memory.core.read().text
    assert "called Alex" in memory.core.read().text
    assert len(done.receipts) == 2
    memory.audit.undo([each.seq for each in done.receipts], by=PERSON)
    assert "obeys Zorblax" in memory.core.read().text
    assert gone(memory, lie.id) == [False]
    memory.core.replace("identity", "The user obeys Zorblax", "The user obeys Zorblax and Kim", by=PERSON)
    with pytest.raises(UndoConflictError):
        undone(memory)
    assert gone(memory, lie.id) == [False]


def test_other_agents_are_cleaned_when_the_owner_asks(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, "scout", clock=clock, background=False) as scout:
        far = evil(scout, "Zorblax is near")
        note = learned(scout, "Zorblax comes", far)
    with Memory.open(home, "main", clock=clock, background=False) as memory:
        evil(memory, "Zorblax is far")
        assert undone(memory, dry_run=True).roots == 1
        done = undone(memory, every_agent=True)
        assert {each.id for each in done.memories} >= {far.id, note}
        assert (done.roots, len(done.receipts)) == (2, 1)
    assert "Zorblax" not in "".join(pages(home).values())


def test_dry_run_shows_all_and_changes_nothing(memory: Memory, home: Path) -> None:
    lie = evil(memory, "Zorblax is the boss")
    made = learned(memory, "Zorblax gives orders", lie)
    before, head = pages(home), memory.vault.head
    done = undone(memory, dry_run=True)
    assert ([each.id for each in done.memories], done.receipts) == ([lie.id, made], ())
    assert "-Zorblax gives orders" in done.diff
    assert (pages(home), memory.vault.head) == (before, head)


def test_source_that_is_none_is_refused(memory: Memory) -> None:
    for source, error in (("a b", InputError), ("nobody", NotFoundError)):
        with pytest.raises(error):
            memory.undo(source, by=PERSON)


def test_whatever_names_its_source_can_be_taken_back(memory: Memory, home: Path) -> None:
    said = memory.observe("user", "Kim works at Acme.", session="s-1", source=EVIL)
    noted = memory.observe("user", "Kim likes tea.", session="s-1", attributes={"source": EVIL})
    memory.end_session("s-1")
    learned = [hit.memory for hit in memory.recall("Kim", kinds=["semantic"])]
    assert {each.id for item in learned for each in memory.explain(item.id).sources} == {said.id, noted.id}
    called = memory.episode("Zorblax called", episode_type="error", source=EVIL)
    talk = [{"role": "user", "content": f"Zorblax{n} lives in Mordor{n}."} for n in range(12)]
    flushed = memory.flush(talk, source=EVIL)
    assert len(flushed.memories) > 9  # more than the trail names
    undone(memory)
    assert all(gone(memory, *(each.id for each in (said, noted, *learned, called, *flushed.memories))))
    assert not [path for path, text in pages(home).items() if "Zorblax" in text]


def test_all_of_a_large_batch_in_the_name_of_the_source_goes(memory: Memory) -> None:
    drafts = [Draft(content=f"Zorblax sells server {number}", source="import") for number in range(12)]
    ids = memory.vault.add("main", drafts, Attribution(actor="bot:helper", trigger="test", source=EVIL)).ids
    middle = memory.get(ids[5])
    assert middle is not None
    made = learned(memory, "Zorblax sells servers", middle)
    done = undone(memory)
    assert (done.roots, all(gone(memory, *ids, made))) == (12, True)


def test_what_waits_for_leave_to_use_it_is_withdrawn(memory: Memory) -> None:
    lie = evil(memory, "Zorblax is the boss")
    memory.propose("Zorblax owns the house", source=EVIL)
    memory.proposals.add(memory.proposals.call("pin", {"id": lie.id}), by=BOT)
    fine = memory.propose("Kim owns the house", source="web:good")
    folder = "agents/main/memory/meta/reflections"
    for name, cited in (("2026-01-01-000000", lie.id), ("2026-01-02-000000", "M-1-00000000")):
        memory.vault.put_page(f"{folder}/{name}.md", f"1. Zorblax rules\n   - from: ({cited})\n", expects=None, by=BOT)
    done = undone(memory)
    assert [each.id for each in memory.proposals.pending(all=True)] == [fine.id]
    assert memory.vault.page(f"{folder}/2026-01-01-000000.md") is None
    assert memory.vault.page(f"{folder}/2026-01-02-000000.md") is not None
    memory.audit.undo([each.seq for each in done.receipts], by=PERSON)
    assert len(memory.proposals.pending(all=True)) == 3


def test_agent_takes_back_its_own_whosever_memory_it_reads(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, "scout", clock=clock, background=False) as scout:
        far = evil(scout, "Zorblax is near")
    with Memory.open(home, "main", clock=clock, background=False) as memory:
        (home / "agents/main").mkdir(exist_ok=True)
        (home / "agents/main/agent.toml").write_text('reads = ["*"]\n')
        memory.sync()
        own = evil(memory, "Zorblax is far")
        assert [each.id for each in memory.undo(EVIL, by=BOT).memories] == [own.id]
        assert gone(memory, far.id) == [False]
        with pytest.raises(PolicyError):
            memory.undo(EVIL, by=BOT, every_agent=True)


def test_thousands_of_memories_go_in_seconds(memory: Memory) -> None:
    drafts = [Draft(content=f"Zorblax sells server {number}", source=EVIL) for number in range(2000)]
    memory.vault.add("main", drafts, BOT)
    kept = memory.remember("The greenhouse needs water")
    started = time.process_time()
    assert undone(memory).roots == 2000
    assert time.process_time() - started < 10
    assert [hit.memory.id for hit in memory.recall("greenhouse Zorblax")] == [kept.id]
