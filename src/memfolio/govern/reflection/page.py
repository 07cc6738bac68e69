"""The page of a reflection: proposals by number for a person to judge, which is the form that is applied as well. Pure.

What a person changes on it counts: words, lines of a difference, items that they delete. A line that begins with `>` is
a remark. Anything else that has no meaning is an error, so that nothing is dropped without a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from memfolio.errors import ContentError
from memfolio.govern.reflection.item import Findings, Insights, Item, Verb
from memfolio.text import counted, estimate_tokens
from memfolio.types import Type
from memfolio.vault.format.draft import check_fraction

SECTIONS = {
    Verb.CORE: "✏️ Core Memory Changes",
    Verb.RESOLVE: "⚠️ Contradictions Detected",
    Verb.MERGE: "🪞 One and the Same",
    Verb.ARCHIVE: "📦 Proposed Archival",
    Verb.LEARN: "🧠 New Knowledge Extracted",
    Verb.CONNECT: "🔗 New Connections",
}
"""What each verb stands under, the most consequential first."""
EVOLUTION, QUESTIONS = "🌱 Philosophical Evolution", "❓ Questions for You"
INSIGHTS = {
    "learning": "What I've Learned About Learning",
    "understanding": "Evolving Understanding",
    "theme": "Emergent Theme",
}
REPLY = """\
> `memfolio approve` applies all of this, `memfolio approve --except 3,7` leaves out items 3 and 7, and
> `memfolio reject --reason "…"` drops it. To change words, edit this page, then say `memfolio approve --edit`.
"""
ABOUT, END = "About: ", "---"
HINT = "put it back, begin remarks with `> `, or have the page made anew with `memfolio reflect`"
T = TypeVar("T")
_ACTIVE = re.compile(r"(?m)^[ \t]*(?:(?=#|`{3}|~{3}|>|[-*+=|])|\d+(?=[.)]))")
_ESCAPED = re.compile(r"\\([\n!-/:-@\[-`{-~—→])")
_NUMBERED = re.compile(r"(\d{1,6})[.)] (.*)", re.DOTALL)
_LISTED = re.compile(r"[-*] (.*)", re.DOTALL)
_DETAIL = re.compile(r"\s+[-*] (from|instead of|see|why): (.*)", re.DOTALL)
_NAMED = re.compile(r"(?:(.*) )?\(([\w.-]+)\)", re.DOTALL)
_ID = re.compile(r"[\w.-]+")
_FORMS = {
    Verb.CORE: re.compile(r"(?P<text>.+)"),
    Verb.RESOLVE: re.compile(r"Keep: (?:(?P<quote>.*) )?\((?P<by>\S+)\)", re.DOTALL),
    Verb.MERGE: re.compile(r"(?P<subject>\S+) = (?P<object>\S+)(?: \(the first stays\))?"),
    Verb.ARCHIVE: re.compile(r"(?:(?P<quote>.*?) )??\((?P<memory>\S+)\)(?: — (?P<why>.*))?", re.DOTALL),
    Verb.LEARN: re.compile(r"(?P<text>.*\S.*) \((?P<type>\w+), (?P<confidence>[\w.+-]+)\)", re.DOTALL),
    Verb.CONNECT: re.compile(r"(?P<subject>.+?) → (?P<predicate>[\w-]+) → (?P<object>.+)", re.DOTALL),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """What is said about the reflection itself."""

    number: int
    at: datetime
    budget: int
    reviewed: int
    next_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a page says: its items by their numbers, and the rest."""

    items: Mapping[int, Item]
    insights: Insights
    questions: tuple[str, ...]
    topics: tuple[str, ...]


