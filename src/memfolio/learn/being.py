"""What somebody or something is or has."""

from __future__ import annotations

import re

from memfolio.learn.gazetteer import LANGUAGES, NAMES, TIMES, WHEN
from memfolio.learn.patterns import BEING, Pattern, fact, matched
from memfolio.learn.said import Said, Who
from memfolio.types import Type

_GROUP = re.compile(
    r"\b(?:team|band|club|choir|board|committee|group|orchestra|army|navy|military|year|diet|grade|semester"
    r"|relationship|shift|leave|sabbatical)\b"
)
_NO_THING = re.compile(
    r"(?:an? )?(?:very |really |pretty |super |quite |new |few |couple |great |good |big |small |quick |bad |hard "
    r"|tough |nice |little |lot |bit |tad |huge |real |wonderful |fantastic |amazing |rough |long |busy |similar "
    r"|different |clear |better |solid |strong |feeling|question|problem|issue|idea|look|chance|doubt|time|blast|ball"
    r"|meeting|lot|bit|ton|bunch|few|couple|tough|point|go\b|try|hard|moment|minute|second|plan\b|reason|rest|sense"
    r"|reminder|way|fun|joy|pleasure|relief|must|total|shame|pity|mess|work in progress|game.?changer|step|start"
    r"|break|date\b|goal|call|sec\b|hunch|concern|error|bug|conflict|budget of|deadline|discussion|conversation|chat"
    r"|talk|list|version|function|method|draft|kind|sort|type|part|case|matter|no-brainer|tip|favor|favour|request"
    r"|suggestion|thing|picture|photo|pic\b|screenshot|challenge|process|experience|day\b)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:an?|any|no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+|his|her|their|kids|children"
    r"|pets|twins|siblings|asthma|diabetes|adhd|arthritis|migraines|epilepsy|celiac|anxiety|depression|insomnia"
    r"|dyslexia|type [12]|high blood|brown|blue|green|black|blond|red|curly|access|experience)\b",
    re.IGNORECASE,
)
_APPOINTMENT = re.compile(
    r"\b(?:appointment|interview|exam|flight|meeting|wedding|surgery|demo|presentation|trip|class)\b"
)
_HOUSE = re.compile(
    r"\b(?:office|house|home|flat|apartment|desk|room|school|gym|shop|studio|headquarters|server|farm|cabin|db"
    r"|database)$"
)
_LACKED = re.compile(
    r"\b(?:kids|children|pets?|siblings|car|licen[cs]e|allerg\w+|brothers?|sisters?|any|dog|cat|garden|degree)\b"
)
ATTRIBUTE = re.compile(
    r"'s (?:full |first |last |middle |home |work |current |main |native |new |old |weekly |monthly |preferred "
    r")*(?P<what>name|nickname|birthday|date of birth|age|job|job title|role|title|profession|occupation|address"
    r"|email|email address|phone|number|phone number|hometown|language|mother tongue|time ?zone|budget|salary|height"
    r"|weight|shoe size|blood type|pronouns|manager|boss|employer|company|degree|major|hobby|hobbies|username|handle"
    r"|editor|ide|os|laptop|car|stack|anniversary|zodiac sign|goal|dream|dream job|nationality|religion|surname"
    r"|school|university|deadline|schedule)$",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:'s|their|his|her|of) (?:all-time |absolute |most )?(?P<least>least )?(?:favou?rite|go-to) "
    r"(?P<what>[\w' -]{2,40})$",
    re.I,
)
_JUDGED = re.compile(
    r"\b(?:best|worst|great|good|bad|awesome|amazing|terrible|horrible|overrated|underrated|better|worse|beautiful"
    r"|ugly|boring|fun|nice|cool|perfect|awful|important|useful|useless|slow|fast|incredible|wonderful|interesting"
    r"|stupid|annoying|delicious|super|lovely|gorgeous|fantastic|hard|tough|easy|crazy|worth|weird|powerful|inspiring"
    r"|empowering|roller ?coaster|(?<!of )experience|journey|reminder|blessing|challenge|struggle)\b"
)


def being(said: Said) -> tuple[Pattern, str] | None:
    """The pattern of what something is, and the words with which the tail begins; nothing if not worth keeping."""
    if said.could or said.future:
        return None
    if favourite := _FAVOURITE.search(said.subject):
        if _JUDGED.search(said.tail):
            return None
        return _favourite(favourite["what"], "least_" if favourite["least"] else ""), ""
    attribute = ATTRIBUTE.search(said.subject)
    if attribute and not _is_loose(said):
        return _attribute(attribute["what"]), ""
    for pattern in BEING:
        fits = said.who in pattern.who and (pattern.predicate != "member" or _is_member(said.tail))
        if fits and (start := matched(pattern, said.tail)) is not None:
            return pattern, start
    return _identity(said)


