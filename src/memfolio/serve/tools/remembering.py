"""The tools about memories and whom they are about, under the names that older descriptions of such a memory use."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from memfolio.govern.once import kept_once
from memfolio.graph.graph import Entity
from memfolio.index.lookup import Counts
from memfolio.memory import Memory
from memfolio.serve.tools import core
from memfolio.serve.tools.core import Explained, MemoryDocument, Named, Recalled, Saved
from memfolio.serve.tools.place import status_inside
from memfolio.serve.tools.tool import as_moment
from memfolio.status import Status
from memfolio.types import MemoryItem

Store = Literal["working", "short_term", "long_term"]
Level = Literal["daily", "weekly", "monthly", "quarterly"]
Kind = Literal["episodic", "semantic", "procedural", "opinion"]
SCOPES = {"week": "weekly", "month": "monthly", "quarter": "quarterly"}


class StoredDocument(TypedDict):
    id: str
    content: str
    type: str
    store: str
    score: float
    depth: int
    created_at: str
    tags: list[str]


class HitsDocument(TypedDict):
    hits: list[StoredDocument]
    degraded: list[str]


class BuiltDigests(TypedDict):
    digests: list[str]
    edited: list[str]
    fresh: int


class Weakened(Named):
    certainty: float
    dormant_in: float | None
    archived_in: float | None


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
    draft = {"type": type, "importance": importance, "source": source, "tags": tags or (), "store": store}
    return kept_once(memory, content, draft)


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
    return _hits(hits)


def memory_consolidate(
    memory: Memory,
    min_importance: float = 0.6,
    min_access_count: int = 2,
    dry_run: bool = False,
    summarize: bool = True,
) -> dict[str, Any]:
    """Promote important short-term memories to long-term memory, and sum up what belongs together.

    This happens by itself in time; call it when a large piece of work is done.
    """
    from memfolio.serve.cli.output import fields_of

    done = memory.consolidate(
        dry_run=dry_run, min_importance=min_importance, min_access_count=min_access_count, summarize=summarize
    )
    return fields_of(done)


def memory_checkpoint(
    memory: Memory,
    context: str,
    decisions: list[str] | None = None,
    findings: list[str] | None = None,
    next_steps: list[str] | None = None,
    open_questions: list[str] | None = None,
) -> Saved:
    """Write down where work stands, so that it can be taken up again; the same as `checkpoint`."""
    return core.checkpoint(memory, context, decisions, findings, next_steps, open_questions)


def memory_build_hierarchy(
    memory: Memory, scope: Literal["week", "month", "quarter", "all"] = "all", since: str | None = None
) -> BuiltDigests:
    """Write the digests of weeks, months and quarters that are missing or differ from their days.

    Answers with the paths of those that were written, and of those that a person edited and that were left alone.
    """
    begins = as_moment(memory, "since", since)
    built, _ = memory.digest(SCOPES.values() if scope == "all" else (SCOPES[scope],), since=begins)
    return {"digests": list(built.paths), "edited": list(built.edited), "fresh": built.fresh}


def memory_hierarchy_search(memory: Memory, query: str, level: Level, limit: int = 10) -> HitsDocument:
    """Search days, or their digests of weeks, months or quarters, for what went on over a longer time."""
    return _hits(memory.recall(query, level=level, limit=limit))


def memory_status(memory: Memory) -> Status:
    """How many memories each store holds, which are the newest, and what does not work."""
    return status_inside(memory)


def search_memory(
    memory: Memory,
    query: str,
    type: Kind | None = None,
    entity_name: str | None = None,
    after: str | None = None,
    before: str | None = None,
    limit: int = 10,
) -> Recalled:
    """Search what is remembered, like `recall`, by how it is held, whom or what it is about, and when it happened."""
    hits = memory.recall(
        query,
        limit=limit,
        kinds=type,
        entity=entity_name,
        since=as_moment(memory, "after", after),
        until=as_moment(memory, "before", before),
    )
    return core.recalled(hits)


def remember_fact(
    memory: Memory, content: str, importance: float = 0.5, tags: list[str] | None = None
) -> MemoryDocument:
    """Keep a fact that will matter later; the same as `remember` with the type fact."""
    return core.remember(memory, content, "fact", importance, tags)


def correct_fact(memory: Memory, id: str, content: str) -> Named:
    """Replace a memory that is wrong with what is right; the same as `correct`."""
    return core.correct(memory, id, content)


def confirm_fact(memory: Memory, id: str) -> Named:
    """Say that a memory is right, which keeps it from fading; the same as `confirm`."""
    return core.confirm(memory, id)


def explain_fact(memory: Memory, id: str) -> Explained:
    """Tell where a memory comes from and what became of it; the same as `explain`."""
    return core.explain(memory, id)


def get_entity_info(memory: Memory, name: str) -> Entity:
    """What is known about a person, project, place or thing: summary, facts, timeline, relations, open questions."""
    return memory.graph.entity(name)


def memory_stats(memory: Memory) -> Counts | None:
    """How many memories, ties and entities there are of which sort; null as long as nothing was counted."""
    return memory.status().counts


def weak_facts(memory: Memory, limit: int = 20) -> list[Weakened]:
    """List facts that are little certain by now, the weakest first, and in how many days they fall out of sight.

    Ask the person about them: `confirm` keeps one, `correct` mends it, `forget` lets it go.
    """
    return [
        {
            "id": each.located.item.id,
            "content": each.located.item.content,
            "certainty": each.certainty,
            "dormant_in": each.dormant_in,
            "archived_in": each.archived_in,
        }
        for each in memory.weak(limit)
    ]


def _hits(found: Any) -> HitsDocument:
    return {"hits": [_hit(each) for each in found], "degraded": list(found.degraded)}


def _hit(hit: Any) -> StoredDocument:
    item = hit.memory
    return {
        "id": item.id,
        "content": item.content,
        "type": item.type,
        "store": item.store,
        "score": hit.score,
        "depth": hit.depth,
        "created_at": item.created_at,
        "tags": list(item.tags),
    }


TOOLS = (
    *(memory_store_item, memory_recall, memory_consolidate, memory_checkpoint),
    *(memory_build_hierarchy, memory_hierarchy_search, memory_status),
    *(search_memory, remember_fact, correct_fact, confirm_fact, explain_fact),
    *(get_entity_info, memory_stats, weak_facts),
)
