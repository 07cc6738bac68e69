"""Texts to token numbers."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memfolio.embed.weights import read_bytes
from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "▁"
"""What stands for a space in the vocabulary."""

# No token reaches from a letter into the space behind it or over the end of a line, so that words cut there give the
# tokens of the whole text. Words of thousands of letters are cut too: the tokenizer's memory grows with a word.
_WORDS = re.compile(rf"{SPACE}{{0,1000}}[^{SPACE}\n]{{1,1000}}|{SPACE}{{1,1000}}|\n{{1,1000}}")
_LONG_TEXT = 65_536
_LONGEST_KEPT = 24
_MOST_KEPT = 32_768
_PIECE = 8192


class Tokens(Protocol):
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
    """The tokenizer of wordllama, word by word, with the common words remembered."""

    def __init__(self, path: Path, remedy: str) -> None:
        tokenizer = _load(path, remedy)
        from tokenizers import normalizers

        tokenizer.normalizer = normalizers.Sequence([])
        self._words = _Words(tokenizer)

    @property
    def size(self) -> int:
        return self._words.tokenizer.get_vocab_size()

    def numbers(self, text: str) -> array[int]:
        if not text or text.isspace():
            return array("i")
        return array("i", chain.from_iterable(map(self._words.__getitem__, _split(text))))


class _Words(dict[str, tuple[int, ...]]):
    """Tokens by word: asks the tokenizer for what is missing, and keeps short words."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer

    def __missing__(self, word: str) -> tuple[int, ...]:
        # One word at a time: batches would start threads, which a process that forks later is warned about.
        clean = word.encode("utf-8", "replace").decode()
        found = tuple(self.tokenizer.encode(clean, add_special_tokens=False).ids)
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[word] = found
        return found


def _split(text: str) -> Iterable[str]:
    marked = SPACE + text.replace(" ", SPACE)
    if len(marked) <= _LONG_TEXT:
        return _WORDS.findall(marked)
    return (match[0] for match in _WORDS.finditer(marked))


def _load(path: Path, remedy: str) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EmbedderError("the package tokenizers is not installed", hint="pip install tokenizers") from error
    data = read_bytes(path, remedy)
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # the package has no narrower one for what it cannot parse
        raise EmbedderError(f"{path} is not the tokenizer it should be", hint=remedy) from error
    tokenizer.encode_special_tokens = True
    return tokenizer
