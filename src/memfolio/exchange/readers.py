"""What becomes of a file that comes in: a page, the memories of a day, procedures, the sections of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date
from itertools import chain, count
from typing import Any, TypeVar

from memfolio.exchange.files import Leaf, safe_path
from memfolio.exchange.incoming import Flaw, Incoming, Note, Sheet
from memfolio.exchange.layout import Reader
from memfolio.graph.cast import slug
from memfolio.index.pages import page_date, page_fields, page_tags, told_date
from memfolio.index.passages import front_matter
from memfolio.types import ID_PATTERN, Kind, MemoryItem, Origin, Type
from memfolio.vault.format.log import read_log
from memfolio.vault.format.notes import closed_fences

T = TypeVar("T")
DAY = r"(?P<day>\d{4}-\d\d-\d\d)"
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*$", re.MULTILINE)
USUAL = {"type": Type.OBSERVATION, "kind": Kind.EPISODIC, "importance": 0.5, "confidence": 1.0, "source": "file"}
"""What a memory is where nothing is said; it need not be told."""
Sections = list[tuple[str, str]]
"""Titles, each with its section."""


def dated(leaf: Leaf) -> str:
    """The text of a file, with the day of that in its front matter where nothing else tells it."""
    if page_date(leaf.ref) or told_date(page_fields(leaf.text)):
        return leaf.text
    created = f"created: {leaf.modified.date().isoformat()}\n"
    start, end = front_matter(leaf.text)
    return f"{leaf.text[:start]}{created}{leaf.text[start:]}" if end else f"---\n{created}---\n{leaf.text}"


def fenced(leaf: Leaf) -> str:
    """The text of a page that shows a file which is no Markdown."""
    return f"# {leaf.ref.rpartition('/')[2]}\n\n~~~~\n{leaf.text.rstrip()}\n~~~~\n"


def page(place: str, text: Callable[[Leaf], str] = lambda leaf: leaf.text) -> Reader:
    r"""Reads a file as a page at `place`, which may name groups of the pattern: `memory/\g<rest>`."""
    return lambda leaf, match: [Sheet(ref=leaf.ref, path=safe_path(match.expand(place)), text=text(leaf))]


def ignored(leaf: Leaf, match: re.Match[str]) -> Iterable[Incoming]:
    """For what repeats other files, or can be made again from them."""
    return ()


def log(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Reads a file about a `day` as the memories that it tells of."""
    try:
        day = date.fromisoformat(match["day"])
    except ValueError:
        yield Sheet(ref=leaf.ref, path=f"memory/imported/{safe_path(leaf.ref)}", text=leaf.text)
        return
    tags = page_tags(page_fields(leaf.text)) if leaf.text.startswith("---") else ()
    for found in read_log(leaf.text, day=day, tz=UTC, agent="import").entries:
        yield _note(leaf.ref, found.entry.item, tags)


def _note(ref: str, item: MemoryItem, tags: Iterable[str]) -> Note:
    at, is_marked = item.event_time or item.created_at, ID_PATTERN.fullmatch(item.id)
    if not is_marked:
        at = at.replace(tzinfo=None)  # what a hand wrote is told in the time of the home
    fields: dict[str, Any] = {name: said for name, usual in USUAL.items() if (said := getattr(item, name)) != usual}
    if item.origin is Origin.UNTRUSTED:
        fields["origin"] = item.origin
    if item.tags or tags:
        fields["tags"] = [*dict.fromkeys((*item.tags, *tags))]
    if item.attributes or is_marked:
        fields["attributes"] = {**item.attributes, **({"id": item.id} if is_marked else {})}
    ref = f"{ref}#{item.id}"
    return Note(ref=ref, content=item.content, at=at, role=item.role, session=item.session, fields=fields)


def pages_by_section(
    folder: str, wanted: str = ".*", rest: str | None = None, form: Callable[[str], str] = str
) -> Reader:
    """Reads each section whose title fits `wanted` as a page in a folder; what is in none of them stays one page."""
    fitting = re.compile(wanted, re.IGNORECASE)

    def read(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
        found, other = sections(leaf.text, fitting)
        names = set[str]()
        for title, text in found:
            plain = slug(title.rpartition(":")[2].removesuffix(".md")) or slug(title) or "untitled"
            name = next(each for each in chain([plain], (f"{plain}-{n}" for n in count(2))) if each not in names)
            names.add(name)
            yield Sheet(ref=f"{leaf.ref}#{name}", path=f"{folder}/{safe_path(name)}.md", text=form(text))
        if says_something(other) or not found:
            yield Sheet(ref=leaf.ref, path=rest or f"memory/{safe_path(leaf.ref)}", text=other)

    return read


def sections(text: str, wanted: re.Pattern[str]) -> tuple[Sections, str]:
    """The sections whose titles fit, each with its headings as those of a page, and the text without them.

    The first heading is the title of the whole, unless it fits and others of its level follow.
    """
    headings = _headings(text)
    if headings and sum(1 for each in headings if len(each[1]) <= len(headings[0][1])) == 1:
        headings = headings[1:]
    found, rest, at = Sections(), "", 0
    for number, heading in enumerate(headings):
        if heading.start() < at or not wanted.match(heading[2]):
            continue
        level = len(heading[1])
        end = next((each.start() for each in headings[number + 1 :] if len(each[1]) <= level), len(text))
        body = re.sub(r"\n---[ \t]*\s*\Z", "\n", text[heading.end() : end])
        found.append((heading[2], f"# {heading[2]}{shifted(body, 1 - level).rstrip()}\n"))
        rest, at = rest + text[at : heading.start()], end
    return found, rest + text[at:]


def shifted(text: str, by: int) -> str:
    """A text whose headings are so many levels deeper, as far as there are some."""
    parts, at = [], 0
    for each in _headings(text):
        parts += [text[at : each.start()], "#" * min(6, len(each[1]) + by)]
        at = each.end(1)
    return "".join((*parts, text[at:]))


def _headings(text: str) -> list[re.Match[str]]:
    fences = closed_fences(text)
    return [each for each in _HEADING.finditer(text) if not any(lo <= each.start() < hi for lo, hi in fences)]


def says_something(text: str) -> bool:
    """Whether there is more in a page than headings."""
    return any(line.strip(" \t-#>*") and not line.startswith("#") for line in text.splitlines())


def objects(leaf: Leaf, read: Callable[[str, str, dict[str, Any]], T], *names: str) -> Iterator[T | Flaw]:
    """What `read` makes of the place, the list and each object of a JSON file: one list, or some by these names."""
    try:
        whole = json.loads(leaf.text)
    except (ValueError, RecursionError) as error:
        yield Flaw(ref=leaf.ref, why=f"is not JSON: {error}")
        return
    for name in names:
        found = whole.get(name) if isinstance(whole, dict) else whole
        for number, each in enumerate(found if isinstance(found, list) else (), 1):
            named = isinstance(each, dict) and (each.get("id") or each.get("case_id"))
            ref = f"{leaf.ref}#{named or number}"
            yield read(ref, name, each) if isinstance(each, dict) else Flaw(ref=ref, why="is not an object")
