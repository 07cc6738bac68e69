"""The history of a home, with the git program as the judge."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import HistoryError, InputError, NaiveTimeError, NotFoundError, PathError
from memfolio.vault.disk import Disk
from memfolio.vault.git import history as git_history
from memfolio.vault.git import repository
from memfolio.vault.git.history import History
from memfolio.vault.git.repository import CommitDraft, can_hold, format_seqs, parse_seqs
from tests.vault.proof import loose_objects

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
LOG = "agents/main/memory/2026-11-15.md"
CHAIN = "c0ffee" + "0" * 26


def git(home: Path, *arguments: str, check: bool = True) -> str:
    """What the git program says, as a person without any configuration of their own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    person = {
        "GIT_AUTHOR_NAME": "P",
        "GIT_AUTHOR_EMAIL": "p@x",
        "GIT_COMMITTER_NAME": "P",
        "GIT_COMMITTER_EMAIL": "p@x",
    }
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=home, env=environment | person | nobody, capture_output=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode("utf-8", "surrogateescape")


def draft(
    writes: dict[str, bytes | None],
    *,
    at: datetime = NOON,
    seq: str | None = None,
    author: str = "bot:auto-detect",
    subject: str = f"[APPEND] {LOG} · 3 entries",
) -> CommitDraft:
    trailers = [("Actor", author), ("Approval", "auto"), ("Trigger", "observe")]
    trailers += [("Seq", seq), ("Chain", CHAIN)] if seq else []
    return CommitDraft(writes=writes, subject=subject, author=author, at=at, trailers=trailers)


def put(home: Path, path: str, data: bytes) -> dict[str, bytes | None]:
    """Write a file as the vault would, and give the draft's share of it."""
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_bytes(data)
    return {path: data}


@pytest.fixture
def history(home: Path) -> History:
    home.mkdir()
    history = History(home, branch="main")
    history.prepare()
    return history


@pytest.fixture
def begun(history: History) -> History:
    """A history with one commit, whose index is up to date."""
    history.commit([draft(put(history.home, LOG, b"one\n") | put(history.home, "memfolio.toml", b""), seq="1")])
    history.refresh_index()
    return history


def is_sound(home: Path) -> bool:
    return git(home, "fsck", "--full", "--strict", "--no-dangling") == ""


def test_commit_reads_as_git_expects(history: History) -> None:
    [commit] = history.commit([draft(put(history.home, LOG, b"one\n"), seq="41-43")])
    assert git(history.home, "log", "--format=%H|%an|%ae|%cn|%ce|%cI|%s").strip() == (
        f"{commit}|bot:auto-detect|bot@memfolio.invalid|memfolio|memfolio@memfolio.invalid"
        f"|2026-11-15T12:00:00+00:00|[APPEND] {LOG} · 3 entries"
    )
    trailers = git(history.home, "log", "-1", "--format=%(trailers:only,unfold)").split("\n")
    assert trailers[:4] == ["Actor: bot:auto-detect", "Approval: auto", "Trigger: observe", "Seq: 41-43"]
    message = history.home / "message"
    message.write_text(git(history.home, "log", "-1", "--format=%B").rstrip("\n") + "\n")
    assert git(history.home, "interpret-trailers", "--parse", "message").split("\n")[:4] == trailers[:4]
    assert git(history.home, "show", f"{commit}:{LOG}") == "one\n"
    assert is_sound(history.home)


def test_drafts_become_commits_in_order(begun: History) -> None:
    first = begun.tip()
    ids = begun.commit([draft({"a.md": b"1"}, subject="one"), draft({"b.md": b"2"}, subject="two")])
    assert git(begun.home, "log", "--format=%H").split() == [ids[1], ids[0], first]
    assert begun.read("b.md", commit=ids[0]) is None
    assert begun.read("a.md") == b"1"
    assert git(begun.home, "log", "-2", "--format=%s").split() == ["two", "one"]
    assert git(begun.home, "reflog", "--format=%gs").splitlines()[0] == "commit"


def test_no_drafts_are_no_commit(begun: History) -> None:
    tip = begun.tip()
    assert begun.commit([]) == []
    assert begun.tip() == tip


def test_draft_without_a_difference_is_still_recorded(begun: History) -> None:
    begun.commit([draft({LOG: b"one\n"}, seq="2"), draft({}, seq="3"), draft({"gone.md": None}, seq="4")])
    assert sorted(begun.seqs()) == [1, 2, 3, 4]
    assert begun.files().keys() == {LOG, "memfolio.toml"}


