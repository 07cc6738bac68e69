"""The demo really does what it tells, and says so when something does not hold."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import MemfolioError
from memfolio.serve.cli.demo import SCENES, Story
from tests.pages import surroundings

PROGRAM = Path(sys.executable).parent / "memfolio"


def play(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environ = surroundings(folder) | {"TMPDIR": str(folder)}
    return subprocess.run(
        [PROGRAM, "demo", *args], env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def test_demo_tells_its_story_in_time_and_leaves_nothing_behind(tmp_path: Path) -> None:
    start = time.monotonic()
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - start < 15
    assert done.stdout.count("✓") >= 12
    assert all(str(scene.__doc__) in done.stdout for scene in SCENES)
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_demo_keeps_its_home_on_request(tmp_path: Path) -> None:
    done = play(tmp_path, "--keep", "--json")
    home = Path(json.loads(done.stdout)["home"])
    assert home.is_relative_to(tmp_path)
    with Memory.open(home) as memory:
        assert all(finding.level == "ok" for finding in memory.vault.verify())
        assert not memory.vault.alerts()
    if shutil.which("git"):
        status = subprocess.run(
            ["git", "-C", home, "-c", "safe.directory=*", "status", "--porcelain"], capture_output=True, check=True
        )
        assert status.stdout == b""


def test_demo_stops_loudly_when_something_does_not_hold(home: Path) -> None:
    with Memory.open(home) as memory:
        story = Story(memory, None)
        story.check(True, "this is fine")
        with pytest.raises(MemfolioError, match="does not hold: this is not"):
            story.check(False, "this is not")
    assert story.held == ["this is fine"]
