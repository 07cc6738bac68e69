"""One text in place of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memfolio.errors import ModelError
from memfolio.llm.grounded import is_grounded
from memfolio.llm.model import Model
from memfolio.text import estimate_tokens

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

    Sentences that say something else than the texts are left out; of a longer one the first sentences are kept.
    """
    material = "\n".join(f"- {' '.join(text.split())}" for text in texts if text.strip())
    if not material:
        raise ModelError("there is nothing to sum up", hint="give texts with words in them")
    words = max(5, limit_tokens // 2)
    answer = " ".join(model.ask(TASK.format(words=words), material, Summary).text.split())
    text = _fitting([each for each in _SENTENCE.findall(answer) if is_grounded(each, material)], limit_tokens)
    if not text:
        raise ModelError(f"{model.name} gave a summary that has nothing of what was to be summed up", hint=_HINT)
    return text


def _fitting(sentences: Sequence[str], limit: int) -> str:
    """The first sentences of a text, as many as fit."""
    kept = ""
    for sentence in sentences:
        if estimate_tokens(kept + sentence.rstrip()) > limit:
            break
        kept += sentence
    return kept.strip()
