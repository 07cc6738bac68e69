"""The tests of the verbs once more, with every home in PostgreSQL. Those that play a person with an editor stay out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memfolio.vault.postgres.server import OwnServer
from tests.postgres.elsewhere import OWNER_URL

ROOT = Path(__file__).parents[2]
SUITES = {
    "tests/test_memory.py": 90,
    "tests/stores": 430,
    "tests/recall": 850,
    "tests/knowledge": 650,
    "tests/govern": 320,
    "tests/tend": 220,
}
"""How many tests of each pass there at least."""
STAY = {
    "the home is a folder there: its files are read or written by hand": """
        tests/test_memory.py::test_status_counts
        tests/test_memory.py::test_home_of_another_machine_can_be_read_but_not_written
        tests/stores/test_situation.py::test_saved_line_of_a_person_that_makes_no_sense_is_passed_over
        tests/govern/test_alerts.py::test_tampered_trail_is_told_once
        tests/govern/test_alerts.py::test_trail_without_alerts_is_read_once
        tests/govern/test_isolation.py::test_status_tells_an_agent_only_of_what_it_may_read""",
    "a database has backups of its own kind, and `memfolio backup` says so": """
        tests/tend/test_backup.py
        tests/govern/test_isolation.py::test_the_whole_home_is_copied_for_its_owner_only""",
    "the lease of a process that was killed ends by itself, later than the lock of a file": """
        tests/tend/test_tend.py::test_killed_tending_leaves_no_lock_and_is_done_again""",
}
"""Tests that belong to files alone, beside those that `tests/postgres/elsewhere.py` finds to touch files by hand."""


@pytest.mark.long
@pytest.mark.parametrize("suite", SUITES)
def test_the_verbs_pass_their_tests_in_the_database(server: OwnServer, suite: str) -> None:
    left_out = [f"--deselect={test}" for tests in STAY.values() for test in tests.split()]
    environ = os.environ | {"MEMFOLIO_STORE": "postgres", "MEMFOLIO_DATABASE_URL": server.url}
    environ[OWNER_URL] = server.owner_url
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.postgres.elsewhere", suite, *left_out]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= SUITES[suite]
