"""The embedder that asks a server, in the form that the server speaks and within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from memfolio.embed.embedder import Identity, UnfinishedError, unit_rows
from memfolio.embed.post import JsonServer, ServerBusyError, ServerRefusedError, ServerSilentError, key_trouble
from memfolio.errors import EmbedderError
from memfolio.settings import KEY_VARIABLES
from memfolio.text import estimate_tokens
from memfolio.types import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# A limit on what is sent to a server that is paid for.

DAY = 86_400.0


class Spending:
    """How many tokens were sent to one server within a day. Threads may share it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self.lock = Lock()
        self._now = now
        self._began = now()
        self._spent = 0

    @property
    def spent(self) -> int:
        """The tokens of this day, which begins with the first question after the day before."""
        if self._now() - self._began >= DAY:
            self._spent, self._began = 0, self._now()
        return self._spent

    def add(self, tokens: int) -> None:
        self._spent = self.spent + tokens


_KNOWN: dict[tuple[str, str], Spending] = {}


def spending(url: str, model: str) -> Spending:
    """What this process sends to a model: one count for all embedders that ask it."""
    return _KNOWN.setdefault((url, model), Spending())


class Budget:
    """So many tokens a day, by an estimate; 0 is no limit."""

    def __init__(self, limit: int, spending: Spending | None = None) -> None:
        self._limit = limit
        self._spending = spending or Spending()

    def spend(self, texts: Sequence[str]) -> int:
        """Count the first of these texts, as many as can be paid for, and say how many; EmbedderError for none."""
        costs = list(accumulate(map(estimate_tokens, texts)))
        with self._spending.lock:
            spent = self._spending.spent
            paid = [cost for cost in costs if not self._limit or spent + cost <= self._limit]
            if costs and not paid:
                raise self._used_up(spent, costs[0])
            self._spending.add(paid[-1] if paid else 0)
            return len(paid)

    def _used_up(self, spent: int, cost: int) -> EmbedderError:
        return EmbedderError(
            f"the embedding budget is used up: {spent:,} of {self._limit:,} tokens are spent, and the next text has "
            f"{cost:,}",
            hint="wait until tomorrow, or raise embedding.budget",
        )


# The dialects of embedding servers: how each is asked for vectors, and where they stand in its answer. Pure.


class OddAnswerError(ValueError):
    """An answer in which there are no vectors to be found; says what is there in their place."""


@frozen
class Ask:
    """What a server is asked for."""

    texts: list[str]
    model: str = ""
    dimensions: int = 0
    """How many numbers a vector is to have; 0 leaves that to the model."""
    query: bool = False
    """Whether the texts are questions, which some models embed otherwise than what answers them."""


@frozen
class OpenAi:
    """What OpenAI speaks, and most others do too."""

    name: str
    address: str = ""
    model: str = ""
    """The model that is asked for when none is named."""

    def url(self, base: str, model: str) -> str:
        """Where questions go, given the address of the API."""
        return f"{base.rstrip('/').removesuffix('/embeddings')}/embeddings"

    def credentials(self, key: str) -> dict[str, str]:
        """The header that shows the key."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, ask: Ask) -> dict[str, Any]:
        """The question."""
        model = {"model": ask.model} if ask.model else {}
        return {"input": ask.texts, **model, **self._options(ask)}

    def _options(self, ask: Ask) -> dict[str, Any]:
        return {"dimensions": ask.dimensions} if ask.dimensions else {}

    def vectors(self, answer: Any, count: int) -> list[Any]:
        """What an answer has for each of `count` texts, in order; OddAnswerError where it has no such thing."""
        items = _objects(answer, "data", count)
        places = [item.get("index") for item in items]
        if all(place is None for place in places):
            return [item.get("embedding") for item in items]
        by_place = {place: item for place, item in zip(places, items, strict=True) if type(place) is int}
        if set(by_place) != set(range(len(items))):
            raise OddAnswerError("vectors whose numbering does not fit the texts")
        return [by_place[place].get("embedding") for place in range(len(items))]


class Voyage(OpenAi):
    """Like OpenAI's, but for what the vectors are for and how long they are to be."""

    __slots__ = ()

    def _options(self, ask: Ask) -> dict[str, Any]:
        size = {"output_dimension": ask.dimensions} if ask.dimensions else {}
        return {"input_type": "query" if ask.query else "document", **size}


