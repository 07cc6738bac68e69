"""Fading: how relevant a memory still is, from how it came, how long it lay unused and how often it was used. Pure.

    relevance = base · exp(−rate · days) · (1 + log₂(1 + uses) / c), at most 1

In the form of Ebbinghaus the days have the power 0.8: what is left is lost ever slower. Days count from when it was
remembered or last used, never from when it happened. What is pinned, in the vault or on a page does not fade, nor does
what was confirmed, whose rate is 0.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from memfolio.settings import Decay
from memfolio.types import Store

DAY = 86_400_000_000
"""Microseconds."""

_VAULT = Store.VAULT.value
SLOWER = 0.8
"""The power of the days in the form of Ebbinghaus."""


class Phase(StrEnum):
    """How far a memory has faded."""

    ACTIVE = "active"
    FADING = "fading"
    DORMANT = "dormant"
    ARCHIVED = "archived"


class DecayInput(NamedTuple):
    """What fading asks about a memory; times are microseconds."""

    kind: str
    form: str
    store: str
    role: str | None
    created_at: int
    accessed_at: int | None
    access_count: int
    decay_rate: float | None
    pinned: int
    derived: int
    """1 for what was concluded from other memories, 2 for what was learned from what somebody said."""


def relevance(life: DecayInput, now: int, decay: Decay) -> float:
    """From 1, as if it were of today, down to 0."""
    if _is_kept(life):
        return 1.0
    begin, rate = _course(life, decay)
    return min(1.0, begin * math.exp(-rate * _days(life, now) ** power(decay)))


def days_until(life: DecayInput, now: int, least: float, decay: Decay) -> float | None:
    """The days until the relevance falls below `least`, 0 when it has; None when it never does."""
    if relevance(life, now, decay) < least:
        return 0.0
    if _is_kept(life) or least <= 0:
        return None
    begin, rate = _course(life, decay)
    if rate == 0:
        return None
    left = math.log(begin / least) / rate
    total: float = max(0.0, left) ** (1 / power(decay))
    return max(0.0, total - _days(life, now))


def power(decay: Decay) -> float:
    """The power of the days in the form that is chosen."""
    return SLOWER if decay.form == "ebbinghaus" else 1.0


def phase(relevance: float, decay: Decay) -> Phase:
    """What a relevance means."""
    if relevance >= decay.active:
        return Phase.ACTIVE
    if relevance >= decay.dormant:
        return Phase.FADING
    return Phase.DORMANT if relevance >= decay.archived else Phase.ARCHIVED


def _is_kept(life: DecayInput) -> bool:
    return bool(life.pinned) or life.form != "memory" or life.store == _VAULT


def _days(life: DecayInput, now: int) -> float:
    used_at = life.accessed_at
    since = life.created_at if used_at is None or used_at < life.created_at else used_at
    return (now - since) / DAY if now > since else 0.0


def _course(life: DecayInput, decay: Decay) -> tuple[float, float]:
    """The relevance on the day of the last use, above 1 where there is something in reserve, and the share lost a day.

    People write rates by hand: what is no number does not count, and nothing grows with time.
    """
    begin, uses, rate = _base(life, decay), life.access_count, life.decay_rate
    if uses:
        begin *= 1 + math.log2(1 + uses) / decay.use
    if rate is None or not math.isfinite(rate):
        rate = getattr(decay, life.kind)
    return begin, max(0.0, rate)


def _base(life: DecayInput, decay: Decay) -> float:
    if life.decay_rate == 0:  # confirmed
        return 1.0
    if life.derived == 1:
        return decay.inferred
    return decay.detected if life.role is not None or life.derived else decay.explicit
