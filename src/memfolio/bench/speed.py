"""How quickly recall answers in homes of growing size, beside the bare search that it cannot do without."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice

from memfolio.bench.retrieval import Progress, within
from memfolio.bench.scratch import scratch
from memfolio.index.database import Connection
from memfolio.memory import Memory
from memfolio.text import match_expression, terms
from memfolio.types import frozen

QUESTIONS = 200
LIMIT = 10
SESSION = 40
"""How many turns a conversation has."""
BATCH = 4000
FLATTENED = 20
"""What is added to a word's rank, as Mandelbrot did to Zipf's law, so that the first words are not everywhere."""
SMALL_WORDS = "the a to of and in is it that was for on you with as have be this at not but what we they".split()
ASKED = ("When did {name} say that", "What do you know about", "Which", "Who told me about", "Where was the")
FLOOR = "SELECT rowid, bm25(words, 1.0, 0.6) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ?"


@frozen
class Speed:
    """Milliseconds within which half and nearly all of the questions were answered, and what else was measured."""

    memories: int
    p50_ms: float
    p95_ms: float
    floor_p50_ms: float
    floor_p95_ms: float
    ratio_p50: float
    ratio_p95: float
    memory_mb: float
    build_s: float


class Talk:
    """Made-up conversations: common and rare words as often as people use them, names, and numbers."""

    def __init__(self, seed: int = 7, vocabulary: int = 8000) -> None:
        self._random = random.Random(seed)
        self._words = list(dict.fromkeys(self._word() for _ in range(vocabulary)))
        self._names = [self._word().capitalize() for _ in range(300)]
        self._weights = list(accumulate(1 / (rank + FLATTENED) for rank in range(len(self._words))))

    def _word(self) -> str:
        syllables = (self._random.choice("bcdfghklmnprstvw") + self._random.choice("aeiou") for _ in range(3))
        return "".join(syllables)[: self._random.randint(4, 6)] + self._random.choice(("", "n", "r", "st", "l"))

    def sentence(self) -> str:
        words = self._random.choices(self._words, cum_weights=self._weights, k=self._random.randint(4, 16))
        small = self._random.choices(SMALL_WORDS, k=len(words))
        said = [word for pair in zip(small, words, strict=True) for word in pair]
        if self._random.random() < 0.4:
            said.insert(0, self._random.choice(self._names))
        if self._random.random() < 0.1:
            said.append(f"{self._random.randrange(10**6):06d}")
        return " ".join(said)

    def turns(self, count: int) -> Iterator[dict[str, object]]:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for number in range(count):
            yield {
                "role": ("user", "assistant")[number % 2],
                "content": self.sentence(),
                "session": f"talk-{number // SESSION}",
                "at": start + timedelta(seconds=20 * number),
            }

    def question(self) -> str:
        opening = self._random.choice(ASKED).format(name=self._random.choice(self._names))
        words = self._random.choices(self._words, cum_weights=self._weights, k=self._random.randint(2, 6))
        return f"{opening} {' '.join(words)}?"


def speed(sizes: Sequence[int], *, progress: Progress | None = None) -> list[Speed]:
    """Fill a home of each size, ask it the same questions by recall and by hand, and compare."""
    return [_measure(size, progress or (lambda *_: None)) for size in sizes]


def _measure(size: int, progress: Progress) -> Speed:
    with scratch() as memory:
        talk, started = Talk(), time.perf_counter()
        _fill(memory, talk, size, progress)
        built = time.perf_counter() - started
        taken = _ask(memory, [talk.question() for _ in range(QUESTIONS)])
        resident = _resident_mb()
    times = [round(within(ours, share), 2) for ours in taken for share in (0.5, 0.95)]
    return Speed(
        memories=size,
        p50_ms=times[0],
        p95_ms=times[1],
        floor_p50_ms=times[2],
        floor_p95_ms=times[3],
        ratio_p50=round(times[0] / times[2], 2),
        ratio_p95=round(times[1] / times[3], 2),
        memory_mb=resident,
        build_s=round(built, 1),
    )


def _fill(memory: Memory, talk: Talk, size: int, progress: Progress) -> None:
    turns = talk.turns(size)
    for done in range(0, size, BATCH):
        progress(f"{size:,} memories", done, size)
        memory.observe_many(islice(turns, BATCH))
    memory.searcher.vectorizer.fill(memory.searcher.index)


def _ask(memory: Memory, questions: Sequence[str]) -> tuple[list[float], list[float]]:
    """The seconds that each question took by recall, and by hand; the two take turns in going first."""
    ways = (lambda text: memory.recall(text, limit=LIMIT), lambda text: _bare(memory, text))
    taken: tuple[list[float], list[float]] = ([], [])
    for way in ways:
        way(questions[0])
    gc.collect()
    for number, question in enumerate(questions):
        for nth in (number % 2, 1 - number % 2):
            started = time.perf_counter()
            ways[nth](question)
            taken[nth].append(time.perf_counter() - started)
    return taken


def _bare(memory: Memory, text: str) -> None:
    """The least that finds something by words and by meaning: one query to FTS5, and one to the vectors."""
    index, embedder, breadth = (
        memory.searcher.index,
        memory.searcher.vectorizer.embedder,
        memory.vault.config.recall.breadth,
    )
    words = terms(text)

    def search(connection: Connection) -> None:
        connection.execute(FLOOR, (match_expression(words), breadth)).fetchall()
        if embedder is not None:
            index.matrix.scan(connection, embedder.embed([" ".join(words)])[0]).nearest(breadth)

    index.read(search)


def _resident_mb() -> float:
    """The most memory that this process had so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
