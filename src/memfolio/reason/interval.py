"""How far off a share may be that was counted. Pure."""

from __future__ import annotations

import math


def wilson(hits: float, count: float, z: float) -> tuple[float, float]:
    """The interval of a share (Wilson 1927)."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)
