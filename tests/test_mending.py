"""Forgetting by description takes only what has every word, a correction keeps its times, odd rates do no harm."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memfolio import InputError, Memory, NotFoundError
from memfolio.clock import SettableClock
from memfolio.stores.edit import note_all
from memfolio.vault.vault import OWNER

MARCH = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def memory(home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    with Memory.open(home, clock=clock, background=False) as memory:
        yield memory


@pytest.mark.parametrize(
    ("kept", "description"),
    [
        ("Базилик растёт на балконе", "база"),
        ("المدرسة بعيدة", "مدرس"),
        ("readfile is slow", "read_file"),
        ("x" * 80, "x" * 64),
        (" ".join(f"word{number}" for number in range(50)), " ".join(f"word{number}" for number in range(51))),
        ("東の都と京の都", "東京"),
        ("pass flag twice", "--flag"),
        ("Don deploys on Fridays", "don't deploy"),
        ("run it dry", "dry-run"),
    ],
)
def test_memory_that_lacks_a_word_of_the_description_is_never_forgotten(
    memory: Memory, kept: str, description: str
) -> None:
    memory.remember(kept)
    with pytest.raises(NotFoundError):
        memory.forget(description, every=True)


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("We host on GitHub", "We host on GitHub"),
        ("We host on GitHub", "github"),
        ("Новая база готова", "база"),
        ("Priya's number is 0142", "the number of Priya"),
        ("明日は東京タワーへ行く", "東京タワー"),
        ("pass --dry-run to C++ builds", "C++ --dry-run"),
        (f"{'y' * 100} is long", "y" * 100),
        (" ".join(f"word{number}" for number in range(150)), " ".join(f"word{number}" for number in range(150))),
        ("to be or not to be", "to be or to be"),
    ],
)
def test_memory_that_has_every_word_is_forgotten(memory: Memory, text: str, description: str) -> None:
    item = memory.remember(text)
    memory.remember("something else")
    assert [each.id for each in memory.forget(description).memories] == [item.id]


@pytest.mark.parametrize("long", [" ".join(map(str, range(201))), "word" * 3000])
def test_description_that_is_too_long_is_refused_with_what_to_do(memory: Memory, long: str) -> None:
    with pytest.raises(InputError) as caught:
        memory.forget(long)
    assert caught.value.hint == "describe it in fewer words"


def test_correction_is_about_the_same_time(memory: Memory) -> None:
    until = MARCH + timedelta(days=30)
    old = memory.remember("The rent is 900", at=MARCH, valid_from=MARCH, valid_until=until)
    new = memory.correct(old.id, "The rent is 950")
    for found in (new, memory.recall("rent")[0].memory):
        assert (found.event_time, found.valid_from, found.valid_until) == (MARCH, MARCH, until)
    assert [hit.memory.id for hit in memory.recall("rent", valid_at=MARCH)] == [new.id]
    assert memory.recall("rent", valid_at=MARCH + timedelta(days=31)) == []


@pytest.mark.parametrize("rate", ["-100", "1e400", "-1e400", "1e308"])
def test_odd_decay_rate_written_by_hand_stops_no_question(
    memory: Memory, home: Path, clock: SettableClock, rate: str
) -> None:
    item = memory.remember("The kettle is blue", attributes={"shelf": 1})
    (log,) = (home / "agents/main/memory").glob("2026-*.md")
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace('{"attributes":', f'{{"decay_rate":{rate},"attributes":'), encoding="utf-8")
    assert log.read_text(encoding="utf-8") != text
    clock.advance(days=300)
    memory.sync()
    assert [hit.memory.id for hit in memory.recall("kettle", include=["dormant", "archived"])] == [item.id]


def test_several_are_forgotten_as_one_change(memory: Memory) -> None:
    ids = [memory.remember(text).id for text in ("Alex drinks tea", "Bea plays chess", "Cy sings")]
    before = memory.vault.head
    gone = memory.forget(ids[:2])
    assert memory.vault.head == before + 1
    assert [item.id for item in gone.memories] == ids[:2]
    assert [bool(item and item.forgotten_at) for item in map(memory.get, ids)] == [True, True, False]
    with pytest.raises(NotFoundError):
        memory.forget([ids[2], "M-1-00000000"])
    assert memory.get(ids[2]).forgotten_at is None  # type: ignore[union-attr]
    memory.audit.undo(before + 1, by=OWNER)
    assert not any(item and item.forgotten_at for item in map(memory.get, ids))


def test_same_is_said_of_several_as_one_change(memory: Memory) -> None:
    ids = [memory.remember(text).id for text in ("Alex drinks tea", "Bea plays chess")]
    before = memory.vault.head
    noted = note_all(memory.vault, memory.searcher, ids, {"op": "pin", "pinned": True}, OWNER)
    assert memory.vault.head == before + 1
    assert all(item.pinned for item in noted)
