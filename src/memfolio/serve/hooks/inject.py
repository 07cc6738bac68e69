"""What an agent is told: where things stand when a conversation begins, and what is remembered about a prompt."""

from __future__ import annotations

from collections.abc import Set
from itertools import accumulate
from typing import TYPE_CHECKING

from memfolio.index.lexical import frequencies
from memfolio.recall.asking.dates import mentions
from memfolio.serve.hooks.hosts import MOST_CHARACTERS, MOST_TOKENS
from memfolio.text import terms

if TYPE_CHECKING:
    from memfolio.memory import Memory

BUDGETS = tuple(MOST_TOKENS >> halved for halved in range(4))
"""Tokens, tried one after the other until the characters are few enough."""
LONGEST_PROMPT = 4_000
"""Characters of a prompt that are looked at: first and last, since people paste what they ask about in between."""
COUNTED = 1_000
"""Up to how many memories a word's frequency is counted."""
WEIGHED = 2_000
"""How many memories the words of a prompt may bring together, before the most common ones are left out."""


def opening(memory: Memory, session: str | None) -> str | None:
    """Core memory, where work was left, what is due and what is known; None where there is nothing of it."""
    found = memory.load_context(session=session)
    known = (found.core.blocks, found.recent, found.facts, found.checkpoint, found.task, found.user_profile)
    if not any((*known, found.alerts, found.proposals, found.reminders)):
        return None
    return next((text for each in BUDGETS if len(text := found.to_prompt(each)) <= MOST_CHARACTERS), None)


def remembered(memory: Memory, prompt: str, known: Set[str], include: tuple[str, ...] = ()) -> str | None:
    """What is remembered about a prompt, by its words; None where nothing is worth telling."""
    half = LONGEST_PROMPT // 2
    asked = _telling(memory, prompt if len(prompt) <= LONGEST_PROMPT else f"{prompt[:half]}\n{prompt[-half:]}")
    usual = memory.vault.config.context.simple
    for most in BUDGETS:
        budget = most if include else min(usual, most)
        found = memory.compose(asked, budget=budget, include=include, known=known)
        if found.text is None or len(found.text) <= MOST_CHARACTERS:
            return found.text
    return None


def _telling(memory: Memory, prompt: str) -> str:
    """The prompt without its most common words, where they alone would bring so much that weighing it takes long.

    What names a time is left whole: it narrows the search by itself.
    """
    words, home = terms(prompt), memory.vault.home
    counts = memory.library.index.read(lambda connection: frequencies(connection, words, COUNTED))
    known = sorted(filter(counts.__getitem__, words), key=counts.__getitem__)
    rare = (counts[word] for word in known if counts[word] < COUNTED)
    common = set(known[max(1, sum(total <= WEIGHED for total in accumulate(rare))) :])
    if not common or mentions(prompt, home.now(), home.zone):
        return prompt
    return " ".join(word for word in prompt.split() if not common.intersection(terms(word)))
