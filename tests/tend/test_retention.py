"""What moves to the archive, what stays, and that everything comes back."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import DiskError, InputError, NotFoundError
from memfolio.memory import Memory
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.mend import archive
from memfolio.tend.changes import JobChanges
from memfolio.tend.retention import Below, By, Retained, archive_one, retain, used
from memfolio.types import MemoryItem
from memfolio.vault.lines import MOST, pack, text_of
from memfolio.vault.move import put_back
from memfolio.vault.vault import OWNER, Vault
from tests.index.dump import differences, dump

LOG = "agents/main/memory/2026-11-15.md"
ARCHIVE = "agents/main/memory/archive/2026-11/2026-11-15.md"
PACKED = f"{ARCHIVE}.gz"


@pytest.fixture
def memory(home: Path, clock: SettableClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, background=False, speaker="owner") as memory:
        yield memory


def tuned(home: Path, clock: SettableClock, **retention: Any) -> Memory:
    config = load_config(home)
    return Memory(
        Vault.open(config=replace(config, retention=replace(config.retention, **retention)), clock=clock),
        "main",
        background=False,
    )


def run(memory: Memory, below: Below | None = None, *, dry_run: bool = False) -> tuple[Retained, JobChanges]:
    changes = JobChanges(vault=memory.vault, agent="main", now=memory.vault.home.now(), dry_run=dry_run)
    return retain(changes, memory.searcher.index, below), changes


def is_archived(memory: Memory, item: MemoryItem) -> bool:
    found = memory.find(item.id)
    assert found is not None
    return found.archived


def text(memory: Memory, path: str) -> bytes | None:
    page = memory.vault.page(path)
    return page.content if page else None


def assert_index_is_as_rebuilt(memory: Memory) -> None:
    before = memory.searcher.index.read(dump)
    memory.searcher.index.rebuild()
    assert differences(before, memory.searcher.index.read(dump)) == []


def test_events_leave_after_a_year_and_facts_stay(memory: Memory, clock: SettableClock) -> None:
    event, fact = memory.remember("We met at the lake"), memory.remember("Alex drinks tea", type="fact")
    clock.advance(days=364)
    assert run(memory)[0].memories == 0
    clock.advance(days=2)
    found, _ = run(memory)
    assert found.reasons == {("episodic", "age"): 1}
    assert (is_archived(memory, event), is_archived(memory, fact)) == (True, False)
    assert not memory.recall("lake")
    assert memory.recall("lake", include="archived")[0].memory.id == event.id
    assert_index_is_as_rebuilt(memory)


def test_importance_counts_before_the_kind(memory: Memory, clock: SettableClock) -> None:
    low = memory.remember("A trifle", type="fact", importance=0.2)
    high = memory.remember("The great day", importance=0.9)
    clock.advance(days=91)
    assert run(memory)[0].reasons == {("semantic", "low importance"): 1}
    clock.advance(days=3650)
    run(memory)
    assert (is_archived(memory, low), is_archived(memory, high)) == (True, False)


def test_what_is_pinned_confirmed_or_in_the_vault_stays(memory: Memory, clock: SettableClock) -> None:
    pinned, confirmed = memory.remember("One", importance=0.1), memory.remember("Two", importance=0.1)
    kept = memory.remember("Three", importance=0.1, store="vault")
    memory.pin(pinned.id)
    memory.confirm(confirmed.id)
    clock.advance(days=3650)
    assert run(memory)[0].memories == 0
    assert run(memory, Below(by=By.IMPORTANCE, limit=1.0))[0].memories == 0
    assert not is_archived(memory, kept)


def test_when_it_happened_does_not_count_and_use_does(memory: Memory, clock: SettableClock) -> None:
    long_ago = memory.remember("The wall fell", at=clock.now() - timedelta(days=9000))
    assert run(memory)[0].memories == 0
    clock.advance(days=300)
    used(memory.vault, "main", [long_ago.id, long_ago.id], OWNER)
    clock.advance(days=300)
    assert run(memory)[0].memories == 0
    found = memory.get(long_ago.id)
    assert found is not None
    assert found.access_count == 2


def test_a_span_of_zero_is_never(home: Path, clock: SettableClock) -> None:
    with tuned(home, clock, episodic=timedelta(0), low=timedelta(0)) as memory:
        memory.remember("We met", importance=0.1)
        memory.remember("We met again")
        clock.advance(days=9000)
        assert run(memory)[0].memories == 0


def test_what_has_faded_goes_only_where_that_is_wanted(home: Path, clock: SettableClock) -> None:
    with tuned(home, clock, faded=True) as memory:
        memory.remember("Alex drinks tea", type="fact")
        clock.advance(days=119)
        assert run(memory)[0].memories == 0
        clock.advance(days=2)
        assert run(memory)[0].reasons == {("semantic", "faded"): 1}


def test_what_is_important_does_not_go_because_it_has_faded(home: Path, clock: SettableClock) -> None:
    with tuned(home, clock, faded=True) as memory:
        memory.remember("Alex drinks tea", type="fact", importance=0.95)
        clock.advance(days=3650)
        assert run(memory)[0].memories == 0


def test_forgotten_memory_is_not_archived_again(memory: Memory, clock: SettableClock) -> None:
    memory.forget(memory.remember("My number is 555").id)
    clock.advance(days=400)
    assert run(memory)[0].memories == 0


def test_source_of_a_fact_may_go_and_is_still_explained(memory: Memory, clock: SettableClock) -> None:
    source = memory.remember("Alex ordered tea again")
    draft = replace(source, content="Alex likes tea", derived_from=(source.id,), source="consolidation", importance=0.9)
    [fact] = memory.vault.add("main", [draft], OWNER).items
    clock.advance(days=400)
    run(memory)
    assert is_archived(memory, source)
    assert [each.id for each in memory.explain(fact.id).sources] == [source.id]


def test_preview_counts_and_changes_nothing(memory: Memory, clock: SettableClock) -> None:
    memory.remember("We met at the lake")
    clock.advance(days=400)
    head = memory.vault.head
    found, changes = run(memory, dry_run=True)
    assert found.memories == 1
    assert "-We met at the lake" in changes.diff
    assert memory.vault.head == head


def test_second_run_finds_nothing_to_do(memory: Memory, clock: SettableClock) -> None:
    memory.remember("We met at the lake")
    clock.advance(days=400)
    run(memory)
    head = memory.vault.head
    found, changes = run(memory)
    assert (found.memories, found.pages, found.compressed, changes.receipts) == (0, (), (), [])
    assert memory.vault.head == head


def test_archiving_is_one_change_that_can_be_undone(memory: Memory, clock: SettableClock) -> None:
    items = [memory.remember(f"Event {number}") for number in range(3)]
    before = text(memory, LOG)
    clock.advance(days=400)
    _, changes = run(memory)
    memory.audit.undo([changes.receipts[0].seq], by=OWNER)
    assert text(memory, LOG) == before
    assert not any(is_archived(memory, item) for item in items)


def test_note_by_hand_goes_and_returns(memory: Memory, home: Path, clock: SettableClock) -> None:
    memory.remember("We met at the lake")
    log = home / LOG
    log.write_text(log.read_text() + "\nBought bread on the way home.\n")
    memory.sync()
    before = log.read_text()
    clock.advance(days=400)
    assert run(memory)[0].memories == 2
    assert "bread" not in log.read_text()
    for hit in memory.recall("bread lake", include="archived"):
        memory.restore(hit.memory.id)
    assert sorted(log.read_text().split()) == sorted(before.split())


def test_restored_memory_stays_until_it_is_unused_again(memory: Memory, clock: SettableClock) -> None:
    item = memory.remember("We met at the lake")
    clock.advance(days=400)
    run(memory)
    memory.restore(item.id)
    assert run(memory)[0].memories == 0
    clock.advance(days=400)
    assert run(memory)[0].memories == 1


@pytest.mark.parametrize(
    ("by", "limit", "expected"),
    [
        (By.RELEVANCE, 0.2, {"old"}),
        (By.AGE, 0.2, {"old", "used"}),
        (By.ACCESS, 0.2, {"old"}),
        (By.IMPORTANCE, 0.2, {"old", "dull"}),
    ],
)
def test_each_score_takes_what_is_below_it(
    memory: Memory, clock: SettableClock, by: By, limit: float, expected: set[str]
) -> None:
    items = {"old": memory.remember("old"), "used": memory.remember("used")}
    clock.advance(days=60)
    items |= {"dull": memory.remember("dull", importance=0.1), "young": memory.remember("young")}
    used(memory.vault, "main", [items["used"].id], OWNER)
    assert run(memory, Below(by=by, limit=limit))[0].memories == len(expected)
    assert {name for name, item in items.items() if is_archived(memory, item)} == expected


@pytest.mark.parametrize("limit", [0, -1, 1.5, float("nan")])
def test_a_limit_that_is_no_score_is_refused(limit: float) -> None:
    with pytest.raises(InputError):
        Below(by=By.AGE, limit=limit)


def test_one_memory_can_be_archived_by_hand(memory: Memory) -> None:
    item = memory.remember("We met at the lake")
    found = memory.searcher.locate(item.id)
    assert found is not None
    archive_one(memory.vault, found[1], [LOG], OWNER, dry_run=False)
    assert is_archived(memory, item)
    memory.restore(item.id)
    assert not is_archived(memory, item)


def page(memory: Memory, path: str, words: str) -> str:
    memory.vault.put_page(path, f"# A page\n\n{words}\n", expects=None, by=OWNER)
    return path


def pass_a_year(clock: SettableClock) -> None:
    """Let a year pass since the pages were written: files carry the machine's time, not that of the clock."""
    clock.advance(days=366 + max(0, (datetime.now(UTC) - clock.now()).days + 1))