def test_status_is_clean_after_commit_and_refresh(begun: History) -> None:
    writes: dict[str, bytes | None] = {}
    for number in range(200):
        writes |= put(begun.home, f"agents/a{number % 7}/memory/n{number}.md", b"%d\n" % number)
    begun.commit([draft(writes)])
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == ""
    assert git(begun.home, "diff", "--cached", "--name-only") == ""
    assert git(begun.home, "ls-files").split() == sorted(begun.files())
    assert len(begun.files()) == 202
    assert is_sound(begun.home)


def test_refreshed_index_keeps_what_git_noted_about_the_same_files(begun: History) -> None:
    for path in begun.files():
        os.utime(begun.home / path, (1, 1))
    git(begun.home, "status")
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    assert LOG in git(begun.home, "diff-files")  # which lists files that git has to look into
    assert "memfolio.toml" not in git(begun.home, "diff-files")
    assert git(begun.home, "status", "--porcelain") == ""


def test_idle_refresh_writes_nothing(begun: History) -> None:
    before = {path: path.stat().st_mtime_ns for path in (begun.home / ".git").rglob("*")}
    begun.refresh_index()
    begun.prepare()
    assert begun.obstacle() is None
    assert {path: path.stat().st_mtime_ns for path in (begun.home / ".git").rglob("*")} == before


def test_refresh_hides_no_edit_that_is_not_committed(begun: History) -> None:
    begun.commit([draft({LOG: b"two\n"})])
    (begun.home / LOG).write_bytes(b"own\n")
    os.utime(begun.home / LOG, (1, 1))
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == f" M {LOG}\n"
    begun.commit([draft(put(begun.home, "x.md", b""))])
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == f" M {LOG}\n"


def test_edit_of_the_same_size_within_a_moment_is_seen(begun: History) -> None:
    for number in range(20):
        begun.commit([draft(put(begun.home, LOG, b"%03d\n" % number))])
        begun.refresh_index()
        (begun.home / LOG).write_bytes(b"%03d\n" % (number + 500))
        begun.commit([draft(put(begun.home, "other.md", b"%d" % number))])
        begun.refresh_index()
        assert git(begun.home, "status", "--porcelain") == f" M {LOG}\n"


def test_deleting_the_last_file_removes_its_folder(begun: History) -> None:
    begun.commit([draft({"deep/er/still/x.md": b"x", "deep/y.md": b"y"})])
    begun.commit([draft({"deep/er/still/x.md": None})])
    assert git(begun.home, "ls-tree", "-r", "-t", "--name-only", "HEAD", "deep").split() == ["deep", "deep/y.md"]
    begun.commit([draft({"deep/y.md": None, LOG: None, "memfolio.toml": None})])
    assert git(begun.home, "ls-tree", "HEAD") == ""
    assert begun.files() == {}
    assert is_sound(begun.home)


def test_file_and_folder_may_change_places(begun: History) -> None:
    begun.commit([draft({"a": b"file"})])
    begun.commit([draft({"a": None, "a/b": b"below"})])
    assert begun.read("a/b") == b"below"
    assert begun.read("a") is None
    begun.commit([draft({"a": b"file", "a/b": None})])
    assert begun.read("a") == b"file"
    begun.commit([draft({"a": None, "a/b": None})])
    assert begun.read("a") is None
    with pytest.raises(PathError):
        begun.commit([draft({"a": b"file", "a/b": b"below"})])
    assert is_sound(begun.home)


def test_odd_names_survive(begun: History) -> None:
    names = [
        "naïve café.md",
        "日本/語.md",
        "a b/c'd\"e.md",
        "e\u0301.md",
        "-rf",
        "#x",
        "tab\tx",
        "🙂.md",
        ".github/x",
        ".gitignore",
    ]
    begun.commit([draft({name: name.encode() for name in names})])
    assert set(names) <= begun.files().keys()
    for name in names:
        assert git(begun.home, "show", f"HEAD:{name}") == name
        assert begun.read(name) == name.encode()


