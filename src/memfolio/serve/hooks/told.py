"""What an agent was told in a conversation, and so has before its eyes. Pure."""

from __future__ import annotations

import re
from collections.abc import Set

from memfolio.recall.context.fence import BULLET, FURTHER, HEADING
from memfolio.recall.snippet import GAP

_BULLET = re.compile(rf"^{re.escape(BULLET)}(?:\[([A-Z]-[0-9a-f-]+)\])?.*\n(?:{re.escape(FURTHER)}.*\n)*", re.MULTILINE)
_BARE = re.compile(rf"^{HEADING}.*\n(?={HEADING}|</)", re.MULTILINE)
"""A heading with nothing below it."""


def marks_of(text: str | None) -> set[str]:
    """How what a text tells is known again: by the id of what stands there whole, else by the words themselves."""
    return {
        found[1] if found[1] and GAP.strip() not in found[0] else found[0] for found in _BULLET.finditer(text or "")
    }


def untold(text: str | None, known: Set[str]) -> str | None:
    """The text without what is known, by its marks; None where nothing is left."""
    left = _BULLET.sub(lambda found: "" if found[0] in known or found[1] in known else found[0], text or "")
    return _BARE.sub("", left) if _BULLET.search(left) else None
