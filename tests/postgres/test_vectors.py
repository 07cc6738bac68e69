"""Vectors that were paid for: made by one server, used by all, and gone with a purge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memfolio import Memory
from memfolio.embed.embedder import HashedEmbedder
from memfolio.errors import EmbedderError
from memfolio.types import HUMAN
from memfolio.vault.postgres import vault as postgres
from memfolio.vault.postgres.vault import PostgresVault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TEXTS = [f"the garden of house number {number}" for number in range(12)]


class Paid(HashedEmbedder):
    """Counts the texts that it is paid for, and waits while it is told to."""

    is_costly = True

    def __init__(self) -> None:
        super().__init__(16)
        self.paid: list[str] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.began = threading.Event()
        self.is_down = False

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if self.is_down:
            raise EmbedderError("the embedder is down", hint="wait")
        if not query:
            self.paid += texts
            self.began.set()
            self.may_go_on.wait(30)
        return super().embed(texts)


Open = Callable[[], tuple[Memory, Paid]]


@pytest.fixture
def opened(
    quick_path: Path, name: str, in_postgres: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens the home as one more server would, with an embedder of its own."""
    in_postgres()
    numbers = count()
    with ExitStack() as stack:

        def open_one() -> tuple[Memory, Paid]:
            monkeypatch.setenv("MEMFOLIO_CACHE", str(quick_path / f"cache-{next(numbers)}"))
            embedder = Paid()
            return stack.enter_context(Memory.open(quick_path / name, background=False, embedder=embedder)), embedder

        yield open_one


def kept(memory: Memory, table: str = "vectors") -> int:
    assert isinstance(memory.vault, PostgresVault)
    rows = memory.vault.rows
    ((found,),) = rows.ask(f"SELECT count(*) FROM memfolio.{table} WHERE home = %s", [rows.home])
    return int(found)


def test_a_vector_is_paid_for_by_one_server_and_used_by_the_others(opened: Open) -> None:
    (one, payer), (other, saver) = opened(), opened()
    for text in TEXTS:
        one.remember(text)
    one.searcher.embed_all()
    other.searcher.embed_all()
    assert sorted(payer.paid) == sorted(TEXTS)
    assert saver.paid == []
    assert other.searcher.missing_vectors() == 0
    assert "vector" in {reason.strategy for reason in other.recall(TEXTS[3])[0].why}
    assert (kept(one), kept(one, "waiting")) == (len(TEXTS), 0)


def test_two_servers_that_embed_at_once_pay_for_nothing_twice(opened: Open) -> None:
    (one, first), (other, second) = opened(), opened()
    for text in TEXTS:
        one.remember(text)
    first.may_go_on.clear()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(one.searcher.embed_all)
        assert first.began.wait(30)
        waits = pool.submit(other.searcher.embed_all)
        time.sleep(0.3)  # so that it has looked what there is to be done
        assert not waits.done()
        first.may_go_on.set()
        slow.result(60)
        waits.result(60)
    assert sorted(first.paid + second.paid) == sorted(TEXTS)
    assert [memory.searcher.missing_vectors() for memory in (one, other)] == [0, 0]


def test_what_a_server_that_died_was_to_embed_is_embedded_by_another(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "CLAIM_SECONDS", 0)
    (one, down), (other, up) = opened(), opened()
    one.remember(TEXTS[0])
    down.is_down = True
    with pytest.raises(EmbedderError):
        one.searcher.embed_all()
    assert kept(one, "waiting") == 1
    other.searcher.embed_all()
    assert up.paid == TEXTS[:1]
    assert (kept(one), kept(one, "waiting")) == (1, 0)


def test_a_purge_leaves_no_vector_in_the_database(opened: Open) -> None:
    memory, _ = opened()
    secret = memory.remember("the key lies under the third stone")
    memory.remember(TEXTS[0])
    memory.searcher.embed_all()
    assert kept(memory) == 2
    proof = memory.purge(secret.id, by=HUMAN).proof
    assert proof
    assert proof.left == ()
    assert kept(memory) == 0
