"""A page is cut where a reader would pause, and no line of it is lost to search."""

from __future__ import annotations

import random
import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memfolio.index.read_files import Passage, body_text, cut_passages
from memfolio.text import estimate_tokens
from memfolio.vault.sections import front_matter
from tests.conftest import many

PIECES = st.sampled_from(
    [
        *("# Title", "## Goals", "### Health", "###### deep ##", "#", "#tag", "   ## indented", "# " + "x" * 300),
        *("```", "````", "~~~ python", "---", "...", "key: value", "<!-- c -->", "<!--", "-->", "text <!-- c -->"),
        *("\n", "\n\n", "\r\n", "\r", " ", "\t", "\ufeff", "\u2028", "\x85", "\0", "\udcff"),
        *("A sentence. Another one! ", "word " * 30, "x" * 90, "東京の天気。", "- item", "    code"),
    ]
)
pages = st.lists(PIECES | st.text(max_size=12), max_size=40).map("".join)
structured = st.lists(PIECES, max_size=30).map("\n".join)


def covered(passages: list[Passage]) -> set[int]:
    return {at for passage in passages for at in range(passage.start, passage.end)}


def headings(page: str) -> list[tuple[str, ...]]:
    return [passage.heading for passage in cut_passages(page)]


def texts(page: str, **sizes: int) -> list[str]:
    return [passage.text for passage in cut_passages(page, **sizes)]


def filler(tokens: int) -> str:
    return ("lorem ipsum " * tokens)[: 4 * tokens - 2].strip() + "."


def test_a_short_page_is_one_passage() -> None:
    page = "# Alex\n\nLikes tea.\n\n## Work\nEngineer.\n\n## Home\nBerlin.\n"
    (passage,) = cut_passages(page)
    assert passage.heading == ("Alex",)
    assert passage.text == "Likes tea.\n\n## Work\nEngineer.\n\n## Home\nBerlin."
    assert passage.line == 3
    assert page[passage.start : passage.end] == passage.text


def test_sections_are_the_unit_and_know_the_headings_above() -> None:
    page = f"# Goals\n\n## Health\n\n{filler(150)}\n\n## Work\n\n{filler(150)}\n"
    assert headings(page) == [("Goals", "Health"), ("Goals", "Work")]
    assert texts(page) == [filler(150)] * 2


def test_tiny_sections_below_one_parent_are_joined_until_they_say_enough() -> None:
    page = "# Goals\n\n" + "".join(f"## Goal {n}\n\n{filler(40)}\n\n" for n in range(6))
    passages = cut_passages(page)
    assert [passage.heading for passage in passages] == [("Goals",), ("Goals",)]
    assert passages[0].text.startswith("## Goal 0")
    assert passages[1].text.startswith("## Goal 3")


def test_sections_below_different_parents_are_not_joined() -> None:
    page = f"# A\n\n## Deep\n\nshort\n\n# B\n\n{filler(150)}\n"
    assert headings(page) == [("A", "Deep"), ("B",)]


def test_small_print_headings_share_a_passage_as_long_as_they_fit() -> None:
    page = "## Steps\n\n" + "".join(f"### Step {n}\n\n{filler(120)}\n\n" for n in range(4))
    assert headings(page) == [("Steps",), ("Steps", "Step 3")]


def test_headings_with_nothing_below_give_no_passage() -> None:
    assert headings(f"# Empty\n\n# Full\n\n{filler(150)}\n\n# Also empty\n") == [("Full",)]


def test_a_page_of_headings_only_is_one_passage() -> None:
    assert texts("# A\n\n## B\n") == ["# A\n\n## B"]


@pytest.mark.parametrize("page", ["", " \n\n", "---\nname: x\n---\n", "<!-- nothing\nhere -->\n", "\ufeff", "---\n---"])
def test_a_page_that_says_nothing_has_no_passages(page: str) -> None:
    assert cut_passages(page) == []


def test_front_matter_and_comments_are_no_text() -> None:
    page = "\ufeff---\nname: Alex\n---\n# Alex\n\nOne.\n\n<!-- Type: person\n# not a heading -->\nTwo.\n"
    (passage,) = cut_passages(page)
    assert passage.text == "One.\n\nTwo."
    assert page[passage.start : passage.end].startswith("One.")
    assert page[passage.start : passage.end].endswith("Two.")


@pytest.mark.parametrize(
    "page",
    ["---\n\nA rule, then text.\n\n---\n", "---\n- # Rule\n\n---\n", "---\nname: never closed\n", "- a: b\n---\n"],
)
def test_a_rule_is_not_mistaken_for_front_matter(page: str) -> None:
    assert front_matter(page) == (0, 0)
    assert texts(page) == [page.strip()]


def test_a_comment_that_is_never_closed_is_text() -> None:
    assert texts("One.\n<!-- Two.\n") == ["One.\n<!-- Two."]


def test_code_is_neither_heading_nor_comment() -> None:
    page = "# Title\n\n```sh\n# install\n<!-- shown -->\n```\n"
    (passage,) = cut_passages(page)
    assert passage.heading == ("Title",)
    assert "# install\n<!-- shown -->" in passage.text


def test_a_fence_that_is_never_closed_hides_no_heading() -> None:
    assert headings(f"# A\n\n```\ncode {filler(120)}\n\n# B\n\ntext\n") == [("A",), ("B",)]


@pytest.mark.parametrize("line", ["#tag", "####### seven", "    # code", "#" + "x" * 10, "# " + "x" * 300])
def test_what_is_no_heading_is_text(line: str) -> None:
    assert [(passage.heading, passage.text) for passage in cut_passages(line)] == [((), line.strip())]


