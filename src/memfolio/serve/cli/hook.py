"""The command `hook`: what a host calls when something happens in a conversation."""

from __future__ import annotations

import typer

from memfolio.serve.cli.call import Answer, Options


def hook(options: Options, host: str, event: str = "", /, subagents: bool = False) -> Answer:
    from memfolio.serve.hooks.door import main

    given = [f"--home={options.home}"] * (options.home is not None) + [f"--agent={options.agent}"] * bool(options.agent)
    main([host, event, *given, *(["--subagents"] if subagents else [])])
    raise typer.Exit
