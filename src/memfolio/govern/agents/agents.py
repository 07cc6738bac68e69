"""The agents of a home: who they are, and how they are made, changed, renamed and retired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from memfolio.errors import ConfigError, ConflictError, InputError, MemfolioError, NotFoundError
from memfolio.govern.agents.instructions import instructions
from memfolio.govern.agents.move import moving
from memfolio.govern.agents.rename import Renaming
from memfolio.govern.gate import OWNER
from memfolio.index import database
from memfolio.index.counts import count
from memfolio.index.database import Connection
from memfolio.index.filter import Filter
from memfolio.index.index import Index
from memfolio.index.lookup import Located, newest
from memfolio.index.reading import is_log
from memfolio.intake import one_id
from memfolio.recall.asking.query import Query
from memfolio.recall.hit import Hits
from memfolio.recall.library import Library
from memfolio.types import Action, Attribution
from memfolio.vault.agents import AgentSettings, agent_file, read_agent, written
from memfolio.vault.change import Change, PutPage
from memfolio.vault.past.past import Outcome
from memfolio.vault.paths import SHARED, agent_of, check_agent
from memfolio.vault.recent import to_bytes, to_text
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:auto-detect", trigger="agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent: its settings, how much it remembers, and when it last did; None where it has no index yet."""

    id: str
    settings: AgentSettings
    memories: int | None
    active_at: datetime | None
    trouble: str | None = None
    """What is wrong with its file of settings, which then counts as one that opens nothing."""


