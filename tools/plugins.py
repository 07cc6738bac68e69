"""The packages in plugins/, one folder for each host, made from the table of hosts in the code, and server.json.

`python -m tools.plugins` writes them; a test checks that they are up to date. The version is that of the package.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from memfolio import __version__
from memfolio.serve.install.hosts import HOSTS, NAME, Host, Program

ROOT = Path(__file__).parent.parent
SERVER = ROOT / "server.json"
"""What the registry of MCP servers is told."""
FOLDER = ROOT / "plugins"
SKILL = ROOT / "tools" / "skill.md"
"""What an agent is told about remembering, in the words that every host gets."""
WORDS = "Long-term memory in Markdown files that a person can open, read, edit, diff and undo."
ABOUT = {"name": NAME, "version": __version__, "description": WORDS, "license": "Apache-2.0"}
OWNER = {"name": f"The {NAME} project"}
CLAUDE_CODE, CODEX, GEMINI, CURSOR = (HOSTS[name] for name in ("claude-code", "codex", "gemini", "cursor"))
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"


def servers(host: Host) -> dict[str, Any]:
    """A package's servers: it is for everybody, so it names the program and leaves the rest to their settings."""
    entry: dict[str, Any] = host.servers_of(Program())[host.place[0]]
    return {"mcpServers": entry}


def packages() -> dict[str, str]:
    """Every file by its path below plugins/."""
    market = {"name": NAME, "description": WORDS, "owner": OWNER, "plugins": [{"name": NAME, "source": "./"}]}
    codex_market = {"name": NAME, "plugins": [{"name": NAME, "source": {"source": "local", "path": "./"}}]}
    parts = {"skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json"}
    agent_servers = servers(CLAUDE_CODE) | {"$schema": f"{SCHEMAS}/mcp.schema.json"}
    documents: dict[str, dict[str, Any]] = {
        "claude-code/.claude-plugin/plugin.json": ABOUT | {"author": OWNER},
        "claude-code/.claude-plugin/marketplace.json": market,
        "claude-code/.mcp.json": servers(CLAUDE_CODE),
        "claude-code/hooks/hooks.json": CLAUDE_CODE.hooks_of(Program()),
        "codex/.codex-plugin/plugin.json": ABOUT | parts,
        "codex/.agents/plugins/marketplace.json": codex_market,
        "codex/.mcp.json": servers(CODEX),
        "codex/hooks/hooks.json": CODEX.hooks_of(Program()),
        "gemini/gemini-extension.json": ABOUT | servers(GEMINI),
        "gemini/hooks/hooks.json": GEMINI.hooks_of(Program()),
        "cursor/.cursor/mcp.json": servers(CURSOR),
        "cursor/.cursor/hooks.json": CURSOR.hooks_of(Program()),
        "agent-plugins/plugin.json": {"$schema": f"{SCHEMAS}/plugin.schema.json"} | ABOUT,
        "agent-plugins/mcp.json": agent_servers,
    }
    skill = SKILL.read_text(encoding="utf-8")
    skilled = ("claude-code", "codex", "gemini", "agent-plugins")
    return {path: json.dumps(each, indent=2) + "\n" for path, each in documents.items()} | {
        f"{folder}/skills/memory/SKILL.md": skill for folder in skilled
    }


def server() -> str:
    """server.json with the version of this package; everything else in it is written by hand."""
    document = json.loads(SERVER.read_text(encoding="utf-8"))
    document["version"] = __version__
    for package in document["packages"]:
        package["version"] = __version__
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Make the folder hold exactly the packages."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in packages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(FOLDER)
    SERVER.write_text(server(), encoding="utf-8")