def test_names_that_are_not_utf8_can_be_listed(begun: History) -> None:
    (begun.home / os.fsdecode(b"caf\xe9.md")).write_bytes(b"latin")
    git(begun.home, "add", ".")
    git(begun.home, "commit", "-m", "mine")
    assert os.fsdecode(b"caf\xe9.md") in begun.files(begun.tip())
    begun.commit([draft({LOG: b"two\n"})])
    begun.refresh_index()
    assert git(begun.home, "ls-tree", "-z", "--name-only", "HEAD").split("\0")[1] == os.fsdecode(b"caf\xe9.md")
    assert begun.obstacle() is None


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a//b", "a/", "../a", "a/./b", ".git/config", "a/.GIT/x", ".git /x", "git~1/x", ".g\u200cit/x",
     ".git::$INDEX_ALLOCATION/x", "a\\b", "a\0b", "caf\udce9"],
)  # fmt: skip
def test_dangerous_path_is_refused(begun: History, path: str) -> None:
    tip = begun.tip()
    assert not can_hold(path)
    with pytest.raises(PathError):
        begun.commit([draft({path: b"x"})])
    with pytest.raises(PathError):
        begun.read(path)
    assert begun.tip() == tip


def test_message_that_could_forge_trailers_is_refused(begun: History) -> None:
    with pytest.raises(InputError):
        begun.commit([draft({}, subject="x\n\nActor: human")])
    with pytest.raises(InputError):
        begun.commit([CommitDraft(writes={}, subject="x", author="human", at=NOON, trailers=[("Seq", "1\nActor: me")])])
    with pytest.raises(InputError):
        begun.commit([CommitDraft(writes={}, subject="x", author="human", at=NOON, trailers=[("A b", "1")])])
    with pytest.raises(NaiveTimeError):
        begun.commit([draft({}, at=datetime(2026, 1, 1))])


def test_author_with_forbidden_characters_is_softened(begun: History) -> None:
    begun.commit([draft({}, author="skill:<x>"), draft({}, author="…")])
    assert git(begun.home, "log", "-2", "--format=%an %ae").splitlines() == [
        "… memfolio@memfolio.invalid",
        "skill:_x_ skill@memfolio.invalid",
    ]
    assert is_sound(begun.home)


def test_offset_of_the_writer_is_kept(begun: History) -> None:
    begun.commit([draft({}, at=NOON.astimezone(timezone(timedelta(hours=-3, minutes=-30))))])
    assert git(begun.home, "log", "-1", "--format=%cI").strip() == "2026-11-15T08:30:00-03:30"


def test_executable_stays_executable(begun: History) -> None:
    put(begun.home, "run.sh", b"#!/bin/sh\n")
    (begun.home / "run.sh").chmod(0o755)
    git(begun.home, "add", "run.sh")
    git(begun.home, "commit", "-m", "mine")
    begun.commit([draft(put(begun.home, "run.sh", b"#!/bin/sh\ntrue\n"))])
    begun.refresh_index()
    assert git(begun.home, "ls-tree", "HEAD", "run.sh").startswith("100755 ")
    assert git(begun.home, "status", "--porcelain") == ""


def test_persons_own_commits_and_amendments_are_built_upon(begun: History) -> None:
    put(begun.home, "mine.md", b"mine")
    git(begun.home, "add", "mine.md")
    git(begun.home, "commit", "-m", "mine")
    git(begun.home, "commit", "--amend", "-m", "mine, better")
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    assert git(begun.home, "log", "--format=%s").splitlines()[1] == "mine, better"
    assert git(begun.home, "status", "--porcelain") == ""


def test_staged_work_survives_and_holds_commits_back(begun: History) -> None:
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])  # the index is behind, which is not staged work
    assert begun.obstacle() is None
    put(begun.home, "mine.md", b"mine")
    git(begun.home, "add", "mine.md")
    index, tip = (begun.home / ".git/index").read_bytes(), begun.tip()
    assert begun.obstacle() == "staged changes"
    with pytest.raises(HistoryError, match="staged changes"):
        begun.commit([draft({LOG: b"three\n"})])
    begun.refresh_index()
    assert (begun.home / ".git/index").read_bytes() == index
    assert begun.tip() == tip
    git(begun.home, "reset", "-q")
    assert begun.obstacle() is None


