"""The tools that look after a memory; they take their time and tell how far they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memfolio.memory import Memory

from memfolio.serve.tools.tool import Told


def memory_tend(
    memory: Memory, jobs: list[str] | None = None, dry_run: bool = False, told: Told = lambda words: None
) -> Any:
    """Look after the memory: run the jobs that are due by the clock, or these at once."""
    return memory.tend(
        jobs=jobs or (), dry_run=dry_run, told=lambda job, done, total: told(f"{job}: {done:,} of {total:,}")
    )


def memory_reindex(memory: Memory, told: Told = lambda words: None) -> Any:
    """Build the search index anew from the files, which stay as they are."""
    return {"files": memory.reindex(lambda done, total: told(f"{done:,} of {total:,} files"))}


TOOLS = (memory_tend, memory_reindex)
