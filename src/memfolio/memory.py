"""The memory of one agent in one home: verbs of a line or two over the rooms that do the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memfolio.arguments import ANY_ID, TURN, check_string, draft_of, ids_in, one_id, text_of, turn_of
from memfolio.clock import Clock
from memfolio.config import Config, again, load_config
from memfolio.embed.embedder import Embedder
from memfolio.errors import MemfolioError, RefusedError
from memfolio.govern.gate import Gate, once_for_agents, proposable
from memfolio.govern.proposals import PROPOSER, ProposableVerbs, Proposal
from memfolio.index.index import Progress
from memfolio.index.lookup import Located
from memfolio.index.rows import to_us
from memfolio.policy import Deed
from memfolio.recall.context import Context, Request, compose
from memfolio.recall.explain import Explanation
from memfolio.recall.hit import Hits
from memfolio.recall.query import Query, check_number, telling
from memfolio.recall.searcher import Searcher
from memfolio.rooms import Rooms, for_owner, method_named
from memfolio.state import Op
from memfolio.status import Cost, Status, cost_of, status_of
from memfolio.stores import edit
from memfolio.stores.edit import ARCHIVER, FORGETTER, PURGER, REMEMBERER, EditResult
from memfolio.tend.tend import Attendant, job_changes, tend, tending
from memfolio.text import counted
from memfolio.types import Approval, Attribution, Kind, MemoryItem, Origin, Store, Type, check_attribution, check_token
from memfolio.vault.fields import Draft
from memfolio.vault.git.project import Project, project_of
from memfolio.vault.journal import Record, TrailLine
from memfolio.vault.paths import check_agent
from memfolio.vault.vault import OWNER, Vault

if TYPE_CHECKING:  # a room is loaded when somebody asks for it
    from memfolio.govern.reflection.reflections import Pending
    from memfolio.govern.undo import Undone
    from memfolio.govern.update import Updated
    from memfolio.knowledge.ontology.ontology import Added
    from memfolio.knowledge.ontology.term import Term
    from memfolio.knowledge.rule import Rule
    from memfolio.knowledge.verify import GuessedFact, Verification
    from memfolio.mind.heartbeat import BdiCycleResult
    from memfolio.stores.flush import Flushed
    from memfolio.stores.session_context import AgentContext
    from memfolio.stores.triggers import ActedOn
    from memfolio.tend.backup import BackedUp
    from memfolio.tend.changes import JobChanges
    from memfolio.tend.consolidate import Consolidated
    from memfolio.tend.digest import Built
    from memfolio.tend.lessons import Lesson
    from memfolio.tend.retention import Below, Retained, Weak
    from memfolio.tend.sessions import SessionResult
    from memfolio.tend.tend import OnProgress, Tending
    from memfolio.vault.purge.purge import Purged

OBSERVER = Attribution(actor="bot:auto-detect", trigger="observe")
USER = Attribution(actor="bot:auto-detect", trigger="used")
TEACHER = Attribution(actor="bot:ontology", trigger="ontology")
CHECKER = Attribution(actor="bot:verify", trigger="verify")
REFLECTOR = Attribution(actor="system:reflect", trigger="reflect")


class Memory(Rooms):
    """What one agent remembers. Threads may share it, and several processes may have one home open."""

    def __init__(
        self,
        vault: Vault,
        agent: str,
        *,
        embedder: Embedder | None = None,
        background: bool = True,
        speaker: str | None = None,
        project: Project | None = None,
    ) -> None:
        self.agent = check_agent(agent)
        self.project = project = project if vault.config.projects else None
        """The project that is worked on: what is said belongs to it, and others are not asked unless they are named."""
        self.audience: str | None = None
        """Who listens, see `heard_by`; None is the owner."""
        self.whole: Memory = self
        """The same memory as its owner hears it."""
        self._heard: dict[str, Self] = {}
        # The searcher comes later and needs the vault: it is looked up when memories or a path are asked about.
        find, proposable = (lambda ids: self.searcher.known(ids)), ProposableVerbs(partial(method_named, Memory))
        self.gate = Gate(vault, self.agent, find=find, proposable=proposable, speaker=speaker)
        scope = (lambda path: self.searcher.may_read(path)) if self.gate.is_limited else None
        self.vault = vault.under(self.gate, scope, speaker=speaker, place=self._placed if project else None)
        """The vault as this agent may use it; others may share the one that it was given."""
        projects = project.keys if project else ()
        self.searcher = Searcher(self.vault, self.agent, embedder=embedder, background=background, projects=projects)
        self._origin = Origin.OWNER if self.vault.speaker == Origin.OWNER else Origin.AGENT
        self._attendant = Attendant(self._hear_others) if background and vault.config.learn.enabled else None
        self._is_mirrored = background and bool(vault.config.typedb.url)
        """Whether changes are sent to a TypeDB server as they come."""
        self._mirror = self.typedb if self._is_mirrored else None

    @classmethod
    def open(
        cls,
        home: str | Path | Config | None = None,
        agent: str | None = None,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        background: bool = True,
        speaker: str | None = None,
        project: str | Path | Project | None = None,
        audience: str | None = None,
    ) -> Self:
        """Open a home, creating what is missing; arguments default to the environment, then the configuration.

        `home` is a folder or a configuration. With `background`, one thread makes vectors and another notices edits of
        the files; without it, both happen when something is asked. `embedder` replaces the configured one. `speaker`
        is "owner" if a person speaks through this object, "agent" if only an agent does; otherwise changes name their
        actor. With `project`, a folder, memories of other projects are left out. With `audience`, a person or `room:…`,
        everything that they may not hear is left out (see `heard_by`).
        """
        given = {"agent": agent, "speaker": speaker, "audience": telling("audience", audience)}
        config = again(home, **given) if isinstance(home, Config) else load_config(home, overrides=given)
        vault = Vault.open(config=config, clock=clock)
        try:
            place = project if project is None or isinstance(project, Project) else project_of(project)
            memory = cls(vault, config.agent, embedder=embedder, background=background, project=place)
            return memory.heard_by(config.audience or None)
        except MemfolioError:
            vault.close()
            raise

    def close(self) -> None:
        """Bring what waits into git and let go of the home."""
        if self.whole is not self:
            return self.whole.close()
        if self._attendant is not None:
            self._attendant.close()
        if self._mirror is not None:
            self._mirror.close()
        self.searcher.close()
        self.vault.close()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Noting and finding.

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
        project: str | None = None,
        audience: str | None = None,
    ) -> MemoryItem:
        """Note one turn of a conversation as it happens; `source` is where its words come from, such as a web page.

        `audience` may hear it: a person, `room:…` or "all"; by default the user and the participants of the session.
        """
        given = (role, content, session, user, at, attributes, source, project, audience)
        turn = dict(zip(TURN, given, strict=True))
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
        project: str | None = None,
        audience: str | None = None,
    ) -> MemoryItem:
        """Keep something on purpose. `at` is when it happened; the same `key` twice is one memory.

        `tier` is another name for `store`. Whose word it is follows from who speaks, unless `origin` says otherwise.
        Without a key, an agent that says the same again on the same day gets the memory that is there.
        """
        if key is not None and self.audience is not None:
            key = f"{self.audience} {key}"  # the same key of somebody else is another one
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
            project=project,
            audience=audience,
        )
        return self._add([draft], REMEMBERER, key=key)[0]

    def _add(self, drafts: Sequence[Draft], by: Attribution, *, key: str | None = None) -> list[MemoryItem]:
        self.searcher.prepare()
        into_working = any(draft.store is Store.WORKING for draft in drafts)
        demoted = (
            edit.make_room(self.searcher.index, self.agent, drafts, self.vault.config.stores) if into_working else ()
        )
        receipt = self.vault.add(self.agent, drafts, by, key=key, beside=demoted)
        return edit.made_before(self.searcher, drafts, receipt, key) if receipt.repeated else list(receipt.items)

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
        min_fit: float = 0,
        depth: int = 0,
        session: str | None = None,
        store: Store | str | None = None,
        user: str | None = None,
        include: Iterable[str] | str = (),
        level: str | None = None,
        agents: Iterable[str] | str | None = None,
        project: str | None = None,
        audience: str | None = None,
    ) -> Hits:
        """The memories that answer a question, best first. Filters are exact and count before the limit.

        What is None or an empty list does not matter; an empty text is refused, so that a filter never goes missing.

        `since` and `until` are about when it happened, `valid_at` about what was true then, `as_of` about what was
        known then; a time may be text such as "last_week". `min_fit` leaves out what is less likely to answer; where
        nothing is likely to, `fits` of the hits is false. `depth` also brings what the hits lead to, in up to three
        hops. `include` brings back what is out of sight: "archived", "superseded", "dormant", "quarantined"; `level`
        looks only into days or their digests: "daily", "weekly", "monthly", "quarterly". `agents` are those whose
        memory is asked, of all that this one may read. `project` names another project than the one that is worked on,
        or "all" of them. `audience` is who listens, a person or `room:…`: what they may not hear is not found.
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
            min_fit=min_fit,
            depth=depth,
            session=session,
            store=store,
            user=user,
            project=project,
            include=include,
            level=level,
            agents=agents,
            inline=self.vault.config.recall.inline,
            is_known=self.searcher.is_known,
        )
        return self.searcher.heard_by(telling("audience", audience)).recall(asked)

    def context(
        self,
        prompt: str,
        *,
        budget: int | None = None,
        user: str | None = None,
        task: str | None = None,
        topics: Iterable[str] | str = (),
        include: Iterable[str] | str = (),
        audience: str | None = None,
    ) -> str | None:
        """What an agent should have before its eyes to answer a prompt: a fenced block, None where nothing is worth it.

        It has at most `budget` tokens by estimate, else as many as the prompt calls for. `user`, `task` and `topics`
        say what is going on; `audience` is who listens, by default the user: what was said to others alone is left out.
        `include` puts "core" memory and the latest "checkpoint" first. What was to be done when
        this time or this topic comes is in it without being asked for.
        """
        given: dict[str, Any] = {"task": task, "topics": topics, "include": include, "audience": audience}
        return self.compose(prompt, budget=budget, user=user, **given).text

    def compose(
        self,
        prompt: str,
        *,
        budget: int | None = None,
        user: str | None = None,
        task: str | None = None,
        topics: Iterable[str] | str = (),
        include: Iterable[str] | str = (),
        audience: str | None = None,
        known: Iterable[str] = (),
    ) -> Context:
        """`context` as a value: its text, tokens and budget, the ids of the memories in it, and what is `degraded`.

        `known` are the ids of memories that the agent has before its eyes, which are left out.
        """
        request = Request.from_args(
            self.vault, prompt, budget=budget, user=user, task=task, topics=topics, include=include, known=known
        )
        # Without an audience the user listens, and hears what was said to them and to all.
        heard = self.heard_by(audience or request.situation.user)
        return compose(heard.searcher, heard.vault, self.agent, request, heard._reminded)

    def get(self, id: str) -> MemoryItem | None:
        """The memory with this id, also from the archive: its `fate` says why it is there.

        None when this agent has none such; `explain` raises an error that says whether it ever had.
        """
        found = self.find(id)
        return found.item if found else None

    def find(self, id: str) -> Located | None:
        """The memory with this id and the file it stands in; None when this agent has none such."""
        found = self.searcher.find(id)
        return self.searcher.with_fate(found) if found else None

    def explain(self, id: str) -> Explanation:
        """Where a memory comes from, what it replaced or what replaced it, and who did what to it since."""
        index, found = self.searcher.require(id)
        return replace(self.searcher.explain(index, found), events=tuple(self.searcher.events(found.item.id)))

    # Changing what is remembered.

    @proposable("forget")
    def forget(
        self, what: str | Sequence[str], *, every: bool = False, dry_run: bool = False, by: Attribution = FORGETTER
    ) -> EditResult:
        """Move a memory from its log to the archive and leave a tombstone, so that it stays forgotten.

        Memories derived from it alone, summaries of it and lines of pages that cite it go with it, as one change.
        `what` is an id, several ids, or a description: then the memory with all its words, or with `every` each one;
        a shared one only if none of the agent's own matches. For an agent, a description only shows what matches.
        """
        # Asked for only where a description is given: the answer may need the agent's file.
        by, is_agent = check_attribution(by), lambda: self.gate.acts_as_agent or self.audience is not None
        if self.audience is not None and (ids := ids_in(what)):
            meant = tuple(self.searcher.require(each)[1].item for each in ids)
            return replace(self.whole.forget(ids, dry_run=dry_run, by=by), memories=meant, diff="")
        forget = partial(edit.forget_meant, self.vault, self.searcher, what, by)
        done = forget(is_agent=is_agent, every=every, dry_run=dry_run)
        return done if self.audience is None else replace(done, diff="")  # around a memory stand others' words

    @proposable("restore")
    def restore(self, id: str, *, dry_run: bool = False, by: Attribution | None = None) -> EditResult:
        """Bring back a memory that was forgotten or archived."""
        if self.audience is not None:
            item = self.searcher.require(id)[1].item
            return replace(self.whole.restore(id, dry_run=dry_run, by=by), memories=(item,), diff="")
        return edit.restore(self.vault, self.searcher, id, _by(by, FORGETTER, "restore"), dry_run=dry_run)

    def correct(self, id: str, text: str, *, base: str | None = None, by: Attribution | None = None) -> MemoryItem:
        """Replace a wrong memory by `text`, together with what was derived from it; it stays readable as superseded.

        Concurrent changes that do not overlap are merged: `base` is the text that the writer saw, if not the present.
        """
        return self.update(id, text, base=base, by=by).memory

    @proposable("correct")
    def update(self, id: str, text: str, *, base: str | None = None, by: Attribution | None = None) -> Updated:
        """`correct`, with all that came of it: what was merged, contradicted and superseded, and the difference.

        Raises EditConflictError where two edits overlap.
        """
        from memfolio.govern.update import update

        if self.audience is not None:
            self.searcher.require(id)
            done = self.whole.update(id, text, base=base, by=by)
            known = self.searcher.known({*done.superseded, *(each.id for each in done.conflicts)})
            conflicts = tuple(each for each in done.conflicts if each.id in known)
            return replace(done, superseded=tuple(filter(known.get, done.superseded)), conflicts=conflicts, diff="")
        return update(self.vault, self.searcher, id, text, _by(by, REMEMBERER, "correct"), base=base)

    @proposable("confirm")
    def confirm(self, id: str, *, by: Attribution | None = None) -> MemoryItem:
        """Say that a memory is right: it is certain from then on and does not fade."""
        return edit.note(self.vault, self.searcher, id, {"op": Op.CONFIRM}, _by(by, REMEMBERER, "confirm"))

    @proposable("pin")
    def pin(self, id: str, *, pinned: bool = True, by: Attribution | None = None) -> MemoryItem:
        """Keep a memory from fading and from being archived, or with `pinned=False` let it go again."""
        line = {"op": Op.PIN, "pinned": pinned}
        return edit.note(self.vault, self.searcher, id, line, _by(by, REMEMBERER, "pin"))

    @proposable("archive")
    def archive(
        self, id: str | None = None, *, below: Below | None = None, dry_run: bool = False, by: Attribution | None = None
    ) -> EditResult | Retained:
        """Move a memory to the archive, or whatever is past its time or below a score; `restore` brings it back."""
        from memfolio.tend.retention import RETAINER, archive_one, retain

        if id is None:
            self._check_owner("archive")
            changes = job_changes(self.vault, self.searcher, dry_run=dry_run)
            return retain(changes, self.searcher.index, below, by or RETAINER)
        index, found = self.searcher.require(id)
        paths = self.searcher.places(index, found.item.id)
        done = archive_one(self.whole.vault, found, paths, by or ARCHIVER, dry_run=dry_run)
        return done if self.audience is None else replace(done, diff="")

    @for_owner
    def purge(
        self,
        *what: str,
        dry_run: bool = False,
        by: Attribution = PURGER,
        on_progress: OnProgress | None = None,
    ) -> Purged:
        """Destroy memories, named by id or description: in files, archive, history and index; nothing undoes it.

        Refused if other memories have the same words and are not named. What is left anywhere is in the proof of the
        answer. To an agent a description only shows what would go.
        """
        self.gate.check(Deed.PURGE, check_attribution(by))
        # What cannot be undone is never left to a guess of an agent.
        is_shown = self.gate.acts_as_agent and not all(ANY_ID.fullmatch(one_id(each)) for each in what)
        purged = partial(edit.purge, self.vault, self.searcher, what, by)
        return purged(dry_run=dry_run or is_shown, on_progress=on_progress)

    def used(self, ids: Iterable[str] | str, *, by: Attribution = USER) -> None:
        """Say that these memories were opened, cited or relied on, which keeps them awake; being found does not."""
        from memfolio.tend.retention import note_used

        note_used(self.vault, self.searcher, ids, by)

    def weak(self, limit: int = 20) -> list[Weak]:
        """The facts of which least is left, weakest first; `confirm` keeps one, `forget` lets it go."""
        from memfolio.tend.retention import weak

        most, now = check_number("limit", limit, 1, 10**6), to_us(self.vault.home.now())
        return self.searcher.index.read(lambda connection: weak(connection, now, self.vault.config.decay, most))

    # A conversation: what it begins with, what is noted on the way, and what is left of it.

    def load_context(self, user: str | None = None, *, session: str | None = None) -> AgentContext:
        """Everything that an agent should know when a conversation begins."""
        from memfolio.stores.session_context import load_context

        heard = self.heard_by(user)
        context = load_context(heard.vault, heard.searcher, user=user, session=session)
        reminders = heard._agenda(" ".join(filter(None, (context.task, *context.topics))))
        return replace(context, proposals=heard.proposals.for_context(), reminders=reminders)

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

        given: dict[str, Any] = {"task": task, "task_history": task_history, "topics": topics, "scratchpad": scratchpad}
        save_context(self.vault, self.agent, session=session, user=user, **given)
        return self.end_session(session) if session else None

    def end_session(self, session: str, *, dry_run: bool = False) -> SessionResult | None:
        """A conversation is over: learn from it. None where there is nothing in it that was not learned from.

        What was learned and undone is learned once more.
        """
        from memfolio.govern.reflection.log import due
        from memfolio.tend.sessions import Ended, hear_out

        session = check_token("session", check_string("session", session))
        if self.audience is not None:  # what is learned may bear on what they do not hear
            self._check_session(session)
            return self.whole.end_session(session, dry_run=dry_run) and None
        ended = Ended(only=[session], is_over=True, again=True)
        with tending(self.vault, self.searcher, dry_run=dry_run) as changes:
            heard = hear_out(changes, self.searcher, self.vault.config.learn, ended, model=self._model)
        # A long conversation is reason enough for a reflection.
        if heard and not dry_run and due(self.vault, self.searcher.index, self.agent, self.vault.home.now()):
            self.reflect()
        return heard[0] if heard else None

    def checkpoint(
        self,
        context: str,
        *,
        decisions: Iterable[str] = (),
        findings: Iterable[str] = (),
        next_steps: Iterable[str] = (),
        open_questions: Iterable[str] = (),
        session: str | None = None,
        by: Attribution | None = None,
    ) -> str:
        """Note where work stands, so that it can be taken up again; returns the path of the page."""
        from memfolio.stores.checkpoint import BY, Checkpoint, write

        lists = {"decisions": decisions, "findings": findings, "next_steps": next_steps}
        checkpoint = Checkpoint.from_args(context, **lists, open_questions=open_questions)
        checkpoint = replace(checkpoint, project=self.project.id if self.project else "")
        now, by = self.vault.home.now(), replace(by or BY, session=session)
        return write(self.vault, self.agent, checkpoint, now=now, by=by).path

    @for_owner
    def learn(
        self,
        statements: Sequence[Mapping[str, Any]] = (),
        *,
        through: str | None = None,
        session: str | None = None,
        limit: int = 40,
    ) -> Lesson:
        """Learn from conversations by reading them yourself: hands out turns that no agent or model has read.

        Each of the `statements` has a `text` that is understood by itself, a `type`, and the `turns` that tell it, by
        their ids; with `corrects` it takes the place of memories, or of what earlier turns say, with `due` it is a
        reminder. `through` is the last turn that was read: up to there, nothing is handed out again.
        """
        from memfolio.tend.lessons import Doors, hand_out, take_in

        def remind(text: str, due: str, turns: Sequence[str]) -> object:
            return self.mind.intend(text, when=due, from_=list(turns))

        doors = Doors(correct=self.update, propose=self.propose, remind=remind, count=self.vault.usage.drop)
        is_said = bool(statements) or through is not None
        session = session if session is None else check_token("session", session)
        done = take_in(self.vault, self.searcher, statements, through, doors, session) if is_said else None
        home, limit = self.vault.home, check_number("limit", limit, 1, 200)
        lesson = hand_out(self.searcher, home.now(), home.zone, session=session, limit=limit)
        return replace(lesson, learned=done.learned, proposed=done.proposed, refused=done.refused) if done else lesson

    def should_flush(
        self, tokens: int, *, compaction: int = 0, session: str | None = None, window: int | None = None
    ) -> bool:
        """Whether an agent whose context has so many tokens should save what it knows: once before each compaction."""
        from memfolio.stores.flush import flush_due

        settings = self.vault.config.flush
        return flush_due(self.searcher.index, settings, tokens, compaction=compaction, session=session, window=window)

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
        from memfolio.stores.flush import flush

        if self.audience is not None:
            self._check_session(session)
            user = user or self.audience
        save = partial(flush, self.vault, self.searcher, transcript, model=self._model, dry_run=dry_run)
        project = self.project.id if self.project else ""
        return save(session=session, user=user, compaction=compaction, source=source, project=project)

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

        self.searcher.prepare()
        further = {"session": session, "at": at, "source": source}
        found = episode_of(
            description, episode_type=episode_type, importance=importance, context=context, related=related, **further
        )
        return self.vault.apply(found.change(self.agent)).items[0]

    def act_on(self, text: str, *, session: str | None = None, user: str | None = None) -> ActedOn | None:
        """Do what a person asks for in a message, such as "remember that …"; None where they ask for nothing of it.

        What would be forgotten is only shown: `forget` it by its id once they agree.
        """
        from memfolio.stores.triggers import act_on

        text, reflect = check_string("text", text), partial(self.whole._reflected, False)
        user = telling("user", user) or self.audience
        searcher, recall = self.searcher.heard_by(user), partial(self.recall, audience=user)
        done = partial(act_on, self.whole.vault, searcher, self.whole.core, text, recall=recall, reflect=reflect)
        return done(model=self._model, session=session, user=user)

    heed = act_on

    # Looking after the memory.

    @for_owner
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
        from memfolio.tend.consolidate import consolidate, tuned

        usual = self.vault.config.consolidate
        settings = tuned(usual, min_importance=min_importance, min_access_count=min_access_count, summarize=summarize)
        with tending(self.vault, self.searcher, dry_run=dry_run) as changes:
            return consolidate(changes, self.searcher.index, settings, self._model)

    @for_owner
    def tend(
        self,
        *,
        jobs: Sequence[str] = (),
        sessions: Sequence[str] = (),
        dry_run: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Tending:
        """Look after the memory: run what is due by the clock, or these jobs at once; `dry_run` only shows it.

        With `sessions`, these conversations are over, and are learned from.
        """
        return self._tended(jobs=jobs, sessions=sessions, dry_run=dry_run, on_progress=on_progress)

    def _tended(self, **how: Any) -> Tending:
        look_after = partial(tend, self.vault, self.searcher, proposals=self.proposals, reflect=self._reflected)
        return look_after(model=self._model, **how)

    @for_owner
    def digest(
        self,
        levels: Iterable[str] = ("weekly", "monthly", "quarterly"),
        *,
        since: datetime | None = None,
        current: bool = False,
        dry_run: bool = False,
    ) -> tuple[Built, JobChanges]:
        """Write the digests that are missing or differ from their days, and return them with the changes that did it.

        Only of periods that end at `since` or later; with `current`, also of those that are not over.
        """
        from memfolio.index.maintenance import local_day
        from memfolio.tend.digest import build

        changes = job_changes(self.vault, self.searcher, dry_run=dry_run)
        begins = local_day(since, self.vault.home.zone) if since else None
        model = None if dry_run else self._model
        built = build(changes, self.searcher.index, levels=tuple(levels), since=begins, current=current, model=model)
        return built, changes

    @for_owner
    def heartbeat(self, *, dry_run: bool = False) -> BdiCycleResult:
        """Bring the mind up to date: what is over, what is wanted most, what is believed and contradicts itself.

        Weeks that are over are summed up. `dry_run` only shows what would change.
        """
        from memfolio.mind.heartbeat import beat
        from memfolio.tend.digest import sum_up_weeks

        with tending(self.vault, self.searcher, dry_run=dry_run) as changes:
            weeks = partial(sum_up_weeks, changes, self.searcher.index)
            return replace(beat(changes, self.searcher, weeks), diff=changes.diff)

    @for_owner
    def backup(self, folder: str | Path | None = None, *, keep: int | None = None, dry_run: bool = False) -> BackedUp:
        """Copy the whole home to a folder, else to the configured one, and drop the oldest copies beyond `keep`."""
        from memfolio.tend.backup import back_up, backup_folder

        # A copy holds the memory of every agent.
        if self.gate.is_agent:
            raise RefusedError("an agent cannot copy the whole home", hint="let the owner make the backup")
        target = backup_folder(self.vault, None if folder is None else Path(folder))
        most = self.vault.config.backup.keep if keep is None else keep
        return back_up(self.vault, target, most, self.vault.home.now(), dry_run=dry_run)

    @for_owner
    def reflect(self, *, dry_run: bool = False, by: Attribution = REFLECTOR) -> Pending:
        """Look through what is remembered and propose what should change, as a page that waits for approval.

        Where the policy lets the actor apply a reflection, it is applied at once.
        """
        self.searcher.prepare()
        now, applies = self.vault.home.now(), self.gate.lets(Deed.REFLECT, by)
        return self.reflections.reflect(now, dry_run=dry_run, applies=applies, by=by)

    def _reflected(self, dry_run: bool) -> str:
        """`reflect` as a job of tending: what came of it, in a few words."""
        found = self.reflect(dry_run=dry_run)
        return f"{counted(len(found.items), 'proposal')} in {found.path}" if found.items else ""

    # What is known.

    @for_owner
    def scaffold(
        self, domain: str, template: str, *, by: Attribution = TEACHER, dry_run: bool = False
    ) -> tuple[Added, list[Rule]]:
        """Begin a domain of the ontology with a template, such as "saas" or "business", and make its rules.

        These are two changes, of which none is made where one cannot be.
        """
        from memfolio.govern.rooms import scaffold

        return scaffold(self.ontology, self.rules, domain, template, by=check_attribution(by), dry_run=dry_run)

    @for_owner
    def propose_term(self, term: Term, *, rationale: str = "", by: Attribution = PROPOSER) -> Proposal:
        """Propose a term for the ontology, with what there is to think of; one that does not fit is refused."""
        from memfolio.govern.rooms import propose_term

        return propose_term(self.proposals, self.ontology, term, rationale, check_attribution(by))

    def verify_fact(
        self,
        id: str,
        method: str = "consistency_check",
        *,
        confirmed: bool | None = None,
        adjust: bool = False,
        by: Attribution = CHECKER,
    ) -> Verification:
        """Check a fact and note that; `adjust` lets the outcome change how sure it is.

        The methods are "user_confirmation", which needs what the person says in `confirmed`, "cross_reference",
        "temporal_check" and "consistency_check".
        """
        from memfolio.govern.rooms import evidence
        from memfolio.knowledge.verify import verify

        against = evidence(self.vault, self.searcher, self.ontology, self.inference)
        now, by = self.vault.home.now(), self.gate.named(check_attribution(by))
        return verify(self.facts, id, method, now=now, by=by, confirmed=confirmed, evidence=against, adjust=adjust)

    def infer(self, premise: str, *, limit: int = 10) -> list[GuessedFact]:
        """What might follow from a premise: by a model where there is one, else by rules and likeness.

        These are hypotheses: nothing of them is stored.
        """
        from memfolio.knowledge.verify import hypothesise, related_memories, relevant

        recalled = related_memories(self.vault, self.searcher, text_of(premise), "fact")
        known = relevant(self.facts, [each.id for each in recalled])
        return hypothesise(premise, known, self._model, rules=self.rules.list(enabled=True), limit=limit)

    # What is decided, and taken back.

    def propose(self, text: str, /, *, to: str | None = None, by: Attribution = PROPOSER, **fields: Any) -> Proposal:
        """Propose that something is remembered, with the fields of `remember`, for the agent that decides on it."""
        intent = self.proposals.call("remember", {"text": text_of(text), **fields})
        return self.proposals.add(intent, by=check_attribution(by), to=to)

    @for_owner
    def undo(
        self, source: str, *, every_agent: bool = False, dry_run: bool = False, by: Attribution = FORGETTER
    ) -> Undone:
        """Take back everything that came from one source, and what was made of it; with `every_agent`, everywhere."""
        from memfolio.govern.undo import undo_source

        self.searcher.prepare()
        by = replace(check_attribution(by), trigger="undo")
        undone = partial(undo_source, self.vault, self.searcher, self.gate.proposable)
        return undone(check_token("source", source), by, every_agent=every_agent, dry_run=dry_run)

    def alerts(self) -> list[TrailLine]:
        """What the owner must know and has not acknowledged yet, oldest first."""
        return self.vault.alerts()

    @for_owner
    def watch(self) -> list[TrailLine]:
        """Look for what the owner must be told: changed critical files, an altered trail; returns new alerts."""
        from memfolio.vault.alerts import watch

        return watch(self.vault)

    @for_owner
    def acknowledge(self, seqs: Sequence[int], by: Attribution = OWNER) -> TrailLine:
        """The owner has seen these alerts."""
        return self.vault.acknowledge(seqs, replace(check_attribution(by), approval=Approval.APPROVED))

    # The home as a whole.

    def status(self) -> Status:
        """How the home is doing, in numbers; to an agent, what it may read of it."""
        return status_of(
            self.vault,
            self.searcher,
            proposals=len(self.proposals.pending()),
            reflection=self.reflections.pending() is not None,
            due=self._agenda(),
            misread=(*self.mind.problems(), *self.procedures.problems()),
            inference=self.inference.trouble,
            typedb=self.whole.typedb.trouble() if self.vault.config.typedb.url else None,
        )

    def cost(self, days: int = 7) -> Cost:
        """What the memory cost in so many days: tokens of language models, and what agents were told unasked."""
        return cost_of(self.vault, self.searcher, check_number("days", days, 1, 3660))

    def sync(self, *, embed: bool = False) -> list[str]:
        """Record what people and other programs did to the files, and index it; returns the files that had changed.

        With `embed`, every vector that is missing is made before it returns; EmbedderError says why that cannot be.
        Where there is no embedder, there is nothing to make.
        """
        changed = self.vault.survey()
        self.searcher.catch_up()
        if embed:
            self.searcher.embed_all()
        return list(filter(self.vault.shows, changed))

    @for_owner
    def reindex(self, progress: Progress | None = None) -> int:
        """Build the index anew from the files; returns how many files it holds."""
        return self.searcher.rebuild(progress or (lambda done, total: None))

    def subscribe(self, callback: Callable[[TrailLine], None]) -> Callable[[], None]:
        """Have `callback` called with every change, which holds up the writer: be quick. The answer ends that."""

        def tell(record: Record) -> None:
            for line in self.vault.told([record.line]):
                callback(line)

        self.vault.subscribe(tell)
        return partial(self.vault.unsubscribe, tell)


def _by(given: Attribution | None, default: Attribution, trigger: str) -> Attribution:
    return replace(default, trigger=trigger) if given is None else check_attribution(given)
