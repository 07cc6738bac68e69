"""Measure the weight of the code, and hold it to the limits in `tools/limits.toml`; run by `make size`."""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.trace import files_touched

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "memfolio"
LIMITS = Path(__file__).parent / "limits.toml"
SMALL = 60
"""A file with fewer lines is a sliver, unless it is an `__init__.py`."""
HEAVY = re.compile(r"(Manager|Service|Repository|Factory)$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def code_characters(text: str, tree: ast.AST) -> int:
    """Non-blank characters outside comments and docstrings."""
    docs = {
        (node.lineno, node.col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    counted = (token for token in _tokens(text) if token.type != tokenize.COMMENT and token.start not in docs)
    return sum(not character.isspace() for token in counted for character in token.string)


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)


def _is_broad(node: ast.AST) -> bool:
    """Whether it is an `except` that catches everything."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    names = {item.id if isinstance(item, ast.Name) else None for item in caught}
    return node.type is None or bool(names & {"Exception", "BaseException"})


def measure() -> dict[str, float]:
    """Every figure by its name; those that the limits file names must not grow unplanned."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    total = sum(lines.values())
    classes = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    comments = sum(token.type == tokenize.COMMENT for text in texts.values() for token in _tokens(text))
    return {
        "lines": total,
        "characters": sum(code_characters(texts[path], tree) for path, tree in trees.items()),
        "files": len(texts),
        "small_files": sum(count < SMALL and path.name != "__init__.py" for path, count in lines.items()),
        "shared_class_names": sum(count > 1 for count in classes.values()),
        "largest_file": max(lines.values()),
        "longest_function": max(_length(node) for node in nodes if isinstance(node, Function)),
        "comments_per_100_lines": round(100 * comments / total, 2),
        "broad_excepts_per_1000_lines": round(1000 * sum(map(_is_broad, nodes)) / total, 2),
        "heavy_class_names": sum(isinstance(node, ast.ClassDef) and bool(HEAVY.search(node.name)) for node in nodes),
        **{f"files_touched_by_{verb}": len(touched) for verb, touched in files_touched().items()},
    }


def _length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def limits() -> dict[str, float]:
    """What no figure may exceed."""
    found: dict[str, float] = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    return found


def overgrown(measured: Mapping[str, float]) -> Iterator[str]:
    """What exceeds its limit, each as a sentence."""
    for name, limit in limits().items():
        if measured[name] > limit:
            yield f"{name} is {measured[name]:,}, over its limit of {limit:,}"


def main() -> int:
    os.environ.setdefault("MEMFOLIO_CACHE", tempfile.mkdtemp(prefix="memfolio-size-"))
    measured, held = measure(), limits()
    rooms: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        rooms[path.relative_to(PACKAGE).parts[0]] += len(path.read_text(encoding="utf-8").splitlines())
    print("lines per room: " + ", ".join(f"{name} {count:,}" for name, count in rooms.most_common()))
    for name, value in measured.items():
        print(f"  {name:32} {value:>12,}" + (f"   limit {held[name]:,}" if name in held else ""))
    wrong = list(overgrown(measured))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