def test_pages_of_old_talks_go_as_a_whole_and_return(memory: Memory, clock: SettableClock) -> None:
    path = page(memory, "agents/main/sessions/2026-11-10-s1.md", "We spoke of the lake")
    before = text(memory, path)
    pass_a_year(clock)
    assert run(memory)[0].pages == (path,)
    assert text(memory, path) is None
    assert text(memory, "agents/main/memory/archive/2026-11/sessions/2026-11-10-s1.md") == before
    [hit] = memory.recall("lake", include="archived")
    memory.restore(hit.memory.id)
    assert text(memory, path) == before
    assert_index_is_as_rebuilt(memory)


def test_pages_whose_names_clash_in_the_archive_all_go(memory: Memory, clock: SettableClock) -> None:
    names = [f"agents/main/sessions/2026-11-10-{name}.md" for name in ("s", "s-2", "s-3")]
    archived = "agents/main/memory/archive/2026-11/sessions"
    page(memory, f"{archived}/2026-11-10-s.md", "An older talk")
    for number, path in enumerate(names):
        page(memory, path, f"Talk {number}")
    pass_a_year(clock)
    assert sorted(run(memory)[0].pages) == sorted(names)
    kept = [text(memory, f"{archived}/2026-11-10-s{end}.md") or b"" for end in ("", "-2", "-3", "-4")]
    assert sorted(each.split()[-2:] for each in kept) == [[b"Talk", b"%d" % n] for n in range(3)] + [
        [b"older", b"talk"]
    ]


