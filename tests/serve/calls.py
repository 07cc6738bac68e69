"""What tests of the command line share: the program, its environment, and where today's log is."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "memfolio"
HOOK = (
    "import sys; from memfolio.serve.hooks import door; "
    "door.PATIENCE.update(prompt=20.0, start=20.0); sys.exit(door.main(sys.argv[1:]))"
)
"""`memfolio hook` as Python runs it, with more time for an answer than a host has: machines of tests are busy."""
Json = dict[str, Any]
Run = Callable[..., str]
RunJson = Callable[..., Json]


def today(home: Path) -> Path:
    return home / f"agents/main/memory/{datetime.now(UTC).date()}.md"


def program(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, text=True, timeout=60, check=False)


def terminal(width: int, *args: str, command: Path | str = PROGRAM) -> str:
    """What a person sees at a terminal so many columns wide, without its colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", coloured(width, *args, command=command))


def coloured(width: int, *args: str, command: Path | str = PROGRAM) -> str:
    """The same with its colours."""
    import fcntl
    import pty
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    started = subprocess.Popen(
        [command, *args], stdin=slave, stdout=slave, stderr=slave, env=environ | {"TERM": "xterm"}
    )
    os.close(slave)
    said = b"".join(iter(lambda: _read(master), b""))
    os.close(master)
    assert started.wait(60) == 0, said
    return said.decode().replace("\r\n", "\n")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # how Linux says that the other end was closed
        return b""
