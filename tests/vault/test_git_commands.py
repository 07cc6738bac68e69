"""A person types git commands in a home, while nobody, one process or several write: nothing acknowledged is lost."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.vault.disk import Disk
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER, Vault
from tests.vault.proof import (
    BOT,
    IDENTITY,
    check_acknowledged,
    check_git,
    configured,
    entries,
    fork,
    git,
    item,
    kill,
    wait,
)

PAGE = "agents/main/MEMORY.md"
MOVES = {
    "reset to HEAD": ["reset -q --hard HEAD"],
    "reset back": ["reset -q --hard HEAD~2"],
    "soft reset": ["reset -q --soft HEAD~2"],
    "mixed reset": ["reset -q HEAD~2"],
    "stash": ["stash", "stash pop"],
    "stash with new files": ["stash -u", "stash pop"],
    "stash that stays": ["stash -u"],
    "checkout of an old commit": ["checkout -q HEAD~2", "checkout -q main"],
    "checkout of files": ["checkout -q -- ."],
    "checkout of old files": ["checkout -q HEAD~2 -- ."],
    "another branch": ["switch -q -C side", "switch -q main"],
    "restore": ["restore ."],
    "clean": ["clean -fdq"],
    "rebase": ["rebase -q --onto HEAD~3 HEAD~2"],
    "rebase that copies": ["rebase -q -f HEAD~2"],
}
COMMITS = {
    "commit by hand": ["commit -q -a -m mine"],
    "merge": [
        "switch -q -C side HEAD~1",
        "commit -q --allow-empty -m side",
        "switch -q main",
        "merge -q --no-edit side",
    ],
    "gc": ["gc -q"],
    "gc with prune": ["gc -q --prune=now"],
}


def person(home: Path, commands: Sequence[str]) -> None:
    """Type commands as a person does; git may refuse one, which is not the home's loss."""
    for command in commands:
        done = ["git", "-C", str(home), *IDENTITY, *command.split()]
        subprocess.run(done, capture_output=True, check=False, timeout=60)


def write(home: Path, report: Path, name: str, stop: Path) -> None:
    """Remember something every 20 ms until told to stop; each line of the report is one that was acknowledged."""
    with Vault.open(config=configured(home, commit_delay=0.05)) as vault, report.open("w") as told:
        for number in range(1_000):
            if stop.exists():
                return
            note = f"{name}.{number}"
            with suppress(MemfolioError):  # what was refused was not acknowledged
                told.write(json.dumps([vault.add("main", [item(note)], BOT).ids[0], note]) + "\n")
                told.flush()
            if number % 5 == 0:
                with suppress(MemfolioError):
                    ids = vault.add_lines(state_ledger("main"), [{"note": note}], BOT).ids
                    told.write(json.dumps([ids[0], json.dumps(note)]) + "\n")
                    told.flush()
            time.sleep(0.02)


def begun(home: Path) -> dict[str, str]:
    """A home with a few commits."""
    done: dict[str, str] = {}
    with Vault.open(config=configured(home)) as vault:
        for number in range(5):
            done[vault.add("main", [item(f"first {number}")], BOT).ids[0]] = f"first {number}"
            page = vault.page(PAGE)
            vault.put_page(PAGE, f"version {number}\n", expects=page.hash if page else None, by=BOT)
            assert vault.commit() == 0
    return done


def with_writers(home: Path, folder: Path, commands: Sequence[str], writers: int, *, times: int = 3) -> dict[str, str]:
    """What was acknowledged while a person typed the commands a few times."""
    done, stop = begun(home), folder / "stop"
    reports = [folder / f"report-{number}" for number in range(writers)]
    pids = [
        fork(lambda report=report, name=f"w{number}": write(home, report, name, stop))  # type: ignore[misc]
        for number, report in enumerate(reports)
    ]
    end = time.monotonic() + 20
    while not all(report.exists() and report.stat().st_size for report in reports) and time.monotonic() < end:
        time.sleep(0.01)
    for _ in range(times):
        if not writers:
            with Vault.open(config=configured(home)) as vault:
                note = f"between {len(done)}"
                done[vault.add("main", [item(note)], BOT).ids[0]] = note
                time.sleep(0.01)
                person(home, commands)
            continue
        person(home, commands)
        time.sleep(0.15)
    stop.touch()
    assert [wait(pid) for pid in pids] == [0] * writers
    for report in reports:
        done |= dict(json.loads(line) for line in report.read_text().splitlines())
    return done


