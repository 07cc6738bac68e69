"""Agents of one home: what they read follows their settings, and renaming and retiring lose nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memfolio import ConflictError, InputError, MemfolioError, Memory, NotFoundError, PolicyError
from memfolio.clock import SettableClock
from memfolio.govern.agents import Agents
from memfolio.types import Approval, Attribution
from memfolio.vault.agents import written
from tests.index.dump import Dump, dump

PERSON = Attribution(actor="human", approval=Approval.APPROVED, trigger="test")
Open = Callable[..., Memory]


@pytest.fixture
def open_as(home: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("MEMFOLIO_TIMEZONE", "UTC")
    opened: list[Memory] = []

    def open_as(agent: str, speaker: str = "owner") -> Memory:
        opened.append(Memory.open(home, agent, clock=clock, background=False, speaker=speaker))
        return opened[-1]

    yield open_as
    for memory in opened:
        memory.close()


def agents_of(memory: Memory) -> Agents:
    return Agents(memory.vault, memory.searcher, memory.agent)


def words(memory: Memory, question: str, include: tuple[str, ...] = ()) -> list[str]:
    return [hit.memory.content for hit in memory.recall(question, include=include) if hit.path.count("/memory/2026")]


def test_scope_follows_the_settings_and_the_folders_as_they_are(home: Path, open_as: Open) -> None:
    for name in ("ada", "bob", "shared"):
        open_as(name).remember(f"{name} drinks tea")
    memory, file = open_as("main"), home / "agents/main/agent.toml"
    memory.remember("main drinks tea")

    def readers() -> set[str]:
        return {text.split()[0] for text in words(memory, "tea")}

    assert readers() == {"main", "shared"}
    for text, expected in (
        ('reads = ["ada", "nobody"]', {"main", "ada"}),
        ('reads = ["*"]', {"main", "ada", "bob", "shared"}),
        ("reads = []", {"main"}),
        ('reads = "ada"', {"main"}),
        ('reads = ["ada", "shared"', {"main"}),
        ('reads = ["*"]\n', {"main", "ada", "bob", "shared"}),
    ):
        file.write_text(text)
        assert readers() == expected, text
        is_broken = any(each.startswith("scope: agents/main/agent.toml") for each in memory.searcher.degraded())
        assert is_broken == (text in ('reads = "ada"', 'reads = ["ada", "shared"'))
    open_as("zoe").remember("zoe drinks tea")
    assert "zoe" in readers()
    memory.vault.commit()  # else what git does not have yet is taken for lost, and brought back
    shutil.rmtree(home / "agents/bob")
    memory.sync()
    assert readers() == {"main", "ada", "shared", "zoe"}
    assert set(agents_of(memory).gather("tea")) == {"main", "ada", "shared", "zoe"}


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        ("", {"role": "x"}, 'role = "x"\n'),
        ("# why\nrole = 'a # b'  # note\n", {"role": 'say "hi"'}, '# why\nrole = "say \\"hi\\""  # note\n'),
        ('reads = [\n  "a",\n]\n\npolicy="writes"', {"reads": ("*",)}, 'reads = ["*"]\n\npolicy="writes"'),
        ('policy = "writes" # it', {"policy": "proposes"}, 'policy = "proposes" # it'),
        ('role = "x"', {"retired": True, "role": "y"}, 'role = "y"\nretired = true\n'),
        ('# role = "x"\n', {"role": "y"}, '# role = "x"\nrole = "y"\n'),
    ],
)
def test_settings_are_changed_line_by_line(before: str, given: dict[str, object], after: str) -> None:
    assert written(before, given) == after


def test_owner_makes_and_changes_agents_and_agents_know_those_they_read(home: Path, open_as: Open) -> None:
    memory = open_as("main")
    memory.remember("main is here")
    agents = agents_of(memory)
    preview = agents.create("scout", role="Looks around", policy="proposes", by=PERSON, dry_run=True)
    assert "+policy" in preview.diff
    assert not (home / "agents/scout").exists()
    agents.create("scout", role="Looks around", policy="proposes", by=PERSON)
    agents.create("coder", by=PERSON)
    agents.update("scout", reads=["main"], trusted=True, by=PERSON)
    open_as("scout").remember("scout saw a lake")
    scout = agents.get("scout")
    assert (scout.settings.reads, scout.settings.trusted, scout.memories) == (("main",), True, 1)
    assert [each.id for each in agents.list()] == ["coder", "main", "scout"]
    assert [each.id for each in agents_of(open_as("scout", "agent")).list()] == ["main", "scout"]
    refused: tuple[tuple[Callable[[], object], type[MemfolioError]], ...] = (
        (lambda: agents.create("scout", by=PERSON), ConflictError),
        (lambda: agents.create("Bad", by=PERSON), InputError),
        (lambda: agents.update("scout", policy="maybe", by=PERSON), InputError),
        (lambda: agents.update("scout", rank=1, by=PERSON), InputError),
        (lambda: agents.update("nobody", role="x", by=PERSON), NotFoundError),
        (lambda: agents.rename("shared", "all", by=PERSON), NotFoundError),
        (lambda: agents.rename("scout", "shared", by=PERSON), InputError),
        (lambda: agents.rename("scout", "coder", by=PERSON), ConflictError),
    )
    for deed, error in refused:
        with pytest.raises(error):
            deed()


def test_file_of_settings_that_makes_no_sense_opens_nothing_and_hides_nobody(home: Path, open_as: Open) -> None:
    owner = agents_of(open_as("main"))
    for name in ("ada", "bob"):
        owner.create(name, reads=["*"], by=PERSON)
        open_as(name).remember(f"{name} drinks tea")
    memory, file = open_as("ada", "agent"), home / "agents/ada/agent.toml"
    spoilt: tuple[Callable[[], object], ...] = (
        lambda: os.mkfifo(file),
        lambda: file.symlink_to(home / "agents/bob/agent.toml"),
        lambda: file.write_bytes(bytes(range(256))),
        lambda: file.write_bytes(b"#" * 100_000),
        lambda: file.write_text("reads = " + "[" * 50_000),
        lambda: file.write_text('agent = "bob"'),
    )
    for spoil in spoilt:
        file.unlink()
        spoil()
        assert words(memory, "tea") == ["ada drinks tea"]
        assert [(each.id, bool(each.trouble)) for each in owner.list()] == [
            ("ada", True),
            ("bob", False),
            ("main", False),
        ]
        with pytest.raises(MemfolioError):
            memory.remember("more tea")


def test_listing_agents_builds_no_index(home: Path, open_as: Open, tmp_path: Path) -> None:
    open_as("ada").remember("ada drinks tea")
    owner = agents_of(open_as("main"))
    owner.create("bob", by=PERSON)
    assert {each.id: each.memories for each in owner.list()} == {"ada": 1, "bob": 0, "main": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMFOLIO_CACHE", str(tmp_path / "elsewhere"))
        assert {each.id: each.memories for each in agents_of(open_as("main")).list()} == {
            "ada": None,
            "bob": 0,
            "main": 0,
        }
    assert {path.name.partition(".")[0] for path in (tmp_path / "elsewhere").rglob("*.db")} == {"main"}


def test_retired_agent_is_read_and_writes_nothing(open_as: Open) -> None:
    open_as("ada").remember("ada planted basil")
    owner = open_as("main")
    agents_of(owner).update("main", reads=["ada"], by=PERSON)
    agents_of(owner).retire("ada", by=PERSON)
    assert words(owner, "basil") == ["ada planted basil"]
    with pytest.raises(PolicyError, match="retired"):
        open_as("ada", "agent").remember("more basil")
    agents_of(owner).unretire("ada", by=PERSON)
    open_as("ada", "agent").remember("more basil")


def furnished(home: Path, memory: Memory) -> None:
    """An agent with everything that names an id: pins, uses, corrections, tombstones, core lines and a page."""
    memory.remember("Kim deploys with ansible", key="k1")
    (log := home / "agents/coder/memory/2026-11-15.md").write_text(
        log.read_text() + "- a note about kiwis\n- a note about plums\n", encoding="utf-8"
    )
    memory.sync()
    memory.remember("The deadline is in March")
    memory.remember("A secret pumpkin")
    kiwis = memory.recall("kiwis")[0].memory
    assert kiwis.id.startswith("H-")
    memory.pin(kiwis.id)
    memory.core.pin(kiwis.id)
    memory.used([kiwis.id, memory.recall("deadline")[0].memory.id])
    memory.forget("pumpkin")
    memory.forget("plums")
    memory.correct(memory.recall("deadline")[0].memory.id, "The deadline is in May")
    page = "# Kim\n\n- works on: [[project--apollo]]\n"
    memory.vault.put_page("agents/coder/memory/graph/entities/person--kim.md", page, expects=None, by=PERSON)


def files(home: Path, agent: str) -> dict[str, bytes]:
    root = home / "agents" / agent
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def dumped(memory: Memory) -> Dump:
    return memory.searcher.index.read(dump)


def check_all_is_there(memory: Memory) -> None:
    kiwis = memory.recall("kiwis")[0].memory
    assert (kiwis.content, kiwis.pinned, kiwis.access_count) == ("a note about kiwis", True, 1)
    assert f"[{kiwis.id}]" in memory.core.read().text
    assert words(memory, "deadline") == ["The deadline is in May"]
    assert words(memory, "ansible")
    assert words(memory, "pumpkin plums", include=("archived",)) == []
    assert [step.there for step in memory.graph.entity("Kim").relations] == ["project--apollo"]
    memory.vault.commit()
    assert [finding for finding in memory.vault.verify() if finding.level != "ok"] == []
    before = dumped(memory)
    memory.reindex()
    assert dumped(memory) == before


def test_renaming_keeps_everything_and_undo_brings_it_back(home: Path, open_as: Open) -> None:
    memory = open_as("coder")
    furnished(home, memory)
    check_all_is_there(memory)
    owner = agents_of(open_as("main"))
    owner.create("scout", policy="proposes", reads=["coder", "shared"], proposes_to="coder", by=PERSON)
    before, told = files(home, "coder"), (home / "agents/scout/agent.toml").read_bytes()
    assert "rename agents/coder/MEMORY.md => agents/builder" in owner.rename("coder", "builder", dry_run=True).diff
    assert files(home, "coder") == before
    receipt = owner.rename("coder", "builder", by=PERSON).receipt
    assert receipt is not None
    assert (files(home, "coder"), files(home, "builder").keys()) == ({}, before.keys())
    renamed = open_as("builder")
    check_all_is_there(renamed)
    scout = owner.get("scout").settings
    assert (scout.reads, scout.proposes_to) == (("builder", "shared"), "builder")
    assert [hit.agent for hit in open_as("scout", "agent").recall("ansible")] == ["builder"]
    renamed.vault.past.undo(receipt.seq, by=PERSON)
    assert (files(home, "coder"), files(home, "builder")) == (before, {})
    assert (home / "agents/scout/agent.toml").read_bytes() == told
    check_all_is_there(open_as("coder"))


def test_note_that_was_forgotten_under_the_old_name_returns_under_the_new_one(home: Path, open_as: Open) -> None:
    furnished(home, open_as("coder"))
    agents_of(open_as("main")).rename("coder", "builder", by=PERSON)
    memory = open_as("builder")
    gone = re.findall(
        r'"op":"tombstone","memory":"(H-\w+)"', (home / "agents/builder/memory/meta/state/0001.jsonl").read_text()
    )
    memory.restore(gone[0])
    assert words(memory, "plums") == ["a note about plums"]
    assert "\n- a note about plums\n" in (home / "agents/builder/memory/2026-11-15.md").read_text()
