"""Projects: what is said in one repository is not told in another, wherever its clones and worktrees lie."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memfolio.memory import Memory
from memfolio.serve.hooks.desk import Desk
from memfolio.serve.hooks.event import read_parcel
from memfolio.vault.git.project import Project, project_of


def git(folder: Path, *args: str) -> None:
    name = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *name, *args], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, *, commit: bool = True) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", f"Begin {folder.name}")
    return folder


def found(folder: Path) -> Project:
    project = project_of(folder)
    assert project
    return project


def test_folders_worktrees_and_clones_of_a_repository_are_one_project(tmp_path: Path) -> None:
    one = repository(tmp_path / "kestrel")
    (one / "src").mkdir()
    git(one, "worktree", "add", "-q", "../beside")
    git(tmp_path, "clone", "-q", "kestrel", "copy")
    project = found(one)
    assert project.name == "kestrel"
    assert {found(tmp_path / name).keys[0] for name in ("kestrel/src", "beside", "copy")} == {project.keys[0]}
    git(one, "commit", "-q", "--allow-empty", "-m", "Further")
    one.rename(tmp_path / "renamed")
    assert found(tmp_path / "renamed").keys[0] == project.keys[0]


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/team/Kestrel.git",
        "git@example.org:team/Kestrel.git",
        "ssh://git@Example.org:22/team/Kestrel",
    ],
)
def test_however_a_repository_is_reached_it_is_one_project(tmp_path: Path, address: str) -> None:
    folder = repository(tmp_path / "here", commit=False)
    git(folder, "remote", "add", "origin", address)
    other = repository(tmp_path / "there", commit=False)
    git(other, "remote", "add", "origin", "https://user@example.org/team/Kestrel/")
    assert found(folder).id == found(other).id
    assert found(folder).name == "Kestrel"


def test_what_was_noted_before_the_first_commit_belongs_to_the_project_after_it(tmp_path: Path) -> None:
    folder = repository(tmp_path / "young", commit=False)
    before = found(folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    project_of.__globals__["_of"].cache_clear()
    after = found(folder)
    assert after.id != before.id
    assert before.keys[0] in after.keys


def test_a_folder_without_git_is_a_project_and_the_home_of_a_memory_is_none(tmp_path: Path, home: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert found(tmp_path / "notes").name == "notes"
    assert project_of(tmp_path / "notes", only_git=True) is None
    Memory.open(home, background=False).close()
    assert project_of(home) is None
    assert project_of(tmp_path / "nowhere") is None


@pytest.fixture(autouse=True)
def with_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFOLIO_PROJECTS", "true")


@pytest.fixture
def kestrel(tmp_path: Path) -> Path:
    return repository(tmp_path / "kestrel")


@pytest.fixture
def heron(tmp_path: Path) -> Path:
    return repository(tmp_path / "heron")


def told(memory: Memory, question: str) -> str:
    return "\n".join([*(hit.memory.content for hit in memory.recall(question)), memory.context(question) or ""])


def test_what_was_said_in_one_project_is_not_told_in_another(home: Path, kestrel: Path, heron: Path) -> None:
    with Memory.open(home, project=kestrel, background=False) as memory:
        item = memory.observe("user", "The tests run with `make check`, and need a database", session="s-1")
        assert item.project
        assert item.project.startswith("kestrel-")
        memory.remember("The release branch is called amber", type="fact")
        assert "make check" in told(memory, "How do the tests run?")
    with Memory.open(home, project=heron, background=False) as memory:
        memory.observe("user", "The tests run with tox here", session="s-2")
        answer = told(memory, "How do the tests run?")
        assert "tox" in answer
        assert "make check" not in answer
        assert "amber" not in told(memory, "What is the release branch called?")
        assert "make check" in memory.recall("How do the tests run?", project="kestrel")[0].memory.content
        assert {hit.memory.project for hit in memory.recall("tests run", project="all")} == {
            item.project,
            found(heron).id,
        }
        assert memory.get(item.id) == item
    with Memory.open(home, background=False) as memory:
        assert len(memory.recall("How do the tests run?")) == 2


def test_what_is_about_the_person_is_told_everywhere(home: Path, kestrel: Path, heron: Path) -> None:
    with Memory.open(home, project=kestrel, background=False) as memory:
        for text in ("I'm allergic to latex", "I live in Lisbon", "My daughter is called Ida"):
            assert memory.observe("user", text, session="s-1").project is None
        memory.remember("Short answers, please", type="preference")
        memory.observe("user", "The build needs node 20", session="s-1")
        memory.end_session("s-1")
    with Memory.open(home, project=heron, background=False) as memory:
        assert "Lisbon" in told(memory, "Where do I live?")
        assert "latex" in told(memory, "What am I allergic to?")
        assert "Short answers" in told(memory, "Which answers do I want, short ones?")
        assert "node 20" not in told(memory, "What does the build need?")


def test_a_checkpoint_of_another_project_is_not_where_work_was_left(home: Path, kestrel: Path, heron: Path) -> None:
    with Memory.open(home, project=kestrel, background=False) as memory:
        memory.checkpoint("Migrating the login to passkeys")
    with Memory.open(home, project=heron, background=False) as memory:
        assert memory.load_context().checkpoint is None
        assert "passkeys" not in (memory.context("Where were we?", include="checkpoint") or "")
        memory.checkpoint("Drawing the map anew")
    with Memory.open(home, project=kestrel, background=False) as memory:
        left = memory.load_context().checkpoint
        assert left
        assert left.context == "Migrating the login to passkeys"
        told = memory.context("Where were we?", include="checkpoint") or ""
        assert "passkeys" in told
        assert "project:" not in told


def test_project_and_audience_stand_in_the_log_and_come_back(home: Path, kestrel: Path) -> None:
    with Memory.open(home, project=kestrel, background=False) as memory:
        item = memory.remember("The parser is in C", audience="room:build team", type="fact")
    log = next((home / "agents/main/memory").glob("2*.md")).read_text("utf-8")
    assert f"project: {found(kestrel).id}" in log
    with Memory.open(home, background=False) as memory:
        memory.reindex()
        assert memory.get(item.id) == item
    (home / "agents/main/USER.md").write_text("audience: engineers\n\nproject: heron\n", "utf-8")
    with Memory.open(home, background=False) as memory:
        assert any("engineers" in hit.memory.content for hit in memory.recall("engineers"))


def prompt(home: Path, folder: Path, words: str, session: str) -> bytes:
    said = f'{{"session_id": "{session}", "cwd": "{folder}", "prompt": "{words}"}}'
    _, _, event = read_parcel(b"0\t1\tclaude-code\tUserPromptSubmit\n" + said.encode())
    assert event
    desk = Desk(home)
    try:
        return desk.answer(event)
    finally:
        desk.close()


def test_a_hook_tells_a_prompt_what_belongs_to_its_repository(home: Path, kestrel: Path, heron: Path) -> None:
    with Memory.open(home, project=kestrel, background=False) as memory:
        memory.remember("The tests of this repository run with `make check`", type="fact")
    assert b"make check" in prompt(home, kestrel, "How do the tests of this repository run?", "a")
    assert b"make check" not in prompt(home, heron, "How do the tests of this repository run?", "b")


def test_a_home_can_do_without_projects(home: Path, kestrel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFOLIO_PROJECTS", "false")
    with Memory.open(home, project=kestrel, background=False) as memory:
        assert memory.observe("user", "The tests run with make", session="s").project is None
