"""What a belief claims, sentence by sentence, in a form in which claims can be compared. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memfolio.index.mind_item import Item

LONGEST = 2000
"""Characters of the title and of the text of a belief that are read."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOKEN = re.compile(
    r"«[^«»]+»|\d{4}-\d\d-\d\d|\d\d?:\d\d|[$€£]?\d[\d,]*(?:\.\d+)?%?|v(?=\d)|[^\W\d_][^\W_]*(?:'[^\W\d_]+)?"
)
_NAMED = re.compile(r"^(\S+ [^\n]*\w is (?:in |at )?)([A-Z]\w+(?: [A-Z]\w+)*)(?=\W*$)")
"""A sentence that says who or where something is: Our lawyer is Petra Vogt."""
_COLON = re.compile(r":(?:\s+|$)")
_SPOKEN = (
    *(("’", "'"), ("cannot", "can not"), ("won't", "will not"), ("can't", "can not"), ("n't", " not")),
    *(("no longer", "not"), ("not only", ""), ("without", "not with")),
)
_FILLERS = frozenset("a an the our my of still currently now already also just really very do does did".split())
_PRONOUNS = frozenset("it they this that he she these those there which".split())
_DENIALS = frozenset("not never no neither nor".split())
_VERBS = frozenset(
    """is was will has had can cost take equal contain weigh last start end begin expire run use need require hold
    measure serve store support own pay earn make remain stay become seem open close keep work charge""".split()
)
_PAST = frozenset("was had until formerly previously ago once former".split())
_VAGUE = frozenset(
    "least most than about around roughly up over under between some sometimes often usually may might could".split()
)
_WHEN = frozenset("in during since on at for".split())
_NUMBERS = """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty""".split()
_SAME = {word: str(number) for number, word in enumerate(_NUMBERS, 2)}
_SAME |= {"are": "is", "am": "is", "were": "was", "have": "has", "been": "is", "be": "is"}
_STATES = """trend: growing grows increasing rising rises expanding|declining declines shrinking falling falls
decreasing|stable flat; running: up online running alive reachable working|down offline stopped dead unreachable broken;
door: open|closed shut; switch: on enabled active activated|off disabled inactive deactivated; truth: true correct yes|
false wrong incorrect; level: high|medium moderate|low; speed: fast quick|slow; price: cheap inexpensive|expensive;
need: required mandatory|optional; leave: allowed permitted|forbidden prohibited; there: available|unavailable;
health: healthy|unhealthy sick ill; view: public|private; money: profitable|unprofitable; risk: safe|unsafe dangerous;
family: married|single unmarried|divorced|widowed; backing: supported|unsupported deprecated; fill: full|empty;
done: finished completed complete|pending unfinished incomplete; month: january|february|march|april|june|july|august|
september|october|november|december; weekday: monday|tuesday|wednesday|thursday|friday|saturday|sunday"""
_STATE = {
    word: (group, value.split()[0])
    for group, _, values in (each.strip().partition(": ") for each in _STATES.split(";"))
    for value in values.split("|")
    for word in value.split()
}
_AT_THE_END = frozenset({"up", "down", "on", "off", "yes", "open"})
"""States only at the end of a sentence; elsewhere they are small words."""
_UNITS = """time 1 second sec|time 60 minute min|time 3600 hour hr h|time 86400 day|time 604800 week|mass 1 g gram
mass 1000 kg kilogram kilo|length .01 cm|length 1 metre meter|length 1000 km kilometre kilometer|length 1609.344 mile
data 1 byte|data 1e3 kb|data 1e6 mb|data 1e9 gb|data 1e12 tb|percent 1 % percent|usd 1 $ usd dollar|eur 1 € eur euro
gbp 1 £ gbp"""
_UNIT = {
    name: (kind, float(scale))
    for kind, scale, names in (each.split(maxsplit=2) for each in _UNITS.replace("\n", "|").split("|"))
    for name in names.split()
}

Words = tuple[str, ...]


class Amount(NamedTuple):
    """A number, or a word that stands for one of several states; `scale` is that of its unit."""

    number: float
    scale: float = 1
    word: str = ""

    def differs(self, other: Amount) -> bool:
        """Whether both cannot be meant; what is told in two units may be rounded."""
        if self.word or other.word or self.scale == other.scale:
            return self != other
        one, two = self.number * self.scale, other.number * other.scale
        return abs(one - two) > 0.02 * max(abs(one), abs(two))


