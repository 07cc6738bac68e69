"""Intentions are let go of as their strategy says, promises only when they are broken, and desires stand in order."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.index.mind_pages import BY_PAGE, MindPage
from memfolio.mind.beliefs import Ground, prune, validate
from memfolio.mind.heartbeat import ranked
from memfolio.settings import Minding

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINDING = Minding()


def page(name: str, text: str) -> MindPage:
    return MindPage(BY_PAGE[name], text, agent="main", zone=UTC)


@pytest.mark.parametrize(
    ("fields", "strategy", "status"),
    [
        ("deadline: 2026-11-14", "single-minded", "expired"),
        ("deadline: 2026-11-14 · status: on hold", "cautious", "expired"),
        ("deadline: 2026-11-15", "cautious", None),
        ("updated: 2026-01-01", "single-minded", None),
        ("updated: 2026-11-07", "open-minded", "stalled"),
        ("updated: 2026-11-08T12:00Z", "open-minded", None),
        ("updated: 2026-11-11", "cautious", "stalled"),
        ("updated: 2026-11-13", "cautious", None),
        ("updated: 2026-11-11 · strategy: single-minded", "cautious", None),
        ("updated: 2026-11-11 · strategy: cautious", "single-minded", "stalled"),
        ("updated: 2026-11-01 · deadline: 2026-11-20", "cautious", None),
        ("updated: 2026-11-01 · when: 2026-11-20 09:00", "cautious", None),
        ("updated: 2026-11-01 · when: 2026-11-15 09:00", "cautious", None),
        ("updated: 2026-11-01 · when: 2026-11-10 09:00", "cautious", "stalled"),
        ("updated: 2026-11-01 · when: the boiler", "cautious", "stalled"),
        ("updated: 2026-01-01 · status: on hold", "cautious", None),
        ("deadline: 2026-11-01 · status: done · updated: 2026-11-02", "cautious", None),
        ("deadline: 2026-02-30 · updated: 2026-01-01", "cautious", None),
    ],
)
def test_strategy_decides_when_an_intention_is_let_go_of(fields: str, strategy: str, status: str | None) -> None:
    pruned = prune(page("Intentions", f"## Ship it\n{fields}\n").items, strategy, MINDING, NOW, UTC)
    assert [edit["status"] for edit in pruned.edits.values()] == ([status] if status else [])
    assert pruned.let_go == len(pruned.edits)


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati"])
def test_deadline_lasts_to_the_end_of_its_day_where_the_home_is(name: str) -> None:
    zone = ZoneInfo(name)
    items = MindPage(BY_PAGE["Intentions"], "## Ship it\ndeadline: 2026-10-25\n", agent="main", zone=zone).items
    end = datetime(2026, 10, 25, 23, 59, 59, tzinfo=zone)  # in Berlin a day of 25 hours
    assert prune(items, "cautious", MINDING, end.astimezone(UTC), zone).let_go == 0
    pruned = prune(items, "cautious", MINDING, end.astimezone(UTC) + timedelta(seconds=1), zone)
    assert [edit["reason"] for edit in pruned.edits.values()] == ["its deadline was 2026-10-25"]
    assert [edit["updated"].date() for edit in pruned.edits.values()] == [date(2026, 10, 26)]


def test_intention_without_any_date_can_stall_later() -> None:
    first = page("Intentions", "## Ship it\n\nSoon.\n")
    assert prune(first.items, "single-minded", MINDING, NOW, UTC).edits == {}
    text = first.editing(prune(first.items, "open-minded", MINDING, NOW, UTC).edits)
    assert text == "## Ship it\nupdated: 2026-11-15\n\nSoon.\n"
    later = prune(page("Intentions", text).items, "open-minded", MINDING, NOW + timedelta(days=9), UTC)
    assert [edit["status"] for edit in later.edits.values()] == ["stalled"]


def test_broken_promise_stays_and_is_told_of_until_somebody_decides() -> None:
    text = "## Report\nto: Maria\ndeadline: 2026-01-01\nstatus: expired\nupdated: 2026-01-02\n\n## Kept\nstatus: kept\n"
    pruned = prune(page("Commitments", text).items, "single-minded", MINDING, NOW, UTC)
    assert [note.partition(" (")[0] for note in pruned.notes] == ["broken promise to Maria: Report"]
    assert not pruned.archived
    assert prune(page("Commitments", "## No date\n").items, "single-minded", MINDING, NOW, UTC).edits == {}


def test_desires_stand_by_priority_then_urgency_then_alignment_then_as_they_stood() -> None:
    text = """## A\npriority: 0.5\n\n## B\npriority: 0.9 · status: dropped\n\n## C\npriority: 0.9\n
## D\npriority: 0.5 · urgency: 0.9\n\n## E\npriority: 0.5 · alignment: 0.9\n\n## F\n"""
    wants = page("Desires", text)
    titles = {item.id: item.title for item in wants.items}
    order = ranked(wants.items)
    assert "".join(titles[each] for each in order) == "CDEAFB"
    sorted_page = page("Desires", wants.ordered(order))
    assert ranked(sorted_page.items) == [item.id for item in sorted_page.items]


@given(st.integers(1, 9))
def test_beliefs_are_looked_over_alike_in_chunks_of_any_size(size: int) -> None:
    text = """## Sky\ncertainty: 0.6\n\nIt is blue.\n\n## Nothing said of how sure\n\n## \n
## sky\ncertainty: 0.9\n\nIt is  blue.\n\n## Gone\ncertainty: 0.9 · from: M-1-00000001\n"""
    items = page("Beliefs", text).items
    gone = {"M-1-00000001": Ground(id="M-1-00000001", state="forgotten")}
    checked = validate(items, gone, size, NOW)
    assert checked.chunks == -(-len(items) // size)
    assert {each: edit["status"] for each, edit in checked.edits.items()} == {items[0].id: "retired"}
    assert [note.partition(":")[0] for note in checked.notes] == [
        "beliefs without a certainty, taken as 0.5",
        "beliefs without words",
        "beliefs resting on what was forgotten",
    ]
