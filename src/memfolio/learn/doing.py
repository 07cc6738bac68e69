"""What somebody or something does, did, plans or has to do."""

from __future__ import annotations

import re

from memfolio.learn.gazetteer import OFTEN, TOOLS, WHEN
from memfolio.learn.patterns import VERBS, Pattern, fact, matched
from memfolio.learn.said import Said, Who
from memfolio.types import Type

_LASTING = re.compile(r"\b(?:since|for (?:\w+ ){1,3}(?:years?|months?|weeks?|days?|decades?))\b")
_PLANLESS = re.compile(r"(?:by|for|with|to|at|through|over|off|\w+ing)\b", re.IGNORECASE)
_FOODLIKE = re.compile(r"(?!an?\b|the\b|any\b|too\b|been\b|to\b|more\b|both\b)\w+(?: (?:and|or|\w+)){0,3}")
_TO_DO = re.compile(r"to (?!work|school|church|bed|the|a|my|see)(?:\w+)(?: and|$| with| my| some)")
_ERRAND = re.compile(
    r"to (?:make sure|be sure|know|see|understand|ensure|ask|say|discuss|hear|talk|thank|share|check|confirm|clarify"
    r"|start|use|create|implement|add|explore|find out|figure|get|do|have|be|keep|set|avoid|include|focus|achieve|try"
    r"|handle|show|optimi[sz]e|improve|test|fix|update|mention|point|note|tell|give|display|prevent|integrate|track"
    r"|pick|end|highlight)\b"
)
_SCHOOL = re.compile(r"to (?:[A-Z]|(?:school|kindergarten|daycare|university|college)\b)")
_EFFORT = re.compile(r"(?:hard|prep|for|more|real|a lot)\b")
_IDLE = re.compile(
    r"(?:to|into|with others|about|down|out|up|off|more|the (?:following|same|above|provided)|from|like|ever|again"
    r"|since|along|a (?:ton|lot)|for (?:\w+ ){1,3}(?:days?|weeks?|months?|years?))\b"
)
_UNFIT = {
    **dict.fromkeys(("does", "plays", "uses", "wears", "learns"), _IDLE),
    "speaks": re.compile(r"(?:to|with|about|up|at|of|for)\b"),
}
_ABLE = frozenset("speak play drive swim cook code dance sing".split())


def doing(said: Said) -> tuple[Pattern, str] | None:
    """The pattern of what is done, and the words with which the tail begins; nothing if not worth keeping."""
    if said.verb == "have" and said.negated and " can't " in said.text and _FOODLIKE.fullmatch(said.tail):
        return fact("avoids", type=Type.PREFERENCE, topic="food"), ""
    if said.verb == "stand" and said.negated and said.could:
        return fact("dislikes", type=Type.PREFERENCE, topic="preference"), ""
    if said.verb == "mind" or (said.could and not _may(said)):
        return None
    tense = _tense(said)
    to_tool = said.verb == "move" and any(word.lower() in TOOLS for word in said.tail.split())
    for pattern in VERBS.get("migrate" if to_tool else said.verb, ()):
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
    if not said.tail and pattern.predicate not in ("does", "graduated"):
        return False
    if (unfit := _UNFIT.get(pattern.predicate)) and not pattern.starts[0] and said.who in "sp":
        return not unfit.match(said.tail)
    if pattern.predicate == "lives_in" and said.tail.startswith("from "):
        return " to " in said.tail
    if pattern.predicate == "goes_to":
        return bool(_SCHOOL.match(said.tail) or OFTEN.search(said.text)) and not _TO_DO.match(said.tail)
    if pattern.predicate == "plans":
        return _is_plan(said)
    if pattern.predicate == "wants_to":
        return not said.could and not _ERRAND.match(said.tail)
    if pattern.type is Type.EVENT:
        planned = not (said.future or said.ongoing) or (not said.past and bool(WHEN.search(said.tail)))
        return planned and not said.negated and len(said.tail) > 2
    if pattern.predicate in ("likes", "prefers") and said.could and not said.negated:
        return pattern.predicate == "prefers" and not said.tail.startswith("to ")
    return pattern.predicate != "studies" or not _EFFORT.match(said.tail)


def _is_plan(said: Said) -> bool:
    if said.perfect or said.past or _PLANLESS.match(said.tail):
        return False
    named = said.ongoing and any(word[:1].isupper() for word in said.tail.split())
    return named or bool(WHEN.search(said.tail))


def task(said: Said) -> tuple[Pattern, str] | None:
    """The same of what the speaker has to do by some time."""
    if said.who not in (Who.SELF, Who.WE) or said.negated or said.hedged or not WHEN.search(said.tail):
        return None
    must = said.verb in ("need", "have") and said.tail.startswith("to ")
    if must or (said.future and not said.ongoing):
        return fact("has_to", type=Type.TASK, topic="task"), "to" if must else ""
    return None
