"""Errors at the command line: one table of exit codes, one look for people, one shape for programs."""

from __future__ import annotations

import re

import typer

from memfolio.arguments import ANY_ID
from memfolio.errors import (
    ConflictError,
    HomeMissingError,
    InputError,
    MemfolioError,
    NotFoundError,
    PolicyError,
    ProposedError,
    RefusedError,
    UndoConflictError,
)
from memfolio.serve.cli.output import Screen, as_called, print_json

EXIT_CODES: dict[type[MemfolioError], int] = {
    InputError: 2,
    NotFoundError: 3,
    HomeMissingError: 3,
    ConflictError: 4,
    RefusedError: 5,
    MemfolioError: 1,
}

# The parser's own root of errors, which typer does not export.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[2]
USAGE = 2
EXTRA = "unexpected: "
WORDS = {
    r"Got unexpected extra argument\S* \((.+)\)\.?$": rf"{EXTRA}\1",
    r"\.? \(Possible options: .+\)": "",
    r"'[^']*' is not a valid int(?:eger)?(?: range)?\.": "wanted a whole number",
    r"'[^']*' is not a valid float(?: range)?\.": "wanted a number",
    r"\S+ is not in the range x>=(\S+?)\.$": r"wanted \1 or more",
    r"\S+ is not in the range x<=(\S+?)\.$": r"wanted \1 or less",
    r"\S+ is not in the range (\S+?)<=x<=(\S+?)\.$": r"wanted a number from \1 to \2",
    r"'[^']*' is not one of ": "wanted one of ",
}
IN_QUOTES = 'put a text of several words in quotes, as in `{} "…"`'


def exit_code(error: MemfolioError) -> int:
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def report(error: MemfolioError, *, as_json: bool) -> int:
    """Report an error and return the exit code; a proposal made instead is a normal answer."""
    if isinstance(error, ProposedError):
        return _report_proposed(error, as_json=as_json)
    more = {"diff": error.diff} if isinstance(error, UndoConflictError) else {}
    more |= {"policy": error.row} if isinstance(error, PolicyError) else {}
    _say(error.code, error.message, error.hint, as_json=as_json, **more)
    return exit_code(error)


def _report_proposed(error: ProposedError, *, as_json: bool) -> int:
    if as_json:
        print_json({"proposed": error.proposal, "policy": error.row, "hint": error.hint})
    else:
        screen = Screen()
        screen.say(f"proposed as {error.proposal}, since the policy says `{error.row}`", "bold")
        screen.say(f"  {error.hint}")
    return 0


def report_usage(error: typer.BadParameter, *, as_json: bool) -> int:
    # Not every error of the parser knows where it happened.
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "memfolio"
    message = plainly(error.format_message())
    if near := getattr(error, "possibilities", None):
        message += f". Did you mean {near[0]}?"
    takes_text = context is not None and any(each.param_type_name == "argument" for each in context.command.params)
    hint = _wanted(context, message) + usage_hint(message, command, takes_text=takes_text)
    _say("usage", message, hint, as_json=as_json)
    return USAGE


def _wanted(context: typer.Context | None, message: str) -> str:
    """What a command takes, with an example, where something of it is missing."""
    if context is None or not message.startswith("Missing argument"):
        return ""
    names = [
        each.make_metavar(context).strip("{}") for each in context.command.params if each.param_type_name == "argument"
    ]
    example = re.search(r"Example: (.+)", getattr(context.command, "epilog", None) or "")
    return f"wanted: {' '.join([context.command_path, *names])}{f', as in: {example[1]}' if example else ''}\n  "


def usage_hint(message: str, command: str, *, takes_text: bool = True) -> str:
    how = f"`{command} --help` shows how"
    if message.startswith(EXTRA):
        if ANY_ID.search(message):
            return "name one memory at a time"
        return f"{IN_QUOTES.format(command)}; {how}" if takes_text else how
    option = re.match(r"No such option: (--?\S+?)\.?$", message) if " " in command else None
    return (
        f"{how}; to give it as a text, put -- before it: `{command} -- {option[1]}`" if option and takes_text else how
    )


def plainly(message: str) -> str:
    """The parser's words about a value, as a person would put them."""
    for pattern, words in WORDS.items():
        message = re.sub(pattern, words, message)
    return message


def _say(code: str, message: str, hint: str, *, as_json: bool, diff: str = "", policy: str = "") -> None:
    if as_json:
        document = {"code": code, "message": message, "hint": hint, "diff": diff, "policy": policy}
        print_json({"error": {name: value for name, value in document.items() if value or name == "hint"}})
        return
    screen = Screen(errors=True)
    screen.say(f"memfolio: {message}", style="bold red")
    if policy:
        screen.say(f"  the row that decided: {policy}", style="yellow")
    if hint:
        screen.say(f"  {as_called(hint)}", style="yellow")
    if diff:
        screen.diff(diff)
