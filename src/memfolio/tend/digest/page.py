"""The page of a digest: what of it is ours, and what a person wrote. Pure.

Ours is what stands between the two marks, and two lines of the front matter. The first mark has the hash of what we
wrote there, so that an edit is seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

from memfolio.index.passages import front_matter
from memfolio.tend.digest.period import Period

END = "<!-- memfolio:end -->"
_OURS = re.compile(r"^<!-- memfolio:begin ([0-9a-f]{16}) -->\r?\n(.*?)^<!-- memfolio:end -->", re.MULTILINE | re.DOTALL)
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


def is_ours(text: str) -> bool:
    """Whether nobody changed what we wrote."""
    match = _OURS.search(text)
    return match is not None and _hash(match[2]) == match[1]


def new_page(period: Period, body: str, source: BuiltFrom) -> str:
    """The page of a digest that has none yet."""
    head = f"title: {period.name}\nfirst: {period.first}\nlast: {period.last}\nmade_by: memfolio\nbuilt_from: {source}"
    return f"---\n{head}\n---\n{_marked(body)}\n"


def renewed(text: str, body: str, source: BuiltFrom) -> str:
    """A page that is ours with another digest; what a person wrote around it stays."""
    text = _OURS.sub(lambda _: _marked(body), text, count=1)
    start, end = front_matter(text)
    if not end:
        return f"---\nmade_by: memfolio\nbuilt_from: {source}\n---\n{text}"
    line = f"built_from: {source}"
    head, count = _ANY_BUILT_FROM.subn(line, text[start:end], count=1)
    return text[:start] + (head if count else f"{head}{line}\n") + text[end:]


def _marked(body: str) -> str:
    return f"<!-- memfolio:begin {_hash(body)} -->\n{body}{END}"


def _hash(body: str) -> str:
    """Whatever an editor did to the ends of lines."""
    lines = "\n".join(line.rstrip() for line in body.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()
