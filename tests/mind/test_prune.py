"""Intentions are let go of as their strategy says, promises only when they are broken, and desires stand in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.mind.kind import BY_PAGE
from memfolio.mind.page import MindPage
from memfolio.mind.prune import prune_commitments, prune_intentions, remarked
from memfolio.mind.rank import moved, ranked
from memfolio.mind.validate import Ground, validate
from memfolio.tuning import Minding

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINDING = Minding()


def page(name: str, text: str) -> MindPage:
    return MindPage(BY_PAGE[name], text, agent="main", zone=UTC)


@pytest.mark.parametrize(
    ("fields", "commitment", "status"),
    [
        ("deadline: 2026-11-14", "single-minded", "expired"),
        ("deadline: 2026-11-15", "cautious", None),
        ("updated: 2026-01-01", "single-minded", None),
        ("updated: 2026-11-07", "open-minded", "stalled"),
        ("updated: 2026-11-09", "open-minded", None),
        ("updated: 2026-11-11", "cautious", "stalled"),
        ("updated: 2026-11-13", "cautious", None),
        ("updated: 2026-11-11 · strategy: single-minded", "cautious", None),
        ("updated: 2026-11-11 · strategy: cautious", "single-minded", "stalled"),
        ("updated: 2026-01-01 · status: on hold", "cautious", None),
        ("deadline: 2026-11-01 · status: done · updated: 2026-11-02", "cautious", None),
        ("deadline: 2026-02-30 · updated: 2026-01-01", "cautious", None),
    ],
)
def test_strategy_decides_when_an_intention_is_let_go_of(fields: str, commitment: str, status: str | None) -> None:
    items = page("Intentions", f"## Ship it\n{fields}\n").items
    pruned = prune_intentions(items, commitment, MINDING, NOW, UTC)
    assert [edit.get("status") for edit in pruned.edits.values()] == ([status] if status else [])


def test_intention_without_any_date_can_stall_later() -> None:
    first = page("Intentions", "## Ship it\n\nSoon.\n")
    text = first.editing(prune_intentions(first.items, "open-minded", MINDING, NOW, UTC).edits)
    assert text == "## Ship it\nupdated: 2026-11-15\n\nSoon.\n"
    later = prune_intentions(page("Intentions", text).items, "open-minded", MINDING, NOW + timedelta(days=9), UTC)
    assert [edit["status"] for edit in later.edits.values()] == ["stalled"]


def test_broken_promise_stays_and_is_told_of_until_somebody_decides() -> None:
    text = "## Report\nto: Maria\ndeadline: 2026-01-01\nstatus: expired\nupdated: 2026-01-02\n\n## Kept\nstatus: kept\n"
    pruned = prune_commitments(page("Commitments", text).items, MINDING, NOW, UTC)
    assert [note.partition(" (")[0] for note in pruned.notes] == ["broken promise to Maria: Report"]
    assert not pruned.archived
    assert prune_commitments(page("Commitments", "## No date\n").items, MINDING, NOW, UTC).edits == {}


@given(st.lists(st.sampled_from(["One", "Two", "Three"]), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_remark_stands_below_its_item_and_all_else_stays(titles: list[str], end: str) -> None:
    before = page(
        "Intentions",
        f"# Mine\n\n{''.join(f'## {each}{chr(10)}{chr(10)}Why.{chr(10)}{chr(10)}' for each in titles)}".replace(
            "\n", end
        ),
    )
    remarks = {item.id: f"Note {number}." for number, item in enumerate(before.items) if number % 2}
    after = page("Intentions", remarked(before, remarks))
    assert [item.title for item in after.items] == titles
    assert [item.text for item in after.items] == [
        f"Why.\n\n> {remarks[item.id]}" if item.id in remarks else "Why." for item in before.items
    ]


def test_desires_stand_by_priority_then_urgency_then_alignment_then_as_they_stood() -> None:
    text = """## A\npriority: 0.5\n\n## B\npriority: 0.9 · status: dropped\n\n## C\npriority: 0.9\n
## D\npriority: 0.5 · urgency: 0.9\n\n## E\npriority: 0.5 · alignment: 0.9\n\n## F\n"""
    wants = page("Desires", text)
    titles = {item.id: item.title for item in wants.items}
    order = ranked(wants.items)
    assert "".join(titles[each] for each in order) == "CDEAFB"
    sorted_page = page("Desires", wants.ordered(order))
    assert moved(sorted_page.items, ranked(sorted_page.items)) == 0


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
        "has no certainty and counts as 0.5",
        "says nothing",
        "says the same as another and was retired",
        "rests on what was forgotten",
    ]
