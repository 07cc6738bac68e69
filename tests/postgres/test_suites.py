"""The tests of the verbs once more, with every home in PostgreSQL. Those that play a person with an editor stay out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memfolio.vault.postgres.server import OwnServer

ROOT = Path(__file__).parents[2]
SUITES = ("tests/test_memory.py", "tests/stores")
FILES_ALONE = {
    "tests/test_memory.py": """remembered_is_in_the_log_of_the_day_when_the_call_returns
        what_happened_earlier_stands_in_the_log_of_its_day key_of_a_memory_that_is_gone_is_a_conflict
        own_memory_is_found_though_another_agent_has_a_copy sync_names_what_a_person_changed
        subscriber_hears_of_own_and_found_changes status_counts status_says_why_git_waits
        home_of_another_machine_can_be_read_but_not_written environment_names_home_and_agent
        note_in_two_logs_is_forgotten_and_restored_in_both
        time_at_the_end_of_the_calendar_in_a_state_line_breaks_nothing""",
    "tests/stores/test_commands.py": """core_dry_run_changes_nothing checkpoint_is_written_and_shown_by_context
        flush_asks_the_model_where_there_is_one""",
    "tests/stores/test_core.py": """page_of_a_person_keeps_every_byte_that_an_edit_is_not_about
        edit_past_the_limit_is_refused_with_what_could_go page_that_a_person_made_too_long_is_told_and_can_only_shrink
        block_that_is_longer_than_meant_is_told""",
    "tests/stores/test_flush.py": """answer_of_an_agent_goes_where_it_may
        what_has_no_room_in_core_memory_is_kept_in_the_log""",
    "tests/stores/test_shelves.py": """least_recently_used_leaves_where_that_is_set
        least_important_leave_a_full_short_term_memory_first""",
    "tests/stores/test_situation.py": """context_tells_who_what_and_what_was_left day_begins_at_midnight_of_the_home
        saved_line_of_a_person_that_makes_no_sense_is_passed_over page_that_cannot_be_read_does_not_stop_the_others""",
}
"""Tests that write or read files of the home by hand, its `memfolio.toml` among them, or share the name of a home."""


@pytest.mark.long
def test_the_verbs_pass_their_tests_in_the_database(server: OwnServer) -> None:
    left_out = [f"--deselect={path}::test_{name}" for path, names in FILES_ALONE.items() for name in names.split()]
    environ = os.environ | {"MEMFOLIO_STORE": "postgres", "MEMFOLIO_DATABASE_URL": server.url}
    command = [sys.executable, "-m", "pytest", "-q", *SUITES, *left_out]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]
    assert passed
    assert int(passed[1]) > 500
