"""Which files of memfolio a verb runs through: the second call in a home of ten memories, all threads counted."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from memfolio import Memory
from memfolio.index.watch import DELAY

PACKAGE = str(Path(__file__).parent.parent / "src" / "memfolio")
Touched = dict[str, set[str]]
"""The functions that ran, by the file that has them."""


def traced(call: Callable[[], Any]) -> Touched:
    """What a call runs, in its own thread and in those that it starts."""
    found: Touched = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            name = frame.f_code.co_filename.removeprefix(PACKAGE)[1:]
            found.setdefault(name, set()).add(frame.f_code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def files_touched() -> dict[str, Touched]:
    """What the second `remember`, `recall` and `forget` run; what the index files of a write is part of that."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "home") as memory:
        ids = [memory.remember(f"Alex keeps note {number} about tea in the blue folder.").id for number in range(10)]
        memory.recall("where is the note about tea?")
        memory.forget(ids[0])
        time.sleep(3 * DELAY)  # what watches the home starts a moment after it is opened, and is no part of a verb
        file = memory.searcher.index.catch_up
        file()
        return {
            "remember": traced(lambda: (memory.remember("Alex moved to Lisbon in spring."), file())),
            "recall": traced(lambda: memory.recall("which folder has the notes about tea?")),
            "forget": traced(lambda: (memory.forget(ids[1]), file())),
        }


def main() -> None:
    os.environ.setdefault("MEMFOLIO_CACHE", tempfile.mkdtemp(prefix="memfolio-trace-"))
    for verb, touched in files_touched().items():
        print(f"{verb}: {len(touched)} files, {sum(map(len, touched.values()))} functions")
        for name, functions in sorted(touched.items()):
            print(f"  {name}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
