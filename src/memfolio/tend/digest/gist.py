"""The gist of a day: what it was about, what was decided and learned, and its best sentences. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import NamedTuple

from memfolio.index.days import PATTERN, Told
from memfolio.tend.extract import extract, key_of, shortened
from memfolio.text import terms
from memfolio.types import Type

FORM = "1"
"""Goes up with every change of what a gist is, so that those of before are made again."""
MOST = 2000
"""Memories of a day that are read, the most important."""
SECTIONS = (Type.DECISION, Type.OUTCOME, Type.LESSON, Type.ERROR, Type.TASK)
WEIGHTY = frozenset({Type.DECISION, Type.OUTCOME, Type.LESSON, Type.ERROR, Type.CORRECTION})
TERMS, THEMES, LINES, HIGHLIGHTS = 8, 30, 5, 5
LINE_TOKENS, HIGHLIGHT_TOKENS = 40, 200
TAG, NAME, WORD = 1, 2, 3
LONGEST = 80
"""Characters of a theme's name."""
_CHATTER = frozenset(
    """about actually after again already also always another anything back because been before best better cool could
    course days definitely doing done down even ever every everything feel feeling fine first found getting give glad
    going gone good great guess haven't hello help here hope idea i'll i'm it's just keep kind know last later least
    like little long look looking lots love made make making many maybe mean might more most much must need never next
    nice not nothing now okay once only other over part people pretty probably put quite ready really right said same
    saying says see seems sense should since something soon sorry sounds start still stuff sure take talk tell thank
    thanks that's them then there they thing things think thinking though through time times today together told
    tomorrow tonight took tried try trying until use used using wait want wanted way week weeks well went what's while
    without won't wonderful work working would yeah year years yes yesterday yet you're""".split()
)
"""What people say whatever they talk about."""


class Line(NamedTuple):
    """Something worth repeating, the memory that says it, and how much it counts."""

    id: str
    text: str
    weight: float = 1.0


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
    episodes = [each for each in found if each.source != PATTERN]
    told = {kind.value: [each for each in episodes if each.type is kind] for kind in SECTIONS}
    told[PATTERN] = [each for each in found if each.source == PATTERN]
    return Gist(
        day=day,
        memories=count,
        sessions=tuple(sorted({each.session for each in episodes if each.session})),
        themes=themes_of(episodes),
        told={name: _lines(each) for name, each in told.items() if each},
        highlights=highlights_of(episodes),
    )


def _lines(found: Sequence[Told]) -> tuple[Line, ...]:
    best = sorted(found, key=lambda each: -each.importance)[:LINES]
    return tuple(Line(each.id, shortened(each.content, LINE_TOKENS), each.importance) for each in best)


def highlights_of(episodes: Sequence[Told]) -> tuple[Line, ...]:
    """The sentences that say most of what a day's memories say; what matters more counts more."""
    weights = [_weight(each) for each in episodes]
    chosen = extract([each.content for each in episodes], limit=HIGHLIGHTS, tokens=HIGHLIGHT_TOKENS, weights=weights)
    return tuple(Line(episodes[at].id, shortened(words, LINE_TOKENS), round(weights[at], 3)) for at, words in chosen)


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
    for term in terms(memory.content, limit=TERMS):
        word = term.replace(" ", "")
        # A phrase of ASCII words is the same identifier again, in its parts.
        is_telling = len(term) > 2 and not (" " in term and term.isascii()) and not word.isdecimal()
        if is_telling and word.casefold() not in _CHATTER:
            yield key_of(word), (WORD, word)
    yield from ((key_of(name), (NAME, name[:LONGEST])) for name in memory.names)
    yield from ((key_of(tag), (TAG, tag[:LONGEST])) for tag in memory.tags)
