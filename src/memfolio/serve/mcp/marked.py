"""The text of an answer: JSON between marks that say it is data, with nothing in it that could end them."""

from __future__ import annotations

import re
from typing import Any

from memfolio.recall.context.fence import fenced
from memfolio.serve.cli.output import as_json

_STEERING = re.compile(
    r"<|\[(?=/?[A-Za-z_]+\])|[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
    r"|[\U000e0000-\U000e0fff]"
)
"""What tags and chat templates begin with, and what nobody sees; in JSON it stands only inside texts."""


def marked(document: dict[str, Any]) -> str:
    """A document as text that an agent can take for nothing else, and that is not learned again when it is captured.

    A program that parses what stands between the marks gets the document as it was.
    """
    return fenced([_STEERING.sub(_escaped, as_json(document))])


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
