"""Commands derived from signatures: a method or function defines the parameters, `commands.toml` their descriptions.

Most commands are a row of `commands.toml` whose `does` names a method of `Memory` or of one of its rooms, or a function
of `verbs/` as `module:function`; or whose `verb` names a row of the table of verbs, which says that. The command takes
the method's parameters, and answers with its result as a document: that of an object, or as the function of
`verbs/documents.py` that `shows` names makes it; that of a list under `key`; or the attributes that the row `picks`,
where `seq` is the number of the change. With `problems`, a document has those of the room of this name; with `fails`,
the exit code is 1 where something is under that name. The row also describes the output for people (`show.py`); if that
is not enough, a function of the command's module with the name of the command, or the name in `show`, gives the lines
or the whole answer. In such a row

- `takes` lists the parameters in command-line order, if it differs from the method's; `fixed` has values that cannot
  be given on the command line;
- a parameter has a sentence, or a table: its `help`, `flags`, `metavar`, `type` and `default`, the name of the
  parameter that it `is` in the method (`part.name` for a value in one, `**` for several named ones), whether it is an
  `argument` or `required`, the reader of its text (`reads`), and for a time a word in its place (`or`).

With `makes_home`, a missing home is created; with `paged`, a long answer goes through a pager. Commands that are a
dialogue, or need more than one call, are functions of their module with the command's name, plus a `_` if that is a
Python keyword. They get the common options first, or the open memory if their first parameter is called `memory`.
Parameters without a default and those before a `/` are arguments, all others are options. Verbs of the table are
commands without a row.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin

import typer

from memfolio.errors import InputError, PolicyError
from memfolio.serve.cli import complete
from memfolio.serve.cli.call import PERSON, Agent, Answer, Home, Json, Options, in_empty_folder, nowhere, read_text
from memfolio.serve.cli.output import Lines, as_json, as_lines, document_of, seq_of
from memfolio.serve.cli.show import noted, shown
from memfolio.serve.cli.typed import READERS
from memfolio.signature import verb_rows
from memfolio.text import packaged_table
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.verbs.verb import Verb

Text = Annotated[str, "stdin"]
"""A text that `-` reads from standard input."""
HELP = ["--help", "-h"]
EVERYWHERE = ("--home", "--agent", "--json")
LIMITS = ("min", "max")
EXAMPLES = 2
"""Of its commands that the help of a group shows."""
TOOL = "tool"
"""The group below which every verb is a command."""
Parameter = inspect.Parameter
PACKAGE = Path(__file__).parents[2]
AnyCommand = TypeVar("AnyCommand", typer.core.TyperCommand, typer.core.TyperGroup)


class Listed(NamedTuple):
    """A command or a group of commands as help lists it."""

    panel: str
    module: str
    help: str
    bare: str = ""
    """Of a group: the command that runs if none is named."""


@cache
def listed() -> dict[str, Listed]:
    """The commands that the program's own help lists, in order."""
    return {name: Listed(panel, *row) for panel, rows in read_data("panels").items() for name, row in rows.items()}


@cache
def rows() -> dict[str, dict[str, Any]]:
    """Descriptions of commands by path, and of arguments with the same meaning in most commands."""
    return read_data("commands")


def read_data(name: str) -> dict[str, Any]:
    """A table of `data/`."""
    return packaged_table(f"serve/cli/data/{name}.toml")


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
    """A command that is listed."""
    row = with_verb(rows()[path])
    module = import_module(f"memfolio.serve.cli.{listed()[path.split()[0]].module}")
    made: Mapping[str, Callable[..., Answer]] = getattr(module, "MADE", {})
    name = path.replace(" ", "_").replace("-", "_")
    about = {
        name: {"help": each} if isinstance(each, str) else each for name, each in (rows()["arguments"] | row).items()
    }
    if "does" in row:
        function = _of_method(row, about, getattr(module, row.get("show", name), None))
    else:
        function = made.get(path) or getattr(module, name, None) or getattr(module, f"{name}_")
    words = row.get("help") or listed()[path].help
    return _built(path.split()[-1], function, words, row.get("examples", ()), about, row)


