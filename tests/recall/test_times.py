"""Questions that ask what there was at some time are answered by that time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.memory import Memory
from memfolio.recall.dates import mentions
from memfolio.tend.changes import JobChanges
from memfolio.tend.digest import build

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
DAY, WEEK, MARCH, QUARTER = (
    (date(2026, 6, 12), date(2026, 6, 12)),
    (date(2026, 3, 9), date(2026, 3, 15)),
    (date(2026, 3, 1), date(2026, 3, 31)),
    (date(2026, 1, 1), date(2026, 3, 31)),
)
NAMES = [
    (
        DAY,
        "on June 12",
        "on 12 June 2026",
        "am 12. Juni 2026",
        "am 12.6.",
        "le 12 juin 2026",
        "el 12 de junio de 2026",
        "12 июня",
    ),
    (DAY, "on 2026-06-12", "12.6.2026", "am 12.6."),
    (WEEK, "in week 11", "in calendar week 11 of 2026", "in KW 11", "Kalenderwoche 11", "in der 11. Woche"),
    (WEEK, "semaine 11", "la semana 11", "на 11 неделе", "the week of March 11", "2026-W11"),
    (MARCH, "in March", "im März 2026", "en mars 2026", "en marzo", "в марте"),
    (
        QUARTER,
        "in Q1 2026",
        "in the first quarter",
        "the first quarter of 2026",
        "im ersten Quartal",
        "1. Quartal 2026",
    ),
    (QUARTER, "au premier trimestre", "T1 2026", "en el primer trimestre", "в первом квартале"),
]


@pytest.mark.parametrize(("days", "text"), [(days, text) for days, *texts in NAMES for text in texts])
def test_days_weeks_months_and_quarters_are_read_in_every_language(days: tuple[date, date], text: str) -> None:
    (found,) = mentions(f"What happened {text}?", NOW, UTC)
    assert (found.span.start.date(), (found.span.end - timedelta(days=1)).date()) == days


@pytest.mark.parametrize("text", ["week 2 of the course", "the first quarter of the match", "3/4/2026", "on the 32nd"])
def test_what_only_looks_like_such_a_time_is_none(text: str) -> None:
    assert [each for each in mentions(f"What about {text}?", NOW, UTC) if each.years != {2026}] == []
    assert all((each.span.end - each.span.start).days > 300 for each in mentions(text, NOW, UTC))


def test_the_day_of_a_month_is_the_last_that_was() -> None:
    days = [mentions(text, NOW, UTC)[0].span.start.date() for text in ("on the 14th", "on the 22nd", "am 3.")]
    assert days == [date(2026, 11, 14), date(2026, 10, 22), date(2026, 11, 3)]


@pytest.fixture
def life(home: Path) -> Memory:
    """Two quarters of somebody's life."""
    memory = Memory.open(home, background=False, clock=SettableClock(NOW))
    said = {
        (2026, 2, 3): "The board approved the budget",
        (2026, 3, 10): "I repaired the garden fence",
        (2026, 6, 12): "Wir haben das Dach gedeckt",
        (2026, 10, 22): "Went to the dentist in Graz",
        (2026, 11, 2): "What did I do on Oct 22?",
    }
    for day, text in said.items():
        memory.observe("user", text, session="s-{}-{}".format(*day[1:]), at=datetime(*day, 10, tzinfo=UTC))
    return memory


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What did I do on Oct 22?", ["Went to the dentist in Graz"]),
        ("what happened in week 11?", ["I repaired the garden fence"]),
        ("What happened in March?", ["I repaired the garden fence"]),
        ("what was going on in Q1 2026?", ["The board approved the budget", "I repaired the garden fence"]),
        ("Was war am 12. Juni 2026?", ["Wir haben das Dach gedeckt"]),
        ("¿Qué hice en marzo?", ["I repaired the garden fence"]),
        ("Qu'est-ce que j'ai fait le 22 octobre 2026 ?", ["Went to the dentist in Graz"]),
        ("Что было 22 октября?", ["Went to the dentist in Graz"]),
    ],
)
def test_what_was_done_at_a_time_is_what_stands_there(life: Memory, question: str, answers: list[str]) -> None:
    assert [hit.memory.content for hit in life.recall(question)] == answers


def test_a_question_for_something_at_a_time_is_not_answered_by_everything_then(life: Memory) -> None:
    hits = life.recall("What did the board approve in Q1 2026?")
    assert hits[0].memory.content == "The board approved the budget"


def test_a_broad_question_is_led_to_the_digest_of_that_time(life: Memory) -> None:
    for number in range(6):
        at = datetime(2026, 3, 9 + number, 9, tzinfo=UTC)
        life.remember(f"Fence posts get concrete, part {number}", type="decision", tags=["fence"], at=at)
    build(JobChanges(vault=life.vault, agent="main", now=NOW), life.searcher.index)
    for question, folder in (("week 11", "weekly"), ("March", "monthly"), ("the first quarter", "quarterly")):
        hits = life.recall(f"What happened in {question}?")
        assert f"/{folder}/" in hits[0].path
        assert any("fence" in hit.memory.content.lower() for hit in hits)
    assert "/weekly/" not in life.recall("What happened on March 9?")[0].path
