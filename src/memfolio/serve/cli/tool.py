"""The commands below `tool`: what agents call by name, called by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.derive import Text, called
from memfolio.serve.cli.output import table

if TYPE_CHECKING:
    from memfolio.verbs.verb import Verb

LIKE = 'write them like {"query": "tea"}'


def tool_list(options: Options) -> Answer:
    from memfolio.verbs.verb import tools_of

    rows = [(tool.name, tool.description.partition("\n")[0]) for tool in tools_of("all").values()]
    document = {"tools": [{"name": name, "description": what} for name, what in rows]}
    return Answer(document, table(("tool", "what it does"), rows, wide="what it does"))


def tool_show(options: Options, name: str) -> Answer:
    tool = _tool(name)
    lines = [tool.description]
    for each, shape in tool.schema["properties"].items():
        needed = ", needed" if each in tool.required else ""
        form = " | ".join(shape["enum"]) if "enum" in shape else shape.get("type", "any")
        lines.append(f"  {each} ({form}{needed}): {shape['description']}")
    return Answer({"name": tool.name, "description": tool.description, "schema": tool.schema}, lines)


def tool_call(options: Options, name: str, arguments: Text = "{}", /) -> Answer:
    tool = _tool(name)
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the arguments are no JSON: {error}", hint=LIKE) from error
    if not isinstance(given, dict):
        raise InputError("the arguments are no JSON object", hint=LIKE)
    return called(options, tool, given)


def _tool(name: str) -> Verb:
    from memfolio.intake import nearest
    from memfolio.verbs.verb import verbs_at

    tools = verbs_at("cli")
    if name not in tools:
        raise NotFoundError(f"there is no tool {name[:40]!r}", hint=nearest(name, list(tools)))
    return tools[name]
