"""Whether two sentences contradict each other: by a denial, by opposite words, or by two values of the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import StrEnum
from functools import cache, lru_cache
from itertools import chain, pairwise, product
from typing import Any, NamedTuple

from memfolio.learn.words import LEXICON, is_past, lemma_of, third, verb_forms
from memfolio.learn.words import words as listed

LONGEST = 300
"""Characters in which one thing is said."""
_TOKEN = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d|[$€£]?\d[\d,]*(?:\.\d+)?(?:st|nd|rd|th)?%?|[^\W\d_]+(?:-[^\W\d_]+)*")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_NAME = re.compile(r"(?<![.\w])(?!I\b)[A-ZÀ-Þ][a-zà-ÿ]+")
_CLAUSES = re.compile(r"(?:, (?:and|so|but|because|since)|,|;| because| so) ")
MOST_LEFT = 3
"""How many words more one of two sentences may have."""
_MAY = re.compile(r"(?<=\d )may\b|(?<=\d[snrt][tdh] )may\b|(?<= in )may\b|(?<= of )may\b|\bmay(?= \d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DASHED = re.compile(r"(?<=\w)-(?=(?:year|month|week|day|hour|minute|mile|person|bedroom|storey)s?\b)")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_OWNED = re.compile(r"(?<=\w)(?:'s|s') (\w+)")
_ENDED = re.compile(r"(?<=\w{4})(?:e?s|e?d|ing|e|ly)$")
_INVERTED = re.compile(
    r"[A-ZÀ-Þ][\w.-]*(?: [A-ZÀ-Þ][\w.-]*)* (?:is|was|are|were) (?:where|what|who|the|my|our|his|her|their)\b"
)
_ONE = re.compile(r"\bone(?:'s)?\b")
_PARTIAL = re.compile(
    r"(?i)(?:some|most|many|several|a few|few)\b"
    r"|(?:half|part|one|two|three|four|five|\d+|a couple|a number) (?:of )?(?:the|my|our|us|them)\b"
)
_HOURS = re.compile(r"\b(\w+) hours?\b")
FILES = ("opposites", "idioms", "opposites.de", "opposites.zh")
_CONTRACTIONS = (
    ("won't ", "will not "), ("can't ", "can not "), ("cannot ", "can not "), ("shan't ", "shall not "),
    ("n't ", " not "), ("'m ", " am "), ("'re ", " are "), ("'ve ", " have "), ("it's ", "it is "),
    ("that's ", "that is "), (", ", " , "),
)  # fmt: skip
_MINE_OR_YOURS = {"my": "my", "our": "my", "your": "your"}
_PERSONS = frozenset(("i", "we", "he", "she", "they", "it"))
_POSSESSIVES = frozenset(("my", "your", "his", "her", "our", "their", "its"))
_ARTICLES = frozenset(("a", "an", "the", "no", "my", "our", "your", "his", "its", "their"))
_OBJECTS = frozenset(("me", "you", "him", "her", "us", "them", "it", "myself", "i"))
_APOSTROPHES = str.maketrans("’‘`", "'''")


Side = tuple[int, int]
"""The row of opposites that a word is in, and its side."""
Key = str | int | Side
"""By what two words are taken for the same: a stem, a row of synonyms, or a side of opposites."""


class Opposition(StrEnum):
    """How two sentences contradict each other."""

    NEGATION = "negation"
    OPPOSITE = "opposite"
    VALUES = "values"


class _Single(NamedTuple):
    """What an attribute that has one value is told by."""

    is_class: bool
    """Whether only values of one class exclude each other: an oak, a beech."""
    frame: frozenset[str]
    value: frozenset[str]


class _Sentence(NamedTuple):
    """A parsed clause: its subject, what it says about it, and whether it denies it."""

    words: tuple[str, ...]
    """The content words, normalized, in order."""
    subject: frozenset[str]
    """Those in front of the verb."""
    names: frozenset[str]
    """The words that are written as names."""
    values: Mapping[str, frozenset[str]]
    """Numbers and dates, by their kinds."""
    is_denied: bool
    adds: bool
    """Whether it adds to what was said, or sets a condition."""
    bounds: frozenset[str]
    """Whether it tells the least or the most that something may be."""
    is_open: bool
    """Whether it is hypothetical; other parts of it need not be."""
    is_past: bool
    tenses: tuple[str, ...]
    """What its verb is, and whether it is told of the past; of verbs that tell how something is."""
    has_pronoun: bool
    """Whether its subject is a pronoun: it, they, we."""
    speaker: str
    """I, we, my or our, if the sentence begins with it."""
    verb: str
    """The lemma of its first verb, other than do."""
    first: str
    """The pronoun that it begins with, else all of it."""
    is_of_me: bool
    is_person: bool
    compares: bool
    """Whether it says that one is more than another: older than, reports to."""
    heads: frozenset[str]
    """The words in front of `of`: the smell of lilies."""
    owned: frozenset[str]
    """What belongs to somebody: the words after `Ida's`."""
    is_inverted: bool
    """Whether what it tells stands in front: Antwerp is where we met."""
    ordinals: frozenset[str]
    """Which ones of several are meant."""
    is_clock: bool
    """Whether it tells the time of a day: at nine."""
    counted: frozenset[str]
    """What there is a number of."""
    is_partial: bool
    """Whether it is about some of many: some of the guests, two of the tests."""
    whose: frozenset[str]
    keys: frozenset[Key]
    """All by which its words are recognised."""
    sides: frozenset[Side]
    against: frozenset[Side]
    """The sides of opposites that its words are on, and those opposed to them."""
    adjoining: frozenset[tuple[str, str]]
    """Words with those that stand directly behind them."""
    single: tuple[_Single, ...]


def contradict(one: str, other: str) -> Opposition | None:
    """Return how two sentences contradict each other; None if both can be true, or nothing shows it."""
    ours, theirs = (_readings(each[:LONGEST]) for each in (one, other))
    if ours == theirs or ours[0].adds or theirs[0].adds or ours[0].bounds != theirs[0].bounds:
        return None
    found = (_opposed(a, b) for a in ours for b in theirs)
    return next(filter(None, found), None)


@lru_cache(maxsize=8192)
def _readings(text: str) -> tuple[_Sentence, ...]:
    """Return a sentence, those of its parts that could stand alone, and what these imply."""
    parts = (part for part in _CLAUSES.split(text) if part != text and len(part.split()) > 2)
    said = [text, *(part for part in parts if not part.startswith(("not ", "no ")))]
    plain = [_plain(each.translate(_APOSTROPHES).strip(" .!?;")).strip() for each in said]
    implied = [found.expand(told) for each in plain for given, told in _implied() if (found := given.search(each))]
    names = {token.lower() for token in _NAME.findall(text)}
    read = [_read(each) for each in said]
    told = (_read(" ".join(w.capitalize() if w in names else w for w in each.split())) for each in implied)
    return *read, *(each._replace(tenses=()) for each in told)


def _opposed(a: _Sentence, b: _Sentence) -> Opposition | None:
    if a.is_open or b.is_open or a.is_past != b.is_past:
        return None
    if a.tenses and b.tenses and a.tenses[0] == b.tenses[0] and a.tenses != b.tenses:
        return None  # what was so may be so no more
    if not (a.is_denied or b.is_denied) and (_is_of_other_value(a, b) or _is_of_other_name(a, b)):
        return Opposition.VALUES
    if _are_of_different_people(a, b) or (a.is_partial and b.is_partial):
        return None
    if a.compares and b.compares and a.is_denied == b.is_denied and (swapped := _is_swapped(a, b)) is not None:
        return Opposition.OPPOSITE if swapped else None
    opposed = _opposites(a, b)
    if opposed and (a.is_denied or b.is_denied or not _is_one_matter(a, b, opposed)):
        return None  # the old one is slow, the new one fast; what is not cheap is expensive
    said = {word for pair in opposed or _things_of_kind(a, b) for word in pair}
    rest = _rest(a, b, said, bool(opposed))
    if rest is None:
        return None
    if opposed:
        return Opposition.OPPOSITE if _is_of_same(a, b, opposed, rest) else None
    if a.is_denied != b.is_denied:
        return Opposition.NEGATION if _denies(a, b, rest) else None
    return _by_values(a, b, rest)


class _Rest(NamedTuple):
    """What tells apart two sentences besides what may be opposed in them."""

    ours: Set[str]
    theirs: Set[str]
    """The words that have no counterpart in the other sentence, but for those that say little."""
    kinds: Sequence[str]
    """Of what kind the values are that differ."""
    is_ours_dated: bool
    is_theirs_dated: bool
    """Whether one has values of a kind that the other has not."""


def _rest(a: _Sentence, b: _Sentence, said: Set[str], is_opposed: bool) -> _Rest | None:
    """Return what else differs; None if that shows that they are about two matters."""
    ours, theirs = _left(a, b, said), _left(b, a, said)
    for one, other, its in ((a, b, ours), (b, a, theirs)):
        if _is_another(its, one, other) or _is_part_of_name(other, one, its):
            return None
    if is_opposed and all(_is_headed_alone(one, other, said) for one, other in ((a, b), (b, a))):
        return None  # the smell of lilies, the look of lilies
    if (is_opposed or a.is_denied != b.is_denied) and a.ordinals != b.ordinals:
        return None
    both = a.values.keys() & b.values.keys()
    kinds = [kind for kind in both if a.values[kind] != b.values[kind]]
    are_both_of_kind = bool(said) and not is_opposed
    has_shared = a.first == b.first or len(kinds) < len(both) or bool(set(a.words) - said - ours)
    ours, theirs = set(filter(_tells, ours)), set(filter(_tells, theirs))
    if not (has_shared or are_both_of_kind) or len(ours | theirs) > MOST_LEFT:
        return None
    return _Rest(ours, theirs, kinds, bool(a.values.keys() - both), bool(b.values.keys() - both))


def _is_headed_alone(one: _Sentence, other: _Sentence, said: Set[str]) -> bool:
    return any(_keys(head).isdisjoint(other.keys) for head in one.heads - said)


def _things_of_kind(a: _Sentence, b: _Sentence) -> list[tuple[str, str]]:
    """Return what one sentence denies with what the other has of that kind: no pets, but a cat."""
    if a.is_denied == b.is_denied:
        return []
    denied, affirmed = (a, b) if a.is_denied else (b, a)
    return [(x, y) for x in denied.words for y in affirmed.words if x in _kinds().get(y, ())]


def _is_of_same(a: _Sentence, b: _Sentence, opposed: Sequence[tuple[str, str]], rest: _Rest) -> bool:
    """Whether opposites are said of the same; it may be another part of it that is loved there and hated here."""
    said = {word for pair in opposed for word in pair}
    if rest.kinds or _is_of_another(a, said, rest.ours) or _is_of_another(b, said, rest.theirs):
        return False
    if (rest.ours or rest.is_ours_dated) and (rest.theirs or rest.is_theirs_dated):
        return False
    is_of_me = a.is_of_me or b.is_of_me
    if is_of_me or not (rest.ours or rest.theirs) or not all(_are_only_felt(x, y) for x, y in opposed):
        return True
    # Who is happy may be worried about something.
    return not {word for word in a.words if not _keys(word).isdisjoint(b.keys)} <= a.subject


def _denies(a: _Sentence, b: _Sentence, rest: _Rest) -> bool:
    """Whether one sentence denies all of the other: who has no coffee after four may have some before."""
    if not a.is_denied:
        return _denies(b, a, _Rest(rest.theirs, rest.ours, rest.kinds, rest.is_theirs_dated, rest.is_ours_dated))
    # Who teaches children may have none.
    is_done = b.verb in rest.theirs and b.verb not in _words("having") and a.verb in ("be", "have")
    return not (rest.kinds or rest.ours or rest.is_ours_dated or is_done)


def _opposites(a: _Sentence, b: _Sentence) -> list[tuple[str, str]]:
    """Return the words of which one says the opposite of the other, and neither is said in both."""
    if a.against.isdisjoint(b.sides) and (
        _prefixed(a.words).isdisjoint(b.words) and _prefixed(b.words).isdisjoint(a.words)
    ):
        return []
    # What is said in both has its counterpart: a new one is experienced, a new one is a beginner.
    ours, theirs = set(a.words) - set(b.words), set(b.words) - set(a.words)
    keys_of_ours, keys_of_theirs = (frozenset().union(*map(_keys, some)) for some in (ours, theirs))
    ours = {x for x in ours if _keys(x).isdisjoint(keys_of_theirs)}
    theirs = {y for y in theirs if _keys(y).isdisjoint(keys_of_ours)}
    return [(x, y) for x in ours for y in theirs if _are_opposite(x, y)]


def _is_one_matter(a: _Sentence, b: _Sentence, opposed: Sequence[tuple[str, str]]) -> bool:
    """Whether all opposites are of one thing that is told of one subject."""
    ours, theirs = ({pair[n] for pair in opposed} for n in (0, 1))
    if len(opposed) < len(ours) * len(theirs) or any(x in a.subject and y in b.subject for x, y in opposed):
        return False
    if any(("for", x) in a.adjoining and ("for", y) in b.adjoining for x, y in opposed):
        return False
    sides = ((ours, a.words, b.keys), (theirs, b.words, a.keys))
    return not any(
        _are_opposite(x, y) for some, words, keys in sides for x in some for y in words if _keys(y).isdisjoint(keys)
    )


def _is_of_other_value(a: _Sentence, b: _Sentence) -> bool:
    return any(_differ(one, other) for one in a.single for other in b.single)


def _is_of_other_name(a: _Sentence, b: _Sentence) -> bool:
    """Whether all that differs is a name, told of what there is one of: held in Ghent, Antwerp is where it is held."""
    if not (a.names and b.names) or (a.keys | b.keys).isdisjoint(_words("single")):
        return False
    if any(a.values[kind] != b.values[kind] for kind in a.values.keys() & b.values.keys()):
        return False
    for one, other in ((a, b), (b, a)):
        left = set(filter(_tells, _left(one, other, set())))
        at = [nth for nth, word in enumerate(one.words) if word in left]
        is_one_name = left and left <= one.names and at[-1] - at[0] < len(at)
        if not is_one_name or (left & one.subject and not one.is_inverted):
            return False
    # Ida lives with Ben, and on Oak Street.
    ours, theirs = (
        {x for x, y in each.adjoining if y in each.names and x in ("with", "from", "to", "for")} for each in (a, b)
    )
    return ours == theirs or a.is_inverted or b.is_inverted


def _by_values(a: _Sentence, b: _Sentence, rest: _Rest) -> Opposition | None:
    """With two values they may be about two matters: what was so in one year, and in another."""
    kinds, left = rest.kinds, rest.ours | rest.theirs
    is_date = set(kinds) <= {"weekday", "month", "day", "year"}
    if not kinds or (len(kinds) > 1 and not is_date) or a.is_denied or (rest.ours and rest.theirs):
        return None
    several = [(a.values[kind], b.values[kind]) for kind in kinds]
    if any(len(one) > 1 or len(other) > 1 for one, other in several):
        # From nine to five, from eight to six; but of two years both are true.
        are_others = all(len(one) == len(other) and one.isdisjoint(other) for one, other in several)
        if left or not are_others or any(_YEAR.fullmatch(each) for one, other in several for each in one | other):
            return None
    if _measure_others(a, b) or (bool(a.counted) != bool(b.counted) and not left.isdisjoint(a.counted | b.counted)):
        return None  # is thirty, has two children
    if {"weekday", "day"} <= set(kinds) and "month" not in a.values:
        return None  # at four on Fridays, at six on Mondays
    if kinds == ["weekday"] and (a.is_person or b.is_person):
        return None  # somebody may do the same on several days
    return Opposition.VALUES


def _measure_others(a: _Sentence, b: _Sentence) -> bool:
    """Whether two numbers measure different things: takes two hours, costs two euros, leaves at two."""
    ours, theirs = ({_units()[each] for each in one.counted if each in _units()} for one in (a, b))
    if ours and theirs:
        return ours.isdisjoint(theirs)
    return bool((ours and b.is_clock) or (theirs and a.is_clock))


def _left(one: _Sentence, other: _Sentence, said: Set[str]) -> set[str]:
    """Return the words of one that have no counterpart in the other; a pronoun there may mean the subject here."""
    left = {word for word in one.words if word not in said and _keys(word).isdisjoint(other.keys)}
    left -= {word for word in left if any(_number(word) in some for some in other.values.values())}
    is_meant = other.has_pronoun and one.speaker != "my" and one.subject.isdisjoint(_people())
    return left - one.subject if is_meant else left


def _are_only_felt(one: str, other: str) -> bool:
    """Whether two words are opposite as feelings for something, and in no other way."""
    rows = {row for row, _ in _sides_of(one)} & {row for row, _ in _sides_of(other)}
    return all(row >= _first_of_feelings() for row in rows)


def _is_of_another(one: _Sentence, said: Set[str], left: Set[str]) -> bool:
    """Whether an opposed word is told of what only this sentence names: a white collar, the summary of."""
    felt = said & _felt()
    return any(
        (x in said and y in left and (_is_noun(y) or (x in felt and lemma_of(y))))
        or (x in left & one.subject and y == "of")
        for x, y in one.adjoining
    )


def _are_of_different_people(a: _Sentence, b: _Sentence) -> bool:
    if a.whose and b.whose and a.whose != b.whose:
        return True  # my flight, your flight
    return bool(a.names - set(b.words) and b.names - set(a.words))


def _is_part_of_name(one: _Sentence, other: _Sentence, left: Set[str]) -> bool:
    """Whether a word of one only tells what kind of thing is meant in the other: a garden, a garden gnome."""
    object_ = set(one.words[-1:]) - one.subject
    subject = set([word for word in one.words if word in one.subject][-1:])
    return any(
        (x in object_ or (x in subject and y in other.subject)) and y in left and _tells(y) and _is_noun(y)
        for x, y in other.adjoining
    )


def _is_noun(word: str) -> bool:
    is_known = lemma_of(word) or word in _sides() or word in _words("adverbs")
    return not (is_known or word.endswith("ly") or _is_value(word))


def _is_another(left: Set[str], one: _Sentence, other: _Sentence) -> bool:
    """Whether a word in one sentence alone tells that it is about something else: my wife's, the second, Room 4."""
    of_subject = left if one.compares else left & one.subject
    of_same = one.owned & {word for word in one.words if one.words.count(word) > 1}  # my boss's boss
    if of_same or of_subject & (one.names | one.owned) or not left.isdisjoint(_words("others")):
        return True
    if any(map(_is_value, of_subject)):
        return True
    is_mine = one.speaker in ("my", "our") and other.speaker in ("i", "we")
    is_whose = not of_subject.isdisjoint(_people()) and (other.subject or other.speaker)
    return bool(
        (is_mine and of_subject)
        or is_whose
        or (other.values and any(_is_value(each) or each in _words("when") for each in left))
    )


