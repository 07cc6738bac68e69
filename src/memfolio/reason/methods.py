"""The methods there are, as the data file tells them; the code of a method is loaded when it is used."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from memfolio.errors import NotFoundError
from memfolio.intake import nearest
from memfolio.reason.classify import DIMENSIONS
from memfolio.reason.given import Given
from memfolio.reason.result import Result
from memfolio.reason.world import World
from memfolio.types import EMPTY

_HERE = Path(__file__).parent
_INPUT = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (.*(?:\n  .*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to think a problem through: what it is good for, and the steps that guide whoever takes it.

    `settles` is what it ends with, a "choice" or a "claim"; `cues` are words that call for it, as a pattern; `ideals`
    are the kinds of problems it is made for, by dimension. One that computes tells the `inputs` it reads, and what it
    `needs` of them: one entry for each way to ask it.
    """

    name: str
    category: str
    summary: str
    good_for: str
    settles: str
    cues: str
    steps: tuple[str, ...]
    ideals: Mapping[str, tuple[str, ...]]
    needs: tuple[tuple[str, ...], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def computes(self) -> bool:
        return bool(self.needs)

    @property
    def wants(self) -> str:
        """What it needs, in words."""
        return ", or ".join(" and ".join(each) for each in self.needs)

    def is_ready(self, given: Collection[str]) -> bool:
        """Whether it can compute from inputs of these names."""
        return any(set(each) <= set(given) for each in self.needs)


@cache
def methods() -> Mapping[str, Method]:
    """Every method by its name, category by category."""
    found = {}
    for name, table in tomllib.loads((_HERE / "data" / "methods.toml").read_text("utf-8")).items():
        ideals = {each: tuple(table.pop(each)) for each in DIMENSIONS}
        needs = tuple(tuple(each.split()) for each in table.pop("needs", ()))
        inputs = _inputs(_HERE / table["category"] / f"{name.replace('-', '_')}.py") if needs else {}
        steps = tuple(table.pop("steps"))
        found[name] = Method(name=name, ideals=ideals, needs=needs, inputs=inputs, steps=steps, **table)
    return found


def method_named(name: str) -> Method:
    """The method of this name, whether its words are joined by hyphens, underscores or spaces."""
    plain = "-".join(str(name).casefold().replace("_", " ").replace("-", " ").split())
    if plain not in methods():
        raise NotFoundError(f"there is no method {str(name)[:60]!r}", hint=nearest(plain, [*methods()]))
    return methods()[plain]


def code_of(method: Method) -> Callable[[Given, World], Result]:
    """The function with which a method computes."""
    module = import_module(f"memfolio.reason.{method.category}.{method.name.replace('-', '_')}")
    code: Callable[[Given, World], Result] = module.reason
    return code


def _inputs(code: Path) -> dict[str, str]:
    """The inputs as the docstring of the code tells them, read from the file: importing all methods takes long."""
    told = code.read_text("utf-8").split('"""', 2)[1]
    lines = [(names, " ".join(line.split())) for names, line in _INPUT.findall(told)]
    return {name: line for names, line in lines for name in names.split(", ")}
