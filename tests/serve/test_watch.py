"""The command `watch`: folders of notes begun, listed and ended."""

from __future__ import annotations

from pathlib import Path

from tests.serve.calls import Run, RunJson


def notes(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "Lathe.md").write_text("The lathe stands in the cellar.\n\nIt was bought in March from a neighbour.\n")
    (folder / "bad.md").write_bytes(b"\x00\xff")
    return folder


def test_folder_is_watched_listed_and_ended(cli: Run, cli_json: RunJson, home: Path, tmp_path: Path) -> None:
    folder = notes(tmp_path / "Notes")
    tried = cli_json("watch", folder, "--dry-run")
    assert (tried["notes"], tried["seq"], tried["dry_run"], home.exists()) == (2, None, True, False)
    began = cli_json("watch", folder)
    assert (began["path"], began["notes"], began["blocks"]) == (str(folder), 1, 2)
    assert list(began["problems"]) == [str(folder / "bad.md")]
    assert began["seq"]
    assert cli_json("watch")["folders"] == [
        {name: began[name] for name in ("path", "notes", "blocks", "problems", "missing")}
    ]
    assert "lathe" in cli("recall", "lathe")
    assert f"{folder / 'bad.md'} is not text" in cli("watch")
    assert "2 searchable blocks" in cli("status")
    assert cli_json("watch", folder)["seq"] is None
    ended = cli_json("watch", "--stop", folder)
    assert ended["seq"]
    assert cli_json("watch")["folders"] == []
    assert "No watched folders" in cli("watch")
    assert "cellar" not in cli("recall", "lathe")


def test_answers_say_that_notes_are_searched_in_place_or_no_longer(cli: Run, tmp_path: Path) -> None:
    folder = notes(tmp_path / "Notes")
    assert "would be searched in place. Nothing was changed." in cli("watch", folder, "--dry-run")
    assert f"1 note is searched in place; `memfolio watch {folder} --stop` ends that" in cli("watch", folder)
    assert "would no longer be searched. Nothing was changed." in cli("watch", folder, "--stop", "--dry-run")
    assert "` watches them again" in cli("watch", folder, "--stop")


def test_folder_that_is_away_is_told_by_status_doctor_and_recall(cli: Run, cli_json: RunJson, tmp_path: Path) -> None:
    folder = notes(tmp_path / "Notes")
    cli_json("watch", folder)
    folder.rename(tmp_path / "away")
    assert [each for each in cli_json("status")["degraded"] if str(folder) in each]
    findings = cli_json("doctor")["findings"]
    assert [each["level"] for each in findings if str(folder) in each["message"]] == ["warning"]
    assert [each for each in cli_json("recall", "lathe")["degraded"] if str(folder) in each]
    assert cli_json("watch")["folders"][0]["missing"]
    assert "cannot be opened" in cli("watch")
    assert cli_json("watch", folder, "--stop")["seq"]  # also while it is away


def test_errors_say_what_to_do(cli: Run, cli_json: RunJson, tmp_path: Path, home: Path) -> None:
    assert "name the folder to stop" in cli("watch", "--stop", status=2)
    assert "there is no folder" in cli("watch", tmp_path / "none", status=3)
    cli_json("init")
    assert "lie in one another" in cli("watch", home, status=2)
