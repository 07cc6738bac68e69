"""What a memory's own words say about its use: that they tell a time, or a wish that stands. English. Pure."""

from __future__ import annotations

import re

MONTHS = "january february march april may june july august september october november december".split()
MACHINES = frozenset("assistant ai bot model agent".split())
"""Roles of those who answer; what the others say is about themselves, and worth more."""

_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weeks?|weekend|months?|years?|days?|recently|soon|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|" + "|".join(MONTHS) + r"|\d{4}|\d+(?:st|nd|rd|th))\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"\W*(?:always|never|from now on|whenever)\b")
_WISH = re.compile(
    rf"^{_RULE.pattern}|\bi(?:'d| would)?(?: really| usually| generally)? prefer\b|\bwhen(?:ever)? i ask\b"
)


def tells_time(content: str) -> bool:
    return _TIME.search(content[:4000]) is not None


def is_standing_wish(content: str) -> bool:
    """Whether somebody says how they want things from then on."""
    beginning = content[:1500].lower()
    if "prefer" in beginning or "i ask" in beginning:
        return _WISH.search(beginning) is not None
    return _RULE.match(beginning) is not None


def is_machine(role: str | None) -> bool:
    return role is not None and role.casefold() in MACHINES