def _is_swapped(a: _Sentence, b: _Sentence) -> bool | None:
    """Whether two have each other's place in what cannot be turned round; None if they compare others.

    Ada is older than Ben, Ben is older than Ada; but Ben is younger than Ada says the same again.
    """
    if len(a.words) != len(b.words):
        return None
    moved = {x: y for x, y in zip(a.words, b.words, strict=True) if x != y and not _are_opposite(x, y)}
    if len(moved) != 2 or any(moved.get(y) != x for x, y in moved.items()):
        return None
    return sorted(a.words) == sorted(b.words)


@lru_cache(maxsize=16_384)
def _keys(word: str) -> frozenset[Key]:
    """By what a word is taken for another: deliver and delivery are of one stem, sofa and couch of one row."""
    stems = _stems(word)
    return stems.union(_sides_of(word), *(_synonyms().get(stem, ()) for stem in stems))


def _stems(word: str) -> frozenset[Key]:
    stems = {word.rstrip("ey"), *(word[: -len(end)] for end in _words("endings_of_words") if word.endswith(end))}
    return frozenset({word, *(stem for stem in stems if len(stem) > 3)})


@lru_cache(maxsize=16_384)
def _tells(word: str) -> bool:
    """Whether a word tells what is meant; `rather`, `find` and `thing` do not."""
    return word not in _light() and (not word.endswith("ly") or bool(_sides_of(word)) or word in _words("adverbs"))


