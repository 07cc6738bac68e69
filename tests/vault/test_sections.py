"""The text of a page: headings outside code, and edits that leave every other byte alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.vault.sections import PageHeading, PageText, headings, sections_of

PAGE = "# Title\n\n```\n# code\n```\ntext\n## Notes\n- a\n"
TEXTS = st.text(alphabet="ab# `\n\r", max_size=60)


def test_headings_in_code_are_none() -> None:
    page = PageText(PAGE)
    at = PAGE.index("## Notes")
    assert page.headings == {
        0: PageHeading(0, 1, "Title", 2, start=0, behind=1, end=8),
        6: PageHeading(6, 2, "Notes", 3, start=at, behind=at + 2, end=at + 9),
    }
    assert page.line_at(PAGE.index("- a")) == 7
    assert [page.is_hidden_line(number) for number in range(2, 6)] == [True, True, True, False]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_edits_take_the_line_ends_of_the_page_and_keep_their_order(end: str) -> None:
    page = PageText(PAGE.replace("\n", end))
    at = page.text.index("text")
    assert page.edited([((at, at), "one\n"), ((at, at), "two "), ((at, at + 4), "x")]) == page.text.replace(
        "text", f"one{end}two x"
    )
    edits = [(8, 8, ["- c"]), (5, 6, ["new", "lines"]), (8, 8, ["- d\n- e"])]
    lines = PAGE.replace("text", "new\nlines").removesuffix("\n") + "\n- c\n- d\n- e\n"
    assert page.edited_lines(edits) == lines.replace("\n", end)


@given(TEXTS, st.data())
def test_what_is_not_edited_stays(text: str, data: st.DataObject) -> None:
    page = PageText(text)
    assert page.edited([]) == page.edited_lines([]) == text
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    assert page.edited([((start, end), "x")]) == f"{text[:start]}x{text[end:]}"
    assert text.count("\n", 0, start) == page.line_at(start)


def test_who_reads_a_page_says_which_headings_count() -> None:
    text = "\ufeff## Begin\n##\n  ## In\n## Plain ##\r\n##\u00a0none\n####### seven\n```\n## code\n```\n"
    assert [(each.line, each.title, each.is_plain) for each in headings(text)] == [
        (0, "Begin", False),
        (1, "", False),
        (2, "In", False),
        (3, "Plain ##", True),
        (7, "code", True),
    ]
    assert [each.title for each in PageText(text).headings.values()] == ["Plain ##"]
    assert [each.path for each in sections_of(text)] == [(), (), ("In",), ("Plain",)]


@given(TEXTS)
def test_sections_cover_the_text(text: str) -> None:
    found = list(sections_of(text))
    assert "".join(text[each.head : each.end] for each in found) == text
    assert all(each.head <= each.start <= each.end for each in found)
    plain = [each for each in headings(text) if each.is_plain]
    assert all(text.split("\n")[each.line][each.column :].startswith(each.title) for each in plain)