def _favourite(what: str, least: str) -> Pattern:
    predicate = f"{least}favourite_{'_'.join(what.lower().split())}"
    return fact(predicate, single=True, type=Type.PREFERENCE, topic="preference")


def _attribute(what: str) -> Pattern:
    predicate = "_".join(what.lower().split())
    return fact(predicate, importance=0.8, single=True, topic=predicate)


def _is_member(tail: str) -> bool:
    if tail.startswith("expecting"):
        return bool(re.search(r"\b(?:child|baby|twins)\b", tail))
    return bool(_GROUP.search(tail))


def _is_loose(said: Said) -> bool:
    """Whether what is said of an attribute judges it rather than tells it."""
    if said.resolved:
        return not re.match(r"[A-Z\d]", said.tail)
    return bool(
        _JUDGED.search(said.tail)
        or re.match(r"(?:like|so|such|not|over|simple|ready|due|late|broken|\w+ed)\b", said.tail)
    )


def _identity(said: Said) -> tuple[Pattern, str] | None:
    tail = said.tail
    if said.who is Who.THING and (said.past or said.resolved):
        return None
    if re.match(r"\d{1,3}(?: years old| now|$|,| and)", tail) and said.who is not Who.THING:
        return fact("age", importance=0.8, single=True, topic="age"), ""
    if re.match(r"[\d.,]+ ?(?:m|cm|feet|foot|ft|kg|lbs?|kilos)\b", tail):
        return fact("size", importance=0.6, single=True, topic="body"), ""
    if re.match(r"(?:an? )\w", tail):
        if _NO_THING.match(tail) or _JUDGED.search(tail) or (said.past and said.who is Who.SELF and "when" in tail):
            return None
        job = said.who in (Who.SELF, Who.PERSON)
        return fact("is_a", importance=0.8 if job else 0.6, topic="identity" if job else "fact"), tail.split()[0]
    if said.who is Who.SELF and tail[:1].isupper() and not said.past:
        return _name_or_nation(tail)
    if said.who in (Who.SELF, Who.WE) or _JUDGED.search(tail):
        return None
    if favourite := re.match(r"(?:\S+|the user)'s (?P<least>least )?favou?rite (?P<what>[\w -]{2,30})", tail):
        return _favourite(favourite["what"], "least_" if favourite["least"] else ""), ""
    if attribute := ATTRIBUTE.search(tail):
        return _attribute(attribute["what"]), ""
    if re.match(r"(?:the|called|\S+'s) \w|the user's", tail) and not _NO_THING.match(tail[4:]):
        return fact("is"), ""
    if _HOUSE.search(said.subject) and re.match(r"(?:on|in|at|near|next to|behind|above|opposite) ", tail):
        return fact("located_in", single=True, topic="place"), tail.split()[0]
    if said.who is Who.PERSON and re.match(r"\d{1,2} and \d", tail):
        return fact("age", topic="age"), ""
    if said.who is Who.THING and (tail[:1].isupper() or tail[:1].isdigit() or WHEN.match(tail)):
        return fact("is", single=tail.split()[0].lower() not in TIMES), ""
    return None


def _name_or_nation(tail: str) -> tuple[Pattern, str] | None:
    first = re.split(r"[\s,]", tail, maxsplit=1)[0]
    if first.lower() in LANGUAGES:
        return fact("nationality", importance=0.8, single=True, topic="identity"), ""
    common = first.lower() in NAMES
    named = common or re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:,.*)?", tail)
    return (fact("name", importance=0.8, single=common, topic="name"), "") if named else None


def having(said: Said) -> tuple[Pattern, str] | None:
    """The same of what somebody has."""
    if said.verb != "have" or said.could or said.future or said.perfect or said.ongoing:
        return None
    if (
        said.past
        or not (_COUNTED.match(said.tail) or re.search(r"\b(?:every \w+|daily|weekly)\b", said.tail))
        or said.tail.startswith("to ")
    ):
        return None
    if re.fullmatch(r"(?:[\d.,]+|an?|one|two|three|four|five|some)", said.tail):
        return None
    if said.negated and not _LACKED.search(said.tail):
        return None
    if _APPOINTMENT.search(said.tail):
        return (fact("plans", topic="plan"), "") if WHEN.search(said.tail) else None
    if _NO_THING.match(said.tail) and not re.match(r"no (?!idea|problem|doubt|clue|time|plan)|type [12]", said.tail):
        return None
    return fact("has", topic="possession" if said.who is Who.SELF else "fact"), ""
