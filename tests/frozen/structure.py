"""What programs rely on, as plain values without prose: commands, tools, routes, Python names, errors, settings."""

from __future__ import annotations

import enum
import inspect
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import memfolio
from memfolio import AsyncMemory, MemfolioError, Memory, errors
from memfolio.config import load_config
from memfolio.serve.cli.app import program
from memfolio.serve.cli.derive import below, command, listed
from memfolio.serve.cli.errors import EXIT_CODES, USAGE
from memfolio.serve.http.app import build
from memfolio.serve.http.errors import STATUS
from memfolio.serve.http.gate import ServerNames
from memfolio.serve.http.server import Limits
from memfolio.serve.mcp.server import PROPOSED, described
from memfolio.settings import KEYS, toml
from memfolio.verbs.verb import TOOL_SETS, tools_of, verbs_at

EVERYWHERE = ("--home", "--agent", "--json")
PROSE = frozenset({"description", "title", "summary", "examples"})


def commands() -> dict[str, Any]:
    """Every command with its arguments and options; those that all commands have are told once."""
    found: dict[str, Any] = {"memfolio": program()}
    for name in listed():
        found |= {f"memfolio {path}": command(path) for path in below(name) or [name]}
    told = {path: _options(command) for path, command in sorted(found.items())}
    shared = {name: each for name, each in told["memfolio"].items() if name in EVERYWHERE}
    for path, options in told.items():
        if path != "memfolio" and shared.items() <= options.items():
            told[path] = {"as everywhere": sorted(shared)} | {n: o for n, o in options.items() if n not in shared}
    return told


TYPES = {"text": "str", "integer": "int", "boolean": "bool", "path": "Path"}
"""What the parser calls types, by what Python calls them."""


def _options(command: Any) -> dict[str, Any]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    told = {f"{place} {each.name}": _option(each) for place, each in enumerate(arguments, 1)}
    return told | {each.opts[0]: _option(each) for each in command.params if each not in arguments}


def _option(option: Any) -> dict[str, Any]:
    kind, is_list = option.type.name.split()[0], bool(option.multiple or option.nargs != 1)
    plain = TYPES.get(kind, kind)
    known = {
        "type": f"list[{plain}]" if is_list else plain,
        "choices": list(getattr(option.type, "choices", ())),
        "default": option.default() if callable(option.default) else option.default,
        "also": [*option.opts[1:], *option.secondary_opts],
        "required": option.required,
        "repeatable": is_list,
        "hidden": option.hidden,
        "min": getattr(option.type, "min", None),
        "max": getattr(option.type, "max", None),
    }
    return {name: _plain(value) for name, value in known.items() if value not in (None, False, [])}


def tools() -> dict[str, Any]:
    """Every tool of MCP with its schemas and annotations, and the sets in which they are offered."""
    found: dict[str, Any] = {}
    for name, tool in tools_of("all").items():
        told = described(tool).model_dump(mode="json", by_alias=True, exclude_none=True)
        found[name] = {
            "input": without_prose(told["inputSchema"]),
            "output": _or_proposed(told["outputSchema"]),
            "annotations": told["annotations"],
        }
    return {"PROPOSED": PROPOSED, "sets": {name: sorted(tools_of(name)) for name in TOOL_SETS}, "tools": found}


def _or_proposed(schema: Any) -> Any:
    """A schema in which what is answered in place of a change stands by its name."""
    if schema == PROPOSED:
        return "PROPOSED"
    if isinstance(schema, list):
        return [_or_proposed(each) for each in schema]
    return {name: _or_proposed(each) for name, each in schema.items()} if isinstance(schema, dict) else schema


def routes() -> dict[str, Any]:
    """Every route of HTTP with what it takes and gives; those of tools take and give what the tools do."""
    with tempfile.TemporaryDirectory() as folder:
        app = build(load_config(folder), Limits(), ServerNames())
        document = app.openapi()
        app.state.hall.close()
    found = {
        f"{method.upper()} {path}": _route(path, told)
        for path, methods in document["paths"].items()
        for method, told in methods.items()
    }
    return {"routes": found, "schemas": without_prose(document["components"]["schemas"])}


