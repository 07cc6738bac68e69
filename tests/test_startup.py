"""Start-up time: loading memfolio and asking for help must feel instant.

Each figure is the best of five whole processes, interpreter included, so a busy machine does not decide.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.serial

SCRIPTS = Path(sys.executable).parent


def best_of_five(*command: str | Path) -> float:
    def once() -> float:
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - start

    return min(once() for _ in range(5))


def test_import_takes_less_than_a_fifth_of_a_second() -> None:
    assert best_of_five(sys.executable, "-c", "import memfolio") < 0.2


def test_help_takes_less_than_three_tenths_of_a_second() -> None:
    """On a machine that is slow at the moment, at most 3.5 times what loading its parser alone takes."""
    floor = best_of_five(sys.executable, "-c", "import typer.main, rich.table")
    assert best_of_five(SCRIPTS / "memfolio", "--help") < max(0.3, 3.5 * floor)


def test_import_loads_none_of_the_heavy_libraries() -> None:
    for module, heavy in {
        "memfolio": {"pygit2", "typer", "rich", "tomllib", "zoneinfo"},
        "memfolio.memory": {"pygit2"},
    }.items():
        code = f"import sys, {module}; print(*sorted({heavy} & set(sys.modules)))"
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        assert run.stdout.split() == []
