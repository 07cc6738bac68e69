"""Rows of numbers made into vectors of unit length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memfolio.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.float64], *, source: str, hint: str) -> NDArray[np.float32]:
    """Each row at unit length; rows of zeros stay. EmbedderError, with `hint`, where a number is not finite."""
    import numpy as np

    if not np.isfinite(rows).all():
        raise EmbedderError(f"{source} gave a vector with numbers that are not finite", hint=hint)
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    # Scaled by their largest number first, rows neither overflow nor vanish when squared.
    scaled = rows / np.where(peaks == 0, 1.0, peaks)
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    unit: NDArray[np.float32] = (scaled / np.where(lengths == 0, 1.0, lengths)).astype(np.float32)
    return unit
