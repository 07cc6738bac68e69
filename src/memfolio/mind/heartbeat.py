"""The heartbeat of a mind: one cycle over what an agent believes, wants and intends, made as one change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import chain, count, takewhile
from typing import Any

from memfolio.errors import ConfigError, MemfolioError, PageChangedError, PolicyError, ProposedError
from memfolio.graph.grow import Maker, Readable
from memfolio.index.facts import VERIFY, Fact, FactFilter, fact_of, find_facts, history_of, triple_named
from memfolio.index.lookup import by_ids
from memfolio.index.maintenance import CONCLUDED, beginning, local_day, told_between
from memfolio.index.mind_pages import BY_PAGE, ItemStatus, MindItem, MindPage
from memfolio.index.rows import to_us
from memfolio.knowledge.verify import TELLING
from memfolio.mind.beliefs import MOST, Conflict, Ground, composed, find_conflicts, midnight, prune, told_on, validate
from memfolio.types import Action, Approval, Attribution, Origin, frozen
from memfolio.vault.change import AddLines, Change, Operation, PutPage
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import read_lines
from memfolio.vault.paths import Form, Ledger, agent_root

# The order of desires: what counts most stands first. Pure.


def ranked(items: Sequence[MindItem]) -> list[str]:
    """The ids by priority, then urgency, then alignment; equals stay as they stood, and what is over stands last."""
    return [item.id for item in sorted(items, key=_weight)]


def _weight(item: MindItem) -> tuple[bool, float, float, float]:
    urgency, alignment = (float(item.fields.get(name, 0.5)) for name in ("urgency", "alignment"))
    return not item.is_live, -item.priority, -urgency, -alignment


# Beliefs that facts feed: what a person or another source confirmed is believed, for as long as it holds. Pure.

SOURCE = "fact"
"""What the `source` of a belief is that was fed."""
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")


def section(fact: Fact, now: datetime) -> tuple[str, str, str, Mapping[str, Any]]:
    """The belief that a fact gives: its id, title, text and fields."""
    fields = {"certainty": round(fact.confidence, 4), "updated": now, "source": SOURCE, "from": (fact.id,)}
    return f"B-{blake2b(fact.id.encode()).hexdigest()[:16]}", spoken(fact), "", fields


def spoken(fact: Fact) -> str:
    """A fact as a sentence: `Redis hasPort 6379` is Redis has port 6379."""
    predicate = _JOINT.sub(" ", fact.predicate).lower()
    return " ".join(f"{fact.subject} {predicate} {fact.object}".split())


def renewal(item: MindItem, standing: Mapping[str, Fact], now: datetime) -> Mapping[str, Any]:
    """What becomes of a belief that was fed: `standing` has the facts that hold. Nothing for any other belief."""
    if not item.is_live or item.problems or item.fields.get("source") != SOURCE or len(item.links()) != 1:
        return {}
    if (fact := standing.get(item.links()[0])) is None:
        return {"status": ItemStatus.RETIRED, "updated": now, "reason": "the fact does not hold any more"}
    certainty = round(fact.confidence, 4)
    # A page tells minutes: what a person said of the belief since the fact last changed is theirs to say.
    is_newer = item.updated is None or fact.updated_at >= item.updated + timedelta(minutes=1)
    return {"certainty": certainty, "updated": now} if is_newer and abs(item.certainty - certainty) > 1e-3 else {}


# What beliefs rest on, as the index knows it: which memories and facts still hold, and what became of the others.


def grounds_of(items: Iterable[MindItem], shelf: Readable, now: datetime) -> tuple[dict[str, Ground], dict[str, Fact]]:
    """What these beliefs rest on, among all that the agent may read: what does not hold any more, and facts that do."""
    ids = {each for item in items if item.is_live for each in item.links() if each[:2] in ("F-", "M-")}
    known: dict[str, Fact | Ground | None] = {each: Ground(id=each) for each in ids}
    for index in reversed(shelf.indexes()):  # the agent's own counts before another's
        known |= index.read(lambda db: dict((*_facts(db, ids, now), *_memories(db, ids))))
    gone = {name: each for name, each in known.items() if isinstance(each, Ground)}
    return gone, {name: each for name, each in known.items() if isinstance(each, Fact)}


def confirmed_facts(shelf: Readable, least: float, now: datetime, known: Collection[str]) -> list[Fact]:
    """The agent's own facts beside the known ones that are at least so sure and that somebody confirmed."""
    wanted = FactFilter(min_confidence=least, valid_at=to_us(now), derived=False, limit=-1)

    def read(db: Any) -> list[Fact]:
        facts = (each for each in find_facts(db, wanted, "") if each.verified_us and each.id not in known)
        return [each for each in facts if _word_on(db, each)]

    return shelf.index.read(read)


