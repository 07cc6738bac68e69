"""Embedders that fail, lie, change and come back, seen from the verbs: no memory is lost, and the answer says so."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memfolio import Memory
from memfolio.embed import vectorizer
from memfolio.embed.embedder import HashedEmbedder, Identity
from memfolio.embed.http import HttpEmbedder
from memfolio.embed.vectorizer import Vectorizer
from memfolio.errors import EmbedderError
from memfolio.index.index import Index
from memfolio.index.vectors import count_pending, identity_of
from memfolio.recall.query import Query
from memfolio.recall.recall import Search
from tests.embed.server import EmbeddingServer, Handler, Vectors, running
from tests.index.proof import assert_index_equals_rebuilt, opened
from tests.vault.conftest import Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TEXTS = tuple(f"{word} number {number}" for number in range(20) for word in ("tea", "rain", "coffee"))


class Unsteady(HashedEmbedder):
    """Fails when it is told to, and goes by whatever name it is given."""

    def __init__(self, dimension: int = 16, *, name: str = "one", costly: bool = False) -> None:
        super().__init__(dimension)
        self.name = name
        self.is_costly = costly
        self.is_down = False
        self.calls = self.lives = 0
        self.wrong = 0

    @property
    def identity(self) -> Identity:
        return Identity(provider="test", model=self.name, dimension=self._dimension, fingerprint="1")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.calls += 1
        if self.is_down:
            raise EmbedderError("the embedder is down", hint="wait")
        rows = super().embed(texts)
        rows = rows if self.name == "one" else -rows[:, ::-1]
        return rows[:, self.wrong :] if self.wrong else rows


@pytest.fixture(autouse=True)
def short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that failed is left alone for a moment only."""
    monkeypatch.setattr(vectorizer, "REST", 0.05)


def fill_up(memory: Memory) -> None:
    memory.observe_many([{"role": "user", "content": text} for text in TEXTS])


def strategies(memory: Memory, question: str = "tea number 3") -> set[str]:
    """Which of the two ways to search found something; other reasons only tell more of what these found."""
    return {reason.strategy for hit in memory.recall(question) for reason in hit.why} & {"text", "vector"}


def waiting(memory: Memory) -> int:
    return memory.searcher.index.read(count_pending)


def check_nothing_is_lost(memory: Memory) -> None:
    assert {item.content for item in memory.vault.entries("main")} >= set(TEXTS)
    for text in TEXTS[::7]:
        assert memory.recall(text, limit=1)[0].memory.content == text


def until(condition: object, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.02)
    assert condition()  # type: ignore[operator]


def test_memory_without_working_embedder_is_found_by_its_words_and_gets_its_vector_later(home: Path) -> None:
    embedder = Unsteady()
    embedder.is_down = True
    with opened(home, embedder=embedder) as memory:
        fill_up(memory)
        check_nothing_is_lost(memory)
        hits = memory.recall("tea number 3")
        assert hits.degraded == ("vectors: the embedder is down",)
        assert "vector" not in {reason.strategy for hit in hits for reason in hit.why}
        assert waiting(memory) == len(TEXTS)
        embedder.is_down = False
        time.sleep(0.2)
        assert strategies(memory) == {"text", "vector"}
        assert memory.recall("tea").degraded == ()
        assert waiting(memory) == 0
        assert_index_equals_rebuilt(memory)


def test_embedder_that_failed_is_left_alone_for_longer_and_longer(home: Path) -> None:
    embedder = Unsteady()
    embedder.is_down = True
    with opened(home, embedder=embedder) as memory:
        memory.remember("tea")
        started = time.monotonic()
        while time.monotonic() - started < 1:
            memory.recall("tea")
        assert embedder.calls <= 6


class FailsHalfWay(Unsteady):
    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if self.calls >= 2 and not self.is_down:
            self.is_down = True
        return super().embed(texts)


@pytest.mark.parametrize("costly", [False, True])
def test_batches_before_a_failure_are_kept(home: Path, costly: bool) -> None:
    embedder = FailsHalfWay(costly=costly)
    with opened(home, embedder=embedder) as memory:
        fill_up(memory)
        memory.searcher.vectorizer.fill(memory.searcher.index, batch=7)
        assert waiting(memory) == len(TEXTS) - 14
        check_nothing_is_lost(memory)
        embedder.calls, embedder.is_down = -1000, False
        time.sleep(0.2)
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert waiting(memory) == 0
        assert_index_equals_rebuilt(memory)


