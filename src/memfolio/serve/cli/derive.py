"""Commands made of plain functions: a signature says what a command takes, `commands.toml` says what that means.

A function gets the options of every command first, or the open memory where its first parameter is called `memory`.
Parameters without a default and those before a `/` are arguments, all others are options. The verbs of the table are
commands without a function of their own.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

import typer

from memfolio.errors import PolicyError
from memfolio.serve.cli import complete
from memfolio.serve.cli.call import Agent, Answer, Home, Json, Options, in_empty_folder, nowhere, read_text
from memfolio.serve.cli.output import as_json

if TYPE_CHECKING:
    from memfolio.verbs.verb import Verb

Text = Annotated[str, "stdin"]
"""A text that `-` reads from standard input."""
HELP = ["--help", "-h"]
LIMITS = ("min", "max")
TOOL = "tool"
"""The group below which every verb is a command."""
MAKES_HOME = "makes_home"
"""The mark of a function that may make a home for what it writes."""
Parameter = inspect.Parameter
AnyCommand = TypeVar("AnyCommand", typer.core.TyperCommand, typer.core.TyperGroup)


class Listed(NamedTuple):
    """A command or a group of commands as help lists it."""

    panel: str
    module: str
    help: str
    bare: str = ""
    """Of a group: the command that is meant where none is named."""


@cache
def listed() -> dict[str, Listed]:
    """What the program's own help lists, in its order."""
    return {name: Listed(panel, *row) for panel, rows in _data("panels").items() for name, row in rows.items()}


@cache
def rows() -> dict[str, dict[str, Any]]:
    """What help says of each command, by its path, and of arguments that mean the same in most of them."""
    return _data("commands")


def _data(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text("utf-8"))


def below(name: str) -> list[str]:
    """The paths of the commands of a group; a command has none."""
    return [path for path in rows() if path.startswith(f"{name} ")]


def load(name: str) -> typer.core.TyperCommand | typer.core.TyperGroup | None:
    """A command or a group that help lists, or a verb of the table by its name."""
    if name in listed():
        return _group(name) if below(name) else command(name)
    verb = verb_named(name)
    return of_verb(verb) if verb else None


def command(path: str) -> typer.core.TyperCommand:
    """A command that is listed, of the function that is called like it."""
    row = rows()[path]
    module = import_module(f"memfolio.serve.cli.{listed()[path.split()[0]].module}")
    made: Mapping[str, Callable[..., Answer]] = getattr(module, "MADE", {})
    name = path.replace(" ", "_").replace("-", "_")
    function = made.get(path) or getattr(module, f"{name}_" if iskeyword(name) else name)
    words = row.get("help") or listed()[path].help
    return _built(path.split()[-1], function, words, row.get("examples", ()), rows()["arguments"] | row)


