"""What was imported is found by its meaning at once, and `tend` embeds whatever is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.serve.cli import import_ as importing
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.wait import Wait
from tests.serve.calls import Run, RunJson

DAYS, A_DAY = 12, 76


def notes(folder: Path) -> Path:
    """Many days of notes."""
    folder.mkdir(parents=True)
    for day in range(1, DAYS + 1):
        lines = "".join(f"- [09:30] Note {number} of day {day} about green tea\n" for number in range(A_DAY))
        (folder / f"2026-01-{day:02}.md").write_text(lines, encoding="utf-8")
    return folder


def missing(home: Path) -> int:
    with Memory.open(home, background=False) as memory:
        return memory.searcher.missing_vectors()


def test_import_returns_with_every_memory_embedded(home: Path, cli_json: RunJson, tmp_path: Path) -> None:
    document = cli_json("import", notes(tmp_path / "notes"), "--from", "markdown")
    assert (document["pages"], document["embedded"]) == (DAYS, DAYS * A_DAY)
    assert (document["not_embedded"], document["degraded"]) == (0, [])
    assert missing(home) == 0
    assert cli_json("recall", "what is there to drink", "--limit", 1)["degraded"] == []


def test_import_tells_how_far_embedding_is(home: Path, settled: None, tmp_path: Path) -> None:
    steps: list[tuple[str, str, int, int]] = []

    class Kept(Wait):
        def step(self, things: str, words: str, done: int, total: int) -> None:
            steps.append((things, words, done, total))

    importing.import_(Options(home=str(home), wait=Kept()), notes(tmp_path / "notes"), source="markdown")
    assert ("memories", "Embedding", 0, DAYS * A_DAY) in steps


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"MEMFOLIO_EMBEDDING_PROVIDER": "none"}, "there is no embedder"),
        ({"MEMFOLIO_EMBEDDING_URL": "http://127.0.0.1:9/v1"}, "cannot be reached"),
    ],
)
def test_import_and_tend_go_on_without_an_embedder_and_say_so(
    home: Path, cli_json: RunJson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], why: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    document = cli_json("import", notes(tmp_path / "notes"), "--from", "markdown")
    assert (document["pages"], document["embedded"], document["not_embedded"]) == (DAYS, 0, DAYS * A_DAY)
    assert why in document["degraded"][0]
    [agent] = cli_json("tend")["agents"]
    [job] = [each for each in agent["done"] if each["job"] == "embed"]
    assert (job["did"], job["error"]) == ("", "")
    if why == "cannot be reached":  # who chose none need not be told again and again
        assert "not embedded" in job["notes"][0]
        assert why in job["notes"][0]
    assert agent["done"][-1]["job"] != "embed"


def test_tend_embeds_what_is_missing_and_a_dry_run_only_counts_it(home: Path, cli: Run, cli_json: RunJson) -> None:
    with Memory.open(home, background=False) as memory:
        memory.observe_many({"role": "user", "content": f"Note {number} about tea"} for number in range(300))
        assert memory.searcher.missing_vectors() == 300
    assert cli("tend", "--job", "embed", "--dry-run") == "embed (dry run): 300 memories embedded\n"
    assert missing(home) == 300
    assert cli("tend", "--job", "embed") == "embed: 300 memories embedded\n"
    assert missing(home) == 0
    assert cli("tend", "--job", "embed") == "embed: nothing to do\n"


KILLED = """
import sys, time
from memfolio import Memory
from memfolio.embed import vectorizer
from memfolio.embed.local import LocalEmbedder
class Slow(LocalEmbedder):
    def embed(self, texts, *, query=False):
        time.sleep(0.05)
        print("made", flush=True)
        return super().embed(texts, query=query)
vectorizer.BATCH = 20
with Memory.open(sys.argv[1], background=False, embedder=Slow()) as memory:
    memory.searcher.embed()
"""


def test_embedding_that_is_killed_goes_on_behind_its_last_batch(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.observe_many({"role": "user", "content": f"Note {number} about tea"} for number in range(900))
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(home)], stdout=subprocess.PIPE)
    assert child.stdout
    for _ in range(5):
        assert child.stdout.readline() == b"made\n"
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    left = missing(home)
    assert 0 < left <= 900 - 4 * 20
    with Memory.open(home, background=False) as memory:
        found = memory.searcher.embed()
    assert (found.made, found.missing) == (left, 0)


def test_sync_returns_when_everything_is_embedded_beside_the_thread_that_embeds(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.observe_many({"role": "user", "content": f"Note {number} about tea"} for number in range(700))
        used = time.process_time()
        assert memory.sync(embed=True) == []
        assert memory.searcher.missing_vectors() == 0
        assert time.process_time() - used < 5
