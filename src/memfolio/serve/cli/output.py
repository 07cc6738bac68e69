"""How answers look: plain lines, tables and coloured differences for people, one JSON document for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memfolio.verbs.documents import as_document as as_document
from memfolio.verbs.documents import as_json as as_json
from memfolio.verbs.documents import fields_of as fields_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDE = 1000
"""Columns of output that goes to a file or another program: nothing is cut off there."""

LONG = 50_000
"""Characters up to which a text is laid out and coloured; a longer one is written as it is."""

NARROW = 20
"""Columns in which text is laid out at least, however narrow the terminal is."""

DIFF = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}
PAGE = {"# ": "bold", "## ": "bold cyan", "source: ": "dim", "<!-- ": "dim"}
_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SURROGATES = range(0xD800, 0xE000)
_CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160), *_BIDI, *_SURROGATES) if chr(code) not in "\n\t"}


Line = str | tuple[str, str] | Callable[["Screen"], None]
"""What is said, perhaps with its style; or something that draws itself."""
Lines = Line | Sequence[Line]
"""One of them, or a list; a tuple is always a text and its style."""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, wide: str = "", none: str = "") -> Line:
    """A table; where it has no rows and `none` says something, that."""
    return none if none and not rows else lambda screen: screen.table(columns, rows, wide=wide)


def diff(text: str) -> Line:
    """A unified difference."""
    return lambda screen: screen.diff(text)


def page(text: str) -> Line:
    """A file's text."""
    return lambda screen: screen.page(text)


def note(text: str) -> Line:
    """Something that is said beside the answer, on the stream for errors."""
    return lambda _: Screen(errors=True).say(f"memfolio: {text}", "yellow")


def pairs(document: Mapping[str, Any], width: int) -> list[str]:
    """What a document says, a line for each name that has a value."""
    lines = []
    for name, value in document.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if value not in (None, "", [], (), {}):
            words = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            lines.append(f"{name.replace('_', ' '):<{width}} {words}")
    return lines


def yellow(texts: Iterable[str]) -> list[Line]:
    """What should be looked at, a line each."""
    return [(text, "yellow") for text in texts]


def safe(text: str) -> str:
    """`text` without what could steer a terminal: memories may come from anywhere."""
    return text.translate(_CONTROL)


def print_json(document: dict[str, Any]) -> None:
    text = as_json(document)
    # Bytes, so that neither the system's encoding nor its line ends have a say.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


class Screen:
    """Where people read: the terminal, or a file when the output is sent to one."""

    def __init__(self, *, errors: bool = False) -> None:
        from rich.console import Console

        stream = sys.stderr if errors else sys.stdout
        self.console: Console = Console(file=stream, width=None if stream.isatty() else WIDE, highlight=False)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it, so that long things may be cut and narrow ones laid out."""
        return self.console.is_terminal

    def print(self, thing: RenderableType) -> None:
        """Something that Rich lays out."""
        self.console.print(thing)

    def show(self, lines: Lines) -> None:
        """The lines of an answer."""
        for line in [lines] if isinstance(lines, str | tuple) or callable(lines) else lines:
            if callable(line):
                line(self)
            else:
                self.say(*((line,) if isinstance(line, str) else line))

    def say(self, text: str = "", style: str = "") -> None:
        """One or more lines, taken as they are."""
        self._write(safe(text), style)

    def _write(self, text: str, style: str = "") -> None:
        """A piece of text, written without laying it out: that would take seconds for a long memory."""
        if self.console.is_terminal and len(text) <= LONG:
            from rich.text import Text

            self.console.print(Text(text, style=style), soft_wrap=True)
        else:
            self.console.file.write(f"{text}\n")

    def hang(self, lead: Text, body: Text, *, most: int | None = None) -> None:
        """`body` beside `lead`, and wrapped below itself; of a long one a terminal shows at most so many lines."""
        from rich.text import Text

        if not self.is_terminal or (most is None and len(body) > LONG):
            first, *rest = body.plain.split("\n")
            margin = " " * lead.cell_len
            self._write("\n".join([lead.plain + first, *(f"{margin}{line}".rstrip() for line in rest)]))
            return
        for line in self._wrapped(body, max(NARROW, self.console.width - lead.cell_len), most):
            line.rstrip()
            self.console.print(Text.assemble(lead, line), soft_wrap=True)
            lead = Text(" " * lead.cell_len)

    def _wrapped(self, text: Text, width: int, most: int | None) -> list[Text]:
        if most is None:
            return list(text.wrap(self.console, width))
        # Enough to fill the lines, so that a page is not laid out for the sake of its beginning.
        start = text[: width * most * 2]
        lines = list(start.wrap(self.console, width))
        if len(lines) > most or len(text) > len(start):
            lines[most - 1].truncate(width - 1)
            lines[most - 1].rstrip()
            lines[most - 1].append("…")
        return lines[:most]

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, wide: str = "", headed: bool = True
    ) -> None:
        """A table; on a narrow terminal the column `wide` gives way first."""
        from rich.table import Table
        from rich.text import Text

        full = self.is_terminal and wide != ""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=headed, expand=full)
        for name in columns:
            table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == wide else None)
        for row in rows:
            table.add_row(*(Text(safe("" if cell is None else str(cell))) for cell in row))
        self.console.print(table)

    def diff(self, text: str) -> None:
        """A unified difference, in colour where there is any."""
        self.lines(text, DIFF)

    def page(self, text: str) -> None:
        """A file's text: as it is for programs, coloured and without control characters for people."""
        if self.is_terminal:
            self.lines(text, PAGE)
        else:
            self.console.file.write(text)

    def lines(self, text: str, styles: Mapping[str, str], *, margin: str = "") -> None:
        """Lines, each in the style of the first beginning that it has."""
        if text and (not self.is_terminal or len(text) > LONG):
            self._write(safe("\n".join(margin + line for line in text.splitlines())))
            return
        for line in text.splitlines():
            self.say(margin + line, next((style for start, style in styles.items() if line.startswith(start)), ""))
