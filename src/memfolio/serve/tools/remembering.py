"""The tools about memories."""

from __future__ import annotations

from typing import Any, Literal

from memfolio.memory import Memory
from memfolio.serve.tools.tool import as_moment

Store = Literal["working", "short_term", "long_term"]
Level = Literal["daily", "weekly", "monthly", "quarterly"]
SCOPES = {"week": "weekly", "month": "monthly", "quarter": "quarterly"}


def memory_store_item(
    memory: Memory,
    content: str,
    type: Literal["event", "decision", "outcome", "lesson", "fact", "observation"],
    importance: float,
    source: str = "manual",
    tags: list[str] | None = None,
    store: Store = "short_term",
) -> Any:
    """Store an item in working, short-term or long-term memory."""
    return memory.remember(content, type=type, importance=importance, source=source, tags=tags or (), store=store)


def memory_recall(
    memory: Memory,
    query: str = "",
    type: str | None = None,
    store: Literal["working", "short_term", "long_term", "all"] = "all",
    limit: int = 20,
    min_importance: float = 0.0,
    recursive_depth: int = 0,
) -> Any:
    """Search the memory stores; what comes back says why it was found."""
    hits = memory.recall(
        query,
        types=type,
        store=None if store == "all" else store,
        limit=limit,
        min_importance=min_importance,
        depth=min(recursive_depth, 3),
    )
    return {"degraded": list(hits.degraded), "hits": [_hit(each) for each in hits]}


def memory_consolidate(
    memory: Memory,
    min_importance: float = 0.6,
    min_access_count: int = 2,
    dry_run: bool = False,
    summarize: bool = True,
) -> Any:
    """Promote important short-term memories to long-term memory, and sum up what belongs together."""
    return memory.consolidate(
        dry_run=dry_run, min_importance=min_importance, min_access_count=min_access_count, summarize=summarize
    )


def memory_checkpoint(
    memory: Memory,
    context: str,
    decisions: list[str] | None = None,
    findings: list[str] | None = None,
    next_steps: list[str] | None = None,
    open_questions: list[str] | None = None,
) -> Any:
    """Write down where work stands, so that it can be taken up again."""
    path = memory.checkpoint(
        context,
        decisions=decisions or (),
        findings=findings or (),
        next_steps=next_steps or (),
        open_questions=open_questions or (),
    )
    return {"path": path}


def memory_build_hierarchy(
    memory: Memory, scope: Literal["week", "month", "quarter", "all"] = "all", since: str | None = None
) -> Any:
    """Write the digests of weeks, months and quarters that are missing or differ from their days."""
    begins = as_moment(memory, "since", since)
    built, _ = memory.digest(SCOPES.values() if scope == "all" else (SCOPES[scope],), since=begins)
    return {"digests": list(built.paths), "edited": list(built.edited), "fresh": built.fresh}


def memory_hierarchy_search(memory: Memory, query: str, level: Level, limit: int = 10) -> Any:
    """Search days, or their digests of weeks, months or quarters."""
    return {"hits": [_hit(each) for each in memory.recall(query, level=level, limit=limit)]}


def memory_status(memory: Memory) -> Any:
    """How many memories each store holds, which are the newest, and what does not work."""
    return memory.status()


def _hit(hit: Any) -> dict[str, Any]:
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
    memory_store_item,
    memory_recall,
    memory_consolidate,
    memory_checkpoint,
    memory_build_hierarchy,
    memory_hierarchy_search,
    memory_status,
)