def with_verb(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a command, with what the row of its verb says of the method, its fixed arguments and the document."""
    if "verb" not in row:
        return row
    from memfolio.verbs.verb import SETS

    name = row["verb"]
    module, verb = next((SETS[each], verbs[name]) for each, verbs in verb_rows().items() if name in verbs)
    # As the table of verbs reads its rows: without `does`, a function of the set's module comes before a method.
    does = f"{module}:{name}" if "does" not in verb and _function(module, name) else verb.get("does", name)
    return {"does": does} | {each: verb[each] for each in ("shows", "fixed") if each in verb} | row


def _function(module: str, name: str) -> ast.FunctionDef | None:
    """A function of a module of `verbs/`."""
    functions = (each for each in _source(f"verbs.{module}").body if isinstance(each, ast.FunctionDef))
    return next((each for each in functions if each.name == name), None)


def _of_method(
    row: Mapping[str, Any], about: Mapping[str, Any], show: Callable[..., Answer | Lines] | None
) -> Callable[..., Answer]:
    """Build the function of a command from a method: it calls the method with the typed values and shows the result."""
    method = parameters_of(row["does"])
    is_open = any(each.kind is each.VAR_KEYWORD for each in method.values())
    # Who takes any further arguments passes `by` on; a function of `verbs/` takes only those that it names.
    is_signed = (is_open and ":" not in row["does"]) or any(map(_is_attribution, method.values()))
    named = [name for name, each in method.items() if each.kind is not each.VAR_KEYWORD and not _is_attribution(each)]
    renamed = {each["is"]: name for name, each in row.items() if isinstance(each, dict) and "is" in each}
    options = row["takes"] if "takes" in row else [renamed.get(name, name) for name in named]
    taken = {about.get(name, {}).get("is", name): name for name in options}
    typed = [_typed(name, method.get(each), about.get(name, {})) for each, name in taken.items()]
    arguments = [each.name for each in typed if each.kind is each.POSITIONAL_ONLY]
    asked = _signature(show)[1:] if show else []
    own = [
        each.replace(kind=each.KEYWORD_ONLY) for each in asked if each.name not in taken.values() and _is_typed(each)
    ]

    def run(memory: Any, /, *in_order: Any, **given: Any) -> Answer:
        given |= dict(zip(arguments, in_order, strict=True))
        values = dict(row.get("fixed", {})) | ({"by": PERSON} if is_signed else {})
        for name, option in taken.items():
            if given[option] is not None:
                value = READERS[about.get(option, {}).get("reads", "")](given[option])
                whole, _, part = name.partition(".")
                if not part:
                    values |= value if name == "**" else {name: value}
                # What a document has in the place of the whole is left as it is: the method says what is wrong with it.
                elif isinstance(values.setdefault(whole, {}), dict):
                    values[whole] = {**values[whole], part: value}
        placed = [values.pop(name) for name, each in method.items() if each.kind is each.POSITIONAL_ONLY]
        value = _bound(row["does"], memory)(*placed, **values)
        known = {**given, "memory": memory}
        answer = show(value, **{each.name: known[each.name] for each in asked}) if show else None
        if not isinstance(answer, Answer):
            document = _document(value, row, memory)
            lines = None if answer is None else [*as_lines(answer), *noted(document)]
            answer = Answer(document, lines, value=value)
        answer.status = answer.status or int(bool(answer.document.get(row.get("fails", ""))))
        return answer

    first = Parameter("memory", Parameter.POSITIONAL_ONLY)
    run.__signature__ = inspect.Signature([first, *sorted([*typed, *own], key=lambda each: each.kind)])  # type: ignore[attr-defined]
    return run


def _bound(does: str, memory: Any) -> Callable[..., Any]:
    """The method of a memory, or the function of `verbs/` for this memory, that a row names."""
    module, _, function = does.rpartition(":")
    if not module:
        return cast(Callable[..., Any], attrgetter(does)(memory))
    return partial(getattr(import_module(f"memfolio.verbs.{module}"), function), memory)


def _document(value: Any, row: Mapping[str, Any], memory: Any) -> dict[str, Any]:
    """Return the document of a result, or the attributes that the row picks."""
    if "picks" in row:
        return {name: seq_of(value) if name == "seq" else getattr(value, name) for name in row["picks"]}
    # A list has no name of its own, and every answer is an object, so that fields can be added to it later.
    document = document_of(value, row.get("key"), getattr(documents, row["shows"]) if "shows" in row else None)
    if "problems" in row:
        document["problems"] = list(getattr(memory, row["problems"]).problems())
    return document


def _is_attribution(parameter: Parameter) -> bool:
    """Whether it says who speaks, which at the command line is the person."""
    return "Attribution" in str(parameter.annotation)


def _is_typed(parameter: Parameter) -> bool:
    """Whether the parameter is an option of the output function's own."""
    return parameter.default is not parameter.empty


KINDS = {"bool": bool, "int": int, "float": float, "Path": Path, "datetime": datetime}
"""Types that options can have; everything else is text."""


def _typed(name: str, parameter: Parameter | None, about: Mapping[str, Any]) -> Parameter:
    """A parameter of a method as a parameter of its command."""
    # What the method takes among any further arguments has no signature to read: the row alone says what it is.
    default = about.get("default", parameter.default if parameter else None)
    if about.get("required"):
        default = Parameter.empty
    annotation = about.get("type", str(parameter.annotation) if parameter else "str")
    parts = [part.strip() for part in annotation.split("|")]
    kind: Any = next((KINDS[part] for part in parts if part in KINDS), str)
    if parts[0].startswith(("Iterable", "Sequence", "list")) or (
        parameter and parameter.kind is Parameter.VAR_POSITIONAL
    ):
        kind = list[str]
    if about.get("reads") in ("stdin", "time"):
        kind = Text if about["reads"] == "stdin" else datetime
    if default is not Parameter.empty and not isinstance(default, str | int | float):
        # Not given is not the same as given as usual: the method decides, and a document's own value stays.
        kind, default = kind | None, None
    is_required = default is Parameter.empty and "flags" not in about
    is_argument = about.get("argument", is_required and not (parameter and parameter.kind is Parameter.KEYWORD_ONLY))
    place = Parameter.POSITIONAL_ONLY if is_argument else Parameter.KEYWORD_ONLY
    return Parameter(name, place, default=default, annotation=kind)


# Read from their source, what methods take is known without loading the rooms: help and completion are quick.


def parameters_of(path: str) -> dict[str, Parameter]:
    """Return the parameters of what a row names: the method "core.read", or the function "knowing:fact_query"."""
    module, _, name = path.rpartition(":")
    room, _, method = path.rpartition(".")
    found = _function(module, name) if module else _method(*(_room(room) if room else ("memory", "Memory")), method)
    if found is None:
        raise LookupError(f"there is no {path}")
    given = found.args
    in_order = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(in_order) - len(given.defaults)), *given.defaults]
    parameters = []
    for place, (argument, default) in enumerate(zip(in_order, defaults, strict=True)):
        is_first = place < len(given.posonlyargs)
        how = Parameter.POSITIONAL_ONLY if is_first else Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(_read_parameter(argument, how, default))
    if given.vararg:
        parameters.append(_read_parameter(given.vararg, Parameter.VAR_POSITIONAL, None))
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        parameters.append(_read_parameter(argument, Parameter.KEYWORD_ONLY, default))
    if given.kwarg:
        parameters.append(_read_parameter(given.kwarg, Parameter.VAR_KEYWORD, None))
    return {each.name: each for each in parameters[1:]}  # but for the memory or the room itself


