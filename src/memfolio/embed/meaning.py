"""The meaning of texts: one embedder, kept from failing its callers and from making them wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from memfolio.embed.embedder import Embedder
from memfolio.errors import EmbedderError
from memfolio.index.index import Index
from memfolio.index.pending import (
    Pending,
    buy_vectors,
    count_pending,
    is_identity,
    keep_vectors,
    kept_vectors,
    pending,
    set_identity,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PATIENCE = 1.5
"""Seconds that a question waits for an embedder behind a network before it is answered from words alone."""
REST = 30.0
"""Seconds for which an embedder that failed is left alone; doubled with every further failure, up to an hour."""
LONGEST_REST = 3600.0
BATCH = 512


class Meaning:
    """Vectors for questions and for memories, or the reason why there are none. Threads may share it."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self.trouble: EmbedderError | None = None
        self._resumes = 0.0
        self._rest = REST
        self._lock = threading.Lock()
        self._caller: ThreadPoolExecutor | None = None
        self._of_question = lru_cache(maxsize=128)(self._embed_question)

    @property
    def is_resting(self) -> bool:
        """Whether the embedder failed a moment ago and is left alone."""
        return self.trouble is not None and time.monotonic() < self._resumes

    def of(self, index: Index, question: str) -> Floats | None:
        """The vector of a question; None when there is none in time, or the index's vectors are another embedder's."""
        embedder = self.embedder
        if embedder is None or self.is_resting or not question.strip():
            return None
        try:
            vector = self._in_time(embedder, question)
            is_comparable = index.read(lambda connection: is_identity(connection, embedder.identity))
        except EmbedderError as error:
            self._fail(error)
            return None
        self._succeed()
        return vector if is_comparable and vector.any() else None

    def _in_time(self, embedder: Embedder, question: str) -> Floats:
        if not embedder.is_costly:
            return self._of_question(question)
        if self._caller is None:
            self._caller = ThreadPoolExecutor(1, thread_name_prefix="memfolio-embed")
        answer: Future[Floats] = self._caller.submit(self._of_question, question)
        try:
            return answer.result(timeout=PATIENCE)
        except TimeoutError as error:
            raise EmbedderError(
                f"the embedder took longer than {PATIENCE:g} seconds", hint="check the server at embedding.url"
            ) from error

    def _embed_question(self, question: str) -> Floats:
        assert self.embedder is not None  # asked only where there is one
        vector: Floats = self.embedder.embed([question])[0]
        return vector

    def fill(self, index: Index, *, seconds: float | None = None) -> int:
        """Give memories that have none their vectors, for at most so long; returns how many still wait."""
        embedder, until = self.embedder, None if seconds is None else time.monotonic() + seconds
        if embedder is None or self.is_resting or not self._lock.acquire(blocking=until is None):
            return self._waiting(index)
        try:
            if not index.read(lambda connection: is_identity(connection, embedder.identity)):
                index.write(lambda connection: set_identity(connection, embedder.identity))
            while (found := index.read(lambda connection: pending(connection, BATCH))) and not _is_over(until):
                vectors = self._vectors(index, embedder, found)
                index.write(lambda connection, f=found, v=vectors: keep_vectors(connection, f, v))  # type: ignore[misc]
            self._succeed()
        except EmbedderError as error:
            self._fail(error)
        finally:
            self._lock.release()
        return self._waiting(index)

    def _waiting(self, index: Index) -> int:
        return index.read(count_pending)

    def _vectors(self, index: Index, embedder: Embedder, found: Sequence[Pending]) -> Floats:
        """The vectors of these memories; those that an embedder was paid for once are not asked for again."""
        texts = [each.text for each in found]
        if not embedder.is_costly:
            return embedder.embed(texts)
        import numpy as np

        identity = embedder.identity.text
        hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        kept = index.read(lambda connection: kept_vectors(connection, identity, hashes))
        new = [nth for nth, each in enumerate(hashes) if each not in kept]
        fresh = embedder.embed([texts[nth] for nth in new]) if new else np.empty((0, 0), np.float32)
        bought = {hashes[nth]: row.tobytes() for nth, row in zip(new, fresh, strict=True)}
        index.write(lambda connection: buy_vectors(connection, identity, bought))
        return np.array([np.frombuffer(kept.get(each) or bought[each], np.float32) for each in hashes])

    def _fail(self, error: EmbedderError) -> None:
        self.trouble = error
        self._resumes = time.monotonic() + self._rest
        self._rest = min(2 * self._rest, LONGEST_REST)

    def _succeed(self) -> None:
        self.trouble, self._rest = None, REST

    def close(self) -> None:
        if self._caller is not None:
            self._caller.shutdown(wait=False, cancel_futures=True)


def _is_over(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until
