"""How much an exact method may look at before it gives up."""

from __future__ import annotations

from memfolio.errors import InputError


class Effort:
    """Counts the cases that were looked at; past the limit it is an error, never a hang."""

    def __init__(self, limit: int):
        self.limit = limit
        self.left = limit

    def spend(self, cases: int = 1) -> None:
        self.left -= cases
        if self.left < 0:
            raise InputError(
                f"an exact answer needs more than {self.limit:,} cases",
                hint="give a smaller problem or raise reason.work",
            )
