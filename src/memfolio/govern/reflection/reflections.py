"""The reflections of one agent: made as a page, approved as one change, or rejected and remembered as such."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from memfolio.errors import (
    ConflictError,
    InputError,
    ModelError,
    NotFoundError,
    RefusedError,
)
from memfolio.govern.gate import Gate
from memfolio.govern.reflection.page import (
    ARCHIVE,
    CONNECT,
    CORE,
    KEPT,
    KIND,
    LEARN,
    LOG_TITLE,
    MERGE,
    NOTHING,
    RESOLVE,
    Findings,
    Reflected,
    ReflectionItem,
    ReflectionPage,
    ReflectionVerb,
    arranged,
    due_hour,
    entry,
    evolve,
    in_short,
    is_unanswered,
    looked,
    next_number,
    parse,
    read_log,
    refused,
    render,
    reviews,
    waiting,
)
from memfolio.graph.graph import merged
from memfolio.graph.grow import overview
from memfolio.graph.page import RELATIONS, EntityText, relation_line
from memfolio.index.graph import Node, nodes, ties
from memfolio.index.lookup import Located
from memfolio.index.maintenance import local_day, turns_of
from memfolio.learn.learned import Statement, drafted, moment
from memfolio.learn.resolve import Reference
from memfolio.llm.model import Model, sum_up
from memfolio.policy import Deed
from memfolio.recall.searcher import Searcher
from memfolio.state import Op
from memfolio.stores.core import ACTIVE, Core, CorePage
from memfolio.stores.flush import resolved, said_again
from memfolio.text import joined
from memfolio.types import REFLECTION, Action, Approval, Attribution, Kind, MemoryItem, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, NewId, Operation, Page, PutPage, Receipt
from memfolio.vault.fields import Draft, check_text, local
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.move import departure
from memfolio.vault.paths import agent_of, agent_root, day_log, ledger_of, names_from, state_ledger
from memfolio.vault.vault import Vault

# What accepted items of a reflection do, as the operations of one change; what cannot be done any more is told.

Places = dict[str, list[str]]


class PlannedPages:
    """Entity pages with the changes made so far; a stand-in for the vault."""

    def __init__(self, vault: Vault, paths: Mapping[str, str]) -> None:
        self.config, self._vault, self._paths = vault.config, vault, paths
        self.puts: dict[str, PutPage] = {}

    def page(self, path: str) -> Page | None:
        put = self.puts.get(path)
        if put is None:
            return self._vault.page(path)
        return None if put.content is None else Page(path, put.content, self._vault.home.hash(put.content))

    def put(self, path: str, content: bytes | None) -> None:
        before = self._vault.page(path)
        self.puts[path] = PutPage.over(before, path, content)

    def entity(self, id: str) -> tuple[EntityText, Node]:
        page = self.page(self._paths[id]) if id in self._paths else None
        text = EntityText.of(page) if page else None
        if text is None or (node := text.node) is None:
            raise NotFoundError(f"there is no page about {id}")
        return text, node

    @property
    def written(self) -> dict[str, EntityText | None]:
        """What was put, by the ids of the entities; None is a page that goes."""
        ids = {path: entity for entity, path in self._paths.items()}
        return {ids[path]: self.entity(ids[path])[0] if put.content else None for path, put in self.puts.items()}


@dataclass(slots=True)
class Application:
    """Turns items into operations, one verb after the other."""

    vault: Vault
    searcher: Searcher
    agent: str
    by: Attribution
    now: datetime
    skipped: dict[int, str] = field(default_factory=dict)
    """Why items of these numbers are not among the operations."""
    records: list[Mapping[str, Any]] = field(default_factory=list)
    """The lines for the agent's state."""

    def compose(self, items: Mapping[int, ReflectionItem]) -> tuple[Operation, ...]:
        """The operations of all items that can be done. RefusedError where core memory would be too long."""
        sound = {number: item for number, item in items.items() if self._is_sound(number, item)}

        def of(*verbs: ReflectionVerb) -> dict[int, ReflectionItem]:
            return {number: item for number, item in sound.items() if item.verb in verbs}

        # Learning first: it says whether today's log is written, from which nothing can be cut by the same change.
        learned = self._resolved(of(LEARN))
        new = {known: (item, statement) for item, statement, known in reversed(learned) if isinstance(known, NewId)}
        places = self._places(of(ARCHIVE), writes_today=bool(new))
        drafts = tuple(self._draft(*new[known], places) for known in sorted(new, key=lambda each: each.index))
        replaced: list[tuple[str, Reference]] = [(each.memory, each.by) for each in of(RESOLVE).values()]
        replaced += [
            (item.memory, by)
            for item, _, by in learned
            if item.memory and item.memory != by and not self._trouble(item, item.memory)
        ]
        self.records += [{"op": Op.SUPERSEDE, "memory": old, "by": new} for old, new in replaced]
        archived = dict.fromkeys(each for ids in places.values() for each in ids)
        leaving = [{"op": Op.ARCHIVE, "memory": each} for each in archived]
        return (
            *([AddEntries(self.agent, drafts)] if drafts else []),
            *self._core(of(CORE)),
            *departure(self.vault, self.agent, places, leaving)[0],
            *self._graph(of(CONNECT, MERGE)),
        )

    def _is_sound(self, number: int, item: ReflectionItem) -> bool:
        if item.verb is LEARN and not item.sources:
            self.skipped[number] = "nothing is left of what it was learned from"
        named = () if item.verb is LEARN else (item.memory, item.by)
        for each in (*item.sources, *filter(None, named)):
            if trouble := self._trouble(item, each):
                self.skipped[number] = f"{each} {trouble}"
        return number not in self.skipped

    def _trouble(self, item: ReflectionItem, id: str) -> str:
        """Why nothing can be done with a memory that an item names; empty where something can."""
        located = self._located(id)
        if located is None:
            return "is not there any more"
        if located.item.forgotten_at:
            return "was forgotten"
        if located.item.superseded_by:
            return f"was replaced by {located.item.superseded_by}"
        if located.archived:
            return "is in the archive"
        if id != item.memory:
            return ""
        if located.form != "memory" or agent_of(located.path) != self.agent:
            return f"is not a memory of {self.agent}'s own"
        return "was pinned" if item.verb is ARCHIVE and located.item.pinned else ""

    def _located(self, id: str) -> Located | None:
        found = self.searcher.locate(id)
        return found[1] if found else None

    def _resolved(self, items: Mapping[int, ReflectionItem]) -> list[tuple[ReflectionItem, Statement, Reference]]:
        """What is learned by each item: something new, or what was learned meanwhile and says the same.

        That is decided as for conversations that are over, since they may have taught it while the reflection waited.
        """
        known_statements = self._said(items.values())
        statements: dict[int, Statement] = {}
        for number, item in items.items():  # a copy each, by which it is found again: several items may say the same
            own = Statement(text=check_text(item.text), type=item.type, kind=Kind.SEMANTIC, turns=())
            statements[number] = replace(known_statements.get(item.text, own))
        dated = [(statements[number], max(map(moment, self._sources(item)))) for number, item in items.items()]
        resolution = resolved(self.searcher.index, dated, "keep")
        known: dict[int, Reference] = {id(each): NewId(at) for at, each in enumerate(resolution.kept)}
        known |= {id(each): ref for ref, each in resolution.repeated}
        found = []
        for number, item in items.items():
            if (ref := known.get(id(statements[number]))) is None:
                self.skipped[number] = "it was forgotten after it was said"
                continue
            found.append((item, statements[number], ref))
        for ref, statement in resolution.repeated:  # note where else something known was said
            item = next(item for item, each, _ in found if each is statement)
            located = self._located(ref) if isinstance(ref, str) else None
            noted = located.item.derived_from if located else ()
            if sources := [each.id for each in self._sources(item) if each.id not in noted]:
                self.records += said_again(ref, sources)
        return found

    def _sources(self, item: ReflectionItem) -> list[MemoryItem]:
        return [located.item for each in item.sources if (located := self._located(each))]

    def _said(self, items: Iterable[ReflectionItem]) -> dict[str, Statement]:
        """What the rules read in the conversations that items were learned from, by its words."""
        from memfolio.govern.reflection.gather import read

        sources = [each for item in items for each in self._sources(item)]
        talks = {each.session for each in sources if each.session and each.role}
        turns = [each for talk in talks for each in self.searcher.index.read(partial(turns_of, session=talk))]
        episodes = {each.id: each for each in (*(turn.item for turn in turns), *sources)}
        return {statement.text: statement for statement, _ in read(sorted(episodes.values(), key=moment))}

    def _draft(self, item: ReflectionItem, statement: Statement, places: Places) -> Draft:
        sources = self._sources(item)
        at = max(map(moment, sources), default=None)
        # A memory that is about a day goes to the log of that day.
        if at and self._log_base(at) in map(_base, places):  # a change writes each file once, and that one is cut
            at = None
        return drafted(statement, sources, source=REFLECTION)._replace(
            type=item.type,
            kind=Kind.SEMANTIC,  # also a decision is known from then on, and not an episode to learn from
            confidence=item.confidence,
            event_time=at,
        )

    def _log_base(self, at: datetime) -> str:
        return day_log(self.agent, local_day(at, self.vault.home.zone)).base

    def _core(self, items: Mapping[int, ReflectionItem]) -> Iterator[Operation]:
        def compose(page: CorePage) -> CorePage:
            for number, item in items.items():
                before = page
                try:
                    page = _rewritten(page, item)
                except (NotFoundError, ConflictError, InputError) as error:
                    self.skipped[number] = error.message
                    continue
                was, pinned = ({line.id for line in each.items(item.text) if line.id} for each in (before, page))
                let_go = [{"op": Op.PIN, "memory": each, "pinned": False} for each in sorted(was - pinned)]
                self.records += let_go
            return page

        if put := Core(self.vault, self.agent).composed(compose, ACTIVE)[1]:
            yield put

    def _places(self, items: Mapping[int, ReflectionItem], *, writes_today: bool) -> Places:
        """The logs that memories are cut out of, less those that stand where the change writes, or no longer there."""
        found: Places = {}
        today = self._log_base(self.now)
        for number, item in items.items():
            logs = [path for path in self.searcher.places(self.searcher.index, item.memory) if ledger_of(path)]
            if writes_today and today in map(_base, logs):
                self.skipped[number] = f"{item.memory} stands in today's log, which this reflection writes to"
                continue
            try:
                departure(self.vault, self.agent, {path: [item.memory] for path in logs}, ())
            except NotFoundError as error:
                self.skipped[number] = error.message
                continue
            for path in logs:
                found.setdefault(path, []).append(item.memory)
        return found

    def _graph(self, items: Mapping[int, ReflectionItem]) -> Iterator[Operation]:
        """Relations on the pages of entities, then merges, each on the pages as they will be, then the overview."""
        if not items:
            return
        index = self.searcher.index
        known, drawn = index.read(lambda db: (nodes(db), ties(db)))
        paths = {node.id: node.path for node in known}
        planned = PlannedPages(self.vault, paths)
        # A relation to an entity that is merged away moves with its page.
        for number, item in sorted(items.items(), key=lambda each: each[1].verb is MERGE):
            try:
                if item.verb is CONNECT:
                    _connect(planned, item)
                    continue
                keep, other = (planned.entity(each)[1] for each in (item.subject, item.object))
                for put in merged(cast(Vault, planned), index, keep, other, self.by).operations:
                    if isinstance(put, PutPage) and put.path in paths.values():
                        planned.put(put.path, put.content)
            except (NotFoundError, ConflictError) as error:
                self.skipped[number] = error.message
        yield from planned.puts.values()
        if planned.puts:
            yield from overview(self.vault, self.agent, known, drawn, planned.written)


