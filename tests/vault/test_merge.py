"""Changes of two sides come together, or the overlap is admitted."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.vault.past.merge import merge_blocks, merge_text, unified
from tests.conftest import many

letters = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=8)
texts = (
    letters.map("\n".join) | letters.map(lambda lines: "".join(line + "\n" for line in lines)) | st.text(max_size=12)
)
blocks = st.lists(st.sampled_from(["a1", "b2", "c3", "d4", "e5"]), max_size=7)
unique = st.lists(st.integers(0, 30).map(lambda n: f"{n:02}"), unique=True, max_size=8)


@many(300)
@given(texts, texts)
def test_change_of_one_side_is_the_result(base: str, other: str) -> None:
    assert merge_text(base, base, other) == other
    assert merge_text(base, other, base) == other
    assert merge_text(base, other, other) == other


@many(500)
@given(texts, texts, texts)
def test_sides_can_be_exchanged(base: str, ours: str, theirs: str) -> None:
    assert merge_text(base, ours, theirs) == merge_text(base, theirs, ours)


@many(500)
@given(blocks, blocks, blocks)
def test_sides_of_blocks_can_be_exchanged(base: list[str], ours: list[str], theirs: list[str]) -> None:
    assert merge_blocks(base, ours, theirs, None) == merge_blocks(base, theirs, ours, None)
    assert merge_blocks(base, ours, theirs, str) == merge_blocks(base, theirs, ours, str)
    assert merge_blocks(base, base, theirs, str) == theirs
    assert merge_blocks(base, ours, ours, str) == ours


@many(300)
@given(unique, unique, unique)
def test_appends_of_both_sides_are_all_there_in_order(base: list[str], ours: list[str], theirs: list[str]) -> None:
    merged = merge_blocks(["x"], ["x", *sorted(ours)], ["x", *sorted(theirs)], lambda block: block)
    assert merged == ["x", *sorted({*ours, *theirs})]


@many(300)
@given(unique, st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_deletions_of_both_sides_hold(base: list[str], mine: set[int], other: set[int]) -> None:
    ours = [block for at, block in enumerate(base) if at not in mine]
    theirs = [block for at, block in enumerate(base) if at not in other]
    expected = [block for at, block in enumerate(base) if at not in mine | other]
    assert merge_blocks(base, ours, theirs, lambda block: block) == expected


@many(300)
@given(unique, st.data())
def test_edits_of_different_lines_are_both_there(base: list[str], data: st.DataObject) -> None:
    who = data.draw(st.lists(st.sampled_from("-ot"), min_size=len(base), max_size=len(base)))
    ours = [f"{line}o\n" if side == "o" else f"{line}\n" for line, side in zip(base, who, strict=True)]
    theirs = [f"{line}t\n" if side == "t" else f"{line}\n" for line, side in zip(base, who, strict=True)]
    both = [f"{line}{side.strip('-')}\n" for line, side in zip(base, who, strict=True)]
    assert merge_text("".join(f"{line}\n" for line in base), "".join(ours), "".join(theirs)) == "".join(both)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"),
        ("a\nb\n", "A\nb\n", "X\nb\n", None),
        ("a\n", "a\nx\n", "a\ny\n", None),
        ("a\n", "a\nx\n", "a\nx\n", "a\nx\n"),
        ("a\nb\n", "b\n", "X\nb\n", None),
        ("a\nb\nc\n", "a\nc\n", "a\nb\nx\nc\n", "a\nx\nc\n"),
        ("a\nb", "a\nb\nc\n", "x\nb", "x\nb\nc\n"),
        ("a\nb\n", "a\nb\nc\n", "a\nb", None),
        ("", "a\n", "b\n", None),
    ],
)
def test_lines_merge_or_overlap(base: str, ours: str, theirs: str, merged: str | None) -> None:
    assert merge_text(base, ours, theirs) == merged


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a c", "a b2 c", "a b1 c", "a b1 b2 c"),
        ("a", "a b", "a b c", "a b c"),
        ("a b c", "a x c", "a c", None),
        ("a b", "a", "a b c", "a c"),
        ("a b c", "c", "a", ""),
        ("a b c", "", "a x b c", "x"),
        ("a", "a x x", "a y", "a x x y"),
    ],
)
def test_blocks_merge_or_overlap(base: str, ours: str, theirs: str, merged: str | None) -> None:
    result = merge_blocks(base.split(), ours.split(), theirs.split(), lambda block: block)
    assert result == (None if merged is None else merged.split())


def test_insertions_at_one_place_overlap_without_an_order() -> None:
    assert merge_blocks(["a"], ["a", "b"], ["a", "c"], None) is None


def test_difference_is_shown_as_people_know_it() -> None:
    assert unified("MEMORY.md", "a\nb\n", "a\nc") == (
        "--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
    )
    assert unified("MEMORY.md", "a", "a") == ""


def test_long_repetitive_texts_merge_quickly() -> None:
    base = "a\nb\n" * 5_000
    start = time.process_time()
    merge_text(base, "b\na\na\n" * 5_000, base + "c\n")
    assert merge_text(base, "x\n" + base, base + "y\n") == "x\n" + base + "y\n"
    assert time.process_time() - start < 2
