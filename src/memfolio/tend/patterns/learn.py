"""Keeping the patterns that were found, each once."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from memfolio.clock import EPOCH
from memfolio.index.days import known_patterns, told_between
from memfolio.index.index import Index
from memfolio.sources import PATTERN
from memfolio.tend.hand import Hand, tender
from memfolio.tend.patterns.find import Pattern, find
from memfolio.types import Action, Kind
from memfolio.vault.change import AddEntries, Change
from memfolio.vault.format.draft import Draft

WINDOW = timedelta(days=180)
"""How far back patterns are looked for."""
MOST = 50_000
"""Memories that are looked at, the most important."""
AT_ONCE = 20
"""Patterns that are stored in one run, the clearest."""


def learn_patterns(hand: Hand, index: Index, now: datetime) -> list[Pattern]:
    """Store the patterns in the last half year that were never stored before; what was forgotten stays forgotten."""
    since = max(now - WINDOW, EPOCH)
    episodes = index.read(partial(told_between, since=since, until=now, limit=MOST))
    known = index.read(known_patterns)
    fresh = [each for each in find(episodes, now, hand.vault.home.zone) if each.key not in known][:AT_ONCE]
    return [each for each in fresh if hand.make(_change(hand, each, now)) or hand.dry_run]


def _change(hand: Hand, pattern: Pattern, now: datetime) -> Change:
    draft = Draft(
        content=pattern.text,
        kind=Kind.SEMANTIC,
        source=PATTERN,
        tags=(PATTERN,),
        confidence=pattern.confidence,
        derived_from=pattern.examples,
        attributes={"pattern": pattern.key, "support": pattern.support, "expected": pattern.expected},
    )
    # Of two processes that find it at once, one stores it.
    key = hand.vault.home.key_mark(hand.agent, f"pattern {pattern.key} {now:%Y-%m}")
    return Change(operations=(AddEntries(hand.agent, (draft,)),), by=tender("patterns"), action=Action.APPEND, key=key)
