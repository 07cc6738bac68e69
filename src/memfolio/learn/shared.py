"""Clauses that share a subject, each with its own: `I live in Rome and work as a nurse` tells two things."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memfolio.learn.verbs import ADVERBS, AUXILIARIES, FORMS, MODALS, is_finite, is_past, third

_AND = re.compile(
    r",?\s+and\s+(?:(?:also|now|currently|often|usually|sometimes|recently|just|really|then)\s+)?(?P<verb>[a-z']+)\b"
)
_TO = re.compile(r"\sto (?!the\b|an?\b|my\b|our\b|work\b|school\b|music\b)[a-z]")
_GOES_ON = frozenset("am have has is don't doesn't can't was will".split())
_MOST_SUBJECT = 5


def shared(clause: str) -> Iterator[str]:
    """The clause, or the several that it joins with `and`, each beginning with the subject of the first."""
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
