"""What a model answered, made harmless: it goes into files that people read, so every text in it is plain and short."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from memfolio.llm.fence import plain

T = TypeVar("T")

MAX_TEXT = 8_000
"""Characters that one text in an answer keeps."""
MAX_ITEMS = 200
"""Values that one list in an answer keeps."""


def cleaned(value: T) -> T:
    """The same value with every text in it stripped of what cannot be seen and cut to a length, every list too."""
    result: Any = value
    if isinstance(value, str):
        result = plain(value).strip()[:MAX_TEXT]
    elif isinstance(value, list | tuple):
        result = type(value)(cleaned(each) for each in value[:MAX_ITEMS])
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{each.name: cleaned(getattr(value, each.name)) for each in fields(value)})
    kept: T = result
    return kept
