"""The commands below `mind`, and `heartbeat`: what the agent believes, wants and has taken on, and what comes up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.index.mind_pages import KINDS, WANTED, MindItemKind, Value, show_value
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.derive import Text
from memfolio.serve.cli.output import Line, diff, yellow
from memfolio.serve.cli.typed import read_pairs
from memfolio.text import counted
from memfolio.verbs.documents import mind_item

if TYPE_CHECKING:
    from memfolio.index.mind_pages import MindItem
    from memfolio.memory import Memory
    from memfolio.mind.heartbeat import BdiCycleResult
    from memfolio.mind.mind import Reminder


def adding(kind: MindItemKind) -> Callable[..., Answer]:
    """The command for a verb, with an option for each field of its kind; a persona has nothing but fields."""
    is_persona = kind.verb == "be"

    def run(memory: Memory, dry_run: bool = False, **given: Any) -> Answer:
        given = {name: value for name, value in given.items() if value is not None}
        add = memory.mind.be if is_persona else partial(memory.mind.add, kind, given.pop("text"))
        return Answer(mind_item(add(**given, by=PERSON, dry_run=dry_run)))

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
    return run


def _field(name: str, value: Value) -> Any:
    flags = ("--deadline", "--by") if name == "deadline" else (f"--{name}",)
    if value is Value.NAMES:
        meaning = "An id, or a title in the mind; may be repeated."
        return Annotated[list[str] | None, typer.Option(*flags, metavar="ID", help=meaning)]
    wanted = "a time, or a topic that brings it up" if name == "when" else WANTED[value]
    return Annotated[str | None, typer.Option(*flags, metavar="VALUE", help=f"{wanted[0].upper()}{wanted[1:]}.")]


MADE = {f"mind {kind.verb}": adding(kind) for kind in KINDS}


def mind_show(item: MindItem, memory: Memory) -> Answer:
    links, path, zone = memory.mind.links(item), memory.mind.path(item.kind), memory.vault.home.zone
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
    values: dict[str, Any] = {f"{field}_": value.strip() or None for field, value in read_pairs(set or ()).items()}
    item = memory.mind.update(name, text=text, title=title, by=PERSON, dry_run=dry_run, **values)
    return Answer(mind_item(item))


def mind_due(found: Sequence[Reminder]) -> Answer:
    return Answer({"reminders": [mind_item(each.item) | {"why": each.why, "at": each.at} for each in found]})


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
    fed = f" ({result.beliefs_fed} new from facts)" if result.beliefs_fed else ""
    return (
        f"{result.agent_id}: {counted(result.belief_count, 'belief')}{fed}, "
        f"{counted(result.conflicts_detected, 'conflict')}; {counted(result.stale_intentions_pruned, 'intention')} "
        f"let go of; {result.desires_moved} of {counted(result.desire_count, 'desire')} moved"
        f"{result.digest and f'; {result.digest}'}"
    )
