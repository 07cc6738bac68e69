"""The text of a memory: its normal form, its limits, and how it is kept from reading as an entry heading."""

from __future__ import annotations

import re
from hashlib import blake2b

from memfolio.errors import ContentError

TIME = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?"
MARK = r" \^(M-([0-9]{1,15})-([0-9a-f]{8}))[ \t\r]*$"
AFTER_SIGNS = rf"(?= )(?:[^\n]*{MARK}| {TIME}(?=[ \t]|\r*$))"
HEADING = rf"##{AFTER_SIGNS}"
"""A line that starts an entry: anything that ends with a block id, or a clock time. Needs re.MULTILINE."""

# Patterns that are kept as text are compiled by `re` at their first use: many a start never needs them.
_TO_ESCAPE = rf"(?m)^(?=\\*{HEADING})"
_ESCAPED = rf"(?m)^\\(?=\\*{HEADING})"
_LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_SURROGATES = "[\ud800-\udfff]"


def normalise_content(text: str) -> str:
    """`text` as it is stored: LF line ends, no blank lines before it, no white space after it."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.rstrip()
    return _LEADING_BLANK_LINES.sub("", text) if text[:1].isspace() else text


def check_content(text: str, max_bytes: int) -> None:
    """Raise ContentError unless `text` can be remembered in at most `max_bytes` of UTF-8."""
    if not text.strip():
        raise ContentError("the content is empty", hint="say what is to be remembered")
    if "\0" in text:
        raise ContentError("the content has a NUL byte", hint="store binary data in a file and remember its path")
    size = len(text) if text.isascii() else len(encoded(text))
    if size > max_bytes:
        raise ContentError(
            f"the content has {size} bytes, more than {max_bytes}",
            hint="split it, or store it in a file and remember a summary with its path",
        )


def encoded(text: str) -> bytes:
    """`text` in UTF-8; raises ContentError for lone surrogates, which no file can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ContentError(
            f"character {error.start} is half of a surrogate pair and cannot be stored as UTF-8",
            hint="decode the text properly, or replace such characters before remembering it",
        ) from error


def without_surrogates(text: str) -> str:
    """`text` with each undecodable byte shown as U+FFFD, so that what is read can be stored anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub(_SURROGATES, "\ufffd", text)
    return text


def escape(content: str) -> str:
    """`content` with a backslash before each line that would read as an entry heading."""
    return re.sub(_TO_ESCAPE, r"\\", content) if "## " in content else content


def unescape(content: str) -> str:
    """The inverse of `escape`."""
    return re.sub(_ESCAPED, "", content) if "## " in content else content


def text_id(agent: str, content: str) -> str:
    """The id of text that carries none: the same words of the same agent are the same memory."""
    return "H-" + blake2b(f"{agent}\0{content}".encode()).hexdigest()[:16]
