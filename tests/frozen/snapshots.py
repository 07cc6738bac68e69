"""The snapshots beside this file: how each is made, written and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.frozen import home, life, structure

FOLDER = Path(__file__).parent
WIDTH = 118
SNAPSHOTS: Mapping[str, Callable[[], Any]] = {
    "answers": life.shapes,
    "commands": structure.commands,
    "errors": structure.failures,
    "home-0.1": home.asked,
    "http": structure.routes,
    "python": structure.names,
    "settings": structure.settings,
    "tools": structure.tools,
}


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def kept(name: str) -> Any:
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def keep(name: str, value: Any) -> None:
    path_of(name).write_text(text_of(value) + "\n", encoding="utf-8")


def text_of(value: Any, indent: str = "", before: int = 0) -> str:
    """JSON with sorted keys, where whatever fits into a line stands in one; `before` is what stands there already."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(indent) + before + len(line) < WIDTH or not isinstance(value, dict | list) or not value:
        return line
    deeper = f"{indent} "
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + text_of(each, deeper) for each in value) + f"\n{indent}]"
    named = [(f"{json.dumps(name, ensure_ascii=False)}: ", value[name]) for name in sorted(value)]
    inner = (f"{deeper}{name}{text_of(each, deeper, len(name))}" for name, each in named)
    return "{\n" + ",\n".join(inner) + f"\n{indent}}}"


def plain(value: Any) -> Any:
    """A value as it comes back from its file."""
    return json.loads(json.dumps(value))


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Each entry in which two snapshots differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            place = f"{path} › {name}" if path else name
            if name not in after:
                yield f"- {place}: {json.dumps(before[name])}"
            elif name not in before:
                yield f"+ {place}: {json.dumps(after[name])}"
            else:
                yield from differences(before[name], after[name], place)
    elif isinstance(before, list) and isinstance(after, list) and {*map(str, before)} != {*map(str, after)}:
        yield from (f"- {path}: {json.dumps(each)}" for each in before if each not in after)
        yield from (f"+ {path}: {json.dumps(each)}" for each in after if each not in before)
    elif before != after:
        yield f"- {path}: {json.dumps(before)}"
        yield f"+ {path}: {json.dumps(after)}"
