"""The fourth phase: what core memory should say, as changes of its blocks that fit under the cap. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from memfolio.govern.reflection.item import Item, Verb
from memfolio.govern.reflection.knowledge import Held, quote, retold
from memfolio.graph.cast import is_user
from memfolio.index.reflecting import IMPORTANT, Rests
from memfolio.learn.drafting import moment
from memfolio.learn.junk import is_secret
from memfolio.learn.resolve import plain
from memfolio.stores.core import CoreMemory
from memfolio.stores.corepage import ACTIVE, BLOCKS, CRITICAL, IDENTITY, PERSONA, TEMPLATE, CorePage
from memfolio.stores.corepage import Item as Line
from memfolio.text import terms
from memfolio.types import MemoryItem, Type

LATELY = "Lately: "
LONGEST = 140
"""Characters of a line."""
STALE = timedelta(days=30)
"""After which time a topic that has not come up is not active any more."""
STALED = f"not come up for {STALE.days} days"
FRESH = timedelta(days=7)
"""For how long a decision is news."""
LINES = 4
"""How many lines come to a block at once."""
TRIED = 50
"""How many are looked at for that."""
OUTDATED = 500
"""How many facts that do not hold are looked for in core memory."""
OFTEN = 5
"""From how many uses on a fact is used often."""
SURE = 0.7
_WHO = frozenset("name called is is_a lives_in works_at job married_to speaks birthday age allergic_to".split())
"""What tells who somebody is."""
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
    dormant: frozenset[str]
    outdated: Sequence[tuple[str, str]]
    lately: Sequence[MemoryItem]
    topics: Sequence[str]
    now: datetime


class Rewrite:
    """Changes of core memory, line by line; `page` is what it would be."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.page = CorePage(known.memory.text or TEMPLATE)
        self.stale: list[str] = []
        """Somebody's own lines that have not come up for long."""
        self._removed, self._added, self._why = (defaultdict[str, list[str]](list) for _ in range(3))
        self._outdated = [(_telling(old), _telling(new), new) for old, new in known.outdated[:OUTDATED]]
        self._old = {item.text for block in CorePage(known.before).blocks for item in block.items}
        for block in [each for each in self.page.blocks if each.name in BLOCKS]:
            for line in block.items:
                self._review(block.name, line)
        for name, why, texts in _wanted(known):
            for text in texts[:TRIED]:
                self._add(name, text, why)

    def items(self) -> Iterator[Item]:
        """A proposal for each block that is to change."""
        for name in [each for each in BLOCKS if self._added[each] or self._removed[each]]:
            added, removed = tuple(self._added[name]), tuple(self._removed[name])
            why = "; ".join(dict.fromkeys(self._why[name]))
            yield Item(verb=Verb.CORE, text=name, removed=removed, added=added, why=why)

    def says(self, text: str) -> bool:
        """Whether a line of the page has all the words of a text."""
        words = _telling(text)
        return any(words <= _telling(item.says) for block in self.page.blocks for item in block.items)

    def _review(self, block: str, line: Line) -> None:
        """Take a line out that does not hold any more, or is not of the moment and nobody's own."""
        rests, words = self._known.rests[line.text], _telling(line.says)
        outdated = (by for old, new, by in self._outdated if words <= old and not words <= new)
        instead = next(outdated, "") if len(words) > 1 else ""
        if instead or (rests.found and not rests.holds):
            why = "replaced by what holds" if instead or rests.instead else "forgotten"
            self._remove(block, line, why)
            self._add(block, instead or rests.instead, why)
        elif block == ACTIVE and words and not line.id and line.text in self._old and not self._came_up(words):
            if rests.found:
                self._remove(block, line, STALED)
            elif not line.text.startswith(LATELY):
                self.stale.append(line.says)

    @cached_property
    def _heard(self) -> list[set[str]]:
        return [_telling(item.content) for item in self._known.lately]

    def _came_up(self, words: set[str]) -> bool:
        return any(len(words & heard) >= min(2, len(words)) for heard in self._heard)

    def _remove(self, block: str, line: Line, why: str) -> None:
        self.page = CorePage(self.page.removing(self.page.meant(block, line.text)))
        self._removed[block].append(line.text)
        self._why[block].append(why)

    def _add(self, block: str, text: str, why: str) -> None:
        """Put a line into a block, where it is not said already and there is room for it."""
        line, memory = quote(retold(text), LONGEST), self._known.memory
        if not line or len(self._added[block]) >= LINES or is_secret(text) or self.says(line):
            return
        is_lately = line.startswith(LATELY)
        old = next((each for each in self.page.items(block) if is_lately and each.text.startswith(LATELY)), None)
        page = CorePage(CorePage(self.page.removing(old) if old else self.page.text).adding(block, line))
        size = max(each.tokens - memory.share(each) for each in page.blocks if each.name == block)
        if page.tokens <= memory.cap and size <= 0:
            self.page = page
            self._removed[block] += [old.text] if old else []
            self._added[block].append(line)
            self._why[block].append(why)


def same(text: str, line: str) -> bool:
    """Whether a line of core memory says what a memory says, also where it is cut short."""
    return plain(text).startswith(plain(line)) if line.endswith("…") else plain(text) == plain(line)


def _telling(text: str) -> set[str]:
    return {word.casefold().rstrip("s") for word in terms(text[:1000])} - _UNTELLING


def _wanted(known: Known) -> Iterator[tuple[str, str, list[str]]]:
    """What each block should say, with the reason, the most important first."""
    mine = [each for each in reversed(known.held) if _is_about_user(each)]
    who = [each.item for each in mine if each.known.predicate in _WHO and not each.known.negated]
    how = [each.item for each in mine if each.known.predicate == "wants"]
    told = {each.id for each in (*who, *how)}
    vital = [each.item for each in known.held if _is_vital(each.item) and each.item.id not in told | known.dormant]
    vital.sort(key=lambda item: (-item.importance, -item.access_count, item.id))
    recent = [each for each in reversed(known.lately) if _is_open(each, known.now)]
    yield IDENTITY, "facts about the user", [each.content for each in who]
    yield PERSONA, "what the user asked for", [each.content for each in how]
    yield ACTIVE, "topics of the moment", [f"{LATELY}{', '.join(known.topics[:4])}"] if known.topics else []
    yield ACTIVE, "decisions and tasks of the last days", [each.content for each in recent]
    yield CRITICAL, "important or often used", [each.content for each in vital]


def _is_about_user(each: Held) -> bool:
    return (is_user(each.known.subject) or each.known.subject == each.item.user) and each.item.confidence >= SURE


def _is_vital(item: MemoryItem) -> bool:
    return (item.importance >= IMPORTANT or item.access_count >= OFTEN) and item.confidence >= SURE


def _is_open(item: MemoryItem, now: datetime) -> bool:
    is_task = item.type is Type.TASK or (item.type is Type.DECISION and now - moment(item) <= FRESH)
    return is_task and item.role is None
