"""Entries are written exactly, read with tolerance, and cannot be forged by what they contain."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, get_type_hints
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import from_ms, to_ms
from memfolio.errors import ContentError, InputError, NaiveTimeError
from memfolio.types import Approval, Attribution, Kind, MemoryItem, Origin, Store, Type
from memfolio.vault.fields import (
    COMMENT_FIELDS,
    HEADING_FIELDS,
    LABEL_FIELDS,
    TIME_FIELDS,
    Draft,
    Entry,
    ParsedEntry,
    check_content,
    is_whole,
    local,
    normalise_content,
    parse_entry,
    text_id,
)
from tests.conftest import many
from tests.vault.minting import mint, render_entry

BERLIN = ZoneInfo("Europe/Berlin")
ZONES: tuple[tzinfo, ...] = (
    UTC,
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kathmandu"),
    timezone(timedelta(hours=-12)),
)
MS = 1794753005123
DAY = date(2026, 11, 15)
NOW = from_ms(MS)
MAX_MS = 253_402_300_799_999

ADVERSARIAL = st.sampled_from(
    [
        "## 14:30:05 decision · 0.8 ^M-1794753005123-a3f2c91d",
        "## 14:30",
        "## 9:15 | fact | confidence:high",
        "\\## 14:30",
        "\\\\## x ^M-1-00000000",
        "## ^M-1-00000000 \t",
        "<!-- {} -->",
        '<!-- {"key":"x"} -->',
        "-->",
        "source: conversation · session: s",
        "```",
        "~~~",
        "---",
        "- bullet <!-- importance: 7 -->",
        "\r",
        "\r\n",
        "\n",
        "\n\n",
        "\u2028",
        "\u2029",
        "\x85",
        "\x0c",
        "\x0b",
        "\x1c",
        "\ufeff",
        " ",
        "·",
        "\\",
        "#",
        "^",
    ]
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
contents = st.lists(ADVERSARIAL | texts, min_size=1, max_size=8).map("".join).filter(normalise_content)
moments = st.datetimes(timezones=st.sampled_from(ZONES)).filter(lambda moment: 2 <= moment.year <= 9998)
folds = st.integers(0, 7200).map(lambda s: datetime(2026, 10, 25, 0, 0, tzinfo=UTC) + timedelta(seconds=s))
created = st.integers(0, MAX_MS) | folds.map(to_ms) | st.just(to_ms(datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC)))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts | ADVERSARIAL,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3),
    max_leaves=6,
)
words = st.none() | texts | ADVERSARIAL | st.sampled_from(["s-42", "user", "a:b"])
fractions = st.floats(0, 1) | st.sampled_from([0, 1, 0.5, 1e-7])
actors = st.sampled_from(
    ["bot:auto-detect", "bot:trigger-remember", "bot:trigger-forget", "human", "system", "skill:x"]
)
attributions = st.builds(
    Attribution, actor=actors, approval=st.sampled_from(Approval), trigger=st.sampled_from(["observe", "edit", "cron"])
)
drafts = st.builds(
    MemoryItem,
    id=st.just(""),
    content=contents,
    created_at=st.just(NOW),
    type=st.sampled_from(Type),
    kind=st.sampled_from(Kind),
    store=st.sampled_from(Store),
    user=words,
    importance=fractions,
    confidence=fractions,
    tags=st.lists(texts | st.sampled_from(["memory", "a/b-c", "größe", "two words"]), max_size=3).map(tuple),
    source=words.map(lambda word: "conversation" if word is None else word),
    role=words,
    session=words,
    origin=st.sampled_from(Origin),
    event_time=st.none() | moments,
    valid_from=st.none() | moments,
    valid_until=st.none() | moments,
    decay_rate=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    derived_from=st.lists(texts, max_size=2).map(tuple),
    attributes=st.dictionaries(texts, plain, max_size=3),
    key=words,
)


@st.composite
def entries(draw: st.DrawFn, zone: tzinfo) -> Entry:
    return mint(draw(drafts), draw(attributions), agent="main", tz=zone, created_ms=draw(created), taken=())


def draft(content: str = "Chose the hybrid approach.", **fields: Any) -> MemoryItem:
    return MemoryItem(id="", content=content, created_at=NOW, **fields)


def entry(content: str = "Chose the hybrid approach.", *, by: Attribution | None = None, **fields: Any) -> Entry:
    item = draft(content, **fields)
    return mint(item, by or Attribution(), agent="main", tz=BERLIN, created_ms=MS, taken=())


def day_of(made: Entry, zone: tzinfo) -> date:
    return local(made.item.event_time or made.item.created_at, zone).date()


def read(block: str, *, day: date = DAY, tz: tzinfo = BERLIN) -> ParsedEntry:
    parsed = parse_entry(block, day=day, tz=tz, agent="main")
    assert parsed is not None
    return parsed


def test_entry_reads_as_designed() -> None:
    made = entry(
        "Chose the hybrid approach: one store of files, one disposable index.",
        type=Type.DECISION,
        importance=0.8,
        tags=("memory", "architecture"),
        session="s-42",
        role="user",
        confidence=0.9,
    )
    assert render_entry(made, BERLIN) == (
        f"## 15:30:05 decision · 0.8 · #memory #architecture ^{made.item.id}\n"
        "source: conversation · session: s-42 · role: user · confidence: 0.9\n"
        "\n"
        "Chose the hybrid approach: one store of files, one disposable index.\n"
    )


@many(300)
@given(st.data(), st.sampled_from(ZONES))
def test_every_entry_survives_the_round_trip(data: st.DataObject, zone: tzinfo) -> None:
    made = data.draw(entries(zone))
    block = render_entry(made, zone)
    parsed = read(block, day=day_of(made, zone), tz=zone)
    assert parsed.entry == made
    assert parsed.problems == ()
    assert render_entry(parsed.entry, zone) == block


@many(100)
@given(st.data(), st.sampled_from(ZONES))
def test_truncated_block_is_not_whole(data: st.DataObject, zone: tzinfo) -> None:
    raw = render_entry(data.draw(entries(zone)), zone).encode()
    assert is_whole(raw.decode(), "main")
    assert not is_whole(raw.decode(), "other")
    for cut in range(len(raw) - 1):
        assert not is_whole(raw[:cut].decode("utf-8", "surrogateescape"), "main")


def test_block_without_its_last_line_end_or_with_others_is_whole() -> None:
    block = render_entry(entry("one\ntwo"), BERLIN)
    assert is_whole(block.rstrip("\n"), "main")
    assert is_whole(block + "\n\n", "main")
    assert is_whole(block.replace("\n", "\r\n"), "main")
    assert not is_whole(block.replace("two", "2"), "main")


@many(300)
@given(st.lists(ADVERSARIAL | st.text(), max_size=8).map("".join))
def test_reading_never_raises(text: str) -> None:
    for block in (text, f"## 14:30 {text}", f"## 14:30:05 fact ^M-1-00000000\n{text}"):
        parse_entry(block, day=DAY, tz=BERLIN, agent="main")
        is_whole(block, "main")


@pytest.mark.parametrize("day", [date.min, date.max])
@pytest.mark.parametrize("zone", ZONES)
def test_ends_of_the_calendar_are_readable(day: date, zone: tzinfo) -> None:
    for clock in ("0:00", "23:59:59"):
        assert read(f"## {clock} fact\n\nx", day=day, tz=zone).entry.item.content == "x"


def test_time_of_an_id_beyond_the_calendar_does_not_count() -> None:
    assert read("## 14:30 fact ^M-999999999999999-00000000\n\nx").entry.item.id == text_id("main", "x")


def test_bad_values_fall_back_and_are_reported() -> None:
    block = (
        "## 14:30:05 fact · 99 ^M-1794753005123-00000000\n"
        "source: c · confidence: x · kind: y · store: z · origin: w · actor: martian · approval: v · trigger: two words"
        " · at: noon · valid_from: never\n\ntext\n"
    )
    parsed = read(block)
    assert parsed.entry.item.confidence == 1
    assert parsed.entry.item.valid_from is None
    assert parsed.entry.by == Attribution(source="c")
    assert len(parsed.problems) == 10


def test_broken_comment_stays_visible_in_the_content() -> None:
    parsed = read('## 14:30 fact ^M-1794753005123-00000000\nsource: c\n<!-- {"key": } -->\n\ntext')
    assert parsed.entry.item.content == '<!-- {"key": } -->\n\ntext'
    assert parsed.problems


def test_unknown_comment_keys_are_kept_as_attributes() -> None:
    parsed = read('## 14:30 fact ^M-1794753005123-00000000\n<!-- {"key":7,"mood":"good"} -->\n\ntext')
    assert parsed.entry.item.attributes == {"key": 7, "mood": "good"}
    assert len(parsed.problems) == 2


def test_heading_of_other_logs_is_understood() -> None:
    item = read("## 14:30 | decision | confidence:high | tags:[memory, architecture]\nChose it.\nAnd that.").entry.item
    assert (item.type, item.confidence, item.tags) == (Type.DECISION, 0.9, ("memory", "architecture"))
    assert item.content == "Chose it.\nAnd that."
    assert item.created_at == datetime(2026, 11, 15, 14, 30, tzinfo=BERLIN)
    assert item.id == text_id("main", item.content)


@pytest.mark.parametrize(
    ("written", "importance"),
    [("7", 0.7), ("1", 1.0), ("0", 0.0), ("10", 1.0), ("0.25", 0.25), ("HIGH", 0.9), ("medium", 0.6), ("LOW", 0.3)],
)
def test_importance_is_understood_on_every_scale(written: str, importance: float) -> None:
    assert read(f"## 14:30 fact · {written}\n\nx").entry.item.importance == importance


@pytest.mark.parametrize(
    ("word", "type_", "episode"),
    [
        ("learning", Type.LESSON, None),
        ("system_event", Type.EVENT, "system_event"),
        ("user_interaction", Type.EVENT, "user_interaction"),
        ("Picnic", Type.OBSERVATION, "Picnic"),
        ("ERROR", Type.ERROR, None),
    ],
)
def test_types_of_other_systems_are_understood(word: str, type_: Type, episode: str | None) -> None:
    item = read(f"## 14:30 {word}\n\nx").entry.item
    assert item.type is type_
    assert item.attributes.get("episode_type") == episode


def test_heading_alone_is_the_memory() -> None:
    assert read("## 14:30 - Lunch with Alex\n").entry.item.content == "Lunch with Alex"
    assert read("## 14:30 Lunch\n").entry.item.content == "Lunch"
    titled = read("## 14:30 Lunch with Alex\n\nPizza.").entry.item
    assert (titled.content, titled.attributes) == ("Pizza.", {"heading": "Lunch with Alex"})


def test_hand_written_entry_is_a_persons() -> None:
    by = read("## 14:30 fact\n\nx").entry.by
    assert (by.actor, by.approval, by.trigger) == ("human", Approval.NONE, "edit")


def test_tier_is_another_word_for_store() -> None:
    assert read("## 14:30 fact\ntier: vault\n\nx").entry.item.store is Store.VAULT


def test_unknown_meta_keys_are_kept_only_in_a_clear_meta_line() -> None:
    kept = read("## 14:30 fact\nsource: c · mood: good\n\nx").entry.item
    assert (kept.content, kept.attributes) == ("x", {"mood": "good"})
    assert read("## 14:30 fact\nmood: good\n\nx").entry.item.content == "mood: good\n\nx"
    assert read("## 14:30 fact\nsource: a book about birds").entry.item.content == "source: a book about birds"


def test_changed_heading_time_moves_the_event_and_keeps_the_id() -> None:
    made = entry()
    block = render_entry(made, BERLIN)
    assert read(block).entry.item.event_time is None
    moved = read(block.replace("## 15:30:05", "## 9:15")).entry.item
    assert moved.event_time == datetime(2026, 11, 15, 9, 15, tzinfo=BERLIN)
    assert (moved.id, moved.created_at) == (made.item.id, NOW)


def test_event_time_is_shown_with_its_offset() -> None:
    block = render_entry(entry(event_time=datetime(2026, 7, 1, 8, 0, tzinfo=UTC)), BERLIN)
    assert block.startswith("## 10:00:00 ")
    assert "at: 2026-07-01T10:00:00+02:00" in block


@pytest.mark.parametrize(("hour", "offset"), [(0, "+02:00"), (1, "+01:00")])
def test_ambiguous_hour_is_told_apart(hour: int, offset: str) -> None:
    moment = datetime(2026, 10, 25, hour, 30, 5, 250000, tzinfo=UTC)
    made = mint(draft(), Attribution(), agent="main", tz=BERLIN, created_ms=to_ms(moment), taken=())
    block = render_entry(made, BERLIN)
    assert f"at: 2026-10-25T02:30:05.250{offset}" in block
    assert read(block, day=date(2026, 10, 25)).entry == made


def test_event_at_the_moment_of_writing_needs_no_second_time() -> None:
    assert entry(event_time=NOW.astimezone(BERLIN)).item.event_time is None


def test_taken_ids_move_the_milliseconds_on() -> None:
    first = entry()
    second = mint(draft(), Attribution(), agent="main", tz=BERLIN, created_ms=MS, taken={first.item.id})
    assert second.item.id.startswith(f"M-{MS + 1}-")
    assert second.item.created_at == from_ms(MS + 1)
    assert is_whole(render_entry(second, BERLIN), "main")


def test_unsafe_tags_go_into_the_comment_in_their_order() -> None:
    block = render_entry(entry(tags=("b", "two words", "a")), BERLIN)
    assert '<!-- {"tags":["b","two words","a"]} -->' in block
    assert "#" not in block.splitlines()[0][3:]


def test_comment_cannot_be_closed_from_inside() -> None:
    block = render_entry(entry(attributes={"a": "--> <!-- --- x"}), BERLIN)
    line = block.split("\n")[2]
    assert line.count("--") == 2
    assert line.index("-->") == len(line) - 3


def test_headings_in_content_are_escaped_once() -> None:
    content = "## 14:30 x\n\\## 15:00\n## plain\n### 14:30\n## y ^M-1-00000000"
    block = render_entry(entry(content), BERLIN)
    expected = "\\## 14:30 x\n\\\\## 15:00\n## plain\n### 14:30\n\\## y ^M-1-00000000\n"
    assert block.split("\n\n", 1)[1] == expected
    assert read(block).entry.item.content == content


def test_content_has_one_normal_form() -> None:
    assert normalise_content(" \n\t\r\n  a\r\nb\rc  \n\n") == "  a\nb\nc"


@pytest.mark.parametrize(
    "attributes",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {1: "a"},
        {"a": {2: 3}},
        {"a": object()},
        {"a": 10**5000},
        {"a": "\ud800"},
    ],
)
def test_attributes_that_json_cannot_hold_are_refused(attributes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        entry(attributes=attributes)


def test_circular_attributes_are_refused() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(InputError):
        entry(attributes=circle)


@pytest.mark.parametrize(
    "fields", [{"importance": 1.5}, {"confidence": -0.1}, {"importance": float("nan")}, {"decay_rate": float("inf")}]
)
def test_numbers_out_of_range_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        entry(**fields)


def test_naive_times_are_refused() -> None:
    with pytest.raises(NaiveTimeError):
        entry(event_time=datetime(2026, 1, 1))


@pytest.mark.parametrize("ms", [-1, MAX_MS + 1])
def test_times_that_no_id_can_carry_are_refused(ms: int) -> None:
    with pytest.raises(InputError):
        mint(draft(), Attribution(), agent="main", tz=BERLIN, created_ms=ms, taken=())


def test_later_state_is_not_part_of_an_entry() -> None:
    made = entry(pinned=True, access_count=3, accessed_at=NOW, superseded_by="M-1-00000000", forgotten_at=NOW)
    assert made.item == replace(entry().item, id=made.item.id)


@pytest.mark.parametrize("text", ["", " \n\t", "a\0b", "a\ud800b", "x" * 11, "ä" * 6])
def test_unfit_content_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(ContentError) as caught:
        check_content(text, 10)
    assert caught.value.hint


def test_fit_content_is_accepted() -> None:
    check_content("ä" * 5, 10)


def test_blank_content_cannot_be_minted() -> None:
    with pytest.raises(ContentError):
        entry(" \n ")


def test_emptied_entry_keeps_its_id_and_is_reported() -> None:
    parsed = read("## 14:30 fact ^M-1794753005123-00000000\nsource: c\n\n")
    assert parsed.entry.item.id == "M-1794753005123-00000000"
    assert parsed.problems == ("the entry has no content",)


def test_an_untouched_entry_keeps_its_time_when_the_home_moves_to_another_zone() -> None:
    draft = MemoryItem(id="", content="lunch", created_at=NOW)
    entry = mint(draft, Attribution(), agent="main", tz=UTC, created_ms=MS, taken=())
    block = render_entry(entry, UTC)
    there = parse_entry(block, day=DAY, tz=ZoneInfo("Asia/Tokyo"), agent="main")
    assert there is not None
    assert there.entry.item.event_time is None


def test_every_field_of_a_memory_that_is_made_has_its_place_in_an_entry() -> None:
    written = (*HEADING_FIELDS, *LABEL_FIELDS, *TIME_FIELDS, *COMMENT_FIELDS)
    names = {"event_time" if field.name == "at" else field.name for field in written}
    assert {*names, "content", "attributes"} == set(Draft._fields)


def test_a_draft_has_the_fields_of_a_memory_with_the_same_types_and_defaults() -> None:
    later = {"id", "created_at", "accessed_at", "access_count", "pinned", "superseded_by", "forgotten_at", "fate"}
    made, drafted = MemoryItem(id="", content="", created_at=NOW), Draft(content="")
    types = get_type_hints(MemoryItem)
    assert get_type_hints(Draft) == {name: types[name] for name in types if name not in later}
    assert {name: getattr(made, name) for name in Draft._fields} == drafted._asdict()
