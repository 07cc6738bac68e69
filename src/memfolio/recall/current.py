"""What holds now: which thing that was said takes the place of another one that is about the same matter. Pure.

Being newer says nothing by itself. What was said later replaces something where it says that this changed or ended, or
says the same with another value, and where it is about the same: it covers the question as well, shares words or
meaning, and is not somebody else's. The more is remembered, the more has to speak for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import dropwhile, pairwise, takewhile
from operator import mul
from typing import Any, NamedTuple

from memfolio.recall.hit import stem
from memfolio.text import packaged_table, sentences, terms

KEPT = 4096
FEW_QUESTIONS = 64
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
STATEMENT = 140
"""Characters up to which a text is a plain statement, whose successor is looked for among all later ones."""
ALL = 3
"""From how many shared words on more of them tell nothing more."""
FRAMED = 0.6
"""The share of equal words from which on two statements are the same with another value."""
LEAD = 0.3
"""The most that a statement's lead over the next best one counts."""
NEAR = 25
"""Characters between a value and the word of change that is about it."""

Span = tuple[int, int]
ALIKE = 0.2
SURE = 2.0
"""How much must speak for it that something was replaced, where that changes nothing but a note."""
SAID_SO = 0.65
"""How much must speak for it that a statement takes the place of another before that is said."""
TINY = 1e-9
"""More than rounding changes in a sum."""
AT_ONCE = 3_600_000_000
"""Microseconds within which things are said together."""
_OUTSIDE = ("base", "size", "like_old", "like_question", "unfit")
"""The features that do not depend on the texts."""
_ENDINGS = ("changed", "ended")
"""The features that say by themselves that something is no longer so."""
_DETERMINERS = frozenset("the a an my our der die das mein meine unser unsere".split())
_PART = re.compile(r"[^\W_]+")
_POSSESSED = re.compile(r"(\w+)(?:'s|(?<=s)') (\w+)")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


class Said(NamedTuple):
    """Something that was said: its words, when, in an order without ties, and by whom.

    `fit` is how well it answers the question beside what does so best, `likeness` how near it is to that in meaning,
    `meaning` how near it is to the question beside what is nearest, and `near` how near it is by itself.
    """

    text: str
    at: tuple[int, int]
    speaker: str
    fit: float = 1.0
    likeness: float = 0.0
    meaning: float = 0.0
    near: float = 0.0


class Successor(NamedTuple):
    """What takes the place of another: its place, and whether that is sure, or only likelier than not."""

    nth: int
    is_sure: bool


@cache
def _table() -> dict[str, Any]:
    return packaged_table("recall/data/current.toml")


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


@cache
def _outside_weights() -> tuple[float, ...]:
    return tuple(_weights()[name] for name in _OUTSIDE)


@cache
def _most_inside(*absent: str) -> float:
    """The highest possible sum of the features that depend on the texts, without some."""
    given = (*_OUTSIDE, *absent)
    return math.fsum(weight for name, weight in _weights().items() if weight > 0 and name not in given)


def _plain(text: str) -> str:
    return text[:READ].lower().replace("’", "'")


# Questions: only one that asks for a single thing as it is now wants the newest; one about the past wants the older.


@lru_cache(FEW_QUESTIONS)
def asks_now(question: str) -> bool:
    """Whether a question asks for one thing as it is at present, so that what was said last answers it."""
    text = _plain(question)
    is_one = _pattern("asks_one").search(text) or _pattern("asks_shortly").search(text)
    is_single = is_one is not None and _pattern("asks_more").search(text) is None
    return is_single and not asks_before(question) and _pattern("asks_past").search(text) is None


