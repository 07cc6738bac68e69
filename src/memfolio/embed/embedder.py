"""What every embedder promises, and the identity by which its vectors are told from those of others."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from memfolio.errors import EmbedderError, InputError
from memfolio.types import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Rows of numbers made into vectors of unit length.


def unit_rows(rows: NDArray[np.float64], *, source: str, hint: str) -> NDArray[np.float32]:
    """Each row at unit length; rows of zeros stay. EmbedderError, with `hint`, where a number is not finite."""
    import numpy as np

    if not np.isfinite(rows).all():
        raise EmbedderError(f"{source} gave a vector with numbers that are not finite", hint=hint)
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    # Scaled by their largest number first, rows neither overflow nor vanish when squared.
    scaled = rows / np.where(peaks == 0, 1.0, peaks)
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    unit: NDArray[np.float32] = (scaled / np.where(lengths == 0, 1.0, lengths)).astype(np.float32)
    return unit


@frozen
class Identity:
    """Which embedder made a vector; vectors of two identities cannot be compared."""

    provider: str
    model: str
    dimension: int
    fingerprint: str
    """Tells two models apart that go by one name; hexadecimal."""
    slack: int = 0
    """How many bits of the fingerprint may differ, for servers that do not answer alike to the last digit."""

    @property
    def text(self) -> str:
        """The identity as one line, the same in every process: what an index stores."""
        return f"{self.provider}/{self.model}/{self.dimension}/{self.fingerprint}"

    def __str__(self) -> str:
        return self.text

    def matches(self, stored: str) -> bool:
        """Whether vectors stored under that text can be compared with the ones this embedder makes."""
        name, _, fingerprint = stored.rpartition("/")
        if name != self.text.rpartition("/")[0] or len(fingerprint) != len(self.fingerprint):
            return False
        return fingerprint == self.fingerprint or _differing_bits(fingerprint, self.fingerprint) <= self.slack


def _differing_bits(one: str, other: str) -> int:
    """How many bits of two hexadecimal numbers differ; more than any slack where one is no such number."""
    try:
        return (int(one, 16) ^ int(other, 16)).bit_count()
    except ValueError:
        return 4 * len(one)


class UnfinishedError(EmbedderError):
    """What keeps an embedder from going on after a part of the texts; `rows` are the vectors of the first ones."""

    def __init__(self, message: str, *, hint: str = "", rows: NDArray[np.float32]) -> None:
        super().__init__(message, hint=hint)
        self.rows = rows


class Embedder(Protocol):
    """Turns texts into vectors whose angles say how close the texts are in meaning. Threads may share one.

    Creating one loads nothing and connects to nothing. What goes wrong later is an EmbedderError with a hint.
    """

    @property
    def name(self) -> str:
        """What a person calls it: its provider, as in `embedding.provider`."""

    @property
    def is_costly(self) -> bool:
        """Whether every call costs money or a way through the network, so that vectors are worth keeping."""

    @property
    def identity(self) -> Identity:
        """Who it is; finding out may read files or ask the server once."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """One row of unit length for each text, in order; zeros for a text in which there is nothing to embed.

        With `query`, the texts are questions: some models embed these otherwise than what answers them.
        A text's row does not depend on the texts beside it, as far as that is up to the embedder.
        """


# The hashed embedder: words and their parts dropped into buckets. No weights; for tests and as a last resort.

MAX_DIMENSION = 65_536

_WORD = re.compile(r"\w+|[^\w\s]+")
_WORD_WEIGHT = 2.0
_PART_WEIGHT = 1.0


class HashedEmbedder:
    """Texts that share words, or parts of words, get vectors that are close; it knows nothing about meaning.

    The same text gives the same vector on every machine.
    """

    name = "hashed"
    is_costly = False

    def __init__(self, dimension: int = 64) -> None:
        if not 1 <= dimension <= MAX_DIMENSION:
            raise InputError(f"dimension is {dimension}", hint=f"give a number from 1 to {MAX_DIMENSION}")
        self._dimension = dimension

    @property
    def identity(self) -> Identity:
        return Identity(provider=self.name, model="trigrams", dimension=self._dimension, fingerprint="1")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        sums = np.zeros((len(texts), self._dimension))
        for row, text in zip(sums, texts, strict=True):
            for match in _WORD.finditer(text):
                for number, weight in _features(match[0][:100]):
                    row[number // 2 % self._dimension] += weight if number % 2 else -weight
        return unit_rows(sums, source="the hashed embedder", hint="report it")


@lru_cache(maxsize=16_384)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """Numbers, with weights, for a word and each three letters of it: bucket and sign are taken from them."""
    word = f" {word.lower()} "
    parts = (f"#{word[start : start + 3]}" for start in range(len(word) - 2))
    return (_number(word), _WORD_WEIGHT), *((_number(part), _PART_WEIGHT) for part in parts)


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
