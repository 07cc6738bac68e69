"""The thread that makes vectors: it works when there is something to do, and only then."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.embed import vectorizer
from memfolio.embed.vectorizer import Vectorizer
from memfolio.vault import committer
from tests.embed.test_vectorizer import Unsteady, fill_up, until, waiting
from tests.index.proof import assert_index_equals_rebuilt, opened


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "memfolio-embed"]


def test_vectors_are_made_without_anybody_asking(home: Path) -> None:
    with opened(home, embedder=Unsteady(), background=True) as memory:
        fill_up(memory)
        until(lambda: memory.searcher.index._database is not None and waiting(memory) == 0)
        assert_index_equals_rebuilt(memory)


def test_idle_thread_asks_nothing_and_ends_with_the_memory(home: Path) -> None:
    embedder = Unsteady()
    with opened(home, embedder=embedder, background=True) as memory:
        fill_up(memory)
        until(lambda: waiting(memory) == 0)
        calls, used = embedder.calls, time.process_time()
        time.sleep(1)
        assert embedder.calls == calls
        assert time.process_time() - used < 0.2
    assert threads() == []


def test_memory_that_only_reads_starts_no_thread(home: Path) -> None:
    with opened(home, embedder=Unsteady()) as memory:
        fill_up(memory)
        memory.recall("tea")
    with opened(home, embedder=Unsteady(), background=True) as memory:
        memory.recall("tea")
        assert threads() == []


def test_change_of_the_embedder_is_worked_off_in_the_background(home: Path) -> None:
    with opened(home, embedder=Unsteady(name="one")) as memory:
        fill_up(memory)
        memory.recall("tea")
    with opened(home, embedder=Unsteady(name="two"), background=True) as memory:
        memory.recall("tea")
        until(lambda: waiting(memory) == 0)
        assert_index_equals_rebuilt(memory)


def test_embedder_that_comes_back_is_used_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorizer, "REST", 0.05)
    embedder = Unsteady(costly=True)
    embedder.is_down = True
    with opened(home, embedder=embedder, background=True) as memory:
        fill_up(memory)
        until(lambda: bool(memory.recall("tea").degraded))
        embedder.is_down = False
        until(lambda: not memory.recall("tea").degraded and waiting(memory) == 0)


def test_closing_does_not_wait_for_a_long_queue(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorizer, "BATCH", 1)

    class Slow(Unsteady):
        def embed(self, texts, *, query=False):  # type: ignore[no-untyped-def]
            time.sleep(0.1)
            return super().embed(texts)

    with opened(home, embedder=Slow(), background=True) as memory:
        fill_up(memory)
        time.sleep(0.5)
        started = time.monotonic()
    assert time.monotonic() - started < 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_thread_that_died_is_started_anew(home: Path) -> None:
    class Deadly(Unsteady):
        is_deadly = True

        def embed(self, texts, *, query=False):  # type: ignore[no-untyped-def]
            if self.is_deadly:
                raise SystemExit  # which ends a thread without a word
            return super().embed(texts)

    embedder = Deadly()
    with opened(home, embedder=embedder, background=True) as memory:
        fill_up(memory)
        until(lambda: memory.searcher._worker._thread is not None and not memory.searcher._worker._thread.is_alive())
        embedder.is_deadly = False
        memory.remember("tea")
        until(lambda: waiting(memory) == 0)


def test_thread_sleeps_when_the_vectors_are_anothers_to_make(home: Path) -> None:
    with opened(home, embedder=Unsteady(name="one"), background=True) as memory:
        fill_up(memory)
        for _ in range(2):
            memory.recall("tea")
            until(lambda: waiting(memory) == 0)
            Vectorizer(Unsteady(name="two")).fill(memory.searcher.index, seconds=0)
        until(lambda: "another process" in "".join(memory.recall("tea").degraded))
        time.sleep(0.5)
        used = time.process_time()
        time.sleep(1)
        assert time.process_time() - used < 0.2
        assert waiting(memory) > 0


def test_threads_of_an_idle_memory_end_and_come_back_for_the_next_change(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorizer, "LINGER", 0.05)
    monkeypatch.setattr(committer, "LINGER", 0.05)
    with Memory.open(home, embedder=Unsteady()) as memory:
        for text in ("tea in the morning", "coffee at noon"):
            memory.remember(text)
            until(lambda: waiting(memory) == 0 and not memory.vault.journal.pending)
            until(lambda: not {"memfolio-embed", "memfolio-commit"} & {each.name for each in threading.enumerate()})


def test_call_in_the_moment_in_which_the_thread_ends_is_heard(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorizer, "LINGER", 0.001)
    monkeypatch.setattr(vectorizer, "CALM", 0.0005)
    with opened(home, embedder=Unsteady(), background=True) as memory:
        for number in range(60):
            memory.remember(f"tea number {number}")
            until(lambda: waiting(memory) == 0)
