"""The reflection log, the page `evolution.md`, and when the next reflection is due."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import date, datetime, timedelta
from typing import Any

from memfolio.clock import EPOCH
from memfolio.govern.proposals import state_lines
from memfolio.govern.reflection.page import LEARN, ReflectionItem
from memfolio.index.index import Index
from memfolio.index.lookup import newest
from memfolio.index.maintenance import MARK
from memfolio.index.search import Filter
from memfolio.state import Op, moment
from memfolio.text import estimate_tokens, single_line
from memfolio.types import EMPTY, REFLECTION, frozen
from memfolio.vault.fields import local
from memfolio.vault.sections import PageText
from memfolio.vault.vault import Vault

# What reflections leave behind: the log of all of them, and the page on which understanding grows. Pure.
#
# On `evolution.md` ours are the paragraphs of the summary, one for each milestone, that tell how the understanding of
# the user changed. All other lines are a person's.

TITLE, EVOLUTION = "# Reflection Log\n", "# Evolution\n"
SUMMARY, THREADS, INSIGHTS = "Summary", "Active Threads", "Insights"
MILESTONES = {10: "What became known", 25: "What was added", 50: "What has changed", 100: "Looking back"}
TOLD = 8
"""How many things a milestone tells of a kind, the last ones."""
KEPT = 6
"""How many an entry of the log names."""
NAMED = 5
"""How many topics are named."""
_ENTRY = re.compile(r"Reflection (\d{1,9}) — (\d{4}-\d\d-\d\d), (approved|partly approved|rejected)")
_FIELD = re.compile(r"- (Applied|About|Learned|No longer|Insight|Asked): (.*)")
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
    learned: tuple[str, ...] = ()
    """What was approved as known about the user."""
    dropped: tuple[str, ...] = ()
    """What was known and is not so any more."""
    insights: tuple[str, ...] = ()


def entry(of: Reflected, reason: str = "") -> str:
    """A reflection as the log has it."""
    fields = [f"- Applied: {', '.join(f'{verb} {count}' for verb, count in of.counts.items())}"] if of.counts else []
    fields += [f"- About: {' · '.join(map(single_line, of.topics))}"] if of.topics else []
    named = {"Learned": of.learned, "No longer": of.dropped, "Insight": of.insights, "Asked": of.questions}
    fields += [f"- {name}: {single_line(each)}" for name, listed in named.items() for each in listed]
    fields += [f"- Reason: {single_line(reason)}"] if reason else []
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
    fields: Lines = {name: [] for name in ("Applied", "About", "Learned", "No longer", "Insight", "Asked")}
    for match in filter(None, map(_FIELD.match, lines)):
        fields[match[1]].append(match[2].strip())
    return Reflected(
        number=int(head[1]),
        at=date.fromisoformat(head[2]),
        outcome=head[3],
        counts={verb: int(count) for verb, count in _COUNT.findall(", ".join(fields["Applied"]))},
        topics=tuple(topic for line in fields["About"] for topic in line.split(" · ")),
        questions=tuple(fields["Asked"]),
        learned=tuple(fields["Learned"]),
        dropped=tuple(fields["No longer"]),
        insights=tuple(fields["Insight"]),
    )


def evolve(text: str, log: Sequence[Reflected], limit: int, summarise: Summarise) -> str:
    """The page after the last reflection of the log, within `limit` tokens as far as a person's lines allow."""
    this, page = log[-1], PageText(text.replace("\r\n", "\n"))
    sections = [(each, end) for each, end in page.sections() if each.level == 2 and each.title in _OURS]
    rest = page.edited_lines((each.line, end, ()) for each, end in sections)
    own, theirs = ({title: list[str]() for title in _OURS} for _ in range(2))
    for heading, end in sections:
        for line in filter(str.strip, page.lines[heading.line + 1 : end]):
            (own if _OURS[heading.title].fullmatch(line) else theirs)[heading.title].append(line)
    paragraphs = own[SUMMARY]
    if title := MILESTONES.get(this.number, MILESTONES[100] if this.number % 100 == 0 else ""):
        before = max((each for each in MILESTONES if each < this.number), default=0)
        told = list(_milestone([each for each in log if each.number > before]))
        if words := summarise(told, limit // 8) if told else "":
            paragraphs.insert(0, f"**{title}, after {this.number} reflections** ({this.at}): {words}")
    while estimate_tokens(after := _page(rest, paragraphs, theirs)) > limit and len(paragraphs) > 1:
        paragraphs.pop()  # the oldest
    return after


def _page(rest: str, paragraphs: Sequence[str], theirs: Lines) -> str:
    """The page; nothing where there is nothing to say."""
    lines = {title: "\n".join(listed) for title, listed in theirs.items()}
    lines[SUMMARY] = "\n\n".join([*paragraphs, *theirs[SUMMARY]])
    sections = [f"## {title}\n\n{words}" for title, words in lines.items() if words]
    return "\n\n".join([rest.rstrip() or EVOLUTION.rstrip(), *sections]) + "\n" if rest or sections else ""


def _often(given: Iterable[Sequence[str]]) -> list[tuple[str, int]]:
    counts = Counter(each for group in given for each in dict.fromkeys(group))
    return [(each, count) for each, count in counts.most_common(NAMED) if count > 1]


def _milestone(log: Sequence[Reflected]) -> Iterator[str]:
    """How the understanding of the user changed in these reflections; nothing where it did not."""
    dropped = list(dict.fromkeys(line for each in log for line in each.dropped))
    learned = [line for each in log for line in each.learned if line not in dropped]
    insights = [line for each in log for line in each.insights]
    if not (dropped or learned or insights):
        return
    if learned:
        yield f"Learned since {log[0].at}: {_listed(learned)}."
    if dropped:
        yield f"No longer so: {_listed(dropped)}."
    yield from dict.fromkeys(insights)
    if topics := [topic for topic, _ in _often(each.topics for each in log)]:
        yield f"Mostly about {', '.join(topics)}."
    if asked := [question for question, _ in _often(each.questions for each in log)]:
        yield f"Asked again and again: {' '.join(asked)}"


def _listed(lines: Iterable[str]) -> str:
    return "; ".join(line.rstrip(" .") for line in list(dict.fromkeys(lines))[-TOLD:])


def in_short(texts: Sequence[str], limit: int) -> str:
    """The sentences of these texts, each once, as many as fit: a summary without a model."""
    kept: dict[str, None] = {}
    for sentence in re.findall(r".+?(?:[.!?;](?=\s)|$)", " \n".join(map(single_line, texts))):
        if estimate_tokens(" ".join([*kept, sentence.strip()])) <= limit:
            kept[sentence.strip()] = None
    return " ".join(filter(None, kept))


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
