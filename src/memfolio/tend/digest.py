"""Digests: the gist of a day, and pages for weeks, months and quarters, updated when their days change."""

from __future__ import annotations

import json
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from datetime import UTC, date, time, timedelta, tzinfo
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from memfolio.errors import InputError, PageChangedError
from memfolio.index import maintenance as index_days
from memfolio.index.index import Index
from memfolio.index.maintenance import CONCLUDED, DAY_SUMMARY, SUMMARY, DayMark, DayMemory, local_day
from memfolio.llm.model import Model
from memfolio.recall.dates import upcoming
from memfolio.state import Op
from memfolio.stores.flush import said_in
from memfolio.tend.changes import JobChanges, tender
from memfolio.tend.extract import extract, is_offer, is_secret, key_of, sentences_of, shortened, stands_alone
from memfolio.text import counted, encoded, terms
from memfolio.types import LEARNED, PATTERN, Action, Type, frozen
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, Page, PutPage
from memfolio.vault.fields import Draft, local, moment_of
from memfolio.vault.paths import agent_root, state_ledger
from memfolio.vault.sections import BEGIN, front_matter, is_ours, marked, renewed

# Weeks, months and quarters: which days they have, and what they are called. Pure.

WEEKLY, MONTHLY, QUARTERLY = "weekly", "monthly", "quarterly"
LEVELS = (WEEKLY, MONTHLY, QUARTERLY)
NOUNS = {WEEKLY: "week", MONTHLY: "month", QUARTERLY: "quarter"}


@frozen
class Period:
    """A week, month or quarter; both days belong to it."""

    level: str
    name: str
    first: date
    last: date

    def path(self, agent: str) -> str:
        return f"{agent_root(agent)}/memory/{self.level}/{self.name}.md"

    @property
    def before(self) -> Period | None:
        """The previous period; None at the beginning of the calendar."""
        return None if self.first == date.min else period_of(self.level, self.first - timedelta(days=1))

    def has(self, day: date) -> bool:
        return self.first <= day <= self.last


def period_of(level: str, day: date) -> Period:
    """The period of a level to which a day belongs; weeks are those of ISO 8601."""
    if level == WEEKLY:
        year, week, weekday = day.isocalendar()
        first = day - timedelta(days=weekday - 1)
        last = first + min(timedelta(days=6), date.max - first)
        return Period(level=level, name=f"{year:04d}-W{week:02d}", first=first, last=last)
    months = 1 if level == MONTHLY else 3
    first = day.replace(month=day.month - (day.month - 1) % months, day=1)
    end = first.month + months - 1
    name = f"{day.year:04d}-{end:02d}" if level == MONTHLY else f"{day.year:04d}-Q{end // 3}"
    return Period(level=level, name=name, first=first, last=first.replace(month=end, day=monthrange(day.year, end)[1]))


def period_named(level: str, name: str) -> Period | None:
    """Return the period of a level with this name, if there is one."""
    year, number = name[:4], name[5:].lstrip("WQ")
    try:
        if level == WEEKLY:
            first = date.fromisocalendar(int(year), int(number), 1)
        else:
            first = date(int(year), int(number) if level == MONTHLY else 3 * int(number) - 2, 1)
    except ValueError:
        return None
    found = period_of(level, first)
    return found if found.name == name else None


def parts(period: Period, days: Iterable[date]) -> dict[str, list[date]]:
    """What a digest tells one by one, by the name of the page below it: days, weeks (of a month its days), months."""
    below = {MONTHLY: WEEKLY, QUARTERLY: MONTHLY}.get(period.level)
    found: dict[str, list[date]] = {}
    for day in days:
        found.setdefault(period_of(below, day).name if below else day.isoformat(), []).append(day)
    return found


# The gist of a day: what it was about, what was decided and learned, and its best sentences. Pure.

