"""A reflection as values, and its page: proposals by number for a person to judge, which is what is applied. Pure.

What a person changes on the page counts: words, lines of a difference, items that they delete. A line that begins with
`>` is a remark. Anything else that has no meaning is an error, so that nothing is dropped without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple

from memfolio.errors import ContentError
from memfolio.text import counted, estimate_tokens, packaged_table, single_line
from memfolio.types import EMPTY, Type, frozen
from memfolio.vault.fields import check_fraction
from memfolio.vault.sections import PageText

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
