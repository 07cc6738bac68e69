"""How answers look: lines, tables, memories in brief and differences for people, one JSON document for programs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.text import counted
from memfolio.types import MemoryItem
from memfolio.verbs.documents import as_document as as_document
from memfolio.verbs.documents import as_json as as_json
from memfolio.verbs.documents import document_of as document_of
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
"""A text, maybe with a style; or a function that draws on the screen."""
Lines = Line | Sequence[Line]
"""One line, or a list of lines; a tuple is always a text and its style."""


def as_lines(lines: Lines) -> Sequence[Line]:
    """The lines, also where there is only one."""
    return [lines] if isinstance(lines, str | tuple) or callable(lines) else lines


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, wide: str = "", none: str = "") -> Line:
    """Return a table, or the text `none` if it has no rows."""
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


def picked(value: object, names: str) -> dict[str, Any]:
    """These attributes of a value, by their names."""
    return {name: getattr(value, name) for name in names.split()}


def seq_of(made: Any) -> int | None:
    """Return the number of the change that something was written as; None if nothing was."""
    return made.receipt.seq if made.receipt else None


def yellow(texts: Iterable[str]) -> list[Line]:
    """Return warnings, one per line."""
    return [(text, "yellow") for text in texts]


@cache
def program() -> str:
    """The command that runs this program: its name where the shell finds it by that, else as it was called."""
    import shutil

    called = Path(sys.argv[0])
    if called.parts[-2:] == ("memfolio", "__main__.py"):
        return shlex.join([sys.executable, "-m", "memfolio"])
    found = shutil.which("memfolio")
    is_own = called.stem != "memfolio" or (found is not None and called.exists() and called.samefile(found))
    return "memfolio" if is_own else shlex.quote(str(called))


def as_called(text: str) -> str:
    """Words of ours, with the commands in them as they can be typed here."""
    return text.replace("`memfolio ", f"`{program()} ")


def safe(text: str) -> str:
    """Return `text` without terminal control characters: memories may come from anywhere."""
    return text.translate(_CONTROL)


def print_json(document: dict[str, Any]) -> None:
    text = as_json(document)
    # Bytes, so that neither the system's encoding nor its line ends have a say.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


class Screen:
    """The output for people: the terminal, or a file that output is redirected to."""

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

    @contextmanager
    def paged(self, *, wanted: bool) -> Iterator[None]:
        """Page the output if it is longer than the terminal and a person can press keys."""
        if not wanted or not self.is_terminal or not sys.stdin.isatty():
            yield
            return
        with self.console.capture() as heard:
            yield
        import subprocess

        from memfolio.config import pager

        text, (program, around) = heard.get(), pager()
        if not program or text.count("\n") < self.console.height - 1:
            self.console.file.write(text)
            return
        with suppress(BrokenPipeError, KeyboardInterrupt):
            subprocess.run(program, shell=True, input=text, text=True, env=around, check=False)

    def show(self, lines: Lines) -> None:
        """The lines of an answer."""
        for line in as_lines(lines):
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
        elif self.console.is_terminal:  # past the layout, but not past the pager
            self.console.out(text, highlight=False)
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
        """Show a unified diff, in colour if possible; the records of a ledger are told in words."""
        self.lines("".join(map(_ledger_in_words, filter(None, _FILE.split(text)))), DIFF)

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


UNITS = ("B", "kB", "MB", "GB", "TB")
ENOUGH = 400
"""Characters of a memory's beginning that are looked at to find its first words."""
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?:ing|ies|ed|es|s|e|y)$")


