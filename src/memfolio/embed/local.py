"""The local embedder: token vectors that come with memfolio or lie in a folder, averaged. No network, no key."""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import re
import stat
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from memfolio.embed.embedder import Identity, unit_rows
from memfolio.errors import EmbedderError
from memfolio.machine import install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    Table = NDArray[Any]

# A table of token vectors in a safetensors file, mapped into memory rather than read.

TENSORS = ("embedding.weight", "embeddings")
"""What the one table of a static model is called."""
OWN_TENSOR = "embedding.bytes"
"""That of the model which comes with memfolio: the last number of a row is the exponent of those before it."""

MAX_WEIGHTS = 2 * 1024**3
MAX_TOKENIZER = 64 * 1024**2

_TYPES = {"F16": "<f2", "F32": "<f4"}
_OWN_TYPES = {"I8": "<i1"}
_PREFIX = 8
_MAX_HEADER = 1_000_000
_SAMPLE_BYTES = 512
_SAMPLE_EVERY = 64 * _SAMPLE_BYTES


class Weights:
    """One table: `rows` tokens of `dimension` numbers. EmbedderError where the file is damaged or another."""

    def __init__(self, path: Path, remedy: str) -> None:
        self._path = path
        self._remedy = remedy
        self._map = _mapped(path, remedy)
        size = int.from_bytes(self._map[:_PREFIX], "little")
        if size > _MAX_HEADER:
            raise self._damaged()
        self._start = _PREFIX + size
        self._has_exponents = False
        self._type, self.rows, self.dimension = self._read_shape()

    def table(self) -> Table:
        """The numbers, read from the file when they are touched."""
        import numpy as np

        width = self.dimension + self._has_exponents
        flat = np.frombuffer(self._map, np.dtype(self._type), self.rows * width, self._start)
        return flat.reshape(self.rows, width)

    def samples(self) -> Iterator[bytes]:
        """The header and bytes from all over the table: enough to tell two models apart, quick to read."""
        yield self._map[: self._start]
        for offset in range(self._start, len(self._map), _SAMPLE_EVERY):
            yield self._map[offset : offset + _SAMPLE_BYTES]

    def _read_shape(self) -> tuple[str, int, int]:
        try:
            header = json.loads(self._map[_PREFIX : self._start])
            names = header.keys() - {"__metadata__"}
        except (ValueError, RecursionError, AttributeError) as error:
            raise self._damaged() from error
        if len(names) != 1 or not names <= {*TENSORS, OWN_TENSOR}:  # a model that computes has many
            raise self._damaged(f"{len(names)} tables, and not one called {' or '.join(TENSORS)}")
        name = names.pop()
        self._has_exponents = name == OWN_TENSOR
        types = _OWN_TYPES if self._has_exponents else _TYPES
        match header[name]:
            case {"dtype": str(kind), "shape": [int(rows), int(width)], "data_offsets": [0, int(end)]}:
                if kind not in types:
                    raise self._damaged(f"numbers of type {kind[:8]!r}, and not of {' or '.join(types)}")
                size, dimension = rows * width * int(types[kind][-1]), width - self._has_exponents
                if rows > 0 and dimension > 0 and end == size == len(self._map) - self._start:
                    return types[kind], rows, dimension
        raise self._damaged()

    def _damaged(self, what: str = "") -> EmbedderError:
        holds = f": it holds {what}" if what else ""
        return EmbedderError(f"{self._path} is not the table of weights it should be{holds}", hint=self._remedy)


