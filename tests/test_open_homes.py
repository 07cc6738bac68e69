"""What a further open home costs a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memfolio.memory import Memory

MEASURE = """
import gc, json, sys, threading, time
from memfolio import Memory
from memfolio.embed import vectorizer
from memfolio.vault import committer

vectorizer.LINGER = committer.LINGER = 0.1

def opened(name):
    memory = Memory.open(f"{sys.argv[1]}/{name}")
    memory.observe_many({"role": "user", "content": f"Note {n} of {name}: Alex likes tea"} for n in range(10))
    assert memory.recall("what does Alex like to drink?")
    return memory

def measured():
    end = time.monotonic() + 60
    while threading.active_count() > len(memories) + 1 and time.monotonic() < end:
        time.sleep(0.1)
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * 4096 / 1e6, threading.active_count()

memories = [opened(f"first-{n}") for n in range(3)]
before = measured()
memories += [opened(f"home-{n}") for n in range(20)]
after = measured()
print(json.dumps([(new - old) / 20 for old, new in zip(before, after)]))
for each in memories:
    each.close()
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_further_open_home_costs_two_megabytes_and_one_thread_at_most(quick_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", MEASURE, str(quick_path)], capture_output=True, text=True, timeout=200, check=False
    )
    assert child.returncode == 0, child.stderr
    megabytes, threads = json.loads(child.stdout)
    assert megabytes <= 2
    assert threads <= 1


def test_question_to_a_small_home_takes_few_statements(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []

    def trace(db: apsw.Connection) -> None:
        db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))

    def count(memory: Memory) -> int:
        statements.clear()
        assert memory.recall("what does Alex like to drink?")
        return sum("'main'." not in each for each in statements)  # those are FTS5's own

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, trace])
    with Memory.open(quick_path, background=False) as memory:
        memory.observe_many({"role": "user", "content": f"Note {n}: Alex likes tea"} for n in range(10))
        memory.sync(embed=True)
    with Memory.open(quick_path, background=False) as memory:
        assert count(memory) <= 22
        assert count(memory) <= 5
