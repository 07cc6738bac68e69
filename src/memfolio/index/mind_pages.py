"""The nine pages of a mind: their kinds of items, the fields of each, and the text of a page. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, tzinfo
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from memfolio.arguments import nearest
from memfolio.errors import InputError, NotFoundError
from memfolio.types import EMPTY, frozen
from memfolio.vault.agents import COMMITMENTS
from memfolio.vault.fields import hashed_id, iso_of, local, read_moment, read_number
from memfolio.vault.sections import COMMENT, PageHeading, PageText, Span, closed_fences, headings

# The nine pages of a mind: what stands on each, and which fields its items have. Plain tables.


class Value(StrEnum):
    """What a field holds: a share is a number from 0 to 1, a day may be a time, names are ids or titles."""

    SHARE = "share"
    DAY = "day"
    NAMES = "names"
    STATUS = "status"
    LEVEL = "level"
    STRATEGY = "strategy"
    TEXT = "text"


class ItemStatus(StrEnum):
    """The status of an item."""

    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    DROPPED = "dropped"
    EXPIRED = "expired"
    STALLED = "stalled"
    RETIRED = "retired"


LIVE = frozenset({ItemStatus.ACTIVE, ItemStatus.PAUSED})
"""Items that still count."""
SAID = {
    **{each.value: each for each in ItemStatus},
    **dict.fromkeys(("open", "pending", "planned", "ongoing", "in progress", "in-progress"), ItemStatus.ACTIVE),
    **dict.fromkeys(("on hold", "on-hold", "waiting", "blocked", "deferred"), ItemStatus.PAUSED),
    **dict.fromkeys(("completed", "complete", "achieved", "fulfilled", "finished"), ItemStatus.DONE),
    **dict.fromkeys(("cancelled", "canceled", "abandoned", "rejected"), ItemStatus.DROPPED),
    **dict.fromkeys(("obsolete", "superseded", "wrong"), ItemStatus.RETIRED),
}
"""Words that people write for a status."""
LEVELS = ("strategic", "tactical", "operational")
WORDS = {"none": 0.0, "low": 0.3, "medium": 0.5, "moderate": 0.5, "high": 0.8, "critical": 1.0}
"""Words that people write for a share."""
FIELDS = {
    **dict.fromkeys("certainty priority urgency alignment proficiency progress confidence".split(), Value.SHARE),
    **dict.fromkeys(("deadline", "updated", "created"), Value.DAY),
    **dict.fromkeys("from for supports motivates parent requires after".split(), Value.NAMES),
    **dict.fromkeys("role title department autonomy tools source to when reason".split(), Value.TEXT),
    **{each.value: each for each in (Value.STATUS, Value.LEVEL, Value.STRATEGY)},
}
"""The type of each field, on every page."""


@frozen
class MindItemKind:
    """The kind of a page's items: `prefix` begins their ids, `verb` says how one is added."""

    page: str
    name: str
    prefix: str
    verb: str
    fields: Mapping[str, Value]

    @property
    def links(self) -> list[str]:
        """The fields that refer to something else."""
        return [name for name, value in self.fields.items() if value is Value.NAMES]


def _kind(page: str, name: str, prefix: str, verb: str, fields: str) -> MindItemKind:
    named = f"{fields} status updated created from reason".split()
    return MindItemKind(page=page, name=name, prefix=prefix, verb=verb, fields={each: FIELDS[each] for each in named})


KINDS = (
    _kind("Persona", "persona", "A", "be", "role title department autonomy"),
    _kind("Capabilities", "capability", "K", "can", "proficiency tools"),
    _kind("Beliefs", "belief", "B", "believe", "certainty source supports"),
    _kind("Desires", "desire", "W", "want", "priority urgency alignment motivates"),
    _kind("Goals", "goal", "G", "aim", "level progress priority deadline parent requires"),
    _kind("Intentions", "intention", "I", "intend", "priority strategy for deadline when"),
    _kind("Plans", "plan", "N", "plan", "confidence progress after for deadline when"),
    _kind("Commitments", "commitment", "O", "commit", "to priority deadline when"),
    _kind("Learnings", "learning", "L", "learn", "certainty"),
)
"""The pages in the order in which they are read."""
BY_PAGE = {kind.page: kind for kind in KINDS}
BY_NAME = {name: kind for kind in KINDS for name in (kind.name, kind.page.lower(), kind.verb)}


