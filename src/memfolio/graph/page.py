"""The words for how entities are related (`graph/relations.md`), and the page of an entity, added to line by line.

Ours are only lines that stand as they were written here, fields that say something about the page, and a summary that
nobody has edited since. Every other line stays as it is, where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

from memfolio.graph.entities import EntityDraft
from memfolio.index.graph import EntityRelation, Node
from memfolio.index.read_files import FLOW, EntityPage, page_fields, predicate_key, read_entity
from memfolio.learn.learned import ENTITY_TYPES
from memfolio.text import name_key, packaged_text
from memfolio.types import frozen
from memfolio.vault.change import Page, PutPage
from memfolio.vault.fields import without_surrogates
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.sections import PageText, front_matter

ANY = "relates-to"
_NAMES = re.compile(r"[-*+][ \t]+`([^`]{1,64})`(?:[ \t]*/[ \t]*`([^`]{1,64})`)?(.*)")
_TYPES = re.compile(r"([\w/-]{1,64})\s{0,4}[→↔]\s{0,4}([\w/-]{1,64})")
_TYPE = re.compile(r"[-*+][ \t]+`?(\w+(?:-\w+)*)`?(?![\w-])")


class Predicate(NamedTuple):
    """How two entities are related, in the words of the vocabulary.

    Where `is_turned`, they change places; `note` is the word that was said where there is none for it.
    """

    name: str
    is_turned: bool = False
    note: str = ""


@frozen
class RelationVocabulary:
    """What `relations.md` says."""

    predicates: Mapping[str, Predicate]
    mutual: frozenset[str]
    """Predicates that hold both ways."""
    ends: Mapping[str, tuple[str, str]]
    """The types of what a predicate relates, as far as it says so."""
    types: frozenset[str]

    def find(self, words: str) -> Predicate | None:
        """The predicate that these words name."""
        return self.predicates.get(predicate_key(words))

    def name(self, words: str) -> Predicate:
        """The predicate for these words; they are kept as a note of the general one where there is none."""
        return self.find(words) or Predicate(ANY, note=predicate_key(words)[:64])


@cache
def default_page() -> str:
    """What `relations.md` says in a new home."""
    return packaged_text("graph/data/relations.md")


def read_vocabulary(text: str, types: Iterable[str] = ()) -> RelationVocabulary:
    """The vocabulary of a page, whatever a person made of it; lines that make no sense are passed over.

    `types` are further types of entities.
    """
    # The general relation is always there: what has no word of its own becomes a note of it.
    predicates: dict[str, Predicate] = {ANY: Predicate(ANY)}
    mutual, ends = {ANY}, {}
    for match in filter(None, map(_NAMES.match, text.splitlines())):
        name, inverse = predicate_key(match[1]), predicate_key(match[2] or "")
        if not name:
            continue
        predicates[name] = Predicate(name)
        # The word for the other direction; a predicate of its own that comes later keeps its meaning.
        if inverse:
            predicates.setdefault(inverse, Predicate(name, is_turned=True))
        elif "↔" in match[3]:
            mutual.add(name)
        # Of `person/organization` the first is what an unknown name is taken for.
        if related := _TYPES.search(match[3]):
            ends[name] = (related[1].split("/")[0].lower(), related[2].split("/")[0].lower())
    known = frozenset((*ENTITY_TYPES, *types, *_types(text)))
    return RelationVocabulary(predicates=predicates, mutual=frozenset(mutual), ends=ends, types=known)


def _types(text: str) -> Iterator[str]:
    """The entity types that a page declares below the heading for them."""
    page = PageText(text)
    for heading, end in page.sections(deepest=6):
        if heading.title.strip(" \t#").casefold() == "entity types":
            yield from (match[1].lower() for match in map(_TYPE.match, page.lines[heading.line : end]) if match)


SUMMARY, FACTS, TIMELINE, QUESTIONS, RELATIONS = "Summary", "Facts", "Timeline", "Open Questions", "Relations"
MENTIONS = "Mentions"
ORDER = (SUMMARY, FACTS, TIMELINE, QUESTIONS, RELATIONS, MENTIONS)
LONGEST_FACT = 300
SUMMARISED = "summarised"
"""The field that tells a summary of ours from a person's."""
FENCE = re.compile(r" {0,3}(```|~~~)")
_CITED = re.compile(r"[ \t]*[-*+][ \t].*\((M-\d{1,15}-[0-9a-f]{8})\)[ \t\r\n]*")
_RELATION = re.compile(r"- ([\w-]+): \[\[([\w.-]+)\]\](?: \([\w-]+\))?[\r\n]*")
_ALIASES = ("aliases", "alias")
_PLAIN = re.compile(r"\w[\w .'’-]*")


