"""Whether what a model says is in what it was shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Container

from memfolio.text import terms

_ADDRESS = re.compile(r"\w+://[^\s<>\"']+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}\b")
"""Where something can be sent or fetched: links, mail, hosts and files."""
_ORDER = re.compile(
    r"\b(?:ignore|disregard|override|bypass)\b.{0,40}\b(?:instructions?|rules?|prompts?|polic(?:y|ies)|previous|above)\b"
    r"|\bsystem prompt\b|\byou (?:must|are now)\b",
    re.IGNORECASE,
)
"""Words that are meant for whoever reads the memory, not about anything in it."""


def is_grounded(text: str, said: str, besides: Container[str] = ()) -> bool:
    """Whether half of a text's words or more occur in what was said, and no address or order comes with it that does
    not; words `besides` do not count."""
    said = said.casefold()
    words = [word for word in terms(text.casefold()) if word not in besides]
    found = sum(occurs(word, said) for word in words)
    return 0 < len(words) <= 2 * found and not _adds(text, said)


def are_words_of(text: str, said: str) -> bool:
    """Whether every word of a text occurs in what was said."""
    words, said = terms(text.casefold()), said.casefold()
    return bool(words) and all(occurs(word, said) for word in words)


def occurs(word: str, said: str) -> bool:
    """Whether a word occurs in a text, or one that begins as it does; where words have no spaces between, anywhere."""
    if " " in word:
        return word.replace(" ", "") in said
    stem = word[: max(4, (2 * len(word) + 2) // 3)]
    end = r"(?!\w)" if len(word) < 4 or not word.isalpha() else ""
    return re.search(rf"(?<!\w){re.escape(stem)}{end}", said) is not None


def _adds(text: str, said: str) -> bool:
    brought = [found[0].casefold() for pattern in (_ADDRESS, _ORDER) for found in pattern.finditer(text)]
    return any(each.rstrip(".,;:!?") not in said for each in brought)
