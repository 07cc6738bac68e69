"""Reminders that somebody asks for in a conversation: when they come up, and what ends them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.index.mind_pages import ItemStatus, MindItem
from memfolio.recall.dates import upcoming

MONDAY = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)


class Life:
    """A home in which one person talks, a conversation at a time."""

    def __init__(self, home: Path) -> None:
        self.clock = SettableClock(MONDAY)
        self.memory = Memory.open(home, clock=self.clock, background=False)
        self.count = 0

    def say(self, *said: str, at: datetime = MONDAY) -> None:
        self.clock.set(at)
        self.count += 1
        for each in said:
            self.memory.observe("user", each, session=f"talk-{self.count}", user="Nadia")
        self.clock.set(self.clock.now() + timedelta(minutes=2))
        self.memory.end_session(f"talk-{self.count}")

    @property
    def reminder(self) -> MindItem:
        [item] = self.memory.mind.items("intention", live=False)
        return item


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    life = Life(tmp_path / "home")
    yield life
    life.memory.close()


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("before 20 March", "2026-03-19"),
        ("before the 20th", "2026-03-19"),
        ("until 20 March", "2026-03-20"),
        ("by the 20th", "2026-03-20"),
        ("on the 1st", "2026-04-01"),
        ("before Friday", "2026-03-05"),
        ("after 20 March", "2026-03-21"),
        ("in May", "2026-05-01"),
        ("by the end of May", "2026-05-31"),
        ("by the end of March", "2026-03-31"),
        ("before the end of the month", "2026-03-31"),
        ("by the end of this week", "2026-03-08"),
        ("tonight", "2026-03-02T18:00"),
    ],
)
def test_times_ahead_are_read_with_what_stands_before_them(said: str, day: str) -> None:
    expected = datetime.fromisoformat(day).replace(tzinfo=UTC)
    assert upcoming(f"return the library books {said}", MONDAY, UTC) == expected


def test_reminder_for_before_a_day_comes_up_the_day_before_its_deadline(life: Life) -> None:
    life.say("Remind me to hand in the tax form before 20 March.")
    for day, count in ((17, 0), (18, 1), (19, 1)):
        due = life.memory.mind.due(now=datetime(2026, 3, day, 8, tzinfo=UTC))
        assert len(due) == count, day


def test_reminder_for_tonight_waits_for_the_evening_and_is_shown_whole(life: Life) -> None:
    life.say("Remind me tonight to print the boarding passes and to pack the grey charger and both inhalers.")
    life.clock.set(MONDAY + timedelta(hours=1))
    assert life.memory.mind.due() == []
    life.clock.set(MONDAY.replace(hour=19))
    assert "both inhalers" in (life.memory.context("what is next?") or "")


def test_what_somebody_must_do_by_a_day_comes_up_too(life: Life) -> None:
    life.say("I have to send Jorge the floor plan by Thursday.")
    assert [each.item.says for each in life.memory.mind.due(now=datetime(2026, 3, 4, 8, tzinfo=UTC))] == [
        "Nadia has to send Jorge the floor plan by Thursday"
    ]


def test_what_is_owed_on_a_day_waits_until_it_is_done(life: Life) -> None:
    life.say("I have to call Jorge on Thursday.")
    life.clock.set(datetime(2026, 3, 6, 4, tzinfo=UTC))
    life.memory.tend()
    assert len(life.memory.mind.due()) == 1


def test_plan_for_a_day_is_not_told_when_that_is_over(life: Life) -> None:
    life.say("I will do a dinner for everybody on Thursday at home.")
    assert len(life.memory.mind.due(now=datetime(2026, 3, 5, 8, tzinfo=UTC))) == 1
    life.clock.set(datetime(2026, 3, 6, 4, tzinfo=UTC))
    life.memory.tend()
    assert life.memory.mind.due() == []


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("I rang the plumber this morning, so that's sorted.", ItemStatus.DONE),
        ("I called the plumber about the leak.", ItemStatus.DONE),
        ("Called the plumber about the leak.", ItemStatus.DONE),
        ("And finally called the plumber about the leak.", ItemStatus.DONE),
        ("Just called the plumber, he's coming.", ItemStatus.DONE),
        ("The plumber has fixed the leak. That one is ticked off too.", ItemStatus.DONE),
        ("The plumber is coming. You can drop that reminder.", ItemStatus.DROPPED),
        ("My landlord says forget the plumber, the leak is his job.", ItemStatus.DROPPED),
        ("The plumber for the leak is no longer needed.", ItemStatus.DROPPED),
        ("The plumber isn't needed any more for the leak.", ItemStatus.DROPPED),
    ],
)
def test_reminder_ends_when_somebody_says_that_it_is_done(life: Life, said: str, status: ItemStatus) -> None:
    life.say("Remind me on Wednesday to call the plumber about the leak.")
    life.say(said, at=MONDAY + timedelta(days=1))
    assert life.reminder.status is status
    assert str(life.reminder.fields["reason"]).startswith("said on 2026-03-03: ")
    task = next(each for each in life.memory.recall("plumber", types=["task"]) if each.memory.id.startswith("M-"))
    assert task.memory.valid_until is not None


def test_verb_without_an_object_ends_the_reminder_that_has_it(life: Life) -> None:
    life.say("We must register with the municipality within five days, remind me on Wednesday.")
    life.say("Registered for the yoga course, done.", at=MONDAY + timedelta(days=1))
    assert life.reminder.is_live
    life.say("registered online, done, ten minutes", at=MONDAY + timedelta(days=2))
    assert life.reminder.status is ItemStatus.DONE


def test_rent_that_is_paid_ends_a_reminder_for_the_end_of_the_month(life: Life) -> None:
    life.say("remind me to pay the garage rent before the end of the month, it's 64 pounds and they get cross")
    life.say("paid the garage, with two hours to spare", at=MONDAY + timedelta(days=1))
    assert life.reminder.status is ItemStatus.DONE


def test_reason_given_with_a_reminder_does_not_keep_it_from_ending(life: Life) -> None:
    life.say("Remind me to renew Noor's visa before 20 March, we're flying to Oslo at Easter.")
    life.say("Visa is done, I posted the papers yesterday.", at=MONDAY + timedelta(days=1))
    assert life.reminder.status is ItemStatus.DONE


@pytest.mark.parametrize(
    "said",
    [
        "I haven't called the plumber about the leak yet.",
        "Should I say that the plumber is done?",
        "I called my sister about the wedding.",
        "Tom called the plumber about his leak.",
        "A leak called the plumber's nightmare.",
        "Almost called the plumber about the leak.",
        "The wedding cake is sorted.",
        "Don't forget the plumber and the leak.",
        "We skip the plumber's party.",
        "I might cancel the plumber if the leak stops.",
    ],
)
def test_reminder_stays_while_nobody_says_that_it_is_done(life: Life, said: str) -> None:
    life.say("Remind me on Wednesday to call the plumber about the leak.")
    life.say(said, at=MONDAY + timedelta(days=1))
    assert life.reminder.is_live


def test_reminder_that_nobody_ends_says_when_it_came_up(life: Life) -> None:
    life.say("Remind me on Wednesday to call the plumber about the leak.")
    life.clock.set(MONDAY + timedelta(days=12))
    life.memory.tend()
    assert life.reminder.status is ItemStatus.STALLED
    assert str(life.reminder.fields["reason"]).startswith("it came up on 2026-03-04")


@pytest.mark.parametrize("which", ["M-", "I-"])
def test_correcting_either_form_of_a_reminder_ends_it(life: Life, which: str) -> None:
    asked = life.memory.observe("user", "Remind me to book the piano tuner by Friday.", session="a", user="Nadia")
    told = {"text": "Nadia wants to be reminded to book the piano tuner", "type": "task", "turns": [asked.id]}
    life.memory.learn([{**told, "due": "2026-03-06"}], through=asked.id)
    life.clock.set(MONDAY + timedelta(days=1))
    done = life.memory.observe("user", "The piano tuner comes on the 9th.", session="b", user="Nadia")
    known = [each.id for each in life.memory.learn().known]
    assert len(known) == 1
    ids = [known[0], life.reminder.id]
    corrected = next(each for each in ids if each.startswith(which))
    fix = {"text": "The piano tuner comes on 9 March", "type": "fact", "turns": [done.id], "corrects": corrected}
    assert not life.memory.learn([fix], through=done.id).refused
    assert life.reminder.status is ItemStatus.DONE
