"""The functions of the sets `mind` and `reason` whose arguments or answers differ from the method's."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from memfolio.index.mind_pages import MindItem
from memfolio.memory import Memory
from memfolio.mind.heartbeat import BdiCycleResult
from memfolio.reason.reason import Reasoned
from memfolio.verbs import documents
from memfolio.verbs.documents import mind_item

Kind = Literal["persona", "capability", "belief", "desire", "goal", "intention", "plan", "commitment", "learning"]
Ending = Literal["done", "dropped", "retired"]


def mind_add(
    memory: Memory, kind: Kind, text: str, title: str | None = None, fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Note something that the agent believes, wants, intends, plans, promised, learned or is able to do.

    Fields are such as certainty, priority, deadline, when (a time or a topic that brings it up) and from (the ids of
    the memories and facts that it rests on). What is there in the same words gets these fields instead.
    """
    # A trailing underscore keeps a field such as `from` or `by` from being taken for a parameter.
    given = {f"{name}_": value for name, value in (fields or {}).items()}
    if known := _known(memory, kind, text, title):
        is_said = all(known.fields.get(name) == value for name, value in (fields or {}).items())
        return mind_item(known if is_said else memory.mind.update(known.id, **given))
    return mind_item(memory.mind.add(kind, text, title=title, **given))


def mind_list(memory: Memory, kind: Kind | None = None, all: bool = False) -> dict[str, Any]:
    """List what the agent believes, wants and has taken on, with what on its pages makes no sense."""
    found = memory.mind.items(kind, live=not all)
    return {"items": [mind_item(each) for each in found], "problems": memory.mind.problems()}


def mind_update(
    memory: Memory, item: str, text: str | None = None, fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Change the text or the fields of an item of the mind; a field of null is taken away."""
    given = {f"{name}_": value for name, value in (fields or {}).items()}
    return mind_item(memory.mind.update(item, text=text, **given))


def mind_end(memory: Memory, item: str, status: Ending = "done", reason: str | None = None) -> dict[str, Any]:
    """End an item of the mind that is done, dropped, or does not hold any more; it stays readable on its page."""
    return mind_item(memory.mind.retire(item, status, reason=reason))


def bdi_heartbeat(memory: Memory, dry_run: bool = False) -> BdiCycleResult:
    """Bring the mind up to date: let go of what is over, rank desires, check beliefs, find contradictions."""
    return memory.heartbeat(dry_run=dry_run)


def workflow_start(memory: Memory, name: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
    """Begin a procedure; the answer says which step is to be done first. Call workflow_done after each step."""
    return documents.run(memory.runs.run(name, values or {}, checklist=True))


def workflow_done(
    memory: Memory,
    run: str,
    ok: bool = True,
    error: str | None = None,
    result: dict[str, Any] | None = None,
    turn: int | None = None,
) -> dict[str, Any]:
    """Say how the step at hand went; the answer says which one is next, or how the run ended.

    With turn, that of the step that waits, a call which is repeated does not count for the next step.
    """
    return documents.run(memory.runs.done(run, ok=ok, error=error or "", result=result, turn=turn))


def _known(memory: Memory, kind: Kind, text: str, title: str | None) -> MindItem | None:
    """Return the item that already says the same."""
    said = (each for each in memory.mind.items(kind) if text.strip() in (each.title, each.text))
    return next((each for each in said if title in (None, each.title)), None)


class Approach(TypedDict, total=False):
    """How to think a problem through, if its classification is not to decide that."""

    method: str
    given: dict[str, Any]
    problem_classification: dict[str, Any]
    methods: list[str]


def reason(
    memory: Memory, problem: str, multi_method: bool = False, store: bool = False, **approach: Unpack[Approach]
) -> Reasoned:
    """Think a problem through: by a method, by the one that fits its classification, or by several that are weighed.

    The answer has a conclusion, its confidence and the steps to it. A method that computes needs its inputs in given;
    without them it answers with what it needs and the steps to take.
    """
    return memory.reason(problem, multi_method=multi_method, store=store, **approach)
