"""The memory of one agent in one home: verbs of a line or two over the rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memfolio.clock import Clock
from memfolio.config import load_config
from memfolio.embed.embedder import Embedder
from memfolio.errors import ConflictError, EmbedderError, MemfolioError
from memfolio.govern.gate import OWNER, Gate
from memfolio.govern.once import once_for_agents
from memfolio.govern.proposal import proposable
from memfolio.governed import FORGETTER
from memfolio.index.index import Index, Progress
from memfolio.index.lookup import Located, count_memories, newest, replaced_by
from memfolio.index.search import Filter
from memfolio.intake import TURN, draft_of, one_id, text_of, turn_of
from memfolio.life import Life
from memfolio.recall.context import Context, Request, compose
from memfolio.recall.explain import Explanation
from memfolio.recall.hit import Hits
from memfolio.recall.library import Library
from memfolio.recall.query import Query
from memfolio.sources import CORRECTION
from memfolio.state import Op
from memfolio.status import Status, changes, sizes
from memfolio.stores import edit
from memfolio.stores.edit import Mended, kin_of
from memfolio.tend.tend import Attendant
from memfolio.text import counted
from memfolio.types import Attribution, Kind, MemoryItem, Origin, Store, Type, check_attribution
from memfolio.vault.change import Operation
from memfolio.vault.fields import Draft
from memfolio.vault.journal import Record
from memfolio.vault.paths import check_agent
from memfolio.vault.trail import TrailLine
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from memfolio.govern.update import Updated
    from memfolio.vault.past.past import Past

OBSERVER = Attribution(actor="bot:auto-detect", trigger="observe")
REMEMBERER = Attribution(actor="bot:trigger-remember", trigger="remember")
RECENT = 5
OWN = Filter(forms=("memory",))
"""Memories that stand for themselves, and are no passages of pages."""


class Memory(Life):
    """What one agent remembers. Threads may share it, and several processes may have one home open."""

    def __init__(
        self,
        vault: Vault,
        agent: str,
        *,
        embedder: Embedder | None = None,
        background: bool = True,
        speaker: str | None = None,
    ) -> None:
        self.agent = check_agent(agent)
        self.gate = Gate(vault, self.agent, find=lambda ids: self.library.known(ids), speaker=speaker)
        self.vault = vault.under(self.gate, self._may_read if self._is_limited() else None, speaker=speaker)
        """The vault as this agent may use it; others may share the one that it was given."""
        self.library = Library(self.vault, self.agent, embedder=embedder, background=background)
        self._origin = Origin.OWNER if self.vault.speaker == OWNER else Origin.AGENT
        is_attended = background and vault.config.learn.enabled
        self._attendant = Attendant(self._hear_others) if is_attended else None
        self._is_mirrored = background and bool(vault.config.typedb.url)
        self._mirror = self.typedb if self._is_mirrored else None

    def _is_limited(self) -> bool:
        """Whether whoever speaks here may see only what the agent reads; settings that make no sense open nothing."""
        try:
            return self.gate.is_agent
        except MemfolioError:
            return True

    def _may_read(self, path: str) -> bool:
        return self.library.may_read(path)

    @property
    def audit(self) -> Past:
        """What happened, and how to go back."""
        return self.vault.past

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        agent: str | None = None,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        background: bool = True,
        speaker: str | None = None,
    ) -> Self:
        """Open a home, creating what is missing; what is not named comes from the environment, else the defaults.

        With `background`, a thread makes vectors and another one notices edits of the files; without, both happen when
        something is asked. `embedder` takes the place of the configured one. `speaker` is "owner" where a person
        speaks through this object, "agent" where nobody may be taken for one; else changes say who makes them.
        """
        config = load_config(home, overrides={"agent": agent, "speaker": speaker})
        vault = Vault.open(config=config, clock=clock)
        try:
            return cls(vault, config.agent, embedder=embedder, background=background)
        except MemfolioError:
            vault.close()
            raise

    def observe(
        self,
        role: str,
        content: str,
        *,
        session: str | None = None,
        user: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
        source: str | None = None,
    ) -> MemoryItem:
        """Note one turn of a conversation as it happens; `source` is where its words come from, such as a web page."""
        turn = dict(zip(TURN, (role, content, session, user, at, attributes, source), strict=True))
        return self.observe_many([turn])[0]

    def observe_many(self, turns: Iterable[Mapping[str, Any]]) -> list[MemoryItem]:
        """Note many turns as one change: all of them, or none."""
        drafts = [turn_of(turn) for turn in turns]
        items = self._add(drafts, OBSERVER) if drafts else []
        if self._attendant is not None and items:
            self._attendant.saw(items[-1].session)
        return items

    @proposable("remember")
    @once_for_agents
    def remember(
        self,
        text: str,
        *,
        type: Type | str = Type.OBSERVATION,
        importance: float = 0.5,
        tags: Iterable[str] = (),
        store: Store | str = Store.LONG_TERM,
        source: str = "manual",
        key: str | None = None,
        at: datetime | None = None,
        kind: Kind | str | None = None,
        tier: Store | str | None = None,
        confidence: float = 1.0,
        session: str | None = None,
        user: str | None = None,
        origin: Origin | str | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """Keep something on purpose. `at` is when it happened; the same `key` twice is one memory.

        `tier` is another name for `store`. Whose word it is follows from who speaks, unless `origin` says otherwise.
        Without a key, an agent that says the same again on the same day gets the memory that is there.
        """
        draft = draft_of(
            content=text,
            type=type,
            importance=importance,
            tags=tags,
            store=store if tier is None else tier,
            source=source,
            key=key,
            at=at,
            kind=kind,
            confidence=confidence,
            session=session,
            user=user,
            origin=self._origin if origin is None else origin,
            valid_from=valid_from,
            valid_until=valid_until,
            attributes=attributes,
        )
        return self._add([draft], REMEMBERER, key=key)[0]

    def _add(self, drafts: Sequence[Draft], by: Attribution, *, key: str | None = None) -> list[MemoryItem]:
        self.library.attend()
        beside = self._demoted(drafts) if any(draft.store is Store.WORKING for draft in drafts) else ()
        receipt = self.vault.add(self.agent, drafts, by, key=key, beside=beside)
        if not receipt.repeated:
            return list(receipt.items)
        found = [memory for each in receipt.ids if (memory := self.get(each))]
        if len(found) < len(drafts):
            raise ConflictError(
                f"the key {key!r} was used in change {receipt.seq} for a memory that this agent has not",
                hint="use another key to remember it again",
            )
        if lost := next((memory for memory in found if memory.forgotten_at or memory.superseded_by), None):
            deed = "forgotten" if lost.forgotten_at else "corrected"
            raise ConflictError(f"the key {key!r} belongs to {lost.id}, which was {deed}", hint="use another key")
        if [memory.content for memory in found] != [draft.content for draft in drafts]:
            raise ConflictError(
                f"the key {key!r} belongs to {found[0].id}, which says something else",
                hint="use another key, or correct that memory",
            )
        return found

    def _demoted(self, drafts: Sequence[Draft]) -> tuple[Operation, ...]:
        return edit.make_room(self.library.index, self.agent, drafts, self.vault.config.stores)

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: Iterable[Kind | str] | str | None = None,
        types: Iterable[Type | str] | str | None = None,
        tags: Iterable[str] | str | None = None,
        entity: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_importance: float = 0,
        depth: int = 0,
        session: str | None = None,
        store: Store | str | None = None,
        user: str | None = None,
        include: Iterable[str] | str = (),
        level: str | None = None,
        agents: Iterable[str] | str | None = None,
    ) -> Hits:
        """The memories that answer a question, best first. Filters are exact and count before the limit.

        What is None or an empty list does not matter; an empty text is refused, so that a filter never goes missing.

        `since` and `until` are about when it happened, `valid_at` about what was true then, `as_of` about what was
        known then; a time may be text such as "last_week". `depth` also brings what the hits lead to, in up to three
        hops. `include` brings back what is out of sight: "archived", "superseded", "dormant", "quarantined"; `level`
        looks only into days or their digests: "daily", "weekly", "monthly", "quarterly". `agents` are those whose
        memory is asked, of all that this one may read.
        """
        asked = Query.from_args(
            query,
            now=self.vault.home.now(),
            zone=self.vault.home.zone,
            limit=limit,
            kinds=kinds,
            types=types,
            tags=tags,
            entity=entity,
            since=since,
            until=until,
            valid_at=valid_at,
            as_of=as_of,
            min_importance=min_importance,
            depth=depth,
            session=session,
            store=store,
            user=user,
            include=include,
            level=level,
            agents=agents,
            inline=self.vault.config.recall.inline,
            is_known=self.library.is_known,
        )
        return self.library.recall(asked)

    def context(
        self,
        prompt: str,
        *,
        budget: int | None = None,
        user: str | None = None,
        task: str | None = None,
        topics: Iterable[str] | str = (),
        include: Iterable[str] | str = (),
    ) -> str | None:
        """What an agent should have before its eyes to answer a prompt: a fenced block, None where nothing is worth it.

        It has at most `budget` tokens by estimate, else as many as the prompt calls for. `user`, `task` and `topics`
        say what is going on; `include` puts "core" memory and the latest "checkpoint" first. What was to be done when
        this time or this topic comes is in it without being asked for.
        """
        return self.compose(prompt, budget=budget, user=user, task=task, topics=topics, include=include).text

    def compose(
        self,
        prompt: str,
        *,
        budget: int | None = None,
        user: str | None = None,
        task: str | None = None,
        topics: Iterable[str] | str = (),
        include: Iterable[str] | str = (),
        known: Iterable[str] = (),
    ) -> Context:
        """`context` as a value: its text, tokens and budget, the ids of the memories in it, and what is `degraded`.

        `known` are the ids of memories that the agent has before its eyes, which are left out.
        """
        request = Request.from_args(
            self.vault, prompt, budget=budget, user=user, task=task, topics=topics, include=include, known=known
        )
        return compose(self.library, self.vault, self.agent, request, self._reminded)

    def get(self, id: str) -> MemoryItem | None:
        """The memory with this id, also from the archive: its `fate` says why it is there.

        None when this agent has none such; `explain` raises an error that says whether it ever had.
        """
        found = self.find(id)
        return found.item if found else None

    def find(self, id: str) -> Located | None:
        """The memory with this id and the file it stands in; None when this agent has none such."""
        found = self.library.locate(id)
        return self.library.with_fate(found[1]) if found else None

    @proposable("forget")
    def forget(self, what: str, *, every: bool = False, dry_run: bool = False, by: Attribution = FORGETTER) -> Mended:
        """Cut a memory out of its log into the archive and leave a tombstone, so that it stays forgotten.

        What was made of it alone goes along, and so do a summary that tells of it and the lines of pages that cite it,
        all as one change.

        `what` is an id, or a description: then the memory that has all its words is meant, or with `every` all of them;
        a shared one only where none of the agent's own fits. To an agent a description only shows all that fit, until
        it names the id of one. `dry_run` only shows what would go.
        """
        from memfolio.tend.digest import without_citations

        by = check_attribution(by)
        named = self.library.locate(one_id(what))
        is_shown = named is None and self.gate.acts_as_agent
        described = [named] if named else self._described(what, every=every or is_shown)
        dry_run = dry_run or is_shown
        meant = [each for found in described for each in self._versions(*found)]
        once = {each.item.id: (index, each) for index, each in meant}
        kin = kin_of(meant[0][0], [*once])
        once |= {name: found for name in kin.going if (found := self.library.locate(name))}
        with_places = [(each, self.library.places(index, each.item.id)) for index, each in once.values()]
        # What one of them took the place of without being its correction holds again.
        newer = [each.item.id for _, each in once.values() if each.item.source != CORRECTION]
        lifted = [old for old in meant[0][0].read(partial(replaced_by, ids=newer)) if old not in once]
        pages = partial(without_citations, self.vault, meant[0][0], [*once])
        mended = edit.forget(self.vault, with_places, by, freed=kin.freed, lifted=lifted, pages=pages, dry_run=dry_run)
        return replace(mended, hint=edit.BY_ID) if is_shown else mended

    def _versions(self, index: Index, found: Located) -> list[tuple[Index, Located]]:
        """A memory and all that it corrected: who forgets a thing does not want its old form back."""
        earlier = [self.library.locate(item.id) for item in self._corrected(index, found)]
        return [(index, found), *(each for each in earlier if each and each[1].item.forgotten_at is None)]

    def _corrected(self, index: Index, found: Located) -> list[MemoryItem]:
        kept, newer = list[MemoryItem](), found.item
        for item in self.library.explain(index, found).supersedes if newer.source == CORRECTION else ():
            if newer.source != CORRECTION:
                break
            kept.append(item)
            newer = item
        return kept

    def _described(self, what: str, *, every: bool) -> list[tuple[Index, Located]]:
        """The memories that a description means."""
        described = self.library.described(what)
        if not described:
            raise self.library.not_found(what)
        if len(described) > 1 and not every:
            ids = ", ".join(each.item.id for _, each in described[:5])
            raise ConflictError(
                f"{len(described)} memories fit {what[:60]!r}: {ids}", hint="name one of them by its id"
            )
        return described

    @proposable("restore")
    def restore(self, id: str, *, dry_run: bool = False, by: Attribution | None = None) -> Mended:
        """Bring back a memory that was forgotten or archived."""
        index, found = self._located(id)
        paths = self.library.places(index, found.item.id)
        return edit.restore(self.vault, found, paths, _by(by, FORGETTER, "restore"), dry_run=dry_run)

    def correct(self, id: str, text: str, *, base: str | None = None, by: Attribution | None = None) -> MemoryItem:
        """Remember `text` in the place of a memory that is wrong; that one is superseded and stays readable.

        It takes the place of what was made of that one, too. What somebody else changed meanwhile is kept beside it, as
        far as the two do not overlap: `base` is what the writer saw, else what the memory that is named says.
        """
        return self.update(id, text, base=base, by=by).memory

    @proposable("correct")
    def update(self, id: str, text: str, *, base: str | None = None, by: Attribution | None = None) -> Updated:
        """`correct`, with all that came of it: what was merged, contradicted and superseded, and the difference.

        Raises EditConflictError where two edits overlap.
        """
        from memfolio.govern.update import update

        text, by = text_of(text), _by(by, REMEMBERER, "correct")
        _, found = self._located(id)
        self.library.attend()
        return update(self.vault, self.library, found, text, by, base=base)

    @proposable("confirm")
    def confirm(self, id: str, *, by: Attribution | None = None) -> MemoryItem:
        """Say that a memory is right: it is certain from then on and does not fade."""
        return self._note(id, {"op": Op.CONFIRM.value}, _by(by, REMEMBERER, "confirm"))

    @proposable("pin")
    def pin(self, id: str, *, pinned: bool = True, by: Attribution | None = None) -> MemoryItem:
        """Keep a memory from fading and from being archived, or with `pinned=False` let it go again."""
        return self._note(id, {"op": Op.PIN.value, "pinned": pinned}, _by(by, REMEMBERER, "pin"))

    def _note(self, id: str, line: Mapping[str, Any], by: Attribution) -> MemoryItem:
        _, found = self._located(id)
        self.library.attend()
        edit.note(self.vault, found, line, by)
        return self._located(id)[1].item

    def explain(self, id: str) -> Explanation:
        """Where a memory comes from, what it replaced or what replaced it, and who did what to it since."""
        index, found = self._located(id)
        return replace(self.library.explain(index, found), events=tuple(self.library.events(found.item.id)))

    def _located(self, id: str) -> tuple[Index, Located]:
        found = self.library.locate(one_id(id))
        if found is None:
            raise self.library.not_found(id)
        return found

    def status(self) -> Status:
        """How the home is doing, in numbers; to an agent, what it may read of it."""
        vault, index = self.vault, self.library.index
        short_term = self.library.short_term(vault.home.now())
        waiting = vault.commit()
        embedder = self.library.meaning.embedder
        return Status(
            home=vault.config.home,
            agent=self.agent,
            memories=(counts := index.read(lambda connection: count_memories(connection, short_term))).memories,
            changes=changes(vault),
            waiting=len(vault.waiting()) if waiting else 0,
            obstacle=vault.obstacle if waiting else None,
            alerts=len(vault.alerts()),
            proposals=len(self.proposals.pending()),
            reflection=self.reflections.pending() is not None,
            due=self._agenda(),
            problems=self._problems(),
            trouble=vault.trouble.message if vault.trouble else None,
            counts=counts,
            bytes=sizes(vault),
            embedder=embedder.name if embedder else "none",
            recent=tuple(each.item for each in index.read(lambda connection: newest(connection, OWN, RECENT))),
            degraded=(
                *self.library.degraded(),
                *self._troubles(),
                *(f"configuration: {what}; {hint}" for what, hint in vault.config.problems),
            ),
        )

    def _problems(self) -> dict[str, str]:
        """What cannot be read as it should, by its path: files as such first, then what pages say."""
        vault = self.vault
        return {**self._misread(), **{path: each for path, each in vault.problems.items() if vault.shows(path)}}

    def sync(self, *, embed: bool = False) -> list[str]:
        """Record what people and other programs did to the files, and index it; returns the files that had changed.

        With `embed`, every vector that is missing is made before it returns; EmbedderError says why that cannot be.
        Where there is no embedder, there is nothing to make.
        """
        changed = self.vault.survey()
        for index in self.library.indexes():
            index.catch_up()
        done = self.library.embed() if embed and self.library.meaning.embedder is not None else None
        if done and done.missing:
            raise EmbedderError(
                f"{counted(done.missing, 'memory', 'memories')} could not be embedded: {done.degraded or 'try again'}",
                hint="they are found by their words; `memfolio tend` embeds what is missing",
            )
        return list(filter(self.vault.shows, changed))

    def reindex(self, progress: Progress | None = None) -> int:
        """Build the index anew from the files; returns how many files it holds."""
        return self.library.rebuild(progress or (lambda done, total: None))

    def subscribe(self, callback: Callable[[TrailLine], None]) -> None:
        """Have `callback` called with every change this process makes or finds. It holds up the writer: be quick."""

        def tell(record: Record) -> None:
            for line in self.vault.told([record.line]):
                callback(line)

        self.vault.subscribe(tell)

    def close(self) -> None:
        """Bring what waits into git and let go of the home."""
        if self._attendant is not None:
            self._attendant.close()
        if self._mirror is not None:
            self._mirror.close()
        self.library.close()
        self.vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _by(given: Attribution | None, default: Attribution, trigger: str) -> Attribution:
    return replace(default, trigger=trigger) if given is None else check_attribution(given)
