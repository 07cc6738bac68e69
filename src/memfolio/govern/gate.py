"""The gate: every change of a `Memory` passes it on its way to the writer, and the policy of the home decides.

What is allowed goes on; what is not raises PolicyError, which names the row that decided and whether it can be
proposed instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memfolio.errors import ContentError, PageChangedError, PolicyError
from memfolio.govern.deeds import PROPOSALS, Part, agents_of, memories_of, only_counts, parts_of
from memfolio.policy import Deed, Policy, Role, Row, Verdict, strictest
from memfolio.types import Action, Approval, Attribution, MemoryItem, Origin
from memfolio.vault.agents import PROPOSES, AgentSettings, agent_file
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage
from memfolio.vault.paths import SHARED, Ledger
from memfolio.vault.vault import Vault

TENDING = frozenset({Deed.OBSERVE, Deed.LEARN, Deed.NOTE, Deed.PAGE, Deed.ARCHIVE, Deed.MERGE, Deed.PROPOSE})
"""What memfolio does by itself in the folder of an agent that proposes."""
OWNER, AGENT = "owner", "agent"
"""Who speaks through a process: a person, or an agent that cannot be taken for one. Else it says so itself."""
MANUAL = ("review by agent: refuse", "review by subagent: refuse")
FOREIGN = "any in another agent's folder: refuse"
RETIRED = "any by a retired agent: refuse"
SELF = "any in another's name: refuse"
IN_SHARED = "any in shared memory by subagent: propose"
RAISED = "any that raises an origin: refuse"


@dataclass(slots=True)
class Decision:
    """Somebody's decision that is being carried out: who decides, and what else the change says."""

    role: Role
    by: Attribution
    action: Action | None
    beside: tuple[Operation, ...]


