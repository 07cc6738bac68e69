"""The command `mcp`: the door for agents that speak the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from memfolio.errors import MemfolioError
from memfolio.serve.cli.call import Answer, Command, Options, in_empty_folder, leave_logging_to_us

Tools = Annotated[
    str, typer.Option("--tools", metavar="SET", help="core, memory, knowledge, mind, reason or all.", show_default=True)
]
INSTALL = "install it with `pip install memfolio[mcp]`"


def mcp(options: Options, tools: Tools = "core") -> Answer:
    """Serve one agent's memory to its host over standard input and output, until the host ends."""
    from memfolio.memory import Memory
    from memfolio.serve.mcp.caller import Caller
    from memfolio.serve.tools.sets import tools_of

    offered, config = tools_of(tools), options.config(create=in_empty_folder)
    leave_logging_to_us()
    speaker = config.speaker or "agent"
    caller = Caller(offered, lambda: Memory.open(config.home, config.agent, speaker=speaker))
    try:
        from memfolio.serve.mcp.stdio import serve
    except ImportError as error:
        caller.close()
        raise MemfolioError("the library of the protocol is not installed", hint=INSTALL) from error
    serve(caller)
    return Answer({}, lambda screen: None)


COMMANDS = (Command(mcp, "mcp --tools all", "--home ~/memfolio --agent main mcp"),)
