"""Undo takes changes back as a change of its own, whatever happened since."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import NotFoundError, RefusedError, UndoConflictError
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, PutPage, Receipt
from memfolio.vault.fields import text_id
from memfolio.vault.move import cut_out
from memfolio.vault.past.merge import ledger_blocks
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER, Vault
from tests.conftest import START
from tests.disks import RecordingDisk
from tests.vault.proof import find

BOT = Attribution()
LOG = "agents/main/memory/2026-11-15.md"
ARCHIVE = "agents/main/memory/archive/2026-11/2026-11-15.md"
MEMORY = "agents/main/MEMORY.md"


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with open_vault(home, clock) as vault:
        yield vault


def open_vault(home: Path, clock: SettableClock) -> Vault:
    return Vault.open(config=load_config(home, overrides={"timezone": "UTC"}), clock=clock)


def add(vault: Vault, text: str, *, session: str | None = None, source: str = "conversation") -> Receipt:
    item = MemoryItem(id="", content=text, created_at=START, session=session, source=source)
    return vault.add("main", [item], BOT)


def write(vault: Vault, path: str, text: str) -> Receipt:
    page = vault.page(path)
    return vault.put_page(path, text, expects=page.hash if page else None, by=BOT)


def files(vault: Vault) -> dict[str, bytes]:
    """Every file of the memory, without trail and internals."""
    root = vault.home.root
    paths = (path for path in root.rglob("*") if path.is_file())
    found = {str(path.relative_to(root)): path.read_bytes() for path in paths}
    return {
        path: data
        for path, data in found.items()
        if not path.startswith((".git/", ".git-new/", ".memfolio/", "audit/"))
    }


def undo(vault: Vault, *seqs: int) -> Receipt:
    receipt = vault.past.undo(seqs, by=OWNER).receipt
    assert receipt is not None
    return receipt


def contents(vault: Vault) -> list[str]:
    return [item.content for item in vault.entries("main")]


def test_an_undone_entry_leaves_the_log_and_is_kept_in_the_archive(vault: Vault) -> None:
    add(vault, "one")
    second = add(vault, "two")
    add(vault, "three")
    undo(vault, second.seq)
    assert contents(vault) == ["one", "three"]
    assert b"two" in files(vault)[ARCHIVE]
    found = find(vault, second.ids[0])
    assert found is not None
    assert (found.item.content, found.archived) == ("two", True)


def test_undo_then_redo_is_byte_identical(vault: Vault) -> None:
    receipts = [add(vault, "one"), add(vault, "two"), write(vault, MEMORY, "a\nb\n"), write(vault, MEMORY, "a\nc\n")]
    before = files(vault)
    for receipt in receipts:
        reverted = undo(vault, receipt.seq) if receipt is not receipts[2] else None
        if reverted is not None:
            assert files(vault) != before
            undo(vault, reverted.seq)
        assert files(vault) == before


def test_undoing_the_first_entry_of_a_day_keeps_the_title_for_the_others(vault: Vault) -> None:
    first = add(vault, "one")
    add(vault, "two")
    undo(vault, first.seq)
    assert files(vault)[LOG].startswith(b"# 2026-11-15 \xc2\xb7 Sunday\n\n## ")
    assert contents(vault) == ["two"]


def test_undoing_the_only_entry_of_a_day_removes_the_file(vault: Vault) -> None:
    only = add(vault, "one")
    undo(vault, only.seq)
    assert LOG not in files(vault)


def test_an_edited_entry_cannot_be_undone_and_nothing_changes(vault: Vault) -> None:
    receipt = add(vault, "one")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().replace(b"\none\n", b"\none, corrected by hand\n"))
    before = files(vault)
    with pytest.raises(UndoConflictError) as caught:
        undo(vault, receipt.seq)
    assert "+one, corrected by hand" in caught.value.diff
    assert files(vault) == before


def test_a_page_edit_is_taken_back_around_a_later_edit_elsewhere(vault: Vault) -> None:
    write(vault, MEMORY, "one\ntwo\nthree\n")
    edit = write(vault, MEMORY, "ONE\ntwo\nthree\n")
    (vault.home.root / MEMORY).write_text("ONE\ntwo\nTHREE\n")
    undo(vault, edit.seq)
    assert files(vault)[MEMORY] == b"one\ntwo\nTHREE\n"


def test_a_page_edit_that_a_later_edit_overlaps_is_refused_with_the_difference(vault: Vault) -> None:
    write(vault, MEMORY, "one\n")
    edit = write(vault, MEMORY, "two\n")
    write(vault, MEMORY, "three\n")
    with pytest.raises(UndoConflictError) as caught:
        undo(vault, edit.seq)
    assert "three" in caught.value.diff
    assert files(vault)[MEMORY] == b"three\n"


def test_all_of_a_session_is_undone_as_one_change(vault: Vault) -> None:
    for number in range(6):
        add(vault, f"number {number}", session="s-1" if number % 2 else "s-2")
    outcome = vault.past.undo(session="s-1", by=OWNER)
    assert contents(vault) == ["number 0", "number 2", "number 4"]
    assert len(outcome.seqs) == 3
    assert outcome.receipt is not None
    undo(vault, outcome.receipt.seq)
    assert contents(vault) == [f"number {number}" for number in range(6)]


def test_a_session_is_undone_around_what_a_person_wrote_below_its_entries(vault: Vault) -> None:
    log = vault.home.root / LOG
    for text in ("one", "two"):
        add(vault, text, session="s-1")
        log.write_text(f"{log.read_text()}mine, below {text}\n")
    add(vault, "three")
    receipt = vault.past.undo(session="s-1", by=OWNER).receipt
    assert receipt is not None
    assert contents(vault) == ["mine, below one", "mine, below two", "three"]
    undo(vault, receipt.seq)
    assert contents(vault) == ["one", "mine, below one", "two", "mine, below two", "three"]


def test_all_of_a_source_and_all_of_an_actor_can_be_undone(vault: Vault) -> None:
    add(vault, "kept")
    add(vault, "imported", source="import:web")
    vault.add(
        "main", [MemoryItem(id="", content="skilled", created_at=START)], Attribution(actor="skill:x", trigger="run")
    )
    vault.past.undo(source="import:web", by=OWNER)
    vault.past.undo(actor="skill:x", by=OWNER)
    assert contents(vault) == ["kept"]


def test_what_is_undone_already_is_not_undone_again(vault: Vault) -> None:
    receipt = add(vault, "one")
    first = undo(vault, receipt.seq)
    with pytest.raises(NotFoundError):
        undo(vault, receipt.seq)
    redo = undo(vault, first.seq)
    undo(vault, redo.seq)
    with pytest.raises(NotFoundError):
        undo(vault, receipt.seq)
    assert contents(vault) == []


def test_an_unknown_change_is_not_found(vault: Vault) -> None:
    with pytest.raises(NotFoundError):
        undo(vault, 999)


def test_alerts_cannot_be_undone(vault: Vault) -> None:
    write(vault, "agents/main/SOUL.md", "be good\n")
    with pytest.raises(RefusedError):
        undo(vault, vault.alerts()[0].seq)


def test_a_dry_run_shows_the_difference_and_writes_nothing(vault: Vault) -> None:
    receipt = add(vault, "one")
    before, seq = files(vault), vault.journal.head.seq
    outcome = vault.past.undo([receipt.seq], by=OWNER, dry_run=True)
    assert "-one" in outcome.diff
    assert outcome.receipt is None
    assert (files(vault), vault.journal.head.seq) == (before, seq)


def test_a_change_of_several_files_is_undone_as_one(vault: Vault) -> None:
    before = files(vault)
    operations = (
        AddEntries("main", (MemoryItem(id="", content="one", created_at=START),)),
        AddLines(state_ledger("main"), ({"op": "pin", "memory": "M-1-00000000"},)),
        PutPage(MEMORY, b"page\n", None),
    )
    receipt = vault.apply(Change(operations=operations, by=BOT, action=Action.APPEND))
    undo(vault, receipt.seq)
    after = files(vault)
    after.pop(ARCHIVE)
    assert after == before


def test_a_persons_edit_can_be_undone(vault: Vault) -> None:
    write(vault, MEMORY, "one\n")
    (vault.home.root / MEMORY).write_text("one\nby hand\n")
    vault.survey()
    edit = vault.past.log(limit=1)[0]
    assert edit.actor == "human"
    undo(vault, edit.seq)
    assert files(vault)[MEMORY] == b"one\n"


def test_undo_works_while_git_is_in_somebodys_hands(vault: Vault) -> None:
    add(vault, "one")
    vault.commit()
    (vault.home.root / ".git" / "MERGE_HEAD").write_text(f"{vault.history.tip()}\n")
    receipt = add(vault, "two")
    undo(vault, receipt.seq)
    assert contents(vault) == ["one"]
    (vault.home.root / ".git" / "MERGE_HEAD").unlink()
    assert vault.commit() == 0


def add_mixed(vault: Vault, **texts: str) -> Receipt:
    """One change with one entry per session, and a source of the same name."""
    items = [
        MemoryItem(id="", content=text, created_at=START, session=name, source=name) for name, text in texts.items()
    ]
    return vault.add("main", items, BOT)


def forget(vault: Vault, id: str, op: str = "tombstone") -> Receipt:
    return vault.add_lines(state_ledger("main"), [{"op": op, "memory": id}], BOT)


@pytest.mark.parametrize("label", ["session", "source"])
def test_of_a_change_with_several_sessions_only_the_named_ones_entries_are_undone(vault: Vault, label: str) -> None:
    add_mixed(vault, a="poison", b="fine")
    both = add_mixed(vault, b="good", c="well")
    wanted = {label: "a"}
    outcome = vault.past.undo(by=OWNER, session=wanted.get("session"), source=wanted.get("source"))
    assert contents(vault) == ["fine", "good", "well"]
    assert b"poison" in files(vault)[ARCHIVE]
    assert both.seq not in outcome.seqs


def test_the_rest_of_a_partly_undone_change_can_be_undone_and_everything_comes_back(vault: Vault) -> None:
    change = add_mixed(vault, a="one", b="two", c="three")
    before = files(vault)
    first = vault.past.undo(session="b", by=OWNER).receipt
    with pytest.raises(NotFoundError):
        vault.past.undo(session="b", by=OWNER)
    second = undo(vault, change.seq)
    assert contents(vault) == []
    assert LOG not in files(vault)
    with pytest.raises(NotFoundError):
        undo(vault, change.seq)
    undo(vault, second.seq)
    assert contents(vault) == ["one", "three"]
    assert first is not None
    undo(vault, first.seq)
    assert files(vault) == before
    undo(vault, change.seq)
    assert contents(vault) == []


def test_a_session_whose_name_the_trail_cannot_hold_is_found_in_the_entries(vault: Vault) -> None:
    add(vault, "one", session="Monday, at lunch")
    add(vault, "two", session="s-2")
    vault.past.undo(session="Monday, at lunch", by=OWNER)
    assert contents(vault) == ["two"]


def test_an_edited_entry_of_a_mixed_change_is_refused_and_nothing_changes(vault: Vault) -> None:
    add_mixed(vault, a="one", b="two")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().replace(b"\none\n", b"\none, corrected by hand\n"))
    before = files(vault)
    with pytest.raises(UndoConflictError):
        vault.past.undo(session="a", by=OWNER)
    assert files(vault) == before
    vault.past.undo(session="b", by=OWNER)
    assert contents(vault) == ["one, corrected by hand"]


def test_blank_lines_that_people_left_do_not_stand_in_the_way(vault: Vault) -> None:
    add(vault, "zero")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes() + b"\n\n")
    add_mixed(vault, a="one", b="two")
    vault.past.undo(session="a", by=OWNER)
    assert contents(vault) == ["zero", "two"]


def test_an_entry_that_leaves_while_another_comes_back_is_in_the_archive(vault: Vault) -> None:
    one, two = add(vault, "one"), add(vault, "two")
    gone = undo(vault, one.seq)
    undo(vault, gone.seq, two.seq)
    assert contents(vault) == ["one"]
    found = find(vault, two.ids[0])
    assert found is not None
    assert found.archived


def test_an_entry_undone_together_with_its_undo_stays_in_the_archive(vault: Vault) -> None:
    one, two = add(vault, "one"), add(vault, "two")
    gone = undo(vault, one.seq, two.seq)
    back = undo(vault, gone.seq)
    again = undo(vault, one.seq)
    undo(vault, again.seq, back.seq, one.seq)
    assert contents(vault) == []
    for receipt in (one, two):
        found = find(vault, receipt.ids[0])
        assert found is not None
        assert found.archived


def test_a_forgotten_entry_does_not_come_back_when_its_undo_is_undone(vault: Vault) -> None:
    one, two = add(vault, "one"), add(vault, "two")
    gone = undo(vault, one.seq, two.seq)
    forget(vault, one.ids[0])
    undo(vault, gone.seq)
    assert contents(vault) == ["two"]
    found = find(vault, one.ids[0])
    assert found is not None
    assert found.archived


def test_nothing_is_undone_when_all_of_it_is_forgotten(vault: Vault) -> None:
    one = add(vault, "one")
    gone = undo(vault, one.seq)
    forget(vault, one.ids[0])
    before = files(vault)
    with pytest.raises(NotFoundError):
        undo(vault, gone.seq)
    assert files(vault) == before


def test_undoing_the_forgetting_too_brings_an_entry_back(vault: Vault) -> None:
    one = add(vault, "one")
    gone = undo(vault, one.seq)
    forgotten = forget(vault, one.ids[0])
    undo(vault, gone.seq, forgotten.seq)
    assert contents(vault) == ["one"]


def test_a_purged_entry_does_not_even_come_back_to_the_archive(vault: Vault) -> None:
    one = add(vault, "one")
    back = undo(vault, undo(vault, one.seq).seq)
    vault.commit()  # what git has not seen yet comes back when it is deleted
    log = vault.home.root / LOG
    log.unlink()
    vault.survey()
    forget(vault, one.ids[0], op="purge")
    with pytest.raises(NotFoundError):
        undo(vault, back.seq)
    assert find(vault, one.ids[0]) is None


def test_forgotten_hand_written_text_does_not_come_back(vault: Vault) -> None:
    add(vault, "one")
    log = vault.home.root / LOG
    written = log.read_bytes()
    log.write_bytes(written.replace(b"Sunday\n", b"Sunday\n\n- a secret\n- a word\n"))
    vault.survey()
    log.write_bytes(written)
    vault.survey()
    removal = vault.past.log(limit=1)[0]
    forget(vault, text_id("main", "a secret"))
    undo(vault, removal.seq)
    assert contents(vault) == ["a word", "one"]


def test_a_large_undo_lets_other_writers_work_and_takes_their_entries_along(vault: Vault) -> None:
    for number in range(40):
        add(vault, f"number {number}", session=f"s-{number % 2}")
    read, meanwhile = vault.past._now, iter(["while composing"])

    def read_late(path: str) -> bytes | None:
        content = read(path)
        for text in meanwhile:
            add(vault, text)
        return content

    vault.past._now = read_late  # type: ignore[method-assign]
    vault.past.undo(session="s-1", by=OWNER)
    assert contents(vault) == [*(f"number {number}" for number in range(0, 40, 2)), "while composing"]


def test_an_entry_deleted_by_hand_does_not_stand_in_the_way_of_the_others(vault: Vault) -> None:
    receipts = [add(vault, f"number {number}", session="s-1") for number in range(3)]
    add(vault, "kept")
    log = vault.home.root / LOG
    blocks = ledger_blocks(LOG, log.read_bytes())
    log.write_text("".join(block for block in blocks if receipts[1].ids[0] not in block))
    vault.past.undo(session="s-1", by=OWNER)
    assert contents(vault) == ["kept"]


def test_lines_with_odd_ids_can_be_merged(vault: Vault) -> None:
    state = vault.home.root / "agents/main/memory/meta/state/0001.jsonl"
    forget(vault, "M-1-00000000", op="pin")
    written = state.read_text()
    state.write_text(written + '{"id":"one-x-y"}\n')
    vault.survey()
    edit = vault.past.log(limit=1)[0]
    state.write_text(written + '{"id":"one-x-y"}\n{"id":"two-9999999999999999999-z"}\n')
    undo(vault, edit.seq)
    assert state.read_text() == written + '{"id":"two-9999999999999999999-z"}\n'


@settings(max_examples=12)
@given(data=st.data())
def test_independent_undos_commute(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 6))
    chosen = data.draw(st.permutations(range(count)).map(lambda order: order[: max(1, count - 1)]))
    results = []
    for order in (chosen, sorted(chosen)):
        with open_vault(tmp_path_factory.mktemp("home") / "h", SettableClock(START)) as vault:
            receipts = [add(vault, f"number {number}") for number in range(count)]
            for number in order:
                undo(vault, receipts[number].seq)
            results.append(files(vault)[LOG] if count > len(chosen) else files(vault).get(LOG))
    assert results[0] == results[1]


@given(st.lists(st.text(alphabet="ab# \n·:0123456789^M-", max_size=30), max_size=8))
def test_ledger_blocks_lose_nothing(texts: list[str]) -> None:
    text = "\n".join(texts)
    assert "".join(ledger_blocks(LOG, text.encode())) == text


def test_a_note_that_is_undone_is_kept_in_the_archive(vault: Vault) -> None:
    add(vault, "one")
    log = vault.home.root / LOG
    before = log.read_bytes()
    log.write_bytes(before + b"\n- a note about the red bicycle\n")
    vault.survey()
    now = files(vault)
    receipt = undo(vault, vault.journal.head.seq)
    assert files(vault)[LOG] == before
    assert b"\n- a note about the red bicycle\n" in files(vault)[ARCHIVE]
    undo(vault, receipt.seq)
    assert files(vault) == now


def test_taking_back_a_forgetting_syncs_only_what_it_must(home: Path, clock: SettableClock) -> None:
    disk = RecordingDisk()
    with Vault.open(config=load_config(home, overrides={"timezone": "UTC"}), clock=clock, disk=disk) as vault:
        first, second = add(vault, "one").ids[0], add(vault, "two").ids[0]
        cut_out(vault, {LOG: [second]}, by=OWNER, records=[{"op": "tombstone", "memory": second}])
        vault.commit()

        def syncs(verb: Callable[[], Receipt | None]) -> tuple[int, int]:
            before = len(disk.calls)
            receipt = verb()
            assert receipt is not None
            return sum(call.name == "fsync" for call in disk.calls[before:]), receipt.seq

        tombstone = [{"op": "tombstone", "memory": first}]
        # The intent and each page twice, for its bytes and its name; the state line and the trail once.
        forgotten, seq = syncs(lambda: cut_out(vault, {LOG: [first]}, by=OWNER, records=tombstone).receipt)
        assert forgotten == 2 + 2 * 2 + 1 + 1
        assert syncs(lambda: undo(vault, seq))[0] == 2 + 3 * 2 + 1
