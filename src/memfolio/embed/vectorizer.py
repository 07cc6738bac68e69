"""One embedder kept from failing its callers and from making them wait, and the thread that works through the queue."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memfolio.embed.embedder import Embedder, Identity, UnfinishedError
from memfolio.embed.post import in_time
from memfolio.errors import EmbedderError, MemfolioError
from memfolio.index.database import Mutex
from memfolio.index.index import Index
from memfolio.index.lookup import Overview
from memfolio.index.vectors import (
    UnembeddedMemory,
    count_pending,
    identity_of,
    keep_paid_vectors,
    keep_vectors,
    paid_vectors,
    pending,
    take_over,
    text_hash,
)
from memfolio.types import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Bought = tuple[dict[bytes, bytes], EmbedderError | None]

logger = logging.getLogger("memfolio")

PATIENCE = 1.2
"""Seconds that a question waits for an embedder behind a network before it is answered from words alone."""
REST = 30.0
"""Seconds for which an embedder that failed is left alone; doubled with every further failure, up to an hour."""
LONGEST_REST = 3600.0
BATCH = 512
PAID = 100
"""How many texts are paid for at once, and their vectors kept before the next ones are."""
QUESTIONS = 256
"""How many questions' vectors are kept."""
OTHERS = 0.1
"""Seconds after which it is looked again for vectors that another server is making."""
SOME = 64
"""How many memories get their vectors at once where somebody waits."""


class QueryVector(NamedTuple):
    """What a question means: its vector, and whose vectors it can be compared with."""

    values: Floats
    whose: Identity


class Made(NamedTuple):
    """Memories with their vectors, and what kept others from theirs."""

    ready: Sequence[UnembeddedMemory]
    vectors: Floats
    failure: EmbedderError | None = None


@frozen
class Embedded:
    """How many memories got the vectors that they lacked, how many lack them still, and why that is."""

    made: int = 0
    missing: int = 0
    degraded: str | None = None


class IndexClaim:
    """What became of the attempts to fill one index: whose vectors gave way here, and whose came back."""

    def __init__(self) -> None:
        self.displaced: set[str] = set()
        self.loss: EmbedderError | None = None

    def begin(self, index: Index, identity: Identity) -> None:
        """Make the index this embedder's; EmbedderError when another, which gave way once, has it again.

        So two processes with two embedders embed everything once each, and not in turn for ever.
        """
        found = index.read(identity_of)
        if found is None or not identity.matches(found):
            found = index.write(lambda db: take_over(db, identity, spared=self.displaced))
        others = None if found is None or identity.matches(found) else found
        self.loss = _taken_over(others) if others and others in self.displaced else None
        if self.loss is not None:
            raise self.loss
        if others is not None:
            self.displaced.add(others)


