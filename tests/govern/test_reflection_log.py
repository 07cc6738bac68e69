"""What reflections leave behind: a log that is read back, a page that stays within its limit and keeps your words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memfolio.govern.reflection.page import LOG_TITLE, Reflected, entry, evolve, in_short, read_log
from memfolio.text import estimate_tokens

LIMIT = 600
DAY = date(2026, 1, 1)
WORDS = st.from_regex(r"\w[\w ?!-]*\w", fullmatch=True).map(lambda text: " ".join(text.split()))


def reflected(number: int) -> Reflected:
    topics = ("tea", "work" if number < 30 else "garden", f"topic {number}")
    return Reflected(
        number=number,
        at=DAY + timedelta(days=number),
        outcome="rejected" if number % 7 == 0 else "approved",
        counts={"learn": number % 5, "core": 1},
        topics=topics,
        questions=("Still at it?",) if number % 2 else (),
        learned=(f"Alex likes tea {number}",),
        dropped=(f"Alex likes tea {number - 8}",) if number > 8 else (),
    )


@given(
    st.lists(
        st.builds(
            Reflected,
            number=st.integers(1, 999),
            at=st.dates(min_value=DAY),
            outcome=st.sampled_from(["approved", "partly approved", "rejected"]),
            counts=st.dictionaries(st.sampled_from(["learn", "core", "merge"]), st.integers(0, 99)),
            topics=st.lists(WORDS, max_size=3).map(tuple),
            questions=st.lists(WORDS, max_size=2).map(tuple),
            learned=st.lists(WORDS, max_size=2).map(tuple),
            dropped=st.lists(WORDS, max_size=2).map(tuple),
            insights=st.lists(WORDS, max_size=2).map(tuple),
        ),
        max_size=4,
    )
)
def test_log_is_read_back(log: list[Reflected]) -> None:
    assert read_log(LOG_TITLE + "\n".join(entry(each, "because") for each in log)) == log
    assert read_log("# Notes\n\n## Reflection 1 — 2026-99-99, approved\n## Lunch\n") == []


def test_evolution_is_one_paragraph_a_milestone_and_keeps_what_a_person_wrote() -> None:
    text, log, longest = "", list[Reflected](), 0
    for number in range(1, 101):
        log.append(reflected(number))
        text = evolve(text, log, LIMIT, in_short)
        if number == 9:
            assert text == ""
        if number == 10:
            assert text.count("\n\n") == 2
            assert "Learned since 2026-01-02: Alex likes tea 3; " in text
            assert "No longer so: Alex likes tea 1; Alex likes tea 2. Mostly about tea, work." in text
            text = text.replace("## Summary", "## Summary\n\nMy own words on it.")
            text += "\n## Insights\n\n- Reflection 2, learning: You approved 3 facts.\n- Ask about the garden\n"
            text += "\n## Mine\n\nKeep this.\n\n## Mine\nThat too.\n"
        longest = max(longest, estimate_tokens(text))
        if number in (10, 25, 50, 100):
            assert f", after {number} reflections** ({log[-1].at}): " in text
    assert longest <= LIMIT
    for words in ("- Ask about the garden", "My own words on it.", "## Mine\n\nKeep this.", "That too."):
        assert text.count(words) == 1
    assert "You approved" not in text


def test_milestone_at_which_nothing_became_known_is_not_told() -> None:
    log = [replace(reflected(number), learned=(), dropped=()) for number in range(1, 11)]
    assert evolve("", log, LIMIT, in_short) == ""


def test_model_words_the_summary() -> None:
    log = [replace(reflected(number), insights=("Tea.",)) for number in range(1, 11)]
    asked: list[list[str]] = []

    def summarise(texts: Sequence[str], limit: int) -> str:
        asked.append(list(texts))
        return "Tea, above all."

    text = evolve("", log, LIMIT, summarise)
    assert "**What became known, after 10 reflections** (2026-01-11): Tea, above all." in text
    assert "Learned since 2026-01-02" in asked[0][0]
    assert asked[0].count("Tea.") == 1
