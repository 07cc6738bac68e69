"""Closing days: one entry at the end of a day's log that says what the day was about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, tzinfo
from functools import partial

from memfolio.index import days as index_days
from memfolio.index.days import DAY_SUMMARY, SUMMARY, Told, at_time, local_day
from memfolio.index.index import Index
from memfolio.state import Op
from memfolio.tend.digest.gist import MOST, WORD, highlights_of, themes_of
from memfolio.tend.extract import keys, shortened
from memfolio.tend.hand import Hand, tender
from memfolio.types import Action, Type
from memfolio.vault.change import AddEntries, AddLines, Change
from memfolio.vault.format.draft import Draft
from memfolio.vault.paths import state_ledger

JOB = "day"
FEWEST = 5
"""Memories that a day must have to be summed up."""
AT_ONCE = 400
"""Days that are closed in one run."""
CITED = 12
LINES, THEMES = 3, 5
LINE_TOKENS = 40
END = time(23, 59, 59)
ENDINGS = frozenset({Type.OUTCOME, Type.LESSON, Type.CORRECTION})
SHARED_WORDS = 2
"""Words that an error or a task has in common with what ended it."""
_ENDED = re.compile(r"(?i)\b(fixed|resolved|solved|recovered|repaired|works again|done|finished|completed|shipped)\b")


@dataclass(frozen=True, slots=True)
class _Point:
    """A line of a summary, and the memories that it repeats."""

    text: str
    ids: tuple[str, ...]


def close_days(hand: Hand, index: Index) -> list[date]:
    """Sum up every day that is over, has enough memories and was never summed up, all as one change."""
    zone = hand.vault.home.zone
    marks = index.read(partial(index_days.marks, zone=zone))
    closed = index.read(partial(index_days.summed_up, zone=zone))
    today = local_day(hand.now, zone)
    due = [day for day, mark in marks.items() if mark.shown >= FEWEST and day < today and day not in closed][:AT_ONCE]
    drafts = []
    for day in due:
        found = index.read(partial(index_days.told, day=day, zone=zone, limit=MOST))
        episodes = [each for each in found if each.source != index_days.PATTERN]
        drafts.append(summary(day, episodes, zone, count=marks[day].shown))
    if drafts:
        hand.make(_change(hand, due, drafts))
    return due


def _change(hand: Hand, days: Sequence[date], drafts: Sequence[Draft]) -> Change:
    line = {"op": Op.JOB.value, "job": JOB, "days": len(days)}
    # Two processes that close the same days make the same change.
    key = hand.vault.home.key_mark(hand.agent, f"{JOB} {' '.join(map(str, days))}")
    operations = (AddEntries(hand.agent, tuple(drafts)), AddLines(state_ledger(hand.agent), (line,)))
    return Change(operations=operations, by=tender(JOB), action=Action.APPEND, key=key)


def summary(day: date, found: Sequence[Told], zone: tzinfo, *, count: int) -> Draft:
    """The closing entry of a day of `count` memories, of which these were read, in order."""
    sections = {
        "Decisions": list(_of(found, Type.DECISION)),
        "Errors": list(_errors(found)),
        "Highlights": list(_highlights(found)),
        "For tomorrow": list(_open_tasks(found)),
    }
    cited: list[str] = []
    lines = [_opening(day, found, zone, count)]
    for name, points in sections.items():
        kept = [point for point in points if len({*cited, *point.ids}) <= CITED]
        cited = list(dict.fromkeys((*cited, *(each for point in kept for each in point.ids))))
        lines += ["", f"{name}:", *(f"- {point.text} ({', '.join(point.ids)})" for point in kept)] if kept else []
    return Draft(
        content="\n".join(lines),
        type=Type.EVENT,
        source=SUMMARY,
        tags=(DAY_SUMMARY,),
        event_time=at_time(day, END, zone),
        derived_from=tuple(cited),
    )


def _opening(day: date, found: Sequence[Told], zone: tzinfo, count: int) -> str:
    first, last = (f"{_clock(each, zone):%H:%M}" for each in (found[0], found[-1]))
    sessions = len({each.session for each in found if each.session})
    about = [name for name, times, rank in themes_of(found).values() if rank < WORD or times > 1][:THEMES]
    topics = f" Topics: {', '.join(about)}." if about else ""
    talks = f" in {sessions} conversation{'s' if sessions > 1 else ''}" if sessions else ""
    return f"Summary of {day:%A}, {day}: {count} memories{talks}, from {first} to {last}.{topics}"


def _clock(memory: Told, zone: tzinfo) -> time:
    try:
        return memory.at.astimezone(zone).time()
    except OverflowError:
        return memory.at.time()


def _of(found: Sequence[Told], kind: Type) -> Iterator[_Point]:
    """The most important memories of a type, in their order."""
    best = sorted((each for each in found if each.type is kind), key=lambda each: -each.importance)[:LINES]
    return (_Point(shortened(each.content, LINE_TOKENS), (each.id,)) for each in found if each in best)


def _errors(found: Sequence[Told]) -> Iterator[_Point]:
    """Errors, each with what ended it."""
    for error in [each for each in found if each.type is Type.ERROR][:LINES]:
        end = _ending(error, found)
        text = shortened(error.content, LINE_TOKENS)
        if end:
            yield _Point(f"{text} Ended: {shortened(end.content, LINE_TOKENS)}", (error.id, end.id))
        else:
            yield _Point(f"{text} Open.", (error.id,))


def _open_tasks(found: Sequence[Told]) -> Iterator[_Point]:
    tasks = [each for each in found if each.type is Type.TASK and not _ending(each, found)]
    return (_Point(shortened(each.content, LINE_TOKENS), (each.id,)) for each in tasks[:LINES])


def _ending(begun: Told, found: Sequence[Told]) -> Told | None:
    """What later on the same day tells how something ended."""
    words = keys(begun.content)
    later = (each for each in found if (each.at, each.id) > (begun.at, begun.id) and each.type is not Type.ERROR)
    ends = (each for each in later if each.type in ENDINGS or _ENDED.search(each.content))
    return next((each for each in ends if len(words & keys(each.content)) >= SHARED_WORDS), None)


def _highlights(found: Sequence[Told]) -> Iterator[_Point]:
    """The best sentences of what has no section of its own."""
    others = [each for each in found if each.type not in (Type.DECISION, Type.ERROR, Type.TASK)]
    return (_Point(line.text, (line.id,)) for line in highlights_of(others)[:LINES])
