"""The runs of one agent's procedures: begun, gone on with, and recorded line by line in `memory/meta/runs`."""

from __future__ import annotations

import builtins
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
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
from memfolio.procedures.runner import LONG, advance, end_line, finish_line, following, recordable
from memfolio.recall.asking.arguments import text
from memfolio.recall.library import Library
from memfolio.types import EMPTY, Action, Attribution, check_attribution
from memfolio.vault.change import AddLines, Change
from memfolio.vault.format.content import without_surrogates
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
        """Begin a run of a procedure as its page is; nothing is done before `resume`.

        It is a checklist, for which no function is called, where that is asked for or no step has a registered one.
        """
        procedure = _runnable(self._procedures.get(name))
        actions = {each for step in procedure.steps for each in (step.action, step.fallback, step.undo)}
        is_checklist = checklist or not actions & self._procedures.actions.keys()
        retries = 0 if is_checklist else self._vault.config.procedures.retries
        line = begin_line(procedure, _json(values), retries=retries, is_checklist=is_checklist)
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
            if values:
                run = self._add(run, {"op": "set", "values": _json(values)}, by)
            return self._advanced(run, by)

    def done(
        self,
        id: str,
        *,
        ok: bool = True,
        error: str = "",
        result: Any = None,
        step: int | None = None,
        by: Attribution = BY,
    ) -> Run:
        """Tell how the step went that a run waits for, or of which it does not know, and go on.

        With `step`, ConflictError is raised where the run waits for another one, as when it was told already.
        """
        outcome = Outcome.DONE if ok else Outcome.FAILED
        told = {"result": recordable(result)} if ok else {"error": (error or "it failed")[:LONG]}
        return self._told(id, outcome, by, told, step)

    def redo(self, id: str, *, by: Attribution = BY) -> Run:
        """Say that a step in doubt was not done, and go on with another try of it."""
        return self._told(id, Outcome.FAILED, by, {"error": "was not done", "redo": True})

    def skip(self, id: str, *, by: Attribution = BY) -> Run:
        """Leave out the step that a run waits for, and go on."""
        return self._told(id, Outcome.SKIPPED, by, {})

    def abandon(self, id: str, *, by: Attribution = BY) -> Run:
        """End a run where it is; nothing is taken back, and it counts neither as a success nor as a failure."""
        with self._alone(id) as run:
            return self._add(run, end_line(run, Outcome.ABANDONED, self._vault.home.now()), by)

    def get(self, id: str) -> Run:
        """A run as it stands, what it waits for, and whether its page has changed since."""
        about = without_surrogates(text("a run", id))
        run = fold(self._library.index.read(lambda connection: records(connection, "runs", about)))
        if run is None:
            raise NotFoundError(f"there is no run {id[:80]!r}", hint="`memfolio workflow list` shows them")
        return self._seen(run)[0]

    def list(self, procedure: str | None = None, *, open_only: bool = False) -> builtins.list[Run]:
        """The runs, the latest first, of one procedure or of all."""
        lines: dict[str, builtins.list[Line]] = {}
        for line in self._library.index.read(lambda connection: records(connection, "runs")):
            lines.setdefault(str(line.get("run") or line["id"]), []).append(line)
        found = [run for run in map(fold, lines.values()) if run and procedure in (None, run.procedure)]
        wanted = [run for run in found if not (open_only and run.outcome)]
        return self._seen(*sorted(wanted, key=lambda run: (run.began, run.id), reverse=True))

    def _told(self, id: str, outcome: Outcome, by: Attribution, told: Line, step: int | None = None) -> Run:
        with self._alone(id) as run:
            waiting, wanted = run.waiting, f"step {step}" if step is not None else "any step"
            if waiting is None or waiting.kind == "value" or step not in (None, waiting.step):
                waits = ", ".join(waiting.names) or f"step {waiting.step}" if waiting else "nothing"
                raise ConflictError(
                    f"run {id} does not wait for {wanted}, but for {waits}", hint="look at it, resume it"
                )
            seconds = (self._vault.home.now() - run.of(waiting.step, waiting.way).began).total_seconds()
            if waiting.way is Way.UNDO and outcome is Outcome.DONE:
                outcome = Outcome.UNDONE
            run = self._add(run, finish_line(waiting.step, waiting.way, outcome, seconds, **told), by)
            return self._advanced(run, by)

    def _advanced(self, run: Run, by: Attribution) -> Run:
        write, now = partial(self._add, by=by), self._vault.home.now
        return self._seen(advance(run, self._procedures.actions, write, now=now, sleep=self.sleep))[0]

    def _add(self, run: Run, line: Line, by: Attribution) -> Run:
        run = after_line(run, self._written({**line, "run": run.id}, by))
        if run.outcome is not None:  # whoever takes the lock from here on finds that it has ended
            with suppress(OSError):
                self._vault.home.disk.unlink(self._lock(run.id))
        return run

    def _written(self, line: Line, by: Attribution) -> Line:
        """Add a line to the ledger; gives it as it stands there. What is asked for again must not be changed on it."""
        change = Change(
            operations=(AddLines(self._ledger, (line,), "X"),), by=check_attribution(by), action=Action.APPEND
        )
        cleaned = self._vault.guard.clean(change) if self._vault.guard else change
        [kept] = [record for each in cleaned.operations if isinstance(each, AddLines) for record in each.records]
        if _needed(kept) != _needed(line):
            raise InputError(
                "a value or an argument looks like a secret, and would not be kept as it is",
                hint="leave it out, and let the function that needs it find it by itself",
            )
        receipt = self._vault.apply(cleaned)
        return {**kept, "id": receipt.ids[0], "at": receipt.at}

    def _seen(self, *runs: Run) -> builtins.list[Run]:
        """The runs with what they wait for, though their time be up, and what became of their pages."""
        pages = {each.name: each for each in self._procedures.list(retired=True)}
        found: builtins.list[Run] = []
        for run in runs:
            move = None if run.outcome else following(run, self._procedures.actions, run.began)
            page = pages.get(run.procedure)
            same = "" if page is None or page.hash == run.hash else "changed"
            became = "gone" if page is None else "retired" if page.is_retired else same
            found.append(replace(run, waiting=move if isinstance(move, Waiting) else None, page=became))
        return found

    def _lock(self, id: str) -> Path:
        return self._vault.home.internal / f"run-{blake2b(repr(id).encode(), digest_size=8).hexdigest()}.lock"

    @contextmanager
    def _alone(self, id: str) -> Iterator[Run]:
        """The run as it is, with which nobody else can go on meanwhile; what of it is on disk is seen whole."""
        self._unended(id)  # before a lock is made for it
        lock = FileLock(self._lock(id), self._vault.home.disk, timeout=0)
        try:
            with ExitStack() as held:
                try:
                    held.enter_context(lock())
                except HomeBusyError as error:
                    hint = "wait until it has ended or waits, then look at it again"
                    raise ConflictError(f"run {id} is under way in another process or thread", hint=hint) from error
                yield self._unended(id)
        finally:
            lock.close()

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


def _json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that can be recorded, as they will be read again."""
    try:
        kept = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the values are no JSON: {error}", hint="give texts, numbers, lists and objects") from error
    return {str(name): value for name, value in kept.items()}


def _needed(line: Line) -> tuple[Any, ...]:
    return line.get("values"), [step.get("arguments") for step in line.get("steps", ())]