def has_denial(text: str) -> bool:
    """Whether a text says of anything that it is not so, or not any more."""
    said = _tokens(_plain(text.translate(_APOSTROPHES)))
    return not (_words("denials") | _words("endings")).isdisjoint(said)


def without_values(text: str) -> str:
    """A text without its numbers, days and months; empty where it has none."""
    tokens = _TOKEN.findall(text)
    kept = [token for token in tokens if not _is_value(token.lower())]
    return " ".join(kept) if len(kept) < len(tokens) else ""


def _are_opposite(one: str, other: str) -> bool:
    ours, theirs = _sides_of(one), _sides_of(other)
    if not ours.isdisjoint(theirs):
        return False
    if any(row == its and side != that for row, side in ours for its, that in theirs):
        return True
    return other in _prefixed((one,)) or one in _prefixed((other,))


@lru_cache(maxsize=16_384)
def _prefixed(words: tuple[str, ...]) -> frozenset[str]:
    """Words that deny these: unripe, disloyal."""
    return frozenset(f"{prefix}{word}" for word in words if len(word) > 3 for prefix in _words("prefixes"))


@lru_cache(maxsize=16_384)
def _sides_of(word: str) -> frozenset[Side]:
    stem = _ENDED.sub("", word) if word not in _light() else word
    return _sides().get(word, frozenset()) | _sides().get(stem, frozenset())