@pytest.mark.parametrize("fresh", [False, True])
def test_index_behind_or_touched_by_status_is_not_staged_work(begun: History, fresh: bool) -> None:
    for number in range(3):
        begun.commit([draft(put(begun.home, LOG, b"%d\n" % number))])
        git(begun.home, "status")
        git(begun.home, "update-index", "-q", "--refresh", check=False)
        assert (History(begun.home, branch="main") if fresh else begun).obstacle() is None
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == ""


@pytest.mark.parametrize("how", ["--soft", "--mixed", "--hard"])
def test_a_branch_that_was_set_back_is_led_to_our_newest_commit_again(begun: History, how: str) -> None:
    [two] = begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    git(begun.home, "reset", "-q", how, "HEAD~1")
    again = History(begun.home, branch="main")
    assert again.is_set_back()
    assert again.obstacle() is None
    assert again.read(LOG) == b"two\n"
    again.commit([draft({"agents/main/MEMORY.md": b"three\n"})])
    assert git(begun.home, "rev-parse", "HEAD~1").strip() == two
    assert git(begun.home, "show", f"HEAD:{LOG}") == "two\n"


def test_a_branch_that_was_rewritten_is_joined_with_our_newest_commit(begun: History) -> None:
    [two] = begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    put(begun.home, "mine.txt", b"mine\n")
    git(begun.home, "add", "mine.txt")
    git(begun.home, "commit", "-q", "--amend", "-m", "mine")
    mine = begun.tip()
    begun.commit([draft({"agents/main/MEMORY.md": b"three\n"})])
    assert git(begun.home, "rev-parse", "HEAD^1", "HEAD^2").split() == [two, mine]
    assert git(begun.home, "show", "HEAD:mine.txt") == "mine\n"
    assert git(begun.home, "show", f"HEAD:{LOG}") == "two\n"
    assert begun.check() == []


def test_staged_deletion_and_intent_to_add_are_staged_work(begun: History) -> None:
    git(begun.home, "rm", "-q", "--cached", "-r", ".")
    assert begun.obstacle() == "staged changes"
    git(begun.home, "reset", "-q")
    put(begun.home, "new.md", b"x")
    git(begun.home, "add", "-N", "new.md")
    assert begun.obstacle() == "staged changes"


def test_lost_marker_is_no_staged_work_while_the_index_is_the_tip(begun: History) -> None:
    (begun.home / ".git" / repository.MARKER).unlink()
    assert begun.obstacle() is None
    (begun.home / ".git/index").unlink()
    assert begun.obstacle() is None
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == ""


def test_other_index_formats_are_understood(begun: History) -> None:
    git(begun.home, "update-index", "--index-version", "4")
    assert begun.obstacle() is None
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == ""
    git(begun.home, "update-index", "--skip-worktree", LOG)
    index = (begun.home / ".git/index").read_bytes()
    begun.commit([draft({LOG: b"three\n"})])
    begun.refresh_index()
    assert (begun.home / ".git/index").read_bytes() == index


def in_detached_head(home: Path) -> str:
    git(home, "checkout", "-q", "--detach")
    return "detached HEAD"


def on_another_branch(home: Path) -> str:
    git(home, "checkout", "-q", "-b", "ideas/new")
    return "on branch ideas/new"


def on_orphan_branch(home: Path) -> str:
    git(home, "symbolic-ref", "HEAD", "refs/heads/other")
    return "on branch other"


def in_merge(home: Path) -> str:
    git(home, "checkout", "-q", "-b", "side")
    put(home, LOG, b"side\n")
    git(home, "commit", "-qam", "side")
    git(home, "checkout", "-q", "main")
    put(home, LOG, b"main\n")
    git(home, "commit", "-qam", "main")
    git(home, "merge", "side", check=False)
    return "merge in progress"


def in_cherry_pick(home: Path) -> str:
    in_merge(home)
    git(home, "merge", "--abort")
    git(home, "cherry-pick", "side", check=False)
    return "cherrypick in progress"


def in_rebase(home: Path) -> str:
    in_merge(home)
    git(home, "merge", "--abort")
    git(home, "rebase", "side", check=False)
    return "detached HEAD"


def with_index_lock(home: Path) -> str:
    (home / ".git/index.lock").touch()
    return "index.lock present"


