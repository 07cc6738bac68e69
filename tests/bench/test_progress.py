"""What a person sees while cases are measured."""

from __future__ import annotations

import sys

import pytest

from tests.serve.calls import terminal

SLOW = """
import time
from memfolio.serve.cli.wait import PATIENCE, Wait

wait = Wait()
wait.start("Reading cases")
time.sleep(PATIENCE + 0.4)
wait.step("cases", "locomo.jsonl", 3, 10)
time.sleep(0.4)
wait.stop()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_person_sees_how_many_cases_are_done() -> None:
    seen = terminal(80, "-c", SLOW, command=sys.executable)
    assert "Reading cases" in seen
    assert "locomo.jsonl" in seen
    assert "3 of 10 cases" in seen
