"""What the arguments of tools mean, in a few words for whoever calls them."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ARGUMENTS = Path(__file__).parent / "data" / "arguments.toml"


def words_for(tool: str, argument: str) -> str:
    """What an argument of a tool means; empty where nobody said."""
    told = _told()
    return str(told["tool"].get(tool, {}).get(argument) or told.get(argument, ""))


@cache
def _told() -> dict[str, Any]:
    return tomllib.loads(ARGUMENTS.read_text("utf-8"))
