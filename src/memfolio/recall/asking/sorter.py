"""Sorting questions by what they ask for, with the vectors of known questions at hand."""

from __future__ import annotations

from memfolio.embed.embedder import Embedder
from memfolio.embed.meaning import Meaning, rows_of
from memfolio.errors import EmbedderError
from memfolio.recall.asking.intent import Exemplars, Intent, by_meaning, by_words
from memfolio.tuning import Ranking


class Sorter:
    """Says what a question asks for. Threads may share it."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._exemplars: Exemplars | None = None

    def intent(self, text: str, ranking: Ranking) -> Intent:
        """By its words; where they do not tell, by its likeness to known questions."""
        if not ranking.intent:
            return Intent.GENERAL
        return by_words(text) or self._by_meaning(text, ranking.intent_threshold) or Intent.GENERAL

    def _by_meaning(self, text: str, threshold: float) -> Intent | None:
        embedder = self._meaning.embedder
        # A way through the network is too dear for a guess.
        sense = None if embedder is None or embedder.is_costly else self._meaning.of(text)
        if embedder is None or sense is None:
            return None
        try:
            self._exemplars = self._exemplars or _exemplars(embedder)
        except EmbedderError:  # which the search itself will meet and tell
            return None
        return by_meaning(sense.vector, self._exemplars, threshold)


def _exemplars(embedder: Embedder) -> Exemplars:
    from memfolio.recall.asking.exemplars import EXEMPLARS

    intents, texts = zip(*EXEMPLARS, strict=True)
    return Exemplars.of(intents, rows_of(embedder, texts))
