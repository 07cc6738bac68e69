"""Rollback brings back a moment, except for the trail, the archive, and what was forgotten since; nothing is lost."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import HistoryError, NotFoundError, PathError
from memfolio.vault.change import Receipt, UndoResult
from memfolio.vault.fields import text_id
from memfolio.vault.move import cut_out, forgotten_by, lasting_lines, put_back
from memfolio.vault.paths import archive_page, state_ledger
from memfolio.vault.vault import OWNER, Vault
from tests.conftest import START
from tests.vault.proof import commits
from tests.vault.test_undo import ARCHIVE, BOT, LOG, MEMORY, add, contents, files, forget, open_vault, undo, write

STATE = "agents/main/memory/meta/state/0001.jsonl"


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Vault:
    return open_vault(home, clock)


def tip(vault: Vault) -> str:
    assert vault.commit() == 0
    commit = vault.history.tip()
    assert commit is not None
    return commit


def test_a_home_goes_back_to_a_commit_byte_for_byte(vault: Vault) -> None:
    add(vault, "one")
    write(vault, MEMORY, "first\n")
    before, commit = files(vault), tip(vault)
    add(vault, "two")
    write(vault, MEMORY, "second\n")
    write(vault, "agents/main/USER.md", "new\n")
    outcome = vault.past.rollback(to=commit, by=OWNER)
    after = files(vault)
    assert b"two" in after.pop(ARCHIVE)
    assert after == before
    assert set(outcome.paths) == {LOG, ARCHIVE, MEMORY, "agents/main/USER.md"}


def test_a_home_goes_back_to_a_time(vault: Vault, clock: SettableClock) -> None:
    add(vault, "one")
    clock.advance(hours=1)
    add(vault, "two")
    vault.past.rollback(to=START + timedelta(minutes=30), by=OWNER)
    assert contents(vault) == ["one"]


def test_one_page_goes_back_alone(vault: Vault) -> None:
    write(vault, MEMORY, "first\n")
    commit = tip(vault)
    write(vault, MEMORY, "second\n")
    add(vault, "two")
    vault.past.rollback(MEMORY, to=commit, by=OWNER)
    assert files(vault)[MEMORY] == b"first\n"
    assert contents(vault) == ["two"]


def test_a_rollback_is_a_change_and_can_be_undone(vault: Vault) -> None:
    write(vault, MEMORY, "first\n")
    commit = tip(vault)
    write(vault, MEMORY, "second\n")
    before = files(vault)
    receipt = vault.past.rollback(to=commit, by=OWNER).receipt
    assert receipt is not None
    undo(vault, receipt.seq)
    assert files(vault) == before


def test_the_trail_is_never_rolled_back(vault: Vault) -> None:
    add(vault, "one")
    commit = tip(vault)
    add(vault, "two")
    seq = vault.journal.head.seq
    vault.past.rollback(to=commit, by=OWNER)
    assert vault.journal.head.seq == seq + 1
    assert vault.trail.problems() == []


def test_what_was_forgotten_since_stays_forgotten(vault: Vault) -> None:
    one, two = add(vault, "one"), add(vault, "two")
    commit = tip(vault)
    vault.add_lines(state_ledger("main"), [{"op": "tombstone", "memory": one.ids[0]}], BOT)
    vault.add_lines(state_ledger("main"), [{"op": "pin", "memory": two.ids[0]}], BOT)
    undo(vault, one.seq)
    vault.past.rollback(to=commit, by=OWNER)
    assert contents(vault) == ["two"]
    state = files(vault)[STATE].decode()
    assert '"tombstone"' in state
    assert '"pin"' not in state


def test_what_was_forgotten_stays_forgotten_when_only_its_log_is_rolled_back(vault: Vault) -> None:
    one = add(vault, "one")
    add(vault, "two")
    commit = tip(vault)
    forget(vault, one.ids[0])
    undo(vault, one.seq)
    state = files(vault)[STATE]
    add(vault, "three")
    outcome = vault.past.rollback(LOG, to=commit, by=OWNER)
    assert contents(vault) == ["two"]
    assert set(outcome.paths) == {LOG, ARCHIVE}
    assert b"three" in files(vault)[ARCHIVE]
    assert files(vault)[STATE] == state


def test_what_another_agent_forgot_earlier_stays_forgotten_too(vault: Vault) -> None:
    one = add(vault, "one")
    add(vault, "two")
    commit = tip(vault)
    vault.add_lines(state_ledger("other"), [{"op": "purge", "memory": one.ids[0]}], BOT)
    undo(vault, one.seq)
    vault.past.rollback(LOG, to=commit, by=OWNER)
    assert contents(vault) == ["two"]


def test_forgotten_hand_written_text_stays_forgotten(vault: Vault) -> None:
    add(vault, "one")
    log = vault.home.root / LOG
    written = log.read_bytes()
    log.write_bytes(written.replace(b"Sunday\n", b"Sunday\n\n- a secret\n- a word\n"))
    vault.survey()
    commit = tip(vault)
    log.write_bytes(written)
    vault.survey()
    forget(vault, text_id("main", "a secret"))
    vault.past.rollback(LOG, to=commit, by=OWNER)
    assert contents(vault) == ["a word", "one"]


def test_undoing_a_rollback_does_not_bring_back_what_was_forgotten_since(vault: Vault) -> None:
    commit = tip(vault)
    one = add(vault, "one")
    add(vault, "two")
    receipt = vault.past.rollback(to=commit, by=OWNER).receipt
    assert receipt is not None
    forget(vault, one.ids[0])
    undo(vault, receipt.seq)
    assert contents(vault) == ["two"]


def cut(vault: Vault, id: str) -> Receipt:
    return done(cut_out(vault, {LOG: [id]}, by=OWNER, records=[{"op": "tombstone", "memory": id}]))


def bring_back(vault: Vault, id: str) -> Receipt:
    return done(put_back(vault, {LOG: [id]}, by=OWNER, records=[{"op": "restore", "memory": id}]))


def done(outcome: UndoResult) -> Receipt:
    assert outcome.receipt is not None
    return outcome.receipt


def test_what_was_restored_since_is_not_forgotten_by_a_rollback(vault: Vault) -> None:
    one = add(vault, "one")
    before, commit = files(vault), tip(vault)
    cut(vault, one.ids[0])
    bring_back(vault, one.ids[0])
    vault.past.rollback(to=commit, by=OWNER)
    assert files(vault) == before


def test_what_was_forgotten_once_more_stays_forgotten(vault: Vault) -> None:
    one = add(vault, "one")
    commit = tip(vault)
    cut(vault, one.ids[0])
    bring_back(vault, one.ids[0])
    cut(vault, one.ids[0])
    vault.past.rollback(to=commit, by=OWNER)
    assert contents(vault) == []
    assert files(vault)[STATE].count(b"tombstone") == 1


@pytest.mark.parametrize("text", ["one", "a secret"])
def test_a_rollback_to_when_something_was_forgotten_forgets_it_again(vault: Vault, text: str) -> None:
    add(vault, "one")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().replace(b"Sunday\n", b"Sunday\n\n- a secret\n- a word\n"))
    vault.survey()
    memory = next(item.id for item in vault.entries("main") if item.content == text)
    cut(vault, memory)
    then, commit = files(vault), tip(vault)
    back = bring_back(vault, memory)
    now = files(vault)
    receipt = done(vault.past.rollback(to=commit, by=OWNER))
    assert files(vault) == then
    undo(vault, receipt.seq)
    assert files(vault) == now
    assert back.seq < receipt.seq
    vault.past.rollback(to=commit, by=OWNER)
    bring_back(vault, memory)
    assert files(vault)[LOG] == now[LOG]


def test_the_lines_that_lift_are_found_across_parts_of_the_ledger() -> None:
    folder = "agents/main/memory/meta/state"
    lines = {op: f'{{"op":"{op}","memory":"M-1-00000000"}}\n'.encode() for op in ("tombstone", "purge", "restore")}
    parts = {f"{folder}/10000.jsonl": lines["restore"], f"{folder}/0002.jsonl": lines["tombstone"]}
    assert forgotten_by(lasting_lines(parts)) == set()
    assert forgotten_by(lasting_lines({**parts, f"{folder}/10001.jsonl": lines["tombstone"]})) == {"M-1-00000000"}
    assert forgotten_by(lasting_lines({**parts, f"{folder}/0001.jsonl": lines["purge"]})) == {"M-1-00000000"}
    other = {"agents/other/memory/meta/state/0001.jsonl": lines["tombstone"]}
    assert forgotten_by(lasting_lines({**parts, **other})) == {"M-1-00000000"}


def test_a_dry_run_shows_the_difference_and_writes_nothing(vault: Vault) -> None:
    write(vault, MEMORY, "first\n")
    commit = tip(vault)
    write(vault, MEMORY, "second\n")
    before = files(vault)
    outcome = vault.past.rollback(to=commit, by=OWNER, dry_run=True)
    assert "+first" in outcome.diff
    assert files(vault) == before


def test_a_persons_unrecorded_edit_is_in_git_before_it_is_rolled_back(vault: Vault) -> None:
    write(vault, MEMORY, "first\n")
    commit = tip(vault)
    (vault.home.root / MEMORY).write_text("by hand\n")
    vault.survey()
    vault.past.rollback(to=commit, by=OWNER)
    tip(vault)
    versions = [vault.history.read(MEMORY, commit=each.id) for each in commits(vault.history, MEMORY)]
    assert b"by hand\n" in versions


def test_unknown_moments_commits_and_pages_are_not_found(vault: Vault) -> None:
    add(vault, "one")
    with pytest.raises(NotFoundError):
        vault.past.rollback(to=START - timedelta(days=400), by=OWNER)
    with pytest.raises(NotFoundError):
        vault.past.rollback(to="0123456789", by=OWNER)
    with pytest.raises(NotFoundError):
        vault.past.rollback("agents/main/NOPE.md", to=tip(vault), by=OWNER)
    with pytest.raises(PathError):
        vault.past.rollback("../outside.md", to=tip(vault), by=OWNER)


def test_rollback_says_why_when_git_is_not_free(vault: Vault) -> None:
    add(vault, "one")
    commit = tip(vault)
    (vault.home.root / ".git" / "MERGE_HEAD").write_text(f"{commit}\n")
    add(vault, "two")
    with pytest.raises(HistoryError, match="merge"):
        vault.past.rollback(to=commit, by=OWNER)
    assert contents(vault) == ["one", "two"]


@pytest.mark.parametrize("path", [None, LOG])
@pytest.mark.parametrize("text", ["one", "a secret"])
def test_what_was_archived_then_and_restored_since_is_archived_again(vault: Vault, text: str, path: str | None) -> None:
    add(vault, "one")
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes().replace(b"Sunday\n", b"Sunday\n\n- a secret\n- a word\n"))
    vault.survey()
    memory = next(item.id for item in vault.entries("main") if item.content == text)
    done(cut_out(vault, {LOG: [memory]}, by=OWNER, records=[{"op": "archive", "memory": memory}]))
    then, commit = files(vault), tip(vault)
    bring_back(vault, memory)
    now = files(vault)
    receipt = done(vault.past.rollback(path, to=commit, by=OWNER))
    after = files(vault)
    assert (after[LOG], after[ARCHIVE]) == (then[LOG], then[ARCHIVE])
    undo(vault, receipt.seq)
    assert files(vault) == now


def test_what_came_since_goes_to_the_archive_unless_it_was_purged(vault: Vault) -> None:
    add(vault, "one")
    commit = tip(vault)
    two = add(vault, "two")
    add(vault, "three")
    vault.add_lines(state_ledger("main"), [{"op": "purge", "memory": two.ids[0]}], BOT)
    vault.past.rollback(to=commit, by=OWNER)
    assert contents(vault) == ["one"]
    assert b"three" in files(vault)[ARCHIVE]
    assert b"two" not in files(vault)[ARCHIVE]


@pytest.mark.parametrize("name", ["2025-01-05-x.md", "planning.md"])
def test_a_page_about_a_conversation_that_was_not_there_then_goes_to_the_archive(vault: Vault, name: str) -> None:
    add(vault, "one")
    before, commit = files(vault), tip(vault)
    page = f"agents/main/sessions/{name}"
    target = archive_page(page, "2025-01" if name.startswith("2025") else "2026-11") or ""
    write(vault, target, "an earlier one\n")
    write(vault, page, "what was said\n")
    receipt = done(vault.past.rollback(to=commit, by=OWNER))
    kept = target.replace(".md", "-2.md")
    assert files(vault) == before | {target: b"an earlier one\n", kept: b"what was said\n"}
    undo(vault, receipt.seq)
    assert files(vault)[page] == b"what was said\n"
    vault.past.rollback(to=commit, by=OWNER)
    assert files(vault) == before | {target: b"an earlier one\n", kept: b"what was said\n"}


def test_the_difference_since_a_moment_shows_what_changed_and_no_archive(vault: Vault) -> None:
    add(vault, "one")
    commit = tip(vault)
    add(vault, "two")
    shown = vault.past.diff_since(None, commit)
    assert "+two" in shown
    assert "archive" not in shown
