"""The demo really does what it tells, and says so when something does not hold."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memfolio.errors import MemfolioError
from memfolio.serve.cli.demo import SCENES, WIDTH, Story, stage
from tests.pages import surroundings

PROGRAM = Path(sys.executable).parent / "memfolio"


def play(folder: Path, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = surroundings(folder) | {"TMPDIR": str(folder)} | variables
    return subprocess.run(
        [PROGRAM, "demo", *args], env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def test_demo_tells_its_story_in_time_and_leaves_nothing_behind(tmp_path: Path) -> None:
    start = time.monotonic()
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - start < 20
    assert done.stdout.count("✓") >= 20
    assert all(str(scene.__doc__) in done.stdout for scene in SCENES)
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_demo_fits_a_terminal_of_eighty_columns(tmp_path: Path) -> None:
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    # The first line names a folder, whose length is not the demo's choice.
    assert [line for line in done.stdout.splitlines()[1:] if len(line) > WIDTH] == []


def test_demo_plays_by_itself_whatever_the_environment_says(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    done = play(
        tmp_path,
        MEMFOLIO_AGENT="other",
        MEMFOLIO_EMBEDDING_PROVIDER="none",
        MEMFOLIO_GIT_ENABLED="false",
        MEMFOLIO_WATCH="false",
        MEMFOLIO_CACHE=str(elsewhere),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not elsewhere.exists()


def test_demo_keeps_its_home_on_request(tmp_path: Path) -> None:
    done = play(tmp_path, "--keep", "--json")
    home = Path(json.loads(done.stdout)["home"])
    assert home.is_relative_to(tmp_path)
    memory = Story(stage(home.parent), None).memory
    assert all(finding.level == "ok" for finding in memory.vault.verify())
    assert "Friday" in memory.recall("When is the launch?")[0].memory.content
    memory.close()
    if shutil.which("git"):
        status = subprocess.run(
            ["git", "-C", home, "-c", "safe.directory=*", "status", "--porcelain"], capture_output=True, check=True
        )
        assert status.stdout == b""


def test_demo_stops_loudly_when_something_does_not_hold(tmp_path: Path) -> None:
    story = Story(stage(tmp_path), None)
    story.check(True, "this is fine")
    with pytest.raises(MemfolioError, match="does not hold: this is not"):
        story.check(False, "this is not")
    with pytest.raises(MemfolioError, match="nothing was found"):
        story.ask("What is there to remember?")
    story.memory.close()
    assert story.held == ["this is fine"]
