"""A verb: one row of the table, from which its schemas, scope and hints at every door are derived."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property
from importlib import import_module
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_origin

from memfolio.arguments import check_known
from memfolio.errors import InputError, PolicyError
from memfolio.signature import fits, in_words, parameters_of, shape_of, signature_of, verb_rows
from memfolio.text import packaged_table
from memfolio.types import MemoryItem
from memfolio.verbs import documents
from memfolio.verbs.documents import as_document

if TYPE_CHECKING:
    from memfolio.memory import Memory

Effect = Literal["read", "add", "change", "remove"]
Scope = Literal["read", "write", "admin"]
OnProgress = Callable[[str, int, int], None]
"""Reports progress: the current task, how much of it is done, and the total."""

SETS = {"core": "daily", "memory": "life", "knowledge": "knowing", "mind": "doing", "reason": "doing"}
"""The sets of tools, each with the module that has its functions; it is loaded when the set is asked for."""
TOOL_SETS = (*SETS, "all")
AGENT = "agent_id"
"""The agent whose memory is used; the caller of a verb opens that memory."""
ON_PROGRESS = "on_progress"
LEFT_OUT = ("self", "by", ON_PROGRESS, "origin", "tier", "wanted")
"""Parameters of methods that callers cannot set: the speaker and the origin follow from who was admitted."""
UNSOUND = re.compile("[\0\ud800-\udfff]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the table.

    `does` is a function of a memory and plain values, or the path of a method such as "core.read". `shows` names the
    document that its result is rendered as; for a list, each item is.
    """

    does: Callable[..., Any] | str
    effect: Effect
    name: str = ""
    shows: Callable[[Any], Any] | None = None
    once: bool = False
    """Whether a second call with the same arguments has no further effect."""
    outside: bool = False
    """Whether it asks another server."""
    slow: bool = False
    admin: bool = False
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Older spellings of arguments, which are accepted."""
    takes: str = ""
    """The parameters of its method that it takes, if not all: names, or `name=parameter` for a renamed one."""
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Arguments that are always passed to the method and not offered to callers."""
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Defaults that differ from those of the method."""
    needs: str = ""
    """Arguments that are required although the method has a default for them."""
    short: tuple[str, ...] = ()
    """The arguments shown in the listing of its tool, if not all."""
    proposal: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """How its call is proposed, if it may be, see `ProposableVerb`."""
    words: str = ""
    """Words that people use for it, by which it is found beside those of its description."""
    lacks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The doors, of "http", "mcp" and "cli", at which it is not, each with the reason."""
    wraps: bool = False
    """Whether it calls the verb named by its argument `name`, and needs the scope of that verb."""

    def __post_init__(self) -> None:
        default = self.does.replace(".", "_") if isinstance(self.does, str) else self.does.__name__
        object.__setattr__(self, "name", self.name or default)

    @property
    def is_reading(self) -> bool:
        return self.effect == "read"

    @property
    def scope(self) -> Scope:
        """What a token must allow."""
        if self.admin:
            return "admin"
        return "read" if self.is_reading else "write"

    def scope_for(self, arguments: Mapping[str, Any]) -> Scope:
        """What a token must allow for a call with these arguments."""
        inner = table("all").get(str(arguments.get("name"))) if self.wraps else None
        return inner.scope if inner else self.scope

    @property
    def needs_confirmation(self) -> bool:
        """Whether somebody should agree to each call: it takes something away or puts something in its place."""
        return self.effect == "remove"

    @property
    def method(self) -> str:
        """The method of `Memory` that it is, where it is one."""
        return self.does if isinstance(self.does, str) else self.name

    @property
    def route(self) -> str:
        return f"/v1/{self.name.replace('_', '-')}"

    @cached_property
    def _function(self) -> Callable[..., Any]:
        if not isinstance(self.does, str):
            return self.does
        from memfolio.memory import Memory
        from memfolio.rooms import method_named

        return method_named(Memory, self.does)

    @property
    def description(self) -> str:
        own = _arguments()["tool"].get(self.name, {}).get("description")
        return inspect.cleandoc(own or self._function.__doc__ or "")

    @cached_property
    def _signature(self) -> inspect.Signature:
        return signature_of(self._function) if isinstance(self.does, str) else signature_of(self.does, {})

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What it takes, by name; the types are those of values that are given at all."""
        left_out = LEFT_OUT if isinstance(self.does, str) else ("memory", ON_PROGRESS)
        taken = parameters_of(self._signature, left_out)
        if more := next((each for each in taken.values() if each.kind is each.VAR_KEYWORD), None):
            del taken[more.name]  # the fields of a memory
            taken |= {name: each for name, each in table("core")["remember"].parameters.items() if name not in taken}
        if self.takes:
            taken = {name: taken[parameter].replace(name=name) for name, parameter in self._taken.items()}
        defaults = {**self.defaults, **dict.fromkeys(self.needs.split(), inspect.Parameter.empty)}
        return {name: each.replace(default=defaults.get(name, each.default)) for name, each in taken.items()}

    @cached_property
    def _taken(self) -> dict[str, str]:
        """What parameters of the method are called here."""
        named = (each.partition("=") for each in self.takes.split())
        return {name: parameter or name for name, _, parameter in named}

    @cached_property
    def required(self) -> list[str]:
        return [name for name, each in self.parameters.items() if each.default is each.empty]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        properties = {AGENT: {"type": "string", "description": words_for(self.name, AGENT)}}
        for name, each in self.parameters.items():
            default = {} if each.default in (None, "", (), each.empty) else {"default": each.default}
            properties[name] = self._shape(each) | {"description": words_for(self.name, name)} | default
        return {"type": "object", "properties": properties, "required": self.required, "additionalProperties": False}

    @property
    def listed(self) -> dict[str, Any]:
        """The schema as a list of tools has it, where every agent reads it before it begins; `find_tool` tells all."""
        if not self.short:
            return self.schema
        properties = {name: each for name, each in self.schema["properties"].items() if name in (AGENT, *self.short)}
        return {"type": "object", "properties": properties, "required": self.required}

    def _shape(self, parameter: inspect.Parameter) -> dict[str, Any]:
        shape = shape_of(parameter.annotation)
        if parameter.kind is parameter.VAR_POSITIONAL:
            return {"type": "array", "items": shape, "minItems": 1}
        return shape

    @cached_property
    def output(self) -> dict[str, Any]:
        """The JSON schema of what it answers, as far as its signature tells."""
        given = signature_of(self._function, {}).return_annotation
        shape = shape_of(signature_of(self.shows, {}).return_annotation if self.shows else given)
        return {"type": "array", "items": shape} if self.shows and get_origin(given) is list else shape

    def __call__(self, memory: Memory, arguments: Mapping[str, Any], on_progress: OnProgress | None = None) -> Any:
        """Call it with checked arguments; InputError says which of them makes no sense."""
        agent = arguments.get(AGENT)
        # Every door takes the argument; each is open for one agent.
        if agent not in (None, memory.agent):
            from memfolio.govern.gate import SELF

            hint = "leave agent_id out: this door is open for one agent"
            raise PolicyError(f"{memory.agent} cannot act as {str(agent)[:64]!r}", row=SELF, hint=hint)
        given = self.checked(memory, arguments)
        # Most verbs are over before anybody would ask how far they are.
        if on_progress is not None and ON_PROGRESS in self._signature.parameters:
            given[ON_PROGRESS] = on_progress
        value = self._done(memory, given)
        return as_document(value) if isinstance(value, MemoryItem) else value

    def _done(self, memory: Memory, given: dict[str, Any]) -> Any:
        named = {self._taken.get(name, name): value for name, value in {**self.defaults, **given}.items()}
        given = {**self.fixed, **named}
        if not isinstance(self.does, str):
            return self.does(memory, **given)
        in_order = list[Any]()
        for name, each in self._signature.parameters.items():
            if each.kind is each.VAR_POSITIONAL:
                in_order += given.pop(name)
            elif each.kind is each.POSITIONAL_ONLY and name != "self":
                in_order.append(given.pop(name))
        value = attrgetter(self.does)(memory)(*in_order, **given)
        if self.shows is None:
            return value
        return list(map(self.shows, value)) if type(value) is list else self.shows(value)

    def checked(self, memory: Memory, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by the names that they have today, times read."""
        given: dict[str, Any] = {}
        for told, value in arguments.items():
            name = self.renamed.get(told, told)
            if told == AGENT or value is None:
                continue
            check_known(f"{self.name} has no", [name], self.parameters)
            if name in given:
                raise InputError(f"{told} of {self.name} is another name for {name}", hint="give one of the two")
            given[name] = self._read(memory, name, value)
        for name in self.required:
            if name not in given:
                raise InputError(f"{self.name} lacks its {name}", hint="`memfolio tool show` lists what it takes")
        return given

    def _read(self, memory: Memory, name: str, value: Any) -> Any:
        shape = self.schema["properties"][name]
        if not fits(value, shape):
            raise InputError(f"{name} of {self.name} is {str(value)[:60]!r}", hint=f"pass {in_words(shape)}")
        check_sound(f"{name} of {self.name}", value)
        return as_moment(memory, name, value) if self.parameters[name].annotation is datetime else value


