"""The memory tool answers as the SDK's own one does, and keeps to its folder."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from memfolio.memory import Memory
from memfolio.serve.adapters.anthropic_memory import MemfolioAsyncMemoryTool, MemfolioMemoryTool
from memfolio.types import HUMAN

Input = Mapping[str, Any]
NOTES = "agents/main/memory/notes"


def view(path: str, *span: int) -> Input:
    return {"command": "view", "path": path, **({"view_range": list(span)} if span else {})}


def create(path: str, text: str = "a\nb\n") -> Input:
    return {"command": "create", "path": path, "file_text": text}


def replaced(path: str, old: str, new: str) -> Input:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Input:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> Input:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> Input:
    return {"command": "rename", "old_path": old, "new_path": new}


LONG = "\n".join(f"line {number}" for number in range(1, 12))
STEPS: tuple[Input, ...] = (
    create("/memories/tea.md"),
    create("/memories/tea.md"),
    view("/memories/tea.md"),
    view("/memories/nothing.md"),
    create("/memories/long.txt", LONG),
    view("/memories/long.txt", 2, 4),
    view("/memories/long.txt", 9, -1),
    view("/memories/long.txt", 0, 2),
    view("/memories/long.txt", 90, 95),
    replaced("/memories/long.txt", "line 5", "Line five\nand more"),
    replaced("/memories/long.txt", "line 2", "2"),
    replaced("/memories/long.txt", "line", "row"),
    replaced("/memories/long.txt", "nothing", "x"),
    replaced("/memories/nothing.md", "a", "b"),
    insert("/memories/tea.md", 0, "first\n"),
    insert("/memories/tea.md", 3, "last"),
    insert("/memories/tea.md", 9, "x"),
    insert("/memories/tea.md", -1, "x"),
    insert("/memories/nothing.md", 0, "x"),
    view("/memories/tea.md"),
    create("/memories/empty.md", ""),
    view("/memories/empty.md"),
    insert("/memories/empty.md", 1, "x"),
    insert("/memories/empty.md", 0, "x\n\n"),
    view("/memories/empty.md"),
    create("/memories/crlf.md", "a\r\nb\r\na"),
    replaced("/memories/crlf.md", "b\r\n", ""),
    view("/memories/crlf.md"),
    create("/memories/work/plan.md", "x" * 1536),
    create("/memories/work/deep/er/note.md", "ü"),
    view("/memories"),
    view("/memories/"),
    view("/memories/work"),
    view("/memories/work/deep"),
    replaced("/memories/work", "a", "b"),
    insert("/memories/work", 0, "b"),
    view("/memories/work/../tea.md"),
    view("/memories/../memories/./tea.md"),
    view("/memories/../secret"),
    view("/etc/passwd"),
    create("/memories/../../x.md"),
    rename("/memories/tea.md", "/memories/work/plan.md"),
    rename("/memories/nothing.md", "/memories/x.md"),
    rename("/memories/tea.md", "/memories/new/tea.md"),
    rename("/memories/work", "/memories/done"),
    rename("/memories", "/memories/x"),
    rename("/memories/done", "/memories"),
    view("/memories"),
    delete("/memories/nothing.md"),
    delete("/memories/empty.md"),
    delete("/memories/done"),
    delete("/memories"),
    view("/memories"),
)


@pytest.fixture
def tool(memory: Memory) -> MemfolioMemoryTool:
    return MemfolioMemoryTool(memory)


def told(tool: Any, step: Input) -> tuple[str, str]:
    """What a tool answers, or the error that it tells; the size of a folder depends on the disk."""
    try:
        return "", _without_folder_sizes(tool.call(step))
    except ToolError as error:
        return "error", str(error)


def _without_folder_sizes(reply: str) -> str:
    first, *lines = reply.split("\n")
    if not first.startswith("Here're"):
        return reply
    kept = (line.partition("\t")[2] if at == 0 or line.endswith("/") else line for at, line in enumerate(lines))
    return "\n".join([first, *kept])


def test_replies_are_those_of_the_tool_in_the_sdk_byte_for_byte(tool: MemfolioMemoryTool, tmp_path: Path) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for step in STEPS:
        assert told(tool, step) == told(theirs, step), step
    assert tool.to_dict() == theirs.to_dict()


@pytest.mark.parametrize(
    "path",
    [
        "/memoriesx/a.md",
        "memories/a.md",
        "/memories/../memories2/a.md",
        "/memories/a/../../../agent.toml",
        "/memories/.hidden",
        "/memories/con.md",
        "/memories/a\\b.md",
        "/memories/a\0b.md",
        "/memories/a?.md",
        "/memories/" + "x" * 300 + ".md",
        "/memories/log.jsonl/../../../x",
        "/memories/IDENTITY.md",
        "/memories/tea.md/inside.md",
        "/memories",
        "",
    ],
)
def test_odd_path_is_refused_and_nothing_changes(tool: MemfolioMemoryTool, memory: Memory, path: str) -> None:
    tool.call(create("/memories/tea.md"))
    before = memory.vault.head
    for step in (create(path), rename("/memories/tea.md", path)):
        assert told(tool, step)[0] == "error", step
    assert memory.vault.head == before


def test_bad_fields_and_huge_files_are_refused(tool: MemfolioMemoryTool, memory: Memory) -> None:
    tool.call(create("/memories/tea.md"))
    before = memory.vault.head
    wrong: tuple[Input, ...] = (
        create("/memories/huge.md", "x" * (memory.vault.config.max_content_bytes + 1)),
        {"command": "create", "path": "/memories/x.md"},
        {"command": "create", "path": 5, "file_text": "x"},
        {"command": "insert", "path": "/memories/tea.md", "insert_line": "one", "insert_text": "x"},
        {"command": "view"},
        replaced("/memories/tea.md", "", "x"),
        rename("/memories/tea.md", "/memories/tea.md/x.md"),
    )
    for step in wrong:
        assert told(tool, step)[0] == "error", step
    with pytest.raises(NotImplementedError):
        tool.call({"command": "clear"})
    assert memory.vault.head == before


def test_text_that_stands_everywhere_in_a_large_file_is_told_at_once(tool: MemfolioMemoryTool) -> None:
    tool.call(create("/memories/large.md", "a\n" * 200_000))
    started = time.process_time()
    _, reply = told(tool, replaced("/memories/large.md", "a", "b"))
    assert time.process_time() - started < 5
    assert f"in lines: {', '.join(map(str, range(1, 200_001)))}. Please" in reply


def test_links_lead_nowhere(tool: MemfolioMemoryTool, home: Path, tmp_path: Path) -> None:
    tool.call(create("/memories/tea.md"))
    (tmp_path / "secret.md").write_text("secret")
    (home / NOTES / "out").symlink_to(tmp_path)
    (home / NOTES / "one.md").symlink_to(tmp_path / "secret.md")
    for step in (
        view("/memories/out/secret.md"),
        view("/memories/one.md"),
        create("/memories/out/new.md"),
        create("/memories/one.md"),
        replaced("/memories/one.md", "secret", "x"),
        rename("/memories/tea.md", "/memories/out/tea.md"),
        delete("/memories/out"),
    ):
        assert told(tool, step)[0] == "error", step
    assert [each.name for each in tmp_path.iterdir()] == ["secret.md"]
    assert "secret" not in tool.call(view("/memories"))
    assert (tmp_path / "secret.md").read_text() == "secret"


def test_every_edit_is_one_change_that_can_be_undone(tool: MemfolioMemoryTool, memory: Memory) -> None:
    tool.call(create("/memories/work/a.md", "Alex drinks oolong"))
    tool.call(create("/memories/work/b.md", "Kim drinks coffee"))
    for step in (
        replaced("/memories/work/a.md", "oolong", "sencha"),
        insert("/memories/work/a.md", 0, "# Tea"),
        rename("/memories/work", "/memories/done"),
        delete("/memories/work"),
    ):
        before = memory.vault.head
        shown = tool.call(view("/memories/work/a.md"))
        tool.call(step)
        assert memory.vault.head == before + 1
        memory.audit.undo(memory.vault.head, by=HUMAN)
        assert tool.call(view("/memories/work/a.md")) == shown
    assert [hit.path for hit in memory.recall("Who drinks oolong?")][:1] == [f"{NOTES}/work/a.md"]


def test_edit_of_a_person_is_seen_and_kept(tool: MemfolioMemoryTool, memory: Memory, home: Path) -> None:
    tool.call(create("/memories/tea.md", "one\ntwo\n"))
    (home / NOTES / "tea.md").write_text("one\ntwo\nthree by hand\n")
    (home / NOTES / "own.md").write_text("by hand")
    tool.call(replaced("/memories/tea.md", "two", "2"))
    assert (home / NOTES / "tea.md").read_text() == "one\n2\nthree by hand\n"
    tool.call(insert("/memories/own.md", 1, "more"))
    assert "\tmore" in tool.call(view("/memories/own.md"))
    (home / NOTES / "odd.md").write_bytes(b"\xff\xfe")
    assert told(tool, view("/memories/odd.md")) == ("error", "Unsupported file type for /memories/odd.md")
    memory.vault.commit()
    assert not [each for each in memory.vault.verify() if each.level == "error"]


def test_threads_that_edit_one_file_lose_nothing(tool: MemfolioMemoryTool) -> None:
    tool.call(create("/memories/list.md", "begin\n"))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: tool.call(insert("/memories/list.md", 1, f"item {number}")), range(12)))
    shown = tool.call(view("/memories/list.md"))
    assert all(f"\titem {number}" in shown for number in range(12))


def test_asynchronous_tool_answers_the_same(memory: Memory) -> None:
    async def live() -> None:
        tool = MemfolioAsyncMemoryTool(memory)
        await asyncio.gather(*(tool.call(create(f"/memories/{number}.md")) for number in range(5)))
        assert str(await tool.call(view("/memories"))).count(".md") == 5

    asyncio.run(live())


def test_runner_of_the_sdk_calls_the_tool_that_a_model_asks_for(tool: MemfolioMemoryTool) -> None:
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        calls = [create("/memories/tea.md", "Alex likes tea"), view("/memories/tea.md"), delete("/memories/no.md")]
        if len(asked) <= len(calls):
            content: Any = [
                {"type": "tool_use", "id": f"t{len(asked)}", "name": "memory", "input": calls[len(asked) - 1]}
            ]
        else:
            content = [{"type": "text", "text": "done"}]
        usage = {"input_tokens": 1, "output_tokens": 1}
        reason = "tool_use" if len(asked) <= len(calls) else "end_turn"
        message = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": content}
        return httpx.Response(200, json={**message, "stop_reason": reason, "stop_sequence": None, "usage": usage})

    client = Anthropic(
        api_key="none", base_url="http://scripted", http_client=httpx.Client(transport=httpx.MockTransport(answer))
    )
    runner = client.beta.messages.tool_runner(
        model="scripted", max_tokens=10, tools=[tool], messages=[{"role": "user", "content": "I like tea"}]
    )
    assert runner.until_done().stop_reason == "end_turn"
    results = [each["messages"][-1]["content"][0] for each in asked[1:]]
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert [(str(each["content"]), bool(each.get("is_error"))) for each in results] == [
        ("File created successfully at: /memories/tea.md", False),
        ("Here's the content of /memories/tea.md with line numbers:\n     1\tAlex likes tea", False),
        ("The path /memories/no.md does not exist", True),
    ]
