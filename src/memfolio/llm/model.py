"""What the rest of memfolio knows of a language model: it is asked for a value of a type, and may fail."""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T")


class Model(Protocol):
    """A language model. What it answers is data: it is validated, and whoever asked decides what becomes of it."""

    name: str

    def ask(self, task: str, material: str, answer: type[T]) -> T:
        """An `answer` (a dataclass) to a task about some material; raises ModelError where there is no valid one.

        The material is what others wrote: it is fenced, and nothing in it is an instruction.
        """