FORM = "6"
"""Version of the gist format; a new one makes all gists be made again."""
LONGEST_LINE = 2000
"""Memories of a day that are read, the most important."""
TYPES_TOLD = (Type.DECISION, Type.OUTCOME, Type.LESSON, Type.ERROR, Type.TASK)
KNOWN = "known"
"""What conversations taught about entities, beside the types with sections of their own."""
HAPPENED = "happened"
"""The events that conversations told of."""
CHANGED = "changed"
"""What they taught that replaced what was known."""
WEIGHTY = frozenset({Type.DECISION, Type.OUTCOME, Type.LESSON, Type.ERROR, Type.CORRECTION})
TERMS, DAY_THEMES, LINES, DAY_HIGHLIGHTS = 8, 30, 5, 5
LINE_TOKENS, DAY_HIGHLIGHT_TOKENS = 40, 200
REPLY = 0.4
"""The weight of an assistant's sentence: most repeat or comment on what a person said."""
REPORTS = ("done", "findings", "decisions")
"""Kinds of an assistant's sentences that a digest may quote."""
SOURCES = 2
"""How many sources a line names beside its memory."""
TAG, NAME, WORD = 1, 2, 3
LONGEST = 80
"""Characters of a theme's name."""


class DigestLine(NamedTuple):
    """Something worth repeating, the memories that say it, and how much it counts."""

    ids: Sequence[str]
    text: str
    weight: float = 1.0
    speaker: str = ""

    def __str__(self) -> str:
        return f"{self.speaker and f'{self.speaker}: '}{self.text} ({', '.join(self.ids)})"


@frozen
class Gist:
    """The gist of a day."""

    day: date
    memories: int
    sessions: tuple[str, ...] = ()
    themes: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)
    """What it was about: by a key the name, the number of memories, and what it is (`TAG`, `NAME` or `WORD`)."""
    told: Mapping[str, tuple[DigestLine, ...]] = field(default_factory=dict)
    """Decisions, outcomes, lessons, errors, tasks, patterns and new knowledge, by type."""
    highlights: tuple[DigestLine, ...] = ()

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "day": self.day.isoformat()}, separators=(",", ":"))

    @classmethod
    def from_json(cls, data: str) -> Gist:
        fields = json.loads(data)
        return cls(
            day=date.fromisoformat(fields["day"]),
            memories=fields["memories"],
            sessions=tuple(fields["sessions"]),
            themes={key: (name, count, rank) for key, (name, count, rank) in fields["themes"].items()},
            told={name: tuple(DigestLine(*line) for line in lines) for name, lines in fields["told"].items()},
            highlights=tuple(DigestLine(*line) for line in fields["highlights"]),
        )


def gist_of(day: date, found: Sequence[DayMemory], count: int) -> Gist:
    """The gist of a day of `count` memories, of which these were read."""
    by_type: dict[str, list[DayMemory]] = {name: [] for name in (*TYPES_TOLD, PATTERN, HAPPENED, CHANGED, KNOWN)}
    for each in found:
        if (section := _section_of(each)) and not is_secret(each.content):
            by_type[section].append(each)
    safe = list(chain.from_iterable(by_type.values()))
    episodes = [each for each in found if each.source not in CONCLUDED]
    return Gist(
        day=day,
        memories=count,
        sessions=tuple(sorted({each.session for each in episodes if each.session})),
        themes=themes_of(episodes),
        told={str(name): _lines(each) for name, each in by_type.items() if each},
        highlights=highlights_of(unconcluded(episodes, safe)),
    )


def _section_of(memory: DayMemory) -> str | None:
    """Return the section of a memory in a digest; None if it can only be a highlight."""
    if memory.source == PATTERN:
        return PATTERN
    if memory.type in TYPES_TOLD:
        return memory.type.value
    if memory.source != LEARNED:
        return None
    return HAPPENED if memory.type is Type.EVENT else CHANGED if memory.before else KNOWN


def _lines(found: Sequence[DayMemory]) -> tuple[DigestLine, ...]:
    best = sorted(found, key=lambda each: -each.importance)[:LINES]
    return tuple(_line_with_history(each) for each in best)


def _line_with_history(memory: DayMemory) -> DigestLine:
    """A memory with what it replaced and what became of it, and their ids: it goes when one of them is forgotten."""
    line = line_of(memory, memory.content, memory.importance)
    others = {"before": memory.before, "later": memory.after}
    told = [f"{name}: {shortened(other[1], LINE_TOKENS).rstrip('.')}" for name, other in others.items() if other]
    if not told:
        return line
    ids = dict.fromkeys((*line.ids, *(other[0] for other in others.values() if other)))
    return line._replace(ids=tuple(ids), text=f"{line.text.rstrip('.')} ({'; '.join(told)})")


