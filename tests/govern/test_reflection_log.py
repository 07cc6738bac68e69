"""What reflections leave behind: a log that is read back, a page that stays within its limit and keeps your words."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memfolio.govern.reflection.log import TITLE, Reflected, entry, evolve, in_short, read_log
from memfolio.govern.reflection.page import Insights
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
        ),
        max_size=4,
    )
)
def test_log_is_read_back(log: list[Reflected]) -> None:
    assert read_log(TITLE + "\n".join(entry(each, "because") for each in log)) == log
    assert read_log("# Notes\n\n## Reflection 1 — 2026-99-99, approved\n## Lunch\n") == []


def test_evolution_stays_within_its_limit_and_keeps_what_it_learned_and_what_a_person_wrote() -> None:
    text, log, longest = "", list[Reflected](), 0
    for number in range(1, 101):
        log.append(reflected(number))
        insights = Insights(theme=f"Theme {number}: people like tea in the morning.", learning="Short is better.")
        text = evolve(text, log, insights, LIMIT, in_short)
        if number == 3:
            text = text.replace("## Insights", "- Ask about the garden\n\n## Insights")
            text = (
                text.replace("- Reflection 2, learning", "My own words on it.\n- Reflection 2, learning")
                + "\n## Mine\n\nKeep this.\n\n## Mine\nThat too.\n"
            )
        longest = max(longest, estimate_tokens(text))
        if number in (10, 25, 50, 100):
            assert f", after {number} reflections** ({log[-1].at}): " in text
    assert longest <= LIMIT
    for words in (
        "- Ask about the garden",
        "My own words on it.",
        "## Mine\n\nKeep this.",
        "That too.",
        "- Reflection 100, theme: ",
    ):
        assert text.count(words) == 1
    assert "- tea — in 10 of the last 10 reflections" in text
    assert "- Still at it? — asked in 5 reflections" in text
    assert "At first it was tea (50), work (29)" in text
    assert "Theme 1:" not in text


def test_model_words_the_summary() -> None:
    log = [reflected(number) for number in range(1, 11)]
    asked: list[list[str]] = []

    def summarise(texts: list[str], limit: int) -> str:
        asked.append(list(texts))
        return "Tea, above all."

    text = evolve("", log, Insights(theme="Tea."), LIMIT, summarise)  # type: ignore[arg-type]
    assert "**What recurs, after 10 reflections** (2026-01-11): Tea, above all." in text
    assert "Mostly about tea (10)" in asked[0][0]
    assert asked[0][1:] == ["Tea."]
