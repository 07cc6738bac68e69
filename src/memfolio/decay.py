"""Fading: how relevant a memory still is, from how it came, how long it lay unused and how often it was used. Pure.

    relevance = base · exp(−rate · days) · (1 + log₂(1 + uses) / c), at most 1

Days count from when it was remembered or last used, never from when it happened. What is pinned, in the vault or on a
page does not fade, nor does what was confirmed, whose rate is 0.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from memfolio.tuning import Decay
from memfolio.types import Store

DAY = 86_400_000_000
"""Microseconds."""


class Phase(StrEnum):
    """How far a memory has faded."""

    ACTIVE = "active"
    FADING = "fading"
    DORMANT = "dormant"
    ARCHIVED = "archived"


class Life(NamedTuple):
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


def relevance(life: Life, now: int, decay: Decay) -> float:
    """From 1, as if it were of today, down to 0."""
    if life.pinned or life.form != "memory" or life.store == Store.VAULT:
        return 1.0
    rate = _rate(life, decay)
    days = max(0, now - max(life.created_at, life.accessed_at or 0)) / DAY
    return min(1.0, _base(life, decay) * math.exp(-rate * days) * (1 + math.log2(1 + life.access_count) / decay.use))


def phase(relevance: float, decay: Decay) -> Phase:
    """What a relevance means."""
    if relevance >= decay.active:
        return Phase.ACTIVE
    if relevance >= decay.dormant:
        return Phase.FADING
    return Phase.DORMANT if relevance >= decay.archived else Phase.ARCHIVED


def _rate(life: Life, decay: Decay) -> float:
    """People write rates by hand: what is no number does not count, and nothing grows with time."""
    own, usual = life.decay_rate, getattr(decay, life.kind)
    return max(0.0, usual if own is None or not math.isfinite(own) else own)


def _base(life: Life, decay: Decay) -> float:
    if life.decay_rate == 0:  # confirmed
        return 1.0
    if life.derived:
        return decay.inferred
    return decay.explicit if life.role is None else decay.detected
