"""The command line. `app.py` runs a command, `daily.py`, `trust.py` and `demo.py` are the commands."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """The `memfolio` program."""
    from memfolio.serve.cli.app import run

    if hasattr(signal, "SIGPIPE"):
        # `memfolio log | head` ends quietly, as other programs do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))
