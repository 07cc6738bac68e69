"""The changes of a home as a table that keeps room for what they were about, however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.vault.past.view import TrailEntry

COLUMNS = ("#", "when", "action", "actor", "about", "commit")
LEFT_OUT: Mapping[int, Sequence[str]] = {110: (), 60: ("commit",), 0: ("commit", "action", "actor")}
"""What there is no room for, by the least width for which that holds, the widest first."""
ACTOR = 12


def draw_entries(screen: Screen, entries: Sequence[TrailEntry], zone: tzinfo) -> None:
    """The table of changes; a terminal that is not wide gets shorter times and actors, and fewer columns."""
    width = screen.console.width
    left_out = next(names for least, names in LEFT_OUT.items() if width >= least)
    columns = [name for name in COLUMNS if name not in left_out]
    rows = [cells(entry, zone, is_short=bool(left_out)) for entry in entries]
    screen.table(columns, [[row[name] for name in columns] for row in rows], wide="about")


def cells(entry: TrailEntry, zone: tzinfo, *, is_short: bool) -> dict[str, str]:
    at, actor = datetime.fromisoformat(entry.at).astimezone(zone), entry.actor
    return {
        "#": str(entry.seq),
        "when": f"{at:%m-%d %H:%M}" if is_short else f"{at:%Y-%m-%d %H:%M}",
        "action": entry.action,
        "actor": f"{actor[: ACTOR - 1]}…" if is_short and len(actor) > ACTOR else actor,
        "about": entry.summary,
        "commit": (entry.commit or "waits")[:7],
    }
