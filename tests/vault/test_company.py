"""What a person writes below our entries is theirs: it is found, and it stays when the entry goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio import Memory, MemoryItem
from memfolio.clock import SettableClock
from memfolio.types import Action
from memfolio.vault.fields import text_id
from memfolio.vault.move import memories_in, without
from memfolio.vault.past.merge import ledger_blocks
from memfolio.vault.vault import OWNER
from tests.conftest import many
from tests.vault.test_move import NOTE, WHOLE
from tests.vault.test_undo import ARCHIVE, LOG

WORDS = "Yara plays the cello"
BELOW = {
    "bullet": f"\n- {WORDS}\n",
    "paragraph": f"\n{WORDS}\n",
    "heading": f"\n# My notes\n\n- {WORDS}\n",
    "without a blank line": f"- {WORDS}\n",
    "paragraph without a blank line": f"{WORDS}\n",
    "without a line end": f"\n- {WORDS}",
    "blank lines": f"\n\n\n{WORDS}\n\n\n",
    "with CRLF": f"\r\n- {WORDS}\r\n",
    "an open fence": f"\n- {WORDS}\n\n```\nopen\n",
    "several": f"\n- {WORDS}\n- she is seven\n\n## Music\n\nand a bow\n",
}
below = pytest.mark.parametrize("text", BELOW.values(), ids=BELOW.keys())


@pytest.fixture
def memory(home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    with Memory.open(home, "main", clock=clock) as memory:
        yield memory


def remember(memory: Memory, text: str) -> MemoryItem:
    return memory.remember(text)


def log_of(memory: Memory) -> bytes:
    return (memory.vault.home.root / LOG).read_bytes()


def save(memory: Memory, content: bytes) -> None:
    (memory.vault.home.root / LOG).write_bytes(content)
    memory.sync()


def type_below(memory: Memory, text: str) -> None:
    save(memory, log_of(memory) + text.encode())


def contents(memory: Memory) -> list[str]:
    return [each.content for each in memory.vault.entries("main")]


def found(memory: Memory, words: str = "cello") -> list[str]:
    return [hit.memory.content for hit in memory.recall(words) if words in hit.memory.content]


def assert_back(memory: Memory, before: bytes) -> None:
    """All words are there as before, and the text is a memory of its own; where it stands may differ."""
    assert sorted(log_of(memory).split()) == sorted(before.split())
    assert WORDS in contents(memory)


def last_seq(memory: Memory, action: Action) -> int:
    return next(line.seq for line in memory.audit.log() if line.action is action)


@below
def test_text_below_an_entry_is_a_memory_of_its_own(memory: Memory, text: str) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, text)
    assert contents(memory)[:2] == ["Alex prefers tea", WORDS]
    assert [each.id for each in memory.vault.entries("main")][:2] == [tea.id, text_id("main", WORDS)]
    assert found(memory) == [WORDS]


@below
def test_a_forgotten_entry_leaves_the_text_below_it_and_returns_above_it(memory: Memory, text: str) -> None:
    tea = remember(memory, "Alex prefers tea\nand never after four")
    type_below(memory, text)
    before, others = log_of(memory), contents(memory)[1:]
    memory.forget(tea.id)
    assert log_of(memory).endswith(text.encode())
    assert contents(memory) == others
    assert found(memory) == [WORDS]
    assert WORDS.encode() not in (memory.vault.home.root / ARCHIVE).read_bytes()
    memory.restore(tea.id)
    assert_back(memory, before)


@below
def test_entries_around_the_text_come_and_go_without_it(memory: Memory, text: str) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, text)
    rain = remember(memory, "It rains")
    before, others = log_of(memory), contents(memory)[1:-1]
    memory.forget(rain.id)
    memory.forget(tea.id)
    assert contents(memory) == others
    memory.restore(tea.id)
    memory.restore(rain.id)
    assert_back(memory, before)


@below
def test_a_corrected_entry_does_not_hide_the_text_below_it(memory: Memory, text: str) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, text)
    memory.correct(tea.id, "Alex prefers coffee")
    assert found(memory) == [WORDS]
    assert found(memory, "prefers") == ["Alex prefers coffee"]


@below
def test_an_undone_entry_leaves_the_text_below_it(memory: Memory, text: str) -> None:
    remember(memory, "Alex prefers tea")
    seq = last_seq(memory, Action.APPEND)
    type_below(memory, text)
    before, others = log_of(memory), contents(memory)[1:]
    undone = memory.audit.undo([seq], by=OWNER).receipt
    assert undone is not None
    assert log_of(memory).endswith(text.encode())
    assert contents(memory) == others
    memory.audit.undo([undone.seq], by=OWNER)
    assert_back(memory, before)


@pytest.mark.parametrize("name", ["bullet", "heading", "without a blank line", "with CRLF", "an open fence", "several"])
def test_the_text_is_undone_without_the_entries_around_it(memory: Memory, name: str) -> None:
    remember(memory, "Alex prefers tea")
    type_below(memory, BELOW[name])
    seq = last_seq(memory, Action.EDIT)
    remember(memory, "It rains")
    memory.audit.undo([seq], by=OWNER)
    assert contents(memory) == ["Alex prefers tea", "It rains"]


@below
def test_a_rollback_keeps_the_text_below_what_was_forgotten_since(memory: Memory, text: str) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, text)
    others = contents(memory)[1:]
    memory.vault.committer.commit_now()
    then = memory.audit.log(limit=1)[0].commit
    assert then
    memory.forget(tea.id)
    remember(memory, "It rains")
    memory.audit.rollback(to=then, by=OWNER)
    assert contents(memory) == others
    assert log_of(memory).endswith(text.encode())


@below
def test_the_text_is_forgotten_and_restored_without_the_entries_around_it(memory: Memory, text: str) -> None:
    remember(memory, "Alex prefers tea")
    type_below(memory, text)
    remember(memory, "It rains")
    before, others = log_of(memory), contents(memory)
    memory.forget(text_id("main", WORDS))
    assert contents(memory) == [each for each in others if each != WORDS]
    memory.restore(text_id("main", WORDS))
    assert_back(memory, before)


def test_text_returns_below_the_title_after_the_log_went_on(memory: Memory) -> None:
    remember(memory, "Alex prefers tea")
    type_below(memory, BELOW["bullet"])
    remember(memory, "It rains")
    memory.forget(text_id("main", WORDS))
    save(memory, log_of(memory).replace(b"Sunday\n", b"Sunday\n\n- a walk\n"))
    memory.restore(text_id("main", WORDS))
    assert contents(memory) == [WORDS, "a walk", "Alex prefers tea", "It rains"]


def test_headings_in_the_text_are_headings(memory: Memory) -> None:
    remember(memory, "Alex prefers tea")
    type_below(memory, BELOW["several"])
    last = memory.vault.entries("main")[-1]
    assert (last.content, last.attributes) == ("and a bow", {"heading": "Music"})


def test_an_entry_heading_in_a_fence_of_the_text_is_text(memory: Memory) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, f"\n{WORDS}:\n```\n## 10:00 plan\n```\n\n## 11:00 fact\n\nBy hand.\n")
    assert contents(memory) == ["Alex prefers tea", f"{WORDS}:\n```\n## 10:00 plan\n```", "By hand."]
    memory.forget(tea.id)
    assert contents(memory) == [f"{WORDS}:\n```\n## 10:00 plan\n```", "By hand."]


def test_an_entry_whose_words_were_edited_keeps_what_stands_below_it(memory: Memory) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, BELOW["bullet"])
    save(memory, log_of(memory).replace(b"prefers tea", b"prefers green tea"))
    assert contents(memory) == [f"Alex prefers green tea\n\n- {WORDS}"]
    memory.forget(tea.id)
    assert contents(memory) == []
    memory.restore(tea.id)
    assert contents(memory) == [f"Alex prefers green tea\n\n- {WORDS}"]


def test_blank_lines_below_an_entry_belong_to_nobody(memory: Memory) -> None:
    remember(memory, "Alex prefers tea")
    seq = last_seq(memory, Action.APPEND)
    type_below(memory, "\n\n\n")
    remember(memory, "It rains")
    memory.audit.undo([seq], by=OWNER)
    assert contents(memory) == ["It rains"]


def test_a_copied_entry_ends_where_the_copied_words_end(memory: Memory) -> None:
    remember(memory, "Alex prefers tea")
    copy = log_of(memory).partition(b"\n\n")[2]
    type_below(memory, f"\n- {WORDS}\n\n{copy.decode()}\n- and a bow\n")
    assert contents(memory) == ["Alex prefers tea", WORDS, "Alex prefers tea", "and a bow"]


def test_a_conflict_copy_gives_its_entries_to_the_log_and_keeps_its_text(memory: Memory) -> None:
    remember(memory, "Alex prefers tea")
    shorter = log_of(memory)
    remember(memory, "It rains")
    type_below(memory, BELOW["bullet"])
    copy = memory.vault.home.root / LOG.replace(".md", ".sync-conflict-20261115-143000-ABCDEFG.md")
    copy.write_bytes(log_of(memory))
    save(memory, shorter + b"\n- a walk\n")
    memory.sync()
    assert sorted(contents(memory)) == ["Alex prefers tea", "It rains", "a walk"]
    kept = list((memory.vault.home.root / LOG).parent.glob("conflicts/*"))
    assert [WORDS in each.read_text() for each in kept] == [True]
    assert not copy.exists()


def test_text_below_an_entry_does_not_make_it_another_one_in_another_time_zone(
    memory: Memory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = remember(memory, "Alex prefers tea")
    type_below(memory, BELOW["bullet"])
    memory.close()
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "Asia/Tokyo")
    with Memory.open(home, "main") as elsewhere:
        assert elsewhere.vault.entries("main")[0].event_time == tea.event_time


def test_a_rebuilt_index_finds_the_same(memory: Memory) -> None:
    remember(memory, "Alex prefers tea")
    type_below(memory, BELOW["several"])
    remember(memory, "It rains")
    before = [memory.get(each.id) for each in memory.vault.entries("main")]
    memory.reindex()
    assert [memory.get(each.id) for each in memory.vault.entries("main")] == before
    assert found(memory) == [WORDS]


@st.composite
def companies(draw: st.DrawFn) -> str:
    """A log of untouched entries, as we append them, and of a person's text anywhere between them."""
    text = "# 2026-11-15 · Sunday\n"
    entries = draw(st.lists(WHOLE, min_size=1, max_size=4, unique_by=lambda entry: entry.partition("^")[2][:24]))
    for entry in entries:
        text += f"\n{entry}\n"
        for note in draw(st.lists(NOTE.filter(lambda note: not note[0].isspace()), max_size=3)):
            text += draw(st.sampled_from(["", "\n", "\n\n"])) + f"{note}\n"
    return text


@many(300)
@given(companies(), st.data())
def test_no_entry_takes_anybodys_text_with_it(text: str, data: st.DataObject) -> None:
    log = text.encode()
    present = memories_in(LOG, log)
    ids = data.draw(st.sets(st.sampled_from(sorted(each for each in present if each.startswith("M-"))), min_size=1))
    rest = without(LOG, log, ids)
    assert memories_in(LOG, rest) == present - ids
    assert "".join(ledger_blocks(LOG, log)) == text
