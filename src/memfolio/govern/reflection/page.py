"""A reflection as values, its page and the log of all: proposals by number for a person to judge. Pure but for the log.

What a person changes on the page counts: words, lines of a difference, items that they delete. A line that begins with
`>` is a remark. Anything else that has no meaning is an error, so that nothing is dropped without a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple

from memfolio.clock import EPOCH
from memfolio.errors import ContentError
from memfolio.govern.proposals import state_lines
from memfolio.index.index import Index
from memfolio.index.lookup import newest
from memfolio.index.maintenance import MARK
from memfolio.index.search import Filter
from memfolio.state import Op, moment
from memfolio.text import counted, estimate_tokens, packaged_table, single_line
from memfolio.types import EMPTY, REFLECTION, Type, frozen
from memfolio.vault.fields import check_fraction, local
from memfolio.vault.sections import PageText
from memfolio.vault.vault import Vault

WORDS: Mapping[str, Any] = packaged_table("govern/data/reflection.toml")
_HIDING = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")


class ReflectionVerb(StrEnum):
    """What a proposal would do."""

    LEARN = "learn"
    """Remember `text`, which was extracted from `sources`, in the place of `memory` where that is given."""
    CONNECT = "connect"
    """Note that `subject` (an entity's id) is `predicate` to `object`."""
    MERGE = "merge"
    """Make one of the entities `subject` and `object`: the first stays."""
    ARCHIVE = "archive"
    """Move `memory` to the archive."""
    RESOLVE = "resolve"
    """Of two memories that contradict each other, `by` takes the place of `memory`."""
    CORE = "core"
    """In the block `text` of core memory, `removed` lines go and `added` ones come."""


LEARN, CONNECT, MERGE, ARCHIVE, RESOLVE, CORE = ReflectionVerb


@frozen
class ReflectionItem:
    """One proposal. Only the fields that its verb names count; `why` and `quotes` are for the reader."""

    verb: ReflectionVerb
    text: str = ""
    type: Type = Type.FACT
    confidence: float = 0.7
    sources: tuple[str, ...] = ()
    memory: str = ""
    by: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    why: str = ""
    quotes: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """The first words of the memories that it names, by id."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What tells it from others, whatever its words around; of core memory each line has one of its own.

        A proposal that somebody rejected is known again by them.
        """
        if self.verb is CORE:
            lines = [*(f"-{line}" for line in self.removed), *(f"+{line}" for line in self.added)]
            return tuple(_mark(self.verb, self.text, line) for line in lines)
        pair = (self.subject, self.object)
        # Which of two names is kept may change with the next mention.
        ends = sorted(pair) if self.verb is MERGE else pair
        memory = "" if self.verb is LEARN else self.memory  # the same words, whatever they replace
        return (_mark(self.verb, self.text, *ends, self.predicate, memory, self.by),)


@frozen
class Insights:
    """What the reflections of before and this one together show; empty where there is nothing to say."""

    learning: str = ""
    understanding: str = ""
    theme: str = ""


@frozen
class Findings:
    """The findings of a reflection: proposals, the most valuable of each verb first."""

    items: tuple[ReflectionItem, ...] = ()
    insights: Insights = field(default_factory=Insights)
    questions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    """What the time since the last reflection was about, most of all first."""
    looked_at: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many episodes, memories, entities … were looked through."""
    left_out: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """How many proposals of a verb there was no room for; they come with the next reflection."""
    notes: tuple[str, ...] = ()
    """What did not work as it should, such as a model that did not answer."""


QUOTE = 90
"""Characters of a quote."""


def one_line(text: str) -> str:
    """Words in one line, without signs that hide some of them or turn them round."""
    return " ".join(_HIDING.sub("", text).split())


def _mark(*parts: str) -> str:
    plain = (one_line(part.casefold()).rstrip(".") for part in parts)
    return blake2b("\0".join(plain).encode(), digest_size=12).hexdigest()


def quote(text: str, length: int = QUOTE) -> str:
    """The first words of a text, in one line."""
    line = single_line(text)
    return line if len(line) <= length else f"{line[: length - 1].rsplit(' ', 1)[0].rstrip(' ,;:')} …"


# The page.

SECTIONS = {ReflectionVerb(verb): title for verb, title in WORDS["sections"].items()}
"""What each verb stands under, the most consequential first."""
EVOLUTION, QUESTIONS = "🌱 Philosophical Evolution", "❓ Questions for You"
INSIGHTS: Mapping[str, str] = WORDS["titles"]
"""What each insight stands under."""
ABOUT, END = "About: ", "---"
HINT = "put it back, begin remarks with `> `, or delete the page and have it made anew with `memfolio reflect`"
_ACTIVE = re.compile(r"^(?:(?=#|`{3}|~{3}|>|[-*+=|])|\d+(?=[.)]))")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_NUMBERED = re.compile(r"(\d{1,6})[.)] +(.*)")
_DETAIL = re.compile(r"[-*] (from|instead of|see|why): (.*)")
_NAMED = re.compile(r".* \(([\w.-]+)\)")
_SIGNS = {"-": "removed", "+": "added"}
_FORMS = {
    CORE: re.compile(r"(?P<text>.+)"),
    RESOLVE: re.compile(r"Keep: (?:.* )?\((?P<by>[\w.-]+)\)"),
    MERGE: re.compile(r"(?P<subject>\S+) = (?P<object>\S+)(?: \(the first stays\))?"),
    ARCHIVE: re.compile(r"(?:.* )?\((?P<memory>[\w.-]+)\)"),
    LEARN: re.compile(r"(?P<text>.*\S) \((?P<type>\w+), (?P<confidence>[\w.+-]+)\)"),
    CONNECT: re.compile(
        r"(?:.* \()?(?P<subject>[\w.-]+)\)? → (?P<predicate>[\w-]+) → (?:.* \()?(?P<object>[\w.-]+)\)?"
    ),
}


@dataclass(slots=True, kw_only=True)
class ReflectionPage:
    """What a page says: its items by their numbers, without the quotes, and the rest."""

    items: dict[int, ReflectionItem] = field(default_factory=dict)
    insights: Insights = field(default_factory=Insights)
    questions: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


def arranged(items: Iterable[ReflectionItem]) -> tuple[ReflectionItem, ...]:
    """The items in the order in which the page has them."""
    order = list(SECTIONS)
    return tuple(sorted(items, key=lambda item: order.index(item.verb)))


def render(findings: Findings, *, number: int, at: datetime, budget: int, reviewed: int, next_at: datetime) -> str:
    """The page of reflection `number`, which was made when `reviewed` others had been decided on."""
    title = f"# Reflection Summary — {at:%Y-%m-%d}"
    body = "\n".join([title, "", *_top(findings), *_sections(findings), *_closing(findings)])
    looked = ", ".join(counted(count, _one(nouns), nouns) for nouns, count in findings.looked_at.items() if count)
    facts = {
        "Reflection #": number,
        "Token budget used": f"{estimate_tokens(body):,} / {budget:,}",
        "Memories processed": looked or "none",
        "Reflections reviewed": counted(reviewed, "past reflection"),
        "Next scheduled reflection": f"{next_at:%Y-%m-%d %H:%M}",
    }
    footer = "".join(f"**{name}**: {value}  \n" for name, value in facts.items())
    return f"{body}\n{END}\n{footer}{WORDS['reply'] if findings.items or findings.questions else ''}"


def _one(nouns: str) -> str:
    return re.sub("s$", "", re.sub("ies$", "y", nouns))


def _top(findings: Findings) -> Iterator[str]:
    count = len(findings.items)
    yield f"{counted(count, 'proposal')}, the most consequential first." if count else "Nothing to change."
    if findings.topics:
        yield f"\n{ABOUT}{' · '.join(_escape(each.replace('·', ' ')) for each in findings.topics)}"
    yield from (f"\n> {_escape(note)}" for note in findings.notes)
    yield ""


def _sections(findings: Findings) -> Iterator[str]:
    numbered = list(enumerate(arranged(findings.items), 1))
    for verb, title in SECTIONS.items():
        mine = [(number, item) for number, item in numbered if item.verb is verb]
        if not mine:
            continue
        yield f"## {title}\n"
        for number, item in mine:
            sign = f"{number}. "
            yield sign + _headline(item)
            yield from (" " * len(sign) + line for line in _details(item))
        if left := findings.left_out.get(verb):
            yield f"\n> {left} more of these wait for the next reflection."
        yield ""


def _headline(item: ReflectionItem) -> str:
    ends = [_quoted(item, each) if each in item.quotes else each for each in (item.subject, item.object)]
    heads = {
        CORE: _escape(item.text),
        RESOLVE: f"Keep: {_quoted(item, item.by)}",
        MERGE: f"{item.subject} = {item.object} (the first stays)",
        ARCHIVE: _quoted(item, item.memory),
        LEARN: f"{_escape(item.text)} ({item.type}, {item.confidence!r})",
        CONNECT: f" → {item.predicate} → ".join(ends),
    }
    return heads[item.verb]


def _details(item: ReflectionItem) -> Iterator[str]:
    if item.verb is CORE:
        lines = [*(f"- {one_line(each)}" for each in item.removed), *(f"+ {one_line(each)}" for each in item.added)]
        yield from ("```diff", *lines, "```")
    if item.memory and item.verb is not ARCHIVE:
        yield f"- instead of: {_quoted(item, item.memory)}"
    yield from (f"- from: {_quoted(item, each)}" for each in item.sources)
    # What the other lines name is not listed again.
    shown = {item.memory, item.by, *item.sources, *((item.subject, item.object) if item.verb is CONNECT else ())}
    yield from (f"- see: {_quoted(item, each)}" for each in item.quotes if each not in shown)
    if item.why:
        yield f"- why: {_escape(item.why)}"


def _quoted(item: ReflectionItem, id: str) -> str:
    """A memory or an entity by the first words of it, as far as they are known, and its id."""
    return f"{_escape(item.quotes.get(id, '').replace('→', '-'))} ({id})".lstrip()


def _closing(findings: Findings) -> Iterator[str]:
    insights = {title: _escape(getattr(findings.insights, name)) for name, title in INSIGHTS.items()}
    if any(insights.values()):
        yield f"## {EVOLUTION}\n"
        yield from (f"### {title}\n{text}\n" for title, text in insights.items() if text)
    if findings.questions:
        yield f"## {QUESTIONS}\n"
        yield from (f"- {_escape(question)}" for question in findings.questions)
        yield ""


def _escape(text: str) -> str:
    """Words as one line that says the same in Markdown and is nothing else there: no heading, list, fence, comment."""
    # Memories may hold Markdown, which must not become a section or an item of this page.
    plain = one_line(text).replace("\\", "\\\\").replace("<", "\\<")
    return _ACTIVE.sub(lambda match: f"{match[0]}\\", plain)


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.strip())


def _key(heading: str) -> str:
    return " ".join(re.sub(r"[^\w' ]", "", heading).casefold().split())


class _Line(NamedTuple):
    """A line of the page, with what it takes to say what is wrong with it."""

    number: int
    text: str
    heading: int
    """How many signs it has, if it is a heading."""

    def wrong(self, what: str) -> ContentError:
        return ContentError(f"line {self.number} of the reflection, {self.text.strip()[:60]!r}, {what}", hint=HINT)


def parse(text: str) -> ReflectionPage:
    """What a page says; ContentError names the line that has no meaning."""
    # Strict on purpose: whatever is not understood could be an edit that would be lost.
    written, insights, insight = ReflectionPage(), dict.fromkeys(INSIGHTS, ""), ""
    sections: dict[str, object] = {_key(title): verb for verb, title in SECTIONS.items()}
    sections |= {_key(title): title for title in (EVOLUTION, QUESTIONS)}
    titles = {_key(title): name for name, title in INSIGHTS.items()}
    blocks: list[tuple[ReflectionVerb, list[_Line]]] = []
    section: object = None
    for line in _body(text):
        words = line.text
        if line.heading == 2:
            section, insight = sections.get(_key(words)), ""
            if section is None:
                raise line.wrong("is a heading that nobody knows")
        elif section is None:
            if words.startswith(ABOUT):
                written.topics = tuple(map(_plain, words.removeprefix(ABOUT).split(" · ")))
        elif isinstance(section, ReflectionVerb):
            if _NUMBERED.fullmatch(words):
                blocks.append((section, []))
            elif not blocks or blocks[-1][0] is not section:
                raise line.wrong("is neither an item with its number nor a part of one")
            blocks[-1][1].append(line)
        elif section == QUESTIONS:
            if not words.startswith(("- ", "* ")):
                raise line.wrong("is not a question with a - before it")
            written.questions += (_plain(words[2:]),)
        elif line.heading == 3 and _key(words) in titles:
            insight = titles[_key(words)]
        elif not insight or words.startswith("#"):
            raise line.wrong("stands under no insight's heading")
        else:
            insights[insight] = f"{insights[insight]} {_plain(words)}".strip()
    for verb, block in blocks:
        number, item = _item(verb, *block)
        if number in written.items:
            raise block[0].wrong(f"is a second item {number}")
        written.items[number] = item
    written.insights = Insights(**insights)
    return written


def _body(text: str) -> Iterator[_Line]:
    """The lines before the footer that say something."""
    # Numbers are those of the file, which is what an editor shows.
    page = PageText(text, hidden=())
    levels = {number: each.level for number, each in page.headings.items()}
    lines = [_Line(number + 1, line.rstrip(), levels.get(number, 0)) for number, line in enumerate(page.lines)]
    for line in lines:
        if line.text == END:
            return
        if line.text and not line.text.lstrip().startswith(">"):
            yield line
    raise lines[-1].wrong(f"is the last one, and no {END} comes behind it")


def _item(verb: ReflectionVerb, head: _Line, *below: _Line) -> tuple[int, ReflectionItem]:
    """An item with its number, out of its lines."""
    numbered = _NUMBERED.fullmatch(head.text)
    match = _FORMS[verb].fullmatch(numbered[2]) if numbered else None
    if numbered is None or match is None:
        raise head.wrong(f"does not say what to {verb}")
    given: dict[str, Any] = {name: _plain(text) for name, text in match.groupdict().items()}
    if verb is LEARN:
        try:
            confidence = check_fraction("confidence", float(given["confidence"]))
            given |= {"type": Type(given["type"]), "confidence": confidence}
        except ValueError as error:
            raise head.wrong(f"needs a type such as fact, and a confidence from 0 to 1: {error}") from error
    given |= _below(verb, below)
    if verb is RESOLVE and "memory" not in given:
        raise head.wrong("keeps a memory instead of none")
    if verb is CORE and not given["removed"] and not given["added"]:
        raise head.wrong("stands above a difference that says nothing")
    return int(numbered[1]), ReflectionItem(verb=verb, **given)


def _below(verb: ReflectionVerb, lines: Iterable[_Line]) -> dict[str, Any]:
    """What the lines below an item say: a difference, and what it names."""
    given: dict[str, Any] = {"sources": (), "removed": (), "added": ()}
    start: _Line | None = None
    for line in lines:
        words = line.text.strip()
        detail, named = _DETAIL.fullmatch(words), _NAMED.fullmatch(words)
        if start and words == "```":
            start = None
        elif start:
            if words[0] not in _SIGNS:
                raise line.wrong("begins with neither - nor +")
            given[_SIGNS[words[0]]] += (words[1:].strip(),) if words[1:].strip() else ()
        elif words == "```diff" and verb is CORE:
            start = line
        elif detail is None:
            raise line.wrong("is neither an item with its number nor a part of one")
        elif detail[1] == "why":
            given["why"] = _plain(detail[2])
        elif named is None:
            raise line.wrong("names nothing by its id")
        elif detail[1] == "from":
            given["sources"] += (named[1],)
        elif detail[1] == "instead of":
            given["memory"] = named[1]
    if start:
        raise start.wrong("begins a difference that has no end")
    return given


# What reflections leave behind: the log of all of them, and the page on which understanding grows. Pure.
#
# On `evolution.md` ours are the paragraphs of the summary, one for each milestone, that tell how the understanding of
# the user changed. All other lines are a person's.

LOG_TITLE, EVOLUTION_TITLE = "# Reflection Log\n", "# Evolution\n"
SUMMARY = "Summary"
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
    "Active Threads": re.compile(r"- .* — (?:in \d+ of the last \d+ reflections|asked in \d+ reflections)"),
    "Insights": re.compile(r"- Reflection (\d{1,9}), (?:learning|understanding|theme): (.*)"),
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
    return "\n\n".join([rest.rstrip() or EVOLUTION_TITLE.rstrip(), *sections]) + "\n" if rest or sections else ""


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
