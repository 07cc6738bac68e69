"""Whether two sentences contradict each other: by a denial, by opposite words, or by two values of the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from memfolio.learn.words import LEXICON, lemma_of

LONGEST = 300
"""Characters in which one thing is said."""
_TOKEN = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d|[$€£]?\d[\d,]*(?:\.\d+)?(?:st|nd|rd|th)?%?|[^\W\d_]+(?:-[^\W\d_]+)*")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_NAME = re.compile(r"(?<![.\w])(?!I\b)[A-ZÀ-Þ][a-zà-ÿ]+")
_CLAUSES = re.compile(r"(?:, (?:and|so|but|because|since)|,|;| because| so) ")
MOST_LEFT = 3
"""Words that one of two sentences may have more than the other."""
_MAY = re.compile(r"(?<=\d )may\b|(?<=\d[snrt][tdh] )may\b|(?<= in )may\b|(?<= of )may\b|\bmay(?= \d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DASHED = re.compile(r"(?<=\w)-(?=(?:year|month|week|day|hour|minute|mile|person|bedroom|storey)s?\b)")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
FILES = ("opposites", "opposites.de", "opposites.zh")
_APOSTROPHES = str.maketrans("’‘`", "'''")


Side = tuple[int, int]
"""In which row of opposites a word stands, and behind how many bars."""


class Opposition(StrEnum):
    """In what two sentences contradict each other."""

    NEGATION = "negation"
    OPPOSITE = "opposite"
    VALUES = "values"


class _Sentence(NamedTuple):
    """A clause taken apart: what it is about, what it says of that, and whether it denies it."""

    words: tuple[str, ...]
    """The words that tell something, by their meanings, in their order."""
    subject: frozenset[str]
    """Those in front of the verb."""
    names: frozenset[str]
    """The words that are written as names."""
    values: Mapping[str, frozenset[str]]
    """Numbers and dates, by their kinds."""
    is_denied: bool
    is_open: bool
    """Whether it tells what would be, or adds to what was said."""
    is_past: bool
    has_pronoun: bool
    """Whether it leaves open of what it speaks: it, they, we."""
    speaker: str
    """I or we, where the sentence begins with it."""
    is_person: bool
    single: tuple[frozenset[str], frozenset[str]] | None
    """The words of an attribute that has one value, and those of its value."""


def contradict(one: str, other: str) -> Opposition | None:
    """How two sentences cannot both be true; None where they can, or where nothing tells."""
    ours, theirs = (_clauses(each[:LONGEST]) for each in (one, other))
    if ours == theirs or any(_read(each[:LONGEST]).is_open for each in (one, other)):
        return None
    found = (_opposed(_read(a), _read(b)) for a in ours for b in theirs)
    return next(filter(None, found), None)


def _clauses(text: str) -> list[str]:
    """A sentence, and those parts of it that could stand alone."""
    return [text, *(part for part in _CLAUSES.split(text) if part != text and len(part.split()) > 2)]


def _opposed(a: _Sentence, b: _Sentence) -> Opposition | None:
    if a.is_past != b.is_past or _are_of_different_people(a, b):
        return _singly(a, b) if a.is_past == b.is_past else None
    if found := _singly(a, b):
        return found
    if _is_swapped(a, b):
        return Opposition.OPPOSITE
    kinds = [kind for kind in a.values.keys() & b.values.keys() if a.values[kind] != b.values[kind]]
    opposed = [
        (x, y) for x in a.words for y in b.words if _are_opposite(x, y) and x not in b.words and y not in a.words
    ]
    said = {word for pair in opposed for word in pair}
    ours, theirs = _left(a, b, said), _left(b, a, said)
    shared = len(set(a.words) - said - ours) + (a.speaker == b.speaker != "")
    if ours & a.names or theirs & b.names:
        return None
    if opposed:
        # It may be another part of the same that is loved there and hated here.
        is_felt = not _words("feelings").isdisjoint(said)
        is_about_same = shared and not (is_felt and (_next(a, said) in ours or _next(b, said) in theirs))
        is_same = not (ours and theirs) and len(ours | theirs) <= MOST_LEFT and is_about_same
        return Opposition.OPPOSITE if is_same and not kinds and a.is_denied == b.is_denied else None
    if a.is_denied != b.is_denied:
        denying = ours if a.is_denied else theirs
        return Opposition.NEGATION if shared and not denying and not kinds and len(ours | theirs) <= MOST_LEFT else None
    return _by_values(a, b, kinds, ours, theirs, shared)


def _singly(a: _Sentence, b: _Sentence) -> Opposition | None:
    is_stated = a.single and b.single and not a.is_denied and not b.is_denied
    return Opposition.VALUES if is_stated and _differ(a.single, b.single) else None  # type: ignore[arg-type]


def _by_values(
    a: _Sentence, b: _Sentence, kinds: Sequence[str], ours: Set[str], theirs: Set[str], shared: int
) -> Opposition | None:
    """With two values they may be about two matters: what was so in one year, and in another."""
    is_date = set(kinds) <= {"weekday", "month", "day", "year"}
    is_one = len(kinds) == 1 or (kinds and is_date)
    alone = all(len(each.values[kind]) == 1 for each in (a, b) for kind in kinds)
    if not is_one or not alone or a.is_denied or not shared or (ours and theirs):
        return None
    if "weekday" in kinds and len(kinds) == 1 and (a.is_person or b.is_person):
        return None  # somebody may do the same on several days
    return Opposition.VALUES if len(ours | theirs) <= MOST_LEFT else None


def _left(one: _Sentence, other: _Sentence, said: Set[str]) -> set[str]:
    """The words of one that have nothing in the other; a pronoun there may stand for the subject here."""
    left = {word for word in one.words if word not in said and not any(_are_same(word, each) for each in other.words)}
    return left - one.subject if other.has_pronoun else left


def _next(one: _Sentence, said: Set[str]) -> str | None:
    """The word behind the one that is opposed."""
    return next((then for word, then in pairwise(one.words) if word in said), None)


def _are_of_different_people(a: _Sentence, b: _Sentence) -> bool:
    ours, theirs = a.names - set(b.words), b.names - set(a.words)
    return bool(ours and theirs)


def _is_swapped(a: _Sentence, b: _Sentence) -> bool:
    """Whether two have each other's place: Ada reports to Ben, Ben reports to Ada."""
    if sorted(a.words) != sorted(b.words) or a.words == b.words or a.is_denied != b.is_denied:
        return False
    moved = {x for x, y in zip(a.words, b.words, strict=True) if x != y}
    return len(moved) == 2 and moved <= a.names and not _words("one_way").isdisjoint(a.words)


