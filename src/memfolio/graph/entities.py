"""Everybody and everything that is spoken of: which entity a name means, and which may be the same. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain, combinations, count
from pathlib import Path
from typing import NamedTuple

from memfolio.index.graph import EntityFact, EntityRelation, Node
from memfolio.learn.words import Lexicon
from memfolio.text import name_key

# Everybody and everything that is spoken of: which entity a name means. Pure.

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
class EntityDraft:
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
    facts: list[EntityFact] = field(default_factory=list)
    relations: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Predicate and target, with a note and the id of what tells of it."""
    ended: dict[tuple[str, str], str] = field(default_factory=dict)
    """Relations of ours that rest on nothing any more, with their notes."""
    unnamed: list[str] = field(default_factory=list)
    """Aliases of ours that rest on nothing any more."""

    @property
    def weight(self) -> int:
        return max(len(self.seen), self.page.mentions if self.page else 0)


class EntityNames:
    """Finds the entity for a name, or introduces one."""

    def __init__(self, nodes: Iterable[Node], types: frozenset[str]) -> None:
        self.drafts: dict[str, EntityDraft] = {}
        self.notes: dict[str, None] = {}
        self._by_key: dict[str, list[EntityDraft]] = {}
        self._linked: set[str] = set()
        self._types = types
        for node in nodes:
            self._add(EntityDraft(id=node.id, name=node.name, type=node.type, page=node), (node.id, *node.aliases))

    def _add(self, draft: EntityDraft, others: Iterable[str]) -> EntityDraft:
        self.drafts[draft.id] = draft
        for name in (draft.name, *others):
            self._call(draft, name)
        return draft

    def _call(self, draft: EntityDraft, name: str) -> None:
        if (key := name_key(name)) and key not in draft.keys:
            draft.keys.add(key)
            self._by_key.setdefault(key, []).append(draft)

    def add_linked(self, id: str) -> None:
        """Make known an entity that pages link to before it has one."""
        kind, _, words = id.partition("--")
        if id not in self.drafts and words:
            self._linked.add(id)
            self._add(EntityDraft(id=id, name=" ".join(words.split("-")), type=kind), (id,))

    def find(self, name: str, type: str = "", *, tells: bool = False) -> EntityDraft | None:
        """Who goes by this name; of several that may be meant, the one that is mentioned most, with a note about it."""
        key = name_key(name)
        fits = [each for each in self._by_key.get(key, ()) if are_alike(each.type, type)]
        if len(fits) < 2:
            return fits[0] if fits else None
        # The same type counts most, then how often somebody was mentioned.
        best = min(fits, key=lambda each: (each.type != type, -each.weight, each.id))
        if tells:
            others = ", ".join(sorted(each.id for each in fits if each is not best))
            self.notes[f"{name} may be {best.id} or {others}: what is said of {name} went to {best.id}"] = None
        return best

    def current_id(self, id: str) -> str:
        """The id that an entity has: another one, if it was merged."""
        kind, _, words = id.partition("--")
        draft = self.drafts.get(id) or self.find(" ".join(words.split("-")), kind)
        return draft.id if draft else id

    def find_or_add(
        self, name: str, type: str = "", aliases: Iterable[str] = (), *, is_new: bool = True
    ) -> EntityDraft | None:
        """The entity that a mention means, introduced where nobody goes by any of its names.

        What a page says of its names counts more than what was heard before it was written.
        """
        given = [each for each in map(clean_name, (name, *aliases)) if each]
        if not given:
            return None
        found = next(filter(None, (self.find(each, type, tells=is_new) for each in given)), None)
        found = found or self._introduce(given[0], type)
        # Until now it was known by its id alone, as a link has it.
        if found.id in self._linked:
            self._linked.discard(found.id)
            found.name = given[0]
        if is_new or found.page is None:
            for each in given:
                self._learn(found, each)
        return found

    def _learn(self, draft: EntityDraft, name: str) -> None:
        """Call an entity by a further name, unless that is somebody else's."""
        key = name_key(name)
        if key in draft.keys or self.find(name, draft.type):
            return
        self._call(draft, name)
        if key != name_key(draft.name):
            draft.aliases.append(name)

    def _introduce(self, name: str, type: str) -> EntityDraft:
        """The entity that pages promise under this name, or one with an id that nobody has."""
        kind = "person" if is_user(name) else type if type in self._types else CONCEPT
        free = free_name(f"{kind}--{slug(name)}", lambda each: each not in self.drafts or each in self._linked)
        return self.drafts.get(free) or self._add(EntityDraft(id=free, name=name, type=kind), ())


