"""Answers one SPARQL query in a process of its own, which can be stopped: a question as JSON, and an answer as JSON.

Imports nothing of the package, so that it starts quickly.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any


def main() -> None:
    import pyoxigraph

    question = json.load(sys.stdin)
    _confine(question["memory"], question["seconds"])
    store = pyoxigraph.Store()
    for document in question["documents"]:
        store.bulk_load(document.encode(), pyoxigraph.RdfFormat.JSON_LD)
    try:
        found = store.query(question["query"], prefixes=question["prefixes"])
        answer = _answer(found, question["limit"], question["bytes"])
    except SyntaxError as error:
        answer = {"error": _misread(str(error.msg))}
    except (OSError, RuntimeError, ValueError) as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


def _misread(message: str) -> str:
    """What is wrong with the text of a query, and where; the parser lists every character that could stand there."""
    found = re.match(r"error at (\d+):(\d+): (.*)", message)
    if found is None:
        return f"it is no SPARQL: {message[:200]}"
    why = "this prefix is not known" if "Prefix not found" in message else found[3].partition(", [")[0]
    return f"it is no SPARQL at line {found[1]}, character {found[2]}: {why}"


def _confine(memory: int, seconds: int) -> None:
    """Take no more memory and time than that, also when nobody waits any more, and open no file or connection."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def _answer(found: Any, limit: int, most: int) -> dict[str, Any]:
    """The first rows, up to a number of them and a size of all."""
    if type(found).__name__ == "QueryBoolean":
        return {"holds": bool(found)}
    variables = [each.value for each in getattr(found, "variables", ())] or ["subject", "predicate", "object"]
    rows: list[list[Any]] = []
    for each in found:
        row = [None if term is None else (type(term).__name__, getattr(term, "value", str(term))) for term in each]
        most -= sum(len(cell[1]) + 40 for cell in row if cell)
        if len(rows) >= limit or most < 0:
            return {"variables": variables, "rows": rows, "cut": True}
        rows.append(row)
    return {"variables": variables, "rows": rows}


if __name__ == "__main__":
    main()
