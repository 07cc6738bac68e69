"""A table of token vectors in a safetensors file, mapped into memory rather than read."""

from __future__ import annotations

import io
import json
import mmap
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.floating[Any]]

TENSORS = ("embedding.weight", "embeddings")
"""What the one table of a static model is called."""

MAX_WEIGHTS = 2 * 1024**3
MAX_TOKENIZER = 64 * 1024**2

_TYPES = {"F16": "<f2", "F32": "<f4"}
_PREFIX = 8
_MAX_HEADER = 1_000_000
_SAMPLE_BYTES = 512
_SAMPLE_EVERY = 64 * _SAMPLE_BYTES


class Weights:
    """One table: `rows` tokens of `dimension` numbers. EmbedderError where the file is damaged or another."""

    def __init__(self, path: Path, remedy: str) -> None:
        self._path = path
        self._remedy = remedy
        self._map = _map(path, remedy)
        size = int.from_bytes(self._map[:_PREFIX], "little")
        if size > _MAX_HEADER:
            raise self._damaged()
        self._start = _PREFIX + size
        self._type, self.rows, self.dimension = self._read_shape()

    def table(self) -> Table:
        """The numbers, read from the file when they are touched."""
        import numpy as np

        flat = np.frombuffer(self._map, np.dtype(self._type), self.rows * self.dimension, self._start)
        return flat.reshape(self.rows, self.dimension)

    def samples(self) -> Iterator[bytes]:
        """The header and bytes from all over the table: enough to tell two models apart, quick to read."""
        yield self._map[: self._start]
        for offset in range(self._start, len(self._map), _SAMPLE_EVERY):
            yield self._map[offset : offset + _SAMPLE_BYTES]

    def _read_shape(self) -> tuple[str, int, int]:
        match self._read_entry():
            case {"dtype": str(kind), "shape": [int(rows), int(dimension)], "data_offsets": [0, int(end)]}:
                width = int(_TYPES.get(kind, "<f0")[-1])
                if not width:
                    raise self._damaged(f"numbers of type {kind[:8]!r}, and not of {' or '.join(_TYPES)}")
                whole = end == rows * dimension * width == len(self._map) - self._start
                if whole and rows > 0 and dimension > 0:
                    return _TYPES[kind], rows, dimension
        raise self._damaged()

    def _read_entry(self) -> object:
        """What the header says about the one table; a model that computes has many."""
        header = self._read_header()
        names = header.keys() - {"__metadata__"}
        if len(names) != 1 or not names <= set(TENSORS):
            raise self._damaged(f"{len(names)} tables, and not one called {' or '.join(TENSORS)}")
        return header[names.pop()]

    def _read_header(self) -> dict[str, Any]:
        try:
            header = json.loads(self._map[_PREFIX : self._start])
        except (ValueError, RecursionError) as error:
            raise self._damaged() from error
        if not isinstance(header, dict):
            raise self._damaged()
        return header

    def _damaged(self, what: str = "") -> EmbedderError:
        holds = f": it holds {what}" if what else ""
        return EmbedderError(f"{self._path} is not the table of weights it should be{holds}", hint=self._remedy)


def _map(path: Path, remedy: str) -> mmap.mmap:
    try:
        _check_file(path, MAX_WEIGHTS)
        with io.FileIO(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise EmbedderError(f"{path} cannot be read: {error}", hint=remedy) from error


def _check_file(path: Path, most: int) -> None:
    """ValueError for what cannot be read to its end in a moment: a pipe, a device, or a file that is too large."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a file")
    if not 0 < found.st_size <= most:
        raise ValueError(f"it has {found.st_size:,} bytes, and may have from 1 to {most:,}")


def read_bytes(path: Path, remedy: str) -> bytes:
    """A whole file of the model, of those that are small."""
    try:
        _check_file(path, MAX_TOKENIZER)
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise EmbedderError(f"{path} cannot be read: {error}", hint=remedy) from error
