"""A log is cut without loss, and everything a person or memfolio wrote into it is read."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memfolio.clock import from_ms
from memfolio.types import Attribution, MemoryItem, Type
from memfolio.vault.fields import Entry, text_id
from memfolio.vault.log import LogReading, own_length, read_log, split_log, whole_length
from memfolio.vault.paths import title_line
from tests.conftest import many
from tests.vault.minting import mint, render_entry

BERLIN = ZoneInfo("Europe/Berlin")
DAY = date(2026, 11, 15)
MS = 1794753005123
MARKED = "## 15:30:05 fact · 0.5 ^M-1794753005123-00000000\nsource: c\n\nMarked.\n"

PIECES = st.sampled_from(
    [
        "## 14:30",
        "## 14:30:05 fact · 0.5 ^M-1794753005123-00000000",
        "## x ^M-999999999999999-00000000",
        "### 06:00 - Morning",
        "# title",
        "## Summary",
        "- bullet",
        "  - nested",
        "1. one",
        "```",
        "````",
        "~~~ python",
        "---",
        "<!-- importance: 7 -->",
        "<!--",
        "-->",
        "\\## 14:30",
        "^M-1-00000000",
        "source: c · role: user",
        "\ufeff",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\u2028",
        "\x85",
        "\x0c",
        " ",
        "\udcff",
    ]
)
documents = st.lists(PIECES | st.text(max_size=10), max_size=25).map("".join)
contents = st.lists(
    (PIECES | st.text(max_size=10)).filter(lambda piece: "\udcff" not in piece and not _has_surrogates(piece)),
    max_size=8,
).map(lambda pieces: "x" + "".join(pieces))


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def read(text: str) -> LogReading:
    return read_log(text, day=DAY, tz=BERLIN, agent="main")


def contents_of(text: str) -> list[str]:
    return [found.entry.item.content for found in read(text).entries]


def make(content: str, number: int = 0, **fields: Any) -> Entry:
    item = MemoryItem(id="", content=content, created_at=from_ms(MS), **fields)
    return mint(item, Attribution(), agent="main", tz=BERLIN, created_ms=MS + number, taken=())


def log_of(entries: list[Entry]) -> str:
    return f"{title_line(DAY)}\n\n" + "\n".join(render_entry(entry, BERLIN) for entry in entries)


@many(500)
@given(documents)
def test_blocks_are_exactly_the_text(text: str) -> None:
    blocks = split_log(text, "main")
    assert "".join(block.text for block in blocks) == text
    assert all(text.startswith(block.text, block.start) for block in blocks)


@many(200)
@given(st.binary(max_size=200) | documents.map(lambda text: text.encode("utf-8", "surrogateescape")))
def test_blocks_are_exactly_the_bytes(raw: bytes) -> None:
    text = raw.decode("utf-8", "surrogateescape")
    joined = "".join(block.text for block in split_log(text, "main"))
    assert joined.encode("utf-8", "surrogateescape") == raw


@many(500)
@given(documents)
def test_reading_never_raises_and_gives_storable_text(text: str) -> None:
    reading = read(text)
    for found in reading.entries:
        found.entry.item.content.encode()
        assert all(0 <= start < end <= len(text) for start, end in found.places)
    assert len({found.entry.item.id for found in reading.entries}) == len(reading.entries)


@many(300)
@given(st.lists(contents, min_size=1, max_size=4))
def test_no_content_can_forge_an_entry(written: list[str]) -> None:
    entries = [make(content, number) for number, content in enumerate(written)]
    for text in (log_of(entries), log_of(entries).replace("\n", "\r\n")):
        reading = read(text)
        assert [found.entry for found in reading.entries] == entries
        assert reading.problems == ()


@many(500)
@given(contents, documents)
@example("x", "## 16:00 fact\n\nBy hand.\n")
@example("x\n```", "```\n## 16:00 fact\n```\n")
def test_nothing_that_follows_an_untouched_entry_belongs_to_it(content: str, text: str) -> None:
    entry = make(content)
    written = log_of([entry])
    found = read(written + text).entries[0]
    assert found.entry == entry
    assert written[found.places[0][0] :] == render_entry(entry, BERLIN)
    end = found.places[0][1]
    assert end == len(written) or not (written + text)[len(written) : end].strip("\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [("tea", "green tea"), ("· 0.5", "· 0.6"), ("source: conversation", "source: file"), ("\n", "\r\n"), ("^", " ^")],
)
def test_an_edited_entry_runs_to_the_next_heading(old: str, new: str) -> None:
    block = render_entry(make("Alex prefers tea"), BERLIN)
    edited = block.replace(old, new)
    assert edited != block
    blocks = split_log(f"{edited}\n- by hand\n\n## 16:00 fact\n\nx\n", "main")
    assert [each.text for each in blocks] == [f"{edited}\n- by hand\n\n", "## 16:00 fact\n\nx\n"]


def test_text_below_an_untouched_entry_is_a_block_of_its_own() -> None:
    first, second = (render_entry(make(content, number), BERLIN) for number, content in enumerate(["tea\n\nrain", "x"]))
    blocks = split_log(f"{first}\n# Mine\n\n- milk\n\n{second}\n\n", "main")
    assert [(each.kind, each.text) for each in blocks] == [
        ("entry", first),
        ("text", "\n# Mine\n\n- milk\n\n"),
        ("entry", f"{second}\n\n"),
    ]
    assert [each.kind for each in split_log(f"{first}\n- milk\n", "other")] == ["entry"]


@many(500)
@given(contents, documents)
def test_an_entry_ends_where_the_longer_way_to_look_says(content: str, text: str) -> None:
    block = render_entry(make(content), BERLIN) + text
    for each in (block, block.replace("x", "y", 1), block[:-1], MARKED + text):
        length = whole_length(each, "main")
        assert own_length(each, "main") == (length if length and each[length:].strip("\n") else len(each))


def test_title_names_day_and_part() -> None:
    assert title_line(DAY) == "# 2026-11-15 · Sunday"
    assert title_line(DAY, 2) == "# 2026-11-15 · Sunday (2)"


def test_blocks_are_preamble_text_and_entries() -> None:
    text = f"\ufeff---\ntags: [daily]\n---\n# Title\n\n- milk\n\n{MARKED}\n## 16:00 fact\n\nBy hand."
    blocks = split_log(text, "main")
    assert [block.kind for block in blocks] == ["preamble", "text", "entry", "entry"]
    assert [block.id for block in blocks] == [None, None, "M-1794753005123-00000000", None]
    assert blocks[2].text == MARKED + "\n"


def test_byte_order_mark_before_a_heading_is_tolerated() -> None:
    assert [block.kind for block in split_log("\ufeff" + MARKED, "main")] == ["preamble", "entry"]


def test_bullets_and_paragraphs_are_memories() -> None:
    text = """# Daily Log

