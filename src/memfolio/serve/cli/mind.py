"""The command `mind` with what is below it: what the agent believes, wants and has taken on, and what comes up."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.index.mind_pages import KINDS, WANTED, MindItemKind, Value, show_value
from memfolio.serve.cli.call import PERSON, Answer, Options, in_empty_folder, read_text
from memfolio.verbs.documents import mind_item

if TYPE_CHECKING:
    from memfolio.index.mind_pages import MindItem
    from memfolio.serve.cli.output import Screen


def adding(kind: MindItemKind) -> Callable[..., Answer]:
    """The command for a verb, with an option for each field of its kind; a persona has nothing but fields."""
    is_persona = kind.verb == "be"

    def run(options: Options, dry_run: bool = False, **given: Any) -> Answer:
        given = {name: value for name, value in given.items() if value is not None}
        with options.memory(create=in_empty_folder) as memory:
            mind = memory.mind
            add = mind.be if is_persona else partial(mind.add, kind, read_text(given.pop("text")))
            item = add(**given, by=PERSON, dry_run=dry_run)
        return told(item, "kept", dry_run=dry_run)

    asked: dict[str, Any] = {} if is_persona else {"text": str, "title": str | None}
    asked |= {f"{name}_": field_option(name, value) for name, value in kind.fields.items()} | {"dry_run": bool}
    parameters = [parameter("options", Options), *(parameter(name, each) for name, each in asked.items())]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def parameter(name: str, annotation: Any) -> inspect.Parameter:
    default = {"options": inspect.Parameter.empty, "text": inspect.Parameter.empty, "dry_run": False}.get(name)
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def field_option(name: str, value: Value) -> Any:
    flags = ("--deadline", "--by") if name == "deadline" else (f"--{name}",)
    if value is Value.NAMES:
        told = "An id, or a title in the mind; may be repeated."
        return Annotated[list[str] | None, typer.Option(*flags, metavar="ID", help=told)]
    wanted = "a time, or a topic that brings it up" if name == "when" else WANTED[value]
    return Annotated[str | None, typer.Option(*flags, metavar="VALUE", help=f"{wanted[0].upper()}{wanted[1:]}.")]


def mind_list(options: Options, page: str | None = None, /, all: bool = False) -> Answer:
    with options.memory() as memory:
        mind = memory.mind
        items, problems = mind.items(page, live=not all), mind.problems()
    rows = [(each.id, each.kind.name, each.status, each.title) for each in items]

    def draw(screen: Screen) -> None:
        screen.table(("id", "kind", "status", "title"), rows, wide="title")
        for problem in problems:
            screen.say(problem, "yellow")

    return Answer({"items": [*map(mind_item, items)], "problems": problems}, draw)


def mind_show(options: Options, name: str) -> Answer:
    with options.memory() as memory:
        mind = memory.mind
        item = mind.get(name)
        links, path, zone = mind.links(item), mind.path(item.kind), memory.vault.home.zone
    plain = {name: value for name, value in item.fields.items() if name not in item.kind.links}
    lines = [f"{item.title}  {item.id}", *filter(None, [item.text])]
    lines += [f"{name:<10} {show_value(value, zone, name)}" for name, value in plain.items()]
    for link in links:
        state = f" ({link.why_not})" if link.why_not else ""
        lines.append(f"{link.field:<10} {link.id}{state}  {link.says}".rstrip())
    lines += [*item.problems, f"{path}:{item.line}"]
    tied = [asdict(link) | {"holds": link.holds} for link in links]
    return Answer(mind_item(item) | {"path": path, "links": tied}, lambda screen: screen.say("\n".join(lines)))


def mind_update(
    options: Options,
    name: str,
    text: str | None = None,
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
    told_anew = None if text is None else read_text(text)
    with options.memory() as memory:
        item = memory.mind.update(name, text=told_anew, title=title, by=PERSON, dry_run=dry_run, **values)
    return told(item, "updated", dry_run=dry_run)


def ending(status: str) -> Callable[..., Answer]:
    def run(options: Options, name: str, reason: str | None = None, dry_run: bool = False) -> Answer:
        with options.memory() as memory:
            item = memory.mind.retire(name, status, reason=reason, by=PERSON, dry_run=dry_run)
        return told(item, status, dry_run=dry_run)

    return run


def mind_due(options: Options, about: str = "") -> Answer:
    with options.memory() as memory:
        found = memory.mind.due(read_text(about))
    lines = [f"{each.item.title}: {each.why}  {each.item.id}" for each in found] or ["Nothing comes up."]
    reminders = [mind_item(each.item) | {"why": each.why, "at": each.at} for each in found]
    return Answer({"reminders": reminders}, lambda screen: screen.say("\n".join(lines)))


def told(item: MindItem, done: str, *, dry_run: bool) -> Answer:
    line = f"{item.id} {'would be' if dry_run else 'is'} {done}: {item.title}"
    return Answer(mind_item(item), lambda screen: screen.say(line, "bold"))


MADE = {f"mind {kind.verb}": adding(kind) for kind in KINDS} | {
    f"mind {verb}": ending(status) for verb, status in (("done", "done"), ("drop", "dropped"), ("retire", "retired"))
}
