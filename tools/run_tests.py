"""Run the tests on two cores, and then alone what measures time; run by `make test`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
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
    alone_code = _alone(args, alone)
    if code not in (0, NONE):
        print("\nThe tests on two cores ended with:", *closing, sep="\n")
    return max((each for each in (code, alone_code) if each != NONE), default=NONE)


def _alone(args: Sequence[str], paths: Iterable[str]) -> int:
    """Run the tests that measure time; what fails is measured once more, since a machine may be busy for a moment."""
    code, closing = _pytest(*args, "-m", "serial and not long", *paths)
    failed = [line.split()[1] for line in closing if line.startswith("FAILED ")]
    if code != 1 or not failed:
        return code
    print("\nMeasured once more:", *failed, sep="\n")
    return _pytest(*failed)[0]


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
