"""The hosts: their settings files, how they start memfolio, and what installing would change."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from memfolio.arguments import check_known
from memfolio.errors import ConflictError, InputError
from memfolio.serve import text_of
from memfolio.serve.hooks.door import ACTS, ANSWER, CUT, END, PROMPT, START
from memfolio.serve.install import files
from memfolio.serve.install.files import FileChange, HostFileError
from memfolio.serve.service import tend_command
from memfolio.types import frozen

# How a host starts memfolio.

NAME = "memfolio"


@frozen
class Program:
    """The program, with the options that select the memory."""

    path: str = NAME
    options: tuple[str, ...] = ()
    tools: str | None = None
    """The set of tools that its server offers, if not the default."""
    is_hooked: bool = True
    """Whether the host's hooks report what is said, if it has hooks."""

    def args(self, *words: str) -> list[str]:
        return [*words, *self.options]

    def line(self, *words: str) -> str:
        """A command as the system's shell reads it."""
        command = [self.path, *self.args(*words)]
        return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def renewed(had: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What has to change in a command of ours for it to run what is wanted; what it is told beside that stays."""
    told, needed = ([*each.get("command", "").split(), *map(str, each.get("args", ()))] for each in (had, wanted))
    is_current = set(needed) <= set(told) and not {"--home", "--agent"} & {*told} - {*needed}
    return {} if is_current else {key: wanted[key] for key in ("command", "args") if key in wanted}


def installed() -> str:
    """The full path of this program: hosts that are started from a desktop do not have the path of a shell.

    A link on the path is taken as it is, because pipx, uv and package managers keep it where it is when they upgrade.
    """
    own, found = tend_command(Path())[0], shutil.which(NAME)
    return os.path.abspath(found) if found and os.path.realpath(found) == os.path.realpath(own) else own


# The hosts: where each keeps its settings, and what is written there.

SECONDS = {START: 10, PROMPT: 5, ANSWER: 5, CUT: 10, END: 1}
"""Seconds that a host waits for a hook. A hook answers far sooner; this ends one that hangs."""


@frozen
class Host:
    """A program in which an agent lives; its files are named from the user's or the project's folder."""

    name: str
    title: str
    servers: Mapping[str, str]
    """The file with its MCP servers, for each scope that it knows."""
    place: tuple[str, ...]
    """The path of our server in it."""
    server: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of a server, beside its command."""
    hooks: str = ""
    matchers: Mapping[str, str] = field(default_factory=dict)
    """The kinds of each event to report, if that matters."""
    ticks: int = 1
    """How many of its units of time make a second."""
    is_flat: bool = False
    """Whether a hook is an entry of its own, not part of a group."""
    variable: str = ""
    """The environment variable that moves the host's settings folder."""
    program: str = ""
    """The command that starts the host."""
    after: str = "restart it; /mcp and /hooks show memfolio"
    """What is left for the person to do."""

    def servers_of(self, program: Program) -> dict[str, Any]:
        """The settings that name the server."""
        chosen = ("--tools", program.tools) if program.tools else ()
        found: dict[str, Any] = {**self.server, "command": program.path, "args": program.args("mcp", *chosen)}
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
        """Return every file with its wanted content."""
        if scope not in self.servers:
            raise InputError(f"{self.title} has no settings for a {scope}", hint="leave out --scope")
        files = {self.servers[scope]: self.servers_of(program)}
        if self.hooks:
            hooks = self.hooks_of(program) if program.is_hooked else {}
            files[self.hooks] = files.get(self.hooks, {}) | hooks
        return files

    def is_ours(self, path: tuple[str, ...], value: Any) -> bool:
        """Whether a value in its settings was written by memfolio for this host, whatever version and home."""
        if not isinstance(value, dict) or not isinstance(command := value.get("command"), str):
            return False
        if path == self.place:
            program = command.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
            return program == NAME and "mcp" in str(value.get("args"))
        return path[0] == "hooks" and NAME in command and f" hook {self.name} " in command


def _host(name: str, table: dict[str, Any]) -> Host:
    return Host(name=name, **table | {"place": tuple(table.get("place", ("mcpServers", NAME)))})


HOSTS = {name: _host(name, table) for name, table in tomllib.loads(text_of("hosts.toml")).items()}


def found(root: Path) -> list[Host]:
    """The hosts that this user seems to have: their program is on the path, or their folder is there."""
    return [
        host
        for host in HOSTS.values()
        if shutil.which(host.program) or (root / (host.hooks or host.servers["user"])).parent.is_dir()
    ]


def host_of(name: str) -> Host:
    """The host of this name."""
    check_known("there is no host", [name], HOSTS)
    return HOSTS[name]


def home_of_project(host: Host, folder: Path) -> Path | None:
    """The home that the project around a folder has for itself, by the host's own settings; None where it has none.

    The person's own settings, which hold everywhere, are no project's.
    """
    own = Path.home()
    for place in (folder, *folder.parents) if host.hooks else ():
        if place == own:
            return None
        with suppress(OSError, ValueError):
            named = _named_home(host, files.scan((place / host.hooks).read_text("utf-8-sig")).plain)
            if named:
                return Path(named).expanduser()
    return None


def home_of_person(host: Host, root: Path, *, moved: Path | None = None) -> Path | None:
    """The home that a host uses everywhere by its settings; None where it uses none, or they name none."""
    for name in filter(None, (host.hooks, host.servers["user"])):
        path = moved / name.rpartition("/")[2] if moved else root / name
        with suppress(OSError, ValueError):
            text = path.read_text("utf-8-sig")
            if named := _named_home(host, tomllib.loads(text) if path.suffix == ".toml" else files.scan(text).plain):
                return Path(named).expanduser()
    return None


def _named_home(host: Host, settings: Any) -> str:
    """The home that our hooks or our server in some settings name; empty where there are none, or they name none."""
    if any(host.is_ours(path, settings) for path in (("hooks",), host.place)):
        words = shlex.split(settings["command"], posix=sys.platform != "win32")
        return dict(pairwise([*words, *map(str, settings.get("args", ()))])).get("--home", "").strip('"')
    inner = settings.values() if isinstance(settings, dict) else settings if isinstance(settings, list) else ()
    return next(filter(None, (_named_home(host, each) for each in inner)), "")


# What installing and uninstalling would change in a host's files; nothing is written here.

_MARK = "\ufeff"
"""The byte order mark that some editors write."""


@frozen
class Settings:
    """One settings file of a host, and our parts in it."""

    host: Host
    path: Path
    wanted: dict[str, Any]

    @property
    def table(self) -> str:
        """The name of our server's table, in a file of tables; empty in others."""
        return ".".join(self.host.place) if self.path.suffix == ".toml" else ""

    def server(self, settings: Any) -> Any:
        """Return the entry under our name among the servers."""
        for key in self.host.place:
            settings = settings.get(key) if isinstance(settings, dict) else None
        return settings

    def with_ours(self, text: str) -> str:
        """Return the text with our parts; the same text if they are current."""
        said = tomllib.loads(text) if self.table else files.scan(text).plain if text.strip() else {}
        server, wanted = self.server(said), self.server(self.wanted)
        if server is not None and not self.host.is_ours(self.host.place, server):
            hint = "rename or delete that server, then install again"
            raise ConflictError(f"{self.path} has a server {NAME} that runs something else", hint=hint)
        if not self.table:
            hooks_only = lambda path, value: path[0] == "hooks" and self.host.is_ours(path, value)  # noqa: E731
            bare = text if "hooks" in self.wanted or not text.strip() else files.without_json(text, hooks_only)
            return files.merged_json(bare, self.wanted, self.host.is_ours, renewed) if self.wanted else bare
        if server is None:
            return files.merged_toml(text, self.table, wanted)
        return files.renewed(text, self.table, renewed(server, wanted))

    def without_ours(self, text: str) -> str:
        """Return the text without our parts; the same text if there are none."""
        if not self.table:
            return files.without_json(text, self.host.is_ours) if text.strip() else text
        is_ours = self.host.is_ours(self.host.place, self.server(tomllib.loads(text)))
        return files.without_toml(text, self.table) if is_ours else text

    def installed(self, old: bytes | None, saved: bytes | None) -> FileChange:
        """Return the change that installs our parts; an earlier backup stays."""
        mark, text = _decoded(old)
        new = (mark + self.with_ours(text)).encode()
        return FileChange(path=self.path, old=old, new=new, saved=old if self.without_ours(text) == text else saved)

    def uninstalled(self, old: bytes | None, saved: bytes | None) -> FileChange:
        """Return the change that removes our parts; if nothing else has changed, the original bytes come back."""
        (mark, text), (_, first) = _decoded(old), _decoded(saved)
        bare = self.without_ours(text)
        if bare == text:
            return FileChange(path=self.path, old=old, new=old, saved=saved)
        if bare == self.without_ours(self.with_ours(first)):
            return FileChange(path=self.path, old=old, new=saved, saved=None)
        return FileChange(path=self.path, old=old, new=(mark + bare).encode(), saved=saved)


def changes(
    host: Host, scope: str, root: Path, program: Program | None, *, moved: Path | None = None
) -> list[FileChange]:
    """What has to change so that the host runs this program, or nothing of memfolio; only what does change.

    `moved` is the folder in which the person has put what the host else keeps in a folder of its own below `root`.
    """
    found = []
    asked, whole = program or Program(), host.wanted(scope, replace(program or Program(), is_hooked=True))
    for name, wanted in host.wanted(scope, asked).items():
        path = moved / name.rpartition("/")[2] if moved else root / name
        # A file that had nothing of ours but hooks is left as if it had never been touched.
        settings = Settings(host=host, path=path, wanted=wanted or whole[name])
        old, saved = (files.read(each, moved or root) for each in (path, files.backup_of(path)))
        try:
            found.append(settings.installed(old, saved) if program and wanted else settings.uninstalled(old, saved))
        except (ValueError, RecursionError) as error:
            kind = "TOML" if settings.table else "JSON"
            hint = f"correct it as {host.title} wants it, then try again; nothing was changed"
            raise HostFileError(f"{path} cannot be edited as {kind}: {error}", hint=hint) from error
    return [each for each in found if each.old != each.new]


def _decoded(data: bytes | None) -> tuple[str, str]:
    """The mark with which a file begins, and its text."""
    text = (data or b"").decode()
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