class Claim(NamedTuple):
    """A sentence without its values and denials: what has the same frame is about the same."""

    item: Item
    frame: Words
    values: tuple[Amount, ...]
    is_denied: bool

    @property
    def is_past(self) -> bool:
        return not _PAST.isdisjoint(self.frame)

    @property
    def is_vague(self) -> bool:
        """Whether it may be true beside one with another value."""
        return self.is_past or not _VAGUE.isdisjoint(self.frame)

    @property
    def is_timed(self) -> bool:
        """Whether its value tells when: beside it, others may be true of other times."""
        behind = {two for one, two in pairwise(self.frame) if one in _WHEN}
        return not behind.isdisjoint(("<number>", "<month>", "<weekday>"))

    @property
    def says(self) -> tuple[object, ...]:
        """The same for claims that say nearly the same."""
        told = tuple(value.word or f"{value.number * value.scale:.2g}" for value in self.values)
        return self.frame, told, self.is_denied


def subject_of(item: Item) -> tuple[str, str]:
    """What a belief is about, and what it says of that; the latter is empty where its title is a whole sentence."""
    head, *rest = _COLON.split(item.title, maxsplit=1)
    return head.strip(), "\n".join(filter(None, (*(each.strip() for each in rest), item.text)))


def key_of(subject: str) -> Words:
    """The words of a subject, whatever their order and number."""
    return tuple(sorted(_words(subject[:LONGEST])))


def claims_of(item: Item) -> Iterator[Claim]:
    """The claims of a belief; what its text says is about its subject."""
    subject, content = subject_of(item)
    yield from _claims(item, (), _words(item.title[:LONGEST]))
    about = _words(subject[:LONGEST])
    for sentence in _SENTENCE.split(content[:LONGEST]) if content else ():
        words = _words(sentence)
        words = words[1:] if words and words[0] in _PRONOUNS else words
        yield from _claims(item, about, words[len(about) :] if words[: len(about)] == about else words)


def _words(text: str) -> list[str]:
    text = _NAMED.sub(_quoted, text.strip()).casefold()
    for old, new in _SPOKEN:
        text = text.replace(old, new)
    return [_stem(word) for word in _TOKEN.findall(text) if word not in _FILLERS]


def _quoted(named: re.Match[str]) -> str:
    return named[0] if named[2].casefold() in _STATE else f"{named[1]}«{named[2]}»"


def _stem(word: str) -> str:
    if word in _SAME or word in _STATE:
        return _SAME.get(word, word)
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui" else word


def _claims(item: Item, about: Sequence[str], words: Sequence[str]) -> Iterator[Claim]:
    """A sentence as a claim, if it is one: values count behind its verb, subject or unit; states also at its end."""
    verb = next((at for at, word in enumerate(words) if (at or about) and word in _VERBS), None)
    measured = (at for at, unit in enumerate(words[1:]) if unit in _UNIT)
    start = verb + 1 if verb is not None else 0 if about else next(measured, len(words))
    frame, values, denials, is_unit = list(about), list[Amount](), 0, False
    for at, (word, following) in enumerate(zip(words, (*words[1:], ""), strict=False)):
        if is_unit:
            is_unit = False
        elif word in _DENIALS and following:
            denials += 1
        elif (at >= start or (word in _STATE and not following)) and (found := _value(word, following)):
            kind, value, is_unit = found
            frame.append(f"<{kind}>")
            values.append(value)
        else:
            frame.append(word)
    if words and len(frame) > 1:
        yield Claim(item, tuple(frame), tuple(values), denials % 2 == 1)


def _value(word: str, following: str) -> tuple[str, Amount, bool] | None:
    """What kind of value a word is, which, and whether the word behind it is its unit."""
    if word in _STATE and (not following or word not in _AT_THE_END):
        return _STATE[word][0], Amount(0, word=_STATE[word][1]), False
    for sign, kind in (("«", "name"), (":", "clock"), ("-", "date")):
        if sign in word:
            return kind, Amount(0, word=word), False
    bare = word.strip("$€£%").replace(",", "")
    if not bare or not bare[0].isdecimal():
        return None
    sign = word[0] if word[0] in "$€£" else word[-1] if word[-1] == "%" else ""
    unit, scale = _UNIT.get(sign or following, ("number", 1.0))
    return unit, Amount(float(bare), scale), not sign and following in _UNIT