def _differ(one: _Single, other: _Single) -> bool:
    """Whether an attribute has two values; if one only says more than the other, both may be true."""
    ours, theirs = one.value - other.value, other.value - one.value
    if not one.frame or one[:2] != other[:2] or not ours or not theirs or any(map(_is_value, one.value & other.value)):
        return False
    if not one.is_class:
        # In Rome in May, in Oslo in June.
        return not all(any(map(_is_date, some)) and not all(map(_is_value, some)) for some in (ours, theirs))
    found = [_classes().get(word, frozenset()) for word in (*ours, *theirs)]
    return len(found) == 2 and not found[0].isdisjoint(found[1])


@lru_cache(maxsize=16_384)
def _read(text: str) -> _Sentence:
    text = text.translate(_APOSTROPHES).strip(" .!?;")
    said = _tokens(_plain(text))
    tokens = [_same().get(token, token) for token in said]
    denials = sum(token in _words("denials") for token in tokens)
    # A value in front of the verb tells of what something is said: Python 3.12 is supported.
    start = next((at for at in range(1, len(tokens)) if _is_verb(tokens, at)), 0)
    is_dated = bool(tokens) and (tokens[0] in ("on", "at", "in") or tokens[0].removesuffix("s") in _words("weekdays"))
    values = _values(tokens if is_dated else tokens[start:])
    aside = _words("fillers") | _words("denials") | _words("past") | _words("present")
    # A language is called Go.
    aside -= {name.lower() for name in _NAME.findall(text.partition(" ")[2])} & _words("fillers")
    telling = [
        (at, token)
        for at, token in enumerate(tokens)
        if token not in aside and ((at < start and not is_dated) or not _is_value(token))
    ]
    names = {token.lower() for token in _NAME.findall(text)}
    words = tuple(_lemma(token) for _, token in telling)
    sides = frozenset(side for word in words for side in _sides_of(word))
    return _Sentence(
        words=words,
        subject=frozenset(_lemma(token) for at, token in telling if at < start),
        names=frozenset(_lemma(token) for _, token in telling if token in names and not _is_value(token)),
        values=values,
        is_denied=denials % 2 == 1,
        tenses=_tenses(said),
        verb=next((verb for verb in map(lemma_of, tokens[start:]) if verb not in ("", "do")), ""),
        is_person=bool(tokens) and (tokens[0] in ("i", "we", "he", "she", "they") or _acts(tokens, start, names)),
        compares=not _words("one_way").isdisjoint(said),
        owned=frozenset(_lemma(_same().get(word, word)) for word in _OWNED.findall(text.lower())),
        is_inverted=_INVERTED.match(text) is not None,
        is_partial=_PARTIAL.match(text) is not None,
        first=tokens[0] if tokens and tokens[0] in _PERSONS else text,
        keys=frozenset(key for word in words for key in _keys(word)),
        sides=sides,
        against=frozenset(each for side in sides for each in _opposed_sides()[side]),
        single=tuple(_single(text)),
        **_grammar(tokens),
    )


