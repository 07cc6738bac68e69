"""The policy gate: every change passes it on its way to the writer, and the policy decides.

Allowed changes go on. A refused one raises PolicyError, which names the row that decided and whether the change can be
proposed instead.
"""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, cast

from memfolio.errors import (
    ConflictError,
    ContentError,
    DiskError,
    MemfolioError,
    PageChangedError,
    PolicyError,
    ProposedError,
)
from memfolio.policy import Deed, Policy, PolicyRow, Role, Verdict
from memfolio.state import Op
from memfolio.types import (
    CORRECTION,
    FLUSHED,
    OVERHEARD,
    REFLECTION,
    SUMMED_UP,
    Action,
    Approval,
    Attribution,
    MemoryItem,
    Origin,
    Store,
    Type,
)
from memfolio.vault.agents import PROPOSES, AgentSettings, agent_file
from memfolio.vault.change import AddBlocks, AddEntries, AddLines, Change, NewId, Operation, PutPage
from memfolio.vault.fields import Draft
from memfolio.vault.lines import is_packed, read_lines, text_of
from memfolio.vault.paths import SHARED, Form, Ledger, Sensitivity, agent_of, form_of, sensitivity, state_ledger
from memfolio.vault.sections import BEGIN, OURS
from memfolio.vault.vault import Vault

if TYPE_CHECKING:
    from memfolio.govern.proposals import ProposableVerbs

# What a change does, in the words of the policy. Pure.

CORE = "MEMORY.md"
PROPOSALS = "/memory/meta/proposals/"
MADE = frozenset({*OVERHEARD, *SUMMED_UP, REFLECTION})
BY_ACTION = {
    Action.REVERT: Deed.UNDO,
    Action.PURGE: Deed.PURGE,
    Action.ARCHIVE: Deed.ARCHIVE,
    Action.RESTORE: Deed.RESTORE,
    Action.MERGE: Deed.MERGE,
    Action.PROPOSE: Deed.PROPOSE,
    Action.REJECT: Deed.REVIEW,
    Action.RENAME: Deed.CRITICAL,
    Action.ALERT: Deed.ACKNOWLEDGE,
    Action.ACK: Deed.ACKNOWLEDGE,
}
"""The deed that a whole change counts as, by its action in the trail."""
RENEWING = (Deed.PURGE, Deed.CRITICAL)
"""Deeds that may rewrite logs."""
BY_LINE: Mapping[str, Deed] = {
    Op.CONFIRM: Deed.CONFIRM,
    Op.PIN: Deed.PIN,
    Op.VALIDITY: Deed.CORRECT,
    Op.SUPERSEDE: Deed.CORRECT,
    Op.TOMBSTONE: Deed.FORGET,
    Op.RESTORE: Deed.RESTORE,
    Op.ARCHIVE: Deed.ARCHIVE,
    Op.PURGE: Deed.PURGE,
}
BY_FACT_LINE = {"retract": Deed.FORGET, "verify": Deed.CONFIRM}
"""Deeds of lines about facts; any other line asserts one."""
CHANGING = frozenset({Op.STORE, *BY_LINE})
"""Lines that change a memory; all others are mere notes."""
_MARK = re.compile(rb"[ \t]*(?:\^\S+)?[ \t]*$")
_AROUND = re.compile(rb"|# .*|---")
"""Lines that come and go with the entries around them."""

Read = Callable[[str], bytes | None]
Entry = MemoryItem | Draft
Find = Callable[[str], MemoryItem | None]


SEVERITY = tuple(Verdict)


def strictest(rows: Iterable[PolicyRow]) -> PolicyRow:
    """Return the strictest row, the first of several: a change is made as a whole or not at all."""
    return max(rows, key=lambda row: SEVERITY.index(row.verdict))


class ChangePart(NamedTuple):
    """One effect of a change, and the origin of what it affects, if known."""

    deed: Deed
    origin: Origin | None = None


