"""Everybody and everything that is spoken of: which entity a name means. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, count

from memfolio.index.graph import Fact, Node
from memfolio.index.pages import name_key

LONGEST_NAME = 80
LONGEST_SLUG = 48
CONCEPT = "concept"
_UNLIKE = tuple(
    map(frozenset, (("person", "place"), ("person", "organization"), ("person", "project"), ("place", "tool")))
)
"""Types that the same thing cannot have; others are told apart too differently to tell anything."""
_USERS = frozenset({"the user", "user"})
_BRACKETS = str.maketrans('[]"', "()'")


@lru_cache(maxsize=16384)
def clean_name(name: object) -> str:
    """A name as a page can hold it; empty for what is none."""
    if not isinstance(name, str):
        return ""
    shown = "".join(each for each in name if each.isprintable() or each.isspace())
    return " ".join(shown.translate(_BRACKETS).split())[:LONGEST_NAME].strip("' ")


def are_alike(one: str, other: str) -> bool:
    """Whether something may be of both types."""
    return frozenset((one, other)) not in _UNLIKE


@dataclass(slots=True, kw_only=True, eq=False)
class Figure:
    """An entity with or without a page, and what is to be added to it."""

    id: str
    name: str
    type: str
    page: Node | None = None
    keys: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    """Where it is mentioned: ids of memories, or of a line that names none."""
    first_seen: str = ""
    is_touched: bool = False
    is_subject: bool = False
    aliases: list[str] = field(default_factory=list)
    named_by: dict[str, str] = field(default_factory=dict)
    """The conversations that give it these aliases."""
    facts: list[Fact] = field(default_factory=list)
    relations: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Predicate and target, with a note and the id of what tells of it."""
    ended: dict[tuple[str, str], str] = field(default_factory=dict)
    """Relations of ours that rest on nothing any more, with their notes."""
    unnamed: list[str] = field(default_factory=list)
    """Aliases of ours that rest on nothing any more."""

    @property
    def weight(self) -> int:
        return max(len(self.seen), self.page.mentions if self.page else 0)


class Cast:
    """Finds the entity for a name, or introduces one."""

    def __init__(self, nodes: Iterable[Node], types: frozenset[str]) -> None:
        self.figures: dict[str, Figure] = {}
        self.notes: dict[str, None] = {}
        self._by_key: dict[str, list[Figure]] = {}
        self._promised: set[str] = set()
        self._types = types
        for node in nodes:
            self._add(Figure(id=node.id, name=node.name, type=node.type, page=node), (node.id, *node.aliases))

    def _add(self, figure: Figure, others: Iterable[str]) -> Figure:
        self.figures[figure.id] = figure
        for name in (figure.name, *others):
            self._call(figure, name)
        return figure

    def _call(self, figure: Figure, name: str) -> None:
        if (key := name_key(name)) and key not in figure.keys:
            figure.keys.add(key)
            self._by_key.setdefault(key, []).append(figure)

    def promise(self, id: str) -> None:
        """Make known an entity that pages link to before it has one."""
        kind, _, words = id.partition("--")
        if id not in self.figures and words:
            self._promised.add(id)
            self._add(Figure(id=id, name=" ".join(words.split("-")), type=kind), (id,))

    def find(self, name: str, type: str = "", *, tells: bool = False) -> Figure | None:
        """Who goes by this name; of several that may be meant, the one that is mentioned most, with a note about it."""
        key = name_key(name)
        fits = [each for each in self._by_key.get(key, ()) if are_alike(each.type, type)]
        if len(fits) < 2:
            return fits[0] if fits else None
        best = min(fits, key=lambda each: (each.type != type, -each.weight, each.id))
        if tells:
            others = ", ".join(sorted(each.id for each in fits if each is not best))
            self.notes[f"{name} may be {best.id} or {others}: what is said of {name} went to {best.id}"] = None
        return best

    def now(self, id: str) -> str:
        """The id that an entity has: another one, if it was merged."""
        kind, _, words = id.partition("--")
        figure = self.figures.get(id) or self.find(" ".join(words.split("-")), kind)
        return figure.id if figure else id

    def namesakes(self) -> Iterator[str]:
        """Which pages tell of somebody of the same name."""
        for name, figures in self._by_key.items():
            paged = [each for each in figures if each.page]
            ids = sorted(each.id for each in paged if are_alike(each.type, paged[0].type))
            if len(ids) > 1:
                yield f"{' and '.join(ids)} are both called {name}: `memfolio entity merge` makes one of two"

    def meet(self, name: str, type: str = "", aliases: Iterable[str] = (), *, is_new: bool = True) -> Figure | None:
        """The entity that a mention means, introduced where nobody goes by any of its names.

        What a page says of its names counts more than what was heard before it was written.
        """
        given = [each for each in map(clean_name, (name, *aliases)) if each]
        if not given:
            return None
        found = next(filter(None, (self.find(each, type, tells=is_new) for each in given)), None)
        found = found or self._introduce(given[0], type)
        if found.id in self._promised:
            self._promised.discard(found.id)
            found.name = given[0]
        if is_new or found.page is None:
            for each in given:
                self._learn(found, each)
        return found

    def _learn(self, figure: Figure, name: str) -> None:
        """Call an entity by a further name, unless that is somebody else's."""
        key = name_key(name)
        if key in figure.keys or self.find(name, figure.type):
            return
        self._call(figure, name)
        if key != name_key(figure.name):
            figure.aliases.append(name)

    def _introduce(self, name: str, type: str) -> Figure:
        """The entity that pages promise under this name, or one with an id that nobody has."""
        kind = "person" if is_user(name) else type if type in self._types else CONCEPT
        base = f"{kind}--{slug(name)}"
        ids = chain([base], (f"{base}-{number}" for number in count(2)))
        free = next(each for each in ids if each not in self.figures or each in self._promised)
        return self.figures.get(free) or self._add(Figure(id=free, name=name, type=kind), ())


def is_user(name: str) -> bool:
    """Whether this stands for the user, whose name nobody said."""
    return name_key(name) in _USERS


def slug(name: str) -> str:
    """A name as the end of an id: lower case letters and digits of any script, with hyphens between words."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = "-".join(re.findall(r"[^\W_]+", folded))[:LONGEST_SLUG].strip("-")
    made = unicodedata.normalize("NFC", words).lower()
    return made or blake2b(name.encode("utf-8", "replace")).hexdigest()[:8]
