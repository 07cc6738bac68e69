"""The heartbeat of a mind: one cycle over beliefs, desires and intentions, written as one change."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from itertools import chain, count, takewhile
from typing import Any

from memfolio.errors import ConfigError, MemfolioError, PageChangedError, PolicyError, ProposedError
from memfolio.graph.grow import Maker, Readable
from memfolio.index.facts import VERIFY, Fact
from memfolio.index.lookup import by_ids
from memfolio.index.maintenance import CONCLUDED, beginning, local_day, told_between
from memfolio.index.mind_pages import BY_PAGE, ItemStatus, MindItem, MindPage
from memfolio.index.rows import to_us
from memfolio.knowledge.facts import FactFilter, fact_of, find_facts, history_of, triple_named
from memfolio.knowledge.verify import TELLING
from memfolio.mind.beliefs import (
    MOST,
    Conflict,
    Ground,
    conflict_page,
    find_conflicts,
    prune,
    reported_hash,
    validate,
)
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.fields import hashed_id, midnight
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import read_lines
from memfolio.vault.paths import Form, Ledger, agent_root

# The order of desires: what counts most stands first. Pure.


def ranked(items: Sequence[MindItem]) -> list[str]:
    """Return the ids by priority, then urgency, then alignment; ties keep their order, ended items come last."""
    return [item.id for item in sorted(items, key=_weight)]


def _weight(item: MindItem) -> tuple[bool, float, float, float]:
    urgency, alignment = (float(item.fields.get(name, 0.5)) for name in ("urgency", "alignment"))
    return not item.is_live, -item.priority, -urgency, -alignment


# Beliefs fed by facts: what a person or another source confirmed is believed, for as long as it holds.

SOURCE = "fact"
"""The `source` of a belief that was fed."""
Section = tuple[str, str, str, Mapping[str, Any]]
"""The id, title, text and fields of a new belief."""


def confirmed_facts(shelf: Readable, now: datetime) -> dict[str, Fact]:
    """The agent's own facts that hold and were confirmed, by id; untrusted ones are left out."""
    wanted = FactFilter(valid_at=to_us(now), derived=False, limit=-1)

    def read(db: Any) -> dict[str, Fact]:
        return {each.id: each for each in find_facts(db, wanted, "") if each.verified_us and _is_confirmed(db, each)}

    return shelf.index.read(read)


def _is_confirmed(db: Any, fact: Fact) -> bool:
    """Whether the last word on a fact was for it; that no other fact speaks against it is nobody's word."""
    lines = (json.loads(each.said.more or "{}") for each in reversed(history_of(db, fact.triple)) if each.op == VERIFY)
    return next((line.get("verified") is True for line in lines if line.get("method") in TELLING), False)


def belief_of(fact: Fact, now: datetime) -> Section:
    """The belief that a fact becomes."""
    fields = {"certainty": round(fact.confidence, 4), "updated": now, "source": SOURCE, "from": (fact.id,)}
    return hashed_id("B", fact.id), _spoken(fact), "", fields


def renewal(item: MindItem, confirmed: Mapping[str, Fact], now: datetime) -> Mapping[str, Any]:
    """The fields that change in a belief that was fed, since its fact did; none in any other belief."""
    if not item.is_live or item.problems or item.fields.get("source") != SOURCE or len(item.links()) != 1:
        return {}
    if (fact := confirmed.get(item.links()[0])) is None:
        return {"status": ItemStatus.RETIRED, "updated": now, "reason": "the fact does not hold any more"}
    certainty = round(fact.confidence, 4)
    # Pages tell minutes. What a person wrote since the fact last changed stays.
    is_newer = item.updated is None or fact.updated_at >= item.updated + timedelta(minutes=1)
    return {"certainty": certainty, "updated": now} if is_newer and abs(item.certainty - certainty) > 1e-3 else {}


# What beliefs rest on, as the index knows it: which memories and facts still hold, and what became of the others.


