"""Updating a memory, and undoing everything that came from one source."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from memfolio.arguments import text_of
from memfolio.errors import ConflictError, ContentError, EditConflictError, HistoryError, NotFoundError, RefusedError
from memfolio.govern.gate import AGENT, OWNER
from memfolio.govern.proposals import PATH, ProposableVerbs, parse
from memfolio.graph.grow import shrink
from memfolio.index.facts import RETRACT
from memfolio.index.graph import made_of
from memfolio.index.index import Index
from memfolio.index.lookup import Located, by_ids, lines_of, of_source, places_of, replaced_by
from memfolio.index.notes import NOTE
from memfolio.knowledge.facts import FactFilter, facts_from, find_facts, triple_of
from memfolio.recall.searcher import Searcher
from memfolio.state import Op
from memfolio.stores import edit
from memfolio.stores.core import CRITICAL, Core, CorePage
from memfolio.stores.edit import dependents_of, is_made, leaving_lines, without_citations
from memfolio.stores.flush import resolved, stated
from memfolio.types import CORRECTION, Action, Attribution, MemoryItem, Origin, frozen, sums_up
from memfolio.vault.change import AddLines, Change, NewId, Operation, Page, PutPage, Receipt, UndoResult
from memfolio.vault.journal import TrailLine, to_text
from memfolio.vault.move import departure
from memfolio.vault.past.merge import merge_blocks, unified
from memfolio.vault.past.undo import FINAL
from memfolio.vault.paths import SHARED, Form, agent_of, agent_root, form_of, knowledge_ledger, ledger_of
from memfolio.vault.vault import Vault

# What a memory said stays where it stands; its correction takes its place, in one change with what it contradicts.

_PRONOUN = r"(?:It|He|She|We|They|This|That|These|Those|Its|His|Her|Our|Their|There)\b"
_BETWEEN = re.compile(rf"(?=\n)|(?<=[.!?;…])(?=\s+(?!{_PRONOUN})[^\sa-z])|(?<=[。！？])")
"""The end of a line or sentence; a sentence that begins with a pronoun belongs to the one before it."""


@frozen
class Updated:
    """The result of an update: the new version, what it replaced, and what it contradicts."""

    memory: MemoryItem
    superseded: tuple[str, ...] = ()
    """What it took the place of: the version before it, what was made of that, and what it contradicts."""
    conflicts: tuple[MemoryItem, ...] = ()
    """Memories that it contradicts and that stay valid."""
    merged: bool = False
    """Whether concurrent changes of others were merged in."""
    diff: str = ""
    receipt: Receipt | None = None
    """None if the memory already said so."""


def update(
    vault: Vault, searcher: Searcher, id: str, text: str, by: Attribution, *, base: str | None = None
) -> Updated:
    """Have a memory say `text`; `base` is what its writer saw, else what the version says that he names.

    What others changed meanwhile is kept: both changes are merged, and EditConflictError is raised where they are of
    the same sentence.
    """
    wanted, (_, located) = text_of(text), searcher.require(id)
    seen = located.item.content if base is None else text_of(base)
    # Opening the index may take long; nobody should wait for the lock meanwhile.
    searcher.prepare()
    with vault.exclusive():  # of several who correct it at once, each finds what the one before made of it
        index, newest = _newest(vault, searcher, located)
        old = newest.item
        both = merged(seen, wanted, old.content)
        if both is None:
            raise EditConflictError(old.id, current=old.content, base=seen, wanted=wanted)
        if both == old.content:
            return Updated(memory=old)
        dependents = dependents_of(index, [old.id])
        replaced, kept = _contradictions(vault, index, old, both, {old.id, *dependents.going})
        lines: list[dict[str, Any]] = [{"op": Op.SUPERSEDE, "memory": each, "by": NewId(0)} for each in replaced]
        lines += [{"op": Op.EDGE, "memory": NewId(0), "to": each, "type": "contradicts"} for each in kept]
        receipt = edit.correct(vault, newest, both, by, dependents, lines, origin=_origin(vault, old, by))
    # The pin is a line beside the entry, which the receipt does not fold in.
    made = replace(receipt.items[0], pinned=old.pinned)
    _cite(Core(vault, searcher.index.agent), old, made, by)
    return Updated(
        memory=made,
        superseded=(old.id, *dependents.going, *replaced),
        conflicts=tuple(_found(searcher, each)[1].item for each in kept),
        merged=both != wanted,
        diff=unified(old.id, f"{old.content}\n", f"{both}\n"),
        receipt=receipt,
    )


def _newest(vault: Vault, searcher: Searcher, located: Located) -> tuple[Index, Located]:
    """The last correction of a memory as it stands in its file, with what people did to it there."""
    if located.form != NOTE:
        vault.reconcile([located.path])
    index, here = _found(searcher, located.item.id)
    seen = {here.item.id}
    while (later := here.item.superseded_by) and later not in seen:
        seen.add(later)
        before = here.item.id
        vault.reconcile([_found(searcher, later)[1].path])
        index, here = _found(searcher, later)
        if here.item.source != CORRECTION:
            raise ConflictError(
                f"{before} was replaced by {later}, which says: {here.item.content[:200]}",
                hint=f"correct {later} instead",
            )
    return index, here


def _found(searcher: Searcher, id: str) -> tuple[Index, Located]:
    found = searcher.locate(id)
    if found is None:
        raise ConflictError(f"{id} is gone", hint="somebody removed it; remember the text anew")
    return found


def _contradictions(
    vault: Vault, index: Index, old: MemoryItem, text: str, own: Collection[str]
) -> tuple[list[str], list[str]]:
    """What else cannot be true together with the text: what gives way to it, and what stays beside it.

    A word that is later than what the memory is about, or that a person stands behind, stays.
    """
    statement = stated(text, old.user, type=old.type, kind=old.kind)
    at = old.event_time or vault.home.now()
    found = resolved(index, [(statement, at)], vault.config.learn.conflicts)
    # In `replaced` the text itself may stand on either side: it replaces, or it is older.
    older = [each for each, _ in found.replaced]
    others = [*(each.old.ref for each in found.contradicting), *(each for _, each in found.replaced)]
    replaced, kept = ([each for each in refs if isinstance(each, str) and each not in own] for refs in (older, others))
    return replaced, kept


def _origin(vault: Vault, old: MemoryItem, by: Attribution) -> Origin:
    """Whose word a correction is: as little to be trusted as what it corrects, and the owner's only if he makes it."""
    speaker = vault.speaker
    is_owner = speaker == OWNER or (speaker != AGENT and by.actor.partition(":")[0] == "human")
    return Origin.AGENT if old.origin is Origin.OWNER and not is_owner else old.origin


