"""JSON that a person may have written: parts are put in and taken out, and all other characters stay as they are.

Comments, trailing commas, single quotes and bare keys are understood, because some hosts allow them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Ours = Callable[[tuple[str, ...], Any], bool]
"""Whether what stands at a path is ours; elements of lists have no name of their own in it."""
Renewed = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
"""What has to change in a part of ours, by its key, for it to do what is wanted."""
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LINE_END = re.compile(r"[ \t]*\r?\n")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + r"'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_READER = json.JSONDecoder(strict=False)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_SCALAR = re.compile(
    r"(?:true|false|null|[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN))(?![\w.$+-])"
)


@dataclass(slots=True)
class Node:
    """A value, as a member with its key, and where it stands; only objects and lists have items."""

    start: int
    """Where its key begins, or the value itself where there is none."""
    body: int
    end: int
    plain: Any
    """What it says; numbers and the like as they are written."""
    key: str = ""
    items: list[Node] = field(default_factory=list)
    comma: int | None = None

    @property
    def after(self) -> int:
        """Where it ends, with the comma behind it."""
        return self.end if self.comma is None else self.comma + 1


@lru_cache(maxsize=4)
def scan(text: str) -> Node:
    """The tree of a text, which nobody changes; raises ValueError, with the line, where it is none."""
    try:
        root = _value(text, _blank(text, 0))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if _blank(text, root.end) != len(text):
        raise _wrong(text, _blank(text, root.end))
    return root


def _blank(text: str, at: int) -> int:
    """Where the blanks and comments end that begin here."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, at) + 1} cannot be understood")


def _value(text: str, at: int) -> Node:
    if text[at : at + 1] in ("{", "["):
        return _container(text, at)
    if found := _STRING.match(text, at):
        return Node(at, at, found.end(), _unquoted(text, found))
    if found := _SCALAR.match(text, at):
        return Node(at, at, found.end(), found[0])
    raise _wrong(text, at)


def _unquoted(text: str, found: re.Match[str]) -> str:
    inner = found[0][1:-1]
    if found[0][0] == "'":
        inner = inner.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(_READER.decode(f'"{inner}"'))
    except ValueError as error:
        raise _wrong(text, found.start()) from error


def _container(text: str, start: int) -> Node:
    is_object, items, at = text[start] == "{", list[Node](), _blank(text, start + 1)
    while text[at : at + 1] != ("}" if is_object else "]"):
        if items and items[-1].comma is None:
            raise _wrong(text, at)
        item = _member(text, at) if is_object else _value(text, at)
        items.append(item)
        at = _blank(text, item.end)
        if text[at : at + 1] == ",":
            item.comma, at = at, _blank(text, at + 1)
    plain = {each.key: each.plain for each in items} if is_object else [each.plain for each in items]
    return Node(start, start, at + 1, plain, items=items)


def _member(text: str, at: int) -> Node:
    quoted = _STRING.match(text, at)
    found = quoted or _NAME.match(text, at)
    colon = _blank(text, found.end()) if found else at
    if found is None or text[colon : colon + 1] != ":":
        raise _wrong(text, at)
    node = _value(text, _blank(text, colon + 1))
    node.start, node.key = at, _unquoted(text, quoted) if quoted else found[0]
    return node


def without(text: str, ours: Ours) -> str:
    """The text without what is ours, and without objects and lists that have nothing else in them."""
    draft = Draft(text=text, ours=ours)
    draft.cut(scan(text), ())
    return draft.done()


def merged(text: str, wanted: dict[str, Any], ours: Ours, renewed: Renewed) -> str:
    """The text with what is wanted: what is missing is added, what is ours already is renewed where it stands.

    Raises ValueError where something of another kind stands in the way.
    """
    if not text.strip():
        return _json(wanted, "  ") + "\n"
    draft = Draft(text=text, ours=ours, renewed=renewed)
    draft.merge(scan(text), wanted, ())
    return draft.done()


@dataclass(slots=True, kw_only=True)
class Draft:
    """A text, and what is to be written in place of some of its characters."""

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

    def cut(self, node: Node, path: tuple[str, ...]) -> None:
        """Take out of an object or a list what is ours."""
        gone, stay = list[Node](), list[Node]()
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

    def _is_all_ours(self, node: Node, path: tuple[str, ...]) -> bool:
        """Whether nothing in it is somebody else's; a comment is, but not in a group of hooks, nor what else it has."""
        if self.ours(path, node.plain):
            return True
        inner = [each for each in node.items if each.key == "hooks"] or node.items
        has_others = not inner or not all(self._is_all_ours(each, (*path, each.key)) for each in inner)
        return not has_others and ("" in path or not self._has_notes(node))

    def _has_notes(self, node: Node) -> bool:
        """Whether comments stand between the items."""
        ends, starts = [node.body + 1, *(each.after for each in node.items)], [each.start for each in node.items]
        return any(self.text[end:start].strip() for end, start in zip(ends, [*starts, node.end - 1], strict=True))

    def _beginning(self, item: Node) -> int:
        """From where an item is cut out: with the blanks before it, but for a line end that a comment may need."""
        begin = self._behind(item.start)
        is_needed = "\n" in self.text[begin : item.start] and not _LINE_END.match(self.text, item.after)
        return item.start if is_needed else begin

    def _behind(self, at: int) -> int:
        """Where the blanks before a place begin."""
        return len(self.text[:at].rstrip())

    def merge(self, node: Node, wanted: Any, path: tuple[str, ...]) -> None:
        """Put into an object or a list what is wanted there."""
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

    def _merge_object(self, node: Node, wanted: dict[str, Any], path: tuple[str, ...]) -> None:
        there = {each.key: each for each in node.items}
        for key, value in wanted.items():
            if key in there and isinstance(value, dict | list):
                self.merge(there[key], value, (*path, key))
        if "" not in path:  # what a group of hooks lacks, the person has taken away
            self._add(node, [(f"{_json(key)}: ", value) for key, value in wanted.items() if key not in there])

    def _has_ours(self, node: Node, path: tuple[str, ...]) -> bool:
        return self.ours(path, node.plain) or any(self._has_ours(each, (*path, each.key)) for each in node.items)

    def _add(self, node: Node, new: list[tuple[str, Any]]) -> None:
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
