"""What two months of ordinary talk leave on the pages of a home, without a model."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock

TURNS = [json.loads(line) for line in Path(__file__).with_name("two_months.jsonl").read_text("utf-8").splitlines()]
TENDED = ("s14-2026-10-02", "s24-2026-10-17", "s33-2026-10-30")
"""The conversations after which somebody tends the home, besides the last one."""
SMALL_TALK = (
    " lol",
    "haha",
    "cried",
    "don't tell",
    "forearms",
    "in the sink",
    "a siren",
    "tiredness",
    "so far, mostly",
)
_UNTOLD = re.compile(r"^## [^\n]+\n+(?=## |\Z)", re.MULTILINE)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("two-months") / "home"
    clock = SettableClock(datetime.fromisoformat(TURNS[0]["at"]))
    with Memory.open(home, background=False, clock=clock) as memory:
        for session, turns in groupby(TURNS, key=lambda turn: turn["session"]):
            said = [{**turn, "at": datetime.fromisoformat(turn["at"])} for turn in turns]
            clock.set(said[-1]["at"])
            memory.observe_many(
                {name: each[name] for name in ("role", "at", "session")} | {"content": each["text"]} for each in said
            )
            memory.end_session(session)
            if session in TENDED:
                memory.tend()
        clock.set(clock.now() + timedelta(days=1))
        memory.tend()
    return home / "agents/main"


def pages(agent: Path, *folders: str) -> dict[str, str]:
    return {page.name: page.read_text("utf-8") for each in folders for page in sorted((agent / each).glob("*.md"))}


def test_small_talk_is_quoted_nowhere(agent: Path) -> None:
    written = pages(agent, "memory/weekly", "memory/monthly", "memory/quarterly", "memory/graph/entities", "mind", ".")
    assert len(written) > 20
    assert not [(name, said) for name, text in written.items() for said in SMALL_TALK if said in text]


def test_moved_date_is_told_as_it_is_and_with_what_it_was(agent: Path) -> None:
    month = pages(agent, "memory/monthly")["2026-10.md"]
    assert "The launch is on 24 November now (before: The launch is on 3 November now)" in month
    assert "The launch is on 3 November now (before: The launch is on 20 October; later:" in month
    assert "don't launch" not in month


def test_weekly_habit_that_is_named_by_its_day_is_a_pattern(agent: Path) -> None:
    assert "“bouldering” comes up on Wednesdays" in "\n".join(pages(agent, "memory/weekly").values())


def test_release_told_twice_in_prose_is_a_procedure_with_all_its_steps(agent: Path) -> None:
    (page,) = pages(agent, "memory/procedures").values()
    assert "# Release\n" in page
    assert re.findall(r"^\d+\. (\w+)", page, re.MULTILINE) == ["Bump", "Run", "Tag", "Deploy", "Watch", "Roll", "Post"]


def test_reminder_that_is_done_is_over_and_that_of_which_nobody_spoke_is_not(agent: Path) -> None:
    text = "\n".join(page.read_text("utf-8") for page in sorted(agent.rglob("Intentions.md")))
    told = {part.split(" ^")[0][:60]: part for part in text.split("\n## ")[1:]}
    states = {name: re.search(r"status: (\w+)", part) for name, part in told.items()}
    found = {name: state[1] for name, state in states.items() if state}
    assert [state for name, state in found.items() if "Ziggo" in name] == ["done"]
    assert [state for name, state in found.items() if "register" in name] == ["done"]
    assert [state for name, state in found.items() if "present" in name] == ["stalled"]


def test_pages_of_people_and_pets_tell_something_and_have_no_empty_section(agent: Path) -> None:
    entities = pages(agent, "memory/graph/entities")
    assert {"person--bram.md", "person--soraya.md", "animal--knoedel.md"} < set(entities)
    assert not [name for name, text in entities.items() if "\n- " not in text or _UNTOLD.search(text)]
    assert "is called Knoedel" in entities["animal--knoedel.md"]


def test_user_page_tells_what_lasts(agent: Path) -> None:
    about, _, rest = pages(agent, ".")["USER.md"].partition("## Preferences")
    assert "carry an EpiPen" in about
    assert "no bullet points" in rest
    assert not re.search(r"bumped|will go alone|decided to go", about)


def test_themes_are_no_days(agent: Path) -> None:
    themes = "".join(
        part
        for text in pages(agent, "memory/weekly", "memory/monthly").values()
        for part in text.split("\n## ")
        if part.startswith("Key Themes")
    )
    assert "Bram" in themes
    assert not re.search(r"(?i)^- \w*(?:day|october|november)\b", themes, re.MULTILINE)