> A quote
> goes on.

- one
  - nested
  more of one

  still one
- two
lazy end
* three

1. first
2) second

A paragraph
of two lines.

---
***
"""
    assert contents_of(text) == [
        "> A quote\n> goes on.",
        "one\n- nested\nmore of one\n\nstill one",
        "two\nlazy end",
        "three",
        "first",
        "second",
        "A paragraph\nof two lines.",
    ]


def test_importance_notes_are_taken_out() -> None:
    text = """- milk <!-- importance: 7 -->
- eggs
  <!-- importance: 1 -->

Paragraph <!-- importance: 0.25 --> goes on.

<!-- importance: 9 -->
Announced.

Plain.
"""
    found = [(each.entry.item.content, each.entry.item.importance) for each in read(text).entries]
    assert found == [
        ("milk", 0.7),
        ("eggs", 0.1),
        ("Paragraph goes on.", 0.25),
        ("Announced.", 0.9),
        ("Plain.", 0.5),
    ]


def test_comments_are_not_memories() -> None:
    assert contents_of("<!-- a -->\n\n<!-- b\n\n- c\n-->\n\ntext\n<!-- d -->\n") == ["text"]
    assert contents_of("<!-- never closed\n") == ["<!-- never closed"]


def test_sub_headings_give_time_and_heading() -> None:
    text = """## Timeline