def line_of(memory: DayMemory, words: str, weight: float = 1.0) -> DigestLine:
    """Render text of a memory as a line with its speaker and ids."""
    return DigestLine(cited(memory), shortened(words, LINE_TOKENS), round(weight, 3), memory.speaker)


def cited(memory: DayMemory) -> tuple[str, ...]:
    """Return the ids that a line about a memory cites: a learned one also cites its sources."""
    return (memory.id, *memory.sources[:SOURCES]) if memory.source == LEARNED else (memory.id,)


def unconcluded(episodes: Iterable[DayMemory], found: Iterable[DayMemory]) -> list[DayMemory]:
    """Return episodes from which nothing was learned that is listed anyway."""
    sources = {source for each in found if each.source == LEARNED for source in each.sources}
    return [each for each in episodes if each.id not in sources]


def highlights_of(episodes: Sequence[DayMemory]) -> tuple[DigestLine, ...]:
    """Return the sentences that represent a day's memories best, weighted by importance."""
    told = [each for each in episodes if not each.is_replaced]
    episodes = [each for each in told if not each.is_machine or _reports(each)] or told
    weights = [_weight(each) for each in episodes]
    texts = [each.content for each in episodes]
    found = extract(texts, limit=3 * DAY_HIGHLIGHTS, tokens=2 * DAY_HIGHLIGHT_TOKENS, weights=weights)
    telling = [(at, words) for at, words in found if stands_alone(words)]
    chosen = [(at, words) for at, words in telling if not (episodes[at].is_machine and is_offer(words))]
    return tuple(line_of(episodes[at], words, weights[at]) for at, words in chosen[:DAY_HIGHLIGHTS])


def _reports(memory: DayMemory) -> bool:
    """Whether a machine says what it did, found or decided; of the rest, most only comments on what people said."""
    return any(True for kind in REPORTS for _ in said_in(memory.content, kind))


def _weight(memory: DayMemory) -> float:
    worth = (0.5 + memory.importance) * (1.5 if memory.type in WEIGHTY else 1.0)
    return REPLY * worth if memory.is_machine else worth


def themes_of(episodes: Sequence[DayMemory]) -> dict[str, tuple[str, int, int]]:
    """Return themes: tags, entities, and the most characteristic words."""
    counts: Counter[str] = Counter()
    names: dict[str, tuple[int, str]] = {}
    for memory in [each for each in episodes if not each.is_machine] or episodes:
        found = dict(_themes(memory))
        counts.update(found.keys())
        for key, named in found.items():
            names[key] = min(names.get(key, named), named)
    best = sorted(counts, key=lambda key: (-counts[key] * (1 + WORD - names[key][0]), key))[:DAY_THEMES]
    return {key: (names[key][1], counts[key], names[key][0]) for key in best}


def _themes(memory: DayMemory) -> Iterator[tuple[str, tuple[int, str]]]:
    """Each theme by its key, with its name and how little that is to be preferred; a dictionary keeps the last."""
    told = " ".join(sentences_of(memory.content))
    for term in terms(told, limit=TERMS):
        word = term.replace(" ", "")
        # A phrase of ASCII words is the same identifier again, in its parts.
        is_telling = len(term) > 2 and not (" " in term and term.isascii()) and not word.isdecimal()
        if is_telling and not _is_filler(word):
            yield key_of(word), (WORD, word)
    named = (name for name in memory.names if not _is_filler(name) and name.casefold() in told.casefold())
    yield from ((key_of(name), (NAME, name[:LONGEST])) for name in named)
    yield from ((key_of(tag), (TAG, tag[:LONGEST])) for tag in memory.tags)


