"""Three-way merges of lines and of blocks, and differences for people to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memfolio.errors import DiskError
from memfolio.vault.git.repository import hunks_between, spans_between
from memfolio.vault.lines import text_of
from memfolio.vault.reconcile import blocks_of


@dataclass(frozen=True, slots=True)
class Hunk:
    """A change: `base[lo:hi]` becomes `lines`."""

    lo: int
    hi: int
    lines: tuple[str, ...]

    @property
    def is_insertion(self) -> bool:
        return self.lo == self.hi


def merge_text(base: str, ours: str, theirs: str) -> str | None:
    """Both sides' changes of `base`, line by line, or None where they overlap.

    Insertions at the same place overlap unless they are equal; changes that merely touch do not.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    merged = merge_blocks(_lines(base), _lines(ours), _lines(theirs))
    if merged is None or not all(line.endswith("\n") for line in merged[:-1]):
        return None  # a line that lost its line end would run into the next one
    return "".join(merged)


def merge_blocks(
    base: list[str], ours: list[str], theirs: list[str], order: Callable[[str], object] | None = None
) -> list[str] | None:
    """Both sides' changes of a list of opaque blocks, or None where they overlap.

    With `order`, whose keys must compare with each other, each block stands for itself: insertions at the same place
    are interleaved by key, and deletions never overlap with each other or with insertions.
    """
    if ours == theirs or theirs == base:
        return list(ours)
    if ours == base:
        return list(theirs)
    changes = _pair(_hunks(base, ours, apart=order is not None), _hunks(base, theirs, apart=order is not None), order)
    return None if changes is None else _apply(base, changes)


def ledger_blocks(path: str, content: bytes | None) -> list[str]:
    """A ledger in pieces such that an appended entry is a piece of its own, with the blank line before it."""
    pieces: list[str] = []
    carried = ""
    for _, text in blocks_of(path, content or b""):
        body = text.rstrip("\n")
        pieces.append(carried + body + text[len(body) : len(body) + 1])
        carried = text[len(body) + 1 :]
    if carried and pieces:
        pieces[-1] += carried
    return pieces


def unified(path: str, before: str, after: str) -> str:
    """The difference of two texts as `diff -u` shows it; empty when they are equal."""
    old, new = (text.encode("utf-8", "replace") for text in (before, after))
    hunks = hunks_between(old, new).decode()
    return f"--- a/{path}\n+++ b/{path}\n{hunks}" if hunks else ""


def difference(path: str, before: bytes | None, after: bytes | None) -> str:
    """A unified diff of two states of a file; bytes that are no text are shown as replacements."""
    return unified(path, _shown(path, before), _shown(path, after))


def _shown(path: str, content: bytes | None) -> str:
    """Return a file's text for people; a compressed file is decompressed, if possible."""
    with suppress(DiskError):
        content = text_of(path, content) if content else b""
    return (content or b"").decode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    lines = [line + "\n" for line in whole]
    return [*lines, last] if last else lines


def _apply(base: Sequence[str], changes: Iterable[Hunk]) -> list[str]:
    merged: list[str] = []
    at = 0
    for hunk in changes:
        merged += base[at : hunk.lo]
        merged += hunk.lines
        at = hunk.hi
    return [*merged, *base[at:]]


def _pair(ours: list[Hunk], theirs: list[Hunk], order: Callable[[str], object] | None) -> list[Hunk] | None:
    """Return the changes of both sides in order, or None if two of them overlap."""
    changes: list[Hunk] = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        mine, other = ours[i], theirs[j]
        if _is_before(mine, other):
            changes.append(mine)
            i += 1
        elif _is_before(other, mine):
            changes.append(other)
            j += 1
        elif (both := _join(mine, other, order)) is not None:
            changes.append(both)
            i, j = i + 1, j + 1
        else:
            return None
    return [*changes, *ours[i:], *theirs[j:]]


def _is_before(one: Hunk, other: Hunk) -> bool:
    return one.hi <= other.lo and not (one.is_insertion and other.is_insertion and one.lo == other.lo)


def _join(mine: Hunk, other: Hunk, order: Callable[[str], object] | None) -> Hunk | None:
    if mine == other:
        return mine
    if order is None or not (mine.is_insertion and other.is_insertion):
        return None
    return Hunk(mine.lo, mine.hi, tuple(_interleave(mine.lines, other.lines, order)))


def _interleave(ours: Sequence[str], theirs: Sequence[str], order: Callable[[str], object]) -> Iterator[str]:
    """Merge both lists by key, keeping the order of each; common blocks come once."""
    wanted = Counter(ours) | Counter(theirs)
    mine, other = list(reversed(ours)), list(reversed(theirs))
    while mine or other:
        if mine and other and mine[-1] == other[-1]:
            block = mine.pop()
            other.pop()
        else:
            block = _first(mine, other, order).pop()
        if wanted[block]:
            wanted[block] -= 1
            yield block


def _first(mine: list[str], other: list[str], order: Callable[[str], object]) -> list[str]:
    if not mine or not other:
        return mine or other
    one, two = order(mine[-1]), order(other[-1])
    if one == two:
        return mine if mine[-1] < other[-1] else other
    return mine if one < two else other  # type: ignore[operator]


def _hunks(base: list[str], side: list[str], *, apart: bool) -> list[Hunk]:
    """Return the hunks that turn `base` into `side`; with `apart`, each deleted block is a hunk of its own."""
    hunks: list[Hunk] = []
    for lo, hi, start, end in _differences(base, side):
        lines = tuple(side[start:end])
        if apart and not lines:
            hunks += [Hunk(at, at + 1, ()) for at in range(lo, hi)]
        else:
            hunks.append(Hunk(lo, hi, lines))
    return hunks


def _differences(base: list[str], side: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where `base[lo:hi]` is `side[start:end]` instead; git is asked, by two texts with one line for each block."""
    numbers: dict[str, int] = {}
    one, other = (
        "".join(f"{numbers.setdefault(block, len(numbers))}\n" for block in blocks).encode() for blocks in (base, side)
    )
    return spans_between(one, other)
