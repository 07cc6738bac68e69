"""Many entries that return to a log at once stand where they would stand had each returned on its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memfolio.vault.cut import cut, excerpts, gaps, with_entries, with_entry

LOG = "agents/main/memory/2026-11-15.md"
BODIES = st.sampled_from(
    [
        "Plain words",
        "```\n## 10:00:00 note · 0.5\n```",
        "```\nopen fence",
        "## 10:00\n\nA heading by hand",
        "\n\nspaced\n\n",
    ]
)
TIMES = st.integers(0, 9).map(lambda number: 1_794_000_000_000 + number)


def entry(time: int, number: int, body: str) -> tuple[str, str]:
    mark = f"M-{time}-{number:08x}"
    return mark, f"## 10:00:00 observation · 0.5 ^{mark}\n\n{body}".strip("\n")


@st.composite
def entries(draw: st.DrawFn, first: int) -> list[tuple[str, str]]:
    drawn = draw(st.lists(st.tuples(TIMES, BODIES), max_size=6))
    return [entry(time, number, body) for number, (time, body) in enumerate(drawn, first)]


@given(entries(0), entries(100), st.sampled_from(["", "# 2026-11-15 · Sunday\n", "A note on top"]), st.booleans())
def test_all_at_once_is_one_after_the_other(
    there: list[tuple[str, str]], returning: list[tuple[str, str]], head: str, rises: bool
) -> None:
    there = sorted(there) if rises else there
    text = head + "".join(f"\n{body}\n" for _, body in there)
    expected = text
    for mark, body in returning:
        expected = with_entry(LOG, expected, mark, body)
    assert with_entries(LOG, text, returning) == expected


@given(entries(0), st.sets(st.integers(0, 5)))
def test_gaps_and_excerpts_are_the_whole_text(there: list[tuple[str, str]], chosen: set[int]) -> None:
    text = "# 2026-11-15 · Sunday\n" + "".join(f"\n{body}\n" for _, body in there)
    taken = excerpts(LOG, text, {mark for number, (mark, _) in enumerate(there) if number in chosen})
    between = list(gaps(text, taken))
    assert "".join(between) == cut(text, taken)
    assert between[0] + "".join(each.raw + rest for each, rest in zip(taken, between[1:], strict=True)) == text
