"""The server over standard input and output, for one host that starts it and that it ends with."""

from __future__ import annotations

import logging

import anyio
from mcp.server.stdio import stdio_server

from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.server import Guest, build


def serve(caller: Caller) -> None:
    """Answer until the host closes its end; then everything is written, and no lock is left."""
    logging.basicConfig(level=logging.WARNING)  # standard error is the host's log
    try:
        anyio.run(_serve, caller)
    finally:
        caller.close()


async def _serve(caller: Caller) -> None:
    guest = Guest(caller)
    server = build(lambda context: guest)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