@cache
def rows(set: str) -> dict[str, Verb]:
    """The rows of one set of tools by the names of their verbs, as `verbs.toml` has them."""
    return {name: _read_row(name, SETS[set], **row) for name, row in verb_rows()[set].items()}


def _read_row(
    name: str, module: str, does: str = "", shows: str = "", short: str = "", only_in_python: str = "", **row: Any
) -> Verb:
    """A row as a verb: `does` is a function of its set's module, or `MODULE:FUNCTION`, or the path of a method."""
    other, _, function = does.rpartition(":")
    own = getattr(import_module(f"memfolio.verbs.{other or module}"), function if other else name, None)
    if only_in_python:
        row["lacks"] = dict.fromkeys(("http", "mcp", "cli"), only_in_python)
    return Verb(
        name=name,
        does=own if own and (other or not does) else does or name,
        shows=getattr(documents, shows) if shows else None,
        short=tuple(short.split()),
        **row,
    )


def table(name: str = "all") -> dict[str, Verb]:
    """The verbs of a set by their names; those of "core" are in every set."""
    check_known("there is no set of tools", [name], TOOL_SETS)
    sets = SETS if name == "all" else dict.fromkeys(("core", name))
    return {each: verb for one in sets for each, verb in rows(one).items()}


def verbs_at(door: str, name: str = "all") -> dict[str, Verb]:
    """The verbs of a set that a door has, by their names."""
    return {each: verb for each, verb in table(name).items() if door not in verb.lacks}


