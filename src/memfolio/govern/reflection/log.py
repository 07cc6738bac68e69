"""What reflections leave behind: the log of all of them, and the page on which understanding grows. Pure.

On `evolution.md` ours are the insights by reflection, the bullets about threads that end with how often they came up,
and the paragraphs of the summary that begin with what they are about. All other lines are a person's, and stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date

from memfolio.govern.reflection.item import Insights, Reflected
from memfolio.text import estimate_tokens

TITLE = "# Reflection Log\n"
EVOLUTION = "# Evolution\n"
SUMMARY, THREADS, INSIGHTS = TITLES = ("## Summary", "## Active Threads", "## Insights")
MILESTONES = {10: "What recurs", 25: "Threads", 50: "What has changed", 100: "Looking back"}
LATELY = 10
"""How many reflections a thread is looked for in."""
NAMED = 5
"""How many topics are named."""
_ENTRY = re.compile(r"## Reflection (\d{1,9}) — (\d{4}-\d\d-\d\d), (approved|partly approved|rejected)\s*")
_FIELD = re.compile(r"- (Applied|About|Asked): (.*)")
_COUNT = re.compile(r"(\w+) (\d{1,9})")
_BLOCK = re.compile(r"### Reflection (\d{1,9}) — .*")
_INSIGHT = re.compile(r"- (Learning|Understanding|Theme): (.*)")
_THREAD = re.compile(r"- .* — (?:in \d+ of the last \d+ reflections|asked in \d+ reflections)")
_OURS = re.compile(r"\*\*(?:Reflections \d+ to \d+\*\*: |.+, after \d+ reflections\*\* \().*")
_COUNTED = re.compile(r"Mostly about .*?\)\. ?")
_FOLDED = re.compile(r"\*\*Reflections (\d+) to (\d+)\*\*: (.*)")

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
    heads = [match for match in _ENTRY.finditer(text) if _day(match[2])]
    ends = [match.start() for match in heads[1:]] + [len(text)]
    return [_reflected(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=False)]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _reflected(head: re.Match[str], body: str) -> Reflected:
    fields: dict[str, list[str]] = {"Applied": [], "About": [], "Asked": []}
    for name, value in _FIELD.findall(body):
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
    page, this = _Evolution(text.replace("\r\n", "\n") or EVOLUTION), log[-1]
    page.add(this, insights)
    page.threads[:0] = _threads(log[-LATELY:])
    if title := MILESTONES.get(this.number, MILESTONES[100] if this.number % 100 == 0 else ""):
        told = summarise([_milestone(this.number, log), *page.insights], limit // 8)
        page.summaries.insert(0, f"**{title}, after {this.number} reflections** ({this.at}): {told}")
    while estimate_tokens(page.text) > limit and page.fold(log, limit // 4, summarise):
        pass
    return page.text


class _Evolution:
    """The page in its parts: a person's, and ours with their lines among them."""

    def __init__(self, text: str) -> None:
        parts = [(part.split("\n", 1)[0].rstrip(), part) for part in re.split(r"(?m)^(?=## )", text)]
        summary, threads, insights = (
            [line for head, part in parts if head == title for line in part.split("\n")[1:] if line.strip()]
            for title in TITLES
        )
        self._rest = "".join(part for head, part in parts if head not in TITLES).rstrip()
        self.summaries = [line for line in summary if _OURS.fullmatch(line)]
        self._noted = [line for line in summary if line not in self.summaries]
        self.threads = [line for line in threads if not _THREAD.fullmatch(line)]
        self._blocks: list[list[str]] = [[]]
        for line in insights:
            if _BLOCK.fullmatch(line):
                self._blocks.append([])
            self._blocks[-1].append(line)

    def add(self, of: Reflected, insights: Insights) -> None:
        told = {name: _line(getattr(insights, name.casefold())) for name in ("Learning", "Understanding", "Theme")}
        if lines := [f"- {name}: {text}" for name, text in told.items() if text]:
            self._blocks.insert(1, [f"### Reflection {of.number} — {of.at}", *lines])

    @property
    def insights(self) -> list[str]:
        return [match[2] for lines in self._blocks for line in lines if (match := _INSIGHT.fullmatch(line))]

    def fold(self, log: Sequence[Reflected], limit: int, summarise: Summarise) -> bool:
        """Take the oldest insights, else the oldest summary, into one paragraph; False where nothing is left to."""
        folded = next(filter(None, map(_FOLDED.fullmatch, self.summaries)), None)
        kept = [line for line in self.summaries if not _FOLDED.fullmatch(line)]
        first, last = (int(folded[1]), int(folded[2])) if folded else (0, 0)
        if len(self._blocks) > 2 and (block := self._blocks.pop()):
            told = [match[2] for line in block if (match := _INSIGHT.fullmatch(line))]
            self._noted += [line for line in block[1:] if not _INSIGHT.fullmatch(line)]
            last = int(_BLOCK.fullmatch(block[0])[1])  # type: ignore[index]
        elif kept:
            told = [kept.pop()]
        else:
            return False
        first, last = first or last or 1, last or 1
        counted = _topics([each for each in log if first <= each.number <= last])
        words = summarise([counted, *told, _COUNTED.sub("", folded[3]) if folded else ""], limit)
        self.summaries = [*kept, f"**Reflections {first} to {last}**: {words}"]
        return True

    @property
    def text(self) -> str:
        blocks = ["\n".join(lines) for lines in self._blocks if lines]
        own = {
            SUMMARY: "\n\n".join([*self.summaries, *(["\n".join(self._noted)] if self._noted else [])]),
            THREADS: "\n".join(self.threads),
            INSIGHTS: "\n\n".join(blocks),
        }
        return "\n\n".join([self._rest, *(f"{title}\n\n{words}" for title, words in own.items() if words)]) + "\n"


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
    told += f"Applied: {', '.join(f'{verb} {count}' for verb, count in counts.most_common())}. "
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
