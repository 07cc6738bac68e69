"""The functions of the set `memory`: looking after memories, and the names that older descriptions of one use."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypedDict

from memfolio.govern.gate import kept_once
from memfolio.index.lookup import Counts
from memfolio.memory import Memory
from memfolio.status import Status
from memfolio.types import MemoryItem
from memfolio.verbs import documents
from memfolio.verbs.daily import Store
from memfolio.verbs.documents import HitsDocument
from memfolio.verbs.verb import OnProgress, table

SCOPES = {"week": "weekly", "month": "monthly", "quarter": "quarterly"}


class ActedOnDocument(TypedDict):
    """The request in a message, the memories it created, found or would forget, and an answer for the person."""

    asked: str | None
    about: str
    memories: list[MemoryItem]
    core: list[str]
    answer: str
    notes: list[str]


class BuiltDigests(TypedDict):
    digests: list[str]
    edited: list[str]
    fresh: int


def get(memory: Memory, id: str) -> MemoryItem:
    """The memory with this id, also from the archive: its `fate` says why it is there."""
    found = memory.get(id)
    if found is None:
        raise memory.searcher.not_found(id)
    return found


def observe_many(memory: Memory, turns: list[dict[str, Any]]) -> list[MemoryItem]:
    """Note many turns of a conversation as one change: all of them, or none; each as `observe` takes it."""
    # Each turn is checked as a call of `observe` would be.
    turn = table("memory")["observe"]
    return memory.observe_many([turn.checked(memory, each) for each in turns])


def act_on(memory: Memory, text: str, session: str | None = None, user: str | None = None) -> ActedOnDocument:
    """Do what a person asks their memory for in a message: remember that …, forget about …, what do you know about …

    `asked` is null where the message asks for none of it. What would be forgotten is only shown: when the person
    agrees, call `forget` with the id of each. Tell the person the `answer`.
    """
    found = memory.act_on(text, session=session, user=user)
    if found is None:
        return {"asked": None, "about": "", "memories": [], "core": [], "answer": "", "notes": []}
    made = (found.remembered,) if found.remembered else ()
    return {
        "asked": found.trigger.kind.value,
        "about": found.trigger.object,
        "memories": [*made, *found.fits, *found.found],
        "core": [*found.core],
        "answer": found.answer,
        "notes": [*found.notes],
    }


def memory_tend(
    memory: Memory, jobs: list[str] | None = None, dry_run: bool = False, on_progress: OnProgress | None = None
) -> dict[str, object]:
    """Look after the memory: run the jobs that are due by the clock, or these at once. It may take minutes."""
    return documents.fields_of(memory.tend(jobs=jobs or (), dry_run=dry_run, on_progress=on_progress))


def memory_reindex(memory: Memory, on_progress: OnProgress | None = None) -> dict[str, int]:
    """Build the search index anew from the files, which stay as they are; for when searches miss what is there."""
    return {"files": memory.reindex(lambda done, total: on_progress and on_progress("files", done, total))}


def memory_store_item(
    memory: Memory,
    content: str,
    type: Literal["event", "decision", "outcome", "lesson", "fact", "observation"],
    importance: float,
    source: str = "manual",
    tags: list[str] | None = None,
    store: Store = "short_term",
) -> MemoryItem:
    """Store an item in working, short-term or long-term memory; `remember` is for what shall last.

    The same content in the same store is stored once a day, so a call may safely be repeated.
    """
    return kept_once(memory, content, type=type, importance=importance, source=source, tags=tags or (), store=store)


def memory_recall(
    memory: Memory,
    query: str = "",
    type: str | None = None,
    store: Literal["working", "short_term", "long_term", "all"] = "all",
    limit: int = 20,
    min_importance: float = 0.0,
    recursive_depth: int = 0,
) -> HitsDocument:
    """Search the memory stores, like `recall`, by store and importance; with a depth, also what the hits lead to."""
    hits = memory.recall(
        query,
        types=type,
        store=None if store == "all" else store,
        limit=limit,
        min_importance=min_importance,
        depth=min(recursive_depth, 3),
    )
    return documents.hits(query, hits)


def memory_build_hierarchy(
    memory: Memory, scope: Literal["week", "month", "quarter", "all"] = "all", since: datetime | None = None
) -> BuiltDigests:
    """Write the digests of weeks, months and quarters that are missing or differ from their days.

    Answers with the paths of those that were written, and of those that a person edited and that were left alone.
    """
    built, _ = memory.digest(SCOPES.values() if scope == "all" else (SCOPES[scope],), since=since)
    return {"digests": list(built.paths), "edited": list(built.edited), "fresh": built.fresh}


def memory_status(memory: Memory) -> Status:
    """How many memories each store holds, which are the newest, and what does not work."""
    return documents.status(memory)


def memory_stats(memory: Memory) -> Counts | None:
    """How many memories, ties and entities there are of which sort; null as long as nothing was counted."""
    return memory.status().counts
