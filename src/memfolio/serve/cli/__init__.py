"""The command line. `app.py` runs a command; the modules that it lists hold the commands."""

from __future__ import annotations

import io
import signal
import sys


def main() -> None:
    """The `memfolio` program."""
    from memfolio.serve.cli.app import run

    for stream in (sys.stdout, sys.stderr):
        # What the terminal's encoding lacks is shown as a question mark, not as an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if hasattr(signal, "SIGPIPE"):
        # `memfolio log | head` ends quietly, as other programs do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))