def _grammar(tokens: Sequence[str]) -> dict[str, Any]:
    """What is known of a sentence by its tokens alone."""
    telling = [_lemma(token) for token in tokens if token not in _words("determiners")]
    is_in_year = not _words("months").isdisjoint(tokens)
    return {
        "adds": not _words("adding").isdisjoint(tokens) or tokens[-1:] == ["too"],
        "bounds": _words("bounds").intersection(tokens),
        "is_open": not _words("open").isdisjoint(tokens),
        "is_past": not _words("past").isdisjoint(tokens),
        "has_pronoun": any(
            one in _words("pronouns") and (one not in ("this", "that") or two in _words("verbs"))
            for one, two in pairwise([*tokens[tokens[:1] == ["her"] :], ""])
        ),
        "speaker": tokens[0] if tokens and tokens[0] in ("i", "we", "my", "our") else "",
        "is_of_me": not {"i", "me", "we", "us"}.isdisjoint(tokens),
        "whose": frozenset(_MINE_OR_YOURS[token] for token in tokens if token in _MINE_OR_YOURS),
        "heads": frozenset(_lemma(one) for one, two in pairwise(tokens) if two == "of"),
        "is_clock": any(one in ("at", "by", "until") and _is_value(two) for one, two in pairwise(tokens)),
        "ordinals": frozenset(token for token in tokens if _ORDINAL.search(token) and not is_in_year),
        "counted": frozenset(_lemma(two) for one, two in pairwise(tokens) if _is_value(one) and two[0].isalpha()),
        "adjoining": frozenset(pairwise(telling)),
    }