@lru_cache(maxsize=4096)
def _is_filler(word: str) -> bool:
    """Whether a word is no theme: small talk, a number, a name of a day or month, an adverb, or a verb.

    Verbs in `-ing` are as often nouns.
    """
    from memfolio.learn.clauses import is_small_talk
    from memfolio.learn.words import lemma_of, words
    from memfolio.recall.dates import calendar_words

    low = word.casefold()
    if low in calendar_words() or not low.strip("0123456789.,:-/v") or is_small_talk(low):
        return True
    if any(low in words(name) for name in ("chatter", "adverbs", "auxiliaries")):
        return True
    return lemma_of(low) != "" and not low.endswith("ing")


# What a period was about, and how that differs from the one before. Pure.

NOTABLE = 3
"""By how many memories a theme must have grown or shrunk, at least, to be a trend; and it must be twice as many."""
TRENDS = 6
WORDS = 4
"""The most themes that are mere words: people, projects and tags say more."""
EVERYWHERE = 3
"""A word in more than one of this many memories says nothing about them."""


class Theme(NamedTuple):
    """A theme: the number of its memories and days."""

    key: str
    name: str
    rank: int
    memories: int
    days: int


def themes(gists: Iterable[Gist]) -> dict[str, Theme]:
    """The themes of these days by their keys."""
    found: dict[str, Theme] = {}
    for gist in gists:
        for key, (name, count, rank) in gist.themes.items():
            old = found.get(key, Theme(key, name, rank, 0, 0))
            name, rank = (name, rank) if rank < old.rank else (old.name, old.rank)
            found[key] = Theme(key, name, rank, old.memories + count, old.days + 1)
    return found


def recurring(found: Mapping[str, Theme], total: int, limit: int) -> list[Theme]:
    """The themes on several days, or else in several memories; tags and names before words, the most frequent first."""
    most = max(NOTABLE, total / EVERYWHERE)
    apart = [each for each in found.values() if each.rank < WORD or each.memories <= most]
    several = [each for each in apart if each.days > 1] or [each for each in apart if each.memories > 1]
    ranked = sorted(several, key=lambda each: (each.rank == WORD, -each.days, -each.memories, each.key))
    mere_words = [each for each in ranked if each.rank == WORD]
    best = [*ranked[: len(ranked) - len(mere_words)], *mere_words[:WORDS]][:limit]
    return sorted(best, key=lambda each: (-each.days, -each.memories, each.key))


def trends(now: Mapping[str, Theme], before: Mapping[str, Theme]) -> Iterator[tuple[str, Sequence[str]]]:
    """What came, went, rose and fell, each with a few themes and their numbers of memories, the greatest first."""
    changes = [
        (now[key].memories if key in now else 0, before[key].memories if key in before else 0, theme.name)
        for key, theme in {**before, **now}.items()
    ]
    changes.sort(key=lambda change: (-abs(change[0] - change[1]), change[2]))
    notable = [each for each in changes if abs(each[0] - each[1]) >= NOTABLE and max(each[:2]) >= 2 * min(each[:2])]
    yield "New", [f"{name} ({here})" for here, there, name in notable if there == 0][:TRENDS]
    yield "Gone", [f"{name} ({there})" for here, there, name in notable if here == 0][:TRENDS]
    yield "More", [f"{name} ({there} → {here})" for here, there, name in notable if here > there > 0][:TRENDS]
    yield "Less", [f"{name} ({there} → {here})" for here, there, name in notable if there > here > 0][:TRENDS]


# What a digest says, as Markdown, and its page. Pure: no text of a memory can break out of its line.
#
# Ours is what stands between the two marks of the page, and a line of the front matter.

THEMES = 12
MOST_LINES = {WEEKLY: 8, MONTHLY: 10, QUARTERLY: 12}
"""Decisions; of the other sections, half as many lines."""
HIGHLIGHTS = {WEEKLY: 4, MONTHLY: 4, QUARTERLY: 6}
"""Lines of each day, week or month."""
SECTIONS = {
    "Key Decisions": Type.DECISION.value,
    "Outcomes": Type.OUTCOME.value,
    "Lessons": Type.LESSON.value,
    "Errors": Type.ERROR.value,
    "Happened": HAPPENED,
    "Changed": CHANGED,
    "Learned": KNOWN,
    "Open": Type.TASK.value,
    "Patterns": PATTERN,
}
PARTS = {WEEKLY: "Days", MONTHLY: "Weeks", QUARTERLY: "Months"}

