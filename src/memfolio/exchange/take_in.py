"""Taking over what a source holds: in batches, each of them one change together with its line in the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import count, takewhile
from pathlib import Path
from typing import Any, TypeVar

from memfolio.arguments import draft_of, turn_of
from memfolio.errors import ConflictError, InputError, PolicyError
from memfolio.exchange.reading import (
    CLOSED,
    ImportedMemory,
    ImportProblem,
    Incoming,
    Lore,
    Sheet,
    Source,
    Thing,
    check_apart,
)
from memfolio.knowledge.cases import line_of, read_case
from memfolio.memory import Memory
from memfolio.state import Op
from memfolio.text import encoded
from memfolio.types import EMPTY, Action, Approval, Attribution, MemoryItem, Origin
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage
from memfolio.vault.fields import Draft, check_content
from memfolio.vault.lines import read_lines
from memfolio.vault.paths import MAX_TRACKED_BYTES, Form, Ledger, agent_root, check_path, form_of, state_ledger
from memfolio.vault.vault import Vault

# Many things in batches, of which each is one change.

T = TypeVar("T")


def batches(things: Iterable[T], size: int, weight: int, weigh: Callable[[T], int]) -> Iterator[tuple[T, ...]]:
    """At most `size` things at a time, that together weigh about `weight` at most."""
    batch, load = list[T](), 0
    for each in things:
        batch.append(each)
        load += weigh(each)
        if len(batch) >= size or load > weight:
            yield tuple(batch)
            batch, load = [], 0
    if batch:
        yield tuple(batch)


# What was taken over before, by a small ledger that is written together with what comes in.

DIGITS = 12
"""Bytes for a reference: 10⁹ of them have one chance in 10¹¹ to hold the same one twice."""
NAME = 2 * DIGITS
"""Characters of a mark that stand for the reference; those behind them for what is said."""


def mark_of(ref: str, *said: str) -> str:
    """What stands in the ledger for a reference, which may be the name of a private file, and for what is said."""
    return _digest(ref, DIGITS) + _digest("\0".join(said), 4)


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def _name_of(ref: str) -> str:
    """The part of a mark that stands for the reference."""
    return _digest(ref, DIGITS)


def own_mark(thing: Thing) -> str:
    """By which a thing is known again; one that was changed where it comes from has another mark."""
    match thing:
        case ImportedMemory():  # spaces are not kept as they come
            return mark_of(thing.ref, *thing.content.split())
        case Sheet():
            return mark_of(thing.ref, _as_compared(thing.text))
        case Lore(room="facts"):
            return mark_of(thing.ref, json.dumps(dict(thing.fields), default=str, sort_keys=True))
    return mark_of(thing.ref)


def _as_compared(text: str) -> str:
    """The text of a page, whatever ends its lines."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


class ImportedMarks:
    """The marks of what one source brought to an agent; ask under the write lock, where others import, too."""

    def __init__(self, vault: Vault, agent: str, source: str, place: Path) -> None:
        self._vault = vault
        self._source = source
        self._place = _digest(str(place.resolve()), DIGITS)
        self.names_here: set[str] = set()
        """The first parts of the marks of everything imported from this place."""
        self._ledger = Ledger(f"{agent_root(agent)}/memory/meta/imports", Form.LINES)
        self._head = -1
        self._marks: set[str] = set()
        self._last: dict[str, str] = {}

    def marks(self) -> tuple[set[str], Mapping[str, str]]:
        """Return all marks, including those of earlier versions, and the latest mark of each item by its first part."""
        if self._head != self._vault.head:  # somebody wrote since
            self._marks, self._last, self.names_here = set(), {}, set()
            for line in self._read():
                self.took(line.get("paths", ()), is_here=line.get("place") == self._place)
        return self._marks, self._last

    def line(self, marks: list[str]) -> AddLines:
        """Return the ledger line that a change with these marks has to write."""
        # What is called `paths` is not searched for secrets, which a mark may look like.
        line = {"op": "import", "job": self._source, "place": self._place, "paths": marks}
        return AddLines(self._ledger, (line,), "I")

    def took(self, marks: Iterable[str], *, is_here: bool = True) -> None:
        """Note what the last change wrote, so that the ledger need not be read again."""
        marks = list(marks)
        self._marks.update(marks)
        self._last.update((mark[:NAME], mark) for mark in marks)
        self.names_here.update(mark[:NAME] for mark in marks if is_here)
        self._head = self._vault.head

    def _read(self) -> list[Mapping[str, Any]]:
        parts = takewhile(lambda data: data is not None, (self._vault.content(self._ledger.part(n)) for n in count(1)))
        records: list[Any] = [record for data in parts for record in read_lines(data or b"").records]
        return [each for each in records if each.get("job") == self._source]


