"""Tools as the protocol lists them."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from memfolio.serve.tools.sets import ONCE, OUTSIDE, READING, REMOVING
from memfolio.serve.tools.tool import Tool

PROPOSED = {
    "type": "object",
    "properties": {"proposed": {"type": "string"}, "policy": {"type": "string"}, "hint": {"type": "string"}},
    "required": ["proposed", "policy", "hint"],
}
"""What a writing tool answers where the policy of the home wants somebody's leave."""


def described(tool: Tool) -> types.Tool:
    """A tool with its schemas, and what it does to the memory."""
    is_reading = tool.name in READING
    hints = types.ToolAnnotations(
        read_only_hint=is_reading,
        destructive_hint=tool.name in REMOVING,
        idempotent_hint=is_reading or tool.name in ONCE,
        open_world_hint=tool.name in OUTSIDE,
    )
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=_output(tool.output if is_reading else _or_proposed(tool.output)),
        annotations=hints,
    )


def _or_proposed(shape: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [shape, PROPOSED]} if shape else {}


def _output(shape: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"notice": {"type": "string"}, "result": shape}, "required": ["result"]}
