"""The heading line of an entry, as memfolio writes it and as people do."""

from __future__ import annotations

import re
from datetime import time
from typing import NamedTuple

from memfolio.types import MemoryItem
from memfolio.vault.format.content import HEADING, MARK, TIME
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.fields import META_KEYS, SEPARATOR, number, read_importance, read_tags

SAFE_TAG = re.compile(r"\w[\w/-]*")
MAX_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no id can name a later one."""

_MARK = re.compile(MARK)

# Compiled at their first use: whoever only writes does not need them.
_HEADING = f"(?m){HEADING}"
_TAGS = rf"#({SAFE_TAG.pattern}(?: #{SAFE_TAG.pattern})*)"
_AS_WRITTEN = rf"## ({TIME}) ([a-z]+) · ([0-9.e-]+)(?: · {_TAGS})?{MARK}"
_TIME = rf"{TIME}(?=\s|$)"
_TYPE_WORD = r"[^\W\d][\w-]*"
_FIELD = r"([A-Za-z_]+)\s*:\s*(.+)"


class Mark(NamedTuple):
    """The block id at the end of a heading, and where its checksum stands in the line."""

    id: str
    ms: int
    start: int
    checksum_at: int


class Heading(NamedTuple):
    """What a heading says. `title` is what is left when everything known is taken out."""

    time: time | None
    mark: Mark | None
    fields: dict[str, str]
    tags: tuple[str, ...]
    title: str


def find_mark(line: str) -> Mark | None:
    """The block id that ends `line`, if it is one that can be."""
    match = _MARK.search(line)
    return _mark(match, 1) if match else None


def _mark(match: re.Match[str], group: int) -> Mark | None:
    ms = int(match[group + 1])
    return Mark(match[group], ms, match.start(group) - 2, match.start(group + 2)) if ms <= MAX_MS else None


def heading_words(item: MemoryItem | Draft) -> str:
    """What a heading says between its time and its id; unsafe tags are left to the comment line."""
    tags = f"{SEPARATOR}#{' #'.join(item.tags)}" if item.tags and tags_are_safe(item.tags) else ""
    return f"{item.type.value}{SEPARATOR}{number(item.importance)}{tags}"


def tags_are_safe(tags: tuple[str, ...]) -> bool:
    """Whether all of `tags` can stand in a heading."""
    return all(map(SAFE_TAG.fullmatch, tags))


def read_heading(line: str) -> Heading | None:
    """`line` taken apart, or None when it does not start an entry."""
    if (written := re.match(_AS_WRITTEN, line)) and (heading := _read_written(written)):
        return heading
    return _read_tolerantly(line, find_mark(line)) if re.match(_HEADING, line) else None


def read_clock(text: str) -> time:
    """`6:05`, `06:05` or `06:05:30` as a time of day."""
    return time.fromisoformat(text if text[2] == ":" else f"0{text}")


def _read_written(match: re.Match[str]) -> Heading | None:
    """The short way for a heading that nobody has touched."""
    mark = _mark(match, 5)
    if mark is None:
        return None
    tags = tuple(match[4].split(" #")) if match[4] else ()
    return Heading(read_clock(match[1]), mark, {"type": match[2], "importance": match[3]}, tags, "")


def _read_tolerantly(line: str, mark: Mark | None) -> Heading:
    rest = line[3 : mark.start if mark else None].strip()
    clock = re.match(_TIME, rest)
    fields: dict[str, str] = {}
    tags: list[str] = []
    title: list[str] = []
    for part in rest[clock.end() if clock else 0 :].replace("|", "·").split("·"):
        _read_part(part.strip(), fields, tags, title)
    named = read_tags(fields.pop("tags", ""))
    return Heading(
        time=read_clock(clock[0]) if clock else None,
        mark=mark,
        fields=fields,
        tags=(*tags, *named),
        title=SEPARATOR.join(title),
    )


def _read_part(part: str, fields: dict[str, str], tags: list[str], title: list[str]) -> None:
    if "#" in part:
        words = part.split()
        tags += [word[1:] for word in words if _is_tag(word)]
        part = " ".join(word for word in words if not _is_tag(word))
    if not part:
        return
    field = re.fullmatch(_FIELD, part)
    if field and field[1].lower() in META_KEYS:
        fields[field[1].lower()] = field[2]
    elif "importance" not in fields and read_importance(part) is not None:
        fields["importance"] = part
    elif "type" not in fields and not title and re.fullmatch(_TYPE_WORD, part):
        fields["type"] = part
    elif words_of_title := part.lstrip("-–—: "):
        title.append(words_of_title)


def _is_tag(word: str) -> bool:
    return word.startswith("#") and SAFE_TAG.fullmatch(word, 1) is not None
