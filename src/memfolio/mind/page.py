"""A page of a mind: sections below `## ` headings, each an item with fields that a person can read. Pure.

Whatever is not edited keeps its bytes. A section as it is written here:

    ## Session store ^B-1794753005123-a3f2c91d
    certainty: 0.9 · updated: 2026-11-15 · from: M-1794753005001-0c11a2b3

    Redis is our primary session store.

By hand, fields may also stand on lines of their own (`Certainty: 0.9`, `- **Priority**: high`) or as marks such as
`[deadline: 2026-11-20]`, and the id may be missing. A backslash keeps a line or a mark from being one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from memfolio.mind.item import Item, pick, read_value, show_value
from memfolio.mind.kind import Kind
from memfolio.vault.format.notes import closed_fences

BETWEEN = " · "
_SECTION = re.compile(r"^(?:\A\ufeff)?##(?=[ \t\r]|$)[^\n]*\n?", re.MULTILINE)
_TOP = re.compile(r"\ufeff?\s*#(?=[ \t\r]|$)[^\n]*\n?")
_ID = re.compile(r"[ \t]\^([A-Z]-[0-9a-f-]{4,40})\s*$")
_REST = re.compile(r"[ \t]*(?:\r?\n|\r?\Z)")

Span = tuple[int, int]


class Spot(NamedTuple):
    """Where a field stands: its value, itself with its name, and the line or the mark that it is a part of."""

    name: str
    value: Span
    part: Span
    line: Span


@dataclass(frozen=True, slots=True)
class Section:
    """Where an item stands, and where the values of its fields do."""

    item: Item
    start: int
    heading: int
    """Where its heading ends."""
    meta: int
    """Where the line of fields below its heading ends, without its line break; 0 where there is none."""
    end: int
    spots: Mapping[str, Span]
    """Where the values are that count, or the first ones that make no sense."""
    places: tuple[Spot, ...]


class MindPage:
    """The text of a page and what it says; an edit returns the text that it would leave."""

    def __init__(self, kind: Kind, text: str, *, agent: str, zone: tzinfo) -> None:
        self.kind, self.text = kind, text
        self._agent, self._zone = agent, zone
        self._break = "\r\n" if "\r\n" in text else "\n"
        self._forms = _forms(kind.names)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return tuple(self._read())

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(section.item for section in self.sections)

    @cached_property
    def front(self) -> Section:
        """What stands above the sections; its item has the name of the page."""
        end = self.sections[0].start if self.sections else len(self.text)
        top = _TOP.match(self.text, 0, end)
        return self._section(0, top.end() if top else 0, end, self.kind.page, self._hashed(self.kind.page, -1))

    @property
    def head(self) -> Item:
        """What the page says above its sections, such as who an agent is."""
        return self.front.item

    @property
    def problems(self) -> list[str]:
        """What on the page makes no sense, with the lines where it stands."""
        return [problem for item in (self.head, *self.items) for problem in item.problems]

    def find(self, name: str) -> Section:
        """The section of an item, named by its id, its title, or words that only its title has."""
        found = pick(name, self.items, self.kind.page)
        return next(section for section in self.sections if section.item is found)

    def adding(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """The page with one more item at its end."""
        start = self.text or f"# {self.kind.page}\n"
        lines = len(start) - len(start.rstrip("\r\n"))
        gap = self._break * max(0, 2 - start.count("\n", len(start) - lines))
        return f"{start}{gap}{self.rendered(id, title, text, fields)}"

    def rendered(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """An item as a section."""
        escape = self._forms.escape
        title, told = escape.sub(r"\\", " ".join(title.split())), escape.sub(r"\\", text.strip())
        meta = BETWEEN.join(f"{name}: {self._shown(name, value)}" for name, value in fields.items())
        parts = [f"## {title} ^{id}", *([meta] if meta else []), *(["", told] if told else []), ""]
        return self._break.join("\n".join(parts).split("\n"))

    def editing(self, edits: Mapping[str, Mapping[str, Any]]) -> str:
        """The page with other values in fields of items, by their ids; None takes a field away."""
        pieces, at = list[str](), 0
        for section in (self.front, *self.sections):
            for (start, end), new in sorted(self._edits(section, edits.get(section.item.id, {}))):
                pieces += [self.text[at:start], new]
                at = end
        return "".join([*pieces, self.text[at:]])

    def rewriting(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """The page with an item told anew."""
        section = self.find(id)
        rest = self.text[section.end :]
        gap = self._break if rest else ""
        return f"{self.text[: section.start]}{self.rendered(id, title, text, fields)}{gap}{rest}"

    def written(self, section: Section) -> dict[str, str]:
        """The fields of an item as they are written, also those that make no sense."""
        return {name: raw for name, spot in section.spots.items() if (raw := self.text[slice(*spot)].strip())}

    def without(self, ids: Collection[str]) -> tuple[str, str]:
        """The page without these items, and what is taken out."""
        kept = [self.text[: self.sections[0].start]] if self.sections else [self.text]
        gone: list[str] = []
        for section in self.sections:
            (gone if section.item.id in ids else kept).append(self._raw(section))
        return "".join(kept), "".join(gone)

    def ordered(self, ids: Iterable[str]) -> str:
        """The page with its items in this order; those that are not named follow as they stood."""
        by_id = {section.item.id: section for section in self.sections}
        order = dict.fromkeys([*(each for each in ids if each in by_id), *by_id])
        if not self.sections or list(order) == list(by_id):
            return self.text
        return self.text[: self.sections[0].start] + "".join(self._raw(by_id[each]) for each in order)

    def _raw(self, section: Section) -> str:
        """The text of a section, which ends so that another one may follow."""
        raw = self.text[section.start : section.end]
        is_last = section.end == len(self.text) and not raw.endswith(2 * self._break)
        return raw.rstrip("\r\n") + 2 * self._break if is_last else raw

    def _shown(self, name: str, value: Any) -> str:
        """A value in one line, in which no further field begins."""
        return self._forms.unsafe.sub(",", " ".join(show_value(value, self._zone, name).split()))

    def _edits(self, section: Section, fields: Mapping[str, Any]) -> Iterator[tuple[Span, str]]:
        gone = {name for name, value in fields.items() if value is None}
        shown = {name: self._shown(name, value) for name, value in fields.items() if value is not None}
        yield from ((span, "") for span in self._cuts(section, gone))
        for name in section.spots.keys() & shown:
            lead = "" if self.text[section.spots[name][0] - 1] in " \t" else " "
            yield section.spots[name], f"{lead}{shown[name]}"
        added = BETWEEN.join(f"{name}: {value}" for name, value in shown.items() if name not in section.spots)
        has_meta = any(spot.line[1] == section.meta and spot.name not in gone for spot in section.places)
        if added and has_meta:
            yield (section.meta, section.meta), BETWEEN + added
        elif added:
            before = "" if self._begins_line(section.heading) else self._break
            after = "" if _REST.match(self.text, section.heading) else self._break
            yield (section.heading, section.heading), f"{before}{added}{self._break}{after}"

    def _cuts(self, section: Section, gone: Collection[str]) -> Iterator[Span]:
        """What goes with these fields: a line of which nothing stays, or a part with the sign beside it."""
        for line, found in groupby(section.places if gone else (), key=lambda spot: spot.line):
            spots, stays = list(found), False
            if all(spot.name in gone for spot in spots):
                yield self._whole(*line)
                continue
            for number, spot in enumerate(spots):
                if spot.name not in gone:
                    stays = True
                elif stays:
                    yield spots[number - 1].part[1], spot.part[1]
                else:
                    yield spot.part[0], spots[number + 1].part[0]

    def _whole(self, start: int, end: int) -> Span:
        while start and self.text[start - 1] in " \t":
            start -= 1
        rest = _REST.match(self.text, end) if self._begins_line(start) else None
        return start, rest.end() if rest else end

    def _begins_line(self, at: int) -> bool:
        return at == 0 or self.text[at - 1] == "\n"

    def _read(self) -> Iterator[Section]:
        found = [match for match in _SECTION.finditer(self.text) if _ID.search(match[0]) or not self._fenced(match)]
        marks = [_ID.search(match[0]) for match in found]
        ends = [*(match.start() for match in found[1:]), len(self.text)]
        reserved = {mark[1] for mark in marks if mark}
        seen: Counter[str] = Counter()
        taken: set[str] = set()
        for match, mark, end in zip(found, marks, ends, strict=False):
            raw = (match[0][: mark.start()] if mark else match[0]).lstrip("\ufeff")[2:]
            title = " ".join(self._plain(self._forms.mark.sub("", raw)).split())
            own = mark[1] if mark else ""
            while not own or own in taken or (mark is None and own in reserved):
                own = self._hashed(title, seen[title.casefold()])
                seen[title.casefold()] += 1
                mark = None
            taken.add(own)
            yield self._section(match.start(), match.end(), end, title, own)

    def _section(self, start: int, heading: int, end: int, title: str, id: str) -> Section:
        values: dict[str, Any] = {}
        spots: dict[str, Span] = {}
        problems: list[str] = []
        places = tuple(self._places(start, heading, end))
        for name, span, _, _ in places:
            raw = self.text[slice(*span)].strip()
            spots.setdefault(name, span)
            try:
                value = read_value(name, self.kind.fields[name], raw, self._zone) if raw else None
            except ValueError as error:
                where = f"line {self._line(span[0])}: {name} of {title[:60]!r}"
                problems.append(f"{where} is {raw[:40]!r}, not {error}")
                continue
            if value is not None and name not in values:
                values[name], spots[name] = value, span
        first = min((spot.line for spot in places if spot.line[0] >= heading), default=(end, 0))
        item = Item(
            kind=self.kind,
            id=id,
            title=title,
            text=self._told(heading, end, {spot.line for spot in places}),
            fields=values,
            line=self._line(start),
            problems=tuple(problems),
        )
        is_meta = first[1] and self.text[first[0]] != "[" and not self.text[heading : first[0]].strip()
        return Section(item, start, heading, first[1] if is_meta else 0, end, spots, places)

    def _places(self, start: int, heading: int, end: int) -> Iterator[Spot]:
        """Every field of a section: the marks, then those on lines."""
        for found in self._forms.mark.finditer(self.text, start, end):
            if not self._fenced(found):
                yield Spot(found[1].lower(), found.span(2), found.span(), found.span())
        for found in self._forms.line.finditer(self.text, heading, end):
            if not self._fenced(found):
                yield from self._parts(found)

    def _parts(self, line: re.Match[str]) -> Iterator[Spot]:
        """The fields on a line; what behind a dot names no field belongs to the value before it."""
        further = list(self._forms.further.finditer(self.text, line.start("value"), line.end()))
        names = [(line["name"], line.start("part"), line.start("value"))]
        names += [(each[1], each.start(1), each.end()) for each in further]
        for (name, first, start), end in zip(names, [*(each.start() for each in further), line.end()], strict=True):
            value = _trimmed(self.text, start, end)
            yield Spot(name.lower(), value, (first, value[1]), line.span())

    def _told(self, start: int, end: int, cuts: Iterable[Span]) -> str:
        """What stands in a section beside its fields."""
        pieces, at = list[str](), start
        for first, last in sorted(self._whole(*cut) for cut in cuts):
            pieces.append(self.text[at : max(at, first)])
            at = max(at, last)
        return self._plain("".join([*pieces, self.text[at:end]]))

    def _plain(self, text: str) -> str:
        """Text without the backslashes that keep it from being something else."""
        text = text.strip().replace("\r\n", "\n")
        return self._forms.unescape.sub("", text) if "\\" in text else text

    def _line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    @cached_property
    def _closed(self) -> list[Span]:
        """The code fences; none goes on behind a heading that has an id, so that a slip cannot swallow an item."""
        if "```" not in self.text and "~~~" not in self.text:
            return []
        starts = [match.start() for match in _SECTION.finditer(self.text) if _ID.search(match[0])]
        return [span for part in pairwise([0, *starts, len(self.text)]) for span in closed_fences(self.text, *part)]

    def _fenced(self, match: re.Match[str]) -> bool:
        if not self._closed:
            return False
        number = bisect_right(self._closed, (match.start(), len(self.text))) - 1
        return number >= 0 and match.start() < self._closed[number][1]

    def _hashed(self, title: str, nth: int) -> str:
        """The id of an item that was written by hand: it is its own as long as its title stands."""
        told = "\0".join((self._agent, self.kind.page, title.casefold(), str(nth)))
        return f"{self.kind.prefix}-{blake2b(told.encode('utf-8', 'replace')).hexdigest()[:16]}"


class Forms(NamedTuple):
    """What fields look like, where their names are known."""

    line: re.Pattern[str]
    further: re.Pattern[str]
    mark: re.Pattern[str]
    unsafe: re.Pattern[str]
    """What in a value would begin another field."""
    escape: re.Pattern[str]
    """Where text needs a backslash; what has some already needs one more."""
    unescape: re.Pattern[str]


@lru_cache(maxsize=16)
def _forms(names: str) -> Forms:
    named = rf"(?:\*\*|__)?(?P<name>{names})(?:\*\*|__)?[ \t]*:"
    value = rf"(?P<value>(?:[^\r\n\[]|\[(?!(?:{names})[ \t]*:))*)"
    taken = named.replace("?P<name>", "?:")
    line = rf"\\*(?:##?(?:[ \t\r]|$)|[ \t]*(?:[-*+][ \t]+)?{taken})"
    mark = rf"\\*\[(?:{names})[ \t]*:"
    found = (
        rf"^[ \t]*(?:[-*+][ \t]+)?(?P<part>{named}(?:\*\*|__)?(?=[ \t\r]|$){value})",
        rf"[ \t]+[·|][ \t]+({names})[ \t]*:",
        rf"\[(?<!\\\[)({names})[ \t]*:([^\]\n]*)\]",
        rf"[·|](?=[ \t]+(?:{names})[ \t]*:)|\[(?=(?:{names})[ \t]*:)",
        rf"^(?={line})|(?<!\\)(?={mark})",
        rf"^\\(?={line})|(?<!\\)\\(?={mark})",
    )
    return Forms(*(re.compile(each, re.IGNORECASE | re.MULTILINE) for each in found))


def _trimmed(text: str, start: int, end: int) -> Span:
    """Where between two places something stands; all of it where nothing does."""
    raw = text[start:end]
    return (start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())) if raw.strip() else (start, end)
