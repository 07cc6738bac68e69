"""The hashed embedder: words and their parts dropped into buckets. No weights; for tests and as a last resort."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from memfolio.embed.embedder import Identity
from memfolio.embed.unit import unit_rows
from memfolio.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
