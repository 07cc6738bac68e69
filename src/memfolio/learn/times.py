"""Words that tell when and how often."""

from __future__ import annotations

import re

WHEN = re.compile(
    r"\b(?:tomorrow|tonight|today|next (?:week|month|year|spring|summer|fall|autumn|winter|\w+day)|this (?:week|month"
    r"|year|weekend|spring|summer|fall|autumn|winter|afternoon|evening|\w+day)|(?:on|by|in|until|before|from|this"
    r"|at) (?:the )?(?:\d|mon|tues|wednes|thurs|fri|satur|sun|jan|feb|march|apr|may\b|june|july|aug|sept|oct|nov|dec"
    r"|end of|noon|midnight|christmas|easter|spring|summer|autumn|winter|(?:a|two|three|four|five|six|a few) (?:day"
    r"|week|month|year))|(?:jan|feb|march|apr|may|june|july|aug|sept?|oct|nov|dec)[a-z]* \d)",
    re.IGNORECASE,
)
OFTEN = re.compile(
    r"\b(?:every|each|once|twice|daily|weekly|monthly|regularly|usually|often|always|never|on \w+days|times a"
    r"|weekends|most)\b"
)
