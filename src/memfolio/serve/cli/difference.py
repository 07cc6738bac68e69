"""Differences as people want to see them."""

from __future__ import annotations

import re

_FILE = re.compile(r"^(?=--- a/.*\n\+\+\+ b/)", re.MULTILINE)
_ARCHIVED = re.compile(r"--- a/\S*?/memory/archive/")


def for_people(diff: str) -> str:
    """`diff` with one side of each move: what leaves a log for its archive, or comes back, is not shown twice."""
    files = [part for part in _FILE.split(diff) if part]
    logs = [part for part in files if not _ARCHIVED.match(part)]
    return "".join(logs) or diff