def _base(path: str) -> str:
    found = ledger_of(path)
    return found[0].base if found else path


def _rewritten(page: CorePage, item: ReflectionItem) -> CorePage:
    """The page with the lines of an item; NotFoundError where one that goes does not stand there as it did."""
    for line in item.removed:
        if not page.has(item.text, line):
            raise NotFoundError(f"{item.text} has no line {line[:60]!r} any more")
        page = page.removing(page.meant(item.text, line))
    for line in item.added:
        if not page.has(page.named(item.text), line):
            page = page.adding(item.text, line)
    return page


def _connect(planned: PlannedPages, item: ReflectionItem) -> None:
    text, _ = planned.entity(item.subject)
    planned.entity(item.object)  # NotFoundError where somebody removed it
    if (item.predicate, item.object) in text.relations():
        raise ConflictError(f"{item.subject} has that relation already")
    text.add(RELATIONS, [relation_line(item.predicate, item.object)])
    planned.put(text.path, text.put.content)


REVIEWER = Attribution(actor="system:review", trigger="review")
REJECTED, UNANSWERED = "rejected", "unanswered"
SHOWN = 16
"""How many characters of a page's hash name it."""
T = TypeVar("T")


@frozen
class DecidedReflection:
    """The decision on a reflection, by the numbers of its items."""

    number: int
    path: str
    outcome: str
    applied: Mapping[int, ReflectionItem] = field(default_factory=dict)
    left_out: tuple[int, ...] = ()
    """What the person excepted, deleted or put in other words."""
    skipped: Mapping[int, str] = field(default_factory=dict)
    """What could not be done any more, and why."""
    receipt: Receipt | None = None


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A reflection that waits for a person: its page as it is, and as it was made."""

    number: int
    path: str
    text: str
    shown: str
    """What names the page as it is: an approval of it holds for nothing else."""
    made: str
    """The same of the page as it was made."""
    marks: tuple[tuple[str, ...], ...]
    """What its items were known by when it was made, in the order of their numbers."""
    receipt: Receipt | None = None
    decided: DecidedReflection | None = None
    """Where it was just made: the receipt, and what became of it where it was applied at once."""

    @cached_property
    def written(self) -> ReflectionPage:
        """What the page says; ContentError where a person's edit makes no sense."""
        return parse(self.text)

    @property
    def items(self) -> Mapping[int, ReflectionItem]:
        return self.written.items


