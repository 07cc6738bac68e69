"""The context in which a session begins: who the agent is, for whom, what is known; and what it leaves behind."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from typing import Any

from memfolio.errors import MemfolioError
from memfolio.index.lookup import active_facts, newest_line, recent
from memfolio.index.read_files import body_text
from memfolio.index.search import Filter
from memfolio.recall import query
from memfolio.recall.context import REMINDERS, alert_section, unread
from memfolio.recall.fence import bullet, fenced
from memfolio.recall.hit import snippet, states_nothing
from memfolio.recall.pack import ContextLine, ContextSection, named, pack
from memfolio.recall.searcher import Searcher
from memfolio.state import Op
from memfolio.stores.checkpoint import HEADINGS, Checkpoint, latest
from memfolio.stores.core import PAGE, Core, CoreMemory
from memfolio.stores.episode import as_object
from memfolio.text import estimate_tokens
from memfolio.types import EMPTY, Attribution, MemoryItem, check_token, frozen
from memfolio.vault.change import Receipt
from memfolio.vault.fields import local
from memfolio.vault.journal import to_text
from memfolio.vault.paths import agent_root, state_ledger
from memfolio.vault.vault import Vault

BY = Attribution(actor="bot:context", trigger="context")
DAYS = 2
MOST = 50
"""How many memories of a kind there are."""
MOST_FACTS = 10
MOST_TURNS = 10
"""How much of other conversations is told: what matters of them is learned and found by its words."""
ASKING = ("?", "\uff1f", "\u061f")
MOST_SAVED = 32 * 1024
"""Bytes of JSON that one saved context may have."""
LEAST_TOKENS, MOST_TOKENS = 50, 1_000_000
LONGEST = 120
"""Tokens of one memory or line."""
ALERTED = 1000
"""Tokens of alerts."""
_SIGN = re.compile(r"^\s*[-*+]\s+")
_NAME = re.compile(r"(?im)^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?name(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*(\S[^\n]{0,80})")


@frozen
class AgentContext:
    """Everything that an agent should know when a session begins."""

    agent_id: str
    agent_name: str
    session_id: str
    current_time: datetime
    timezone: str
    user_id: str | None
    user_name: str
    identity: str = ""
    """What IDENTITY.md and SOUL.md say."""
    user_profile: str = ""
    """What USER.md says."""
    core: CoreMemory
    recent: tuple[MemoryItem, ...] = ()
    """Today and yesterday, the last first."""
    facts: tuple[MemoryItem, ...] = ()
    """What is known and true, the most important first."""
    checkpoint: Checkpoint | None = None
    task: str | None = None
    task_history: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    scratchpad: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    degraded: tuple[str, ...] = ()
    """What could not be read, each as a sentence."""
    alerts: tuple[str, ...] = ()
    """What the owner must be told and this agent was not shown before."""
    proposals: tuple[str, ...] = ()
    """What others propose and this agent decides on, behind how that is done."""
    reminders: tuple[str, ...] = ()
    """What is due now."""

    @property
    def summary(self) -> str:
        """The situation in a few lines."""
        return (
            f"Agent: {self.agent_name} ({self.agent_id})\n"
            f"Session: {self.session_id}\n"
            f"Time: {self.current_time:%Y-%m-%d %H:%M} ({self.timezone})\n"
            f"User: {self.user_name}\n"
            f"Current task: {self.task or 'none'}\n"
            f"Topics: {', '.join(self.topics) or 'none'}"
        )

    def to_prompt(self, max_tokens: int = 4000) -> str:
        """All of it as one fenced block of at most so many tokens; the conversation has at most half of them."""
        budget = query.check_number("max_tokens", max_tokens, LEAST_TOKENS, MOST_TOKENS)
        # The fence itself costs tokens; whoever counts must not find more than the budget.
        room = budget - estimate_tokens(fenced([])) - 1
        alerts = alert_section(self.alerts, room // 2)
        room -= sum(section.whole for section in alerts)
        sections = [*alerts, *pack(list(self._sections(room)), room)]
        return fenced(line for section in sections for line in section.shown())

    def _sections(self, room: int) -> Iterator[ContextSection]:
        core = [item.text for block in self.core.blocks for item in block.items]
        profile = [line for line in self.user_profile.splitlines() if not line.startswith("#")]
        talk = ContextSection(title="Recent conversation", share=0.5, is_in_order=True)
        yield ContextSection(title="Proposals to decide on", share=0.1, lines=_lines("proposal", self.proposals))
        yield ContextSection(title=REMINDERS, share=0.1, lines=_lines("reminder", self.reminders))
        # Lines that say nothing would only cost tokens.
        situation = [line for line in self.summary.splitlines() if not line.endswith((": none", ": unknown"))]
        yield ContextSection(title="Situation", share=0.1, lines=_lines("situation", situation))
        yield ContextSection(title="Core memory", share=0.25, lines=_lines("core", core))
        yield ContextSection(title="The user", share=0.1, lines=_lines("user", profile))
        lately = map(self._memory, islice(_telling(self.recent), MOST_TURNS))
        yield replace(talk, lines=tuple(_within(lately, room // 2 - talk.cost)))
        yield ContextSection(title="Facts", share=0.1, lines=tuple(map(self._memory, self.facts[:MOST_FACTS])))
        yield ContextSection(title="Where work was left", share=0.1, lines=_lines("checkpoint", self._left()))

    def _left(self) -> Iterator[str]:
        """What the latest checkpoint says, and what was done before."""
        for name, heading in HEADINGS.items() if self.checkpoint else ():
            value = getattr(self.checkpoint, name)
            yield from (f"{heading}: {each}" for each in ((value,) if isinstance(value, str) else value) if each)
        yield from (f"Done before: {each}" for each in reversed(self.task_history[-5:]))

    def _memory(self, memory: MemoryItem) -> ContextLine:
        at = local(memory.event_time or memory.created_at, self.current_time.tzinfo or UTC)
        lead = f"[{memory.id}] {at:%m-%d %H:%M} {named(memory.role or memory.type)}:"
        words = snippet(memory.content, (), LONGEST)
        return ContextLine(id=memory.id, text=bullet(lead, words), says=words, at=at)


def load_context(
    vault: Vault, searcher: Searcher, *, user: str | None = None, session: str | None = None
) -> AgentContext:
    """The context for a session that begins; core memory first, and what the last one with this user left behind."""
    agent, now, troubles = searcher.agent, vault.home.now(), list[str]()
    at = local(now, vault.home.zone)
    pages = (_page(vault, agent, name, troubles) for name in ("IDENTITY.md", "SOUL.md", "USER.md", PAGE))
    identity, soul, profile, core = map(searcher.audible, pages)
    left = searcher.index.read(lambda db: newest_line(db, Op.CONTEXT, "user", user)) or {}
    # Days begin at midnight of the home's zone, not 48 hours ago.
    begin = datetime.combine(at.date() - timedelta(days=DAYS - 1), time(), at.tzinfo)
    true, lately = searcher.in_project(Filter(valid_at=now)), searcher.in_project(Filter(since=begin))
    facts = [each for index in searcher.indexes() for each in index.read(lambda db: active_facts(db, true, user, MOST))]
    found = latest(vault, agent, searcher.projects) if searcher.hears_pages() else None
    # A conversation begins even where the trail cannot be read; the trouble is told.
    alerts: tuple[str, ...] = ()
    try:
        alerts = unread(vault, searcher, agent, ALERTED)
    except MemfolioError as error:
        troubles.append(f"alerts: {error.message}")
    return AgentContext(
        agent_id=agent,
        agent_name=_name(identity) or _name(soul) or agent,
        session_id=check_token("session", session or f"s-{at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"),
        current_time=at,
        timezone=vault.config.timezone,
        user_id=user,
        user_name=_name(profile) or user or "unknown",
        identity="\n\n".join(filter(None, (identity, soul))),
        user_profile=profile,
        core=Core(vault, agent).memory_of(core),
        recent=tuple(searcher.index.read(lambda db: recent(db, lately, user, MOST))),
        # Pinned facts are never pushed out by important ones.
        facts=tuple(sorted(facts, key=lambda item: (not item.pinned, -item.importance))[:MOST]),
        checkpoint=found[1] if found else None,
        task=next(iter(_texts([left.get("task")])), None),
        task_history=_texts(left.get("task_history")),
        topics=_texts(left.get("topics")),
        scratchpad=pad if isinstance(pad := left.get("scratchpad"), dict) else EMPTY,
        degraded=tuple(troubles),
        alerts=alerts,
    )


def save_context(
    vault: Vault,
    agent: str,
    *,
    session: str | None = None,
    user: str | None = None,
    task: str | None = None,
    task_history: Iterable[str] = (),
    topics: Iterable[str] = (),
    scratchpad: Mapping[str, Any] | None = None,
    by: Attribution = BY,
) -> Receipt:
    """Leave behind what the next session with this user begins with; the newest counts."""
    given = {
        "user": query.telling("user", user),
        "task": query.check_optional("task", task),
        "task_history": list(query.words("task_history", task_history)),
        "topics": list(query.words("topic", topics)),
        "scratchpad": as_object("the scratchpad", scratchpad, MOST_SAVED),
    }
    # The newest line counts as a whole, so that what is left out is gone next time.
    line = {"op": Op.CONTEXT} | {name: value for name, value in given.items() if value}
    record = as_object("the context", line, MOST_SAVED)
    return vault.add_lines(state_ledger(agent), [record], replace(by, session=session) if session else by)


def _page(vault: Vault, agent: str, name: str, troubles: list[str]) -> str:
    """What a page says; one that cannot be read is told and does not stop the others."""
    try:
        page = vault.page(f"{agent_root(agent)}/{name}")
    except MemfolioError as error:
        troubles.append(f"{name}: {error.message}")
        return ""
    return body_text(to_text(page.content)).strip() if page else ""


def _name(text: str) -> str | None:
    """The name that a page tells; a placeholder in brackets is none."""
    match = _NAME.search(text)
    name = match[1].strip(" \t*_") if match else ""
    return None if not name or name.startswith(("[", "<", "(", "_")) else name


def _lines(name: str, texts: Iterable[str]) -> tuple[ContextLine, ...]:
    shown = (snippet(_SIGN.sub("", text), (), LONGEST) for text in texts)
    return tuple(
        ContextLine(id=f"{name} {nth}", text=bullet("", text).replace("-  ", "- ", 1), says=text)
        for nth, text in enumerate(shown)
    )


def _telling(recent: Iterable[MemoryItem]) -> Iterator[MemoryItem]:
    """What was said lately, the last first, without questions that nobody answered: they tell nothing."""
    later: dict[str | None, MemoryItem] = {}
    for each in recent:
        following = later.get(each.session)
        is_answered = following is not None and following.role == "assistant"
        later[each.session] = each
        is_asking = each.content.rstrip().endswith(ASKING) or states_nothing(each.content)
        if each.role != "user" or is_answered or not is_asking:
            yield each


def _within(lines: Iterable[ContextLine], room: int) -> Iterator[ContextLine]:
    """As many lines as fit into so many tokens."""
    for line in lines:
        room -= line.cost
        if room < 0:
            return
        yield line


def _texts(value: object) -> tuple[str, ...]:
    """The texts in what somebody may have written by hand."""
    return tuple(each for each in value if isinstance(each, str) and each.strip()) if isinstance(value, list) else ()
