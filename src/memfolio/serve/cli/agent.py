"""The commands below `agent` and `token`: the agents of a home, what each may read, and tokens for the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import Answer
from memfolio.serve.cli.output import Screen, fields_of, table

if TYPE_CHECKING:
    from memfolio.govern.agents import Agent
    from memfolio.memory import Memory
    from memfolio.serve.tokens import Token, Tokens


def agent_list(found: Sequence[Agent]) -> Answer:
    shown = table(("id", "policy", "reads", "memories", "last", "role"), list(map(_row, found)), wide="role")
    return Answer({"agents": list(map(_agent, found))}, shown)


def agent_show(memory: Memory, id: str | None = None, /) -> Answer:
    return Answer(_agent(memory.agents.get(id or memory.agent)))


def agent_instructions(text: str, memory: Memory, id: str | None) -> Answer:
    return Answer({"agent": id or memory.agent, "text": text})


def _row(found: Agent) -> tuple[str, ...]:
    settings, last = found.settings, f"{found.active_at:%Y-%m-%d}" if found.active_at else ""
    policy = "retired" if settings.retired else settings.policy
    memories = "no index" if found.memories is None else f"{found.memories:,}"
    return found.id, policy, ", ".join(settings.reads), memories, last, found.trouble or settings.role


def _agent(found: Agent) -> dict[str, Any]:
    settings = {name: value for name, value in fields_of(found.settings).items() if name != "agent"}
    numbers = {"memories": found.memories, "active_at": found.active_at, "trouble": found.trouble}
    return {"id": found.id} | settings | numbers


def token_create(memory: Memory, name: str, scope: str = "write", audience: str | None = None) -> Answer:
    now = memory.vault.home.now()
    token, secret = _tokens(memory).create(name, memory.agent, scope, now=now, audience=audience)

    def draw(screen: Screen) -> None:
        screen.say(secret)
        beside = f"{token.id} lets {token.agent} {token.scope}; keep it: it is not shown again"
        Screen(errors=True).say(beside, "yellow")

    return Answer({**_token(token), "secret": secret}, draw)


def token_list(memory: Memory) -> Answer:
    found = _tokens(memory).all()
    return Answer({"tokens": [*map(_token, found)]})


def token_revoke(memory: Memory, id: str) -> Answer:
    token = _tokens(memory).revoke(id, now=memory.vault.home.now())
    return Answer(_token(token))


def _tokens(memory: Memory) -> Tokens:
    from memfolio.serve.tokens import Tokens

    return Tokens(memory.vault.home)


def _token(token: Token) -> dict[str, Any]:
    return {name: value for name, value in asdict(token).items() if name != "hash"}