def _route(path: str, told: Mapping[str, Any]) -> dict[str, Any]:
    body = without_prose(told.get("requestBody", {}).get("content", {}))
    answers: dict[str, Any] = {status: _short(each.get("content", {})) for status, each in told["responses"].items()}
    if path.startswith("/v1/tools/"):
        tool = verbs_at("http")[path.removeprefix("/v1/tools/")]
        body = "as the tool" if body == _json(without_prose(tool.schema)) else body
        output = {"type": "object", "properties": {"result": tool.output}, "required": ["result"]}
        answers["200"] = "as the tool" if answers["200"] == _json(without_prose(output)) else answers["200"]
    known = {
        "scope": told.get("x-scope"),
        "security": told.get("security"),
        "parameters": {each["name"]: {"in": each["in"], **each["schema"]} for each in told.get("parameters", ())},
        "body": _short(body),
        "answers": {status: each for status, each in answers.items() if each != "Failure"},
        "failures": " ".join(status for status, each in answers.items() if each == "Failure"),
    }
    return {name: value for name, value in known.items() if value}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _short(content: Any) -> Any:
    """What is sent as JSON, where that is all; a schema that is told elsewhere, by its name."""
    if isinstance(content, str) or content.keys() != {"application/json"}:
        return content
    schema = without_prose(content["application/json"]["schema"])
    return schema["$ref"].rpartition("/")[2] if "$ref" in schema else _json(schema)


def names() -> dict[str, Any]:
    """The public names of Python: what is exported, and the verbs of `Memory` and of its rooms."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(folder, background=False) as memory:
        rooms = {name: type(getattr(memory, name)) for name in _rooms(Memory)}
    verbs = _verbs(Memory)
    return {
        "memfolio": {name: _export(getattr(memfolio, name)) for name in memfolio.__all__},
        "Memory": verbs,
        "AsyncMemory": {n: "as Memory" if verbs.get(n) == each else each for n, each in _verbs(AsyncMemory).items()},
        **{f"Memory.{name}": _verbs(room) for name, room in sorted(rooms.items())},
    }


def _rooms(kind: type) -> list[str]:
    found = inspect.getmembers(kind, lambda each: isinstance(each, cached_property | property))
    return [name for name, _ in found if not name.startswith("_")]


def _export(thing: Any) -> Any:
    if not inspect.isclass(thing):
        return _signature(thing) if callable(thing) else type(thing).__name__
    if issubclass(thing, enum.Enum):
        return [each.value for each in thing]
    if is_dataclass(thing):
        return {each.name: str(each.type) for each in fields(thing)}
    return "class"


def _verbs(kind: type) -> dict[str, Any]:
    """The methods of a class with their signatures, and its properties."""
    things = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    verbs = {name: _signature(each) for name, each in things.items() if callable(each)}
    rooms = {name: "property" for name, each in things.items() if isinstance(each, cached_property | property)}
    return verbs | rooms


def _signature(function: Callable[..., Any]) -> list[str]:
    """The parameters in their order, with the marks between their kinds, and what comes back."""
    signature = inspect.signature(function)
    given = [each for each in signature.parameters.values() if each.name != "self"]
    told = [_parameter(each) for each in given]
    kinds = [each.kind for each in given]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        told.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if alone := kinds.count(inspect.Parameter.POSITIONAL_ONLY):
        told.insert(alone, "/")
    return [*told, f"-> {_type(signature.return_annotation)}"]


STARS: Mapping[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _parameter(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
    return f"{STARS.get(parameter.kind, '')}{parameter.name}: {_type(parameter.annotation)}{default}"


def _default(value: Any) -> str:
    return value.__name__ if callable(value) else repr(_plain(value) if isinstance(value, enum.Enum) else value)


def _type(annotation: Any) -> str:
    return annotation.__name__ if type(annotation) is type else str(annotation)


def failures() -> dict[str, Any]:
    """Every error with its code, where it stands in the tree, its exit code and its status over HTTP."""
    found = {name: each for name, each in vars(errors).items() if inspect.isclass(each)}
    told = {
        name: {
            "code": each.code,
            "is": [base.__name__ for base in each.__mro__[1:-1] if base not in (BaseException, Exception)],
            "exit": next(code for kind, code in EXIT_CODES.items() if issubclass(each, kind)),
            "http": next(status for kind, status in STATUS.items() if issubclass(each, kind)),
        }
        for name, each in found.items()
        if issubclass(each, MemfolioError)
    }
    return {"errors": told, "usage": USAGE}


def settings() -> dict[str, Any]:
    """Every setting with what it accepts and its default."""
    return {key.name: _setting(key) for key in KEYS}


def _setting(key: Any) -> dict[str, Any]:
    told = {"accepts": key.wants, "default": None if key.default is None else toml(key.default)}
    unusual = {"not in the file": not key.in_file, "not in the environment": not key.in_environment}
    return told | {name: True for name, holds in (unusual | {"secret": key.is_secret}).items() if holds}


def without_prose(schema: Any) -> Any:
    """A JSON schema without what it tells people; a property may well be called like that."""
    if isinstance(schema, list):
        return [without_prose(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: without_prose(each) for name, each in schema.items() if not _is_prose(name, each)}


def _is_prose(name: str, value: Any) -> bool:
    return name in PROSE and not isinstance(value, dict)


def _plain(value: Any) -> Any:
    """A default as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    return str(value).replace(str(Path.home()), "~")