def _read_parameter(argument: ast.arg, kind: Any, default: ast.expr | None) -> Parameter:
    """Read a parameter; if its default is not a literal, leaving it out lets the method decide."""
    value: Any = Parameter.empty
    if default is not None:
        value = ast.literal_eval(default) if isinstance(default, ast.Constant | ast.Tuple) else None
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    return Parameter(argument.arg, kind, default=value, annotation=annotation)


@cache
def _source(module: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text("utf-8"))


def _room(name: str) -> tuple[str, str]:
    """Return module and class of a room, as declared in `Rooms` with `room("module:Class")`."""
    for node in _class("rooms", "Rooms").body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and isinstance(node.value, ast.Call):
            module, _, kind = ast.literal_eval(node.value.args[0]).partition(":")
            return module, kind
    raise LookupError(f"a memory has no {name}")


def _class(module: str, name: str) -> ast.ClassDef:
    return next(node for node in _source(module).body if isinstance(node, ast.ClassDef) and node.name == name)


def _method(module: str, kind: str, name: str) -> ast.FunctionDef:
    """The method of a class, or of the class that it inherits it from."""
    waiting = [(module, kind)]
    for where, each in waiting:
        found = _class(where, each)
        for node in found.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        waiting += [_imported(where, ast.unparse(base)) for base in found.bases]
    raise LookupError(f"{kind} has no {name}")


