"""Taking over what a source holds: in batches, each of them one change together with its line in the ledger.

So whatever is killed, a batch came with its marks or not at all, and whoever imports again goes on behind it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from memfolio.errors import ConflictError, InputError, PolicyError
from memfolio.exchange.incoming import Flaw, Incoming, Lore, Note, Sheet, Source, Thing, Triple
from memfolio.exchange.ledger import NAME, Known, mark_of, own_mark
from memfolio.exchange.placing import Parts, Placing
from memfolio.memory import Memory
from memfolio.types import Action, Approval, Attribution, MemoryItem, Origin
from memfolio.vault.change import AddEntries, AddLines, Change, Operation
from memfolio.vault.paths import Form, Ledger, agent_root

Told = Callable[[int, int], None]

BATCH = 500
WEIGHT = 4 * 1024 * 1024
"""A batch has at most so many things, and about so many characters at most."""
SHOWN = 20
"""How many of the things that would come a dry run names."""
REFUSED = (InputError, ConflictError, PolicyError)
"""What may be wrong with one thing and not with its neighbours."""


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of an import: memories taken over or corrected, things known before, pages, facts, rules and cases."""

    source: str
    taken: int = 0
    changed: int = 0
    known: int = 0
    pages: int = 0
    facts: int = 0
    lore: int = 0
    flaws: list[Flaw] = field(default_factory=list)
    took: float = 0.0
    """Seconds."""
    seqs: list[int] = field(default_factory=list)
    """The numbers of the changes that were made."""
    shown: list[str] = field(default_factory=list)
    """The first of what came, each in a line."""

    def count(self, thing: Thing) -> None:
        name = {Note: "taken", Sheet: "pages", Triple: "facts", Lore: "lore"}[type(thing)]
        setattr(self, name, getattr(self, name) + 1)
        if len(self.shown) < SHOWN:
            self.shown.append(thing.path if isinstance(thing, Sheet) else thing.ref)


def take_in(
    memory: Memory,
    source: Source,
    path: Path,
    *,
    dry_run: bool = False,
    untrusted: bool = False,
    told: Told = lambda done, total: None,
    by: Attribution | None = None,
) -> Report:
    """Take over what is at `path`, except what was before; whose word it is follows from who speaks.

    What strangers wrote is `untrusted`: it comes as memories in quarantine, also where it would be a page.
    """
    began = time.monotonic()
    _check_apart(path, memory.vault.home.root)
    intake = _Intake(memory, source.name, by or _importer(memory), untrusted=untrusted, dry_run=dry_run)
    total, done = source.count(path), 0
    for batch in _batches(source.read(path)):
        intake.take(batch)
        done += len(batch)
        told(min(done, total), total)
    intake.report.took = time.monotonic() - began
    return intake.report


def _check_apart(path: Path, home: Path) -> None:
    one, other = path.resolve(), home.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise InputError(f"{path} and the home {home} lie in one another", hint="import what lies outside of the home")


def _importer(memory: Memory) -> Attribution:
    if memory.vault.config.speaker == "owner":
        return Attribution(actor="human", approval=Approval.APPROVED, trigger="import")
    return Attribution(actor="bot:import", trigger="import")


def _batches(things: Iterable[Incoming]) -> Iterator[list[Incoming]]:
    batch: list[Incoming] = []
    weight = 0
    for each in things:
        batch.append(each)
        weight += len(each.content) if isinstance(each, Note) else len(each.text) if isinstance(each, Sheet) else 0
        if len(batch) >= BATCH or weight > WEIGHT:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


