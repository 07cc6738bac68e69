"""What is asked of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from memfolio.llm.provider import Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """Whom to ask, what to do (`instructions`), with which fenced material, and the type of the answer."""

    endpoint: Endpoint
    instructions: str
    material: str
    answer: type[T]