- early

### 06:00 - Morning Startup

- Heartbeat
- [06:00:30] Loaded
- **[7:15]** Asked

### Errors

None.
"""
    found = [
        (item.content, item.created_at.astimezone(BERLIN).strftime("%H:%M:%S"), item.attributes.get("heading"))
        for item in (each.entry.item for each in read(text).entries)
    ]
    assert found == [
        ("early", "00:00:00", "Timeline"),
        ("Heartbeat", "06:00:00", "Morning Startup"),
        ("[06:00:30] Loaded", "06:00:30", "Morning Startup"),
        ("**[7:15]** Asked", "07:15:00", "Morning Startup"),
        ("None.", "00:00:00", "Errors"),
    ]


def test_code_fences_stay_with_their_text() -> None:
    text = "Run:\n```sh\n# not a title\n- not a bullet\n\n## 14:30 not an entry\n```\n- next\n  ~~~\n- code\n  ~~~\n"
    assert contents_of(text) == [
        "Run:\n```sh\n# not a title\n- not a bullet\n\n## 14:30 not an entry\n```",
        "next\n~~~\n- code\n~~~",
    ]


def test_fence_that_is_never_closed_hides_nothing() -> None:
    assert contents_of(f"```\n- a\n\n## 14:30 fact\n\nb\n\n{MARKED}") == ["```", "a", "b", "Marked."]


def test_fence_never_hides_a_marked_entry() -> None:
    assert contents_of(f"```\n{MARKED}```\n") == ["```", "Marked.\n```"]


def test_equal_texts_are_one_memory_with_several_places() -> None:
    text = "- milk\n- eggs\n\nmilk\n"
    milk, eggs = read(text).entries
    assert [text[start:end] for start, end in milk.places] == ["- milk\n", "milk\n"]
    assert milk.entry.item.id == text_id("main", "milk")
    assert len(eggs.places) == 1


def test_first_place_of_a_repeated_id_wins() -> None:
    reading = read(MARKED + "\n" + MARKED.replace("Marked.", "Copied."))
    assert [found.entry.item.id for found in reading.entries] == [
        "M-1794753005123-00000000",
        text_id("main", "Copied."),
    ]
    assert len(reading.problems) == 1
    assert reading.problems[0].startswith("line 6: ")


def test_edited_entry_keeps_its_id() -> None:
    entry = make("Before", type=Type.DECISION)
    found = read(log_of([entry]).replace("Before", "After")).entries[0].entry.item
    assert (found.id, found.content, found.type) == (entry.item.id, "After", Type.DECISION)


def test_bytes_that_are_not_utf8_are_shown_and_reported() -> None:
    reading = read("- caf\udce9\n")
    assert [found.entry.item.content for found in reading.entries] == ["caf\ufffd"]
    assert reading.problems == ("the file has bytes that are not UTF-8",)


def test_problems_name_their_line() -> None:
    assert read(f"# t\n\n{MARKED.replace('source: c', 'source: c · kind: odd')}").problems == (
        "line 3: kind 'odd' cannot be read",
    )


def test_empty_hand_written_heading_is_no_memory() -> None:
    assert contents_of("## 14:30\n\n## 14:31 decision\n") == []


def test_hand_written_text_is_a_persons_on_the_files_day() -> None:
    found = read("- milk\n").entries[0].entry
    assert found.by.actor == "human"
    assert found.item.source == "file"
    assert found.item.created_at == datetime(2026, 11, 14, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "```x\n" * 26_000,
        "".join("`" * length + "\n" for length in range(500, 2, -1)),
        "<!--\n" * 26_000,
        "## " + " ^M-1-00000000" * 9_000 + "x",
        "\\" * 130_000,
        "- " * 65_000,
        "```\n## 14:30\n```\n" * 8_000,
        " \t" * 65_000,
        "a: b · " * 18_000,
        "-" * 130_000,
    ],
)
def test_hostile_files_are_read_quickly(text: str) -> None:
    start = time.process_time()
    read(text)
    read("## 14:30\n" + text)
    assert time.process_time() - start < 2
