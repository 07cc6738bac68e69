"""Memories leave their logs for the archive and return, as one change with the lines that tell of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import count
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memfolio.clock import SettableClock, from_ms
from memfolio.errors import InputError, MemfolioError, NotFoundError
from memfolio.types import Action, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Receipt, UndoResult
from memfolio.vault.disk import Disk
from memfolio.vault.fields import normalise_content, text_id
from memfolio.vault.lines import read_lines
from memfolio.vault.move import (
    Excerpt,
    Files,
    compose_cut,
    compose_return,
    cut,
    cut_out,
    excerpts,
    memories_in,
    put_back,
    with_excerpts,
)
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER, Vault
from tests.conftest import START
from tests.disks import Crash, CrashingDisk, InterruptedDisk, QuickDisk
from tests.vault.minting import mint, render_entry
from tests.vault.proof import BOT, configured, find, item
from tests.vault.test_undo import ARCHIVE, LOG, add, contents, files, open_vault, undo

STATE = "agents/main/memory/meta/state/0001.jsonl"
NOTES = "# 2026-11-15 · Sunday\n\n## Morning\n- milk\n- bread\n- eggs\n\n## Evening\n- milk\n- a walk\n"


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with open_vault(home, clock) as vault:
        yield vault


def forget(vault: Vault, *ids: str, log: str = LOG) -> UndoResult:
    records = [{"op": "tombstone", "memory": each} for each in ids]
    return cut_out(vault, {log: ids}, by=OWNER, records=records)


def restore(vault: Vault, *ids: str, path: str = LOG) -> UndoResult:
    records = [{"op": "restore", "memory": each} for each in ids]
    return put_back(vault, {path: ids}, by=OWNER, records=records)


def add_all(vault: Vault, clock: SettableClock, *texts: str) -> list[str]:
    """Add memories one after the other; returns their ids."""
    ids: list[str] = []
    for text in texts:
        ids += add(vault, text).ids
        clock.advance(seconds=1)
    return ids


def write_by_hand(vault: Vault, text: str) -> None:
    log = vault.home.root / LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(text.encode())
    vault.survey()


def state(vault: Vault) -> list[dict[str, object]]:
    return read_lines(files(vault).get(STATE, b"")).records


def without_state(vault: Vault) -> dict[str, bytes]:
    return {path: data for path, data in files(vault).items() if path != STATE}


def said(text: str) -> str:
    return text_id("main", text)


def test_a_forgotten_memory_leaves_the_log_for_the_archive_as_one_change(vault: Vault) -> None:
    add(vault, "one")
    two = add(vault, "two")
    add(vault, "three")
    block = files(vault)[LOG].split(b"\n\n## ")[2]
    outcome = forget(vault, two.ids[0])
    assert contents(vault) == ["one", "three"]
    assert block in files(vault)[ARCHIVE]
    assert [(line["op"], line["memory"]) for line in state(vault)] == [("tombstone", two.ids[0])]
    assert outcome.receipt is not None
    assert set(outcome.receipt.paths) == {LOG, ARCHIVE, STATE}
    assert outcome.receipt.action is Action.DELETE


def test_a_restored_memory_is_where_it_was_byte_for_byte(vault: Vault, clock: SettableClock) -> None:
    ids = add_all(vault, clock, "one", "two", "three")
    before = files(vault)
    for each in ids:
        forget(vault, each)
    assert contents(vault) == []
    assert LOG in files(vault)
    for each in ids:
        outcome = restore(vault, each)
    assert without_state(vault) == before
    assert outcome.receipt is not None
    assert outcome.receipt.action is Action.RESTORE


def test_a_tombstone_holds_no_words(vault: Vault) -> None:
    write_by_hand(vault, NOTES)
    forget(vault, said("milk"))
    assert b"bread" not in files(vault)[STATE]
    assert b"milk" not in files(vault)[STATE]


def test_hand_written_text_leaves_every_place_and_returns_below_the_title(vault: Vault) -> None:
    write_by_hand(vault, NOTES)
    forget(vault, said("milk"))
    assert contents(vault) == ["bread", "eggs", "a walk"]
    found = find(vault, said("milk"))
    assert found is not None
    assert found.archived
    restore(vault, said("milk"), path=ARCHIVE)
    assert contents(vault) == ["milk", "bread", "eggs", "a walk"]
    assert files(vault)[LOG].startswith(b"# 2026-11-15 \xc2\xb7 Sunday\n\n- milk\n\n- milk\n\n## Morning\n- bread\n")
    assert ARCHIVE not in files(vault)


def test_an_indented_note_returns_as_the_memory_that_it_was(vault: Vault) -> None:
    write_by_hand(vault, "# 2026-11-15 · Sunday\n\n- one\n\ntwo\n\n  - three\n")
    before = {item.id for item in vault.entries("main")}
    for text in ("two", "three", "one"):
        forget(vault, said(text))
    for text in ("one", "three", "two"):
        restore(vault, said(text))
    assert {item.id for item in vault.entries("main")} == before


def test_a_memory_returns_to_a_log_that_was_deleted(vault: Vault) -> None:
    one = add(vault, "one")
    before = files(vault)
    forget(vault, one.ids[0])
    (vault.home.root / LOG).unlink()
    vault.survey()
    restore(vault, one.ids[0])
    assert without_state(vault) == before


def test_a_memory_returns_between_its_neighbours_after_hand_edits(vault: Vault, clock: SettableClock) -> None:
    ids = add_all(vault, clock, "one", "two", "three")
    forget(vault, ids[1])
    write_by_hand(vault, files(vault)[LOG].decode().replace("\none\n", "\none, corrected\n") + "\n\nby hand\n")
    add(vault, "four")
    restore(vault, ids[1])
    assert contents(vault) == ["one, corrected", "two", "three", "by hand", "four"]


def test_restoring_what_is_in_its_log_writes_only_the_lines(vault: Vault) -> None:
    one = add(vault, "one")
    before = files(vault)
    outcome = restore(vault, one.ids[0])
    assert outcome.paths == (STATE,)
    assert without_state(vault) == before


def test_nothing_to_move_and_nothing_to_tell_is_no_change(vault: Vault) -> None:
    one = add(vault, "one")
    seq = vault.journal.head.seq
    outcome = put_back(vault, {LOG: one.ids}, by=OWNER)
    assert (outcome.paths, outcome.receipt) == ((), None)
    assert vault.journal.head.seq == seq


def test_what_is_not_there_is_not_found_and_nothing_changes(vault: Vault) -> None:
    one = add(vault, "one")
    before = files(vault)
    with pytest.raises(NotFoundError, match="M-1-00000000") as caught:
        forget(vault, one.ids[0], "M-1-00000000")
    assert caught.value.hint
    with pytest.raises(NotFoundError):
        restore(vault, "M-1-00000000")
    with pytest.raises(NotFoundError):
        forget(vault, one.ids[0], log="agents/main/memory/2026-11-14.md")
    assert files(vault) == before


@pytest.mark.parametrize("path", ["agents/main/MEMORY.md", ARCHIVE, "memfolio.toml"])
def test_only_daily_logs_are_cut(vault: Vault, path: str) -> None:
    with pytest.raises(InputError):
        forget(vault, "M-1-00000000", log=path)


def test_a_page_is_nothing_to_return_from(vault: Vault) -> None:
    with pytest.raises(InputError):
        restore(vault, "M-1-00000000", path="agents/main/MEMORY.md")


def test_memories_of_two_agents_are_not_moved_together(vault: Vault) -> None:
    with pytest.raises(InputError):
        cut_out(vault, {LOG: ["M-1-00000000"], "shared/memory/2026-11-15.md": ["M-1-00000000"]}, by=OWNER)


def test_memories_of_several_logs_leave_and_return_together(vault: Vault, clock: SettableClock) -> None:
    one = add(vault, "one").ids[0]
    clock.advance(days=1)
    two = add(vault, "two").ids[0]
    before = files(vault)
    places = {LOG: [one], "agents/main/memory/2026-11-16.md": [two]}
    receipt = cut_out(vault, places, by=OWNER).receipt
    assert contents(vault) == []
    assert receipt is not None
    assert len(receipt.paths) == 4
    put_back(vault, places, by=OWNER)
    assert files(vault) == before


def test_a_preview_shows_the_difference_and_writes_nothing(vault: Vault) -> None:
    one = add(vault, "one")
    before, seq = files(vault), vault.journal.head.seq
    outcome = cut_out(vault, {LOG: one.ids}, by=OWNER, records=[{"op": "tombstone"}], dry_run=True)
    assert "-one" in outcome.diff
    assert "+one" in outcome.diff
    assert (outcome.receipt, set(outcome.paths)) == (None, {LOG, ARCHIVE})
    assert (files(vault), vault.journal.head.seq) == (before, seq)


def test_an_entry_that_is_archived_already_is_not_archived_twice(vault: Vault) -> None:
    one = add(vault, "one")
    forget(vault, one.ids[0])
    archived = files(vault)[ARCHIVE]
    restore(vault, one.ids[0])
    (vault.home.root / ARCHIVE).write_bytes(archived)
    forget(vault, one.ids[0])
    assert files(vault)[ARCHIVE] == archived


def test_the_newest_of_two_archived_states_returns(vault: Vault) -> None:
    one = add(vault, "one")
    forget(vault, one.ids[0])
    archived = files(vault)[ARCHIVE]
    restore(vault, one.ids[0])
    (vault.home.root / ARCHIVE).write_bytes(archived)
    write_by_hand(vault, files(vault)[LOG].decode().replace("\none\n", "\none, corrected\n"))
    forget(vault, one.ids[0])
    restore(vault, one.ids[0])
    assert contents(vault) == ["one, corrected"]
    assert files(vault)[ARCHIVE] == archived


def test_an_entry_that_stands_twice_leaves_and_returns_twice(vault: Vault) -> None:
    one = add(vault, "one").ids[0]
    add(vault, "two")
    twice = files(vault)[LOG].decode()
    write_by_hand(vault, twice + "\n" + twice.split("\n\n", 1)[1].split("\n## ")[0])
    before = files(vault)
    forget(vault, one)
    assert one.encode() not in files(vault)[LOG]
    restore(vault, one)
    assert lines_in({LOG: files(vault)[LOG]}) == lines_in({LOG: before[LOG]})
    assert ARCHIVE not in files(vault)


def copied(vault: Vault, log: str) -> tuple[str, str]:
    """A memory, and the id of the words of a copy of it, in this log, that says something else."""
    one = add(vault, "one").ids[0]
    there = files(vault).get(log, b"# 2026-11-16\n").decode()
    entry = files(vault)[LOG].decode().split("\n\n", 1)[1].replace("one", "copy")
    (vault.home.root / log).write_text(f"{there}\n{entry}")
    vault.survey()
    return one, said("copy")


OTHER = LOG.replace("11-15", "11-16")


@pytest.mark.parametrize("log", [LOG, OTHER])
def test_a_copied_entry_that_says_something_else_stays(vault: Vault, log: str) -> None:
    one, copy = copied(vault, log)
    places = {path: [one] for path in (LOG, log)}
    cut_out(vault, places, by=OWNER, records=[{"op": "archive", "memory": one}])
    assert [(item.id, item.content) for item in vault.entries("main")] == [(copy, "copy")]
    assert b"copy" not in files(vault)[ARCHIVE]
    assert OTHER.replace("memory/", "memory/archive/2026-11/") not in files(vault)
    restore(vault, one)
    assert sorted(contents(vault)) == ["copy", "one"]


@pytest.mark.parametrize("log", [LOG, OTHER])
def test_a_copied_entry_leaves_and_returns_by_the_id_of_its_words(vault: Vault, log: str) -> None:
    one, copy = copied(vault, log)
    forget(vault, copy, log=log)
    assert [item.id for item in vault.entries("main")] == [one]
    archive = files(vault)[log.replace("memory/", "memory/archive/2026-11/")]
    assert b"copy" in archive
    assert one.encode() not in archive
    restore(vault, copy, path=log)
    assert sorted(item.id for item in vault.entries("main")) == [copy, one]


def test_places_in_the_state_lines_of_older_homes_do_no_harm(vault: Vault) -> None:
    one = add(vault, "one").ids[0]
    before = files(vault)
    forget(vault, one)
    odd = [7, {"path": LOG}, {"path": LOG, "start": 23, "head": "0123456789abcdef", "before": "0123456789abcdef"}]
    line = {"op": "tombstone", "memory": one, "stood": odd}
    vault.add_lines(state_ledger("main"), [line, {**line, "stood": 3}, line], BOT)
    restore(vault, one)
    assert without_state(vault) == before


def receipt_of(outcome: UndoResult) -> Receipt:
    assert outcome.receipt is not None
    return outcome.receipt


def test_undoing_a_forgetting_brings_the_memory_back(vault: Vault, clock: SettableClock) -> None:
    write_by_hand(vault, NOTES)
    one, _ = add_all(vault, clock, "one", "two")
    before = files(vault)
    receipt = receipt_of(forget(vault, one, said("milk")))
    add(vault, "three")
    undo(vault, receipt.seq)
    after = files(vault)
    assert after.pop(LOG).startswith(before.pop(LOG))
    assert {path: data for path, data in after.items() if data} == before


def test_undoing_a_restoring_forgets_again(vault: Vault, clock: SettableClock) -> None:
    write_by_hand(vault, NOTES)
    one, _ = add_all(vault, clock, "one", "two")
    forget(vault, one, said("milk"))
    before = files(vault)
    receipt = receipt_of(restore(vault, one, said("milk")))
    assert files(vault) != before
    undo(vault, receipt.seq)
    assert files(vault) == before
    restore(vault, one, said("milk"))
    assert contents(vault) == ["milk", "bread", "eggs", "a walk", "one", "two"]


def test_undoing_a_forgetting_that_was_restored_changes_no_log(vault: Vault) -> None:
    one = add(vault, "one").ids[0]
    before = files(vault)
    receipt = receipt_of(forget(vault, one))
    restore(vault, one)
    undo(vault, receipt.seq)
    assert without_state(vault) == before


def test_what_was_forgotten_and_restored_is_undone_and_redone_like_anything_else(
    vault: Vault, clock: SettableClock
) -> None:
    one = add(vault, "one")
    clock.advance(seconds=1)
    add(vault, "two")
    before = without_state(vault)
    forget(vault, one.ids[0])
    restore(vault, one.ids[0])
    gone = undo(vault, one.seq)
    assert contents(vault) == ["two"]
    undo(vault, gone.seq)
    assert without_state(vault) == before


def correct(vault: Vault, old: str) -> Receipt:
    record = {"op": "supersede", "memory": old, "by": NewId(0), "all": [NewId(0), NewId(1)]}
    entries = AddEntries("main", (item("better"), item("and more")))
    operations = (entries, AddLines(state_ledger("main"), (record,)))
    return vault.apply(Change(operations=operations, by=BOT, action=Action.EDIT))


def test_a_line_names_the_memories_that_its_change_adds(vault: Vault) -> None:
    old = add(vault, "good").ids[0]
    before = files(vault)
    receipt = correct(vault, old)
    ids = [found.id for found in receipt.items]
    assert (state(vault)[0]["by"], state(vault)[0]["all"]) == (ids[0], ids)
    assert [vault.entries("main")[number].id for number in (1, 2)] == ids
    undo(vault, receipt.seq)
    after = files(vault)
    after.pop(ARCHIVE)
    assert {path: data for path, data in after.items() if data} == before


@pytest.mark.parametrize("index", [1, -1])
def test_a_line_cannot_name_a_memory_that_is_not_added_before_it(vault: Vault, index: int) -> None:
    operations = (AddEntries("main", (item("one"),)), AddLines(state_ledger("main"), ({"by": NewId(index)},)))
    with pytest.raises(InputError):
        vault.apply(Change(operations=operations, by=BOT, action=Action.EDIT))
    with pytest.raises(InputError):
        vault.apply(Change(operations=operations[::-1], by=BOT, action=Action.EDIT))
    assert contents(vault) == []


def test_somebody_who_writes_meanwhile_keeps_their_words(quick_path: Path) -> None:
    """A person comes before every other step of a move."""
    for k in count(1, 2):
        home = quick_path / str(k)
        ids = prepared(home)
        disk = InterruptedDisk(k, lambda home=home: add_line(home))  # type: ignore[misc]
        with opened(home, disk) as vault:
            forget(vault, ids[0])
        if disk.reached is None:
            return
        with opened(home) as vault:
            assert find(vault, ids[0]) is not None
            assert any(b"by a person" in data for data in files(vault).values()), disk
            assert [line["op"] for line in state(vault)] == ["tombstone"]


def test_writers_that_never_stop_do_not_hold_up_a_move(vault: Vault, clock: SettableClock) -> None:
    ids = add_all(vault, clock, *(f"number {number}" for number in range(20)))
    done = threading.Event()

    def keep_writing() -> None:
        while not done.is_set():
            add(vault, "more")

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for each in ids[::2]:
            forget(vault, each)
        for each in ids[::4]:
            restore(vault, each)
    finally:
        done.set()
        writer.join()
    kept = [found.id for found in vault.entries("main") if found.content.startswith("number")]
    assert kept == [each for number, each in enumerate(ids) if number % 2 or number % 4 == 0]


def opened(home: Path, disk: Disk | None = None) -> Vault:
    config = configured(home, git_enabled=False)
    return Vault.open(config=config, clock=SettableClock(START), disk=disk or QuickDisk())


def prepared(home: Path) -> list[str]:
    """A home with two entries and two notes; returns the ids of one entry and one note."""
    with opened(home) as vault:
        write_by_hand(vault, "# 2026-11-15 · Sunday\n\n- a note\n- a word\n")
        ids = [add(vault, text).ids[0] for text in ("one", "two")]
    return [ids[0], said("a note")]


def add_line(home: Path) -> None:
    with (home / LOG).open("ab") as file:
        file.write(b"by a person\n")


def die_in(home: Path, act: str, k: int, torn: int | None) -> CrashingDisk:
    """Make a home, and a change that dies at step k."""
    ids = prepared(home)
    if act == "restore":
        with opened(home) as vault:
            forget(vault, *ids)
    disk = CrashingDisk(k, torn=torn)
    try:
        with opened(home, disk) as vault:
            act_on(vault, act, ids)
    except (Crash, MemfolioError):
        if disk.last is None:
            raise
    return disk


def act_on(vault: Vault, act: str, ids: Sequence[str]) -> None:
    if act == "correct":
        correct(vault, ids[0])
    else:
        (forget if act == "forget" else restore)(vault, *ids)


def outcome_of(home: Path) -> tuple[dict[str, bytes], list[tuple[object, object]]]:
    """The files of a home, and what its state lines say."""
    with opened(home) as vault:
        assert vault.problems == {}
        assert vault.trail.problems() == []
        ours = {each.id for each in vault.entries("main")}
        told: list[tuple[object, object]] = [(line["op"], line.get("by") in ours) for line in state(vault)]
        return without_state(vault), told


@pytest.mark.parametrize("act", ["forget", "restore", "correct"])
def test_death_at_any_step_of_a_move_leaves_all_or_nothing(act: str, quick_path: Path) -> None:
    wholes = []
    for name, k in (("before", 1), ("after", 10**9)):
        die_in(quick_path / name, act, k, None)
        wholes.append(outcome_of(quick_path / name))
    assert wholes[0] != wholes[1]
    seen = Counter[int]()
    for k in count(1):
        disk = die_in(home := quick_path / str(k), act, k, None)
        if disk.last is None:
            break
        homes = [home]
        if disk.last.name == "write":
            die_in(torn := quick_path / f"{k} torn", act, k, len(disk.last.data) // 2)
            homes.append(torn)
        for found in map(outcome_of, homes):
            assert found in wholes, disk
            seen[wholes.index(found)] += 1
    assert seen[0] > 5
    assert seen[1] > 5


# Pure composition over arbitrary logs.

MARKS = [f"M-{1794753005123 + number}-0000000{number}" for number in range(6)]
WORDS = st.sampled_from(
    ["one", "two", "three\nlines", "four\n\nfive", "five:\n```\n- code\n```", "six  ", "ünï", "\\x"]
)


def untouched(number: int, words: str) -> str:
    """An entry as it was written; `number` is its place among the others."""
    draft = MemoryItem(id="", content=normalise_content(words), created_at=from_ms(1794753005000))
    made = mint(draft, BOT, agent="main", tz=UTC, created_ms=1794753005123 + number, taken=())
    return render_entry(made, UTC).rstrip("\n")


NOTE = st.one_of(
    st.builds("{}{} {}".format, st.sampled_from(["", "  ", "\t"]), st.sampled_from("-*+"), WORDS),
    WORDS,
    st.sampled_from(
        ["## Morning", "---", "<!-- importance: 7 -->", "### 09:15", "~~~\n## 10:00 code\n~~~", "---\n- a"]
    ),
)
ENTRY = st.one_of(
    st.builds("## 14:30:05 fact · 0.5 ^{}\n\n{}".format, st.sampled_from(MARKS), WORDS),
    st.builds("## {}\n{}".format, st.sampled_from(["09:15 lunch", "10:00"]), WORDS),
)
WHOLE = st.builds(untouched, st.integers(0, 5), WORDS)
GAP = st.sampled_from(["\n", "\n\n", "\n\n", "\n\n", "\n\n\n"])


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    title = draw(st.sampled_from(["# 2026-11-15 · Sunday\n\n", "# 2026-11-15 · Sunday\n", "", "---\na: b\n---\n"]))
    entries = st.one_of(ENTRY, WHOLE, WHOLE, NOTE)
    marked = draw(st.lists(entries, max_size=8, unique_by=lambda entry: entry.partition("^")[2][:24] or entry))
    parts = [*draw(st.lists(NOTE, max_size=6)), *marked]
    text = title + "".join(part + draw(GAP) for part in parts)
    text = text.replace("\n", "\r\n") if draw(st.booleans()) and draw(st.booleans()) else text
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.encode() + draw(st.sampled_from([b"", b"", b"\n\n\xff\n"]))


def gone(before: Files, ids: Sequence[str]) -> dict[str, bytes | None]:
    """The files without the memories."""
    return {**before, **compose_cut(before, {LOG: ids})}


def lines_in(found: Files) -> Counter[bytes]:
    """How often each line that is not blank stands in these files."""
    return Counter(line.strip() for data in found.values() for line in (data or b"").splitlines() if line.strip())


@given(
    log=logs(),
    archive=st.none() | st.just(b"# 2026-11-15 \xc2\xb7 Sunday\n\nold\n\n- note\n\n## 09:00\n\nx\n"),
    data=st.data(),
)
def test_any_memories_that_leave_any_log_return_with_all_their_lines(
    log: bytes, archive: bytes | None, data: st.DataObject
) -> None:
    present = sorted(memories_in(LOG, log))
    assume(present)
    ids = data.draw(st.lists(st.sampled_from(present), min_size=1, unique=True))
    before: Files = {LOG: log, ARCHIVE: archive}
    after = gone(before, ids)
    assert memories_in(ARCHIVE, after[ARCHIVE]) >= set(ids) | memories_in(ARCHIVE, archive)
    back = {**after, **compose_return(after, {LOG: ids})}
    assert memories_in(LOG, back[LOG]) >= set(ids)
    assert lines_in(back) >= lines_in(before)


@given(log=logs(), data=st.data())
@example(log=b"# 2026-11-15 \xc2\xb7 Sunday\n\n  - one\n- one\n", data=None)
def test_memories_that_left_one_by_one_return_in_any_order(log: bytes, data: st.DataObject | None) -> None:
    present = sorted(memories_in(LOG, log))
    assume(present)
    ids = data.draw(st.lists(st.sampled_from(present), min_size=1, unique=True)) if data else present
    current: dict[str, bytes | None] = {LOG: log, ARCHIVE: None}
    left: list[str] = []
    for each in ids:
        if each in memories_in(LOG, current[LOG]):
            current = gone(current, [each])
            left.append(each)
    together = {**current, **compose_return(current, {LOG: left})}
    assert lines_in(together) >= lines_in({LOG: log})
    for each in data.draw(st.permutations(left)) if data else left:
        current |= compose_return(current, {LOG: [each]})
    # What reads differently without its neighbour may count as being there already: then its copy stays archived.
    assert lines_in(current) >= lines_in({LOG: log})


RETURNING = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["Plain words", "```\nopen"])), max_size=6)


def entry_of(time: int, number: int, body: str) -> Excerpt:
    mark = f"M-{1_794_000_000_000 + time}-{number:08x}"
    raw = f"## 10:00:00 observation · 0.5 ^{mark}\n\n{body}"
    return Excerpt(id=mark, start=0, raw=raw, body=raw, is_note=False)


@given(RETURNING, RETURNING, st.sampled_from(["", "# 2026-11-15 · Sunday\n", "A note on top"]))
def test_entries_that_return_together_stand_in_the_order_of_time(
    there: list[tuple[int, str]], returning: list[tuple[int, str]], head: str
) -> None:
    known = [entry_of(time, number, body) for number, (time, body) in enumerate(sorted(there))]
    back = [entry_of(time, number, body) for number, (time, body) in enumerate(returning, 100)]
    text = head + "".join(f"\n{each.body}\n" for each in known)
    after = with_excerpts(LOG, text, back)
    taken = excerpts(LOG, after, {each.id for each in (*known, *back)})
    assert [each.id[:15] for each in taken] == sorted(each.id[:15] for each in (*known, *back))
    assert cut(after, excerpts(LOG, after, {each.id for each in back})).split() == text.split()
