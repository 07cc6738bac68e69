"""What `doctor` says of hosts that were told of the memory, and of their hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.calls import Json, Run, RunJson


@pytest.fixture
def user(home: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user with a home, who told Claude Code of it."""
    folder = home.parent / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    cli("init")
    cli("install", "claude-code")
    return folder


def found(document: Json, where: str) -> list[tuple[str, str, str]]:
    return [(each["level"], each["message"], each["hint"]) for each in document["findings"] if each["where"] == where]


@pytest.mark.usefixtures("user")
def test_host_is_named_with_the_memory_that_it_uses(cli_json: RunJson, cli: Run) -> None:
    assert found(cli_json("doctor"), "Claude Code") == [("ok", "uses this memory", "")]
    cli("agent", "create", "scout")
    level, message, hint = found(cli_json("doctor", "--agent", "scout"), "Claude Code")[0]
    assert (level, message[:36]) == ("note", "runs another program, home or agent:")
    assert "memfolio install claude-code" in hint
    cli("uninstall", "claude-code")
    assert not found(cli_json("doctor"), "Claude Code")


def test_broken_file_of_a_host_is_told_and_left(user: Path, cli_json: RunJson) -> None:
    (user / ".claude.json").write_text('{"mcpServers": ')
    level, message, hint = found(cli_json("doctor"), "Claude Code")[0]
    assert (level, "cannot be edited as JSON" in message, "correct it" in hint) == ("warning", True, True)
    assert (user / ".claude.json").read_text() == '{"mcpServers": '


@pytest.mark.usefixtures("user")
def test_trouble_of_hooks_is_told(home: Path, cli_json: RunJson) -> None:
    (home / ".memfolio/hooks").mkdir(parents=True, exist_ok=True)
    (home / ".memfolio/hooks/log").write_text("2026-11-16T01:00:00Z no space left\n")
    assert found(cli_json("doctor"), "hooks")[0][:2] == ("warning", "2026-11-16T01:00:00Z no space left")


@pytest.mark.usefixtures("user")
def test_trouble_that_hooks_had_twice_is_told_once_with_the_file_to_delete(home: Path, cli_json: RunJson) -> None:
    log = home / ".memfolio/hooks/log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("2026-11-16T01:00:00Z no space left\n" * 2)
    ((_, _, hint),) = found(cli_json("doctor"), "hooks")
    assert str(log) in hint


@pytest.mark.usefixtures("user")
def test_index_and_embedder_that_cannot_be_used_are_told(
    home: Path, cli_json: RunJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = home.parent / "a file"
    blocked.touch()
    assert not found(cli_json("doctor"), "index")
    monkeypatch.setenv("MEMFOLIO_CACHE", str(blocked))
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_URL", "http://127.0.0.1:9/v1")
    for where in ("index", "embedder"):
        ((level, _, hint),) = found(cli_json("doctor"), where)
        assert (level, bool(hint)) == ("warning", True)
