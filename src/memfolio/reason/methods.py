"""The methods there are, as the data file tells them; the code of a method is loaded when it is used."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from memfolio.errors import NotFoundError
from memfolio.intake import nearest
from memfolio.reason.classify import DIMENSIONS
from memfolio.reason.given import Given
from memfolio.reason.method import Method
from memfolio.reason.result import Result
from memfolio.reason.world import World

_FILE = Path(__file__).parent / "data" / "methods.toml"


@cache
def methods() -> Mapping[str, Method]:
    """Every method by its name, category by category."""
    found = {}
    for name, table in tomllib.loads(_FILE.read_text("utf-8")).items():
        ideals = {each: tuple(table.pop(each)) for each in DIMENSIONS}
        found[name] = Method(name=name, ideals=ideals, steps=tuple(table.pop("steps")), **table)
    return found


def method_named(name: str) -> Method:
    """The method of this name, whether its words are joined by hyphens, underscores or spaces."""
    plain = "-".join(str(name).casefold().replace("_", " ").replace("-", " ").split())
    if plain not in methods():
        raise NotFoundError(f"there is no method {str(name)[:60]!r}", hint=nearest(plain, [*methods()]))
    return methods()[plain]


def code_of(method: Method) -> Callable[[Given, World], Result]:
    """The function with which a method computes."""
    code: Callable[[Given, World], Result] = import_module(method.module).reason
    return code