class Gate:
    """Decides for one agent; `find` gives memories by their ids, `clean` takes out what must not be written."""

    def __init__(
        self,
        vault: Vault,
        agent: str,
        *,
        find: Callable[[Collection[str]], Mapping[str, MemoryItem]],
        clean: Callable[[Change], Change] = lambda change: change,
    ) -> None:
        config = vault.config
        own = MANUAL if config.proposals.review == "manual" else ()
        self.policy = Policy.of(config.policy.preset, (*config.policy.rows, *own))
        self._vault, self._agent, self._speaker = vault, agent, config.speaker
        self._find, self.clean = find, clean
        self._rows: dict[tuple[Deed, Role, Origin | None], Row] = {}
        self._local = threading.local()
        self._file = agent_file(agent)
        self._read: tuple[str | None, AgentSettings] | None = None

    @property
    def settings(self) -> AgentSettings:
        """What `agent.toml` says at the moment."""
        known = self._vault.books.known(self._file)
        mark = known.hash if known else None
        if self._read is None or self._read[0] != mark:
            self._read = mark, self._vault.settings(self._agent)
        return self._read[1]

    @property
    def decided(self) -> str:
        """The row that decided on the last change of this thread; empty where there was none."""
        return str(getattr(self._local, "row", ""))

    @property
    def _decision(self) -> Decision | None:
        return getattr(self._local, "decision", None)

    @contextmanager
    def __call__(self, change: Change) -> Iterator[Change]:
        """The change as it may be made; while it is, nothing else is decided about."""
        decision = self._decision
        if decision is None:
            change = self.clean(change)
            self._check(change, self.role_of(change.by), can_propose=True)
            by = self.named(change.by)
            yield change if by is change.by else replace(change, by=by)
            return
        change = self.clean(_joined(change, decision))
        self._check(change, decision.role, can_propose=False)
        yield change
        decision.beside = ()

    @contextmanager
    def deciding(
        self,
        by: Attribution,
        deed: Deed = Deed.REVIEW,
        *,
        as_actor: str | None = None,
        action: Action | None = None,
        approval: Approval = Approval.APPROVED,
        beside: Sequence[Operation] = (),
    ) -> Iterator[None]:
        """Carry out what somebody decided: changes in here count as theirs, and none is proposed again.

        The first of them is made together with what is `beside`; they stand in the trail under `as_actor`.
        """
        self.check(deed, by)
        named = replace(by, actor=as_actor or self.named(by).actor, approval=approval)
        self._local.decision = Decision(self.role_of(by), named, action, tuple(beside))
        try:
            yield
        finally:
            self._local.decision = None

    def check(self, deed: Deed, by: Attribution, origin: Origin | None = None) -> Row:
        """The row that lets an actor do something; PolicyError where none does."""
        decision = self._decision
        role = decision.role if decision else self.role_of(by)
        row = self.policy.decide(deed, self._as_far(deed, role), origin)
        if row.verdict is not Verdict.APPLY:
            raise self._refusal(deed, row, can_propose=decision is None)
        return row

    def lets(self, deed: Deed, by: Attribution) -> bool:
        """Whether an actor may do something without asking."""
        return self.policy.decide(deed, self._as_far(deed, self.role_of(by))).verdict is Verdict.APPLY

    @property
    def is_lesser(self) -> bool:
        """Whether the agent proposes what it wants done, and no person speaks for it."""
        return self._speaker != OWNER and self.settings.policy == PROPOSES

    @property
    def is_agent(self) -> bool:
        """Whether an agent speaks here that nobody may take for a person."""
        return self._speaker == AGENT or self.is_lesser

    @property
    def acts_as_agent(self) -> bool:
        """Whether it does so of its own accord, and carries out nobody's decision."""
        return self._decision is None and self.is_agent

    def role_of(self, by: Attribution) -> Role:
        """Who acts; PolicyError where an agent that proposes gives itself out for somebody else."""
        kind, _, name = by.actor.partition(":")
        is_system = kind in ("system", "reflection")
        if self._speaker == OWNER:
            return Role.SYSTEM if is_system else Role.OWNER
        own = Role.SUBAGENT if self.is_lesser else Role.AGENT
        if is_system:
            return Role.SYSTEM
        if self._speaker == AGENT:
            return own
        if own is Role.SUBAGENT and (kind == "human" or (kind == "subagent" and name != self._agent)):
            raise PolicyError(f"{self._agent} proposes, and cannot act as {by.actor}", row=SELF, hint="act as yourself")
        if kind == "human":
            return Role.OWNER
        return Role.SUBAGENT if kind == "subagent" else own

    def _check(self, change: Change, role: Role, *, can_propose: bool) -> None:
        if role is not Role.OWNER:
            self._check_place(change)
        memories = self._find(named) if (named := memories_of(change)) else {}
        parts = dict.fromkeys(parts_of(change, self._composed_against(change), memories.get)) or {Part(Deed.NOTE): None}
        rows = {self._decide(part, role): part.deed for part in parts}
        row = self._local.row = strictest(rows)
        if row.verdict is not Verdict.APPLY:
            raise self._refusal(rows[row], row, can_propose=can_propose)
        if role is not Role.OWNER:
            self._check_origins(change, memories)

    def _check_place(self, change: Change) -> None:
        if self.settings.retired:
            raise PolicyError(f"{self._agent} is retired", row=RETIRED, hint=f"`memfolio agent unretire {self._agent}`")
        proposed = list(filter(self._is_proposal, change.operations)) if change.action is Action.PROPOSE else []
        owners = set(agents_of(each for each in change.operations if each not in proposed))
        if foreign := owners - {self._agent, SHARED, None}:
            raise PolicyError(
                f"{self._agent} cannot write to the memory of {min(filter(None, foreign))}",
                row=FOREIGN,
                hint="`propose` it to that agent",
            )
        if SHARED in owners and self.is_lesser and not only_counts(change):
            raise PolicyError(
                f"{self._agent} proposes, and cannot write what all agents share", row=IN_SHARED, can_propose=True
            )

    def _is_proposal(self, operation: Operation) -> bool:
        """Whether it is the page of a proposal by this agent, or links another one with what contradicts it."""
        if not isinstance(operation, PutPage) or PROPOSALS not in operation.path:
            return False
        from memfolio.govern.proposals.page import parse, render
        from memfolio.govern.proposals.proposal import Status

        before = self._vault.content(operation.path)
        try:
            page, was = parse(operation.path, operation.content or b""), before and parse(operation.path, before)
        except ContentError:
            return False
        if not was:
            return page.proposer == self._agent and operation.content == render(page).encode()
        linked = replace(was, status=Status.CONFLICT, conflicts=page.conflicts)
        return page == linked and set(was.conflicts) <= set(page.conflicts)

    def _check_origins(self, change: Change, memories: Mapping[str, MemoryItem]) -> None:
        """Nobody but the owner makes more of a stranger's word, and an agent that is known as one speaks for itself."""
        items = [item for each in change.operations if isinstance(each, AddEntries) for item in each.items]
        lines = [line for each in change.operations if isinstance(each, AddLines) for line in each.records]
        claimed = {line.get("origin") for line in lines}
        is_foreign = Origin.OWNER in {*claimed, *(item.origin for item in items)} or Origin.SYSTEM in claimed
        if is_foreign and self.is_agent:
            raise PolicyError(f"{self._agent} cannot speak for the owner", row=SELF, hint="leave the origin out")
        sources = {each for item in items if item.origin is not Origin.UNTRUSTED for each in item.derived_from}
        sources |= {
            each for line in lines if line.get("origin") != Origin.UNTRUSTED for each in line.get("memories", ())
        }
        if any((found := memories.get(each)) and found.origin is Origin.UNTRUSTED for each in sources):
            raise PolicyError("what is made of a stranger's words is theirs", row=RAISED, hint="make it untrusted")

    def _decide(self, part: Part, role: Role) -> Row:
        key = part.deed, self._as_far(part.deed, role), part.origin
        if key not in self._rows:
            self._rows[key] = self.policy.decide(*key)
        return self._rows[key]

    def _as_far(self, deed: Deed, role: Role) -> Role:
        """The role that counts for a deed: an agent could give itself out for memfolio, too."""
        if role is not Role.SYSTEM or deed in TENDING or self._speaker == OWNER:
            return role
        if self.is_lesser:
            return Role.SUBAGENT
        return Role.AGENT if self._speaker == AGENT else role

    def _refusal(self, deed: Deed, row: Row, *, can_propose: bool) -> PolicyError:
        needs_leave = row.verdict is Verdict.PROPOSE
        said = f"{self._agent} needs the owner's leave for this" if needs_leave else f"{self._agent} may not do this"
        hint = "let the owner do it, or change policy.rows in memfolio.toml"
        return PolicyError(f"{said} ({deed})", row=str(row), can_propose=can_propose and needs_leave, hint=hint)

    def named(self, by: Attribution) -> Attribution:
        """Who acts, under the agent's own name where it can be neither a person nor another agent."""
        kind, _, name = by.actor.partition(":")
        if self._speaker != AGENT or (kind != "human" and (kind != "subagent" or name == self._agent)):
            return by
        return replace(by, actor=f"bot:{self._agent}", approval=Approval.AUTO)

    def _composed_against(self, change: Change) -> Callable[[str], bytes | None]:
        """Reads the files that a change replaces: what it does can only be told beside what it was composed against."""
        expected = {each.path: each.expects for each in change.operations if isinstance(each, PutPage)}

        def read(path: str) -> bytes | None:
            page = self._vault.page(path)
            content, mark = (page.content, page.hash) if page else (None, None)
            if mark != expected.get(path, mark):
                raise PageChangedError(path, current=content, current_hash=mark)
            return content

        return read


def _joined(change: Change, decision: Decision) -> Change:
    """The change with what is beside it, as one; lines of one ledger are told together."""
    others: list[Operation] = []
    lines: dict[Ledger, AddLines] = {}
    for each in (*change.operations, *decision.beside):
        if isinstance(each, AddLines):
            before = lines[each.ledger].records if each.ledger in lines else ()
            lines[each.ledger] = replace(each, records=(*before, *each.records))
        else:
            others.append(each)
    action = decision.action if decision.beside and decision.action else change.action
    by = replace(decision.by, session=change.by.session, source=change.by.source)
    return replace(change, operations=(*others, *lines.values()), by=by, action=action)
