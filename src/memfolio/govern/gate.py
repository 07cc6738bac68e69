"""The gate: every change of a `Memory` passes it on its way to the writer, and the policy of the home decides.

What is allowed goes on; what is not raises PolicyError, which names the row that decided and whether it can be
proposed instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memfolio.errors import PolicyError
from memfolio.govern.deeds import Part, agents_of, parts_of
from memfolio.policy import Deed, Policy, Role, Row, Verdict, strictest
from memfolio.types import Action, Approval, Attribution, Origin
from memfolio.vault.agents import PROPOSES, AgentSettings, agent_file, read_agent
from memfolio.vault.change import AddEntries, AddLines, Change, Operation, PutPage
from memfolio.vault.paths import SHARED, Ledger
from memfolio.vault.vault import Vault

TENDING = frozenset({Deed.OBSERVE, Deed.LEARN, Deed.NOTE, Deed.PAGE, Deed.ARCHIVE, Deed.MERGE, Deed.PROPOSE})
"""What memfolio does by itself in the folder of an agent that proposes."""
OWNER, AGENT = "owner", "agent"
"""Who speaks through a process: a person, or an agent that cannot be taken for one. Else it says so itself."""
FOREIGN = "any in another agent's folder: refuse"
RETIRED = "any by a retired agent: refuse"
SELF = "any in another's name: refuse"


@dataclass(slots=True)
class Decision:
    """Somebody's decision that is being carried out: who decides, and what else the change says."""

    role: Role
    by: Attribution
    action: Action | None
    beside: tuple[Operation, ...]


