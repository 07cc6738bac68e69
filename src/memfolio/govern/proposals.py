"""The proposals of a home as one agent sees them: made, looked at, and decided on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from memfolio.errors import (
    ConflictError,
    ContentError,
    InputError,
    NotFoundError,
    PageChangedError,
    PolicyError,
    RefusedError,
)
from memfolio.govern.gate import FOREIGN, OWNER, Gate
from memfolio.govern.proposal import (
    PATH,
    Proposal,
    ProposalStatus,
    ProposedCall,
    content_of,
    intent_of,
    parse,
    render,
    rivals,
)
from memfolio.policy import Deed, Role
from memfolio.recall.library import Library
from memfolio.state import Op
from memfolio.types import Action, Approval, Attribution, Kind, Origin, Store
from memfolio.vault.agents import PROPOSES
from memfolio.vault.change import AddLines, Change, NewId, Operation, PutPage
from memfolio.vault.fields import check_content
from memfolio.vault.lines import new_id, read_lines, split_lines
from memfolio.vault.paths import SHARED, agent_of, ledger_of, state_ledger
from memfolio.vault.vault import Vault

# A decision is one change with all that follows from it: what was proposed is done, its page goes, the verdict stands
# in the state lines of the agent that it was for, and what contradicted it is told so.

T = TypeVar("T")
Act = Callable[["Proposals", Proposal], T]
ATTEMPTS = 8
COMMITTED, REJECTED, EXPIRED = "committed", "rejected", "expired"
TENDER = Attribution(actor="system:tend", trigger="expire")
REVIEWER = Attribution(actor="system:review", trigger="review")
PROPOSER = Attribution(actor="bot:propose", approval=Approval.PENDING, trigger="propose")
ADDING = ("remember", "facts.assert_", "rules.create", "ontology.commit")
"""Verbs that add something, which is for the agent that decides on it."""
UNSAID = 0.7
"""How sure an agent counts as that does not say."""
MOST = 100
"""How many proposals of one agent may wait at a time."""
LISTED = 20
"""How many proposals stand at the start of a session."""
HOW = "Decide on each with its hash: proposals.commit(id, shown=hash), .reject(id, reason) or .defer(id)."


def propose_instead(proposals: Proposals, library: Library, intent: ProposedCall, error: PolicyError) -> Proposal:
    """Propose what a verb was kept from doing, to the agent whose memory it is about."""
    named = intent.arguments.get("id") or intent.arguments.get("what")
    found = library.find(named) if named else None
    mine = library.agent if intent.verb.startswith(("core.", "graph.")) or not found else agent_of(found.path)
    to = None if intent.verb in ADDING or mine == SHARED else mine
    return proposals.add(intent, by=replace(PROPOSER, trigger=intent.verb), row=error.row, to=to)


class Proposals:
    """What is proposed to an agent, and by it. `do` carries an intent out, `elsewhere` opens those of another agent."""

    def __init__(
        self,
        vault: Vault,
        library: Library,
        agent: str,
        *,
        gate: Gate,
        do: Callable[[ProposedCall], object],
        elsewhere: Callable[[str], AbstractContextManager[Proposals]] | None = None,
    ) -> None:
        self._vault, self._library, self._agent, self._gate = vault, library, agent, gate
        self._do, self._elsewhere, self._settings = do, elsewhere, vault.config.proposals

    def add(
        self, intent: ProposedCall, *, by: Attribution, row: str = "", to: str | None = None, note: str = ""
    ) -> Proposal:
        """Propose something to the agent that decides on it, once; RefusedError where it was rejected before.

        `note` is for whoever decides.
        """
        intent, role, target = intent_of(intent.verb, intent.arguments), self._gate.role_of(by), self._target(to)
        is_lesser = role is not Role.OWNER and (self._gate.is_lesser or target != self._agent)
        by = replace(by, actor=f"subagent:{self._agent}" if is_lesser else by.actor, approval=Approval.PENDING)
        now, lasts = self._vault.home.now(), self._settings.expire
        at = now.replace(microsecond=0)
        proposal = Proposal(
            id=new_id("P", now, ()),
            to=target,
            proposer=self._agent,
            at=at,
            intent=intent,
            trigger=by.trigger,
            about=self._meant(intent),
            row=" ".join(row.split()),
            expires=at + lasts if lasts else None,
            note=" ".join(note.split()),
        )
        # What the memory says that is meant was checked when that was written.
        check_content(render(replace(proposal, about="")), self._vault.config.max_content_bytes)
        with self._vault.exclusive():  # so that nobody adds the same, or what contradicts it, meanwhile
            # A person may change their mind, an agent may not ask again and again.
            if role is not Role.OWNER:
                self._check_not_rejected(target, self._mark(intent))
            proposal = self._put(proposal, by)
        if self._settings.review != "automatic" or target == self._agent or self._elsewhere is None:
            return proposal
        with self._elsewhere(target) as other:
            return replace(proposal, made=other.review().get(proposal.id))

    def _target(self, to: str | None) -> str:
        settings = self._gate.settings
        if to and to not in (*self._vault.agents(), self._agent, settings.proposes_to):
            raise NotFoundError(f"there is no agent {to[:40]!r}", hint="name one of this home")
        return to or (settings.proposes_to if settings.policy == PROPOSES else self._agent)

    def _meant(self, intent: ProposedCall) -> str:
        """What the memory says that an intent names."""
        named = intent.arguments.get("id") or intent.arguments.get("what")
        found = self._library.locate(named) if named else None
        return found[1].item.content if found else ""

    def _put(self, proposal: Proposal, by: Attribution) -> Proposal:
        """Write the page, linked with those of its rivals; the page that is there where the same was proposed."""
        waiting = self._look(everything=True)[0]
        mine = [each for each in waiting if each.proposer == self._agent]
        for each in mine:
            if (each.to, each.intent) == (proposal.to, proposal.intent):
                return each
        if len(mine) >= MOST:
            why = f"{MOST} proposals of {self._agent} wait already"
            raise RefusedError(why, hint="have some of them decided first")
        conflict, others = ProposalStatus.CONFLICT, rivals(proposal, waiting)
        if others:
            proposal = replace(proposal, status=conflict, conflicts=tuple(each.id for each in others))
        links = [_edit(each, status=conflict, conflicts=(*each.conflicts, proposal.id)) for each in others]
        page = PutPage(proposal.path, render(proposal).encode(), None)
        self._vault.apply(Change(operations=(page, *links), by=by, action=Action.PROPOSE))
        return self._read(proposal.path) or proposal

    def _check_not_rejected(self, target: str, mark: str) -> None:
        past = [each for each in self._reviews(target) if each.get("mark") == mark and each["verdict"] != EXPIRED]
        if past and past[-1]["verdict"] == REJECTED:
            raise RefusedError(f"this was {_told(past[-1])}", hint="a person may propose it again")

    def pending(self, *, all: bool = False) -> list[Proposal]:
        """What waits for a decision, the oldest first; with `all`, also what was put off or is for others to decide."""
        found = self._look()[0]
        waiting = [each for each in found if each.status is not ProposalStatus.DEFERRED]
        return found if all else [each for each in waiting if self._gate.is_lesser or self._decides(each.to)]

    def broken(self) -> list[ContentError]:
        """What is wrong with pages that cannot be read; they stay as they are."""
        return self._look()[1]

    def get(self, id: str) -> Proposal:
        """One proposal; ConflictError where it was decided on, NotFoundError where this agent has none such."""
        found, broken = self._look()
        for each in found:
            if each.id == id:
                return each
        for error in broken:
            if f"/{id}.md," in error.message:
                raise error
        for agent in (self._agent, self._gate.settings.proposes_to):
            for line in self._reviews(agent):
                if line["proposal"] == id and (self._decides(agent) or line.get("from") == self._agent):
                    raise ConflictError(f"{id} was {_told(line)}", hint="it is decided; `memfolio log` tells more")
        raise NotFoundError(f"agent {self._agent} has no proposal {id[:40]!r}", hint="`memfolio proposals` lists them")

    def commit(
        self, id: str, *, shown: str, by: Attribution, store: Store | str | None = None, kind: Kind | str | None = None
    ) -> object:
        """Do what is proposed, as it was `shown`, and return what was made; a memory may get another store or kind."""
        overrides = {name: value for name, value in (("store", store), ("kind", kind)) if value is not None}
        return self._decide(id, by, partial(Proposals._commit, shown=shown, by=by, overrides=overrides))

    def _commit(self, proposal: Proposal, *, shown: str, by: Attribution, overrides: Mapping[str, Any]) -> object:
        if shown != proposal.shown:
            hint = f"look at it again; its hash is {proposal.shown}"
            raise ConflictError(f"{proposal.id} was changed since it was shown", hint=hint)
        if proposal.about != self._meant(proposal.intent):
            why = f"{proposal.id} is about a memory that says something else than it shows"
            raise ConflictError(why, hint="reject it")
        actor, leaving = f"bot:commit-from:{proposal.proposer}", self._leaving(proposal, by, COMMITTED)
        deciding = partial(self._gate.deciding, by, as_actor=actor, action=Action.COMMIT, beside=leaving)
        with deciding():
            made = self._do(_approved(proposal, overrides))
        there = self._vault.page(proposal.path)
        if there and there.hash == proposal.hash:  # nothing had to be changed
            with deciding():
                self._vault.apply(Change(operations=(), by=by, action=Action.COMMIT))
        return made

    def reject(self, id: str, reason: str = "", *, by: Attribution) -> Proposal:
        """Drop a proposal; the same is not proposed again, except by a person."""
        return self._decide(id, by, partial(Proposals._drop, verdict=REJECTED, reason=reason, by=by))

    def _drop(self, proposal: Proposal, *, verdict: str, reason: str, by: Attribution) -> Proposal:
        operations = self._leaving(proposal, by, verdict, reason)
        with self._gate.deciding(by, approval=Approval.REJECTED):
            self._vault.apply(Change(operations=operations, by=by, action=Action.REJECT))
        return proposal

    def defer(self, id: str, *, by: Attribution) -> Proposal:
        """Put a decision off: the proposal is not shown at the start of a session any more."""

        def put_off(self: Proposals, proposal: Proposal) -> Proposal:
            edit = _edit(proposal, status=ProposalStatus.DEFERRED)
            self._vault.apply(Change(operations=(edit,), by=by, action=Action.EDIT))
            return self.get(id)

        return self._decide(id, by, put_off)

    def expire(self, now: datetime) -> list[Proposal]:
        """Drop what nobody decided on in time; it may be proposed again."""
        waiting = self.pending(all=True) if self._gate.lets(Deed.REVIEW, TENDER) else []
        late = [each for each in waiting if each.to == self._agent and each.expires and each.expires <= now]
        for each in late:
            with suppress(PageChangedError):  # somebody is at it
                self._drop(each, verdict=EXPIRED, reason="", by=TENDER)
        return late

    def review(self, by: Attribution = REVIEWER) -> dict[str, object]:
        """Commit what needs nobody's leave: where that is automatic, what trusted agents are sure of."""
        made: dict[str, object] = {}
        for each in self.pending() if self._settings.review == "automatic" else []:
            if each.to == self._agent and self._is_sure(each):
                with suppress(PolicyError, ConflictError, NotFoundError):  # somebody has to look at it, or did
                    commit = partial(Proposals._commit, shown=each.shown, by=by, overrides={})
                    made[each.id] = self._act(each.id, commit)
        return made

    def _is_sure(self, proposal: Proposal) -> bool:
        """Whether a trusted agent is sure of an addition, and its page is, by the trail, as that agent wrote it."""
        settings, intent = self._vault.settings(proposal.proposer), proposal.intent
        if not settings.trusted or settings.retired or proposal.proposer == self._agent or intent.verb != "remember":
            return False
        sure = intent.arguments.get("confidence", UNSAID)
        if proposal.status is ProposalStatus.CONFLICT or sure < self._settings.confidence:
            return False
        # Somebody else may have edited the page: only the trail says whose words these are.
        line = next(self._vault.changes(containing=[proposal.hash.encode()], newest_first=True), None)
        return line is not None and (line.action, line.by.actor) == (Action.PROPOSE, f"subagent:{proposal.proposer}")

    def for_context(self) -> tuple[str, ...]:
        """What waits for the agent's decision, for the start of a session; nothing where a person decides."""
        waiting = self.pending() if self._decides(self._agent) and self._settings.review != "manual" else []
        told = [f"{each.id} from {each.proposer} ({each.status}, hash {each.shown}) {each.title}" for each in waiting]
        more = [f"and {len(told) - LISTED} more"] if len(told) > LISTED else []
        return (HOW, *told[:LISTED], *more) if told else ()

    def _decide(self, id: str, by: Attribution, act: Act[T]) -> T:
        """Act on a proposal as somebody who may: memfolio itself decides in `review` only, the owner everywhere."""
        # The policy may let memfolio review, which is meant for `review` alone.
        row = self._gate.check(Deed.REVIEW, by)
        if self._gate.role_of(by) is Role.SYSTEM:
            raise PolicyError(f"{by.actor} decides on no proposals", row=str(row), hint="act as yourself")
        to = self.get(id).to
        if to == self._agent or self._vault.speaker != OWNER or self._elsewhere is None:
            return self._act(id, act)
        with self._elsewhere(to) as other:
            return other._act(id, act)

    def _act(self, id: str, act: Act[T]) -> T:
        """Act on a proposal for this agent, and again where a page that is linked with it was changed meanwhile."""
        for left in reversed(range(ATTEMPTS)):
            proposal = self.get(id)
            if proposal.to != self._agent:
                raise PolicyError(f"{id} is for {proposal.to} to decide", row=FOREIGN, hint=f"act as {proposal.to}")
            try:
                return act(self, proposal)
            except PageChangedError as error:
                if not left or not PATH.fullmatch(error.path):
                    raise
        raise AssertionError("a decision is made, or refused")

    def _leaving(self, proposal: Proposal, by: Attribution, verdict: str, reason: str = "") -> tuple[Operation, ...]:
        """The page goes, its verdict stays, and its rivals hear of it."""
        line = {"op": Op.REVIEW.value, "proposal": proposal.id, "from": proposal.proposer, "verdict": verdict}
        line |= {"mark": self._mark(proposal.intent), "reviewer": self._gate.named(by).actor}
        lines: list[Mapping[str, Any]] = [line | ({"reason": reason} if reason else {})]
        if verdict == COMMITTED and proposal.intent.arguments.get("origin") == Origin.UNTRUSTED:
            lines.append({"op": Op.CONFIRM.value, "memory": NewId(0)})  # who approves a stranger's words believes them
        # Rivals may be of agents that this one does not see.
        others = [each for each in self._look(everything=True)[0] if each.id in proposal.conflicts]
        links = [_freed(each, proposal.id, verdict) for each in others]
        return PutPage(proposal.path, None, proposal.hash), AddLines(state_ledger(proposal.to), tuple(lines)), *links

    def _look(self, *, everything: bool = False) -> tuple[list[Proposal], list[ContentError]]:
        """What this agent may see, and what is wrong with the pages that it decides on but that cannot be read."""
        found: list[Proposal] = []
        broken: list[ContentError] = []
        for path in filter(PATH.fullmatch, sorted(self._vault.states())):
            try:
                proposal = self._read(path)
            except ContentError as error:
                broken += [error] if self._decides(agent_of(path)) else []
                continue
            if proposal and (everything or proposal.proposer == self._agent or self._decides(proposal.to)):
                found.append(proposal)
        return found, broken

    def _decides(self, agent: str | None) -> bool:
        """Whether it is for this agent, or the owner, to decide on what is proposed to an agent."""
        return self._vault.speaker == OWNER or (agent == self._agent and not self._gate.is_lesser)

    def _read(self, path: str) -> Proposal | None:
        page = self._vault.page(path)
        return replace(parse(path, page.content), hash=page.hash) if page else None

    def _mark(self, intent: ProposedCall) -> str:
        """Tells one content from another without telling what it says."""
        return self._vault.home.hash(content_of(intent).encode())[:16]

    def _reviews(self, agent: str) -> list[Mapping[str, Any]]:
        """What became of proposals to an agent, the oldest first."""
        return [line for line in state_lines(self._vault, agent, Op.REVIEW) if {"proposal", "verdict"} <= line.keys()]


