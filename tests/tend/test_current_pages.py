"""USER.md and core memory say what holds, with dates for days, and not what comes up by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.tend.extract import stands_alone

MONDAY = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)


class Life:
    def __init__(self, home: Path) -> None:
        self.home, self.clock = home, SettableClock(MONDAY)
        self.memory = Memory.open(home, clock=self.clock, background=False)

    def say(self, *said: str) -> None:
        session = f"s{self.clock.now():%d%H}"
        for each in said:
            self.memory.observe("user", each, session=session, user="Nadia")
        self.clock.set(self.clock.now() + timedelta(minutes=2))
        self.memory.end_session(session)

    def pass_days(self, days: int) -> None:
        self.clock.set(self.clock.now() + timedelta(days=days))
        self.memory.tend()

    def user_page(self) -> str:
        self.memory.tend()
        return (self.memory.vault.content("agents/main/USER.md") or b"").decode()


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    life = Life(tmp_path / "home")
    yield life
    life.memory.close()


def test_user_page_names_dates_and_leaves_out_what_is_over(life: Life) -> None:
    life.say("I live in Arnhem.", "Remind me tomorrow to call the plumber about the leak.")
    assert "reminded on 3 March 2026 to call the plumber" in life.user_page()
    life.pass_days(2)
    assert "plumber" not in life.user_page()
    assert "Nadia lives in Arnhem" in life.user_page()


def test_user_page_leaves_out_a_reminder_that_is_done(life: Life) -> None:
    life.say("I live in Arnhem.", "Remind me by Friday to call the plumber about the leak.")
    assert "plumber" in life.user_page()
    life.clock.set(MONDAY + timedelta(days=1))
    life.say("I called the plumber about the leak.")
    assert "plumber" not in life.user_page()


def test_reminders_and_relative_days_stay_out_of_core_memory_and_coming_days_enter(life: Life) -> None:
    life.say(
        "Remind me tonight to call the plumber about the leak.",
        "We decided to paint the hall tomorrow.",
        "The opening of the workshop is on 20 March.",
    )
    page = life.memory.reflect()
    assert page is not None
    pending = life.memory.reflections.pending()
    core = "" if pending is None else pending.text.partition("Core Memory Changes")[2]
    assert "+ The opening of the workshop is on 20 March" in core
    assert "plumber" not in core
    assert "tomorrow" not in core


@pytest.mark.parametrize(
    "text",
    [
        "Nadia wants the assistant to use metric units",
        "For recipes, Nadia wants metric units",
        "Nadia wants metric units",
    ],
)
def test_preference_of_the_agent_reaches_user_page_and_persona_in_any_words(life: Life, text: str) -> None:
    said = life.memory.observe("user", "Use metric units for recipes, will you?", session="a", user="Nadia")
    assert not life.memory.learn([{"text": text, "type": "preference", "turns": [said.id]}], through=said.id).refused
    assert text in life.user_page().partition("## Preferences")[2]
    life.memory.reflect()
    pending = life.memory.reflections.pending()
    assert pending is not None
    assert f"+ {text}" in pending.text


@pytest.mark.parametrize(
    ("said", "days", "is_told"),
    [
        ("I have to wear a splint for three weeks.", 20, True),
        ("I have to wear a splint for three weeks.", 22, False),
        ("I'm on antibiotics for ten days.", 12, False),
        ("I can't drive for another two weeks.", 16, False),
        ("I've got an appointment with the optician on 9 March.", 6, True),
        ("I've got an appointment with the optician on 9 March.", 9, False),
        ("I'm allergic to penicillin.", 300, True),
        ("I have worked for Siemens for three months.", 200, True),
        ("I've been vegetarian for two weeks.", 30, True),
        ("My birthday is on 9 March.", 20, True),
        ("I live in Arnhem since 3 March.", 20, True),
    ],
)
def test_user_page_tells_what_lasts_a_time_no_longer_than_that(life: Life, said: str, days: int, is_told: bool) -> None:
    life.say("I like tea.", said)
    assert life.user_page().count("\n- ") == 2
    life.pass_days(days)
    assert life.user_page().count("\n- ") == 1 + is_told


def test_page_of_somebody_says_who_they_are(life: Life) -> None:
    life.say("The vet is Dr Okonjo at Mill Road.", "Our choir's conductor is Marit Dahl.")
    life.memory.tend(jobs=["graph"])
    pages = life.home / "agents/main/memory/graph/entities"
    assert "- The vet is Dr Okonjo at Mill Road (M-" in (pages / "person--okonjo.md").read_text("utf-8")
    assert "conductor is Marit Dahl (M-" in (pages / "person--marit-dahl.md").read_text("utf-8")


def test_who_is_back_is_not_away_any_more(life: Life) -> None:
    life.say("Lorcan is off sick.", "My sister Ida is off work until May.")
    life.pass_days(7)
    life.say("Lorcan is back.")
    life.memory.tend(jobs=["graph"])
    pages = life.home / "agents/main/memory/graph/entities"
    assert "- Lorcan is off sick" not in (pages / "person--lorcan.md").read_text("utf-8").partition("Mentions")[0]
    assert "is off work" in (pages / "person--ida.md").read_text("utf-8")


def test_digest_tells_events_beside_a_decision_of_the_same_turn(life: Life) -> None:
    life.say("The bank has withdrawn its offer. We decided to wait until May.", "I live in Arnhem.")
    life.pass_days(8)
    life.memory.digest(["weekly"])
    page = (life.home / "agents/main/memory/weekly/2026-W10.md").read_text("utf-8")
    assert "## Happened\n\n- [[2026-03-02]] The bank has withdrawn its offer (M-" in page


@pytest.mark.parametrize(
    "said",
    [
        "Not yet, I'll tell Ida this afternoon at the rehearsal.",
        "Two for the mounting, one for the light levels, one for reports.",
        "My left wrist hurts a lot again though.",
        "The invitations for Leeds have to be reprinted though, that's for Ida.",
        "Still waiting for the answer of the council in Leeds.",
    ],
)
def test_digest_quotes_nothing_that_hangs_on_what_was_said_before(said: str) -> None:
    assert not stands_alone(said)


@pytest.mark.parametrize(
    "said",
    [
        "Two builders came to look at the roof in Leeds.",
        "The council answered, although the clerk in Leeds is ill.",
        "Either Ida or Marit brings the music stands on Monday.",
        "After all the trouble with the roof we moved to Leeds.",
        "The reports about the light levels are ready for Ida.",
    ],
)
def test_digest_quotes_what_stands_alone(said: str) -> None:
    assert stands_alone(said)


def test_page_of_somebody_has_dates_for_days_that_were_named_from_a_day(life: Life) -> None:
    life.say("My sister Tabitha is visiting from Leeds next weekend.", "My brother Ole starts at Bosch tomorrow.")
    life.memory.tend(jobs=["graph"])
    pages = life.home / "agents/main/memory/graph/entities"
    assert "on the weekend of 14 March 2026 (M-" in (pages / "person--tabitha.md").read_text("utf-8")
    assert "starts at Bosch on 3 March 2026 (M-" in (pages / "person--ole.md").read_text("utf-8")
