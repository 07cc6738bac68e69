"""Prospective memory: what comes up by itself when its time or its topic has come. Pure, and without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from memfolio.mind.item import Item, read_day
from memfolio.mind.kind import Status
from memfolio.text import counted, terms
from memfolio.vault.format.fields import local

AHEAD = timedelta(days=1)
_BETWEEN = re.compile(r"\s*(?:[,;]|\b(?:or|oder)\b)\s*", re.IGNORECASE)
_JOINED = re.compile(r"[A-Za-z0-9][^A-Za-z0-9]+[A-Za-z0-9]")
"""Words in one, such as `deploy/release`, whose parts are looked for as well."""
_SUFFIXES = tuple(
    re.compile(each)
    for each in (r"(?<=[a-z]{3})(?<!s)s$", r"(?<=[a-z]{3})(?:ing|ed|(?<=[a-z]{4}t)ion|(?<=[a-z]{4})ment)$", r"[eiy]+$")
)
_TWICE = re.compile(r"([b-df-hj-np-tv-z])\1$")
_BESIDE = "qzx"
"""Beside another word, function words are never searched for."""


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
        yield deadline, f"due in {_span(deadline - now)}"
    for cue in cues(str(item.fields.get("when", "")), now):
        if isinstance(cue, datetime):
            if cue <= now:
                yield cue, f"its time came {_shown(cue, now)}"
        elif said and stems(cue) <= said:
            yield now, f"when: {cue}"


def cues(when: str, now: datetime) -> Iterator[datetime | str]:
    """The times and the topics that bring something up; what has no telling word is none."""
    for part in _BETWEEN.split(when):
        time = read_day(part, now.tzinfo) if now.tzinfo else None
        if time or stems(part):
            yield time or part


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """The telling words of a text, without their endings."""
    words = terms(f"{text} {_BESIDE}", limit=len(text) + 1)
    return frozenset(_stem(word) for word in words if not (word.isascii() and _JOINED.search(word))) - _EMPTY


def _stem(word: str) -> str:
    """About what text search takes a word for: `deploys`, `deployed` and `Deployment` are one."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    for suffix in _SUFFIXES:
        plain = suffix.sub("", plain) if len(plain) > 3 else plain
    return _TWICE.sub(r"\1", plain)


def _span(left: timedelta) -> str:
    minutes = max(1, round(left.total_seconds() / 60))
    if minutes < 90:
        return counted(minutes, "minute")
    hours = round(minutes / 60)
    return counted(hours, "hour") if hours < 48 else counted(round(hours / 24), "day")


def _shown(moment: datetime, now: datetime) -> str:
    here = local(moment, now.tzinfo) if now.tzinfo else moment
    return f"{here:%H:%M}" if here.date() == now.date() else here.date().isoformat()


_COMING = "when whenever once next time again every before after during until come up mention talk discuss speak happen"
_EMPTY = frozenset(map(_stem, f"{_BESIDE} {_COMING} topic subject occur arise".split()))
"""What says that something comes up, and not what."""