def test_latest_checkpoint_stays(memory: Memory, clock: SettableClock) -> None:
    folder = "agents/main/memory/checkpoints"
    old, latest = (page(memory, f"{folder}/2026-11-{day}-143005.md", "Where I was") for day in (10, 11))
    clock.advance(days=100)
    assert run(memory)[0].pages == (old,)
    assert text(memory, latest) is not None


def packed(memory: Memory, clock: SettableClock, count: int = 2) -> list[MemoryItem]:
    """Memories whose archive is compressed."""
    items = [memory.remember(f"Event {number} at the lake") for number in range(count)]
    clock.advance(days=400)
    run(memory)
    clock.advance(days=91)
    found, _ = run(memory)
    assert found.compressed == (ARCHIVE,)
    assert text(memory, ARCHIVE) is None
    return items


def test_old_archives_are_compressed_and_read_as_before(memory: Memory, clock: SettableClock) -> None:
    items = packed(memory, clock)
    assert {hit.memory.id for hit in memory.recall("lake", include="archived")} == {item.id for item in items}
    found = memory.find(items[0].id)
    assert found is not None
    assert (found.path, found.item.content) == (PACKED, items[0].content)
    assert memory.explain(items[0].id).archived
    assert_index_is_as_rebuilt(memory)
    memory.vault.commit()
    assert [each for each in memory.vault.verify() if each.level == "error"] == []


def test_compressed_memory_returns_to_where_it_stood(memory: Memory, clock: SettableClock) -> None:
    kept = memory.remember("Alex drinks tea", type="fact")
    before = text(memory, LOG)
    items = packed(memory, clock)
    diffs = [memory.restore(item.id).diff for item in items]
    assert "+Event 0 at the lake" in diffs[0]
    log = text(memory, LOG) or b""
    assert log.startswith(before or b"")
    assert all(not is_archived(memory, item) for item in (*items, kept))
    assert text(memory, PACKED) is None
    assert_index_is_as_rebuilt(memory)


