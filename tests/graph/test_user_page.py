"""USER.md: what memfolio keeps there, and what a person writes beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock

USER = "agents/main/USER.md"


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory.open(home, background=False) as memory:
        yield memory


def told(memory: Memory, *texts: str, session: str) -> None:
    for text in texts:
        memory.observe("user", text, session=session)
    memory.end_session(session)
    memory.tend(jobs=["graph"])


def test_what_is_known_about_the_user_stands_in_a_part_of_its_own(memory: Memory, home: Path) -> None:
    told(memory, "I live in Leeds.", "I prefer tea to coffee.", session="s-1")
    text = (home / USER).read_text()
    assert text.startswith("# User\n\n<!-- memfolio:begin")
    assert "## About the user\n\n- The user lives in Leeds (M-" in text
    assert "## Preferences\n\n- The user prefers tea to coffee (M-" in text
    assert memory.alerts() == []


def test_lines_of_a_person_stay_and_are_found(memory: Memory, home: Path) -> None:
    told(memory, "I live in Leeds.", session="s-1")
    page = home / USER
    page.write_text(page.read_text().replace("# User\n", "# User\n\nCall me Nu, and write in British English.\n"))
    told(memory, "I play the oboe every Thursday.", session="s-2")
    text = page.read_text()
    assert "Call me Nu, and write in British English." in text
    assert "oboe" in text
    assert "British English" in memory.recall("Which English should I write?")[0].memory.content


def test_part_that_a_person_edited_is_left_alone(memory: Memory, home: Path) -> None:
    told(memory, "I live in Leeds.", session="s-1")
    page = home / USER
    page.write_text(page.read_text().replace("lives in Leeds", "lives in Leeds, Headingley"))
    told(memory, "I prefer tea to coffee.", session="s-2")
    assert "Headingley" in page.read_text()
    assert "tea" not in page.read_text()


def test_what_is_forgotten_leaves_the_page(memory: Memory, home: Path) -> None:
    told(memory, "I live in Leeds.", "I prefer tea to coffee.", session="s-1")
    (cited,) = re.findall(r"lives in Leeds \((M-[^)]+)\)", (home / USER).read_text())
    memory.forget(cited)
    assert "Leeds" not in (home / USER).read_text()
    assert "tea" in (home / USER).read_text()


def test_person_who_speaks_under_a_name_is_the_user(memory: Memory, home: Path) -> None:
    for text in ("I live in Leeds.", "I prefer tea to coffee.", "I met Priya Nair.", "I saw Priya Nair at the fair."):
        memory.observe("user", text, session="s-1", user="alex")
    memory.observe("assistant", "Noted.", session="s-1", user="alex")
    memory.end_session("s-1")
    memory.tend(jobs=["graph"])
    text = (home / USER).read_text()
    assert "## About the user\n\n- alex lives in Leeds (M-" in text
    assert "## Preferences\n\n- alex prefers tea to coffee (M-" in text
    page = (home / "agents/main/memory/graph/entities/person--priya-nair.md").read_text()
    assert "alex: I saw Priya Nair at the fair (M-" in page


def test_of_several_people_with_names_none_is_the_user(memory: Memory, home: Path) -> None:
    memory.observe("user", "I live in Leeds.", session="s-1", user="alex")
    memory.observe("user", "I live in York.", session="s-1", user="kim")
    memory.end_session("s-1")
    memory.tend(jobs=["graph"])
    assert not (home / USER).exists()


def test_what_one_of_several_people_said_for_themselves_is_quoted_nowhere(memory: Memory, home: Path) -> None:
    for text in ("I met Priya Nair.", "I saw Priya Nair at the fair."):
        memory.observe("user", text, session="s-1", user="alex")
    memory.observe("user", "I had tea with Priya Nair.", session="s-2", user="kim", audience="all")
    memory.end_session("s-1")
    memory.end_session("s-2")
    memory.tend(jobs=["graph"])
    page = (home / "agents/main/memory/graph/entities/person--priya-nair.md").read_text()
    assert "kim: I had tea with Priya Nair (M-" in page
    assert "fair" not in page


def test_what_the_user_did_long_ago_is_not_lately(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, background=False, clock=clock) as memory:
        told(memory, "I live in Leeds.", "I booked the train to Sheffield.", session="s-1")
        assert "booked the train" in (home / USER).read_text()
        clock.advance(days=40)
        told(memory, "I booked a table at the Waldhaus.", session="s-2")
    text = (home / USER).read_text()
    assert "lives in Leeds" in text
    assert "Waldhaus" in text
    assert "train" not in text


def test_somebody_who_has_a_page_is_recognised_by_a_first_name_alone(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, background=False, clock=clock) as memory:
        told(memory, "My daughter Lene is eleven.", session="s-1")
        clock.advance(days=1)
        told(memory, "Yesterday Lene was stung by a wasp.", session="s-2")
    assert "stung by a wasp" in (home / "agents/main/memory/graph/entities/person--lene.md").read_text()


def test_user_who_says_their_name_is_nobody_else(memory: Memory, home: Path) -> None:
    told(memory, "I'm Keziah.", session="s-1")
    assert not (home / "agents/main/memory/graph/entities/person--keziah.md").exists()


def test_what_somebody_planned_for_a_day_is_dated_and_leaves_their_summary(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, background=False, clock=clock) as memory:
        told(memory, "Hugo works at the mill.", "Hugo is coming on friday with the new boiler.", session="s-1")
        page = home / "agents/main/memory/graph/entities/person--hugo.md"
        assert re.search(r"Hugo is coming on \d+ \w+ \d{4} with the new boiler", page.read_text())
        clock.advance(days=12)
        told(memory, "Hugo speaks Welsh.", "Is Hugo at home?", session="s-2")
        summary = page.read_text().partition("## Summary")[2].partition("##")[0]
        assert "Welsh" in summary
        assert "boiler" not in summary
