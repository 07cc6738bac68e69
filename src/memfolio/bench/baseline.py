"""The floor: plain BM25 over the same turns. It shares nothing with recall, so that it stays where it is."""

from __future__ import annotations

import re

from memfolio.bench.cases import Case
from memfolio.bench.retrieval import DEPTH, Find, Way
from memfolio.errors import InputError
from memfolio.index.plain import PlainSearch
from memfolio.memory import Memory

FUNCTION_WORDS = frozenset(
    """
    a about am an and any are as at be been being but by can could did do does doing for from had has have having he
    her here hers him his how i if in into is it its just let me my of on or our ours please shall she should so
    some such tell than that the their theirs them then there these they this those to too us very was we were what
    when where which while who whom whose why will with would you your yours
    """.split()
)


def bm25(_: Memory, case: Case) -> Find:
    """Each turn is one text that begins with who said it; any word of the question may match."""
    search = PlainSearch(f"{turn.role}: {turn.text}" for turn in case.turns)
    return lambda question: search.best(any_word(question), DEPTH)


def any_word(question: str) -> str:
    """The words of a question but function words, each once, as an FTS5 expression."""
    words = dict.fromkeys(re.findall(r"\w+", question.lower()))
    telling = [word for word in words if word not in FUNCTION_WORDS]
    return " OR ".join(f'"{word}"' for word in telling or words) or '""'


BASELINES: dict[str, Way] = {"bm25": bm25}


def find_baseline(name: str) -> Way:
    """The floor that has this name."""
    if name not in BASELINES:
        raise InputError(f"there is no baseline {name[:40]!r}", hint=f"there is {', '.join(BASELINES)}")
    return BASELINES[name]