def test_compressed_archive_takes_up_what_comes_later(memory: Memory, clock: SettableClock) -> None:
    late = memory.remember("Alex drinks tea", type="fact", importance=0.9)
    items = packed(memory, clock)
    found = memory.searcher.locate(late.id)
    assert found is not None
    archive_one(memory.vault, found[1], [LOG], OWNER, dry_run=False)
    assert text(memory, ARCHIVE) is not None
    assert text(memory, PACKED) is not None
    assert_index_is_as_rebuilt(memory)
    clock.advance(days=91)
    assert run(memory)[0].compressed == (ARCHIVE,)
    assert {memory.find(item.id).path for item in (late, *items)} == {PACKED}  # type: ignore[union-attr]
    memory.restore(items[0].id)
    memory.restore(late.id)
    assert not is_archived(memory, late)
    assert is_archived(memory, items[1])


def test_undo_brings_the_uncompressed_archive_back(memory: Memory, clock: SettableClock) -> None:
    memory.remember("We met at the lake")
    clock.advance(days=400)
    run(memory)
    before = text(memory, ARCHIVE)
    clock.advance(days=91)
    _, changes = run(memory)
    memory.audit.undo([changes.receipts[0].seq], by=OWNER)
    assert (text(memory, ARCHIVE), text(memory, PACKED)) == (before, None)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"no gzip",
        gzip.compress(b"x" * 100, mtime=0)[:-9],
        gzip.compress(b"x", mtime=0) + b"more",
        gzip.compress(b"", mtime=0) * 50_000,
    ],
    ids=["empty", "no gzip", "cut off", "more", "many"],
)
def test_damaged_archive_is_a_problem_of_that_file_alone(
    memory: Memory, home: Path, clock: SettableClock, damage: bytes
) -> None:
    items = packed(memory, clock)
    other = memory.remember("Something else")
    (home / PACKED).write_bytes(damage)
    memory.sync()
    assert memory.get(items[0].id) is None
    assert memory.get(other.id) is not None
    sql = "SELECT path FROM files WHERE problems IS NOT NULL"
    assert memory.searcher.index.read(lambda db: list(db.execute(sql))) == [(PACKED,)]
    with pytest.raises(DiskError):
        text_of(PACKED, damage)
    run(memory)
    seq = max(line.seq for line in memory.vault.trail.lines() if PACKED in line.paths)
    memory.audit.undo([seq], by=OWNER)
    assert memory.get(items[0].id) is not None


def test_small_file_that_unpacks_to_anything_is_refused() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(bomb.compress(b"\0" * (1 << 20)) for _ in range((MOST >> 20) + 1)) + bomb.flush()
    assert len(data) < 100_000
    with pytest.raises(DiskError, match="more than 16 MiB"):
        text_of(PACKED, data)
    assert text_of(PACKED, pack(PACKED, b"a" * MOST)) == b"a" * MOST


def test_same_text_is_packed_to_the_same_bytes() -> None:
    assert pack(PACKED, b"text") == pack(PACKED, b"text")
    assert pack(ARCHIVE, b"text") == b"text"


def test_list_of_the_archive_tells_each_month(memory: Memory, clock: SettableClock) -> None:
    packed(memory, clock)
    page = text(memory, "agents/main/memory/archive/index.md")
    assert page is not None
    assert "| 2026-11 | 2 | 1 | 2026-11-15 | 2026-11-15 | yes |" in page.decode()


def test_many_memories_leave_in_portions(memory: Memory, clock: SettableClock) -> None:
    memory.observe_many({"role": "user", "content": f"Turn {number}", "session": "s"} for number in range(6000))
    clock.advance(days=400)
    found, changes = run(memory)
    assert found.memories == 6000
    assert len(changes.receipts) == 3  # two portions, and the list
    assert (
        memory.searcher.index.read(lambda db: db.execute("SELECT count(*) FROM memories WHERE archived = 0").get) == 0
    )


