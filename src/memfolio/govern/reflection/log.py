"""The reflection log, the page `evolution.md`, and when the next reflection is due."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field
from datetime import date, datetime, timedelta
from typing import Any

from memfolio.clock import EPOCH
from memfolio.govern.proposals import state_lines
from memfolio.govern.reflection.page import LEARN, Insights, ReflectionItem
from memfolio.index.index import Index
from memfolio.index.lookup import newest
from memfolio.index.maintenance import MARK
from memfolio.index.search import Filter
from memfolio.state import Op, moment
from memfolio.text import estimate_tokens
from memfolio.types import EMPTY, REFLECTION, frozen
from memfolio.vault.fields import local
from memfolio.vault.sections import PageText
from memfolio.vault.vault import Vault

# What reflections leave behind: the log of all of them, and the page on which understanding grows. Pure.
#
# On `evolution.md` ours are the insights, each in a line with its reflection, the threads that end with how often
# they came up, and the paragraphs of the summary that begin with what they are about. All other lines are a person's.

TITLE, EVOLUTION = "# Reflection Log\n", "# Evolution\n"
SUMMARY, THREADS, INSIGHTS = "Summary", "Active Threads", "Insights"
MILESTONES = {10: "What recurs", 25: "Threads", 50: "What has changed", 100: "Looking back"}
LATELY = 10
"""How many reflections a thread is looked for in."""
NAMED = 5
"""How many topics are named."""
_ENTRY = re.compile(r"Reflection (\d{1,9}) — (\d{4}-\d\d-\d\d), (approved|partly approved|rejected)")
_FIELD = re.compile(r"- (Applied|About|Asked): (.*)")
_COUNT = re.compile(r"(\w+) (\d{1,9})")
_OURS = {
    SUMMARY: re.compile(r"\*\*(?:Reflections \d+ to \d+\*\*: |.+, after \d+ reflections\*\* \().*"),
    THREADS: re.compile(r"- .* — (?:in \d+ of the last \d+ reflections|asked in \d+ reflections)"),
    INSIGHTS: re.compile(r"- Reflection (\d{1,9}), (?:learning|understanding|theme): (.*)"),
}

Lines = dict[str, list[str]]
Summarise = Callable[[Sequence[str], int], str]
"""A text in the place of several, of at most so many tokens."""


@frozen
class Reflected:
    """An earlier reflection, as its entry in the log tells it."""

    number: int
    at: date
    outcome: str
    """`approved`, `partly approved` or `rejected`."""
    counts: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many proposals of each verb were applied."""
    topics: tuple[str, ...] = ()
    """What it was about, most of all first."""
    questions: tuple[str, ...] = ()


def entry(of: Reflected, reason: str = "") -> str:
    """A reflection as the log has it."""
    fields = [f"- Applied: {', '.join(f'{verb} {count}' for verb, count in of.counts.items())}"] if of.counts else []
    fields += [f"- About: {' · '.join(map(_line, of.topics))}"] if of.topics else []
    fields += [f"- Asked: {_line(each)}" for each in of.questions]
    fields += [f"- Reason: {_line(reason)}"] if reason else []
    return "\n".join([f"## Reflection {of.number} — {of.at}, {of.outcome}", *fields, ""])


def read_log(text: str) -> list[Reflected]:
    """The reflections of a log, in their order; what is no entry is passed over."""
    found, page = [], PageText(text)
    for heading, end in page.sections():
        if head := _ENTRY.fullmatch(heading.title):
            with suppress(ValueError):  # a day that is in no calendar
                found.append(_reflected(head, page.lines[heading.line + 1 : end]))
    return found


def _reflected(head: re.Match[str], lines: Iterable[str]) -> Reflected:
    fields: Lines = {"Applied": [], "About": [], "Asked": []}
    for match in filter(None, map(_FIELD.match, lines)):
        fields[match[1]].append(match[2].strip())
    return Reflected(
        number=int(head[1]),
        at=date.fromisoformat(head[2]),
        outcome=head[3],
        counts={verb: int(count) for verb, count in _COUNT.findall(", ".join(fields["Applied"]))},
        topics=tuple(topic for line in fields["About"] for topic in line.split(" · ")),
        questions=tuple(fields["Asked"]),
    )


