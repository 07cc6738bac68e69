"""The results of recall, and the reasons for them; long memories are shortened to the relevant sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memfolio.recall.dates import pattern, words
from memfolio.text import FUNCTION_WORDS, estimate_tokens, sentence_pattern, sentences
from memfolio.types import EMPTY, MemoryItem, frozen

# A long memory shortened to the sentences that a question is about. Pure.

GAP = " … "
LONG = 100_000
"""Characters that are looked at; of a longer text, the beginning."""
USEFUL, BEFORE, BEHIND = 12, 3, 8
"""How many sentences with words are tried, and how many around the best."""
_SENTENCE = sentence_pattern("", r"[^\S\n]*+\n*+")
_ENDING = re.compile(r"(?:ing|ies|ed|es|s|e|y)$")
_DOUBLE = re.compile(r"(\w)\1$")
_STOP = re.compile(r"\s+|(?<=[\u2e80-\ud7ff\uf900-\uffef])")
"""Where a text may be cut: between words, or after a character of a script without spaces."""


def above(heading: Sequence[str]) -> str:
    """Return the headings over a passage, as shown in front of it."""
    return f"{' › '.join(heading)}: " if heading else ""


def snippet(content: str, words: Iterable[str], tokens: int, heading: Sequence[str] = ()) -> str:
    """At most `tokens` of a text: whole if it fits, else the sentences that have most of `words`, with their company.

    `words` are as `text.terms` gives them. What is left out shows as `…`; no word is cut. `heading` is put in front
    where there is room for it.
    """
    lead = above(heading)
    if lead and 2 * estimate_tokens(lead) <= tokens:
        return lead + snippet(content, words, tokens - estimate_tokens(lead))
    content = content.strip()
    if len(content) <= LONG and estimate_tokens(content) <= tokens:
        return content
    sentences = _SENTENCE.findall(content[:LONG])
    found = [set(_found(words, sentence)) for sentence in sentences]
    kept: set[int] = set()
    for nth in _by_use([len({key for _, key in each}) for each in found]):
        if estimate_tokens(_joined(sentences, kept | {nth})) <= tokens:
            kept.add(nth)
        elif not kept:
            return _around(sentences[nth], min((at for at, _ in found[nth]), default=0), tokens)
    return _joined(sentences, kept)


def _found(words: Iterable[str], text: str) -> Iterator[tuple[int, str]]:
    """Yield positions of words in a text, in any inflection."""
    keys = frozenset(map(stem, words))
    for match in _pattern(keys).finditer(text) if keys else ():
        if (key := match[0].casefold()) in keys or (key := stem(key)) in keys:
            yield match.start(), key


@lru_cache(maxsize=64)
def _pattern(keys: frozenset[str]) -> re.Pattern[str]:
    parts = (re.escape(key) if _STOP.search(key) else rf"\b{re.escape(key)}\w*" for key in sorted(keys, key=len))
    return re.compile("|".join(parts), re.IGNORECASE)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word without its ending, roughly as the search compares words; characters of unspaced scripts side by side."""
    word = word.casefold().replace(" ", "")
    return _DOUBLE.sub(r"\1", _ENDING.sub("", word) if len(word) > 4 else word)


def _by_use(counts: Sequence[int]) -> list[int]:
    """Sentences in the order of their use: those with most words, and then the ones around the best."""
    best = counts.index(max(counts)) if counts else 0
    nearby = range(max(0, best - BEFORE), min(len(counts), best + BEHIND))
    useful = sorted((nth for nth, count in enumerate(counts) if count), key=lambda nth: (-counts[nth], nth))
    return list(dict.fromkeys([*useful[:USEFUL], *sorted(nearby, key=lambda nth: (abs(nth - best), -nth))]))


def _joined(sentences: Sequence[str], kept: Collection[int]) -> str:
    """The kept sentences in their order, with a mark for each gap."""
    parts: list[str] = []
    last = -1
    for nth in sorted(kept):
        parts += [GAP] if nth > last + 1 else []
        parts.append(sentences[nth] if nth + 1 in kept else sentences[nth].rstrip())
        last = nth
    parts += [GAP] if last + 1 < len(sentences) else []
    return "".join(parts).strip()


def _around(sentence: str, at: int, tokens: int) -> str:
    """A piece of one long sentence, from shortly before the word at `at`."""
    stop = _STOP.search(sentence, at - tokens, at) if at > tokens else None
    start = stop.end() if stop else at if at > tokens else 0
    # A token has at most four characters.
    window = sentence[start : start + 4 * tokens].rstrip()
    stops = [match.start() for match in _STOP.finditer(window) if match.start()]
    fitting = bisect_right(stops, tokens, key=lambda end: estimate_tokens(_piece(sentence, start, start + end)))
    return _piece(sentence, start, start + stops[fitting - 1]) if fitting else ""


def _piece(sentence: str, start: int, end: int) -> str:
    before, after = "… " if start else "", " …" if end < len(sentence.rstrip()) else ""
    return f"{before}{sentence[start:end].strip()}{after}"


# What recall finds, and why.

