"""A purge that is killed, or that happens beside other processes: it is finished, and nobody brings the bytes back."""

from __future__ import annotations

import errno
import json
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from memfolio.clock import SettableClock
from memfolio.errors import MemfolioError
from memfolio.vault.disk import Disk
from memfolio.vault.purge.purge import purge
from memfolio.vault.vault import Vault
from tests.conftest import START
from tests.disks import Crash, CrashingDisk, FailingDisk, QuickDisk, RecordingDisk
from tests.vault.conftest import Tally
from tests.vault.power import Cache, Forgetful
from tests.vault.proof import BOT, configured, item
from tests.vault.test_purge import PERSON, SECRET, add, everything, put, sound

STEPS = 40
"""How many of its steps a purge is killed at."""


@pytest.fixture
def template(quick_path: Path) -> tuple[Path, str]:
    """A home with a secret in logs, pages and history."""
    home = quick_path / "template"
    with opened(home, QuickDisk()) as vault:
        add(vault, "one")
        secret = add(vault, SECRET)
        put(vault, "agents/main/memory/weekly/2026-W46.md", f"# Week\n\n- {SECRET}\n- lunch\n")
        add(vault, "two")
    return home, secret


def opened(home: Path, disk: Disk) -> Vault:
    return Vault.open(config=configured(home), clock=SettableClock(START), disk=disk)


def steps_of(template: Path, secret: str) -> tuple[int, int]:
    """The steps of a purge: before the first of its own, and behind the last."""
    home = template.with_name("counted")
    shutil.copytree(template, home)
    disk = RecordingDisk()
    with opened(home, disk) as vault:
        first = disk.steps
        purge(vault, [secret], by=PERSON)
        last = disk.steps
    shutil.rmtree(home)
    return first, last


