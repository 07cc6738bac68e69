"""The plan of a purge: the memories, what was derived from them, who else has their text, and where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from memfolio.errors import NotFoundError, RefusedError
from memfolio.types import MemoryItem, frozen, sums_up
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import read_lines
from memfolio.vault.log import read_log_at
from memfolio.vault.paths import Form, agent_of, form_of
from memfolio.vault.purge.needles import LONG, Needles, sentences_of
from memfolio.vault.purge.scrub import Scrub, Target, frame_of, persons_words, unpack_file

KNOWLEDGE = "/knowledge/"
OUT_OF_REACH = (
    "clones, remotes, backups and copies elsewhere",
    "what a model, an embedding service or another program was given",
    "blocks of the disk that are free but not overwritten",
)


@frozen
class MarkedMemory:
    """A memory to destroy; `why` is empty if it was named."""

    id: str
    agent: str
    path: str
    content: str
    why: str = ""


@frozen
class PurgePlan:
    """Everything that a purge would do."""

    memories: tuple[MarkedMemory, ...]
    target: Target
    files: dict[str, int] = field(default_factory=dict)
    """The files that change, and how many bytes each loses."""
    history: dict[str, int] = field(default_factory=dict)
    """The number of versions in git that contain some of it, by file."""
    related: tuple[str, ...] = ()
    """Memories that were derived from others too, or have a sentence of these: they stay, and may say the same."""
    git: str = ""
    """Why git's history stays as it is; empty when it is rewritten."""


@dataclass(slots=True)
class Planner:
    """Works out a plan from the files as they are and every content that they had, of agents that may be read."""

    files: Mapping[str, bytes]
    past: Callable[[], Iterable[tuple[str, bytes]]]
    """Every version of every file in git; it may be a lot, so it is iterated and not kept."""
    own: bytes = b""
    """The contents of internal files that are not searched for memories."""
    loose: Mapping[str, bytes] = field(default_factory=dict)
    """Files of the home that nobody keeps a history of."""
    agents: frozenset[str] | None = None
    _marked: dict[str, MarkedMemory] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)
    _sentences: set[str] = field(default_factory=set)

    def plan(self, ids: Iterable[str], *, git: str = "", counts: bool = True) -> PurgePlan:
        """The plan for these memories; raises NotFoundError for one that is nowhere, RefusedError for quotes.

        `counts` says how many versions in git are concerned, which takes a while.
        """
        self._mark(ids, "")
        self._add_derived()
        spared = self._common()
        self._check_quotes(spared)
        self._check_pages(spared)
        target = Target(
            ids={each.id: each.agent for each in self._marked.values()},
            texts=frozenset(self._texts),
            sentences=frozenset(self._sentences),
            spared=spared,
            agents=self.agents,
        )
        plan = PurgePlan(memories=tuple(self._marked.values()), target=target, git=git)
        return self._located(plan, self.past() if counts else ())

    def _check_quotes(self, spared: frozenset[str]) -> None:
        """Refuse to cut the text where memories that are not named have it, too: that would leave half of them."""
        needles = Needles.of(self._texts, but=spared)
        if quoted := self._found(Scrub(frozenset(self._marked), needles), needles):
            raise _also_in("memories have the same text or a line of it", quoted, "name them too")

    def _check_pages(self, spared: frozenset[str]) -> None:
        """Refuse to cut a short text where people's pages have it, since it may stand there for another reason."""
        parts = Needles.of(self._texts, but=spared).parts
        short = Needles(frozenset(part for part in parts if len(part) < LONG))
        pages = chain(self.files.items(), self.loose.items()) if short.parts else ()
        if found := sorted(path for path, data in pages if short.are_in(persons_words(path, data))):
            what = "files of people have the text, which is too short to be cut there unseen"
            raise _also_in(what, found, "take it out of them, then purge again")

    def _located(self, plan: PurgePlan, past: Iterable[tuple[str, bytes]]) -> PurgePlan:
        scrub = plan.target.scrub()
        after = {path: scrub(path, data) for path, data in self.files.items()}
        lost = {path: len(data) - len(after[path]) for path, data in self.files.items() if data != after[path]}
        history = Counter(path for path, data in past if scrub(path, data) != data)
        related = [item.id for _, item in self._derived() if item.id not in self._marked]
        related += self._found(scrub, scrub.fine)
        return replace(plan, files=lost, history=dict(history), related=tuple(dict.fromkeys(related)))

    def _mark(self, ids: Iterable[str], why: str) -> None:
        """Take memories into the plan, with every text that they ever had."""
        wanted = frozenset(ids)
        finder = Finder(wanted, is_named=not why)
        for path, data in chain(self.files.items(), self.past()):
            finder.search(path, data)
        if missing := wanted - finder.found.keys():
            raise NotFoundError(
                f"no file and no version of one has a memory {min(missing)[:80]!r}",
                hint="`recall` shows the ids of memories",
            )
        self._texts |= finder.texts
        self._sentences |= finder.sentences
        for each, (path, content) in finder.found.items():
            self._marked[each] = MarkedMemory(id=each, agent=agent_of(path) or "", path=path, content=content, why=why)

    def _add_derived(self) -> None:
        """Add memories derived from purged ones alone, and summaries of any of them."""
        while found := {item.id: item for _, item in self._derived() if self._goes_along(item)}:
            alone = [each for each, item in found.items() if self._has_no_other_source(item)]
            if alone:
                self._mark(alone, "derived from these alone")
            if summaries := found.keys() - set(alone):
                self._mark(sorted(summaries), "sums up one of these")

    def _goes_along(self, item: MemoryItem) -> bool:
        return item.id not in self._marked and (sums_up(item) or self._has_no_other_source(item))

    def _has_no_other_source(self, item: MemoryItem) -> bool:
        return self._marked.keys() >= set(item.derived_from)

    def _derived(self) -> Iterator[tuple[str, MemoryItem]]:
        marks = [each.encode() for each in self._marked]
        for path, data in self._logs():
            if b"derived_from" in data and any(mark in data for mark in marks):
                yield from ((path, item) for item in _items(path, data) if self._marked.keys() & set(item.derived_from))

    def _common(self) -> frozenset[str]:
        """What of the texts stands in lines of our own, such as a date or a type: cutting it there would break them."""
        needles = Needles.of(self._texts, sentences=self._sentences)
        found = set(needles.found_in(to_text(self.own)))
        scrub = Scrub(frozenset(self._marked), needles)
        for path, data in map(unpack_file, self.files.keys(), self.files.values()):
            if needles.are_in(data):
                rest = scrub.without_entries(path, data) if form_of(path) is Form.LOG else data
                found.update(needles.found_in(frame_of(path, rest)))
        return frozenset(found)

    def _found(self, scrub: Scrub, needles: Needles) -> list[str]:
        """The remaining memories that contain some of the texts."""
        found = list[str]()
        for path, data in self._logs():
            rest = scrub.without_entries(path, data) if scrub.touches(data) else b""
            items = _items(path, rest) if needles.are_in(rest) else []
            found += [item.id for item in items if needles.are_in(to_bytes(item.content))]
        return list(dict.fromkeys(found))

    def _logs(self) -> Iterator[tuple[str, bytes]]:
        readable = (unpack_file(path, data) for path, data in self.files.items())
        return ((path, data) for path, data in readable if form_of(path) is Form.LOG)


