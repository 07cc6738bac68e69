"""The fence around material: a mark that nobody can guess, around text that cannot be taken for anything else.

Pure, but for the fresh mark.
"""

from __future__ import annotations

import re
import secrets
import unicodedata

from memfolio.text import estimate_tokens

CUT = "[the rest is left out]"

_JOINERS = "\u200c\u200d"
_TAG = re.compile(r"<(?=[|/!?A-Za-z_])")
"""What begins a tag, also one of a chat template, such as `<|im_start|>`."""
_TEMPLATE = re.compile(r"\[(/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS))\]", re.IGNORECASE)


def fenced(material: str, mark: str) -> str:
    """The material between two tags that carry the mark, with nothing in it that could be a tag."""
    inside = _TEMPLATE.sub(r"(\1)", _TAG.sub("‹", plain(material)))
    return f"<material-{mark}>\n{inside}\n</material-{mark}>"


def fresh_mark() -> str:
    return secrets.token_hex(8)


def plain(text: str) -> str:
    """A text without what cannot be seen; line ends, tabs and the joiners that Persian and emoji need stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(filter(_is_plain, text.replace("\r\n", "\n").replace("\r", "\n")))


def cut(text: str, limit: int) -> str:
    """The first lines of a text, as many as have at most `limit` tokens; of a longer line, its beginning."""
    if estimate_tokens(text) <= limit:
        return text
    kept: list[str] = []
    left = limit - estimate_tokens(CUT)
    for line in text.splitlines():
        left -= estimate_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*(kept or [_beginning(text.splitlines()[0], limit - estimate_tokens(CUT))]), CUT])


def _beginning(line: str, limit: int) -> str:
    while line and (size := estimate_tokens(line)) > limit:
        line = line[: min(len(line) - 1, len(line) * max(limit, 0) // size)]
    return line


def _is_plain(character: str) -> bool:
    return (
        character in "\n\t" or character in _JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
    )
