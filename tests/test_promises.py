"""The promises, each shown once in the plainest way; `tests/vault` tries to break them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memfolio import Memory, NotFoundError, PageChangedError
from memfolio.clock import SettableClock
from memfolio.embed.embedder import HashedEmbedder
from memfolio.embed.http import HttpEmbedder
from memfolio.tend.tend import JOBS
from memfolio.types import Action
from memfolio.vault.paths import state_ledger
from memfolio.vault.vault import OWNER
from tests.index.proof import assert_index_equals_rebuilt
from tests.vault.proof import commits

WRITER = """
import sys
from memfolio import Memory
memory = Memory.open(sys.argv[1])
for number in range(10_000):
    memory.remember(f"number {number}")
    print(number, flush=True)
"""


def snapshot(home: Path) -> dict[str, tuple[int, int]]:
    """Every file below the home, git's and our own included, with its size and time."""
    paths = [path for path in home.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


def contents(memory: Memory) -> list[str]:
    return [item.content for item in memory.vault.entries(memory.agent)]


def test_1_files_are_the_truth(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.remember("Alex prefers tea")
        memory.remember("It rained on Alex")
        before = memory.vault.entries("main")
        memory.reindex()
        answers = [(hit.memory, hit.score, hit.why) for hit in memory.recall("What does Alex drink?")]
        cache = memory.vault.config.cache
    shutil.rmtree(home / ".git")
    shutil.rmtree(cache)
    (home / ".memfolio" / "recent.jsonl").unlink()
    with Memory.open(home) as memory:
        assert memory.vault.entries("main") == before
        memory.reindex()
        assert [(hit.memory, hit.score, hit.why) for hit in memory.recall("What does Alex drink?")] == answers
        assert len(answers) == 2


def test_1_index_of_a_tended_home_is_the_one_that_its_files_make(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, clock=clock, background=False) as memory:
        for number in range(8):
            memory.observe("user", f"I live in town {number % 3} and Anna works at Siemens.", session=f"s-{number}")
            memory.remember(
                f"Note {number}", tags=["b", "a"], importance=0.9, store="short_term", attributes={"b": 1, "a": 2}
            )
            clock.advance(days=9)
        memory.tend()
        memory.forget(memory.vault.entries("main")[0].id)
        memory.archive(memory.vault.entries("main")[0].id, by=OWNER)
        assert_index_equals_rebuilt(memory)


def test_1_what_is_known_and_what_follows_is_the_same_in_a_rebuilt_index(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        for number in range(5):
            memory.facts.assert_(f"n{number}", "leadsTo", f"n{number + 1}", confidence=0.9, valid_until="2999-01-01")
        memory.facts.retract(memory.facts.query("n4")[0].id)
        memory.rules.create("?x leadsTo ?y and ?y leadsTo ?z => ?x leadsTo ?z")
        memory.cases.store({"context": "a leak"}, {"actions": ["call Kim"]}, {"success": True})
        memory.inference.forward(persist=True)
        before = memory.facts.query(limit=100), memory.cases.list()
        assert len(before[0]) == 10
        assert_index_equals_rebuilt(memory)
        cache = memory.vault.config.cache
    shutil.rmtree(cache)
    with Memory.open(home, background=False) as memory:
        again = memory.facts.query(limit=100), memory.cases.list()
        assert [(each[1:], each.is_derived) for each in again[0]] == [(each[1:], each.is_derived) for each in before[0]]
        assert again[1] == before[1]


def test_2_an_acknowledged_memory_is_on_disk_after_kill_9(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(home)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(30)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout.read().split()]
    with Memory.open(home) as memory:
        found = contents(memory)
    assert found[: len(acknowledged)] == [f"number {number}" for number in acknowledged]
    assert len(found) <= len(acknowledged) + 1


def test_3_no_write_is_silently_replaced(home: Path) -> None:
    with Memory.open(home) as memory:
        vault = memory.vault
        vault.put_page("agents/main/MEMORY.md", "one\n", expects=None, by=OWNER)
        page = vault.page("agents/main/MEMORY.md")
        assert page is not None
        vault.put_page(page.path, "two\n", expects=page.hash, by=OWNER)
        with pytest.raises(PageChangedError) as caught:
            vault.put_page(page.path, "three\n", expects=page.hash, by=OWNER)
    assert caught.value.current == b"two\n"


def test_4_a_persons_edit_is_never_lost(home: Path) -> None:
    with Memory.open(home) as memory:
        vault = memory.vault
        vault.put_page("agents/main/USER.md", "one\n", expects=None, by=OWNER)
        (home / "agents/main/USER.md").write_text("in my own words\n")
        memory.sync()
        page = vault.page("agents/main/USER.md")
        assert page is not None
        vault.put_page(page.path, "two\n", expects=page.hash, by=OWNER)
        vault.commit()
        edited = commits(vault.history, page.path)[1]
        assert vault.history.read(page.path, commit=edited.id) == b"in my own words\n"
        assert edited.author == "human"


def test_5_every_change_is_one_line_and_in_git_and_can_be_undone(home: Path) -> None:
    with Memory.open(home) as memory:
        before = contents(memory)
        memory.remember("a mistake", session="s-1")
        memory.vault.commit()
        entry = memory.audit.log(limit=1)[0]
        assert (entry.action, entry.actor, entry.approval, entry.trigger) == (
            Action.APPEND,
            "bot:trigger-remember",
            "auto",
            "remember",
        )
        assert entry.commit is not None
        memory.audit.undo([entry.seq], by=OWNER)
        assert contents(memory) == before


@pytest.mark.serial
def test_6_an_idle_home_is_left_alone(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.remember("the last thing for a while")
        deadline = time.monotonic() + 20
        while memory.audit.log(limit=1)[0].commit is None and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1.5)
        before, used = snapshot(home), time.process_time()
        time.sleep(2)
        assert time.process_time() - used < 0.1
        assert snapshot(home) == before


def test_7_one_bad_file_does_not_stop_the_others_and_is_not_rewritten(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.remember("good")
    bad = home / "agents/main/memory/2026-02-30.md"
    bad.write_bytes(b"\xff\xfe## 99:99 \x00 nonsense")
    (home / "agents/main/memory/meta/state").mkdir(parents=True)
    (home / "agents/main/memory/meta/state/0001.jsonl").write_bytes(b'{"half a line')
    with Memory.open(home) as memory:
        memory.remember("still good")
        assert contents(memory) == ["good", "still good"]
    assert bad.read_bytes() == b"\xff\xfe## 99:99 \x00 nonsense"


def test_8_a_missing_embedder_loses_nothing_and_is_shown(home: Path) -> None:
    with Memory.open(home, embedder=HttpEmbedder("http://127.0.0.1:9/v1")) as memory:
        item = memory.remember("Alex prefers tea")
        hits = memory.recall("tea")
        assert [hit.memory for hit in hits] == [item]
        assert "vectors: " in hits.degraded[0]
    with Memory.open(home, embedder=HashedEmbedder()) as memory:
        memory.reindex()
        hits = memory.recall("tea")
        assert {"text", "vector"} <= {reason.strategy for reason in hits[0].why}
        assert hits.degraded == ()


def test_9_forgotten_stays_forgotten_when_its_text_comes_back(home: Path) -> None:
    with Memory.open(home) as memory:
        item = memory.remember("a secret teapot")
        log = home / "agents/main/memory" / f"{item.created_at.astimezone(memory.vault.home.zone):%Y-%m-%d}.md"
        text = log.read_text()
        memory.forget(item.id)
        assert memory.recall("teapot") == []
        log.write_text(text)
        memory.sync()
        memory.reindex()
        assert memory.recall("teapot") == []
        memory.restore(item.id)
        assert [hit.memory.id for hit in memory.recall("teapot")] == [item.id]


def test_9_forgotten_stays_forgotten_when_the_home_is_tended(home: Path, clock: SettableClock) -> None:
    with Memory.open(home, clock=clock, background=False) as memory:
        turns = [memory.observe("user", "I live in Zanzibar.", session=f"s-{number}") for number in range(3)]
        memory.end_session("s-0")
        memory.forget("Zanzibar", every=True)
        clock.advance(days=40)
        memory.tend(jobs=[job.name for job in JOBS])
        assert all(each.forgotten_at for turn in turns if (each := memory.get(turn.id)))
        assert memory.recall("Zanzibar", include=["archived", "superseded", "dormant"]) == []


def test_9_purge_leaves_no_byte_behind(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        item = memory.observe("user", "I live in Zanzibar, behind the spice market.", session="s-1")
        memory.end_session("s-1")
        memory.tend(jobs=[job.name for job in JOBS])
        memory.vault.commit()
        assert memory.purge(item.id).is_clean
        cache = memory.vault.config.cache
    left = [path for root in (home, cache) for path in root.rglob("*") if path.is_file()]
    assert not [path for path in left if b"spice market" in path.read_bytes()]
    objects = subprocess.run(
        ["git", "-C", str(home), "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    )
    assert b"spice market" not in objects.stdout


def test_9_purge_leaves_no_byte_of_a_fact_or_a_case_behind(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        fact = memory.facts.assert_("Acme", "hasRecipe", "seven parts of cardamom")
        memory.facts.assert_("Acme", "hasRecipe", "seven parts of cardamom", confidence=0.5)
        memory.facts.assert_("Acme", "locatedIn", "Oslo")
        case = memory.cases.store({"context": "the cardamom ran out"}, {"actions": ["ask Kim"]}, {"success": True})
        memory.vault.commit()
        assert memory.purge(fact.id).is_clean
        assert memory.purge(case.id).is_clean
        assert [str(each) for each in memory.facts.query()] == ["Acme locatedIn Oslo"]
        assert memory.cases.list() == []
        cache = memory.vault.config.cache
    left = [path for root in (home, cache) for path in root.rglob("*") if path.is_file()]
    assert not [path for path in left if b"cardamom" in path.read_bytes()]


def test_9_forgotten_stays_forgotten_when_the_home_is_rolled_back(home: Path) -> None:
    with Memory.open(home) as memory:
        item = memory.remember("a secret")
        memory.vault.commit()
        then = memory.vault.history.tip()
        assert then is not None
        memory.vault.add_lines(state_ledger("main"), [{"op": "tombstone", "memory": item.id}], OWNER)
        memory.audit.undo([memory.audit.log(limit=2)[1].seq], by=OWNER)
        memory.audit.rollback(to=then, by=OWNER)
        assert contents(memory) == []


def test_10_agents_see_only_what_they_may(home: Path) -> None:
    with Memory.open(home, "one") as one, Memory.open(home, "two") as two:
        item = one.remember("mine")
        assert one.get(item.id) == item
        assert two.get(item.id) is None
        assert [hit.memory for hit in one.recall("mine")] == [item]
        assert two.recall("mine") == []
        fact = one.facts.assert_("Acme", "locatedIn", "Oslo")
        assert (len(one.facts.query()), two.facts.query()) == (1, [])
        with pytest.raises(NotFoundError):
            two.facts.get(fact.id)
        assert os.listdir(home / "agents") == ["one"]