@dataclass(slots=True)
class Finder:
    """Find memories in contents of logs and collect their texts."""

    ids: frozenset[str]
    is_named: bool = True
    """Whether the text of what was made of others is looked for too; it repeats memories that are to stay."""
    found: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where each memory was first seen, and its text there."""
    texts: set[str] = field(default_factory=set)
    sentences: set[str] = field(default_factory=set)
    _scrub: Scrub = field(init=False)
    _read: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._scrub = Scrub(self.ids, Needles(frozenset()))

    def search(self, path: str, data: bytes) -> None:
        path, data = unpack_file(path, data)
        if KNOWLEDGE in path and form_of(path) is Form.LINES and self._scrub.touches(data):
            self._note_lines(path, data)
        if form_of(path) is not Form.LOG or not (self._seeks_notes() or self._scrub.touches(data)):
            return
        for start, end in self._scrub.spans(path, data):
            if (raw := data[start:end]) not in self._read:
                self._read.add(raw)
                self._note(path, [*_items(path, raw), *(_items(path, data) if self._seeks_notes() else ())])

    def _note_lines(self, path: str, data: bytes) -> None:
        """Collect the texts of lines about a fact or a case with one of the ids."""
        for record in read_lines(data).records:
            for each in self.ids & {record.get(name) for name in ("id", "fact", "case")}:
                texts = list(_words_of(record))
                self.found.setdefault(each, (path, " ".join(texts)))
                self.texts.update(texts[-1:])
                self.sentences.update(*map(sentences_of, texts[-1:]))

    def _seeks_notes(self) -> bool:
        """Whether a memory without an id in its file is searched, which only parsing can find."""
        return any(not each.startswith("M-") and each not in self.found for each in self.ids)

    def _note(self, path: str, items: Iterable[MemoryItem]) -> None:
        for item in items:
            if item.id in self.ids:
                self.found.setdefault(item.id, (path, item.content))
                if not sums_up(item):
                    self.sentences |= sentences_of(item.content)
                if self.is_named or not sums_up(item):
                    self.texts.add(item.content)


def _words_of(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a line: the parts of a fact, or the situation of a case."""
    situation = record.get("situation")
    texts = [record.get(name) for name in ("subject", "predicate", "object")]
    texts += [situation.get("context")] if isinstance(situation, dict) else []
    return (each for each in texts if isinstance(each, str))


def _items(path: str, data: bytes) -> list[MemoryItem]:
    return [found.entry.item for found in read_log_at(path, to_text(data)).entries]


def _also_in(what: str, names: Sequence[str], hint: str) -> RefusedError:
    few = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return RefusedError(f"{len(names)} other {what}: {few}", hint=hint)
