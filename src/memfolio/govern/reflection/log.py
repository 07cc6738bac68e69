"""What reflections leave behind: the log of all of them, and the page on which understanding grows. Pure.

On `evolution.md` ours are the insights, each in a line with its reflection, the threads that end with how often they
came up, and the paragraphs of the summary that begin with what they are about. All other lines are a person's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date

from memfolio.govern.reflection.item import Insights, Reflected
from memfolio.text import estimate_tokens

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
    told = {name: _line(getattr(insights, name)) for name in ("learning", "understanding", "theme")}
    own[INSIGHTS][:0] = [f"- Reflection {this.number}, {name}: {words}" for name, words in told.items() if words]
    own[THREADS] = list(_threads(log[-LATELY:]))
    if title := MILESTONES.get(this.number, MILESTONES[100] if this.number % 100 == 0 else ""):
        words = summarise([_milestone(this.number, log), *_words(own[INSIGHTS])], limit // 8)
        own[SUMMARY].insert(0, f"**{title}, after {this.number} reflections** ({this.at}): {words}")
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
