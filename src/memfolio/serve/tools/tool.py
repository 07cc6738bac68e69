"""A tool: a function of a `Memory` and plain values, with the schemas that its signature gives it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.serve.tools.shape import shape_of
from memfolio.serve.tools.words import words_for

if TYPE_CHECKING:
    from memfolio.memory import Memory

AGENT = "agent_id"
"""Whose memory is meant; whoever calls the tool opens it."""
TOLD = "told"
"""The parameter by which a tool tells how far it is; no caller names it."""
Told = Callable[[str], None]


@dataclass(frozen=True)
class Tool:
    """A function under its name, as a program may call it."""

    run: Callable[..., Any]

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.run.__doc__ or "")

    @cached_property
    def _signature(self) -> inspect.Signature:
        # Tools of every day name the memory for type checkers only, so that listing them does not load it.
        return inspect.signature(self.run, eval_str=True, locals={"Memory": Any})

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        _, *others = self._signature.parameters.values()
        return {each.name: each.replace(annotation=_needed(each.annotation)) for each in others if each.name != TOLD}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        properties = {AGENT: {"type": "string", "description": words_for(self.name, AGENT)}}
        for name, each in self._parameters.items():
            default = {} if each.default in (None, "", each.empty) else {"default": each.default}
            properties[name] = shape_of(each.annotation) | {"description": words_for(self.name, name)} | default
        needed = [name for name, each in self._parameters.items() if each.default is each.empty]
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}

    @cached_property
    def output(self) -> dict[str, Any]:
        """The JSON schema of what it returns, as far as its signature tells."""
        return shape_of(self._signature.return_annotation)

    def __call__(self, memory: Memory, arguments: Mapping[str, Any], told: Told | None = None) -> Any:
        """Call it with checked arguments; InputError says which of them makes no sense."""
        given = {name: value for name, value in arguments.items() if name != AGENT and value is not None}
        for name, value in given.items():
            if name not in self._parameters:
                raise InputError(f"{self.name} has no {name[:40]!r}", hint=nearest(name, list(self._parameters)))
            if not _fits(value, annotation := self._parameters[name].annotation):
                wanted = shape_of(annotation)
                raise InputError(f"{name} of {self.name} is {str(value)[:60]!r}", hint=f"pass {_told(wanted)}")
            if any("\0" in each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)):
                raise InputError(f"{name} of {self.name} has a NUL byte", hint="leave it out; text has none")
        for name in self.schema["required"]:
            if name not in given:
                raise InputError(f"{self.name} lacks its {name}", hint="`memfolio tool show` lists what it takes")
        if told is not None and TOLD in self._signature.parameters:
            given[TOLD] = told
        return self.run(memory, **given)


def table(functions: Iterable[Callable[..., Any]]) -> dict[str, Tool]:
    """Tools by their names."""
    return {tool.name: tool for tool in map(Tool, functions)}


def as_moment(memory: Memory, name: str, text: str | None) -> datetime | None:
    """The time that an argument names, in the home's time zone; None where it is not given."""
    from memfolio.serve.cli.times import read_moment

    return read_moment(memory.vault.config, text, name=name)


def _needed(annotation: Any) -> Any:
    """What a value must be that is given at all."""
    if get_origin(annotation) in (Union, UnionType):
        return next(each for each in get_args(annotation) if each is not NoneType)
    return annotation


def _fits(value: Any, annotation: Any) -> bool:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return value in args
    if origin is list:
        return isinstance(value, list) and all(_fits(each, args[0]) for each in value)
    if annotation in (int, float):
        return isinstance(value, int | annotation) and not isinstance(value, bool)
    return isinstance(value, origin or annotation)


def _told(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    return f"a list of {schema['items']['type']}s" if schema["type"] == "array" else f"a value of type {schema['type']}"
