"""A subscriber is handed the memories of a change as they would be read from the files, and need not read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.types import MemoryItem
from memfolio.vault.fields import Draft
from memfolio.vault.journal import Record
from memfolio.vault.log import read_log
from memfolio.vault.paths import agent_of, day_of, state_ledger
from memfolio.vault.vault import Vault
from tests.vault.proof import BOT, configured, item
from tests.vault.test_entry import attributions, drafts

ENDS = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)]
ends = st.builds(item, content=st.just("long ago, or far away"), event_time=st.sampled_from(ENDS))
storable = drafts.filter(lambda draft: "\0" not in draft.content)
agents = (f"agent-{number}" for number in count())


class Ear:
    """A subscriber that keeps what it was told."""

    def __init__(self, vault: Vault) -> None:
        self.records: list[Record] = []
        vault.subscribe(self.records.append)


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"])
def vault(request: pytest.FixtureRequest, quick_path: Path, clock: SettableClock) -> Iterator[Vault]:
    config = configured(quick_path / "home", timezone=request.param, git_enabled=False)
    with Vault.open(config=config, clock=clock) as opened:
        yield opened


def as_read(vault: Vault, path: str) -> dict[str, MemoryItem]:
    """The memories in a file, by id."""
    day, agent, text = day_of(path), agent_of(path), (vault.home.root / path).read_bytes().decode()
    assert day
    assert agent
    reading = read_log(text, day=day, tz=vault.home.zone, agent=agent)
    assert reading.problems == ()
    return {found.entry.item.id: found.entry.item for found in reading.entries}


def exactly(value: Any) -> tuple[type, object]:
    """A value that equals another only if its type is the same, inside too: 1, 1.0 and True are three things."""
    if isinstance(value, dict):
        return dict, json.dumps(value, sort_keys=True)
    return type(value), (value, value.utcoffset()) if isinstance(value, datetime) else repr(value)


def check(vault: Vault, record: Record) -> None:
    read = {path: as_read(vault, path) for path, _ in record.items}
    for path, told in record.items:
        for field in fields(MemoryItem):
            there = getattr(read[path][told.id], field.name)
            assert exactly(getattr(told, field.name)) == exactly(there), field.name


@given(st.lists(storable | ends, min_size=1, max_size=4), attributions, st.none() | st.just("key"))
def test_memories_are_told_as_they_are_read(vault: Vault, given: list[MemoryItem], by: Any, key: str | None) -> None:
    ear = Ear(vault)
    receipt = vault.add(next(agents), given, by, key=key)
    record = ear.records[0]
    check(vault, record)
    assert tuple(told for _, told in record.items) == receipt.items
    assert {told.id for _, told in record.items} == {each for path in receipt.paths for each in as_read(vault, path)}


def test_clock_set_back_is_told_as_it_is_read(vault: Vault, clock: SettableClock) -> None:
    ear = Ear(vault)
    for minutes in range(0, 240, 15):
        clock.set(datetime(2026, 10, 25, 0, 0, 5, 250000, tzinfo=UTC) + timedelta(minutes=minutes))
        here, before = clock.now().astimezone(vault.home.zone), clock.now() - timedelta(hours=1)
        vault.add("main", [item("tick"), item("tock", event_time=before), item("tack", event_time=here)], BOT)
    for record in ear.records:
        check(vault, record)


def test_each_memory_is_told_with_the_part_that_has_it(home: Path, clock: SettableClock) -> None:
    with Vault.open(config=configured(home, max_ledger_bytes=65536), clock=clock) as vault:
        ear = Ear(vault)
        days = [clock.now() - timedelta(days=number % 3) for number in range(60)]
        receipt = vault.add("main", [item("x" * 8000 + str(day), event_time=day) for day in days], BOT)
        check(vault, ear.records[0])
        assert [told.id for _, told in ear.records[0].items] == list(receipt.ids)
        assert len({path for path, _ in ear.records[0].items}) > 6


def test_what_the_caller_does_to_the_attributes_later_changes_nothing(vault: Vault) -> None:
    ear, attributes = Ear(vault), {"names": ["Ann"]}
    vault.add("main", [item("lunch", attributes=attributes)], BOT)
    attributes["names"].append("Bob")
    attributes["more"] = []
    check(vault, ear.records[0])


def test_only_added_memories_are_told_and_none_are_kept(vault: Vault, clock: SettableClock) -> None:
    ear = Ear(vault)
    vault.add("main", [item("one")], BOT, key="k")
    vault.add("main", [item("one")], BOT, key="k")
    vault.add_lines(state_ledger("main"), [{"pin": "M-1-00000000"}], BOT)
    vault.put_page("shared/notes.md", "notes", expects=None, by=BOT)
    assert [len(record.items) for record in ear.records] == [1, 0, 0]
    assert all(record.items == () for record in vault.journal.pending)


def test_changes_of_another_process_come_without_memories(vault: Vault, clock: SettableClock) -> None:
    ear = Ear(vault)
    with Vault.open(config=vault.config, clock=clock) as other:
        other.add("main", [item("one")], BOT)
    vault.add("main", [item("two")], BOT)
    assert [len(record.items) for record in ear.records] == [0, 1]


def test_a_draft_that_says_nothing_else_is_a_memory_that_says_nothing_else() -> None:
    blank = item("x")
    assert all(getattr(blank, name) == value for name, value in Draft._field_defaults.items())
