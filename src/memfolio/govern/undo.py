"""Taking back all that came from one source, with everything that was made of it, wherever it is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memfolio.errors import NotFoundError, PageChangedError
from memfolio.govern.trace import Trace
from memfolio.graph.shrink import shrink
from memfolio.index.index import Index
from memfolio.index.sourced import places_of
from memfolio.recall.library import Library
from memfolio.state import Op
from memfolio.types import AGENT_PATTERN, Action, Attribution, MemoryItem, Store, check_attribution, check_token
from memfolio.vault.audit import TrailLine
from memfolio.vault.change import Change, Operation, PutPage, Receipt
from memfolio.vault.move import departure
from memfolio.vault.past.past import Outcome
from memfolio.vault.past.undo import FINAL
from memfolio.vault.paths import Form, agent_of, form_of, ledger_of
from memfolio.vault.vault import Vault

ATTEMPTS = 3
Cut = Callable[[Vault, Index, Collection[str], Attribution], Change | None]
"""`tend.cited.without_citations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was taken back, or would be."""

    memories: tuple[MemoryItem, ...] = ()
    """What came from the source, and behind it what was made of that."""
    roots: int = 0
    """How many of them came from the source itself."""
    kept: tuple[MemoryItem, ...] = ()
    """What a person confirmed, pinned or corrected, and what therefore stays."""
    lifted: tuple[str, ...] = ()
    """What holds again, since what had taken its place goes."""
    paths: tuple[str, ...] = ()
    diff: str = ""
    receipts: tuple[Receipt, ...] = ()


def undo_source(
    vault: Vault,
    library: Library,
    source: str,
    by: Attribution,
    *,
    without_citations: Cut,
    every_agent: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Forget what came from a source and what was made of it alone, and take the lines about it out of all pages.

    That is one change. Whatever else was changed in the name of the source (pages, notes about other memories) is taken
    back by a second one. Memories of other agents stay unless `every_agent` is asked for.
    """
    check_attribution(by)
    lines = _lines_of(vault, check_token("source", source))
    with _indexes(vault, library, every_agent=every_agent) as indexes:
        owners = {index.agent for index in indexes}
        mine = [line for line in lines if {agent_of(path) for path in line.paths} <= {*owners, None}]
        undo = _Undo(vault, indexes, source, mine, by, without_citations)
        for _ in range(ATTEMPTS - 1):
            try:
                return undo.make(dry_run=dry_run)
            except PageChangedError:  # somebody saved a page meanwhile
                continue
        return undo.make(dry_run=dry_run)


def _lines_of(vault: Vault, source: str) -> list[TrailLine]:
    """The changes that were made in the name of a source."""
    found = vault.trail.lines(containing=[source.encode()])
    return [each for each in found if each.by.source == source and each.action not in {*FINAL, Action.REVERT}]


@contextmanager
def _indexes(vault: Vault, library: Library, *, every_agent: bool) -> Iterator[list[Index]]:
    known = library.indexes()
    names = vault.home.disk.names(vault.home.root / "agents") if every_agent else []
    others = [name for name in names if AGENT_PATTERN.fullmatch(name) and name not in {each.agent for each in known}]
    opened = [Index(vault, name) for name in others]
    try:
        yield [*known, *opened]
    finally:
        for index in opened:
            index.close()


@dataclass(frozen=True, slots=True)
class _Undo:
    vault: Vault
    indexes: Sequence[Index]
    source: str
    lines: Sequence[TrailLine]
    """The changes in the name of the source."""
    by: Attribution
    cut: Cut

    def make(self, *, dry_run: bool) -> Undone:
        named = {each for line in self.lines for each in line.ids if each.startswith("M-")}
        trace = Trace(self.vault, self.indexes, self.source, named)
        operations, diff = self._operations(trace) if trace.going else ([], "")
        rest = self._rest(dry_run=True)  # before anything is done, since it may be refused
        if not operations and rest is None:
            raise NotFoundError(
                f"source {self.source} left nothing that could be taken back",
                hint="nothing of it was recorded, or it is gone from the files; `memfolio log` shows what happened",
            )
        pages = [each.path for each in operations if isinstance(each, PutPage)]
        undone = Undone(
            memories=tuple(one.item for one in trace.going.values()),
            roots=trace.roots,
            kept=tuple(one.item for one in trace.kept.values()),
            lifted=tuple(trace.lifted()),
            paths=tuple(dict.fromkeys([*pages, *(rest.paths if rest else ())])),
            diff=diff + (rest.diff if rest else ""),
        )
        return undone if dry_run else replace(undone, receipts=tuple(self._carry_out(operations, rest)))

    def _carry_out(self, operations: Sequence[Operation], rest: Outcome | None) -> Iterator[Receipt]:
        if operations:
            yield self.vault.apply(Change(operations=tuple(operations), by=self.by, action=Action.REVERT))
        done = self._rest(dry_run=False) if rest else None
        if done and done.receipt:
            yield done.receipt

    def _rest(self, *, dry_run: bool) -> Outcome | None:
        """Take back the changes that did more than adding memories; None where nothing of them is left."""
        seqs = [line.seq for line in self.lines if not _only_adds(line)]
        try:
            return self.vault.past.undo(seqs, by=self.by, dry_run=dry_run) if seqs else None
        except NotFoundError:
            return None

    def _operations(self, trace: Trace) -> tuple[list[Operation], str]:
        freed, lifted = trace.freed(), trace.lifted()
        operations, diff = list[Operation](), ""
        for index in self.indexes:
            found = index.read(partial(places_of, ids=[*trace.going, *freed, *lifted]))
            here = {each for ids in found.values() for each in ids}
            records = [{"op": Op.TOMBSTONE.value, "memory": each} for each in trace.going if each in here]
            records += [_free(each) for each in freed if each in here]
            records += [_replace(each, by) for each, by in lifted.items() if each in here]
            places = {path: [each for each in ids if each in trace.going] for path, ids in found.items()}
            leaving = {path: ids for path, ids in places.items() if ids and ledger_of(path)}
            pages = self._pages(index, trace)
            done, shown = departure(self.vault, index.agent, leaving, records)
            operations += [*done, *pages]
            diff += shown + (self._preview(pages) if pages else "")
        return operations, diff

    def _pages(self, index: Index, trace: Trace) -> list[PutPage]:
        """The pages that memfolio writes, without the lines about what goes."""
        graph = shrink(self.vault, index, trace.going)
        other = self.cut(self.vault, index, trace.going, self.by)
        paths = {page.path for page in graph}
        rest = [each for each in other.operations if isinstance(each, PutPage)] if other else []
        return [*graph, *(page for page in rest if page.path not in paths)]

    def _preview(self, pages: Sequence[PutPage]) -> str:
        return self.vault.preview(Change(operations=tuple(pages), by=self.by, action=Action.REVERT))


def _free(id: str) -> dict[str, Any]:
    return {"op": Op.STORE.value, "memory": id, "store": Store.SHORT_TERM.value}


def _replace(id: str, by: str | None) -> dict[str, Any]:
    return {"op": Op.SUPERSEDE.value, "memory": id, "by": by}


def _only_adds(line: TrailLine) -> bool:
    return line.action is Action.APPEND and all(form_of(path) is Form.LOG and ledger_of(path) for path in line.paths)
