"""The context in which a session begins, and what it leaves to the next one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.clock import SettableClock
from memfolio.errors import InputError
from memfolio.memory import Memory
from memfolio.stores.checkpoint import Checkpoint, write
from memfolio.stores.core import Core, CoreMemory
from memfolio.stores.session_context import AgentContext, load_context, save_context
from memfolio.text import estimate_tokens
from memfolio.types import MemoryItem


def load(memory: Memory, user: str | None = None, **further: Any) -> AgentContext:
    return load_context(memory.vault, memory.searcher, user=user, **further)


def test_context_of_a_fresh_home_is_empty_but_complete(memory: Memory) -> None:
    found = load(memory, "alex")
    assert (found.agent_name, found.user_name, found.task, found.recent, found.facts) == ("main", "alex", None, (), ())
    assert found.session_id.startswith("s-20261115-143005-")
    assert found.current_time == memory.vault.home.now()
    assert "Current task: none" in found.summary


def test_context_tells_who_what_and_what_was_left(memory: Memory, home: Path, clock: SettableClock) -> None:
    folder = home / "agents/main"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "IDENTITY.md").write_text("# Identity\n- **Name:** Ada\n")
    (folder / "SOUL.md").write_text("Be kind.\n")
    (folder / "USER.md").write_text("# User\nName: Alex Doe\nTimezone: CET\n")
    Core(memory.vault, "main").add("Identity", "Alex likes tea")
    write(memory.vault, "main", Checkpoint(context="Fixing the login"), now=clock.now())
    memory.observe("user", "Hello there", session="s-1")
    memory.remember("Oslo is in Norway", type="fact")
    save_context(
        memory.vault,
        "main",
        session="s-1",
        user="alex",
        task="Fix the login",
        task_history=["Plan it"],
        topics=["login"],
        scratchpad={"tries": 3},
    )
    found = load(memory, "alex", session="s-2")
    assert (found.agent_name, found.user_name, found.session_id) == ("Ada", "Alex Doe", "s-2")
    assert "Be kind." in found.identity
    assert (found.task, found.task_history, found.topics) == ("Fix the login", ("Plan it",), ("login",))
    assert dict(found.scratchpad) == {"tries": 3}
    assert found.checkpoint == Checkpoint(context="Fixing the login")
    assert [each.content for each in found.facts] == ["Oslo is in Norway"]
    prompt = found.to_prompt()
    parts = ["Agent: Ada (main)", "Alex likes tea", "Timezone: CET", "Hello there", "Oslo is in Norway"]
    for part in [*parts, "Current Task Context: Fixing the login", "Done before: Plan it"]:
        assert part in prompt
    assert prompt.index("Alex likes tea") < prompt.index("Hello there")


def test_only_today_and_yesterday_are_recent_and_at_most_fifty(memory: Memory, clock: SettableClock) -> None:
    now = clock.now()
    memory.observe("user", "two days ago", at=now - timedelta(hours=39))
    memory.observe("user", "yesterday", at=now - timedelta(hours=38))
    assert [each.content for each in load(memory).recent] == ["yesterday"]
    memory.observe_many([{"role": "user", "content": f"turn {n}"} for n in range(60)])
    recent = [each.content for each in load(memory).recent]
    assert len(recent) == 50
    assert all(each.startswith("turn") for each in recent)


def test_what_only_asks_and_was_not_answered_is_no_recent_conversation(memory: Memory) -> None:
    memory.observe("user", "Where is the spare key?", session="a")
    memory.observe("user", "Tell me about the cargo bike", session="a")
    memory.observe("user", "Can you note that the tyre is flat since I hit a kerb", session="a")
    memory.observe("user", "Show me the plan for the shed", session="b")
    memory.observe("assistant", "First the floor, then the walls.", session="b")
    told = load(memory).to_prompt()
    assert "spare key" not in told
    assert "about the cargo bike" not in told
    for part in ("hit a kerb", "plan for the shed", "First the floor"):
        assert part in told


def test_day_begins_at_midnight_of_the_home(home: Path, clock: SettableClock) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text('timezone = "Pacific/Auckland"\n')
    with Memory.open(home, clock=clock, background=False) as memory:
        memory.observe("user", "too long ago", at=datetime(2026, 11, 14, 10, 59, tzinfo=UTC))
        memory.observe("user", "just after midnight", at=datetime(2026, 11, 14, 11, 1, tzinfo=UTC))
        found = load(memory)
        assert [each.content for each in found.recent] == ["just after midnight"]
        assert found.timezone == "Pacific/Auckland"
        assert found.current_time.day == 16


def test_memories_about_others_are_left_out(memory: Memory) -> None:
    memory.observe("user", "from alex", user="alex")
    memory.observe("user", "from bob", user="bob")
    memory.observe("user", "from nobody")
    memory.remember("Bob likes tea", type="preference", user="bob")
    assert {each.content for each in load(memory, "alex").recent} == {"from alex", "from nobody"}
    assert load(memory, "alex").facts == ()
    assert {each.content for each in load(memory).recent} >= {"from alex", "from bob"}


def test_facts_that_are_over_or_wrong_are_not_active(memory: Memory, clock: SettableClock) -> None:
    memory.remember("over", type="fact", valid_until=clock.now() - timedelta(days=1))
    wrong = memory.remember("wrong", type="fact")
    memory.correct(wrong.id, "right")
    pinned = memory.remember("pinned", type="fact", importance=0.1)
    memory.pin(pinned.id)
    memory.remember("gone", type="fact")
    memory.forget("gone")
    assert [each.content for each in load(memory).facts] == ["pinned", "right"]


def test_newest_saved_context_of_a_user_wins(memory: Memory) -> None:
    save_context(memory.vault, "main", user="alex", task="one")
    save_context(memory.vault, "main", user="bob", task="two")
    save_context(memory.vault, "main", user="alex", task="three")
    save_context(memory.vault, "main", task="four")
    assert [load(memory, user).task for user in ("alex", "bob", "carol", None)] == ["three", "two", None, "four"]


@pytest.mark.parametrize(
    "bad",
    [
        {"scratchpad": {"x": object()}},
        {"scratchpad": [1]},
        {"scratchpad": {"x": "y" * 40_000}},
        {"task": 7},
        {"topics": [7]},
        {"user": " "},
        {"session": "two words"},
    ],
)
def test_what_cannot_be_saved_is_refused(memory: Memory, bad: dict[str, Any]) -> None:
    before = memory.vault.head
    with pytest.raises(InputError):
        save_context(memory.vault, "main", **bad)
    assert memory.vault.head == before


def test_saved_line_of_a_person_that_makes_no_sense_is_passed_over(memory: Memory, home: Path) -> None:
    save_context(memory.vault, "main", user="alex", task="one")
    [path] = (home / "agents/main/memory/meta/state").glob("*.jsonl")
    with path.open("a") as file:
        file.write('{"op":"context","user":"alex","task":7,"topics":"x","scratchpad":[1],"task_history":[2,"a"]}\n')
    memory.sync()
    found = load(memory, "alex")
    assert (found.task, found.topics, dict(found.scratchpad), found.task_history) == (None, (), {}, ("a",))


@given(
    st.integers(50, 3000),
    st.lists(st.text(min_size=1, max_size=400), max_size=60),
    st.lists(st.text(min_size=1, max_size=200), max_size=30),
    st.text(max_size=3000),
)
def test_prompt_never_has_more_tokens_than_it_may(budget: int, turns: list[str], facts: list[str], task: str) -> None:
    now = datetime(2026, 11, 15, tzinfo=UTC)

    def items(contents: list[str], first: int) -> tuple[MemoryItem, ...]:
        return tuple(
            MemoryItem(id=f"M-{nth}-00000000", content=each, created_at=now, role="user")
            for nth, each in enumerate(contents, start=first)
        )

    found = AgentContext(
        agent_id="main",
        agent_name="main",
        session_id="s",
        current_time=now,
        timezone="UTC",
        user_id=None,
        user_name="unknown",
        core=CoreMemory(path="", text="", blocks=(), tokens=0, cap=3000),
        recent=items(turns, 1),
        facts=items(facts, 1000),
        task=task,
    )
    text = found.to_prompt(budget)
    assert estimate_tokens(text) <= budget
    conversation = [line for line in text.splitlines() if any(f"[M-{n}-" in line for n in range(1, 100))]
    assert estimate_tokens("\n".join(conversation)) <= budget / 2
    assert sum(f"[M-{n}-" in text for n in range(1000, 1100)) <= 10


def test_budget_that_makes_no_sense_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError):
        load(memory).to_prompt(0)


def test_page_that_cannot_be_read_does_not_stop_the_others(memory: Memory, home: Path) -> None:
    folder = home / "agents/main"
    (folder / "memory/checkpoints").mkdir(parents=True)
    for name in ("USER.md", "memory/checkpoints/2026-11-15-143005.md"):
        (folder / name).symlink_to(folder / name)
    (folder / "MEMORY.md").write_text("## Identity\n- Alex likes tea\n")
    found = load(memory, "alex")
    assert [item.text for block in found.core.blocks for item in block.items] == ["Alex likes tea"]
    assert found.user_name == "alex"
    assert [each.split(":")[0] for each in found.degraded] == ["USER.md"]
