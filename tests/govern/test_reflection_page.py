"""The page of a reflection: what is written is read back, a person's edits count, and nothing is dropped unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.errors import ContentError
from memfolio.govern.reflection.item import Findings, Insights, Item, Verb
from memfolio.govern.reflection.page import Footer, arranged, parse, render
from memfolio.types import Type

A, B = "M-1794753005123-a3f2c91d", "M-1794753005124-00000001"
FOOTER = Footer(number=5, at=datetime(2026, 11, 15, 3), budget=8000, reviewed=4, next_at=datetime(2026, 11, 16, 3))
SAMPLE = Findings(
    items=(
        Item(
            verb=Verb.LEARN,
            text="Alex prefers hybrid approaches",
            type=Type.PREFERENCE,
            confidence=0.8,
            sources=(A,),
            quotes={A: "Chose the hybrid approach"},
            why="said on two days",
        ),
        Item(verb=Verb.CONNECT, subject="person--alex", predicate="works-on", object="project--memfolio"),
        Item(verb=Verb.ARCHIVE, memory=B, quotes={B: "A CSS bug"}, why="score 0.03"),
        Item(verb=Verb.RESOLVE, memory=A, by=B, quotes={A: "Alex lives in Zürich", B: "Alex lives in Bern"}),
        Item(verb=Verb.CORE, text="Active Context", removed=("Research",), added=("Design",)),
        Item(verb=Verb.MERGE, subject="person--alex", object="person--alexander"),
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
TEXT = st.one_of(ODD, st.lists(ODD, max_size=3).map("\n".join), st.text(CHARACTERS)).filter(str.strip)
IDS = st.sampled_from([A, B, "H-0123456789abcdef", "person--alex", "org--straße.2"])
QUOTES = st.dictionaries(IDS, TEXT, max_size=3)
ITEMS = st.one_of(
    st.builds(
        Item,
        verb=st.just(Verb.LEARN),
        text=TEXT,
        type=st.sampled_from(Type),
        confidence=st.floats(0, 1),
        sources=st.lists(IDS, unique=True).map(tuple),
        why=st.just("") | TEXT,
        quotes=QUOTES,
    ),
    st.builds(Item, verb=st.just(Verb.ARCHIVE), memory=IDS, why=st.just("") | TEXT, quotes=QUOTES),
    st.builds(Item, verb=st.just(Verb.RESOLVE), memory=IDS, by=IDS, why=st.just("") | TEXT, quotes=QUOTES),
    st.builds(Item, verb=st.just(Verb.MERGE), subject=IDS, object=IDS, why=st.just("") | TEXT, quotes=QUOTES),
    st.builds(
        Item,
        verb=st.just(Verb.CONNECT),
        subject=IDS,
        predicate=st.from_regex(r"[\w-]+", fullmatch=True),
        object=IDS,
        sources=st.lists(IDS, unique=True).map(tuple),
        why=st.just("") | TEXT,
        quotes=QUOTES,
    ),
    st.builds(
        Item,
        verb=st.just(Verb.CORE),
        text=st.sampled_from(["Active Context", "# mine", "Persona"]),
        removed=st.lists(TEXT, min_size=1, max_size=3).map(tuple),
        added=st.lists(TEXT, max_size=3).map(tuple),
        why=st.just("") | TEXT,
    ),
)


@given(st.lists(ITEMS, max_size=4) | st.lists(ITEMS, min_size=10, max_size=11), st.lists(TEXT, max_size=2), TEXT)
def test_what_is_written_is_read_back(items: list[Item], questions: list[str], theme: str) -> None:
    findings = Findings(items=tuple(items), questions=tuple(questions), insights=Insights(theme=theme))
    text = render(findings, FOOTER)
    written = parse(text)
    assert tuple(written.items.values()) == arranged(items)
    assert list(written.items) == list(range(1, len(items) + 1))
    assert written.questions == tuple(questions)
    assert parse(text.replace("\n", "\r\n")).items.keys() == written.items.keys()


def test_page_reads_as_the_specification_has_it() -> None:
    text = render(SAMPLE, FOOTER)
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
    assert "Nothing to change." in render(Findings(), FOOTER)


def test_edits_of_a_person_count() -> None:
    text = (
        render(SAMPLE, FOOTER).replace("Alex prefers hybrid approaches", "Alex likes both").replace("+ Design", "+ Y")
    )
    start, end = text.index("## 📦"), text.index("## 🧠")
    items = parse(text[:start] + "> I want to keep that.\n\n" + text[end:]).items
    assert list(items) == [1, 2, 3, 5, 6]
    assert (items[5].text, items[1].added) == ("Alex likes both", ("Y",))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace("(preference, 0.8)", "(preference)"), "does not say what to learn"),
        (lambda text: text.replace("(preference, 0.8)", "(wish, 0.8)"), "no type"),
        (lambda text: text.replace("(preference, 0.8)", "(preference, 8)"), "no confidence"),
        (lambda text: text.replace("## 📦 Proposed Archival", "## Trash"), "heading that nobody knows"),
        (lambda text: text.replace("   ```\n", "", 1), "neither - nor +"),
        (lambda text: text.replace("   + Design", "   Design"), "neither - nor +"),
        (lambda text: text.replace("   + Design\n", "").replace("   - Research\n", ""), "says nothing"),
        (lambda text: text.replace("   - instead of: ", "   - rather than: "), "instead of none"),
        (lambda text: text.replace("5. Alex", "6. Alex"), "second item 6"),
        (lambda text: text.replace("5. Alex", "Alex"), "neither an item"),
        (lambda text: text.replace(f"({A})", "(the first)"), "by its id"),
        (lambda text: text.replace("- Research", "- Research\\").replace("   ```\n", "", 1), "neither - nor +"),
        (lambda text: text[: text.index("---")], "no --- comes behind"),
        (lambda text: text[: text.index("   ```diff")], "not the beginning"),
    ],
)
def test_line_that_makes_no_sense_is_named(change: Callable[[str], str], says: str) -> None:
    with pytest.raises(ContentError, match=rf"line \d+ .*{says.replace('+', '[+]')}"):
        parse(change(render(SAMPLE, FOOTER)))