def gone_grounds(items: Iterable[MindItem], shelf: Readable, now: datetime) -> dict[str, Ground]:
    """Return the grounds of these beliefs that no longer hold, among everything the agent may read."""
    ids = {each for item in items if item.is_live for each in item.links() if each[:2] in ("F-", "M-")}
    known: dict[str, Ground | None] = {each: Ground(id=each) for each in ids}
    for index in reversed(shelf.indexes()):  # the agent's own counts before another's
        known |= index.read(lambda db: dict((*_facts(db, ids, now), *_memories(db, ids))))
    return {name: each for name, each in known.items() if each}


def _spoken(fact: Fact) -> str:
    """A fact as a sentence: `Redis hasPort 6379` is Redis has port 6379."""
    return " ".join(fact.sentence.removesuffix(".").split())


def _facts(db: Any, ids: Collection[str], now: datetime) -> Iterator[tuple[str, Ground | None]]:
    """Yield the state of the known facts among these ids; None if they hold."""
    for name in (each for each in ids if each[0] == "F"):
        if (triple := triple_named(db, name)) is None:
            continue
        if (fact := fact_of(db, triple)) is None:
            wanted = FactFilter(*triple[:2], valid_at=to_us(now), derived=False, limit=1)
            says = next((f"{_spoken(each)} ({each.id})" for each in find_facts(db, wanted, "")), " ".join(triple))
            yield name, Ground(id=name, state="retracted", says=says)
        elif fact.valid_until is not None and fact.valid_until <= now:
            yield name, Ground(id=name, state="over", says=_spoken(fact), at=fact.valid_until)
        else:
            yield name, None


def _memories(db: Any, ids: Collection[str]) -> Iterator[tuple[str, Ground | None]]:
    """Yield the state of the memories among these ids, None if they hold; forgotten words are never repeated."""
    found = [each.item for each in by_ids(db, {each for each in ids if each[0] == "M"})]
    successors = by_ids(db, {item.superseded_by for item in found if item.superseded_by})
    told = {each.item.id: each.item.content for each in successors if not each.item.forgotten_at}
    for item in found:
        if item.forgotten_at:
            yield item.id, Ground(id=item.id, state="forgotten", at=item.forgotten_at)
        elif by := item.superseded_by:
            yield item.id, Ground(id=item.id, state="superseded", says=f"{told.get(by, 'something else')} ({by})")
        else:
            yield item.id, None


# read → prune → rank → validate → feed → find conflicts → apply. A mind in order is not written to.

BEATER = Attribution(actor="system:heartbeat", trigger="heartbeat")
ATTEMPTS = 8
WEEKS = 53
"""How far back a week without a digest is noticed."""

Digest = Callable[[date], object]
"""Summarizes the weeks that are over, beginning with the one that starts on this day; returns a short report."""


@frozen
class BdiCycleResult:
    """What a cycle did, or would do in a dry run."""

    agent_id: str
    timestamp: datetime
    stale_intentions_pruned: int = 0
    """How many intentions and commitments expired or stalled."""
    desires_prioritized: int = 0
    """Number of active desires, which are sorted by priority."""
    desires_moved: int = 0
    """How many desires were given another place for that."""
    conflicts_detected: int = 0
    chunks_processed: int = 0
    belief_count: int = 0
    desire_count: int = 0
    beliefs_fed: int = 0
    """How many confirmed facts became beliefs."""
    archived: int = 0
    digest: str = ""
    """The report on the digest of past weeks; empty if none was due."""
    conflicts: tuple[Conflict, ...] = ()
    """The most serious conflicts found, at most as many as a page lists."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read or done, and where."""
    diff: str = ""
    """What the change did, or would do, where whoever made it tells."""


def beat(changes: Maker, shelf: Readable, digest: Digest | None = None) -> BdiCycleResult:
    """Run one cycle over the mind of an agent.

    `digest` is called if a past week has memories and no page yet. Changes that the policy does not allow are reported
    among the problems.
    """
    result = _applied(changes, shelf)
    if digest is None or (since := _undigested(changes, shelf)) is None:
        return result
    try:
        return replace(result, digest=str(digest(since) or "done"))
    except MemfolioError as error:
        return replace(result, problems=(*result.problems, f"weeks are not summed up: {error.message}"))


