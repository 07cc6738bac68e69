"""The tools about an agent's mind, about what it knows how to do, and about problems to be thought through."""

from __future__ import annotations

from typing import Any, Literal

from memfolio.memory import Memory

Kind = Literal["persona", "capability", "belief", "desire", "goal", "intention", "plan", "commitment", "learning"]
Ending = Literal["done", "dropped", "retired"]


def mind_add(
    memory: Memory, kind: Kind, text: str, title: str | None = None, fields: dict[str, Any] | None = None
) -> Any:
    """Note something that the agent believes, wants, intends, plans, promised, learned or is able to do.

    Fields are such as certainty, priority, deadline, when (a time or a topic that brings it up) and from (the ids of
    the memories and facts that it rests on).
    """
    from memfolio.serve.cli.mind import document

    given = {f"{name}_": value for name, value in (fields or {}).items()}
    return document(memory.mind.add(kind, text, title=title, **given))


def mind_list(memory: Memory, kind: Kind | None = None, all: bool = False) -> Any:
    """List what the agent believes, wants and has taken on, with what on its pages makes no sense."""
    from memfolio.serve.cli.mind import document

    found = memory.mind.items(kind, live=not all)
    return {"items": [document(each) for each in found], "problems": memory.mind.problems()}


def mind_update(memory: Memory, item: str, text: str | None = None, fields: dict[str, Any] | None = None) -> Any:
    """Say something else of an item, named by its id or title; a field of null is taken away."""
    from memfolio.serve.cli.mind import document

    given = {f"{name}_": value for name, value in (fields or {}).items()}
    return document(memory.mind.update(item, text=text, **given))


def mind_end(memory: Memory, item: str, status: Ending = "done", reason: str | None = None) -> Any:
    """Note that something is done, dropped, or does not hold any more."""
    from memfolio.serve.cli.mind import document

    return document(memory.mind.retire(item, status, reason=reason))


def mind_due(memory: Memory, about: str = "") -> Any:
    """What comes up now: what is due, and what was to be done when this topic comes up."""
    return [{"id": each.item.id, "title": each.item.title, "why": each.why} for each in memory.mind.due(about)]


def bdi_heartbeat(memory: Memory, dry_run: bool = False) -> Any:
    """Bring the mind up to date: let go of what is over, rank desires, check beliefs, find contradictions."""
    return memory.heartbeat(dry_run=dry_run)


def procedure_match(memory: Memory, text: str, limit: int = 3) -> Any:
    """Find the procedures that a request calls for, with their steps."""
    found = memory.procedures.match(text, limit=limit)
    return [{"why": each.why, "score": each.score, "procedure": each.procedure} for each in found]


def procedure_decide(memory: Memory, name: str, answers: dict[str, Any] | None = None) -> Any:
    """Follow a decision tree with given answers: the path, and the conclusion or the next question."""
    return memory.procedures.decide(name, answers or {})


def workflow_start(memory: Memory, name: str, values: dict[str, Any] | None = None) -> Any:
    """Begin a procedure; the answer says which step is to be done first. Call workflow_done after each step."""
    return _run(memory.runs.run(name, values or {}, checklist=True))


def workflow_done(
    memory: Memory,
    run: str,
    ok: bool = True,
    error: str | None = None,
    result: dict[str, Any] | None = None,
    turn: int | None = None,
) -> Any:
    """Say how the step at hand went; the answer says which one is next, or how the run ended.

    With turn, that of the step that waits, a call which is repeated does not count for the next step.
    """
    return _run(memory.runs.done(run, ok=ok, error=error or "", result=result, turn=turn))


def reason(
    memory: Memory,
    problem: str,
    method: str | None = None,
    given: dict[str, Any] | None = None,
    problem_classification: dict[str, Any] | None = None,
    multi_method: bool = False,
    methods: list[str] | None = None,
    store: bool = False,
) -> Any:
    """Think a problem through: by a method, by the one that fits its classification, or by several that are weighed.

    A method that computes needs its inputs in given; without them it answers with what it needs and the steps to take.
    """
    return memory.reason(
        problem,
        method=method,
        given=given,
        problem_classification=problem_classification,
        multi_method=multi_method,
        methods=methods or (),
        store=store,
    )


def reason_outcome(memory: Memory, judgement: str, came_true: float) -> Any:
    """Say whether a stored conclusion came true, as 1, 0 or a share; methods are calibrated by it."""
    return memory.reason.outcome(judgement, came_true)


def _run(run: Any) -> Any:
    from memfolio.serve.cli.workflow import document

    return document(run)


TOOLS = (
    *(mind_add, mind_list, mind_update, mind_end, mind_due, bdi_heartbeat),
    *(procedure_match, procedure_decide, workflow_start, workflow_done, reason, reason_outcome),
)
