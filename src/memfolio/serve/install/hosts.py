"""The hosts: where each keeps its settings, and what is written there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memfolio.errors import InputError
from memfolio.intake import nearest
from memfolio.serve.hooks.hosts import ACTS, ANSWER, CUT, END, PROMPT, START
from memfolio.serve.install.program import NAME, Program

SECONDS = {START: 10, PROMPT: 5, ANSWER: 5, CUT: 10, END: 1}
"""For which a host waits for a hook. It answers far sooner; this ends one that hangs."""
BEGINNINGS = "startup|resume|clear|compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A program in which an agent lives; its files are named from the user's or the project's folder."""

    name: str
    title: str
    servers: Mapping[str, str]
    """The file with its MCP servers, for each scope that it knows."""
    place: tuple[str, ...] = ("mcpServers", NAME)
    """Where our server stands in it."""
    server: Mapping[str, Any] = field(default_factory=dict)
    """What it wants to know of a server beside its command."""
    hooks: str = ""
    matchers: Mapping[str, str] = field(default_factory=dict)
    """Which kinds of an event it is to tell of, where that matters."""
    ticks: int = 1
    """How many of its units of time make a second."""
    is_flat: bool = False
    """Whether a hook stands by itself, and not in a group."""
    variable: str = ""
    """What names another folder for the files of its own, where the person wants that."""
    after: str = "start it anew; /mcp and /hooks show memfolio"
    """What is left for the person to do."""

    def servers_of(self, program: Program) -> dict[str, Any]:
        """The settings that name the server."""
        found: dict[str, Any] = {**self.server, "command": program.path, "args": program.args("mcp")}
        for key in reversed(self.place):
            found = {key: found}
        return found

    def hooks_of(self, program: Program) -> dict[str, Any]:
        """The settings that name the hooks."""
        hooks = {event: [self._hook(event, act, program)] for event, act in ACTS[self.name].items()}
        return {"version": 1, "hooks": hooks} if self.is_flat else {"hooks": hooks}

    def _hook(self, event: str, act: str, program: Program) -> dict[str, Any]:
        hook = {"command": program.line("hook", self.name, event), "timeout": SECONDS[act] * self.ticks}
        if self.is_flat:
            return hook
        matcher = {"matcher": self.matchers[act]} if act in self.matchers else {}
        return {**matcher, "hooks": [{"type": "command", **hook}]}

    def wanted(self, scope: str, program: Program) -> dict[str, dict[str, Any]]:
        """Every file with what is to stand in it."""
        if scope not in self.servers:
            raise InputError(f"{self.title} has no settings for a {scope}", hint="leave out --scope")
        files = {self.servers[scope]: self.servers_of(program)}
        if self.hooks:
            files[self.hooks] = files.get(self.hooks, {}) | self.hooks_of(program)
        return files

    def is_ours(self, path: tuple[str, ...], value: Any) -> bool:
        """Whether a value in its settings was written by memfolio for this host, whatever version and home."""
        if not isinstance(value, dict) or not isinstance(command := value.get("command"), str):
            return False
        if path == self.place:
            program = command.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
            return program == NAME and "mcp" in str(value.get("args"))
        return path[0] == "hooks" and NAME in command and f" hook {self.name} " in command


CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    servers={"user": ".claude.json", "project": ".mcp.json"},
    server={"type": "stdio"},
    hooks=".claude/settings.json",
    matchers={START: BEGINNINGS},
    variable="CLAUDE_CONFIG_DIR",
)
CODEX = Host(
    name="codex",
    title="Codex",
    servers=dict.fromkeys(("user", "project"), ".codex/config.toml"),
    place=("mcp_servers", NAME),
    hooks=".codex/hooks.json",
    matchers={START: BEGINNINGS},
    variable="CODEX_HOME",
    after="start it anew and trust its hooks when it asks: until then it does not run them",
)
GEMINI = Host(
    name="gemini",
    title="Gemini CLI",
    servers=dict.fromkeys(("user", "project"), ".gemini/settings.json"),
    hooks=".gemini/settings.json",
    # It says "auto" before each call of a model, whether the conversation is cut then or not.
    matchers={CUT: "manual"},
    ticks=1000,
)
CURSOR = Host(
    name="cursor",
    title="Cursor",
    servers=dict.fromkeys(("user", "project"), ".cursor/mcp.json"),
    hooks=".cursor/hooks.json",
    is_flat=True,
    after="start it anew; its settings list the server and the hooks",
)
OPENCLAW = Host(
    name="openclaw",
    title="OpenClaw",
    servers={"user": ".openclaw/openclaw.json"},
    place=("mcp", "servers", NAME),
    variable="OPENCLAW_STATE_DIR",
    after="say: openclaw gateway restart",
)
HOSTS = {each.name: each for each in (CLAUDE_CODE, CODEX, GEMINI, CURSOR, OPENCLAW)}


def host_of(name: str) -> Host:
    """The host of this name."""
    if name not in HOSTS:
        raise InputError(f"there is no host {name[:40]!r}", hint=nearest(name, list(HOSTS)))
    return HOSTS[name]
