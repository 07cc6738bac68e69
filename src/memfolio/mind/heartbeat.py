"""The heartbeat of a mind: one cycle over what an agent believes, wants and intends, made as one change.

read → prune → rank → validate → feed → find conflicts → apply. A mind in order is not written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import count, takewhile

from memfolio.errors import MemfolioError, PageChangedError, PolicyError, ProposedError
from memfolio.graph.making import Maker, Shelf
from memfolio.index.days import CONCLUDED, beginning, local_day, told_between
from memfolio.mind.conflict_page import Told, composed, told_on
from memfolio.mind.conflicts import Conflict, Conflicts, find_conflicts
from memfolio.mind.feed import Fed, feed, section
from memfolio.mind.grounds import grounds_of
from memfolio.mind.kind import BY_PAGE
from memfolio.mind.page import MindPage
from memfolio.mind.prune import Pruned, prune_commitments, prune_intentions, remarked
from memfolio.mind.rank import moved, ranked
from memfolio.mind.validate import chunks_of, validate
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.format.fields import local
from memfolio.vault.format.lines import read_lines
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.recent import to_bytes, to_text

BEATER = Attribution(actor="system:heartbeat", approval=Approval.AUTO, trigger="heartbeat")
ATTEMPTS = 8
WEEKS = 53
"""How far back a week without a digest is noticed."""

Digest = Callable[[date], object]
"""Sums up the weeks that are over, from the one that begins on this day on; what it returns is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BdiCycleResult:
    """What a cycle found and did, or with a dry run would do."""

    agent_id: str
    timestamp: datetime
    stale_intentions_pruned: int = 0
    """How many intentions and commitments expired or stalled."""
    desires_prioritized: int = 0
    """How many desires have another place."""
    conflicts_detected: int = 0
    chunks_processed: int = 0
    belief_count: int = 0
    desire_count: int = 0
    beliefs_fed: int = 0
    archived: int = 0
    digest: str = ""
    """What the digest of weeks that are over said of itself; empty where none was due."""
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read or done, and where."""
    diff: str = ""
    """What the change did, or would do, where whoever made it tells."""


def beat(hand: Maker, shelf: Shelf, digest: Digest | None = None) -> BdiCycleResult:
    """Run one cycle over the mind of the agent that the hand is for.

    `digest` is called where a week that is over has memories and no page yet. What the policy does not allow is told
    among the problems.
    """
    result = _applied(hand, shelf)
    if digest is None or (since := _undigested(hand, shelf)) is None:
        return result
    try:
        return replace(result, digest=str(digest(since) or "done"))
    except MemfolioError as error:
        return replace(result, problems=(*result.problems, f"weeks are not summed up: {error.message}"))


def _applied(hand: Maker, shelf: Shelf) -> BdiCycleResult:
    for left in reversed(range(ATTEMPTS)):
        cycle = _Cycle(hand, shelf)
        cycle.run()
        try:
            if cycle.operations:
                hand.make(Change(operations=tuple(cycle.operations), by=BEATER, action=Action.EDIT))
            break
        except PageChangedError:
            if not left:
                raise
        except (PolicyError, ProposedError) as error:
            cycle.tell(problems=[f"nothing was changed: {error.message}"])
            return replace(cycle.result, stale_intentions_pruned=0, desires_prioritized=0, beliefs_fed=0, archived=0)
    return cycle.result


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A page as it was read, with the hash that a change of it must name."""

    path: str
    text: str = ""
    hash: str | None = None


