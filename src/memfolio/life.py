"""The life of a memory after it was made: verbs of a line or two over the rooms that consolidate, tend and forget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.doing import Doing
from memfolio.errors import RefusedError
from memfolio.govern.proposal import proposable
from memfolio.index.lookup import Located
from memfolio.intake import ANY_ID, one_id
from memfolio.policy import Deed
from memfolio.recall import query
from memfolio.text import counted
from memfolio.types import Attribution, MemoryItem, check_attribution, check_token
from memfolio.vault.paths import SHARED, agent_of

if TYPE_CHECKING:  # what tends is loaded when somebody asks for it
    from memfolio.graph.graph import Graph
    from memfolio.index.maintenance import Below, Weak
    from memfolio.mind.heartbeat import BdiCycleResult
    from memfolio.stores.core import Core
    from memfolio.stores.edit import Mended
    from memfolio.stores.flush import Flushed
    from memfolio.stores.session_context import AgentContext
    from memfolio.stores.triggers import Heeded
    from memfolio.tend.backup import BackedUp
    from memfolio.tend.consolidate import Consolidated
    from memfolio.tend.digest import Built
    from memfolio.tend.hand import Hand
    from memfolio.tend.retention import Retained
    from memfolio.tend.sessions import SessionResult
    from memfolio.tend.tend import Attendant, Tending, Told
    from memfolio.vault.purge.purge import Purged

PURGER = Attribution(actor="bot:trigger-forget", trigger="purge")
ARCHIVER = Attribution(actor="bot:trigger-forget", trigger="archive")
USER = Attribution(actor="bot:auto-detect", trigger="used")
MANY = 10**6
"""More than anybody asks for."""


class Life(Doing):
    """What every `Memory` can do beside noting and finding."""

    _attendant: Attendant | None

    def consolidate(
        self,
        *,
        dry_run: bool = False,
        min_importance: float | None = None,
        min_access_count: int | None = None,
        summarize: bool | None = None,
    ) -> Consolidated:
        """Promote what proved important to long-term memory, and sum up what belongs together, as one change.

        Nothing is lost: the sources stay in their logs. What is None is as the home has it set.
        """
        from memfolio.tend.consolidate import consolidate

        usual = self.vault.config.consolidate
        settings = replace(
            usual,
            importance=usual.importance
            if min_importance is None
            else query.check_fraction("min_importance", min_importance),
            uses=usual.uses
            if min_access_count is None
            else query.check_number("min_access_count", min_access_count, 1, MANY),
            summarize=usual.summarize if summarize is None else summarize,
        )
        with self._tending(dry_run=dry_run) as hand:
            return consolidate(hand, self.library.index, settings, self._model)

    def tend(
        self,
        *,
        jobs: Sequence[str] = (),
        sessions: Sequence[str] = (),
        dry_run: bool = False,
        told: Told | None = None,
    ) -> Tending:
        """Look after the memory: run what is due by the clock, or these jobs at once; `dry_run` only shows it.

        With `sessions`, these conversations are over, and are learned from.
        """
        from memfolio.tend.tend import tend

        return tend(
            self.vault,
            self.library,
            self.agent,
            model=self._model,
            proposals=self.proposals,
            reflect=self._reflected,
            jobs=jobs,
            sessions=sessions,
            dry_run=dry_run,
            told=told or (lambda job, done, total: None),
        )

    def digest(
        self,
        levels: Iterable[str] = ("weekly", "monthly", "quarterly"),
        *,
        since: datetime | None = None,
        current: bool = False,
        dry_run: bool = False,
    ) -> tuple[Built, Hand]:
        """Write the digests that are missing or differ from their days, and return them with the hand that did it.

        Only of periods that end at `since` or later; with `current`, also of those that are not over.
        """
        from memfolio.index.maintenance import local_day
        from memfolio.tend.digest import build

        hand, zone = self._hand(dry_run=dry_run), self.vault.home.zone
        begins = local_day(since, zone) if since else None
        model = None if dry_run else self._model
        built = build(hand, self.library.index, levels=tuple(levels), since=begins, current=current, model=model)
        return built, hand

    def heartbeat(self, *, dry_run: bool = False) -> BdiCycleResult:
        """Bring the mind up to date: what is over, what is wanted most, what is believed and contradicts itself.

        Weeks that are over are summed up. `dry_run` only shows what would change.
        """
        from memfolio.mind.heartbeat import beat
        from memfolio.tend.digest import build

        with self._tending(dry_run=dry_run) as hand:

            def digest(since: date) -> str:
                return counted(len(build(hand, self.library.index, levels=("weekly",), since=since).paths), "digest")

            return replace(beat(hand, self.library, digest), diff=hand.diff)

    def end_session(self, session: str, *, dry_run: bool = False) -> SessionResult | None:
        """A conversation is over: learn from it. None where there is nothing in it that was not learned from.

        What was learned and undone is learned once more.
        """
        from memfolio.tend.sessions import Ended, hear_out

        ended = Ended(only=[check_token("session", query.check_text("session", session))], is_over=True, again=True)
        with self._tending(dry_run=dry_run) as hand:
            heard = hear_out(hand, self.library.index, self.vault.config.learn, ended, model=self._model)
        if heard and not dry_run:
            self._reflect_if_due()
        return heard[0] if heard else None

    @cached_property
    def core(self) -> Core:
        """Core memory, MEMORY.md: what an agent always has before its eyes."""
        from memfolio.govern.rooms import GovernedCore

        return GovernedCore(self.vault, self.agent, find=self._find, gate=self.gate, propose=self._propose)

    @cached_property
    def graph(self) -> Graph:
        """People and things, and how they are related."""
        from memfolio.graph.graph import Graph

        return Graph(self.vault, self.library, self.agent)

    def checkpoint(
        self,
        context: str,
        *,
        decisions: Iterable[str] = (),
        findings: Iterable[str] = (),
        next_steps: Iterable[str] = (),
        open_questions: Iterable[str] = (),
        session: str | None = None,
    ) -> str:
        """Note where work stands, so that it can be taken up again; returns the path of the page."""
        from memfolio.stores.checkpoint import BY, Checkpoint, write

        checkpoint = Checkpoint.from_args(
            context, decisions=decisions, findings=findings, next_steps=next_steps, open_questions=open_questions
        )
        by = replace(BY, session=session)
        return write(self.vault, self.agent, checkpoint, now=self.vault.home.now(), by=by).path

    def should_flush(
        self, tokens: int, *, compaction: int = 0, session: str | None = None, window: int | None = None
    ) -> bool:
        """Whether an agent whose context has so many tokens should save what it knows: once before each compaction."""
        from memfolio.stores.flush import flush_due

        settings = self.vault.config.flush
        return flush_due(self.library.index, settings, tokens, compaction=compaction, session=session, window=window)

    def flush(
        self,
        transcript: object,
        *,
        session: str | None = None,
        user: str | None = None,
        compaction: int | None = None,
        source: str | None = None,
        dry_run: bool = False,
    ) -> Flushed:
        """Save what a transcript tells, as memories and a checkpoint, before it is compacted; the same one once.

        `undo` takes all of it back by its `source`.
        """
        from memfolio.learn.ask import learn_by_model
        from memfolio.stores.flush import BY, flush

        self.library.attend()
        return flush(
            self.vault,
            self.agent,
            transcript,
            now=self.vault.home.now(),
            index=self.library.index,
            learn=partial(learn_by_model, self._model) if self._model else None,
            session=session,
            user=user,
            compaction=compaction,
            by=replace(BY, source=source),
            dry_run=dry_run,
        )

    def load_context(self, user: str | None = None, *, session: str | None = None) -> AgentContext:
        """Everything that an agent should know when a conversation begins."""
        from memfolio.stores.session_context import load_context

        now = self.vault.home.now()
        context = load_context(self.vault, self.library, self.agent, now=now, user=user, session=session)
        reminders = self._agenda(" ".join(filter(None, (context.task, *context.topics))))
        return replace(context, proposals=self.proposals.for_context(), reminders=reminders)

    def save_context(
        self,
        *,
        session: str | None = None,
        user: str | None = None,
        task: str | None = None,
        task_history: Iterable[str] = (),
        topics: Iterable[str] = (),
        scratchpad: Mapping[str, Any] | None = None,
    ) -> SessionResult | None:
        """Keep what the next conversation should begin with, and learn from this one, which is over."""
        from memfolio.stores.session_context import save_context

        save_context(
            self.vault,
            self.agent,
            session=session,
            user=user,
            task=task,
            task_history=task_history,
            topics=topics,
            scratchpad=scratchpad,
        )
        return self.end_session(session) if session else None

    def episode(
        self,
        description: str,
        *,
        episode_type: str,
        importance: float | str | None = None,
        context: Mapping[str, Any] | None = None,
        related: Iterable[str] = (),
        session: str | None = None,
        at: datetime | None = None,
        source: str | None = None,
    ) -> MemoryItem:
        """Note something that happened, of a type such as `error` or `decision`, with the `context` that it had then.

        The importance may be HIGH, MEDIUM or LOW, 1 to 10, or a share of 1; without one it follows from the type.
        """
        from memfolio.stores.episode import episode_of

        self.library.attend()
        found = episode_of(
            description,
            episode_type=episode_type,
            importance=importance,
            context=context,
            related=related,
            session=session,
            at=at,
            source=source,
        )
        return self.vault.apply(found.change(self.agent)).items[0]

    def heed(self, text: str, *, session: str | None = None, user: str | None = None) -> Heeded | None:
        """Do what a person asks for in a message, such as "remember that …"; None where they ask for nothing of it.

        What would be forgotten is only shown: `forget` it by its id once they agree.
        """
        from memfolio.stores.triggers import Heeded, TriggerRequest, detect, heed

        trigger = detect(query.check_text("text", text), self.vault.config.triggers)
        if trigger is None:
            return None
        if trigger.kind is TriggerRequest.REFLECT:
            return Heeded(trigger=trigger, notes=(self._reflected(False) or "there is nothing to propose",))
        self.library.attend()
        return heed(
            self.vault,
            self.library,
            self.agent,
            self.core,
            trigger,
            model=self._model,
            session=session,
            user=user,
        )

    def used(self, ids: Iterable[str] | str, *, by: Attribution = USER) -> None:
        """Say that these memories were opened, cited or relied on, which keeps them awake; being found does not."""
        from memfolio.tend.retention import used

        self.library.attend()
        given = [query.check_text("an id", each) for each in ([ids] if isinstance(ids, str) else ids)]
        places = [(each, found.path) for each in given if (found := self._find(each))]
        for agent in (self.agent, SHARED):  # what is only read is for its own agent to keep awake
            if mine := [each for each, path in places if agent_of(path) == agent]:
                used(self.vault, agent, mine, by)

    def weak(self, limit: int = 20) -> list[Weak]:
        """The facts of which least is left, weakest first; `confirm` keeps one, `forget` lets it go."""
        from memfolio.index.maintenance import weak
        from memfolio.index.rows import to_us

        most, now, decay = (
            query.check_number("limit", limit, 1, MANY),
            to_us(self.vault.home.now()),
            self.vault.config.decay,
        )
        return self.library.index.read(lambda connection: weak(connection, now, decay, most))

    @proposable("archive")
    def archive(
        self, id: str | None = None, *, below: Below | None = None, dry_run: bool = False, by: Attribution | None = None
    ) -> Mended | Retained:
        """Move a memory to the archive, or whatever is past its time or below a score; `restore` brings it back."""
        from memfolio.tend.retention import RETAINER, archive_one, retain

        if id is None:
            return retain(self._hand(dry_run=dry_run), self.library.index, below, by or RETAINER)
        found = self.library.locate(one_id(id))
        if found is None:
            raise self.library.not_found(id)
        paths = self.library.places(found[0], found[1].item.id)
        return archive_one(self.vault, found[1], paths, by or ARCHIVER, dry_run=dry_run)

    def purge(self, *what: str, dry_run: bool = False, quotes: str = "refuse", by: Attribution = PURGER) -> Purged:
        """Destroy memories, named by id or description: in files, archive, history and index; nothing undoes it.

        `quotes` says what happens to other memories that have the same words: "refuse", "purge" or "keep". What is
        left anywhere is in the proof of the answer. To an agent a description only shows what would go.
        """
        from memfolio.stores.edit import purge

        self.gate.check(Deed.PURGE, check_attribution(by))
        if self.gate.acts_as_agent and not all(ANY_ID.fullmatch(one_id(each)) for each in what):
            dry_run = True
        return purge(self.vault, self.library, what, by, dry_run=dry_run, quotes=quotes)

    def backup(self, folder: str | Path | None = None, *, keep: int | None = None, dry_run: bool = False) -> BackedUp:
        """Copy the whole home to a folder, else to the configured one, and drop the oldest copies beyond `keep`."""
        from memfolio.tend.backup import back_up, backup_folder

        if self.gate.is_agent:
            raise RefusedError("an agent cannot copy the whole home", hint="let the owner make the backup")
        target = backup_folder(self.vault, None if folder is None else Path(folder))
        most = self.vault.config.backup.keep if keep is None else keep
        return back_up(self.vault, target, most, self.vault.home.now(), dry_run=dry_run)

    def _find(self, id: str) -> Located | None:
        found = self.library.locate(id)
        return found[1] if found else None

    def _hear_others(self, current: str) -> None:
        """Learn from the conversations that are over since this one has begun."""
        from memfolio.tend.sessions import Ended, hear_out

        attendant, ended = self._attendant, Ended(besides=current, is_over=True)
        with self._tending(patience=0) as hand:
            hear_out(
                hand,
                self.library.index,
                self.vault.config.learn,
                ended,
                model=self._model,
                enough=lambda: attendant is not None and attendant.is_closed,
            )

    @contextmanager
    def _tending(self, *, dry_run: bool = False, patience: float | None = None) -> Iterator[Hand]:
        """A hand that nobody else's comes in the way of; who tends already is waited for as for a writer."""
        from memfolio.tend.tend import alone

        patience = self.vault.config.lock_timeout if patience is None else patience
        with alone(self.vault, dry_run=dry_run, patience=patience):
            yield self._hand(dry_run=dry_run)

    def _hand(self, *, dry_run: bool) -> Hand:
        from memfolio.tend.hand import Hand

        self.library.attend()
        return Hand(vault=self.vault, agent=self.agent, now=self.vault.home.now(), dry_run=dry_run)