def _cite(core: Core, old: MemoryItem, made: MemoryItem, by: Attribution) -> None:
    """Let core memory cite the correction where it cites what was corrected, or neither where that has no room."""
    if all(line.id != old.id for line in CorePage(core.read().text).items(CRITICAL)):
        return
    with suppress(RefusedError):  # by the policy; the memory is corrected all the same
        try:
            core.replace(CRITICAL, old.id, f"{made.content} [{made.id}]", by=by)
        except RefusedError:
            core.remove(CRITICAL, old.id, by=by)


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Both sides' changes of a text, line by line and sentence by sentence; None where both changed the same one.

    Two changes of one sentence are not put together: that would say what neither side does.
    """
    pieces = merge_blocks(_BETWEEN.split(base), _BETWEEN.split(ours), _BETWEEN.split(theirs))
    return None if pieces is None else "".join(pieces)


# Undoing a source takes what was derived from it alone along, and keeps what a person stands behind.

HUMAN = "human"
_ID = re.compile(r"M-\d{1,15}-[0-9a-f]{8}")
_ADDED = re.compile(rf"(?m)^\+## .*\^({_ID.pattern})$")
"""The heading of an entry in the difference that a change made."""
Found = dict[str, Located]
T = TypeVar("T")


@frozen
class Undone:
    """What was undone, or would be in a dry run."""

    memories: tuple[MemoryItem, ...] = ()
    """Memories from the source, followed by those derived from them."""
    roots: int = 0
    """How many of them came from the source itself."""
    facts: tuple[str, ...] = ()
    """Facts that the source stated, or that came from its memories alone, as sentences."""
    kept: tuple[MemoryItem, ...] = ()
    """Memories that a person confirmed, pinned or corrected, and that therefore stay."""
    lifted: tuple[str, ...] = ()
    """Memories that are valid again, because the one that replaced them is undone."""
    paths: tuple[str, ...] = ()
    diff: str = ""
    receipts: tuple[Receipt, ...] = ()


def undo_source(
    vault: Vault,
    searcher: Searcher,
    proposable: ProposableVerbs,
    source: str,
    by: Attribution,
    *,
    every_agent: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Forget what came from a source and what was made of it alone, and take the lines about it out of all pages.

    That is one change. Whatever else was changed in the name of the source (pages, notes about other memories) is taken
    back by a second one. Memories of other agents stay unless `every_agent` is asked for.
    """
    alone = nullcontext() if dry_run else vault.exclusive()
    with _indexes(vault, searcher, every_agent=every_agent) as indexes, alone:
        return _Undo(vault, indexes, proposable, source, by).make(dry_run=dry_run)