class _Cycle:
    """One attempt: pages are read, and what should become of them is collected as operations."""

    def __init__(self, hand: Maker, shelf: Shelf) -> None:
        self.operations: list[Operation] = []
        self.result = BdiCycleResult(agent_id=hand.agent, timestamp=hand.now)
        self._vault, self._agent, self._now, self._shelf = hand.vault, hand.agent, hand.now, shelf
        self._root, self._zone, self._minding = agent_root(hand.agent), hand.vault.home.zone, hand.vault.config.mind
        self._today = datetime.combine(local(hand.now, self._zone), time(), self._zone)

    def run(self) -> None:
        """Look at each page; one that cannot be read does not keep the others from being looked at."""
        steps = {"Intentions": self._prune, "Commitments": self._prune, "Desires": self._rank, "Beliefs": self._believe}
        for name, step in steps.items():
            before = len(self.operations)
            sheet = _Sheet(f"{self._root}/mind/{name}.md")
            try:
                sheet = self._read(sheet.path)
                page = self._page(name, sheet.text)
                self.tell(problems=[f"{sheet.path}, {problem}" for problem in page.problems])
                step(sheet, page)
            except MemfolioError as error:
                del self.operations[before:]
                self.tell(problems=[f"{sheet.path} is not looked at: {error.message}"])

    def tell(self, *, notes: Iterable[str] = (), problems: Iterable[str] = ()) -> None:
        """Add to what a person should know."""
        told = self.result
        self.result = replace(told, notes=(*told.notes, *notes), problems=(*told.problems, *problems))

    def _count(self, **counts: int) -> None:
        self.result = replace(self.result, **{name: getattr(self.result, name) + n for name, n in counts.items()})

    def _page(self, name: str, text: str) -> MindPage:
        return MindPage(BY_PAGE[name], text, agent=self._agent, zone=self._zone)

    def _read(self, path: str) -> _Sheet:
        found = self._vault.page(path)
        return _Sheet(path, to_text(found.content), found.hash) if found else _Sheet(path)

    def _put(self, sheet: _Sheet, text: str) -> None:
        if text != sheet.text:
            self.operations.append(PutPage(sheet.path, to_bytes(text), sheet.hash))

    def _prune(self, sheet: _Sheet, page: MindPage) -> None:
        if page.kind.name == "commitment":
            pruned = prune_commitments(page.items, self._minding, self._now, self._zone)
        else:
            commitment = self._vault.settings(self._agent).commitment
            pruned = prune_intentions(page.items, commitment, self._minding, self._now, self._zone)
        text, gone = self._rewritten(page, pruned)
        self._put(sheet, text)
        if gone:
            archive = self._read(f"{self._root}/memory/archive/{self._today:%Y-%m}/mind/{page.kind.page}.md")
            self._put(archive, f"{archive.text.rstrip() or f'# {page.kind.page}'}\n\n{gone}")
        self.tell(notes=pruned.notes)
        self._count(stale_intentions_pruned=len(pruned.remarks), archived=len(pruned.archived))

    def _rewritten(self, page: MindPage, pruned: Pruned) -> tuple[str, str]:
        """The page with its edits and remarks and without what goes to the archive, and that."""
        if not pruned.edits and not pruned.archived:
            return page.text, ""
        edited = self._page(page.kind.page, page.editing(pruned.edits))
        # An item without an id is called after its heading, which an edit may have changed.
        ids = {old.id: new.id for old, new in zip(page.items, edited.items, strict=True)}
        text = remarked(edited, {ids[each]: remark for each, remark in pruned.remarks.items()})
        archived = {ids[each] for each in pruned.archived}
        return self._page(page.kind.page, text).without(archived) if archived else (text, "")

    def _rank(self, sheet: _Sheet, page: MindPage) -> None:
        order = ranked(page.items)
        self._put(sheet, page.ordered(order))
        self._count(desires_prioritized=moved(page.items, order), desire_count=len(order))

    def _believe(self, sheet: _Sheet, page: MindPage) -> None:
        grounds = grounds_of(page.items, self._shelf, self._minding.facts, self._now)
        checked = validate(page.items, grounds.gone, self._minding.chunk, self._today)
        fed = feed(page.items, grounds.confirmed, grounds.standing, self._fed(), self._now)
        edits = {**checked.edits, **fed.edits}
        after = self._page("Beliefs", page.editing(edits)) if edits else page
        after = self._page("Beliefs", self._added(after, fed)) if fed.added else after
        self._put(sheet, after.text)
        found = find_conflicts(chunks_of(after.items, self._minding.chunk), grounds.gone, self._minding.certainty)
        self._tell_conflicts(found)
        self.tell(notes=checked.notes)
        self._count(belief_count=len(after.items), chunks_processed=checked.chunks, beliefs_fed=len(fed.added))

    def _added(self, page: MindPage, fed: Fed) -> str:
        first, *others = (section(fact, self._now) for fact in fed.added)
        lines = tuple({"fact": fact.id} for fact in fed.added)
        self.operations.append(AddLines(self._ledger, lines, prefix="E"))
        return "\n".join([page.adding(*first), *(page.rendered(*each) for each in others)])

    @property
    def _ledger(self) -> Ledger:
        """What was ever fed, so that a belief which a person takes off the page does not come back."""
        return Ledger(f"{self._root}/memory/meta/fed", Form.LINES)

    def _fed(self) -> set[str]:
        parts = takewhile(bool, (self._vault.content(self._ledger.part(number)) for number in count(1)))
        return {str(line.record.get("fact")) for part in parts for line in read_lines(part or b"").records}

    def _tell_conflicts(self, found: Conflicts) -> None:
        folder = f"{self._root}/memory/conflicts/"
        sheet = self._read(f"{folder}{self._today:%Y-%m-%d}.md")
        paths = sorted(each for each in self._vault.states() if folder < each <= sheet.path)
        told = (told_on(self._read(each).text) for each in reversed(paths))
        last = next((each for each in told if each.hash), Told())
        self._put(sheet, composed(sheet.text, last, found, self._today.date(), self._zone))
        if found.left_off:
            self.tell(notes=[f"{found.left_off:,} conflicts are counted and not told one by one"])
        self._count(conflicts_detected=len(found.told) + found.left_off)
        self.result = replace(self.result, conflicts=found.told)


def _undigested(hand: Maker, shelf: Shelf) -> date | None:
    """The first day of the earliest week that is over, has memories, and no digest; None where there is no such."""
    zone, pages = hand.vault.home.zone, hand.vault.states()
    today = local_day(hand.now, zone)
    monday = today - timedelta(days=today.weekday())
    for first in (monday - timedelta(weeks=back) for back in range(WEEKS, 0, -1)):
        if f"{agent_root(hand.agent)}/memory/weekly/{first:%G-W%V}.md" in pages:
            continue
        since, until = beginning(first, zone), beginning(first + timedelta(weeks=1), zone) - timedelta(microseconds=1)
        told = shelf.index.read(partial(told_between, since=since, until=until, limit=100))
        if any(each.source not in CONCLUDED for each in told):
            return first
    return None
