"""Sorting questions by what they ask for: by their words, or by their likeness to questions whose intent is known."""

from __future__ import annotations

from memfolio.embed.embedder import Embedder
from memfolio.embed.meaning import Meaning, rows_of
from memfolio.errors import EmbedderError
from memfolio.recall.asking.intent import Exemplars, Intent, by_meaning, by_words
from memfolio.tuning import Ranking

_KNOWN = {
    Intent.WHY: (
        "Why did we decide against it? | What was the reason for the change? | Warum haben wir das so gemacht? | "
        "Was war der Grund dafür? | Pourquoi a-t-on choisi cette solution ? | ¿Por qué lo hicimos así? | "
        "Почему мы так решили? | 为什么我们这样决定？"
    ),
    Intent.WHEN: (
        "When did that happen? | What date did we start? | How long ago was it? | Wann ist der nächste Termin? | "
        "Quand cela s'est-il passé ? | ¿Cuándo ocurrió? | Когда это произошло? | 那是什么时候发生的？"
    ),
    Intent.WHO: (
        "Who said that? | Who is responsible for it? | Wer hat das gesagt? | Qui en est responsable ? | "
        "¿Quién dijo eso? | ¿Con quién hablamos? | Кто за это отвечает? | 这是谁说的？"
    ),
    Intent.WHAT: (
        "What do you know about her? | Which one did we choose? | Where does he live? | How many are there? | "
        "Was weißt du über ihn? | Où habite-t-elle ? | ¿Qué sabes de ella? | Какой мы выбрали? | 你了解他什么？"
    ),
    Intent.HOW: (
        "How do I set it up? | How do we usually do this? | What are the steps to install it? | "
        "Wie machen wir das normalerweise? | Comment l'installer ? | ¿Cómo se instala? | Как это настроить? | "
        "我们通常怎么做？"
    ),
    Intent.LATEST: (
        "What's the latest on this? | What is the current status? | Is there any news? | "
        "Was gibt es Neues dazu? | Quelles sont les dernières nouvelles ? | ¿Cuál es el estado actual? | "
        "Каков текущий статус? | 有什么最新消息？"
    ),
    Intent.GENERAL: (
        "Summarize our conversation. | Write a short text about it. | Does she like music? | project notes | "
        "Fasse das zusammen. | Aime-t-il la musique ? | Haz un resumen. | Он любит музыку? | 总结一下。"
    ),
}
EXEMPLARS = tuple((intent, text) for intent, texts in _KNOWN.items() for text in texts.split(" | "))
"""Each intent with a question that has it."""


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
    intents, texts = zip(*EXEMPLARS, strict=True)
    return Exemplars.of(intents, rows_of(embedder, texts))