def test_command_says_what_would_go_and_why(memory: Memory, home: Path, clock: SettableClock) -> None:
    memory.remember("A trifle")
    answer = archive(Options(home=str(home)), by="importance", below=0.6, dry_run=True)
    assert answer.document["reasons"] == [{"kind": "episodic", "reason": "importance", "memories": 1}]
    assert archive(Options(home=str(home)), dry_run=True).document["archived"] == 0


@pytest.mark.parametrize("given", [{"by": "age"}, {"below": 0.2}, {"by": "mood", "below": 0.2}])
def test_command_refuses_half_of_a_score(memory: Memory, home: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        archive(Options(home=str(home)), **given)


def test_command_archives_one_memory(memory: Memory, home: Path) -> None:
    item = memory.remember("We met at the lake")
    assert archive(Options(home=str(home)), item.id).document["memories"] == [item]
    assert is_archived(memory, item)


def test_compressed_memory_is_found_by_the_name_of_its_log(memory: Memory, clock: SettableClock) -> None:
    items = packed(memory, clock)
    put_back(memory.vault, {LOG: [items[0].id]}, by=OWNER)
    assert [is_archived(memory, item) for item in items] == [False, True]
    with pytest.raises(NotFoundError):
        put_back(memory.vault, {LOG: ["M-1-00000000"]}, by=OWNER)


def test_memory_that_was_archived_twice_returns_as_it_was_last(memory: Memory, clock: SettableClock) -> None:
    item = packed(memory, clock, 1)[0]
    memory.restore(item.id)
    log = memory.vault.home.root / LOG
    log.write_text(log.read_text().replace("at the lake", "at the sea"))
    memory.sync()
    archive(Options(home=str(memory.vault.home.root)), item.id)
    memory.restore(item.id)
    assert memory.get(item.id).content == "Event 0 at the sea"  # type: ignore[union-attr]
    assert_index_is_as_rebuilt(memory)


def test_copy_of_a_memory_in_another_log_goes_with_it(memory: Memory, home: Path, clock: SettableClock) -> None:
    item = memory.remember("We met at the lake")
    clock.advance(days=1)
    memory.remember("The next day", importance=0.9)
    other = home / "agents/main/memory/2026-11-16.md"
    entry = (home / LOG).read_text().partition("\n\n")[2]
    other.write_text(f"{other.read_text()}\n{entry}")
    memory.sync()
    clock.advance(days=400)
    run(memory)
    assert "lake" not in other.read_text()
    assert is_archived(memory, item)
    assert_index_is_as_rebuilt(memory)


def test_archived_memory_can_be_forgotten_and_is_found_no_more(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, clock=clock, background=False) as memory:
        item = memory.remember("The code of the safe is 4711")
        memory.archive(item.id, by=OWNER)
        assert memory.recall("code of the safe", include=["archived"])
        memory.forget(item.id)
        assert not memory.recall("code of the safe", include=["archived"])
        memory.restore(item.id)
        assert memory.recall("code of the safe")[0].memory.id == item.id


def test_copy_that_says_something_else_stays_when_its_original_goes(
    memory: Memory, home: Path, clock: SettableClock
) -> None:
    item = memory.remember("We met at the lake")
    clock.advance(days=30)
    memory.remember("The next month", importance=0.9)
    other = home / "agents/main/memory/2026-12-15.md"
    entry = (home / LOG).read_text().partition("\n\n")[2].replace("lake", "river")
    other.write_text(f"{other.read_text()}\n{entry}")
    memory.sync()
    [copy] = [hit.memory for hit in memory.recall("river") if "river" in hit.memory.content]
    memory.confirm(copy.id)
    clock.advance(days=340)
    assert run(memory)[0].memories == 1
    assert is_archived(memory, item)
    assert memory.get(copy.id) is not None
    assert not is_archived(memory, copy)
    assert_index_is_as_rebuilt(memory)


def test_compressed_memory_is_shown_as_it_will_return(memory: Memory, home: Path, clock: SettableClock) -> None:
    item = packed(memory, clock, 1)[0]
    edited = gzip.decompress((home / PACKED).read_bytes()).replace(b"at the lake", b"at the sea")
    (home / ARCHIVE).write_bytes(edited)
    memory.sync()
    clock.advance(days=91)
    assert run(memory)[0].compressed == (ARCHIVE,)
    shown = memory.get(item.id)
    memory.restore(item.id)
    back = memory.get(item.id)
    assert shown is not None
    assert back is not None
    assert shown.content == back.content == "Event 0 at the sea"
