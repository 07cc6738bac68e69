"""What of a file is memfolio's own and nobody's words: cutting a text there would break the file. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memfolio.vault.format.fields import read_comment, read_meta
from memfolio.vault.format.lines import read_lines
from memfolio.vault.format.log import split_log
from memfolio.vault.past.rollback import is_state
from memfolio.vault.paths import Form, agent_of, form_of
from memfolio.vault.recent import to_text

WORDS = frozenset({"op", "store", "type", "job", "actor", "trigger"})
"""The keys of a state line whose values are words of ours."""


def frame_of(path: str, data: bytes) -> str:
    """Titles, headings and meta lines of a log's entries; names and words of state lines; nothing of other files."""
    if is_state(path):
        return "\n".join(word for line in read_lines(data).records for word in _words(line.record))
    if form_of(path) is not Form.LOG:
        return ""
    blocks = split_log(to_text(data), agent_of(path) or "")
    titles = (block.text for block in blocks if block.kind == "preamble")
    return "\n".join([*titles, *(line for block in blocks if block.id for line in _header(block.text))])


def _words(record: dict[str, Any]) -> Iterator[str]:
    yield from _keys(record)
    yield from (value for key, value in record.items() if key in WORDS and isinstance(value, str))


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def _header(entry: str) -> Iterator[str]:
    """The heading, the meta line, and the names in the comment line of an entry."""
    heading, *rest = entry.split("\n", 3)
    yield heading
    if rest and read_meta(rest[0]) is not None:
        yield rest.pop(0)
    try:
        yield from _keys(read_comment(rest[0]) if rest else None)
    except ValueError:  # whoever broke it, it is no frame
        return
