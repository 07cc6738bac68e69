"""What a person asks for: what changed, why something was said, and to forget everything about somebody."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import InputError, Memory, NotFoundError
from memfolio.clock import SettableClock
from memfolio.govern.account import Changes, is_about
from memfolio.serve.cli.call import PERSON

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def groups(found: Changes) -> dict[str, list[str]]:
    return {each.deed: [entry.summary for entry in each.newest] for each in found.groups}


def test_changes_are_told_by_what_was_done_for_a_week_or_another_time(home: Path) -> None:
    clock = SettableClock(START)
    with Memory.open(home, clock=clock, background=False, speaker="owner") as memory:
        tea = memory.remember("Alex prefers tea")
        clock.advance(days=6)
        memory.observe("user", "Kim lives in Berlin", session="s")
        memory.correct(tea.id, "Alex prefers coffee")
        clock.advance(days=3)
        memory.facts.assert_("Kim", "likes", "bees")
        memory.forget(memory.remember("The bins go out on Monday").id)
        found = memory.account.changed()
        assert groups(found) == {
            "remembered": ["The bins go out on Monday"],
            "said": ["Kim lives in Berlin"],
            "known": ["assert Kim likes bees"],
            "changed": ["correct Alex prefers coffee"],
            "forgotten": ["forget The bins go out on Monday"],
        }
        assert found.count == 5
        assert (found.since, found.until) == (clock.now() - 7 * DAY, clock.now())
        early = memory.account.changed(since=START - DAY, until=START + DAY)
        assert groups(early)["remembered"] == ["Alex prefers tea"]
        assert memory.account.changed(since=START - 2 * DAY, until=START - DAY).count == 0
        assert memory.account.changed(limit=0).count == 5
        with pytest.raises(InputError):
            memory.account.changed(since=START, until=START - DAY)


def test_changes_of_more_than_one_page_are_all_counted(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for number in range(230):
            memory.observe("user", f"turn {number}", session="s")
        [said] = [each for each in memory.account.changed(limit=2).groups if each.deed == "said"]
        assert (said.count, [each.summary for each in said.newest]) == (230, ["turn 229", "turn 228"])


def test_why_names_who_said_it_and_what_it_was_before(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        tea = memory.remember("Alex prefers tea")
        coffee = memory.correct(tea.id, "Alex prefers coffee")
        [found] = memory.account.why("I made coffee, since Alex prefers coffee").memories
        assert found.memory.id == coffee.id
        assert [each.id for each in found.supersedes] == [tea.id]
        assert next(event.deed for event in found.events) == "written"
        cited = memory.account.why(f"You like tea [{tea.id}]")
        assert [each.memory.id for each in cited.memories] == [tea.id]
        assert memory.account.why("The moon is made of cheese").memories == ()


def test_question_asked_before_is_not_why_something_was_said(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("Kim prefers calls in the morning")
        for number in range(4):
            memory.observe("user", "Does Priya like jazz?", session=f"s-{number}")
        assert "Does Priya like jazz?" in [hit.memory.content for hit in memory.recall("Priya likes jazz")]
        assert memory.account.why("Priya likes jazz").memories == ()
        told = memory.observe("user", "Priya likes jazz more than anything", session="t")
        assert [each.memory.id for each in memory.account.why("Priya likes jazz").memories] == [told.id]


def test_everything_about_somebody_is_forgotten_and_can_be_taken_back(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("Kim keeps bees on the roof")
        memory.remember("Alex met Kim in Bergen")
        memory.remember("Alex prefers tea")
        memory.facts.assert_("Kim", "likes", "honey")
        memory.facts.assert_("Alex", "knows", "Kim")
        (home / "agents/main/USER.md").write_text("Kim is a friend.\n", encoding="utf-8")
        memory.sync()
        shown = memory.account.forget_about("Kim", dry_run=True)
        assert (len(shown.memories), len(shown.facts), shown.seqs) == (2, 2, ())
        assert shown.pages == ("agents/main/USER.md",)
        assert memory.recall("bees")
        done = memory.account.forget_about("Kim")
        left = {hit.memory.content for hit in memory.recall("Kim", limit=20)}
        assert left <= {"Kim is a friend.", "Alex prefers tea"}
        assert memory.facts.query(subject="Kim") == []
        assert (home / "agents/main/USER.md").read_text() == "Kim is a friend.\n"
        memory.audit.undo(done.seqs, by=PERSON)
        assert {"Kim keeps bees on the roof", "Alex met Kim in Bergen"} <= {
            hit.memory.content for hit in memory.recall("Kim", limit=20)
        }
        with pytest.raises(NotFoundError):
            memory.account.forget_about("Nobody in particular")


def test_more_memories_than_a_description_may_mean_are_forgotten_at_once(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.observe_many([{"role": "user", "content": f"Kim said {n}", "session": "s"} for n in range(150)])
        assert len(memory.account.forget_about("Kim").memories) == 150
        assert memory.recall("Kim") == []


def test_agent_is_shown_what_would_go_until_the_person_agreed(home: Path) -> None:
    with Memory.open(home, background=False, speaker="agent") as memory:
        memory.remember("Kim keeps bees")
        shown = memory.account.forget_about("Kim")
        assert "agree" in shown.hint
        assert memory.recall("bees")
        memory.account.forget_about("Kim", confirmed=True)
        assert not memory.recall("bees")


def test_what_is_on_the_same_subject_is_not_why_something_was_said(home: Path) -> None:
    known = (
        *("Alex prefers tea to coffee", "Kim keeps bees on the roof", "Robin plays the cello", "Backup runs at 3 am"),
        *("The launch is on Thursday, once the contract is signed", "Tom is on parental leave until January"),
        *("The meeting room is booked under Ops", "Alex moved to Bergen last spring", "Sam sings in a choir"),
    )
    with Memory.open(home, background=False) as memory:
        for text in known:
            memory.remember(text)
        memory.sync(embed=True)
        for said, reason in {
            "Alex lives in Bergen": "Alex moved to Bergen last spring",
            "Tom is away until January": "Tom is on parental leave until January",
            "The launch will be on Thursday": "The launch is on Thursday, once the contract is signed",
        }.items():
            assert [each.memory.content for each in memory.account.why(said).memories] == [reason]
        for said in ("Alex has two children", "Tea contains caffeine", "The meeting starts at ten", "Tom likes jazz"):
            assert memory.account.why(said).memories == (), said
        memory.observe("assistant", "Alex has two children, as far as I know", session="s-1")
        assert memory.account.why("Alex has two children").memories == ()


def test_time_of_changes_may_be_named_in_words(home: Path) -> None:
    clock = SettableClock(START)
    with Memory.open(home, clock=clock, background=False, speaker="owner") as memory:
        memory.remember("Alex prefers tea")
        clock.advance(days=1)
        memory.remember("Kim keeps bees")

        def kept(when: str) -> list[str]:
            return groups(memory.account.changed(when=when)).get("remembered", [])

        assert kept("yesterday") == ["Alex prefers tea"]
        assert kept("today") == ["Kim keeps bees"]
        assert kept("this week") == kept("since Monday") == ["Kim keeps bees", "Alex prefers tea"]
        with pytest.raises(InputError, match="is not a time"):
            memory.account.changed(when="when I was young")
        with pytest.raises(InputError, match="twice"):
            memory.account.changed(when="today", since=START)


def test_turns_of_a_conversation_share_a_line_and_edited_notes_are_named(home: Path) -> None:
    notes = home.parent / "notes"
    notes.mkdir()
    old, new = notes / "old.md", notes / "new.md"
    for each in (old, new):
        each.write_text("Something.\n")
    os.utime(old, (0, 0))
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.notes.watch(notes)
        for number in range(3):
            memory.observe("user", f"turn {number}", session="long")
        memory.observe("user", "another", session="short")
        found = memory.account.changed()
        [said] = [each for each in found.groups if each.deed == "said"]
        assert [(each.session, each.count, each.last.summary) for each in said.conversations] == [
            ("short", 1, "another"),
            ("long", 3, "turn 2"),
        ]
        assert (found.notes, [each.path for each in found.newest_notes]) == (1, [str(new.resolve())])
        assert all("agent.toml" not in each.summary[:20] for group in found.groups for each in group.newest)


def test_what_somebody_else_is_or_does_is_not_why_something_was_said(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("Robin plays the cello")
        memory.observe("user", "I moved to Bergen last spring", user="Alex", session="s-1")
        (home / "agents/main/Tom.md").write_text("# Tom\n\nMary teaches him the violin.\n", encoding="utf-8")
        memory.sync(embed=True)
        for said, reason in {
            "Robin plays the cello well": "Robin plays the cello",
            "The cello is played by Robin": "Robin plays the cello",
            "Alex moved to Bergen": "I moved to Bergen last spring",
            "Tom learns the violin": "Mary teaches him the violin.",
            "Kim plays the cello": None,
        }.items():
            assert [each.memory.content for each in memory.account.why(said).memories] == [reason][: reason is not None]


@pytest.mark.parametrize(
    ("content", "heading", "wanted"),
    [
        ("role: site engineer", ("Tomás Ferreira", "people"), True),
        ("Tomás keeps bees on the roof.", (), True),
        ("Long talk with [[Tomás Ferreira]] about work. He leaves in January. The cake was good.", (), True),
        ("Tomas likes honey.", (), True),
        ("The plan is old. Tomás leads it. Tomás will send it.", (), True),
        ("1. Rehearsal on Monday\n2. Go or not\n3. Cut-over, Tomás leads", (), False),
        ("1. Tomás packs\n2. Tomás drives\n3. Dinner", (), True),
        ("Walnuts, basil and garlic. Ten minutes. Not when Tomás comes!", (), False),
        ("Team: Priya Raman, [[Tomás Ferreira]], Nadia, me. Budget: 1,900 euros.", ("Lantern board",), False),
        ("Dr. Tomás called.", (), True),
        ("We paid in tomás, whatever that is.", (), False),
    ],
)
def test_text_is_about_what_its_title_its_beginning_or_most_of_it_names(
    content: str, heading: tuple[str, ...], wanted: bool
) -> None:
    assert is_about("Tomás", content, heading) is wanted


@pytest.mark.parametrize("name", ["Nobody", "May", "friday", "the"])
def test_word_of_many_sentences_is_nobody_to_forget(home: Path, name: str) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("We took no queue, since nobody wanted to run the thing; 22 to 25 May, by Friday")
        with pytest.raises(InputError, match="stands in many sentences"):
            memory.account.forget_about(name)


def test_what_only_names_somebody_is_kept_and_the_log_counts_the_rest(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("Kim keeps bees")
        memory.remember("Kim lives in Bergen")
        fair = memory.remember("The fair is in May. It has room for ten stands. Kim helps with the tents.")
        done = memory.account.forget_about("Kim")
        assert [each.id for each in done.kept] == [fair.id]
        assert [hit.memory.id for hit in memory.recall("Kim", limit=5)] == [fair.id]
        assert memory.audit.log(limit=1)[0].summary == "forgot 2 memories"
        again = memory.account.forget_about("Kim")
        assert (again.memories, again.seqs, len(again.kept)) == ((), (), 1)
