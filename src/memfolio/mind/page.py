"""A page of a mind: sections below `## ` headings, each an item with fields that a person can read. Pure.

Whatever is not edited keeps its bytes. A section as it is written here:

    ## Session store ^B-1794753005123-a3f2c91d
    certainty: 0.9 · updated: 2026-11-15 · from: M-1794753005001-0c11a2b3

    Redis is our primary session store.

By hand, fields may also stand on lines of their own (`Certainty: 0.9`, `- **Priority**: high`) or as marks such as
`[deadline: 2026-11-20]`, and the id may be missing.
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
from typing import Any

from memfolio.errors import InputError, NotFoundError
from memfolio.intake import nearest
from memfolio.mind.item import Item, read_value, show_value
from memfolio.mind.kind import Kind
from memfolio.vault.format.notes import closed_fences

BETWEEN = " · "
_SECTION = re.compile(r"^##(?!#)[ \t]*[^\n]*(?:\n|\Z)", re.MULTILINE)
_ID = re.compile(r"[ \t]\^([A-Z]-[0-9a-f-]{4,40})[ \t]*$")
_ESCAPED = re.compile(r"^(\\*)(?=#{1,2}(?:[ \t]|$))", re.MULTILINE)

Span = tuple[int, int]


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


class MindPage:
    """The text of a page and what it says; an edit returns the text that it would leave."""

    def __init__(self, kind: Kind, text: str, *, agent: str, zone: tzinfo) -> None:
        self.kind, self.text = kind, text
        self._agent, self._zone = agent, zone

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return tuple(self._read())

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(section.item for section in self.sections)

    @cached_property
    def head(self) -> Item:
        """What the page says above its sections, such as who an agent is."""
        end = self.sections[0].start if self.sections else len(self.text)
        title = self.kind.page
        return self._section(0, 0, end, title, self._hashed(title, 0), self._closed).item

    @property
    def problems(self) -> list[str]:
        """What on the page makes no sense, with the lines where it stands."""
        return [problem for item in (self.head, *self.items) for problem in item.problems]

    def find(self, name: str) -> Section:
        """The section of an item, named by its id, its title, or words that only its title has."""
        folded = " ".join(name.split()).casefold()
        for fits in (
            lambda item: name.strip() == item.id,
            lambda item: folded == item.title.casefold(),
            lambda item: folded in item.title.casefold(),
        ):
            found = [section for section in self.sections if fits(section.item)]
            if len(found) > 1:
                ids = ", ".join(section.item.id for section in found[:5])
                raise InputError(f"{name[:60]!r} names {len(found)} items of {self.kind.page}", hint=f"name one: {ids}")
            if found and folded:
                return found[0]
        known = [item.title for item in self.items]
        hint = nearest(name, known) if 0 < len(known) <= 50 else f"`memfolio mind list {self.kind.page}` shows them"
        raise NotFoundError(f"{self.kind.page} has no item {name[:60]!r}", hint=hint)

    def adding(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """The page with one more item at its end."""
        before = self.text if not self.text or self.text.endswith("\n") else f"{self.text}\n"
        gap = "" if not before or before.endswith("\n\n") else "\n"
        return f"{before or f'# {self.kind.page}{chr(10)}{chr(10)}'}{gap}{self.rendered(id, title, text, fields)}"

    def rendered(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """An item as a section."""
        meta = BETWEEN.join(f"{name}: {show_value(value, self._zone)}" for name, value in fields.items())
        escaped = self._escaped(text.strip())
        parts = [f"## {' '.join(title.split())} ^{id}", *([meta] if meta else []), *(["", escaped] if escaped else [])]
        return "\n".join(parts) + "\n"

    def editing(self, edits: Mapping[str, Mapping[str, Any]]) -> str:
        """The page with other values in fields of items, by their ids; None takes a field away where it has a line."""
        pieces, at = list[str](), 0
        for section in self.sections:
            for (start, end), new in sorted(self._edits(section, edits.get(section.item.id, {}))):
                pieces += [self.text[at:start], new]
                at = end
        return "".join([*pieces, self.text[at:]])

    def rewriting(self, id: str, title: str, text: str, fields: Mapping[str, Any]) -> str:
        """The page with an item told anew."""
        section = self.find(id)
        rest = self.text[section.end :]
        return f"{self.text[: section.start]}{self.rendered(id, title, text, fields)}{chr(10) if rest else ''}{rest}"

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
        return raw if raw.endswith("\n\n") else f"{raw.rstrip(chr(10))}\n\n" if section.end == len(self.text) else raw

    def _edits(self, section: Section, fields: Mapping[str, Any]) -> Iterator[tuple[Span, str]]:
        added: list[str] = []
        for name, value in fields.items():
            shown = None if value is None else show_value(value, self._zone)
            if name in section.spots:
                yield section.spots[name], shown or ""
            elif shown is not None:
                added.append(f"{name}: {shown}")
        if added and section.meta:
            yield (section.meta, section.meta), BETWEEN + BETWEEN.join(added)
        elif added:
            gap = "" if self.text[: section.heading].endswith("\n") else "\n"
            yield (section.heading, section.heading), f"{gap}{BETWEEN.join(added)}\n"

    def _escaped(self, text: str) -> str:
        """Text in which no line can be taken for a heading or a field."""
        line, _ = _patterns(self.kind.names)
        text = _ESCAPED.sub(lambda match: f"\\{match[1]}", text)
        return line.sub(lambda match: match[0] if match["mark"] else f"\\{match[0]}", text)

    def _read(self) -> Iterator[Section]:
        fences = self._closed
        starts = [match for match in _SECTION.finditer(self.text) if not _inside(match.start(), fences)]
        seen: Counter[str] = Counter()
        taken: set[str] = set()
        for number, match in enumerate(starts):
            end = starts[number + 1].start() if number + 1 < len(starts) else len(self.text)
            raw = match[0].rstrip("\n")[2:]
            marked = _ID.search(raw)
            title = raw[: marked.start()].strip() if marked else raw.strip()
            own = marked[1] if marked else ""
            if not own or own in taken:
                key = title.casefold()
                own = self._hashed(title, seen[key])
                seen[key] += 1
            taken.add(own)
            yield self._section(match.start(), match.end(), end, title, own, fences)

    def _section(self, start: int, heading: int, end: int, title: str, id: str, fences: list[Span]) -> Section:
        line, mark = _patterns(self.kind.names)
        values: dict[str, Any] = {}
        spots: dict[str, Span] = {}
        problems: list[str] = []
        cuts: list[Span] = []
        meta = 0

        def take(name: str, span: Span, cut: Span) -> None:
            name, raw = name.lower(), self.text[slice(*span)]
            try:
                value = read_value(name, self.kind.fields[name], raw, self._zone) if raw.strip() else None
            except ValueError as error:
                problems.append(
                    f"line {self._line(span[0])}: {name} of {title[:60]!r} is {raw.strip()[:40]!r}, not {error}"
                )
                spots.setdefault(name, span)
                return
            if name not in values:
                spots[name] = span
                if value is not None:
                    values[name] = value
            cuts.append(cut)

        for found in mark.finditer(self.text, start, end):
            if not _inside(found.start(), fences):
                take(found[1], found.span(2), found.span())
        for found in line.finditer(self.text, heading, end):
            if found["mark"] or _inside(found.start(), fences):
                continue
            if not self.text[heading : found.start()].strip():
                meta = found.end()
            for name, span in self._parts(found):
                take(name, span, found.span())
        return Section(
            item=Item(
                kind=self.kind,
                id=id,
                title=mark.sub("", title).strip(),
                text=self._told(heading, end, cuts),
                fields=values,
                line=self._line(start),
                problems=tuple(problems),
            ),
            start=start,
            heading=heading,
            meta=meta,
            end=end,
            spots=spots,
        )

    def _parts(self, line: re.Match[str]) -> Iterator[tuple[str, Span]]:
        """The fields on a line and where their values stand; what behind a dot names no field belongs to the value."""
        name, start, end = line["name"], line.start("value"), line.end("value")
        for further in _further(self.kind.names).finditer(self.text, start, end):
            yield name, _trimmed(self.text, start, further.start())
            name, start = further[1], further.end()
        yield name, _trimmed(self.text, start, end)

    def _told(self, start: int, end: int, cuts: Iterable[Span]) -> str:
        """What stands in a section beside its fields."""
        pieces, at = list[str](), start
        for first, last in sorted(cuts):
            pieces.append(self.text[at : max(at, first)])
            at = max(at, last)
        text = "".join([*pieces, self.text[at:end]]).strip()
        return _unescaping(self.kind.names).sub(r"\1", text) if "\\" in text else text

    def _line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    @cached_property
    def _closed(self) -> list[Span]:
        return list(closed_fences(self.text)) if "```" in self.text or "~~~" in self.text else []

    def _hashed(self, title: str, nth: int) -> str:
        """The id of an item that was written by hand: it is its own as long as its title stands."""
        told = "\0".join((self._agent, self.kind.page, title.casefold(), str(nth)))
        return f"{self.kind.prefix}-{blake2b(told.encode('utf-8', 'replace')).hexdigest()[:16]}"


@lru_cache(maxsize=16)
def _patterns(names: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A line that begins with a field, and a field as a mark."""
    line = re.compile(
        rf"^(?P<mark>\\*)[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?P<name>{names})(?:\*\*|__)?[ \t]*:(?:\*\*|__)?(?=[ \t]|$)"
        r"(?P<value>[^\n]*)",
        re.IGNORECASE | re.MULTILINE,
    )
    return line, re.compile(rf"\[({names})[ \t]*:([^\]\n]*)\]", re.IGNORECASE)


@lru_cache(maxsize=16)
def _further(names: str) -> re.Pattern[str]:
    return re.compile(rf"[ \t]+[·|][ \t]+({names})[ \t]*:", re.IGNORECASE)


@lru_cache(maxsize=16)
def _unescaping(names: str) -> re.Pattern[str]:
    line = rf"[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?:{names})(?:\*\*|__)?[ \t]*:"
    return re.compile(rf"^\\(\\*)(?=#{{1,2}}(?:[ \t]|$)|{line})", re.IGNORECASE | re.MULTILINE)


def _inside(at: int, spans: list[Span]) -> bool:
    number = bisect_right(spans, (at, len(spans) and spans[-1][1])) - 1
    return number >= 0 and spans[number][0] <= at < spans[number][1]


def _trimmed(text: str, start: int, end: int) -> Span:
    raw = text[start:end]
    lead = len(raw) - len(raw.lstrip())
    return start + min(lead, 1 if not raw.strip() else lead), start + max(len(raw.rstrip()), min(lead, 1))