def _tenses(said: Sequence[str]) -> tuple[str, ...]:
    at = next((at for at, token in enumerate(said) if at and lemma_of(token) in _words("states")), 0)
    is_past_here = is_past(said[at]) and said[at - 1] not in _words("verbs") if at else False
    return (lemma_of(said[at]), "past" if is_past_here else "now") if at else ()


def _acts(tokens: Sequence[str], start: int, names: Set[str]) -> bool:
    """Whether somebody with a name does something, or something is usual: `Petra plays`, but `Choir is`."""
    is_usual = any(token.removesuffix("s") in _words("weekdays") - {token} for token in tokens)
    is_named = tokens[0] in names - _words("fillers") or is_usual
    return is_named and 0 < start < len(tokens) and tokens[start] not in _words("verbs")


def _is_verb(tokens: Sequence[str], at: int) -> bool:
    token = tokens[at]
    if token in _words("verbs"):
        return True
    if tokens[at - 1] in _ARTICLES or _is_value(tokens[at - 1]):
        return False  # the park, twelve chairs
    if lemma_of(token):
        return True
    is_form = token.endswith("ed") or (token.endswith("s") and bool(_sides_of(token)))
    return is_form and tokens[at + 1 : at + 2] != [] and tokens[at + 1] in _words("determiners")


def _is_date(token: str) -> bool:
    return token.removesuffix("s") in _words("weekdays") or token in _words("months")


