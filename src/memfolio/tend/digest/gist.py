"""The gist of a day: what it was about, what was decided and learned, and its best sentences. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from memfolio.index.days import CONCLUDED, Told
from memfolio.sources import LEARNED, PATTERN
from memfolio.tend.extract import extract, is_secret, key_of, sentences_of, shortened
from memfolio.text import terms
from memfolio.types import Type

FORM = "2"
"""Goes up with every change of what a gist is, so that those of before are made again."""
MOST = 2000
"""Memories of a day that are read, the most important."""
SECTIONS = (Type.DECISION, Type.OUTCOME, Type.LESSON, Type.ERROR, Type.TASK)
WEIGHTY = frozenset({Type.DECISION, Type.OUTCOME, Type.LESSON, Type.ERROR, Type.CORRECTION})
TERMS, THEMES, LINES, HIGHLIGHTS = 8, 30, 5, 5
LINE_TOKENS, HIGHLIGHT_TOKENS = 40, 200
SOURCES = 2
"""Memories that a line names beside the one that was concluded from them."""
TAG, NAME, WORD = 1, 2, 3
LONGEST = 80
"""Characters of a theme's name."""
_CHATTER = frozenset(
    """about after again amazing another anyone anything around away back because before being best better big bit
    coming course day days doing down else every everyone everything excited feeling first getting glad going good
    happy haven't having hello help here i'll i'm idea it's kind last later least little long looking lots making
    many month months more most next nothing now off okay once other out over part people place pretty proud ready
    right same saying sense since something soon stuff sure taking that's them there they thing things thinking
    though through time times today together tomorrow tonight trying until using wait way week weeks well what's
    while without wonderful working yeah year years yes yesterday you're""".split()
)
"""What people say whatever they talk about."""
_NOUN = re.compile(r"\b(?:the|an?|my|our|your|his|her|their|this|these|of|for|new|next) (\w+)", re.IGNORECASE)
"""What is no verb here, though it may be one elsewhere: `the release`."""


class Line(NamedTuple):
    """Something worth repeating, the memories that say it, and how much it counts."""

    ids: Sequence[str]
    text: str
    weight: float = 1.0
    speaker: str = ""

    def __str__(self) -> str:
        return f"{self.speaker and f'{self.speaker}: '}{self.text} ({', '.join(self.ids)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gist:
    """What a day comes down to."""

    day: date
    memories: int
    sessions: tuple[str, ...] = ()
    themes: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)
    """What it was about: by a key the name, the number of memories, and what it is (`TAG`, `NAME` or `WORD`)."""
    told: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    """Decisions, outcomes, lessons, errors, tasks and patterns, by their type."""
    highlights: tuple[Line, ...] = ()

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "day": self.day.isoformat()}, separators=(",", ":"))

    @classmethod
    def from_json(cls, data: str) -> Gist:
        fields = json.loads(data)
        return cls(
            day=date.fromisoformat(fields["day"]),
            memories=fields["memories"],
            sessions=tuple(fields["sessions"]),
            themes={key: (name, count, rank) for key, (name, count, rank) in fields["themes"].items()},
            told={name: tuple(Line(*line) for line in lines) for name, lines in fields["told"].items()},
            highlights=tuple(Line(*line) for line in fields["highlights"]),
        )


def gist_of(day: date, found: Sequence[Told], count: int) -> Gist:
    """The gist of a day of `count` memories, of which these were read."""
    safe = [each for each in found if (each.type in SECTIONS or each.source == PATTERN) and not is_secret(each.content)]
    told = {kind.value: [each for each in safe if each.type is kind and each.source != PATTERN] for kind in SECTIONS}
    told[PATTERN] = [each for each in safe if each.source == PATTERN]
    episodes = [each for each in found if each.source not in CONCLUDED]
    return Gist(
        day=day,
        memories=count,
        sessions=tuple(sorted({each.session for each in episodes if each.session})),
        themes=themes_of(episodes),
        told={name: _lines(each) for name, each in told.items() if each},
        highlights=highlights_of(unconcluded(episodes, safe)),
    )