class Vectorizer:
    """Vectors for questions and for memories, or the reason why there are none. Threads may share it."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self._failure: EmbedderError | None = None
        self._resumes = 0.0
        self._rest = REST
        self._turn = Mutex()
        self._counting = Mutex()
        self._claims: dict[Index, IndexClaim] = {}

    @property
    def trouble(self) -> EmbedderError | None:
        """Why some or all vectors are missing, when it is not for want of time."""
        losses = [claim.loss for claim in list(self._claims.values()) if claim.loss]
        return self._failure or (losses[0] if losses else None)

    @property
    def is_resting(self) -> bool:
        """Whether the embedder failed a moment ago and is left alone."""
        return self._failure is not None and time.monotonic() < self._resumes

    def is_stuck(self, index: Index) -> bool:
        """Whether trying to fill an index again at once would be in vain."""
        return self.embedder is None or self.is_resting or self._claim(index).loss is not None

    @property
    def _is_displaced(self) -> bool:
        """Whether there is nothing that a question could be compared with."""
        claims = list(self._claims.values())
        return bool(claims) and all(claim.loss for claim in claims)

    def _claim(self, index: Index) -> IndexClaim:
        return self._claims.setdefault(index, IndexClaim())

    def of(self, question: str) -> QueryVector | None:
        """What a question means; None when the embedder has no answer, or none in time."""
        embedder = self.embedder
        if embedder is None or self.is_resting or self._is_displaced or not question.strip():
            return None
        try:
            ask = partial(_question_vector, embedder, question)
            found = in_time(ask, PATIENCE, _late) if embedder.is_costly else ask()
        except EmbedderError as error:
            self._fail(error)
            return None
        self._succeed()
        return found if found.values.any() else None

    def is_filled(self, known: Overview) -> bool:
        """Whether every memory of an index has a vector of this embedder, as far as that can be told at once."""
        if self.embedder is None or self.embedder.is_costly or self.trouble is not None:
            return False
        return known.waiting == 0 and known.identity is not None and _identity(self.embedder).matches(known.identity)

    def fill(
        self, index: Index, *, seconds: float | None = None, batch: int | None = None, is_patient: bool = False
    ) -> int:
        """Give memories that have none their vectors, for at most so long; returns how many still wait.

        Where another thread does so, who has only some seconds leaves it to that one, unless `is_patient`.
        """
        if self.embedder is None or self.is_resting:
            return self._waiting(index)
        if not self._turn.take(timeout=-1 if seconds is None or is_patient else 0):
            return self._waiting(index)
        embedder, until = self.embedder, None if seconds is None else time.monotonic() + seconds
        try:
            self._fill(index, embedder, until, batch or BATCH)
            self._succeed()
        except EmbedderError as error:
            if error is not self._claim(index).loss:
                self._fail(error)
        finally:
            self._turn.end()
        return self._waiting(index)

    def fill_aside(self, index: Index, *, seconds: float) -> None:
        """Do so in a thread, which is not waited for longer than that: a server may be slow."""

        def work() -> None:
            try:
                self.fill(index, seconds=seconds)
            except MemfolioError as error:
                logger.debug("embedding stopped: %s", error)

        if self.embedder is not None and not self.is_resting and self._waiting(index):
            thread = threading.Thread(target=work, name="memfolio-embed", daemon=True)
            thread.start()
            thread.join(timeout=seconds)

    def _fill(self, index: Index, embedder: Embedder, until: float | None, batch: int) -> None:
        has_time, identity = not _is_over(until), _identity(embedder)
        batch = min(batch, PAID) if embedder.is_costly else batch
        self._claim(index).begin(index, identity)
        while has_time and (found := index.read(lambda db: pending(db, batch))):
            made = self._vectors(index, embedder, found)
            keep = partial(keep_vectors, identity=identity, found=made.ready, vectors=made.vectors)
            if made.ready and not index.write(keep):
                return  # the index is another embedder's since
            if made.failure is not None:
                raise made.failure
            if not made.ready:
                time.sleep(OTHERS)  # another server is making all of them
            has_time = not _is_over(until)  # behind the first ones, which are made however slow the machine is

    def _waiting(self, index: Index) -> int:
        return index.read(count_pending)

    def _vectors(self, index: Index, embedder: Embedder, waiting: Sequence[UnembeddedMemory]) -> Made:
        """The vectors of these memories; those that an embedder was paid for once are not asked for again."""
        texts = [each.text for each in waiting]
        if not embedder.is_costly:
            return Made(waiting, rows_of(embedder, texts))
        import numpy as np

        whose = _identity(embedder)
        identity, hashes = _known_as(index, whose), list(map(text_hash, texts))
        found = index.read(lambda db: paid_vectors(db, identity, hashes))
        kept = {key: vector for key, vector in found.items() if len(vector) == 4 * whose.dimension}
        new = {each: text for each, text in zip(hashes, texts, strict=True) if each not in kept}
        bought, failure = self._obtain(index, embedder, identity, new) if new else ({}, None)
        kept |= bought
        ready = [(each, kept[key]) for each, key in zip(waiting, hashes, strict=True) if key in kept]
        vectors = np.array([np.frombuffer(vector, np.float32) for _, vector in ready])
        return Made([each for each, _ in ready], vectors, failure)

    def _obtain(self, index: Index, embedder: Embedder, identity: str, new: Mapping[bytes, str]) -> Bought:
        """The vectors that another server has paid for, and those that it leaves to this one to pay for."""
        shared, ours = index.claim_vectors(identity, list(new))
        length = 4 * _identity(embedder).dimension
        found = {key: vector for key, vector in shared.items() if len(vector) == length}
        if found:
            index.write(lambda db: keep_paid_vectors(db, identity, found))
        mine = {key: text for key, text in new.items() if key in ours or key in shared.keys() - found.keys()}
        bought, failure = self._buy(index, embedder, identity, mine) if mine else ({}, None)
        if bought:
            index.share_vectors(identity, bought)
        return found | bought, failure

    def _buy(self, index: Index, embedder: Embedder, identity: str, new: Mapping[bytes, str]) -> Bought:
        """The vectors of texts by their hashes, kept at once, so that a failure later costs nothing twice."""
        failure: EmbedderError | None = None
        try:
            rows = rows_of(embedder, list(new.values()))
        except UnfinishedError as error:
            rows, failure = error.rows, error
        except EmbedderError as error:
            return {}, error
        bought = {each: row.tobytes() for each, row in zip(new, rows, strict=failure is None)}
        index.write(lambda db: keep_paid_vectors(db, identity, bought))
        return bought, failure

    def _fail(self, error: EmbedderError) -> None:
        """Leave the embedder alone for a while; what fails while it is left alone began before, and counts as one."""
        with self._counting:
            if not self.is_resting:
                self._failure, self._resumes = error, time.monotonic() + self._rest
                self._rest = min(2 * self._rest, LONGEST_REST)
        _questions.clear()  # what comes back may be another model

    def _succeed(self) -> None:
        with self._counting:
            self._failure, self._rest = None, REST


_questions: dict[tuple[int, str], tuple[Embedder, QueryVector]] = {}
"""The vectors of the last questions for all homes of the process, which share the local embedder.