def makes_home(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Mark a function that writes memories: a home is made for it by the way."""
    setattr(function, MAKES_HOME, True)
    return function


def _built(
    name: str, function: Callable[..., Answer], help: str, examples: Iterable[str], about: Mapping[str, Any]
) -> typer.core.TyperCommand:
    first, *own = inspect.signature(function, eval_str=True, locals=_Names()).parameters.values()
    texts = [each.name for each in own if _is_kind(each, Text)]
    times = [each.name for each in own if _is_kind(each, datetime)]

    def run(
        *, ctx: typer.Context, home: Home = None, agent: Agent = None, as_json: Json = False, **given: Any
    ) -> Answer:
        options: Options = ctx.obj.further(home, agent, as_json=as_json)
        for each in texts:
            given[each] = read_text(given[each]) if given[each] is not None else None
        in_order = [given.pop(each.name) for each in own if each.kind is each.POSITIONAL_ONLY]
        if first.name != "memory":
            answer = function(options, *in_order, **given)
        else:
            with options.memory(create=in_empty_folder if hasattr(function, MAKES_HOME) else nowhere) as memory:
                given |= {each: _moment(memory, each, given[each]) for each in times}
                answer = function(memory, *in_order, **given)
        answer.as_json = options.as_json
        return answer

    shared = [each for each in inspect.signature(run, eval_str=True).parameters.values() if each.name != "given"]
    both = [*(_parameter(each, about.get(each.name, "")) for each in own), *shared]
    run.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in both}
    app = typer.Typer(add_completion=False)
    epilog = "\n\n".join(f"Example: {each if ' memfolio ' in each else f'memfolio {each}'}" for each in examples)
    app.command(name, help=help, epilog=epilog, context_settings={"help_option_names": HELP})(run)
    made = typer.main.get_command(app)
    assert isinstance(made, typer.core.TyperCommand)
    return without_types(made)


def without_types(command: AnyCommand) -> AnyCommand:
    """A command that in its help shows no type for what is only switched on."""
    for each in command.get_params(typer.Context(command, help_option_names=HELP)):
        if isinstance(each, typer.core.TyperOption) and each.is_flag:
            each.metavar = ""
    return command


class _Names(dict[str, Any]):
    """The names that signatures use and their modules know for type checkers only."""

    def __missing__(self, name: str) -> Any:
        if name in ("Memory", "Options"):
            return Any
        raise KeyError(name)


def _is_kind(parameter: Parameter, kind: Any) -> bool:
    """Whether a value is of this kind where it is given at all."""
    return kind in (parameter.annotation, *get_args(parameter.annotation))


def _moment(memory: Any, name: str, text: str | None) -> datetime | None:
    from memfolio.verbs.verb import as_moment

    return None if text is None else as_moment(memory, name, text)


def _parameter(parameter: Parameter, about: str | Mapping[str, Any]) -> Parameter:
    """A parameter as the parser wants it."""
    kind = parameter.annotation
    if _is_kind(parameter, Text) or _is_kind(parameter, datetime):
        kind = str if parameter.default is parameter.empty else str | None
    if get_origin(kind) is not Annotated:
        is_required = parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
        is_argument = is_required or parameter.kind is parameter.POSITIONAL_ONLY
        kind = Annotated[kind, _info(parameter.name, about, is_argument=is_argument)]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind)


def _info(name: str, about: str | Mapping[str, Any], *, is_argument: bool) -> Any:
    row = {"help": about} if isinstance(about, str) else about
    words = row.get("complete")
    info: dict[str, Any] = {
        "help": complete.with_words(row.get("help", "")),
        "metavar": row.get("metavar"),
        "rich_help_panel": row.get("panel"),
        "autocompletion": complete.among(words) if isinstance(words, list) else getattr(complete, words or "", None),
        **{each: row[each] for each in LIMITS if each in row},
    }
    if is_argument:
        return typer.Argument(**info | {"metavar": row.get("metavar", name.upper())}, show_default=False)
    return typer.Option(*row.get("flags", (f"--{name.strip('_').replace('_', '-')}",)), **info)


class Group(typer.core.TyperGroup):
    """Commands below a name, which are made when they are called; verbs of the table are found here, too."""

    bare = ""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, path = args[0], f"{self.name} {args[0]}"
        if path in rows():
            return name, command(path), args[1:]
        if verb := verb_named(name if self.name == TOOL else path):
            return name, of_verb(verb), args[1:]
        if self.bare and not name.startswith("-"):
            return self.resolve_command(ctx, [self.bare, *args])
        return super().resolve_command(ctx, args)


def _group(name: str) -> typer.core.TyperGroup:
    row = listed()[name]
    app = typer.Typer(name=name, help=row.help, cls=Group, context_settings={"help_option_names": HELP})

    @app.callback(invoke_without_command=bool(row.bare))
    def options(ctx: typer.Context, home: Home = None, agent: Agent = None, as_json: Json = False) -> Any:
        ctx.obj = ctx.obj.further(home, agent, as_json=as_json)
        if ctx.invoked_subcommand is None:
            meant = command(f"{name} {row.bare}")
            return meant.invoke(meant.make_context(row.bare, [], parent=ctx))
        return None

    group = without_types(typer.main.get_group(app))
    assert isinstance(group, Group)
    group.bare = row.bare
    group.commands = {
        path.split()[-1]: stub(path.split()[-1], rows()[path]["help"], "Commands") for path in below(name)
    }
    return group


def stub(name: str, help: str, panel: str) -> typer.core.TyperCommand:
    """What help lists of a command."""
    return typer.core.TyperCommand(name, help=help, rich_help_panel=panel, rich_markup_mode="rich")


def verb_named(path: str) -> Verb | None:
    """The verb of the table that is called so at the command line."""
    from memfolio.verbs.verb import verbs_at

    return None if path.startswith("-") else verbs_at("cli").get(path.replace(" ", "_").replace("-", "_"))


def of_verb(verb: Verb) -> typer.core.TyperCommand:
    """A verb as a command; it answers what it answers at the other doors."""
    shapes = verb.schema["properties"]

    def run(options: Options, /, **given: Any) -> Answer:
        values = {name: _value(each, shapes[name]) for name, each in given.items() if each is not None}
        return called(options, verb, values)

    first, own = Parameter("options", Parameter.POSITIONAL_ONLY), []
    for name, each in verb.parameters.items():
        default = each.default if name in verb.required else None
        own.append(Parameter(name, each.POSITIONAL_OR_KEYWORD, default=default, annotation=_typed(shapes[name])))
    run.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    about = {name: _about(name, shapes[name], each.default) for name, each in verb.parameters.items()}
    return _built(verb.name, run, verb.description, (), about)


def called(options: Options, verb: Verb, given: Mapping[str, Any]) -> Answer:
    """What a verb answers, as JSON; who speaks as an agent speaks for no other."""
    config, agent = options.config(create=in_empty_folder), given.get("agent_id")
    if isinstance(agent, str) and agent != config.agent:
        if config.speaker == "agent":
            from memfolio.govern.gate import SELF

            hint = "leave agent_id out, or act as yourself"
            raise PolicyError(f"{config.agent} cannot act as {agent[:64]!r}", row=SELF, hint=hint)
        options = options.further(None, agent, as_json=False)
    with options.memory(create=in_empty_folder) as memory:
        text = as_json({"result": verb(memory, given)})
    return Answer(json.loads(text), text)


PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool}


def _typed(shape: Mapping[str, Any]) -> Any:
    """The type that an option has for a value of this shape; what is no list of texts is written as JSON."""
    kind = list[str] if _takes_texts(shape) else PLAIN.get(shape.get("type", ""), str)
    return kind | None


def _takes_texts(shape: Mapping[str, Any]) -> bool:
    if "anyOf" in shape:
        return any(map(_takes_texts, shape["anyOf"]))
    return shape.get("type") == "array" and shape["items"].get("type") == "string"


def _about(name: str, shape: Mapping[str, Any], default: Any) -> dict[str, Any]:
    flag = f"--{name.replace('_', '-')}"
    is_switch = shape.get("type") == "boolean" and default is not False
    usual = f" Usually {shape['default']}." if "default" in shape else ""
    return {"help": shape["description"] + usual, "flags": [f"{flag}/--no-{flag[2:]}" if is_switch else flag]}


def _value(given: Any, shape: Mapping[str, Any]) -> Any:
    """A value as the verb takes it; it says itself what it does not take."""
    if not isinstance(given, str) or shape.get("type") == "string":
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
