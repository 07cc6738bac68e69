"""A method as steps for whoever works through them: no conclusion is made up where nothing was computed."""

from __future__ import annotations

from memfolio.reason.methods import Method
from memfolio.reason.result import Result


def worksheet(method: Method, problem: str, *notes: str) -> Result:
    """What to do about a problem with a method, step by step, and which inputs it would compute from."""
    needs = f"nothing was computed: {method.name} needs {method.wants}"
    guides = f"{method.name} does not compute: its steps guide whoever works through them"
    return Result(
        method=method.name,
        conclusion="",
        steps=method.steps,
        answer={"inputs": dict(method.inputs)} if method.computes else {},
        notes=(needs if method.computes else guides, *notes),
        computed=False,
        problem=problem,
    )
