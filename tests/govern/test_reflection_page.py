"""The page of a reflection: what is written is read back, a person's edits count, and nothing is dropped unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import ContentError
from memfolio.govern.reflection import page
from memfolio.govern.reflection.page import (
    Findings,
    Insights,
    ReflectionItem,
    ReflectionVerb,
    arranged,
    one_line,
    parse,
)
from memfolio.types import Type

A, B = "M-1794753005123-a3f2c91d", "M-1794753005124-00000001"
DAY, NEXT = datetime(2026, 11, 15, 3), datetime(2026, 11, 16, 3)
render = partial(page.render, number=5, at=DAY, budget=8000, reviewed=4, next_at=NEXT)
SAMPLE = Findings(
    items=(
        ReflectionItem(
            verb=ReflectionVerb.LEARN,
            text="Alex prefers hybrid approaches",
            type=Type.PREFERENCE,
            confidence=0.8,
            sources=(A,),
            quotes={A: "Chose the hybrid approach"},
            why="said on two days",
        ),
        ReflectionItem(
            verb=ReflectionVerb.CONNECT, subject="person--alex", predicate="works-on", object="project--memfolio"
        ),
        ReflectionItem(verb=ReflectionVerb.ARCHIVE, memory=B, quotes={B: "A CSS bug"}, why="score 0.03"),
        ReflectionItem(
            verb=ReflectionVerb.RESOLVE, memory=A, by=B, quotes={A: "Alex lives in Zürich", B: "Alex lives in Bern"}
        ),
        ReflectionItem(verb=ReflectionVerb.CORE, text="Active Context", removed=("Research",), added=("Design",)),
        ReflectionItem(verb=ReflectionVerb.MERGE, subject="person--alex", object="person--alexander"),
    ),
    insights=Insights(theme="Both, rather than one of two."),
    questions=("Should this be pinned?",),
    topics=("memory", "tea"),
    looked_at={"episodes": 23, "entities": 8},
)

ODD = st.sampled_from(
    [
        *("1. one", "## 🧠 New Knowledge Extracted", "```diff\n- a\n```", "- why: x", "+ y", "> z", "---", "a — b → c"),
        *("(fact, 0.7)", f"({A})", "C:\\tmp\\", "\\\n\\", "<!-- -->", "a\n\n   b", "— ü 🪞\u2028x\r", "\\— \\#"),
    ]
)
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXT = st.one_of(ODD, st.lists(ODD, max_size=3).map("\n".join), st.text(CHARACTERS)).filter(one_line)
IDS = st.sampled_from([A, B, "H-0123456789abcdef", "person--alex", "org--straße.2"])
SOURCES = st.lists(IDS, unique=True).map(tuple)


def made(verb: ReflectionVerb, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[ReflectionItem]:
    quotes = st.dictionaries(IDS, TEXT, max_size=3)
    return st.builds(ReflectionItem, verb=st.just(verb), why=st.just("") | TEXT, quotes=quotes, **fields)


LINES = st.lists(TEXT, min_size=1, max_size=3).map(tuple)
ITEMS = st.one_of(
    made(
        ReflectionVerb.LEARN,
        text=TEXT,
        type=st.sampled_from(Type),
        confidence=st.floats(0, 1),
        sources=SOURCES,
        memory=IDS,
    ),
    made(ReflectionVerb.ARCHIVE, memory=IDS),
    made(ReflectionVerb.RESOLVE, memory=IDS, by=IDS),
    made(ReflectionVerb.MERGE, subject=IDS, object=IDS),
    made(
        ReflectionVerb.CONNECT,
        subject=IDS,
        predicate=st.from_regex(r"[\w-]+", fullmatch=True),
        object=IDS,
        sources=SOURCES,
    ),
    made(
        ReflectionVerb.CORE, text=st.sampled_from(["Active Context", "# mine", "Persona"]), removed=LINES, added=LINES
    ),
)


def in_lines(item: ReflectionItem) -> ReflectionItem:
    """What the page tells of an item: its words in one line each, and no quotes."""
    removed, added = tuple(map(one_line, item.removed)), tuple(map(one_line, item.added))
    return replace(item, text=one_line(item.text), why=one_line(item.why), removed=removed, added=added, quotes={})


@given(st.lists(ITEMS, max_size=4) | st.lists(ITEMS, min_size=10, max_size=11), st.lists(TEXT, max_size=2), TEXT)
def test_what_is_written_is_read_back(items: list[ReflectionItem], questions: list[str], theme: str) -> None:
    findings = Findings(items=tuple(items), questions=tuple(questions), insights=Insights(theme=theme))
    text = render(findings)
    written = parse(text)
    assert tuple(written.items.values()) == tuple(map(in_lines, arranged(items)))
    assert list(written.items) == list(range(1, len(items) + 1))
    assert (written.questions, written.insights.theme) == (tuple(map(one_line, questions)), one_line(theme))
    assert parse(text.replace("\n", "\r\n")) == written


def test_signs_that_hide_or_turn_words_are_left_out() -> None:
    hidden = "a\u202ekcatta\u202c\u2066b\u2069 \u200bc\ufeff\U000e0041"
    told = replace(SAMPLE.items[0], text=hidden, why=hidden, quotes={A: hidden})
    core = ReflectionItem(verb=ReflectionVerb.CORE, text="Persona", added=(hidden, "👩\u200d🚀"))
    text = render(Findings(items=(told, core), questions=(hidden,), topics=(hidden,), insights=Insights(theme=hidden)))
    assert not set(hidden) & set(text) - set("akctb c")
    assert text.count("akcattab c") == 7
    assert "👩\u200d🚀" in text
    assert parse(text).items[2].marks == told.marks


def test_page_reads_as_the_specification_has_it() -> None:
    text = render(SAMPLE)
    written = parse(text)
    assert (written.insights, written.questions, written.topics) == (SAMPLE.insights, SAMPLE.questions, SAMPLE.topics)
    for line in (
        "# Reflection Summary — 2026-11-15",
        "1. Active Context\n   ```diff\n   - Research\n   + Design\n   ```\n",
        "5. Alex prefers hybrid approaches (preference, 0.8)\n   - from: Chose the hybrid approach (M-1794",
        "6. person--alex → works-on → project--memfolio\n",
        "**Reflection #**: 5",
        "/ 8,000",
        "**Memories processed**: 23 episodes, 8 entities",
        "**Reflections reviewed**: 4 past reflections",
        "**Next scheduled reflection**: 2026-11-16 03:00",
        "`memfolio approve --except 3,7`",
    ):
        assert line in text
    assert "Nothing to change." in render(Findings())


def test_edits_of_a_person_count() -> None:
    text = render(SAMPLE).replace("Alex prefers hybrid approaches", "Alex likes both").replace("+ Design", "+ Y")
    start, end = text.index("## 📦"), text.index("## 🧠")
    items = parse(text[:start] + "> I want to keep that.\n\n" + text[end:]).items
    assert list(items) == [1, 2, 3, 5, 6]
    assert (items[5].text, items[1].added) == ("Alex likes both", ("Y",))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace("(preference, 0.8)", "(preference)"), "does not say what to learn"),
        (lambda text: text.replace("(preference, 0.8)", "(wish, 0.8)"), "needs a type"),
        (lambda text: text.replace("(preference, 0.8)", "(preference, 8)"), "a confidence from 0 to 1"),
        (lambda text: text.replace("## 📦 Proposed Archival", "## Trash"), "heading that nobody knows"),
        (lambda text: text.replace("   ```\n", "", 1), "no end"),
        (lambda text: text.replace("   + Design", "   Design"), "neither - nor +"),
        (lambda text: text.replace("   + Design\n", "").replace("   - Research\n", ""), "says nothing"),
        (lambda text: text.replace("   - instead of: ", "   - rather than: "), "neither an item"),
        (lambda text: text.replace("5. Alex", "6. Alex"), "second item 6"),
        (lambda text: text.replace("5. Alex", "Alex"), "neither an item"),
        (lambda text: text.replace("6. person", "person"), "neither an item"),
        (lambda text: text.replace("### Emergent Theme", "### Trend"), "no insight"),
        (lambda text: text.replace("- Should this", "Should this"), "not a question"),
        (lambda text: text.replace(f"({A})", "(the first)"), "by its id"),
        (lambda text: text[: text.index("---")], "no --- comes behind"),
        (lambda text: text.replace("   ```diff\n", ""), "neither an item"),
    ],
)
def test_line_that_makes_no_sense_is_named(change: Callable[[str], str], says: str) -> None:
    with pytest.raises(ContentError, match=rf"line \d+ .*{says.replace('+', '[+]')}"):
        parse(change(render(SAMPLE)))
