"""What an agent knows how to do, as a small object over its pages `memory/procedures/<name>.md`."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, count
from typing import Any

from memfolio.errors import InputError, NotFoundError, PathError
from memfolio.graph.cast import slug
from memfolio.index.filter import Filter
from memfolio.index.lookup import newest
from memfolio.intake import choose, nearest
from memfolio.llm.model import Model
from memfolio.procedures import decide as trees
from memfolio.procedures import match as matching
from memfolio.procedures.learn import episodes_of, lessons
from memfolio.procedures.page import ProcedurePage, read, read_span, render, step_text
from memfolio.procedures.procedure import Branch, Form, Procedure, Refinement, Step
from memfolio.procedures.refine import Intent, bumped, cited, intend, refined
from memfolio.recall.asking.arguments import number, text, words
from memfolio.recall.library import Library
from memfolio.stores.composing import make
from memfolio.types import EMPTY, Action, Attribution, check_attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.format.content import without_surrogates
from memfolio.vault.paths import agent_root, check_path
from memfolio.vault.recent import to_bytes, to_text
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


class Procedures:
    """The procedures of one agent. `actions` are the functions that steps may name, by their names."""

    def __init__(self, vault: Vault, library: Library, agent: str, *, model: Model | None = None) -> None:
        self._vault = vault
        self._library = library
        self._model = model
        self._folder = f"{agent_root(agent)}/memory/procedures"
        self._read: dict[str, Procedure] = {}
        self.actions: dict[str, Callable[..., Any]] = {}

    def register(self, action: str, function: Callable[..., Any]) -> None:
        """Let steps name a function; only functions that are registered are ever called."""
        if not re.fullmatch(r"[\w.-]+", text("action", action)):
            raise InputError(f"{action[:40]!r} is no name of an action", hint="use letters, digits, ., _ and -")
        if not callable(function):
            raise InputError(f"{action} is a {type(function).__name__}, no function", hint="pass a function")
        self.actions[action] = function

    def list(self, *, retired: bool = False) -> builtins.list[Procedure]:
        """All that are in use, by name; with `retired` those too that are not."""
        self._vault.refresh()
        paths = sorted(path for path in self._vault.states() if self._is_page(path))
        found = [each for path in paths if (each := self._at(path))]
        return [each for each in found if retired or not each.is_retired]

    def get(self, name: str) -> Procedure:
        """A procedure, by the name of its page or by its title."""
        wanted = text("name", name).strip().removesuffix(".md").casefold()
        known = self.list(retired=True)
        for key in ("name", "title"):
            for each in known:
                if getattr(each, key).casefold() == wanted:
                    return each
        hint = nearest(wanted, [each.name for each in known]) if known else "`memfolio procedure add` makes one"
        raise NotFoundError(f"there is no procedure {name[:60]!r}", hint=hint)

    def match(self, text: str, limit: int = 5) -> builtins.list[matching.Match]:
        """Those that what somebody says may call for, the likeliest first."""
        return matching.match(self.list(), text, limit=number("limit", limit, 1, 100))

    def due(self, now: datetime | None = None, last: Mapping[str, datetime] = EMPTY) -> builtins.list[matching.Due]:
        """Those whose time of day has come since they were last done (`last`, by name), else on this day."""
        return matching.due(self.list(), (now or self._vault.home.now()).astimezone(self._vault.home.zone), last)

    def decide(self, name: str, answers: Mapping[str, Any] | Sequence[Any] = ()) -> trees.Decided:
        """Where answers lead in a decision tree."""
        procedure = self.get(name)
        if procedure.tree is None:
            raise InputError(f"{procedure.name} has no decision tree", hint="`memfolio procedure list` says which have")
        return trees.decide(procedure.tree, answers)

    def problems(self) -> builtins.list[str]:
        """What on the pages makes no sense, each with its page; actions count once functions are registered."""
        return [f"{each.path}: {problem}" for each in self.list(retired=True) for problem in self._problems(each)]

    def add(
        self,
        title: str,
        *,
        steps: str | Iterable[Step | str] = (),
        form: Form | str = Form.SKILL,
        by: Attribution = BY,
        dry_run: bool = False,
        **further: Any,
    ) -> Procedure:
        """Make a page. `further` are triggers, preconditions, tree and the other parts of a procedure.

        A step is a text, in which lines such as `- action: notify(channel=dev)` below the first are its fields.
        """
        given = _checked({"title": title, "steps": steps, "form": form, **further})
        if not (given.get("steps") or given.get("tree")):
            raise InputError("there are no steps, and no tree", hint="say how it is done, step by step")

        def compose() -> tuple[Procedure, Change]:
            name, path = self._free(given["title"])
            made = Procedure(**given, name=name, path=path)
            put = PutPage(made.path, to_bytes(_sound(made, render(made))), None)
            return made, Change(operations=(put,), by=check_attribution(by), action=Action.CREATE)

        return self._made(compose, dry_run=dry_run)

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
        if kind not in KINDS:
            raise InputError(f"unknown kind of change {str(kind)[:40]!r}", hint=nearest(str(kind), KINDS))
        if not given or not text("reason", reason).strip():
            raise InputError("nothing is to be changed, or no reason is given", hint=f"change {', '.join(_CHANGEABLE)}")

        return self._changed(name, given, (kind, reason), by, dry_run=dry_run)

    def retire(self, name: str, reason: str, *, by: Attribution = BY, dry_run: bool = False) -> Procedure:
        """Take a procedure out of use; its page stays."""
        return self._changed(name, {"is_retired": True}, ("retired", reason), by, dry_run=dry_run)

    def restore(self, name: str, *, by: Attribution = BY, dry_run: bool = False) -> Procedure:
        """Take a retired procedure into use again."""
        return self._changed(name, {"is_retired": False}, ("restored", "in use again"), by, dry_run=dry_run)

    def learn(
        self, *, since: datetime | None = None, by: Attribution = LEARNER, dry_run: bool = False
    ) -> builtins.list[Intent]:
        """Learn from what was done lately, or since a moment; each lesson is one change, and none is learned twice."""
        wanted = Filter(forms=("memory",), since=since)
        told = self._library.index.read(lambda connection: newest(connection, wanted, LATELY))
        known = {each.name: each for each in self.list(retired=True)}
        done: builtins.list[Intent] = []
        for lesson in lessons(episodes_of(told), cited(known.values()), self._model):
            intent = intend(lesson, known.values(), self._today())
            with suppress(InputError):  # words that no page can hold teach nothing, and stop no other lesson
                made = self._learned(intent, by, dry_run=dry_run) if intent else None
                if intent and made:
                    known[made.name] = made
                    done.append(replace(intent, procedure=made))
        return done

    def _learned(self, intent: Intent, by: Attribution, *, dry_run: bool) -> Procedure:
        if intent.before is not None and dry_run:  # it may be one that only this dry run knows
            return intent.procedure
        if intent.before is not None:
            change = partial(refined, lesson=intent.lesson, day=self._today())
            return self._edit(intent.before, change, by, dry_run=dry_run)
        made = intent.procedure
        parts = {name: getattr(made, name) for name in ("steps", "triggers", "learned_from")}
        return self.add(made.title, **parts, by=by, dry_run=dry_run)

    def _changed(
        self, name: str, given: Mapping[str, Any], why: tuple[str, str], by: Attribution, *, dry_run: bool
    ) -> Procedure:
        kind, reason = why[0], _line("reason", why[1])

        def change(before: Procedure) -> Procedure:
            after = replace(before, **given)
            version = bumped(before.version) if kind in KINDS else before.version
            line = Refinement(at=self._today(), version=version, kind=kind, text=reason or kind)
            return before if after == before else replace(after, version=version, history=(*before.history, line))

        return self._edit(name, change, by, dry_run=dry_run)

    def _edit(
        self, name: str, change: Callable[[Procedure], Procedure], by: Attribution, *, dry_run: bool
    ) -> Procedure:
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
            return after, Change(operations=(put,), by=check_attribution(by), action=Action.EDIT)

        return self._made(compose, dry_run=dry_run)

    def _made(self, compose: Callable[[], tuple[Procedure, Change | None]], *, dry_run: bool) -> Procedure:
        made, _, receipt = make(self._vault, compose, dry_run=dry_run)
        return (self._at(made.path) or made) if receipt else made

    def _today(self) -> str:
        return self._vault.home.now().astimezone(self._vault.home.zone).date().isoformat()

    def _is_page(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return folder == self._folder and name.endswith(".md")

    def _at(self, path: str) -> Procedure | None:
        """What a page says; it is read again when it has changed."""
        page = self._vault.page(path)
        if page is None:
            return None
        known = self._read.get(path)
        if known is None or known.hash != page.hash:
            known = replace(read(path, without_surrogates(to_text(page.content))), hash=page.hash)
            self._read[path] = known
        return known

    def _free(self, title: str) -> tuple[str, str]:
        """The name and the path of a page that is not there yet."""
        base = slug(title)
        try:
            check_path(f"{self._folder}/{base}.md")
        except PathError:
            base = f"to-{base}"
        names = chain([base], (f"{base}-{number}" for number in count(2)))
        return next((each, path) for each in names if self._vault.page(path := f"{self._folder}/{each}.md") is None)

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
    """The parts of a procedure as it has them; what is None is not given."""
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _CHANGEABLE:
            raise InputError(f"a procedure has no {name[:40]!r} to set", hint=nearest(name, _CHANGEABLE))
        if value is not None:
            checked[name] = _part(name, value)
    return checked


def _part(name: str, value: Any) -> Any:
    if name == "form":
        return choose(Form, name, value)
    if name == "steps":
        return _steps(value)
    if name == "tree":
        return value if isinstance(value, Branch) else _read_back(f"## Tree\n{text(name, value)}").tree
    if name == "timeout":
        return value if isinstance(value, timedelta) else read_span(text(name, value))
    if name == "errors":
        return {_line(name, key): _line(name, each) for key, each in dict(value).items()}
    if name in _LISTS:
        return tuple(filter(None, (_line(name, each) for each in words(name, value))))
    line = _line(name, value)
    if name == "title" and not 0 < len(line) <= LONGEST_TITLE:
        raise InputError("a procedure needs a title", hint=f"give one of at most {LONGEST_TITLE} characters")
    return line


def _line(name: str, value: object) -> str:
    return " ".join(without_surrogates(text(name, value)).split())


def _steps(given: str | Iterable[Step | str]) -> tuple[Step, ...]:
    if isinstance(given, str):
        told = given if _STARTS.search(given) else _numbered([line for line in given.splitlines() if line.strip()])
    else:
        told = _numbered(given)
    return _read_back(f"## Steps\n{told}").steps if told.strip() else ()


def _numbered(steps: Iterable[Step | str]) -> str:
    return "\n".join(
        step_text(replace(each, number=at))
        if isinstance(each, Step)
        else f"{at}. " + "\n   ".join(text("a step", each).strip().splitlines())
        for at, each in enumerate(steps, 1)
    )


def _read_back(section: str) -> Procedure:
    found = read("given.md", f"# given\n\n{section}\n")
    if found.problems:
        raise InputError(f"this makes no sense: {found.problems[0].partition(': ')[2]}", hint="see docs/procedures.md")
    return found


def _sound(procedure: Procedure, page: str) -> str:
    """A page, if it says what it should."""
    again = read(procedure.path, page)
    names = (each.name for each in fields(again) if each.compare and each.name != "problems")
    wrong = next((name for name in names if getattr(again, name) != getattr(procedure, name)), None)
    if wrong:
        hint = again.problems[0] if again.problems else "use plain lines without Markdown marks"
        raise InputError(f"the {wrong} cannot be written like this", hint=hint)
    return page
