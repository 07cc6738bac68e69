"""A clause taken apart: who does what, since when it is so, and how sure the speaker is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memfolio.learn.gazetteer import NAMES, NO_NAMES, TIMES, TOOLS
from memfolio.learn.verbs import ADVERBS, AUXILIARIES, HEDGES, MODALS, NEGATIONS, is_finite, is_past, lemma_of
from memfolio.learn.voice import Voice

_MOST_SUBJECT = 7
_PLURAL = frozenset("children kids parents people twins cats dogs friends".split())
KIN = frozenset(
    """
wife husband partner spouse girlfriend boyfriend fiancé fiancée fiance fiancee mother father mom mum dad sister brother
son daughter child kid baby uncle aunt cousin nephew niece grandmother grandfather grandma grandpa granddaughter
grandson friend boss manager colleague coworker neighbour neighbor roommate flatmate teacher mentor doctor therapist
landlord parents children kids siblings sisters brothers sons daughters twins friends in-laws mother-in-law
father-in-law brother-in-law sister-in-law stepmother stepfather stepson stepdaughter ex ex-wife ex-husband client
intern assistant accountant lawyer dentist coach trainer team family grandparents stepdad stepmom
""".split()
)
_ARTICLES = frozenset("the our my his her their this every each all most both".split())
_HE, _IT = frozenset(("he", "she", "they")), frozenset(("it",))
_HIS, _ITS = frozenset(("his", "her", "their")), frozenset(("its",))
_FUTURE = frozenset("will 'll going gonna won't about shall".split())
_IS = frozenset("is are was were has have isn't aren't".split())
_SHORT = {"s": " is", "re": " are", "ll": " will", "ve": " have", "d": " would"}
PETS = "dog|cat|puppy|kitten|horse|hamster|parrot|rabbit|bunny|pet|turtle|bird|pony"
_ANIMALS = frozenset(PETS.split("|"))
_CLOSE = re.compile(
    rf"(?:(?P<owner>(?:the user|\S+)'s) (?:\w+ ){{0,2}}?|\ban? (?:\w+ "
    rf")?)(?P<whom>(?:{'|'.join(sorted(each for each in KIN if not each.endswith('s')))}|{PETS})\b(?:,? (?:named "
    rf"|called )?[A-Z][\w-]+)?)"
)
_SAYS_SO = re.compile(
    r"(?:I|we)\s+(?:(?:really|also|just|still|personally|honestly)\s+)*(?P<verb>think|believe|guess|suppose|feel like"
    r"|feel|assume|reckon|suspect|heard|hear|know|realized|realised|noticed|found out|figure)\s+(?:that\s+)?(?=(?:I"
    r"|I'm|I've|I'll|we|we're|we'll|my|our|the|it|it's|he|she|they|this|that|[A-Z]|\w+ (?:is|are|was)\b))"
)


class Who(StrEnum):
    """Of whom a clause tells."""

    SELF = "s"
    WE = "w"
    PERSON = "p"
    THING = "t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One clause in the third person, as far as rules need it."""

    text: str
    subject: str
    who: Who
    verb: str
    tail: str
    past: bool = False
    perfect: bool = False
    ongoing: bool = False
    future: bool = False
    could: bool = False
    negated: bool = False
    hedged: bool = False
    resolved: bool = False
    held: str = ""
    """The verb of an opinion that the clause was wrapped in: `think`, `heard`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Whom or what `he`, `her` or `it` may mean."""

    name: str
    who: Who


def spoken_of(said: Said, last: Known | None, stated: bool) -> Known | None:
    """Whom a pronoun means after a clause: its subject, or somebody close whom it names; else whom it meant before."""
    if said.who is Who.PERSON or (said.who is Who.THING and stated):
        return Known(name=said.subject, who=said.who)
    if close := _CLOSE.search(said.tail):
        speaker = said.subject.removesuffix("'s team").removesuffix(" and others")
        owner = close["owner"] or f"{speaker}'s"
        return Known(name=f"{owner} {close['whom']}", who=Who.PERSON)
    return last if last and last.who is Who.PERSON else None


