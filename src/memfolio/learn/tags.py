"""What a statement is about, in one to four words."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]{4,24}")
_EMPTY = frozenset(
    """
about after also always another around been before being both could does doing down each even every from have having
here into just like lots made make many more most much must myself never often only other over really same should since
some such than that their them then there these they thing things this those through under until very well were what
when where which while will with would your years year time week weeks month months days user's user themselves
""".split()
)


def tags_of(topic: str, text: str) -> tuple[str, ...]:
    """The topic and up to three words of `text` that tell something."""
    words = [word.lower() for word in _WORD.findall(text)]
    found = dict.fromkeys(word for word in words if word not in _EMPTY and word != topic)
    return (topic, *list(found)[:3])
