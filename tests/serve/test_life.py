"""`memfolio digest`, `backup` and `weak`: what the commands write, and what they say about it."""

from __future__ import annotations

from pathlib import Path

from memfolio.memory import Memory
from tests.serve.calls import Run, RunJson


def test_digests_are_listed_as_they_are_written(cli: Run, cli_json: RunJson) -> None:
    cli("remember", "We use PostgreSQL", "--type", "decision", "--at", "2020-01-01T12:00:00+00:00")
    shown = cli_json("digest", "week", "--dry-run")
    assert (shown["digests"], shown["seq"]) == (["agents/main/memory/weekly/2020-W01.md"], None)
    assert "+# Week 2020-W01" in shown["diff"]
    assert cli_json("digest", "week", "--since", "2020-02-01")["digests"] == []
    assert cli_json("digest")["digests"] == [
        f"agents/main/memory/{name}.md" for name in ("weekly/2020-W01", "monthly/2020-01", "quarterly/2020-Q1")
    ]
    assert "no digests" in cli("digest", "year", status=2)


def test_preview_of_a_backup_writes_nothing(cli: Run, cli_json: RunJson, tmp_path: Path) -> None:
    cli("remember", "Alex drinks tea")
    shown = cli_json("backup", tmp_path / "backups", "--dry-run")
    assert shown["size"] is None
    assert shown["files"] > 3
    assert not (tmp_path / "backups").exists()


def test_backup_says_what_it_copied_and_removed(cli: Run, cli_json: RunJson, tmp_path: Path) -> None:
    cli("remember", "Alex drinks tea")
    made = cli_json("backup", tmp_path / "backups")
    assert Path(made["path"]).stat().st_size == made["size"]
    said = cli("backup", tmp_path / "backups", "--keep", "1")
    assert f"{made['path']} removed\n" in said
    assert said.endswith("B, and read back\n")


def test_what_becomes_uncertain_is_shown_with_what_to_do(cli: Run, home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        item = memory.remember("Perhaps", type="fact", confidence=0.3)
    said = cli("weak")
    assert item.id in said
    assert "memfolio confirm" in said