def mark_of(words: str) -> str:
    """What words that were written here are recognised by later."""
    return blake2b(words.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()


def cited_line(text: str, id: str, day: str = "") -> str:
    """A fact, or with a day an event, as a line that names where it comes from."""
    words = " ".join(text.split()).rstrip(".")
    words = words if len(words) <= LONGEST_FACT else f"{words[:LONGEST_FACT].rsplit(' ', 1)[0]} …"
    return f"- {f'{day}: ' if day else ''}{words} ({id})"


def relation_line(predicate: str, target: str, note: str = "") -> str:
    return f"- {predicate}: [[{target}]]{f' ({note})' if note else ''}"


def beginning(draft: EntityDraft, day: str) -> str:
    """A page with nothing but its front matter and title."""
    aliases = ", ".join(map(_value, draft.aliases))
    fields = {
        "name": _value(draft.name),
        "type": draft.type,
        **({"aliases": f"[{aliases}]"} if aliases else {}),
        "first_seen": draft.first_seen or day,
        "last_updated": day,
        "mentions": str(len(draft.seen)),
    }
    told = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"---\n{told}---\n# {draft.name}\n"


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else f'"{text}"'


class PageSection(NamedTuple):
    """A heading, its line, and the lines below it."""

    title: str
    heading: str
    lines: list[str]


class EntityText:
    """One page, changed line by line; `before` is what the vault has, None for a page that is not there yet."""

    def __init__(self, text: str, path: str = "", before: Page | None = None) -> None:
        self.path, self._before = path, before
        # Lines keep their ends, so that a page with mixed ones comes back byte for byte.
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._end = "\r\n" if self._lines and self._lines[0].endswith("\r\n") else "\n"

    @classmethod
    def of(cls, page: Page) -> EntityText:
        """A page of the vault."""
        return cls(to_text(page.content), page.path, page)

    @property
    def text(self) -> str:
        return "".join(self._lines)

    @property
    def is_changed(self) -> bool:
        return self._before is None or to_bytes(self.text) != self._before.content

    @property
    def put(self) -> PutPage:
        """The operation that writes it."""
        return PutPage(self.path, to_bytes(self.text), self._before.hash if self._before else None)

    @property
    def node(self) -> Node | None:
        """The entity as the page tells of it; None where it tells of none."""
        page = self._entity()
        told = ("id", "name", "type", "aliases", "summary", "properties")
        return Node(path=self.path, **{name: getattr(page, name) for name in told}) if page else None

    @property
    def ties(self) -> list[EntityRelation]:
        """The relations that it tells of."""
        page = self._entity()
        return [EntityRelation(page.id, predicate, target) for predicate, target in page.relations] if page else []

    def _entity(self) -> EntityPage | None:
        return read_entity(self.path, without_surrogates(self.text))

    @property
    def cites(self) -> list[str]:
        """The memories that lines were taken from, in their order."""
        return [match[1] for match in map(_CITED.fullmatch, self._lines) if match]

    def relations(self) -> set[tuple[str, str]]:
        return {(match[1], match[2]) for match in map(_RELATION.fullmatch, self._lines) if match}

    def drop_cited(self, ids: Container[str], written: Container[str]) -> list[str]:
        """Take out what was written here (`mark_of`) of these memories; of which lines stay, because a person did."""
        cited = [(line, match[1]) for line in self._lines if (match := _CITED.fullmatch(line)) and match[1] in ids]
        ours = {line for line, _ in cited if mark_of(line.rstrip("\r\n")) in written}
        self._drop(ours)
        return [memory for line, memory in cited if line not in ours]

    def drop_relations(self, ended: Mapping[tuple[str, str], str]) -> None:
        """Take out relations, given with their notes."""
        lines = {relation_line(*tie, note) for tie, note in ended.items()}
        self._drop({line for line in self._lines if line.rstrip("\r\n") in lines})

    def drop_links(self, ties: Container[tuple[str, str]]) -> None:
        """Take out relations, whatever their notes."""
        lines = zip(self._lines, map(_RELATION.fullmatch, self._lines), strict=True)
        self._drop({line for line, match in lines if match and (match[1], match[2]) in ties})

    def _drop(self, lines: Container[str]) -> None:
        self._lines = [line for line in self._lines if line not in lines]

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
        # Ours go below the last of ours, so that what a person wrote stays together.
        own = [at for at in body if _CITED.fullmatch(self._lines[at]) or _RELATION.fullmatch(self._lines[at])]
        filled = own or [at for at in body if self._lines[at].strip()]
        if filled:
            self._insert(filled[-1] + 1, added)
            return
        # An empty section gets the blank lines that a person would leave around its text.
        behind = [self._end] if len(body) < 2 and span[1] < len(self._lines) else []
        self._insert(span[0] + 1 + bool(body), [*([] if body else [self._end]), *added, *behind])

    def summarise(self, words: str, facts: Collection[str] = ()) -> None:
        """Replace the summary by `words`, unless a person wrote it.

        The front matter knows the one that was written here; a page without front matter gets none. One out of which
        something was purged has nothing left but some of the `facts` and holes.
        """
        span = self._section(SUMMARY)
        # Without front matter nothing could tell later whose words these are.
        is_ours = bool(self._front_matter()[1]) and (not self.has_own_summary() or self._has_holes(facts))
        if not is_ours or self.told(SUMMARY) == [words][: len(words)]:
            return
        made = [f"{words}{self._end}"] if words else []
        if span is not None:
            last = [self._end] if span[1] < len(self._lines) else []
            self._lines[span[0] + 1 : span[1]] = [self._end, *made, *last] if made else [self._end]
        elif made:
            self._insert(self._place_for(SUMMARY), [f"## {SUMMARY}{self._end}", self._end, *made], apart=True)
        self.set_field(SUMMARISED, mark_of(words))

    def _has_holes(self, facts: Collection[str]) -> bool:
        told = "".join(self.told(SUMMARY))
        left = [each for each in re.split(r"\.(?:[ ]+|$)", told.strip()) if each]
        return told != "".join(f"{each}. " for each in left).strip() and all(each in facts for each in left)

    def set_field(self, name: str, value: str) -> None:
        """Set a field of the front matter; a page without front matter stays without."""
        end, at = self._front_matter()[1], self._field(name)
        if at is not None:
            self._lines[at] = f"{name}: {value}{self._end}"
        elif end:
            self._lines.insert(end, f"{name}: {value}{self._end}")

    def _field(self, name: str) -> int | None:
        """The line of the front matter at which a field begins."""
        lines = range(*self._front_matter())
        return next((at for at in lines if re.match(rf"{name}[ \t]*:", self._lines[at], re.IGNORECASE)), None)

    def add_alias(self, alias: str) -> None:
        """Add a name to those that the front matter lists on one line; a list in another form gets one beside it."""
        fields = page_fields(self.text)
        if name_key(alias) in map(name_key, (*fields.get("aliases", ()), *fields.get("alias", ()))):
            return
        # Aliases are only read from front matter.
        if not self._front_matter()[1]:
            self._lines[:0] = [f"---{self._end}", f"---{self._end}"]
        for key in _ALIASES:
            # A list over several lines is a person's; the second key stands beside it.
            if self._field(key) is None:
                self.set_field(key, f"[{_value(alias)}]")
                return
            if self._change_aliases(key, lambda names: [*names, _value(alias)]):
                return

    def drop_alias(self, alias: str) -> None:
        """Take a name out of those that the front matter lists on one line."""
        for key in _ALIASES:
            self._change_aliases(key, lambda names: [each for each in names if each != _value(alias)])

    def _change_aliases(self, key: str, change: Callable[[list[str]], list[str]]) -> bool:
        """Change a list on one line, which goes where nothing is left of it; False where there is none."""
        at = self._field(key)
        name, _, value = self._lines[at].partition(":") if at is not None else ("", "", "")
        flow = FLOW.fullmatch(value.strip())
        if at is None or flow is None:
            return False
        names = [each for each in flow[1].strip().rstrip(",").split(", ") if each]
        changed = change(names)
        if changed != names:
            line = f"{name}: [{', '.join(changed)}]{flow[2] or ''}{self._end}"
            self._lines[at : at + 1] = [line] if changed or flow[2] else []
        return True

    def relink(self, old: str, new: str) -> None:
        """Let links to one entity lead to another; what then stands there twice, or leads nowhere else, goes."""
        link = re.compile(rf"(\[\[(?:[^\[\]|#\n]*/)?){re.escape(old)}(?=(?:\.md)?[ \t]*[\]|#])", re.IGNORECASE)
        # Both may have been related to the same entity, which must not be told twice.
        there = self.relations()
        self.drop_links({(predicate, old) for predicate, target in there if (predicate, new) in there})
        self._lines = [link.sub(rf"\g<1>{new}", line) for line in self._lines]

    def parts(self) -> list[PageSection]:
        """What stands before the first heading, and below each one, without empty lines around it."""
        sections, end = self._sections(), self._front_matter()[1]
        first = sections[0][1] if sections else len(self._lines)
        before = PageSection(title="", heading="", lines=self._filled(end + 1 if end else 0, first))
        below = [
            PageSection(title, self._lines[at].rstrip("\r\n"), self._filled(at + 1, end)) for title, at, end in sections
        ]
        return [before, *below]

    def _filled(self, start: int, end: int) -> list[str]:
        """These lines without the empty ones around them."""
        lines = [line.rstrip("\r\n") for line in self._lines[start:end]]
        filled = [at for at, line in enumerate(lines) if line.strip()]
        return lines[filled[0] : filled[-1] + 1] if filled else []

    def fields(self) -> dict[str, list[str]]:
        """The lines of the front matter, by their keys in lower case."""
        found: dict[str, list[str]] = {}
        lines: list[str] = found.setdefault("", [])
        for line in self._lines[slice(*self._front_matter())]:
            if match := re.match(r"([^\s:#-][^:\n]*):", line):
                lines = found.setdefault(match[1].strip().lower(), [])
            lines.append(line.rstrip("\r\n"))
        return {key: lines for key, lines in found.items() if any(map(str.strip, lines))}

    def add_fields(self, lines: Iterable[str]) -> None:
        """Add lines to the front matter, which there must be."""
        end = self._front_matter()[1]
        self._lines[end:end] = [f"{line}{self._end}" for line in lines]

    def append(self, lines: Iterable[str]) -> None:
        """Put lines at the end of the page, apart from what stands there."""
        if added := "\n".join(lines).strip("\n"):
            self._insert(len(self._lines), [f"{line}{self._end}" for line in added.split("\n")], apart=True)

    def told(self, section: str) -> list[str]:
        """The lines of one section that are not empty."""
        span = self._section(section)
        lines = self._lines[span[0] + 1 : span[1]] if span else []
        return [line.rstrip("\r\n") for line in lines if line.strip()]

    def has_own_summary(self) -> bool:
        """Whether a person wrote the summary, or edited the one that was written here."""
        told = self.told(SUMMARY)
        return bool(told) and [mark_of(each) for each in told] != page_fields(self.text).get(SUMMARISED, [])

    def _front_matter(self) -> tuple[int, int]:
        """The first line of the front matter and the one that closes it; (0, 0) where there is none."""
        text = self.text
        start, end = front_matter(text)
        return (text.count("\n", 0, start), text.count("\n", 0, end)) if end else (0, 0)

    def _sections(self) -> list[tuple[str, int, int]]:
        """What each heading says, its line, and the line where the next one stands."""
        start, count = self._front_matter()[1], len(self._lines)
        found = PageText(self.text).sections(deepest=6)
        return [(each.title.strip(" \t#"), each.line, min(end, count)) for each, end in found if each.line >= start]

    def _section(self, name: str) -> tuple[int, int] | None:
        """The line of a section's heading, and the line where the next heading stands."""
        return next(((at, end) for title, at, end in self._sections() if title.casefold() == name.casefold()), None)

    def _place_for(self, section: str) -> int:
        """Where a section belongs that is not there yet: before those that come behind it, else at the end."""
        # A section that a person added has no place in our order: it goes to the end.
        later = {name.casefold() for name in ORDER[ORDER.index(section) + 1 :]} if section in ORDER else set()
        return next((at for title, at, _ in self._sections() if title.casefold() in later), len(self._lines))

    def _insert(self, at: int, lines: list[str], *, apart: bool = False) -> None:
        """Put lines in, with an empty one before and behind them where they are to stand apart."""
        if at and not self._lines[at - 1].endswith("\n"):
            self._lines[at - 1] += self._end
        if apart and at and self._lines[at - 1].strip():
            lines = [self._end, *lines]
        if apart and at < len(self._lines):
            lines = [*lines, self._end]
        self._lines[at:at] = lines
