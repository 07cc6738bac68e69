"""The situation in which something is recalled: for whom, at what, when; and how near a memory is to it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from memfolio.tuning import Packing
from memfolio.types import MemoryItem

_WORD = re.compile(r"\w+")
_OWN = frozenset(
    """
    i me my mine myself we our ours ourselves ich mir mich mein meine meinen meinem meiner meines wir unser unsere je
    moi mon mes nous notre nos yo mi mis mí conmigo nosotros nuestro nuestra я меня мне мной мой моя моё мое мои моего
    моей мою мы нас нам наш наша наше наши
    """.split()
)
"""The words of those who speak of themselves."""
DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Whom an agent talks with, what it works on, what is being talked about, and when."""

    now: datetime
    user: str | None = None
    task: str | None = None
    topics: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What is at hand beside the prompt, in words to recall by."""
        return " ".join(filter(None, (self.task, *self.topics)))

    def speaker(self, prompt: str) -> str | None:
        """Whom a prompt means by `I` and `my`: the user, where one is known and it says so."""
        return self.user if not _OWN.isdisjoint(_WORD.findall(prompt.casefold())) else None

    def nearness(self, memory: MemoryItem, weights: Packing) -> float:
        """By how much a memory's score is multiplied: 1 for one that has nothing to do with the situation."""
        days = abs((self.now - (memory.event_time or memory.created_at)).total_seconds()) / DAY
        time = weights.time / (1 + days / weights.time_days)
        return self._ownership(memory, weights) * (1 + time) * (1 + weights.topic * self._overlap(memory))

    def _ownership(self, memory: MemoryItem, weights: Packing) -> float:
        """More for what is about the user, less for what is about somebody else."""
        if self.user is None or memory.user is None:
            return 1.0
        return 1 + weights.user if memory.user == self.user else 1 / (1 + weights.user)

    def _overlap(self, memory: MemoryItem) -> int:
        """How many of the topics a memory has among its tags, or in its words, to which its entities belong."""
        if not self.topics:
            return 0
        known = _words(" ".join((memory.content, *memory.tags)))
        return sum(bool(words) and words <= known for words in {frozenset(_words(each)) for each in self.topics})


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