def _lines(found: Sequence[Told]) -> tuple[Line, ...]:
    best = sorted(found, key=lambda each: -each.importance)[:LINES]
    return tuple(line_of(each, each.content, each.importance) for each in best)


def line_of(memory: Told, words: str, weight: float = 1.0) -> Line:
    """Words of a memory as a line that says who said them and where they stand."""
    return Line(cited(memory), shortened(words, LINE_TOKENS), round(weight, 3), memory.speaker)


def cited(memory: Told) -> tuple[str, ...]:
    """The ids that a line about a memory names: what was concluded names its sources too."""
    return (memory.id, *memory.sources[:SOURCES]) if memory.source == LEARNED else (memory.id,)


def unconcluded(episodes: Iterable[Told], found: Iterable[Told]) -> list[Told]:
    """Those from which nothing that is told anyway was concluded: they would say it once more."""
    sources = {source for each in found if each.source == LEARNED for source in each.sources}
    return [each for each in episodes if each.id not in sources]


def highlights_of(episodes: Sequence[Told]) -> tuple[Line, ...]:
    """The sentences that say most of what a day's memories say; what matters more counts more."""
    weights = [_weight(each) for each in episodes]
    chosen = extract([each.content for each in episodes], limit=HIGHLIGHTS, tokens=HIGHLIGHT_TOKENS, weights=weights)
    return tuple(line_of(episodes[at], words, weights[at]) for at, words in chosen)


def _weight(memory: Told) -> float:
    return (0.5 + memory.importance) * (1.5 if memory.type in WEIGHTY else 1.0)


def themes_of(episodes: Sequence[Told]) -> dict[str, tuple[str, int, int]]:
    """What memories are about: their tags, what they mention, and the words that tell most."""
    counts: Counter[str] = Counter()
    names: dict[str, tuple[int, str]] = {}
    for memory in episodes:
        found = dict(_themes(memory))
        counts.update(found.keys())
        for key, named in found.items():
            names[key] = min(names.get(key, named), named)
    best = sorted(counts, key=lambda key: (-counts[key] * (1 + WORD - names[key][0]), key))[:THEMES]
    return {key: (names[key][1], counts[key], names[key][0]) for key in best}


def _themes(memory: Told) -> Iterator[tuple[str, tuple[int, str]]]:
    """Each theme by its key, with its name and how little that is to be preferred; a dictionary keeps the last."""
    text = " ".join(sentences_of(memory.content))
    nouns = {word.casefold() for word in _NOUN.findall(text)}
    for term in terms(text, limit=TERMS):
        word = term.replace(" ", "")
        # A phrase of ASCII words is the same identifier again, in its parts.
        is_telling = len(term) > 2 and not (" " in term and term.isascii()) and not word.isdecimal()
        if is_telling and not _is_chatter(word) and (word.casefold() in nouns or not _is_verb(word)):
            yield key_of(word), (WORD, word)
    yield from ((key_of(name), (NAME, name[:LONGEST])) for name in memory.names)
    yield from ((key_of(tag), (TAG, tag[:LONGEST])) for tag in memory.tags)


@lru_cache(maxsize=4096)
def _is_chatter(word: str) -> bool:
    from memfolio.learn.junk import is_small_talk
    from memfolio.learn.verbs import ADVERBS, AUXILIARIES

    low = word.casefold()
    return low in _CHATTER or low in ADVERBS or low in AUXILIARIES or is_small_talk(low)


def _is_verb(word: str) -> bool:
    """Whether a word may be what somebody does or did; what ends with `-ing` is as often what they do it for."""
    from memfolio.learn.verbs import lemma_of

    low = word.casefold()
    return lemma_of(low) != "" and not low.endswith("ing")
