"""What a home asked of language models: one log per day, shared by all its processes, that a daily limit is kept by.

A question is reserved under a lock before it is sent, with the most that it can cost, and settled with what it did
cost. One that is never settled, since its process died, counts as reserved. Lines have numbers and names, never words
of a conversation.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

from memfolio.clock import iso
from memfolio.errors import HomeBusyError, ModelError
from memfolio.types import frozen
from memfolio.vault.disk import FileLock
from memfolio.vault.fields import local
from memfolio.vault.paths import Home

FOLDER, LOCK, HEARD = "usage", "usage.lock", "hooks/new"
"""The last one is where hooks put what hosts say: its time is that of the last event."""
PATIENCE = 10.0
UNWRITTEN = "no model is asked until the home can be written; `memfolio doctor` may know why"
MOST_SAVED = 200
"""Turns that may be saved up for later questions."""


@frozen
class Spent:
    """The use of models in one day. `reserved` is what unanswered questions may have cost."""

    day: date
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    overhead: int = 0
    """Input tokens that are not ours: those that a host's program adds."""
    reserved: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many things that models said were not taken, by the reason."""
    stopped: str = ""
    """Why nothing more is asked on this day: the provider's message about its limit."""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out + self.reserved


def spent_in(day: date, lines: Iterable[Mapping[str, Any]]) -> Spent:
    """What the lines of a day add up to."""
    waiting, dropped, sums = dict[str, int](), Counter[str](), Counter[str]()
    calls, stopped = 0, ""
    for line in lines:
        match line.get("op"):
            case "ask":
                waiting[line["id"]] = line["tokens"]
                calls += 1
            case "paid":
                waiting.pop(line["id"], None)
                sums.update({name: line[name] for name in ("in", "out", "overhead")})
            case "dropped":
                dropped[line["why"]] += line["count"]
            case "limit":
                stopped = line["says"]
    return Spent(
        day=day,
        calls=calls,
        tokens_in=sums["in"],
        tokens_out=sums["out"],
        overhead=sums["overhead"],
        reserved=sum(waiting.values()),
        dropped=dict(dropped),
        stopped=stopped,
    )


class Usage:
    """The log of one home, or where there is none of this process; threads and processes may share it."""

    def __init__(self, home: Home | None = None) -> None:
        self._home = home
        self._here: dict[date, list[dict[str, Any]]] = {}
        self._threads = threading.RLock()

    @property
    def _now(self) -> datetime:
        return local(self._home.now(), self._home.zone) if self._home else datetime.now(UTC)

    @property
    def today(self) -> date:
        return self._now.date()

    def reserve(self, model: str, tokens: int, limit: int) -> str:
        """Set tokens aside for a question, whose name is returned; ModelError where the day has no room for it.

        A limit of 0 is none.
        """
        name = token_hex(8)
        with self._locked():
            spent = self.spent(self.today)
            if spent.stopped:
                raise ModelError(f"{model} is not asked again today: {spent.stopped}", hint="it is asked tomorrow")
            if limit and spent.tokens + tokens > limit:
                raise ModelError(
                    f"the model budget is used up: {spent.tokens:,} of {limit:,} tokens are spent or reserved today, "
                    f"and the next question needs {tokens:,}",
                    hint="wait until tomorrow, or raise model.budget",
                )
            self._add("ask", id=name, model=model, tokens=tokens)
        return name

    def settle(self, name: str, tokens_in: int, tokens_out: int, overhead: int = 0) -> None:
        """Say what a question that was reserved did cost."""
        with self._locked():
            self._add("paid", id=name, **{"in": tokens_in, "out": tokens_out, "overhead": overhead})

    def stop(self, model: str, says: str) -> None:
        """Ask nothing more today: the provider said that its limit is reached."""
        with self._locked():
            self._add("limit", model=model, says=says)

    def drop(self, why: str, count: int) -> None:
        """Count what a model said and nobody takes."""
        if count:
            with self._locked():
                self._add("dropped", why=why, count=count)

    def questions(self, turns: int, per_question: int, most: int) -> int:
        """How many questions, at most so many, may be asked about turns, which are counted; the rest is saved up.

        A home begins with one question saved up, so that its first conversation need not wait.
        """
        with self._locked():
            before = self._saved(per_question)
            saved = min(before + turns, max(MOST_SAVED, turns))
            asked = min(saved // per_question, most)
            if turns or asked:
                self._add("turns", count=turns, saved=saved - asked * per_question)
        return asked

    def _saved(self, first: int) -> int:
        """The turns that were saved up, as the newest day that counted any says."""
        for day in reversed(self._days()):
            for line in reversed(list(self._lines(day))):
                if line.get("op") == "turns":
                    return int(line["saved"])
        return first

    def spent(self, day: date) -> Spent:
        """What was asked on a day."""
        return spent_in(day, self._lines(day))

    def history(self, days: int) -> list[Spent]:
        """The last days on which models were asked, newest first, of so many days."""
        since = self.today - timedelta(days=days)
        return [self.spent(day) for day in reversed(self._days()) if day > since]

    def heard_within(self, span: timedelta) -> bool:
        """Whether a host said something so lately."""
        with suppress(OSError):
            heard = (self._home.internal / HEARD).stat().st_mtime if self._home else 0.0
            return heard >= time.time() - span.total_seconds()
        return False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep everybody else from counting: what is read here and written here is one step."""
        with self._threads, ExitStack() as held:
            if self._home:
                lock = FileLock(self._home.internal / LOCK, self._home.disk, timeout=PATIENCE)
                held.callback(lock.close)
                try:
                    held.enter_context(lock())
                except (HomeBusyError, OSError) as error:
                    raise ModelError(f"what models cost cannot be noted: {error}", hint=UNWRITTEN) from error
            yield

    def _days(self) -> list[date]:
        found = list(self._here)
        for name in self._home.disk.names(self._home.internal / FOLDER) if self._home else ():
            with suppress(ValueError):
                found.append(date.fromisoformat(name.removesuffix(".jsonl")))
        return sorted(found)

    def _lines(self, day: date) -> Iterator[dict[str, Any]]:
        """The lines of a day; what a crash left of one is no line."""
        yield from self._here.get(day, ())
        data = self._home.disk.read(self._file(self._home, day)) if self._home else None
        for raw in (data or b"").splitlines():
            with suppress(ValueError):
                if isinstance(line := json.loads(raw), dict):
                    yield line

    def _file(self, home: Home, day: date) -> Path:
        return home.internal / FOLDER / f"{day}.jsonl"

    def _add(self, op: str, **line: object) -> None:
        record = {"at": iso(self._now), "op": op, **line}
        if self._home is None:
            self._here.setdefault(self.today, []).append(record)
            return
        path = self._file(self._home, self.today)
        try:
            self._home.disk.make_dirs(path.parent)
            # The line's end stands before it, so that what a crash left of the last one spoils no other.
            self._home.disk.append(path, b"\n" + json.dumps(record).encode(), sync=True)
        except OSError as error:
            raise ModelError(f"what models cost cannot be noted: {error.strerror}", hint=UNWRITTEN) from error
