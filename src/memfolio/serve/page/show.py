"""How stored text becomes a page: escaped, with hidden characters made visible, and Markdown without links or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from memfolio.serve.cli.output import diff_lines as signed_lines
from memfolio.serve.cli.recall import FURTHERED
from memfolio.text import counted
from memfolio.vault.fields import local

DATA = Path(__file__).parent / "data"
SHORT, LONG, LONGEST, LINES = 280, 20_000, 100_000, 2_000
"""Characters of a memory in a list, up to which it is read as Markdown, and that one page shows; lines of a diff."""

# Characters that nobody sees, or that turn a line around, are shown by their numbers.

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]"
)
_PICTURE, _SCRIPTS = "\u2190-\u2bff\U0001f000-\U0001faff", "\u0600-\u08ff\u0900-\u0dff"
_JOINER = re.compile(f"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])|(?<=[{_SCRIPTS}])[\u200c\u200d](?=[{_SCRIPTS}])")
"""Joiners that belong into pictures of several characters, and into Arabic and Indic words."""
_ACCENT = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]"
_STACKED = re.compile(f"({_ACCENT}{{4}}){_ACCENT}+")
_MARKS = re.compile(r"(?m)^\s{0,3}(?:#{1,6}|>)\s+|\*\*|`+|^---+$")
_WIKI = re.compile(r"\[\[(?:[a-z]+--)?([^\]\n]{1,100})\]\]")
_BULLET = re.compile(r"(?m)^\s*[-*+]\s+")
_FIRST = re.compile(r"(^|: )· ")
"""The first item of a list, which needs no dot to part it from what stands before."""


class Exact(str):
    """A text for a field that is sent back: escaped like all others, but with every character as it is."""


def visible(text: str) -> str:
    """A text in which nothing is hidden; accents that would cover other lines are cut."""
    kept = {match.start() for match in _JOINER.finditer(text)} if "\u200c" in text or "\u200d" in text else ()
    found = _HIDDEN.sub(lambda match: match[0] if match.start() in kept else f"⟦U+{ord(match[0]):04X}⟧", text)
    return _STACKED.sub(r"\1…", found)


def _finalized(value: object) -> object:
    """What any expression of a template gives; Jinja escapes it after this."""
    if isinstance(value, str) and not isinstance(value, (Markup, Exact)):
        return visible(value)
    return "" if value is None else value


# Markdown: lists, emphasis, quotes and code; links and pictures stay the text that they are.

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).disable(
    ["link", "image", "autolink", "html_inline", "html_block", "reference", "entity"]
)
# A heading inside a memory is none of the page.
_MARKDOWN.add_render_rule("heading_open", lambda *_: '<p class="heading">')
_MARKDOWN.add_render_rule("heading_close", lambda *_: "</p>")
_TAGS = {"p", "br", "hr", "strong", "em", "code", "pre", "blockquote", "ul", "ol", "li"}


def rich(text: str, *, whole: bool = False) -> Markup:
    """A memory's text as a person would read it; a long one as it is."""
    shown = visible(text if whole else text[:LONGEST])
    return Markup('<div class="verbatim">{}</div>').format(shown) if len(shown) > LONG else _rendered(shown)


@lru_cache(maxsize=512)
def _rendered(text: str) -> Markup:
    return Markup(nh3.clean(_MARKDOWN.render(text), tags=_TAGS, attributes={"p": {"class"}}))


def brief(text: str, most: int = SHORT) -> str:
    """The beginning of a text on one line, without the marks of Markdown."""
    words = " ".join(_BULLET.sub("· ", _MARKS.sub("", _WIKI.sub(r"\1", text[: 4 * most]))).split())
    words = _FIRST.sub(r"\1", words)
    return words if len(words) <= most and len(text) <= 4 * most else f"{words[:most].rstrip()}…"


def diff_lines(diff: str) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff, each with what it is: the name of a file, a gap, gone, added or as it was."""
    kinds, lines = {"+": "add", "-": "cut", "@": "gap", "/": "file"}, diff.split("\n")
    yield from ((kinds.get(sign, "same"), text) for sign, text in signed_lines("\n".join(lines[:LINES])))
    if len(lines) > LINES:
        yield "file", f"and {len(lines) - LINES:,} more lines"


def by_day(rows: Iterable[tuple[datetime, Any]], now: datetime, zone: tzinfo) -> list[tuple[str, list[Any]]]:
    """Rows by their days, as a person in this time zone calls them, in the order that they have."""
    today = local(now, zone).date()

    def name(moment: datetime) -> str:
        day = local(moment, zone).date()
        usual = f"{day:%A} {day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")
        return {today: "Today", today - timedelta(days=1): "Yesterday"}.get(day, usual)

    return [(day, [row for _, row in group]) for day, group in groupby(rows, key=lambda each: name(each[0]))]


def link(path: str, **query: Any) -> str:
    """An address inside the page; what is empty is left out."""
    given = [(name, value) for name, value in query.items() if value not in (None, "")]
    return quote(path, safe="/") + (f"?{urlencode(given)}" if given else "")


def environment(zone: tzinfo) -> Environment:
    """The templates, in which every value is text unless this module made it something else."""

    def moment(value: datetime | str, form: str = "%H:%M") -> str:
        return local(datetime.fromisoformat(value) if isinstance(value, str) else value, zone).strftime(form)

    how: dict[str, Any] = {"finalize": _finalized, "undefined": StrictUndefined, "trim_blocks": True}
    env = Environment(loader=FileSystemLoader(DATA), autoescape=True, lstrip_blocks=True, auto_reload=False, **how)
    env.filters |= {"rich": rich, "brief": brief, "exact": Exact, "at": moment, "diff_lines": diff_lines}
    env.globals |= {"counted": counted, "furthered": FURTHERED}
    return env
