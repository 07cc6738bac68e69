"""The commands below `mind`, and `heartbeat`: what the agent believes, wants and has taken on, and what comes up."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.index.mind_pages import KINDS, WANTED, MindItemKind, Value, show_value
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.derive import Text, makes_home
from memfolio.serve.cli.output import Line, diff, table, yellow
from memfolio.text import counted
from memfolio.verbs.documents import mind_item

if TYPE_CHECKING:
    from memfolio.index.mind_pages import MindItem
    from memfolio.memory import Memory
    from memfolio.mind.heartbeat import BdiCycleResult


def adding(kind: MindItemKind) -> Callable[..., Answer]:
    """The command for a verb, with an option for each field of its kind; a persona has nothing but fields."""
    is_persona = kind.verb == "be"

    def run(memory: Memory, dry_run: bool = False, **given: Any) -> Answer:
        given = {name: value for name, value in given.items() if value is not None}
        add = memory.mind.be if is_persona else partial(memory.mind.add, kind, given.pop("text"))
        return _item(add(**given, by=PERSON, dry_run=dry_run), "kept", dry_run=dry_run)

    asked: dict[str, Any] = {} if is_persona else {"text": Text, "title": str | None}
    asked |= {f"{name}_": _field(name, value) for name, value in kind.fields.items()} | {"dry_run": bool}
    required = inspect.Parameter.empty
    defaults: dict[str, Any] = {"text": required, "dry_run": False}
    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(name), annotation=annotation
        )
        for name, annotation in asked.items()
    ]
    memory = inspect.Parameter("memory", inspect.Parameter.POSITIONAL_ONLY)
    run.__signature__ = inspect.Signature([memory, *parameters])  # type: ignore[attr-defined]
    return makes_home(run)


def _field(name: str, value: Value) -> Any:
    flags = ("--deadline", "--by") if name == "deadline" else (f"--{name}",)
    if value is Value.NAMES:
        meaning = "An id, or a title in the mind; may be repeated."
        return Annotated[list[str] | None, typer.Option(*flags, metavar="ID", help=meaning)]
    wanted = "a time, or a topic that brings it up" if name == "when" else WANTED[value]
    return Annotated[str | None, typer.Option(*flags, metavar="VALUE", help=f"{wanted[0].upper()}{wanted[1:]}.")]


def ending(status: str) -> Callable[..., Answer]:
    def run(memory: Memory, name: str, reason: str | None = None, dry_run: bool = False) -> Answer:
        item = memory.mind.retire(name, status, reason=reason, by=PERSON, dry_run=dry_run)
        return _item(item, status, dry_run=dry_run)

    return run


MADE = {f"mind {kind.verb}": adding(kind) for kind in KINDS} | {
    f"mind {verb}": ending(status) for verb, status in (("done", "done"), ("drop", "dropped"), ("retire", "retired"))
}


def mind_list(memory: Memory, page: str | None = None, /, all: bool = False) -> Answer:
    items, problems = memory.mind.items(page, live=not all), memory.mind.problems()
    rows = [(each.id, each.kind.name, each.status, each.title) for each in items]
    shown = table(("id", "kind", "status", "title"), rows, wide="title")
    return Answer({"items": [*map(mind_item, items)], "problems": problems}, [shown, *yellow(problems)])


def mind_show(memory: Memory, name: str) -> Answer:
    item, zone = memory.mind.get(name), memory.vault.home.zone
    links, path = memory.mind.links(item), memory.mind.path(item.kind)
    plain = {name: value for name, value in item.fields.items() if name not in item.kind.links}
    lines = [f"{item.title}  {item.id}", *filter(None, [item.text])]
    lines += [f"{name:<10} {show_value(value, zone, name)}" for name, value in plain.items()]
    for link in links:
        state = f" ({link.why_not})" if link.why_not else ""
        lines.append(f"{link.field:<10} {link.id}{state}  {link.says}".rstrip())
    lines += [*item.problems, f"{path}:{item.line}"]
    tied = [asdict(link) | {"holds": link.holds} for link in links]
    return Answer(mind_item(item) | {"path": path, "links": tied}, lines)


def mind_update(
    memory: Memory,
    name: str,
    text: Text | None = None,
    title: str | None = None,
    set: list[str] | None = None,
    dry_run: bool = False,
) -> Answer:
    if text is title is None and not set:
        raise InputError("nothing says what to change", hint="use --set certainty=0.5, --text or --title")
    if lost := [each for each in set or () if "=" not in each]:
        raise InputError(f"{lost[0][:40]!r} has no =", hint="write --set certainty=0.5; --set certainty= takes it away")
    given = dict(each.split("=", 1) for each in set or ())
    values = {f"{name.strip()}_": value.strip() or None for name, value in given.items()}
    item = memory.mind.update(name, text=text, title=title, by=PERSON, dry_run=dry_run, **values)
    return _item(item, "updated", dry_run=dry_run)


def mind_due(memory: Memory, about: Text = "") -> Answer:
    found = memory.mind.due(about)
    lines = [f"{each.item.title}: {each.why}  {each.item.id}" for each in found] or ["Nothing comes up."]
    return Answer({"reminders": [mind_item(each.item) | {"why": each.why, "at": each.at} for each in found]}, lines)


def _item(item: MindItem, done: str, *, dry_run: bool) -> Answer:
    return Answer(mind_item(item), (f"{item.id} {'would be' if dry_run else 'is'} {done}: {item.title}", "bold"))


def heartbeat(options: Options, every_agent: bool = False, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        agents = [each.id for each in memory.agents.list() if not each.settings.retired] if every_agent else []
        results = [] if every_agent else [memory.heartbeat(dry_run=dry_run)]
    for agent in agents:
        with replace(options, agent=agent).memory() as memory:
            results.append(memory.heartbeat(dry_run=dry_run))
    lines: list[Line] = []
    for result in results:
        lines += [diff(result.diff)] if dry_run else []
        lines += [(_cycle(result), "bold"), *yellow((*result.notes, *result.problems))]
    return Answer({"cycles": [*map(asdict, results)], "dry_run": dry_run}, lines)


def _cycle(result: BdiCycleResult) -> str:
    return (
        f"{result.agent_id}: {counted(result.belief_count, 'belief')}, {result.beliefs_fed} of them fed by facts, "
        f"{counted(result.conflicts_detected, 'conflict')}; {counted(result.stale_intentions_pruned, 'intention')} "
        f"let go of; {result.desires_moved} of {counted(result.desire_count, 'desire')} moved"
        f"{result.digest and f'; {result.digest}'}"
    )
