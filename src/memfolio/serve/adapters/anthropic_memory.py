"""Anthropic's memory tool: `/memories` is the agent's folder `memory/notes`, and replies are those of the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import normpath
from typing import Any

from memfolio.errors import MemfolioError
from memfolio.memory import Memory
from memfolio.serve.adapters import Given, memory_of, missing
from memfolio.serve.hooks.pause import check_unpaused
from memfolio.types import Action, Attribution
from memfolio.vault.change import Change, PutPage
from memfolio.vault.paths import agent_root, check_path
from memfolio.vault.survey import look_over

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise missing("anthropic", "anthropic") from error

ROOT = "/memories"
MOST_LINES = 999_999
FOLDER = "4K"
"""The size reported for a folder, which has none of its own."""
GONE = "The path {} does not exist"
INVALID = f"{GONE}. Please provide a valid path."


class Notes:
    """Commands on the files below `/memories`. A folder exists as long as there is a file in it."""

    def __init__(self, memory: Memory) -> None:
        self._vault = memory.vault
        self._root = f"{agent_root(memory.agent)}/memory/notes"

    def run(self, given: Any) -> str:
        """Run a command as at most one change; ToolError reports mistakes as the SDK would."""
        name = getattr(given, "command", None)
        if name not in ("view", "create", "str_replace", "insert", "delete", "rename"):
            raise NotImplementedError(f"Unknown command: {name}")
        try:
            if name != "view":
                check_unpaused(self._vault.config.home)
            with self._vault.exclusive():  # nobody changes a file between reading and writing it
                return str(getattr(self, name)(given))
        except MemfolioError as error:
            told = f"{error.message}. {error.hint}".rstrip(". ")
            raise ToolError(told.replace(f"{self._vault.home.root}/", "")) from error

    def view(self, given: Any) -> str:
        path = self._path(given, "path")
        if path in self._files:
            return self._numbered(given.path, path, getattr(given, "view_range", None))
        if path != self._root and not self._at(path):
            raise ToolError(INVALID.format(given.path))
        header = f"Here're the files and directories up to 2 levels deep in {given.path}, excluding hidden items:"
        listed = [f"{size}\t{given.path}/{inside}" for inside, size in self._listed(path).items()]
        return "\n".join([header, f"{FOLDER}\t{given.path}", *listed])

    def _listed(self, folder: str) -> dict[str, str]:
        """Return the contents of a folder, two levels deep, with sizes."""
        found: dict[tuple[str, ...], str] = {}
        for path in self._at(folder):
            parts = tuple(path.removeprefix(f"{folder}/").split("/"))
            found.update({parts[:depth]: "" for depth in range(1, min(len(parts), 3))})
            if len(parts) <= 2:
                found[parts] = _size(len(self._vault.content(path) or b""))
        return {"/".join(parts) + ("" if size else "/"): size or FOLDER for parts, size in sorted(found.items())}

    def _numbered(self, name: str, path: str, span: Any) -> str:
        lines = self._text(name, path).split("\n")
        if len(lines) > MOST_LINES:
            raise ToolError(f"File {name} exceeds maximum line limit of 999,999 lines.")
        first, last = 0, len(lines)
        if isinstance(span, list) and len(span) == 2 and all(isinstance(each, int) for each in span):
            first, last = max(1, span[0]) - 1, last if span[1] == -1 else span[1]
        return f"Here's the content of {name} with line numbers:\n{_with_numbers(lines[first:last], first)}"

    def create(self, given: Any) -> str:
        path, text = self._path(given, "path"), _field(given, "file_text")
        if path == self._root or self._at(path):
            raise ToolError(f"File {given.path} already exists")
        self._write("create", Action.CREATE, {path: text.encode("utf-8", "replace")})
        return f"File created successfully at: {given.path}"

    def str_replace(self, given: Any) -> str:
        path, old = self._file(given), _field(given, "old_str")
        new = "" if getattr(given, "new_str", None) is None else _field(given, "new_str")
        text = self._text(given.path, path)
        lines = list(_lines_with(old, text))
        if not lines:
            told = f"old_str `{old}` did not appear verbatim in {given.path}."
            raise ToolError(f"No replacement was performed, {told}")
        if text.count(old) > 1:
            told = f"Multiple occurrences of old_str `{old}` in lines: {', '.join(map(str, lines))}."
            raise ToolError(f"No replacement was performed. {told} Please ensure it is unique")
        changed, first = text.replace(old, new), max(0, lines[0] - 3)
        self._write("str_replace", Action.EDIT, {path: changed.encode("utf-8", "replace")})
        snippet = _with_numbers(changed.split("\n")[first : lines[0] + 2], first)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, given: Any) -> str:
        path, added, at = self._file(given), _field(given, "insert_text"), getattr(given, "insert_line", None)
        text = self._text(given.path, path)
        lines = text.removesuffix("\n").split("\n") if text else []
        if not isinstance(at, int) or not 0 <= at <= len(lines):
            limits = f"It should be within the range [0, {len(lines)}]."
            raise ToolError(f"Invalid `insert_line` parameter: {at}. {limits}")
        text = "\n".join([*lines[:at], added.rstrip("\n"), *lines[at:]]).removesuffix("\n") + "\n"
        self._write("insert", Action.EDIT, {path: text.encode("utf-8", "replace")})
        return f"The file {given.path} has been edited."

    def delete(self, given: Any) -> str:
        path = self._path(given, "path")
        if path == self._root:
            raise ToolError("Cannot delete the /memories directory itself")
        if not (going := self._at(path)):
            raise ToolError(GONE.format(given.path))
        self._write("delete", Action.DELETE, dict.fromkeys(going))
        return f"Successfully deleted {given.path}"

    def rename(self, given: Any) -> str:
        old, new = self._path(given, "old_path"), self._path(given, "new_path")
        if old == self._root:
            raise ToolError("Cannot rename the /memories directory itself")
        if new == self._root or self._at(new):
            raise ToolError(f"The destination {given.new_path} already exists")
        if not (moved := self._at(old)) or new.startswith(f"{old}/"):
            raise ToolError(GONE.format(given.old_path))
        pages = {f"{new}{path.removeprefix(old)}": self._vault.content(path) for path in moved}
        self._write("rename", Action.EDIT, {**dict.fromkeys(moved), **pages})
        return f"Successfully renamed {given.old_path} to {given.new_path}"

    @cached_property
    def _files(self) -> list[str]:
        """Return the existing files, without links."""
        # Looked up on disk: a person may have put a file there a moment ago.
        found = look_over(self._vault.home.root, self._vault.files).files
        return sorted(path for path in found if path.startswith(f"{self._root}/"))

    def _at(self, path: str) -> list[str]:
        """The file of this name, or the files in the folder of this name."""
        return [each for each in self._files if each == path or each.startswith(f"{path}/")]

    def _path(self, given: Any, name: str) -> str:
        """The file of the home that a path below `/memories` means."""
        path = _field(given, name)
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise ToolError(f"Path must start with /memories, got: {path}")
        # The SDK's own tool refuses `..` only where it leaves the folder.
        whole = normpath(path)
        if whole != ROOT and not whole.startswith(f"{ROOT}/"):
            raise ToolError(f"Path {path} would escape /memories directory")
        return check_path(f"{self._root}{whole.removeprefix(ROOT)}")

    def _file(self, given: Any) -> str:
        path = self._path(given, "path")
        if path not in self._files:
            is_folder = path == self._root or self._at(path)
            raise ToolError(f"The path {given.path} is not a file." if is_folder else INVALID.format(given.path))
        return path

    def _text(self, name: str, path: str) -> str:
        try:
            return (self._vault.content(path) or b"").decode()
        except UnicodeDecodeError as error:
            raise ToolError(f"Unsupported file type for {name}") from error

    def _write(self, deed: str, action: Action, pages: Mapping[str, bytes | None]) -> None:
        """Write these pages as one change; None deletes one."""
        most = self._vault.config.max_content_bytes
        for path in (path for path, data in pages.items() if data is not None):
            # A file cannot be a folder as well.
            if above := next((each for each in self._files if path.startswith(f"{each}/")), None):
                raise ToolError(f"The path {ROOT}{above.removeprefix(self._root)} is not a directory.")
            if len(pages[path] or b"") > most:
                raise ToolError(f"The file would have more than {most} bytes. Split it into several files.")
        current = {path: self._vault.page(path) for path in pages}
        puts = [PutPage.over(page, path, pages[path]) for path, page in current.items()]
        by = Attribution(actor="bot:memory-tool", trigger=deed)
        self._vault.apply(Change(operations=tuple(puts), by=by, action=action))


class MemfolioMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for a synchronous client. Threads and processes may share it; every edit can be undone."""

    def __init__(self, memory: Given = None, **options: Any) -> None:
        super().__init__(**options)
        self.memory = memory_of(memory)

    def execute(self, command: Any) -> str:
        return Notes(self.memory).run(command)

    view = create = str_replace = insert = delete = rename = execute


class MemfolioAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for an asynchronous client; the event loop never waits for the disk."""

    def __init__(self, memory: Given = None, **options: Any) -> None:
        super().__init__(**options)
        self.memory = memory_of(memory)

    async def execute(self, command: Any) -> str:
        return await asyncio.to_thread(Notes(self.memory).run, command)

    view = create = str_replace = insert = delete = rename = execute


def _field(given: Any, name: str) -> str:
    value = getattr(given, name, None)
    if not isinstance(value, str):
        raise ToolError(f"`{name}` is missing, or is no text")
    return value


def _lines_with(old: str, text: str) -> Iterator[int]:
    """Yield the line number of each occurrence, overlapping ones included."""
    line, before, at = 1, 0, text.find(old) if old else -1
    while at >= 0:
        line, before = line + text.count("\n", before, at), at
        yield line
        at = text.find(old, at + 1)


def _with_numbers(lines: Sequence[str], before: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, before + 1))


def _size(count: int) -> str:
    unit = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**unit
    return f"{int(size)}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"