def kind_of(name: MindItemKind | str) -> MindItemKind:
    """The kind with this name, page or verb."""
    if isinstance(name, MindItemKind):
        return name
    if (found := BY_NAME.get(name.strip().lower().removesuffix(".md"))) is None:
        raise InputError(f"a mind has no page {name[:40]!r}", hint=nearest(name.capitalize(), list(BY_PAGE)))
    return found


# An item of a mind: one belief, desire, goal, intention … as its section tells. Pure.

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_BETWEEN = re.compile(r"\s*(?:[,;]|\b(?:or|oder)\b)\s*", re.IGNORECASE)
NAME = re.compile(r"[A-Z]-(?:\d{1,15}-[0-9a-f]{8}|[0-9a-f]{16})")
"""An id of whatever can be linked."""


@frozen
class MindItem:
    """An item as it is read; `fields` has the values that make sense, `problems` says which do not."""

    kind: MindItemKind
    id: str
    title: str
    text: str = ""
    """The text below its title, without its fields."""
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    line: int = 0
    """The line of its heading on the page, from 1."""
    problems: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """All that it says in words; a title that only begins the text is not repeated."""
        is_beginning = self.title.endswith("…") and " ".join(self.text.split()).startswith(self.title[:-1])
        return "\n".join(filter(None, ("" if is_beginning else self.title, self.text)))

    def sentence(self, zone: tzinfo) -> str:
        """What it says, and what of that stands in fields: for whom, by when, whether it is over and why."""
        telling = [name for name, wanted in self.kind.fields.items() if wanted is Value.TEXT or name == "deadline"]
        shown = {name: show_value(self.fields[name], zone, name) for name in telling if name in self.fields}
        state = [] if self.status is ItemStatus.ACTIVE else [self.status.value]
        parts = [*state, *(f"{name} {value}" for name, value in shown.items())]
        beside = ", ".join(parts)
        return f"{self.says} ({beside})" if beside and self.says else self.says or beside[:1].upper() + beside[1:]

    @property
    def status(self) -> ItemStatus:
        return ItemStatus(self.fields.get("status", ItemStatus.ACTIVE))

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def certainty(self) -> float:
        return float(self.fields.get("certainty", 0.5))

    @property
    def priority(self) -> float:
        return float(self.fields.get("priority", 0.5))

    @property
    def deadline(self) -> datetime | None:
        return self.fields.get("deadline")

    @property
    def updated(self) -> datetime | None:
        """When somebody last said something about it."""
        return self.fields.get("updated") or self.fields.get("created")

    def links(self, name: str = "from") -> tuple[str, ...]:
        """Return the ids in one of its fields."""
        return tuple(self.fields.get(name, ()))


def cues(when: str) -> list[str]:
    """The times and topics that a field `when` names."""
    return _BETWEEN.split(when)


def read_value(name: str, wanted: Value, raw: str, zone: tzinfo) -> Any:
    """Read a field; ValueError says what belongs there."""
    text = raw.strip()
    if name == "deadline" and _DAY.fullmatch(text):
        text = f"{text}T23:59:59"
    found = read_moment(text, zone) if wanted is Value.DAY else _READERS[wanted](text)
    if found is None:
        raise ValueError(WANTED[wanted])
    return found


def show_value(value: Any, zone: tzinfo, name: str = "") -> str:
    """A value as it stands in the field of that name; times are told to the minute, but for deadlines."""
    if isinstance(value, datetime):
        here, is_end = local(value, zone), name == "deadline"
        if here.time() == (time(23, 59, 59) if is_end else time(0)):
            return here.date().isoformat()
        return iso_of(here) if is_end else here.isoformat(timespec="minutes")
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def pick(name: str, items: Sequence[MindItem], where: str) -> MindItem:
    """Return the item with this id, this title, or a title with these words."""
    folded = " ".join(name.split()).casefold()
    for found in (
        [item for item in items if name.strip() == item.id],
        [item for item in items if folded == item.title.casefold()],
        [item for item in items if folded in item.title.casefold()],
    ):
        if folded and len(found) > 1:
            ids = ", ".join(f"{item.id} ({item.title[:40]})" for item in found[:5])
            raise InputError(f"{name[:60]!r} names {len(found)} items of {where}", hint=f"name one: {ids}")
        if folded and found:
            return found[0]
    known = [item.title for item in items]
    hint = nearest(name, known) if 0 < len(known) <= 50 else "`memfolio mind list` shows them"
    raise NotFoundError(f"{where} has no item {name[:60]!r}", hint=hint)