def take_apart(clause: str, voice: Voice, last: Known | None) -> Said | None:
    """Who does what in a clause; nothing where no subject and verb are found. `last` tells who he or it is."""
    held = _SAYS_SO.match(clause) if clause.startswith(("I ", "We ", "we ")) else None
    bare = clause[held.end() :] if held else clause
    first, _, after = bare.partition(" ")
    if not after:
        return None
    stand_in = _stand_in(first.lower(), after, last)
    if stand_in:
        bare = stand_in + " " + after
    elif not _may_begin(first):
        return None
    text = voice.retell(bare)
    tokens = text.split()
    who, size = _subject(first, tokens, voice, last if stand_in else None)
    if not who or not size:
        return None
    subject = " ".join(tokens[:size])
    return _phrase(text, _bare(subject), who, tokens[size:], bool(stand_in), held["verb"] if held else "")


def _may_begin(first: str) -> bool:
    low = first.lower().rstrip(",")
    if low.partition("'")[0] in ("i", "we") or low in _ARTICLES:
        return True
    return first[:1].isupper() and not _is_plain(low)


def _stand_in(first: str, after: str, last: Known | None) -> str:
    word, _, short = first.partition("'")
    if last is None or _is_plural(last.name.split()) != (word in ("they", "their")):
        return ""
    if word in (_HE if last.who is Who.PERSON else _IT):
        return last.name + (" has" if short == "s" and after.startswith(("been ", "got ")) else _SHORT.get(short, ""))
    return f"{last.name}'s" if word in (_HIS if last.who is Who.PERSON else _ITS) else ""


def _subject(first: str, tokens: list[str], voice: Voice, last: Known | None) -> tuple[Who | None, int]:
    """Of whom it tells, and how many tokens name them."""
    if last is not None and first.partition("'")[0].lower() in _HE | _IT:
        return last.who, len(last.name.split())
    if last is not None:
        first = last.name.split()[0]
    word = first.partition("'")[0]
    if word == "I":
        return Who.SELF, len(voice.name.split())
    if word.lower() == "we":
        return Who.WE, len(voice.name.split()) + (1 if "'s team" in " ".join(tokens[:5]) else 2)
    return _named(first, tokens)


def _named(first: str, tokens: list[str]) -> tuple[Who | None, int]:
    low = first.lower().rstrip(",")
    is_name = first[:1].isupper() and low not in _ARTICLES and not _is_plain(low)
    if not is_name and low not in _ARTICLES:
        return None, 0
    for place in range(1, min(len(tokens), _MOST_SUBJECT + 1)):
        before = tokens[place - 1].lower().rstrip(",.;")
        size = _size(tokens, place)
        plural = _is_plural(tokens[:size])
        loose = is_name and low not in TOOLS and not any("'s" in token for token in tokens[:place])
        if is_finite(tokens[place].lower(), plural) and before not in ("who", "that", "which", "to", "and", "or"):
            if _is_noun(tokens, place):
                continue
            if before.endswith("'s") and tokens[place] in ("been", "a", "got"):
                return None, 0
            common = is_name and size == 1 and tokens[place] in ("have", "do", "don't")
            return (None, 0) if common else (_class(tokens[:size], is_name), size)
        if tokens[place].endswith((":", ";")) or (loose and tokens[place].islower() and tokens[place] not in ADVERBS):
            return None, 0
    return None, 0


def _size(tokens: list[str], verb: int) -> int:
    """How many tokens name the subject, without what comes before the verb: `my sister no longer` works."""
    while verb > 1 and (tokens[verb - 1].lower() in ADVERBS or tokens[verb - 1] == "no"):
        verb -= 1
    return verb


def _is_noun(tokens: list[str], place: int) -> bool:
    """Whether what may be a verb belongs to the subject, since the verb follows: `the clothes store is open`."""
    word = tokens[place].lower()
    return (
        word not in AUXILIARIES
        and lemma_of(word) not in ("say", "think", "know")
        and any(word in _IS for word in tokens[place + 1 : place + 3])
    )


