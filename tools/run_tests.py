"""Run the tests on two cores: two halves at once, and then alone what measures time; run by `make test`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIRST = ("tests/index", "tests/vault")
"""About half of the time."""
ALONE = (
    "tests/bench",
    "tests/embed",
    "tests/graph",
    "tests/index/test_processes.py",
    "tests/index/test_surroundings.py",
    "tests/llm",
    "tests/mind/test_conflicts.py",
    "tests/recall/test_context_fence.py",
    "tests/recall/test_snippet.py",
    "tests/stores/test_triggers.py",
    "tests/tend/test_extract.py",
    "tests/test_aio.py",
    "tests/test_promises.py",
    "tests/test_startup.py",
    "tests/test_text.py",
    "tests/vault/test_busy.py",
    "tests/vault/test_editors.py",
    "tests/vault/test_processes.py",
)
"""What would fail where another half takes the processor away."""
NONE = 5
"""What pytest returns where no test was chosen."""


def main(args: Sequence[str]) -> int:
    """Run what is named, or everything; returns 0 where all that was chosen passed."""
    if any((ROOT / arg.partition("::")[0]).exists() for arg in args if not arg.startswith("-")):
        return subprocess.run(_command([], [], args), cwd=ROOT).returncode
    with tempfile.TemporaryFile() as told:
        other = subprocess.Popen(_command(["tests"], [*FIRST, *ALONE], args), cwd=ROOT, stdout=told, stderr=told)
        codes = [subprocess.run(_command(FIRST, ALONE, args), cwd=ROOT).returncode, other.wait()]
        told.seek(0)
        sys.stdout.buffer.write(told.read())
        sys.stdout.flush()
    codes.append(subprocess.run(_command(ALONE, [], args), cwd=ROOT).returncode)
    failed = [code for code in codes if code not in (0, NONE)]
    return max(failed) if failed else min(codes)


def _command(paths: Sequence[str], but: Sequence[str], args: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", *args, *paths, *(f"--ignore={path}" for path in but)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