def _share(text: str) -> float | None:
    number = WORDS.get(text.lower(), read_number(text.rstrip("%").strip()))
    share = number / 100 if number is not None and text.endswith("%") else number
    return share if share is not None and 0 <= share <= 1 else None


def _names(text: str) -> tuple[str, ...] | None:
    parts = [part.strip().removeprefix("[[").removesuffix("]]").lstrip("^") for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts))) or None


_READERS: Mapping[Value, Callable[[str], Any]] = {
    Value.SHARE: _share,
    Value.NAMES: _names,
    Value.STATUS: lambda text: SAID.get(" ".join(text.lower().split())),
    Value.LEVEL: lambda text: text.lower() if text.lower() in LEVELS else None,
    Value.STRATEGY: lambda text: text.lower() if text.lower() in COMMITMENTS else None,
    Value.TEXT: lambda text: text or None,
}
WANTED = {
    Value.SHARE: "a number from 0 to 1, or low, medium or high",
    Value.DAY: "a day such as 2026-11-20, or a time",
    Value.NAMES: "ids with commas between them",
    Value.STATUS: f"one of {', '.join(ItemStatus)}",
    Value.LEVEL: f"one of {', '.join(LEVELS)}",
    Value.STRATEGY: f"one of {', '.join(COMMITMENTS)}",
    Value.TEXT: "a few words",
}
"""Descriptions of field types, for people."""


# A page of a mind: sections below `## ` headings, each an item with fields that a person can read. Pure.
#
# Whatever is not edited keeps its bytes. A section as it is written here:
#
#     ## Session store ^B-1794753005123-a3f2c91d
#     certainty: 0.9 · updated: 2026-11-15 · from: M-1794753005001-0c11a2b3
#
#     Redis is our primary session store.
#
# By hand, fields may also stand on lines of their own (`Certainty: 0.9`, `- **Priority**: high`) or as marks such as
# `[deadline: 2026-11-20]`, and the id may be missing. A backslash keeps a line or a mark from being one.

