"""The fourth phase: what core memory should say, as changes of its blocks that fit under the cap. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from memfolio.govern.reflection.item import Item, Verb
from memfolio.govern.reflection.knowledge import Held, quote
from memfolio.graph.cast import is_user
from memfolio.index.reflecting import IMPORTANT, Rests
from memfolio.learn.drafting import moment
from memfolio.learn.junk import is_secret
from memfolio.learn.learned import Turn
from memfolio.learn.resolve import plain
from memfolio.learn.rules import learn
from memfolio.sources import OVERHEARD, REFLECTION
from memfolio.stores.core import CoreMemory
from memfolio.stores.corepage import ACTIVE, BLOCKS, CRITICAL, IDENTITY, PERSONA, TEMPLATE, CorePage
from memfolio.stores.corepage import Item as Line
from memfolio.text import terms
from memfolio.types import MemoryItem, Type

LATELY = "Topics lately: "
NAMED = 4
"""How many topics that line has at most."""
LONGEST = 140
"""Characters of a line."""
STALE = timedelta(days=30)
"""After which time a topic that has not come up is not active any more."""
STALED = f"not come up for {STALE.days} days"
FRESH = timedelta(days=7)
"""For how long a decision or a task is of the moment."""
LINES = 4
"""How many lines come to a block at once."""
TRIED = 50
"""How many are looked at for that."""
OFTEN = 5
"""From how many uses on a fact is used often."""
SURE = 0.7
_WHO = frozenset(
    "name called is is_a is_from status lives_in works_at job married_to parent_of speaks birthday age timezone "
    "allergic_to".split()
)
"""What tells who somebody is."""
_HEALTH = frozenset({"allergic_to", "blood_type"})
_UNTELLING = frozenset({"user", "want", "need", "assistant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known when core memory is rewritten.

    `rests` says what each line rests on, by its text: one that rests on nothing is somebody's own. `before` is what the
    page said when `STALE` began, since when `lately` came. `held` are facts that hold, of which the `dormant` are asked
    about before they are promoted; `outdated` is what does not hold, with what does instead.
    """

    memory: CoreMemory
    rests: Mapping[str, Rests]
    before: str
    held: Sequence[Held]
    dormant: Container[str]
    outdated: Sequence[tuple[str, str]]
    lately: Sequence[MemoryItem]
    topics: Sequence[str]
    rejected: Container[str]
    now: datetime


class Rewrite:
    """Changes of core memory, line by line; `page` is what it would be."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.page = CorePage(known.memory.text or TEMPLATE)
        self.questions: list[str] = []
        """What to ask about somebody's own lines, and about what there is no room for."""
        self._changes: list[Item] = []
        self._crowded: dict[str, str] = {}
        self._outdated = [(_telling(old), _telling(new), new) for old, new in known.outdated]
        self._old = {line.text for line in _lines(CorePage(known.before))}
        self._heard = [_telling(item.content) for item in known.lately] if self._old else []
        for block in [each for each in self.page.blocks if each.name in BLOCKS]:
            for line in block.items:
                self._review(block.name, line)
        self._tell_topics()
        for name, why, texts in _wanted(known):
            self._promote(name, why, texts)
        for name, text in self._crowded.items():
            self.questions.append(f"{name} of core memory has no room for “{quote(text)}”: which line may go?")

    def items(self) -> Iterator[Item]:
        """A proposal for each block that is to change."""
        for name in BLOCKS:
            if mine := [each for each in self._changes if each.text == name]:
                removed, added = (each.removed for each in mine), (each.added for each in mine)
                why = "; ".join(dict.fromkeys(each.why for each in mine))
                yield Item(verb=Verb.CORE, text=name, removed=(*chain(*removed),), added=(*chain(*added),), why=why)

    def says(self, text: str) -> bool:
        """Whether a line of the page has all the words of a text."""
        return _says(_lines(self.page), text)

    def _review(self, block: str, line: Line) -> None:
        """Take a line out that does not hold any more, or ask about it where it is somebody's own."""
        rests, words = self._known.rests[line.text], _telling(line.says)
        outdated = (by for old, new, by in self._outdated if words <= old and 2 * len(words) > len(old) and words - new)
        told = (by for old, new, by in self._outdated if old & new and old - new and old - new <= words)
        instead = next(outdated, "") if len(words) > 1 else ""
        if instead or (rests.found and not rests.holds):
            instead = instead or rests.instead
            self._put(block, "replaced by what holds" if instead else "forgotten", instead, line)
        elif by := "" if rests.found else next(told, ""):
            self.questions.append(f"Is “{quote(line.says)}” in core memory still so, with “{quote(by)}”?")
        elif block == ACTIVE and words and not line.id and line.text in self._old:
            self._review_moment(line, words, is_own=not rests.found)

    def _review_moment(self, line: Line, words: set[str], *, is_own: bool) -> None:
        """Take a line out that is not of the moment any more; of one's own nothing at all may have come up."""
        shared = max((len(words & heard) for heard in self._heard), default=0)
        if is_own and not shared and not line.text.startswith(LATELY):
            self.questions.append(f"“{quote(line.says)}” in core memory has {STALED}: may it go?")
        elif not is_own and shared < min(2, len(words)):
            self._put(ACTIVE, STALED, "", line)

    def _tell_topics(self) -> None:
        """The line of topics that no other line has; the one that is there stays while half of it is of the moment."""
        old = next((each for each in self.page.items(ACTIVE) if each.text.startswith(LATELY)), None)
        told = set(old.text.removeprefix(LATELY).split(", ")) if old else set()
        said = " ".join(line.says for line in _lines(self.page) if line != old).casefold()
        new = [each for each in self._known.topics if each.casefold() not in said][:NAMED]
        if len(new) > 1 and (not old or 2 * len(told.intersection(self._known.topics)) < len(told)):
            self._put(ACTIVE, "topics of the moment", LATELY + ", ".join(new), old)

    def _promote(self, block: str, why: str, texts: Mapping[str, str]) -> None:
        """Put texts that are lines into a block that does not say what they come down to, up to a few."""
        lines = [text for text in texts if _telling(text) and len(text) <= LONGEST and "\n" not in text]
        for text in lines[:TRIED]:
            count = sum(len(each.added) for each in self._changes if each.text == block)
            if count < LINES and not _says(self.page.items(block), texts[text]):
                self._put(block, why, text)

    def _put(self, block: str, why: str, text: str, out: Line | None = None) -> None:
        """Put a line into a block, or in the place of one, where nobody rejected that and there is room for it."""
        line = "" if is_secret(text) else quote(_retold(text), LONGEST)
        page = CorePage(self.page.removing(self.page.meant(block, out.text))) if out else self.page
        added = (line,) if line and not _says(_lines(page), line) else ()
        change = Item(verb=Verb.CORE, text=block, removed=(out.text,) if out else (), added=added, why=why)
        if not change.marks or any(mark in self._known.rejected for mark in change.marks):
            return
        if added and not self._fits(page := CorePage(page.adding(block, line)), block):
            self._crowded.setdefault(block, line)
            return
        self.page = page
        self._changes.append(change)

    def _fits(self, page: CorePage, name: str) -> bool:
        memory = self._known.memory
        is_meant = all(each.tokens <= memory.share(each) for each in page.blocks if each.name == name)
        return is_meant and page.tokens <= memory.cap