@pytest.mark.parametrize(
    "person",
    [in_detached_head, on_another_branch, on_orphan_branch, in_merge, in_cherry_pick, in_rebase, with_index_lock],
)
def test_nothing_is_touched_while_a_person_is_busy(begun: History, person: Callable[[Path], str]) -> None:
    expected = person(begun.home)
    before = {path: path.read_bytes() for path in (begun.home / ".git").rglob("*") if path.is_file()}
    assert begun.obstacle() == expected
    with pytest.raises(HistoryError):
        begun.commit([draft({LOG: b"x\n"})])
    begun.refresh_index()
    assert {path: path.read_bytes() for path in (begun.home / ".git").rglob("*") if path.is_file()} == before


def test_live_lock_on_the_branch_is_respected_and_left(begun: History) -> None:
    lock, tip = begun.home / ".git/refs/heads/main.lock", begun.tip()
    lock.touch()
    with pytest.raises(HistoryError, match="held by another program"):
        begun.commit([draft({LOG: b"x\n"})])
    assert lock.exists()
    assert begun.tip() == tip
    lock.unlink()
    assert len(begun.commit([draft({LOG: b"x\n"})])) == 1


def test_own_lock_left_by_a_killed_process_is_cleared(begun: History) -> None:
    gitdir = begun.home / ".git"
    for scratch, lock in ((repository.MARKER + ".new", "index.lock"), ("memfolio-ref.new", "refs/heads/main.lock")):
        (gitdir / scratch).write_bytes(b"half")
        os.link(gitdir / scratch, gitdir / lock)
    assert begun.obstacle() is None
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    assert not list(gitdir.rglob("*.lock"))
    assert git(begun.home, "status", "--porcelain") == ""


