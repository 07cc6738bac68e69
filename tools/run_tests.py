"""Run the tests side by side, and then alone what measures time; run by `make test`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARALLEL = ("-n", "3", "--dist", "worksteal")
"""One more than there are cores: tests that wait for processes leave theirs to others."""
FEW = 5
"""As many failures may be due to a busy machine; more are not tried again."""
NONE = 5
"""What pytest returns where no test was chosen."""


def main(args: Sequence[str]) -> int:
    """Run what is named, or everything; returns 0 where all that was chosen passed."""
    if any((ROOT / arg.partition("::")[0]).exists() for arg in args if not arg.startswith("-")):
        return _pytest(*args)[0]
    code, first = _run(args, "not long and not serial", *PARALLEL)
    if code not in (0, NONE) and {"-x", "--exitfirst"} & set(args):
        return code
    alone = (str(path) for path in sorted(ROOT.glob("tests/**/test_*.py")) if "mark.serial" in path.read_text("utf-8"))
    alone_code, second = _run(args, "serial and not long", paths=tuple(alone))
    for closing in filter(None, (first, second)):
        print("\nAt first, these failed:", *closing, sep="\n")
    return max((each for each in (code, alone_code) if each != NONE), default=NONE)


def _run(args: Sequence[str], marked: str, *options: str, paths: Sequence[str] = ()) -> tuple[int, list[str]]:
    """Run the tests marked so, and a few that failed once more, alone; returns the code, and what failed at first.

    Tests of processes, kills and times may fail because of a busy machine. What fails twice is broken; what failed
    once is printed at the end, so that nobody overlooks it.
    """
    code, closing = _pytest(*options, *args, "-m", marked, *paths)
    failed = [line for line in closing if line.startswith(("FAILED ", "ERROR "))]
    if code != 1 or len(failed) > FEW:
        return code, failed
    print("\nOnce more, alone:", *failed, sep="\n", flush=True)
    return _pytest("--last-failed", "--last-failed-no-failures", "none", *args, "-m", marked, *paths)[0], failed


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
