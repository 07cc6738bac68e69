"""Extract the sentences that represent many texts best. Pure and deterministic.

A word counts by how many sentences contain it and how rare it is otherwise; a sentence by its words, where those
already said count little. Code, logs, jokes, questions and secrets do not count at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from itertools import chain, zip_longest
from typing import NamedTuple

from memfolio.text import clip, estimate_tokens, sentence_pattern, terms

LONG = 20_000
"""Characters of a text that are looked at: its beginning."""
MANY = 20
"""How many words of a sentence count, the most characteristic ones."""
SAID = 0.2
"""The factor for a word's weight each time a chosen sentence contains it."""
FRESH = 0.4
"""The least share of its weight that a sentence must have left to be chosen."""
FIRST = 1.2
"""The weight of a text's first sentence, compared with others."""
GREETING = 6
"""Words that a sentence has at most that only greets, thanks or agrees."""
LEAST = 3
"""The fewest content words of a sentence that is quoted alone."""
FEWEST_WORDS = 5
"""The fewest words of a sentence that can be understood alone."""
LINE = 2000
"""Characters of a line that are looked at."""

_SENTENCE = sentence_pattern("*_")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Dr|Mrs?|Ms|Prof|St|vs|etc|incl|approx|ca|bzw|z\.B|e\.g|i\.e|[ap]\.m|[Nn][or])\.$"
)
"""Abbreviations that end with a stop but do not end a sentence."""
_MARKUP = re.compile(r"^[\s>#*+|-]+(?=\S)|^\s*\d+[.)]\s+")
_ENDING = re.compile(r"(?:'s|ies|es|s)$")
_ASSIGNED = re.compile(r"(?:passw|pwd|secret|token|key|credential)\w{0,40}[\"']?\s{0,3}=\s{0,3}\S", re.IGNORECASE)


class _Sentence(NamedTuple):
    text: int
    words: str
    keys: frozenset[str]
    weight: float
    """The weight of a sentence by position and kind."""


def extract(
    texts: Sequence[str], *, limit: int, tokens: int, weights: Sequence[float] | None = None
) -> list[tuple[int, str]]:
    """Up to `limit` sentences of at most `tokens` together, each with the index of its text, in the order of the texts.

    No two say nearly the same. Where not even the best fits, its beginning is given. `weights` say how much each text
    counts.
    """
    counts = weights or [1.0] * len(texts)
    sentences = [
        _Sentence(at, words, keys(words), counts[at] * (1.0 if nth else FIRST))
        for at, text in enumerate(texts)
        for nth, words in enumerate(sentences_of(text[:LONG]))
        if keys(words)
    ]
    chosen = sorted(_chosen(sentences, limit, tokens))
    if not chosen and sentences and limit > 0:
        best = max(sentences, key=lambda each: (len(each.keys), -each.text))
        return [(best.text, cut)] if (cut := shortened(best.words, tokens)) else []
    return [(sentences[at].text, sentences[at].words) for at in chosen]


def shortened(text: str, tokens: int) -> str:
    """Return the beginning of a text on one line, cut between words if longer than `tokens`."""
    # A token has at most four characters; a little more is read, to see whether anything is left.
    line = " ".join(text[: 8 * tokens + 80].split())
    if estimate_tokens(line) <= tokens:
        return line
    end = min(len(line), 4 * tokens)
    while end and estimate_tokens(f"{line[:end]} …") > tokens:
        end -= max(1, end // 16)
    kept = (line[:end].rpartition(" ")[0] or line[:end]).rstrip(" ,;:")
    return f"{kept} …" if kept else ""


def clipped(text: str, characters: int) -> str:
    """Return a text on one line, cut if longer than so many characters."""
    return clip(" ".join(text.split()), characters)


def is_secret(text: str) -> bool:
    """Whether a text looks as if it gave away a password, a token or a key."""
    from memfolio.learn import clauses

    return ("=" in text and bool(_ASSIGNED.search(text[:LONG]))) or clauses.is_secret(text[:LONG])


@lru_cache(maxsize=2048)
def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a text that tell something, each in one line and without the marks of lists and headings."""
    from memfolio.learn.clauses import is_given, is_taken_back

    found = list(_split("\n".join(_told_lines(text))))
    end = next((nth for nth, words in enumerate(found) if is_given(words)), len(found))  # then others speak
    serious = (
        each for each, after in zip_longest(found[:end], found[1:end], fillvalue="") if not is_taken_back(each, after)
    )
    return tuple(each for each in serious if _tells(each))


def _told_lines(text: str) -> Iterator[str]:
    """The lines that somebody wrote, without code, logs and secrets."""
    from memfolio.learn.clauses import readable

    lines = [line[:LINE] for line in text.splitlines()]
    bare = [line.replace("[[", "").replace("]]", "") for line in lines]  # a link begins as a pasted list does
    together = set(readable("\n".join(bare))) if len(lines) > 1 else None  # code may go over many lines
    for line, plain in zip(lines, bare, strict=True):
        alone = readable(plain)
        if alone and (together is None or together.issuperset(alone)) and not is_secret(line):
            yield line


def _tells(sentence: str) -> bool:
    from memfolio.learn.clauses import asks_for_help, is_made_up, is_question, is_small_talk

    is_greeting = is_small_talk(sentence) and len(sentence.split()) <= GREETING
    is_asking = is_question(sentence) or asks_for_help(sentence) or sentence.endswith("？")
    return not (is_greeting or is_asking or is_made_up(sentence))


def is_offer(sentence: str) -> bool:
    """Whether an assistant only agrees, offers or announces something: nothing that anybody looks up later."""
    from memfolio.learn.words import pattern

    return bool(pattern("offer").search(sentence))


def is_news(sentence: str) -> bool:
    """Whether a person's sentence tells what happened, is so or is due, and does not only stand alone."""
    from memfolio.learn import rules

    return stands_alone(sentence) and rules.is_news(sentence)


def says_something(sentence: str) -> bool:
    """Whether a sentence has enough content words to be quoted alone in a digest."""
    return len(terms(sentence, limit=LEAST, weak=False)) >= LEAST


def stands_alone(sentence: str) -> bool:
    """Whether a sentence can be understood by somebody who reads nothing else of the conversation.

    It tells something with a name, a number or enough words, of nobody who is only `he` or `it`, and addresses nobody.
    """
    from memfolio.learn.words import pattern

    bare = sentence.strip()
    if len(bare.split()) < FEWEST_WORDS or len(terms(bare, limit=LEAST, weak=False)) < LEAST:
        return False
    if any(pattern(name).search(bare) for name in ("addressed", "leans")):
        return False
    # A pronoun is understood behind a name or a noun of the same sentence.
    stand_in = pattern("stand_in").search(bare)
    return stand_in is None or pattern("noun_before").search(bare[: stand_in.start()]) is not None


@lru_cache(maxsize=4096)
def keys(text: str) -> frozenset[str]:
    """Return the stems of a text's content words."""
    return frozenset(map(key_of, terms(text, limit=MANY)))


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
