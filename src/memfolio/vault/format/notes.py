"""Hand-written text as memories: each top-level bullet is one, and so is each paragraph.

A code fence is opaque if it is closed: its lines are neither bullets nor headings. One that is never closed is ordinary
text, so that a slip of a person's hand cannot swallow what follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time

from memfolio.vault.format.content import TIME, normalise_content, unescape
from memfolio.vault.format.fields import take_importance
from memfolio.vault.format.heading import read_clock

Span = tuple[int, int]

# Compiled at their first use: a home in which nobody writes by hand does not need them.
_FENCE = r"(?m)^[ \t]*(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})([^\n]*)(?:\n|\Z)"
_COMMENT_START = r"(?m)^[ \t]*<!--"
_REST_OF_LINE = r"[ \t\r]*(?:\n|\Z)"
_HEADING = r"#{1,6}(?:[ \t]+|$)"
_RULE = r"(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}"
_BULLET = r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?=\S)"
_TIMED_HEADING = rf"({TIME})(?![\w:])"
_TIMED_TEXT = rf"(?:\*\*)?\[({TIME})\]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One hand-written memory and where it stands."""

    content: str
    start: int
    end: int
    time: time | None
    heading: str | None
    importance: float | None


def read_notes(text: str) -> list[Note]:
    """The memories in `text`, in order."""
    reader = _Reader()
    fences = closed_fences(text)
    for start, end, kind in _pieces(text, fences, list(_comments(text))):
        reader.take(text[start:end], start, end, kind)
    reader.close()
    return reader.notes


def closed_fences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Where the closed code fences of `text[start:end]` lie, in whole lines."""
    found = list(re.compile(_FENCE).finditer(text, start, len(text) if end is None else end))
    longest = _longest_closing(found)
    spans: list[Span] = []
    position = 0
    while position < len(found):
        opening = found[position]
        position += 1
        if longest[position].get(opening[1][0], 0) < len(opening[1]):
            continue
        while not _closes(found[position], opening[1]):
            position += 1
        spans.append((opening.start(), found[position].end()))
        position += 1
    return spans


def _longest_closing(found: list[re.Match[str]]) -> list[dict[str, int]]:
    """For each place among the fence lines, the longest closing one from there on: it keeps the search linear."""
    longest: list[dict[str, int]] = [{}]
    for match in reversed(found):
        known = longest[-1]
        mark = match[1][0]
        if not match[2].strip() and len(match[1]) > known.get(mark, 0):
            known = {**known, mark: len(match[1])}
        longest.append(known)
    return longest[::-1]


def _closes(line: re.Match[str], opening: str) -> bool:
    return line[1].startswith(opening) and not line[2].strip()


def _comments(text: str) -> Iterator[Span]:
    """Where comments lie that have their lines to themselves."""
    comment_start, rest_of_line = re.compile(_COMMENT_START), re.compile(_REST_OF_LINE)
    at = 0
    while (start := comment_start.search(text, at)) and (close := text.find("-->", start.end())) >= 0:
        rest = rest_of_line.match(text, close + 3)
        at = rest.end() if rest else close + 3
        if rest:
            yield start.start(), at


def _pieces(text: str, fences: list[Span], comments: list[Span]) -> Iterator[tuple[int, int, str]]:
    """`text` as plain lines and as whole fences and comments; where these overlap, the first one counts."""
    at = 0
    for (start, end), kind in sorted(
        [*((span, "fence") for span in fences), *((span, "comment") for span in comments)]
    ):
        if start < at:
            continue
        yield from _plain_lines(text, at, start)
        yield start, end, kind
        at = end
    yield from _plain_lines(text, at, len(text))


def _plain_lines(text: str, at: int, end: int) -> Iterator[tuple[int, int, str]]:
    while at < end:
        after = text.find("\n", at, end) + 1 or end
        yield at, after, "line"
        at = after


class _Reader:
    """Collects lines into notes; `indent` is the bullet's, None for a paragraph."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.lines: list[str] = []
        self.start = self.end = self.width = 0
        self.indent: int | None = None
        self.gap = False
        self.importance: float | None = None
        self.time: time | None = None
        self.heading: str | None = None

    def take(self, piece: str, start: int, end: int, kind: str) -> None:
        if kind == "comment":
            self._note_importance(piece)
        elif kind == "fence":
            self._continue_or_open(piece, start, end)
        elif not piece.strip():
            self.gap = bool(self.lines)
        elif heading := re.match(_HEADING, piece):
            self.close()
            self._enter(piece[heading.end() :].strip(), is_title=piece.startswith(("# ", "#\t")))
        elif re.fullmatch(_RULE, piece.strip()):
            self.close()
        else:
            self._take_text(piece, start, end)

    def close(self) -> None:
        """End the note under way, if there is one."""
        content = unescape(normalise_content("".join(self.lines)))
        if content:
            clock = re.match(_TIMED_TEXT, content)
            self.notes.append(
                Note(
                    content=content,
                    start=self.start,
                    end=self.end,
                    time=read_clock(clock[1]) if clock else self.time,
                    heading=self.heading,
                    importance=self.importance,
                )
            )
            self.importance = None
        self.lines, self.indent, self.gap = [], None, False

    def _enter(self, words: str, *, is_title: bool) -> None:
        clock = re.match(_TIMED_HEADING, words)
        self.time = read_clock(clock[1]) if clock else None
        self.importance = None
        rest = words[clock.end() :].lstrip(" \t-–—:|") if clock else words
        self.heading = None if is_title else rest or None

    def _note_importance(self, comment: str) -> None:
        importance = take_importance(comment)[1]
        if importance is None:
            return
        if self.gap:
            self.close()
        self.importance = importance

    def _take_text(self, line: str, start: int, end: int) -> None:
        line, importance = take_importance(line)
        bullet = re.match(_BULLET, line)
        if bullet and (self.indent is None or _columns(bullet[1]) <= self.indent):
            self.close()
            self.indent, self.width = _columns(bullet[1]), bullet.end()
            self._open(line[bullet.end() :], start, end)
        else:
            self._continue_or_open(line, start, end)
        if importance is not None:
            self.importance = importance

    def _continue_or_open(self, piece: str, start: int, end: int) -> None:
        ended = self.gap and (self.indent is None or not piece.startswith((" ", "\t")))
        if not self.lines or ended:
            self.close()
            self._open(piece, start, end)
            return
        if self.gap:
            self.lines.append("\n")
        self._add(_dedent(piece, self.width) if self.indent is not None else piece, end)

    def _open(self, piece: str, start: int, end: int) -> None:
        self.start = start
        self._add(piece, end)

    def _add(self, piece: str, end: int) -> None:
        self.lines.append(piece)
        self.end, self.gap = end, False


def _columns(space: str) -> int:
    return len(space.expandtabs(4))


def _dedent(piece: str, width: int) -> str:
    """`piece` without the indentation that made it part of a bullet."""
    return "\n".join(line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in piece.split("\n"))