def tools_of(name: str) -> dict[str, Verb]:
    """The tools of a set by their names."""
    return verbs_at("mcp", name)


def as_moment(memory: Memory, name: str, text: str) -> datetime:
    """Parse a time argument in the home's time zone.

    For arguments that look back from a time, a day means its end, so that everything on that day counts.
    """
    from memfolio.recall.dates import moment_of

    home = memory.vault.home
    moment = moment_of(text, home.now(), home.zone, end=name in ("until", "before", "as_of", "valid_at"))
    if moment is None:
        raise InputError(f"{text[:40]!r} is not a time", hint="write it like 2026-11-15, 2026-11-15T14:30 or yesterday")
    return moment


def check_sound(what: str, value: Any) -> None:
    """Raise InputError for text and numbers that JSON may name and no memory can hold."""
    for each in _leaves(value):
        if isinstance(each, str) and UNSOUND.search(each):
            raise InputError(f"{what} has a NUL byte or half a character", hint="leave it out; text has none")
        if isinstance(each, float) and not isfinite(each):
            raise InputError(f"{what} has NaN or Infinity", hint="leave it out; JSON has neither")


def _leaves(value: Any) -> Iterator[Any]:
    # A stack: JSON may be nested deeper than Python recurses.
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
        else:
            yield each


@cache
def _arguments() -> dict[str, Any]:
    return packaged_table("verbs/data/arguments.toml")


def words_for(verb: str, argument: str) -> str:
    """Return the description of an argument of a verb; empty if there is none."""
    told = _arguments()
    return str(told["tool"].get(verb, {}).get(argument) or told.get(argument, ""))
