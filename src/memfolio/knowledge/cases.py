"""The cases of one agent as a small object: what was done before in situations like this, and how it went.

The cycle of case-based reasoning: `retrieve` a case, reuse it, `revise` it where it did not fit, `retain` how it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memfolio.errors import InputError, NotFoundError
from memfolio.index.filter import QUARANTINED, Filter
from memfolio.index.records import records
from memfolio.intake import nearest
from memfolio.knowledge.case import PARTS, Book, Case, after, distinct, line_of, read_case, read_cases
from memfolio.knowledge.similar import Found, Inverted, rank, surplus
from memfolio.recall.asking.arguments import number, text, words
from memfolio.recall.asking.query import MAX_LIMIT, Query
from memfolio.recall.library import Library
from memfolio.types import Action, Attribution, Origin
from memfolio.vault.change import AddLines, Change, Receipt
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

KEEPER = Attribution(actor="bot:cases", trigger="case")
REVISABLE = (*PARTS, "importance")
TOLD = Filter(forms=("case",), include=(QUARANTINED,))
WIDE = 50
"""How many cases are looked at for their text."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The cases at a state of their files."""

    state: tuple[object, ...] | None
    lines: list[dict[str, Any]]
    book: Book
    inverted: Inverted


class Cases:
    """The cases that an agent keeps; other agents' are not among them."""

    def __init__(self, vault: Vault, library: Library, agent: str) -> None:
        self._vault = vault
        self._library = library
        self._agent = agent
        self._ledger = Ledger(f"{agent_root(agent)}/knowledge/cases", Form.LINES)
        self._last = _Read(None, [], Book(), Inverted({}))

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
        whose = origin or (Origin.OWNER if by.actor == "human" else Origin.AGENT)
        case, book = read_case({**given, "origin": whose}), self._read().book
        if known := book.same.get(case.key):
            return self.retain(known, outcome, by=by, dry_run=dry_run)
        if dry_run:
            return case
        most = self._vault.config.knowledge.cases
        going = surplus(book.cases.values(), most - 1, self._vault.home.now())
        pruned = ({"op": "delete", "case": each.id, "pruned": True} for each in going)
        return self.get(self._write([{"op": "store", **line_of(case)}, *pruned], by).ids[0])

    def retrieve(
        self,
        beliefs: Sequence[str] = (),
        desires: Sequence[str] = (),
        context: str = "",
        *,
        limit: int = 5,
        include: Iterable[str] = (),
    ) -> Sequence[Found]:
        """The cases most like a situation, best first; what failed more often than it worked is marked as a warning.

        `include` with "quarantined" brings what strangers told, too.
        """
        held, wanted = distinct("beliefs", beliefs), distinct("desires", desires)
        told = text("context", context)
        most, read = number("limit", limit, 1, MAX_LIMIT), self._read()
        if not (held or wanted or told.strip()):
            raise InputError("no situation is given", hint="name beliefs or desires, or tell the context in words")
        return rank(
            read.book.cases,
            read.inverted.overlaps(held, wanted, self._vault.config.knowledge.beliefs),
            self._by_text(told, read.book, max(most, WIDE)) if told.strip() else {},
            beliefs=frozenset(held),
            desires=frozenset(wanted),
            limit=most,
            untrusted=QUARANTINED in words("include", include),
        )

    def retain(
        self,
        case: str | Mapping[str, Any],
        outcome: Mapping[str, Any],
        *,
        by: Attribution = KEEPER,
        dry_run: bool = False,
    ) -> Case:
        """Note how a further use of a case went; `case` is its id, or an object with its situation and solution."""
        return self._change(self._meant(case), {"op": "retain", "outcome": outcome}, by, dry_run=dry_run)

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
        return self._change(case, {"op": "revise", **given}, by, dry_run=dry_run)

    def delete(self, id: str, *, by: Attribution = KEEPER, dry_run: bool = False) -> Case:
        """Take a case out; its lines stay, and undoing the change brings it back."""
        case = self.get(id)
        if not dry_run:
            self._write([{"op": "delete", "case": case.id}], by, Action.DELETE)
        return case

    def get(self, id: str) -> Case:
        """The case with this id."""
        book = self._read().book
        case = book.cases.get(book.names.get(text("an id", id), ""))
        if case is None:
            raise NotFoundError(f"there is no case {id[:80]!r}", hint="`memfolio case list` shows them")
        return case

    def list(self) -> Sequence[Case]:
        """All cases, the latest used first."""
        return sorted(self._read().book.cases.values(), key=lambda case: (case.updated_at, case.id), reverse=True)

    def history(self, id: str) -> Sequence[Mapping[str, Any]]:
        """The lines about a case, oldest first, also of one that is deleted."""
        read = self._read()
        if (first := read.book.names.get(id)) is None:
            raise NotFoundError(f"there never was a case {id[:80]!r}", hint="`memfolio case list` shows what there is")
        return [line for line in read.lines if read.book.names.get(line.get("case") or line.get("id", "")) == first]

    def problems(self) -> Sequence[str]:
        """Which lines of the ledger were passed over, and why."""
        return self._read().book.problems

    def _change(self, case: Case, change: Mapping[str, Any], by: Attribution, *, dry_run: bool) -> Case:
        """Add a line about a case; it has all of it, so that whoever reads it alone knows what it is about."""
        record = {**line_of(case), **change, "case": case.id}
        changed = after(case, record, self._vault.home.now())
        if not dry_run:
            self._write([record], by)
        return changed if dry_run else self.get(case.id)

    def _write(self, lines: Iterable[Mapping[str, Any]], by: Attribution, action: Action = Action.APPEND) -> Receipt:
        added = AddLines(self._ledger, tuple(lines), "C")
        return self._vault.apply(Change(operations=(added,), by=by, action=action))

    def _meant(self, case: str | Mapping[str, Any]) -> Case:
        if not isinstance(case, Mapping):
            return self.get(case)
        known = self._read().book.same.get(read_case({**case, "outcome": {"success": True}}).key)
        if known is None:
            raise NotFoundError("no case has this situation and this solution", hint="store it first")
        return self.get(known)

    def _by_text(self, context: str, book: Book, limit: int) -> dict[str, float]:
        """How much like a text cases are told, by words and by meaning."""
        now, zone = self._vault.home.now(), self._vault.home.zone
        query = Query(text=context, limit=limit, depth=0, filter=TOLD, now=now, zone=zone, agents=(self._agent,))
        hits = [hit for hit in self._library.recall(query) if hit.memory.id in book.names]
        return {book.names[hit.memory.id]: max(0.0, min(1.0, hit.score)) for hit in reversed(hits)}

    def _read(self) -> _Read:
        """The cases as they are; lines are read when their files have changed, and what is known of is not redone."""
        index, last = self._library.index, self._last
        index.catch_up()
        state = self._state()
        if state is None or state != last.state:
            lines = index.read(lambda connection: records(connection, "cases"))
            is_longer = lines[: len(last.lines)] == last.lines
            book = read_cases(lines[len(last.lines) :], last.book) if is_longer else read_cases(lines, Book())
            self._last = last = _Read(state, lines, book, Inverted(book.cases))
        return last

    def _state(self) -> tuple[object, ...] | None:
        """How the files of the ledger were last left; None where that is not known."""
        books, ledger = self._vault.books, self._ledger
        parts = (ledger.part(number + 1) for number in range(books.newest_part(ledger)))
        known = tuple(map(books.known, (f"{ledger.base}.jsonl", *parts)))
        return known if self._vault.trouble is None else None
