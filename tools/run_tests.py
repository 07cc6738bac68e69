"""Run the tests on two cores, and then alone what measures time; run by `make test`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARALLEL = ("-n", "2", "--dist", "worksteal")
NONE = 5
"""What pytest returns where no test was chosen."""


def main(args: Sequence[str]) -> int:
    """Run what is named, or everything; returns 0 where all that was chosen passed."""
    if any((ROOT / arg.partition("::")[0]).exists() for arg in args if not arg.startswith("-")):
        return _pytest(*args)[0]
    code, closing = _pytest(*PARALLEL, *args, "-m", "not long and not serial")
    if code not in (0, NONE) and {"-x", "--exitfirst"} & set(args):
        return code
    alone = (str(path) for path in sorted(ROOT.glob("tests/**/test_*.py")) if "mark.serial" in path.read_text("utf-8"))
    codes = (code, _pytest(*args, "-m", "serial and not long", *alone)[0])
    if code not in (0, NONE):
        print("\nThe tests on two cores ended with:", *closing, sep="\n")
    return max((code for code in codes if code != NONE), default=NONE)


def _pytest(*args: str) -> tuple[int, list[str]]:
    """Run pytest; returns its code and the lines with which it ends: what failed, and how many there were."""
    closing: list[str] = []
    command = [sys.executable, "-m", "pytest", *args]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            closing = [line.rstrip()] if "short test summary" in line else [*closing[-50:], line.rstrip()]
    return process.returncode, closing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
