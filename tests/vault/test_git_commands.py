"""A person types git commands in a home, while nobody, one process or several write: nothing acknowledged is lost."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from memfolio.errors import MemfolioError
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault
from tests.vault.proof import BOT, IDENTITY, check_acknowledged, configured, entries, fork, git, item, wait

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
        for number in range(100_000):
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
    person(home, ["checkout -q -f main"])
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
        assert len([line for line in vault.alerts() if line.by.trigger == "git-moved"]) <= 1


@pytest.mark.parametrize("writers", [0, 1, 3])
@pytest.mark.parametrize("commands", COMMITS.values(), ids=COMMITS)
def test_git_commands_that_take_nothing_away_leave_everything(
    quick_path: Path, commands: list[str], writers: int
) -> None:
    home = quick_path / "home"
    done = with_writers(home, quick_path, commands, writers)
    with check(home, done) as vault:
        assert vault.alerts() == []
