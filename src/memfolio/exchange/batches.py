"""Many things in batches, of which each is one change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(things: Iterable[T], size: int, weight: int, weigh: Callable[[T], int]) -> Iterator[tuple[T, ...]]:
    """At most `size` things at a time, that together weigh about `weight` at most."""
    batch, load = list[T](), 0
    for each in things:
        batch.append(each)
        load += weigh(each)
        if len(batch) >= size or load > weight:
            yield tuple(batch)
            batch, load = [], 0
    if batch:
        yield tuple(batch)
