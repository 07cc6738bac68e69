"""The text of a Markdown page: its lines, fences, headings and sections, and edits that keep every other byte. Pure.

Readers of pages (procedures, minds, core memory …) say what their sections and fields mean; where these stand, and how
they are changed in place, is the same for all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from typing import NamedTuple

Span = tuple[int, int]
LineEdit = tuple[int, int, Sequence[str]]
"""Lines from the first to behind the last, and those that come in their place."""
MAX_HEADING = 200
"""In an outline, a longer line counts as text even if it looks like a heading, so that nothing is lost to search."""
MAX_FRONT_MATTER = 65_536
_FENCE = r"(?m)^[ \t]*(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})([^\n]*)(?:\n|\Z)"
_HEADING = re.compile(r"^(?:\A\ufeff| {0,3})(#{1,6})(?=[ \t\r\n]|\Z)([^\n]*)\n?", re.MULTILINE)
COMMENT = re.compile(r"(?ms)^[ \t]*<!--.*?-->")
_COMMENT_START = re.compile(r"^[ \t]*<!--", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+[ \t\r]*$")
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(?=---[ \t\r]*(?:\n|\Z)|[\w\"'][\w .\"'-]{0,63}:\s)")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", re.MULTILINE)


class PageHeading(NamedTuple):
    """A heading: the number of its line from 0, how many signs it has, and its words, which begin at a column."""

    line: int
    level: int
    title: str
    column: int
    start: int
    """Where its line begins in the text."""
    behind: int
    """Where its signs end."""
    end: int
    """Where the next line begins."""

    @property
    def is_plain(self) -> bool:
        """Whether it begins its line and says something: only such headings are read as those of sections."""
        return self.behind == self.start + self.level < self.start + self.column and self.title != ""


def headings(text: str) -> Iterator[PageHeading]:
    """Every line that could be a heading, though it be empty, further in, behind a mark of Unicode, or code."""
    line = at = 0
    for found in _HEADING.finditer(text):
        start, behind = found.start(), found.end(1)
        line, at = line + text.count("\n", at, start), start
        title = (words := found[2].rstrip()).lstrip(" \t")
        column = behind + len(words) - len(title) - start
        yield PageHeading(line, len(found[1]), title, column, start, behind, found.end())


class Section(NamedTuple):
    """The text between two headings; `head` is the start of its own heading."""

    path: tuple[str, ...]
    level: int
    head: int
    start: int
    end: int


def sections_of(text: str) -> Iterator[Section]:
    """The sections of a text with the headings above them, as a reader sees them: closing marks are no words."""
    path: list[tuple[int, str]] = []
    level = head = start = 0
    page = PageText(text)
    for each in headings(text):
        words = text[each.behind : each.end].removesuffix("\n")
        if len(words) > MAX_HEADING or page.is_hidden(each.start) or text[each.start] == "\ufeff":
            continue
        yield Section(_titles(path), level, head, start, each.start)
        level, head, start = each.level, each.start, each.end
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, _CLOSING_MARKS.sub("", words).strip()))
    yield Section(_titles(path), level, head, start, len(text))


def _titles(path: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path if title)


def closed_fences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Return the spans of closed code fences in `text[start:end]`, in whole lines."""
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


def comments(text: str, at: int = 0, fences: Sequence[Span] = ()) -> Iterator[Span]:
    """Yield the spans of comments that have their lines to themselves and are not in one of these fences."""
    while start := _COMMENT_START.search(text, at):
        fence = _around(fences, start.start())
        if fence and at <= fence[0]:
            at = fence[1]
            continue
        close = text.find("-->", start.end())
        if close < 0:
            return
        rest = _REST_OF_LINE.match(text, close + 3)
        at = rest.end() if rest else close + 3
        if rest:
            yield start.start(), at


def _around(spans: Sequence[Span], at: int) -> Span | None:
    """Return the one of these sorted spans that contains a position."""
    found = spans[: bisect_right(spans, at, key=lambda span: span[0])][-1:]
    return next((span for span in found if at < span[1]), None)


