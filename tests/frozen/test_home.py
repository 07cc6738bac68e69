"""A home that 0.1 made opens, verifies and can be undone, and opening it changes nothing in it."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from memfolio import Attribution
from memfolio.serve.hooks import kept
from memfolio.serve.tokens import Tokens
from tests.frozen.home import IDS, MACHINE, hashes, opened, unpacked

KINDS = """
    memfolio.toml .git/HEAD audit/2025-10/*.jsonl audit/2026-01/*.jsonl
    .memfolio/key .memfolio/owner .memfolio/tokens.json .memfolio/purges .memfolio/tended .memfolio/hooks/new/*
    agents/main/MEMORY.md agents/main/USER.md agents/main/SOUL.md agents/main/IDENTITY.md agents/main/AGENTS.md
    agents/main/TOOLS.md agents/main/mind/Persona.md agents/main/mind/Capabilities.md agents/main/mind/Beliefs.md
    agents/main/mind/Desires.md agents/main/mind/Goals.md agents/main/mind/Intentions.md agents/main/mind/Plans.md
    agents/main/mind/Commitments.md agents/main/mind/Learnings.md
    agents/main/memory/2025-10-06.md agents/main/memory/2025-10-06-2.md agents/main/memory/2025-10-08.md
    agents/main/memory/weekly/*.md agents/main/memory/monthly/*.md agents/main/memory/quarterly/*.md
    agents/main/memory/checkpoints/*.md agents/main/memory/conflicts/2025-10-07.md
    agents/main/memory/conflicts/USER.sync-conflict-*.md
    agents/main/memory/graph/index.md agents/main/memory/graph/relations.md agents/main/memory/graph/entities/*.md
    agents/main/memory/procedures/*.md agents/main/memory/vault/*.md
    agents/main/memory/archive/2026-01/*.md agents/main/memory/archive/2025-09/*.md.gz
    agents/main/memory/archive/index.md
    agents/main/memory/meta/state/0002.jsonl agents/main/memory/meta/runs/*.jsonl agents/main/memory/meta/proposals/*.md
    agents/main/memory/meta/reflections/*.md agents/main/memory/meta/evolution.md
    agents/main/knowledge/facts/*.jsonl agents/main/knowledge/rules/*.jsonl agents/main/knowledge/cases/*.jsonl
    agents/main/knowledge/ontology/*.jsonld agents/main/sessions/*.md agents/scout/agent.toml shared/memory/*.md
""".split()
OWNER = Attribution(actor="human", trigger="cli")


@pytest.fixture
def old(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMFOLIO_MACHINE", MACHINE)
    return unpacked(quick_path)


def history(home: Path) -> str:
    told = subprocess.run(["git", "-C", home, "log", "--format=%H %s"], capture_output=True, text=True, check=True)
    return told.stdout


def test_old_home_has_a_file_of_every_kind(old: Path) -> None:
    there = [str(path.relative_to(old)) for path in old.rglob("*") if path.is_file()]
    assert [kind for kind in KINDS if not any(fnmatch(path, kind) for path in there)] == []


def test_opening_an_old_home_changes_none_of_its_files_and_no_history(old: Path) -> None:
    before = hashes(old), history(old)
    for agent in ("main", "scout", "shared"):
        with opened(old, agent) as memory:
            assert memory.sync(embed=True) == []
            memory.status()
            memory.recall("greenhouse")
            memory.context("Tell me about the greenhouse")
    assert (hashes(old), history(old)) == before


def test_old_home_verifies(old: Path) -> None:
    with opened(old) as memory:
        findings = memory.vault.verify()
    assert [each for each in findings if each.level != "ok"] == []


def test_last_change_of_an_old_home_is_undone_alone(old: Path) -> None:
    log = old / "agents/main/memory/2026-01-12.md"
    before = log.read_bytes()
    with opened(old) as memory:
        last = memory.audit.log(limit=1)[0]
        done = memory.audit.undo(last.seq, by=OWNER)
        assert done.paths == (
            "agents/main/memory/2026-01-12.md",
            "agents/main/memory/archive/2026-01/2026-01-12.md",
        )
        assert IDS["last"] not in [
            hit.memory.id for hit in memory.recall("Where do seedlings go after the Ice Saints?")
        ]
        after = log.read_bytes()
        assert before.startswith(after)
        assert b"Ice Saints" not in after
        assert [each.level for each in memory.vault.verify() if each.level != "ok"] == []


def test_tokens_and_what_hooks_left_in_an_old_home_are_read(old: Path) -> None:
    with opened(old) as memory:
        tokens = Tokens(memory.vault.home).all()
    assert [(each.name, each.scope) for each in tokens] == [("laptop", "write"), ("old", "read")]
    assert kept.waiting(old) == ["01768212000000000000-1"]
