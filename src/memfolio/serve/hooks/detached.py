"""Processes that outlive who starts them, and the host."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


def run(args: Sequence[str], folder: str) -> None:
    """Have this Python run something in a folder; nobody waits for it, and nobody hears it."""
    subprocess.Popen(
        [sys.executable, "-P", *args],  # -P: the folder in which a host works has no say in what is imported
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
