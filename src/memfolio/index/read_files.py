"""Parse a file's bytes into searchable parts: pages, passages, log entries and mind items. Pure."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import date, datetime, timedelta, tzinfo
from itertools import accumulate, takewhile
from types import MappingProxyType
from typing import Any, NamedTuple

from memfolio.clock import from_ms
from memfolio.errors import DiskError
from memfolio.index.mind_pages import BY_PAGE, MindItem, MindPage, show_value
from memfolio.index.mind_pages import MindItemKind as MindKind
from memfolio.text import estimate_tokens
from memfolio.types import AGENT_PATTERN, Kind, MemoryItem, Origin, Store, Type, frozen
from memfolio.vault.fields import hashed_id, moment_of, without_surrogates
from memfolio.vault.journal import to_text
from memfolio.vault.lines import read_lines, text_of
from memfolio.vault.log import read_log
from memfolio.vault.paths import (
    SHARED,
    Form,
    agent_of,
    day_of,
    form_of,
    is_outside,
    is_packed_log,
    is_state,
    is_tracked,
    ledger_of,
    place_of,
)
from memfolio.vault.sections import (
    OURS,
    PageText,
    Section,
    Span,
    body_start,
    closed_fences,
    comments,
    front_matter,
    headings,
    sections_of,
)

# A page cut into passages: the pieces that search finds and shows.
#
# A section is the unit. Sections below a heading of level 3 to 6 share a passage as long as they fit into it; tiny
# ones below a heading of level 1 or 2 are joined with their neighbours; a long one is cut where a reader would pause.
# Only `#` headings count; lines in closed code fences are never headings.

_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]”’»]*\s|[。！？]")
_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\s")
_VISIBLE = re.compile(r"\S")
_ENDS = (_PARAGRAPH_END, _LINE_END, _SENTENCE_END, _WORD_END)


@frozen
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


def cut_passages(text: str, *, size: int = 400, overlap: int = 80) -> list[Passage]:
    """The passages of a Markdown page, in order, none above `size` estimated tokens.

    Passages of one long section share up to `overlap` tokens (at most a quarter of `size`) with the one before.
    Front matter and comments that have their lines to themselves are no text; a heading with nothing below it is left
    out, unless the page has nothing but headings.
    """
    body = Body(text)
    size = max(size, 8)
    spans = _spans(body.text, size, min(max(overlap, 0), size // 4))
    return list(_placed(body, spans))


def body_text(text: str) -> str:
    """Return `text` without its front matter and its comments."""
    return Body(text).text


class Body:
    """A page's text without front matter and comments, and the way back to the offsets of the page."""

    def __init__(self, text: str) -> None:
        self.page = text
        kept = list(_kept(text))
        self.text = "".join(text[start:end] for start, end in kept)
        self._starts = [start for start, _ in kept]
        self._offsets = [0, *accumulate(end - start for start, end in kept)]

    def place(self, at: int) -> int:
        """Return the position in the page of a character of the body."""
        piece = bisect_right(self._offsets, at, hi=len(self._starts)) - 1
        return self._starts[piece] + at - self._offsets[piece]


def _kept(text: str) -> Iterator[Span]:
    at = body_start(text)
    for start, end in comments(text, at, closed_fences(text, at)):
        if at < start:
            yield at, start
        at = end
    yield at, len(text)


def _spans(body: str, size: int, overlap: int) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """The heading, start and end of each passage of `body`."""
    sections = [section for section in sections_of(body) if body[section.start : section.end].strip()]
    for group in _groups(body, sections or [Section((), 0, 0, 0, len(body))], size):
        heading = _shared_path(group)
        first = group[0]
        start = first.start if heading == first.path else first.head
        for window in _windows(body, start, group[-1].end, size, overlap):
            yield heading, *window


def _placed(body: Body, spans: Iterable[tuple[tuple[str, ...], int, int]]) -> Iterator[Passage]:
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
    """Return the headings that all sections of the group share."""
    paths = [section.path for section in group]
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(paths), max(paths), strict=False))
    return tuple(title for title, _ in shared)