def state_lines(vault: Vault, agent: str, op: Op) -> Iterator[Mapping[str, Any]]:
    """The state lines of an operation, oldest first; asked of the files, since they cannot be behind."""
    vault.refresh()
    word, folder = f':"{op}"'.encode(), f"{state_ledger(agent).base}/"
    known = (path for path in vault.states() if path.startswith(folder))
    for _, path in sorted((part[1], path) for path in known if (part := ledger_of(path))):
        content = vault.content(path) or b""
        if word in content:  # nearly all files have only lines about something else: they need not be read
            told = b"".join(raw for raw in split_lines(content) if word in raw)
            yield from (line.record for line in read_lines(told).records if line.record.get("op") == op)


def _told(line: Mapping[str, Any]) -> str:
    reason = f": {line['reason']}" if line.get("reason") else ""
    return f"{line['verdict']} by {line.get('reviewer')} on {str(line.get('at'))[:10]}{reason}"


def _edit(proposal: Proposal, **changes: Any) -> PutPage:
    return PutPage(proposal.path, render(replace(proposal, **changes)).encode(), proposal.hash)


def _freed(rival: Proposal, id: str, verdict: str) -> PutPage:
    """The page of a rival whose conflict is over."""
    left = tuple(each for each in rival.conflicts if each != id)
    status = ProposalStatus.PENDING if rival.status is ProposalStatus.CONFLICT and not left else rival.status
    return _edit(rival, status=status, conflicts=left, note=f"{id}, which says otherwise, was {verdict}")


def _approved(proposal: Proposal, overrides: Mapping[str, Any]) -> ProposedCall:
    """The intent as it is carried out: a memory says who proposed it, and is never more than an agent's word."""
    intent = proposal.intent
    if intent.verb != "remember":
        if overrides:
            raise InputError(f"{intent.verb} has neither store nor kind", hint="leave them out")
        return intent
    is_untrusted = intent.arguments.get("origin") == Origin.UNTRUSTED
    attributes = {**intent.arguments.get("attributes", {}), "proposed_by": proposal.proposer}
    origin = Origin.UNTRUSTED if is_untrusted else Origin.AGENT
    return intent_of("remember", {**intent.arguments, **overrides, "origin": origin, "attributes": attributes})
