"""Prospective memory: what comes up by its time or its topic, and what does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.index.mind_pages import BY_NAME, ItemStatus, MindItem
from memfolio.mind.mind import reminders

NOW = datetime(2026, 11, 15, 14, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def item(id: str = "I-1-00000001", **fields: Any) -> MindItem:
    return MindItem(kind=BY_NAME["intention"], id=id, title="Tell Maria", fields=fields)


def whys(about: str = "", **fields: Any) -> list[str]:
    return [each.why for each in reminders([item(**fields)], NOW, about=about, ahead=DAY)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"deadline": NOW + 3 * HOUR}, ["due 17:30"]),
        ({"deadline": NOW + timedelta(minutes=1)}, ["due 14:31"]),
        ({"deadline": NOW + DAY}, ["due 2026-11-16"]),
        ({"deadline": NOW + DAY + HOUR}, []),
        ({"deadline": NOW - 2 * HOUR}, ["overdue since 12:30"]),
        ({"deadline": NOW - 2 * DAY}, ["overdue since 2026-11-13"]),
        ({"deadline": datetime(1, 1, 1, tzinfo=UTC)}, ["overdue since 0001-01-01"]),
        ({"deadline": NOW - DAY, "status": ItemStatus.DONE}, []),
        ({"deadline": NOW - DAY, "status": ItemStatus.PAUSED}, []),
        ({"when": "2026-11-15"}, ["its time came 00:00"]),
        ({"when": "2026-11-15T14:31"}, []),
        ({"when": "2026-11-14 09:00, the deploy"}, ["its time came 2026-11-14"]),
        ({}, []),
    ],
)
def test_item_comes_up_when_its_time_has_come(fields: dict[str, Any], expected: list[str]) -> None:
    assert whys(**fields) == expected


@pytest.mark.parametrize(
    ("when", "about"),
    [
        ("the deploy", "We are DEPLOYING on Friday"),
        ("the deploy comes up", "Deploys failed"),
        ("whenever we talk about Maria", "an e-mail from Maria"),
        ("next release, the deploy", "what is in the releases?"),
        ("invoices or budget", "the invoice for May"),
        ("deploy/release", "we release after the deploy"),
        ("Zürich", "a trip to Zürich"),
        ("東京", "東京の会議"),
        ("C++", "a question about C++"),
    ],
)
def test_item_comes_up_when_its_topic_is_mentioned(when: str, about: str) -> None:
    assert len(whys(about, when=when)) == 1


@pytest.mark.parametrize(
    ("when", "about"),
    [
        ("the deploy to staging", "the deploy to production"),
        ("the and of", "the end of the and"),
        ("it comes up", "what comes up when it does?"),
        ("the deploy", ""),
        ("C++", "C is not a plus"),
        ("", "anything"),
    ],
)
def test_item_stays_quiet_when_only_common_words_or_a_part_of_its_topic_are_there(when: str, about: str) -> None:
    assert whys(about, when=when) == []


def test_reminder_says_every_reason_and_the_most_urgent_comes_first() -> None:
    items = [
        item("I-1-00000001", deadline=NOW + HOUR, priority=0.1),
        item("I-2-00000002", deadline=NOW - HOUR),
        item("I-3-00000003", when="the deploy", deadline=NOW + 2 * HOUR),
        item("I-4-00000004", deadline=NOW + HOUR, priority=0.9),
    ]
    found = reminders(items, NOW, about="deploy it", ahead=DAY)
    assert [each.item.id[2] for each in found] == ["3", "2", "4", "1"]
    assert found[0].why == "when: the deploy; due 16:30"
    assert [each.item.id[2] for each in reminders(items, NOW, ahead=DAY, most=1)] == ["2"]
    assert reminders(items, NOW, ahead=DAY, most=0) == []


@given(st.text(), st.text())
def test_whatever_is_said_and_awaited_is_compared(when: str, about: str) -> None:
    assert len(whys(about, when=when)) <= 1