@pytest.mark.parametrize(
    "other", [Unsteady(16, name="two"), Unsteady(24), Unsteady(8, name="two")], ids=("named", "longer", "both")
)
def test_vectors_of_another_embedder_are_made_anew_and_never_compared(home: Path, other: Unsteady) -> None:
    with opened(home, embedder=Unsteady(16)) as memory:
        fill_up(memory)
        assert strategies(memory) == {"text", "vector"}
    with opened(home, embedder=other) as memory:
        asked = memory.searcher.vectorizer.of("tea number 3")
        assert asked is not None
        assert memory.searcher.index.read(identity_of) == Unsteady(16).identity.text
        assert strategies(memory) == {"text", "vector"}
        assert memory.searcher.index.read(identity_of) == other.identity.text
        assert_index_equals_rebuilt(memory)
        check_nothing_is_lost(memory)


def test_question_of_one_embedder_is_not_compared_with_vectors_that_another_made_since(home: Path) -> None:
    with opened(home, embedder=Unsteady(name="one")) as one, opened(home, embedder=Unsteady(name="two")) as two:
        fill_up(one)
        assert strategies(one) == {"text", "vector"}
        asked = one.searcher.vectorizer.of("tea number 3")
        two.searcher.vectorizer.fill(two.searcher.index)
        config = one.vault.config
        query = Query.from_args("tea number 3", now=one.vault.home.now(), zone=one.vault.home.zone)
        search = Search(indexes=[one.searcher.index], query=query, ranking=config.recall, decay=config.decay)
        hits = search.answer(search.understand(search.survey()), asked)
        assert "vector" not in {reason.strategy for hit in hits for reason in hit.why}


class Interrupted(Unsteady):
    """While it embeds, somebody else takes the index over."""

    meanwhile: object = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        rows = super().embed(texts)
        if callable(self.meanwhile) and len(texts) > 1:
            act, self.meanwhile = self.meanwhile, None
            act()
        return rows


@pytest.mark.parametrize("dimension", [16, 8, 32])
def test_vectors_that_come_too_late_are_not_mixed_with_those_of_another_embedder(home: Path, dimension: int) -> None:
    slow = Interrupted()
    with opened(home, embedder=slow) as one, opened(home, embedder=Unsteady(dimension, name="two")) as two:
        fill_up(one)
        slow.meanwhile = lambda: two.searcher.vectorizer.fill(two.searcher.index, seconds=0)
        one.searcher.vectorizer.fill(one.searcher.index, seconds=5)
        assert waiting(two) == len(TEXTS)
        two.searcher.vectorizer.fill(two.searcher.index)
        assert two.searcher.index.read(identity_of) == two.searcher.vectorizer.embedder.identity.text  # type: ignore[union-attr]
        assert_index_equals_rebuilt(two)


def test_memory_that_is_edited_while_it_is_embedded_gets_the_vector_of_its_new_words(home: Path) -> None:
    embedder = Interrupted()
    with opened(home, embedder=embedder) as memory:
        fill_up(memory)
        log = next((home / "agents/main/memory").glob("*.md"))

        def edit() -> None:
            log.write_text(log.read_text().replace("tea number 3", "a teapot"))
            memory.vault.survey()
            memory.recall("teapot")

        embedder.meanwhile = edit
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert_index_equals_rebuilt(memory)


@pytest.mark.parametrize("wrong", [1, 8])
@pytest.mark.parametrize("costly", [False, True])
def test_vectors_of_a_wrong_length_are_refused_before_they_overwrite_others(
    home: Path, wrong: int, costly: bool
) -> None:
    embedder = Unsteady(costly=costly)
    with opened(home, embedder=embedder) as memory:
        fill_up(memory)
        memory.recall("tea")
        embedder.wrong = wrong
        memory.remember("one more tea")
        hits = memory.recall("one more tea")
        assert hits[0].memory.content == "one more tea"
        assert "in place of" in hits.degraded[0]
        embedder.wrong = 0
        time.sleep(0.2)
        assert_index_equals_rebuilt(memory)