class _Intake:
    """One import under way."""

    def __init__(self, memory: Memory, source: str, by: Attribution, *, untrusted: bool, dry_run: bool) -> None:
        self._memory, self._vault, self._dry_run, self._is_untrusted = memory, memory.vault, dry_run, untrusted
        self._by = replace(by, source=f"import:{source}")
        own = Origin.OWNER if memory.vault.config.speaker == "owner" else Origin.AGENT
        self._known = Known(memory.vault, memory.agent, source)
        self._placing = Placing(memory, source, Origin.UNTRUSTED if untrusted else own, self._known)
        self._seen: dict[str, str] = {}
        self._ids: dict[str, str] | None = None
        self.report = Report(source=source)

    def take(self, batch: Sequence[Incoming]) -> None:
        """Take over those of some things that are not known; nobody else does so meanwhile."""
        self.report.flaws += (each for each in batch if isinstance(each, Flaw))
        with nullcontext() if self._dry_run else self._vault.writer.ready():
            fresh, changed = self._sorted([each for each in batch if not isinstance(each, Flaw)])
            self._write([parts for each in fresh if (parts := self._place(each))])
            for note in changed:
                self._renew(note)

    def _sorted(self, things: Sequence[Thing]) -> tuple[list[Thing], list[Note]]:
        """Those that were not taken over, each once, and memories that say something else than they did then."""
        last, fresh, changed = self._known.last(), list[Thing](), list[Note]()
        for each in things:
            mark = own_mark(each)
            name = mark[:NAME]
            if mark in (last.get(name), self._seen.get(name)):
                self.report.known += 1
            elif name in self._seen:
                self._refuse(each, "has the name of another one, which says something else")
            elif name in last and isinstance(each, Note):
                changed.append(each)
            else:
                fresh.append(each)
            self._seen.setdefault(name, mark)
        return fresh, changed

    def _renew(self, note: Note) -> None:
        """Correct a memory that was changed where it comes from; what was forgotten here stays so."""
        item = self._as_it_came(note.ref)
        if item is None or item.content == note.content:
            self.report.known += 1
        elif self._is_untrusted and item.origin is not Origin.UNTRUSTED:
            self._refuse(note, f"would change {item.id}, which is trusted")
        elif self._dry_run:
            self.report.changed += 1
        else:
            try:
                receipt = self._memory.update(item.id, note.content, by=self._by).receipt
            except REFUSED as error:
                self._refuse(note, error.message)
                return
            self.report.changed += 1
            self.report.seqs += [receipt.seq] if receipt else []
            self._mark([own_mark(note)])

    def _as_it_came(self, ref: str) -> MemoryItem | None:
        """The memory with this reference, or the last of its corrections that came from the source as well."""
        if self._ids is None:
            mine = (item for item in self._vault.entries(self._memory.agent) if item.source == self._by.source)
            self._ids = {str(item.attributes.get("ref")): item.id for item in mine}
        item: MemoryItem | None = None
        named, passed = self._ids.get(ref), set[str]()
        while named and named not in passed and (found := self._memory.library.locate(named)):
            later = found[1].item
            came = item is None or own_mark(Note(ref=ref, content=later.content)) in self._known.marks()
            if later.forgotten_at or not came:
                break
            passed.add(named)
            item, named = later, later.superseded_by
        return item

    def _place(self, thing: Thing) -> Parts | None:
        try:
            return self._placing.parts(thing)
        except REFUSED as error:
            self._refuse(thing, error.message)
            return None

    def _refuse(self, thing: Thing, why: str) -> None:
        self.report.flaws.append(Flaw(ref=thing.ref, why=why))

    def _write(self, placed: Sequence[Parts]) -> None:
        """Make one change of some things; where one of them is refused, of fewer, until it is found."""
        if not placed:
            return
        try:
            self._make(placed)
        except REFUSED as error:
            if len(placed) == 1:
                self._refuse(placed[0].thing, error.message)
                return
            self._write(placed[: len(placed) // 2])
            self._write(placed[len(placed) // 2 :])
        else:
            for each in placed:
                self.report.count(each.thing)

    def _make(self, placed: Sequence[Parts]) -> None:
        marks = [own_mark(each.thing) for each in placed]
        facts = [each.fact for each in placed if each.fact]
        rules = [dict(each.rule) for each in placed if each.rule]
        self._memory.facts.check_many(facts)
        if rules:
            self._memory.rules.import_(json.dumps(rules), by=self._by, dry_run=self._dry_run)
        if self._dry_run:
            return
        if facts:
            self._memory.facts.assert_many(facts, by=self._by)
        change = Change(
            operations=(*self._operations(placed), self._known.line(marks)), by=self._by, action=_action(placed)
        )
        self.report.seqs.append(self._vault.apply(change).seq)
        self._known.took(marks)
        self._mark([mark for each in placed for mark in self._marks_of_redacted(each)])

    def _marks_of_redacted(self, parts: Parts) -> Iterator[str]:
        """By which a page is known for what came, although a secret was taken out of it."""
        written = self._vault.page(parts.page.path) if parts.page else None
        if parts.page and written and written.content != parts.page.content:
            yield from (mark_of(parts.thing.ref, written.text), own_mark(parts.thing))

    def _mark(self, marks: list[str]) -> None:
        if marks:
            self._vault.apply(Change(operations=(self._known.line(marks),), by=self._by, action=Action.APPEND))
            self._known.took(marks)

    def _operations(self, placed: Sequence[Parts]) -> Iterator[Operation]:
        agent = self._memory.agent
        if drafts := tuple(each.draft for each in placed if each.draft):
            yield AddEntries(agent, drafts)
        if cases := tuple(each.case for each in placed if each.case):
            yield AddLines(Ledger(f"{agent_root(agent)}/knowledge/cases", Form.LINES), cases, "C")
        yield from (each.page for each in placed if each.page)


def _action(placed: Sequence[Parts]) -> Action:
    pages = [each.page for each in placed if each.page]
    if not pages:
        return Action.APPEND
    return Action.EDIT if any(each.expects for each in pages) else Action.CREATE
