"""What can be found: everything a person or an agent may look for, once, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio.errors import NotFoundError
from tests.index.proof import assert_index_equals_rebuilt, opened

MARK = "zeppelin"
FOUND = {
    "memory/2026-01-01.md": "- the {} flew\n",
    "knowledge/facts/0001.jsonl": '{{"subject":"the {}","predicate":"flew","object":"home"}}\n',
    "MEMORY.md": "# Core\n\nthe {}\n",
    "USER.md": "the {}\n",
    "SOUL.md": "the {}\n",
    "IDENTITY.md": "the {}\n",
    "mind/Goals.md": "# Goals\n\nbuild a {}\n",
    "mind/Beliefs.md": "# Beliefs\n\na {} flies\n",
    "memory/procedures/how-to-fly.md": "# Fly\n\n1. board the {}\n",
    "memory/conflicts/2026-01-01.md": "# Conflict\n\n{} or balloon\n",
    "memory/checkpoints/2026-01-01-120000.md": "# Checkpoint\n\nthe {} stands still\n",
    "memory/weekly/2026-W01.md": "# Week\n\nmany {} flights\n",
    "memory/monthly/2026-01.md": "# Month\n\n{}\n",
    "memory/quarterly/2026-Q1.md": "# Quarter\n\n{}\n",
    "sessions/2026-01-01-flight.md": "# Session\n\nabout the {}\n",
    "memory/graph/entities/thing--airship.md": "# Airship\n\na {}\n",
    "memory/vault/keep.md": "# Kept\n\nthe {}\n",
}
HIDDEN = {
    "memory/meta/proposals/0001.md": "the {}\n",
    "memory/meta/reflections/2026-01-01.md": "the {}\n",
    "memory/meta/state/0001.jsonl": '{{"op":"note","note":"the {}"}}\n',
    "memory/archive/2025-01/2025-01-01.md": "- the {} flew\n",
    "memory/archive/old.md": "the {}\n",
    "knowledge/rules/0001.jsonl": '{{"rule":"the {}"}}\n',
    "agent.toml": 'role = "{}"\n',
    "memory/picture.png": "{}",
}


def write(root: Path, files: dict[str, str]) -> None:
    for number, (name, text) in enumerate(files.items()):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.format(f"{MARK} number{number}"))


@pytest.mark.parametrize("agent", ["main", "shared"])
def test_everything_one_may_look_for_is_found_once(home: Path, agent: str) -> None:
    root = home / ("shared" if agent == "shared" else "agents/main")
    with opened(home, agent) as memory:
        write(root, FOUND)
        write(root, HIDDEN)
        (home / "audit/notes.md").write_text(f"the {MARK}\n")
        memory.sync()
        hits = memory.recall(MARK, limit=100, include="dormant")
        paths = [hit.path for hit in hits if MARK in hit.memory.content]
        assert sorted(paths) == sorted(str((root / name).relative_to(home)) for name in FOUND)
        for number, name in enumerate(FOUND):
            first = memory.recall(f"number{number}", limit=1)
            assert [hit.path for hit in first] == [str((root / name).relative_to(home))]
        assert_index_equals_rebuilt(memory, (*("tea", "rain"), MARK))


def test_archived_is_found_when_it_is_asked_for(home: Path) -> None:
    with opened(home) as memory:
        write(home / "agents/main", HIDDEN)
        memory.sync()
        paths = {hit.path for hit in memory.recall(MARK, limit=100, include="archived")}
        assert paths == {
            "agents/main/memory/archive/2025-01/2025-01-01.md",
            "agents/main/memory/archive/old.md",
        }


def test_agent_finds_its_own_and_shared_memories_and_nobody_elses(home: Path) -> None:
    with opened(home, "one") as one, opened(home, "two") as two, opened(home, "shared") as shared:
        mine, theirs, ours = (m.remember(f"{MARK} of {m.agent}") for m in (one, two, shared))
        write(home / "agents/two", FOUND)
        one.sync()
        assert {hit.memory.id for hit in one.recall(MARK, limit=100)} == {mine.id, ours.id}
        assert {hit.memory.id for hit in shared.recall(MARK, limit=100)} == {ours.id}
        assert theirs.id in {hit.memory.id for hit in two.recall(MARK, limit=100)}
        assert one.get(theirs.id) is None
        foreign, absent = "M-1-00000000", theirs.id
        for verb in (
            one.forget,
            one.restore,
            one.pin,
            one.confirm,
            one.explain,
            lambda mark: one.correct(mark, "mine"),
        ):
            messages = set()
            for mark in (foreign, absent):
                with pytest.raises(NotFoundError) as caught:
                    verb(mark)
                messages.add(caught.value.message.replace(mark, "…"))
            assert len(messages) == 1, "a foreign memory is told from an absent one"
        for memory in (one, two, shared):
            assert_index_equals_rebuilt(memory, (MARK,))


def test_copy_of_anothers_log_is_read_as_ones_own_text(home: Path) -> None:
    with opened(home, "two") as two:
        item = two.remember(f"{MARK} of two")
    with opened(home, "one") as one:
        copy = home / "agents/one/memory/2026-01-01.md"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(next((home / "agents/two/memory").glob("*.md")).read_bytes())
        one.sync()
        assert [hit.path for hit in one.recall(MARK)] == ["agents/one/memory/2026-01-01.md"]
        one.forget(item.id)
        assert one.recall(MARK) == []
        assert_index_equals_rebuilt(one, (MARK,))
    with opened(home, "two") as two:
        assert [hit.memory.id for hit in two.recall(MARK)] == [item.id]


def test_front_matter_of_a_page_gives_it_tags_and_names(home: Path) -> None:
    with opened(home) as memory:
        page = home / "agents/main/notes/atlas.md"
        page.parent.mkdir(parents=True)
        page.write_text("---\ntitle: Project Atlas\naliases: [Moonshot]\ntags: [work, maps]\n---\nStarts in spring.\n")
        memory.sync()
        assert [hit.memory.content for hit in memory.recall("moonshot")] == ["Starts in spring."]
        assert [hit.memory.tags for hit in memory.recall("spring", tags=["maps"])] == [("work", "maps")]


def test_page_that_is_no_text_is_reported_and_not_found(home: Path) -> None:
    with opened(home) as memory:
        page = home / "agents/main/notes/picture.md"
        page.parent.mkdir(parents=True)
        page.write_bytes("tea in UTF-16".encode("utf-16"))
        memory.sync()
        assert not memory.recall("tea")
        assert "notes/picture.md" in str(memory.status().counts)
