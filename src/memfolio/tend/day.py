"""Closing days: one entry at the end of a day's log that says what the day was about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, time, tzinfo
from functools import partial

from memfolio.index import days as index_days
from memfolio.index.days import CONCLUDED, DAY_SUMMARY, SUMMARY, Told, local_day
from memfolio.index.index import Index
from memfolio.sources import PATTERN
from memfolio.state import Op
from memfolio.tend.digest.gist import MOST, WORD, Line, highlights_of, line_of, themes_of, unconcluded
from memfolio.tend.extract import is_secret, keys
from memfolio.tend.hand import Hand, tender
from memfolio.text import counted
from memfolio.types import Action, Type
from memfolio.vault.change import AddEntries, AddLines, Change
from memfolio.vault.format.draft import Draft
from memfolio.vault.format.entry import moment_of
from memfolio.vault.format.fields import local
from memfolio.vault.paths import state_ledger

JOB = "day"
FEWEST = 5
"""Memories that a day must have to be summed up."""
AT_ONCE = 400
"""Days that are closed in one run."""
CITED = 12
LINES, THEMES = 3, 5
END = time(23, 59, 59)
SECTIONED = frozenset({Type.DECISION, Type.ERROR, Type.TASK})
ENDINGS = frozenset({Type.OUTCOME, Type.LESSON, Type.CORRECTION})
SHARED_WORDS = 2
"""Words that an error or a task has in common with what ended it."""
_ENDED = re.compile(r"(?i)\b(fixed|resolved|solved|recovered|repaired|works again|done|finished|completed|shipped)\b")


def close_days(hand: Hand, index: Index) -> list[date]:
    """Sum up every day that is over, has enough memories and no summary yet, all as one change; returns which."""
    zone = hand.vault.home.zone
    marks = index.read(partial(index_days.marks, zone=zone))
    closed = index.read(partial(index_days.summed_up, zone=zone))
    today = local_day(hand.now, zone)
    drafts: dict[date, Draft] = {}
    for day, mark in marks.items():
        if mark.shown >= FEWEST and day < today and str(day) not in closed and len(drafts) < AT_ONCE:
            found = index.read(partial(index_days.told, day=day, zone=zone, limit=MOST))
            draft = summary(day, found, zone, count=mark.shown)
            drafts |= {day: draft} if draft.derived_from else {}
    made = hand.make(_change(hand, list(drafts.values()))) if drafts else None
    return list(drafts) if made or hand.dry_run else []


def _change(hand: Hand, drafts: Sequence[Draft]) -> Change:
    line = {"op": Op.JOB.value, "job": JOB, "days": len(drafts)}
    # Two processes that close the same days make the same change.
    key = hand.vault.home.key_mark(hand.agent, "\n".join((JOB, *(draft.content for draft in drafts))))
    operations = (AddEntries(hand.agent, tuple(drafts)), AddLines(state_ledger(hand.agent), (line,)))
    return Change(operations=operations, by=tender(JOB), action=Action.APPEND, key=key)


def summary(day: date, told: Sequence[Told], zone: tzinfo, *, count: int) -> Draft:
    """The closing entry of a day of `count` memories, of which these were read, in order."""
    found = [each for each in told if each.source != PATTERN and not is_secret(each.content)]
    sections = {
        "Decisions": list(_decisions(found)),
        "Errors": list(_errors(found)),
        "Highlights": list(_highlights(found)),
        "For tomorrow": list(_open_tasks(found)),
    }
    cited: list[str] = []
    lines = [_opening(day, [each for each in found if each.source not in CONCLUDED], zone, count)]
    for name, points in sections.items():
        kept = [point for point in points if len({*cited, *point.ids}) <= CITED]
        cited = list(dict.fromkeys((*cited, *(each for point in kept for each in point.ids))))
        lines += ["", f"{name}:", *(f"- {point}" for point in kept)] if kept else []
    return Draft(
        content="\n".join(lines),
        type=Type.EVENT,
        source=SUMMARY,
        tags=(DAY_SUMMARY,),
        event_time=moment_of(day, END, zone),
        derived_from=tuple(cited),
        attributes={"day": day.isoformat()},
    )


def _opening(day: date, found: Sequence[Told], zone: tzinfo, count: int) -> str:
    first, last = (f"{local(each.at, zone):%H:%M}" for each in (found[0], found[-1])) if found else ("", "")
    sessions = len({each.session for each in found if each.session})
    about = [name for name, times, rank in themes_of(found).values() if rank < WORD or times > 1][:THEMES]
    topics = f" Topics: {', '.join(about)}." if about else ""
    talks = f" in {counted(sessions, 'conversation')}" if sessions else ""
    return f"Summary of {day:%A}, {day}: {count} memories{talks}, from {first} to {last}.{topics}"


def _decisions(found: Sequence[Told]) -> Iterator[Line]:
    """The most important decisions, in their order."""
    decided = [each for each in found if each.type is Type.DECISION]
    best = sorted(decided, key=lambda each: -each.importance)[:LINES]
    return (line_of(each, each.content) for each in decided if each in best)


def _errors(found: Sequence[Told]) -> Iterator[Line]:
    """Errors, each with what ended it."""
    for error in [each for each in found if each.type is Type.ERROR][:LINES]:
        line, end = line_of(error, error.content), _ending(error, found)
        if end:
            ended = line_of(end, end.content)
            yield line._replace(text=f"{line.text} Ended: {ended.text}", ids=(*line.ids, *ended.ids))
        else:
            yield line._replace(text=f"{line.text} Open.")


def _open_tasks(found: Sequence[Told]) -> Iterator[Line]:
    tasks = [each for each in found if each.type is Type.TASK and not _ending(each, found)]
    return (line_of(each, each.content) for each in tasks[:LINES])


def _ending(begun: Told, found: Sequence[Told]) -> Told | None:
    """What later on the same day tells how something ended."""
    words = keys(begun.content)
    later = (each for each in found if each.at > begun.at and each.type is not Type.ERROR)
    ends = (each for each in later if each.type in ENDINGS or _ENDED.search(each.content))
    return next((each for each in ends if len(words & keys(each.content)) >= SHARED_WORDS), None)


def _highlights(found: Sequence[Told]) -> Sequence[Line]:
    """The best sentences of what has no section of its own."""
    others = (each for each in found if each.type not in SECTIONED)
    return highlights_of(unconcluded(others, found))[:LINES]
