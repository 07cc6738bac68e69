"""The door for agents: a real client calls every tool over standard input and output, with good and with bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from memfolio.memory import Memory
from memfolio.serve.tools.sets import READING, SETS, tools_of

PROGRAM = [sys.executable, "-c", "from memfolio.serve.cli import main; main()"]
CALLS = 200


def server(home: Path, *options: str) -> StdioServerParameters:
    command, *args = PROGRAM
    return StdioServerParameters(
        command=command, args=[*args, "--home", str(home), "mcp", *options], env={**os.environ}
    )


def told(result: Any) -> dict[str, Any]:
    """What a call answered, which is the same as text and as values."""
    document = json.loads(result.content[0].text)
    assert document == result.structured_content
    return dict(document)


GOOD: Mapping[str, Mapping[str, Any]] = {
    "remember": {"text": "Alex prefers tea", "type": "preference"},
    "recall": {"query": "tea"},
    "forget": {"what": "tea"},
    "status": {},
    "checkpoint": {"context": "Testing the door", "decisions": ["Use tea"]},
    "propose": {"text": "Kim drinks coffee"},
    "memory_store_item": {"content": "A note", "type": "fact", "importance": 0.5},
    "memory_recall": {"query": "note"},
    "memory_consolidate": {"dry_run": True},
    "memory_status": {},
    "fact_assert": {"subject": "Acme", "predicate": "locatedIn", "object": "Lisbon"},
    "fact_query": {"subject": "Acme"},
    "rule_create": {"name": "r", "text": "?x locatedIn ?y => ?x isIn ?y"},
    "rule_list": {},
    "infer_forward": {},
    "constraint_check": {},
    "mind_add": {"kind": "intention", "text": "Call Bob", "fields": {"when": "invoices"}},
    "mind_list": {},
    "mind_due": {"about": "the invoices"},
    "mind_update": {"item": "Call Bob", "fields": {"priority": 0.9}},
    "mind_end": {"item": "Call Bob"},
    "bdi_heartbeat": {},
    "procedure_match": {"text": "deploy"},
    "reason": {"problem": "Tea or water?", "method": "heuristic"},
    "typedb_status": {},
    "ontology_list_proposals": {},
    "cbr_store": {
        "situation": {"context": "The build fails"},
        "solution": {"actions": ["revert"]},
        "outcome": {"success": True},
    },
    "cbr_retrieve": {"context": "the build is broken"},
}


def test_a_real_client_calls_every_tool_with_good_and_with_bad_input(home: Path) -> None:
    async def live() -> None:
        async with stdio_client(server(home, "--tools", "all")) as streams, ClientSession(*streams) as session:
            await session.initialize()
            listed = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert set(listed) == set(tools_of("all"))
            assert all(tool.description and tool.annotations for tool in listed.values())
            made = 0
            for name, arguments in GOOD.items():
                result = await session.call_tool(name, dict(arguments))
                assert not result.is_error, (name, told(result))
                made += 1
            for name in (*listed, "nothing"):
                for wrong in ({"nonsense": 1}, {"agent_id": "somebody-else"}):
                    result = await session.call_tool(name, wrong)
                    assert result.is_error, name
                    assert set(told(result)["error"]) == {"code", "message", "hint"}
                    made += 1
            while made < CALLS:
                result = await session.call_tool("recall", {"query": f"tea {made}", "limit": 3})
                assert told(result)["result"]["hits"]
                made += 1

    anyio.run(live)


def test_repeated_request_leaves_one_memory(home: Path) -> None:
    async def live() -> None:
        async with stdio_client(server(home)) as streams, ClientSession(*streams) as session:
            await session.initialize()
            first, second = [told(await session.call_tool("remember", {"text": "Tea at four"})) for _ in range(2)]
            assert first["result"]["id"] == second["result"]["id"]

    anyio.run(live)
    with Memory.open(home, background=False) as memory:
        assert [item.content for item in memory.vault.entries("main")] == ["Tea at four"]


def test_resources_and_prompts_are_read(home: Path) -> None:
    with Memory.open(home, background=False, speaker="owner") as memory:
        memory.remember("Alex prefers tea", type="preference")
        memory.core.add("Identity", "Name: Alex")
        memory.mind.believe("Tea is served at four")
        day = f"{memory.vault.home.now().astimezone(memory.vault.home.zone):%Y-%m-%d}"

    async def live() -> None:
        async with stdio_client(server(home)) as streams, ClientSession(*streams) as session:
            await session.initialize()
            for address, words in (
                ("core", "Name: Alex"),
                (f"day/{day}", "Alex prefers tea"),
                ("mind/Beliefs", "served at four"),
            ):
                found = await session.read_resource(f"memfolio://{address}")
                assert words in found.contents[0].text
            for address in ("day/1999-01-01", "mind/../../memfolio.toml", "entity/..", "nothing"):
                with pytest.raises(Exception, match="there is nothing at"):
                    await session.read_resource(f"memfolio://{address}")
            prompt = await session.get_prompt("recall-before-answering", {"question": "What does Alex drink?"})
            assert "Alex prefers tea" in prompt.messages[0].content.text
            with pytest.raises(Exception, match="lacks its question"):
                await session.get_prompt("recall-before-answering", {})

    anyio.run(live)


def test_server_ends_with_its_host_and_leaves_no_lock(home: Path) -> None:
    done = subprocess.run([*PROGRAM, "--home", str(home), "mcp"], input=b"", capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, b"")
    with Memory.open(home, background=False) as memory:
        memory.remember("Written at once")


def test_few_tools_are_offered_by_default_and_none_under_a_name_that_a_host_takes() -> None:
    assert list(tools_of("core")) == "remember recall forget correct confirm explain checkpoint propose status".split()
    assert not {"memory_search", "memory_get"} & set(tools_of("all"))
    assert set(tools_of("all")) >= READING
    assert all(set(tools_of("core")) <= set(tools_of(name)) for name in SETS)