def readable(size: int) -> str:
    """Bytes as a person says them."""
    power = min(len(UNITS) - 1, max(0, len(str(size)) - 1) // 3)
    value = size / 1000**power
    return f"{value:.1f} {UNITS[power]}" if power and value < 10 else f"{value:.0f} {UNITS[power]}"


def happened(item: MemoryItem, zone: tzinfo) -> str:
    """When it happened, as a clock on the wall shows it."""
    return local(item.event_time or item.created_at, zone)


def local(moment: datetime, zone: tzinfo) -> str:
    from memfolio.vault.fields import local as in_zone

    return f"{in_zone(moment, zone):%Y-%m-%d %H:%M}"


def day(moment: datetime, zone: tzinfo) -> str:
    return local(moment, zone)[:10]


def beginning(text: str, length: int = 70) -> str:
    """The first words of a text, on one line."""
    words = " ".join(text[:ENOUGH].split())
    return words if len(words) <= length and len(text) <= ENOUGH else f"{words[: length - 1].rstrip()}…"


def tagged(item: MemoryItem) -> str:
    return " ".join(f"#{tag}" for tag in item.tags)


def standing(item: MemoryItem) -> list[str]:
    """Return the states of a memory in words: pinned, superseded, forgotten."""
    marks = {"pinned": item.pinned, "superseded": item.superseded_by, "forgotten": item.forgotten_at}
    return [word for word, holds in marks.items() if holds]


def emphasised(text: str, terms: Sequence[str]) -> Text:
    """`text` with the words that were asked for in bold."""
    from rich.text import Text

    shown = Text(safe(text))
    roots = {_root(term) for term in terms if " " not in term}
    for match in _WORD.finditer(shown.plain):
        if _root(match[0]) in roots:
            shown.stylize("bold", match.start(), match.end())
    # Scripts without spaces are asked for as pairs and triples of characters.
    shown.highlight_words([term.replace(" ", "") for term in terms if " " in term], "bold")
    return shown


def _root(word: str) -> str:
    """A word without its ending, roughly as the search compares words."""
    word = word.casefold()
    return _ENDING.sub("", word) if len(word) > 4 else word


_FILE = re.compile(r"^(?=--- a/.*\n\+\+\+ b/)", re.MULTILINE)
_ARCHIVED = re.compile(r"--- a/\S*?/memory/archive/")


def for_people(diff: str) -> str:
    """`diff` with one side of each move: what leaves a log for its archive, or comes back, is not shown twice."""
    files = [part for part in _FILE.split(diff) if part]
    logs = [part for part in files if not _ARCHIVED.match(part)]
    return "".join(logs) or diff


def _ledger_in_words(part: str) -> str:
    """The difference of one file; of a ledger, how many lines came or went, and what each record says."""
    from memfolio.vault.past.past import record_in_words
    from memfolio.vault.paths import Form, form_of

    path, found = next(changed_lines(part), ("", []))
    if form_of(path) is not Form.LINES:
        return part
    signs = [sign for sign, _ in found]
    counts = {"added to": signs.count("+"), "removed from": signs.count("-")}
    heads = [f"{counted(count, 'line')} {word} {path}" for word, count in counts.items() if count]
    said = dict.fromkeys(f"{sign}{beginning(record_in_words(path, text, ''), ENOUGH)}" for sign, text in found)
    return "".join(f"{each}\n" for each in (*heads, *said))


_PART = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def diff_lines(diff: str) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff, each with its sign: `/` before the name of a file and `@` at a gap.

    The head of each part says how many lines it has, so that no line of a file is taken for a head.
    """
    left = [0, 0]
    for line in diff.split("\n"):
        if any(left) and line[:1] != "\\":
            left = [left[0] - (line[:1] != "+"), left[1] - (line[:1] != "-")]
            yield line[:1] or " ", line[1:]
        elif part := _PART.match(line):
            left = [int(each or 1) for each in part.groups()]
            yield "@", ""
        elif line.startswith("--- "):
            yield "/", line[4:].removeprefix("a/")


def changed_lines(diff: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The files of a unified diff, each with the lines that went and came, and their signs."""
    path, lines = "", list[tuple[str, str]]()
    for sign, text in [*diff_lines(diff), ("/", "")]:
        if sign == "/":
            if lines:
                yield path, lines
            path, lines = text, []
        elif sign in "-+":
            lines.append((sign, text))
