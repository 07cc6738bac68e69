"""Three-way merges of lines and of blocks, and differences for people to read."""

from __future__ import annotations

import difflib
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memfolio.errors import DiskError
from memfolio.vault.lines import text_of
from memfolio.vault.reconcile import blocks_of

MAX_PAIRS = 100_000
"""With more pairs of lines than this and no landmark, a stretch counts as rewritten: a closer look takes too long."""

MAX_DEPTH = 40
CONTEXT = 3
"""Lines that a difference shows around what changed."""
_HUNK = re.compile(r"(?<=[ ])([-+])(\d+)")


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
    base, side = _lines(before), _lines(after)
    # Only what differs is compared, with the lines around it that are shown: a log may have thousands of others.
    lo, hi, _, end = _trim(base, side, (0, len(base), 0, len(side)))
    skipped = max(0, lo - CONTEXT)
    lines = difflib.unified_diff(
        base[skipped : hi + CONTEXT], side[skipped : end + CONTEXT], f"a/{path}", f"b/{path}", n=CONTEXT
    )
    shifted = (
        _HUNK.sub(lambda start: f"{start[1]}{int(start[2]) + skipped}", line) if line.startswith("@@") else line
        for line in lines
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in shifted)


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
    for lo, hi, start, end in _differences(base, side, (0, len(base), 0, len(side)), 0):
        lines = tuple(side[start:end])
        if apart and not lines:
            hunks += [Hunk(at, at + 1, ()) for at in range(lo, hi)]
        else:
            hunks.append(Hunk(lo, hi, lines))
    return hunks


Area = tuple[int, int, int, int]
"""`base[lo:hi]` against `side[start:end]`."""


def _differences(base: list[str], side: list[str], area: Area, depth: int) -> Iterator[Area]:
    lo, hi, start, end = area = _trim(base, side, area)
    if lo == hi or start == end:
        if lo < hi or start < end:
            yield area
        return
    landmarks = _landmarks(base, side, area) if depth < MAX_DEPTH else []
    if not landmarks:
        yield from _compare(base, side, area)
        return
    for at, there in [*landmarks, (hi, end)]:
        yield from _differences(base, side, (lo, at, start, there), depth + 1)
        lo, start = at, there


def _trim(base: list[str], side: list[str], area: Area) -> Area:
    """Return `area` without the common beginning and end."""
    lo, hi, start, end = area
    while lo < hi and start < end and base[lo] == side[start]:
        lo, start = lo + 1, start + 1
    while lo < hi and start < end and base[hi - 1] == side[end - 1]:
        hi, end = hi - 1, end - 1
    return lo, hi, start, end


def _landmarks(base: list[str], side: list[str], area: Area) -> list[tuple[int, int]]:
    """Lines that occur exactly once on each side, as far as they are in the same order on both."""
    lo, hi, start, end = area
    here = _singles(base, lo, hi)
    there = _singles(side, start, end)
    return _rising([(at, there[line]) for line, at in here.items() if line in there])


def _singles(lines: list[str], lo: int, hi: int) -> dict[str, int]:
    count = Counter(lines[lo:hi])
    return {lines[at]: at for at in range(lo, hi) if count[lines[at]] == 1}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of `pairs`, sorted by their first, whose seconds rise too (patience sorting)."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (_, second) in enumerate(pairs):
        pile = bisect(tops, second)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [second]
        piles[pile : pile + 1] = [number]
    run: list[tuple[int, int]] = []
    at = piles[-1] if piles else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]


def _compare(base: list[str], side: list[str], area: Area) -> Iterator[Area]:
    lo, hi, start, end = area
    if (hi - lo) * (end - start) > MAX_PAIRS:
        yield area
        return
    matcher = difflib.SequenceMatcher(None, base[lo:hi], side[start:end], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            yield lo + i, lo + j, start + k, start + m
