"""What is remembered of the lines of one entry changes nothing about how another one is read."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memfolio.clock import from_ms, to_ms
from memfolio.types import EMPTY, Attribution, MemoryItem
from memfolio.vault.fields import (
    HEADING,
    Entry,
    FieldValues,
    _label,
    _words,
    parse_entry,
    read_label,
    without_surrogates,
)
from memfolio.vault.log import read_log, split_log
from memfolio.vault.paths import title_line
from tests.conftest import many
from tests.vault.minting import mint, render_entry
from tests.vault.test_entry import ADVERSARIAL, BERLIN, DAY, MS, ZONES, day_of, entries, entry
from tests.vault.test_log import documents

ODD_ZONES: tuple[tzinfo, ...] = (*ZONES, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Africa/Monrovia"))
WRITTEN = (
    "## 15:30:05 fact · 0.5 · #a #b ^M-1794753005123-00000000\nsource: c · session: s · role: user\n\nText of it.\n"
)
COMMENTS = (
    '{"attributes":{"a":1.0,"b":1}}',
    '{"attributes":{}}',
    '{"attributes":[]}',
    '{"attributes":0}',
    '{"attributes":null,"key":null}',
    '{"attributes":"x","key":"k"}',
    '{"key":7}',
    '{"key":"\\ud800"}',
    '{"decay_rate":3}',
    '{"decay_rate":-0.0}',
    '{"decay_rate":true}',
    '{"decay_rate":99999999999999999999999}',
    '{"decay_rate":1e999}',
    '{"derived_from":["a","b"]}',
    '{"derived_from":["a",1]}',
    '{"derived_from":"ab"}',
    '{"session":"s t"}',
    '{"tags":["two words"]}',
    '{"mood":"good"}',
    "{}",
    '{"key": }',
)
INSERTED = ADVERSARIAL | st.sampled_from(
    [
        " · at: 2026-11-15T14:30:05+01:00",
        " · at: 2026-11-15T14:30:05.123Z",
        " · at: 2026-11-15",
        " · at: 2026-11-15·14:30",
        " · at: 2026-11-15 14:30\r",
        " · AT: 2026-11-15",
        " · at: ",
        " · at: noon",
        " · valid_from: 2026-01-01",
        " · type: decision",
        " · importance: 0.9",
        " · tags: a, b",
        " · kind: semantic",
        " · kind: odd",
        " · tier: vault",
        " · mood: good",
        " · session:",
        " · actor: martian",
        " · user: two words",
        "Lunch with Alex",
        *(f"\n<!-- {comment} -->" for comment in COMMENTS),
        "0",
        "1",
        "9",
        ":",
        "99999999",
    ]
)


@st.composite
def logs(draw: st.DrawFn) -> tuple[str, date, tzinfo]:
    """Entries as they are written, under the day of the first of them; the home may have moved since."""
    zone = draw(st.sampled_from(ODD_ZONES))
    made = draw(st.lists(entries(zone), min_size=1, max_size=3))
    day = day_of(made[0], zone)
    text = f"{title_line(day)}\n\n" + "\n".join(render_entry(each, zone) for each in made)
    return text, day, draw(st.just(zone) | st.sampled_from(ODD_ZONES))


@st.composite
def edited(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from([_with, _without, _overwritten, _repeated, _dropped, _lengthened, _reended]))(
            draw, text
        )
    return text


def _with(draw: st.DrawFn, text: str) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(INSERTED) + text[at:]


def _without(draw: st.DrawFn, text: str) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + text[at + draw(st.integers(1, 3)) :]


def _overwritten(draw: st.DrawFn, text: str) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from("0123456789: ·-^#\tTZ+.xä")) + text[at + 1 :]


def _repeated(draw: st.DrawFn, text: str) -> str:
    lines, at = _line(draw, text)
    return "\n".join([*lines[:at], lines[at], *lines[at:]])


def _dropped(draw: st.DrawFn, text: str) -> str:
    lines, at = _line(draw, text)
    return "\n".join([*lines[:at], *lines[at + 1 :]])


def _lengthened(draw: st.DrawFn, text: str) -> str:
    lines, at = _line(draw, text)
    return "\n".join([*lines[:at], lines[at] + draw(INSERTED), *lines[at + 1 :]])


def _reended(draw: st.DrawFn, text: str) -> str:
    return draw(st.sampled_from([text.replace("\n", "\r\n"), text.rstrip("\n"), text + "\n\n", text.rstrip() + " "]))


def _line(draw: st.DrawFn, text: str) -> tuple[list[str], int]:
    lines = text.split("\n")
    return lines, draw(st.integers(0, len(lines) - 1))


def read(text: str, *, day: date = DAY, tz: tzinfo = BERLIN) -> Entry:
    parsed = parse_entry(text, day=day, tz=tz, agent="main")
    assert parsed
    return parsed.entry


def check(text: str, day: date, zone: tzinfo) -> None:
    """Compare what is read of a log with what is read of each of its lines for the first time.

    The shown forms are compared: they tell 1 from 1.0, one time zone from another, and a dict from a read-only one.
    """
    remembered = read_log(text, day=day, tz=zone, agent="main")
    for line in without_surrogates(text).split("\n"):
        label = read_label(line, zone)
        assert (repr(label) if label is None else _sorted(label)) == (
            repr(label) if (whole := _label.__wrapped__(line, zone)) is None else _sorted(whole)
        )
    _label.cache_clear()
    _words.cache_clear()
    assert repr(read_log(text, day=day, tz=zone, agent="main")) == repr(remembered)


def _sorted(label: FieldValues) -> str:
    return repr((sorted(label.values.items()), sorted(label.attributes.items()), sorted(label.problems)))


@many(300)
@given(logs())
def test_written_entries_are_read_alike(log: tuple[str, date, tzinfo]) -> None:
    check(*log)


@many(500)
@given(st.data(), logs())
def test_edited_entries_are_read_alike(data: st.DataObject, log: tuple[str, date, tzinfo]) -> None:
    text, day, zone = log
    check(data.draw(edited(st.just(text))), day, zone)


@many(1000)
@given(edited(st.just(WRITTEN)), st.sampled_from(ODD_ZONES))
@example(WRITTEN.replace("role: user", "at: 2026-11-15·14:30"), BERLIN)
@example(WRITTEN.replace("role: user", "role: user · at: 2026-11-15T14:30:05.123Z"), BERLIN)
@example(WRITTEN.replace("15:30:05", "25:30:05").replace("role: user", "at: 2026-11-15T14:30:05Z"), BERLIN)
@example(WRITTEN.replace("M-1794753005123", "M-999999999999999"), BERLIN)
@example(WRITTEN.replace("source: c · session: s · role: user", "## 15:30 fact"), BERLIN)
def test_an_entry_edited_by_little_is_read_alike(text: str, zone: tzinfo) -> None:
    check(text, DAY, zone)


@pytest.mark.parametrize("comment", COMMENTS)
def test_every_comment_is_read_alike(comment: str) -> None:
    check(WRITTEN.replace("role: user\n", f"role: user\n<!-- {comment} -->\n"), DAY, BERLIN)


@many(300)
@given(documents, st.sampled_from(ODD_ZONES))
def test_any_document_is_read_alike(text: str, zone: tzinfo) -> None:
    check(text, DAY, zone)


@many(300)
@given(documents.filter(lambda text: "```" not in text and "~~~" not in text))
@example("\ufeff## 14:30\n### 14:30\n\ufeff## 14:30\n## ^M-1-00000000")
def test_entries_start_at_every_heading_line(text: str) -> None:
    starts = [match.start() for match in re.finditer(rf"(?m)(?:^|(?<=\A\ufeff)){HEADING}", text)]
    assert [block.start for block in split_log(text, "main") if block.kind == "entry"] == starts


@many(100)
@given(
    st.integers(0, 7200).map(lambda s: datetime(2026, 10, 25, tzinfo=UTC) + timedelta(seconds=s))
    | st.integers(0, 7200).map(lambda s: datetime(2026, 3, 29, tzinfo=UTC) + timedelta(seconds=s))
)
def test_hours_in_which_the_clock_is_set_are_read_as_they_were_written(moment: datetime) -> None:
    draft = MemoryItem(id="", content="x", created_at=moment)
    made = mint(draft, Attribution(), agent="main", tz=BERLIN, created_ms=to_ms(moment), taken=())
    assert read(render_entry(made, BERLIN), day=day_of(made, BERLIN)) == made


@pytest.mark.parametrize(
    "made",
    [
        entry(),
        entry("## 14:30 x\n\n  ^ [ ] ```"),
        entry("  indented"),
        entry(session="s-42", role="user", user="alex", tags=("memory", "größe"), importance=0.8, confidence=0.25),
        entry(event_time=datetime(2026, 11, 15, 8, 0, tzinfo=UTC)),
        entry(attributes={"mood": "good", "n": [1, 2.0]}, key="k", derived_from=("a",), decay_rate=2),
        entry(by=Attribution(actor="human", trigger="cron")),
    ],
)
def test_what_is_written_is_read(made: Entry) -> None:
    assert read(render_entry(made, BERLIN)) == made


@pytest.mark.parametrize("heading", ["", "Lunch · "])
def test_entries_share_nothing_that_can_be_changed(heading: str) -> None:
    block = render_entry(entry(attributes={"mood": "good"}), BERLIN).replace("· 0.5", f"· {heading}0.5")
    first, second = read(block), read(block)
    assert first.item.attributes == second.item.attributes
    assert first.item.attributes is not second.item.attributes
    assert read(WRITTEN).item.attributes is EMPTY


def test_moment_of_an_entry_is_that_of_its_id() -> None:
    found = read(WRITTEN)
    assert found.item.created_at == from_ms(MS)
    assert found.item.event_time is None