class Gemini(OpenAi):
    """Google's own, in which each text is a request and the key has a header of its own."""

    __slots__ = ()

    def url(self, base: str, model: str) -> str:
        return f"{base.rstrip('/')}/models/{quote(_bare(model), safe='')}:batchEmbedContents"

    def credentials(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def body(self, ask: Ask) -> dict[str, Any]:
        model = f"models/{_bare(ask.model)}"
        return {
            "requests": [
                {"model": model, "content": {"parts": [{"text": text}]}, **self._options(ask)} for text in ask.texts
            ]
        }

    def _options(self, ask: Ask) -> dict[str, Any]:
        size = {"outputDimensionality": ask.dimensions} if ask.dimensions else {}
        return {"taskType": "RETRIEVAL_QUERY" if ask.query else "RETRIEVAL_DOCUMENT", **size}

    def vectors(self, answer: Any, count: int) -> list[Any]:
        return [item.get("values") for item in _objects(answer, "embeddings", count)]


ANY = OpenAi(name="http")
DIALECTS = {
    each.name: each
    for each in (
        ANY,
        OpenAi(name="openai", address="https://api.openai.com/v1", model="text-embedding-3-small"),
        Voyage(name="voyage", address="https://api.voyageai.com/v1", model="voyage-4-large"),
        Gemini(
            name="gemini",
            address="https://generativelanguage.googleapis.com/v1beta",
            model="gemini-embedding-001",
        ),
    )
}
"""Every provider behind a network, by the name it has in `embedding.provider`."""


def _objects(answer: Any, name: str, count: int) -> list[dict[str, Any]]:
    items = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise OddAnswerError("no list of vectors")
    if len(items) != count:
        raise OddAnswerError(f"{len(items)} vectors for {count} texts")
    return items


def _bare(model: str) -> str:
    return model.removeprefix("models/")


# The embedder that asks a server, in the dialect that it speaks.

MAX_TEXT = 8_000
"""How many bytes of a text are sent, and so how many tokens at most; the rest does not enter its vector."""
MAX_BATCH = 100_000
"""How many bytes are sent at once."""
MAX_DIMENSION = 16_384
LONGEST_WAIT = 5.0
"""Seconds after which a busy server may ask to come back, and is waited for."""
LONGEST_REST = 3600.0
PROBE = "The quick brown fox jumps over the lazy dog."

_MAX_BYTES = 64 * 1024 * 1024
_WAITS = (0.2, 0.6)
_SHARES = (4, 16)
"""What parts of a text are sent in its place after the server refused it."""
_BITS = 64
_SLACK = 2
_HINT = "use a server that speaks the API of embedding.provider, or another model"


class HttpEmbedder:
    """Asks a server for vectors, in batches; the first use asks once more, to learn the model's identity.

    So does the first one after a failure, since another model may run there since.

    A server that asks to come back soon is asked up to twice more. One that is silent, or asks to come back later, is
    left alone meanwhile: every call fails at once with the same error, so that nobody waits for it again and again.
    A text that it refuses keeps no other from being embedded: its beginning is sent, or it gets zeros. What is sent
    goes through `clean` first.
    """

    is_costly = True

    def __init__(
        self,
        url: str = "",
        *,
        dialect: OpenAi = ANY,
        model: str = "",
        key: str = "",
        dimensions: int = 0,
        batch: int = 100,
        budget: int = 0,
        timeout: float = 10.0,
        rest: float = 15.0,
        may_have_key: bool = True,
        max_bytes: int = _MAX_BYTES,
        clean: Callable[[str], str] = str,
    ) -> None:
        base = url or dialect.address
        _check(base, key)
        self.name = dialect.name
        self._dialect = dialect
        self._model = model or dialect.model
        self._server = JsonServer(
            url=dialect.url(base, self._model),
            key=key,
            credentials=dialect.credentials(key) if key and may_have_key else {},
            timeout=timeout,
            max_bytes=max_bytes,
        )
        variable, is_kept = KEY_VARIABLES.get(self.name, ""), bool(key) and not may_have_key
        self._key_trouble = key_trouble(
            "EMBEDDING", self._server.url, variable, is_missing=not key and not url, is_kept=is_kept
        )
        self._dimensions = dimensions
        self._batch = batch
        self._budget = Budget(budget, spending(self._server.url, self._model))
        self._rest = rest
        self._clean = clean
        self._resting: tuple[float, EmbedderError] | None = None
        self._identity: Identity | None = None
        self._lock = Lock()

    @property
    def identity(self) -> Identity:
        with self._lock:
            if self._identity is None:
                self._identity = self._probe()
            return self._identity

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        dimension = self.identity.dimension
        rows = np.zeros((len(texts), dimension), np.float32)
        done = 0
        try:
            for batch in self._batches(texts):
                for place, row in zip(batch, self._rows(list(batch.values()), dimension, query=query), strict=True):
                    rows[place] = row
                    done = place + 1
        except EmbedderError as error:
            if not done:
                raise
            raise UnfinishedError(error.message, hint=error.hint, rows=rows[:done]) from error
        return rows

    def _rows(self, texts: list[str], dimension: int, *, query: bool) -> Iterator[NDArray[np.float32]]:
        """The vectors of texts in order, in as many questions as the budget and the server make necessary."""
        while texts:
            self._check_ready()
            some = texts[: self._budget.spend(texts)]
            try:
                yield from self._ask(some, dimension, query=query)
            except ServerRefusedError as error:
                half = len(some) // 2
                if half:
                    yield from self._rows(some[:half], dimension, query=query)
                    yield from self._rows(some[half:], dimension, query=query)
                else:
                    yield self._row_of_beginning(some[0], dimension, error, query=query)
            texts = texts[len(some) :]

    def _row_of_beginning(
        self, text: str, dimension: int, error: ServerRefusedError, *, query: bool
    ) -> NDArray[np.float32]:
        """The vector of the first part of a refused text; zeros where the server refuses every part of it."""
        import numpy as np

        for beginning in filter(None, (text[: len(text) // share].strip() for share in _SHARES)):
            self._budget.spend([beginning])
            with suppress(ServerRefusedError):
                (row,) = self._ask([beginning], dimension, query=query)
                return np.asarray(row)
        self._check_identity(error)
        return np.zeros(dimension, np.float32)

    def _check_identity(self, error: ServerRefusedError) -> None:
        """Raise `error` unless the server still embeds as before, so that it was the text which it refused."""
        before, self._identity = self._identity, None
        if before is None or not self.identity.matches(before.text):
            raise error

    def _batches(self, texts: Sequence[str]) -> Iterator[dict[int, str]]:
        """The texts that are sent, by their places, as many at once as one question may hold."""
        batch: dict[int, str] = {}
        size = 0
        for place, text in enumerate(texts):
            if sent := self._clean(text).strip().encode("utf-8", "replace")[:MAX_TEXT]:
                if batch and (len(batch) == self._batch or size + len(sent) > MAX_BATCH):
                    yield batch
                    batch, size = {}, 0
                batch[place] = sent.decode("utf-8", "ignore")
                size += len(sent)
        if batch:
            yield batch

    def _probe(self) -> Identity:
        self._check_ready()
        self._budget.spend([PROBE])
        rows = self._ask([PROBE], self._dimensions)
        return Identity(
            provider=self.name,
            model=self._model or "default",
            dimension=rows.shape[1],
            fingerprint=_sketch(rows[0]),
            slack=_SLACK,
        )

    def _ask(self, texts: list[str], dimension: int, *, query: bool = False) -> NDArray[np.float32]:
        ask = Ask(texts=texts, model=self._model, dimensions=self._dimensions, query=query)
        try:
            rows = self._read(self._post(self._dialect.body(ask)), len(texts), dimension)
            return unit_rows(rows, source=self._server.url, hint=_HINT)
        except ServerRefusedError:
            raise
        except EmbedderError:
            self._identity = None  # what comes back may be another model
            raise

    def _check_ready(self) -> None:
        if self._key_trouble:
            raise EmbedderError(self._key_trouble[0], hint=self._key_trouble[1])
        if self._resting and time.monotonic() < self._resting[0]:
            raise EmbedderError(self._resting[1].message, hint=self._resting[1].hint)

    def _post(self, question: dict[str, Any]) -> Any:
        try:
            return self._post_patiently(question)
        except ServerSilentError as error:
            self._resting = (time.monotonic() + self._rest, error)
            raise
        except ServerBusyError as error:
            self._resting = (time.monotonic() + min(error.after, LONGEST_REST), error)
            raise

    def _post_patiently(self, question: dict[str, Any]) -> Any:
        for wait in _WAITS:
            try:
                return self._server.post(question)
            except ServerBusyError as error:
                if error.after > LONGEST_WAIT:
                    raise
                time.sleep(max(wait, error.after))
        return self._server.post(question)

    def _read(self, answer: Any, count: int, dimension: int) -> NDArray[np.float64]:
        """The vectors of an answer in the order of the texts; nothing in it is taken on trust."""
        import numpy as np

        try:
            vectors = self._dialect.vectors(answer, count)
        except OddAnswerError as error:
            raise self._wrong(str(error)) from None
        wanted = dimension or (len(vectors[0]) if isinstance(vectors[0], list) else 0)
        if not 1 <= wanted <= MAX_DIMENSION:
            raise self._wrong("a vector without numbers, or with too many")
        for vector in vectors:
            self._check_vector(vector, wanted)
        return np.array(vectors, np.float64)

    def _check_vector(self, vector: object, wanted: int) -> None:
        if not isinstance(vector, list) or not all(type(number) in (float, int) for number in vector):
            raise self._wrong("a vector that is not a list of numbers")
        if len(vector) != wanted:
            raise self._wrong(f"a vector of {len(vector)} numbers in place of {wanted}")
        if any(type(number) is int and abs(number) > 2**53 for number in vector):
            raise self._wrong("a vector with numbers that are not finite")

    def _wrong(self, what: str) -> EmbedderError:
        return EmbedderError(f"{self._server.url} answered with {what}", hint=_HINT)


def _check(url: str, key: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise EmbedderError(f"{url!r} is not the address of a server", hint="it begins with http:// or https://")
    if not (key.isascii() and key.isprintable()):
        raise EmbedderError(
            "the embedding key has characters that cannot be sent", hint="copy it again, without blanks"
        )


def _sketch(vector: NDArray[np.float32]) -> str:
    """A fingerprint of a model by its vector for the probe: the signs of sums over every 64th number.

    Another model gives other signs; a server whose last digits vary gives the same, but for a bit now and then.
    """
    sums = [float(vector[start::_BITS].sum()) for start in range(_BITS)]
    return f"{sum((total > 0) << bit for bit, total in enumerate(sums)):016x}"
