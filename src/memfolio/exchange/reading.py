"""Read foreign files safely, map folders with a known layout, and decide what each file becomes."""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from memfolio.errors import InputError
from memfolio.graph.entities import free_name, slug
from memfolio.index.read_files import page_date, page_fields, page_tags, told_date
from memfolio.text import counted
from memfolio.types import EMPTY, ID_PATTERN, Kind, MemoryItem, Origin, Type, frozen
from memfolio.vault.disk import Disk
from memfolio.vault.log import read_log
from memfolio.vault.paths import MAX_TRACKED_BYTES
from memfolio.vault.sections import PageText

# What a source holds, in the form in which everything is taken over. Values only.


@frozen
class ImportedMemory:
    """Something to be remembered: the fields of a memory as they are there, and `ref`, by which it is known again.

    The same `ref` of the same source is taken over once, however often the source is read.
    """

    ref: str
    content: str
    at: datetime | None = None
    """When it happened; times without a zone are those of the home."""
    role: str | None = None
    """The speaker, if it is a turn of a conversation."""
    session: str | None = None
    author: str | None = None
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Further fields of `Memory.remember`: type, importance, tags, confidence, kind, valid_from, attributes …"""


@frozen
class Sheet:
    """A page that is kept as one: `path` is relative to the folder of the agent, such as `memory/procedures/x.md`."""

    ref: str
    path: str
    text: str
    data: bytes | None = None
    """The bytes of the file, if the page must be identical to it."""
    created: date | None = None
    """The day it was written, if neither its name nor its text says so."""


@frozen
class Lore:
    """A fact, a rule or a case, with the fields that `facts.assert_`, `rules.create` or `cases.store` takes."""

    ref: str
    room: Literal["facts", "rules", "cases"]
    fields: Mapping[str, Any]


def fact(subject: str, predicate: str, object: str, **more: Any) -> Lore:
    """Return a fact that is identified by its content."""
    spo = {"subject": subject, "predicate": predicate, "object": object}
    return Lore(ref=f"{subject} {predicate} {object}", room="facts", fields={**spo, **more})


@frozen
class ImportProblem:
    """Something that cannot be taken over, and why; it stops nothing."""

    ref: str
    why: str


Thing = ImportedMemory | Sheet | Lore
Incoming = Thing | ImportProblem


class Source(Protocol):
    """A form in which memories are kept elsewhere."""

    name: str
    """The name of the source in `memfolio import --from`."""

    def fits(self, path: Path) -> bool:
        """Whether a file or folder has this form; quick, and never raises."""
        ...

    def count(self, path: Path) -> int:
        """Return about how many items there are, for a progress bar."""
        ...

    def read(self, path: Path) -> Iterator[Incoming]:
        """Yield the items in a fixed order; one that cannot be read is an `ImportProblem`."""
        ...


# The files that a source may hold, read with care: no links, nothing huge, no folder that hides the others.


def check_apart(path: Path, home: Path) -> None:
    """Refuse what lies inside of the home, or around it."""
    one, other = path.resolve(), home.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise InputError(f"{path} and the home {home} lie in one another", hint="name what lies outside of the home")


DISK = Disk()
SKIPPED = frozenset({"node_modules", "__pycache__"})
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
CLOSED = "cannot be opened"
LONGEST = 60
"""Characters of a name: 200 bytes hold as many, whatever they are, and an ending."""


class Leaf(NamedTuple):
    """A file of a source: its path there, its text, and when it was last changed."""

    ref: str
    text: str
    modified: datetime
    data: bytes = b""
    """Its bytes, converted to UTF-8 if its encoding was another one."""


def files_below(root: Path, start: str = "") -> Iterator[str | ImportProblem]:
    """The places of all files below a folder, in order; hidden ones are nobody's memory.

    `start` is the place of a folder in it to which they are limited, with a slash at its end.
    """
    pending = [start]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            yield ImportProblem(ref=folder or ".", why=f"{CLOSED}: {error.strerror}")
            continue
        shown = [entry for entry in entries if not entry.name.startswith(".") and entry.name not in SKIPPED]
        folders = [entry for entry in shown if entry.is_dir(follow_symlinks=False)]
        pending += [f"{folder}{entry.name}/" for entry in reversed(folders)]
        yield from (f"{folder}{entry.name}" for entry in shown if entry not in folders)


def read_leaf(root: Path, ref: str) -> Leaf | ImportProblem:
    """A file as text, or why it cannot be read as that."""
    shown = ref.encode("utf-8", "replace").decode()
    try:
        content, modified = _read(Path(root, ref))
        text = decoded(content)
        if text is not None and shown == ref:
            is_utf8 = not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            return Leaf(ref, text, datetime.fromtimestamp(modified, UTC), content if is_utf8 else text.encode())
        why = "is not text in UTF-8: convert it" if text is None else "has a name that is not UTF-8: rename it"
    except OSError as error:
        why = "is a link and is not followed" if error.errno == errno.ELOOP else f"cannot be read: {error}"
    except InputError as error:
        why = error.message
    return ImportProblem(ref=shown, why=why)


def _read(place: Path) -> tuple[bytes, float]:
    """What is in a file, and when it was changed; looked at only after it is open, so that nobody can swap it."""
    # A pipe must not keep the import waiting.
    file = DISK.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode):
            raise InputError("is not a regular file", hint="leave it out")
        if info.st_size > MAX_TRACKED_BYTES:
            raise InputError(f"is larger than {MAX_TRACKED_BYTES >> 20} MiB", hint="split it")
        data = os.read(file, info.st_size)
        while len(data) < info.st_size and (more := os.read(file, info.st_size - len(data))):
            data += more
        return data, info.st_mtime
    finally:
        DISK.close(file)


def decoded(data: bytes) -> str | None:
    """Decode UTF-8, or UTF-16 with a byte order mark; None for anything else."""
    encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.replace("\r\n", "\n")


def safe_path(ref: str) -> str:
    """Return a path with names that every system allows, as close to `ref` as possible."""
    return "/".join(map(_safe_name, ref.split("/")))


def _safe_name(name: str) -> str:
    stem, dot, ending = _FORBIDDEN.sub("-", name).rpartition(".")
    stem, ending = (stem, f".{ending}") if dot and len(ending) < 6 else (f"{stem}{dot}{ending}", "")
    cut = stem[:LONGEST].strip(" .") if len(stem.encode()) > 180 else stem.strip(" .")
    return f"_{cut}{ending}" if _RESERVED.fullmatch(cut + ending) or not cut else f"{cut}{ending}"


# A folder with a known layout: a table of the places in it, and what becomes of the file at each.

SHOWN = 5
"""How many of the files that are left are named."""
Reader = Callable[[Leaf, re.Match[str]], Iterable[Incoming]]
Rule = tuple[str, Reader]
"""A pattern for paths relative to the folder, and the reader of matching files."""


@frozen
class Layout:
    """A source that is a folder of files; the first rule that fits a file decides, and what fits none is no part."""

    name: str
    rules: tuple[Rule, ...]
    marks: Callable[[Path], bool]
    """Whether a folder has this layout."""
    inside: Callable[[Path], Path] = lambda path: path
    """Return the folder with this layout, if another folder inside it was named."""
    tells_rest: bool = False
    """Whether files that match no rule are reported as problems."""
    may_be_file: bool = False
    """Whether one of its files is enough."""

    def fits(self, path: Path) -> bool:
        """Whether a folder has this layout; quick, and never raises."""
        try:
            if path.is_file():
                return self.may_be_file and self._rule(path.name) is not None
            return path.is_dir() and self.marks(self.inside(path))
        except OSError:
            return False

    def count(self, path: Path) -> int:
        """Return the number of files."""
        return sum(isinstance(ref, str) and self._rule(ref) is not None for ref in self._files(path))

    def read(self, path: Path) -> Iterator[Incoming]:
        """Yield the contents of the files, in the order of their names."""
        root, rest = self._root(path), list[str]()
        for ref in self._files(path):
            if isinstance(ref, ImportProblem):
                yield ref
            elif (rule := self._rule(ref)) is None:
                rest.append(ref)
            elif isinstance(leaf := read_leaf(root, ref), ImportProblem):
                yield leaf
            elif leaf.text.strip():
                yield from rule[1](leaf, rule[0])
        if rest and self.tells_rest:
            some = f"{', '.join(rest[:SHOWN])}{', …' if len(rest) > SHOWN else ''}"
            yield ImportProblem(ref=counted(len(rest), "other file"), why=f"not a note, and left where it is: {some}")

    def _root(self, path: Path) -> Path:
        return self.inside(path) if path.is_dir() else path.parent

    def _files(self, path: Path) -> Iterator[str | ImportProblem]:
        """Yield the paths of the files to read; if a folder inside the layout was named, only those in it."""
        if not path.is_dir():
            return iter((path.name,))
        root = self._root(path)
        start = f"{path.relative_to(root).as_posix()}/" if path != root and path.is_relative_to(root) else ""
        return files_below(root, start)

    def _rule(self, ref: str) -> tuple[re.Match[str], Reader] | None:
        found = ((match, reader) for pattern, reader in self.rules if (match := _compiled(pattern).fullmatch(ref)))
        return next(found, None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


# What becomes of a file that comes in: a page, the memories of a day, procedures, the sections of a page.

T = TypeVar("T")
DAY = r"(?P<day>\d{4}-\d\d-\d\d)"
USUAL = {"type": Type.OBSERVATION, "kind": Kind.EPISODIC, "importance": 0.5, "confidence": 1.0, "source": "file"}
"""Defaults of a memory's fields, which need not be stated."""
Sections = list[tuple[str, str]]
"""Titles, each with its section."""


