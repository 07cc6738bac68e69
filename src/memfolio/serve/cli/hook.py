"""The command `hook`: what a host calls when something happens in a conversation."""

from __future__ import annotations

from typing import Annotated

import typer

from memfolio.serve.cli.call import Answer, Command, Options

Host = Annotated[
    str, typer.Argument(metavar="HOST", help="claude-code, codex, gemini or cursor; or stop.", show_default=False)
]
Event = Annotated[str, typer.Argument(metavar="EVENT", help="The event, as the host calls it.", show_default=False)]
Subagents = Annotated[bool, typer.Option("--subagents", help="Also note what sub-agents say.")]


def hook(options: Options, host: Host, event: Event = "", subagents: Subagents = False) -> Answer:
    """Answer an event of a host: reads its JSON on standard input, prints JSON that it understands, never fails."""
    from memfolio.serve.hooks.door import main

    given = [f"--home={options.home}"] * (options.home is not None) + [f"--agent={options.agent}"] * bool(options.agent)
    main([host, event, *given, *(["--subagents"] if subagents else [])])
    raise typer.Exit


COMMANDS = (Command(hook, "hook claude-code UserPromptSubmit", "hook stop"),)
