"""Exports of ChatGPT, Claude, mem0 and the MCP memory server: taken over with times and roles, once, and whole."""

from __future__ import annotations

import json
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import InputError
from memfolio.exchange.reading import ImportedMemory, ImportProblem, Lore, Source
from memfolio.exchange.sources import json_source, source_of
from memfolio.exchange.sources.json_source import ChatGPT, Claude, McpMemory, Mem0
from memfolio.exchange.take_in import ImportReport, take_in
from memfolio.memory import Memory

Json = dict[str, Any]
AT = datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()


def node(key: str, parent: str | None, role: str, text: str, at: float | None = AT, **more: Any) -> Json:
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    message = {"id": key, "author": author, "create_time": at, "content": content, "metadata": {}, **more}
    return {"id": key, "parent": parent, "children": [], "message": message}


def gpt_talk() -> Json:
    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("q", "s", "user", "What is the capital of France?"),
        node("old", "q", "assistant", "Lyon.", AT + 1),
        node("think", "q", "assistant", "hmm", content={"content_type": "thoughts", "thoughts": []}),
        node("new", "think", "assistant", "Paris.", AT + 2, metadata={"model_slug": "gpt-4o"}),
        node("tool", "new", "tool", "", AT + 3, name="web", content={"content_type": "execution_output", "text": "ok"}),
        node("pic", "tool", "user", "", None, content={"content_type": "multimodal_text", "parts": [PICTURE, "See?"]}),
    ]
    mapping = {each["id"]: each for each in nodes}
    return {"title": "France", "create_time": AT, "mapping": mapping, "current_node": "pic", "conversation_id": "c-1"}


PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}


def claude_talk() -> Json:
    blocks = [
        {"type": "thinking", "thinking": "secret thoughts"},
        {"type": "text", "text": "It rains."},
        {"type": "tool_result", "name": "weather", "content": [{"type": "text", "text": "rain, 9 degrees"}]},
    ]
    files = [{"file_name": "plan.txt", "extracted_content": "Step one: umbrella."}]
    asked = {"uuid": "m-1", "sender": "human", "text": "Weather?", "created_at": "2024-05-01T12:00:00Z"}
    told = {"uuid": "m-2", "sender": "assistant", "text": "flat", "content": blocks, "created_at": "broken"}
    talk = {"uuid": "t-1", "name": "Rain", "created_at": "2024-05-01T11:59:00Z"}
    return {**talk, "chat_messages": [{**asked, "content": [], "attachments": files}, told, "junk"]}


def saved(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def zipped(path: Path, value: object, name: str = "conversations.json") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, json.dumps(value))
        archive.writestr("user.json", "{}")
    return path


def taken(home: Path, source: Source, path: Path) -> tuple[ImportReport, list[Any]]:
    with Memory.open(home, background=False, speaker="owner") as memory:
        report = take_in(memory, source, path)
        return report, memory.vault.entries("main")


