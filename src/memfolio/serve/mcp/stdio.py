"""The server over standard input and output, for one host that starts it and that it ends with."""

from __future__ import annotations

import logging
import signal

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.hearing import hear
from memfolio.serve.mcp.server import Guest, build


def serve(caller: Caller) -> None:
    """Answer until the host closes its end; then everything is written, and no lock is left."""
    logging.basicConfig(level=logging.WARNING)  # standard error is the host's log
    # A thread waits for the next line, and only the host can wake it: Ctrl-C ends the process, as kill does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, caller)
    finally:
        caller.close()


async def _serve(caller: Caller) -> None:
    guest = Guest(caller)
    server = build(lambda context: guest)
    hearing, heard = anyio.create_memory_object_stream[SessionMessage | Exception]()
    async with stdio_server() as (read, write), anyio.create_task_group() as group:
        group.start_soon(hear, read, write, hearing)
        await server.run(heard, write, server.create_initialization_options())
