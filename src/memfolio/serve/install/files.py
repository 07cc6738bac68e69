"""Host settings files: checked before they are changed; JSON5 and TOML are edited in place."""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from memfolio.errors import ConflictError, MemfolioError
from memfolio.types import frozen
from memfolio.vault.disk import Disk, disk_errors

# The files of a host: read only where they may safely be changed, written in one step, with what was there beside.


class HostFileError(MemfolioError):
    """A host's file cannot be changed safely; nothing was changed."""

    code = "host-file"


@frozen
class FileChange:
    """The old and new content of a file, None for no file; `saved` is its backup."""

    path: Path
    old: bytes | None
    new: bytes | None
    saved: bytes | None

    @property
    def diff(self) -> str:
        """The change as people read it."""
        old, new = ((each or b"").decode("utf-8", "replace").splitlines() for each in (self.old, self.new))
        source, target = ("/dev/null" if each is None else str(self.path) for each in (self.old, self.new))
        return "\n".join(difflib.unified_diff(old, new, source, target, lineterm=""))


def backup_of(path: Path) -> Path:
    """Return the path of the backup of a file."""
    return path.with_name(f"{path.name}.memfolio-backup")


def read(path: Path, root: Path) -> bytes | None:
    """Return the bytes of a file that may be changed, None if it does not exist; no link below `root` is followed."""
    for place in (*(each for each in path.parents if each.is_relative_to(root) and each != root), path):
        if place.is_symlink():
            hint = f"it leads to {os.path.realpath(place)}: edit that by hand, or put the real one in its place"
            raise HostFileError(f"{place} is a link, which is not followed", hint=hint)
    with disk_errors(path.parent):
        data = Disk().read(path)
        if data is None and not os.path.lexists(path):
            return None
        info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode):
        raise HostFileError(f"{path} is not a file", hint="move it away, then try again")
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise HostFileError(f"{path} belongs to another user", hint="run this as the user who owns it")
    if not info.st_mode & stat.S_IWUSR:
        raise HostFileError(f"{path} is read-only", hint="make it writable, then try again")
    return data


def apply(changes: Sequence[FileChange], *, is_private: bool) -> None:
    """Make all changes or none; raises ConflictError if a file is not what a change was made for.

    With `is_private`, a new file is readable by its owner alone: hosts may store keys in it.
    """
    done: list[FileChange] = []
    try:
        for change in changes:
            with disk_errors(change.path.parent):
                # Another install may have done the same meanwhile, and must not be undone by what fails here.
                if (found := Disk().read(change.path)) != change.new:
                    _make(change, found, is_private=is_private)
                    done.append(change)
    except MemfolioError:
        for change in done:
            with disk_errors(change.path.parent):
                _put(change.path, change.old)
        raise
    for change in changes:
        if change.saved is None:
            Disk().discard(backup_of(change.path))


def _make(change: FileChange, found: bytes | None, *, is_private: bool) -> None:
    if found != change.old:
        raise ConflictError(f"{change.path} was changed by somebody else", hint="end the host, then try again")
    if change.saved is not None:
        _put(backup_of(change.path), change.saved, is_private=True)
    _put(change.path, change.new, is_private=is_private)


def _put(path: Path, data: bytes | None, *, is_private: bool = False) -> None:
    disk = Disk()
    disk.private = path.parent if is_private else None
    if data is None:
        disk.remove(path)
    else:
        disk.put(path, data)


# JSON that a person may have written: parts are put in and taken out, and all other characters stay as they are.
#
# Comments, trailing commas, single quotes and bare keys are understood, because some hosts allow them.

Ours = Callable[[tuple[str, ...], Any], bool]
"""Decides whether the value at a path is ours; list elements have no name of their own in it."""
Renewed = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
"""Returns what has to change in our part, by key."""
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LINE_END = re.compile(r"[ \t]*\r?\n")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + r"'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_READER = json.JSONDecoder(strict=False)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_SCALAR = re.compile(
    r"(?:true|false|null|[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN))(?![\w.$+-])"
)


