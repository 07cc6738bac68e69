"""The program: reads the command line, runs one command, prints its one answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from memfolio import __version__
from memfolio.errors import InputError, MemfolioError
from memfolio.serve.cli.call import Agent, Answer, Home, Json, Options
from memfolio.serve.cli.derive import HELP, listed, load, read_data, stub, without_types
from memfolio.serve.cli.errors import UsageError, report, report_usage
from memfolio.serve.cli.output import Screen, print_json


class Root(typer.core.TyperGroup):
    """The root command, which loads a command only when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if found := load(args[0]):
            return args[0], found, args[1:]
        meant = first()[WORDS].get(args[0])
        if meant is None:
            return super().resolve_command(ctx, args)
        if meant[0].startswith(EXPLAINED):
            raise InputError(f"there is no command {args[0]}", hint=meant[0].removeprefix(EXPLAINED))
        # What the person typed comes last, so that it takes the place of what stands for nothing in particular.
        return meant[0], load(meant[0]), [*(each for each in meant[1:] if each or not args[1:]), *args[1:]]


WHAT = "Long-term memory for AI agents, kept in Markdown files that a person can open, read, edit, diff and undo."
WORDS, EXPLAINED, ALL = "words", ":", "--all"
SPELT: dict[tuple[str, ...], list[str]] = {("version",): ["--version"]}
"""What people type for an option of the program."""


@cache
def first() -> dict[str, dict[str, Any]]:
    """The commands for beginners, grouped by task; and synonyms of commands."""
    return read_data("first")


def short_help() -> str:
    """Return the help that fits one screen."""
    lines = ["Long-term memory for AI agents, in Markdown files that you read, edit and undo.", ""]
    lines += ["Usage: memfolio COMMAND …         examples and options: memfolio COMMAND --help"]
    for heading, commands in first().items():
        if heading != WORDS:
            lines += ["", heading, *(f"  {name:10}{words}" for name, words in commands.items())]
    rest = len(listed()) - sum(len(commands) for heading, commands in first().items() if heading != WORDS)
    more = f"All take --home DIR, --agent ID, --json. {rest} more: memfolio --help {ALL}"
    return "\n".join([*lines, "", more])


def asks_for_help(args: Sequence[str]) -> bool:
    """Whether help on the program was asked for, not on one command, and not the full list."""
    return len(args) == 1 and args[0] in (*HELP, "help")


app = typer.Typer(
    name="memfolio",
    cls=Root,
    help=WHAT,
    epilog='Begin with: memfolio remember "Alex prefers tea"',
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)


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
        typer.echo(short_help())
    else:
        return
    raise typer.Exit


@cache
def program() -> typer.core.TyperGroup:
    """The parser of the command line."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    group.commands = {name: stub(name, row.help, row.panel) for name, row in listed().items()}
    return without_types(group)


def run(args: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    # Until the line is understood, nobody can ask the options: what stands before `--` decides how errors look.
    as_json = "--json" in args[: [*args, "--"].index("--")]
    if asks_for_help(args):
        typer.echo(short_help())
        return 0
    args = SPELT.get(tuple(args), args)
    if len(args) > 1 and args[0] == "help" and ALL not in args:
        args = [*args[1:], HELP[0]]
    args = HELP[:1] if ALL in args and {*args} <= {*HELP, "help", ALL} else args
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
