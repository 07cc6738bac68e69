"""One table of a TOML file that a person may have written: put at the end, renewed, taken out, all else as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

NOTE = "# Written by memfolio install; memfolio uninstall takes it away."
# Behind the heading come lines with keys; blanks and comments only where a key follows, else they are of what follows.
_KEYS = r"[^\n]*(?:\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?![#\[\s])[^\n]*)*\n?"


def merged(text: str, name: str, values: Mapping[str, object]) -> str:
    """The text with a table of this name at its end; raises ValueError where something stands in the way."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = ("" if text.endswith("\n") else newline) + newline if text else ""
    shown = (f"{key} = {_value(each)}" for key, each in values.items())
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
            whole = whole[: found.end(1)] + _value(each) + whole[found.end() :]
        said[parent][last][key] = each
    return _safe(whole, said, name)


def without(text: str, name: str) -> str:
    """The text without the table of this name, those below it, and our note with the blank line above it.

    Raises ValueError where it is written in a way that cannot be edited safely.
    """
    header = rf"{_header(name)}(?:\.[^\]\n]*)?\]"
    rest = re.sub(rf"(?:^\r?\n)?^{re.escape(NOTE)}\r?\n(?={header})|{header}{_KEYS}", "", text, flags=re.MULTILINE)
    return _safe(rest, _fewer(text, name), name)


def _header(name: str) -> str:
    return rf"^[ \t]*\[[ \t]*{re.escape(name)}"


def _value(value: object) -> str:
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
    """What a text says beside one table; a parent that only this one made is not there either."""
    said = tomllib.loads(text)
    parent, _, last = name.partition(".")
    tables = said.get(parent)
    if isinstance(tables, dict) and tables.pop(last, None) is not None and not tables and f"[{parent}]" not in text:
        del said[parent]
    return said