@frozen
class ReviewedItem:
    """An item for review: the memories it names, and why it cannot be applied any more."""

    number: int
    item: ReflectionItem
    sources: tuple[MemoryItem, ...]
    old: MemoryItem | None
    new: MemoryItem | None
    trouble: str = ""


class Reflections:
    """Makes reflections and carries out what a person decides about them; at most one waits at a time."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str, *, gate: Gate, model: Model | None = None) -> None:
        self._vault, self._searcher, self._agent, self._gate, self._model = vault, searcher, agent, gate, model
        self._meta = f"{agent_root(agent)}/memory/meta"
        self._log = f"{self._meta}/reflections/log.md"

    def pending(self) -> Pending | None:
        """The reflection that waits; None where none does."""
        line = waiting(self._reviews())
        page = self._vault.page(line["page"]) if line else None
        if line is None or page is None:
            return None
        return Pending(
            number=line["number"],
            path=page.path,
            text=to_text(page.content),
            shown=page.hash[:SHOWN],
            made=str(line.get("hash")),
            marks=tuple(map(tuple, line.get("marks", ()))),
        )

    def past(self) -> list[Reflected]:
        """What became of those before, by the log."""
        return read_log(self._read(self._log))

    def rejected(self) -> Container[str]:
        """The marks of items that somebody did not want."""
        return refused(self._vault, self._agent)

    def reflect(self, now: datetime, *, dry_run: bool = False, applies: bool = False, by: Attribution) -> Pending:
        """Look through the memory and write down what should change, in the place of what waits already.

        ConflictError where a person has edited that. With `applies` it is approved at once; with `dry_run` nothing is
        written.
        """
        from memfolio.govern.reflection.gather import gather_findings

        looking = partial(gather_findings, self._vault, self._searcher, self._agent, model=self._model)
        found = looking(now=now, since=looked(self._reviews()), past=self.past(), rejected=self.rejected())
        return self.propose(found, now, dry_run=dry_run, applies=applies, by=by)

    def propose(
        self, findings: Findings, now: datetime, *, dry_run: bool = False, applies: bool = False, by: Attribution
    ) -> Pending:
        """Write findings down as the page that waits; where there are none, only that somebody looked."""
        made = self._page(findings, now)
        line = _line(made, hash=made.made, marks=made.marks, looked_at=dict(findings.looked_at))
        if dry_run:
            return made
        if not findings.items and not findings.questions:
            self._vault.add_lines(state_ledger(self._agent), [line | {"page": "", "verdict": NOTHING}], by)
            return made

        def compose() -> tuple[str, Change]:
            old = self.pending()
            aside: list[Mapping[str, Any]] = []
            waits = waiting(self._reviews())
            if old and old.shown != old.made and waits and is_unanswered(waits, now):
                aside, old = [_line(old, verdict=UNANSWERED)], None
            elif old and old.shown != old.made:
                hint = "`memfolio approve --edit` or `memfolio reject` first, or delete the page"
                raise ConflictError(f"{old.path} was edited and waits", hint=hint)
            names = names_from(made.path)
            path = next(each for each in names if (old and each == old.path) or not self._vault.page(each))
            gone = (self._put(old.path, None),) if old and old.path != path else ()
            operations = (*gone, self._put(path, made.text), self._state(*aside, line | {"page": path}))
            who = replace(by, actor=f"{KIND}:{made.number}", approval=Approval.PENDING)
            return path, Change(operations=operations, by=who, action=Action.PROPOSE)

        path, receipt = self._make(compose)
        made, decided = replace(made, path=path, receipt=receipt), None
        if applies:
            with suppress(ConflictError, RefusedError):  # then it waits for a person, as it would anyway
                decided = self.approve(shown=made.shown, by=by)
        return replace(made, decided=decided)

    def _page(self, findings: Findings, now: datetime) -> Pending:
        number, here = next_number(self._reviews()), local(now, self._vault.home.zone)
        text = render(
            findings,
            number=number,
            at=here,
            budget=self._vault.config.reflection.tokens,
            reviewed=len(self.past()),
            next_at=due_hour(self._vault, now) + timedelta(days=1),
        )
        shown = self._vault.home.hash(to_bytes(text))[:SHOWN]
        path = f"{self._meta}/reflections/{here:%Y-%m-%d-%H%M%S}.md"
        marks = tuple(map(self._marks, arranged(findings.items)))
        return Pending(number=number, path=path, text=text, shown=shown, made=shown, marks=marks)

    def approve(
        self, *, shown: str | None = None, without: Sequence[int] = (), edited: bool = False, by: Attribution
    ) -> DecidedReflection:
        """Apply the reflection that waits, as one change, but for the items of these numbers.

        `shown` names the page that was looked at; without it, and unless `edited`, only the page as it was made
        counts. ConflictError where the page is another, or somebody decided already.
        """
        return self._decide(lambda: self._decision(self.wanted(shown, edited=edited), by, without), by)

    def reject(self, reason: str = "", *, by: Attribution) -> DecidedReflection:
        """Drop the reflection that waits, even if its page makes no sense; none of its items is proposed again."""
        compose = partial(self._decision, by=by, reason=reason)
        return self._decide(lambda: compose(self.wanted(None, edited=True)), by, Approval.REJECTED)

    def wanted(self, shown: str | None, *, edited: bool) -> Pending:
        """The reflection that waits, if it is the one that was looked at; see `approve`."""
        pending = self.pending()
        if pending is None:
            raise ConflictError("no reflection is pending", hint="`memfolio reflect` makes one")
        if shown is not None and shown != pending.shown:
            raise ConflictError(f"{pending.path} is not the page that was looked at", hint="look at it again")
        if shown is None and not edited and pending.shown != pending.made:
            raise ConflictError(
                f"{pending.path} was edited since it was made",
                hint=f"look at it, then approve with --edit, or with --hash {pending.shown}",
            )
        return pending

    def evidence(self, pending: Pending) -> list[ReviewedItem]:
        """The items with what they were made of, and why one cannot be applied any more."""
        items, trouble = pending.items, ""
        named = {each for item in items.values() for each in (*item.sources, item.memory, item.by) if each}
        known = self._searcher.known(named)
        application = Application(self._vault, self._searcher, self._agent, REVIEWER, self._vault.home.now())
        try:
            application.compose(items)
        except RefusedError as error:  # core memory has no room for all of them
            trouble = error.message
        return [
            # Memories may be gone by now: the item is shown with what is left.
            ReviewedItem(
                number=number,
                item=item,
                sources=tuple(known[each] for each in item.sources if each in known),
                old=known.get(item.memory),
                new=known.get(item.by),
                trouble=application.skipped.get(number, trouble),
            )
            for number, item in items.items()
        ]

    def edits(self, pending: Pending) -> dict[int, str]:
        """Which items are not as they were made."""
        # Compared by marks: a person may have reworded the reasons, which changes nothing.
        now = {number: self._marks(item) for number, item in pending.items.items()}
        made = dict(enumerate(pending.marks, 1))
        other = sorted(number for number in made | now if made.get(number) != now.get(number))
        return {number: "edited" if number in now else "deleted" for number in other}

    def _decision(
        self, pending: Pending, by: Attribution, without: Sequence[int] = (), *, reason: str | None = None
    ) -> tuple[DecidedReflection, Change]:
        """What is approved without some items, or rejected for a reason, as a change."""
        written = pending.written if reason is None else ReflectionPage()
        if unknown := sorted(set(without) - written.items.keys()):
            raise InputError(f"there is no item {joined(unknown)}", hint="`--except` takes the numbers of the page")
        wanted = {number: item for number, item in written.items.items() if number not in without}
        # Composed against the memory as it is now, which may be another than when the reflection was made.
        application = Application(self._vault, self._searcher, self._agent, by, self._vault.home.now())
        operations, skipped = application.compose(wanted), application.skipped
        # What is not among the approved in the same words counts as rejected, and is not proposed again.
        kept = {mark for item in wanted.values() for mark in self._marks(item)}
        dropped = {number: marks for number, given in enumerate(pending.marks, 1) if (marks := {*given} - kept)}
        approved = "partly approved" if dropped or skipped else "approved"
        decided = DecidedReflection(
            number=pending.number,
            path=pending.path,
            outcome=approved if reason is None else REJECTED,
            applied={number: item for number, item in wanted.items() if number not in skipped},
            left_out=tuple(sorted({*without, *dropped})),
            skipped=skipped,
        )
        details = {"reason": reason} if reason else {}
        rejected = sorted({mark for marks in dropped.values() for mark in marks})
        line = _line(pending, verdict=decided.outcome, rejected=rejected, decided_by=by.actor, **details)
        operations += (*self._closing(pending, decided, reason or ""), self._state(*application.records, line))
        action = Action.COMMIT if reason is None else Action.REJECT
        return decided, Change(operations=operations, by=by, action=action)

    def _closing(self, pending: Pending, decided: DecidedReflection, reason: str) -> Iterator[Operation]:
        """The outcome at the top of the page and in the log, and what it adds to the page of evolution."""
        written = ReflectionPage() if decided.outcome == REJECTED else pending.written
        of = Reflected(
            number=decided.number,
            at=local_day(self._vault.home.now(), self._vault.home.zone),
            outcome=decided.outcome,
            counts=Counter(item.verb.value for item in decided.applied.values()),
            topics=written.topics,
            questions=written.questions,
            learned=tuple(_understood(decided, "added")),
            dropped=tuple(_understood(decided, "removed")),
            insights=tuple(filter(None, asdict(written.insights).values() if self._model else ())),
        )
        # A remark, so that the page still parses.
        yield self._put(pending.path, f"> **{', '.join(_told(of, pending, decided))}**\n\n{pending.text}")
        yield self._put(self._log, f"{(self._read(self._log) or LOG_TITLE).rstrip()}\n\n{entry(of, reason)}")
        path, limit = f"{self._meta}/evolution.md", self._vault.config.reflection.evolution
        before = self._read(path)
        after = evolve(before, [*self.past(), of], limit, self._summarise)
        if after != before:
            yield self._put(path, after)

    def _summarise(self, texts: Sequence[str], limit: int) -> str:
        try:
            return sum_up(self._model, texts, limit) if self._model else in_short(texts, limit)
        except ModelError:  # what can be counted is said without it
            return in_short(texts, limit)

    def _decide(
        self,
        compose: Callable[[], tuple[DecidedReflection, Change]],
        by: Attribution,
        approval: Approval = Approval.APPROVED,
    ) -> DecidedReflection:
        # The trail names the reflection, and the line of the state whoever decided on it.
        actor = f"{KIND}:{self.wanted(None, edited=True).number}"
        with self._gate.deciding(by, Deed.REFLECT, as_actor=actor, approval=approval):
            decided, receipt = self._make(compose)
        return replace(decided, receipt=receipt)

    def _make(self, compose: Callable[[], tuple[T, Change]]) -> tuple[T, Receipt]:
        """Compose and apply a change while nobody else writes: of two who decide, the second finds it decided."""
        with self._vault.exclusive():
            composed, change = compose()
            return composed, self._vault.apply(change)

    def _reviews(self) -> list[Mapping[str, Any]]:
        return reviews(self._vault, self._agent)

    def _marks(self, item: ReflectionItem) -> tuple[str, ...]:
        return tuple(self._vault.home.hash(mark.encode()) for mark in item.marks)

    def _state(self, *records: Mapping[str, Any]) -> AddLines:
        return AddLines(state_ledger(self._agent), records)

    def _read(self, path: str) -> str:
        page = self._vault.page(path)
        return to_text(page.content) if page else ""

    def _put(self, path: str, text: str | None) -> PutPage:
        page = self._vault.page(path)
        return PutPage.over(page, path, None if text is None else to_bytes(text))


def _line(of: Pending, **more: Any) -> dict[str, Any]:
    return {"op": Op.REVIEW, "kind": KIND, "page": of.path, "number": of.number, **more}


def _understood(decided: DecidedReflection, change: str) -> list[str]:
    """What was learned, and the lines that came to core memory or left it; what goes on at the moment says little."""
    found = dict[str, None]()
    for item in decided.applied.values():
        if item.verb is CORE and item.text != ACTIVE:
            found |= dict.fromkeys(getattr(item, change))
        elif item.verb is LEARN and change == "added":
            found[item.text] = None
    return list(found)[:KEPT]


def _told(of: Reflected, pending: Pending, decided: DecidedReflection) -> Iterator[str]:
    """What became of a page, for its first line."""
    yield f"{of.outcome.removeprefix('partly ')} {of.at}"
    gone = [number for number in decided.left_out if number not in decided.applied]
    if gone and of.outcome != REJECTED:
        yield f"without {joined(gone)}"
    if pending.shown != pending.made:
        yield "as edited"
    yield from (f"{number} not done: {why}" for number, why in decided.skipped.items())
