"""Core memory: edits keep what people wrote, stay within the limit, and happen once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import ConflictError, ContentError, InputError, NotFoundError, RefusedError
from memfolio.memory import Memory
from memfolio.stores.core import BLOCKS, TEMPLATE, Core, CorePage
from memfolio.types import HUMAN
from memfolio.vault.vault import Vault

BY_HAND = (
    "---\ntitle: mine\n---\r\n# About us  \r\n\r\nWords.\r\n\r\n## identity\r\n* Name: **Alex**\r\n  goes by Al\r\n"
    "<!-- ## Persona -->\r\n```\r\n## Critical Facts\r\n- not one\r\n```\r\n\r\n## Things I like\r\nTea\r\n\r\n\r\n"
)


@pytest.fixture
def core(memory: Memory) -> Core:
    return Core(memory.vault, memory.agent, find=memory.find)


@pytest.fixture
def page(home: Path) -> Path:
    return home / "agents/main/MEMORY.md"


def lines(core: Core, block: str) -> list[str]:
    return [item.text for each in core.read().blocks if each.name == block for item in each.items]


def test_core_memory_that_is_not_there_is_empty(core: Core, page: Path) -> None:
    assert core.read().blocks == ()
    assert (core.read().tokens, core.read().over_cap) == (0, 0)
    assert not page.exists()


def test_first_line_makes_the_page_with_four_blocks_and_no_invented_facts(core: Core) -> None:
    edit = core.add("identity", "Name: Alex")
    assert [block.name for block in edit.memory.blocks] == list(BLOCKS)
    assert [item.text for block in edit.memory.blocks for item in block.items] == ["Name: Alex"]
    assert CorePage(TEMPLATE).tokens < 30


def test_lines_are_added_replaced_and_removed(core: Core, memory: Memory) -> None:
    core.add("Identity", "Editor: Vim")
    core.add("Identity", "Name: Alex")
    core.replace("IDENTITY", "vim", "Editor: Helix")
    assert lines(core, "Identity") == ["Editor: Helix", "Name: Alex"]
    edit = core.remove("identity", "Name: Alex")
    assert lines(core, "Identity") == ["Editor: Helix"]
    assert "-- Name: Alex" in edit.diff
    assert edit.receipt is not None
    memory.audit.undo([edit.receipt.seq], by=HUMAN)
    assert lines(core, "Identity") == ["Editor: Helix", "Name: Alex"]


def test_what_it_says_already_is_not_added_again(core: Core, memory: Memory) -> None:
    core.add("Persona", "Be brief")
    before = memory.vault.head
    edit = core.add("persona", "  be   BRIEF ")
    assert (edit.receipt, edit.diff, memory.vault.head) == (None, "", before)
    assert lines(core, "Persona") == ["Be brief"]


def test_dry_run_shows_and_changes_nothing(core: Core, page: Path) -> None:
    edit = core.add("Persona", "Be brief", dry_run=True)
    assert "+- Be brief" in edit.diff
    assert edit.receipt is None
    assert not page.exists()


def test_page_of_a_person_keeps_every_byte_that_an_edit_is_not_about(core: Core, page: Path, memory: Memory) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_bytes(BY_HAND.encode() + b"\xff\xfe raw")
    memory.sync()
    assert [block.name for block in core.read().blocks] == ["identity", "Things I like"]
    assert lines(core, "identity") == ["Name: **Alex** goes by Al"]
    core.add("Identity", "Role: chief")
    core.add("things i like", "Coffee")
    core.pin("Nuts are deadly")
    text = page.read_bytes()
    assert text.startswith(BY_HAND[: BY_HAND.index("```\r\n\r\n")].encode())
    for added in (b"- Role: chief\r\n", b"- Coffee\r\n", b"## Critical Facts\r\n- Nuts are deadly\r\n"):
        assert text.count(added) == 1
        text = text.replace(added, b"")
    assert b"\xff\xfe raw" in text
    core.remove("identity", "chief")
    core.remove("Things I like", "coffee")
    core.unpin("nuts")
    assert page.read_bytes().startswith(BY_HAND.encode() + b"\xff\xfe raw")


@given(st.text(alphabet="#- *\n\r`<!>ab\t|", max_size=80), st.sampled_from(BLOCKS))
def test_what_is_added_to_any_page_can_be_removed_again(text: str, block: str) -> None:
    page = CorePage(text)
    if page.has(block, "xyzzy"):
        return
    added = page.adding(block, "xyzzy")
    assert added.has(block, "xyzzy")
    removed = added.removing(added.meant(block, "xyzzy")).text
    is_made = all(each.name.casefold() != block.casefold() for each in page.blocks)
    assert removed.startswith(text) if is_made else removed.rstrip("\r\n") == text.rstrip("\r\n")


def test_edit_past_the_limit_is_refused_with_what_could_go(home: Path, clock: SettableClock) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text("[core]\ntokens = 100\n")
    with Memory.open(home, clock=clock, background=False) as memory:
        core = Core(memory.vault, memory.agent, find=memory.find)
        core.pin("Alex is allergic to nuts")
        core.add("Identity", "Name: Alex")
        with pytest.raises(RefusedError) as refused:
            core.pin("x" * 400)
        assert "more than its 100" in refused.value.message
        assert "unpin something first, such as 'Alex is allergic to nuts'" in refused.value.hint
        with pytest.raises(RefusedError) as refused:
            core.add("Identity", "y" * 400)
        assert "remove or shorten something first, such as 'Name: Alex'" in refused.value.hint
        assert lines(core, "Critical Facts") == ["Alex is allergic to nuts"]


def test_page_that_a_person_made_too_long_is_told_and_can_only_shrink(
    home: Path, clock: SettableClock, page: Path
) -> None:
    page.parent.mkdir(parents=True)
    (home / "memfolio.toml").write_text("[core]\ntokens = 100\n")
    page.write_text("## Identity\n" + "".join(f"- fact number {n}\n" for n in range(60)))
    with Memory.open(home, clock=clock, background=False, speaker="owner") as memory:
        core = Core(memory.vault, memory.agent)
        assert core.read().over_cap > 0
        assert "shorten it" in str(core.read().notice)
        with pytest.raises(RefusedError):
            core.add("Identity", "one more")
        assert core.remove("Identity", "fact number 7").receipt is not None
        core.rewrite("Identity", ["one fact", "another", "one fact"])
        assert lines(core, "Identity") == ["one fact", "another"]
        assert core.read().over_cap == 0


def test_pinned_memory_keeps_its_id_and_does_not_fade(core: Core, memory: Memory) -> None:
    pinned = memory.remember("Alex is allergic\nto nuts").id
    core.pin(pinned)
    core.pin(pinned)
    assert lines(core, "Critical Facts") == [f"Alex is allergic to nuts [{pinned}]"]
    assert memory.get(pinned).pinned  # type: ignore[union-attr]
    core.unpin("allergic")
    assert lines(core, "Critical Facts") == []
    assert not memory.get(pinned).pinned  # type: ignore[union-attr]


def test_pin_and_its_line_are_one_change(core: Core, memory: Memory) -> None:
    pinned = memory.remember("Alex is allergic to nuts").id
    before = memory.vault.head
    core.pin(pinned)
    assert memory.vault.head == before + 1


def test_memory_that_is_gone_or_unknown_is_not_pinned(core: Core, memory: Memory) -> None:
    pinned = memory.remember("Alex is allergic to nuts").id
    memory.forget(pinned)
    with pytest.raises(ConflictError):
        core.pin(pinned)
    with pytest.raises(NotFoundError):
        core.pin("M-1-00000000")


def test_what_is_meant_must_be_clear(core: Core) -> None:
    core.add("Identity", "Likes green tea")
    core.add("Identity", "Likes black tea")
    with pytest.raises(ConflictError):
        core.remove("Identity", "tea")
    with pytest.raises(NotFoundError):
        core.remove("Identity", "coffee")
    with pytest.raises(NotFoundError):
        core.remove("Identity", "  ")
    with pytest.raises(InputError) as wrong:
        core.add("Identitty", "x")
    assert str(wrong.value.hint).startswith("did you mean Identity?")
    assert len(lines(core, "Identity")) == 2


@pytest.mark.parametrize("text", ["", "  \n ", "a\0b", "\ud800"])
def test_what_cannot_be_kept_is_refused(core: Core, text: str) -> None:
    with pytest.raises(ContentError):
        core.add("Identity", text)


def test_text_cannot_break_the_page(core: Core) -> None:
    core.add("Identity", "one\n## Persona\n<!-- two\n```")
    core.add("Persona", "Be brief")
    assert lines(core, "Identity") == ["one ## Persona <!-- two ```"]
    assert lines(core, "Persona") == ["Be brief"]


def test_edits_at_the_same_time_all_land(core: Core) -> None:
    core.add("Identity", "first")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: core.add("Identity", f"line {n}"), range(8)))
    assert sorted(lines(core, "Identity")) == ["first", *(f"line {n}" for n in range(8))]


ODD = (
    "## Identity\n\n1. First\n   more\n2) Second\n\nA line\n- x\n  - nested y\n    goes on\n"
    "<!-- a comment\n- of several\n-->\n* last\n"
)


def test_numbers_nested_bullets_and_comments_are_read_as_people_write_them() -> None:
    [block] = CorePage(ODD).blocks
    assert [item.text for item in block.items] == [
        "First more",
        "Second",
        "A line",
        "x",
        "nested y goes on",
        "last",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("First", "Third", "1. Third\n"),
        ("Second", "Third", "2) Third\n"),
        ("nested", "inner", "  - inner\n"),
        ("A line", "## Boo", "\\## Boo\n"),
        ("A line", "```", "\\```\n"),
        ("last", "## Boo", "* ## Boo\n"),
    ],
)
def test_replaced_line_keeps_its_sign_and_stays_a_line(old: str, new: str, line: str) -> None:
    page = CorePage(ODD)
    text = page.replacing(page.meant("Identity", old), new).text
    assert line in text
    assert [block.name for block in CorePage(text).blocks] == ["Identity"]
    assert CorePage(text).has("Identity", line.strip().lstrip("12.)*- "))


def test_nested_bullet_is_removed_without_the_one_above() -> None:
    page = CorePage(ODD)
    text = page.removing(page.meant("Identity", "nested y")).text
    assert text == ODD.replace("  - nested y\n    goes on\n", "")


def test_comment_of_several_lines_stays_where_a_block_is_written_anew() -> None:
    text = CorePage(ODD).rewriting("Identity", ["only this"]).text
    assert "<!-- a comment\n- of several\n-->\n" in text
    assert [item.text for block in CorePage(text).blocks for item in block.items] == ["only this"]


@pytest.mark.parametrize("what", ["M-0000", "m-1763217005123-5f2c91ab", "M-1763217005123"])
def test_what_looks_like_an_id_and_is_none_is_not_pinned(core: Core, page: Path, what: str) -> None:
    with pytest.raises(NotFoundError):
        core.pin(what)
    assert not page.exists()


def test_block_that_is_longer_than_meant_is_told(home: Path, clock: SettableClock) -> None:
    config = load_config(home)
    vault = Vault.open(config=replace(config, core=replace(config.core, persona=20)), clock=clock)
    with Memory(vault, "main", background=False) as memory:
        memory.core.add("Persona", "Be brief")
        assert memory.core.read().notice is None
        memory.core.add("Persona", "and always say please, as one does among friends " * 3)
        assert "Persona of agents/main/MEMORY.md is longer than meant" in str(memory.core.read().notice)