def _is_value(token: str) -> bool:
    return _is_date(token) or _number(token)[:1] in tuple("0123456789$€£")


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Return a text in lower case, with synonymous phrases unified."""
    text = _DASHED.sub(" ", _MAY.sub("maymonth", f" {text.lower()} "))
    for pattern, rewritten in _rewrites():
        text = pattern.sub(rewritten, text)
    text = _rephrased(_contracted(text))
    text = _HOURS.sub(_minutes, text)
    return text.replace("'s ", " ")


def _contracted(text: str) -> str:
    """Return a text with its contractions written out, and commas set apart."""
    for old, new in _CONTRACTIONS:
        text = text.replace(old, new)
    return text


def _rephrased(text: str) -> str:
    """Return a text with the words for its phrases; somebody in the midst of a phrase stays: it drives Ida mad."""
    said, words, at = [], text.split(), 0
    while at < len(words):
        for given, new in _phrases().get(words[at], ()):
            if (end := _end(words, at + 1, given)) is not None:
                whom = [word for word in words[at + 1 : end[0]] if word not in given] if end[1] else []
                said += [*whom, *new]
                at = end[0]
                break
        else:
            said.append(words[at])
            at += 1
    return f" {' '.join(said)} "


def _end(words: Sequence[str], at: int, given: Sequence[str]) -> tuple[int, bool] | None:
    """Return where a phrase ends whose first word was just in front, and whether somebody stands in its midst."""
    is_whom = False
    for nth, word in enumerate(given):
        while words[at : at + 1] and words[at] != word and words[at] in _words("intensifiers"):
            at += 1
        if at >= len(words):
            return None
        if word == "{one's}":
            if words[at] not in _POSSESSIVES:
                if not words[at].endswith("'s"):
                    return None
                is_whom = True
        elif word == "{one}":
            if words[at] not in _OBJECTS:
                then = next((word for word in words[at + 1 :] if word not in _words("intensifiers")), "")
                is_last = nth + 1 == len(given) or given[-1] in _words("particles")
                if is_last or then != given[nth + 1]:
                    return None
                is_whom = True
        elif words[at] != word:
            return None
        at += 1
    return at, is_whom


def _minutes(found: re.Match[str]) -> str:
    number = _number(found[1])
    return f"{int(number) * 60} minutes" if number.isdigit() else found[0]


def _values(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    named: set[str] = set()
    for before, token in pairwise(["", *tokens]):
        if not _is_value(token):
            continue
        day = token.removesuffix("s")
        kind = "weekday" if day in _words("weekdays") else "month" if token in _words("months") else "number"
        found.setdefault(kind, set()).add(_number(token) if kind == "number" else day)
        if before in _words("numbered"):
            named.add(_number(token))
    numbers = found.get("number", set())
    if ("month" in found or "weekday" in found) and (days := {each for each in numbers - named if len(each) < 3}):
        found["day"] = days  # of a month, or the time of a day
        found["number"] = numbers - days
    if "month" in found and (years := {each for each in found.get("number", ()) if _YEAR.fullmatch(each)}):
        found["year"] = years
        found["number"] = found["number"] - years
    return {kind: frozenset(some) for kind, some in found.items() if some}


def _number(token: str) -> str:
    numbers = _table()["lists"]["numbers"].split()
    return str(numbers.index(token)) if token in numbers else _ORDINAL.sub("", token.replace(",", ""))


def _single(text: str) -> Iterator[_Single]:
    plain = _plain(text).strip()
    written = text.replace("'s married to", "'s spouse is").replace("is married to", "'s spouse is")
    for part, said in (("frames", plain), ("named", written), ("of_a_class", plain)):
        for found in filter(None, (frame.fullmatch(said) for frame in _frames()[part])):
            # Of a kind there may be several.
            if part == "of_a_class" or not found["value"].startswith(("a ", "an ")):
                frame = f"{found['frame']} {found.groupdict().get('more') or ''}"
                yield _Single(part == "of_a_class", _telling(frame), _telling(found["value"]))


def _telling(text: str) -> frozenset[str]:
    tokens = (_same().get(token, token) for token in _tokens(_plain(text)))
    kept = [token for token in tokens if token not in _words("fillers") and token not in ("called", "named")]
    return frozenset(map(_lemma, kept or _tokens(text.lower())))


@lru_cache(maxsize=16_384)
def _lemma(word: str) -> str:
    if lemma := lemma_of(word):
        return lemma
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "siu" else word


@cache
def _table() -> dict[str, Any]:
    """The words of all languages, their lists and tables joined, so that no sentence has to be told its language."""
    table: dict[str, Any] = {}
    for file in FILES:
        for part, given in LEXICON.table(file).items():
            into = table.setdefault(part, {})
            for name, value in given.items():
                known = into.get(name)
                into[name] = value if known is None else f"{known} {value}" if isinstance(value, str) else known + value
    return table


def _tokens(plain: str) -> list[str]:
    """The words of a text; in Chinese, where nothing stands between them, the longest that are known, or characters."""
    if not _HAN.search(plain):
        return _TOKEN.findall(plain)
    return _TOKEN.findall(_HAN.sub(lambda found: f" {' '.join(_chinese().findall(found[0]))} ", plain))


@cache
def _chinese() -> re.Pattern[str]:
    """Any word of Chinese that is listed, the longest first, or any character."""
    table = LEXICON.table("opposites.zh")
    kinds = table["kinds"]
    lists = " ".join((*table["lists"].values(), *table["opposites"]["rows"], *table["same"], *kinds, *kinds.values()))
    known = {word for word in lists.split() if _HAN.fullmatch(word)}
    return re.compile("|".join([*sorted(known, key=len, reverse=True), "."]))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_table()["lists"][name].split())


@cache
def _phrases() -> Mapping[str, Sequence[tuple[Sequence[str], Sequence[str]]]]:
    """Phrases by their first words, the longest first: their other words, and what is read instead."""
    given = list(_table()["phrases"].items())
    for word, some in _table()["idioms"].items():
        given += [(_ONE.sub(r"{\g<0>}", each.strip()), word) for each in some.replace("\n", " ").split("|")]
    found: dict[str, list[tuple[Sequence[str], Sequence[str]]]] = {}
    for phrase, word in given:
        parts = [_forms(part[1:]) if part[0] == "~" else (part,) for part in _contracted(f"{phrase} ").split()]
        for first, *others in product(*parts):
            found.setdefault(first, []).append((others, word.split()))
    return {first: sorted(some, key=lambda each: -len(each[0])) for first, some in found.items()}


@cache
def _known_forms() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for form, lemma in (*verb_forms().items(), *_same().items()):
        found.setdefault(lemma, []).append(form)
    return found


def _forms(verb: str) -> set[str]:
    stem = verb.removesuffix("e")
    known = _known_forms().get(verb)
    modals = {"can": {"could"}, "be": {"am", "is", "are", "was", "were", "been"}}.get(verb, set())
    return {verb, f"{verb}{verb[-1]}ing", *modals, *(known or {third(verb), f"{stem}ed", f"{stem}ing"})}


@cache
def _rewrites() -> Sequence[tuple[re.Pattern[str], str]]:
    return [(_compiled(old), new) for old, new in _table()["rewrites"].items()]


@cache
def _frames() -> Mapping[str, Sequence[re.Pattern[str]]]:
    return {part: list(map(_compiled, given)) for part, given in _table()["single"].items()}


@cache
def _implied() -> Sequence[tuple[re.Pattern[str], str]]:
    return [(_compiled(given), told) for given, told in _table()["implied"]["rows"]]


def _compiled(given: str) -> re.Pattern[str]:
    """A pattern, in which `{name}` is any word of a list or of a kind."""
    lists = _table()["lists"] | _table()["kinds"] | {"people": " ".join(sorted(_people()))}
    return re.compile(re.sub(r"\{([a-z_]+)\}", lambda found: f"(?:{'|'.join(lists[found[1]].split())})", given))


@cache
def _people() -> frozenset[str]:
    return listed("kin") | _words("people")


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    """Of what kinds a thing is."""
    table: dict[str, str] = _table()["kinds"]
    found: dict[str, set[str]] = {}
    for kind in table:
        things = table[kind].split()
        for thing in things:  # which grow by those of the kinds among them
            things += [each for each in table.get(thing, "").split() if each not in things]
            found.setdefault(_lemma(_same().get(thing, thing)), set()).add(_lemma(kind))
    return {thing: frozenset(some) for thing, some in found.items()}


@cache
def _classes() -> Mapping[str, frozenset[int]]:
    """In which classes a word is, of which something is in one only."""
    found: dict[str, set[int]] = {}
    for nth, row in enumerate(_table()["classes"]["rows"]):
        for word in row.split():
            found.setdefault(_lemma(word), set()).add(nth)
    return {word: frozenset(some) for word, some in found.items()}


@cache
def _same() -> Mapping[str, str]:
    same: dict[str, str] = _table()["same"]
    return same


@cache
def _sides() -> Mapping[str, frozenset[Side]]:
    """The words with opposites, each with its rows and sides."""
    found: dict[str, set[Side]] = {}
    for nth, row in enumerate(_table()["opposites"]["rows"] + _table()["feelings"]["rows"]):
        for place, side in enumerate(row.split("|")):
            for word in side.split():
                found.setdefault(word, set()).add((nth, place))
                found.setdefault(_lemma(word), set()).add((nth, place))
    for word in list(found):
        found.setdefault(_ENDED.sub("", word), set()).update(found[word])
    return {word: frozenset(some) for word, some in found.items()}


@cache
def _opposed_sides() -> Mapping[Side, Sequence[Side]]:
    """The sides in the same row of each side."""
    rows: dict[int, set[Side]] = {}
    for side in chain.from_iterable(_sides().values()):
        rows.setdefault(side[0], set()).add(side)
    return {side: [each for each in row if each != side] for row in rows.values() for side in row}


@cache
def _synonyms() -> Mapping[Key, frozenset[int]]:
    """The rows of synonyms that a word is in, by its stems."""
    found: dict[Key, set[int]] = {}
    for nth, row in enumerate(_table()["synonyms"]["rows"]):
        for stem in chain.from_iterable(_stems(_lemma(word)) for word in row.split()):
            found.setdefault(stem, set()).add(nth)
    return {stem: frozenset(some) for stem, some in found.items()}


@cache
def _units() -> Mapping[str, int]:
    """What a unit measures: the number of its row."""
    return {_lemma(unit): nth for nth, row in enumerate(_table()["units"]["rows"]) for unit in row.split()}


@cache
def _light() -> frozenset[str]:
    return frozenset(_lemma(word) for word in _words("light"))


@cache
def _felt() -> frozenset[str]:
    return frozenset(word for word, sides in _sides().items() if any(row >= _first_of_feelings() for row, _ in sides))


@cache
def _first_of_feelings() -> int:
    return len(_table()["opposites"]["rows"])