def check(home: Path, done: dict[str, str]) -> Vault:
    """After the next look everything is there once, the trail is whole and in git, and there is one alert at most."""
    person(home, ["rebase --abort", "checkout -q -f main"])
    vault = Vault.open(config=configured(home))
    there = entries(home)
    lost = [mark for mark in done if mark not in there]
    assert not lost, f"{len(lost)} of {len(done)} are gone"
    check_acknowledged(home, done)
    assert {mark for mark, found in there.items() if len(found) > 1} == set()
    assert (home / PAGE).read_text() == "version 4\n"
    assert vault.commit() == 0, vault.committer.obstacle
    assert [each for each in vault.verify() if each.level == "error"] == []
    assert vault.trail.problems() == []
    return vault


@pytest.mark.parametrize("writers", [0, 1, 3])
@pytest.mark.parametrize("commands", MOVES.values(), ids=MOVES)
def test_what_a_git_command_takes_from_the_files_comes_back(
    quick_path: Path, commands: list[str], writers: int
) -> None:
    home = quick_path / "home"
    done = with_writers(home, quick_path, commands, writers)
    with check(home, done) as vault:
        assert {line.by.trigger for line in vault.alerts()} <= {"git-moved"}
        assert len(vault.alerts()) <= 1


@pytest.mark.parametrize("writers", [0, 1, 3])
@pytest.mark.parametrize("commands", COMMITS.values(), ids=COMMITS)
def test_git_commands_that_take_nothing_away_leave_everything(
    quick_path: Path, commands: list[str], writers: int
) -> None:
    home = quick_path / "home"
    done = with_writers(home, quick_path, commands, writers)
    with check(home, done) as vault:
        # Beside writers git may refuse to switch back to the branch; who then switches by force moves files.
        assert {line.by.trigger for line in vault.alerts()} <= ({"git-moved"} if writers else set())


@pytest.mark.parametrize("writers", [0, 1, 3])
def test_what_a_person_reverts_is_theirs_while_all_else_stays(quick_path: Path, writers: int) -> None:
    home = quick_path / "home"
    done = with_writers(home, quick_path, ["revert --no-edit HEAD"], writers)
    with Vault.open(config=configured(home)) as vault:
        person(home, ["revert --abort"])
        vault.survey()
        gone = {mark for mark in done if mark not in entries(home)}
        edits = [line for line in vault.trail.lines() if line.by.actor == "human"]
        assert gone <= {mark for line in edits for mark in line.ids}
        check_acknowledged(home, {mark: note for mark, note in done.items() if mark not in gone})
        told = [line for line in vault.alerts() if line.by.trigger == "git-commit"]
        assert {seq for line in told for seq in line.about} >= {line.seq for line in edits if line.ids}
        assert vault.commit() == 0, vault.committer.obstacle
        assert [each for each in vault.verify() if each.level == "error"] == []


def test_a_trail_that_git_puts_in_place_again_at_this_moment_raises_no_alarm(home: Path) -> None:
    done = begun(home)
    with Vault.open(config=configured(home)) as vault:
        [part] = vault.trail.parts()
        (home / part).rename(home / "taken")
        back = threading.Timer(0.04, (home / "taken").rename, [home / part])
        back.start()
        done[vault.add("main", [item("meanwhile")], BOT).ids[0]] = "meanwhile"
        back.join()
        done[vault.add("main", [item("afterwards")], BOT).ids[0]] = "afterwards"
        assert vault.alerts() == []
        assert vault.trail.problems() == []
        check_acknowledged(home, done)


def test_lines_that_git_merged_into_the_trail_twice_raise_no_alarm(home: Path) -> None:
    done = begun(home)
    with Vault.open(config=configured(home, commit_delay=60)) as vault:
        done[vault.add("main", [item("not in git yet")], BOT).ids[0]] = "not in git yet"
        [part] = vault.trail.parts()
        *committed, newest = (home / part).read_bytes().splitlines(keepends=True)
        (home / part).write_bytes(b"".join([*committed, *committed[-3:], newest]))
        done[vault.add("main", [item("after")], BOT).ids[0]] = "after"
        assert vault.alerts() == []
        assert vault.trail.problems() == []
        check_acknowledged(home, done)


