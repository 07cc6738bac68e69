"""The server over standard input and output, for one host that starts it and that it ends with."""

from __future__ import annotations

import logging

import anyio
from mcp.server.stdio import stdio_server

from memfolio.serve.mcp.caller import Caller
from memfolio.serve.mcp.server import build


def serve(caller: Caller) -> None:
    """Answer until the host closes its end; then everything is written, and no lock is left."""
    logging.getLogger().setLevel(logging.WARNING)  # the library would tell the host's log of every request
    try:
        anyio.run(_serve, caller)
    finally:
        caller.close()


async def _serve(caller: Caller) -> None:
    server = build(caller)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
