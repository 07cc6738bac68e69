"""The command line. `app.py` runs a command; the modules that it lists hold the commands."""

from __future__ import annotations

import gc
import os
import sys

GARBAGE = 20_000
"""Objects after which cycles among them are looked for: at Python's own pace that takes a tenth of a short command."""
INTERRUPTED = 130
"""The exit code by which shells know that somebody pressed Ctrl-C."""


def main() -> None:
    """The `memfolio` program."""
    gc.set_threshold(GARBAGE)
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & {*sys.argv}:
        # A host waits for its hooks at every prompt: they pay for nothing that they do not use.
        from memfolio.serve.hooks.door import main as hook

        os._exit(hook(sys.argv[2:]))
    import io
    import signal

    for stream in (sys.stdout, sys.stderr):
        # What the terminal's encoding lacks is shown as a question mark, not as an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if hasattr(signal, "SIGPIPE"):
        # `memfolio log | head` ends quietly, as other programs do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        from memfolio.serve.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
