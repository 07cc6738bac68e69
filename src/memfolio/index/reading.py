"""From a file's bytes to what can be found in it. Pure: the same bytes always give the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from hashlib import blake2b
from typing import Any, NamedTuple

from memfolio.clock import from_ms
from memfolio.errors import DiskError
from memfolio.index.mind_item import Item, show_value
from memfolio.index.mind_kind import BY_PAGE
from memfolio.index.mind_kind import Kind as MindKind
from memfolio.index.mind_page import MindPage
from memfolio.index.pages import (
    EntityPage,
    PageKind,
    entity_id,
    page_date,
    page_fields,
    page_kind,
    page_names,
    page_tags,
    procedure_text,
    read_entity,
    told_date,
    without_cited,
)
from memfolio.index.passages import body_text, cut_passages, front_matter
from memfolio.types import MemoryItem, Origin, Store
from memfolio.vault.format.content import without_surrogates
from memfolio.vault.format.entry import moment_of
from memfolio.vault.format.lines import read_lines
from memfolio.vault.format.log import read_log
from memfolio.vault.format.packed import text_of
from memfolio.vault.paths import Form, agent_of, day_of, form_of, is_packed_log, ledger_of, place_of
from memfolio.vault.recent import to_text

_STATE = re.compile(r"(?:agents/[^/]+|shared)/memory/meta/state/\d{4,}\.jsonl")
_KNOWLEDGE = re.compile(
    r"(?:agents/[^/]+|shared)/(?:knowledge/(?!runs)|memory/meta/(?=runs))(?P<ledger>facts|rules|cases|judgements|runs)"
    r"(?:/(?P<part>(?!0000)(?:\d{4}|[1-9]\d{4,})))?\.jsonl"
)
MOST_GARBLED = 10
"""A page of which more than one character in so many cannot be read is no text."""
PART = 1_000_000
"""More memories than one part of a log can hold."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_MINTED = re.compile(r"[A-Z]-(\d{1,15})-[0-9a-f]{8}")
_SPACE = re.compile(r"\n\s*\n")
_UNCLOSED = re.compile(r"^([\w-]{1,64})[ \t]*:[ \t]+\[(?![^\n]*\])", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that can be found, and its place in the file."""

    item: MemoryItem
    ordinal: int
    form: str = "memory"
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything in a file: what can be found, what is said about other memories, and what could not be read."""

    found: tuple[Found, ...] = ()
    states: tuple[Mapping[str, Any], ...] = ()
    entity: EntityPage | None = None
    problems: tuple[str, ...] = ()


def is_searched(path: str) -> bool:
    """Whether anything in a file of this name can be found or says something about what can."""
    return is_state(path) or is_log(path) or knowledge_of(path) is not None or page_kind(path) is not None


def is_state(path: str) -> bool:
    return _STATE.fullmatch(path) is not None


def knowledge_of(path: str) -> tuple[str, int] | None:
    """Which ledger of knowledge or of runs a file is of, and the place of its first line: one made by hand is first."""
    match = _KNOWLEDGE.fullmatch(path)
    return (match["ledger"], int(match["part"] or 0) * PART) if match else None


def is_log(path: str) -> bool:
    is_one = form_of(path) is Form.LOG or is_packed_log(path)
    return is_one and day_of(path) is not None and agent_of(path) is not None


def is_archived(path: str) -> bool:
    """Whether a file holds what was put out of sight."""
    return "/memory/archive/" in path


def first_ordinal(path: str) -> int:
    """Where the counting of a file's memories begins: the parts of a log count on, so that they stand in order."""
    named = ledger_of(path)
    return (named[1] - 1) * PART if named else 0


def precedence(path: str) -> tuple[bool, str, int]:
    """Which of two files has a memory that stands in both: the one that sorts first."""
    return is_archived(path), *place_of(path)


def read_file(path: str, data: bytes, *, zone: tzinfo, modified: datetime) -> Reading:
    """What is in the file; nothing raises, what cannot be read is among the problems."""
    agent, day = agent_of(path), day_of(path)
    if agent is None:
        return Reading()
    if is_state(path):
        return _read_states(data)
    if is_log(path) and day:
        return _read_log(path, data, day, zone, agent)
    kind = page_kind(path)
    return _read_page(path, to_text(data), kind, agent, zone, modified) if kind else Reading()


def _read_log(path: str, data: bytes, day: date, zone: tzinfo, agent: str) -> Reading:
    try:
        text = to_text(text_of(path, data))
    except DiskError as error:
        return Reading(problems=(error.message.removeprefix(f"{path} "),))
    log, first = read_log(text, day=day, tz=zone, agent=agent), first_ordinal(path)
    found = tuple(Found(item=each.entry.item, ordinal=number) for number, each in enumerate(log.entries, first))
    return Reading(found=found, problems=log.problems)


def _read_states(data: bytes) -> Reading:
    lines = read_lines(data)
    return Reading(states=tuple(line.record for line in lines.records), problems=tuple(lines.problems))


class Told(NamedTuple):
    """A piece of a page as it is told: the headings above it, its line, and the item of a mind that it is."""

    text: str
    line: int
    heading: tuple[str, ...] = ()
    item: Item | None = None


def _read_page(path: str, text: str, kind: PageKind, agent: str, zone: tzinfo, modified: datetime) -> Reading:
    clean = without_surrogates(text)
    if "\0" in clean or clean.count("\ufffd") * MOST_GARBLED > len(clean):
        return Reading(problems=("is not text in UTF-8",))
    fields = page_fields(clean)
    names, tags = page_names(fields), page_tags(fields)
    day, own = page_date(path), told_date(fields)
    made = moment_of(day, None, zone) if day else modified
    happened = moment_of(own, None, zone) if own and not day else None
    entity = read_entity(path, clean)
    found: dict[str, Found] = {}
    for number, told in enumerate(_told(path, clean, kind, agent, zone)):
        of_mind = told.item
        name = of_mind.id if of_mind else _hash("P", agent, path, *told.heading, told.text)
        item = MemoryItem(
            id=name,
            content=told.text,
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
            attributes={"page": path, "line": told.line, **(_attributes(of_mind, zone) if of_mind else {})},
        )
        heading = tuple(dict.fromkeys((*names, *told.heading)))
        form = "mind" if of_mind else "passage"
        found.setdefault(name, Found(item=item, ordinal=number, form=form, heading=heading))
    problems = tuple(_flaws(text, clean)) if entity else ()
    return Reading(found=tuple(found.values()), entity=entity, problems=problems)


def _told(path: str, text: str, kind: PageKind, agent: str, zone: tzinfo) -> Iterator[Told]:
    """What a page says, in pieces that can be found; a piece of nothing is left out."""
    if mind_kind := _mind_kind(path, kind):
        yield from _told_by_mind(MindPage(mind_kind, text, agent=agent, zone=zone), zone)
    elif kind.name == "procedure":
        title, body = procedure_text(path, text)
        passages = cut_passages(body)
        if not passages and body_text(text).strip():
            yield Told(title, 1)
        for number, passage in enumerate(passages):
            told = _SPACE.sub("\n\n", passage.text)
            yield Told(told, passage.line, (title,)) if number else Told(f"{title}\n\n{told}", passage.line)
    else:
        is_partial = entity_id(path) is not None or "/sessions/" in path
        for passage in cut_passages(without_cited(text) if is_partial else text):
            if told := _without_gaps(passage.text) if is_partial else passage.text:
                yield Told(told, passage.line, passage.heading)


def _mind_kind(path: str, kind: PageKind) -> MindKind | None:
    """Which page of a mind a file is, in its place or in the archive."""
    *_, folder, name = path.split("/")
    return BY_PAGE.get(name.removesuffix(".md")) if folder == "mind" and kind.name in ("mind", "archive") else None


def _told_by_mind(page: MindPage, zone: tzinfo) -> Iterator[Told]:
    """What stands above the items, and the items; a long one in several pieces, of which the first has its id."""
    above = replace(page.head, title="")
    for item in (above, *page.items):
        told = item.sentence(zone)
        # Other ids, such as a memory's, name something else. What stands above is an item where it has fields.
        is_item = item.id.startswith(f"{page.kind.prefix}-") and (item is not above or bool(item.fields))
        for number, passage in enumerate(cut_passages(told)):
            heading = (page.kind.page, *([item.title] if number and item.title else []), *passage.heading)
            yield Told(passage.text, item.line, heading, item if is_item and not number else None)


def _attributes(item: Item, zone: tzinfo) -> dict[str, Any]:
    """The fields of an item as a memory has them: shares as numbers, all else as it is written."""
    fields = item.fields.items()
    return {name: value if isinstance(value, float) else show_value(value, zone, name) for name, value in fields}


def _minted(id: str) -> datetime | None:
    """When an id was made, which its milliseconds say; None where they do not."""
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
        heading = _HEADING.match(line)
        level = len(heading[1]) if heading else 7
        if (heading and level >= below) or (not line.strip() and not (kept and kept[-1])):
            continue
        kept.append(line if line.strip() else "")
        below = level if line.strip() else below
    return "\n".join(reversed(kept)).strip()


def _flaws(text: str, clean: str) -> Iterator[str]:
    """What of the page of an entity cannot be read."""
    if clean != text:
        yield "has bytes that are not UTF-8"
    for key in _UNCLOSED.findall(clean[slice(*front_matter(clean))]):
        yield f"has a list at `{key}` that is not closed on its line, and so is not read"


def _hash(prefix: str, *parts: str) -> str:
    return f"{prefix}-{blake2b(chr(0).join(parts).encode('utf-8', 'replace')).hexdigest()[:16]}"