MARKS = ("?", "？")
WRITTEN = ("N-", "P-")
"""With which the ids of parts of notes and pages begin: a question in them is left open, and was asked of nobody."""
PEOPLE = ("user", "human")
"""The roles of whoever talks with an assistant."""
SHORT = 15
"""Words up to which a question is no more than one."""
MOST_ASKED = 500
"""Characters of a text from which on it is read as telling something."""
UNMARKED, ENDS = 100, (".", "!", "…", ":")
"""Characters up to which somebody may have left a question mark out, and how texts end that lack none."""
NAMES = 2
"""Words up to which a text may only name something, in a script with spaces."""
KEPT = 4096
SNIPPET = 80
"""Tokens."""


def is_short_question(text: str) -> bool:
    return asks(text) and len(text.split(maxsplit=SHORT)) <= SHORT


def asks(text: str) -> bool:
    """Whether a text ends in a question mark, or is one short sentence that begins like a question."""
    text = text.rstrip()
    return text.endswith(MARKS) or (len(text) <= UNMARKED and text[-1:] not in ENDS and _asks(text.lower()))


@lru_cache(KEPT)
def states_nothing(text: str) -> bool:
    """Whether all sentences of a text, which are short, only ask for something."""
    if len(text) > MOST_ASKED:
        return False
    said = map(str.lower, sentences(pattern("greeting").sub(" ", text)))
    asking = (_is_asking(part) for part in said if not words("polite").issuperset(re.findall(r"\w+", part)))
    if not (next(asking, False) and all(asking)):
        return False
    from memfolio.learn.learned import Turn
    from memfolio.learn.rules import learn

    return not learn([Turn(content=text)]).statements


def _is_asking(sentence: str) -> bool:
    first, comma, _ = sentence.partition(",")
    # "Grandma is 88 now, what would she like?" tells something before it asks.
    opening = first if comma and len(first.split()) > NAMES else sentence
    is_request = pattern("asked_for").match(opening) is not None
    is_question = asks(sentence) and (opening is sentence or _asks(opening))
    is_short = len(sentence.split(maxsplit=SHORT)) <= SHORT
    return (is_request or is_question) and is_short and pattern("told_by_the_way").search(sentence) is None


def names_something(text: str) -> bool:
    """Whether a text is no more than a few words to search for, which state nothing."""
    said = text.split(maxsplit=NAMES)
    is_plain = len(said) <= NAMES and all(map(str.isalpha, said)) and max(text, default="") < "\u2e80"
    return is_plain and FUNCTION_WORDS.isdisjoint(text.lower().split())


@lru_cache(KEPT)
def _asks(text: str) -> bool:
    return pattern("asked").match(text.replace("’", "'")) is not None


class Reason(NamedTuple):
    """One way in which a memory was found: by which strategy, as which in its list, with which score there."""

    strategy: str
    rank: int
    score: float


@frozen
class Hit:
    """A found memory: its score, the number of hops, the reasons, and its place."""

    memory: MemoryItem
    score: float
    why: tuple[Reason, ...]
    path: str
    depth: int = 0
    heading: tuple[str, ...] = ()
    """The headings above it, if it is a passage of a page."""
    words: tuple[str, ...] = ()
    """The words that were searched."""
    replaced: tuple[str, ...] = ()
    """The ids of the versions that it replaced, the newest first."""
    replaces: tuple[str, ...] = ()
    """The ids of earlier statements about the same matter that this one replaces."""
    fit: float = 1.0
    """How well it answers the question, from 0 to 1: about the share of such hits that do, in answers and homes of any
    size; 1 where nothing was asked."""
    phase: str = "active"
    """How far it has faded: active, fading, dormant or archived."""
    agent: str = ""
    """The agent whose memory it is."""

    @property
    def is_newer(self) -> bool:
        """Whether it was put first as the newer word on a matter, even where it may replace nothing."""
        return bool(self.replaces) or any(reason.strategy == "newer" for reason in self.why)

    @property
    def only_asks(self) -> bool:
        """Whether it only asks the question and answers nothing."""
        return any(reason.strategy == "echo" for reason in self.why)

    @property
    def has_words(self) -> bool:
        """Whether it has a word of the question itself, and was not found by meaning or company alone."""
        return any(reason.strategy == "words" for reason in self.why)

    @property
    def is_question(self) -> bool:
        """Whether it only has short questions, or words to search for, which tell nothing."""
        memory = self.memory
        if memory.id.startswith(WRITTEN):
            return False
        return states_nothing(memory.content) or (bool(memory.role) and names_something(memory.content))

    @property
    def is_prompt_only(self) -> bool:
        """Whether it is a question to an assistant, which may have been answered elsewhere."""
        return (self.memory.role or "").casefold() in PEOPLE and self.is_question

    @property
    def snippet(self) -> str:
        """A few sentences of it about the question."""
        return snippet(self.memory.content, self.words, SNIPPET)


class Hits(list[Hit]):
    """The hits, best first; `fits` says whether any of them is likely to answer the question, `degraded` what could not
    take part, `took_ms` how long it took, `intent` what kind of question it was taken for, `filters` which filters were
    taken from its text."""

    def __init__(
        self,
        hits: list[Hit],
        *,
        fits: bool = True,
        degraded: tuple[str, ...] = (),
        took_ms: float = 0,
        intent: str = "general",
        filters: Mapping[str, object] = EMPTY,
    ) -> None:
        super().__init__(hits)
        self.fits = fits
        self.filters = filters
        self.degraded = degraded
        self.took_ms = took_ms
        self.intent = intent