def test_current_branch_of_a_chatgpt_conversation_comes_with_roles_times_and_title(home: Path, tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip", [gpt_talk()])
    assert ChatGPT().fits(path)
    assert not Claude().fits(path)
    report, items = taken(home, ChatGPT(), path)
    assert (report.taken, report.flaws) == (4, [])
    said = {(item.role, item.content): item for item in items}
    assert set(said) == {
        ("user", "What is the capital of France?"),
        ("assistant", "Paris."),
        ("tool", "ok"),
        ("user", "[image_asset_pointer]\n\nSee?"),
    }
    answer = said["assistant", "Paris."]
    assert (answer.session, answer.event_time) == ("c-1", datetime(2024, 5, 1, 12, 0, 2, tzinfo=UTC))
    assert answer.attributes["title"] == "France"
    assert answer.attributes["author"] == "gpt-4o"
    assert said["tool", "ok"].origin == "untrusted"
    assert taken(home, ChatGPT(), path)[0].known == 4


def test_one_bad_conversation_does_not_stop_the_others(home: Path, tmp_path: Path) -> None:
    loop = {"id": "x", "mapping": {"a": node("a", "b", "user", "round"), "b": node("b", "a", "user", "and round")}}
    strange = {"id": "y", "mapping": {"n": {"message": {"author": "?", "content": 7}}}, "current_node": ["n"]}
    path = saved(tmp_path / "conversations.json", ["junk", None, {"mapping": 3}, strange, loop, gpt_talk()])
    report, items = taken(home, ChatGPT(), path)
    assert len(report.flaws) == 4
    assert {item.content for item in items} >= {"Paris.", "round", "and round"}


def test_claude_conversation_comes_with_what_tools_and_files_told(home: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    saved(tmp_path / "data" / "conversations.json", [claude_talk(), {"uuid": "empty"}])
    assert Claude().fits(tmp_path / "data")
    report, items = taken(home, Claude(), tmp_path / "data")
    assert [(item.role, item.content) for item in sorted(items, key=lambda item: item.content)] == [
        ("assistant", "It rains."),
        ("tool", "Step one: umbrella."),
        ("user", "Weather?"),
        ("tool", "rain, 9 degrees"),
    ]
    assert len(report.flaws) == 2
    assert not any("secret thoughts" in item.content for item in items)
    assert {item.session for item in items} == {"t-1"}


def test_what_chatgpt_messages_hold_beside_text_is_read_or_told(tmp_path: Path) -> None:
    voice = {"content_type": "audio_transcription", "text": "Hello there", "direction": "in"}
    contents: list[Json] = [
        {"content_type": "multimodal_text", "parts": [voice, {"content_type": "audio_asset_pointer"}]},
        {"content_type": "tether_quote", "url": "u", "domain": "d", "title": "T", "text": "quoted"},
        {"content_type": "tether_browsing_display", "result": "", "summary": "", "assets": None},
        {"content_type": "computer_output", "screenshot": {"url": "x"}},
        {"content_type": "user_editable_context", "user_profile": "hidden"},
    ]
    nodes = [node(f"n{at}", f"n{at - 1}", "user", "", None, content=each) for at, each in enumerate(contents)]
    talk = {"mapping": {each["id"]: each for each in nodes}, "current_node": "n4", "conversation_id": "c"}
    private = {**gpt_talk(), "is_do_not_remember": True}
    path = tmp_path / "split.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in {"conversations-000": [talk], "conversations-001": [private], "group_chats": {}}.items():
            archive.writestr(f"export/{name}.json", json.dumps(value))
    found = list(ChatGPT().read(path))
    assert [each.content for each in found if isinstance(each, ImportedMemory)] == [
        "Hello there\n\n[audio_asset_pointer]",
        "T\n\nquoted\n\nu",
    ]
    assert [each.ref for each in found if isinstance(each, ImportProblem)] == ["c/n3", "c-1", "export/group_chats.json"]


ROOT = "00000000-0000-4000-8000-000000000000"


def claude_export() -> dict[str, Any]:
    def message(key: str, before: str, sender: str, *blocks: Json, **more: Any) -> Json:
        return {"uuid": key, "parent_message_uuid": before, "sender": sender, "content": [*blocks], **more}

    written = {"type": "tool_use", "name": "artifacts", "input": {"title": "plan.md", "content": "# Plan"}}
    told = [
        message("m1", ROOT, "human", {"type": "text", "text": "Write"}, files=[{"file_name": "pic.png"}]),
        message("m2", "m1", "assistant", {"type": "text", "text": "Given up"}),
        message("m3", "m1", "assistant", {"type": "text", "text": "Here"}, written, {"type": "hologram"}),
    ]
    docs = [{"filename": "brief.txt", "content": "The brief"}, None]
    files = [None, {"path": "/../work/a.md", "content": "At work"}]
    return {
        "users.json": [{"uuid": "u"}],
        "conversations.json": [{"uuid": "t", "created_at": "2026-05-01T11:59:00Z", "chat_messages": told}],
        "memories/u.json": {"conversations_memory": "Likes tea", "project_memories": {"p": "X"}, "memory_files": files},
        "projects/p.json": {"uuid": "p", "name": "A/B", "prompt_template": "Be brief", "docs": docs},
        "design_chats/d.json": {"uuid": "d"},
    }


def test_claude_export_comes_with_the_last_branch_its_memory_and_projects(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in claude_export().items():
            archive.writestr(name, json.dumps(value))
    report, items = taken(home, Claude(), path)
    assert {item.content for item in items} == {"Write\n\n[pic.png]", "Here", "# Plan"}
    assert [flaw.ref for flaw in report.flaws] == ["t/m3", "design_chats/d.json"]
    pages = {each.relative_to(home / "agents/main/memory/claude").as_posix(): each.read_text() for each in
             (home / "agents/main/memory/claude").rglob("*.md")}  # fmt: skip
    assert pages == {
        "memory.md": "Likes tea\n",
        "projects/p.md": "X\n",
        "files/work/a.md": "At work\n",
        "projects/A-B/A-B.md": "# A-B\n\nBe brief\n",
        "projects/A-B/brief.txt.md": "The brief\n",
    }


def test_claude_export_in_several_archives_is_one(tmp_path: Path) -> None:
    for name, value in claude_export().items():
        part = name.partition("/")[0].removesuffix(".json")
        with zipfile.ZipFile(tmp_path / f"{part}-000.zip", "w") as archive:
            archive.writestr(name, json.dumps(value))
    assert source_of(tmp_path).name == "claude"
    assert len([each for each in Claude().read(tmp_path) if not isinstance(each, ImportProblem)]) == 8
    assert source_of(tmp_path / "memories-000.zip").name == "claude"


def test_message_whose_forerunner_is_missing_does_not_hide_the_others(tmp_path: Path) -> None:
    export = claude_export()["conversations.json"]
    export[0]["chat_messages"][0]["parent_message_uuid"] = "elsewhere"
    found = list(Claude().read(saved(tmp_path / "conversations.json", export)))
    assert "Given up" in [each.content for each in found if isinstance(each, ImportedMemory)]


def test_link_in_the_place_of_an_export_is_not_followed(tmp_path: Path) -> None:
    saved(tmp_path / "other.json", [gpt_talk()])
    (tmp_path / "data").mkdir()
    (tmp_path / "data/conversations.json").symlink_to(tmp_path / "other.json")
    (tmp_path / "data/projects").symlink_to(tmp_path)
    assert not ChatGPT().fits(tmp_path / "data")
    for source in (ChatGPT(), Claude()):
        with pytest.raises(InputError, match="is a link"):
            source.count(tmp_path / "data")


def test_memories_of_mem0_keep_user_tags_time_and_relations(home: Path, tmp_path: Path) -> None:
    memory = {"id": "u-1", "memory": "Likes tea", "user_id": "ada", "metadata": {"where": "chat"}, "hash": "x"}
    dated = {**memory, "categories": ["food"], "created_at": "2025-02-03T04:05:06-07:00"}
    relations = [{"source": "ada", "relationship": "likes", "target": "tea"}, {"source": "ada"}]
    path = saved(tmp_path / "mem0.json", {"results": [dated, 5], "relations": relations})
    assert Mem0().fits(path)
    report, items = taken(home, Mem0(), path)
    assert (report.taken, report.facts, len(report.flaws)) == (1, 1, 2)
    assert (items[0].user, items[0].tags, items[0].attributes["where"]) == ("ada", ("food",), "chat")
    assert items[0].event_time == datetime(2025, 2, 3, 11, 5, 6, tzinfo=UTC)


def test_graph_of_the_mcp_memory_server_becomes_memories_and_facts(tmp_path: Path) -> None:
    entity = {
        "type": "entity",
        "name": "Tim",
        "entityType": "person",
        "observations": ["Speaks Spanish", {"content": "A"}],
    }
    relation = {"type": "relation", "from": "Tim", "to": "Initech", "relationType": "works_at"}
    lines = tmp_path / "memory.jsonl"
    lines.write_text("".join(json.dumps(each) + "\n" for each in (entity, relation)))
    graph = saved(tmp_path / "graph.json", {"entities": [entity], "relations": [relation]})
    for path in (lines, graph):
        assert McpMemory().fits(path)
        found = list(McpMemory().read(path))
        assert [each.content for each in found if isinstance(each, ImportedMemory)] == ["Tim: Speaks Spanish", "Tim: A"]
        spo = [each.ref for each in found if isinstance(each, Lore)]
        assert spo == ["Tim isA person", "Tim works_at Initech"]


@pytest.mark.parametrize("source", [ChatGPT(), Claude(), Mem0(), McpMemory()], ids=lambda source: source.name)
def test_export_that_was_cut_short_changes_nothing(source: Source, home: Path, tmp_path: Path) -> None:
    talks = [gpt_talk() | claude_talk() | {"memory": "x"}] * 3
    whole = json.dumps(talks)
    for number, end in enumerate((len(whole) // 2, len(whole) - 1, 1)):
        path = tmp_path / f"{number}.json"
        path.write_text(whole[:end])
        with pytest.raises(InputError, match="cut short"):
            taken(home, source, path)
    packed = zipped(tmp_path / "whole.zip", talks).read_bytes()
    (tmp_path / "cut.zip").write_bytes(packed[: len(packed) // 2])
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(packed[:80] + bytes(20) + packed[100:])
    for path in (tmp_path / "cut.zip", damaged):
        with pytest.raises(InputError):
            taken(home, source, path) if source.name in ("chatgpt", "claude") else source.count(path)
    with Memory.open(home, background=False) as memory:
        assert memory.vault.entries("main") == []


def test_archive_that_leads_out_of_itself_or_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leads out"):
        ChatGPT().count(zipped(tmp_path / "out.zip", [gpt_talk()], name="../conversations.json"))
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * 50_000_000 + "]")
    with pytest.raises(InputError, match="unpacks to"):
        ChatGPT().count(bomb)
    assert not ChatGPT().fits(bomb)


def test_long_list_is_read_a_piece_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_source, "CHUNK", 16)
    talks = [gpt_talk(), "é" * 100, 12345, [], {"mapping": {}}]
    path = saved(tmp_path / "conversations.json", talks)
    assert list(json_source.items(path, re.compile("x"))) == talks
    monkeypatch.setattr(json_source, "LONGEST", 100)
    with pytest.raises(InputError):
        ChatGPT().count(path)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[[[[[" * 50_000, b'{"a": 1e999999', b"[1" + b"0" * 5000 + b"]"]
)
def test_what_is_no_export_fits_nothing_and_raises_only_our_errors(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(content)
    for source in (ChatGPT(), Claude(), Mem0(), McpMemory()):
        assert not source.fits(path)
        assert not source.fits(tmp_path / "nowhere")
        try:
            assert all(isinstance(each, ImportProblem) for each in source.read(path))
        except InputError:
            continue
