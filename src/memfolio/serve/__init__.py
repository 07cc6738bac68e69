"""Surfaces: how people and other programs reach a memory. They are thin; what they can do is in the rooms below."""

from __future__ import annotations


def text_of(name: str) -> str:
    """A text of this package's `data` folder: an instruction for agents, or the template of a file."""
    from pathlib import Path  # here, because a hook has no time for it

    return (Path(__file__).parent / "data" / name).read_text(encoding="utf-8").rstrip("\n")
