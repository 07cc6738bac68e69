"""What a clause says that is worth keeping: facts, preferences, decisions, plans, events and tasks."""

from __future__ import annotations

import re

from memfolio.learn.gazetteer import LANGUAGES, NAMES
from memfolio.learn.learned import Statement
from memfolio.learn.patterns import BEING, VERBS, Pattern, matched
from memfolio.learn.said import Said, Who
from memfolio.learn.tags import tags_of
from memfolio.types import Kind, Type, default_kind

_UNCLEAR = re.compile(
    r"(?:it|that|this|them|those|these|him|so|there|one|ones|you|your|what|how|why|where|when|who|her|both|all"
    r"|everything(?! (?:in|on|with|via|to)\b)|anything(?= (?:to|that|about|else)\b|$)|something|someone|things|stuff"
    r"|such|any|whether|if|and|or|but|because|being able|hearing|seeing how)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'll|you'd|y'all|ya)\b", re.IGNORECASE)
_OPEN_END = re.compile(
    r"\b(?:this|that one|these|those|them|him|here|there|(?<!on )it) *$|\b(?:like (?:this|that)|about (?:it|this"
    r"|that)|(?:to|of|in|with|from|for|sharing|doing|at) (?:that|this|these|those|them|him|it))\b",
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
WHEN = re.compile(
    r"\b(?:tomorrow|tonight|today|next (?:week|month|year|spring|summer|fall|autumn|winter|\w+day)|this (?:week|month"
    r"|year|weekend|spring|summer|fall|autumn|winter|afternoon|evening|\w+day)|(?:on|by|in|until|before|from|this"
    r"|at) (?:the )?(?:\d|mon|tues|wednes|thurs|fri|satur|sun|jan|feb|march|apr|may\b|june|july|aug|sept|oct|nov|dec"
    r"|end of|noon|midnight|christmas|easter|spring|summer|autumn|winter|(?:a|two|three|four|five|six|a few) (?:day"
    r"|week|month|year))|(?:jan|feb|march|apr|may|june|july|aug|sept?|oct|nov|dec)[a-z]* \d)",
    re.IGNORECASE,
)
_OFTEN = re.compile(
    r"\b(?:every|each|once|twice|daily|weekly|monthly|regularly|usually|often|always|never|on \w+days|times a"
    r"|weekends|most)\b"
)
_GROUP = re.compile(
    r"\b(?:team|band|club|choir|board|committee|group|orchestra|army|navy|military|year|diet|grade|semester"
    r"|relationship|shift|leave|sabbatical|child|baby|twins)\b"
)
_LASTING = re.compile(r"\b(?:since|for (?:\w+ ){1,3}(?:years?|months?|weeks?|days?|decades?))\b")
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
_ATTRIBUTE = re.compile(
    r"'s (?:full |first |last |middle |home |work |current |main |native |new |old |weekly |monthly |preferred "
    r")*(?P<what>name|nickname|birthday|date of birth|age|job|job title|role|title|profession|occupation|address"
    r"|email|email address|phone|number|phone number|hometown|language|mother tongue|time ?zone|budget|salary|height"
    r"|weight|shoe size|blood type|pronouns|manager|boss|employer|company|degree|major|hobby|hobbies|username|handle"
    r"|editor|ide|os|laptop|car|stack|anniversary|zodiac sign|goal|dream|dream job|nationality|religion|surname"
    r"|school|university|deadline|schedule)$",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:'s|their|his|her|of) (?:all-time |absolute |least |most )?(?:favou?rite|go-to) (?P<what>[\w' -]{2,40})$", re.I
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
_JUDGED = re.compile(
    r"\b(?:best|worst|great|good|bad|awesome|amazing|terrible|horrible|overrated|underrated|better|worse|beautiful"
    r"|ugly|boring|fun|nice|cool|perfect|awful|important|useful|useless|slow|fast|incredible|wonderful|interesting"
    r"|stupid|annoying|delicious|super|lovely|gorgeous|fantastic|hard|tough|easy|crazy|worth|weird|powerful|inspiring"
    r"|empowering|roller ?coaster|(?<!of )experience|journey|reminder|blessing|challenge|struggle)\b"
)
_PLANLESS = re.compile(r"(?:by|for|with|to|at|through|over|off|\w+ing)\b", re.IGNORECASE)
_FOODLIKE = re.compile(r"(?!an?\b|the\b|any\b|too\b|been\b|to\b|more\b|both\b)\w+(?: (?:and|or|\w+)){0,3}")
_TO_DO = re.compile(r"to (?!work|school|church|bed|the|a|my|see)(?:\w+)(?: and|$| with| my| some)")
_ERRAND = re.compile(
    r"to (?:make sure|be sure|know|see|understand|ensure|ask|say|discuss|hear|talk|thank|share|check|confirm|clarify"
    r"|start|use|create|implement|add|explore|find out|figure|get|do|have|be|keep|set|avoid|include|focus|achieve|try"
    r"|handle|show|optimi[sz]e|improve|test|fix|update|mention|point|note|tell|give|display|prevent|integrate|track"
    r"|pick|end|highlight)\b"
)
_ABLE = frozenset("speak play drive swim cook code dance sing".split())


