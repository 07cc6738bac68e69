"""The program: reads the command line, runs one command, prints its one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from memfolio import __version__
from memfolio.errors import InputError, MemfolioError
from memfolio.serve.cli import (
    archive,
    checkpoint,
    context,
    daily,
    demo,
    digest,
    entity,
    explain,
    export,
    heartbeat,
    hook,
    import_,
    install,
    life,
    mcp,
    mend,
    proposals,
    purge,
    recall,
    reflect,
    serve,
    status,
    trust,
)
from memfolio.serve.cli.call import Agent, Answer, Home, Json, Options, register
from memfolio.serve.cli.errors import UsageError, report, report_usage
from memfolio.serve.cli.output import Screen, print_json

HELP = ["--help", "-h"]


class CommandGroup(NamedTuple):
    """Commands below a name, which are loaded when one of them is called: where help lists them, and as what."""

    panel: str
    help: str
    place: str = ""
    """The module that has them, where that is not called like the group."""

    def load(self, name: str) -> typer.core.TyperGroup:
        module, _, attribute = (self.place or name).partition(":")
        made: typer.Typer = getattr(import_module(f"memfolio.serve.cli.{module}"), attribute or "app")
        group = told_plainly(typer.main.get_group(made))
        group.help = self.help
        return group


class Root(typer.core.TyperGroup):
    """The program, which knows its groups by name until one of them is needed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in GROUPS:
            self.commands[args[0]] = _loaded(args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="memfolio",
    cls=Root,
    help="Long-term memory for AI agents, kept in Markdown files that a person can open, read, edit, diff and undo.",
    epilog='Begin with: memfolio remember "Alex prefers tea"',
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)
PANELS = {
    "Daily": "init remember observe recall context show forget restore correct confirm pin explain status",
    "Life": "consolidate tend digest checkpoint flush weak archive backup purge",
    "Deciding": "reflect approve reject propose proposals",
    "Knowing": "path",
    "Doing": "heartbeat",
    "Trust": "log diff undo rollback verify doctor reindex alerts adopt",
    "World": "import export mcp serve hook install uninstall demo",
}
"""The commands in the order in which help lists them."""
MODULES = (
    *(daily, recall, context, mend, explain, life, digest, checkpoint, archive, purge),
    *(reflect, proposals, entity, heartbeat, import_, export, mcp, serve, hook, install, status, trust, demo),
)
COMMANDS = {command.name: command for module in MODULES for command in module.COMMANDS}
for panel, names in PANELS.items():
    register(app, panel, [COMMANDS[name] for name in names.split()])
GROUPS = {
    "core": CommandGroup("Life", "Show and edit core memory, MEMORY.md, which an agent always has before its eyes."),
    "fact": CommandGroup("Knowing", "What is known as subject, predicate and object: assert, ask, explain, verify."),
    "rule": CommandGroup("Knowing", "Rules over facts: what follows, what must not be, and what is to be done."),
    "infer": CommandGroup(
        "Knowing", "What follows from facts and rules, whether and why, what is wrong, and what to do."
    ),
    "case": CommandGroup("Knowing", "Cases: what was done before in situations like this, and how it went."),
    "ontology": CommandGroup("Knowing", "The terms in which facts are told: classes, properties and business rules."),
    "entity": CommandGroup("Knowing", "People and things: what is known about them, and how they are related."),
    "goal": CommandGroup("Knowing", "The goals of a business.", "typedb:goal"),
    "reason": CommandGroup("Knowing", "Think a problem through, by a method that fits it or by several."),
    "mind": CommandGroup("Doing", "What the agent is, believes, wants and has taken on."),
    "procedure": CommandGroup("Doing", "What the agent knows how to do: skills, workflows and decision trees."),
    "workflow": CommandGroup("Doing", "Procedures done step by step as a checklist, and how they went."),
    "agent": CommandGroup(
        "Doing", "The agents of this home: who they are, whose memory each reads, and what to tell them."
    ),
    "token": CommandGroup("Trust", "Who is let in over HTTP: each token is for one agent."),
    "tool": CommandGroup("World", "Call what agents call, by its name."),
    "typedb": CommandGroup("World", "A copy of what is known on a TypeDB 3 server, where one is configured."),
    "service": CommandGroup("World", "Have the system tend a home every half hour."),
    "bench": CommandGroup("World", "Measure how much recall finds, and how quickly, in homes that are thrown away."),
}
"""The groups in the order in which help lists them."""
for name, each in GROUPS.items():
    app.add_typer(typer.Typer(name=name, help=each.help), rich_help_panel=each.panel)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    home: Home = None,
    agent: Agent = None,
    as_json: Json = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    ctx.obj = Options(home=home, agent=agent, as_json=as_json)
    if version and as_json:
        print_json({"version": __version__})
    elif version:
        typer.echo(f"memfolio {__version__}")
    elif ctx.invoked_subcommand is None and as_json:
        raise InputError("no command was named", hint="`memfolio --help` lists them")
    elif ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
    else:
        return
    raise typer.Exit


@cache
def _loaded(name: str) -> typer.core.TyperGroup:
    return GROUPS[name].load(name)


@cache
def program() -> typer.core.TyperGroup:
    """The parser of the command line."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return told_plainly(group)


def told_plainly(group: typer.core.TyperGroup) -> typer.core.TyperGroup:
    """A group of commands that in its help shows no type for what is only switched on."""
    for command in commands(group):
        for param in command.get_params(typer.Context(command, help_option_names=HELP)):
            if isinstance(param, typer.core.TyperOption) and param.is_flag:
                param.metavar = ""
    return group


def commands(command: Any) -> Iterator[Any]:
    """A command with all that it has below it."""
    yield command
    for each in command.commands.values() if isinstance(command, typer.core.TyperGroup) else ():
        yield from commands(each)


def run(args: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    # Until the line is understood, nobody can ask the options: what stands before `--` decides how errors look.
    as_json = "--json" in args[: [*args, "--"].index("--")]
    try:
        answer = program().main(list(args), prog_name="memfolio", standalone_mode=False)
    except MemfolioError as error:
        return report(error, as_json=as_json)
    except UsageError as error:
        return report_usage(error, as_json=as_json)
    except typer.Abort:
        Screen(errors=True).say("Stopped.")
        return 1
    return deliver(answer) if isinstance(answer, Answer) else int(answer or 0)


def deliver(answer: Answer) -> int:
    if answer.as_json:
        print_json(answer.document)
    else:
        answer.show(Screen())
    return answer.status
