"""Sketches: two bits for each number of a vector, enough to tell which vectors are worth a closer look.

One bit says that the number is well above zero, the other that it is well below. A question's numbers are weighed from
0 to 3, so that to compare it with a sketch is to count the bits that differ, those of heavier numbers more than once.
A sketch depends on nothing but its vector, so the same vectors bring the same choice in whatever order they came.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

WORD = 64
MOST = 1024
"""The numbers a sketch has at most; those of longer vectors are folded onto these."""
STANDS_OUT = 0.36
"""The part of the mean square that the square of a number must exceed to count as not zero."""
HEAVIEST = 3
LOUD = 2.25
"""How many times the root mean square a number of the question has that weighs most."""


class Aim(NamedTuple):
    """A question in the form of a sketch: the bits that fit it, and which of them count twice and once."""

    fitting: Words
    twice: Words
    once: Words


def width(dimension: int) -> int:
    """How many words of 64 bits a sketch has."""
    return 2 * -(-min(dimension, MOST) // WORD)


def sketches(packed: NDArray[np.int8]) -> Words:
    """The sketches of vectors, one a row; that of a vector of zeros, and no other, has no bit."""
    numbers = _folded(packed.astype(np.float64))
    squares = np.square(numbers)
    stands_out = squares > STANDS_OUT * squares.sum(axis=1, keepdims=True) / max(numbers.shape[1], 1)
    return np.concatenate([_bits(stands_out & (numbers > 0)), _bits(stands_out & (numbers < 0))], axis=1)


def aim_of(direction: NDArray[np.float64]) -> Aim:
    """What a question's direction looks for in sketches."""
    numbers = _folded(direction[None, :])
    heaviest = max(LOUD * float(np.sqrt(np.square(numbers).mean())), 1e-9)
    weights = np.rint(np.minimum(np.abs(numbers) / heaviest, 1) * HEAVIEST).astype(np.uint8)
    above = _bits(numbers > 0)
    return Aim(
        fitting=np.concatenate([above, ~above], axis=1)[0],
        twice=np.tile(_bits(weights & 2 > 0), 2)[0],
        once=np.tile(_bits(weights & 1 > 0), 2)[0],
    )


def distances(columns: Words, aim: Aim) -> NDArray[np.uint16]:
    """How far the sketches, which lie in columns, are from what is looked for."""
    size = columns.shape[1]
    differing, counted, bits = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint8)
    twice, once = np.zeros(size, np.uint16), np.zeros(size, np.uint16)
    for column, fitting, heavy, light in zip(columns, aim.fitting, aim.twice, aim.once, strict=True):
        np.bitwise_xor(column, fitting, out=differing)
        twice += np.bitwise_count(np.bitwise_and(differing, heavy, out=counted), out=bits)
        once += np.bitwise_count(np.bitwise_and(differing, light, out=counted), out=bits)
    return 2 * twice + once


def _folded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of at most `MOST` numbers: what is longer is laid upon itself and added up."""
    rows, length = numbers.shape
    if length <= MOST:
        return numbers
    layers = -(-length // MOST)
    padded = np.zeros((rows, layers * MOST))
    padded[:, :length] = numbers
    added: NDArray[np.float64] = padded.reshape(rows, layers, MOST).sum(axis=1)
    return added


def _bits(flags: NDArray[np.bool_]) -> Words:
    rows, length = flags.shape
    padded = np.zeros((rows, -(-length // WORD) * WORD), np.bool_)
    padded[:, :length] = flags
    return np.packbits(padded, axis=1).view(np.uint64)
