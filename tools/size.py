"""Measure the code against the house style; run by `make size`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "memfolio"
HEAVY = re.compile(r"(Manager|Service|Repository|Factory)$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def nodes(files: list[Path]) -> Iterator[tuple[Path, ast.AST]]:
    for path in files:
        yield from ((path, node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def is_broad(node: ast.AST) -> bool:
    """Whether it is an `except` that catches everything."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    names = {item.id if isinstance(item, ast.Name) else None for item in caught}
    return node.type is None or bool(names & {"Exception", "BaseException"})


def heading(text: str) -> None:
    print(f"\n{text}")


def show(rows: list[tuple[int, str]]) -> None:
    for count, name in rows:
        print(f"  {count:6,}  {name}")


def main() -> None:
    code = sorted(PACKAGE.rglob("*.py"))
    tests = sorted((ROOT / "tests").rglob("*.py"))
    rooms: Counter[str] = Counter()
    for path in code:
        rooms[path.relative_to(PACKAGE).parts[0]] += lines_of(path)
    total, test_total = sum(rooms.values()), sum(map(lines_of, tests))
    tree = list(nodes(code))
    functions = [(length(node), path, node) for path, node in tree if isinstance(node, Function)]
    functions.sort(key=lambda row: -row[0])
    broad = sum(is_broad(node) for _, node in tree)
    heavy = [node.name for _, node in tree if isinstance(node, ast.ClassDef) and HEAVY.search(node.name)]

    heading("lines per room")
    show([(count, name) for name, count in rooms.most_common()])
    heading("largest files (aim: at most 500)")
    show(sorted(((lines_of(p), str(p.relative_to(PACKAGE))) for p in code), reverse=True)[:10])
    heading("longest functions (aim: at most 60)")
    show([(n, f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}") for n, path, node in functions[:10]])
    heading("in all")
    print(f"  code {total:,}, tests {test_total:,} lines; test : code {test_total / max(total, 1):.2f} (aim: about 1)")
    print(f"  median function {median(row[0] for row in functions):g} lines (aim: at most 8)")
    print(f"  broad except {broad}, {1000 * broad / max(total, 1):.2f} per 1,000 lines (aim: at most 0.2)")
    print(f"  Manager, Service, Repository, Factory classes: {', '.join(heavy) or 'none'}")


if __name__ == "__main__":
    main()
