"""The page about a conversation in `sessions/`: when it was, who spoke, what tells most, and links to its turns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo

from memfolio.learn.drafting import moment
from memfolio.tend.extract import extract
from memfolio.tend.ours import is_ours, marked, renewed
from memfolio.types import MemoryItem
from memfolio.vault.format.fields import local
from memfolio.vault.paths import agent_root

LINE = 100
"""Characters of a turn that its line shows."""
MOST = 400
"""How many turns a page lists; the others are in the logs all the same."""
_UNSAFE = re.compile(r"[^a-z0-9]+")


def page_path(agent: str, session: str, began: datetime, zone: tzinfo) -> str:
    """Where the page about a conversation lies."""
    slug = _UNSAFE.sub("-", session.casefold()).strip("-")[:60] or "session"
    return f"{agent_root(agent)}/sessions/{local(began, zone):%Y-%m-%d}-{slug}.md"


def compose_page(session: str, turns: Sequence[MemoryItem], zone: tzinfo, there: str | None = None) -> str | None:
    """The page about a conversation with these turns, at least one, in the place of the one that is there.

    What a person wrote around ours stays; None where they changed ours.
    """
    body = _body(session, turns, zone)
    if there is None:
        return f"---\nsession: {session}\n---\n{marked(body)}\n"
    return renewed(there, body) if is_ours(there) else None


def _body(session: str, turns: Sequence[MemoryItem], zone: tzinfo) -> str:
    first, last = (local(moment(turn), zone) for turn in (turns[0], turns[-1]))
    people = ", ".join(dict.fromkeys(turn.role or "" for turn in turns))
    told = extract([turn.content for turn in turns], limit=5, tokens=250)
    return "\n".join(
        [
            f"# Conversation {session} of {first:%Y-%m-%d}",
            "",
            f"{len(turns)} turns of {people} from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}",
            "",
            "## Summary",
            "",
            *(f"- {_flat(sentence)} ({turns[place].id})" for place, sentence in told),
            "",
            "## Turns",
            "",
            *(_line(turn, zone) for turn in turns[:MOST]),
            *([f"- and {len(turns) - MOST} more in the logs"] if len(turns) > MOST else []),
            "",
        ]
    )


def _line(turn: MemoryItem, zone: tzinfo) -> str:
    words = _flat(turn.content)
    shown = words if len(words) <= LINE else f"{words[: LINE - 1].rstrip()}…"
    return f"- {local(moment(turn), zone):%H:%M} {turn.role}: {shown} ({turn.id})"


def _flat(text: str) -> str:
    return " ".join(text.split())