def _imported(module: str, name: str) -> tuple[str, str]:
    """Return the module in which a class is defined: this one, or the one it is imported from."""
    for node in _source(module).body:
        if isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names}:
            return str(node.module).removeprefix("memfolio."), name
    return module, name


def _built(
    name: str,
    function: Callable[..., Answer],
    help: str,
    examples: Iterable[str],
    about: Mapping[str, Any],
    row: Mapping[str, Any],
) -> typer.core.TyperCommand:
    first, *own = _signature(function)
    texts = [each.name for each in own if _is_kind(each, Text)]
    times = [each.name for each in own if _is_kind(each, datetime)]
    valued = [each.name for each in own if each.kind is not each.POSITIONAL_ONLY and each.default is not each.empty]

    def run(
        *, ctx: typer.Context, home: Home = None, agent: Agent = None, as_json: Json = False, **given: Any
    ) -> Answer:
        options: Options = ctx.obj.further(home, agent, as_json=as_json)
        for name in valued:
            if given[name] in EVERYWHERE:  # the parser takes whatever stands behind an option for its value
                raise InputError(f"{name} has no value", hint=f"put one before {given[name]}")
        for each in texts:
            given[each] = read_text(given[each]) if given[each] is not None else None
        typed = dict(given)
        in_order = [given.pop(each.name) for each in own if each.kind is each.POSITIONAL_ONLY]
        if first.name != "memory":
            answer = function(options, *in_order, **given)
        else:
            with options.memory(create=in_empty_folder if row.get("makes_home") else nowhere) as memory:
                given |= {each: _moment(memory, each, given[each], about.get(each, {}).get("or")) for each in times}
                answer = function(memory, *in_order, **given)
        answer.as_json, answer.is_long = options.as_json, bool(row.get("paged"))
        if answer.lines is None and not answer.as_json:
            answer.lines = list(shown(answer.document, row, typed, answer.value))
        return answer

    shared = [each for each in inspect.signature(run, eval_str=True).parameters.values() if each.name != "given"]
    both = [*(_parameter(each, about.get(each.name, {})) for each in own), *shared]
    run.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in both}
    app = typer.Typer(add_completion=False)
    app.command(name, help=help, epilog=_examples(examples), context_settings={"help_option_names": HELP})(run)
    made = typer.main.get_command(app)
    assert isinstance(made, typer.core.TyperCommand)
    return without_types(made)


def _examples(lines: Iterable[str]) -> str:
    """Render examples below the help of a command."""
    return "\n\n".join(f"Example: {each if ' memfolio ' in each else f'memfolio {each}'}" for each in lines)


def without_types(command: AnyCommand) -> AnyCommand:
    """Remove the type of boolean flags from the help of a command."""
    for each in command.get_params(typer.Context(command, help_option_names=HELP)):
        if isinstance(each, typer.core.TyperOption) and each.is_flag:
            each.metavar = ""
    return command


