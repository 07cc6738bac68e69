"""The sentences that say most of what many texts say. Pure, and the same for the same texts.

A word counts by how many sentences have it and how rare it is nevertheless; a sentence by its words, of which those
that were said already count little.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from itertools import chain
from typing import NamedTuple

from memfolio.text import estimate_tokens, terms

LONG = 20_000
"""Characters of a text that are looked at: its beginning."""
MANY = 20
"""Words of a sentence that count, those that tell most."""
SAID = 0.2
"""What is left of a word's weight each time that a chosen sentence has it."""
FRESH = 0.4
"""The least share of its weight that a sentence must have left to be chosen."""
FIRST, ASKING = 1.2, 0.5
"""What the first sentence of a text and a question count, compared with others."""

_STOPS = r"[.!?…]++[\"')\]”’»*_]*+"
_SENTENCE = re.compile(rf"[^\n](?:[^\n.!?…。！？]++|{_STOPS}(?!\s))*(?:{_STOPS}|[。！？]++|(?=\n)|\Z)")
"""Whatever stands in a line up to its first stop; each character is read once, so that no text takes long."""
_ABBREVIATED = re.compile(r"(?:^|[\s(])(?:[A-Z]|Dr|Mrs?|Ms|Prof|St|vs|etc|ca|bzw|z\.B|e\.g|i\.e|[ap]\.m|[Nn][or])\.$")
"""What ends with a stop and does not end a sentence."""
_MARKUP = re.compile(r"^[\s>#*+|-]+(?=\S)|^\s*\d+[.)]\s+")
_ENDING = re.compile(r"(?:'s|ies|es|s)$")


class _Sentence(NamedTuple):
    text: int
    words: str
    keys: frozenset[str]
    weight: float
    """What a sentence of its place and kind counts."""


def extract(
    texts: Sequence[str], *, limit: int, tokens: int, weights: Sequence[float] | None = None
) -> list[tuple[int, str]]:
    """Up to `limit` sentences of at most `tokens` together, each with the index of its text, in the order of the texts.

    No two say nearly the same. Where not even the best fits, its beginning is given. `weights` say how much each text
    counts.
    """
    counts = weights or [1.0] * len(texts)
    sentences = [each for at, text in enumerate(texts) for each in _sentences_of(at, text, counts[at])]
    chosen = sorted(_chosen(sentences, limit, tokens))
    if not chosen and sentences and limit > 0:
        best = max(sentences, key=lambda each: (len(each.keys), -each.text))
        return [(best.text, cut)] if (cut := shortened(best.words, tokens)) else []
    return [(sentences[at].text, sentences[at].words) for at in chosen]


def shortened(text: str, tokens: int) -> str:
    """The beginning of a text in one line, cut between words where it is longer than `tokens`."""
    # A token has at most four characters; a little more is read, to see whether anything is left.
    line = " ".join(text[: 8 * tokens + 80].split())
    if estimate_tokens(line) <= tokens:
        return line
    end = min(len(line), 4 * tokens)
    while end and estimate_tokens(f"{line[:end]} …") > tokens:
        end -= max(1, end // 16)
    kept = (line[:end].rpartition(" ")[0] or line[:end]).rstrip(" ,;:")
    return f"{kept} …" if kept else ""


@lru_cache(maxsize=4096)
def keys(text: str) -> frozenset[str]:
    """The words of a text that tell something, without their endings."""
    return frozenset(map(key_of, terms(text, limit=MANY)))


def _sentences_of(at: int, text: str, weight: float) -> Iterator[_Sentence]:
    for nth, words in enumerate(_split(text[:LONG])):
        if found := keys(words):
            place = FIRST if nth == 0 else 1.0
            tone = ASKING if words.endswith(("?", "？")) else 1.0
            yield _Sentence(at, words, found, weight * place * tone)


def _split(text: str) -> Iterator[str]:
    """The sentences of a text, each in one line and without the marks of lists and headings."""
    begun = ""
    for match in _SENTENCE.finditer(text):
        begun += match[0]
        is_over = match.end() >= len(text) or text[match.end()] == "\n" or not _ABBREVIATED.search(begun[-8:])
        if is_over:
            if words := " ".join(_MARKUP.sub("", begun.strip()).split()):
                yield words
            begun = ""


@lru_cache(maxsize=16384)
def key_of(word: str) -> str:
    """A word without regard to case and, roughly, to its ending."""
    word = word.casefold()
    return _ENDING.sub("", word) if len(word) > 4 else word


def _chosen(sentences: Sequence[_Sentence], limit: int, tokens: int) -> Iterator[int]:
    """The best sentences one after the other; weights only fall, so only the one that leads is weighed again."""
    weights = _weights([each.keys for each in sentences])
    full = [_worth(each, weights) for each in sentences]
    queue = [(-worth, at) for at, worth in enumerate(full)]
    heapify(queue)
    while queue and limit > 0:
        worth, at = queue[0]
        now = _worth(sentences[at], weights)
        if now < -worth:
            heapreplace(queue, (-now, at))
            continue
        heappop(queue)
        cost = estimate_tokens(sentences[at].words)
        if cost <= tokens and now >= FRESH * full[at] > 0:
            yield at
            limit, tokens = limit - 1, tokens - cost
            weights.update((key, weights[key] * SAID) for key in sentences[at].keys)


def _worth(sentence: _Sentence, weights: dict[str, float]) -> float:
    """By the root of its length: a long sentence says more, but not for being long."""
    total = math.fsum(weights[key] for key in sentence.keys)
    return sentence.weight * total / math.sqrt(len(sentence.keys) + 2)


def _weights(found: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(chain.from_iterable(found))
    return {key: math.sqrt(count) * math.log(1 + len(found) / count) for key, count in counts.items()}
