"""Compare what was learned with what is known: new, repeated, contradicting, or forgotten. Pure.

`detect` finds what a statement repeats or contradicts; `resolve` decides, in the order in which things were said.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from memfolio.learn.contradict import contradict, without_values
from memfolio.learn.learned import Statement, Turn
from memfolio.learn.rules import learn
from memfolio.learn.words import pattern
from memfolio.types import OVERHEARD, MemoryItem, Type, frozen
from memfolio.vault.change import NewId

_SIGNS = re.compile(r"[^\w+#]+")
LONG = 300
"""Characters in which one thing is said."""
ABOUT = ("subject", "predicate", "object", "negated", "is_single")
Slot = tuple[str, str]
Reference = str | NewId
Way = Literal["supersede", "keep", "ask"]


@frozen
class KnownStatementAbout:
    """Something that is held to be so: in the files already, or about to be written."""

    ref: Reference
    text: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    negated: bool = False
    is_single: bool = False
    at: datetime
    """When it was said."""
    is_protected: bool = False
    """Whether a person confirmed it, so that nothing replaces it unasked."""
    forgotten_at: datetime | None = None
    is_replaced: bool = False
    is_archived: bool = False
    """Whether it is out of sight, so that said again it is learned again."""
    valid_until: datetime | None = None

    @property
    def slot(self) -> Slot:
        return _plain(self.subject), _plain(self.predicate)

    @classmethod
    def of(cls, item: MemoryItem, *, is_archived: bool = False) -> KnownStatementAbout:
        """A memory as something known; what it is about stands in its attributes where it was learned, else in it."""
        given = item.attributes
        learned: dict[str, Any] = {name: str(given.get(name, "")) for name in ABOUT[:3]}
        learned |= {"negated": given.get("negated") is True, "is_single": given.get("single") is True}
        return cls(
            ref=item.id,
            text=item.content,
            **(learned if "subject" in given else about(item.content[:LONG])),
            at=item.event_time or item.created_at,
            is_protected=item.pinned or item.decay_rate == 0 or item.source not in OVERHEARD,
            forgotten_at=item.forgotten_at,
            is_replaced=item.superseded_by is not None,
            is_archived=is_archived,
            valid_until=item.valid_until,
        )


@frozen
class Contradiction:
    """Two statements that cannot both be true."""

    old: KnownStatementAbout
    new: KnownStatementAbout


@dataclass(slots=True, kw_only=True)
class Resolution:
    """What to write."""

    kept: list[Statement] = field(default_factory=list)
    """In the order of their `NewId`s."""
    replaced: list[tuple[Reference, Reference]] = field(default_factory=list)
    """Known references, each with its replacement."""
    ended: dict[Reference, datetime] = field(default_factory=dict)
    """Until when a replaced statement was true, if nobody said so."""
    contradicting: list[Contradiction] = field(default_factory=list)
    """Those that both stay."""
    repeated: list[tuple[Reference, Statement]] = field(default_factory=list)
    """Known statements that were said again."""


COMPARED = 500
"""Of up to so many known statements, a new one is compared with all; of more, with those that share a rarer word."""
CROWD = 64
"""A word that more known statements have tells too little to compare them."""
_FEELINGS = {"likes": "dislikes", "dislikes": "likes"}
"""Predicates with those that contradict them."""


class Knowledge:
    """What is known, looked up by text, by subject, and by words."""

    def __init__(self, known: Iterable[KnownStatementAbout]) -> None:
        self._texts: dict[str, KnownStatementAbout] = {}
        self._slots: dict[Slot, list[KnownStatementAbout]] = {}
        self._with_word: defaultdict[str, set[str]] = defaultdict(set)
        for each in known:
            self.add(each)

    def add(self, known: KnownStatementAbout) -> None:
        text = plain_words(known.text)
        self._texts[text] = known
        for word in text.split():
            self._with_word[word].add(text)
        if known.subject and known.predicate:
            self._slots.setdefault(known.slot, []).append(known)

    def same(self, new: KnownStatementAbout) -> KnownStatementAbout | None:
        """Return the latest known statement that says the same."""
        there = self._slots.get(new.slot, ()) if new.object else ()
        alike = [each for each in there if _is_same(each, new) and each.negated == new.negated]
        return alike[-1] if alike else self._texts.get(plain_words(new.text))

    def detect(self, new: KnownStatementAbout, *, by_words: bool = True) -> list[KnownStatementAbout]:
        """What cannot be true together with it; what a person said is not dug out of the archive for that."""
        subject, predicate = new.slot
        slots = (new.slot, (subject, _FEELINGS.get(predicate, "")))
        near = {id(each): each for each in self._near(new)} if by_words else {}
        known = near | {id(each): each for slot in slots for each in self._slots.get(slot, ())}
        current = {key: each for key, each in known.items() if _is_current(each)}
        # Of one subject there may be thousands: only those that are near are compared by their words, too.
        contradicting = [each for key, each in current.items() if contradicts(each, new, by_words=key in near)]
        return [each for each in contradicting if not (each.is_archived and each.is_protected)]

    def _near(self, new: KnownStatementAbout) -> Iterable[KnownStatementAbout]:
        """What its words may contradict."""
        if len(self._texts) <= COMPARED:
            return self._texts.values()
        with_word = (self._with_word.get(word, set()) for word in plain_words(new.text).split())
        shared = set[str]().union(*(texts for texts in with_word if len(texts) <= CROWD))
        return [each for text, each in self._texts.items() if text in shared]

    def drop(self, old: KnownStatementAbout) -> None:
        """Something known holds no longer; said again, it is new."""
        listed = self._slots.get(old.slot, [])
        listed[:] = [each for each in listed if each is not old]
        if self._texts.get(plain_words(old.text)) is old:
            del self._texts[plain_words(old.text)]


def resolve(
    statements: Sequence[tuple[Statement, datetime]], knowledge: Knowledge, way: Way, *, by_words: bool = True
) -> Resolution:
    """Decide what to write of these statements, each with the time at which it was said.

    `by_words` says whether words contradict each other, and not only values of the same attribute.
    """
    found = Resolution()
    for statement, at in statements:
        what: dict[str, Any] = {name: getattr(statement, name) for name in ABOUT}
        new = KnownStatementAbout(ref=NewId(len(found.kept)), text=statement.text, at=at, **what)
        same = knowledge.same(new)
        if same is not None and same.forgotten_at is not None and at <= same.forgotten_at:
            continue  # who forgot it does not want it back from an old conversation
        if same is not None and _is_current(same) and not same.is_archived:
            found.repeated.append((same.ref, statement))
            continue
        found.kept.append(statement)
        for old in knowledge.detect(new, by_words=by_words):
            clash = Contradiction(old=old, new=new)
            _replace_or_keep(found, knowledge, clash, way if statement.may_replace else "keep")
        knowledge.add(new)
    return found


def _replace_or_keep(found: Resolution, knowledge: Knowledge, clash: Contradiction, way: Way) -> None:
    old, new = clash.old, clash.new
    if way != "supersede" or old.is_protected:
        found.contradicting.append(clash)
        return
    over, by = (old, new) if new.at >= old.at else (new, old)
    found.replaced.append((over.ref, by.ref))
    if over.valid_until is None:
        found.ended[over.ref] = by.at
    if over is old:
        knowledge.drop(old)


def plain_words(text: str) -> str:
    """A text as it is compared: without regard to case, signs and blanks."""
    return " ".join(_SIGNS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).split())


def about(text: str, speaker: str | None = None) -> dict[str, Any]:
    """Return what a text is about according to the rules, if it says one thing."""
    found = learn([Turn(content=text, speaker=speaker or "The user")]).statements
    return {name: getattr(found[0], name) for name in ABOUT} if len(found) == 1 else {}


def frame(statement: Statement) -> str:
    """The words that the same statement with another value would have; empty where there can be none.

    A statement that something moved shares only its subject with what was said before. Events stay true.
    """
    rest = without_values(statement.text) if statement.subject else ""
    is_change = statement.predicate in ("ended", "changed") and not plain_words(statement.subject).startswith(
        "the user"
    )
    if is_change or (rest and pattern("changing").search(statement.text)):
        return statement.subject if plain_words(statement.subject) != "the user" else rest
    return rest if statement.type is not Type.EVENT else ""


def _is_current(known: KnownStatementAbout) -> bool:
    return known.forgotten_at is None and not known.is_replaced


def _is_same(one: KnownStatementAbout, other: KnownStatementAbout) -> bool:
    return _plain(one.object) == _plain(other.object)


@lru_cache(maxsize=16_384)
def _plain(text: str) -> str:
    """`plain_words` of something short, which is compared with much that is known."""
    return plain_words(text)


def _plain_subject(text: str) -> str:
    return _plain(text).removeprefix("the ")


def contradicts(one: KnownStatementAbout, other: KnownStatementAbout, *, by_words: bool = True) -> bool:
    """Whether they contradict each other: by their values if about the same attribute, else by their words."""
    if one.subject and other.subject and _plain_subject(one.subject) != _plain_subject(other.subject):
        return False
    if all(one.slot) and one.slot == other.slot:
        if _is_same(one, other):
            return one.negated != other.negated
        if one.is_single and other.is_single:
            return not (one.negated or other.negated)
    if _FEELINGS.get(one.predicate) == other.predicate and _is_same(one, other):
        return one.negated == other.negated
    return by_words and contradict(one.text, other.text) is not None