@contextmanager
def _indexes(vault: Vault, searcher: Searcher, *, every_agent: bool) -> Iterator[list[Index]]:
    own = (searcher.index.agent, SHARED)
    known = {index.agent: index for index in searcher.indexes() if every_agent or index.agent in own}
    everybody = vault.agents() if every_agent else []
    others = [name for name in everybody if name not in known and vault.shows(f"{agent_root(name)}/")]
    with ExitStack() as opened:
        for name in others:
            known[name] = Index(vault, name)
            opened.callback(known[name].close)
        yield list(known.values())


@dataclass(slots=True)
class _Undo:
    vault: Vault
    indexes: Sequence[Index]
    proposable: ProposableVerbs
    source: str
    by: Attribution
    going: Found = field(default_factory=dict)
    """Memories from the source, and those derived from them."""
    kept: Found = field(default_factory=dict)
    """Memories that a person confirmed, pinned or corrected."""

    def make(self, *, dry_run: bool) -> Undone:
        # The trail knows what was done in the name of the source, also where the files do not name it any more.
        lines = self._changes()
        self.going = self._not_kept(self._standing(self._roots(lines)))
        roots = len(self.going)
        self._follow()
        lifted = self._restored_by()
        operations, diff = self._operations(lifted)
        facts = [each for each in operations if isinstance(each, AddLines) and each.prefix == "F"]
        seqs = [line.seq for line in lines if not _only_adds(line)]
        rest = self._undo_others(seqs, dry_run=True)  # before anything is done, since it may be refused
        if not operations and rest is None:
            raise NotFoundError(
                f"source {self.source} left nothing to undo",
                hint="nothing of it was recorded, or it is gone from the files; `memfolio log` shows what happened",
            )
        pages = [each.path for each in operations if isinstance(each, PutPage)]
        undone = Undone(
            memories=tuple(one.item for one in self.going.values()),
            roots=roots,
            facts=tuple("{subject} {predicate} {object}".format_map(line) for each in facts for line in each.records),
            kept=tuple(one.item for one in self.kept.values()),
            lifted=tuple(lifted),
            paths=tuple(dict.fromkeys([*pages, *(rest.paths if rest else ())])),
            diff=diff + (rest.diff if rest else ""),
        )
        if dry_run:
            return undone
        receipts = [self.vault.apply(self._change(operations))] if operations else []
        done = self._undo_others(seqs, dry_run=False) if rest else None
        return replace(undone, receipts=(*receipts, *([done.receipt] if done and done.receipt else [])))

    # What came from the source.

    def _changes(self) -> list[TrailLine]:
        """The changes that were made in the name of the source, in the folders of these agents."""
        owners, taken = {*(index.agent for index in self.indexes), None}, {*FINAL, Action.REVERT}
        lines = self.vault.changes(containing=[self.source.encode()])
        mine = [line for line in lines if line.by.source == self.source and line.action not in taken]
        return [line for line in mine if owners.issuperset(map(agent_of, line.paths))]

    def _roots(self, lines: Sequence[TrailLine]) -> set[str]:
        """Return the memories from the source: those that name it, and those added in its name."""
        roots = set(self._ask(partial(of_source, source=self.source)))
        for line in lines:
            if not roots.issuperset(line.ids):
                roots |= self._added(line)
        return roots

    def _added(self, line: TrailLine) -> set[str]:
        """The memories of a change; of many, the trail names only two."""
        if line.count > len(line.ids):
            with suppress(HistoryError, RefusedError):  # purged, or not in git
                return set(_ADDED.findall(self.vault.past.diff(line.seq)))
        return set(line.ids)

    # What was made of it.

    def _follow(self) -> None:
        """Add derived memories transitively; one that also rests on other memories stays, unless those go, too."""
        while True:
            later = self._standing([by for one in self.going.values() if (by := one.item.superseded_by)])
            corrections = {each: one for each, one in later.items() if one.item.source == CORRECTION}
            made = self._standing(self._ask(partial(made_of, ids=[*self.going])))
            dependent = {each: one for each, one in made.items() if is_made(one.item)} | corrections
            known = self.going.keys() | self.kept.keys()
            waiting = self._not_kept({each: one for each, one in dependent.items() if each not in known})
            sources = self._standing([each for one in waiting.values() for each in one.item.derived_from])
            left = sources.keys() - self.going.keys()
            # A summary tells of all that it was made of, so that it goes with any of them.
            fresh = {
                each: one
                for each, one in waiting.items()
                if each in corrections or sums_up(one.item) or left.isdisjoint(one.item.derived_from)
            }
            if not fresh:
                return
            self.going |= fresh

    def _ask(self, question: Callable[[Any], Iterable[T]]) -> list[T]:
        return [each for index in self.indexes for each in index.read(question)]

    def _standing(self, ids: Collection[str]) -> Found:
        """Those of these memories that are there and not forgotten, in their order."""
        found = self._ask(partial(by_ids, ids=ids))
        there = [one for one in found if one.form == "memory" and not one.item.forgotten_at]
        return {one.item.id: one for one in sorted(there, key=lambda one: one.item.id)}

    def _not_kept(self, found: Found) -> Found:
        """Return the memories that no person confirmed, pinned or corrected; the others are kept."""
        kept = {line["memory"] for line in self._lines(found, Op.CONFIRM) if _is_person(line.get("actor"))}
        # A pin may have been taken back since.
        pins = {line["memory"] for line in self._lines(found, Op.PIN) if _is_person(line.get("actor"))}
        kept |= {each for each in pins if found[each].item.pinned}
        if corrections := {each for each, one in found.items() if one.item.source == CORRECTION}:
            lines = self.vault.changes(containing=[f'"{HUMAN}'.encode()])
            kept |= {each for line in lines if _is_person(line.by.actor) for each in line.ids} & corrections
        self.kept |= {each: found[each] for each in kept}
        return {each: one for each, one in found.items() if each not in kept}

    def _lines(self, ids: Collection[str], op: Op) -> list[Mapping[str, Any]]:
        return self._ask(partial(lines_of, ids=ids, op=op))

    def _summed_up_parts(self) -> list[str]:
        """Return memories that were summarized together with one that goes, and can be summarized again without it."""
        summaries = [one for one in self.going.values() if sums_up(one.item)]
        parts = self._standing({each for one in summaries for each in one.item.derived_from} - self.going.keys())
        return sorted({line["memory"] for line in self._lines(parts, Op.STORE) if line.get("into") in self.going})

    def _restored_by(self) -> dict[str, str | None]:
        """What something that goes took the place of, and what has its place then, if anything else had before."""
        found = set(self._ask(partial(replaced_by, ids=self.going)))
        lifted: dict[str, str | None] = dict.fromkeys(self._standing(found - self.going.keys()))
        for line in self._lines(lifted, Op.SUPERSEDE):
            if line.get("by") not in self.going:
                lifted[line["memory"]] = line.get("by")
        return lifted

    # What is changed for that.

    def _undo_others(self, seqs: Sequence[int], *, dry_run: bool) -> UndoResult | None:
        """Take back the changes that did more than adding memories; None where nothing of them is left."""
        with suppress(NotFoundError):
            return self.vault.past.undo(seqs, by=self.by, dry_run=dry_run) if seqs else None
        return None

    def _change(self, operations: Sequence[Operation]) -> Change:
        return Change(operations=tuple(operations), by=self.by, action=Action.REVERT)

    def _operations(self, lifted: Mapping[str, str | None]) -> tuple[list[Operation], str]:
        records = leaving_lines(self.going, self._summed_up_parts(), lifted)
        named = [record["memory"] for record in records]
        operations, diff = list[Operation](), ""
        for index in self.indexes:
            found = index.read(partial(places_of, ids=named))
            here = {each for ids in found.values() for each in ids}
            own_records = [record for record in records if record["memory"] in here]
            places = {path: self.going.keys() & ids for path, ids in found.items() if ledger_of(path)}
            leaving = {path: sorted(ids) for path, ids in places.items() if ids}
            # State lines belong to the agent whose memory they are about.
            moved, shown = departure(self.vault, index.agent, leaving, own_records)
            pages_and_facts = [*self._pages(index), *self._withdrawn(index.agent), *self._retracted(index)]
            operations += [*moved, *pages_and_facts]
            diff += shown + (self.vault.preview(self._change(pages_and_facts)) if pages_and_facts else "")
        return operations, diff

    def _pages(self, index: Index) -> Iterable[Operation]:
        """Return the pages that memfolio maintains, without the lines about the undone memories."""
        if not self.going:
            return ()
        graph = shrink(self.vault, index, self.going)
        return {page.path: page for page in (*without_citations(self.vault, index, self.going), *graph)}.values()

    def _retracted(self, index: Index) -> Iterator[Operation]:
        """Yield the retraction of facts that the source stated, or that came from the undone memories alone."""
        wanted = FactFilter(source=self.source, derived=False, untrusted=True, limit=-1)
        # Facts that follow from others go by themselves when these are retracted.
        from_source = index.read(lambda db: find_facts(db, wanted, index.agent))
        made = {fact for each in self.going for fact in index.read(partial(facts_from, memory=each))}
        alone = [fact for fact in made if set(fact.details.get("memories", ())) <= self.going.keys()]
        found = sorted({fact.triple: fact for fact in (*from_source, *alone)}.values(), key=lambda fact: fact.triple)
        if lines := tuple({"op": RETRACT, "fact": each.id, **triple_of(each)} for each in found):
            yield AddLines(knowledge_ledger(index.agent, "facts"), lines, "F")

    def _withdrawn(self, agent: str) -> Iterator[Operation]:
        """Proposals that came from the source or are about what goes, and reflections that tell of it."""
        for folder in ("proposals", "reflections"):
            base = f"{agent_root(agent)}/memory/meta/{folder}"
            for name in self.vault.names(base):
                page = self.vault.page(f"{base}/{name}")
                if page and self._came_from_source(page):
                    yield PutPage(page.path, None, page.hash)

    def _came_from_source(self, page: Page) -> bool:
        if not PATH.fullmatch(page.path):
            return any(each in self.going for each in _ID.findall(to_text(page.content)))
        with suppress(ContentError):  # nobody can approve it either
            given = parse(self.proposable, page.path, page.content).intent.arguments
            sources = (given.get("source"), given.get("attributes", {}).get("source"))
            return self.source in sources or any(given.get(name) in self.going for name in ("id", "what"))
        return False


def _is_person(actor: object) -> bool:
    return str(actor).partition(":")[0] == HUMAN


def _only_adds(line: TrailLine) -> bool:
    return line.action is Action.APPEND and all(form_of(path) is Form.LOG and ledger_of(path) for path in line.paths)