# Two embedders at once


class Counting(Unsteady):
    """Counts the memories that it embeds."""

    texts = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.texts += len(set(TEXTS) & set(texts)) if len(texts) > 1 else 0
        return super().embed(texts)


@pytest.mark.parametrize("background", [False, True])
def test_two_embedders_of_one_home_embed_it_once_or_twice_and_not_for_ever(home: Path, background: bool) -> None:
    first, second = Counting(name="one"), Counting(name="two")
    with (
        opened(home, embedder=first, background=background) as one,
        opened(home, embedder=second, background=background) as two,
    ):
        fill_up(one)
        for _ in range(8):
            check_nothing_is_lost(one)
            check_nothing_is_lost(two)
            time.sleep(0.3 if background else 0)
        assert first.texts + second.texts <= 3 * len(TEXTS)
        troubles = [memory.recall("tea").degraded for memory in (one, two)]
        assert sum("another process embeds this home with test/" in "".join(each) for each in troubles) == 1
        assert sum(strategies(memory) == {"text", "vector"} for memory in (one, two)) == 1


def test_command_with_another_embedder_costs_a_server_its_vectors_once(home: Path) -> None:
    embedder = Counting(name="one")
    with opened(home, embedder=embedder) as server:
        fill_up(server)
        for _ in range(5):
            server.recall("tea")
            with opened(home, embedder=Counting(name="two")) as command:
                command.recall("tea")
        assert embedder.texts <= 2 * len(TEXTS)
        asked = embedder.calls
        assert server.recall("a question of its own").degraded
        assert embedder.calls == asked, "a question was embedded that could be compared with nothing"


def test_embedder_that_gets_its_index_back_goes_on(home: Path) -> None:
    with opened(home, embedder=Unsteady(name="one")) as memory:
        fill_up(memory)
        for _ in range(2):
            memory.recall("tea")
            Vectorizer(Unsteady(name="two")).fill(memory.searcher.index)
        assert strategies(memory) == {"text"}
        Vectorizer(Unsteady(name="one")).fill(memory.searcher.index)
        assert strategies(memory) == {"text", "vector"}
        assert memory.recall("tea").degraded == ()


# Failures


