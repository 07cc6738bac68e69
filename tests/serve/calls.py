"""What tests of the command line share: the program, its environment, and where today's log is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "memfolio"
Json = dict[str, Any]
Run = Callable[..., str]
RunJson = Callable[..., Json]


def today(home: Path) -> Path:
    return home / f"agents/main/memory/{datetime.now(UTC).date()}.md"


def program(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, text=True, timeout=60, check=False)
