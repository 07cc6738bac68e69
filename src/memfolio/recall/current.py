"""What holds now: which thing that was said takes the place of another one that is about the same matter. Pure.

Being newer says nothing by itself. What was said later replaces something where it says that this changed or ended, or
says the same with another value, and where it is about the same: it covers the question as well, shares words or
meaning, and is not somebody else's. The more is remembered, the more has to speak for it.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from memfolio.recall.hit import stem
from memfolio.text import sentences, terms

KEPT = 4096
READ = 1200
"""Characters of a text that are read."""
SHORT = 200
"""Characters up to which a text is read as a whole, and not sentence by sentence."""
MOST_SENTENCES = 12
BEST = 6
"""Among how many of the best something is looked for that the best of them replaces."""
FITTING = 0.65
FEW = 0.45
"""The size of a memory with fifteen turns."""
FEW_WORDS = 20
"""Words up to which all of a text is about one thing."""
APART = 40
"""Characters between a word of change and a word of the question, in a longer text."""
MOST_WORDS = 20
"""Words of two texts that are compared place by place."""
SAME_WORDS = 2
"""Words in the same order from which on two texts are built alike."""
NEAR = 25
"""Characters between a value and the word of change that is about it."""

Span = tuple[int, int]
ALIKE = 0.2
SURE = 3.9
"""How much must speak for it that something was replaced, where that changes nothing but a note."""
AT_ONCE = 3_600_000_000
"""Microseconds within which things are said together."""
_SIGNS = ("changed", "ended", "fresh", "added", "asks", "third")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


class Said(NamedTuple):
    """Something that was said: its words, when, in an order without ties, and by whom.

    `fit` is how well it answers the question beside what does so best, `likeness` how near it is to that in meaning,
    and `meaning` how near it is to the question beside what is nearest.
    """

    text: str
    at: tuple[int, int]
    speaker: str
    fit: float = 1.0
    likeness: float = 0.0
    meaning: float = 0.0


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / "current.toml").read_text("utf-8"))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """A pattern by its name; one of several languages is any one of theirs."""
    given = _table()[name]
    parts = [given] if isinstance(given, str) else given.values()
    return re.compile("|".join("".join(map(str.strip, part.splitlines())) for part in parts))


@cache
def _weights() -> Mapping[str, float]:
    weights: dict[str, float] = _table()["weights"]
    return weights


def _plain(text: str) -> str:
    return text[:READ].lower().replace("’", "'")


# Questions: only one that asks for a single thing as it is now wants the newest; one about the past wants the older.


def asks_now(question: str) -> bool:
    """Whether a question asks for one thing as it is at present, so that what was said last answers it."""
    text = _plain(question)
    is_single = _pattern("asks_one").search(text) is not None and _pattern("asks_more").search(text) is None
    return is_single and not asks_before(question) and _pattern("asks_past").search(text) is None


def tells_several(passage: str) -> bool:
    """Whether a passage of a page tells of several things: then it is not a newer word on one of them."""
    lines = (line.strip() for line in passage.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#")) > 1


def asks_before(question: str) -> bool:
    """Whether a question asks for what was so before something changed."""
    return _pattern("asks_before").search(_plain(question)) is not None


def _wanted(question: str) -> str | None:
    """The family of values that a question asks for, if that is clear."""
    text = _plain(question)
    return next((family for family in ("number", "time", "name") if _pattern(f"wants_{family}").search(text)), None)


# Values: what may be another one the next time somebody speaks of the same.

_FAMILIES = {
    "email": "name", "name": "name", "code": "name", "number": "number", "money": "number", "percent": "number",
    "date": "time", "weekday": "time", "clock": "time",
}  # fmt: skip


class _Value(NamedTuple):
    kind: str
    value: str
    span: Span
    unit: str
    """The stem of the word behind a number."""

    def is_like(self, kind: str) -> bool:
        """Whether it may stand in the place of a value of this kind; a code may be a number or a name."""
        one, other = _FAMILIES[self.kind], _FAMILIES[kind]
        return one == other or ("code" in (self.kind, kind) and "time" not in (one, other))


class _Passage(NamedTuple):
    """A sentence, or a short text, as it is compared."""

    words: frozenset[str]
    values: tuple[_Value, ...]
    signs: Mapping[str, tuple[Span, ...]]
    """Where words stand that say that something changed, ended, is new, is added, or is only asked for."""
    owners: frozenset[str]
    """Whose matter it is, as far as a possessive and words for relatives tell."""
    subjects: frozenset[str]
    """Names with which its sentences begin, or words that look like one."""
    order: tuple[str, ...]
    """The stems of all words, in their order."""
    starts: tuple[int, ...]
    """Where these begin."""
    things: frozenset[str]
    """Those that may name a thing: no verbs, no words of change, and none that only hold a sentence together."""
    kinds_of: Mapping[str, frozenset[str]]
    """The words directly in front of each word, which tell one thing from another of its kind."""
    is_own: bool
    """Whether the speaker speaks of themselves."""

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(each.kind for each in self.values)

    @property
    def turns(self) -> tuple[Span, ...]:
        """Where it says that something is not as it was."""
        return (*self.signs["changed"], *self.signs["ended"], *self.signs["fresh"])


@lru_cache(KEPT)
def _read(text: str) -> _Passage:
    low = _plain(text)
    signs = {name: tuple(found.span() for found in _pattern(name).finditer(low)) for name in _SIGNS}
    return _Passage(
        words=frozenset(map(stem, terms(text, limit=200))),
        values=tuple(_values(text)),
        signs=signs,
        order=tuple(stem(word.removesuffix("'s")) for word in _WORD.findall(low)),
        starts=tuple(found.start() for found in _WORD.finditer(low)),
        things=_things(low, [*signs["changed"], *signs["ended"], *signs["fresh"]]),
        owners=frozenset(stem(found[found.lastindex or 0]) for found in _pattern("others").finditer(low))
        | _named(text, "whose"),
        subjects=_named(text, "who"),
        kinds_of=_modifiers(low),
        is_own=_pattern("own").search(low) is not None,
    )


def _named(text: str, part: str) -> frozenset[str]:
    names = (found[part].lower() for found in _pattern("named_owner").finditer(text[:READ]) if found[part])
    return frozenset(stem(name) for name in names if not _pattern("no_name").fullmatch(name))


def _things(low: str, signs: Sequence[Span]) -> frozenset[str]:
    words = ((found[0].removesuffix("'s"), found.start()) for found in _WORD.finditer(low))
    return frozenset(
        stem(word)
        for word, at in words
        if len(word) > 2
        and not _pattern("no_modifier").fullmatch(word)
        and not _pattern("no_thing").fullmatch(word)
        and not any(start <= at < end for start, end in signs)
    )


def _modifiers(low: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    words = _WORD.findall(low)
    for before, word in pairwise(words):
        # A bare article or preposition tells nothing, and a word of newness tells of a change.
        if len(word) > 2 and not any(map(_pattern("no_modifier").fullmatch, (before, word))):
            found.setdefault(stem(word), set()).add(stem(before.removesuffix("'s")))
    return {word: frozenset(some) for word, some in found.items()}


def _values(text: str) -> Iterable[_Value]:
    for found in _pattern("value").finditer(text):
        kind = found.lastgroup or "name"
        behind = _pattern("unit").match(text, found.end()) if kind in ("number", "code") else None
        value = found[0].casefold().replace(",", "").strip(". ")
        yield _Value(kind, value, found.span(), stem(behind[1]) if behind else "")


@lru_cache(KEPT)
def _passages(text: str) -> tuple[_Passage, ...]:
    text = text[:READ]
    if len(text) <= SHORT:
        return (_read(text),)
    return tuple(map(_read, sentences(text)[:MOST_SENTENCES])) or (_read(text),)


def _is_near(span: Span, others: Iterable[Span], most: int = NEAR) -> bool:
    return any(0 <= span[0] - end <= most or 0 <= start - span[1] <= most for start, end in others)


# Whether one replaces another.


class Matter:
    """What a question is about, for comparing what was said about it.

    `rarity` says how much each of its words tells, and `size` how much is remembered.
    """

    def __init__(self, question: str, rarity: Mapping[str, float], size: int) -> None:
        self._wanted = _wanted(question)
        self._named = frozenset(map(stem, _WORD.findall(_plain(question).replace("'s", ""))))
        self._is_for_several = _pattern("asks_several").search(_plain(question)) is not None
        self._rarity = {stem(word): weight for word, weight in rarity.items()}
        self._total = math.fsum(self._rarity.values()) or 1.0
        self._size = math.log(max(size, 1)) / math.log(400)
        """1 for a memory of some hundred turns."""

    def best(self, texts: Sequence[str]) -> int:
        """Which of these, best first, is about what is asked for; what is somebody else's has only its words."""
        read = [_read(text[:READ]) for text in texts[:BEST]]
        least = self._cover(read[0].words)
        own = (
            nth for nth, each in enumerate(read) if self._cover(each.words) >= least and not self._is_of_another(each)
        )
        return next(own, 0)

    def newest(self, said: Sequence[Said]) -> int | None:
        """Which one takes the place of the first, by its place; None where none does."""
        old = said[0]
        later = [nth for nth, each in enumerate(said) if each.speaker == old.speaker and each.at > old.at]
        later = [nth for nth in later if self._is_near(said[nth]) or max(said[nth].likeness, said[nth].meaning) > 0]
        scores = {nth: self.score(old, said[nth]) for nth in later}
        new = max(later, key=lambda nth: (scores[nth], said[nth].at), default=None)
        return None if new is None or scores[new] <= 0 else new

    def replaced(self, said: Sequence[Said], least: float = 0.0) -> int | None:
        """Which of the best the first takes the place of, the last said before it; `least` is how sure that must be."""
        new, best = said[0], range(1, min(len(said), BEST))
        older = [nth for nth in best if said[nth].speaker == new.speaker and said[nth].at < new.at]
        older = [nth for nth in older if not self._is_of_another(_read(said[nth].text[:READ]), _read(new.text[:READ]))]
        older = [nth for nth in older if self._is_near(said[nth])]
        found = [nth for nth in older if self.score(said[nth], new._replace(likeness=said[nth].likeness)) > least]
        return max(found, key=lambda nth: said[nth].at, default=None)

    def _is_near(self, said: Said) -> bool:
        """Whether it has a word of the question or is like the best: else it came by its company, and was never so."""
        return self._cover(_read(said.text[:READ]).words) > 0 or said.likeness >= ALIKE

    def _cover(self, words: Set[str]) -> float:
        return math.fsum(weight for word, weight in self._rarity.items() if word in words) / self._total

    def score(self, old: Said, new: Said) -> float:
        """How much speaks for it that the new one replaces the old one, as a logarithm of odds."""
        weights = _weights()
        # Who says two things in one breath means both, unless words say that one takes the place of the other.
        signs = _read(new.text[:READ]).signs
        if new.at[0] - old.at[0] < AT_ONCE and not (signs["changed"] or signs["ended"]):
            return -math.inf
        scores = (math.fsum(weights[name] * x for name, x in each.items()) for each in self.features(old, new))
        return max(scores, default=0.0)

    def features(self, old: Said, new: Said) -> list[dict[str, float]]:
        """What speaks for and against it that the new one replaces the old one, for each passage of the new one."""
        before, whole = _read(old.text[:READ]), _read(new.text[:READ])
        best = max(_passages(old.text), key=lambda each: (self._cover(each.words), len(each.values)))
        common = {
            "base": 1.0,
            "size": self._size,
            "like_old": max(0.0, new.likeness),
            "like_question": new.meaning,
            "cover": self._cover(whole.words),
            "other": float(self._is_of_another(whole, before)),
            "stranger": float(self._has_another_subject(before, whole)),
            "third": float(bool(whole.signs["third"]) and before.is_own and not whole.is_own),
            "several": float(
                (self._is_for_several and not whole.signs["changed"]) or self._are_both_asked_for(before, whole)
            ),
            # Of a few memories any may be meant; among many, what fits the question badly is about something else.
            "unfit": max(0.0, FITTING - new.fit) * max(0.0, self._size - FEW),
        }
        # To say the same again, however alike, replaces nothing.
        telling = [each for each in _passages(new.text) if each.turns or self._other_values(best, before, each)]
        return [common | self._evidence(best, before, each) for each in telling]

    def _are_both_asked_for(self, one: _Passage, other: _Passage) -> bool:
        """Whether the question has words of each alone, and nothing is said to have changed."""
        asked = self._rarity.keys()
        apart = (asked & one.words) - other.words and (asked & other.words) - one.words
        return bool(apart) and not other.turns

    def _evidence(self, old: _Passage, whole: _Passage, new: _Passage) -> dict[str, float]:
        """What a passage says about its being a newer word on what an older one says; `whole` is all of the old one."""
        values = self._other_values(old, whole, new)
        strong = (*new.signs["changed"], *new.signs["ended"])
        is_same_kind = any(each.kind in old.kinds for each in values)
        return {
            "changed": float(self._is_said_of_it(new, "changed")),
            "ended": float(self._is_said_of_it(new, "ended")),
            "added": float(bool(new.signs["added"]) and not new.signs["ended"]),
            # Who says that something became otherwise, and asks about that, has told it nevertheless.
            "asks": float(bool(new.signs["asks"]) and not any(_is_near(each.span, strong) for each in values)),
            "same_kind": float(is_same_kind),
            "no_value": float(self._wanted in ("number", "time") and not values and not new.signs["ended"]),
            "tied": float(any(_is_near(each.span, new.turns) for each in values)),
            "counted": float(any(each.unit in self._rarity for each in values if each.unit)),
            "rival": float(self._is_a_rival(old, new)),
            "slot": float(self._is_in_place_of_another(old, new)),
            "slight": float(len(new.words) < 3),
        }

    def _is_said_of_it(self, new: _Passage, sign: str) -> bool:
        """Whether a word of change stands near to a word of the question; in a short text it can mean nothing else."""
        if len(new.order) <= FEW_WORDS:
            return bool(new.signs[sign])
        asked = [(at, at) for word, at in zip(new.order, new.starts, strict=True) if word in self._rarity]
        return any(_is_near(span, asked, APART) for span in new.signs[sign])

    def _other_values(self, old: _Passage, whole: _Passage, new: _Passage) -> list[_Value]:
        """The values of a passage that may stand in the place of one in the old one, and are not in that."""
        known = {each.value for each in whole.values}
        found = [each for each in new.values if each.value not in known and not self._is_named(each, whole)]
        if self._wanted in ("number", "time"):
            return [each for each in found if _FAMILIES[each.kind] == self._wanted or each.kind == "code"]
        # What the question names is no value that could be another one.
        kinds = {each.kind for each in old.values if not self._is_named(each)}
        return [each for each in found if any(map(each.is_like, kinds))]

    def _is_named(self, value: _Value, old: _Passage | None = None) -> bool:
        """Whether all words of a name stand in the question, or in what was said before."""
        words = {stem(word) for word in _WORD.findall(value.value)}
        is_name = not _pattern("no_name").fullmatch(value.value)
        return value.kind == "name" and (not is_name or words <= self._named | (old.words if old else frozenset()))

    def _is_of_another(self, new: _Passage, old: _Passage | None = None) -> bool:
        """Whether it is somebody else's than what the question, and the old one, are about."""
        return bool(new.owners - self._named - (old.words | old.owners if old else frozenset()))

    def _has_another_subject(self, old: _Passage, new: _Passage) -> bool:
        """Whether somebody does it of whom neither speaks; asked for somebody, a new name may be the answer."""
        return self._wanted != "name" and bool(new.subjects - self._named - old.words)

    def _is_a_rival(self, old: _Passage, new: _Passage) -> bool:
        """Whether it is about another thing of the same kind: the staging server beside the production server."""
        for word in old.kinds_of.keys() & new.kinds_of.keys():
            ours, theirs = old.kinds_of[word], new.kinds_of[word]
            if not ours & theirs and not theirs & old.words and not theirs <= self._named:
                return True
        return False

    def _is_in_place_of_another(self, old: _Passage, new: _Passage) -> bool:
        """Whether something else stands where the old one has what was asked for: the invoice for Ada, and for Ben."""
        missing = (self._rarity.keys() & old.things) - new.words
        if not missing or len(old.order) > MOST_WORDS or len(new.order) > MOST_WORDS:
            return False
        others = new.things - old.words - self._named
        steps = SequenceMatcher(None, old.order, new.order, autojunk=False).get_opcodes()
        if sum(end - start for step, start, end, _, _ in steps if step == "equal") < SAME_WORDS:
            return False
        return any(
            not missing.isdisjoint(old.order[start:end]) and not others.isdisjoint(new.order[begin:stop])
            for step, start, end, begin, stop in steps
            if step == "replace"
        )
