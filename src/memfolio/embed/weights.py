"""A table of token vectors in a safetensors file, mapped into memory rather than read."""

from __future__ import annotations

import io
import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TENSOR = "embedding.weight"
REINSTALL = "install it again: pip install --force-reinstall wordllama"

_PREFIX = 8
_MAX_HEADER = 1_000_000
_SAMPLE_BYTES = 512
_SAMPLE_EVERY = 64 * _SAMPLE_BYTES


class Weights:
    """One float16 table: `rows` tokens of `dimension` numbers. Raises EmbedderError where the file is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._map = _map(path)
        size = int.from_bytes(self._map[:_PREFIX], "little")
        if size > _MAX_HEADER:
            raise self._damaged()
        self._start = _PREFIX + size
        self.rows, self.dimension = self._read_shape()

    def table(self) -> NDArray[np.float16]:
        """The numbers, read from the file when they are touched."""
        import numpy as np

        flat = np.frombuffer(self._map, np.dtype("<f2"), self.rows * self.dimension, self._start)
        return flat.reshape(self.rows, self.dimension)

    def samples(self) -> Iterator[bytes]:
        """The header and bytes from all over the table: enough to tell two models apart, quick to read."""
        yield self._map[: self._start]
        for offset in range(self._start, len(self._map), _SAMPLE_EVERY):
            yield self._map[offset : offset + _SAMPLE_BYTES]

    def _read_shape(self) -> tuple[int, int]:
        entry = self._read_header().get(TENSOR)
        match entry:
            case {"dtype": "F16", "shape": [int(rows), int(dimension)], "data_offsets": [0, int(end)]}:
                whole = end == rows * dimension * 2 == len(self._map) - self._start
                if whole and rows > 0 and dimension > 0:
                    return rows, dimension
        raise self._damaged()

    def _read_header(self) -> dict[str, Any]:
        try:
            header = json.loads(self._map[_PREFIX : self._start])
        except (ValueError, RecursionError) as error:
            raise self._damaged() from error
        if not isinstance(header, dict):
            raise self._damaged()
        return header

    def _damaged(self) -> EmbedderError:
        return EmbedderError(f"{self._path} is not the table of weights it should be", hint=REINSTALL)


def _map(path: Path) -> mmap.mmap:
    try:
        with io.FileIO(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise EmbedderError(f"{path} cannot be read: {error}", hint=REINSTALL) from error


def read_bytes(path: Path) -> bytes:
    """A whole file of the model."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise EmbedderError(f"{path} cannot be read: {error}", hint=REINSTALL) from error
