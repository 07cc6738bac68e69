"""The command `mind` with what is below it: what the agent believes, wants and has taken on, and what comes up."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError
from memfolio.index.mind_pages import KINDS, WANTED, MindItemKind, Value, show_value
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group, in_empty_folder, read_text
from memfolio.verbs.documents import mind_item

if TYPE_CHECKING:
    from memfolio.index.mind_pages import MindItem
    from memfolio.serve.cli.output import Screen

Name = Annotated[str, typer.Argument(metavar="NAME", help="Its id, its title or a part of that.", show_default=False)]
Page = Annotated[str | None, typer.Argument(metavar="PAGE", help="One of the nine pages.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="In words; - reads it from standard input.")]
NewText = Annotated[str | None, typer.Option("--text", metavar="TEXT", help="What it says from then on.")]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Its title, else its first words.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="May be repeated; empty removes.")]
All = Annotated[bool, typer.Option("--all", help="Also what is over.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")]
About = Annotated[str, typer.Option("--about", metavar="TEXT", help="What is being talked about.")]


def adding(kind: MindItemKind) -> Command:
    """The command for a verb, with an option for each field of its kind; a persona has nothing but fields."""
    is_persona = kind.verb == "be"

    def run(options: Options, dry_run: DryRun = False, **given: Any) -> Answer:
        given = {name: value for name, value in given.items() if value is not None}
        with options.memory(create=in_empty_folder) as memory:
            mind = memory.mind
            add = mind.be if is_persona else partial(mind.add, kind, read_text(given.pop("text")))
            item = add(**given, by=PERSON, dry_run=dry_run)
        return told(item, "kept", dry_run=dry_run)

    asked = {} if is_persona else {"text": Text, "title": Title}
    asked |= {f"{name}_": field_option(name, value) for name, value in kind.fields.items()} | {"dry_run": DryRun}
    parameters = [parameter("options", Options), *(parameter(name, each) for name, each in asked.items())]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__name__ = kind.verb
    run.__doc__ = "Say who the agent is, at the head of Persona.md." if is_persona else f"Add to {kind.page}.md."
    example = "--role CTO --autonomy high" if is_persona else '"Ask before a deploy" --from M-1794753005001-0c11a2b3'
    return Command(run, f"mind {kind.verb} {example}")


def parameter(name: str, annotation: Any) -> inspect.Parameter:
    default = {"options": inspect.Parameter.empty, "text": inspect.Parameter.empty, "dry_run": False}.get(name)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def field_option(name: str, value: Value) -> Any:
    flags = ("--deadline", "--by") if name == "deadline" else (f"--{name}",)
    if value is Value.NAMES:
        told = "An id, or a title in the mind; may be repeated."
        return Annotated[list[str] | None, typer.Option(*flags, metavar="ID", help=told)]
    wanted = "a time, or a topic that brings it up" if name == "when" else WANTED[value]
    return Annotated[str | None, typer.Option(*flags, metavar="VALUE", help=f"{wanted[0].upper()}{wanted[1:]}.")]


def list_(options: Options, page: Page = None, all: All = False) -> Answer:
    """List what stands on a page, or on all, and what there makes no sense."""
    with options.memory() as memory:
        mind = memory.mind
        items, problems = mind.items(page, live=not all), mind.problems()
    rows = [(each.id, each.kind.name, each.status, each.title) for each in items]

    def draw(screen: Screen) -> None:
        screen.table(("id", "kind", "status", "title"), rows, wide="title")
        for problem in problems:
            screen.say(problem, "yellow")

    return Answer({"items": [*map(mind_item, items)], "problems": problems}, draw)


def show(options: Options, name: Name) -> Answer:
    """Show an item in full, with what it rests on and leads to."""
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


def update(
    options: Options, name: Name, text: NewText = None, title: Title = None, set: Set = None, dry_run: DryRun = False
) -> Answer:
    """Say something else of an item; what is not given stays as it is."""
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


def ending(verb: str, status: str, doc: str) -> Command:
    def run(options: Options, name: Name, reason: Reason = None, dry_run: DryRun = False) -> Answer:
        with options.memory() as memory:
            item = memory.mind.retire(name, status, reason=reason, by=PERSON, dry_run=dry_run)
        return told(item, status, dry_run=dry_run)

    run.__name__, run.__doc__ = verb, doc
    return Command(run, f'mind {verb} "Tell Maria"')


def due(options: Options, about: About = "") -> Answer:
    """Show what comes up: what is due or overdue, and what waits for what is being talked about."""
    with options.memory() as memory:
        found = memory.mind.due(read_text(about))
    lines = [f"{each.item.title}: {each.why}  {each.item.id}" for each in found] or ["Nothing comes up."]
    reminders = [mind_item(each.item) | {"why": each.why, "at": each.at} for each in found]
    return Answer({"reminders": reminders}, lambda screen: screen.say("\n".join(lines)))


def told(item: MindItem, done: str, *, dry_run: bool) -> Answer:
    line = f"{item.id} {'would be' if dry_run else 'is'} {done}: {item.title}"
    return Answer(mind_item(item), lambda screen: screen.say(line, "bold"))


list_.__name__ = "list"
MIND = (
    *map(adding, KINDS),
    Command(list_, "mind list beliefs"),
    Command(show, 'mind show "Session store"'),
    Command(update, 'mind update "Session store" --set certainty=0.5'),
    ending("done", "done", "Note that something is done."),
    ending("drop", "dropped", "Let go of something that was wanted or meant."),
    ending("retire", "retired", "Note that something does not hold, or does not count."),
    Command(due, 'mind due --about "the deploy on Friday"'),
)
app = group("mind", MIND)