def parts_of(change: Change, read: Read, find: Find) -> Iterator[ChangePart]:
    """Everything that a change does; `read` gives a page as it is, `find` a memory."""
    deed = BY_ACTION.get(change.action)
    if deed:
        yield ChangePart(deed)
    added: list[Entry] = []
    # The action says what the change is meant as; its operations, what it does. Both have to be allowed.
    for operation in change.operations:
        match operation:
            case AddEntries():
                yield from {ChangePart(_deed_of(item), item.origin) for item in operation.items}
                added += operation.items
            case AddLines():
                yield from _lines(operation.ledger, operation.records, added, find)
            case PutPage():
                # Jobs keep up a part of a person's page, and a purge takes from it what it takes from memories.
                in_own_part = deed is Deed.PURGE or change.by.actor.startswith("system:")
                yield from _page(operation, read, deed, in_own_part=in_own_part)
            case AddBlocks():
                yield ChangePart(Deed.PAGE)
                if operation.ledger.form is Form.LINES:
                    yield from _lines(operation.ledger, _records(operation.blocks), added, find)
    yield from _rewritten_logs(change, read, find, deed)


def memories_of(change: Change) -> set[str]:
    """Return the ids of the memories that a change is about, restores, or derives others from."""
    found: set[object] = set()
    for operation in change.operations:
        match operation:
            case AddEntries():
                found.update(each for item in operation.items for each in item.derived_from)
            case AddLines():
                found.update(_memories_named(operation.records))
            case AddBlocks() if operation.ledger.form is Form.LINES:
                found.update(_memories_named(_records(operation.blocks)))
            case PutPage(path, bytes() as content, _) if form_of(path) is Form.LINES:
                confirming = (line for line in content.splitlines() if b'"confirm"' in line)
                found.update(_memories_named(_records(confirming)))
    return {each for each in found if isinstance(each, str)}


def _memories_named(records: Iterable[Mapping[str, Any]]) -> Iterator[object]:
    for record in records:
        if record.get("op") in CHANGING:
            yield record.get("memory")
        yield from record.get("memories", ())


def agents_of(operations: Iterable[Operation]) -> Iterator[str | None]:
    """Yield the agents whose folders operations touch; None is the home's own part."""
    for operation in operations:
        match operation:
            case AddEntries():
                yield operation.agent
            case PutPage():
                yield agent_of(operation.path)
            case AddLines() | AddBlocks():
                yield agent_of(operation.ledger.part(1))


def only_counts(change: Change) -> bool:
    """Whether a change only records that memories were shown, used or ignored."""
    lines = [each for each in change.operations if isinstance(each, AddLines)]
    ops = {record.get("op") for each in lines for record in each.records}
    return len(lines) == len(change.operations) and ops <= {Op.ACCESS, Op.IGNORED, Op.TOLD}


def _deed_of(item: Entry) -> Deed:
    if item.store is Store.VAULT:
        return Deed.VAULT
    # Only what was said in a conversation has a role.
    if item.role is not None:
        return Deed.OBSERVE
    if item.source == CORRECTION:
        return Deed.CORRECT
    is_made = item.source in MADE and (item.derived_from or item.source == FLUSHED)
    return Deed.LEARN if is_made else Deed.REMEMBER


def _lines(
    ledger: Ledger, records: Iterable[Mapping[str, Any]], added: Sequence[Entry], find: Find
) -> Iterator[ChangePart]:
    """Yield what state lines do to memories that exist, or are `added` by the same change."""
    agent = agent_of(ledger.part(1))
    # Lines of the state are about memories, those of all other ledgers about knowledge.
    if agent is None or ledger != state_ledger(agent):
        yield from _knowledge(ledger, records)
        return
    records = list(records)
    replaced = [record.get("memory") for record in records if record.get("op") == Op.SUPERSEDE]
    for record in records:
        op, memory = str(record.get("op")), record.get("memory")
        if op not in CHANGING:
            yield ChangePart(Deed.REVIEW if op == Op.REVIEW and "proposal" in record else Deed.NOTE)
            continue
        item = _item_of(memory, added, find)
        origin = item.origin if item else None
        if Store.VAULT in (item.store if item else None, record.get("store")):
            yield ChangePart(Deed.VAULT)
        is_ended = op == Op.VALIDITY and memory in replaced
        if (op == Op.SUPERSEDE or is_ended) and added and origin is not Origin.OWNER:
            yield ChangePart(Deed.NOTE)  # it is told with what takes its place
        else:
            yield ChangePart(BY_LINE.get(op, Deed.NOTE), origin)


