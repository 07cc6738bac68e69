"""The agents of a home: their settings and instructions, and how to create, change, rename and retire them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import cache
from itertools import zip_longest
from typing import Any

from memfolio.arguments import ANY_ID
from memfolio.config import Config
from memfolio.errors import (
    ConfigError,
    ConflictError,
    DiskError,
    InputError,
    MemfolioError,
    NotFoundError,
    RefusedError,
)
from memfolio.govern.gate import OWNER
from memfolio.index import database
from memfolio.index.database import Connection
from memfolio.index.index import Index
from memfolio.index.lookup import count_memories, newest
from memfolio.index.read_files import Searchable, is_log, read_file
from memfolio.index.search import Filter
from memfolio.policy import Deed, Policy, Role, Verdict
from memfolio.recall.hit import Hits
from memfolio.recall.query import Query
from memfolio.recall.searcher import Searcher
from memfolio.text import joined, packaged_table
from memfolio.types import Action, Attribution, frozen
from memfolio.vault.agents import EVERYBODY, PROPOSES, AgentSettings, agent_file, read_agent, written
from memfolio.vault.change import Change, PutPage, UndoResult
from memfolio.vault.fields import BLANK, checksum, find_mark, salt_of, text_id
from memfolio.vault.journal import to_bytes, to_text
from memfolio.vault.lines import pack, text_of
from memfolio.vault.log import Block, split_log
from memfolio.vault.past.merge import difference
from memfolio.vault.paths import (
    SHARED,
    agent_of,
    agent_root,
    check_agent,
    is_packed_log,
    is_state,
)
from memfolio.vault.vault import Vault

# What an agent is told about its memory: Markdown for AGENTS.md or a system prompt, as the home is set up.


@cache
def _told() -> Mapping[str, Any]:
    return packaged_table("govern/data/instructions.toml")


def instructions(settings: AgentSettings, config: Config) -> str:
    """Return the instructions for an agent: the short version if it may only propose, else the full one."""
    words, policy = _told(), Policy.of(config.policy.preset, config.policy.rows)
    role = Role.SUBAGENT if settings.policy == PROPOSES else Role.AGENT
    template: str = words["sub" if role is Role.SUBAGENT else "main"] + (words["retired"] if settings.retired else "")
    is_reviewer = policy.decide(Deed.REVIEW, Role.AGENT).verdict is Verdict.APPLY
    review = config.proposals.review if is_reviewer else "manual"
    # Of what an agent proposes that nobody trusts, another one decides all the same.
    decides = "batch" if review == "automatic" and not settings.trusted else review
    return template.format(
        agent=settings.agent,
        role=f", {settings.role}" if settings.role else "",
        scopes=_scopes(settings),
        deeds=_deeds(words, policy, role),
        to=settings.proposes_to,
        decides=words["decides"][decides].format(to=settings.proposes_to, sure=config.proposals.confidence),
        core=config.core.tokens,
        items=config.reflection.items,
        reflection=config.reflection.tokens,
        reflect=words["reflection"][policy.decide(Deed.REFLECT, role).verdict],
        review=words["review"][review],
    )


def _scopes(settings: AgentSettings) -> str:
    if EVERYBODY in settings.reads:
        return "the memory of every agent of this home, and what all share"
    others = [f"`{each}`" for each in settings.reads if each not in (SHARED, settings.agent)]
    shared = ["what all agents share"] if SHARED in settings.reads else []
    return joined(["your own memory", *([f"that of {joined(others)}"] if others else []), *shared])


def _deeds(words: Mapping[str, Any], policy: Policy, role: Role) -> str:
    """List what the policy does with each kind of change, as long as no other origin is affected."""
    found: dict[str, list[str]] = {verdict: [] for verdict in words["verdicts"]}
    for deed, name in words["deeds"].items():
        found[policy.decide(Deed(deed), role).verdict].append(name)
    return "\n".join(
        f"- {words['verdicts'][verdict]}: {', '.join(names)}." for verdict, names in found.items() if names
    )


# Renaming an agent: its whole folder under another name, with every id that depends on whose it is.
#
# Text without a mark has an id made of the agent and the words, and so have passages of pages. An entry with a mark
# keeps its id, except where hand-written text stands right below it: only its checksum tells where the entry ends,
# and that depends on the agent, too.

_COMMENT = re.compile(r"(?m)^<!-- \{.*\} -->$")
"""The line of an entry that names the memories it was made of."""

Files = Mapping[str, bytes]


@dataclass(slots=True, kw_only=True)
class Renaming:
    """The files of an agent as they are, and as they are under its other name."""

    old: str
    new: str
    zone: tzinfo
    now: datetime
    files: Files
    ids: dict[str, str] = field(default_factory=dict)
    """The new id of each memory."""
    renamed: dict[str, bytes] = field(default_factory=dict)

    def compose(self) -> None:
        """Logs first, since they say which ids change; then pages, which name them; then lines, which name all."""
        logs = {path: self._marked(path) for path in sorted(self.files) if is_log(path)}
        for path, marked in logs.items():
            if marked is None:
                self.renamed[self.path_of(path)] = self.files[path]
            else:
                self._put(path, _COMMENT.sub(lambda line: self._mapped(line[0]), marked))
        # State names everything else, so that it comes last, when all ids are known.
        rest = [path for path in sorted(self.files) if path not in logs]
        for path in sorted(rest, key=lambda path: (path.endswith(".jsonl"), is_state(path))):
            text = self._mapped(to_text(self.files[path]))
            here, there = f"{agent_root(self.old)}/", f"{agent_root(self.new)}/"
            self._put(path, text.replace(here, there) if is_state(path) else text)

    def path_of(self, path: str) -> str:
        """Return the path of a file after renaming."""
        return agent_root(self.new) + path.removeprefix(agent_root(self.old))

    def diff(self) -> str:
        """Describe the renaming of each file, and changes of its content."""
        names = [f"rename {path} => {self.path_of(path)}\n" for path in self.files]
        edits = ((path, self.path_of(path), self.renamed[self.path_of(path)]) for path in self.files)
        return "".join(names) + "".join(difference(new, self.files[path], after) for path, new, after in edits)

    def _mapped(self, text: str) -> str:
        return ANY_ID.sub(lambda found: self.ids.get(found[0], found[0]), text)

    def _marked(self, path: str) -> str | None:
        """Return a log in which every entry still ends at the same place, and note the new ids of its memories.

        None for a damaged compressed log.
        """
        try:
            blocks = split_log(to_text(text_of(path, self.files[path])), self.old)
        except DiskError:
            return None
        for found in self._found(path, self.files[path]):
            self.ids[text_id(self.old, found.item.content)] = text_id(self.new, found.item.content)
        return "".join(
            self._minted(block) if block.id and after and after.kind == "text" else block.text
            for block, after in zip_longest(blocks, blocks[1:])
        )

    def _minted(self, block: Block) -> str:
        """Return an entry with the checksum that it would have under the agent's new name."""
        text = self._mapped(block.text)
        mark = find_mark(text.partition("\n")[0])
        assert mark is not None  # the block has an id
        at = mark.checksum_at
        blank = f"{text[:at]}{BLANK}{text[at + 8 :]}".encode("utf-8", "surrogatepass")
        digits = checksum(salt_of(self.new, mark.ms), blank)
        self.ids[mark.id] = f"{mark.id[:-8]}{digits}"
        return f"{text[:at]}{digits}{text[at + 8 :]}"

    def _put(self, path: str, text: str) -> None:
        before, there, after = self.files[path], self.path_of(path), to_bytes(text)
        if is_packed_log(path):
            after = before if after == text_of(path, before) else pack(path, after)
        self.renamed[there] = after
        here, then = self._found(path, before), self._found(there, after)
        says_other = [each.item.content for each in here] != [each.item.content for each in then]
        if len(here) != len(then) or (is_log(path) and says_other):
            raise RefusedError(f"{path} would be read otherwise under another name", hint="move its text by hand")
        self.ids |= {a.item.id: b.item.id for a, b in zip(here, then, strict=True) if a.item.id != b.item.id}

    def _found(self, path: str, data: bytes) -> tuple[Searchable, ...]:
        return read_file(path, data, zone=self.zone, modified=self.now).found