@lru_cache(maxsize=4096)
def _is_plain(low: str) -> bool:
    """Whether a word that begins a sentence with a capital is no name."""
    word = low.partition("'")[0]
    if word in KIN:
        return False
    known = low in AUXILIARIES or word in NO_NAMES or word in TIMES or word in ADVERBS or lemma_of(word)
    return bool(known) or (word.endswith(("ing", "ly")) and word not in NAMES)


def _is_plural(tokens: list[str]) -> bool:
    last = tokens[-1].lower().rstrip(",.;")
    if last in NAMES or tokens[-1][:1].isupper():
        return "and" in tokens
    return "and" in tokens or last in _PLURAL or (last.endswith("s") and not last.endswith(("'s", "ss", "us")))


def _class(tokens: list[str], is_name: bool) -> Who:
    tokens = next((tokens[:at] for at, token in enumerate(tokens) if token in ("who", "which", "whose") and at), tokens)
    words = [_bare(token).lower() for token in tokens]
    heads = set(words[-1:] if not tokens[-1][:1].isupper() else words[-3:])
    if "and" in words and (KIN | NAMES) & set(words):
        return Who.PERSON
    if len(words) > 1 and words[-1] in NAMES and words[-2] in KIN | _ANIMALS:
        return Who.PERSON
    if heads & KIN or heads & _ANIMALS or (words[-1] in NAMES and tokens[-1][:1].isupper()):
        return Who.PERSON
    if is_name and len(tokens) <= 3 and tokens[0].isalpha() and tokens[0][1:].islower() and tokens[-1][:1].isupper():
        return Who.PERSON if tokens[0].lower() in NAMES else Who.THING
    return Who.THING


def _bare(token: str) -> str:
    return token.strip(',.;:!()"').removesuffix("'s") if token.endswith(",") else token.strip(',.;:!()"')


def _phrase(text: str, subject: str, who: Who, tokens: list[str], resolved: bool, held: str) -> Said | None:
    seen: list[str] = []
    for place, token in enumerate(tokens[:8]):
        word = token.lower().rstrip(",")
        if word == "to" and seen and seen[-1] not in ("used", "going", "gonna", "about"):
            has = seen[-1] in ("have", "has", "had")
            rest = [seen[-1], *tokens[place:]] if has else tokens[place:]
            return _said(text, subject, who, seen[:-1] if has else seen, rest, resolved=resolved, held=held)
        if token != "May" and (word in AUXILIARIES or word in ADVERBS):
            seen.append(word)
            continue
        if word in ("used", "going", "gonna", "about") and tokens[place + 1 : place + 2] == ["to"]:
            seen.append(word)
            continue
        return _said(text, subject, who, seen, tokens[place:], resolved=resolved, held=held)
    return None


def _said(
    text: str, subject: str, who: Who, seen: list[str], rest: list[str], *, resolved: bool, held: str
) -> Said | None:
    word = rest[0].lower().strip(",.")
    verb, ongoing = lemma_of(word), word.endswith("ing")
    if word == "got" and {"has", "have"} & set(seen):
        word, verb, seen = "has", "have", [each for each in seen if each not in ("has", "have")]
    is_being = bool(
        {"am", "is", "are", "was", "were", "be", "been", "isn't", "aren't", "wasn't", "weren't"} & set(seen)
    )
    has = bool({"have", "has", "haven't", "hasn't"} & set(seen))
    known = verb and (ongoing or not is_being)
    if not known and has and is_past(word):
        return None
    if not known:
        verb, ongoing, tail = ("be" if is_being else "have" if has or "had" in seen else ""), False, rest
    else:
        tail = rest[1:]
    if not verb:
        return None
    return Said(
        text=text, subject=subject, who=who, verb=verb, tail=" ".join(tail), resolved=resolved, held=held,
        past=bool({"was", "were", "did", "didn't", "had", "used", "wasn't", "weren't"} & set(seen))
        or (bool(known) and is_past(word) and not has),
        perfect=has and bool(known), ongoing=ongoing,
        future=bool(_FUTURE & set(seen)),
        could=bool((MODALS - _FUTURE - HEDGES) & set(seen)) or "shouldn't" in seen,
        negated=bool(NEGATIONS & set(seen)), hedged=bool(HEDGES & set(seen)) or held not in ("", "know", "found out"),
    )  # fmt: skip