_MARKUP = re.compile(r"(?:[\s>#*+|=`~-]|\d+[.)](?=\s|$))+")
"""Markdown at the beginning of a block."""
_CONTROL = dict.fromkeys((*range(32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)), " ")

NOTHING = "0" * 32
_BUILT_FROM = re.compile(r"^built_from:[ \t]*([0-9a-f]{32})?.*$", re.MULTILINE)


def inline(text: str) -> str:
    """A text that stays within its line: no tag, comment, image or block of Markdown begins in it."""
    line = " ".join(text.translate(_CONTROL).split())
    begin = _MARKUP.match(line)
    line = (line[begin.end() :] if begin else line) or "…"
    return line.replace("<", "&lt;").replace("](", "]\\(").replace("![", "!\\[")


def compose(period: Period, gists: Sequence[Gist], before: Sequence[Gist], paragraph: str = "") -> str:
    """The text of a digest of these days, in order, compared with the days of the period before."""
    found = themes(gists)
    key_themes = recurring(found, sum(gist.memories for gist in gists), THEMES)
    sections = [
        ("Overview", [*_overview(gists), *([f"\n{inline(paragraph)}"] if paragraph else [])]),
        ("Key Themes", list(map(_theme, key_themes))),
        *((title, list(_told(period, gists, name))) for title, name in SECTIONS.items()),
        ("Trends", list(_trends(period, gists, before, found))),
        (PARTS[period.level], list(_parts(period, gists))),
    ]
    title = f"# {NOUNS[period.level].capitalize()} {period.name}: {period.first} to {period.last}\n"
    written = (f"\n## {name}\n\n" + "\n".join(lines) + "\n" for name, lines in sections if lines)
    return title + "".join(written)


def _overview(gists: Sequence[Gist]) -> Iterator[str]:
    memories = sum(gist.memories for gist in gists)
    if not memories:
        yield "Nothing of this is remembered."
        return
    sessions = len({session for gist in gists for session in gist.sessions})
    talks = f" in {counted(sessions, 'conversation')}" if sessions else ""
    busiest = max(gists, key=lambda gist: gist.memories)
    most = f"; most on {_link(busiest.day)} ({busiest.memories})" if len(gists) > 1 else ""
    yield f"{counted(memories, 'memory', 'memories')} on {counted(len(gists), 'day')}{talks}{most}."


def _theme(theme: Theme) -> str:
    memories = counted(theme.memories, "memory", "memories")
    return f"- {inline(theme.name)}: {memories} on {counted(theme.days, 'day')}"


def _told(period: Period, gists: Sequence[Gist], name: str) -> Iterator[str]:
    """Yield the most important items of a section, in chronological order."""
    most = MOST_LINES[period.level]
    limit = most if name in (Type.DECISION, HAPPENED, CHANGED, KNOWN) else most // 2
    first_said = {line.text: (gist.day, line) for gist in reversed(gists) for line in reversed(gist.told.get(name, ()))}
    found = list(reversed(first_said.values()))  # each thing once, where it was said first
    if name == Type.TASK:
        found = [(day, line) for day, line in found if not _is_past(line.text, day, period.last)]
    kept = _best([line for _, line in found], limit)
    for day, line in found:
        if line in kept:
            yield f"- {_link(day)} {inline(str(line))}"
    if len(found) > limit:
        yield f"- and {len(found) - limit} more"


def _is_past(task: str, said: date, day: date) -> bool:
    """Whether the day for which something was planned is over."""
    due = upcoming(task, moment_of(said, None, UTC), UTC)
    return due is not None and due.date() <= day


def _trends(period: Period, gists: Sequence[Gist], before: Sequence[Gist], found: Mapping[str, Theme]) -> Iterator[str]:
    if not before or not gists or period.before is None:
        return
    for name, listed in trends(_named(found), _named(themes(before))):
        if listed:
            yield f"- {name}: {', '.join(map(inline, listed))}"


def _named(found: Mapping[str, Theme]) -> dict[str, Theme]:
    """People, projects and tags: how often a mere word comes up tells nothing."""
    return {key: theme for key, theme in found.items() if theme.rank < WORD}


