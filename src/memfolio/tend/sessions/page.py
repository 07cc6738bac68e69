"""The pages that conversations leave behind: one about each, and one about the conflicts of a day.

That in `sessions/` tells when it was, who spoke, what tells most, and links to its turns. That in `memory/conflicts/`
has the statements that cannot both be true, for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from hashlib import blake2b

from memfolio.learn.drafting import moment
from memfolio.learn.resolve import Clash, Reference, Resolution
from memfolio.tend.digest.compose import inline
from memfolio.tend.extract import clipped, extract
from memfolio.tend.hand import Hand
from memfolio.tend.ours import is_ours, marked, renewed
from memfolio.text import counted
from memfolio.types import MemoryItem
from memfolio.vault.change import NewId, PutPage
from memfolio.vault.format.fields import local
from memfolio.vault.paths import agent_root

LINE = 100
"""Characters of a turn that its line shows."""
MOST = 400
"""How many turns a page lists; the others are in the logs all the same."""
_UNSAFE = re.compile(r"[^a-z0-9]+")
ASK = """Both are kept. Which is right? Forget the other one by the id behind it (`memfolio forget ID`). Of the newer
one that is the turn that says it; what was learned from that turn alone is forgotten with it."""


def page_path(agent: str, session: str, began: datetime, zone: tzinfo) -> str:
    """Where the page about a conversation lies; a name of its own also where only signs tell it from another's."""
    slug = _UNSAFE.sub("-", session.casefold()).strip("-")[:60] or "session"
    if slug != session:
        slug = f"{slug}-{blake2b(session.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    return f"{agent_root(agent)}/sessions/{local(began, zone).date()}-{slug}.md"


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
    people = ", ".join(dict.fromkeys(map(_speaker, turns)))
    told = extract([turn.content for turn in turns], limit=5, tokens=250)
    return "\n".join(
        [
            f"# Conversation {inline(session)} of {first:%Y-%m-%d}",
            "",
            f"{counted(len(turns), 'turn')} of {people} from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}",
            "",
            "## Summary",
            "",
            *(f"- {inline(sentence)} ({turns[place].id})" for place, sentence in told),
            "",
            "## Turns",
            "",
            *(_line(turn, zone) for turn in turns[:MOST]),
            *([f"- and {len(turns) - MOST} more in the logs"] if len(turns) > MOST else []),
            "",
        ]
    )


def _line(turn: MemoryItem, zone: tzinfo) -> str:
    words = clipped(inline(turn.content), LINE)
    return f"- {local(moment(turn), zone):%H:%M} {_speaker(turn)}: {words} ({turn.id})"


def _speaker(turn: MemoryItem) -> str:
    """Who speaks, by name where that is known."""
    role = turn.role or ""
    return inline(turn.user if turn.user and role.casefold() in ("user", "human") else role)


def conflict_page(hand: Hand, resolution: Resolution, turns: Sequence[MemoryItem]) -> PutPage:
    """The page of the day with these conflicts below what it has."""
    day = f"{local(hand.now, hand.vault.home.zone):%Y-%m-%d}"
    path = f"{agent_root(hand.agent)}/memory/conflicts/{day}.md"
    page = hand.vault.page(path)
    before = page.text.rstrip("\n") if page else f"# Conflicts found on {day}\n\n{ASK}"
    sections = (_section(clash, hand, resolution, turns) for clash in resolution.contradicting)
    text = "\n\n".join([before, *sections]) + "\n"
    return PutPage(path, text.encode("utf-8", "replace"), page.hash if page else None)


def _section(clash: Clash, hand: Hand, resolution: Resolution, turns: Sequence[MemoryItem]) -> str:
    title = inline(f"{clash.new.subject}: {clash.new.predicate}".replace("_", " "))
    lines = [f"## {title}", ""]
    for known in (clash.old, clash.new):
        day, cited = local(known.at, hand.vault.home.zone), _cited(known.ref, resolution, turns)
        lines.append(f"- {day:%Y-%m-%d}: {inline(known.text)} ({cited})")
    return "\n".join(lines)


def _cited(ref: Reference, resolution: Resolution, turns: Sequence[MemoryItem]) -> str:
    """An id to forget it by; of what has none yet that of the turn that says it."""
    return turns[resolution.kept[ref.index].turns[-1]].id if isinstance(ref, NewId) else ref
