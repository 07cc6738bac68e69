"""What somebody says of themselves, as others would say it: `I love my job` is `Alex loves Alex's job`."""

from __future__ import annotations

import re

from memfolio.learn.verbs import ADVERBS, as_third, is_past

_ADVERB = "no longer|" + "|".join(sorted(ADVERBS, key=len, reverse=True))
_I = re.compile(
    rf"(?P<pair>\b(?:and|or)\s+)?\bI(?P<short>'m|'ve|'d|'ll)?\b(?![-/.'])(?P<adverbs>(?:\s+(?:{_ADVERB})\b)*)"
    r"(?:\s+(?P<verb>[A-Za-z]+(?:'t)?)(?![\w']))?"
)
_ASKED = re.compile(r"\b(?:do|did|am|can|could|should|would|will|have|than)\s+$", re.IGNORECASE)
_REST = re.compile(r"\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e(?:'(?:re|ve|ll|d))?|[Oo]urs?|[Uu]s|[Oo]urselves)\b(?!-)")
_SHORT = {"'m": " is", "'ve": " has", "'ll": " will", "'re": " are"}
_WORK = re.compile(
    r"\b(?:deploy|releas|ship|code|database|server|api|sprint|stand-?up|customer|client|product|project|team|office"
    r"|repo|branch|pipeline|build|test|review|merge|migrat|use|host|stack|backend|frontend|staging|production|launch"
    r"|users?|postgres|kubernetes|docker|aws|store|decided|go with|meeting|software|python|vendor|budget)",
    re.IGNORECASE,
)


class Voice:
    """How one speaker is spoken of."""

    __slots__ = ("inner", "name")

    def __init__(self, speaker: str) -> None:
        self.name = " ".join(speaker.split()) or "The user"
        self.inner = "the user" if self.name == "The user" else self.name

    def retell(self, clause: str) -> str:
        """`clause` in the third person."""
        told = _I.sub(self._verb, clause)
        told = _REST.sub(lambda found: self._other(found[0], clause), told)
        return self._capital(told)

    def _verb(self, found: re.Match[str]) -> str:
        verb, short = found["verb"] or "", found["short"] or ""
        if not verb and not short and not found["pair"]:
            return found[0]
        adverbs = found["adverbs"] or ""
        if short == "'d":
            short = " had" if verb == "better" or (verb and is_past(verb)) or verb == "been" else " would"
        else:
            changes = not short and not found["pair"] and not _ASKED.search(found.string, 0, found.start())
            verb = as_third(verb) if changes else verb
            short = _SHORT.get(short, "")
        return f"{found['pair'] or ''}{self.inner}{short}{adverbs}{f' {verb}' if verb else ''}"

    def _we(self, clause: str) -> str:
        return f"{self.inner}'s team" if _WORK.search(clause) else f"{self.inner} and others"

    def _other(self, word: str, clause: str) -> str:
        low = word.lower()
        if low.startswith("we"):
            return self._we(clause) + (_SHORT | {"'d": " would", "'ve": " have"}).get(low[2:], "")
        if low in ("myself", "ourselves"):
            return "themselves"
        if low == "us":
            return self._we(clause)
        return self.inner if low == "me" else f"{self.inner}'s"

    def _capital(self, text: str) -> str:
        if text.startswith(self.inner):
            return self.name + text[len(self.inner) :]
        return text[:1].upper() + text[1:]
