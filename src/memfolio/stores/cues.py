"""Words by which a text tells what it is, where nothing better is known. Pure."""

from __future__ import annotations

import re

from memfolio.types import Type


def _words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, in which a run of white space stands for one space."""
    return re.compile(rf"(?i)\b(?:{' '.join(pattern.split()).replace(' | ', '|')})\b")


TYPES: dict[Type, re.Pattern[str]] = {
    Type.CORRECTION: _words(r"actually(?=,) | correction | i was wrong | that was wrong | not \w+ but | no longer"),
    Type.TASK: _words(r"(?:i|we) (?:need|have|must|should)(?: to)? | to-?do | remind me | due (?:on|by) | deadline"),
    Type.ERROR: _words(r"error | exception | crash(?:ed|es)? | fail(?:s|ed|ure)? | broke | bug | outage | timed out"),
    Type.LESSON: _words(r"learn(?:ed|t) | lesson | turns out | next time | the trick is | never | always | works best"),
    Type.EMOTION: _words(
        r"(?:i|we)(?:['’]m| am| feel| are)? (?:so )?(?:happy|sad|angry|excited|worried|anxious|upset|proud)"
    ),
}
"""What those types are told by that are not learned from statements, the most telling first."""
TASK = _words(
    r"call | send | buy | pay | book | fix | finish | submit | renew | ask | write | check | order | schedule"
)
"""What a task begins with."""
IDENTITY = _words(
    r"""my name is | call me | i(?: am|['’]m) (?:an?|from) | i live in | i work (?:at|for|as) | i speak
    | my (?:job|role|time ?zone|pronouns|birthday|email|native language) (?:is|are)
    | my (?:wife|husband|partner)(?:['’]s name)? is (?:called )?(?-i:[A-Z])\w*"""
)
CRITICAL = _words(
    r"""allerg\w+ | diabet\w+ | epilep\w+ | medication | blood type | emergency contact | under no circumstances
    | must (?:never|always) | critical(?=:| that| to) | life[- ]threatening | colou?r[- ]?blind
    | i(?: am|['’]m) (?:an? |strictly )*(?:vegan|vegetarian)"""
)
ACTIVE = _words(
    r"""(?:i am|i['’]m|we are|we['’]re) (?:currently )?working on | current(?:ly)? (?:project|working|focus)
    | my priority"""
)
PROCEDURE = _words(
    r"""how to | steps? ?(?=[0-9:]) | first\b.{1,200}\bthen | when(?:ever)? .{1,100}, (?:always|first|run|use)
    | to \w+ .{1,80}, (?:run|use|first|you) | procedure | workflow | runbook"""
)
VAULT = _words(r"never (?:delete|forget|lose|archive) | keep (?:this |it )?forever | permanent(?:ly)? | for ?ever")
UNSURE = _words(r"maybe | perhaps | probably | i think | i guess | might | could be | possibly | apparently | seems?")
DOUBTFUL = _words(
    r"""not sure | no idea | unsure | don['’]t know | unconfirmed | rumou?r | (?:just )?(?:kidding|joking) | lol | jk"""
)


def type_of(text: str) -> Type:
    """What a text most likely is, by its words."""
    if TASK.match(text):
        return Type.TASK
    if PROCEDURE.search(text):
        return Type.LESSON
    return next((type_ for type_, pattern in TYPES.items() if pattern.search(text)), Type.OBSERVATION)
