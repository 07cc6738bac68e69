"""What becomes of a JSON line once memories and their texts are purged from it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfolio.vault.format.lines import render_line

FIXED = frozenset("id at actor trigger session op memory until to by type store job into".split())
"""The keys of a state line that have ids, times and words of ours, which stay."""

Goes = Callable[[str], bool]
_GONE = object()


def state_line(record: dict[str, Any], goes: Goes) -> bytes:
    """A state line without the values that have to go; what is in a list and has lost its source goes with it."""
    kept = {key: value if key in FIXED else _pruned(value, goes) for key, value in record.items()}
    # Whoever reads a line may count on its lists.
    kept |= {key: [] for key, value in record.items() if kept[key] is _GONE and isinstance(value, list)}
    return render_line({key: value for key, value in kept.items() if value is not _GONE})


def other_line(record: dict[str, Any], goes: Goes) -> bytes:
    """A line of another ledger without what has to go from its lists; nothing where no source is left to it."""
    kept = _whole(record, goes)
    return b"" if kept is _GONE else render_line(kept)


def _pruned(value: Any, goes: Goes) -> Any:
    if isinstance(value, str):
        return _GONE if goes(value) else value
    if isinstance(value, list):
        kept = [each for each in (_whole(each, goes) for each in value) if each is not _GONE]
        return kept if kept or not value else _GONE
    if isinstance(value, dict):
        pruned = {key: _pruned(each, goes) for key, each in value.items() if not goes(key)}
        return {key: each for key, each in pruned.items() if each is not _GONE}
    return value


def _whole(value: Any, goes: Goes) -> Any:
    """A value that counts only with all that it has."""
    if not isinstance(value, dict):
        return _pruned(value, goes)
    kept = {key: _pruned(each, goes) for key, each in value.items()}
    return _GONE if any(each is _GONE for each in kept.values()) or any(map(goes, value)) else kept
