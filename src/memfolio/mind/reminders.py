"""Reminders that somebody asks for in a conversation: intentions that come up when due, and end when it is done."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from memfolio.index.mind_pages import ItemStatus, MindItem, MindPage, kind_of
from memfolio.learn.clauses import readable
from memfolio.learn.learned import Statement, moment
from memfolio.learn.words import is_past, lemma_of
from memfolio.mind.mind import END_OF_DAY, LEXICON, TITLE
from memfolio.recall.dates import calendar_words, outside_times, upcoming, words
from memfolio.stores.flush import turn_of
from memfolio.text import sentences, terms
from memfolio.types import MemoryItem, Type, frozen
from memfolio.vault.change import PutPage
from memfolio.vault.fields import local, midnight
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import new_id
from memfolio.vault.paths import agent_root
from memfolio.vault.vault import Vault

REMINDER = "reminder"
"""The predicate of a statement that asks for one."""
KIND = kind_of("intention")
REASON = 160
"""Characters of what was said that are kept as the reason for an end."""
_AROUND = frozenset(("end", "start", "beginning", "middle"))
"""Words of a time that are left where the rest of it is taken out."""
_TOKEN = re.compile(r"[\w'’-]+")


@frozen
class Ending:
    """How an intention ends: done or dropped, because of what somebody said at a time."""

    item: MindItem
    status: ItemStatus
    says: str
    at: datetime

    def edit(self, zone: tzinfo) -> Mapping[str, Any]:
        """The fields of the item that change."""
        day = midnight(self.at, zone)
        said = textwrap.shorten(self.says, REASON, placeholder="…").replace("·", ",")
        return {"status": self.status, "updated": day, "reason": f"said on {day:%Y-%m-%d}: {said}"}


# The page of intentions with what a conversation asks for and what it says is done.


def intentions(vault: Vault, agent: str) -> list[MindItem]:
    """The intentions that still count."""
    return [each for each in _read(vault, agent)[1].items if each.is_live]


def reminder_page(
    vault: Vault,
    agent: str,
    kept: Iterable[Statement],
    turns: Sequence[MemoryItem],
    now: datetime,
    ended: Collection[Ending] = (),
) -> PutPage | None:
    """The page of intentions with the reminders among what was learned, and with those that ended.

    None where nothing changes.
    """
    mark, page = _read(vault, agent)
    before, zone = page.text, vault.home.zone
    if ended:
        page = MindPage(KIND, page.editing({each.item.id: each.edit(zone) for each in ended}), agent=agent, zone=zone)
    for each in kept:
        title = textwrap.shorten(each.text, TITLE, placeholder="…")
        said = turns[each.turns[-1]]
        at = upcoming(each.text, moment(said), zone)
        is_known = any(item.title == title and item.is_live for item in page.items)
        if is_known or not _comes_up(each, at):
            continue
        # What somebody only means to do is over with its day; what is owed, or asked for, waits until it is done.
        is_plan = each.predicate != REMINDER and not LEXICON.pattern("owed").search(each.text)
        is_latest = at is not None and (is_plan or LEXICON.pattern("latest").search(each.text))
        fields = {
            "deadline": _end_of_day(at) if at and is_latest else None,
            "when": f"{local(at, zone):%Y-%m-%d %H:%M}" if at and not is_latest else None,
            "created": local(now, zone).date().isoformat(),
            "from": (said.id,),
        }
        given = {name: fields[name] for name in KIND.fields if fields.get(name) is not None}
        own = new_id(KIND.prefix, now, {item.id for item in page.items})
        text = page.adding(own, title, "" if title == each.text else each.text, given)
        page = MindPage(KIND, text, agent=agent, zone=zone)
    path = f"{agent_root(agent)}/mind/{KIND.page}.md"
    return PutPage(path, to_bytes(page.text), mark) if page.text != before else None


def _read(vault: Vault, agent: str) -> tuple[str | None, MindPage]:
    found = vault.page(f"{agent_root(agent)}/mind/{KIND.page}.md")
    text = to_text(found.content) if found else f"# {KIND.page}\n"
    return found.hash if found else None, MindPage(KIND, text, agent=agent, zone=vault.home.zone)


def _comes_up(statement: Statement, at: datetime | None) -> bool:
    """Whether somebody asked to be reminded, or has to do something by a day."""
    return statement.predicate == REMINDER or (statement.type is Type.TASK and at is not None)


def _end_of_day(at: datetime) -> datetime:
    """By a day means by its end."""
    hour, minute = END_OF_DAY
    return at if at.hour else at.replace(hour=hour, minute=minute)


# What ends a reminder: that it is done, or need not come up, said of what it is about. Pure.


def endings(items: Sequence[MindItem], turns: Iterable[MemoryItem], zone: tzinfo) -> list[Ending]:
    """The intentions of earlier conversations that these turns end, each once."""
    found = dict[str, Ending]()
    asked = [each for each in items if each.links("from")]
    for turn in turns:
        spoken = turn_of(turn)
        waiting = [each for each in asked if each.id not in found and turn.id not in each.links("from")]
        if spoken.is_person and waiting:
            for each in _ended_in(spoken.content, waiting, moment(turn), zone):
                found.setdefault(each.item.id, each)
    return list(found.values())


def _ended_in(content: str, items: Sequence[MindItem], at: datetime, zone: tzinfo) -> Iterator[Ending]:
    heard = frozenset[str]()
    for sentence in (each for line in readable(content) for each in sentences(line)):
        words = _stems(sentence)
        heard |= words
        is_dropped = LEXICON.pattern("dropped").search(sentence) is not None
        is_called_off = not is_dropped and LEXICON.pattern("called_off").search(sentence) is not None
        if is_dropped or is_called_off:
            status = ItemStatus.DROPPED
        elif LEXICON.pattern("not_done").search(sentence):
            continue
        else:
            status = ItemStatus.DONE
        shares = [(_share(each, sentence, heard, status, at, zone), each) for each in items]
        best, item = max(shares, key=lambda pair: pair[0])
        # Who skips the gym today still has its membership to renew.
        if best > 0.5 or (best == 0.5 and not is_called_off):
            yield Ending(item=item, status=status, says=sentence, at=at)


def _share(
    item: MindItem, sentence: str, heard: Collection[str], status: ItemStatus, at: datetime, zone: tzinfo
) -> float:
    """How much of what a reminder is about is said by a sentence that ends it, and by those before it."""
    verb, things = _asked(item.says, at, zone)
    if status is ItemStatus.DROPPED and verb in map(lemma_of, _TOKEN.findall(sentence.lower())):
        return 0.0  # who says "cancel the order" and wanted to be reminded of that says it again
    if status is ItemStatus.DONE and not (LEXICON.pattern("done").search(sentence) or _is_done(verb, sentence)):
        return 0.0
    if status is ItemStatus.DONE and verb and _is_only_done(verb, sentence):
        return 0.5  # `registered online, done`: what was registered only the reminder tells
    return len(things.intersection(heard)) / len(things) if things else 0.0


def _is_only_done(verb: str, sentence: str) -> bool:
    """Whether a sentence begins with what was to be done and goes on with nothing that it was done to."""
    found = LEXICON.pattern("done_alone").match(sentence)
    word = found["verb"].lower() if found else ""
    return lemma_of(word) == verb and is_past(word) and LEXICON.pattern("done").search(sentence) is not None


def _is_done(verb: str, sentence: str) -> bool:
    """Whether a sentence says that the speaker did something, or that it was done: `I called …`, `… is booked`."""
    words = _TOKEN.findall(sentence)
    return any(
        lemma_of(word.lower()) == verb != ""
        and is_past(word.lower())
        and any(LEXICON.pattern(name).search(" ".join(words[:at])) for name in ("passive", "doer"))
        for at, word in enumerate(words)
    )


def _asked(says: str, at: datetime, zone: tzinfo) -> tuple[str, frozenset[str]]:
    """What a reminder wants to be done, as its verb, and what that is about."""
    _, mark, what = says.partition(" to be reminded ")
    asked = (what if mark else says).partition(", ")[0]  # then come reasons
    told = outside_times(LEXICON.pattern("aside").sub("", asked), at, zone)
    verb = next((lemma for word in _TOKEN.findall(told) if (lemma := lemma_of(word.lower()))), "")
    idle = calendar_words() | words("days_ahead") | _AROUND
    return verb, frozenset(each for each in _stems(told) - idle if lemma_of(each) != verb or not verb)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("'s").rstrip("s") for word in terms(text.casefold()) if " " not in word)
