"""What accepted items of a reflection do, as the operations of one change; what cannot be done any more is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, cast

from memfolio.errors import ConflictError, InputError, NotFoundError
from memfolio.govern.reflection.item import Item, Verb
from memfolio.govern.reflection.knowledge import read
from memfolio.graph.merge import merged
from memfolio.graph.page import RELATIONS, EntityText, Written, page_bytes, read_text, relation_line
from memfolio.graph.registry import overview
from memfolio.index.conversations import turns_of
from memfolio.index.days import local_day
from memfolio.index.graph import Node, nodes, ties
from memfolio.index.lookup import Located
from memfolio.learn.drafting import drafted, moment
from memfolio.learn.learned import Statement
from memfolio.learn.resolve import Reference
from memfolio.recall.library import Library
from memfolio.sources import REFLECTION
from memfolio.state import Op
from memfolio.stores.core import Core
from memfolio.stores.corepage import ACTIVE, CorePage
from memfolio.stores.extract import resolved, said_again
from memfolio.types import Attribution, Kind, MemoryItem
from memfolio.vault.change import AddEntries, NewId, Operation, Page, PutPage
from memfolio.vault.format.draft import Draft, check_text
from memfolio.vault.move import STOOD, Move, compose_cut
from memfolio.vault.paths import agent_of, archive_log, day_log, ledger_of
from memfolio.vault.vault import Vault

Places = dict[str, list[str]]


class _Ahead:
    """The pages of entities as they will be; for who only asks it for pages and configuration, it is a vault."""

    def __init__(self, vault: Vault, paths: Mapping[str, str]) -> None:
        self.config, self._vault, self._paths = vault.config, vault, paths
        self.puts: dict[str, PutPage] = {}

    def page(self, path: str) -> Page | None:
        put = self.puts.get(path)
        if put is None:
            return self._vault.page(path)
        return None if put.content is None else Page(path, put.content, self._vault.home.hash(put.content))

    def put(self, path: str, content: bytes | None) -> None:
        before = self._vault.page(path)
        self.puts[path] = PutPage(path, content, before.hash if before else None)

    def entity(self, id: str) -> tuple[Written, Node]:
        page = self.page(self._paths[id]) if id in self._paths else None
        written = Written(path=page.path, text=read_text(page.content)) if page else None
        node = written.node if written else None
        if written is None or node is None:
            raise NotFoundError(f"there is no page about {id}")
        return written, node

    @property
    def written(self) -> dict[str, Written | None]:
        """What was put, by the ids of the entities; None is a page that goes."""
        ids = {path: entity for entity, path in self._paths.items()}
        return {ids[path]: self.entity(ids[path])[0] if put.content else None for path, put in self.puts.items()}


class Application:
    """Turns items into operations, one verb after the other."""

    def __init__(self, vault: Vault, library: Library, agent: str, by: Attribution, now: datetime) -> None:
        self._vault, self._library, self._agent, self._by, self._now = vault, library, agent, by, now
        self.skipped: dict[int, str] = {}
        """Why items of these numbers are not among the operations."""
        self.records: list[Mapping[str, Any]] = []
        """The lines for the agent's state."""

    def compose(self, items: Mapping[int, Item]) -> tuple[Operation, ...]:
        """The operations of all items that can be done. RefusedError where core memory would be too long."""
        sound = {number: item for number, item in items.items() if self._is_sound(number, item)}

        def of(*verbs: Verb) -> dict[int, Item]:
            return {number: item for number, item in sound.items() if item.verb in verbs}

        learned = self._resolved(of(Verb.LEARN))
        new = {known: (item, said) for item, said, known in reversed(learned) if isinstance(known, NewId)}
        places = self._places(of(Verb.ARCHIVE), writes_today=bool(new))
        drafts = tuple(self._draft(*new[known], places) for known in sorted(new, key=lambda each: each.index))
        replaced: list[tuple[str, Reference]]
        replaced = [(each.memory, each.by) for each in of(Verb.RESOLVE).values()]
        replaced += [(item.memory, by) for item, _, by in learned if item.memory != by and self._is_there(item)]
        self.records += [{"op": Op.SUPERSEDE.value, "memory": old, "by": new} for old, new in replaced]
        return (
            *([AddEntries(self._agent, drafts)] if drafts else []),
            *self._core(of(Verb.CORE)),
            *self._archive(places),
            *self._graph(of(Verb.CONNECT, Verb.MERGE)),
        )

    def _is_sound(self, number: int, item: Item) -> bool:
        if item.verb is Verb.LEARN and not item.sources:
            self.skipped[number] = "nothing is left of what it was learned from"
        named = () if item.verb is Verb.LEARN else (item.memory, item.by)
        for each in (*item.sources, *filter(None, named)):
            located = self._located(each)
            if trouble := self._trouble(item, located) if located else "is not there any more":
                self.skipped[number] = f"{each} {trouble}"
        return number not in self.skipped

    def _is_there(self, item: Item) -> bool:
        """Whether the memory that an item names is one that something can be done with."""
        located = self._located(item.memory) if item.memory else None
        return located is not None and not self._trouble(item, located)

    def _trouble(self, item: Item, located: Located) -> str:
        """Why nothing can be done with a memory."""
        if located.item.forgotten_at:
            return "was forgotten"
        if located.item.superseded_by:
            return f"was replaced by {located.item.superseded_by}"
        if located.archived:
            return "is in the archive"
        if located.item.id != item.memory:
            return ""
        if located.form != "memory" or agent_of(located.path) != self._agent:
            return f"is not a memory of {self._agent}'s own"
        return "was pinned" if item.verb is Verb.ARCHIVE and located.item.pinned else ""

    def _located(self, id: str) -> Located | None:
        found = self._library.locate(id)
        return found[1] if found else None

    def _resolved(self, items: Mapping[int, Item]) -> list[tuple[Item, Statement, Reference]]:
        """What is learned by each item: something new, or what was learned meanwhile and says the same.

        That is decided as for conversations that are over, since they may have taught it while the reflection waited.
        """
        said = self._said(items.values())
        # A copy each, by which it is found again: several items may say the same.
        statements = {number: replace(said.get(item.text) or _stated(item)) for number, item in items.items()}
        told = [(statements[number], max(map(moment, self._sources(item)))) for number, item in items.items()]
        resolution = resolved(self._library.index, told, "keep")
        known: dict[int, Reference] = {id(each): NewId(at) for at, each in enumerate(resolution.kept)}
        known |= {id(each): ref for ref, each in resolution.repeated}
        found = []
        for number, item in items.items():
            if (ref := known.get(id(statements[number]))) is None:
                self.skipped[number] = "it was forgotten after it was said"
                continue
            found.append((item, statements[number], ref))
        for ref, statement in resolution.repeated:
            self._link(ref, next(item for item, each, _ in found if each is statement))
        return found

    def _link(self, known: Reference, item: Item) -> None:
        """Note where else something known was said."""
        located = self._located(known) if isinstance(known, str) else None
        told = located.item.derived_from if located else ()
        if sources := [each.id for each in self._sources(item) if each.id not in told]:
            self.records += said_again(known, sources)

    def _sources(self, item: Item) -> list[MemoryItem]:
        return [located.item for each in item.sources if (located := self._located(each))]

    def _said(self, items: Iterable[Item]) -> dict[str, Statement]:
        """What the rules read in the conversations that items were learned from, by its words."""
        sources = [each for item in items for each in self._sources(item)]
        talks = {each.session for each in sources if each.session and each.role}
        turns = [each for talk in talks for each in self._library.index.read(partial(turns_of, session=talk))]
        episodes = {each.id: each for each in (*(turn.item for turn in turns), *sources)}
        return {statement.text: statement for statement, _ in read(sorted(episodes.values(), key=moment))}

    def _draft(self, item: Item, said: Statement, places: Places) -> Draft:
        sources = self._sources(item)
        at = max(map(moment, sources), default=None)
        if at and self._log_base(at) in map(_base, places):  # a change writes each file once, and that one is cut
            at = None
        return drafted(said, sources, source=REFLECTION)._replace(
            type=item.type,
            kind=Kind.SEMANTIC,  # also a decision is known from then on, and not an episode to learn from
            confidence=item.confidence,
            event_time=at,
        )

    def _log_base(self, at: datetime) -> str:
        return day_log(self._agent, local_day(at, self._vault.home.zone)).base

    def _core(self, items: Mapping[int, Item]) -> Iterator[Operation]:
        def compose(page: CorePage) -> str:
            for number, item in items.items():
                try:
                    before, page = page, _rewritten(page, item)
                except (NotFoundError, ConflictError, InputError) as error:
                    self.skipped[number] = error.message
                    continue
                let_go = _pinned(before, item) - _pinned(page, item)
                self.records += [{"op": Op.PIN.value, "memory": each, "pinned": False} for each in sorted(let_go)]
            return page.text

        _, put = Core(self._vault, self._agent).composed(compose, ACTIVE)
        if put is not None:
            yield put

    def _places(self, items: Mapping[int, Item], *, writes_today: bool) -> Places:
        """The logs that memories are cut out of, less those that stand where the change writes, or no longer there."""
        found: Places = {}
        today = self._log_base(self._now)
        for number, item in items.items():
            logs = [path for path in self._library.places(self._library.index, item.memory) if ledger_of(path)]
            if writes_today and today in map(_base, logs):
                self.skipped[number] = f"{item.memory} stands in today's log, which this reflection writes to"
                continue
            try:
                self._cut({path: [item.memory] for path in logs})
            except NotFoundError as error:
                self.skipped[number] = error.message
                continue
            for path in logs:
                found.setdefault(path, []).append(item.memory)
        return found

    def _cut(self, places: Places) -> tuple[dict[str, Page | None], Move]:
        pages = {path: self._vault.page(path) for log in places for path in (log, archive_log(log))}
        files = {path: page.content if page else None for path, page in pages.items()}
        return pages, compose_cut(files, places, self._vault.home.hash)

    def _archive(self, places: Places) -> Iterator[Operation]:
        pages, move = self._cut(places)
        for memory in dict.fromkeys(each for ids in places.values() for each in ids):
            stood = [place.as_record() for place in move.stood.get(memory, ())]
            self.records.append({"op": Op.ARCHIVE.value, "memory": memory} | ({STOOD: stood} if stood else {}))
        for path, content in move.files.items():
            page = pages[path]
            yield PutPage(path, content, page.hash if page else None)

    def _graph(self, items: Mapping[int, Item]) -> Iterator[Operation]:
        """Relations on the pages of entities, then merges, each on the pages as they will be, then the overview."""
        if not items:
            return
        index = self._library.index
        known, drawn = index.read(lambda db: (nodes(db), ties(db)))
        paths = {node.id: node.path for node in known}
        ahead = _Ahead(self._vault, paths)
        for number, item in sorted(items.items(), key=lambda each: each[1].verb is Verb.MERGE):
            try:
                if item.verb is Verb.CONNECT:
                    _connect(ahead, item)
                    continue
                keep, other = (ahead.entity(each)[1] for each in (item.subject, item.object))
                for put in merged(cast(Vault, ahead), index, keep, other, self._by).operations:
                    if isinstance(put, PutPage) and put.path in paths.values():
                        ahead.put(put.path, put.content)
            except (NotFoundError, ConflictError) as error:
                self.skipped[number] = error.message
        yield from ahead.puts.values()
        if ahead.puts:
            yield from overview(self._vault, self._agent, known, drawn, ahead.written)


