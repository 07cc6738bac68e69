"""A workspace as OpenClaw makes it, a git repository of its own, becomes an agent's folder, whole or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import DiskError, InputError
from memfolio.exchange.restore import settle_in
from memfolio.serve.cli.call import Options
from memfolio.serve.cli.import_ import import_
from tests.exchange import layouts

FILES = ("AGENTS.md", "BOOTSTRAP.md", "IDENTITY.md", "SOUL.md", "USER.md")
"""What `openclaw setup` writes, beside the repository; its memory comes later."""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def workspace(home: Path) -> Path:
    made = layouts.write(home.parent / "workspace", dict.fromkeys(FILES, "# As it was\n"))
    git(made, "init", "-q")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "first")
    return made


@pytest.fixture
def note(workspace: Path) -> Path:
    """What stands beside the workspace while it moves."""
    return workspace.with_name("workspace.memfolio-moving")


def test_its_own_repository_goes_on_and_is_none_of_ours(home: Path, workspace: Path) -> None:
    before = git(workspace, "log", "--format=%H")
    import_(Options(home=str(home)), workspace, in_place=True)
    with Memory.open(home, background=False) as memory:
        memory.remember("Ada likes kayaks")
    assert git(workspace, "log", "--format=%H") == before
    assert git(workspace, "status", "--short", "--", *FILES) == ""
    ours = git(home, "ls-files", "agents/main").split()
    assert {f"agents/main/{name}" for name in FILES} < set(ours)
    assert not any(".git" in name for name in ours)


def test_a_move_that_was_interrupted_is_finished(home: Path, workspace: Path, note: Path) -> None:
    place = home / "agents/main"
    note.write_text(str(place))  # before the folder moved
    assert settle_in(workspace, home, "main") == workspace.resolve() == place
    assert not note.exists()
    note.write_text(str(place))
    workspace.unlink()  # after it moved
    assert settle_in(workspace, home, "main") == workspace.resolve() == place
    assert not note.exists()


def test_a_wrong_path_is_not_taken_for_a_move_that_was_interrupted(home: Path, workspace: Path) -> None:
    settle_in(workspace, home, "main")
    for wrong in (home.parent / "workspaec", home.parent / "none/workspace"):
        with pytest.raises(InputError, match="not an OpenClaw workspace"):
            settle_in(wrong, home, "main")
        assert not wrong.is_symlink()


def test_the_folder_in_which_one_stands_moves_too(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    assert settle_in(Path(), home, "main") == workspace.resolve() == home / "agents/main"


def test_where_it_cannot_move_everything_is_as_it_was(home: Path, workspace: Path, note: Path) -> None:
    layouts.write(home, {"agents": "in the way"})
    with pytest.raises(DiskError, match="cannot become"):
        settle_in(workspace, home, "main")
    assert not workspace.is_symlink()
    assert sorted(path.name for path in workspace.glob("*.md")) == sorted(FILES)
    assert not note.exists()