class MergingDisk(Disk):
    """A disk on which git merges a stash into a file just after it was read so many times."""

    path: Path | None = None
    merged = b""
    reads = 0

    def read(self, path: Path, start: int = 0) -> bytes | None:
        content = super().read(path, start)
        if path == self.path:
            self.reads -= 1
            if not self.reads:
                self.path = None
                path.write_bytes(self.merged)
        return content


@pytest.mark.parametrize("reads", range(1, 5))
def test_a_trail_that_git_merges_while_it_is_repaired_raises_no_alarm(home: Path, reads: int) -> None:
    done, disk = begun(home), MergingDisk()
    with Vault.open(config=configured(home, commit_delay=60), disk=disk) as vault:
        for number in range(2):
            done[vault.add("main", [item(f"stashed {number}")], BOT).ids[0]] = f"stashed {number}"
        [part] = vault.trail.parts()
        lines = (home / part).read_bytes().splitlines(keepends=True)
        both = [b"<<<<<<< Updated upstream\n", lines[-2], b"=======\n", *lines[-2:], b">>>>>>> Stashed changes\n"]
        (home / part).write_bytes(b"".join(lines[:-2]))
        disk.merged = b"".join([*lines[:-3], *both])
        disk.path, disk.reads = home / part, reads
        done[vault.add("main", [item("after")], BOT).ids[0]] = "after"
        done[vault.add("main", [item("afterwards")], BOT).ids[0]] = "afterwards"
        assert disk.reads == 0
        assert vault.alerts() == []
        assert vault.trail.problems() == []
        check_acknowledged(home, done)


def test_a_trail_that_was_deleted_is_put_back_with_an_alarm(home: Path) -> None:
    done = begun(home)
    with Vault.open(config=configured(home)) as vault:
        [part] = vault.trail.parts()
        (home / part).unlink()
        done[vault.add("main", [item("after")], BOT).ids[0]] = "after"
        assert [line.by.trigger for line in vault.alerts()] == ["trail-cut"]
        assert vault.trail.problems() == []
        check_acknowledged(home, done)


def test_what_a_commit_by_hand_takes_out_stands_and_the_undo_brings_it_back(home: Path) -> None:
    done = begun(home)
    with Vault.open(config=configured(home)) as vault:
        [path] = {line.paths[0] for line in vault.trail.lines() if line.ids}
        first = next(iter(done))
        before = (home / path).read_text()
        blocks = before.split("## ")
        (home / path).write_text("## ".join([blocks[0], *blocks[2:]]))
        git(home, "commit", "-q", "-a", "-m", "one less")
        vault.survey()
        assert first not in entries(home)
        [alert] = vault.alerts()
        [edit] = [line for line in vault.trail.lines() if line.by.actor == "human"]
        assert (alert.by.trigger, alert.about, edit.ids) == ("git-commit", (edit.seq,), (first,))
        vault.past.undo(edit.seq, by=OWNER)
        assert (home / path).read_text() == before


@pytest.mark.parametrize("status", [False, True])
def test_a_page_that_a_person_sets_back_by_hand_stays_as_they_want_it(home: Path, status: bool) -> None:
    begun(home)
    with Vault.open(config=configured(home)) as vault:
        (home / PAGE).write_text("version 2\n")
        if status:
            git(home, "status")
        vault.survey()
        assert (home / PAGE).read_text() == "version 2\n"
        assert vault.alerts() == []
        assert next(vault.trail.newest_first()).by.actor == "human"


def test_a_file_that_a_person_deletes_stays_deleted(home: Path) -> None:
    begun(home)
    with Vault.open(config=configured(home)) as vault:
        (home / PAGE).unlink()
        vault.survey()
        assert not (home / PAGE).exists()
        git(home, "rm", "-q", "--cached", PAGE)
        vault.survey()
        assert not (home / PAGE).exists()
        assert vault.alerts() == []


def test_a_stash_that_comes_back_over_newer_memories_leaves_no_conflict(home: Path) -> None:
    done = begun(home)
    with Vault.open(config=configured(home)) as vault:
        done[vault.add("main", [item("unsaved")], BOT).ids[0]] = "unsaved"
        git(home, "stash", "-u")
        vault.survey()
        done[vault.add("main", [item("since")], BOT).ids[0]] = "since"
        assert vault.commit() == 0
        person(home, ["stash pop"])
        vault.survey()
        check_acknowledged(home, done)
        assert vault.commit() == 0, vault.committer.obstacle
        assert not any("<<<<<<<" in (home / path).read_text() for path in vault.journal.files)
        assert [line.by.trigger for line in vault.alerts()] == ["git-moved"]
        assert [each for each in vault.verify() if each.level == "error"] == []
    check_git(home)