def front_matter(text: str) -> Span:
    """Return the span of the front matter between the `---` marks; (0, 0) if there is none."""
    opening = _FRONT_MATTER.match(text)
    closing = opening and _FRONT_MATTER_END.search(text, opening.end(), opening.end() + MAX_FRONT_MATTER)
    return (opening.end(), closing.start()) if opening and closing else (0, 0)


def body_start(text: str) -> int:
    """Where what a page says begins: behind its front matter."""
    closing = _FRONT_MATTER_END.match(text, end) if (end := front_matter(text)[1]) else None
    return closing.end() if closing else int(text.startswith("\ufeff"))


class PageText:
    """The text of a page; its lines are numbered from 0.

    Text in `hidden` spans is not searched for headings or fields; by default, code fences are hidden.
    """

    def __init__(self, text: str, hidden: Iterable[Span] | None = None) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        spans = sorted(closed_fences(text) if hidden is None else hidden)
        self._hidden_from = [start for start, _ in spans]
        self._hidden_to = list(accumulate((end for _, end in spans), max))

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their `\\n`."""
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_at(self, at: int) -> int:
        """The number of the line that a place is on."""
        return bisect_right(self._starts, at) - 1

    def is_hidden(self, at: int) -> bool:
        number = bisect_right(self._hidden_from, at) - 1
        return number >= 0 and at < self._hidden_to[number]

    def is_hidden_line(self, number: int) -> bool:
        return self.is_hidden(self._starts[number])

    @cached_property
    def headings(self) -> dict[int, PageHeading]:
        """The plain headings outside code, by their lines."""
        return {each.line: each for each in headings(self.text) if each.is_plain and not self.is_hidden(each.start)}

    def sections(self, deepest: int = 2) -> Iterator[tuple[PageHeading, int]]:
        """The headings of up to so many signs, each with the line at which its section ends."""
        heads = [each for each in self.headings.values() if each.level <= deepest]
        return zip(heads, [*(each.line for each in heads[1:]), len(self.lines)], strict=False)

    def edited(self, edits: Iterable[tuple[Span, str]]) -> str:
        """The page with other words at some places; where two edits are at one place, the first comes first."""
        pieces, at = list[str](), 0
        for (start, end), new in sorted(edits, key=lambda edit: edit[0]):
            pieces += [self.text[at:start], self._broken(new)]
            at = end
        return "".join([*pieces, self.text[at:]])

    def edited_lines(self, edits: Iterable[LineEdit]) -> str:
        """The page with other lines in place of some; where two edits are at one place, the first comes first."""
        lines, at, end = list[str](), 0, self.newline[:-1]
        for first, last, new in sorted(edits, key=lambda edit: edit[:2]):
            lines += [*self.lines[at:first], *(f"{line}{end}" for text in new for line in text.split("\n"))]
            at = last
        return "\n".join([*lines, *self.lines[at:]])

    def _broken(self, text: str) -> str:
        return text if self.newline == "\n" else text.replace("\r\n", "\n").replace("\n", self.newline)


# The part of a page that memfolio keeps. It stands between two marks; the first has the hash of what was written
# there, so that an edit is seen.

BEGIN, END = "<!-- memfolio:begin", "<!-- memfolio:end -->"


def between(begin: str, end: str) -> re.Pattern[str]:
    """What stands between two marks, and the hash in the first."""
    return re.compile(rf"^{begin} ([0-9a-f]{{16}}) -->\r?\n(.*?)^{end}", re.MULTILINE | re.DOTALL)


OURS = between(BEGIN, END)


def marked(body: str, begin: str = BEGIN, end: str = END) -> str:
    """A text of ours between its marks."""
    return f"{begin} {body_hash(body)} -->\n{body}{end}"


def is_ours(text: str, part: re.Pattern[str] = OURS) -> bool:
    """Whether our section is unchanged since we wrote it."""
    match = part.search(text)
    return match is not None and body_hash(match[2]) == match[1]


def renewed(text: str, body: str) -> str:
    """Return the page with another text in our section; everything around it stays."""
    return OURS.sub(lambda _: marked(body), text, count=1)


def body_hash(body: str) -> str:
    """A hash of a text, whatever an editor did to the ends of its lines."""
    lines = "\n".join(line.rstrip() for line in body.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()