def _mapped(path: Path, remedy: str, most: int = MAX_WEIGHTS) -> mmap.mmap:
    """A file of the model in memory, unless it is a pipe, a device, or too large."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a file")
        if not 0 < found.st_size <= most:
            raise ValueError(f"it has {found.st_size:,} bytes, and may have from 1 to {most:,}")
        with io.FileIO(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise EmbedderError(f"{path} cannot be read: {error}", hint=remedy) from error


def read_bytes(path: Path, remedy: str) -> bytes:
    """A whole file of the model, of those that are small."""
    with _mapped(path, remedy, MAX_TOKENIZER) as data:
        return data[:]


# Texts to token numbers.

SPACE = "▁"
"""What stands for a space in the vocabulary."""

# No token reaches from a letter into the space behind it or over the end of a line, so that words cut there give the
# tokens of the whole text. Words of thousands of letters are cut too: the tokenizer's memory grows with a word.
_WORDS = re.compile(rf"{SPACE}{{0,1000}}[^{SPACE}\n]{{1,1000}}|{SPACE}{{1,1000}}|\n{{1,1000}}")
_LONG_TEXT = 65_536
_LONGEST_KEPT = 24
_MOST_KEPT = 32_768
_PIECE = 8192
_NEVER = 1 << 62
"""The rank of a pair that is not joined."""


class ModelTokenizer(Protocol):
    """The tokenizer of one model; loading it raises EmbedderError where its file is damaged."""

    @property
    def size(self) -> int:
        """How many rows a table needs to have one for every token."""

    def numbers(self, text: str) -> array[int]:
        """The tokens of a text; none for one of nothing but blanks."""


class PlainTokens:
    """A tokenizer that is used as it is, a piece of the text at a time so that memory stays small."""

    def __init__(self, path: Path, remedy: str) -> None:
        self._tokenizer = _load(path, remedy)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        self._unknown = self._tokenizer.token_to_id(unknown) if unknown else None

    @property
    def size(self) -> int:
        return max(self._tokenizer.get_vocab().values(), default=-1) + 1  # numbers may have gaps between them

    def numbers(self, text: str) -> array[int]:
        clean = text.strip().encode("utf-8", "replace").decode()
        pieces = (clean[start : start + _PIECE] for start in range(0, len(clean), _PIECE))
        found = chain.from_iterable(self._tokenizer.encode(each, add_special_tokens=False).ids for each in pieces)
        return array("i", (number for number in found if number != self._unknown))


class WordTokens:
    """The tokenizer of the own model: byte pair encoding, word by word, with the common words remembered."""

    def __init__(self, path: Path, remedy: str) -> None:
        try:
            known = json.loads(read_bytes(path, remedy))
            self._words = _Words({token: number for number, token in enumerate(known)})
            if not isinstance(known, list) or len(self._words.vocabulary) != len(known):
                raise ValueError("a token stands in it twice")
            self._words["a"]  # raises where the bytes that stand for unknown letters are missing
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise EmbedderError(f"{path} is not the vocabulary it should be", hint=remedy) from error

    @property
    def size(self) -> int:
        return len(self._words.vocabulary)

    def numbers(self, text: str) -> array[int]:
        if not text or text.isspace():
            return array("i")
        return array("i", chain.from_iterable(map(self._words.__getitem__, _split(text))))


class _Words(dict[str, tuple[int, ...]]):
    """Tokens by word: makes what is missing, and keeps short words."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.rank = lru_cache(_MOST_KEPT)(self._rank)
        self._bytes = [vocabulary[f"<0x{each:02X}>"] for each in range(256)]

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = tuple(chain.from_iterable(map(self._numbers, self._merged(word))))
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[word] = found
        return found

    def _numbers(self, part: str) -> Iterable[int]:
        """The token of a part, or those of its bytes where the vocabulary has none."""
        number = self.vocabulary.get(part)
        return (number,) if number is not None else [self._bytes[each] for each in part.encode("utf-8", "replace")]

    def _merged(self, word: str) -> list[str]:
        """The letters of a word, neighbours joined while any can be, the pair of the lowest rank first."""
        parts, rank_of = list(word), self.rank
        ranks = list(map(rank_of, parts, parts[1:]))
        while ranks and (least := min(ranks)) < _NEVER:
            at = ranks.index(least)
            parts[at] += parts.pop(at + 1)
            del ranks[at]
            if at:
                ranks[at - 1] = rank_of(parts[at - 1], parts[at])
            if at < len(ranks):
                ranks[at] = rank_of(parts[at], parts[at + 1])
        return parts

    def _rank(self, left: str, right: str) -> int:
        """When two neighbours are joined: in the order of the vocabulary, but spaces last."""
        both, known = left + right, self.vocabulary.get
        number, first, second = known(both), known(left), known(right)
        if number is None or first is None or second is None:
            return _NEVER
        return (not both.strip(SPACE)) << 60 | number << 40 | first << 20 | second


def _split(text: str) -> Iterable[str]:
    marked = SPACE + text.replace(" ", SPACE)
    if len(marked) <= _LONG_TEXT:
        return _WORDS.findall(marked)
    return (match[0] for match in _WORDS.finditer(marked))


def _load(path: Path, remedy: str) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EmbedderError("the package tokenizers is not installed", hint=TOKENIZERS) from error
    data = read_bytes(path, remedy)
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # the package has no narrower one for what it cannot parse
        raise EmbedderError(f"{path} is not the tokenizer it should be", hint=remedy) from error
    tokenizer.encode_special_tokens = True
    return tokenizer


# The local embedder: token vectors of its own, averaged. No network, no key.

MODEL = "l2_supercat_256"
TOKENIZERS = install_command("static")
DATA = Path(__file__).parent / "data"