@dataclass(slots=True)
class JsonNode:
    """A value, or a member with its key, and its position; only objects and lists have items."""

    start: int
    """The start of its key, or of the value if it has none."""
    body: int
    end: int
    plain: Any
    """Its value as Python data; numbers and the like as written."""
    key: str = ""
    items: list[JsonNode] = field(default_factory=list)
    comma: int | None = None

    @property
    def after(self) -> int:
        """The end, including the comma after it."""
        return self.end if self.comma is None else self.comma + 1


@lru_cache(maxsize=4)
def scan(text: str) -> JsonNode:
    """Parse a text into a tree; ValueError names the line that is invalid."""
    try:
        root = _value(text, _blank(text, 0))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if _blank(text, root.end) != len(text):
        raise _wrong(text, _blank(text, root.end))
    return root


def _blank(text: str, at: int) -> int:
    """Return the end of the blanks and comments that begin here."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, at) + 1} cannot be understood")


def _value(text: str, at: int) -> JsonNode:
    if text[at : at + 1] in ("{", "["):
        return _container(text, at)
    if found := _STRING.match(text, at):
        return JsonNode(at, at, found.end(), _unquoted(text, found))
    if found := _SCALAR.match(text, at):
        return JsonNode(at, at, found.end(), found[0])
    raise _wrong(text, at)


def _unquoted(text: str, found: re.Match[str]) -> str:
    inner = found[0][1:-1]
    if found[0][0] == "'":
        inner = inner.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(_READER.decode(f'"{inner}"'))
    except ValueError as error:
        raise _wrong(text, found.start()) from error


def _container(text: str, start: int) -> JsonNode:
    is_object, items, at = text[start] == "{", list[JsonNode](), _blank(text, start + 1)
    while text[at : at + 1] != ("}" if is_object else "]"):
        if items and items[-1].comma is None:
            raise _wrong(text, at)
        item = _member(text, at) if is_object else _value(text, at)
        items.append(item)
        at = _blank(text, item.end)
        if text[at : at + 1] == ",":
            item.comma, at = at, _blank(text, at + 1)
    plain = {each.key: each.plain for each in items} if is_object else [each.plain for each in items]
    return JsonNode(start, start, at + 1, plain, items=items)


def _member(text: str, at: int) -> JsonNode:
    quoted = _STRING.match(text, at)
    found = quoted or _NAME.match(text, at)
    colon = _blank(text, found.end()) if found else at
    if found is None or text[colon : colon + 1] != ":":
        raise _wrong(text, at)
    node = _value(text, _blank(text, colon + 1))
    node.start, node.key = at, _unquoted(text, quoted) if quoted else found[0]
    return node


def without_json(text: str, ours: Ours) -> str:
    """Return the text without our parts, and without objects and lists that become empty."""
    draft = TextEdit(text=text, ours=ours)
    draft.cut(scan(text), ())
    return draft.done()


def merged_json(text: str, wanted: dict[str, Any], ours: Ours, renewed: Renewed) -> str:
    """Return the text with the wanted parts: missing ones are added, ours are updated in place.

    Raises ValueError if another kind of value is in the way.
    """
    if not text.strip():
        return _json(wanted, "  ") + "\n"
    draft = TextEdit(text=text, ours=ours, renewed=renewed)
    draft.merge(scan(text), wanted, ())
    return draft.done()


@dataclass(slots=True, kw_only=True)
class TextEdit:
    """A text, and the replacements to make in it."""

    text: str
    ours: Ours
    renewed: Renewed = lambda had, wanted: {}
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def done(self) -> str:
        pieces, last = list[str](), 0
        for start, end, piece in sorted(self.edits, key=lambda each: each[:2]):
            pieces += [self.text[last:start], piece]
            last = end
        return "".join([*pieces, self.text[last:]])

    def cut(self, node: JsonNode, path: tuple[str, ...]) -> None:
        """Remove our parts from an object or a list."""
        gone, stay = list[JsonNode](), list[JsonNode]()
        for each in node.items:
            (gone if self._is_all_ours(each, (*path, each.key)) else stay).append(each)
        for each in stay:
            self.cut(each, (*path, each.key))
        if gone and not stay and not self._has_notes(node):
            self.edits.append((node.body + 1, node.end - 1, ""))
            return
        self.edits += [(self._beginning(each), each.after, "") for each in gone]
        if gone and stay and gone[-1] is node.items[-1] and gone[-1].comma is None and stay[-1].comma is not None:
            self.edits.append((stay[-1].comma, stay[-1].comma + 1, ""))

    def _is_all_ours(self, node: JsonNode, path: tuple[str, ...]) -> bool:
        """Whether nothing in it is somebody else's; a comment is, but not in a group of hooks, nor what else it has."""
        if self.ours(path, node.plain):
            return True
        inner = [each for each in node.items if each.key == "hooks"] or node.items
        has_others = not inner or not all(self._is_all_ours(each, (*path, each.key)) for each in inner)
        return not has_others and ("" in path or not self._has_notes(node))

    def _has_notes(self, node: JsonNode) -> bool:
        """Whether there are comments between the items."""
        ends, starts = [node.body + 1, *(each.after for each in node.items)], [each.start for each in node.items]
        return any(self.text[end:start].strip() for end, start in zip(ends, [*starts, node.end - 1], strict=True))

    def _beginning(self, item: JsonNode) -> int:
        """From where an item is cut out: with the blanks before it, but for a line end that a comment may need."""
        begin = self._behind(item.start)
        is_needed = "\n" in self.text[begin : item.start] and not _LINE_END.match(self.text, item.after)
        return item.start if is_needed else begin

    def _behind(self, at: int) -> int:
        """Return the start of the blanks before a position."""
        return len(self.text[:at].rstrip())

    def merge(self, node: JsonNode, wanted: Any, path: tuple[str, ...]) -> None:
        """Merge the wanted values into an object or a list."""
        if type(node.plain) is not type(wanted):
            kind = "an object" if isinstance(wanted, dict) else "a list"
            raise ValueError(f"{path[-1] if path else 'it'} is not {kind}")
        if self.ours(path, node.plain):
            new = self.renewed(node.plain, wanted)
            self.edits += [(each.body, each.end, _json(new[each.key])) for each in node.items if each.key in new]
        elif isinstance(wanted, list):
            mine = [each for each in node.items if self._has_ours(each, (*path, ""))]
            for each in mine:
                self.merge(each, wanted[0], (*path, ""))
            self._add(node, [] if mine else [("", each) for each in wanted])
        else:
            self._merge_object(node, wanted, path)

    def _merge_object(self, node: JsonNode, wanted: dict[str, Any], path: tuple[str, ...]) -> None:
        there = {each.key: each for each in node.items}
        for key, value in wanted.items():
            if key in there and isinstance(value, dict | list):
                self.merge(there[key], value, (*path, key))
        if "" not in path:  # what a group of hooks lacks, the person has taken away
            self._add(node, [(f"{_json(key)}: ", value) for key, value in wanted.items() if key not in there])

    def _has_ours(self, node: JsonNode, path: tuple[str, ...]) -> bool:
        return self.ours(path, node.plain) or any(self._has_ours(each, (*path, each.key)) for each in node.items)

    def _add(self, node: JsonNode, new: list[tuple[str, Any]]) -> None:
        """Add items to an object or a list: behind the others, each on a line of its own."""
        if not new:
            return
        text, last = self.text, node.items[-1] if node.items else None
        newline, unit, base = "\r\n" if "\r\n" in text else "\n", _unit(text), _indent(text, node.body)
        lead = newline + (_indent(text, last.start) if last and "\n" in text[node.body : last.start] else base + unit)
        shown = [lead + key + _json(each, unit).replace("\n", lead) for key, each in new]
        at = self._behind(node.end - 1)
        if last and last.comma is None:
            self.edits.append((last.end, last.end, ","))
        comma = "," if last and last.comma is not None else ""
        close = "" if "\n" in text[at : node.end] else newline + base
        self.edits.append((at, at, ",".join(shown) + comma + close))