def is_user(name: str) -> bool:
    """Whether this stands for the user, whose name nobody said."""
    return name_key(name) in _USERS


def free_name(base: str, is_free: Callable[[str], bool]) -> str:
    """The name, or the first one with a number behind it that nothing else has."""
    return next(filter(is_free, chain([base], (f"{base}-{number}" for number in count(2)))))


def slug(name: str) -> str:
    """A name as the end of an id: lower case letters and digits of any script, with hyphens between words."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = "-".join(re.findall(r"[^\W_]+", folded))[:LONGEST_SLUG].strip("-")
    # File systems differ in the form they keep; ids must not.
    made = unicodedata.normalize("NFC", words).lower()
    return made or blake2b(name.encode("utf-8", "replace")).hexdigest()[:8]


# How alike two names are, and which entities may be the same. Nothing here is applied: a person decides. Pure.

LONG_ENOUGH = 5
"""Letters from which on a slip of the pen can be told from another name."""
CROWD = 40
"""How many entities may share what makes them comparable; what more share tells nothing."""
MOST = 100
SPELLING, NICKNAME, INITIALS, SHORT, TYPO = "spelling", "nickname", "initials", "short form", "typo"
_POSSESSIVE = re.compile(r"\w['’]s?\s")


class Pair(NamedTuple):
    """Two entities that may be the same, and why."""

    one: str
    other: str
    score: float
    why: str


@lru_cache(maxsize=16384)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name without accents, case and signs."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return tuple(re.findall(r"[^\W_]+", "".join(each for each in plain if not unicodedata.combining(each))))


def likeness(one: str, other: str) -> tuple[float, str]:
    """How alike two names are, from 0 to 1, and in which way."""
    a, b = words_of(one), words_of(other)
    if not a or not b:
        return 0.0, ""
    if "".join(a) == "".join(b):
        return (0.99, SPELLING) if _signs(one) == _signs(other) else (0.0, "")
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return 0.0, ""  # versions, rooms and years
    return max((_nickname(a, b), _initials(a, b), _short(a, b), _typo(a, b)), key=lambda found: found[0])


def _signs(name: str) -> str:
    """The signs that tell C, C++ and C# apart."""
    return "".join(re.findall(r"[+#]", name))


