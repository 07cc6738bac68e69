"""Matching procedures: by what somebody says, and by the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memfolio.procedures.page import Procedure
from memfolio.procedures.procedures import due, match, times_of


def procedure(name: str, *triggers: str, is_retired: bool = False) -> Procedure:
    title = name.replace("-", " ")
    return Procedure(name=name, path=f"{name}.md", title=title, triggers=triggers, is_retired=is_retired)


KNOWN = [
    procedure("how-to-deploy", "When user asks to deploy, push to production, or ship."),
    procedure("rotate-logs", 'somebody says "disk is full"', "daily at 03:00"),
    procedure("write-invoice", "invoice a customer"),
    procedure("old-deploy", "deploy", is_retired=True),
    procedure("broken", "daily at 25:99"),
]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("please deploy this", ["how-to-deploy"]),
        ("Deploying it would be nice", ["how-to-deploy"]),
        ("we should push it to production", ["how-to-deploy"]),
        ("the disk is full again", ["rotate-logs"]),
        ("a full disk is a problem", []),
        ("rotate the logs, then write the customer's invoices", ["write-invoice", "rotate-logs"]),
        ("the user asks for something", []),
        ("", []),
        ("?!", []),
    ],
)
def test_what_is_said_finds_what_is_meant(said: str, meant: list[str]) -> None:
    found = match(KNOWN, said)
    assert sorted(each.procedure.name for each in found) == sorted(meant)
    assert all(0 < each.score <= 1 and each.why for each in found)


def test_more_words_count_for_more() -> None:
    pages = [procedure("deploy"), procedure("deploy-the-web-shop")]
    assert [each.procedure.name for each in match(pages, "deploy our web shop")] == ["deploy-the-web-shop", "deploy"]
    assert len(match(pages, "deploy our web shop", limit=1)) == 1


def test_why_names_the_words() -> None:
    assert match(KNOWN, "ship it")[0].why == ("trigger: ship",)
    assert match(KNOWN, "Disk  is full!")[0].why == ('"disk is full" was said',)


@pytest.mark.parametrize(
    ("trigger", "now", "is_due"),
    [
        ("daily at 03:00", "2026-11-15T03:00", True),
        ("Daily at 03:00", "2026-11-15T02:59", False),
        ("06:00 daily", "2026-11-15T23:59", True),
        ("every Sunday at 6:30", "2026-11-15T07:00", True),
        ("Mondays at 06:30", "2026-11-15T07:00", False),
        ("weekdays at 06:30", "2026-11-13T07:00", True),
        ("weekdays at 06:30", "2026-11-14T07:00", False),
        ("at 06:30", "2026-11-15T07:00", False),
        ("daily at 25:99", "2026-11-15T07:00", False),
    ],
)
def test_time_of_day_makes_due(trigger: str, now: str, is_due: bool) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert bool(due([procedure("it", trigger)], moment)) is is_due


def test_what_was_done_since_is_not_due_and_what_was_missed_is() -> None:
    now = datetime(2026, 11, 15, 2, tzinfo=UTC)
    [page] = pages = [procedure("logs", "daily at 03:00")]
    missed = due(pages, now, {"logs": now - timedelta(days=1)})
    assert [(each.procedure, each.at.day) for each in missed] == [(page, 14)]
    assert due(pages, now, {"logs": now - timedelta(hours=20)}) == []
    assert due([procedure("logs", "daily at 03:00", is_retired=True)], now + timedelta(hours=2)) == []


def test_trigger_without_a_time_has_none() -> None:
    assert times_of("deploy at 06:00") is None
    assert times_of("daily") is None
