"""The local embedder: token vectors from an installed package, averaged. No network, no key."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from memfolio.embed.embedder import Identity
from memfolio.embed.tokens import Tokens, WordTokens
from memfolio.embed.unit import unit_rows
from memfolio.embed.weights import Weights, read_bytes
from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memfolio.embed.weights import Table

MODEL = "l2_supercat_256"
INSTALL = "pip install wordllama"

_METHOD = b"mean of token vectors, cut at spaces and line ends"
_TOKENS_AT_ONCE = 4096
_TEXTS_AT_ONCE = 1024


class LocalEmbedder:
    """Averages the vectors of a text's tokens, from the weights in the wheel of `wordllama`.

    A text's vector is the same to the last bit in any batch, thread, process and machine: half-precision numbers add
    up in double precision without rounding, so the order of addition cannot be seen.
    """

    name = "local"
    is_costly = False
    model = MODEL
    weights_name = "weights/l2_supercat_256.safetensors"
    tokenizer_name = "tokenizers/l2_supercat_tokenizer_config.json"
    remedy = "install it again: pip install --force-reinstall wordllama"
    tokens_of: Callable[[Path, str], Tokens] = WordTokens

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = RLock()

    def files(self) -> tuple[Path, ...]:
        """The files that it reads; none where they cannot be found."""
        folder = self._folder or package_folder()
        return (folder / self.weights_name, folder / self.tokenizer_name) if folder else ()

    @property
    def identity(self) -> Identity:
        with self._lock:
            return self._identity

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:
            tokens, table = self._model
        rows = np.zeros((len(texts), table.shape[1]), np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            sums = np.array([_sum(table, tokens.numbers(text)) for text in texts[start : start + _TEXTS_AT_ONCE]])
            rows[start : start + len(sums)] = unit_rows(sums, source="the local embedder", hint=self.remedy)
        return rows

    @cached_property
    def _identity(self) -> Identity:
        digest = hashlib.blake2b(_METHOD, digest_size=4)
        for sample in self._weights.samples():
            digest.update(sample)
        digest.update(read_bytes(self._found / self.tokenizer_name, self.remedy))
        return Identity(
            provider=self.name, model=self.model, dimension=self._weights.dimension, fingerprint=digest.hexdigest()
        )

    @cached_property
    def _model(self) -> tuple[Tokens, Table]:
        tokens = type(self).tokens_of(self._found / self.tokenizer_name, self.remedy)
        if tokens.size > self._weights.rows:
            raise EmbedderError(
                f"{self._found} has weights for {self._weights.rows} tokens, but a tokenizer that needs {tokens.size}",
                hint=self.remedy,
            )
        return tokens, self._weights.table()

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self._found / self.weights_name, self.remedy)

    @property
    def _found(self) -> Path:
        folder = self._folder or package_folder()
        if folder is None:
            raise EmbedderError(
                "the package wordllama, whose weights the local embedder uses, is missing", hint=INSTALL
            )
        return folder


def is_installed() -> bool:
    """Whether the local embedder's files are there."""
    folder = package_folder()
    names = (LocalEmbedder.weights_name, LocalEmbedder.tokenizer_name)
    return folder is not None and all((folder / name).is_file() for name in names)


def package_folder() -> Path | None:
    """Where the package with the weights is; it is not imported, since it would bring half the internet with it."""
    spec = find_spec("wordllama")
    places = spec.submodule_search_locations if spec else None
    return next(map(Path, places or ()), None)


def _sum(table: Table, numbers: array[int]) -> NDArray[np.float64]:
    """The exact sum of the vectors of these tokens, a few thousand at a time so that memory stays small."""
    import numpy as np

    total = np.zeros(table.shape[1])
    for start in range(0, len(numbers), _TOKENS_AT_ONCE):
        total += table.take(numbers[start : start + _TOKENS_AT_ONCE], axis=0).astype(np.float64).sum(axis=0)
    return total
