"""The cases of one agent as a small object: what was done before in situations like this, and how it went.

The cycle of case-based reasoning: `retrieve` a case, reuse it, `revise` it where it did not fit, `retain` how it went.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.index.filter import QUARANTINED, Filter
from memfolio.index.records import record_lines
from memfolio.intake import nearest
from memfolio.knowledge.case import PARTS, Book, Case, after, distinct, line_of, read_case
from memfolio.knowledge.similar import Similar, rank, surplus
from memfolio.recall.asking.arguments import known, number, text, words
from memfolio.recall.asking.query import MAX_LIMIT, Query
from memfolio.recall.hit import Hits
from memfolio.recall.library import Library
from memfolio.types import Action, Attribution, Origin, check_attribution
from memfolio.vault.change import AddLines, Change, Receipt
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

KEEPER = Attribution(actor="bot:cases", trigger="case")
REVISABLE = (*PARTS, "importance")
WIDE = 50
"""How many cases are looked at for their text."""


class _Read(NamedTuple):
    """The cases at a moment of the index, and the lines that tell of them."""

    moment: tuple[object, ...] = ()
    lines: Sequence[str] = ()
    book: Book = Book()


class Cases:
    """The cases that an agent keeps; other agents' are not among them."""

    def __init__(self, vault: Vault, library: Library, agent: str) -> None:
        self._vault = vault
        self._library = library
        self._agent = agent
        self._ledger = Ledger(f"{agent_root(agent)}/knowledge/cases", Form.LINES)
        self._last = _Read()

    def store(
        self,
        situation: Mapping[str, Any],
        solution: Mapping[str, Any],
        outcome: Mapping[str, Any],
        *,
        importance: float = 0.5,
        origin: Origin | str | None = None,
        by: Attribution = KEEPER,
        dry_run: bool = False,
    ) -> Case:
        """Keep how something was solved; the same solution of the same situation counts as a further use of its case.

        Where there are too many cases, those of least worth go with the same change.
        """
        given = {"situation": situation, "solution": solution, "outcome": outcome, "importance": importance}
        case, book = read_case({**given, "origin": origin or self._whose(by)}), self._read().book
        if same := book.same.get(case.key):
            return self.retain(same, outcome, by=by, dry_run=dry_run)
        if dry_run:
            return case
        most, now = self._vault.config.knowledge.cases, self._vault.home.now()
        pruned = [
            {"op": "delete", "case": each.id, "pruned": True} for each in surplus(book.cases.values(), most - 1, now)
        ]
        done = self._write([{"op": "store", **line_of(case), "origin": case.origin.value}, *pruned], by)
        notice = f"there are at most {most:,} cases (knowledge.cases): those of least worth went"
        if pruned and notice not in self._vault.notices:
            self._vault.notices.append(notice)
        return self.get(done.ids[0])

    def retrieve(
        self,
        beliefs: Iterable[str] = (),
        desires: Iterable[str] = (),
        context: str = "",
        *,
        limit: int = 5,
        include: Iterable[str] = (),
    ) -> Similar:
        """The cases most like a situation, best first; what failed more often than it worked is marked as a warning.

        `include` with "quarantined" brings what strangers told, too.
        """
        held, wanted, told = distinct("beliefs", beliefs), distinct("desires", desires), text("context", context)
        most = number("limit", limit, 1, MAX_LIMIT)
        strange = known("include", words("include", include), (QUARANTINED,))
        if not (held or wanted or told.strip()):
            raise InputError("no situation is given", hint="name beliefs or desires, or tell the context in words")
        book = self._read().book
        hits = self._told_like(told, strange, max(most, WIDE)) if told.strip() else Hits([])
        found = rank(
            (case for case in book.cases.values() if strange or case.origin is not Origin.UNTRUSTED),
            beliefs=held,
            desires=wanted,
            texts={book.names.get(hit.memory.id, ""): max(0.0, min(1.0, hit.score)) for hit in reversed(hits)},
            weight=self._vault.config.knowledge.beliefs,
            limit=most,
        )
        return Similar(found, hits.degraded)

    def retain(self, id: str, outcome: Mapping[str, Any], *, by: Attribution = KEEPER, dry_run: bool = False) -> Case:
        """Note how a further use of a case went."""
        return self._change(self.get(id), {"op": "retain", "outcome": outcome}, by, dry_run=dry_run)

    def revise(self, id: str, *, by: Attribution = KEEPER, dry_run: bool = False, **changes: Any) -> Case:
        """Change the situation, solution, outcome or importance of a case: the fields that are given, and no others.

        What it was before stays in its history.
        """
        if unknown := next((name for name in changes if name not in REVISABLE), None):
            raise InputError(f"a case has no {unknown[:40]!r}", hint=nearest(unknown, REVISABLE))
        case = self.get(id)
        given = {name: value for name, value in changes.items() if value is not None}
        if not given:
            raise InputError("nothing is to be changed", hint=f"give one of {', '.join(REVISABLE)}")
        for name, value in line_of(case).items():
            if isinstance(value, Mapping) and isinstance(given.get(name), Mapping):
                given[name] = {**value, **given[name]}
        whose = case.origin if case.origin is Origin.UNTRUSTED else self._whose(by)
        return self._change(case, {"op": "revise", **given, "origin": whose.value}, by, dry_run=dry_run)

    def delete(self, id: str, *, by: Attribution = KEEPER, dry_run: bool = False) -> Case:
        """Take a case out; its lines stay, and undoing the change brings it back."""
        case = self.get(id)
        if not dry_run:
            self._write([{"op": "delete", "case": case.id}], by, Action.DELETE)
        return case

    def get(self, id: str) -> Case:
        """The case with this id, or that of a line that told of it once more."""
        book = self._read().book
        name = book.names.get(text("an id", id), "")
        if name and name not in book.cases:
            raise NotFoundError(f"case {id[:80]!r} is deleted", hint="undoing that change brings it back")
        if not name:
            raise NotFoundError(f"there is no case {id[:80]!r}", hint="`memfolio case list` shows them")
        return book.cases[name]

    def list(self) -> Sequence[Case]:
        """All cases, the latest used first."""
        return sorted(self._read().book.cases.values(), key=lambda case: (case.updated_at, case.id), reverse=True)

    def history(self, id: str) -> Sequence[Mapping[str, Any]]:
        """The lines about a case, oldest first, also of one that is deleted."""
        read = self._read()
        names = read.book.names
        if (first := names.get(text("an id", id))) is None:
            raise NotFoundError(f"there never was a case {id[:80]!r}", hint="`memfolio case list` shows what there is")
        lines = map(json.loads, read.lines)
        return [line for line in lines if names.get(str(line.get("case") or line.get("id"))) == first]

    def problems(self) -> Sequence[str]:
        """Which lines of the ledger were passed over, and why."""
        return self._read().book.problems

    def _change(self, case: Case, change: Mapping[str, Any], by: Attribution, *, dry_run: bool) -> Case:
        """Add a line about a case; it has all of it, so that whoever reads it alone knows what it is about."""
        record = {**line_of(case), **change, "case": case.id}
        changed = after(case, record, self._vault.home.now())
        if (other := self._read().book.same.get(changed.key, case.id)) != case.id:
            raise ConflictError(f"{other} is this solution of this situation", hint="retain that one, delete this one")
        if not dry_run:
            self._write([record], by)
        return changed if dry_run else self.get(case.id)

    def _write(self, lines: Iterable[Mapping[str, Any]], by: Attribution, action: Action = Action.APPEND) -> Receipt:
        added = AddLines(self._ledger, tuple(lines), "C")
        return self._vault.apply(Change(operations=(added,), by=check_attribution(by), action=action))

    def _whose(self, by: Attribution) -> Origin:
        """Whose word it is: that of whoever speaks, where nobody is configured by what is said of who did it."""
        speaker = self._vault.config.speaker or ("owner" if check_attribution(by).actor == "human" else "agent")
        return Origin.OWNER if speaker == "owner" else Origin.AGENT

    def _told_like(self, context: str, include: tuple[str, ...], limit: int) -> Hits:
        """The cases that are told like a text, by words and by meaning."""
        wanted, home = Filter(forms=("case",), include=include), self._vault.home
        query = Query(
            text=context, limit=limit, depth=0, filter=wanted, now=home.now(), zone=home.zone, agents=(self._agent,)
        )
        return self._library.recall(query)

    def _read(self) -> _Read:
        """The cases as they are; after a change only the lines that it added are read."""
        index, last = self._library.index, self._last
        moment = index.moment()
        if index.trouble is not None:  # then it may lag behind that moment
            moment = ()
        if not moment or moment != last.moment:
            lines = index.read(lambda connection: record_lines(connection, "cases"))
            known = len(last.lines)
            if lines[:known] != last.lines:
                known, last = 0, _Read()
            self._last = last = _Read(moment, lines, last.book.and_then(map(json.loads, lines[known:])))
        return last