def windows(text: str, size: int = 400) -> list[str]:
    """A text in pieces of at most `size` tokens, which share nothing."""
    if estimate_tokens(text) <= size:
        return [text]
    return [piece for start, end in _windows(text, 0, len(text), size, 0) if (piece := text[start:end].strip())]


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
    """Return the end of the white space from `start` on, so that two pieces do not begin in it."""
    found = _VISIBLE.search(body, start, end)
    return found.start() if found else end


def _reach(body: str, start: int, end: int, size: int) -> int:
    """The farthest end of a piece from `start` that has at most `size` tokens, or one character."""
    ends = range(start + 2, min(end, start + 4 * size) + 1)
    return start + 1 + bisect_right(ends, size, key=lambda at: estimate_tokens(body[start:at]))


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
    low = max(floor, stop - 4 * overlap)
    return low + bisect_left(range(low, stop), -overlap, key=lambda at: -estimate_tokens(body[at:stop]))


# The pages of an agent: which files are searched as pages, what they are, and what their names and links say.

MAX_VALUES = 64
MAX_VALUE = 200
MAX_SUMMARY = 1000

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})(?![0-9])")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])(?![0-9])")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})(?![0-9])")
_ENTITY_ID = re.compile(r"(?P<type>\w+(?:-\w+)*)--(?P<slug>\w[\w.-]*)")
_LINK = re.compile(rf"\[\[([^\[\]|#\n]{{1,{MAX_VALUE}}})(?=[\]|#])")
_KEY = re.compile(r"([\w-]{1,64})[ \t]*:(?:[ \t]+|$)(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
FLOW = re.compile(r"\[(.*)\]([ \t]+#.*)?")
"""A list on one line of front matter, and the comment behind it."""
_LISTED = re.compile(r"""\s*"[^"]*"|\s*'[^']*'|[^,]+""")
_ALIASES = re.compile(r"(?:[-*+] +)?[*_]{0,2}aliases[*_]{0,2}:[*_]{0,2}(.*)", re.IGNORECASE)
_SIGNS = re.compile(r"#{1,6}(?:\s|$)|(?:```|~~~)|[-*_=]{3,}$")
_ASIDE = frozenset({"history", "learned from"})
"""Sections of a procedure that say how it came to be."""
_WHEN = re.compile(r"(?:triggers?|when(?: to use)?)\Z", re.IGNORECASE)
_PAIRS = re.compile(r"\*\*(?:[\s*]*(?:type|version|status|timeout)[\s*]*:[^|]*(?:\||\Z))+", re.IGNORECASE)
_DATES = ("date", "created", "created_at", "updated", "modified")
OWN_KEYS = frozenset({"name", "title", "type", "alias", "aliases"})
"""Fields of an entity's page with its type and names."""
BOOKKEEPING = frozenset({"first_seen", "last_updated", "mentions", "summarised"})
"""Properties of an entity that say something about its page."""
_CITED = re.compile(r"^[ \t]*[-*+][ \t][^\n]*\((M-\d{1,15}-[0-9a-f]{8})\)[ \t\r]*$", re.MULTILINE)
_RELATION_LINE = re.compile(r"[-*+][ \t]+([^:\[\]]{1,64}?)[ \t]*:[ \t]*(\[\[.*)")


@frozen
class PageKind:
    """The kind of a page, which decides how its passages are stored."""

    name: str
    kind: Kind = Kind.SEMANTIC
    type: Type = Type.OBSERVATION
    store: Store = Store.LONG_TERM
    importance: float = 0.5


@frozen
class EntityPage:
    """An entity as described by its page; `id` is the name that links use."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    relations: tuple[tuple[str, str], ...] = ()
    """Predicates and the ids of the entities they lead to."""
    cites: tuple[str, ...] = ()
    """The memories that its lines were taken from."""


_PAGE = PageKind(name="page")
_ENTITY = PageKind(name="entity", type=Type.FACT, importance=0.6)
DIGEST = "digest"
"""The source of the passages of digests."""
_DIGEST = PageKind(name=DIGEST, kind=Kind.EPISODIC, type=Type.EVENT)
_SESSION = PageKind(name="session", kind=Kind.EPISODIC, type=Type.EVENT, importance=0.4)
_MIND = PageKind(name="mind", type=Type.FACT, importance=0.7)
_CORE = {"USER": 0.9, "SOUL": 0.8, "IDENTITY": 0.8, "AGENTS": 0.6, "TOOLS": 0.6}
_MIND_TYPES = {
    Type.LESSON: ["Learnings"],
    Type.PREFERENCE: ["Desires"],
    Type.TASK: ["Goals", "Intentions", "Plans", "Commitments"],
}
_FILES = {
    **{f"{name}.md": PageKind(name=name.lower(), type=Type.FACT, importance=each) for name, each in _CORE.items()},
    "MEMORY.md": PageKind(name="core", type=Type.FACT, importance=0.9),
    **{f"mind/{name}.md": replace(_MIND, type=type_) for type_, names in _MIND_TYPES.items() for name in names},
    "memory/graph/index.md": None,
    "memory/graph/relations.md": None,
    "memory/meta/evolution.md": _PAGE,
}
_FOLDERS = {
    "mind": _MIND,
    "sessions": _SESSION,
    **dict.fromkeys(("memory/weekly", "memory/monthly", "memory/quarterly"), _DIGEST),
    "memory/checkpoints": replace(_SESSION, name="checkpoint"),
    "memory/conflicts": PageKind(name="conflict", kind=Kind.EPISODIC, importance=0.6),
    "memory/procedures": PageKind(name="procedure", kind=Kind.PROCEDURAL, type=Type.LESSON, importance=0.7),
    "memory/vault": PageKind(name="vault", type=Type.FACT, store=Store.VAULT, importance=0.9),
    "memory/archive": PageKind(name="archive", importance=0.2),
    "memory/meta": None,
}


def page_kind(path: str) -> PageKind | None:
    """Return the kind of the page at `path`, relative to the home; None if it is not searched."""
    inside = _inside_agent(path)
    if inside is None or not inside.endswith(".md") or form_of(path) is not Form.PAGE:
        return None
    if inside in _FILES:
        return _FILES[inside]
    if entity_id(path):
        return _ENTITY
    return next((_FOLDERS[folder] for folder in _parents(inside) if folder in _FOLDERS), _PAGE)


def page_date(path: str) -> date | None:
    """The day in a page's name; of a week, month or quarter, which the name must begin with, its last day."""
    name = path.rpartition("/")[2]
    try:
        return _date_in(name)
    except (ValueError, OverflowError):
        return None


def told_date(fields: Mapping[str, list[str]]) -> date | None:
    """The day that the front matter of a page names as its own."""
    for value in (value for name in _DATES for value in fields.get(name, ())):
        try:
            if found := _DAY.match(value):
                return date(*map(int, found.groups()))
        except ValueError:
            continue
    return None


def page_period(path: str) -> tuple[date, date] | None:
    """The first and the last day that a digest is about, by its name; None for any other page."""
    last = page_date(path)
    name = path.rpartition("/")[2]
    if last is None or _DAY.search(name):
        return None
    if _WEEK.match(name):
        return last - timedelta(days=6), last
    return last.replace(day=1, month=last.month - 2 if _QUARTER.match(name) else last.month), last


def read_entity(path: str, text: str) -> EntityPage | None:
    """The entity that `memory/graph/entities/<type>--<slug>.md` describes; None for any other page."""
    match = _ENTITY_ID.fullmatch(entity_id(path) or "")
    if match is None:
        return None
    fields = page_fields(text)
    body = body_text(text)
    lines = [line.strip() for line in without_cited(body).splitlines()]
    name = _name(fields, lines, match)
    return EntityPage(
        id=match[0],
        type=match["type"],
        name=name,
        aliases=tuple(_unique(_aliases(fields, lines), besides=name)),
        summary=_summary(lines),
        properties=MappingProxyType(
            {key: ", ".join(values) for key, values in fields.items() if key not in OWN_KEYS and values}
        ),
        relations=tuple(_relations(lines, besides=match[0])),
        cites=tuple(dict.fromkeys(_CITED.findall(body))),
    )


def without_cited(text: str) -> str:
    """A page's text without the lines that end with the id of a memory, which says the same and is found itself."""
    return _CITED.sub("", text) if "(M-" in text else text


def predicate_key(words: str) -> str:
    """A predicate as edges have it: `Developed by` is `developed-by`."""
    return "-".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", words).casefold()))


def _relations(lines: Iterable[str], *, besides: str) -> list[tuple[str, str]]:
    """Return the relations in `- predicate: [[target]]` lines, each once."""
    found = (match for line in lines if "[[" in line and (match := _RELATION_LINE.match(line)))
    drawn = ((predicate_key(match[1]), target) for match in found for target in mentions(match[2]))
    return [each for each in dict.fromkeys(drawn) if each[0] and each[1] != besides]


def entity_id(path: str) -> str | None:
    """Return the id of the entity whose page is at `path`."""
    folder, _, name = (_inside_agent(path) or "").rpartition("/")
    return _as_id(name) if folder == "memory/graph/entities" and name.endswith(".md") else None


def mentions(text: str) -> list[str]:
    """The ids of the entities that `text` links to, as in `[[person--alex|Alex]]`, each once, in order."""
    if "[[" not in text:
        return []
    ids = (_as_id(target.strip().rpartition("/")[2]) for target in _LINK.findall(text))
    return list(dict.fromkeys(filter(None, ids)))


def _inside_agent(path: str) -> str | None:
    """Return `path` relative to its agent's folder; None for files of no agent or of an editor."""
    agent = agent_of(path)
    if agent is None or not AGENT_PATTERN.fullmatch(agent) or not is_tracked(path):
        return None
    if agent == SHARED:
        return path.removeprefix(f"{SHARED}/") if path.startswith(f"{SHARED}/") else None
    return path.removeprefix(f"agents/{agent}/")


def _parents(path: str) -> Iterator[str]:
    """The folders that hold `path`, from the outermost."""
    return (path[:at] for at, character in enumerate(path) if character == "/")


def _as_id(name: str) -> str | None:
    """Return the entity id in a file or link name; None unless it has the form `type--slug`."""
    stem = unicodedata.normalize("NFC", name.removesuffix(".md")).lower()
    return stem if _ENTITY_ID.fullmatch(stem) else None


def _date_in(name: str) -> date | None:
    if match := _DAY.search(name):
        return date(int(match[1]), int(match[2]), int(match[3]))
    if match := _WEEK.match(name):
        return date.fromisocalendar(int(match[1]), int(match[2]), 7)
    if match := _QUARTER.match(name):
        return _month_end(int(match[1]), 3 * int(match[2]))
    match = _MONTH.match(name)
    return _month_end(int(match[1]), int(match[2])) if match else None


def _month_end(year: int, month: int) -> date:
    first = date(year, month, 1)
    return first.replace(day=monthrange(year, month)[1])


def page_fields(text: str) -> dict[str, list[str]]:
    """The simple fields of a page's front matter: `key: value`, `key: [a, b]`, and lists of `- item`."""
    start, end = front_matter(text)
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in text[start:end].splitlines():
        if match := _KEY.fullmatch(line.rstrip()):
            values = _values(match[2])
            if len(fields) < MAX_VALUES:
                fields.setdefault(match[1].lower(), values)
        elif (item := _ITEM.fullmatch(line)) and values is not None and len(values) < MAX_VALUES:
            values.extend(_plain([item[1]]))
    return fields


def _values(raw: str) -> list[str]:
    raw = raw.strip()
    if flow := FLOW.fullmatch(raw):
        return _plain(_LISTED.findall(flow[1]))
    return [] if raw[:1] in ("|", ">", "{", "&", "[") or raw.startswith("# ") else _plain([raw])


def _plain(values: Iterable[str]) -> list[str]:
    """Values without quotes and white space, as many and as long as a page may have."""
    stripped = (value.strip().strip("\"'").strip()[:MAX_VALUE] for value in values)
    return [value for value in stripped if value][:MAX_VALUES]


def _name(fields: Mapping[str, list[str]], lines: list[str], id: re.Match[str]) -> str:
    """Return the name of the entity: from its front matter, else its title, else its id."""
    titles = (line[2:].strip()[:MAX_VALUE] for line in lines if line.startswith("# "))
    title = next((title for title in titles if title and _as_id(title) != id[0]), "")
    given = fields.get("name") or fields.get("title") or ([title] if title else [])
    return given[0] if given else " ".join(id["slug"].split("-")).strip().title() or id["slug"]


def _aliases(fields: Mapping[str, list[str]], lines: list[str]) -> Iterator[str]:
    yield from fields.get("aliases", ())
    yield from fields.get("alias", ())
    for line in lines:
        if match := _ALIASES.fullmatch(line):
            yield from _values(f"[{match[1].strip().strip('[]')}]")


def _unique(values: Iterable[str], *, besides: str) -> list[str]:
    """Return `values` without case-insensitive repeats, and without the name itself."""
    unique: dict[str, str] = {}
    for value in values:
        unique.setdefault(value.casefold(), value)
    unique.pop(besides.casefold(), None)
    return list(unique.values())[:MAX_VALUES]


def _summary(lines: list[str]) -> str:
    """The first paragraph, on one line."""
    words: list[str] = []
    for line in lines:
        if line and not _SIGNS.match(line) and not _ALIASES.fullmatch(line) and not _RELATION_LINE.match(line):
            words.append(line)
        elif words:
            break
    return " ".join(words)[:MAX_SUMMARY].strip()


def procedure_text(path: str, text: str) -> tuple[str, str]:
    """The title of a procedure's page, and what the page tells whoever follows it, each line where it stands.

    Headings are told as words; the fields, the history and what it was learned from are left out.
    """
    title, lines, aside, page = "", list[str](), 0, PageText(text)
    for number, line in enumerate(page.lines):
        if heading := page.headings.get(number):
            level, name = heading.level, heading.title.strip()
            aside = 0 if level <= aside else aside
            aside = aside or (level if name.casefold() in _ASIDE else 0)
            is_title = level == 1 and not title
            title = name if is_title else title
            line = "" if is_title or not name else f"{_WHEN.sub('When to use', name).rstrip(':')}:"
        is_aside = aside or (_PAIRS.fullmatch(line.strip()) and not page.is_hidden_line(number))
        lines.append("" if is_aside else line)
    return title or path.rpartition("/")[2].removesuffix(".md").replace("-", " "), "\n".join(lines)


def page_tags(fields: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The tags that a page's front matter names, as Obsidian writes them: a list, or words with commas or spaces."""
    found = [*fields.get("tags", ()), *fields.get("tag", ())]
    words = re.split(r"[,\s]+", found[0]) if len(found) == 1 else found
    return tuple(dict.fromkeys(word for each in words if (word := each.strip().lstrip("#"))))


def page_names(fields: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Return the names in a page's front matter."""
    return tuple(dict.fromkeys([*fields.get("title", ()), *fields.get("aliases", ()), *fields.get("alias", ())]))


# From a file's bytes to what can be found in it. Pure: the same bytes always give the same.

_KNOWLEDGE = re.compile(
    r"(?:agents/[^/]+|shared)/(?:knowledge/(?!runs)|memory/meta/(?=runs))(?P<ledger>facts|rules|cases|judgements|runs)"
    r"(?:/(?P<part>(?!0000)(?:\d{4}|[1-9]\d{4,})))?\.jsonl"
)
NO_TEXT = "is not text in UTF-8"
MOST_GARBLED = 10
"""A page of which more than one character in so many cannot be read is no text."""
PART = 1_000_000
"""More memories than one part of a log can hold."""
_MINTED = re.compile(r"[A-Z]-(\d{1,15})-[0-9a-f]{8}")
_SPACE = re.compile(r"\n\s*\n")
_UNCLOSED = re.compile(r"^([\w-]{1,64})[ \t]*:[ \t]+\[(?![^\n]*\])", re.MULTILINE)


@frozen
class Searchable:
    """Something that can be found, and its place in the file."""

    item: MemoryItem
    ordinal: int
    form: str = "memory"
    heading: tuple[str, ...] = ()


@frozen
class FileReading:
    """Everything in a file: what can be found, what is said about other memories, and what could not be read."""

    found: tuple[Searchable, ...] = ()
    states: tuple[Mapping[str, Any], ...] = ()
    entity: EntityPage | None = None
    problems: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names of a note, beside that of its file."""


def is_searched(path: str) -> bool:
    """Whether a file of this name contains anything searchable, or state of such things."""
    return is_state(path) or is_log(path) or knowledge_of(path) is not None or page_kind(path) is not None


def knowledge_of(path: str) -> tuple[str, int] | None:
    """Which ledger of knowledge or of runs a file is of, and the place of its first line: one made by hand is first."""
    match = _KNOWLEDGE.fullmatch(path)
    return (match["ledger"], int(match["part"] or 0) * PART) if match else None


def is_log(path: str) -> bool:
    is_one = form_of(path) is Form.LOG or is_packed_log(path)
    return is_one and day_of(path) is not None and agent_of(path) is not None


def is_note(path: str) -> bool:
    """Whether a file is read as a note: it is in a watched folder, or was imported as one."""
    return is_outside(path) or "/memory/notes/" in path


def is_archived(path: str) -> bool:
    """Whether a file is an archive."""
    return "/memory/archive/" in path and not is_outside(path)


def first_ordinal(path: str) -> int:
    """Where the counting of a file's memories begins: the parts of a log count on, so that they stand in order."""
    named = ledger_of(path)
    return (named[1] - 1) * PART if named else 0


def precedence(path: str) -> tuple[bool, str, int]:
    """Return the sort key that decides which of two files owns a memory that is in both: the first one."""
    return is_archived(path), *place_of(path)


def read_file(path: str, data: bytes, *, zone: tzinfo, modified: datetime) -> FileReading:
    """Read a file; problems are reported, never raised."""
    agent, day = agent_of(path), day_of(path)
    if agent is None:
        return FileReading()
    if is_state(path):
        return _read_states(data)
    if is_log(path) and day:
        return _read_log(path, data, day, zone, agent)
    kind = page_kind(path)
    return _read_page(path, to_text(data), kind, agent, zone, modified) if kind else FileReading()


def _read_log(path: str, data: bytes, day: date, zone: tzinfo, agent: str) -> FileReading:
    try:
        text = to_text(text_of(path, data))
    except DiskError as error:
        return FileReading(problems=(error.message.removeprefix(f"{path} "),))
    log, first = read_log(text, day=day, tz=zone, agent=agent), first_ordinal(path)
    found = tuple(Searchable(item=each.entry.item, ordinal=number) for number, each in enumerate(log.entries, first))
    return FileReading(found=found, problems=log.problems)


def _read_states(data: bytes) -> FileReading:
    lines = read_lines(data)
    return FileReading(states=tuple(lines.records), problems=tuple(lines.problems))


def is_garbled(text: str) -> bool:
    """Whether a text without surrogates is no text, or hardly any."""
    return "\0" in text or text.count("\ufffd") * MOST_GARBLED > len(text)


class TextPiece(NamedTuple):
    """A piece of a page as it is told: the headings above it, its line, and the item of a mind that it is."""

    text: str
    line: int
    heading: tuple[str, ...] = ()
    item: MindItem | None = None


def _read_page(path: str, text: str, kind: PageKind, agent: str, zone: tzinfo, modified: datetime) -> FileReading:
    clean = without_surrogates(text)
    if is_garbled(clean):
        return FileReading(problems=(NO_TEXT,))
    fields = page_fields(clean)
    names, tags = page_names(fields), page_tags(fields)
    day, own = page_date(path), told_date(fields)
    made = moment_of(day, None, zone) if day else modified
    happened = moment_of(own, None, zone) if own and not day else None
    entity = read_entity(path, clean)
    found: dict[str, Searchable] = {}
    for number, piece in enumerate(_pieces(path, clean, kind, agent, zone)):
        of_mind = piece.item
        name = of_mind.id if of_mind else hashed_id("P", agent, path, *piece.heading, piece.text)
        item = MemoryItem(
            id=name,
            content=piece.text,
            created_at=(_minted(of_mind.id) if of_mind else None) or made,
            event_time=happened,
            kind=kind.kind,
            type=kind.type,
            store=kind.store,
            importance=kind.importance,
            confidence=of_mind.fields.get("certainty", 1.0) if of_mind else 1.0,
            source=kind.name,
            tags=tags,
            origin=Origin.OWNER if kind.store is Store.VAULT else Origin.AGENT,
            attributes={"page": path, "line": piece.line, **(_attributes(of_mind, zone) if of_mind else {})},
        )
        heading = tuple(dict.fromkeys((*names, *piece.heading)))
        form = "mind" if of_mind else "passage"
        found.setdefault(name, Searchable(item=item, ordinal=number, form=form, heading=heading))
    problems = tuple(_flaws(text, clean)) if entity else ()
    return FileReading(found=tuple(found.values()), entity=entity, problems=problems)


def _pieces(path: str, text: str, kind: PageKind, agent: str, zone: tzinfo) -> Iterator[TextPiece]:
    """Yield the searchable pieces of a page, without empty ones."""
    if kind.name == "user":  # what memfolio keeps there is found as the memories that it cites; its lines stay counted
        text = OURS.sub(lambda found: "\n" * found[0].count("\n"), text)
    if mind_kind := _mind_kind(path, kind):
        yield from _mind_pieces(MindPage(mind_kind, text, agent=agent, zone=zone), zone)
    elif kind.name == "procedure":
        title, body = procedure_text(path, text)
        passages = cut_passages(body)
        if not passages and body_text(text).strip():
            yield TextPiece(title, 1)
        for number, passage in enumerate(passages):
            words = _SPACE.sub("\n\n", passage.text)
            yield TextPiece(words, passage.line, (title,)) if number else TextPiece(f"{title}\n\n{words}", passage.line)
    else:
        is_partial = entity_id(path) is not None or "/sessions/" in path
        for passage in cut_passages(without_cited(text) if is_partial else text):
            if words := _without_gaps(passage.text) if is_partial else passage.text:
                yield TextPiece(words, passage.line, passage.heading)


def _mind_kind(path: str, kind: PageKind) -> MindKind | None:
    """Which page of a mind a file is, in its place or in the archive."""
    *_, folder, name = path.split("/")
    return BY_PAGE.get(name.removesuffix(".md")) if folder == "mind" and kind.name in ("mind", "archive") else None


def _mind_pieces(page: MindPage, zone: tzinfo) -> Iterator[TextPiece]:
    """What stands above the items, and the items; a long one in several pieces, of which the first has its id."""
    above = replace(page.head, title="")
    for item in (above, *page.items):
        # Other ids, such as a memory's, name something else. What stands above is an item where it has fields.
        is_item = item.id.startswith(f"{page.kind.prefix}-") and (item is not above or bool(item.fields))
        for number, passage in enumerate(cut_passages(item.sentence(zone))):
            heading = (page.kind.page, *([item.title] if number and item.title else []), *passage.heading)
            yield TextPiece(passage.text, item.line, heading, item if is_item and not number else None)


def _attributes(item: MindItem, zone: tzinfo) -> dict[str, Any]:
    """Return the fields of an item as attributes of its memory: shares as numbers, the rest as written."""
    fields = item.fields.items()
    return {name: value if isinstance(value, float) else show_value(value, zone, name) for name, value in fields}


def _minted(id: str) -> datetime | None:
    """Return the time in an id; None if it has none."""
    made = _MINTED.fullmatch(id)
    try:
        return from_ms(int(made[1])) if made else None
    except OverflowError:
        return None


def _without_gaps(text: str) -> str:
    """Text out of which lines were taken, without the headings that have nothing below them and without their gaps."""
    if "```" in text or "~~~" in text:
        return text
    kept: list[str] = []
    below = 0  # the level of the heading that comes next; more than any where that is text
    for line in reversed(text.splitlines()):
        heading = next(headings(line), None) if line[:1] in ("#", " ") else None
        level = heading.level if heading else 7
        if (heading and level >= below) or (not line.strip() and not (kept and kept[-1])):
            continue
        kept.append(line if line.strip() else "")
        below = level if line.strip() else below
    return "\n".join(reversed(kept)).strip()


def _flaws(text: str, clean: str) -> Iterator[str]:
    """Yield what cannot be read on the page of an entity."""
    if clean != text:
        yield "has bytes that are not UTF-8"
    for key in _UNCLOSED.findall(clean[slice(*front_matter(clean))]):
        yield f"has a list at `{key}` that is not closed on its line, and so is not read"