def _parts(period: Period, gists: Sequence[Gist]) -> Iterator[str]:
    by_day = {gist.day: gist for gist in gists}
    is_first = True
    for name, days in parts(period, by_day).items():
        lines = [line for day in days for line in by_day[day].highlights]
        if not lines:
            continue
        weekday = f" {days[0]:%A}" if period.level == WEEKLY else ""
        yield "\n" * (not is_first) + f"### [[{name}]]{weekday}\n"
        is_first = False
        yield from (f"- {inline(str(line))}" for line in _best(lines, HIGHLIGHTS[period.level]))


def _best(lines: Sequence[DigestLine], limit: int) -> list[DigestLine]:
    """The lines of most weight, in their order."""
    best = sorted(range(len(lines)), key=lambda at: (-lines[at].weight, at))[:limit]
    return [lines[at] for at in sorted(best)]


def _link(day: date) -> str:
    return f"[[{day.isoformat()}]]"


def built_from(text: str) -> str:
    """Return the hash of a page's sources, as recorded on it."""
    match = _BUILT_FROM.search(text.partition(BEGIN)[0])
    return (match[1] if match else "") or NOTHING


def new_page(period: Period, body: str, source: str) -> str:
    """The page of a digest that has none yet."""
    head = f"title: {period.name}\nfirst: {period.first}\nlast: {period.last}\nmade_by: memfolio\nbuilt_from: {source}"
    return f"---\n{head}\n---\n{marked(body)}\n"


def renewed_page(text: str, body: str, source: str) -> str:
    """Return our page with another digest; text that a person wrote around it stays."""
    line = f"built_from: {source}"
    before, mark, rest = renewed(text, body).partition(BEGIN)
    before, count = _BUILT_FROM.subn(line, before, count=1)
    _, end = front_matter(before)
    if not count:
        before = f"{before[:end]}{line}\n{before[end:]}" if end else f"---\n{line}\n---\n{before}"
    return before + mark + rest


# Building digests: which periods are missing or differ from their days, and one change that puts them right.

DIGEST_JOB = "digest"
PARAGRAPH = 150
"""The length of a model's paragraph in tokens."""


@frozen
class Built:
    """The pages that were written, those that were left alone because a person changed them, and how many are fresh."""

    paths: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    fresh: int = 0


def build(
    changes: JobChanges,
    index: Index,
    *,
    levels: Sequence[str] = LEVELS,
    since: date | None = None,
    current: bool = False,
    model: Model | None = None,
) -> Built:
    """Write the digests that differ from their days, or are missing from periods that are over, all as one change.

    With `since`, only of periods that end on that day or later; with `current`, also the first of one that is not over.
    A digest that a person changed is left alone. With a model, the overview has a paragraph that it wrote.
    """
    if unknown := next((level for level in levels if level not in LEVELS), None):
        raise InputError(f"{unknown[:40]!r} is no level of digests", hint=f"use {', '.join(LEVELS)}")
    builder = _Builder(changes, index, model)
    for level in levels:
        builder.look(level, since=since, current=current)
    return builder.finish()


