"""The command `token` with what is below it: who is let in over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.serve.cli.call import Answer, Command, Options, group, in_empty_folder
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.serve.tokens import Token

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is for, in a few words.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="The token, such as T-5f2c91ab.", show_default=False)]
Scope = Annotated[str, typer.Option("--scope", metavar="SCOPE", help="read, write or admin.")]


def create(options: Options, name: Name, scope: Scope = "write") -> Answer:
    """Make a token for the agent that is meant; its secret is shown this once."""
    from memfolio.serve.tokens import Tokens

    with options.memory(create=in_empty_folder) as memory:
        token, secret = Tokens(memory.vault.home).create(name, memory.agent, scope, now=memory.vault.home.now())

    def draw(screen: Screen) -> None:
        screen.say(secret)
        Screen(errors=True).say(
            f"{token.id} lets {token.agent} {token.scope}; keep it: it is not shown again", "yellow"
        )

    return Answer({**shown(token), "secret": secret}, draw)


def list_(options: Options) -> Answer:
    """List the tokens of the home."""
    from memfolio.serve.tokens import Tokens

    with options.memory() as memory:
        found = Tokens(memory.vault.home).all()
    rows = [(each.id, each.agent, each.scope, each.revoked_at or "", each.name) for each in found]
    columns = ("id", "agent", "scope", "revoked", "for")
    return Answer({"tokens": [*map(shown, found)]}, lambda screen: screen.table(columns, rows, wide="for"))


def revoke(options: Options, id: Id) -> Answer:
    """Let a token let nobody in any more."""
    from memfolio.serve.tokens import Tokens

    with options.memory() as memory:
        token = Tokens(memory.vault.home).revoke(id, now=memory.vault.home.now())
    return Answer(shown(token), lambda screen: screen.say(f"{token.id} ({token.name}) is revoked", "bold"))


def shown(token: Token) -> dict[str, Any]:
    return {name: value for name, value in asdict(token).items() if name != "hash"}


list_.__name__ = "list"
TOKEN = (
    Command(create, 'token create "my phone" --scope read', '--agent main token create "a server"'),
    Command(list_, "token list"),
    Command(revoke, "token revoke T-5f2c91ab"),
)
app = group("token", TOKEN)
