"""Whether two sentences contradict each other: by a denial, by opposite words, or by two values of the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from memfolio.learn.words import LEXICON, is_past, lemma_of
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
_HOURS = re.compile(r"\b(\w+) hours?\b")
FILES = ("opposites", "opposites.de", "opposites.zh")
_APOSTROPHES = str.maketrans("’‘`", "'''")


Side = tuple[int, int]
"""The row of opposites that a word is in, and its side."""


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
    is_open: bool
    """Whether it is hypothetical, or adds to what was said."""
    is_past: bool
    tenses: tuple[str, ...]
    """What its verb is, and whether it is told of the past; of verbs that tell how something is."""
    has_pronoun: bool
    """Whether its subject is a pronoun: it, they, we."""
    speaker: str
    """I, we, my or our, if the sentence begins with it."""
    is_person: bool
    compares: bool
    """Whether it says that one is more than another: older than, reports to."""
    owned: frozenset[str]
    """What belongs to somebody: the words after `Ida's`."""
    adjoining: frozenset[tuple[str, str]]
    """Words with those that stand directly behind them."""
    single: tuple[_Single, ...]


def contradict(one: str, other: str) -> Opposition | None:
    """Return how two sentences contradict each other; None if both can be true, or nothing shows it."""
    ours, theirs = (_readings(each[:LONGEST]) for each in (one, other))
    if ours == theirs or ours[0].is_open or theirs[0].is_open:
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
    return *read, *(_read(" ".join(w.capitalize() if w in names else w for w in each.split())) for each in implied)


def _opposed(a: _Sentence, b: _Sentence) -> Opposition | None:
    if a.is_past != b.is_past or (a.tenses and b.tenses and a.tenses[0] == b.tenses[0] and a.tenses != b.tenses):
        return None  # what was so may be so no more
    if found := _singly(a, b):
        return found
    if _are_of_different_people(a, b):
        return None
    if a.compares and b.compares and a.is_denied == b.is_denied and (swapped := _is_swapped(a, b)) is not None:
        return Opposition.OPPOSITE if swapped else None
    kinds = [kind for kind in a.values.keys() & b.values.keys() if a.values[kind] != b.values[kind]]
    opposed = [
        (x, y) for x in a.words for y in b.words if _are_opposite(x, y) and x not in b.words and y not in a.words
    ]
    if len(set(opposed)) > 1 or any(x in a.subject and y in b.subject for x, y in opposed):
        return None  # the old one is slow, the new one fast
    said = {word for pair in opposed for word in pair}
    if a.is_denied != b.is_denied:
        # No pets, but a cat.
        denied, affirmed = (a, b) if a.is_denied else (b, a)
        pairs = [(x, y) for x in denied.words for y in affirmed.words if x in _kinds().get(y, ())]
        opposed, said = [], {word for pair in pairs for word in pair}
    ours, theirs = _left(a, b, said), _left(b, a, said)
    shared = len(set(a.words) - said - ours) + (a.speaker == b.speaker in ("i", "we"))
    for one, other, its in ((a, b, ours), (b, a, theirs)):
        if _is_another(its, one, other) or _is_part_of_name(other, one, its):
            return None
    if opposed:
        # It may be another part of the same that is loved there and hated here.
        is_felt = not _words("feelings").isdisjoint(said)
        is_about_same = shared and not (is_felt and (_next(a, said) in ours or _next(b, said) in theirs))
        is_same = not (ours and theirs) and len(ours | theirs) <= MOST_LEFT and is_about_same
        return Opposition.OPPOSITE if is_same and not kinds else None
    if a.is_denied != b.is_denied:
        left = ours | theirs
        is_all = not (ours if a.is_denied else theirs) and len(left) <= MOST_LEFT
        return Opposition.NEGATION if (shared or pairs) and is_all and not kinds else None
    return _by_values(a, b, kinds, ours, theirs, shared)


def _singly(a: _Sentence, b: _Sentence) -> Opposition | None:
    if a.is_denied or b.is_denied:
        return None
    return Opposition.VALUES if any(_differ(one, other) for one in a.single for other in b.single) else None


def _by_values(
    a: _Sentence, b: _Sentence, kinds: Sequence[str], ours: Set[str], theirs: Set[str], shared: int
) -> Opposition | None:
    """With two values they may be about two matters: what was so in one year, and in another."""
    is_date = set(kinds) <= {"weekday", "month", "day", "year"}
    is_one = len(kinds) == 1 or (kinds and is_date)
    alone = all(len(each.values[kind]) == 1 for each in (a, b) for kind in kinds)
    if not is_one or not alone or a.is_denied or not shared or (ours and theirs):
        return None
    if {"weekday", "day"} <= set(kinds) and "month" not in a.values:
        return None  # at four on Fridays, at six on Mondays
    if "weekday" in kinds and len(kinds) == 1 and (a.is_person or b.is_person):
        return None  # somebody may do the same on several days
    return Opposition.VALUES if len(ours | theirs) <= MOST_LEFT else None


def _left(one: _Sentence, other: _Sentence, said: Set[str]) -> set[str]:
    """Return the words of one that have no counterpart in the other; a pronoun there may mean the subject here."""
    left = {word for word in one.words if word not in said and not any(_are_same(word, each) for each in other.words)}
    return left - one.subject if other.has_pronoun and one.speaker != "my" else left


def _next(one: _Sentence, said: Set[str]) -> str | None:
    """Return the word after the opposed one."""
    return next((then for word, then in pairwise(one.words) if word in said), None)


def _are_of_different_people(a: _Sentence, b: _Sentence) -> bool:
    ours, theirs = a.names - set(b.words), b.names - set(a.words)
    return bool(ours and theirs)


def _is_part_of_name(one: _Sentence, other: _Sentence, left: Set[str]) -> bool:
    """Whether the last word of one only tells what kind of thing is meant in the other: a garden, a garden gnome."""
    object_ = set(one.words[-1:]) - one.subject
    return any(x in object_ and y in left and _is_noun(y) for x, y in other.adjoining)


def _is_noun(word: str) -> bool:
    is_known = lemma_of(word) or word in _sides() or word in _words("adverbs")
    return not (is_known or word.endswith("ly") or _is_value(word))


def _is_another(left: Set[str], one: _Sentence, other: _Sentence) -> bool:
    """Whether a word in one sentence alone tells that it is about something else: my wife's, the second, Room 4."""
    of_subject = left if one.compares else left & one.subject
    if of_subject & (one.names | one.owned) or not left.isdisjoint(_words("others")):
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


