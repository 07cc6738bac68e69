"""Which turn may have brought about what another one tells: hypotheses from words such as `that's why`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memfolio.learn.learned import Cause, Turn

_BACK = re.compile(
    r"(?:\b(?:that|this|which)(?:'s| is| was)? (?:exactly |probably |also )?(?:why|the reason)|\bas a (?:result"
    r"|consequence)\b|\b(?:that|this|it) (?:broke|caused|fixed|led to|made|solved|crashed|resulted in|triggered"
    r"|meant)\b|\bbecause of (?:that|this)\b|\bdue to (?:that|this)\b|\bthanks to that\b|\btherefore\b"
    r"|\bconsequently\b)",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"(?:because|since|it was because|that was because|due to|the (?:cause|reason|culprit) (?:was|is))\b", re.I
)
_NEAR = 3
_READ = 2_000


def caused(turns: Sequence[Turn]) -> Iterator[Cause]:
    """Turns that point back to what caused them, and turns that give the cause of what was said before."""
    for place, turn in enumerate(turns):
        if not place or not turn.is_person:
            continue
        text = turn.content[:_READ].replace("’", "'").strip()
        before = next((back for back in range(place - 1, max(-1, place - _NEAR - 1), -1) if _tells(turns[back])), None)
        if before is None or text.endswith("?"):
            continue
        if _AHEAD.match(text):
            yield Cause(cause=place, effect=before, confidence=0.6)
        elif _BACK.search(text, 0, 200):
            yield Cause(cause=before, effect=place, confidence=0.6 if turns[before].speaker == turn.speaker else 0.5)


def _tells(turn: Turn) -> bool:
    text = turn.content[:_READ].strip()
    return turn.is_person and len(text) > 20 and not text.endswith("?")