class _Builder:
    """Collects the pages to write; gists of days are read once, and made if missing."""

    def __init__(self, changes: JobChanges, index: Index, model: Model | None) -> None:
        self._changes, self._index, self._model = changes, index, model
        self._zone = changes.vault.home.zone
        self._marks = index.read(partial(index_days.marks, zone=self._zone))
        self._gists: dict[tuple[date, str], Gist] = {}
        self._pages: list[PutPage] = []
        self._edited: list[str] = []
        self._fresh = 0

    def look(self, level: str, *, since: date | None, current: bool) -> None:
        """Compose whatever of a level is not as it should be."""
        periods, today = self._periods(level), local_day(self._changes.now, self._zone)
        changed: set[Period] = set()
        for period, days in periods.items():
            page = self._changes.vault.page(period.path(self._changes.agent))
            is_due = page or period.last < today or (current and period.has(today))
            if not is_due or (since is not None and period.last < since):
                continue
            source = _source(self._marks[day] for day in days)
            # What was archived before a digest is written does not enter it.
            is_missing = page is None and any(self._marks[day].shown for day in days)
            if is_missing or (page and built_from(page.text) != source):
                changed.add(period)
            if period in changed or (page and period.before in changed):
                self._compose(period, page, source, days, periods.get(period.before, []) if period.before else [])
            else:
                self._fresh += page is not None

    def _periods(self, level: str) -> dict[Period, list[date]]:
        """Return the periods with memories, or with a digest of them, in order."""
        names = self._index.read(lambda connection: index_days.digest_names(connection, level))
        found: dict[Period, list[date]] = {each: [] for name in names if (each := period_named(level, name))}
        for day in self._marks:
            found.setdefault(period_of(level, day), []).append(day)
        return dict(sorted(found.items(), key=lambda each: each[0].first))

    def _compose(
        self, period: Period, page: Page | None, source: str, days: Sequence[date], before: Sequence[date]
    ) -> None:
        path = period.path(self._changes.agent)
        if page and not is_ours(page.text):
            self._edited.append(path)
            self._changes.notes.append(f"{path} was changed by hand and is left as it is")
            return
        # What has been archived since a digest was written stays in it.
        gists = self._fetch(days, with_archived=page is not None)
        body = compose(period, gists, self._fetch(before, with_archived=True), self._paragraph(gists))
        text = renewed_page(page.text, body, source) if page else new_page(period, body, source)
        if page is None or text != page.text:
            self._pages.append(PutPage.over(page, path, encoded(text)))

    def _fetch(self, days: Iterable[date], *, with_archived: bool) -> list[Gist]:
        """The gists of those of these days that have memories."""
        wanted = {day: self._key(day, with_archived) for day in days if self._count(day, with_archived)}
        missing = {day: key for day, key in wanted.items() if (day, key) not in self._gists}
        kept = self._index.read(lambda connection: index_days.gists(connection, missing)) if missing else {}
        made: list[tuple[date, str, str]] = []
        for day, key in missing.items():
            gist = Gist.from_json(kept[day]) if day in kept else self._make(day, with_archived)
            self._gists[day, key] = gist
            made += [] if day in kept else [(day, key, gist.to_json())]
        if made:
            self._index.write(lambda connection: index_days.keep_gists(connection, made))
        return [self._gists[each] for each in wanted.items()]

    def _make(self, day: date, with_archived: bool) -> Gist:
        read = partial(index_days.told, day=day, zone=self._zone, limit=LONGEST_LINE, with_archived=with_archived)
        return gist_of(day, self._index.read(read), self._count(day, with_archived))

    def _count(self, day: date, with_archived: bool) -> int:
        return self._marks[day].memories if with_archived else self._marks[day].shown

    def _key(self, day: date, with_archived: bool) -> str:
        mark = self._marks[day]
        return f"{FORM} {mark.hash} {mark.archived if with_archived else 0}"

    def _paragraph(self, gists: Sequence[Gist]) -> str:
        """Return a model's paragraph; after one failure, it is not asked again."""
        model = self._model
        if model is None or not gists:
            return ""
        from memfolio.llm.model import sum_up

        lines = chain.from_iterable((*chain.from_iterable(gist.told.values()), *gist.highlights) for gist in gists)
        texts = [line.text for line in lines]
        found = self._changes.ask(lambda: sum_up(model, texts, PARAGRAPH), "digests have no written overview")
        self._model = None if found is None else model
        return found or ""

    def finish(self) -> Built:
        """Write all pages as one change, if there are any."""
        paths: tuple[str, ...] = tuple(page.path for page in self._pages)
        if paths:
            line = {"op": Op.JOB.value, "job": DIGEST_JOB, "pages": len(paths)}
            operations: tuple[Operation, ...] = (*self._pages, AddLines(state_ledger(self._changes.agent), (line,)))
            action = Action.CREATE if all(page.expects is None for page in self._pages) else Action.EDIT
            try:
                self._changes.make(Change(operations=operations, by=tender(DIGEST_JOB), action=action))
            except PageChangedError as error:  # a person or another process was quicker: the next run looks again
                self._changes.notes.append(f"no digest was written: {error.message}")
                paths = ()
        return Built(paths=paths, edited=tuple(self._edited), fresh=self._fresh)