@cache
def _full_names() -> Mapping[str, set[str]]:
    """The full names that a first name may be short for, itself among them."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in Lexicon(Path(__file__).parent / "data").rows("nicknames"):
        for name in row:
            found[name].add(row[0])
    return found


def _nickname(a: Sequence[str], b: Sequence[str]) -> tuple[float, str]:
    full = _full_names()
    if a[1:] != b[1:] or a[0] == b[0] or not full.get(a[0], set()) & full.get(b[0], set()):
        return 0.0, ""
    return (0.97 if len(a) > 1 else 0.92), NICKNAME


def _initials(a: Sequence[str], b: Sequence[str]) -> tuple[float, str]:
    """`A. Miller` and `Alex Miller`; `NYT` and `New York Times`."""
    short, long = sorted((a, b), key=lambda words: len("".join(words)))
    if len(short) == len(long) > 1 and short[-1] == long[-1]:
        firsts = list(zip(short[:-1], long[:-1], strict=True))
        if all(x == y or (len(x) == 1 and y.startswith(x)) for x, y in firsts):
            return 0.94, INITIALS
    is_acronym = len(short) == 1 and len(long) > 2 and short[0] == "".join(word[0] for word in long)
    return (0.93, INITIALS) if is_acronym else (0.0, "")


def _short(a: Sequence[str], b: Sequence[str]) -> tuple[float, str]:
    """`Alex` and `Alex Miller`; whether there is only one such is for the caller to see."""
    short, long = sorted((a, b), key=len)
    return (0.91, SHORT) if len(short) == 1 and len(long) > 1 and short[0] == long[0] else (0.0, "")


def _typo(a: Sequence[str], b: Sequence[str]) -> tuple[float, str]:
    one, other = " ".join(a), " ".join(b)
    length = max(len(one), len(other))
    unlike = (
        [word for x, y in zip(a, b, strict=True) if x != y for word in (x, y)] if len(a) == len(b) else [one, other]
    )
    if min(map(len, unlike)) < LONG_ENOUGH or abs(len(one) - len(other)) > 2:
        return 0.0, ""
    steps = distance(one, other)
    # Another vowel at the end of a short name, or another first letter, makes another name: Maria and Mario.
    is_other = one[0] != other[0] or (length < 8 and one[:-1] == other[:-1])
    return (0.0 if is_other or steps > 2 else 1 - steps / length), TYPO


def distance(one: str, other: str) -> int:
    """How many letters must be put in, taken out, replaced or swapped with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, start=1):
        last, before, row = before, row, [i]
        for j, y in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == other[j - 2] and one[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def propose(nodes: Iterable[Node], threshold: float, ties: Iterable[EntityRelation] = ()) -> list[Pair]:
    """The entities that may be the same, the likeliest first; those that share a name exactly among them.

    Who is related to somebody is somebody else.
    """
    related = {frozenset((tie.source, tie.target)) for tie in ties}
    known = {node.id: node for node in nodes}
    # Only those that share a key are compared: all with all would be quadratic.
    blocks = (sorted(ids) for ids in _blocks(known.values()).values() if len(ids) <= CROWD)
    compared = {pair for ids in blocks for pair in combinations(ids, 2) if frozenset(pair) not in related}
    found = [pair for one, other in compared if (pair := _compare(known[one], known[other])).score >= threshold]
    # `Alex` may be short for one `Alex Miller`, but not for two people at once.
    partners = Counter(_shorter(pair, known) for pair in found if pair.why == SHORT)
    kept = [pair for pair in found if pair.why != SHORT or partners[_shorter(pair, known)] == 1]
    return sorted(kept, key=lambda pair: (-pair.score, pair.one, pair.other))[:MOST]


def _shorter(pair: Pair, known: Mapping[str, Node]) -> str:
    return min(pair[:2], key=lambda each: len(words_of(known[each].name)))


def _compare(one: Node, other: Node) -> Pair:
    if not are_alike(one.type, other.type):
        return Pair(one.id, other.id, 0.0, "")
    both = ((x, y) for x in _names(one) for y in _names(other))
    # The most alike pair of names decides, whatever the others are.
    score, why = max((likeness(x, y) for x, y in both), key=lambda found: found[0])
    return Pair(one.id, other.id, score, why)


def _names(node: Node) -> list[str]:
    """What somebody is called; `Tomas's sister` is no name, least of all one that begins with Tomas."""
    return [node.name, *(each for each in node.aliases if not _POSSESSIVE.search(each))]


def _blocks(nodes: Iterable[Node]) -> dict[str, set[str]]:
    """Entities by what alike names have in common, so that not all are compared with all."""
    blocks: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        for name in _names(node):
            for key in _marks(words_of(name)):
                blocks[key].add(node.id)
    return blocks


def _marks(words: Sequence[str]) -> Iterator[str]:
    if not words:
        return
    whole = "".join(words)
    yield whole
    yield "".join(word[0] for word in words)
    yield f"first {words[0]}"
    yield f"last {words[-1]}"
    yield from (f"full {full} {words[1:]}" for full in _full_names().get(words[0], ()))
    if LONG_ENOUGH <= len(whole) <= 40:
        yield from (f"typo {whole[:at]}{whole[at + 1 :]}" for at in range(len(whole)))
        yield f"typo {whole}"
