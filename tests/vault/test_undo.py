"""Undo takes changes back as a change of its own, whatever happened since."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.config import load_config
from memfolio.errors import NotFoundError, RefusedError, UndoConflictError
from memfolio.types import Action, Attribution, MemoryItem
from memfolio.vault.change import AddEntries, AddLines, Change, PutPage, Receipt
from memfolio.vault.past.undo import ledger_blocks
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER, Vault
from tests.conftest import START

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
    return {path: data for path, data in found.items() if not path.startswith((".git/", ".memfolio/", "audit/"))}


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
    found = vault.find(second.ids[0])
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
    before, seq = files(vault), vault.books.recent.head.seq
    outcome = vault.past.undo([receipt.seq], by=OWNER, dry_run=True)
    assert "-one" in outcome.diff
    assert outcome.receipt is None
    assert (files(vault), vault.books.recent.head.seq) == (before, seq)


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