By the id of the embedder, which stays its own as long as the embedder is kept here.
"""


def _question_vector(embedder: Embedder, question: str) -> QueryVector:
    key = id(embedder), question
    found = _questions.get(key)
    if found is None:
        if len(_questions) >= QUESTIONS:
            _questions.clear()
        made = QueryVector(rows_of(embedder, [question], query=True)[0], _identity(embedder))
        found = _questions[key] = embedder, made
    return found[1]


def _late() -> EmbedderError:
    what = f"the embedder took longer than {PATIENCE:g} seconds"
    return EmbedderError(what, hint="check the server at embedding.url")


@contextmanager
def _embedder_errors() -> Iterator[None]:
    """Raise whatever an embedder raises as an EmbedderError."""
    try:
        yield
    except EmbedderError:
        raise
    except Exception as error:  # an embedder may be anybody's code, which can raise anything
        raise EmbedderError(
            f"the embedder failed with {type(error).__name__}: {error}", hint="use another embedder, or mend this one"
        ) from error


def _identity(embedder: Embedder) -> Identity:
    with _embedder_errors():
        return embedder.identity


def rows_of(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> Floats:
    """One vector a text, as many and as long as they must be: one that is not would be written over others."""
    import numpy as np

    dimension = _identity(embedder).dimension
    try:
        with _embedder_errors(), np.errstate(over="ignore"):
            rows: Floats = np.asarray(embedder.embed(texts, query=query), dtype=np.float32)
    except UnfinishedError as error:
        error.rows = _checked(error.rows, (min(len(error.rows), len(texts)), dimension))
        raise
    return _checked(rows, (len(texts), dimension))


def _checked(rows: Floats, wanted: tuple[int, int]) -> Floats:
    import numpy as np

    if rows.shape != wanted:
        raise EmbedderError(
            f"the embedder answered with {rows.shape} numbers in place of {wanted}", hint="use another embedder"
        )
    if not np.isfinite(rows).all():
        raise EmbedderError("the embedder gave a vector with numbers that are not finite", hint="use another embedder")
    return rows


def _taken_over(whose: str) -> EmbedderError:
    return EmbedderError(f"another process embeds this home with {whose}", hint="use one embedding.provider for a home")


def _known_as(index: Index, identity: Identity) -> str:
    """The name under which the index has vectors of this embedder, whose own may differ in a bit from day to day."""
    stored = index.read(identity_of)
    return stored if stored is not None and identity.matches(stored) else identity.text


def _is_over(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


CALM = 0.2
"""Seconds without a call after which the thread begins, so that it does not compete with what woke it."""
LINGER = 5.0
"""Seconds without a call after which the thread ends; the next call starts another one."""
GO = 0.02
"""Seconds for which it works before it looks whether somebody asks something."""
QUIET = 1.0
"""Seconds without a question after which it works on many memories at once."""
LONGEST_WAIT = 1.0
"""Seconds for which it gives way at most, so that who asks all the time gets vectors too."""


class Worker:
    """Fills indexes with vectors, off everybody's way."""

    def __init__(self, vectorizer: Vectorizer, indexes: Callable[[], Sequence[Index]]) -> None:
        self._vectorizer = vectorizer
        self._indexes = indexes
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._asked = 0
        self._last_asked = -QUIET
        self._thread: threading.Thread | None = None

    def notify(self) -> None:
        """There may be something to do."""
        if self._process != os.getpid():
            self._begin()  # a forked process has none of its parent's threads
        self._woken.set()
        with self._lock:
            if not self.is_running and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="memfolio-embed", daemon=True)
                self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether there is a thread: it works, or did a moment ago."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def _run(self) -> None:
        while self._woken.wait(LINGER) or not self._is_over():
            self._wait_for_calm()
            if self._stopping.is_set():
                return
            for index in self._indexes():
                self._fill(index)

    def _is_over(self) -> bool:
        """Whether nobody has called: then the next call finds no thread, and starts one."""
        with self._lock:
            if not self._woken.is_set():
                self._thread = None
            return self._thread is None

    def _wait_for_calm(self) -> None:
        """Clear the call, and wait until no other follows for a moment; but not for ever."""
        for _ in range(10):
            self._woken.clear()
            if self._stopping.wait(CALM) or not self._woken.is_set():
                return
        self._woken.clear()

    def _fill(self, index: Index) -> None:
        try:
            while not self._stopping.is_set() and self._vectorizer.fill(
                index, seconds=GO, batch=self.batch, is_patient=True
            ):
                if self._vectorizer.is_stuck(index):
                    break
                self.give_way()
            index.tidy()
        except MemfolioError as error:
            logger.debug("embedding stopped: %s", error)  # the next call tries again

    @property
    def batch(self) -> int:
        """How many memories get their vectors at once: each batch is a transaction, so many where nobody asks."""
        is_asked = self._asked or time.monotonic() - self._last_asked < QUIET
        return SOME if is_asked else BATCH

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Keep the thread from competing while a question is answered."""
        with self._changed:
            self._asked += 1
        try:
            yield
        finally:
            with self._changed:
                self._asked -= 1
                self._last_asked = time.monotonic()
                self._changed.notify_all()

    def give_way(self) -> None:
        """Wait while a question is being answered, for at most `LONGEST_WAIT`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._asked or self._stopping.is_set(), timeout=LONGEST_WAIT)

    def close(self) -> None:
        """Stop after the batch under way."""
        if self._process != os.getpid():
            return
        self._stopping.set()
        self._woken.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)
