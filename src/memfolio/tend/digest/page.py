"""The page of a digest. Ours is what stands between the two marks, and two lines of the front matter. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memfolio.index.passages import front_matter
from memfolio.tend.digest.period import Period
from memfolio.tend.ours import marked
from memfolio.tend.ours import renewed as with_ours

_BUILT_FROM = re.compile(r"^built_from:[ \t]*([0-9a-f]{32}) (\d{1,9}) (\d{1,9})[ \t\r]*$", re.MULTILINE)
_ANY_BUILT_FROM = re.compile(r"^built_from:.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltFrom:
    """What a digest was built from: a hash of its memories, how many there were, and how many had been forgotten."""

    hash: str
    memories: int
    forgotten: int

    def __str__(self) -> str:
        return f"{self.hash} {self.memories} {self.forgotten}"


def built_from(text: str) -> BuiltFrom | None:
    """What a page says that it was built from."""
    start, end = front_matter(text)
    match = _BUILT_FROM.search(text, start, end)
    return BuiltFrom(hash=match[1], memories=int(match[2]), forgotten=int(match[3])) if match else None


def new_page(period: Period, body: str, source: BuiltFrom) -> str:
    """The page of a digest that has none yet."""
    head = f"title: {period.name}\nfirst: {period.first}\nlast: {period.last}\nmade_by: memfolio\nbuilt_from: {source}"
    return f"---\n{head}\n---\n{marked(body)}\n"


def renewed(text: str, body: str, source: BuiltFrom) -> str:
    """A page that is ours with another digest; what a person wrote around it stays."""
    text = with_ours(text, body)
    start, end = front_matter(text)
    if not end:
        return f"---\nmade_by: memfolio\nbuilt_from: {source}\n---\n{text}"
    line = f"built_from: {source}"
    head, count = _ANY_BUILT_FROM.subn(line, text[start:end], count=1)
    return text[:start] + (head if count else f"{head}{line}\n") + text[end:]