class Agents:
    """The agents that one of them knows: those it may read. The owner knows all."""

    def __init__(self, vault: Vault, library: Library, agent: str) -> None:
        self._vault = vault
        self._library = library
        self._agent = agent

    def list(self) -> Sequence[Agent]:
        """Every agent that is known here, by its id."""
        return [self._one(each) for each in sorted(self._known())]

    def get(self, id: str) -> Agent:
        """One agent; for one that is out of scope the answer is as for one that does not exist."""
        return self._one(self._existing(id))

    def instructions(self, id: str | None = None) -> str:
        """What to tell an agent about its memory, in Markdown, as this home has it configured."""
        return instructions(self.get(id or self._agent).settings, self._vault.config)

    def gather(self, question: str, limit: int = 10) -> Mapping[str, Hits]:
        """What each agent in scope knows about a question, by agent; those that know nothing are left out."""
        home = self._vault.home
        query = Query.from_args(question, now=home.now(), zone=home.zone, limit=limit)
        names = [index.agent for index in self._library.indexes()]
        found = {name: self._library.recall(replace(query, agents=(name,))) for name in names}
        return {name: hits for name, hits in found.items() if hits}

    def create(self, id: str, *, by: Attribution = BY, dry_run: bool = False, **settings: object) -> Outcome:
        """Make an agent with these settings, the fields of `AgentSettings`; ConflictError where there is one."""
        if check_agent(id) in self._present() or id == SHARED:
            raise ConflictError(f"there is an agent {id} already", hint="`memfolio agent set` changes its settings")
        return self._settle(id, {"role": "", "reads": AgentSettings(agent=id).reads} | settings, by, dry_run=dry_run)

    def update(self, id: str, *, by: Attribution = BY, dry_run: bool = False, **settings: object) -> Outcome:
        """Change settings of an agent; what else is in its file stays."""
        return self._settle(self._existing(id), settings, by, dry_run=dry_run)

    def retire(self, id: str, *, by: Attribution = BY, dry_run: bool = False) -> Outcome:
        """Keep an agent to be read only."""
        return self.update(id, retired=True, by=by, dry_run=dry_run)

    def unretire(self, id: str, *, by: Attribution = BY, dry_run: bool = False) -> Outcome:
        """Let a retired agent write again."""
        return self.update(id, retired=False, by=by, dry_run=dry_run)

    def rename(self, old: str, new: str, *, by: Attribution = BY, dry_run: bool = False) -> Outcome:
        """Give an agent another id, as one change: its folder, the settings of others that name it, and all its state.

        Ids of hand-written text change with it, wherever the agent's own files name them.
        """
        self._existing(old)
        if SHARED in (old, check_agent(new)):
            raise InputError(f"{SHARED} is the name of what all agents share", hint="rename another agent")
        if new in self._present():
            raise ConflictError(f"there is an agent {new} already", hint="choose another id")
        home = self._vault.home
        with self._vault.writer.ready():
            renaming = Renaming(old=old, new=new, zone=home.zone, now=home.now(), files=self._files(old))
            renaming.compose()
            gone = [PutPage(path, None, home.hash(content)) for path, content in renaming.files.items()]
            made = [PutPage(path, content, None) for path, content in renaming.renamed.items()]
            others = [put for each in sorted(self._present() - {old}) for put in self._renamed_in(each, old, new)]
            told = Change(operations=tuple(others), by=by, action=Action.RENAME)
            diff = renaming.diff() + (self._vault.preview(told) if others else "")
            return self._outcome(replace(told, operations=(*gone, *made, *others)), diff, dry_run=dry_run)

    def move(self, ids: Sequence[str] | str, to: str, *, by: Attribution = BY, dry_run: bool = False) -> Outcome:
        """Give memories to another agent, or to all as `shared`: entries and state as they are, under the same ids."""
        if to != SHARED:
            self._existing(to)
        with self._vault.writer.ready():
            found = [self._located(one_id(each)) for each in ([ids] if isinstance(ids, str) else ids)]
            change = moving(self._vault, found, to, by)
            return self._outcome(change, self._vault.preview(change), dry_run=dry_run)

    def _located(self, id: str) -> Located:
        found = self._library.locate(id)
        if found is None:
            raise self._library.not_found(id)
        return found[1]

    def _settle(self, id: str, given: Mapping[str, object], by: Attribution, *, dry_run: bool) -> Outcome:
        path = agent_file(id)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        with self._vault.writer.ready():
            page = self._vault.page(path)
            after = to_bytes(written(to_text(page.content) if page else "", values))
            settings = _checked(id, values, after)
            if any(getattr(settings, name) != value for name, value in values.items()):
                raise ConfigError(f"{path} cannot be changed line by line", hint="edit it by hand")
            if page and page.content == after:
                return Outcome(diff="", paths=())
            put = PutPage(path, after, page.hash if page else None)
            change = Change(operations=(put,), by=by, action=Action.EDIT if page else Action.CREATE)
            return self._outcome(change, self._vault.preview(change), dry_run=dry_run)

    def _outcome(self, change: Change, diff: str, *, dry_run: bool) -> Outcome:
        receipt = None if dry_run else self._vault.apply(change)
        return Outcome(diff=diff, paths=receipt.paths if receipt else (), receipt=receipt)

    def _renamed_in(self, agent: str, old: str, new: str) -> Iterable[PutPage]:
        """The settings of another agent, where they name the one that is renamed."""
        with suppress(MemfolioError):  # a file that cannot be read names nobody
            page = self._vault.page(agent_file(agent))
            settings = self._vault.settings(agent)
            reads = tuple(new if each == old else each for each in settings.reads)
            given: dict[str, object] = {"reads": reads} if reads != settings.reads else {}
            given |= {"proposes_to": new} if settings.proposes_to == old else {}
            if page and given:
                yield PutPage(page.path, to_bytes(written(to_text(page.content), given)), page.hash)

    def _files(self, agent: str) -> dict[str, bytes]:
        return {path: page.content for path in self._paths(agent) if (page := self._vault.page(path))}

    def _paths(self, agent: str) -> Sequence[str]:
        return sorted(path for path in self._vault.states() if agent_of(path) == agent)

    def _present(self) -> set[str]:
        """The agents that have a file."""
        return {agent for path in self._vault.states() if (agent := agent_of(path))}

    def _known(self) -> set[str]:
        present = self._present() | {self._agent}
        if self._vault.config.speaker == OWNER:
            return present
        return present & {index.agent for index in self._library.indexes()}

    def _existing(self, id: str) -> str:
        if check_agent(id) not in self._known():
            raise NotFoundError(
                f"agent {self._agent} knows no agent {id!r}", hint="`memfolio agent list` shows those it knows"
            )
        return id

    def _one(self, id: str) -> Agent:
        trouble = None
        try:
            settings = self._vault.settings(id)
        except MemfolioError as error:
            settings, trouble = AgentSettings(agent=id, reads=()), error.message
        memories, active_at = self._numbers(id)
        return Agent(id=id, settings=settings, memories=memories, active_at=active_at, trouble=trouble)

    def _numbers(self, id: str) -> tuple[int | None, datetime | None]:
        """How much an agent remembers, and when it last did; nothing where an index had to be built to know it."""
        index = next((index for index in self._library.indexes() if index.agent == id), None)
        if index is not None:
            return index.read(self._counted)
        if database.newest(self._vault.config.cache, id) is None:
            return (None if any(map(is_log, self._paths(id))) else 0), None
        index = Index(self._vault, id)
        try:
            return index.read(self._counted)
        finally:
            index.close()

    def _counted(self, connection: Connection) -> tuple[int, datetime | None]:
        last = newest(connection, Filter(), 1)
        memories = count(connection, self._library.short_term(self._vault.home.now())).memories
        return memories, last[0].item.created_at if last else None


def _checked(agent: str, given: Mapping[str, object], content: bytes) -> AgentSettings:
    """The settings as they will be; InputError where a value makes no sense, before the file is blamed for it."""
    try:
        read_agent(agent, to_bytes(written("", given)))
    except ConfigError as error:
        raise InputError(error.message.partition(": ")[2], hint="give it another value") from error
    return read_agent(agent, content)
