"""The command `mcp`: the door for agents that speak the Model Context Protocol."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memfolio.errors import MemfolioError
from memfolio.serve.cli.call import Answer, Options, in_empty_folder, leave_logging_to_us

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.memory import Memory

INSTALL = "install it with `pip install 'memfolio[mcp]'`"


def mcp(options: Options, tools: str = "core", http: str | None = None, allow_host: list[str] | None = None) -> Answer:
    config = options.config(create=in_empty_folder)
    leave_logging_to_us()
    try:
        if http is None:
            _serve_host(config, tools)
        else:
            _serve_all(options, config, tools, http, allow_host or [])
    except ImportError as error:
        raise MemfolioError("the library of the protocol is not installed", hint=INSTALL) from error
    return Answer({}, lambda screen: None)


def _serve_host(config: Config, tools: str) -> None:
    from memfolio.verbs.verb import tools_of

    offered = tools_of(tools)
    from memfolio.serve.mcp.caller import Caller
    from memfolio.serve.mcp.server import serve

    serve(Caller(offered, lambda: _opened(config, config.agent)))


def _serve_all(options: Options, config: Config, tools: str, address: str, names: list[str]) -> None:
    from memfolio.serve.mcp.http import callers_of, serve
    from memfolio.serve.tokens import Tokens
    from memfolio.verbs.verb import tools_of

    with options.memory(create=in_empty_folder) as memory:  # which makes the home, where there is none
        home = memory.vault.home
    callers = callers_of(tools_of(tools), lambda agent: _opened(config, agent))
    serve(callers, Tokens(home), address, names, lambda url: options.tell([f"serving at {url}"]))


def _opened(config: Config, agent: str) -> Memory:
    from memfolio.memory import Memory
    from memfolio.verbs.documents import told_inside

    with told_inside(config.home):
        memory = Memory.open(config.home, agent, speaker="agent")
    with suppress(MemfolioError):  # whoever asks will hear of it
        memory.recall("anything", limit=1)  # so that the index is loaded before somebody waits for it
    return memory
