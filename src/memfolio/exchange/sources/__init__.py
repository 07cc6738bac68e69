"""The formats that can be imported, and where each is read."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from memfolio.arguments import nearest
from memfolio.errors import InputError, NotFoundError
from memfolio.exchange.reading import Source
from memfolio.vault.paths import is_home

SOURCES = {
    "chatgpt": "json_source:ChatGPT",
    "claude": "json_source:Claude",
    "mem0": "json_source:Mem0",
    "mcp-memory": "json_source:McpMemory",
    "graph-sqlite": "graph_sqlite:GraphSqlite",
    "obsidian": "folders:OBSIDIAN",
    "mabos": "folders:MABOS",
    "spec": "folders:SPEC",
    "moltbot": "folders:MOLTBOT",
    "claude-code": "folders:CLAUDE_CODE",
    "openclaw": "folders:OPENCLAW",
    "markdown": "folders:MARKDOWN",
    "pdf": "pdf:Pdf",
}
"""Name and class of each format, in the order in which they are tried; the first that fits is used."""
NAMES = ("memfolio", *SOURCES)
"""Values of `--from`; an export of memfolio itself is restored instead of imported."""


def source_named(name: str) -> Source:
    """The source that `--from` names."""
    if name not in SOURCES:
        raise InputError(f"{name[:40]!r} is nothing to import from", hint=nearest(name, [*SOURCES]))
    module, _, attribute = SOURCES[name].partition(":")
    found = getattr(import_module(f"{__name__}.{module}"), attribute)
    source: Source = found() if isinstance(found, type) else found
    return source


def source_of(path: Path, name: str | None = None) -> Source:
    """The source that a file or folder is, or is said to be."""
    if not path.exists():
        raise NotFoundError(f"there is no {path}", hint="name the file or folder to import")
    if name is not None:
        return source_named(name)
    if path.is_dir() and is_home(path):
        raise InputError(f"{path} is a home already", hint="open it with --home; `memfolio export` makes a copy of it")
    for each in SOURCES:
        if (source := source_named(each)).fits(path):
            return source
    raise InputError(
        f"{path} is not a format memfolio can import",
        hint=f"--from names the format: {', '.join(SOURCES)}",
    )