def test_on_another_branch_memories_are_found_and_go_along_on_return(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("Alex prefers tea")
        memory.vault.commit()
        memory.remember("Kim lives in Oslo")
        memory.vault.commit()
        git(home, "checkout", "-q", "HEAD~1")
        new = memory.remember("Robin plays chess").id
        memory.sync()
        assert memory.vault.commit() > 0
        for question in ("tea", "Oslo", "chess"):
            assert any(question in hit.memory.content for hit in memory.recall(question)), question
        git(home, "checkout", "-q", "-f", "main")
        memory.sync()
        assert new in entries(home)
        assert memory.vault.commit() == 0
        assert [each for each in memory.vault.verify() if each.level == "error"] == []
    check_git(home)


class PruningDisk(Disk):
    """A disk on which a person types a command whenever a file of git is about to get its name."""

    command = ""

    def rename(self, source: Path, target: Path) -> None:
        if self.command and "objects" in target.parts:
            person(target.parents[target.parts[::-1].index(".git")], [self.command])
        super().rename(source, target)

    def make_dirs(self, path: Path) -> None:
        if self.command == "prune --expire=now" and path.name == "memfolio-pack":
            command, self.command = self.command, ""
            person(path.parents[1], [command])
        super().make_dirs(path)


@pytest.mark.parametrize("command", ["prune --expire=now", "gc -q --prune=now", "repack -a -d -q"])
def test_a_prune_in_the_middle_of_a_commit_takes_nothing_of_it(home: Path, command: str) -> None:
    done = begun(home)
    disk = PruningDisk()
    with Vault.open(config=configured(home), disk=disk) as vault:
        for number in range(3):
            disk.command = command
            done[vault.add("main", [item(f"pruned {number}")], BOT).ids[0]] = f"pruned {number}"
            assert vault.commit() == 0, vault.committer.obstacle
            disk.command = ""
        assert [each for each in vault.verify() if each.level == "error"] == []
    check_acknowledged(home, done)
    check_git(home)


def test_commits_that_a_reset_left_behind_survive_every_prune(home: Path) -> None:
    done = begun(home)
    person(home, ["reset -q --hard HEAD~5", "reflog expire --expire=now --all", "gc -q --prune=now"])
    with Vault.open(config=configured(home)) as vault:
        check_acknowledged(home, done)
        assert vault.commit() == 0
        assert [each for each in vault.verify() if each.level == "error"] == []
        assert set(vault.history.seqs()) == {line.seq for line in vault.trail.lines()}


def test_verify_finds_nothing_wrong_while_changes_are_committed(quick_path: Path) -> None:
    home, stop = quick_path / "home", quick_path / "stop"
    begun(home)
    pid = fork(lambda: write(home, quick_path / "report", "busy", stop))
    try:
        with Vault.open(config=configured(home)) as vault:
            for _ in range(8):
                assert [each for each in vault.verify() if each.level == "error"] == []
    finally:
        stop.touch()
        assert wait(pid) == 0


@pytest.mark.parametrize("name", ["reset to HEAD", "stash with new files", "checkout of an old commit"])
def test_a_writer_that_is_killed_beside_git_commands_loses_nothing(quick_path: Path, name: str) -> None:
    home, report = quick_path / "home", quick_path / "report"
    done = begun(home)
    pid = fork(lambda: write(home, report, "killed", quick_path / "stop"))
    end = time.monotonic() + 20
    while not (report.exists() and report.stat().st_size) and time.monotonic() < end:
        time.sleep(0.01)
    person(home, MOVES[name])
    kill(pid)
    person(home, MOVES[name])
    done |= dict(json.loads(line) for line in report.read_text().splitlines() if line.endswith("]"))
    check(home, done).close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_a_mix_of_commands_beside_eight_writers_loses_nothing(quick_path: Path, seed: int) -> None:
    home, chance = quick_path / "home", random.Random(seed)
    safe = [each for name, each in {**MOVES, **COMMITS}.items() if name != "merge"]
    commands = [command for _ in range(6) for command in chance.choice(safe)]
    check(home, with_writers(home, quick_path, commands, 8)).close()
