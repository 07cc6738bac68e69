"""The page about troubles has a row for everything that `doctor` can find."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfolio.vault import journal, survey
from memfolio.vault.past import report

PAGE = " ".join((Path(__file__).parents[2] / "docs/troubleshooting.md").read_text(encoding="utf-8").split())


def findings() -> Iterator[str]:
    """The words that each finding is told with, as far as they are always the same."""
    for module in (report, survey, journal):
        for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))):
            for told in _told(node):
                yield max((each.partition(":")[0].strip(" ,;()") for each in _fixed(told)), key=len)


def _told(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name("Finding"), args=[ast.Constant(level), _, said, *_]) if level != "ok":
            return [said] if _fixed(said) else []
        case ast.Assign(targets=[ast.Name("message") | ast.Subscript(ast.Attribute(attr="problems"))], value=said):
            return [said] if _fixed(said) else []
        case ast.Call(func=ast.Attribute(ast.Name("found"), "append"), args=[ast.JoinedStr() as said]):
            return [said]
        case ast.FunctionDef(name="_reading_problems"):
            texts = [each for each in ast.walk(node) if isinstance(each, ast.JoinedStr)]
            return [*texts, *(each for each in ast.walk(node) if isinstance(each, ast.Constant) and _is_sentence(each))]
    return []


def _is_sentence(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and node.value.startswith("is ")


def _fixed(node: ast.expr) -> list[str]:
    """The parts of a text that are written out; none where there is but a name."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]


FOUND = sorted({each for each in findings() if len(each) > 6})


def test_findings_are_found() -> None:
    assert len(FOUND) > 20


@pytest.mark.parametrize("said", FOUND)
def test_page_has_a_row_for_what_doctor_finds(said: str) -> None:
    assert said in PAGE