def _word_on(db: Any, fact: Fact) -> bool | None:
    """What a person or another source last said of a fact; None where nobody did.

    That no other fact speaks against it does not speak for it.
    """
    lines = (json.loads(each.said.more or "{}") for each in reversed(history_of(db, fact.triple)) if each.op == VERIFY)
    return next((line.get("verified") is True for line in lines if line.get("method") in TELLING), None)


def _facts(db: Any, ids: Collection[str], now: datetime) -> Iterator[tuple[str, Fact | Ground | None]]:
    """The facts among these that are known, or what became of them; None for those that strangers told."""
    for name in (each for each in ids if each[0] == "F"):
        if (triple := triple_named(db, name)) is None:
            continue
        if (fact := fact_of(db, triple)) is None:
            wanted = FactFilter(*triple[:2], valid_at=to_us(now), derived=False, limit=1)
            says = next((f"{spoken(each)} ({each.id})" for each in find_facts(db, wanted, "")), " ".join(triple))
            yield name, Ground(id=name, state="retracted", says=says)
        elif fact.valid_until is not None and fact.valid_until <= now:
            yield name, Ground(id=name, state="over", says=spoken(fact), at=fact.valid_until)
        elif _word_on(db, fact) is False:
            yield name, Ground(id=name, state="denied", says=spoken(fact))
        else:
            yield name, None if fact.origin == Origin.UNTRUSTED else fact


def _memories(db: Any, ids: Collection[str]) -> Iterator[tuple[str, Ground | None]]:
    """What became of the memories among these, None where they hold; the words of forgotten ones are told nowhere."""
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

BEATER = Attribution(actor="system:heartbeat", approval=Approval.AUTO, trigger="heartbeat")
ATTEMPTS = 8
WEEKS = 53
"""How far back a week without a digest is noticed."""

Digest = Callable[[date], object]
"""Sums up the weeks that are over, from the one that begins on this day on; what it returns is told."""


@frozen
class BdiCycleResult:
    """What a cycle found and did, or with a dry run would do."""

    agent_id: str
    timestamp: datetime
    stale_intentions_pruned: int = 0
    """How many intentions and commitments expired or stalled."""
    desires_prioritized: int = 0
    """How many desires still count, and stand by their priority."""
    desires_moved: int = 0
    """How many desires were given another place for that."""
    conflicts_detected: int = 0
    chunks_processed: int = 0
    belief_count: int = 0
    desire_count: int = 0
    beliefs_fed: int = 0
    archived: int = 0
    digest: str = ""
    """What the digest of weeks that are over said of itself; empty where none was due."""
    conflicts: tuple[Conflict, ...] = ()
    """The gravest that were found, at most as many as are told on a page."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read or done, and where."""
    diff: str = ""
    """What the change did, or would do, where whoever made it tells."""


def beat(hand: Maker, shelf: Readable, digest: Digest | None = None) -> BdiCycleResult:
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


def _applied(hand: Maker, shelf: Readable) -> BdiCycleResult:
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
        except (ConfigError, PolicyError, ProposedError) as error:
            cycle.tell(problems=[f"nothing was changed: {error.message}"])
            return replace(cycle.result, stale_intentions_pruned=0, desires_moved=0, beliefs_fed=0, archived=0)
    return cycle.result


