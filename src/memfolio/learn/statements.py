"""What a clause says that is worth keeping, as a statement."""

from __future__ import annotations

import re

from memfolio.learn.being import ATTRIBUTE, being, having
from memfolio.learn.doing import doing, task
from memfolio.learn.gazetteer import PLACES
from memfolio.learn.learned import Statement
from memfolio.learn.patterns import Pattern, fact
from memfolio.learn.said import KIN, PETS, Said, Who
from memfolio.learn.tags import tags_of
from memfolio.learn.voice import Voice
from memfolio.types import Kind, Type, default_kind

_UNCLEAR = re.compile(
    r"(?:the (?:latter|former|same|\w+ one|(?:first|second|third|last|other|next|previous)(?: (?:version|option|draft"
    r"|part|image|idea|suggestion|approach|solution|two)|$))|it|that|this|them|those|these|him|their|so|there|one"
    r"|ones|you|your|what|how|why|where|when|who|her|both|all|everything(?! (?:in|on|with|via|to)\b)|anything(?= "
    r"(?:to|that|about|else)\b|$)|something|someone|things|stuff|such|any|whether|if|and|or|but|because|being "
    r"able|hearing|seeing how)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'll|you'd|y'all|ya)\b", re.IGNORECASE)
_OPEN_END = re.compile(
    r"\b(?:this|that one|these|those|them|him|here|there|(?<!on )it|to|of|and|the|with) *$"
    r"|\b(?:\w+ing (?:them|him|it)|working on it"
    r"|below|above|following|this (?:today|now)|like (?:this|that)|about (?:it|this|that)|(?:to|of|in|with|from|for"
    r"|sharing|doing|at) (?:that|this|these|those|them|him|it))\b",
    re.I,
)
_CUT = re.compile(
    r"(?:\s*(?:,(?!\d)|[;(])|\s+(?:because|since|but|when|while|which|who|whom|where|so|after|before|although|though"
    r"|if|until|unless|every|ago|anymore|now|right now|these days|as well|too|for (?:\d|a\b|an\b|about|over|almost"
    r"|nearly|many|the (?:last|past))|(?:last|next|this) \w+|on (?:\d|mon|tue|wed|thu|fri|sat|sun)\w*|in (?:\d{4}|jan"
    r"|feb|mar|apr|may\b|jun|jul|aug|sep|oct|nov|dec)\w*|with (?:his|her|their|\w+'s)|and (?:has|is|was|works|lives"
    r"|loves|likes|plays))\b).*",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN_THING = re.compile(
    r"^(?:the|all|every|each|most|both) (?:\w+ ){0,3}?(?:api|apis|app|apps|server|servers|service|services|database"
    r"|db|repo|repository|code|codebase|build|builds|project|deployment|deployments|pipeline|website|site|backend"
    r"|frontend|system|cluster|cron job|job|jobs|script|scripts|endpoint|endpoints|port|office|meeting|meetings"
    r"|standup|stand-up|deadline|release|releases|sprint|sprints|budget|wifi|wi-fi|team|company|tests|test suite|logs"
    r"|staging|staging environment|production|queue|cache|library|module|package|platform|tool|version|branch|config"
    r"|configuration|domain|certificate|key|token|limit|invoice|contract|school|gym|store|shop|launch|wedding|party"
    r"|conference|course|class|house|apartment|flat|car|dashboard|worker|workers|bot|model|models|docs|documentation"
    r"|ci|function|class|method|file|files|folder|directory|setting|flag|variable|default|frontends?|timezone|client"
    r"|customer|kids|schema|gateway|web app|proxy)(?: (?:for|of) (?:the|our|my|\S+'s) \w+(?: \w+)?)?$",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?:an? |the )?(?!\S+'s )[A-Z\d+]|\S+@")
_QUALIFIED = re.compile(r"'s (?:work|home|old|new|second|other|last|next|weekly|monthly)\b|\balso\b")
_LONG_AGO = re.compile(r"\b(?:when|as|in \d{4}|ago|then)\b")
_CALLED = re.compile(
    rf"'s (?:\w+ ){{0,2}}?(?:{'|'.join(sorted(KIN))}|{PETS}),? (?:named |called )?(?P<name>[A-Z][\w-]+)$"
)


def stated(said: Said, turn: int, importance: float = 0.0) -> Statement | None:
    """The statement that a clause makes; nothing if it is not worth keeping or does not stand by itself."""
    if said.text.endswith(":") or _ADDRESSED.search(said.text) or _OPEN_END.search(said.text) or _is_unclear(said):
        return None
    if said.who is Who.THING and not _is_definite(said):
        return None
    made = being(said) if said.verb == "be" else having(said) or doing(said)
    made = made or task(said) or (_noted(said) if importance else None)
    if made is None:
        return None
    pattern, start = made
    rest = said.tail[len(start) :].strip()
    unclear = rest != said.tail and pattern.type is not Type.DECISION and _UNCLEAR.match(rest)
    if unclear or re.match(rf"{re.escape(said.subject)}\b(?!')", rest):
        return None
    return _statement(said, pattern, start, turn, importance)


def noted(clause: str, voice: Voice, turn: int) -> Statement | None:
    """What somebody asked to remember, in words that no rule takes apart."""
    if len(clause.split()) < 3 or _UNCLEAR.match(clause) or _ADDRESSED.search(clause) or _OPEN_END.search(clause):
        return None
    text = voice.retell(clause)
    return Statement(
        text=text, type=Type.FACT, kind=Kind.SEMANTIC, turns=(turn,), importance=0.8, tags=tags_of("fact", text)
    )


def _is_unclear(said: Said) -> bool:
    if said.verb in ("hate", "love", "like", "prefer", "dislike") and said.tail.startswith(("when ", "it when ")):
        return False
    if said.verb == "want":
        return False
    if said.verb == "have" and said.tail.startswith("any "):
        return not said.negated
    return bool(_UNCLEAR.match(said.tail))


def _is_definite(said: Said) -> bool:
    subject = said.subject
    first = subject.partition(" ")[0].lower()
    if "'s " in subject:
        return True
    if first in ("the", "all", "every", "each", "most", "both"):
        return bool(_PLAIN_THING.match(subject)) or any(
            word[:1].isupper() or word[:1] == "`" for word in subject.split()[1:]
        )
    return first not in ("this", "his", "her", "their") and subject.lower() not in PLACES


def _noted(said: Said) -> tuple[Pattern, str] | None:
    return None if said.could and said.verb == "be" else (fact("noted", importance=0.8), "")


def object_of(tail: str) -> str:
    """What the verb is about: its words up to a comma, a time or a reason."""
    return _CUT.sub("", tail, count=1).strip(" .!\"'")[:120]


def _statement(said: Said, pattern: Pattern, start: str, turn: int, importance: float) -> Statement:
    type_ = pattern.type
    if type_ is Type.PREFERENCE and said.verb in ("like", "love") and said.could and not said.negated:
        type_ = Type.OBSERVATION
    if type_ is Type.EVENT and (said.future or said.ongoing):
        type_ = Type.FACT
    rest = said.tail if start[:1].isdigit() else said.tail[len(start) :].strip()
    thing = object_of(rest)
    if pattern.predicate == "status":
        thing = start
    if said.verb in ("move", "relocate") and pattern.predicate == "lives_in":
        thing = re.sub(r"^.* to (?=[A-Z])", "", thing)
    if pattern.predicate == "job":
        thing = re.split(r"\s+(?:at|for|in)\s+", thing)[0]
    subject, thing = _roles(said, pattern, thing)
    return Statement(
        text=said.text,
        type=type_,
        kind=default_kind(type_) if not (said.held and type_ is Type.OBSERVATION) else Kind.OPINION,
        turns=(turn,),
        subject=subject,
        predicate=pattern.predicate,
        object=thing,
        is_single=pattern.is_single and _is_lasting(said, pattern, thing),
        negated=said.negated and not (said.could and pattern.predicate in ("dislikes", "avoids")),
        confidence=_confidence(said),
        importance=max(importance, pattern.importance),
        tags=tags_of(pattern.topic or type_.value, thing),
    )


def _roles(said: Said, pattern: Pattern, thing: str) -> tuple[str, str]:
    """Whose attribute it is, and what it is: both `my favourite tea is X` and `X is my favourite tea` are about me."""
    owner, _, what = thing.rpartition("'s ")
    if owner and what.lower().replace(" ", "_").replace("favor", "favour").endswith(pattern.predicate):
        return _short(owner), said.subject
    if "favourite_" in pattern.predicate or ATTRIBUTE.search(said.subject):
        return _short(said.subject.rpartition("'s ")[0] or said.subject), thing.removeprefix("on ")
    return _short(said.subject), thing


def _short(subject: str) -> str:
    """Somebody by name alone where they have one, so that all that is said of them is found together."""
    called = _CALLED.search(subject)
    return called["name"] if called else subject


def _is_lasting(said: Said, pattern: Pattern, thing: str) -> bool:
    """Whether it is so now and by itself, and can take the place of what was so before."""
    past = said.past and (pattern.predicate != "lives_in" or bool(_LONG_AGO.search(said.tail)))
    if said.negated or past or said.future or _QUALIFIED.search(said.text):
        return False
    named = pattern.predicate in ("married_to", "is") or bool(ATTRIBUTE.search(said.subject))
    return not named or bool(_VALUE.match(thing))


def _confidence(said: Said) -> float:
    sure = 0.85 if said.who is Who.SELF else 0.75
    return round(sure * (0.6 if said.hedged else 1.0) * (0.85 if said.resolved else 1.0), 2)
