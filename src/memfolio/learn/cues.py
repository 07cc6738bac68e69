"""Words around a name that tell of what type it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memfolio.learn.said import KIN, PETS

_BEFORE = {
    "project": r"\bproject|codenamed?|working on|(?:launch(?:ed|ing)?|release)(?: of)?|repo(?:sitory)?"
    r"|(?:app|project) (?:called|named)|renamed? .{0,30}(?:from|to)|maintains?|develops?|builds?|built|building|ship",
    "organization": r"\b(?:at|band is|(?:band|company) (?:called|named))|\b(?:works?|working|worked|job|position|role"
    r"|intern(?:ship)?|career|engineer|manager|consultant|developer|nurse|teacher|analyst|designer|currently|employed"
    r"|start(?:ed|ing)?|offer|interview\w*|studie[sd]|study|studying|interned) (?:at|for|from|with|by)|joined|joining"
    r"|company|startup|client|employer|bank with|left|quit",
    "tool": r"\b(?:us(?:e|es|ed|ing)|via|tool|library|framework|editor|running|database is|install\w*"
    r"|(?:written|built|made|coded|implemented|hosted|deployed|stored|run|runs|running) (?:in|on|with|using)"
    r"|(?:switch\w*|migrat\w+) (?:over )?(?:from [\w ]{1,20} )?to)",
    "person": r"\b(?:named|friend|met|meet|meeting|told|asked|ask|tell|call|thanks|thank|hi|hey|dear|married|marry|miss"
    rf"|ping|email|contact|(?:{PETS})s?,?|name is|i'm|i am|this is)",
    "place": r"\b(?:lives?|living|lived|moved?|moving|relocat\w+|based|born|raised|grew up|located|stay(?:ed|ing)?"
    r"|office|apartment|flat|house|hotel|arriv\w+|work(?:s|ing)?|trip|fly|flying|flew|travel\w*|vacation|holiday|weekend"
    r"|from|drive|drove|go|going|went|visit\w*|been|back|road|train|town|city|village|people|conference|school|marathon"
    r"|headquarters|hike[ds]?|walk(?:ed|s)?)(?: (?:in|to|from|near|at|of|around|outside|through|called))?|near|outside",
}
_AFTER = {
    "project": r"\s+(?:project|app|service|repo|codebase|api|dashboard|website|release|deployment|backend|frontend"
    r"|launch|is licensed|runs on|depends on|talks to|stores|uses|is written|is built|deploys)\b",
    "organization": r"\s+(?:office|team|headquarters|employees|stock|contract|hired|acquired)\b",
    "person": r"(?:'s (?:birthday|wife|husband|mother|father|house|sister|brother|mom|dad|daughter|son|job|number|party"
    r"|wedding|email)|\s+(?:says?|said|works?|lives?|told|asked|loves?|likes?|hates?|prefers?|thinks?|wants?"
    r"|is (?:my|our|a|an|the|his|her|allergic|from|turning)|joined|moved|plays?|speaks?|handles?|called"
    r"|married|owns?|got|just|was born|studies|teaches|will|sent|has been|turned))\b",
}
PRECEDING: Mapping[str, re.Pattern[str]] = {
    type_: re.compile(rf"(?:{words})\s+(?:the\s+)?[\"'(]?$", re.IGNORECASE) for type_, words in _BEFORE.items()
}
FOLLOWING: Mapping[str, re.Pattern[str]] = {type_: re.compile(words) for type_, words in _AFTER.items()}
BESIDE = re.compile(r"\bwith\s+$")
LIVELY = re.compile(
    r"'s (?:birthday|wife|husband|mother|father|sister|brother|mom|dad|daughter|son)\b| (?:works (?:at|for|as|in|from)"
    r"|lives (?:in|with)|is (?:allergic|turning|\d)|was born|moved to|got married|married|joined|speaks|studies|teaches"
    rf"|is (?:my|our|the|an?) (?:\w+ )?(?:{'|'.join(sorted(KIN))}|CEO|CTO|CFO|lead|engineer|developer|designer)"
    r"|turned \d|(?:called|told) (?:me|us)|and I)\b"
)
"""What only people do."""
USED = PRECEDING["tool"]
PLACED = re.compile(r"\b(?:in|to|from|near|at|around|visit\w*|of)\s+$")
PERSONAL = re.compile(rf"\b(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?|(?i:{'|'.join(sorted(KIN))})s?,?)\s+$")
"""A title, or what somebody is to somebody."""


def type_by_cues(before: str, after: str) -> str:
    """The type that the words around a name tell; empty if they tell none."""
    following = (type_ for type_, cue in FOLLOWING.items() if cue.match(after))
    preceding = (type_ for type_, cue in PRECEDING.items() if cue.search(before))
    return next(following, "") or next(preceding, "")