def _source(marks: Iterable[DayMark]) -> str:
    """Return a hash of some days; archiving memories does not change it."""
    hashes = "".join(mark.hash for mark in marks)
    return blake2b(hashes.encode(), digest_size=16).hexdigest() if hashes else NOTHING


# Closing days: one entry at the end of a day's log that says what the day was about.

DAY_JOB = "day"
FEWEST = 5
"""Memories that a day must have to be summed up."""
AT_ONCE = 400
"""Days that are closed in one run."""
CITED = 12
SUMMARY_LINES, SUMMARY_THEMES = 3, 5
DAY_END = time(23, 59, 59)
SECTIONED = frozenset({Type.DECISION, Type.ERROR, Type.TASK})


def close_days(changes: JobChanges, index: Index) -> list[date]:
    """Sum up every day that is over, has enough memories and no summary yet, all as one change; returns which."""
    zone = changes.vault.home.zone
    marks = index.read(partial(index_days.marks, zone=zone))
    closed = index.read(partial(index_days.summed_up, zone=zone))
    today = local_day(changes.now, zone)
    drafts: dict[date, Draft] = {}
    for day, mark in marks.items():
        if mark.shown >= FEWEST and day < today and str(day) not in closed and len(drafts) < AT_ONCE:
            found = index.read(partial(index_days.told, day=day, zone=zone, limit=LONGEST_LINE))
            draft = summary(day, found, zone, count=mark.shown)
            drafts |= {day: draft} if draft.derived_from else {}
    if not drafts:
        return []
    line = {"op": Op.JOB.value, "job": DAY_JOB, "days": len(drafts)}
    # Two processes that close the same days make the same change.
    key = changes.vault.home.key_mark(
        changes.agent, "\n".join((DAY_JOB, *(draft.content for draft in drafts.values())))
    )
    operations = (AddEntries(changes.agent, tuple(drafts.values())), AddLines(state_ledger(changes.agent), (line,)))
    made = changes.make(Change(operations=operations, by=tender(DAY_JOB), action=Action.APPEND, key=key))
    return list(drafts) if made or changes.dry_run else []


def summary(day: date, memories: Sequence[DayMemory], zone: tzinfo, *, count: int) -> Draft:
    """The closing entry of a day of `count` memories, of which these were read, in order."""
    found = [each for each in memories if each.source != PATTERN and not is_secret(each.content)]
    sections = {
        "Decisions": _of_type(found, Type.DECISION),
        "Errors": _of_type(found, Type.ERROR),
        "Highlights": _highlights(found),
        "For tomorrow": _of_type(found, Type.TASK),
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
        event_time=moment_of(day, DAY_END, zone),
        derived_from=tuple(cited),
        attributes={"day": day.isoformat()},
    )


def _opening(day: date, found: Sequence[DayMemory], zone: tzinfo, count: int) -> str:
    first, last = (f"{local(each.at, zone):%H:%M}" for each in (found[0], found[-1])) if found else ("", "")
    sessions = len({each.session for each in found if each.session})
    about = [name for name, times, rank in themes_of(found).values() if rank < WORD or times > 1][:SUMMARY_THEMES]
    topics = f" Topics: {', '.join(about)}." if about else ""
    talks = f" in {counted(sessions, 'conversation')}" if sessions else ""
    return f"Summary of {day:%A}, {day}: {count} memories{talks}, from {first} to {last}.{topics}"


def _of_type(found: Sequence[DayMemory], type_: Type) -> list[DigestLine]:
    """The most important memories of a type, in their order."""
    typed = [each for each in found if each.type is type_]
    best = sorted(typed, key=lambda each: -each.importance)[:SUMMARY_LINES]
    return [line_of(each, each.content) for each in typed if each in best]


def _highlights(found: Sequence[DayMemory]) -> Sequence[DigestLine]:
    """Return the best sentences of memories without a section of their own."""
    others = (each for each in found if each.type not in SECTIONED)
    return highlights_of(unconcluded(others, found))[:SUMMARY_LINES]


def sum_up_weeks(changes: JobChanges, index: Index, since: date) -> str:
    """Write the digests of weeks that ended since a day; how many, in words."""
    return counted(len(build(changes, index, levels=("weekly",), since=since).paths), "digest")
