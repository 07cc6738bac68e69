"""The procedures of an agent, read from and written to its pages `memory/procedures/<name>.md`."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any

from memfolio.arguments import check_known, check_string, choose, nearest
from memfolio.errors import ConflictError, InputError, NotFoundError, PathError
from memfolio.graph.entities import free_name, slug
from memfolio.index.lookup import newest
from memfolio.index.search import QUARANTINED, Filter
from memfolio.llm.model import Model
from memfolio.procedures import learn as matching
from memfolio.procedures import page as trees
from memfolio.procedures.learn import ProcedureChange, bumped, episodes_of, intend, lessons, lessons_told_twice, refined
from memfolio.procedures.page import ProcedurePage, read, read_span, render
from memfolio.procedures.procedure import Branch, Procedure, ProcedureForm, Refinement, Step
from memfolio.recall.query import check_number, words
from memfolio.recall.searcher import Searcher
from memfolio.stores.checkpoint import make
from memfolio.types import EMPTY, Action, Attribution, check_attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.fields import without_surrogates
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.paths import agent_root, check_path
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:procedures", trigger="procedure")
LEARNER = Attribution(actor="bot:procedures", trigger="learn")
KINDS = ("optimization", "bugfix", "adaptation")
LATELY = 2000
"""How many memories are looked at for something to learn, the latest."""
LONGEST_TITLE = 200
_LISTS = ("triggers", "preconditions", "postconditions", "notes", "learned_from")
_CHANGEABLE = ("title", "form", "description", "steps", "tree", "errors", "timeout", *_LISTS)
_STARTS = re.compile(r"^ {0,2}1[.)] ", re.MULTILINE)

Edit = Callable[[Procedure], Procedure]


class Procedures:
    """The procedures of one agent. `actions` are the functions that steps may name, by their names."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str, *, model: Model | None = None) -> None:
        self._vault = vault
        self._searcher = searcher
        self._model = model
        self._agent = agent
        self._folder = f"{agent_root(agent)}/memory/procedures"
        self._read: dict[str, Procedure] = {}
        self.actions: dict[str, Callable[..., Any]] = {}

    def register(self, action: str, function: Callable[..., Any]) -> None:
        """Let steps name a function; only functions that are registered are ever called."""
        if not re.fullmatch(r"[\w.-]+", check_string("action", action)):
            raise InputError(f"{action[:40]!r} is no name of an action", hint="use letters, digits, ., _ and -")
        if not callable(function):
            raise InputError(f"{action} is a {type(function).__name__}, no function", hint="pass a function")
        self.actions[action] = function

    def list(self, *, retired: bool = False) -> builtins.list[Procedure]:
        """All that are in use, by name; with `retired` those too that are not."""
        # A page that was just saved in an editor counts.
        self._vault.refresh()
        paths = sorted(path for path in self._vault.states() if re.fullmatch(rf"{self._folder}/[^/]+\.md", path))
        found = [each for path in paths if (each := self._at(path))]
        return [each for each in found if retired or not each.is_retired]

    def get(self, name: str) -> Procedure:
        """A procedure, by the name of its page or by its title."""
        wanted = check_string("name", name).strip().removesuffix(".md").casefold()
        known = self.list(retired=True)
        # The name of a page is unique, a title need not be.
        for key in ("name", "title"):
            for each in known:
                if getattr(each, key).casefold() == wanted:
                    return each
        hint = nearest(wanted, [each.name for each in known]) if known else "`memfolio procedure add` makes one"
        raise NotFoundError(f"there is no procedure {name[:60]!r}", hint=hint)

    def match(self, text: str, limit: int = 5) -> builtins.list[matching.ProcedureMatch]:
        """Return procedures that match what somebody says, the most likely first."""
        return matching.match(self.list(), text, limit=check_number("limit", limit, 1, 100))

    def due(
        self, now: datetime | None = None, last: Mapping[str, datetime] = EMPTY
    ) -> builtins.list[matching.DueProcedure]:
        """Return procedures that became due since they were last done (`last`, by name), or else today."""
        return matching.due(self.list(), (now or self._vault.home.now()).astimezone(self._vault.home.zone), last)

    def decide(self, name: str, answers: Mapping[str, Any] | Sequence[Any] = ()) -> trees.TreeDecision:
        """Follow a decision tree with the given answers."""
        procedure = self.get(name)
        if procedure.tree is None:
            raise InputError(f"{procedure.name} has no decision tree", hint="`memfolio procedure list` says which have")
        return trees.decide(procedure.tree, answers)

    def problems(self) -> builtins.list[str]:
        """Return the problems of all pages; unknown actions count only once functions are registered."""
        return [f"{each.path}: {problem}" for each in self.list(retired=True) for problem in self._problems(each)]

    def forgotten(self, name: str) -> builtins.list[str]:
        """The memories that a procedure was learned from and that were forgotten since; its page keeps their words."""
        known = self._searcher.known(set(self.get(name).learned_from))
        return sorted(each for each, item in known.items() if item.forgotten_at)

    def add(self, title: str, *, by: Attribution = BY, dry_run: bool = False, **parts: Any) -> Procedure:
        """Create a page. `parts` are steps or a tree, form, triggers and the other fields of a procedure.

        A step is a text; lines such as `- action: notify(channel=dev)` below the first are its fields.
        """
        given = _checked({"title": title, "form": "decision" if parts.get("tree") else "skill", **parts})
        if not (given.get("steps") or given.get("tree")):
            raise InputError("there are no steps, and no tree", hint="say how it is done, step by step")
        return self._made(given, by, dry_run=dry_run)

    def update(
        self,
        name: str,
        *,
        reason: str,
        kind: str = "adaptation",
        by: Attribution = BY,
        dry_run: bool = False,
        **changes: Any,
    ) -> Procedure:
        """Change parts of a procedure: its version goes up, and its history says why (optimization, bugfix, …)."""
        given = _checked(changes)
        check_known("unknown kind of change", [kind], KINDS)
        if not given or not check_string("reason", reason).strip():
            raise InputError("nothing is to be changed, or no reason is given", hint=f"change {', '.join(_CHANGEABLE)}")
        return self._edit(name, partial(self._noted, given, kind, _line("reason", reason)), by, dry_run=dry_run)

    def retire(self, name: str, reason: str, *, by: Attribution = BY, dry_run: bool = False) -> Procedure:
        """Take a procedure out of use; its page stays."""
        told = _line("reason", reason) or "retired"
        return self._edit(name, partial(self._noted, {"is_retired": True}, "retired", told), by, dry_run=dry_run)

    def restore(self, name: str, *, by: Attribution = BY, dry_run: bool = False) -> Procedure:
        """Take a retired procedure into use again."""
        change = partial(self._noted, {"is_retired": False}, "restored", "in use again")
        return self._edit(name, change, by, dry_run=dry_run)

    def learn(
        self, *, since: datetime | None = None, by: Attribution = LEARNER, dry_run: bool = False
    ) -> builtins.list[ProcedureChange]:
        """Learn from recent episodes, or from conversations that continued since a moment.

        Each lesson is one change. The audit trail shows what was learned from, so that no lesson is learned twice,
        even if its page was deleted.
        """
        wanted = Filter(forms=("memory",), include=(QUARANTINED,))
        told = self._searcher.index.read(lambda connection: newest(connection, wanted, LATELY))
        episodes = episodes_of(told)
        recent = [turns for turns in episodes if since is None or turns[-1].created_at >= since]
        known = {each.name: each for each in self.list(retired=True)}
        done: builtins.list[ProcedureChange] = []
        # What was told twice may have been told first long before.
        for lesson in chain(
            lessons(recent, self._is_learned, self._model), lessons_told_twice(episodes, self._is_learned)
        ):
            intent = intend(lesson, known.values(), self._today())
            if intent is None:
                continue
            # Words that no page can hold teach nothing; what somebody else learned or deleted meanwhile is theirs.
            with suppress(InputError, ConflictError, NotFoundError):
                made = self._learned(intent, by, dry_run=dry_run)
                known[made.name] = made
                done.append(replace(intent, procedure=made))
        return done

    def _learned(self, intent: ProcedureChange, by: Attribution, *, dry_run: bool) -> Procedure:
        lesson, mark = intent.lesson, self._mark(intent.lesson.sources[0])
        if intent.before is None:
            names = ("title", "steps", "triggers", "learned_from")
            given = _checked({name: getattr(intent.procedure, name) for name in names})
            return self._made(given, by, dry_run=dry_run, mark=mark)
        if dry_run:  # it may be one that only this dry run knows
            return intent.procedure

        def change(before: Procedure) -> Procedure:
            # Judged by the page as it is under the lock, not by that of which the lesson was compared.
            if (after := refined(before, lesson, self._today())) == before:
                raise ConflictError(f"{before.name} says this already", hint="there is nothing to learn")
            return after

        return self._edit(intent.before, change, by, dry_run=dry_run, mark=mark)

    def _is_learned(self, source: str) -> bool:
        return self._vault.was_made(self._mark(source)) is not None

    def _mark(self, source: str) -> str:
        """Return the idempotency key under which a memory's lesson is learned once."""
        return self._vault.home.key_mark(self._agent, f"procedure {source}")

    def _noted(self, given: Mapping[str, Any], kind: str, reason: str, before: Procedure) -> Procedure:
        """A procedure with other parts, and a line in its history."""
        after = replace(before, **given)
        # To retire or restore changes nothing of how it is done.
        version = bumped(before.version) if kind in KINDS else before.version
        line = Refinement(at=self._today(), version=version, kind=kind, text=reason)
        return before if after == before else replace(after, version=version, history=(*before.history, line))

    def _made(self, given: Mapping[str, Any], by: Attribution, *, dry_run: bool, mark: str | None = None) -> Procedure:
        def compose() -> tuple[Procedure, Change]:
            path = self._free(given["title"])
            made = Procedure(**given, name=path.rpartition("/")[2].removesuffix(".md"), path=path)
            put = PutPage(path, to_bytes(_sound(made, render(made))), None)
            return made, Change(operations=(put,), by=check_attribution(by), action=Action.CREATE, key=mark)

        return self._done(compose, dry_run=dry_run)

    def _edit(self, name: str, change: Edit, by: Attribution, *, dry_run: bool, mark: str | None = None) -> Procedure:
        path = self.get(name).path

        def compose() -> tuple[Procedure, Change | None]:
            found = self._vault.page(path)
            if found is None:
                raise NotFoundError(f"{path} is gone", hint="`memfolio procedure list` shows those that are there")
            page = ProcedurePage(path, to_text(found.content))
            after = change(page.procedure)
            if after == page.procedure:
                return after, None
            put = PutPage(path, to_bytes(_sound(after, page.editing(after))), found.hash)
            return after, Change(operations=(put,), by=check_attribution(by), action=Action.EDIT, key=mark)

        return self._done(compose, dry_run=dry_run)

    def _done(self, compose: Callable[[], tuple[Procedure, Change | None]], *, dry_run: bool) -> Procedure:
        made, _, receipt = make(self._vault, compose, dry_run=dry_run)
        if receipt and receipt.repeated:
            raise ConflictError("this was learned before", hint="`memfolio procedure list` shows what was learned")
        return (self._at(made.path) or made) if receipt else made

    def _today(self) -> str:
        return self._vault.home.now().astimezone(self._vault.home.zone).date().isoformat()

    def _at(self, path: str) -> Procedure | None:
        """Return the procedure on a page; the page is parsed again when it has changed."""
        page = self._vault.page(path)
        if page is None:
            return None
        known = self._read.get(path)
        if known is None or known.hash != page.hash:
            known = replace(read(path, without_surrogates(to_text(page.content))), hash=page.hash)
            self._read[path] = known
        return known

    def _free(self, title: str) -> str:
        """The path of a page that is not there yet."""
        base = slug(title)
        try:
            check_path(f"{self._folder}/{base}.md")
        except PathError:
            # Some names, such as con or aux, cannot be files on every system.
            base = f"to-{base}"
        name = free_name(base, lambda name: self._vault.page(f"{self._folder}/{name}.md") is None)
        return f"{self._folder}/{name}.md"

    def _problems(self, procedure: Procedure) -> Iterable[str]:
        yield from procedure.problems
        for step in procedure.steps if self.actions else ():
            if step.action and step.action not in self.actions:
                yield f"step {step.number} names the action {step.action[:60]!r}, which nobody registered"
        for trigger in procedure.triggers:
            try:
                matching.times_of(trigger)
            except InputError as error:
                yield f"the trigger {trigger[:60]!r}: {error.message}"


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the given parts of a procedure to its field types; None counts as not given."""
    check_known("a procedure has no", given, _CHANGEABLE)
    return {name: _part(name, value) for name, value in given.items() if value is not None}


def _part(name: str, value: Any) -> Any:
    if name == "form":
        return choose(ProcedureForm, name, value)
    if name == "steps":
        return _steps(value)
    if name == "tree":
        return value if isinstance(value, Branch) else _read_back(f"## Tree\n{check_string(name, value)}").tree
    if name == "timeout":
        return value if isinstance(value, timedelta) else read_span(check_string(name, value))
    if name == "errors":
        return {_line(name, key): _line(name, each) for key, each in dict(value).items()}
    if name in _LISTS:
        return tuple(filter(None, (_line(name, each) for each in words(name, value))))
    line = _line(name, value)
    if name == "title" and not 0 < len(line) <= LONGEST_TITLE:
        raise InputError("a procedure needs a title", hint=f"give one of at most {LONGEST_TITLE} characters")
    return line


def _line(name: str, value: object) -> str:
    return " ".join(without_surrogates(check_string(name, value)).split())


def _steps(given: str | Iterable[Step | str]) -> tuple[Step, ...]:
    """Parse steps, given as the text of a page, numbered or one per line, or as a list."""
    if isinstance(given, str) and _STARTS.search(given):
        return _read_back(f"## Steps\n{given}").steps
    listed = [line for line in given.splitlines() if line.strip()] if isinstance(given, str) else given
    return tuple(replace(_one_step(each), number=at) for at, each in enumerate(listed, 1))


def _one_step(given: Step | str) -> Step:
    if isinstance(given, Step):  # whether a page can say it is seen when the page is made
        return given
    lines = check_string("a step", given).strip().splitlines()
    [step] = _read_back("\n   ".join(["## Steps\n1. " + "".join(lines[:1]), *lines[1:]])).steps
    return step


def _read_back(section: str) -> Procedure:
    found = read("given.md", f"# given\n\n{section}\n")
    if found.problems:
        raise InputError(f"this makes no sense: {found.problems[0].partition(': ')[2]}", hint="see docs/procedures.md")
    return found


def _sound(procedure: Procedure, page: str) -> str:
    """Return the page if reading it back gives the same procedure."""
    again = read(procedure.path, page)
    names = (each.name for each in fields(again) if each.compare and each.name != "problems")
    wrong = next((name for name in names if getattr(again, name) != getattr(procedure, name)), None)
    if wrong:
        hint = again.problems[0] if again.problems else "use plain lines without Markdown marks"
        raise InputError(f"the {wrong} cannot be written like this", hint=hint)
    return page
