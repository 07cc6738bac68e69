"""The line that tells a person what takes so long: late, only at a terminal, and gone in the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memfolio.serve.cli.wait import time_left
from tests.serve.calls import terminal

pytestmark = pytest.mark.usefixtures("settled")
SLOW = """
import time
from memfolio.serve.cli.wait import PATIENCE, Wait

wait = Wait()
wait.start("Opening the home")
time.sleep(PATIENCE + {longer})
wait(1, 10)
time.sleep({longer})
time.sleep({longer})
wait(3, 10)
time.sleep({longer})
wait.stop()
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_person_sees_how_far_it_is() -> None:
    seen = terminal(80, "-c", SLOW.format(longer=0.4), command=sys.executable)
    assert "Opening the home" in seen
    assert "3 of 10 files" in seen
    assert "s left" in seen
    assert seen.endswith("done\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_work_of_unknown_size_is_not_shown_as_done() -> None:
    code = (
        SLOW.format(longer=0.4)
        .replace("wait(1, 10)", 'wait.step("things", "Tending", 0, 0)')
        .replace("wait(3, 10)", "")
    )
    seen = terminal(80, "-c", code, command=sys.executable)
    assert "Tending" in seen
    assert "of 0" not in seen


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_nothing_is_shown_of_what_is_quick() -> None:
    code = SLOW.format(longer=0).replace("PATIENCE +", "PATIENCE / 10 +")
    assert terminal(80, "-c", code, command=sys.executable) == "done\n"


def test_nothing_is_shown_where_nobody_looks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(longer=0.4)], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize(
    ("seconds", "done", "left", "words"),
    [
        (10, 10, 20, "about 20 s left"),
        (60, 1, 10, "about 10 min left"),
        (60, 1, 200, "about 3.3 h left"),
        (0.1, 1, 10, ""),
        (10, 0, 10, ""),
        (10, 10, 0, ""),
    ],
)
def test_time_that_is_left_is_told_when_it_can_be_known(seconds: float, done: int, left: int, words: str) -> None:
    assert time_left(seconds, done, left) == words
