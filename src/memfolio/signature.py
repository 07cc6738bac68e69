"""The table of verbs as it is written, and what the signature of a method says: the JSON types of its arguments."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Literal, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

from memfolio.text import packaged_table
from memfolio.types import Kind, Store, Type

MOST = 10**15
"""No whole number is larger; more digits than any count or id needs."""


@cache
def verb_rows() -> dict[str, dict[str, dict[str, Any]]]:
    """The rows of the table by the names of their verbs, below the set that they belong to."""
    return packaged_table("verbs/data/verbs.toml")


def signature_of(function: Callable[..., Any], forms: Mapping[str, Any] | None = None) -> inspect.Signature:
    """The signature of a function, by default with the JSON types behind the names in that of a method."""
    names = inspect.unwrap(function).__globals__ | (FORMS if forms is None else forms)
    return inspect.signature(function, eval_str=True, locals=_ModuleNames(names))


def parameters_of(signature: inspect.Signature, left_out: Collection[str]) -> dict[str, inspect.Parameter]:
    """The parameters by name, those behind typed keyword arguments among them.

    Their types are those of values that are given at all.
    """
    taken = dict[str, inspect.Parameter]()
    for each in signature.parameters.values():
        is_typed = each.kind is each.VAR_KEYWORD and get_origin(each.annotation) is Unpack
        for one in _unpacked(*get_args(each.annotation)) if is_typed else [each]:
            if one.name not in left_out:
                taken.setdefault(one.name, one.replace(annotation=_needed(one.annotation)))
    return taken


def _unpacked(fields: Any) -> list[inspect.Parameter]:
    """Return the parameters that the fields of a TypedDict are."""
    kind, empty, required = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty, fields.__required_keys__
    return [
        inspect.Parameter(name, kind, default=empty if name in required else None, annotation=each)
        for name, each in get_type_hints(fields).items()
    ]


class _ModuleNames(dict[str, Any]):
    """The names of a module; one that it knows for type checkers only stands for anything."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def _literal(kind: type[Enum]) -> Any:
    return Literal[tuple(each.value for each in kind)]


FORMS = {
    "Iterable": list,
    "Sequence": list,
    "Mapping": dict,
    "object": str | list[dict[str, Any]],
    "datetime": datetime,
    "When": str,
    "RuleType": Literal["inference", "constraint", "policy"],
    "Type": _literal(Type),
    "Kind": _literal(Kind),
    "Store": _literal(Store),
}
"""The JSON types behind the names in the signatures of methods."""

_PLAIN: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    float: {"type": "number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    NoneType: {"type": "null"},
}


def shape_of(annotation: Any) -> dict[str, Any]:
    """The JSON schema of a type that a signature names; where it says nothing that JSON knows, anything fits."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        shapes = [shape_of(each) for each in args]
        return {"anyOf": shapes} if all(shapes) else {}
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if origin in (list, tuple):
        return {"type": "array", "items": shape_of(args[0])}
    if dataclasses.is_dataclass(annotation) or is_typeddict(annotation):
        return _fields(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum | date):
        return {"type": "string"}
    return dict(_PLAIN.get(origin or annotation, {}))


def _fields(annotation: Any) -> dict[str, Any]:
    """An object; a dataclass may leave out what it has not, a TypedDict has everything that it requires."""
    try:
        hints = get_type_hints(annotation)
    except NameError:  # a type that its module knows for type checkers only
        return {"type": "object"}
    needed = {"required": sorted(annotation.__required_keys__)} if is_typeddict(annotation) else {}
    return {"type": "object", "properties": {name: shape_of(each) for name, each in hints.items()}, **needed}


def _needed(annotation: Any) -> Any:
    """What a value must be that is given at all; who takes a name or a time takes no other text."""
    if get_origin(annotation) is list:
        return list[_needed(get_args(annotation)[0])]  # type: ignore[misc]
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    args = [each for each in get_args(annotation) if each is not NoneType]
    # A method may take any text beside a choice; a schema that says so would tell nothing.
    if any(get_origin(each) is Literal or each is datetime for each in args):
        args = [each for each in args if each is not str]
    return reduce(or_, map(_needed, args))


def fits(value: Any, shape: Mapping[str, Any]) -> bool:
    """Whether a value is what a schema that `shape_of` made asks for."""
    if "anyOf" in shape:
        return any(fits(value, each) for each in shape["anyOf"])
    if "enum" in shape:
        return value in shape["enum"]
    kind = shape.get("type")
    if kind == "array":
        is_enough = isinstance(value, list) and len(value) >= shape.get("minItems", 0)
        return is_enough and all(fits(each, shape["items"]) for each in value)
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else int | float
        return isinstance(value, numbers) and not isinstance(value, bool) and abs(value) <= MOST
    return isinstance(value, next((each for each, known in _PLAIN.items() if known["type"] == kind), object))


def in_words(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(in_words, schema["anyOf"]))
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema.get("type") == "array":
        return f"a list, each {in_words(schema['items'])}" if schema["items"] else "a list"
    return f"a value of type {schema['type']}" if "type" in schema else "another value"
