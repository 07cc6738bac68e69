"""What a memory's own words say about its use: that they tell a time, a name, a number or a wish that stands.

English, but for names and figures. What was read is kept, since the same memories come up again and again. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

MONTHS = "january february march april may june july august september october november december".split()
MACHINES = frozenset("assistant ai bot model agent".split())
"""Roles of those who answer; what the others say is about themselves, and worth more."""
KEPT = 8192

_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weeks?|weekend|months?|years?|days?|recently|soon|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|" + "|".join(MONTHS) + r"|\d{4}|\d+(?:st|nd|rd|th))\b"
)
# A capital that begins neither the text nor a sentence.
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-ZÀ-ÖØ-Þ][^\W\d_]+")
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|couple|dozen|hundred|thousand)\b"
)
_SELF = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur)\b")
_RULE = re.compile(r"\W*(?:always|never|from now on|whenever)\b")
_WISH = re.compile(
    rf"^{_RULE.pattern}|\bi(?:'d| would)?(?: really| usually| generally)? prefer\b|\bwhen(?:ever)? i ask\b"
)


@lru_cache(KEPT)
def tells_time(content: str) -> bool:
    return _TIME.search(content.lower()) is not None


@lru_cache(KEPT)
def _names(content: str) -> frozenset[str]:
    return frozenset(_NAME.findall(content))


def tells_name(content: str, known: Container[str] = ()) -> bool:
    """Whether somebody or something is named beside those who are known."""
    return any(name not in known for name in _names(content))


@lru_cache(KEPT)
def tells_number(content: str) -> bool:
    return _NUMBER.search(content.lower()) is not None


@lru_cache(KEPT)
def tells_of_self(content: str) -> bool:
    return _SELF.search(content) is not None


@lru_cache(KEPT)
def is_standing_wish(content: str) -> bool:
    """Whether somebody says how they want things from then on."""
    beginning = content.lower()
    if "prefer" in beginning or "i ask" in beginning:
        return _WISH.search(beginning) is not None
    return _RULE.match(beginning) is not None


def is_machine(role: str | None) -> bool:
    return role is not None and role.casefold() in MACHINES