def test_headings_lose_their_closing_marks_and_line_ends() -> None:
    assert headings("# One ##\r\ntext\r\n") == [("One",)]
    assert headings("# C#\ntext") == [("C#",)]


def test_a_long_section_is_cut_between_paragraphs_with_overlap() -> None:
    paragraphs = [f"Paragraph {n}. {filler(70)}" for n in range(12)]
    passages = cut_passages("# Log\n\n" + "\n\n".join(paragraphs))
    assert len(passages) > 2
    for passage in passages:
        assert passage.heading == ("Log",)
        assert passage.text.startswith("Paragraph")
        assert passage.text.endswith(".")
        assert estimate_tokens(passage.text) <= 400
    for earlier, later in pairwise(passages):
        shared = earlier.end - later.start
        assert 0 < shared <= 4 * 80


def test_a_long_line_is_cut_between_sentences_else_words_else_characters() -> None:
    sentences = texts(" ".join(f"This is sentence number {n}." for n in range(300)))
    assert all(re.fullmatch(r"This is .*\.", passage) for passage in sentences)
    words = texts("lorem " * 2000)
    assert all(set(passage.split()) == {"lorem"} for passage in words)
    characters = texts("x" * 4000)
    assert {len(passage) for passage in characters[:-1]} == {1600}


def test_without_overlap_nothing_is_said_twice() -> None:
    page = "".join(chr(0x4E00 + n) for n in range(2000))
    assert "".join(texts(page, overlap=0)) == page


def test_lines_are_counted_from_one_in_the_page() -> None:
    page = "---\na: b\n---\n# T\n" + "\n".join(f"line {n} {filler(30)}" for n in range(5, 60))
    for passage in cut_passages(page):
        assert passage.line == page.count("\n", 0, passage.start) + 1
        assert passage.text.startswith(f"line {passage.line} ")


@many(400)
@given(page=pages | structured, size=st.integers(8, 60), overlap=st.integers(0, 30))
@example(page="text <!-- c -->\n\n\n\n\n```\n東京の天気。", size=8, overlap=1)
def test_every_character_is_in_a_passage_and_every_passage_in_the_page(page: str, size: int, overlap: int) -> None:
    passages = cut_passages(page, size=size, overlap=overlap)
    assert passages == cut_passages(page, size=size, overlap=overlap)
    body = body_text(page)
    for passage in passages:
        assert passage.text == passage.text.strip() != ""
        assert estimate_tokens(passage.text) <= size
        assert passage.line == page.count("\n", 0, passage.start) + 1
        assert passage.text in body
        source = page[passage.start : passage.end]
        assert source == passage.text or "<!--" in source
    assert [passage.start for passage in passages] == sorted({passage.start for passage in passages})
    shown = covered(passages)
    for line in re.finditer(r"[^\n]+", page):
        if not line[0].strip() or re.match(r" {0,3}#{1,6}(?:\s|$)", line[0]) or "-->" in page or "---" in page:
            continue
        assert all(page[at].isspace() or page[at] == "\ufeff" or at in shown for at in range(*line.span()))


@many(400)
@given(page=pages | structured)
def test_a_line_of_ordinary_length_is_whole_in_some_passage(page: str) -> None:
    found = texts(page)
    for line in body_text(page).split("\n"):
        is_heading = re.match(r" {0,3}#{1,6}(?:\s|$)", line)
        if not is_heading and 0 < len(line.strip()) < 150:
            assert any(line.strip() in text for text in found)


@many(200)
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n<-#`~"), max_size=200), max_size=60))
def test_no_line_is_lost(lines: list[str]) -> None:
    page = "\n".join(f"# Heading {n}\n{line}" if n % 7 == 0 else line for n, line in enumerate(lines))
    shown = covered(cut_passages(page, size=40, overlap=10))
    at = 0
    for line in page.split("\n"):
        if not line.startswith("# Heading "):
            assert all(
                page[place].isspace() or place in shown or page[place] == "\ufeff" for place in _places(at, line)
            )
        at += len(line) + 1


def _places(at: int, line: str) -> range:
    return range(at, at + len(line))


HOSTILE = {
    "prose": "Some words in a sentence. " * 40_000,
    "headings": "# h\n" * 100_000,
    "tiny sections": "# h\nx\n" * 100_000,
    "nested headings": "".join("#" * (1 + n % 6) + f" h{n}\nx\n" for n in range(100_000)),
    "gaps": ("# h\n" * 1000 + "x\n") * 100,
    "one line": "x" * 1_000_000,
    "one wide line": "漢" * 1_000_000,
    "one long heading": "# " + "x" * 1_000_000,
    "fences": "```\n" * 200_001,
    "open fences": "".join("`" * (3 + n % 50) + "x\n" for n in range(30_000)),
    "open comments": "<!--\n" * 200_000,
    "comments": "x\n<!-- c -->\n" * 70_000,
    "blank": " \n" * 500_000,
    "spaces": " " * 1_000_000 + "x",
    "marks": "---\n" * 250_000,
    "keys": "---\n" + "a: b\n" * 200_000,
    "line ends": "\r" * 1_000_000,
    "mixed widths": "abc é 漢 🥑\n" * 100_000,
    "noise": "".join(random.Random(1).choices("#`<!-> \n\tx漢.", k=1_000_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_cut_in_moments(name: str) -> None:
    start = time.process_time()
    passages = cut_passages(HOSTILE[name])
    assert time.process_time() - start < 5
    assert all(estimate_tokens(passage.text) <= 400 for passage in passages)
