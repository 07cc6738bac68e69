"""One text in place of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memfolio.errors import ModelError
from memfolio.llm.model import Model
from memfolio.text import estimate_tokens, terms

TASK = """\
The material is a list of memories, one a bullet. Sum them up in one short text of plain sentences, in the language in \
which they are written, in at most {words} words. Keep names, numbers and dates; where two contradict each other, say \
both. No heading, no list, no words about the summary itself."""

_SENTENCE = re.compile(r".+?(?:[.!?]+(?:\s+|$)|[。！？]+|$)")
_HINT = "try again, or use a model that follows instructions better"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a model is asked for."""

    text: str


def sum_up(model: Model, texts: Sequence[str], limit_tokens: int) -> str:
    """A summary of texts in their language, of at most so many tokens; ModelError where there is none.

    Of a longer one the first sentences are kept.
    """
    material = "\n".join(f"- {' '.join(text.split())}" for text in texts if text.strip())
    if not material:
        raise ModelError("there is nothing to sum up", hint="give texts with words in them")
    words = max(5, limit_tokens // 2)
    text = _fitting(" ".join(model.ask(TASK.format(words=words), material, Summary).text.split()), limit_tokens)
    said = material.casefold()
    if not any(word.replace(" ", "") in said for word in terms(text.casefold())):
        raise ModelError(f"{model.name} gave a summary that has nothing of what was to be summed up", hint=_HINT)
    return text


def _fitting(text: str, limit: int) -> str:
    """The first sentences of a text, as many as fit."""
    kept = ""
    for sentence in _SENTENCE.findall(text):
        if estimate_tokens(kept + sentence.rstrip()) > limit:
            break
        kept += sentence
    return kept.strip()
