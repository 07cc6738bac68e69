"""What stands between a vault and whoever speaks through it: what they may change, and what they may know of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Protocol

from memfolio.types import Action
from memfolio.vault.audit import Trail, TrailLine, read_line
from memfolio.vault.change import Change
from memfolio.vault.paths import agent_root

Shows = Callable[[str], bool]
_PATH = re.compile(rb'"path":"((?:[^"\\]|\\.)*)"')
"""A file in a line of the trail as it stands there: within a text, these quotes would be escaped."""


class Guard(Protocol):
    """What stands before the writer: it lets a change pass as it may be made, or refuses it."""

    clean: Callable[[Change], Change]
    """Takes out what must not be written; what a change would do is shown without it, too."""

    def __call__(self, change: Change) -> AbstractContextManager[Change]: ...


def known_to(shows: Shows, trail: Trail, lines: Iterable[TrailLine]) -> Iterator[TrailLine]:
    """The changes of which all files are shown, and alerts about such ones."""
    every = cache(lambda: {line.seq: line for line in trail.lines()})
    return (line for line in lines if _may_know(shows, line, every))


def count_known_to(shows: Shows, trail: Trail) -> int:
    """How many changes there are of which all files are shown; parsing each would take seconds in a long trail."""
    shown = cache(lambda path: shows(json.loads(b'"%s"' % path)))
    found, others = 0, list[TrailLine]()
    for part in trail.parts():
        for _, raw in trail.raw_lines(part):
            if paths := _PATH.findall(raw):
                found += all(map(shown, paths))
            else:
                with suppress(ValueError):  # a line that nobody can read
                    others.append(read_line(raw))
    return found + sum(1 for _ in known_to(shows, trail, others))


def _may_know(shows: Shows, line: TrailLine, every: Callable[[], Mapping[int, TrailLine]]) -> bool:
    if line.files:
        return all(map(shows, line.paths))
    whose = line.by.source if line.action is Action.ALERT else None
    about = [every()[seq] for seq in line.about if seq in every()]
    is_shown = whose is None or shows(f"{agent_root(whose)}/")
    return is_shown and all(_may_know(shows, each, every) for each in about)