def test_first_commit_cut_short_is_no_lost_branch(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def die(source: Path, target: Path) -> None:
        if target.name == "main":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        history.commit([draft({LOG: b"one\n"})])
    monkeypatch.undo()
    assert (history.home / ".git/logs/HEAD").exists()
    assert history.tip() is None
    history.commit([draft({LOG: b"one\n"})])
    assert is_sound(history.home)


def test_leftover_of_a_killed_refresh_never_shares_bytes_with_the_index(begun: History) -> None:
    gitdir = begun.home / ".git"
    os.link(gitdir / "index", gitdir / (repository.MARKER + ".new"))
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    assert git(begun.home, "status", "--porcelain") == ""


def test_dying_between_index_and_marker_is_not_staged_work(begun: History) -> None:
    marker = begun.home / ".git" / repository.MARKER
    old = marker.read_bytes()
    begun.commit([draft(put(begun.home, LOG, b"two\n"))])
    begun.refresh_index()
    marker.write_bytes(old)
    History(begun.home, branch="main").commit([draft(put(begun.home, LOG, b"three\n"))])
    fresh = History(begun.home, branch="main")
    assert fresh.obstacle() is None
    fresh.refresh_index()
    assert git(begun.home, "status", "--porcelain") == ""


def test_branch_moved_by_someone_else_is_never_overwritten(begun: History, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = repository.stage

    def meanwhile(disk: Disk, target: Path, scratch: Path, data: bytes) -> None:
        stage(disk, target, scratch, data)
        git(begun.home, "commit", "-q", "--allow-empty", "-m", "meanwhile")

    monkeypatch.setattr(repository, "stage", meanwhile)
    with pytest.raises(HistoryError, match="moved"):
        begun.commit([draft({LOG: b"x\n"})])
    assert git(begun.home, "log", "-1", "--format=%s").strip() == "meanwhile"
    assert not list((begun.home / ".git").rglob("*.lock"))


def test_home_inside_another_repository_has_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    home = tmp_path / "inner"
    home.mkdir()
    history = History(home, branch="main")
    with pytest.raises(HistoryError):
        history.tip()
    history.prepare()
    history.commit([draft({LOG: b"x\n"})])
    assert git(tmp_path, "for-each-ref") == ""
    assert git(home, "rev-parse", "--show-toplevel").strip() == str(home)


def test_linked_work_tree_is_a_home(begun: History, tmp_path: Path) -> None:
    git(begun.home, "worktree", "add", "-q", "-b", "second", str(tmp_path / "second"))
    second = History(tmp_path / "second", branch="second")
    second.prepare()
    second.commit([draft(put(second.home, LOG, b"second\n"))])
    second.refresh_index()
    assert git(second.home, "status", "--porcelain") == ""
    assert git(second.home, "log", "-1", "--format=%D").strip() == "HEAD -> second"
    second.pack()
    assert begun.read(LOG) == b"one\n"


def test_repository_made_by_a_person_is_used_and_their_settings_stay(home: Path) -> None:
    home.mkdir()
    git(home, "init", "-q", "-b", "trunk")
    git(home, "config", "core.fsync", "none")
    history = History(home, branch="trunk")
    history.prepare()
    history.commit([draft({LOG: b"x\n"})])
    assert git(home, "config", "core.fsync").strip() == "none"
    assert git(home, "config", "--local", "core.autocrlf").strip() == "false"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_home_owned_by_another_user_is_used_all_the_same(begun: History) -> None:
    for path in (begun.home, *begun.home.rglob("*")):
        os.chown(path, 12345, 12345)
    history = History(begun.home, branch="main")
    history.commit([draft({LOG: b"two\n"})])
    history.pack()
    assert loose_objects(history.home) == 0
    assert history.check() == []


def test_half_made_repository_is_never_seen(home: Path) -> None:
    (home / ".git-new/objects").mkdir(parents=True)
    for name in ("HEAD", "HEAD.lock", "config", "config.lock"):
        (home / ".git-new" / name).touch()
    history = History(home, branch="main")
    history.prepare()
    history.prepare()
    assert sorted(os.listdir(home)) == [".git"]
    assert not list((home / ".git").rglob("*.lock"))
    assert history.tip() is None
    assert history.obstacle() is None
    assert history.files() == {}
    assert history.seqs() == {}
    assert history.at_time(NOON) is None
    assert history.check() == []


def test_impossible_branch_name_is_refused(home: Path) -> None:
    home.mkdir()
    with pytest.raises(InputError):
        History(home, branch="../../x").tip()


def use(history: History) -> None:
    history.commit([draft({LOG: b"two\n", "new/file.md": b"x"})])
    fresh = History(history.home, branch="main")
    fresh.prepare()
    fresh.read("memfolio.toml")


def empty_head(gitdir: Path) -> None:
    (gitdir / "HEAD").write_bytes(b"")


def no_head(gitdir: Path) -> None:
    (gitdir / "HEAD").unlink()


def no_branch(gitdir: Path) -> None:
    (gitdir / "refs/heads/main").unlink()


def empty_branch(gitdir: Path) -> None:
    (gitdir / "refs/heads/main").write_bytes(b"")


def object_files(gitdir: Path) -> list[Path]:
    return [*(gitdir / "objects").glob("??/*"), *(gitdir / "objects/pack").iterdir()]


def no_objects(gitdir: Path) -> None:
    for file in object_files(gitdir):
        file.unlink()


def corrupt_objects(gitdir: Path) -> None:
    for file in object_files(gitdir):
        file.chmod(0o644)
        content = file.read_bytes()
        file.write_bytes(content[:12] + bytes(len(content) - 12))


def empty_objects(gitdir: Path) -> None:
    for file in object_files(gitdir):
        file.chmod(0o644)
        file.write_bytes(b"")


def empty_folder(gitdir: Path) -> None:
    os.rename(gitdir, gitdir.with_name("away"))
    gitdir.mkdir()


def dangling_gitfile(gitdir: Path) -> None:
    os.rename(gitdir, gitdir.with_name("away"))
    gitdir.write_text("gitdir: /nowhere\n")


def broken_config(gitdir: Path) -> None:
    (gitdir / "config").write_bytes(b"[core\n")


@pytest.mark.parametrize(
    "harm",
    [empty_head, no_head, no_branch, empty_branch, no_objects, corrupt_objects, empty_objects, empty_folder,
     dangling_gitfile, broken_config],
)  # fmt: skip
@pytest.mark.parametrize("fresh", [True, False])
def test_broken_repository_is_a_history_error(begun: History, harm: Callable[[Path], None], fresh: bool) -> None:
    harm(begun.home / ".git")
    history = History(begun.home, branch="main") if fresh else begun
    with pytest.raises(HistoryError) as caught:
        use(history)
    assert caught.value.hint
    assert history.check() != []


def test_truncated_index_is_a_history_error(begun: History) -> None:
    (begun.home / ".git/index").write_bytes(b"")
    with pytest.raises(HistoryError):
        begun.obstacle()


def test_repaired_repository_is_used_again_by_the_same_object(begun: History) -> None:
    head = begun.home / ".git/HEAD"
    content = head.read_bytes()
    head.unlink()
    with pytest.raises(HistoryError):
        begun.obstacle()
    head.write_bytes(content)
    assert len(begun.commit([draft({LOG: b"two\n"})])) == 1


def test_seq_trailers_come_back(begun: History) -> None:
    [two] = begun.commit([draft({LOG: b"2"}, seq="2-4,7")])
    assert begun.seqs() == {1: begun.resolve("HEAD~1")} | dict.fromkeys((2, 3, 4, 7), two)
    [five] = begun.commit([draft({LOG: b"3"}, seq="5")])
    assert begun.seqs()[5] == five
    message = f"mine\n\nSeq: 2, 9\nSeq: x, 1-99999999999\nChain: {CHAIN}\n"
    git(begun.home, "commit", "-q", "--allow-empty", "-m", message)
    assert begun.seqs()[2] == two
    assert begun.seqs()[9] == begun.tip()
    git(begun.home, "reset", "-q", "--hard", "HEAD~2")
    assert sorted(begun.seqs()) == [1, 2, 3, 4, 5, 7], "a reset takes no commit of ours away"
    git(begun.home, "checkout", "-q", "-b", "side", "HEAD~1")
    git(begun.home, "commit", "-q", "--allow-empty", "-m", f"side\n\nSeq: 8\nChain: {CHAIN}\n")
    git(begun.home, "checkout", "-q", "main")
    git(begun.home, "merge", "-q", "-m", "merged", "side")
    assert sorted(begun.seqs()) == [1, 2, 3, 4, 5, 7, 8]


@given(st.sets(st.integers(0, 400)))
def test_seqs_round_trip(numbers: set[int]) -> None:
    assert parse_seqs(format_seqs(numbers)) == sorted(numbers)


@given(st.text())
def test_any_text_is_read_as_seqs_without_harm(text: str) -> None:
    assert all(number >= 0 for number in parse_seqs(text))


def test_a_commit_without_the_trails_hash_vouches_for_nothing(begun: History) -> None:
    git(begun.home, "commit", "-q", "--allow-empty", "-m", "mine\n\nSeq: 9\n")
    assert sorted(begun.seqs()) == [1]
    assert [(anchor.seq, anchor.chain) for anchor in begun.anchors()] == [(1, CHAIN)]


def test_anchors_follow_the_branch_and_those_that_merges_brought_in_on_request(begun: History) -> None:
    git(begun.home, "checkout", "-q", "-b", "side")
    git(begun.home, "commit", "-q", "--allow-empty", "-m", f"side\n\nSeq: 8\nChain: {CHAIN}\n")
    git(begun.home, "checkout", "-q", "main")
    git(begun.home, "merge", "-q", "--no-ff", "-m", "merged", "side")
    assert [anchor.seq for anchor in begun.anchors()] == [1]
    assert sorted(anchor.seq for anchor in begun.anchors(merged=True)) == [1, 8]


def test_at_time_finds_the_newest_of_equal_times(begun: History) -> None:
    later = [NOON + timedelta(seconds=second) for second in (10, 10, 10, 20, 15)]
    ids = begun.commit([draft({}, at=moment) for moment in later])
    assert begun.at_time(NOON - timedelta(seconds=1)) is None
    assert begun.at_time(NOON + timedelta(seconds=9.9)) == begun.resolve(f"{ids[0]}~1")
    assert begun.at_time(NOON + timedelta(seconds=10)) == ids[2]
    assert begun.at_time(NOON + timedelta(days=1)) == ids[4]
    with pytest.raises(NaiveTimeError):
        begun.at_time(datetime(2026, 1, 1))


def test_resolve_takes_what_a_person_types(begun: History) -> None:
    tip = begun.tip()
    assert tip is not None
    begun.commit([draft({})])
    for rev in (tip, tip[:8], "HEAD~1", "main^", "main~1"):
        assert begun.resolve(rev) == tip


@pytest.mark.parametrize(
    "rev", ["", "nope", "HEAD~99", "--all", "-h", "HEAD:memfolio.toml", "HEAD^{tree}", "0" * 40, "a\0b", "é\udce9"]
)
def test_unknown_revision_is_not_found(begun: History, rev: str) -> None:
    with pytest.raises(NotFoundError):
        begun.resolve(rev)
    with pytest.raises(NotFoundError):
        begun.read(LOG, commit=rev)


@pytest.mark.parametrize("program", [True, False])
def test_packing_keeps_everything_and_shrinks(begun: History, program: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not program:
        monkeypatch.setattr(git_history, "run_git", lambda *_: None)
    text = "".join(random.Random(number).choice("abcdefgh \n") for number in range(20_000)).encode()
    for round_ in range(2):
        begun.commit([draft({LOG: text + b"%d,%d" % (round_, n) * 9}, seq=str(round_ * 60 + n + 2)) for n in range(60)])
        lost = git(begun.home, "commit-tree", "-m", "known to one person only", "HEAD^{tree}").strip()
        ids = git(begun.home, "rev-list", "main").split()
        contents = [begun.read(LOG, commit=each) for each in ids]
        begun.pack()
        begun.pack()
        after = sum(file.stat().st_size for file in (begun.home / ".git/objects").rglob("*") if file.is_file())
        assert after < len(text) * (round_ + 1) * 10, "versions of one file are stored as differences"
        assert loose_objects(begun.home) <= 1 + round_, "only what nobody refers to may stay as it is"
        assert [begun.read(LOG, commit=each) for each in ids] == contents
        assert git(begun.home, "cat-file", "-t", lost).strip() == "commit"
        assert is_sound(begun.home)
        assert begun.check() == []


def test_foreign_gc_under_an_open_history_is_harmless(begun: History) -> None:
    begun.commit([draft({LOG: b"%d" % number}) for number in range(30)])
    git(begun.home, "gc", "-q", "--prune=now")
    assert begun.read(LOG, commit="HEAD~12") == b"17"
    begun.commit([draft({LOG: b"after"})])
    assert git(begun.home, "show", f"HEAD:{LOG}") == "after"
    assert git(begun.home, "show-ref", "--head").count(begun.tip() or "-") == 3


def unpack(home: Path) -> None:
    """Give every object a file of its own."""
    for file in (home / ".git/objects/pack").glob("*.pack"):
        content = file.read_bytes()
        for each in (file, file.with_suffix(".idx")):
            each.unlink()
        subprocess.run(["git", "-C", str(home), "unpack-objects", "-q"], input=content, check=True)


@pytest.mark.parametrize("program", [True, False])
def test_check_names_the_lost_object(begun: History, program: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not program:
        monkeypatch.setattr(git_history, "run_git", lambda *_: None)
    assert begun.check() == []
    blob = begun.files()[LOG]
    unpack(begun.home)
    (begun.home / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert blob in " ".join(begun.check())


COMMIT_FOR_EVER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from memfolio.vault.disk import Disk
from memfolio.vault.git.history import History
from memfolio.vault.git.repository import CommitDraft
home = Path(sys.argv[1])
history = History(home, branch="main")
history.prepare()
number = 0
while True:
    number += 1
    data = b"%d\\n" % number * 2000
    (home / "log.md").write_bytes(data)
    writes = {"log.md": data, f"deep/{number % 50}/x.md": data[:100]}
    seq = [("Seq", str(number)), ("Chain", "0" * 32)]
    history.commit([CommitDraft(writes=writes, subject="s", author="bot:x", at=datetime.now(UTC), trailers=seq)])
    history.refresh_index()
    print(number, flush=True)
"""


def test_killed_writer_leaves_a_sound_repository_that_takes_the_next_commit(home: Path) -> None:
    home.mkdir()
    dice = random.Random(7)
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", COMMIT_FOR_EVER, str(home)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        acknowledged = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        history = History(home, branch="main")
        assert is_sound(home)
        assert history.obstacle() is None
        assert max(history.seqs()) >= int(acknowledged[-1] if acknowledged else 1)
        history.commit([draft(put(home, "log.md", b"next\n"))])
        history.refresh_index()
        assert " M" not in git(home, "status", "--porcelain")


def test_many_threads_read_while_one_commits(begun: History) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def look(number: int) -> int:
        for _ in range(20):
            assert begun.read(LOG) is not None
            assert begun.seqs()
            assert begun.obstacle() is None
        return len(list(begun.anchors()))

    with ThreadPoolExecutor(8) as pool:
        counts = [pool.submit(look, number) for number in range(8)]
        for number in range(30):
            begun.commit([draft({LOG: b"%d" % number}, seq=str(number + 2))])
        assert all(count.result() >= 1 for count in counts)
    assert len(begun.seqs()) == 31