def evolve(text: str, log: Sequence[Reflected], insights: Insights, limit: int, summarise: Summarise) -> str:
    """The page after the last reflection of the log, within `limit` tokens as far as a person's lines allow."""
    this, page = log[-1], PageText(text.replace("\r\n", "\n"))
    sections = [(each, end) for each, end in page.sections() if each.level == 2 and each.title in _OURS]
    rest = page.edited_lines((each.line, end, ()) for each, end in sections)
    own, theirs = ({title: list[str]() for title in _OURS} for _ in range(2))
    for heading, end in sections:
        for line in filter(str.strip, page.lines[heading.line + 1 : end]):
            (own if _OURS[heading.title].fullmatch(line) else theirs)[heading.title].append(line)
    fresh = [
        f"- Reflection {this.number}, {name}: {_line(insight)}" for name, insight in asdict(insights).items() if insight
    ]
    own[INSIGHTS][:0] = fresh
    own[THREADS] = list(_threads(log[-LATELY:]))
    if title := MILESTONES.get(this.number, MILESTONES[100] if this.number % 100 == 0 else ""):
        before = [match[2] for line in own[INSIGHTS] if (match := _OURS[INSIGHTS].fullmatch(line))]
        told = [each for each in (_milestone(this.number, log), *before) if each]
        if words := summarise(told, limit // 8) if told else "":
            own[SUMMARY].insert(0, f"**{title}, after {this.number} reflections** ({this.at}): {words}")
    # The oldest insights stand on the pages of their reflections; those of the last one stay, however long.
    while estimate_tokens(after := _page(rest, own, theirs)) > limit:
        if len(own[INSIGHTS]) > len(fresh):
            own[INSIGHTS].pop()
        elif own[SUMMARY]:
            own[SUMMARY].pop()
        else:
            break
    return after


def _page(rest: str, own: Lines, theirs: Lines) -> str:
    """The page; nothing where there is nothing to say."""
    gaps = {title: "\n\n" if title == SUMMARY else "\n" for title in _OURS}
    sections = [
        f"## {title}\n\n{gap.join([*own[title], *theirs[title]])}"
        for title, gap in gaps.items()
        if own[title] or theirs[title]
    ]
    return "\n\n".join([rest.rstrip() or EVOLUTION.rstrip(), *sections]) + "\n" if rest or sections else ""


def _threads(log: Sequence[Reflected]) -> Iterator[str]:
    """What comes up again and again."""
    for topic, count in _often(each.topics for each in log):
        yield f"- {_line(topic)} — in {count} of the last {len(log)} reflections"
    for question, count in _often(each.questions for each in log):
        yield f"- {_line(question)} — asked in {count} reflections"


def _often(given: Iterable[Sequence[str]]) -> list[tuple[str, int]]:
    counts = Counter(each for group in given for each in dict.fromkeys(group))
    return [(each, count) for each, count in counts.most_common(NAMED) if count > 1]


def _topics(log: Sequence[Reflected], words: str = "Mostly about {}. ") -> str:
    often = ", ".join(f"{topic} ({count})" for topic, count in _often(each.topics for each in log))
    return words.format(often) if often else ""


def _milestone(number: int, log: Sequence[Reflected]) -> str:
    """What the talk was about, by the log; how often something was approved says nothing about the user."""
    half = len(log) // 2
    text = _topics(log)
    if number >= 50:
        text += _topics(log[:half], "At first it was {}; ") + _topics(log[half:], "lately it is {}. ")
    elif number == 25:
        text += _topics(log[-LATELY:], "What goes on: {}. ")
    if asked := [question for question, _ in _often(each.questions for each in log)]:
        text += f"Asked again and again: {' '.join(asked)} "
    return text.strip()


def in_short(texts: Sequence[str], limit: int) -> str:
    """The sentences of these texts, each once, as many as fit: a summary without a model."""
    kept: dict[str, None] = {}
    for sentence in re.findall(r".+?(?:[.!?;](?=\s)|$)", " \n".join(map(_line, texts))):
        if estimate_tokens(" ".join([*kept, sentence.strip()])) <= limit:
            kept[sentence.strip()] = None
    return " ".join(filter(None, kept))


def _line(text: str) -> str:
    return " ".join(text.split())


# What state lines tell about reflections: which one waits, when somebody last looked, whether another is due.

KIND = "reflection"
PATIENCE = timedelta(days=14)
NOTHING = "nothing"
"""The verdict on a reflection that found nothing to say; it is noted so that it is not made again and again."""
Line = Mapping[str, Any]


def reviews(vault: Vault, agent: str) -> list[Line]:
    """The lines about reflections, oldest first."""
    return [line for line in state_lines(vault, agent, Op.REVIEW) if _is_sound(line)]


def _is_sound(line: Line) -> bool:
    is_ours = line.get("kind") == KIND and isinstance(line.get("page"), str) and isinstance(line.get("number"), int)
    marks = line.get("marks", [])
    lists = marks if isinstance(marks, list) else [None]
    return is_ours and all(isinstance(each, list) for each in (line.get("rejected", []), *lists))


class _Marks:
    """Marks of which only keyed hashes are kept."""

    def __init__(self, hash: Callable[[bytes], str], known: set[str]) -> None:
        self._hash, self._known = hash, known

    def __contains__(self, mark: object) -> bool:
        return bool(self._known) and self._hash(str(mark).encode()) in self._known


def refused(vault: Vault, agent: str) -> Container[str]:
    """The marks of items that somebody did not want."""
    return _Marks(vault.home.hash, {mark for line in reviews(vault, agent) for mark in line.get("rejected", ())})


def is_unwanted(text: str, refused: Container[str]) -> bool:
    """Whether somebody did not want just this to be learned."""
    return any(mark in refused for mark in ReflectionItem(verb=LEARN, text=text).marks)


def waiting(lines: Sequence[Line]) -> Line | None:
    """The line of what waits: the last that was made, unless somebody decided on it."""
    made = next((line for line in reversed(lines) if "verdict" not in line), None)
    return made if made and made["page"] not in _closed(lines) else None


def _closed(lines: Sequence[Line]) -> set[str]:
    return {line["page"] for line in lines if "verdict" in line}


def looked(lines: Sequence[Line]) -> datetime | None:
    """When the memory was last looked through for what somebody decided on, or what came to nothing."""
    # What waits and was not decided on is looked through again.
    closed = _closed(lines)
    times = (moment(line.get("at")) for line in lines if "hash" in line and line["page"] in closed)
    return max(filter(None, times), default=None)


def next_number(lines: Sequence[Line]) -> int:
    """The number of the next reflection: those that gave way to another have none."""
    return 1 + max((line["number"] for line in lines if line.get("verdict", NOTHING) != NOTHING), default=0)


def due(vault: Vault, index: Index, agent: str, now: datetime) -> str | None:
    """Why a reflection is due; None where none is, and where nothing has come since the last.

    What has come while one waits is added to it, once a day; one that a person is editing is left to them.
    """
    settings, lines = vault.config.reflection, reviews(vault, agent)
    line = waiting(lines)
    page = vault.page(line["page"]) if line else None
    is_edited = page is not None and line is not None and not page.hash.startswith(str(line.get("hash")))
    if not settings.enabled or (is_edited and line and not is_unanswered(line, now)):
        return None
    since = (moment(line.get("at")) if page and line else looked(lines)) or EPOCH
    wanted = Filter(forms=("memory",), since=since)
    found = [each.item for each in index.read(lambda db: newest(db, wanted, settings.threshold))]
    fresh = [item.created_at for item in found if item.source != REFLECTION and item.created_at > since]
    is_time = "its time of the day has come" if min(fresh, default=now) < due_hour(vault, now) else None
    if page:
        return is_time
    if len(fresh) >= settings.threshold:
        return f"{len(fresh)} entries or more since the last reflection"
    for line in state_lines(vault, agent, Op.SESSION) if settings.session and fresh else ():
        turns, at = len(str(line.get("read", ""))) // MARK, moment(line.get("at"))
        if turns >= settings.session and at and at > since:
            return f"a conversation of {turns} turns ended"
    return is_time


def is_unanswered(line: Line, now: datetime) -> bool:
    """Whether what waits has waited so long that it stands in nobody's way any more."""
    made = moment(line.get("at"))
    return made is not None and now - made >= PATIENCE


def due_hour(vault: Vault, now: datetime) -> datetime:
    """When the jobs of a day last fell due."""
    here = local(now, vault.home.zone)
    mark = here.replace(hour=vault.config.tend.hour, minute=0, second=0, microsecond=0)
    return mark if mark <= here else mark - timedelta(days=1)
