"""The tools about memories and whom they are about, under the names that older descriptions of such a memory use."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypedDict

from memfolio.govern.gate import kept_once
from memfolio.index.lookup import Counts
from memfolio.memory import Memory
from memfolio.status import Status
from memfolio.types import MemoryItem
from memfolio.verbs import daily, documents
from memfolio.verbs.daily import Store
from memfolio.verbs.documents import HitsDocument
from memfolio.verbs.verb import Verb

Level = Literal["daily", "weekly", "monthly", "quarterly"]
NOTES = "context decisions findings next_steps open_questions"
SCOPES = {"week": "weekly", "month": "monthly", "quarter": "quarterly"}


class BuiltDigests(TypedDict):
    digests: list[str]
    edited: list[str]
    fresh: int


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
    return documents.hits(query, hits)


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
    done = memory.consolidate(
        dry_run=dry_run, min_importance=min_importance, min_access_count=min_access_count, summarize=summarize
    )
    return documents.fields_of(done)


def memory_build_hierarchy(
    memory: Memory, scope: Literal["week", "month", "quarter", "all"] = "all", since: datetime | None = None
) -> BuiltDigests:
    """Write the digests of weeks, months and quarters that are missing or differ from their days.

    Answers with the paths of those that were written, and of those that a person edited and that were left alone.
    """
    built, _ = memory.digest(SCOPES.values() if scope == "all" else (SCOPES[scope],), since=since)
    return {"digests": list(built.paths), "edited": list(built.edited), "fresh": built.fresh}


def memory_hierarchy_search(memory: Memory, query: str, level: Level, limit: int = 10) -> HitsDocument:
    """Search days, or their digests of weeks, months or quarters, for what went on over a longer time."""
    return documents.hits(query, memory.recall(query, level=level, limit=limit))


def memory_status(memory: Memory) -> Status:
    """How many memories each store holds, which are the newest, and what does not work."""
    return documents.status(memory)


def memory_stats(memory: Memory) -> Counts | None:
    """How many memories, ties and entities there are of which sort; null as long as nothing was counted."""
    return memory.status().counts


VERBS = (
    Verb(does=memory_store_item, effect="add", once=True),
    Verb(does=memory_recall, effect="read"),
    Verb(does=memory_consolidate, effect="change", slow=True),
    Verb(name="memory_checkpoint", does=daily.checkpoint, takes=NOTES, effect="add", once=True),
    Verb(does=memory_build_hierarchy, effect="change", once=True, slow=True, words="digest summary week month"),
    Verb(does=memory_hierarchy_search, effect="read", words="digest summary week month"),
    Verb(does=memory_status, effect="read"),
    Verb(
        name="search_memory",
        does=daily.recall,
        takes="query type=kinds entity_name=entity after=since before=until limit",
        effect="read",
    ),
    Verb(
        name="remember_fact",
        does=daily.remember,
        takes="content=text importance tags",
        fixed={"type": "fact"},
        effect="add",
        once=True,
    ),
    Verb(name="correct_fact", does=daily.correct, takes="id content=text", effect="remove", once=True),
    Verb(name="confirm_fact", does=daily.confirm, effect="change", once=True),
    Verb(name="explain_fact", does=daily.explain, effect="read"),
    Verb(name="get_entity_info", does="graph.entity", effect="read", words="who person people project about"),
    Verb(does=memory_stats, effect="read", words="count how many"),
    Verb(name="weak_facts", does="weak", shows=documents.weak, effect="read", words="uncertain doubtful fading"),
)
