"""What of a page is ours, between two marks, and what a person wrote around it. Pure.

The first mark has the hash of what we wrote there, so that an edit is seen.
"""

from __future__ import annotations

import re
from hashlib import blake2b

BEGIN, END = "<!-- memfolio:begin", "<!-- memfolio:end -->"
_OURS = re.compile(rf"^{BEGIN} ([0-9a-f]{{16}}) -->\r?\n(.*?)^{END}", re.MULTILINE | re.DOTALL)


def marked(body: str) -> str:
    """A text of ours between its marks."""
    return f"{BEGIN} {_hash(body)} -->\n{body}{END}"


def is_ours(text: str) -> bool:
    """Whether nobody changed what we wrote."""
    match = _OURS.search(text)
    return match is not None and _hash(match[2]) == match[1]


def within(text: str) -> str:
    """What we wrote."""
    match = _OURS.search(text)
    return match[2] if match else ""


def renewed(text: str, body: str) -> str:
    """The page with another text in the place of ours; what a person wrote around it stays."""
    return _OURS.sub(lambda _: marked(body), text, count=1)


def _hash(body: str) -> str:
    """Whatever an editor did to the ends of lines."""
    lines = "\n".join(line.rstrip() for line in body.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()
