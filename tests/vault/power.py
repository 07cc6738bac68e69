"""A disk with a cache that forgets: what may be left of a recorded run when the power goes at a given moment.

The rules are stricter than most file systems: bytes last only once their file is synced, names only once their folder
is. Of what was not synced, any part may be there: each write wholly, not at all, up to some byte, or with zeros from
some byte on; each new, changed or removed name, or not.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.disks import Call

LONG_AGO = 1_700_000_000
CHANGES = frozenset("write truncate rename rename_new exchange link unlink mkdir rmdir open".split())


@dataclass(eq=False)
class File:
    """Its bytes as programs see them, as they are safe, and the steps from one to the other: (offset, data)."""

    now: bytes = b""
    safe: bytes = b""
    steps: list[tuple[int, bytes | None]] = field(default_factory=list)

    def write(self, at: int, data: bytes) -> None:
        self.steps.append((at, data))
        self.now = self.now[:at].ljust(at, b"\0") + data + self.now[at + len(data) :]

    def truncate(self, size: int) -> None:
        self.steps.append((size, None))
        self.now = self.now[:size]

    def sync(self) -> None:
        self.safe, self.steps = self.now, []

    def after_loss(self, chance: random.Random) -> bytes:
        content = self.safe
        for offset, data in self.steps:
            content = _step(content, offset, data, chance)
        return content


def _step(content: bytes, offset: int, data: bytes | None, chance: random.Random) -> bytes:
    fate = chance.choice(("kept", "lost", "torn", "zeros"))
    if data is None:
        return content if fate == "lost" else content[:offset]
    if fate == "lost":
        return content
    cut = len(data) if fate == "kept" else chance.choice((0, len(data) // 2, chance.randrange(len(data) + 1)))
    data = data[:cut] + (bytes(len(data) - cut) if fate == "zeros" else b"")
    return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data) :]


@dataclass(eq=False)
class Folder:
    """Its names as programs see them, as they are safe, and the steps in between, each of which happens whole."""

    now: dict[str, Node] = field(default_factory=dict)
    safe: dict[str, Node] = field(default_factory=dict)
    steps: list[dict[str, Node | None]] = field(default_factory=list)

    def change(self, names: dict[str, Node | None]) -> None:
        self.steps.append(names)
        _rename(self.now, names)

    def sync(self) -> None:
        self.safe, self.steps = dict(self.now), []

    def after_loss(self, chance: random.Random) -> dict[str, Node]:
        names = dict(self.safe)
        in_order = chance.random() < 0.5
        kept = chance.randrange(len(self.steps) + 1)
        for number, step in enumerate(self.steps):
            if number < kept if in_order else chance.random() < 0.5:
                _rename(names, step)
        return names


Node = File | Folder


@dataclass(eq=False)
class Handle:
    """An open file or folder, and where it writes next: at the end if `at` is None."""

    node: Node
    at: int | None

    @property
    def file(self) -> File:
        assert isinstance(self.node, File)
        return self.node

    def write(self, data: bytes) -> None:
        self.file.write(len(self.file.now) if self.at is None else self.at, data)
        self.at = None if self.at is None else self.at + len(data)


def _rename(names: dict[str, Node], step: dict[str, Node | None]) -> None:
    for name, node in step.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Cache:
    """Everything below one folder, driven by recorded steps."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = _load(root)
        self._handles: dict[int, Handle] = {}

    def take(self, call: Call) -> None:
        """Follow one step."""
        match call.name:
            case "open":
                self._open(call)
            case "write":
                self._handles[call.fd].write(call.data)
            case "lseek":
                self._handles[call.fd].at = call.number
            case "truncate":
                self._handles[call.fd].file.truncate(call.number)
            case "fsync":
                self._handles[call.fd].node.sync()
            case "close":
                del self._handles[call.fd]
            case _:
                self._change_names(call)

    def _open(self, call: Call) -> None:
        assert call.path
        folder, name = self._place(call.path)
        if call.number & os.O_CREAT and name not in folder.now:
            folder.change({name: File()})
        handle = Handle(folder.now[name] if name else self._top, None if call.number & os.O_APPEND else 0)
        if call.number & os.O_TRUNC:
            handle.file.truncate(0)
        self._handles[call.result] = handle

    def _change_names(self, call: Call) -> None:
        assert call.path
        folder, name = self._place(call.path)
        if call.name == "mkdir":
            folder.change({name: Folder()})
        elif call.name in ("unlink", "rmdir"):
            folder.change({name: None})
        else:
            assert call.other
            other, target = self._place(call.other)
            node = folder.now[name]
            here: dict[str, Node | None] = {name: other.now[target] if call.name == "exchange" else None}
            if call.name == "link":
                other.change({target: node})
            elif other is folder:
                folder.change(here | {target: node})
            else:
                other.change({target: node})
                folder.change(here)

    def _place(self, path: Path) -> tuple[Folder, str]:
        *parents, name = path.relative_to(self._root).parts or ("",)
        folder = self._top
        for parent in parents:
            node = folder.now[parent]
            assert isinstance(node, Folder)
            folder = node
        return folder, name

    def lose(self, target: Path, chance: random.Random) -> None:
        """Write one state that the disk may be in when the power comes back."""
        _write(self._top, target, chance, {})


def _load(path: Path) -> Folder:
    names: dict[str, Node] = {}
    for each in path.iterdir() if path.exists() else ():
        names[each.name] = _load(each) if each.is_dir() else File(each.read_bytes(), each.read_bytes())
    return Folder(dict(names), dict(names))


def _write(node: Node, target: Path, chance: random.Random, written: dict[File, Path]) -> None:
    if isinstance(node, Folder):
        target.mkdir()
        for name, each in sorted(node.after_loss(chance).items()):
            _write(each, target / name, chance, written)
    elif node in written:
        target.hardlink_to(written[node])
    else:
        target.write_bytes(node.after_loss(chance))
        os.utime(target, (LONG_AGO, LONG_AGO))
        written[node] = target


class Forgetful(random.Random):
    """Chooses that everything unsynced is lost."""

    def choice(self, seq: Sequence[str]) -> str:  # type: ignore[override]
        return "lost" if "lost" in seq else seq[0]

    def random(self) -> float:
        return 1.0

    def randrange(self, *args: int) -> int:  # type: ignore[override]
        return 0


def moments(calls: Sequence[Call], promises: Sequence[int]) -> Iterator[int]:
    """How many steps have passed when a power cut is worth acting out: after each change, and at each promise."""
    for number, call in enumerate(calls, 1):
        if call.name in CHANGES or number in promises:
            yield number
