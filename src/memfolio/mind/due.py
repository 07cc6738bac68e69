"""Prospective memory: what comes up by itself when its time or its topic has come. Pure, and without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from memfolio.index.mind_item import Item
from memfolio.index.mind_kind import Status
from memfolio.text import terms
from memfolio.vault.format.fields import local, read_moment

AHEAD = timedelta(days=1)
_BETWEEN = re.compile(r"\s*(?:[,;]|\b(?:or|oder)\b)\s*", re.IGNORECASE)
_JOINED = re.compile(r"[A-Za-z0-9][^A-Za-z0-9]+[A-Za-z0-9]")
"""Words in one, such as `deploy/release`, whose parts are looked for as well."""
_ENDING = r"(?<=[a-z]{3})(?:ing|ed|(?<=[a-z]{4}t)ion|(?<=[a-z]{4})ment)$"
_ENDINGS = ((r"(?<=[a-z]{3})(?<!s)s$", ""), (_ENDING, ""), (r"[eiy]+$", ""), (r"([b-df-hj-np-tv-z])\1$", r"\1"))
_BESIDE = "qzx"
"""Beside another word, function words are never searched for."""

Cue = tuple[datetime | frozenset[str], str]
"""A time, or the telling words of a topic; and how it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """An item that comes up, and why."""

    item: Item
    why: str
    at: datetime
    """When it is, or was, due; the present where a topic came up."""


def reminders(
    items: Iterable[Item], now: datetime, *, about: str = "", ahead: timedelta = AHEAD, most: int | None = None
) -> list[Reminder]:
    """What comes up, at most so many: first what a topic brought up, then the earliest due, then by priority.

    `about` is what is being talked about or worked on; times without a zone are those of `now`.
    """
    said, found = stems(about), list[Reminder]()
    for item in items:
        reasons = sorted(_reasons(item, now, said, ahead)) if item.status is Status.ACTIVE else []
        if reasons:
            at = now if any(at == now for at, _ in reasons) else reasons[0][0]
            found.append(Reminder(item=item, why="; ".join(why for _, why in reasons), at=at))
    return sorted(found, key=lambda each: (each.at != now, each.at, -each.item.priority, each.item.id))[:most]


def _reasons(item: Item, now: datetime, said: frozenset[str], ahead: timedelta) -> Iterator[tuple[datetime, str]]:
    deadline = item.deadline
    if deadline and deadline < now:
        yield deadline, f"overdue since {_shown(deadline, now)}"
    elif deadline and deadline - now <= ahead:
        yield deadline, f"due {_shown(deadline, now)}"
    for cue, told in cues(item.fields.get("when", ""), now.tzinfo or UTC):
        if isinstance(cue, frozenset):
            if cue <= said:
                yield now, f"when: {told}"
        elif cue <= now:
            yield cue, f"its time came {_shown(cue, now)}"


@lru_cache(maxsize=1 << 14)
def cues(when: str, zone: tzinfo) -> tuple[Cue, ...]:
    """What brings something up; what is no time and has no telling word does not."""
    found = ((read_moment(part, zone) or stems(part), part) for part in _BETWEEN.split(when))
    return tuple(cue for cue in found if cue[0])


def stems(text: str) -> frozenset[str]:
    """The telling words of a text, without their endings."""
    words = terms(f"{text} {_BESIDE}", limit=len(text) + 1)
    return frozenset(_stem(word) for word in words if not (word.isascii() and _JOINED.search(word))) - _EMPTY


def _stem(word: str) -> str:
    """About what text search takes a word for: `deploys`, `deployed` and `Deployment` are one."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    for ending, kept in _ENDINGS:
        plain = re.sub(ending, kept, plain) if len(plain) > 3 else plain
    return plain


def _shown(moment: datetime, now: datetime) -> str:
    here = local(moment, now.tzinfo or UTC)
    return f"{here:%H:%M}" if here.date() == now.date() else here.date().isoformat()


_COMING = "when whenever once next time again every before after during until come up mention talk discuss speak happen"
_EMPTY = frozenset(map(_stem, f"{_BESIDE} {_COMING} topic subject occur arise".split()))
"""What says that something comes up, and not what."""
