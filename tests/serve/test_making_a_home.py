"""Where the command line makes a home by the way, and where it does not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memfolio.memory import Memory
from memfolio.serve.cli.app import run
from memfolio.serve.cli.call import Options, in_empty_folder
from tests.serve.calls import Run, RunJson, program

WRITING = [["remember", "x"], ["observe", "user", "x"]]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("args", WRITING)
@pytest.mark.parametrize("is_there", [True, False])
def test_home_is_made_in_an_empty_folder_and_named(
    home: Path, capsys: pytest.CaptureFixture[str], args: list[str], is_there: bool
) -> None:
    if is_there:
        home.mkdir()
    assert run(args) == 0
    assert capsys.readouterr().err == f"memfolio: made a home in {home}\n"
    assert run(args) == 0
    assert capsys.readouterr().err == ""


def test_programs_are_told_that_a_home_was_made(cli_json: RunJson, home: Path) -> None:
    assert cli_json("remember", "x")["made_home"] == str(home)
    assert "made_home" not in cli_json("remember", "x")


def test_agent_that_is_made_by_a_slip_is_named(cli_json: RunJson) -> None:
    cli_json("remember", "x")
    assert cli_json("--agent", "sout", "remember", "x")["made_agent"] == "sout"
    assert "made_agent" not in cli_json("--agent", "sout", "remember", "y")


@pytest.mark.parametrize("args", WRITING)
def test_folder_of_other_files_becomes_a_home_only_on_request(cli: Run, home: Path, args: list[str]) -> None:
    home.mkdir()
    (home / "thesis.md").write_text("mine")
    said = cli(*args, status=3)
    assert "memfolio init" in said
    assert "--home" in said
    assert os.listdir(home) == ["thesis.md"]
    cli("init", "--yes")
    cli(*args)


@pytest.mark.parametrize(
    "args", [["--home", "", "remember", "x"], ["remember", "x", "--home", ""], ["status", "--home="]]
)
def test_empty_name_is_no_home(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str]) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "empty name" in cli(*args, status=2)
    assert os.listdir() == []


@pytest.mark.parametrize(
    "args",
    [
        ["remember", ""],
        ["remember", "x" * 1_100_000],
        ["remember", "x", "--type", "decison"],
        ["remember", "x", "--importance", "1.5"],
        ["remember", "x", "--session", "two words"],
        ["remember", "x", "--at", "soon"],
        ["remember", "x", "--valid-from", "2026-02-01", "--valid-until", "2026-01-01"],
        ["observe", "user", " "],
        ["observe", "two words", "x"],
        ["observe", "user", "x", "--at", "soon"],
    ],
)
def test_no_home_is_made_for_what_cannot_be_remembered(cli: Run, home: Path, args: list[str]) -> None:
    assert cli(*args, status=2).startswith("memfolio: ")
    assert not home.exists()


def test_home_that_another_process_makes_meanwhile_is_used(home: Path) -> None:
    def made_by_another(folder: Path) -> bool:
        Memory.open(folder).close()
        return in_empty_folder(folder)

    with Options(home=str(home)).memory(create=made_by_another) as memory:
        assert memory.vault.config.home == home


def test_agent_that_has_nothing_is_told_with_those_that_do(settled: None) -> None:
    program("remember", "Alex prefers tea")
    assert program("recall", "tea", "--agent", "mian").stderr == (
        "memfolio: the agent mian has nothing yet; there is main\n"
    )
    assert program("recall", "tea").stderr == ""


def test_home_is_not_made_in_a_repository_of_something_else_unless_that_is_wanted(cli: Run, home: Path) -> None:
    (home / ".git").mkdir(parents=True)
    assert "is a git repository of something else" in cli("init", status=5)
    (home / ".git").rmdir()
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    assert cli("init", "--yes") == f"created a home in {home}\n"
    assert cli("init") == f"{home} is already a home\n"


def files_below(*folders: Path) -> dict[str, bytes | None]:
    found = (path for folder in folders for path in folder.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.parametrize("is_there", [True, False])
def test_dry_run_of_an_import_may_come_before_the_home_and_writes_nothing(
    cli_json: RunJson,
    cli: Run,
    home: Path,
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_there: bool,
) -> None:
    source, rest = tmp_path / "notes", tmp_path / "tmp"
    source.mkdir()
    rest.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(rest))
    (source / "tea.md").write_text("# Tea\n\nAlex prefers tea.\n")
    if is_there:
        home.mkdir()
    before = files_below(home.parent, tmp_path, cache)
    would = cli_json("import", source, "--from", "markdown", "--dry-run")
    assert "would be imported from markdown" in cli("import", source, "--from", "markdown", "--dry-run")
    assert files_below(home.parent, tmp_path, cache) == before
    done = cli_json("import", source, "--from", "markdown")
    counted = ("source", "taken", "pages", "facts", "flaws", "shown")
    assert [would[each] for each in counted] == [done[each] for each in counted]
    assert would["dry_run"]
    assert would["pages"] + would["taken"] > 0


def test_dry_run_of_an_import_is_refused_where_the_import_would_be(cli_json: RunJson, home: Path) -> None:
    source = home.parent / "notes"
    source.mkdir()
    (source / "tea.md").write_text("# Tea\n\nAlex prefers tea.\n")
    inside = ("--home", source / "home", "import", source, "--from", "markdown")
    told = [cli_json(*inside, *more, status=2)["error"]["message"] for more in (["--dry-run"], [])]
    assert "lie in one another" in told[0]
    assert told[0] == told[1]
    home.mkdir()
    (home / "thesis.md").write_text("mine")
    told = [cli_json("import", source, *more, status=3)["error"]["message"] for more in (["--dry-run"], [])]
    assert told[0] == told[1]


def test_dry_run_of_an_archive_may_come_before_the_home(cli_json: RunJson, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    cli_json("--home", other, "remember", "Alex prefers tea")
    cli_json("--home", other, "export", tmp_path / "all.tar.gz")
    would = cli_json("import", tmp_path / "all.tar.gz", "--dry-run")
    assert (would["agents"], would["written"] > 0, home.exists()) == (["main"], True, False)
