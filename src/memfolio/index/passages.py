"""A page cut into passages: the pieces that search finds and shows.

A section is the unit. Sections below a heading of level 3 to 6 share a passage as long as they fit into it; tiny ones
below a heading of level 1 or 2 are joined with their neighbours; a long one is cut where a reader would pause.
Only `#` headings count; lines in closed code fences are never headings.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from memfolio.text import estimate_tokens
from memfolio.vault.format.notes import closed_fences

MAX_HEADING = 200
"""A longer line is text, whatever it begins with: nothing of it may be lost to search."""

MAX_FRONT_MATTER = 65_536

Span = tuple[int, int]

_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(?=---[ \t\r]*(?:\n|\Z)|[\w\"'][\w .\"'-]{0,63}:\s)")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_COMMENT_START = re.compile(r"^[ \t]*<!--", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")
_HEADING = re.compile(rf"^ {{0,3}}(#{{1,6}})(?=[ \t\r\n]|\Z)([^\n]{{0,{MAX_HEADING}}})(?:\n|\Z)", re.MULTILINE)
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+[ \t\r]*$")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]”’»]*\s|[。！？]")
_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\s")
_VISIBLE = re.compile(r"\S")
_ENDS = (_PARAGRAPH_END, _LINE_END, _SENTENCE_END, _WORD_END)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a page, the headings above it, and where it stands: offsets in characters, lines from 1.

    `text` is the page's text from `start` to `end` without the comments in between, and begins and ends with a letter
    or sign, never with white space.
    """

    heading: tuple[str, ...]
    text: str
    start: int
    end: int
    line: int


class Section(NamedTuple):
    """What stands between two headings; `head` is where its own heading begins."""

    path: tuple[str, ...]
    level: int
    head: int
    start: int
    end: int


def cut_passages(text: str, *, size: int = 400, overlap: int = 80) -> list[Passage]:
    """The passages of a Markdown page, in order, none above `size` estimated tokens.

    Passages of one long section share up to `overlap` tokens (at most a quarter of `size`) with the one before.
    Front matter and comments that have their lines to themselves are no text; a heading with nothing below it is left
    out, unless the page has nothing but headings.
    """
    body = _Body(text)
    size = max(size, 8)
    spans = _spans(body.text, size, min(max(overlap, 0), size // 4))
    return list(_placed(body, spans))


def front_matter(text: str) -> Span:
    """Where the lines between the `---` marks at the top of a page lie; (0, 0) for a page that has none."""
    opening = _FRONT_MATTER.match(text)
    closing = opening and _FRONT_MATTER_END.search(text, opening.end(), opening.end() + MAX_FRONT_MATTER)
    return (opening.end(), closing.start()) if opening and closing else (0, 0)


def body_text(text: str) -> str:
    """What a page says: `text` without its front matter and its comments."""
    return _Body(text).text


class _Body:
    """A page's text without front matter and comments, and the way back to the offsets of the page."""

    def __init__(self, text: str) -> None:
        self.page = text
        kept = list(_kept(text))
        self.text = "".join(text[start:end] for start, end in kept)
        self._starts = [start for start, _ in kept]
        self._offsets = [0, *accumulate(end - start for start, end in kept)]

    def place(self, at: int) -> int:
        """Where in the page the character `at` of the body stands."""
        piece = bisect_right(self._offsets, at, hi=len(self._starts)) - 1
        return self._starts[piece] + at - self._offsets[piece]


def _kept(text: str) -> Iterator[Span]:
    at = _body_start(text)
    for start, end in _comments(text, at):
        if at < start:
            yield at, start
        at = end
    yield at, len(text)


def _body_start(text: str) -> int:
    end = front_matter(text)[1]
    closing = _FRONT_MATTER_END.match(text, end) if end else None
    return closing.end() if closing else int(text.startswith("\ufeff"))


def _comments(text: str, at: int) -> Iterator[Span]:
    """Where comments lie that have their lines to themselves and are not code."""
    fences = iter(closed_fences(text, at))
    fence = next(fences, None)
    while start := _COMMENT_START.search(text, at):
        while fence and fence[1] <= start.start():
            fence = next(fences, None)
        if fence and at <= fence[0] <= start.start():
            at = fence[1]
            continue
        close = text.find("-->", start.end())
        if close < 0:
            return
        rest = _REST_OF_LINE.match(text, close + 3)
        at = rest.end() if rest else close + 3
        if rest:
            yield start.start(), at


def _spans(body: str, size: int, overlap: int) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """The heading, start and end of each passage of `body`."""
    sections = [section for section in _sections(body) if body[section.start : section.end].strip()]
    for group in _groups(body, sections or [Section((), 0, 0, 0, len(body))], size):
        heading = _shared_path(group)
        first = group[0]
        start = first.start if heading == first.path else first.head
        for window in _windows(body, start, group[-1].end, size, overlap):
            yield heading, *window


def _placed(body: _Body, spans: Iterable[tuple[tuple[str, ...], int, int]]) -> Iterator[Passage]:
    line, counted = 1, 0
    for heading, start, end in spans:
        raw = body.text[start:end]
        text = raw.strip()
        if not text:
            continue
        first = body.place(start + len(raw) - len(raw.lstrip()))
        last = body.place(start + len(raw.rstrip()) - 1) + 1
        line += body.page.count("\n", counted, first)
        counted = first
        yield Passage(heading=heading, text=text, start=first, end=last, line=line)


def _sections(body: str) -> Iterator[Section]:
    path: list[tuple[int, str]] = []
    level = head = start = 0
    for match in _headings(body):
        yield Section(_titles(path), level, head, start, match.start())
        level, head, start = len(match[1]), match.start(), match.end()
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, _CLOSING_MARKS.sub("", match[2]).strip()))
    yield Section(_titles(path), level, head, start, len(body))