_METHOD = b"mean of token vectors in bytes, cut at spaces and line ends"
_TOKENS_AT_ONCE = 4096
_TOKENS_WIDENED = 16_384
_TEXTS_AT_ONCE = 512


class LocalEmbedder:
    """Averages the vectors of a text's tokens, from the weights of `wordllama` in one byte a number.

    A text's vector is the same to the last bit in any batch, thread, process and machine: small whole numbers times
    powers of two add up in double precision without rounding, so the order of addition cannot be seen.
    """

    name = "local"
    is_costly = False
    model = MODEL
    weights_name = "l2_supercat_256.safetensors"
    tokenizer_name = "l2_supercat_vocabulary.json"
    remedy = "install memfolio again: its wheel has the model's files"
    tokens_of: Callable[[Path, str], ModelTokenizer] = WordTokens

    def __init__(self, folder: Path = DATA) -> None:
        self._folder = folder
        self._lock = RLock()

    def files(self) -> tuple[Path, ...]:
        """The files that it reads."""
        return self._folder / self.weights_name, self._folder / self.tokenizer_name

    @property
    def identity(self) -> Identity:
        with self._lock:
            return self._identity

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:
            tokens, table = self._model
        rows = np.zeros((len(texts), self._weights.dimension), np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            sums = _sums(table, [tokens.numbers(text) for text in texts[start : start + _TEXTS_AT_ONCE]])
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
    def _model(self) -> tuple[ModelTokenizer, Table]:
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
        return self._folder


def is_installed() -> bool:
    """Whether the local embedder's files are there."""
    return all(path.is_file() for path in LocalEmbedder().files())


def _widened(rows: Table) -> NDArray[np.float64]:
    """Rows of a table as numbers to add up."""
    import numpy as np

    if rows.dtype != np.int8:
        return rows.astype(np.float64)
    return np.ldexp(rows[:, :-1].astype(np.float64), rows[:, -1:].astype(np.intc))


def _sums(table: Table, texts: Sequence[array[int]]) -> NDArray[np.float64]:
    """The exact sums of the vectors of some texts' tokens."""
    import numpy as np

    tokens = np.concatenate(texts)
    known = np.flatnonzero(np.bincount(tokens))
    if len(texts) < 2 or len(known) > _TOKENS_WIDENED:
        return np.array([_sum(table, numbers) for numbers in texts])
    # Widening takes longest, and the same tokens come in text after text.
    wide = _widened(table.take(known, axis=0))
    places = np.empty(len(table), np.intp)
    places[known] = np.arange(len(known))
    ends = np.cumsum([len(numbers) for numbers in texts])
    return np.array([_sum_of_rows(wide, some) for some in np.split(places[tokens], ends[:-1])])


def _sum_of_rows(wide: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """The sum of these rows; in a long text most tokens come again, so they are counted rather than copied."""
    import numpy as np

    if len(rows) <= len(wide):
        return wide.take(rows, axis=0).sum(axis=0)  # type: ignore[no-any-return]
    return np.bincount(rows, minlength=len(wide)) @ wide


def _sum(table: Table, numbers: array[int]) -> NDArray[np.float64]:
    """The exact sum of the vectors of these tokens, a few thousand at a time so that memory stays small."""
    import numpy as np

    total = np.zeros(table.shape[1] - (table.dtype == np.int8))
    for start in range(0, len(numbers), _TOKENS_AT_ONCE):
        total += _widened(table.take(numbers[start : start + _TOKENS_AT_ONCE], axis=0)).sum(axis=0)
    return total


# A static model in a folder of the user's: token vectors as Model2Vec and wordllama save them.

_STATIC = "embedding.path is the folder of a static model: model.safetensors with one table, and tokenizer.json"
_ONNX = ("model.onnx", "onnx/model.onnx")


class FolderEmbedder(LocalEmbedder):
    """Averages the vectors of a text's tokens, from the weights in a folder; unknown tokens do not count."""

    weights_name = "model.safetensors"
    tokenizer_name = "tokenizer.json"
    remedy = _STATIC
    tokens_of = PlainTokens

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.model = "".join(c if c.isprintable() else "?" for c in folder.name) or "folder"

    @property
    def _found(self) -> Path:
        folder = super()._found
        if not folder.is_dir():
            raise EmbedderError(f"{folder} is not a folder", hint=_STATIC)
        if not (folder / self.weights_name).exists() and any((folder / name).exists() for name in _ONNX):
            raise EmbedderError(
                f"{folder} holds an ONNX model, which memfolio does not run",
                hint="use a static model, or let a server run this one and set embedding.url",
            )
        return folder
