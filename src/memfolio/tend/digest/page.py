"""The page of a digest. Ours is what stands between the two marks, and a line of the front matter. Pure."""

from __future__ import annotations

import re

from memfolio.index.passages import front_matter
from memfolio.tend.digest.period import Period
from memfolio.tend.ours import BEGIN, marked
from memfolio.tend.ours import renewed as with_ours

NOTHING = "0" * 32
_BUILT_FROM = re.compile(r"^built_from:[ \t]*([0-9a-f]{32})?.*$", re.MULTILINE)


def built_from(text: str) -> str:
    """The hash of what a page says that it was built from."""
    match = _BUILT_FROM.search(text.partition(BEGIN)[0])
    return (match[1] if match else "") or NOTHING


def new_page(period: Period, body: str, source: str) -> str:
    """The page of a digest that has none yet."""
    head = f"title: {period.name}\nfirst: {period.first}\nlast: {period.last}\nmade_by: memfolio\nbuilt_from: {source}"
    return f"---\n{head}\n---\n{marked(body)}\n"


def renewed(text: str, body: str, source: str) -> str:
    """A page that is ours with another digest; what a person wrote around it stays."""
    line = f"built_from: {source}"
    before, mark, rest = with_ours(text, body).partition(BEGIN)
    before, count = _BUILT_FROM.subn(line, before, count=1)
    _, end = front_matter(before)
    if not count:
        before = f"{before[:end]}{line}\n{before[end:]}" if end else f"---\n{line}\n---\n{before}"
    return before + mark + rest