def _knowledge(ledger: Ledger, records: Iterable[Mapping[str, Any]]) -> Iterator[ChangePart]:
    """Yield what lines in a ledger of facts, rules or cases do; those of other ledgers count as a page edit."""
    match ledger.base.rpartition("/knowledge/")[2]:
        case "facts":
            for each in records:
                origin = Origin.UNTRUSTED if each.get("origin") == Origin.UNTRUSTED.value else None
                yield ChangePart(BY_FACT_LINE.get(str(each.get("op")), Deed.REMEMBER), origin)
        case "rules":
            yield ChangePart(Deed.RULE)
        case "cases":
            yield ChangePart(Deed.LEARN)
        case _:
            yield ChangePart(Deed.PAGE)


def _item_of(memory: object, added: Sequence[Entry], find: Find) -> Entry | None:
    if isinstance(memory, NewId):
        return added[memory.index] if memory.index < len(added) else None
    return find(memory) if isinstance(memory, str) else None


def _records(blocks: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    return (record for raw in blocks for record in read_lines(raw.rstrip(b"\n") + b"\n").records)


def _page(put: PutPage, read: Read, deed: Deed | None, *, in_own_part: bool) -> Iterator[ChangePart]:
    """Yield what a new version of a file does; `in_own_part` allows changes to the part that memfolio maintains."""
    match sensitivity(put.path):
        case Sensitivity.CRITICAL:
            yield ChangePart(Deed.CRITICAL)
        case Sensitivity.HIGH if _is_own_part(put.content or b"", read(put.path) or b"", may_add=in_own_part):
            yield ChangePart(Deed.PAGE)
        case Sensitivity.HIGH:
            yield ChangePart(Deed.VAULT if "/memory/vault/" in put.path else Deed.HIGH)
        case _ if agent_of(put.path) is None:
            yield ChangePart(Deed.CRITICAL)
        case _ if put.path.endswith(f"/{CORE}"):
            yield ChangePart(Deed.CORE if _is_one_line(put.content or b"", read(put.path) or b"") else Deed.REWRITE)
        case _ if PROPOSALS in put.path:
            yield ChangePart(Deed.PROPOSE if deed is Deed.PROPOSE else Deed.REVIEW)
        case _ if "/knowledge/ontology/" in put.path:
            yield ChangePart(Deed.RULE)
        case _:
            yield ChangePart(Deed.PAGE)


_OUR_MARK = re.compile(rf"^{BEGIN}.*$", re.MULTILINE)


def _is_own_part(content: bytes, before: bytes, *, may_add: bool) -> bool:
    """Whether a change touches only the part of a page that memfolio keeps, and nothing that a person wrote.

    Only a job adds to it; anybody may take lines out, as forgetting does.
    """
    new, old = (each.decode("utf-8", "replace") for each in (content, before))
    if not may_add and not set(new.splitlines()[1:]) - set(old.splitlines()) <= set(_OUR_MARK.findall(new)):
        return False
    left = OURS.sub("", new).split()
    return OURS.search(new) is not None and left in (OURS.sub("", old).split(), [] if old.strip() else ["#", "User"])


def _rewritten_logs(change: Change, read: Read, find: Find, deed: Deed | None) -> Iterator[ChangePart]:
    """Yield what rewriting logs and state files does: it removes content, and counts as a rewrite if it adds some."""
    puts = [each for each in change.operations if isinstance(each, PutPage)]
    puts = [each for each in puts if form_of(each.path) is not Form.PAGE or is_packed(each.path)]
    moves = [each for each in change.operations if isinstance(each, AddBlocks) and each.ledger.form is Form.LOG]
    # A purge and a renaming write logs anew by their nature, which is what the policy was asked about.
    if deed in RENEWING or (not puts and not moves):
        return
    before = {line for put in puts for line in _lines_in(put.path, read(put.path))}
    after = {line for put in puts for line in _lines_in(put.path, put.content)}
    if deed is Deed.UNDO:
        for record in _records(_content_only_in(after, before)):
            item = find(str(record.get("memory"))) if record.get("op") == Op.CONFIRM else None
            if item:
                yield ChangePart(Deed.CONFIRM, item.origin)
        return
    # What is cut out of one log and put into another by the same change was not taken away.
    after |= {line for move in moves for raw in move.blocks for line in raw.splitlines()}
    if _content_only_in(after, before):
        yield ChangePart(Deed.REWRITE)
    elif deed is None or _content_only_in(before, after):
        yield ChangePart(Deed.FORGET)


def _lines_in(path: str, content: bytes | None) -> list[bytes]:
    """Return the lines of a file; a damaged compressed file is split as it is."""
    text = content or b""
    with suppress(DiskError):
        text = text_of(path, text) if text else b""
    return text.splitlines()


def _content_only_in(lines: set[bytes], others: set[bytes]) -> set[bytes]:
    """What lines of entries and records say that others do not; nearly all lines of two states of a log are equal."""
    more = _content_lines(lines - others)
    return more - _content_lines(others) if more else more


def _content_lines(lines: Iterable[bytes]) -> set[bytes]:
    unmarked = (_MARK.sub(b"", line) for line in lines)
    return {line for line in unmarked if not _AROUND.fullmatch(line)}


def _is_one_line(after: bytes, before: bytes) -> bool:
    """Whether an edit removes at most one line, so that it does not count as a rewrite."""
    left = after.splitlines()
    return sum(1 for line in before.splitlines() if line.strip() and line not in left) <= 1


# The gate, which every change of a `Memory` passes.

TENDING = frozenset({Deed.OBSERVE, Deed.LEARN, Deed.NOTE, Deed.PAGE, Deed.ARCHIVE, Deed.MERGE, Deed.PROPOSE})
"""Deeds that memfolio itself may do in the folder of an agent that only proposes."""
OWNER, AGENT = "owner", "agent"
"""The speaker of a process: a person, or an agent that cannot pass for one. Otherwise each change names its own."""
MANUAL = ("review by agent: refuse", "review by subagent: refuse")
FOREIGN = "any in another agent's folder: refuse"
RETIRED = "any by a retired agent: refuse"
SELF = "any in another's name: refuse"
IN_SHARED = "any in shared memory by subagent: propose"
RAISED = "any that raises an origin: refuse"


@dataclass(slots=True)
class Decision:
    """A decision that is being carried out: who decided, and the operations that go with it."""

    role: Role
    by: Attribution
    action: Action | None
    extra: tuple[Operation, ...]


class Gate:
    """Decides for one agent; `find` gives memories by their ids, `speaker` says who speaks for it."""

    def __init__(
        self,
        vault: Vault,
        agent: str,
        *,
        find: Callable[[Collection[str]], Mapping[str, MemoryItem]],
        proposable: ProposableVerbs,
        speaker: str | None = None,
    ) -> None:
        config = vault.config
        own = MANUAL if config.proposals.review == "manual" else ()
        self.policy = Policy.of(config.policy.preset, (*config.policy.rows, *own))
        self._vault, self._agent, self._find, self.proposable = vault, agent, find, proposable
        self._speaker = config.speaker if speaker is None else speaker
        self._rows: dict[tuple[Deed, Role, Origin | None], PolicyRow] = {}
        # Threads share a memory, and each carries out decisions of its own.
        self._local = threading.local()
        self._file = agent_file(agent)
        self._read: tuple[str | None, AgentSettings] | None = None

    @property
    def settings(self) -> AgentSettings:
        """The current settings in `agent.toml`."""
        # The file is read again only when it has changed: every write asks for it.
        known = self._vault.files.get(self._file)
        mark = known.hash if known else None
        if self._read is None or self._read[0] != mark:
            self._read = mark, self._vault.settings(self._agent)
        return self._read[1]

    @property
    def decided(self) -> str:
        """The policy row that decided the last change of this thread; empty if there was none."""
        return str(getattr(self._local, "row", ""))

    @property
    def _decision(self) -> Decision | None:
        return getattr(self._local, "decision", None)

    def complete(self, change: Change) -> Change:
        """The change with the extra operations of the decision that it carries out, if it does."""
        return change if self._decision is None else _joined(change, self._decision)

    @contextmanager
    def __call__(self, change: Change) -> Iterator[Change]:
        """Check a change against the policy and yield it as it may be made; raises PolicyError if it is refused."""
        decision = self._decision
        if decision is None:
            self._check(change, self.role_of(change.by), can_propose=True)
            by = self.named(change.by)
            yield change if by is change.by else replace(change, by=by)
            return
        self._check(change, decision.role, can_propose=False)
        yield change
        decision.extra = ()

    @contextmanager
    def deciding(
        self,
        by: Attribution,
        deed: Deed = Deed.REVIEW,
        *,
        as_actor: str | None = None,
        action: Action | None = None,
        approval: Approval = Approval.APPROVED,
        extra: Sequence[Operation] = (),
    ) -> Iterator[None]:
        """Carry out somebody's decision: changes inside this block count as theirs and are not proposed again.

        The first of them is combined with the `extra` operations; the trail names `as_actor`, if given.
        """
        self.check(deed, by)
        named = replace(by, actor=as_actor or self.named(by).actor, approval=approval)
        # Read by every change that this thread makes until the end of the block.
        self._local.decision = Decision(self.role_of(by), named, action, tuple(extra))
        try:
            yield
        finally:
            self._local.decision = None

    def check(self, deed: Deed, by: Attribution, origin: Origin | None = None) -> PolicyRow:
        """Return the policy row that allows a deed; raises PolicyError if none does."""
        decision = self._decision
        row = self._decide(deed, decision.role if decision else self.role_of(by), origin)
        if row.verdict is not Verdict.APPLY:
            raise self._refusal(deed, row, can_propose=decision is None)
        return row

    def lets(self, deed: Deed, by: Attribution) -> bool:
        """Whether an actor may do something without asking."""
        return self._decide(deed, self.role_of(by)).verdict is Verdict.APPLY

    @property
    def is_lesser(self) -> bool:
        """Whether the agent may only propose, and no person speaks for it."""
        return self._speaker != OWNER and self.settings.policy == PROPOSES

    @property
    def is_agent(self) -> bool:
        """Whether an agent speaks here that nobody may take for a person."""
        return self._speaker == AGENT or self.is_lesser

    @property
    def is_limited(self) -> bool:
        """Whether the speaker may see only what the agent can read; invalid settings grant nothing."""
        try:
            return self.is_agent
        except MemfolioError:
            return True

    @property
    def acts_as_agent(self) -> bool:
        """Whether it does so of its own accord, and carries out nobody's decision."""
        return self._decision is None and self.is_agent

    def role_of(self, by: Attribution) -> Role:
        """Return the role of the actor; raises PolicyError if an agent that only proposes claims to be another."""
        kind = by.actor.partition(":")[0]
        is_system = kind in ("system", "reflection")
        if self._speaker == OWNER:
            return Role.SYSTEM if is_system else Role.OWNER
        if is_system:
            return Role.SYSTEM
        own = Role.SUBAGENT if self.is_lesser else Role.AGENT
        if self._speaker == AGENT:
            return own
        if own is Role.SUBAGENT and self._is_somebody_else(by):
            raise PolicyError(f"{self._agent} proposes, and cannot act as {by.actor}", row=SELF, hint="act as yourself")
        return {"human": Role.OWNER, "subagent": Role.SUBAGENT}.get(kind, own)

    def _is_somebody_else(self, by: Attribution) -> bool:
        """Whether an actor is a person, or another agent that proposes."""
        kind, _, name = by.actor.partition(":")
        return kind == "human" or (kind == "subagent" and name != self._agent)

    def _check(self, change: Change, role: Role, *, can_propose: bool) -> None:
        if role is not Role.OWNER:
            self._check_place(change)
        memories = self._find(named) if (named := memories_of(change)) else {}
        parts = dict.fromkeys(parts_of(change, self._composed_against(change), memories.get))
        rows = {self._decide(part.deed, role, part.origin): part.deed for part in parts or [ChangePart(Deed.NOTE)]}
        row = self._local.row = strictest(rows)
        if row.verdict is not Verdict.APPLY:
            raise self._refusal(rows[row], row, can_propose=can_propose)
        if role is not Role.OWNER:
            self._check_origins(change, memories)

    def _check_place(self, change: Change) -> None:
        # Not even a proposal: who is retired only reads.
        if self.settings.retired:
            raise PolicyError(f"{self._agent} is retired", row=RETIRED, hint=f"`memfolio agent unretire {self._agent}`")
        proposed = list(filter(self._is_proposal, change.operations)) if change.action is Action.PROPOSE else []
        owners = set(agents_of(each for each in change.operations if each not in proposed))
        if foreign := owners - {self._agent, SHARED, None}:
            why = f"{self._agent} cannot write to the memory of {min(filter(None, foreign))}"
            raise PolicyError(why, row=FOREIGN, hint="`propose` it to that agent")
        if SHARED in owners and self.is_lesser and not only_counts(change):
            why = f"{self._agent} proposes, and cannot write what all agents share"
            raise PolicyError(why, row=IN_SHARED, can_propose=True)

    def _is_proposal(self, operation: Operation) -> bool:
        """Whether it is the page of a proposal by this agent, or only links another one with a contradiction."""
        if not isinstance(operation, PutPage) or PROPOSALS not in operation.path:
            return False
        from memfolio.govern.proposals import ProposalStatus, parse, render

        before = self._vault.content(operation.path)
        try:
            read = partial(parse, self.proposable, operation.path)
            page, was = read(operation.content or b""), before and read(before)
        except ContentError:
            return False
        # A new page must say nothing but what it would say if memfolio had written it.
        if not was:
            return page.proposer == self._agent and operation.content == render(page).encode()
        linked = replace(was, status=ProposalStatus.CONFLICT, conflicts=page.conflicts)
        return page == linked and set(was.conflicts) <= set(page.conflicts)

    def _check_origins(self, change: Change, memories: Mapping[str, MemoryItem]) -> None:
        """Nobody but the owner makes more of a stranger's word, and an agent that is known as one speaks for itself."""
        items = [item for each in change.operations if isinstance(each, AddEntries) for item in each.items]
        lines = [line for each in change.operations if isinstance(each, AddLines) for line in each.records]
        # An agent that could claim an origin would make its own words the owner's.
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

    def _decide(self, deed: Deed, role: Role, origin: Origin | None = None) -> PolicyRow:
        if role is Role.SYSTEM and deed not in TENDING and self._speaker != OWNER:
            # An agent could give itself out for memfolio, too.
            role = Role.SUBAGENT if self.is_lesser else Role.AGENT if self._speaker == AGENT else role
        key = deed, role, origin
        if key not in self._rows:
            self._rows[key] = self.policy.decide(*key)
        return self._rows[key]

    def _refusal(self, deed: Deed, row: PolicyRow, *, can_propose: bool) -> PolicyError:
        needs_leave = row.verdict is Verdict.PROPOSE
        needs = "needs the owner's leave for" if needs_leave else "may not do"
        why = f"{self._agent} {needs} this ({deed})"
        hint = "let the owner do it, or change policy.rows in memfolio.toml"
        return PolicyError(why, row=str(row), can_propose=can_propose and needs_leave, hint=hint)

    def named(self, by: Attribution) -> Attribution:
        """Return the attribution, with the agent's own name if it claims to be a person or another agent."""
        is_false = self._speaker == AGENT and self._is_somebody_else(by)
        return replace(by, actor=f"bot:{self._agent}", approval=Approval.AUTO) if is_false else by

    def _composed_against(self, change: Change) -> Callable[[str], bytes | None]:
        """Reads the files that a change replaces: what it does can only be told against what it was composed on."""
        # The page may have been changed since the change was composed.
        expected = {each.path: each.expects for each in change.operations if isinstance(each, PutPage)}

        def read(path: str) -> bytes | None:
            page = self._vault.page(path)
            content, mark = (page.content, page.hash) if page else (None, None)
            if mark != expected.get(path, mark):
                raise PageChangedError(path, current=content, current_hash=mark)
            return content

        return read


def _joined(change: Change, decision: Decision) -> Change:
    """Merge the extra operations of a decision into a change; lines of one ledger are kept together."""
    others: list[Operation] = []
    lines: dict[Ledger, AddLines] = {}
    for each in (*change.operations, *decision.extra):
        if isinstance(each, AddLines):
            before = lines[each.ledger].records if each.ledger in lines else ()
            lines[each.ledger] = replace(each, records=(*before, *each.records))
        else:
            others.append(each)
    # Only the first change of a decision has extra operations, and is the one that the trail calls by it.
    action = decision.action if decision.extra and decision.action else change.action
    by = replace(decision.by, session=change.by.session, source=change.by.source)
    return replace(change, operations=(*others, *lines.values()), by=by, action=action)


# Verbs under the policy: what an agent is kept from is proposed, and what it sends again is done once.

P = ParamSpec("P")
R = TypeVar("R")
Remember = Callable[..., MemoryItem]
DISTINCT = ("kind", "user", "at", "valid_from", "valid_until", "attributes")
"""Fields that make two memories with the same text, type and store different, if given."""


def proposable(verb: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Propose the call of a method if the policy requires approval; its object has `_propose(verb, arguments, error)`.

    If the proposal is committed at once, its result is returned as if the call had been made; otherwise ProposedError
    names the proposal.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except PolicyError as error:
                if not error.can_propose or kwargs.get("dry_run"):
                    raise
                given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
                given |= given.pop("fields", {})
                proposal = cast(Any, args[0])._propose(verb, given, error)
                if proposal.made is None:
                    raise ProposedError(
                        proposal.id, row=error.row, to=proposal.to, proposer=proposal.proposer
                    ) from error
                return cast(R, proposal.made)

        return call

    return decorate


def once_for_agents(remember: Callable[P, R]) -> Callable[P, R]:
    """Wrap `remember` so that an agent that repeats itself without a key creates one memory a day."""

    @wraps(remember)
    def call(*args: P.args, **given: P.kwargs) -> R:
        memory = cast(Any, args[0])
        text = args[1] if len(args) > 1 else given.get("text")
        if given.get("key") is not None or text is None or not memory.gate.acts_as_agent:
            return remember(*args, **given)
        arguments = {name: value for name, value in given.items() if name not in ("text", "key")}
        return cast(R, _once(memory, partial(cast(Any, remember), memory), cast(str, text), arguments))

    return call


def kept_once(memory: Any, text: str, **arguments: Any) -> MemoryItem:
    """Call `remember` idempotently, for verbs that only agents call."""
    if memory.gate.acts_as_agent:
        return cast(MemoryItem, memory.remember(text, **arguments))
    return _once(memory, memory.remember, text, arguments)


def _once(memory: Any, remember: Remember, text: str, arguments: Mapping[str, Any]) -> MemoryItem:
    """Remember a text once a day; a text that was forgotten since is kept again, a corrected one is not."""
    mark = _mark(memory, text, arguments)
    for attempt in count():
        key = f"{mark}-{attempt}"
        try:
            return remember(text, key=key, **arguments)
        except ConflictError as error:
            there = _kept_under(memory, key)
            if there is None or there.forgotten_at:
                continue  # it takes another key to keep it again
            if there.superseded_by:
                hint = f"{there.superseded_by} has its place; give a key of your own to remember this all the same"
                raise ConflictError(f"{there.id} says this, and was corrected", hint=hint) from error
            return there  # in other words than it was sent: what must not be written was taken out
    raise AssertionError("there is always another key")


def _kept_under(memory: Any, key: str) -> MemoryItem | None:
    """Return the memory that was stored under a key, in any state."""
    line = memory.vault.was_made(memory.vault.home.key_mark(memory.agent, key))
    return cast("MemoryItem | None", memory.get(line.ids[0])) if line and line.ids else None


def _mark(memory: Any, text: str, arguments: Mapping[str, Any]) -> str:
    today = memory.vault.home.now().astimezone(memory.vault.home.zone).date()
    kind = arguments.get("type") or Type.OBSERVATION
    store = arguments.get("tier") or arguments.get("store") or Store.LONG_TERM
    further = (f"{name}={arguments[name]}" for name in DISTINCT if arguments.get(name) is not None)
    parts = map(str, (memory.agent, today, kind, store, *further, text))
    return f"once-{blake2b(chr(0).join(parts).encode('utf-8', 'replace')).hexdigest()[:24]}"
