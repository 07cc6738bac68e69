"""Answers one SPARQL query in a process of its own, which can be stopped: a question as JSON, then N-Triples.

Imports nothing of the package, so that it starts quickly.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    question = json.loads(sys.stdin.buffer.readline())
    _keep_within(question["memory"])
    import pyoxigraph

    store = pyoxigraph.Store()
    store.bulk_load(sys.stdin.buffer, pyoxigraph.RdfFormat.N_TRIPLES)
    try:
        found = store.query(question["query"], prefixes=question["prefixes"])
        answer = _answer(found, question["limit"], question["bytes"])
    except SyntaxError as error:
        answer = {"error": str(error.msg)}
    except (OSError, RuntimeError, ValueError) as error:
        answer = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def _keep_within(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _answer(found: Any, limit: int, most: int) -> dict[str, Any]:
    """The first rows, up to a number of them and a size of all."""
    if type(found).__name__ == "QueryBoolean":
        return {"variables": [], "rows": [], "holds": bool(found), "cut": False}
    variables = [each.value for each in getattr(found, "variables", ())] or ["subject", "predicate", "object"]
    rows: list[list[Any]] = []
    for each in found:
        row = [None if term is None else _said(term) for term in each]
        most -= sum(len(cell[1]) + 40 for cell in row if cell)
        if len(rows) >= limit or most < 0:
            return {"variables": variables, "rows": rows, "cut": True}
        rows.append(row)
    return {"variables": variables, "rows": rows, "cut": False}


def _said(term: Any) -> tuple[str, str]:
    kind = type(term).__name__
    return (kind, term.value) if kind in ("NamedNode", "Literal") else (kind, str(term))


if __name__ == "__main__":
    main()
