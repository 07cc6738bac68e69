"""The command `token` with what is below it: who is let in over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import Answer, Options, in_empty_folder
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.serve.tokens import Token


def token_create(options: Options, name: str, scope: str = "write") -> Answer:
    from memfolio.serve.tokens import Tokens

    with options.memory(create=in_empty_folder) as memory:
        token, secret = Tokens(memory.vault.home).create(name, memory.agent, scope, now=memory.vault.home.now())

    def draw(screen: Screen) -> None:
        screen.say(secret)
        Screen(errors=True).say(
            f"{token.id} lets {token.agent} {token.scope}; keep it: it is not shown again", "yellow"
        )

    return Answer({**shown(token), "secret": secret}, draw)


def token_list(options: Options) -> Answer:
    from memfolio.serve.tokens import Tokens

    with options.memory() as memory:
        found = Tokens(memory.vault.home).all()
    rows = [(each.id, each.agent, each.scope, each.revoked_at or "", each.name) for each in found]
    columns = ("id", "agent", "scope", "revoked", "for")
    return Answer({"tokens": [*map(shown, found)]}, lambda screen: screen.table(columns, rows, wide="for"))


def token_revoke(options: Options, id: str) -> Answer:
    from memfolio.serve.tokens import Tokens

    with options.memory() as memory:
        token = Tokens(memory.vault.home).revoke(id, now=memory.vault.home.now())
    return Answer(shown(token), lambda screen: screen.say(f"{token.id} ({token.name}) is revoked", "bold"))


def shown(token: Token) -> dict[str, Any]:
    return {name: value for name, value in asdict(token).items() if name != "hash"}
