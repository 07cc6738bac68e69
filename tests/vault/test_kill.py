"""kill -9 at random moments, with one to eight writers: what was acknowledged is there, whole and once."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from memfolio.errors import PageChangedError
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import Vault
from tests.vault.conftest import Tally
from tests.vault.proof import BOT, check_home, configured, fork, item, wait

KILLS_PER_HOME = 20


def write_forever(home: Path, acks: Path, seed: int) -> None:
    """Write entries, lines and pages at random; each is reported outside of the home after it is acknowledged."""
    chance = random.Random(seed)
    fd = open_report(acks, str(seed))
    vault = Vault.open(config=configured(home, commit_delay=chance.choice([0.0, 0.02, 60.0]), max_ledger_bytes=16384))
    for number in count():
        note = f"{seed}.{number} " + "x" * chance.choice([1, 50, 200, 6000])
        match chance.choice(["entry", "entry", "entry", "several", "line", "page"]):
            case "entry":
                done = [(mark, note) for mark in vault.add(f"a{seed % 3}", [item(note)], BOT).ids]
            case "several":
                notes = [f"{note} {part}" for part in range(3)]
                done = list(zip(vault.add("main", [item(each) for each in notes], BOT).ids, notes, strict=True))
            case "line":
                done = [
                    (mark, f'"{note}"') for mark in vault.add_lines(state_ledger("main"), [{"note": note}], BOT).ids
                ]
            case _:
                done = []
                replace_page(vault, note)
        for mark, content in done:
            os.write(fd, f"{mark}\t{content}\n".encode())


def open_report(acks: Path, writer: str) -> int:
    """A file for each writer: one that is killed in the middle of a line must not spoil another's."""
    acks.mkdir(exist_ok=True)
    return os.open(acks / writer, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def replace_page(vault: Vault, content: str) -> None:
    page = vault.page("agents/main/MEMORY.md")
    with suppress(PageChangedError):  # another writer was quicker
        vault.put_page("agents/main/MEMORY.md", content, expects=page.hash if page else None, by=BOT)


def kill_some_writers(home: Path, acks: Path, chance: random.Random) -> int:
    """Let 1 to 8 writers run for a moment, kill them all at once, and return how many there were."""
    writers = chance.randint(1, 8)
    seeds = [chance.randrange(10**9) for _ in range(writers)]
    pids = [fork(lambda seed=seed: write_forever(home, acks, seed)) for seed in seeds]  # type: ignore[misc]
    time.sleep(chance.uniform(0.0, 0.2))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert [wait(pid) for pid in pids] == [-signal.SIGKILL] * writers
    return writers


def acknowledged_in(acks: Path) -> dict[str, str]:
    """Reports of writers that lived long enough to finish them."""
    reports = acks.iterdir() if acks.exists() else iter(())
    lines = [line for report in reports for line in report.read_text().split("\n")[:-1]]
    return {mark: content for mark, _, content in (line.partition("\t") for line in lines)}


def kill_until(kills: int, folder: Path, tally: Tally) -> None:
    chance = random.Random(kills)
    done = homes = 0
    while done < kills:
        homes += 1
        home, acks = folder / f"home-{homes}", folder / f"acks-{homes}"
        for _ in range(max(1, min(KILLS_PER_HOME, kills - done) // 4)):
            done += kill_some_writers(home, acks, chance)
            check_home(home, acknowledged_in(acks))
        tally("memories acknowledged before a kill -9", len(acknowledged_in(acks)))
    tally("kill -9 of one to eight writers", done)


def test_acknowledged_memories_survive_kill_9(tmp_path: Path, tally: Tally) -> None:
    kill_until(24, tmp_path, tally)


@pytest.mark.long
def test_acknowledged_memories_survive_10000_kills(tmp_path: Path, tally: Tally) -> None:
    kill_until(10_000, tmp_path, tally)


@pytest.mark.parametrize("kills", [10, pytest.param(400, marks=pytest.mark.long)])
def test_a_killed_committer_leaves_a_repository_that_the_next_one_continues(
    tmp_path: Path, kills: int, tally: Tally
) -> None:
    home, acks = tmp_path / "home", tmp_path / "acks"
    chance = random.Random(7)

    def commit_forever() -> None:
        vault = Vault.open(config=configured(home))
        fd = open_report(acks, str(os.getpid()))
        for number in count():
            note = f"note {number}"
            os.write(fd, f"{vault.add('main', [item(note)], BOT).ids[0]}\t{note}\n".encode())
            vault.commit()

    for _ in range(kills):
        pid = fork(commit_forever)
        time.sleep(chance.uniform(0.02, 0.12))
        os.kill(pid, signal.SIGKILL)
        wait(pid)
        check_home(home, acknowledged_in(acks))
    tally("kill -9 of a committer", kills)