def _are_same(one: str, other: str) -> bool:
    """Whether two words are of one stem: deliver and delivery."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    start = shorter.rstrip("ey")
    return len(start) > 3 and longer.startswith(start) and longer[len(start) :] in _words("endings_of_words")


def has_denial(text: str) -> bool:
    """Whether a text says of anything that it is not so, or not any more."""
    said = _tokens(_plain(text.translate(_APOSTROPHES)))
    return not (_words("denials") | _words("endings")).isdisjoint(said)


def _are_opposite(one: str, other: str) -> bool:
    if any(row == its and side != that for row, side in _sides().get(one, ()) for its, that in _sides().get(other, ())):
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and any(longer == f"{prefix}{shorter}" for prefix in _words("prefixes"))


def _differ(one: tuple[frozenset[str], frozenset[str]], other: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Whether an attribute has two values; where one value says more than the other, both may be true."""
    (frame, value), (same, instead) = one, other
    return bool(frame) and frame == same and bool(value and instead) and not (value <= instead or instead <= value)


@lru_cache(maxsize=16_384)
def _read(text: str) -> _Sentence:
    text = text.translate(_APOSTROPHES).strip(" .!?;")
    tokens = [_same().get(token, token) for token in _tokens(_plain(text))]
    denials = sum(token in _words("denials") for token in tokens)
    # A value in front of the verb tells of what something is said: Python 3.12 is supported.
    start = next((at for at, token in enumerate(tokens) if at and (token in _words("verbs") or lemma_of(token))), 0)
    is_dated = bool(tokens) and (tokens[0] in ("on", "at", "in") or tokens[0].removesuffix("s") in _words("weekdays"))
    values = _values(tokens if is_dated else tokens[start:])
    aside = _words("fillers") | _words("denials") | _words("past") | _words("present")
    telling = [
        (at, token)
        for at, token in enumerate(tokens)
        if token not in aside and ((at < start and not is_dated) or not _is_value(token))
    ]
    names = {token.lower() for token in _NAME.findall(text)}
    return _Sentence(
        words=tuple(_meaning(token) for _, token in telling),
        subject=frozenset(_meaning(token) for at, token in telling if at < start),
        names=frozenset(_meaning(token) for _, token in telling if token in names and not _is_value(token)),
        values=values,
        is_denied=denials % 2 == 1,
        is_open=not _words("open").isdisjoint(tokens) or tokens[-1:] == ["too"],
        is_past=not _words("past").isdisjoint(tokens),
        has_pronoun=not _words("pronouns").isdisjoint(tokens),
        speaker=tokens[0] if tokens and tokens[0] in ("i", "we") else "",
        is_person=bool(tokens) and (tokens[0] in ("i", "we", "he", "she", "they") or _acts(tokens, start, names)),
        single=_single(text),
    )