# The agents of a home: who they are, and how they are made, changed, renamed and retired.

BY = Attribution(actor="bot:auto-detect", trigger="agent")


@frozen
class Agent:
    """An agent: its settings, the number of its memories and the time of the last; None if it has no index yet."""

    id: str
    settings: AgentSettings
    memories: int | None
    active_at: datetime | None
    trouble: str | None = None
    """What is wrong with its settings file; such a file grants nothing."""


class Agents:
    """The agents that one of them may read. The owner sees all."""

    def __init__(self, vault: Vault, searcher: Searcher, agent: str) -> None:
        self._vault = vault
        self._searcher = searcher
        self._agent = agent

    def list(self) -> Sequence[Agent]:
        """Every agent that is known here, by its id."""
        return [self._one(each) for each in sorted(self._known())]

    def get(self, id: str | None = None) -> Agent:
        """Return one agent, by default this one; an agent out of scope is reported as missing."""
        return self._one(self._existing(id or self._agent))

    def instructions(self, id: str | None = None) -> str:
        """Return instructions for an agent about its memory, in Markdown, as this home is configured."""
        return instructions(self.get(id).settings, self._vault.config)

    def gather(self, question: str, limit: int = 10) -> Mapping[str, Hits]:
        """Return what each agent in scope knows about a question; agents that know nothing are left out."""
        home = self._vault.home
        query = Query.from_args(question, now=home.now(), zone=home.zone, limit=limit)
        names = [index.agent for index in self._searcher.indexes()]
        found = {name: self._searcher.recall(replace(query, agents=(name,))) for name in names}
        return {name: hits for name, hits in found.items() if hits}

    def create(self, id: str, *, by: Attribution = BY, dry_run: bool = False, **settings: object) -> UndoResult:
        """Create an agent with these settings, the fields of `AgentSettings`; raises ConflictError if it exists."""
        if check_agent(id) in self._present() or id == SHARED:
            raise ConflictError(f"there is an agent {id} already", hint="`memfolio agent set` changes its settings")
        return self._settle(id, {"role": "", "reads": AgentSettings(agent=id).reads} | settings, by, dry_run=dry_run)

    def update(self, id: str, *, by: Attribution = BY, dry_run: bool = False, **settings: object) -> UndoResult:
        """Change settings of an agent; the rest of its file stays."""
        return self._settle(self._existing(id), settings, by, dry_run=dry_run)

    def retire(self, id: str, *, by: Attribution = BY, dry_run: bool = False) -> UndoResult:
        """Keep an agent to be read only."""
        return self.update(id, retired=True, by=by, dry_run=dry_run)

    def unretire(self, id: str, *, by: Attribution = BY, dry_run: bool = False) -> UndoResult:
        """Let a retired agent write again."""
        return self.update(id, retired=False, by=by, dry_run=dry_run)

    def rename(self, old: str, new: str, *, by: Attribution = BY, dry_run: bool = False) -> UndoResult:
        """Give an agent another id, as one change: its folder, the settings of others that name it, and all its state.

        Ids of hand-written text change with it, wherever the agent's own files name them.
        """
        self._existing(old)
        if SHARED in (old, check_agent(new)):
            raise InputError(f"{SHARED} is the name of what all agents share", hint="rename another agent")
        if new in self._present():
            raise ConflictError(f"there is an agent {new} already", hint="choose another id")
        home = self._vault.home
        with self._vault.exclusive():
            files = {path: page.content for path in self._paths(old) if (page := self._vault.page(path))}
            renaming = Renaming(old=old, new=new, zone=home.zone, now=home.now(), files=files)
            renaming.compose()
            gone = [PutPage(path, None, home.hash(content)) for path, content in renaming.files.items()]
            made = [PutPage(path, content, None) for path, content in renaming.renamed.items()]
            others = [put for each in sorted(self._present() - {old}) for put in self._renamed_in(each, old, new)]
            settings_change = Change(operations=tuple(others), by=by, action=Action.RENAME)
            diff = renaming.diff() + (self._vault.preview(settings_change) if others else "")
            return self._outcome(replace(settings_change, operations=(*gone, *made, *others)), diff, dry_run=dry_run)

    def _settle(self, id: str, given: Mapping[str, object], by: Attribution, *, dry_run: bool) -> UndoResult:
        path = agent_file(id)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        with self._vault.exclusive():
            page = self._vault.page(path)
            after = to_bytes(written(to_text(page.content) if page else "", values))
            settings = _checked(id, values, after)
            # The file may have a form that line edits cannot change, such as an inline table.
            if any(getattr(settings, name) != value for name, value in values.items()):
                raise ConfigError(f"{path} cannot be changed line by line", hint="edit it by hand")
            if page and page.content == after:
                return UndoResult(diff="", paths=())
            put = PutPage.over(page, path, after)
            change = Change.of_page(put, by)
            return self._outcome(change, self._vault.preview(change), dry_run=dry_run)

    def _outcome(self, change: Change, diff: str, *, dry_run: bool) -> UndoResult:
        receipt = None if dry_run else self._vault.apply(change)
        return UndoResult(diff=diff, paths=receipt.paths if receipt else (), receipt=receipt)

    def _renamed_in(self, agent: str, old: str, new: str) -> Iterable[PutPage]:
        """Yield the settings of another agent if they name the renamed one."""
        with suppress(MemfolioError):  # a file that cannot be read names nobody
            page = self._vault.page(agent_file(agent))
            settings = self._vault.settings(agent)
            reads = tuple(new if each == old else each for each in settings.reads)
            given: dict[str, object] = {"reads": reads} if reads != settings.reads else {}
            given |= {"proposes_to": new} if settings.proposes_to == old else {}
            if page and given:
                yield PutPage(page.path, to_bytes(written(to_text(page.content), given)), page.hash)

    def _paths(self, agent: str) -> Sequence[str]:
        return sorted(path for path in self._vault.states() if agent_of(path) == agent)

    def _present(self) -> set[str]:
        """The agents that have a file."""
        return {agent for path in self._vault.states() if (agent := agent_of(path))}

    def _known(self) -> set[str]:
        # An agent that has written nothing yet has no file.
        present = self._present() | {self._agent}
        if self._vault.speaker == OWNER:
            return present
        return present & {index.agent for index in self._searcher.indexes()}

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
        """Return the number of memories and the time of the last; None if an index would have to be built for that."""
        for index in self._searcher.indexes():
            if index.agent == id:
                return index.read(self._counted)
        if database.newest(self._vault.config.cache, id) is None:
            return (None if any(map(is_log, self._paths(id))) else 0), None
        with closing(Index(self._vault, id)) as index:
            return index.read(self._counted)

    def _counted(self, connection: Connection) -> tuple[int, datetime | None]:
        last = newest(connection, Filter(), 1)
        memories = count_memories(connection, self._searcher.short_term(self._vault.home.now())).memories
        return memories, last[0].item.created_at if last else None


def _checked(agent: str, given: Mapping[str, object], content: bytes) -> AgentSettings:
    """Check new settings, so that an invalid value raises InputError instead of being blamed on the file."""
    try:
        read_agent(agent, to_bytes(written("", given)))
    except ConfigError as error:
        raise InputError(error.message.partition(": ")[2], hint="give it another value") from error
    return read_agent(agent, content)
