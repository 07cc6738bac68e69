"""The program: reads the command line, runs one command, prints its one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from memfolio import __version__
from memfolio.errors import InputError, MemfolioError
from memfolio.serve.cli import (
    agent,
    archive,
    bench,
    case,
    checkpoint,
    context,
    core,
    daily,
    demo,
    digest,
    entity,
    explain,
    fact,
    infer,
    life,
    mend,
    ontology,
    proposals,
    purge,
    recall,
    reflect,
    rule,
    service,
    status,
    tool,
    trust,
    typedb,
)
from memfolio.serve.cli.call import Agent, Answer, Home, Json, Options, register
from memfolio.serve.cli.errors import UsageError, report, report_usage
from memfolio.serve.cli.output import Screen, print_json

HELP = ["--help", "-h"]
app = typer.Typer(
    name="memfolio",
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
    "Trust": "log diff undo rollback verify doctor reindex alerts adopt",
    "World": "demo",
}
"""The commands in the order in which help lists them."""
MODULES = (
    *(daily, recall, context, mend, explain, life, digest, checkpoint, archive, purge),
    *(reflect, proposals, entity, status, trust, demo),
)
COMMANDS = {command.name: command for module in MODULES for command in module.COMMANDS}
for panel, names in PANELS.items():
    register(app, panel, [COMMANDS[name] for name in names.split()])
app.add_typer(core.app, rich_help_panel="Life")
for each in (fact, rule, infer, case, ontology, entity):
    app.add_typer(each.app, rich_help_panel="Knowing")
app.add_typer(typedb.goal, rich_help_panel="Knowing")
app.add_typer(agent.app, rich_help_panel="Doing")
for each in (tool, typedb, service, bench):
    app.add_typer(each.app, rich_help_panel="World")


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


def program() -> typer.core.TyperGroup:
    """The parser of the command line, which in its help shows no type for what is only switched on."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
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
