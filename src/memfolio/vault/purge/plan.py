"""What a purge is about: the memories, what was derived from them, who else has their text, and where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from enum import StrEnum
from itertools import chain

from memfolio.errors import NotFoundError, RefusedError
from memfolio.types import MemoryItem
from memfolio.vault.format.log import read_log
from memfolio.vault.past.rollback import is_state
from memfolio.vault.paths import AUDIT, CONFIG, Form, agent_of, day_of, form_of
from memfolio.vault.purge.needles import Needles
from memfolio.vault.purge.scrub import Scrub, legible
from memfolio.vault.recent import to_text

OUT_OF_REACH = (
    "clones, remotes, backups and copies elsewhere",
    "what a model, an embedding service or another program was given",
    "blocks of the disk that are free but not overwritten",
)


FRAME = (b"# ", b"## ", b"source: ", b"<!-- ")
"""How the lines of a log begin that are ours."""


class Quotes(StrEnum):
    """What to do about memories that have the text too, or a line of it, and are not named."""

    REFUSE = "refuse"
    PURGE = "purge"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """A memory that is to be destroyed; `why` is empty for one that was named."""

    id: str
    agent: str
    path: str
    content: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a purge would do."""

    memories: tuple[Doomed, ...]
    texts: frozenset[str]
    """Every form that the memories ever had."""
    spared: frozenset[str] = frozenset()
    """Parts of those texts that are not looked for: other memories keep them, or lines of our own have them too."""
    files: dict[str, int] = field(default_factory=dict)
    """The files that change, and how many bytes leave each of them."""
    history: dict[str, int] = field(default_factory=dict)
    """How many versions of which files in git have something of it."""
    related: tuple[str, ...] = ()
    """Memories that were derived from these and from others too: they stay, and may say the same in other words."""
    keepers: tuple[str, ...] = ()
    """Memories that keep the same text or lines of it."""
    git: str = ""
    """Why git's history stays as it is; empty when it is rewritten."""

    @property
    def ids(self) -> dict[str, str]:
        """The memories, each with its agent."""
        return {each.id: each.agent for each in self.memories}

    def scrub(self) -> Scrub:
        return Scrub(frozenset(self.ids), Needles.of(self.texts, but=self.spared))


@dataclass(slots=True)
class Planner:
    """Works out a plan from the files as they are and every content that they had."""

    files: Mapping[str, bytes]
    past: Callable[[], Iterable[tuple[str, bytes]]]
    """Every content that a file had in git; there may be a lot of it, so it is gone through and not kept."""
    quotes: Quotes
    own: bytes = b""
    """What files in the home's inside say that are not searched for memories."""
    _doomed: dict[str, Doomed] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)

    def plan(self, ids: Iterable[str], *, git: str = "", counts: bool = True) -> Plan:
        """The plan for these memories; raises NotFoundError for one that is nowhere, RefusedError for quotes.

        `counts` says how many versions in git are concerned, which takes a while.
        """
        self._doom(ids, "")
        self._add_derived()
        keepers = self._quotes(common := self._common())
        while keepers and self.quotes is Quotes.PURGE:
            self._doom(keepers, "has the same text")
            self._add_derived()
            keepers = self._quotes(common := self._common())
        if keepers and self.quotes is Quotes.REFUSE:
            raise _quoted(list(keepers))
        spared = common.union(*keepers.values())
        plan = Plan(memories=tuple(self._doomed.values()), texts=frozenset(self._texts), spared=spared, git=git)
        return self._located(plan, tuple(keepers), self.past() if counts else ())

    def _located(self, plan: Plan, keepers: tuple[str, ...], past: Iterable[tuple[str, bytes]]) -> Plan:
        scrub = plan.scrub()
        after = {path: scrub(path, data) for path, data in self.files.items()}
        lost = {path: len(data) - len(after[path]) for path, data in self.files.items() if data != after[path]}
        history = Counter(path for path, data in past if scrub(path, data) != data)
        related = tuple(item.id for _, item in self._derived() if item.id not in self._doomed)
        return replace(plan, files=lost, history=dict(history), related=related, keepers=keepers)

    def _doom(self, ids: Iterable[str], why: str) -> None:
        """Take memories into the plan, with every text that they ever had."""
        wanted = frozenset(ids)
        finder = Finder(wanted)
        for path, data in chain(self.files.items(), self.past()):
            finder.look_at(path, data)
        if missing := wanted - finder.found.keys():
            raise NotFoundError(
                f"no file and no version of one has a memory {min(missing)[:80]!r}",
                hint="`recall` shows the ids of memories",
            )
        self._texts |= finder.texts
        for each, (path, content) in finder.found.items():
            self._doomed[each] = Doomed(id=each, agent=agent_of(path) or "", path=path, content=content, why=why)

    def _add_derived(self) -> None:
        """Take in what was derived from purged memories alone."""
        while found := [item.id for _, item in self._derived() if self._has_no_other_source(item)]:
            self._doom(found, "derived from these alone")

    def _has_no_other_source(self, item: MemoryItem) -> bool:
        return item.id not in self._doomed and self._doomed.keys() >= set(item.derived_from)

    def _derived(self) -> Iterator[tuple[str, MemoryItem]]:
        marks = [each.encode() for each in self._doomed]
        for path, data in self._logs():
            if b"derived_from" in data and any(mark in data for mark in marks):
                yield from ((path, item) for item in _items(path, data) if self._doomed.keys() & set(item.derived_from))

    def _common(self) -> frozenset[str]:
        """What of the texts stands in lines of our own, such as a date or a type: cutting it there would break them."""
        needles = Needles.of(self._texts)
        found = set(needles.found_in(to_text(self.own)))
        scrub = Scrub(frozenset(self._doomed), needles)
        for path, data in map(legible, self.files.keys(), self.files.values()):
            if needles.are_in(data) and needles.are_in(frame := _frame(path, data, scrub)):
                found.update(needles.found_in(to_text(frame)))
        return frozenset(found)

    def _quotes(self, common: frozenset[str]) -> dict[str, set[str]]:
        """The memories that are to stay and have something of the texts, with what that is."""
        needles, found = Needles.of(self._texts, but=common), dict[str, set[str]]()
        scrub = Scrub(frozenset(self._doomed), needles)
        for path, data in self._logs():
            rest = scrub.without_entries(path, data) if scrub.touches(data) else b""
            for item in _items(path, rest) if needles.are_in(rest) else ():
                if parts := needles.found_in(item.content):
                    found.setdefault(item.id, set()).update(parts)
        return found

    def _logs(self) -> Iterator[tuple[str, bytes]]:
        readable = (legible(path, data) for path, data in self.files.items())
        return ((path, data) for path, data in readable if form_of(path) is Form.LOG)


