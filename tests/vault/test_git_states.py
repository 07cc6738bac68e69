"""Git in somebody's hands, broken or missing: commits wait, nothing is touched, later everything is caught up."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.types import Attribution
from memfolio.vault import committer, journal
from memfolio.vault.committer import Committer
from memfolio.vault.disk import Stamp
from memfolio.vault.vault import OWNER, Vault
from tests.disks import QuickDisk
from tests.vault.proof import (
    BOT,
    CommitInfo,
    blobs,
    check_acknowledged,
    check_commits,
    check_git,
    check_home,
    commits,
    configured,
    files,
    git,
    item,
    loose_objects,
)

PAGE = "agents/main/MEMORY.md"


@pytest.fixture
def vault(home: Path, clock: SettableClock) -> Iterator[Vault]:
    with Vault.open(config=configured(home), clock=clock) as opened:
        opened.add("main", [item("first")], BOT)
        assert opened.commit() == 0
        yield opened


def add(vault: Vault, note: str, by: Attribution = BOT) -> str:
    return vault.add("main", [item(note)], by).ids[0]


def refs(home: Path) -> dict[str, str]:
    """Everything of git that a person could miss if we moved it."""
    names = ["HEAD", "index", "MERGE_HEAD", "refs/heads/main"]
    paths = [home / ".git" / name for name in names]
    return {str(path): path.read_bytes().hex() for path in paths if path.exists()}


def check_waiting(vault: Vault, obstacle: str) -> dict[str, str]:
    """Memories are written while commits wait, and git is not touched."""
    before, done = refs(vault.home.root), {}
    for number in range(3):
        done[add(vault, f"waiting {number}")] = f"waiting {number}"
        assert vault.commit() > 0
    assert obstacle in (vault.committer.obstacle or "")
    assert refs(vault.home.root) == before
    check_acknowledged(vault.home.root, done)
    return done


def check_caught_up(vault: Vault, done: dict[str, str]) -> None:
    vault.survey()
    assert vault.commit() == 0
    assert vault.committer.obstacle is None
    check_commits(vault)
    check_git(vault.home.root)
    check_acknowledged(vault.home.root, done)


def test_commits_wait_while_head_is_detached(home: Path, vault: Vault) -> None:
    git(home, "checkout", "-q", "--detach")
    done = check_waiting(vault, "detached")
    git(home, "checkout", "-q", "main")
    check_caught_up(vault, done)


def test_commits_wait_on_another_branch(home: Path, vault: Vault) -> None:
    git(home, "checkout", "-q", "-b", "experiment")
    done = check_waiting(vault, "experiment")
    git(home, "checkout", "-q", "main")
    check_caught_up(vault, done)


def test_commits_wait_during_a_merge_and_go_on_after_it(home: Path, vault: Vault) -> None:
    git(home, "checkout", "-q", "-b", "side")
    (home / "notes.txt").write_text("mine\n")
    git(home, "add", "notes.txt")
    git(home, "commit", "-q", "-m", "my notes")
    git(home, "checkout", "-q", "main")
    git(home, "merge", "-q", "--no-commit", "--no-ff", "side")
    done = check_waiting(vault, "merge")
    git(home, "commit", "-q", "-m", "merged by hand")
    check_caught_up(vault, done)
    assert git(home, "show", "HEAD:notes.txt") == "mine\n"


def test_commits_wait_during_a_merge_that_is_then_aborted(home: Path, vault: Vault) -> None:
    git(home, "checkout", "-q", "-b", "side")
    (home / "notes.txt").write_text("mine\n")
    git(home, "add", "notes.txt")
    git(home, "commit", "-q", "-m", "my notes")
    git(home, "checkout", "-q", "main")
    git(home, "merge", "-q", "--no-commit", "--no-ff", "side")
    done = check_waiting(vault, "merge")
    git(home, "merge", "--abort")
    check_caught_up(vault, done)


def test_commits_wait_for_staged_work(home: Path, vault: Vault) -> None:
    (home / "notes.txt").write_text("mine\n")
    git(home, "add", "notes.txt")
    done = check_waiting(vault, "staged")
    assert git(home, "diff", "--cached", "--name-only") == "notes.txt\n"
    git(home, "commit", "-q", "-m", "my notes")
    check_caught_up(vault, done)


def test_staged_work_that_is_withdrawn_frees_the_way(home: Path, vault: Vault) -> None:
    (home / "notes.txt").write_text("mine\n")
    git(home, "add", "notes.txt")
    done = check_waiting(vault, "staged")
    git(home, "rm", "-q", "--cached", "notes.txt")
    (home / "notes.txt").unlink()
    check_caught_up(vault, done)


def test_a_rebase_under_way_is_waited_for(home: Path, vault: Vault) -> None:
    (home / ".git/rebase-merge").mkdir()
    done = check_waiting(vault, "rebase")
    (home / ".git/rebase-merge").rmdir()
    check_caught_up(vault, done)


def test_a_lock_of_another_git_is_waited_for(home: Path, vault: Vault) -> None:
    (home / ".git/index.lock").write_bytes(b"")
    done = check_waiting(vault, "index.lock")
    (home / ".git/index.lock").unlink()
    check_caught_up(vault, done)


def test_waiting_commits_survive_reopening(home: Path, clock: SettableClock, vault: Vault) -> None:
    git(home, "checkout", "-q", "--detach")
    done = check_waiting(vault, "detached")
    vault.close()
    git(home, "checkout", "-q", "main")
    with Vault.open(config=configured(home), clock=clock) as again:
        check_caught_up(again, done)


def test_a_deleted_git_folder_begins_a_history_with_everything_in_it(
    home: Path, clock: SettableClock, vault: Vault
) -> None:
    vault.put_page(PAGE, "words\n", expects=None, by=BOT)
    vault.commit()
    shutil.rmtree(home / ".git")
    done = {add(vault, "after"): "after"}
    assert vault.commit() == 0
    vault.close()
    check_home(home, done)
    assert {path: git(home, "show", f"HEAD:{path}").encode() for path in files(home)} == files(home)


def test_a_broken_git_folder_stops_no_memory_and_is_caught_up_when_it_is_whole(
    home: Path, tmp_path: Path, vault: Vault
) -> None:
    shutil.copytree(home / ".git", tmp_path / "kept")
    (home / ".git/HEAD").write_text("nonsense")
    shutil.rmtree(home / ".git/objects")
    done = {add(vault, f"while broken {number}"): f"while broken {number}" for number in range(3)}
    assert vault.commit() != 0
    assert vault.committer.obstacle
    assert vault.survey() == []
    shutil.rmtree(home / ".git")
    shutil.copytree(tmp_path / "kept", home / ".git")
    check_caught_up(vault, done)


def test_a_git_folder_of_garbage_lets_a_home_open(home: Path, clock: SettableClock, vault: Vault) -> None:
    vault.close()
    shutil.rmtree(home / ".git")
    (home / ".git").write_text("garbage")
    with Vault.open(config=configured(home), clock=clock) as again:
        done = {add(again, "words"): "words"}
        assert again.commit() != 0
        check_acknowledged(home, done)
    (home / ".git").unlink()
    check_home(home, done)


def test_no_git_program_is_needed(home: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        done = {add(vault, f"note {number}"): f"note {number}" for number in range(3)}
        assert vault.commit() == 0
        vault.history.pack()
        assert vault.history.check() == []
    check_caught_up(vault, done)


def test_home_without_git_writes_all_the_same(home: Path, clock: SettableClock) -> None:
    with Vault.open(config=configured(home, git_enabled=False), clock=clock) as vault:
        done = {add(vault, "words"): "words"}
        assert vault.commit() == 0
        assert not (home / ".git").exists()
    check_home(home, done)


def test_a_person_may_commit_our_files(home: Path, vault: Vault) -> None:
    done = {add(vault, "words"): "words"}
    (home / PAGE).write_text("by hand\n")
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "everything")
    done[add(vault, "more words")] = "more words"
    check_caught_up(vault, done)
    assert "A Person" in git(home, "log", "--format=%an")


def test_what_a_person_reverts_stays_reverted_and_the_alert_names_the_undo(home: Path, vault: Vault) -> None:
    kept = {add(vault, "kept"): "kept"}
    assert vault.commit() == 0
    vault.put_page(PAGE, "words\n", expects=None, by=BOT)
    assert vault.commit() == 0
    git(home, "revert", "--no-edit", "HEAD")
    vault.survey()
    done = {add(vault, "after"): "after"}
    assert vault.commit() == 0
    [alert] = vault.alerts()
    [edit] = [line for line in vault.trail.lines() if line.by.actor == "human"]
    assert (alert.by.trigger, alert.about, edit.paths) == ("git-commit", (edit.seq,), [PAGE])
    assert not (home / PAGE).exists()
    check_acknowledged(home, {**kept, **done})
    check_trail_in_git(vault)
    vault.past.undo(edit.seq, by=OWNER)
    assert (home / PAGE).read_text() == "words\n"


def test_git_show_of_every_commit_is_whole(home: Path, vault: Vault) -> None:
    for number in range(5):
        page = vault.page(PAGE)
        vault.put_page(PAGE, f"{number}\n", expects=page.hash if page else None, by=BOT)
    vault.commit()
    contents = [git(home, "show", f"{commit.id}:{PAGE}") for commit in commits(vault.history, PAGE)]
    assert contents == ["4\n", "3\n", "2\n", "1\n", "0\n"]


def ours(vault: Vault) -> list[CommitInfo]:
    assert vault.commit() == 0
    found = [commit for commit in commits(vault.history) if commit.trailers["Actor"] != "system:init"]
    return found[-2::-1]


ALICE = Attribution(actor="bot:alice", trigger="observe", session="s-1")
ALICE_LATER = Attribution(actor="bot:alice", trigger="observe", session="s-2")
BOB = Attribution(actor="bot:bob", trigger="observe")


def test_appends_of_one_actor_and_session_within_a_second_share_a_commit(vault: Vault, clock: SettableClock) -> None:
    clock.advance(seconds=5)
    for by in (ALICE, ALICE, ALICE, BOB, ALICE, ALICE_LATER):
        add(vault, "words", by)
    clock.advance(seconds=1.5)
    add(vault, "words", ALICE_LATER)
    found = ours(vault)
    assert [(commit.author, commit.trailers["Seq"].count(",")) for commit in found] == [
        ("bot:alice", 0),
        ("bot:bob", 0),
        ("bot:alice", 0),
        ("bot:alice", 0),
        ("bot:alice", 0),
    ]
    first = list(vault.trail.lines())[-7].seq
    seqs = [f"{first}-{first + 2}", *(str(first + number) for number in range(3, 7))]
    assert [commit.trailers["Seq"] for commit in found] == seqs
    assert [commit.trailers.get("Session") for commit in found] == ["s-1", None, "s-1", "s-2", "s-2"]
    check_commits(vault)


def test_every_page_replacement_has_a_commit_of_its_own(vault: Vault) -> None:
    for number in range(3):
        page = vault.page(PAGE)
        vault.put_page(PAGE, f"{number}\n", expects=page.hash if page else None, by=BOT)
    assert [commit.subject for commit in ours(vault)] == [f"[CREATE] {PAGE}", f"[EDIT] {PAGE}", f"[EDIT] {PAGE}"]
    check_commits(vault)


def test_commits_name_the_head_of_the_chain_and_no_content(home: Path, vault: Vault) -> None:
    add(vault, "a secret that stays in its file")
    [commit] = ours(vault)
    last = list(vault.trail.lines())[-1]
    assert commit.trailers["Chain"] == last.hash
    assert commit.trailers["Seq"] == str(last.seq)
    assert "secret" not in git(home, "log", "--format=%B")
    assert "secret" not in (home / vault.trail.parts()[0]).read_text()


def test_nothing_to_do_makes_no_commit(home: Path, vault: Vault) -> None:
    before = git(home, "rev-parse", "HEAD")
    for _ in range(3):
        vault.survey()
        assert vault.commit() == 0
    assert git(home, "rev-parse", "HEAD") == before


def test_a_clone_goes_on_with_the_same_trail_and_calls_nothing_edited(vault: Vault, tmp_path: Path) -> None:
    vault.put_page("agents/main/SOUL.md", "be good\n", expects=None, by=OWNER)
    vault.commit()
    seq, clone = vault.journal.head.seq, tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(vault.home.root), str(clone))
    with Vault.open(config=configured(clone)) as copy:
        assert copy.journal.head.seq == seq
        assert copy.alerts() == []
        add(copy, "second")
        assert [each.content for each in copy.entries("main")] == ["first", "second"]
        assert copy.trail.problems() == []
    assert git(clone, "status", "--porcelain") == ""


def test_loose_objects_are_packed_in_a_pause_before_there_are_too_many(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "MANY_LOOSE", 200)
    for number in range(120):
        vault.put_page(f"agents/main/memory/notes/{number}.md", f"{number}\n", expects=None, by=OWNER)
    vault.commit()
    assert loose_objects(vault.history.home) < 200
    check_git(vault.home.root)


def test_a_file_that_git_cannot_hold_keeps_no_other_from_being_committed(home: Path, vault: Vault) -> None:
    (home / "agents/main/a\\b.md").write_text("x")
    vault.writer.reconcile(["agents/main/a\\b.md"])  # the survey leaves it out, but a trail may have it
    note = add(vault, "later")
    assert vault.commit() == 0
    check_acknowledged(home, {note: "later"})
    assert "agents/main/a\\b.md" in [path for line in vault.trail.lines() for path in line.paths]
    assert any(b"later" in content for content in blobs(home))


@pytest.mark.parametrize("claim", ["Seq: 5000", "Seq: 4", f"Seq: 4\nChain: {'0' * 32}"])
@pytest.mark.parametrize("forgets", [False, True])
def test_a_persons_claim_to_hold_changes_is_not_believed(
    home: Path, clock: SettableClock, vault: Vault, claim: str, forgets: bool
) -> None:
    git(home, "commit", "-q", "--allow-empty", "-m", f"mine\n\n{claim}")
    if forgets:
        vault.close()
        (home / ".memfolio/recent.jsonl").unlink()
    with Vault.open(config=configured(home), clock=clock) as again:
        done = {add(again, f"note {number}"): f"note {number}" for number in range(3)}
        assert again.commit() == 0
        held = again.history.seqs()
        assert held.keys() >= {line.seq for line in again.trail.lines()}
        check_acknowledged(home, done)
        check_git(home)


def test_changes_that_were_committed_before_a_crash_are_not_committed_twice(
    home: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(vault, "words")
    with monkeypatch.context() as dying:
        dying.setattr(Committer, "_mark_committed", lambda self, seq: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            vault.commit()
    git(home, "commit", "-q", "--allow-empty", "-m", "mine\n\nSeq: 5000")
    add(vault, "more words", ALICE)
    assert vault.commit() == 0
    assert vault.journal.committed == vault.journal.head.seq
    claimed = [seq for anchor in vault.history.anchors() for seq in anchor.seqs]
    assert sorted(claimed) == [line.seq for line in vault.trail.lines()]


def pages(vault: Vault, count: int) -> None:
    for number in range(count):
        vault.put_page(f"agents/main/p{number}.md", "x\n", expects=None, by=BOT)
    assert vault.commit() == 0


def check_trail_in_git(vault: Vault) -> None:
    part = vault.trail.parts()[-1]
    assert vault.history.read(part) == (vault.home.root / part).read_bytes()
    assert [finding for finding in vault.verify() if finding.level == "error"] == []
    check_git(vault.home.root)


@pytest.mark.parametrize("part_bytes", [128 * 1024, 4096])
def test_looking_at_an_old_commit_takes_no_line_from_the_trail(
    home: Path, clock: SettableClock, part_bytes: int
) -> None:
    with Vault.open(config=configured(home, max_ledger_bytes=part_bytes), clock=clock) as vault:
        pages(vault, 40)
        lines = vault.journal.head.seq
        git(home, "checkout", "-q", "HEAD~30")
        done = {add(vault, "while detached"): "while detached"}
        assert vault.trail.problems() == []
        assert vault.commit() > 0
        git(home, "checkout", "-q", "-f", "main")
        vault.survey()
        done[add(vault, "back")] = "back"
        assert vault.commit() == 0
        assert vault.alerts() == []
        assert vault.journal.head.seq > lines
        check_acknowledged(home, done)
        check_trail_in_git(vault)


def test_a_trail_with_a_hole_in_git_is_whole_again_after_the_next_change(home: Path, vault: Vault) -> None:
    pages(vault, 3)
    part = home / vault.trail.parts()[-1]
    whole = part.read_bytes()
    lines = whole.splitlines(keepends=True)
    part.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    git(home, "commit", "-q", "-m", "a hole", str(part))
    part.write_bytes(whole)
    add(vault, "words")
    assert vault.commit() == 0
    assert git(home, "show", f"HEAD:{vault.trail.parts()[-1]}").encode() == part.read_bytes()
    check_trail_in_git(vault)


def test_lines_written_while_the_trail_was_short_go_behind_those_that_come_back(home: Path, vault: Vault) -> None:
    pages(vault, 4)
    part = home / vault.trail.parts()[-1]
    whole = part.read_bytes()
    shutil.move(home / ".git", home / "away")
    part.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    add(vault, "while short")
    assert [line.by.trigger for line in vault.alerts()] == ["trail-cut"]
    shutil.move(home / "away", home / ".git")
    part.write_bytes(whole)
    add(vault, "whole again")
    assert vault.trail.problems() == []
    assert vault.commit() == 0
    check_trail_in_git(vault)


def wait_until(holds: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def test_changes_that_wait_are_committed_soon_after_the_way_is_free(home: Path) -> None:
    with Vault.open(config=configured(home, commit_delay=0.0)) as vault:
        add(vault, "first")
        vault.commit()
        git(home, "checkout", "-q", "--detach")
        add(vault, "while detached")
        assert wait_until(lambda: vault.committer.obstacle is not None)
        git(home, "checkout", "-q", "main")
        assert wait_until(lambda: not vault.journal.pending)
        assert wait_until(lambda: vault.committer.obstacle is None)


def test_nothing_is_looked_at_while_nothing_waits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committer, "FIRST_RETRY", 0.02)
    monkeypatch.setattr(committer, "LAST_RETRY", 0.02)
    with Vault.open(config=configured(home, commit_delay=0.0)) as vault:
        add(vault, "first")
        assert wait_until(lambda: not vault.journal.pending)
        time.sleep(0.5)
        looks: list[Callable[[], int]] = []
        monkeypatch.setattr(vault.committer, "_under_lock", lambda step, wait: looks.append(step))
        time.sleep(0.3)
        assert looks == []


@pytest.mark.serial
def test_closing_does_not_wait_for_the_next_try(home: Path) -> None:
    vault = Vault.open(config=configured(home, commit_delay=0.0))
    add(vault, "first")
    vault.commit()
    git(home, "checkout", "-q", "--detach")
    add(vault, "while detached")
    assert wait_until(lambda: vault.committer.obstacle is not None)
    time.sleep(1.5)
    began = time.monotonic()
    vault.close()
    assert time.monotonic() - began < 1


class CountingDisk(QuickDisk):
    """Counts how often the journal is written as a whole."""

    rewrites = 0

    def put(self, path: Path, data: bytes) -> Stamp | None:
        self.rewrites += path.name == "recent.jsonl"
        return super().put(path, data)


def test_catching_up_writes_the_recent_bytes_afresh_once(
    home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "ROTATE_BYTES", 10_000)
    monkeypatch.setattr(committer, "MAX_BATCH", 10)
    disk = CountingDisk()
    with Vault.open(config=configured(home), clock=clock, disk=disk) as vault:
        add(vault, "first")
        vault.commit()
        git(home, "checkout", "-q", "--detach")
        for number in range(100):
            add(vault, f"note {number}")
        git(home, "checkout", "-q", "main")
        disk.rewrites = 0
        assert vault.commit() == 0
        assert disk.rewrites == 1
        assert vault.journal.path.stat().st_size < 10_000


def test_without_git_the_recent_bytes_stay_small(
    home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "ROTATE_BYTES", 10_000)
    disk = CountingDisk()
    with Vault.open(config=configured(home, git_enabled=False), clock=clock, disk=disk) as vault:
        for number in range(300):
            add(vault, f"note {number}")
            clock.advance(minutes=1)
        assert vault.journal.path.stat().st_size < 100_000
        assert len(vault.journal.pending) < 100
        assert disk.rewrites < 40


def test_without_git_a_stale_editor_still_loses_nothing(
    home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "ROTATE_BYTES", 1_000)
    with Vault.open(config=configured(home, git_enabled=False), clock=clock) as vault:
        for number in range(50):
            add(vault, f"note {number}")
            clock.advance(minutes=1)
        [path] = {line.paths[0] for line in vault.trail.lines() if line.ids}
        stale = (home / path).read_bytes()
        newest = {add(vault, f"newest {number}"): f"newest {number}" for number in range(2)}
        (home / path).write_bytes(stale)
        vault.survey()
        check_acknowledged(home, newest)


@pytest.mark.parametrize("had_git", [False, True])
def test_git_that_is_switched_on_later_gets_every_change(
    home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch, had_git: bool
) -> None:
    monkeypatch.setattr(journal, "ROTATE_BYTES", 1_000)
    done: dict[str, str] = {}
    for enabled in (had_git, False, True):
        with Vault.open(config=configured(home, git_enabled=enabled), clock=clock) as vault:
            for number in range(30):
                done[add(vault, f"note {number}")] = f"note {number}"
                clock.advance(minutes=1)
            assert vault.commit() == 0
    with Vault.open(config=configured(home), clock=clock) as vault:
        check_commits(vault)
        check_trail_in_git(vault)
    check_home(home, done)


def test_a_trail_that_was_cut_is_put_back_from_git_and_says_so(vault: Vault) -> None:
    for number in range(3):
        add(vault, f"number {number}")
    vault.commit()
    trail = vault.home.path(vault.journal.head.part)
    whole = trail.read_bytes()
    trail.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    add(vault, "after the cut")
    assert trail.read_bytes().startswith(whole)
    assert vault.trail.problems() == []
    assert "trail-cut" in {entry.trigger for entry in vault.past.log(limit=3)}