def stated(said: Said, turn: int, importance: float = 0.0) -> Statement | None:
    """The statement that a clause makes; nothing if it is not worth keeping or does not stand by itself."""
    if said.text.endswith(":") or _ADDRESSED.search(said.text) or _OPEN_END.search(said.text) or _is_unclear(said):
        return None
    if said.who is Who.THING and not _is_definite(said):
        return None
    made = _being(said) if said.verb == "be" else _having(said) or _doing(said)
    made = made or _task(said) or (_noted(said) if importance else None)
    if made is None:
        return None
    pattern, start = made
    rest = said.tail[len(start) :].strip()
    if (rest != said.tail and _UNCLEAR.match(rest) and pattern.type is not Type.DECISION) or rest.startswith(
        said.subject
    ):
        return None
    return _statement(said, pattern, start, turn, importance)


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
    return first not in ("this", "his", "her", "their")


def _fact(
    predicate: str, *, importance: float = 0.6, single: bool = False, type: Type = Type.FACT, topic: str = ""
) -> Pattern:
    return Pattern(
        starts=("",), predicate=predicate, importance=importance, is_single=single, type=type, topic=topic or "fact"
    )


def _being(said: Said) -> tuple[Pattern, str] | None:
    if said.could or said.future:
        return None
    if favourite := _FAVOURITE.search(said.subject):
        if _JUDGED.search(said.tail):
            return None
        what = "_".join(favourite["what"].lower().split())
        return _fact(f"favourite_{what}", single=True, type=Type.PREFERENCE, topic="preference"), ""
    attribute = _ATTRIBUTE.search(said.subject)
    if attribute and not _is_loose(said):
        what = "_".join(attribute["what"].lower().split())
        return _fact(what, importance=0.8, single=True, topic=what), ""
    for pattern in BEING:
        fits = said.who in pattern.who and (pattern.predicate != "member" or _GROUP.search(said.tail))
        if fits and (start := matched(pattern, said.tail)) is not None:
            return pattern, start
    return _identity(said)


def _is_loose(said: Said) -> bool:
    """Whether what is said of an attribute judges it rather than tells it."""
    if said.resolved:
        return not re.match(r"[A-Z\d]", said.tail)
    return bool(
        _JUDGED.search(said.tail) or re.match(r"(?:like|so|such|not|over|ready|due|late|broken|\w+ed)\b", said.tail)
    )


def _identity(said: Said) -> tuple[Pattern, str] | None:
    tail = said.tail
    if said.who is Who.THING and (said.past or said.resolved):
        return None
    if re.match(r"\d{1,3}(?: years old| now|$|,| and)", tail) and said.who is not Who.THING:
        return _fact("age", importance=0.8, single=True, topic="age"), ""
    if re.match(r"[\d.,]+ ?(?:m|cm|feet|foot|ft|kg|lbs?|kilos)\b", tail):
        return _fact("size", importance=0.6, single=True, topic="body"), ""
    if re.match(r"(?:an? )\w", tail):
        if _NO_THING.match(tail) or _JUDGED.search(tail) or (said.past and said.who is Who.SELF and "when" in tail):
            return None
        job = said.who in (Who.SELF, Who.PERSON)
        return _fact("is_a", importance=0.8 if job else 0.6, topic="identity" if job else "fact"), tail.split()[0]
    if said.who is Who.SELF and tail[:1].isupper() and not said.past:
        return _name_or_nation(tail)
    if said.who in (Who.SELF, Who.WE) or _JUDGED.search(tail):
        return None
    if favourite := re.match(r"(?:\S+|the user)'s favou?rite (?P<what>[\w -]{2,30})", tail):
        what = "_".join(favourite["what"].lower().split())
        return _fact(f"favourite_{what}", single=True, type=Type.PREFERENCE, topic="preference"), ""
    if re.match(r"(?:the|called|\S+'s) \w|the user's", tail) and not _NO_THING.match(tail[4:]):
        return _fact("is"), ""
    if _HOUSE.search(said.subject) and re.match(r"(?:on|in|at|near|next to|behind|above|opposite) ", tail):
        return _fact("located_in", single=True, topic="place"), tail.split()[0]
    if said.who is Who.PERSON and re.match(r"\d{1,2} and \d", tail):
        return _fact("age", topic="age"), ""
    if said.who is Who.THING and (tail[:1].isupper() or tail[:1].isdigit() or WHEN.match(tail)):
        return _fact("is", single=True), ""
    return None


def _name_or_nation(tail: str) -> tuple[Pattern, str] | None:
    first = re.split(r"[\s,]", tail, maxsplit=1)[0]
    if first.lower() in LANGUAGES:
        return _fact("nationality", importance=0.8, single=True, topic="identity"), ""
    named = first.lower() in NAMES or re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:,.*)?", tail)
    return (_fact("name", importance=0.8, single=True, topic="name"), "") if named else None