def arranged(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items in the order in which the page has them."""
    order = list(SECTIONS)
    return tuple(sorted(items, key=lambda item: order.index(item.verb)))


def render(findings: Findings, footer: Footer) -> str:
    """The page."""
    at = f"{footer.at:%Y-%m-%d}"
    body = "\n".join([f"# Reflection Summary — {at}", "", *_top(findings), *_sections(findings), *_closing(findings)])
    looked = ", ".join(f"{number:,} {_noun(number, noun)}" for noun, number in findings.looked_at.items() if number)
    facts = {
        "Reflection #": footer.number,
        "Token budget used": f"{estimate_tokens(body):,} / {footer.budget:,}",
        "Memories processed": looked or "none",
        "Reflections reviewed": counted(footer.reviewed, "past reflection"),
        "Next scheduled reflection": f"{footer.next_at:%Y-%m-%d %H:%M}",
    }
    return f"{body}\n{END}\n" + "".join(f"**{name}**: {value}  \n" for name, value in facts.items()) + f"\n{REPLY}"


def _noun(number: int, nouns: str) -> str:
    return nouns if number != 1 else re.sub("s$", "", re.sub("ies$", "y", nouns))


def _top(findings: Findings) -> Iterator[str]:
    count = len(findings.items)
    yield f"{counted(count, 'proposal')}, the most consequential first." if count else "Nothing to change."
    if findings.topics:
        yield f"\n{ABOUT}{' · '.join(map(_line, findings.topics))}"
    for note in findings.notes:
        yield f"\n> {_line(note)}"
    yield ""


def _sections(findings: Findings) -> Iterator[str]:
    numbered = list(enumerate(arranged(findings.items), 1))
    for verb, title in SECTIONS.items():
        mine = [(number, item) for number, item in numbered if item.verb is verb]
        if not mine:
            continue
        yield f"## {title}\n"
        for number, item in mine:
            yield _listed(f"{number}. ", "\n".join([_headline(item), *_details(item)]))
        if left := findings.left_out.get(verb):
            yield f"\n> {left} more of these wait for the next reflection."
        yield ""


def _listed(sign: str, text: str) -> str:
    """A text behind a sign, and its further lines below itself."""
    return sign + text.replace("\n", "\n" + " " * len(sign))


def _headline(item: Item) -> str:
    match item.verb:
        case Verb.CORE:
            return _escape(item.text)
        case Verb.RESOLVE:
            return f"Keep: {_quoted(item, item.by)}"
        case Verb.MERGE:
            return f"{item.subject} = {item.object} (the first stays)"
        case Verb.ARCHIVE:
            why = f" — {_escape(item.why)}" if item.why else ""
            return _quoted(item, item.memory).replace("—", "\\—") + why
        case Verb.LEARN:
            return f"{_escape(item.text)} ({item.type}, {item.confidence!r})"
        case Verb.CONNECT:
            ends = (_quoted(item, each, alone="{}").replace("→", "\\→") for each in (item.subject, item.object))
            return f" → {item.predicate} → ".join(ends)


def _details(item: Item) -> Iterator[str]:
    if item.verb is Verb.CORE:
        yield "```diff"
        for sign, lines in (("-", item.removed), ("+", item.added)):
            yield from (line for each in lines for line in _signed(sign, each))
        yield "```"
    if item.verb is Verb.RESOLVE:
        yield f"- instead of: {_quoted(item, item.memory)}"
    yield from (f"- from: {_quoted(item, each)}" for each in item.sources)
    shown = {item.memory, item.by, *item.sources, *((item.subject, item.object) if item.verb is Verb.CONNECT else ())}
    yield from (f"- see: {_quoted(item, each)}" for each in item.quotes if each not in shown)
    if item.why and item.verb is not Verb.ARCHIVE:
        yield f"- why: {_escape(item.why)}"


def _quoted(item: Item, id: str, alone: str = "({})") -> str:
    quote = item.quotes.get(id)
    return f"{_escape(quote)} ({id})" if quote else alone.format(id)


def _signed(sign: str, text: str) -> Iterator[str]:
    """A text as lines of a difference; one that goes on below ends with a backslash."""
    *first, last = (f"{sign} {line}" + "\\" * _slashes(line) for line in text.split("\n"))
    yield from (f"{line}\\" for line in first)
    yield last


def _closing(findings: Findings) -> Iterator[str]:
    given = {title: getattr(findings.insights, name).strip() for name, title in INSIGHTS.items()}
    told = {title: _escape(text, "\n") for title, text in given.items() if text}
    if told:
        yield f"## {EVOLUTION}\n"
        yield from (f"### {title}\n{text}\n" for title, text in told.items())
    if findings.questions:
        yield f"## {QUESTIONS}\n"
        yield from (_listed("- ", _escape(question)) for question in findings.questions)
        yield ""


def _escape(text: str, ends: str = "\\\n") -> str:
    """Words that say the same in Markdown and are nothing else there: no heading, no list, no fence, no comment."""
    plain = text.replace("\\", "\\\\").replace("<", "\\<")
    plain = _ACTIVE.sub(lambda match: f"{match[0]}\\", plain)
    return plain.replace("\n", ends)


def _line(text: str) -> str:
    return _escape(" ".join(text.replace("·", " ").split()))


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _slashes(line: str) -> int:
    """With how many backslashes a line ends."""
    return len(line) - len(line.rstrip("\\"))


def parse(text: str) -> Written:
    """What a page says; ContentError names the line that has no meaning."""
    return _Reading(text).written()


def _key(heading: str) -> str:
    return " ".join(re.sub(r"[^\w' ]", "", heading).casefold().split())


def _fraction(word: str) -> float:
    return check_fraction("confidence", float(word))


class _Reading:
    """Goes through a page line by line."""

    def __init__(self, text: str) -> None:
        ends = "\r\n" if text.count("\r\n") == text.count("\n") else "\n"  # as an editor may have saved it
        self._lines = text.split(ends)
        self._at = self._indent = 0
        self._items: dict[int, Item] = {}
        self._insights = dict.fromkeys(INSIGHTS, "")
        self._questions: list[str] = []
        self._topics: tuple[str, ...] = ()

    def written(self) -> Written:
        verbs = {_key(title): verb for verb, title in SECTIONS.items()}
        readers = {_key(EVOLUTION): self._read_insight, _key(QUESTIONS): self._read_question}
        section = ""
        while (line := self._next()).rstrip() != END:
            if line.startswith("## "):
                section = _key(line)
                if section not in verbs and section not in readers:
                    raise self._wrong("is a heading that nobody knows")
            elif not section and line.startswith(ABOUT):
                self._topics = tuple(_plain(each) for each in line.removeprefix(ABOUT).split(" · "))
            elif section and line.strip() and not line.startswith(">"):
                self._read_item(verbs[section], line) if section in verbs else readers[section](line)
        return Written(
            items=self._items,
            insights=Insights(**{name: text.strip() for name, text in self._insights.items()}),
            questions=tuple(self._questions),
            topics=self._topics,
        )

    def _next(self) -> str:
        self._at += 1
        if self._at > len(self._lines):
            raise self._wrong(f"is the last one, and no {END} comes behind it")
        return self._lines[self._at - 1]

    def _inside(self) -> str:
        """The next line, without the blanks by which it stands below its item."""
        line = self._next()
        return line[self._indent :] if line[: self._indent].isspace() else line.lstrip(" ")

    def _peek(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _whole(self, line: str) -> str:
        """A line with those that it goes on in."""
        while _slashes(line) % 2:
            line += "\n" + self._inside()
        return line

    def _read_item(self, verb: Verb, line: str) -> None:
        self._indent = len(line.partition(" ")[0]) + 1
        match = _NUMBERED.fullmatch(self._whole(line))
        if match is None:
            raise self._wrong("is neither an item with its number nor a part of one")
        if (number := int(match[1])) in self._items:
            raise self._wrong(f"is a second item {number}")
        told = _FORMS[verb].fullmatch(match[2])
        if told is None:
            raise self._wrong(f"does not say what to {verb}")
        given = {name: _plain(text) for name, text in told.groupdict().items() if text is not None}
        self._items[number] = self._item(verb, given)

    def _item(self, verb: Verb, given: dict[str, Any]) -> Item:
        quotes = {str(given.get("by") or given.get("memory")): quote} if (quote := given.pop("quote", "")) else {}
        if verb is Verb.LEARN:
            given["type"] = self._value(Type, given["type"], "type")
            given["confidence"] = self._value(_fraction, given["confidence"], "confidence from 0 to 1")
        if verb is Verb.CONNECT:
            given |= {end: self._named(given[end], quotes) for end in ("subject", "object")}
        if verb is Verb.CORE:
            given["removed"], given["added"] = self._read_difference()
        sources: list[str] = []
        while detail := _DETAIL.fullmatch(self._peek()):
            word, text = detail[1], _plain(self._whole(self._next())[detail.start(2) :])
            if word == "why":
                given["why"] = text
                continue
            named = self._named(text, quotes)
            if word == "from":
                sources.append(named)
            elif word == "instead of":
                given["memory"] = named
        if verb is Verb.RESOLVE and "memory" not in given:
            raise self._wrong("keeps a memory instead of none")
        return Item(verb=verb, sources=tuple(sources), quotes=quotes, **given)

    def _named(self, text: str, quotes: dict[str, str]) -> str:
        """The id that a text ends with; what it says before that is a quote."""
        if _ID.fullmatch(text):
            return text
        named = _NAMED.fullmatch(text)
        if named is None:
            raise self._wrong("names nothing by its id")
        quotes |= {named[2]: named[1]} if named[1] else {}
        return named[2]

    def _read_difference(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The lines of a difference that go, and those that come."""
        found: dict[str, list[str]] = {"-": [], "+": []}
        if self._next().strip() != "```diff":
            raise self._wrong("is not the beginning of a difference")
        goes_on = ""
        while (line := self._inside()).strip() != "```":
            if not line.strip():
                continue
            if line[0] not in found:
                raise self._wrong("begins with neither - nor +")
            lines, text = found[line[0]], line[1:].removeprefix(" ")
            slashes = _slashes(text)
            words = text[: len(text) - slashes] + "\\" * (slashes // 2)
            lines[-1:] = [f"{lines[-1]}\n{words}"] if goes_on == line[0] else [*lines[-1:], words]
            goes_on = line[0] if slashes % 2 else ""
        removed, added = (tuple(filter(str.strip, found[sign])) for sign in "-+")
        if not removed and not added:
            raise self._wrong("ends a difference that says nothing")
        return removed, added

    def _value(self, read: Callable[[str], T], word: str, what: str) -> T:
        try:
            return read(word)
        except ValueError as error:
            raise self._wrong(f"has {word!r}, which is no {what}") from error

    def _read_insight(self, line: str) -> None:
        name = next((name for name, title in INSIGHTS.items() if _key(title) == _key(line)), None)
        if not line.startswith("### ") or name is None:
            raise self._wrong("stands under no insight's heading")
        told: list[str] = []
        while self._at < len(self._lines) and not re.match(rf"##|{END}", self._peek()):
            told.append(_plain(self._next()))
        self._insights[name] = "\n".join(told)

    def _read_question(self, line: str) -> None:
        self._indent = 2
        match = _LISTED.fullmatch(self._whole(line))
        if match is None:
            raise self._wrong("is not a question with a - before it")
        self._questions.append(_plain(match[1]))

    def _wrong(self, what: str) -> ContentError:
        at = min(self._at, len(self._lines))
        return ContentError(f"line {at} of the reflection, {self._lines[at - 1].strip()[:60]!r}, {what}", hint=HINT)


def numbers(given: Sequence[int]) -> str:
    """Numbers as people say them: 3, 5 and 7."""
    *first, last = map(str, given)
    return f"{', '.join(first)} and {last}" if first else last