class _Cycle:
    """One attempt: pages are read, and what should become of them is collected as operations."""

    def __init__(self, hand: Maker, shelf: Readable) -> None:
        self.operations: list[Operation] = []
        self.result = BdiCycleResult(agent_id=hand.agent, timestamp=hand.now)
        self._vault, self._agent, self._now, self._shelf = hand.vault, hand.agent, hand.now, shelf
        self._root, self._zone, self._minding = agent_root(hand.agent), hand.vault.home.zone, hand.vault.config.mind
        self._today = midnight(hand.now, self._zone)
        self._seen: dict[str, tuple[str, str | None]] = {}
        """Pages as they were read, each with the hash that a change of it must name."""
        self._ledger = Ledger(f"{self._root}/memory/meta/fed", Form.LINES)

    def run(self) -> None:
        """Look at each page; one that cannot be read does not keep the others from being looked at."""
        steps = {"Intentions": None, "Commitments": None, "Desires": self._rank, "Beliefs": self._believe}
        for name, step in steps.items():
            path, before, found = f"{self._root}/mind/{name}.md", len(self.operations), self.result
            try:
                page = self._page(name, self._read(path))
                self.tell(problems=[f"{path}, {problem}" for problem in page.problems])
                kept = self._prune(page)
                self._put(path, step(kept) if step else kept.text)
            except MemfolioError as error:
                del self.operations[before:]
                self.result = found
                self.tell(problems=[f"{path} is not looked at: {error.message}"])

    def tell(self, *, notes: Iterable[str] = (), problems: Iterable[str] = ()) -> None:
        """Add to what a person should know."""
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
        """Write a page that was read before, if it says something else than it did."""
        before, seen = self._seen[path]
        if text != before:
            self.operations.append(PutPage(path, to_bytes(text), seen))

    def _prune(self, page: MindPage) -> MindPage:
        """The page without what is long over, which goes to the archive."""
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
        """Look the beliefs over, bring those that were fed up to date, and compare them all."""
        gone, standing = grounds_of(page.items, self._shelf, self._now)
        checked = validate(page.items, gone, self._minding.chunk, self._today)
        renewed = {item.id: edit for item in page.items if (edit := renewal(item, standing, self._now))}
        edits = {**checked.edits, **renewed}
        after = self._fed(self._page("Beliefs", page.editing(edits)) if edits else page)
        self._tell_conflicts(find_conflicts(after.items, gone, self._minding.certainty))
        self.tell(notes=checked.notes)
        self._count(belief_count=len(after.items), chunks_processed=checked.chunks)
        return after.text

    def _fed(self, page: MindPage) -> MindPage:
        """The page with a belief for each confirmed fact that never was one.

        What was ever fed is noted, so that a belief which a person takes off the page does not come back.
        """
        parts = takewhile(bool, (self._vault.content(self._ledger.part(number)) for number in count(1)))
        known = {str(line.record.get("fact")) for part in parts for line in read_lines(part or b"").records}
        known.update(chain.from_iterable(item.links() for item in page.items))
        facts = confirmed_facts(self._shelf, self._minding.facts, self._now, known)
        if not facts:
            return page
        self.operations.append(AddLines(self._ledger, tuple({"fact": fact.id} for fact in facts), prefix="E"))
        self._count(beliefs_fed=len(facts))
        first, *others = (section(fact, self._now) for fact in facts)
        gap = "\r\n" if "\r\n" in page.text else "\n"
        return self._page("Beliefs", gap.join([page.adding(*first), *(page.rendered(*each) for each in others)]))

    def _tell_conflicts(self, found: Sequence[Conflict]) -> None:
        folder = f"{self._root}/memory/conflicts/"
        path = f"{folder}{self._today:%Y-%m-%d}.md"
        paths = sorted(each for each in self._vault.states() if folder < each <= path)
        last = next(filter(None, (told_on(self._read(each)) for each in reversed(paths))), "")
        self._put(path, composed(self._read(path), last, found, self._today.date(), self._zone))
        self.result = replace(self.result, conflicts_detected=len(found), conflicts=tuple(found[:MOST]))


def _undigested(hand: Maker, shelf: Readable) -> date | None:
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
