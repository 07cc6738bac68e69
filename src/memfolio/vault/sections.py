"""The text of a Markdown page: its lines, its headings outside code, and edits that keep every other byte. Pure.

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

from memfolio.vault.log import closed_fences

Span = tuple[int, int]
LineEdit = tuple[int, int, Sequence[str]]
"""Lines from the first to behind the last, and those that come in their place."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")


class PageHeading(NamedTuple):
    """A heading: the number of its line from 0, how many signs it has, and its words, which begin at a column."""

    line: int
    level: int
    title: str
    column: int
    start: int
    """Where it begins in the text."""


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

    def heading(self, number: int) -> PageHeading | None:
        """The heading on a line, if there is one."""
        start = self._starts[number]
        found = None if self.is_hidden(start) else _HEADING.fullmatch(self.lines[number].rstrip())
        return PageHeading(number, len(found[1]), found[2], found.start(2), start) if found else None

    def sections(self, deepest: int = 2) -> Iterator[tuple[PageHeading, int]]:
        """The headings of up to so many signs, each with the line at which its section ends."""
        heads = [each for at in range(len(self.lines)) if (each := self.heading(at)) and each.level <= deepest]
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
OURS = re.compile(rf"^{BEGIN} ([0-9a-f]{{16}}) -->\r?\n(.*?)^{END}", re.MULTILINE | re.DOTALL)


def marked(body: str) -> str:
    """A text of ours between its marks."""
    return f"{BEGIN} {body_hash(body)} -->\n{body}{END}"


def is_ours(text: str) -> bool:
    """Whether our section is unchanged since we wrote it."""
    match = OURS.search(text)
    return match is not None and body_hash(match[2]) == match[1]


def renewed(text: str, body: str) -> str:
    """Return the page with another text in our section; everything around it stays."""
    return OURS.sub(lambda _: marked(body), text, count=1)


def body_hash(body: str) -> str:
    """A hash of a text, whatever an editor did to the ends of its lines."""
    lines = "\n".join(line.rstrip() for line in body.strip().splitlines())
    return blake2b(lines.encode("utf-8", "replace"), digest_size=8).hexdigest()
