"""The progress line of long operations: it appears after a second and leaves no trace."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds before the line appears."""


class Wait:
    """A progress line on the error stream, where that is a terminal. Called with files done and files in all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Progress | None = None
        self._words = ""
        self._steps: tuple[int, int | None] = (0, None)
        self._things = "files"
        self._started, self._first = time.monotonic(), 0
        """When the current task began, and how much of it was done then."""

    def __call__(self, done: int, total: int) -> None:
        """Report progress; after the last file, its memories are embedded."""
        words = "Making vectors" if done == total else "Reading files"
        with self._lock:
            self._things = "files"
            self._turn(words, *((0, None) if done == total else (done, total)))

    def step(self, things: str, words: str, done: int, total: int) -> None:
        """Report progress of another task."""
        with self._lock:
            self._things = things
            self._turn(words, done, total)

    def say(self, words: str) -> None:
        """Report a task of unknown size."""
        with self._lock:
            self._turn(words, 0, None)

    def _turn(self, words: str, done: int, total: int | None) -> None:
        """Show a task; a new one gets its own clock."""
        if words != self._words or done < self._steps[0]:
            self._started, self._first = time.monotonic(), done
        self._words, self._steps = words, (done, total)
        self._draw()

    def start(self, words: str) -> None:
        """Begin to wait: `words` are shown if it takes long."""
        if self._timer is None and sys.stderr.isatty():
            self._words = words
            self._timer = threading.Timer(PATIENCE, self._appear)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Remove the line: there is an answer, or a question."""
        with self._lock:
            timer, bar, self._bar = self._timer, self._bar, None
            if timer is not None:
                timer.cancel()
            if bar is not None:
                bar.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.fields[count]}")),
            *(TimeElapsedColumn(), TextColumn("{task.fields[left]}", style="dim")),
        )
        with self._lock:
            if self._timer is None or self._timer.finished.is_set():
                return  # stopped in the moment in which it was to appear
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._words, total=None, count="", left="")
            self._bar.start()
            self._draw()

    def _draw(self) -> None:
        if self._bar is not None:
            done, total = self._steps
            count = f"{done:,} of {total:,} {self._things}" if total else ""
            left = time_left(time.monotonic() - self._started, done - self._first, (total or 0) - done)
            task = self._bar.task_ids[0]
            self._bar.update(task, description=self._words, completed=done, total=total or None, count=count, left=left)


def time_left(seconds: float, done: int, left: int) -> str:
    """Estimate the remaining time in words; empty if unknown."""
    if done <= 0 or left <= 0 or seconds < PATIENCE / 2:
        return ""
    rest = seconds * left / done
    if rest < 90:
        return f"about {max(1, round(rest))} s left"
    return f"about {round(rest / 60)} min left" if rest < 5400 else f"about {rest / 3600:.1f} h left"