def _having(said: Said) -> tuple[Pattern, str] | None:
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
        return (_fact("plans", topic="plan"), "") if WHEN.search(said.tail) else None
    if _NO_THING.match(said.tail) and not re.match(r"no (?!idea|problem|doubt|clue|time|plan)|type [12]", said.tail):
        return None
    return _fact("has", topic="possession" if said.who is Who.SELF else "fact"), ""


def _doing(said: Said) -> tuple[Pattern, str] | None:
    if said.verb == "have" and said.negated and " can't " in said.text and _FOODLIKE.fullmatch(said.tail):
        return _fact("avoids", type=Type.PREFERENCE, topic="food"), ""
    if said.verb == "stand" and said.negated and said.could:
        return _fact("dislikes", type=Type.PREFERENCE, topic="preference"), ""
    if said.verb == "mind" or (said.could and not _may(said)):
        return None
    tense = _tense(said)
    for pattern in VERBS.get(said.verb, ()):
        if tense in pattern.tenses and said.who in pattern.who and (start := matched(pattern, said.tail)) is not None:
            return (pattern, start) if _fits(pattern, said) else None
    return None


def _may(said: Said) -> bool:
    if (said.verb in _ABLE and " would " not in said.text) or (said.verb in ("eat", "drink") and said.negated):
        return True
    return said.verb in ("prefer", "like", "love") and not said.past


def _tense(said: Said) -> str:
    if said.ongoing or said.future:
        return "f" if said.future else "p" if said.past else "g"
    if said.perfect:
        always = " always " in said.text or " never " in said.text
        return "n" if always or _LASTING.search(said.tail) else "p"
    return "p" if said.past else "n"


def _fits(pattern: Pattern, said: Said) -> bool:
    if not said.tail and (pattern.type is not Type.FACT or pattern.predicate not in ("does", "graduated")):
        return False
    if pattern.predicate == "goes_to":
        school = re.match(r"to (?:[A-Z]|(?:school|kindergarten|daycare|university|college)\b)", said.tail)
        return bool(school or _OFTEN.search(said.text)) and not _TO_DO.match(said.tail)
    if pattern.predicate == "plans":
        named = said.ongoing and any(word[:1].isupper() for word in said.tail.split())
        return (
            not _PLANLESS.match(said.tail)
            and not said.perfect
            and not said.past
            and (named or bool(WHEN.search(said.tail)))
        )
    if pattern.predicate == "wants_to":
        return not said.could and not _ERRAND.match(said.tail)
    if pattern.type is Type.EVENT:
        planned = not (said.future or said.ongoing) or (not said.past and bool(WHEN.search(said.tail)))
        return planned and not said.negated and len(said.tail) > 2
    if pattern.predicate == "studies":
        return not re.match(r"(?:hard|prep|for|more|real|a lot)\b", said.tail)
    if pattern.predicate == "job":
        return said.tail.split()[-1:] != ["as"]
    if pattern.predicate in ("likes", "prefers") and said.could and not said.negated:
        return pattern.predicate == "prefers" and not said.tail.startswith("to ")
    if pattern.predicate == "speaks":
        return not re.match(r"(?:to|with|about|up|at|of|for)\b", said.tail)
    if pattern.predicate in ("does", "plays", "uses", "wears", "learns") and said.who in "sp" and not pattern.starts[0]:
        return not re.match(
            r"(?:to|about|down|out|up|off|more|the (?:following|same|above|provided)|from|like|ever|again|since"
            r"|along)\b",
            said.tail,
        )
    return True


def _task(said: Said) -> tuple[Pattern, str] | None:
    if said.who not in (Who.SELF, Who.WE) or said.negated or said.hedged or not WHEN.search(said.tail):
        return None
    must = said.verb in ("need", "have") and said.tail.startswith("to ")
    if must or (said.future and not said.ongoing):
        return _fact("has_to", type=Type.TASK, topic="task"), "to" if must else ""
    return None


def _noted(said: Said) -> tuple[Pattern, str] | None:
    return None if said.could and said.verb == "be" else (_fact("noted", importance=0.8), "")


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
        is_single=pattern.is_single and not said.negated,
        negated=said.negated,
        confidence=_confidence(said),
        importance=max(importance, pattern.importance),
        tags=tags_of(pattern.topic or type_.value, thing),
    )


def _roles(said: Said, pattern: Pattern, thing: str) -> tuple[str, str]:
    """Whose attribute it is, and what it is: both `my favourite tea is X` and `X is my favourite tea` are about me."""
    if pattern.predicate.startswith("favourite_") and "favo" in thing:
        return thing.partition("'s ")[0], said.subject
    if pattern.predicate.startswith("favourite_") or _ATTRIBUTE.search(said.subject):
        return said.subject.rpartition("'s ")[0] or said.subject, thing
    return said.subject, thing


def _confidence(said: Said) -> float:
    sure = 0.85 if said.who is Who.SELF else 0.75
    return round(sure * (0.6 if said.hedged else 1.0) * (0.85 if said.resolved else 1.0), 2)
