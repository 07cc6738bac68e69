"""What reflections leave behind: their log, the page on which understanding grows, and when the next is due."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any

from memfolio.clock import EPOCH
from memfolio.govern.proposals import state_lines
from memfolio.govern.reflection.findings import Insights, Reflected, ReflectionItem, ReflectionVerb
from memfolio.index.index import Index
from memfolio.index.lookup import newest
from memfolio.index.maintenance import MARK
from memfolio.index.search import Filter
from memfolio.state import Op, moment
from memfolio.text import estimate_tokens
from memfolio.types import REFLECTION
from memfolio.vault.fields import local
from memfolio.vault.vault import Vault

# What reflections leave behind: the log of all of them, and the page on which understanding grows. Pure.
#
# On `evolution.md` ours are the insights, each in a line with its reflection, the threads that end with how often
# they came up, and the paragraphs of the summary that begin with what they are about. All other lines are a person's.

TITLE, EVOLUTION = "# Reflection Log\n", "# Evolution\n"
SUMMARY, THREADS, INSIGHTS = "## Summary", "## Active Threads", "## Insights"
MILESTONES = {10: "What recurs", 25: "Threads", 50: "What has changed", 100: "Looking back"}
LATELY = 10
"""How many reflections a thread is looked for in."""
NAMED = 5
"""How many topics are named."""
_ENTRY = re.compile(r"## Reflection (\d{1,9}) — (\d{4}-\d\d-\d\d), (approved|partly approved|rejected)\s*")
_FIELD = re.compile(r"- (Applied|About|Asked): (.*)")
_COUNT = re.compile(r"(\w+) (\d{1,9})")
_OURS = {
    SUMMARY: re.compile(r"\*\*(?:Reflections \d+ to \d+\*\*: |.+, after \d+ reflections\*\* \().*"),
    THREADS: re.compile(r"- .* — (?:in \d+ of the last \d+ reflections|asked in \d+ reflections)"),
    INSIGHTS: re.compile(r"- Reflection (\d{1,9}), (?:learning|understanding|theme): (.*)"),
}
_FOLDED = re.compile(r"\*\*Reflections (\d+) to (\d+)\*\*: (?:Mostly about .*?\)\. ?)?(.*)")

Lines = dict[str, list[str]]
Summarise = Callable[[Sequence[str], int], str]
"""A text in the place of several, of at most so many tokens."""


def entry(of: Reflected, reason: str = "") -> str:
    """A reflection as the log has it."""
    told = [f"- Applied: {', '.join(f'{verb} {count}' for verb, count in of.counts.items())}"] if of.counts else []
    told += [f"- About: {' · '.join(map(_line, of.topics))}"] if of.topics else []
    told += [f"- Asked: {_line(each)}" for each in of.questions]
    told += [f"- Reason: {_line(reason)}"] if reason else []
    return "\n".join([f"## Reflection {of.number} — {of.at}, {of.outcome}", *told, ""])


def read_log(text: str) -> list[Reflected]:
    """The reflections of a log, in their order; what is no entry is passed over."""
    found = []
    for part in re.split(r"(?m)^(?=## )", text):
        if head := _ENTRY.match(part):
            with suppress(ValueError):  # a day that is in no calendar
                found.append(_reflected(head, part))
    return found


def _reflected(head: re.Match[str], part: str) -> Reflected:
    fields: Lines = {"Applied": [], "About": [], "Asked": []}
    for name, value in _FIELD.findall(part):
        fields[name].append(value.strip())
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
    this, parts = log[-1], re.split(r"(?m)^(?=## )", text.replace("\r\n", "\n"))
    rest = "".join(part for part in parts if part.partition("\n")[0].rstrip() not in _OURS)
    own, theirs = _lines_of(parts)
    told = {name: _line(text) for name, text in asdict(insights).items()}
    own[INSIGHTS][:0] = [f"- Reflection {this.number}, {name}: {words}" for name, words in told.items() if words]
    own[THREADS] = list(_threads(log[-LATELY:]))
    if title := MILESTONES.get(this.number, MILESTONES[100] if this.number % 100 == 0 else ""):
        words = summarise([_milestone(this.number, log), *_words(own[INSIGHTS])], limit // 8)
        own[SUMMARY].insert(0, f"**{title}, after {this.number} reflections** ({this.at}): {words}")
    # The page must not grow for ever: the oldest insights are folded into one paragraph until it fits.
    while estimate_tokens(page := _page(rest, own, theirs)) > limit and _fold(own, log, limit // 4, summarise):
        pass
    return page


def _lines_of(parts: Iterable[str]) -> tuple[Lines, Lines]:
    """The lines of our sections: ours, and those of a person."""
    own, theirs = ({title: list[str]() for title in _OURS} for _ in range(2))
    for title, _, body in (part.partition("\n") for part in parts):
        for line in filter(str.strip, body.split("\n") if title.rstrip() in _OURS else ()):
            (own if _OURS[title.rstrip()].fullmatch(line) else theirs)[title.rstrip()].append(line)
    return own, theirs


def _page(rest: str, own: Lines, theirs: Lines) -> str:
    """The page; nothing where there is nothing to say."""
    gaps = {title: "\n\n" if title == SUMMARY else "\n" for title in _OURS}
    sections = [
        f"{title}\n\n{gap.join([*own[title], *theirs[title]])}"
        for title, gap in gaps.items()
        if own[title] or theirs[title]
    ]
    return "\n\n".join([rest.rstrip() or EVOLUTION.rstrip(), *sections]) + "\n" if rest or sections else ""


def _words(insights: Iterable[str]) -> list[str]:
    return [match[2] for line in insights if (match := _OURS[INSIGHTS].fullmatch(line))]


def _fold(own: Lines, log: Sequence[Reflected], limit: int, summarise: Summarise) -> bool:
    """Take the oldest reflection's insights, else the oldest summary, into one paragraph; False if none is left."""
    folded = next(filter(None, map(_FOLDED.fullmatch, own[SUMMARY])), None)
    kept = [line for line in own[SUMMARY] if not _FOLDED.fullmatch(line)]
    numbers = [int(match[1]) for line in own[INSIGHTS] if (match := _OURS[INSIGHTS].fullmatch(line))]
    first, last = (int(folded[1]), int(folded[2])) if folded else (numbers or [1])[-1:] * 2
    # The insights of the last reflection stay as they are, however long.
    if numbers and numbers[-1] != numbers[0]:
        last, count = numbers[-1], numbers.count(numbers[-1])
        told, own[INSIGHTS] = _words(own[INSIGHTS][-count:]), own[INSIGHTS][:-count]
    elif kept:
        told = [kept.pop()]
    else:
        return False
    counted = _topics([each for each in log if first <= each.number <= last])
    words = summarise([counted, *told, folded[3] if folded else ""], limit)
    own[SUMMARY] = [*kept, f"**Reflections {first} to {last}**: {words}"]
    return True


