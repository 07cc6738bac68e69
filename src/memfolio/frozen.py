"""The form of all values that are passed around: named fields that are set once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """A dataclass that is frozen, has slots, and is made with keyword arguments only."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