def _json(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _indent(text: str, at: int) -> str:
    """The blanks with which the line of a place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """The blanks by which the text is indented for each level."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


# One table of a TOML file that a person may have written: put at the end, renewed, taken out, all else as it is.

NOTE = "# Written by memfolio install; memfolio uninstall takes it away."
# Behind the heading come lines with keys; blanks and comments only where a key follows, else they are of what follows.
_KEYS = r"[^\n]*(?:\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?![#\[\s])[^\n]*)*\n?"


def merged_toml(text: str, name: str, values: Mapping[str, object]) -> str:
    """Return the text with a table of this name appended; raises ValueError if something is in the way."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = ("" if text.endswith("\n") else newline) + newline if text else ""
    shown = (f"{key} = {_toml_value(each)}" for key, each in values.items())
    whole = text + gap + "".join(line + newline for line in (NOTE, f"[{name}]", *shown))
    if _fewer(whole, name) != _fewer(text, name):
        raise ValueError(f"[{name}] does not fit in")
    return whole


def renewed(text: str, name: str, values: Mapping[str, object]) -> str:
    """The text with other values for some keys of the table of this name; raises ValueError as `without` does."""
    whole, said, (parent, _, last) = text, tomllib.loads(text), name.partition(".")
    for key, each in values.items():
        before = rf"{_header(name)}\](?:(?!^[ \t]*\[).)*?^[ \t]*{key}[ \t]*=[ \t]*"
        if found := re.search(rf"(?ms)({before})(?:\[[^\]]*\]|[^\r\n]*)", whole):
            whole = whole[: found.end(1)] + _toml_value(each) + whole[found.end() :]
        said[parent][last][key] = each
    return _safe(whole, said, name)


def with_settings(text: str, values: Mapping[str, str]) -> str:
    """The text with these values under dotted names, where they stand or are commented out, else above all tables.

    Raises ValueError where that would change anything else.
    """
    whole, wanted = text, tomllib.loads(text)
    for name, value in values.items():
        table, _, key = name.partition(".")
        inside = re.search(rf"(?m)^[ \t]*\[[ \t]*{table}[ \t]*\][^\n]*\n", whole)
        if inside:
            rest, line = whole[inside.end() :], f'{key} = "{value}"'
            part = rest[: found.start()] if (found := re.search(r"(?m)^[ \t]*\[", rest)) else rest
            new, count = re.subn(rf"(?m)^[ \t]*{key}[ \t]*=[^\n]*$", line, part, count=1)
            whole = whole[: inside.end()] + (new if count else f"{line}\n{part}") + rest[len(part) :]
        else:
            line = f'{name} = "{value}"'
            new, count = re.subn(rf"(?m)^(?:#[ \t]*)?{re.escape(name)}[ \t]*=[^\n]*$", line, whole, count=1)
            whole = new if count else f"{line}\n{whole}"
        wanted.setdefault(table, {})[key] = value
    if tomllib.loads(whole) != wanted:
        raise ValueError("it would say something else")
    return whole


def without_toml(text: str, name: str) -> str:
    """Return the text without the table of this name, those below it, and our note with the blank line above it.

    Raises ValueError if it cannot be edited safely.
    """
    header = rf"{_header(name)}(?:\.[^\]\n]*)?\]"
    rest = re.sub(rf"(?:^\r?\n)?^{re.escape(NOTE)}\r?\n(?={header})|{header}{_KEYS}", "", text, flags=re.MULTILINE)
    return _safe(rest, _fewer(text, name), name)


def _header(name: str) -> str:
    return rf"^[ \t]*\[[ \t]*{re.escape(name)}"


def _toml_value(value: object) -> str:
    """JSON writes texts, numbers and lists of them as TOML does, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _safe(text: str, said: dict[str, Any], name: str) -> str:
    """The text, which must say this."""
    try:
        is_safe = tomllib.loads(text) == said
    except tomllib.TOMLDecodeError:
        is_safe = False
    if not is_safe:
        raise ValueError(f"{name} is not written as a table of its own")
    return text


def _fewer(text: str, name: str) -> dict[str, Any]:
    """Return what a text says without one table; an implicit parent goes with it."""
    said = tomllib.loads(text)
    parent, _, last = name.partition(".")
    tables = said.get(parent)
    if isinstance(tables, dict) and tables.pop(last, None) is not None and not tables and f"[{parent}]" not in text:
        del said[parent]
    return said