def _acts(tokens: Sequence[str], start: int, names: Set[str]) -> bool:
    """Whether somebody with a name does something: `Petra plays`, but `Choir is`."""
    return tokens[0] in names and 0 < start < len(tokens) and tokens[start] not in _words("verbs")


def _meaning(word: str) -> str:
    """The first word that says the same where it has one opposite, else its lemma."""
    sides = _sides().get(word) or _sides().get(_lemma(word), frozenset())
    return _first()[next(iter(sides))] if len(sides) == 1 else word if sides else _lemma(word)


def _is_value(token: str) -> bool:
    is_day = token.removesuffix("s") in _words("weekdays") or (token in _words("months"))
    return is_day or _number(token)[:1] in tuple("0123456789$€£")


def _plain(text: str) -> str:
    """A text in lower case, with what says the same said in the same way."""
    text = _DASHED.sub(" ", _MAY.sub("maymonth", f" {text.lower()} "))
    for pattern, rewritten in _rewrites():
        text = pattern.sub(rewritten, text)
    for old, new in _phrases().items():
        text = text.replace(f" {old} ", f" {new} ")
    return (
        text.replace("n't ", " not ")
        .replace("'s ", " ")
        .replace("'m ", " am ")
        .replace("'re ", " are ")
        .replace("'ve ", " have ")
    )


def _values(tokens: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for token in filter(_is_value, tokens):
        day = token.removesuffix("s")
        kind = "weekday" if day in _words("weekdays") else "month" if token in _words("months") else "number"
        found.setdefault(kind, set()).add(_number(token) if kind == "number" else day)
    numbers = found.get("number", set())
    if ("month" in found or "weekday" in found) and (days := {each for each in numbers if len(each) < 3}):
        found["day"] = days  # of a month, or the time of a day
        found["number"] = numbers - days
    if "month" in found and (years := {each for each in found.get("number", ()) if _YEAR.fullmatch(each)}):
        found["year"] = years
        found["number"] = found["number"] - years
    return {kind: frozenset(some) for kind, some in found.items() if some}


def _number(token: str) -> str:
    numbers = _table()["lists"]["numbers"].split()
    return str(numbers.index(token)) if token in numbers else _ORDINAL.sub("", token.replace(",", ""))


def _single(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    plain = _plain(text).strip()
    written = text.replace("'s married to", "'s spouse is").replace("is married to", "'s spouse is")
    frames = _table()["single"]
    tries = (
        (frame, said) for frames, said in ((frames["frames"], plain), (frames["named"], written)) for frame in frames
    )
    found = next((match for frame, said in tries if (match := re.fullmatch(frame, said))), None)
    if found is None or found["value"].startswith(("a ", "an ")):
        return None  # of a kind there may be several
    return tuple(_telling(found[part]) for part in ("frame", "value"))  # type: ignore[return-value]


def _telling(text: str) -> frozenset[str]:
    tokens = (_same().get(token, token) for token in _tokens(_plain(text)))
    return frozenset(
        _lemma(token) for token in tokens if token not in _words("fillers") and token not in ("called", "named")
    )


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
    lists = " ".join((*table["lists"].values(), *table["opposites"]["rows"], *table["same"]))
    known = {word for word in lists.split() if _HAN.fullmatch(word)}
    return re.compile("|".join([*sorted(known, key=len, reverse=True), "."]))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_table()["lists"][name].split())


@cache
def _phrases() -> Mapping[str, str]:
    given: dict[str, str] = _table()["phrases"]
    return dict(sorted(given.items(), key=lambda each: -len(each[0])))


@cache
def _rewrites() -> Sequence[tuple[re.Pattern[str], str]]:
    return [(re.compile(old), new) for old, new in _table()["rewrites"].items()]


@cache
def _same() -> Mapping[str, str]:
    same: dict[str, str] = _table()["same"]
    return same


@cache
def _sides() -> Mapping[str, frozenset[Side]]:
    """The words that have an opposite, each with its rows and on which side of these it stands."""
    found: dict[str, set[Side]] = {}
    for nth, row in enumerate(_table()["opposites"]["rows"]):
        for place, side in enumerate(row.split("|")):
            for word in side.split():
                found.setdefault(word, set()).add((nth, place))
                found.setdefault(_lemma(word), set()).add((nth, place))
    return {word: frozenset(some) for word, some in found.items()}


@cache
def _first() -> Mapping[Side, str]:
    """The first word on each side of each row."""
    found: dict[Side, str] = {}
    for word, sides in _sides().items():
        for side in sides:
            found.setdefault(side, word)
    return found