class Gate:
    """Decides for one agent; `origin_of` says whose word a memory is, `clean` takes out what must not be written."""

    def __init__(
        self,
        vault: Vault,
        agent: str,
        *,
        origin_of: Callable[[str], Origin | None],
        clean: Callable[[Change], Change] = lambda change: change,
    ) -> None:
        config = vault.config
        own = ("review by agent: refuse",) if config.proposals.review == "manual" else ()
        self.policy = Policy.of(config.policy.preset, (*config.policy.rows, *own))
        self._vault, self._agent, self._speaker = vault, agent, config.speaker
        self._origin_of, self._clean = origin_of, clean
        self._rows: dict[tuple[Deed, Role, Origin | None], Row] = {}
        self._local = threading.local()
        self._read: tuple[str | None, AgentSettings] | None = None

    @property
    def settings(self) -> AgentSettings:
        """What `agent.toml` says at the moment."""
        path = agent_file(self._agent)
        known = self._vault.books.known(path)
        mark = known.hash if known else None
        if self._read is None or self._read[0] != mark:
            page = self._vault.page(path)
            self._read = mark, read_agent(self._agent, page.content if page else None)
        return self._read[1]

    @contextmanager
    def __call__(self, change: Change) -> Iterator[Change]:
        """The change as it may be made; while it is, nothing else is decided about."""
        decision: Decision | None = getattr(self._local, "decision", None)
        change = self._clean(change)
        role = decision.role if decision else self.role_of(change.by)
        self._check(change, role, can_propose=decision is None)
        if decision is None:
            yield self._named(change)
            return
        yield _joined(change, decision)
        decision.beside = ()

    @contextmanager
    def deciding(
        self,
        by: Attribution,
        deed: Deed = Deed.REVIEW,
        *,
        as_actor: str | None = None,
        action: Action | None = None,
        beside: Sequence[Operation] = (),
    ) -> Iterator[None]:
        """Carry out what somebody decided: changes in here count as theirs, and none is proposed again.

        The first of them is made together with what is `beside`; they stand in the trail under `as_actor`.
        """
        self.check(deed, by)
        named = replace(by, actor=as_actor or by.actor, approval=Approval.APPROVED)
        self._local.decision = Decision(self.role_of(by), named, action, tuple(beside))
        try:
            yield
        finally:
            self._local.decision = None

    def check(self, deed: Deed, by: Attribution, origin: Origin | None = None) -> Row:
        """The row that lets an actor do something; PolicyError where none does."""
        row = self.policy.decide(deed, self._as_far(deed, self.role_of(by)), origin)
        if row.verdict is not Verdict.APPLY:
            raise self._refusal(deed, row, can_propose=True)
        return row

    def lets(self, deed: Deed, by: Attribution) -> bool:
        """Whether an actor may do something without asking."""
        return self.policy.decide(deed, self._as_far(deed, self.role_of(by))).verdict is Verdict.APPLY

    def role_of(self, by: Attribution) -> Role:
        """Who acts; PolicyError where an agent that proposes gives itself out for somebody else."""
        kind, _, name = by.actor.partition(":")
        is_system = kind in ("system", "reflection")
        if self._speaker == OWNER:
            return Role.SYSTEM if is_system else Role.OWNER
        settings = self.settings
        own = Role.SUBAGENT if settings.policy == PROPOSES else Role.AGENT
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
        rows = {self._decide(part, role): part.deed for part in dict.fromkeys(parts_of(change, self._content))}
        row = strictest(rows)
        if row.verdict is not Verdict.APPLY:
            raise self._refusal(rows[row], row, can_propose=can_propose)
        self._check_origins(change, role)

    def _check_place(self, change: Change) -> None:
        if self.settings.retired:
            raise PolicyError(f"{self._agent} is retired", row=RETIRED, hint=f"`memfolio agent unretire {self._agent}`")
        foreign = {each for each in agents_of(change) if each not in (self._agent, SHARED, None)}
        if foreign and not _only_proposes(change):
            raise PolicyError(
                f"{self._agent} cannot write to the memory of {min(filter(None, foreign))}",
                row=FOREIGN,
                hint="`propose` it to that agent",
            )

    def _check_origins(self, change: Change, role: Role) -> None:
        """An agent that proposes speaks in nobody's name but its own."""
        if role is not Role.SUBAGENT:
            return
        for operation in change.operations:
            if isinstance(operation, AddEntries) and any(each.origin is Origin.OWNER for each in operation.items):
                raise PolicyError(f"{self._agent} cannot speak for the owner", row=SELF, hint="leave the origin out")

    def _decide(self, part: Part, role: Role) -> Row:
        origin, role = part.origin, self._as_far(part.deed, role)
        if origin is None and part.memory and self.policy.minds_origin(part.deed, role):
            origin = self._origin_of(part.memory)
        key = part.deed, role, origin
        if key not in self._rows:
            self._rows[key] = self.policy.decide(*key)
        return self._rows[key]

    def _as_far(self, deed: Deed, role: Role) -> Role:
        """The role that counts for a deed: an agent could give itself out for memfolio, too."""
        if role is not Role.SYSTEM or deed in TENDING or self._speaker == OWNER:
            return role
        if self.settings.policy == PROPOSES:
            return Role.SUBAGENT
        return Role.AGENT if self._speaker == AGENT else role

    def _refusal(self, deed: Deed, row: Row, *, can_propose: bool) -> PolicyError:
        can_propose = can_propose and row.verdict is Verdict.PROPOSE
        hint = "ask the owner to do it, or to change policy.rows in memfolio.toml"
        return PolicyError(
            f"the policy does not let {self._agent} do this: {deed}", row=str(row), can_propose=can_propose, hint=hint
        )

    def _named(self, change: Change) -> Change:
        """The change under the agent's own name, where it cannot be a person's."""
        if self._speaker != AGENT or not change.by.actor.startswith("human"):
            return change
        by = replace(change.by, actor=f"bot:{self._agent}", approval=Approval.AUTO)
        return replace(change, by=by)

    def _content(self, path: str) -> bytes | None:
        page = self._vault.page(path)
        return page.content if page else None


def _only_proposes(change: Change) -> bool:
    """Whether nothing is written but pages of proposals."""
    pages = [each.path for each in change.operations if isinstance(each, PutPage) and each.content is not None]
    is_whole = change.action is Action.PROPOSE and len(pages) == len(change.operations)
    return is_whole and all("/memory/meta/proposals/" in path for path in pages)


def _joined(change: Change, decision: Decision) -> Change:
    """The change with what is beside it, as one; lines of one ledger are told together."""
    operations = list(change.operations)
    for extra in decision.beside:
        same = [
            nth for nth, each in enumerate(operations) if _ledger(each) is not None and _ledger(each) == _ledger(extra)
        ]
        if same and isinstance(extra, AddLines):
            before = operations[same[0]]
            assert isinstance(before, AddLines)
            operations[same[0]] = replace(before, records=(*before.records, *extra.records))
        else:
            operations.append(extra)
    action = decision.action if decision.beside and decision.action else change.action
    by = replace(decision.by, session=change.by.session, source=change.by.source)
    return replace(change, operations=tuple(operations), by=by, action=action)


def _ledger(operation: Operation) -> Ledger | None:
    return operation.ledger if isinstance(operation, AddLines) else None
