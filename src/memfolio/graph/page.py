"""The page of an entity as text that is added to without touching what a person wrote.

Ours are only lines that end with the id of a memory, relations in the form that is written here, fields that say
something about the page, and a summary that nobody has edited since. Every other line stays as it is, where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from memfolio.graph.cast import Figure
from memfolio.index.graph import Node, Tie
from memfolio.index.pages import EntityPage, name_key, page_fields, read_entity
from memfolio.index.passages import front_matter
from memfolio.vault.format.content import without_surrogates

SUMMARY, FACTS, TIMELINE, QUESTIONS, RELATIONS = "Summary", "Facts", "Timeline", "Open Questions", "Relations"
ORDER = (SUMMARY, FACTS, TIMELINE, QUESTIONS, RELATIONS)
LONGEST_FACT = 300
SUMMARISED = "summarised"
"""The field that tells a summary of ours from a person's."""
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*)[\r\n]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_CITED = re.compile(r"[ \t]*[-*+][ \t].*\((M-\d{1,15}-[0-9a-f]{8})\)[ \t\r\n]*")
_RELATION = re.compile(r"- ([\w-]+): \[\[([\w.-]+)\]\](?: \([\w-]+\))?[\r\n]*")
_PLAIN = re.compile(r"\w[\w .'’-]*")


def read_text(content: bytes) -> str:
    """The text of a page; bytes that are no UTF-8 come back from `page_bytes` as they were."""
    return content.decode("utf-8", "surrogateescape")


