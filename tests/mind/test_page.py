"""Pages of a mind: whatever stands there is read, what is written reads back, and the rest keeps its bytes."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import InputError, NotFoundError
from memfolio.index.mind_pages import BY_NAME, KINDS, LEVELS, ItemStatus, MindItemKind, MindPage, Value
from memfolio.vault.agents import COMMITMENTS

BELIEFS, INTENTIONS, GOALS = BY_NAME["belief"], BY_NAME["intention"], BY_NAME["goal"]
ID = "B-1794753005123-a3f2c91d"
BERLIN = ZoneInfo("Europe/Berlin")
PIECES = (
    "## ", "# ", "### ", "\n", "\n\n", "\r\n", "certainty: ", "Certainty: 0.9", "- **Priority**: high", "status: done",
    "[deadline: 2026-11-20]", "[certainty: x]", "\\", "\\## ", "\\certainty: 1", "```", "~~~", " · updated: 2026-11-15",
    f" ^{ID}", "[[", "]", ":", "**", "x", "a b", " ", "\t", "deadline: 2026-02-31", "\ufeff", "\udc80", "\x0b", "|",
    "[from: M-1]", "<!--", "-->", "---\n",
)  # fmt: skip
MESS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=25).map("".join)
TEXTS = MESS.map(lambda text: text.replace("\r", ""))
SHARES = st.integers(0, 1000).map(lambda number: number / 1000)
TIMES = st.datetimes(datetime(1900, 1, 2), datetime(2200, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
VALUES: dict[Value, st.SearchStrategy[Any]] = {
    Value.SHARE: SHARES,
    Value.DAY: TIMES,
    Value.NAMES: st.lists(st.sampled_from(("M-1-0c11a2b3", ID, "F-0123456789abcdef")), min_size=1, unique=True).map(
        tuple
    ),
    Value.STATUS: st.sampled_from(ItemStatus),
    Value.LEVEL: st.sampled_from(LEVELS),
    Value.STRATEGY: st.sampled_from(COMMITMENTS),
    Value.TEXT: st.sampled_from(
        ("the deploy", "a · b", "see [x] or C:\\y", "50%", "who: me", "a | status: done", "\\\\[from: x] · from: y")
    ),
}
KIND = st.sampled_from(KINDS)


def page(text: str, kind: MindItemKind = BELIEFS) -> MindPage:
    return MindPage(kind, text, agent="main", zone=BERLIN)


def fields_of(kind: MindItemKind) -> st.SearchStrategy[dict[str, Any]]:
    values = {name: VALUES[value] for name, value in kind.fields.items()}
    minutes = TIMES.map(lambda moment: moment.replace(second=0, microsecond=0))
    return st.fixed_dictionaries({}, optional=values | {"created": minutes, "updated": minutes})


@given(MESS, KIND)
def test_reading_never_raises_and_every_id_is_its_own(text: str, kind: MindItemKind) -> None:
    found = page(text, kind)
    assert len({item.id for item in (found.head, *found.items)}) == len(found.items) + 1
    assert found.editing({}) == text
    assert found.ordered(item.id for item in found.items) == text
    assert all(problem.startswith("line ") for problem in found.problems)


@given(st.data(), KIND, MESS, TEXTS, TEXTS)
def test_what_is_added_reads_back_and_what_was_there_keeps_its_bytes(
    data: st.DataObject, kind: MindItemKind, before: str, title: str, text: str
) -> None:
    fields, was = data.draw(fields_of(kind)), page(before, kind)
    after = page(was.adding("A-9-00000009", title, text, fields), kind)
    assert after.text.startswith(before)
    found = after.items[-1]
    assert (found.id, found.title, found.text) == ("A-9-00000009", " ".join(title.split()), text.strip())
    assert (found.fields, found.problems) == (fields, ())
    assert [item.title for item in after.items[:-1]] == [item.title for item in was.items]


@given(st.data(), KIND, MESS, st.booleans())
def test_fields_are_set_and_taken_away_and_nothing_else_changes(
    data: st.DataObject, kind: MindItemKind, mess: str, crlf: bool
) -> None:
    text = f"# {kind.page}\n\n## One ^A-1-00000001\n{mess}\n\n## Two ^A-2-00000002\nkept\n"
    was = page(text.replace("\r", "").replace("\n", "\r\n") if crlf else text, kind)
    item = was.find("A-1-00000001").item
    fields = data.draw(fields_of(kind))
    is_set = page(was.editing({item.id: fields}), kind)
    found = is_set.find(item.id).item
    assert {name: found.fields[name] for name in fields} == fields
    assert (found.title, found.text) == (item.title, item.text)
    assert is_set.text.endswith(was.text[was.find("A-2-00000002").start :])
    names = dict.fromkeys(data.draw(st.sets(st.sampled_from(list(kind.fields)))))
    gone = page(is_set.editing({item.id: names}), kind).find(item.id).item
    assert gone.fields == {name: value for name, value in found.fields.items() if name not in names}
    assert gone.text == found.text


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("## T\nRedis it is.\n\nCertainty: 0.9\n", {"certainty": 0.9}),
        ("## T\n- **CERTAINTY**: High\n- **Source:** a book\n", {"certainty": 0.8, "source": "a book"}),
        ("## T [certainty: 80%]\n", {"certainty": 0.8}),
        ("## T\r\ncertainty: 0.9 · status: In progress\r\n", {"certainty": 0.9, "status": ItemStatus.ACTIVE}),
        ("## T\ncertainty: 0.9 | from: [[M-1]], ^M-2\n", {"certainty": 0.9, "from": ("M-1", "M-2")}),
        ("## T\n```\ncertainty: 0.9\n```\n", {}),
        ("## T\nCertainty:\n", {}),
        ("## T\n| a | certainty: 1 |\n|---|---|\n- [ ] source: x\n> status: done\n", {}),
        ("## T\ncertainty:: 0.9\nAs [source:: a book] says\n", {"certainty": 0.9, "source": "a book"}),
        ("## T\nCertainty: 0.2 [updated: 2026-11-15T10:00+00:00]\n",
         {"certainty": 0.2, "updated": datetime(2026, 11, 15, 10, tzinfo=UTC)}),
    ],
)  # fmt: skip
def test_fields_are_read_in_the_forms_that_people_write(section: str, expected: dict[str, Any]) -> None:
    [item] = page(section).items
    assert (item.title, item.fields, item.problems) == ("T", expected, ())


def test_deadline_is_the_end_of_its_day_at_home() -> None:
    [item] = page("## Ship it [deadline: 2026-11-20]\n", INTENTIONS).items
    assert item.deadline == datetime(2026, 11, 20, 22, 59, 59, tzinfo=UTC)
    assert page("## Ship it\n", INTENTIONS).items[0].id == item.id
    assert page("## x\nupdated: 2026-11-20\n").items[0].updated == datetime(2026, 11, 19, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        ("certainty: 1 · updated: 2026-11-15 · from: M-1\n", ["updated"], "certainty: 1 · from: M-1\n"),
        ("certainty: 1 · updated: 2026-11-15 · from: M-1\n", ["certainty", "updated"], "from: M-1\n"),
        ("certainty: 1 · updated: 2026-11-15\n\nText\n", ["certainty", "updated"], "\nText\n"),
        ("- **Certainty**: 1 · source: x\n", ["certainty"], "- source: x\n"),
        ("Ship it [certainty: 1] soon\n", ["certainty"], "Ship it soon\n"),
        ("Text\r\n[certainty: 1]\r\nMore\r\n", ["certainty"], "Text\r\nMore\r\n"),
        ("certainty: x\nText\ncertainty: 1\n", ["certainty"], "Text\n"),
        ("[certainty: 1]## no heading\n", ["certainty"], "[certainty:]## no heading\n"),
        ("source: a [certainty: 1] b\n", ["certainty"], "source: a [certainty:] b\n"),
    ],
)
def test_field_that_is_taken_away_leaves_nothing_that_means_something_else(
    before: str, names: list[str], after: str
) -> None:
    was = page(f"## T\n{before}")
    assert was.editing({was.items[0].id: dict.fromkeys(names)}) == f"## T\n{after}"


def test_line_of_fields_grows_and_is_made_where_there_is_none() -> None:
    was = page("# Beliefs\r\n\r\n## One\r\nText\r\n\r\n## Two\r\ncertainty: 1\r\n")
    text = was.editing({item.id: {"status": ItemStatus.DONE} for item in was.items})
    assert "## One\r\nstatus: done\r\n\r\nText\r\n" in text
    assert text.endswith("## Two\r\ncertainty: 1 · status: done\r\n")
    assert page(text).adding(ID, "New", "a\nb", {}).endswith(f"\r\n\r\n## New ^{ID}\r\n\r\na\r\nb\r\n")


def test_value_begins_no_further_field() -> None:
    [item] = page(page("").adding(ID, "T", "", {"source": "a · status: done\n[certainty: 1]"})).items
    assert item.fields == {"source": "a · status: done [certainty: 1]"}


def test_problems_say_where_and_what_belongs_there() -> None:
    found = page("# Goals\n\n## Grow\nLevel: huge\ndeadline: 2026-02-31 · progress: 120%\n", GOALS)
    assert [each[:40] for each in found.problems] == [
        "line 4: level of 'Grow' is 'huge', not o",
        "line 5: deadline of 'Grow' is '2026-02-3",
        "line 5: progress of 'Grow' is '120%', no",
    ]


def test_copied_id_is_reported_and_an_id_may_stand_before_marks() -> None:
    first, second = page(f"## A ^{ID} [certainty: 1]\n\n## B ^{ID}\n").items
    assert (first.id, first.title, first.certainty, first.problems) == (ID, "A", 1.0, ())
    assert (second.id != ID, second.problems) == (True, (f"line 3: {ID} stands on line 1 as well",))


def test_value_that_a_mark_cannot_hold_moves_to_the_line_of_fields() -> None:
    was = page("## T\nSee [source: a book] there\n")
    assert was.editing({was.items[0].id: {"source": "[1] and"}}) == "## T\nsource: [1] and\n\nSee there\n"


def test_open_fence_swallows_no_item_with_an_id() -> None:
    text = page("").adding(ID, "One", "```\nnever closed", {"certainty": 1.0})
    text = page(text).adding("B-2-00000002", "Two", "```\nneither", {"certainty": 0.5})
    assert [(item.title, item.certainty) for item in page(text).items] == [("One", 1.0), ("Two", 0.5)]


def test_items_are_told_anew_ordered_and_taken_out() -> None:
    was = page(f"# Beliefs\n\nMine.\n\n## Two ^{ID}\ncertainty: maybe\n\n## One\nText")
    one = was.find("one").item
    assert was.ordered([one.id]).index("## One") < was.ordered([one.id]).index("## Two")
    assert was.without([one.id]) == (was.text.removesuffix("## One\nText"), "## One\nText\n\n")
    told = page(was.rewriting(ID, "Second", "## not a heading", {}))
    assert (told.items[0].title, told.items[0].text) == ("Second", "## not a heading")
    assert (len(told.problems), told.items[1]) == (1, page(told.text).find(one.id).item)
    for name, error in (("o", InputError), ("", NotFoundError), ("three", NotFoundError)):
        with pytest.raises(error):
            was.find(name)


def test_many_sections_are_read_in_a_moment() -> None:
    section = (
        "## Belief {0} ^B-{0}-a3f2c91d\ncertainty: 0.9 · updated: 2026-11-15 · from: M-1-0c11a2b3\n\nText {0}.\n\n"
    )
    text, started = "".join(map(section.format, range(5000))), time.process_time()
    assert len(page(text).items) == 5000
    assert timedelta(seconds=time.process_time() - started) < timedelta(seconds=1.5)
