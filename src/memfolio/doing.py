"""What an agent wants and is able to do: verbs of a line or two over its mind, its procedures and its reasoning."""

from __future__ import annotations

from collections.abc import Mapping

from memfolio.knowing import Knowing


class Doing(Knowing):
    """What every `Memory` can do with a mind, with procedures and with problems."""

    def _reminded(self, about: str = "") -> list[tuple[str, str]]:
        """What is to be done and comes up now, or with what is talked about."""
        return []

    def flaws(self) -> Mapping[str, str]:
        """What on the pages of mind and procedures makes no sense, by path."""
        return {}