def page_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A page as it will be."""

    path: str
    text: str

    @property
    def node(self) -> Node | None:
        if (page := self._read()) is None:
            return None
        return Node(
            id=page.id,
            name=page.name,
            type=page.type,
            aliases=page.aliases,
            summary=page.summary,
            properties=page.properties,
            path=self.path,
        )

    @property
    def ties(self) -> list[Tie]:
        """The relations that it tells of."""
        page = self._read()
        return [Tie(page.id, predicate, target) for predicate, target in page.relations] if page else []

    def _read(self) -> EntityPage | None:
        return read_entity(self.path, without_surrogates(self.text))


def cited_line(text: str, id: str, day: str = "") -> str:
    """A fact, or with a day an event, as a line that names where it comes from."""
    words = " ".join(text.split()).rstrip(".")
    words = words if len(words) <= LONGEST_FACT else f"{words[:LONGEST_FACT].rsplit(' ', 1)[0]} …"
    return f"- {f'{day}: ' if day else ''}{words} ({id})"


def relation_line(predicate: str, target: str, note: str = "") -> str:
    return f"- {predicate}: [[{target}]]{f' ({note})' if note else ''}"


def beginning(figure: Figure, day: str) -> str:
    """A page with nothing but its front matter and title."""
    aliases = ", ".join(map(_value, figure.aliases))
    fields = {
        "name": _value(figure.name),
        "type": figure.type,
        **({"aliases": f"[{aliases}]"} if aliases else {}),
        "first_seen": figure.first_seen or day,
        "last_updated": day,
        "mentions": str(len(figure.seen)),
    }
    told = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"---\n{told}---\n# {figure.name}\n"


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else f'"{text}"'


class EntityText:
    """One page, changed line by line."""

    def __init__(self, text: str) -> None:
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._end = "\r\n" if self._lines and self._lines[0].endswith("\r\n") else "\n"

    @property
    def text(self) -> str:
        return "".join(self._lines)

    @property
    def cites(self) -> list[str]:
        """The memories that lines were taken from, in their order."""
        return [match[1] for match in map(_CITED.fullmatch, self._lines) if match]

    def relations(self) -> set[tuple[str, str]]:
        return {(match[1], match[2]) for match in map(_RELATION.fullmatch, self._lines) if match}

    def drop_cited(self, ids: Container[str]) -> None:
        """Take out the lines that were taken from these memories."""
        self._drop(lambda line: bool((match := _CITED.fullmatch(line)) and match[1] in ids))

    def drop_relations(self, ended: Container[tuple[str, str]]) -> None:
        self._drop(lambda line: bool((match := _RELATION.fullmatch(line)) and (match[1], match[2]) in ended))

    def _drop(self, is_dropped: Callable[[str], bool]) -> None:
        self._lines = [line for line in self._lines if not is_dropped(line)]

    def add(self, section: str, lines: Iterable[str]) -> None:
        """Add lines below the last of ours in a section, which is made where there is none."""
        added = [f"{line}{self._end}" for line in lines]
        if not added:
            return
        span = self._section(section)
        if span is None:
            at = self._place_for(section)
            self._insert(at, [f"## {section}{self._end}", self._end, *added], apart=True)
            return
        body = range(span[0] + 1, span[1])
        own = [at for at in body if _CITED.fullmatch(self._lines[at]) or _RELATION.fullmatch(self._lines[at])]
        filled = own or [at for at in body if self._lines[at].strip()]
        self._insert(filled[-1] + 1 if filled else span[0] + 1, added)

    def summarise(self, words: str) -> None:
        """Replace the summary by `words`, unless a person wrote it.

        The front matter knows the one that was written here; a page without front matter gets none.
        """
        span = self._section(SUMMARY)
        if self.has_own_summary() or not self._front_matter()[1] or self.told(SUMMARY) == [words][: len(words)]:
            return
        made = [f"{words}{self._end}"] if words else []
        if span is not None:
            last = [self._end] if span[1] < len(self._lines) else []
            self._lines[span[0] + 1 : span[1]] = [self._end, *made, *last] if made else [self._end]
        elif made:
            self._insert(self._place_for(SUMMARY), [f"## {SUMMARY}{self._end}", self._end, *made], apart=True)
        self.set_field(SUMMARISED, _digest(words))

    def set_field(self, name: str, value: str) -> None:
        """Set a field of the front matter; a page without front matter stays without."""
        start, end = self._front_matter()
        at = next((at for at in range(start, end) if re.match(rf"{name}[ \t]*:", self._lines[at])), None)
        if at is not None:
            self._lines[at] = f"{name}: {value}{self._end}"
        elif end:
            self._lines.insert(end, f"{name}: {value}{self._end}")

    def add_alias(self, alias: str) -> None:
        """Add a name to those that the front matter lists."""
        fields = page_fields(self.text)
        if name_key(alias) in map(name_key, fields.get("aliases", ())):
            return
        start, end = self._front_matter()
        if not end:
            self._lines[:0] = [f"{line}{self._end}" for line in ("---", f"aliases: [{_value(alias)}]", "---")]
            return
        at = next((at for at in range(start, end) if re.match(r"aliases[ \t]*:", self._lines[at], re.IGNORECASE)), None)
        if at is None:
            self._lines.insert(end, f"aliases: [{_value(alias)}]{self._end}")
            return
        self._extend_list(at, end, alias)

    def _extend_list(self, at: int, end: int, alias: str) -> None:
        value = self._lines[at].partition(":")[2].strip()
        if value.startswith("[") and value.endswith("]"):
            inside = value[1:-1].strip().rstrip(",")
            listed = f"{inside}, {_value(alias)}" if inside else _value(alias)
            self._lines[at] = f"aliases: [{listed}]{self._end}"
        elif value:
            self._lines[at] = f"aliases: [{value}, {_value(alias)}]{self._end}"
        else:
            last = at
            while last + 1 < end and re.match(r"[ \t]*-[ \t]", self._lines[last + 1]):
                last += 1
            self._lines.insert(last + 1, f"  - {_value(alias)}{self._end}")

    def relink(self, old: str, new: str) -> None:
        """Let links to one entity lead to another; what then stands there twice, or leads nowhere else, goes."""
        link = re.compile(rf"(\[\[(?:[^\[\]|#\n]*/)?){re.escape(old)}(?=(?:\.md)?[ \t]*[\]|#])", re.IGNORECASE)
        there = self.relations()
        self.drop_relations({(predicate, old) for predicate, target in there if (predicate, new) in there})
        self._lines = [link.sub(rf"\g<1>{new}", line) for line in self._lines]

    def sections(self) -> list[tuple[str, list[str]]]:
        """The lines below each heading that are not empty, without their line ends."""
        headings = self._headings()
        ends = [*(at for at, _ in headings[1:]), len(self._lines)] if headings else []
        spans = zip(headings, ends, strict=True)
        return [(title, self._told(at + 1, end)) for (at, title), end in spans]

    def told(self, section: str) -> list[str]:
        """The lines of one section that are not empty."""
        span = self._section(section)
        return self._told(span[0] + 1, span[1]) if span else []

    def _told(self, start: int, end: int) -> list[str]:
        return [line.rstrip("\r\n") for line in self._lines[start:end] if line.strip()]

    def has_own_summary(self) -> bool:
        """Whether a person wrote the summary, or edited the one that was written here."""
        told = self.told(SUMMARY)
        return bool(told) and [_digest(each) for each in told] != page_fields(self.text).get(SUMMARISED, [])

    def _front_matter(self) -> tuple[int, int]:
        """The first line of the front matter and the one that closes it; (0, 0) where there is none."""
        text = self.text
        start, end = front_matter(text)
        return (text.count("\n", 0, start), text.count("\n", 0, end)) if end else (0, 0)

    def _headings(self) -> list[tuple[int, str]]:
        """Where headings stand and what they say."""
        found, fence = [], ""
        for at in range(self._front_matter()[1], len(self._lines)):
            line = self._lines[at]
            if match := _FENCE.match(line):
                fence = match[1] if not fence else "" if match[1] == fence else fence
            elif not fence and (heading := _HEADING.fullmatch(line)):
                found.append((at, heading[1].strip(" \t#\r")))
        return found

    def _section(self, name: str) -> tuple[int, int] | None:
        """The line of a section's heading, and the line where the next heading stands."""
        headings = self._headings()
        both = zip(headings, [*(at for at, _ in headings[1:]), len(self._lines)], strict=False)
        return next(((at, end) for (at, title), end in both if title.casefold() == name.casefold()), None)

    def _place_for(self, section: str) -> int:
        """Where a section belongs that is not there yet: before those that come behind it, else at the end."""
        later = {name.casefold() for name in ORDER[ORDER.index(section) + 1 :]} if section in ORDER else set()
        return next((at for at, title in self._headings() if title.casefold() in later), len(self._lines))

    def _insert(self, at: int, lines: list[str], *, apart: bool = False) -> None:
        """Put lines in, with an empty one before and behind them where they are to stand apart."""
        if at and not self._lines[at - 1].endswith("\n"):
            self._lines[at - 1] += self._end
        if apart and at and self._lines[at - 1].strip():
            lines = [self._end, *lines]
        if apart and at < len(self._lines):
            lines = [*lines, self._end]
        self._lines[at:at] = lines


def _digest(words: str) -> str:
    return blake2b(words.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