def _headings(body: str) -> Iterator[re.Match[str]]:
    fences = iter(closed_fences(body))
    fence = next(fences, None)
    for match in _HEADING.finditer(body):
        while fence and fence[1] <= match.start():
            fence = next(fences, None)
        if not fence or match.start() < fence[0]:
            yield match


def _titles(path: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path if title)


def _groups(body: str, sections: list[Section], size: int) -> Iterator[list[Section]]:
    """Neighbouring sections that make one passage."""
    group: list[Section] = []
    for section in sections:
        if group and not _joins(body, group, section, size):
            yield group
            group = []
        group.append(section)
    yield group


def _joins(body: str, group: list[Section], section: Section, size: int) -> bool:
    """Whether `section` is read with the group: below the same parent, small enough, and no chapter of its own."""
    parent = group[0].path[:-1]
    start = group[0].head
    if section.path[: len(parent)] != parent or section.end - start > 4 * size:
        return False
    if section.level <= 2 and estimate_tokens(body[start : group[-1].end]) >= size // 4:
        return False
    return estimate_tokens(body[start : section.end]) <= size


def _shared_path(group: list[Section]) -> tuple[str, ...]:
    """The headings that stand above every section of the group."""
    first, last = min(section.path for section in group), max(section.path for section in group)
    shared = 0
    while shared < min(len(first), len(last)) and first[shared] == last[shared]:
        shared += 1
    return first[:shared]


def _windows(body: str, start: int, end: int, size: int, overlap: int) -> Iterator[Span]:
    """`body[start:end]` in pieces of at most `size` tokens, each of which begins with something that can be seen."""
    start = _seen(body, start, end)
    while (limit := _reach(body, start, end, size)) < end:
        # At least half a window goes out and half of it is not repeated, so the work stays linear.
        stop = _cut(body, start + (limit - start) // 2, limit)
        yield start, stop
        start = _seen(body, _resume(body, max(start + (stop - start) // 2, start + 1), stop, overlap), end)
    yield start, end


def _seen(body: str, start: int, end: int) -> int:
    """Where the white space from `start` on ends: two pieces would say the same if they began in it."""
    found = _VISIBLE.search(body, start, end)
    return found.start() if found else end


def _reach(body: str, start: int, end: int, size: int) -> int:
    """The farthest end of a piece from `start` that has at most `size` tokens."""
    low, high = start + 1, min(end, start + 4 * size)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(body[start:middle]) <= size else (low, middle - 1)
    return low


def _cut(body: str, floor: int, limit: int) -> int:
    """The best place to stop in `body[floor:limit]`: after a paragraph, a line, a sentence, a word, or at its end."""
    for end in _ENDS:
        stops = [match.end() for match in end.finditer(body, floor, limit)]
        if stops:
            return stops[-1]
    return limit


def _resume(body: str, floor: int, stop: int, overlap: int) -> int:
    """Where the next piece begins: up to `overlap` tokens before `stop`, at the start of a line, sentence or word."""
    if not overlap:
        return stop
    low = _reach_back(body, floor, stop, overlap)
    content_end = low + len(body[low:stop].rstrip())
    for end in (_LINE_END, _SENTENCE_END, _WORD_END):
        match = end.search(body, max(low - 1, 0), content_end)
        if match and match.end() < content_end:
            return match.end()
    return low


def _reach_back(body: str, floor: int, stop: int, overlap: int) -> int:
    """The farthest start of a piece to `stop` that has at most `overlap` tokens."""
    low, high = max(floor, stop - 4 * overlap), stop
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if estimate_tokens(body[middle:stop]) <= overlap else (middle + 1, high)
    return low
