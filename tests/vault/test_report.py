"""Verify finds what does not hold, and doctor what a home depends on."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.vault.disk import Disk
from memfolio.vault.past.report import Finding
from memfolio.vault.vault import Vault
from tests.vault.proof import configured, git
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
    from memfolio.vault.journal import GENESIS, read_line, seal

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


def test_page_and_log_that_are_not_utf8_are_warnings_that_say_what_to_do(vault: Vault) -> None:
    page, picture = vault.home.root / "agents/main/cafe.md", vault.home.root / "agents/main/cafe.png"
    for file in (page, picture, vault.home.root / LOG):
        file.write_bytes((file.read_bytes() if file.exists() else b"") + b"caf\xe9\n")
    vault.survey()
    warnings = of_level(vault.verify(), "warning")
    assert {(each.where, each.hint) for each in warnings} == {
        ("agents/main/cafe.md", "save it as UTF-8"),
        (LOG, "save it as UTF-8"),
    }


@pytest.mark.parametrize("content", [b"role = \n", b'polcy = "writes"\n', b"reads = 7\n", b"role = '\xe9'\n"])
def test_doctor_finds_settings_of_any_agent_that_make_no_sense(vault: Vault, content: bytes) -> None:
    file = vault.home.root / "agents/scout/agent.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    (found,) = (each for each in vault.doctor() if each.where == "agents/scout/agent.toml" and each.level == "warning")
    assert found.hint
    assert "agent.toml" not in found.message


class ForbiddenDisk(Disk):
    """Does not let anybody open what is called `secret.md`."""

    def open(self, path: Path, flags: int) -> int:
        if path.name == "secret.md":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return super().open(path, flags)


def test_a_file_that_may_not_be_opened_does_not_hide_the_others(vault: Vault) -> None:
    write(vault, "agents/main/secret.md", "mine\n")
    vault.close()
    (vault.home.root / "agents/main/cafe.md").write_bytes(b"caf\xe9\n")
    with Vault.open(config=configured(vault.home.root), disk=ForbiddenDisk()) as forbidden:
        found = {each.where: each for each in of_level(forbidden.doctor(), "warning")}
    assert found["agents/main/secret.md"].message.startswith("cannot be opened: ")
    assert found["agents/main/secret.md"].hint
    assert "agents/main/cafe.md" in found


def test_hints_name_the_home(vault: Vault) -> None:
    trail = vault.home.root / TRAIL
    trail.write_text(trail.read_text().replace("APPEND", "DELETE", 1))
    hints = [each.hint for each in of_level(vault.verify(), "error") if each.hint.startswith("compare")]
    assert hints
    assert all(str(vault.home.root) in hint for hint in hints)


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
    vault.journal.mark_committed(vault.journal.head.seq)
    errors = of_level(vault.verify(), "error")
    assert any("no commit of 1 change (4)" in error.message for error in errors)
    assert TRAIL in {error.where for error in errors}


def test_a_persons_commit_with_another_trail_is_followed_by_one_with_ours(vault: Vault) -> None:
    trail = vault.home.root / TRAIL
    content = trail.read_bytes()
    trail.write_bytes(content[: content.index(b"\n") + 1])
    git(vault.home.root, "commit", "-q", "-m", "shorter", TRAIL)
    trail.write_bytes(content)
    assert of_level(vault.verify(), "error") == []
    add(vault, "words")
    assert vault.commit() == 0
    assert git(vault.home.root, "show", f"HEAD:{TRAIL}").encode() == trail.read_bytes()


def test_changes_that_wait_are_no_error(vault: Vault) -> None:
    git(vault.home.root, "checkout", "-q", "--detach")
    add(vault, "waits")
    assert vault.commit() > 0
    assert of_level(vault.verify(), "error") == []


def on_another_machine(home: Path) -> Vault:
    return Vault.open(config=configured(home, machine="elsewhere"))


def test_a_reading_machine_sees_the_trail_and_files_as_they_are(vault: Vault) -> None:
    changes = vault.head
    vault.close()
    with on_another_machine(vault.home.root) as reading:
        assert reading.head == changes
        findings = reading.verify()
        assert {finding.level for finding in findings} == {"ok"}
        assert any(finding.message.startswith(f"{changes} changes") for finding in findings)


def test_a_reading_machine_names_the_file_that_was_edited_and_no_other(vault: Vault) -> None:
    vault.close()
    (vault.home.root / MEMORY).write_text("by hand\n")
    with on_another_machine(vault.home.root) as reading:
        assert [finding.where for finding in of_level(reading.verify(), "note")] == [MEMORY]


def unreadable(trail: Path, number: int) -> None:
    lines = trail.read_bytes().splitlines(keepends=True)
    lines[number] = lines[number].replace(b'"actor":"', b'"actor":"?', 1)
    trail.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("number", "is_committed", "has_books"),
    [(0, True, True), (1, True, True), (2, False, True), (0, True, False), (1, True, False)],
)
def test_a_trail_that_was_mended_is_reported_once_and_alerted(
    home: Path, clock: SettableClock, number: int, is_committed: bool, has_books: bool
) -> None:
    with open_vault(home, clock) as vault:
        add(vault, "one")
        vault.commit()
        if not is_committed:
            add(vault, "two")
        before = (home / TRAIL).read_bytes()
        unreadable(home / TRAIL, number)
        if not has_books:
            (home / ".memfolio" / "recent.jsonl").unlink()
        vault.survey()
        assert (home / TRAIL).read_bytes().startswith(before)
        [warning] = of_level(vault.verify(), "warning", "error")
        assert (warning.level, warning.where) == ("warning", "trail")
        assert of_level(vault.verify(), "warning", "error") == []
        assert [line.by.trigger for line in vault.alerts()] == ["trail-cut"]


def test_a_deleted_trail_is_put_back_and_reported(vault: Vault) -> None:
    shutil.rmtree(vault.home.root / "audit")
    vault.survey()
    assert [finding.where for finding in of_level(vault.verify(), "warning", "error")] == ["trail"]
    assert len(vault.alerts()) == 1


def test_whoever_does_not_verify_is_told_of_a_mended_trail_too(vault: Vault) -> None:
    unreadable(vault.home.root / TRAIL, 1)
    vault.survey()
    assert ["trail" in notice for notice in vault.notices] == [True]


def test_a_line_that_was_torn_by_a_crash_is_no_finding(vault: Vault) -> None:
    trail = vault.home.root / TRAIL
    trail.write_bytes(trail.read_bytes() + b'{"seq":9,"at":"20')
    vault.survey()
    assert of_level(vault.verify(), "warning", "error") == []
    assert vault.alerts() == []
