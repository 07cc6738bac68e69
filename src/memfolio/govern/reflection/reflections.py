"""The reflections of one agent: made as a page, approved as one change, or rejected and remembered as such."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, TypeVar

from memfolio.errors import (
    ConflictError,
    HomeBusyError,
    InputError,
    MemfolioError,
    ModelError,
    PageChangedError,
    RefusedError,
)
from memfolio.govern.gate import Gate
from memfolio.govern.reflection.apply import Application
from memfolio.govern.reflection.item import Findings, Item, Reflected
from memfolio.govern.reflection.log import TITLE, entry, evolve, in_short, read_log
from memfolio.govern.reflection.page import Written, arranged, numbers, parse, render
from memfolio.govern.reflection.reviews import KIND, NOTHING, due_hour, looked, next_number, refused, reviews, waiting
from memfolio.index.days import local_day
from memfolio.llm.model import Model
from memfolio.policy import Deed
from memfolio.recall.library import Library
from memfolio.state import Op
from memfolio.types import Action, Approval, Attribution
from memfolio.vault.change import AddLines, Change, Operation, PutPage, Receipt
from memfolio.vault.format.fields import local
from memfolio.vault.past.rollback import names_from
from memfolio.vault.paths import agent_root, state_ledger
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault

ATTEMPTS = 8
REJECTED = "rejected"
SHOWN = 16
"""How many characters of a page's hash name it."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of a reflection, by the numbers of its items."""

    number: int
    path: str
    outcome: str
    applied: Mapping[int, Item] = field(default_factory=dict)
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
    decided: Decided | None = None
    """Where it was just made: the receipt, and what became of it where it was applied at once."""

    @cached_property
    def written(self) -> Written:
        """What the page says; ContentError where a person's edit makes no sense."""
        return parse(self.text)

    @property
    def items(self) -> Mapping[int, Item]:
        return self.written.items


