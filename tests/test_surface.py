"""The public surface: what `memfolio` exports is sorted, resolves, and is documented."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest

import memfolio
from memfolio import errors, types

ROOT = Path(__file__).parent.parent


def test_public_names_are_sorted_and_unique() -> None:
    assert memfolio.__all__ == sorted(set(memfolio.__all__))


@pytest.mark.parametrize("name", memfolio.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(memfolio, name) is not None


def test_public_names_are_the_documented_ones() -> None:
    page = (ROOT / "docs" / "surface.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == memfolio.__all__


def test_every_error_is_public_and_drawn_in_the_tree() -> None:
    found = {name for name, thing in vars(errors).items() if inspect.isclass(thing)}
    assert found <= set(memfolio.__all__)
    assert found == set(re.findall(r"\b\w+Error\b", errors.__doc__ or ""))


def test_every_class_of_the_vocabulary_is_public() -> None:
    found = {n for n, thing in vars(types).items() if inspect.isclass(thing) and thing.__module__ == types.__name__}
    assert found <= set(memfolio.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        _ = memfolio.Nothing


def test_dir_lists_the_public_names() -> None:
    assert dir(memfolio) == memfolio.__all__


def test_locks_pin_every_dependency_and_name_no_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {"requirements.lock": project["dependencies"]}
    wanted["requirements-dev.lock"] = project["dependencies"] + project["optional-dependencies"]["dev"]
    for name, dependencies in wanted.items():
        lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r"[\w-]+==[\w.]+( ; [^/@:]+)?", line) for line in lines), name
        pinned = {line.partition("==")[0] for line in lines}
        assert {re.split(r"[<>=;\s\[]", d)[0] for d in dependencies} <= pinned, name


def test_typing_marker_ships_with_the_package() -> None:
    assert (Path(sys.modules["memfolio"].__path__[0]) / "py.typed").is_file()
