"""The command `tool`: what agents call by name, called by hand."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memfolio.errors import InputError, NotFoundError, PolicyError
from memfolio.serve.cli.call import Answer, Command, Options, group, in_empty_folder, read_text
from memfolio.serve.cli.output import Screen, as_json

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tool.", show_default=False)]
Arguments = Annotated[str, typer.Argument(metavar="JSON", help="Its arguments as a JSON object; - reads them.")]

LIKE = 'write them like {"query": "tea"}'


def list_(options: Options) -> Answer:
    """List the tools."""
    from memfolio.verbs.verb import tools_of

    rows = [(tool.name, tool.description.partition("\n")[0]) for tool in tools_of("all").values()]
    document = {"tools": [{"name": name, "description": told} for name, told in rows]}
    return Answer(document, lambda screen: screen.table(("tool", "what it does"), rows, wide="what it does"))


def show(options: Options, name: Name) -> Answer:
    """Show what a tool takes."""
    tool = _tool(name)
    document = {"name": tool.name, "description": tool.description, "schema": tool.schema}

    def draw(screen: Screen) -> None:
        screen.say(tool.description)
        for each, schema in tool.schema["properties"].items():
            needed = ", needed" if each in tool.schema["required"] else ""
            form = " | ".join(schema["enum"]) if "enum" in schema else schema.get("type", "any")
            screen.say(f"  {each} ({form}{needed}): {schema['description']}")

    return Answer(document, draw)


def call(options: Options, name: Name, arguments: Arguments = "{}") -> Answer:
    """Call a tool and print what it answers, as JSON."""
    tool, given = _tool(name), _arguments(read_text(arguments))
    with _whose(options, given.get("agent_id")).memory(create=in_empty_folder) as memory:
        document = {"result": tool(memory, given)}
        text = as_json(document)
    return Answer(json.loads(text), lambda screen: screen.say(text))


def _whose(options: Options, agent: object) -> Options:
    """The options for the agent that is named; who speaks as an agent speaks for no other."""
    config = options.config(create=in_empty_folder)
    if not isinstance(agent, str) or agent == config.agent:
        return options
    if config.speaker == "agent":
        from memfolio.govern.gate import SELF

        hint = "leave agent_id out, or act as yourself"
        raise PolicyError(f"{config.agent} cannot act as {agent[:64]!r}", row=SELF, hint=hint)
    return options.further(None, agent, as_json=False)


def _tool(name: str) -> Any:
    from memfolio.verbs.verb import tools_of

    tools = tools_of("all")
    if name not in tools:
        from memfolio.intake import nearest

        raise NotFoundError(f"there is no tool {name[:40]!r}", hint=nearest(name, list(tools)))
    return tools[name]


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the arguments are no JSON: {error}", hint=LIKE) from error
    if not isinstance(given, dict):
        raise InputError("the arguments are no JSON object", hint=LIKE)
    return given


list_.__name__ = "list"
COMMANDS = (
    Command(list_, "tool list"),
    Command(show, "tool show memory_recall"),
    Command(call, """tool call memory_recall '{"query": "tea"}'"""),
)
app = group("tool", COMMANDS)