def _frame(path: str, data: bytes, scrub: Scrub) -> bytes:
    """What of a file is not somebody's content: the trail, the configuration, state, and the headings of entries."""
    if path.startswith(f"{AUDIT}/") or path == CONFIG or is_state(path):
        return data
    if form_of(path) is not Form.LOG:
        return b""
    lines = scrub.without_entries(path, data).splitlines()
    return b"\n".join(line for line in lines if line.startswith(FRAME))


@dataclass(slots=True)
class Finder:
    """Looks for memories in contents of logs and collects what they say."""

    ids: frozenset[str]
    found: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where each memory was first seen, and what it said there."""
    texts: set[str] = field(default_factory=set)
    _scrub: Scrub = field(init=False)
    _read: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._scrub = Scrub(self.ids, Needles(frozenset()))

    def look_at(self, path: str, data: bytes) -> None:
        path, data = legible(path, data)
        if form_of(path) is not Form.LOG or not (self._seeks_notes() or self._scrub.touches(data)):
            return
        for start, end in self._scrub.spans(path, data):
            if (raw := data[start:end]) not in self._read:
                self._read.add(raw)
                self._note(path, [*_items(path, raw), *(_items(path, data) if self._seeks_notes() else ())])

    def _seeks_notes(self) -> bool:
        """Whether a memory without a mark is looked for, of which only reading tells where it stands."""
        return any(not each.startswith("M-") and each not in self.found for each in self.ids)

    def _note(self, path: str, items: Iterable[MemoryItem]) -> None:
        for item in items:
            if item.id in self.ids:
                self.found.setdefault(item.id, (path, item.content))
                self.texts.add(item.content)


def _items(path: str, data: bytes) -> list[MemoryItem]:
    day, agent = day_of(path), agent_of(path)
    if day is None or agent is None:
        return []
    return [found.entry.item for found in read_log(to_text(data), day=day, tz=UTC, agent=agent).entries]


def _quoted(ids: list[str]) -> RefusedError:
    few = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
    return RefusedError(
        f"{len(ids)} other {'memory has' if len(ids) == 1 else 'memories have'} the same text or a line of it: {few}",
        hint="name them too, or say --quotes purge to destroy them as well, --quotes keep to leave them as they are",
    )