def _threads(log: Sequence[Reflected]) -> Iterator[str]:
    """What comes up again and again."""
    for topic, count in _often(each.topics for each in log):
        yield f"- {_line(topic)} — in {count} of the last {len(log)} reflections"
    for question, count in _often(each.questions for each in log):
        yield f"- {_line(question)} — asked in {count} reflections"


def _often(given: Iterable[Sequence[str]], least: int = 2) -> list[tuple[str, int]]:
    counts = Counter(each for group in given for each in dict.fromkeys(group))
    return [(each, count) for each, count in counts.most_common(NAMED) if count >= least]


def _topics(log: Sequence[Reflected], words: str = "Mostly about {}. ") -> str:
    found = _often((each.topics for each in log), 2 if len(log) > 2 else 1)
    return words.format(", ".join(f"{topic} ({count})" for topic, count in found)) if found else ""


def _milestone(number: int, log: Sequence[Reflected]) -> str:
    """What the log shows at a milestone."""
    outcomes, half = Counter(each.outcome for each in log), len(log) // 2
    counts = sum((Counter(each.counts) for each in log), Counter[str]())
    told = _topics(log)
    if number >= 50:
        told += _topics(log[:half], "At first it was {}; ") + _topics(log[half:], "lately it is {}. ")
    elif number == 25:
        told += _topics(log[-LATELY:], "What goes on: {}. ")
    if asked := [question for question, _ in _often(each.questions for each in log)]:
        told += f"Asked again and again: {' '.join(asked)} "
    if applied := ", ".join(f"{verb} {count}" for verb, count in counts.most_common()):
        told += f"Applied: {applied}. "
    return f"{told}Of {len(log)}, {', '.join(f'{count} {outcome}' for outcome, count in outcomes.most_common())}."


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
    return any(mark in refused for mark in ReflectionItem(verb=ReflectionVerb.LEARN, text=text).marks)


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
    """Why a reflection is due; None where none is, while one waits, and where nothing has come since the last."""
    settings, lines = vault.config.reflection, reviews(vault, agent)
    line = waiting(lines)
    if not settings.enabled or (line and vault.page(line["page"])):
        return None
    since = looked(lines) or EPOCH
    wanted = Filter(forms=("memory",), since=since)
    found = [each.item for each in index.read(lambda db: newest(db, wanted, settings.threshold))]
    fresh = [item.created_at for item in found if item.source != REFLECTION and item.created_at > since]
    if len(fresh) >= settings.threshold:
        return f"{len(fresh)} entries or more since the last reflection"
    for line in state_lines(vault, agent, Op.SESSION) if settings.session and fresh else ():
        turns, at = len(str(line.get("read", ""))) // MARK, moment(line.get("at"))
        if turns >= settings.session and at and at > since:
            return f"a conversation of {turns} turns ended"
    return "its time of the day has come" if min(fresh, default=now) < due_hour(vault, now) else None


def due_hour(vault: Vault, now: datetime) -> datetime:
    """When the jobs of a day last fell due."""
    here = local(now, vault.home.zone)
    mark = here.replace(hour=vault.config.tend.hour, minute=0, second=0, microsecond=0)
    return mark if mark <= here else mark - timedelta(days=1)
