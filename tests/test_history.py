"""What became of a memory: the log tells what each change wrote, `explain` every change, and `get` where it went."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memfolio import Memory, NotFoundError
from memfolio.clock import SettableClock
from memfolio.types import Attribution
from memfolio.vault.past.past import TrailFilter
from tests.serve.calls import program

PERSON = Attribution(actor="human:ann", trigger="cli")
LOG = "agents/main/memory/2026-11-15.md"
NOBODY = "M-1794753005123-a3f2c91d"


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, "main", clock=clock, background=False) as memory:
        yield memory


def edit(memory: Memory, old: str, new: str, path: str = LOG) -> None:
    page = memory.vault.config.home / path
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new))
    memory.sync()


def rows(memory: Memory) -> list[tuple[str, str]]:
    """What the log tells of the logs and state of memories, oldest first: by whom, and what."""
    return [(each.actor, each.summary) for each in reversed(memory.audit.log(TrailFilter(path="agents/main/memory")))]


def deeds(memory: Memory, id: str) -> list[tuple[str, str, str | None]]:
    return [(each.deed, each.actor, each.text) for each in memory.explain(id).events]


@pytest.mark.parametrize("is_committed", [True, False])
def test_the_log_tells_what_each_change_wrote_after_an_edit_by_hand(memory: Memory, is_committed: bool) -> None:
    memory.remember("Alex drinks green tea")
    memory.remember("Bea plays chess")
    if is_committed:
        memory.vault.commit()
    edit(memory, "green tea", "black coffee")
    if is_committed:
        memory.vault.commit()
    edit(memory, "chess", "the cello")
    bot = "bot:trigger-remember"
    assert rows(memory) == [
        (bot, "Alex drinks green tea"),
        (bot, "Bea plays chess"),
        ("human", "Alex drinks black coffee"),
        ("human", "Bea plays the cello"),
    ]


def test_the_log_is_searched_by_what_each_change_wrote(memory: Memory) -> None:
    first = memory.remember("Alex drinks green tea")
    edit(memory, "green tea", "black coffee")
    found = memory.audit.log(TrailFilter(about="green tea"))
    assert [(each.actor, each.ids) for each in found] == [("human", ()), ("bot:trigger-remember", (first.id,))]
    assert [each.actor for each in memory.audit.log(TrailFilter(about="black coffee"))] == ["human"]


def test_the_log_tells_what_was_written_before_a_second_line_was_edited_or_taken_out(memory: Memory) -> None:
    memory.remember("Alex drinks green tea\n\nFrom Japan")
    memory.remember("Bea plays chess")
    memory.remember("Cy sings")
    edit(memory, "From Japan", "From Taiwan")
    page = memory.vault.config.home / LOG
    kept = page.read_text().split("\n## ")
    page.write_text("\n## ".join([*kept[:2], kept[3]]))
    memory.sync()
    assert [said for _, said in rows(memory)] == [
        "Alex drinks green tea",
        "Bea plays chess",
        "Cy sings",
        "From Taiwan",
        "removed Bea plays chess",
    ]


def test_what_was_purged_is_told_by_no_row_of_the_log(memory: Memory) -> None:
    memory.remember("Alex drinks green tea")
    secret = memory.remember("the code is swordfish")
    last = memory.remember("Bea plays chess")
    memory.vault.commit()
    edit(memory, "swordfish", "swordfish or haddock")
    memory.purge(secret.id, by=PERSON)
    edit(memory, "chess", "the cello")
    said = [words for _, words in rows(memory)]
    assert said[0] == "Alex drinks green tea"
    assert said[2] == "Bea plays chess"
    assert not any("swordfish" in words or "haddock" in words for words in said)
    assert deeds(memory, last.id) == [
        ("written", "bot:trigger-remember", "Bea plays chess"),
        ("edited", "human", "Bea plays the cello"),
    ]


def test_explain_names_everybody_who_changed_a_memory(memory: Memory) -> None:
    item = memory.remember("Alex drinks green tea")
    other = memory.remember("Bea plays chess")
    memory.vault.commit()
    edit(memory, "green tea", "black coffee")
    memory.confirm(item.id, by=PERSON)
    edit(memory, "chess", "the cello")
    forgotten = memory.forget(item.id, by=PERSON)
    memory.restore(item.id, by=PERSON)
    memory.audit.undo(memory.audit.log(limit=1)[0].seq, by=PERSON)
    memory.restore(item.id, by=PERSON)
    memory.correct(item.id, "Alex drinks water", by=PERSON)
    found = memory.explain(item.id)
    assert [(each.deed, each.actor) for each in found.events] == [
        ("written", "bot:trigger-remember"),
        ("edited", "human"),
        ("confirmed", PERSON.actor),
        ("forgotten", PERSON.actor),
        ("restored", PERSON.actor),
        ("undone", PERSON.actor),
        ("restored", PERSON.actor),
        ("corrected", PERSON.actor),
    ]
    assert [each.text for each in found.events[:3]] == ["Alex drinks green tea", "Alex drinks black coffee", None]
    assert forgotten.receipt is not None
    assert found.events[3].seq == forgotten.receipt.seq
    log = {each.seq: each.at for each in memory.audit.log()}
    assert all(log[each.seq] == each.at for each in found.events if each.seq)
    assert [each.seq for each in found.events] == sorted(each.seq or 0 for each in found.events)
    assert deeds(memory, other.id)[1:] == [("edited", "human", "Bea plays the cello")]


def test_a_confirmation_that_was_undone_is_told(memory: Memory) -> None:
    item = memory.remember("Alex drinks tea")
    memory.confirm(item.id, by=PERSON)
    memory.audit.undo(memory.audit.log(limit=1)[0].seq, by=PERSON)
    assert [each.deed for each in memory.explain(item.id).events] == ["written", "confirmed", "undone"]


def test_each_of_many_memories_of_one_change_knows_it(memory: Memory) -> None:
    items = memory.observe_many([{"role": "user", "content": f"number {each}"} for each in range(20)])
    memory.vault.commit()
    edit(memory, "number 12\n", "number twelve\n")
    assert [(each.deed, each.actor, each.text) for each in memory.explain(items[12].id).events] == [
        ("written", "bot:auto-detect", "number 12"),
        ("edited", "human", "number twelve"),
    ]
    assert [each.deed for each in memory.explain(items[11].id).events] == ["written"]


def test_a_note_written_by_hand_is_a_persons(memory: Memory) -> None:
    memory.remember("Alex drinks tea")
    page = memory.vault.config.home / LOG
    page.write_text(page.read_text().replace("\n## ", "\n- Bea plays chess\n\n## ", 1))
    memory.sync()
    item = memory.recall("Bea plays chess")[0].memory
    assert deeds(memory, item.id) == [("written", "human", "Bea plays chess")]


Way = Callable[[Memory, str], object]


def undo(memory: Memory, id: str) -> object:
    seq = next(each.seq for each in memory.audit.log() if id in each.ids)
    return memory.audit.undo(seq, by=PERSON)


WAYS: dict[str, Way] = {
    "undone": undo,
    "forgotten": lambda memory, named: memory.forget(named, by=PERSON),
    "archived": lambda memory, named: memory.archive(named, by=PERSON),
}


@pytest.mark.parametrize("deed", WAYS)
def test_what_is_out_of_sight_says_why_and_can_be_brought_back(memory: Memory, deed: str) -> None:
    item = memory.remember("Alex drinks tea")
    WAYS[deed](memory, item.id)
    change = memory.audit.log(limit=1)[0].seq
    found = memory.get(item.id)
    assert found is not None
    assert found.fate == (
        f"{deed} by human:ann in change {change} on 2026-11-15 14:30; `memfolio restore {item.id}` brings it back"
    )
    home = str(memory.vault.config.home)
    assert found.fate in program("--home", home, "show", item.id).stdout
    assert json.loads(program("--home", home, "--json", "show", item.id).stdout)["fate"] == found.fate
    memory.restore(item.id, by=PERSON)
    back = memory.get(item.id)
    assert back is not None
    assert back.fate is None


def test_what_is_gone_for_good_says_so(memory: Memory) -> None:
    items = memory.observe_many([{"role": "user", "content": f"number {each}"} for each in range(20)])
    memory.purge(items[7].id, by=PERSON)
    purged = memory.audit.log(limit=1)[0].seq
    assert memory.get(items[7].id) is None
    with pytest.raises(NotFoundError) as raised:
        memory.explain(items[7].id)
    assert raised.value.message == f"{items[7].id} was purged by human:ann in change {purged} on 2026-11-15 14:30"
    assert raised.value.hint == "nothing brings it back"
    done = program("--home", str(memory.vault.config.home), "show", items[7].id)
    assert done.returncode == 3
    assert f"was purged by human:ann in change {purged}" in done.stderr


def test_what_a_person_deleted_in_an_editor_says_so(memory: Memory) -> None:
    memory.remember("Alex drinks tea")
    item = memory.remember("Bea plays chess")
    memory.remember("Cy sings")
    page = memory.vault.config.home / LOG
    kept = page.read_text().split("\n## ")
    page.write_text("\n## ".join([*kept[:2], kept[3]]))
    memory.sync()
    change = memory.audit.log(limit=1)[0].seq
    with pytest.raises(NotFoundError) as raised:
        memory.confirm(item.id)
    assert raised.value.message == f"{item.id} was deleted by human in change {change} on 2026-11-15 14:30"
    assert raised.value.hint == f"`memfolio undo {change}` brings it back"
    memory.audit.undo(change, by=PERSON)
    assert memory.get(item.id) is not None


def test_an_agent_learns_nothing_of_what_it_may_not_see(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, "main", clock=clock, background=False) as memory:
        here = memory.remember("Alex drinks tea")
        gone = memory.remember("Bea plays chess")
        memory.purge(gone.id, by=PERSON)
    messages = []
    with Memory.open(home, "other", clock=clock, background=False) as other:
        for named in (here.id, gone.id, NOBODY):
            assert other.get(named) is None
            with pytest.raises(NotFoundError) as raised:
                other.explain(named)
            messages.append((raised.value.message.replace(named, "ID"), raised.value.hint))
    assert len(set(messages)) == 1


def test_log_goes_back_page_by_page_without_gaps(memory: Memory) -> None:
    for number in range(25):
        memory.remember(f"Note {number}", session="odd" if number % 2 else "even")
    whole = memory.audit.log(limit=100)
    pages, before = [], None
    while page := memory.audit.log(limit=7, before=before):
        pages += page
        before = page[-1].seq
    assert [each.seq for each in pages] == [each.seq for each in whole]
    assert [each.summary for each in pages] == [each.summary for each in whole]


def test_entries_tell_what_memories_say_without_opening_their_logs(memory: Memory) -> None:
    item = memory.remember("Alex drinks tea\nin the morning", session="s-1")
    memory.pin(item.id)
    for wanted in (TrailFilter(), TrailFilter(session="s-1"), TrailFilter(actor="bot:*"), TrailFilter(source="none")):
        usual = memory.audit.log(wanted)
        found = memory.audit.entries(
            wanted, limit=50, texts=lambda ids: {item.id: item.content} if item.id in ids else {}
        )
        assert found == usual
    asked = memory.audit.entries(TrailFilter(session="s-1"), limit=1, texts=lambda ids: dict.fromkeys(ids, "as told"))
    assert asked[0].summary == "as told"


def test_subscriber_hears_nothing_after_the_end(memory: Memory) -> None:
    heard: list[int] = []
    end = memory.subscribe(lambda line: heard.append(line.seq))
    memory.remember("Alex drinks tea")
    end()
    memory.remember("Bea plays chess")
    assert len(heard) == 1
