"""Building digests: which periods are missing or differ from their days, and one change that puts them right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from functools import partial
from hashlib import blake2b
from itertools import chain

from memfolio.errors import InputError, ModelError, PageChangedError
from memfolio.index import days as index_days
from memfolio.index.days import Mark, local_day
from memfolio.index.index import Index
from memfolio.llm.model import Model
from memfolio.state import Op
from memfolio.tend.digest.compose import NOTHING, built_from, compose, new_page, renewed
from memfolio.tend.digest.gist import FORM, MOST, Gist, gist_of
from memfolio.tend.digest.period import LEVELS, Period, period_named, period_of
from memfolio.tend.hand import Hand, tender
from memfolio.tend.ours import is_ours
from memfolio.types import Action
from memfolio.vault.change import AddLines, Change, Operation, Page, PutPage
from memfolio.vault.format.content import encoded
from memfolio.vault.paths import state_ledger

JOB = "digest"
PARAGRAPH = 150
"""Tokens of what a model writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The pages that were written, those that were left alone because a person changed them, and how many are fresh."""

    paths: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    fresh: int = 0


@dataclass(slots=True, kw_only=True)
class _Shelf:
    """The gists of days, read once and made where they are missing."""

    index: Index
    zone: tzinfo
    marks: Mapping[date, Mark]
    gists: dict[tuple[date, str], Gist] = field(default_factory=dict)

    def fetch(self, days: Iterable[date], *, with_archived: bool) -> list[Gist]:
        """The gists of those of these days that have memories."""
        wanted = {day: self._mark(day, with_archived) for day in days if self._count(day, with_archived)}
        missing = {day: mark for day, mark in wanted.items() if (day, mark) not in self.gists}
        kept = self.index.read(lambda connection: index_days.gists(connection, missing)) if missing else {}
        self.gists |= {(day, missing[day]): Gist.from_json(data) for day, data in kept.items()}
        lost = {day: mark for day, mark in missing.items() if day not in kept}
        if lost:
            made = [(day, mark, self._make(day, mark, with_archived)) for day, mark in lost.items()]
            self.index.write(lambda connection: index_days.keep_gists(connection, made))
        return [self.gists[each] for each in wanted.items()]

    def _make(self, day: date, mark: str, with_archived: bool) -> str:
        read = partial(index_days.told, day=day, zone=self.zone, limit=MOST, with_archived=with_archived)
        gist = self.gists[day, mark] = gist_of(day, self.index.read(read), self._count(day, with_archived))
        return gist.to_json()

    def _count(self, day: date, with_archived: bool) -> int:
        return self.marks[day].memories if with_archived else self.marks[day].shown

    def _mark(self, day: date, with_archived: bool) -> str:
        mark = self.marks[day]
        return f"{FORM} {mark.hash} {mark.archived if with_archived else 0}"


def build(
    hand: Hand,
    index: Index,
    *,
    levels: Sequence[str] = LEVELS,
    since: date | None = None,
    current: bool = False,
    model: Model | None = None,
) -> Built:
    """Write the digests that differ from their days, or are missing from periods that are over, all as one change.

    With `since`, only of periods that end on that day or later; with `current`, also the first of one that is not over.
    A digest that a person changed is left alone. With a model, the overview has a paragraph that it wrote.
    """
    if unknown := next((level for level in levels if level not in LEVELS), None):
        raise InputError(f"{unknown[:40]!r} is no level of digests", hint=f"use {', '.join(LEVELS)}")
    zone = hand.vault.home.zone
    marks = index.read(lambda connection: index_days.marks(connection, zone))
    job = _Job(hand=hand, shelf=_Shelf(index=index, zone=zone, marks=marks), model=model)
    today = local_day(hand.now, zone)
    for level in levels:
        job.look(level, today, since=since, current=current)
    return job.finish()


@dataclass(slots=True, kw_only=True)
class _Job:
    hand: Hand
    shelf: _Shelf
    model: Model | None
    pages: list[PutPage] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    fresh: int = 0

    def look(self, level: str, today: date, *, since: date | None, current: bool) -> None:
        """Compose whatever of a level is not as it should be."""
        periods = self._periods(level)
        changed: set[Period] = set()
        for period, days in periods.items():
            page = self.hand.vault.page(period.path(self.hand.agent))
            is_due = page or period.last < today or (current and period.has(today))
            if not is_due or (since is not None and period.last < since):
                continue
            source = _source(self.shelf.marks[day] for day in days)
            # What was archived before a digest is written does not enter it.
            is_missing = page is None and any(self.shelf.marks[day].shown for day in days)
            if is_missing or (page and built_from(page.text) != source):
                changed.add(period)
            if period in changed or (page and period.before in changed):
                self._compose(period, page, source, days, periods.get(period.before, []) if period.before else [])
            else:
                self.fresh += page is not None

    def _periods(self, level: str) -> dict[Period, list[date]]:
        """The periods that have days with memories, or a digest of such, in order."""
        names = self.shelf.index.read(lambda connection: index_days.digest_names(connection, level))
        found: dict[Period, list[date]] = {each: [] for name in names if (each := period_named(level, name))}
        period: Period | None = None
        for day in self.shelf.marks:
            if period is None or not period.has(day):
                period = period_of(level, day)
            found.setdefault(period, []).append(day)
        return dict(sorted(found.items(), key=lambda each: each[0].first))

    def _compose(
        self, period: Period, page: Page | None, source: str, days: Sequence[date], before: Sequence[date]
    ) -> None:
        path = period.path(self.hand.agent)
        if page and not is_ours(page.text) and not self._was_purged(page):
            self.edited.append(path)
            self.hand.notes.append(f"{path} was changed by hand and is left as it is")
            return
        # What has been archived since a digest was written stays in it.
        gists = self.shelf.fetch(days, with_archived=page is not None)
        body = compose(period, gists, self.shelf.fetch(before, with_archived=True), self._paragraph(gists))
        text = renewed(page.text, body, source) if page else new_page(period, body, source)
        if page is None or text != page.text:
            self.pages.append(PutPage(path, encoded(text), page.hash if page else None))

    def _was_purged(self, page: Page) -> bool:
        """Whether the last one who changed a page was a purge, which leaves the rest of it for us to put right."""
        newest = next(self.hand.vault.trail.newest_first(containing=[page.path.encode()]), None)
        return newest is not None and newest.action is Action.PURGE

    def _paragraph(self, gists: Sequence[Gist]) -> str:
        """What a model makes of it; after one failure the others are not asked for."""
        if self.model is None or not gists:
            return ""
        from memfolio.llm.sum_up import sum_up

        lines = chain.from_iterable((*chain.from_iterable(gist.told.values()), *gist.highlights) for gist in gists)
        try:
            return sum_up(self.model, [line.text for line in lines], PARAGRAPH)
        except ModelError as error:
            self.model = None
            self.hand.notes.append(f"digests have no written overview: {error.message}")
            return ""

    def finish(self) -> Built:
        """Write all pages as one change, if there are any."""
        paths: tuple[str, ...] = tuple(page.path for page in self.pages)
        if paths:
            line = {"op": Op.JOB.value, "job": JOB, "pages": len(paths)}
            is_new = all(page.expects is None for page in self.pages)
            operations: tuple[Operation, ...] = (*self.pages, AddLines(state_ledger(self.hand.agent), (line,)))
            action = Action.CREATE if is_new else Action.EDIT
            try:
                self.hand.make(Change(operations=operations, by=tender(JOB), action=action))
            except PageChangedError as error:  # a person or another process was quicker: the next run looks again
                self.hand.notes.append(f"no digest was written: {error.message}")
                paths = ()
        return Built(paths=paths, edited=tuple(self.edited), fresh=self.fresh)


def _source(marks: Iterable[Mark]) -> str:
    """The hash of what some days are; it stays the same when memories are archived."""
    hashes = "".join(mark.hash for mark in marks)
    return blake2b(hashes.encode(), digest_size=16).hexdigest() if hashes else NOTHING
