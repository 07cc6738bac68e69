"""An agent that has only the listed tools meets a problem, finds the tool for it and uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio

from tests.serve.mcp_life import told
from tests.serve.test_mcp import host

LISTED = """
import sys
from memfolio.verbs.verb import tools_of
print(all(each.listed for each in tools_of("core").values()), "memfolio.memory" in sys.modules)
"""


def test_agent_finds_a_tool_for_its_problem_and_uses_it(home: Path) -> None:
    async def run() -> None:
        async with host(home) as session:
            listed = {tool.name for tool in (await session.list_tools()).tools}

            async def call(name: str, /, **arguments: Any) -> Any:
                assert name in listed
                return told(await session.call_tool(name, arguments))["result"]

            [found, *_] = await call("find_tool", wanted="remind me to send the invoice when we talk about Acme")
            assert (found["name"], found["name"] in listed) == ("mind_add", False)
            assert {"kind", "text"} <= set(found["arguments"]["properties"])
            given = {"kind": "intention", "text": "Send the invoice", "fields": {"when": "Acme"}}
            made = await call("use_tool", name=found["name"], arguments=given)
            assert "Send the invoice" in await call("context", prompt="What about Acme?")
            ending = {"name": "mind_end", "arguments": {"item": made["id"]}}
            assert not (await call("use_tool", **ending))["done"]
            assert (await call("use_tool", **ending, confirmed=True))["status"] == "done"

    anyio.run(run)


def test_listing_the_tools_of_every_day_does_not_load_the_memory() -> None:
    said = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.split() == ["True", "False"]