class _Names(dict[str, Any]):
    """The names of a module; a name that is imported for type checkers only resolves to Any."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def _signature(function: Callable[..., Any]) -> list[Parameter]:
    names = _Names(inspect.unwrap(function).__globals__)
    return list(inspect.signature(function, eval_str=True, locals=names).parameters.values())


def _is_kind(parameter: Parameter, kind: Any) -> bool:
    """Whether a parameter has this type, optional or not."""
    return kind in (parameter.annotation, *get_args(parameter.annotation))


def _moment(memory: Any, name: str, text: str | None, word: str | None) -> datetime | str | None:
    """The time that was typed; a row may name a word, such as `any`, that is taken as it is."""
    from memfolio.verbs.verb import as_moment

    return text if text in (None, word) else as_moment(memory, name, text)


def _parameter(parameter: Parameter, about: Mapping[str, Any]) -> Parameter:
    """A parameter as the parser wants it."""
    kind = parameter.annotation
    if _is_kind(parameter, Text) or _is_kind(parameter, datetime):
        kind = str if parameter.default is parameter.empty else str | None
    if get_origin(kind) is not Annotated:
        is_required = parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
        is_argument = is_required or parameter.kind is parameter.POSITIONAL_ONLY
        kind = Annotated[kind, _info(parameter.name, about, is_argument=is_argument)]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind)


def _info(name: str, row: Mapping[str, Any], *, is_argument: bool) -> Any:
    info: dict[str, Any] = {
        "help": complete.with_words(row.get("help", "")),
        "metavar": row.get("metavar"),
        "rich_help_panel": row.get("panel"),
        "autocompletion": complete.offering(row.get("complete", [])),
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
    examples = [each for path in below(name) for each in rows()[path].get("examples", ())[:1]]
    epilog = _examples(examples[:EXAMPLES])
    app = typer.Typer(name=name, help=row.help, epilog=epilog, cls=Group, context_settings={"help_option_names": HELP})

    @app.callback(invoke_without_command=True)
    def options(ctx: typer.Context, home: Home = None, agent: Agent = None, as_json: Json = False) -> Any:
        ctx.obj = ctx.obj.further(home, agent, as_json=as_json)
        if ctx.invoked_subcommand is not None:
            return None
        meant = command(f"{name} {row.bare}") if row.bare else None
        if meant and not any(each.required for each in meant.params):
            return meant.invoke(meant.make_context(row.bare, [], parent=ctx))
        if ctx.obj.as_json:
            raise InputError(f"{name} needs one of its commands", hint=f"`memfolio {name} --help` lists them")
        typer.echo(ctx.get_help())
        raise typer.Exit

    group = without_types(typer.main.get_group(app))
    assert isinstance(group, Group)
    group.bare = row.bare
    group.commands = {
        path.split()[-1]: stub(path.split()[-1], rows()[path]["help"], "Commands") for path in below(name)
    }
    return group


def stub(name: str, help: str, panel: str) -> typer.core.TyperCommand:
    """Return a placeholder for listing a command in help."""
    return typer.core.TyperCommand(name, help=help, rich_help_panel=panel, rich_markup_mode="rich")


def verb_named(path: str) -> Verb | None:
    """The verb of the table that is called so at the command line."""
    from memfolio.verbs.verb import verbs_at

    return None if path.startswith("-") else verbs_at("cli").get(path.replace(" ", "_").replace("-", "_"))


def of_verb(verb: Verb) -> typer.core.TyperCommand:
    """Build the command of a verb; it answers as at the other doors."""
    shapes = verb.schema["properties"]

    def run(options: Options, /, **given: Any) -> Answer:
        values = {name: _value(each, shapes[name]) for name, each in given.items() if each is not None}
        return called(options, verb, values)

    first, own = Parameter("options", Parameter.POSITIONAL_ONLY), []
    for name, each in verb.parameters.items():
        default = each.default if name in verb.required else None
        own.append(Parameter(name, each.POSITIONAL_OR_KEYWORD, default=default, annotation=_shaped(shapes[name])))
    run.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    about = {name: _about(name, shapes[name], each.default) for name, each in verb.parameters.items()}
    return _built(verb.name, run, verb.description, (), about, {})


def called(options: Options, verb: Verb, given: Mapping[str, Any]) -> Answer:
    """Call a verb and return its answer as JSON; an agent cannot act as another."""
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


def _shaped(shape: Mapping[str, Any]) -> Any:
    """Return the type of an option for a JSON schema; anything but a list of texts is given as JSON."""
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
    """Convert a typed value for the verb, which reports invalid ones itself."""
    if not isinstance(given, str) or shape.get("type") == "string":
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