# What is written for a thing that comes in: checked one by one, so that a problem stays with its thing.

Progress = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
Written = Draft | PutPage | Mapping[str, Any] | None
"""What is written for a thing: an entry, a page, or a line; nothing where the page is there as it is."""
Placed = tuple[Thing, Written]
ASIDE = "memory/imported"
"""The folder for pages whose own place is taken, or is not for pages."""
FOLDERS = ("memory/notes/", "memory/claude-code/", "memory/")
"""Where the pages of folders go, below their places there."""
KEPT = ("memory/meta/evolution.md", "memory/vault/", "memory/graph/entities/")
RESERVED = ("memory/meta/", "memory/graph/", "knowledge/", "sessions/index")
"""Where memfolio keeps its own records, with exceptions."""
BATCH = 500
WEIGHT = 4 * 1024 * 1024
"""A batch has at most so many things, and about so many characters at most."""
SHOWN = 20
"""How many of the things that would come a dry run names."""
REFUSED = (InputError, ConflictError, PolicyError)
"""What may be wrong with one thing and not with its neighbours."""


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """What came of an import: memories taken over or corrected, things known before, pages, facts, rules and cases."""

    source: str
    taken: int = 0
    changed: int = 0
    known: int = 0
    pages: int = 0
    facts: int = 0
    lore: int = 0
    flaws: list[ImportProblem] = field(default_factory=list)
    took: float = 0.0
    """Seconds."""
    seqs: list[int] = field(default_factory=list)
    """The numbers of the changes that were made."""
    shown: list[str] = field(default_factory=list)
    """The first of what came, each in a line."""
    gone: list[str] = field(default_factory=list)
    """What came from the same place before and is not there any more: pages by their paths, memories by their ids."""

    def count(self, thing: Thing) -> None:
        match thing:
            case ImportedMemory():
                self.taken += 1
            case Sheet():
                self.pages += 1
            case Lore(room="facts"):
                self.facts += 1
            case _:
                self.lore += 1
        if len(self.shown) < SHOWN:
            self.shown.append(thing.path if isinstance(thing, Sheet) else thing.ref)


def take_in(
    memory: Memory,
    source: Source,
    path: Path,
    *,
    dry_run: bool = False,
    untrusted: bool = False,
    progress: Progress = lambda done, total: None,
) -> ImportReport:
    """Import what is at `path`, except what was imported before; the origin follows from the speaker.

    With `untrusted`, everything is imported as quarantined memories, even if it would be a page.
    """
    began = time.monotonic()
    check_apart(path, memory.vault.config.home)
    importing = _Import(memory, source.name, path, untrusted=untrusted, dry_run=dry_run)
    total, done = source.count(path), 0
    for batch in batches(source.read(path), BATCH, WEIGHT, _weight):
        importing.take(batch)
        done += len(batch)
        progress(min(done, total), total)
    importing.report.gone = importing.gone()
    importing.report.took = time.monotonic() - began
    return importing.report


def _weight(each: Incoming) -> int:
    return len(each.content) if isinstance(each, ImportedMemory) else len(each.text) if isinstance(each, Sheet) else 0


