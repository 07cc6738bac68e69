"""The runs of one agent's procedures: begun, gone on with, and recorded line by line in `memory/meta/runs`."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memfolio.errors import ConflictError, HomeBusyError, HomeError, IndexBusyError, InputError, NotFoundError
from memfolio.index.records import records
from memfolio.procedures.procedure import Procedure
from memfolio.procedures.procedures import Procedures
from memfolio.procedures.run import Line, Outcome, Run, Waiting, Way, begin_line, fold
from memfolio.procedures.run import after as after_line
from memfolio.procedures.runner import advance, end_line, finish_line, following, recordable
from memfolio.recall.asking.arguments import text
from memfolio.recall.library import Library
from memfolio.types import EMPTY, Action, Attribution, check_attribution
from memfolio.vault.change import AddLines, Change
from memfolio.vault.disk import disk_errors
from memfolio.vault.format.content import without_surrogates
from memfolio.vault.format.fields import plain_object
from memfolio.vault.lock import FileLock
from memfolio.vault.paths import Form, Ledger, agent_root
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:runs", trigger="workflow")


class Runs:
    """Runs of one agent; a run goes on in one process and thread at a time."""

    def __init__(self, vault: Vault, library: Library, agent: str, procedures: Procedures) -> None:
        self._vault, self._library, self._procedures = vault, library, procedures
        self._ledger = Ledger(f"{agent_root(agent)}/memory/meta/runs", Form.LINES)
        self.sleep: Callable[[float], None] = time.sleep
        """Waits so many seconds before a step is tried again."""

    def start(self, name: str, values: Line = EMPTY, *, checklist: bool = False, by: Attribution = BY) -> Run:
        """Begin a run of a procedure as its page is; nothing is done before `resume`. A checklist calls no function."""
        procedure, retries = _runnable(self._procedures.get(name)), self._vault.config.procedures.retries
        calls = {} if checklist else self._procedures.actions
        steps = [
            replace(each, retries=retries) if each.retries is None and each.action in calls else each
            for each in procedure.steps
        ]
        line = begin_line(replace(procedure, steps=tuple(steps)), _json(values), is_checklist=checklist)
        return self.get(str(self._written(line, by)["id"]))

    def run(self, name: str, values: Line = EMPTY, *, checklist: bool = False, by: Attribution = BY) -> Run:
        """Begin a run and go as far as it can."""
        return self.resume(self.start(name, values, checklist=checklist, by=by).id, by=by)

    def resume(self, id: str, values: Line = EMPTY, *, by: Attribution = BY) -> Run:
        """Go on with a run, with values that it asks for; one that has ended is returned as it is.

        Raises ConflictError where it is under way elsewhere.
        """
        if (run := self.get(id)).outcome is not None:
            return run
        with self._alone(id) as run:
            return self._advanced(self._add(run, {"op": "set", "values": _json(values)}, by) if values else run, by)

    def done(
        self,
        id: str,
        *,
        ok: bool = True,
        error: str = "",
        result: Any = None,
        turn: int | None = None,
        by: Attribution = BY,
    ) -> Run:
        """Tell how the step went that a run waits for, or of which it does not know, and go on.

        With `turn`, that of `run.waiting`, ConflictError is raised where the run waits for another try, as when
        somebody told of it already.
        """
        if ok:
            return self._told(id, Outcome.DONE, by, turn, result=recordable(result))
        return self._told(id, Outcome.FAILED, by, turn, error=error or "it failed")

    def redo(self, id: str, *, by: Attribution = BY) -> Run:
        """Say that a step in doubt was not done, and go on with another try of it."""
        return self._told(id, Outcome.FAILED, by, error="was not done", redo=True)

    def skip(self, id: str, *, by: Attribution = BY) -> Run:
        """Leave out the step that a run waits for, and go on."""
        return self._told(id, Outcome.SKIPPED, by)

    def abandon(self, id: str, *, by: Attribution = BY) -> Run:
        """End a run where it is; nothing is taken back, and it counts neither as a success nor as a failure."""
        with self._alone(id) as run:
            return self._add(run, end_line(run, Outcome.ABANDONED, self._vault.home.now()), by)

    def get(self, id: str) -> Run:
        """A run as it stands, what it waits for, and whether its page has changed since."""
        about = without_surrogates(text("a run", id))
        lines = self._library.index.read(lambda connection: records(connection, "runs", about))
        if (run := fold(lines)) is None:
            wrong = f"the first line of run {id[:80]!r} makes no sense" if lines else f"there is no run {id[:80]!r}"
            raise NotFoundError(wrong, hint="`memfolio workflow list` shows those that there are")
        return self._seen(run)

    def list(self, procedure: str | None = None, *, open_only: bool = False) -> builtins.list[Run]:
        """The runs, the latest first, of one procedure or of all."""
        lines: dict[str, builtins.list[Line]] = {}
        for line in self._library.index.read(lambda connection: records(connection, "runs")):
            lines.setdefault(str(line.get("run") or line["id"]), []).append(line)
        found = [run for run in map(fold, lines.values()) if run and procedure in (None, run.procedure)]
        wanted = [self._seen(run) for run in found if not (open_only and run.outcome)]
        return sorted(wanted, key=lambda run: (run.began, run.id), reverse=True)

    def _told(self, id: str, outcome: Outcome, by: Attribution, turn: int | None = None, **more: Any) -> Run:
        with self._alone(id) as run:
            waiting = run.waiting
            if waiting is None or waiting.kind == "value" or turn not in (None, waiting.turn):
                waits = (", ".join(waiting.names) or f"step {waiting.step}") if waiting else "nothing"
                raise ConflictError(f"this is not what run {id} waits for, but {waits}", hint="look at it, resume it")
            seconds = (self._vault.home.now() - run.of(waiting.step, waiting.way).began).total_seconds()
            if waiting.way is Way.UNDO and outcome is Outcome.DONE:
                outcome = Outcome.UNDONE
            run = self._add(run, finish_line(waiting.step, waiting.way, outcome, seconds, **more), by)
            return self._advanced(run, by)

    def _advanced(self, run: Run, by: Attribution) -> Run:
        write, now = partial(self._add, by=by), self._vault.home.now
        return self._seen(advance(run, self._procedures.actions, write, now=now, sleep=self.sleep))

    def _add(self, run: Run, line: Line, by: Attribution) -> Run:
        run = after_line(run, self._written({**line, "run": run.id}, by))
        if run.outcome is not None:  # whoever takes the lock from here on finds that it has ended
            with suppress(OSError):
                self._vault.home.disk.unlink(self._lock(run.id))
        return run

    def _written(self, line: Line, by: Attribution) -> Line:
        """Add a line to the ledger; gives it as it stands there. What is asked for again must not be changed on it."""
        adding = AddLines(self._ledger, (line,), "X")
        change = Change(operations=(adding,), by=check_attribution(by), action=Action.APPEND)
        cleaned = self._vault.guard.clean(change) if self._vault.guard else change
        [kept] = [record for each in cleaned.operations if isinstance(each, AddLines) for record in each.records]
        if _needed(kept) != _needed(line):
            raise InputError(
                "a value or an argument looks like a secret, and would not be kept as it is",
                hint="leave it out, and let the function that needs it find it by itself",
            )
        receipt = self._vault.apply(cleaned)
        return {**kept, "id": receipt.ids[0], "at": receipt.at}

    def _seen(self, run: Run) -> Run:
        """The run with what it waits for, though its time be up."""
        move = None if run.outcome else following(run, self._procedures.actions, run.began)
        return replace(run, waiting=move if isinstance(move, Waiting) else None)

    def _lock(self, id: str) -> Path:
        return self._vault.home.internal / f"run-{blake2b(repr(id).encode(), digest_size=8).hexdigest()}.lock"

    @contextmanager
    def _alone(self, id: str) -> Iterator[Run]:
        """The run as it is, with which nobody else can go on meanwhile; what of it is on disk is seen whole."""
        self._unended(id)  # before a lock is made for it
        with closing(FileLock(self._lock(id), self._vault.home.disk, timeout=0)) as lock, ExitStack() as held:
            try:
                with disk_errors(self._vault.home.root):
                    held.enter_context(lock())
            except HomeBusyError as error:
                hint = "wait until it has ended or waits, then look at it again"
                raise ConflictError(f"run {id} is under way in another process or thread", hint=hint) from error
            yield self._unended(id)

    def _unended(self, id: str) -> Run:
        run, trouble = self.get(id), self._library.index.trouble
        if isinstance(trouble, HomeError | IndexBusyError):  # then lines may be missing
            raise trouble
        if run.outcome is not None:
            raise ConflictError(f"run {run.id} has ended: {run.outcome}", hint="start another one")
        return run


def _runnable(procedure: Procedure) -> Procedure:
    if procedure.is_retired:
        raise ConflictError(f"{procedure.name} is retired", hint="restore it first")
    if procedure.problems:
        raise InputError(f"{procedure.path}, {procedure.problems[0]}", hint="mend the page first")
    if not procedure.steps:
        raise InputError(f"{procedure.name} has no steps", hint="a decision tree is decided, not run")
    return procedure


def _json(values: Line) -> dict[str, Any]:
    """Values as they will be read again; raises InputError for those that cannot be recorded."""
    if not isinstance(values, Mapping):
        raise InputError(f"the values are a {type(values).__name__}", hint="give them by their names")
    return plain_object(values, "values", 1)


def _needed(line: Line) -> tuple[Any, ...]:
    return line.get("values"), [step.get("arguments") for step in line.get("steps", ())]
