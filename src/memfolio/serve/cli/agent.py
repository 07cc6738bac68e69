"""The commands below `agent` and `token`: who remembers in this home, what each may read, and who is let in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError
from memfolio.serve.cli.call import PERSON, Answer
from memfolio.serve.cli.derive import makes_home
from memfolio.serve.cli.output import Screen, diff, fields_of, page, pairs, seq_of, table

if TYPE_CHECKING:
    from memfolio.govern.agents import Agent
    from memfolio.memory import Memory
    from memfolio.serve.tokens import Token, Tokens
    from memfolio.vault.past.past import UndoResult


def agent_list(memory: Memory) -> Answer:
    found = memory.agents.list()
    shown = table(("id", "policy", "reads", "memories", "last", "role"), list(map(_row, found)), wide="role")
    return Answer({"agents": list(map(_agent, found))}, shown)


def agent_show(memory: Memory, id: str | None = None, /) -> Answer:
    document = _agent(memory.agents.get(id or memory.agent))
    return Answer(document, pairs(document, 12))


def agent_create(memory: Memory, id: str, settings: list[str] | None = None, /, dry_run: bool = False) -> Answer:
    given = _settings(settings or ())
    return _changed(memory.agents.create(id, by=PERSON, dry_run=dry_run, **given), f"There is {id}")


def agent_set(memory: Memory, id: str, settings: list[str] | None = None, /, dry_run: bool = False) -> Answer:
    given = _settings(settings or ())
    return _changed(memory.agents.update(id, by=PERSON, dry_run=dry_run, **given), f"{id} is set")


def agent_instructions(memory: Memory, id: str | None = None, /) -> Answer:
    text = memory.agents.instructions(id)
    return Answer({"agent": id or memory.agent, "text": text}, page(text))


def agent_rename(memory: Memory, id: str, new: str, dry_run: bool = False) -> Answer:
    return _changed(memory.agents.rename(id, new, by=PERSON, dry_run=dry_run), f"{id} is {new}")


def agent_move(memory: Memory, to: str, ids: list[str], dry_run: bool = False) -> Answer:
    return _changed(memory.agents.move(ids, to, by=PERSON, dry_run=dry_run), f"{to} has them")


def agent_retire(memory: Memory, id: str, dry_run: bool = False) -> Answer:
    return _changed(memory.agents.retire(id, by=PERSON, dry_run=dry_run), f"{id} is retired")


def agent_unretire(memory: Memory, id: str, dry_run: bool = False) -> Answer:
    return _changed(memory.agents.unretire(id, by=PERSON, dry_run=dry_run), f"{id} writes again")


def _settings(settings: Iterable[str]) -> dict[str, Any]:
    """Settings as they are typed: a switch is true or false, and `reads` is a list."""
    from memfolio.vault.agents import KEYS

    given = [each.partition("=") for each in settings]
    if lost := next((name for name, sign, _ in given if not sign or name not in KEYS), None):
        hint = f"write it like policy=proposes; there are {', '.join(KEYS)}"
        raise InputError(f"{lost[:40]!r} is no setting", hint=hint)
    switches = {"true": True, "false": False}
    return {
        name: tuple(filter(None, value.split(","))) if name == "reads" else switches.get(value, value)
        for name, _, value in given
    }


def _row(found: Agent) -> tuple[str, ...]:
    settings, last = found.settings, f"{found.active_at:%Y-%m-%d}" if found.active_at else ""
    policy = "retired" if settings.retired else settings.policy
    memories = "no index" if found.memories is None else f"{found.memories:,}"
    return found.id, policy, ", ".join(settings.reads), memories, last, found.trouble or settings.role


def _agent(found: Agent) -> dict[str, Any]:
    settings = {name: value for name, value in fields_of(found.settings).items() if name != "agent"}
    numbers = {"memories": found.memories, "active_at": found.active_at, "trouble": found.trouble}
    return {"id": found.id} | settings | numbers


def _changed(outcome: UndoResult, done: str) -> Answer:
    seq = seq_of(outcome)
    undo = f"{done}, as change {seq}; `memfolio undo {seq}` takes that back"
    document = {"diff": outcome.diff, "seq": seq, "paths": list(outcome.paths)}
    return Answer(document, [diff(outcome.diff), ("Nothing was changed." if seq is None else undo, "bold")])


@makes_home
def token_create(memory: Memory, name: str, scope: str = "write") -> Answer:
    token, secret = _tokens(memory).create(name, memory.agent, scope, now=memory.vault.home.now())

    def draw(screen: Screen) -> None:
        screen.say(secret)
        beside = f"{token.id} lets {token.agent} {token.scope}; keep it: it is not shown again"
        Screen(errors=True).say(beside, "yellow")

    return Answer({**_token(token), "secret": secret}, draw)


def token_list(memory: Memory) -> Answer:
    found = _tokens(memory).all()
    rows = [(each.id, each.agent, each.scope, each.revoked_at or "", each.name) for each in found]
    shown = table(("id", "agent", "scope", "revoked", "for"), rows, wide="for")
    return Answer({"tokens": [*map(_token, found)]}, shown)


def token_revoke(memory: Memory, id: str) -> Answer:
    token = _tokens(memory).revoke(id, now=memory.vault.home.now())
    return Answer(_token(token), (f"{token.id} ({token.name}) is revoked", "bold"))


def _tokens(memory: Memory) -> Tokens:
    from memfolio.serve.tokens import Tokens

    return Tokens(memory.vault.home)


def _token(token: Token) -> dict[str, Any]:
    return {name: value for name, value in asdict(token).items() if name != "hash"}
