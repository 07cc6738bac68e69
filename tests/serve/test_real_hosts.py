"""Where a host's own program is on the path, it accepts what is installed for it, and the package."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.calls import Run
from tools import plugins

CLAUDE, CODEX = shutil.which("claude"), shutil.which("codex")


def host(*args: str | Path) -> str:
    return subprocess.run(args, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture(autouse=True)
def _no_traffic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")


@pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed")
def test_claude_code_reaches_the_server_and_takes_the_package(cli: Run) -> None:
    assert CLAUDE
    cli("install", "claude-code")
    assert "Connected" in host(CLAUDE, "mcp", "list")
    cli("uninstall", "claude-code")
    assert "memfolio" not in host(CLAUDE, "mcp", "list")
    host(CLAUDE, "plugin", "validate", "--strict", plugins.FOLDER / "claude-code")
    host(CLAUDE, "plugin", "marketplace", "add", plugins.FOLDER / "claude-code")
    host(CLAUDE, "plugin", "install", "memfolio@memfolio")
    assert "enabled" in host(CLAUDE, "plugin", "list")


@pytest.mark.skipif(CODEX is None, reason="Codex is not installed")
def test_codex_knows_the_server_and_takes_the_package(cli: Run) -> None:
    assert CODEX
    cli("install", "codex")
    assert [each["name"] for each in json.loads(host(CODEX, "mcp", "list", "--json"))] == ["memfolio"]
    cli("uninstall", "codex")
    assert json.loads(host(CODEX, "mcp", "list", "--json")) == []
    host(CODEX, "plugin", "marketplace", "add", plugins.FOLDER / "codex")
    host(CODEX, "plugin", "add", "memfolio@memfolio")
    assert "installed, enabled" in host(CODEX, "plugin", "list")
