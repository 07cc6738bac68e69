"""Reminders that somebody asked for in a conversation, as intentions that come up when their time has come."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

from memfolio.index.mind_pages import MindPage, kind_of
from memfolio.learn.learned import Statement, moment
from memfolio.mind.mind import TITLE
from memfolio.recall.dates import upcoming
from memfolio.types import MemoryItem
from memfolio.vault.change import PutPage
from memfolio.vault.fields import local
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import new_id
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault

REMINDER = "reminder"
"""The predicate of a statement that asks for one."""
_LATEST = re.compile(r"(?i)\b(?:by|before|until|due|bis|vor)\b|截止|之前")
"""What makes a time a deadline, which comes up a day before it."""


def reminder_page(
    vault: Vault, agent: str, kept: Iterable[Statement], turns: Sequence[MemoryItem], now: datetime
) -> PutPage | None:
    """The page of intentions with the reminders among what was learned; None where there is nothing to add."""
    kind, zone = kind_of("intention"), vault.home.zone
    path = f"{agent_root(agent)}/mind/{kind.page}.md"
    found = vault.page(path)
    page = MindPage(kind, to_text(found.content) if found else f"# {kind.page}\n", agent=agent, zone=zone)
    before = page.text
    for each in kept:
        title = textwrap.shorten(each.text, TITLE, placeholder="…")
        if each.predicate != REMINDER or any(item.title == title and item.is_live for item in page.items):
            continue
        said = turns[each.turns[-1]]
        at = upcoming(each.text, moment(said), zone)
        fields = {
            # By a day means by its end.
            "deadline": at.replace(hour=at.hour or 23, minute=at.minute if at.hour else 59)
            if at and _LATEST.search(each.text)
            else None,
            "when": f"{local(at, zone):%Y-%m-%d %H:%M}" if at and not _LATEST.search(each.text) else None,
            "created": local(now, zone).date().isoformat(),
            "from": (said.id,),
        }
        given = {name: fields[name] for name in kind.fields if fields.get(name) is not None}
        own = new_id(kind.prefix, now, {item.id for item in page.items})
        text = page.adding(own, title, "" if title == each.text else each.text, given)
        page = MindPage(kind, text, agent=agent, zone=zone)
    return PutPage(path, to_bytes(page.text), found.hash if found else None) if page.text != before else None
