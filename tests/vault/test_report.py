"""Verify finds what does not hold, and doctor what a home depends on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.vault.past.report import Finding
from memfolio.vault.vault import Vault
from tests.vault.proof import git
from tests.vault.test_undo import LOG, MEMORY, add, open_vault, write

TRAIL = "audit/2026-11/0001.jsonl"


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Vault:
    vault = open_vault(home, clock)
    add(vault, "one")
    write(vault, MEMORY, "page\n")
    vault.commit()
    return vault


def of_level(findings: list[Finding], *levels: str) -> list[Finding]:
    return [finding for finding in findings if finding.level in levels]


def test_a_sound_home_verifies(vault: Vault) -> None:
    assert of_level(vault.verify(), "warning", "error") == []
    assert len(of_level(vault.verify(), "ok")) >= 4


@pytest.mark.parametrize(("old", "new"), [("APPEND", "DELETE"), ('"seq":2,', '"seq":7,'), ("bot:auto-detect", "human")])
def test_a_tampered_line_of_the_trail_is_found(vault: Vault, old: str, new: str) -> None:
    trail = vault.home.root / TRAIL
    assert old in trail.read_text()
    trail.write_text(trail.read_text().replace(old, new, 1))
    errors = of_level(vault.verify(), "error")
    assert any("line 2" in error.message for error in errors)


def test_a_removed_line_of_the_trail_is_found(vault: Vault) -> None:
    trail = vault.home.root / TRAIL
    lines = trail.read_text().splitlines(keepends=True)
    trail.write_text("".join(lines[:1] + lines[2:]))
    assert of_level(vault.verify(), "error")


def test_a_trail_rewritten_as_a_whole_is_found_by_what_git_vouches_for(vault: Vault) -> None:
    from memfolio.vault.audit import GENESIS, read_line, seal

    trail = vault.home.root / TRAIL
    previous, forged = GENESIS, b""
    for raw in trail.read_bytes().splitlines():
        line, sealed = seal(read_line(raw.replace(b"bot:auto-detect", b"skill:innocent!")), previous)
        previous, forged = line.hash, forged + sealed
    trail.write_bytes(forged)
    assert vault.trail.problems() == []
    assert any("vouches" in finding.message for finding in of_level(vault.verify(), "error"))


def test_an_edit_that_is_not_recorded_yet_is_a_note(vault: Vault) -> None:
    (vault.home.root / MEMORY).write_text("by hand\n")
    notes = of_level(vault.verify(), "note")
    assert [note.where for note in notes] == [MEMORY]


def test_what_cannot_be_read_as_meant_is_a_warning_with_its_place(vault: Vault) -> None:
    log = vault.home.root / LOG
    log.write_bytes(log.read_bytes() + b"\n" + log.read_bytes()[24:])
    vault.survey()
    warnings = of_level(vault.verify(), "warning")
    assert [warning.where for warning in warnings] == [LOG]


def test_a_broken_repository_is_an_error_with_a_hint(vault: Vault) -> None:
    shutil.rmtree(vault.home.root / ".git" / "objects")
    (vault.home.root / ".git" / "objects").mkdir()
    findings = vault.doctor()
    assert any(finding.where == "git" and finding.hint for finding in of_level(findings, "error", "warning"))


def test_doctor_names_waiting_commits_alerts_and_fragments(vault: Vault) -> None:
    (vault.home.root / ".git" / "MERGE_HEAD").write_text(f"{vault.history.tip()}\n")
    write(vault, "agents/main/SOUL.md", "be good\n")
    torn = vault.home.internal / "torn"
    torn.mkdir(exist_ok=True)
    (torn / "1-x.md").write_bytes(b"## 1")
    where = {finding.where for finding in of_level(vault.doctor(), "warning", "note")}
    assert {"git", "alerts", ".memfolio/torn"} <= where


def test_doctor_sees_a_clock_that_went_back(vault: Vault, clock: SettableClock) -> None:
    clock.advance(days=-3)
    assert "clock" in {finding.where for finding in of_level(vault.doctor(), "warning")}


def test_changes_that_no_commit_has_are_found(vault: Vault) -> None:
    add(vault, "never committed")
    vault.books.recent.mark_committed(vault.books.recent.head.seq)
    errors = of_level(vault.verify(), "error")
    assert any("no commit of 1 changes (4)" in error.message for error in errors)
    assert TRAIL in {error.where for error in errors}


def test_a_newest_commit_with_another_trail_is_found(vault: Vault) -> None:
    trail = vault.home.root / TRAIL
    content = trail.read_bytes()
    trail.write_bytes(content[: content.index(b"\n") + 1])
    git(vault.home.root, "commit", "-q", "-m", "shorter", TRAIL)
    trail.write_bytes(content)
    assert [error.where for error in of_level(vault.verify(), "error")] == [TRAIL]


def test_changes_that_wait_are_no_error(vault: Vault) -> None:
    git(vault.home.root, "checkout", "-q", "--detach")
    add(vault, "waits")
    assert vault.commit() > 0
    assert of_level(vault.verify(), "error") == []
