"""What memories that belong together come to: one memory with the gist, and a line for each of its sources. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memfolio.learn.drafting import least_trusted
from memfolio.tend.extract import extract
from memfolio.types import Kind, MemoryItem, Store
from memfolio.vault.format.draft import Draft

LINE = 200
"""Characters of a source that its line shows; all of it is where it was."""
GIST = 120
"""Tokens that the gist may have."""
TITLED = 5
FEW = 4
"""So many short memories are read as fast as a gist of them."""
STOPS = (".", "!", "?", "…", ":", "。", "！", "？")


def summed_up(sources: Sequence[MemoryItem], gist: str | None = None) -> Draft:
    """The memory that several become; `gist` is what a model says of them, else the telling sentences do."""
    chief = max(sources, key=lambda each: each.importance)  # of equal ones the first
    tags = Counter(tag for each in sources for tag in each.tags)
    return Draft(
        content=_content(sources, tags, gist),
        type=chief.type,
        kind=Kind.SEMANTIC if all(each.kind is Kind.SEMANTIC for each in sources) else chief.kind,
        store=Store.LONG_TERM,
        user=_common([each.user for each in sources]),
        importance=chief.importance,
        confidence=min(each.confidence for each in sources),
        tags=tuple(tags),
        source="consolidation",
        origin=least_trusted(sources),
        derived_from=tuple(each.id for each in sources),
    )


def _content(sources: Sequence[MemoryItem], tags: Counter[str], gist: str | None) -> str:
    about = f" about {', '.join(tag for tag, _ in tags.most_common(TITLED))}" if tags else ""
    texts = [each.content for each in sources]
    is_plain = len(texts) <= FEW and all(len(each) <= LINE for each in texts)  # the lines say it all
    telling = gist or ("" if is_plain else _told(texts))
    lines = [f"- {_shortened(each.content)} ({each.id})" for each in sources]
    return "\n".join([f"**{len(sources)} memories{about}**", "", *([telling, ""] if telling else []), *lines])


def _told(texts: Sequence[str]) -> str:
    """The telling sentences, each with its full stop."""
    found = [sentence for _, sentence in extract(texts, limit=3, tokens=GIST)]
    return " ".join(each if each.endswith(STOPS) else f"{each}." for each in found)


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LINE else f"{words[: LINE - 1].rstrip()}…"


def _common(values: Sequence[str | None]) -> str | None:
    return values[0] if len(set(values)) == 1 else None