def _stated(item: Item) -> Statement:
    """What an item says in a person's words, which the rules did not read anywhere."""
    return Statement(text=check_text(item.text), type=item.type, kind=Kind.SEMANTIC, turns=())


def _base(path: str) -> str:
    found = ledger_of(path)
    return found[0].base if found else path


def _rewritten(page: CorePage, item: Item) -> CorePage:
    """The page with the lines of an item; NotFoundError where one that goes does not stand there as it did."""
    for line in item.removed:
        if not page.has(item.text, line):
            raise NotFoundError(f"{item.text} has no line {line[:60]!r} any more")
        page = CorePage(page.removing(page.meant(item.text, line)))
    for line in item.added:
        if not page.has(page.named(item.text), line):
            page = CorePage(page.adding(item.text, line))
    return page


def _pinned(page: CorePage, item: Item) -> set[str]:
    """The memories that lines of a block were pinned from."""
    return {line.id for line in page.items(item.text) if line.id}


def _connect(ahead: _Ahead, item: Item) -> None:
    page, _ = ahead.entity(item.subject)
    ahead.entity(item.object)  # NotFoundError where somebody removed it
    text = EntityText(page.text)
    if (item.predicate, item.object) in text.relations():
        raise ConflictError(f"{item.subject} has that relation already")
    text.add(RELATIONS, [relation_line(item.predicate, item.object)])
    ahead.put(page.path, page_bytes(text.text))