class _Import:
    """One import under way. Each batch is one change together with its marks, so that whoever is killed goes on."""

    def __init__(self, memory: Memory, source: str, place: Path, *, untrusted: bool, dry_run: bool) -> None:
        self._memory, self._vault, self._dry_run = memory, memory.vault, dry_run
        self._root, self._source = agent_root(memory.agent), f"import:{source}"
        is_owner = memory.vault.speaker == "owner"
        actor, approval = ("human", Approval.APPROVED) if is_owner else ("bot:import", Approval.AUTO)
        self._by = Attribution(actor=actor, approval=approval, trigger="import", source=self._source)
        self._origin = Origin.UNTRUSTED if untrusted else Origin.OWNER if is_owner else Origin.AGENT
        self._known = ImportedMarks(memory.vault, memory.agent, source, place)
        self._seen: dict[str, str] = {}
        self._paths: set[str] = set()
        """The places of pages that came, in small letters."""
        self._ids: dict[str, str] | None = None
        self.report = ImportReport(source=source)

    def take(self, batch: Sequence[Incoming]) -> None:
        """Take over those of some things that are not known."""
        self.report.flaws += (each for each in batch if isinstance(each, ImportProblem))
        # Under the lock, so that of two who import the same one finds what the other took over.
        with nullcontext() if self._dry_run else self._vault.exclusive():
            fresh, changed = self._sorted([each for each in batch if not isinstance(each, ImportProblem)])
            self._write([*self._placed(fresh)])
            self._correct(changed)

    def gone(self) -> list[str]:
        """Return what was imported from this place before, is still here, and is missing at the source."""
        self._known.marks()
        # What could not be read this time is still there; and in a folder that cannot be opened, anything may be.
        gone = self._known.names_here - self._seen.keys() - {_name_of(flaw.ref) for flaw in self.report.flaws}
        if not gone or any(flaw.why.startswith(CLOSED) for flaw in self.report.flaws):
            return []
        items = (item for item in self._vault.entries(self._memory.agent) if item.source == self._source)
        found = [item.id for item in items if _name_of(str(item.attributes.get("ref"))) in gone]
        pages = [path for path in self._vault.files if path.startswith(f"{self._root}/") and path.endswith(".md")]
        return [*found, *sorted(path for path in pages if not gone.isdisjoint(map(_name_of, self._refs(path))))]

    def _refs(self, path: str) -> Iterator[str]:
        """Yield the names that the source of a page may have."""
        inside = path.removeprefix(f"{self._root}/")
        for folder in ("", *FOLDERS, f"{ASIDE}/{self._source.removeprefix('import:')}/"):
            if inside.startswith(folder):
                name = inside.removeprefix(folder)
                yield from (name, *(f"{name.removesuffix('.md')}{ending}" for ending in (".markdown", ".txt")))

    def _sorted(self, things: Sequence[Thing]) -> tuple[list[Thing], list[ImportedMemory]]:
        """Split items into new ones, each once, and memories whose text has changed since their import."""
        (_, last), fresh, changed = self._known.marks(), list[Thing](), list[ImportedMemory]()
        for each in things:
            mark = own_mark(each)
            name = mark[:NAME]
            if mark in (last.get(name), self._seen.get(name)):
                self.report.known += 1
            # Two things of one source under one name: which of them is meant cannot be told the next time.
            elif name in self._seen:
                self._refuse(each, "has the name of another one, which says something else")
            elif name in last and isinstance(each, ImportedMemory):
                changed.append(each)
            else:
                fresh.append(each)
            self._seen.setdefault(name, mark)
        return fresh, changed

    def _refuse(self, thing: Thing, why: str) -> None:
        self.report.flaws.append(ImportProblem(ref=thing.ref, why=why))

    def _correct(self, changed: Sequence[ImportedMemory]) -> None:
        """Update memories that were changed at their source; forgotten memories stay forgotten."""
        due = [(note, item) for note in changed if (item := self._to_correct(note))]
        # Marked before, each followed by a mark that says nothing: whoever is interrupted knows the corrections for
        # what came, and looks at all of them again.
        self._mark([each for note, _ in due for mark in [own_mark(note)] for each in (mark, mark[:NAME])])
        self._mark([mark for note, item in due for mark in self._corrected(note, item)])

    def _to_correct(self, note: ImportedMemory) -> MemoryItem | None:
        """Return the memory to update from a note."""
        item = self._as_it_came(note)
        if item is None or (self._dry_run and item.content == note.content):
            self.report.known += 1
            return None
        is_strange = self._origin is Origin.UNTRUSTED and item.origin is not Origin.UNTRUSTED
        if is_strange and item.content != note.content:
            self._refuse(note, f"would change {item.id}, which is trusted")
            return None
        self.report.changed += self._dry_run
        return None if self._dry_run else item

    def _corrected(self, note: ImportedMemory, item: MemoryItem) -> Iterator[str]:
        """Correct a memory; yields the marks of what it says, which may lack a secret, and of what its source says."""
        try:
            done = self._memory.update(item.id, note.content, by=self._by)
        except REFUSED as error:
            self._refuse(note, error.message)
            return
        if done.receipt:
            self.report.changed += 1
            self.report.seqs.append(done.receipt.seq)
        else:
            self.report.known += 1
        if not done.merged:
            yield own_mark(replace(note, content=done.memory.content))
        yield own_mark(note)

    def _as_it_came(self, note: ImportedMemory) -> MemoryItem | None:
        """The memory of a note, or the last of its corrections that came from the source, too, or says the same."""
        if self._ids is None:
            mine = (item for item in self._vault.entries(self._memory.agent) if item.source == self._source)
            self._ids = {str(item.attributes.get("ref")): item.id for item in mine}
        item: MemoryItem | None = None
        named, passed, came = self._ids.get(note.ref), set[str](), {own_mark(note), *self._known.marks()[0]}
        while named and named not in passed and (found := self._memory.searcher.locate(named)):
            later = found[1].item
            if later.forgotten_at or (item and own_mark(replace(note, content=later.content)) not in came):
                break
            passed.add(named)
            item, named = later, later.superseded_by
        return item

    def _placed(self, things: Iterable[Thing]) -> Iterator[Placed]:
        for each in things:
            try:
                yield each, self._written(each)
            except REFUSED as error:
                self._refuse(each, error.message)

    def _written(self, thing: Thing) -> Written:
        """Return what is written for an item; raises InputError or ConflictError if it cannot be imported."""
        is_strange = self._origin is Origin.UNTRUSTED
        match thing:
            case ImportedMemory():
                return self._draft(thing)
            case Sheet() if is_strange:  # only memories can be kept in quarantine
                about = {"attributes": {"page": thing.path}}
                return self._draft(ImportedMemory(ref=thing.ref, content=thing.text, fields=about))
            case Sheet():
                return self._page(thing)
            case Lore(room="facts"):
                line = {name: value for name, value in thing.fields.items() if value is not None}
                line = {"source": self._source, **line, **({"origin": self._origin.value} if is_strange else {})}
                self._memory.facts.check_many([line])
                return line
            case Lore(room="cases"):
                case = line_of(read_case({**thing.fields, "origin": self._origin}))
                was = {name: thing.fields[name] for name in ("case_id", "stored_at") if thing.fields.get(name)}
                return {"op": "store", **case, "origin": self._origin.value, **({"was": was} if was else {})}
        if is_strange:
            raise InputError("is a rule of a stranger, and rules decide what is concluded")
        return thing.fields

    def _draft(self, note: ImportedMemory) -> Draft:
        given, at = dict(note.fields), note.at
        if at is not None and at.utcoffset() is None:
            at = at.replace(tzinfo=self._vault.home.zone)
        about = {"ref": note.ref, "author": note.author, "source": given.pop("source", None)}
        attributes = {**given.pop("attributes", EMPTY), **{name: value for name, value in about.items() if value}}
        # A source may say that a stranger wrote something, and nothing better than whoever imports it.
        is_strange = Origin.UNTRUSTED in (given.pop("origin", None), self._origin)
        origin = Origin.UNTRUSTED if is_strange else self._origin
        whose = {"at": at, "session": note.session, "source": self._source, "attributes": attributes}
        if note.role is None:
            draft = draft_of(content=note.content, **{**given, **whose, "origin": origin})
        else:  # a turn of a conversation, which is no more trusted than when it is heard
            draft = turn_of({"role": note.role, "content": note.content, "user": given.get("user"), **whose})
            if given.keys() - {"user"}:
                more = draft_of(content=note.content, **given)
                draft = draft._replace(**{name: getattr(more, name) for name in given})
            draft = draft._replace(origin=origin) if is_strange else draft
        check_content(draft.content, self._vault.config.max_content_bytes)
        return draft

    def _page(self, sheet: Sheet) -> PutPage | None:
        """Return the page to write: at its path, or else set aside; None if it already exists with the same content."""
        data = encoded(sheet.text) if sheet.data is None else sheet.data
        if len(data) > MAX_TRACKED_BYTES or "\0" in sheet.text:
            raise InputError("is not text" if "\0" in sheet.text else "is too large for a page")
        aside = f"{ASIDE}/{self._source.removeprefix('import:')}/{sheet.path}"
        for inside in (sheet.path, aside) if _is_free(sheet.path) else (aside,):
            path = check_path(f"{self._root}/{inside}")
            page = self._vault.page(path)
            if path.casefold() in self._paths:
                continue
            if (
                page is None
                or page.content == data
                or mark_of(sheet.ref, _as_compared(page.text)) in self._known.marks()[0]
            ):
                self._paths.add(path.casefold())
                return None if page and page.content == data else PutPage.over(page, path, data)
        raise ConflictError(f"{aside} is there already and says something else")

    def _write(self, placed: Sequence[Placed]) -> None:
        """Write items as one change; if one is refused, split them until it is found."""
        if not placed:
            return
        try:
            self._make(placed)
        except REFUSED as error:
            if len(placed) == 1:
                self._refuse(placed[0][0], error.message)
                return
            # Halving finds the one that is refused in a few changes.
            self._write(placed[: len(placed) // 2])
            self._write(placed[len(placed) // 2 :])
        else:
            for thing, _ in placed:
                self.report.count(thing)

    def _make(self, placed: Sequence[Placed]) -> None:
        facts, rules, cases = (
            [dict(line) for thing, line in placed if isinstance(line, Mapping) and getattr(thing, "room", "") == room]
            for room in ("facts", "rules", "cases")
        )
        if rules:
            self._memory.rules.import_(json.dumps(rules), by=self._by, dry_run=self._dry_run)
        if self._dry_run:
            return
        # Facts and rules come before their marks: asserting the same again changes nothing.
        if facts:
            self._memory.facts.assert_many(facts, by=self._by)
        pages = [each for _, each in placed if isinstance(each, PutPage)]
        operations: list[Operation] = [*pages]
        if drafts := tuple(each for _, each in placed if isinstance(each, Draft)):
            operations.append(AddEntries(self._memory.agent, drafts))
        if cases:
            operations.append(AddLines(Ledger(f"{self._root}/knowledge/cases", Form.LINES), tuple(cases), "C"))
        dates = {
            each.path.removeprefix(f"{self._root}/"): thing.created.isoformat()
            for thing, each in placed
            if isinstance(each, PutPage) and isinstance(thing, Sheet) and thing.created
        }
        if dates:
            operations.append(AddLines(state_ledger(self._memory.agent), ({"op": Op.DATED.value, "pages": dates},)))
        action = Action.EDIT if any(each.expects for each in pages) else Action.CREATE if pages else Action.APPEND
        self.report.seqs.append(self._apply([own_mark(thing) for thing, _ in placed], operations, action))
        self._mark([mark for each in placed for mark in self._redacted(*each)])

    def _redacted(self, thing: Thing, page: Written) -> Iterator[str]:
        """Yield marks that identify a page with its source, although a secret was redacted in it."""
        written = self._vault.page(page.path) if isinstance(page, PutPage) else None
        if isinstance(page, PutPage) and written and written.content != page.content:
            yield from (mark_of(thing.ref, _as_compared(written.text)), own_mark(thing))

    def _mark(self, marks: list[str]) -> None:
        if marks:
            self._apply(marks)

    def _apply(self, marks: list[str], operations: Iterable[Operation] = (), action: Action = Action.APPEND) -> int:
        """Make a change together with its marks; returns its number."""
        change = Change(operations=(*operations, self._known.line(marks)), by=self._by, action=action)
        seq = self._vault.apply(change).seq
        self._known.took(marks)
        return seq


def _is_free(path: str) -> bool:
    """Whether a page may have this place: it is Markdown, no log, and nothing that memfolio writes by itself."""
    is_page = path.endswith(".md") and form_of(f"agents/x/{path}") is Form.PAGE
    return is_page and (path.startswith(KEPT) or not path.startswith(RESERVED))
