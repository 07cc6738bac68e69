"""Taking over what a source holds: in batches, each of them one change together with its line in the ledger.

So whatever is killed, a batch came with its marks or not at all, and whoever imports again goes on behind it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memfolio.errors import ConflictError, InputError, PolicyError
from memfolio.exchange.batches import batches
from memfolio.exchange.incoming import Flaw, Incoming, Lore, Note, Sheet, Source, Thing
from memfolio.exchange.ledger import NAME, Known, mark_of, own_mark
from memfolio.exchange.placing import Placing, Written
from memfolio.memory import Memory
from memfolio.types import Action, Approval, Attribution, MemoryItem, Origin
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage
from memfolio.vault.format.draft import Draft
from memfolio.vault.paths import Form, Ledger, agent_root

Told = Callable[[int, int], None]
Placed = tuple[Thing, Written]
"""A thing and what is written for it."""

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
        name = "taken" if isinstance(thing, Note) else "pages" if isinstance(thing, Sheet) else "lore"
        name = "facts" if isinstance(thing, Lore) and thing.room == "facts" else name
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
) -> Report:
    """Take over what is at `path`, except what was before; whose word it is follows from who speaks.

    What strangers wrote is `untrusted`: it comes as memories in quarantine, also where it would be a page.
    """
    began = time.monotonic()
    check_apart(path, memory.vault.home.root)
    intake = _Intake(memory, source.name, untrusted=untrusted, dry_run=dry_run)
    total, done = source.count(path), 0
    for batch in batches(source.read(path), BATCH, WEIGHT, _weight):
        intake.take(batch)
        done += len(batch)
        told(min(done, total), total)
    intake.report.took = time.monotonic() - began
    return intake.report


def check_apart(path: Path, home: Path) -> None:
    """Refuse to import a home into itself, or into what it lies in."""
    one, other = path.resolve(), home.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise InputError(f"{path} and the home {home} lie in one another", hint="import what lies outside of the home")


def _weight(each: Incoming) -> int:
    return len(each.content) if isinstance(each, Note) else len(each.text) if isinstance(each, Sheet) else 0


class _Intake:
    """One import under way."""

    def __init__(self, memory: Memory, source: str, *, untrusted: bool, dry_run: bool) -> None:
        self._memory, self._vault, self._dry_run, self._is_untrusted = memory, memory.vault, dry_run, untrusted
        is_owner = memory.vault.config.speaker == "owner"
        actor, approval = ("human", Approval.APPROVED) if is_owner else ("bot:import", Approval.AUTO)
        self._by = Attribution(actor=actor, approval=approval, trigger="import", source=f"import:{source}")
        own = Origin.OWNER if is_owner else Origin.AGENT
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
            self._write([*self._placed(fresh)])
            self._renew(changed)

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

    def _renew(self, changed: Sequence[Note]) -> None:
        """Correct memories that were changed where they come from; what was forgotten here stays so.

        What they will say is marked before, each with a mark that says nothing as its last: so whoever is interrupted
        knows the corrections for what came, and looks at all of them again.
        """
        due = [(note, own_mark(note), item) for note in changed if (item := self._due(note))]
        if self._dry_run:
            differs = sum(note.content != item.content for note, _, item in due)
            self.report.changed += differs
            self.report.known += len(due) - differs
            return
        marks, last = self._known.marks(), self._known.last()
        begun = [mark for _, mark, _ in due if mark not in marks or last[mark[:NAME]] != mark[:NAME]]
        self._mark([each for mark in begun for each in (mark, mark[:NAME])])
        self._mark([mark for note, _, item in due for mark in self._corrected(note, item)])

    def _due(self, note: Note) -> MemoryItem | None:
        """The memory that has to say what a note does."""
        item = self._as_it_came(note)
        if item is None:
            self.report.known += 1
        elif self._is_untrusted and item.origin is not Origin.UNTRUSTED and item.content != note.content:
            self._refuse(note, f"would change {item.id}, which is trusted")
            return None
        return item

    def _corrected(self, note: Note, item: MemoryItem) -> Iterator[str]:
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

    def _as_it_came(self, note: Note) -> MemoryItem | None:
        """The memory of a note, or the last of its corrections that came from the source, too, or says the same."""
        if self._ids is None:
            mine = (item for item in self._vault.entries(self._memory.agent) if item.source == self._by.source)
            self._ids = {str(item.attributes.get("ref")): item.id for item in mine}
        item: MemoryItem | None = None
        named, passed = self._ids.get(note.ref), set[str]()
        while named and named not in passed and (found := self._memory.library.locate(named)):
            later = found[1].item
            mark = own_mark(replace(note, content=later.content))
            came = item is None or mark == own_mark(note) or mark in self._known.marks()
            if later.forgotten_at or not came:
                break
            passed.add(named)
            item, named = later, later.superseded_by
        return item

    def _placed(self, things: Iterable[Thing]) -> Iterator[Placed]:
        for each in things:
            try:
                yield each, self._placing.written(each)
            except REFUSED as error:
                self._refuse(each, error.message)

    def _refuse(self, thing: Thing, why: str) -> None:
        self.report.flaws.append(Flaw(ref=thing.ref, why=why))

    def _write(self, placed: Sequence[Placed]) -> None:
        """Make one change of some things; where one of them is refused, of fewer, until it is found."""
        if not placed:
            return
        try:
            self._make(placed)
        except REFUSED as error:
            if len(placed) == 1:
                self._refuse(placed[0][0], error.message)
                return
            self._write(placed[: len(placed) // 2])
            self._write(placed[len(placed) // 2 :])
        else:
            for thing, _ in placed:
                self.report.count(thing)

    def _make(self, placed: Sequence[Placed]) -> None:
        facts, rules, cases = (_lines(placed, room) for room in ("facts", "rules", "cases"))
        if rules:
            self._memory.rules.import_(json.dumps(rules), by=self._by, dry_run=self._dry_run)
        if self._dry_run:
            return
        if facts:
            self._memory.facts.assert_many(facts, by=self._by)
        agent, pages = self._memory.agent, [each for _, each in placed if isinstance(each, PutPage)]
        operations: list[Operation] = []
        if drafts := tuple(each for _, each in placed if isinstance(each, Draft)):
            operations.append(AddEntries(agent, drafts))
        if cases:
            operations.append(AddLines(Ledger(f"{agent_root(agent)}/knowledge/cases", Form.LINES), tuple(cases), "C"))
        action = Action.EDIT if any(each.expects for each in pages) else Action.CREATE if pages else Action.APPEND
        self.report.seqs.append(self._apply([own_mark(thing) for thing, _ in placed], [*operations, *pages], action))
        self._mark([mark for each in placed for mark in self._redacted(*each)])

    def _redacted(self, thing: Thing, page: Written) -> Iterator[str]:
        """By which a page is known for what came, although a secret was taken out of it."""
        written = self._vault.page(page.path) if isinstance(page, PutPage) else None
        if isinstance(page, PutPage) and written and written.content != page.content:
            yield from (mark_of(thing.ref, written.text), own_mark(thing))

    def _mark(self, marks: list[str]) -> None:
        if marks:
            self._apply(marks)

    def _apply(self, marks: list[str], operations: Iterable[Operation] = (), action: Action = Action.APPEND) -> int:
        """Make a change together with its marks; returns its number."""
        change = Change(operations=(*operations, self._known.line(marks)), by=self._by, action=action)
        seq = self._vault.apply(change).seq
        self._known.took(marks)
        return seq


def _lines(placed: Sequence[Placed], room: str) -> list[dict[str, Any]]:
    said = (line for thing, line in placed if isinstance(thing, Lore) and thing.room == room)
    return [dict(line) for line in said if isinstance(line, Mapping)]