def _applied(changes: Maker, shelf: Readable) -> BdiCycleResult:
    for left in reversed(range(ATTEMPTS)):
        cycle = _Cycle(changes, shelf)
        cycle.run()
        try:
            if cycle.operations:
                changes.make(Change(operations=tuple(cycle.operations), by=BEATER, action=Action.EDIT))
            break
        # A person saved a page meanwhile: everything is looked at anew.
        except PageChangedError:
            if not left:
                raise
        except (ConfigError, PolicyError, ProposedError) as error:
            cycle.tell(problems=[f"nothing was changed: {error.message}"])
            return replace(cycle.result, stale_intentions_pruned=0, desires_moved=0, beliefs_fed=0, archived=0)
    return cycle.result


class _Cycle:
    """One attempt: read the pages and collect the operations that change them."""

    def __init__(self, changes: Maker, shelf: Readable) -> None:
        self.operations: list[Operation] = []
        self.result = BdiCycleResult(agent_id=changes.agent, timestamp=changes.now)
        self._vault, self._agent, self._now, self._shelf = changes.vault, changes.agent, changes.now, shelf
        self._root, self._zone, self._minding = (
            agent_root(changes.agent),
            changes.vault.home.zone,
            changes.vault.config.mind,
        )
        self._today = midnight(changes.now, self._zone)
        self._seen: dict[str, tuple[str, str | None]] = {}
        """Pages as read, each with the hash that a change of it must name."""
        self._ledger = Ledger(f"{self._root}/memory/meta/fed", Form.LINES)

    def run(self) -> None:
        """Review each page; one that cannot be read does not block the others."""
        steps = {"Intentions": None, "Commitments": None, "Desires": self._rank, "Beliefs": self._believe}
        for name, step in steps.items():
            path, before, found = f"{self._root}/mind/{name}.md", len(self.operations), self.result
            try:
                page = self._page(name, self._read(path))
                self.tell(problems=[f"{path}, {problem}" for problem in page.problems])
                kept = self._prune(page)
                self._put(path, step(kept) if step else kept.text)
            except MemfolioError as error:
                # Nothing of a page that failed half way is written or counted.
                del self.operations[before:]
                self.result = found
                self.tell(problems=[f"{path} is not looked at: {error.message}"])

    def tell(self, *, notes: Iterable[str] = (), problems: Iterable[str] = ()) -> None:
        """Add to the notes and problems for the person."""
        told = self.result
        self.result = replace(told, notes=(*told.notes, *notes), problems=(*told.problems, *problems))

    def _count(self, **counts: int) -> None:
        self.result = replace(self.result, **{name: getattr(self.result, name) + n for name, n in counts.items()})

    def _page(self, name: str, text: str) -> MindPage:
        return MindPage(BY_PAGE[name], text, agent=self._agent, zone=self._zone)

    def _read(self, path: str) -> str:
        found = self._vault.page(path)
        self._seen[path] = (to_text(found.content), found.hash) if found else ("", None)
        return self._seen[path][0]

    def _put(self, path: str, text: str) -> None:
        """Write a page that was read before, if its text has changed."""
        before, seen = self._seen[path]
        if text != before:
            self.operations.append(PutPage(path, to_bytes(text), seen))

    def _prune(self, page: MindPage) -> MindPage:
        """Move items that are long over to the archive, and return the page without them."""
        name = page.kind.page
        strategy = self._vault.settings(self._agent).commitment if name == "Intentions" else "single-minded"
        pruned = prune(page.items, strategy, self._minding, self._now, self._zone)
        self.tell(notes=pruned.notes)
        self._count(stale_intentions_pruned=pruned.let_go, archived=len(pruned.archived))
        if pruned.edits:
            page = self._page(name, page.editing(pruned.edits))
        if not pruned.archived:
            return page
        text, gone = page.without(pruned.archived)
        path = f"{self._root}/memory/archive/{self._today:%Y-%m}/mind/{name}.md"
        self._put(path, f"{self._read(path).rstrip() or f'# {name}'}\n\n{gone}")
        return self._page(name, text)

    def _rank(self, page: MindPage) -> str:
        order = ranked(page.items)
        moved = sum(item.id != name for item, name in zip(page.items, order, strict=True))
        live = sum(item.is_live for item in page.items)
        self._count(desires_prioritized=live, desires_moved=moved, desire_count=len(order))
        return page.ordered(order)

    def _believe(self, page: MindPage) -> str:
        """Look the beliefs over, bring those that facts feed up to date, and compare them all."""
        gone = gone_grounds(page.items, self._shelf, self._now)
        checked = validate(page.items, gone, self._minding.chunk, self._today)
        confirmed = confirmed_facts(self._shelf, self._now)
        renewed = {item.id: edit for item in page.items if (edit := renewal(item, confirmed, self._now))}
        edits = {**checked.edits, **renewed}
        # Conflicts are looked for in what will stand on the page, with what was fed.
        after = self._feed(self._page("Beliefs", page.editing(edits)) if edits else page, confirmed)
        self._tell_conflicts(find_conflicts(after.items, gone, self._minding.certainty))
        self.tell(notes=checked.notes)
        self._count(belief_count=len(after.items), chunks_processed=checked.chunks)
        return after.text

    def _feed(self, page: MindPage, confirmed: Mapping[str, Fact]) -> MindPage:
        """The page with a belief for each confirmed fact that never was one."""
        # The ledger has every fact that was fed: a belief that a person takes off the page does not come back.
        parts = takewhile(bool, (self._vault.content(self._ledger.part(number)) for number in count(1)))
        known = {str(line.get("fact")) for part in parts for line in read_lines(part or b"").records}
        known.update(chain.from_iterable(item.links() for item in page.items))
        facts = [
            each for name, each in confirmed.items() if name not in known and each.confidence >= self._minding.facts
        ]
        if not facts:
            return page
        self.operations.append(AddLines(self._ledger, tuple({"fact": fact.id} for fact in facts), prefix="E"))
        self._count(beliefs_fed=len(facts))
        first, *others = (belief_of(fact, self._now) for fact in facts)
        gap = "\r\n" if "\r\n" in page.text else "\n"
        return self._page("Beliefs", gap.join([page.adding(*first), *(page.rendered(*each) for each in others)]))

    def _tell_conflicts(self, found: Sequence[Conflict]) -> None:
        folder = f"{self._root}/memory/conflicts/"
        path = f"{folder}{self._today:%Y-%m-%d}.md"
        paths = sorted(each for each in self._vault.states() if folder < each <= path)
        last = next(filter(None, (reported_hash(self._read(each)) for each in reversed(paths))), "")
        self._put(path, conflict_page(self._read(path), last, found, self._today.date(), self._zone))
        self.result = replace(self.result, conflicts_detected=len(found), conflicts=tuple(found[:MOST]))


def _undigested(changes: Maker, shelf: Readable) -> date | None:
    """Return the first day of the earliest past week that has memories and no digest; None if there is none."""
    zone, pages = changes.vault.home.zone, changes.vault.states()
    today = local_day(changes.now, zone)
    monday = today - timedelta(days=today.weekday())
    for first in (monday - timedelta(weeks=back) for back in range(WEEKS, 0, -1)):
        if f"{agent_root(changes.agent)}/memory/weekly/{first:%G-W%V}.md" in pages:
            continue
        since, until = beginning(first, zone), beginning(first + timedelta(weeks=1), zone) - timedelta(microseconds=1)
        told = shelf.index.read(partial(told_between, since=since, until=until, limit=100))
        if any(each.source not in CONCLUDED for each in told):
            return first
    return None