BETWEEN = " · "
_PROPERTIES = re.compile(r"\ufeff?---[ \t]*\r?\n(?:(?!##)[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_TOP = re.compile(rf"(?:{_PROPERTIES.pattern})?(?:\ufeff?\s*#(?=[ \t\r]|$)[^\n]*\n?)?")
"""What precedes the text of a page: properties, and its title."""
_ID = re.compile(r"[ \t]\^([A-Z]-[0-9a-f-]{4,40})\s*$")
_REST = re.compile(r"[ \t]*(?:\r?\n|\r?\Z)")
_OPAQUE = re.compile(r"```|~~~|<!--|\A\ufeff?---")


class FieldSpan(NamedTuple):
    """The span of a field: its value, itself with its name, and its line or mark."""

    name: str
    value: Span
    part: Span
    line: Span
    is_mark: bool = False


@dataclass(frozen=True, slots=True)
class MindSection:
    """The span of an item and of its fields."""

    item: MindItem
    start: int
    heading: int
    """The end of its heading."""
    end: int
    places: tuple[FieldSpan, ...]
    spots: Mapping[str, FieldSpan]
    """The fields that count, or the first invalid ones."""


class MindPage:
    """The text of a page and its items; an edit returns the new text."""

    def __init__(self, kind: MindItemKind, text: str, *, agent: str, zone: tzinfo) -> None:
        self.kind, self.text = kind, text
        self._agent, self._zone = agent, zone
        self._forms = _forms("|".join(kind.fields))
        # Empty ones are items too, but none that stand further in.
        heads = [each for each in headings(text) if each.level == 2 and text[each.start] != " "]
        self._heads = [(each, self._id(each)) for each in heads]
        self._page = PageText(text, self._hidden())
        self._break = self._page.newline
        self.sections = tuple(self._read())
        self.items = tuple(section.item for section in self.sections)
        self.front = self._front()
        self.head = self.front.item
        """What the page says above its sections, such as who an agent is; its title is the name of the page."""

    @property
    def problems(self) -> list[str]:
        """What could not be understood on the page, with line numbers."""
        return [problem for item in (self.head, *self.items) for problem in item.problems]

    def find(self, name: str) -> MindSection:
        """The section of an item, named by its id, its title, or words that only its title has."""
        found = pick(name, self.items, self.kind.page)
        return next(section for section in self.sections if section.item is found)

    def adding(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """The page with one more item at its end."""
        start = self.text or f"# {self.kind.page}\n"
        breaks = start.count("\n", len(start.rstrip("\r\n")))
        return f"{start}{self._break * max(0, 2 - breaks)}{self.rendered(id, title, text, fields)}"

    def rendered(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """An item as a section."""
        escape = self._forms.escape
        title, body = escape.sub(r"\\", " ".join(title.split())), escape.sub(r"\\", text.strip())
        meta = BETWEEN.join(f"{name}: {self._shown(name, value)}" for name, value in fields.items())
        parts = [f"## {title} ^{id}", *([meta] if meta else []), *(["", body] if body else []), ""]
        return self._break.join("\n".join(parts).split("\n"))

    def editing(self, edits: Mapping[str, Mapping[str, Any]]) -> str:
        """The page with other values in fields of items, by their ids; None takes a field away."""
        sections = (self.front, *self.sections)
        return self._page.edited(edit for each in sections for edit in self._edits(each, edits.get(each.item.id, {})))

    def rewriting(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """The page with an item told anew; fields that are not given stay as they are written, None takes one away."""
        section = self.find(id)
        written = {name: self._raw(spot) for name, spot in section.spots.items()}
        kept = {name: value for name, value in {**written, **fields}.items() if value not in (None, "")}
        rest = self.text[section.end :]
        gap = self._break if rest else ""
        return f"{self.text[: section.start]}{self.rendered(id, title, text, kept)}{gap}{rest}"

    def without(self, ids: Collection[str]) -> tuple[str, str]:
        """Return the page without these items, and what was removed."""
        kept, gone = [self.text[: self.front.end]], list[str]()
        for section in self.sections:
            (gone if section.item.id in ids else kept).append(self._told_by(section))
        return "".join(kept), "".join(gone)

    def ordered(self, ids: Iterable[str]) -> str:
        """Return the page with its items in this order; the others follow in their present order."""
        by_id = {section.item.id: section for section in self.sections}
        order = dict.fromkeys([*(each for each in ids if each in by_id), *by_id])
        if list(order) == list(by_id):
            return self.text
        return self.text[: self.front.end] + "".join(self._told_by(by_id[each]) for each in order)

    def _told_by(self, section: MindSection) -> str:
        """The text of a section, which ends so that another one may follow."""
        raw = self.text[section.start : section.end]
        is_last = section.end == len(self.text) and not raw.endswith(2 * self._break)
        return raw.rstrip("\r\n") + 2 * self._break if is_last else raw

    def _raw(self, spot: FieldSpan) -> str:
        raw = self.text[slice(*spot.value)].strip()
        return self._forms.unguard.sub("", raw) if "\\" in raw else raw

    def _shown(self, name: str, value: Any) -> str:
        """A value in one line, in which no further field begins."""
        return self._forms.guard.sub(r"\\", " ".join(show_value(value, self._zone, name).split()))

    def _edits(self, section: MindSection, fields: Mapping[str, Any]) -> Iterator[tuple[Span, str]]:
        shown = {name: None if value is None else self._shown(name, value) for name, value in fields.items()}
        added = [f"{name}: {value}" for name, value in shown.items() if value and not self._fits(section, name, value)]
        for line, found in groupby(section.places if fields else (), key=lambda spot: spot.line):
            spots = list(found)
            was = [self.text[slice(*spot.part)] for spot in spots]
            parts = [part for spot in spots if (part := self._part(section, spot, shown))]
            if parts and added and self._is_meta(section, spots[0]):
                parts, added = [*parts, *added], []
            if not parts:
                yield self._gone(section, *line)
            elif parts != was:
                yield (spots[0].part[0], spots[-1].part[1]), BETWEEN.join(parts)
        if added:
            before = "" if self._begins_line(section.heading) else self._break
            after = "" if _REST.match(self.text, section.heading) else self._break
            yield (section.heading, section.heading), f"{before}{BETWEEN.join(added)}{self._break}{after}"

    def _part(self, section: MindSection, spot: FieldSpan, shown: Mapping[str, str | None]) -> str:
        """A field with what it should say; nothing where it is taken away, or has to stand elsewhere."""
        new, (start, end) = shown.get(spot.name, ""), spot.value
        if new is None or (new and not self._fits(section, spot.name, new)):
            return ""
        if not new or spot is not section.spots[spot.name]:
            return self.text[slice(*spot.part)]
        lead = "" if self.text[start - 1] in " \t" else " "
        return f"{self.text[spot.part[0] : start]}{lead}{new}{self.text[end : spot.part[1]]}"

    def _fits(self, section: MindSection, name: str, value: str) -> bool:
        """Whether a value can be written in place of its field; in a mark, a bracket would end it."""
        spot = section.spots.get(name)
        return spot is not None and not (spot.is_mark and "]" in value)

    def _is_meta(self, section: MindSection, spot: FieldSpan) -> bool:
        """Whether a field is on the first line below the heading."""
        return not spot.is_mark and not self.text[section.heading : spot.part[0]].strip(" \t\r\n-*+")

    def _gone(self, section: MindSection, start: int, end: int) -> tuple[Span, str]:
        """What goes with a line or a mark; a mark stays, empty, where the line would be something else without it."""
        whole = self._whole(start, end)
        first, last = self.text.rfind("\n", 0, start) + 1, (self.text.find("\n", end) + 1 or len(self.text))
        rest = self._forms.mark.sub("", self.text[first : whole[0]] + self.text[whole[1] : last])
        is_mark = self.text[start] == "["  # a field that is none stands before one, which keeps the line as it is
        if not is_mark or start < section.heading or whole[1] >= last or not self._forms.begins.match(rest):
            return whole, ""
        return (self.text.index(":", start) + 1, end - 1), ""

    def _whole(self, start: int, end: int) -> Span:
        while start and self.text[start - 1] in " \t":
            start -= 1
        rest = _REST.match(self.text, end) if self._begins_line(start) else None
        return start, rest.end() if rest else end

    def _begins_line(self, at: int) -> bool:
        return at == 0 or self.text[at - 1] == "\n"

    def _front(self) -> MindSection:
        end = self.sections[0].start if self.sections else len(self.text)
        top = _TOP.match(self.text, 0, end)
        return self._section(0, top.end() if top else 0, end, self.kind.page, self._hashed(self.kind.page, -1))

    def _read(self) -> Iterator[MindSection]:
        found = [(head, mark) for head, mark in self._heads if mark or not self._page.is_hidden(head.start)]
        ends = [*(head.start for head, _ in found[1:]), len(self.text)]
        reserved = {mark[1] for _, mark in found if mark}
        seen, taken = Counter[str](), dict[str, int]()
        for (head, mark), end in zip(found, ends, strict=False):
            raw = mark.string[: mark.start()] if mark else self._forms.mark.sub("", self.text[head.start : head.end])
            title = " ".join(self._plain(raw.lstrip("\ufeff")[2:]).split())
            own, problems = mark[1] if mark else "", list[str]()
            if own in taken:
                problems = [f"line {head.line + 1}: {own} stands on line {taken[own]} as well"]
            while not own or own in taken or (own in reserved and not (mark and mark[1] == own)):
                own = self._hashed(title, seen[title.casefold()])
                seen[title.casefold()] += 1
            taken[own] = head.line + 1
            yield self._section(head.start, head.end, end, title, own, problems)

    def _id(self, head: PageHeading) -> re.Match[str] | None:
        """The id at the end of a heading, or before the marks there."""
        line = self.text[head.start : head.end]
        return _ID.search(self._forms.mark.sub("", line)) if "^" in line else None

    def _section(
        self, start: int, heading: int, end: int, title: str, id: str, problems: Iterable[str] = ()
    ) -> MindSection:
        values: dict[str, Any] = {}
        spots: dict[str, FieldSpan] = {}
        wrong = [*problems]
        places = tuple(self._places(start, heading, end))
        for spot in places:
            name, raw = spot.name, self._raw(spot)
            spots.setdefault(name, spot)
            try:
                value = read_value(name, self.kind.fields[name], raw, self._zone) if raw else None
            except ValueError as error:
                where = f"line {self._line(spot.value[0])}: {name} of {title[:60]!r}"
                wrong.append(f"{where} is {raw[:40]!r}, not {error}")
                continue
            if value is not None and name not in values:
                values[name], spots[name] = value, spot
        item = MindItem(
            kind=self.kind,
            id=id,
            title=title,
            text=self._told(heading, end, {spot.line for spot in places}),
            fields=values,
            line=self._line(start),
            problems=tuple(wrong),
        )
        return MindSection(item, start, heading, end, places, spots)

    def _places(self, start: int, heading: int, end: int) -> Iterator[FieldSpan]:
        """Every field of a section: the marks, then those on lines."""
        for found in self._forms.mark.finditer(self.text, start, end):
            if not self._page.is_hidden(found.start()):
                yield FieldSpan(found[1].lower(), found.span(2), found.span(), found.span(), is_mark=True)
        for found in self._forms.line.finditer(self.text, heading, end):
            if not self._page.is_hidden(found.start()):
                yield from self._parts(found)

    def _parts(self, line: re.Match[str]) -> Iterator[FieldSpan]:
        """Yield the fields on a line; text after a dot that names no field belongs to the value before it."""
        further = list(self._forms.further.finditer(self.text, line.start("value"), line.end()))
        names = [(line["name"], line.start("part"), line.start("value"))]
        names += [(each[1], each.start(1), each.end()) for each in further]
        for (name, first, start), end in zip(names, [*(each.start() for each in further), line.end()], strict=True):
            last = start + len(self.text[start:end].rstrip())
            yield FieldSpan(name.lower(), (start, last), (first, last), line.span())

    def _told(self, start: int, end: int, cuts: Iterable[Span]) -> str:
        """Return the text of a section without its fields."""
        pieces, at = list[str](), start
        for first, last in sorted(self._whole(*cut) for cut in cuts):
            pieces.append(self.text[at : max(at, first)])
            at = max(at, last)
        return self._plain("".join([*pieces, self.text[at:end]]))

    def _plain(self, text: str) -> str:
        """Return text without escaping backslashes."""
        text = text.strip().replace("\r\n", "\n")
        return self._forms.unescape.sub("", text) if "\\" in text else text

    def _line(self, at: int) -> int:
        return self._page.line_at(at) + 1

    def _hidden(self) -> list[Span]:
        """Where code, comments and properties lie; a slip in them swallows no heading that has an id."""
        if not _OPAQUE.search(self.text):
            return []
        starts = [head.start for head, mark in self._heads if mark]
        spans = [found.span() for found in [_PROPERTIES.match(self.text)] if found]
        for part in pairwise([0, *starts, len(self.text)]):
            spans += [*closed_fences(self.text, *part), *(each.span() for each in COMMENT.finditer(self.text, *part))]
        return spans

    def _hashed(self, title: str, nth: int) -> str:
        """Return the id of a hand-written item, which lasts as long as its title."""
        return hashed_id(self.kind.prefix, self._agent, self.kind.page, title.casefold(), str(nth))


class FieldPatterns(NamedTuple):
    """Patterns of fields with known names."""

    line: re.Pattern[str]
    further: re.Pattern[str]
    mark: re.Pattern[str]
    begins: re.Pattern[str]
    """The beginning of a line that is a field, a heading or code."""
    guard: re.Pattern[str]
    """Where a value needs a backslash so that no field begins in it; what has some already needs one more."""
    unguard: re.Pattern[str]
    escape: re.Pattern[str]
    """The same for text."""
    unescape: re.Pattern[str]


@lru_cache(maxsize=16)
def _forms(names: str) -> FieldPatterns:
    inside = rf"(?:{names})[ \t]*::?"
    named = rf"(?:\*\*|__)?(?P<name>{names})(?:\*\*|__)?[ \t]*::?"
    value = rf"(?P<value>(?:[^\r\n\[]|\[(?!{inside})|(?<=\\)\[)*)"
    begins = rf"(?:##?(?:[ \t\r]|$)|[ \t]*(?:[-*+][ \t]+)?{named.replace('?P<name>', '?:')})"
    further, marked = rf"\\*(?:[·|][ \t]+|\[){inside}", rf"\\*\[{inside}"
    found = (
        rf"^[ \t]*(?:[-*+][ \t]+)?(?P<part>{named}(?:\*\*|__)?(?=[ \t\r]|$)[ \t]*{value})",
        rf"(?<=[ \t])[·|][ \t]+({names})[ \t]*::?[ \t]*",
        rf"\[(?<!\\\[)({names})[ \t]*::?([^\]\n]*)\]",
        rf"{begins}|[ \t]*(?:```|~~~|<!--)",
        rf"(?<!\\)(?={further})",
        rf"(?<!\\)\\(?={further})",
        rf"^(?=\\*{begins})|(?<!\\)(?={marked})",
        rf"^\\(?=\\*{begins})|(?<!\\)\\(?={marked})",
    )
    return FieldPatterns(*(re.compile(each, re.IGNORECASE | re.MULTILINE) for each in found))
