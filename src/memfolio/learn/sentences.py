"""A turn as the clauses that it tells: sentences split where somebody else, or the same one, is told of again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memfolio.learn.junk import is_question
from memfolio.learn.verbs import ADVERBS, AUXILIARIES, FORMS, MODALS, is_finite, is_past, third

_LONGEST = 600
_END = re.compile(r"(?<=[.!?…])[\"')]*\s+")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|vs|etc|e\.g|i\.e|approx|No|[A-Z]))\.$")
_WHO = (
    r"(?!I (?:are|were|both)\b)(?:I|I'm|I've|I'd|I'll|we|we're|we've|we'll|my|our|he|she|they|he's|she's|they're|it's"
    r"|the|it|his|her|their|[A-Z][a-z]+ (?:is|has|was|works|lives|likes|loves|hates|prefers|uses|runs))\b"
)
_ASKS = (
    r"(?:can|could|would|will|do|does|did|is|are|should|shall) (?:you|I|we|it|there|that|this|they)\b|(?:what|how|why"
    r"|any)(?:'s|'re)? (?:is|are|do|does|can|could|should|would|about|to|advice|tips|ideas?|suggestions?|thoughts"
    r"|would|kind|type|sort)\b|(?:what's|how's|and you)\b"
)
_BREAK = re.compile(
    rf"\s*;\s+|\s+[-–—]+\s+|\s*—\s*|:\s+(?={_WHO})|,?\s+(?:but|however|although|whereas|yet)(?:,)?\s+|,\s+(?:so"
    rf"|though)\s+|,\s+(?:(?:and|so|plus|and so|and also|then)\s+)?(?={_WHO})|,?\s+(?:and|so|plus|and also|and "
    rf"now)\s+(?={_WHO})|,\s+(?:(?:and|so|but|um|hmm)\s+)?(?={_ASKS})|\s+(?:and|so)\s+(?={_ASKS})"
)
_PAIR = re.compile(r"(?:[Mm]y|[Oo]ur) \w+(?: [A-Z]\w+)?|[A-Z]\w+")
_THING = re.compile(r"(?:my|our|the|his|her|their)\s", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:(?:well|so|and|but|also|oh|ah|um|uh|hmm|hm|yeah|yes|yep|no|nope|ok|okay|sure|right|hey|hi|hello|wow|haha"
    r"|lol|correction|update|btw|by the way|plus|anyway|honestly"
    r"|actually|basically|currently|right now|at the moment|these days"
    r"|nowadays|lately|fyi|for context|for your information|as you know|to be honest|tbh|in fact|of course"
    r"|unfortunately|fortunately|sadly|luckily|just so you know|interestingly|personally|for me|as for me|absolutely"
    r"|definitely|exactly|totally|great|cool|thanks|thank you|good morning|good evening|sorry|first of all|besides"
    r"|then|now|too|one more thing|oh yeah|indeed|as I said|like I said|like|I mean|you know|I guess|well actually"
    r"|nice|true|funny enough|apparently|in general|again)(?:\s*[,:!.–-]+\s*|\s+(?=(?:I|I'm|I've|I'd|I'll|we|we're"
    r"|we've|my|our)\b))|(?:actually|honestly|currently|unfortunately|fortunately|luckily|sadly|basically|meanwhile"
    r"|however|also|now)\s+(?=(?-i:[A-Z])|the\b))+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r",? (?:by the way|btw|you know|to be honest|tbh|lol|haha|just so you know|fyi|for the record|of course)$", re.I
)
_NAMED = re.compile(r"^[A-Z][a-z]+,\s+(?=(?:I|I'm|I've|we|my|our)\b)")
_AND = re.compile(
    r",?\s+and\s+(?:(?:also|now|currently|often|usually|sometimes|recently|just|really|then)\s+)?(?P<verb>[a-z']+)\b"
)
_TO = re.compile(r"\sto (?!the\b|an?\b|my\b|our\b|work\b|school\b|music\b)[a-z]")
_GOES_ON = frozenset("am have has is don't doesn't can't was will".split())
_MOST_SUBJECT = 5


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line."""
    held = ""
    for part in _END.split(line):
        held = f"{held} {part}" if held else part
        if _ABBREVIATION.search(held[-8:]):
            continue
        if held.strip():
            yield held.strip()
        held = ""
    if held.strip():
        yield held.strip()


def clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that tell something by themselves; those that ask are left out."""
    if len(sentence) > _LONGEST:
        return
    asks = sentence.endswith("?")
    parts = _joined(_BREAK.split(sentence), sentence)
    for place, part in enumerate(parts):
        if asks and place == len(parts) - 1:
            return
        told = opened(part)
        if told and not is_question(told):
            yield told


def _joined(parts: list[str], sentence: str) -> list[str]:
    """The parts, but a thing without a verb stays with what it belongs to: `my wife and our two kids`."""
    kept: list[str] = []
    end = 0
    for part in filter(None, parts):
        start = sentence.index(part, end)
        bare = _THING.match(part) and not any(_may_be_verb(word) for word in part.split()[1:8])
        pair = part.startswith("I ") and ":" not in sentence[end:start] and kept and _PAIR.fullmatch(kept[-1])
        if kept and (bare or pair):
            kept[-1] += sentence[end:start] + part
        else:
            kept.append(part)
        end = start + len(part)
    return kept


def _may_be_verb(word: str) -> bool:
    low = word.lower().rstrip(",.!?")
    return is_finite(low, True) or is_finite(low, False)


def opened(clause: str) -> str:
    """A clause without the words that only open or close it."""
    bare = clause.strip(" ,'")
    if bare.count('"') == 1 or (bare[:1] == '"' == bare[-1:]):
        bare = bare.strip('"')
    bare = _NAMED.sub("", _OPENING.sub("", bare))
    return _CLOSING.sub("", bare.strip().rstrip(".!…,; "))


def shared(clause: str) -> Iterator[str]:
    """The clause, or the several that share its subject: `I live in Rome and work as a nurse` tells two things."""
    who, head = _beginning(clause) if " and " in clause else ("", "")
    if not who or _TO.search(clause, 0, clause.find(" and ")):
        yield clause
        return
    start, held = 0, ""
    for found in _AND.finditer(clause, len(who)):
        if _goes_on(found["verb"], who in ("I", "We", "we"), is_past(head)):
            yield held + clause[start : found.start()]
            held, start = f"{who} ", found.start("verb")
    yield held + clause[start:]


def _beginning(clause: str) -> tuple[str, str]:
    """The subject of a clause and its first verb; both empty where that is not clear."""
    words = clause.split()
    first = words[0].partition("'")[0]
    if first in ("I", "We", "we"):
        if words[0].endswith(("'ll", "'d")) or not MODALS.isdisjoint(words[1:3]) or "going" in words[1:4]:
            return "", ""
        return first, next((word for word in words[1:3] if word not in ADVERBS), "")
    for place, word in enumerate(words[1:_MOST_SUBJECT], 1):
        if is_finite(word, False) and "and" not in words[:place]:
            return " ".join(words[:place]), word
    return "", ""


def _goes_on(verb: str, first_person: bool, past: bool) -> bool:
    if verb in AUXILIARIES:
        return verb in _GOES_ON
    lemma = FORMS.get(verb)
    if lemma is None or verb.endswith("ing"):
        return False
    return past if is_past(verb) else verb == (lemma if first_person else third(lemma))