def test_a_killed_purge_is_finished_when_the_home_is_next_opened(template: tuple[Path, str], tally: Tally) -> None:
    home, secret = template
    first, last = steps_of(home, secret)
    stride = max(1, (last - first) // STEPS)
    finished = 0
    for k in range(first + 1, last + 1, stride):
        scene = home.with_name("scene")
        shutil.copytree(home, scene)
        disk = CrashingDisk(k)
        vault = None
        with suppress(Crash, MemfolioError, OSError):  # a dead process cannot let go of its locks in order
            vault = opened(scene, disk)
            purge(vault, [secret], by=PERSON)
        if vault is not None:
            with suppress(Crash, MemfolioError, OSError):
                vault.close()
        begun = (scene / ".memfolio/purge.json").exists()
        with opened(scene, QuickDisk()) as vault:
            texts = [each.content for each in vault.entries("main")]
            if begun or SECRET not in texts:
                assert texts == ["one", "two"], disk
                assert SECRET.encode() not in everything(scene), disk
                assert not (scene / ".memfolio/purge.json").exists()
                finished += 1
            else:
                assert texts == ["one", SECRET, "two"], disk
            vault.commit()
            if begun:
                sound(vault)
        shutil.rmtree(scene)
    assert finished > STEPS // 2
    tally("killed purges", len(range(first + 1, last + 1, stride)))


def test_a_purge_that_the_disk_stops_is_finished_when_the_home_is_next_opened(template: tuple[Path, str]) -> None:
    home, secret = template
    first, last = steps_of(home, secret)
    for k in range(first + 1, last + 1, (last - first) // 12):
        scene = home.with_name("scene")
        shutil.copytree(home, scene)
        disk = FailingDisk(k, errno.ENOSPC, forever=True)
        with suppress(MemfolioError):
            vault = opened(scene, disk)
            try:
                purge(vault, [secret], by=PERSON)
            except MemfolioError as error:
                assert ("not finished" in error.message) is (scene / ".memfolio/purge.json").exists(), disk
            disk.heal()
            vault.close()
        begun = (scene / ".memfolio/purge.json").exists()
        with opened(scene, QuickDisk()) as vault:
            is_gone = SECRET.encode() not in everything(scene)
            assert is_gone or (not begun and SECRET in [each.content for each in vault.entries("main")]), disk
            vault.commit()
            sound(vault)
        shutil.rmtree(scene)


def test_no_power_cut_after_a_purge_brings_a_byte_back(quick_path: Path) -> None:
    home, disk = quick_path / "disk" / "home", RecordingDisk()
    config = configured(home, git_enabled=False)
    with Vault.open(config=config, clock=SettableClock(START), disk=QuickDisk()) as vault:
        add(vault, "one")
        secret = add(vault, SECRET)
        put(vault, "agents/main/memory/weekly/2026-W46.md", f"# Week\n\n- {SECRET}\n- lunch\n")
    cache = Cache(home.parent)
    with Vault.open(config=config, clock=SettableClock(START), disk=disk) as vault:
        purge(vault, [secret], by=PERSON)
    for call in disk.calls:
        cache.take(call)
    for seed in range(20):
        lost = quick_path / f"lost-{seed}"
        cache.lose(lost, random.Random(seed) if seed else Forgetful())
        assert SECRET.encode() not in everything(lost / "home")


OTHER = """
import json, sys
from pathlib import Path
from memfolio.memory import Memory
from memfolio.types import Attribution
memory = Memory.open(Path(sys.argv[1]), background=False)
memory.remember("the other process was here first")
assert memory.recall("safe combination")[0].memory.content.startswith("The combination")
memory.vault.commit()
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "write":
        memory.remember("and it goes on writing")
        memory.vault.commit()
        found = [hit.memory.content for hit in memory.recall("safe combination")]
        assert memory.audit.log()[0].seq > 3
        print(json.dumps(found), flush=True)
memory.close()
"""


def test_a_process_that_has_the_home_open_does_not_bring_it_back(quick_path: Path, cache: Path) -> None:
    from memfolio.index.index import rebuilder
    from memfolio.memory import Memory

    home = quick_path / "home"
    with Memory.open(home, background=False) as memory:
        secret = memory.remember(SECRET)
        memory.vault.commit()
        other = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        done = purge(memory.vault, [secret.id], by=PERSON, rebuild=rebuilder(memory.vault, memory.searcher.indexes()))
        assert done.is_clean
        other.stdin.write("write\n")
        other.stdin.flush()
        found = json.loads(other.stdout.readline())
        other.stdin.close()
        assert other.wait(30) == 0
        other.stdout.close()
        assert not any(SECRET in each for each in found)
        assert SECRET.encode() not in everything(home)
        assert SECRET.encode() not in everything(cache)
        memory.vault.survey()
        memory.vault.commit()
        sound(memory.vault)
        assert memory.get(secret.id) is None
        assert {hit.memory.content for hit in memory.recall("process writing", include=["archived"])} == {
            "the other process was here first",
            "and it goes on writing",
        }


def test_vectors_of_purged_texts_are_gone_and_others_are_carried_over(quick_path: Path, cache: Path) -> None:
    from memfolio.index.index import rebuilder
    from memfolio.index.vectors import keep_paid_vectors, paid_vectors, text_hash
    from memfolio.memory import Memory

    with Memory.open(quick_path / "home", background=False) as memory:
        secret = memory.remember(SECRET)
        memory.remember("a text that stays")
        bought = {text_hash(text): text.encode().ljust(64) for text in (SECRET, "a text that stays")}
        memory.searcher.index.write(lambda connection: keep_paid_vectors(connection, "paid", bought))
        assert memory.recall("safe")
        done = purge(memory.vault, [secret.id], by=PERSON, rebuild=rebuilder(memory.vault, memory.searcher.indexes()))
        assert done.is_clean
        kept = memory.searcher.index.read(lambda connection: paid_vectors(connection, "paid", list(bought)))
        assert list(kept.values()) == [b"a text that stays".ljust(64)]
        assert b"combination" not in everything(cache)


def test_an_index_from_before_the_purge_is_not_used(quick_path: Path, cache: Path) -> None:
    from memfolio.memory import Memory

    home, aside = quick_path / "home", quick_path / "aside"
    with Memory.open(home, background=False) as memory:
        secret = memory.remember(SECRET)
        assert memory.recall("safe")
    shutil.copytree(cache, aside)
    with Vault.open(home) as vault:
        assert purge(vault, [secret.id], by=PERSON).is_clean
    shutil.copytree(aside, cache, dirs_exist_ok=True)
    with Memory.open(home, background=False) as memory:
        memory.vault.add("main", [item("something else")], BOT)
        assert not memory.recall("safe combination", include=["archived"])
    assert SECRET.encode() not in everything(cache)


BUSY = """
import sys, threading
from pathlib import Path
from memfolio.memory import Memory
memory, made, stop = Memory.open(Path(sys.argv[1]), background=False), 0, threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
print("ready", flush=True)
while not stop.is_set():
    memory.remember(f"the busy process writes number {made}")
    made += 1
    if made % 5 == 0:
        memory.vault.commit()
        memory.recall("busy process")
memory.close()
print(made, flush=True)
"""


def test_others_go_on_writing_while_something_is_purged(quick_path: Path, cache: Path) -> None:
    from memfolio.index.index import rebuilder
    from memfolio.memory import Memory

    home = quick_path / "home"
    with Memory.open(home, background=False) as memory:
        secrets = [memory.remember(f"{SECRET}, and {number} more") for number in range(5)]
        memory.vault.commit()
        busy = subprocess.Popen(
            [sys.executable, "-c", BUSY, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert busy.stdin is not None
        assert busy.stdout is not None
        assert busy.stdout.readline() == "ready\n"
        for secret in secrets:
            rebuild = rebuilder(memory.vault, memory.searcher.indexes())
            assert purge(memory.vault, [secret.id], by=PERSON, rebuild=rebuild).is_clean
        made, _ = busy.communicate(timeout=60)
        assert busy.returncode == 0
        memory.vault.survey()
        memory.vault.commit()
        sound(memory.vault)
        assert SECRET.encode() not in everything(home)
        texts = [each.content for each in memory.vault.entries("main")]
        assert sorted(texts) == sorted(f"the busy process writes number {number}" for number in range(int(made)))
        assert memory.recall("busy process")
    assert SECRET.encode() not in everything(cache)
