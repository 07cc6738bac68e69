"""The tools that look after a memory; they take their time and tell how far they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memfolio.serve.tools.tool import Told

if TYPE_CHECKING:
    from memfolio.memory import Memory


def memory_tend(
    memory: Memory, jobs: list[str] | None = None, dry_run: bool = False, told: Told = lambda words: None
) -> Any:
    """Look after the memory: run the jobs that are due by the clock, or these at once. It may take minutes."""

    def say(job: str, done: int, total: int) -> None:
        told(f"{job}: {done:,} of {total:,}" if total else job)

    return memory.tend(jobs=jobs or (), dry_run=dry_run, told=say)


def memory_reindex(memory: Memory, told: Told = lambda words: None) -> dict[str, int]:
    """Build the search index anew from the files, which stay as they are; for when searches miss what is there."""
    return {"files": memory.reindex(lambda done, total: told(f"{done:,} of {total:,} files"))}


TOOLS = (memory_tend, memory_reindex)
