"""A short answer, put together with the question that it answers."""

from __future__ import annotations

import re

from memfolio.learn.verbs import lemma_of

_MOST_WORDS = 8
_NO_ANSWER = re.compile(
    r"(?:yes|no|yeah|nope|yep|sure|ok|okay|maybe|i\b|i'm|we\b|not|don't|none|nothing|thanks|good|great|fine|hmm|why"
    r"|what|sorry|it\b|that|my|you|never mind|pass|idk|dunno|nowhere|skip|please|let)\b",
    re.IGNORECASE,
)
_ASKED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(text, re.IGNORECASE), told)
    for text, told in (
        ((r"where (?:do you live|are you (?:based|living|located))|(?:which|what) (?:city|country|town) (?:do you live"
         r"|are you)"), "I live in {0}"),
        (r"where are you (?:originally )?from|where do you come from", "I am from {0}"),
        ((r"what(?:'s| is) your (?:full |first )?name|what (?:should|can|may|do) I call you|who am I (?:talking"
         r"|speaking)"), "My name is {0}"),
        (r"how old are you|what(?:'s| is) your age", "I am {0}"),
        (r"when(?:'s| is) your birthday|when were you born", "My birthday is {0}"),
        (r"where do you work|who do you work for|which company|what company", "I work at {0}"),
        (r"what do you do(?: for (?:a living|work))?\s*\?|what(?:'s| is) your (?:job|profession|occupation|role)",
         "My job is {0}"),
        (r"are you (?:married|single|vegetarian|vegan|divorced|in a relationship)|marital status", "I am {0}"),
        (r"(?:any|have|got) (?:\w+ ){0,3}?allergies|what are you allergic to|are you allergic", "I am allergic to {0}"),
        (r"what(?:'s| is) your favou?rite (?P<x>[\w ]{2,30})|which (?P<y>\w{2,20}) do you like (?:best|most)",
         "My favourite {x} is {0}"),
        (r"(?:what|which) (?P<x>[\w ]{2,30}) (?:do you|are you|does your team) us(?:e|ing)|what do you use",
         "I use {0}"),
        (r"(?:what|which) languages? do you speak", "I speak {0}"),
        (r"(?:which|what) (?P<x>[\w ]{2,30}) do you prefer|what do you prefer|do you prefer|would you prefer",
         "I prefer {0}"),
        (r"(?:what|which) (?P<x>instruments?|sports?|games?) do you play", "I play {0}"),
        (r"how many (?P<x>[\w ]{2,30}?) (?:do you have|have you got|are (?:on|in) your (?P<y>\w+))", "I have {0} {x}"),
        (r"do you have (?:any )?(?P<x>kids|children|pets|siblings)", "I have {0}"),
        (r"what (?:do|did) you study|what(?:'s| is) your major", "I study {0}"),
        (r"what(?:'s| is) your (?P<x>[\w ]{3,30})\?", "My {x} is {0}"),
    )
)  # fmt: skip


def answered(question: str, answer: str) -> str:
    """What a short answer says, as a sentence of the one who answers; empty where that is not clear."""
    answer = re.split(r"(?<=[.!])\s", answer.strip(), maxsplit=1)[0]
    words = answer.split()
    if not words or len(words) > _MOST_WORDS or "?" in answer or _NO_ANSWER.match(answer) or " is " in answer:
        return ""
    if lemma_of(words[0].lower()) or "\n" in answer:
        return ""
    last = re.split(r"(?<=[.!?])\s+", question[-400:].replace("’", "'").strip())[-1]
    if not last.endswith("?"):
        return ""
    for asked, told in _ASKED:
        if (found := asked.search(last)) and found.groupdict().get("x") not in ("one", "part", "thing"):
            return _filled(told, found.groupdict(), re.sub(r",? please$", "", answer.strip(" .!")))
    return ""


def _filled(told: str, parts: dict[str, str | None], answer: str) -> str:
    bare = re.sub(r"^(?:in|at|as|from|probably|a bit of|to)\s+", "", answer, flags=re.IGNORECASE)
    what = parts.get("x") or parts.get("y") or ""
    if parts.get("x") and parts.get("y"):
        return f"My {parts['y']} has {bare} {parts['x']}"
    return told.format(bare, x=what.strip())