def fenced(leaf: Leaf) -> str:
    """The text of a page that shows a file which is no Markdown."""
    return f"# {leaf.ref.rpartition('/')[2]}\n\n~~~~\n{leaf.text.rstrip()}\n~~~~\n"


def page(place: str, text: Callable[[Leaf], str] = lambda leaf: leaf.text) -> Reader:
    r"""Reads a file as a page at `place`, which may name groups of the pattern: `memory/\g<rest>`."""
    return lambda leaf, match: [Sheet(ref=leaf.ref, path=safe_path(match.expand(place)), text=text(leaf))]


def note(place: str) -> Reader:
    """Read a file as a page with the same bytes."""

    def read(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
        is_dated = page_date(leaf.ref) or told_date(page_fields(leaf.text))
        created = None if is_dated else leaf.modified.date()
        path = safe_path(match.expand(place))
        yield Sheet(ref=leaf.ref, path=path, text=leaf.text, data=leaf.data, created=created)

    return read


def ignored(leaf: Leaf, match: re.Match[str]) -> Iterable[Incoming]:
    """Skip files that repeat others, or can be generated from them."""
    return ()


def log(leaf: Leaf, match: re.Match[str]) -> Iterator[Incoming]:
    """Read the file of a `day` as memories."""
    try:
        day = date.fromisoformat(match["day"])
    except ValueError:
        yield Sheet(ref=leaf.ref, path=f"memory/imported/{safe_path(leaf.ref)}", text=leaf.text)
        return
    tags = page_tags(page_fields(leaf.text)) if leaf.text.startswith("---") else ()
    for found in read_log(leaf.text, day=day, tz=UTC, agent="import").entries:
        yield _note(leaf.ref, found.entry.item, tags)


def _note(ref: str, item: MemoryItem, tags: Iterable[str]) -> ImportedMemory:
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
    return ImportedMemory(ref=ref, content=item.content, at=at, role=item.role, session=item.session, fields=fields)


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
            name = free_name(plain, lambda name: name not in names)
            names.add(name)
            yield Sheet(ref=f"{leaf.ref}#{name}", path=f"{folder}/{safe_path(name)}.md", text=form(text))
        if says_something(other) or not found:
            yield Sheet(ref=leaf.ref, path=rest or f"memory/{safe_path(leaf.ref)}", text=other)

    return read


def sections(text: str, wanted: re.Pattern[str]) -> tuple[Sections, str]:
    """Return the sections with matching titles, each as a page of its own, and the text without them.

    The first heading is the title of the whole, unless it matches and others of its level follow.
    """
    headings = list(PageText(text).headings.values())
    # A page with one title at its top is made of the sections below it.
    if headings and sum(1 for each in headings if each.level <= headings[0].level) == 1:
        headings = headings[1:]
    found, rest, at = Sections(), "", 0
    for number, heading in enumerate(headings):
        if heading.start < at or not wanted.match(heading.title):
            continue
        level = heading.level
        end = next((each.start for each in headings[number + 1 :] if each.level <= level), len(text))
        body = re.sub(r"\n---[ \t]*\s*\Z", "\n", "".join(text[heading.start : end].partition("\n")[1:]))
        found.append((heading.title, f"# {heading.title}{shifted(body, 1 - level).rstrip()}\n"))
        rest, at = rest + text[at : heading.start], end
    return found, rest + text[at:]


def shifted(text: str, by: int) -> str:
    """Shift the headings of a text by a number of levels."""
    parts, at = [], 0
    for each in PageText(text).headings.values():
        parts += [text[at : each.start], "#" * min(6, each.level + by)]
        at = each.start + each.level
    return "".join((*parts, text[at:]))


def says_something(text: str) -> bool:
    """Whether a page contains more than headings."""
    return any(line.strip(" \t-#>*") and not line.startswith("#") for line in text.splitlines())


def objects(leaf: Leaf, read: Callable[[str, str, dict[str, Any]], T], *names: str) -> Iterator[T | ImportProblem]:
    """What `read` makes of the place, the list and each object of a JSON file: one list, or some by these names."""
    try:
        whole = json.loads(leaf.text)
    except (ValueError, RecursionError) as error:
        yield ImportProblem(ref=leaf.ref, why=f"is not JSON: {error}")
        return
    for name in names:
        found = whole.get(name) if isinstance(whole, dict) else whole
        for number, each in enumerate(found if isinstance(found, list) else (), 1):
            named = isinstance(each, dict) and (each.get("id") or each.get("case_id"))
            ref = f"{leaf.ref}#{named or number}"
            yield read(ref, name, each) if isinstance(each, dict) else ImportProblem(ref=ref, why="is not an object")