def tells_several(passage: str) -> bool:
    """Whether a passage of a page tells of several things: then it is not a newer word on one of them."""
    lines = (line.strip() for line in passage.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#")) > 1


@lru_cache(FEW_QUESTIONS)
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
    "date": "time", "weekday": "time", "clock": "time", "pace": "number", "share": "number",
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


class _Signs(dict[str, tuple[Span, ...]]):
    """The places of the words for each sign (changed, ended, fresh, added, asks, third), searched on first access."""

    def __init__(self, low: str) -> None:
        self._low = low

    def __missing__(self, name: str) -> tuple[Span, ...]:
        found = self[name] = tuple(found.span() for found in _pattern(name).finditer(self._low))
        return found


class _Passage:
    """A sentence or short text to compare. Each part is computed on first access: most comparisons need few of them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.low = _plain(text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(map(stem, terms(self._text, limit=200)))

    @cached_property
    def telling(self) -> frozenset[str]:
        """Those that say what it is about."""
        return frozenset(word for word in self.words if not word.isdigit() and not _is_empty(word))

    @cached_property
    def values(self) -> tuple[_Value, ...]:
        return tuple(_values(self._text))

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(each.kind for each in self.values)

    @cached_property
    def signs(self) -> _Signs:
        return _Signs(self.low)

    @cached_property
    def turns(self) -> tuple[Span, ...]:
        """Where it says that something is not as it was."""
        return (*self.signs["changed"], *self.signs["ended"], *self.signs["fresh"])

    @cached_property
    def owners(self) -> frozenset[str]:
        """Whose matter it is, as far as a possessive and words for relatives tell."""
        found = frozenset(stem(found[found.lastindex or 0]) for found in _pattern("others").finditer(self.low))
        return found | _named(self._text, "whose")

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Names with which its sentences begin, or words that look like one."""
        return _named(self._text, "who")

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of the names in it."""
        return frozenset(_words_of(each for each in self.values if each.kind == "name")) | self.subjects | self.owners

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The stems of all words, in their order."""
        return tuple(map(stem, self.bare))

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """All words, in their order, without possessives."""
        return tuple(word.removesuffix("'s") for word in _WORD.findall(self.low))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where these begin."""
        return tuple(found.start() for found in _WORD.finditer(self.low))

    @cached_property
    def things(self) -> frozenset[str]:
        """Those that may name a thing: no verbs, no words of change, and none that only hold a sentence together."""
        return _things(self.low, self.turns)

    @cached_property
    def kinds_of(self) -> Mapping[str, frozenset[str]]:
        """The words directly in front of each word, which tell one thing from another of its kind."""
        return _modifiers(self.low)

    @cached_property
    def is_own(self) -> bool:
        """Whether the speaker speaks of themselves."""
        return _pattern("own").search(self.low) is not None

    @cached_property
    def _short(self) -> str:
        """The text if it is short, else nothing: only short texts are compared by verbs, possessives and topics."""
        return self.low if len(self.order) <= FEW_WORDS else ""

    @cached_property
    def possessed(self) -> Mapping[str, str]:
        """The nouns after a possessive, by the word that has it."""
        return {stem(found[1]): stem(found[2]) for found in _POSSESSED.finditer(self._short) if _is_a_thing(found[2])}

    @cached_property
    def verbs(self) -> frozenset[str]:
        """Common verbs; synonyms share one name."""
        return frozenset(filter(None, map(_verb, _PART.findall(self._short))))

    @cached_property
    def is_of_many(self) -> bool:
        """Whether several such statements can hold at once: what somebody likes, has or did."""
        return _pattern("many").search(self._short) is not None


_read = lru_cache(KEPT)(_Passage)


def is_about_others(said: str, text: str, beside: str = "") -> bool:
    """Whether a statement and a text each begin with a name that the other lacks; `beside` says whose the text is."""
    one, other = _read(said[:READ]), _read(text[:READ])
    lacks = one.subjects.isdisjoint(other.words | _read(beside).words) and other.subjects.isdisjoint(one.words)
    return bool(one.subjects and other.subjects) and lacks


@lru_cache(KEPT)
def _verb(word: str) -> str:
    row = next((row for row, words in _table()["verbs"].items() if word in words.split()), "")
    return row or (stem(word) if _pattern("no_thing").fullmatch(word) else "")


def _named(text: str, part: str) -> frozenset[str]:
    names = (found[part].lower() for found in _pattern("named_owner").finditer(text[:READ]) if found[part])
    return frozenset(stem(name) for name in names if not _pattern("no_name").fullmatch(name))


def _things(low: str, signs: Sequence[Span]) -> frozenset[str]:
    words = ((found[0], found.start()) for found in _WORD.finditer(low))
    if signs:
        words = (each for each in words if not any(start <= each[1] < end for start, end in signs))
    return frozenset(filter(None, (_thing(word) for word, _ in words)))


@lru_cache(4 * KEPT)
def _is(name: str, word: str) -> bool:
    return _pattern(name).fullmatch(word) is not None


@lru_cache(4 * KEPT)
def _thing(word: str) -> str:
    """The stem of a word that may name a thing, else nothing."""
    word = word.removesuffix("'s")
    return stem(word) if len(word) > 2 and _is_a_thing(word) else ""


def _is_a_thing(word: str) -> bool:
    return not _is("no_modifier", word) and not _is("no_thing", word)


def _modifiers(low: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    words = _WORD.findall(low)
    for before, word in pairwise(words):
        # A bare article or preposition tells nothing, and a word of newness tells of a change.
        if len(word) > 2 and not _is("no_modifier", before) and not _is("no_modifier", word):
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


def _is_parted(low: str, one: Span, other: Span) -> bool:
    """Whether a sign of punctuation stands between two places of a text."""
    return _pattern("parting").search(low, min(one[1], other[1]), max(one[0], other[0])) is not None


@lru_cache(4 * KEPT)
def _is_empty(word: str) -> bool:
    return word in _common() or _is("no_modifier", word)


@cache
def _matters() -> Mapping[str, frozenset[str]]:
    """The matters of which there is one at a time, by the stems of their words."""
    found: dict[str, set[str]] = {}
    for matter, words in packaged_table("recall/data/matters.toml").items():
        for word in words.split():
            found.setdefault(stem(word), set()).add(matter)
    return {word: frozenset(matters) for word, matters in found.items()}


def _common_matters(one: Set[str], other: Set[str]) -> Set[str]:
    """The matters that two texts are about in different words."""
    ours, theirs = ({(matter, word) for word in words for matter in _matters().get(word, ())} for words in (one, other))
    both = {matter for matter, _ in ours} & {matter for matter, _ in theirs}
    return both & {matter for matter, _ in ours ^ theirs}


@cache
def _most_beyond(given: frozenset[str]) -> float:
    """The highest possible sum of what counts between two statements, without some."""
    return math.fsum(weight for name, weight in _table()["statements"].items() if weight > 0 and name not in given)


@cache
def _common() -> frozenset[str]:
    """Words for times and judgements, which say nothing of what happens then or is judged."""
    return frozenset(map(stem, _table()["common"].split()))


def _having(words: Set[str], asked: Iterable[str]) -> frozenset[str]:
    """Those that the words have, or, if they are few, have something derived from: bins, roofer, remortgage."""
    if len(words) > FEW_WORDS:
        return frozenset(filter(words.__contains__, asked))
    whole = "\n".join(("", *words))

    def has(word: str) -> bool:
        if word in words or len(word) < 3:
            return word in words
        start = word.rstrip("e")
        is_longer = len(start) > 3 and (f"\n{start}" in whole or f"\nre{start}" in whole)
        return is_longer or f"{word}s" in words or f"re{word}" in words

    return frozenset(filter(has, asked))


@lru_cache(KEPT)
def _steps(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[tuple[str, int, int, int, int], ...]:
    """What leads from the words of one statement to those of another: what is equal, replaced, added and left out."""
    return tuple(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def _common_subject(one: _Passage, other: _Passage) -> frozenset[str]:
    """The words with which two texts begin alike, up to a verb: of whom or of what both speak."""
    starts = (dropwhile(_DETERMINERS.__contains__, each.bare) for each in (one, other))
    alike = [word for word, then in takewhile(lambda pair: pair[0] == pair[1], zip(*starts, strict=False))]
    return one.words.intersection(map(stem, [*alike[:1], *takewhile(lambda word: not _verb(word), alike[1:])]))


def _has_same_place(one: _Passage, other: _Passage) -> bool:
    """Whether two texts with the same subject go on alike: is in, meets on."""
    pairs = set(pairwise(one.bare)).intersection(pairwise(other.bare))
    return any(_verb(word) and then not in _DETERMINERS for word, then in pairs)


def _words_of(values: Iterable[_Value]) -> set[str]:
    return {stem(word) for each in values for word in _WORD.findall(each.value)}


def _own_words(value: _Value) -> set[str]:
    """Those that make it this one: not what it counts, nor the month."""
    words = _words_of([value])
    return {word for word in words if word[0].isdigit()} or words


def is_statement(text: str) -> bool:
    """Whether a text is so short that it says one thing."""
    return len(text) <= STATEMENT


def states(text: str) -> bool:
    """Whether a text states something, and does not only name it; a longer one does."""
    if not is_statement(text):
        return True
    read = _read(text)
    is_said = any(read.signs[name] for name in ("states", "third", "event", "changed", "ended"))
    return is_said or bool(read.subjects or read.kinds - {"name"})


def _leads(values: Sequence[float]) -> list[float]:
    """By how much each of some values exceeds the best of the others; less than nothing where it does not."""
    first, second = [*sorted(values, reverse=True), 0.0, 0.0][:2]
    return [min(LEAD, value - (second if value == first else first)) for value in values]


# Whether one replaces another.


class Matter:
    """What a question is about, for comparing what was said about it.

    `rarity` says how much each of its words tells, and `size` how much is remembered.
    """

    def __init__(self, question: str, rarity: Mapping[str, float], size: int) -> None:
        self._wanted = _wanted(question)
        self._named = frozenset(map(stem, _WORD.findall(_plain(question).replace("'s", ""))))
        self._values = tuple(_values(f"{question} ."))
        self._verbal = frozenset(stem(word) for word in _WORD.findall(_plain(question)) if _verb(word))
        self._is_own = _pattern("own").search(_plain(question)) is not None
        self._is_for_several = _pattern("asks_several").search(_plain(question)) is not None
        self._is_for_rule = _pattern("rule").search(_plain(question)) is not None
        self._rarity = {stem(word): weight for word, weight in rarity.items()}
        asked = question.replace("'s", "")
        self._names = _words_of(each for each in _values(f"{asked} .") if each.kind == "name")
        self._asked = {word for word in self._rarity if not _is("no_modifier", word)} - self._names
        """What is asked for: the words of the question that are no names and do not only hold it together."""
        self._total = math.fsum(self._rarity.values()) or 1.0
        self._had: dict[_Passage, frozenset[str]] = {}
        self._size = math.log(max(size, 1)) / math.log(400)
        """1 for a memory of some hundred turns."""

    def best(self, texts: Sequence[str]) -> int:
        """Which of these, best first, is about what is asked for; what is somebody else's has only its words."""
        read = (_read(text[:READ]) for text in texts[:BEST])
        least = self._cover(_read(texts[0][:READ]))
        own = (nth for nth, each in enumerate(read) if self._cover(each) >= least and not self._is_of_another(each))
        return next(own, 0)

    def newest(self, said: Sequence[Said]) -> Successor | None:
        """Which one takes the place of the first; None where none does."""
        old = said[0]
        later = [nth for nth, each in enumerate(said) if each.speaker == old.speaker and each.at > old.at]
        plain = [nth for nth in later if is_statement(old.text) and is_statement(said[nth].text)]
        if plain and (found := self._successor(said, plain)):
            return found
        # What takes least time is asked first: to read the words of a text takes longest.
        later = [nth for nth in later if nth not in plain and self._may_replace(old, said[nth])]
        later = [nth for nth in later if self._is_one_matter(old, said[nth])]
        scores = {nth: self.score(old, said[nth]) for nth in later}
        new = max(later, key=lambda nth: (scores[nth], said[nth].at), default=None)
        return None if new is None or scores[new] <= 0 else Successor(new, is_sure=True)

    def _successor(self, said: Sequence[Said], later: Sequence[int]) -> Successor | None:
        """Which of some later plain statements takes the place of the first one, also a plain one.

        It counts how much nearer to the question and to the first it is than any other: how near two statements come
        that have nothing to do with each other is not the same in all homes.
        """
        leads = zip(
            *(_leads([getattr(said[nth], name) for nth in later]) for name in ("near", "likeness")), strict=True
        )
        scores = {nth: self._follows(said[0], said[nth], *lead) for nth, lead in zip(later, leads, strict=True)}
        new = max(scores, key=lambda nth: (scores[nth], said[nth].at), default=None)
        return None if new is None or scores[new] <= 0 else Successor(new, scores[new] > SAID_SO)

    def _follows(self, old: Said, new: Said, near_lead: float, like_lead: float) -> float:
        """How much speaks for it that a plain statement takes the place of another, as a logarithm of odds.

        Where what is soonest seen cannot bring it above nothing, the rest is not looked at.
        """
        weights = _table()["statements"]
        before, after = _read(old.text), _read(new.text)
        is_turn = bool(after.signs["changed"] or after.signs["ended"])
        if (new.at[0] - old.at[0] < AT_ONCE and not is_turn) or set(before.order).issuperset(after.order):
            return -math.inf
        found = self._closeness(old, new, near_lead, like_lead)
        if not self._is_one_matter(old, new):
            return -math.inf
        score = math.fsum(weights[name] * value for name, value in found.items())
        if score + _most_beyond(frozenset(found)) <= 0:
            return -math.inf
        return score + math.fsum(weights[name] * value for name, value in self._change(before, after).items())

    def _closeness(self, old: Said, new: Said, near_lead: float, like_lead: float) -> dict[str, float]:
        """What is soonest seen: how far two statements are about one matter."""
        before, after = _read(old.text), _read(new.text)
        shared = before.telling & after.telling
        names = shared & (before.names | after.names)
        return {
            "base": 1.0,
            "size": self._size,
            "like": new.likeness,
            "like_lead": like_lead,
            "near_lead": near_lead,
            "unfit": self._unfitness(new),
            "shared": math.sqrt(min(ALL, len(shared - names))),
            # Much is said of somebody that has nothing to do with each other.
            "shared_name": math.sqrt(min(ALL, len(names - self._named))),
            "matter": float(min(2, len(_common_matters(before.telling, after.telling)))),
        }

    def _change(self, old: _Passage, new: _Passage) -> dict[str, float]:
        """What a plain statement says of its being otherwise than an older one has it, or of another thing."""
        is_turn, is_named = bool(new.signs["changed"] or new.signs["ended"]), self._is_named_in(old, new)
        known, lacks = old.words | self._named, self._missing(old.words, new)
        aims = (stem(found[found.lastindex or 0]) for found in _pattern("purpose").finditer(new.low))
        others = self._other_values(old, old, new)
        values = self._about_values(old, new, others)
        is_measured = any(_FAMILIES[each.kind] != "name" for each in others)
        is_rule = self._is_for_rule or bool(old.signs["rule"])
        apart = {
            **self._differences(old, new, is_named=is_named),
            "other": bool(new.signs["kin"]) and new.owners.isdisjoint(known),
            "stranger": self._has_another_subject(old, new),
            "several": (self._is_for_several and not (is_turn or is_measured)) or self._are_both_asked_for(old, new),
            "part": not is_named and self._is_about_a_part(old, new, others),
            "many": old.is_of_many and new.is_of_many and not (is_turn or is_measured),
        }
        found = {
            **{name: float(bool(new.signs[name])) for name in ("changed", "ended", "turn", "gained")},
            "event": float(not is_turn and bool(new.signs["event"] or new.signs["fresh"])),
            "named": float(is_named),
            "value": float(not any(apart.values()) and self._is_same_with_another_value(old, new)),
            "same_kind": values["same_kind"],
        }
        return {
            **found,
            **{name: float(value) for name, value in apart.items()},
            "silent": float(not any(found.values())),
            "once": float(bool(new.signs["once"])),
            "states": float(bool(new.signs["states"])),
            "no_value": values["no_value"],
            "asks": values["asks"],
            "whose": float(self._is_of_another(new, old)),
            "lacking": len(lacks) / (len(self._rarity) or 1),
            "purpose": float(any(aim not in known for aim in aims)),
            "rule": float(is_rule and not new.signs["rule"]),
        }

    def _is_same_with_another_value(self, old: _Passage, new: _Passage) -> bool:
        """Whether it is the same statement with something else in one place, which the question does not name."""
        most = max(len(old.order), len(new.order))
        if most > MOST_WORDS or sum(map(old.order.__contains__, new.order)) < FRAMED * most:
            return False
        steps = _steps(old.order, new.order)
        equal = sum(end - start for step, start, end, _, _ in steps if step == "equal")
        if equal < FRAMED * most or all(step == "equal" for step, *_ in steps):
            return False
        is_other = bool(self._other_values(old, old, new)) or not old.is_of_many
        return is_other and not self._missing(old.words, new) - _words_of(old.values)

    def _differences(self, old: _Passage, new: _Passage, *, is_named: bool) -> dict[str, bool]:
        """By what a statement is seen to be about another thing than one before it, or to add to that."""
        words = new.words | set(new.order)
        names = self._names & set(old.order) - {"i"}
        times = {each.value: each.kind for each in self._values if each.kind in ("date", "weekday")}
        times = {value: kind for value, kind in times.items() if value in {each.value for each in old.values}}
        is_another_time = times.keys().isdisjoint(each.value for each in new.values)
        return {
            "added": bool(new.signs["added"]) and not new.signs["ended"],
            "tight": not is_named and self._is_another_of_its_kind(old, new),
            "rival": not is_named and self._is_a_rival(old, new, self._named),
            "elsewhen": is_another_time and not new.kinds.isdisjoint(times.values()),
            "somebody": self._is_somebody_elses(old, new),
            "nameless": bool(names) and names.isdisjoint(words) and not new.signs["pronoun"],
        }

    def _is_another_of_its_kind(self, old: _Passage, new: _Passage) -> bool:
        """Whether only another thing stands where the old one has what was asked for, and both go on alike."""
        missing = self._missing(set(old.order), new)
        if not missing or max(len(old.order), len(new.order)) > MOST_WORDS:
            return False
        others = new.things - set(old.order) - self._named
        steps = _steps(old.order, new.order)
        sizes = [end - start if step == "equal" else 0 for step, start, end, _, _ in steps]
        return any(
            (before >= SAME_WORDS and old.order[start] in missing and new.order[begin] in others)
            or (
                before + behind >= SAME_WORDS
                and max(end - start, stop - begin) <= SAME_WORDS
                and not missing.isdisjoint(old.order[start:end])
                and not others.isdisjoint(new.order[begin:stop])
            )
            for (step, start, end, begin, stop), before, behind in zip(
                steps, [0, *sizes], [*sizes[1:], 0], strict=False
            )
            if step == "replace"
        )

    def replaced(self, said: Sequence[Said], least: float = 0.0) -> Successor | None:
        """Which of the best the first takes the place of; `least` is how sure that must be for longer texts."""
        new, best = said[0], range(1, min(len(said), BEST))
        older = [nth for nth in best if said[nth].speaker == new.speaker and said[nth].at < new.at]
        plain = [nth for nth in older if is_statement(said[nth].text) and is_statement(new.text)]
        lead = _leads([each.near for each in said])[0]
        near = {nth: new._replace(likeness=said[nth].likeness) for nth in older}
        follows = {nth: self._follows(said[nth], near[nth], lead, 0.0) for nth in plain}
        old = max(follows, key=lambda nth: (follows[nth], said[nth].at), default=None)
        if old is not None and follows[old] > 0:
            return Successor(old, follows[old] > SAID_SO)
        older = [nth for nth in older if nth not in plain and self._may_replace(said[nth], near[nth], least)]
        older = [nth for nth in older if not self._is_of_another(_read(said[nth].text[:READ]), _read(new.text[:READ]))]
        older = [nth for nth in older if self._is_one_matter(said[nth], near[nth])]
        found = [nth for nth in older if self.score(said[nth], near[nth]) > least]
        old = max(found, key=lambda nth: said[nth].at, default=None)
        return None if old is None else Successor(old, is_sure=True)

    def _is_one_matter(self, old: Said, new: Said) -> bool:
        """Whether two texts are about the same: both have what is asked for, or share a thing or their meaning.

        A name or a subject alone makes no matter: much is said of somebody that has nothing to do with each other.
        """
        # "The budget is 18000, and the tiles come from Porto" is about two; the one that is asked for counts.
        before = max(map(_read, _pattern("clauses").split(old.text[:READ])), key=self._cover)
        after = _read(new.text[:READ])
        subject = _common_subject(before, after)
        asked = (self._asked - subject) & self._words_in(before) & self._words_in(after)
        if asked or self._is_named_in(before, after) or (subject and _has_same_place(before, after)):
            return True
        others = self._other_values(before, before, after)
        if self._wanted in ("number", "time") and not (others or after.signs["ended"]):
            return False
        names = self._names | before.names | after.names
        values = _words_of(each for each in (*before.values, *after.values) if _FAMILIES[each.kind] != "name")
        empty = subject | values
        if _common_matters(before.telling - empty, after.telling - empty):
            return True
        empty |= names | _common()
        # "The code was changed to 7730" says of the same nothing but another value.
        is_all = others and subject and not (subject & names or (before.things | after.things) - empty)
        if is_all or (before.things & after.things) - empty or self._is_same_with_another_value(before, after):
            return True
        # What is near in meaning, and not only because of a name or a unit, may say it in other words.
        return not (subject or (names | values) & before.words & after.words) and min(new.likeness, new.near) >= ALIKE

    def _words_in(self, passage: _Passage) -> frozenset[str]:
        """The words of the question that a passage has."""
        if passage not in self._had:
            self._had[passage] = _having(passage.words, self._rarity)
        return self._had[passage]

    def _missing(self, words: Set[str], new: _Passage) -> Set[str]:
        """The words of the question that are among some and that a passage lacks."""
        return (self._rarity.keys() & words) - self._words_in(new)

    def _cover(self, passage: _Passage) -> float:
        return math.fsum(map(self._rarity.__getitem__, self._words_in(passage))) / self._total

    def _may_replace(self, old: Said, new: Said, least: float = 0.0) -> bool:
        """Whether a score above `least` is possible; a bound of it often saves reading the text, which is slow."""
        given, fitting = self._given(new)
        if max(given + _most_inside("named"), fitting + _most_inside()) <= least:
            return False
        unsigned = max(given + _most_inside(*_ENDINGS, "named"), fitting + _most_inside(*_ENDINGS))
        # Who says two things in one breath means both, unless words say that one takes the place of the other.
        if new.at[0] - old.at[0] >= AT_ONCE and unsigned > 0:
            return True
        signs = _read(new.text[:READ]).signs
        return any(signs[name] for name in _ENDINGS)

    def score(self, old: Said, new: Said) -> float:
        """How much speaks for it that the new one replaces the old one, as a logarithm of odds; 0 at the least."""
        whole, weights = _read(new.text[:READ]), _weights()
        signs = [name for name in _ENDINGS if whole.signs[name]]
        # Without any, nothing can be said of a value that is named.
        absent = [name for name in _ENDINGS if name not in signs] + ([] if signs else ["named"])
        most = _most_inside("cover", *absent) + weights["cover"] * self._cover(whole)
        if self._given(new)[bool(signs)] + most <= -TINY:  # no more of the text can bring it there
            return 0.0
        scores = (math.fsum(weights[name] * x for name, x in each.items()) for each in self.features(old, new))
        return max(scores, default=0.0)

    def _given(self, new: Said) -> tuple[float, float]:
        """What the features outside the texts add up to, as it is and for a text that names the old value.

        There it does not count that it fits badly, see `features`.
        """
        weights, outside = _outside_weights(), self._outside(new)
        given = math.fsum(map(mul, weights, outside))
        return given, given - weights[-1] * outside[-1]

    def _outside(self, new: Said) -> tuple[float, ...]:
        """The values of the features that do not depend on the texts."""
        return 1.0, self._size, max(0.0, new.likeness), new.meaning, self._unfitness(new)

    def _unfitness(self, new: Said) -> float:
        """How badly it fits the question: among many, that is about something else; of a few, any may be meant."""
        return max(0.0, FITTING - new.fit) * max(0.0, self._size - FEW)

    def features(self, old: Said, new: Said) -> list[dict[str, float]]:
        """What speaks for and against it that the new one replaces the old one, for each passage of the new one."""
        before, whole = _read(old.text[:READ]), _read(new.text[:READ])
        best, *others = _passages(old.text)
        if others:
            best = max((best, *others), key=lambda each: (self._cover(each), len(each.values)))
        # To say the same again, however alike, replaces nothing.
        telling = [each for each in _passages(new.text) if each.turns or self._other_values(best, before, each)]
        if not telling:
            return []
        common = dict(zip(_OUTSIDE, self._outside(new), strict=True)) | {
            "cover": self._cover(whole),
            "other": float(self._is_of_another(whole, before)),
            "somebody": float(self._is_somebody_elses(before, whole)),
            "stranger": float(self._has_another_subject(before, whole)),
            "third": float(bool(whole.signs["third"]) and before.is_own and not whole.is_own),
            "several": float(
                (self._is_for_several and not whole.signs["changed"]) or self._are_both_asked_for(before, whole)
            ),
        }
        found = [common | self._evidence(best, before, each) for each in telling]
        # A text that names the old value need not share words with the question.
        return [each | {"unfit": 0.0} if each["named"] else each for each in found]

    def _are_both_asked_for(self, one: _Passage, other: _Passage) -> bool:
        """Whether the question has words of each alone, and nothing is said to have changed."""
        asked = self._rarity.keys()
        apart = (asked & one.words) - other.words and (asked & other.words) - one.words
        return bool(apart) and not other.turns

    def _evidence(self, old: _Passage, whole: _Passage, new: _Passage) -> dict[str, float]:
        """What a passage says about its being a newer word on what an older one says; `whole` is all of the old one."""
        values = self._other_values(old, whole, new)
        is_named = self._is_named_in(old, new)
        return {
            **self._about_values(old, new, values),
            "changed": float(self._is_said_of_it(new, "changed")),
            "ended": float(self._is_said_of_it(new, "ended")),
            "added": float(bool(new.signs["added"]) and not new.signs["ended"]),
            "tied": float(any(_is_near(each.span, new.turns) for each in values)),
            "counted": float(any(each.unit in self._rarity for each in values if each.unit)),
            "rival": float(not is_named and self._is_a_rival(old, new)),
            "slight": float(len(new.words) < 3),
            "apart": float(not (self._cover(new) or old.things & new.things)),
            "part": float(not is_named and self._is_about_a_part(old, new, values)),
            "named": float(is_named),
        }

    def _about_values(self, old: _Passage, new: _Passage, values: Sequence[_Value]) -> dict[str, float]:
        """The part of the evidence that is about the `values` that may stand in the place of an old one."""
        strong = (*new.signs["changed"], *new.signs["ended"])
        kinds = old.kinds | ({"name"} if old.subjects else set())
        return {
            # Who says that something became otherwise, and asks about that, has told it nevertheless.
            "asks": float(bool(new.signs["asks"]) and not any(_is_near(each.span, strong) for each in values)),
            "same_kind": float(any(each.kind in kinds for each in values)),
            "no_value": float(self._wanted in ("number", "time") and not values and not new.signs["ended"]),
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
            return [each for each in found if _FAMILIES[each.kind] == self._wanted or each.kind in ("code", "pace")]
        # What the question names is no value that could be another one.
        kinds = {each.kind for each in old.values if not self._is_named(each)}
        kinds |= {"name"} if self._wanted == "name" and old.subjects - self._named else set()
        return [each for each in found if any(map(each.is_like, kinds))]

    def _is_about_a_part(self, old: _Passage, new: _Passage, values: Sequence[_Value]) -> bool:
        """Whether it is only about something that belongs to what was asked for: the thesis supervisor."""
        asked = self._rarity.keys() & old.things
        theirs = {new.possessed[word] for word in new.possessed.keys() & asked - old.possessed.keys()}
        if theirs - old.words - self._named:
            return True
        if values:
            return False
        places = zip(pairwise(new.order), pairwise(new.starts), strict=True)
        behind = {
            word: then
            for (word, then), (start, end) in places
            if word in asked and not _pattern("parting").search(new.low, start, end)
        }
        others = new.things - old.words - self._named - _common()
        return bool(behind) and all(then in others and then not in new.verbs for then in behind.values())

    def _is_named(self, value: _Value, old: _Passage | None = None) -> bool:
        """Whether all words of a name stand in the question, or in what was said before."""
        words = _words_of([value])
        is_name = not _pattern("no_name").fullmatch(value.value)
        return value.kind == "name" and (not is_name or words <= self._named | (old.words if old else frozenset()))

    def _is_of_another(self, new: _Passage, old: _Passage | None = None) -> bool:
        """Whether it is somebody else's than what the question, and the old one, are about."""
        return bool(new.owners - self._named - (old.words | old.owners if old else frozenset()))

    def _is_somebody_elses(self, old: _Passage, new: _Passage) -> bool:
        """Whether somebody with a name does it, where the speaker asks and told about themselves."""
        return self._is_own and old.is_own and not new.is_own and self._has_another_subject(old, new)

    def _has_another_subject(self, old: _Passage, new: _Passage) -> bool:
        """Whether somebody does it of whom neither speaks; asked for somebody, a new name may be the answer."""
        return self._wanted != "name" and bool(new.subjects - self._named - old.words)

    def _is_a_rival(self, old: _Passage, new: _Passage, asked: Set[str] | None = None) -> bool:
        """Whether it is about another thing of the same kind: the staging server beside the production server.

        With words that were `asked` for, only if one of these tells the old thing from others.
        """
        for word in old.kinds_of.keys() & new.kinds_of.keys():
            ours, theirs = old.kinds_of[word], new.kinds_of[word]
            if (
                not ours & theirs
                and (asked is None or ours & asked)
                and not theirs & old.words
                and not theirs <= self._named
            ):
                return True
        return False

    def _is_named_in(self, old: _Passage, new: _Passage) -> bool:
        """Whether a short text says that the value in the old one ended or was replaced: "sold the Golf"."""
        if max(len(old.order), len(new.order)) > FEW_WORDS:
            return False
        told = {word for each in old.values if not self._is_named(each) for word in _own_words(each)} - self._named
        if self._wanted == "name":
            told |= old.subjects - self._named
        elif self._wanted:  # the subject of both is no amount or time
            told -= _common_subject(old, new)
        spans = [(at, at + len(word)) for word, at in zip(new.order, new.starts, strict=True) if word in told]
        # "Spain instead of Wales" does not answer where the cottage in Wales is.
        missing = self._missing(old.things, new)
        signs = new.signs["ended"] if missing - self._verbal else (*new.signs["ended"], *new.signs["changed"])
        # "sold the Golf" and "the Golf is off", but not "it is off, and Nell came".
        return any(_is_near(span, [sign]) and not _is_parted(new.low, span, sign) for span in spans for sign in signs)
