"""Answers one SPARQL query in a process of its own, which can be stopped: a question as JSON, and an answer as JSON.

Imports nothing of the package, so that it starts quickly.
"""

from __future__ import annotations

import json
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
        answer = _answer(found, question["limit"])
    except (OSError, RuntimeError, SyntaxError, ValueError) as error:
        answer = {"error": str(error)[:200]}
    json.dump(answer, sys.stdout)


def _confine(memory: int, seconds: int) -> None:
    """Take no more memory and time than that, also when nobody waits any more, and open no file or connection."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def _answer(found: Any, limit: int) -> dict[str, Any]:
    if type(found).__name__ == "QueryBoolean":
        return {"holds": bool(found)}
    variables = [each.value for each in getattr(found, "variables", ())] or ["subject", "predicate", "object"]
    rows: list[list[Any]] = []
    for each in found:
        if len(rows) == limit:
            return {"variables": variables, "rows": rows, "cut": True}
        rows.append([term and (type(term).__name__, getattr(term, "value", str(term))) for term in each])
    return {"variables": variables, "rows": rows}


if __name__ == "__main__":
    main()