class Reflections:
    """Makes reflections and carries out what a person decides about them; at most one waits at a time."""

    def __init__(self, vault: Vault, library: Library, agent: str, *, gate: Gate, model: Model | None = None) -> None:
        self._vault, self._library, self._agent, self._gate, self._model = vault, library, agent, gate, model
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
        from memfolio.govern.reflection.gather import look_through

        looking = partial(look_through, self._vault, self._library, self._agent, model=self._model)
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
            if old and old.shown != old.made:
                hint = "`memfolio approve --edit` or `memfolio reject` first, or delete the page"
                raise ConflictError(f"{old.path} was edited and waits", hint=hint)
            names = names_from(made.path)
            path = next(each for each in names if (old and each == old.path) or not self._vault.page(each))
            gone = (self._put(old.path, None),) if old and old.path != path else ()
            operations = (*gone, self._put(path, made.text), self._state(line | {"page": path}))
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
    ) -> Decided:
        """Apply the reflection that waits, as one change, but for the items of these numbers.

        `shown` names the page that was looked at; without it, and unless `edited`, only the page as it was made
        counts. ConflictError where the page is another, or somebody decided already.
        """
        return self._decide(lambda: self._decision(self.wanted(shown, edited=edited), by, without), by)

    def reject(self, reason: str = "", *, by: Attribution) -> Decided:
        """Drop the reflection that waits, even if its page makes no sense; none of its items is proposed again."""
        compose = partial(self._decision, by=by, reason=reason)
        return self._decide(lambda: compose(self.wanted(None, edited=True)), by, Approval.REJECTED)

    def wanted(self, shown: str | None, *, edited: bool) -> Pending:
        """The reflection that waits, if it is the one that was looked at; see `approve`."""
        pending = self.pending()
        if pending is None:
            raise ConflictError("no reflection waits for a decision", hint="`memfolio reflect` makes one")
        if shown is not None and shown != pending.shown:
            raise ConflictError(f"{pending.path} is not the page that was looked at", hint="look at it again")
        if shown is None and not edited and pending.shown != pending.made:
            raise ConflictError(
                f"{pending.path} was edited since it was made",
                hint=f"look at it, then approve with --edit, or with --hash {pending.shown}",
            )
        return pending

    def edits(self, pending: Pending) -> dict[int, str]:
        """Which items are not as they were made."""
        now = {number: self._marks(item) for number, item in pending.items.items()}
        made = dict(enumerate(pending.marks, 1))
        other = sorted(number for number in made | now if made.get(number) != now.get(number))
        return {number: "edited" if number in now else "deleted" for number in other}

    def _decision(
        self, pending: Pending, by: Attribution, without: Sequence[int] = (), *, reason: str | None = None
    ) -> tuple[Decided, Change]:
        """What is approved without some items, or rejected for a reason, as a change."""
        written = pending.written if reason is None else Written()
        if unknown := sorted(set(without) - written.items.keys()):
            raise InputError(f"there is no item {numbers(unknown)}", hint="`--except` takes the numbers of the page")
        wanted = {number: item for number, item in written.items.items() if number not in without}
        application = Application(self._vault, self._library, self._agent, by, self._vault.home.now())
        operations, skipped = application.compose(wanted), application.skipped
        kept = {mark for item in wanted.values() for mark in self._marks(item)}
        dropped = {number: marks for number, given in enumerate(pending.marks, 1) if (marks := {*given} - kept)}
        approved = "partly approved" if dropped or skipped else "approved"
        decided = Decided(
            number=pending.number,
            path=pending.path,
            outcome=approved if reason is None else REJECTED,
            applied={number: item for number, item in wanted.items() if number not in skipped},
            left_out=tuple(sorted({*without, *dropped})),
            skipped=skipped,
        )
        told = {"reason": reason} if reason else {}
        rejected = sorted({mark for marks in dropped.values() for mark in marks})
        line = _line(pending, verdict=decided.outcome, rejected=rejected, decided_by=by.actor, **told)
        operations += (*self._closing(pending, decided, reason or ""), self._state(*application.records, line))
        action = Action.COMMIT if reason is None else Action.REJECT
        return decided, Change(operations=operations, by=by, action=action)

    def _closing(self, pending: Pending, decided: Decided, reason: str) -> Iterator[Operation]:
        """The outcome at the top of the page and in the log, and what it adds to the page of evolution."""
        written = Written() if decided.outcome == REJECTED else pending.written
        of = Reflected(
            number=decided.number,
            at=local_day(self._vault.home.now(), self._vault.home.zone),
            outcome=decided.outcome,
            counts=Counter(item.verb.value for item in decided.applied.values()),
            topics=written.topics,
            questions=written.questions,
        )
        yield self._put(pending.path, f"> **{', '.join(_told(of, pending, decided))}**\n\n{pending.text}")
        yield self._put(self._log, f"{(self._read(self._log) or TITLE).rstrip()}\n\n{entry(of, reason)}")
        path, limit = f"{self._meta}/evolution.md", self._vault.config.reflection.evolution
        before = self._read(path)
        after = evolve(before, [*self.past(), of], written.insights, limit, self._summarise)
        if after != before:
            yield self._put(path, after)

    def _summarise(self, texts: Sequence[str], limit: int) -> str:
        from memfolio.llm.sum_up import sum_up

        try:
            return sum_up(self._model, texts, limit) if self._model else in_short(texts, limit)
        except ModelError:  # what can be counted is said without it
            return in_short(texts, limit)

    def _decide(
        self, compose: Callable[[], tuple[Decided, Change]], by: Attribution, approval: Approval = Approval.APPROVED
    ) -> Decided:
        actor = f"{KIND}:{self.wanted(None, edited=True).number}"
        with self._gate.deciding(by, Deed.REFLECT, as_actor=actor, approval=approval):
            decided, receipt = self._make(compose)
        return replace(decided, receipt=receipt)

    def _make(self, compose: Callable[[], tuple[T, Change]]) -> tuple[T, Receipt]:
        """Compose without the lock, and again where anybody wrote something before it could be applied."""
        for _ in range(ATTEMPTS):
            self._vault.refresh()
            head = self._vault.head
            try:
                composed, change = compose()
                with self._vault.writer.ready():
                    if self._vault.head == head:
                        return composed, self._vault.apply(change)
            except PageChangedError:  # a person saved a page meanwhile: what they wrote is taken into account
                continue
            except MemfolioError:
                with self._vault.writer.ready():  # what somebody is writing may look broken until they are done
                    if self._vault.head == head:
                        raise
        raise HomeBusyError("others write all the time", hint="try again")

    def _reviews(self) -> list[Mapping[str, Any]]:
        return reviews(self._vault, self._agent)

    def _marks(self, item: Item) -> tuple[str, ...]:
        return tuple(self._vault.home.hash(mark.encode()) for mark in item.marks)

    def _state(self, *records: Mapping[str, Any]) -> AddLines:
        return AddLines(state_ledger(self._agent), records)

    def _read(self, path: str) -> str:
        page = self._vault.page(path)
        return to_text(page.content) if page else ""

    def _put(self, path: str, text: str | None) -> PutPage:
        page = self._vault.page(path)
        return PutPage(path, None if text is None else to_bytes(text), page.hash if page else None)


def _line(of: Pending, **more: Any) -> dict[str, Any]:
    return {"op": Op.REVIEW.value, "kind": KIND, "page": of.path, "number": of.number, **more}


def _told(of: Reflected, pending: Pending, decided: Decided) -> Iterator[str]:
    """What became of a page, for its first line."""
    yield f"{of.outcome.removeprefix('partly ')} {of.at}"
    gone = [number for number in decided.left_out if number not in decided.applied]
    if gone and of.outcome != REJECTED:
        yield f"without {numbers(gone)}"
    if pending.shown != pending.made:
        yield "as edited"
    yield from (f"{number} not done: {why}" for number, why in decided.skipped.items())
