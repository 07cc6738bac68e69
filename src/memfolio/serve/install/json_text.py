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
    """The text without what is ours, and without objects and lists that this leaves empty."""
    cuts: list[tuple[int, int]] = []
    _cut(text, scan(text), (), ours, cuts)
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _cut(text: str, node: Node, path: tuple[str, ...], ours: Ours, cuts: list[tuple[int, int]]) -> list[Node]:
    """Note what is to be cut out of an object or a list; returns the items that stay."""
    stay, gone = [], []
    for item in node.items:
        here, inner = (*path, item.key), list[tuple[int, int]]()
        left = _cut(text, item, here, ours, inner) if item.items else [item]
        # A comment keeps an empty object or list, but not a group of hooks.
        is_empty = not left and ("" in here or not _has_notes(text, item))
        if ours(here, item.plain) or is_empty or _is_idle(item, left):
            gone.append(item)
        else:
            stay.append(item)
            cuts += inner
    if gone and not stay and not _has_notes(text, node):
        cuts.append((node.body + 1, node.end - 1))
    else:
        cuts += [(_beginning(text, each), each.after) for each in gone]
    if gone and stay and gone[-1] is node.items[-1] and gone[-1].comma is None and stay[-1].comma is not None:
        cuts.append((stay[-1].comma, stay[-1].comma + 1))
    return stay


def _has_notes(text: str, node: Node) -> bool:
    """Whether comments stand between the items."""
    ends, starts = [node.body + 1, *(each.after for each in node.items)], [each.start for each in node.items]
    return any(text[end:start].strip() for end, start in zip(ends, [*starts, node.end - 1], strict=True))


def _is_idle(item: Node, left: list[Node]) -> bool:
    """Whether a group of hooks has lost all its hooks, so that the rest of it means nothing to its host."""
    had, has = ({each.key for each in items} for items in (item.items, left))
    return not item.key and "hooks" in had - has


def _beginning(text: str, item: Node) -> int:
    """From where an item is cut out: with the blanks before it, but for a line end that a comment may need."""
    begin = _behind(text, item.start)
    return item.start if "\n" in text[begin : item.start] and not _LINE_END.match(text, item.after) else begin


def _behind(text: str, at: int) -> int:
    """Where the blanks before a place begin."""
    while at and text[at - 1].isspace():
        at -= 1
    return at


def merged(text: str, wanted: dict[str, Any]) -> str:
    """The text with what is wanted: missing members are added, elements are appended to lists that are there.

    Raises ValueError where something of another kind stands in the way.
    """
    if not text.strip():
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    added: list[tuple[int, str]] = []
    _merge(text, scan(text), wanted, "it", added)
    pieces, last = [], 0
    for at, piece in sorted(added, key=lambda each: each[0]):
        pieces += [text[last:at], piece]
        last = at
    return "".join([*pieces, text[last:]])


def _merge(text: str, node: Node, wanted: Any, name: str, added: list[tuple[int, str]]) -> None:
    if type(node.plain) is not type(wanted):
        raise ValueError(f"{name} is not {'an object' if isinstance(wanted, dict) else 'a list'}")
    if isinstance(wanted, list):
        _add(text, node, [("", each) for each in wanted], added)
        return
    there = {item.key: item for item in node.items}
    for key, value in wanted.items():
        if key in there and isinstance(value, dict | list):
            _merge(text, there[key], value, key, added)
    new = [(f"{json.dumps(key)}: ", value) for key, value in wanted.items() if key not in there]
    _add(text, node, new, added)


def _add(text: str, node: Node, new: list[tuple[str, Any]], added: list[tuple[int, str]]) -> None:
    """Note where new items of an object or a list go: behind the others, each on a line of its own."""
    if not new:
        return
    newline, unit = "\r\n" if "\r\n" in text else "\n", _unit(text)
    last, base = node.items[-1] if node.items else None, _indent(text, node.body)
    lead = newline + (_indent(text, last.start) if last and "\n" in text[node.body : last.start] else base + unit)
    shown = [lead + key + json.dumps(each, indent=unit, ensure_ascii=False).replace("\n", lead) for key, each in new]
    at = _behind(text, node.end - 1)
    if last and last.comma is None:
        added.append((last.end, ","))
    comma = "," if last and last.comma is not None else ""
    close = "" if "\n" in text[at : node.end] else newline + base
    added.append((at, ",".join(shown) + comma + close))


def _indent(text: str, at: int) -> str:
    """The blanks with which the line of a place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """The blanks by which the text is indented for each level."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
