"""Checkpoints: written once, read back whole, found by the next context."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.errors import ContentError, InputError
from memfolio.memory import Memory
from memfolio.stores.checkpoint import Checkpoint, compose, latest, read, write

NOW = datetime(2026, 11, 15, 14, 30, 5, tzinfo=UTC)
WORK = Checkpoint(
    context="Debugging the login loop.",
    decisions=("Use a sliding window", "Keep cookies"),
    findings=("The token lives 12 hours",),
    next_steps=("Write a test\nfor the boundary",),
    open_questions=("Is the lifetime configurable?",),
)
TEXTS = st.text(st.sampled_from("ab #-*=`~<!>\\\n\r\t+.") | st.characters(exclude_categories=["Cs"]), max_size=60)


def test_checkpoint_has_a_title_and_five_sections_in_order() -> None:
    path, text = compose(WORK, NOW, ZoneInfo("Europe/Berlin"))
    assert path == "memory/checkpoints/2026-11-15-153005.md"
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Session Checkpoint — 2026-11-15 15:30:05 CET",
        "## Current Task Context",
        "## Active Decisions",
        "## Key Findings",
        "## Next Steps",
        "## Open Questions",
    ]
    assert "- Use a sliding window\n- Keep cookies\n" in text


def test_empty_sections_are_left_out() -> None:
    text = compose(Checkpoint(context="Idle"), NOW, UTC)[1]
    assert text == "# Session Checkpoint — 2026-11-15 14:30:05 UTC\n\n## Current Task Context\n\nIdle\n"


def test_what_was_written_is_read_back() -> None:
    assert read(compose(WORK, NOW, UTC)[1]) == WORK


@given(TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3))
def test_no_text_breaks_the_structure(context: str, decisions: list[str], questions: list[str]) -> None:
    try:
        made = Checkpoint.from_args(context, decisions=decisions, open_questions=questions)
    except ContentError:
        assert not context.strip()
        return
    text = compose(made, NOW, UTC)[1]
    assert read(text) == made
    assert sum(line.startswith(("# ", "## ")) for line in text.split("\n")) == 2 + bool(made.decisions) + bool(
        made.open_questions
    )


def test_headings_inside_a_text_stay_text() -> None:
    sly = Checkpoint(context="a\n## Open Questions\n- b\n# c\n===\n```", findings=("## Next Steps\n---\n<!-- x -->",))
    text = compose(sly, NOW, UTC)[1]
    assert read(text) == sly
    assert "\n\\## Open Questions\n" in text


def test_checkpoint_of_a_person_is_read_as_far_as_it_goes() -> None:
    found = read(
        "# Mine\n## current task context\nCooking\n## Else\nx\n## Next steps\n* peel\nboil\n\n## Next Steps\n+ eat"
    )
    assert found == Checkpoint(context="Cooking", next_steps=("peel", "boil", "eat"))


def test_checkpoints_of_the_same_second_have_different_names(memory: Memory, clock: SettableClock) -> None:
    paths = [write(memory.vault, "main", WORK, now=clock.now()).path for _ in range(3)]
    stem = "agents/main/memory/checkpoints/2026-11-15-143005"
    assert paths == [f"{stem}.md", f"{stem}-2.md", f"{stem}-3.md"]
    found = latest(memory.vault, "main")
    assert found == (paths[-1], WORK)


def test_checkpoint_is_one_change_and_is_shown_in_the_next_context(memory: Memory, clock: SettableClock) -> None:
    before = memory.vault.head
    assert write(memory.vault, "main", WORK, now=clock.now()).receipt is not None
    assert memory.vault.head == before + 1
    assert "sliding window" in str(memory.context("hello", include=["checkpoint"]))


def test_dry_run_writes_nothing(memory: Memory, clock: SettableClock, home: Path) -> None:
    written = write(memory.vault, "main", WORK, now=clock.now(), dry_run=True)
    assert "+## Key Findings" in written.diff
    assert not (home / written.path).exists()
    assert latest(memory.vault, "main") is None


@pytest.mark.parametrize(
    ("context", "lists", "error"),
    [
        ("  ", {}, ContentError),
        (3, {}, InputError),
        ("x", {"decisions": "one"}, InputError),
        ("x", {"decisions": [1]}, InputError),
        ("x", {"decisions": 7}, InputError),
    ],
)
def test_bad_values_are_refused(context: Any, lists: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Checkpoint.from_args(context, **lists)


@pytest.mark.parametrize("context", ["a\0b", "\ud800", "x" * 2_000_000])
def test_what_no_page_can_hold_is_refused(memory: Memory, clock: SettableClock, context: str) -> None:
    with pytest.raises(ContentError):
        write(memory.vault, "main", Checkpoint.from_args(context), now=clock.now())
    assert latest(memory.vault, "main") is None