def test_one_slow_moment_that_many_notice_is_one_failure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Unsteady):
        pause = 0.0

        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            time.sleep(self.pause)
            return super().embed(texts)

    monkeypatch.setattr(vectorizer, "REST", 0.5)
    monkeypatch.setattr(vectorizer, "PATIENCE", 0.2)
    embedder = Slow(costly=True)
    asked = Vectorizer(embedder)
    embedder.pause = 0.6
    threads = [threading.Thread(target=asked.of, args=(f"question {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked.is_resting
    embedder.pause = 0
    time.sleep(0.6)
    assert asked.of("another question") is not None
    assert asked.trouble is None


class Foreign(Unsteady):
    """Somebody's code, which does as it likes."""

    acts: Callable[[NDArray[np.float32]], object] | None = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        rows = super().embed(texts)
        return rows if self.acts is None else self.acts(rows)  # type: ignore[return-value]


def raises(_: object) -> object:
    raise RuntimeError("the card fell off")


WRONG: dict[str, Callable[[NDArray[np.float32]], object]] = {
    "RuntimeError": raises,
    "in place of": lambda rows: rows.tolist()[0],
    "not finite": lambda rows: rows * float("nan"),
    "numbers that are": lambda rows: rows.astype("float64") * 1e300,
    "ValueError": lambda rows: [["words"] * 16 for _ in rows],
    "answered with ()": lambda rows: None,
}


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("reason", WRONG)
def test_embedder_of_others_may_do_anything(home: Path, reason: str, costly: bool, background: bool) -> None:
    embedder = Foreign(costly=costly)
    embedder.acts = WRONG[reason]
    with opened(home, embedder=embedder, background=background) as memory:
        fill_up(memory)
        until(lambda: reason in "".join(memory.recall("tea number 3").degraded))
        check_nothing_is_lost(memory)
        embedder.acts = None
        until(lambda: not memory.recall("tea").degraded and waiting(memory) == 0)
        assert strategies(memory) == {"text", "vector"}
        assert_index_equals_rebuilt(memory)


@pytest.mark.parametrize("costly", [False, True])
def test_vectors_may_come_as_lists(home: Path, costly: bool) -> None:
    embedder = Foreign(costly=costly)
    embedder.acts = lambda rows: rows.tolist()
    with opened(home, embedder=embedder) as memory:
        fill_up(memory)
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert strategies(memory) == {"text", "vector"}
        assert memory.recall("tea").degraded == ()


def test_embedder_that_cannot_say_who_it_is_keeps_nobody_from_remembering(home: Path) -> None:
    class Nameless(Unsteady):
        @property
        def identity(self) -> Identity:
            raise KeyError("name")

    with opened(home, embedder=Nameless()) as memory:
        fill_up(memory)
        check_nothing_is_lost(memory)
        assert "KeyError" in memory.recall("tea").degraded[0]


# Over HTTP


def http(server: EmbeddingServer, **more: float) -> HttpEmbedder:
    return HttpEmbedder(server.url, model="test", rest=0.05, timeout=more.get("timeout", 5.0))


def sleeps(seconds: float) -> object:
    def before(_: Handler) -> bool:
        time.sleep(seconds)
        return False

    return before


@pytest.mark.serial
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("seconds", [1.1, 4.0])
def test_slow_server_keeps_nobody_waiting(
    home: Path, server: EmbeddingServer, background: bool, seconds: float
) -> None:
    server.before = sleeps(seconds)  # type: ignore[assignment]
    with opened(home, embedder=http(server), background=background) as memory:
        started = time.monotonic()
        memory.remember("tea for two")
        assert time.monotonic() - started < 1
        started = time.monotonic()
        hits = memory.recall("tea")
        assert time.monotonic() - started < 2
        assert [hit.memory.content for hit in hits] == ["tea for two"]
        assert hits.degraded
        assert "longer than" in hits.degraded[0]


@pytest.mark.parametrize("background", [False, True])
def test_server_that_is_not_there_is_shown_and_used_when_it_comes(home: Path, background: bool) -> None:
    with running() as gone:
        url = gone.url
    with opened(home, embedder=HttpEmbedder(url, rest=0.05), background=background) as memory:
        fill_up(memory)
        check_nothing_is_lost(memory)
        assert "vectors:" in memory.recall("tea").degraded[0]
        assert memory.status().degraded
    with running() as server, opened(home, embedder=http(server), background=background) as memory:
        until(lambda: strategies(memory) == {"text", "vector"} and not memory.recall("tea").degraded)
        until(lambda: waiting(memory) == 0)
        assert_index_equals_rebuilt(memory)


def wrong_dimension(vectors: Vectors) -> object:
    return {"data": [{**each, "embedding": each["embedding"][:10]} for each in vectors]}


def too_few(vectors: Vectors) -> object:
    return {"data": vectors[:-1]}


def nonsense(vectors: Vectors) -> object:
    return {"data": [{**each, "embedding": "words"} for each in vectors]}


def not_finite(vectors: Vectors) -> object:
    return {"data": [{**each, "embedding": [1e308 * 10, *each["embedding"][1:]]} for each in vectors]}


def test_misbehaving_server_loses_nothing(home: Path, server: EmbeddingServer, tally: Tally) -> None:
    """It is fine, then wrong in some way, then fine again, over and over."""
    chance, right = random.Random(1), server.change
    with opened(home, embedder=http(server)) as memory:
        fill_up(memory)
        for trial in range(40):
            server.change = chance.choice([wrong_dimension, too_few, nonsense, not_finite])
            item = memory.remember(f"trial{trial} of the teapot")
            hits = memory.recall(f"trial{trial}")
            assert hits[0].memory == item
            assert hits.degraded
            server.change = right
            time.sleep(0.12)
            memory.recall(f"anything {trial}")
            tally("embedder down, slow or wrong", 1)
        until(lambda: memory.searcher.vectorizer.fill(memory.searcher.index) == 0)
        check_nothing_is_lost(memory)
        assert_index_equals_rebuilt(memory)


def refuses(handler: Handler) -> bool:
    return handler.send_json(500, {})


def test_model_that_was_exchanged_while_the_server_was_down_is_noticed(home: Path, server: EmbeddingServer) -> None:
    with opened(home, embedder=http(server)) as memory:
        fill_up(memory)
        memory.searcher.vectorizer.fill(memory.searcher.index)
        memory.recall("tea number 3")
        before, answers = memory.searcher.index.read(identity_of), server.before
        server.before = refuses
        assert memory.recall("a question").degraded
        server.before = answers
        server.change = lambda vectors: {
            "data": [{**each, "embedding": [-number for number in each["embedding"][::-1]]} for each in vectors]
        }
        until(lambda: not memory.recall("coffee").degraded)
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert memory.searcher.index.read(identity_of) != before
        assert strategies(memory) == {"text", "vector"}, "an answer of the other model was kept"
        assert_index_equals_rebuilt(memory)


def test_vectors_that_were_paid_for_are_not_bought_again(home: Path, server: EmbeddingServer) -> None:
    with opened(home, embedder=http(server)) as memory:
        fill_up(memory)
        memory.searcher.vectorizer.fill(memory.searcher.index)
        asked = sum(map(len, server.texts))
        memory.reindex()
        assert sum(map(len, server.texts)) == asked
        assert waiting(memory) == 0


def test_paid_vectors_survive_damage_of_the_index(home: Path) -> None:
    embedder = Unsteady(costly=True)
    with opened(home, embedder=embedder) as memory:
        fill_up(memory)
        memory.searcher.vectorizer.fill(memory.searcher.index)
        words = memory.searcher.index.read(
            lambda db: db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'tags'").get
        )
        path = next(memory.vault.config.cache.glob("main*.db"))
    with open(path, "r+b") as file:
        file.seek((words - 1) * 4096 + 100)
        file.write(b"damage")
    with opened(home, embedder=embedder) as memory:
        calls = embedder.calls
        memory.recall("", tags=["anything"])
        assert len(memory.searcher.notices()) == 1
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert waiting(memory) == 0
        assert embedder.calls == calls


class Jittery(Unsteady):
    """A server whose fingerprint differs in a bit from day to day."""

    fingerprint = "f0"

    @property
    def identity(self) -> Identity:
        return Identity(provider="http", model="m", dimension=16, fingerprint=self.fingerprint, slack=2)


def test_paid_vectors_are_found_again_though_the_fingerprint_jitters(home: Path) -> None:
    first, second = Jittery(costly=True), Jittery(costly=True)
    second.fingerprint = "f3"
    with opened(home, embedder=first) as memory:
        fill_up(memory)
        memory.searcher.vectorizer.fill(memory.searcher.index)
    with opened(home, embedder=second) as memory:
        memory.searcher.vectorizer.fill(memory.searcher.index)
        memory.remember("one more")
        memory.searcher.vectorizer.fill(memory.searcher.index)
        assert second.calls == 1
        memory.reindex()
        assert second.calls == 1, "vectors were bought twice"
        assert waiting(memory) == 0


def test_fill_by_hand_needs_no_memory_object(home: Path) -> None:
    with opened(home, embedder=Unsteady()) as memory:
        fill_up(memory)
        index: Index = memory.searcher.index
        assert Vectorizer(None).fill(index) == len(TEXTS)
        assert Vectorizer(Unsteady()).fill(index) == 0


class Slow(HashedEmbedder):
    """Takes longer over some texts than a question may wait."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        time.sleep(0 if query else 0.05)
        return super().embed(texts)


def test_a_question_does_not_wait_for_missing_vectors_and_says_that_they_are(home: Path) -> None:
    with Memory.open(home, embedder=Slow(16), background=False) as memory:
        memory.remember("Alex drinks tea")
        assert memory.recall("tea").degraded == ()  # a few are made by the way
        memory.observe_many([{"role": "user", "content": f"tea number {number}"} for number in range(500)])
        hits = memory.recall("tea number 7")
        assert hits[0].memory.content == "tea number 7"
        assert memory.searcher.index.read(count_pending) == 500 - vectorizer.SOME
        missing = f"{500 - vectorizer.SOME} memories are not embedded yet"
        assert hits.degraded == (f"{missing}; search by meaning skips them",)