def _lines(page: CorePage) -> list[Line]:
    return [line for block in page.blocks for line in block.items]


def _says(lines: Iterable[Line], text: str) -> bool:
    words = _telling(text)
    return bool(words) and any(words <= _telling(line.says) for line in lines)


def same(text: str, line: str) -> bool:
    """Whether a line of core memory says what a memory says, also where it is cut short."""
    return plain(text).startswith(plain(line)) if line.endswith("…") else plain(text) == plain(line)


def _retold(text: str) -> str:
    """What a memory says, told of the user rather than by them."""
    told = learn([Turn(content=text)]).statements if text.startswith(("I ", "I'm ", "My ")) else ()
    return told[0].text if len(told) == 1 else text


def _telling(text: str) -> set[str]:
    return {word.casefold().rstrip("s") for word in terms(text[:1000])} - _UNTELLING


def _wanted(known: Known) -> Iterator[tuple[str, str, dict[str, str]]]:
    """What each block should say, with the reason, the most important first; each text with what it comes down to."""
    last = {each.slot or each.meaning: each for each in known.held if _is_about_user(each)}
    mine = [*reversed(last.values())]
    who = [each for each in mine if each.known.predicate in _WHO and not each.known.negated]
    how = [each for each in mine if each.known.predicate == "wants"]
    told = {each.item.id for each in (*who, *how)}
    vital = [each.item for each in known.held if _is_vital(each) and each.item.id not in told]
    vital.sort(key=lambda item: (-item.importance, -item.access_count, item.id))
    recent = [each for each in reversed(known.lately) if _is_open(each, known.now)]
    yield IDENTITY, "facts about the user", {each.item.content: each.known.object for each in who}
    yield PERSONA, "what the user asked for", {each.item.content: each.known.object for each in how}
    yield ACTIVE, "decisions and tasks of the last days", {each.content: each.content for each in recent}
    critical = {each.content: each.content for each in vital if each.id not in known.dormant}
    yield CRITICAL, "important or often used", critical


def _is_about_user(each: Held) -> bool:
    return (is_user(each.known.subject) or each.known.subject == each.item.user) and each.item.confidence >= SURE


def is_important(item: MemoryItem) -> bool:
    """Whether somebody called it important; all that is overheard of people and things is just so."""
    return item.importance > IMPORTANT or (item.importance == IMPORTANT and item.source not in (*OVERHEARD, REFLECTION))


def _is_vital(each: Held) -> bool:
    counts = is_important(each.item) or each.known.predicate in _HEALTH or each.item.access_count >= OFTEN
    return counts and each.item.confidence >= SURE


def _is_open(item: MemoryItem, now: datetime) -> bool:
    """Whether it is a decision or task of the moment."""
    is_over = item.valid_until is not None and item.valid_until < now
    is_said = item.role is None and item.type in (Type.TASK, Type.DECISION)
    return is_said and not is_over and now - moment(item) <= FRESH
