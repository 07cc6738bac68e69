"""What a digest says, as Markdown, and its page. Pure: no text of a memory can break out of its line.

Ours is what stands between the two marks of the page, and a line of the front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from memfolio.index.passages import front_matter
from memfolio.sources import PATTERN
from memfolio.tend.digest.gist import Gist, Line
from memfolio.tend.digest.period import MONTHLY, NOUNS, QUARTERLY, WEEKLY, Period, parts
from memfolio.tend.digest.themes import Theme, recurring, themes, trends
from memfolio.tend.extract import extract
from memfolio.tend.ours import BEGIN, marked
from memfolio.tend.ours import renewed as with_ours
from memfolio.text import counted
from memfolio.types import Type

THEMES = 12
MOST = {WEEKLY: 8, MONTHLY: 10, QUARTERLY: 12}
"""Decisions; of the other sections, half as many lines."""
HIGHLIGHTS = {WEEKLY: 4, MONTHLY: 4, QUARTERLY: 6}
"""Lines of each day, week or month."""
HIGHLIGHT_TOKENS = 300
CANDIDATES = 3
"""How many times as many of the most important lines of a week or month these are chosen from."""
SECTIONS = {
    "Key Decisions": Type.DECISION.value,
    "Outcomes": Type.OUTCOME.value,
    "Lessons": Type.LESSON.value,
    "Errors": Type.ERROR.value,
    "Patterns": PATTERN,
}
PARTS = {WEEKLY: "Days", MONTHLY: "Weeks", QUARTERLY: "Months"}

_MARKUP = re.compile(r"(?:[\s>#*+|=`~-]|\d+[.)](?=\s|$))+")
"""What begins a block of Markdown, however often."""
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
        *((title, list(_told(gists, name, MOST[period.level]))) for title, name in SECTIONS.items()),
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


def _told(gists: Sequence[Gist], name: str, most: int) -> Iterator[str]:
    """The most important of what was decided, learned and so on, in the order of the days."""
    limit = most if name == Type.DECISION else most // 2
    said = {line.text: (gist.day, line) for gist in reversed(gists) for line in reversed(gist.told.get(name, ()))}
    found = list(reversed(said.values()))  # each thing once, where it was said first
    best = sorted(range(len(found)), key=lambda at: (-found[at][1].weight, at))[:limit]
    for day, line in (found[at] for at in sorted(best)):
        yield f"- {_link(day)} {inline(str(line))}"
    if len(found) > limit:
        yield f"- and {len(found) - limit} more"


def _trends(period: Period, gists: Sequence[Gist], before: Sequence[Gist], found: Mapping[str, Theme]) -> Iterator[str]:
    if not before or not gists or period.before is None:
        return
    here, there = (sum(gist.memories for gist in each) for each in (gists, before))
    yield f"- Memories: {there} → {here} since [[{period.before.name}]]"
    for name, listed in trends(found, themes(before)):
        if listed:
            yield f"- {name}: {', '.join(map(inline, listed))}"


def _parts(period: Period, gists: Sequence[Gist]) -> Iterator[str]:
    by_day = {gist.day: gist for gist in gists}
    for number, (name, days) in enumerate(parts(period, by_day).items()):
        weekday = f" {days[0]:%A}" if period.level == WEEKLY else ""
        yield "\n" * (number > 0) + f"### [[{name}]]{weekday}\n"
        lines = [line for day in days for line in by_day[day].highlights]
        yield from (f"- {inline(str(line))}" for line in _best(lines, HIGHLIGHTS[period.level]))


def _best(lines: Sequence[Line], limit: int) -> Iterable[Line]:
    if len(lines) <= limit:
        return lines
    best = sorted(range(len(lines)), key=lambda at: (-lines[at].weight, at))[: CANDIDATES * limit]
    tried = [lines[at] for at in sorted(best)]
    weights = [line.weight for line in tried]
    chosen = extract([line.text for line in tried], limit=limit, tokens=HIGHLIGHT_TOKENS, weights=weights)
    return [tried[at]._replace(text=words) for at, words in chosen]


def _link(day: date) -> str:
    return f"[[{day.isoformat()}]]"


def built_from(text: str) -> str:
    """The hash of what a page says that it was built from."""
    match = _BUILT_FROM.search(text.partition(BEGIN)[0])
    return (match[1] if match else "") or NOTHING


def new_page(period: Period, body: str, source: str) -> str:
    """The page of a digest that has none yet."""
    head = f"title: {period.name}\nfirst: {period.first}\nlast: {period.last}\nmade_by: memfolio\nbuilt_from: {source}"
    return f"---\n{head}\n---\n{marked(body)}\n"


def renewed(text: str, body: str, source: str) -> str:
    """A page that is ours with another digest; what a person wrote around it stays."""
    line = f"built_from: {source}"
    before, mark, rest = with_ours(text, body).partition(BEGIN)
    before, count = _BUILT_FROM.subn(line, before, count=1)
    _, end = front_matter(before)
    if not count:
        before = f"{before[:end]}{line}\n{before[end:]}" if end else f"---\n{line}\n---\n{before}"
    return before + mark + rest
