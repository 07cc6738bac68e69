"""The JSON schema of a type that a signature names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

_PLAIN: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    float: {"type": "number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    NoneType: {"type": "null"},
}


def shape_of(annotation: Any) -> dict[str, Any]:
    """The schema of a type; where it says nothing that JSON knows, anything fits."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return {"anyOf": [shape_of(each) for each in args]}
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
    """An object; a dataclass may leave out what it has not, a TypedDict has everything that it names."""
    properties = {name: shape_of(each) for name, each in get_type_hints(annotation).items()}
    needed = {"required": list(properties)} if is_typeddict(annotation) else {}
    return {"type": "object", "properties": properties, **needed}
