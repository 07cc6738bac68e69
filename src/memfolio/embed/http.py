"""The embedder that asks an OpenAI-compatible server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from memfolio.embed.embedder import Identity
from memfolio.embed.post import Server, ServerBusyError, ServerSilentError
from memfolio.embed.unit import unit_rows
from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_CHARACTERS = 8_000
"""How much of a text is sent; the rest does not enter its vector."""
MAX_TEXTS = 128
"""How many texts are sent at once."""
MAX_DIMENSION = 16_384
PROBE = "The quick brown fox jumps over the lazy dog."

_MAX_BYTES = 64 * 1024 * 1024
_RETRY_AFTER = 0.5
_BITS = 64
_SLACK = 2
_HINT = "use a server that speaks the OpenAI embeddings API, or another model"


class HttpEmbedder:
    """Asks `{url}/embeddings` for vectors, in batches; the first use asks once more, to learn the model's identity.

    So does the first one after a failure, since another model may run there since.

    A server that asks to come back later is asked once more. One that is silent is left alone for `rest` seconds, in
    which every call fails at once with the same error, so that nobody waits for it again and again.
    """

    is_costly = True

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        key: str = "",
        timeout: float = 10.0,
        rest: float = 15.0,
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        _check(url, key)
        path = url.rstrip("/").removesuffix("/embeddings")
        self._server = Server(url=f"{path}/embeddings", key=key, timeout=timeout, max_bytes=max_bytes)
        self._model = model
        self._rest = rest
        self._silence: tuple[float, ServerSilentError] | None = None
        self._identity: Identity | None = None
        self._lock = Lock()

    @property
    def identity(self) -> Identity:
        with self._lock:
            if self._identity is None:
                self._identity = self._probe()
            return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return self._embed(texts)
        except EmbedderError:
            self._identity = None  # what comes back may be another model
            raise

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        dimension = self.identity.dimension
        rows = np.zeros((len(texts), dimension))
        sent = [index for index, text in enumerate(texts) if text and not text.isspace()]
        for start in range(0, len(sent), MAX_TEXTS):
            batch = sent[start : start + MAX_TEXTS]
            rows[batch] = self._ask([_sendable(texts[index]) for index in batch], dimension)
        return self._unit(rows)

    def _probe(self) -> Identity:
        rows = self._unit(self._ask([PROBE]))
        return Identity(
            provider="http",
            model=self._model or "default",
            dimension=rows.shape[1],
            fingerprint=_sketch(rows[0]),
            slack=_SLACK,
        )

    def _ask(self, texts: list[str], dimension: int | None = None) -> NDArray[np.float64]:
        question = {"input": texts} | ({"model": self._model} if self._model else {})
        return self._read(self._post(question), len(texts), dimension)

    def _post(self, question: dict[str, Any]) -> Any:
        if self._silence and time.monotonic() < self._silence[0]:
            silent = self._silence[1]
            raise ServerSilentError(silent.message, hint=silent.hint)
        try:
            return self._post_twice(question)
        except ServerSilentError as error:
            self._silence = (time.monotonic() + self._rest, error)
            raise

    def _post_twice(self, question: dict[str, Any]) -> Any:
        try:
            return self._server.post(question)
        except ServerBusyError:
            time.sleep(_RETRY_AFTER)
            return self._server.post(question)

    def _read(self, answer: Any, count: int, dimension: int | None) -> NDArray[np.float64]:
        """The vectors of an answer in the order of the texts; nothing in it is taken on trust."""
        import numpy as np

        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._wrong("no list of vectors")
        if len(items) != count:
            raise self._wrong(f"{len(items)} vectors for {count} texts")
        vectors = [item.get("embedding") for item in self._ordered(items)]
        wanted = dimension or (len(vectors[0]) if isinstance(vectors[0], list) else 0)
        if not 1 <= wanted <= MAX_DIMENSION:
            raise self._wrong("a vector without numbers, or with too many")
        for vector in vectors:
            self._check_vector(vector, wanted)
        return np.array(vectors, np.float64)

    def _ordered(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        places = [item.get("index") for item in items]
        if all(place is None for place in places):
            return items
        by_place = {place: item for place, item in zip(places, items, strict=True) if type(place) is int}
        if set(by_place) != set(range(len(items))):
            raise self._wrong("vectors whose numbering does not fit the texts")
        return [by_place[place] for place in range(len(items))]

    def _check_vector(self, vector: object, wanted: int) -> None:
        if not isinstance(vector, list) or not all(type(number) in (float, int) for number in vector):
            raise self._wrong("a vector that is not a list of numbers")
        if len(vector) != wanted:
            raise self._wrong(f"a vector of {len(vector)} numbers in place of {wanted}")
        if any(type(number) is int and abs(number) > 2**53 for number in vector):
            raise self._wrong("a vector with numbers that are not finite")

    def _unit(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        return unit_rows(rows, source=self._server.url, hint=_HINT)

    def _wrong(self, what: str) -> EmbedderError:
        return EmbedderError(f"{self._server.url} answered with {what}", hint=_HINT)


def _check(url: str, key: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise EmbedderError(f"{url!r} is not the address of a server", hint="it begins with http:// or https://")
    if not (key.isascii() and key.isprintable()):
        raise EmbedderError(
            "the embedding key has characters that cannot be sent", hint="copy it again, without blanks"
        )


def _sendable(text: str) -> str:
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode()


def _sketch(vector: NDArray[np.float32]) -> str:
    """A fingerprint of a model by its vector for the probe: the signs of sums over every 64th number.

    Another model gives other signs; a server whose last digits vary gives the same, but for a bit now and then.
    """
    sums = [float(vector[start::_BITS].sum()) for start in range(_BITS)]
    return f"{sum((total > 0) << bit for bit, total in enumerate(sums)):016x}"