def without_values(text: str) -> str:
    """A text without its numbers, days and months; empty where it has none."""
    tokens = _TOKEN.findall(text)
    kept = [token for token in tokens if not _is_value(token.lower())]
    return " ".join(kept) if len(kept) < len(tokens) else ""


def _are_opposite(one: str, other: str) -> bool:
    if any(row == its and side != that for row, side in _sides().get(one, ()) for its, that in _sides().get(other, ())):
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and any(longer == f"{prefix}{shorter}" for prefix in _words("prefixes"))


def _differ(one: _Single, other: _Single) -> bool:
    """Whether an attribute has two values; if one only says more than the other, both may be true."""
    ours, theirs = one.value - other.value, other.value - one.value
    if not one.frame or one[:2] != other[:2] or not ours or not theirs:
        return False
    if not one.is_class:
        return True
    found = [_classes().get(word, frozenset()) for word in (*ours, *theirs)]
    return len(found) == 2 and not found[0].isdisjoint(found[1])


@lru_cache(maxsize=16_384)
def _read(text: str) -> _Sentence:
    text = text.translate(_APOSTROPHES).strip(" .!?;")
    said = _tokens(_plain(text))
    tokens = [_same().get(token, token) for token in said]
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
        tenses=_tenses(said),
        has_pronoun=not _words("pronouns").isdisjoint(tokens),
        speaker=tokens[0] if tokens and tokens[0] in ("i", "we", "my", "our") else "",
        is_person=bool(tokens) and (tokens[0] in ("i", "we", "he", "she", "they") or _acts(tokens, start, names)),
        compares=not _words("one_way").isdisjoint(said),
        owned=frozenset(_meaning(_same().get(word, word)) for word in _OWNED.findall(text.lower())),
        adjoining=frozenset((_meaning(one), _meaning(two)) for one, two in pairwise(tokens)),
        single=tuple(_single(text)),
    )


def _tenses(said: Sequence[str]) -> tuple[str, ...]:
    at = next((at for at, token in enumerate(said) if at and lemma_of(token) in _words("states")), 0)
    is_past_here = is_past(said[at]) and said[at - 1] not in _words("verbs") if at else False
    return (lemma_of(said[at]), "past" if is_past_here else "now") if at else ()


def _acts(tokens: Sequence[str], start: int, names: Set[str]) -> bool:
    """Whether somebody with a name does something, or something is usual: `Petra plays`, but `Choir is`."""
    is_usual = any(token.removesuffix("s") in _words("weekdays") - {token} for token in tokens)
    is_named = tokens[0] in names - _words("fillers") or is_usual
    return is_named and 0 < start < len(tokens) and tokens[start] not in _words("verbs")


def _meaning(word: str) -> str:
    """Return the first synonym of a word with one opposite, else its lemma."""
    sides = _sides().get(word, frozenset()) | _sides().get(_lemma(word), frozenset())
    return _first()[next(iter(sides))] if len(sides) == 1 else _lemma(word)


def _is_value(token: str) -> bool:
    is_day = token.removesuffix("s") in _words("weekdays") or (token in _words("months"))
    return is_day or _number(token)[:1] in tuple("0123456789$€£")


def _plain(text: str) -> str:
    """Return a text in lower case, with synonymous phrases unified."""
    text = _DASHED.sub(" ", _MAY.sub("maymonth", f" {text.lower()} "))
    for pattern, rewritten in _rewrites():
        text = pattern.sub(rewritten, text)
    for old, new in _phrases().items():
        text = text.replace(f" {old} ", f" {new} ")
    text = _HOURS.sub(_minutes, text)
    return (
        text.replace("n't ", " not ")
        .replace("'s ", " ")
        .replace("'m ", " am ")
        .replace("'re ", " are ")
        .replace("'ve ", " have ")
    )


def _minutes(found: re.Match[str]) -> str:
    number = _number(found[1])
    return f"{int(number) * 60} minutes" if number.isdigit() else found[0]


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
    kinds = table["kinds"]
    lists = " ".join((*table["lists"].values(), *table["opposites"]["rows"], *table["same"], *kinds, *kinds.values()))
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
            found.setdefault(_meaning(_same().get(thing, thing)), set()).add(_meaning(kind))
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
